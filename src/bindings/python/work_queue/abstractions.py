"""Functions of whole sequences: map, pair and tree_reduce on the workers of a queue."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, cast

from .chunk_tasks import Chunks, Outcome, PythonChunks, RemoteChunks
from .chunks import ChunkSizes, count_of
from .mapping import Mapping
from .progress import Progress
from .reduction import Reduction
from .task_future import Collector
from .unpicklable import name_of

if TYPE_CHECKING:
    from .queue import WorkQueue
    from .task import Task


class _Sized(Iterable[Any]):
    """An iterator of which the number of items is known."""

    def __init__(self, items: Iterator[Any], count: int) -> None:
        self._items, self._count = items, count

    def __iter__(self) -> Iterator[Any]:
        return self._items

    def __len__(self) -> int:
        return self._count


def _pairs(seq1: Iterable[Any], seq2: Iterable[Any]) -> Iterable[Any]:
    """All pairs, in the order of itertools.product; only `seq2` is held in memory."""
    second = list(seq2) if count_of(seq2) is None else seq2
    pairs = ((a, b) for a in seq1 for b in second)
    count, each = count_of(seq1), count_of(second)
    return pairs if count is None or each is None else _Sized(pairs, count * each)


class Results(Iterator[Any]):
    """Results of imap(), in order. close(), or the end of the object, cancels what is left."""

    def __init__(self, mapping: Mapping, bar: Progress) -> None:
        self._mapping, self._bar = mapping, bar
        self._ready: Iterator[Outcome] = iter(())
        mapping.fill()

    def __next__(self) -> Any:
        while True:
            for outcome in self._ready:
                return outcome.value
            try:
                outcomes = next(self._mapping)
            except BaseException:
                self._bar.close()
                raise
            self._bar.add(len(outcomes))
            self._ready = iter(outcomes)

    def close(self) -> None:
        self._mapping.close()
        self._bar.close()

    def __del__(self) -> None:
        self.close()


class Abstractions:
    """Methods of `WorkQueue` that call a function many times, in tasks that they make, submit and wait for themselves.

    Other tasks of the program stay in the queue for its own `wait`. Ctrl-C ends a call and cancels its tasks.

    Parameters that all have:
        chunksize: items in one task; None: as many as take some 75 ms by the times that the workers measure, fewer
            near the end.
        env: a packed environment for the function, as in `PythonTask.specify_environment`.
        like: a task whose settings the tasks get: files, cores, memory, category, features, ... Default: one core each.
        progress: None: a bar if tqdm is installed and stderr is a terminal; True: always (lines without tqdm);
            False: none.
        prints (map, imap, pair): what the calls print is printed here, as each task ends; by default it is dropped.
    """

    _collector: Collector | None = None

    def map(self, fn: Callable[[Any], Any], seq: Iterable[Any], chunksize: int | None = None, *, env: str | None = None,
            like: Task | None = None, progress: bool | None = None, prints: bool = False) -> list[Any]:
        """The list of fn(x) for all x of `seq`, in order. An exception of fn is the result in its place, with the
        traceback of the worker as `remote_traceback`; PythonTaskNoResult where its process died.

        `seq` may be a generator. It is read as the workers need it."""
        return self._all(PythonChunks(fn, env, like), seq, chunksize, progress, f"map {name_of(fn)}", prints)

    def imap(self, fn: Callable[[Any], Any], seq: Iterable[Any], chunksize: int | None = None, *, env: str | None = None,
             like: Task | None = None, progress: bool | None = None, prints: bool = False) -> Results:
        """Same as map(), but returns an iterator at once, for long inputs: neither inputs nor results are held in
        memory, except some chunks for each core. It waits when the program does not take the results."""
        mapping = Mapping(self._queue, PythonChunks(fn, env, like), seq, ChunkSizes(chunksize), bounded=True, prints=prints)
        return Results(mapping, Progress(progress, f"imap {name_of(fn)}", count_of(seq)))

    def pair(self, fn: Callable[[Any], Any], seq1: Iterable[Any], seq2: Iterable[Any], chunksize: int | None = None,
             env: str | None = None, *, like: Task | None = None, progress: bool | None = None,
             prints: bool = False) -> list[Any]:
        """The list of fn((a, b)) for all a of `seq1` and, for each of them, all b of `seq2`. As map() otherwise."""
        return self._all(PythonChunks(fn, env, like), _pairs(seq1, seq2), chunksize, progress, f"pair {name_of(fn)}",
                         prints)

    def tree_reduce(self, fn: Callable[[list[Any]], Any], seq: Iterable[Any], chunksize: int | None = None, *,
                    env: str | None = None, like: Task | None = None, progress: bool | None = None) -> Any:
        """One value from all of `seq`: fn gets a list of neighbours and returns their value, until one is left.

        fn must be associative; the order is kept. With a `chunksize`, from 2, fn gets lists of so many, one in a task.
        Without one, fn gets lists of 2, and a task reduces as many items as take some 75 ms. fn is not called for an
        item without a neighbour, so a single item is returned as it is. Raises ValueError if there are no items.

        If fn raises an exception, the result is that exception; what is left is cancelled."""
        from .at_worker import Fold

        sizes = ChunkSizes(chunksize, least=2)
        arity = chunksize or 2
        chunks = PythonChunks(cast(Any, Fold(fn, arity)), env, like, name=name_of(fn))
        return self._reduce(chunks, seq, sizes, arity, progress, f"reduce {name_of(fn)}")

    treeReduce = tree_reduce

    def remote_map(self, fn: str, seq: Iterable[Any], coprocess: str, name: str, chunksize: int | None = 1, *,
                   like: Task | None = None, progress: bool | None = None) -> list[Any]:
        """map() with a function of a coprocess: `fn` is its name, `coprocess` that of the coprocess.

        The function gets a list of items as its parameter `name`, and returns the list of their results. Items and
        results are what JSON can say. Where it fails, the result is a RemoteError. For `like`, only category and
        priority count."""
        chunks = RemoteChunks(fn, coprocess, name, like=like)
        return self._all(chunks, seq, chunksize, progress, f"map {fn}")

    def remote_pair(self, fn: str, seq1: Iterable[Any], seq2: Iterable[Any], coprocess: str, name: str,
                    chunksize: int | None = 1, *, like: Task | None = None, progress: bool | None = None) -> list[Any]:
        """pair() with a function of a coprocess, which gets a list of pairs (lists of two): see remote_map()."""
        chunks = RemoteChunks(fn, coprocess, name, like=like)
        return self._all(chunks, _pairs(seq1, seq2), chunksize, progress, f"pair {fn}")

    def remote_tree_reduce(self, fn: str, seq: Iterable[Any], coprocess: str, name: str, chunksize: int = 2, *,
                           like: Task | None = None, progress: bool | None = None) -> Any:
        """tree_reduce() with a function of a coprocess, which gets a list of up to `chunksize` items and returns one
        value: see remote_map()."""
        if chunksize is None:
            raise ValueError("chunksize is None: give the most items that the function gets at once, 2 or more")
        sizes = ChunkSizes(chunksize, least=2)
        chunks = RemoteChunks(fn, coprocess, name, single=True, like=like)
        return self._reduce(chunks, seq, sizes, chunksize, progress, f"reduce {fn}")

    async def run(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        """For asyncio: `await queue.run(f, x)` calls f(x) at a worker and returns what it returned, or raises what it
        raised. If the awaiting task is cancelled, so is the call. Any number at once, also from several loops."""
        from .asynchronous import run  # asyncio takes long to load

        return await run(self._queue, fn, args, kwargs)

    # ---- how ----

    @property
    def _queue(self) -> WorkQueue:
        return cast("WorkQueue", self)

    def _all(self, chunks: Chunks, seq: Iterable[Any], chunksize: int | None, progress: bool | None,
             what: str, prints: bool = False) -> list[Any]:
        results: list[Any] = []
        mapping = Mapping(self._queue, chunks, seq, ChunkSizes(chunksize), prints=prints)
        with contextlib.closing(mapping), Progress(progress, what, count_of(seq)) as bar:
            for outcomes in mapping:
                results.extend(outcome.value for outcome in outcomes)
                bar.add(len(outcomes))
        return results

    def _reduce(self, chunks: Chunks, seq: Iterable[Any], sizes: ChunkSizes, arity: int, progress: bool | None,
                what: str) -> Any:
        count = count_of(seq)
        with Progress(progress, what, None if count is None else max(count - 1, 0)) as bar:
            return Reduction(self._queue, chunks, seq, sizes, arity).run(bar.add).value

    def _calls(self) -> Collector:
        """Returns to futures what the tasks of single calls became; one for each queue."""
        if self._collector is None:  # threads that come together get the same one
            vars(self).setdefault("_collector", Collector(self._queue))
        assert self._collector is not None
        return self._collector

    def _end_calls(self) -> None:
        if self._collector is not None:
            self._collector.close()
