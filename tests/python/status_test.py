"""work_queue_status and the managers of programs: its tables, keys, exit codes."""

import http.server
import json
import os
import re
import socket
import subprocess
import threading
import time
import urllib.error
import urllib.request

import pytest

import work_queue
from work_queue import Task

STATUS = os.environ["STATUS"]


def status(*words, code=0, **variables):
    """What the command prints; its messages, if it must end with another code than 0."""
    done = subprocess.run([STATUS, *map(str, words)], capture_output=True, text=True, timeout=120, check=False,
                          env={**os.environ, "COLUMNS": "80", **variables})
    assert done.returncode == code, f"{words}: {done}"
    return done.stderr if code else done.stdout


def records(*words, **variables):
    return json.loads(status("--json", *words, **variables))


def until(condition, seconds=120):
    """What `condition` returns, once that is true."""
    end = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < end, f"not within {seconds} s"
    return found


def submit(queue, *, cores):
    """Two tasks of which the second waits, if the worker has `cores`."""
    for command, category in [("sleep 600 # first", "big"), ("sleep 600 # second", "default")]:
        task = Task(command)
        task.specify_cores(cores)
        task.specify_category(category)
        task.specify_tag("a tag")
        queue.submit(task)


def test_an_open_manager_is_listed_in_every_mode(served):
    submit(served, cores=2)
    assert served.stats.tasks_submitted == 2  # which starts its manager
    where = ("localhost", served.port)
    until(lambda: served.wait(0.1) or any(task["state"] == "RUNNING" for task in records("-T", *where)))
    running, waiting = records("-T", *where)
    assert (running["taskid"], running["command"], running["category"]) == (1, "sleep 600 # first", "big")
    assert running["cores"] == 2 and running["host"] and running["address_port"].count(":")
    assert waiting["state"] == "WAITING" and waiting["tag"] == "a tag" and "host" not in waiting
    assert status("-T", *where).splitlines()[1].startswith("1    RUNNING         0 ")

    [queue] = records(*where)
    assert queue["port"] == served.port and queue["tasks_on_workers"] == 1 and queue["workers"] == 1
    assert "first" not in json.dumps(queue), "commands are only in listings of tasks and workers"
    table = status(*where).splitlines()
    assert table[0] == "PROJECT            HOST                   PORT WAITING RUNNING COMPLETE WORKERS "
    assert len(table) == 2

    [worker] = records("-W", *where)
    assert worker["cores_inuse"] == 2 and worker["current_task_000_command"] == "sleep 600 # first"
    assert [one["category"] for one in records("-A", *where)] == ["default", "big", "whole queue"]
    assert status("-R", *where).splitlines()[1].split()[1:3] == ["2", "2"]
    assert status("--capacity", *where).startswith("MANAGER ")


def test_a_manager_with_a_key_answers_whoever_has_it(tmp_path):
    contact, password = tmp_path / "contact", tmp_path / "password"
    password.write_text("other")
    password.chmod(0o600)
    with work_queue.WorkQueue(0, contact_file=str(contact), say=lambda line: None) as q:
        q.submit(Task("secret"))
        assert q.stats.tasks_submitted == 1
        assert records("-T", contact)[0]["command"] == "secret"
        assert records("-T", "--contact", contact)[0]["command"] == "secret"
        told = status("-T", "localhost", q.port, code=77)
        assert told.endswith("this manager uses TLS: use --contact FILE or --ssl\n") and "secret" not in told and "worker" not in told
        told = status("-T", "--ssl", "localhost", q.port, code=77)
        assert told.endswith("the manager asks for a key and got none: use --contact FILE or --password FILE\n")
        status("-T", "--ssl", "--password", password, "localhost", q.port, code=77)
        assert "running: 0 succeeded, 0 failed, 0 running of 1" in status(contact), "as its help says"
        [queue] = q.status("queue")
        assert queue["ssl"] is True, "as others see it"
    assert "has the manager started?" in status("--contact", contact, code=69)


def ask(port, line):
    """All that the port answers to a program that speaks plain text."""
    with socket.create_connection(("localhost", port), 60) as connection:
        connection.sendall(line.encode())
        return connection.makefile().read()


def get(port, path, **headers):
    with urllib.request.urlopen(urllib.request.Request(f"http://localhost:{port}{path}", headers=headers), timeout=60) as answer:
        return answer.read().decode()


def test_an_open_manager_answers_in_plain_text():
    with work_queue.WorkQueue(0, say=lambda line: None) as q:
        q.submit(Task("secret"))
        assert q.stats.tasks_submitted == 1
        assert json.loads(ask(q.port, "task_status\n"))[0]["command"] == "secret"
        assert json.loads(get(q.port, "/task_status"))[0]["command"] == "secret"
        with pytest.raises(urllib.error.HTTPError, match="403"):
            get(q.port, "/task_status", Host="page.example")
        q.specify_status("off")
        assert "nobody" in ask(q.port, "task_status\n")
        told = status("-T", "localhost", q.port, code=77)
        assert "its owner switched its status off" in told and "--contact" not in told
        q.specify_status("key")
        assert "--contact FILE" in ask(q.port, "task_status\n")
        assert records("-T", "localhost", q.port)[0]["command"] == "secret"
        q.specify_status("open")
        q.specify_password("a password")
        assert json.loads(ask(q.port, "queue_status\n"))[0]["tasks_waiting"] == 1
        with pytest.raises(ValueError, match="open, key or off"):
            q.specify_status("all")


