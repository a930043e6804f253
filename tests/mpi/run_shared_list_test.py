#!/usr/bin/env python3
"""work_queue_run --shared-list: ranks and TCP workers take lines of a list that workers of runtask mark."""

import fcntl
import os
import re
import signal
import subprocess
import time

import run_support as support

WORKER = os.environ["WORKER"]


def masked(text):
    """Without times and host names."""
    text = re.sub(r"\d\d-\d\d \d\d:\d\d:\d\d", "T", text)
    return re.sub(r"(# worker \d+): \S+", r"\1: HOST", text)


class SharedList(support.Case):
    def list(self, text, name="tasks.sh"):
        return self.write(name, text)

    def run_list(self, *words, ranks=3, **how):
        return self.run_to_end("--shared-list", "--once", *words, ranks=ranks, **how)

    def marks(self, name="tasks.sh"):
        return masked(self.read(name)).splitlines()

    def trails(self, command, name="tasks.sh"):
        """The trail of each line with this command."""
        return [line.partition(" # worker ")[2] for line in self.marks(name) if re.match(f"#?{re.escape(command)}( |$)", line)]

    def test_one_worker_marks_as_the_document_shows(self):
        self.list("echo a >> out\nfalse\nsh -c 'kill -9 $$' #:g\necho b #:g\n")
        run = self.run_list("tasks.sh", ranks=0, code=1)
        self.assertEqual(self.marks(), [
            "#LASTWORKER 0",
            "#echo a >> out # worker 0 # (T ... T) #ok",
            "false # worker 0 # (T ... T) #error1",
            "sh -c 'kill -9 $$' #:g # worker 0 # (T ... T) #error137",
            "echo b #:g",
            "# worker 0: HOST rank 0 (T)",
        ], str(run))
        self.assertIn("marked in the list: runtask --status tasks.sh\n", run.out)
        self.assertNotIn("failed.sh", run.out)

    def ids(self, name="tasks.sh"):
        """Of all workers that joined."""
        ids = [int(number) for number in re.findall(r"^# worker (\d+): ", self.read(name), re.M)]
        self.assertEqual(self.marks(name)[0], f"#LASTWORKER {max(ids)}")
        return ids

    def test_each_line_runs_once_by_one_of_the_ranks(self):
        self.list("".join(f"echo {n} >> out\n" for n in range(200)))
        self.run_list("tasks.sh")
        self.assertEqual(sorted(map(int, self.lines("out"))), list(range(200)))
        self.assertEqual(len([line for line in self.marks() if line.endswith("#ok")]), 200)
        earlier = self.ids()
        self.assertEqual(earlier, list(range(len(earlier))))
        # What was done is not done again, and ranks that come late find the run ended. Each has the next id.
        self.run_list("tasks.sh")
        self.assertEqual(len(self.lines("out")), 200)
        self.assertEqual(self.ids(), list(range(len(self.ids()))))
        self.assertGreater(len(self.ids()), len(earlier))
        self.assertTrue(os.path.isdir(self.path("tasks.sh.wq-2")))

    def test_each_worker_runs_the_environment_lines_in_its_own_shell(self):
        os.mkdir(self.path("sub"))
        self.list("cd sub #!\nX=set #!\nexport Y=$WORKERID #!\n" + "".join(
            f"echo $X $Y $WORKERID $TASKFILE >> out{n} #@{n}\n" for n in range(3)) + "cd .. #!\npwd > where #:\n")
        self.run_list("tasks.sh")
        for n in range(3):
            self.assertEqual(self.lines(f"sub/out{n}"), [f"set {n} {n} tasks.sh"])
        self.assertEqual(self.lines("where"), [os.path.realpath(self.folder)])

    def test_a_failed_line_is_tried_by_each_worker_once(self):
        self.list("echo >> tries; false\necho >> tries2; test $(wc -l < tries2) -gt 1\n")
        self.run_list("tasks.sh", code=1)
        self.assertEqual(len(self.lines("tries")), 3)
        self.assertEqual(len(self.lines("tries2")), 2)
        self.assertEqual(len(re.findall("#error1", self.trails("echo >> tries; false")[0])), 3)
        self.assertTrue(self.trails("echo >> tries2; test $(wc -l < tries2) -gt 1")[0].endswith("#ok"))

    def test_groups_keep_their_order(self):
        self.list("sleep 0.1; echo a >> out #:g\necho b >> out #+g\necho c >> out #+g\necho d >> out #:g\n#:\necho e >> out\n")
        self.run_list("tasks.sh")
        order = self.lines("out")
        self.assertEqual((order[0], sorted(order[1:3]), order[3:]), ("a", ["b", "c"], ["d", "e"]))

    def test_a_worker_leaves_and_others_go_to_other_lists(self):
        self.list("echo a >> out\nexit #!#@1\nnewtask=two.sh #!#@2\njumpto=\"three.sh\" #!\necho never >> out\n")
        self.list("echo two $WORKERID $TASKFILE >> out #:\n", "two.sh")
        self.list("echo three $WORKERID $TASKFILE >> out\n", "three.sh")
        self.run_list("tasks.sh", code=None)
        self.assertEqual(sorted(self.lines("out")), ["a", "three 0 three.sh", "two 0 two.sh"])
        self.assertEqual(self.marks("two.sh")[0], "#LASTWORKER 0")
        self.assertEqual(self.trails("echo never >> out"), [""])

    def test_lines_of_a_killed_rank_wait_again(self):
        bell, gate = self.bell(), self.gate()
        self.list("".join(f"echo {n} >> out; echo $WORKERID > bell; read x < gate\n" for n in range(6)))
        run = self.start("--shared-list", "--once", "tasks.sh", "--run-dir", "r", ranks=3)
        bell.wait(3)
        while len(re.findall(r"# worker \d+ # \(T \.\.\.$", "\n".join(self.marks()), re.M)) < 3:
            self.assertFalse(run.wait_at_most(0.01), str(run))  # the file lags a little behind its log
        worker = int(re.search(r"# worker (\d+): HOST rank 1 ", "\n".join(self.marks())).group(1))
        os.kill(run.ranks()[1], signal.SIGKILL)
        for _ in range(7):
            gate.open()
        self.assertEqual(run.wait(), 0, str(run))
        lost = [line for line in self.marks() if "#lost" in line]
        self.assertEqual(len(lost), 1)
        self.assertRegex(lost[0], rf"# worker {worker} # \(T ... T\) #lost # worker \d # \(T ... T\) #ok")
        self.assertEqual(len(self.lines("out")), 7)
        self.assertEqual(len([line for line in self.marks() if line.endswith("#ok")]), 6)
        self.assertEqual(os.listdir(self.path("tasks.sh.runtask/alive")), [])

    def test_an_interrupted_run_gives_its_lines_back(self):
        bell, gate = self.bell(), self.gate()
        self.list("echo > bell; read x < gate\necho b >> out\n")
        run = self.start("--shared-list", "tasks.sh", "--grace", 0, ranks=0)
        bell.wait()
        while not (self.trails("echo b >> out") and self.trails("echo b >> out")[0].endswith("#ok")):
            self.assertFalse(run.wait_at_most(0.01), str(run))  # the file lags a little behind its log
        run.signal(signal.SIGINT)
        self.assertEqual(run.wait(), 75, str(run))
        self.assertTrue(self.trails("echo > bell; read x < gate")[0].endswith("#lost"), self.marks())
        gate.open()
        self.run_list("tasks.sh", ranks=0)
        self.assertTrue(self.trails("echo > bell; read x < gate")[0].endswith("#ok"), self.marks())

    def test_lines_that_are_appended_while_workers_wait_are_run(self):
        bell = self.bell()
        self.list("echo a > bell\n")
        run = self.start("--shared-list", "--poll", "0.05", "tasks.sh", ranks=0)
        bell.wait(word="a")
        with open(self.path("tasks.sh"), "a", encoding="utf-8") as file:
            file.write("echo b > bell\n")
        bell.wait(word="b")
        run.signal(signal.SIGINT)
        self.assertEqual(run.wait(), 75)

    def test_tcp_workers_take_lines(self):
        self.list("cd / #!\n" + "".join(f"pwd >> {self.folder}/out\n" for n in range(19)) +
                  f'test "$WORKERID" = 0 && pwd >> {self.folder}/out\n')
        run = self.start("--shared-list", "--once", "tasks.sh", "--listen", "--manager-only", "--run-dir", "r")
        worker = self.tcp_worker(run, 2)
        self.assertEqual(run.wait(), 0, str(run))
        worker.wait(support.DEADLINE)
        self.assertEqual(self.lines("out"), ["/"] * 20)
        self.assertEqual(len([line for line in self.marks() if line.endswith("#ok")]), 20)

    def running(self):
        return [line for line in self.marks() if line.endswith("(T ...")]

    def tcp_worker(self, run, cores):
        run.wait_for_text("listening on port")
        environment = {**os.environ, support.MARK: self.mark, "TMPDIR": self.temporary}
        return subprocess.Popen([WORKER, "--contact", self.path("r/contact"), "--cores", str(cores), "--single-shot"],
                                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                env=environment, cwd=self.folder)

    def test_lines_end_when_no_sign_of_life_can_be_given(self):
        """Others may take the lines then."""
        bell = self.bell()
        self.list("echo $$ > bell; test -e again || { touch again; exec sleep 1000; }\n")
        run = self.start("--shared-list", "--once", "--lease", support.LEASE, "--poll", "0.05", "tasks.sh", ranks=0)
        bell.wait()
        signs = self.path("tasks.sh.runtask/alive")
        os.rename(signs, signs + ".away")
        self.write("tasks.sh.runtask/alive", "")
        run.wait_for_text("this run could not give signs of life for too long")
        os.unlink(signs)
        os.rename(signs + ".away", signs)
        self.assertEqual(run.wait(), 0, str(run))
        self.assertRegex(self.marks()[1], r"# worker 0 # \(T ... T\) #lost # worker 0 # \(T ... T\) #ok$")

    def test_lines_go_on_while_the_list_is_locked_for_longer_than_the_lease(self):
        bell, gate = self.bell(), self.gate()
        self.list("echo > bell; read x < gate\ntrue\n")
        run = self.start("--shared-list", "--once", "--lease", support.LEASE, "--poll", "0.05", "tasks.sh", ranks=0)
        bell.wait()
        sign = self.path("tasks.sh.runtask/alive/0")
        with open(self.path("tasks.sh.lock"), "a", encoding="utf-8") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            locked = time.time()
            while os.stat(sign).st_mtime < locked + 1.25 * support.LEASE:
                self.assertFalse(run.wait_at_most(0.01), str(run))
                self.assertLess(time.time(), locked + support.DEADLINE, "no sign of life")
            gate.open()
        self.assertEqual(run.wait(), 0, str(run))
        self.assertRegex(self.trails("echo > bell; read x < gate")[0], r"^0 # \(T ... T\) #ok$")

    def test_an_end_that_waits_for_the_lock_can_be_given_up(self):
        bell, gate = self.bell(), self.gate()  # noqa: F841  nobody opens the gate
        self.list("echo > bell; read x < gate\n")
        run = self.start("--shared-list", "tasks.sh", "--run-dir", "r", ranks=0)
        bell.wait()
        with open(self.path("tasks.sh.lock"), "a", encoding="utf-8") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            run.signal(signal.SIGINT)
            run.wait_for_text("waiting for the lock")
            while not run.wait_at_most(0.2):
                run.signal(signal.SIGINT)
            self.assertEqual(run.wait(), 75, str(run))
            self.assertIn("not all ends are recorded: lines without a recorded end wait again when the lease is over", run.err)
        self.assertIn("state=interrupted\n", self.read("r/status"))

    def test_a_shell_with_set_u_jumps(self):
        self.list("set -u #!\nnewtask=two.sh #!\necho never >> out\n")
        self.list("echo two >> out\n", "two.sh")
        self.run_list("tasks.sh", ranks=0, code=None)
        self.assertEqual(self.lines("out"), ["two"])

    def test_lines_that_need_what_no_worker_has_are_not_begun(self):
        self.list("true\n")
        run = self.start("--shared-list", "--disk", "900T", "tasks.sh", ranks=0)
        run.wait_for_text("gets no lines: each line needs 1 core, 921600 GB disk, and this worker has ")
        run.signal(signal.SIGTERM)
        self.assertEqual(run.wait(), 75, str(run))
        self.assertIn("true", self.marks())

    def test_signs_of_life_are_given_while_the_run_stops(self):
        bell, gate = self.bell(), self.gate()
        self.list("echo > bell; read x < gate\n")
        run = self.start("--shared-list", "--lease", support.LEASE, "--poll", "900", "tasks.sh", "--grace", 100, ranks=0)
        bell.wait()
        sign = self.path("tasks.sh.runtask/alive/0")
        run.signal(signal.SIGINT)
        run.wait_for_text("stopping at")
        stopped = time.time()
        while os.stat(sign).st_mtime < stopped + 1.25 * support.LEASE:
            self.assertFalse(run.wait_at_most(0.01), str(run))
            self.assertLess(time.time(), stopped + support.DEADLINE, "no sign of life")
        gate.open()
        self.assertEqual(run.wait(), 75, str(run))
        self.assertTrue(self.trails("echo > bell; read x < gate")[0].endswith("#ok"), self.marks())

    def test_a_worker_takes_as_many_lines_as_it_has_cores_for(self):
        bell, gate = self.bell(), self.gate()
        self.list("echo > bell; read x < gate\n" * 2)
        run = self.start("--shared-list", "--once", "--cores", "2", "tasks.sh", "--listen", "--manager-only",
                         "--run-dir", "r")
        small = self.tcp_worker(run, 1)
        run.wait_for_text("gets no lines: each line needs 2 cores, and this worker has 1 core")
        large = self.tcp_worker(run, 3)
        for done in range(2):
            bell.wait(1)
            while len([line for line in self.marks() if line.endswith("#ok")]) < done or not self.running():
                self.assertFalse(run.wait_at_most(0.01), str(run))  # the file lags a little behind its log
            self.assertEqual(len(self.running()), 1)
            gate.open()
        self.assertEqual(run.wait(), 0, str(run))
        small.wait(support.DEADLINE)
        large.wait(support.DEADLINE)
        self.assertEqual(self.marks()[0], "#LASTWORKER 0")

    def test_a_master_that_is_not_there_is_said_at_once(self):
        run = self.run_to_end("--shared-list", "no.such.host.invalid:tasks.sh", code=69)
        self.assertIn("no.such.host.invalid", run.err)

    def test_what_cannot_be_done_is_refused(self):
        def refused(*words, code=64):
            run = self.run_to_end(*words, code=code)
            self.assertEqual(run.err.count("\n"), 1, run.err)
            return run.err

        self.list("echo a\n")
        self.assertIn("--once needs --shared-list", refused("--once", "tasks.sh"))
        self.assertIn("runtask --check", refused("--shared-list", "--dry-run", "tasks.sh"))
        self.assertIn("runtask --status", refused("--shared-list", "--resume", "tasks.sh"))
        self.assertIn("needs a task list in a file", refused("--shared-list", "-"))
        self.assertIn("names no file", refused("--shared-list", "host:"))
        self.list(b"echo a\0b\n")
        run = self.run_list("tasks.sh", ranks=0, code=65)
        self.assertIn("tasks.sh: line 1: a NUL byte", run.err)


if __name__ == "__main__":
    support.main()
