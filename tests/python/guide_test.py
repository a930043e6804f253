"""The programs of share/doc/python.md and the README's, each with a worker or the workers that it starts itself."""

import os
import pathlib
import re
import subprocess
import sys
import textwrap

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "share" / "doc" / "python.md"
PROGRAMS = re.findall(r"^## (.*?)\n(?:(?!^## ).*\n)*?```python\n((?:(?!```).*\n)*)```", PAGE.read_text(), re.MULTILINE)
OUTPUT = {
    "A first function": [f"task {n}: {2 * n}" for n in range(1, 11)],
    "Tasks with files": ["words: exit code 0, output ''"],
    "Ctrl-C and the end": ["0", "1", "2", "3"],
    "Resources": [r"[\d.]+ cores, \d+ MB memory, \d+ MB disk"],
    "Workers of a batch system": [str(n * n) for n in range(20)],
}


def test_every_program_is_checked():
    assert [title for title, _ in PROGRAMS] == list(OUTPUT)
    assert PAGE.read_text().count("```python") == len(PROGRAMS)


def test_the_first_page_builds_all_that_it_runs():
    targets = re.search("^cmake --build .* --target (.*)", PAGE.read_text(), re.MULTILINE).group(1).split()
    assert {"wq_python_core", "wq_python_core_mpi", "work_queue_worker"} <= set(targets)


def test_quickstart_prints_the_variables_of_its_own_run():
    text = (ROOT / "scripts" / "quickstart").read_text()
    needed = re.findall(r"(\w+)=", re.search("^    export PATH=.*", text, re.MULTILINE).group())
    printed = re.findall(r"(\w+)=", " ".join(re.findall('^(?:    python_lines=")?   export .*', text, re.MULTILINE)))
    assert {"PATH", "PYTHONPATH", "WORK_QUEUE_PYTHON"} == set(needed) <= set(printed)


def test_the_build_folder_has_the_commands_of_the_pages():
    named = set()
    for page in ("python.md", "python-functions.md", "python-training.md", "remote-tasks.md"):
        named |= set(re.findall(r"^(?:mpirun -n \d+ )?(work_queue_\w+) ", (PAGE.parent / page).read_text(), re.MULTILINE))
    assert {"work_queue_worker", "work_queue_serverize"} <= named
    assert named <= set(os.listdir(os.path.dirname(os.environ["WORKER"])))


def run_program(program, folder, workers):
    """Its output, and what it wrote to stderr."""
    (folder / "program.py").write_text(program.replace("9123", "0"))
    commands = os.path.dirname(os.environ["WORKER"])
    with subprocess.Popen([sys.executable, "-B", "program.py"], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          env={**os.environ, "PATH": f"{commands}:{os.environ['PATH']}"}) as manager:
        if "listening on port" in program:
            port = manager.stdout.readline().split()[3]
            where = ["--contact", folder / "contact"] if "contact_file=" in program else ["localhost", port]
            workers.start_at("--single-shot", *where)
        said, told = manager.communicate(timeout=120)
    assert manager.returncode == 0 and "Traceback" not in told, told
    return said, told


def test_the_program_of_the_readme(workers, tmp_path):
    program = re.search(r"```python\n((?:(?!\s*```).*\n)*)", (ROOT / "README.md").read_text()).group(1)
    listening = 'print(f"listening on port {q.port}", flush=True)\n'
    program = re.sub("(q = .*\n)", lambda line: line.group(1) + listening, textwrap.dedent(program))
    assert run_program(program, tmp_path, workers)[0] == "3\n"


@pytest.mark.parametrize("title, program", PROGRAMS, ids=[title for title, _ in PROGRAMS])
def test_it_runs(title, program, workers, tmp_path):
    (tmp_path / "words.txt").write_text("a\nc\nb\n")
    said, told = run_program(program, tmp_path, workers)
    assert title != "A first function" or told == "", "the first program warns of nothing"
    lines = sorted(said.splitlines())
    assert len(lines) == len(OUTPUT[title]), said + told
    assert all(re.fullmatch(expected, line) for expected, line in zip(sorted(OUTPUT[title]), lines)), said
    if title == "Tasks with files":
        assert (tmp_path / "sorted.txt").read_text() == "c\nb\na\n"
