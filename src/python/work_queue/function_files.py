"""Large functions as files: a worker keeps them, so each is sent to it once."""

from __future__ import annotations

import atexit
import hashlib
import os
import shutil
import tempfile

LEAST = 64 << 10  # bytes of a function; a file among the task's costs more than sending less than this


class FunctionFiles:
    """Those of a queue, in a folder that is removed when the queue ends."""

    def __init__(self) -> None:
        self._folder = ""
        self._process = 0

    def path_of(self, packed: bytes) -> str:
        """A file that has these bytes, and a name that only they have."""
        if not self._folder:
            self._folder, self._process = tempfile.mkdtemp(prefix="work_queue-functions-"), os.getpid()
            atexit.register(self.close)
        path = os.path.join(self._folder, f".work_queue-function-{hashlib.blake2b(packed, digest_size=16).hexdigest()}")
        if not os.path.exists(path):
            with open(path + ".part", "wb") as file:
                file.write(packed)
            os.replace(path + ".part", path)
        return path

    def close(self) -> None:
        """No effect in a process that the program has forked."""
        if self._folder and self._process == os.getpid():
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = ""
            atexit.unregister(self.close)
