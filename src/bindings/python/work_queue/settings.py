"""Attributes that stand for settings: `task.cores = 2` calls `task.specify_cores(2)`."""

from __future__ import annotations

import difflib
import functools
import inspect
from typing import Any

# Names near to these are mistakes, and would have no effect. Other attributes are a program's own.
_OF_TASKS = ("category", "cores", "disk", "gpus", "max_retries", "memory", "priority")
_MEANT = {"cpu": "cores", "cpus": "cores", "max_retry": "max_retries", "mem": "memory", "retries": "max_retries"}
_NEAR = 0.81  # of difflib: "core" is near to "cores", "code" is not
_LONG = 8  # letters of a queue's setting, so that its shorter names do not forbid any of a program's


@functools.lru_cache(None)
def settings_of(kind: type) -> frozenset[str]:
    """NAME of each method specify_NAME() that takes one value."""
    methods = (name for name in dir(kind) if name.startswith("specify_"))
    return frozenset(name[len("specify_"):] for name in methods if len(inspect.signature(getattr(kind, name)).parameters) == 2)


def specify(owner: Any, name: str, value: Any) -> bool:
    """Whether the attribute is a setting, which now has this value. Raises AttributeError for one that looks like a mistake."""
    kind: Any = type(owner)
    if name in settings_of(kind):
        getattr(owner, "specify_" + name)(value)
        return True
    if not hasattr(kind, name) and name not in vars(owner):
        _refuse_mistake(kind, name)
    return False


def _refuse_mistake(kind: type, name: str) -> None:
    own = settings_of(kind)
    is_task = "cores" in own
    near = _near(name, _OF_TASKS if is_task else [one for one in own if len(one) >= _LONG])
    if near is None and is_task:
        near = _MEANT.get(name)
    if near is not None:
        raise AttributeError(f"a {kind.__name__} has no setting {name!r}; did you mean {near!r}?")
    if is_task:
        return
    of_tasks = name if name in _OF_TASKS else _MEANT.get(name) or _near(name, _OF_TASKS)
    if of_tasks is not None:
        raise AttributeError(f"a {kind.__name__} has no setting {name!r}; each task has one: task.{of_tasks} = ...")


def _near(name: str, to: Any) -> str | None:
    found = difflib.get_close_matches(name, [one for one in to if one[0] == name[0]], 1, _NEAR)
    return found[0] if found else None


def keep_own_attributes(kind: type) -> None:
    """A program's class: its attributes are its own, whatever their names."""
    if "__setattr__" not in vars(kind) and not kind.__module__.startswith("work_queue."):
        kind.__setattr__ = object.__setattr__  # type: ignore[method-assign,assignment]
