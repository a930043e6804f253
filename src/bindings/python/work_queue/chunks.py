"""How many items the next task of a map gets.

A task costs 0.4 ms of a core besides its work, and 2 ms in a process of its own. So cheap items travel together, as many as
take some 75 ms at a worker. Near the end chunks shrink, so that all cores end at about the same time.
"""

from __future__ import annotations

from collections.abc import Sized

GOAL = 0.075  # seconds of work in a chunk
LEAST = 0.002  # below this, a chunk costs more than it does
GROWTH = 8  # a chunk is at most so much larger than those measured so far
PROBED = 1.0  # seconds of an item above which nobody asks how long the start was
MOST_ITEMS = 16_384
MOST_BYTES = 8 << 20  # of arguments, or of results
SHARES = 2  # chunks of this size, for each core, are left after this one


def count_of(items: object) -> int | None:
    """How many items there are; None: nobody knows, as of a generator."""
    try:
        return len(items) if isinstance(items, Sized) else None
    except Exception:  # a wrapper of a generator, or a range that no list could hold
        return None


class ChunkSizes:
    """Sizes of chunks from the times that workers measured; or always `fixed`."""

    def __init__(self, fixed: int | None = None, *, least: int = 1) -> None:
        if fixed is not None and not hasattr(fixed, "__index__"):
            several = ". The function gets one item; of several sequences, give tuples, by zip(), or use pair()"
            raise TypeError(f"chunksize is a {type(fixed).__name__}: give a whole number{several if hasattr(fixed, '__iter__') else ''}")
        if fixed is not None and fixed < least:
            raise ValueError(f"chunksize is {fixed}: give {least} or more, or None for chunks of measured size")
        self._fixed = fixed
        self._least = least
        self._largest = 0  # chunk that was measured
        self._each = 0.0  # seconds
        self._start = 0.0  # seconds that the first item of a chunk takes longer: imports, data that is loaded
        self._bytes = 0.0  # of an item

    def learn(self, items: int, first: float, seconds: float, size: int) -> None:
        """A chunk took `seconds` at its worker, its first item `first`; it, or its result, was of `size` bytes."""
        weight = 0.5
        if self._largest == 0 or self._largest == 1 < items:
            weight = 1.0  # a single item says too much: its time includes the start
        if items > 1:
            each = (seconds - first) / (items - 1)
            self._start += weight * (max(0.0, first - each) - self._start)
        else:
            each = max(0.0, seconds - self._start)
        self._each += weight * (each - self._each)
        self._bytes += weight * (size / items - self._bytes)
        self._largest = max(self._largest, items)

    def next(self, cores: int, remaining: int | None = None) -> int:
        """The size of the next chunk; `remaining` items are still to be sent, None: nobody knows how many."""
        if self._fixed is not None:
            return self._fixed
        if self._largest == 0:
            return self._least
        each = max(self._each, 1e-8)
        goal = max(GOAL, 3 * self._start)
        size = min(int(goal / each), GROWTH * self._largest, MOST_ITEMS)
        if self._largest == 1 and each < PROBED:
            size = max(size, 2)  # shows how much of the first item's time was the start
        if self._bytes > 0:
            size = min(size, int(MOST_BYTES / self._bytes))
        if remaining is not None:
            share = max(remaining // (SHARES * max(cores, 1)), int(LEAST / each), 1)
            size = min(size, share)
        return max(size, self._least)
