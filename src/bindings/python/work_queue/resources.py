"""Resources of tasks: what they asked for, got and used."""

from __future__ import annotations

import math
from typing import Any, Mapping, Tuple

from .options import real

_UNITS = ("cores", "memory", "disk", "gpus")
_MEASURED = ("start", "end", "wall_time", "cpu_time", "cores_avg", "virtual_memory", "swap_memory", "bytes_read", "bytes_written",
             "bytes_received", "bytes_sent", "bandwidth", "machine_cpus", "machine_load", "context_switches",
             "max_concurrent_processes", "total_processes", "total_files", "fs_nodes", "workers", "exit_status", "signal")
_FIELDS = {*_UNITS, *_MEASURED}
# What resources_measured of a task that has run has, too. exit_type is "normal", "signal" or "limits"; peak_times has the
# times of peaks in seconds since its start, snapshots what Task.specify_snapshot_file() asked for.
_OF_A_RUN: dict[str, Any] = {"category": None, "command": None, "taskid": None, "exit_type": None, "last_error": 0,
                             "peak_times": None, "snapshots": (), "snapshot_name": None}

Amounts = Tuple[float, int, int, float]


class Resources:
    """Resources of one task, as attributes; -1: not specified, or not measured.

    Cores and GPUs are counts, memory and disk MB of 2**20 bytes, times seconds, bytes_read and the like MB,
    bandwidth Mbit per second.
    """

    limits_exceeded: Resources | None

    def __init__(self, values: Mapping[str, Any], limits_exceeded: Resources | None = None):
        self.__dict__.update(values)
        self.limits_exceeded = limits_exceeded

    def __getattr__(self, name: str) -> Any:
        if name in _FIELDS:
            return -1
        if name in _OF_A_RUN:
            return _OF_A_RUN[name]
        raise AttributeError(f"there is no resource {name!r}")

    @property
    def snapshots_count(self) -> int:
        """How many `snapshots` there are."""
        return len(self.snapshots)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *_FIELDS, *_OF_A_RUN})

    def as_dict(self) -> dict[str, float]:
        """All that is known, by name."""
        return {name: value for name, value in self.__dict__.items() if name in _FIELDS and value != -1}

    def __repr__(self) -> str:
        return "Resources(" + ", ".join(f"{name}={value!r}" for name, value in self.as_dict().items()) + ")"


def from_amounts(amounts: Amounts) -> Resources:
    """The resources of a tuple (cores, memory, disk, gpus)."""
    return Resources(dict(zip(_UNITS, amounts)))


def amounts_of(said: Any) -> Amounts:
    """The amounts of a dict such as {'cores': 2, 'memory': 1024}, of another object with these attributes, or of None."""
    if said is None:
        said = {}
    if not isinstance(said, dict):
        said = {unit: getattr(said, unit) for unit in _UNITS if hasattr(said, unit)}
    unknown = set(said) - set(_UNITS)
    if unknown:
        raise ValueError(f"unknown resource {sorted(unknown)[0]!r}: give " + ", ".join(_UNITS))
    cores, memory, disk, gpus = (said.get(unit, -1) for unit in _UNITS)
    return real(cores, "cores"), whole(memory, "memory"), whole(disk, "disk"), real(gpus, "gpus")


def whole(amount: float, name: str) -> int:
    """MB and seconds are counted whole; half a one is one, not none."""
    if not abs(real(amount, name)) < 2**62:
        raise ValueError(f"{name} is {amount}: that is no amount")
    return math.ceil(amount)
