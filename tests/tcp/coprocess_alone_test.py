#!/usr/bin/env python3
"""Coprocesses without a worker: this test speaks to them as one would."""

import json
import os
import pathlib
import resource
import socket
import subprocess
import sys
import tempfile
import time
import unittest

SOURCE = pathlib.Path(os.environ["WQ_SOURCE_DIR"])
SERVERIZE = SOURCE / "src/functions/coprocess/serverize/work_queue_serverize"
PATIENCE = 60 * int(os.environ.get("WQ_PATIENCE", "1"))
SECRET = "0123456789abcdef"

FUNCTIONS = '''
import os, signal

print("a line of an import")


def name():
    return "alone"


def echo(x):
    return x


def large(megabytes):
    return "x" * (megabytes << 20)


def exits(code):
    os._exit(code)


def fails(text):
    raise ValueError(text)


def takes_one(only):
    return only


def takes_two(x, y):
    return [x, y]


def no_more_processes():
    """What ulimit -u does."""
    def fork():
        raise BlockingIOError(11, "Resource temporarily unavailable")
    os.fork = fork
'''
# A program as CCTools' tests have them: its top level is a manager's.
PROGRAM = '''"""A manager."""
from __future__ import annotations
import sys, json
import no_module_of_this_name as wq; from math import ceil, \\
    pi as PI
from fractions import *
try:
    from decimal import Decimal as Number
except ImportError:
    Number = float

port_file = None
try:
    port_file = sys.argv[1]
except IndexError:
    raise SystemExit("Usage: PROGRAM PORTFILE")

UNIT = 5; queue = wq.WorkQueue(9123)
TABLE: list[int] = [1]
TABLE += [2]
NOTES = {}
NOTES["table"] = TABLE

def square(value: int) -> float:
    return int(Number(value) ** 2)

class Part:
    whole = UNIT
    def __init__(self, queue):
        self.queue = Fraction(queue, Part.whole)

def same(function):
    return function

def area(radius):
    """\u00e9"""
    f"{PI}'\\n\\""
    return ceil(PI * square(radius))

@same
def tagged(task):
    return {task: str(Part(3).queue), **NOTES}

for value in range(10):
    task = wq.RemoteTask("area", "my_coprocess", value)
    queue.submit(task)
while not queue.empty():
    import math, queue
'''
NAMES = ("echo", "large", "exits", "fails", "takes_one", "takes_two", "no_more_processes")


