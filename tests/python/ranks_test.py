"""Ranks of MPI jobs as workers of Python programs, under mpirun."""

import os
import pathlib
import subprocess
import sys

import pytest

MPIRUN = os.environ["MPIRUN"].split()
PROGRAM = str(pathlib.Path(__file__).resolve().parents[2] / "src" / "bindings" / "python" / "work_queue_python")
SUM = """
import ndcctools.work_queue as wq, os, sys
q = wq.WorkQueue(0, say=lambda line: None)
for number in range(30):
    task = wq.PythonTask(lambda x: x * x, number) if number % 3 else wq.Task(f"echo $(({number} * {number}))")
    task.specify_cores(1)
    q.submit(task)
ended = []
while not q.empty():
    ended.append(q.wait(60))
print(sum(int(task.output) for task in ended), len({task.host for task in ended}), *sys.argv)
"""


def job(tmp_path, ranks, script, *words, program=(PROGRAM,), **variables):
    (tmp_path / "manager.py").write_text(script)
    mpirun = [*MPIRUN, "-n", str(ranks)] if ranks else []
    return subprocess.run([*mpirun, *program, "manager.py", *words], cwd=tmp_path, capture_output=True, text=True, timeout=150,
                          env={**os.environ, "TMPDIR": str(tmp_path), **variables}, check=False)


@pytest.mark.parametrize("ranks", [3, 0])
def test_a_script_by_work_queue_python(tmp_path, ranks):
    ended = job(tmp_path, ranks, SUM, "a", "b")
    assert ended.returncode == 0, ended.stderr
    total, hosts, *words = ended.stdout.split()
    assert total == str(sum(x * x for x in range(30))) and 1 <= int(hosts) <= max(ranks, 1)
    assert words == ["manager.py", "a", "b"]


def test_a_script_that_begins_the_ranks(tmp_path):
    ended = job(tmp_path, 3, """
import sys
import work_queue as wq
from work_queue.ranks import Ranks
with Ranks() as ranks, wq.WorkQueue(None, ranks=ranks) as q:
    for number in range(20):
        q.submit(wq.PythonTask(pow, number, 2))
    total = 0
    while not q.empty():
        total += q.wait(60).output
    print(ranks.size, total, q.port)
sys.exit(3)
""", program=(sys.executable, "-B"))
    assert (ended.returncode, ended.stdout) == (3, "3 2470 0\n"), ended.stderr


def test_ranks_map_large_arguments(tmp_path):
    pytest.importorskip("numpy", reason="SKIP: this Python has no numpy (Debian: python3-numpy)")
    ended = job(tmp_path, 3, """
import numpy
import work_queue as wq
q = wq.WorkQueue(0, say=lambda line: None)
def look(array):
    array[0] += 1
    with open("/proc/self/maps") as maps:
        return float(array.sum()), "memfd:work_queue" in maps.read()
def tasks(array):
    for _ in range(12):
        q.submit(wq.PythonTask(look, array))
    return [q.wait(60) for _ in range(12)]
told = {task.host for task in tasks(numpy.ones(2))}  # each with its first task
ended = tasks(numpy.ones(1_000_000))
print({task.output[0] for task in ended}, {task.output[1] for task in ended if task.host in told})
""")
    assert (ended.returncode, ended.stdout) == (0, "{1000001.0} {True}\n"), ended.stderr


def test_python_knows_of_the_fork(tmp_path):
    """Python 3.13 aborts if only the end of a fork is told."""
    script = """
import os
calls = []
os.register_at_fork(before=lambda: calls.append("before"), after_in_child=lambda: calls.append("child"),
                    after_in_parent=lambda: calls.append("parent"))
from work_queue.ranks import Ranks
with Ranks() as ranks:
    print(*calls)
"""
    for ranks, process in ((1, "child"), (0, "parent")):
        ended = job(tmp_path, ranks, script, program=(sys.executable, "-B"), WORK_QUEUE_RANKS="1")
        assert (ended.returncode, ended.stdout) == (0, f"before {process}\n"), ended.stderr


def test_a_queue_that_could_not_start_leaves_the_ranks(tmp_path):
    """Ports that are taken, passwords that cannot be read, logs that cannot be written."""
    ended = job(tmp_path, 2, """
import socket
import work_queue as wq

def refused(start):
    try:
        start()
    except RuntimeError:
        return True

with socket.create_server(("", 0)) as taken:
    assert refused(lambda: wq.WorkQueue(taken.getsockname()[1]))
assert refused(lambda: wq.WorkQueue(0, password_file="missing"))
kept = wq.WorkQueue(0, stats_log="no/such/folder/log")
assert refused(kept.hungry)
q = wq.WorkQueue(0, say=lambda line: None)
q.submit(wq.Task("echo ran"))
print(q.wait(60).output, len(wq.WorkQueue(0)._tasks()), end="")
""")
    assert (ended.returncode, ended.stdout) == (0, "ran\n 0"), ended.stderr


