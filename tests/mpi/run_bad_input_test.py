#!/usr/bin/env python3
"""Bad input of work_queue_run: one clear line and the right exit code; nothing is lost and nothing hangs."""

import os
import random
import shutil
import signal
import struct
import unittest

import run_support as support
from run_support import Case, PROGRAM


class Shortages(Case):
    def test_of_open_files_processes_and_memory(self):
        self.write("tasks.sh", "true\n")
        for limit, remedy in (("-n 5", "ulimit -n"), ("-n 16", "ulimit -n"), ("-v 50000", "ulimit -v")):
            with self.subTest(limit=limit):
                run = self.run_to_end("--resume", "tasks.sh", code=71, before=("sh", "-c", f'ulimit {limit} && exec "$0" "$@"'))
                self.assertEqual(len(run.err.splitlines()), 1, str(run))
                self.assertIn(remedy, run.err)

    def test_of_room_for_output(self):
        self.write("tasks.sh", "echo a\n")
        self.run_to_end("tasks.sh")
        for words in (("--output", "tasks.sh.wq", 1), ("--why", 1, "tasks.sh"), ("--dry-run", "tasks.sh"), ("--resume", "tasks.sh")):
            with self.subTest(words=words):
                run = self.run_to_end(*words, code=71, before=("sh", "-c", 'exec "$0" "$@" >/dev/full'))
                self.assertIn("work_queue_run: cannot write to stdout: its disk is full, or it is closed\n", run.err)


class BadLists(Case):
    def refuse(self, text, *expected, code=65, name="tasks.sh", words=()):
        """The list is refused with one line that contains all of `expected`, before anything ran or was created."""
        if text is not None:
            self.write(name, text)
        run = self.run_to_end(*words, name, code=code)
        lines = run.err.splitlines()
        self.assertEqual(len(lines), 1, str(run))
        for part in expected:
            self.assertIn(part, lines[0])
        self.assertFalse(os.path.exists(self.path("ran")), "a task of a bad list was run")
        self.assertFalse(os.path.exists(self.path(name + ".wq")), "a bad list left a run directory")
        self.assertEqual(run.out, "")

    def test_no_such_list(self):
        self.refuse(None, "tasks.sh: cannot be read: No such file or directory", "give the path of a file")

    def test_a_folder(self):
        os.mkdir(self.path("tasks.sh"))
        self.refuse(None, "tasks.sh: is a directory, not a task list")

    def test_binary_garbage(self):
        self.refuse(random.Random(1).randbytes(100_000), "tasks.sh:")

    def test_an_executable(self):
        with open(PROGRAM, "rb") as file:
            self.refuse(file.read(200_000), "tasks.sh:1: ")

    def test_a_line_of_two_megabytes(self):
        self.refuse("touch ran\necho " + "x" * 2_000_000 + "\n", "tasks.sh:2: ", "1 MiB")

    def test_a_nul(self):
        self.refuse(b"touch ran\necho a\0b\n", "tasks.sh:2: ", "NUL")

    def test_an_unknown_tag(self):
        self.refuse("touch ran\ntrue #@x\n", "tasks.sh:2: ")

    def test_an_unknown_key(self):
        self.refuse("touch ran\n\n#WQ coers=2\ntrue\n", "tasks.sh:3: ", "'coers'", "did you mean 'cores'?")

    def test_words_of_runtask(self):
        self.refuse("touch ran\nnewtask=other.sh #!\n", "tasks.sh:2: ", "newtask")

    def test_values_of_each(self):
        self.write("values", b"a\nb\0c\n")
        run = self.run_to_end("--each", "values", "--", "touch", "ran", code=65)
        self.assertIn("values:2: the line holds a NUL byte", run.err)
        self.assertFalse(os.path.exists(self.path("ran")))

    def test_a_bad_list_under_mpirun_is_told_once(self):
        self.write("tasks.sh", "touch ran\ntrue #@x\n")
        run = self.run_to_end("tasks.sh", ranks=3, code=65)
        self.assertEqual(run.err.count("tasks.sh:2: "), 1, str(run))
        self.assertFalse(os.path.exists(self.path("ran")))
        self.assert_nothing_left()

    def test_a_stream_that_goes_bad_keeps_what_ran(self):
        bell = self.bell()
        reader, writer = os.pipe()
        run = self.start("-", "--run-dir", "r", stdin=reader)
        os.close(reader)
        os.write(writer, b"echo first > bell\n")
        bell.wait()
        os.write(writer, b"true #@x\ntouch ran\n")
        os.close(writer)
        self.assertEqual(run.wait(), 65, str(run))
        self.assertIn("stdin:2: ", run.err)
        self.assertFalse(os.path.exists(self.path("ran")))
        self.assertEqual(sum(map(support.succeeded, self.journal("r"))), 1)
        self.assertEqual(self.status("r")["exit_code"], "65")


