# Part of a script (interpreter.py): the modules that calls find imported.
import ctypes
import gc
import importlib
import importlib.machinery
import os
import random
import signal
import stat
import sys

LONGEST_LIST = 4000  # of names of modules: what a pipe takes at once
MOST_SECONDS = 60  # that a trial of an import may take


def package_of(name):
    return name.partition(".")[0]


def is_module_of_folder(name):
    """Whether an import finds it in the current folder. A folder without __init__.py is none if there is a module elsewhere."""
    spec = importlib.machinery.PathFinder.find_spec(name, [""])
    return spec is not None and spec.origin is not None


def origin_of(module):
    return getattr(getattr(module, "__spec__", None), "origin", None) or ""


def is_safe(folder):
    """Whether it is this user's, or root's, and not open to all: on another machine it may be somebody else's."""
    try:
        found = os.stat(folder)
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid in (0, os.getuid()) and not found.st_mode & stat.S_IWOTH


def has_new_generators():
    """Whether there are generators of random numbers that new_random_numbers() does not know."""
    numbers = sys.modules.get("numpy.random")
    kinds = (random.Random, numbers.BitGenerator) if numbers else (random.Random,)
    known = [random._inst, numbers and numbers.mtrand._rand._bit_generator]
    known.append(getattr(getattr(sys.modules.get("tempfile"), "_name_sequence", None), "_rng", None))  # for one process only
    gc.collect()
    return any(
        [
            issubclass(type(found), kinds) and type(found) is not random.SystemRandom and not any([found is one for one in known])
            for found in gc.get_objects()
        ]
    )


class Modules:
    """What calls imported, so that later calls find it imported. Not modules of a task's folder.

    An import may crash, hang, start threads, which a fork does not copy, or make a generator of random numbers, of which
    all calls would have copies: a process tries it first.
    """

    def __init__(self, fresh):
        self.fresh = fresh  # none are imported for later calls
        self.own = set(sys.modules)  # of this script
        self.folder = None  # of the task whose call runs
        self.program = ""  # whose calls ran here last, and the folder of its script
        self.beside_script = ""  # that folder, if modules are looked for there
        self.read, self.write = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        self.folders = tuple(os.path.join(folder, "") for folder in sys.path if os.path.isabs(folder))
        self.tried = set()
        self.slow = set()  # packages whose trial has taken too long, once
        self.threads = []  # functions that set how many threads a library has
        self.threads_set = "1"

    def begin(self):
        """At the begin of a call: libraries that were loaded here get its number of threads."""
        cores = os.environ.get("OMP_NUM_THREADS", "1")
        if self.threads and cores.isdigit() and cores != self.threads_set:
            self.threads_set = cores
            for set_threads in self.threads:
                try:
                    set_threads(int(cores))
                except ValueError:
                    pass  # more than NUMEXPR_MAX_THREADS

    def enter_folder(self):
        """The current one is a task's: modules there hide those of the same names that earlier calls have imported."""
        self.folder = os.path.join(os.getcwd(), "")
        names = {name.partition(".")[0] for name in os.listdir(".")} - self.own
        hidden = tuple([name for name in names if name in sys.modules and is_module_of_folder(name)])
        if hidden:
            for name in list(sys.modules):
                if package_of(name) in hidden:
                    del sys.modules[name]
            self.know_all()

    def look_beside_script(self, program):
        """Modules beside the script of a program are found, too, if this machine has its folder and nobody else could have put
        them there. `program`: something that no other has, a blank, and the folder; or nothing. Processes of many calls keep
        these modules for the calls of that program only: the next may have changed them."""
        if program != self.program:
            self.program = program
            if self.beside_script:
                old = [name for name, module in list(sys.modules.items()) if name not in self.own and self.is_beside_script(module)]
                for name in old:
                    del sys.modules[name]
                self.know_all()
            folder = program.partition(" ")[2]
            self.beside_script = os.path.join(folder, "") if folder not in ("", "/") and is_safe(folder) else ""
        if self.beside_script and self.beside_script[:-1] not in sys.path:
            sys.path.append(self.beside_script[:-1])

    def tell_new(self):
        """At the end of a call. False: some are of the call's own, such as those of its folder."""
        if len(sys.modules) == self.count:
            return True
        new = {name: module for name, module in list(sys.modules.items()) if name not in self.known}
        installed = [name for name, module in new.items() if self.is_installed(module)]
        kept = [name for name, module in new.items() if self.is_beside_script(module)]
        self.know_all()
        text = b""
        for name in sorted(installed, key=lambda name: name.count(".")):
            if len(text) + len(name) < LONGEST_LIST:
                text += name.encode() + b" "
        try:
            os.write(self.write, text)
        except OSError:
            pass  # the pipe is full: another process tells it again
        return new.keys() <= {*installed, *kept}

    def know_all(self):
        self.known = set(sys.modules)
        self.count = len(sys.modules)

    def is_installed(self, module):
        origin = origin_of(module)
        if not origin or self.folder and origin.startswith(self.folder) or self.is_beside_script(module):
            return False
        return origin in ("built-in", "frozen") or origin.startswith(self.folders)

    def is_beside_script(self, module):
        """What is installed in a folder below that of the script, such as that of a virtual environment, is not."""
        origin = origin_of(module)
        if not self.beside_script or not origin.startswith(self.beside_script):
            return False
        return not any([origin.startswith(folder) for folder in self.folders if len(folder) >= len(self.beside_script)])

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
        names = [name for name in dict.fromkeys(told) if not (self.fresh or name in self.tried or name in sys.modules)]
        self.tried.update(names)
        return names

    def try_imports(self, names):
        """In a process of its own, which ends. Exit code 0 means that all is well."""
        code = 1
        try:
            signal.alarm(MOST_SECONDS)
            self.load(names)
            code = 0 if len(os.listdir("/proc/self/task")) == 1 and not has_new_generators() else 2
        finally:
            os._exit(code)

    def split(self, names, status):
        """After a trial that failed, the lists of names to try instead: only the package that is to blame stays out."""
        packages = list(dict.fromkeys(map(package_of, names)))
        if len(packages) > 1:
            first = packages[: len(packages) // 2]
            return [[name for name in names if (package_of(name) in first) == wanted] for wanted in (True, False)]
        if status == signal.SIGALRM and packages[0] not in self.slow:  # files that are read first are slow
            self.slow.add(packages[0])
            self.tried.difference_update(names)
        return []

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
        if "numexpr" in sys.modules:
            self.threads.append(sys.modules["numexpr"].set_num_threads)
