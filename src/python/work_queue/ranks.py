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
"""

from __future__ import annotations

import os
import pathlib
import runpy
import shutil
import sys
import weakref
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .queue import WorkQueue

_current: Ranks | None = None
_holder: weakref.ref[WorkQueue] | None = None  # the queue that has them


class Ranks:
    """The ranks of this job. The constructor returns on rank 0 only; the others work, and then exit.

    Without mpirun or srun there is one rank, this process, which is a worker with all cores of the machine.

    Parameters:
        manager_only: rank 0 runs no tasks.
        launcher: path of work_queue_launcher, used if MPI was started before; default: the one installed.

    Raises RuntimeError if MPI cannot be used.
    """

    def __init__(self, manager_only: bool = False, launcher: str | None = None) -> None:
        from . import _core

        begin: Any = getattr(_core, "Ranks", None)  # of _core_mpi
        if begin is None:
            raise RuntimeError("this process is no rank: start the script by work_queue_python, or by mpirun, or set WORK_QUEUE_RANKS=1")
        self._ranks = begin(manager_only, launcher or _installed_launcher())
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


def _installed_launcher() -> str:
    """Beside this package; empty: the engine looks for it."""
    if os.environ.get("WORK_QUEUE_LAUNCHER"):
        return ""
    file = pathlib.Path(__file__).resolve()
    if len(file.parents) > 4 and (installed := file.parents[4] / "libexec" / "work_queue" / "work_queue_launcher").exists():
        return str(installed)
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


def main(words: list[str]) -> None:
    """`work_queue_python SCRIPT [ARGUMENT]...`"""
    global _current
    _current = ranks = Ranks(manager_only="--manager-only" in words[:1])
    if words[:1] == ["--manager-only"]:
        words = words[1:]
    sys.argv = words
    if not getattr(sys.flags, "safe_path", False):  # then Python adds no folder of scripts
        sys.path[0] = os.path.dirname(os.path.abspath(words[0]))
    process = os.getpid()
    try:
        runpy.run_path(words[0], run_name="__main__")
    finally:
        if os.getpid() == process:  # not in a process that the script has forked
            from .queue import _end_all

            _end_all()
            ranks.close()
