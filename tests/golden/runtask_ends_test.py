#!/usr/bin/env python3
"""Workers of runtask that end, are killed or share a list. Usage: runtask_ends_test.py PROGRAM."""

import contextlib
import fcntl
import os
import signal
import socket
import subprocess
import unittest

import runtask_support as support


class Ends(support.Case):
    def setUp(self):
        super().setUp()
        os.mkfifo(self.home / "pipe")
        self.write("tasks.sh", "tail -f /dev/null & setsid tail -f /dev/null & echo $! $(jobs -p) $BASHPID >pipe; tail -f /dev/null\n")

    def test_a_killed_worker_leaves_nothing(self):
        for jobs in ("1", "2"):
            worker = self.start("tasks.sh", "--jobs", jobs, "--lease", "2")
            with self.ends_of(self.told("pipe").split()):
                worker.kill()
            self.end(worker)
            self.run_it("tasks.sh", "--reset", "--force")

    def test_lines_of_a_killed_worker_run_again(self):
        worker = self.start("tasks.sh", "--lease", "2", "-n", "lost")
        self.told("pipe")
        worker.kill()
        self.end(worker)
        other = self.start("tasks.sh", "--poll", "0.1", "-n", "other")
        pids = self.told("pipe").split()
        with self.ends_of(pids):
            other.send_signal(signal.SIGTERM)
        _, err = self.finish(other, 75)
        self.assertIn("worker 0 of tasks.sh is lost, without a sign of life", err)
        marks = self.neutral(self.read("tasks.sh")).splitlines()[1]
        self.assertTrue(marks.endswith("# worker 0 # (TIME ... TIME) #lost # worker 1 # (TIME ... TIME) #lost"), marks)

    def test_released_lines_run_again(self):
        worker = self.start("tasks.sh", "-n", "lost")
        self.told("pipe")
        worker.kill()
        self.end(worker)
        _, err = self.run_it("tasks.sh", "--release", "0", code=64)
        self.assertRegex(err, "^runtask: worker 0 of tasks.sh gave a sign of life .* ago: end that worker first .*--force\n$")
        _, err = self.run_it("tasks.sh", "--release", "0", "--force")
        self.assertIn("worker 0: 1 line can run again", err)
        self.assertIn("#lost", self.read("tasks.sh"))

    def test_a_worker_kills_a_line_that_was_released(self):
        worker = self.start("tasks.sh", "--lease", "2")
        with self.ends_of(self.told("pipe").split()):
            self.run_it("tasks.sh", "--release", "0", "--force")
        self.assertRegex(self.told("pipe"), r"^\d+ ")
        os.killpg(worker.pid, signal.SIGINT)
        _, err = self.finish(worker, 75)
        self.assertIn("line 2 is killed here, since another worker may run it now\n", err)
        line = self.neutral(self.read("tasks.sh")).splitlines()[1]
        self.assertRegex(line, r"# worker 0 # \(TIME ... TIME\) #lost # worker 0 # \(TIME ... TIME\) #lost$")

    def test_lines_that_run_are_not_reset(self):
        self.write("tasks.sh", "echo\n" + self.read("tasks.sh"))
        worker = self.start("tasks.sh")
        self.told("pipe")
        while "#tail" not in (before := self.read("tasks.sh")):  # the file lags a little behind its log
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.fail(worker.wait(0.01))
        for words in (["--reset"], ["--reset", "3"]):
            _, err = self.run_it("tasks.sh", *words, code=64)
            self.assertRegex(err, "^runtask: line 3 of tasks.sh runs on worker 0, which gave a sign of life .* ago: end that worker first .*--force\n$")
        self.assertEqual(self.read("tasks.sh"), before)
        self.run_it("tasks.sh", "--reset", "4")
        os.killpg(worker.pid, signal.SIGINT)
        self.finish(worker, 75)
        _, err = self.run_it("tasks.sh", "--reset")
        self.assertEqual(err, "runtask: 2 lines wait again\n")

    def test_resets_and_releases_that_do_nothing_are_refused(self):
        self.write("tasks.sh", "true\ntrue\nfalse\n")
        _, err = self.run_it("tasks.sh", "--reset", "99", code=65)
        self.assertEqual(err, "runtask: tasks.sh has 3 lines: --reset 99 is beyond its end\n")
        _, err = self.run_it("tasks.sh", "--release", "77", code=65)
        self.assertIn("tasks.sh has no worker 77", err)
        self.run_it("tasks.sh", "--once", code=1)
        _, err = self.run_it("tasks.sh", "--release", "0")
        self.assertEqual(err, "runtask: worker 0: 0 lines can run again\n")
        _, err = self.run_it("tasks.sh", "--reset", "3")
        self.assertEqual(err, "runtask: 2 lines wait again\n")
        _, err = self.run_it("tasks.sh", "--reset", "abc", code=64)
        self.assertIn("--reset takes the number of a line", err)

    def test_interrupts(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            worker = self.start("tasks.sh", "-n", "me")
            with self.ends_of(self.told("pipe").split()):
                os.killpg(worker.pid, number)  # as a terminal does
            self.finish(worker, 75)
            line = self.neutral(self.read("tasks.sh")).splitlines()[1]
            self.assertTrue(line.endswith("(TIME ... TIME) #lost"), line)
            self.assertFalse(line.startswith("#"), line)
            self.assertEqual(os.listdir(self.home / "tasks.sh.runtask/alive"), [])

    def test_a_worker_whose_output_nobody_reads_ends(self):
        """Though the line that runs prints nothing; as after Ctrl-C in `ssh HOST runtask FILE`."""
        for jobs in ("1", "2"):
            for is_socket in (False, True):
                with self.subTest(jobs=jobs, is_socket=is_socket):
                    ours, theirs = (end.detach() for end in socket.socketpair()) if is_socket else os.pipe()
                    worker = subprocess.Popen([support.PROGRAM, "tasks.sh", "--jobs", jobs], cwd=self.home, env=self.environment,
                                              stdin=subprocess.DEVNULL, stdout=theirs, stderr=subprocess.PIPE, text=True)
                    self.addCleanup(self.end, worker)
                    os.close(theirs)
                    with self.ends_of(self.told("pipe").split()):
                        os.close(ours)
                    _, err = self.finish(worker, 75)
                    self.assertEqual(err, "runtask: nobody reads the output any more: running lines are killed, and wait again\n")
                    self.assertRegex(self.neutral(self.read("tasks.sh")).splitlines()[1], r"^tail.*#lost$")
                    self.run_it("tasks.sh", "--reset")

    def test_lines_that_print_do_not_fail_because_nobody_reads(self):
        for text in ("echo a\n", "seq 100000\n", "echo a || exit 3\n", "echo a #!\necho b\n"):
            for jobs in ("1", "3"):
                with self.subTest(text=text, jobs=jobs):
                    self.write("tasks.sh", text * 50)
                    worker = self.start("tasks.sh", "--jobs", jobs)
                    worker.stdout.readline()
                    worker.stdout.close()
                    worker.stdout = None
                    _, err = self.finish(worker, 75)
                    self.assertIn("nobody reads the output any more", err)
                    self.assertEqual(err.count("\n"), 1, err)
                    self.assertNotIn("#error", self.read("tasks.sh"))
                    self.run_it("tasks.sh", "--reset")

    def test_nohup(self):
        """The signal reaches the worker, and all that it has started."""
        self.write("tasks.sh", "kill -HUP 0\ntrue\n")
        self.finish(self.start("tasks.sh", "--once", preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN)), 0)

    def test_two_workers_with_one_id(self):
        worker = self.start("tasks.sh", "-i", "3")
        self.told("pipe")
        _, err = self.run_it("tasks.sh", "-i", "3", "--once", code=64)
        self.assertRegex(err, "worker 3 of tasks.sh gave a sign of life .* ago: choose another id")
        os.killpg(worker.pid, signal.SIGINT)
        self.finish(worker, 75)

    def test_lock(self):
        self.write("tasks.sh", "echo ran >pipe\n")
        locker = self.start("tasks.sh", "--lock")
        self.assertIn("is locked", locker.stderr.readline())
        worker = self.start("tasks.sh", "--once")
        self.write("tasks.sh", "echo edited >pipe\n")
        locker.send_signal(signal.SIGINT)
        self.assertEqual(self.told("pipe"), "edited\n")
        self.finish(worker, 0)
        self.finish(locker, 0)

    def test_who_only_looks_waits_for_no_lock(self):
        locker = self.start("tasks.sh", "--lock")
        self.assertIn("is locked", locker.stderr.readline())
        for words, text in ((["--status"], "waiting"), (["--check"], "tail"), (["--dot"], "digraph")):
            out, err = self.run_it("tasks.sh", *words)
            self.assertIn(text, out)
            self.assertEqual(err, "")
        locker.send_signal(signal.SIGINT)
        self.finish(locker, 0)

    def test_who_waits_for_the_lock_can_be_interrupted(self):
        with open(self.home / "tasks.sh.lock", "a", encoding="utf-8") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            locker = self.start("tasks.sh", "--lock")
            self.assertIn("lock", locker.stderr.readline())
            locker.send_signal(signal.SIGINT)
            self.finish(locker, -signal.SIGINT)

    def test_a_worker_that_waits_for_the_lock_says_how_to_end_it(self):
        self.write("tasks.sh", "true\n")
        with open(self.home / "tasks.sh.lock", "a", encoding="utf-8") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            worker = self.start("tasks.sh")
            self.assertIn("waiting for the lock", worker.stderr.readline())
            worker.send_signal(signal.SIGINT)
            self.assertIn("press Ctrl-C again to leave at once", worker.stderr.readline())
            worker.send_signal(signal.SIGINT)
            self.finish(worker, 75)

    def test_a_line_that_is_appended_is_run(self):
        self.write("tasks.sh", "echo one >pipe\n")
        worker = self.start("tasks.sh", "--poll", "0.05")
        self.assertEqual(self.told("pipe"), "one\n")
        with open(self.home / "tasks.sh", "a", encoding="utf-8") as file:
            file.write("echo two >pipe\n")
        self.assertEqual(self.told("pipe"), "two\n")
        worker.send_signal(signal.SIGTERM)
        self.finish(worker, 75)


