"""map, pair and tree_reduce on workers: order, chunks, bounded inputs, errors in their places, interrupts."""

import contextlib
import functools
import itertools
import operator
import os
import pathlib
import random
import subprocess
import sys
import threading
import time

import cloudpickle
import pytest

import ndcctools.work_queue as wq
from conftest import finish, interrupted_after
from work_queue.chunks import GOAL, GROWTH, LEAST, MOST_ITEMS, ChunkSizes

cloudpickle.register_pickle_by_value(sys.modules[__name__])  # workers cannot import this file

SERVERIZE = pathlib.Path(__file__).resolve().parents[2] / "src" / "functions" / "coprocess" / "serverize" / "work_queue_serverize"
EXAMPLE = """
import ndcctools.work_queue as wq

# Example funtion for the Map Abstraction
def dblfunc(x):
    return 2*x

# Example function for the Pair Abstraction
# Note: function must accept a tuple
def mulfunc(p):
    return p[0] * p[1]

# Example function for the Tree Reduce Abstraction
# Note: function must accept a iterable
def maxfunc(p):
    return p[0] if p[0] > p[1] else p[1]

# Set up WorkQueue on port 9123
q = wq.WorkQueue(9123)

# Example arrays/sequences
a = [1, 2, 3, 4]
b = [2, 4, 6, 8]

# Map
results = q.map(dblfunc, a, 1)
print(f'Map: {results}')

# Pair
results = q.pair(mulfunc, a, b, 2)
print(f'Pair: {results}')

# Tree reduce
results = q.tree_reduce(maxfunc, b, 2)
print(f'Tree: {results}')
"""
# The manual prints 18 for 4 * 4.
OUTPUT = """Map: [2, 4, 6, 8]
Pair: [2, 4, 6, 8, 4, 8, 12, 16, 6, 12, 18, 24, 8, 16, 24, 32]
Tree: 8
"""


def pause(seconds):
    threading.Event().wait(seconds)


def wait_for_ever(*_):
    pause(None)


def square(x):
    return x * x


def test_the_example_of_the_manual(served, monkeypatch, capsys):
    monkeypatch.setattr(wq, "WorkQueue", lambda port: served)
    exec(EXAMPLE, {"__name__": "__main__"})
    assert capsys.readouterr().out == OUTPUT


# ---- sizes of chunks ----

def chunk_sizes(count, seconds_each, cores=2, start=0.0):
    """Sizes of all chunks of so many items, if each is measured before the next is made."""
    sizes, made, remaining = ChunkSizes(), [], count
    while remaining > 0:
        size = min(sizes.next(cores, remaining), remaining)
        sizes.learn(size, start + seconds_each, start + size * seconds_each, 100 * size)
        made.append(size)
        remaining -= size
    return made


@pytest.mark.parametrize("each", [1e-7, 1e-5, 1e-3, 0.02, 1.0])
def test_chunks_have_the_time_of_the_goal_and_shrink_near_the_end(each):
    made = chunk_sizes(100_000, each)
    assert sum(made) == 100_000 and made[0] == 1
    largest = itertools.accumulate(made, max)
    assert all(size <= GROWTH * before for before, size in zip(largest, made[1:]))
    assert max(made) * each <= 1.01 * max(GOAL, each) and max(made) <= MOST_ITEMS
    if each >= LEAST:
        assert made[-1] == 1
    else:
        assert made[-2] * each <= GOAL / 4


def test_a_long_start_of_each_chunk_makes_chunks_longer():
    assert 2 * max(chunk_sizes(100_000, 1e-3)) < max(chunk_sizes(100_000, 1e-3, start=0.1)) <= 310


def test_items_that_are_large_travel_in_small_chunks():
    sizes = ChunkSizes()
    sizes.learn(1, 1e-6, 1e-6, 1 << 20)
    assert sizes.next(2) == 8


def test_sizes_that_are_given():
    assert [ChunkSizes(5).next(2, remaining) for remaining in (None, 100, 3)] == [5, 5, 5]
    with pytest.raises(ValueError, match="chunksize is 0: give 1 or more"):
        ChunkSizes(0)


# ---- map and pair ----

def test_results_are_in_order_whatever_the_calls_take(served):
    def slow(x):
        pause(random.random() / 50)
        return x

    assert served.map(slow, range(60)) == list(range(60))
    assert served.map(slow, range(60), 7) == list(range(60))
    assert list(served.imap(slow, iter(range(60)), 1)) == list(range(60))


def test_cheap_calls_share_tasks(served):
    assert served.map(square, range(20_000)) == [x * x for x in range(20_000)]
    assert served.stats.tasks_done < 200
    assert served.map(square, []) == [] and served.map(square, iter(())) == []


