"""All names of CCTools' module, with its names and defaults of arguments; ours may have more arguments behind them."""

import inspect
import pydoc

import pytest

import ndcctools.work_queue
import work_queue as wq

TASK = """
specify_command(self, command)
specify_coprocess(self, coprocess)
clone(self)
specify_algorithm(self, algorithm)
specify_tag(self, tag)
specify_category(self, name)
specify_feature(self, name)
specify_file(self, local_name, remote_name=None, type=None, flags=None, cache=None, failure_only=None)
specify_url(self, url, remote_name, type=None, flags=None, cache=None, failure_only=None)
specify_file_command(self, cmd, remote_name, type=None, flags=None, cache=None, failure_only=None)
specify_file_piece(self, local_name, remote_name=None, start_byte=0, end_byte=0, type=None, flags=None, cache=None, failure_only=None)
specify_input_file(self, local_name, remote_name=None, flags=None, cache=None)
specify_output_file(self, local_name, remote_name=None, flags=None, cache=None, failure_only=None)
specify_directory(self, local_name, remote_name=None, type=None, flags=None, recursive=False, cache=None, failure_only=None)
specify_buffer(self, buffer, remote_name, flags=None, cache=None)
specify_snapshot_file(self, filename)
specify_max_retries(self, max_retries)
specify_cores(self, cores)
specify_memory(self, memory)
specify_disk(self, disk)
specify_gpus(self, gpus)
specify_priority(self, priority)
specify_end_time(self, useconds)
specify_start_time_min(self, useconds)
specify_running_time(self, useconds)
specify_running_time_max(self, seconds)
specify_running_time_min(self, seconds)
specify_environment_variable(self, name, value=None)
specify_monitor_output(self, directory)
"""
TASK_PROPERTIES = """
tag category command priority algorithm std_output output id return_status result result_str exhausted_attempts host
hostname submit_time finish_time total_cmd_exhausted_execute_time app_delay send_input_start send_input_finish
execute_cmd_start execute_cmd_finish receive_output_start receive_output_finish total_bytes_received total_bytes_sent
total_bytes_transferred total_transfer_time cmd_execution_time total_cmd_execution_time resources_measured
limits_exceeded resources_requested resources_allocated
"""
# map() and its relatives find a chunksize by measurement unless one is given.
QUEUE = """
__init__(self, port=9123, name=None, shutdown=False, stats_log=None, transactions_log=None, debug_log=None, ssl=None, status_display_interval=None)
__enter__(self)
__exit__(self)
stats_category(self, category)
status(self, request)
workers_summary(self)
application_info(self)
specify_category_mode(self, category, mode)
specify_category_autolabel_resource(self, category, resource, autolabel)
task_state(self, taskid)
enable_monitoring(self, dirname=None, watchdog=True)
enable_monitoring_full(self, dirname=None, watchdog=True)
activate_fast_abort(self, multiplier)
activate_fast_abort_category(self, name, multiplier)
specify_draining_by_hostname(self, hostname, drain_mode=True)
empty(self)
hungry(self)
specify_algorithm(self, algorithm)
specify_task_order(self, order)
specify_name(self, name)
specify_manager_preferred_connection(self, mode)
specify_master_preferred_connection(self, mode)
specify_min_taskid(self, minid)
specify_priority(self, priority)
specify_num_tasks_left(self, ntasks)
specify_manager_mode(self, mode)
specify_master_mode(self, mode)
specify_catalog_server(self, hostname, port)
specify_log(self, logfile)
specify_transactions_log(self, logfile)
specify_password(self, password)
specify_password_file(self, file)
specify_max_resources(self, rmd)
specify_min_resources(self, rmd)
specify_category_max_resources(self, category, rmd)
specify_category_min_resources(self, category, rmd)
specify_category_first_allocation_guess(self, category, rmd)
specify_category_max_concurrent(self, category, max_concurrent)
initialize_categories(self, filename, rm)
cancel_by_taskid(self, id)
cancel_by_tasktag(self, tag)
cancel_by_category(self, category)
shutdown_workers(self, n)
block_host(self, host)
blacklist(self, host)
block_host_with_timeout(self, host, timeout)
blacklist_with_timeout(self, host, timeout)
unblock_host(self, host=None)
blacklist_clear(self, host=None)
invalidate_cache_file(self, local_name)
specify_keepalive_interval(self, interval)
specify_keepalive_timeout(self, timeout)
estimate_capacity(self)
tune(self, name, value)
submit(self, task)
wait(self, timeout=-1)
wait_for_tag(self, tag, timeout=-1)
map(self, fn, seq, chunksize)
pair(self, fn, seq1, seq2, chunksize)
tree_reduce(self, fn, seq, chunksize)
treeReduce(self, fn, seq, chunksize)
remote_map(self, fn, seq, coprocess, name, chunksize=1)
remote_pair(self, fn, seq1, seq2, coprocess, name, chunksize=1)
remote_tree_reduce(self, fn, seq, coprocess, name, chunksize=2)
"""
FUNCTION_TASK = """
__init__(self, func)
specify_environment(self, env_file)
specify_package(self, env_file)
"""
REMOTE_TASK = """
__init__(self, fn, coprocess)
specify_fn_args(self, args, kwargs)
specify_exec_method(self, remote_task_exec_method)
"""
# Its log_file is os.devnull there, so that nobody learns why no worker comes.
FACTORY = """
__init__(self, batch_type='local', manager=None, manager_host_port=None, manager_name=None, factory_binary=None, worker_binary=None, log_file=None)
start(self)
stop(self)
specify_environment(self, env)
specify_package(self, env)
"""
MODULE = """
set_debug_flag()
specify_debug_log(logfile)
specify_port_range(low_port, high_port)
"""
FACTORY_SETTINGS = """
min_workers max_workers workers_per_cycle tasks_per_worker timeout factory_timeout capacity autosize cores memory disk
gpus worker_extra_options condor_requirements
"""
STATISTICS = """
time_when_started workers_connected workers_init workers_idle workers_busy workers_able workers_joined workers_removed
workers_released workers_idled_out workers_fast_aborted workers_blacklisted workers_lost tasks_waiting tasks_on_workers
tasks_running tasks_with_results tasks_submitted tasks_dispatched tasks_done tasks_failed tasks_cancelled
tasks_exhausted_attempts time_send time_receive time_send_good time_receive_good time_status_msgs time_internal
time_polling time_application time_workers_execute time_workers_execute_good time_workers_execute_exhaustion bytes_sent
bytes_received bandwidth capacity_tasks capacity_cores capacity_memory capacity_disk capacity_instantaneous
capacity_weighted total_cores total_memory total_disk committed_cores committed_memory committed_disk max_cores
max_memory max_disk min_cores min_memory min_disk manager_load capacity_gpus total_gpus committed_gpus max_gpus min_gpus
"""


