"""The calls of the Python examples in CCTools' manual, "Managing Resources": see manual_test.py."""

import json
import os

import ndcctools.work_queue as wq
from conftest import run


def test_resources_of_a_task(queue, workers):
    workers.start(queue, "--memory", "4096", "--disk", "8192", "--wall-time", "3600")
    t = wq.Task("echo $CORES $MEMORY $DISK")
    t.specify_cores(1)
    t.specify_memory(1024)
    t.specify_disk(4096)
    t.specify_gpus(0)
    t.specify_running_time_max(100)
    t.specify_running_time_min(10)
    assert run(queue, t).output == "1 2048 4096\n", "half of the worker, since it needs half of its disk"
    asked, got = t.resources_requested, t.resources_allocated
    assert (asked.cores, asked.memory, asked.disk, asked.gpus) == (1, 1024, 4096, 0)
    assert (got.cores, got.memory, got.disk, got.gpus) == (1, 2048, 4096, 0)


def test_monitoring(queue, workers, capsys):
    q = queue
    q.enable_monitoring()
    workers.start(q, "--memory", "1000")
    q.submit(wq.Task("python3 -c 'x = bytearray(50_000_000)'"))
    t = q.wait(60)
    if t:
        print("Task used {} cores, {} MB memory, {} MB disk".format(
            t.resources_measured.cores,
            t.resources_measured.memory,
            t.resources_measured.disk))
        print("Task was allocated {} cores, {} MB memory, {} MB disk".format(
            t.resources_requested.cores,
            t.resources_requested.memory,
            t.resources_requested.disk))
        if t.limits_exceeded and t.limits_exceeded.cores > -1:
            print("Task exceeded its cores allocation.")
    assert t.resources_measured.memory >= 48 and t.resources_measured.cores >= 0 and t.resources_measured.disk >= 0
    assert len(capsys.readouterr().out.splitlines()) == 2
    measured, seconds = t.resources_measured, 0.25
    while measured.bandwidth < 0 and seconds < 60:  # connections are looked at after 0.1 s: it was shorter with Python 3.13
        measured = run(q, wq.Task(f"python3 -c 'import threading; threading.Event().wait({seconds})'")).resources_measured
        seconds *= 4
    for name in ("bandwidth", "bytes_read", "bytes_written", "bytes_sent", "bytes_received", "total_files", "cpu_time", "wall_time"):
        assert getattr(measured, name) >= 0, name
    assert (t.resources_measured.category, t.resources_measured.taskid, t.resources_measured.exit_type) == ("default", "1", "normal")
    assert t.resources_measured.command == t.command and t.resources_measured.last_error == 0
    assert wq.Task("true").resources_measured.exit_type is None


def test_snapshots_and_time_series(queue, workers, tmp_path):
    workers.start(queue)
    queue.enable_monitoring_full("reports")
    events = {"progress": {"delete-if-found": False, "events": [
        {"label": "begun", "on-create": True}, {"label": "half", "pattern": "^half [0-9]+$", "count": 1}]}}
    (tmp_path / "events.json").write_text(json.dumps(events))
    t = wq.Task("echo > progress; sleep 0.7; for n in 1 2; do echo half $n >> progress; done")
    t.specify_snapshot_file("events.json")
    assert run(queue, t).return_status == 0, t.output
    used = t.resources_measured
    assert [one.snapshot_name for one in used.snapshots] == ["begun", "half"] and used.snapshots_count == 2
    assert 0 < used.snapshots[0].wall_time <= used.snapshots[1].wall_time and used.snapshots[1].memory >= 0
    assert used.machine_cpus >= 1 and used.machine_load >= 0 and 0 <= used.peak_times.memory <= used.wall_time
    report = json.loads((tmp_path / "reports" / f"wq-{os.getpid()}-task-1.summary").read_text())
    assert [one["snapshot_name"] for one in report["snapshots"]] == ["begun", "half"] and report["machine_cpus"][0] >= 1
    names, units, *rows = (tmp_path / "reports" / f"wq-{os.getpid()}-task-1.series").read_text().splitlines()
    assert rows and all(len(row.split()) == len(names.split()) - 1 == len(units.split()) - 1 for row in rows)
    assert (tmp_path / "reports" / f"wq-{os.getpid()}-task-1.debug").read_text() == "exit 0\n"
    assert run(queue, wq.Task("true")).resources_measured.snapshots == []


