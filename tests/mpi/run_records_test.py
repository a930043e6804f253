#!/usr/bin/env python3
"""Records of tasks: their output, failures, and a list that reruns only the failed ones."""

import json
import os
import time

import run_support as support
from run_support import Case


class Outputs(Case):
    def test_output_of_a_task(self):
        self.write("tasks.sh", "echo out; echo err >&2\nprintf 'a\\0b'\ntrue\n")
        self.run_to_end("tasks.sh")
        run = self.run_to_end("--output", "tasks.sh.wq", "1")
        self.assertEqual((run.out, run.err), ("out\n", "err\n"))
        self.assertEqual(self.run_to_end("--output", "tasks.sh.wq", "2").out, "a\0b")
        run = self.run_to_end("--output", "tasks.sh.wq", "3")
        self.assertEqual((run.out, run.err), ("", ""), "to write nothing is no failure")
        run = self.run_to_end("--output", "tasks.sh.wq", "4", code=65)
        self.assertIn("task 4 does not exist: the run has 3 tasks\n", run.err)
        run = self.run_to_end("--output", "tasks.sh.wq", "1", ranks=2)
        self.assertEqual(run.out, "out\n", "by one rank")
        run = self.run_to_end("--output", "nowhere", "1", code=65)
        self.assertEqual(len(run.err.splitlines()), 1, str(run))

    def test_output_goes_by_the_list_as_it_is_now(self):
        self.write("tasks.sh", "echo a; echo a-err >&2\necho b\n")
        self.run_to_end("tasks.sh")
        self.write("tasks.sh", "echo new\necho b\necho a; echo a-err >&2\n# a remark\ntrue\n")
        self.run_to_end("--resume", "tasks.sh")
        for number, out, err in ((1, "new\n", ""), (2, "b\n", ""), (3, "a\n", "a-err\n")):
            run = self.run_to_end("--output", "tasks.sh.wq", str(number))
            self.assertEqual((run.out, run.err), (out, err), str(run))
        self.assertEqual(self.run_to_end("--output", "tasks.sh.wq", "4").out, "")

    def test_output_of_values_and_indexes(self):
        self.write("values", "#x\ny\n")
        self.run_to_end("--each", "values", "--", "echo", "it is {}")
        self.assertEqual(self.run_to_end("--output", "values.wq", "1").out, "it is #x\n")
        self.run_to_end("--run-dir", "array", "--array", "5-6", "--", "echo", "it is {}")
        self.assertEqual(self.run_to_end("--output", "array", "2").out, "it is 6\n")

    def test_output_of_a_task_that_has_not_ended(self):
        bell, gate = self.bell(), self.gate()
        self.write("tasks.sh", "echo up > bell; read x < gate; exit 1 #:g\necho never #:g\n")
        run = self.start("tasks.sh")
        bell.wait()
        asked = self.run_to_end("--output", "tasks.sh.wq", "1", code=65)
        self.assertIn("task 1 has not ended", asked.err)
        gate.open()
        self.assertEqual(run.wait(), 1, str(run))
        asked = self.run_to_end("--output", "tasks.sh.wq", "2", code=65)
        self.assertIn("task 2 did not run to its end", asked.err)

    def test_the_status_follows_the_run(self):
        gate = self.gate()
        self.write("tasks.sh", "true\nfalse\nread x < gate\n")
        run = self.start("tasks.sh")
        end = time.monotonic() + support.DEADLINE
        done = None
        while done != "2" and time.monotonic() < end and not run.wait_at_most(0.02):
            if os.path.exists(self.path("tasks.sh.wq/status")):
                done = self.status("tasks.sh.wq")["tasks_done"]
        status = self.status("tasks.sh.wq")
        self.assertEqual((status["state"], status["tasks_done"], status["tasks_failed"]), ("running", "2", "1"), str(run))
        os.mkdir(self.path("tasks.sh.wq/status.part"))
        gate.open()
        self.assertEqual(run.wait(), 1, f"a status that cannot be written changes nothing else: {run}")

    def test_too_much_output_is_cut_with_a_mark(self):
        self.write("tasks.sh", "head -c 300000000 /dev/zero | tr '\\0' x; echo; echo the end\n")
        run = self.run_to_end("--output-limit", "1M", "tasks.sh")
        self.assertIn("Output of 1 task was cut at 1.0 MiB; --output-limit keeps more\n", run.out)
        self.assertLess(os.path.getsize(self.path("tasks.sh.wq/output.log")), 1_100_000)
        out = self.run_to_end("--output", "tasks.sh.wq", "1").out
        self.assertLess(len(out), 1_100_000)
        kept = out.replace("x", "")
        self.assertEqual(kept.strip(), "[work_queue: 298951433 more bytes of stdout not kept; the limit is 1048576 bytes]")


