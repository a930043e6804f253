"""work_queue_status and the managers of programs: its tables, keys, exit codes."""

import json
import os
import socket
import subprocess
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
    while not any(task["state"] == "RUNNING" for task in records("-T", *where)):
        served.wait(0.1)
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
        assert "--contact FILE or --password FILE" in told and "secret" not in told
        status("-T", "--ssl", "--password", password, "localhost", q.port, code=77)
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
        assert "nobody" in status("-T", "localhost", q.port, code=77)
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


def test_what_cannot_be_shown_has_its_code(tmp_path):
    assert "HOST PORT, RUN, --contact FILE or -M REGEX" in status("-T", code=64)
    assert "give one of" in status("-T", "-W", "localhost", code=64)
    assert "is no directory of a run" in status(tmp_path, code=65)
    assert "is no directory of a run" in status(tmp_path / "none", code=65)
    assert "localhost:1" in status("localhost", 1, code=69)
