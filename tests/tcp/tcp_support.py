"""Common to the tests of work_queue_worker: managers (test_manager.cpp), workers, and the results of tasks.

CMake sets PROGRAM (work_queue_worker) and MANAGER. See tests/mpi/run_support.py for the rest."""

import os
import re
import sys
import time

os.environ.setdefault("MPIRUN", "")
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "mpi"))

from run_support import DEADLINE, Case, main  # noqa: E402,F401

MANAGER = os.environ["MANAGER"]


class TcpCase(Case):
    def manager(self, lines, *words, run_dir="run", contact="contact", within=()):
        """Starts a manager of these task lines; returns once its contact file exists."""
        self.write(f"{run_dir}.list", "".join(f"{line}\n" for line in lines))
        before = self.modified(contact)
        run = self.start(commands=[MANAGER, self.path(run_dir), self.path(f"{run_dir}.list"), self.path(contact), *map(str, words)],
                         before=within)
        end = time.monotonic() + DEADLINE
        while self.modified(contact) in (None, before):
            if run.wait_at_most(0.01) or time.monotonic() > end:
                self.fail(f"no contact file: {run}")
        return run

    def modified(self, name):
        try:
            return os.stat(self.path(name)).st_mtime_ns
        except FileNotFoundError:
            return None

    def worker(self, *words, contact="contact", **how):
        where = ["--contact", self.path(contact)] if contact else []
        patience = [] if "-b" in words else ["-b", 2]
        return self.start(*where, "-t", 60, *patience, *words, **how)

    def done(self, run_dir="run"):
        """How often each task is DONE in the transactions log."""
        counts = {}
        for line in self.lines(f"{run_dir}/transactions.log"):
            if match := re.match(r"\d+ \d+ TASK (\d+) DONE SUCCESS", line):
                counts[int(match[1])] = counts.get(int(match[1]), 0) + 1
        return counts

    def endings(self, run_dir="run"):
        return [record["ending"] for record in self.journal(run_dir)]

    def workspaces(self):
        return [name for name in os.listdir(self.temporary) if name.startswith("work_queue")]
