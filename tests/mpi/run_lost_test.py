#!/usr/bin/env python3
"""Killed processes of work_queue_run: lost workers and launchers cost nothing; lost rank 0, guard or mpirun cost a
--resume. No task is lost, and none runs again after its end was journaled."""

import os
import random
import signal

import run_support as support
from run_support import Case

EVERY = int(os.environ.get("WQ_EVERY", "1"))


def count_task(number, more=""):
    """A task that writes a line each time it runs."""
    return f"echo x >> ran.{number}; echo up > bell{more}\n"


class Lost(Case):
    def setUp(self):
        super().setUp()
        self.ring = self.bell()

    def runs_of(self, number):
        return len(self.lines(f"ran.{number}"))

    def check_complete(self, run_dir, count):
        """Exactly one final success of each line, by line of the list."""
        finals = [record for record in self.journal(run_dir) if record["final"]]
        self.assertTrue(all(map(support.succeeded, finals)), finals)
        self.assertEqual(sorted(record["line"] for record in finals), list(range(1, count + 1)))

    def kill_when(self, count, victim, ranks=3, tasks=60, code=None):
        """A run of many tasks; victim(run) is killed after `count` tasks have started."""
        gate = self.gate()  # so that the run does not end before
        held = "; [ -e go ] || read x < gate"
        self.write("tasks.sh", "".join(count_task(n, held if n > count + 10 else "") for n in range(1, tasks + 1)))
        run = self.start("tasks.sh", "--run-dir", "r", ranks=ranks)
        self.ring.wait(count)
        os.kill(victim(run), signal.SIGKILL)
        self.write("go", "")
        for _ in range(tasks):
            gate.open()
        run.wait()
        if code is not None:
            self.assertEqual(run.code, code, str(run))
        self.assert_nothing_left()
        return run

    def resume(self, tasks=60, ranks=3):
        journaled = {record["line"]: self.runs_of(record["line"]) for record in self.journal("r") if support.succeeded(record)}
        self.run_to_end("tasks.sh", "--run-dir", "r", "--resume", ranks=ranks)
        self.check_complete("r", tasks)
        for line, before in journaled.items():
            self.assertEqual(self.runs_of(line), before, f"line {line} was journaled and ran again")


class Survivors(Lost):
    def test_a_worker_costs_nothing(self):
        gate = self.gate()  # so that the run does not end before it sees the loss
        self.write("tasks.sh", "".join(count_task(n, "; [ -e go ] || read x < gate" if n > 20 else "") for n in range(1, 61)))
        run = self.start("--cores", "1", "tasks.sh", "--run-dir", "r", ranks=3)
        self.ring.wait(10)
        os.kill(run.ranks()[1], signal.SIGKILL)
        run.wait_for_text("worker 1 ")
        self.write("go", "")
        for _ in range(60):
            gate.open()
        self.assertEqual(run.wait(), 0, str(run))
        self.assert_nothing_left()
        self.check_complete("r", 60)
        self.assertIn("(1 lost)", run.out)

    def test_two_workers_of_three_cost_nothing(self):
        self.write("tasks.sh", "".join(count_task(n, "; [ -e go ] || read x < gate") for n in range(1, 30)))
        gate = self.gate()
        run = self.start("--cores", "1", "tasks.sh", "--run-dir", "r", ranks=3)
        self.ring.wait(2)
        ranks = run.ranks()
        for rank in (1, 2):
            os.kill(ranks[rank], signal.SIGKILL)
        self.write("go", "")
        for _ in range(20):
            gate.open()
        self.assertEqual(run.wait(), 0, str(run))
        self.check_complete("r", 29)
        self.assert_nothing_left()

    def test_a_launcher_costs_nothing(self):
        """Killed from outside: the parent process of tasks."""
        gate = self.gate()
        self.write("tasks.sh", "echo x >> ran.1; echo $PPID > bell; [ -e go ] || read x < gate\n" +
                   "".join(count_task(n) for n in range(2, 20)))
        run = self.start("tasks.sh", "--run-dir", "r", ranks=2)
        while not (parents := [line for line in self.ring.rung if line.isdigit()]):
            self.ring.wait(len(self.ring.rung) + 1)
        os.kill(int(parents[0]), signal.SIGKILL)
        self.write("go", "")  # only now: the first try must not end by itself
        gate.open()
        self.assertEqual(run.wait(), 0, str(run))
        self.check_complete("r", 19)
        self.assertEqual(self.runs_of(1), 2)
        self.assert_nothing_left()

    def test_without_the_launchers_parent_a_worker_leaves(self):
        """Its rank can start no launcher any more: other ranks do the work; without others the run ends with 69, to be resumed."""
        self.kill_when(10, lambda run: run.children(run.ranks()[1])[0], code=0)
        self.check_complete("r", 60)
        self.write("tasks.sh", "".join(count_task(n) for n in range(1, 200)))
        rung = self.ring.settle()
        run = self.start("tasks.sh", "--run-dir", "alone")
        self.ring.wait(rung + 10)
        os.kill(run.children(run.process.pid)[0], signal.SIGKILL)
        self.assertEqual(run.wait(), 69, str(run))
        self.assertIn("no worker is left", run.err)
        self.assert_nothing_left()
        self.run_to_end("tasks.sh", "--run-dir", "alone", "--resume")
        self.check_complete("alone", 199)

    def test_tasks_that_kill_their_launcher_fail_and_the_others_go_on(self):
        tasks = [count_task(n) for n in range(1, 40)]
        tasks[20] = "echo x >> killer; kill -9 $PPID\n"
        tasks[21] = "echo x >> suicide; kill -9 $$\n"
        self.write("tasks.sh", "".join(tasks))
        for ranks in (0, 2):
            for name in ("killer", "suicide"):
                self.write(name, "")
            run = self.run_to_end("tasks.sh", "--run-dir", f"r{ranks}", "--max-losses", "2", ranks=ranks, code=1)
            self.assertEqual(len(self.lines("killer")), 2, str(run))
            self.assertGreaterEqual(len(self.lines("suicide")), 1)  # more if the launcher died with it
            finals = {record["line"]: record for record in self.journal(f"r{ranks}") if record["final"]}
            self.assertEqual(len(finals), 39)
            self.assertEqual(sorted(line for line, record in finals.items() if not support.succeeded(record)), [21, 22])
            self.assertEqual((finals[21]["ending"], finals[22]["ending"]), ("worker_lost", "signalled"))
            self.assert_nothing_left()


