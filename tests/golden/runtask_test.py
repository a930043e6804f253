#!/usr/bin/env python3
"""runtask with local lists, from end to end. Usage: runtask_test.py PROGRAM.

Times and folders in golden files are replaced by a word. UPDATE=1 rewrites the files of tests/golden/runtask, for review
before a commit."""

import contextlib
import fcntl
import os
import pathlib
import pty
import re
import select
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

import golden_text

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import practical_example  # noqa: E402

GOLDEN = pathlib.Path(__file__).parent / "runtask"
PROGRAM = os.path.abspath(sys.argv.pop(1))
PATIENCE = 60  # seconds

# The examples of the document that runtask follows.
SIMPLE = """\
echo task1; sleep 3 
echo task2; sleep 3 
echo task3; sleep 3
echo task4; sleep 3 
echo task5; sleep 3 
"""
JUMPS = """\
echo task1; sleep 3 
echo task2; sleep 3 
echo task3; sleep 3
echo task4; sleep 3
exit #!#@1
newtask="~/tasklist2.sh" #!#@2
newtask="~/tasklist3.sh"; newid=$WORKERID #!
echo task5; sleep 3
"""
FAILING = """\
echo "double" 'single' $((1+1)) \\$HOME '#:no tag' # a remark
false
exit 3 #:g
if then
kill -TERM $BASHPID
nosuchcommand
(exit 4) #:h
echo blocked by line 4 #:g
"""
USAGE = [
    "", "a.sh b.sh", "--bogus a.sh", "--jobs 0 a.sh", "--jobs x a.sh", "--id -1 a.sh", "--timeout 0 a.sh", "--lease 1 a.sh",
    "--poll 0 a.sh", "--reset=x a.sh", "--lock --reset a.sh", "--lock --once a.sh", "host:", ":a.sh", "-m -x a.sh",
    "--dot --status a.sh", "--releas 3 a.sh", "--force a.sh", "--status --force a.sh",
]


class Case(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="wq-runtask-")
        self.addCleanup(folder.cleanup)
        self.home = pathlib.Path(os.path.realpath(folder.name))
        self.environment = {
            "HOME": str(self.home), "PATH": f"{self.home}/bin:{os.environ['PATH']}", "PWD": str(self.home), "LC_ALL": "C",
        }
        for name in ("LD_LIBRARY_PATH", "ASAN_OPTIONS", "TSAN_OPTIONS"):
            if name in os.environ:
                self.environment[name] = os.environ[name]
        self.tool("sleep", ":")

    def tool(self, name, text):
        path = self.home / "bin" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)

    def write(self, name, text):
        (self.home / name).write_text(text)

    def read(self, name):
        return (self.home / name).read_text()

    def neutral(self, text):
        for pattern, word in ((re.escape(str(self.home)), "HOME"), (r"\b\d\d-\d\d \d\d:\d\d:\d\d\b", "TIME"),
                              (r"\b\d+(\.\d+)?s ago", "AGE ago")):
            text = re.sub(pattern, word, text)
        return text

    def start(self, *words, **more):
        process = subprocess.Popen([PROGRAM, *words], cwd=self.home, env=self.environment, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True, **more)
        self.addCleanup(self.end, process)
        return process

    @staticmethod
    def end(process):
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        process.communicate(timeout=PATIENCE)

    def finish(self, process, code):
        out, err = process.communicate(timeout=PATIENCE)
        self.assertEqual(process.returncode, code, f"{out}\n{err}")
        return out, err

    def run_it(self, *words, code=0):
        return self.finish(self.start(*words), code)

    def compare(self, name, text):
        golden_text.compare(self, GOLDEN / name, self.neutral(text))

    def told(self, fifo):
        """What the next line tells by a pipe."""
        with open(self.home / fifo, encoding="utf-8") as pipe:
            return pipe.read()

    @contextlib.contextmanager
    def ends_of(self, pids):
        """Waits at the end until these processes have ended."""
        with contextlib.ExitStack() as stack:
            files = [os.pidfd_open(int(pid)) for pid in pids]
            for file in files:
                stack.callback(os.close, file)
            yield
            for file in files:
                self.assertTrue(select.select([file], [], [], PATIENCE)[0], "a process lives on")


