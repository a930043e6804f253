#!/usr/bin/env python3
"""Measures task runners against the floor, and our engine's own figures. Prints markdown, each row when it is measured.

All figures of a table come from one run in which the peers take turns, so that other load affects all of them. It ends
within 10 minutes, with --quick within 2: each bench gets a share of that, and repeats while it lasts."""

import argparse
import contextlib
import functools
import io
import json
import os
import pathlib
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import catalogs
import executors
import figures
import files
import ours
import peers
import programs
import python_calls
import shared_lists
import statuses
import strangers
from budget import Budget, OverTime

EXAMPLES = """examples:
  cmake --build build --target bench               builds what is measured, and measures all: up to 10 minutes
  tests/bench/bench.py --build build --quick       all, shorter: up to 2 minutes
  tests/bench/bench.py --build build --only programs --minutes 3
  tests/bench/bench.py --build build --quick --only bench_core bench_tcp
  tests/bench/bench.py --build build > figures.md  what fails or is cut off is said there, too; errors on stderr
  tests/bench/bench.py --build build --json new.json; tests/bench/compare old.json new.json
"""

# Programs that measure one folder each: arguments, and seconds out of 10 minutes; then the same for --quick, which
# omits long idling.
ROOMS = {
    "bench_core": ((), 30, ("100000", "100"), 7),
    "bench_allocation": ((), 3, (), 3),
    "bench_launcher": (("4000", "3"), 50, ("400", "1"), 6),
    "bench_stats": ((), 20, ("50000",), 5),
    "bench_records": ((), 10, ("8",), 2),
    "bench_mpi": ((), 12, ("200",), 4),
    "bench_tcp": (("31",), 50, ("2",), 12),
    "bench_idle": (("35",), 45, None, 0),
    "bench_placement": ((), 8, ("3000", "300"), 2),
    "bench_monitor": (("100", "8"), 45, None, 0),
    "bench_slices": (("4",), 15, ("1",), 5),
    "bench_makespan": ((), 6, ("200", "2"), 2),
    "bench_functions": (("20000000", "500000", "2"), 20, ("2000000", "50000", "1"), 6),
}
RANKS = {"bench_mpi": 2, "bench_makespan": 2}  # under mpirun
OTHERS = {"runners": (250, 20), "engine": (55, 16), "programs": (70, 22), "files": (65, 8), "executors": (30, 6), "shared_lists": (60, 12),
          "python_calls": (60, 15), "strangers": (25, 12), "catalog": (60, 25), "status": (15, 8)}  # seconds as well


def timed(peer, kind, count, folder):
    where = pathlib.Path(tempfile.mkdtemp(dir=folder))
    try:
        peer.prepare(where, kind, count)
        began = time.monotonic()
        peer.run(kind, count)
        return count / (time.monotonic() - began)
    finally:
        shutil.rmtree(where)


def runner_row(name, found, floor):
    best, middle = max(found), statistics.median(found)
    shares = f"{best / max(floor):.2f} | {middle / statistics.median(floor):.2f}" if floor else " | "
    print(f"| {name} | {best:.0f} | {middle:.0f} | {len(found)} | {shares} |", flush=True)


def slow(name, rates):
    """Below 0.4 of the floor's rate."""
    return name in rates and "floor" in rates and rates[name] < 0.4 * rates["floor"]


class RunnerTable:
    """One list of equal tasks for every peer, in turns."""

    def __init__(self, kind, count):
        self.kind, self.count = kind, count
        self.rates = {}
        self.told = set()

    def best(self):
        return {name: max(found) for name, found in self.rates.items() if found}

    def left_out(self, name, why):
        self.told.add(name)
        print(f"| {name} | {why} | | 0 | | |", flush=True)

    def turn(self, peer, folder):
        """Slow peers run once only, so that the others can take several turns."""
        if peer.name in self.told or (self.rates.get(peer.name) and slow(peer.name, self.best())):
            return
        try:
            self.rates.setdefault(peer.name, []).append(timed(peer, self.kind, self.count, folder))
        except (OSError, RuntimeError) as error:
            print(f"{peer.name}: {error}", file=sys.stderr)
            self.left_out(peer.name, "failed")

    def tell(self, name):
        if name not in self.told and self.rates.get(name):
            self.told.add(name)
            runner_row(name, self.rates[name], self.rates.get("floor"))

    def measure(self, runners, most, folder, share):
        print(f"\n### {self.count} tasks, {self.kind}: `{peers.KINDS[self.kind]}`\n\n| runner | best, tasks/s | median | runs "
              "| best / floor | median / floor |\n|---|---|---|---|---|---|", flush=True)
        with contextlib.ExitStack() as stack:
            stack.callback(lambda: [self.tell(peer.name) for peer in runners])  # also if it is interrupted
            for last in share.rounds(most):
                for peer in runners:
                    self.turn(peer, folder)
                    if last:
                        self.tell(peer.name)
        return self.best()