def test_a_password_ends_the_answers_in_plain_text():
    with work_queue.WorkQueue(0, say=lambda line: None) as q:
        assert q.stats.tasks_submitted == 0
        assert ask(q.port, "task_status\n") == "[]"
        q.specify_password("a password")
        assert "--contact FILE" in ask(q.port, "task_status\n")
    with work_queue.WorkQueue(0, status="off", say=lambda line: None) as q:
        assert q.stats.tasks_submitted == 0
        assert "nobody" in ask(q.port, "task_status\n")
    with pytest.raises(ValueError, match="open, key or off"):
        work_queue.WorkQueue(0, status="")


def test_names_find_managers_in_the_registry(tmp_path, monkeypatch):
    registry = {"WORK_QUEUE_REGISTRY": str(tmp_path / "registry")}
    assert len(status(**registry).splitlines()) == 1, "only the header"
    status("-M", "none", code=69, **registry)
    monkeypatch.setenv("WORK_QUEUE_REGISTRY", registry["WORK_QUEUE_REGISTRY"])
    queues = [work_queue.WorkQueue(0, name=name, contact_file=str(tmp_path / name), say=lambda line: None)
              for name in ("sim-1", "sim-2", "other")]
    queues[0].submit(Task("a"))
    assert sum(queue.stats.tasks_submitted for queue in queues) == 1
    assert sorted(one["project"] for one in records(**registry)) == ["other", "sim-1", "sim-2"]
    assert sorted(one["project"] for one in records("-M", "sim-.*", **registry)) == ["sim-1", "sim-2"]
    assert [task["command"] for task in records("-T", "-M", "sim-.*", **registry)] == ["a"]
    for queue in queues:
        queue.close()


@pytest.fixture
def registry(tmp_path, monkeypatch):
    folder = tmp_path / "registry"
    monkeypatch.setenv("WORK_QUEUE_REGISTRY", str(folder))
    return folder


def started(**options):
    queue = work_queue.WorkQueue(0, say=lambda line: None, **options)
    assert queue.stats.tasks_submitted == 0  # which starts its manager
    return queue


def test_a_queue_without_a_name_is_listed_and_found_by_nobody(registry, tmp_path):
    with started(contact_file=str(tmp_path / "contact")) as q:
        q.submit(Task("a"))
        listed = until(records)  # its note is written on another thread
        assert [(one["project"], one["port"], one["tasks_waiting"]) for one in listed] == [("-", q.port, 1)]
        assert status().splitlines()[1].startswith("- ")
        status("-M", ".*", code=69)
        assert "no manager in" in subprocess.run([os.environ["WORKER"], "-M", ".*", "--connect-timeout", "1", "-b", "1", "-s", tmp_path], check=False,
                                                 capture_output=True, text=True, timeout=120).stdout
        q.specify_name("named")
        assert [one["project"] for one in records()] == ["named"]
        q.specify_name("")
        until(lambda: [one["project"] for one in records()] == ["-"])
    until(lambda: not list(registry.iterdir()))
    registry.chmod(0o777)
    with started() as q:
        assert q.port > 0
    until(lambda: not list(registry.iterdir()))


def test_a_note_of_a_queue_has_no_password(registry, tmp_path):
    password = tmp_path / "password"
    password.write_text("a password")
    password.chmod(0o600)
    with started() as q:
        q.specify_password("a password")
        [note] = until(lambda: list(registry.glob("*.unnamed")))
        assert json.loads(note.read_text())["key"] == ""
        assert "the manager asks for a key and got none: use --contact FILE or --password FILE" in status(code=77)
        assert [one["port"] for one in records("--password", password)] == [q.port]
        assert "password file" in status("--password", tmp_path / "none", code=65)
    with started(contact_file=str(tmp_path / "contact")) as q:
        [note] = until(lambda: list(registry.glob(f"*-{q.port}.unnamed")))
        assert json.loads(note.read_text())["key"] == json.loads((tmp_path / "contact").read_text())["key"]
        q.specify_password("a password")
        until(lambda: [json.loads(one.read_text())["key"] for one in registry.glob(f"*-{q.port}.unnamed")] == [""])


