"""work_queue_factory as a process: it grows and shrinks with the work, is killed, is told anew, and says what is wrong."""

import json
import os
import random
import re
import signal
import time

from tcp_support import DEADLINE, TcpCase, main
from run_support import wait_for_end

FACTORY, RUN = os.environ["FACTORY"], os.environ["RUN"]


class FactoryCase(TcpCase):
    def factory(self, *words, batch="local", scratch="jobs", place=None, cycle="0.1", **how):
        place = ["--contact", self.path("contact")] if place is None else place
        return self.start(commands=[FACTORY, "-T", batch, "-S", self.path(scratch), "--cycle", cycle, "--status-interval", "0.2",
                                    *place, *map(str, words)], **how)

    def logs(self, scratch="jobs"):
        return [name for name in os.listdir(self.path(scratch)) if re.fullmatch(r"wqWorker-\w{6}\..*\.log", name)]

    def waiting_tasks(self, count):
        """Tasks that ring, and end when the gate opens."""
        self.began = self.bell("began")
        self.door = self.gate("gate")
        return [f"echo began > {self.began.path}; read x < {self.door.path}"] * count

    def stop(self, factory):
        factory.signal(signal.SIGTERM)
        self.assertEqual(factory.wait(), 0, str(factory))


class Grows(FactoryCase):
    def test_with_the_work_and_shrinks(self):
        manager = self.manager(self.waiting_tasks(6))
        factory = self.factory("-w", 0, "-W", 3, "--cores", 1, "-t", 1, "--json")
        self.began.wait(3)
        factory.wait_for_text('"workers_connected":3')
        self.assertEqual(len(self.logs()), 3)
        for _ in range(6):
            self.door.open()
        self.assertEqual(manager.wait(), 0, str(manager))
        self.assertEqual(self.done(), {n: 1 for n in range(1, 7)})
        self.stop(factory)
        lines = [json.loads(line) for line in factory.out.splitlines()]
        self.assertLessEqual(max(line["workers_connected"] + line["workers_starting"] + line["workers_pending"] for line in lines), 3)
        self.assertEqual(sum(line["submitted"] for line in lines), 3)
        self.assertEqual(lines[0]["workers_wanted"], 3)
        self.assert_nothing_left()

    def test_its_end_takes_its_workers_with_it(self):
        self.manager(self.waiting_tasks(2))
        factory = self.factory("-w", 0, "-W", 2, "--cores", 1)
        self.began.wait(2)
        self.stop(factory)
        self.assertIn("removing 2 jobs", factory.err)
        worker = self.worker("--single-shot", "--cores", 2)  # the tasks were given back
        self.began.wait(4)
        self.door.open()
        self.door.open()
        self.assertEqual(worker.wait(), 0, str(worker))
        self.assert_nothing_left()

    def test_killed_at_random_moments_it_submits_nothing_twice(self):
        self.manager(self.waiting_tasks(3))
        chance = random.Random(5)
        words = ["-w", 0, "-W", 3, "--cores", 1, "--workers-per-cycle", 0]
        for _ in range(12):
            factory = self.factory(*words, env={"WORKERS_PATIENCE": "1"})  # what is in doubt is settled after 23 s
            factory.wait_at_most(chance.uniform(0, 0.4))
            factory.kill()
        factory = self.factory(*words, env={"WORKERS_PATIENCE": "1"})  # what is in doubt is settled after 23 s
        self.began.wait(3)
        factory.wait_for_text("workers 3 connected")
        self.stop(factory)
        self.assertEqual(len(self.logs()), 3)
        self.assertEqual(self.began.settle(), 3)
        self.kill_what_is_left()

    def test_all_managers_of_a_name(self):
        registry = {"WORK_QUEUE_REGISTRY": self.path("registry")}
        self.write("list", self.waiting_tasks(1)[0] + "\n")
        managers = [self.start(commands=[RUN, "--listen", "--manager-only", "--name", f"sims {n}", "--run-dir", self.path(f"run{n}"), "list"],
                               env=registry) for n in range(3)]
        for manager in managers:
            manager.wait_for_text("listening")
        factory = self.factory("-w", 0, "--cores", 1, "-t", 2, place=["-M", "sims [12]"], env=registry)
        self.began.wait(2)
        factory.wait_for_text("tasks 0 waiting, 2 on workers")
        self.door.open()
        self.door.open()
        for manager in managers[1:]:
            self.assertEqual(manager.wait(), 0, str(manager))
        self.stop(factory)
        self.kill_what_is_left()

    def run_of_list(self, *words):
        run = self.start(commands=[RUN, "--listen", "--manager-only", "--run-dir", self.path("run"), *words, "list"])
        run.wait_for_text("listening")
        return run

    def test_workers_of_a_contact_file_leave_with_a_run_that_is_over(self):
        self.write("list", self.waiting_tasks(1)[0] + "\n")
        run = self.run_of_list("--grace", "0")
        worker = self.worker("--cores", 1, "--grace", 0, contact="run/contact")
        self.began.wait(1)
        run.signal(signal.SIGTERM)
        self.assertEqual(run.wait(), 75, str(run))
        worker.wait_for_text("looking for another manager")
        run = self.run_of_list("--resume")
        self.began.wait(2)
        self.door.open()
        self.assertEqual((run.wait(), worker.wait()), (0, 0), str(worker))
        self.assertIn("run/contact: its run has ended", str(worker))
        late = self.worker(contact="run/contact")
        self.assertEqual(late.wait(), 69, str(late))
        self.assert_nothing_left()

    def test_it_notices_the_end_of_a_run_and_changed_settings_at_once(self):
        self.write("list", self.waiting_tasks(1)[0] + "\n")
        self.write("few", '{"max-workers": 0}')
        run = self.run_of_list()
        factory = self.factory("-C", "few", "-w", 1, "--cores", 1, cycle="1h", place=["--contact", self.path("run/contact")])
        factory.wait_for_text("wanted 0")
        self.write("few", '{"max-workers": 1, "min-workers": 1}')
        factory.wait_for_text("wanted 1; submitted 1")
        self.began.wait(1)
        self.door.open()
        self.assertEqual(run.wait(), 0, str(run))
        factory.wait_for_text("the run has ended; ")
        self.stop(factory)
        self.kill_what_is_left()


