"""Calls of Python functions at workers."""

import functools
import os
import re
import sys

import cloudpickle
import pytest

import work_queue as wq
from conftest import finish, run

cloudpickle.register_pickle_by_value(sys.modules[__name__])  # workers cannot import this file
counter = 0


def my_sum(x, y):
    import math  # noqa: F401  its import travels

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
        assert (t.command, served.status("tasks")[0]["command"], repr(t)) == ("my_sum", "my_sum", f"<PythonTask {number} 'my_sum', in its queue>")
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


def test_exceptions_are_outputs_with_their_traceback(served):
    def fail(name):
        return {}[name]

    task = run(served, wq.PythonTask(fail, "key"))
    assert (task.result, task.return_status, task.reason) == (wq.WORK_QUEUE_RESULT_SUCCESS, 1, "KeyError: 'key'")
    assert isinstance(task.output, KeyError) and task.output.args == ("key",)
    assert "in fail" in task.output.remote_traceback
    task = run(served, wq.PythonTask(sys.exit, "two\nlines"))
    assert (task.return_status, task.reason) == (1, "the function called sys.exit('two\\nlines')")
    for text, reason in (("\n\nCUDA error: launch failed\nCompile with", "CUDA error: launch failed"), ("\x1b[31mred", "[31mred"),
                         (2000 * "é", (300 - len("RuntimeError: ")) * "é")):
        def fail_with(text):
            error = RuntimeError(text)
            error.__notes__ = ["a note"]
            raise error

        task = run(served, wq.PythonTask(fail_with, text))
        assert task.reason == f"RuntimeError: {reason}"
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
    assert re.fullmatch(r"Odd: 1 2 \(this exception of .*\.fail cannot be pickled: "
                        r"\.lock is <unlocked .*lock.*> \(TypeError: .*lock.*\)\)", str(output)), output


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
    assert re.fullmatch(r"the result of .*\.nest cannot be pickled: "
                        r"\['deep'\]\[1\] is <unlocked .*> \(TypeError: cannot pickle .*lock.*\)", str(output)), output
    assert "in dump_result" in output.remote_traceback


def test_functions_that_cannot_be_pickled(served):
    import threading

    lock = threading.Lock()
    with pytest.raises(TypeError, match=r"the function .*<lambda> cannot be sent to a worker: variable lock is .*lock"):
        served.submit(wq.PythonTask(lambda: lock.locked()))
    with pytest.raises(TypeError, match=r"argument 1 cannot be sent to a worker: \['deep'\]\[1\] is .*lock"):
        served.submit(wq.PythonTask(len, {"deep": [1, lock]}))


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


def test_random_numbers_differ(served):
    def draw():
        import random

        import numpy

        return random.random(), numpy.random.random()

    for _ in range(20):
        served.submit(wq.PythonTask(draw))
    outputs = [task.output for task in finish(served)]
    assert len({first for first, _ in outputs}) == len({second for _, second in outputs}) == 20


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
