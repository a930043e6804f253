"""Finds what in an object cannot be pickled, to say it in an error. Also the first part of the script that runs calls at
workers (node/calls/interpreter.py): so any Python must be able to read it, as far as main() there, which says what it lacks."""

TYPE_CHECKING = False  # as that of typing, whose import takes long
if TYPE_CHECKING:
    from typing import Any, Iterator

_DEEPEST = 6
_MOST_PARTS = 200
_REMEDIES = {"generator": "make it a list", "socket": "open it in the function", "TextIOWrapper": "open it in the function"}


def where(value: object, error: Exception) -> str:
    """One line: the innermost part of `value` that cannot be pickled, and the way to it."""
    try:
        path, part, reason = _search(value, "", error, set(), _DEEPEST)
    except Exception:  # of a part that is odd
        path, part, reason = "", value, error
    text = f"{type(reason).__name__}: {reason}".splitlines()[0]
    remedy = _REMEDIES.get(type(part).__name__)
    if remedy:
        text += "; " + remedy
    if not path:
        return text
    return f"{path} is {_short(part)} ({text})"


def name_of(function: "Any") -> str:
    """How messages call a function, also one that is wrapped in a callable object."""
    for one in (function, getattr(function, "function", None), getattr(function, "func", None)):
        name = getattr(one, "__qualname__", None)
        if isinstance(name, str):
            return name
    return _short(function)


def text_of_unpicklable(function: "Any", result: object, error: Exception) -> str:
    return "the result of %s cannot be pickled: %s" % (name_of(function), where(result, error))


def _short(part: object) -> str:
    try:
        text = repr(part)
    except Exception:  # what it raises is not the trouble
        text = object.__repr__(part)
    return text if len(text) <= 60 else text[:57] + "..."


def _search(value: object, path: str, error: Exception, seen: "set[int]", depth: int) -> "tuple[str, object, Exception]":
    if depth == 0 or id(value) in seen:
        return path, value, error
    seen.add(id(value))
    try:
        from cloudpickle import dumps
    except ImportError:
        from pickle import dumps

    for number, (name, part) in enumerate(_parts(value)):
        if number == _MOST_PARTS:
            break
        try:
            dumps(part, protocol=5)
        except Exception as inner:
            return _search(part, path + name, inner, seen, depth - 1)
    return path, value, error


def _parts(value: "Any") -> "Iterator[tuple[str, Any]]":
    """The parts of an object, each with its name in the object."""
    if isinstance(value, dict):
        yield from ((f"[{key!r}]", part) for key, part in value.items())
    elif isinstance(value, (list, tuple, set, frozenset)):
        yield from ((f"[{number}]", part) for number, part in enumerate(value))
    elif hasattr(value, "__func__"):  # a bound method
        yield ".__self__", value.__self__
        yield ".__func__", value.__func__
    elif hasattr(value, "__code__"):
        names = value.__code__.co_names
        spaces = value.__globals__
        yield from ((f"global {name}", spaces[name]) for name in names if name in spaces)
        for name, cell in zip(value.__code__.co_freevars, value.__closure__ or ()):
            try:
                yield f"variable {name}", cell.cell_contents
            except ValueError:  # it has no value yet
                pass
        yield from ((f"default {number}", part) for number, part in enumerate(value.__defaults__ or ()))
    elif isinstance(value, BaseException):
        yield from ((f".args[{number}]", part) for number, part in enumerate(value.args))
        yield from ((f".{name}", part) for name, part in vars(value).items())
    elif hasattr(value, "__self__"):
        yield ".__self__", value.__self__
    elif hasattr(value, "__dict__") and type(value).__reduce__ is object.__reduce__:  # else it says itself what is wrong
        yield from ((f".{name}", part) for name, part in vars(value).items())