def test_prints_of_calls(served, capsys):
    assert served.map(print, [1, 2], 2, prints=True) == [None, None] and capsys.readouterr().out == "1\n2\n"
    assert list(served.imap(print, ["a"], prints=True)) == [None] and capsys.readouterr().out == "a\n"
    assert served.map(print, [1]) == [None] and capsys.readouterr().out == ""


def test_pairs(served):
    expected = [a * b for a in range(5) for b in range(7)]
    for chunk in (None, 1, 3, 100):
        assert served.pair(lambda p: p[0] * p[1], range(5), (b for b in range(7)), chunk) == expected
    assert served.pair(lambda p: p[0] + p[1], (a for a in "ab"), "xy", 2, None) == ["ax", "ay", "bx", "by"]


def test_map_reads_its_input_as_workers_need_it(served, tmp_path):
    drawn, most = 0, 0

    def items():
        nonlocal drawn, most
        for number in range(60):
            drawn += 1
            most = max(most, drawn - len(os.listdir(tmp_path / "done")))
            yield number

    (tmp_path / "done").mkdir()
    folder = str(tmp_path / "done")
    assert served.map(lambda x: open(f"{folder}/{x}", "w").close(), items(), 1) == [None] * 60
    assert drawn == 60
    assert most <= 7  # two for each core, one more, the one that is drawn, and one that is about to be taken


def test_imap_holds_a_bounded_number_of_items_and_results(served):
    drawn = 0

    def items():
        nonlocal drawn
        while True:
            drawn += 1
            yield drawn

    results = served.imap(square, items(), 10)
    for number in range(1, 501):
        assert next(results) == number * number
        assert drawn - number <= 10 * (4 * 2 + 3)
        if number == 250:
            pause(0.3)  # workers do not run ahead meanwhile
    results.close()
    assert served.status("tasks") == []
    with pytest.raises(StopIteration):
        next(results)


def test_errors_are_in_their_places(served):
    def reciprocal(x):
        return 1 / x

    for chunk in (1, 4, None):
        results = served.map(reciprocal, [1, 2, 0, 4, "a", 5], chunk)
        assert [results[0], results[1], results[3], results[5]] == [1, 0.5, 0.25, 0.2]
        assert isinstance(results[2], ZeroDivisionError) and isinstance(results[4], TypeError)
        assert "in reciprocal" in results[2].remote_traceback
    assert isinstance(served.pair(lambda p: p[0] / p[1], [1], [0, 1], 2)[0], ZeroDivisionError)


def test_items_and_results_that_cannot_be_sent(served):
    lock = threading.Lock()
    results = served.map(lambda x: x if x != 2 else __import__("threading").Lock(), [1, lock, 2, 3], 4)
    assert results[0] == 1 and results[3] == 3
    assert isinstance(results[1], TypeError) and isinstance(results[2], TypeError)
    assert "the result of test_items_and_results_that_cannot_be_sent.<locals>.<lambda> cannot be pickled: TypeError" in str(results[2])
    with pytest.raises(TypeError, match="the function .* cannot be sent to a worker"):
        served.map(lambda x: lock, [1])
    with pytest.raises(TypeError, match="give a function first"):
        served.map([1], square)


def test_only_the_item_whose_process_died_has_no_result(served):
    def die(x):
        if x == 5:
            os._exit(3)
        return x

    results = served.map(die, range(10), 10)
    assert isinstance(results[5], wq.PythonTaskNoResult)
    assert results[:5] + results[6:] == [x for x in range(10) if x != 5]


def test_items_that_kill_or_cannot_be_sent_cost_few_tasks(served):
    def die(x):
        if x in (5, 700):
            os._exit(3)
        return x

    results = served.map(die, range(1000), 1000)
    assert [x for x in range(1000) if isinstance(results[x], wq.PythonTaskNoResult)] == [5, 700]
    assert all(result in (x, results[5], results[700]) for x, result in enumerate(results))
    assert served.stats.tasks_submitted < 50
    before = served.stats.tasks_submitted
    lock = threading.Lock()
    results = served.map(lambda x: x, [lock if x % 3 == 0 else x for x in range(1000)], 1000)
    assert all(isinstance(result, TypeError) if x % 3 == 0 else result == x for x, result in enumerate(results))
    assert served.stats.tasks_submitted == before + 1


def test_calls_that_exit_or_interrupt_themselves(served):
    def leave(x):
        if x == 1:
            sys.exit(1)
        if x == 2:
            raise KeyboardInterrupt
        return x

    results = served.map(leave, range(4), 4)
    assert (results[0], results[3]) == (0, 3)
    assert all(isinstance(result, wq.RemoteError) for result in results[1:3])


