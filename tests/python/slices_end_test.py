"""How queues of slices end: under readers and waits, with the interpreter, and what they say."""

import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from conftest import interrupted_after, python
from work_queue.slices import FixedLengthRecordReader, RowReader, TextLineReader, WorkQueue


def quiet(line):
    pass


@pytest.fixture
def texts(tmp_path):
    files = [tmp_path / f"{number}.txt" for number in range(4)]
    for file in files:
        file.write_text("x\n" * 100)
    return files


def rest_of(reader, producer):
    count = 0
    while (values := reader.read_up_to(producer, 70)[1]):
        count += len(values)
    return count


JOIN = "import sys\nfrom work_queue.slices import WorkQueue\nq = WorkQueue.join(sys.argv[1], say=lambda line: None)\n"


def joined(code, contact):
    return subprocess.Popen([sys.executable, "-B", "-c", JOIN + code, str(contact)], stdin=subprocess.PIPE,
                            stdout=subprocess.PIPE, text=True)


# ---- close() ----


def test_close_ends_a_queue_under_its_readers(texts, tmp_path):
    q = WorkQueue(texts, contact=tmp_path / "contact", say=quiet)
    reader, producer = TextLineReader(), q.input_producer()
    assert len(reader.read_up_to(producer, 10)[1]) == 10
    slice, by_hand = q.take(), TextLineReader()
    by_hand.open(q, slice)
    q.close()
    assert not (tmp_path / "contact").exists()
    assert reader.read_up_to(producer, 10)[1] == [] and by_hand.read(10)[1] == []
    assert reader.num_records_produced == 10
    with pytest.raises(RuntimeError, match="is closed"):
        reader.open(q, slice)


def test_a_reader_outlives_a_restore(texts):
    with WorkQueue(texts, seed=1) as q:
        reader = TextLineReader()
        reader.read_up_to(q.input_producer(), 10)
        q.restore(q.save())
        assert rest_of(reader, q.input_producer()) == 400
        assert reader.num_records_produced == 410


@pytest.mark.parametrize("by_hand", [False, True])
def test_a_reader_goes_on_with_a_producer_for_each_call(texts, by_hand):
    with WorkQueue(texts, num_epochs=2, shuffle=False, commit_by_hand=by_hand) as q:
        reader, read = TextLineReader(), []
        while len(read) < 800 and (keys := reader.read_up_to(q.input_producer(), 70)[0]):
            read += keys
        assert read == [f"{file}:{line}" for file in 2 * texts for line in range(1, 101)]
        if not by_hand:
            assert not reader.read_up_to(q.input_producer(), 70)[0]


def test_a_reader_of_another_queue_reads_on(texts):
    with WorkQueue(texts) as other:
        reader, producer = TextLineReader(), other.input_producer()
        with WorkQueue(texts) as q:
            reader.read_up_to(q.input_producer(), 10)
            assert len(reader.read_up_to(q.input_producer(), 200)[1]) == 90
            reader.open(other, producer.next())
        assert rest_of(reader, producer) == 400


def test_close_ends_waits_of_other_threads(tmp_path):
    q = WorkQueue(["a", "b"], commit_by_hand=True, contact=tmp_path / "contact", say=quiet)
    q.take()
    producer = q.input_producer()
    producer.next()
    begun, ended = threading.Semaphore(0), []

    def run(wait):
        begun.release()
        try:
            ended.append(wait())
        except RuntimeError:  # it was closed before
            ended.append(None)

    threads = [threading.Thread(target=run, args=[wait], daemon=True) for wait in (q.take, q.wait, producer.next)]
    for thread in threads:
        thread.start()
        begun.acquire()
    q.close()
    assert not (tmp_path / "contact").exists()
    for thread in threads:
        thread.join(60)
    assert len(ended) == 3 and not any(ended)


def test_a_handler_of_signals_may_close_the_queue():
    code = ("import os, signal, threading\nfrom work_queue.slices import WorkQueue\n"
            "q = WorkQueue(['a'], commit_by_hand=True)\nq.take()\n"
            "signal.signal(signal.SIGTERM, lambda *_: q.close())\n"
            "threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGTERM)).start()\n"
            "print(q.take())")
    ended = python(code)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "None\n", "")


# ---- the interpreter's end ----


def test_an_interpreter_that_ends_while_threads_read(tmp_path):
    (tmp_path / "r").write_bytes(b"0" * (32 << 20))
    code = ("from work_queue.slices import WorkQueue\n"
            f"q = WorkQueue([{str(tmp_path / 'r')!r}] * 50, record_bytes=1 << 20, num_epochs=100)\n"
            "d = iter(q.input_dataset().records(1 << 20, 32).prefetch(500))\nnext(d)\nprint('end')")
    for _ in range(3):
        ended = python(code)
        assert (ended.returncode, ended.stdout, ended.stderr) == (0, "end\n", "")


def test_all_are_ended_if_one_cannot(tmp_path):
    code = ("from work_queue.slices import WorkQueue\n"
            "class Bad(WorkQueue):\n    def close(self):\n        super().close()\n        raise ValueError('bad')\n"
            f"q = [Bad(['a'], contact={str(tmp_path)!r} + f'/{{n}}', say=lambda line: None) for n in range(3)]\n"
            "import os, atexit\nprint(len(os.listdir(q[0].contact[:-2])))\n")
    ended = python(code)
    assert ended.stderr.count("ValueError: bad") == 3 and ended.stdout == "3\n"
    assert os.listdir(tmp_path) == []


