#!/usr/bin/env python3
"""The example of share/doc/remote-tasks.md, its commands as they stand there."""

import json
import os
import pathlib
import re
import shlex
import subprocess
import tempfile
import unittest

SOURCE = pathlib.Path(os.environ["WQ_SOURCE_DIR"])
PAGE = (SOURCE / "share/doc/remote-tasks.md").read_text()
PATIENCE = 60 * int(os.environ.get("WQ_PATIENCE", "1"))


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


class Guide(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="wq-guide-")
        self.addCleanup(self.folder.cleanup)
        self.environment = dict(os.environ, TMPDIR=self.folder.name)
        self.environment["PATH"] = f"{SOURCE}/src/functions/coprocess/serverize:{os.environ['PATH']}"
        (pathlib.Path(self.folder.name) / "functions.py").write_text(blocks("python")[0])

    def start(self, words, **how):
        child = subprocess.Popen(words, cwd=self.folder.name, env=self.environment, text=True, **how)
        self.addCleanup(child.wait)
        self.addCleanup(child.terminate)
        return child

    def test_example(self):
        serverize = shlex.split(re.search(r"^work_queue_serverize .*", PAGE, re.MULTILINE).group())
        worker = shlex.split(re.search(r"^work_queue_worker HOST PORT .*", PAGE, re.MULTILINE).group())
        subprocess.run(serverize, cwd=self.folder.name, env=self.environment, check=True, timeout=PATIENCE)
        manager = self.start([os.environ["GUIDE_MANAGER"]], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        place = worker.index("HOST")
        worker = [os.environ["PROGRAM"]] + worker[1:place] + ["--contact", "contact", "-i", "0.1", "-b", "0.1"] + worker[place + 2 :]
        self.start(worker, stdout=subprocess.DEVNULL)
        out, _ = manager.communicate(timeout=PATIENCE)
        self.assertEqual(sorted(out.splitlines()), ['{"Result": 12, "StatusCode": 200}', '{"Result": 3, "StatusCode": 200}'])
        self.assertIn("`" + '{"Result": 3, "StatusCode": 200}' + "`", PAGE)

    def test_cpp_coprocess(self):
        halves = self.start([os.environ["GUIDE_HALVES"]], stdout=subprocess.PIPE)
        length = int(halves.stdout.readline())
        self.assertEqual(json.loads(halves.stdout.read(length))["name"], "halves")
        halves.stdout.close()


if __name__ == "__main__":
    unittest.main()
