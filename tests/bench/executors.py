"""JobExecutor beside Python's process pools and shared memory, in turns."""

import concurrent.futures
import multiprocessing
import pathlib
import statistics
import subprocess
import sys
import time
from multiprocessing import shared_memory

WORKERS = 2


def square(number):
    return number * number


def pool_rate(count):
    with concurrent.futures.ProcessPoolExecutor(WORKERS) as pool:
        list(pool.map(square, range(10)))  # the processes are there
        began = time.monotonic()
        done = [pool.submit(square, number) for number in range(count)]
        total = sum(future.result() for future in done)
        seconds = time.monotonic() - began
    if total != sum(map(square, range(count))):
        raise RuntimeError("ProcessPoolExecutor gave wrong results")
    return count / seconds


def receive_bytes(pipe):
    while pipe.recv_bytes():
        pipe.send(time.monotonic())


def pipe_micros(array, repeats):
    ours, theirs = multiprocessing.Pipe()
    receiver = multiprocessing.Process(target=receive_bytes, args=(theirs,))
    receiver.start()
    found = []
    for _ in range(repeats):
        began = time.monotonic()
        ours.send_bytes(array)
        found.append(1e6 * (ours.recv() - began))
    ours.send_bytes(b"")
    receiver.join()
    return statistics.median(found)


def attach(pipe):
    while name := pipe.recv():
        there = shared_memory.SharedMemory(name)
        pipe.send(time.monotonic())
        there.close()


def shared_memory_micros(array, repeats):
    """The array is in shared memory already; its name is sent."""
    memory = shared_memory.SharedMemory(create=True, size=len(array))  # first: both have one resource tracker then
    ours, theirs = multiprocessing.Pipe()
    receiver = multiprocessing.Process(target=attach, args=(theirs,))
    receiver.start()
    found = []
    try:
        memory.buf[: len(array)] = array
        for _ in range(repeats):
            began = time.monotonic()
            ours.send(memory.name)
            found.append(1e6 * (ours.recv() - began))
        ours.send("")
        receiver.join()
    finally:
        memory.close()
        memory.unlink()
    return statistics.median(found)


def python_with_torch():
    """Debian's python3-torch is for Debian's Python, which need not be the one that runs this."""
    for python in (sys.executable, "/usr/bin/python3"):
        if not subprocess.run([python, "-c", "import torch"], stderr=subprocess.DEVNULL, check=False).returncode:
            return python
    return None


def torch_micros(python, megabytes, repeats):
    peer = pathlib.Path(__file__).with_name("torch_peer.py")
    done = subprocess.run([python, "-B", peer, str(megabytes), str(repeats)], stdout=subprocess.PIPE, text=True, check=True)
    return map(float, done.stdout.split())


def ours(program, *words):
    done = subprocess.run([program, *map(str, words)], stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"bench_executor {' '.join(map(str, words))} ended with {done.returncode}")
    return float(done.stdout)


def measure(options, share):
    program = options.build / "tests/bench/bench_executor"
    if not program.exists():
        print("\n### JobExecutor\n\nnot built", flush=True)
        return
    jobs, pool_jobs, repeats = (100000, 5000, 5) if options.quick else (400000, 20000, 9)
    rates = {queue: [] for queue in (2, 16, 512)}
    pool = []
    for last in share.rounds(2 if options.quick else 5):
        for queue, found in rates.items():
            found.append(ours(program, "jobs", jobs, queue))
        pool.append(pool_rate(pool_jobs))
        if last:
            break
    print("\n### JobExecutor: small jobs, 2 workers\n\n| | best, jobs/s | median | best / ProcessPoolExecutor |\n|---|---|---|---|")
    for name, found in [("ProcessPoolExecutor", pool)] + [(f"queues of {queue}", found) for queue, found in rates.items()]:
        print(f"| {name} | {max(found):.0f} | {statistics.median(found):.0f} | {max(found) / max(pool):.1f} |", flush=True)
    print("\n### JobExecutor: an array handed over, median of microseconds until a worker has it\n\n"
          "| MB | JobExecutor | peer | its time | its time / ours |\n|---|---|---|---|---|")
    torch = python_with_torch()
    for megabytes in (1, 32) if options.quick else (1, 32, 1024):
        array = bytes(megabytes << 20)
        mine = ours(program, "array", megabytes, 10 * repeats)
        peers = {"shared_memory, by name": shared_memory_micros(array, repeats), "pipe": pipe_micros(array, min(repeats, 3))}
        if torch:
            in_shared, ordinary = torch_micros(torch, megabytes, repeats)
            peers |= {"torch.multiprocessing, tensor in shared memory": in_shared, "torch.multiprocessing, ordinary tensor": ordinary}
        for name, found in peers.items():
            print(f"| {megabytes} | {mine:.1f} | {name} | {found:.0f} | {found / mine:.1f} |", flush=True)
    if not torch:
        print("\ntorch.multiprocessing is skipped: no Python here has torch (Debian: apt-get install python3-torch)", flush=True)
    print(f"\narrays of 32 MB filled, handed over and read: {ours(program, 'stream', 32, 20 * repeats):.1f} GB/s", flush=True)
