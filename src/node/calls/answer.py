# Part of a script (interpreter.py): the call of a function, from the packed arguments to the packed answer.
import mmap
import os
import pickle
import struct
import sys
import time
import traceback

MARK = 0x57515F43414C4C31  # of a result that is whole (node/launcher/task_starter.cpp)
HEADER = struct.Struct("<QiiQ")
RETURNED, RAISED = 0, 8  # of engine::model::Ending
SMALL = 1 << 20  # bytes that are copied rather than mapped
MOST_BYTES = 960 << 20  # of a result (node/process/functions.h)


class RemoteError(Exception):
    """Stands for an exception that cannot be sent."""


def read_all(memory):
    size = os.fstat(memory).st_size
    if size > SMALL:
        return mmap.mmap(memory, size, mmap.MAP_PRIVATE)
    whole = bytearray(size)
    os.preadv(memory, [whole], 0)
    return whole


def manager_memory(path, serial):
    """The manager's memory of this name. The function may change its arrays: pages that it writes to become its own."""
    try:
        memory = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except (FileNotFoundError, ProcessLookupError) as error:
        raise RemoteError("the arguments are in a memory of the manager, which is gone: %s" % error)
    except OSError as error:
        raise RemoteError("the arguments are in a memory of the manager, which cannot be opened: %s" % error)
    try:
        whole = mmap.mmap(memory, os.fstat(memory).st_size, mmap.MAP_PRIVATE)
    except OSError as error:
        told = "the arguments are in a memory of the manager, which cannot be mapped: %s (see ulimit -v)" % error
        raise RemoteError(told)
    finally:
        os.close(memory)
    # From open() on, the manager puts no other arguments into it.
    if int.from_bytes(whole[-8:], sys.byteorder) != int(serial):
        raise RemoteError("the arguments are in a memory of the manager, which is gone: %s has others now" % path)
    return whole


def parts_of(whole):
    """The first lines, and the parts that follow or are in a memory: function, arguments, buffers."""
    at = 0
    lines = []
    while len(lines) < 7:
        end = whole.find(b"\n", at)
        lines.append(os.fsdecode(bytes(whole[at:end])))
        at = end + 1
    if lines[6]:
        whole, at = manager_memory(*lines[6].split()), 0
    view = memoryview(whole)
    parts = []
    sizes = lines[5].split()
    if not sizes[0].isdigit():  # a file of the task
        with open(sizes.pop(0), "rb") as file:
            parts.append(file.read())
    for size in map(int, sizes):
        parts.append(view[at : at + size])
        at += size
    return lines, parts


def call(whole, modules):
    """Runs the function. The answer: whether it returned, and the parts of the result or the exception; and why it failed, in
    a line."""
    function = None
    try:
        lines, parts = parts_of(whole)
        check_version(lines[0])
        modules.look_beside_script(lines[4])
        function = pickle.loads(parts[0])
        positional, named = pickle.loads(parts[1], buffers=parts[2:])
        if named is None:
            return call_each(function, positional), ""
        return dump_result(call_once(function, positional, named), function), ""
    except BaseException as error:
        answer = dump_error(error, function)
        return answer, one_line(text_of(error) if answer[0] == b"E" else answer[1].decode())


def call_once(function, positional, named):
    process = os.getpid()
    try:
        value = function(*positional, **named)
    except BaseException as error:
        end_if_forked(process, error)
        raise
    end_if_forked(process)
    return value


def end_if_forked(process, error=None):
    """A process that the function forked, by os.fork(), and that left the function ends here, as a script would."""
    if os.getpid() == process:
        return
    code = 1
    try:
        told = error.code if isinstance(error, SystemExit) else None if error is None else trace_of(error).strip()
        if told is None or isinstance(told, int):
            code = (told or 0) & 0xFF
        else:
            print(told, file=sys.stderr)
        flush_all()
    finally:
        os._exit(code)


def call_each(function, items):
    """Calls it with each item of a chunk. The value of the answer: seconds of the first call and of all, the results,
    and the answers that dump_error() gives for those that failed, by their places. One failure spoils no other result."""
    results, errors = [], {}
    process = os.getpid()
    begun = first = time.perf_counter()
    for place, item in enumerate(items):
        try:
            results.append(function(item))
            end_if_forked(process)
        except BaseException as error:
            end_if_forked(process, error)
            results.append(None)
            errors[place] = dump_error(error, function)
        if place == 0:
            first = time.perf_counter()
    times = first - begun, time.perf_counter() - begun
    try:
        return dump(b"R", times + (results, errors))
    except BaseException:
        return dump(b"R", times + (without_unsendable(results, errors, function), errors))


