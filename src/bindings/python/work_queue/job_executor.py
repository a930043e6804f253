"""Runs a function over batches in worker processes, with bounded queues. After trw's `trw.train.job_executor2`.

>>> from work_queue.job_executor import JobExecutor2
>>> with JobExecutor2(4, decode) as executor:
...     for metadata, result in executor.map(batches):
...         use(metadata, result)

A batch is any value that can be pickled, mostly a dict of arrays. Arrays of numpy and tensors of torch go through
shared memory, and are views of it at the other side. A worker that dies is started again, and its job is lost.

The original's functions `worker` and `collect_results_to_main_process` serve queues of multiprocessing that a program makes
itself: see `job_queues`. JobExecutor2 does not use them.
"""

from __future__ import annotations

import atexit
import math
import multiprocessing as _multiprocessing
import operator
import os
import pickle
import queue as _queue
import signal
import subprocess
import sys
import threading
import time
import weakref
from typing import Any, Callable, Dict, Generic, Iterable, Iterator, List, Optional, TextIO, Tuple, Type, TypeVar

from . import _core, job_pickle, job_process
from ._core import BatchError, ExecutorClosed
from .every import call_all
from .job_queues import JobError, JobMetadata, collect_results_to_main_process, flush_queue, worker
from .options import set_counts

__all__ = ["BatchError", "ExecutorClosed", "JobContext", "JobError", "JobExecutor", "JobExecutor2", "JobMetadata", "PinQueue",
           "collect_results_to_main_process", "default_queue_timeout", "flush_queue", "job_context", "multiprocessing",
           "shared_array", "worker"]

default_queue_timeout = 0.001
multiprocessing = _multiprocessing.get_context("spawn")  # as in the original

JobContext = _core.JobContext
_In = TypeVar("_In")
_Out = TypeVar("_Out")

_executors: "weakref.WeakSet[JobExecutor2[Any, Any]]" = weakref.WeakSet()
_FIRST_START = 60.0  # seconds; what a function imports may be large, and on a slow disk
_OF_RANKS = ("OMPI_", "PMIX_", "PMI_", "WORK_QUEUE_RANKS")
_ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")


@atexit.register
def _end_all() -> None:
    """They have threads: they end before the interpreter does."""
    call_all(executor.close for executor in list(_executors))


def job_context() -> Optional[_core.JobContext]:
    """In a function of an executor: its worker, seed, attempt and session, and stopping(): whether nobody wants the
    result any more. Elsewhere None."""
    return job_process.context


def shared_array(shape: Any, dtype: Any = float) -> Any:
    """An array of numpy in shared memory, of any content: put() hands it over without a copy, whatever its size.
    Leave it as it is until its result is here: the worker sees it, and cannot change it."""
    import numpy

    dtype = numpy.dtype(dtype)
    try:
        shape = (operator.index(shape),)
    except TypeError:
        shape = tuple(shape)
    size = math.prod(map(operator.index, shape))
    memory: Any = _core.new_memory(dtype.itemsize * size)
    return numpy.frombuffer(memory, dtype, count=size).reshape(shape)


class PinQueue(Generic[_Out]):
    """The results that are here, as a `queue.Queue` for reading: pairs (metadata, result)."""

    def __init__(self, executor: "JobExecutor2[Any, _Out]") -> None:
        self._executor = weakref.ref(executor)

    def get(self, block: bool = True, timeout: Optional[float] = None) -> Tuple[JobMetadata, _Out]:
        """The next result. Waits, also for jobs that another thread puts; at most `timeout` seconds. Raises
        queue.Empty: none has come, or the executor is closed."""
        if timeout is not None and timeout < 0:
            raise ValueError("'timeout' must be a non-negative number")
        executor = self._executor()
        pair = None if executor is None else executor._next(0.0 if not block else -1.0 if timeout is None else timeout)
        if pair is None:
            raise _queue.Empty
        return pair

    def get_nowait(self) -> Tuple[JobMetadata, _Out]:
        return self.get(block=False)

    def empty(self) -> bool:
        """Whether get() would wait."""
        executor = self._executor()
        return executor is None or not executor._has_result()

    def qsize(self) -> int:
        executor = self._executor()
        return 0 if executor is None else executor._core.results_here()

    def full(self) -> bool:
        return 0 < self.maxsize <= self.qsize()

    @property
    def maxsize(self) -> int:
        """0: no limit."""
        executor = self._executor()
        return 0 if executor is None else executor._core.most_results()


