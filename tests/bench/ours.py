"""Measurements of our own commands only: long queues, start-up, idling."""

import contextlib
import os
import pathlib
import signal
import statistics
import subprocess
import tempfile
import time

from peers import mpirun


class Engine:
    def __init__(self, build, folder):
        self.program = pathlib.Path(build) / "bin/work_queue_run"
        self.nothing = pathlib.Path(build) / "tests/bench/mpi_nothing"
        self.folder = folder
        self.runs = 0

    def command(self, ranks, task_list, *options):
        self.runs += 1
        self.run_dir = self.folder / f"run{self.runs}"
        return [*mpirun(ranks), self.program, "--run-dir", self.run_dir, "--progress", "never", *options, task_list]

    @contextlib.contextmanager
    def started(self, command, **more):
        with subprocess.Popen(command, cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **more) as run:
            try:
                yield run
            except BaseException:  # also when it is interrupted
                run.terminate()
                raise


def processes_below(root):
    """Ids of a process's running descendants, by name."""
    parents = {}
    for entry in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            name, rest = (entry / "stat").read_text().split("(", 1)[1].rsplit(")", 1)
        except OSError:
            continue
        parents[int(entry.name)] = (int(rest.split()[1]), name)
    found, frontier = {}, {root}
    while frontier:
        frontier = {pid for pid, (parent, _) in parents.items() if parent in frontier}
        found.update({pid: parents[pid][1] for pid in frontier})
    return found


def own_processes(root):
    below = processes_below(root)
    if pathlib.Path(f"/proc/{root}/comm").read_text().strip() == "work_queue_run":
        below[root] = "work_queue_run"
    return [pid for pid, name in below.items() if name == "work_queue_run"]


def peak_memory(pids):
    """The largest peak of resident memory (bytes) among running processes."""
    peaks = [0]
    for pid in pids:
        try:
            text = pathlib.Path(f"/proc/{pid}/status").read_text()
        except OSError:
            continue
        peaks += [int(line.split()[1]) * 1024 for line in text.splitlines() if line.startswith("VmHWM")]
    return max(peaks)


def cpu_seconds(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def rows(path):
    try:
        with open(path, "rb") as file:
            return sum(1 for _ in file) - 1
    except OSError:
        return 0


def wait_for(process, condition):
    """Polls until the condition holds; false if the process ended first."""
    while not condition():
        try:
            process.wait(timeout=0.02)
            return condition()
        except subprocess.TimeoutExpired:
            continue
    return True


def ends(path):
    """The end times of a joblog's tasks, in order, in seconds."""
    with open(path, encoding="utf-8", errors="replace") as file:
        fields = (line.split("\t", 4) for line in file.readlines()[1:])
        return sorted(float(start) + float(took) for _, _, start, took, _ in fields)


def queue_of(engine, count, seconds):
    """Rate from the 1000th end to the 10000th (or the last one within `seconds`) and peak memory, `count` queued."""
    path = engine.folder / f"list{count}"
    path.write_text("".join(f"/bin/echo {i:08d}\n" for i in range(count)))
    memory = 0
    with engine.started(engine.command(0, path)) as run:
        joblog = engine.run_dir / "joblog.tsv"
        if not wait_for(run, lambda: rows(joblog) >= 1000):
            raise RuntimeError(f"the run of {count} tasks ended early with {run.returncode}")
        began = time.monotonic()

        def enough():
            nonlocal memory
            memory = max(memory, peak_memory(own_processes(run.pid))) if run.poll() is None else memory
            return time.monotonic() - began > seconds
        if wait_for(run, enough):
            run.send_signal(signal.SIGTERM)
    at = ends(joblog)[1000:10000]
    return {"rate": (len(at) - 1) / (at[-1] - at[0]), "memory": memory, "text": path.stat().st_size}


def seconds_of(command, folder):
    began = time.monotonic()
    subprocess.run(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    return time.monotonic() - began


def start_up(engine, repeats, share):
    """Seconds: an MPI program that does nothing, to our first task, and our whole run of one task."""
    first = engine.folder / "first"
    path = engine.folder / "one"
    path.write_text(f"cat /proc/uptime > {first}\n")
    empty, to_task, whole = [], [], []
    for _ in share.rounds(repeats):
        empty.append(seconds_of([*mpirun(2), engine.nothing], engine.folder))
        began = float(pathlib.Path("/proc/uptime").read_text().split()[0])
        whole.append(seconds_of(engine.command(2, path), engine.folder))
        to_task.append(float(first.read_text().split()[0]) - began)
    return {"empty": statistics.median(empty), "first": statistics.median(to_task), "whole": statistics.median(whole)}


def idling(engine, seconds):
    """CPU share of each of our processes while idle, and seconds until a task starts after that."""
    mark = engine.folder / "after_idling"
    with engine.started(engine.command(2, "-"), stdin=subprocess.PIPE) as run:
        run.stdin.write(f"echo > {mark}.warm\n".encode())
        run.stdin.flush()
        wait_for(run, lambda: pathlib.Path(f"{mark}.warm").exists())
        quiet = time.monotonic() + 2
        wait_for(run, lambda: time.monotonic() > quiet)
        pids = own_processes(run.pid)
        before, began = {pid: cpu_seconds(pid) for pid in pids}, time.monotonic()
        wait_for(run, lambda: time.monotonic() - began > seconds)
        took = time.monotonic() - began
        shares = [(cpu_seconds(pid) - before[pid]) / took for pid in pids]
        sent = time.time()
        run.stdin.write(f"date +%s.%N > {mark}\n".encode())
        run.stdin.close()
        run.wait()
    return {"shares": shares, "answer": float(mark.read_text()) - sent}


def row(what, measured, goal=""):
    print(f"| {what} | {measured} | {goal} |", flush=True)


def long_queue(engine, count, share):
    seconds = min(share.left() / 4, 10)
    short = queue_of(engine, 10_000, seconds)
    long = queue_of(engine, count, seconds)
    extra = (long["memory"] - short["memory"] - long["text"] + short["text"]) / (count - 10_000)
    row(f"rate with {count} queued / with 10000",
        f"{long['rate']:.0f} / {short['rate']:.0f} = {long['rate'] / short['rate']:.2f}", ">= 0.95")
    row(f"peak memory of the largest process, {count} queued",
        f"{long['memory'] / 1e6:.0f} MB, {extra:.0f} bytes a task besides its text", "<= 100")


def starts(engine, repeats, share):
    start = start_up(engine, repeats, share)
    row("mpirun -n 2 of a program that does nothing", f"{start['empty']:.2f} s")
    row("start to first task, beyond that", f"{start['first'] - start['empty']:.2f} s", "<= 0.12 s")
    row("run of one task, beyond that", f"{start['whole'] - start['empty']:.2f} s")


def idle(engine, share):
    found = idling(engine, min(share.left() / 2, 10))
    row(f"CPU of our {len(found['shares'])} processes while idle",
        ", ".join(f"{100 * each:.1f} %" for each in found["shares"]), "< 1 % each")
    row("first task after idling, from writing its line", f"{1000 * found['answer']:.0f} ms", "<= 20 ms")


def measure(options, share):
    count = 100_000 if options.quick else 1_000_000
    print("\n### work_queue_run itself\n\n| what | measured | goal |\n|---|---|---|", flush=True)
    with tempfile.TemporaryDirectory(prefix="wq-bench-") as folder:
        engine = Engine(options.build, pathlib.Path(folder))
        long_queue(engine, count, share.part(5, (5, 2, 3)))
        starts(engine, options.repeats, share.part(2, (2, 3)))
        idle(engine, share)
