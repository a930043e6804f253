"""The package as users get it: installed by CMake under a prefix, and as a wheel."""

import os
import pathlib
import shutil
import subprocess
import sys
import zipfile

import pytest

import work_queue
from conftest import python

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = os.environ["BUILD"]
PROGRAM = """
import ndcctools.work_queue as wq, sys
print(wq.__version__, wq.WorkQueue(0).port > 0, wq.__file__)
"""
FACTORY = """
import work_queue as wq
q = wq.WorkQueue(0)
q.submit(wq.Task("echo ran"))
workers = wq.Factory("local", q)
workers.max_workers = 1
with workers:
    print(q.wait(60).output, end="")
"""


def imported_from(folder):
    ended = python(PROGRAM, PYTHONPATH=str(folder))
    assert ended.returncode == 0, ended.stderr
    version, listens, file = ended.stdout.split()
    assert listens == "True" and file.startswith(str(folder))
    return version


def test_installed_under_a_prefix(tmp_path):
    script = f"set(CMAKE_INSTALL_PREFIX {tmp_path})\ninclude({BUILD}/src/bindings/python/cmake_install.cmake)\n"
    (tmp_path / "install.cmake").write_text(script)
    subprocess.run(["cmake", "-P", tmp_path / "install.cmake"], check=True, stdout=subprocess.DEVNULL)
    folder = tmp_path / "lib" / f"python{sys.version_info[0]}.{sys.version_info[1]}" / "site-packages"
    assert (folder / "work_queue" / "py.typed").exists()
    imported_from(folder)


def test_the_wheel(tmp_path):
    program = f"import sys\nsys.path.insert(0, {str(ROOT / 'src/bindings/python/packaging')!r})\nimport wheel\nprint(wheel.build_wheel({str(tmp_path)!r}))"
    ended = python(program, WORK_QUEUE_BUILD=BUILD)
    assert ended.returncode == 0, ended.stderr
    file = tmp_path / ended.stdout.strip()
    with zipfile.ZipFile(file) as wheel:
        wheel.extractall(tmp_path / "here")
        names = wheel.namelist()
    version = imported_from(tmp_path / "here")
    assert f"work_queue-{version}.data/scripts/work_queue_worker" in names
    assert not any(name.startswith("packaging/") for name in names), "there is another package of this name"
    assert {"scripts/work_queue_serverize", "scripts/slurm_submit_workers", "data/share/work_queue/coprocess_template.py",
            "data/libexec/work_queue/local/driver"} <= {name.partition(".data/")[2] for name in names}
    assert f"\nVersion: {version}\n" in (tmp_path / "here" / f"work_queue-{version}.dist-info" / "METADATA").read_text()


def test_pip_installs_the_wheel(tmp_path):
    try:
        import pip  # noqa: F401
    except ImportError:
        pytest.skip("SKIP: this Python has no pip (Debian: python3-pip)")
    target = tmp_path / "target"
    ended = subprocess.run([sys.executable, "-m", "pip", "install", "-q", "--no-index", "--no-deps", "--target", target, ROOT],
                           env={**os.environ, "WORK_QUEUE_BUILD": BUILD, "PIP_NO_CACHE_DIR": "1"}, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    imported_from(target)

    def said(command, *words):
        ended = subprocess.run([target / "bin" / command, *words], capture_output=True, text=True, cwd=tmp_path, check=False,
                               env={name: value for name, value in os.environ.items() if name != "WORK_QUEUE_SCRIPTS"})
        assert ended.returncode == 0, ended.stderr
        return ended.stdout

    said("work_queue_worker", "--version")
    assert "work_queue_worker --from-factory" in said("work_queue_factory", "--dry-run", "-T", "local", "localhost", "9123")
    assert said("slurm_submit_workers", "--help").startswith("Usage: slurm_submit_workers")
    (tmp_path / "functions.py").write_text("def half(x):\n    return x / 2\n")
    said("work_queue_serverize", "--src", "functions.py", "--function", "half", "--dest", "coprocess.py")
    ended = python(FACTORY, PYTHONPATH=str(target), PATH="/usr/bin:/bin", cwd=tmp_path)
    assert (ended.returncode, ended.stdout) == (0, "ran\n"), ended.stderr


def test_a_build_without_the_module_of_ranks(tmp_path):
    shutil.copytree(pathlib.Path(work_queue.__file__).parent, tmp_path / "work_queue",
                    ignore=lambda _, names: [name for name in names if name.startswith("_core_mpi")])
    ended = python("import work_queue", PYTHONPATH=str(tmp_path), WORK_QUEUE_RANKS="1")
    assert ended.stderr.endswith(f"ImportError: {tmp_path}/work_queue has no module _core_mpi, which ranks need: build the "
                                 "target wq_python_core_mpi, too\n")


def test_an_interpreter_that_the_package_was_not_built_for(tmp_path):
    shutil.copytree(pathlib.Path(work_queue.__file__).parent, tmp_path / "work_queue",
                    ignore=lambda _, names: [name for name in names if name.startswith("_core.") and name.endswith(".so")])
    last = python("import work_queue", PYTHONPATH=str(tmp_path)).stderr.splitlines()[-1]
    assert last.endswith("there is no compiled module at all: build the target wq_python_core") and sys.executable in last
    (tmp_path / "work_queue" / "_core.cpython-38-x86_64-linux-gnu.so").touch()
    last = python("import work_queue", PYTHONPATH=str(tmp_path)).stderr.splitlines()[-1]
    assert last.endswith("it was built for Python 3.8, by its file _core.cpython-38-x86_64-linux-gnu.so")


def test_import_is_quick():
    """No heavy module comes with the package; how long that takes is measured by the benchmarks."""
    ended = python("import sys, work_queue\nprint(*[name for name in sys.modules if name.split('.')[0] in "
                   "('numpy', 'torch', 'mpi4py', 'asyncio', 'multiprocessing', 'tqdm', 'dask')])")
    assert ended.stdout == "\n", ended.stdout + ended.stderr


@pytest.mark.parametrize("command", ["work_queue_serverize", "poncho_package_serverize", "work_queue_python"])
def test_commands_of_python_lie_beside_the_others_in_the_build_folder(command, tmp_path):
    commands = os.path.dirname(os.environ["WORKER"])
    said = subprocess.run([command, "--help"], env={**os.environ, "PATH": f"{commands}:{os.environ['PATH']}"}, capture_output=True, text=True,
                          check=True)
    assert said.stdout.startswith(f"Usage: {command} ")
    if "serverize" in command:
        (tmp_path / "f.py").write_text("def f():\n    return 1\n")
        subprocess.run([f"{commands}/{command}", "--src", "f.py", "--function", "f", "--dest", "c.py"], cwd=tmp_path, check=True)
        assert (tmp_path / "c.py").read_text().startswith("#!")
