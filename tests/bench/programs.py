"""Measurements of programs with their own manager: calls, ranges and commands, over TCP and over ranks."""

import pathlib
import shutil
import statistics
import subprocess
import tempfile
import time

import peers

# Arguments of bench_api, ranks, goal, whether --quick measures it.
ROWS = (
    (("calls", "ranks"), 2, ">= 500 k/s", True),
    (("calls", "1"), 0, ">= 300 k/s", True),
    (("calls", "2"), 0, "", False),
    (("calls", "1", "tls"), 0, ">= 50 k/s", False),
    (("calls", "2", "tls"), 0, "", False),
    (("range", "ranks"), 2, ">= 1 M/s", True),
    (("range", "1"), 0, "", False),
    (("range", "2"), 0, "", False),
    (("latency", "ranks"), 0, "", False),
    (("latency", "others"), 2, "<= 100 us", True),
    (("latency", "1"), 0, "<= 100 us", True),
    (("latency", "1", "tls"), 0, "", False),
    (("latency", "1", "flooded"), 0, "all <= 100 ms", True),
)
OF_WORK_QUEUE = 2000  # commands for Work Queue 9.9


def row(program, words, ranks):
    """(what, text, rate): as bench_api prints it."""
    done = subprocess.run([*peers.mpirun(ranks), program, *words], stdout=subprocess.PIPE, text=True, check=True)
    _, what, text, _ = done.stdout.strip().split("|")
    return what.strip(), text.strip(), float(text.split()[0])


def print_table(program, rows, repeats, share):
    print("\n### A program with a manager\n\n| what | best | runs | goal |\n|---|---|---|---|", flush=True)
    for (words, ranks, goal, _), part in share.parts(rows):
        if part.left() == 0:
            print(f"| {' '.join(words)} | left out, no time | 0 | {goal} |", flush=True)
            continue
        found = [row(program, words, ranks) for _ in part.rounds(repeats)]
        best = (min if words[0] == "latency" else max)(found, key=lambda one: one[2])
        print(f"| {best[0]} | {best[1]} | {len(found)} | {goal} |", flush=True)


def of_work_queue(peer):
    folder = pathlib.Path(tempfile.mkdtemp(prefix="wq-bench-"))
    try:
        peer.prepare(folder, "direct", OF_WORK_QUEUE)
        began = time.monotonic()
        peer.run_line("true", OF_WORK_QUEUE)
        return OF_WORK_QUEUE / (time.monotonic() - began)
    finally:
        shutil.rmtree(folder)


def against_work_queue(program, peer, repeats, share):
    """Two cores each: two workers of ours, one of Work Queue's; in turns."""
    print("\n### Commands `true` over TCP, two cores\n\n| manager | best, tasks/s | median | ratio of medians |\n"
          "|---|---|---|---|", flush=True)
    ours, theirs = [], []
    for _ in share.rounds(repeats):
        ours.append(row(program, ("commands", "2"), 0)[2])
        if not peer.missing:
            theirs.append(of_work_queue(peer))
    floor = statistics.median(theirs or [float("nan")])
    if peer.missing:
        print(f"| {peer.name} | not measured, {' and '.join(map(str, peer.missing))} missing | | |", flush=True)
    for name, found in ((peer.name, theirs), ("ours", ours)):
        if found:
            ratio = f"{statistics.median(found) / floor:.1f}" if theirs else ""
            print(f"| {name} | {max(found):.0f} | {statistics.median(found):.0f} | {ratio} |", flush=True)


def measure(options, share):
    bench = options.build / "tests/bench"
    rows = [each for each in ROWS if each[3] or not options.quick]
    peer = peers.WorkQueue99(bench / "work_queue_peer")
    # Short ones first.
    rows.sort(key=lambda each: each[0][0] != "latency")
    print_table(bench / "bench_api", rows, options.repeats, share.part(4, (4, 1)))
    against_work_queue(bench / "bench_api", peer, options.repeats, share)
