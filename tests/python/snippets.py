"""Runs the code of a page of the guide: its ```python blocks in order, as one program.

A ```text block that follows one is what that block prints. `python needs=MODULE` runs only where that module is installed.
"""

import contextlib
import importlib.util
import io
import pathlib
import re

GUIDE = pathlib.Path(__file__).resolve().parents[2] / "share" / "doc"
_FENCE = re.compile(r"^```(\w*)(.*?)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(text):
    """(line, words, code, expected output or None) of each block of Python."""
    found = [(match.group(1), match.group(2).split(), match.group(3), text.count("\n", 0, match.start()) + 1)
             for match in _FENCE.finditer(text)]
    for place, (language, words, code, line) in enumerate(found):
        if language == "python":
            after = found[place + 1] if place + 1 < len(found) else ("", [], "", 0)
            yield line, words, code, after[2] if after[0] == "text" else None


def run_page(name, names):
    """Runs all blocks with these names defined; returns how many ran. AssertionError: other output than the page says."""
    page = GUIDE / name
    count = 0
    for line, words, code, expected in blocks(page.read_text()):
        needs = [word.partition("=")[2] for word in words if word.startswith("needs=")]
        missing = [module for module in needs if importlib.util.find_spec(module) is None]
        if missing:
            print(f"SKIP: {name}:{line}: {missing[0]} is not installed")
            continue
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile("\n" * line + code, str(page), "exec"), names)
        assert expected is None or printed.getvalue() == expected, f"{page}:{line}: it printed\n{printed.getvalue()}"
        count += 1
    return count
