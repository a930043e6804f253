"""Writes work_queue/_core.pyi, the types of the C++ module, from what that module says of itself.

Usage: PYTHONPATH=BUILD/python stub.py

pybind11 knows the types of C++; the tables below have those of Python objects, which it cannot know.
"""

import ast
import pathlib
import re

FILE = pathlib.Path(__file__).resolve().parents[1] / "work_queue" / "_core.pyi"
HEAD = """\
# The names of the C++ module, for type checkers. Written by src/bindings/python/packaging/stub.py, by pybind11 {}.
from typing import Any, Callable

from .task import Path, Task as _Task
"""
# bindings/python/text.h takes all these as text.
PATH = "Union[str, bytes, os.PathLike]"
# Names of pybind11, and types for them. A function of Python gets a line or a name, unless the next table has it.
NAMES = {"List": "list", "Dict": "dict", "Tuple": "tuple", "object": "Any", "list": "list[Any]", "tuple": "tuple[Any, ...]",
         "dict": "dict[str, Any]", "function": "Callable[[str], object]", "buffer": "bytes | memoryview"}
JOB = {"result": "tuple[tuple[Any, ...], str | None, Any, Any] | None"}
# By class and method, the types that differ: of the result, or of a parameter by its number behind self.
OWN = {
    "Factory.__init__": {1: "Queue | None"},
    "Jobs.__init__": {2: "Callable[[int], int]",
                      3: "Callable[[bytes, list[Any], JobContext], tuple[bytes | None, Any]]"},
    "Jobs.take": JOB,
    "Jobs.take_failure": JOB,
    "Queue._cancel_by_category": {"result": "list[_Task]"},
    "Queue._cancel_by_taskid": {"result": "_Task | None"},
    "Queue._cancel_by_tasktag": {"result": "_Task | None"},
    "Queue._tasks": {"result": "list[_Task]"},
    "Queue._wait": {"result": "_Task | None"},
    "Reader.read": {"result": "tuple[str, int, int, Any]"},
    "SliceOptions._records": {0: "Callable[[str], int | None]"},
    "Task._wq_peak_times": {"result": "dict[str, float]"},
    "Task._wq_snapshots": {"result": "list[dict[str, Any]]"},
    "old_statistics": {"result": "dict[str, str]"},
    "serve_jobs": {1: "Callable[..., Any]"},
}


def parsed(text):
    return ast.parse(text, mode="eval").body


class Types(ast.NodeTransformer):
    """pybind11's names of types become Python's, with Optional[X] as X | None."""

    def visit_Name(self, node):
        return parsed(NAMES.get(node.id, node.id))

    def visit_Subscript(self, node):
        inner = self.visit(node.slice)
        if node.value.id == "Optional":
            return ast.BinOp(inner, ast.BitOr(), ast.Constant(None))
        return ast.Subscript(parsed(NAMES[node.value.id].partition("[")[0]), inner, ast.Load())


def signature_of(function):
    """(PARAMETERS) -> RESULT, of which pybind11 tells whoever calls a function with more arguments than it has."""
    if function.__name__ == "__init__":
        text = function.__doc__.partition("__init__")[2].partition("\n")[0]
    else:
        try:
            function(*[None] * 99)
        except TypeError as error:
            text = re.search(r"\n    1\. (\(.*\) -> .*)\n\nInvoked with", str(error))[1]
    return text.replace("work_queue._core.", "").replace(PATH, "Path")


def definition(name, function, of="", takes_self=False):
    """The line of one function. `of`: its class and a dot."""
    tree = ast.parse(f"def {name}{signature_of(function)}: ...").body[0]
    own = OWN.get(of + name, {})
    parameters = tree.args.args
    if takes_self:
        parameters[0] = ast.arg("self")
    for number, one in enumerate(parameters[1:] if takes_self else parameters):
        one.annotation = parsed(own[number]) if number in own else Types().visit(one.annotation)
    tree.returns = parsed(own["result"]) if "result" in own else Types().visit(tree.returns)
    if any(re.fullmatch(r"arg\d+", one.arg) for one in parameters):  # those have no names in C++, so that callers give none
        tree.args.posonlyargs, tree.args.args = parameters, []
    return ast.unparse(tree).replace(":\n    ...", ": ...")


def class_lines(kind):
    of = kind.__name__ + "."
    for name, member in sorted(vars(kind).items()):
        if name.startswith("_pybind11"):
            continue
        if isinstance(member, property):
            getter = definition(name, member.fget, of, takes_self=True)
            yield from ["@property", getter] if member.fset is None else [f"{name}: {getter[getter.index('->') + 3:-len(': ...')]}"]
        elif isinstance(member, staticmethod):
            yield from ["@staticmethod", definition(name, member.__func__, of)]
        elif type(member).__name__ == "instancemethod":  # others are Python's own, such as an __init__ that raises
            yield definition(name, getattr(kind, name), of, takes_self=True)


def text_of(module):
    """The whole stub. Versions of pybind11 write types differently."""
    parts = [HEAD.format(module._pybind11)]
    for name, member in sorted(vars(module).items()):
        if name.startswith("_"):
            continue
        if isinstance(member, type) and issubclass(member, Exception):
            parts.append(f"class {name}({member.__base__.__name__}): ...\n")
        elif isinstance(member, type):
            parts.append("\n    ".join([f"class {name}:", *class_lines(member)]) + "\n")
        elif callable(member):
            parts.append(definition(name, member) + "\n")
        else:
            parts.append(f"{name}: {OWN[name]['result'] if name in OWN else type(member).__name__}\n")
    return "\n".join(parts)


if __name__ == "__main__":
    from work_queue import _core

    FILE.write_text(text_of(_core))
