"""Our catalog server beside that of CCTools, in turns: updates by TCP and UDP, queries, memory, and a flood of datagrams.

The processor's time is as much with other load on the machine, the rates are not. The floor is a server that accepts a
connection, reads it and closes it: what the kernel takes for an update by TCP. CCTools' server takes two to three times
as much, so that no server is five times as fast as it by TCP."""

import base64
import contextlib
import os
import pathlib
import platform
import random
import socket
import statistics
import subprocess
import tempfile
import time

from ours import peak_memory

RECORDS, BYTES = 10_000, 2000
PREPARE = pathlib.Path(__file__).parents[1] / "cluster/prepare"


def query_of(expression):
    return "/query/" + base64.b64encode(expression.encode()).decode()


ONE = query_of('type=="wq_master" and project=="project77"')


class Catalog:
    """A server of one kind, and what it takes: each method gives a row's two values."""

    def __init__(self, load, folder, words, environment=None):
        self.load = load
        # Below the ports of clients: of tens of thousands of connections, all of these are taken for a minute.
        self.port = str(random.randrange(10_000, 30_000, 2))
        words = [word.replace("PORT", self.port) for word in map(str, words)]
        self.process = subprocess.Popen(words, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                        env={**os.environ, **(environment or {}), "CATALOG_HOST": "127.0.0.1:1"})
        while not self.listens():
            if self.process.poll() is not None:
                raise RuntimeError(f"{words[0]} ended with {self.process.returncode}")

    def listens(self):
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", int(self.port)), 10):
            return True
        return False

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()

    def processor(self):
        """Seconds that it and its children that have ended have used."""
        fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")

    def figures(self, *words):
        """What bench_catalog prints: names and values."""
        done = subprocess.run([self.load, self.port, *map(str, words)], stdout=subprocess.PIPE, text=True, check=True)
        parts = done.stdout.split()
        return dict(zip(parts[::2], map(float, parts[1::2])))

    def measured(self, value, count, *words):
        """A value of bench_catalog, and milliseconds of processor for each of `count`."""
        before = self.processor()
        found = self.figures(*words)[value]
        return found, 1000 * (self.processor() - before) / count

    def updates(self, way):
        seconds, each = self.measured("seconds", RECORDS, way, RECORDS, BYTES)
        return RECORDS / seconds, 1000 * each

    def query_one(self):
        return self.measured("median", 20, "query", ONE, 20)

    def query_at_once(self):
        return self.measured("longest", 100, "query", ONE, 100, 100)

    def query_all(self):
        return self.measured("median", 3, "query", "/query.json", 3)

    def memory(self):
        return peak_memory([self.process.pid]) / 1e6, None


# Name, unit and goal of the value, the same of the processor's time, kinds that are not asked, and what measures them.
ROWS = (("updates by TCP", "updates/s", ">= 10,000 and 5 times", "us", (), lambda one: one.updates("tcp")),
        ("updates by UDP", "updates/s", ">= 10,000 and 5 times", "us", ("floor",), lambda one: one.updates("udp")),
        ("a query that matches one", "ms", "<= 5 ms", "ms", ("floor",), Catalog.query_one),
        ("100 of them at once, the longest", "ms", "<= 200 ms", "ms", ("floor",), Catalog.query_at_once),
        ("a query for all", "ms", "<= 200 ms", "ms", ("floor",), Catalog.query_all),
        ("memory", "MB", "<= 150 MB", None, ("floor",), Catalog.memory))


def stock_words():
    """Command and environment of Debian's server, or None."""
    found = subprocess.run([PREPARE, "--folder", "cctools"], stdout=subprocess.PIPE, text=True, check=False)
    folder = pathlib.Path(found.stdout.strip() or "/nonexistent")
    if not (folder / "usr/bin/catalog_server").exists():
        return None
    return ([folder / "usr/bin/catalog_server", "-p", "PORT", "-I", "127.0.0.1", "-n", "localhost", "-u", "127.0.0.1:1", "-H", "history"],
            {"LD_LIBRARY_PATH": str(folder / f"usr/lib/{platform.machine()}-linux-gnu")})


def flooded(catalog):
    """The longest query, TCP updates/s, and how many of 1,000 are not there, during 50,000 datagrams a second."""
    with subprocess.Popen([catalog.load, catalog.port, "flood", "50000", "4"], stdout=subprocess.DEVNULL):
        began = time.monotonic()
        longest = catalog.figures("query", ONE, 50)["longest"]
        rate = 1000 / catalog.figures("tcp", 1000, BYTES, 2 * RECORDS)["seconds"]
        if time.monotonic() - began > 4:
            print("the flood had ended before", flush=True)
    with socket.create_connection(("127.0.0.1", int(catalog.port)), 60) as connection:
        connection.sendall(f"GET {query_of(f'port>{2 * RECORDS}')} HTTP/1.0\r\n\r\n".encode())
        return longest, rate, 1000 - connection.makefile("rb").read().count(b'"wq_master"')


def print_row(name, unit, goal, found, ratio):
    """Values by kind; `ratio` of ours to CCTools'."""
    cells = [f"{found[kind]:,.1f}" if kind in found else "" for kind in ("ours", "kept", "stock", "floor")]
    print(f"| {name}, {unit} | {' | '.join(cells)} | {ratio} | {goal} |", flush=True)


def measure_row(row, servers, rounds):
    name, unit, goal, processor, not_asked, ask = row
    found = {kind: [] for kind in servers if kind not in not_asked}
    for _ in rounds:
        for kind, values in found.items():
            values.append(ask(servers[kind]))
    for at, kind_of_value in enumerate((unit, processor)):
        if kind_of_value is None:
            continue
        middle = {kind: statistics.median(value[at] for value in values) for kind, values in found.items()}
        ratio = middle["ours"] / middle["stock"] if "stock" in middle and middle["stock"] else 0
        times = ratio if kind_of_value == "updates/s" else 1 / ratio if ratio else 0
        print_row(name if at == 0 else f"{name}: processor, each", kind_of_value, goal if at == 0 else "", middle,
                  f"{times:.1f} times" if times else "")


def measure(options, share):
    load, ours = options.build / "tests/bench/bench_catalog", options.build / "bin/catalog_server"
    if not load.exists() or not ours.exists():
        return print("\nbench_catalog or catalog_server: not built", flush=True)
    own = [ours, "-p", "PORT", "-I", "127.0.0.1", "-n", "localhost"]
    kinds = {"ours": (own,), "kept": ([*own, "-H", "history"],), "floor": ([load, "PORT", "floor"],)}
    if stock := stock_words():
        kinds["stock"] = stock
    print(f"\n### A catalog server with {RECORDS} records of {BYTES} bytes\n\n| measured | ours | with -H | CCTools | floor "
          "| better than CCTools' | goal |\n|---|---|---|---|---|---|---|", flush=True)
    with contextlib.ExitStack() as stack:
        servers = {}
        for kind, words in kinds.items():
            folder = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="wq-bench-")))
            servers[kind] = stack.enter_context(Catalog(load, folder, *words))
            servers[kind].figures("tcp", RECORDS, BYTES)  # new records, and the names of hosts
        for row, part in share.parts(ROWS):
            measure_row(row, servers, part.rounds(options.repeats))
        longest, rate, lost = flooded(servers["ours"])
    for name, unit, goal, value in (("longest query", "ms", "<= 100 ms", longest), ("updates by TCP", "updates/s", "", rate),
                                    ("updates by TCP that are lost", "of 1,000", "0", lost)):
        print_row("in a flood of 50,000 datagrams/s: " + name, unit, goal, {"ours": value}, "")