def test_a_queue_and_those_that_joined_it_in_one_program(tmp_path):
    code = ("from work_queue.slices import WorkQueue\n"
            f"q = WorkQueue(['a', 'b', 'c', 'd', 'e'], contact={str(tmp_path / 'contact')!r}, say=print)\n"
            "others = [WorkQueue.join(q.contact, say=print) for _ in range(4)]\n"
            "print(len({other.take() for other in others}))")
    ended = python(code)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "4\n", "")


# ---- what is said ----


def test_a_line_whose_function_raises_ends_nothing(tmp_path, monkeypatch):
    reported = []
    monkeypatch.setattr(sys, "unraisablehook", lambda told: reported.append(repr(told.exc_value)))

    def say(line):
        raise BrokenPipeError("stderr is gone")

    with WorkQueue([str(n) for n in range(20)], contact=tmp_path / "contact", say=say) as q:
        victim = joined("q.take()\nprint('x', flush=True)\nsys.stdin.read()", tmp_path / "contact")
        assert victim.stdout.readline() == "x\n"
        victim.kill()
        victim.communicate()
        assert len(list(q)) == 20
    assert "BrokenPipeError('stderr is gone')" in reported


def test_numbers_that_cannot_be_are_said():
    for name, number, error in (("seed", -1, ValueError), ("record_bytes", -1, ValueError), ("num_epochs", 1.5, TypeError),
                                ("num_slices", "2", TypeError), ("num_epochs", 2**70, ValueError)):
        remedy = "a smaller one" if number == 2**70 else "a whole number from 0"
        with pytest.raises(error, match=f"^{name} is {number!r}: give {remedy}$"):
            WorkQueue(["a"], **{name: number})
    with pytest.raises(TypeError, match=r"records\(\) returned -1: give a count, or None"):
        WorkQueue(["a"], num_slices=2, records=lambda work: -1)


def test_what_is_no_slice_is_said():
    with WorkQueue(["a"], commit_by_hand=True) as q:
        q.take()
        for commit in (q.commit, q.commit_failed):
            with pytest.raises(TypeError, match="'a' is no slice: give what take"):
                commit("a")


# ---- waits for the process that has the works ----


@pytest.fixture
def giver(tmp_path):
    """Gives the slice of a file that this process does not see: it is in another folder."""
    folder = tmp_path / "giver"
    folder.mkdir()
    (folder / "works").write_text("".join(f"line {number} of the file\n" for number in range(400_000)))
    code = ("import sys\nfrom work_queue.slices import WorkQueue\n"
            "q = WorkQueue(['works'], contact='contact', say=lambda line: None)\n"
            "print('here', flush=True)\nsys.stdin.readline()\nq.wait()")
    process = subprocess.Popen([sys.executable, "-B", "-c", code], cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    process.contact = folder / "contact"
    assert process.stdout.readline() == "here\n"
    yield process
    process.kill()
    process.wait()


def test_interrupts_end_reads_of_another_process(giver):
    def interrupted(wait):
        begun = time.monotonic()
        with interrupted_after(0.2), pytest.raises(KeyboardInterrupt):
            wait()
        assert time.monotonic() - begun < 20

    with WorkQueue.join(giver.contact, say=quiet) as q:
        slice, reader, lines = q.take(), TextLineReader(), []
        giver.send_signal(signal.SIGSTOP)
        interrupted(lambda: reader.open(q, slice))
        interrupted(lambda: reader.read(1000))
        giver.send_signal(signal.SIGCONT)
        # What the interrupted calls were at is not lost, and no call returns more than it was asked for.
        sizes = []
        while len(lines) < 10_000:
            lines += reader.read(300)[1]
            sizes.append(len(lines))
        giver.send_signal(signal.SIGSTOP)
        with pytest.raises(KeyboardInterrupt):
            while True:
                # Long enough for reads that need not wait: an interrupt after one has returned would lose its values here.
                with interrupted_after(3):
                    values = reader.read(1000)[1]
                assert values
                lines += values
        # A call that had read them already, when it was interrupted on its way back, has lost them.
        lost = reader.num_records_produced - len(lines)
        assert 0 <= lost <= 1000
        lines += [f"line {number} of the file" for number in range(len(lines), len(lines) + lost)]
        giver.send_signal(signal.SIGCONT)
        while (values := reader.read(7000)[1]):
            lines += values
        assert lines == [f"line {number} of the file" for number in range(400_000)]
        assert max(later - earlier for earlier, later in zip([0, *sizes], sizes)) == 300
        assert reader.num_records_produced == 400_000 and q.take() is None
    giver.communicate("go on\n", timeout=60)


# ---- shapes ----


def test_an_empty_result_has_the_shape_of_the_others(tmp_path):
    pytest.importorskip("numpy")
    assert FixedLengthRecordReader(8, "f4")._values(0, []).shape == (0, 2)
    write = f"import h5py, numpy\nwith h5py.File('{tmp_path}/d.h5', 'w') as f:\n    f['x'] = numpy.zeros((5, 2, 3), 'f4')"
    if subprocess.run(["/usr/bin/python3", "-B", "-c", write], capture_output=True, check=False).returncode:
        pytest.skip("no h5py")
    with WorkQueue([f"{tmp_path}/d.h5:/x"]) as q:
        reader, producer = RowReader(), q.input_producer()
        assert [reader.read_up_to(producer, 4)[1].shape for _ in range(3)] == [(4, 2, 3), (1, 2, 3), (0, 2, 3)]