def signature_of(line):
    space = {}
    exec(f"def {line}: pass", space)
    return inspect.signature(space[line.split("(")[0]])


def lines(text):
    return text.strip().splitlines()


@pytest.mark.parametrize("owner, expected", [(wq.Task, TASK), (wq.WorkQueue, QUEUE), (wq.PythonTask, FUNCTION_TASK),
                                             (wq.RemoteTask, REMOTE_TASK), (wq.Factory, FACTORY), (wq, MODULE)])
def test_methods(owner, expected):
    for line in lines(expected):
        name = line.split("(")[0]
        ours = list(inspect.signature(getattr(owner, name)).parameters.values())
        theirs = list(signature_of(line).parameters.values())
        for mine, other in zip(ours, theirs):
            assert mine.name == other.name, line
            assert mine.default == other.default or other.default is inspect.Parameter.empty, line
        assert len(ours) >= len(theirs), line
        more = ours[len(theirs):]
        assert all(one.default is not one.empty or one.kind in (one.VAR_POSITIONAL, one.VAR_KEYWORD) for one in more), line


@pytest.mark.parametrize("owner, names", [(wq.Task, TASK_PROPERTIES), (wq.Statistics, STATISTICS),
                                          (wq.WorkQueue, "name port using_ssl stats stats_hierarchy")])
def test_properties(owner, names):
    for name in names.split():
        assert isinstance(inspect.getattr_static(owner, name), property), name


RETURNS = """
specify_name("name") None
specify_log("log") 1
specify_transactions_log("transactions") 1
specify_password_file("password") 1
enable_monitoring() 1
enable_monitoring_full() 1
specify_category_mode("a", wq.WORK_QUEUE_ALLOCATION_MODE_MAX) 1
specify_category_autolabel_resource("a", "cores", True) 1
activate_fast_abort(0.5) 1
activate_fast_abort_category("a", 2) 0
activate_fast_abort_category("a", 0) 1
activate_fast_abort_category("a", -1) 1
activate_fast_abort(2) 0
activate_fast_abort_category("a", -1) 0
tune("hungry-minimum", 20) 0
empty() True
hungry() 20
task_state(99) wq.WORK_QUEUE_TASK_UNKNOWN
shutdown_workers(0) 0
specify_draining_by_hostname("nowhere") 0
cancel_by_taskid(99) None
cancel_by_tasktag("none") None
wait(0.01) None
wait_for_tag("none", 0.01) None
block_host("host") None
unblock_host("host") None
"""
TASK_RETURNS = """
specify_file("a") 1
specify_input_file("b") 1
specify_output_file("c") 1
specify_directory("d") 1
specify_file_piece("e", "f", 0, 9) 1
specify_buffer("text", "g") 1
specify_url("http://localhost/", "h") 1
specify_file_command("true", "i") 1
specify_cores(1) None
specify_tag("tag") None
specify_environment_variable("NAME", "value") None
"""


@pytest.mark.parametrize("calls, of_queue", [(RETURNS, True), (TASK_RETURNS, False)])
def test_return_values(queue, tmp_path, calls, of_queue):
    (tmp_path / "password").write_text("secret")
    owner = queue if of_queue else wq.Task("true")
    for line in lines(calls):
        call, _, expected = line.rpartition(" ")
        assert eval("owner." + call, {"wq": wq, "owner": owner}) == eval(expected, {"wq": wq}), line


