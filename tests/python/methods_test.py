"""Methods and properties that the manual's examples do not show, each with its effect."""

import json
import os
import sys
import time

import pytest

import work_queue as wq
from conftest import finish, python, run


# ---- files of tasks ----


def test_pieces_folders_and_buffers(served, tmp_path):
    (tmp_path / "digits").write_text("0123456789")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "inside").write_text("kept\n")
    t = wq.Task("cat digits part text; echo; ls empty | wc -l; cat full/inside; ls; mkdir made; echo new > made/file")
    t.specify_file("digits")
    t.specify_file_piece("digits", "part", 2, 4)
    t.specify_buffer("text", "text", cache=True)
    t.specify_directory("full", "empty")
    t.specify_directory(str(tmp_path / "full") + "/", recursive=True)
    t.specify_directory("back", "made", type=wq.WORK_QUEUE_OUTPUT)
    output = run(served, t).output.splitlines()
    assert output[:3] == ["0123456789234text", "0", "kept"] and set(output[3:]) >= {"digits", "empty", "full", "part", "text"}
    assert (tmp_path / "back" / "file").read_text() == "new\n"
    with pytest.raises(ValueError, match="0 <= start_byte <= end_byte"):
        t.specify_file_piece("digits", "part", 4, 2)


def test_cached_buffers_are_known_by_their_content(served):
    for text in ("one", "two", "one"):
        t = wq.Task("cat data")
        t.specify_buffer(text, "data", cache=True)
        assert run(served, t).output == text


def test_inputs_that_changed_are_sent_again(served, tmp_path):
    for text in ("old", "new and longer"):
        (tmp_path / "file").write_text(text)
        served.invalidate_cache_file("file")
        t = wq.Task("cat file")
        t.specify_input_file("file", cache=True)
        assert run(served, t).output == text


def test_missing_files(served):
    t = wq.Task("true")
    t.specify_input_file("missing")
    assert run(served, t).result == wq.WORK_QUEUE_RESULT_INPUT_MISSING
    assert (t.return_status, t.output) == (-1, "") and "missing" in t.reason
    t = wq.Task("echo said; echo here > here; exit 3")
    t.specify_output_file("nowhere")
    t.specify_output_file("here")
    assert run(served, t).result == wq.WORK_QUEUE_RESULT_OUTPUT_MISSING
    assert (t.return_status, t.output, open("here").read()) == (3, "said\n", "here\n")


# ---- how and when tasks run ----


def test_signals_are_results(served):
    t = run(served, wq.Task("kill -9 $$"))
    assert (t.result, t.result_str, t.return_status) == (wq.WORK_QUEUE_RESULT_SIGNAL, "SIGNAL", 9)
    assert run(served, wq.Task("no-such-command")).return_status == 127


def test_features(queue, workers):
    t = wq.Task("echo fast")
    t.specify_feature("fast")
    queue.submit(t)
    workers.start(queue)
    until = time.monotonic() + 60
    while "no worker is connected" in queue.why(t.id) and time.monotonic() < until:
        assert queue.wait(0.1) is None
    assert "fast" in queue.why(t.id)
    workers.start(queue, "--feature", "fast")
    assert queue.wait(60) is t and t.output == "fast\n"


def test_gpus(queue, workers):
    workers.start(queue, "--gpus", "2")
    t = wq.Task("echo $GPUS $CUDA_VISIBLE_DEVICES")
    t.specify_gpus(1)
    assert run(queue, t).output.split()[0] == "1" and t.resources_allocated.gpus == 1
    t = wq.Task("echo $GPUS ${CUDA_VISIBLE_DEVICES:-none}")
    assert run(queue, t).output == "0 none\n"


