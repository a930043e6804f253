"""Readers of the records in slices: lines of text, rows of HDF5 datasets, binary records."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterable, Iterator, List, Optional, Tuple

from . import _core

if TYPE_CHECKING:
    from .slices import Slice, SliceProducer, WorkQueue


class RecordKeys(Sequence):  # type: ignore[type-arg]
    """Where records are: "FILE:LINE" (from 1), "FILE.h5:/path?row=N" or "FILE?record=N" (from 0)."""

    def __init__(self, prefix: str, first: int, size: int) -> None:
        self._prefix, self._numbers = prefix, range(first, first + size)

    def __len__(self) -> int:
        return len(self._numbers)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self._prefix + str(number) for number in self._numbers[index]]
        return self._prefix + str(self._numbers[index])

    def __repr__(self) -> str:
        return f"RecordKeys({self[0]!r}, ... {len(self)} keys)" if self else "RecordKeys()"


class SliceReader:
    """Reads the records of a producer's slices.

    A slice is committed when the reader takes the next one; `read_up_to` does not cross the end of a slice.
    """

    _kind = ""
    _as_text = False

    def __init__(self, record_bytes: int = 0) -> None:
        self._core = _core.Reader(self._kind, record_bytes)
        self._producer: Optional["SliceProducer"] = None  # of the slice that is read

    def read_up_to(self, producer: "SliceProducer", num_records: int) -> Tuple[RecordKeys, Any]:
        """(keys, values) of at most `num_records` records of one slice; no keys: the end.

        Raises RuntimeError if a file cannot be read or changed since its records were counted, or rank 0 is lost.
        """
        while True:
            keys, values = self.read(num_records)
            if keys:
                return keys, values
            # Each call may have its own producer: read_up_to(work_queue.input_producer(), 100) in a loop.
            before, self._producer = self._producer, None
            if before is not None and before is not producer:
                before._commit()
            del before  # what it has claimed is for the next one
            slice = producer.next()
            if slice is None:
                return keys, values
            self.open(producer._queue, slice)
            self._producer = producer

    def open(self, queue: "WorkQueue", slice: "Slice") -> None:
        """Reads a slice of `WorkQueue.take` from here on."""
        self._producer = None
        self._open(queue, slice)

    def _open(self, queue: "WorkQueue", slice: "Slice") -> None:
        with queue._lock:
            queue._readers.add(self)
        self._core.open(queue._slices, slice._tuple)

    def read(self, num_records: int) -> Tuple[RecordKeys, Any]:
        """(keys, values) of the next records of that slice; no keys: its end."""
        prefix, first, size, values = self._core.read(num_records, self._as_text)
        return RecordKeys(prefix, first, size), self._values(size, values)

    def _leave(self) -> None:
        """The queue ends."""
        self._core.leave()
        self._producer = None

    def _values(self, size: int, values: Any) -> Any:
        return values

    @property
    def num_records_produced(self) -> int:
        """By this reader."""
        return self._core.produced


class TextLineReader(SliceReader):
    """Lines of text, without their newlines: a list of str. `encoding` None: of bytes.

    With "utf-8", bytes that are no text are kept ("surrogateescape").
    """

    _kind = "lines"

    def __init__(self, encoding: Optional[str] = "utf-8") -> None:
        super().__init__()
        self._as_text = encoding is not None and encoding.lower().replace("_", "-") in ("utf-8", "utf8")
        self._encoding = None if self._as_text else encoding

    def _values(self, size: int, values: List[Any]) -> List[Any]:
        return values if self._encoding is None else [str(value, self._encoding) for value in values]


class RowReader(SliceReader):
    """Rows of HDF5 datasets of numbers, "FILE.h5:/path": an array of numpy with the rows first, a view of the memory
    that they were read to, which is yours then. Texts of any length: a list of str, or of lists of them."""

    _kind = "rows"
    _as_text = True

    def __init__(self) -> None:
        super().__init__()
        self._type = ""
        self._dtype: Any = None
        self._shape: Tuple[int, ...] = ()
        self._texts = False

    @property
    def row_type(self) -> str:
        """Of the rows read last: "float32[28][28]"."""
        return self._core.row_type

    def _values(self, size: int, values: Any) -> Any:
        import numpy

        kind = self._core.row_type
        if kind and kind != self._type:
            element, *lengths = re.split(r"[\[\]]+", kind.rstrip("]"))
            self._type, self._shape = kind, tuple(int(length) for length in lengths)
            self._texts = element == "any_text"
            width = re.fullmatch(r"text(\d+)", element)
            if not self._texts:
                self._dtype = numpy.dtype(f"S{width.group(1)}" if width else element)
        if not self._texts:
            buffer = values if size and not isinstance(values, list) else b"".join(values)
            return numpy.frombuffer(buffer, self._dtype).reshape(size, *self._shape)
        if not self._shape:
            return values
        return [numpy.array(text.split("\0"), dtype=object).reshape(self._shape) for text in values]


class FixedLengthRecordReader(SliceReader):
    """Binary records of so many bytes: an array of numpy, uint8[records, bytes], a view of the memory that they were
    read to, which is yours then. With `dtype`, its numbers, [records, numbers], or [records] of structures."""

    _kind = "records"

    def __init__(self, record_bytes: int, dtype: Any = None) -> None:
        super().__init__(record_bytes)
        import numpy

        self._dtype = numpy.dtype(numpy.uint8 if dtype is None else dtype)
        if record_bytes % self._dtype.itemsize:
            raise ValueError(f"records of {record_bytes} bytes are no whole number of {self._dtype}")
        self._shape = () if record_bytes == self._dtype.itemsize and dtype is not None else (
            record_bytes // self._dtype.itemsize,)

    def _values(self, size: int, values: Any) -> Any:
        import numpy

        buffer = values if size and not isinstance(values, list) else b"".join(values)
        return numpy.frombuffer(buffer, self._dtype).reshape(size, *self._shape)


Count = Callable[[str], Optional[int]]
Read = Callable[[str, int, int], Iterable[Any]]
_tables: Dict[str, Tuple[Count, Read]] = {}  # by scheme


def register_table_reader(scheme: str, count: Count, read: Read) -> None:
    """Tables named "SCHEME://...", as works: `count(work)` says how many records one has (None: it is one slice), and
    `read(work, start, end)` gives its records from start to before end, one after the other.

    `num_slices` of a WorkQueue then cuts them, and TableRecordReader reads them. Every process that reads registers it.
    """
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9+.-]*", scheme):
        raise ValueError(f"{scheme!r} is no scheme, such as odps of odps://project/table")
    _tables[scheme] = (count, read)


def table_of(work: str) -> Optional[Tuple[Count, Read]]:
    """How the records of a registered kind of table are counted and read."""
    scheme, separator, _ = work.partition("://")
    return _tables.get(scheme) if separator else None


def count_in_table(work: str) -> Optional[int]:
    """For `records` of a queue."""
    table = table_of(work)
    return None if table is None else table[0](work)


class TableRecordReader(RowReader):
    """Rows of HDF5 datasets, as RowReader, and records of tables of registered kinds: a list of what their function gives."""

    def __init__(self) -> None:
        super().__init__()
        self._table: Optional[Iterator[Any]] = iter(())  # None: the slice is of a dataset
        self._key, self._next, self._produced = "", 0, 0

    def _open(self, queue: "WorkQueue", slice: "Slice") -> None:
        table = table_of(slice.work)
        if table is None:
            self._table = None
            return super()._open(queue, slice)
        start = slice.start or 0
        end = table[0](slice.work) if slice.end is None else slice.end
        if end is None:
            raise RuntimeError(f"{slice.work}: its function of register_table_reader() does not say how many records it has")
        self._table, self._key, self._next = iter(table[1](slice.work, start, end)), f"{slice.work}?row=", start

    def read(self, num_records: int) -> Tuple[RecordKeys, Any]:
        if self._table is None:
            return super().read(num_records)
        values = list(itertools.islice(self._table, num_records))
        keys = RecordKeys(self._key, self._next, len(values))
        self._next += len(values)
        self._produced += len(values)
        return keys, values

    @property
    def num_records_produced(self) -> int:
        return self._core.produced + self._produced
