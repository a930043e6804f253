"""A DataLoader that commits slices when the training loop has used what was in them.

Its workers read ahead, so they cannot know by themselves what the loop has used. Each batch carries the number of the
worker that made it, and of the elements that this worker has put into batches so far. When the loop asks for the next
batch, the second number goes back to the worker through a pipe, and a thread there commits the slices before it.
"""

from __future__ import annotations

import collections
import multiprocessing
import multiprocessing.connection
import multiprocessing.util
import threading
from typing import TYPE_CHECKING, Any, Callable, Deque, Iterable, Iterator, List, Optional, Tuple

from torch.utils.data import DataLoader
from torch.utils.data import get_worker_info as _get_worker_info

from .slices import Slice, WorkQueue

if TYPE_CHECKING:
    from .torch_data import SliceIterable

_worker_of_loader: Any = _get_worker_info
_ABANDONED = -1  # instead of a number of elements


class SliceDataLoader(DataLoader):  # type: ignore
    """A DataLoader of a SliceIterable, for training loops that save checkpoints. Its parameters are those of DataLoader.

    A slice is committed some time after the loop has asked for a batch that its worker made later. So a checkpoint lacks
    no batch that the loop has not had. After it, slices come again of which the loop has had a part, or which it had from a
    worker last. What fetches batches ahead of the training counts as the loop.
    """

    def __init__(self, dataset: "SliceIterable", *args: Any, **options: Any) -> None:
        if not hasattr(dataset, "_loop"):
            raise TypeError(f"SliceDataLoader is for a SliceIterable; this is a {type(dataset).__name__}")
        super().__init__(dataset, *args, **options)
        self._pass: Optional[_Pass] = None  # that was begun last
        self._end: Any = None  # of the queue that the workers know
        if self.num_workers > 0:
            self.collate_fn = _Numbered(self.collate_fn)  # type: ignore[has-type]

    def __iter__(self) -> Iterator[Any]:
        if self.num_workers == 0:
            # A batch is made when the loop asks for it, so what the queue commits by itself is right.
            return iter(super().__iter__())
        if self._pass is not None:
            self._pass.abandon()
        if self._pass is not None and self.persistent_workers and self._end is self.dataset._end_of_queue():
            self._pass = _Pass(self._pass.channels, self._pass.number + 1)
        else:
            self._iterator = None  # its workers know the queue as it was before restore()
            self._end = self.dataset._end_of_queue()
            pipes = [multiprocessing.Pipe(duplex=False) for _ in range(self.num_workers)]
            self._pass = _Pass([ours for _, ours in pipes], 1)
            self.dataset._loop = [theirs for theirs, _ in pipes], self.drop_last
        try:
            return _Batches(self._pass, super().__iter__())  # which starts the workers
        finally:
            self.dataset._loop = None  # it is not for the workers of another loader

    def state_dict(self) -> Any:
        """That of the queue, in the process that has it: see `WorkQueue.state_dict`."""
        return self.dataset.state_dict()

    def load_state_dict(self, state: Any) -> None:
        """Before the loop begins."""
        self.dataset.load_state_dict(state)


class _Pass:
    """In the program: one loop over the batches. Workers are told what it has used: (pass, elements of that worker)."""

    def __init__(self, channels: List[Any], number: int) -> None:
        self.channels, self.number = channels, number
        self._ended = False

    def used(self, worker: int, elements: int) -> None:
        self._tell(worker, elements)

    def abandon(self) -> None:
        """Nothing more will be used; without effect on workers whose batches all are."""
        if not self._ended:
            self._ended = True
            for worker in range(len(self.channels)):
                self._tell(worker, _ABANDONED)

    def _tell(self, worker: int, elements: int) -> None:
        try:
            self.channels[worker].send((self.number, elements))
        except OSError:  # it has ended
            pass


