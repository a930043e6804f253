"""share/examples/python, as users start them."""

import os
import pathlib
import subprocess
import sys

import pytest

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "share" / "examples" / "python"
PYTHON_OF_RANKS = str(EXAMPLES.parents[2] / "src" / "bindings" / "python" / "work_queue_python")
PROGRAMS = os.path.dirname(os.environ["WORKER"])


def start(name, *words):
    return subprocess.Popen([sys.executable, "-B", EXAMPLES / name, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            env={**os.environ, "PATH": f"{PROGRAMS}:{os.environ['PATH']}"})


@pytest.mark.parametrize("name, told", [("work_queue_example.py", "--port PORT"), ("parameter_study.py", "--points N"),
                                        ("hyper_parameters.py", "--points N")])
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


@pytest.mark.parametrize("ranks, matplotlib", [(3, True), (0, False)])
def test_hyper_parameters_over_ranks(tmp_path, ranks, matplotlib):
    pytest.importorskip("numpy", reason="SKIP: this Python has no numpy (Debian: python3-numpy)")
    if matplotlib:
        pytest.importorskip("matplotlib", reason="SKIP: this Python has no matplotlib (Debian: python3-matplotlib)")
    else:
        (tmp_path / "matplotlib.py").write_text("raise ImportError")
    mpirun = [*os.environ["MPIRUN"].split(), "-n", str(ranks)] if ranks else []
    words = ["--points", "4", "--epochs", "10", "--plot", "map.svg"]
    path = f"{tmp_path}:{os.environ['PYTHONPATH']}"
    ended = subprocess.run([*mpirun, PYTHON_OF_RANKS, EXAMPLES / "hyper_parameters.py", *words], cwd=tmp_path, timeout=150, check=False,
                           capture_output=True, text=True, env={**os.environ, "TMPDIR": str(tmp_path), "PYTHONPATH": path})
    assert ended.returncode == 0, ended.stderr
    head, *best, alike, pairs, plot = ended.stdout.splitlines()
    assert head.split() == ["rate", "regularisation", "error"] and len(best) == 5
    table = [[float(value) for value in row.split(",")] for row in (tmp_path / "errors.csv").read_text().splitlines()[1:]]
    diverged = sum(row[2] == float("inf") for row in table)
    assert len(table) == 16 + 25 - 1 and 0 < diverged < 20
    assert pairs == f"errors.csv: 40 pairs, {diverged} of them diverged"
    assert [row[2] for row in table] == sorted(row[2] for row in table)
    near = sum(row[2] < table[0][2] + table[0][3] for row in table)
    assert alike == f"{near} pairs are within one standard error of the best"
    assert table[0][2] < 7  # 4 is the noise of the samples, 9 what a model without weights has
    if matplotlib:
        assert plot == "map.svg" and "learning rate" in (tmp_path / "map.svg").read_text()
    else:
        assert plot.startswith("no plot: matplotlib is missing") and not (tmp_path / "map.svg").exists()


def test_the_errors_of_its_model(monkeypatch):
    """Its weights have a formula, too."""
    numpy = pytest.importorskip("numpy", reason="SKIP: this Python has no numpy (Debian: python3-numpy)")
    monkeypatch.syspath_prepend(str(EXAMPLES))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    import hyper_parameters

    x, y = hyper_parameters.make_samples(100, 8)
    for regularisation in (0.1, 1.0):
        expected = numpy.linalg.solve(x.T @ x / 100 + regularisation * numpy.eye(8), x.T @ y / 100)
        assert numpy.allclose(hyper_parameters.train(x, y, 0.002, regularisation, 300), expected, atol=0.03)
    assert hyper_parameters.validate(x, y, 3.0, 0.1, 20) == [numpy.inf] * 5


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
