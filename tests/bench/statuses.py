"""work_queue_status -T of a manager with 100,000 tasks that wait, ours and CCTools': seconds, and processor of both sides."""

import os
import resource
import statistics
import subprocess
import time

from catalogs import stock_words
from python_calls import PYTHON

TASKS = 100_000
MANAGER = f"""
import work_queue
queue = work_queue.WorkQueue(0, say=lambda line: None)
for number in range({TASKS}):
    queue.submit(work_queue.Task(f"./simulate --parameter {{number}} --output out.{{number}}.dat"))
queue.wait(0)
print(queue.port, flush=True)
input()
"""


def processor_of(pid):
    with open(f"/proc/{pid}/stat", encoding="utf-8") as stat:
        return sum(map(int, stat.read().rsplit(")", 1)[1].split()[11:13])) / os.sysconf("SC_CLK_TCK")


def listed(words, environment, manager):
    """Seconds until all are listed, of the program's processor and of the manager's."""
    before, own = processor_of(manager.pid), resource.getrusage(resource.RUSAGE_CHILDREN)
    began = time.monotonic()
    lines = subprocess.run(words, stdout=subprocess.PIPE, env={**os.environ, **environment, "COLUMNS": "120"}, check=True).stdout.count(b"./simulate")
    took = time.monotonic() - began
    if lines != TASKS:
        raise RuntimeError(f"{words[0]} lists {lines} tasks")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return took, after.ru_utime + after.ru_stime - own.ru_utime - own.ru_stime, processor_of(manager.pid) - before


def measure(options, share):
    program = options.build / "bin/work_queue_status"
    if not program.exists() or not list((options.build / "python/work_queue").glob("_core.*.so")):
        return print("\nwork_queue_status or wq_python_core: not built", flush=True)
    kinds = {"work_queue_status -T": ([program, "-T"], {}), "work_queue_status -T --json": ([program, "-T", "--json"], {})}
    if stock := stock_words():
        (server, *_), environment = stock
        kinds["CCTools' work_queue_status -T"] = ([server.with_name("work_queue_status"), "-T"], environment)
    environment = {**os.environ, "PYTHONPATH": str(options.build / "python")}
    print(f"\n### The status of {TASKS} tasks\n\n| listed by | seconds | its processor, s | manager's processor, s | goal |\n|---|---|---|---|---|", flush=True)
    with subprocess.Popen([PYTHON, "-c", MANAGER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, text=True) as manager:
        try:
            port = manager.stdout.readline().strip()
            found = {name: [] for name in kinds}
            for _ in share.rounds(options.repeats):
                for name, (words, environment) in kinds.items():
                    found[name].append(listed([*words, "localhost", port], environment, manager))
        finally:
            manager.terminate()
    for name, values in found.items():
        cells = " | ".join(f"{statistics.median(column):.2f}" for column in zip(*values))
        print(f"| {name} | {cells} | {'<= 1 s' if name == 'work_queue_status -T' else ''} |", flush=True)
