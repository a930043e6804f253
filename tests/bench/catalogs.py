"""Our catalog server beside that of CCTools, in turns: updates by TCP and UDP, queries, memory, and a flood of datagrams."""

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
ONE = 'type=="wq_master" and project=="project77"'
PREPARE = pathlib.Path(__file__).parents[1] / "cluster/prepare"
# Name, unit of the value, goal; a higher rate is better, and less of all else.
ROWS = (("updates by TCP", "updates/s", ">= 10,000 and 5 times"), ("updates by TCP, of one core", "updates/s", ""),
        ("updates by UDP", "updates/s", ">= 10,000 and 5 times"), ("updates by UDP, of one core", "updates/s", ""),
        ("a query that matches one", "ms", "<= 5 ms"), ("100 of them at once, the longest", "ms", "<= 200 ms"),
        ("a query for all", "ms", "<= 200 ms"), ("memory", "MB", "<= 150 MB"))


class Catalog:
    def __init__(self, words, folder, load, environment=None):
        self.load = load
        self.folder = folder
        # Below the ports of clients: of tens of thousands of connections, all of these are taken for a minute.
        self.port = str(random.randrange(10_000, 30_000, 2))
        words = [*words, "-p", self.port, "-I", "127.0.0.1", "-n", "localhost"]
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
        """Seconds that it has used."""
        fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def figures(self, *words):
        """What bench_catalog prints: names and values."""
        done = subprocess.run([self.load, self.port, *map(str, words)], stdout=subprocess.PIPE, text=True, check=True)
        parts = done.stdout.split()
        return dict(zip(parts[::2], map(float, parts[1::2])))

    def updates(self, way):
        used = self.processor()
        took = self.figures(way, RECORDS, BYTES)["seconds"]
        return RECORDS / took, RECORDS / max(self.processor() - used, 0.01)

    def query(self, path, times, at_once=1):
        return self.figures("query", path, times, at_once)

    def all_rows(self):
        self.figures("tcp", RECORDS, BYTES)  # new records, and the names of hosts
        found = [*self.updates("tcp"), *self.updates("udp")]
        one = "/query/" + base64.b64encode(ONE.encode()).decode()
        found += [self.query(one, 20)["median"], self.query(one, 100, 100)["longest"], self.query("/query.json", 3)["median"]]
        return [*found, peak_memory([self.process.pid]) / 1e6]


def stock_words():
    """Command and environment of Debian's server, or None."""
    found = subprocess.run([PREPARE, "--folder", "cctools"], stdout=subprocess.PIPE, text=True, check=False)
    folder = pathlib.Path(found.stdout.strip() or "/nonexistent")
    if not (folder / "usr/bin/catalog_server").exists():
        return None
    return ([folder / "usr/bin/catalog_server", "-u", "127.0.0.1:1", "-H", "history"],
            {"LD_LIBRARY_PATH": str(folder / f"usr/lib/{platform.machine()}-linux-gnu")})


def flooded(catalog):
    """The longest query, and TCP updates taken, during 50,000 datagrams a second."""
    catalog.figures("tcp", RECORDS, BYTES)
    with subprocess.Popen([catalog.load, catalog.port, "flood", "50000", "4"], stdout=subprocess.DEVNULL):
        began = time.monotonic()
        one = "/query/" + base64.b64encode(ONE.encode()).decode()
        longest = catalog.query(one, 50)["longest"]
        taken = 1000 / catalog.figures("tcp", 1000, BYTES)["seconds"]
        if time.monotonic() - began > 4:
            print("the flood had ended before", flush=True)
    return longest, taken


def measure(options, share):
    load, ours = options.build / "tests/bench/bench_catalog", options.build / "src/cli/catalog_server"
    if not load.exists() or not ours.exists():
        return print("\nbench_catalog or catalog_server: not built", flush=True)
    stock = stock_words()
    print(f"\n### A catalog server with {RECORDS} records of {BYTES} bytes\n\n| measured | ours | with -H | CCTools | ours / CCTools "
          "| goal |\n|---|---|---|---|---|---|", flush=True)
    kinds = {"ours": ([ours], None), "kept": ([ours, "-H", "history"], None), **({"stock": stock} if stock else {})}
    found = {name: [] for name in kinds}
    for _ in share.rounds(options.repeats):
        for name, (words, environment) in kinds.items():
            with contextlib.ExitStack() as stack:
                folder = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="wq-bench-")))
                found[name].append(stack.enter_context(Catalog(words, folder, load, environment)).all_rows())
    for at, (name, unit, goal) in enumerate(ROWS):
        middle = {kind: statistics.median(row[at] for row in rows) for kind, rows in found.items()}
        theirs, ratio = (f"{middle['stock']:,.1f}", f"{middle['ours'] / middle['stock']:.2f}") if stock else ("not unpacked", "")
        print(f"| {name}, {unit} | {middle['ours']:,.1f} | {middle['kept']:,.1f} | {theirs} | {ratio} | {goal} |", flush=True)
    with tempfile.TemporaryDirectory(prefix="wq-bench-") as folder, Catalog([ours], pathlib.Path(folder), load) as catalog:
        longest, taken = flooded(catalog)
        print(f"| in a flood of 50,000 datagrams/s: longest query, ms | {longest:.1f} | | | | <= 100 ms |\n"
              f"| in the flood: updates by TCP, all taken, updates/s | {taken:,.0f} | | | | |", flush=True)
