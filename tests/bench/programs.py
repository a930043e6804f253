"""What programs with a manager of their own are measured for: calls, ranges and commands, over TCP and over ranks."""

import pathlib
import shutil
import statistics
import subprocess
import tempfile
import time

import peers

# Arguments of bench_api, ranks, goal.
ROWS = (
    (("calls", "ranks"), 2, ">= 200 k/s"),
    (("calls", "1"), 0, ">= 100 k/s"),
    (("calls", "2"), 0, ""),
    (("calls", "1", "tls"), 0, ">= 50 k/s"),
    (("calls", "2", "tls"), 0, ""),
    (("range", "ranks"), 2, ">= 1 M/s"),
    (("range", "1"), 0, ""),
    (("range", "2"), 0, ""),
    (("latency", "ranks"), 0, ""),
    (("latency", "others"), 2, ""),
    (("latency", "1"), 0, ""),
    (("latency", "1", "tls"), 0, ""),
)
OF_WORK_QUEUE = 2000  # commands that Work Queue 9.9 is given


def row(program, words, ranks):
    """(what, text, rate): as bench_api prints it."""
    done = subprocess.run([*peers.mpirun(ranks), program, *words], stdout=subprocess.PIPE, text=True, check=True)
    _, what, text, _ = done.stdout.strip().split("|")
    return what.strip(), text.strip(), float(text.split()[0])


def print_table(program, repeats):
    print("\n### A program with a manager\n\n| what | best | goal |\n|---|---|---|")
    for words, ranks, goal in ROWS:
        found = [row(program, words, ranks) for _ in range(repeats)]
        best = (min if words[0] == "latency" else max)(found, key=lambda one: one[2])
        print(f"| {best[0]} | {best[1]} | {goal} |", flush=True)


def against_work_queue(program, peer, repeats):
    """Two cores each: two workers of ours, one of Work Queue's; in turns."""
    if peer.missing:
        print(f"\n{peer.name}: not measured, {' and '.join(map(str, peer.missing))} missing")
        return
    ours, theirs = [], []
    for _ in range(repeats):
        ours.append(row(program, ("commands", "2"), 0)[2])
        folder = pathlib.Path(tempfile.mkdtemp(prefix="wq-bench-"))
        try:
            peer.prepare(folder, "direct", OF_WORK_QUEUE)
            began = time.monotonic()
            peer.run_line("true", OF_WORK_QUEUE)
            theirs.append(OF_WORK_QUEUE / (time.monotonic() - began))
        finally:
            shutil.rmtree(folder)
    print("\n### Commands `true` over TCP, two cores\n\n| manager | best, tasks/s | median | ratio of medians |\n|---|---|---|---|")
    for name, found in ((peer.name, theirs), ("ours", ours)):
        print(f"| {name} | {max(found):.0f} | {statistics.median(found):.0f} "
              f"| {statistics.median(found) / statistics.median(theirs):.1f} |", flush=True)


def measure(build, repeats):
    bench = pathlib.Path(build) / "tests/bench"
    print_table(bench / "bench_api", repeats)
    against_work_queue(bench / "bench_api", peers.WorkQueue99(bench / "work_queue_peer"), repeats)