class NeverRun(Case):
    def test_a_broken_group_names_what_failed(self):
        self.write("tasks.sh", "false #:g\ntouch ran #:g\ntouch ran #:g\ntrue\n")
        run = self.run_to_end("tasks.sh", code=1)
        self.assertIn("2 tasks, the first task 2, can never run: a predecessor failed: task 1; its command: false\n", run.err)
        self.assertIn("Can never run:\n  2 tasks, the first task 2: a predecessor failed: task 1\n", run.out)
        self.assertFalse(os.path.exists(self.path("ran")))

    def test_a_task_too_large_is_named_and_the_rest_runs(self):
        self.write("tasks.sh", "#WQ cores=9999\ntouch ran\n#WQ cores=\necho a >> done\necho b >> done\n")
        for ranks in (0, 2):
            run = self.run_to_end("tasks.sh", "--run-dir", f"r{ranks}", ranks=ranks, code=1)
            self.assertIn("9999 cores", run.err)
            self.assertIn("task 1 (line 2) can never run", run.err)
        self.assertFalse(os.path.exists(self.path("ran")))
        self.assertEqual(sorted(self.lines("done")), ["a", "a", "b", "b"])

    def test_a_task_too_large_is_named_while_others_run(self):
        """Reported at once: the run waits at a gate that opens when the line was seen."""
        gate = self.gate()
        self.write("tasks.sh", "read x < gate\n#WQ memory=900000G\ntouch ran\n")
        run = self.start("tasks.sh")
        run.wait_for_text("can never run", limit=10)
        gate.open()
        self.assertEqual(run.wait(), 1, str(run))

    def test_a_worker_that_is_not_there(self):
        self.write("tasks.sh", "touch ran #@7\ntrue\n")
        run = self.run_to_end("tasks.sh", code=1)
        self.assertIn("worker 7 is not there", run.err)
        self.assertFalse(os.path.exists(self.path("ran")))


class RunDirectories(Case):
    def setUp(self):
        super().setUp()
        self.write("tasks.sh", "echo once >> ran\n")

    def test_one_that_exists(self):
        self.run_to_end("tasks.sh")
        run = self.run_to_end("tasks.sh", code=64)
        self.assertIn("tasks.sh.wq exists: use --resume", run.err)
        self.assertEqual(self.lines("ran"), ["once"])

    def test_one_that_is_not_of_a_run(self):
        os.mkdir(self.path("mine"))
        self.write("mine/thesis.tex", "years of work")
        for words in ((), ("--resume",)):
            run = self.run_to_end(*words, "--run-dir", "mine", "tasks.sh", code=64)
            self.assertIn("mine exists and does not belong to a run", run.err)
        self.assertEqual(os.listdir(self.path("mine")), ["thesis.tex"])

    @unittest.skipUnless(os.getuid() == 0 and shutil.which("setpriv"), "needs root and setpriv to become somebody else")
    def test_one_that_is_not_writable(self):
        os.chmod(self.folder, 0o755)
        run = self.run_to_end("tasks.sh", code=77, before=("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"))
        self.assertIn("cannot create the run directory tasks.sh.wq: Permission denied; choose another with --run-dir", run.err)

    def test_one_that_is_in_use(self):
        bell, gate = self.bell(), self.gate()
        self.write("wait.sh", "echo up > bell; read x < gate\n")
        first = self.start("wait.sh", "--run-dir", "r")
        bell.wait()
        for ranks in (0, 2):
            run = self.run_to_end("wait.sh", "--run-dir", "r", "--resume", ranks=ranks, code=75)
            self.assertIn("run directory r is in use by the run with pid ", run.err)
        gate.open()
        self.assertEqual(first.wait(), 0, str(first))

    def test_resume_of_something_else(self):
        self.run_to_end("tasks.sh", "--run-dir", "r")
        self.write("other.sh", "echo other >> ran\n")
        run = self.run_to_end("other.sh", "--run-dir", "r", "--resume", code=65)
        self.assertIn("r holds the run of tasks.sh, not of other.sh", run.err)
        run = self.run_to_end("--array", "1-3", "--run-dir", "r", "--resume", "--", "true", code=65)
        self.assertIn("r holds the run of tasks.sh, not of --array 1-3", run.err)
        self.assertEqual(self.lines("ran"), ["once"])