def test_times(served):
    forever = "exec tail -f /dev/null"
    t = wq.Task(forever)
    t.specify_running_time(700_000)
    assert run(served, t).result == wq.WORK_QUEUE_RESULT_TASK_MAX_RUN_TIME and t.return_status == 9
    t = wq.Task(forever)
    t.specify_end_time((time.time() + 3) * 1e6)  # by then it has begun
    assert run(served, t).result == wq.WORK_QUEUE_RESULT_TASK_TIMEOUT and t.return_status == 9
    t = wq.Task("true")
    t.specify_end_time(1)
    assert run(served, t).result == wq.WORK_QUEUE_RESULT_TASK_TIMEOUT and t.return_status == -1
    t = wq.Task("true")
    earliest = (time.time() + 0.7) * 1e6
    t.specify_start_time_min(earliest)
    assert run(served, t).execute_cmd_start >= earliest


def test_workers_that_end_too_soon(queue, workers):
    workers.start(queue, "--wall-time", "3600")
    t = wq.Task("true")
    t.specify_running_time_min(7200)
    queue.submit(t)
    assert queue.wait(1) is None and queue.why(t.id)
    queue.cancel_by_taskid(t.id)
    t.specify_running_time_min(10)
    assert run(queue, t).return_status == 0


def test_environment_variables(served):
    t = wq.Task('echo "$A|${HOME-unset}|$B"')
    t.specify_environment_variable("A", "a b")
    t.specify_environment_variable("B", 3)
    t.specify_environment_variable("HOME")
    assert run(served, t).output == "a b|unset|3\n"


def test_properties_of_a_task(served, tmp_path):
    t = wq.Task("echo said")
    assert (t.id, t.output, t.std_output, t.return_status, t.host, t.hostname) == (0, None, None, -1, None, None)
    assert (t.tag, t.category, t.priority, t.command, t.algorithm) == ("", "default", 0, "echo said", wq.WORK_QUEUE_SCHEDULE_UNSET)
    t.specify_algorithm(wq.WORK_QUEUE_SCHEDULE_FCFS)
    t.specify_priority(2.5)
    t.specify_category("kind")
    assert (t.algorithm, t.priority, t.category) == (wq.WORK_QUEUE_SCHEDULE_FCFS, 2.5, "kind")
    begun = time.time() * 1e6
    run(served, t)
    order = [begun, t.submit_time, t.send_input_start, t.execute_cmd_start, t.finish_time, time.time() * 1e6]
    assert order == sorted(order)
    # The worker counts the time of a run from a little before its start.
    assert t.execute_cmd_start < t.execute_cmd_finish < t.finish_time + 10_000
    assert t.send_input_finish == t.execute_cmd_start and t.receive_output_start == t.execute_cmd_finish
    assert t.receive_output_finish == t.finish_time and t.submit_time <= t.finish_time
    assert t.cmd_execution_time == t.total_cmd_execution_time > 0 and t.total_cmd_exhausted_execute_time == 0
    assert t.total_transfer_time >= 0 and t.app_delay >= 0
    assert t.total_bytes_received == t.total_bytes_transferred == len("said\n") and t.total_bytes_sent == 0
    assert (t.total_submissions, t.exhausted_attempts) == (1, 0)
    assert t.host.rpartition(":")[2].isdigit() and t.hostname == os.uname().nodename
    assert t.resources_measured.wall_time > 0 and t.limits_exceeded is None and t.resources_measured.limits_exceeded is None
    assert repr(t) == "<Task 1 'echo said', succeeded>"
    with pytest.raises(AttributeError, match="there is no resource 'memry'"):
        t.resources_measured.memry


# ---- categories ----


def test_resources_of_the_default_category(queue, workers):
    queue.specify_max_resources({"cores": 1})
    queue.specify_min_resources({"memory": 800})
    workers.start(queue, "--memory", "1000", "--disk", "1000")
    t = run(queue, wq.Task("true"))
    assert t.resources_allocated.memory >= 800


