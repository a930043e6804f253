"""The manager of a Python program."""

from __future__ import annotations

import json
import math
import os
import sys
import time
import warnings
import weakref
from typing import TYPE_CHECKING, Any, Callable, Mapping, TypeVar

from . import all_queues, constants
from .constants import (
    WORK_QUEUE_ALLOCATION_MODE_FIXED,
    WORK_QUEUE_ALLOCATION_MODE_QUANTIZED_BUCKETING,
    WORK_QUEUE_DEFAULT_PORT,
    WORK_QUEUE_SCHEDULE_UNSET,
    WORK_QUEUE_TASK_ORDER_FIFO,
    WORK_QUEUE_WAITFORTASK,
)
from .abstractions import Abstractions
from .access import Access
from .function_files import FunctionFiles
from .options import real
from .own_tasks import note_cancelled
from .resources import amounts_of
from .settings import keep_own_attributes, specify
from .statistics import Statistics
from .task import Path, Task

if TYPE_CHECKING:
    from .factory import Factory
    from .ranks import Ranks

_QueueT = TypeVar("_QueueT", bound="WorkQueue")


def _absolute(path: Path) -> str | bytes:
    return os.path.abspath(os.fspath(path))


class WorkQueue(Access, Abstractions):
    """Dispatches tasks to workers and returns them when they have ended.

    >>> q = WorkQueue(9123)
    >>> q.submit(Task("hostname"))
    >>> while not q.empty():
    ...     t = q.wait(5)
    ...     if t:
    ...         print(t.output)

    Workers connect to it: `work_queue_worker HOST 9123`. It serves them on its own thread, also while your program
    computes between two calls of `wait`. Methods may be called from several threads. As a context manager, it ends
    with its block, and so do its remaining tasks.

    Parameters:
        port: of TCP; 0: any free one (`queue.port` says which); a pair (low, high): the first free one of the range.
        name: by which `work_queue_worker -M NAME` finds it.
        shutdown: workers end when the queue does, instead of looking for another manager.
        stats_log: file for statistics; HDF5 if its name ends in .h5, else text.
        transactions_log: file for the events of tasks and workers.
        debug_log: file for debug output.
        ssl: True for TLS with a certificate made now, or the pair (key file, certificate file).
        status_display_interval: a line on stderr with the state every so many seconds while waiting; None or 0: none.
        password_file: same as specify_password_file().
        contact_file: written at the start; who can read it may join, safely: `work_queue_worker --contact FILE`.
        status: who may list the queue; same as specify_status().
        say: function for lines to the user (one str); default: they go to stderr.
        loopback: only workers of this machine can connect.
        ranks: the `work_queue.ranks.Ranks` of this MPI job are workers, too; with port None, the only ones.

    Raises RuntimeError if it cannot start: the port is taken, a file cannot be used. The message has the remedy.
    """

    # The manual has them at the queue, too; the others of `constants` follow below.
    WORK_QUEUE_ALLOCATION_MODE_FIXED = constants.WORK_QUEUE_ALLOCATION_MODE_FIXED
    WORK_QUEUE_ALLOCATION_MODE_MAX = constants.WORK_QUEUE_ALLOCATION_MODE_MAX
    WORK_QUEUE_ALLOCATION_MODE_MIN_WASTE = constants.WORK_QUEUE_ALLOCATION_MODE_MIN_WASTE
    WORK_QUEUE_ALLOCATION_MODE_MAX_THROUGHPUT = constants.WORK_QUEUE_ALLOCATION_MODE_MAX_THROUGHPUT

    def __init__(self, port: int | tuple[int, int] | None = WORK_QUEUE_DEFAULT_PORT, name: str | None = None,
                 shutdown: bool = False, stats_log: Path | None = None, transactions_log: Path | None = None,
                 debug_log: Path | None = None, ssl: bool | tuple[Path, Path] | tuple[None, None] | None = None,
                 status_display_interval: float | None = None, *, password_file: Path | None = None,
                 contact_file: Path | None = None, say: Callable[[str], object] | None = None, loopback: bool = False,
                 ranks: Ranks | None = None, status: str | None = None):
        if status_display_interval is not None and not status_display_interval >= 0:
            raise ValueError(f"status_display_interval is {status_display_interval}: give seconds, or None for no lines")
        ports = None
        if isinstance(port, (tuple, list)):
            low, high = port
            ports, port = (int(low), int(high)), 0
        key, certificate = "", ""
        if isinstance(ssl, (tuple, list)):
            files = tuple(ssl)
            ssl = files != (None, None)  # as a program has them whose options for them are not given
            if ssl:
                key, certificate = map(os.fspath, files)  # type: ignore[arg-type]  # of None raises TypeError
        known = sys.modules.get("work_queue.ranks")
        if ranks is None and known is not None:
            ranks = known.current()
        if port is None and ranks is None:
            raise RuntimeError("port is None and there are no free ranks, so no worker could come: start the script by work_queue_python, "
                               "whose ranks serve its first queue, or give a port")
        if port is not None:
            all_queues.end_earlier(int(port))
        super().__init__(None if port is None else int(port), ports, bool(ssl), key, certificate, bool(shutdown),
                         bool(loopback), None if ranks is None else ranks._ranks)
        if ranks is not None and known is not None:
            known.taken_by(self)
        self._stats = Statistics()
        self._categories_stats: dict[str, Statistics] = {}
        self._display = status_display_interval
        self._aborts_slow_tasks = False
        self._factories: weakref.WeakSet[Factory] = weakref.WeakSet()
        self._function_files: FunctionFiles = FunctionFiles()
        settings: list[tuple[Any, Callable[[Any], object]]] = [
            (name, self.specify_name), (stats_log, self.specify_log), (debug_log, self._debug),
            (transactions_log, self.specify_transactions_log), (say, self._say),
            (password_file, self.specify_password_file), (contact_file, self._contact), (status, self.specify_status)]
        try:
            for given, set_to in settings:
                if given is not None:
                    set_to(given)
        except BaseException:
            self._end()  # the exception may keep this object, but not its port and ranks
            raise
        if all_queues.debug_log is not None and not debug_log:
            self._debug(all_queues.debug_log)
        all_queues.queues.add(self)

    def __init_subclass__(cls, **named: Any) -> None:
        super().__init_subclass__(**named)
        keep_own_attributes(cls)

    def __setattr__(self, name: str, value: Any) -> None:
        """`q.name = "x"` is the same as `q.specify_name("x")`, for each specify_ method that takes one value."""
        if name.startswith("_") or not specify(self, name, value):
            super().__setattr__(name, value)

    def __repr__(self) -> str:
        where = " ".join(filter(None, (repr(self.name) if self.name else "", f"port {self.port}" if self.port else "")))
        if self._is_over:
            state = "ended"
        elif not self._begun:
            state = f"{len(self)} tasks, not started"
        else:
            stats = self.stats
            state = (f"{stats.tasks_waiting} tasks waiting, {stats.tasks_running} running, {stats.tasks_done} ended; "
                     f"{stats.workers_connected} workers")
        return f"<{type(self).__name__} {where}: {state}>".replace(" :", ":")

    def close(self) -> None:
        """Ends the manager, its tasks and its factories. `with` and the end of the program do it, too."""
        for factory in list(self._factories):
            factory.stop()
        self._end_calls()
        self._end()
        self._function_files.close()

    def __enter__(self: _QueueT) -> _QueueT:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # ---- tasks ----

    def submit(self, task: Task) -> int:
        """Gives the task to the manager; returns its id, from 1. Raises ValueError if it cannot run."""
        if not isinstance(task, Task):
            remedy = f"; write Task({task!r})" if isinstance(task, (str, bytes)) else ""
            raise TypeError(f"submit takes a Task, not {task!r}{remedy}")
        task._wq_before_submit(self)
        return self._submit(task)

    def wait(self, timeout: float | None = WORK_QUEUE_WAITFORTASK) -> Task | None:
        """Returns the next task that has ended, or None after `timeout` seconds.

        Without a limit by default; None at once if no task is left. As in Work Queue, 0 means 1 s and other negative
        numbers 5 s; fractions of a second are fine.
        """
        return self._next(timeout, None)

    def wait_for_tag(self, tag: Path | None, timeout: float | None = WORK_QUEUE_WAITFORTASK) -> Task | None:
        """Same, for tasks with this tag (None: any). Other tasks stay for other calls."""
        return self._next(timeout, tag)

    def _next(self, timeout: float | None, tag: Path | None) -> Task | None:
        if timeout is None or timeout == WORK_QUEUE_WAITFORTASK:
            timeout = -1
        elif (timeout := real(timeout, "timeout")) <= 0:
            timeout = 1 if timeout == 0 else 5
        if not self._display:
            return self._wait(timeout, tag)
        end = time.monotonic() + timeout
        while True:
            part = self._display if timeout < 0 else min(self._display, end - time.monotonic())
            part, begun = max(part, 0), time.monotonic()
            task = self._wait(part, tag)
            now = time.monotonic()
            if task is not None or now - begun < part or (timeout >= 0 and now >= end):  # before its limit: none will come
                return task
            stats = self.stats
            print(f"{stats.tasks_waiting} waiting, {stats.tasks_running} running, {stats.tasks_done} done, "
                  f"{stats.workers_connected} workers", file=sys.stderr)

    def empty(self) -> bool:
        """Whether no task is left: none waits, runs, or has a result for wait()."""
        return len(self) == 0

    def __bool__(self) -> bool:
        return True

    def cancel_by_taskid(self, id: int) -> Task | None:
        """Kills the task, wherever it is, and returns it; None: there is none."""
        return self._cancelled(self._cancel_by_taskid(id))

    def cancel_by_tasktag(self, tag: Path | None) -> Task | None:
        """Same, for one task with this tag. Call again for the next one."""
        return self._cancelled(self._cancel_by_tasktag("" if tag is None else tag))

    def cancel_by_category(self, category: Path) -> list[Task]:
        """Kills all tasks of a category, and returns their list."""
        tasks = self._cancel_by_category(category)
        for task in tasks:
            note_cancelled(task)
        return tasks

    @staticmethod
    def _cancelled(task: Task | None) -> Task | None:
        if task is not None:
            note_cancelled(task)
        return task

    # ---- settings, also while it runs ----

    def specify_catalog_server(self, hostname: str, port: int = 0) -> None:
        """The catalog server to which a queue with a name announces itself; port 0: $CATALOG_PORT, or 9097."""
        self._catalog((f"[{hostname}]" if ":" in hostname else hostname) + (f":{port}" if port else ""))

    def specify_log(self, logfile: Path) -> int:
        """File for statistics, appended to; HDF5 if its name ends in .h5."""
        self._stats_log(_absolute(logfile))
        return 1

    def specify_transactions_log(self, logfile: Path) -> int:
        """File for the events of tasks and workers, appended to."""
        self._transactions_log(_absolute(logfile))
        return 1

    def _debug(self, logfile: Path) -> None:
        self._debug_log(_absolute(logfile))

    def _contact(self, file: Path) -> None:
        self._contact_file(_absolute(file))

    def specify_keepalive_interval(self, interval: float) -> None:
        """Seconds of silence after which a worker is asked whether it lives; 0: never."""
        self._keepalive_or_tune(True, "keepalive-interval", interval)

    def specify_keepalive_timeout(self, timeout: float) -> None:
        """Seconds that it has to answer."""
        self._keepalive_or_tune(False, "keepalive-timeout", timeout)

    def _keepalive_or_tune(self, interval: bool, parameter: str, seconds: float) -> None:
        if seconds < 0:
            raise ValueError("give 0 seconds or more")
        if self._begun:
            self.tune(parameter, seconds)
        else:
            self._keepalive(interval, seconds)

    # ---- statistics ----

    @property
    def stats(self) -> Statistics:
        """Statistics, brought up to date; always the same object."""
        self._stats._update(self)
        return self._stats

    @property
    def stats_hierarchy(self) -> Statistics:
        """Same as `stats`: there are no foremen."""
        return self.stats

    def stats_category(self, category: str) -> Statistics:
        """Statistics of the tasks of one category."""
        stats = self._categories_stats.setdefault(category, Statistics())
        stats._update_category(self, category)
        return stats

    def status(self, request: str) -> list[dict[str, Any]]:
        """The state of "queue", "tasks", "workers" or "categories", as a list of dicts: see share/doc/python.md. Raises
        ValueError for other requests."""
        status: list[dict[str, Any]] = json.loads(self._status(request))
        if request in ("queue", "manager"):
            all: dict[str, Any] = dict(self.stats.as_dict())
            all.update(status[0], type="wq_master")
            return [all]
        return status

    def application_info(self) -> None:
        """None: there is no information from outside."""
        return None

    # ---- resources by category ----

    def specify_max_resources(self, rmd: Mapping[str, float] | object) -> None:
        """Same as specify_category_max_resources("default", rmd)."""
        self.specify_category_max_resources("default", rmd)

    def specify_min_resources(self, rmd: Mapping[str, float] | object) -> None:
        """Same as specify_category_min_resources("default", rmd)."""
        self.specify_category_min_resources("default", rmd)

    def specify_category_max_resources(self, category: Path, rmd: Mapping[str, float] | object) -> None:
        """What each task of the category asks for, unless it says so itself: a dict of cores, memory (MB), disk (MB),
        gpus. In automatic modes: the most that its tasks may get."""
        self._max_resources(category, amounts_of(rmd))

    def specify_category_min_resources(self, category: Path, rmd: Mapping[str, float] | object) -> None:
        """The least that its tasks get."""
        self._min_resources(category, amounts_of(rmd))

    def specify_category_first_allocation_guess(self, category: Path, rmd: Mapping[str, float] | object) -> None:
        """What the first tasks get in automatic modes, until enough of them are measured."""
        self._first_guess(category, amounts_of(rmd))

    def specify_category_mode(self, category: Path | None, mode: int) -> int:
        """One of the constants WORK_QUEUE_ALLOCATION_MODE_*; category None: for all new categories."""
        if not isinstance(mode, int) or not (
                WORK_QUEUE_ALLOCATION_MODE_FIXED <= mode <= WORK_QUEUE_ALLOCATION_MODE_QUANTIZED_BUCKETING):
            raise ValueError(f"mode is {mode!r}: give one of the constants WORK_QUEUE_ALLOCATION_MODE_*")
        self._mode("" if category is None else category, mode)
        return 1

    def specify_category_autolabel_resource(self, category: Path, resource: str, autolabel: bool) -> int:
        """Whether automatic modes find "cores", "memory", "disk" or "gpus"."""
        amounts_of({resource: 0})
        self._autolabel(category, resource, bool(autolabel))
        return 1

    def initialize_categories(self, filename: Path, rm: Mapping[str, float] | object = None) -> None:
        """Loads what an earlier run has measured: DIRECTORY/wq-PID.summaries of enable_monitoring(). `rm`: the most that
        tasks of its categories may get. Raises OSError if the file cannot be read."""
        with open(filename, "rb"):
            pass
        self._initialize(_absolute(filename), amounts_of(rm))

    def enable_monitoring(self, dirname: Path | None = None, watchdog: bool = True, *, _full: bool = False) -> int:
        """Measures what tasks use; `watchdog` kills those that use more than they got. `dirname`: reports go there; it is
        created if needed. Raises OSError if that fails."""
        if dirname is not None:
            os.makedirs(dirname, exist_ok=True)
        self._monitor("" if dirname is None else _absolute(dirname), bool(watchdog), _full)
        return 1

    def enable_monitoring_full(self, dirname: Path | None = None, watchdog: bool = True) -> int:
        """Same, and the reports have the usage once a second: wq-PID-task-ID.series."""
        return self.enable_monitoring(dirname, watchdog, _full=True)

    # ---- workers ----

    def specify_draining_by_hostname(self, hostname: Path, drain_mode: bool = True) -> int:
        """Workers of this host get no more tasks, and end when theirs have; returns their number."""
        return self._drain(hostname, bool(drain_mode))

    def block_host_with_timeout(self, host: Path, timeout: float) -> None:
        """Same as block_host(), for so many seconds, rounded up; 0: until unblock_host()."""
        self._block(host, math.ceil(timeout))

    blacklist_with_timeout = block_host_with_timeout

    def activate_fast_abort(self, multiplier: float) -> int:
        """Tasks that run `multiplier` times longer than the mean of their category are run elsewhere. Below 1: off.
        Returns 0 if it is on now, else 1, as in C."""
        return self.activate_fast_abort_category("default", multiplier)

    def activate_fast_abort_category(self, name: Path, multiplier: float) -> int:
        """Same, for one category. 0: off for it; other values below 1: as for all categories."""
        self._fast_abort_category(name, multiplier)
        if os.fsdecode(name) == "default":
            self._aborts_slow_tasks = multiplier >= 1
        as_for_all = multiplier < 1 and multiplier != 0
        return 0 if multiplier >= 1 or (as_for_all and self._aborts_slow_tasks) else 1

    def tune(self, name: str, value: float) -> int:
        """Sets a parameter by its name, such as "hungry-minimum"; 0. Unknown names: a warning, and -1."""
        try:
            self._tune(name, value)
        except ValueError as error:
            warnings.warn(str(error), stacklevel=2)
            return -1
        return 0

    # ---- accepted, without effect ----

    def specify_algorithm(self, algorithm: int = WORK_QUEUE_SCHEDULE_UNSET) -> None:
        """Accepted, without effect: workers are chosen by the files they hold and by what they have free."""

    def specify_task_order(self, order: int = WORK_QUEUE_TASK_ORDER_FIFO) -> None:
        """Accepted, without effect: tasks run by priority, then in the order of submission."""

    def specify_manager_mode(self, mode: int) -> None:
        """Accepted, without effect: a queue with a name can be found by it."""

    specify_master_mode = specify_manager_mode

    def estimate_capacity(self) -> None:
        """Accepted, without effect: the capacity is always estimated."""

    def invalidate_cache_file(self, local_name: Path) -> None:
        """Accepted, without effect: files are known by their content, so a changed file is sent again."""


for _name in constants._NAMES:
    setattr(WorkQueue, _name, getattr(constants, _name))
