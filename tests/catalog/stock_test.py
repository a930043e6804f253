"""Our server with CCTools' programs, and our programs with CCTools' server. In a machine of its own (tests/cluster/machine)."""

import json
import os
import pathlib
import platform
import subprocess
import sys
import time
import unittest

from catalog_support import PATIENCE, PROGRAMS, Case, Server, answer_of

STOCK = pathlib.Path(subprocess.run([os.environ["PREPARE"], "--folder", "cctools"], stdout=subprocess.PIPE, text=True, check=True).stdout.strip())
LIBRARIES = STOCK / f"usr/lib/{platform.machine()}-linux-gnu"


class Stock(Case):
    def stock(self, program, *words, **environment):
        return self.run_program(STOCK / "usr/bin" / program, *words, LD_LIBRARY_PATH=str(LIBRARIES), **environment)

    def stock_server(self, tells="127.0.0.1:1"):
        words = [STOCK / "usr/bin/catalog_server", "-Z", "stock_port", "-I", "127.0.0.1", "-u", tells, "-H", "history", "-n", "localhost"]
        process = subprocess.Popen(words, cwd=self.folder, env={**self.environment, "LD_LIBRARY_PATH": str(LIBRARIES)},
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(process.wait, PATIENCE)
        self.addCleanup(process.terminate)
        port = pathlib.Path(self.folder, "stock_port")
        return "127.0.0.1:" + self.until(lambda: port.exists() and port.read_text().strip())

    def record(self, **members):
        path = pathlib.Path(self.folder, "record")
        path.write_text(json.dumps({"type": "wq_master", "port": 9123, **members}))
        return str(path)

    def test_stock_programs_with_our_server(self):
        server = Server(self)
        for protocol in ("udp", "tcp"):
            record = self.record(project="by_" + protocol, tasks_waiting=3, tasks_running=2, tasks_complete=70, workers=4)
            self.until(lambda: any(one["project"] == "by_" + protocol for one in server.records()),
                       lambda: self.stock("catalog_update", "-c", server.host, "-f", record, CATALOG_UPDATE_PROTOCOL=protocol))
        self.run_program("catalog_update", "-c", server.host, "-f", self.record(project="ours", port=9124, name="x", deep=[{"a": [1.5, None]}]))
        table = self.stock("work_queue_status", "-C", server.host, COLUMNS="80")
        self.assertRegex(table, r"by_tcp +\S+ +9123 +3 +2 +70 +4 \n")
        self.assertRegex(table, r"ours +\S+ +9124 ")
        found = json.loads(self.stock("catalog_query", "-c", server.host, "-w", 'like("ou.*",project) and deep[0]["a"][0]==1.5'))
        self.assertEqual([one["project"] for one in found], ["ours"])
        self.assertEqual(len(json.loads(self.stock("catalog_query", "-c", server.host))), 2)
        self.assertEqual(len(json.loads(self.stock("work_queue_status", "-C", server.host, "-l"))), 2)

    def test_both_servers_say_the_same_of_themselves(self):
        above = Server(self)
        hosts = {self.stock_server(tells=above.host), Server(self, "-n", "localhost", "-u", above.host).host}
        found = self.until(lambda: len(above.records()) == 2 and above.records())
        self.assertEqual({f"127.0.0.1:{one['port']}" for one in found}, hosts)
        self.assertEqual(sorted(found[0]), sorted(found[1]))
        for key in ("type", "owner", "name"):
            self.assertEqual(found[0][key], found[1][key])
        for one in found:
            self.assertEqual(one["url"], f"http://localhost:{one['port']}")

    def test_both_servers_read_the_same_lines(self):
        hosts = (self.stock_server(), Server(self).host)
        for request in (b"GET /query.json HTTP/1.0\n\n", b"GET /query.json HTTP/1.1\nHost: h\r\n\n", b"get /query.json HTTP/1.0\r\n\n",
                        b"POST /query.json HTTP/1.0\nA: b\n c\n\n", b"GET http://localhost/query.json HTTP/1.0\n\n"):
            for host in hosts:
                self.assertTrue(answer_of(host, request).startswith(b"HTTP/1.1 200 "), request)
        for host in hosts:  # without a version
            self.assertNotIn(b" 200 ", answer_of(host, b"GET /query.json\n\n"))

    def our_worker_skips(self, name, host):
        """A manager that does not speak its protocol."""
        said = self.run_program("work_queue_worker", "-C", host, "-M", name, "--connect-timeout", "1", "-b", "1", "-s", self.folder, code=69,
                                WORK_QUEUE_REGISTRY=self.folder)
        self.assertEqual(said.count("1 manager of CCTools matches; our workers cannot serve it"), 1, said)

    def test_a_stock_worker_finds_a_stock_manager_by_our_server(self):
        server = Server(self)
        source = pathlib.Path(__file__).with_name("stock_manager.c")
        library = STOCK / "usr/lib"
        subprocess.run(["cc", source, "-o", "manager", "-I", STOCK / "usr/include/cctools", library / "libwork_queue.a",
                        library / "libdttools.a", "-lm", "-lz", "-lssl", "-lcrypto"], cwd=self.folder, check=True)
        environment = {**self.environment, "CATALOG_HOST": server.host}
        with subprocess.Popen(["./manager", "sim"], cwd=self.folder, env=environment, stdout=subprocess.PIPE, text=True) as manager:
            self.addCleanup(manager.kill)
            self.until(server.records)
            table = self.stock("work_queue_status", "-C", server.host, COLUMNS="80")
            self.assertRegex(table, r"\nsim +\S+ +\d+ +1 ")
            self.assertEqual(self.run_program("work_queue_status", "-C", server.host, COLUMNS="80", WORK_QUEUE_REGISTRY=self.folder), table)
            self.our_worker_skips("sim", server.host)
            self.stock("work_queue_worker", "-C", server.host, "-M", "sim", "-t", "60", "--single-shot", "-s", self.folder)
            self.assertEqual(manager.stdout.read(), "done\n")

    def test_our_manager_is_seen_by_stock_programs(self):
        """Announced to our server and theirs at once, by TCP and by UDP, where the whole record is too large for theirs."""
        ours, theirs = Server(self), self.stock_server()
        for protocol in ("tcp", "udp"):
            name = "sim " + protocol
            words = [PROGRAMS / "work_queue_run", "--listen", "--name", name, "--manager-only", "--catalog", f"{ours.host},{theirs}",
                     "--run-dir", protocol, "--each", "-", "--", "echo", "{}"]
            environment = {**self.environment, "CATALOG_UPDATE_PROTOCOL": protocol, "WORK_QUEUE_REGISTRY": str(pathlib.Path(self.folder, "registry"))}
            with subprocess.Popen(words, cwd=self.folder, env=environment, stdin=subprocess.PIPE, text=True,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as run:
                self.addCleanup(run.kill)
                run.stdin.write("1\n2\n3\n")
                run.stdin.flush()
                for host in (ours.host, theirs):
                    table = self.until(lambda host=host: [line for line in self.stock("work_queue_status", "-C", host, COLUMNS="80").splitlines()
                                                          if line.startswith(name) and line.split()[4] == "3"])
                    self.assertRegex(table[0], rf"^{name} +\S+ +\d+ +3 +0 +0 +0 $")
                self.assertEqual(len(json.loads(self.stock("catalog_query", "-c", ours.host, "-w", f'project=="{name}" and wire!=""'))), 1)
                run.terminate()

    def test_our_programs_with_the_stock_server(self):
        host = self.stock_server()
        record = self.record(project="ours", tasks_waiting=3)
        for protocol in ("tcp", "udp"):
            record = self.record(project="by_" + protocol, deep=[{"a": 1}])
            self.until(lambda: "by_" + protocol in self.run_program("catalog_query", "-c", host),
                       lambda: self.run_program("catalog_update", "-c", host, "-f", record, CATALOG_UPDATE_PROTOCOL=protocol,
                                                CATALOG_UPDATE_LIMIT="100"))
        self.our_worker_skips("by_udp", host)
        self.our_worker_skips("by_u.*", host)
        found = json.loads(self.run_program("catalog_query", "-c", host, "-w", 'type=="wq_master" and port>9000'))
        self.assertEqual([one["project"] for one in found], ["by_udp"])
        self.assertEqual(self.run_program("catalog_query", "-c", host, "-w", 'like(project, "by_u.*")', "-p", "project"), "project\t\nby_udp\t\n")

    def test_each_reads_the_history_of_the_other(self):
        began = time.strftime("%Y-%m-%d", time.gmtime())
        server = Server(self, "-H", "ours")
        for port in (1, 2):
            self.run_program("catalog_update", "-c", server.host, "-f", self.record(project=f"a {port}", port=port))

        def log(folder, text):
            return any(text in path.read_text() for path in pathlib.Path(self.folder).glob(folder + "/*/*.log"))
        self.until(lambda: log("ours", '"a 2"'))
        lines = self.stock("deltadb_query", "--db", "ours", "--from", began, TZ="UTC")
        self.assertRegex(lines, r'T \d+\nC 127.0.0.1:1:\S* \{.*"project":"a 1"(.*\n)+C 127.0.0.1:2:\S* \{.*"project":"a 2"')
        pathlib.Path(self.folder, "updates").write_text(server.get("/updates/1/9999999999/")[1])
        self.assertIn('"project":"a 2"', self.stock("deltadb_query", "--file", "updates", "--from", began, TZ="UTC"))
        host = self.stock_server()
        self.until(lambda: log("history", '"theirs"'), lambda: self.run_program("catalog_update", "-c", host, "-f", self.record(project="theirs")))
        self.assertEqual([one["project"] for one in Server(self, "-H", "history").records()], ["theirs"])


if __name__ == "__main__":
    if not STOCK.is_dir():
        print("SKIP: CCTools' programs are not unpacked here; tests/cluster/prepare does that")
        sys.exit(77)
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    unittest.main()
