"""Slices of datasets: the calls of the document, readers without copies, checkpoints, waits that end."""

import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import threading
import time

import pytest

from conftest import interrupted_after, python
from work_queue.prefetch import prefetched
from work_queue.slices import (
    FixedLengthRecordReader,
    RowReader,
    Slice,
    TableRecordReader,
    TextLineReader,
    WorkQueue,
    register_table_reader,
)

NAMES = [f"w{number}" for number in range(20)]


def quiet(line):
    pass


@pytest.fixture
def texts(tmp_path):
    files = []
    for number in range(3):
        files.append(tmp_path / f"{number}.csv")
        files[-1].write_text("".join(f"{number} {line}\n" for line in range(50 + number)))
    return files


def all_lines(files):
    return [line for file in files for line in file.read_text().splitlines()]


# ---- taking ----


def test_each_slice_once_an_epoch_and_equal_seeds_give_equal_orders():
    def order(seed):
        with WorkQueue(NAMES, num_epochs=3, seed=seed, prefix="odps://") as q:
            assert len(q) == 20 and (seed is None or q.seed == seed)
            taken = list(q)
            assert q.take() is None and q.taken == 60
            assert repr(q) == "<WorkQueue 'work_queue': 20 slices an epoch, 60 taken here>"
        assert repr(q) == "<WorkQueue: not open>"
        for epoch in range(3):
            assert {s.work for s in taken if s.epoch == epoch} == {"odps://" + name for name in NAMES}
        assert sorted(s.position for s in taken) == list(range(60))
        return taken

    assert order(7) == order(7) != order(8)
    assert order(None) != order(None)


def test_slices_are_names_with_parts():
    with WorkQueue(["table", b"text\n"], shuffle=False, num_slices=4, records=lambda work: {"table": 10}.get(work),
                   say=quiet) as q:
        taken = list(q)
    assert taken == ["table?start=0&end=3", "table?start=3&end=6", "table?start=6&end=8", "table?start=8&end=10", "text"]
    assert (taken[1].work, taken[1].start, taken[1].end, taken[1].epoch, taken[1].position) == ("table", 3, 6, 0, 1)
    assert taken[4].start is None
    again = pickle.loads(pickle.dumps(taken[1]))
    assert type(again) is Slice and again == taken[1] and again.end == 6


def test_what_is_wrong_is_one_clear_line(tmp_path):
    with pytest.raises(RuntimeError, match="no-such-file.*") as error:
        WorkQueue([tmp_path / "no-such-file"])
    assert "\n" not in str(error.value)
    with pytest.raises(TypeError, match="give a list"):
        WorkQueue("a.csv")
    for options, told in (({"num_epochs": 0}, "num_epochs"), ({"num_slices": 0}, "num_slices"), ({"delivery": "twice"}, "exactly_once")):
        with pytest.raises((RuntimeError, ValueError), match=told):
            WorkQueue(NAMES, **options)
    with pytest.raises(KeyError, match="w0"):
        WorkQueue(NAMES, num_slices=40, records=lambda work: {}[work], say=quiet)
    q = WorkQueue(NAMES)
    q.close()
    q.close()
    with pytest.raises(RuntimeError, match="is closed"):
        q.take()


def test_commits_by_hand_and_in_vain(tmp_path):
    with WorkQueue(["a", "b", "c"], shuffle=False, commit_by_hand=True) as q:
        a, b, c = q.take(), q.take(), q.take()
        assert q.commit(b) and not q.commit(b) and q.commit(a) and q.commit_failed(c)
        assert q.take() is None and q.wait(5) and q.failed == 1
    with WorkQueue(["a"], commit_by_hand=True) as q:
        q.take()
        assert not q.wait(0.05)


# ---- datasets and readers ----


def test_datasets_of_lines(texts):
    expected = all_lines(texts)
    with WorkQueue(texts, shuffle=False) as q:
        assert list(q.input_dataset().lines()) == expected

    def shuffled(seed):
        with WorkQueue(texts, seed=1, lines=True, num_slices=7) as q:
            batches = list(q.input_dataset().lines().shuffle(20, seed).repeat(2).batch(32).prefetch(2))
        assert {len(batch) for batch in batches[:-1]} == {32}
        return sum(batches, [])

    assert sorted(shuffled(3)) == sorted(expected * 2)
    assert shuffled(3) == shuffled(3) != shuffled(4)
    with WorkQueue(texts) as q:
        assert sum(q.input_dataset().lines(encoding=None).map(len)) == sum(map(len, expected))
    with WorkQueue(texts) as q, pytest.raises(ValueError, match=r"batch\(0\)"):
        q.input_dataset().lines().batch(0)


