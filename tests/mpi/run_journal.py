"""Reads a run's journal by the description in src/records/journal/journal.h, without our code."""

import struct


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at


ENDINGS = ("exited", "signalled", "timed_out", "out_of_memory", "not_started", "killed", "worker_lost", "never_ran", "raised",
           "expired", "input_missing", "output_missing", "disk_full", "not_transferred", "too_slow", "exhausted")


def read_journal(path):
    """Task records in order, as src/records/journal/journal.h describes them; an incomplete tail is skipped."""
    with open(path, "rb") as file:
        data = file.read()
    assert data.startswith(b"WQJOURN1"), data[:8]
    at = 8
    records = []
    while at + 8 <= len(data):
        size = struct.unpack_from("<I", data, at)[0]
        if at + 8 + size > len(data):
            break
        if data[at + 8] in (2, 6):  # task, attempt: the same fields first
            records.append(task_record(data[at + 9:at + 8 + size]))
        at += 8 + size
    return records


def task_record(payload):
    at = 0
    fields = []

    def unsigned():
        nonlocal at
        value, at = varint(payload, at)
        return value

    for _ in range(3):
        fields.append(unsigned())
    final = payload[at] == 1
    at += 1
    worker = unsigned()
    line = unsigned()
    for _ in range(1 + 4 + 3):
        unsigned()
    ending = payload[at]
    at += 1
    exit_code = unsigned()
    return {"task": fields[0], "key": fields[1], "attempt": fields[2], "final": final, "worker": worker, "line": line,
            "ending": ENDINGS[ending], "exit_code": (exit_code >> 1) ^ -(exit_code & 1)}


def succeeded(record):
    return record["final"] and record["ending"] == "exited" and record["exit_code"] == 0
