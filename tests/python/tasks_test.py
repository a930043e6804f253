"""Tasks and queues: the methods of the manual."""

import os
import pathlib
import sys
import time

import pytest

import ndcctools.work_queue as wq
from conftest import finish, interrupted_after, python, run


def test_a_command_with_files(served, tmp_path):
    (tmp_path / "my-file").write_text("hello\n")
    t = wq.Task("gzip < my-file > my-file.gz; echo said; echo wrong >&2; exit 3")
    t.specify_input_file("my-file", "my-file", cache=False)
    t.specify_output_file("my-file.gz", "my-file.gz", cache=False)
    t.specify_cores(1)
    t.specify_memory(100)
    t.specify_tag("config-4.5.0")
    taskid = served.submit(t)
    assert taskid == 1 and t.id == 1
    assert served.wait(60) is t
    assert (t.output, t.return_status, t.exit_status, t.tag) == ("said\nwrong\n", 3, 3, "config-4.5.0")
    assert (t.result, t.result_str) == (wq.WORK_QUEUE_RESULT_SUCCESS, "SUCCESS")
    assert (tmp_path / "my-file.gz").read_bytes()[:2] == b"\x1f\x8b"
    assert t.resources_requested.cores == 1 and t.resources_requested.memory == 100
    assert t.resources_allocated.cores >= 1 and t.resources_measured.wall_time >= 0
    assert t.limits_exceeded is None
    assert 0 < t.submit_time <= t.finish_time <= time.time() * 1e6
    assert served.wait(5) is None and served.empty()


def test_submit_again(served):
    t = wq.Task("echo once")
    assert run(served, t).output == "once\n"
    assert served.submit(t) == 2
    assert served.wait(60) is t and t.output == "once\n"


def test_a_task_in_a_queue_cannot_be_changed(queue):
    t = wq.Task("true")
    queue.submit(t)
    with pytest.raises(RuntimeError, match="is in a queue"):
        t.specify_cores(1)
    with pytest.raises(RuntimeError, match="is in a queue"):
        queue.submit(t)


def test_clones(served):
    t = wq.Task("echo $WHO")
    t.specify_environment_variable("WHO", "me")
    twin = t.clone()
    twin.specify_environment_variable("WHO", "you")
    assert (run(served, t).output, run(served, twin).output) == ("me\n", "you\n")
    function = wq.PythonTask(pow, 2, 5)
    assert run(served, function.clone()).output == 32


def test_bytes_that_are_no_text(served):
    t = wq.Task(b"printf '\\377a'")
    assert run(served, t).output == "\udcffa"


def test_cancelling(queue):
    for number in range(3):
        t = wq.Task("sleep 100")
        t.specify_tag("my-tag")
        t.specify_category("long")
        queue.submit(t)
    assert queue.cancel_by_taskid(2).id == 2
    first = queue.cancel_by_tasktag("my-tag").id
    assert {first, *(t.id for t in queue.cancel_by_category("long"))} == {1, 3}
    assert queue.cancel_by_tasktag("my-tag") is None and queue.empty()


def test_tags_and_priorities(queue, workers):
    for number in range(4):
        t = wq.Task(f"echo {number}")
        t.specify_tag("even" if number % 2 == 0 else "odd")
        t.specify_priority(number)
        t.specify_cores(1)
        queue.submit(t)
    workers.start(queue, cores=1)
    assert {queue.wait_for_tag("odd", 60).output for _ in range(2)} == {"1\n", "3\n"}
    assert queue.wait_for_tag("odd", 60) is None
    assert len(finish(queue)) == 2


@pytest.mark.parametrize("tag", ["text", b"b\xff", pathlib.Path("a/path")])
def test_tags_of_all_kinds(served, tag):
    t = wq.Task("true")
    t.specify_tag(tag)
    served.submit(t)
    assert served.wait_for_tag(tag, 60) is t


def test_statistics(served):
    stats = served.stats
    assert stats.tasks_submitted == 0
    run(served, wq.Task("true"))
    assert served.stats is stats
    assert (stats.tasks_submitted, stats.tasks_done, stats.workers_connected) == (1, 1, 1)
    assert served.stats_category("default").tasks_done == 1
    assert [one["category"] for one in served.status("categories")] == ["default", "whole queue"]
    assert served.status("queue")[0]["tasks_done"] == 1
    assert served.status("tasks") == []
    served.submit(wq.Task("sleep 100"))
    assert served.status("tasks")[0]["command"] == "sleep 100"