GUIDE = open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "share", "doc", "cluster.md"), encoding="utf-8").read()
OURS = re.search(r"```sh\n(#!/bin/sh\n.*?)```", GUIDE, re.DOTALL)[1]  # a driver


class Systems(FactoryCase):
    def driver(self, text):
        os.chmod(self.path(self.write("ours", text)), 0o755)
        os.mkdir(self.path("queue"))
        return {"batch": self.path("ours"), "env": {"OUR_QUEUE": self.path("queue")}}

    def test_one_of_our_own_is_one_file(self):
        manager = self.manager(self.waiting_tasks(2))
        factory = self.factory("-w", 0, "-W", 2, "--cores", 1, "--json", **self.driver(OURS))
        self.began.wait(2)
        factory.wait_for_text('"workers_connected":2,"workers_starting":0')
        self.door.open()
        self.door.open()
        self.assertEqual(manager.wait(), 0, str(manager))
        self.stop(factory)
        self.assert_nothing_left()

    def test_one_that_refuses_is_left_alone_for_a_while(self):
        self.manager(["true"])
        factory = self.factory("-W", 2, **self.driver(OURS.replace("submit() {", "submit() {\n    echo queue is full >&2\n    return 1")))
        factory.wait_for_text("none submitted: queue is full; again in ")
        self.stop(factory)
        self.assertEqual(os.listdir(self.path("queue")), [])
        self.kill_what_is_left()

    def test_a_run_says_why_it_does_not_grow(self):
        driver = self.driver(OURS.replace("submit() {", "submit() {\n    echo queue is full >&2\n    return 1"))
        run = [RUN, "--run-dir", self.path("run")]
        manager = self.start(commands=[*run, "--manager-only", "--grow", f"{driver['batch']}:2", "--grow-options", "--cycle 0.1", "--progress",
                                       "always", self.path(self.write("list", "true\n"))], env=driver["env"])
        manager.wait_for_text("factory: nothing was submitted: queue is full")
        manager.wait_for_text(" | 0 workers | none submitted: queue is full")
        asked = self.start(commands=[*run, "--why", "1"])
        self.assertEqual(asked.wait(), 0, str(asked))
        self.assertIn("task 1: not now: no worker is connected; none submitted: queue is full", asked.out)
        manager.signal(signal.SIGTERM)
        self.assertEqual(manager.wait(), 75, str(manager))
        self.kill_what_is_left()

    def test_one_that_is_killed_after_it_has_submitted(self):
        self.manager(self.waiting_tasks(2))
        submitted = '        echo "$id"\n    done'
        driver = self.driver(OURS.replace(submitted, submitted + '\n    [ -e "$OUR_QUEUE/died" ] || { : >"$OUR_QUEUE/died" && kill -KILL $$; }'))
        factory = self.factory("-w", 0, "-W", 2, "--cores", 1, "--workers-per-cycle", 0, **driver)
        self.began.wait(2)
        factory.wait_for_text("whether the workers were submitted is unknown")
        factory.wait_for_text("workers 2 connected, 0 starting, 2 pending")  # in doubt, and so not submitted again
        self.stop(factory)
        self.assertEqual(len(self.logs()), 2)
        for job in os.listdir(self.path("queue")):
            self.assertTrue(job == "died" or wait_for_end(int(self.read(f"queue/{job}")), time.monotonic() + DEADLINE), job)
        self.kill_what_is_left()

    def test_one_that_prints_garbage(self):
        self.manager(["true"])
        driver = self.driver(OURS.replace('echo "$id running"', 'echo "fine, thanks"'))
        factory = self.factory("-W", 2, "--cores", 1, "--worker-start-cmd", f"read x < {self.gate('held').path}", **driver)
        factory.wait_for_text("status printed text that a driver must not print: 'fine, thanks'")
        self.stop(factory)
        self.kill_what_is_left()

    def test_a_dry_run(self):
        shown = self.run_to_end(commands=[FACTORY, "-T", "slurm", "-S", self.path("it's"), "--cores", "4", "--memory", "8G", "--env", "A=it's",
                                          "--factory-name", "mine", "-B", "--qos=x", "login1", "9123", "--dry-run", "--", "--comment", "a b"])
        for text in ("export A='it'\\''s'", "--from-factory mine", "--timeout 300", "login1 9123", "--cores 4", "--memory 8192",
                     "--cpus-per-task=4 --mem=8192M", "--qos=x --comment 'a b'"):
            self.assertIn(text, shown.out)
        self.assertFalse(os.path.exists(self.path("it's")))
        # Options of other systems are ignored, as CCTools' factory does.
        others = ["--autosize", "--condor-requirements", "x == 1", "--k8s-image", "debian", "-P", self.write("password", "a password")]
        os.chmod(self.path("password"), 0o644)
        shown = self.run_to_end(commands=[FACTORY, "-T", "sge", *others, "login1", "9123", "--dry-run"])
        self.assertIn("qsub ", shown.out)
        self.assertIn("others may read it", shown.err)
        self.assertIn("== command\n", self.run_to_end(commands=[FACTORY, "-T", "local", "-B", "-q x", *others, "login1", "9123", "--dry-run"]).out)
        self.assertIn("\n+Group = 5\n", self.run_to_end(commands=[FACTORY, "-T", "condor", "-B", "+Group = 5", *others, "login1", "9123", "--dry-run"]).out)


