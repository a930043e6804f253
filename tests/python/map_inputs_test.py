"""map() and its like with inputs that raise, have no length or cannot be unpickled, and results that are too large: they
spoil no others."""

import os
import pathlib
import sys
from types import SimpleNamespace

import cloudpickle
import pytest

import work_queue as wq
from work_queue.chunk_tasks import PythonChunks

cloudpickle.register_pickle_by_value(sys.modules[__name__])  # workers cannot import this file


def square(x):
    return x * x


def test_results_come_before_the_error_of_the_input(served):
    def items():
        yield from range(1, 23)
        raise OSError("no more")

    for chunk in (1, 5, None):
        results, got = served.imap(square, items(), chunk), []
        with pytest.raises(OSError, match="no more"):
            for result in results:
                got.append(result)
        assert got == [x * x for x in range(1, 23)]
        assert list(results) == []
    with pytest.raises(OSError, match="no more"):
        served.map(square, items(), 5)
    assert served.status("tasks") == []


class Unsized:
    """An iterable whose len() raises, as of a wrapper of a generator."""

    def __init__(self, items, error):
        self.items, self.error = items, error

    def __iter__(self):
        return iter(self.items)

    def __len__(self):
        raise self.error


def test_inputs_without_a_length(served):
    for error in (TypeError("no length"), OverflowError("too long"), NotImplementedError()):
        assert served.map(square, Unsized([1, 2], error)) == [1, 4]
        assert served.pair(sum, Unsized([1, 2], error), [3]) == [4, 5]
        assert served.tree_reduce(sum, Unsized([1, 2, 3], error)) == 6
    results = served.imap(square, range(10**30), 100)
    assert [next(results) for _ in range(3)] == [0, 1, 4]
    results.close()


def test_a_bar_on_a_stderr_that_only_takes_text(served, monkeypatch):
    class Writer:
        def __init__(self):
            self.lines = []

        def write(self, text):
            self.lines.append(text)

        def flush(self):
            pass

    for stderr in (Writer(), None):
        monkeypatch.setattr(sys, "stderr", stderr)
        for wanted in (None, True):
            assert served.map(square, [1, 2], progress=wanted) == [1, 4]


class Unreadable:
    """Cannot be unpickled at all, or only not in some process."""

    def __init__(self, where=0):
        self.where = where

    def __reduce__(self):
        return unreadable, (self.where,)


def unreadable(where):
    if where in (0, os.getpid()):
        raise ValueError("cannot be read")
    return Unreadable(where)


def test_what_cannot_be_unpickled_costs_only_its_own_result(served):
    bad = Unreadable()
    for size in (1, 3, 10):
        results = served.map(str, [0, 1, bad, 3, 4, bad, 6], size)
        assert [results[at] for at in (0, 1, 3, 4, 6)] == ["0", "1", "3", "4", "6"]
        assert all("cannot be read" in str(results[at]) for at in (2, 5))
        here = os.getpid()
        results = served.map(lambda x: Unreadable(here) if x % 3 == 1 else x, range(7), size)
        assert [results[at] for at in (0, 2, 3, 5, 6)] == [0, 2, 3, 5, 6]
        assert all("cannot be read here: ValueError: cannot be read" in str(results[at]) for at in (1, 4))


def test_a_function_that_cannot_be_loaded_is_not_tried_with_each_item(served):
    class Function:
        def __call__(self, x):
            pass

        def __reduce__(self):
            return unreadable, (0,)

    results = served.map(Function(), range(100), 50)
    assert len(results) == 100 and all("cannot be read" in str(one) for one in results)
    assert served.stats.tasks_done == 3


class BecomesText(Exception):
    def __reduce__(self):
        return str, ("text",)


def test_an_exception_that_becomes_something_else(served):
    def fail(x):
        raise BecomesText(x)

    for result in served.map(fail, [1, 2], 2):
        assert isinstance(result, wq.RemoteError) and "it became a str" in str(result)
        assert "BecomesText" in str(result) and "in fail" in result.remote_traceback


def test_results_that_are_too_large(tmp_path):
    """The worker's script, with a lower limit. The manager then tries the items of a chunk in smaller ones."""
    source = pathlib.Path(__file__).resolve().parents[2] / "src/node/calls"
    script = {}
    exec((source / "unpicklable.py").read_text() + (source / "answer.py").read_text(), script)
    script["MOST_BYTES"] = 1000
    for length, fits in ((100, True), (1100, False)):
        with open(tmp_path / "result", "w+b") as file:
            script["write_result"](file.fileno(), script["dump_result"]((0.0, 0.0, [length * b"a"], {}), len))
            file.seek(script["HEADER"].size)
            packed = file.read() if fits else file.read().partition(b"\0")[2]  # a reason is before it
            report = PythonChunks(len).read(SimpleNamespace(_wq_ok=fits, _wq_result=packed), 1)
        if fits:
            assert report.outcomes[0].value == length * b"a"
        else:
            assert report.outcomes is None and report.by_item
            assert isinstance(report.error, wq.RemoteError) and "and may have 1000: write it to an output file of the task" in str(report.error)
