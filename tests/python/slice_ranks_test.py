"""Slices that the ranks of an MPI job share, under mpirun."""

import json
import os
import subprocess
import sys

import pytest
from ranks_test import MPIRUN, PROGRAM

# Each rank notes what it takes, as a line: (rank, position).
BEGIN = """
import json, os, sys
from work_queue.ranks import SliceRanks
from work_queue.slices import WorkQueue

def note(rank, slice):
    os.write(1, (json.dumps([rank, slice.position]) + "\\n").encode())

NAMES = [f"w{number}" for number in range(30)]
"""


def job(tmp_path, ranks, script, program=(sys.executable, "-B"), code=0):
    """What it printed, by lines, and what it told on stderr."""
    (tmp_path / "train.py").write_text(BEGIN + script)
    mpirun = [*MPIRUN, "-n", str(ranks)] if ranks else []
    ended = subprocess.run([*mpirun, *program, "train.py"], cwd=tmp_path, capture_output=True, text=True, timeout=150,
                           env={**os.environ, "TMPDIR": str(tmp_path)}, check=False)
    assert code is None or ended.returncode == code, ended.stdout + ended.stderr
    assert "Traceback" not in ended.stderr or code != 0, ended.stderr
    return ended.stdout.splitlines(), ended.stderr


def positions(lines):
    return sorted(json.loads(line)[1] for line in lines)


@pytest.mark.parametrize("ranks, first, last", [(3, "", ""), (4, "from mpi4py import MPI", ""), (3, "", "from mpi4py import MPI"), (0, "", "")],
                         ids=["alone", "after_mpi4py", "before_mpi4py", "without_mpirun"])
def test_each_slice_once_over_all_ranks(tmp_path, ranks, first, last):
    if first or last:
        pytest.importorskip("mpi4py", reason="SKIP: no mpi4py here (Debian: python3-mpi4py)")
    lines, _ = job(tmp_path, ranks, f"""
{first}
with WorkQueue(NAMES, num_epochs=2, seed=4, ranks=True) as q:
    {last or "pass"}
    for slice in q:
        note(q.rank, slice)
    if "MPI" in globals():
        assert MPI.COMM_WORLD.allreduce(q.taken) == 60
# Another one after it, and one beside that.
train, check = WorkQueue(NAMES, seed=4, ranks=True), WorkQueue(["a", "b"], ranks=True, name="check")
for queue, shift in (train, 60), (check, 90):
    for slice in queue:
        slice.position += shift
        note(queue.rank, slice)
""")
    assert positions(lines) == list(range(92))
    assert {json.loads(line)[0] for line in lines} <= set(range(max(ranks, 1)))


def test_a_session_knows_its_ranks(tmp_path):
    (tmp_path / "a.txt").write_text("line\n" * 100)
    lines, _ = job(tmp_path, 3, """
with SliceRanks() as ranks, WorkQueue(["a.txt"], num_slices=4 * ranks.size, lines=True, ranks=ranks) as q:
    os.write(1, (json.dumps([ranks.rank == q.rank, len(q)]) + "\\n").encode())
    q.wait() if ranks.rank == 0 else list(q)
""")
    assert lines == ["[true, 12]"] * 3


def test_a_lost_rank_loses_no_slice(tmp_path):
    for rank in 0, 1:
        os.mkfifo(tmp_path / f"pipe.{rank}")
    lines, told = job(tmp_path, 3, """
import signal
with WorkQueue(NAMES, num_epochs=4, ranks=True) as q:
    for slice in q:
        if q.rank == 2:
            pipes = [open(f"pipe.{rank}", "w") for rank in (0, 1)]
            os.kill(os.getpid(), signal.SIGKILL)
        if q.taken == 1:
            open(f"pipe.{q.rank}").read()  # until the other is killed
        note(q.rank, slice)
""")
    assert positions(lines) == list(range(120)) and "rank 2 was lost" in told


