"""Slices and jobs with torch. Skipped where it is missing: Debian's is large."""

import io
import os
import subprocess
import sys
import threading

import cloudpickle
import pytest

torch = pytest.importorskip("torch", reason="SKIP: no torch (Debian: python3-torch)")
numpy = pytest.importorskip("numpy")

from torch.utils.data import DataLoader

from work_queue.job_executor import JobExecutor2
from work_queue.slices import WorkQueue
from work_queue.torch_data import SliceDataLoader, SliceIterable

cloudpickle.register_pickle_by_value(sys.modules[__name__])
NAMES = [f"w{number}" for number in range(30)]


def quiet(line):
    pass


def with_pid(slices):
    return slices.map(lambda name: (os.getpid(), name.position))


def test_workers_of_a_dataloader_take_each_slice_once(tmp_path):
    with WorkQueue(NAMES, num_epochs=4, contact=tmp_path / "contact", say=quiet) as q:
        data = SliceIterable(q, with_pid)
        taken = list(DataLoader(data, batch_size=None, num_workers=2))
        assert q.wait(60)  # all are committed
    assert sorted(position for _, position in taken) == list(range(120))
    pids = {pid for pid, _ in taken}
    assert len(pids) == 2 and os.getpid() not in pids


@pytest.mark.parametrize("start", ["fork", "spawn"])
def test_a_queue_ends_while_workers_of_a_dataloader_wait_to_be_asked(start, tmp_path):
    lines, ended = [], threading.Event()

    def train():
        with WorkQueue(NAMES, num_epochs=100, contact=tmp_path / "contact", say=lines.append) as q:
            q.restore(q.save())
            loader = DataLoader(SliceIterable(q), batch_size=None, num_workers=2, persistent_workers=True, multiprocessing_context=start)
            loaders.append(iter(loader))
            assert next(loaders[0]) in NAMES
        ended.set()

    loaders = []
    threading.Thread(target=train, daemon=True).start()
    assert ended.wait(100)
    assert lines == []


def test_records_of_a_dataloader(tmp_path):
    numpy.arange(40_000, dtype=numpy.float32).tofile(tmp_path / "r")
    q = WorkQueue([tmp_path / "r"], num_slices=20, record_bytes=40, contact=tmp_path / "contact", say=quiet)
    data = SliceIterable(q, lambda slices: slices.records(40, 32, numpy.float32))
    batches = list(DataLoader(data, batch_size=None, num_workers=2))
    assert all(batch.dtype is torch.float32 and batch.shape[1] == 10 for batch in batches)
    assert sorted(torch.cat(batches).reshape(-1).tolist()) == list(range(40_000))
    q.close()


def test_in_the_program_itself_tensors_are_views(tmp_path):
    numpy.arange(1000, dtype=numpy.float32).tofile(tmp_path / "r")
    seen = []

    def read(slices):
        return slices.records(40, 50, numpy.float32).map(lambda array: seen.append(array) or array)

    with WorkQueue([tmp_path / "r"], record_bytes=40) as q:
        batches = list(DataLoader(SliceIterable(q, read), batch_size=None))
    assert [batch.data_ptr() for batch in batches] == [array.ctypes.data for array in seen]
    assert torch.cat(batches).reshape(-1).tolist() == list(range(1000))


def numbers(slices):
    return slices.records(4, 8, numpy.int32).map(lambda array: array.copy())


def one_by_one(slices):
    return (number for array in slices.records(4, 16, numpy.int32) for number in array)


@pytest.mark.parametrize("read, batch_size", [(numbers, None), (one_by_one, 7)])
@pytest.mark.parametrize("until", [1, 5, 12, 23])
def test_a_checkpoint_amid_a_loop_loses_nothing(read, batch_size, until, tmp_path):
    """Whatever the workers have read ahead: a batch that the loop had not got comes after the checkpoint."""
    numpy.arange(400, dtype=numpy.int32).tofile(tmp_path / "r")

    def queue():
        return WorkQueue([tmp_path / "r"], num_slices=20, record_bytes=4, seed=1, contact=tmp_path / "contact", say=quiet)

    def loader(q):
        return SliceDataLoader(SliceIterable(q, read), batch_size=batch_size, num_workers=2)

    before, state = [], None
    with queue() as q:
        training = loader(q)
        for step, batch in enumerate(training, 1):
            before += batch.tolist()
            if step == until:
                state = training.state_dict()
                break
    with queue() as q:
        training = loader(q)
        training.load_state_dict(state)
        after = sum((batch.tolist() for batch in training), [])
        assert q.wait(60)
    assert set(before) | set(after) == set(range(400))
    assert len(after) == len(set(after))
    # What comes again are slices that were not finished, and the last ones of each of the two workers, of 20 records.
    if until == 23:
        assert len(set(before) & set(after)) <= 4 * 20


