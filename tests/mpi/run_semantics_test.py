#!/usr/bin/env python3
"""The meaning of a task list, as its tasks see it: tags, environment lines, settings, sources, the environment."""

import os
import signal

import run_support as support
from run_support import Case


class Groups(Case):
    def order(self, text, *words, **how):
        """Runs the list, whose tasks append names to `order`; returns their positions."""
        self.write("tasks.sh", text)
        self.run_to_end("tasks.sh", *words, **how)
        return {name: place for place, name in enumerate(self.lines("order"))}

    def log(self, name, tags=""):
        return f"echo {name} >> order {tags}\n"

    def test_the_gpus_of_all_ranks_of_a_node_are_offered(self):
        """srun --gpus-per-task=1 gives each rank a different GPU, or the same number for different ones."""
        line = "#WQ gpus=1 cores=0\n" + "".join(f"echo {rank} $CUDA_VISIBLE_DEVICES >> seen #@{rank}\n" for rank in (0, 1))
        for number, names in enumerate((("5", "3"), ("0", "0"))):
            self.write(f"tasks{number}.sh", line.replace("seen", f"seen{number}"))
            commands = [["env", f"CUDA_VISIBLE_DEVICES={name}", "SLURM_GPUS_PER_TASK=1", f"SLURM_LOCALID={rank}",
                         support.PROGRAM, f"tasks{number}.sh"] for rank, name in enumerate(names)]
            run = self.start(commands=support.apart(*commands))
            run.wait()
            self.assertEqual(run.code, 0, str(run))
            self.assertEqual(sorted(self.lines(f"seen{number}")), [f"0 {names[0]}", f"1 {names[1]}"])

    def test_sequential_and_parallel(self):
        text = self.log("train", "#:m") + self.log("deploy", "#:m")
        text += "".join(self.log(f"test{n}", "#+m") for n in range(6)) + self.log("report", "#:m")
        for ranks in (0, 3):
            at = self.order(text, "--run-dir", f"r{ranks}", ranks=ranks)
            self.assertEqual(len(at), 9)
            self.assertLess(at["train"], at["deploy"])
            for test in range(6):
                self.assertLess(at["deploy"], at[f"test{test}"])
                self.assertLess(at[f"test{test}"], at["report"])
            os.unlink(self.path("order"))

    def test_parallel_members_do_not_wait_for_each_other(self):
        """They run together: each waits until the other has started."""
        text = "#WQ cores=0\ntrue #:m\necho 1 > a & cat b; wait #+m\necho 2 > b & cat a; wait #+m\n"
        os.mkfifo(self.path("a"))
        os.mkfifo(self.path("b"))
        self.write("tasks.sh", text)
        self.run_to_end("tasks.sh", ranks=2)

    def test_barriers(self):
        text = "".join(self.log(f"a{n}") for n in range(5)) + "#:\n" + "".join(self.log(f"b{n}") for n in range(5))
        text += self.log("alone", "#:") + "".join(self.log(f"c{n}") for n in range(5))
        at = self.order(text, ranks=2)
        self.assertEqual(len(at), 16)
        for first, second in (("a", "b"), ("b", "alone"), ("alone", "c")):
            last = max(place for name, place in at.items() if name.startswith(first) and name != "alone" or name == first)
            self.assertLess(last, min(place for name, place in at.items() if name.startswith(second) and (name != "alone" or second == "alone")))

    def test_two_groups_at_once(self):
        at = self.order(self.log("a", "#:x") + self.log("b", "#:y") + self.log("both", "#:x#:y") + self.log("c", "#:x") + self.log("d", "#:y"), ranks=2)
        self.assertLess(max(at["a"], at["b"]), at["both"])
        self.assertLess(at["both"], min(at["c"], at["d"]))

    def test_a_retry_that_succeeds_lets_the_group_go_on(self):
        self.write("tasks.sh", "#WQ retries=2\necho x >> tries; [ $(wc -l < tries) -ge 3 ] #:g\ntouch after #:g\n")
        self.run_to_end("tasks.sh")
        self.assertEqual(len(self.lines("tries")), 3)
        self.assertTrue(os.path.exists(self.path("after")))
        self.assertEqual([(r["attempt"], r["final"]) for r in self.journal("tasks.sh.wq") if r["line"] == 2],
                         [(1, False), (2, False), (3, True)])


