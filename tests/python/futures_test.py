"""The executor: futures of calls on workers."""

import concurrent.futures
import gc
import operator
import os
import subprocess
import sys
import threading
import time
import weakref

import cloudpickle
import pytest

import work_queue as wq
from conftest import finish, interrupted_after, python
from work_queue import WorkQueueExecutor
from work_queue.own_tasks import OwnTasks

cloudpickle.register_pickle_by_value(sys.modules[__name__])  # workers cannot import this file


def wait_for_ever():
    threading.Event().wait()


def fail(key):
    return {}[key]


def until(what):
    """Waits until it is true."""
    end = time.monotonic() + 90
    while not what():
        assert time.monotonic() < end, "it is not so after 90 s"
        threading.Event().wait(0.01)


@pytest.fixture
def executor(served):
    with WorkQueueExecutor(served) as one:
        yield one


def test_a_thousand_calls(executor, served):
    futures = [executor.submit(pow, number, 2) for number in range(1000)]
    assert [future.result(60) for future in futures] == [number * number for number in range(1000)]
    assert all(future.done() and not future.running() for future in futures)
    assert served.empty()


def test_exceptions_have_the_traceback_of_the_worker(executor):
    future = executor.submit(fail, "key")
    with pytest.raises(KeyError, match="key") as caught:
        future.result(60)
    assert "in fail" in caught.value.remote_traceback and "in fail" in str(caught.value.__cause__)
    assert isinstance(future.exception(), KeyError)
    assert isinstance(executor.submit(os._exit, 1).exception(60), wq.PythonTaskNoResult)
    assert executor.submit(lambda: KeyError("returned")).result(60).args == ("returned",)


def test_arguments_that_cannot_be_sent(executor):
    with pytest.raises(TypeError, match="argument 1 cannot be sent"):
        executor.submit(len, [threading.Lock()])
    with pytest.raises(TypeError, match="takes a function first"):
        executor.submit("len", [])
    assert executor.submit(len, [1]).result(60) == 1


def test_a_future_as_an_argument_is_named(executor, served):
    future = executor.submit(pow, 2, 3)
    for call, told in ((lambda: executor.submit(operator.add, 1, future), "argument 2 is a future: pass future.result()"),
                       (lambda: executor.submit(dict, a=future), "argument 'a' is a future"),
                       (lambda: executor.submit(sum, [1, future]), "argument 1 has a future")):
        with pytest.raises(TypeError, match=told):
            call()
    assert "an item is a future" in str(served.map(abs, [future])[0])


def test_waiting_for_several(executor):
    futures = {executor.submit(operator.add, 1, number): 1 + number for number in range(20)}
    for future in concurrent.futures.as_completed(futures, 60):
        assert future.result() == futures[future]
    called = []
    future = executor.submit(pow, 2, 3)
    future.add_done_callback(lambda one: called.append(one.result()))
    concurrent.futures.wait([future], 60)
    until(lambda: called)
    assert called == [8]


def test_a_callback_that_exits_stops_no_other_future(executor, served, capsys):
    for exception in (SystemExit, KeyboardInterrupt, GeneratorExit):
        def leave(_):
            raise exception(f"leave by {exception.__name__}")

        gate = threading.Event()
        future = executor.submit(pow, 2, 3)
        future.add_done_callback(lambda _: gate.wait(60))  # so that it is not done yet
        future.add_done_callback(leave)
        gate.set()
        assert future.result(60) == 8 and executor.submit(abs, -2).result(60) == 2
        until(lambda: f"leave by {exception.__name__}" in capsys.readouterr().err)
    waiting = [executor.submit(wait_for_ever) for _ in range(3)]
    waiting[1].add_done_callback(leave)
    with pytest.raises(GeneratorExit):
        waiting[1].cancel()
    assert len(served.status("tasks")) == 2
    waiting[0].add_done_callback(leave)
    served.close()
    assert all(future.cancelled() for future in waiting)


