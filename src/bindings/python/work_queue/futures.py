"""Calls on workers as futures: an executor like those of concurrent.futures."""

from __future__ import annotations

import os
import secrets
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, Future
from concurrent.futures import wait as wait_for_futures
from typing import TYPE_CHECKING, Any, TypeVar

from .chunk_tasks import Outcome, PythonChunks, cores_of, use_settings
from .function_task import PythonTask
from .local_queue import LocalQueue
from .own_tasks import Cores
from .task_future import read_call

if TYPE_CHECKING:
    from .queue import WorkQueue
    from .task import Task

T = TypeVar("T")
_CHUNKS_FOR_EACH_CORE = 16  # of WorkQueueExecutor.map, which cannot measure: it submits all at once
_CORES_TO_COME = 64  # assumed while there are no workers


def _own_queue(max_workers: int | None) -> WorkQueue:
    if max_workers is None:
        max_workers = len(os.sched_getaffinity(0))
    if not isinstance(max_workers, int) or max_workers < 1:
        raise ValueError(f"max_workers is {max_workers!r}: give 1 or more, or None")
    return LocalQueue(max_workers)


class WorkQueueExecutor(Executor):
    """An executor like those of `concurrent.futures`, whose calls run at the workers of a queue.

    >>> with WorkQueueExecutor(max_workers=4) as executor:
    ...     future = executor.submit(pow, 2, 10)
    ...     print(future.result())
    1024

    It replaces a ProcessPoolExecutor. A future's cancel() also kills a call that runs. At the end of the block it waits for all
    calls; after Ctrl-C, it cancels them instead. What is left when the queue or the program ends is cancelled.

    Parameters:
        queue: any number of executors can share one with each other and with other tasks. None, or a number (max_workers): the
            executor has its own, on loopback with a password, and workers on this machine; shutdown() ends them.
        max_workers: calls that run at once, of its own queue; None: one for each core. A program started by
            `work_queue_python` has its ranks instead, if no queue has them.
        initializer, initargs: `initializer(*initargs)` runs before the first call in each process. Its globals are seen by
            functions of the same module. If it raises an exception, the call does.
        mp_context: without effect: workers do not run your program again.
        env: a packed environment for the functions, as in `PythonTask.specify_environment`.
        like: a task whose settings the calls get: files, cores, memory, category, ... Default: one core each.
    """

    def __init__(self, queue: WorkQueue | int | None = None, *, max_workers: int | None = None,
                 initializer: Callable[..., object] | None = None, initargs: Iterable[Any] = (), mp_context: object = None,
                 env: str | None = None, like: Task | None = None) -> None:
        if isinstance(queue, int):
            queue, max_workers = None, queue
        self._own: WorkQueue | None = None
        self._asked = max_workers
        if queue is None:
            queue = self._own = _own_queue(max_workers)
        elif max_workers is not None:
            raise ValueError("max_workers is for an executor's own queue: leave it out, or the queue")
        if not hasattr(queue, "submit"):
            raise TypeError(f"queue is {queue!r}: give a WorkQueue, or max_workers=N for a queue of its own")
        if initializer is not None and not callable(initializer):
            raise TypeError(f"initializer is {initializer!r}: give a function")
        self._initializer = None if initializer is None else (initializer, tuple(initargs), secrets.token_hex(8))
        self._queue = queue
        self._env = env
        self._like = like
        self._pending: set[Future[Any]] = set()
        self._ended = False

    @property
    def _max_workers(self) -> int:
        """For dask, which submits as many calls at once."""
        return self._asked or Cores(self._queue, cores_of(self._like)).slots()

    def _initialized(self, fn: Callable[..., T]) -> Callable[..., T]:
        from .at_worker import Initialized

        if self._initializer is None:
            return fn
        return Initialized(fn, *self._initializer)

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        """A future of fn(*args, **kwargs). Raises TypeError if one of these cannot be sent to a worker."""
        task = PythonTask(self._initialized(fn), *args, **kwargs)
        use_settings(task, self._like, self._env)
        return self._begin(task, read_call)

    def map(self, fn: Callable[..., T], *iterables: Iterable[Any], timeout: float | None = None,
            chunksize: int | None = None) -> Iterator[T]:
        """Results of fn(*items) in order, as of `Executor.map`: all is submitted at once, and the iterator raises the
        first exception. `chunksize` calls are one task; None: 16 tasks for each core. `WorkQueue.map` measures."""
        from .at_worker import Spread

        end = None if timeout is None else time.monotonic() + timeout
        calls = list(zip(*iterables))
        chunks = PythonChunks(Spread(self._initialized(fn)), self._env, self._like, name=getattr(fn, "__qualname__", repr(fn)))
        if chunksize is None:
            cores = Cores(self._queue, chunks.cores)
            slots = cores.slots() if cores.known() else _CORES_TO_COME
            chunksize = max(1, len(calls) // (_CHUNKS_FOR_EACH_CORE * slots))
        elif chunksize < 1:
            raise ValueError(f"chunksize is {chunksize}: give 1 or more, or None")
        futures: deque[Future[list[Outcome]]] = deque()
        try:
            for at in range(0, len(calls), chunksize):
                futures.append(self._begin_chunk(chunks, calls[at:at + chunksize]))
        except BaseException:
            self._cancel(futures)
            raise
        return self._results(futures, end)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """No more calls are taken. `wait`: returns when all have ended. `cancel_futures`: those that no worker has yet are
        cancelled. A queue that the program has made goes on; the executor's own ends with `wait`, else with the program."""
        self._ended = True
        pending = set(self._pending)
        if cancel_futures:
            for future in pending:
                if not future.running():
                    future.cancel()
        if wait:
            try:
                wait_for_futures(pending)
            except KeyboardInterrupt:
                self._cancel(pending)
                raise
            finally:
                self._end_own_queue()

    def _end_own_queue(self) -> None:
        if self._own is not None:
            self._own.close()

    def __exit__(self, exc_type: Any, exc_val: Any, exc_tb: Any) -> bool | None:
        if exc_type is not None and not issubclass(exc_type, Exception):
            self.shutdown(wait=False)
            self._cancel(set(self._pending))
            self._end_own_queue()
        else:
            self.shutdown()
        return None

    @staticmethod
    def _cancel(futures: Iterable[Future[Any]]) -> None:
        for future in futures:
            future.cancel()

    def _begin(self, task: Task, read: Callable[[Task], T]) -> Future[T]:
        self._check_it_goes_on()
        future = self._queue._calls().submit(task, read)
        self._pending.add(future)
        future.add_done_callback(self._pending.discard)
        try:
            self._check_it_goes_on()
        except RuntimeError:  # ended meanwhile
            future.cancel()
            raise
        return future

    def _check_it_goes_on(self) -> None:
        if self._ended:
            raise RuntimeError("the executor has been shut down: make another one")

    def _begin_chunk(self, chunks: PythonChunks, calls: list[Any]) -> Future[list[Outcome]]:
        def read(task: Task) -> list[Outcome]:
            report = chunks.read(task, len(calls))
            if report.outcomes is None:
                assert report.error is not None
                raise report.error
            return report.outcomes

        return self._begin(chunks.task(calls), read)

    def _results(self, futures: deque[Future[list[Outcome]]], end: float | None) -> Iterator[Any]:
        try:
            while futures:
                left = None if end is None else end - time.monotonic()
                for outcome in futures[0].result(left):
                    if outcome.failed:
                        raise outcome.value
                    yield outcome.value
                futures.popleft()  # its results are not held any longer
        finally:
            self._cancel(futures)
