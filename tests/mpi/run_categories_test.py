#!/usr/bin/env python3
"""Categories of a list: their lines apply to their tasks; and tasks that are watched or inspected."""

import glob
import json
import os
import signal
import unittest

from run_support import Case, read_journal

# Leaves a mark if another of its kind runs at the same time.
ALONE = "mkdir busy || echo met >> met; {}; rmdir busy\n"
# Allocates this many MB of memory in steps, and stays long enough to be sampled.
EATER = """import select, sys
hoard = [b"x" * (1 << 20) for part in range(int(sys.argv[1]))]
select.select([], [], [], 2)
"""


class Categories(Case):
    def cores_of(self, text, **how):
        """The cores that the tasks see; each prints a word."""
        self.write("tasks.sh", text)
        run = self.run_to_end("--bind", "none", "tasks.sh", **how)
        return dict(line.split() for line in self.lines("seen")), run

    def test_tasks_get_what_their_category_says_and_what_they_say_themselves(self):
        seen, run = self.cores_of(
            "echo before $CORES >> seen\n"
            "#WQ-CATEGORY big cores=2 memory=64M\n"
            "#WQ category=big\n"
            "echo big $CORES >> seen; echo memory $MEMORY >> seen\n"
            "#WQ cores=1\n"
            "echo own $CORES >> seen\n"
            "#WQ cores= category=\n"
            "echo other $CORES >> seen\n")
        self.assertEqual(seen, {"before": "1", "big": "2", "memory": "64", "own": "1", "other": "1"})
        self.assertRegex(run.out, r"CATEGORY +RUNNING WAITING FIT-WORKERS MAX-CORES MAX-MEMORY MAX-DISK\n")
        self.assertRegex(run.out, r"\nbig +0 +0 +1 +2 +64 +na\n")
        transactions = self.read("tasks.sh.wq/transactions.log")
        self.assertIn(' CATEGORY big MAX {"cores":[2,"cores"],"memory":[64,"MB"]}\n', transactions)
        self.assertIn(' CATEGORY big FIRST FIXED {"cores":[2,"cores"],"memory":[64,"MB"]', transactions)
        self.assertIn(' TASK 1 WAITING default FIRST_RESOURCES {"cores":[1,"cores"]}\n', transactions)
        self.assertIn(' TASK 2 WAITING big FIRST_RESOURCES {"cores":[2,"cores"],"memory":[64,"MB"]}\n', transactions)
        self.assertIn(' TASK 3 WAITING big FIRST_RESOURCES {"cores":[1,"cores"],"memory":[64,"MB"]}\n', transactions)

    def test_as_many_run_at_once_as_may(self):
        self.write("tasks.sh", "#WQ-CATEGORY one concurrent=1 cores=0.25\n#WQ category=one\n" + 40 * ALONE.format(":")
                   + "#WQ category=\ntrue\n")
        for ranks in (0, 2):
            self.run_to_end("--run-dir", f"r{ranks}", "tasks.sh", ranks=ranks)
            self.assertEqual(self.lines("met"), [], "two ran at once")
            self.assertEqual(len([r for r in read_journal(self.path(f"r{ranks}/journal")) if r["final"]]), 41)

    def test_a_later_line_holds_for_tasks_above_it(self):
        """The first waits for the last, which a limit of one at a time would block forever."""
        gate, bell = self.gate(), self.bell()
        self.write("tasks.sh", f"#WQ-CATEGORY one concurrent=1 cores=0.25\n#WQ category=one\n"
                   f"echo first > {bell.path}; read x < {gate.path}\necho second > {bell.path}\n"
                   "#WQ-CATEGORY one concurrent=2\n")
        run = self.start("tasks.sh")
        bell.wait(1, "second")
        gate.open()
        run.wait()
        self.assertEqual(run.code, 0, str(run))

    def test_its_cores_hold_for_tasks_above_it_too(self):
        gate, bell = self.gate(), self.bell()
        self.write("tasks.sh", f"#WQ cores=0\nread x < {gate.path} #:g\n#WQ cores= category=late\necho above $CORES >> seen #:g\n"
                   f"#WQ category=\necho other $CORES >> seen\n#WQ-CATEGORY late cores=2\necho read > {bell.path}\n")
        run = self.start("--bind", "none", "tasks.sh")
        bell.wait(1)
        gate.open()
        run.wait()
        self.assertEqual(run.code, 0, str(run))
        self.assertEqual(sorted(self.lines("seen")), ["above 2", "other 1"])

    def test_what_failed_runs_again_with_its_category(self):
        self.write("tasks.sh", "#WQ-CATEGORY big cores=2\n#WQ-CATEGORY spare cores=1\n#WQ category=spare\ntrue\n"
                   "#WQ category=big\necho $CORES >> seen; false\n")
        self.run_to_end("--bind", "none", "tasks.sh", code=1)
        run = self.run_to_end("--bind", "none", "tasks.sh.wq/failed.sh", code=1)
        self.assertEqual(self.lines("seen"), ["2", "2"])
        self.assertNotIn("spare", run.err)
        self.run_to_end("--bind", "none", "--resume-failed", "tasks.sh", code=1)
        self.assertEqual(self.lines("seen"), ["2", "2", "2"])

    def test_lines_that_do_nothing_are_told(self):
        self.write("tasks.sh", "#WQ-CATEGORY absent cores=1\n#WQ-CATEGORY learns mode=max-throughput cores=1 memory=9 disk=9\n"
                   "#WQ category=learns\ntrue\n")
        for words in ((), ("--dry-run", "--run-dir", "no")):
            run = self.run_to_end(*words, "tasks.sh")
            said = run.err + run.out
            self.assertIn("tasks.sh:1: no task has the category 'absent'", said)
            self.assertIn("tasks.sh:2: no measurements: the mode of 'learns' needs them; use --monitor", said)

    def test_bad_lines(self):
        for value in ("0", "-1", "1e9", "lots"):
            self.write("tasks.sh", f"touch ran\n#WQ-CATEGORY a cores={value}\ntrue\n")
            for words in ((), ("--dry-run",)):
                run = self.run_to_end(*words, "tasks.sh", code=65)
                self.assertEqual(len(run.err.splitlines()), 1, str(run))
                self.assertIn("tasks.sh:2: bad value of 'cores': ", run.err)
                self.assertFalse(os.path.exists(self.path("ran")))


