"""Calls of small Python functions, beside other systems for them, in turns."""

import json
import os
import pathlib
import statistics
import subprocess
import time

import peers

CALLER = pathlib.Path(__file__).with_name("python_caller.py")
PYTHON = "/usr/bin/python3"  # which the module is built for
NAMES = {"ours": "work_queue: `WorkQueueExecutor`, `map`", "ours_forked": "the same, a process for each task",
         "process_pool": "`ProcessPoolExecutor`", "mpi_pool": "`mpi4py.futures`", "dask": "Dask distributed"}
NEEDS = {"mpi_pool": "mpi4py.futures", "dask": "distributed"}
GOALS = {"one": 3000, "map": 20000}
MEGABYTES = 100


def missing(name):
    module = NEEDS.get(name)
    return module and subprocess.run([PYTHON, "-c", f"import {module}"], stderr=subprocess.DEVNULL, check=False).returncode


def run(options, name, *numbers):
    with_worker = name in ("ours", "ours_forked", "submitting")
    worker = [options.build / "bin/work_queue_worker"] if with_worker else []
    ranks = [*peers.mpirun(3), PYTHON, "-m", "mpi4py.futures"] if name == "mpi_pool" else [PYTHON, "-B"]
    environment = {**os.environ, "PYTHONPATH": str(options.build / "python"), "WORK_QUEUE_PYTHON": PYTHON}
    done = subprocess.run([*ranks, CALLER, name, *map(str, numbers), *worker], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          check=False, env=environment, timeout=120)
    if done.returncode:
        raise RuntimeError(f"{name} ended with {done.returncode}: {done.stderr.strip().splitlines()[-1:]}")
    return json.loads(done.stdout.splitlines()[-1])


def import_seconds(options):
    environment = {**os.environ, "PYTHONPATH": str(options.build / "python")}

    def took(statement):
        began = time.monotonic()
        subprocess.run([PYTHON, "-c", statement], check=True, env=environment)
        return time.monotonic() - began

    return statistics.median(took("import work_queue") - took("pass") for _ in range(9))


def table(found, copy):
    print("\n### Python functions, 2 workers\n\n| | one by one, calls/s | by map, calls/s | answer of an idle worker, ms "
          f"| {MEGABYTES} MB array, s | runs |\n|---|---|---|---|---|---|")
    for name, runs in found.items():
        best = {key: (max if key in GOALS else min)(one[key] for one in runs) for key in runs[0]}
        print(f"| {NAMES[name]} | {best['one']:.0f} | {best['map']:.0f} | {best['answer']:.2f} | {best['array']:.3f} | {len(runs)} |", flush=True)
    print(f"| goal | {GOALS['one']} | {GOALS['map']} | 10 | {2 * copy['new']:.3f}: twice a copy to new memory | |")


def measure(options, share):
    if not list((options.build / "python/work_queue").glob("_core.*.so")):
        print("\n### Python functions\n\nnot built: cmake --build ... --target wq_python_core", flush=True)
        return
    calls, mapped = (1000, 20000) if options.quick else (3000, 100000)
    found = {}
    for name in NAMES:
        if missing(name):
            print(f"- {NAMES[name]}: not measured, this Python has no {NEEDS[name]}", flush=True)
        else:
            found[name] = []
    for last in share.rounds(2 if options.quick else 4):
        for name, runs in found.items():
            runs.append(run(options, name, calls, mapped, MEGABYTES))
        if last:
            break
    copy = run(options, "copying", calls, mapped, MEGABYTES)
    table({name: runs for name, runs in found.items() if runs}, copy)
    rates = run(options, "submitting", calls, mapped, MEGABYTES)
    print(f"\nsubmitted: {rates['commands']:.0f} commands/s (goal 100000), {rates['functions']:.0f} functions/s; "
          f"import: {1e3 * import_seconds(options):.0f} ms (goal 60); a copy of the array: {copy['new']:.3f} s to new memory, "
          f"{copy['used']:.3f} s to memory in use", flush=True)
