"""The state of a queue as tables, in a notebook or by a class of your own."""

from __future__ import annotations

import html
import sys
import time
from typing import TYPE_CHECKING, Any, List

if TYPE_CHECKING:
    from .queue import WorkQueue

Table = List[List[str]]  # rows; the first is the heading

_FIGURES = ("port", "tasks_done", "tasks_failed", "tasks_waiting", "tasks_running", "tasks_exhausted_attempts",
            "workers_connected", "workers_busy")


class StatusDisplay:
    """Shows a queue, at most once every `interval` seconds: what a subclass does with the tables of `show`."""

    def __init__(self, interval: float = 10) -> None:
        self.interval = interval
        self._last = -float("inf")

    def active(self) -> bool:
        """Whether there is a place to show it."""
        raise NotImplementedError

    def show(self, tables: list[Table]) -> None:
        raise NotImplementedError

    def update(self, queue: WorkQueue | None = None, force: bool = False) -> None:
        """Shows the queue if it is time, or `force`."""
        now = time.monotonic()
        if queue is None or (now < self._last + self.interval and not force):
            return
        self._last = now
        self.show(self.tables(queue))

    def tables(self, queue: WorkQueue) -> list[Table]:
        """Figures of the queue, its workers by their size, its categories."""
        stats = queue.stats
        figures = [["queue", queue.name or ""], *([name.replace("_", " "), str(getattr(stats, name))] for name in _FIGURES)]
        workers = [["workers", "cores", "memory (MB)", "disk (MB)", "gpus"]]
        for group in queue.workers_summary():
            workers.append([f"{group[name]:g}" for name in ("workers", "cores", "memory", "disk", "gpus")])
        categories = [["category", "running", "waiting", "fit workers", "max cores", "max memory", "max disk"]]
        for one in queue.status("categories"):
            categories.append([str(one.get(name, "")) for name in (
                "category", "tasks_running", "tasks_waiting", "workers_able", "max_cores", "max_memory", "max_disk")])
        return [figures, workers, categories]


class JupyterDisplay(StatusDisplay):
    """In a notebook, below the cell that made it; elsewhere it is not active."""

    def __init__(self, interval: float = 10) -> None:
        super().__init__(interval)
        shell = sys.modules.get("IPython")
        ipython = shell.get_ipython() if shell else None
        self._output: Any = None
        if shell is not None and ipython is not None and "IPKernelApp" in ipython.config:
            self._output = shell.display.display(shell.display.HTML(""), display_id=True)

    def active(self) -> bool:
        return self._output is not None

    def show(self, tables: list[Table]) -> None:
        if self._output is not None:
            self._output.update(sys.modules["IPython"].display.HTML("".join(map(_html, tables))))


def _html(table: Table) -> str:
    def row(cells: list[str], kind: str) -> str:
        return "<tr>" + "".join(f"<{kind}>{html.escape(cell)}</{kind}>" for cell in cells) + "</tr>"

    return "<table>" + row(table[0], "th") + "".join(row(cells, "td") for cells in table[1:]) + "</table>"
