"""The processes that run calls of Python functions: what a call finds there, and what it leaves to others."""

import os
import select
import sys
import time

import cloudpickle
import pytest

import work_queue as wq
from conftest import Workers, finish, run  # noqa: F401  Workers: found in this module

cloudpickle.register_pickle_by_value(sys.modules[__name__])  # workers cannot import this file


class Textless(Exception):
    def __str__(self):
        raise ValueError("no text")

    def __reduce__(self):
        raise TypeError("no pickle")


def test_exceptions_without_text_spoil_no_other_result(served):
    def fail_at_two(number):
        if number == 2:
            raise Textless
        return number

    results = served.map(fail_at_two, range(4), chunksize=4)
    assert [results[0], results[1], results[3]] == [0, 1, 3]
    for output in (results[2], run(served, wq.PythonTask(fail_at_two, 2)).output):
        assert isinstance(output, wq.RemoteError) and str(output).startswith("Textless (its text cannot be made)")


def test_a_process_that_a_function_forks_ends_where_it_leaves_the_function(served, tmp_path):
    def fork(leave):
        with open(tmp_path / "begun", "a") as log:
            log.write("x")
        child = os.fork()
        if child == 0:
            leave()
        return child and os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

    ends = [lambda: None, lambda: sys.exit(3), lambda: sys.exit("why"), lambda: 1 / 0]
    assert served.map(fork, ends, chunksize=4) == [0, 3, 1, 1]
    assert (tmp_path / "begun").read_text() == "xxxx", "a forked process has run items of the chunk"
    for leave, code, told in ((ends[1], 3, ""), (ends[2], 1, "why\n"), (ends[3], 1, "ZeroDivisionError: division by zero\n")):
        task = run(served, wq.PythonTask(fork, leave))
        assert task.output == code and task.std_output.endswith(told)


@pytest.fixture
def with_modules(tmp_path, workers):
    """Starts a queue with a worker that has these modules installed, {name: text}."""
    queues = []

    def start(modules, cores=2, **variables):
        folder = tmp_path / "site"
        folder.mkdir(exist_ok=True)
        for name, text in modules.items():
            (folder / f"{name}.py").write_text(text)
        queues.append(wq.WorkQueue(0, say=lambda line: None))
        workers.start(queues[-1], cores=cores, environment={"PYTHONPATH": str(folder), **variables})
        return queues[-1]

    yield start
    for queue in queues:
        queue.close()


def wait_for_import(queue, name):
    """Until calls find a module imported: their interpreter imports it aside."""
    end = time.monotonic() + 100
    while time.monotonic() < end:
        if run(queue, wq.PythonTask(lambda: name in sys.modules)).output:
            return
    raise AssertionError(f"{name} has not been imported for later calls")


def test_a_module_with_its_own_generator_of_random_numbers_is_not_shared(with_modules):
    queue = with_modules({"wq_draws": "import random\nnumbers = random.Random()\n", "wq_plain": ""})

    def draw():
        import wq_draws
        import wq_plain

        return wq_draws.numbers.random()

    draws = [run(queue, wq.PythonTask(draw)).output]
    wait_for_import(queue, "wq_plain")  # told in the same list
    draws += [run(queue, wq.PythonTask(draw)).output for _ in range(5)]
    assert len(set(draws)) == 6


def test_numpy_generators_of_modules_are_not_shared(with_modules):
    pytest.importorskip("numpy", reason="SKIP: this Python has no numpy (Debian: python3-numpy)")
    queue = with_modules({"wq_draws": "import numpy\nnumbers = numpy.random.default_rng()\n"})

    def draw():
        import wq_draws

        return float(wq_draws.numbers.random())

    draws = [run(queue, wq.PythonTask(draw)).output]
    wait_for_import(queue, "numpy")
    draws += [run(queue, wq.PythonTask(draw)).output for _ in range(5)]
    assert len(set(draws)) == 6


@pytest.mark.parametrize("method", ["fork", "direct"])
def test_a_module_of_the_task_wins_against_an_installed_one(with_modules, method):
    queue = with_modules({"wq_config": "FROM = 'installed'\n"})

    def origin():
        import wq_config

        return wq_config.FROM

    def task_with(text):
        task = wq.PythonTask(origin)
        task.specify_exec_method(method)
        if text:
            task.specify_buffer(f"FROM = {text!r}\n", "wq_config.py")
        return task

    texts = [None, "task 1", "task 2", None, "task 3"]
    assert [run(queue, task_with(text)).output for text in texts[:3]] == ["installed", "task 1", "task 2"]
    wait_for_import(queue, "wq_config")
    assert [run(queue, task_with(text)).output for text in texts] == [text or "installed" for text in texts]
    task = wq.PythonTask(origin)
    task.specify_buffer("", "wq_config/data")  # a folder that is no package hides nothing
    assert run(queue, task).output == "installed"


