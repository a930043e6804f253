"""Shows how far a call such as map() is: a bar by tqdm if that is installed, else lines; on stderr."""

from __future__ import annotations

import sys
import time
from typing import Any

_SECONDS_BETWEEN_LINES = 5.0


def _is_terminal(stream: Any) -> bool:
    try:
        return bool(stream.isatty())
    except (AttributeError, ValueError):  # a program may have replaced, or closed it
        return False


class Progress:
    """`wanted` None: a bar if stderr is a terminal and tqdm is installed; True: always, without tqdm as lines."""

    def __init__(self, wanted: bool | None, what: str, total: int | None) -> None:
        self._what, self._total = what, total
        self._done = 0
        self._begun = time.monotonic()
        self._next_line = self._begun + _SECONDS_BETWEEN_LINES
        self._bar: Any = None
        if wanted is None:
            wanted = _is_terminal(sys.stderr)
            self._lines = False
        else:
            wanted = self._lines = wanted and sys.stderr is not None
        if wanted:
            try:
                from tqdm import tqdm
            except ImportError:
                return
            self._bar = tqdm(total=total, desc=what, unit="", file=sys.stderr)
            self._lines = False

    def add(self, count: int) -> None:
        self._done += count
        if self._bar is not None:
            self._bar.update(count)
        elif self._lines and time.monotonic() >= self._next_line:
            self._line()

    def _line(self) -> None:
        now = time.monotonic()
        self._next_line = now + _SECONDS_BETWEEN_LINES
        of = "" if self._total is None else f" of {self._total}"
        print(f"{self._what}: {self._done}{of} done in {now - self._begun:.0f} s", file=sys.stderr)

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()
        elif self._lines:
            self._line()
        self._lines = False
