#!/usr/bin/env python3
"""Measures task runners against the floor, and our engine's own figures. Prints markdown.

Every figure of one table comes from one run, the peers taking turns, so that a busy moment of the machine hits all.
"""

import argparse
import os
import pathlib
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import files
import ours
import peers
import programs

SLOW = 900  # tasks/s; slower peers run the longest lists once


def timed(peer, kind, count, folder):
    where = pathlib.Path(tempfile.mkdtemp(dir=folder))
    try:
        peer.prepare(where, kind, count)
        began = time.monotonic()
        peer.run(kind, count)
        return count / (time.monotonic() - began)
    finally:
        shutil.rmtree(where)


def measure(runners, kind, count, repeats, folder, known):
    """Rates of each peer, in turns. `known`: rates of earlier, shorter lists."""
    rates = {peer.name: [] for peer in runners}
    for turn in range(repeats):
        for peer in runners:
            if turn and count > 5000 and known.get(peer.name, SLOW) < SLOW:
                continue
            try:
                rates[peer.name].append(timed(peer, kind, count, folder))
            except (OSError, RuntimeError) as error:
                print(f"{peer.name}: {error}", file=sys.stderr)
    return rates


def print_table(kind, count, rates):
    print(f"\n### {count} tasks, {kind}: `{peers.KINDS[kind]}`\n")
    print("| runner | best, tasks/s | median | runs | best / floor | median / floor |\n|---|---|---|---|---|---|")
    floor = rates["floor"]
    for name, found in rates.items():
        if not found:
            print(f"| {name} | failed | | 0 | | |")
            continue
        best, middle = max(found), statistics.median(found)
        print(f"| {name} | {best:.0f} | {middle:.0f} | {len(found)} "
              f"| {best / max(floor):.2f} | {middle / statistics.median(floor):.2f} |", flush=True)


def task_runners(options, folder):
    runners = []
    for peer in peers.all_peers(options.build):
        if peer.missing:
            print(f"- {peer.name}: not measured, {' and '.join(map(str, peer.missing))} missing")
        else:
            runners.append(peer)
    for kind in peers.KINDS:
        known = {}
        for count in options.counts:
            rates = measure(runners, kind, count, options.repeats, folder, known)
            print_table(kind, count, rates)
            known = {name: max(found) for name, found in rates.items() if found}


def engine_figures(options, folder):
    engine = ours.Engine(options.build, folder)
    short = ours.queue_of(engine, 10_000, options.seconds)
    long = ours.queue_of(engine, options.queue, options.seconds)
    extra = (long["memory"] - short["memory"] - long["text"] + short["text"]) / (options.queue - 10_000)
    start = ours.start_up(engine, options.repeats)
    idle = ours.idling(engine, options.seconds)
    print("\n### work_queue_run itself\n\n| what | measured | goal |\n|---|---|---|")
    print(f"| rate with {options.queue} queued / with 10000 | {long['rate']:.0f} / {short['rate']:.0f} = "
          f"{long['rate'] / short['rate']:.2f} | >= 0.9 |")
    print(f"| peak memory of the largest process, {options.queue} queued | {long['memory'] / 1e6:.0f} MB, "
          f"{extra:.0f} bytes a task besides its text | <= 200 |")
    print(f"| mpirun -n 2 of a program that does nothing | {start['empty']:.2f} s | |")
    print(f"| start to first task, beyond that | {start['first'] - start['empty']:.2f} s | <= 0.12 s |")
    print(f"| run of one task, beyond that | {start['whole'] - start['empty']:.2f} s | |")
    print(f"| CPU of our {len(idle['shares'])} processes while idle | "
          f"{', '.join(f'{100 * share:.1f} %' for share in idle['shares'])} | < 1 % each |")
    print(f"| first task after idling, from writing its line | {1000 * idle['answer']:.0f} ms | <= 20 ms |", flush=True)


def others(options):
    for name in ("bench_transport", "bench_tcp", "bench_idle", "bench_core", "bench_stats", "bench_host", "bench_placement",
                 "bench_monitor"):
        program = pathlib.Path(options.build) / "tests/bench" / name
        print(f"\n### {name}\n", flush=True)
        if not program.exists():
            print("not built")
            continue
        done = subprocess.run([*(peers.mpirun(2) if name == "bench_transport" else []), program], check=False)
        if done.returncode:
            print(f"{name} ended with {done.returncode}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True, help="root of the build folder")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--counts", type=int, nargs="+", default=[2000, 20000])
    parser.add_argument("--queue", type=int, default=1_000_000, help="tasks of the long queue")
    parser.add_argument("--seconds", type=float, default=10, help="of measuring queues and idling")
    parser.add_argument("--only", choices=["runners", "engine", "programs", "files", "others"])
    options = parser.parse_args()
    options.build = pathlib.Path(options.build).resolve()
    os.environ.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                      OMPI_MCA_btl_vader_single_copy_mechanism="none")
    print(f"## Measured on {os.cpu_count()} cores, Linux {platform.release()}\n")
    with tempfile.TemporaryDirectory(prefix="wq-bench-") as folder:
        folder = pathlib.Path(folder)
        if options.only in (None, "runners"):
            task_runners(options, folder)
        if options.only in (None, "engine"):
            engine_figures(options, folder)
    if options.only in (None, "programs"):
        programs.measure(options.build, options.repeats)
    if options.only in (None, "files"):
        files.measure(options.build, options.repeats)
    if options.only in (None, "others"):
        others(options)


if __name__ == "__main__":
    main()
