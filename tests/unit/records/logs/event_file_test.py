#!/usr/bin/env python3
"""Event files, read by programs that have nothing of ours. Usage: event_file_test.py WRITE_EVENTS."""

import math
import pathlib
import random
import struct
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "support"))
import event_files  # noqa: E402
from event_files import Event  # noqa: E402

WRITER = ""
BEGIN = 1_599_759_586_000_000  # microseconds
FIRST = Event(wall_time=BEGIN / 1e6, file_version="brain.Event:2")
TAGS = ["loss", "slices/in flight", "größe/µs", "日本語", "\U0001f4c8", "a\tb\nc", "x" * 200]
VALUES = [0.0, -0.0, 1.0, 0.1, -2.5e-7, 3.4e38, 1e-45, 1e39, -1e300, math.inf, -math.inf, math.nan]


def as_float32(value):
    try:
        return struct.unpack("<f", struct.pack("<f", value))[0]
    except OverflowError:
        return math.copysign(math.inf, value)


def bits(event):
    """The event with the bits of its numbers, so that -0.0 is not 0.0 and NaN is NaN."""
    scalars = tuple((tag, "nan" if math.isnan(value) else struct.pack("<d", value)) for tag, value in event.scalars)
    return event._replace(wall_time=struct.pack("<d", event.wall_time), scalars=scalars)


def line_of(step, micros, scalars):
    words = [f"{tag.encode().hex()} {value!r}" for tag, value in scalars]
    return " ".join(["event", str(step), str(micros), *words])


def made_up(seed, count):
    """(step, microseconds, scalars) of events."""
    chance = random.Random(seed)
    steps = [0, 1, 127, 128, 300, 2**31, 2**63 - 1, -1, -(2**63)]
    steps += [chance.randrange(10**6) for _ in range(count - len(steps))]
    for step in steps:
        scalars = [(chance.choice(TAGS), chance.choice(VALUES + [chance.gauss(0, 1e3)])) for _ in range(chance.randint(1, 6))]
        yield step, BEGIN + chance.randrange(10**12), scalars


def expected(step, micros, scalars):
    return Event(wall_time=micros / 1e6, step=step, scalars=tuple((tag, as_float32(value)) for tag, value in scalars))


class EventFiles(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def written(self, events):
        lines = "".join(line_of(*event) + "\n" for event in events)
        done = subprocess.run([WRITER, self.folder, str(BEGIN)], input=lines, capture_output=True, text=True, check=True)
        return pathlib.Path(done.stdout.splitlines()[0])

    def assert_events(self, found, events):
        self.assertEqual([bits(event) for event in found], [bits(event) for event in events])

    def test_checksum_is_that_of_the_standard(self):
        # RFC 3720, B.4
        self.assertEqual(event_files.crc32c(bytes(32)), 0x8A9136AA)
        self.assertEqual(event_files.crc32c(bytes(range(32))), 0x46DD794E)

    def test_what_was_written_is_read(self):
        events = list(made_up(1, 400))
        data = self.written(events).read_bytes()
        self.assertEqual(event_files.records(data)[1], len(data))
        self.assert_events(event_files.events(data), [FIRST] + [expected(*event) for event in events])

    def test_a_cut_file_has_the_whole_records_before_the_cut(self):
        events = list(made_up(2, 12))
        data = self.written(events).read_bytes()
        all_events = [FIRST] + [expected(*event) for event in events]
        ends = [0]
        for record in event_files.records(data)[0]:
            ends.append(ends[-1] + 16 + len(record))
        self.assertEqual(ends[-1], len(data))
        for cut in range(len(data) + 1):
            whole = sum(end <= cut for end in ends) - 1
            self.assert_events(event_files.events(data[:cut]), all_events[:whole])
            self.assertEqual(event_files.records(data[:cut])[1], ends[whole])

    def test_a_changed_byte_is_found(self):
        data = self.written(list(made_up(3, 10))).read_bytes()
        for at in range(len(data)):
            changed = data[:at] + bytes([data[at] ^ 0x10]) + data[at + 1 :]
            with self.assertRaises(event_files.Bad, msg=at):
                event_files.events(changed)

    def test_a_live_reader_sees_what_was_flushed(self):
        events = list(made_up(4, 30))
        with subprocess.Popen([WRITER, self.folder, str(BEGIN)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as writer:
            path = pathlib.Path(writer.stdout.readline().rstrip("\n"))
            seen = [FIRST]
            self.assert_events(event_files.events(path.read_bytes()), seen)
            for first in range(0, len(events), 3):
                some = events[first : first + 3]
                writer.stdin.write("".join(line_of(*event) + "\n" for event in some) + "flush\n")
                writer.stdin.flush()
                self.assertEqual(writer.stdout.readline(), "flushed\n")
                seen += [expected(*event) for event in some]
                data = path.read_bytes()
                self.assert_events(event_files.events(data), seen)
                self.assertEqual(event_files.records(data)[1], len(data))
            writer.stdin.close()
            self.assertEqual(writer.wait(), 0)

    def test_an_empty_tag_is_refused(self):
        half_a_byte = "x"  # of which the writer makes no byte
        done = subprocess.run([WRITER, self.folder, str(BEGIN)], input=f"event 1 1 {half_a_byte} 1\n", capture_output=True, text=True)
        self.assertEqual(done.returncode, 65)
        self.assertIn("an empty tag for " + done.stdout.splitlines()[0], done.stderr)

    def test_tensorboard_reads_the_same(self):
        """By its own reader, where that is installed; by ours in any case."""
        events = list(made_up(5, 50))
        path = self.written(events)
        wanted = [FIRST] + [expected(*event) for event in events]
        self.assert_events(event_files.events(path.read_bytes()), wanted)
        try:
            from tensorboard.backend.event_processing.event_file_loader import LegacyEventFileLoader
        except ImportError as why:
            print(f"not read by TensorBoard: {why}")
            return
        found = [
            Event(event.wall_time, event.step, event.file_version, tuple((v.tag, v.simple_value) for v in event.summary.value))
            for event in LegacyEventFileLoader(str(path)).Load()
        ]
        self.assert_events(found, wanted)


if __name__ == "__main__":
    WRITER = sys.argv.pop(1)
    unittest.main()
