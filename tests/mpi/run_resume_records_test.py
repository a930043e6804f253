#!/usr/bin/env python3
"""stats.h5 and joblog.tsv after a resume, read as share/doc/statistics.md describes."""

import json
import os
import re
import subprocess
import unittest

import run_support as support
from run_support import Case

GUIDE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../share/doc/statistics.md")


def python_with_h5py():
    """Tries Debian's interpreter first, for which python3-h5py is installed."""
    for python in ("/usr/bin/python3", "python3"):
        if subprocess.run([python, "-c", "import h5py"], capture_output=True, check=False).returncode == 0:
            return python
    return None


PYTHON = python_with_h5py()


class Resumed(Case):
    def python(self, script):
        run = subprocess.run([PYTHON, "-c", script], cwd=self.folder, capture_output=True, text=True, check=True,
                             env={**os.environ, "LD_PRELOAD": ""})
        return run.stdout

    def guide(self):
        """The output of the guide's example."""
        with open(GUIDE, encoding="utf-8") as file:
            return self.python(re.search(r"```python\n(.*?)```", file.read(), re.DOTALL).group(1))

    def rows(self):
        """Number, line, attempt and category of each row of /tasks."""
        rows = json.loads(self.python(
            "import h5py, json; f = h5py.File('tasks.sh.wq/stats.h5', 'r', swmr=True); "
            "names = {r['category']: r['name'].decode() for r in f['categories'][:]}; "
            "print(json.dumps([[int(r['task']), int(r['line']), int(r['attempt']), names[r['category']]] "
            "for r in f['tasks'][:]]))"))
        return [tuple(row) for row in rows]

    def joblog(self):
        return [(line.split("\t")[0], line.split("\t")[-1]) for line in self.lines("tasks.sh.wq/joblog.tsv")[1:]]

    @unittest.skipUnless(PYTHON, "h5py is not installed")
    def test_failed_tasks_that_succeeded_later_are_no_failed_ones(self):
        self.write("tasks.sh", "[ -e repaired ]\nexit 3\n")
        self.run_to_end("tasks.sh", code=1)
        self.assertRegex(self.guide(), r"failed tasks: \[(1 2|2 1)\]")  # in the order of their ends
        self.write("repaired", "")
        for _ in range(2):
            self.run_to_end("--resume-failed", "tasks.sh", code=1)
            self.assertIn("failed tasks: [2]", self.guide())
        self.run_to_end("--resume", "tasks.sh", code=1)
        self.assertIn("failed tasks: [2]", self.guide())
        self.assertEqual(sorted((r["task"], r["attempt"]) for r in self.journal("tasks.sh.wq")),
                         [(0, 1), (0, 2), (1, 1), (1, 2), (1, 3)])

    @unittest.skipUnless(PYTHON, "h5py is not installed")
    def test_an_edited_list_has_the_numbers_of_now(self):
        self.write("tasks.sh", "#WQ category=one\ntrue 1\n#WQ category=two\ntrue 2\ntrue gone\n")
        self.run_to_end("tasks.sh")
        self.write("tasks.sh", "#WQ category=zero\ntrue 0\n#WQ category=one\ntrue 1\n#WQ category=two\ntrue 2\n")
        self.run_to_end("--resume", "tasks.sh")
        self.assertEqual(sorted(self.rows()), [(0, 0, 1, "two"), (1, 2, 1, "zero"), (2, 4, 1, "one"), (3, 6, 1, "two")])
        self.assertEqual(sorted(self.joblog()), [("0", "true gone"), ("1", "true 0"), ("2", "true 1"), ("3", "true 2")])
        os.unlink(self.path("tasks.sh.wq/joblog.tsv"))
        self.run_to_end("--resume", "tasks.sh")
        self.assertEqual(sorted(self.joblog()), [("0", ""), ("1", "true 0"), ("2", "true 1"), ("3", "true 2")])

    def test_items_of_an_array_are_numbered_by_where_they_stand(self):
        def run(*words):
            self.run_to_end("--run-dir", "tasks.sh.wq", *words, "--", "true {}")
        run("--array", "6-7")
        run("--resume", "--array", "1-9:2,2-6:2")
        self.assertEqual(sorted(self.joblog(), key=lambda line: int(line[0])),
                         [(str(n), f"true {i}") for n, i in enumerate((1, 3, 5, 7, 9, 2, 4, 6), 1)])


if __name__ == "__main__":
    support.main()