class Examples(Case):
    def test_simple(self):
        self.write("examplelist.sh", SIMPLE)
        out, err = self.run_it("~/examplelist.sh", "--once", "--name", "me")
        self.assertEqual(err, "")
        self.compare("simple.txt", out + "----\n" + self.read("examplelist.sh"))
        self.run_it("examplelist.sh", "--reset")
        self.assertEqual(self.read("examplelist.sh").split(), SIMPLE.split())

    def test_practical(self):
        practical_example.make_models(self.home)
        for tool in practical_example.COMMANDS:
            self.tool(tool, 'echo "$(basename "$0") in $(basename "$PWD")" "$@"')
        self.write("tasklist.sh", practical_example.TASKS)
        out, _ = self.run_it("~/tasklist.sh", "--once", "-n", "one")
        two, _ = self.run_it("~/tasklist.sh", "--once", "-n", "two", "-i", "2")
        self.compare("practical.txt", out + "----\n" + two + "----\n" + self.read("tasklist.sh"))

    def test_jumps(self):
        text = ""
        for name in ("2", "3"):
            self.write(f"tasklist{name}.sh", f"echo list {name}, worker $WORKERID, $TASKFILE\n" * 2)
        self.write("tasklist1.sh", JUMPS)
        for worker in ("0", "1", "2"):
            out, err = self.run_it("~/tasklist1.sh", "--once", "-n", f"w{worker}")
            text += out + err + "----\n"
        self.compare("jumps.txt", text + "".join(self.read(f"tasklist{n}.sh") for n in "123"))

    def test_jumpto_keeps_the_id(self):
        self.write("a.sh", 'jumpto="b.sh" #!\n')
        self.write("b.sh", "echo $WORKERID\n")
        out, _ = self.run_it("a.sh", "--once", "-i", "7")
        self.assertIn("\n7\n", out)
        self.assertIn("#LASTWORKER 7", self.read("b.sh"))

    def test_newid_in_the_same_list(self):
        self.write("a.sh", "newid=9 #!\necho I am $WORKERID\n")
        out, _ = self.run_it("a.sh", "--once")
        self.assertIn("\nI am 9\n", out)


class Failures(Case):
    def test_failing_lines(self):
        self.write("tasks.sh", FAILING)
        out, err = self.run_it("tasks.sh", "--once", "-n", "me", code=1)
        again, more = self.run_it("tasks.sh", "--once", "-n", "you", "--retries", "1", code=1)
        self.compare("failing.txt", out + err + "----\n" + again + more + "----\n" + self.read("tasks.sh"))

    def test_time_limit(self):
        self.write("tasks.sh", "tail -f /dev/null & tail -f /dev/null\necho next\n")
        out, err = self.run_it("tasks.sh", "--once", "-n", "me", "--timeout", "0.2", code=1)
        self.compare("timeout.txt", out + err)

    def test_a_time_limit_while_the_worker_waits_for_the_lock(self):
        """Which the line itself holds."""
        self.write("tasks.sh", "exec 9>>tasks.sh.lock; flock 9; tail -f /dev/null & tail -f /dev/null\n")
        for jobs in ("1", "2"):
            _, err = self.run_it("tasks.sh", "--once", "--jobs", jobs, "--timeout", "0.5", "--poll", "0.05", "--lease", "2", code=1)
            self.assertIn("ran longer than 0.50s", err)
            self.assertIn("#error124", self.read("tasks.sh"))
            self.run_it("tasks.sh", "--reset")

    def test_a_line_that_kills_the_shell(self):
        self.write("tasks.sh", "export X=1 #!\nkill -9 $$; tail -f /dev/null\necho X is $X\n")
        out, err = self.run_it("tasks.sh", "--once", "-n", "me", code=1)
        self.compare("killed_shell.txt", out + err)

    def test_exit_codes_of_lists(self):
        (self.home / "folder").mkdir()
        self.write("binary", "a\0b\n")
        for words, code, text in ((["folder"], 65, "folder"), (["binary"], 65, "NUL"), (["nowhere/list"], 65, "nowhere")):
            with self.subTest(words):
                _, err = self.run_it("--once", *words, code=code)
                self.assertIn(text, err)
                self.assertEqual(err.count("\n"), 1)

    def test_a_missing_list_is_not_looked_at(self):
        for words in (["--status"], ["--check"], ["--dot"], ["--reset"], ["--lock"], ["--release", "0"]):
            for name in ("none.sh", "~/none.sh"):
                with self.subTest(words=words, name=name):
                    _, err = self.run_it(name, *words, code=65)
                    self.assertIn("there is no list", err)
                    self.assertEqual(err.count("\n"), 1)
        self.assertEqual(os.listdir(self.home), ["bin"])

    def test_check_tells_of_likely_typos(self):
        self.write("tasks.sh", "echo a #+nog\necho d # :grp\n")
        _, err = self.run_it("tasks.sh", "--check")
        self.assertEqual(err, "runtask: line 1: #+nog waits for nothing, since no line has #:nog\n"
                         "runtask: line 2: '# :grp' is a comment; the tag is '#:grp', without a blank\n")

    def test_a_missing_list_is_made(self):
        _, err = self.run_it("new.sh", "--once")
        self.assertEqual(err, "runtask: made an empty list: new.sh\n")
        self.assertIn("#LASTWORKER 0", self.read("new.sh"))
        _, err = self.run_it("new.sh", "--once")
        self.assertEqual(err, "")
        self.write("jumps.sh", "newtask=other.sh #!\n")
        _, err = self.run_it("jumps.sh", "--once")
        self.assertEqual(err, "runtask: made an empty list: other.sh\n")