class JobExecutor2(Generic[_In, _Out]):
    """Runs a function in worker processes of this machine.

    Parameters, as the original has them:
        nb_workers: processes; 0: put() runs the function at once, in this process, and raises what it raises. Any number
            of results can wait then.
        function_to_run: takes a batch and returns one. It goes to workers by pickle (what is in __main__, and lambdas, by
            cloudpickle). They do not run your program again.
        max_queue_size_per_worker: jobs that wait at a worker, and results that wait there.
        max_queue_size_pin_thread_per_worker: results that wait here, times the workers.
        max_queue_size_pin: results that wait here, in all; None: the line above.
        wait_time: without effect: nothing polls.
        wait_until_processes_start: start() returns when all workers are ready.
        restart_crashed_worker: False: the jobs of a worker that died are lost.
    And others:
        retries: how often a job is tried again whose worker died. Workers cannot change arrays in place then.
        seed: worker i begins with seed + i, of random, numpy and torch.
        errors: what becomes of jobs whose function raised, or whose worker died: "tell": a line, and no result, as in the
            original (without workers put() raises instead); "return": the pair (metadata, None), with metadata.error;
            "raise": get() and take() raise JobError.
        say: function for lines to the user (one str); default: they go to stderr.

    It starts at once, and raises as start() does if that takes more than a minute. Jobs of one worker end in order,
    those of several in any order. All methods may be called from several threads. As a context manager it is closed at
    the end of the block.
    """

    def __init__(self, nb_workers: int, function_to_run: Callable[[_In], _Out], max_queue_size_per_worker: int = 2,
                 max_queue_size_pin_thread_per_worker: int = 3, max_queue_size_pin: Optional[int] = None,
                 wait_time: float = default_queue_timeout, wait_until_processes_start: bool = True,
                 restart_crashed_worker: bool = True, *, retries: int = 0, seed: int = 0, errors: str = "tell",
                 say: Optional[Callable[[str], None]] = None) -> None:
        if not callable(function_to_run):
            raise TypeError(f"function_to_run is {function_to_run!r}: give a function")
        if errors not in ("tell", "return", "raise"):
            raise ValueError(f"errors is {errors!r}: give tell, return or raise")
        options = _core.JobOptions()
        set_counts(options, max_queue_size_per_worker=max_queue_size_per_worker, max_queue_size_pin=max_queue_size_pin,
                   max_queue_size_pin_thread_per_worker=max_queue_size_pin_thread_per_worker, retries=retries, seed=seed)
        options.wait_until_processes_start = wait_until_processes_start
        options.restart_crashed_worker = restart_crashed_worker
        self.nb_workers, self.function_to_run, self.wait_time = nb_workers, function_to_run, wait_time
        self._options, self._errors = options, errors
        self._say = say or (lambda line: print(line, file=sys.stderr))
        self._process: Optional[subprocess.Popen[bytes]] = None
        self._closed = True
        self.nb_failed = 0
        self._raised_here = threading.local()
        self.pin_memory_queue: PinQueue[_Out] = PinQueue(self)
        self.pin_queue = self.pin_memory_queue  # our shorter name
        self.start(_FIRST_START)
        _executors.add(self)

    # ---- its life ----

    def start(self, timeout: float = 10.0) -> None:
        """Starts the workers; again after close(). Raises RuntimeError with the reason if they cannot be started in
        `timeout` seconds, above all if the function cannot be sent. They load the function in this time, with all that
        it imports."""
        if not self._closed:
            return
        until = time.monotonic() + timeout
        handler = job_process.handler_of(self.function_to_run, _note_for_put(self._raised_here, self._errors))
        self._core = _core.Jobs(self.nb_workers, self._options, lambda control: self._start_process(control, until, timeout),
                                handler)
        try:
            self._core.start(max(until - time.monotonic(), 0.0))
        except BaseException:
            self._core.close(0)
            raise
        self._closed = False

    def _start_process(self, control: int, until: float, timeout: float) -> int:
        function = _pickled_function(self.function_to_run)
        # As the current folder may have other modules of these names, the package is found by its path.
        code = (f"import sys; sys.path.insert(0, {os.path.dirname(os.path.dirname(os.path.abspath(__file__)))!r}); "
                "from work_queue.job_process import main; main(int(sys.argv[1]), int(sys.argv[2]))")
        answer, ready = os.pipe()
        with open(answer, "rb", 0) as answers:
            try:
                with os.fdopen(os.memfd_create("work_queue_function"), "w+b") as stdin:
                    pickle.dump((sys.path, function), stdin)
                    stdin.seek(0)
                    self._process = subprocess.Popen(
                        [sys.executable, *_flags(), "-c", code, str(control), str(ready)],
                        stdin=stdin, pass_fds=(control, ready), start_new_session=True, env=_environment())
            finally:
                os.close(ready)
            try:
                told = job_process.answer_in(answers, until)
            except BaseException:
                self._kill_process()
                raise
        if told != "ready":
            self._kill_process()
            if told is None:
                raise RuntimeError(f"workers could not load the function in {timeout:g} s, with what it imports: "
                                   "call start(timeout) with more")
            lines = told.splitlines() or ["its interpreter ended"]
            raise RuntimeError(f"the function cannot be loaded by workers: {lines[0]}")
        return self._process.pid

    def _kill_process(self) -> None:
        assert self._process is not None
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)  # with what the function's modules have started
            self._process.wait()

    def close(self, timeout: float = 10) -> None:
        """Ends the workers, which finish what they do; before `timeout` seconds are over they are killed. Jobs that have
        not ended are dropped; results that are here stay."""
        if self._closed:
            return
        self._closed = True
        self._core.close(timeout)
        if self._process is not None:
            self._process.poll()

    def abort(self) -> None:
        """Kills the workers at once. Results that are here stay."""
        self._core.abort()

    def __enter__(self) -> "JobExecutor2[_In, _Out]":
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], *_: object) -> None:
        if kind is not None and not issubclass(kind, Exception):  # Ctrl-C: who waits wants the end
            self.abort()
        self.close()

    def __del__(self) -> None:
        if not getattr(self, "_closed", True):
            self.close()

    # ---- jobs and results ----

    def put(self, data: _In) -> bool:
        """Queues a job, and never waits. False: all queues are full, and it is not queued. Raises ExecutorClosed after
        close(), and TypeError for what cannot be sent, with the part that cannot; without workers, what the function raises.

        The worker has the arrays for itself, and may change them; yours stay as they are. So they are copied, as are
        results that you put again; those of shared_array(), and results that cannot be changed, are not.
        """
        if not self._core.has_room():  # before anything is copied
            return False
        try:
            packed = job_pickle.dumps(data)
        except (MemoryError, OSError):  # for the copies of its arrays
            raise
        except Exception as problem:
            from .unpicklable import where

            raise TypeError(f"the batch cannot be sent to a worker: {where(data, problem)}") from problem
        queued = self._core.put(*packed)
        error = self._raised_here.__dict__.pop("error", None)
        if error is not None:
            self._core.take_failure()
            self.nb_failed += 1
            raise error
        return queued

    def take(self) -> Optional[Tuple[JobMetadata, _Out]]:
        """The next result, (metadata, result). Waits as long as a job is unfinished; None: none is."""
        pair = self._next(0.0)
        while pair is None and not self._core.is_idle():
            result = self._core.take(0.05)
            if result is not None:
                pair = self._told(result)
        return self._next(0.0) if pair is None else pair

    def map(self, batches: Iterable[_In]) -> Iterator[Tuple[JobMetadata, _Out]]:
        """Puts all batches, and gives results as they come, until no job is unfinished. With one worker that is the order
        of the batches; with several, `metadata.job` tells which one it is: sorted(map(batches), key=lambda r: r[0].job).
        A job that failed has no result, unless `errors` is "return". If the iteration is left early, the next call gives what
        is left of its results; reset() drops them."""
        for batch in batches:
            while not self.put(batch):
                # None: jobs without results have ended, and their worker may be starting.
                pair = self.take() or self._next(0.01)
                if pair is not None:
                    yield pair
        yield from self

    def __iter__(self) -> Iterator[Tuple[JobMetadata, _Out]]:
        """Results until no job is unfinished."""
        return iter(self.take, None)

    def _next(self, seconds: float) -> Optional[Tuple[JobMetadata, _Out]]:
        """The next result that is to be told. `seconds` below 0: without a limit."""
        until = time.monotonic() + seconds
        left = seconds
        while True:
            result = self._core.take(left)
            if result is None:
                return None
            pair = self._told(result)
            if pair is not None:
                return pair
            if seconds >= 0:
                left = max(until - time.monotonic(), 0.0)

    def _told(self, result: Tuple[Any, ...]) -> Optional[Tuple[JobMetadata, _Out]]:
        """What get() returns for it, or raises. None: it failed, and a line says so."""
        told, error, pickled, buffers = result
        metadata = JobMetadata._of(told)
        if error is None:
            return metadata, job_pickle.loads(pickled, buffers)
        self.nb_failed += 1
        metadata.error, place, trace = [*error.split("\n", 2), "", ""][:3]
        if self._errors == "return":
            return metadata, None  # type: ignore[return-value]
        if self._errors == "raise":
            failed = JobError(f"job {metadata.job} failed: {metadata.error}{place}")
            failed.metadata, failed.traceback = metadata, trace
            raise failed
        self._say(f"job {metadata.job} failed: {metadata.error}{place}")
        return None

    def _has_result(self) -> bool:
        """Whether there is one that get() returns or raises. Those that only a line tells of are told."""
        if self._errors == "tell":
            while (failed := self._core.take_failure()) is not None:
                self._told(failed)
        else:
            self._core.is_idle()  # looks for results that workers have
        return self._core.results_here() > 0

    def is_full(self) -> bool:
        """Whether put() would return False."""
        return self._core.is_full()

    def is_idle(self) -> bool:
        """Whether no job waits or runs: all results are here."""
        return self._core.is_idle()

    def reset(self) -> None:
        """Drops all results, also those of jobs that have not ended. Never waits."""
        self._core.reset()

    def job_report(self, f: Optional[TextIO] = None) -> None:
        """Writes workers, queues and counts to `f` (default: sys.stdout)."""
        print(self._core.report(), end="", file=sys.stdout if f is None else f)

    def _check_process_killed_and_restart(self) -> None:
        """The original's; here it has no effect, since workers that died are started again without it."""


