#!/usr/bin/env python3
"""Compresses files on workers: each FILE becomes FILE.gz beside it.

    ./work_queue_example.py a b c &
    work_queue_worker localhost 9123 --single-shot
"""

import argparse
import os
import shlex
import sys

import ndcctools.work_queue as wq


def listen(port):
    """A queue on this port; without one, on Work Queue's port or, if that is taken, on any other."""
    if port is not None:
        return wq.WorkQueue(port)
    try:
        return wq.WorkQueue()
    except wq.SetupError:
        return wq.WorkQueue(0)


def gzip(file):
    """The task that makes FILE.gz. In its folder at the worker, the file has no folder above it."""
    name = os.path.basename(file)
    task = wq.Task(f"/usr/bin/gzip < {shlex.quote(name)} > {shlex.quote(name + '.gz')}")
    task.specify_input_file(file)
    task.specify_output_file(file + ".gz")
    task.specify_cores(1)
    task.specify_tag(file)
    return task


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", metavar="FILE", nargs="+")
    parser.add_argument("--port", type=int, help="port for workers; 0: any (default: 9123, or any if that is taken)")
    given = parser.parse_args()

    with listen(given.port) as q:
        print(f"listening on port {q.port}...")
        for file in given.files:
            task = gzip(file)
            q.submit(task)
            print(f"submitted task: {task.command}")
        print("waiting for tasks to complete...", flush=True)

        failed = 0
        while not q.empty():
            task = q.wait(5)
            if task is None:
                continue
            if task.result == wq.WORK_QUEUE_RESULT_SUCCESS and task.return_status == 0:
                print(f"task {task.id} complete: {task.command}", flush=True)
            else:
                failed += 1
                print(f"task {task.id} failed: {task.tag}: {task.reason or task.output}", file=sys.stderr)
    print(f"{failed} of {len(given.files)} tasks failed" if failed else "all tasks complete")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
