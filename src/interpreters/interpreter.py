# Runs calls of Python functions for a launcher (interpreter.h), each in a process of its own that is forked from
# this one. Started as `python3 -u -c TEXT SOCKET`; SOCKET is the number of a socket of messages.
#
# For Python 3.8 and later. sys.path begins with the current folder, so a call imports what is in its task's folder.
import array
import gc
import os
import pickle
import socket
import struct
import sys

LONGEST = 1 << 20
MARK = 0x57515F43414C4C31  # of a result that is whole (launcher/call_starter.cpp)
HEADER = struct.Struct("<QiiQ")
RETURNED = 0  # core::Ending::exited


class RemoteError(Exception):
    """Stands for an exception that cannot be sent."""


def receive(link):
    """The next request: its fields and descriptors; None: the launcher is gone."""
    text, parts, _, _ = link.recvmsg(LONGEST, socket.CMSG_SPACE(8 * array.array("i").itemsize))
    if not text:
        return None
    files = array.array("i")
    for level, kind, data in parts:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            files.frombytes(data[: len(data) - len(data) % files.itemsize])
    return text.split(b"\0")[:-1], list(files)


def fork_call(link, fields, files):
    """Forks a process for the call, whose parent will be the launcher. Returns its id."""
    read, write = os.pipe()
    middle = os.fork()
    if middle == 0:
        child = os.fork()
        if child == 0:
            os.close(read)
            os.close(write)
            link.close()
            run_call(fields, files)  # does not return
        os.write(write, str(child).encode())
        os._exit(0)
    os.close(write)
    told = os.read(read, 32)
    os.close(read)
    os.waitpid(middle, 0)
    return int(told)


def run_call(fields, files):
    arguments, result, out, err, go = files
    code = 1
    try:
        if not os.read(go, 1):
            os._exit(1)
        os.close(go)
        enter(fields, out, err)
        answer = call(read_all(arguments))
        sys.stdout.flush()
        sys.stderr.flush()
        write_result(result, answer)
        code = 0
    except BaseException:  # of ours: the function's own are part of the answer
        import traceback

        traceback.print_exc()
        sys.stderr.flush()
    finally:
        os._exit(code)


def enter(fields, out, err):
    """Streams, environment and folder of the task."""
    os.dup2(out, 1)
    os.dup2(err, 2)
    for entry in fields[2:]:
        name, equals, value = entry.partition(b"=")
        if equals:
            os.environb[name] = value
        else:
            os.environb.pop(name, None)
    if fields[1]:
        os.chdir(fields[1])


def read_all(memory):
    import mmap

    size = os.fstat(memory).st_size
    whole = mmap.mmap(memory, size, mmap.MAP_PRIVATE) if size else b""
    return memoryview(whole)


def parts_of(whole):
    """The parts after the first lines: function, arguments, buffers. The first lines."""
    lines = []
    at = 0
    while len(lines) < 4:
        end = bytes(whole[at : at + 65536]).index(b"\n")
        lines.append(bytes(whole[at : at + end]).decode())
        at += end + 1
    parts = []
    for size in map(int, lines[3].split()):
        parts.append(whole[at : at + size])
        at += size
    return lines, parts


def call(whole):
    """Runs the function. The answer: whether it returned, and the parts of the result or the exception."""
    try:
        lines, parts = parts_of(whole)
        check_version(lines[0])
        function = pickle.loads(parts[0])
        positional, named = pickle.loads(parts[1], buffers=parts[2:])
        value = function(*positional, **named)
        return dump(b"R", value)
    except BaseException as error:
        return dump_error(error)


def check_version(wanted):
    ours = "%d.%d" % sys.version_info[:2]
    if ours != wanted:
        raise RemoteError(
            "this worker's Python is %s (%s) and the manager's %s, but functions travel as bytecode, which only the same "
            "version runs: install python%s at the worker, or give the task an environment" % (ours, sys.executable, wanted, wanted)
        )


def dump(kind, value):
    buffers = []
    text = dumps(value, buffers)
    return [kind, text] + [buffer.raw() for buffer in buffers]


def dumps(value, buffers):
    try:
        return pickle.dumps(value, protocol=5, buffer_callback=buffers.append)
    except Exception:
        del buffers[:]
        import cloudpickle

        return cloudpickle.dumps(value, protocol=5, buffer_callback=buffers.append)


def dump_error(error):
    import traceback

    text = "".join(traceback.format_exception(type(error), error, error.__traceback__))
    if isinstance(error, SystemExit):
        error = RemoteError("the function called sys.exit(%s)" % ("" if error.code is None else repr(error.code)))
    elif not isinstance(error, Exception):
        error = RemoteError("%s: %s" % (type(error).__name__, error))
    if type(error) is not RemoteError:
        try:
            error.__traceback__ = None
            answer = dump(b"E", error)
            return answer[:2] + [text.encode("utf-8", "replace")]
        except Exception:
            error = RemoteError("%s: %s" % (type(error).__name__, error))
    return [b"M", str(error).encode("utf-8", "replace"), text.encode("utf-8", "replace")]


def write_result(memory, answer):
    """The parts, after the header that makes them whole."""
    kind, parts = answer[0], answer[1:]
    first = kind + b" " + b" ".join(str(len(part)).encode() for part in parts) + b"\n"
    at = HEADER.size
    for part in [first] + parts:
        view = memoryview(part)
        while len(view):
            put = os.pwrite(memory, view[: 1 << 30], at)
            at += put
            view = view[put:]
    os.pwrite(memory, HEADER.pack(MARK, RETURNED, 0, at - HEADER.size), 0)


def main():
    link = socket.socket(fileno=int(sys.argv[1]))
    sys.argv = [""]
    gc.collect()
    gc.freeze()
    while True:
        request = receive(link)
        if request is None:
            os._exit(0)
        fields, files = request
        serial = fields[0].decode()
        try:
            link.send(("f %s %d" % (serial, fork_call(link, fields, files))).encode())
        except OSError as error:
            link.send(("x %s no process can be forked for it: %s" % (serial, error)).encode())
        for file in files:
            os.close(file)


main()
