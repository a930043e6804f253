"""Statistics of a queue."""

from __future__ import annotations

from . import _core


class Statistics(_core.Statistics):
    """All figures of the manual's table, as attributes: times in microseconds, memory and disk in MB."""

    def __repr__(self) -> str:
        shown = ("workers_connected", "workers_busy", "tasks_waiting", "tasks_running", "tasks_done", "tasks_failed")
        return "Statistics(" + ", ".join(f"{name}={getattr(self, name)}" for name in shown) + ")"

    def as_dict(self) -> dict[str, float]:
        """All figures by name."""
        return {name: getattr(self, name) for name in dir(_core.Statistics) if not name.startswith("_")}
