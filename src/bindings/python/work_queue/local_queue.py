"""The queue of an executor that is given none."""

from __future__ import annotations

import fcntl
import os
import secrets
import sys
import tempfile

from .factory import Factory
from .queue import WorkQueue


def _say(line: str) -> None:
    """On stderr, but that its worker left because nothing is left to do: a pool of processes does not say so."""
    if not line.endswith(" left: drained"):
        print(f"work_queue: {line}", file=sys.stderr)


class LocalQueue(WorkQueue):
    """Listens on loopback, with a password that only this user can read, and has a worker with `cores` cores on this machine. If
    the ranks of this job are free, they are its workers instead."""

    def __init__(self, cores: int) -> None:
        known = sys.modules.get("work_queue.ranks")
        self._workers: Factory | None = None
        if known is not None and known.current() is not None:
            super().__init__(None)
            return
        self._folder = tempfile.TemporaryDirectory(prefix="work_queue.")
        # As the folders of launchers: if this program is killed, a later worker on this host removes the folder.
        self._lock = open(os.path.join(self._folder.name, "work_queue.lock"), "x")
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        print(os.uname().nodename, end="", file=self._lock, flush=True)
        password = os.path.join(self._folder.name, "password")
        with open(password, "x", opener=lambda path, flags: os.open(path, flags, 0o600)) as file:
            file.write(secrets.token_hex(32))
        super().__init__(0, password_file=password, shutdown=True, loopback=True, say=_say)
        workers = Factory("local", manager_host_port=f"127.0.0.1:{self.port}", log_file=os.path.join(self._folder.name, "log"))
        workers.password_file = password
        workers.scratch_dir = os.path.join(self._folder.name, "workers")
        workers.cores = cores
        workers.min_workers = workers.max_workers = 1
        workers.cycle = 2  # seconds after which a killed worker is missed
        self._serve()
        try:
            workers.start()
        except BaseException:
            self.close()
            raise
        self._workers = workers

    def close(self) -> None:
        super().close()
        if self._workers is not None:
            self._workers.stop()
            self._workers = None
            self._folder.cleanup()
            self._lock.close()
