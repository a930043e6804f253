"""Calls whose arguments are large: workers of the same host map the memory that has them, others are sent the bytes."""

import contextlib
import gc
import os
import subprocess
import sys

import cloudpickle
import pytest

import work_queue as wq
from conftest import finish, python, run

numpy = pytest.importorskip("numpy", reason="SKIP: this Python has no numpy (Debian: python3-numpy)")
cloudpickle.register_pickle_by_value(sys.modules[__name__])  # workers cannot import this file
MB = 1 << 20


def is_mapped():
    """Whether this process has mapped a memory of the manager."""
    with open("/proc/self/maps") as maps:
        return "memfd:work_queue" in maps.read()


def memories():
    """How many this process has: one is the mark by which workers find out that they can map them."""
    links = []
    for name in os.listdir("/proc/self/fd"):
        try:
            links.append(os.readlink(f"/proc/self/fd/{name}"))
        except OSError:  # the listing's own
            pass
    return sum("memfd:work_queue" in link for link in links)


def ones(megabytes):
    return numpy.ones(megabytes * MB // 8)


def look(array):
    total = float(array.sum())
    array[0], array[-1] = 5.0, 7.0
    return total, float(array[0] + array[-1]), array.flags.writeable, is_mapped()


def greet(queue):
    """Once its first task has ended, a worker has told whether it maps memories."""
    assert run(queue, wq.PythonTask(is_mapped)).output is False


@pytest.mark.parametrize("method", ["fork", "direct"])
def test_a_worker_of_this_host_maps_them(served, method):
    greet(served)
    array = ones(50)
    for _ in range(3):
        task = wq.PythonTask(look, array)
        task.specify_exec_method(method)
        assert run(served, task).output == (array.size, 12.0, True, True)
    assert array.sum() == array.size, "a call has changed an array of this program"
    assert run(served, wq.PythonTask(lambda a: (len(a), is_mapped()), b"a" * 3 * MB)).output == (3 * MB, True)
    assert run(served, wq.PythonTask(look, ones(1)[:9])).output == (9.0, 12.0, True, False)


def test_they_are_those_of_the_time_of_submission(served):
    greet(served)
    array = ones(8)
    task = wq.PythonTask(look, array)
    served.submit(task)
    array[:] = 3
    assert served.wait(60).output[0] == array.size
    assert run(served, task).output[0] == 3 * array.size
    assert run(served, task.clone()).output[0] == 3 * array.size


def test_a_process_in_which_a_call_keeps_an_array_runs_no_other(served):
    def keep(array):
        import math

        kept = vars(math).setdefault("kept", [])
        kept.append(array)
        return os.getpid(), is_mapped(), [float(array[-1]) for array in kept]

    greet(served)
    processes = set()
    for value in range(8):
        task = wq.PythonTask(keep, numpy.full(2 * MB // 8, value, float))
        task.specify_exec_method("direct")
        process, mapped, values = run(served, task).output
        assert mapped and values == [value]
        processes.add(process)
    assert len(processes) == 8


def test_memory_of_a_cancelled_call_is_not_changed(served, tmp_path):
    os.mkfifo("begun")

    def stay(array, folder):
        import signal

        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        with open(folder + "/begun", "w"):
            pass
        signal.pause()

    greet(served)
    for value in (1, 2, 3):
        task = wq.PythonTask(stay, numpy.full(2 * MB // 8, value, float), str(tmp_path))
        served.submit(task)
        served.wait(0)
        with open("begun"):
            pass
        assert served.cancel_by_taskid(task.id) is task
        assert run(served, wq.PythonTask(look, ones(2))).output == (ones(2).size, 12.0, True, True)


def test_arrays_are_aligned(served):
    greet(served)
    for name in ("a", "of another length"):
        assert run(served, wq.PythonTask(lambda array, name: array.ctypes.data % 64, ones(2), name)).output == 0


def in_another_pid_namespace():
    command = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child"]
    try:
        able = subprocess.run([*command, "true"], capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        able = False
    if not able:
        pytest.skip("SKIP: a new PID namespace needs unshare and the rights of root")
    return command


def test_a_worker_that_cannot_map_them_is_sent_the_bytes(queue, workers):
    workers.start(queue, before=in_another_pid_namespace())
    greet(queue)
    assert run(queue, wq.PythonTask(look, ones(50))).output == (ones(50).size, 12.0, True, False)
    workers.start(queue)
    together = [wq.PythonTask(meet, ones(8), os.path.abspath("fifo"), mode) for mode in "rw"]
    os.mkfifo("fifo")
    for task in together:
        task.specify_cores(2)
        queue.submit(task)
    assert all(task.output == ones(8).size for task in finish(queue))
    queue.shutdown_workers(0)
    for worker in workers.all:
        worker.wait(60)


def meet(array, fifo, mode):
    """Waits for the other call, so both run at once."""
    with open(fifo, mode) as link:
        if mode == "w":
            link.write(str(float(array.sum())))
            return float(array.sum())
        return float(link.read())


def test_two_workers_map_them_at_once(queue, workers):
    for _ in range(2):
        workers.start(queue, cores=1)
    array = ones(16)
    os.mkfifo("fifo")
    for mode in "rw":
        queue.submit(wq.PythonTask(meet, array, os.path.abspath("fifo"), mode))
    tasks = finish(queue)
    assert [task.output for task in tasks] == [array.size] * 2 and len({task.host for task in tasks}) == 2


def test_a_task_whose_worker_leaves_is_run_again_with_them(queue, workers, tmp_path):
    os.mkfifo("begun")

    def stay_at_first(array, folder):
        import signal

        try:
            os.mkdir(folder + "/first")
        except FileExistsError:
            return look(array)
        with open(folder + "/begun", "w"):
            pass
        signal.pause()

    first = workers.start(queue, "--grace", "0")
    greet(queue)
    task = wq.PythonTask(stay_at_first, ones(8), str(tmp_path))
    queue.submit(task)
    queue.wait(0)
    with open("begun"):
        pass
    workers.start(queue)
    first.terminate()
    assert queue.wait(60) is task and task.total_submissions == 2
    assert task.output[:3] == (ones(8).size, 12.0, True)


def test_a_map_of_large_items(served):
    greet(served)
    arrays = [numpy.full(3 * MB // 8, value, float) for value in range(8)]
    assert list(served.map(lambda array: float(array[-1]), arrays)) == list(range(8))


def test_no_memory_stays(tmp_path, monkeypatch, workers):
    monkeypatch.chdir(tmp_path)
    assert memories() == 0
    with wq.WorkQueue(0, say=lambda line: None) as queue:
        greeted = workers.start(queue)
        greet(queue)
        assert memories() == 1
        tasks = [wq.PythonTask(look, ones(2)) for _ in range(10)]
        for task in tasks:
            queue.submit(task)
        assert memories() > 1
        finish(queue)
        cancelled = wq.PythonTask(look, ones(2))
        queue.submit(cancelled)
        assert queue.cancel_by_taskid(cancelled.id) is cancelled
        twin = cancelled.clone()
        refused = wq.PythonTask(look, ones(2))
        refused.specify_input_file("", "name")
        with pytest.raises(ValueError):
            queue.submit(refused)
        queue.submit(twin)
    assert greeted.poll() is None and memories() == 0


def test_a_long_queue_leaves_descriptors(tmp_path):
    """Beyond half of the descriptors that a program may have, arguments wait as bytes."""
    said = python("""
import os, resource
resource.setrlimit(resource.RLIMIT_NOFILE, (100, 100))
import work_queue as wq
from large_arguments_test import memories
with wq.WorkQueue(0, say=lambda line: None) as queue:
    queue.wait(0)
    for number in range(80):
        queue.submit(wq.PythonTask(len, bytes((1 << 20) + number)))
    print(memories(), max(map(int, os.listdir("/proc/self/fd"))) < 60, len(queue))
print(memories())
""", cwd=tmp_path, PYTHONPATH=os.pathsep.join([os.path.dirname(__file__), os.environ["PYTHONPATH"]]))
    assert said.returncode == 0, said.stderr
    kept, are_left, queued, at_end = said.stdout.split()
    assert 20 < int(kept) < 50 and are_left == "True" and (queued, at_end) == ("80", "0")


def function_of(bytes_of_it):
    table = os.urandom(bytes_of_it)

    def look_up(place):
        return table[place], len(table)

    return table, look_up


@pytest.mark.parametrize("method", ["fork", "direct"])
def test_a_large_function_is_sent_once(served, method):
    table, look_up = function_of(3 * MB)
    greet(served)
    before = served.stats.bytes_sent
    for place in range(20):
        task = wq.PythonTask(look_up, place)
        task.specify_exec_method(method)
        served.submit(task)
    assert sorted(task.output for task in finish(served)) == sorted((byte, 3 * MB) for byte in table[:20])
    assert 3 * MB <= served.stats.bytes_sent - before < 7 * MB  # each of at most two workers
    assert served.map(look_up, range(1000)) == [(byte, 3 * MB) for byte in table[:1000]]
    with wq.WorkQueueExecutor(served) as executor:
        assert executor.submit(look_up, 7).result() == (table[7], 3 * MB)
    assert served.stats.bytes_sent - before < 8 * MB


def test_files_of_functions_are_gone_with_their_queue():
    with wq.WorkQueue(0, say=lambda line: None) as queue:
        task = wq.PythonTask(function_of(MB)[1], 1)
        queue.submit(task)
        queue.submit(task.clone())
        queue.submit(task.clone())
        folder = queue._function_files._folder.path
        assert len(os.listdir(folder)) == 2  # and a lock
    del queue, task
    gc.collect()
    assert not os.path.exists(folder)


def test_a_task_with_a_large_function_may_go_to_other_queues(workers):
    with contextlib.ExitStack() as stack:
        queues = [stack.enter_context(wq.WorkQueue(0, say=lambda line: None)) for _ in range(2)]
        for queue in queues:
            workers.start(queue)
        task = wq.PythonTask(function_of(MB)[1], 1)
        for queue in (queues[0], queues[0], queues[1], queues[1]):
            assert run(queue, task).output[1] == MB
        queues[0].close()
        assert run(queues[1], task).output[1] == MB


def test_functions_are_files_where_files_have_no_locks(served, monkeypatch):
    import fcntl

    def flock(*_):
        raise OSError(38, "Function not implemented")

    monkeypatch.setattr(fcntl, "flock", flock)
    task = wq.PythonTask(function_of(MB)[1], 1)
    for _ in range(2):
        assert run(served, task).output[1] == MB
    assert os.listdir(served._function_files._folder.path)


def test_functions_that_do_not_recur_are_no_files(served):
    for _ in range(5):
        assert run(served, wq.PythonTask(function_of(MB)[1], 1)).output[1] == MB
    assert not served._function_files._folder


def test_files_of_functions_are_bounded(served, monkeypatch):
    monkeypatch.setattr("work_queue.function_files.MOST_BYTES", 3 * MB)
    held = None  # by the program, with its file
    for _ in range(6):
        task = wq.PythonTask(function_of(MB)[1], 1)
        again = task.clone()
        assert run(served, task).output == run(served, again).output
        held = held or again
    del task, again
    folder = served._function_files._folder.path
    assert len(os.listdir(folder)) == 4, "a lock, the last two, and the one that is held"
    assert run(served, held.clone()).output == held.output
    del held
    assert run(served, wq.PythonTask(function_of(MB)[1], 1)).output[1] == MB
    assert len(os.listdir(folder)) == 3


def test_threads_that_submit_one_large_function(served):
    import threading

    look_up = function_of(8 * MB)[1]
    errors = []

    def submit():
        try:
            for place in range(5):
                served.submit(wq.PythonTask(look_up, place))
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=submit) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors and len(finish(served)) == 20
    assert len(os.listdir(served._function_files._folder.path)) == 2


def test_folders_of_functions_end_with_queues_and_killed_programs(tmp_path):
    code = """
import gc, os, signal, sys
import work_queue as wq
large = bytes(100_000)
def submit():
    queue = wq.WorkQueue(0, say=lambda line: None)
    for _ in range(2):
        queue.submit(wq.PythonTask(lambda: len(large)))
    return queue
queue = submit()
print(len(os.listdir()))
del queue
gc.collect()
print(len(os.listdir()))
queue = submit()
if sys.argv[1:]:
    os.kill(os.getpid(), signal.SIGKILL)
"""
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    killed = "import sys; sys.argv[1:] = ['killed']\n" + code
    python(killed, cwd=temporary, TMPDIR=str(temporary))
    assert len(os.listdir(temporary)) == 1
    assert python(code, cwd=temporary, TMPDIR=str(temporary)).stdout.split() == ["1", "0"]
    assert os.listdir(temporary) == []