def test_old_notes_are_removed_where_nobody_listens(registry, tmp_path):
    with started() as q, socket.socket() as taken, socket.create_server(("127.0.0.1", 0)) as silent:
        [living] = until(lambda: list(registry.glob("*.unnamed")))
        taken.bind(("127.0.0.1", 0))  # nobody listens
        notes = {}
        for name, port, age in (("old", taken.getsockname()[1], 90_000), ("new", taken.getsockname()[1], 3_600),
                                ("silent", silent.getsockname()[1], 90_000)):
            note = json.loads(living.read_text())
            note.update(host="another", addresses=["127.0.0.1"], port=port)
            notes[name] = registry / f"another-1-{name}.unnamed"
            notes[name].write_text(json.dumps(note))
            notes[name].chmod(0o600)
            os.utime(notes[name], (time.time() - age,) * 2)
        done = subprocess.run([STATUS, "-t", "1"], capture_output=True, text=True, timeout=120, check=True)
        assert [line.split()[2] for line in done.stdout.splitlines() if "another" not in line] == ["PORT", str(q.port)]
        assert len(re.findall(r"(?m)^- .* another .* not reached$", done.stdout)) == 3
        assert len(re.findall(r"another:\d+: not reached: ", done.stderr)) == 3
        assert {name for name, note in notes.items() if note.exists()} == {"new", "silent"} and living.exists()


def test_several_managers_of_a_name_are_told_apart(registry):
    with started(name="sim") as one, started(name="sim") as other:
        one.submit(Task("first"))
        until(lambda: records("-T", "-M", "sim"))
        alone = status("-T", "localhost", one.port)
        shown = status("-T", "-M", "sim")
        host = socket.gethostname()
        headers = [f"sim ({host}:{queue.port})" for queue in (one, other)]
        assert headers[0] + "\n" + alone in shown
        assert headers[1] + "\n" + status("-T", "localhost", other.port) in shown
        assert "\n\nsim (" in shown
        [task] = records("-T", "-M", "sim")
        assert task["manager"] == {"project": "sim", "name": host, "port": one.port}
        assert "manager" not in records("-T", "localhost", one.port)[0]
        other.specify_name("other")
        assert status("-T", "-M", "sim") == alone


def test_managers_that_died_are_named_and_the_others_shown(registry):
    with started(name="sim") as q, socket.socket() as taken:
        q.submit(Task("a"))
        until(lambda: records("-T", "-M", "sim"))
        taken.bind(("127.0.0.1", 0))  # nobody listens
        [entry] = registry.iterdir()
        dead = json.loads(entry.read_text())
        dead["contact"].update(host="another", addresses=["127.0.0.1"], port=taken.getsockname()[1])
        other = registry / "other.manager"
        other.write_text(json.dumps(dead))
        other.chmod(0o600)
        age = time.time() - 90
        os.utime(other, (age, age))
        done = subprocess.run([STATUS, "-T", "-M", "sim"], capture_output=True, text=True, timeout=120, check=True)
        assert done.stdout.count("\nID ") == 1 and done.stdout.startswith("sim (") and done.stdout.count("sim (") == 1
        assert len(done.stderr.splitlines()) == 1
        assert re.search(r"sim \(another:\d+\): not reached; its entry in the registry is 1m\d\ds old: ", done.stderr)
        os.utime(other, (time.time() - 90,) * 2)
        assert re.search(r"(?m)^sim .* another .* silent for 1m\d\ds$", status())
    assert "not reached" in status("-T", "-M", "sim", code=69)
    os.utime(other)
    done = subprocess.run([STATUS], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 69 and re.search(r"(?m)^sim .* another .* not reached$", done.stdout), done


def test_silence_is_by_the_clock_of_the_catalog_server(registry):
    """Whose clock is an hour late."""
    now = int(time.time()) - 3600
    ages = {"lives": 100, "dead": 200, "unknown": None}
    answer = [{"type": "wq_master", "project": name, "name": "node9.site", "port": 9000 + n, "address": "192.0.2.9",
               **({} if age is None else {"lastheardfrom": now - age})}
              for n, (name, age) in enumerate(ages.items())]

    class Catalog(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.end_headers()
            self.wfile.write(json.dumps(answer).encode())

        def date_time_string(self, timestamp=None):
            return super().date_time_string(now)

        def log_message(self, *words):
            pass

    with http.server.HTTPServer(("127.0.0.1", 0), Catalog) as catalog:
        thread = threading.Thread(target=catalog.serve_forever)
        thread.start()
        try:
            rows = status("--catalog", f"127.0.0.1:{catalog.server_port}").splitlines()[1:]
        finally:
            catalog.shutdown()
            thread.join()
    assert {row.split()[0]: row.partition(" silent for ")[2] for row in rows} == {"lives": "", "dead": "3m20s", "unknown": ""}


def test_a_program_sees_what_its_tasks_request_together():
    with started() as q:
        for cores, memory in ((2, 100), (1, 50)):
            task = Task("a")
            task.specify_cores(cores)
            task.specify_memory(memory)
            q.submit(task)
        [queue] = q.status("queue")
        assert (queue["tasks_total_cores"], queue["tasks_total_memory"], queue["tasks_total_disk"]) == (3, 150, 0)


def test_what_cannot_be_shown_has_its_code(tmp_path):
    assert "HOST PORT, RUN, --contact FILE or -M REGEX" in status("-T", code=64)
    assert "give one of" in status("-T", "-W", "localhost", code=64)
    assert "is no directory of a run" in status(tmp_path, code=65)
    assert "is no directory of a run" in status(tmp_path / "none", code=65)
    assert "localhost:1" in status("localhost", 1, code=69)
