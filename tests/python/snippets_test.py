"""The code of the guide's pages runs, and prints what the pages say."""

import pathlib
import re
import subprocess
import sys

import pytest

import snippets
import work_queue

SERVERIZE = snippets.GUIDE.parents[1] / "src" / "functions" / "coprocess" / "serverize" / "work_queue_serverize"


@pytest.fixture
def options():
    """Options of the workers; tests add theirs."""
    return []


@pytest.fixture
def any_port(monkeypatch, workers, tmp_path, options):
    """Queues take any port, and each has a worker at once."""
    made = []
    real = work_queue.WorkQueue

    def make(port=9123, **named):
        queue = real(0, **{"say": lambda line: None, **named})
        made.append(queue)
        contact = named.get("contact_file")
        workers.start_at(*options, *(["--contact", contact] if contact else ["localhost", str(queue.port)]))
        return queue

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(work_queue, "WorkQueue", make)
    yield
    for queue in made:
        queue.close()


@pytest.mark.parametrize("page", ["python-functions.md"])
def test_pages(any_port, page):
    assert snippets.run_page(page, {"__name__": "__main__"}) > 3


def test_remote_tasks(any_port, options):
    """Its first block is a file, of which its command makes the worker's coprocesses."""
    page = (snippets.GUIDE / "remote-tasks.md").read_text()
    pathlib.Path("functions.py").write_text(next(snippets.blocks(page))[2])
    subprocess.run([sys.executable, SERVERIZE, *re.search("^work_queue_serverize (.*)", page, re.MULTILINE).group(1).split()], check=True)
    options += re.search("^work_queue_worker HOST PORT (.*)", page, re.MULTILINE).group(1).split()
    assert snippets.run_page("remote-tasks.md", {"__name__": "__main__"}) == 3


def test_wrong_output_is_seen(tmp_path, monkeypatch):
    (tmp_path / "page.md").write_text("A page.\n\n```python\nprint(1 + 1)\n```\nprints\n```text\n3\n```\n")
    monkeypatch.setattr(snippets, "GUIDE", tmp_path)
    with pytest.raises(AssertionError, match="page.md:3: it printed\n2"):
        snippets.run_page("page.md", {})