class Failed(Case):
    def test_summary_names_each_kind_once(self):
        self.write("tasks.sh", "".join(f"echo 'file {n} is missing' >&2; exit 4\n" for n in range(30)) +
                   "for i in 1 2 3 4 5 6 7; do echo line $i >&2; done; kill -SEGV $$\nnosuchcommand\ntrue\n")
        run = self.run_to_end("tasks.sh", code=1)
        self.assertEqual(run.out.count("is missing"), 2, str(run))  # the command, and its stderr
        self.assertIn("29 more like it", run.out)
        self.assertIn("signal 11", run.out)
        self.assertIn("| line 3\n", run.out)
        self.assertNotIn("| line 2\n", run.out)
        self.assertIn("task 32 on ", run.out)
        self.assertIn("could not be started: 'nosuchcommand' is not in PATH", run.out)

    def test_json(self):
        self.write("tasks.sh", "true\nexit 3 #:g\ntrue #:g\n")
        run = self.run_to_end("--json", "tasks.sh", code=1)
        summary = json.loads(run.out)
        self.assertEqual((summary["schema"], summary["exit_code"]), (1, 1))
        self.assertEqual(summary["tasks"], {"submitted": 3, "succeeded": 1, "failed": 1, "never_ran": 1, "not_run": 0,
                                            "not_recorded": 0})
        self.assertEqual([(f["line"], f["exit_code"], f["count"]) for f in summary["failures"]], [(2, 3, 1)])

    def repair_and_run(self, run_dir, *words, **how):
        """Runs failed.sh as a list after the repair."""
        self.write("repaired", "")
        os.replace(self.path("seen"), self.path("seen.before"))
        run = self.run_to_end(*words, "--run-dir", "again", os.path.join(run_dir, "failed.sh"), **how)
        return run

    def test_failed_sh_runs_just_what_failed(self):
        os.mkdir(self.path("sub"))
        self.write("tasks.sh", f"""
R={self.folder} #!
ok() {{ echo "$1 $PWD $CORES $GREETING" >> $R/seen; [ -e $R/repaired ] || [ "$2" = ok ]; }} #!
ok a ok
ok b
cd sub #!
export GREETING='hello there' #!
#WQ cores=2 category=big retries=1
ok c fail # a remark
ok d ok
#WQ cores=1
ok e fail #@0
ok f fail #+group
ok g fail #:group
""")
        run = self.run_to_end("tasks.sh", code=1)
        failed = self.read("tasks.sh.wq/failed.sh")
        self.assertIn("Failed lines: tasks.sh.wq/failed.sh", run.out)
        self.repair_and_run("tasks.sh.wq")
        top, sub = os.path.realpath(self.folder), os.path.realpath(self.path("sub"))
        cores = {line.split()[0]: line.split()[2] for line in self.lines("seen")}
        self.assertEqual(sorted(self.lines("seen")), [
            f"b {top} 1 ", f"c {sub} {cores['c']} hello there", f"e {sub} 1 hello there", f"f {sub} 1 hello there"], failed)
        self.assertEqual(cores["c"], "2")

    def test_failed_sh_goes_away_when_nothing_failed(self):
        self.write("tasks.sh", "[ -e repaired ]\n")
        self.run_to_end("tasks.sh", code=1)
        self.assertIn("[ -e repaired ]", self.read("tasks.sh.wq/failed.sh"))
        self.write("repaired", "")
        self.run_to_end("--resume-failed", "tasks.sh")
        self.assertFalse(os.path.exists(self.path("tasks.sh.wq/failed.sh")))

    def test_failed_sh_after_a_resume_has_the_earlier_ones(self):
        self.write("tasks.sh", "echo first >> seen; [ -e repaired ]\ntrue\n")
        self.run_to_end("tasks.sh", code=1)
        self.write("tasks.sh", "# now further down\n\nV=x #!\necho first >> seen; [ -e repaired ]\necho $V >> seen; false\n")
        self.run_to_end("--resume", "tasks.sh", code=1)
        self.repair_and_run("tasks.sh.wq", code=1)
        self.assertEqual(sorted(self.lines("seen")), ["first", "x"])

    def test_failed_sh_of_an_array_and_of_each(self):
        command = "echo {} $WORK_QUEUE_TASK_INDEX >> seen; [ -e repaired ] || [ {} != 3 ] # {} #:x"
        self.run_to_end("--run-dir", "r", "--timeout", "5m", "--array", "1-5", "--", command, code=1)
        self.repair_and_run("r")
        self.assertEqual(self.lines("seen"), ["3 3"])
        os.unlink(self.path("repaired"))
        self.write("values", "1\na b\n#c\n")
        self.run_to_end("--run-dir", "e", "--each", "values", "--", "sh", "-c",
                        'echo "$WORK_QUEUE_TASK_INDEX:$1:" >> seen\n[ -e repaired ]', "sh", "{}", code=1)
        os.unlink(self.path("seen"))
        self.write("seen", "")
        self.write("repaired", "")
        self.run_to_end("--run-dir", "e2", "e/failed.sh")
        self.assertEqual(sorted(self.lines("seen")), ["1:1:", "2:a b:", "3:#c:"])

    def test_failed_sh_has_the_defaults_of_the_command_line(self):
        self.write("tasks.sh", "sleep 1000\n")
        self.run_to_end("--timeout", "0.2", "--retries", "1", "tasks.sh", code=1)
        failed = self.read("tasks.sh.wq/failed.sh")
        self.assertIn("#WQ ", failed)
        self.run_to_end("--run-dir", "again", "tasks.sh.wq/failed.sh", code=1)
        self.assertEqual([(r["attempt"], r["ending"]) for r in self.journal("again")], [(1, "timed_out"), (2, "timed_out")])


