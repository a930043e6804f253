#!/usr/bin/env python3
"""Runs of work_queue_run that end early: signals, the end of the batch job, mpirun killed. Ended tasks are in the journal,
RUN_DIR/status has the reason, no process is left, and --resume completes the run."""

import os
import signal
import time

import run_support as support
from run_support import Case

# A task with children everywhere they could be missed, including a daemon in its own session.
FAMILY = "sleep 1001 & (setsid sleep 1002 &) ; (trap '' TERM INT HUP; sleep 1003 & wait) & echo up > bell; wait"


class Ends(Case):
    def setUp(self):
        super().setUp()
        self.ring = self.bell()

    def check_interrupted(self, run_dir="r", done=None):
        status = self.status(run_dir)
        self.assertEqual((status["state"], status["exit_code"]), ("interrupted", "75"), str(self.runs[-1]))
        finished = [record for record in self.journal(run_dir) if support.succeeded(record)]
        if done is not None:
            self.assertEqual(len(finished), done)
            self.assertEqual(status["tasks_done"], str(done))
        return status

    def finish(self, run_dir, count, **how):
        """--resume runs what is missing, and only that."""
        self.write("tasks.sh", self.read("tasks.sh").replace(FAMILY, "true"))
        before = len([r for r in self.journal(run_dir) if support.succeeded(r)])
        run = self.run_to_end("tasks.sh", "--run-dir", run_dir, "--resume", "--json", **how)
        records = [record for record in self.journal(run_dir) if support.succeeded(record)]
        self.assertEqual(len({record["key"] for record in records}), count, str(run))
        self.assertEqual(len(records), count)
        self.assertEqual(self.status(run_dir)["exit_code"], "0")
        return before


class Alone(Ends):
    def test_signals_kill_after_the_grace(self):
        """INT, TERM and HUP, without mpirun: process trees are killed after the grace time, and results are kept."""
        for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGUSR1"):
            with self.subTest(name):
                self.write("tasks.sh", f"echo a #:g\n{FAMILY} #:g\ntouch never #:g\n")
                up = self.ring.settle()
                run = self.start("tasks.sh", "--run-dir", name, "--grace", "0.2")
                self.ring.wait(up + 1)
                run.signal(signal.Signals[name])
                self.assertEqual(run.wait(), 75, str(run))
                self.assert_nothing_left()
                status = self.check_interrupted(name, done=1)
                self.assertEqual(status["message"], "interrupted")
                self.assertIn("The run was stopped: interrupted.", run.out)
                self.assertIn("--resume --run-dir", run.out.replace("tasks.sh --run-dir", "--run-dir"))

    def test_running_tasks_have_the_grace(self):
        gate = self.gate()
        self.write("tasks.sh", "echo up > bell; read x < gate #:g\ntouch never #:g\n")
        run = self.start("tasks.sh", "--run-dir", "r", "--grace", "10m")
        self.ring.wait()
        run.signal(signal.SIGTERM)
        run.wait_for_text("stopping at SIGTERM: running tasks may finish")
        gate.open()
        self.assertEqual(run.wait(), 75, str(run))
        self.check_interrupted(done=1)
        self.assertNotIn("never", support.os.listdir(self.folder))

    def test_when_the_last_task_ends_in_the_grace_all_is_done(self):
        gate = self.gate()
        self.write("tasks.sh", "echo up > bell; read x < gate\n")
        run = self.start("tasks.sh", "--run-dir", "r", "--grace", "10m")
        self.ring.wait()
        run.signal(signal.SIGTERM)
        run.wait_for_text("stopping at SIG")
        gate.open()
        self.assertEqual(run.wait(), 0, str(run))
        self.assertEqual(self.status("r")["state"], "finished")

    def test_a_second_signal_ends_at_once(self):
        self.write("tasks.sh", f"{FAMILY}\ntrue\n")
        run = self.start("tasks.sh", "--run-dir", "r", "--grace", "10m")
        self.ring.wait()
        run.signal(signal.SIGINT)
        run.wait_for_text("stopping at SIG")
        run.signal(signal.SIGINT)
        self.assertEqual(run.wait(), 75, str(run))
        self.assertIn("stopping at SIGINT: running tasks are killed", run.err)
        self.assert_nothing_left()
        self.check_interrupted()
        self.finish("r", 2)

    def test_a_signal_while_a_stream_goes_on(self):
        reader, writer = support.os.pipe()
        run = self.start("-", "--run-dir", "r", stdin=reader)
        support.os.write(writer, b"echo up > bell\n")
        self.ring.wait()
        run.signal(signal.SIGTERM)
        self.assertEqual(run.wait(), 75, str(run))
        self.check_interrupted(done=1)
        support.os.close(reader)
        support.os.close(writer)

    def test_the_end_of_the_batch_job(self):
        """Dispatching stops 60 s before the end, by --walltime or by Slurm."""
        words = ("--array", "1-100000000", "--", "true")
        for name, options, env in (("w", ("--walltime", "61"), {}),
                                   ("s", (), {"SLURM_JOB_END_TIME": str(int(time.time()) + 61)})):
            run = self.run_to_end("--run-dir", name, *options, *words, env=env, code=75)
            self.assertIn("The run was stopped: out of time.", run.out)
            status = self.check_interrupted(name)
            self.assertGreaterEqual(int(status["tasks_done"]), 0)
            self.assertEqual(status["message"], "out of time")

    def test_tasks_that_need_more_time_than_is_left(self):
        """The run does not wait for its end in vain, alone or on two ranks."""
        self.write("tasks.sh", "#WQ min-time=2h\ntouch long\n#WQ min-time=\necho short\n")
        for ranks in (0, 2):
            name = f"r{ranks}"
            run = self.run_to_end("tasks.sh", "--run-dir", name, "--walltime", "1h", ranks=ranks, code=75)
            self.assertIn("no worker has enough time left for the remaining tasks", run.err)
            self.check_interrupted(name, done=1)
            self.assertFalse(os.path.exists(self.path("long")))
            self.run_to_end("tasks.sh", "--run-dir", name, "--resume", "--walltime", "3h", ranks=ranks)
            os.remove(self.path("long"))