def test_mpi4py_may_have_started_mpi(tmp_path):
    pytest.importorskip("mpi4py", reason="SKIP: no mpi4py here (Debian: python3-mpi4py)")
    ended = job(tmp_path, 2, """
from mpi4py import MPI
import work_queue as wq
from work_queue.ranks import Ranks
with Ranks() as ranks, wq.WorkQueue(None, ranks=ranks) as q:
    for number in range(10):
        q.submit(wq.PythonTask(pow, number, 2))
    total = 0
    while not q.empty():
        total += q.wait(60).output
    print(MPI.COMM_WORLD.size, total)
""", program=(sys.executable, "-B"))
    assert (ended.returncode, ended.stdout) == (0, "2 285\n"), ended.stderr


def test_a_lost_rank_ends_nothing(tmp_path):
    ended = job(tmp_path, 3, """
import os, signal
import work_queue as wq

def parent(process):
    with open(f"/proc/{process}/stat") as stat:
        return int(stat.read().rpartition(")")[2].split()[1])

def kill_a_rank(mark):
    # Above a call: the interpreter, the launcher, the process that forks launchers, the rank.
    if os.environ.get("WORKERID") != "0":
        try:
            os.close(os.open(mark, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return 1
        process = os.getpid()
        for _ in range(4):
            process = parent(process)
        os.kill(process, signal.SIGKILL)
        signal.pause()
    return 1

q = wq.WorkQueue(0, say=lambda line: None)
while q.hungry() and q.stats.workers_connected < 3:  # rank 0 alone could do all before others come
    pass
mark = os.path.abspath("mark")
for number in range(60):
    task = wq.PythonTask(kill_a_rank, mark)
    task.specify_cores(1)
    q.submit(task)
total = 0
while not q.empty():
    total += q.wait(60).output
print(total, os.path.exists(mark), q.stats.workers_lost)
""")
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout == "60 True 1\n", ended.stdout + ended.stderr


def test_the_folder_of_the_script_in_the_path(tmp_path):
    script = "import sys\nprint(sys.path[0])"
    assert job(tmp_path, 0, script).stdout.strip() == str(tmp_path)
    if sys.version_info >= (3, 11):  # then nothing of Python's own path may be lost
        safe = job(tmp_path, 0, "import sys\nprint(sys.path[0])", PYTHONSAFEPATH="1", PYTHONPATH=os.environ["PYTHONPATH"] + ":/kept")
        assert safe.stdout.strip() == os.environ["PYTHONPATH"].partition(":")[0], safe.stderr


def test_calls_find_modules_beside_the_script(tmp_path):
    study = tmp_path / "study"
    study.mkdir()
    (study / "beside.py").write_text("def square(x):\n    return x * x\n")
    (study / "manager.py").write_text("import work_queue as wq, beside\nprint(wq.WorkQueue(None).map(beside.square, range(4)))\n")
    ended = subprocess.run([*MPIRUN, "-n", "2", PROGRAM, "study/manager.py"], cwd=tmp_path, capture_output=True, text=True, timeout=150,
                           env={**os.environ, "TMPDIR": str(tmp_path)}, check=False)
    assert ended.stdout == "[0, 1, 4, 9]\n", ended.stderr


def test_the_interpreter_of_a_virtual_environment(tmp_path):
    (tmp_path / "bin").mkdir()
    (tmp_path / "pyvenv.cfg").touch()
    (tmp_path / "bin" / "work_queue_python").write_bytes(pathlib.Path(PROGRAM).read_bytes())
    (tmp_path / "bin" / "python3").write_text("#!/bin/sh\necho mine\n")
    for file in (tmp_path / "bin").iterdir():
        file.chmod(0o755)
    environment = {name: value for name, value in os.environ.items() if name != "WORK_QUEUE_PYTHON"}
    for more, expected in (({}, "mine\n"), ({"WORK_QUEUE_PYTHON": "echo"}, None)):
        ended = subprocess.run([tmp_path / "bin" / "work_queue_python", "--version"], env={**environment, **more},
                               capture_output=True, text=True, check=False)
        assert ended.stdout == expected or (expected is None and ended.stdout.startswith("-c \nimport sys")), ended.stderr


