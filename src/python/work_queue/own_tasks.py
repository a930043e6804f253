"""The tasks of one caller, among all tasks of a queue."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from .queue import WorkQueue
    from .task import Task

_numbers = itertools.count(1)
_LOOK = 0.25  # seconds after which a wait looks what else has changed: workers, tasks that the program has cancelled


class Ended(NamedTuple):
    task: Task
    cancelled: bool  # by the program


class OwnTasks:
    """Tasks that only this object sees end: `WorkQueue.wait` neither returns nor counts them.

    Threads may submit and cancel tasks while another one waits.
    """

    def __init__(self, queue: WorkQueue, what: str) -> None:
        self.queue = queue
        self._tag = f"work_queue/{what}/{next(_numbers)}"
        self._all: dict[int, Task] = {}  # by the objects' ids

    def __len__(self) -> int:
        return len(self._all)

    def submit(self, task: Task) -> None:
        task._before_submit(self.queue)
        task._only_by_tag(self._tag)
        self._all[id(task)] = task
        try:
            self.queue._submit(task)
        except BaseException:
            self._all.pop(id(task), None)
            raise

    def wait(self) -> Ended | None:
        """The next one that has ended. None: none has for a while, or there are none."""
        task = self.queue._wait(_LOOK, self._tag)
        if task is not None:
            return Ended(task, False) if self._all.pop(id(task), None) is not None else None
        for key, task in list(self._all.items()):
            # An id shows that it was submitted.
            if task.id and not task._in_queue and self._all.pop(key, None) is not None:
                return Ended(task, True)
        return None

    def cancel(self, tasks: Iterable[Task] | None = None) -> None:
        """Kills these, or all; nobody learns of their ends."""
        for task in list(self._all.values()) if tasks is None else tasks:
            if self._all.pop(id(task), None) is not None:
                with contextlib.suppress(RuntimeError):  # the queue has ended, and its tasks with it
                    self.queue._cancel_by_taskid(task.id)


class Cores:
    """For how many tasks of some cores each the workers of a queue have room."""

    def __init__(self, queue: WorkQueue, each: float) -> None:
        self._queue = queue
        self._each = max(each, 1e-3)

    def known(self) -> bool:
        """Whether there are workers."""
        return self._queue.stats.total_cores > 0

    def slots(self) -> int:
        return max(1, int(self._queue.stats.total_cores / self._each))
