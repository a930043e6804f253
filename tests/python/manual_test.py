"""The calls of the Python examples in CCTools' manual, section by section, each doing what the manual says of it.

Managing resources is in manual_resources_test.py; functions of coprocesses, and map, pair and tree_reduce, have tests
of their own, too. Some examples cannot run in any Python:

    specify_url(..., type=WORK_QUEUE_INPUT)       needs `from ndcctools.work_queue import WORK_QUEUE_INPUT`, or wq. before it
    specify_file_command("curl ... | tar cvzf -") packs nothing: `mkdir %% && curl ... | tar xzf - -C %%` unpacks
    print("... {} cores", t.resources_measured.cores)  prints the braces: "...".format(...) was meant
    workers = work_queue.Factory(...)             with `import ndcctools.work_queue as wq`: wq.Factory(...)
    while q->cancel_by_taskid("my-tag")           is Perl, and by id: while q.cancel_by_tasktag("my-tag")
    RemoteTask(..., {x:1, y:2})                   needs quotes, and is one argument, a dict
    response["Result]                             lacks a quote
    q.treeReduce(...)                             is q.tree_reduce(...)
    q.tune("hungry-minumum", 20)                  is misspelt; it is taken anyway
"""

import contextlib
import http.server
import json
import os
import platform
import subprocess
import sys
import threading

import cloudpickle
import pytest

import ndcctools.work_queue as wq
from conftest import run
from ndcctools.work_queue import WORK_QUEUE_INPUT

cloudpickle.register_pickle_by_value(sys.modules[__name__])  # workers cannot import this file


@pytest.fixture(autouse=True)
def any_port(monkeypatch, tmp_path):
    """Tests run side by side, so the manual's port may be taken; and in a folder of their own."""
    original = wq.WorkQueue

    class AnyPort(original):
        def __init__(self, port=9123, *words, **named):
            super().__init__(0 if port == 9123 else port, *words, **{"say": lambda line: None, **named})

    monkeypatch.setattr(wq, "WorkQueue", AnyPort)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WORK_QUEUE_REGISTRY", str(tmp_path / "registry"))


def my_sum(x, y):
    return x + y


# ---- Quick Start ----

QUICK_START = '''
import ndcctools.work_queue as wq

def my_sum(x, y):
    import math
    return x+y

queue = wq.WorkQueue(0)
print("listening on port {}".format(queue.port), flush=True)

print("submitting tasks...")
for value in range(1,100):
    task = wq.PythonTask(my_sum, value, value)
    task.specify_cores(1)
    queue.submit(task)

print("waiting for tasks to complete...")
while not queue.empty():
    task = queue.wait(5)
    if task:
        print("task {} completed with result {}".format(task.id,task.output))

print("all done.")
'''


def test_quick_start(workers, tmp_path):
    (tmp_path / "manager.py").write_text(QUICK_START)
    with subprocess.Popen([sys.executable, "-B", "manager.py"], stdout=subprocess.PIPE, text=True) as manager:
        first = manager.stdout.readline().split()
        workers.start_at("localhost", first[3])
        lines = manager.stdout.read().splitlines()
    assert first[:3] == ["listening", "on", "port"] and manager.returncode == 0
    assert lines[:2] == ["submitting tasks...", "waiting for tasks to complete..."] and lines[-1] == "all done."
    assert sorted(lines[2:-1]) == sorted(f"task {n} completed with result {2 * n}" for n in range(1, 100))


# ---- Creating a Queue ----


def test_creating_a_queue(capsys):
    q = wq.WorkQueue(9123)
    q.close()
    q = wq.WorkQueue(0)
    print("listening on port {}".format(q.port))
    assert capsys.readouterr().out == f"listening on port {q.port}\n" and 1024 <= q.port < 65536
    q.close()


# ---- Creating Standard Tasks, Describing Tasks, Managing Tasks ----