def test_a_pipeline_that_is_left_gives_back_what_it_claimed(texts):
    with WorkQueue(texts * 10) as q:
        for line in q.input_dataset().lines().prefetch(4):
            break
        end = time.monotonic() + 60
        while any(thread.name == "work_queue prefetch" for thread in threading.enumerate()):
            assert time.monotonic() < end, "the thread that reads ahead goes on"
            time.thread_time()
        rest = sum(1 for _ in q)
        assert rest >= 28


def test_prefetching_reads_so_many_ahead():
    def numbers():
        for number in range(100):
            made.release()
            yield number

    for size in (1, 3):
        made = threading.Semaphore(0)
        elements = prefetched(numbers(), size)
        assert next(elements) == 0
        for _ in range(1 + size):
            assert made.acquire(timeout=60)
        assert not made.acquire(timeout=0.05)
        assert list(elements) == list(range(1, 100))


def test_errors_of_prefetching_come_in_their_place():
    with WorkQueue(NAMES) as q:
        dataset = iter(q.input_dataset().map(lambda name: 1 if name else 0).map(lambda one: 1 // (q.taken < 5)).prefetch(2))
        with pytest.raises(ZeroDivisionError):
            list(dataset)


def test_read_up_to_as_in_the_document(texts, tmp_path):
    work_queue = WorkQueue(texts, shuffle=False)
    work_queue.add_summary(tensorboard=tmp_path / "logs")
    reader = TextLineReader()
    producer = work_queue.input_producer()
    keys, values = reader.read_up_to(producer, num_records=2)
    assert (list(keys), values) == ([f"{texts[0]}:1", f"{texts[0]}:2"], ["0 0", "0 1"])
    count = 2
    while True:
        keys, values = reader.read_up_to(producer, num_records=40)
        if not values:
            break
        assert len(keys) == len(values) <= 40
        count += len(values)
    assert count == reader.num_records_produced == 153
    work_queue.close()
    assert list((tmp_path / "logs").iterdir())


def test_texts_of_any_bytes(tmp_path):
    (tmp_path / "t").write_bytes(b"a\xff\n\xc3\xa4\r\n")
    for encoding, expected in (("utf-8", ["a\udcff", "ä\r"]), (None, [b"a\xff", b"\xc3\xa4\r"]), ("latin-1", ["aÿ", "Ã¤\r"])):
        with WorkQueue([tmp_path / "t"]) as q:
            assert TextLineReader(encoding).read_up_to(q.input_producer(), 9)[1] == expected


def test_binary_records_are_views(tmp_path):
    numpy = pytest.importorskip("numpy")
    data = numpy.arange(1_000_000, dtype=numpy.float32)
    data.tofile(tmp_path / "r")
    with WorkQueue([tmp_path / "r"], num_slices=9, record_bytes=400, shuffle=False) as q:
        blocks = list(q.input_dataset().records(400, 100, dtype=numpy.float32))
    assert all(block.shape[1] == 100 and not block.flags.owndata and block.flags.writeable for block in blocks)
    # What was read before stays as it was, since the reader has let go of it.
    assert (numpy.concatenate(blocks).reshape(-1) == data).all()
    # Two blocks that were read from the file at once lie behind each other: nothing was copied.
    assert blocks[0].ctypes.data + blocks[0].nbytes == blocks[1].ctypes.data
    assert len({id(block.base) for block in blocks}) == len(blocks)
    assert not any(numpy.shares_memory(a, b) for a, b in zip(blocks, blocks[1:]))
    with WorkQueue([tmp_path / "r"], record_bytes=8) as q:
        _, pairs = FixedLengthRecordReader(8, [("x", "f4"), ("y", "f4")]).read_up_to(q.input_producer(), 3)
        assert pairs["y"].tolist() == [1, 3, 5]
    with pytest.raises(ValueError, match="whole number"):
        FixedLengthRecordReader(10, "f4")


def test_rows_of_hdf5_are_views(tmp_path):
    numpy = pytest.importorskip("numpy")
    h5 = tmp_path / "d.h5"
    write = ("import h5py, numpy\n"
             f"with h5py.File({str(h5)!r}, 'w') as f:\n"
             "    f['x'] = numpy.arange(24000, dtype='f8').reshape(1000, 4, 6)\n"
             "    f['s'] = numpy.array([b'ab', b'c'])\n"
             "    f.create_dataset('t', data=['long text', 'ä'], dtype=h5py.string_dtype())\n")
    done = subprocess.run(["/usr/bin/python3", "-B", "-c", write], capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip("no h5py: " + done.stderr.splitlines()[-1])
    with WorkQueue([f"{h5}:/x"], num_slices=7, shuffle=False) as q:
        reader, producer = TableRecordReader(), q.input_producer()
        blocks = []
        while len((read := reader.read_up_to(producer, 64))[0]):
            blocks.append(read[1])
        assert reader.read_up_to(producer, 64)[1].size == 0
    assert blocks[0].shape == (64, 4, 6) and blocks[0].dtype == numpy.float64
    assert not any(block.flags.owndata for block in blocks)
    assert (numpy.concatenate(blocks).reshape(-1) == numpy.arange(24000)).all()
    for name, expected in (("s", [b"ab", b"c"]), ("t", ["long text", "ä"])):
        with WorkQueue([f"{h5}:/{name}"]) as q:
            assert list(RowReader().read_up_to(q.input_producer(), 9)[1]) == expected
    with WorkQueue([f"{h5}:/x"]) as q:
        assert sum(len(block) for block in q.input_dataset().rows(100)) == 1000


def test_tables_of_other_kinds_are_read_by_functions():
    table = [f"row {number}" for number in range(100)]
    register_table_reader("odps", lambda work: {"odps://p/a": 60, "odps://p/b": 40}.get(work),
                          lambda work, start, end: (f"{work[-1]} {row}" for row in table[start:end]))
    with WorkQueue(["a", "b"], shuffle=False, prefix="odps://p/", num_slices=10) as q:
        assert len(q) == 10
        reader, producer, keys, values = TableRecordReader(), q.input_producer(), [], []
        while len((read := reader.read_up_to(producer, 7))[0]):
            keys += read[0]
            values += read[1]
    assert values == [f"a row {number}" for number in range(60)] + [f"b row {number}" for number in range(40)]
    assert keys[0] == "odps://p/a?row=0" and keys[-1] == "odps://p/b?row=39" and reader.num_records_produced == 100
    with WorkQueue(["odps://p/b"]) as q:
        assert TableRecordReader().read_up_to(q.input_producer(), 2)[1] == ["b row 0", "b row 1"]
    with WorkQueue(["odps://p/c"]) as q, pytest.raises(RuntimeError, match="odps://p/c: .* how many records"):
        TableRecordReader().read_up_to(q.input_producer(), 2)
    with pytest.raises(ValueError, match="no scheme"):
        register_table_reader("odps://", len, len)


def test_what_has_no_effect_or_goes_elsewhere_is_said(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    said = []
    with WorkQueue(NAMES, num_slices=40, say=said.append) as q:
        assert len(q) == 20
        q.add_summary()
    assert [line for line in said if "20 works are not cut: num_slices needs records" in line]
    assert said[-1] == f"add_summary: writes to {tmp_path}/work_queue.summary, for TensorBoard"
    assert list(tmp_path.glob("work_queue.summary/*"))


# ---- checkpoints ----


def test_restore_goes_on_exactly_there(tmp_path):
    with WorkQueue(NAMES, num_epochs=2, seed=5) as q:
        whole = list(q)
    for form in (bytes, "file", dict):
        q = WorkQueue(NAMES, num_epochs=2, seed=5)
        before = [q.take() for _ in range(25)]
        q.commit()
        state = q.state_dict() if form is dict else q.save() if form is bytes else tmp_path / "slices.h5"
        if form == "file":
            q.save(state)
        q.take()  # and is lost
        q.close()
        if form is dict:
            q = WorkQueue(NAMES, num_epochs=2, seed=5)
            q.take()
            q.load_state_dict(pickle.loads(pickle.dumps(state)))
        else:
            q = WorkQueue(NAMES, num_epochs=2, seed=5, restore=state)
        with q:
            assert before + list(q) == whole
    with WorkQueue(NAMES, num_epochs=2, seed=5) as q:
        q.take()
        assert isinstance(q.save(), bytes)
        state = q.save()  # the first is not committed
    with WorkQueue(NAMES, num_epochs=2, seed=5, restore=state) as q:
        assert list(q) == whole


def test_checkpoints_of_others_are_refused():
    with WorkQueue(NAMES, seed=5) as q:
        state = q.save()
    for works, seed, restore in ((NAMES[:-1], 5, state), (NAMES, 6, state), (NAMES, 5, b"no checkpoint")):
        with pytest.raises(RuntimeError) as error:
            WorkQueue(works, seed=seed, restore=restore)
        assert "\n" not in str(error.value)


# ---- several threads and processes ----


def test_several_threads_take_each_slice_once():
    with WorkQueue(NAMES, num_epochs=20, commit_by_hand=True) as q:
        taken = []

        def work():
            for slice in q:
                taken.append(slice.position)
                q.commit(slice)

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sorted(taken) == list(range(400))


JOIN = """
from work_queue.slices import WorkQueue
import sys
with WorkQueue.join(sys.argv[1]) as q:
    for slice in q:
        print(slice.position, flush=True)
"""


def test_processes_join_and_one_that_is_killed_loses_nothing(tmp_path):
    contact = tmp_path / "slices.contact"
    with WorkQueue(NAMES, num_epochs=5, contact=contact, say=quiet) as q:
        assert contact.stat().st_mode & 0o777 == 0o600

        def join(code):
            return subprocess.Popen([sys.executable, "-B", "-c", code, str(contact)], stdout=subprocess.PIPE, text=True)

        victim = join(JOIN.replace("flush=True)", "flush=True); __import__('threading').Event().wait()"))
        assert int(victim.stdout.readline()) >= 0  # has one, and waits
        victim.kill()
        victim.wait()
        others = [join(JOIN) for _ in range(2)]
        taken = [int(line) for other in others for line in other.communicate(timeout=60)[0].split()]
        assert q.wait(60)
        assert [other.returncode for other in others] == [0, 0]
    assert sorted(taken) == list(range(100))


def test_joining_in_vain_says_why(tmp_path):
    with pytest.raises(RuntimeError, match="no-contact"):
        WorkQueue.join(tmp_path / "no-contact", wait=0.1)


def test_a_forked_process_leaves_the_queue_alone(texts):
    with WorkQueue(texts, contact=texts[0].parent / "contact", say=quiet) as q:
        producer = q.input_producer()
        producer.next()
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            told = []
            for use in (q.take, producer.next):
                try:
                    use()
                except RuntimeError as error:
                    told.append(str(error))
            with WorkQueue.join(q.contact, say=quiet) as mine:
                told.append(str(mine.take()))
            del producer
            q.close()
            os.write(writer, "\n".join(told).encode())
            os._exit(0)
        os.close(writer)
        told = os.read(reader, 10000).decode().splitlines()
        os.close(reader)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert "belongs to the parent process" in told[0] and "belongs to the parent" in told[1]
        assert told[2].endswith(".csv")
        producer.close()
        assert len(list(q)) >= 2


# ---- waits ----


def test_interrupts_end_waits(tmp_path):
    def interrupted(wait):
        with interrupted_after(0.2), pytest.raises(KeyboardInterrupt):
            begun = time.monotonic()
            wait()
        assert time.monotonic() - begun < 20

    with WorkQueue(["a", "b"], commit_by_hand=True, shuffle=False) as q:
        first = q.take()
        producer = q.input_producer()
        second = producer.next()
        reader = TextLineReader()
        for wait in (q.take, q.wait, producer.next, lambda: reader.read_up_to(producer, 3)):
            interrupted(wait)
        interrupted(lambda: list(q.input_dataset().map(str).prefetch(2)))
        assert q.commit(first) and q.commit(second)
        assert q.take() is None and producer.next() is None
    interrupted(lambda: WorkQueue.join(tmp_path / "none", wait=100))


def test_the_lock_of_python_is_free_while_something_waits():
    with WorkQueue(["a"], commit_by_hand=True) as q:
        only = q.take()
        counts = []

        def other():
            counts.append(1)
            q.commit(only)  # take() returns before this does

        timer = threading.Timer(0.1, other)
        timer.start()
        assert q.take() is None and counts == [1]
        timer.join()


def test_an_interpreter_that_ends_with_an_open_queue():
    code = ("from work_queue.slices import WorkQueue\n"
            "q = WorkQueue(['a', 'b'], say=print)\nq.take()\np = q.input_producer()\np.next()\n"
            "d = iter(q.input_dataset().map(str).prefetch(1))\nprint('end')")
    ended = python(code)
    assert (ended.returncode, ended.stdout) == (0, "end\n"), ended.stderr
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_an_interpreter_that_ends_while_threads_wait():
    code = ("import threading\nfrom work_queue.slices import WorkQueue\n"
            "q = WorkQueue(list('abcdef'), commit_by_hand=True)\nq.take()\n"
            "for slice in q.input_dataset().map(str).prefetch(1):\n    break\n"
            "d = iter(q.input_dataset().map(str).prefetch(1))\nnext(d)\n"
            "threading.Thread(target=q.wait, daemon=True).start()\nprint('end')")
    for _ in range(3):
        ended = python(code)
        assert (ended.returncode, ended.stdout, ended.stderr) == (0, "end\n", "")


def test_children_of_fork_join_while_others_do(tmp_path):
    """The queue's threads use OpenSSL for those that join, while the next one is forked."""
    fork = multiprocessing.get_context("fork")

    def take(taken):
        with WorkQueue.join(tmp_path / "contact", wait_for_others=False, say=quiet) as queue:
            taken.put([name.position for name in queue])

    with WorkQueue(NAMES, num_epochs=20, contact=tmp_path / "contact", say=quiet) as q:
        taken = fork.SimpleQueue()
        children = [fork.Process(target=take, args=(taken,)) for _ in range(20)]
        for child in children:
            child.start()
        all = sum((taken.get() for _ in children), [])
        for child in children:
            child.join()
        assert q.wait(0)
    assert sorted(all) == list(range(20 * len(NAMES)))
