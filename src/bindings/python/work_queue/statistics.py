"""Statistics of a queue."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import _core


class Statistics(_core.Statistics):
    """All figures of the manual's table, as attributes: times in microseconds, memory and disk in MB. CCTools' older names, such
    as total_tasks_complete, are attributes, too."""

    port = 0
    priority = 0  # as specify_priority() was given

    def _update(self, queue: Any) -> None:
        super()._update(queue)
        self.port, self.priority = queue.port, queue.priority

    @property
    def total_good_transfer_time(self) -> int:
        """CCTools' older name of the sum of time_send_good and time_receive_good."""
        return self.time_send_good + self.time_receive_good

    @property
    def efficiency(self) -> float:
        """Share of the workers' time spent on tasks that succeeded; 0: no task has ended."""
        return self.time_execute_good / self.time_execute if self.time_execute > 0 else 0.0

    @property
    def idle_percentage(self) -> float:
        """Share of its time that the manager waits, from 0 to 1."""
        return 1 - self.manager_load

    if not TYPE_CHECKING:  # so that a type checker still knows wrong names

        def __getattr__(self, name):
            if name not in _core.old_statistics:
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            return getattr(self, _core.old_statistics[name])

    def __repr__(self) -> str:
        shown = ("workers_connected", "workers_busy", "tasks_waiting", "tasks_running", "tasks_done", "tasks_failed")
        return "Statistics(" + ", ".join(f"{name}={getattr(self, name)}" for name in shown) + ")"

    def as_dict(self) -> dict[str, float]:
        """All figures by name."""
        names = [name for name in dir(_core.Statistics) if not name.startswith("_")]
        return {name: getattr(self, name) for name in (*names, "port", "priority")}