def test_categories(served):
    served.enable_monitoring()
    served.specify_category_max_resources("my-category-a", {"cores": 2, "memory": 1024, "disk": 2048, "gpus": 0})
    served.specify_category_max_resources("my-category-b", {"cores": 1})
    served.specify_category_max_resources("my-category-c", {})
    served.specify_category_min_resources("my-category-b", {"memory": 512})
    served.specify_category_mode("my-category-b", served.WORK_QUEUE_ALLOCATION_MODE_MAX_THROUGHPUT)
    t = wq.Task("true")
    t.specify_category("my-category-a")
    run(served, t)
    assert t.resources_allocated.cores == 2
    assert t.resources_measured.cores >= 0
    with pytest.raises(ValueError, match="unknown resource 'core'"):
        served.specify_category_max_resources("a", {"core": 2})
    with pytest.raises(ValueError, match="cores"):
        served.specify_max_resources({"cores": 1e30})


def test_settings_may_come_late(queue, workers, tmp_path):
    queue.submit(wq.Task("true"))
    assert queue.hungry() == 9
    workers.start(queue)
    assert queue.wait(60).return_status == 0
    (tmp_path / "mypwfile").write_text("This is my password\n")
    (tmp_path / "mypwfile").chmod(0o644)
    with pytest.warns(UserWarning, match="others may read it: chmod 600"):
        queue.specify_password_file("mypwfile")
    while queue.stats.workers_connected:  # who has joined without it leaves
        assert queue.wait(0.01) is None
    queue.specify_name("late")
    queue.specify_log("my.statslog")
    queue.specify_transactions_log("my.tr.log")
    queue.submit(wq.Task("true"))
    workers.start(queue, "--password", str(tmp_path / "mypwfile"))
    assert queue.wait(60).return_status == 0 and queue.name == "late"
    events = [line.split()[2:6] for line in (tmp_path / "my.tr.log").read_text().splitlines() if not line.startswith("#")]
    assert ["MANAGER", "START"] in events and ["TASK", "2", "WAITING", "default"] in events
    (tmp_path / "mypwfile").chmod(0o666)
    with pytest.raises(RuntimeError, match="others may change it"):
        queue.specify_password_file("mypwfile")
    with pytest.raises(RuntimeError, match="no-such-folder"):
        queue.specify_log("no-such-folder/log")
    with pytest.raises(RuntimeError, match="no-such-file"):
        wq.WorkQueue(0).specify_password_file("no-such-file")


def test_tuning(queue):
    assert queue.tune("hungry-minimum", 20) == 0
    assert queue.tune("hungry-minumum", 20) == 0  # as the manual has it
    with pytest.warns(UserWarning, match="hungry-max"):
        assert queue.tune("hungry-max", 20) == -1
    assert queue.tune("reconnect-timeout", 0) == 0
    assert queue.tune("reconnect-timeout", 10) == 0
    with pytest.warns(UserWarning, match="reconnect-timeout takes 0, or a number of at least 10"):
        assert queue.tune("reconnect-timeout", 9.9) == -1


def test_ports(queue):
    with pytest.raises(RuntimeError, match=str(queue.port)):
        wq.WorkQueue(queue.port)
    with wq.WorkQueue((queue.port, queue.port + 50)) as other:
        assert queue.port < other.port <= queue.port + 50


def test_wait_ends_in_time(queue):
    queue.submit(wq.Task("true"))
    begun = time.monotonic()
    assert queue.wait(0.2) is None
    assert 0.2 <= time.monotonic() - begun < 20


def test_interrupts_end_waits(queue):
    queue.submit(wq.Task("true"))
    for wait in (lambda: queue.wait(), lambda: queue.wait(100), lambda: queue.wait_for_tag("", 100)):
        with interrupted_after(0.1), pytest.raises(KeyboardInterrupt):
            wait()


def test_submission_that_cannot_run(queue):
    t = wq.Task("true")
    t.specify_input_file("a", "../a")
    with pytest.raises(ValueError, match=r"\.\./a"):
        queue.submit(t)
    with pytest.raises(ValueError, match="needs a command"):
        queue.submit(wq.Task(""))
    with pytest.raises(ValueError, match="type"):
        t.specify_file("a", "b", type=7)
    with pytest.raises(TypeError, match=r"^submit takes a Task, not 'echo hi'; write Task\('echo hi'\)$"):
        queue.submit("echo hi")
    with pytest.raises(TypeError, match="^submit takes a Task, not 5$"):
        queue.submit(5)
    with pytest.raises(TypeError):
        t.specify_buffer(5, "x")
    with pytest.raises(ValueError, match="a command cannot have a zero byte"):
        queue.submit(wq.Task("echo a\0b"))
    for name, value, said in (("A=B", "x", "a variable cannot be named 'A=B'"), ("", "x", "a variable cannot be named ''"),
                              ("A", "a\0b", "the value of the variable A has a zero byte"), ("A\0", None, "a variable cannot be named")):
        t = wq.Task("true")
        t.specify_environment_variable(name, value)
        with pytest.raises(ValueError, match=said):
            queue.submit(t)