class Workers(Case):
    def test_tasks_go_to_their_workers(self):
        self.write("tasks.sh", "".join(f"echo {n} $WORKERID >> where #@{n % 3}\n" for n in range(12)) +
                   "echo either $WORKERID >> where #@1#@2\n")
        self.run_to_end("tasks.sh", ranks=3)
        where = dict(line.split() for line in self.lines("where"))
        self.assertEqual(len(where), 13)
        self.assertIn(where.pop("either"), ("1", "2"))
        self.assertEqual(where, {str(n): str(n % 3) for n in range(12)})

    def test_no_more_than_the_batch_system_gave(self):
        """Of several nodes, only the one that the job's script runs on is used, and the user is told."""
        self.write("tasks.sh", "true\n")
        self.write("nodes", "node1\n")
        job = {"PBS_JOBID": "7.server", "NCPUS": "1", "PBS_NODEFILE": "nodes"}
        self.assertIn("\t1 core, ", self.run_to_end("tasks.sh", "--dry-run", env=job).out)
        of_several = "this run uses one of the 2 nodes of its job: start it with mpirun"
        self.assertNotIn(of_several, self.run_to_end("tasks.sh", env=job).err)
        self.write("nodes", "node1\nnode2\n")
        self.assertIn(of_several, self.run_to_end("tasks.sh", "--run-dir", "second", env=job).err)
        self.assertNotIn(of_several, self.run_to_end("tasks.sh", "--run-dir", "third", env=job, ranks=2).err)

    def test_environment_lines_of_some_workers(self):
        self.write("tasks.sh", "export A=all #!\nexport A=one #!#@1\n" +
                   "".join(f"echo $WORKERID $A >> where #@{n}\n" for n in range(3)))
        self.run_to_end("tasks.sh", ranks=3)
        self.assertEqual(sorted(self.lines("where")), ["0 all", "1 one", "2 all"])


class EnvironmentLines(Case):
    def test_everything_of_the_shell_is_seen(self):
        os.mkdir(self.path("sub"))
        self.write("tasks.sh", r"""
cd sub #!
plain=variable; export EXPORTED=exported #!
greet() { echo "hello $1 from $plain, $EXPORTED"; } #!
umask 027 #!
greet you > greeting; umask > mask; pwd > place
cd .. #!
pwd > place2; greet again > greeting2
""")
        self.run_to_end("tasks.sh")
        self.assertEqual(self.read("sub/greeting"), "hello you from variable, exported\n")
        self.assertEqual(self.read("sub/mask"), "0027\n")
        self.assertEqual(os.stat(self.path("sub/greeting")).st_mode & 0o777, 0o640)
        self.assertEqual(self.read("sub/place").strip(), os.path.realpath(self.path("sub")))
        self.assertEqual(self.read("place2").strip(), os.path.realpath(self.folder))
        self.assertEqual(self.read("greeting2"), "hello again from variable, exported\n")

    def test_a_task_changes_nothing_for_the_next(self):
        self.write("tasks.sh", "X=1 #!\nX=2; cd /; umask 0 #:g\necho $X $PWD > seen #:g\n")
        self.run_to_end("tasks.sh")
        self.assertEqual(self.read("seen"), f"1 {os.path.realpath(self.folder)}\n")

    def test_tasks_see_only_the_lines_above_them(self):
        """Also if an earlier task runs after a later one: here the retry of the first."""
        self.write("tasks.sh", "#WQ retries=1\nX=1 #!\necho $X >> a; [ -e b ]\nX=2 #!\necho $X > b #@0\n")
        self.run_to_end("tasks.sh", "--cores", "1", code=None)
        self.assertEqual(set(self.lines("a")), {"1"})
        self.assertEqual(self.lines("b"), ["2"])

    def test_each_line_is_run_once_by_each_worker(self):
        self.write("tasks.sh", "echo $WORKERID >> began #!\n" + "true\n" * 30)
        self.run_to_end("tasks.sh", ranks=2)
        began = self.lines("began")
        self.assertEqual(sorted(set(began)), sorted(began))

    def test_exit_ends_one_worker(self):
        gate = self.gate()  # until the others have seen it go
        self.write("tasks.sh", "exit #!#@1\n" + "".join(f"[ -e go ] || read x < gate; echo {n} $WORKERID >> ran\n" for n in range(20)))
        run = self.start("tasks.sh", ranks=3)
        run.wait_for_text("worker 1 ")
        self.write("go", "")
        for _ in range(20):
            gate.open()
        self.assertEqual(run.wait(), 0, str(run))
        ran = [line.split() for line in self.lines("ran")]
        self.assertEqual(sorted(int(n) for n, _ in ran), list(range(20)))
        self.assertNotIn("1", {worker for _, worker in ran})
        self.assertIn("worker 1 ", run.err)
        self.assert_nothing_left()

    def test_exit_ends_all_workers(self):
        self.write("tasks.sh", "touch before\n#:\nexit #!\ntouch after\n")
        for ranks in (0, 2):
            run = self.run_to_end("tasks.sh", "--run-dir", f"r{ranks}", ranks=ranks, code=69)
            self.assertIn("no worker is left", run.err)
            self.assertFalse(os.path.exists(self.path("after")))
            self.assertEqual(sum(map(support.succeeded, self.journal(f"r{ranks}"))), 1)
            self.assertEqual(self.status(f"r{ranks}")["exit_code"], "69")
            self.assert_nothing_left()
        self.write("tasks.sh", "touch before\ntouch after\n")
        self.run_to_end("tasks.sh", "--run-dir", "r0", "--resume")

    def test_a_line_that_fails_is_told(self):
        self.write("tasks.sh", "cd nowhere #!\ntouch ran\n")
        run = self.run_to_end("tasks.sh")
        self.assertRegex(run.err, "`cd nowhere #!` ended with 1: cd: ", "no name of a script that users do not have")
        self.assertIn("nowhere", run.err)
        self.assertIn("`#!` lines that failed (tasks below them ran anyway):\n  cd nowhere #!: exit 1 on 1 worker", run.out)


