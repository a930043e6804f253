"""The code of the guide's pages runs, and prints what the pages say."""

import pytest

import snippets
import work_queue


@pytest.fixture
def any_port(monkeypatch, workers, tmp_path):
    """Queues take any port, and each has a worker at once."""
    made = []
    real = work_queue.WorkQueue

    def make(port=9123, **options):
        queue = real(0, **{"say": lambda line: None, **options})
        made.append(queue)
        workers.start(queue)
        return queue

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(work_queue, "WorkQueue", make)
    yield
    for queue in made:
        queue.close()


@pytest.mark.parametrize("page", ["python-functions.md"])
def test_pages(any_port, page):
    assert snippets.run_page(page, {"__name__": "__main__"}) > 3


def test_wrong_output_is_seen(tmp_path, monkeypatch):
    (tmp_path / "page.md").write_text("A page.\n\n```python\nprint(1 + 1)\n```\nprints\n```text\n3\n```\n")
    monkeypatch.setattr(snippets, "GUIDE", tmp_path)
    with pytest.raises(AssertionError, match="page.md:3: it printed\n2"):
        snippets.run_page("page.md", {})
