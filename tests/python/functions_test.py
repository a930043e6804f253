"""Calls of Python functions at workers."""

import functools
import os
import re
import subprocess
import sys
import time

import cloudpickle
import pytest

import work_queue as wq
from conftest import Workers, finish, run

cloudpickle.register_pickle_by_value(sys.modules[__name__])  # workers cannot import this file
counter = 0
SCRIPT = """
import os, subprocess
import work_queue as wq
import beside

with wq.WorkQueue(0, say=lambda line: None) as q:
    worker = subprocess.Popen([os.environ["WORKER"], "localhost", str(q.port), "--cores", "1"], cwd="/", stdout=subprocess.DEVNULL)
    try:
        many = q.map(beside.times, [2, 3])
        task = wq.PythonTask(beside.times, 4)
        q.submit(task)
        assert q.wait(60) is task
        shared = wq.PythonTask(beside.times, 6)
        shared.specify_exec_method("direct")
        print(many, task.output, q.map(lambda x: beside.times(x), [5]), end=" ")
        q.submit(shared)
        print(q.wait(60).output)
    finally:
        worker.terminate()
        worker.wait()
"""


def my_sum(x, y):
    import math

    return x + y


def test_quick_start_of_the_manual(served):
    for value in range(1, 100):
        task = wq.PythonTask(my_sum, value, value)
        task.specify_cores(1)
        served.submit(task)
    assert sorted(task.output for task in finish(served)) == [2 * value for value in range(1, 100)]


def test_the_name_of_a_function_is_shown(served):
    t = wq.PythonTask(my_sum, 1, 2)
    for number in (1, 2):
        served.submit(t)
        assert (t.command, served.status("tasks")[0]["command"], repr(t)) == ("my_sum", "my_sum", f"<PythonTask {number} 'my_sum'>")
        assert served.wait(60).command == "my_sum" and t.output == 3
    twin = t.clone()
    assert twin.command == "my_sum" and run(served, twin).output == 3
    other = wq.Task("true")
    other.specify_command("false")
    assert other.command == "false"


def test_any_callable(served):
    factor = 3

    class Scale:
        def __init__(self, by):
            self.by = by

        def apply(self, x):
            return self.by * x

    for function, expected in ((lambda x: factor * x, 21), (Scale(5).apply, 35), (len, TypeError), (divmod, TypeError)):
        output = run(served, wq.PythonTask(function, 7)).output
        assert output == expected if isinstance(expected, int) else isinstance(output, expected)
    assert run(served, wq.PythonTask(divmod, 17, 5)).output == (3, 2)
    assert run(served, wq.PythonTask(dict, a=1, b=[2])).output == {"a": 1, "b": [2]}


def test_instances_of_classes_of_the_program_come_back_as_such(served):
    class Pair:
        def __init__(self, a, b):
            self.a, self.b = a, b

    output = run(served, wq.PythonTask(lambda p: Pair(p.b, p.a), Pair(1, 2))).output
    assert type(output) is Pair and (output.a, output.b) == (2, 1)


def test_no_call_sees_what_another_left(served):
    def leave_a_mark():
        import builtins
        import math

        global counter
        counter += 1
        seen = getattr(math, "mark", 0), getattr(builtins, "mark", 0), os.environ.get("MARK"), os.path.exists("mark")
        math.mark = builtins.mark = 1
        os.environ["MARK"] = "1"
        open("mark", "w").close()
        return counter, seen

    for _ in range(10):
        served.submit(wq.PythonTask(leave_a_mark))
    outputs = [task.output for task in finish(served)]
    assert outputs[0][1][:3] == (0, 0, None)
    assert {output[0] for output in outputs} == {1} and {output[1][:3] for output in outputs} == {(0, 0, None)}


def test_direct_calls_share_a_process_but_no_globals(served):
    def leave_a_mark():
        import math

        global counter
        counter += 1
        seen, math.mark = getattr(math, "mark", 0), 1
        return os.getpid(), counter, seen

    def outputs(method):
        for _ in range(10):
            task = wq.PythonTask(leave_a_mark)
            task.specify_exec_method(method)
            served.submit(task)
        return [task.output for task in finish(served)]

    direct = outputs("direct")
    assert len({pid for pid, _, _ in direct}) < 10 and {own for _, own, _ in direct} == {1}
    assert {seen for _, _, seen in direct} == {0, 1}
    forked = outputs("fork")
    assert len({pid for pid, _, _ in forked}) == 10 and {seen for _, _, seen in forked} == {0}
    assert not {pid for pid, _, _ in forked} & {pid for pid, _, _ in direct}
    with pytest.raises(ValueError, match="'thread': give one of 'fork', 'direct'"):
        wq.PythonTask(len, ()).specify_exec_method("thread")