def test_checkpoints_of_rank_0(tmp_path):
    first, _ = job(tmp_path, 3, """
q = WorkQueue(NAMES, num_epochs=2, seed=4, ranks=True)
def take_on_rank_0(count):  # the others have none until all make the queue anew
    for _ in range(count if q.rank == 0 else 0):
        note(0, q.take())
        q.commit()
take_on_rank_0(20)
state = q.state_dict()
assert (state["slices"] is None) == (q.rank > 0)
q.load_state_dict(state)
take_on_rank_0(10)
if q.rank == 0:
    q.save("saved.h5")
else:
    try:
        q.save("other.h5")
    except RuntimeError as error:
        os.write(1, f"{error}\\n".encode())  # print() takes two writes where PYTHONUNBUFFERED is set
""")
    assert [line for line in first if "[" not in line] == ["work_queue: save() is for rank 0"] * 2
    first = [line for line in first if "[" in line]
    rest, _ = job(tmp_path, 4, """
with WorkQueue(NAMES, num_epochs=2, seed=4, restore="saved.h5" if int(os.environ.get("OMPI_COMM_WORLD_RANK", 0)) == 0 else None, ranks=True) as q:
    for slice in q:
        note(q.rank, slice)
""")
    assert len(first) == 30 and positions(first + rest) == list(range(60))


@pytest.mark.parametrize("queue, told", [
    ("WorkQueue(NAMES[ranks.rank:], ranks=ranks)", "rank 1 has other works or options than rank 0"),
    ("WorkQueue(NAMES, seed=ranks.rank // 2, ranks=True)", "rank 2 has other works or options than rank 0"),
    ("WorkQueue(['no/such'], ranks=ranks)", "cannot read no/such: No such file or directory"),
    ("WorkQueue(NAMES, records=lambda work: 1 // (ranks.rank < 2), num_slices=30, ranks=ranks)",
     "rank 2: ZeroDivisionError: integer division or modulo by zero"),
])
def test_ranks_that_disagree(tmp_path, queue, told):
    lines, _ = job(tmp_path, 3, f"""
ranks = SliceRanks()
try:
    {queue}
except RuntimeError as error:
    os.write(1, (str(error) + "\\n").encode())
""")
    assert lines == [told] * 3


@pytest.mark.parametrize("first", ["", "from mpi4py import MPI"], ids=["alone", "mpi4py"])
def test_an_exception_of_a_rank_ends_the_job(tmp_path, first):
    """The others are in the constructor, and would wait for ever."""
    if first:
        pytest.importorskip("mpi4py", reason="SKIP: no mpi4py here (Debian: python3-mpi4py)")
    _, told = job(tmp_path, 3, f"""
{first}
ranks = SliceRanks()
WorkQueue(NAMES, ranks=ranks, delivery="odd" if ranks.rank == 1 else "exactly_once")
""", code=1)
    assert "ValueError: delivery is 'odd'" in told


def test_ranks_that_wait_say_so(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    _, told = job(tmp_path, 2, """
from work_queue import ranks as ranks_module
ranks_module._PATIENCE = 0.01
ranks = SliceRanks()
if ranks.rank == 1:
    open("pipe").read()  # until the other has said so
else:
    waits = ranks_module._waits
    ranks_module._waits = lambda *words: (waits(*words), open("pipe", "w").close())
WorkQueue(NAMES, ranks=ranks).close()
""")
    assert "work_queue: rank 0 has waited 0.01 s for all ranks to make this queue of slices" in told


def test_errors_of_programs(tmp_path):
    lines, _ = job(tmp_path, 2, """
import threading
goes = threading.Event()
threading.Thread(target=goes.wait, daemon=True).start()
try:
    SliceRanks()
except RuntimeError as error:
    os.write(1, (str(error) + "\\n").encode())
""")
    assert lines == ["begin the ranks before the program's threads"] * 2
    lines, _ = job(tmp_path, 2, """
try:
    WorkQueue(NAMES, ranks=True)
except RuntimeError as error:
    print(error)
""", program=(PROGRAM,))
    assert lines == ["this process has begun its ranks before, as workers of a queue of tasks"]
    lines, _ = job(tmp_path, 0, """
from work_queue.ranks import Ranks
for ranks in Ranks.__new__(Ranks), 3:
    try:
        WorkQueue(NAMES, ranks=ranks)
    except TypeError as error:
        print(error)
""")
    assert lines == ["ranks is True or work_queue.ranks.SliceRanks(); Ranks() are workers of a queue of tasks"] * 2
