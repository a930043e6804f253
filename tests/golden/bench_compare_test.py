"""Results of the benchmark are kept as figures and compared. Usage: bench_compare_test.py CHECKOUT"""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(sys.argv.pop(1))
sys.path.insert(0, str(ROOT / "tests/bench"))

import figures  # noqa: E402

PRINTED = """## Measured on 2 cores, Linux 6.1, load 0.1

### 2000 tasks, direct: `true`

| runner | best, tasks/s | median | runs | best / floor |
|---|---|---|---|---|
| ours | 900 | 850 | 5 | 0.94 |
| other | failed | | 0 | |

### bench_tcp

latency_of_a_frame                   35.5 us
frames\t1.5e+06\tframes/s (goal: 1000000)
4 workers:    2000 tasks/s fed,     1000 tasks/s
one shape              100000 tasks   100 workers:  70 tasks/s, 0.6 B waiting, 0.7 B done
one shape              100000 tasks   1 workers:  90 tasks/s with 100 leases
bench_tcp ended with 1
"""


class Figures(unittest.TestCase):
    def test_tables_and_lines(self):
        runners = "2000 tasks, direct: `true`"
        self.assertEqual(figures.figures_in(PRINTED), {
            (runners, "ours", "best, tasks/s"): 900, (runners, "ours", "median"): 850, (runners, "ours", "best / floor"): 0.94,
            ("bench_tcp", "latency_of_a_frame", "us"): 35.5, ("bench_tcp", "frames", "frames/s"): 1.5e6,
            ("bench_tcp", "4 workers", "tasks/s fed"): 2000, ("bench_tcp", "4 workers", "tasks/s"): 1000,
            ("bench_tcp", "one shape, 100000 tasks, 100 workers", "tasks/s"): 70, ("bench_tcp", "one shape, 100000 tasks, 100 workers", "B"): 0.6,
            ("bench_tcp", "one shape, 100000 tasks, 100 workers", "B 2"): 0.7, ("bench_tcp", "one shape, 100000 tasks, 1 workers", "tasks/s"): 90})

    def test_a_ratio_above_1_is_an_improvement(self):
        old = {("b", "latency", "us"): 20, ("b", "rate", "tasks/s"): 100, ("b", "gone", "us"): 1}
        new = {("b", "latency", "us"): 10, ("b", "rate", "tasks/s"): 200, ("b", "came", "us"): 1}
        self.assertEqual([figure[-1] for figure in figures.ratios(old, new)], [2, 2])
        self.assertEqual(figures.lost(old, new), [("b", "gone", "us")])

    def test_what_is_better_if_it_is_less(self):
        text = "### b\nmakespan\t1.005\tof the ideal (goal: 1.05)\nwaste        2.50 times what was used,    0.3 retries for 100 tasks\n"
        self.assertTrue(all(figures.less_is_better(row, column) for _, row, column in figures.figures_in(text)), figures.figures_in(text))
        self.assertEqual(figures.figures_in("| x | y |\n|---|---|\n| call | 12 ms; goal 100 ms |"), {("", "call", "y ms"): 12})


class Compare(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def write(self, name, rate):
        path = self.folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps({"figures": [{"bench": "b", "row": "ours", "column": "tasks/s", "value": rate}]}))
        return path

    def compare(self, *words):
        run = subprocess.run([ROOT / "tests/bench/compare", *words], capture_output=True, text=True)
        return run.returncode, run.stdout + run.stderr

    def test_what_became_worse_is_shown(self):
        code, said = self.compare(self.write("old.json", 100), self.write("new.json", 90))
        self.assertEqual(code, 1, said)
        self.assertIn("| b | 1 | 0.90 | 0.90 |", said)
        self.assertIn("| b: ours, tasks/s | 100 | 90 | 0.90 |", said)

    def test_rows_of_other_programs_do_not_count_and_a_lost_figure_does(self):
        rows = [{"bench": "b", "row": row, "column": "tasks/s", "value": value} for row, value in (("ours", 100), ("GNU parallel", 100))]
        old = self.write("old.json", 100)
        old.write_text(json.dumps({"figures": rows}))
        rows[1]["value"] = 10
        new = self.write("new.json", 100)
        new.write_text(json.dumps({"figures": rows}))
        self.assertEqual(self.compare(old, new)[0], 0)
        new.write_text(json.dumps({"figures": rows[1:]}))
        code, said = self.compare(old, new)
        self.assertEqual(code, 1, said)
        self.assertIn("NEW has no figure of b: ours, tasks/s", said)

    def test_medians_of_folders(self):
        for place, rate in enumerate((100, 1, 102)):
            self.write(f"new/{place}.json", rate)
        code, said = self.compare(self.write("old.json", 100), self.folder / "new")
        self.assertEqual(code, 0, said)
        self.assertIn("| b | 1 | 1.00 | 1.00 |", said)

    def test_what_is_no_result(self):
        old = self.write("old.json", 100)
        (self.folder / "none.json").write_text("{}")
        self.assertEqual(self.compare(old, self.folder / "none.json")[0], 65)
        self.assertEqual(self.compare(old, self.folder / "missing")[0], 65)
        self.assertEqual(self.compare(old)[0], 64)


if __name__ == "__main__":
    unittest.main()
