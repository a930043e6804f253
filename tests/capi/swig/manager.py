#!/usr/bin/env python3
"""A manager in Python, by the module that SWIG has made of the C headers. Usage: manager.py WORKER VERSION."""
import json
import subprocess
import sys

from cwork_queue import *

worker, version = sys.argv[1:]


def finished(queue):
    """The next task that has ended."""
    task = work_queue_wait(queue, 60)
    assert task is not None, "no task has ended within 60 s"
    return task


assert cctools_version_string() == version
assert cctools_version_cmp(version, "0.0.1") > 0
assert cctools_debug_flags_set("wq") == 1
cctools_debug_config_file("python.log")
assert timestamp_get() > 1_700_000_000_000_000

# As the modules of CCTools call it where no TLS is wanted.
queue = work_queue_ssl_create(0, None, None)
assert work_queue_port(queue) > 0
assert work_queue_enable_monitoring(queue, None, 1) == 1

limits = rmsummary_create(-1)
limits.cores = 1
assert rmsummary_set(limits, "memory", 200) == 1
work_queue_specify_max_resources(queue, limits)
rmsummary_delete(limits)

greets = work_queue_task_create("cat letter piece; echo to $NAME; echo done > answer; exit 3")
work_queue_task_specify_environment_variable(greets, "NAME", "you")
assert work_queue_task_specify_buffer(greets, "hello ", 6, "letter", WORK_QUEUE_NOCACHE)
with open("alphabet", "w") as file:
    file.write("abcdefgh")
assert work_queue_task_specify_file_piece(greets, "alphabet", "piece", 2, 4, WORK_QUEUE_INPUT, WORK_QUEUE_CACHE)
assert work_queue_task_specify_file(greets, "answer.txt", "answer", WORK_QUEUE_OUTPUT,
                                    WORK_QUEUE_CACHE | WORK_QUEUE_WATCH)
ends = work_queue_task_create("no-such-command")
work_queue_task_specify_tag(ends, "ends")
ids = [work_queue_submit(queue, task) for task in (greets, ends)]
assert ids == [1, 2]
assert {status["taskid"] for status in json.loads(work_queue_status(queue, "tasks"))} == set(ids)

runs = subprocess.Popen([worker, "--cores", "2", "-s", ".", "-t", "60", "-b", "2", "localhost", str(work_queue_port(queue))],
                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
try:
    tasks = {task.taskid: task for task in (finished(queue), finished(queue))}
finally:
    runs.terminate()
    runs.wait()
first = tasks[1]
assert first.output == "hello cdeto you\n", first.output
assert (first.result, first.return_status) == (WORK_QUEUE_RESULT_SUCCESS, 3)
assert first.command_line.startswith("cat letter")
allocated = first.resources_allocated
assert allocated.cores == 1 and allocated.memory >= 200, (allocated.cores, allocated.memory)
assert first.resources_measured.memory >= 0 and first.resources_measured.wall_time >= 0
assert first.time_when_submitted <= first.time_when_done <= timestamp_get()
with open("answer.txt") as file:
    assert file.read() == "done\n"
second = tasks[2]
assert (second.tag, second.return_status, work_queue_result_str(second.result)) == ("ends", 127, "SUCCESS")
assert work_queue_empty(queue)
figures = work_queue_stats()
work_queue_get_stats(queue, figures)
assert (figures.tasks_done, figures.tasks_submitted) == (2, 2)
for task in tasks.values():
    work_queue_task_delete(task)

# Arrays of summaries, and the one that ends with NULL.
array = new_rmsummayArray(2)
for number in range(2):
    rmsummayArray_setitem(array, number, rmsummary_create(number))
assert [rmsummayArray_getitem(array, number).cores for number in range(2)] == [0, 1]
for number in range(2):
    rmsummary_delete(rmsummayArray_getitem(array, number))
delete_rmsummayArray(array)
workers = work_queue_workers_summary(queue)
number = 0
while summary := rmsummayArray_getitem(workers, number):
    rmsummary_delete(summary)
    number += 1
delete_rmsummayArray(workers)
work_queue_delete(queue)
print("a manager in Python: 2 tasks")