def test_a_standard_task(queue, workers, tmp_path, capsys):
    q = queue
    workers.start(q, "--memory", "8000")
    (tmp_path / "my-file").write_text("hello\n")
    t = wq.Task("./gzip < my-file > my-file.gz; echo $WORK_QUEUE_SANDBOX $PWD")
    t.specify_input_file("/usr/bin/gzip", "gzip", cache = True)
    t.specify_input_file("my-file", "my-file", cache = False)
    t.specify_output_file("my-file.gz", "my-file.gz", cache = False)
    t.specify_cores(2)
    t.specify_memory(4096)
    t.specify_tag("config-4.5.0")
    taskid = q.submit(t)
    while not q.empty():
        t = q.wait(5)
        if t:
            print("Task {} has returned!".format(t.id))
            if t.return_status == 0:
                print("command exit code:\n{}".format(t.return_status))
                print("stdout:\n{}".format(t.output))
            else:
                print("There was a problem executing the task.")
    lines = capsys.readouterr().out.splitlines()
    assert taskid == 1 and lines[:4] == ["Task 1 has returned!", "command exit code:", "0", "stdout:"]
    sandbox, folder = lines[4].split()
    assert sandbox == folder
    assert subprocess.run(["gzip", "-dc", "my-file.gz"], stdout=subprocess.PIPE, check=True).stdout == b"hello\n"
    assert (t.tag, t.exit_status) == ("config-4.5.0", 0)


def test_names_at_the_worker_are_those_at_the_manager(served, tmp_path):
    (tmp_path / "my-file").write_text("hello\n")
    t = wq.Task("gzip < my-file > my-file.gz")
    t.specify_input_file("my-file", cache = False)
    t.specify_output_file("my-file.gz", cache = False)
    assert run(served, t).return_status == 0 and (tmp_path / "my-file.gz").exists()


# ---- Managing Python Tasks ----


def test_a_python_task(served, capsys):
    q = served
    t = wq.PythonTask(my_sum, 1, 2)
    q.submit(t)
    t = wq.PythonTask(my_sum, 1, "2")
    q.submit(t)
    while not q.empty():
        t = q.wait(5)
        if t:
            x = t.output
            if isinstance(x,Exception):
                print("Exception: {}".format(x))
            else:
                print("Result: {}".format(x))
    assert sorted(capsys.readouterr().out.splitlines()) == [
        "Exception: unsupported operand type(s) for +: 'int' and 'str'", "Result: 3"]