def test_errors_of_the_input(served):
    def items():
        yield 1
        raise OSError("no more")

    with pytest.raises(OSError, match="no more"):
        served.map(square, items(), 1)
    assert served.status("tasks") == []


def test_other_tasks_of_the_program_stay(served):
    ours = [served.submit(wq.Task(f"echo {number}")) for number in range(10)]
    assert served.map(square, range(10), 1) == [x * x for x in range(10)]
    assert sorted(task.id for task in finish(served)) == ours

    running = threading.Thread(target=lambda: results.extend(served.map(square, range(300), 1)))
    results = []
    running.start()
    for number in range(30):
        task = wq.Task(f"echo {number}")
        served.submit(task)
        assert served.wait(60) is task
    assert served.empty() and served.cancel_by_category("default") == []
    running.join()
    assert results == [x * x for x in range(300)]


def test_a_chunk_that_the_program_cancels(served):
    def items():
        yield 0
        (task,) = served.status("tasks")
        served.cancel_by_taskid(task["taskid"])
        yield 1

    first, second = served.map(lambda x: x or wait_for_ever(), items(), 1)
    assert isinstance(first, wq.PythonTaskNoResult) and second == 1


def test_workers_that_come_later_get_work(queue, workers):
    results = []
    running = threading.Thread(target=lambda: results.extend(queue.map(square, range(1000))))
    running.start()
    workers.start(queue)
    running.join(60)
    assert results == [x * x for x in range(1000)]


def test_settings_of_the_tasks(served, tmp_path):
    like = wq.Task("")
    like.specify_buffer("text", "data")
    like.specify_cores(2)
    like.specify_environment_variable("NAME", "value")
    look = served.map(lambda x: (x, open("data").read(), os.environ["CORES"], os.environ["NAME"]), [1, 2], like=like)
    assert look == [(1, "text", "2", "value"), (2, "text", "2", "value")]
    assert served.map(lambda x: os.environ["CORES"], [1]) == ["1"]


# ---- tree_reduce ----

def join(parts):
    return "".join(parts)


def test_reductions_keep_the_order(served):
    letters = [chr(97 + number % 26) for number in range(301)]
    for chunk in (None, 2, 5, 1000):
        assert served.tree_reduce(join, letters if chunk != 5 else iter(letters), chunk) == "".join(letters)
    assert served.treeReduce(lambda pair: operator.matmul(*pair) if len(pair) == 2 else 1 / 0, range(1), 2) == 0


def test_reductions_in_random_time(served):
    def slow(parts):
        pause(random.random() / 100)
        return sum(parts, [])

    assert served.tree_reduce(slow, ([x] for x in range(41)), 3) == list(range(41))


def test_lists_of_reductions_have_the_size_that_was_given(served):
    def check(parts):
        assert isinstance(parts, list) and 2 <= len(parts) <= 4
        return sum(parts)

    assert served.tree_reduce(check, range(50), 4) == sum(range(50))
    assert served.tree_reduce(lambda parts: max(parts) if len(parts) == 2 else 1 / 0, range(3000)) == 2999


def test_ends_of_reductions(served):
    assert served.tree_reduce(wait_for_ever, [7]) == 7
    with pytest.raises(ValueError, match="no items"):
        served.tree_reduce(sum, [])
    with pytest.raises(ValueError, match="chunksize is 1: give 2 or more"):
        served.tree_reduce(sum, [1, 2, 3], 1)
    with pytest.raises(ValueError, match="chunksize is None: give .* 2 or more"):
        served.remote_tree_reduce("largest", [1, 2], "arithmetic", "numbers", None)
    assert isinstance(served.tree_reduce(sum, [1, 2, "a", 3], 2), TypeError)
    assert isinstance(served.tree_reduce(lambda parts: os._exit(1), range(9), 3), wq.PythonTaskNoResult)
    assert served.status("tasks") == []


def test_reductions_read_their_input_as_workers_need_it(served, tmp_path):
    drawn, most = 0, 0
    (tmp_path / "done").mkdir()
    folder = str(tmp_path / "done")

    def items():
        nonlocal drawn, most
        for number in range(120):
            drawn += 1
            most = max(most, drawn - 2 * len(os.listdir(folder)))
            yield number

    def add(parts):
        open(f"{folder}/{sorted(parts)}-{os.getpid()}", "w").close()
        return sum(parts)

    assert served.tree_reduce(add, items(), 2) == sum(range(120))
    assert drawn == 120 and most <= 2 * 7


# ---- interrupts ----

