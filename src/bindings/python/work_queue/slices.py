"""Slices of datasets: each process takes the next one when it is done with one, so that fast ones take more.

>>> from work_queue.slices import WorkQueue
>>> work_queue = WorkQueue(["a.csv", "b.csv", "c.csv"], num_epochs=2)
>>> for name in work_queue.input_dataset():
...     train_on(name)

In each epoch every slice is committed once. A slice is committed when the next one is taken. What a lost process had
not committed, others take.
"""

from __future__ import annotations

import atexit
import multiprocessing
import os
import sys
import tempfile
import threading
import weakref
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterable, Iterator, List, Optional, Tuple, Union

from . import _core
from .every import call_all
from .options import set_counts
from .slice_dataset import SliceDataset
from .slice_readers import (
    FixedLengthRecordReader,
    RecordKeys,
    RowReader,
    SliceReader,
    TableRecordReader,
    TextLineReader,
    count_in_table,
    register_table_reader,
    table_of,
)

__all__ = ["FixedLengthRecordReader", "RecordKeys", "RowReader", "Slice", "SliceDataset", "SliceProducer", "SliceReader",
           "TableRecordReader", "TextLineReader", "WorkQueue", "register_table_reader"]

if TYPE_CHECKING:
    from .ranks import SliceRanks

_Path = Union[str, bytes, "os.PathLike[str]"]

_queues: "weakref.WeakSet[WorkQueue]" = weakref.WeakSet()


@atexit.register
def _end_all() -> None:
    """They have threads, and lines for functions of Python: they end before the interpreter does."""
    ranks = sys.modules.get("work_queue.ranks")
    call_all([
        *([ranks.abort_if_raised] if ranks is not None else []),
        # First those that joined another one, which waits for them.
        *(queue.close for queue in sorted(_queues, key=lambda queue: queue._options is not None)),
        *([ranks.end_for_slices] if ranks is not None else []),
    ])


class Slice(str):
    """A slice's name, "WORK?start=A&end=B" or the work, and its parts as attributes.

    work: with the prefix. start, end: its first record, and one past its last; None: the whole work. epoch: from 0.
    position: its number in the order of all epochs, which is its identity.
    """

    work: str
    start: Optional[int]
    end: Optional[int]
    epoch: int
    position: int
    _tuple: Tuple[Any, ...]

    def __new__(cls, values: Tuple[Any, ...]) -> "Slice":
        self = super().__new__(cls, values[0])
        self._tuple = values
        _, self.work, self.start, self.end, self.epoch, self.position = values
        return self

    def __reduce__(self) -> Tuple[Any, ...]:
        return Slice, (self._tuple,)


def _to_stderr(line: str) -> None:
    print(line, file=sys.stderr)