JobExecutor = JobExecutor2


def _note_for_put(raised: threading.local, errors: str) -> Callable[[BaseException], None]:
    """What a function raises that runs in put() is raised there. It does not keep the executor."""
    def note(error: BaseException) -> None:
        if errors == "tell" or not isinstance(error, Exception):
            raised.error = error

    return note


def _pickled_function(function: Callable[..., Any]) -> bytes:
    if job_pickle.cloudpickle is None:
        remedy = ("what is in __main__, or a lambda, needs cloudpickle (Debian: python3-cloudpickle); or put the function "
                  "into a module")
        try:
            pickled = pickle.dumps(function)
        except Exception as error:
            raise TypeError(f"the function cannot be sent to workers: {error}: {remedy}") from error
        if b"__main__" in pickled:
            raise TypeError(f"the function cannot be sent to workers: {remedy}")
        return pickled
    try:
        return bytes(job_pickle.cloudpickle.dumps(function))
    except Exception as error:
        from .unpicklable import where

        raise TypeError(f"the function cannot be sent to workers: {where(function, error)}") from error


def _flags() -> List[str]:
    """Options of this interpreter, such as -B, for another."""
    flags: Any = getattr(subprocess, "_args_from_interpreter_flags", list)
    return list(flags())


def _environment() -> Dict[str, str]:
    """Each worker is one of several: libraries use one thread, unless the user has said otherwise. It is no rank of MPI."""
    one = {} if "OMP_NUM_THREADS" in os.environ else dict.fromkeys(_ONE_THREAD, "1")
    ours = {name: value for name, value in os.environ.items() if not name.startswith(_OF_RANKS)}
    return {**one, **ours}
