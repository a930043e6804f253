"""The manager of a Python program."""

from __future__ import annotations

import atexit
import os
import sys
import time
import warnings
import weakref

from . import _core, constants
from .constants import (
    WORK_QUEUE_DEFAULT_PORT,
    WORK_QUEUE_SCHEDULE_UNSET,
    WORK_QUEUE_TASK_ORDER_FIFO,
    WORK_QUEUE_WAITFORTASK,
)
from .abstractions import Abstractions
from .resources import amounts_of
from .statistics import Statistics
from .task import Task

_queues = weakref.WeakSet()


@atexit.register
def _end_all():
    """Managers have threads, and lines for functions of Python: they end before the interpreter does."""
    for queue in list(_queues):
        queue.close()


def _absolute(path):
    return os.path.abspath(os.fspath(path))


class WorkQueue(_core.Queue, Abstractions):
    """Hands tasks to workers and returns them when they have ended.

    >>> q = WorkQueue(9123)
    >>> q.submit(Task("hostname"))
    >>> while not q.empty():
    ...     t = q.wait(5)
    ...     if t:
    ...         print(t.output)

    Workers connect to it: `work_queue_worker HOST 9123`. It serves them on a thread of its own, so while your program
    computes between two calls of `wait`, too. Methods may be called from several threads. As a context manager it
    ends at the end of the block, with all tasks that have not ended.

    Parameters:
        port: of TCP; 0: any free one (`queue.port` says which); a pair (low, high): the first free one of the range.
        name: by which `work_queue_worker -M NAME` finds it.
        shutdown: workers end when the queue does, instead of looking for another manager.
        stats_log: file for statistics; HDF5 if its name ends in .h5, else text.
        transactions_log: file for the events of tasks and workers.
        debug_log: file for debug output.
        ssl: True for TLS with a certificate made now, or the pair (key file, certificate file).
        status_display_interval: in a notebook or on a terminal, show the state every so many seconds while waiting.
        password_file: same as specify_password_file().
        contact_file: written at the start; who can read it may join, safely: `work_queue_worker --contact FILE`.
        say: function for lines to the user (one str); default: they go to stderr.
        ranks: the `work_queue.ranks.Ranks` of this MPI job are workers, too; with port None, the only ones.

    Raises RuntimeError if it cannot start: the port is taken, a file cannot be used. The message has the remedy.
    """

    def __init__(self, port=WORK_QUEUE_DEFAULT_PORT, name=None, shutdown=False, stats_log=None, transactions_log=None,
                 debug_log=None, ssl=None, status_display_interval=None, *, password_file=None, contact_file=None,
                 say=None, ranks=None):
        ports = None
        if isinstance(port, (tuple, list)):
            ports, port = tuple(int(number) for number in port), 0
        key, certificate = (os.fspath(file) for file in ssl) if isinstance(ssl, (tuple, list)) else ("", "")
        if ranks is None and "work_queue.ranks" in sys.modules:
            ranks = sys.modules["work_queue.ranks"].current()
        listens = port is not None or ranks is None
        super().__init__(int(port or 0) if listens else None, ports, bool(ssl), key, certificate, bool(shutdown),
                         None if ranks is None else ranks._ranks)
        self._stats = Statistics()
        self._categories_stats = {}
        self._display = status_display_interval
        for given, specify in ((name, self.specify_name), (stats_log, self.specify_log), (debug_log, self._debug),
                               (transactions_log, self.specify_transactions_log), (say, self._say),
                               (password_file, self.specify_password_file), (contact_file, self._contact)):
            if given:
                specify(given)
        if _debug_log is not None and not debug_log:
            self._debug(_debug_log)
        _queues.add(self)

    def close(self):
        """Ends the manager and its tasks. `with` and the end of the program do it, too."""
        self._end_calls()
        self._end()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    # ---- tasks ----

    def submit(self, task):
        """Gives the task to the manager; returns its id, from 1. Raises ValueError if it cannot run."""
        if isinstance(task, Task):
            task._before_submit(self)
        return self._submit(task)

    def wait(self, timeout=WORK_QUEUE_WAITFORTASK):
        """Returns the next task that has ended, or None after `timeout` seconds.

        Without a limit by default; None at once if no task is left. As in Work Queue, 0 means 1 s and other negative
        numbers 5 s; fractions of a second are fine.
        """
        return self._next(timeout, None)

    def wait_for_tag(self, tag, timeout=WORK_QUEUE_WAITFORTASK):
        """Same, for tasks with this tag (None: any). Other tasks stay for other calls."""
        return self._next(timeout, tag)

    def _next(self, timeout, tag):
        if timeout is None or timeout == WORK_QUEUE_WAITFORTASK:
            timeout = -1
        elif timeout <= 0:
            timeout = 1 if timeout == 0 else 5
        if not self._display:
            return self._wait(timeout, tag)
        end = time.monotonic() + timeout
        while True:
            part = self._display if timeout < 0 else min(self._display, end - time.monotonic())
            task = self._wait(max(part, 0), tag)
            if task is not None or len(self) == 0 or (timeout >= 0 and time.monotonic() >= end):
                return task
            stats = self.stats
            print(f"{stats.tasks_waiting} waiting, {stats.tasks_running} running, {stats.tasks_done} done, "
                  f"{stats.workers_connected} workers", file=sys.stderr)

    def empty(self):
        """Whether no task is left: none waits, runs, or has a result for wait()."""
        return len(self) == 0

    def __bool__(self):
        return True

    def hungry(self):
        """How many more tasks would keep all workers busy; 0: there are enough."""
        return self._hungry()

    def task_state(self, taskid):
        """One of the constants WORK_QUEUE_TASK_*."""
        return self._task_state(taskid)

    def why(self, taskid):
        """One line: why the task does not run, or where it runs."""
        return self._why(taskid)

    def cancel_by_taskid(self, id):
        """Kills the task, wherever it is, and returns it; None: there is none."""
        return self._cancel_by_taskid(id)

    def cancel_by_tasktag(self, tag):
        """Same, for one task with this tag. Call again for the next one."""
        return self._cancel_by_tasktag("" if tag is None else tag)

    def cancel_by_category(self, category):
        """Kills all tasks of a category, and returns their list."""
        return self._cancel_by_category(category)

    # ---- settings before it starts ----

    def specify_name(self, name):
        """The name by which workers find this queue (`work_queue_worker -M NAME`)."""
        self._name(name or "")

    def specify_password(self, password):
        """Workers must know it: `work_queue_worker --password FILE`."""
        self._password(password)

    def specify_password_file(self, file):
        """Same, from a file, verbatim. Raises RuntimeError if it cannot be read."""
        self._password_file(file)
        return 1

    def specify_log(self, logfile):
        """File for statistics, appended to; HDF5 if its name ends in .h5."""
        self._stats_log(_absolute(logfile))
        return 1

    def specify_transactions_log(self, logfile):
        """File for the events of tasks and workers, appended to."""
        self._transactions_log(_absolute(logfile))
        return 1

    def _debug(self, logfile):
        self._debug_log(_absolute(logfile))

    def _contact(self, file):
        self._contact_file(_absolute(file))

    def specify_keepalive_interval(self, interval):
        """Seconds of silence after which a worker is asked whether it lives; 0: never."""
        self._keepalive_or_tune(True, "keepalive-interval", interval)

    def specify_keepalive_timeout(self, timeout):
        """Seconds that it has to answer."""
        self._keepalive_or_tune(False, "keepalive-timeout", timeout)

    def _keepalive_or_tune(self, interval, parameter, seconds):
        if seconds < 0:
            raise ValueError("give 0 seconds or more")
        if self._begun:
            self.tune(parameter, seconds)
        else:
            self._keepalive(interval, seconds)

    # ---- statistics ----

    @property
    def stats(self):
        """Statistics, brought up to date; always the same object."""
        self._stats._update(self)
        return self._stats

    @property
    def stats_hierarchy(self):
        """Same as `stats`: there are no foremen."""
        return self.stats

    def stats_category(self, category):
        """Statistics of the tasks of one category."""
        stats = self._categories_stats.setdefault(category, Statistics())
        stats._update_category(self, category)
        return stats

    def status(self, request):
        """The state of "queue", "tasks", "workers" or "categories", as a list of dicts."""
        if request in ("queue", "manager"):
            return [dict(self.stats.as_dict(), project=self.name, port=self.port, type="wq_master")]
        if request == "tasks":
            return [{"taskid": task.id, "state": self.task_state(task.id), "tag": task.tag, "category": task.category,
                     "command": task.command} for task in self._tasks()]
        if request == "categories":
            return self._categories()
        if request == "workers":
            return []
        raise ValueError(f"status of {request!r}: give queue, tasks, workers or categories")

    def workers_summary(self):
        """Single workers are not listed: an empty list."""
        return []

    def application_info(self):
        """None: there is no information from outside."""
        return None

    @property
    def addresses(self):
        """All addresses for workers, the likeliest first: "10.0.0.7:9123"."""
        return self._addresses()

    # ---- resources by category ----

    def specify_max_resources(self, rmd):
        """Same as specify_category_max_resources("default", rmd)."""
        self.specify_category_max_resources("default", rmd)

    def specify_min_resources(self, rmd):
        """Same as specify_category_min_resources("default", rmd)."""
        self.specify_category_min_resources("default", rmd)

    def specify_category_max_resources(self, category, rmd):
        """What each task of the category asks for, unless it says so itself: a dict of cores, memory (MB), disk (MB),
        gpus. In automatic modes: the most that its tasks may get."""
        self._max_resources(category, amounts_of(rmd))

    def specify_category_min_resources(self, category, rmd):
        """The least that its tasks get."""
        self._min_resources(category, amounts_of(rmd))

    def specify_category_first_allocation_guess(self, category, rmd):
        """What the first tasks get in automatic modes, until enough of them are measured."""
        self._first_guess(category, amounts_of(rmd))

    def specify_category_max_concurrent(self, category, max_concurrent):
        """How many of its tasks run at once; below 0: no limit."""
        self._max_concurrent(category, max_concurrent)

    def specify_category_mode(self, category, mode):
        """One of the constants WORK_QUEUE_ALLOCATION_MODE_*; category None: for all new categories."""
        self._mode("" if category is None else category, mode)
        return 1

    def specify_category_autolabel_resource(self, category, resource, autolabel):
        """Whether automatic modes find "cores", "memory", "disk" or "gpus"."""
        self._autolabel(category, resource, bool(autolabel))
        return 1

    def initialize_categories(self, filename, rm=None):
        """Loads what an earlier run has measured: DIRECTORY/wq-PID.summaries of enable_monitoring()."""
        self._initialize(_absolute(filename), amounts_of(rm))

    def enable_monitoring(self, dirname=None, watchdog=True):
        """Measures what tasks use; `watchdog` kills those that use more than they got. `dirname`: reports go there."""
        self._monitor("" if dirname is None else _absolute(dirname), bool(watchdog))
        return 1

    def enable_monitoring_full(self, dirname=None, watchdog=True):
        """Same as enable_monitoring(): there are no time series."""
        return self.enable_monitoring(dirname, watchdog)

    # ---- workers ----

    def shutdown_workers(self, n):
        """Asks n workers (0: all) to end, idle ones first; returns how many were asked."""
        return self._shutdown_workers(n)

    def specify_draining_by_hostname(self, hostname, drain_mode=True):
        """Workers of this host get no more tasks, and end when theirs have; returns their number."""
        return self._drain(hostname, bool(drain_mode))

    def block_host(self, host):
        """Workers of this host (`task.hostname`) get no more tasks."""
        self._block(host, 0)

    def block_host_with_timeout(self, host, timeout):
        """Same, for so many seconds."""
        self._block(host, int(timeout))

    def unblock_host(self, host=None):
        """Ends that; None: for all hosts."""
        self._unblock(host)

    blacklist = block_host
    blacklist_with_timeout = block_host_with_timeout
    blacklist_clear = unblock_host

    @property
    def blocked_hosts(self):
        """Names of the hosts that are blocked now."""
        return self._blocked()

    def activate_fast_abort(self, multiplier):
        """Tasks that run `multiplier` times longer than the mean of their category are run elsewhere. Below 1: off."""
        self._fast_abort(multiplier)
        return 1

    def activate_fast_abort_category(self, name, multiplier):
        """Same, for one category; 0: off for it."""
        self._fast_abort_category(name, multiplier)
        return 1

    def tune(self, name, value):
        """Sets a parameter by its name, such as "hungry-minimum"; 0. Unknown names: a warning, and -1."""
        try:
            self._tune(name, value)
        except ValueError as error:
            warnings.warn(str(error), stacklevel=2)
            return -1
        return 0

    # ---- accepted, without effect ----

    def specify_algorithm(self, algorithm=WORK_QUEUE_SCHEDULE_UNSET):
        """Accepted, without effect: workers are chosen by the files they hold and by what they have free."""

    def specify_task_order(self, order=WORK_QUEUE_TASK_ORDER_FIFO):
        """Accepted, without effect: tasks run by priority, then in the order of submission."""

    def specify_manager_mode(self, mode):
        """Accepted, without effect: a queue with a name can be found by it."""

    specify_master_mode = specify_manager_mode

    def specify_catalog_server(self, hostname, port):
        """Accepted, without effect: names are found in a folder, not by a catalog server."""

    def specify_manager_preferred_connection(self, mode):
        """Accepted, without effect: workers try all addresses."""

    specify_master_preferred_connection = specify_manager_preferred_connection

    def specify_priority(self, priority):
        """Accepted, without effect."""

    def specify_num_tasks_left(self, ntasks):
        """Accepted, without effect."""

    def specify_min_taskid(self, minid):
        """Accepted, without effect: ids count from 1. Returns 1."""
        return 1

    def estimate_capacity(self):
        """Accepted, without effect: the capacity is always estimated."""

    def invalidate_cache_file(self, local_name):
        """Accepted, without effect: files are known by their content, so a changed file is sent again."""


# The manual has them at the queue, too: q.WORK_QUEUE_ALLOCATION_MODE_MAX_THROUGHPUT.
for _name in constants.__all__:
    setattr(WorkQueue, _name, getattr(constants, _name))

_debug_log = None


def specify_debug_log(logfile):
    """Debug output of all queues that are made after this."""
    global _debug_log
    _debug_log = logfile


def set_debug_flag(*flags):
    """Accepted: a debug log has the lines of all subsystems."""


def specify_port_range(low_port, high_port):
    """Ports that WorkQueue(0) takes the first free one of."""
    if not 0 < low_port <= high_port < 65536:
        raise ValueError(f"a range of ports needs 0 < low <= high < 65536, not {low_port} to {high_port}")
    os.environ["WORK_QUEUE_LOW_PORT"] = str(low_port)
    os.environ["WORK_QUEUE_HIGH_PORT"] = str(high_port)
