"""Workers in a batch system, as many as there are tasks for."""

from __future__ import annotations

import atexit
import functools
import os
import sys
import warnings
import weakref
from typing import IO, Any, TypeVar

from . import _core
from .queue import WorkQueue
from .task import Path


def _attributes(names: list[str]) -> set[str]:
    return {name.replace("-", "_") for name in names}


# What may change while a factory runs; fields of its options; what the program gets as words of its command line.
_SETTINGS = _attributes(_core.factory_setting_names())
_OPTIONS = {name for name in dir(_core.FactoryOptions) if not name.startswith("_")} - {"settings", "options"}
_WORDS = _attributes(_core.factory_option_names()) - _OPTIONS
_PATHS = {"contact_file", "password_file", "ssl_ca", "scratch_dir", "worker_binary", "factory_binary"}
_OTHER_NAMES = {"password": "password_file", "extra_options": "worker_extra_options"}
# Options of CCTools' factory.
_NO_EFFECT = {"debug": "the lines of the factory say what it does",
              "debug_file": "give log_file", "debug_file_size": "give log_file", "run_factory_as_manager": "only a catalog would show the factory as a manager",
              **dict.fromkeys(("amazon_config", "k8s_image", "k8s_worker_image", "mesos_master", "mesos_path", "mesos_preload"),
                              "it is of a batch system that is not here")}
_FactoryT = TypeVar("_FactoryT", bound="Factory")


_running: weakref.WeakSet[Factory] = weakref.WeakSet()


@atexit.register
def _stop_all() -> None:
    """Their lines are for functions of Python, and their workers end with the program."""
    for factory in list(_running):
        factory.stop()


def _write_line(log: IO[str] | None, line: str) -> None:
    print(f"work_queue_factory: {line}", file=sys.stderr if log is None else log)


def _text(name: str, value: Any) -> Path:
    """A value as on the command line."""
    if hasattr(value, "item"):  # a scalar of numpy
        value = value.item()
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, (int, float)):
        return str(value)
    if not isinstance(value, (str, bytes, os.PathLike)):
        raise TypeError(f"{name} is {value!r}: give text, a number, True, False or None")
    return value


class Factory:
    """Submits workers to a batch system while it runs, and removes them at its end.

    >>> workers = Factory("slurm", manager=q)
    >>> workers.cores = 4
    >>> workers.max_workers = 20
    >>> with workers:
    ...     while not q.empty():
    ...         t = q.wait(5)

    Parameters:
        batch_type: "local" (processes of this machine), "slurm", "condor", "pbs", "torque", "uge", "lsf", "dryrun" (submits
            nothing), or the path of a driver.
        manager: a `WorkQueue` of this program, or the name of one, anywhere.
        manager_host_port: "HOST:PORT" of a queue.
        manager_name: the name of one or more queues; a regular expression.
        factory_binary, worker_binary: the programs; default: those beside this package, or in PATH.
        log_file: file for its messages; default: stderr.

    Its settings are attributes: cores, memory (MB), disk (MB), gpus, min_workers, max_workers, workers_per_cycle,
    tasks_per_worker, timeout (s), factory_timeout (s), capacity, autosize, condor_requirements, worker_extra_options.
    They can be changed while it runs. Set the others before its start: password_file, contact_file, ssl, ssl_ca,
    catalog ("HOST[:PORT],...": servers that know names, besides a folder), scratch_dir, factory_name, batch_options, wall_time (s), cycle (s),
    status_interval (s), worker_start_cmd, wrapper,
    task_wrapper, feature and env (lists, for several). Sizes and times may be texts: "4G", "15m". None: the default.
    """

    # What is not found here is in __getattr__: settings and options.
    _factory: _core.Factory | None
    _queue: WorkQueue | None

    def __init__(self, batch_type: str = "local", manager: WorkQueue | str | None = None,
                 manager_host_port: str | None = None, manager_name: str | None = None,
                 factory_binary: Path | None = None, worker_binary: Path | None = None, log_file: Path | None = None):
        values = self.__dict__
        values["_options"] = options = _core.FactoryOptions()
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
            self._set(name, value)
        elif name in _OPTIONS or name in _WORDS:
            if self.running():
                raise AttributeError(f"{name} can only be given before the factory starts")
            self._give(name, value)
        elif name in _NO_EFFECT:
            warnings.warn(f"{name} of a factory has no effect: {_NO_EFFECT[name]}", stacklevel=2)
        elif why := _core.factory_why_refused(name.replace("_", "-")):
            raise AttributeError(f"{name}: {why}")
        else:
            raise AttributeError(f"a factory has no {name!r}; it has " + ", ".join(sorted(_SETTINGS | _OPTIONS | _WORDS)))

    def _set(self, name: str, value: Any) -> None:
        settings = self._options.settings
        if value is None:
            setattr(settings, name, getattr(_core.FactorySettings(), name))
        else:
            self._options._specify(False, name.replace("_", "-"), _text(name, value))
        factory = self._factory
        if factory is not None and factory.running() and not factory.set(settings):
            raise RuntimeError(f"{name}: the factory's settings cannot be written")

    def _give(self, name: str, value: Any) -> None:
        option = name.replace("_", "-")
        if name in _WORDS:
            self._options._specify(False, option, "")
            for one in value if isinstance(value, (list, tuple)) else [value]:
                self._options._specify(False, option, _text(name, one))
            self._words[name] = value
        elif isinstance(getattr(self._options, name), str):
            text = os.fsdecode(_text(name, value))
            # The program may change its folder before the start.
            setattr(self._options, name, os.path.abspath(text) if text and name in _PATHS else text)
        else:
            setattr(self._options, name, int(value or 0))

    def __getattr__(self, name: str) -> Any:
        name = _OTHER_NAMES.get(name, name)
        if name in _SETTINGS:
            return getattr(self._options.settings, name)
        if name in _OPTIONS:
            return getattr(self._options, name)
        if name in _WORDS:
            return self._words.get(name)
        raise AttributeError(f"a factory has no {name!r}; it has " + ", ".join(sorted(_SETTINGS | _OPTIONS | _WORDS)))

    def start(self) -> None:
        """Starts it. Raises RuntimeError if a program is missing, the folder cannot be written, or it ends at once."""
        if self.running():
            return
        factory = _core.Factory(self._options, self._queue)
        factory.start()
        _running.add(self)
        if self._queue is not None:
            self._queue._factories.add(self)
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
        """Raises RuntimeError: give the environment to the tasks, by `PythonTask.specify_environment`."""
        raise RuntimeError(f"workers run in no environment of their own: give {os.fsdecode(env)!r} to each task instead, by "
                           "PythonTask.specify_environment(); a worker unpacks it once for all of them")

    specify_package = specify_environment

    def __enter__(self: _FactoryT) -> _FactoryT:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
