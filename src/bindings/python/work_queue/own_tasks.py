"""The tasks of one caller, among all tasks of a queue."""

from __future__ import annotations

import contextlib
import itertools
from collections import deque
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from .queue import WorkQueue
    from .task import Task

_numbers = itertools.count(1)
_LOOK = 0.25  # seconds after which a wait looks what else has changed: workers, tasks that the program has cancelled


def note_cancelled(task: Task) -> None:
    """The program has cancelled it: its owner's wait tells so."""
    owner: OwnTasks | None = getattr(task, "_wq_owner", None)
    if owner is not None:
        owner._cancelled.append(task)


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
        self._cancelled: deque[Task] = deque()  # by the program

    def __len__(self) -> int:
        return len(self._all)

    def submit(self, task: Task) -> None:
        task._wq_before_submit(self.queue)
        task._wq_only_by_tag(self._tag)
        task._wq_owner = self
        self._all[id(task)] = task
        try:
            self.queue._submit(task)
        except BaseException:
            self._forget(task)
            raise

    def wait(self) -> Ended | None:
        """The next one that has ended. None: none has for a while, or there are none."""
        while self._cancelled:
            task = self._cancelled.popleft()
            if self._forget(task):
                return Ended(task, True)
        ended = self.queue._wait(_LOOK, self._tag)
        return Ended(ended, False) if ended is not None and self._forget(ended) else None

    def _forget(self, task: Task) -> bool:
        """Whether it was one of these."""
        if self._all.pop(id(task), None) is None:
            return False
        task._wq_owner = None
        return True

    def cancel(self, tasks: Iterable[Task] | None = None) -> None:
        """Kills these, or all; nobody learns of their ends."""
        for task in list(self._all.values()) if tasks is None else tasks:
            if self._forget(task):
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