class Damage(support.Case):
    def test_a_last_line_of_nul_bytes(self):
        self.write("tasks.sh", "true\n" + "\0" * 1000)
        _, err = self.run_it("tasks.sh", "--once", code=65)
        self.assertEqual(err, "runtask: tasks.sh: line 2: a NUL byte; a task list is plain text\n")

    def test_nul_bytes_in_a_list_whose_lines_run(self):
        """They end first."""
        for name in ("pipe", "gate"):
            os.mkfifo(self.home / name)
        self.write("tasks.sh", "echo begun >pipe; read x <gate; echo ends >pipe\n")
        worker = self.start("tasks.sh", "--poll", "0.05")
        self.assertEqual(self.told("pipe"), "begun\n")
        with open(self.home / "tasks.sh", "a", encoding="utf-8") as file:
            file.write("\0\n")
        why = "runtask: tasks.sh: line 2: a NUL byte; a task list is plain text"
        self.assertEqual(worker.stderr.readline(), f"{why}; trying again\n")
        self.write("gate", "\n")
        self.assertEqual(self.told("pipe"), "ends\n")
        _, err = self.finish(worker, 65)
        self.assertEqual(err, f"{why}\n")

    def test_numbers_that_no_worker_has(self):
        for tag in ("#@-1", "#@99999999999999999999"):
            self.write("tasks.sh", f"true\ntrue {tag}\n")
            _, err = self.run_it("tasks.sh", "--once", code=65)
            self.assertIn("runtask: tasks.sh: line 3: a '#@' needs the number of a worker, such as #@2\n", err)

    def test_old_copies_of_the_list_go_first_on_a_full_disk(self):
        disk = ("unshare", "--mount", "sh", "-c", 'mount -t tmpfs -o size=2m none disk && mkdir -p disk/tasks.sh.runtask/old && cp tasks.sh disk && '
                'for n in 1 2 3 4 5 6 7 8; do head -c 200000 /dev/zero >disk/tasks.sh.runtask/old/$n.200000; done && exec "$0" "$@"')
        os.mkdir(self.home / "disk")
        self.write("tasks.sh", ("true # " + "x" * 900 + "\n") * 100)
        tried = subprocess.run([*disk, "true"], cwd=self.home, check=False, stderr=subprocess.PIPE)
        if tried.returncode != 0:
            self.skipTest(tried.stderr.decode())
        worker = subprocess.run([*disk, support.PROGRAM, "disk/tasks.sh", "--once"], cwd=self.home, env=self.environment, check=False,
                                stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=support.PATIENCE)
        self.assertEqual((worker.returncode, worker.stderr), (0, ""))


