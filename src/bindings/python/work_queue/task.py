"""A task: a command to run at a worker, what it needs, and its result."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, TypeVar, Union

from . import _core
from .constants import (
    WORK_QUEUE_CACHE,
    WORK_QUEUE_FAILURE_ONLY,
    WORK_QUEUE_INPUT,
    WORK_QUEUE_NOCACHE,
    WORK_QUEUE_OUTPUT,
    WORK_QUEUE_SCHEDULE_UNSET,
    WORK_QUEUE_SUCCESS_ONLY,
    WORK_QUEUE_WATCH,
)
from .options import real
from .resources import _UNITS, Resources, from_amounts, whole
from .settings import keep_own_attributes, specify
from .unpicklable import name_of

if TYPE_CHECKING:
    from .own_tasks import OwnTasks
    from .queue import WorkQueue

Path = Union[str, bytes, "os.PathLike[str]", "os.PathLike[bytes]"]
TaskT = TypeVar("TaskT", bound="Task")


def _flags(flags: int | None, cache: bool | None = None, failure_only: bool | None = None) -> int:
    """Flags of a file; `cache` and `failure_only`, unless None, replace theirs."""
    flags = WORK_QUEUE_NOCACHE if flags is None else int(flags)
    for wanted, flag in ((cache, WORK_QUEUE_CACHE), (failure_only, WORK_QUEUE_FAILURE_ONLY)):
        if wanted is not None:
            flags = flags | flag if wanted else flags & ~flag
    return flags


def _base(name: Path) -> str | bytes:
    """The last part of a path."""
    path: str | bytes = os.fspath(name)
    return os.path.basename(path.rstrip("/")) if isinstance(path, str) else os.path.basename(path.rstrip(b"/"))


def _only_input(type: int | None, what: str) -> None:
    if type not in (None, WORK_QUEUE_INPUT):
        raise ValueError(f"{what} can only be an input: give type=WORK_QUEUE_INPUT")


class Task(_core.Task):
    """A shell command that a worker runs.

    >>> t = Task("./gzip < my-file > my-file.gz")
    >>> t.specify_input_file("/usr/bin/gzip", "gzip", cache=True)
    >>> t.specify_input_file("my-file")
    >>> t.specify_output_file("my-file.gz")

    Specify it, submit it to a `WorkQueue`, and read its results after `WorkQueue.wait` has returned it. A task can be
    submitted again then.

    `t.cores = 2` is the same as `t.specify_cores(2)`, for each specify_ method that takes one value. Other attributes are yours,
    and so are all of your own subclasses.
    """

    # Names of our own begin with _wq_: classes of programs that are tasks have names, too.
    _wq_algorithm = WORK_QUEUE_SCHEDULE_UNSET
    _wq_owner: OwnTasks | None = None  # while it is one of these

    def __init__(self, command: Path) -> None:
        if callable(command):
            raise TypeError(f"a Task runs a command: a function needs PythonTask({name_of(command)}, ...)")
        super().__init__(command)

    def __init_subclass__(cls, **named: Any) -> None:
        super().__init_subclass__(**named)
        keep_own_attributes(cls)

    def __setattr__(self, name: str, value: Any) -> None:
        if name.startswith("_") or not specify(self, name, value):
            super().__setattr__(name, value)
        elif name not in _UNITS and not hasattr(type(self), name):
            self.__dict__[name] = value

    if not TYPE_CHECKING:  # so that a type checker still knows wrong names

        def __getattr__(self, name):
            amount = getattr(self.resources_requested, name) if name in _UNITS else -1
            if amount < 0:
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            return amount

    # ---- what to run ----

    def clone(self: TaskT) -> TaskT:
        """A task with the same settings, which is in no queue."""
        twin = type(self).__new__(type(self))
        _core.Task.__init__(twin, "")
        twin._wq_take_settings(self)
        twin.__dict__.update(self.__dict__, _wq_owner=None)
        return twin

    def specify_priority(self, priority: float) -> None:
        """Tasks with a higher number run first; equal ones in the order of submission. Default: 0."""
        self._wq_priority(real(priority, "priority"))

    def specify_algorithm(self, algorithm: int = WORK_QUEUE_SCHEDULE_UNSET) -> None:
        """Accepted, without effect: workers are chosen by the files they hold and by what they have free."""
        self._wq_algorithm = algorithm

    # ---- its files ----

    def specify_file(self, local_name: Path, remote_name: Path | None = None, type: int | None = None, flags: int | None = None,
                     cache: bool | None = None, failure_only: bool | None = None) -> int:
        """A file or folder of this machine that the task reads (type=WORK_QUEUE_INPUT, default) or makes
        (WORK_QUEUE_OUTPUT).

        `remote_name` is its name in the task's folder; default: the last part of `local_name`. `flags`:
        WORK_QUEUE_NOCACHE (default), or a sum of WORK_QUEUE_CACHE (workers keep it for other tasks),
        WORK_QUEUE_WATCH (an output's new data comes while the task runs), WORK_QUEUE_FAILURE_ONLY,
        WORK_QUEUE_SUCCESS_ONLY. `cache` and `failure_only` set those flags.
        """
        flags = _flags(flags, cache, failure_only)
        if remote_name is None:
            remote_name = _base(local_name)
        if type in (None, WORK_QUEUE_INPUT):
            self._wq_input_file(local_name, remote_name, bool(flags & WORK_QUEUE_CACHE))
        elif type == WORK_QUEUE_OUTPUT:
            self._wq_output_file(local_name, remote_name, bool(flags & WORK_QUEUE_FAILURE_ONLY),
                                 bool(flags & WORK_QUEUE_SUCCESS_ONLY), bool(flags & WORK_QUEUE_WATCH),
                                 bool(flags & WORK_QUEUE_CACHE))
        else:
            raise ValueError(f"type is {type!r}: give WORK_QUEUE_INPUT or WORK_QUEUE_OUTPUT")
        return 1

    def specify_input_file(self, local_name: Path, remote_name: Path | None = None, flags: int | None = None,
                           cache: bool | None = None) -> int:
        """An input: see `specify_file`."""
        return self.specify_file(local_name, remote_name, WORK_QUEUE_INPUT, flags, cache)

    def specify_output_file(self, local_name: Path, remote_name: Path | None = None, flags: int | None = None,
                            cache: bool | None = None, failure_only: bool | None = None,
                            success_only: bool | None = None) -> int:
        """An output: see `specify_file`. `success_only`: it is sent only if the task did not fail."""
        flags = _flags(flags, cache, failure_only)
        if success_only is not None:
            flags = flags | WORK_QUEUE_SUCCESS_ONLY if success_only else flags & ~WORK_QUEUE_SUCCESS_ONLY
        return self.specify_file(local_name, remote_name, WORK_QUEUE_OUTPUT, flags)

    def specify_file_piece(self, local_name: Path, remote_name: Path | None = None, start_byte: int = 0, end_byte: int = 0,
                           type: int | None = None, flags: int | None = None, cache: bool | None = None,
                           failure_only: bool | None = None) -> int:
        """Bytes start_byte to end_byte, inclusive and counted from 0, of a file, as an input."""
        _only_input(type, "a piece of a file")
        if not 0 <= start_byte <= end_byte:
            raise ValueError("a piece needs 0 <= start_byte <= end_byte")
        self._wq_input_piece(local_name, _base(local_name) if remote_name is None else remote_name, start_byte, end_byte,
                             bool(_flags(flags, cache, failure_only) & WORK_QUEUE_CACHE))
        return 1

    def specify_directory(self, local_name: Path, remote_name: Path | None = None, type: int | None = None,
                          flags: int | None = None, recursive: bool = False, cache: bool | None = None,
                          failure_only: bool | None = None) -> int:
        """A folder. As an input that is not `recursive`: an empty folder of that name."""
        if recursive or type == WORK_QUEUE_OUTPUT:
            return self.specify_file(local_name, remote_name, type, flags, cache, failure_only)
        self._wq_input_folder(_base(local_name) if remote_name is None else remote_name)
        return 1

    def specify_buffer(self, buffer: str | bytes | bytearray | memoryview, remote_name: Path, flags: int | None = None,
                       cache: bool | None = None) -> int:
        """Bytes (or a str) that the task gets as a file."""
        data = buffer.encode("utf-8", "surrogateescape") if isinstance(buffer, str) else bytes(memoryview(buffer))
        self._wq_input_buffer(data, remote_name, bool(_flags(flags, cache) & WORK_QUEUE_CACHE))
        return 1

    def specify_url(self, url: Path, remote_name: Path, type: int | None = None, flags: int | None = None,
                    cache: bool | None = None, failure_only: bool | None = None) -> int:
        """What the worker fetches from a URL (http, https, ftp, ...), as an input."""
        _only_input(type, "a URL")
        self._wq_input_url(url, remote_name, bool(_flags(flags, cache, failure_only) & WORK_QUEUE_CACHE))
        return 1

    def specify_file_command(self, cmd: Path, remote_name: Path, type: int | None = None, flags: int | None = None,
                             cache: bool | None = None, failure_only: bool | None = None) -> int:
        """What a shell command at the worker makes, as an input: the file that it calls %%, or its stdout."""
        _only_input(type, "the result of a command")
        self._wq_input_command(cmd, remote_name, bool(_flags(flags, cache, failure_only) & WORK_QUEUE_CACHE))
        return 1

    # ---- what it needs ----

    def specify_cores(self, cores: float) -> None:
        """Cores; 0.5 is half a core."""
        self._wq_cores(real(cores, "cores"))

    def specify_memory(self, memory: float) -> None:
        """Memory in MB."""
        self._wq_memory(whole(memory, "memory"))

    def specify_disk(self, disk: float) -> None:
        """Disk space in MB."""
        self._wq_disk(whole(disk, "disk"))

    def specify_gpus(self, gpus: float) -> None:
        """GPUs; 0.25 is a quarter of one."""
        self._wq_gpus(real(gpus, "gpus"))

    def specify_end_time(self, useconds: float) -> None:
        """When it expires, or is killed, in microseconds since 1970."""
        self._wq_end_time(int(useconds))

    def specify_start_time_min(self, useconds: float) -> None:
        """It starts no earlier; microseconds since 1970."""
        self._wq_start_time_min(int(useconds))

    def specify_running_time(self, useconds: float) -> None:
        """It is killed after running for so long; microseconds."""
        self._wq_running_time(int(useconds))

    def specify_running_time_max(self, seconds: float) -> None:
        """It is killed after running for so many seconds."""
        self._wq_running_time_max(whole(seconds, "running_time_max"))

    def specify_running_time_min(self, seconds: float) -> None:
        """Workers that end sooner (`--wall-time`) do not start it."""
        self._wq_running_time_min(whole(seconds, "running_time_min"))

    def specify_environment_variable(self, name: Path, value: object = None) -> None:
        """Sets a variable of its environment; without a value, unsets it."""
        self._wq_variable(name, None if value is None else value if isinstance(value, (str, bytes)) else str(value))

    def _wq_before_submit(self, queue: WorkQueue) -> None:
        """For kinds of tasks that are packed at the last moment."""

    # ---- results ----

    # What it is depends on the kind of task, and wait() returns any.
    @property
    def output(self) -> Any:
        """What it wrote to stdout and stderr, as str; None before it has ended."""
        return self.std_output

    @property
    def exit_status(self) -> int:
        """Same as `return_status`: its exit code, or the number of the signal that killed it; -1: it did not run."""
        return self.return_status

    @property
    def resources_requested(self) -> Resources:
        """What was specified."""
        return from_amounts(self._wq_requested)

    @property
    def resources_allocated(self) -> Resources:
        """What it got at the worker."""
        return from_amounts(self._wq_allocated)

    @property
    def limits_exceeded(self) -> Resources | None:
        """The limits that it exceeded, the others -1; None: none."""
        exceeded = self._wq_exceeded
        return from_amounts(exceeded) if max(exceeded) >= 0 else None

    @property
    def resources_measured(self) -> Resources:
        """What it used; `WorkQueue.enable_monitoring` measures all of it."""
        measured = self._wq_measured
        if measured.get("start", 0) > 0:
            measured.update(category=self.category, command=self.command, taskid=str(self.id),
                            snapshots=[Resources(snapshot) for snapshot in self._wq_snapshots],
                            peak_times=Resources(self._wq_peak_times))
        return Resources(measured, self.limits_exceeded)

    @property
    def algorithm(self) -> int:
        """What `specify_algorithm` was given."""
        return self._wq_algorithm

    def __repr__(self) -> str:
        if not self.id:
            state = "not submitted"
        elif self._wq_in_queue:
            state = "in its queue"
        else:
            state = "succeeded" if self._wq_ok else f"failed: {self.reason or self.result_str}"
        return f"<{type(self).__name__} {self.id or ''} {self.command!r}, {state}>".replace("  ", " ", 1)