def without_unsendable(results, errors, function):
    for place, value in enumerate(results):
        try:
            dump_result(value, function)
        except BaseException as error:
            results[place] = None
            errors[place] = dump_error(error)
    return results


def check_version(wanted):
    ours = "%d.%d" % sys.version_info[:2]
    if ours != wanted:
        raise RemoteError(
            "this worker's Python is %s (%s) and the manager's %s, but functions travel as bytecode, which only the same version runs: "
            "install python%s at the worker, set WORK_QUEUE_PYTHON there to it, or give the task an environment"
            % (ours, sys.executable, wanted, wanted)
        )


def dump_result(value, function):
    try:
        return dump(b"R", value)
    except Exception as error:
        raise TypeError(text_of_unpicklable(function, value, error)) from error


def dump(kind, value):
    buffers = []
    text = dumps(value, buffers)
    return [kind, text] + [buffer.raw() for buffer in buffers]


def dumps(value, buffers):
    """Pickled; parts of arrays go to the list `buffers`, if there is one."""
    callback = None if buffers is None else buffers.append
    try:
        return pickle.dumps(value, protocol=5, buffer_callback=callback)
    except Exception:
        if buffers:
            del buffers[:]
        import cloudpickle

        return cloudpickle.dumps(value, protocol=5, buffer_callback=callback)


def name_python(error):
    """Says in the error which Python has no such module."""
    if isinstance(error, ModuleNotFoundError) and error.name and error.args == (error.msg,):
        remedy = "install it there, send its file with the task, or call cloudpickle.register_pickle_by_value() for it"
        if error.name == "cloudpickle":
            remedy = "install it there (Debian: python3-cloudpickle), or set WORK_QUEUE_PYTHON there to a Python that has it"
        error.msg += " in the worker's Python, %s: %s" % (sys.executable, remedy)
        error.args = (error.msg,)


def text_of(error):
    """An exception's own text may fail."""
    try:
        return "%s: %s" % (type(error).__name__, error)
    except BaseException:
        return type(error).__name__ + " (its text cannot be made)"


def trace_of(error):
    try:
        return "".join(traceback.format_exception(type(error), error, error.__traceback__))
    except BaseException:
        return text_of(error) + "\n"


def code_of(error):
    try:
        return "" if error.code is None else repr(error.code)
    except BaseException:
        return "a %s" % type(error.code).__name__


def dump_error(error, function=None):
    """Of the exception; `function` raised it."""
    name_python(error)
    text = trace_of(error)
    if isinstance(error, SystemExit):
        error = RemoteError("the function called sys.exit(%s)" % code_of(error))
    elif not isinstance(error, Exception):
        error = RemoteError(text_of(error))
    if type(error) is not RemoteError:
        try:
            error.__traceback__ = None
            return [b"E", dumps(error, None), text.encode("utf-8", "replace")]
        except BaseException as trouble:
            told = text_of(error), name_of(function), where(error, trouble)
            error = RemoteError("%s (this exception of %s cannot be pickled: %s)" % told)
    return [b"M", str(error).encode("utf-8", "replace"), text.encode("utf-8", "replace")]


def one_line(text):
    """The first that is not blank, as far as it can be printed; with the next one, if it ends with a colon."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    line = " ".join(lines[: 2 if lines and lines[0].endswith(":") else 1])
    return "".join([letter for letter in line if letter.isprintable()])[:300]


def write_result(memory, answer, reason=""):
    """The parts, after a header; the result counts only if all that the header announces is there."""
    kind, parts = answer[0], answer[1:]
    parts.insert(0, kind + b" " + b" ".join([b"%d" % len(part) for part in parts]) + b"\n")
    size = sum([len(part) for part in parts])
    if size > MOST_BYTES:
        told = "the result has %d bytes, and may have %d: write it to an output file of the task" % (size, MOST_BYTES)
        return write_result(memory, [b"L"] + dump_error(RemoteError(told))[1:], told)
    if kind == b"R":
        parts.insert(0, HEADER.pack(MARK, RETURNED, 0, size))
    else:
        told = reason.encode("utf-8", "replace") + b"\0"
        parts[:0] = [HEADER.pack(MARK, RAISED, 1, size + len(told)), told]
    if size < SMALL:
        parts = [b"".join(parts)]
    for part in parts:
        view = memoryview(part)
        while len(view):
            view = view[os.write(memory, view[: 1 << 30]) :]
