"""Modules, environments and interpreters of calls of Python functions."""

import os
import pathlib
import socket
import subprocess
import sys
import time

import cloudpickle
import pytest

import work_queue as wq
from conftest import Workers, finish, python, run

cloudpickle.register_pickle_by_value(sys.modules[__name__])  # workers cannot import this file
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
    return x + y


def packed_environment(folder, name, version="one"):
    """An archive as conda-pack makes them: its Python is the one of this test, and tells that it is packed."""
    root = folder / f"root-{name}"
    (root / "bin").mkdir(parents=True)
    python = root / "bin" / "python3"
    python.write_text(f'#!/bin/sh\nPACKED={version} exec {sys.executable} "$@"\n')
    python.chmod(0o755)
    subprocess.run(["tar", "-czf", folder / name, "-C", root, "bin"], check=True)


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


def test_a_module_that_the_worker_lacks(served, tmp_path, monkeypatch):
    (tmp_path / "only_here.py").write_text("def f():\n    return 1\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", "")
    import only_here

    assert isinstance(run(served, wq.PythonTask(only_here.f)).output, ModuleNotFoundError)
    task = wq.PythonTask(only_here.f)
    task.specify_input_file("only_here.py")
    assert run(served, task).output == 1


def test_calls_of_a_module_beside_the_script_share_a_process(tmp_path):
    """Until the program is another one, whose modules may be. The script is started through a link, and the folder is not
    used if all could write to it."""
    study = tmp_path / "study"
    study.mkdir()
    (study / "script.py").write_text("""
import sys, time
import work_queue as wq
import beside

with wq.WorkQueue(int(sys.argv[1]), say=lambda line: None) as q:
    print("ready", flush=True)
    results = q.map(beside.where, range(6), chunksize=1)
    print(*[result if isinstance(result, tuple) else type(result).__name__ for result in results], sep="\\n")
""")
    (tmp_path / "link").symlink_to(study / "script.py")
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = str(free.getsockname()[1])
    workers = Workers(tmp_path)
    told = []
    try:
        # Of two lengths: by its compiled file, Python takes a source of the same second and length for the same.
        for value, mode in ((1, 0o755), (22, 0o755), (22, 0o777)):
            (study / "beside.py").write_text(f"import os\n\ndef where(x):\n    return os.getpid(), {value}\n")
            study.chmod(mode)
            script = subprocess.Popen([sys.executable, "-B", tmp_path / "link", port], stdout=subprocess.PIPE, text=True)
            assert script.stdout.readline() == "ready\n"
            if not workers.all:
                workers.start_at("localhost", port, cores=1)
            told.append(script.communicate(timeout=100)[0].split("\n")[:-1])
    finally:
        workers.end()
    first, second, third = told
    assert len(set(first)) == len(set(second)) == 1 and first[0].endswith(", 1)") and second[0].endswith(", 22)"), told
    assert set(third) == {"ModuleNotFoundError"}


def test_what_is_installed_below_the_folder_of_the_script_stays(tmp_path):
    """As for a script of the home folder, which has Python itself."""
    modules = pathlib.Path(__file__).resolve().parents[2] / "src" / "node" / "calls" / "modules.py"
    ended = python(f"""
import json, pathlib, sys
exec(pathlib.Path({str(modules)!r}).read_text())
modules = Modules(False)
modules.own = set()
below = pathlib.Path(json.__file__).parents[2]
modules.look_beside_script(f"1 {{below}}")
print(modules.beside_script == f"{{below}}/", modules.is_beside_script(json), modules.is_installed(json))
before = dict(sys.modules)
modules.look_beside_script({f"2 {tmp_path}"!r})
print(before == sys.modules, modules.beside_script == {f"{tmp_path}/"!r})
modules.look_beside_script("3 /")
print(repr(modules.beside_script))
""")
    assert ended.stdout == "True False True\nTrue True\n''\n", ended.stdout + ended.stderr


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