@pytest.mark.parametrize("options", [{}, {"batch_size": 7}, {"batch_size": 7, "drop_last": True},
                                     {"batch_size": 7, "num_workers": 0}, {"multiprocessing_context": "spawn"}])
def test_all_slices_are_committed_when_a_loop_ends(options, tmp_path):
    numpy.arange(400, dtype=numpy.int32).tofile(tmp_path / "r")
    with WorkQueue([tmp_path / "r"], num_slices=20, record_bytes=4, contact=tmp_path / "contact", say=quiet) as q:
        read = one_by_one if "batch_size" in options else numbers
        batches = list(SliceDataLoader(SliceIterable(q, read), **{"batch_size": None, "num_workers": 2, **options}))
        assert q.wait(60)
    seen = sum((batch.tolist() for batch in batches), [])
    assert len(seen) == len(set(seen))
    if "drop_last" in options:
        assert 400 - 2 * 6 <= len(seen) <= 400 and {len(batch) for batch in batches} == {7}
    else:
        assert sorted(seen) == list(range(400))


def test_persistent_workers_begin_anew(tmp_path):
    """A loop that is left, and passes after restore(), with the same workers."""
    with WorkQueue(NAMES, contact=tmp_path / "contact", say=quiet) as q:
        start = q.save()
        loader = SliceDataLoader(SliceIterable(q, with_pid), batch_size=None, num_workers=2, persistent_workers=True)
        assert next(iter(loader)) is not None
        passes = []
        for _ in range(3):
            passes.append(list(loader))
            assert q.wait(60)
            q.restore(start)
    assert [sorted(position for _, position in taken) for taken in passes] == [list(range(30))] * 3


def test_loaders_share_an_iterable(tmp_path):
    """One after the other, of both kinds."""
    with WorkQueue(NAMES, contact=tmp_path / "contact", say=quiet) as q:
        start, data = q.save(), SliceIterable(q, with_pid)
        for Loader in (SliceDataLoader, DataLoader, SliceDataLoader):
            taken = list(Loader(data, batch_size=None, num_workers=2))
            assert sorted(position for _, position in taken) == list(range(30))
            assert q.wait(60)
            q.restore(start)


def test_an_iterator_that_is_not_used_ends_at_once(tmp_path):
    with WorkQueue(NAMES, contact=tmp_path / "contact", say=quiet) as q:
        loader = SliceDataLoader(SliceIterable(q), batch_size=None, num_workers=2)
        iterator = iter(loader)
        workers = list(iterator._numbered._workers)
        del iterator
        assert [worker.exitcode for worker in workers] == [0, 0]  # not ended by force, as after 5 s
        assert sorted(loader) == sorted(NAMES) and q.wait(60)


def test_its_batches_are_for_itself(tmp_path):
    with WorkQueue(NAMES, contact=tmp_path / "contact", say=quiet) as q:
        loader = SliceDataLoader(SliceIterable(q), batch_size=None, num_workers=2)
        with pytest.raises(RuntimeError, match="this collate_fn belongs to a SliceDataLoader"):
            list(DataLoader(SliceIterable(q), batch_size=None, num_workers=1, collate_fn=loader.collate_fn))


def failing(slices):
    for name in slices:
        if name.position == 7:
            raise KeyError("bad record")
        yield name.position


def test_what_a_loop_did_not_use_is_for_others(tmp_path):
    """The loop ends by an exception of a worker; another one gets what it had not used."""
    with WorkQueue(NAMES, contact=tmp_path / "contact", shuffle=False, say=quiet) as q:
        used = []
        with pytest.raises(KeyError, match="bad record"):
            for position in SliceDataLoader(SliceIterable(q, failing), batch_size=None, num_workers=2):
                used.append(position)
        again = [position for _, position in SliceDataLoader(SliceIterable(q, with_pid), batch_size=None, num_workers=1)]
        assert q.wait(60)
    assert set(used) | set(again) == set(range(30)) and 7 in again


