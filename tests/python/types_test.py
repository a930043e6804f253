"""Type annotations: of the package itself, as programs see them, and of the C++ module."""

import importlib.util
import os
import pathlib
import re
import subprocess
import sys

import pytest

import work_queue
from work_queue import _core

ROOT = pathlib.Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "bindings" / "python"
PACKAGE = pathlib.Path(work_queue.__file__).parents[1]

GOOD = '''
from __future__ import annotations

import ndcctools.work_queue as wq


def area(width: float, height: float) -> float:
    return width * height


with wq.WorkQueue(port=(9000, 9100), name="project", ssl=("key.pem", "cert.pem")) as q:
    t = wq.Task("gzip < a > a.gz")
    t.specify_input_file("a", cache=True)
    t.specify_file("a.gz", type=wq.WORK_QUEUE_OUTPUT, flags=wq.WORK_QUEUE_WATCH)
    t.specify_cores(0.5)
    taskid: int = q.submit(t)
    q.submit(wq.PythonTask(area, 2.0, height=3))
    q.specify_category_max_resources("a", {"cores": 2, "memory": 1024})
    q.specify_category_mode("a", q.WORK_QUEUE_ALLOCATION_MODE_MAX_THROUGHPUT)
    workers = wq.Factory("local", q)
    workers.cores = 4
    with workers:
        while not q.empty():
            ended = q.wait(5)
            if ended:
                memory: float = ended.resources_measured.memory
                print(ended.id, ended.output, memory, q.stats.workers_busy + 1, ended.hostname)
'''

# The oldest Python that may be used, so that what its library had not is an error. Heavy packages that ours only passes on;
# torch alone takes minutes.
OLDEST = re.search(r'requires-python = ">=([\d.]+)"', (ROOT / "pyproject.toml").read_text()).group(1)
SETTINGS = f"""[mypy]
python_version = {OLDEST}
ignore_missing_imports = True
disallow_untyped_defs = True
disallow_incomplete_defs = True
[mypy-work_queue,ndcctools.*]
implicit_reexport = False
[mypy-numpy.*,pandas.*,h5py.*,joblib.*,torch.*,dask.*,tqdm.*,mpi4py.*,cloudpickle.*]
follow_imports = skip
follow_imports_for_stubs = True
"""

# Each line is wrong, and the message names the reason.
BAD = {
    'wq.WorkQueue("9123")': "WorkQueue",
    'q.submit("echo")': "submit",
    "q.wait(5).output": "has no attribute",
    't.specify_cores("2")': "specify_cores",
    "t.specify_core(2)": "specify_core",
    't.specify_file("a", kind=wq.WORK_QUEUE_OUTPUT)': "kind",
    'q.specify_category_mode("a", "max")': "specify_category_mode",
    "x: str = q.stats.tasks_done": "str",
    "q.stats.tasks_finished": "tasks_finished",
    "q.stats.tasks_done = 0": "read-only",
    "wq.WORK_QUEUE_OUT": "WORK_QUEUE_OUT",
    "wq.PythonTask(3)": "PythonTask",
}


@pytest.fixture(scope="module")
def mypy(tmp_path_factory):
    """Runs mypy in a folder of its own, with one cache for all; returns its lines and exit code."""
    if importlib.util.find_spec("mypy") is None:
        pytest.skip("SKIP: this Python has no mypy (Debian: mypy)")
    folder = tmp_path_factory.mktemp("types")
    (folder / "mypy.ini").write_text(SETTINGS)

    def run(*words, files=None):
        for name, text in (files or {}).items():
            (folder / name).write_text(text)
        ended = subprocess.run([sys.executable, "-m", "mypy", "--cache-dir", folder / "cache", *words],
                               cwd=folder, env={**os.environ, "MYPYPATH": str(PACKAGE)}, capture_output=True, text=True, check=False)
        return ended.stdout + ended.stderr, ended.returncode

    return run


def test_the_package(mypy):
    said, code = mypy("-p", "work_queue", "-p", "ndcctools")
    assert code == 0, said


def test_a_program(mypy):
    said, code = mypy("good.py", files={"good.py": GOOD})
    assert code == 0, said


def test_wrong_calls(mypy):
    head = "import work_queue as wq\nq = wq.WorkQueue(0)\nt = wq.Task('true')\n"
    said, code = mypy("bad.py", files={"bad.py": head + "\n".join(BAD) + "\n"})
    assert code == 1, said
    for number, (line, reason) in enumerate(BAD.items(), 4):
        assert any(f"bad.py:{number}: error" in one and reason in one for one in said.splitlines()), f"{line}\n{said}"


def test_what_runs_at_workers(mypy):
    """It has no types, so only what its Python's library lacks is looked for; that such things are found is seen, too."""
    interpreters = ROOT / "src" / "node" / "calls"
    names = re.search(r"wq_read_texts\(script (.*)\)", (interpreters / "CMakeLists.txt").read_text())[1].split()
    parts = [interpreters / name for name in names]
    serverize = ROOT / "src" / "functions" / "coprocess" / "serverize"
    programs = {
        "interpreter.py": "import socket\nlink = socket.socket()\n" + "".join(part.read_text() for part in parts),
        "coprocess.py": re.sub("@[A-Z]+@", '""', (serverize / "coprocess_template.py").read_text()),
        "serverize.py": (serverize / "work_queue_serverize").read_text(),
        "wheel.py": (SOURCE / "packaging" / "wheel.py").read_text(),
        "newer.py": "import itertools\nitertools.pairwise([])\nzip([], [], strict=True)\n",
    }
    said, _ = mypy("--check-untyped-defs", "--show-error-codes", *programs, files=programs)
    lacking = [line for line in said.splitlines() if re.search(r"\[(attr-defined|call-arg|call-overload|name-defined|syntax)\]$", line)]
    of_newer = [line for line in lacking if line.startswith("newer.py")]
    assert len({line.split(":")[1] for line in of_newer}) == 2, said
    # A variable of a module that is looked up by its name.
    assert [line for line in lacking if line not in of_newer and '"tempdir"' not in line] == [], said


def test_the_stub_is_what_the_module_says(monkeypatch):
    monkeypatch.syspath_prepend(str(SOURCE / "packaging"))
    import stub

    text = stub.FILE.read_text()
    by = re.search(r"by pybind11 ([\d.]+)\.\n", text)[1]
    if by != _core._pybind11:
        pytest.skip(f"SKIP: the stub is written by pybind11 {by}, the module is made by {_core._pybind11}")
    assert text == stub.text_of(_core), f"PYTHONPATH={PACKAGE} {sys.executable} {stub.__file__}  # writes it again"


def test_programs_find_the_types():
    folder = pathlib.Path(work_queue.__file__).parent
    assert (folder / "py.typed").exists() and (folder / "_core.pyi").exists()