class Ends(Case):
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
        self.assertRegex(err, "^runtask: worker 0 of tasks.sh gave a sign of life .* ago: end it first .*--force\n$")
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
        before = self.read("tasks.sh")
        for words in (["--reset"], ["--reset", "3"]):
            _, err = self.run_it("tasks.sh", *words, code=64)
            self.assertRegex(err, "^runtask: line 3 of tasks.sh runs on worker 0, which gave a sign of life .* ago: end it first .*--force\n$")
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
                    worker = subprocess.Popen([PROGRAM, "tasks.sh", "--jobs", jobs], cwd=self.home, env=self.environment,
                                              stdin=subprocess.DEVNULL, stdout=theirs, stderr=subprocess.PIPE, text=True)
                    self.addCleanup(self.end, worker)
                    os.close(theirs)
                    with self.ends_of(self.told("pipe").split()):
                        os.close(ours)
                    _, err = self.finish(worker, 75)
                    self.assertEqual(err, "runtask: nobody reads the output any more: the lines that run are killed, and wait again\n")
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


class Sharing(Case):
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
        self.assertEqual(err, "runtask: line 5 (#!) failed with 1; lines below it run all the same\n")

    def test_places_are_filled_at_once(self):
        """In the time of some lines one after the other, not of polls."""
        os.mkfifo(self.home / "pipe")
        self.write("one.sh", "true\n" * 60)
        self.write("many.sh", "echo $BASHPID >pipe; exec tail -f /dev/null\n" * 60)
        begun = time.monotonic()
        self.run_it("one.sh", "--once")
        one_by_one = time.monotonic() - begun
        with open(os.open(self.home / "pipe", os.O_RDWR), encoding="utf-8") as pipe:
            begun = time.monotonic()
            worker = self.start("many.sh", "--jobs", "60")
            pids = [pipe.readline() for _ in range(60)]
            self.assertLess(time.monotonic() - begun, 5 * one_by_one + 1)
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


class Texts(Case):
    def test_help(self):
        out, err = self.run_it("--help")
        self.assertEqual(err, "")
        self.compare("help.txt", out)

    def test_usage(self):
        """Each prints one line with the remedy."""
        text = ""
        for words in USAGE:
            out, err = self.run_it(*words.split(), code=64)
            self.assertEqual((out, err.count("\n")), ("", 1), err)
            text += f"$ runtask {words}\n{err}"
        self.compare("usage.txt", text)

    def test_a_terminal_is_told_what_is_waited_for(self):
        os.mkfifo(self.home / "pipe")
        self.write("tasks.sh", "false #:g\necho b #:g\necho c #@7\n")
        ours, theirs = pty.openpty()
        worker = subprocess.Popen([PROGRAM, "tasks.sh", "--poll", "0.05"], cwd=self.home, env=self.environment, stdin=theirs,
                                  stdout=theirs, stderr=theirs, start_new_session=True)
        self.addCleanup(self.end, worker)
        os.close(theirs)
        said = b""
        while b"waiting" not in said or not said.endswith(b"\n"):
            self.assertTrue(select.select([ours], [], [], PATIENCE)[0], said)
            said += os.read(ours, 65536)
        self.assertIn("line 3 waits for line 2 (group g)", said.decode())
        worker.send_signal(signal.SIGINT)
        self.assertEqual(worker.wait(PATIENCE), 75)
        os.close(ours)


if __name__ == "__main__":
    unittest.main(verbosity=2)