def test_an_environment(served, tmp_path):
    """As conda-pack makes them; this one's Python is a script that calls the one of this test."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python3").write_text(f'#!/bin/sh\nPACKED=1 exec {sys.executable} "$@"\n')
    (tmp_path / "bin" / "python3").chmod(0o755)
    subprocess.run(["tar", "-czf", "my-env.tar.gz", "bin"], check=True)
    t = wq.PythonTask(lambda x, y: (x + y, os.environ.get("PACKED")), 1, 2)
    t.specify_environment("my-env.tar.gz")
    assert run(served, t).output == (3, "1")


# ---- Project Names ----


def test_a_project_name(workers):
    q = wq.WorkQueue(name = "myproject")
    q.submit(wq.Task("echo found"))
    q.tune("wait-for-workers", 0)  # a queue has begun, and can be found, once it is asked something
    assert q.hungry() == 9
    workers.start_at("-M", "myproject")
    assert q.wait(60).output == "found\n" and q.name == "myproject"
    q.close()


# ---- Using the factory with python ----


def test_a_factory_for_condor():
    workers = wq.Factory("condor", "myproject")
    workers.cores = 4
    workers.memory = 4000
    workers.disk = 5000
    workers.max_workers = 20
    assert (workers.batch_type, workers.manager_name) == ("condor", "myproject")
    assert (workers.cores, workers.memory, workers.disk, workers.max_workers, workers.running()) == (4, 4000, 5000, 20, False)


def test_a_factory_for_this_machine(tmp_path):
    q = wq.WorkQueue(name = "myproject")
    for number in range(4):
        q.submit(wq.Task(f"echo {number}"))
    assert q.hungry() == 6  # it can be found from now on
    programs = os.path.dirname(os.environ["WORKER"])
    workers = wq.Factory("local", "myproject", factory_binary=programs + "/work_queue_factory", worker_binary=os.environ["WORKER"],
                         log_file=tmp_path / "factory.log")
    workers.cores = 1
    workers.memory = 500
    workers.disk = 500
    workers.max_workers = 2
    workers.scratch_dir = str(tmp_path / "scratch")
    outputs = []
    with workers:
        assert workers.running()
        while not q.empty():
            t = q.wait(5)
            if t:
                outputs.append(t.output)
    assert sorted(outputs) == ["0\n", "1\n", "2\n", "3\n"] and not workers.running()
    q.close()


# ---- Advanced Techniques ----


def served_with(queue, workers, *options):
    """What a task says that a worker with these options ran."""
    workers.start(queue, *options)
    return run(queue, wq.Task("echo served")).output


def test_ssl(workers, tmp_path):
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-keyout", "MY_KEY.pem", "-out", "MY_CERT.pem", "-sha256", "-days", "365",
                    "-nodes", "-subj", "/CN=localhost"], check=True, capture_output=True)
    q = wq.WorkQueue(port=9123, ssl=('MY_KEY.pem', 'MY_CERT.pem'))
    assert q.using_ssl and served_with(q, workers, "--ssl") == "served\n"
    q.close()
    q = wq.WorkQueue(port=9123, ssl=True)
    assert q.using_ssl and served_with(q, workers, "--ssl") == "served\n"
    q.close()
    q = wq.WorkQueue(port=0, ssl=(None, None))  # the options of a program that are not given
    assert not q.using_ssl and served_with(q, workers) == "served\n"
    q.close()
    with pytest.raises(RuntimeError, match="MISSING.pem"):
        wq.WorkQueue(port=9123, ssl=('MISSING.pem', 'MY_CERT.pem')).hungry()


def test_a_password_file(queue, workers, tmp_path):
    q = queue
    (tmp_path / "mypwfile").write_text("This is my password")
    (tmp_path / "other").write_text("This is my password\n")
    q.specify_password_file("mypwfile")
    refused = workers.start(q, "--password", "other", "--single-shot")
    assert q.hungry() == 10
    assert refused.wait(60) != 0, "a newline is part of the password"
    assert served_with(q, workers, "--password", "mypwfile") == "served\n"


def test_retries(queue, workers):
    """Fast abort ends attempts, and each counts."""
    q = queue
    q.activate_fast_abort(2)
    workers.start(q, cores=1)
    for _ in range(10):
        run(q, wq.Task("true"))
    t = wq.Task("exec tail -f /dev/null")
    t.specify_max_retries(1)
    assert run(q, t).result == wq.WORK_QUEUE_RESULT_MAX_RETRIES
    assert (t.result_str, t.total_submissions) == ("MAX_RETRIES", 2)
    assert q.stats.workers_fast_aborted == 2


def test_pipelined_submission(served):
    q = served
    submitted = 0
    while submitted < 30 or not q.empty():
        if submitted < 30 and q.hungry():
            t = wq.Task("true")
            t.specify_cores(1)
            submitted = q.submit(t)
        else:
            q.wait(5)
        assert q.stats.tasks_waiting <= 20
    assert q.stats.tasks_done == 30


@contextlib.contextmanager
def web_server(files):
    """Serves {path: bytes}, and counts the requests for each."""
    asked = dict.fromkeys(files, 0)

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            asked[self.path] += 1
            self.send_response(200)
            self.send_header("Content-Length", str(len(files[self.path])))
            self.end_headers()
            self.wfile.write(files[self.path])

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}", asked
        server.shutdown()
        thread.join()


def packed_data(tmp_path):
    (tmp_path / "table.txt").write_text("1 2 3\n")
    subprocess.run(["tar", "-czf", "data.tar.gz", "table.txt"], check=True)
    return (tmp_path / "data.tar.gz").read_bytes()


def test_a_url(served, tmp_path):
    with web_server({"/data.tar.gz": packed_data(tmp_path)}) as (address, asked):
        for _ in range(3):
            t = wq.Task("tar xzf data.tar.gz && cat table.txt")
            t.specify_url(address + "/data.tar.gz", "data.tar.gz", type=WORK_QUEUE_INPUT, cache=True)
            assert run(served, t).output == "1 2 3\n"
        assert asked == {"/data.tar.gz": 1}, "once for all tasks of a worker"
    with pytest.raises(ValueError, match="only be an input"):
        t.specify_url(address + "/data.tar.gz", "data.tar.gz", type=wq.WORK_QUEUE_OUTPUT)


def test_a_file_command(served, tmp_path):
    with web_server({"/data.tar.gz": packed_data(tmp_path)}) as (address, asked):
        for _ in range(3):
            t = wq.Task("cat data/table.txt")
            t.specify_file_command(f"mkdir %% && curl -s {address}/data.tar.gz | tar xzf - -C %%", "data", type=WORK_QUEUE_INPUT, cache=True)
            assert run(served, t).output == "1 2 3\n"
        assert asked == {"/data.tar.gz": 1}
        t = wq.Task("cat data")  # as the manual has it: what the command prints
        t.specify_file_command(f"curl -s {address}/data.tar.gz | tar xzf - -O", "data" , type=WORK_QUEUE_INPUT, cache=True)
        assert run(served, t).output == "1 2 3\n"


def test_watching_an_output(served, tmp_path):
    q = served
    t = wq.Task("echo one > my-file; while ! [ -e STOP ]; do read line < pipe; echo $line >> my-file; [ $line != end ] || touch STOP; done")
    os.mkfifo(tmp_path / "pipe")
    t.specify_command(t.command.replace("< pipe", f"< {tmp_path}/pipe"))
    t.specify_output_file("my-file", flags = wq.WORK_QUEUE_WATCH)
    q.submit(t)
    while not ((tmp_path / "my-file").exists() and (tmp_path / "my-file").read_text() == "one\n"):
        assert q.wait(0.1) is None, "it ended without having been watched"
    (tmp_path / "pipe").write_text("end\n")
    assert q.wait(60) is t and (tmp_path / "my-file").read_text() == "one\nend\n"


def test_optional_outputs(served, tmp_path):
    for code in (0, 1):
        t = wq.Task(f"echo {code} > debug.out; echo {code} > good.out; exit {code}")
        t.specify_output_file("debug.out", flags = wq.WORK_QUEUE_FAILURE_ONLY)
        t.specify_output_file("good.out", flags = wq.WORK_QUEUE_SUCCESS_ONLY)
        assert run(served, t).result == wq.WORK_QUEUE_RESULT_SUCCESS
        assert (tmp_path / "debug.out").exists() == (code == 1) and (tmp_path / "good.out").read_text() == "0\n"


def test_fast_abort(queue, workers, tmp_path):
    """The first attempt never ends; another one does."""
    q = queue
    q.activate_fast_abort(2)
    workers.start(q, cores=1)
    for _ in range(10):
        run(q, wq.Task("true"))
    t = wq.Task(f"mkdir {tmp_path}/first 2>&- && exec tail -f /dev/null; echo second")
    assert run(q, t).output == "second\n" and t.total_submissions == 2


def test_system_and_architecture_in_names(served, tmp_path):
    (tmp_path / f"my-executable.{platform.system()}.{platform.machine()}").write_text("#!/bin/sh\necho mine\n")
    os.chmod(f"my-executable.{platform.system()}.{platform.machine()}", 0o755)
    t = wq.Task("./my-exe")
    t.specify_input_file("my-executable.$OS.$ARCH", "my-exe")
    assert run(served, t).output == "mine\n"


def test_cancelling(queue):
    q = queue
    for _ in range(5):
        t = wq.Task("true")
        t.specify_tag("my-tag")
        taskid = q.submit(t)
    t = q.cancel_by_taskid(taskid)
    assert t.id == taskid
    t = q.cancel_by_tasktag("my-tag")
    assert t.tag == "my-tag"
    while q.cancel_by_tasktag("my-tag"):
        pass
    assert q.empty() and q.stats.tasks_cancelled == 5


def test_the_blacklist(served):
    q = served
    q.submit(wq.Task("true"))
    t = q.wait(60)
    q.blacklist(t.hostname)
    q.submit(wq.Task("true"))
    assert q.blocked_hosts == [t.hostname] and q.wait(0.5) is None
    q.blacklist_clear(t.hostname)
    assert q.blocked_hosts == [] and q.wait(60).return_status == 0


def test_statistics(served, capsys):
    q = served
    run(q, wq.Task("true"))
    stats = q.stats
    print(stats.workers_busy)
    assert capsys.readouterr().out == "0\n"


def test_logs(workers, tmp_path):
    q = wq.WorkQueue(debug_log = "my.debug.log", stats_log = "my.statslog", transactions_log = "my.tr.log")
    workers.start(q)
    t = wq.Task("true")
    t.specify_cores(1)
    t.specify_memory(80)
    run(q, t)
    q.specify_category_max_resources("killed", {"cores": 1})
    killed = wq.Task("echo said > made; cat given; kill -9 $$")
    killed.specify_category("killed")
    killed.specify_buffer("x" * (1 << 20), "given")
    killed.specify_output_file("made", cache=True)
    run(q, killed)
    q.close()
    debug = (tmp_path / "my.debug.log").read_text()
    assert "TASK 1 RUNNING" in debug and "TRANSFER INPUT 2" in debug and "TRANSFER OUTPUT 2" in debug and "task 2 attempt 1" in debug
    assert killed.total_bytes_sent >= 1 << 20 and killed.total_bytes_received >= len("said\n") + (1 << 20)
    header, *rows = (tmp_path / "my.statslog").read_text().splitlines()
    assert header.startswith("# timestamp workers_connected workers_init workers_idle workers_busy workers_able")
    assert {"workers_blocked", "workers_blacklisted", "time_execute", "time_workers_execute"} <= set(header.split())
    assert rows and all(len(row.split()) == len(header.split()) - 1 and int(row.split()[0]) > 1e15 for row in rows)
    lines = (tmp_path / "my.tr.log").read_text().splitlines()
    records = [line.split() for line in lines if line and not line.startswith("#")]
    assert records[0][2:] == ["MANAGER", "START"] and records[-1][2:] == ["MANAGER", "END"]
    life = [record for record in records if record[2:4] == ["TASK", "1"]]
    assert [record[4] for record in life] == ["WAITING", "RUNNING", "WAITING_RETRIEVAL", "RETRIEVED", "DONE"]
    asked = json.loads("".join(life[0][7:]))
    assert life[0][5:7] == ["default", "FIRST_RESOURCES"] and asked["cores"] == [1, "cores"] and asked["memory"] == [80, "MB"]
    assert life[3][5:7] == life[4][5:7] == ["SUCCESS", "0"]
    assert [int(record[0]) for record in records] == sorted(int(record[0]) for record in records)
    categories = [record[3:] for record in records if record[2] == "CATEGORY"]
    assert len(categories) == len(set(map(tuple, categories)))
    end = next(record for record in records if record[2:5] == ["TASK", "2", "DONE"])
    assert end[5:7] == ["SIGNAL", "9"]
    used = json.loads("".join(end[8:]))
    # 17 bytes describe the file.
    assert used["wq_input_size"] == [round(1 + 17 / (1 << 20), 6), "MB"]
    assert used["wq_output_size"][0] > 0 and {"wq_input_time", "wq_output_time"} <= set(used)
    flags = {record[3]: record[5] for record in records if record[2] == "TRANSFER"}
    assert flags == {"INPUT": "0", "OUTPUT": "1"}


def test_tuning(queue):
    q = queue
    assert q.tune("hungry-minumum", 20) == 0
    assert q.hungry() == 20