def test_a_folder_of_tasks_below_one_of_modules(queue, workers, tmp_path):
    """PYTHONPATH=$PWD, and the worker's folder there."""
    workers.start(queue, cores=1, environment={"PYTHONPATH": str(tmp_path)})

    def origin():
        import wq_helper

        return wq_helper.FROM

    for name in "abab":
        task = wq.PythonTask(origin)
        task.specify_exec_method("direct")
        task.specify_buffer(f"FROM = {name!r}\n", "wq_helper.py")
        assert run(queue, task).output == name


@pytest.mark.parametrize("method", ["fork", "direct"])
def test_modules_read_the_variables_of_the_task(with_modules, method):
    queue = with_modules({"wq_backend": "import os\nBACKEND = os.environ.get('MY_BACKEND', 'default')\n"}, cores=1)

    def backend():
        import wq_backend

        return wq_backend.BACKEND

    def task_with(value):
        task = wq.PythonTask(backend)
        task.specify_exec_method(method)
        if value:
            task.specify_environment_variable("MY_BACKEND", value)
        return task

    values = ["torch", None, "jax", None, "torch"]
    assert [run(queue, task_with(value)).output for value in values] == [value or "default" for value in values]
    wait_for_import(queue, "wq_backend")
    assert [run(queue, task_with(value)).output for value in values] == [value or "default" for value in values]


def test_a_module_gets_the_threads_of_the_call(with_modules):
    """As numexpr, which reads at its import how many it may have."""
    text = "import os\nthreads = int(os.environ['NUMEXPR_NUM_THREADS'])\ndef set_num_threads(number):\n    global threads\n    threads = number\n"
    queue = with_modules({"numexpr": text})

    def threads():
        import numexpr

        return numexpr.threads

    def task_with(cores):
        task = wq.PythonTask(threads)
        task.specify_cores(cores)
        return task

    assert run(queue, task_with(2)).output == 2
    wait_for_import(queue, "numexpr")
    assert [run(queue, task_with(cores)).output for cores in (1, 2, 1)] == [1, 2, 1]


LEFT = {
    "decimal": "__import__('decimal').getcontext().prec = 5",
    "numpy": "__import__('numpy').seterr(all='raise')",
    "gc": "__import__('gc').disable()",
    "socket": "__import__('socket').setdefaulttimeout(1)",
    "locale": "__import__('locale').setlocale(6, 'C.UTF-8')",
    "time zone": "import os, time; os.environ['TZ'] = 'Asia/Tokyo'; time.tzset()",
    "logging": "import logging; logging.root.addHandler(logging.NullHandler())",
    "warnings": "__import__('warnings').simplefilter('error')",
    "sys.argv": "__import__('sys').argv.append('x')",
    "switch interval": "__import__('sys').setswitchinterval(1)",
    "trace": "__import__('sys').settrace(lambda *_: None)",
    "excepthook": "__import__('sys').excepthook = None",
}


@pytest.mark.parametrize("left", LEFT)
def test_a_process_whose_state_a_call_has_changed_runs_no_other(served, left):
    if left == "numpy":
        pytest.importorskip("numpy", reason="SKIP: this Python has no numpy (Debian: python3-numpy)")

    def direct(text):
        def work():
            exec(text)
            return os.getpid()

        task = wq.PythonTask(work)
        task.specify_exec_method("direct")
        task.specify_cores(2)
        return run(served, task).output

    imports = "import decimal, locale, logging; 1 / decimal.Decimal(3)" + "; import numpy" * (left == "numpy")
    process = None
    for _ in range(100):  # processes end while the interpreter imports what calls do
        process, before = direct(imports), process
        if process == before:
            break
    else:
        raise AssertionError("each call has ended its process")
    changed = direct(LEFT[left])
    assert direct("") != changed