def test_a_slice_data_loader_is_for_slices():
    with pytest.raises(TypeError, match="is for a SliceIterable; this is a list"):
        SliceDataLoader([1, 2])


def test_ranks_join_by_the_contact_file(tmp_path):
    with WorkQueue(NAMES, num_epochs=2, contact=tmp_path / "contact", say=quiet) as q:
        taken = [[], []]

        def rank(number, queue):
            taken[number] += [name.position for name in SliceIterable(queue)]

        ranks = [threading.Thread(target=rank, args=args) for args in ((0, q), (1, tmp_path / "contact"))]
        for one in ranks:
            one.start()
        for one in ranks:
            one.join()
    assert sorted(sum(taken, [])) == list(range(60))


def test_ranks_whose_dataloaders_have_workers(tmp_path):
    """All slices once over the workers of two ranks; rank 0 gives them only."""
    (tmp_path / "train.py").write_text("""
import os
from torch.utils.data import DataLoader
from work_queue.slices import WorkQueue
from work_queue.torch_data import SliceIterable

def read(slices):
    return slices.map(lambda name: (os.getpid(), name.position))

with WorkQueue([f"w{number}" for number in range(30)], num_epochs=4, contact="contact", ranks=True, say=lambda line: None) as q:
    for pid, position in DataLoader(SliceIterable(q, read), batch_size=None, num_workers=2):
        os.write(1, f"{q.rank} {pid} {position}\\n".encode())
    assert q.wait(60)
""")
    ended = subprocess.run([*os.environ["MPIRUN"].split(), "-n", "2", sys.executable, "-B", "train.py"], cwd=tmp_path, timeout=150,
                           capture_output=True, text=True, env={**os.environ, "TMPDIR": str(tmp_path)}, check=False)
    assert ended.returncode == 0, ended.stderr
    taken = [tuple(map(int, line.split())) for line in ended.stdout.splitlines()]
    assert sorted(position for _, _, position in taken) == list(range(120)), ended.stderr
    assert len({pid for _, pid, _ in taken}) >= 2


def test_a_dataloader_needs_a_contact_file():
    with WorkQueue(NAMES) as q, pytest.raises(RuntimeError, match="contact=FILE"):
        list(DataLoader(SliceIterable(q), batch_size=None, num_workers=1))


def test_checkpoints_of_a_training_loop():
    def train(state, until):
        model = torch.nn.Linear(1, 1)
        with WorkQueue(NAMES, seed=3) as q:
            data = SliceIterable(q)
            if state is not None:
                saved = torch.load(io.BytesIO(state))
                model.load_state_dict(saved["model"])
                data.load_state_dict(saved["data"])
            seen = []
            for name in data:
                if len(seen) == until:
                    break
                seen.append(str(name))
            file = io.BytesIO()
            torch.save({"model": model.state_dict(), "data": data.state_dict()}, file)
        return seen, file.getvalue()

    whole, _ = train(None, 30)
    first, state = train(None, 12)
    rest, _ = train(state, 30)
    assert first + rest == whole


def test_tensors_of_jobs_are_views():
    def work(batch):
        assert batch["x"].is_contiguous()
        batch["x"] += 1
        return {"x": batch["x"], "half": batch["half"], "grad": batch["grad"], "n": torch.get_num_threads()}

    with JobExecutor2(1, work) as executor:
        mine = torch.zeros(1000, 300)
        executor.put({"x": mine.t(), "half": torch.arange(5).to(torch.bfloat16), "grad": torch.ones(2, requires_grad=True)})
        metadata, result = executor.take()
    x = result["x"]
    assert (x == 1).all() and x.shape == (300, 1000) and (mine == 0).all()
    with open("/proc/self/maps") as maps:
        ranges = [line.split()[0].split("-") + [line] for line in maps]
    assert any("memfd" in line for low, high, line in ranges if int(low, 16) <= x.data_ptr() < int(high, 16))
    assert result["half"].tolist() == [0, 1, 2, 3, 4] and result["half"].dtype is torch.bfloat16
    assert result["grad"].requires_grad and result["n"] == 1