class Journals(Case):
    def setUp(self):
        super().setUp()
        self.write("tasks.sh", "".join(f"echo {n} >> ran\n" for n in range(1, 9)))
        self.run_to_end("tasks.sh", "--run-dir", "r")
        with open(self.path("r/journal"), "rb") as file:
            self.bytes = file.read()
        self.offsets = []
        at = 8
        while at + 8 <= len(self.bytes):
            self.offsets.append(at)
            at += 8 + struct.unpack_from("<I", self.bytes, at)[0]

    def rewrite(self, data):
        with open(self.path("r/journal"), "wb") as file:
            file.write(data)

    def test_a_torn_last_record_is_accepted(self):
        last_task = [at for at in self.offsets if self.bytes[at + 8] == 6][-1]
        for cut in (1, 8, 20):
            self.rewrite(self.bytes[:last_task + cut])
            before = len(self.lines("ran"))
            self.run_to_end("tasks.sh", "--run-dir", "r", "--resume")
            self.assertEqual(len(self.lines("ran")), before + 1, "only the task of the torn record runs again")

    def test_a_damaged_middle_is_refused_with_its_place(self):
        middle = self.offsets[len(self.offsets) // 2]
        damaged = bytearray(self.bytes)
        damaged[middle + 10] ^= 0x40
        self.rewrite(damaged)
        run = self.run_to_end("tasks.sh", "--run-dir", "r", "--resume", code=65)
        self.assertIn(f"r/journal: damaged at byte {middle}", run.err)
        self.assertEqual(len(self.lines("ran")), 8)
        with open(self.path("r/journal"), "rb") as file:
            self.assertEqual(file.read(), damaged, "a refused journal is left as it is")


class Ranks(Case):
    def run_apart(self, first, second, code=None, **how):
        """Rank 0 as `first`, rank 1 as `second`: two command lines of one MPI job."""
        run = self.start(commands=support.apart(first, second), **how)
        run.wait()
        if code is not None:
            self.assertEqual(run.code, code, str(run))
        self.assert_nothing_left()
        return run

    def test_a_rank_without_a_launcher(self):
        self.write("tasks.sh", "echo done >> ran\n" * 4)
        ours = [PROGRAM, "--run-dir", "r", "tasks.sh"]
        run = self.run_apart(ours, ["env", "TMPDIR=/proc/nowhere", *ours], code=0)
        self.assertEqual(len(self.lines("ran")), 4)
        self.assertIn("/proc/nowhere", run.err)

    def test_rank_0_without_a_launcher(self):
        self.write("tasks.sh", "echo done >> ran\n" * 4)
        ours = [PROGRAM, "--run-dir", "r", "tasks.sh"]
        run = self.run_apart(["env", "TMPDIR=/proc/nowhere", *ours], ours)
        self.assertNotIn(run.code, (0, 1, 75), str(run))
        self.assertIn("/proc/nowhere", run.err)
        self.assertFalse(os.path.exists(self.path("ran")))

    def test_a_rank_that_dies_before_mpi_is_up(self):
        bell, _ = self.bell(), self.gate()
        self.write("tasks.sh", "touch ran\n")
        ours = [PROGRAM, "--run-dir", "r", "tasks.sh"]
        run = self.start(commands=support.apart(ours, ["sh", "-c", "echo $$ > bell; exec cat gate"]))
        bell.wait()
        os.kill(int(bell.rung[0]), signal.SIGKILL)
        run.wait()
        self.assertNotEqual(run.code, 0, str(run))
        self.assertFalse(os.path.exists(self.path("ran")))
        self.assert_nothing_left()

    def test_rank_0_that_dies_before_mpi_is_up(self):
        bell, _ = self.bell(), self.gate()
        self.write("tasks.sh", "touch ran\n")
        ours = [PROGRAM, "--run-dir", "r", "tasks.sh"]
        run = self.start(commands=support.apart(ours, ["sh", "-c", "echo $$ > bell; exec cat gate"]))
        bell.wait()
        end = support.time.monotonic() + support.DEADLINE
        while 0 not in run.ranks() and support.time.monotonic() < end:  # rank 1 may be there before
            bell.take(0.01)
        os.kill(run.ranks()[0], signal.SIGKILL)
        run.wait()
        self.assertNotEqual(run.code, 0, str(run))
        self.assert_nothing_left()


if __name__ == "__main__":
    support.main()
