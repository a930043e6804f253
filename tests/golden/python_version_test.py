#!/usr/bin/env python3
"""What is written in Python needs no newer one than pyproject.toml promises. Usage: python_version_test.py CHECKOUT

Of the grammar all that it had not, of annotations those that are evaluated. What its library had not is seen by mypy
(tests/python/types_test.py), which knows each version's.
"""

import ast
import pathlib
import re
import sys
import unittest

ROOT = pathlib.Path(sys.argv.pop(1))
OLDEST = tuple(map(int, re.search(r'requires-python = ">=(\d+)\.(\d+)"', (ROOT / "pyproject.toml").read_text()).groups()))
FILLED_IN = re.compile("@[A-Z]+@")  # names of a template that are values in what is made of it


def is_python(path):
    if path.suffix in {".py", ".pyi"}:
        return True
    with path.open("rb") as file:
        return not path.suffix and re.match(rb"#!.*\bpython3?\n", file.readline()) is not None


def programs():
    for top in ("src", "scripts", "share"):
        for path in sorted((ROOT / top).rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts and is_python(path):
                yield path


def evaluated_annotations(tree):
    """All, unless a line of the module says that none are."""
    if any(isinstance(one, ast.ImportFrom) and one.module == "__future__" and "annotations" in [name.name for name in one.names]
           for one in tree.body):
        return
    for one in ast.walk(tree):
        yield from [part for part in (getattr(one, "annotation", None), getattr(one, "returns", None)) if part]


def complaint(text, of_types_only=False):
    """The line and what is too new in it; None if nothing is."""
    try:
        tree = ast.parse(FILLED_IN.sub("()", text), feature_version=OLDEST)
    except SyntaxError as error:
        return error.lineno, error.msg
    for annotation in () if of_types_only else evaluated_annotations(tree):
        if any(isinstance(part, ast.BinOp) for part in ast.walk(annotation)):
            return annotation.lineno, "X | Y in an annotation that is evaluated"
    return None


class Versions(unittest.TestCase):
    def test_all_programs(self):
        found = list(programs())
        names = {str(path.relative_to(ROOT)) for path in found}
        self.assertLessEqual({"src/node/calls/answer.py", "src/functions/coprocess/serverize/work_queue_serverize",
                              "src/functions/coprocess/serverize/coprocess_template.py", "src/bindings/python/work_queue/_core.pyi",
                              "share/examples/python/first_function.py"}, names)
        for path in found:
            with self.subTest(path.relative_to(ROOT)):
                self.assertIsNone(complaint(path.read_text(), path.suffix == ".pyi"))

    def test_what_is_too_new_is_found(self):
        for text in ("match 1:\n    case 1:\n        pass\n", "try:\n    pass\nexcept* OSError:\n    pass\n",
                     "def f(x: int | None): pass\n", "def f() -> list[int | str]: pass\n", "x: int | str = 1\n"):
            self.assertIsNotNone(complaint(text), text)
        for text in ("from __future__ import annotations\ndef f(x: int | None): pass\n", "x = @FILE@\n", "x: list[int] = [1 | 2]\n"):
            self.assertIsNone(complaint(text), text)


if __name__ == "__main__":
    unittest.main()
