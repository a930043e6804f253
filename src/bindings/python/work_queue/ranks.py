"""The ranks of an MPI job as workers of a queue.

Run a script by `mpirun -n 8 work_queue_python manager.py` (or srun): rank 0 runs it, and tasks besides; the other
ranks are workers of its WorkQueue. If a rank is lost, its tasks run elsewhere.

Or let a script begin the ranks itself, before it uses threads:

>>> import work_queue as wq
>>> from work_queue.ranks import Ranks
>>> with Ranks() as ranks, wq.WorkQueue(None, ranks=ranks) as q:
...     ...

There, too, `mpirun -n 8 python manager.py` makes rank 0 go on; the others serve it until it ends, and then exit. If
mpi4py has started MPI before, the ranks are workers as well; but then mpirun ends all of them if one is lost.

Ranks that share the slices of a dataset all run the script: see `SliceRanks`.
"""

from __future__ import annotations

import functools
import os
import pathlib
import runpy
import shutil
import signal
import sys
import threading
import weakref
from typing import TYPE_CHECKING, Any

from .function_task import use_script_folder

if TYPE_CHECKING:
    from .queue import WorkQueue

_current: Ranks | None = None
_holder: weakref.ref[WorkQueue] | None = None  # the queue that has them
_PATIENCE = 60.0  # seconds for all ranks to come
_begun: Ranks | SliceRanks | None = None  # a process begins its ranks once


def _begin(ranks: Ranks | SliceRanks, manager_only: bool, launcher: str | None) -> Any:
    """The session of C++; None: this process is no rank."""
    from . import _core

    begin: Any = getattr(_core, "Ranks", None)  # of _core_mpi
    if begin is None:
        return None
    global _begun
    if _begun is not None:
        what = "as workers of a queue of tasks" if isinstance(_begun, Ranks) else "by SliceRanks() or ranks=True"
        raise RuntimeError(f"this process has begun its ranks before, {what}")
    signals = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    session = begin(manager_only, launcher or _installed_launcher())
    _begun = ranks
    if session.rank == 0 or isinstance(ranks, SliceRanks):  # the script runs here
        signal.pthread_sigmask(signal.SIG_SETMASK, signals)  # a rank that works has blocked some
        _interrupt_at_sigterm()
    return session


def _interrupt_at_sigterm() -> None:
    """mpirun passes Ctrl-C on as SIGTERM, which would end the script without `except` and `finally`."""
    if threading.current_thread() is not threading.main_thread() or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        return
    mask = threading.local()

    def interrupt(number: int, frame: object) -> None:
        signal.signal(number, again)
        raise KeyboardInterrupt

    def again(number: int, frame: object) -> None:
        """mpirun and Slurm may both send one: no second interruption. Unlike SIG_IGN, this is not for programs that the
        script starts to save something."""

    def block() -> None:
        mask.before = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGTERM,))

    def unblock() -> None:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask.before)

    def forget() -> None:
        if signal.getsignal(signal.SIGTERM) in (interrupt, again):
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
        unblock()

    signal.signal(signal.SIGTERM, interrupt)
    # multiprocessing ends its processes by SIGTERM. Python loses one that arrives while it forks.
    os.register_at_fork(before=block, after_in_parent=unblock, after_in_child=forget)