def test_first_guesses(queue, workers):
    queue.enable_monitoring()
    queue.specify_category_mode("a", wq.WORK_QUEUE_ALLOCATION_MODE_MIN_WASTE)
    queue.specify_category_first_allocation_guess("a", {"cores": 1, "memory": 300, "disk": 100})
    queue.specify_category_autolabel_resource("a", "disk", False)
    workers.start(queue, "--memory", "1000", "--disk", "1000")
    t = wq.Task("true")
    t.specify_category("a")
    assert run(queue, t).resources_allocated.memory in (300, 500) and t.resources_allocated.cores == 1
    for wrong in (9, -1, "max"):
        with pytest.raises(ValueError, match="mode is"):
            queue.specify_category_mode("a", wrong)
    with pytest.raises(ValueError, match="unknown resource 'time'"):
        queue.specify_category_autolabel_resource("a", "time", True)


def test_concurrent_tasks_of_a_category(queue, workers, tmp_path):
    queue.specify_category_max_concurrent("a", 1)
    for _ in range(6):
        t = wq.Task(f"mkdir {tmp_path}/lock && rmdir {tmp_path}/lock")
        t.specify_category("a")
        t.specify_cores(1)
        queue.submit(t)
    workers.start(queue, cores=4)
    assert [t.return_status for t in finish(queue)] == 6 * [0]


def test_measurements_of_an_earlier_run(queue, workers, tmp_path):
    queue.enable_monitoring_full("reports")
    workers.start(queue, "--memory", "4000")
    for _ in range(3):
        t = wq.Task("true")
        t.specify_category("a")
        run(queue, t)
    queue.close()
    summaries = tmp_path / "reports" / f"wq-{os.getpid()}.summaries"
    assert summaries.exists()
    with wq.WorkQueue(0, say=lambda line: None) as later:
        later.initialize_categories(summaries, {"cores": 1, "memory": 700})
        found = {one["category"]: one for one in later.status("categories")}
        assert found["a"]["max_memory"] == "700" and found["a"]["max_cores"] == "1"
        with pytest.raises(FileNotFoundError):
            later.initialize_categories("missing", None)
    (tmp_path / "file").touch()
    with pytest.raises(FileExistsError), wq.WorkQueue(0) as other:
        other.enable_monitoring("file")


# ---- workers and hosts ----


def test_states_of_a_task(queue, workers):
    first = queue.submit(wq.Task("echo a"))
    assert queue.task_state(first) == wq.WORK_QUEUE_TASK_READY
    workers.start(queue)
    queue.wait(60)
    assert queue.task_state(first) == wq.WORK_QUEUE_TASK_DONE and queue.task_state(99) == wq.WORK_QUEUE_TASK_UNKNOWN
    second = queue.submit(wq.Task("exec tail -f /dev/null"))
    while queue.stats.tasks_running == 0:
        assert queue.wait(0.1) is None
    assert queue.task_state(second) == wq.WORK_QUEUE_TASK_RUNNING
    assert queue.stats.workers_busy == 1 and queue.stats.committed_cores == 2
    queue.cancel_by_taskid(second)
    assert queue.task_state(second) == wq.WORK_QUEUE_TASK_CANCELED


def test_workers_end_when_asked(served, workers):
    run(served, wq.Task("true"))
    assert served.stats.total_cores == 2
    assert served.shutdown_workers(0) == 1
    assert workers.all[0].wait(60) == 0
    workers.start(served)
    hostname = run(served, wq.Task("true")).hostname
    assert served.specify_draining_by_hostname(hostname) == 1
    assert workers.all[1].wait(60) == 0


def test_workers_end_with_the_queue(workers):
    for shutdown in (True, False):
        with wq.WorkQueue(0, shutdown=shutdown, say=lambda line: None) as q:
            worker = workers.start(q)
            run(q, wq.Task("true"))
        if shutdown:
            assert worker.wait(60) == 0
        else:
            assert worker.poll() is None


