"""Chunks of items as tasks, and what became of the items."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from .function_task import (
    PythonTask,
    RemoteError,
    _answer_of,
    _dump_part,
    _no_result,
    _pack_function,
    _unpack_error,
    add_traceback,
)
from .remote_task import RemoteTask
from .task import Task
from .unpicklable import name_of

if TYPE_CHECKING:
    from .queue import WorkQueue


class Outcome(NamedTuple):
    """What became of one item: what the function returned, or the exception."""

    value: Any
    failed: bool


class Report(NamedTuple):
    """What became of a chunk."""

    outcomes: list[Outcome] | None  # None: it has none for its items; `error` says why
    error: BaseException | None = None
    by_item: bool = False  # one of its items is to blame, such as one that its process died of, or all together
    by_function: bool = False  # its function perhaps is, which cannot be loaded there
    first: float = 0.0  # seconds
    seconds: float = 0.0
    size: int = 0  # bytes


class Chunks(Protocol):
    """Makes tasks of chunks."""

    cores: float  # that a task takes

    def task(self, items: Sequence[Any]) -> Task: ...

    def read(self, task: Task, count: int) -> Report: ...

    def unsendable(self, items: Sequence[Any]) -> dict[int, TypeError]:
        """Which items cannot be sent, and why, by their places."""


class _ChunkTask(PythonTask):
    """A function of which many chunks have the same bytes."""

    def __init__(self, function: Callable[[Any], Any], packed: bytes, items: Sequence[Any]) -> None:
        super().__init__(function)
        self._packed = packed
        self._items: list[Any] | None = list(items)

    def _wq_before_submit(self, queue: WorkQueue) -> None:
        self._size = self._wq_call_with(queue, self._packed, self._items, None)
        self._items = None


def use_settings(task: PythonTask, like: Task | None, env: str | None) -> None:
    """The settings of `like` for a task that has none; unless that says otherwise, one core, in a process of many calls."""
    task._wq_method = like._wq_method if isinstance(like, PythonTask) else "direct"
    if like is not None:
        name = task.command
        task._wq_take_settings(like)
        task.specify_command(name)
        if isinstance(like, PythonTask):
            task._wq_environment = like._wq_environment
            task._wq_function_files = like._wq_function_files
    if task.resources_requested.cores < 0:
        task.specify_cores(1)
    if env is not None:
        task.specify_environment(env)


def cores_of(like: Task | None) -> float:
    return 1.0 if like is None or like.resources_requested.cores < 0 else float(like.resources_requested.cores)


class PythonChunks:
    """A function of this program. It is packed once, whatever the number of chunks."""

    def __init__(self, function: Callable[[Any], Any], env: str | None = None, like: Task | None = None,
                 name: str | None = None) -> None:
        if not callable(function):
            raise TypeError(f"give a function first, not {function!r}")
        self._function = function
        self._name = name or name_of(function)
        self._packed = _pack_function(function)
        self._env = env
        self._like = like
        self.cores = cores_of(like)

    def task(self, items: Sequence[Any]) -> Task:
        task = _ChunkTask(self._function, self._packed, items)
        task.specify_command(self._name)
        use_settings(task, self._like, self._env)
        return task

    def unsendable(self, items: Sequence[Any]) -> dict[int, TypeError]:
        return _errors(lambda item: _dump_part(item, "an item", []), items)

    def read(self, task: Task, count: int) -> Report:
        packed = task._wq_result
        try:
            kind, value = _answer_of(task)
        except Exception as error:
            return Report(None, RemoteError(f"the result cannot be read here: {type(error).__name__}: {error}"), by_item=True)
        if kind == b"N" or packed.startswith(b"L"):  # "L": too large together, but each alone may not be
            return Report(None, value, by_item=True)
        if kind != b"R":  # before the first call
            return Report(None, value, by_function=True)
        first, seconds, results, errors = value
        outcomes = [Outcome(result, False) for result in results]
        for place, answer in errors.items():
            outcomes[place] = Outcome(_unpack_error(*answer), True)
        return Report(outcomes, first=first, seconds=seconds, size=max(len(packed), getattr(task, "_size", 0)))


class RemoteChunks:
    """A function of a coprocess, which gets a chunk as a list under the name of one of its parameters, and returns the
    list of the results; or one result, if `single`."""

    def __init__(self, function: str, coprocess: str, parameter: str, *, single: bool = False,
                 like: Task | None = None) -> None:
        self._function, self._coprocess, self._parameter = function, coprocess, parameter
        self._single = single
        self._like = like
        self.cores = cores_of(like)

    def task(self, items: Sequence[Any]) -> Task:
        if self._single:
            (items,) = items
        arguments = {self._parameter: list(items)}
        _check_json(arguments)
        task = RemoteTask(self._function, self._coprocess, **arguments)
        if self._like is not None:
            task.specify_category(self._like.category)
            task.specify_priority(self._like.priority)
        return task

    def unsendable(self, items: Sequence[Any]) -> dict[int, TypeError]:
        return _errors(_check_json, items)

    def read(self, task: Task, count: int) -> Report:
        if not task._wq_ok and not task.output:  # with an exception of the function, it has an answer
            return Report(None, _no_result(task), by_item=True)
        try:
            answer = json.loads(task.output)
            result, status = answer["Result"], answer["StatusCode"]
        except (TypeError, ValueError, KeyError):
            return Report(None, RemoteError(f"the coprocess answered {task.output!r}"))
        seconds = max(task.cmd_execution_time, 0) / 1e6
        if status != 200:
            error = RemoteError(str(result))
            add_traceback(error, str(answer.get("Traceback", "")))
            return Report(None, error, by_item=count > 1)
        if self._single:
            return Report([Outcome(result, False)], first=seconds, seconds=seconds, size=len(task.output))
        if not isinstance(result, list) or len(result) != count:
            got = f"{len(result)}" if isinstance(result, list) else f"a {type(result).__name__}"
            return Report(None, RemoteError(f"{self._function} got a list of {count} and must return one, not {got}"))
        outcomes = [Outcome(one, False) for one in result]
        return Report(outcomes, first=seconds / count, seconds=seconds, size=len(task.output))


def _check_json(value: Any) -> None:
    try:
        json.dumps(value)
    except (TypeError, ValueError) as error:
        raise TypeError(f"an argument cannot be sent to a coprocess, which takes JSON: {error}") from error


def _errors(check: Callable[[Any], object], items: Sequence[Any]) -> dict[int, TypeError]:
    errors: dict[int, TypeError] = {}
    for place, item in enumerate(items):
        try:
            check(item)
        except TypeError as error:
            errors[place] = error
    return errors
