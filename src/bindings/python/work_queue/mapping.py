"""Calls of a function for all items of an iterable, in chunks, with the outcomes in order."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from .chunk_tasks import Chunks, Outcome, Report
from .chunks import ChunkSizes, count_of
from .own_tasks import Cores, OwnTasks

if TYPE_CHECKING:
    from .queue import WorkQueue

_AHEAD = 2  # chunks in the queue for each core: while one runs, the next one travels
_KEPT = 2  # chunks for each core that have ended and wait for an earlier one, in bounded memory


class _Chunk:
    """Some items of the input that follow each other, with the places for their outcomes."""

    def __init__(self, number: int, count: int) -> None:
        self.number = number
        self.outcomes: list[Outcome | None] = [None] * count
        self.missing = count


class _Part(NamedTuple):
    """A chunk, or those of its items that are run again without the others."""

    chunk: _Chunk
    places: Sequence[int]  # of the items in the chunk
    items: list[Any]

    def some(self, which: Sequence[int]) -> _Part:
        """Those items."""
        return _Part(self.chunk, [self.places[one] for one in which], [self.items[one] for one in which])


class Mapping:
    """Iterates over lists of outcomes, each for the next items of the input.

    The input is read as far as needed: at most some chunks for each core are in the queue. If `bounded`, this includes
    those that have ended and wait until the program takes them. close() cancels what has not ended. If `prints`, what calls
    print is printed here.
    """

    def __init__(self, queue: WorkQueue, chunks: Chunks, items: Iterable[Any], sizes: ChunkSizes, *,
                 bounded: bool = False, prints: bool = False) -> None:
        self._chunks = chunks
        self._sizes = sizes
        self._bounded = bounded
        self._prints = prints
        self._items: Iterator[Any] = iter(items)
        self._remaining = count_of(items)
        self._exhausted = False
        self._own = OwnTasks(queue, "map")
        self._cores = Cores(queue, chunks.cores)
        self._numbers = itertools.count()
        self._parts: dict[int, _Part] = {}  # in the queue, by their tasks' ids (of objects)
        self._again: deque[_Part] = deque()  # to be run without others of their chunk
        self._ended: dict[int, _Chunk] = {}  # that wait for an earlier one
        self._unended = 0  # chunks
        self._next = 0  # chunk
        self._any_ran = False
        self._trial: _Part | None = None  # a call with no items: whether the function can be loaded there
        self._trial_ended = False
        self._doubtful: list[tuple[_Part, Report]] = []  # failures that wait for it
        self._error_of_input: Exception | None = None

    def __iter__(self) -> Mapping:
        return self

    def __next__(self) -> list[Outcome]:
        try:
            return self._advance()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        self._exhausted = True
        self._own.cancel()
        self._parts.clear()
        self._again.clear()
        self._ended.clear()
        self._unended = 0
        self._doubtful.clear()
        self._error_of_input = None

    def fill(self) -> None:
        """Submits chunks while the workers have room."""
        slots = self._cores.slots()
        while len(self._own) < _AHEAD * slots + 1:
            if self._again:
                self._submit(self._again.popleft())
            elif self._exhausted or (self._bounded and self._held() > (_AHEAD + _KEPT) * slots):
                return
            else:
                self._draw(slots)

    def _held(self) -> int:
        return self._unended + len(self._ended)

    def _advance(self) -> list[Outcome]:
        while True:
            self.fill()
            chunk = self._ended.pop(self._next, None)
            if chunk is not None:
                self._next += 1
                return [outcome for outcome in chunk.outcomes if outcome is not None]
            if self._exhausted and self._unended == 0:
                raise self._error_of_input or StopIteration
            self._take_one()

    def _draw(self, slots: int) -> None:
        size = self._sizes.next(slots, self._remaining)
        items: list[Any] = []
        try:
            for item in itertools.islice(self._items, size):
                items.append(item)
        except Exception as error:
            if not self._bounded:
                raise
            self._error_of_input = error  # raised after the results of the items before
        if self._remaining is not None:
            self._remaining = max(self._remaining - len(items), 0)
        if len(items) < size:
            self._exhausted = True
        if items:
            self._unended += 1
            self._submit(_Part(_Chunk(next(self._numbers), len(items)), range(len(items)), items))

    def _submit(self, part: _Part) -> None:
        try:
            task = self._chunks.task(part.items)
            self._own.submit(task)
        except TypeError as error:
            self._without_unsendable(part, error)
        else:
            self._parts[id(task)] = part

    def _without_unsendable(self, part: _Part, error: TypeError) -> None:
        errors = self._chunks.unsendable(part.items) if len(part.items) > 1 else {0: error}
        if not errors:
            raise error
        sendable = [one for one in range(len(part.items)) if one not in errors]
        if sendable:
            self._again.append(part.some(sendable))
        for one, its_error in errors.items():
            self._put(part, one, Outcome(its_error, True))

    def _take_one(self) -> None:
        ended = self._own.wait()
        if ended is None:
            return
        if self._prints:
            print(ended.task.std_output or "", end="", flush=True)
        part = self._parts.pop(id(ended.task))
        report = self._chunks.read(ended.task, len(part.items))
        if part is self._trial:
            self._end_trial(report)
        elif report.outcomes is not None:
            self._any_ran = True
            self._sizes.learn(len(part.items), report.first, report.seconds, report.size)
            for one, outcome in enumerate(report.outcomes):
                self._put(part, one, outcome)
        else:
            self._failed(part, report, ended.cancelled)

    def _failed(self, part: _Part, report: Report, cancelled: bool) -> None:
        """An item of it may be to blame: halves are run again, until it is alone. Not if the function itself cannot be
        loaded there."""
        count = len(part.items)
        if count > 1 and not cancelled:
            if report.by_item or self._any_ran:
                self._again.extend((part.some(range(count // 2)), part.some(range(count // 2, count))))
                return
            if report.by_function and not self._trial_ended:
                self._doubtful.append((part, report))
                if self._trial is None:
                    self._trial = part.some(())
                    self._again.append(self._trial)
                return
        for one in range(count):
            self._put(part, one, Outcome(report.error, True))

    def _end_trial(self, report: Report) -> None:
        self._trial_ended = True
        self._any_ran = self._any_ran or report.outcomes is not None
        for part, its_report in self._doubtful:
            self._failed(part, its_report, False)
        self._doubtful.clear()

    def _put(self, part: _Part, one: int, outcome: Outcome) -> None:
        chunk = part.chunk
        chunk.outcomes[part.places[one]] = outcome
        chunk.missing -= 1
        if chunk.missing == 0:
            self._unended -= 1
            self._ended[chunk.number] = chunk
