"""How long files take to a worker on this machine: against cp, rsync over loopback, and Work Queue 9.9."""

import os
import pathlib
import shutil
import socket
import statistics
import subprocess
import tempfile
import time

import peers

MB = 1 << 20
SHARING = 1000  # tasks that share a file


class Rsync:
    """A daemon of its own on loopback that serves a folder."""

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


def make_inputs(folder):
    block = os.urandom(MB)
    for name, count in (("1 GB", 1000), ("100 MB", 100)):
        with open(folder / name.replace(" ", "_"), "wb") as out:
            for _ in range(count):
                out.write(block)
    many = folder / "many"
    many.mkdir()
    for number in range(10_000):
        (many / str(number)).write_bytes(os.urandom(10_000))


def print_rows(what, ways, repeats):
    """The ways take turns. The first one is what the others are compared with."""
    found = {name: [] for name, _ in ways}
    for _ in range(repeats):
        for name, way in ways:
            found[name].append(way())
    first = statistics.median(found[ways[0][0]])
    for name, times in found.items():
        middle = statistics.median(times)
        print(f"| {what} | {name} | {min(times):.2f} s | {middle:.2f} s | {middle / first:.2f} |", flush=True)


def measure(build, repeats):
    bench = pathlib.Path(build) / "tests/bench"
    program = bench / "bench_files"
    peer = peers.WorkQueue99(bench / "work_queue_peer")
    if peer.missing:
        print(f"\n{peer.name}: not measured, {' and '.join(map(str, peer.missing))} missing")
    folder = pathlib.Path(tempfile.mkdtemp(prefix="wq-bench-"))
    rsync = Rsync(folder) if shutil.which("rsync") else None
    try:
        make_inputs(folder)
        print("\n### Files to a worker on this machine\n\n| what | how | best | median | / ours |\n|---|---|---|---|---|")
        for what, name in (("1 GB, one file", "1_GB"), ("10,000 x 10 kB, one folder", "many")):
            source = folder / name
            ways = [("ours", lambda source=source: ours(program, 1, source, "once")),
                    ("cp -r", lambda source=source: copied(lambda a, b: subprocess.run(["cp", "-r", a, b], check=True),
                                                           source, folder))]
            if rsync:
                ways.append((rsync.name, lambda source=source: copied(rsync.copy, source, folder)))
            if not peer.missing:
                ways.append((peer.name, lambda source=source: theirs(peer, 1, source, "once")))
            print_rows(what, ways, repeats)
        ways = [("ours", lambda: ours(program, SHARING, folder / "100_MB", "cached"))]
        if not peer.missing:
            ways.append((peer.name, lambda: theirs(peer, SHARING, folder / "100_MB", "cached")))
        print_rows(f"{SHARING} tasks that share 100 MB", ways, repeats)
        delay = subprocess.run([program, "1", folder / "1_GB", "delay"], stdout=subprocess.PIPE, text=True, check=True)
        print(f"\nA small task on another worker while 1 GB travels: {delay.stdout.strip()} ms; goal 100 ms")
    finally:
        if rsync:
            rsync.close()
        shutil.rmtree(folder)
