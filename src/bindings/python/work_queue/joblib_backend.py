"""A backend for joblib, and so for scikit-learn. The import registers it:

>>> import joblib, work_queue.joblib_backend
>>> with joblib.parallel_backend("work_queue", max_workers=4):
...     joblib.Parallel()(joblib.delayed(pow)(n, 2) for n in range(10))

Parameters are those of `WorkQueueExecutor`: a queue, or max_workers for one of its own, which ends with the backend.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from joblib import register_parallel_backend
from joblib.parallel import AutoBatchingMixin, ParallelBackendBase

from .futures import WorkQueueExecutor


class WorkQueueBackend(AutoBatchingMixin, ParallelBackendBase):
    supports_timeout = True

    def __init__(self, *, nesting_level: int | None = None, inner_max_num_threads: int | None = None,
                 **named: Any) -> None:
        super().__init__(nesting_level=nesting_level, inner_max_num_threads=inner_max_num_threads)
        self._executor = WorkQueueExecutor(**named)
        weakref.finalize(self, self._executor.shutdown)

    def effective_n_jobs(self, n_jobs: int | None) -> int:
        """-1: all workers, -2: one less, and so on."""
        if n_jobs == 0:
            raise ValueError("n_jobs is 0: give 1 or more, or -1 for all workers")
        if n_jobs is None:
            return 1
        return n_jobs if n_jobs > 0 else max(self._executor._max_workers + 1 + n_jobs, 1)

    def apply_async(self, func: Callable[[], Any], callback: Callable[[Any], object] | None = None) -> Future[Any]:
        from .at_worker import call_all

        # Not the batch itself, which would import joblib at the worker.
        items = getattr(func, "items", None)
        future: Any = self._executor.submit(func) if items is None else self._executor.submit(call_all, items)
        future.get = functools.partial(Future.result, future)
        if callback is not None:
            future.add_done_callback(callback)
        return future

    def abort_everything(self, ensure_ready: bool = True) -> None:
        """Cancels all calls; others can follow."""
        self._executor._cancel(set(self._executor._pending))


register_parallel_backend("work_queue", WorkQueueBackend)
