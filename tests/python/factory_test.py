"""Factories of Python programs, with the real program work_queue_factory."""

import pytest

import work_queue as wq
from conftest import finish


@pytest.fixture
def local(queue, tmp_path):
    """A factory that starts workers here."""
    workers = wq.Factory("local", queue, log_file=tmp_path / "factory.log")
    workers.scratch_dir = tmp_path / "scratch"
    workers.min_workers = 0
    workers.max_workers = 1
    workers.cores = 1.0
    workers.timeout = "1m"
    yield workers
    workers.stop()


def test_the_program_of_the_build_folder(queue, local, monkeypatch):
    """It is found beside the package, and takes all kinds of options."""
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    local.feature = ["big", "fast"]
    local.env = ["COLOR=dark red", "SHAPE=square"]
    local.cycle = 0.1
    local.wall_time = "1h"
    local.status_interval = 1
    local.worker_start_cmd = "export MORE=more"
    local.wrapper = None
    for _ in range(2):
        t = wq.Task("echo $COLOR $SHAPE $MORE")
        t.specify_feature("fast")
        queue.submit(t)
    with local:
        assert [t.output for t in finish(queue)] == 2 * ["dark red square more\n"]
        local.max_workers = 3
        with pytest.raises(AttributeError, match="wall_time can only be given before the factory starts"):
            local.wall_time = "2h"
    assert not local.running() and local.env == ["COLOR=dark red", "SHAPE=square"]


def test_values_as_on_the_command_line(local):
    local.memory = "4G"
    local.disk = 500.0
    local.factory_timeout = 0.5
    local.capacity = True
    local.extra_options = "--grace 0"
    assert (local.cores, local.memory, local.disk, local.timeout, local.factory_timeout) == (1, 4096, 500, 60, 0.5)
    assert local.capacity and local.worker_extra_options == "--grace 0"
    local.cores = None
    local.capacity = False
    assert local.cores == 0 and not local.capacity
    for name, wrong in (("cores", 1.5), ("cores", "four"), ("memory", -1), ("cycle", "soon")):
        with pytest.raises(ValueError, match=f"^{name}: "):
            setattr(local, name, wrong)


def test_values_of_other_types(local):
    with pytest.raises(TypeError, match="env is {'COLOR': 'red'}: give text"):
        local.env = {"COLOR": "red"}
    with pytest.raises(TypeError, match="cores is .*: give text, a number"):
        local.cores = [1]
    numpy = pytest.importorskip("numpy", reason="SKIP: no numpy")
    local.capacity, local.cores = numpy.bool_(True), numpy.int32(3)
    assert local.capacity is True and local.cores == 3


def test_names(local):
    for name in ("runos", "poncho_env", "python_package", "python_env", "foremen_name", "config_file", "wrapper_input"):
        with pytest.raises(AttributeError, match=f"^{name}: [a-z ]+"):
            setattr(local, name, "x")
    with pytest.raises(AttributeError, match="a factory has no 'manager_name_'; it has .*wall_time"):
        local.manager_name_ = "x"
    for name in ("debug", "debug_file", "debug_file_size", "run_factory_as_manager", "k8s_image", "amazon_config", "mesos_master"):
        with pytest.warns(UserWarning, match=f"{name} of a factory has no effect: ") as told:
            setattr(local, name, "x")
        assert told[0].filename == __file__
    for specify in (local.specify_environment, local.specify_package):
        with pytest.raises(RuntimeError, match="PythonTask.specify_environment"):
            specify("env.tar.gz")


def test_the_end_of_the_queue_stops_it(queue, local):
    local.start()
    assert local.running()
    queue.close()
    assert not local.running()


def test_a_program_that_ends_at_once(queue, tmp_path):
    workers = wq.Factory("no-such-system", queue, log_file=tmp_path / "factory.log")
    with pytest.raises(RuntimeError, match='work_queue_factory ended at once: .*no-such-system'):
        workers.start()
    assert not workers.running()
