"""Options of the C++ module."""

from __future__ import annotations

from typing import Any


def set_counts(options: Any, **counts: object) -> None:
    """Sets attributes that are whole numbers, or None where that has a meaning. Raises TypeError or ValueError with the name
    of one that cannot be that."""
    for name, count in counts.items():
        try:
            setattr(options, name, count)
        except TypeError:
            error = ValueError if isinstance(count, int) else TypeError
            raise error(f"{name} is {count!r}: give a whole number from 0") from None
