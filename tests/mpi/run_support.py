"""Common to the tests of work_queue_run: runs of the real program, bells that tasks ring, and the journal on disk.

CMake sets PROGRAM (the program), MPIRUN (a command line) and OPEN_MPI (whose mpirun that is). Every process of a test has a unique mark
(tests/support/marked_processes.py). Nothing here waits for a fixed time: it waits for an event, at most DEADLINE seconds."""

import os
import select
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
import uuid

from run_journal import read_journal, succeeded  # noqa: F401  for the tests

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))

from marked_processes import MARK, command_of, kill_tagged, stat_of, tagged, wait_for_end  # noqa: E402

PROGRAM = os.environ["PROGRAM"]
MPIRUN = shlex.split(os.environ["MPIRUN"])
OPEN_MPI = os.environ.get("OPEN_MPI", "YES") == "YES"  # otherwise MPICH, with hydra
PATIENCE = int(os.environ.get("WQ_PATIENCE", "1"))
DEADLINE = float(os.environ.get("DEADLINE", "60")) * PATIENCE
# Seconds; with 2, one ssh that started slowly made a living worker lost.
LEASE = 4 * PATIENCE


def rank_of(process):
    """The rank number from its launcher's environment; None without one."""
    try:
        with open(f"/proc/{process}/environ", "rb") as file:
            entries = file.read().split(b"\0")
    except OSError:
        return None
    ranks = [int(e.partition(b"=")[2]) for e in entries if e.startswith((b"OMPI_COMM_WORLD_RANK=", b"PMI_RANK="))]
    return ranks[0] if ranks else None


class Bell:
    """A FIFO that tasks write a line to: `echo word > BELL`. A writer never waits."""

    def __init__(self, path):
        os.mkfifo(path)
        self.path = path
        self.descriptor = os.open(path, os.O_RDWR | os.O_NONBLOCK)
        self.partial = b""
        self.rung = []

    def close(self):
        os.close(self.descriptor)

    def take(self, limit):
        """New lines; waits for them at most `limit` seconds."""
        ready, _, _ = select.select([self.descriptor], [], [], max(0, limit))
        if not ready:
            return []
        self.partial += os.read(self.descriptor, 1 << 16)
        *lines, self.partial = self.partial.split(b"\n")
        self.rung += [line.decode() for line in lines]
        return lines

    def settle(self):
        """The total number of lines, once nobody rings any more."""
        while self.take(0):
            pass
        return len(self.rung)

    def wait(self, count=1, word=None, limit=DEADLINE):
        """Waits until `count` lines (with this word, if given) have arrived since the start."""
        end = time.monotonic() + limit
        while sum(1 for line in self.rung if word in (None, line)) < count:
            if time.monotonic() > end:
                raise AssertionError(f"{count} of {word or 'any'} did not come in {limit} s: {self.rung[-5:]}")
            self.take(end - time.monotonic())


class Gate:
    """A FIFO at which tasks wait: `read x < GATE`, until open() lets `count` of them pass."""

    def __init__(self, path):
        os.mkfifo(path)
        self.path = path
        self.descriptor = os.open(path, os.O_RDWR | os.O_NONBLOCK)

    def open(self):
        os.write(self.descriptor, b"\n")

    def close(self):
        os.close(self.descriptor)


def watch_over(mark, folder):
    """Starts a process that kills marked processes and removes the folder when this process ends, however it ends. ctest
    kills a late test with all its descendants, so the process is none of them. It also ends when the returned
    descriptor is closed."""
    lifeline, ours = os.pipe()
    child = os.fork()
    if child != 0:
        os.close(lifeline)
        os.waitpid(child, 0)
        return ours
    try:
        if os.fork() == 0:
            os.setsid()
            os.close(ours)
            nothing = os.open(os.devnull, os.O_RDWR)
            for descriptor in (0, 1, 2):  # ctest waits for the end of output there
                os.dup2(nothing, descriptor)
            os.read(lifeline, 1)
            kill_tagged(mark)
            shutil.rmtree(folder, ignore_errors=True)
    finally:
        os._exit(0)


def apart(*commands):
    """mpirun's arguments for these commands, one per rank, in one job. mpirun's own syntax (":") crashes Debian's Open
    MPI 5.0.7 (open-mpi/ompi#13303)."""
    cases = " ".join(f"{rank}) exec {shlex.join(command)};;" for rank, command in enumerate(commands))
    return ["-n", str(len(commands)), "sh", "-c", f'case "${{OMPI_COMM_WORLD_RANK-$PMI_RANK}}" in {cases} esac']