def test_cancelling_calls_that_wait_and_that_run(executor, served):
    futures = [executor.submit(wait_for_ever) for _ in range(5)]
    until(lambda: sum(future.running() for future in futures) == 2)
    for future in futures:
        assert future.cancel() and future.cancelled() and future.cancel()
    done, not_done = concurrent.futures.wait(futures, 60)
    assert done == set(futures) and not not_done
    with pytest.raises(concurrent.futures.CancelledError):
        futures[0].result()
    assert served.status("tasks") == []
    future = executor.submit(pow, 2, 4)
    assert future.result(60) == 16 and not future.cancel()


def test_calls_that_the_program_cancels_as_tasks(executor, served):
    future = executor.submit(wait_for_ever)
    (task,) = served.status("tasks")
    served.cancel_by_taskid(task["taskid"])
    with pytest.raises(concurrent.futures.CancelledError):
        future.result(60)


def test_tasks_of_one_caller_are_not_all_looked_at(queue):
    looked = []

    class Looked(wq.Task):
        @property
        def _wq_in_queue(self):
            looked.append(self)
            return super()._wq_in_queue

    own = OwnTasks(queue, "test")
    tasks = [Looked("true") for _ in range(50)]
    for task in tasks:
        own.submit(task)
    assert own.wait() is None and not looked
    cancelled = {queue.cancel_by_taskid(tasks[3].id), queue.cancel_by_tasktag(tasks[0].tag)}
    ended = [own.wait(), own.wait()]
    assert {one.task for one in ended} == cancelled and all(one.cancelled for one in ended)
    assert own.wait() is None and len(own) == 48
    own.cancel()


def test_a_future_that_is_done_holds_no_arguments(executor):
    class Argument:
        pass

    argument = Argument()
    futures = [executor.submit(type, argument), executor.submit(fail, argument), executor.submit(lambda one: wait_for_ever(), argument)]
    concurrent.futures.wait(futures[:2], 60)
    futures[2].cancel()
    gone = weakref.ref(argument)
    del argument
    until(lambda: gc.collect() is not None and gone() is None)
    assert all(future.done() and not future.running() for future in futures)


def test_map(executor):
    assert list(executor.map(pow, range(500), [2] * 500)) == [number * number for number in range(500)]
    assert list(executor.map(pow, [2, 3], [3, 2, 1], chunksize=1)) == [8, 9]
    results = executor.map(fail, ["a", "b"], chunksize=2)
    with pytest.raises(KeyError, match="a"):
        next(results)
    with pytest.raises(concurrent.futures.TimeoutError):
        list(executor.map(lambda _: wait_for_ever(), [1], timeout=0.1))
    with pytest.raises(ValueError, match="chunksize is 0"):
        executor.map(fail, [1], chunksize=0)


def test_map_with_an_item_that_cannot_be_sent_leaves_no_calls(executor, served):
    with pytest.raises(TypeError, match="cannot be sent"):
        executor.map(lambda _: wait_for_ever(), [1, 2, 3, threading.Lock()], chunksize=1)
    assert served.status("tasks") == []


def test_keywords_of_any_name(executor, served):
    assert executor.submit(dict, self=1, fn=2, func=3, task=4).result(60) == {"self": 1, "fn": 2, "func": 3, "task": 4}
    assert wq.RemoteTask("f", "c", fn=1, coprocess=2, self=3).command == "f"


def test_cancelling_within_calls_of_the_executor(executor, served):
    """As a handler of signals does, or the end of an iterator that is collected as garbage."""
    class Pending(set):
        def add(self, one):
            super().add(one)
            running.cancel()

        def discard(self, one):
            for future in list(self):
                future.cancel()
            super().discard(one)

    running = executor.submit(wait_for_ever)
    executor._pending = Pending(executor._pending)
    others, ended = [], threading.Event()

    def submit():
        others.append(executor.submit(wait_for_ever))
        others.append(executor.submit(pow, 2, 3))
        ended.set()

    threading.Thread(target=submit, daemon=True).start()
    assert ended.wait(60) and running.cancelled()
    assert others[1].result(60) == 8 and others[0].cancelled()
    assert served.status("tasks") == []


