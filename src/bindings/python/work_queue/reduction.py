"""Reduces all items of an iterable to one value, in a tree of tasks.

Neighbours are combined first, so the order is kept: the function must be associative, but need not be commutative. The
tree grows while the input is read, so few values are held at a time:

    items     a b c  d e f  g h ...      runs of items: their size is given, or measured
    level 0     A      B     ...         values of runs; `arity` neighbours become one value of the next level
    level 1         AB
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from .chunk_tasks import Chunks, Outcome
from .chunks import ChunkSizes, count_of
from .own_tasks import Cores, OwnTasks

if TYPE_CHECKING:
    from .queue import WorkQueue

_AHEAD = 2  # tasks in the queue for each core


class Reduction:
    """One reduction. `chunks` makes tasks of chunks of one item, which is the list to reduce."""

    def __init__(self, queue: WorkQueue, chunks: Chunks, items: Iterable[Any], sizes: ChunkSizes, arity: int) -> None:
        self._chunks = chunks
        self._sizes = sizes
        self._arity = arity
        self._items: Iterator[Any] = iter(items)
        self._remaining = count_of(items)
        self._own = OwnTasks(queue, "reduce")
        self._cores = Cores(queue, chunks.cores)
        self._levels: list[dict[int, Any]] = []  # values by their places, until they are combined
        self._runs = 0
        self._lengths: list[int] | None = None  # of the levels, once the input has ended
        self._places: dict[int, tuple[int, int, int]] = {}  # level, place, values in it: of tasks in the queue
        self._result: Outcome | None = None

    def run(self, progress: Callable[[int], None]) -> Outcome:
        """The result. Raises ValueError if there are no items."""
        try:
            while self._result is None:
                self._fill()
                if self._result is None:
                    progress(self._take_one())
            return self._result
        finally:
            self._own.cancel()

    def _fill(self) -> None:
        slots = self._cores.slots()
        while self._lengths is None and self._result is None and len(self._own) < _AHEAD * slots + 1:
            size = self._sizes.next(slots, self._remaining)
            run = list(itertools.islice(self._items, size))
            if self._remaining is not None:
                self._remaining = max(self._remaining - len(run), 0)
            if run:
                place, self._runs = self._runs, self._runs + 1
                self._combine(0, place, run)
            if len(run) < size:
                self._end_of_input()

    def _combine(self, level: int, place: int, values: list[Any]) -> None:
        """Puts the value of these at a place of the level, at once or by a task."""
        if len(values) == 1:
            return self._put(level, place, values[0])
        task = self._chunks.task([values])
        self._places[id(task)] = level, place, len(values)
        self._own.submit(task)

    def _end_of_input(self) -> None:
        if self._runs == 0:
            raise ValueError("tree_reduce() of no items has no value")
        lengths = [self._runs]
        while lengths[-1] > 1:
            lengths.append(-(-lengths[-1] // self._arity))
        self._lengths = lengths
        # The last group of a level may be smaller, which was not known until now.
        for level, length in enumerate(lengths):
            self._look(level, (length - 1) // self._arity)

    def _put(self, level: int, place: int, value: Any) -> None:
        while len(self._levels) <= level:
            self._levels.append({})
        self._levels[level][place] = value
        self._look(level, place // self._arity)

    def _look(self, level: int, group: int) -> None:
        """Combines a group of neighbours if all are there."""
        first, count = group * self._arity, self._arity
        if self._lengths is not None:
            if level == len(self._lengths) - 1:
                count = 1
            else:
                count = min(count, self._lengths[level] - first)
        values = self._levels[level] if level < len(self._levels) else {}
        if not all(place in values for place in range(first, first + count)):
            return
        if self._lengths is not None and level == len(self._lengths) - 1:
            self._result = Outcome(values[0], False)
        else:
            self._combine(level + 1, group, [values.pop(place) for place in range(first, first + count)])

    def _take_one(self) -> int:
        """Takes the next task that has ended; returns how many values it made one."""
        ended = self._own.wait()
        if ended is None:
            return 0
        level, place, count = self._places.pop(id(ended.task))
        report = self._chunks.read(ended.task, 1)
        if report.outcomes is None:
            self._result = Outcome(report.error, True)
            return 0
        (outcome,) = report.outcomes
        if outcome.failed:
            self._result = outcome
            return 0
        if level == 0:
            self._sizes.learn(count, report.seconds / count, report.seconds, report.size)
        self._put(level, place, outcome.value)
        return count - 1