@pytest.mark.parametrize("call", [
    lambda q: q.map(wait_for_ever, range(100)),
    lambda q: q.pair(wait_for_ever, range(10), range(10), 2),
    lambda q: q.tree_reduce(wait_for_ever, range(100)),
    lambda q: list(q.imap(wait_for_ever, iter(range(100)))),
], ids=["map", "pair", "tree_reduce", "imap"])
def test_interrupts_end_calls_and_cancel_their_tasks(served, call):
    with interrupted_after(0.3), pytest.raises(KeyboardInterrupt):
        begun = time.monotonic()
        call(served)
    assert time.monotonic() - begun < 20
    assert served.status("tasks") == []
    assert served.map(square, [3]) == [9]


# ---- progress ----

def test_progress(served, capsys, monkeypatch):
    served.map(square, range(10))
    assert capsys.readouterr().err == ""
    pytest.importorskip("tqdm")
    served.map(square, range(10), progress=True)
    assert "10/10" in capsys.readouterr().err
    assert list(served.imap(square, range(10), progress=True)) == [n * n for n in range(10)]
    assert "imap square: 100%" in capsys.readouterr().err
    monkeypatch.setitem(sys.modules, "tqdm", None)
    served.map(square, range(10), progress=True)
    served.tree_reduce(sum, iter(range(10)), progress=True)
    with contextlib.closing(served.imap(square, itertools.count(), 5, progress=True)) as results:
        assert next(results) == 0
    first, second, third = capsys.readouterr().err.splitlines()
    assert first.startswith("map square: 10 of 10 done in ") and second.startswith("reduce sum: 9 done in")
    assert third.startswith("imap square: 5 done in ")


# ---- functions of coprocesses ----

FUNCTIONS = """
def name():
    return "arithmetic"

def double_all(numbers):
    return [2 * number for number in numbers]

def multiply_all(numbers):
    return [a * b for a, b in numbers]

def largest(numbers):
    return max(numbers)

def too_few(numbers):
    return []

def leave_at_5(numbers):
    import os
    return [os._exit(1) if number == 5 else number for number in numbers]
"""


@pytest.fixture
def remote(queue, workers, tmp_path):
    """A queue with a worker of two coprocesses."""
    (tmp_path / "functions.py").write_text(FUNCTIONS)
    names = [line.split()[1].split("(")[0] for line in FUNCTIONS.splitlines() if line.startswith("def ")][1:]
    subprocess.run([sys.executable, SERVERIZE, "--src", "functions.py", *(word for name in names for word in ("--function", name)),
                    "--dest", "coprocess.py"], check=True)
    workers.start(queue, "--coprocess", str(tmp_path / "coprocess.py"), "--num_coprocesses", "2")
    return queue


def test_functions_of_coprocesses(remote):
    numbers = list(range(10))
    assert remote.remote_map("double_all", numbers, "arithmetic", "numbers", 3) == [2 * x for x in numbers]
    assert remote.remote_map("double_all", numbers, "arithmetic", "numbers") == [2 * x for x in numbers]
    expected = [a * b for a in numbers for b in (1, 2)]
    assert remote.remote_pair("multiply_all", numbers, [1, 2], "arithmetic", "numbers", 4) == expected
    assert remote.remote_tree_reduce("largest", numbers, "arithmetic", "numbers", 3) == 9


def test_errors_of_functions_of_coprocesses(remote):
    results = remote.remote_map("double_all", [1, None, 3, {4}], "arithmetic", "numbers", 4)
    assert (results[0], results[2]) == (2, 6)
    assert isinstance(results[1], wq.RemoteError) and "NoneType" in str(results[1])
    assert isinstance(results[3], TypeError) and "JSON" in str(results[3])
    results = remote.remote_map("leave_at_5", range(4, 8), "arithmetic", "numbers", 4)
    assert isinstance(results[1], wq.RemoteError) and [results[0], *results[2:]] == [4, 6, 7]
    (result,) = remote.remote_map("too_few", [1], "arithmetic", "numbers")
    assert isinstance(result, wq.RemoteError) and "must return one, not 0" in str(result)
    result = remote.remote_tree_reduce("largest", [1, "a"], "arithmetic", "numbers")
    assert isinstance(result, wq.RemoteError)


def test_reduce_of_the_standard_library_agrees(served):
    numbers = [random.randrange(1000) for _ in range(200)]
    expected = functools.reduce(lambda a, b: a * 31 + b - a * 30, numbers)
    assert served.tree_reduce(lambda pair: pair[0] + pair[1], numbers) == sum(numbers) == expected


def test_an_old_cloudpickle_is_said(queue, monkeypatch):
    """One before 2.0 sends no functions of a package."""
    monkeypatch.delattr(cloudpickle, "register_pickle_by_value")
    monkeypatch.delitem(sys.modules, "work_queue.at_worker", raising=False)
    with pytest.raises(RuntimeError, match=r"^cloudpickle .* install 2\.0 or newer$"):
        queue.tree_reduce(sum, [1, 2, 3])
    assert queue.empty()