class Why(Case):
    def why(self, line, *words, code=0):
        run = self.run_to_end("--why", line, *words, code=code)
        self.assertEqual(len((run.out + run.err).splitlines()), 1, str(run))
        return run.out

    def test_of_a_run_that_goes_on_and_after_it(self):
        gate, bell = self.gate(), self.bell()
        self.write("tasks.sh", f"#WQ-CATEGORY one concurrent=1 cores=0.25\n#WQ category=one\n"
                   f"echo here > {bell.path}; read x < {gate.path}\ntrue\n#WQ category=\nexit 3\nfalse #:g\ntrue #:g\n")
        run = self.start("tasks.sh", ranks=2)
        bell.wait(1)
        self.assertIn("task 1 (line 3): it was sent to worker ", self.why(3, "tasks.sh"))
        self.assertIn("task 2 (line 4): not now: its category runs as many tasks as it may: ", self.why(4, "tasks.sh"))
        run.wait_for_text("can never run")
        self.assertIn("task 5 (line 8): never: a predecessor failed: task 4 (line 7)", self.why(8, "--run-dir", "tasks.sh.wq"))
        self.why(99, "tasks.sh", code=65)
        gate.open()
        run.wait()
        self.assertFalse(os.path.exists(self.path("tasks.sh.wq/why")))
        self.assertIn("task 3 (line 6): exit 3 in ", self.why(6, "tasks.sh"))
        self.assertIn("task 5 (line 8): not run: a predecessor failed: task 4 (line 7)", self.why(8, "tasks.sh"))
        self.why(1, "tasks.sh", code=65)
        self.why(3, "nowhere.sh", code=65)

    def test_what_was_lost_with_the_only_worker_that_it_may_run_on(self):
        """The run ends without another try."""
        bell = self.bell()
        self.write("tasks.sh", f"echo here > {bell.path}; read x < {self.gate().path} #@1\n")
        run = self.start("tasks.sh", ranks=2)
        bell.wait(1)
        os.kill(run.ranks()[1], signal.SIGKILL)
        run.wait()
        self.assertEqual(run.code, 1, str(run))
        answer = self.why(1, "tasks.sh")
        self.assertIn("task 1: it was not retried, since no worker large enough was left; its last attempt: worker lost: ", answer)

    def test_of_a_run_that_was_cut_off(self):
        gate, bell = self.gate(), self.bell()
        self.write("tasks.sh", f"true #:g\necho here > {bell.path}; read x < {gate.path} #:g\n")
        run = self.start("tasks.sh")
        bell.wait(1)
        journal = self.path("tasks.sh.wq/journal")
        while not read_journal(journal):  # it is written within some 10 ms
            self.assertFalse(run.wait_at_most(0.01), str(run))
        run.kill()
        self.kill_what_is_left()
        self.assertIn("task 2: not run: the run was killed", self.why(2, "tasks.sh"))
        self.assertIn("task 1: succeeded in ", self.why(1, "tasks.sh"))
        left = self.run_to_end("--resume", "--dry-run", "tasks.sh")
        self.assertTrue(left.out.endswith("1 of 2 tasks would run, nothing was run\n"), str(left))


