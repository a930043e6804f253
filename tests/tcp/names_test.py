"""Workers find managers by name over a real catalog_server. Its records are sent by hand: so that some are forged."""

import json
import os
import pathlib
import re
import signal
import socket
import sys
import time

from tcp_support import DEADLINE, TcpCase, main

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "catalog"))

from catalog_support import Server  # noqa: E402

MESSAGES = pathlib.Path(__file__).parent.parent.parent / "src/net/messages/messages.h"
WIRE = "work_queue/" + re.search(r"protocol_version = (\d+)", MESSAGES.read_text())[1]


class NamesCase(TcpCase):
    def setUp(self):
        super().setUp()
        os.mkdir(self.path("catalog"))
        self.registry = {"WORK_QUEUE_REGISTRY": self.path("registry"), "CATALOG_HOST": "", "WORK_QUEUE_NAME": ""}
        self.server = Server(self)

    def port(self, contact="contact"):
        return json.loads(self.read(contact))["port"]

    def announce(self, port, project="align", **members):
        """A record of a manager on this host; the server sets its address, and closes when it has the record."""
        record = {"type": "wq_master", "project": project, "port": port, "name": socket.gethostname(), "wire": WIRE, "tasks_waiting": 1, **members}
        self.server.send_tcp(json.dumps({name: value for name, value in record.items() if value is not None}).encode())

    def named(self, *words, catalog=True, single_shot=True, env=None, **how):
        where = ["-M", "align", *(["-C", self.server.host] if catalog else [])]
        end = ["--single-shot"] if single_shot else []
        return self.worker(*where, "-i", "0.1", "-b", "0.2", *end, *words, contact=None, env={**self.registry, **(env or {})}, **how)

    def closed_port(self):
        """One where nobody listens, nor can, until the test ends."""
        taken = socket.socket()
        self.addCleanup(taken.close)
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]

    def enter(self, port, project="align"):
        """An entry of the registry, of an open manager on another host."""
        os.makedirs(self.path("registry"), mode=0o700, exist_ok=True)
        contact = json.loads(self.read("contact"))
        contact.update(addresses=["127.0.0.1"], port=port, name=project, host="another")
        contact.pop("key", None)
        self.write(f"registry/{project}-{port}.manager", json.dumps({"contact": contact, "waiting": 1, "workers": 0}))
        os.chmod(self.path(f"registry/{project}-{port}.manager"), 0o600)


