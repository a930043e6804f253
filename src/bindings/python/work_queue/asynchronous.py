"""Calls on workers for programs with asyncio."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from .chunk_tasks import use_settings
from .function_task import PythonTask
from .task_future import read_call

if TYPE_CHECKING:
    from .queue import WorkQueue
    from .task import Task


async def run(queue: WorkQueue, function: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """See `WorkQueue.run`. A thread of the queue waits, not the loop."""
    task = PythonTask(function, *args, **kwargs)
    use_settings(task, None, None)
    return await asyncio.wrap_future(queue._calls().submit(task, _read))


def _read(task: Task) -> Any:
    try:
        return read_call(task)
    except StopIteration as error:  # which no future of asyncio takes
        raise RuntimeError("the function raised StopIteration") from error
