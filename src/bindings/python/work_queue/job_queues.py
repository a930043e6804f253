"""Metadata and errors of jobs, and the functions of trw's `job_executor2` that serve queues of multiprocessing: `worker` in a
process, and `collect_results_to_main_process` in a thread of the program.

A program that runs these functions makes the queues and events. A job is a pair (session, batch); its result is a pair
(JobMetadata, result), where None as result stands for a failure.
"""

from __future__ import annotations

import sys
import time
import traceback
from queue import Empty, Full, Queue
from typing import Any, Callable, Optional, Tuple

from .job_process import seed_random_numbers


class JobError(RuntimeError):
    """Why a job has no result: what its function raised, or how its worker died. `metadata` is the job's. `traceback` is
    that of the exception in the worker, as text."""

    metadata: "JobMetadata"
    traceback: str = ""


class JobMetadata:
    """Times of a job, in seconds of time.perf_counter(): None if its worker died before.

    job_created: put() took it. job_begun: its worker began the function. job_processing_finished: the function ended.
    job_results_queued: the result was in the worker's queue. job_pin_thread_received, job_pin_thread_queued: in the
    program's. job_session_id: how often reset() was called before it.

    job: its number, from 0 in the order of put(); a put() that returned False does not count. worker: that of the worker.
    attempt: above 1 if workers died of it before. error: why there is no result, or None.
    """

    def __init__(self, job_session_id: int) -> None:
        self.job_session_id = job_session_id
        self.job_created: Optional[float] = time.perf_counter()
        self.job_begun: Optional[float] = None
        self.job_processing_finished: Optional[float] = None
        self.job_results_queued: Optional[float] = None
        self.job_pin_thread_received: Optional[float] = None
        self.job_pin_thread_queued: Optional[float] = None
        self.job = 0
        self.worker = 0
        self.attempt = 1
        self.error: Optional[str] = None

    @classmethod
    def _of(cls, told: Tuple[Any, ...]) -> "JobMetadata":
        self = cls(told[1])
        self.job, _, self.worker, self.attempt, self.job_created, self.job_begun = told[:6]
        self.job_processing_finished, self.job_results_queued, self.job_pin_thread_received = told[6:]
        self.job_pin_thread_queued = self.job_pin_thread_received
        return self

    def __repr__(self) -> str:
        return "JobMetadata(" + ", ".join(f"{name}={value!r}" for name, value in self.__dict__.items()) + ")"


def flush_queue(queue: Any) -> None:
    """Takes all that is in a queue, and drops it. None, and a queue that is closed, are empty."""
    while queue is not None:
        try:
            queue.get(block=False)
        except JobError:  # of an executor with errors="raise"
            pass
        except (Empty, ValueError, OSError, EOFError):
            return


def worker(input_queue: Any, output_queue: Any, transform: Optional[Callable[[Any], Any]], global_abort_event: Any,
           local_abort_event: Any, synchronized_stop: Any, wait_time: float, seed: int) -> None:
    """Applies `transform` to the batches of `input_queue` until one of the abort events is set. Then it waits for
    `synchronized_stop`, and returns.

    Parameters:
        input_queue: pairs (session, batch).
        output_queue: gets pairs (JobMetadata, result); result None: `transform` raised, and stderr has the traceback.
        transform: takes a batch and returns one; None: the batch is the result.
        global_abort_event, local_abort_event: events of all executors, and of this one.
        wait_time: seconds of a wait for a queue, after which it looks at the events.
        seed: of random, numpy and torch.

    It goes on after Ctrl-C, which the program handles. What else is no Exception, such as SystemExit, sets
    `global_abort_event`.
    """
    seed_random_numbers(seed)

    def aborted() -> bool:
        return bool(global_abort_event.is_set() or local_abort_event.is_set())

    while not aborted():
        metadata = JobMetadata(-1)
        result = None
        try:
            session, batch = input_queue.get(timeout=wait_time)
            metadata = JobMetadata(session)
            result = batch if transform is None else transform(batch)
            metadata.job_processing_finished = time.perf_counter()
        except Empty:
            continue
        except (Exception, KeyboardInterrupt):
            traceback.print_exc()
        except BaseException:
            traceback.print_exc()
            global_abort_event.set()
        metadata.job_results_queued = time.perf_counter()
        _put(output_queue, (metadata, result), wait_time, aborted)
    flush_queue(input_queue)
    synchronized_stop.wait()


def collect_results_to_main_process(job_session_id: Any, jobs_queued: Any, worker_output_queue: Any,
                                    output_queue: "Queue[Any]", global_abort_event: Any, synchronized_stop: Any,
                                    local_abort_event: Any, stop_event: Any, wait_time: float) -> None:
    """Moves results of a worker to a queue of the program, until `stop_event` is set. If an abort event is set, it empties both
    queues, waits for `synchronized_stop`, and returns.

    Parameters:
        job_session_id: Value with the current session. Results of others are dropped.
        jobs_queued: Value that counts each result, also those that are dropped.
        worker_output_queue: pairs (JobMetadata, result) of worker(); a result None is dropped.
        output_queue: gets the pairs.
        The others: as of worker().
    """
    def aborted() -> bool:
        return bool(global_abort_event.is_set() or local_abort_event.is_set())

    while not stop_event.is_set():
        if aborted():
            flush_queue(worker_output_queue)
            flush_queue(output_queue)
            synchronized_stop.wait()
            return
        try:
            metadata, result = worker_output_queue.get(timeout=wait_time)
        except Empty:
            continue
        except Exception:  # the result cannot be unpickled here
            print("a result of a worker cannot be read:\n" + traceback.format_exc(), end="", file=sys.stderr)
            result = None
        if result is not None:
            metadata.job_pin_thread_received = metadata.job_pin_thread_queued = time.perf_counter()
            _put(output_queue, (metadata, result), wait_time, lambda: bool(
                aborted() or stop_event.is_set() or metadata.job_session_id != job_session_id.value))
        with jobs_queued.get_lock():
            jobs_queued.value += 1


def _put(to: Any, pair: Any, wait_time: float, dropped: Callable[[], bool]) -> None:
    """Waits for room, unless the pair is not wanted any more."""
    while not dropped():
        try:
            return to.put(pair, timeout=wait_time)
        except Full:
            pass