def test_map_runs_all_also_if_nobody_reads_the_results(served, tmp_path):
    folder = str(tmp_path)
    with WorkQueueExecutor(served) as executor:
        executor.map(lambda name: open(f"{folder}/made-{name}", "w").close(), range(40))
    assert len([name for name in os.listdir(folder) if name.startswith("made-")]) == 40


def test_other_tasks_of_the_program_stay(executor, served):
    ours = [served.submit(wq.Task("true")) for _ in range(5)]
    futures = [executor.submit(pow, 2, number) for number in range(20)]
    assert sorted(task.id for task in finish(served)) == ours
    assert [future.result(60) for future in futures] == [2 ** number for number in range(20)]


def test_settings(served):
    like = wq.Task("")
    like.specify_cores(2)
    like.specify_buffer("text", "data")
    with WorkQueueExecutor(served, like=like) as executor:
        assert executor.submit(lambda: (os.environ["CORES"], open("data").read())).result(60) == ("2", "text")


def test_a_queue_that_nobody_uses_ends_also_after_futures(workers):
    queue = wq.WorkQueue(0, say=lambda line: None)
    workers.start(queue)
    future = WorkQueueExecutor(queue).submit(pow, 2, 3)
    assert future.result(60) == 8
    gone = weakref.ref(queue)
    del queue, future
    until(lambda: gc.collect() is not None and gone() is None)
    until(lambda: not any(thread.name == "work_queue futures" for thread in threading.enumerate()))


def test_shutdown(served, monkeypatch):
    executor = WorkQueueExecutor(served)
    running = [executor.submit(wait_for_ever) for _ in range(2)]
    waiting = [executor.submit(pow, 2, 2) for _ in range(5)]
    until(lambda: all(future.running() for future in running))
    executor.shutdown(wait=False, cancel_futures=True)
    assert all(future.cancelled() for future in waiting) and not any(future.done() for future in running)
    with pytest.raises(RuntimeError, match="has been shut down"):
        executor.submit(pow, 2, 2)
    for future in running:
        future.cancel()
    executor.shutdown()
    executor = WorkQueueExecutor(served)
    submit, late = served._calls().submit, []

    def submit_late(*call):
        executor.shutdown()  # another thread
        late.append(submit(*call))
        return late[0]

    monkeypatch.setattr(served._calls(), "submit", submit_late)
    with pytest.raises(RuntimeError, match="has been shut down"):
        executor.submit(wait_for_ever)
    assert late[0].cancelled()
    monkeypatch.undo()
    with WorkQueueExecutor(served) as executor:
        future = executor.submit(pow, 2, 5)
    assert future.done() and future.result() == 32


def test_interrupts_end_the_block_at_once(served):
    with pytest.raises(KeyboardInterrupt), WorkQueueExecutor(served) as executor:
        future = executor.submit(wait_for_ever)
        with interrupted_after(0.3):
            future.result()
    assert future.cancelled()
    executor = WorkQueueExecutor(served)
    future = executor.submit(wait_for_ever)
    with interrupted_after(0.3), pytest.raises(KeyboardInterrupt), executor:
        pass  # interrupted while it waits at the end of the block
    assert future.cancelled() and served.status("tasks") == []


# ---- without a queue ----


