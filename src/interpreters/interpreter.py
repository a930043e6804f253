# Runs calls of Python functions for a launcher (interpreter.h), each in a process of its own that is forked from
# this one. Started as `python3 -u -c TEXT SOCKET`; SOCKET is the number of a socket of messages.
#
# For Python 3.9 and later. sys.path begins with the current folder, so a call imports what is in its task's folder.
#
# A page that a new process touches costs 1 to 2 us, and the process of a small call touches some 200. What it needs is
# therefore imported here, and what can be done before the fork is done there.
import array
import ctypes
import gc
import mmap
import os
import pickle
import select
import socket
import struct
import sys
import traceback

LONGEST = 1 << 20
MARK = 0x57515F43414C4C31  # of a result that is whole (launcher/call_starter.cpp)
HEADER = struct.Struct("<QiiQ")
RETURNED = 0  # core::Ending::exited
SMALL = 1 << 20  # bytes that are copied rather than mapped

# The C library's fork(), not Python's, which costs each process some 170 page faults more, as it sets locks anew that
# only other threads could hold; there are none here. What else it does for modules, `new_random_numbers` does.
fork = ctypes.PyDLL(None).fork


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
    """Forks a process for the call, in a process group of its own. Returns its id."""
    new_random_numbers()
    child = fork()
    if child == 0:
        os.setpgid(0, 0)
        link.close()
        run_call(fields, files)  # does not return
    if child < 0:
        raise OSError("the system has no room for one more process")
    try:
        os.setpgid(child, child)
    except OSError:
        pass  # it has done so itself, and may be gone
    return child


def new_random_numbers():
    """The random numbers of one call must not be those of another."""
    if "random" in sys.modules:
        sys.modules["random"].seed()
    if "numpy.random" in sys.modules:
        sys.modules["numpy.random"].seed()


def run_call(fields, files):
    arguments, result, out, err = files
    code = 1
    try:
        enter(fields, out, err)
        answer = call(read_all(arguments))
        sys.stdout.flush()
        sys.stderr.flush()
        write_result(result, answer)
        code = 0
    except BaseException:  # of ours: the function's own are part of the answer
        traceback.print_exc()
        sys.stderr.flush()
    finally:
        os._exit(code)


def enter(fields, out, err):
    """Streams, control group, cores, environment and folder of the task."""
    os.dup2(out, 1)
    os.dup2(err, 2)
    if fields[2]:
        with open(fields[2], "w") as group:
            group.write("0")
    if fields[3]:
        os.sched_setaffinity(0, map(int, fields[3].split(b",")))
    for entry in fields[4:]:
        name, equals, value = entry.partition(b"=")
        if equals:
            os.environb[name] = value
        else:
            os.environb.pop(name, None)
    if fields[1]:
        os.chdir(fields[1])


def read_all(memory):
    size = os.fstat(memory).st_size
    if size > SMALL:
        return mmap.mmap(memory, size, mmap.MAP_PRIVATE)
    whole = bytearray(size)
    os.preadv(memory, [whole], 0)
    return whole


def parts_of(whole):
    """The first lines, and the parts that follow: function, arguments, buffers."""
    at = 0
    lines = []
    while len(lines) < 4:
        end = whole.find(b"\n", at)
        lines.append(whole[at:end].decode())
        at = end + 1
    view = memoryview(whole)
    parts = []
    for size in map(int, lines[3].split()):
        parts.append(view[at : at + size])
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
    """The parts, after a header; the result counts only if all that the header announces is there."""
    kind, parts = answer[0], answer[1:]
    parts.insert(0, kind + b" " + b" ".join([b"%d" % len(part) for part in parts]) + b"\n")
    size = sum([len(part) for part in parts])
    parts.insert(0, HEADER.pack(MARK, RETURNED, 0, size))
    if size < SMALL:
        parts = [b"".join(parts)]
    for part in parts:
        view = memoryview(part)
        while len(view):
            view = view[os.write(memory, view[: 1 << 30]) :]


class Interpreter:
    def __init__(self, link):
        self.link = link
        self.poll = select.poll()
        self.poll.register(link, select.POLLIN)
        self.calls = {}  # by the descriptor of their process: serial and process

    def run(self):
        while True:
            for file, _ in self.poll.poll():
                if file in self.calls:
                    self.end(file)
                elif not self.begin():
                    return

    def begin(self):
        """The next request. False: the launcher is gone."""
        request = receive(self.link)
        if request is None:
            return False
        fields, files = request
        serial = fields[0].decode()
        try:
            child = fork_call(self.link, fields, files)
            file = os.pidfd_open(child)
            self.calls[file] = serial, child
            self.poll.register(file, select.POLLIN)
            self.link.send(b"f %s %d" % (fields[0], child))
        except OSError as error:
            self.link.send(("x %s no process can be forked for it: %s" % (serial, error)).encode())
        for file in files:
            os.close(file)
        return True

    def end(self, file):
        serial, child = self.calls.pop(file)
        self.poll.unregister(file)
        os.close(file)
        _, status, usage = os.wait4(child, 0)
        figures = (
            status,
            int(usage.ru_utime * 1e6),
            int(usage.ru_stime * 1e6),
            usage.ru_maxrss,
            usage.ru_inblock,
            usage.ru_oublock,
        )
        self.link.send(("e %s %d %d %d %d %d %d" % ((serial,) + figures)).encode())


def main():
    link = socket.socket(fileno=int(sys.argv[1]))
    sys.argv = [""]
    try:
        import cloudpickle  # noqa: F401: nearly all functions need it
    except ImportError:
        pass
    gc.collect()
    gc.freeze()
    Interpreter(link).run()
    os._exit(0)


main()
