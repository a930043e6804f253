"""Functions that travel to workers by value: a worker need not have this package."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import cloudpickle

if not hasattr(cloudpickle, "register_pickle_by_value"):
    raise RuntimeError(f"cloudpickle {cloudpickle.__version__} cannot send functions of this package: install 2.0 or newer")
cloudpickle.register_pickle_by_value(sys.modules[__name__])


class Fold:
    """Reduces a list to one value: `function` gets lists of up to `arity` neighbours, in rounds, as in tree_reduce()."""

    def __init__(self, function: Callable[[list[Any]], Any], arity: int) -> None:
        self.function = function
        self.arity = arity

    def __call__(self, values: Sequence[Any]) -> Any:
        row = list(values)
        while len(row) > 1:
            groups = (row[at:at + self.arity] for at in range(0, len(row), self.arity))
            row = [group[0] if len(group) == 1 else self.function(group) for group in groups]
        return row[0]


class Spread:
    """Calls `function` with the items of a tuple as its arguments."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function

    def __call__(self, arguments: Sequence[Any]) -> Any:
        return self.function(*arguments)


def call_all(items: Sequence[Any]) -> list[Any]:
    """The results of calls (function, arguments, named arguments)."""
    return [function(*arguments, **named) for function, arguments, named in items]


class Initialized:
    """A function of an executor with an initializer, which runs once in each process. `executor` names the executor.

    Functions that travel by value have globals of their own. So they get those that the initializer has set or names, which it
    may have changed.
    """

    def __init__(self, function: Callable[..., Any], initializer: Callable[..., Any], arguments: Sequence[Any],
                 executor: str) -> None:
        self.function, self.initializer, self.arguments, self.executor = function, initializer, arguments, executor

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        known = sys.__dict__.setdefault("_work_queue_initialized", {})  # of this process
        if self.executor not in known:
            names = getattr(self.initializer, "__globals__", {})
            before = dict(names)
            self.initializer(*self.arguments)
            named = getattr(getattr(self.initializer, "__code__", None), "co_names", ())
            known[self.executor] = names, {name: value for name, value in names.items()
                                           if name in named or before.get(name, known) is not value}
        names, made = known[self.executor]
        inner: Any = self.function
        while not hasattr(inner, "__globals__") and (hasattr(inner, "func") or hasattr(inner, "function")):
            inner = inner.func if hasattr(inner, "func") else inner.function
        own = getattr(inner, "__globals__", names)
        if own is not names and inner.__module__ == self.initializer.__module__:
            own.update(made)
        return self.function(*args, **kwargs)


def evaluate(work: Any, values: Mapping[Any, Any]) -> Any:
    """The value of a task of dask: (function, argument...), a key of `values`, a list of these, or data."""
    if isinstance(work, list):
        return [evaluate(part, values) for part in work]
    if isinstance(work, tuple) and work and callable(work[0]):
        return work[0](*[evaluate(part, values) for part in work[1:]])
    try:
        return values[work] if work in values else work
    except TypeError:  # it cannot be a key
        return work


def evaluate_node(work: Callable[[Mapping[Any, Any]], Any], values: Mapping[Any, Any]) -> Any:
    """The same for a node of dask's newer graphs."""
    return work(values)