class Monitoring(Case):
    def setUp(self):
        super().setUp()
        self.write("eater.py", EATER)

    def reports(self, folder):
        return {r["task_id"]: r for r in (json.loads(self.read(p)) for p in glob.glob(self.path(folder) + "/wq-*-task-*.summary"))}

    def test_a_report_for_each_task(self):
        self.write("tasks.sh", "#WQ category=align\nhead -c 3000000 /dev/zero > mine\nexit 3\n")
        self.run_to_end("--monitor-output", "reports/deep", "tasks.sh", code=1)
        reports = self.reports("reports/deep")
        self.assertEqual(sorted(reports), ["1", "2"])
        self.assertEqual(reports["1"]["category"], "align")
        self.assertEqual(reports["2"]["command"], "exit 3")
        self.assertEqual((reports["2"]["exit_type"], reports["2"]["exit_status"]), ("normal", 3))
        self.assertEqual(reports["1"]["wall_time"][1], "s")

    def test_one_that_takes_too_much_is_ended_alone(self):
        self.write("tasks.sh", "#WQ-CATEGORY eater memory=200M\n#WQ category=eater\npython3 eater.py 1024\n"
                   "#WQ category=\npython3 eater.py 1\n")
        run = self.start("--monitor", "--monitor-output", "reports", "tasks.sh", ranks=2)
        run.wait()
        self.assertEqual(run.code, 1, str(run))
        ends = {r["task"]: r for r in read_journal(self.path("tasks.sh.wq/journal")) if r["final"]}
        self.assertEqual([ends[0]["ending"], ends[1]["ending"]], ["out_of_memory", "exited"])
        self.assertEqual(ends[1]["exit_code"], 0)
        report = self.reports("reports")["1"]
        self.assertEqual((report["exit_type"], report["limits_exceeded"]), ("limits", {"memory": [200, "MB"]}))
        self.assertGreater(report["memory"][0], 200)
        self.assertLess(report["memory"][0], 1100)
        self.assertTrue(report["host"])
        self.assertRegex(run.out, r"on \S+: out of memory: used \d+ MB of memory, its limit is 200 MB")
        self.assertIn("`#WQ memory=SIZE` above its line, or memory=SIZE in `#WQ-CATEGORY eater`\n", run.out)
        self.assertRegex(run.out, r"\neater +0 +0 +2 +1 +200 ")
        self.assertRegex(self.read("tasks.sh.wq/transactions.log"),
                         r' TASK 1 DONE RESOURCE_EXHAUSTION -?\d+ {"memory":\[200,"MB"\]} {.*"memory":\[\d+,"MB"\]')
        self.assertIn(": out of memory: used ", self.run_to_end("--why", 3, "tasks.sh").out)

    def test_the_memory_of_a_category_holds_also_where_nothing_is_measured(self):
        for said, words in (("memory=100M", ()), ("mode=max cores=1 disk=9", ("--memory", "100M"))):
            self.write("tasks.sh", f"#WQ-CATEGORY eater {said}\n#WQ category=eater\npython3 eater.py 1024\n")
            run = self.run_to_end("--run-dir", said.split("=")[0], *words, "tasks.sh", code=1)
            self.assertRegex(run.out, r"out of memory: used \d+ MB of memory, its limit is 100 MB")

    def test_only_measured_none_is_ended(self):
        self.write("tasks.sh", "#WQ-CATEGORY default memory=50M\npython3 eater.py 90\n#WQ memory=50M\npython3 eater.py 90\n")
        self.run_to_end("--monitor=measure", "--monitor-output", "reports", "--memory", "50M", "tasks.sh")
        report = self.reports("reports")["1"]
        self.assertGreaterEqual(report["memory"][0], 90)
        self.assertEqual(report["exit_type"], "normal")
        self.assertGreaterEqual(report["total_processes"][0], 1)

    def test_what_exhausts_a_guess_runs_again_with_the_maximum(self):
        self.write("tasks.sh", "#WQ-CATEGORY auto mode=max cores=1 memory=2G disk=10 first memory=50M\n"
                   "#WQ category=auto\npython3 eater.py 90\n")
        run = self.run_to_end("--monitor", "tasks.sh")
        self.assertNotIn("no measurements", run.err)
        records = read_journal(self.path("tasks.sh.wq/journal"))
        self.assertEqual([(r["ending"], r["attempt"]) for r in records], [("out_of_memory", 1), ("exited", 2)])
        transactions = self.read("tasks.sh.wq/transactions.log")
        self.assertRegex(transactions, r' TASK 1 WAITING auto MAX_RESOURCES {"cores":\[1,"cores"\],"memory":\[2048,"MB"\]')
        self.assertRegex(transactions, r' TASK 1 RUNNING \S+ MAX_RESOURCES {.*"memory":\[2048,"MB"\]')
        self.assertRegex(run.out, r"\nauto +0 +0 +1 +1 +2048 +10\n")
        self.assertIn("1 attempt exceeded the task's allocation\n", run.out)

    def test_what_needs_more_than_any_worker_has_has_failed(self):
        self.write("tasks.sh", "#WQ-CATEGORY auto mode=max cores=1 disk=10 first memory=50M\n#WQ category=auto\npython3 eater.py 400\n")
        run = self.run_to_end("--monitor", "--run-dir", "tasks.sh.wq", "tasks.sh", code=1, env={"SLURM_JOB_ID": "1", "SLURM_MEM_PER_NODE": "200"})
        records = read_journal(self.path("tasks.sh.wq/journal"))
        # If the first sample exceeds every worker, there is no second try.
        self.assertEqual({r["ending"] for r in records}, {"out_of_memory"})
        self.assertEqual([r["final"] for r in records], [False, True][-len(records):])
        self.assertRegex(run.out, r"; no worker has .* for another try")
        self.assertRegex(self.read("tasks.sh.wq/transactions.log"), r" TASK 1 DONE RESOURCE_EXHAUSTION ")
        self.assertIn(": out of memory: ", self.run_to_end("--why", 3, "--run-dir", "tasks.sh.wq", "tasks.sh").out)

    def test_what_tasks_get_is_learned_of_those_before(self):
        gate = self.gate()
        self.write("tasks.sh", "#WQ-CATEGORY auto mode=max cores=1 disk=100 first memory=1G\n#WQ category=auto\n"
                   + 70 * f"echo $MEMORY >> seen; read -t 0.2 x < {gate.path}; true\n")
        run = self.run_to_end("--monitor", "tasks.sh")
        seen = self.lines("seen")
        self.assertEqual((seen[0], seen[-1]), ("1024", "250"))  # the width of a bucket
        self.assertRegex(run.out, r"\nauto +0 +0 +1 +1 +~\d+ +100\n")
        self.assertRegex(self.read("tasks.sh.wq/transactions.log"), r' CATEGORY auto FIRST MAX {.*"memory":\[250,"MB"\]')

    def test_a_folder_for_reports_that_is_none(self):
        self.write("tasks.sh", "touch ran\n")
        run = self.run_to_end("--monitor-output", "tasks.sh/below", "tasks.sh", code=None)
        self.assertIn(run.code, (64, 77), str(run))
        self.assertEqual(len(run.err.splitlines()), 1, str(run))
        self.assertFalse(os.path.exists(self.path("ran")))


if __name__ == "__main__":
    unittest.main()