class UnderMpirun(Ends):
    """Open MPI passes TERM, INT and HUP on after 1 s and kills 1 s after that; it only passes on USR1. MPICH's hydra
    passes everything on at once and kills nobody, but HUP kills hydra itself."""

    def test_term_int_and_hup(self):
        names = ["SIGTERM", "SIGINT", *(["SIGHUP"] if support.OPEN_MPI else [])]
        if not support.OPEN_MPI:
            print("SKIP: SIGHUP ends mpiexec.hydra itself, without a word to the ranks")
        for name in names:
            with self.subTest(name):
                up = self.ring.settle()
                self.write("tasks.sh", f"echo a #:g\n#:\n{FAMILY}\n{FAMILY}\ntouch never #:h\n")
                run = self.start("--cores", "1", "tasks.sh", "--run-dir", name, ranks=2)
                self.ring.wait(up + 2)
                sent = time.time()
                run.signal(signal.Signals[name])
                run.wait()
                self.assertIn(run.code, range(1, 256) if support.OPEN_MPI else (75,), str(run))
                self.assert_nothing_left()
                status = self.check_interrupted(name, done=1)
                saved = int(status["ended_us"]) / 1e6 - sent - 1
                print(f"{name} of mpirun: saved {saved:.2f} s after the ranks had it")
                self.assertEqual(self.finish(name, 4, ranks=2), 1)

    def test_usr1_has_the_grace_and_75_comes_out(self):
        gate = self.gate()
        self.write("tasks.sh", "echo up > bell; read x < gate #:g\ntouch never #:g\n")
        run = self.start("tasks.sh", "--run-dir", "r", "--grace", "10m", ranks=2)
        self.ring.wait()
        run.signal(signal.SIGUSR1)
        run.wait_for_text("stopping at SIGUSR1: running tasks may finish")
        gate.open()
        self.assertEqual(run.wait(), 75, str(run))
        self.check_interrupted(done=1)
        self.assert_nothing_left()

    def test_usr1_twice_ends_at_once(self):
        self.write("tasks.sh", f"{FAMILY}\n{FAMILY}\ntrue\n")
        run = self.start("tasks.sh", "--run-dir", "r", "--grace", "10m", ranks=2)
        self.ring.wait(2)
        run.signal(signal.SIGUSR1)
        run.wait_for_text("stopping at SIG")
        run.signal(signal.SIGUSR1)
        self.assertEqual(run.wait(), 75, str(run))
        self.assert_nothing_left()
        self.finish("r", 3, ranks=2)

    def test_kill_of_mpirun_leaves_nothing(self):
        self.write("tasks.sh", f"echo a #:g\n#:\n{FAMILY}\n{FAMILY}\n")
        run = self.start("tasks.sh", "--run-dir", "r", ranks=2)
        self.ring.wait(2)
        run.kill()
        self.assert_nothing_left()
        self.assertEqual(self.status("r")["state"], "running")
        self.assertEqual(self.finish("r", 3, ranks=2), 1)


if __name__ == "__main__":
    support.main()