def test_direct_calls_find_the_modules_of_their_own_folder(served):
    def version():
        import of_the_task

        return of_the_task.VERSION

    def task_with(number):
        task = wq.PythonTask(version)
        task.specify_exec_method("direct")
        task.specify_buffer(f"VERSION = {number}\n", "of_the_task.py")
        return task

    assert [run(served, task_with(number)).output for number in range(5)] == list(range(5))


def test_exceptions_are_outputs_with_their_traceback(served):
    def fail(name):
        return {}[name]

    task = run(served, wq.PythonTask(fail, "key"))
    assert (task.result, task.return_status, task.reason) == (wq.WORK_QUEUE_RESULT_SUCCESS, 1, "KeyError: 'key'")
    assert isinstance(task.output, KeyError) and task.output.args == ("key",)
    assert "in fail" in task.output.remote_traceback
    task = run(served, wq.PythonTask(sys.exit, "two\nlines"))
    assert (task.return_status, task.reason) == (1, "the function called sys.exit('two\\nlines')")
    task = run(served, wq.PythonTask(fail.__class__, "too", "many"))
    assert task.return_status == 1 and task.reason.startswith("TypeError: ")
    task = run(served, wq.PythonTask(dict, a=1))
    assert (task.return_status, task.reason, task.output) == (0, "", {"a": 1})


def test_files_of_success_and_of_failure(served, tmp_path):
    """A function that raises has failed, as a command with an exit code."""
    def make(fail):
        for name in ("good", "bad"):
            with open(name, "w") as report:
                report.write(str(fail))
        return 1 // (not fail)

    for fail, made in ((True, "bad"), (False, "good")):
        task = wq.PythonTask(make, fail)
        task.specify_output_file(tmp_path / "good", success_only=True)
        task.specify_output_file(tmp_path / "bad", failure_only=True)
        assert run(served, task).result == wq.WORK_QUEUE_RESULT_SUCCESS
        assert [name for name in ("good", "bad") if (tmp_path / name).exists()] == [made]
        (tmp_path / made).unlink()


def test_an_exception_tells_why_an_output_file_is_missing(served, tmp_path):
    def fail():
        raise KeyError("why")

    task = wq.PythonTask(fail)
    task.specify_output_file(tmp_path / "made", "made")
    output = run(served, task).output
    assert isinstance(output, KeyError) and output.args == ("why",)
    assert (task.result, task.return_status) == (wq.WORK_QUEUE_RESULT_OUTPUT_MISSING, 1)
    assert task.reason.startswith("KeyError: 'why'; ") and task.reason.endswith("'made'")
    task = wq.PythonTask(lambda: "returned")
    task.specify_output_file(tmp_path / "made", "made")
    assert "did not make 'made'" in str(run(served, task).output)


def test_exceptions_that_cannot_be_sent(served):
    class Odd(Exception):
        def __init__(self, a, b):
            super().__init__(f"{a} {b}")
            self.lock = __import__("threading").Lock()

    def fail():
        raise Odd(1, 2)

    output = run(served, wq.PythonTask(fail)).output
    assert isinstance(output, wq.RemoteError)
    assert re.fullmatch(r"Odd: 1 2 \(this exception of .*\.fail cannot be pickled: \.lock is <unlocked .*lock.*> \(TypeError: .*lock.*\)\)", str(output)), output


@pytest.mark.parametrize("end, told", [("__import__('sys').exit(3)", "sys.exit(3)"), ("(_ for _ in ()).throw(KeyboardInterrupt)", "KeyboardInterrupt")])
def test_what_is_no_error_is_told(served, end, told):
    output = run(served, wq.PythonTask(eval, end)).output
    assert isinstance(output, wq.RemoteError) and told in str(output)


def test_ends_of_the_process_are_no_results(served):
    def exit_at_once(code):
        os._exit(code)

    def crash():
        import ctypes

        ctypes.string_at(0)

    task = run(served, wq.PythonTask(exit_at_once, 3))
    assert isinstance(task.output, wq.PythonTaskNoResult)
    assert task.return_status == 3
    task = run(served, wq.PythonTask(exit_at_once, 0))
    assert isinstance(task.output, wq.PythonTaskNoResult) and "before the function returned" in task.reason
    task = run(served, wq.PythonTask(crash))
    assert isinstance(task.output, wq.PythonTaskNoResult)
    assert (task.result, task.return_status) == (wq.WORK_QUEUE_RESULT_SIGNAL, 11)
    assert run(served, wq.PythonTask(my_sum, 1, 2)).output == 3


