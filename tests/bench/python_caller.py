"""Calls of a small Python function by one of several systems with 2 workers, each in its own process.

`python_caller.py PEER CALLS MAPPED MEGABYTES [WORKER]` prints one line of JSON: calls a second one by one and by the peer's
map, milliseconds from a call on idle workers to its result (median), and seconds that an array argument takes there."""

import json
import os
import statistics
import subprocess
import sys
import time

import numpy

WORKERS = 2


def add_one(x):
    return x + 1


def ends_of(array):
    return float(array[0] + array[-1])


def seconds(call):
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


def checked(found, count):
    if sum(found) != count * (count + 1) // 2:
        raise RuntimeError("wrong results")


def measure(submit, over_all, calls, mapped, megabytes):
    """`submit(f, x)` returns a future; `over_all(f, items)` all results."""
    for _ in range(20):
        submit(add_one, 1).result()
    answers = [1e3 * seconds(lambda: submit(add_one, 1).result()) for _ in range(50)]
    one_by_one = seconds(lambda: checked([future.result() for future in [submit(add_one, n) for n in range(calls)]], calls))
    by_map = seconds(lambda: checked(over_all(add_one, range(mapped)), mapped))
    array = numpy.ones(megabytes * 125_000)
    travel = min(seconds(lambda: submit(ends_of, array).result()) for _ in range(3))
    return {"one": calls / one_by_one, "map": mapped / by_map, "answer": statistics.median(answers), "array": travel}


def process_pool(*counts):
    from concurrent.futures import ProcessPoolExecutor

    with ProcessPoolExecutor(WORKERS) as pool:
        return measure(pool.submit, lambda f, items: pool.map(f, items, chunksize=100), *counts)


def mpi_pool(*counts):
    from mpi4py.futures import MPIPoolExecutor

    with MPIPoolExecutor() as pool:
        return measure(pool.submit, lambda f, items: pool.map(f, items, chunksize=100), *counts)


def dask(*counts):
    from distributed import Client, LocalCluster

    with LocalCluster(n_workers=WORKERS, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as client:

        def submit(function, argument):
            return client.submit(function, argument, pure=False)

        return measure(submit, lambda f, items: client.gather(client.map(f, items, pure=False, batch_size=1000)), *counts)


class Ours:
    def __init__(self, worker):
        import work_queue

        self.queue = work_queue.WorkQueue(0, say=lambda line: None)
        port = str(self.queue.port)
        command = [worker, "--cores", "1", "--timeout", "60", "localhost", port]
        self.workers = [subprocess.Popen(command, stdout=subprocess.DEVNULL) for _ in range(WORKERS)]

    def __enter__(self):
        return self.queue

    def __exit__(self, *_):
        for worker in self.workers:
            worker.terminate()
        for worker in self.workers:
            worker.wait()


def executor(worker, like, counts):
    import work_queue

    with Ours(worker) as queue, work_queue.WorkQueueExecutor(queue, like=like) as pool:
        return measure(pool.submit, lambda f, items: queue.map(f, items, like=like), *counts)


def ours(calls, mapped, megabytes, worker):
    return executor(worker, None, (calls, mapped, megabytes))


def ours_forked(calls, mapped, megabytes, worker):
    """Each task in a process of its own."""
    import work_queue

    return executor(worker, work_queue.PythonTask(add_one), (calls, mapped, megabytes))


def submitting(calls, mapped, megabytes, worker):
    """What a queue takes without workers."""
    import work_queue

    def rate(task, count):
        queue = work_queue.WorkQueue(0, say=lambda line: None)
        return count / seconds(lambda: [queue.submit(task(n)) for n in range(count)])

    return {"commands": rate(lambda n: work_queue.Task("true"), mapped),
            "functions": rate(lambda n: work_queue.PythonTask(add_one, n), calls)}


def copying(calls, mapped, megabytes):
    """A copy of the array into new memory, and into memory that was in use."""
    array = numpy.ones(megabytes * 125_000)
    new = min(seconds(array.copy) for _ in range(3))
    used = array.copy()

    def copy():
        used[:] = array

    return {"new": new, "used": min(seconds(copy) for _ in range(5))}


PEERS = {each.__name__: each for each in (ours, ours_forked, process_pool, mpi_pool, dask, submitting, copying)}

if __name__ == "__main__":
    name, *numbers = sys.argv[1:5]
    print(json.dumps(PEERS[name](*map(int, numbers), *sys.argv[5:])), flush=True)
    if name == "dask":
        os._exit(0)  # it takes seconds to end
