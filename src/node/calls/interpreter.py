# An interpreter that forks processes to run calls of Python functions for a launcher (interpreter.h). The script is
# unpicklable.py, answer.py, modules.py, call_process.py and this file. It is the first message of the socket `link`.
#
# For Python 3.9 and later. sys.path begins with the current folder, so a call imports what is in its task's folder.
#
# A page that a new process touches costs 1 to 2 us, and the process of a small call touches some 200. What it needs is
# therefore imported here, and what can be done before the fork is done there.
import ctypes
import os
import select
import signal
import socket
import sys
from _signal import SIG_DFL  # those of `signal` are enumerators, which take a new process 60 pages more
from _signal import signal as set_handler

# The C library's fork(), not Python's, which costs each process some 170 page faults more, as it sets locks anew that
# only other threads could hold; there are none here. It also calls no function that a module gave to
# os.register_at_fork(): `new_random_numbers` does for the standard library and numpy what those would do.
LIBC = ctypes.PyDLL(None, use_errno=True)


class Interpreter:
    def __init__(self, link, fresh):
        self.link = link
        self.modules = Modules(fresh)
        self.modules.settle()
        self.processes = set()  # that run calls
        self.to_try = []  # lists of names of modules
        self.trial = None  # process that tries one of them
        self.to_load = []  # packages whose trial went well
        # A pidfd for each would be simpler, but needs Linux 5.3.
        self.child_ended, wake = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        self.poll = select.poll()
        for file in (link.fileno(), self.modules.read, self.child_ended):
            self.poll.register(file, select.POLLIN)
        self.link.send(b"h")

    def run(self):
        while True:
            for file, _ in self.poll.poll(0 if self.to_load else None):
                if file == self.modules.read:
                    self.to_try.append(self.modules.take())
                    self.begin_trial()
                elif file == self.child_ended:
                    self.reap()
                else:
                    wanted = self.link.recv(64)
                    if not wanted:
                        return
                    self.fork_processes(int(wanted))
            if self.to_load:
                self.load_next()

    def fork_processes(self, count):
        for done in range(count):
            try:
                self.fork_process()
            except Exception as error:
                self.link.send(b"x %d no process can be forked for it: %s" % (count - done, str(error).encode()))
                return

    def fork_process(self):
        new_random_numbers()
        launchers, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with launchers, its:
            child = self.fork(lambda: (launchers.close(), CallProcess(its, self.modules).run()))
            try:
                os.setpgid(child, child)
            except OSError:
                pass  # it has done so itself, and may be gone
            socket.send_fds(self.link, [b"c %d" % child], [launchers.fileno()])
            self.processes.add(child)

    def fork(self, run):
        """Forks a process, in a process group of its own, that calls run() and ends."""
        child = LIBC.fork()
        if child == 0:
            try:
                os.setpgid(0, 0)
                self.link.close()
                signal.set_wakeup_fd(-1)
                set_handler(signal.SIGCHLD, SIG_DFL)
                run()
            except BaseException as error:
                print("%s: %s" % (type(error).__name__, error), file=sys.stderr)
            finally:
                os._exit(1)
        if child < 0:
            raise OSError("%s (see ulimit -u)" % os.strerror(ctypes.get_errno()))
        return child

    def reap(self):
        os.read(self.child_ended, 4096)
        while True:
            try:
                child, status, usage = os.wait4(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if child == 0:
                return
            if child in self.processes:
                self.processes.remove(child)
                self.tell_end(child, status, usage)
            elif child == self.trial:
                self.end_trial(status)

    def tell_end(self, child, status, usage):
        figures = (child, status) + figures_of(usage)
        self.link.send(("e " + " ".join(map(str, figures))).encode())

    def begin_trial(self):
        while self.trial is None and self.to_try:
            names = self.to_try[0]
            try:
                self.trial = self.fork(lambda: self.modules.try_imports(names)) if names else None
            except OSError:
                pass  # calls go on importing them by themselves
            if self.trial is None:
                self.to_try.pop(0)

    def end_trial(self, status):
        self.trial = None
        names = self.to_try.pop(0)
        if status == 0:
            self.to_load += [[name for name in names if package_of(name) == package] for package in dict.fromkeys(map(package_of, names))]
        else:
            self.to_try += self.modules.split(names, status)
        self.begin_trial()

    def load_next(self):
        """One package at a time: processes that are wanted, or have ended, wait while an import runs."""
        self.modules.load(self.to_load.pop(0))
        if not self.to_load:
            self.modules.find_threads()
            self.modules.settle()
            self.link.send(b"n")


def main():
    if sys.version_info < (3, 9):
        sys.exit("functions need Python 3.9 or later, and %s is %d.%d" % ((sys.executable,) + sys.version_info[:2]))
    link.set_inheritable(False)
    fresh = "fresh" in sys.argv[2:]
    sys.argv = [""]
    os.environ.pop("WORK_QUEUE_INTERPRETER", None)  # the kernel keeps it (node/usage/running_tasks.cpp)
    # What these start in a call is set by Modules.begin(); with more, they would start threads here.
    for library in ("OPENBLAS", "OMP", "MKL", "NUMEXPR"):
        os.environ.setdefault(library + "_NUM_THREADS", "1")
    try:
        import cloudpickle  # noqa: F401: nearly all functions need it
    except ImportError:
        pass
    Interpreter(link, fresh).run()
    os._exit(0)


main()
