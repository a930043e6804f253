# Part of a script (interpreter.py): the process that runs calls.
import array
import gc
import os
import random
import resource
import signal
import socket
import struct
import sys
import time
import traceback
import warnings
from _locale import LC_ALL, setlocale
from _signal import getsignal, pthread_sigmask  # those of `signal` take 1 us to make a name of each number

LONGEST = 1 << 20  # of a request
MOST_FILES = socket.CMSG_SPACE(8 * array.array("i").itemsize)
BEGUN = struct.Struct("<i")
MOST_CALLS = 1000  # that one process runs
MOST_GROWTH = 256 << 10  # KB of its memory, after which it runs no more
LIMITS = [getattr(resource, name) for name in dir(resource) if name.startswith("RLIMIT_")]


def receive(link):
    """The next request: its fields and descriptors, which are none if not all could be opened. None: the launcher is gone,
    or wants no more calls to run here."""
    try:
        text, parts, flags, _ = link.recvmsg(LONGEST, MOST_FILES, socket.MSG_CMSG_CLOEXEC)
    except ConnectionResetError:  # it has not read the last answer
        return None
    if not text:
        return None
    files = array.array("i")
    for level, kind, data in parts:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            files.frombytes(data[: len(data) - len(data) % files.itemsize])
    if flags & socket.MSG_CTRUNC or len(files) != 4:
        raise OSError("no descriptors are left: raise ulimit -n")
    return text.split(b"\0")[:-1], files


def new_random_numbers():
    """The random numbers of one call must not be those of another. Without a seed, both would read 2,500 bytes each."""
    seed = os.urandom(16)
    random.seed(int.from_bytes(seed, "little"))
    if "numpy.random" in sys.modules:
        sys.modules["numpy.random"].seed(list(seed))


def environment():
    """As dict(os.environb), which encodes and decodes each name: that takes 50 us."""
    return dict(getattr(os.environb, "_data", os.environb))