class Workers(NamesCase):
    def test_a_worker_joins_by_name_alone(self):
        manager = self.manager(["true", "true"], "--no-key")
        self.announce(self.port())
        worker = self.named()
        self.assertEqual(worker.wait(), 0, str(worker))
        self.assertEqual(manager.wait(), 0, str(manager))
        self.assertEqual(worker.err.count("anyone may announce 'align'"), 1, worker.err)

    def test_by_the_environment_alone(self):
        manager = self.manager(["true"], "--no-key")
        self.announce(self.port())
        found_by = {"CATALOG_HOST": f"127.0.0.1:1,{self.server.host}", "WORK_QUEUE_NAME": "al.*"}
        worker = self.start("--single-shot", "-t", 60, "-b", 1, env={**self.registry, **found_by})
        self.assertEqual(worker.wait(), 0, str(worker))
        self.assertEqual(manager.wait(), 0, str(manager))

    def test_forged_records_beside_a_good_one(self):
        good = self.manager(["true", "true"], "--no-key")
        self.manager(["true"], run_dir="other", contact="others")  # it has a key
        self.announce(self.port())
        for port in (self.closed_port(), self.port("others")):
            self.announce(port, tasks_waiting=1000, priority=9)
        for bad in ({"name": "a b"}, {"network_interfaces": [{"address": "no address"}]}, {"port": -7}, {"project": "align\n"}):
            self.server.send_tcp(json.dumps({"type": "wq_master", "project": "align", "port": 9, "wire": WIRE, "tasks_waiting": 9000,
                                             "priority": 10, "uuid": str(bad), **bad}).encode())
        worker = self.named()
        self.assertEqual(worker.wait(), 0, str(worker))
        self.assertEqual(good.wait(), 0, str(good))

    def test_a_manager_of_another_version_that_lies_ends_no_worker(self):
        """It accepts the connection, and refuses the worker's first message."""
        good = self.manager(["true"], "--no-key")
        from worker_test import OtherRelease
        liar = OtherRelease(self.port(), 2, 4, 99)
        self.addCleanup(liar.close)
        self.announce(liar.port, tasks_waiting=1000, priority=9)
        worker = self.named()
        worker.wait_for_text("refused this worker")
        self.announce(self.port())
        self.assertEqual(worker.wait(), 0, str(worker))
        self.assertEqual(good.wait(), 0, str(good))

    def test_managers_of_cctools_and_of_other_versions_are_skipped(self):
        self.announce(self.closed_port(), wire=None)
        self.announce(self.closed_port(), wire="work_queue/1")
        worker = self.named("--connect-timeout", "5")
        self.assertEqual(worker.wait(), 69, str(worker))
        self.assertEqual(worker.err.count("1 manager of CCTools matches; our workers cannot serve it"), 1, worker.err)
        self.assertEqual(worker.err.count(f"1 manager of another version is skipped: work_queue/1, and this is {WIRE}"), 1, worker.err)
        self.assertIn(f"or on the catalog server {self.server.host} has a whole name that matches 'align'", worker.out)

    def test_a_key_is_needed(self):
        manager = self.manager(["true"])
        self.announce(self.port())
        refused = self.named("--connect-timeout", "6")
        self.assertEqual(refused.wait(), 77, str(refused))
        self.assertRegex(refused.err, "(?s)--contact FILE.*--password FILE")
        self.write("password", bytes.fromhex(json.loads(self.read("contact"))["key"]))
        os.chmod(self.path("password"), 0o600)
        worker = self.named("--password", self.path("password"), env={"WORK_QUEUE_REQUIRE_KEY": "1"})
        self.assertEqual(worker.wait(), 0, str(worker))
        self.assertNotIn("anyone may announce", worker.err)
        self.assertEqual(manager.wait(), 0, str(manager))

    def test_a_password_that_the_manager_does_not_have(self):
        self.manager(["true"], "--no-key")
        self.announce(self.port())
        self.write("password", "a long word")
        os.chmod(self.path("password"), 0o600)
        worker = self.named("--password", self.path("password"), "--connect-timeout", "5")
        self.assertEqual(worker.wait(), 77, str(worker))
        self.assertIn("the manager has no key and got one", worker.err)

    def test_a_worker_that_requires_a_key_joins_no_open_manager(self):
        self.manager(["true"], "--no-key")
        self.announce(self.port())
        self.enter(self.port())
        self.enter(self.closed_port())
        worker = self.named("--connect-timeout", "5", env={"WORK_QUEUE_REQUIRE_KEY": "1"})
        self.assertEqual(worker.wait(), 77, str(worker))
        self.assertIn("WORK_QUEUE_REQUIRE_KEY", worker.err)
        self.assertNotIn("connected to manager", worker.out)

    def test_an_idle_worker_of_a_killed_manager_comes_to_another(self):
        """Though the worker would keep tasks for the killed one for ten minutes, and its record is still there, with more tasks."""
        killed = self.manager(["#WQ cores=50\ntrue"], "--no-key", "--away", 600)
        self.announce(self.port(), tasks_waiting=1000, priority=9)
        worker = self.named(single_shot=False)
        worker.wait_for_text("anyone may announce 'align'")
        killed.kill()
        other = self.manager(["true"], "--no-key", run_dir="other")
        self.announce(self.port())
        self.assertEqual(other.wait(), 0, f"{other}\n{worker}")
        self.assertIn("cannot reach the manager; also looking for another one by its name", worker.out)
        self.assertRegex(worker.out, rf"connected to manager align, .*127\.0\.0\.1:{self.port()} ")

    def test_it_was_not_refused_where_another_manager_is_only_not_reached(self):
        self.manager(["true"])
        self.announce(self.port())
        self.enter(self.closed_port())
        worker = self.named("--connect-timeout", "6")
        self.assertEqual(worker.wait(), 69, str(worker))
        self.assertIn("the catalog's manager align refuses this worker", worker.err, "what the user can mend")

    def test_tls_because_the_record_or_the_user_says_so(self):
        for record, words in ((True, []), (False, ["--ssl"])):
            with self.subTest(record=record):
                manager = self.manager(["true"], "--no-key", "--tls", run_dir=f"run{record}")
                self.announce(self.port(), ssl=record)
                worker = self.named(*words)
                self.assertEqual(worker.wait(), 0, str(worker))
                self.assertEqual(manager.wait(), 0, str(manager))
                self.announce(self.port(), project="gone")

    def test_a_catalog_server_that_is_silent_holds_up_nothing(self):
        with socket.create_server(("127.0.0.1", 0)) as silent:
            silent.settimeout(DEADLINE)
            worker = self.named("-C", f"127.0.0.1:{silent.getsockname()[1]}", "--time-scale", "1000", catalog=False)
            with silent.accept()[0]:
                worker.signal(signal.SIGTERM)
                self.assertEqual(worker.wait(), 0, str(worker))

    def test_no_catalog_server_answers(self):
        worker = self.named("-C", f"127.0.0.1:{self.closed_port()}", "--connect-timeout", "5", catalog=False)
        self.assertEqual(worker.wait(), 69, str(worker))
        self.assertIn("no catalog server answers: ", worker.out)


