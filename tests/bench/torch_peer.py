"""Microseconds until another process has an array that torch.multiprocessing hands over: median, of a tensor in shared
memory, and of one that is in ordinary memory. Usage: torch_peer.py MEGABYTES REPEATS"""

import statistics
import sys
import time

import torch
import torch.multiprocessing


def receive(arrays, times):
    while (array := arrays.get()) is not None:  # noqa: F841
        times.put(time.monotonic())
        del array


def micros(context, megabytes, repeats, is_shared):
    arrays, times = context.Queue(), context.Queue()
    receiver = context.Process(target=receive, args=(arrays, times))
    receiver.start()
    found = []
    for _ in range(repeats):
        array = torch.zeros(megabytes << 20, dtype=torch.uint8)
        if is_shared:
            array.share_memory_()
        began = time.monotonic()
        arrays.put(array)
        found.append(1e6 * (times.get() - began))
    arrays.put(None)
    receiver.join()
    return statistics.median(found)


def main():
    megabytes, repeats = map(int, sys.argv[1:])
    context = torch.multiprocessing.get_context("spawn")
    print(*(f"{micros(context, megabytes, repeats, is_shared):.1f}" for is_shared in (True, False)))


if __name__ == "__main__":
    main()