class Sharing(support.Case):
    def test_a_lock_that_does_not_lock_ends_the_worker(self):
        os.mkfifo(self.home / "pipe")
        os.mkfifo(self.home / "gate")
        self.write("tasks.sh", "echo begun >pipe; read x <gate\n")
        worker = self.start("tasks.sh")
        self.assertEqual(self.told("pipe"), "begun\n")
        edits = self.home / "tasks.sh.runtask/edits"
        records = [line for line in edits.read_text().splitlines() if line[:1].isdigit()]
        with open(edits, "a", encoding="utf-8") as log:
            log.write(records[0] + "\n")
        (self.home / "gate").write_text("\n")
        _, err = self.finish(worker, 65)
        self.assertIn("does not lock", err)

    def test_each_line_once(self):
        self.write("tasks.sh", "".join(f"echo {n} >>done\n" for n in range(300)))
        workers = [self.start("tasks.sh", "--once", "--jobs", jobs) for jobs in ("1", "1", "3")]
        for worker in workers:
            self.finish(worker, 0)
        self.assertEqual(sorted(map(int, self.read("done").split())), list(range(300)))
        self.assertEqual(self.read("tasks.sh").count("#ok"), 300)

    def test_outputs_of_jobs_are_not_mixed(self):
        self.write("tasks.sh", "".join(f"for i in 1 2 3 4 5; do echo {n}; done\n" for n in range(20)))
        out, _ = self.run_it("tasks.sh", "--once", "--jobs", "4")
        for n in range(20):
            self.assertIn(f"> for i in 1 2 3 4 5; do echo {n}; done\n" + f"{n}\n" * 5 + "(worker 0)<- ", out)

    def test_lines_of_jobs_are_shown_where_they_began(self):
        """Though the worker went elsewhere before they ended, and a `#!` line failed."""
        os.mkfifo(self.home / "gate")
        self.write("tasks.sh", "mkdir sub #!\nread x <gate\ncd sub #!\nfalse #!\necho x >../gate\n")
        out, err = self.run_it("tasks.sh", "--once", "--jobs", "2")
        self.assertIn("(worker 0)-> HOME> read x <gate\n", self.neutral(out))
        self.assertIn("(worker 0)-> HOME/sub> echo x >../gate\n", self.neutral(out))
        self.assertEqual(err, "runtask: line 5 (#!) failed with exit code 1; lines below it run anyway\n")

    def test_all_places_are_filled(self):
        """By lines that none of them ends."""
        os.mkfifo(self.home / "pipe")
        self.write("many.sh", "echo $BASHPID >pipe; exec tail -f /dev/null\n" * 60)
        with open(os.open(self.home / "pipe", os.O_RDWR), encoding="utf-8") as pipe:
            worker = self.start("many.sh", "--jobs", "60", "--poll", "1h")
            pids = [pipe.readline() for _ in range(60)]
        with self.ends_of(pids):
            worker.send_signal(signal.SIGTERM)
        self.finish(worker, 75)

    def test_lines_for_other_workers(self):
        self.write("tasks.sh", "true\ntrue #@7\ntrue #@9 #@8\n")
        _, err = self.run_it("tasks.sh", "--once")
        self.assertEqual(err, "runtask: tasks.sh: 2 lines are for other workers: #@7 #@8 #@9\n")

    def test_lines_that_wait_for_those_of_other_workers(self):
        self.write("tasks.sh", "true #@5 #:g\ntrue #+g\n")
        _, err = self.run_it("tasks.sh", "--once")
        self.assertEqual(err, "runtask: tasks.sh: 1 line is for other workers: #@5; 1 line waits for them\n")

    def test_lines_that_wait_for_others_begin_soon(self):
        """Long before the next --poll."""
        for name in ("pipe", "gate1", "gate2", "gate3"):
            os.mkfifo(self.home / name)
        self.write("tasks.sh", "echo begun >pipe; read x <gate1 #:g\n" +
                   "".join(f"echo $WORKERID >>ids; read x <gate{n} #+g\n" for n in (2, 3)))
        workers = [self.start("tasks.sh", "--once", "--poll", "1h") for _ in range(2)]
        self.assertEqual(self.told("pipe"), "begun\n")
        while not (self.home / "tasks.sh.runtask/alive/1").exists():
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.fail(f"{workers[1].wait(0.01)}: a worker has ended")
        (self.home / "gate1").write_text("\n")
        # Both run at the same time.
        with open(self.home / "gate2", "w", encoding="utf-8") as two, open(self.home / "gate3", "w", encoding="utf-8") as three:
            two.write("\n")
            three.write("\n")
        for worker in workers:
            self.finish(worker, 0)
        self.assertEqual(sorted(self.read("ids").split()), ["0", "1"])

    def test_groups_wait(self):
        self.write("tasks.sh", "echo a >>log #:g\n" + "echo b >>log #+g\n" * 4 + "echo c >>log #:g\necho d >>log #:\n")
        workers = [self.start("tasks.sh", "--once", "--jobs", "2", "--poll", "0.05") for _ in range(2)]
        for worker in workers:
            self.finish(worker, 0)
        self.assertEqual("".join(self.read("log").split()), "abbbbcd")


if __name__ == "__main__":
    unittest.main(verbosity=2)
