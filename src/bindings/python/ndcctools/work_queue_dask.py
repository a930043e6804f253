"""CCTools' name for the queue that runs dask's graphs."""

from work_queue.dask_get import DaskWQ  # noqa: F401
