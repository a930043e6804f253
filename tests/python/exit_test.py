"""How interpreters end while threads still use a queue."""

import pytest

from conftest import python

BEGIN = """
import threading, work_queue as wq
q = wq.WorkQueue(0, say=lambda line: None)
q.submit(wq.Task("true"))
begun = threading.Semaphore(0)
def run(call):
    begun.release()
    call()
"""
END = """
for call in calls:
    threading.Thread(target=run, args=[call], daemon=True).start()
for call in calls:
    begun.acquire()
threading.Event().wait(0.1)
"""


@pytest.mark.parametrize("calls", [
    "[lambda: q.wait(100)] * 8",
    "[lambda: [q.wait(0.01) for _ in range(10000)]] * 8",
    "[lambda: q.map(abs, [1, 2])] * 4 + [lambda: next(q.imap(abs, [1]))] * 4",
    "[lambda: [q.submit(wq.PythonTask(len, bytes(3 << 20))) for _ in range(10000)]] * 4",
])
def test_threads_that_are_in_a_call(calls):
    for _ in range(3):
        ended = python(BEGIN + f"calls = {calls}\n" + END)
        assert (ended.returncode, ended.stderr) == (0, "")


def test_threads_that_put_jobs():
    code = """
import threading
from work_queue.job_executor import JobExecutor2
jobs = JobExecutor2(1, len)
def put():
    while True:
        jobs.put(bytearray(8 << 20))
for _ in range(4):
    threading.Thread(target=put, daemon=True).start()
threading.Event().wait(0.3)
"""
    for _ in range(3):
        assert python(code).returncode == 0
