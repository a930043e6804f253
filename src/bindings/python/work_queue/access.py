"""Who may join a queue, and who may look at it."""

from __future__ import annotations

import warnings

from . import _core
from .task import Path


class Access(_core.Queue):
    """The part of a WorkQueue for passwords and for its listing."""

    def specify_password(self, password: str | bytes) -> None:
        """Workers must know it: `work_queue_worker --password FILE`. Raises ValueError if it is empty."""
        if not password:
            raise ValueError("the password is empty: any worker could join")
        self._password(password)

    def specify_status(self, who: str) -> None:
        """Who may list the queue, with commands: "open" (all, also by curl or CCTools), "key" (who has the key) or "off"."""
        if who not in ("open", "key", "off"):
            raise ValueError(f"{who!r}: give open, key or off")
        self._status_to(who)

    def specify_password_file(self, file: Path) -> int:
        """As specify_password(), from a file, verbatim. Raises RuntimeError if it cannot be read, or others may write it."""
        if warning := self._password_file(file):
            warnings.warn(warning, stacklevel=2)
        return 1