def task_runners(options, share):
    runners = []
    for peer in peers.all_peers(options.build):
        if peer.missing:
            print(f"- {peer.name}: not measured, {' and '.join(map(str, peer.missing))} missing", flush=True)
        else:
            runners.append(peer)
    counts = (1000,) if options.quick else (2000, 20000)
    known = {kind: {} for kind in peers.KINDS}
    tables = [(kind, count) for kind in peers.KINDS for count in counts]
    with tempfile.TemporaryDirectory(prefix="wq-bench-") as folder:
        for (kind, count), part in share.parts(tables):
            fast = [peer for peer in runners if not slow(peer.name, known[kind])]  # the others only with the short list
            known[kind] = RunnerTable(kind, count).measure(fast, options.repeats, folder, part)


def room(name, options, share):
    """One program; prints its lines as they come."""
    program = options.build / "tests/bench" / name
    print(f"\n### {name}\n", flush=True)
    if not program.exists():
        return print("not built", flush=True)
    words = ROOMS[name][2 if options.quick else 0]
    ranks = peers.mpirun(RANKS.get(name, 0))
    with subprocess.Popen([*ranks, program, *words], stdout=subprocess.PIPE, text=True) as running:
        try:
            for line in running.stdout:
                print(line, end="", flush=True)
        except OverTime:
            running.terminate() if ranks else running.kill()  # some block signals
            raise
    if running.returncode:
        print(f"{name} ended with {running.returncode}", flush=True)


def benches(options):
    """(name, weight, what takes a share)."""
    all_of = {"runners": task_runners, "engine": ours.measure, "programs": programs.measure, "files": files.measure,
              "executors": executors.measure, "shared_lists": shared_lists.measure,
              "python_calls": python_calls.measure, "strangers": strangers.measure, "catalog": catalogs.measure,
              "status": statuses.measure}
    found = [(name, OTHERS[name][options.quick], measure) for name, measure in all_of.items()]
    for name, (_, seconds, quickly, quick_seconds) in ROOMS.items():
        if options.quick and quickly is None:
            print(f"- {name}: not measured with --quick", flush=True)
            continue
        found.append((name, quick_seconds if options.quick else seconds, functools.partial(room, name)))
    return [each for each in found if not options.only or each[0] in options.only]


def run_all(options):
    budget = Budget(60 * options.minutes)
    # Some time is reserved for killing what hangs.
    for (name, _, measure), share in Budget(54 * options.minutes).parts(benches(options), lambda each: each[1]):
        began = time.monotonic()
        try:
            with budget.bench(share):
                measure(options, share)
        except OverTime:
            print(f"\n{name}: cut off after {time.monotonic() - began:.0f} s, its time was {share.seconds:.0f} s", flush=True)
        except (OSError, RuntimeError, ValueError, subprocess.SubprocessError) as error:
            print(f"\n{name}: failed: {error}", flush=True)


def read_options():
    parser = argparse.ArgumentParser(description=__doc__, epilog=EXAMPLES,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True, type=pathlib.Path, metavar="FOLDER", help="root of the build folder")
    parser.add_argument("--quick", action="store_true", help="shorter lists and fewer rows, in 2 minutes: for every day")
    parser.add_argument("--minutes", type=float, metavar="N", help="that all of it may take (default 10, with --quick 2)")
    parser.add_argument("--repeats", type=int, default=5, metavar="N", help="of each measurement at most (default 5)")
    parser.add_argument("--only", nargs="+", metavar="NAME", choices=[*OTHERS, *ROOMS],
                        help="of: " + ", ".join(OTHERS) + ", " + ", ".join(ROOMS))
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE", help="also write the figures to FILE, for tests/bench/compare")
    options = parser.parse_args()
    options.build = options.build.resolve()
    options.minutes = options.minutes or (2 if options.quick else 10)
    return options


class Copied(io.TextIOBase):
    """Standard output that is kept, too."""

    def __init__(self, out):
        self.out = out
        self.text = ""

    def write(self, text):
        self.text += text
        return self.out.write(text)

    def flush(self):
        self.out.flush()


def write_json(path, text):
    found = [{"bench": bench, "row": row, "column": column, "value": value}
             for (bench, row, column), value in figures.figures_in(text).items()]
    about = {"date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), "cores": os.cpu_count(), "linux": platform.release(),
             "load": os.getloadavg()[0]}
    path.write_text(json.dumps({**about, "figures": found}, indent=1) + "\n")


def main():
    options = read_options()
    began = time.monotonic()
    os.environ.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                      OMPI_MCA_btl_vader_single_copy_mechanism="none")
    with contextlib.redirect_stdout(Copied(sys.stdout)) as copied:
        print(f"## Measured on {os.cpu_count()} cores, Linux {platform.release()}, load {os.getloadavg()[0]:.1f}\n", flush=True)
        run_all(options)
        print(f"\nMeasured in {time.monotonic() - began:.0f} s; load {os.getloadavg()[0]:.1f}", flush=True)
    if options.json:
        write_json(options.json, copied.text)


if __name__ == "__main__":
    main()