class Ranks:
    """The ranks of this job. The constructor returns on rank 0 only; the others work, and then exit.

    Without mpirun or srun there is one rank, this process, which is a worker with all cores of the machine.

    Parameters:
        manager_only: rank 0 runs no tasks.
        launcher: path of work_queue_launcher, used if MPI was started before; default: the one installed.

    Raises RuntimeError if MPI cannot be used.
    """

    def __init__(self, manager_only: bool = False, launcher: str | None = None) -> None:
        self._ranks = _begin(self, manager_only, launcher)
        if self._ranks is None:
            raise RuntimeError("this process is no rank: start the script by work_queue_python, or by mpirun, or set WORK_QUEUE_RANKS=1")
        self.size: int = self._ranks.size
        if self._ranks.rank > 0:
            code = self._ranks._serve()
            self._ranks._end()
            sys.exit(code)

    def close(self) -> None:
        """Ends them; their queue must have ended."""
        self._ranks._end()

    def __enter__(self) -> Ranks:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class SliceRanks:
    """The ranks of this job, for `work_queue.slices.WorkQueue(..., ranks=...)`. All ranks make one, and all go on.

    >>> ranks = SliceRanks()
    >>> work_queue = WorkQueue(works, num_slices=20 * ranks.size, ranks=ranks)

    Make it before threads. Without mpirun or srun there is one rank, this process. It ends with the program, or by
    close(). A rank that is killed ends nothing, unless mpi4py has started MPI; an exception that ends the program on
    one rank ends all ranks.

    Parameters:
        launcher: path of work_queue_launcher, used if MPI was started before; default: the one installed.

    Raises RuntimeError if MPI cannot be used.
    """

    def __init__(self, launcher: str | None = None) -> None:
        self._ranks = _begin(self, False, launcher)
        self.rank: int = 0 if self._ranks is None else self._ranks.rank
        self.size: int = 1 if self._ranks is None else self._ranks.size

    def _open_slices(self, works: Any, options: Any) -> Any:
        from . import _core

        if self._ranks is None:
            return _core.Slices(works, options)
        waits = threading.Timer(_PATIENCE, _waits, (self.rank, _PATIENCE))
        waits.daemon = True
        waits.start()
        try:
            return self._ranks._open_slices(works, options)
        finally:
            waits.cancel()

    def close(self) -> None:
        """Ends them; their queues must have ended."""
        if self._ranks is not None:
            self._ranks._end()

    def __enter__(self) -> SliceRanks:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _waits(rank: int, seconds: float) -> None:
    print(f"work_queue: rank {rank} has waited {seconds:g} s for all ranks to make this queue of slices", file=sys.stderr)


def for_slices() -> SliceRanks:
    """Those that this process has begun; otherwise begins them."""
    return _begun if isinstance(_begun, SliceRanks) else SliceRanks()


def abort_if_raised() -> None:
    """At the end of the program, before its queues end: ends the whole job if an exception ended it."""
    if isinstance(_begun, SliceRanks) and _begun.size > 1 and getattr(sys, "last_value", None) is not None:
        sys.stdout.flush()
        sys.stderr.flush()
        _begun._ranks._abort(1)


def end_for_slices() -> None:
    """At the end of the program, after its queues."""
    if isinstance(_begun, SliceRanks):
        _begun.close()


def _installed_launcher() -> str:
    """That of the prefix or build folder of this package; empty: the engine looks for it."""
    from . import _core

    if os.environ.get("WORK_QUEUE_LAUNCHER"):
        return ""
    folders = pathlib.Path(_core.__file__).resolve().parents
    for up, place in ((4, "libexec/work_queue"), (2, "launcher")):
        if len(folders) > up and (launcher := folders[up] / place / "work_queue_launcher").exists():
            return str(launcher)
    return shutil.which("work_queue_launcher") or ""


def current() -> Ranks | None:
    """The ranks that `work_queue_python` began, unless a queue has or had them. One that could not start leaves them."""
    queue = None if _holder is None else _holder()
    if _current is None or not _current._ranks._is_free or (queue is not None and not queue._is_over):
        return None
    return _current


def taken_by(queue: WorkQueue) -> None:
    """The queue has the current ranks from now on."""
    global _holder
    _holder = weakref.ref(queue)


def _show_from_script(script: str, show: Any, kind: Any, error: Any, trace: Any) -> None:
    """Shows an exception that ends the script without the frames of what runs it."""
    own = trace
    while own is not None and own.tb_frame.f_code.co_filename != script:
        own = own.tb_next
    if own is not None or (isinstance(error, SyntaxError) and error.filename == script):
        error, trace = error.with_traceback(own), own
    show(kind, error, trace)


def main(words: list[str]) -> None:
    """`work_queue_python SCRIPT [ARGUMENT]...`"""
    global _current
    _current = ranks = Ranks(manager_only="--manager-only" in words[:1])
    if words[:1] == ["--manager-only"]:
        words = words[1:]
    sys.argv = words
    if not getattr(sys.flags, "safe_path", False):  # then Python adds no folder of scripts
        sys.path[0] = os.path.dirname(os.path.realpath(words[0]))
        use_script_folder(sys.path[0])
    sys.excepthook = functools.partial(_show_from_script, words[0], sys.excepthook)
    process = os.getpid()
    try:
        runpy.run_path(words[0], run_name="__main__")
    finally:
        if os.getpid() == process:  # not in a process that the script has forked
            from .all_queues import end_all

            end_all()
            ranks.close()
