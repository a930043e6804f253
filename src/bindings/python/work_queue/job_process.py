"""The interpreter that forks the workers of a JobExecutor2: it is started anew, since a program may have threads."""

from __future__ import annotations

import os
import pickle
import random
import select
import struct
import sys
import time
import traceback
from io import FileIO
from typing import Any, BinaryIO, Callable, List, Optional, Tuple

from . import _core, job_pickle

context: Optional[_core.JobContext] = None  # of the job that runs


def handler_of(function: Callable[[Any], Any], pass_on: Optional[Callable[[BaseException], object]] = None,
               ) -> Callable[[bytes, List[Any], Any], Tuple[Optional[bytes], Any]]:
    """What the engine calls for a job: the function between pickled values. `pass_on` gets what it raises, besides."""

    def handle(pickled: bytes, buffers: List[Any], job: Any) -> Tuple[Optional[bytes], Any]:
        global context
        context = job
        try:
            return _dumped(function(job_pickle.loads(pickled, buffers)), function)
        except BaseException as error:
            if pass_on is not None:
                pass_on(error)
            if isinstance(error, SystemExit):
                return None, f"SystemExit: sys.exit({error.code!r}) in the function\n"
            return None, _told(error)
        finally:
            context = None

    return handle


def _dumped(result: Any, function: Callable[[Any], Any]) -> Tuple[bytes, List[Any]]:
    try:
        return job_pickle.dumps(result)
    except Exception as error:
        from .unpicklable import text_of_unpicklable

        raise TypeError(text_of_unpicklable(function, result, error)) from error


def _told(error: BaseException) -> str:
    """A line with the exception, one with the place where it was raised, and the traceback: see JobExecutor2._told()."""
    last = traceback.format_exception_only(type(error), error)[-1].strip()
    frames = traceback.extract_tb(error.__traceback__)
    place = f" ({os.path.basename(frames[-1].filename)}, line {frames[-1].lineno}, in {frames[-1].name})" if frames else ""
    trace = "".join(traceback.format_exception(type(error), error, error.__traceback__))
    return f"{last}\n{place}\n{trace}"


def _in_worker(handler: Callable[..., Any]) -> Callable[..., Any]:
    seeded = False

    def handle(pickled: bytes, buffers: List[Any], job: Any) -> Any:
        nonlocal seeded
        if not seeded:
            seeded = True
            seed_random_numbers(job.seed)
        try:
            return handler(pickled, buffers, job)
        finally:
            for stream in (sys.stdout, sys.stderr):
                try:
                    stream.flush()
                except Exception:
                    pass

    return handle


def seed_random_numbers(seed: int) -> None:
    random.seed(seed)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(seed % 2**32)
    if "torch" in sys.modules:
        sys.modules["torch"].manual_seed(seed)


def main(control: int, ready: int) -> None:
    """Reads the function from stdin, says on `ready` whether it is here, and serves."""
    for descriptor in (control, ready):  # not for what the function's modules start
        os.set_inheritable(descriptor, False)
    path, function = pickle.load(sys.stdin.buffer)
    with open(ready, "wb") as answer:
        try:
            sys.path[:] = path
            handler = _in_worker(handler_of(pickle.loads(function)))
        except BaseException as error:
            _answer(answer, _told(error))
            return
        _answer(answer, "ready")
    _core.serve_jobs(control, handler)


_SIZE = struct.Struct("=I")  # of an answer, before it: others may keep the pipe open


def _answer(to: BinaryIO, text: str) -> None:
    answer = text.encode("utf-8", "replace")
    to.write(_SIZE.pack(len(answer)) + answer)


def answer_in(answers: FileIO, until: float) -> Optional[str]:
    """What main() says; "" if it ends without a word. None: nothing has come until then."""
    poll = select.poll()
    poll.register(answers, select.POLLIN)
    answer = b""
    while len(answer) < _SIZE.size or len(answer) < _SIZE.size + _SIZE.unpack_from(answer)[0]:
        left = until - time.monotonic()
        if left <= 0 or not poll.poll(1000 * left):
            return None
        part = answers.read(1 << 16)
        if not part:
            return ""
        answer += part
    return answer[_SIZE.size:].decode("utf-8", "replace")
