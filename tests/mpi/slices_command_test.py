"""work_queue_slices: commands for slices on several ranks, what fails, what is lost, and what its audit finds."""
import os
import re
import signal
import time
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
        script = "read line; echo $line $1 $SLICE_WORK $SLICE_EPOCH; echo $SLICE_POSITION >> positions; test -z \"$SLICE_START$OMPI_COMM_WORLD_RANK\""
        run = self.run_slices("--prefix", "./", "--", "sh", "-c", script, "-", "<{}>")
        self.assertEqual(sorted(run.out.splitlines()), [f"{f} 0 <./{f}.txt> ./{f}.txt 0" for f in "abc"])
        self.assertEqual(sorted(self.lines("positions")), ["0", "1", "2"])

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
        self.assertIn("work_queue_slices: 1 slice of 3 failed\n", run.err)
        # Alone: after another code than 0, mpirun takes a second to end.
        self.assertRegex(self.run_slices("--", "sh", "-c", "kill -SEGV $$", ranks=0, code=1).err, "killed by SIGSEGV")

    # A host where each command fails at once would take all slices.
    def test_who_cannot_run_the_command_takes_no_slices(self):
        alone = self.run_slices("--", "./none", ranks=0, code=64)
        self.assertIn("rank 0 takes no slices: cannot run ./none: No such file", alone.err)
        self.assertIn("sh -c", self.run_slices("--", "wc -l", ranks=2, code=64).err)
        # The command of rank 1 is another word.
        words = [support.PROGRAM, "-w", "list", "--", "cat"]
        mixed = self.start(commands=support.apart(words, [*words[:-1], "./none"]))
        mixed.wait()
        self.assertIn("rank 1 takes no slices", mixed.err)
        self.assertEqual(sorted(mixed.out.splitlines()), sorted(LINES))

    # Rank 0 saves before it takes the next slice, so what it had done 3 slices ago is saved. Rank 1 gets nowhere.
    def test_a_checkpoint_goes_on_with_other_ranks(self):
        words = ["--lines", "-n", 30, "--checkpoint", "c.h5", "--save-every", "0"]
        bell, gate = self.bell(), self.gate()
        script = f"if [ $SLICE_RANK = 1 ]; then cat {gate.path}; fi; cat >> out; echo . > {bell.path}"
        run = self.start("--works", "list", *words, "--", "sh", "-c", script, ranks=2)
        bell.wait(3)
        run.kill()
        self.kill_what_is_left()
        done = len(self.lines("out"))
        self.run_slices(*words, "--", "sh", "-c", "cat >> more", ranks=3)
        self.assertEqual(set(self.lines("out")) | set(self.lines("more")), set(LINES))
        self.assertLess(len(self.lines("more")), len(LINES), f"{done} lines before, and none of them was saved")
        self.run_slices(*words, "--", "false", ranks=1)  # runs no command

    # Rank 0 is busy with its first slice all the time. What rank 1 did before its second one is saved by then.
    def test_a_checkpoint_is_saved_while_a_command_runs(self):
        bell, gate, rank_0_is_busy = self.bell(), self.gate(), self.gate("busy").path
        words = ["--checkpoint", "c.h5", "--save-every", "0.01"]
        script = (f"if [ $SLICE_RANK = 0 ]; then echo > {rank_0_is_busy}; echo > {rank_0_is_busy}; cat {gate.path}; fi;"
                  f"read line < {rank_0_is_busy}; echo . > {bell.path}; echo $1 >> out")
        run = self.start("--works", "list", *words, "--", "sh", "-c", script, "-", "{}", ranks=2)
        bell.wait(2)
        for _ in range(2):  # a save that began before may not have it
            self.wait_for_another_file("c.h5", run)
        run.kill()
        self.kill_what_is_left()
        self.run_slices(*words, "--", "sh", "-c", "echo $1 >> more", "-", "{}", ranks=2)
        self.assertLess(len(self.lines("more")), 3)
        self.assertEqual(set(self.lines("out") + self.lines("more")), {"a.txt", "b.txt", "c.txt"})

    def wait_for_another_file(self, name, run):
        """A file that is replaced tells nobody, so this looks every 10 ms."""
        def identity():
            status = os.stat(self.path(name))
            return status.st_ino, status.st_mtime_ns
        before, end = identity(), time.monotonic() + support.DEADLINE
        while identity() == before:
            self.assertFalse(run.wait_at_most(0.01), str(run))
            self.assertLess(time.monotonic(), end, f"{name} is not written again")

    def test_a_last_save_that_fails_is_the_exit_code(self):
        script = "rm -rf there && echo > there"
        os.mkdir(self.path("there"))
        run = self.run_slices("--checkpoint", "there/c.h5", "--", "sh", "-c", script, ranks=0, code=65)
        self.assertIn("there/c.h5 is not up to date: ", run.err)

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
        self.assertIn("work_queue: rank 1 was lost; others get what it had\n", run.err)

    # Also what is in a session of its own, or ignores signals.
    def test_nothing_of_a_lost_rank_is_left(self):
        bell, gate = self.bell(), self.gate()
        script = f"if [ $SLICE_RANK = 1 ]; then setsid sh -c 'echo . > {bell.path}; exec cat {gate.path}'; fi; cat >> out"
        run = self.start("--works", "list", "--", "sh", "-c", script, ranks=2)
        bell.wait(1)
        os.kill(run.ranks()[1], signal.SIGKILL)
        run.wait()
        self.assertEqual(run.code, 0, str(run))
        self.assert_nothing_left()
        self.assertEqual(sorted(self.lines("out")), sorted(LINES))

    def test_what_a_command_leaves_running_ends_with_the_run(self):
        bell, gate = self.bell(), self.gate()
        script = f"(setsid sh -c 'echo . > {bell.path}; exec cat {gate.path}' &); read line < {bell.path}"
        self.run_slices("--", "sh", "-c", script, ranks=0)
        self.assert_nothing_left(0)

    def test_a_command_that_kills_its_parent_fails(self):
        script = f"if [ $1 = b.txt ]; then kill -9 $PPID; cat {self.gate().path}; fi; echo $1"
        run = self.run_slices("--", "sh", "-c", script, "-", "{}", ranks=0, code=1)
        self.assertEqual(sorted(run.out.split()), ["a.txt", "c.txt"])
        self.assertRegex(run.err, "failed: epoch 0, b.txt: .*: the process that starts commands was killed")

    # MpiSession ignores SIGPIPE in ranks above 0, and blocks signals there.
    def test_commands_of_all_ranks_have_the_same_signals(self):
        bell, gate = self.bell(), self.gate()
        script = f"echo $SLICE_RANK $(grep -E '^Sig(Blk|Ign):' /proc/self/status | cut -f 2); echo . > {bell.path}; read line < {gate.path}"
        self.write("list", "a.txt\nb.txt\n")
        run = self.start("--works", "list", "--", "sh", "-c", script, ranks=2)
        bell.wait(2)  # one of each rank
        gate.open()
        gate.open()
        run.wait()
        said = [line.split() for line in sorted(run.out.splitlines())]
        self.assertEqual([line[0] for line in said], ["0", "1"], str(run))
        for _, blocked, ignored in said:
            self.assertEqual(int(blocked, 16), 0, str(run))
            self.assertEqual(int(ignored, 16) & 1 << signal.SIGPIPE - 1, 0, str(run))

    def test_a_run_within_a_run_has_its_own_variables(self):
        self.write("inner", "c.txt\n")
        run = self.run_slices("--", "sh", "-c", f"{support.PROGRAM} -w inner -- env | grep ^SLICE_WORK=", ranks=0)
        self.assertEqual(run.out.splitlines(), ["SLICE_WORK=c.txt"] * 3, str(run))

    def test_a_file_that_is_gone_is_a_failure(self):
        run = self.run_slices("--no-shuffle", "--", "sh", "-c", "rm -f b.txt; cat > /dev/null", ranks=0, code=1)
        self.assertIn("failed: epoch 0, b.txt: cannot read b.txt: No such file", run.err)
        self.assertNotIn("no work is a file", run.err)
        names = self.run_to_end("one", "two", "--", "cat", ranks=0)
        self.assertIn("no work is a file on this machine: commands get only the slices' names", names.err)
        self.assertNotIn("no work is a file", self.run_to_end("db://one", "--", "cat", ranks=0).err)

    def test_a_run_without_stdin_feeds_its_commands(self):
        run = self.run_to_end("a.txt", "--", "cat", ranks=0, before=["/bin/sh", "-c", 'exec "$0" "$@" <&-'])
        self.assertEqual(run.out.splitlines(), [line for line in LINES if line[0] == "a"])

    # The ranks wait with their first slice until a worker has one. In its folder the works' names lead to a folder, to
    # another file or nowhere, so the records travel.
    def test_workers_elsewhere_take_slices(self):
        os.makedirs(self.path("elsewhere/a.txt"))
        self.write("elsewhere/b.txt", "x" * len(self.read("b.txt")))
        for number, cut in enumerate((["--lines", "-n", 30], ["--record-bytes", 1, "-n", 20], [])):
            bell, gate, worker_bell = self.bell(f"bell{number}"), self.gate(f"gate{number}"), self.bell(f"worker{number}")
            script = f"if [ $SLICE_RANK -lt 2 ]; then echo . > {bell.path}; read line < {gate.path}; fi; cat"
            run = self.start("--works", "list", "--contact", "c.json", "--stats", "s.h5", *cut, "--", "sh", "-c", script, ranks=2)
            bell.wait(2)
            workers = [self.start("--join", self.path("c.json"), "--wait", "5", "--", "sh", "-c", f"echo . > {worker_bell.path}; cat",
                                  cwd=self.path("elsewhere")) for _ in range(2)]
            worker_bell.wait(1)
            for _ in range(30):
                gate.open()
            for ended in (run, *workers):
                ended.wait()
            codes = sorted(worker.code for worker in workers)
            self.assertEqual((run.code, codes[0]), (0, 0), str(run))
            self.assertIn(codes[1], (0, 69))  # it may come when all is done
            out = [line for ended in (run, *workers) for line in ended.out.splitlines()]
            if cut[:1] == ["--record-bytes"]:  # cut amid lines
                self.assertEqual(sorted("".join(out)), sorted("".join(LINES)))
            else:
                self.assertEqual(sorted(out), sorted(LINES))
            self.assertFalse(os.path.exists(self.path("c.json")))
        audit = self.run_slices("--audit", "s.h5", ranks=0).out
        self.assertRegex(audit, "3 of 3 slices committed once, by 3 ranks")

    def test_a_worker_says_what_is_wrong(self):
        missing = self.run_to_end("--join", "none.json", "--wait", "0", "--", "cat", ranks=0, code=69)
        self.assertIn("work_queue_slices: none.json", missing.err)
        other = self.run_to_end("a.txt", "--join", "c.json", "--", "cat", ranks=0, code=64)
        self.assertIn("--join takes no works", other.err)

    def test_an_audit_of_a_run_in_two_parts(self):
        words = ["--no-shuffle", "--checkpoint", "c.h5", "--stats", "s.h5"]
        self.run_slices(*words, "--", "sh", "-c", "test $1 != b.txt", "-", "{}", ranks=0, code=1)
        self.run_slices(*words, "--", "true", ranks=2)
        audit = self.run_slices("--no-shuffle", "--audit", "s.h5.1", "--audit", "s.h5", ranks=0).out
        self.assertIn("3 of 3 slices committed once, by 2 ranks of 2 runs", audit)
        first = self.run_slices("--no-shuffle", "--audit", "s.h5.1", ranks=0, code=1).out
        self.assertIn("failed: epoch 0, b.txt", first)
        self.run_to_end("a.txt", "--stats", "other.h5", "--seed", 1, "--", "true", ranks=0)
        why = self.run_slices("--audit", "s.h5", "--audit", "other.h5", ranks=0, code=65).err
        self.assertIn("other.h5 is of another run: its seed is 1", why)

    def test_two_runs_do_not_save_to_one_checkpoint(self):
        bell, gate = self.bell(), self.gate()
        words = ["a.txt", "--checkpoint", "c.h5", "--"]
        first = self.start(*words, "sh", "-c", f"echo . > {bell.path}; read line < {gate.path}", ranks=0)
        bell.wait(1)
        second = self.run_to_end(*words, "true", ranks=2, code=75)
        self.assertIn("another run saves to c.h5", second.err)
        gate.open()
        self.assertEqual(first.wait(), 0, str(first))
        self.run_to_end(*words, "true", ranks=2)

    def test_bad_input_is_one_line(self):
        for words, code, text in [
                (["/none", "--", "true"], 65, "/none"),
                (["-n", 1000, "--lines", "--", "true"], 64, "1000"),
                (["--checkpoint", "list", "--", "true"], 65, "cannot restore list"),
                (["--wait", "3", "--", "true"], 64, "--wait"),
                (["--join", "", "--", "true"], 64, "--join"),
                (["--stats", "/none/s.h5", "--contact", "c.json", "--", "true"], 65, "/none/s.h5"),
                (["--contact", "/none/c.json", "--", "true"], 65, "/none/c.json")]:
            run = self.run_slices(*words, ranks=2 if {"list", "c.json"} & set(words) else 0, code=code)
            said = [line for line in run.err.splitlines() if line.startswith("work_queue_slices: ")]
            self.assertEqual(len([line for line in said if re.search(re.escape(text), line)]), 1, str(run))


if __name__ == "__main__":
    unittest.main(verbosity=2)
