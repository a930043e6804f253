"""What concerns all queues of this program: their settings and their end."""

from __future__ import annotations

import atexit
import os
import sys
import weakref
from typing import TYPE_CHECKING

from .every import call_all
from .function_files import remove_all

if TYPE_CHECKING:
    from .queue import WorkQueue
    from .task import Path

queues: weakref.WeakSet[WorkQueue] = weakref.WeakSet()
debug_log: Path | None = None


@atexit.register
def end_all() -> None:
    """Managers have threads, and lines for functions of Python: they end before the interpreter does."""
    call_all(end for queue in list(queues) for end in (queue._interpreter_ends, queue.close))
    remove_all()


def end_earlier(port: int) -> None:
    """In an interactive session, a cell of a notebook may run again: its queue from before ends, unless it has tasks."""
    for queue in list(queues) if port > 0 and hasattr(sys, "ps1") else ():
        if queue.port != port or queue._is_over:
            continue
        left = len(queue._tasks())
        if left > 0:
            raise RuntimeError(f"port {port} has a queue of this program with {left} unfinished task{'s'[:left - 1]}: wait for "
                               "them, or call queue.close()")
        queue.close()


def specify_debug_log(logfile: Path | None) -> None:
    """Debug output of all queues that are made after this."""
    global debug_log
    debug_log = logfile


def set_debug_flag(*flags: str) -> None:
    """Accepted: a debug log has the lines of all subsystems."""


def specify_port_range(low_port: int, high_port: int) -> None:
    """WorkQueue(0) takes the first free port of this range."""
    if not 0 < low_port <= high_port < 65536:
        raise ValueError(f"a range of ports needs 0 < low <= high < 65536, not {low_port} to {high_port}")
    os.environ["WORK_QUEUE_LOW_PORT"] = str(low_port)
    os.environ["WORK_QUEUE_HIGH_PORT"] = str(high_port)
