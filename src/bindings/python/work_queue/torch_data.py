"""Slices for torch: a dataset that the workers of a DataLoader, and ranks, share as they can.

>>> from work_queue.slices import WorkQueue
>>> from work_queue.torch_data import SliceDataLoader, SliceIterable
>>> queue = WorkQueue(["d.h5:/x"], num_epochs=3, num_slices=200, contact="slices.contact")
>>> data = SliceIterable(queue, lambda slices: slices.rows(64))
>>> for batch in SliceDataLoader(data, batch_size=None, num_workers=2):
...     train_on(batch)
"""

from __future__ import annotations

import multiprocessing.connection
import multiprocessing.context
import os
import threading
from typing import Any, Callable, Dict, Iterable, Iterator, List, Optional, Tuple, Union

try:
    from torch.utils.data import IterableDataset
    from torch.utils.data import get_worker_info as _get_worker_info
except ImportError as error:
    raise ImportError("work_queue.torch_data needs torch (Debian: python3-torch)") from error

from .slices import SliceDataset, WorkQueue
from .torch_loader import Commits, SliceDataLoader

__all__ = ["SliceDataLoader", "SliceIterable"]

_worker_of_loader: Any = _get_worker_info


class SliceIterable(IterableDataset):  # type: ignore
    """What is in the slices of a queue, for a DataLoader.

    Parameters:
        queue: a WorkQueue, or the contact file of one in another process, such as rank 0 of the training. Workers of a
            DataLoader join it by its contact file, so they need WorkQueue(..., contact=FILE).
        read: what to make of the slices, from `WorkQueue.input_dataset()`; default: their names.

    Each slice is read by one of them, in each epoch, and fast ones read more. One pass has all epochs of the queue. A
    slice is committed when its reader takes the next, so batches that torch's own DataLoader has ahead of the training
    count as read: use SliceDataLoader if the training saves checkpoints.
    """

    def __init__(self, queue: Union[WorkQueue, str, "os.PathLike[str]"],
                 read: Optional[Callable[[SliceDataset], Iterable[Any]]] = None) -> None:
        super().__init__()
        self._queue = queue if isinstance(queue, WorkQueue) else None
        self._contact = queue.contact if isinstance(queue, WorkQueue) else os.path.abspath(os.fspath(queue))
        self._process = os.getpid()
        self._read = read
        self._end: Any = None  # of the queue, in a process that was not forked
        # Of a SliceDataLoader: the workers' pipes to it, and whether it drops the last batch.
        self._loop: Optional[Tuple[List[Any], bool]] = None
        self._commits: Optional[Commits] = None  # in its worker
        self._passes = 0

    def __getstate__(self) -> Dict[str, Any]:
        # It can be pickled only for a child process.
        own: Dict[str, Any] = {"_queue": None, "_process": None, "_end": None, "_loop": None}
        if multiprocessing.context.get_spawning_popen() is not None:
            own.update(_end=self._end_of_queue(), _loop=self._loop)
        return {**self.__dict__, **own}

    def _end_of_queue(self) -> Any:
        return self._end if self._queue is None or self._queue._end is None else self._queue._end[0]

    def __iter__(self) -> Iterator[Any]:
        if self._queue is not None and self._process == os.getpid():
            yield from self._elements(self._queue.input_dataset())
            return
        if self._contact is None:
            raise RuntimeError("workers of a DataLoader join the queue by its contact file: give WorkQueue(..., contact=FILE)")
        worker = _worker_of_loader()
        if worker is not None and self._loop is not None:
            yield from self._used_elements(worker.id, *self._loop)
            return
        # The DataLoader asks its workers in turn: one that waits for another's slice would wait for ever.
        with WorkQueue.join(self._contact, wait_for_others=worker is None) as queue:
            if self._end_of_queue() is not None:
                _close_with(self._end_of_queue(), queue)
            yield from self._elements(queue.input_dataset())

    def _used_elements(self, worker: int, channels: List[Any], drop_last: bool) -> Iterator[Any]:
        """Those of a worker whose SliceDataLoader says what is used."""
        assert self._contact is not None
        if self._commits is not None:
            self._commits.join()
        self._passes += 1
        queue = WorkQueue.join(self._contact, wait_for_others=False, commit_by_hand=True)
        ends = [] if self._end_of_queue() is None else [self._end_of_queue()]
        self._commits = Commits(queue, channels[worker], self._passes, drop_last, ends)
        yield from self._commits.elements(self._elements(queue.input_dataset()._then(self._commits.slices)))

    def _elements(self, slices: SliceDataset) -> Iterable[Any]:
        return slices if self._read is None else self._read(slices)

    def state_dict(self) -> Dict[str, Any]:
        """That of the queue, in the process that has it: see `WorkQueue.state_dict`."""
        return self._own().state_dict()

    def load_state_dict(self, state: Dict[str, Any]) -> None:
        """Before the DataLoader begins."""
        self._own().load_state_dict(state)

    def _own(self) -> WorkQueue:
        if self._queue is None or self._process != os.getpid():
            raise RuntimeError("checkpoints are for the process that gives the slices")
        return self._queue


def _close_with(end: Any, queue: WorkQueue) -> None:
    """Closes a joined queue when that of the training ends, which waits for it: nobody may ask this worker for more."""
    def close() -> None:
        multiprocessing.connection.wait([end])
        queue.close()

    threading.Thread(target=close, name="work_queue end", daemon=True).start()
