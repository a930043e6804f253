"""Calls on workers in programs with asyncio."""

import asyncio
import concurrent.futures
import os
import sys
import threading

import cloudpickle
import pytest

import work_queue as wq
from conftest import interrupted_after
from work_queue import WorkQueueExecutor

cloudpickle.register_pickle_by_value(sys.modules[__name__])  # workers cannot import this file


def wait_for_ever():
    threading.Event().wait()


def fail(key):
    return {}[key]


def test_many_calls_at_once(served):
    async def main():
        return await asyncio.gather(*(served.run(pow, number, 2) for number in range(300)))

    assert asyncio.run(main()) == [number * number for number in range(300)]
    assert served.empty()


def test_keyword_arguments_and_exceptions(served):
    async def main():
        assert await served.run(dict, a=1, fn=2) == {"a": 1, "fn": 2}
        with pytest.raises(KeyError) as caught:
            await served.run(fail, "key")
        assert "in fail" in caught.value.remote_traceback
        with pytest.raises(wq.PythonTaskNoResult):
            await served.run(os._exit, 1)
        with pytest.raises(TypeError, match="cannot be sent"):
            await served.run(len, [threading.Lock()])

    asyncio.run(main())


def test_a_function_that_raises_stop_iteration(served):
    async def main():
        with pytest.raises(RuntimeError, match="the function raised StopIteration") as caught:
            await asyncio.wait_for(served.run(next, iter([])), 60)
        assert isinstance(caught.value.__cause__, StopIteration)

    asyncio.run(main())


def test_cancelling_who_awaits_cancels_the_call(served):
    async def main():
        waiting = asyncio.ensure_future(served.run(wait_for_ever))
        while not served.status("tasks"):
            await asyncio.wait([waiting], timeout=0.01)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert served.status("tasks") == []
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(served.run(wait_for_ever), 0.2)
        assert served.status("tasks") == []
        assert await served.run(pow, 2, 3) == 8

    asyncio.run(main())


def test_several_loops(served):
    async def main(first):
        return await asyncio.gather(*(served.run(pow, first + number, 1) for number in range(50)))

    with concurrent.futures.ThreadPoolExecutor(4) as threads:
        results = list(threads.map(lambda first: asyncio.run(main(first)), range(0, 200, 50)))
    assert sum(results, []) == list(range(200))


def test_the_loop_goes_on_meanwhile(served):
    async def main():
        call = asyncio.ensure_future(served.run(lambda: threading.Event().wait(0.5)))
        ticks = 0
        while not call.done():
            await asyncio.wait([call], timeout=0.02)
            ticks += 1
        return ticks

    assert asyncio.run(main()) >= 5


def test_executors_in_a_loop(served):
    async def main():
        loop = asyncio.get_running_loop()
        return await asyncio.gather(*(loop.run_in_executor(executor, pow, 2, number) for number in range(20)))

    with WorkQueueExecutor(served) as executor:
        assert asyncio.run(main()) == [2 ** number for number in range(20)]


def test_interrupts(served):
    async def main():
        await asyncio.gather(*(served.run(wait_for_ever) for _ in range(5)))

    with interrupted_after(0.3), pytest.raises(KeyboardInterrupt):
        asyncio.run(main())
    assert served.status("tasks") == []