@pytest.mark.parametrize("call, told", [
    (lambda q, t: t.specify_cores("1"), "cores is '1': give a number"),
    (lambda q, t: t.specify_memory("4GB"), "memory is '4GB': give a number"),
    (lambda q, t: t.specify_priority(None), "priority is None: give a number"),
    (lambda q, t: q.specify_category_max_resources("a", {"gpus": "all"}), "gpus is 'all': give a number"),
    (lambda q, t: q.wait("5"), "timeout is '5': give a number"),
    (lambda q, t: q.map(max, [1], [2]), "chunksize is a list: give a whole number. .* tuples, by zip"),
    (lambda q, t: q.submit(wq.PythonTask(len, [q])), r"argument 1 cannot be sent to a worker: \[0\] is .*a WorkQueue stays in its process"),
    (lambda q, t: q.submit(wq.PythonTask(max, 1, (n for n in [2]))), "argument 2 cannot be sent to a worker: TypeError: .*generator.*; make it a list"),
    (lambda q, t: q.submit(wq.PythonTask(max, key=open(os.devnull, "w"))), "argument 'key' cannot be sent .*; open it in the function"),
    (lambda q, t: wq.Task(max), r"a Task runs a command: a function needs PythonTask\(max, ...\)"),
])
def test_types_that_cannot_be(queue, call, told):
    with pytest.raises(TypeError, match=told):
        call(queue, wq.Task("true"))


def test_a_queue_without_a_port_needs_ranks():
    with pytest.raises(RuntimeError, match="start the script by work_queue_python, whose ranks serve its first queue, or give a port"):
        wq.WorkQueue(None)


def test_values_that_cannot_be(queue):
    t = wq.Task("true")
    for amount in (1e300, float("inf"), float("nan")):
        with pytest.raises(ValueError, match="that is no amount"):
            t.specify_memory(amount)
    with pytest.raises(TypeError, match="expected str, bytes or os.PathLike object, not int"):
        t.specify_tag(5)
    with pytest.raises(UnicodeEncodeError):
        t.specify_tag("\ud800")
    queue.close()
    with pytest.raises(RuntimeError, match="the queue has ended"):
        queue.submit(wq.Task("true"))


def test_lines_of_a_start_that_fails(tmp_path):
    """The function for lines gets them; nobody waits for it without end."""
    ended = python("""
import work_queue as wq
for again in range(2):
    q = wq.WorkQueue(0, say=lambda line: print("said", q._is_over), stats_log="s.h5", contact_file="/no/such/folder/contact")
    try:
        q.hungry()
    except RuntimeError as error:
        print("refused", "/no/such/folder/contact" in str(error))
    q.close()
""", cwd=tmp_path)
    assert ended.returncode == 0, ended.stderr
    lines = ended.stdout.splitlines()
    assert lines.count("refused True") == 2 and "said True" in lines, lines


def test_an_interpreter_that_ends_with_tasks():
    ended = python("import work_queue as wq\nq = wq.WorkQueue(0)\nq.submit(wq.Task('sleep 1000'))\nq.wait(1)\nprint('end')")
    assert (ended.returncode, ended.stdout) == (0, "end\n"), ended.stderr


def test_a_forked_process_leaves_the_queue_alone(served):
    assert run(served, wq.Task("echo a")).output == "a\n"
    child = os.fork()
    if child == 0:
        try:
            served.wait(5)
        except RuntimeError as error:
            os._exit(5 if "belongs to the parent process" in str(error) else 6)
        os._exit(7)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 5
    assert run(served, wq.Task("echo b")).output == "b\n"


def test_a_daemon_begins_its_queue_after_the_fork():
    ended = python("import os, work_queue as wq\nq = wq.WorkQueue(0)\nif os.fork():\n    os.wait()\n    os._exit(0)\n"
                   "q.submit(wq.Task('true'))\nprint(q.hungry())")
    assert (ended.returncode, ended.stdout) == (0, "9\n"), ended.stderr


def test_several_threads(served):
    from concurrent.futures import ThreadPoolExecutor

    def one(number):
        t = wq.Task(f"echo {number}")
        t.specify_tag(str(number))
        t.specify_cores(1)
        served.submit(t)
        return served.wait_for_tag(str(number), 60).output

    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(one, range(40))) == [f"{number}\n" for number in range(40)]


def test_a_queue_that_another_thread_ends(queue):
    import threading

    queue.submit(wq.Task("true"))
    returned = []
    waits = threading.Thread(target=lambda: returned.append(queue.wait()))
    waits.start()
    while queue.stats.time_polling == 0 and waits.is_alive():
        pass
    queue.close()
    waits.join(60)
    assert returned == [None]
    with pytest.raises(RuntimeError, match="has ended"):
        queue.wait(1)