def test_blocked_hosts(served):
    hostname = run(served, wq.Task("true")).hostname
    for seconds in (3, 2):
        served.block_host_with_timeout(hostname, seconds)
        assert served.blocked_hosts == [hostname]
        assert run(served, wq.Task("true")).return_status == 0, "then it is blocked no more"
    served.block_host(hostname)
    served.blacklist_with_timeout("other", 100)
    assert sorted(served.blocked_hosts) == sorted([hostname, "other"])
    served.unblock_host("other")
    assert served.blocked_hosts == [hostname]
    served.unblock_host()
    assert served.blocked_hosts == []


def test_fast_abort_of_one_category(queue, workers, tmp_path):
    queue.activate_fast_abort_category("slow", 2)
    workers.start(queue, cores=1)
    for number in range(11):
        t = wq.Task("true" if number < 10 else f"mkdir {tmp_path}/first 2>&- && exec tail -f /dev/null; echo second")
        t.specify_category("slow")
        run(queue, t)
    assert (t.output, t.total_submissions) == ("second\n", 2)


# ---- the queue ----


def test_what_a_queue_tells(served):
    run(served, wq.Task("true"))
    assert served.stats_hierarchy is served.stats and served.stats_category("default") is served.stats_category("default")
    assert served.stats.as_dict()["tasks_done"] == 1 and repr(served.stats).startswith("Statistics(workers_connected=1")
    for old, name in (("total_tasks_complete", "tasks_done"), ("workers_ready", "workers_idle"), ("total_bytes_received", "bytes_received"),
                      ("start_time", "time_when_started"), ("capacity", "capacity_cores")):
        assert getattr(served.stats, old) == getattr(served.stats, name), old
    stats = served.stats
    assert stats.efficiency == 1 and stats.idle_percentage == 1 - stats.manager_load
    assert stats.total_good_transfer_time == stats.time_send_good + stats.time_receive_good
    with pytest.raises(AttributeError, match="no attribute 'total_nonsense'"):
        stats.total_nonsense
    assert served.application_info() is None
    assert json.loads(json.dumps(served.status("queue")))[0]["port"] == served.port
    assert any(address.endswith(f":{served.port}") for address in served.addresses)
    with pytest.raises(ValueError, match="give queue, tasks, workers or categories"):
        served.status("machines")
    assert bool(served) and len(served) == 0


def test_figures_of_a_run(tmp_path, monkeypatch):
    log = tmp_path / "my.tr.log"
    log.write_text("""# time manager_pid MANAGER START|END

1599244364466426 16444 MANAGER START
1599244364466668 16444 WORKER worker-1 10.32.79.143:48268 CONNECTION
1599244364466769 16444 WORKER worker-1 RESOURCES {"memory":[2048,"MB"],"disk":[8192,"MB"],"gpus":[0,"gpus"],"cores":[4,"cores"]}
1599244400311044 16444 TASK 1 WAITING default FIRST_RESOURCES {"cores":[4,"cores"]}
1599244400311044 16444 TASK 1 RUNNING 10.32.79.143:48268  FIRST_RESOURCES {"cores":[4,"cores"]}
1599244401311044 16444 TASK 1 WAITING_RETRIEVAL 10.32.79.143:48268
1599244401311052 16444 TASK 1 RETRIEVED SUCCESS  0  {} {}
1599244401311060 16444 TASK 1 DONE SUCCESS  0  {} {}
""")
    monkeypatch.setenv("PATH", os.path.dirname(os.environ["WORKER"]), prepend=os.pathsep)
    figures = wq.read_run(log)
    assert figures["tasks"]["succeeded"] == 1
    account = figures["account"]
    assert sum(line["core_seconds"] for line in account["lines"]) == pytest.approx(account["offered_core_seconds"])
    with pytest.raises(OSError, match="none"):
        wq.read_run(tmp_path / "none")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(OSError, match="needs the command work_queue_report"):
        wq.read_run(log)