class Resumed(Lost):
    def test_rank_0(self):
        run = self.kill_when(20, lambda run: run.ranks()[0], code=75)
        self.assertIn("the run can be resumed", run.err)
        self.resume()

    def test_the_guard_of_rank_0(self):
        run = self.kill_when(20, lambda run: run.guards()[0])
        self.assertNotEqual(run.code, 0, str(run))
        self.resume()

    def test_the_guard_of_a_worker(self):
        run = self.kill_when(20, lambda run: run.guards()[1])
        self.assertNotEqual(run.code, 0, str(run))
        self.resume()

    def test_mpirun(self):
        self.kill_when(20, lambda run: run.process.pid)
        self.resume()

    def kill_at_random(self, turns, tasks, ranks, kill):
        """Half of them from the start on, half from the first task on; at every one the journal is held against what
        was run."""
        chance = random.Random(os.environ.get("SEED"))
        self.write("tasks.sh", "".join(count_task(n) for n in range(1, tasks + 1)))
        journaled = {}
        ended_early = 0
        for turn in range(turns):
            rung = self.ring.settle()
            run = self.start("tasks.sh", "--run-dir", "r", "--resume", ranks=ranks)
            if turn % 2:
                while not run.wait_at_most(0.001) and len(self.ring.rung) == rung:
                    self.ring.take(0.05)
            ended_early += run.wait_at_most(chance.uniform(0, 0.04 if turn % 2 else 0.15 + ranks / 5))
            kill(run, chance)
            self.assert_nothing_left()
            if not os.path.exists(self.path("r/journal")) or not os.path.getsize(self.path("r/journal")):
                continue
            for record in self.journal("r"):
                if not support.succeeded(record):
                    continue
                runs = self.runs_of(record["line"])
                self.assertEqual(journaled.setdefault(record["line"], runs), runs, "journaled, and run again")
        print(f"{len(journaled)} of {tasks} tasks were done after {turns} kills, {ended_early} runs ended before theirs")
        self.run_to_end("tasks.sh", "--run-dir", "r", "--resume", ranks=ranks)
        self.check_complete("r", tasks)
        for line, runs in journaled.items():
            self.assertEqual(self.runs_of(line), runs)
        self.assertTrue(all(self.runs_of(line) >= 1 for line in range(1, tasks + 1)))

    def wait_for_ours(self, run):
        """Open MPI 4.1's mpirun may hang if a rank is killed while it connects ("PMIX ERROR: UNREACHABLE"): the test kills it
        if only mpirun is left."""
        if not run.wait_at_most(60) and support.tagged(self.mark) == [run.process.pid]:
            print("mpirun did not end after its ranks had:", run.err)
            run.kill()
        run.wait()

    def test_random_instants(self):
        self.kill_at_random(50 // EVERY, 400, 0, lambda run, chance: run.kill())

    def test_random_instants_of_ranks(self):
        """One of mpirun, rank 0 and the guards that exist at that time."""
        def kill(run, chance):
            ranks = run.ranks()  # asked once: the next moment it may be another
            victims = [run.process.pid, *run.guards().values(), *([ranks[0]] if 0 in ranks else [])]
            try:
                os.kill(chance.choice(victims), signal.SIGKILL)
            except ProcessLookupError:
                pass  # it had ended
            self.wait_for_ours(run)
        self.kill_at_random(max(2, 8 // EVERY), 1000, 2, kill)


class EditedLists(Lost):
    def first_part(self, text):
        """Runs the list up to a task that waits at a gate, and stops the run there; results are saved."""
        self.gate()
        self.write("tasks.sh", text)
        run = self.start("tasks.sh", "--run-dir", "r", "--grace", "0")
        self.ring.wait(word="wait")
        run.signal(signal.SIGTERM)
        self.assertEqual(run.wait(), 75, str(run))
        self.assert_nothing_left()

    def test_lines_are_matched_by_their_text(self):
        self.first_part("echo a >> ran #:g\necho b >> ran #:g\necho c >> ran #:g\necho wait > bell; read x < gate #:g\necho d >> ran #:g\n")
        self.write("tasks.sh", "# moved, inserted and deleted\necho new >> ran\necho c >> ran\necho d >> ran\necho a >> ran\n")
        self.run_to_end("tasks.sh", "--run-dir", "r", "--resume")
        self.assertEqual(sorted(self.lines("ran")), ["a", "b", "c", "d", "new"])

    def test_equal_lines_are_matched_by_their_order(self):
        self.first_part("echo same >> ran #:g\necho same >> ran #:g\necho wait > bell; read x < gate #:g\necho same >> ran #:g\n")
        self.write("tasks.sh", "echo other >> ran\n" + "echo same >> ran\n" * 4)
        self.run_to_end("tasks.sh", "--run-dir", "r", "--resume")
        self.assertEqual(sorted(self.lines("ran")), ["other"] + ["same"] * 4)

    def test_failed_ones_rest_but_for_resume_failed(self):
        self.write("tasks.sh", "echo x >> ran; [ -e repaired ]\ntrue\n")
        self.run_to_end("tasks.sh", code=1)
        self.run_to_end("--resume", "tasks.sh", code=1)
        self.assertEqual(len(self.lines("ran")), 1)
        self.write("repaired", "")
        self.run_to_end("--resume-failed", "tasks.sh")
        self.assertEqual(len(self.lines("ran")), 2)
        self.run_to_end("--resume-failed", "tasks.sh")
        self.assertEqual(len(self.lines("ran")), 2)

    def test_what_waited_for_a_failed_one_runs_after_resume_failed(self):
        self.write("tasks.sh", "[ -e repaired ] #:g\necho x >> ran #:g\necho y >> ran #+h\n")
        self.run_to_end("tasks.sh", code=1)
        run = self.run_to_end("--resume", "tasks.sh", code=1)
        self.assertIn("can never run: a predecessor failed: task 1", run.err)
        self.write("repaired", "")
        self.run_to_end("--resume-failed", "tasks.sh")
        self.assertEqual(self.lines("ran"), ["y", "x"])

    def test_resume_starts_a_run_where_there_is_none(self):
        self.write("tasks.sh", "echo x >> ran\n")
        for _ in range(2):
            self.run_to_end("--resume", "tasks.sh")
        self.assertEqual(len(self.lines("ran")), 1)

    def test_a_requeued_job_finds_its_run(self):
        self.write("tasks.sh", "echo x >> ran\n")
        self.run_to_end("tasks.sh", env={"SLURM_JOB_ID": "17"})
        self.run_to_end("--resume", "tasks.sh", env={"SLURM_JOB_ID": "18"})
        self.assertEqual(len(self.lines("ran")), 1)
        self.assertIn("tasks.sh.wq-17", os.listdir(self.folder))
        self.assertNotIn("tasks.sh.wq-18", os.listdir(self.folder))


if __name__ == "__main__":
    support.main()