class Functions(Case):
    def test_exported_functions_are_commands(self):
        self.write("tasks.sh", "greet 1\n")
        self.run_to_end("tasks.sh", env={"BASH_FUNC_greet%%": "() {  echo hello $1 > greeting; }"})
        self.assertEqual(self.lines("greeting"), ["hello 1"])


class Settings(Case):
    def test_keys_hold_until_they_are_given_again(self):
        self.write("tasks.sh", "echo 1 $CORES >> seen #:g\n#WQ cores=2 memory=200M category=big\necho 2 $CORES $MEMORY >> seen #:g\n"
                   "#WQ cores=1\necho 3 $CORES $MEMORY >> seen #:g\n#WQ memory= category=\necho 4 $CORES >> seen #:g\n")
        self.run_to_end("tasks.sh", code=None)
        seen = {line.split()[0]: line.split()[1:] for line in self.lines("seen")}
        if os.cpu_count() > 1:
            self.assertEqual(seen["2"], ["2", "200"])
            self.assertEqual(seen["3"], ["1", "200"])

    def test_a_time_limit(self):
        self.write("tasks.sh", "#WQ time=0.3\nsleep 1000 & sleep 1000\n#WQ time=\ntrue\n")
        run = self.run_to_end("tasks.sh", code=1)
        self.assertIn("timed out", run.out)
        self.assert_nothing_left()
        run = self.run_to_end("--timeout", "0.2", "--array", "1", "--", "sleep", "1000", code=1)
        self.assertIn("timed out", run.out)

    def test_a_memory_limit(self):
        self.write("tasks.sh", "#WQ memory=60M\npython3 -c 'x = bytearray(400 << 20); input()' < gate\n#WQ memory=\ntrue\n")
        self.gate()
        run = self.run_to_end("tasks.sh", code=1)
        self.assertIn("memory", run.out)
        self.assertEqual([r["ending"] for r in self.journal("tasks.sh.wq") if r["line"] == 2], ["out_of_memory"])

    def test_halt_on_failure(self):
        gate, bell = self.gate(), self.bell()
        self.write("tasks.sh", "#WQ cores=0\necho up > bell; read x < gate\nread x < gate; false\ntouch never #:\n")
        run = self.start("--halt-on-failure", "tasks.sh")
        bell.wait()
        gate.open()
        gate.open()
        self.assertEqual(run.wait(), 1, str(run))
        self.assertFalse(os.path.exists(self.path("never")))
        self.assert_nothing_left()

    def test_a_run_that_halted_says_so_later(self):
        gate, bell = self.gate(), self.bell()  # the whole list is read before it fails
        self.gate("never")
        self.write("tasks.sh", "#WQ cores=0\nread x < gate; false\necho up > bell\nread x < never #:g\ntrue #:g\n")
        run = self.start("--halt-on-failure", "tasks.sh")
        bell.wait()
        gate.open()
        self.assertEqual(run.wait(), 1, str(run))
        status = self.status("tasks.sh.wq")
        self.assertEqual((status["state"], status["message"]), ("failed", "halted at the first failure"))
        why = self.run_to_end("--why", 5, "tasks.sh")
        self.assertIn("not run: the run was stopped: halted at the first failure", why.out)