class Settings(FactoryCase):
    def test_of_the_guide(self):
        self.write("factory.json", re.search(r"```\n(\{\n.*?)```", GUIDE, re.DOTALL)[1])
        shown = self.run_to_end(commands=[FACTORY, "-T", "slurm", "-C", "factory.json", "login1", "9123", "--dry-run"])
        self.assertIn("--cores 4 --memory 16000 --disk 10000", shown.out)

    def test_of_a_file_that_changes(self):
        self.manager(self.waiting_tasks(1))
        self.write("settings", json.dumps({"min-workers": 1, "max-workers": 9, "cores": "max-workers/9"}))
        factory = self.factory("-C", self.path("settings"))
        factory.wait_for_text("workers 1 connected")
        self.write("next", '{"min-workers": 2, "max-workers": 9, "cores": 1')
        os.rename(self.path("next"), self.path("settings"))
        factory.wait_for_text("settings: it is not valid JSON: line 1, at its end; the settings stay as they were")
        self.write("next", '{"min-workers": 2, "max-workers": 9, "cores": 1}')
        os.rename(self.path("next"), self.path("settings"))
        factory.wait_for_text("settings has changed and is in use")
        factory.wait_for_text("workers 2 connected")
        self.stop(factory)
        self.kill_what_is_left()

    def test_workers_that_fail_to_start(self):
        self.manager(["true"])
        factory = self.factory("-w", 3, "-W", 3, "--worker-start-cmd", "echo no module of this name >&2; false")
        factory.wait_for_text("3 workers in a row failed to start")
        factory.wait_for_text("| no module of this name")
        factory.wait_for_text(" workers in a row failed to start; again in ")
        self.stop(factory)
        self.assertIn(len(self.logs()), (3, 4, 5), "the first two may be replaced before the third fails")
        self.kill_what_is_left()

    def test_one_factory_a_folder(self):
        self.manager(["true"])
        first = self.factory("-w", 0, "-W", 0)
        first.wait_for_text("wanted 0")
        second = self.factory()
        self.assertEqual(second.wait(), 77, str(second))
        self.assertRegex(second.err, rf"another factory \(process {first.process.pid} on \S+\) uses .*jobs; choose another folder with --scratch-dir DIR")
        self.stop(first)
        self.kill_what_is_left()

    def test_what_is_wrong_is_one_line(self):
        self.write("bad", '{"max-workers": "cores*"}')
        self.write("nameless", "{}")
        self.write("named", '{"manager-name": "a"}')
        for words, code, why in (
                (["h", "1"], 64, "name the batch system"),
                (["-T", "none", "h", "1"], 64, "-T 'none': there are condor, dryrun, local, lsf, pbs, slurm, torque, uge"),
                (["-T", "moab", "h", "1"], 64, "-T moab is not supported: use the system below Moab"),
                (["-T", "local", "--runos", "debian", "h", "1"], 64, "--runos: run the worker in an image by wrapper"),
                (["-T", "local", "-C", "/dev/zero", "h", "1"], 65, "/dev/zero is not a regular file"),
                (["-T", "local", "-C", "a\nb", "h", "1"], 65, "a\\x0ab"),
                (["-T", "slurm", "-B", "-q\nx", "h", "1"], 64, "--batch-options: a line break is in it"),
                (["-T", "./none", "h", "1"], 64, "'./none' cannot be executed"), (["-T", "local"], 64, "name the managers in one way"),
                (["-T", "local", "-M", "a", "h", "1"], 64, "name the managers in one way"), (["-T", "local", "-M", "("], 64, "-M: "),
                (["-T", "local", "h", "0"], 64, "PORT: "), (["-T", "local", "h"], 64, "give HOST and PORT of the manager"),
                (["-T", "local", "h", "1", "-w", "5", "-W", "4"], 64, "--min-workers 5 is above --max-workers 4"),
                (["-T", "local", "h", "1", "-W", "many"], 64, "--max-workers: "), (["-T", "local", "h", "1", "--env", "A"], 64, "--env 'A': not NAME=VALUE"),
                (["-T", "local", "h", "1", "--mx-workers", "4"], 64, "did you mean --max-workers?"),
                (["-T", "local", "h", "1", "-F", "f"], 64, "there are no foremen"),
                (["-T", "local", "-C", "named", "h", "1"], 65, "named: manager-name: the command line names the manager already"),
                (["-T", "local", "h", "1", "--factory-name", "a b"], 64, "factory-name 'a b': up to 200 characters without blanks"),
                (["-T", "local", "-C", "none"], 65, "none"),
                (["-T", "local", "-C", "bad", "h", "1"], 65, "bad: max-workers: 'cores*': there is no number 'cores'"),
                (["-T", "local", "-C", "nameless"], 64, "nameless names no manager-name"),
                (["-T", "local", "h", "1", "-S", "/proc/none"], 77, "cannot use the folder /proc/none: ")):
            said = self.start(commands=[FACTORY, *words])
            self.assertEqual(said.wait(), code, str(said))
            self.assertEqual((said.out, said.err.count("\n")), ("", 1), str(said))
            self.assertIn(why, said.err)

    def test_a_run_that_cannot_grow_does_not_begin(self):
        self.write("list", "true\n")
        for words, why in ((["--grow", "none:3"], "-T 'none': there are "), (["--grow", "local:3", "--grow-options", "--core 2"], "did you mean --cores?"),
                           (["--grow", "slurm:3", "--grow-options", "--runos x"], "--runos: run the worker in an image")):
            said = self.start(commands=[RUN, *words, "list"])
            self.assertEqual(said.wait(), 64, str(said))
            self.assertEqual((said.out, said.err.count("\n")), ("", 1), str(said))
            self.assertIn(why, said.err)
            self.assertFalse(os.path.exists(self.path("list.wq")))

    def test_without_a_manager_it_ends_in_time(self):
        factory = self.factory("-w", 0, "--factory-timeout", "0.5")
        self.assertEqual(factory.wait(), 0, str(factory))
        self.assertIn("no manager had a task for 0.50s", factory.err)


if __name__ == "__main__":
    main()