def test_monitoring_ends_tasks_only_with_a_watchdog(queue, workers):
    workers.start(queue, "--memory", "1000")
    grow = "exec python3 -c 'import threading; x = bytearray(300_000_000); print(len(x)); threading.Event().wait(%d)'"
    queue.enable_monitoring()
    t = wq.Task(grow % 60)
    t.specify_memory(100)
    assert run(queue, t).result == wq.WORK_QUEUE_RESULT_RESOURCE_EXHAUSTION
    # The other limits of the manual's Python objects are -1.
    assert t.limits_exceeded.memory >= 100 and t.limits_exceeded.cores == -1
    assert t.resources_measured.limits_exceeded.memory == t.limits_exceeded.memory
    queue.enable_monitoring(watchdog=False)
    twin = t.clone()
    twin.specify_command(grow % 1)
    assert run(queue, twin).output == "300000000\n" and twin.resources_measured.memory > 100


def test_a_report_of_a_task(served, tmp_path):
    t = wq.Task("true")
    t.specify_monitor_output("my-resources-output")
    taskid = served.submit(t)
    assert served.wait(60) is t
    report = json.loads((tmp_path / "my-resources-output" / f"wq-{os.getpid()}-task-{taskid}.summary").read_text())
    assert report["exit_status"] == 0 and report["wall_time"][1] == "s" and report["memory"][1] == "MB"


def test_categories(queue, workers):
    q = queue
    workers.start(q, "--memory", "2048", "--disk", "4096")
    q.specify_category_max_resources('my-category-a', {'cores': 2, 'memory': 1024, 'disk': 2048, 'gpus': 0})
    q.specify_category_max_resources('my-category-b', {'cores': 1})
    q.specify_category_max_resources('my-category-c', {})
    expected = {"my-category-a": "2 2048 4096\n", "my-category-b": "1 1024 2048\n", "my-category-c": "2 2048 4096\n"}
    for name, output in expected.items():
        t = wq.Task("echo $CORES $MEMORY $DISK")
        t.specify_category(name)
        assert run(q, t).output == output, name
    t = wq.Task("echo $CORES $MEMORY $DISK")
    t.specify_category('my-category-a')
    t.specify_cores(1)  # precedes that of the category
    assert run(q, t).output == "1 1024 2048\n" and t.resources_requested.cores == 1


def test_automatic_resources(queue, workers):
    q = queue
    q.enable_monitoring()
    q.specify_category_max_resources('my-category-a', {})
    q.specify_category_mode('my-category-a', q.WORK_QUEUE_ALLOCATION_MODE_MAX_THROUGHPUT)
    q.specify_category_max_resources('my-category-b', {'cores': 2})
    q.specify_category_mode('my-category-b', q.WORK_QUEUE_ALLOCATION_MODE_MAX_THROUGHPUT)
    q.specify_category_min_resources('my-category-a', {'memory': 512})
    q.tune("category-steady-n-tasks", 5)
    workers.start(q, "--memory", "2048", "--disk", "20000")
    allocated = []
    for number in range(16):
        t = wq.Task("true")
        t.specify_category("my-category-a")
        allocated.append(run(q, t).resources_allocated)
    assert (allocated[0].cores, allocated[0].memory) == (2, 2048), "a whole worker, until something is known"
    assert 512 <= allocated[-1].memory < 2048 and allocated[-1].cores == 1
    names = {one["category"] for one in q.status("categories")} - {"default"}
    assert names == {"my-category-a", "my-category-b", "whole queue"}
