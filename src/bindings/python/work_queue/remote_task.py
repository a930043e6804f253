"""Tasks that call a function of a worker's coprocess."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from .task import Task

if TYPE_CHECKING:
    from .queue import WorkQueue

_METHODS = ("fork", "thread", "direct")


class RemoteTask(Task):
    """A call, by name, of a function that a coprocess at the worker has: `work_queue_worker --coprocess FILE`.

    >>> t = RemoteTask("my_sum", "sum_coprocess", 1, y=2)

    Arguments are what JSON can hold. If the function needs more arguments than a single dictionary, the coprocess takes
    the dictionary for its keyword arguments, as the manual has it. `output` is a JSON text with the keys "Result" (what
    the function returned, or the text of its exception) and "StatusCode" (200, or 500 for an exception, which also has
    the key "Traceback"). Such a task takes one coprocess of a worker, and none of its other resources.
    """

    def __init__(self, fn: str, coprocess: str, /, *args: Any, **kwargs: Any):
        super().__init__(fn)
        Task.specify_coprocess(self, coprocess)
        self._wq_method = "fork"
        self.specify_fn_args(args, kwargs)

    def specify_fn_args(self, args: list[Any] | tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None) -> None:
        """Replaces the arguments. Raises TypeError for what JSON cannot hold."""
        self._wq_fn_args = {"fn_args": list(args), "fn_kwargs": dict(kwargs or {})}
        try:
            json.dumps(self._wq_fn_args)
        except (TypeError, ValueError) as error:
            raise TypeError(f"arguments of a RemoteTask are sent as JSON: {error}") from error

    def specify_exec_method(self, remote_task_exec_method: str) -> None:
        """How the coprocess runs it: "fork" (default) in a child, "thread" in a thread, "direct" in itself."""
        if remote_task_exec_method not in _METHODS:
            raise ValueError(f"exec method {remote_task_exec_method!r}: give one of " + ", ".join(map(repr, _METHODS)))
        self._wq_method = remote_task_exec_method

    def _wq_before_submit(self, queue: WorkQueue) -> None:
        self._wq_event(json.dumps({**self._wq_fn_args, "remote_task_exec_method": self._wq_method}))
