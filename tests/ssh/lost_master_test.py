#!/usr/bin/env python3
"""A master that cannot be reached for a while: what runs, ends and begins meanwhile."""

import os
import signal
import subprocess

import ssh_support as support
from ssh_support import Case

# ssh, but for times when there is a file `down` or `hangs`. With a file `loses`, the answer to the first take is lost, and the
# master cannot be reached from then on.
SSH = """\
if test -e {folder}/down; then echo "ssh: connect to host m port 22: Connection refused" >&2; exit 255; fi
if test -e {folder}/hangs; then exec cat >/dev/null; fi
if test -e {folder}/loses; then exec python3 {folder}/lossy.py "$@"; fi
exec {ssh} "$@"
"""
LOSSY = """\
import os, subprocess, sys
ssh = subprocess.Popen({ssh} + sys.argv[1:], stdout=subprocess.PIPE)
while data := os.read(ssh.stdout.fileno(), 65536):
    if os.path.exists({log}):
        with open({log}) as log:
            if "\\ttake\\t" in log.read():
                open({down}, "w").close()
                ssh.kill()
                break
    os.write(1, data)
sys.exit(ssh.wait())
"""


class LostMaster(Case):
    def setUp(self):
        super().setUp()
        os.mkfifo(self.path("go"))
        script = self.write("ssh.sh", SSH.format(folder=self.folder, ssh=self.server.command))
        self.write("lossy.py", LOSSY.format(ssh=self.server.command.split(), log=repr(self.path("tasks.sh.runtask/edits")), down=repr(self.path("down"))))
        self.environment = {"RUNTASK_SSH": f"sh {script}"}

    def cut(self, how):
        """From now on; connections that there are end."""
        self.write(how, "")
        for process in support.tagged(self.mark):
            if support.command_of(process).startswith("ssh "):
                os.kill(process, signal.SIGKILL)

    def worker(self, *words):
        return self.start(self.remote(), *words, env=self.environment)

    def wait_for(self, name):
        self.wait_until(lambda: os.path.exists(self.path(name)), name)

    def said(self, worker, text):
        line = ""
        while text not in line:
            line = worker.stderr.readline()
            self.assertTrue(line, f"never said: {text}")

    def test_the_end_of_a_line_is_recorded_later(self):
        self.write("tasks.sh", f"echo > {self.folder}/begun; read x <{self.folder}/go; exit 3\necho next >{self.folder}/next #:\necho x\n")
        worker = self.worker("--once")
        self.wait_for("begun")
        self.wait_until(lambda: "...\n" in self.marks(), "the mark of the line that runs")
        self.cut("down")
        with open(self.path("go"), "w", encoding="utf-8") as go:
            go.write("\n")
        self.said(worker, "trying again")
        self.assertIn("...\n", self.marks())
        os.remove(self.path("down"))
        self.said(worker, "connected again")
        worker.communicate(timeout=support.DEADLINE)
        self.assertEqual(worker.returncode, 1)
        self.assertRegex(self.marks(), r"exit 3 # worker 0 # \(T ... T\) #error3\n")
        self.assertNotIn("#?line", self.marks())

    def test_lines_are_killed_before_others_may_take_them(self):
        self.write("tasks.sh", f"test -e {self.folder}/begun || {{ echo > {self.folder}/begun; exec tail -f /dev/null; }}\n")
        worker = self.worker("--once", "--lease", support.LEASE)
        self.wait_for("begun")
        self.cut("down")
        self.said(worker, "trying again")
        self.said(worker, "gave no sign of life for too long")
        os.remove(self.path("down"))
        worker.communicate(timeout=support.DEADLINE)
        self.assertEqual(worker.returncode, 0)
        self.assertRegex(self.marks(), r"# worker 0 # \(T ... T\) #lost # worker 0 # \(T ... T\) #ok\n")

    def test_a_line_that_waits_for_its_environment_is_lost_with_the_lease(self):
        """It stands above the worker's last line, so that the #! line is run again before it."""
        slow = f"if test -e {self.folder}/slow; then echo >> {self.folder}/replays; read x <{self.folder}/go; fi"
        self.write("tasks.sh", f"#LASTWORKER 9\n{slow} #!\n#echo early >> {self.folder}/early # worker 9 # (07-28 15:52:29 ...\n"
                   f"echo > {self.folder}/begun; read x <{self.folder}/go\n")
        worker = self.worker("--lease", support.LEASE, "--poll", "0.1", "--id", "0")
        self.wait_for("begun")
        self.write("slow", "")
        self.run_to_end("tasks.sh", "--release", "9", "--force")
        with open(self.path("go"), "w", encoding="utf-8") as go:
            go.write("\n")
        self.wait_for("replays")
        self.wait_until(lambda: self.marks().count("...\n") == 1, "the mark of the early line")
        self.cut("down")
        self.said(worker, "gave no sign of life for too long")
        self.wait_until(lambda: len(self.lines("replays")) == 2, "the #! line, which was killed, once more")
        os.remove(self.path("slow"))
        with open(self.path("go"), "w", encoding="utf-8") as go:
            go.write("\n")
        os.remove(self.path("down"))
        self.wait_until(lambda: self.marks().count("#ok") == 2, "the end of both lines")
        worker.send_signal(signal.SIGTERM)
        worker.communicate(timeout=support.DEADLINE)
        self.assertRegex(self.marks(), r"early # worker 9 # \(T ... T\) #lost # worker 0 # \(T ... T\) #lost # worker 0 # \(T ... T\) #ok\n")
        self.assertEqual(self.lines("early"), ["early"])

    def test_a_line_that_was_released_while_nobody_knew_of_its_take_is_run(self):
        self.write("tasks.sh", f"echo ran >> {self.folder}/out\n")
        self.write("loses", "")
        worker = self.worker("--once", "--poll", "1h")
        self.said(worker, "trying again")
        self.wait_for("down")
        self.run_to_end("tasks.sh", "--release", "0", "--force")
        os.remove(self.path("loses"))
        os.remove(self.path("down"))
        _, err = worker.communicate(timeout=support.DEADLINE)
        self.assertEqual(worker.returncode, 0, err)
        self.assertRegex(self.marks(), r"out # worker 0 # \(T ... T\) #lost # worker 0 # \(T ... T\) #ok\n")
        self.assertEqual(self.lines("out"), ["ran"])

    def test_a_second_signal_ends_a_worker_whose_master_hangs(self):
        self.write("tasks.sh", f"echo > {self.folder}/begun; tail -f /dev/null\n")
        worker = self.worker()
        self.wait_for("begun")
        self.cut("hangs")
        worker.send_signal(signal.SIGINT)
        self.said(worker, "interrupted")
        worker.send_signal(signal.SIGINT)
        self.assertEqual(worker.wait(support.DEADLINE), 75)
        self.wait_until(lambda: not support.tagged(self.mark), "the end of all processes")

    def test_a_lock_that_is_lost_is_told(self):
        self.write("tasks.sh", "echo\n")
        lock = self.start(self.remote(), "--lock", env=self.environment)
        self.said(lock, "is locked")
        self.cut("down")
        _, err = lock.communicate(timeout=support.DEADLINE)
        self.assertEqual(lock.returncode, 69, err)
        self.assertIn("the lock was lost: do not save", err)
        self.assertEqual(subprocess.run(["flock", "-w", "30", self.path("tasks.sh.lock"), "true"]).returncode, 0)

    def test_an_unknown_master_is_no_lost_one(self):
        self.write("down", "")
        _, _, err = self.run_to_end(self.remote(), "--once", code=69, env=self.environment)
        self.assertIn("Connection refused", err)


if __name__ == "__main__":
    support.main()
