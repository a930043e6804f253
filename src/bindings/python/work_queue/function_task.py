"""Tasks that call a Python function."""

from __future__ import annotations

import os
import pickle
import sys
import time
from typing import TYPE_CHECKING, Any, Callable

from .constants import WORK_QUEUE_RESULT_SUCCESS
from .function_files import LEAST, FunctionFile
from .task import Path, Task
from .unpicklable import name_of, where

if TYPE_CHECKING:
    from .queue import WorkQueue

try:
    import cloudpickle
except ImportError:
    cloudpickle = None

pythontask_available = cloudpickle is not None

_FUNCTION = "python"  # what workers call it (node/calls/python_call.h)
_VERSION = "%d.%d" % sys.version_info[:2]
_METHODS = ("fork", "direct")
_ALIGNMENT = 64


def _folder_of_main() -> str:
    """Where Python looks for modules beside the script; of `python -m` and a prompt: the current folder."""
    if getattr(sys.flags, "safe_path", False):  # it does not look there
        return ""
    main = sys.modules.get("__main__")
    file = getattr(main, "__file__", None)
    folder = os.path.dirname(os.path.realpath(file)) if file and getattr(main, "__spec__", None) is None else ""
    try:
        return os.path.abspath(folder)
    except FileNotFoundError:  # the current one was removed
        return ""


_PROGRAM = f"{os.getpid()}.{time.time_ns()}"
_script_folder = _folder_of_main()


def use_script_folder(folder: str) -> None:
    """For a script that is run by another program, which has imported this package."""
    global _script_folder
    _script_folder = folder


class PythonTaskNoResult(Exception):
    """The output of a task that has none: its function did not return and raised nothing; the text says why."""


class RemoteError(Exception):
    """Stands for an exception that could not be sent, or for an exit such as sys.exit()."""


def _dumps(value: object, buffers: list[pickle.PickleBuffer] | None = None) -> bytes:
    callback = None if buffers is None else buffers.append
    packed: bytes = cloudpickle.dumps(value, protocol=5, buffer_callback=callback)
    return packed


def _pack_function(function: object) -> bytes:
    """The function as bytes, for any number of _pack_call()."""
    if cloudpickle is None:
        raise RuntimeError("PythonTask needs cloudpickle (Debian: python3-cloudpickle; conda: cloudpickle)")
    return _dump_part(function, f"the function {name_of(function)}")


def _pack_call(packed_function: bytes | str, args: Any, kwargs: dict[str, Any] | None, environment: str,
               method: str) -> tuple[bytes, list[bytes | memoryview]]:
    """The first lines and the parts of the call, in the form of node/calls/python_call.h. A function is its bytes, or the
    name of a file of the task. kwargs None: `args` is a list, and the function is called with each of its items."""
    buffers: list[pickle.PickleBuffer] = []
    arguments = _dump_part((args, kwargs), "an argument", buffers)
    names, functions = ([], [packed_function]) if isinstance(packed_function, bytes) else ([packed_function], [])
    if buffers:  # in a memory, the first array is aligned; pickle ignores what follows its end
        arguments += bytes(-sum(map(len, [*functions, arguments])) % _ALIGNMENT)
    parts: list[bytes | memoryview] = [*functions, arguments, *(buffer.raw() for buffer in buffers)]
    sizes = " ".join(names + [str(len(part)) for part in parts])
    program = f"{_PROGRAM} {_script_folder}" if _script_folder and "\n" not in _script_folder else ""
    first = f"{_VERSION}\n{sys.executable}\n{environment}\n{method}\n{program}\n{sizes}\n"
    return first.encode("utf-8", "surrogateescape"), parts


def _dump_part(value: object, what: str, buffers: list[pickle.PickleBuffer] | None = None) -> bytes:
    try:
        return _dumps(value, buffers)
    except Exception as error:
        raise TypeError(_why_not(value, what, error)) from error


def _why_not(value: Any, what: str, error: Exception) -> str:
    """Which part of it cannot be sent. "an argument": a pair (arguments, named arguments; None: items)."""
    named = [(what, value)]
    if what == "an argument":
        named = [("an item" if value[1] is None else f"argument {place}", one) for place, one in enumerate(value[0], 1)]
        named += [(f"argument {name!r}", one) for name, one in (value[1] or {}).items()]
    for name, one in named:
        for part in one if isinstance(one, (list, tuple)) else [one]:
            if hasattr(part, "add_done_callback") and hasattr(part, "result"):
                return (f"{name} {'is' if part is one else 'has'} a future: pass future.result(), or await the calls by queue.run() "
                        "(share/doc/python-functions.md, Dependencies)")
    for name, one in named:
        try:
            _dumps(one)
        except Exception as inner:
            return f"{name} cannot be sent to a worker: {where(one, inner)}"
    return f"{what} cannot be sent to a worker: {where(value, error)}"


def _unpack(packed: bytes) -> tuple[bytes, Any]:
    """(kind, value) of a result: b"R" and what the function returned, b"E" and its exception."""
    whole = memoryview(packed)
    end = packed.index(b"\n")
    kind, *sizes = bytes(whole[:end]).split()
    parts, at = [], end + 1
    for size in map(int, sizes):
        parts.append(whole[at:at + size])
        at += size
    if kind == b"R":
        return kind, pickle.loads(parts[0], buffers=[bytearray(part) for part in parts[1:]])
    return b"E", _unpack_error(kind, *parts)