class Factories(NamesCase):
    def factory(self, *words, batch="local", **env):
        return self.start(commands=[os.environ["FACTORY"], "-T", batch, "-S", self.path("jobs"), "--cycle", "0.1", "-M", "align", "-w", "0",
                                    "--cores", "1", "-t", "2", *words], env={**self.registry, **env})

    def test_all_managers_of_a_name(self):
        bell, gate = self.bell(), self.gate()
        managers = [self.manager([f"echo began > {bell.path}; read x < {gate.path}"], "--no-key", run_dir=f"run{n}", contact=f"contact{n}")
                    for n in range(2)]
        for n in range(2):
            self.announce(self.port(f"contact{n}"))
        factory = self.factory("--catalog", self.server.host, "--factory-name", "pool", "-W", "5")
        bell.wait(2)
        factory.wait_for_text("tasks 0 waiting, 2 on workers")
        self.check_announced(factory, {self.port(f"contact{n}") for n in range(2)})
        for _ in managers:
            gate.open()
        for manager in managers:
            self.assertEqual(manager.wait(), 0, str(manager))
        factory.signal(signal.SIGTERM)
        self.assertEqual(factory.wait(), 0, str(factory))
        self.assertIn([one["lifetime"] for one in self.server.records() if one["type"] == "wq_factory"], ([1], []))

    def check_announced(self, factory, ports):
        """It is in the catalog, with its managers, as soon as its next cycles are told."""
        end = time.monotonic() + DEADLINE
        while True:
            told = [one for one in self.server.records() if one["type"] == "wq_factory"]
            if told and told[0]["workers_connected"] == 2 and all(one["tasks_running"] == 1 for one in told[0]["managers"]):
                break
            self.assertLess(time.monotonic(), end, f"{told} {factory}")
        self.assertEqual({one["port"] for one in told[0]["managers"]}, ports)
        self.assertEqual((told[0]["factory_name"], told[0]["project_regex"], told[0]["max_workers"], told[0]["workers_to_connect"]), ("pool", "align", 5, 0))

    def test_a_manager_that_refuses_has_the_tasks_of_its_record(self):
        self.manager(["true"])
        self.announce(self.closed_port(), tasks_waiting=50)  # what is not there wants no workers
        self.announce(self.port(), tasks_waiting=5, tasks_on_workers=1, tasks_left=2, tasks_total_cores=12)
        self.write("factory.json", json.dumps({"manager-name": "align", "catalog": self.server.host, "cores": 2, "min-workers": 0}))
        factory = self.start(commands=[os.environ["FACTORY"], "-T", "dryrun", "-S", self.path("jobs"), "--cycle", "0.1", "-C", "factory.json"],
                             env=self.registry)
        factory.wait_for_text("wanted 8")
        self.assertIn("tasks 7 waiting, 1 on workers (1 manager did not answer) (1 manager by catalog, at most ", factory.out)
        self.assertEqual(factory.err.count("its catalog record says how many tasks it has"), 1, factory.err)
        factory.signal(signal.SIGTERM)
        self.assertEqual(factory.wait(), 0, str(factory))


