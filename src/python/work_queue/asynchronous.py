"""Calls on workers for programs with asyncio."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from .chunk_tasks import use_settings
from .function_task import PythonTask
from .futures import read_call

if TYPE_CHECKING:
    from .queue import WorkQueue


async def run(queue: WorkQueue, function: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """See `WorkQueue.run`. A thread of the queue waits, not the loop."""
    task = PythonTask(function, *args, **kwargs)
    use_settings(task, None, None)
    return await asyncio.wrap_future(queue._calls().submit(task, read_call))
