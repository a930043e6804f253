"""What the tests of the Python package share: queues, and real workers for them."""

import contextlib
import os
import signal
import subprocess
import sys

import pytest

import work_queue

WORKER = os.environ["WORKER"]


def pytest_terminal_summary(terminalreporter):
    """What was skipped, as all tests here say it."""
    for report in terminalreporter.stats.get("skipped", []):
        terminalreporter.write_line(report.longrepr[2].replace("Skipped: ", "", 1))


def pytest_sessionfinish(session, exitstatus):
    """A file of which all was skipped counts as skipped; pytest takes it for passed, or for a file without tests."""
    stats = session.config.pluginmanager.get_plugin("terminalreporter").stats
    nothing_ran = not any(stats.get(end) for end in ("passed", "failed", "error"))
    if stats.get("skipped") and nothing_ran and exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
        session.exitstatus = 77


class Workers:
    """Real workers of a queue, which end with the test."""

    def __init__(self, folder):
        self.folder = folder
        self.all = []

    def start(self, queue, *options, cores=2, environment=None, before=()):
        return self.start_at(*options, "localhost", str(queue.port), cores=cores, environment=environment, before=before)

    def start_at(self, *options, cores=2, environment=None, before=()):
        """The same with other words for where the manager is. `before`: a command that runs the worker."""
        log = open(self.folder / f"worker-{len(self.all)}.log", "w")
        worker = subprocess.Popen(
            [*before, WORKER, "--cores", str(cores), "-s", str(self.folder), "-t", "60", "-b", "1", *options],
            stdout=log, stderr=subprocess.STDOUT, env={**os.environ, "TMPDIR": str(self.folder), **(environment or {})})
        worker.log = log.name
        log.close()
        self.all.append(worker)
        return worker

    def end(self):
        for worker in self.all:
            worker.terminate()
        for worker in self.all:
            try:
                worker.wait(60)
            except subprocess.TimeoutExpired:
                worker.kill()
                worker.wait()


@pytest.fixture
def workers(tmp_path):
    all = Workers(tmp_path)
    yield all
    all.end()


@pytest.fixture
def queue(tmp_path, monkeypatch):
    """A queue without workers, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    with work_queue.WorkQueue(0, say=lambda line: None) as q:
        yield q


@pytest.fixture
def served(queue, workers):
    """The same with a worker of two cores."""
    workers.start(queue)
    return queue


def finish(queue, count=None):
    """All tasks of the queue (or the next `count`) as they end."""
    ended = []
    while not queue.empty() and (count is None or len(ended) < count):
        task = queue.wait(60)
        assert task is not None, f"no task has ended within 60 s; {len(queue)} left"
        ended.append(task)
    return ended


def run(queue, task):
    """Submits one task and returns it when it has ended."""
    queue.submit(task)
    ended = queue.wait(60)
    assert ended is task, "it has not ended within 60 s"
    return task


@contextlib.contextmanager
def interrupted_after(seconds):
    """Ctrl-C for this process, once the time is over."""
    before = signal.signal(signal.SIGALRM, lambda *_: os.kill(os.getpid(), signal.SIGINT))
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def python(code, *, timeout=60, cwd=None, **variables):
    """Runs a program of Python; returns what subprocess.run() does."""
    return subprocess.run([sys.executable, "-B", "-c", code], capture_output=True, text=True, timeout=timeout, cwd=cwd,
                          env={**os.environ, **variables}, check=False)
