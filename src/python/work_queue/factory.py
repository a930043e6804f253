"""Workers in a batch system, as many as there are tasks for."""

from __future__ import annotations

import atexit
import functools
import os
import sys
import weakref
from typing import IO, Any, TypeVar

from . import _core
from .queue import WorkQueue
from .task import Path

_SETTINGS = {name for name in dir(_core.FactorySettings) if not name.startswith("_")}
_OPTIONS = {name for name in dir(_core.FactoryOptions) if not name.startswith("_")} - {"settings", "options"}
# Names that the program work_queue_factory has, and no field.
_OTHER_NAMES = {"password": "password_file", "manager_name_": "manager_name"}
# Options that go to work_queue_factory as they are.
_WORDS = {"batch_options", "feature", "env", "wrapper", "task_wrapper", "foremen_name", "catalog", "debug",
          "debug_file", "debug_file_size", "runos", "poncho_env", "python_env", "python_package", "extra_options"}
_FactoryT = TypeVar("_FactoryT", bound="Factory")


_running: weakref.WeakSet[Factory] = weakref.WeakSet()


@atexit.register
def _stop_all() -> None:
    """Their lines are for functions of Python, and their workers end with the program."""
    for factory in list(_running):
        factory.stop()


def _write_line(log: IO[str] | None, line: str) -> None:
    print(f"work_queue_factory: {line}", file=sys.stderr if log is None else log)


class Factory:
    """Submits workers to a batch system while it runs, and removes them at its end.

    >>> workers = Factory("slurm", manager=q)
    >>> workers.cores = 4
    >>> workers.max_workers = 20
    >>> with workers:
    ...     while not q.empty():
    ...         t = q.wait(5)

    Parameters:
        batch_type: "local" (processes of this machine), "slurm", "condor", "pbs", "torque", "uge".
        manager: a `WorkQueue` of this program, or the name of one, anywhere.
        manager_host_port: "HOST:PORT" of a queue.
        manager_name: the name of one or more queues; a regular expression.
        factory_binary, worker_binary: the programs; default: those beside this package, or in PATH.
        log_file: what it has to say goes there; default: to stderr.

    Its settings are attributes: cores, memory (MB), disk (MB), gpus, min_workers, max_workers, workers_per_cycle,
    tasks_per_worker, timeout (s), factory_timeout (s), capacity, autosize, condor_requirements, worker_extra_options.
    They can be changed while it runs. Others, such as password_file, ssl, scratch_dir, factory_name and batch_options,
    are given before its start.
    """

    # What is not found here is in __getattr__: settings and options.
    _factory: _core.Factory | None
    _queue: WorkQueue | None

    def __init__(self, batch_type: str = "local", manager: WorkQueue | str | None = None,
                 manager_host_port: str | None = None, manager_name: str | None = None,
                 factory_binary: Path | None = None, worker_binary: Path | None = None, log_file: Path | None = None):
        values = self.__dict__
        values["_options"] = options = _core.FactoryOptions()
        values["_settings"] = _core.FactorySettings()
        values["_words"] = {}
        values["_factory"] = None
        values["_queue"] = None
        log = None
        options.batch_type = batch_type
        if isinstance(manager, str):
            manager, manager_name = None, manager
        if sum(given is not None for given in (manager, manager_host_port, manager_name)) != 1:
            raise ValueError("give one of manager, manager_host_port and manager_name")
        if manager is not None:
            if not isinstance(manager, WorkQueue):
                raise TypeError(f"manager is a {type(manager).__name__}: give a WorkQueue, or a name")
            values["_queue"] = manager
        elif manager_name is not None:
            options.manager_name = manager_name
        else:
            host, colon, port = str(manager_host_port).rpartition(":")
            if not colon or not port.isdigit():
                raise ValueError(f"manager_host_port is {manager_host_port!r}: give HOST:PORT")
            options.manager_host, options.manager_port = host, int(port)
        if factory_binary:
            options.factory_binary = os.fsdecode(factory_binary)
        if worker_binary:
            options.worker_binary = os.fsdecode(worker_binary)
        if log_file is not None:
            log = open(log_file, "a", buffering=1)
        options._say(functools.partial(_write_line, log))

    def __setattr__(self, name: str, value: Any) -> None:
        name = _OTHER_NAMES.get(name, name)
        if name in _SETTINGS:
            setattr(self._settings, name, value)
            factory = self._factory
            if factory is not None and factory.running() and not factory.set(self._settings):
                raise RuntimeError(f"{name}: the factory's settings cannot be written")
        elif name in _OPTIONS or name in _WORDS:
            if self.running():
                raise AttributeError(f"{name} can only be given before the factory starts")
            if name in _OPTIONS:
                setattr(self._options, name, value)
            else:
                self._words[name] = value
        else:
            raise AttributeError(f"a factory has no {name!r}; it has " + ", ".join(sorted(_SETTINGS | _OPTIONS | _WORDS)))

    def __getattr__(self, name: str) -> Any:
        name = _OTHER_NAMES.get(name, name)
        if name in _SETTINGS:
            return getattr(self._settings, name)
        if name in _OPTIONS:
            return getattr(self._options, name)
        if name in _WORDS:
            return self._words.get(name)
        raise AttributeError(f"a factory has no {name!r}; it has " + ", ".join(sorted(_SETTINGS | _OPTIONS | _WORDS)))

    def start(self) -> None:
        """Starts it. Raises RuntimeError if a program is missing or the folder cannot be written."""
        if self.running():
            return
        words = []
        for name, value in self._words.items():
            for one in value if isinstance(value, (list, tuple)) else [value]:
                words += ["--" + name.replace("_", "-"), str(one)]
        self._options.options = words
        self._options.settings = self._settings
        factory = _core.Factory(self._options, self._queue)
        factory.start()
        _running.add(self)
        self.__dict__["_factory"] = factory

    def stop(self) -> None:
        """Ends it, with its jobs and workers; waits for that, at most 30 s."""
        if self._factory is not None:
            self._factory.stop()

    def running(self) -> bool:
        """Whether it runs."""
        return self._factory is not None and self._factory.running()

    def report(self) -> dict[str, Any] | None:
        """What it saw at its last look, as a dict: tasks and workers, and why it submits none; None before the first."""
        return None if self._factory is None else self._factory.report()

    def specify_environment(self, env: Path) -> None:
        """A packed Python environment (conda-pack) in which the workers run."""
        self.python_env = env

    specify_package = specify_environment

    def __enter__(self: _FactoryT) -> _FactoryT:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
