# Part of a script (interpreter.py): the modules that calls find imported.
import ctypes
import gc
import importlib
import os
import signal
import sys

LONGEST_LIST = 4000  # of names of modules: what a pipe takes at once
MOST_SECONDS = 60  # that a trial of an import may take


class Modules:
    """What calls imported, so that later calls find it imported. Not modules of a task's folder.

    An import may crash, hang, or start threads, which a fork does not copy: a process tries it first.
    """

    def __init__(self):
        self.read, self.write = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        self.folders = tuple(os.path.join(folder, "") for folder in sys.path if os.path.isabs(folder))
        self.tried = set()
        self.threads = []  # functions that set how many threads a library has
        self.threads_set = "1"

    def begin(self):
        """At the begin of a call: libraries that were loaded here get its number of threads."""
        cores = os.environ.get("OMP_NUM_THREADS", "1")
        if self.threads and cores.isdigit() and cores != self.threads_set:
            self.threads_set = cores
            for set_threads in self.threads:
                set_threads(int(cores))

    def tell_new(self):
        """At the end of a call. False: some are of the call's own, such as those of its folder."""
        if len(sys.modules) == self.count:
            return True
        new = [(name, self.is_installed(module)) for name, module in list(sys.modules.items()) if name not in self.known]
        self.know_all()
        text = b""
        for name in sorted([name for name, installed in new if installed], key=lambda name: name.count(".")):
            if len(text) + len(name) < LONGEST_LIST:
                text += name.encode() + b" "
        try:
            os.write(self.write, text)
        except OSError:
            pass  # the pipe is full: another process tells it again
        return all([installed for _, installed in new])

    def know_all(self):
        self.known = set(sys.modules)
        self.count = len(sys.modules)

    def is_installed(self, module):
        origin = getattr(getattr(module, "__spec__", None), "origin", None)
        return origin is not None and (origin in ("built-in", "frozen") or origin.startswith(self.folders))

    def settle(self):
        """Before calls are forked."""
        self.know_all()
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

    def try_imports(self, names):
        """In a process of its own, which ends. Exit code 0 means that all is well."""
        code = 1
        try:
            signal.alarm(MOST_SECONDS)
            self.load(names)
            code = 0 if len(os.listdir("/proc/self/task")) == 1 else 2
        finally:
            os._exit(code)

    def load(self, names):
        path = list(sys.path)
        sys.path[:] = [folder for folder in path if folder]  # not what is in the current folder
        for name in names:
            try:
                importlib.import_module(name)
            except Exception:
                pass  # a call that needs it learns why
        sys.path[:] = path

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