def test_infinite_recursion(served):
    def fall(n):
        return fall(n + 1)

    assert isinstance(run(served, wq.PythonTask(fall, 0)).output, RecursionError)


def test_output_to_stdout(served):
    def speak():
        import sys

        print("x" * 5_000_000)
        print("to stderr", file=sys.stderr)
        os.system("echo of a child")
        return "done"

    task = run(served, wq.PythonTask(speak))
    assert task.output == "done"
    assert len(task.std_output) == 5_000_001 + len("to stderr\n") + len("of a child\n")


def test_results_that_cannot_be_pickled(served):
    output = run(served, wq.PythonTask(lambda: __import__("threading").Lock())).output
    assert isinstance(output, TypeError) and "lock" in str(output)

    def nest(*, deep):
        return {"deep": [1, deep()]}

    output = run(served, wq.PythonTask(functools.partial(nest, deep=__import__("threading").Lock))).output
    assert isinstance(output, TypeError)
    assert re.fullmatch(r"the result of .*\.nest cannot be pickled: \['deep'\]\[1\] is <unlocked .*> \(TypeError: cannot pickle .*lock.*\)", str(output)), output
    assert "in dump_result" in output.remote_traceback


def test_functions_that_cannot_be_pickled(served):
    import threading

    lock = threading.Lock()
    with pytest.raises(TypeError, match=r"the function .*<lambda> cannot be sent to a worker: variable lock is .*lock"):
        served.submit(wq.PythonTask(lambda: lock.locked()))
    with pytest.raises(TypeError, match=r"an argument cannot be sent to a worker: \[0\]\[0\]\['deep'\]\[1\] is .*lock"):
        served.submit(wq.PythonTask(len, {"deep": [1, lock]}))


def test_a_module_that_the_worker_lacks(served, tmp_path, monkeypatch):
    (tmp_path / "only_here.py").write_text("def f():\n    return 1\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", "")
    import only_here

    assert isinstance(run(served, wq.PythonTask(only_here.f)).output, ModuleNotFoundError)
    task = wq.PythonTask(only_here.f)
    task.specify_input_file("only_here.py")
    assert run(served, task).output == 1


def test_a_module_beside_the_script(tmp_path):
    """The script and the worker are started from other folders. What is beside another script is not found."""
    for folder, factor in (("study", 2), ("other", 3)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "beside.py").write_text(f"def times(x):\n    return {factor} * x\n")
        (tmp_path / folder / "script.py").write_text(SCRIPT)
    (tmp_path / "beside.py").write_text("raise ImportError('the wrong one')\n")
    for folder, told in (("study", "[4, 6] 8 [10] 12"), ("other", "[6, 9] 12 [15] 18")):
        ended = subprocess.run([sys.executable, "-B", f"../{folder}/script.py"], cwd=tmp_path / "study", capture_output=True, text=True,
                               timeout=100, check=False)
        assert (ended.stdout.strip(), ended.returncode) == (told, 0), ended.stderr


def test_its_folder_and_environment(served):
    def look():
        return open("data").read(), os.environ["NAME"], os.environ["CORES"], "HOME" in os.environ, os.getcwd()

    task = wq.PythonTask(look)
    task.specify_buffer("text", "data")
    task.specify_environment_variable("NAME", "value")
    task.specify_environment_variable("HOME", None)
    task.specify_cores(2)
    data, name, cores, has_home, folder = run(served, task).output
    assert (data, name, cores, has_home) == ("text", "value", "2", False)
    assert folder != os.getcwd()


def leave_a_file(name):
    found = os.listdir()
    with open(name, "w") as file:
        file.write("mine")
    here = os.getcwd()
    return found, here == os.environ["WORK_QUEUE_SANDBOX"] == os.environ["TMPDIR"], here


@pytest.mark.parametrize("method", ["fork", "direct"])
def test_each_call_has_its_own_folder(queue, workers, method):
    workers.start(queue)
    for number in range(8):
        t = wq.PythonTask(leave_a_file, f"file{number}")
        t.specify_exec_method(method)
        queue.submit(t)
    folders = set()
    for t in finish(queue):
        found, own, folder = t.output
        assert (found, own) == ([], True)
        folders.add(folder)
    assert folders and not any(os.listdir(folder) for folder in folders if os.path.exists(folder))


