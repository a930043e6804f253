"""share/examples/python, as users start them."""

import os
import pathlib
import subprocess
import sys

import pytest

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "share" / "examples" / "python"
PROGRAMS = os.path.dirname(os.environ["WORKER"])


def start(name, *words):
    return subprocess.Popen([sys.executable, "-B", EXAMPLES / name, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            env={**os.environ, "PATH": f"{PROGRAMS}:{os.environ['PATH']}"})


@pytest.mark.parametrize("name, told", [("work_queue_example.py", "--port PORT"), ("parameter_study.py", "--points N")])
def test_help(name, told):
    with start(name, "--help") as program:
        said = program.communicate(timeout=60)[0]
    assert program.returncode == 0 and told in said and all(len(line) <= 80 for line in said.splitlines())


def test_files_are_compressed(workers, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    files = ["a", "b", "folder/c d"]
    for name in files:
        (tmp_path / name).write_text(f"content of {name}\n")
    with start("work_queue_example.py", "--port", "0", *files) as program:
        first = program.stdout.readline()
        workers.start_at("localhost", first.split()[3].rstrip("."))
        lines = program.stdout.read().splitlines()
    commands = ["/usr/bin/gzip < a > a.gz", "/usr/bin/gzip < b > b.gz", "/usr/bin/gzip < 'c d' > 'c d.gz'"]
    assert first.startswith("listening on port ") and first.endswith("...\n") and program.returncode == 0
    assert lines[:4] == [f"submitted task: {command}" for command in commands] + ["waiting for tasks to complete..."]
    assert sorted(lines[4:]) == sorted([f"task {n} complete: {command}" for n, command in enumerate(commands, 1)] + ["all tasks complete"])
    for name in files:
        assert subprocess.run(["gzip", "-dc", name + ".gz"], stdout=subprocess.PIPE, check=True).stdout.decode() == f"content of {name}\n"


def test_a_file_that_is_missing(workers, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with start("work_queue_example.py", "--port", "0", "missing") as program:
        workers.start_at("localhost", program.stdout.readline().split()[3].rstrip("."))
        said, told = program.communicate(timeout=60)
    assert program.returncode == 1 and "1 of 1 tasks failed" in said
    assert "task 1 failed: missing: " in told and "Traceback" not in told


@pytest.mark.parametrize("picture, begin", [("map.png", b"\x89PNG"), ("map.svg", b"<?xml")])
def test_a_parameter_study(tmp_path, monkeypatch, picture, begin):
    monkeypatch.chdir(tmp_path)
    with start("parameter_study.py", "--points", "6", "--periods", "5", "--output", picture, "--workers", "1") as program:
        said, told = program.communicate(timeout=120)
    assert program.returncode == 0 and said.startswith(f"{picture}: the largest angle, "), said + told
    assert "6 of 6 frequencies" in told
    assert (tmp_path / picture).read_bytes().startswith(begin) and (tmp_path / picture).stat().st_size > 5000


def test_its_angles(monkeypatch):
    """Small swings have a formula."""
    numpy = pytest.importorskip("numpy", reason="SKIP: this Python has no numpy (Debian: python3-numpy)")
    monkeypatch.syspath_prepend(str(EXAMPLES))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    import parameter_study

    dampings = numpy.array([0.4, 0.5])
    for frequency in (0.5, 1.5):
        expected = parameter_study.DRIVE / numpy.sqrt((1 - frequency**2) ** 2 + (dampings * frequency) ** 2)
        assert numpy.allclose(parameter_study.swing(frequency, dampings, 12), expected, rtol=0.03)
