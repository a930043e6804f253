"""Results of tasks that some day will be, and the thread that brings them."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, TypeVar

from .constants import WORK_QUEUE_TASK_RUNNING
from .every import call_all
from .function_task import _answer_of
from .own_tasks import OwnTasks

if TYPE_CHECKING:
    from .queue import WorkQueue
    from .task import Task

T = TypeVar("T")


class TaskFuture(Future[T]):
    """The result of a task that some day will be. cancel() kills the task, also if it runs."""

    def __init__(self, collector: Collector, task: Task, read: Callable[[Task], T]) -> None:
        super().__init__()
        self._collector = collector
        # What a call was made of, until it has ended.
        self._task: Task | None = task
        self._read: Callable[[Task], T] | None = read
        self._untold = [True]  # the first thread that empties it tells how it ended

    def running(self) -> bool:
        """Whether a worker has it: it runs there, or next."""
        task = self._task
        return task is not None and not self.done() and self._collector.is_running(task)

    def cancel(self) -> bool:
        try:
            return super().cancel()
        finally:  # also if a callback raises SystemExit
            if self.cancelled():
                self._drop()

    def _is_first(self) -> bool:
        """Of all calls, in any threads. Without a lock: a handler of signals, or a collection of garbage, may cancel at
        any point."""
        try:
            self._untold.pop()
        except IndexError:
            return False
        return True

    def _drop(self) -> None:
        if self._is_first():
            self.set_running_or_notify_cancel()  # for those who wait for it
            task, self._task, self._read = self._task, None, None
            if task is not None:
                self._collector.cancel(task)

    def _ended(self, task: Task, cancelled: bool) -> None:
        """The task has; `cancelled`: by the program, as a task of its queue."""
        if cancelled:
            self.cancel()
            return
        if not self._is_first():
            return
        going_on = self.set_running_or_notify_cancel()
        read, self._task, self._read = self._read, None, None
        if not going_on or read is None:
            return
        try:
            result = read(task)
        except BaseException as error:
            self.set_exception(error.with_traceback(None))  # whose frames hold the task; the worker's is its cause
        else:
            self.set_result(result)


def read_call(task: Task) -> Any:
    """What the function of a PythonTask returned; raises what it raised."""
    kind, value = _answer_of(task)
    if kind == b"R":
        return value
    raise value


class Collector:
    """Takes tasks from a queue as they end, on a thread of its own, and tells their futures. The thread keeps neither."""

    def __init__(self, queue: WorkQueue) -> None:
        self.queue = queue
        self._own = OwnTasks(queue, "call")
        self._futures: dict[int, TaskFuture[Any]] = {}  # by the tasks' ids (of objects)
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._closed = False

    def submit(self, task: Task, read: Callable[[Task], T]) -> TaskFuture[T]:
        future = TaskFuture(self, task, read)
        with self._changed:
            if self._closed:
                raise RuntimeError("the queue has ended")
            if self._thread is None:
                self.queue._serve()  # here, where the caller learns why it cannot start
                self._thread = threading.Thread(target=_take_all, args=_watched(self, self._changed),
                                                name="work_queue futures", daemon=True)
                self._thread.start()
        self._futures[id(task)] = future
        try:
            self._own.submit(task)
        except BaseException:
            self._futures.pop(id(task), None)
            raise
        with self._changed:
            self._changed.notify()
            closed = self._closed
        if closed:  # meanwhile
            future.cancel()
        return future

    def is_running(self, task: Task) -> bool:
        return bool(task._wq_in_queue and self.queue.task_state(task.id) == WORK_QUEUE_TASK_RUNNING)

    def cancel(self, task: Task) -> None:
        self._futures.pop(id(task), None)
        self._own.cancel([task])

    def close(self) -> None:
        """Cancels all. Later calls of submit() raise RuntimeError."""
        with self._changed:
            self._closed = True
            thread = self._thread
            self._changed.notify()
        self._cancel_all()
        if thread is not None and thread is not threading.current_thread():
            thread.join()

    def _cancel_all(self) -> None:
        call_all(future.cancel for future in list(self._futures.values()))

    def _take_one(self) -> None:
        try:
            ended = self._own.wait()
        except (RuntimeError, SystemExit):  # the queue has ended, perhaps in a thread that is still at it
            with self._changed:
                self._closed = True
            self._cancel_all()
            return
        if ended is not None:
            its_future = self._futures.pop(id(ended.task), None)
            if its_future is not None:
                its_future._ended(*ended)


def _watched(collector: Collector, changed: threading.Condition) -> tuple[weakref.ref[Collector], threading.Condition]:
    """A reference that does not keep it, and whose end is a change."""
    def gone(_: object) -> None:
        with changed:
            changed.notify()

    return weakref.ref(collector, gone), changed


def _take_all(of: weakref.ref[Collector], changed: threading.Condition) -> None:
    def there_is_more() -> bool:
        collector = of()
        return collector is None or collector._closed or len(collector._own) > 0

    while True:
        with changed:
            changed.wait_for(there_is_more)
        collector = of()
        if collector is None or collector._closed:
            return
        call_all([collector._take_one])  # others wait for this thread, whatever a callback raises
        del collector
