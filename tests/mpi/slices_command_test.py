"""work_queue_slices: commands for slices on several ranks, what fails, what is lost, and what its audit finds."""
import os
import re
import signal
import unittest

import run_support as support

LINES = [f"{file} {line}" for file in "abc" for line in range(100)]


class Slices(support.Case):
    def setUp(self):
        super().setUp()
        for file in "abc":
            self.write(f"{file}.txt", "".join(line + "\n" for line in LINES if line[0] == file))
        self.write("list", "# three\na.txt\nb.txt\nc.txt\n")

    def run_slices(self, *words, ranks=3, **how):
        return self.run_to_end("--works", "list", *words, ranks=ranks, **how)

    def test_commands_read_the_records_of_each_slice_once(self):
        run = self.run_slices("--lines", "-n", 30, "-e", 2, "--stats", "s.h5", "--", "cat")
        self.assertEqual(sorted(run.out.splitlines()), sorted(LINES * 2))
        audit = self.run_slices("--lines", "-n", 30, "-e", 2, "--audit", "s.h5", ranks=0).out
        self.assertIn("60 of 60 slices committed once, by ", audit)
        short = self.run_slices("--lines", "-n", 30, "-e", 3, "--audit", "s.h5", ranks=0, code=1).out
        self.assertIn("60 of 90 slices committed once", short)
        self.assertIn("not committed: epoch 2, ", short)
        self.assertIn("and 20 more\n", short)

    def test_whole_files_names_and_variables(self):
        script = "read line; echo $line $1 $SLICE_WORK $SLICE_EPOCH; test -z \"$SLICE_START$OMPI_COMM_WORLD_RANK\""
        run = self.run_slices("--prefix", "./", "--", "sh", "-c", script, "-", "<{}>")
        self.assertEqual(sorted(run.out.splitlines()), [f"{f} 0 <./{f}.txt> ./{f}.txt 0" for f in "abc"])

    def test_a_command_that_does_not_read_ends_nothing(self):
        self.write("a.txt", b"x" * 1_000_000)
        self.assertEqual(sorted(self.run_slices("--", "echo", "{}").out.split()), ["a.txt", "b.txt", "c.txt"])

    def test_the_plan_is_printed(self):
        plan = self.run_slices("-e", 2, "--seed", 5, "--explain", ranks=0).out.splitlines()
        self.assertIn("3 slices an epoch, 2 epochs, shuffled, seed 5", plan[0])
        rows = [line.split("\t") for line in plan[2:]]
        self.assertEqual([row[0] for row in rows], [str(n) for n in range(6)])
        self.assertEqual(sorted(row[2] for row in rows), sorted(["a.txt", "b.txt", "c.txt"] * 2))

    def test_failures_are_named_and_the_others_go_on(self):
        script = "echo $1 >> tries; test $1 != b.txt || exit 3"
        run = self.run_slices("--retries", 2, "--", "sh", "-c", script, "-", "{}", code=1)
        self.assertEqual(sorted(self.lines("tries")), ["a.txt", "b.txt", "b.txt", "b.txt", "c.txt"])
        self.assertRegex(run.err, r"work_queue_slices: rank \d: failed: epoch 0, b.txt: exit code 3 \(3 tries\)")
        # Alone: after another code than 0, mpirun takes a second to end.
        self.assertRegex(self.run_slices("--", "sh", "-c", "kill -SEGV $$", ranks=0, code=1).err, "killed by SIGSEGV")
        self.assertRegex(self.run_slices("--", "./none", ranks=0, code=1).err, "cannot run ./none: No such file")

    def test_a_checkpoint_goes_on_with_other_ranks(self):
        words = ["--lines", "-n", 30, "--checkpoint", "c.h5", "--save-every", "0"]
        bell = self.bell()
        run = self.start("--works", "list", *words, "--", "sh", "-c", f"cat >> out; echo . > {bell.path}", ranks=2)
        bell.wait(10)
        run.kill()
        self.kill_what_is_left()
        done = len(self.lines("out"))
        self.run_slices(*words, "--", "sh", "-c", "cat >> more", ranks=3)
        self.assertEqual(set(self.lines("out")) | set(self.lines("more")), set(LINES))
        self.assertLess(len(self.lines("more")), len(LINES), f"{done} lines before, and none of them was saved")
        self.run_slices(*words, "--", "false", ranks=1)  # runs no command

    def test_what_failed_is_run_again_by_the_next_job(self):
        words = ["--checkpoint", "c.h5"]
        self.run_slices(*words, "--", "sh", "-c", "test $1 != b.txt", "-", "{}", ranks=0, code=1)
        self.assertEqual(self.run_slices(*words, "--", "echo", "{}", ranks=2).out, "b.txt\n")
        self.assertEqual(self.run_slices(*words, "--", "echo", "{}", ranks=2).out, "")

    def test_a_checkpoint_of_other_works_is_refused(self):
        words = ["--lines", "-n", 30, "--checkpoint", "c.h5"]
        self.run_slices(*words, "--", "true", ranks=0)
        self.assertIn("other works", self.run_slices("a.txt", *words, "--", "true", ranks=2, code=65).err)

    def test_a_lost_ranks_slices_are_run_again(self):
        bell, gate = self.bell(), self.gate()
        script = f"if [ $SLICE_RANK = 1 ]; then echo . > {bell.path}; cat {gate.path}; fi; cat >> out"
        run = self.start("--works", "list", "--lines", "-n", 30, "--", "sh", "-c", script, ranks=3)
        bell.wait(1)
        os.kill(run.ranks()[1], signal.SIGKILL)
        run.wait()
        self.assertEqual(sorted(self.lines("out")), sorted(LINES))
        self.assertEqual(run.code, 0, str(run))

    def test_bad_input_is_one_line(self):
        for words, code, text in [
                (["/none", "--", "true"], 65, "/none"),
                (["-n", 1000, "--lines", "--", "true"], 64, "1000"),
                (["--checkpoint", "list", "--", "true"], 65, "cannot restore list"),
                (["--stats", "/none/s.h5", "--", "true"], 64, "/none/s.h5")]:
            run = self.run_slices(*words, ranks=2 if "list" in words else 0, code=code)
            said = [line for line in run.err.splitlines() if line.startswith("work_queue_slices: ")]
            self.assertEqual(len([line for line in said if re.search(re.escape(text), line)]), 1, str(run))


if __name__ == "__main__":
    unittest.main(verbosity=2)
