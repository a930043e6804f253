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
import importlib
import mmap
import os
import pickle
import select
import signal
import socket
import struct
import sys
import time
import traceback

LONGEST = 1 << 20
MARK = 0x57515F43414C4C31  # of a result that is whole (launcher/call_starter.cpp)
HEADER = struct.Struct("<QiiQ")
BEGUN = struct.Struct("<i")
RETURNED = 0  # core::Ending::exited
SMALL = 1 << 20  # bytes that are copied rather than mapped
LONGEST_LIST = 4000  # of names of modules: what a pipe takes at once
MOST_SECONDS = 60  # that a trial of an import may take
MOST_BYTES = 960 << 20  # of a result (process/call.h)

# The C library's fork(), not Python's, which costs each process some 170 page faults more, as it sets locks anew that
# only other threads could hold; there are none here. What else it does for modules, `new_random_numbers` does.
LIBC = ctypes.PyDLL(None)
fork = LIBC.fork


class RemoteError(Exception):
    """Stands for an exception that cannot be sent."""


def receive(link):
    """The next request: its fields and descriptors, which are none if not all could be opened. None: the launcher is gone."""
    text, parts, flags, _ = link.recvmsg(LONGEST, socket.CMSG_SPACE(8 * array.array("i").itemsize), socket.MSG_CMSG_CLOEXEC)
    if not text:
        return None
    files = array.array("i")
    for level, kind, data in parts:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            files.frombytes(data[: len(data) - len(data) % files.itemsize])
    if flags & socket.MSG_CTRUNC or len(files) != 4:
        close_all(files)
        files = []
    return text.split(b"\0")[:-1], list(files)


def close_all(files):
    for file in files:
        os.close(file)


def fork_call(link, fields, files, modules):
    """Forks a process for the call, in a process group of its own. Returns its id."""
    if not files:
        raise OSError("no descriptors are left")
    new_random_numbers()
    child = fork()
    if child == 0:
        try:
            os.setpgid(0, 0)
            leave_to_itself(link)
            run_call(fields, files, modules)
        finally:
            os._exit(1)
    if child < 0:
        raise OSError("the system has no room for one more process")
    try:
        os.setpgid(child, child)
    except OSError:
        pass  # it has done so itself, and may be gone
    return child


def leave_to_itself(link):
    """In a new process, which is no interpreter for the launcher."""
    link.close()
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)


def new_random_numbers():
    """The random numbers of one call must not be those of another."""
    if "random" in sys.modules:
        sys.modules["random"].seed()
    if "numpy.random" in sys.modules:
        sys.modules["numpy.random"].seed()


def run_call(fields, files, modules):
    """Ends the process, with 0 if the result is written."""
    arguments, result, out, err = files
    code = 1
    try:
        # So it is not begun again, and is known, if its parent ends now.
        os.pwrite(arguments, BEGUN.pack(os.getpid()), os.fstat(arguments).st_size)
        enter(fields, out, err)
        modules.begin()
        answer = call(read_all(arguments))
        flush_all()
        write_result(result, answer)
        code = 0
        modules.tell_new()
    except BaseException:  # of ours: the function's own are part of the answer
        if code != 0:
            traceback.print_exc()
            flush_all()
    finally:
        os._exit(code)