def test_it_replaces_a_pool_of_processes(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    for pool in (concurrent.futures.ProcessPoolExecutor, WorkQueueExecutor):
        with pool(max_workers=2) as executor:
            assert list(executor.map(pow, range(20), [2] * 20, chunksize=5)) == [n * n for n in range(20)]
            assert executor.submit(os.getpid).result(60) != os.getpid() and executor._max_workers == 2
    queue = executor._queue
    assert queue._is_over
    assert os.listdir(tmp_path) == [] and not os.path.exists(queue._folder.name)
    with pytest.raises(RuntimeError, match="has been shut down"):
        executor.submit(pow, 2, 2)
    with pytest.raises(ValueError, match="max_workers is 0"):
        WorkQueueExecutor(0)
    with pytest.raises(ValueError, match="max_workers is for an executor's own queue"):
        WorkQueueExecutor(queue, max_workers=2)
    with pytest.raises(TypeError, match="queue is '2': give a WorkQueue, or max_workers=N"):
        WorkQueueExecutor("2")


def test_what_a_killed_program_leaves_is_removed_later(monkeypatch, tmp_path):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    program = "import os, work_queue as wq; print(wq.WorkQueueExecutor(1).submit(pow, 2, 3).result(), flush=True)"
    killed = python(program + "; os.kill(os.getpid(), 9)")
    assert (killed.returncode, killed.stdout) == (-9, "8\n"), killed.stderr
    assert [each.name for each in tmp_path.glob("work_queue.*/password")] == ["password"]
    end = time.monotonic() + 60
    while list(tmp_path.glob("work_queue.*/password")) and time.monotonic() < end:
        ended = python(program)
        assert (ended.returncode, ended.stdout) == (0, "8\n"), ended.stderr
    assert list(tmp_path.glob("work_queue.*/password")) == []


def test_its_own_queue_is_on_loopback_with_a_password():
    with WorkQueueExecutor(1) as executor:
        port = executor._queue.port
        with open("/proc/net/tcp") as table:
            listening = [line.split()[1] for line in table if line.split()[3] == "0A"]
        assert [address for address in listening if address.endswith(f":{port:04X}")] == [f"0100007F:{port:04X}"]
        stranger = subprocess.run([os.environ["WORKER"], "--single-shot", "--timeout", "5", "localhost", str(port)],
                                  capture_output=True, text=True, timeout=60)
        assert stranger.returncode != 0 and "password" in stranger.stdout + stranger.stderr


made = []


def make(value):
    made.append(value)
    made.append(os.getpid())
    global seen
    seen = value


def test_an_initializer_runs_once_in_each_process(capfd):
    def look(_):
        return seen, os.getpid(), made[1]

    with WorkQueueExecutor(1, initializer=make, initargs=("set",)) as executor:
        calls = [executor.submit(look, n).result(60) for n in range(5)] + list(executor.map(look, range(5), chunksize=2))
        assert {value for value, _, _ in calls} == {"set"} and all(pid == ran for _, pid, ran in calls)
        assert len({pid for _, pid, _ in calls}) < len(calls)
    said = [line for line in capfd.readouterr().err.splitlines() if "no worker is connected" not in line]  # it may start slowly
    assert said == [], "its worker leaves with it"
    with WorkQueueExecutor(1, initializer=fail, initargs=("key",)) as executor, pytest.raises(KeyError, match="key"):
        executor.submit(pow, 2, 3).result(60)


def test_joblib():
    joblib = pytest.importorskip("joblib", reason="SKIP: joblib is not installed (Debian: python3-joblib)")
    import work_queue.joblib_backend  # noqa: F401: registers it

    with joblib.parallel_backend("work_queue", max_workers=2):
        assert joblib.effective_n_jobs(-1) == 2
        assert joblib.Parallel()(joblib.delayed(pow)(n, 2) for n in range(100)) == [n * n for n in range(100)]
        with pytest.raises(KeyError, match="key"):
            joblib.Parallel()(joblib.delayed(fail)(key) for key in ["key"] * 10)
        assert joblib.Parallel(n_jobs=2, timeout=60)(joblib.delayed(abs)(n) for n in range(-3, 0)) == [3, 2, 1]


def test_the_end_of_the_queue_cancels_what_is_left(queue):
    executor = WorkQueueExecutor(queue)
    future = executor.submit(pow, 2, 2)
    queue.close()
    assert future.cancelled()
    with pytest.raises(RuntimeError, match="has ended"):
        executor.submit(pow, 2, 2)


def test_the_end_of_the_program_does_not_wait():
    ended = python("import work_queue as wq\nq = wq.WorkQueue(0)\nf = wq.WorkQueueExecutor(q).submit(pow, 2, 3)\nprint('end')")
    assert (ended.returncode, ended.stdout) == (0, "end\n"), ended.stderr