class _Batches:
    """The iterator of a loop."""

    def __init__(self, of: _Pass, numbered: Iterator[Any]) -> None:
        self._pass, self._numbered = of, numbered
        self._had: Optional[Tuple[int, int]] = None  # the batch that the loop has: its worker, the elements until its end

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        if self._had is not None:
            self._pass.used(*self._had)
            self._had = None
        try:
            worker, elements, batch = next(self._numbered)
        except BaseException:
            self._pass.abandon()  # if the loop goes on after an error, slices come again
            raise
        self._had = worker, elements
        return batch

    def __del__(self) -> None:
        self._pass.abandon()  # before the workers are ended, which would wait for it


class _Numbered:
    """Makes batches in a worker: (worker, elements that it has given until the end of this one, batch)."""

    def __init__(self, collate: Callable[[Any], Any]) -> None:
        self._collate = collate

    def __call__(self, elements: Any) -> Tuple[int, int, Any]:
        worker = _worker_of_loader()
        commits = None if worker is None else getattr(worker.dataset, "_commits", None)
        if commits is None:
            raise RuntimeError("this collate_fn belongs to a SliceDataLoader: give another loader one of its own")
        batch = self._collate(elements)
        return worker.id, commits.batch_made(), batch


class Commits:
    """In a worker: one pass over the slices of a queue that it has joined, which commits what is used.

    Its thread closes the queue when all is used, the loop has ended, or one of `ends` is readable.
    """

    def __init__(self, queue: WorkQueue, channel: Any, number: int, drop_last: bool, ends: List[Any]) -> None:
        self._queue, self._channel, self._number, self._drop_last = queue, channel, number, drop_last
        parent = multiprocessing.parent_process()
        self._ends = [*ends, *([parent.sentinel] if parent else [])]
        self._all_given, self._tell_all_given = multiprocessing.Pipe(duplex=False)
        self._lock = threading.Lock()  # of what follows
        self._given = 0  # elements, to the loader
        self._in_batches = 0  # of them
        self._whole = False  # the slices have been read to their end, without an error
        self._read: Deque[Tuple[int, Slice]] = collections.deque()  # with the number of elements that it is part of
        self._thread = threading.Thread(target=self._run, name="work_queue commits", daemon=True)
        self._thread.start()
        # A worker is told to end when its last batch has arrived, which the loop may use much later.
        self._join_at_exit = multiprocessing.util.Finalize(self, self._thread.join, exitpriority=10)

    # ---- the thread that reads ----

    def slices(self, taken: Iterable[Slice]) -> Iterator[Slice]:
        for one in taken:
            yield one
            with self._lock:
                # The element that is being made may have records of it, too.
                self._read.append((self._given + 1, one))

    def elements(self, made: Iterable[Any]) -> Iterator[Any]:
        try:
            for element in made:
                with self._lock:
                    self._given += 1
                yield element
            self._whole = True
        finally:
            self._tell_all_given.send(None)

    def batch_made(self) -> int:
        with self._lock:
            self._in_batches = self._given
            return self._given

    def join(self) -> None:
        """Waits for its end, which the loop tells: see `_Pass`."""
        self._thread.join()

    # ---- the thread that commits ----

    def _run(self) -> None:
        try:
            self._commit_what_is_used()
        except (EOFError, OSError):  # the program has ended
            pass
        finally:
            self._queue.close()

    def _commit_what_is_used(self) -> None:
        used, all_given = 0, False
        while not all_given or used < self._needed():
            sources = [self._channel, *self._ends, *([] if all_given else [self._all_given])]
            ready = multiprocessing.connection.wait(sources)
            if self._all_given in ready:  # first, as the loop may have said already that it has ended
                all_given = True
            elif self._channel in ready:
                number, given = self._channel.recv()
                if number == self._number and given == _ABANDONED:
                    return
                if number == self._number:
                    used = given
                    self._commit(used)
            else:  # one of the ends
                return
        if self._whole:
            self._commit(None)

    def _needed(self) -> int:
        """Of all elements, so many will be used."""
        with self._lock:
            return self._given if self._whole and not self._drop_last else self._in_batches

    def _commit(self, used: Optional[int]) -> None:
        """The slices that are part of so many elements; None: all."""
        with self._lock:
            done = []
            while self._read and (used is None or self._read[0][0] <= used):
                done.append(self._read.popleft()[1])
        for one in done:
            self._queue.commit(one)
