"""What only our own commands are measured for: long queues, start-up, idling."""

import os
import pathlib
import signal
import statistics
import subprocess
import time

from peers import mpirun


class Engine:
    def __init__(self, build, folder):
        self.program = pathlib.Path(build) / "src/cli/work_queue_run"
        self.nothing = pathlib.Path(build) / "tests/bench/mpi_nothing"
        self.folder = folder
        self.runs = 0

    def command(self, ranks, task_list, *options):
        self.runs += 1
        self.run_dir = self.folder / f"run{self.runs}"
        return [*mpirun(ranks), self.program, "--run-dir", self.run_dir, "--progress", "never", *options, task_list]

    def started(self, command, **more):
        return subprocess.Popen(command, cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **more)


def processes_below(root):
    """Ids of the living descendants of a process, by name."""
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
    """The largest peak of resident memory (bytes) among processes that live."""
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
    """Polls until it holds; false when the process ended first."""
    while not condition():
        try:
            process.wait(timeout=0.02)
            return condition()
        except subprocess.TimeoutExpired:
            continue
    return True


def ends(path):
    """When the tasks of a joblog ended, in order, in seconds."""
    with open(path, encoding="utf-8", errors="replace") as file:
        fields = (line.split("\t", 4) for line in file.readlines()[1:])
        return sorted(float(start) + float(took) for _, _, start, took, _ in fields)


def queue_of(engine, count, seconds):
    """Rate from the 1000th end to the 10000th (or the last one within `seconds`) and peak memory, `count` queued."""
    path = engine.folder / f"list{count}"
    path.write_text("".join(f"/bin/echo {i:08d}\n" for i in range(count)))
    run = engine.started(engine.command(0, path))
    joblog = engine.run_dir / "joblog.tsv"
    if not wait_for(run, lambda: rows(joblog) >= 1000):
        raise RuntimeError(f"the run of {count} tasks ended early with {run.returncode}")
    began, memory = time.monotonic(), 0

    def enough():
        nonlocal memory
        memory = max(memory, peak_memory(own_processes(run.pid))) if run.poll() is None else memory
        return time.monotonic() - began > seconds
    if wait_for(run, enough):
        run.send_signal(signal.SIGTERM)
    run.wait()
    at = ends(joblog)[1000:10000]
    return {"rate": (len(at) - 1) / (at[-1] - at[0]), "memory": memory, "text": path.stat().st_size}


def seconds_of(command, folder):
    began = time.monotonic()
    subprocess.run(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    return time.monotonic() - began


def start_up(engine, repeats):
    """Seconds: an MPI program that does nothing, to our first task, and our whole run of one task."""
    first = engine.folder / "first"
    path = engine.folder / "one"
    path.write_text(f"cat /proc/uptime > {first}\n")
    empty, to_task, whole = [], [], []
    for _ in range(repeats):
        empty.append(seconds_of([*mpirun(2), engine.nothing], engine.folder))
        began = float(pathlib.Path("/proc/uptime").read_text().split()[0])
        whole.append(seconds_of(engine.command(2, path), engine.folder))
        to_task.append(float(first.read_text().split()[0]) - began)
    return {"empty": statistics.median(empty), "first": statistics.median(to_task), "whole": statistics.median(whole)}


def idling(engine, seconds):
    """CPU share of each of our processes while nothing is to be done, and seconds until a task begins after that."""
    mark = engine.folder / "after_idling"
    run = engine.started(engine.command(2, "-"), stdin=subprocess.PIPE)
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
