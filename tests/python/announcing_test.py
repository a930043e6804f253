"""A queue with a name announces itself to the catalog servers that its user named, and to no other."""

import json
import os
import socket
import subprocess
import time
import urllib.request

import pytest

import work_queue
from work_queue import Task

CATALOG_SERVER = os.environ["CATALOG_SERVER"]
LIMIT = 60


class Catalog:
    """A catalog_server of this test."""

    def __init__(self, folder, port=None):
        port_file = folder / "catalog.port"
        where = ["-Z", port_file] if port is None else ["-p", str(port)]
        self.process = subprocess.Popen([CATALOG_SERVER, *where, "-I", "127.0.0.1"], stderr=subprocess.PIPE, text=True, cwd=folder)
        assert "queries at port" in self.process.stderr.readline()
        self.port = int(port_file.read_text()) if port is None else port
        self.host = f"127.0.0.1:{self.port}"

    def records(self):
        with urllib.request.urlopen(f"http://{self.host}/query.json", timeout=LIMIT) as answer:
            return json.load(answer)

    def end(self):
        self.process.terminate()
        self.process.stderr.close()
        self.process.wait(LIMIT)

    def record_of(self, queue, **members):
        """The queue's record, once it has these members."""
        until = time.monotonic() + LIMIT
        while time.monotonic() < until:
            found = [record for record in self.records() if record.get("port") == queue.port]
            if found and all(found[0].get(key) == value for key, value in members.items()):
                return found[0]
            queue.wait(0.1)
        raise AssertionError(f"no record with {members}: {self.records()}")


@pytest.fixture
def catalog(tmp_path):
    server = Catalog(tmp_path)
    yield server
    server.end()


def test_a_named_queue_is_announced_until_it_ends(catalog, tmp_path, monkeypatch, workers):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CATALOG_HOST", catalog.host)
    monkeypatch.setenv("WORK_QUEUE_REGISTRY", str(tmp_path / "registry"))
    (tmp_path / "password").write_text("a secret word")
    (tmp_path / "password").chmod(0o600)
    with work_queue.WorkQueue(0, name="sim 1", password_file="password", say=lambda line: None) as queue:
        queue.specify_priority(7)
        task = Task("echo a secret command")
        task.specify_cores(2)
        queue.submit(task)
        record = catalog.record_of(queue, project="sim 1", tasks_waiting=1)
        assert record["type"] == "wq_master" and record["priority"] == 7 and record["lifetime"] == 200
        assert record["wire"].startswith("work_queue/") and record["owner"] and record["version"]
        assert record["ssl"] is False and record["manager_preferred_connection"] == "by_ip"
        assert all(one["address"] == one["host"] for one in record["network_interfaces"])
        assert record["tasks_total_cores"] == 2 and record["tasks_left"] == 0
        assert "secret" not in json.dumps(record), "a record has no key and no command"
        workers.start(queue, "--password", "password")
        catalog.record_of(queue, workers=1)
        while not queue.empty():
            queue.wait(1)
        queue.specify_num_tasks_left(3)
        queue.specify_priority(-1)
        catalog.record_of(queue, tasks_complete=1, tasks_waiting=0, tasks_left=3, priority=-1)
        port = queue.port
    assert [record["lifetime"] for record in catalog.records() if record["port"] == port] in ([1], [])


def test_names_and_servers_change_while_it_runs(catalog, queue, tmp_path, monkeypatch):
    monkeypatch.setenv("WORK_QUEUE_REGISTRY", str(tmp_path / "registry"))
    queue.submit(Task("true"))
    queue.wait(0)
    queue.specify_catalog_server("127.0.0.1", catalog.port)
    queue.specify_name("first")
    catalog.record_of(queue, project="first")
    queue.specify_name("second")
    assert catalog.record_of(queue, project="second")["lifetime"] == 200