def _answer_of(task: Task) -> tuple[bytes, Any]:
    """Of a task with a function, as _unpack() has it; b"N" and a PythonTaskNoResult if there is none. Raises if it cannot be
    read here."""
    packed = task._wq_result
    # An output file may be missing because the function raised an exception.
    if task._wq_ok or packed and not packed.startswith(b"R"):
        return _unpack(packed)
    return b"N", _no_result(task)


def _no_result(task: Task) -> PythonTaskNoResult:
    # "SUCCESS: exit 7" would puzzle.
    ran = task.result == WORK_QUEUE_RESULT_SUCCESS
    return PythonTaskNoResult(task.reason if ran else f"{task.result_str}: {task.reason}")


def _unpack_error(kind: bytes, packed: Any, traceback: Any) -> BaseException:
    """The exception whose parts dump_error() of node/calls/answer.py made."""
    if kind == b"E":
        try:
            error: BaseException = pickle.loads(packed)
            if not isinstance(error, BaseException):
                raise TypeError(f"it became a {type(error).__name__}")
        except Exception as problem:
            last = bytes(traceback).decode("utf-8", "replace").strip().rpartition("\n")[2]
            error = RemoteError(f"{last} (the exception cannot be read here: {type(problem).__name__}: {problem})")
    else:
        error = RemoteError(bytes(packed).decode("utf-8", "replace"))
    add_traceback(error, bytes(traceback).decode("utf-8", "replace"))
    return error


def add_traceback(error: BaseException, text: str) -> None:
    """That of the worker, which Python then shows, too."""
    error.__dict__["remote_traceback"] = text
    if text:
        error.__cause__ = _RemoteTraceback(text)


class _RemoteTraceback(Exception):
    """Shows the traceback of the worker above one of this program, as concurrent.futures does."""

    def __init__(self, text: str):
        super().__init__(text)
        self.text = text

    def __str__(self) -> str:
        return "\n" + self.text


class PythonTask(Task):
    """A call of a Python function.

    >>> t = PythonTask(my_sum, 1, 2)

    Any function will do: lambdas, closures, bound methods, functions of your program. It travels by value, with the
    globals that it uses; what it imports must be installed at the worker, or come with `specify_environment`. The
    call runs in a process of its own, in the task's folder, and sees the task's input files. Changes that it
    makes to its arguments or to globals are not seen here.

    `output` is what the function returned. If it raised an exception: that exception, whose `remote_traceback` is its
    traceback at the worker; `return_status` is 1 then. If it did neither: a `PythonTaskNoResult` that says why.
    """

    def __init__(self, func: Callable[..., Any], /, *args: Any, **kwargs: Any):
        if not callable(func):
            raise TypeError(f"PythonTask takes a function first, not {func!r}")
        if cloudpickle is None:
            raise RuntimeError("PythonTask needs cloudpickle (Debian: python3-cloudpickle; conda: cloudpickle)")
        super().__init__(name_of(func))
        self._wq_func, self._wq_args, self._wq_kwargs = func, args, kwargs
        self._wq_environment = ""
        self._wq_method = "fork"
        self._wq_function_files: tuple[FunctionFile, ...] = ()  # among the task's
        self._wq_output: tuple[Any] | None = None

    def specify_environment(self, env_file: Path) -> None:
        """A packed environment (conda-pack, or a tar archive with bin/python3) in which the function runs."""
        name = os.path.basename(os.fsdecode(env_file))
        self.specify_input_file(env_file, name, cache=True)
        self._wq_environment = name

    specify_package = specify_environment

    def specify_exec_method(self, method: str) -> None:
        """How the worker runs it. "fork" (default): in a process of its own, which sees nothing of other calls. "direct": in
        a process that runs others as well, which takes about a fifth of the time; what they change in modules that they
        import, it may see. A task whose resources are measured or limited always has its own process."""
        if method not in _METHODS:
            raise ValueError(f"exec method {method!r}: give one of " + ", ".join(map(repr, _METHODS)))
        self._wq_method = method

    def _wq_before_submit(self, queue: WorkQueue) -> None:
        self._wq_output = None
        packed = _pack_function(self._wq_func)
        self._wq_call_with(queue, packed, self._wq_args, self._wq_kwargs)

    def _wq_call_with(self, queue: WorkQueue, packed: bytes, args: Any, kwargs: dict[str, Any] | None) -> int:
        """Sets what is sent. Returns its bytes without the function."""
        function: bytes | str = packed
        if len(packed) >= LEAST:
            file = queue._function_files.file_of(packed, self._wq_function_files)
            if file is not None:
                function = file.name
                if file not in self._wq_function_files:
                    self.specify_input_file(file.path, file.name, cache=True)
                    self._wq_function_files += (file,)
        first, parts = _pack_call(function, args, kwargs, self._wq_environment, self._wq_method)
        self._wq_call(queue, _FUNCTION, first, parts)
        return sum(len(part) for part in parts) - (len(packed) if function is packed else 0)

    @property
    def output(self) -> Any:
        """See the class; None before the task has ended."""
        if self._wq_in_queue or not self.id:
            return None
        if self._wq_output is None:
            self._wq_output = (self._wq_find_output(),)
        return self._wq_output[0]

    def _wq_find_output(self) -> Any:
        try:
            return _answer_of(self)[1]
        except Exception as error:
            return RemoteError(f"the result cannot be read here: {type(error).__name__}: {error}")
