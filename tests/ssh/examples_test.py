#!/usr/bin/env python3
"""The examples of the document of DistributedTaskQueue, by ssh and locally, and what the guide promises besides."""

import os
import re
import signal
import subprocess
import time

import ssh_support as support
from ssh_support import Case

import practical_example  # found by ssh_support

RUN = os.environ["RUN"]
SIMPLE = "".join(f"echo task{n}; sleep 0.05 \n" for n in range(1, 6))


class Examples(Case):
    def ways(self):
        """The list by ssh, and here."""
        return {"ssh": self.remote(), "here": self.path("tasks.sh")}

    def test_the_simple_example(self):
        for way, name in self.ways().items():
            with self.subTest(way):
                self.write("tasks.sh", SIMPLE)
                _, out, _ = self.run_to_end(name, "--once", "--name", "myspace 100.122.27.103")
                self.assertEqual(self.marks(), "#LASTWORKER 0\n" + "".join(
                    f"#echo task{n}; sleep 0.05 # worker 0 # (T ... T) #ok\n" for n in range(1, 6)) + "# worker 0: NAME (T)\n")
                self.assertIn("# worker 0: myspace 100.122.27.103 (", self.read("tasks.sh"))
                self.assertEqual(re.findall("^task\\d$", out, re.M), [f"task{n}" for n in range(1, 6)])
                self.assertIn(f"(worker 0)-> {os.path.realpath(self.folder)}> echo task1; sleep 0.05\n", out)

    def test_two_workers_share_the_simple_example(self):
        self.write("tasks.sh", "".join(f"echo {n} >> {self.folder}/out\n" for n in range(60)))
        workers = [self.start(name, "--once") for name in (self.remote(), self.path("tasks.sh"), self.remote())]
        for worker in workers:
            self.assertEqual(worker.wait(support.DEADLINE), 0, worker.communicate())
        self.assertEqual(sorted(map(int, self.lines("out"))), list(range(60)))

    def practical(self):
        practical_example.make_models(self.folder)
        os.makedirs(self.path("bin"), exist_ok=True)
        for command in practical_example.COMMANDS:
            self.write(f"bin/{command}", f"#!/bin/sh\necho {command} ${{PWD##*/}} $* >> {self.folder}/log\n")
            os.chmod(self.path(f"bin/{command}"), 0o755)
        self.write("tasks.sh", practical_example.TASKS.replace("~/", f"{self.folder}/"))
        if os.path.exists(self.path("log")):
            os.remove(self.path("log"))
        return {"PATH": self.path("bin") + ":" + os.environ["PATH"]}

    def check_practical(self):
        log = self.lines("log")
        self.assertEqual(len(log), 11)
        order = [line for line in log if line.startswith(("deploy", "test", "report"))]
        self.assertEqual(order[0], "deploy_model resnet34")
        self.assertEqual(sorted(order[1:4]), [f"test_model_on resnet34 dataset{n}" for n in (1, 2, 3)])
        self.assertEqual(order[4], "report_test_result resnet34")
        self.assertLess(log.index("train_model resnet34"), log.index("deploy_model resnet34"))
        self.assertIn("train_model mbnetv3", log)
        self.assertRegex(self.marks(), r"#cd resnet101; train_model #@2 # worker 2 # \(T \.\.\. T\) #ok")

    def test_the_practical_example(self):
        for way, name in self.ways().items():
            with self.subTest(way):
                environment = self.practical()
                workers = [self.start(name, "--once", "--poll", "0.1", env=environment) for _ in range(3)]
                for worker in workers:
                    out, err = worker.communicate(timeout=support.DEADLINE)
                    self.assertEqual(worker.returncode, 0, out + err)
                # Worker 2 may have joined when the others had nothing left.
                self.check_practical()

    def test_jumps_ids_and_exits(self):
        self.write("tasklist1.sh", f"echo task1\necho task2\necho task3\necho task4\nexit #!#@1\nnewtask=\"{self.folder}/tasklist2.sh\" #!#@2\n"
                   f"newtask=\"{self.folder}/tasklist3.sh\"; newid=$WORKERID #!\necho task5\n")
        self.write("tasklist2.sh", f"echo two $WORKERID $TASKFILE >> {self.folder}/out\n")
        self.write("tasklist3.sh", f"echo three $WORKERID >> {self.folder}/out\n")
        for number in range(3):
            self.run_to_end(self.remote("tasklist1.sh"), "--once", "--id", number, code=None)
        self.assertEqual(sorted(self.lines("out")), ["three 0", f"two 0 {self.folder}/tasklist2.sh"])
        self.assertIn("\necho task5\n", self.read("tasklist1.sh"))
        self.assertIn("# worker 0: ", self.read("tasklist3.sh"))

    def test_what_was_begun_by_the_documents_tool_is_continued(self):
        """Lines as that tool writes them, with its blanks."""
        self.write("tasks.sh", "#LASTWORKER 1\n#echo task1; sleep 3 # worker 0 # (07-28 15:52:29 ... 07-28 15:52:33) #ok\n"
                   "echo task2 >> out # worker 0 # (07-28 15:52:33 ... 07-28 15:52:34) #error1\necho task3 >> out\n"
                   "# worker 0: myspace-g46kh-25239-worker-0 100.122.27.103  (07-28 15:52:28)\n"
                   "# worker 1: myspace-khg46-39252-worker-0 100.121.27.101  (07-28 15:52:34)\n")
        self.run_to_end("tasks.sh", "--once")
        self.assertEqual(self.lines("out"), ["task2", "task3"])
        self.assertEqual(self.marks().splitlines()[:4], [
            "#LASTWORKER 2", "#echo task1; sleep 3 # worker 0 # (T ... T) #ok",
            "#echo task2 >> out # worker 0 # (T ... T) #error1 # worker 2 # (T ... T) #ok",
            "#echo task3 >> out # worker 2 # (T ... T) #ok"])

    def test_mpirun_makes_the_ranks_its_workers(self):
        environment = self.practical()
        mpirun = ["mpirun", "--oversubscribe", "--allow-run-as-root"] if os.getuid() == 0 else ["mpirun", "--oversubscribe"]
        self.run_to_end(*mpirun[1:], "-n", "3", support.PROGRAM, "--once", "tasks.sh", env=environment, program="mpirun")
        self.check_practical()
        self.assertTrue(os.path.exists(self.path("tasks.sh.wq/journal")))

    def test_it_serves_workers_over_tcp(self):
        self.write("tasks.sh", f"cd / #!\npwd >> {self.folder}/out\npwd >> {self.folder}/out\n")
        manager = self.start("--serve", "--once", "tasks.sh")
        self.wait_until(lambda: os.path.exists(self.path("tasks.sh.wq/contact")), "the contact file")
        self.start("--contact", self.path("tasks.sh.wq/contact"), "--cores", 1, "--single-shot", program=os.environ["WORKER"])
        self.assertEqual(manager.wait(support.DEADLINE), 0, manager.communicate())
        self.assertEqual(self.lines("out"), ["/", "/"])

    def test_an_interrupted_worker_gives_its_line_back(self):
        self.write("tasks.sh", f"echo > {self.folder}/begun; exec sleep 1000\n")
        worker = self.start(self.remote())
        self.wait_until(lambda: os.path.exists(self.path("begun")), "the task")
        worker.send_signal(signal.SIGTERM)
        self.assertEqual(worker.wait(support.DEADLINE), 75, worker.communicate())
        self.assertIn("exec sleep 1000 # worker 0 # (T ... T) #lost\n", self.marks())
        self.wait_until(lambda: not support.tagged(self.mark), "the end of all processes")

    def test_the_list_is_locked_edited_and_reset(self):
        self.write("tasks.sh", "echo a\necho b #:g\n")
        lock = self.start(self.remote(), "--lock")
        self.assertIn("Ctrl-C", lock.stderr.readline())
        self.assertEqual(subprocess.run(["flock", "-n", self.path("tasks.sh.lock"), "true"]).returncode, 1)
        lock.send_signal(signal.SIGINT)
        lock.communicate(timeout=support.DEADLINE)
        self.run_to_end(self.remote(), "--once")
        self.assertEqual(self.marks().count("#ok"), 2)
        self.run_to_end(self.remote(), "--reset")
        self.assertEqual(self.read("tasks.sh"), "echo a\necho b #:g\n")

    def test_a_lock_that_is_held_for_longer_than_the_lease_makes_no_worker_lost(self):
        self.write("tasks.sh", "".join(f"echo > begun{n}; read x < gate{n}; echo {n} >> out\n" for n in range(2)) + "echo last >> out\n")
        gates = [os.open(self.path(f"gate{n}"), os.O_RDWR) for n in range(2) if os.mkfifo(self.path(f"gate{n}")) is None]
        workers = [self.start(name, "--once", "--lease", support.LEASE, "--poll", "0.1") for name in (self.remote(), self.path("tasks.sh"))]
        self.wait_until(lambda: all(os.path.exists(self.path(f"begun{n}")) for n in range(2)), "two lines")
        lock = self.start("tasks.sh", "--lock")
        self.assertIn("Ctrl-C", lock.stderr.readline())
        _, out, _ = self.run_to_end(self.remote(), "--status")
        self.assertIn("2 running", out)
        for gate in gates:
            os.write(gate, b"\n")
        locked = time.time()
        signs = [self.path(f"tasks.sh.runtask/alive/{worker}") for worker in range(2)]
        self.wait_until(lambda: all(os.stat(sign).st_mtime > locked + 1.25 * support.LEASE for sign in signs), "signs of life")
        self.assertIsNone(lock.poll())
        lock.send_signal(signal.SIGINT)
        for worker in workers:
            _, err = worker.communicate(timeout=support.DEADLINE)
            self.assertEqual(worker.returncode, 0, err)
        for gate in gates:  # not before: a shell that opens its gate late finds the line there
            os.close(gate)
        self.assertEqual(sorted(self.lines("out")), ["0", "1", "last"])
        self.assertNotIn("#lost", self.marks())

    def test_a_line_is_released_by_hand(self):
        self.write("tasks.sh", "#LASTWORKER 4\n#echo a # worker 4 # (07-28 15:52:29 ...\n")
        self.run_to_end(self.remote(), "--release", 4)
        self.assertIn("echo a # worker 4 # (T ... T) #lost\n", self.marks())
        self.run_to_end(self.remote(), "--once")
        self.assertIn("#lost # worker 5 # (T ... T) #ok", self.marks())

    def test_status_and_check(self):
        self.write("tasks.sh", "cd / #!\necho a #:g\necho b #:g\necho c #@9\n")
        _, out, _ = self.run_to_end(self.remote(), "--status")
        self.assertIn("0 done, 0 running, 0 failed, 3 waiting", out)
        self.assertRegex(out, r"3 +waiting +for line 2 \(group g\) +echo b #:g")
        _, out, _ = self.run_to_end("tasks.sh", "--check")
        self.assertRegex(out, r"1 +0 +2 +echo a #:g")
        self.assertIn("line 3  #:g", out)
        self.assertEqual(self.read("tasks.sh"), "cd / #!\necho a #:g\necho b #:g\necho c #@9\n")


