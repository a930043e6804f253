"""A scheduler for dask: its graphs run at the workers of a queue.

>>> with dask.config.set(scheduler=dask_get.scheduler(queue)):
...     total = dask.array.ones((4000, 4000)).sum().compute()

`get(dsk, keys, queue=queue)` is the function that dask calls. For dask with graphs of tuples (until 2024.11), workers need
no dask, except for what the functions of the graph need themselves.
"""

from __future__ import annotations

import functools
import heapq
import importlib
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any

from .chunk_tasks import cores_of, use_settings
from .function_task import PythonTask
from .task_future import read_call
from .own_tasks import Cores, OwnTasks
from .progress import Progress
from .queue import WorkQueue
from .task import Task
from .unpicklable import name_of

Key = Hashable
_AHEAD = 2  # tasks in the queue for each core


def scheduler(queue: WorkQueue, **options: Any) -> Callable[..., Any]:
    """For `compute(scheduler=...)` and `dask.config.set(scheduler=...)`. Options: those of get()."""
    return functools.partial(get, queue=queue, **options)


def get(dsk: Mapping[Key, Any], keys: Any, *, queue: WorkQueue, env: str | None = None, like: Task | None = None,
        progress: bool | None = None, **_: Any) -> Any:
    """The values of `keys` (a key, or lists of keys, nested) in a graph of dask.

    Every task of the graph that is needed becomes a task of the queue as soon as what it depends on is there; values
    travel through this program, and are dropped after their last use. Raises what the first failing task raised, after
    it has cancelled the others. Options as of `WorkQueue.map`; others, which dask passes, have no effect.
    """
    graph = _Graph(dsk, _flat(keys))
    with Progress(progress, "dask", len(graph.tasks)) as bar:
        _Run(graph, queue, env, like).run(bar.add)
    return _shaped(keys, graph.values)


class DaskWQ(WorkQueue):
    """A queue with the method `get`, under the name that CCTools has for it: `dask.compute(x, scheduler=q.get)`."""

    def get(self, dsk: Mapping[Key, Any], keys: Any, *, environment: str | None = None,
            extra_files: Mapping[str, str] | None = None, env_vars: Mapping[str, str] | None = None,
            resources: Mapping[str, float] | None = None, resources_mode: int | None = None, retries: int | None = None,
            like: Task | None = None, **options: Any) -> Any:
        """As the function `get`, with CCTools' options. Of each task: `environment` as of PythonTask.specify_environment(),
        `extra_files` as inputs ({path here: name there}), `env_vars`, `resources` ({"cores": 1, "memory": 500}) at most,
        `retries` (5, or those of `like`). `resources_mode`: one of WORK_QUEUE_ALLOCATION_MODE_*; monitoring is on then."""
        task = Task("") if like is None else like.clone()
        for path, name in (extra_files or {}).items():
            task.specify_input_file(path, name, cache=True)
        for name, value in (env_vars or {}).items():
            task.specify_environment_variable(name, value)
        if retries is not None or like is None:
            task.specify_max_retries(5 if retries is None else retries)
        if resources_mode is None:
            for name, amount in (resources or {}).items():
                getattr(task, "specify_" + name)(amount)
        else:
            self.enable_monitoring()
            self.specify_category_max_resources("dask", resources or {})
            self.specify_category_mode("dask", resources_mode)
            task.specify_category("dask")
        return get(dsk, keys, queue=self, env=environment or options.pop("env", None), like=task, **options)

    __call__ = get


def _flat(keys: Any) -> list[Key]:
    return [key for one in keys for key in _flat(one)] if isinstance(keys, list) else [keys]


def _shaped(keys: Any, values: Mapping[Key, Any]) -> Any:
    return [_shaped(one, values) for one in keys] if isinstance(keys, list) else values[keys]