def test_a_module_that_cannot_be_shared_keeps_no_other_out(with_modules):
    threads = "import threading\nthreading.Thread(target=threading.Event().wait, daemon=True).start()\n"
    names = ["wq_one", "wq_two", "wq_threads", "wq_three"]
    queue = with_modules({name: threads if name == "wq_threads" else "" for name in names})
    assert run(queue, wq.PythonTask(lambda: [__import__(name).__name__ for name in names])).output == names
    for name in ("wq_one", "wq_two", "wq_three"):
        wait_for_import(queue, name)
    assert run(queue, wq.PythonTask(lambda: "wq_threads" in sys.modules)).output is False


# Blocks when the interpreter itself imports it, whose parent is the launcher.
BLOCKS = """
import os
if open(f"/proc/{os.getppid()}/comm").read().startswith("wq_launcher"):
    open(os.environ["FOLDER"] + "/%s").read()
"""


def test_calls_end_while_modules_are_imported_for_others(with_modules, tmp_path):
    names = ["wq_one", "wq_two"]
    for fifo in [*names, "pid", "call"]:
        os.mkfifo(tmp_path / fifo)
    queue = with_modules({name: BLOCKS % name for name in names}, FOLDER=str(tmp_path))
    folder = str(tmp_path)

    def wait():
        with open(folder + "/pid", "w") as file:
            file.write(str(os.getpid()))
        with open(folder + "/call"):
            return "ended"

    waiting = wq.PythonTask(wait)
    waiting.specify_cores(1)
    queue.submit(waiting)
    queue.wait(0)
    process = os.pidfd_open(int((tmp_path / "pid").read_text()))
    importing = wq.PythonTask(lambda: [__import__(name) for name in names] and None)
    importing.specify_cores(1)
    queue.submit(importing)
    queue.wait(0)
    with open(tmp_path / "wq_one", "w"):  # it imports the first now
        with open(tmp_path / "call", "w"):
            pass
        assert select.select([process], [], [], 100)[0], "the call's process has not ended"
    os.close(process)
    ended = queue.wait(60)
    if ended is importing:  # or its process ends while the second is imported
        ended = queue.wait(60)
    with open(tmp_path / "wq_two", "w"):
        pass
    assert ended is waiting and waiting.output == "ended"


def test_threads_of_a_function_end_before_its_task(served, tmp_path):
    def write_later():
        import threading

        def write():
            threading.main_thread().join(0.2)  # which has left the function by then
            with open("made", "w") as file:
                file.write("by a thread")

        threading.Thread(target=write).start()
        return "returned"

    for method in ("fork", "direct"):
        task = wq.PythonTask(write_later)
        task.specify_exec_method(method)
        task.specify_output_file(tmp_path / method, "made")
        assert run(served, task).output == "returned"
        assert (tmp_path / method).read_text() == "by a thread"


def test_the_peak_of_a_call_is_its_own(served):
    def peak_of(function):
        task = wq.PythonTask(function)
        task.specify_exec_method("direct")
        task.specify_cores(2)
        return run(served, task).output, task.resources_measured.memory

    def use_memory_in_a_child():
        import subprocess

        subprocess.run([sys.executable, "-c", "bytearray(300 << 20)"], check=True)
        return os.getpid()

    for _ in range(20):
        process, much = peak_of(use_memory_in_a_child)
        other, less = peak_of(os.getpid)
        assert much > 300 > 100 > less
        if process == other:
            return
    raise AssertionError("each call has ended its process")


def test_a_daemon_of_a_function_ends_with_its_task(served, tmp_path):
    def begin_a_daemon(fifo):
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                with open(fifo, "w") as file:
                    file.write(str(os.getpid()))
                import signal

                while True:
                    signal.pause()
            os._exit(0)
        os.wait()
        with open(fifo + "-2"):
            pass

    os.mkfifo(tmp_path / "fifo")
    os.mkfifo(tmp_path / "fifo-2")
    served.submit(wq.PythonTask(begin_a_daemon, str(tmp_path / "fifo")))
    served.wait(0)
    daemon = os.pidfd_open(int((tmp_path / "fifo").read_text()))
    with open(tmp_path / "fifo-2", "w"):
        pass
    finish(served)
    end = time.monotonic() + 30  # before the worker ends, which has a timeout of 60 s
    while not select.select([daemon], [], [], 0)[0]:
        run(served, wq.Task("true"))  # where listing orphans is costly, it is done now and then
        assert time.monotonic() < end, "the daemon goes on"
    os.close(daemon)
