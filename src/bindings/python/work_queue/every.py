"""Calls of which each is made, whatever others raise."""

from __future__ import annotations

import sys
from typing import Callable, Iterable


def call_all(functions: Iterable[Callable[[], object]]) -> None:
    """Calls all of these. What one raises is reported, and the others are still called."""
    for function in functions:
        try:
            function()
        except BaseException:
            sys.excepthook(*sys.exc_info())  # type: ignore[arg-type]
