#!/usr/bin/env python3
"""Three ranks and two TCP workers, of work_queue_run and of a program (POOL). A rank, a TCP worker and that worker's
replacement are lost while all work: each task is DONE once, and ranks and TCP workers have both run some."""

import os
import re
import signal
import time

import run_support as support
from run_support import Case

WORKER = os.environ["WORKER"]
POOL = os.environ["POOL"]
COUNT = 400
# Reports its worker and waits at the gate while it is closed.
TASK = "cd FOLDER; echo $WORKERID > bell; [ -e go ] || read x < gate; echo by $WORKERID"


class Mixed(Case):
    def setUp(self):
        super().setUp()
        self.ring = self.bell()
        self.doors = self.gate()
        self.workers = []
        self.task = TASK.replace("FOLDER", self.folder)  # TCP workers of a program run tasks in separate folders

    def worker(self, contact):
        """Starts a worker; returns it and its number once it runs a task."""
        known = set(self.ring.rung)
        run = self.start("--contact", self.path(contact), "--cores", 1, "--single-shot", program=WORKER)
        self.workers.append(run)
        return run, self.new_one(known)

    def new_one(self, known):
        end = time.monotonic() + support.DEADLINE
        while not (new := set(self.ring.rung) - known):
            self.assertLess(time.monotonic(), end, f"nobody new began a task: {known}")
            self.ring.take(end - time.monotonic())
        return new.pop()

    def wait_for_contact(self, run, name):
        end = time.monotonic() + support.DEADLINE
        while not os.path.exists(self.path(name)):
            if run.wait_at_most(0.01) or time.monotonic() > end:
                self.fail(f"no contact file: {run}")

    def lose_some(self, run, contact):
        """Returns the workers that have started a task and still have it."""
        self.wait_for_contact(run, contact)
        while len(set(self.ring.rung)) < 3:
            self.ring.wait(len(self.ring.rung) + 1)
        first, number_of_first = self.worker(contact)
        _, second = self.worker(contact)
        os.kill(run.ranks()[2], signal.SIGKILL)
        first.kill()
        replacement, number_of_replacement = self.worker(contact)
        replacement.kill()
        _, last = self.worker(contact)
        self.assertEqual(len({number_of_first, second, number_of_replacement, last, "0", "1", "2"}), 7)
        return {"0", "1", second, last}

    def check(self, run, kept, log, who):
        self.write("go", "")
        for _ in range(8):
            self.doors.open()
        self.assertEqual(run.wait(), 0, str(run))
        done = re.findall(r"^\d+ \d+ TASK (\d+) DONE SUCCESS", self.read(log), re.MULTILINE)
        self.assertEqual(sorted(map(int, done)), list(range(1, COUNT + 1)))
        self.assertLessEqual(kept, set(who()))
        for worker in self.workers:
            self.assertIn(worker.wait(), (0, -signal.SIGKILL), str(worker))
        self.assert_nothing_left()

    def test_work_queue_run(self):
        self.write("tasks.sh", (self.task + "\n") * COUNT)
        run = self.start("--listen", "--away-limit", "0", "--max-losses", "10", "--cores", "1", "tasks.sh", "--run-dir", "r", ranks=3)
        kept = self.lose_some(run, "r/contact")
        self.check(run, kept, "r/transactions.log", lambda: [str(record["worker"]) for record in self.journal("r") if record["final"]])

    def test_program(self):
        run = self.start(COUNT, self.task, ranks=3, program=POOL)
        kept = self.lose_some(run, "contact")
        self.check(run, kept, "transactions.log", lambda: re.findall(r"^by (\d+)$", run.out, re.MULTILINE))


if __name__ == "__main__":
    support.main()
