"""A run with one worker over TCP beside 5,000 strangers who hold connections: its time, and the manager's memory, beside
the same run without strangers, in turns."""

import contextlib
import itertools
import json
import pathlib
import resource
import socket
import statistics
import subprocess
import sys
import tempfile
import time

from ours import Engine, peak_memory, wait_for

COUNT = 5000
TASKS = 1000
HELLO = b"\x16\x03\x01\x01\x24\x01\x00\x01\x20\x03\x03" + bytes(300)  # as long as a ClientHello
# Nothing, another protocol, half a ClientHello, and one that is whole but wrong.
WORDS = (b"", b"GET / HTTP/1.1\r\n\r\n", HELLO[:150], HELLO)


def stay(port, count):
    """Holds `count` connections until standard input ends."""
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    held = []
    for words in itertools.islice(itertools.cycle(WORDS), count):
        held.append(socket.create_connection(("127.0.0.1", port), 10))
        with contextlib.suppress(OSError):  # refused already
            held[-1].sendall(words)
    print("there", flush=True)
    sys.stdin.read()


@contextlib.contextmanager
def strangers(port, count):
    with subprocess.Popen([sys.executable, __file__, str(port), str(count)], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as them:
        if them.stdout.readline() != b"there\n":
            raise RuntimeError(f"{count} strangers cannot connect; is 'ulimit -Hn' above {count}?")
        yield
        them.stdin.close()


def run(engine, count):
    """Seconds from the start of the worker to the end of the run, and peak memory of the manager in bytes."""
    path = engine.folder / "list"
    path.write_text("true #\n" * TASKS)
    with engine.started(engine.command(0, path, "--manager-only", "--listen")) as manager:
        contact = engine.run_dir / "contact"
        if not wait_for(manager, lambda: contact.exists() and contact.stat().st_size):
            raise RuntimeError(f"the manager ended with {manager.returncode}")
        with strangers(port_in(contact), count):
            began = time.monotonic()
            with subprocess.Popen([engine.program.parent / "work_queue_worker", "--cores", "1", "--contact", contact], cwd=engine.folder,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL):
                memory = 0

                def watch():
                    nonlocal memory
                    memory = max(memory, peak_memory([manager.pid]))
                    return False
                wait_for(manager, watch)
                return time.monotonic() - began, memory


def port_in(contact):
    return json.loads(contact.read_text())["port"]


def measure(options, share):
    print(f"\n### {TASKS} tasks on a worker over TCP, with and without {COUNT} strangers who hold connections\n\n"
          "| measured | without | with | ratio | goal |\n|---|---|---|---|---|", flush=True)
    alone, beside = [], []
    with tempfile.TemporaryDirectory(prefix="wq-bench-") as folder:
        engine = Engine(options.build, pathlib.Path(folder))
        for _ in share.rounds(options.repeats):
            alone.append(run(engine, 0))
            beside.append(run(engine, COUNT))
    for name, which, unit, goal in (("seconds", 0, 1, "<= 1.3 times"), ("manager's peak memory, MB", 1, 1e6, "<= 128 MB")):
        without, there = (statistics.median(one[which] for one in found) / unit for found in (alone, beside))
        print(f"| {name} | {without:.2f} | {there:.2f} | {there / without:.2f} | {goal} |", flush=True)


if __name__ == "__main__":
    stay(int(sys.argv[1]), int(sys.argv[2]))
