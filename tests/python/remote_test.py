"""Remote tasks: functions of a worker's coprocess, which is made of a file of functions."""

import json
import math
import os
import pathlib
import re
import subprocess
import sys

import pytest

import ndcctools.work_queue as wq
from conftest import finish, run

SERIALIZE = pathlib.Path(__file__).resolve().parents[2] / "src" / "functions" / "coprocess" / "serverize" / "work_queue_serverize"
FUNCTIONS = '''
import os

count = 0


def name():
    return "sum_coprocess"


def my_sum(x, y):
    return x + y


def process():
    global count
    count += 1
    return [os.getpid(), count]


def double_all(items):
    return [2 * item for item in items]


def multiply_pairs(pairs):
    return [a * b for a, b in pairs]


def largest(items):
    return max(items)


def leave(code):
    os._exit(code)


def same(value):
    return value
'''


@pytest.fixture
def served(queue, workers, tmp_path):
    """A queue with a worker of two coprocesses."""
    (tmp_path / "functions.py").write_text(FUNCTIONS)
    names = ("my_sum", "process", "double_all", "multiply_pairs", "largest", "leave", "same")
    subprocess.run([sys.executable, SERIALIZE, "--src", "functions.py", *(word for name in names for word in ("--function", name)),
                    "--dest", "coprocess.py"], check=True, cwd=tmp_path)
    workers.start(queue, "--coprocess", str(tmp_path / "coprocess.py"), "--num_coprocesses", "2")
    return queue


def result(task):
    answer = json.loads(task.output)
    return answer["StatusCode"], answer["Result"]


def test_arguments_as_the_manual_has_them(served):
    for arguments, named in (((1, 2), {}), ((), {"x": 1, "y": 2}), (({"x": 1, "y": 2},), {}), ((1,), {"y": 2})):
        assert result(run(served, wq.RemoteTask("my_sum", "sum_coprocess", *arguments, **named))) == (200, 3)
    t = wq.RemoteTask("my_sum", "sum_coprocess")
    t.specify_fn_args([5], {"y": 6})
    assert result(run(served, t)) == (200, 11)


def test_a_dictionary_that_the_function_wants(served):
    assert result(run(served, wq.RemoteTask("same", "sum_coprocess", {"x": 1}))) == (200, {"x": 1})
    assert result(run(served, wq.RemoteTask("same", "sum_coprocess", {"value": 1}))) == (200, {"value": 1})
    assert result(run(served, wq.RemoteTask("same", "sum_coprocess", value={"x": 1}))) == (200, {"x": 1})


def test_what_is_no_strict_json(served):
    status, (inf, text, nan) = result(run(served, wq.RemoteTask("same", "sum_coprocess", [math.inf, "\ud800", math.nan])))
    assert (status, inf, text) == (200, math.inf, "\ud800") and math.isnan(nan)


def test_exceptions(served):
    status, text = result(run(served, wq.RemoteTask("my_sum", "sum_coprocess", 1, "a")))
    assert status == 500 and "unsupported operand" in text
    trace = json.loads(run(served, wq.RemoteTask("my_sum", "sum_coprocess", 1, "a")).output)["Traceback"]
    assert re.search(r'functions.py", line \d+, in my_sum\n', trace) and "coprocess.py" not in trace
    (error,) = served.remote_map("my_sum", [1], "sum_coprocess", "x")
    assert isinstance(error, wq.RemoteError) and "missing 1 required" in str(error) and "missing 1" in error.remote_traceback


def test_methods_differ(served):
    seen = {}
    for method in ("direct", "thread", "fork"):
        for _ in range(4):
            t = wq.RemoteTask("process", "sum_coprocess")
            t.specify_exec_method(method)
            status, (process, count) = result(run(served, t))
            assert status == 200
            seen.setdefault(method, []).append((process, count))
    assert len({process for process, _ in seen["direct"] + seen["thread"]}) <= 2
    assert max(count for _, count in seen["thread"]) > 1
    assert len({process for process, _ in seen["fork"]}) == 4
    with pytest.raises(ValueError, match="'spawn'"):
        t.specify_exec_method("spawn")


def test_a_crash_is_its_own_only(served):
    for method in ("direct", "thread", "fork"):
        t = wq.RemoteTask("leave", "sum_coprocess", 3)
        t.specify_exec_method(method)
        run(served, t)
        assert (t.result, t.return_status) == (wq.WORK_QUEUE_RESULT_SUCCESS, 3), t.reason
        status, text = result(t)
        assert status == 500 and "exit 3" in text
        assert result(run(served, wq.RemoteTask("my_sum", "sum_coprocess", 1, 2))) == (200, 3)


def test_arguments_that_json_cannot_hold():
    with pytest.raises(TypeError, match="JSON"):
        wq.RemoteTask("my_sum", "sum_coprocess", object(), 2)


def test_remote_abstractions(served):
    assert served.remote_map("double_all", [1, 2, 3], "sum_coprocess", "items", 2) == [2, 4, 6]
    assert served.remote_pair("multiply_pairs", [1, 2], [3, 4], "sum_coprocess", "pairs", 2) == [3, 4, 6, 8]
    assert served.remote_tree_reduce("largest", [3, 9, 2, 7], "sum_coprocess", "items", 2) == 9


def test_the_python_of_a_coprocess(queue, workers, tmp_path):
    """It is the one that functions have, whatever the file's permissions; a program that names its own keeps that."""
    mark = tmp_path / "marked"
    mark.write_text(f'#!/bin/sh\nMARK=chosen exec {sys.executable} "$@"\n')
    mark.chmod(0o755)
    (tmp_path / "functions.py").write_text('import os\n\n\ndef mark():\n    return os.environ.get("MARK")\n')
    own = tmp_path / "own.py"
    for file in (tmp_path / "coprocess.py", own):
        subprocess.run([sys.executable, SERIALIZE, "--src", "functions.py", "--function", "mark", "--dest", file], check=True, cwd=tmp_path)
    text = own.read_text().partition("\n")
    own.write_text(f"#!{sys.executable}\n{text[2]}")
    for file, mode, expected in (("coprocess.py", 0o755, "chosen"), ("coprocess.py", 0o644, "chosen"), ("own.py", 0o755, None)):
        (tmp_path / file).chmod(mode)
        worker = workers.start(queue, "--coprocess", str(tmp_path / file), "--num_coprocesses", "1", environment={"WORK_QUEUE_PYTHON": str(mark)})
        assert result(run(queue, wq.RemoteTask("mark", "my_coprocess"))) == (200, expected), (file, mode)
        worker.terminate()
        worker.wait(60)


def test_many(served):
    for number in range(100):
        served.submit(wq.RemoteTask("my_sum", "sum_coprocess", number, 1))
    assert sorted(result(t)[1] for t in finish(served)) == list(range(1, 101))
    assert os.path.exists("coprocess.py")


@pytest.mark.parametrize("command", ["work_queue_serverize", "poncho_package_serverize"])
def test_help_names_its_command_and_the_worker_s_options(command):
    folder = os.path.dirname(os.environ["WORKER"])
    said, worker = (subprocess.run([os.path.join(folder, name), "--help"], capture_output=True, text=True, check=True).stdout
                    for name in (command, "work_queue_worker"))
    assert said.startswith(f"Usage: {command} ") and f"  {command} --src" in said
    assert all(option in worker for option in re.findall("--coprocess[a-z-]*", said))