class SliceProducer:
    """Slices that a thread claims ahead: see `WorkQueue.input_producer`. Iterate over it, or give it to a reader."""

    def __init__(self, queue: "WorkQueue", capacity: int) -> None:
        self._queue = queue
        self._last: Optional[Slice] = None
        self._core = _core.Producer(queue._slices, capacity)
        with queue._lock:
            queue._producers.add(self)

    def next(self) -> Optional[Slice]:
        """The next slice; None: the end, or closed. Commits the one before, unless commit_by_hand."""
        slice = self._core.next(-1)
        self._last = None if slice is None else Slice(slice)
        return self._last

    def _commit(self) -> None:
        """Commits the slice that next() gave last: its reader goes on with another producer."""
        if not self._queue._by_hand:
            self._queue.commit(self._last)

    def stop(self) -> None:
        """On any thread: next() returns None from now on, even if it waits."""
        self._core.stop()

    def close(self) -> None:
        """Ends it. What nobody has consumed is for others, or for whoever takes next here."""
        self._core.close()

    def __iter__(self) -> Iterator[Slice]:
        return iter(self.next, None)

    def __enter__(self) -> "SliceProducer":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class WorkQueue:
    """Gives slices of datasets, epoch after epoch.

    Parameters, as DeepRec has them:
        works: files or other names.
        num_epochs: passes over the data.
        shuffle: reshuffle the slices in each epoch; False: keep the order of `works`.
        seed: seed of the shuffle; equal seeds give equal orders. None: random (see `queue.seed`).
        prefix: text to put before the name of each work that is taken.
        num_slices: number of slices in total, in proportion to the works' records; None: each work is one slice.
            Rows of HDF5 datasets ("FILE.h5:/path") are cut, tables of kinds that register_table_reader() knows, and what
            one of the next three options says.
        name: name of the queue in messages and statistics.
    And others:
        lines: treat works as text files, cut at line ends.
        record_bytes: treat works as files of binary records of this many bytes.
        records: works are of your own kind: a function that returns how many records a work has; None: it is one slice.
        must_exist: whether works without "://" must be there; None: if they look like files.
        num_slices_per_work: cut each work into num_slices slices, instead of all works together.
        delivery: "exactly_once" (what a lost process had not committed is taken again), "at_most_once" (never again),
            "at_least_once" (at the end, idle nodes repeat what others still have).
        commit_by_hand: take() commits nothing; call commit().
        restore: file or bytes of save(), or state_dict(), to resume from. With ranks, the value of rank 0 holds for all.
        contact: file to write with mode 0600 while the queue lives; other processes, on this machine and on others, take
            slices with `WorkQueue.join(contact)`.
        record_each: also write a row for each slice to summaries.
        ranks: True, or `work_queue.ranks.SliceRanks()`: the ranks of an MPI job share the slices. All of them make the
            queue, with equal works and options. None: each process has all slices.
        say: function for lines to the user (one str); default: they go to stderr.

    Raises RuntimeError if works are missing or cannot be cut (all are named), or options do not fit.
    """

    def __init__(self, works: Iterable[_Path], num_epochs: int = 1, shuffle: bool = True, seed: Optional[int] = None,
                 prefix: Optional[str] = None, num_slices: Optional[int] = None, name: str = "work_queue", *,
                 lines: bool = False, record_bytes: int = 0, records: Optional[Callable[[str], Optional[int]]] = None,
                 must_exist: Optional[bool] = None, num_slices_per_work: bool = False, delivery: str = "exactly_once",
                 commit_by_hand: bool = False, restore: Union[_Path, bytes, Dict[str, Any], None] = None,
                 contact: Optional[_Path] = None, record_each: bool = False,
                 ranks: Union["SliceRanks", bool, None] = None,
                 say: Callable[[str], None] = _to_stderr) -> None:
        if isinstance(works, (str, bytes)) or not isinstance(works, Iterable):
            raise TypeError(f"works is {works!r}: give a list of names")
        options = _core.SliceOptions()
        set_counts(options, num_epochs=num_epochs, seed=seed, num_slices=num_slices, record_bytes=record_bytes)
        options.shuffle, options.num_slices_per_work = bool(shuffle), bool(num_slices_per_work)
        options.lines, options.must_exist = bool(lines), must_exist
        options.commit_by_hand, options.record_each = bool(commit_by_hand), bool(record_each)
        options._delivery(delivery)
        options._prefix(prefix or "")
        options._name(name)
        options._say(say)
        self._works = [os.fspath(work) for work in works]
        if records is None and any(table_of((prefix or "") + os.fsdecode(work)) for work in self._works):
            records = count_in_table
        if records is not None:
            options._records(records)
        if contact is not None:
            options._contact(os.path.abspath(os.fspath(contact)))
        self._ranks: Any = ranks or None
        if ranks is True:
            from .ranks import for_slices

            self._ranks = for_slices()
        self._by_hand = commit_by_hand
        self._begin(options, contact, say)
        self._open(restore)

    @classmethod
    def join(cls, contact: _Path, *, wait: float = 60, commit_by_hand: bool = False, wait_for_others: bool = True,
             say: Callable[[str], None] = _to_stderr) -> "WorkQueue":
        """Takes slices of a queue in another process, which has written the file `contact`.

        Waits up to `wait` seconds for it. Works are read here if they are the same files; otherwise readers get their
        records from that process. wait_for_others=False: take() returns None once all slices are given, and does not wait
        for those that others still have. Raises RuntimeError: there is no such file or queue in time, or others can read it.
        """
        self = cls.__new__(cls)
        self._works, self._ranks, self._by_hand = [], None, commit_by_hand
        self._begin(None, contact, say)
        self._slices = _core.Slices.join(os.path.abspath(os.fspath(contact)), wait, commit_by_hand, wait_for_others, say)
        return self

    def _begin(self, options: Any, contact: Optional[_Path], say: Callable[[str], None]) -> None:
        self._options, self._say = options, say
        self._contact = None if contact is None else os.path.abspath(os.fsdecode(contact))
        self._process = os.getpid()
        # Tells child processes that work for this one that it ends: its first part is readable then, and nobody reads it.
        self._end: Optional[Tuple[Any, Any]] = None
        self._lock = threading.RLock()  # of the next two
        self._producers: "weakref.WeakSet[SliceProducer]" = weakref.WeakSet()
        self._readers: "weakref.WeakSet[SliceReader]" = weakref.WeakSet()
        self._slices: _core.Slices
        self._last: Optional[Slice] = None
        _queues.add(self)

    def _open(self, saved: Union[_Path, bytes, Dict[str, Any], None]) -> None:
        restore: Union[_Path, bytes, None] = saved["slices"] if isinstance(saved, dict) else saved
        make: Any = _core.Slices
        if self._ranks is not None:
            make = getattr(self._ranks, "_open_slices", None)
            if make is None:
                raise TypeError("ranks is True or work_queue.ranks.SliceRanks(); Ranks() are workers of a queue of tasks")
        if isinstance(restore, (bytes, bytearray)):
            with tempfile.NamedTemporaryFile(prefix="work_queue-", suffix=".h5") as file:
                file.write(restore)
                file.flush()
                self._options._restore(file.name)
                self._slices = make(self._works, self._options)
        else:
            self._options._restore("" if restore is None else os.path.abspath(os.fspath(restore)))
            self._slices = make(self._works, self._options)
        if self._contact is not None:
            self._end = multiprocessing.Pipe(duplex=False)

    def close(self) -> None:
        """Ends it; waits for the queues of other ranks. What was taken and not committed goes to others. For threads
        that wait in it, and for readers of its slices, this is the end."""
        slices = getattr(self, "_slices", None)
        if slices is None:
            return
        slices.stop()
        if self._end is not None and self._process == os.getpid():
            self._end[1].send_bytes(b"end")
            self._end = None
        with self._lock:
            producers, readers = list(self._producers), list(self._readers)
        for producer in producers:
            producer.close()
        for reader in readers:
            reader._leave()
        slices.close()

    def __enter__(self) -> "WorkQueue":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __len__(self) -> int:
        """Slices of one epoch."""
        return self._slices.size

    def __bool__(self) -> bool:
        return True

    def __repr__(self) -> str:
        try:
            slices = self._slices
            return f"<WorkQueue {slices.name!r}: {slices.size} slices an epoch, {slices.taken} taken here>"
        except (AttributeError, RuntimeError):  # another thread may close it meanwhile
            return "<WorkQueue: not open>"

    # ---- taking ----

    def take(self) -> Optional[Slice]:
        """The next slice, a str with its parts as attributes; None: all slices of all epochs are committed.

        Commits the slice that it gave before, unless commit_by_hand. At the end it waits for slices that other
        processes still have. Raises RuntimeError if rank 0 is lost.
        """
        slice = self._slices.take(-1)
        self._last = None if slice is None else Slice(slice)
        return self._last

    def __iter__(self) -> Iterator[Slice]:
        return iter(self.take, None)

    def commit(self, slice: Optional[Slice] = None) -> bool:
        """Commits a slice, or the one that take() gave last. False: it was not taken here, or is committed."""
        slice = self._of_last(slice)
        return slice is not None and self._slices.commit(slice._tuple)

    def commit_failed(self, slice: Optional[Slice] = None) -> bool:
        """Same for a slice whose work was in vain: it is not given again, but counted, and left out by save()."""
        slice = self._of_last(slice)
        return slice is not None and self._slices.commit_failed(slice._tuple)

    def _of_last(self, slice: Optional[Slice]) -> Optional[Slice]:
        if slice is None or isinstance(slice, Slice):
            return self._last if slice is None else slice
        raise TypeError(f"{slice!r} is no slice: give what take() returned, or nothing for the last one")

    def wait(self, timeout: Optional[float] = None) -> bool:
        """Takes nothing: waits until others have committed all slices. False: `timeout` seconds were too short."""
        return self._slices.wait(-1 if timeout is None else max(timeout, 0.0))

    def input_dataset(self) -> SliceDataset:
        """The slices as an iterable, with steps that read and arrange what is in them: see `SliceDataset`."""
        return SliceDataset(self)

    def input_producer(self, capacity: int = 1) -> SliceProducer:
        """A queue of so many slices that a thread claims ahead, for readers."""
        return SliceProducer(self, capacity)

    # ---- checkpoints ----

    def save(self, path: Optional[_Path] = None) -> Optional[bytes]:
        """What is committed now, for `restore`: as bytes, or in a file. On rank 0.

        The slice that take() gave last is not committed yet: call commit() before if it is done.
        """
        if path is not None:
            self._slices.save(os.path.abspath(os.fspath(path)))
            return None
        with tempfile.TemporaryDirectory(prefix="work_queue-") as folder:
            file = os.path.join(folder, "slices.h5")
            self._slices.save(file)
            with open(file, "rb") as saved:
                return saved.read()

    def restore(self, state: Union[_Path, bytes, Dict[str, Any], None]) -> None:
        """Goes on from bytes or a file of save(), or from state_dict(), of a queue with the same works, cut and seed: what was
        not committed then is taken, in the same order. All ranks call it; the state of rank 0 holds for all, and others may
        give None. Raises RuntimeError if works, cut or seed differ; this queue is closed then."""
        if self._options is None:
            raise RuntimeError("restore() is for the process that gives the slices")
        if state is None and self.rank == 0:
            raise ValueError("rank 0 has no state to restore: save() and state_dict() have it on rank 0")
        self.close()
        self._last = None
        self._open(state)

    def state_dict(self) -> Dict[str, Any]:
        """For a training loop's own checkpoint, beside the model's: {"name": ..., "slices": bytes}. On ranks other than
        0, "slices" is None."""
        return {"name": self.name, "slices": None if self._ranks and self.rank else self.save()}

    def load_state_dict(self, state: Dict[str, Any]) -> None:
        """Same as restore(), of state_dict()."""
        self.restore(state["slices"])

    # ---- statistics ----

    def add_summary(self, tensorboard: Optional[_Path] = None, hdf5: Optional[_Path] = None, interval: float = 1) -> None:
        """Writes statistics from now on, every `interval` seconds: how many slices are left, the epoch, how many each
        rank has taken. `tensorboard`: a folder for an event file of TensorBoard. `hdf5`: a file, which
        work_queue_graph_log draws. Neither: the folder NAME.summary, of which a line tells. On rank 0."""
        if tensorboard is None and hdf5 is None:
            folder = os.path.abspath(f"{self.name}.summary")
            self.add_summary(folder, interval=interval)
            return self._say(f"add_summary: writes to {folder}, for TensorBoard")
        self._slices.add_summary(None if hdf5 is None else os.path.abspath(os.fspath(hdf5)),
                                 None if tensorboard is None else os.path.abspath(os.fspath(tensorboard)), interval)

    @property
    def name(self) -> str:
        return self._slices.name

    @property
    def contact(self) -> Optional[str]:
        """The file by which other processes join; None: there is none."""
        return self._contact

    @property
    def seed(self) -> int:
        """Of the order of all epochs."""
        return self._slices.seed

    @property
    def rank(self) -> int:
        """Of this process; workers that joined are numbered after the ranks."""
        return self._slices.rank

    @property
    def taken(self) -> int:
        """How many slices this process has taken."""
        return self._slices.taken

    @property
    def failed(self) -> int:
        """How many were committed by commit_failed()."""
        return self._slices.failed

    @property
    def lost(self) -> bool:
        """Whether rank 0 is lost: others will be given what was taken here."""
        return self._slices.lost

    def works(self) -> List[str]:
        return [work if isinstance(work, str) else os.fsdecode(work) for work in self._works]