def test_arrays(served):
    numpy = pytest.importorskip("numpy")
    array = numpy.arange(1_000_000, dtype=float)
    result = run(served, wq.PythonTask(lambda a: a * 2, array)).output
    assert (result == array * 2).all()
    result[0] = 5  # writable


def test_time_limits_and_cancelling(served):
    def wait_for_ever():
        import threading

        threading.Event().wait()

    task = wq.PythonTask(wait_for_ever)
    task.specify_running_time_max(1)
    assert run(served, task).result == wq.WORK_QUEUE_RESULT_TASK_MAX_RUN_TIME
    assert isinstance(task.output, wq.PythonTaskNoResult)
    task = wq.PythonTask(wait_for_ever)
    taskid = served.submit(task)
    assert served.cancel_by_taskid(taskid) is task
    assert served.empty()


def test_what_calls_import_is_imported_for_later_ones(served):
    def imported():
        import sys

        before = "numpy" in sys.modules, "xml.dom.minidom" in sys.modules
        import numpy
        import xml.dom.minidom

        return before, len(os.listdir("/proc/self/task"))

    assert run(served, wq.PythonTask(imported)).output[0] == (False, False)
    # The interpreter imports it aside, so some calls may still come too early.
    before, end = None, time.monotonic() + 90
    while before != (True, True) and time.monotonic() < end:
        (before, threads) = run(served, wq.PythonTask(imported)).output
    assert before == (True, True) and threads == 1


def test_an_import_that_crashes_or_starts_threads_stays_with_its_call(served, tmp_path):
    folder = tmp_path / "site"
    folder.mkdir()
    (folder / "wq_crashes.py").write_text("import os\nif os.getppid() and 'WORK_QUEUE_TASK_ID' not in os.environ:\n    os._exit(3)\n")
    (folder / "wq_threads.py").write_text("import threading\nthreading.Thread(target=threading.Event().wait, daemon=True).start()\n")
    with wq.WorkQueue(0, say=lambda line: None) as queue:
        worker = Workers(tmp_path)
        worker.start(queue, environment={"PYTHONPATH": str(folder)})
        try:
            for _ in range(3):
                for name in ("wq_crashes", "wq_threads"):
                    output = run(queue, wq.PythonTask(lambda name: __import__(name).__name__, name)).output
                    assert output == name
            assert run(queue, wq.PythonTask(lambda: "wq_threads" in sys.modules)).output is False
        finally:
            worker.end()


def test_random_numbers_differ(served):
    def draw():
        import random

        import numpy

        return random.random(), numpy.random.random()

    for _ in range(20):
        served.submit(wq.PythonTask(draw))
    outputs = [task.output for task in finish(served)]
    assert len({first for first, _ in outputs}) == len({second for _, second in outputs}) == 20


def packed_environment(folder, name, version="one"):
    """An archive as conda-pack makes them: its Python is the one of this test, and tells that it is packed."""
    root = folder / f"root-{name}"
    (root / "bin").mkdir(parents=True)
    python = root / "bin" / "python3"
    python.write_text(f'#!/bin/sh\nPACKED={version} exec {sys.executable} "$@"\n')
    python.chmod(0o755)
    subprocess.run(["tar", "-czf", folder / name, "-C", root, "bin"], check=True)


def test_environments(queue, tmp_path, workers):
    packed_environment(tmp_path, "my-env.tar.gz")
    packed_environment(tmp_path, "other-env.tar.gz", "other")
    (tmp_path / "temporary").mkdir()
    for _ in range(2):
        workers.start(queue, environment={"TMPDIR": str(tmp_path / "temporary")})
    for environment in ("my-env.tar.gz", "other-env.tar.gz") * 5:
        task = wq.PythonTask(lambda: (os.environ.get("PACKED"), os.environ["PATH"].split(":")[0]))
        task.specify_environment(environment)
        task.specify_cores(1)
        queue.submit(task)
    queue.submit(wq.PythonTask(lambda: (os.environ.get("PACKED"), "")))
    outputs = [task.output for task in finish(queue)]
    assert sorted(str(packed) for packed, _ in outputs) == ["None"] + 5 * ["one"] + 5 * ["other"]
    folders = {folder for _, folder in outputs if folder}
    assert len(folders) == 2, "each is unpacked once for both workers"
    assert all(folder.startswith(str(tmp_path / "temporary")) for folder in folders)


