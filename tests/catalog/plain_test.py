"""CCTools' work_queue_status and curl with our manager's own port. In a machine of its own (tests/cluster/machine)."""

import json
import os
import pathlib
import platform
import subprocess
import sys
import tempfile
import unittest

from catalog_support import PATIENCE, PROGRAMS, Case

STOCK = pathlib.Path(subprocess.run([os.environ["PREPARE"], "--folder", "cctools"], stdout=subprocess.PIPE, text=True, check=True).stdout.strip())
LIBRARIES = STOCK / f"usr/lib/{platform.machine()}-linux-gnu"


class Plain(Case):
    """One manager and one worker for all cases, which only look at them."""

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="wq-catalog-")
        cls.addClassCleanup(folder.cleanup)
        environment = {**os.environ, "CATALOG_HOST": "127.0.0.1:1", "WORK_QUEUE_REGISTRY": str(pathlib.Path(folder.name, "registry"))}

        def started(*words, **options):
            process = subprocess.Popen(words, cwd=folder.name, env=environment, stderr=subprocess.DEVNULL, **options)
            cls.addClassCleanup(process.wait, PATIENCE)
            for stream in filter(None, (process.stdin, process.stdout)):
                cls.addClassCleanup(stream.close)
            cls.addClassCleanup(process.terminate)
            return process

        manager = started(os.environ["MANAGER"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        cls.port = manager.stdout.readline().strip()
        started(PROGRAMS / "work_queue_worker", "--cores", "2", "--memory", "1000", "--disk", "1000", "--gpus", "0", "-s", folder.name,
                "localhost", cls.port, stdout=subprocess.DEVNULL)

    def setUp(self):
        super().setUp()
        self.until(lambda: [task["state"] for task in self.ours("-T")] == ["RUNNING", "WAITING"])

    def ours(self, mode):
        return json.loads(self.run_program("work_queue_status", "--json", mode, "localhost", self.port))

    def test_stock_status_prints_the_tables_that_ours_prints(self):
        for mode in ("-Q", "-T", "-W", "-A", "-R"):  # with --capacity it asks for "(null)_status"
            with self.subTest(mode=mode):
                tables = [self.run_program(program, mode, "localhost", self.port, COLUMNS="130", LD_LIBRARY_PATH=str(LIBRARIES)).splitlines()
                          for program in (STOCK / "usr/bin/work_queue_status", "work_queue_status")]
                for number, lines in enumerate(zip(*tables)):
                    self.alike(mode, number, *lines)
                self.assertEqual(len(tables[0]), len(tables[1]))

    def alike(self, mode, number, theirs, ours):
        if mode == "-R" and number == 0:  # 9.9 has columns for disks, ours those of today's for GPUs
            self.assertEqual(theirs.split("MEM(GB)")[0], ours.split("MEM(GB)")[0])
        elif mode == "-R":
            self.assertEqual(theirs.split()[:4], ours.split()[:4])
        else:
            self.assertEqual(theirs, ours)

    def test_the_raw_arrays_have_the_same_records(self):
        for mode, word in (("-Q", "queue_status"), ("-T", "task_status"), ("-W", "worker_status"), ("-A", "wable_status")):
            raw = self.run_program(STOCK / "usr/bin/work_queue_status", "-l", mode, "localhost", self.port, LD_LIBRARY_PATH=str(LIBRARIES))
            paged = self.run_program("/usr/bin/curl", "-s", "-S", "-f", f"http://localhost:{self.port}/{word}")
            keys = [sorted(one) for one in self.ours(mode)]
            self.assertEqual([sorted(one) for one in json.loads(raw)], keys)
            self.assertEqual([sorted(one) for one in json.loads(paged)], keys)
        self.assertEqual([task["command"] for task in json.loads(self.curl("/task_status"))], ["sleep 600 # first", "sleep 600 # second"])

    def curl(self, path, *options):
        return self.run_program("/usr/bin/curl", "-s", "-S", *options, f"http://localhost:{self.port}{path}")

    def test_curl_reads_pages_and_refusals(self):
        self.assertIn('<a href="/queue_status">', self.curl("/"))
        head = self.curl("/queue_status", "-D", "-", "-o", "/dev/null")
        self.assertIn("HTTP/1.1 200 OK", head)
        self.assertNotIn("Access-Control", head)
        status = ("-o", "/dev/null", "-w", "%{http_code}")
        for code, path, *options in (("404", "/none"), ("403", "/", "-H", "Host: page.example"), ("405", "/", "-d", "x"), ("405", "/", "-X", "PUT")):
            self.assertEqual(self.curl(path, *status, *options), code)


if __name__ == "__main__":
    if not STOCK.is_dir():
        print("SKIP: CCTools' programs are not unpacked here; tests/cluster/prepare does that")
        sys.exit(77)
    if not pathlib.Path("/usr/bin/curl").exists():
        print("SKIP: there is no curl here (Debian: apt-get install curl)")
        sys.exit(77)
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    unittest.main()
