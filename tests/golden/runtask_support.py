"""Common to the tests of runtask with local lists: a home of its own, workers, and what they tell by pipes.

Times and folders in golden files are replaced by a word. UPDATE=1 rewrites the files of tests/golden/runtask, for review
before a commit."""

import contextlib
import os
import pathlib
import re
import select
import subprocess
import sys
import tempfile
import unittest

import golden_text

GOLDEN = pathlib.Path(__file__).parent / "runtask"
PROGRAM = os.path.abspath(sys.argv.pop(1))
PATIENCE = 60  # seconds


class Case(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="wq-runtask-")
        self.addCleanup(folder.cleanup)
        self.home = pathlib.Path(os.path.realpath(folder.name))
        self.environment = {
            "HOME": str(self.home), "PATH": f"{self.home}/bin:{os.environ['PATH']}", "PWD": str(self.home), "LC_ALL": "C",
        }
        for name in ("LD_LIBRARY_PATH", "ASAN_OPTIONS", "TSAN_OPTIONS"):
            if name in os.environ:
                self.environment[name] = os.environ[name]
        self.tool("sleep", ":")

    def tool(self, name, text):
        path = self.home / "bin" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)

    def write(self, name, text):
        (self.home / name).write_text(text)

    def read(self, name):
        return (self.home / name).read_text()

    def neutral(self, text):
        for pattern, word in ((re.escape(str(self.home)), "HOME"), (r"\b\d\d-\d\d \d\d:\d\d:\d\d\b", "TIME"),
                              (r"\b\d+(\.\d+)?s ago", "AGE ago")):
            text = re.sub(pattern, word, text)
        return text

    def start(self, *words, **more):
        process = subprocess.Popen([PROGRAM, *words], cwd=self.home, env=self.environment, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True, **more)
        self.addCleanup(self.end, process)
        return process

    @staticmethod
    def end(process):
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        process.communicate(timeout=PATIENCE)

    def finish(self, process, code):
        out, err = process.communicate(timeout=PATIENCE)
        self.assertEqual(process.returncode, code, f"{out}\n{err}")
        return out, err

    def run_it(self, *words, code=0):
        return self.finish(self.start(*words), code)

    def compare(self, name, text):
        golden_text.compare(self, GOLDEN / name, self.neutral(text))

    def told(self, fifo):
        """What the next line tells by a pipe."""
        with open(self.home / fifo, encoding="utf-8") as pipe:
            return pipe.read()

    @contextlib.contextmanager
    def ends_of(self, pids):
        """Waits at the end until these processes have ended."""
        with contextlib.ExitStack() as stack:
            files = [os.pidfd_open(int(pid)) for pid in pids]
            for file in files:
                stack.callback(os.close, file)
            yield
            for file in files:
                self.assertTrue(select.select([file], [], [], PATIENCE)[0], "a process lives on")