@pytest.mark.parametrize("content, told", [(b"no archive", "tar"), (None, "no bin/python3")])
def test_environments_that_are_none(served, tmp_path, content, told):
    if content is None:
        (tmp_path / "empty").mkdir()
        subprocess.run(["tar", "-cf", tmp_path / "env.tar", "-C", tmp_path, "empty"], check=True)
    else:
        (tmp_path / "env.tar").write_bytes(content)
    task = wq.PythonTask(my_sum, 1, 2)
    task.specify_environment("env.tar")
    assert isinstance(run(served, task).output, wq.PythonTaskNoResult)
    assert "env.tar: the environment cannot be used" in task.reason and told in task.reason
    assert run(served, wq.PythonTask(my_sum, 1, 2)).output == 3


def test_another_version_of_python(served, tmp_path, monkeypatch):
    """The worker's version is what it is; so the manager's is another one."""
    monkeypatch.setattr("work_queue.function_task._VERSION", "3.5")
    output = run(served, wq.PythonTask(my_sum, 1, 2)).output
    assert isinstance(output, wq.RemoteError) and "the manager's 3.5" in str(output)


def test_a_worker_without_python(queue, workers, tmp_path):
    """It is given no functions; what waits says why."""
    workers.start(queue, environment={"PATH": str(tmp_path), "WORK_QUEUE_PYTHON": ""})
    assert run(queue, wq.Task("/bin/true")).return_status == 0
    taskid = queue.submit(wq.PythonTask(my_sum, 1, 2))
    assert queue.wait(1) is None
    assert "python" in queue.why(taskid)


def test_a_wrong_python_is_named_with_the_remedy(queue, workers, tmp_path):
    """A worker that WORK_QUEUE_PYTHON names an unusable Python for still tells each task why."""
    (tmp_path / "plain").write_text("no program\n")
    for name, told in (("/nosuch/python3", "No such file"), ("python3.99", "No such file"), (str(tmp_path / "plain"), "Permission denied"),
                       ("/bin/true", "the interpreter /bin/true ended")):
        worker = workers.start(queue, environment={"WORK_QUEUE_PYTHON": name})
        output = run(queue, wq.PythonTask(my_sum, 1, 2)).output
        assert isinstance(output, wq.PythonTaskNoResult) and "\n" not in str(output)
        for part in (name, told, "WORK_QUEUE_PYTHON", "3.9"):
            assert part in str(output), f"{name}: {output}"
        worker.terminate()
        worker.wait(60)


def test_missing_modules_name_the_python(queue, workers, tmp_path):
    """One without cloudpickle as well. The name is looked up in PATH, as a shell does."""
    (tmp_path / "bare").write_text(f'#!/bin/sh\nexec {sys.executable} -S "$@"\n')
    (tmp_path / "bare").chmod(0o755)
    workers.start(queue, environment={"WORK_QUEUE_PYTHON": "bare", "PATH": f"{tmp_path}:{os.environ['PATH']}", "PYTHONPATH": ""})

    def import_one():
        import no_such_module

        return no_such_module

    output = run(queue, wq.PythonTask(import_one)).output
    assert isinstance(output, ModuleNotFoundError) and f"named 'cloudpickle' in the worker's Python, {sys.executable}" in str(output)
    assert "WORK_QUEUE_PYTHON" in str(output)
    assert repr(output) == f"ModuleNotFoundError({str(output)!r})"
    (output,) = queue.map(__import__, ["no_such_module"], chunksize=1)
    assert str(output) == f"No module named 'no_such_module' in the worker's Python, {sys.executable}: install it there, send its file with the task, " \
        "or call cloudpickle.register_pickle_by_value() for it"


def test_a_large_environment_is_refused_alone(served):
    large = wq.PythonTask(my_sum, 1, 2)
    for number in range(3):
        large.specify_environment_variable(f"LARGE{number}", 80_000 * "x")
    others = [wq.PythonTask(my_sum, number, 1) for number in range(5)]
    for task in (large, *others):
        task.specify_cores(1)
        served.submit(task)
    finish(served)
    assert isinstance(large.output, wq.PythonTaskNoResult) and "environment variables are too long" in large.reason
    assert [task.output for task in others] == [1, 2, 3, 4, 5]


def test_what_c_wrote_and_streams_that_are_gone(served):
    def speak():
        import ctypes

        ctypes.CDLL(None).printf(b"by C\n")
        sys.stdout.close()
        return "done"

    task = run(served, wq.PythonTask(speak))
    assert task.output == "done" and "by C" in task.std_output


def test_exceptions_with_arrays(served):
    def fail():
        import numpy

        error = ValueError("wrong")
        error.array = numpy.arange(5)
        raise error

    output = run(served, wq.PythonTask(fail)).output
    assert isinstance(output, ValueError) and output.array.sum() == 10