@pytest.mark.parametrize("pandas", [True, False])
def test_a_table_of_what_a_run_has_recorded(workers, tmp_path, monkeypatch, pandas):
    numpy = pytest.importorskip("numpy", reason="SKIP: read_stats() needs numpy")
    pytest.importorskip("h5py", reason="SKIP: read_stats() needs h5py (Debian: python3-h5py)")
    from work_queue import run_stats

    if not pandas:
        monkeypatch.setitem(sys.modules, "pandas", None)
    with wq.WorkQueue(0, stats_log=tmp_path / "stats.h5", say=lambda line: None) as q:
        workers.start(q)
        for command in ("true", "exit 3"):
            t = wq.Task(command)
            t.category = command.replace(" ", "-")
            run(q, t)
    head = "Seq\tHost\tStarttime\tJobRuntime\tSend\tReceive\tExitval\tSignal\tCommand\n"
    (tmp_path / "joblog.tsv").write_text(head + "".join(f"{n}\th\t0\t0\t0\t0\t0\t0\tcommand\t{n}\n" for n in (1, 2)))
    table = wq.read_stats(tmp_path)
    rows = [tuple(table[name][row] for name in ("task", "command", "category", "ending", "exit_code", "worker", "host")) for row in (0, 1)]
    host = os.uname().nodename
    assert rows == [(1, "command\t1", "true", "exited", 0, 0, host), (2, "command\t2", "exit-3", "exited", 3, 0, host)]
    (tmp_path / "joblog.tsv").unlink()
    assert list(wq.read_stats(tmp_path / "stats.h5")["command"]) == ["", ""]
    with pytest.raises(OSError):
        wq.read_stats(tmp_path / "none.h5")
    # Ids of workers begin anew in a session.
    joined = numpy.array([(0, 100), (1, 110), (0, 200)], [("worker", "u4"), ("joined", "i8")])
    ended = numpy.array([(0, 150), (1, 150), (0, 250), (0, 300), (2**32 - 1, 300)], [("worker", "u4"), ("received", "i8")])
    endings = numpy.array(["exited", "exited", "exited", "never_ran", "worker_lost"], object)
    assert run_stats._rows_of_workers(ended, joined, endings).tolist() == [0, 1, 2, -1, -1]


def test_waiting_for_no_time(queue):
    """As in Work Queue, 0 is a second."""
    queue.submit(wq.Task("true"))
    begun = time.monotonic()
    assert queue.wait(0) is None and queue.wait_for_tag("other", 0) is None
    assert 1 <= time.monotonic() - begun < 20


def test_what_is_shown_while_waiting(workers, capsys):
    with wq.WorkQueue(0, status_display_interval=0.1, say=lambda line: None) as q:
        q.submit(wq.Task("true"))
        assert q.wait(0.35) is None
        assert "1 waiting, 0 running, 0 done, 0 workers" in capsys.readouterr().err
        workers.start(q)
        assert q.wait(60).return_status == 0


def test_what_is_shown_while_nothing_can_come(capsys):
    with wq.WorkQueue(0, status_display_interval=60, say=lambda line: None) as q:
        task = wq.Task("true")
        task.specify_tag("a")
        q.submit(task)
        assert q.wait_for_tag("b") is None and q.wait_for_tag("b", 50) is None
        assert capsys.readouterr().err == ""
    for interval in (-1, float("nan")):
        with pytest.raises(ValueError, match="status_display_interval is .*: give seconds"):
            wq.WorkQueue(0, status_display_interval=interval)


def test_signs_of_life(queue):
    queue.specify_keepalive_interval(10)
    queue.specify_keepalive_timeout(20)
    assert queue.hungry() > 0
    queue.specify_keepalive_interval(30)
    with pytest.raises(ValueError, match="0 seconds or more"):
        queue.specify_keepalive_timeout(-1)


