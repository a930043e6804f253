"""The functions of trw's job_executor2 that serve queues of multiprocessing."""

import queue
import sys
import threading

from work_queue import job_executor
from work_queue.job_executor import collect_results_to_main_process, worker


class _Served:
    """worker() in a process and collect_results_to_main_process() in a thread, as a program of the document runs them."""

    def __init__(self, transform):
        made = job_executor.multiprocessing
        self.jobs, self.results, self.here = made.Queue(3), made.Queue(3), queue.Queue(2)
        self.abort, self.local_abort, self.stop_together, self.stop = (made.Event() for _ in range(4))
        self.session, self.ended = made.Value("i", 0), made.Value("i", 0)
        self.process = made.Process(target=worker, args=(self.jobs, self.results, transform, self.abort, self.local_abort,
                                                         self.stop_together, 0.001, 3))
        self.thread = threading.Thread(target=collect_results_to_main_process, args=(
            self.session, self.ended, self.results, self.here, self.abort, self.stop_together, self.local_abort, self.stop, 0.001))
        self.process.start()
        self.thread.start()

    def close(self, abort):
        abort.set()
        self.stop_together.set()
        self.thread.join(60)
        self.process.join(60)
        assert not self.thread.is_alive() and self.process.exitcode == 0


def test_the_functions_of_the_document():
    served = _Served(bytes)  # any function that a new interpreter can import
    try:
        for size in (1, 2, -1, 3):
            served.jobs.put((0, size))
        pairs = [served.here.get(timeout=60) for _ in range(3)]
        assert [result for _, result in pairs] == [b"\0", b"\0\0", b"\0\0\0"]  # -1 failed
        for m, _ in pairs:
            assert (0 < m.job_created <= m.job_processing_finished <= m.job_results_queued <= m.job_pin_thread_received
                    <= m.job_pin_thread_queued)
        served.session.value = 1  # what belongs to the session before is dropped
        served.jobs.put((0, 4))
        served.jobs.put((1, 5))
        metadata, result = served.here.get(timeout=60)
        assert (metadata.job_session_id, len(result)) == (1, 5)
        while served.ended.value < 6:
            served.thread.join(0.01)
        served.here.put("left")
    finally:
        served.close(served.local_abort)
    assert served.here.empty()


def test_what_is_no_exception_aborts_all():
    served = _Served(sys.exit)
    served.jobs.put((0, 5))
    assert served.abort.wait(60)
    served.close(served.abort)
