"""The interpreter that forks the workers of a JobExecutor2: it is started anew, since a program may have threads."""

from __future__ import annotations

import pickle
import random
import sys
import traceback
from typing import Any, Callable, List, Optional, Tuple

from . import _core, job_pickle

context: Optional[_core.JobContext] = None  # of the job that runs


def handler_of(function: Callable[[Any], Any]) -> Callable[[bytes, List[Any], Any], Tuple[Optional[bytes], Any]]:
    """What the engine calls for a job: the function between pickled values."""

    def handle(pickled: bytes, buffers: List[Any], job: Any) -> Tuple[Optional[bytes], Any]:
        global context
        context = job
        try:
            return job_pickle.dumps(function(job_pickle.loads(pickled, buffers)))
        except SystemExit as exit:
            return None, f"SystemExit: sys.exit({exit.code!r}) in the function\n"
        except BaseException as error:
            return None, _told(error)
        finally:
            context = None

    return handle


def _told(error: BaseException) -> str:
    last = traceback.format_exception_only(type(error), error)[-1].strip()
    trace = "".join(traceback.format_exception(type(error), error, error.__traceback__))
    return f"{last}\n{trace}"


def _in_worker(handler: Callable[..., Any]) -> Callable[..., Any]:
    seeded = False

    def handle(pickled: bytes, buffers: List[Any], job: Any) -> Any:
        nonlocal seeded
        if not seeded:
            seeded = True
            _seed(job.seed)
        try:
            return handler(pickled, buffers, job)
        finally:
            for stream in (sys.stdout, sys.stderr):
                try:
                    stream.flush()
                except Exception:
                    pass

    return handle


def _seed(seed: int) -> None:
    random.seed(seed)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(seed % 2**32)
    if "torch" in sys.modules:
        sys.modules["torch"].manual_seed(seed)


def main(control: int, ready: int) -> None:
    """Reads the function from stdin, says on `ready` whether it is here, and serves."""
    path, function = pickle.load(sys.stdin.buffer)
    with open(ready, "wb") as answer:
        try:
            sys.path[:] = path
            handler = _in_worker(handler_of(pickle.loads(function)))
        except BaseException as error:
            answer.write(_told(error).encode("utf-8", "replace"))
            return
        answer.write(b"ready")
    _core.serve_jobs(control, handler)
