"""Parts of functions that cannot be pickled, and environments that cannot be used."""

import os

import pytest

import work_queue as wq
from conftest import run
from function_modules_test import my_sum, packed_environment


def test_what_cannot_be_pickled_is_found_in_methods_and_odd_objects():
    import threading

    from work_queue.function_task import _dump_part

    class Holder:
        def __init__(self):
            self.lock = threading.Lock()

        def method(self):
            return self.lock

    class Odd:
        def __repr__(self):
            raise RuntimeError("no text")

        def __reduce__(self):
            raise TypeError("no pickle")

    def outer():
        lock = threading.Lock()

        def inner():
            return later, lock

        if lock.locked():
            later = 1
        return inner

    method = Holder().method, r"\.__self__\.lock is .*lock"
    for value, told in (method, (outer(), "variable lock is .*lock"), ([Odd()], r"\[0\] is .*no pickle")):
        with pytest.raises(TypeError, match=told):
            _dump_part(value, "it")


def test_an_environment_that_cannot_be_hashed_touches_no_other(queue, workers, tmp_path):
    packed_environment(tmp_path, "env.tar")
    temporary, tools = tmp_path / "temporary", tmp_path / "tools"
    other = temporary / f"work_queue-environments-{os.getuid()}" / "another"
    other.mkdir(parents=True)
    other.parent.chmod(0o700)
    tools.mkdir()
    (tools / "sha256sum").write_text("#!/bin/sh\nexit 1\n")
    (tools / "sha256sum").chmod(0o755)
    workers.start(queue, environment={"TMPDIR": str(temporary), "PATH": f"{tools}:{os.environ['PATH']}"})
    task = wq.PythonTask(my_sum, 1, 2)
    task.specify_environment("env.tar")
    assert isinstance(run(queue, task).output, wq.PythonTaskNoResult) and "sha256sum failed" in task.reason
    assert other.is_dir()
