"""Options and numbers of programs, checked before the C++ module gets them."""

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
            remedy = "give a smaller one" if isinstance(count, int) and count > 0 else "give a whole number from 0"
            raise error(f"{name} is {count!r}: {remedy}") from None


def real(value: Any, name: str) -> float:
    """A number, also one of numpy. Raises TypeError with the name for what is none, such as a str."""
    if not isinstance(value, (str, bytes)):
        try:
            return float(value)
        except OverflowError:
            raise ValueError(f"{name} is too large") from None
        except (TypeError, ValueError):
            pass
    raise TypeError(f"{name} is {value!r}: give a number")
