"""How long files take to reach a worker on this machine, compared with cp, rsync over loopback, and Work Queue 9.9."""

import os
import pathlib
import shutil
import socket
import statistics
import subprocess
import tempfile
import time
import typing

import peers

MB = 1 << 20


class Sizes(typing.NamedTuple):
    one: int      # MB of the one large file
    many: int     # small files in a folder
    shared: int   # MB of the file that so many tasks share:
    sharing: int


FULL = Sizes(1000, 10_000, 100, 1000)
QUICK = Sizes(100, 1000, 10, 200)


class Rsync:
    """A separate daemon on loopback that serves a folder."""

    name = "rsync over loopback"

    def __init__(self, folder):
        self.folder = folder
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        configuration = folder / "rsyncd.conf"
        configuration.write_text(f"[files]\npath = {folder}\nuse chroot = no\nread only = yes\n"
                                 + ("uid = root\ngid = root\n" if os.geteuid() == 0 else ""))
        self.daemon = subprocess.Popen(["rsync", "--daemon", "--no-detach", "--address=127.0.0.1", f"--port={self.port}",
                                        f"--config={configuration}"], stdin=subprocess.DEVNULL)
        while True:  # until it answers
            try:
                socket.create_connection(("127.0.0.1", self.port), 5).close()
                return
            except ConnectionRefusedError:
                os.sched_yield()

    def copy(self, source, target):
        subprocess.run(["rsync", "-r", "--whole-file", f"rsync://127.0.0.1:{self.port}/files/{source.name}", target],
                       check=True)

    def close(self):
        self.daemon.terminate()
        self.daemon.wait()


def timed(action, *arguments):
    began = time.monotonic()
    action(*arguments)
    return time.monotonic() - began


def copied(copy, source, folder):
    target = folder / "target"
    target.mkdir()
    try:
        return timed(copy, source, target)
    finally:
        shutil.rmtree(target)


def ours(program, tasks, path, how):
    done = subprocess.run([program, str(tasks), path, how], stdout=subprocess.PIPE, text=True, check=True)
    return float(done.stdout)


def theirs(peer, tasks, path, how):
    folder = pathlib.Path(tempfile.mkdtemp(prefix="wq-bench-"))
    try:
        peer.prepare(folder, "direct", tasks)
        return timed(peer.run_line, "true", tasks, path, how)
    finally:
        shutil.rmtree(folder)


def make_inputs(folder, sizes):
    block = os.urandom(MB)
    for name, count in (("one", sizes.one), ("shared", sizes.shared)):
        with open(folder / name, "wb") as out:
            for _ in range(count):
                out.write(block)
    many = folder / "many"
    many.mkdir()
    for number in range(sizes.many):
        (many / str(number)).write_bytes(os.urandom(10_000))


def print_rows(what, ways, repeats, share):
    """The methods take turns. The others are compared with the first."""
    found = {name: [] for name, _ in ways}
    told = set()

    def tell(name):
        if name in told or not found[name]:
            return
        told.add(name)
        middle = statistics.median(found[name])
        print(f"| {what} | {name} | {min(found[name]):.2f} s | {middle:.2f} s "
              f"| {middle / statistics.median(found[ways[0][0]]):.2f} |", flush=True)

    try:
        for last in share.rounds(repeats):
            for name, way in ways:
                found[name].append(way())
                if last:
                    tell(name)
    finally:
        for name in found:
            tell(name)


def measure_ways(program, peer, rsync, folder, sizes, repeats, share):
    print("\n### Files to a worker on this machine\n\n| what | how | best | median | / ours |\n|---|---|---|---|---|", flush=True)
    kinds = ((f"{sizes.one} MB, one file", "one"), (f"{sizes.many} x 10 kB, one folder", "many"))
    for place, (what, name) in enumerate(kinds):
        source = folder / name
        ways = [("ours", lambda source=source: ours(program, 1, source, "once")),
                ("cp -r", lambda source=source: copied(lambda a, b: subprocess.run(["cp", "-r", a, b], check=True),
                                                       source, folder))]
        if rsync:
            ways.append((rsync.name, lambda source=source: copied(rsync.copy, source, folder)))
        if not peer.missing:
            ways.append((peer.name, lambda source=source: theirs(peer, 1, source, "once")))
        print_rows(what, ways, repeats, share.part(1, [1] * (3 - place)))
    ways = [("ours", lambda: ours(program, sizes.sharing, folder / "shared", "cached"))]
    if not peer.missing:
        ways.append((peer.name, lambda: theirs(peer, sizes.sharing, folder / "shared", "cached")))
    print_rows(f"{sizes.sharing} tasks that share {sizes.shared} MB", ways, repeats, share)


def measure(options, share):
    bench = options.build / "tests/bench"
    program = bench / "bench_files"
    sizes = QUICK if options.quick else FULL
    peer = peers.WorkQueue99(bench / "work_queue_peer")
    if peer.missing:
        print(f"\n{peer.name}: not measured, {' and '.join(map(str, peer.missing))} missing", flush=True)
    folder = pathlib.Path(tempfile.mkdtemp(prefix="wq-bench-"))
    rsync = Rsync(folder) if shutil.which("rsync") else None
    if not rsync:
        print(f"\n{Rsync.name}: not measured, rsync missing", flush=True)
    try:
        make_inputs(folder, sizes)
        measure_ways(program, peer, rsync, folder, sizes, options.repeats, share.part(9, (9, 1)))
        delay = subprocess.run([program, "1", folder / "one", "delay"], stdout=subprocess.PIPE, text=True, check=True)
        print(f"\nA small task on another worker while {sizes.one} MB travel: {delay.stdout.strip()} ms; goal 100 ms", flush=True)
    finally:
        if rsync:
            rsync.close()
        shutil.rmtree(folder)