class Shown(Case):
    def stderr_of(self, ranks, terminal):
        """What a run writes to stderr if that is a terminal, or a file."""
        if not terminal:
            return self.run_to_end("--run-dir", f"file{ranks}", "tasks.sh", ranks=ranks).err
        ours, theirs = os.openpty()
        run = self.start("--run-dir", f"terminal{ranks}", "tasks.sh", ranks=ranks, stderr=theirs)
        os.close(theirs)
        self.assertEqual(run.wait(), 0, str(run))
        text = b""
        while True:
            try:
                piece = os.read(ours, 4096)
            except OSError:  # everything was read and nobody holds the other end
                break
            if not piece:
                break
            text += piece
        os.close(ours)
        return text.decode()

    def test_progress_is_for_terminals(self):
        """Under mpirun a rank's stderr is never a terminal: mpirun's stderr counts."""
        self.write("tasks.sh", "true\n" * 5)
        for ranks in (0, 2):
            self.assertNotIn("\r", self.stderr_of(ranks, terminal=False))
            shown = self.stderr_of(ranks, terminal=True)
            self.assertIn("\r\x1b[K5 succeeded, 0 failed, 0 running of 5 | 100%", shown)

    def test_readers_that_have_gone_end_no_run(self):
        """Closed descriptors are harmless too: no file of the run may get their number and what is printed to it."""
        self.write("tasks.sh", "false\ncd nowhere #!\ntrue\nyes | head -n 1 > yes; echo ${PIPESTATUS[0]} > pipe\n")
        closed = ("sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh")
        script = ("import os, signal, sys; signal.signal(signal.SIGPIPE, signal.SIG_DFL); r, w = os.pipe(); "
                  "os.dup2(w, 1); os.dup2(w, 2); os.close(r); os.execvp(sys.argv[1], sys.argv[1:])")
        broken = (support.sys.executable, "-c", script)
        for name, before in (("closed", closed), ("broken", broken)):
            self.run_to_end("--run-dir", name, "tasks.sh", before=before, code=1)
            self.assertEqual(self.status(name)["exit_code"], "1")
            self.assertEqual(len(self.journal(name)), 3)
            self.assertEqual(self.lines("pipe"), ["141"], "tasks do not inherit that it is ignored")

    def test_a_manager_that_only_manages(self):
        self.write("tasks.sh", "echo $WORKERID >> where\n" * 10)
        self.run_to_end("--manager-only", "tasks.sh", ranks=2)
        self.assertEqual(self.lines("where"), ["1"] * 10)

    def test_the_shell_and_the_statistics_log(self):
        self.write("tasks.sh", "ps -o comm= -p $$ > shell; :\n")
        self.run_to_end("--shell", "/bin/sh", "--stats-log", "log", "tasks.sh")
        self.assertTrue(self.lines("log")[0].startswith("# time"), self.lines("log")[:1])
        self.assertEqual(self.lines("shell"), ["sh"])

    def test_the_times_of_the_manager_are_parts_of_its_life(self):
        self.write("tasks.sh", "true\n" * 200 + "false\n")
        self.run_to_end("--stats-log", "log", "tasks.sh", ranks=2, code=1)
        names, *rows = [line.split() for line in self.lines("log")]
        last = {name: float(value) for name, value in zip(names[1:], rows[-1])}
        parts = [last["time_" + part] for part in ("send", "receive", "status_msgs", "internal", "polling")]
        self.assertTrue(all(part > 0 for part in parts), parts)
        self.assertLessEqual(sum(parts), last["timestamp"] - last["time_when_started"])
        for part in ("send", "receive"):
            # Both are whole microseconds.
            self.assertAlmostEqual(last[f"time_{part}_good"], last[f"time_{part}"] * 200 / 201, delta=1)
        self.assertGreaterEqual(last["capacity_tasks"], 1)
        self.assertEqual(last["capacity_cores"], last["capacity_tasks"], "of one core each")

    def test_a_statistics_log_that_is_another_file_is_left_alone(self):
        self.write("tasks.sh", "true\n")
        self.write("results.csv", "a,b\n1,2\nthe last line has no newline")
        os.mkfifo(self.path("pipe"))
        for name, why in (("results.csv", "is another kind of file"), ("pipe", "is not a regular file")):
            run = self.run_to_end("--stats-log", name, "tasks.sh", code=64)
            self.assertEqual(len(run.err.splitlines()), 1, str(run))
            self.assertIn(f"{name} {why}", run.err)
        self.assertEqual(self.read("results.csv"), "a,b\n1,2\nthe last line has no newline")
        self.assertFalse(os.path.exists(self.path("tasks.sh.wq")))


if __name__ == "__main__":
    support.main()
