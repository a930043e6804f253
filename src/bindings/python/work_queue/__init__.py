"""A manager of tasks that run on many workers: commands, Python functions, and functions of coprocesses.

>>> import work_queue as wq
>>> q = wq.WorkQueue(9123)
>>> q.submit(wq.PythonTask(sum, [1, 2, 3]))
>>> t = q.wait()
>>> t.output
6

CCTools' name for it is `ndcctools.work_queue`.
"""

import os as _os
import sys as _sys
from importlib import import_module as _import_module

# Started as a rank of an MPI job, or by work_queue_python: the module that has ranks, too. Type checkers see the other.
if any(name in _os.environ for name in ("WORK_QUEUE_RANKS", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK")):
    try:
        _sys.modules[__name__ + "._core"] = globals()["_core"] = _import_module("._core_mpi", __name__)
    except ModuleNotFoundError:
        raise ImportError(f"{_os.path.dirname(__file__)} has no module _core_mpi, which ranks need: build the target wq_python_core_mpi, too") from None

try:
    from ._core import SetupError
    from ._core import version as __version__
except ModuleNotFoundError as _error:
    if _error.name != __name__ + "._core":
        raise
    _built = sorted(name for name in _os.listdir(_os.path.dirname(__file__)) if name.startswith("_core.") and name.endswith(".so"))
    _which = "; there is no compiled module at all: build the target wq_python_core"
    for _file in _built[:1]:
        _digits = "".join(_file.split("-")[1:2])  # of _core.cpython-311-x86_64-linux-gnu.so
        _which = f"; it was built for Python {_digits[:1]}.{_digits[1:]}, by its file {_file}"
    raise ImportError(f"work_queue in {_os.path.dirname(__file__)} does not fit {_sys.executable}, Python "
                      f"{_sys.version.split()[0]}{_which}") from None
from .all_queues import set_debug_flag, specify_debug_log, specify_port_range
from .constants import *  # noqa: F403
from .constants import _NAMES as _constants
from .factory import Factory
from .function_task import PythonTask, PythonTaskNoResult, RemoteError, pythontask_available
from .futures import WorkQueueExecutor
from .queue import WorkQueue
from .remote_task import RemoteTask
from .resources import Resources
from .run_stats import read_run, read_stats
from .statistics import Statistics
from .task import Task

__all__ = [*_constants, "Factory", "PythonTask", "PythonTaskNoResult", "RemoteError", "RemoteTask", "Resources", "SetupError",
           "Statistics", "Task", "WorkQueue", "WorkQueueExecutor", "__version__", "pythontask_available",
           "read_run", "read_stats", "set_debug_flag", "specify_debug_log", "specify_port_range"]
