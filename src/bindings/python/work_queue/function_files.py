"""Large functions that recur, as files: a worker keeps them, so each is sent to it once. What only these need is imported
where it is: it takes 8 ms."""

from __future__ import annotations

import contextlib
import os
import threading
import weakref
from collections import OrderedDict
from typing import Iterable

LEAST = 64 << 10  # bytes of a function; a file among the task's costs more than sending less than this
MOST_BYTES = 256 << 20  # of files that no task uses
MOST_SEEN = 10_000
_PREFIX = "work_queue-functions-"
_LOCK = "lock"


class _Folder:
    """Removed when nothing refers to it, and by remove()."""

    def __init__(self) -> None:
        from shutil import rmtree

        self.path, self._lock = _locked_folder()
        self._rmtree = rmtree
        self._process = os.getpid()
        _folders.add(self)

    def remove(self) -> None:
        """No effect in a process that the program has forked."""
        if self._process == os.getpid():
            self._process = 0
            self._rmtree(self.path, ignore_errors=True)
            os.close(self._lock)

    # Not weakref.finalize, which does nothing any more when queues end with the interpreter.
    __del__ = remove


_folders: weakref.WeakSet[_Folder] = weakref.WeakSet()


def remove_all() -> None:
    """At the end of the program, which may still refer to tasks."""
    for folder in list(_folders):
        folder.remove()


class FunctionFile:
    """Stays as long as a task, or its queue, refers to this."""

    def __init__(self, folder: _Folder, name: str, packed: bytes) -> None:
        import tempfile

        self.name = name  # in the task's folder
        self.size = len(packed)
        self._folder = folder
        descriptor, self.path = tempfile.mkstemp(dir=folder.path)
        weakref.finalize(self, _unlink, self.path, os.getpid()).atexit = False
        with open(descriptor, "wb") as file:
            file.write(packed)


class FunctionFiles:
    """Those of a queue. Its methods may be called from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._folder: _Folder | None = None
        self._seen: OrderedDict[str, None] = OrderedDict()  # names of functions that were sent
        self._files: weakref.WeakValueDictionary[str, FunctionFile] = weakref.WeakValueDictionary()
        self._kept: OrderedDict[str, FunctionFile] = OrderedDict()  # the last used ones
        self._kept_bytes = 0

    def file_of(self, packed: bytes, held: Iterable[FunctionFile]) -> FunctionFile | None:
        """A file that has these bytes, and a name that only they have: of those `held` by the task, perhaps from another
        queue, or of this queue. None for the first time: most large functions, such as methods of objects with data, do not
        recur."""
        from hashlib import blake2b

        name = f".work_queue-function-{blake2b(packed, digest_size=16).hexdigest()}"
        for mine in held:
            if mine.name == name:
                return mine
        with self._lock:
            file = self._files.get(name)
            if file is None:
                if not self._recurs(name):
                    return None
                self._folder = self._folder or _Folder()
                file = self._files[name] = FunctionFile(self._folder, name, packed)
            self._keep(file)
            return file

    def _recurs(self, name: str) -> bool:
        recurs = name in self._seen
        self._seen[name] = None
        self._seen.move_to_end(name)
        if len(self._seen) > MOST_SEEN:
            self._seen.popitem(last=False)
        return recurs

    def _keep(self, file: FunctionFile) -> None:
        if file.name not in self._kept:
            self._kept_bytes += file.size
        self._kept[file.name] = file
        self._kept.move_to_end(file.name)
        while self._kept_bytes > MOST_BYTES:
            self._kept_bytes -= self._kept.popitem(last=False)[1].size

    def close(self) -> None:
        """Files stay that tasks refer to."""
        with self._lock:
            self._kept.clear()
            self._kept_bytes = 0
            self._folder = None


def _locked_folder() -> tuple[str, int]:
    """A new folder, and the descriptor of a lock in it, which this process holds as long as it lives."""
    import fcntl
    import tempfile

    _remove_abandoned()
    while True:
        folder = tempfile.mkdtemp(prefix=_PREFIX)
        with contextlib.suppress(FileNotFoundError):
            lock = os.open(os.path.join(folder, _LOCK), os.O_CREAT | os.O_RDWR, 0o600)
            with contextlib.suppress(OSError):  # where files have no locks, nobody can take it
                fcntl.flock(lock, fcntl.LOCK_EX)
            if os.path.exists(os.path.join(folder, _LOCK)):  # none has taken it for abandoned
                return folder, lock
            os.close(lock)


def _remove_abandoned() -> None:
    """The folders of programs that SIGKILL has ended."""
    import fcntl
    import glob
    import shutil
    import tempfile

    for path in glob.glob(os.path.join(glob.escape(tempfile.gettempdir()), _PREFIX + "*", _LOCK)):
        try:
            lock = os.open(path, os.O_RDWR | os.O_NOFOLLOW)
        except OSError:  # of another user, or gone
            continue
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(os.path.dirname(path), ignore_errors=True)
        except OSError:  # its program lives, or files have no locks here
            pass
        finally:
            os.close(lock)


def _unlink(path: str, process: int) -> None:
    if process == os.getpid():
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