def flush_all():
    """What the function has written, also by C's streams. It may have closed or replaced them."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except Exception:
            pass
    LIBC.fflush(None)


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
        if named is None:
            return call_each(function, positional)
        value = function(*positional, **named)
        return dump(b"R", value)
    except BaseException as error:
        return dump_error(error)


def call_each(function, items):
    """Calls it with each item of a chunk. The value of the answer: seconds of the first call and of all, the results,
    and the answers that dump_error() gives for those that failed, by their places. One failure spoils no other result."""
    results, errors = [], {}
    begun = first = time.perf_counter()
    for place, item in enumerate(items):
        try:
            results.append(function(item))
        except BaseException as error:
            results.append(None)
            errors[place] = dump_error(error)
        if place == 0:
            first = time.perf_counter()
    times = first - begun, time.perf_counter() - begun
    try:
        return dump(b"R", times + (results, errors))
    except Exception:
        return dump(b"R", times + (without_unsendable(results, errors), errors))


def without_unsendable(results, errors):
    for place, value in enumerate(results):
        try:
            dump(b"R", value)
        except Exception as error:
            results[place] = None
            errors[place] = dump_error(error)
    return results


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
    """Pickled; parts of arrays go to the list `buffers`, if there is one."""
    callback = None if buffers is None else buffers.append
    try:
        return pickle.dumps(value, protocol=5, buffer_callback=callback)
    except Exception:
        if buffers:
            del buffers[:]
        import cloudpickle

        return cloudpickle.dumps(value, protocol=5, buffer_callback=callback)


def dump_error(error):
    text = "".join(traceback.format_exception(type(error), error, error.__traceback__))
    if isinstance(error, SystemExit):
        error = RemoteError("the function called sys.exit(%s)" % ("" if error.code is None else repr(error.code)))
    elif not isinstance(error, Exception):
        error = RemoteError("%s: %s" % (type(error).__name__, error))
    if type(error) is not RemoteError:
        try:
            error.__traceback__ = None
            return [b"E", dumps(error, None), text.encode("utf-8", "replace")]
        except Exception:
            error = RemoteError("%s: %s" % (type(error).__name__, error))
    return [b"M", str(error).encode("utf-8", "replace"), text.encode("utf-8", "replace")]


def write_result(memory, answer):
    """The parts, after a header; the result counts only if all that the header announces is there."""
    kind, parts = answer[0], answer[1:]
    parts.insert(0, kind + b" " + b" ".join([b"%d" % len(part) for part in parts]) + b"\n")
    size = sum([len(part) for part in parts])
    if size > MOST_BYTES:
        told = "the result has %d bytes, and may have %d: write it to an output file of the task" % (size, MOST_BYTES)
        return write_result(memory, dump_error(RemoteError(told)))
    parts.insert(0, HEADER.pack(MARK, RETURNED, 0, size))
    if size < SMALL:
        parts = [b"".join(parts)]
    for part in parts:
        view = memoryview(part)
        while len(view):
            view = view[os.write(memory, view[: 1 << 30]) :]


class Modules:
    """What calls imported, so that later calls find it imported. Not modules of a task's folder.

    An import may crash, hang, or start threads, which a fork does not copy: a process tries it first.
    """

    def __init__(self):
        self.read, self.write = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        self.folders = tuple(os.path.join(folder, "") for folder in sys.path if os.path.isabs(folder))
        self.tried = set()
        self.threads = []  # functions that set how many threads a library has

    def begin(self):
        """At the begin of a call: libraries that were loaded here have the threads for one core."""
        cores = os.environ.get("OMP_NUM_THREADS", "1")
        if self.threads and cores.isdigit() and cores != "1":
            for set_threads in self.threads:
                set_threads(int(cores))

    def tell_new(self):
        """At the end of a call."""
        if len(sys.modules) == self.count:
            return
        new = [name for name, module in list(sys.modules.items()) if name not in self.known and self.is_installed(module)]
        text = b""
        for name in sorted(new, key=lambda name: name.count(".")):
            if len(text) + len(name) < LONGEST_LIST:
                text += name.encode() + b" "
        try:
            os.write(self.write, text)
        except OSError:
            pass  # the pipe is full: the next call tells it again

    def is_installed(self, module):
        origin = getattr(getattr(module, "__spec__", None), "origin", None)
        return origin is not None and (origin == "built-in" or origin.startswith(self.folders))

    def settle(self):
        """Before calls are forked."""
        self.known = set(sys.modules)
        self.count = len(sys.modules)
        gc.collect()
        gc.freeze()

    def take(self):
        """Names that calls have told and nobody has tried."""
        try:
            told = os.read(self.read, 1 << 16).decode("utf-8", "replace").split()
        except OSError:
            return []
        names = [name for name in dict.fromkeys(told) if name not in self.tried and name not in sys.modules]
        self.tried.update(names)
        return names

    def try_imports(self, names, link):
        """Forks a process that imports them. Returns it; its exit code 0 means that all is well."""
        child = fork()
        if child == 0:
            code = 1
            try:
                leave_to_itself(link)
                signal.alarm(MOST_SECONDS)
                self.load(names)
                code = 0 if len(os.listdir("/proc/self/task")) == 1 else 2
            finally:
                os._exit(code)
        return child

    def load(self, names):
        for name in names:
            try:
                importlib.import_module(name)
            except Exception:
                pass  # a call that needs it learns why

    def find_threads(self):
        """Finds libraries of linear algebra by the names of their functions."""
        self.threads = []
        with open("/proc/self/maps") as maps:
            files = {line.split(None, 5)[-1].strip() for line in maps if ".so" in line}
        for file in files:
            if not any(name in os.path.basename(file) for name in ("openblas", "mkl_rt", "libomp", "libgomp", "libiomp")):
                continue
            for function in ("openblas_set_num_threads", "scipy_openblas_set_num_threads64_", "MKL_Set_Num_Threads", "omp_set_num_threads"):
                try:
                    self.threads.append(getattr(ctypes.CDLL(file), function))
                except (OSError, AttributeError):
                    pass


class Interpreter:
    def __init__(self, link):
        self.link = link
        self.modules = Modules()
        self.modules.settle()
        self.calls = {}  # serials by processes
        self.trials = {}  # names of modules by processes
        # A pidfd for each would be simpler, but needs Linux 5.3.
        self.child_ended, wake = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        self.poll = select.poll()
        for file in (link.fileno(), self.modules.read, self.child_ended):
            self.poll.register(file, select.POLLIN)
        self.link.send(b"h 0 ")

    def run(self):
        while True:
            for file, _ in self.poll.poll():
                if file == self.modules.read:
                    self.try_imports()
                elif file == self.child_ended:
                    self.reap()
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
            child = fork_call(self.link, fields, files, self.modules)
        except OSError as error:
            self.link.send(("x %s no process can be forked for it: %s" % (serial, error)).encode())
        else:
            self.calls[child] = serial
            self.link.send(("f %s %d" % (serial, child)).encode())
        close_all(files)
        return True

    def reap(self):
        os.read(self.child_ended, 4096)
        while self.calls or self.trials:
            child, status, usage = os.wait4(-1, os.WNOHANG)
            if child == 0:
                return
            if child in self.calls:
                self.end(self.calls.pop(child), status, usage)
            elif child in self.trials:
                self.end_trial(self.trials.pop(child), status)

    def end(self, serial, status, usage):
        figures = (
            status,
            int(usage.ru_utime * 1e6),
            int(usage.ru_stime * 1e6),
            usage.ru_maxrss,
            usage.ru_inblock,
            usage.ru_oublock,
            usage.ru_nvcsw,
            usage.ru_nivcsw,
        )
        self.link.send(("e %s " % serial + " ".join(map(str, figures))).encode())

    def try_imports(self):
        names = self.modules.take()
        child = self.modules.try_imports(names, self.link) if names else 0
        if child > 0:
            self.trials[child] = names

    def end_trial(self, names, status):
        if status == 0:
            self.modules.load(names)
            self.modules.find_threads()
            self.modules.settle()


def main():
    link = socket.socket(fileno=int(sys.argv[1]))
    link.set_inheritable(False)
    sys.argv = [""]
    # What these start in a call is set by Modules.begin(); with more, they would start threads here.
    for library in ("OPENBLAS", "OMP", "MKL", "NUMEXPR"):
        os.environ.setdefault(library + "_NUM_THREADS", "1")
    try:
        import cloudpickle  # noqa: F401: nearly all functions need it
    except ImportError:
        pass
    Interpreter(link).run()
    os._exit(0)


main()
