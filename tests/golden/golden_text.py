"""Texts that must not change unseen."""

import difflib
import os


def compare(case, path, text):
    """Fails the test case with the difference if the file has another text. With UPDATE=1 in the environment, the file is
    written anew, for review before a commit."""
    if os.environ.get("UPDATE"):
        path.write_text(text, encoding="utf-8")
    known = path.read_text(encoding="utf-8") if path.exists() else ""
    if text != known:
        lines = difflib.unified_diff(known.splitlines(), text.splitlines(), str(path), "now", lineterm="")
        case.fail("\n".join(lines) + "\nwith UPDATE=1 the file is written anew")
