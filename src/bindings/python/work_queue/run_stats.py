"""What a run has recorded: a table of its attempts, with commands, hosts and workers; and its figures."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from typing import Any

from .task import Path

_UNKNOWN = 2**32 - 1  # a worker's id in /tasks
_NEVER_RAN = "never_ran"


def read_run(run: Path) -> dict[str, Any]:
    """The figures of a run, as `work_queue_report --json` prints them: what became of its core time, failures with examples,
    categories, hosts, the slowest tasks, advice. The run may be live.

    >>> figures = wq.read_run("tasks.sh.wq")
    >>> {line["title"]: line["percent"] for line in figures["account"]["lines"] if line["percent"] > 0}

    `run`: a run directory, a statistics file (stats.h5) or a transactions log. share/doc/reports.md has the keys; None means: not
    recorded. Needs the command work_queue_report in PATH. Raises OSError if there is none, or if the run cannot be read.
    """
    program = shutil.which("work_queue_report")
    if program is None:
        raise OSError("read_run() needs the command work_queue_report in PATH")
    done = subprocess.run([program, "--json", os.fsdecode(run)], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise OSError(done.stderr.strip() or f"{program} ended with code {done.returncode}")
    return json.loads(done.stdout)  # type: ignore[no-any-return]


def read_stats(run: Path) -> Any:
    """The attempts of a run that have ended, in the order of their ends: a pandas.DataFrame, or without pandas a numpy array of
    records. Needs h5py. The run may be live.

    >>> tasks = wq.read_stats("tasks.sh.wq")
    >>> tasks.sort_values("wall").tail(3)[["command", "host", "wall"]]

    `run`: a run directory, or a statistics file (stats.h5). Columns are those of /tasks in share/doc/statistics.md, but names
    stand for numbers in `ending` and `category`, and `worker` is a row of /workers, which no other worker of the run has, in
    any session; -1: none or unknown. Besides, `command` is that of joblog.tsv ("" without one), `host` that of the worker.
    Raises OSError if the file cannot be read.
    """
    try:
        import h5py  # type: ignore[import-untyped,unused-ignore]
    except ImportError as error:
        raise ImportError("read_stats() needs h5py (Debian: python3-h5py, run by /usr/bin/python3; else: pip install h5py)") from error
    import numpy

    path = os.fsdecode(run)
    if os.path.isdir(path):
        path = os.path.join(path, "stats.h5")
    with h5py.File(path, "r", swmr=True) as file:
        tasks, workers, categories = (file[name][:] for name in ("tasks", "workers", "categories"))
        endings = {number: name for name, number in h5py.check_enum_dtype(file["tasks"].dtype["ending"]).items()}
    columns = {name: tasks[name] for name in tasks.dtype.names if name != "reserved"}
    for name in ("task", "line"):  # unsigned in older files
        columns[name] = columns[name].astype("i8")
    names = dict(zip(categories["category"].tolist(), _texts(categories["name"])))
    columns["category"] = numpy.array([names.get(one, "") for one in tasks["category"].tolist()], object)
    columns["ending"] = numpy.array([endings[one] for one in tasks["ending"].tolist()], object)
    columns["worker"] = _rows_of_workers(tasks, workers, columns["ending"])
    hosts = [*_texts(workers["host"]), ""]
    columns["host"] = numpy.array([hosts[row] for row in columns["worker"].tolist()], object)
    columns["command"] = numpy.array(_commands(os.path.join(os.path.dirname(path), "joblog.tsv"), columns["task"].tolist()), object)
    try:
        import pandas  # type: ignore[import-untyped,unused-ignore]
    except ImportError:
        table = numpy.empty(len(tasks), [(name, column.dtype) for name, column in columns.items()])
        for name, column in columns.items():
            table[name] = column
        return table
    return pandas.DataFrame(columns)


def _texts(column: Any) -> list[str]:
    return [text.decode("utf-8", "replace") for text in column.tolist()]


def _rows_of_workers(tasks: Any, workers: Any, endings: Any) -> Any:
    """Ids begin anew in each session: of those with the id, the last worker that had joined before the attempt's end."""
    import numpy

    rows = numpy.full(len(tasks), -1)
    ran = (tasks["worker"] != _UNKNOWN) & (endings != _NEVER_RAN)
    for worker in numpy.unique(tasks["worker"][ran]):
        of_id = numpy.flatnonzero(workers["worker"] == worker)
        of_id = of_id[numpy.argsort(workers["joined"][of_id], kind="stable")]
        its = numpy.flatnonzero(ran & (tasks["worker"] == worker))
        if len(of_id):
            places = numpy.searchsorted(workers["joined"][of_id], tasks["received"][its], "right") - 1
            rows[its] = of_id[numpy.maximum(places, 0)]
    return rows


def _commands(joblog: str, numbers: list[int]) -> list[str]:
    """Of the tasks with these numbers. An edited list may have given a number to another task later, so where the lines are as
    many as the attempts, each has its own."""
    try:
        with open(joblog, encoding="utf-8", errors="surrogateescape") as file:
            lines = [line.rstrip("\n").split("\t", 8) for line in file][1:]
    except FileNotFoundError:
        return [""] * len(numbers)
    lines = [line for line in lines if len(line) == 9]  # the last one may be written now
    if [line[0] for line in lines] == [str(number) for number in numbers]:
        return [line[8] for line in lines]
    known = {line[0]: line[8] for line in lines}
    return [known.get(str(number), "") for number in numbers]
