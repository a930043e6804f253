"""The programs of share/doc/python-training.md, and share/examples/python/elastic_training.py."""

import os
import pathlib
import re
import subprocess
import sys

import pytest

numpy = pytest.importorskip("numpy", reason="SKIP: this Python has no numpy (Debian: python3-numpy)")
SHARE = pathlib.Path(__file__).resolve().parents[2] / "share"
PAGE = (SHARE / "doc" / "python-training.md").read_text()
PROGRAMS = re.findall(r"^## (.*?)\n(?:(?!^## ).*\n)*?```python\n((?:(?!```).*\n)*)```", PAGE, re.MULTILINE)
OUTPUT = {
    "Slices of files": "24 lines",
    "Readers": "1000 records, sum 49995000.0",
    "Several processes": "200 slices",
    "Ranks of an MPI job": None,
    "Checkpoints": "10 slices, 10 different",
    "torch": "40 batches",
    "A pool of worker processes": "\n".join(sorted(f"job {job} ends with {job}.0" for job in range(20))),
}


def test_every_program_is_checked():
    assert [title for title, _ in PROGRAMS] == list(OUTPUT)
    assert PAGE.count("```python") == len(PROGRAMS)


@pytest.mark.parametrize("title, program", PROGRAMS, ids=[title for title, _ in PROGRAMS])
def test_it_runs(title, program, tmp_path):
    if program.startswith("# needs torch"):
        pytest.importorskip("torch", reason="SKIP: no torch (Debian: python3-torch)")
    for day in (1, 2, 3):
        (tmp_path / f"day{day}.csv").write_text("a\nb\nc\nd\n")
    numpy.arange(10_000, dtype=numpy.float32).tofile(tmp_path / "samples.f32")
    (tmp_path / "program.py").write_text(program)
    mpirun = [*os.environ["MPIRUN"].split(), "-n", "3"] if "ranks=True" in program else []
    ended = subprocess.run([*mpirun, sys.executable, "-B", "program.py"], cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    assert ended.returncode == 0 and "Traceback" not in ended.stderr, ended.stderr
    if mpirun:
        lines, slices = (sum(map(int, re.findall(rf"(\d+) {what}", ended.stdout))) for what in ("lines", "slices"))
        assert (lines, slices, ended.stdout.count("\n")) == (120, 60, 3), ended.stdout + ended.stderr
    else:
        assert "\n".join(sorted(ended.stdout.splitlines())) == OUTPUT[title], ended.stderr
    if "checkpoint.pt" in program:  # from which it goes on
        again = subprocess.run([sys.executable, "-B", "program.py"], cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
        assert re.fullmatch(r"\d+ batches\n", again.stdout) and int(again.stdout.split()[0]) < 40, again.stderr


def elastic(folder, *words):
    return subprocess.Popen([sys.executable, "-B", SHARE / "examples" / "python" / "elastic_training.py", *words], cwd=folder,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ)


def took(program):
    said, told = program.communicate(timeout=120)
    assert program.returncode == 0, told
    found = re.fullmatch(r"(\d+) steps: slope ([\d.]+), offset ([\d.]+); this process took (\d+) slices\n", said)
    assert found, said + told
    steps, slope, offset, slices = int(found[1]), float(found[2]), float(found[3]), int(found[4])
    # A step of gradient descent leaves 1 - 2 * 0.3 * E[x * x] of the slope's error and 1 - 2 * 0.3 of the offset's.
    assert abs(slope - 3 * (1 - 0.8**steps)) < 0.1 and abs(offset - 0.5 * (1 - 0.4**steps)) < 0.1, said + told
    return steps, slices


def test_slow_processes_of_the_example_take_fewer_slices(tmp_path):
    first = elastic(tmp_path, "--contact", "contact", "--slow", "0.2", "--workers", "1")
    second = elastic(tmp_path, "--join", "contact", "--workers", "1")
    (slow_steps, slow), (fast_steps, fast) = took(first), took(second)
    assert slow + fast == 120 and slow_steps + fast_steps == 480, (slow, fast)
    assert slow < fast


def test_checkpoints_of_the_example(tmp_path):
    assert took(elastic(tmp_path, "--checkpoint", "saved", "--epochs", "1", "--workers", "1")) == (160, 40)
    assert took(elastic(tmp_path, "--checkpoint", "saved", "--epochs", "2", "--workers", "1")) == (160, 40)