class Run:
    """One run of the program, alone or under mpirun."""

    def __init__(self, case, words, ranks=0, stdin=None, env=None, cwd=None, before=(), commands=None, stderr=None,
                 program=PROGRAM):
        self.case = case
        self.number = case.count_runs()
        self.out_path = os.path.join(case.folder, f"out.{self.number}")
        self.err_path = os.path.join(case.folder, f"err.{self.number}")
        if commands is not None:
            line = [*MPIRUN, *commands]
        elif ranks:
            line = [*MPIRUN, "-n", str(ranks), program, *words]
        else:
            line = [program, *words]
        self.line = [*before, *line]
        # Temporary files of the program and Open MPI stay in our folder, including those that SIGKILL leaves.
        environment = {**os.environ, MARK: case.mark, "TMPDIR": case.temporary, "OMPI_MCA_btl_vader_backing_directory": case.temporary,
                       **(env or {})}
        with open(self.out_path, "wb") as out, open(self.err_path, "wb") as err:
            self.process = subprocess.Popen(
                self.line, stdin=subprocess.DEVNULL if stdin is None else stdin, stdout=out, stderr=stderr or err,
                cwd=cwd or case.folder, env=environment, start_new_session=True)
        case.runs.append(self)

    def wait(self, limit=DEADLINE):
        try:
            return self.process.wait(limit)
        except subprocess.TimeoutExpired:
            processes = [f"{p} {command_of(p)}" for p in tagged(self.case.mark)]
            self.case.kill_what_is_left()
            self.process.wait()
            raise AssertionError(f"no end in {limit} s: {self}\nprocesses: {processes}") from None

    def wait_at_most(self, seconds):
        """Whether it ended within the limit."""
        try:
            self.process.wait(seconds)
            return True
        except subprocess.TimeoutExpired:
            return False

    def signal(self, number):
        self.process.send_signal(number)

    def kill(self):
        self.process.kill()
        self.process.wait()

    @property
    def code(self):
        return self.process.returncode

    @property
    def out(self):
        with open(self.out_path, encoding="utf-8", errors="replace") as file:
            return file.read().replace("\r\n", "\n")

    @property
    def err(self):
        with open(self.err_path, encoding="utf-8", errors="replace") as file:
            return file.read()

    def wait_for_text(self, text, limit=DEADLINE):
        """Waits until it has printed the text. A growing file notifies nobody, so this polls every 10 ms."""
        end = time.monotonic() + limit
        while text not in self.err + self.out:
            if self.wait_at_most(0.01) or time.monotonic() > end:
                if text in self.err + self.out:
                    return
                raise AssertionError(f"{text!r} did not come: {self}")

    def guards(self):
        """By rank: the guards, which mpirun or MPICH's proxy has started."""
        starters = [self.process.pid, *self.children(self.process.pid)]
        found = {}
        for process in tagged(self.case.mark):
            rank, stat = rank_of(process), stat_of(process)
            if rank is not None and stat and stat[0] in starters and rank_of(stat[0]) is None:
                found[rank] = process
        return found

    def children(self, parent):
        return [p for p in tagged(self.case.mark) if (stat_of(p) or (0,))[0] == parent]

    def ranks(self):
        """By rank: the rank processes."""
        return {rank: children[0] for rank, guard in self.guards().items() if (children := self.children(guard))}

    def __str__(self):
        return f"{' '.join(self.line)} -> {self.code}\n--- stdout\n{self.out}\n--- stderr\n{self.err}\n---"


class Case(unittest.TestCase):
    def setUp(self):
        self.mark = uuid.uuid4().hex
        self.folder = tempfile.mkdtemp(prefix="wq-run-")
        self.lifeline = watch_over(self.mark, self.folder)
        self.temporary = self.path("tmp")
        os.mkdir(self.temporary)
        os.chmod(self.temporary, 0o1777)
        self.runs = []
        self.fifos = []
        self.run_count = 0
        self.addCleanup(self.clean_up)  # also if the rest of a setUp() fails or skips, unlike tearDown()

    def clean_up(self):
        self.kill_what_is_left()
        for run in self.runs:
            run.process.wait()
        for fifo in self.fifos:
            fifo.close()
        shutil.rmtree(self.folder, ignore_errors=True)
        os.close(self.lifeline)

    def count_runs(self):
        self.run_count += 1
        return self.run_count

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, text):
        with open(self.path(name), "wb") as file:
            file.write(text if isinstance(text, bytes) else text.encode())
        return name

    def read(self, name):
        with open(self.path(name), encoding="utf-8", errors="replace") as file:
            return file.read()

    def lines(self, name):
        return self.read(name).splitlines() if os.path.exists(self.path(name)) else []

    def bell(self, name="bell"):
        self.fifos.append(Bell(self.path(name)))
        return self.fifos[-1]

    def gate(self, name="gate"):
        self.fifos.append(Gate(self.path(name)))
        return self.fifos[-1]

    def start(self, *words, **how):
        return Run(self, [str(word) for word in words], **how)

    def run_to_end(self, *words, code=0, limit=DEADLINE, **how):
        run = self.start(*words, **how)
        run.wait(limit)
        if code is not None:
            self.assertEqual(run.code, code, str(run))
        return run

    def kill_what_is_left(self):
        kill_tagged(self.mark)

    def assert_nothing_left(self, limit=DEADLINE):
        """Checks that within `limit` seconds no process of this test and no temporary folder of its tasks is left."""
        end = time.monotonic() + limit
        while left := tagged(self.mark):
            for process in left:
                if not wait_for_end(process, end):
                    self.fail(f"left behind: {[f'{p} {command_of(p)}' for p in left]}")
        self.assertEqual([name for name in os.listdir(self.temporary) if name.startswith("work_queue")], [])

    def status(self, run_dir):
        lines = self.read(os.path.join(run_dir, "status")).splitlines()
        return {key: shlex.split(value)[0] if shlex.split(value) else "" for key, _, value in
                (line.partition("=") for line in lines)}

    def journal(self, run_dir):
        return read_journal(self.path(os.path.join(run_dir, "journal")))


def main():
    unittest.main(argv=[sys.argv[0], "-v", *sys.argv[1:]])
