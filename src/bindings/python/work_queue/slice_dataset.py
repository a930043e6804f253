"""Steps that read the slices of a WorkQueue and arrange what is in them, after TensorFlow's datasets."""

from __future__ import annotations

import random
from itertools import islice
from typing import TYPE_CHECKING, Any, Callable, Iterable, Iterator, List, Optional

from .slice_readers import FixedLengthRecordReader, RowReader, SliceReader, TextLineReader

if TYPE_CHECKING:
    from .slices import WorkQueue

_Step = Callable[[Iterable[Any]], Iterator[Any]]
_LINES_AT_ONCE = 1000


class SliceDataset:
    """The slices of a queue, and what steps make of them.

    >>> for lines in queue.input_dataset().lines().shuffle(20000, seed=2021).batch(512).prefetch(1):
    ...     train_on(lines)

    Each step returns a new dataset, which is iterated once. A slice is committed when the first step takes the next
    one: if the process is lost, records are lost that later steps still buffer. Without steps, elements are slices.
    """

    def __init__(self, queue: "WorkQueue", steps: Optional[_Step] = None) -> None:
        self._queue = queue
        self._steps = steps

    def _then(self, step: Callable[[Iterator[Any]], Iterator[Any]]) -> "SliceDataset":
        before = self._steps or iter
        return SliceDataset(self._queue, lambda slices: step(before(slices)))

    # ---- what is read ----

    def lines(self, encoding: Optional[str] = "utf-8") -> "SliceDataset":
        """The lines of the slices, each a str (`encoding` None: bytes)."""
        return self._then(lambda slices: _records(self._queue, slices, TextLineReader(encoding), _LINES_AT_ONCE, True))

    def rows(self, num_rows: int) -> "SliceDataset":
        """Arrays of at most so many rows of HDF5 datasets, each of one slice: see `RowReader`."""
        return self._then(lambda slices: _records(self._queue, slices, RowReader(), _some("rows", num_rows), False))

    def records(self, record_bytes: int, num_records: int, dtype: Any = None) -> "SliceDataset":
        """Arrays of at most so many binary records, each of one slice: see `FixedLengthRecordReader`."""
        reader = FixedLengthRecordReader(record_bytes, dtype)
        return self._then(lambda slices: _records(self._queue, slices, reader, _some("records", num_records), False))

    # ---- how it is arranged ----

    def map(self, function: Callable[[Any], Any]) -> "SliceDataset":
        """What the function returns for each element."""
        return self._then(lambda elements: map(function, elements))

    def shuffle(self, buffer_size: int, seed: Optional[int] = None) -> "SliceDataset":
        """Elements in random order: each is drawn from a buffer of so many, which is then filled again. Equal seeds
        give equal orders of equal elements; a repetition has another order."""
        size, draw = _some("shuffle", buffer_size), random.Random(seed)
        return self._then(lambda elements: _shuffled(elements, size, draw))

    def repeat(self, count: int) -> "SliceDataset":
        """All elements so many times, by reading the same slices again. Epochs of the data are `num_epochs`; what is
        repeated here, nobody takes over if this process is lost."""
        before, times = self._steps or iter, _some("repeat", count)

        def run(slices: Iterable[Any]) -> Iterator[Any]:
            taken: List[Any] = []
            yield from before(_noted(slices, taken) if times > 1 else slices)
            for _ in range(1, times):
                yield from before(taken)

        return SliceDataset(self._queue, run)

    def batch(self, batch_size: int) -> "SliceDataset":
        """Lists of so many elements; the last may be shorter."""
        size = _some("batch", batch_size)
        return self._then(lambda elements: iter(lambda: list(islice(elements, size)), []))

    def prefetch(self, buffer_size: int) -> "SliceDataset":
        """Reads so many elements ahead, on a thread. Errors come in their place."""
        from .prefetch import prefetched

        size = _some("prefetch", buffer_size)
        return self._then(lambda elements: prefetched(elements, size))

    def __iter__(self) -> Iterator[Any]:
        if self._steps is None:
            yield from self._queue
            return
        # Its end ends waits of the steps' threads, too.
        with self._queue.input_producer() as producer:
            elements = self._steps(iter(producer))
            try:
                yield from elements
            finally:
                producer.stop()
                close = getattr(elements, "close", None)
                if close is not None:
                    close()


def _some(step: str, number: int) -> int:
    if number < 1:
        raise ValueError(f"{step}({number}); it is at least 1")
    return number


def _noted(slices: Iterable[Any], taken: List[Any]) -> Iterator[Any]:
    for one in slices:
        taken.append(one)
        yield one


def _records(queue: "WorkQueue", slices: Iterable[Any], reader: SliceReader, at_once: int, single: bool) -> Iterator[Any]:
    for one in slices:
        reader.open(queue, one)
        while True:
            keys, values = reader.read(at_once)
            if not len(keys):
                break
            if single:
                yield from values
            else:
                yield values


def _shuffled(elements: Iterator[Any], size: int, draw: random.Random) -> Iterator[Any]:
    buffer = list(islice(elements, size))
    uniform = draw.random
    for element in elements:
        at = int(uniform() * size)
        yield buffer[at]
        buffer[at] = element
    draw.shuffle(buffer)
    yield from buffer
