"""Resources of tasks: what they asked for, got and used."""

from __future__ import annotations

_UNITS = ("cores", "memory", "disk", "gpus")


class Resources:
    """Resources of one task, as attributes; -1: not specified, or not measured.

    Cores and GPUs are counts, memory and disk MB of 2**20 bytes, times seconds, bytes_read and the like MB,
    bandwidth Mbit per second.
    """

    def __init__(self, values: dict, limits_exceeded: Resources | None = None):
        self.__dict__.update(values)
        self.limits_exceeded = limits_exceeded

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        return -1

    def __repr__(self):
        known = {name: value for name, value in self.__dict__.items() if value is not None and value != -1}
        return "Resources(" + ", ".join(f"{name}={value!r}" for name, value in known.items()) + ")"


def from_amounts(amounts: tuple) -> Resources:
    return Resources(dict(zip(_UNITS, amounts)))


def amounts_of(said) -> tuple:
    """The amounts of a dict such as {'cores': 2, 'memory': 1024}, of another object with these attributes, or of None."""
    if said is None:
        said = {}
    if not isinstance(said, dict):
        said = {unit: getattr(said, unit) for unit in _UNITS if hasattr(said, unit)}
    unknown = set(said) - set(_UNITS)
    if unknown:
        raise ValueError(f"unknown resource {sorted(unknown)[0]!r}: give " + ", ".join(_UNITS))
    cores, memory, disk, gpus = (said.get(unit, -1) for unit in _UNITS)
    return float(cores), int(memory), int(disk), float(gpus)
