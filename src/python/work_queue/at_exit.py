"""Calls of which each is made, whatever others raise: what ends when the interpreter does, and callbacks."""

from __future__ import annotations

import sys
from typing import Callable, Iterable


def end_all(ends: Iterable[Callable[[], object]]) -> None:
    """Calls all of these. What one raises is reported, and the others are still called."""
    for end in ends:
        try:
            end()
        except BaseException:
            sys.excepthook(*sys.exc_info())  # type: ignore[arg-type]