def test_settings_of_a_factory():
    workers = wq.Factory("local", "myproject")
    for name in FACTORY_SETTINGS.split():
        before = getattr(workers, name)
        value = "x" if isinstance(before, str) else True if isinstance(before, bool) else 7
        setattr(workers, name, value)
        assert getattr(workers, name) == value, name
    with pytest.raises(AttributeError, match="a factory has no 'max_worker'"):
        workers.max_worker = 5
    with pytest.raises(AttributeError, match="a factory has no 'max_worker'"):
        workers.max_worker


def test_names_of_the_module():
    assert set(ndcctools.work_queue.__dict__) >= set(wq.__all__)
    assert ndcctools.work_queue.WorkQueue is wq.WorkQueue and ndcctools.work_queue.__version__ == wq.__version__
    assert issubclass(wq.PythonTask, wq.Task) and issubclass(wq.PythonTaskNoResult, Exception) and wq.pythontask_available
    for name in wq.__all__:
        if name.startswith("WORK_QUEUE_"):
            assert getattr(wq.WorkQueue, name) == getattr(wq, name), name


def test_constants():
    """The values of CCTools' work_queue.h, which programs may have stored."""
    expected = {
        "DEFAULT_PORT": 9123, "RANDOM_PORT": 0, "WAITFORTASK": -1, "INPUT": 0, "OUTPUT": 1, "FILE": 1, "BUFFER": 2, "REMOTECMD": 3,
        "FILE_PIECE": 4, "DIRECTORY": 5, "URL": 6, "NOCACHE": 0, "CACHE": 1, "SYMLINK": 2, "PREEXIST": 4, "WATCH": 16,
        "FAILURE_ONLY": 32, "SUCCESS_ONLY": 64, "RESULT_SUCCESS": 0, "RESULT_INPUT_MISSING": 1, "RESULT_OUTPUT_MISSING": 2,
        "RESULT_STDOUT_MISSING": 4, "RESULT_SIGNAL": 8, "RESULT_RESOURCE_EXHAUSTION": 16, "RESULT_TASK_TIMEOUT": 24,
        "RESULT_UNKNOWN": 32, "RESULT_FORSAKEN": 40, "RESULT_MAX_RETRIES": 48, "RESULT_TASK_MAX_RUN_TIME": 56,
        "RESULT_DISK_ALLOC_FULL": 64, "RESULT_RMONITOR_ERROR": 72, "RESULT_OUTPUT_TRANSFER_ERROR": 80, "TASK_UNKNOWN": 0,
        "TASK_READY": 1, "TASK_RUNNING": 2, "TASK_WAITING_RETRIEVAL": 3, "TASK_RETRIEVED": 4, "TASK_DONE": 5, "TASK_CANCELED": 6,
        "SCHEDULE_UNSET": 0, "SCHEDULE_FCFS": 1, "SCHEDULE_FILES": 2, "SCHEDULE_TIME": 3, "SCHEDULE_RAND": 4, "SCHEDULE_WORST": 5,
        "MANAGER_MODE_STANDALONE": 0, "MANAGER_MODE_CATALOG": 1, "MASTER_MODE_STANDALONE": 0, "MASTER_MODE_CATALOG": 1,
        "ALLOCATION_MODE_FIXED": 0, "ALLOCATION_MODE_MAX": 1, "ALLOCATION_MODE_MIN_WASTE": 2, "ALLOCATION_MODE_MAX_THROUGHPUT": 3,
        "ALLOCATION_MODE_GREEDY_BUCKETING": 4, "ALLOCATION_MODE_EXHAUSTIVE_BUCKETING": 5, "ALLOCATION_MODE_DET_GREEDY_BUCKETING": 6,
        "ALLOCATION_MODE_DET_EXHAUSTIVE_BUCKETING": 7, "ALLOCATION_MODE_QUANTIZED_BUCKETING": 8,
    }
    assert {name: getattr(wq, "WORK_QUEUE_" + name) for name in expected} == expected


def public(owner):
    return [name for name in dir(owner) if not name.startswith("_") and not name.startswith("WORK_QUEUE_")]


@pytest.mark.parametrize("owner", [wq.Task, wq.PythonTask, wq.RemoteTask, wq.WorkQueue, wq.Factory, wq.Resources])
def test_every_method_has_a_docstring(owner):
    """help() of the classes is a reference."""
    assert owner.__doc__
    for name in public(owner):
        value = inspect.getattr_static(owner, name)
        assert inspect.getdoc(value), f"{owner.__name__}.{name}"
    text = pydoc.plain(pydoc.render_doc(owner))
    assert all(name in text for name in public(owner))


def test_help_of_one_method():
    text = pydoc.plain(pydoc.render_doc(wq.WorkQueue.submit)).replace("'", "")
    assert "submit(self, task: Task) -> int" in text and "returns its id" in text
    text = pydoc.plain(pydoc.render_doc(wq.WorkQueue.unblock_host))  # of C++
    assert "unblock_host(self, host=None)\n    Ends block_host(); None: for all hosts." in text
