"""Graphs of dask on workers."""

import os
import sys
import threading
from operator import add

import cloudpickle
import pytest

import work_queue as wq
from conftest import finish, interrupted_after

from work_queue import dask_get

try:
    import dask
except ImportError:
    dask = None
    pytestmark = pytest.mark.skip("SKIP: dask is not installed (Debian: python3-dask)")

cloudpickle.register_pickle_by_value(sys.modules[__name__])  # workers cannot import this file


def increase(x):
    return x + 1


def test_graphs(served):
    graph = {
        "a": 1,
        "b": (increase, "a"),
        "c": (increase, "b"),
        "d": (add, "b", "c"),
        "e": (sum, ["b", "c", (increase, 5)]),
        "f": "e",
        "g": ["a", "f", {"not": "a"}],
        "unused": (os._exit, 1),
    }
    assert dask_get.get(graph, "d", queue=served) == 5
    assert dask_get.get(graph, ["d", ["e", "f"]], queue=served) == [5, [11, 11]]
    assert dask_get.get(graph, ["a", "g"], queue=served) == [1, [1, 11, {"not": "a"}]]
    assert dask_get.get({}, [], queue=served) == []


def test_delayed_functions(served):
    square = dask.delayed(lambda x: x * x)
    total = dask.delayed(sum)([square(number) for number in range(50)])
    assert total.compute(scheduler=dask_get.scheduler(served)) == sum(x * x for x in range(50))
    with dask.config.set(scheduler=dask_get.scheduler(served)):
        assert dask.compute(square(3), square(4)) == (9, 16)


def test_an_executor_as_dask_s_pool():
    with wq.WorkQueueExecutor(2) as executor:
        total = dask.delayed(sum)([dask.delayed(increase)(number) for number in range(20)])
        assert total.compute(scheduler="processes", pool=executor) == total.compute(pool=executor) == 210
        with pytest.raises(TypeError):
            dask.delayed(increase)("text").compute(scheduler="processes", pool=executor)


def test_arrays(served):
    array = pytest.importorskip("dask.array", reason="SKIP: dask.array needs numpy")
    numbers = array.arange(10_000, chunks=1000)
    assert (numbers ** 2).sum().compute(scheduler=dask_get.scheduler(served)) == sum(x * x for x in range(10_000))


def test_other_tasks_of_the_program_stay(served):
    ours = served.submit(wq.Task("true"))
    assert dask_get.get({"a": (increase, 1)}, "a", queue=served) == 2
    assert [task.id for task in finish(served)] == [ours]


def test_errors_are_raised_and_cancel_the_others(served):
    graph = {"bad": (increase, "text"), "long": (lambda: threading.Event().wait(),), "both": (add, "bad", "long")}
    with pytest.raises(TypeError) as caught:
        dask_get.get(graph, "both", queue=served)
    assert "in increase" in caught.value.remote_traceback
    assert served.status("tasks") == []
    with pytest.raises(wq.PythonTaskNoResult):
        dask_get.get({"a": (os._exit, 1)}, "a", queue=served)


def test_interrupts(served):
    with interrupted_after(0.3), pytest.raises(KeyboardInterrupt):
        dask_get.get({"a": (lambda: threading.Event().wait(),)}, "a", queue=served)
    assert served.status("tasks") == []


def test_the_class_that_cctools_has(workers, tmp_path):
    from ndcctools.work_queue_dask import DaskWQ

    (tmp_path / "given").write_text("7")
    read = dask.delayed(lambda: int(open("there").read()) + int(os.environ["MORE"]))
    with DaskWQ(0, say=lambda line: None) as queue:
        workers.start(queue)
        assert dask.compute(dask.delayed(increase)(1), scheduler=queue.get) == (2,)
        assert read().compute(scheduler=queue, extra_files={tmp_path / "given": "there"}, env_vars={"MORE": "1"},
                              resources={"cores": 1, "memory": 100}, retries=2) == 8
        assert dask.compute(read(), scheduler=queue.get, extra_files={tmp_path / "given": "there"}, env_vars={"MORE": "2"},
                            resources={"cores": 2}, resources_mode=wq.WORK_QUEUE_ALLOCATION_MODE_MAX) == (9,)