def test_without_a_name_or_a_server_nothing_is_sent(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WORK_QUEUE_REGISTRY", str(tmp_path / "registry"))
    with socket.create_server(("127.0.0.1", 0)) as nobody:
        port = nobody.getsockname()[1]
        monkeypatch.setenv("CATALOG_HOST", f"127.0.0.1:{port - 1}")  # updates go to the next port
        with work_queue.WorkQueue(0, say=lambda line: None) as unnamed:
            unnamed.submit(Task("true"))
            unnamed.wait(0)
        monkeypatch.delenv("CATALOG_HOST")
        with work_queue.WorkQueue(0, name="named", say=lambda line: None) as named:
            named.submit(Task("true"))
            named.wait(0)
        nobody.setblocking(False)
        with pytest.raises(BlockingIOError):
            nobody.accept()


def test_servers_that_are_away_are_said_once_and_stop_nothing(tmp_path, monkeypatch, workers):
    """It is not there, and comes later."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WORK_QUEUE_REGISTRY", str(tmp_path / "registry"))
    server = Catalog(tmp_path)
    server.end()
    said = []
    with work_queue.WorkQueue(0, name="lonely", say=said.append) as queue:
        queue.specify_catalog_servers(server.host)
        workers.start(queue)
        for _ in range(3):
            queue.submit(Task("true"))
        results = 0
        while not queue.empty():
            results += queue.wait(5) is not None
        assert results == 3

        waiting = Task("true")
        waiting.specify_cores(1000)
        queue.submit(waiting)  # so that wait() waits

        def wait_for(text):
            until = time.monotonic() + LIMIT
            while not any(text in line for line in said):
                assert time.monotonic() < until, said
                queue.specify_priority(1 - queue.priority)  # which is told
                queue.wait(0.1)

        wait_for("no catalog server takes the record of this manager: ")
        server = Catalog(tmp_path, server.port)
        try:
            wait_for("takes the record of this manager again")
            server.record_of(queue, project="lonely")
        finally:
            server.end()
    assert len([line for line in said if "no catalog server" in line]) == 1, said


def test_a_server_that_never_reads_stops_nothing(tmp_path, monkeypatch, workers):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WORK_QUEUE_REGISTRY", str(tmp_path / "registry"))
    with socket.create_server(("127.0.0.1", 0)) as silent:
        monkeypatch.setenv("CATALOG_HOST", f"127.0.0.1:{silent.getsockname()[1] - 1}")
        with work_queue.WorkQueue(0, name="patient", say=lambda line: None) as queue:
            workers.start(queue)
            for _ in range(3):
                queue.submit(Task("true"))
            results = 0
            while not queue.empty():
                results += queue.wait(5) is not None
            assert results == 3
            silent.accept()[0].close()  # it was asked


def test_workers_that_their_factory_may_not_have_are_released(catalog, queue, workers):
    """Only with fetch-factory, only those of the factory, and by the largest record of its name."""
    queue.specify_catalog_server("127.0.0.1", catalog.port)
    for factory in ("mine", "mine", "mine", "other"):
        workers.start(queue, "--from-factory", factory)
    while queue.stats.workers_connected < 4:
        queue.wait(0.1)
    for port, name, most in ((-1, "mine", 1), (-2, "mine", 2), (-3, "unknown", 0)):
        record = {"type": "wq_factory", "port": port, "factory_name": name, "max_workers": most}
        with socket.create_connection(("127.0.0.1", catalog.port + 1)) as update:
            update.sendall(json.dumps(record).encode())
            update.shutdown(socket.SHUT_WR)
            update.recv(1)
    assert queue.stats.workers_released == 0
    assert queue.tune("fetch-factory", 1) == 0
    while queue.stats.workers_released < 1:
        queue.wait(0.1)
    while queue.stats.workers_connected > 3:
        queue.wait(0.1)
    assert queue.stats.workers_released == 1
    features = [feature for worker in queue.status("workers") for feature in worker["features"]]
    assert sorted(feature for feature in features if feature.startswith("factory:")) == ["factory:mine", "factory:mine", "factory:other"]


def test_what_others_are_told(queue):
    """A queue without a name is not announced, so nothing is sent to these servers."""
    queue.specify_catalog_server("localhost", 9097)
    queue.specify_catalog_server("::1")
    queue.specify_catalog_servers("localhost, localhost:9098")
    queue.specify_catalog_servers(None)
    queue.specify_priority(-3)
    queue.specify_num_tasks_left(12)
    queue.specify_manager_preferred_connection("by_hostname")
    for call, word, why in ((queue.specify_num_tasks_left, -1, "tasks_left"), (queue.specify_catalog_servers, "localhost:x", "no list"),
                            (queue.specify_manager_preferred_connection, "by_post", "give by_ip")):
        with pytest.raises(RuntimeError, match=why):
            call(word)
    told = queue.status("queue")[0]
    assert (told["priority"], told["tasks_left"], told["manager_preferred_connection"]) == (-3, 12, "by_hostname")
    assert told["wire"].startswith("work_queue/") and told["owner"] and told["network_interfaces"]


@pytest.mark.parametrize("name, value", [("CATALOG_HOST", "host:x"), ("CATALOG_UPDATE_PROTOCOL", "post"), ("CATALOG_PORT", "0")])
def test_a_wrong_setting_is_refused_at_the_start(name, value, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WORK_QUEUE_REGISTRY", str(tmp_path / "registry"))
    monkeypatch.setenv("CATALOG_HOST", "localhost")
    monkeypatch.setenv(name, value)
    queue = work_queue.WorkQueue(0, name="named", say=lambda line: None)
    with pytest.raises(RuntimeError, match=name):
        queue.submit(Task("true"))
        queue.wait(0)


def test_a_worker_of_another_site_finds_a_queue_by_its_name_alone(catalog, tmp_path, monkeypatch, workers):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CATALOG_HOST", catalog.host)
    monkeypatch.setenv("WORK_QUEUE_REGISTRY", str(tmp_path / "registry"))
    with work_queue.WorkQueue(0, name="far away", say=lambda line: None) as queue:
        queue.submit(Task("echo found"))
        catalog.record_of(queue, tasks_waiting=1)
        monkeypatch.setenv("WORK_QUEUE_REGISTRY", str(tmp_path / "of the other site"))
        worker = workers.start_at("-M", "far .*", "--single-shot")
        task = queue.wait(LIMIT)
        assert task is not None and task.output == "found\n", open(worker.log).read()
    assert "anyone may announce 'far away'" in open(worker.log).read()


def test_a_factory_of_another_site_serves_a_queue_by_its_name_alone(catalog, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WORK_QUEUE_REGISTRY", str(tmp_path / "registry"))
    with work_queue.WorkQueue(0, name="far away", say=lambda line: None) as queue:
        queue.specify_catalog_server("127.0.0.1", catalog.port)
        queue.submit(Task("echo found"))
        catalog.record_of(queue, tasks_waiting=1)
        monkeypatch.setenv("WORK_QUEUE_REGISTRY", str(tmp_path / "of the other site"))
        workers = work_queue.Factory("local", manager_name="far .*", log_file="factory.log")
        workers.catalog = catalog.host
        workers.min_workers, workers.max_workers, workers.cores = 0, 1, 1
        with workers:
            task = queue.wait(LIMIT)
        assert task is not None and task.output == "found\n", open("factory.log").read()
