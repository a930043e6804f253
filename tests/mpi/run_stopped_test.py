#!/usr/bin/env python3
"""Rank 0 of work_queue_run is stopped for longer than the silence limit of ranks, and continues."""

import os
import signal
import time

import run_support as support
from run_support import Case

# Ranks treat another as dead after 9 s of silence, rank 0 after 10 s.
LONGER = 10.5


def wait_for_state(process, states, limit=support.DEADLINE):
    """Only the parent is notified of a stopped process, so this polls every 10 ms."""
    end = time.monotonic() + limit
    while (stat := support.stat_of(process)) and stat[1] not in states:
        if support.wait_for_end(process, time.monotonic() + 0.01) or time.monotonic() > end:
            raise AssertionError(f"process {process} is not in one of the states {states}: {stat}")


class Stopped(Case):
    def test_rank_0_goes_on(self):
        """Alone, and with a rank that gives it up meanwhile: rank 0's own worker runs the rest."""
        ring, gate = self.bell(), self.gate()
        runs = {}
        for name, ranks in (("alone", 0), ("two", 2)):
            self.write(f"{name}.sh", f"echo {name} > bell; [ -e go ] || read x < gate; echo x >> ran.{name}\n" * 20)
            runs[name] = self.start("--cores", "1", f"{name}.sh", "--run-dir", name, ranks=ranks)
        for name in runs:
            ring.wait(word=name)
        managers = [runs["alone"].process.pid, runs["two"].ranks()[0]]
        for process in managers:
            os.kill(process, signal.SIGSTOP)
            wait_for_state(process, "T")
        self.assertFalse(runs["alone"].wait_at_most(LONGER), "it was stopped")
        for process in managers:
            os.kill(process, signal.SIGCONT)
        self.write("go", "")
        for _ in range(40):
            gate.open()
        for name, run in runs.items():
            self.assertEqual(run.wait(), 0, str(run))
            finals = [record for record in self.journal(name) if record["final"]]
            self.assertEqual(sorted(record["line"] for record in finals), list(range(1, 21)))
        self.assert_nothing_left()


if __name__ == "__main__":
    support.main()
