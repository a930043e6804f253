"""CCTools' name for work_queue.display."""

from work_queue.display import JupyterDisplay, StatusDisplay  # noqa: F401