class _Graph:
    """The needed part of a graph: what waits for what, and the values so far."""

    def __init__(self, dsk: Mapping[Key, Any], wanted: Iterable[Key]) -> None:
        # At the first use, because most programs do without dask.
        dask: Any = importlib.import_module("dask")
        for name in ("core", "order", "utils"):
            importlib.import_module("dask." + name)
        whole = dask.utils.ensure_dict(dsk)
        self.wanted = set(wanted)
        self.tasks: dict[Key, Any] = {}
        self.values: dict[Key, Any] = {}
        self._missing: dict[Key, set[Key]] = {}
        self._users: dict[Key, set[Key]] = {}
        to_look_at = list(self.wanted)
        while to_look_at:
            key = to_look_at.pop()
            if key in self.tasks:
                continue
            self.tasks[key] = task = whole[key]
            needs = set(task.dependencies) if _is_node(task) else set(dask.core.get_dependencies(whole, key))
            self._missing[key] = set(needs)
            for need in needs:
                self._users.setdefault(need, set()).add(key)
            to_look_at += needs
        self._needs = {key: tuple(needs) for key, needs in self._missing.items()}
        self._places: Mapping[Key, Any] = dask.order.order(dict(self.tasks)) if self.tasks else {}
        self._ready = [(self._places[key], number, key)
                       for number, key in enumerate(self.tasks) if not self._missing[key]]
        heapq.heapify(self._ready)
        self._number = len(self.tasks)
        self._uses = {key: len(users) for key, users in self._users.items()}

    def next(self) -> Key | None:
        """A key whose task can run: those first that free memory, in dask's order."""
        return heapq.heappop(self._ready)[2] if self._ready else None

    def inputs(self, key: Key) -> dict[Key, Any]:
        return {need: self.values[need] for need in self._needs[key]}

    def done(self, key: Key, value: Any) -> None:
        self.values[key] = value
        for user in self._users.get(key, ()):
            self._missing[user].discard(key)
            if not self._missing[user]:
                self._number += 1
                heapq.heappush(self._ready, (self._places[user], self._number, user))
        for need in self._needs[key]:
            self._uses[need] -= 1
            if self._uses[need] == 0 and need not in self.wanted:
                del self.values[need]


def _is_node(task: Any) -> bool:
    """A node of dask's newer graphs, which is called with the values that it needs."""
    return hasattr(task, "dependencies") and callable(task)


def _is_work(task: Any) -> bool:
    """Not so: data, and other names of a value."""
    if isinstance(task, list):
        return any(map(_is_work, task))
    return _is_node(task) or (isinstance(task, tuple) and bool(task) and callable(task[0]))


class _Run:
    def __init__(self, graph: _Graph, queue: WorkQueue, env: str | None, like: Task | None) -> None:
        self._graph = graph
        self._env, self._like = env, like
        self._own = OwnTasks(queue, "dask")
        self._cores = Cores(queue, cores_of(like))
        self._keys: dict[int, Key] = {}  # by the tasks' ids (of objects)

    def run(self, progress: Callable[[int], None]) -> None:
        try:
            left = len(self._graph.tasks)
            while left > 0:
                done = self._fill() + self._take_one()
                left -= done
                progress(done)
        finally:
            self._own.cancel()

    def _fill(self) -> int:
        """Submits what can run; returns how many needed no task."""
        from .at_worker import evaluate

        done = 0
        most = _AHEAD * self._cores.slots() + 1
        while len(self._own) < most:
            key = self._graph.next()
            if key is None:
                return done
            work = self._graph.tasks[key]
            if _is_work(work):
                self._submit(key, work)
            else:
                self._graph.done(key, evaluate(work, self._graph.inputs(key)))
                done += 1
        return done

    def _submit(self, key: Key, work: Any) -> None:
        from .at_worker import evaluate, evaluate_node

        task = PythonTask(evaluate_node if _is_node(work) else evaluate, work, self._graph.inputs(key))
        if isinstance(work, tuple):
            task.specify_command(name_of(work[0]))
        use_settings(task, self._like, self._env)
        self._keys[id(task)] = key
        self._own.submit(task)

    def _take_one(self) -> int:
        ended = self._own.wait() if len(self._own) else None
        if ended is None:
            return 0
        self._graph.done(self._keys.pop(id(ended.task)), read_call(ended.task))
        return 1