def test_calls_without_effect(queue):
    """Programs cannot miss them."""
    for call, words in ((queue.specify_algorithm, (wq.WORK_QUEUE_SCHEDULE_FCFS,)), (queue.specify_task_order, (wq.WORK_QUEUE_TASK_ORDER_LIFO,)),
                        (queue.specify_manager_mode, (wq.WORK_QUEUE_MASTER_MODE_CATALOG,)), (queue.estimate_capacity, ())):
        assert call(*words) is None


def test_statistics_name_the_queue(queue):
    queue.specify_priority(3)
    assert (queue.stats.port, queue.stats.priority, queue.stats.total_gpus) == (queue.port, 3, 0)
    assert queue.stats.as_dict()["port"] == queue.port


def test_wait_may_gather_all_results(served):
    served.tune("wait-retrieve-many", 1)
    for _ in range(3):
        served.submit(wq.Task("sleep 0.2"))
    began = time.monotonic()
    assert served.wait(60).return_status == 0
    assert served.stats.tasks_with_results == 2 and time.monotonic() - began < 50
    endless = wq.Task("exec tail -f /dev/null")
    endless.specify_cores(1)
    served.submit(endless)
    began = time.monotonic()
    assert served.wait(0.5).return_status == 0 and time.monotonic() - began >= 0.5
    assert served.map(len, ["a", "bc"]) == [1, 2]


def test_workers_of_a_queue(queue, workers):
    assert queue.status("workers") == [] == queue.workers_summary()
    before = time.time() * 1e6
    for number in range(2):
        workers.start(queue, "--memory", "500", "--disk", "100")
    workers.start(queue, "--memory", "300", "--disk", "100", cores=1)
    os.mkfifo("pipe")
    task = wq.Task(f"read word < {os.path.abspath('pipe')}")
    task.specify_tag("waits")
    task.specify_category("reads")
    task.specify_cores(2)
    task.specify_memory(400)
    task.specify_disk(10)
    queue.submit(task)
    while queue.stats.workers_connected < 3 or queue.stats.tasks_running < 1:
        assert queue.wait(0.05) is None
    found = sorted(queue.status("workers"), key=lambda one: (one["memory_total"], one["total_tasks_running"]))
    assert [(one["cores_total"], one["cores_inuse"], one["memory_total"], one["memory_inuse"], one["disk_total"], one["disk_inuse"],
             one["gpus_total"], one["total_tasks_running"], one["connected"]) for one in found] == [
                 (1, 0, 300, 0, 100, 0, 0, 0, True), (2, 0, 500, 0, 100, 0, 0, 0, True),
                 (2, 2, 500, 500, 100, 100, 0, 1, True)]  # all of it, in proportion to the cores
    assert {one["hostname"] for one in found} == {os.uname().nodename} and len({one["workerid"] for one in found}) == 3
    busy = found[2]
    assert (busy["os"], busy["arch"], busy["ncpus"], busy["total_tasks_complete"]) == (os.uname().sysname, os.uname().machine, 2, 0)
    assert all(one["address_port"].startswith("127.0.0.1:") for one in found) and len({one["address_port"] for one in found}) == 3
    assert before < busy["start_time"] < busy["current_time"] and isinstance(busy["features"], list)
    assert (busy["current_task_000_id"], busy["current_task_000_command"]) == (task.id, task.command) and "current_task_001_id" not in busy
    assert not any(key.startswith("current_task") for one in found[:2] for key in one)
    assert (busy["cores_smallest"], busy["cores_largest"], busy["workers_total"], busy["workers_inuse"]) == (2, 2, 1, 1)
    assert sorted(queue.workers_summary(), key=lambda one: one["cores"]) == [
        {"workers": 1, "cores": 1, "memory": 300, "disk": 100, "gpus": 0}, {"workers": 2, "cores": 2, "memory": 500, "disk": 100, "gpus": 0}]
    waiting = wq.Task("true")
    waiting.specify_memory(600)
    queue.submit(waiting)
    running, other = queue.status("tasks")
    assert {key: running.pop(key) for key in ("address_port", "host")} == {"address_port": busy["address_port"], "host": busy["hostname"]}
    assert before < running.pop("time_when_submitted") <= running.pop("time_when_commit_start") < running.pop("current_time")
    assert running == {"taskid": task.id, "state": "RUNNING", "command": task.command, "category": "reads", "priority": 0, "tag": "waits",
                       "cores": 2, "memory": 500, "disk": 100, "gpus": 0}
    assert other == {"taskid": waiting.id, "state": "WAITING", "command": "true", "category": "default", "priority": 0,
                     "cores": -1, "memory": 600, "disk": -1, "gpus": -1}
    whole = queue.status("queue")[0]
    assert [whole[f"{name}_{of}"] for name in ("workers", "cores", "memory", "disk", "gpus") for of in ("total", "inuse", "smallest", "largest")] == [
        3, 1, 1, 1, 5, 2, 1, 2, 1300, 500, 300, 500, 300, 100, 100, 100, 0, 0, 0, 0]
    assert (whole["type"], whole["ssl"], whole["working_dir"], whole["workers_blocked"]) == ("wq_master", False, os.getcwd(), [])
    assert whole["starttime"] == whole["time_when_started"] // 10**6 and whole["tasks_complete"] == whole["tasks_done"] == 0
    queue.block_host("elsewhere")
    whole = queue.status("queue")[0]
    assert whole["workers_blocked"] == ["elsewhere"] and whole["categories"] == queue.status("categories")
    assert whole["categories"][-1]["category"] == "whole queue" and whole["categories"][-1]["tasks_waiting"] == 1
    queue.cancel_by_taskid(waiting.id)
    for request in "categories", "wable_resources":
        (reads,) = [one for one in queue.status(request) if one["category"] == "reads"]
        assert (reads["tasks_running"], reads["tasks_waiting"], reads["fit_workers"], reads["max_memory"]) == (1, 0, 2, "400")
    with open("pipe", "w") as pipe:
        pipe.write("word\n")
    assert queue.wait(60) is task and task.return_status == 0


