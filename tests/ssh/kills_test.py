#!/usr/bin/env python3
"""Workers of one list by ssh, while workers, ssh processes and helpers at the master are killed at random: every line's trail is
right, and each line ran once unless its worker died."""

import os
import random
import re
import signal
import subprocess
import time
from collections import Counter

import ssh_support as support
from ssh_support import Case

WORKERS = 8
LINES = 5000 // (10 if support.EVERY > 1 else 1)
# Few enough that they end before the lines do: a worker that is cut off repeatedly waits up to a minute before its next try,
# and on a busy machine the last lines were never marked.
CUTS = LINES // 25
TRY = re.compile(r"# worker (\d+) # \(" + support.STAMP + r" \.\.\.( (?:line[+-]\d+ )?" + support.STAMP + r"\) #(ok|error\d+|lost))?")


class Kills(Case):
    def victims(self):
        """(worker programs, ssh processes, helpers at the master) of this test."""
        workers = [process.pid for process in self.started if process.poll() is None]
        mine = support.tagged(self.mark)
        connections = [process for process in mine if support.command_of(process).startswith("ssh ")]
        helpers = []
        for name in os.listdir("/proc"):  # sshd gives them another environment
            if name.isdigit() and support.command_of(int(name)).startswith("sh -c s=$(dd") and self.is_ours(int(name)):
                helpers.append(int(name))
        return workers, connections, helpers

    def is_ours(self, process):
        """Whether it is a descendant of the test's sshd."""
        while process > 1:
            if process == self.server.daemon.pid:
                return True
            process = (support.stat_of(process) or (0,))[0]
        return False

    def start_worker(self):
        return self.start("--once", "--lease", 2 * support.LEASE, "--poll", "0.2", self.remote())

    def has_lines(self):
        """Whether a line has not ended well yet."""
        return re.search(r"^(?!#.* #ok$)#?echo ", self.read("tasks.sh"), re.M) is not None

    def kill_those_left(self):
        """Ends the workers that the test waits for; returns their last words."""
        left = [process for process in self.started if process.poll() is None]
        for process in left:
            process.kill()
        said = "".join(f"{process.pid}: {process.communicate()[1][-300:]}\n" for process in left)
        return f"these workers do not end:\n{said}{self.read('tasks.sh')[-2000:]}"

    def test_each_line_runs_once_unless_its_worker_died(self):
        seed = int(os.environ.get("SEED", random.randrange(1 << 30)))
        print(f"seed {seed}", flush=True)
        chance = random.Random(seed)
        self.write("tasks.sh", "".join(f"echo {n} >> {self.folder}/out\n" for n in range(LINES)))
        for _ in range(WORKERS):
            self.start_worker()
        killed, cut, refused, lines_left = 0, 0, [], True
        end = time.monotonic() + support.DEADLINE * 3
        while any(process.poll() is None for process in self.started):
            if time.monotonic() > end:
                self.fail(self.kill_those_left())
            lines_left = lines_left and self.has_lines()
            workers, connections, helpers = self.victims()
            # Its connection, or a command of its helper, was cut before it had joined.
            for process in [one for one in self.started if one.returncode in (65, 69) and one not in refused]:
                refused.append(process)
                self.start_worker()
            kind = chance.randrange(10)
            if not killed and workers:  # one of each is certain
                kind = 0
            elif not cut and (connections or helpers):
                kind = 1
            if kind == 0 and workers and killed < 30:
                os.kill(chance.choice(workers), signal.SIGKILL)
                killed += 1
                self.start_worker()
            elif kind < 3 and cut < CUTS and lines_left and (connections or helpers):
                try:
                    os.kill(chance.choice(connections if kind == 1 and connections else helpers or connections), signal.SIGKILL)
                    cut += 1
                except ProcessLookupError:
                    pass
            try:
                self.started[-1].wait(chance.random() * 0.2)
            except subprocess.TimeoutExpired:
                pass
        for process in self.started:
            self.assertIn(process.returncode, (0, 65, 69, -signal.SIGKILL), process.communicate()[1])
        # One more, which waits for lines of workers that were killed last: it has no --once.
        last = self.start("--lease", 2 * support.LEASE, "--poll", "0.2", self.remote())
        self.wait_until(lambda: not self.has_lines(), "the end of all lines")
        last.send_signal(signal.SIGTERM)
        last.communicate(timeout=support.DEADLINE)
        self.check(killed, cut)

    def check(self, killed, cut):
        ran = Counter(self.lines("out"))
        lines = self.read("tasks.sh").splitlines()
        lost = 0
        for number in range(LINES):
            mine = [line for line in lines if re.match(rf"#?echo {number} >> ", line)]
            self.assertEqual(len(mine), 1, f"line {number}")
            tries = TRY.findall(mine[0])
            ends = [end for _, _, end in tries]
            self.assertEqual(ends[-1:], ["ok"], mine[0])
            self.assertEqual(set(ends[:-1]) - {"lost"}, set(), mine[0])
            lost += len(ends) - 1
            self.assertGreaterEqual(ran[str(number)], 1, mine[0])
            self.assertLessEqual(ran[str(number)], len(ends), mine[0])
        orphans = [line for line in lines if line.startswith("#?line:")]
        log = self.read("tasks.sh.runtask/edits").splitlines()
        tasks = [line.split("# ")[1].partition(" # ")[0] for line in orphans]
        self.assertFalse(orphans, "\n".join(record for task in tasks for record in log if re.search(rf"\t{task}\t", record)))
        self.assertGreater(killed, 0)
        self.assertGreater(cut, 0)
        self.assertLessEqual(lost, killed)
        print(f"{LINES} lines, {killed} workers killed, {cut} connections cut, {lost} lines lost with their worker and run again", flush=True)


if __name__ == "__main__":
    support.main()