class Looking(NamesCase):
    def seen(self, condition):
        end = time.monotonic() + DEADLINE
        while not condition():
            self.assertLess(time.monotonic(), end)

    def status(self, *words, code=0, catalog=True):
        run = self.start(commands=[str(pathlib.Path(os.environ["PROGRAMS"]) / "work_queue_status"), *words],
                         env={**self.registry, "CATALOG_HOST": self.server.host if catalog else "", "COLUMNS": "80"})
        self.assertEqual(run.wait(), code, str(run))
        return run.err if code else run.out

    def test_managers_of_catalogs(self):
        self.announce(9001, wire=None, tasks_waiting=3, tasks_running=2, tasks_complete=70, workers=4)  # of CCTools
        self.announce(9002, project="other", tasks_waiting=30)
        self.announce(9003, project="bad\x1b[2J")
        self.assertRegex(self.status(), r"(?m)^align +\S+ +9001 +3 +2 +70 +4 \nother +\S+ +9002 +30 ")
        self.assertEqual(len(self.status().splitlines()), 3)
        self.assertNotIn("other", self.status("-M", "al.*"))
        self.assertNotIn("align", self.status("--where", "tasks_waiting>5"))
        self.assertEqual([one["port"] for one in json.loads(self.status("--json"))], [9001, 9002])
        self.assertIn(f"no manager in {self.path('registry')} or on the catalog server {self.server.host} has a whole name that matches 'nobody'",
                      self.status("-M", "nobody", code=69))
        self.status("--where", "(", code=64)
        self.status("-C", f"127.0.0.1:{self.closed_port()}", "-t", "0.2", code=69)
        self.status("-C", self.server.host, "host", "9123", code=64)

    def test_factories_of_catalogs(self):
        self.server.send_tcp(json.dumps({
            "type": "wq_factory", "port": -5, "factory_name": "pool", "owner": "ann", "project_regex": "align.*", "workers_needed": 9,
            "workers_submitted": 7, "workers_to_connect": 3, "managers": [{"project": "align-1"}, {"project": "align-2"}]}).encode())
        self.assertRegex(self.status("--factories"), r"(?m)^pool +ann +9 +7 +4 align-1, align-2 *$")
        self.assertEqual(json.loads(self.status("--factories", "--json"))[0]["workers_needed"], 9)
        self.assertIn(f"no factory in {self.path('registry')} or on the catalog server {self.server.host} has a name, or a -M, that matches 'nobody'",
                      self.status("--factories", "-M", "nobody", code=69))

    def test_factories_of_the_user_need_no_server(self):
        words = [os.environ["FACTORY"], "-T", "dryrun", "-S", self.path("jobs"), "--cycle", "0.1", "-M", "align", "--catalog", self.server.host,
                 "--factory-name", "pool"]
        factory = self.start(commands=words, env=self.registry)
        row = r"(?m)^pool +\S+ +5 +5 +0 -M align *$"
        self.seen(lambda: re.search(row, self.status("--factories", catalog=False)))
        self.assertRegex(self.status(catalog=False), r"^PROJECT .*\n\nFACTORY .*\npool ")
        self.assertEqual([one["type"] for one in json.loads(self.status("--json", catalog=False))], ["wq_factory"])
        self.seen(lambda: any(record.get("factory_name") == "pool" for record in self.server.records()))
        self.assertEqual(self.status("--factories").count("pool"), 1)
        self.assertNotIn("pool", self.status("-Q"))
        self.assertIn("no factory in", self.status("--factories", "-M", "other", code=69, catalog=False))
        self.assertNotIn("FACTORY", self.status("--where", "tasks_waiting>0", catalog=False))
        factory.signal(signal.SIGKILL)
        factory.wait()
        self.assertNotIn("pool", self.status("--factories", catalog=False))
        self.assertEqual(os.listdir(self.path("registry")), [])
        self.assertEqual(self.status("--factories").count("pool"), 1, "its record stays")
        again = self.start(commands=[*words, "-W", "6"], env=self.registry)
        self.seen(lambda: any(record.get("max_workers") == 6 for record in self.server.records()))
        self.assertEqual([record["max_workers"] for record in self.server.records() if record["type"] == "wq_factory"], [6])
        again.signal(signal.SIGTERM)
        self.assertEqual(again.wait(), 0, str(again))

    def test_a_killed_run_without_a_name_is_listed_no_more(self):
        os.mkfifo(self.path("gate"))
        self.write("tasks.sh", "read x < gate\n")
        run = self.start(commands=[os.environ["RUN"], "tasks.sh"], env=self.registry, cwd=self.folder)
        self.seen(lambda: "tasks.sh.wq" in self.status(catalog=False))
        run.signal(signal.SIGKILL)
        run.wait()
        self.assertNotIn("tasks.sh.wq", self.status(catalog=False))
        self.assertEqual(os.listdir(self.path("registry")), [])
        self.assertRegex(self.status(self.path("tasks.sh.wq"), catalog=False), "^killed, no sign of life for .*; --resume continues")

    def test_host_and_port_of_a_row_need_no_key(self):
        os.mkfifo(self.path("gate"))
        self.write("tasks.sh", "read x < gate\n")
        run = self.start(commands=[os.environ["RUN"], "--listen", "--name", "align", "--manager-only", "tasks.sh"], env=self.registry, cwd=self.folder)
        self.seen(lambda: os.path.exists(self.path("tasks.sh.wq/contact")))
        row = re.search(r"(?m)^align +(\S+) +(\d+) ", self.status(catalog=False))
        self.seen(lambda: "read x < gate" in self.status("-T", *row.groups(), catalog=False))
        self.registry["WORK_QUEUE_REGISTRY"] = self.path("none")
        self.assertIn("--contact FILE", self.status("-T", *row.groups(), code=77, catalog=False))
        run.signal(signal.SIGTERM)
        run.wait()


if __name__ == "__main__":
    main()
