"""The task runners that are compared: how each runs COUNT equal tasks, two at a time."""

import pathlib
import shutil
import subprocess

WIDTH = 2
# The task: an executable with output, or a line that needs a shell (the same /bin/sh for all).
KINDS = {"direct": "/bin/echo task", "shell": "echo task; :"}


def words(kind):
    return KINDS[kind].split() if kind == "direct" else ["/bin/sh", "-c", KINDS[kind]]


class Peer:
    """prepare() writes inputs and is not timed; run() is."""

    def __init__(self, name, needs=()):
        self.name = name
        self.missing = [need for need in needs if not shutil.which(str(need))]
        self.folder = None

    def prepare(self, folder, kind, count):
        self.folder = folder

    def command(self, kind, count):
        raise NotImplementedError

    def run(self, kind, count):
        with open(self.folder / "out", "wb") as out:
            done = subprocess.run(self.command(kind, count), cwd=self.folder, stdout=out, stderr=subprocess.STDOUT,
                                  stdin=subprocess.DEVNULL, check=False)
        if done.returncode:
            tail = (self.folder / "out").read_bytes()[-300:].decode(errors="replace")
            raise RuntimeError(f"{self.name} ended with {done.returncode}: {tail}")


class Floor(Peer):
    def __init__(self, program, mode):
        super().__init__({"cores": "floor", "null": "floor, one process", "pipes": "floor, pipes and wait4"}[mode], [program])
        self.program, self.mode = program, mode

    def command(self, kind, count):
        return [self.program, self.mode, str(WIDTH), str(count), *words(kind)]


class Make(Peer):
    def __init__(self):
        super().__init__("make -j2", ["make"])

    def prepare(self, folder, kind, count):
        super().prepare(folder, kind, count)
        targets = " ".join(f"t{i}" for i in range(count))
        (folder / "Makefile").write_text(f".PHONY: all {targets}\nall: {targets}\n{targets}:\n\t@{KINDS[kind]}\n")

    def command(self, kind, count):
        return ["make", f"-j{WIDTH}", "-s"]


class Xargs(Peer):
    def __init__(self):
        super().__init__("xargs -P2", ["xargs"])

    def prepare(self, folder, kind, count):
        super().prepare(folder, kind, count)
        (folder / "arguments").write_text("".join(f"{i}\n" for i in range(count)))

    def command(self, kind, count):
        return ["xargs", "-a", "arguments", f"-P{WIDTH}", "-n1", *words(kind)]


class Ninja(Peer):
    def __init__(self):
        super().__init__("ninja -j2", ["ninja"])

    def prepare(self, folder, kind, count):
        super().prepare(folder, kind, count)
        edges = "".join(f"build t{i}: task\n" for i in range(count))
        (folder / "build.ninja").write_text(f"rule task\n  command = {KINDS[kind]}\n{edges}")

    def command(self, kind, count):
        return ["ninja", f"-j{WIDTH}", "--quiet"]


class Parallel(Peer):
    def __init__(self):
        super().__init__("GNU parallel -j2", ["parallel"])

    def prepare(self, folder, kind, count):
        super().prepare(folder, kind, count)
        (folder / "list").write_text(f"{KINDS[kind]}\n" * count)

    def command(self, kind, count):
        return ["parallel", f"-j{WIDTH}", "--joblog", "joblog", "-a", "list"]


class WorkQueue99(Peer):
    """Debian's Work Queue: our small manager over its C library, and one of its workers with two cores."""

    def __init__(self, program):
        super().__init__("Work Queue 9.9", ["work_queue_worker", program])
        self.program = program

    def run(self, kind, count):
        self.run_line(KINDS[kind], count)

    def run_line(self, line, count, *file):
        with subprocess.Popen([self.program, str(count), line, *map(str, file)], cwd=self.folder, stdout=subprocess.PIPE,
                              text=True) as manager:
            number = manager.stdout.readline().strip()
            worker = subprocess.Popen(
                ["work_queue_worker", "--cores", str(WIDTH), "--memory", "2000", "--disk", "2000", "-s", self.folder,
                 "-t", "5", "--single-shot", "localhost", number], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            try:
                if manager.wait():
                    raise RuntimeError(f"{self.name} ended with {manager.returncode}")
            finally:
                worker.terminate()
                worker.wait()
                manager.kill()  # if its time is over; without its worker it would wait for ever, and we for it


class Ours(Peer):
    def __init__(self, program, ranks):
        name = f"work_queue_run, mpirun -n {ranks}" if ranks else "work_queue_run, one process"
        super().__init__(name, [program] + (["mpirun"] if ranks else []))
        self.program, self.ranks = program, ranks

    def prepare(self, folder, kind, count):
        super().prepare(folder, kind, count)
        (folder / "list").write_text(f"{KINDS[kind]}\n" * count)

    def command(self, kind, count):
        shutil.rmtree(self.folder / "run", ignore_errors=True)
        return [*mpirun(self.ranks), self.program, "--run-dir", "run", "--progress", "never", "--shell", "/bin/sh", "list"]


def mpirun(ranks):
    return ["mpirun", "--oversubscribe", "--bind-to", "none", "-n", str(ranks)] if ranks else []


def all_peers(build):
    bench = pathlib.Path(build) / "tests/bench"
    ours = pathlib.Path(build) / "bin/work_queue_run"
    return [Floor(bench / "floor", "cores"), Floor(bench / "floor", "null"), Floor(bench / "floor", "pipes"), Make(), Xargs(), Ninja(), Parallel(),
            WorkQueue99(bench / "work_queue_peer"), Ours(ours, 0), Ours(ours, 2)]