class Sources(Case):
    def test_each(self):
        values = ["plain", "with blank", "quote's", "$HOME", "a;b", "*", "last"]
        self.write("values", "\n".join(values))
        self.run_to_end("--each", "values", "--", "printf", "%s %s\\n", "$X{}", "{}")
        for rest in (["--", "echo", "{}", ">>", "seen"], ["--", "echo {} >> seen"]):
            self.run_to_end("--run-dir", f"r{len(rest)}", "--each", "values", *rest)
        self.assertEqual(sorted(self.lines("seen")), sorted(values))

    def test_each_from_a_stream(self):
        reader, writer = os.pipe()
        bell = self.bell()
        run = self.start("--each", "-", "--run-dir", "r", "--", "echo {} > bell", stdin=reader)
        os.close(reader)
        os.write(writer, b"one\n")
        bell.wait(word="one")
        os.write(writer, b"two\nthree")
        os.close(writer)
        self.assertEqual(run.wait(), 0, str(run))
        bell.wait(3)
        self.assertEqual(sorted(bell.rung), ["one", "three", "two"])

    def test_each_run_of_a_stream_has_a_directory_of_its_own(self):
        for name in ("stdin.wq", "stdin.wq-2"):
            reader, writer = os.pipe()
            os.write(writer, b"one\ntwo\n")
            os.close(writer)
            run = self.run_to_end("--each", "-", "--", "echo", "{}", stdin=reader)
            os.close(reader)
            self.assertIn(f"Results and statistics: {name}\n", run.out)

    def test_at_most_n_run_at_once(self):
        """Also on ranks, which take tasks without asking where that is not limited."""
        self.write("tasks.sh", 100 * "mkdir alone && rmdir alone\n")
        self.run_to_end("--jobs", "1", "tasks.sh", ranks=2)

    def test_a_list_from_a_stream_starts_before_its_end(self):
        for ranks in (0, 2):
            reader, writer = os.pipe()
            bell = self.bell(f"bell{ranks}")
            run = self.start("-", "--run-dir", f"r{ranks}", stdin=reader, ranks=ranks)
            os.close(reader)
            for turn in range(3):
                os.write(writer, f"echo {turn} > bell{ranks}\n".encode())
                bell.wait(word=str(turn))
            os.close(writer)
            self.assertEqual(run.wait(), 0, str(run))
            self.assertEqual(len(self.journal(f"r{ranks}")), 3)

    def test_array(self):
        self.run_to_end("--array", "1-9:4,100,7", "--", "echo {} $WORK_QUEUE_TASK_INDEX >> seen")
        self.assertEqual(sorted(self.lines("seen")), sorted(f"{n} {n}" for n in (1, 5, 9, 100, 7)))

    def test_the_index_under_another_name(self):
        self.write("values", "a\nb\n")
        for ranks in (0, 2):
            self.run_to_end("--run-dir", f"a{ranks}", "--index-variable", "SLURM_ARRAY_TASK_ID", "--array", "3-5", "--",
                            "echo $SLURM_ARRAY_TASK_ID $WORK_QUEUE_TASK_INDEX {} >> array", ranks=ranks)
            self.run_to_end("--run-dir", f"e{ranks}", "--index-variable", "SLURM_ARRAY_TASK_ID", "--each", "values", "--",
                            "echo $SLURM_ARRAY_TASK_ID $WORK_QUEUE_TASK_INDEX {} >> each", ranks=ranks)
        self.assertEqual(sorted(self.lines("array")), sorted(2 * ["3 3 3", "4 4 4", "5 5 5"]))
        self.assertEqual(sorted(self.lines("each")), sorted(2 * ["1 1 a", "2 2 b"]))

    def peak_memory(self, run):
        """Of rank 0, in kB."""
        with open(f"/proc/{run.process.pid}/status", encoding="ascii") as file:
            return next(int(line.split()[1]) for line in file if line.startswith("VmHWM"))

    def stop_after(self, ring, count, *words):
        """Ends a run when `count` more tasks have begun; its peak memory."""
        run = self.start("--grace", "0", *words)
        ring.wait(len(ring.rung) + count)
        peak = self.peak_memory(run)
        run.signal(signal.SIGTERM)
        self.assertEqual(run.wait(), 75, str(run))
        ring.take(0)
        return peak

    def test_a_huge_array_takes_no_memory_and_goes_on(self):
        self.gate()
        ring = self.bell()
        few = self.stop_after(ring, 1, "--run-dir", "few", "--array", "1-10", "--", "echo {} > bell; read x < gate")
        huge = ("--run-dir", "huge", "--array", "1-100000000", "--", "echo {} > bell")
        many = self.stop_after(ring, 300, *huge)
        print(f"peak memory of rank 0: {few} kB with 10 tasks, {many} kB with 10^8 and 300 results")
        # Sanitizers, whose patience is 4 or more, keep freed memory for a while.
        self.assertLess(many - few, 20_000 if int(os.environ.get("WQ_PATIENCE", "1")) < 4 else 80_000)
        first = len(self.journal("huge"))
        self.stop_after(ring, 300, "--resume", *huge)
        keys = [record["key"] for record in self.journal("huge") if support.succeeded(record)]
        self.assertEqual(len(keys), len(set(keys)), "a task that had ended was run again")
        self.assertGreater(len(keys), first)