def test_a_traceback_begins_in_the_script(tmp_path):
    ended = job(tmp_path, 0, "def fail():\n    return {}[1]\n\nfail()\n")
    assert (ended.returncode, ended.stderr.splitlines()[:2]) == (1, ["Traceback (most recent call last):", '  File "manager.py", line 4, in <module>'])
    assert ended.stderr.endswith("KeyError: 1\n")
    ended = job(tmp_path, 0, "x = = 1\n")
    assert ended.returncode == 1 and ended.stderr.startswith('  File "manager.py", line 1\n') and "SyntaxError" in ended.stderr
    app = tmp_path / "app"
    app.mkdir()
    (app / "__main__.py").write_text("1 / 0\n")
    ended = subprocess.run([PROGRAM, "app"], cwd=tmp_path, capture_output=True, text=True, timeout=150, check=False,
                           env={**os.environ, "TMPDIR": str(tmp_path)})
    assert ended.returncode == 1 and "__main__.py" in ended.stderr and "ZeroDivisionError" in ended.stderr


def test_a_second_queue_has_no_ranks(tmp_path):
    ended = job(tmp_path, 2, """
import work_queue as wq
for number in range(2):
    with wq.WorkQueue(None) as q:
        print(q.map(abs, [-1, 2]), flush=True)
""")
    assert ended.stdout == "[1, 2]\n" and "RuntimeError: port is None and there are no free ranks" in ended.stderr


def test_help_and_errors():
    def said(*words):
        ended = subprocess.run([PROGRAM, *words], capture_output=True, text=True, check=False)
        return ended.returncode, ended.stdout + ended.stderr

    assert said("--help")[1].startswith("Usage: work_queue_python")
    assert said() == (64, "work_queue_python: name a script; see --help\n")
    assert said("no-such-file") == (65, "work_queue_python: 'no-such-file' cannot be read\n")
    assert said("--odd")[0] == 64


TERMINATED = """
import multiprocessing, os, pathlib, signal, subprocess, sys, time
import work_queue as wq

def manage(q):
    child = multiprocessing.get_context("fork").Process(target=signal.pause)
    child.start()
    child.terminate()  # is no Ctrl-C there
    child.join()
    q.submit(wq.Task("sleep 100"))
    try:
        q.wait(0.01)
        os.kill(os.getpid(), signal.SIGTERM)
        q.wait(100)
    except CAUGHT:
        os.kill(os.getpid(), signal.SIGTERM)  # mpirun and Slurm may both send one
        q.wait(0.2)
        save = subprocess.Popen(["sleep", "1000"])
        save.terminate()
        late = multiprocessing.get_context("fork").Process(target=signal.pause)
        late.start()
        late.terminate()
        late.join()
        print("saved", child.exitcode, late.exitcode, save.wait(), flush=True)
    finally:
        print("ended", flush=True)
"""


@pytest.mark.parametrize("kind", ["script", "ranks", "mpi4py"])
def test_sigterm_is_ctrl_c_in_a_script(tmp_path, kind):
    """That is what mpirun sends at Ctrl-C."""
    if kind == "mpi4py":
        pytest.importorskip("mpi4py", reason="SKIP: no mpi4py here (Debian: python3-mpi4py)")
    script = TERMINATED.replace("CAUGHT", "KeyboardInterrupt")
    if kind == "script":
        script += "manage(wq.WorkQueue(0, say=lambda line: None))\n"
    else:
        script = "from mpi4py import MPI\n" * (kind == "mpi4py") + script + """
from work_queue.ranks import Ranks
with Ranks() as ranks, wq.WorkQueue(None, ranks=ranks) as q:
    manage(q)
"""
    ended = job(tmp_path, 2, script, program=(PROGRAM,) if kind == "script" else (sys.executable, "-B"))
    assert (ended.returncode, ended.stdout) == (0, "saved -15 -15 -15\nended\n"), ended.stderr
    assert "Traceback" not in ended.stderr


def test_sigterm_that_a_script_does_not_catch(tmp_path):
    script = TERMINATED.replace("CAUGHT", "ValueError") + "manage(wq.WorkQueue(0, say=lambda line: None))\n"
    ended = job(tmp_path, 2, script)
    assert (ended.returncode, ended.stdout) == (75, "ended\n"), ended.stderr
    assert "KeyboardInterrupt" in ended.stderr and "rank 0 was killed by signal 2\n" in ended.stderr, ended.stderr


def test_sigterm_on_a_rank_of_slices(tmp_path):
    ended = job(tmp_path, 2, """
import os, signal, sys
from work_queue.ranks import SliceRanks
with SliceRanks() as ranks:
    if ranks.rank == 1:
        try:
            os.kill(os.getpid(), signal.SIGTERM)
            signal.pause()
        except KeyboardInterrupt:
            print("saved", flush=True)
""", program=(sys.executable, "-B"))
    assert (ended.returncode, ended.stdout) == (0, "saved\n"), ended.stderr
