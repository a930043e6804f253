#!/usr/bin/env python3
"""work_queue_run --listen: TCP workers beside ranks. WORKER is the program work_queue_worker."""

import json
import os
import signal
import stat
import subprocess
import time

import run_support as support
from run_support import Case

WORKER = os.environ["WORKER"]
STATUS = os.environ["STATUS"]


class Listening(Case):
    def worker(self, *words, env=None):
        """A worker, whose output goes to worker.N."""
        number = self.count_runs()
        environment = {**os.environ, support.MARK: self.mark, "TMPDIR": self.temporary, **(env or {})}
        with open(self.path(f"worker.{number}"), "wb") as out:
            process = subprocess.Popen([WORKER, *map(str, words)], stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                                       cwd=self.folder, env=environment, start_new_session=True)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def run_listening(self, tasks, *words, ranks=0, run_dir="r"):
        self.write("tasks.sh", tasks)
        run = self.start("--listen", "tasks.sh", "--run-dir", run_dir, *words, ranks=ranks)
        run.wait_for_text("listening on port")
        return run

    def check_complete(self, count, run_dir="r"):
        """Exactly one final success of each line."""
        finals = [record for record in self.journal(run_dir) if record["final"]]
        self.assertTrue(all(map(support.succeeded, finals)), finals)
        self.assertEqual(sorted(record["line"] for record in finals), list(range(1, count + 1)))
        return finals

    def test_a_worker_joins_by_the_contact_file(self):
        run = self.run_listening("".join(f"echo {n} >> here\n" for n in range(1, 201)), "--manager-only")
        contact = self.path("r/contact")
        self.assertEqual(stat.S_IMODE(os.stat(contact).st_mode), 0o600)
        described = json.loads(self.read("r/contact"))
        self.assertEqual(len(described["key"]), 64)
        self.assertIn("running: 0 succeeded, 0 failed, 0 running of ", self.run_to_end("--status", contact).out)
        worker = self.worker("--contact", contact, "--cores", 2, "--single-shot")
        self.assertEqual(run.wait(), 0, str(run))
        self.assertEqual(worker.wait(support.DEADLINE), 0)
        self.check_complete(200)
        self.assertEqual(len(self.lines("here")), 200, "tasks did not start where the run did")
        self.assertFalse(os.path.exists(contact), "the contact outlived its run")
        self.assertIn("finished, exit 0: 200 succeeded, 0 failed, 0 running of 200 | 100% |", self.run_to_end("--status", "r").out)
        told = json.loads(self.run_to_end("--status", "r", "--json").out)
        self.assertEqual((told["state"], told["tasks"]["succeeded"], told["seconds_left"]), ("finished", 200, None))
        self.run_to_end("--status", "nowhere", code=65)
        self.assert_nothing_left()

    def test_a_worker_finds_the_run_by_its_name(self):
        registry = {"WORK_QUEUE_REGISTRY": self.path("registry")}
        self.write("tasks.sh", "echo 1\necho 2\n")
        run = self.start("--listen", "--name", "align-7", "--manager-only", "tasks.sh", "--run-dir", "r", env=registry)
        run.wait_for_text("listening on port")
        worker = self.worker("-M", "align-[0-9]", "--single-shot", env=registry)
        self.assertEqual(run.wait(), 0, str(run))
        self.assertEqual(worker.wait(support.DEADLINE), 0)
        self.check_complete(2)
        self.assertEqual(os.listdir(self.path("registry")), [])

    def test_a_worker_joins_by_a_password(self):
        self.write("password", "one two three\n")
        self.write("other", "four\n")
        for name in ("password", "other"):
            os.chmod(self.path(name), 0o600)
        self.write("tasks.sh", "echo 1\necho 2\n")
        run = self.start("--listen", "--password", self.path("password"), "--manager-only", "tasks.sh", "--run-dir", "r")
        run.wait_for_text("listening on port")
        port = json.loads(self.read("r/contact"))["port"]
        stranger = self.worker("127.0.0.1", port, "--ssl", "--password", self.path("other"), "--single-shot")
        self.assertEqual(stranger.wait(support.DEADLINE), 77, str(stranger))
        worker = self.worker("127.0.0.1", port, "--ssl", "--password", self.path("password"), "--single-shot")
        self.assertEqual(run.wait(), 0, str(run))
        self.assertEqual(worker.wait(support.DEADLINE), 0)
        self.check_complete(2)
        self.assertIn("missing", self.run_to_end("--listen", "--password", self.path("missing"), "tasks.sh", "--run-dir", "s", code=65).err)

    def test_its_tables_are_shown(self):
        """Tasks by the number of their line; the run by its folder, its contact file or its name."""
        registry = {"WORK_QUEUE_REGISTRY": self.path("registry")}
        bell, gate = self.bell(), self.gate()
        self.write("tasks.sh", "#WQ category=odd\n\necho 1 > bell; read x < gate\ntrue\n")
        run = self.start("--listen", "--name", "shown", "--cores", 2, "--manager-only", "tasks.sh", "--run-dir", "r", env=registry)
        run.wait_for_text("listening on port")
        worker = self.worker("-M", "shown", "--cores", 2, "--single-shot", env=registry)
        bell.wait(1)

        def shown(*words):
            done = subprocess.run([STATUS, "--json", *words], capture_output=True, text=True, timeout=support.DEADLINE,
                                  cwd=self.folder, env={**os.environ, **registry}, check=False)
            self.assertEqual((done.returncode, done.stderr), (0, ""), words)
            return json.loads(done.stdout)

        running, waiting = shown("-T", "r")
        self.assertEqual((running["taskid"], running["state"], running["cores"]), (3, "RUNNING", 2))
        self.assertEqual((running["command"], running["category"]), ("echo 1 > bell; read x < gate", "odd"))
        self.assertEqual((waiting["taskid"], waiting["state"], waiting["command"]), (4, "WAITING", "true"))
        [row] = shown()
        self.assertEqual((row["project"], row["tasks_waiting"], row["tasks_running"], row["workers"]), ("shown", 1, 1, 1))
        for words in (["-M", "sho.*"], ["-Q", "r"], ["-Q", "--contact", "r/contact"]):
            self.assertEqual(shown(*words)[0]["port"], row["port"], words)
        [used] = shown("-W", "r")
        self.assertEqual((used["cores_inuse"], used["current_task_000_id"]), (2, 3))
        self.assertEqual([one["category"] for one in shown("-A", "r")][-2:], ["odd", "whole queue"])
        gate.open()
        self.assertEqual(run.wait(), 0, str(run))
        worker.wait(support.DEADLINE)

    def test_a_run_without_a_name_is_listed_by_its_directory(self):
        """Also without --listen; not when it has ended; and a registry that is no folder fails no run."""
        registry = {"WORK_QUEUE_REGISTRY": self.path("registry")}
        bell, gate = self.bell(), self.gate()
        self.write("tasks.sh", "echo 1 > bell; read x < gate\ntrue\n")

        def listed():
            done = subprocess.run([STATUS, "--json"], capture_output=True, text=True, timeout=support.DEADLINE, check=True,
                                  env={**os.environ, **registry})
            return [(run["type"], run["name"], run["tasks_waiting"]) for run in json.loads(done.stdout)]

        def wait_until_listed(runs):
            end = time.monotonic() + support.DEADLINE
            while (now := listed()) != runs:
                self.assertLess(time.monotonic(), end, now)

        run = self.start("tasks.sh", "--jobs", 1, "--run-dir", "r", env=registry)
        bell.wait(1)
        wait_until_listed([("wq_run", self.path("r"), 1)])
        gate.open()
        run.wait()
        self.assertEqual(listed(), [])
        self.assertEqual(os.listdir(self.path("registry")), [])
        self.write("no folder", "")
        self.write("true.sh", "true\n")
        self.run_to_end("true.sh", env={"WORK_QUEUE_REGISTRY": self.path("no folder")})

    def test_items_of_an_array_are_shown_by_their_index(self):
        run = self.start("--listen", "--array", "7-9", "--manager-only", "--run-dir", "r", "--", "true")
        run.wait_for_text("listening on port")
        done = subprocess.run([STATUS, "--json", "-T", self.path("r")], capture_output=True, text=True, timeout=support.DEADLINE, check=True)
        self.assertEqual([(task["taskid"], task["state"]) for task in json.loads(done.stdout)],
                         [(7, "WAITING"), (8, "WAITING"), (9, "WAITING")])
        self.worker("--contact", self.path("r/contact"), "--single-shot")
        self.assertEqual(run.wait(), 0, str(run))

    def test_workers_keep_the_output_that_the_run_wants(self):
        run = self.run_listening("head -c 5000 /dev/zero\n", "--manager-only", "--output-limit", "1000")
        self.worker("--contact", self.path("r/contact"), "--single-shot")
        self.assertEqual(run.wait(), 0, str(run))
        self.assertIn("4000 more bytes of stdout not kept; the limit is 1000 bytes", self.read("r/output.log"))

    def test_without_the_key_nobody_works(self):
        run = self.run_listening("echo 1\n", "--manager-only")
        described = json.loads(self.read("r/contact"))
        stranger = self.worker("--ssl", "127.0.0.1", described["port"], "--single-shot")
        self.assertEqual(stranger.wait(support.DEADLINE), 77)
        run.wait_for_text(" refused: ")
        worker = self.worker("--contact", self.path("r/contact"), "--single-shot")
        self.assertEqual(run.wait(), 0, str(run))
        self.assertEqual({record["worker"] for record in self.check_complete(1)}, {1})
        worker.wait(support.DEADLINE)

    def test_a_run_that_lost_its_ranks_goes_on_with_tcp_workers(self):
        bell, gate = self.bell(), self.gate()
        count = 40
        run = self.run_listening("".join(f"echo {n} > bell; [ -e go ] || read x < gate\n" for n in range(1, count + 1)),
                                 "--manager-only", ranks=2)
        bell.wait(1)
        os.kill(run.ranks()[1], signal.SIGKILL)
        run.wait_for_text("worker 1 ")
        self.write("go", "")
        for _ in range(count):
            gate.open()
        self.worker("--contact", self.path("r/contact"), "--cores", 2)
        self.assertEqual(run.wait(), 0, str(run))
        self.check_complete(count)

    def test_sealed_work_comes_back_for_a_tcp_worker_that_idles(self):
        """All tasks are in a batch of the ranks, whose cores wait at a gate, when the TCP worker joins."""
        bell, gate = self.bell(), self.gate()
        count = 400
        run = self.run_listening("echo $WORKERID > bell; [ -e go ] || read x < gate\n" * count, ranks=2)
        bell.wait(2)
        self.worker("--contact", self.path("r/contact"), "--cores", 2)
        bell.wait(1, word="2")  # ranks are 0 and 1
        self.write("go", "")
        for _ in range(count):
            gate.open()
        self.assertEqual(run.wait(), 0, str(run))
        self.assertIn(2, {record["worker"] for record in self.check_complete(count)})

    def test_a_port_in_use_is_named(self):
        run = self.run_listening("echo 1\n", "--manager-only")
        port = json.loads(self.read("r/contact"))["port"]
        second = self.run_to_end("--listen", port, "tasks.sh", "--run-dir", "r2", "--manager-only", code=None)
        self.assertIn(f"port {port}", second.err)
        self.assertEqual(second.code, 69, str(second))
        run.signal(signal.SIGTERM)
        self.assertEqual(run.wait(), 75, str(run))


if __name__ == "__main__":
    support.main()
