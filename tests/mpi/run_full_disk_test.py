#!/usr/bin/env python3
"""The disk becomes full while work_queue_run runs: dispatching pauses, writing is retried, and if that keeps failing
the run stops with 75, to be resumed. The disk is a tmpfs in a separate mount namespace."""

import os
import signal
import subprocess

import run_support as support
from run_support import Case

TASKS = 200  # it takes 30 ms and more until the manager knows that the disk is full


class FullFromTheStart(Case):
    def mounting(self, script):
        before = ("unshare", "--mount", "sh", "-c", script + ' && exec "$0" "$@"')
        tried = subprocess.run([*before, "true"], cwd=self.folder, check=False, stderr=subprocess.PIPE)
        if tried.returncode != 0:
            self.skipTest(tried.stderr.decode())
        return before

    def test_ranks_of_a_node_share_their_tasks_by_message(self):
        before = self.mounting("mount -t tmpfs -o size=64k none /dev/shm")
        self.write("tasks.sh", "".join(f"echo x >> ran.{n}\n" for n in range(50)))
        run = self.run_to_end("tasks.sh", ranks=2, before=before)
        self.assertIn("ranks get tasks by message: /dev/shm has 64.0 KiB free", run.err)
        for n in range(50):
            self.assertEqual(len(self.lines(f"ran.{n}")), 1)

    def test_a_run_of_standard_input_tries_one_directory(self):
        os.mkdir(self.path("disk"))
        before = self.mounting("mount -t tmpfs -o size=64k,nr_inodes=100 none disk && cd disk && head -c 65536 /dev/zero >fill")
        with open(self.path(self.write("list", "true\n")), "rb") as stream:
            run = self.run_to_end("-", code=75, before=before, stdin=stream)
        self.assertEqual(run.err, "work_queue_run: disk full: stdin.wq/lock: No space left on device\n")


class FullDisk(Case):
    def setUp(self):
        super().setUp()
        self.bell(), self.gate()
        os.mkdir(self.path("disk"))
        script = "mount -t tmpfs -o size=2m none disk && echo up > bell && exec cat gate"
        self.holder = subprocess.Popen(
            ["unshare", "--mount", "sh", "-c", script], cwd=self.folder, stderr=subprocess.PIPE,
            env={**os.environ, support.MARK: self.mark})
        self.addCleanup(self.let_go)
        while not (self.fifos[0].rung or self.holder.poll() is not None):
            self.fifos[0].take(0.1)
        if not self.fifos[0].rung:
            reason = self.holder.stderr.read().decode().strip()
            print(f"SKIP: no tmpfs can be mounted here: {reason}")
            self.skipTest(reason)
        # 100 kB each: 20 of them fit.
        self.write("tasks.sh", "".join(f"echo x >> ran.{n}; head -c 100000 /dev/zero | tr '\\0' x\n" for n in range(1, TASKS + 1)))

    def let_go(self):
        self.holder.kill()
        self.holder.wait()
        self.holder.stderr.close()

    def enter(self):
        return ("nsenter", "--mount", f"--target={self.holder.pid}", "sh", "-c", 'cd "$0" && exec "$@"', self.folder)

    def enlarge(self):
        subprocess.run([*self.enter(), "mount", "-o", "remount,size=64m", "disk"], check=True, cwd=self.folder)

    def records(self):
        return support.read_journal(f"/proc/{self.holder.pid}/root{self.path('disk/r/journal')}")

    def counts(self):
        """How often each line with an end in the journal was run."""
        return {record["line"]: len(self.lines(f"ran.{record['line']}")) for record in self.records() if support.succeeded(record)}

    def check_complete(self, journaled):
        done = self.counts()
        self.assertEqual(sorted(done), list(range(1, TASKS + 1)))
        for line, runs in journaled.items():
            self.assertEqual(done[line], runs, f"line {line} was journaled and ran again")

    def test_the_run_stops_and_can_be_resumed(self):
        for ranks in (0, 2):
            run = self.run_to_end("--run-dir", "disk/r", "--resume", "--storage-patience", "0.5", "tasks.sh", ranks=ranks,
                                  code=75, before=self.enter())
            self.assertIn("disk full: disk/r/output.log: No space left on device; dispatching is paused; retrying the write for up to", run.err)
            self.assertIn("The run was stopped: storage trouble.", run.out)
            journaled = self.counts()
            self.assertRegex(run.out, rf"(?m)^{len(journaled)} tasks succeeded( \((\d+ of them )?in an earlier run\))?, 0 failed, "
                                      r"\d+ ended but could not be recorded")
            self.assertIn(len(journaled), range(5, 21))
            begun = sum(os.path.exists(self.path(f"ran.{n}")) for n in range(1, TASKS + 1))
            self.assertLess(begun, TASKS, "tasks were given out on and on")
            self.assert_only_the_holder_is_left()
        self.enlarge()
        self.run_to_end("--run-dir", "disk/r", "--resume", "tasks.sh", before=self.enter())
        self.check_complete(journaled)

    def test_the_run_goes_on_when_there_is_space_again(self):
        run = self.start("--run-dir", "disk/r", "--storage-patience", "10m", "tasks.sh", before=self.enter())
        run.wait_for_text("dispatching is paused; retrying the write")
        self.enlarge()
        self.assertEqual(run.wait(), 0, str(run))
        self.assertIn("results can be written again", run.err)
        self.check_complete({line: 1 for line in range(1, TASKS + 1)})

    def test_a_signal_ends_the_patience(self):
        run = self.start("--run-dir", "disk/r", "--storage-patience", "10m", "tasks.sh", before=self.enter())
        run.wait_for_text("dispatching is paused; retrying the write")
        run.signal(signal.SIGTERM)
        self.assertEqual(run.wait(), 75, str(run))

    def assert_only_the_holder_is_left(self):
        end = support.time.monotonic() + support.DEADLINE
        for process in support.tagged(self.mark):
            self.assertTrue(process == self.holder.pid or support.wait_for_end(process, end), support.command_of(process))


if __name__ == "__main__":
    support.main()
