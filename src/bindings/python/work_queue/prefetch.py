"""A thread that reads elements ahead of who consumes them."""

from __future__ import annotations

import queue
import threading
from typing import Any, Iterator, Optional, Tuple


def prefetched(elements: Iterator[Any], size: int) -> Iterator[Any]:
    """The same elements, of which `size` are read ahead, on a thread. What reading raises comes in its place."""
    ready: "queue.Queue[Tuple[bool, Any]]" = queue.Queue()
    room = threading.Semaphore(size)
    stopped = threading.Event()

    def read() -> None:
        error: Optional[BaseException] = None
        try:
            source = iter(elements)
            while room.acquire() and not stopped.is_set():
                try:
                    element = next(source)
                except StopIteration:
                    break
                ready.put((True, element))
        except BaseException as raised:
            error = raised
        ready.put((False, error))

    def run() -> Iterator[Any]:
        reader = threading.Thread(target=read, name="work_queue prefetch", daemon=True)
        reader.start()
        try:
            while True:
                more, element = ready.get()
                if not more:
                    if element is not None:
                        raise element
                    return
                room.release()
                yield element
        finally:
            stopped.set()
            room.release()

    return run()