def flush_all():
    """What the function has written, also by C's streams. It may have closed or replaced them."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except Exception:
            pass
    LIBC.fflush(None)


def wait_for_threads():
    """As at the end of a script. But functions of atexit do not run: some are of modules that other calls use, too."""
    threading = sys.modules.get("threading")
    if threading and threading.active_count() > 1:
        try:
            threading._shutdown()
            flush_all()
        except BaseException:
            traceback.print_exc()


def figures_of(usage):
    """As end_in() of news.h reads them, after a status."""
    return (
        int(usage.ru_utime * 1e6),
        int(usage.ru_stime * 1e6),
        usage.ru_maxrss,
        usage.ru_inblock,
        usage.ru_oublock,
        usage.ru_nvcsw,
        usage.ru_nivcsw,
    )


def find_usage():
    """Of this process, and of its children that it has waited for."""
    return [figures_of(resource.getrusage(who)) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]


def decimal_context():
    """None: as Python makes it."""
    decimal = sys.modules.get("decimal")
    if decimal is None:
        return None
    context = decimal.getcontext().copy()
    context.clear_flags()
    text = repr(context)
    return None if text == repr(decimal.Context()) else text


def numpy_errors():
    """None: as numpy makes them."""
    numpy = sys.modules.get("numpy")
    if numpy is None:
        return None
    errors = numpy.geterr()
    return None if errors == {"divide": "warn", "over": "warn", "under": "ignore", "invalid": "warn"} else errors


def marks_of_imports():
    """What a call should leave alone, but modules change when they are imported."""
    logging = sys.modules.get("logging")
    root = logging and logging.root
    return list(warnings.filters), root and (root.level, list(root.handlers), root.manager.disable)


class Surroundings:
    """Those of a process, which a call may change, and the next one must find as they were."""

    def __init__(self):
        self.folder = os.open(".", os.O_RDONLY | os.O_CLOEXEC)
        self.nothing = os.open("/dev/null", os.O_RDWR | os.O_CLOEXEC)
        self.cores = os.sched_getaffinity(0)
        self.variables = environment()
        self.path = list(sys.path)
        self.streams = sys.stdin, sys.stdout, sys.stderr
        self.recursion = sys.getrecursionlimit()
        self.umask = os.umask(0)
        os.umask(self.umask)
        try:
            self.peak = os.open("/proc/self/clear_refs", os.O_WRONLY | os.O_CLOEXEC)
        except OSError:
            self.peak = None
        self.sizes = os.open("/proc/self/statm", os.O_RDONLY | os.O_CLOEXEC)
        self.memory = self.find_memory()
        self.lasting = self.find_lasting()
        self.marks = marks_of_imports()

    def find_memory(self):
        """KB that are in use."""
        return int(os.pread(self.sizes, 100, 0).split()[1]) * (resource.getpagesize() >> 10)

    def find_lasting(self):
        """What a call should leave alone, and is not put back."""
        return (
            [getsignal(number) for number in range(1, signal.NSIG)],
            pthread_sigmask(signal.SIG_BLOCK, ()),
            [resource.getrlimit(number) for number in LIMITS],
            os.getpriority(os.PRIO_PROCESS, 0),
            os.sched_getscheduler(0),
            [stream.closed for stream in self.streams if stream],
            os.listdir("/proc/self/fd"),
            (time.tzname, time.timezone, setlocale(LC_ALL), socket.getdefaulttimeout()),
            (sys.gettrace(), sys.getprofile(), sys.excepthook, sys.getswitchinterval(), list(sys.argv), gc.isenabled()),
            decimal_context(),
            numpy_errors(),
        )

    def begin(self):
        """Before a call: the peak of memory is to be its own."""
        if self.peak is not None:
            os.write(self.peak, b"5")

    def restore(self, has_imported):
        """False: something is left that cannot be undone, so no other call may run here."""
        for stream in (0, 1, 2):
            os.dup2(self.nothing, stream)
        if self.threads_or_children() or self.find_lasting() != self.lasting or self.find_memory() > self.memory + MOST_GROWTH:
            return False
        marks = marks_of_imports()
        if marks != self.marks and not has_imported:
            return False
        self.marks = marks
        os.fchdir(self.folder)
        os.sched_setaffinity(0, self.cores)
        os.umask(self.umask)
        for timer in (signal.ITIMER_REAL, signal.ITIMER_VIRTUAL, signal.ITIMER_PROF):
            signal.setitimer(timer, 0)
        sys.path[:] = self.path
        sys.stdin, sys.stdout, sys.stderr = self.streams
        sys.setrecursionlimit(self.recursion)
        self.restore_variables()
        new_random_numbers()
        return True

    def threads_or_children(self):
        try:
            while os.waitpid(-1, os.WNOHANG)[0] > 0:
                pass
            return True
        except ChildProcessError:
            return len(os.listdir("/proc/self/task")) > 1

    def restore_variables(self):
        found = environment()
        for name in found.keys() - self.variables.keys():
            del os.environb[name]
        for name, value in self.variables.items():
            if found.get(name) != value:
                os.environb[name] = value


class CallProcess:
    """A process that is forked before its first call comes. It runs that one, and others after it if they allow it."""

    def __init__(self, link, modules):
        self.link = link
        self.modules = modules
        self.surroundings = None  # of a call: found only for calls after which others may run
        self.calls = 0

    def run(self):
        while True:
            request = receive(self.link)
            if request is None:
                os._exit(0)
            self.run_call(*request)

    def run_call(self, fields, files):
        """Ends the process, with 0 if the result is written, unless other calls may run in it."""
        arguments, result, out, err = files
        shared = fields[0] == b"shared"
        try:
            # From now on nobody else begins it.
            os.pwrite(arguments, BEGUN.pack(os.getpid()), os.fstat(arguments).st_size)
        except OSError:
            os._exit(1)  # it was taken away from this process
        code = 1
        try:
            os.dup2(out, 1)
            os.dup2(err, 2)
            if shared:
                self.surroundings = self.surroundings or Surroundings()
                self.surroundings.begin()
                before = find_usage()
            self.enter(fields)
            answer, reason = call(read_all(arguments), self.modules)
            flush_all()
            write_result(result, answer, reason)
            code = 0
            self.calls += 1
            imported = len(sys.modules) != self.modules.count
            if self.modules.tell_new() and shared and self.calls < MOST_CALLS and self.surroundings.restore(imported):
                for file in files:
                    os.close(file)
                self.tell_end(*before)
                code = None
        except BaseException:  # of ours: the function's own are part of the answer
            if code == 1:
                traceback.print_exc()
                flush_all()
        finally:
            if code is not None:
                wait_for_threads()
                os._exit(code)

    def enter(self, fields):
        """Control group, cores, environment and folder of the task."""
        _, folder, group, cores, *variables = fields
        if group:
            with open(group, "w") as file:
                file.write("0")
        if cores:
            os.sched_setaffinity(0, map(int, cores.split(b",")))
        for entry in variables:
            name, equals, value = entry.partition(b"=")
            if equals:
                os.environb[name] = value
            else:
                os.environb.pop(name, None)
        if folder:
            os.chdir(folder)
            self.modules.enter_folder()
        if "tempfile" in sys.modules:
            sys.modules["tempfile"].tempdir = None  # which it keeps from the first use: TMPDIR is the task's
        self.modules.begin()

    def tell_end(self, own_before, children_before):
        own, children = find_usage()
        figures = [a + b - c - d for a, b, c, d in zip(own, children, own_before, children_before)]
        # The peak. That of children is never less than it was.
        figures[2] = max(own[2], children[2] if children[2] > children_before[2] else 0)
        self.link.send(b"0 " + b" ".join([b"%d" % figure for figure in figures]))
