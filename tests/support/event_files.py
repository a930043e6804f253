"""Reads TensorBoard's event files with nothing of ours and no other library: records, CRC-32C and protobuf by hand."""

import struct
from typing import NamedTuple


def _table():
    for value in range(256):
        for _ in range(8):
            value = value >> 1 ^ (0x82F63B78 if value & 1 else 0)
        yield value


TABLE = tuple(_table())
MASK = 0xFFFFFFFF


class Bad(Exception):
    """The file is no event file; a file that ends within a record is."""


class Event(NamedTuple):
    wall_time: float = 0.0
    step: int = 0
    file_version: str = ""
    scalars: tuple = ()  # of (tag, value)


def crc32c(data):
    crc = MASK
    for byte in data:
        crc = TABLE[(crc ^ byte) & 0xFF] ^ crc >> 8
    return crc ^ MASK


def unmasked(crc):
    rotated = crc - 0xA282EAD8 & MASK
    return (rotated >> 17 | rotated << 15) & MASK


def records(data):
    """The data of all whole records, and where the last of them ends."""
    found = []
    at = 0
    while len(data) - at >= 12:
        length, crc = struct.unpack_from("<QI", data, at)
        if unmasked(crc) != crc32c(data[at : at + 8]):
            raise Bad(f"checksum of the length at {at}")
        if len(data) - at < 16 + length:
            break
        content = data[at + 12 : at + 12 + length]
        if unmasked(struct.unpack_from("<I", data, at + 12 + length)[0]) != crc32c(content):
            raise Bad(f"checksum of the record at {at}")
        found.append(content)
        at += 16 + length
    return found, at


def varint(data, at):
    value = shift = 0
    while True:
        if at >= len(data) or shift > 63:
            raise Bad("a number without an end")
        value |= (data[at] & 0x7F) << shift
        shift += 7
        at += 1
        if data[at - 1] < 0x80:
            return value, at


def fields(data):
    """The (number, wire type, value) of all fields of a message."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        wire = key & 7
        if wire == 0:
            value, at = varint(data, at)
        elif wire in (1, 2, 5):
            length, at = varint(data, at) if wire == 2 else ({1: 8, 5: 4}[wire], at)
            value = data[at : at + length]
            at += length
            if at > len(data):
                raise Bad(f"field {key >> 3} is longer than its message")
        else:
            raise Bad(f"wire type {wire}")
        yield key >> 3, wire, value


def _scalar(data):
    tag = value = None
    for number, wire, content in fields(data):
        if (number, wire) == (1, 2):
            tag = content.decode("utf-8")
        elif (number, wire) == (2, 5):
            value = struct.unpack("<f", content)[0]
        else:
            raise Bad(f"field {number} of type {wire} in a value")
    if tag is None or value is None:
        raise Bad("a value without tag or number")
    return tag, value


def _scalars(data):
    for number, wire, content in fields(data):
        if (number, wire) != (1, 2):
            raise Bad(f"field {number} of type {wire} in a summary")
        yield _scalar(content)


def event(data):
    found = Event()
    for number, wire, content in fields(data):
        if (number, wire) == (1, 1):
            found = found._replace(wall_time=struct.unpack("<d", content)[0])
        elif (number, wire) == (2, 0):
            found = found._replace(step=content - (1 << 64) if content >> 63 else content)
        elif (number, wire) == (3, 2):
            found = found._replace(file_version=content.decode("utf-8"))
        elif (number, wire) == (5, 2):
            found = found._replace(scalars=found.scalars + tuple(_scalars(content)))
        else:
            raise Bad(f"field {number} of type {wire} in an event")
    return found


def events(data):
    """The events of all whole records."""
    return [event(record) for record in records(data)[0]]
