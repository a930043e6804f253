"""Batch systems whose commands are replaced by ones that note their words and say what a test lets them say."""

import os
import pathlib
import re
import subprocess
import tempfile
import unittest

import golden_text

OURS = '[ "$*" != --version ] || echo "work_queue_worker 1.2.3"'  # what our programs answer, and CCTools' do not
GOLDEN = pathlib.Path(__file__).parent / "batch"


class FakeBatch(unittest.TestCase):
    checkout = pathlib.Path()  # set it to the checkout

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="submit workers ")
        self.addCleanup(self.folder.cleanup)
        self.here = pathlib.Path(self.folder.name).resolve()
        self.bin = self.here / "bin"
        self.bin.mkdir()
        self.calls = self.here / "calls"
        for name, mode in (("contact", 0o600), ("secret", 0o600), ("open", 0o644)):
            (self.here / name).write_text("x\n")
            (self.here / name).chmod(mode)
        self.program("work_queue_worker", OURS)

    def program(self, name, text):
        (self.bin / name).write_text(f"#!/bin/sh\n{text}\n")
        (self.bin / name).chmod(0o755)

    def system(self, name, says):
        """The command notes its words, then does that."""
        self.program(name, f'printf "%s\\0" {name} "$@" end >> "{self.calls}"\n{says}')

    def called(self):
        if not self.calls.exists():
            return []
        words = self.calls.read_text().split("\0")[:-1]
        calls, call = [], []
        for word in words:
            if word == "end":
                calls.append(call)
                call = []
            else:
                call.append(word)
        return calls

    def run_in(self, command, **environment):
        return subprocess.run(command, cwd=self.here, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL, env={
            "PATH": f"{self.bin}:/usr/bin:/bin", "USER": "me", "HOME": str(self.here / "home"), "WORKERS_PATIENCE": "10", **environment})

    def submit(self, system, *words, **environment):
        command = self.checkout / "scripts" / system / f"{system}_submit_workers"
        return self.run_in(["dash", command, *words], **environment)

    def driver(self, system, *words, **environment):
        return self.run_in(["dash", self.checkout / "scripts" / system / "driver", *words], **environment)

    def states(self, system, *ids):
        said = self.driver(system, "status", *ids)
        self.assertEqual(said.returncode, 0, said)
        return sorted(said.stdout.splitlines())

    @staticmethod
    def errors(said):
        """Its lines, but the warning that all folders of these tests earn."""
        return [line for line in said.stderr.splitlines() if "warning: other nodes" not in line]

    def check(self, name, text):
        path = GOLDEN / name
        text = text.replace(str(self.here), "HERE").replace(f"host's name, {os.uname().nodename}", "host's name, THIS-HOST")
        text = re.sub(r"/worker-\w{6}", "/worker-XXXXXX", text)
        golden_text.compare(self, path, text)

    def shown(self, system, requests):
        text = ""
        for words in requests:
            shown = self.submit(system, "--dry-run", *words)
            self.assertEqual((shown.returncode, shown.stderr), (0, ""), words)
            text += f"$ {system}_submit_workers {' '.join(words)!r}\n{shown.stdout}\n"
        self.assertEqual(list(self.here.glob("*-workers")), [], "a dry run writes nothing")
        return text
