"""JobExecutor2: starts that are limited, several threads that wait, Ctrl-C without workers, interpreters that end, a zygote that
is killed."""

import os
import queue
import signal
import sys
import threading
import time

import cloudpickle
import pytest

from conftest import python
from work_queue import job_pickle
from work_queue.job_executor import JobExecutor2

cloudpickle.register_pickle_by_value(sys.modules[__name__])  # workers cannot import this file


def fail(batch):
    raise KeyError("key")


def test_starting_is_limited_whatever_the_function_imports(tmp_path, monkeypatch):
    (tmp_path / "starts.py").write_text(
        "import os, threading\nif os.environ.get('CHILD'): os.system('sleep 100 > /dev/null 2>&1 & echo $! > ' + os.environ['CHILD'])\n"
        "if os.environ.get('HANG'): threading.Event().wait()\ndef f(batch):\n    return batch\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    import starts

    monkeypatch.setenv("CHILD", str(tmp_path / "child"))
    begun = time.monotonic()
    with JobExecutor2(1, starts.f) as executor:  # a process that the import leaves behind does not matter
        assert time.monotonic() - begun < 50
        executor.put(1)
        assert executor.take()[1] == 1
        executor.close()
        monkeypatch.delenv("CHILD")
        monkeypatch.setenv("HANG", "1")
        with pytest.raises(RuntimeError, match=r"could not load the function in 0.3 s.*start\(timeout\)"):
            executor.start(0.3)
        monkeypatch.delenv("HANG")
        executor.start(60)
        executor.put(2)
        assert executor.take()[1] == 2
    os.kill(int((tmp_path / "child").read_text()), signal.SIGKILL)


def test_without_cloudpickle_it_is_named(monkeypatch):
    monkeypatch.setattr(job_pickle, "cloudpickle", None)
    for function in (lambda batch: batch, type("Own", (), {"__module__": "__main__"})):
        with pytest.raises(TypeError, match="needs cloudpickle"):
            JobExecutor2(1, function)
    with JobExecutor2(1, len) as executor:
        executor.put("four")
        assert executor.take()[1] == 4


def test_who_waits_gets_a_result_that_another_thread_looks_for():
    with JobExecutor2(1, lambda batch: batch) as executor:
        for wait in (executor.pin_queue.get, executor.take):
            for job in range(40):
                got = []
                executor.put(job)
                thread = threading.Thread(target=lambda: got.append(wait()), daemon=True)
                thread.start()
                end = time.monotonic() + 60
                while thread.is_alive() and time.monotonic() < end:
                    executor.pin_queue.empty()
                assert [pair[1] for pair in got] == [job]


def test_the_time_of_get_is_a_limit_whatever_fails():
    def fail_late(batch):
        threading.Event().wait(0.05)
        raise KeyError("key")

    with JobExecutor2(1, fail_late, max_queue_size_per_worker=100, say=lambda line: None) as executor:
        for job in range(100):
            assert executor.put(job)
        with pytest.raises(queue.Empty):
            executor.pin_queue.get(timeout=0.2)
        assert not executor.is_idle()  # not all have failed meanwhile
        executor.close(0)


def test_an_empty_queue_tells_of_jobs_that_failed():
    with JobExecutor2(1, fail, say=lambda line: None) as executor:
        executor.put(0)
        while not executor.is_idle():
            time.thread_time()
        assert executor.pin_queue.qsize() == 1
        assert executor.pin_queue.empty() and executor.nb_failed == 1 and executor.pin_queue.qsize() == 0


def test_without_workers_what_is_no_exception_is_raised():
    def interrupt(batch):
        os.kill(os.getpid(), signal.SIGINT)
        threading.Event().wait(20)

    said = []
    for function, error in ((interrupt, KeyboardInterrupt), (sys.exit, SystemExit)):
        with JobExecutor2(0, function, say=said.append) as executor:
            with pytest.raises(error):
                executor.put(3)
            assert executor.take() is None and executor.is_idle() and executor.nb_failed == 1
    assert not said


def test_an_interpreter_that_ends_while_threads_use_it():
    code = ("import sys, threading\nfrom work_queue.job_executor import JobExecutor2\n"
            "sys.setswitchinterval(1e-5)\nexecutor = JobExecutor2(1, len)\n"
            "def use():\n    while True:\n        try:\n            executor.put(b'x' * 100)\n"
            "        except RuntimeError:\n            pass\n"
            "        executor.is_idle(), executor.pin_queue.empty(), executor.reset()\n"
            "for _ in range(3):\n    threading.Thread(target=use, daemon=True).start()\nprint('end')")
    for _ in range(3):
        ended = python(code)
        assert (ended.returncode, ended.stdout, ended.stderr) == (0, "end\n", "")


def test_a_killed_zygote_and_closed_descriptors_cost_the_jobs_that_ran():
    def close_all(batch):
        if batch == "zygote":
            os.kill(os.getppid(), 9)
            threading.Event().wait()
        os.closerange(3, 256)
        return batch

    with JobExecutor2(1, close_all, errors="return") as executor:
        batches = [1, 2, "zygote", 3, "zygote", 4]
        results = list(executor.map(batches))
        assert [result for _, result in results] == [1, 2, None, 3, None, 4]
        assert "the process that starts workers" in results[2][0].error
