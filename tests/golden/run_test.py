#!/usr/bin/env python3
"""Golden outputs of work_queue_run: text that users and their programs read does not change unnoticed. Usage: run_test.py PROGRAM.

What differs between machines and runs is replaced by a word: HOST, TIME, SIZE. UPDATE=1 rewrites the files of
tests/golden/run, for review before a commit."""

import json
import os
import pathlib
import re
import socket
import subprocess
import sys
import tempfile
import unittest

import golden_text

GOLDEN = pathlib.Path(__file__).parent / "run"
PROGRAM = os.path.abspath(sys.argv.pop(1))

LIST = """\
#!/bin/bash
export DATA=/tmp #!
prepare() { echo "prepared $1"; } #!
prepare one #:first
#WQ cores=1 category=big time=10m
prepare "$DATA" #:first
prepare last #:
echo on worker 0 #@0
"""

FAILING = """\
true
for i in 1 2 3 4 5 6 7; do echo "line $i of file 1" >&2; done; exit 3 #:g
for i in 1 2 3 4 5 6 7; do echo "line $i of file 2" >&2; done; exit 3
kill -SEGV $$
true #:g
#WQ time=0.1
sleep 100
#WQ cores=9999 time=
true
#WQ cores= retries=1
false # twice
"""

USAGE = [
    "", "a.sh b.sh", "--bogus a.sh", "--each f", "--array 1-3", "a.sh -- cmd", "--array 1-3 a.sh -- cmd", "--array 3-1 -- cmd",
    "--array 1-x -- cmd", "--array 1,1 -- cmd", "--cores two a.sh", "--memory lots a.sh", "--timeout 1y a.sh", "--retries -1 a.sh",
    "--max-losses 0 a.sh", "--progress sometimes a.sh", "--tickets maybe a.sh", "--shell /nowhere a.sh", "--output r",
    "--output r zero", "--grace", "--index-variable 2x a.sh", "--manager-only a.sh", "--resume", "--stats-log nowhere/x a.sh",
]


def neutral(text):
    for pattern, word in (
        (f"'{re.escape(PROGRAM)}'|{re.escape(PROGRAM)}", "work_queue_run"),  # quoted where its path has a blank
        (re.escape(socket.gethostname()), "HOST"),
        (r"\b\d+(\.\d+)?s\b", "TIME"), (r"(?<=\"seconds\": )[\d.e-]+", "TIME"),
        (r"\d+ cores?(?=, \d+ [MG]B)", "N cores"), (r"(?<=the largest worker has )\d+", "N"), (r"\d+ [MG]B", "SIZE"), (r", \d+ GPUs?", ""),
    ):
        text = re.sub(pattern, word, text)
    return text


class Golden(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="wq-golden-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        for name, text in (("tasks.sh", LIST), ("failing.sh", FAILING), ("a.sh", "true\n")):
            pathlib.Path(self.folder, name).write_text(text, encoding="utf-8")

    def run_it(self, *words):
        environment = {key: value for key, value in os.environ.items() if not key.startswith(("OMPI_", "PMIX_", "SLURM_"))}
        run = subprocess.run([PROGRAM, *words], cwd=self.folder, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                             check=False, timeout=120, env=environment)
        run.stderr = re.sub(r"work_queue_run: uses 1 of .*\n", "", run.stderr)  # depends on how the test is run
        return run

    @classmethod
    def setUpClass(cls):
        """One core, so that tasks end in the order of their lines."""
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})

    def compare(self, name, text):
        golden_text.compare(self, GOLDEN / name, text)

    def test_help(self):
        run = self.run_it("--help")
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        self.assertLessEqual(max(map(len, run.stdout.splitlines())), 110)
        self.compare("help.txt", run.stdout)

    def test_version(self):
        run = self.run_it("--version")
        self.assertRegex(run.stdout, r"^work_queue_run \d+\.\d+\.\d+\n$")

    def test_usage(self):
        """Each prints one line with the remedy and exits with 64."""
        text = ""
        for words in USAGE:
            run = self.run_it(*words.split())
            self.assertEqual((run.returncode, run.stdout), (64, ""), f"{words}: {run}")
            self.assertEqual(run.stderr.count("\n"), 1, run.stderr)
            text += f"$ work_queue_run {words}\n{run.stderr}"
        self.compare("usage.txt", text)

    def test_dry_run(self):
        run = self.run_it("--dry-run", "tasks.sh")
        self.assertEqual((run.returncode, run.stderr), (0, ""), run)
        self.compare("dry_run.txt", neutral(run.stdout))
        self.assertEqual(sorted(os.listdir(self.folder)), ["a.sh", "failing.sh", "tasks.sh"])

    def test_dry_run_of_an_array(self):
        run = self.run_it("--dry-run", "--array", "5-7,1", "--", "sim", "--seed={}", "a b")
        self.assertEqual((run.returncode, run.stderr), (0, ""), run)
        self.compare("dry_run_array.txt", neutral(run.stdout))

    def test_dry_run_of_what_cannot_run(self):
        run = self.run_it("--dry-run", "failing.sh")
        self.assertEqual((run.returncode, run.stderr), (1, ""), run)
        self.compare("dry_run_failing.txt", neutral(run.stdout))

    def test_summary(self):
        run = self.run_it("tasks.sh")
        self.assertEqual((run.returncode, run.stderr), (0, ""), run)
        self.compare("summary.txt", neutral(run.stdout))

    def test_summary_of_failures(self):
        run = self.run_it("failing.sh")
        self.assertEqual(run.returncode, 1, run)
        self.compare("summary_failing.txt", neutral(run.stdout))
        self.compare("failed_list.txt", pathlib.Path(self.folder, "failing.sh.wq", "failed.sh").read_text(encoding="utf-8"))
        again = self.run_it("--resume", "failing.sh")
        self.assertEqual(again.returncode, 1, again)
        self.compare("summary_resumed.txt", neutral(again.stdout))

    def test_summary_as_json(self):
        run = self.run_it("--json", "failing.sh")
        self.assertEqual(run.returncode, 1, run)
        json.loads(run.stdout)
        self.compare("summary_failing.json", neutral(run.stdout))


if __name__ == "__main__":
    unittest.main(verbosity=2)
