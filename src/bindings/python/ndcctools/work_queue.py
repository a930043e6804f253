"""The package work_queue under the name that CCTools has for it."""

from work_queue import *  # noqa: F403
from work_queue import __doc__, __version__  # noqa: F401
from work_queue.constants import *  # noqa: F403