class Alone(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="wq-alone-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def serverized(self, source=FUNCTIONS):
        (self.folder / "functions.py").write_text(source)
        words = [word for name in NAMES for word in ("--function", name)]
        subprocess.run([sys.executable, "-B", SERVERIZE, "--src", "functions.py", *words, "--dest", "coprocess.py"],
                       check=True, cwd=self.folder, timeout=PATIENCE, stderr=subprocess.PIPE)
        return [sys.executable, "-B", str(self.folder / "coprocess.py")]

    def start(self, words):
        child = subprocess.Popen(words, cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                 env=dict(os.environ, WORK_QUEUE_COPROCESS_SECRET=SECRET))
        self.addCleanup(child.communicate)
        self.addCleanup(child.kill)
        greeting = json.loads(child.stdout.read(int(child.stdout.readline())))
        self.port = greeting["port"]
        return child

    def connect(self):
        peer = socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE)
        self.addCleanup(peer.close)
        return peer

    def call_text(self, function, event):
        """The words of the first line, and the text of the answer."""
        with self.connect() as peer, peer.makefile("rb") as answer:
            peer.sendall(f"{SECRET}\n{function} 1 {len(event)}\n{event}".encode())
            length, _, words = answer.readline().decode().strip().partition(" ")
            return words, answer.read(int(length)).decode()

    def call(self, function, *args, mode="fork"):
        words, text = self.call_text(function, json.dumps({"fn_args": args, "remote_task_exec_method": mode}))
        return words, json.loads(text)["Result"]

    def test_async_functions_are_refused(self):
        with self.assertRaises(subprocess.CalledProcessError) as refused:
            self.serverized(FUNCTIONS.replace("def echo", "async def echo"))
        self.assertIn(b"echo: it is an async function", refused.exception.stderr)

    def test_only_what_the_functions_use_of_the_source_runs(self):
        words = ["--function", "area", "--function", "tagged"]
        (self.folder / "functions.py").write_text(PROGRAM)
        subprocess.run([sys.executable, "-B", SERVERIZE, "--src", "functions.py", *words, "--dest", "coprocess.py", "--version", "work_queue"],
                       check=True, cwd=self.folder, timeout=PATIENCE)
        self.start([sys.executable, "-B", str(self.folder / "coprocess.py")])
        self.assertEqual(self.call("area", 2), ("status 200", 13))
        self.assertEqual(self.call("tagged", "x"), ("status 200", {"x": "3/5", "table": [1, 2]}))
        answer = json.loads(self.call_text("area", '{"fn_args": ["two"]}')[1])
        line = PROGRAM.splitlines().index("    return ceil(PI * square(radius))") + 1
        self.assertIn(f'File "functions.py", line {line}', answer["Traceback"])

    def test_packing_needs_an_environment(self):
        (self.folder / "functions.py").write_text(FUNCTIONS)
        said = subprocess.run([sys.executable, "-B", SERVERIZE, "--src", "functions.py", "--function", "echo", "--dest", "c.py", "--pack", "e.tar.gz"],
                              check=False, cwd=self.folder, timeout=PATIENCE, capture_output=True, text=True)
        self.assertEqual((said.returncode, said.stderr.count("\n"), "is of no conda environment" in said.stderr), (1, 1, True), said)

    def test_answers_begin_with_their_status(self):
        self.start(self.serverized())
        for mode in ("fork", "thread", "direct"):
            self.assertEqual(self.call("echo", 1, mode=mode), ("status 200", 1))
            words, text = self.call("fails", "no luck \ud800", mode=mode)
            self.assertEqual((words, text), ("status 500", "ValueError: no luck ?"))
        self.assertEqual(self.call("exits", 3)[0], "exit 3")
        self.assertIn("NaN", self.call_text("echo", '{"fn_args": [[NaN, Infinity]]}')[1])

    def test_large_results(self):
        self.start(self.serverized())
        for mode in ("fork", "direct"):
            self.assertEqual(self.call("large", 257, mode=mode), ("status 500", "its result is larger than 256 MB"))
        self.assertEqual(len(self.call("large", 100)[1]), 100 << 20)

    def test_a_dictionary_may_give_all_arguments(self):
        self.start(self.serverized())
        self.assertEqual(self.call("takes_two", {"x": 1, "y": 2}), ("status 200", [1, 2]))
        self.assertEqual(self.call("takes_one", {"x": 1, "y": 2}), ("status 200", {"x": 1, "y": 2}))
        self.assertEqual(self.call("takes_one", {"only": 1}), ("status 200", {"only": 1}))

    def test_without_pidfd(self):
        for how in ("del os.pidfd_open", "def no(*_): raise OSError(38, 'not implemented')\nos.pidfd_open = no"):
            self.start(self.serverized(f"import os\n{how}\n{FUNCTIONS}"))
            self.assertEqual(self.call("echo", 5), ("status 200", 5))
            self.assertEqual(self.call("exits", 4)[0], "exit 4")

    def test_what_cannot_run_is_answered(self):
        self.start(self.serverized())
        deep = "[" * 100_000 + "]" * 100_000
        words, text = self.call_text("echo", '{"fn_args": [%s]}' % deep)
        self.assertEqual(words, "status 500")
        self.assertIn("RecursionError", text)
        self.assertEqual(self.call_text("echo", "{")[0], "status 500")
        self.assertEqual(self.call("nothing")[0], "status 500")
        self.call("no_more_processes", mode="direct")
        words, text = self.call("echo", 1)
        self.assertEqual(words, "status 500")
        self.assertIn("Resource temporarily unavailable", text)

    def check_strangers(self):
        peers = [self.connect() for _ in range(100)]
        for peer in peers[:10]:
            peer.sendall(b"no")
        for peer in peers[10:20]:
            peer.sendall(b"x" * 100)
        begin = time.monotonic()
        for _ in range(3):
            self.assertEqual(self.call_text("nothing", "{}")[0], "status 500")
        self.assertLess(time.monotonic() - begin, PATIENCE)  # one after another, they would take minutes
        for peer in peers[10:20]:
            try:
                self.assertEqual(peer.recv(1), b"")
            except ConnectionError:
                pass
        slow = self.connect()
        slow.sendall(SECRET[:5].encode())
        self.assertEqual(self.call_text("nothing", "{}")[0], "status 500")
        slow.sendall(f"{SECRET[5:]}\nnothing 1 2\n{{}}".encode())
        self.assertIn(b"status 500", slow.recv(100))

    def test_strangers_block_nobody(self):
        self.start(self.serverized())
        self.check_strangers()

    def test_strangers_block_no_cpp_functions(self):
        self.start([os.environ["CPP_COPROCESS"]])
        self.check_strangers()

    def test_deep_arguments_of_cpp(self):
        self.start([os.environ["CPP_COPROCESS"]])
        deep = "[" * 1_000_000 + "]" * 1_000_000
        for mode in ("fork", "direct"):
            words, text = self.call_text("half", '{"fn_args": [%s], "remote_task_exec_method": "%s"}' % (deep, mode))
            self.assertEqual((words, json.loads(text)["Result"]), ("status 500", "the event is nested more than 500 deep"))
            self.assertEqual(self.call("half", 3, mode=mode), ("status 200", 1.5))

    def test_cpp_functions_end_if_they_can_take_no_calls(self):
        # The fifth descriptor would be the connection.
        child = self.start([os.environ["CPP_COPROCESS"]])
        resource.prlimit(child.pid, resource.RLIMIT_NOFILE, (4, 4))
        with socket.socket() as peer:
            peer.connect_ex(("127.0.0.1", self.port))  # reset, if it is quick to end
        _, trouble = child.communicate(timeout=PATIENCE)
        self.assertEqual(child.returncode, 1)
        self.assertIn(b"cannot take calls: Too many open files", trouble)


if __name__ == "__main__":
    unittest.main()