def test_a_forked_process_cannot_submit(queue):
    queue.submit(wq.Task("true"))
    assert queue.wait(0.01) is None
    child = os.fork()
    if child == 0:
        try:
            queue.submit(wq.Task("true"))
        except RuntimeError:
            os._exit(5)
        os._exit(6)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 5


def test_lines_for_a_function_that_raises():
    ended = python("import work_queue as wq\ndef fail(line):\n    raise ValueError('odd')\n"
                   "q = wq.WorkQueue(0, say=fail)\nq.submit(wq.Task('true'))\nq.wait(1)\nprint('goes on')")
    assert (ended.returncode, ended.stdout) == (0, "goes on\n")
    assert "ValueError: odd" in ended.stderr


def test_a_task_of_a_program_s_own_class(served):
    """Its attributes may have any names: ours begin with _wq_."""

    class Mine(wq.Task):
        def __init__(self, command):
            for name in ("result", "tag", "memory", "cores", "category", "priority", "ok", "queue", "owner", "command", "call"):
                setattr(self, "_" + name, name)
            super().__init__(command)

    class MyCall(wq.PythonTask):
        def __init__(self, *args):
            super().__init__(*args)
            self._result = self._args = self._func = self._output = self._method = "mine"

    assert [name for name in dir(wq.RemoteTask) if name.startswith("_") and not name.startswith(("__", "_wq_", "_pybind11"))] == []
    task, call = Mine("echo said"), MyCall(max, 3, 4)
    task.specify_tag("tag")
    task.specify_cores(1)
    for one in (task, call):
        assert run(served, one) is one and one.return_status == 0
    assert (task.output, task.tag, task._result, call.output, call._result) == ("said\n", "tag", "result", 4, "mine")


def test_attributes_that_are_settings(served):
    """A program's own attributes stay as they are, and so do all of its own classes."""
    t = wq.Task("exit $CORES")
    assert repr(t) == "<Task 'exit $CORES', not submitted>" and not hasattr(t, "cores")
    t.cores, t.memory, t.tag, t.max_retries = 2, 0.5, "mine", 3
    t.my_name, t.output_file, t.start_time, t.scores = "own", "a.out", 1.5, [1]
    assert (t.cores, t.memory, t.tag, t.max_retries, t.my_name, t.scores) == (2, 1, "mine", 3, "own", [1])
    t.specify_cores(1)
    assert t.cores == 1 and t.clone().max_retries == 3
    for name, meant in (("core", "cores"), ("memroy", "memory"), ("retries", "max_retries"), ("cpus", "cores")):
        with pytest.raises(AttributeError, match=f"a Task has no setting '{name}'; did you mean '{meant}'"):
            setattr(t, name, 2)
    with pytest.raises(TypeError, match="cores is 'two'"):
        t.cores = "two"
    call = wq.PythonTask(len, [])
    call.exec_method = "direct"

    class Mine(wq.Task):
        retries = 0

    mine = Mine("true")
    mine.retries, mine.cores = 1, "all"
    assert mine.cores == "all" and mine.resources_requested.cores == -1
    served.name = "with-a-name"
    for name in ("retries", "cores", "gpu"):
        with pytest.raises(AttributeError, match=f"a WorkQueue has no setting '{name}'; each task has one: task"):
            setattr(served, name, 3)
    with pytest.raises(AttributeError, match="has no setting 'pasword_file'; did you mean 'password_file'"):
        served.pasword_file = "file"
    served.project = "own"
    assert repr(served) == f"<WorkQueue 'with-a-name' port {served.port}: 0 tasks, not started>"
    served.submit(t)
    assert repr(t) == "<Task 1 'exit $CORES', in its queue>"
    assert served.wait(60) is t and repr(t) == "<Task 1 'exit $CORES', failed: exit 1>"
    assert repr(served).endswith(": 0 tasks waiting, 0 running, 1 ended; 1 workers>")
    served.close()
    assert repr(served).endswith(": ended>")


def test_a_cell_that_runs_again(queue, monkeypatch):
    with pytest.raises(RuntimeError, match="is in use"):
        wq.WorkQueue(queue.port)
    monkeypatch.setattr(sys, "ps1", ">>> ", raising=False)  # as in an interactive session
    queue.submit(wq.Task("true"))
    with pytest.raises(RuntimeError, match=rf"^port {queue.port} has a queue of this program with 1 unfinished task: .*queue.close\(\)"):
        wq.WorkQueue(queue.port)
    queue.cancel_by_taskid(1)
    with wq.WorkQueue(queue.port, say=lambda line: None) as again:
        assert again.port == queue.port and repr(queue).endswith(": ended>")
    with wq.WorkQueue(queue.port):  # nobody has used the one before
        pass