def test_ids_that_begin_higher(served):
    assert served.submit(wq.Task("true")) == 1
    assert served.specify_min_taskid(100) == 100 == served.specify_min_taskid(50)
    tasks = [wq.Task("true") for _ in range(3)]
    for number, task in enumerate(tasks):
        task.specify_tag(str(number))
        assert served.submit(task) == 100 + number == task.id
    assert served.cancel_by_taskid(101) is tasks[1] and served.cancel_by_taskid(2) is None
    assert sorted(task.id for task in finish(served)) == [1, 100, 102]
    assert served.submit(wq.Task("true")) == 103


def test_settings_for_all_queues(tmp_path):
    ended = python("import work_queue as wq\nwq.specify_debug_log('all.log')\nwq.set_debug_flag('all')\nwq.specify_port_range(20000, 30000)\n"
                   "q = wq.WorkQueue(0, say=lambda line: None)\nq.hungry()\nprint(q.port)\nq.close()\n"
                   "import os\nprint(int(os.path.exists('all.log')))", cwd=tmp_path)
    port, exists = map(int, ended.stdout.split())
    assert 20000 <= port <= 30000 and exists
    with pytest.raises(ValueError, match="0 < low <= high < 65536"):
        wq.specify_port_range(30000, 20000)


def test_a_password_of_the_program(queue, workers, tmp_path):
    (tmp_path / "secret").write_text("secret")
    with pytest.raises(ValueError, match="the password is empty"):
        queue.specify_password("")
    queue.specify_password("secret")
    workers.start(queue, "--password", "secret")
    assert run(queue, wq.Task("echo in")).output == "in\n"


def test_a_contact_file(workers, tmp_path):
    with wq.WorkQueue(0, contact_file=tmp_path / "contact", say=lambda line: None) as q:
        assert q.hungry() > 0
        workers.start_at("--contact", str(tmp_path / "contact"))
        assert run(q, wq.Task("echo in")).output == "in\n"
