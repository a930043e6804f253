"""Common to the tests of the catalog's programs: a server of their own, and what its clients print."""

import json
import os
import pathlib
import socket
import subprocess
import tempfile
import time
import unittest
import urllib.error
import urllib.request

PROGRAMS = pathlib.Path(os.environ["PROGRAMS"])
PATIENCE = 60 * int(os.environ["WQ_PATIENCE"])


def answer_of(host, request):
    """All that comes for these bytes."""
    address, port = host.split(":")
    with socket.create_connection((address, int(port)), PATIENCE) as connection:
        connection.sendall(request)
        return connection.makefile("rb").read()


class Server:
    """catalog_server on free ports of 127.0.0.1; it prints a line once it listens."""

    def __init__(self, case, *options, prepare=None):
        self.port_file = str(pathlib.Path(case.folder) / "port")
        words = [PROGRAMS / "catalog_server", "-Z", self.port_file, "-I", "127.0.0.1", *options]
        self.process = subprocess.Popen(words, stderr=subprocess.PIPE, text=True, cwd=case.folder, preexec_fn=prepare)
        case.addCleanup(self.end)
        self.said_first = ""
        while "queries at port" not in (line := self.process.stderr.readline()):
            case.assertNotEqual(line, "", self.said_first)
            self.said_first += line
        self.port = int(pathlib.Path(self.port_file).read_text())
        self.host = f"127.0.0.1:{self.port}"

    def end(self):
        """Its exit code and what it said besides."""
        if self.process.poll() is None:
            self.process.terminate()
        said = self.process.stderr.read() if not self.process.stderr.closed else ""
        self.process.stderr.close()
        return self.process.wait(PATIENCE), said

    def get(self, path):
        """Status and body."""
        try:
            with urllib.request.urlopen(f"http://{self.host}{path}", timeout=PATIENCE) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as refusal:
            with refusal:
                return refusal.code, refusal.read().decode()

    def records(self):
        return json.loads(self.get("/query.json")[1])

    def send_tcp(self, data):
        """An update, until the server has it: then it closes."""
        with socket.create_connection(("127.0.0.1", self.port + 1), PATIENCE) as connection:
            connection.sendall(data)
            connection.shutdown(socket.SHUT_WR)
            connection.recv(1)

    def send_udp(self, data):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as connection:
            connection.sendto(data, ("127.0.0.1", self.port))


class Case(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="wq-catalog-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        # No program may know another catalog than the test's.
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith("CATALOG_")}
        self.environment["CATALOG_HOST"] = "127.0.0.1:1"

    def run_program(self, program, *words, code=0, text=None, **environment):
        """What it prints; its exit code is checked."""
        ran = subprocess.run([program if "/" in str(program) else PROGRAMS / program, *words], input=text, capture_output=True,
                             text=True, cwd=self.folder, env={**self.environment, **environment}, timeout=2 * PATIENCE, check=False)
        self.assertEqual(ran.returncode, code, f"{program}: {ran.stdout}{ran.stderr}")
        return ran.stdout if code == 0 else ran.stderr

    def until(self, condition, again=lambda: None):
        """Calls `again` and `condition` until the latter is true, and returns that."""
        end = time.monotonic() + PATIENCE
        while True:
            again()
            value = condition()
            if value:
                return value
            self.assertLess(time.monotonic(), end, "it never came")