class BadInput(Case):
    def refused(self, *words, code, says, **how):
        _, _, err = self.run_to_end(*words, code=code, **how)
        self.assertIn(says, err)
        self.assertLessEqual(err.strip().count("\n"), 1, err)

    def test_lists_that_cannot_be_used(self):
        os.mkdir(self.path("folder"))
        self.write("binary", b"echo\0\n")
        for name in (self.remote("folder"), self.path("folder")):
            self.refused(name, "--once", code=65, says="folder")
        for name in (self.remote("binary"), self.path("binary")):
            self.refused(name, "--once", code=65, says="line 1: a NUL byte")
        for mode in ("--status", "--check", "--dot", "--reset"):
            for name in (self.remote("missing"), "missing"):
                self.refused(name, mode, code=65, says="there is no list")
        self.assertFalse([name for name in os.listdir(self.folder) if name.startswith("missing")])
        self.run_to_end(self.remote("missing"), "--once")
        self.assertEqual(masked_lines(self.read("missing")), ["#LASTWORKER 0", "# worker 0: NAME (T)"])

    def test_all_kinds_of_text(self):
        self.write("tasks.sh", b"printf '%s\\n' \"a'b\" '$HOME' \\\\ '#x' >> out\r\necho \xff\xfe >> out\n" + b"true " + b"x" * 1_000_000 + b"\n"
                   b"echo last >> out")
        for name in (self.remote(), self.path("tasks.sh")):
            self.run_to_end(name, "--once")
            with open(self.path("out"), "rb") as file:
                self.assertEqual(file.read(), b"a'b\n$HOME\n\\\n#x\n\xff\xfe\nlast\n")
            os.remove(self.path("out"))
            self.run_to_end(name, "--reset")

    def test_masters_that_cannot_be_used(self):
        self.refused("nobody@127.0.0.1:tasks.sh", "--once", code=77, says="ssh", env={"RUNTASK_SSH": self.server.command.replace("/user ", "/host ")})
        self.refused("nobody@127.0.0.1:tasks.sh", "--once", code=69, says="refused", env={"RUNTASK_SSH": "ssh -p 1"})

    def test_two_workers_with_one_id(self):
        self.write("tasks.sh", f"echo > {self.folder}/begun; exec sleep 1000\n")
        self.start(self.remote(), "--id", 3)
        self.wait_until(lambda: os.path.exists(self.path("begun")), "the task")
        self.refused(self.remote(), "--once", "--id", 3, code=64, says="worker 3")


def masked_lines(text):
    return support.masked(text).splitlines()


if __name__ == "__main__":
    support.main()