class TaskEnvironment(Case):
    def test_of_mpi_only_the_users_settings_are_inherited(self):
        users = {f"{name}={value}" for name, value in os.environ.items()}
        # The last two are of these tests, and of --oversubscribe.
        ours = ("OMPI_MCA_ras=^slurm", "OMPI_MCA_plm=^slurm", "OMPI_MCA_orte_default_hostfile=", "OMPI_MCA_hwloc_base_binding_policy=none",
                "PRTE_MCA_ras=^slurm", "PRTE_MCA_plm=^slurm", "PRTE_MCA_prte_default_hostfile=", "PRTE_MCA_hwloc_default_binding_policy=none",
                "OMPI_MCA_btl_vader_backing_directory=", "OMPI_MCA_rmaps_base_oversubscribe=")
        self.write("tasks.sh", "env > seen.plain\nenv | cat > seen.shell\n")
        self.run_to_end("tasks.sh", ranks=2, env={"KEPT": "yes"})
        for name in ("seen.plain", "seen.shell"):
            text = self.read(name)
            self.assertIn("KEPT=yes\n", text)
            of_mpi = [line for line in text.splitlines() if line.startswith(("OMPI_", "PMIX_", "PMI_", "OPAL_", "PRTE_"))]
            self.assertEqual([line for line in of_mpi if line not in users and not line.startswith(ours)], [])
            self.assertIn("OMPI_MCA_reachable=weighted", of_mpi)
            self.assertIn("OMP_NUM_THREADS=1\n", text)

    def test_a_task_has_a_temporary_folder_of_its_own(self):
        self.write("tasks.sh", "touch $TMPDIR/mine; echo $TMPDIR >> folders; ls $TMPDIR >> content\n" * 4)
        self.run_to_end("tasks.sh")
        folders = self.lines("folders")
        self.assertEqual(self.lines("content"), ["mine"] * 4)
        for folder in folders:
            self.assertFalse(os.path.exists(folder))

    def test_stdin_is_empty(self):
        self.write("tasks.sh", "cat > seen\n")
        reader, writer = os.pipe()
        self.run_to_end("tasks.sh", stdin=reader)
        os.close(reader)
        os.close(writer)
        self.assertEqual(self.read("seen"), "")


if __name__ == "__main__":
    support.main()
