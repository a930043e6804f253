"""catalog_server, catalog_query and catalog_update by themselves."""

import base64
import concurrent.futures
import json
import os
import pathlib
import resource
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import time
import unittest
import urllib.request
import zlib

from catalog_support import PATIENCE, PROGRAMS, Case, Server, answer_of


def record_of(port, size=0):
    return {"type": "wq_master", "project": f"p{port}", "port": port, "name": "n", "text": "x" * size}


class Programs(Case):
    def test_an_update_is_found(self):
        server = Server(self)
        pathlib.Path(self.folder, "record").write_text('{"type": "license", "free": 3}')
        self.run_program("catalog_update", "-c", server.host, "-f", "record")
        self.run_program("catalog_update", "-f", "-", text='{"name": "by stdin", "port": 1}', CATALOG_HOST=server.host)
        found = json.loads(self.run_program("catalog_query", "-c", server.host, "-w", "free==3"))
        self.assertEqual([(one["type"], one["free"], one["address"]) for one in found], [("license", 3, "127.0.0.1")])
        self.assertIn("memory_total", found[0])
        lines = self.run_program("catalog_query", "-c", server.host, "-w", 'like(type, "n.d.")', "-p", "port+1", "-p", "nothing")
        self.assertEqual(lines, "port+1\tnothing\t\n2\t???\t\n")
        self.assertEqual(self.run_program("catalog_query", "-c", server.host, "-w", "free==4"), "[\n\n]\n")
        self.assertEqual(server.end(), (0, ""))

    def test_every_host_is_told_and_one_that_answers_is_asked(self):
        servers = [Server(self), Server(self)]
        hosts = ",".join(["127.0.0.1:1", *(server.host for server in servers)])
        self.run_program("catalog_update", "-c", hosts)
        for server in servers:
            self.assertEqual(len(server.records()), 1)
        self.assertEqual(len(json.loads(self.run_program("catalog_query", "-c", hosts))), 1)

    def test_wrong_words_and_nobody_there(self):
        nobody = {"CATALOG_HOST": "127.0.0.1:1"}
        self.assertIn("name a catalog server", self.run_program("catalog_query", code=64, CATALOG_HOST=""))
        self.assertIn("name a catalog server", self.run_program("catalog_update", code=64, CATALOG_HOST=""))
        self.assertIn("--where: column 2", self.run_program("catalog_query", "-w", "a=", code=65, **nobody))
        self.assertIn("127.0.0.1:1: ", self.run_program("catalog_query", "-t", "0", code=69, **nobody))
        self.assertIn("127.0.0.1:2: ", self.run_program("catalog_update", code=69, **nobody))
        self.assertIn("its JSON is damaged", self.run_program("catalog_update", "-f", "-", text="{", code=65, **nobody))
        self.assertIn("CATALOG_UPDATE_PROTOCOL", self.run_program("catalog_update", code=64, CATALOG_UPDATE_PROTOCOL="x", **nobody))
        for words in (["--ssl-port", "0"], ["-p", "65535"], ["word"], ["-l", "0"], ["-u", ":"], ["--memory", "1"],
                      ["--history-limit", "1G"], ["-H", "h", "--history-limit", "1"]):
            self.run_program("catalog_server", *words, code=64)
        server = Server(self)
        self.assertIn(str(server.port), self.run_program("catalog_server", "-I", "127.0.0.1", "-p", str(server.port), code=69))
        self.run_program("catalog_server", "-Z", "port2", "-I", "127.0.0.1", "--ssl-port", "0", "--ssl-cert", "none", "--ssl-key", "none", code=65)

    def test_a_daemon_goes_on_when_its_command_has_ended(self):
        self.run_program("catalog_server", "-b", "-I", "127.0.0.1", "-Z", "port", "-B", "pid")
        process = int(pathlib.Path(self.folder, "pid").read_text())
        self.addCleanup(lambda: os.kill(process, signal.SIGKILL) if os.path.exists(f"/proc/{process}") else None)
        host = "127.0.0.1:" + pathlib.Path(self.folder, "port").read_text()
        self.run_program("catalog_update", "-c", host)
        os.kill(process, signal.SIGTERM)
        self.run_program("catalog_server", "-b", "-p", "65535", code=64)

    def test_one_catalog_tells_another_of_itself(self):
        above = Server(self)
        Server(self, "-n", "below.example", "-u", above.host)
        found = self.until(above.records)
        self.assertEqual((found[0]["type"], found[0]["url"].split(":")[1]), ("catalog", "//below.example"))


class Http(Case):
    def test_updates_come_plain_or_compressed_by_both_ways(self):
        server = Server(self)
        server.send_tcp(json.dumps(record_of(1)).encode())
        server.send_tcp(b"\x1a" + zlib.compress(json.dumps(record_of(2)).encode()))
        server.send_tcp(b"name old\nport 3\nproject p3\n\n")
        long = json.dumps(record_of(5, 60_000)).encode()
        for port, datagram in ((4, b"\x1a" + zlib.compress(json.dumps(record_of(4)).encode())), (5, long)):
            self.until(lambda: any(one["port"] == port for one in server.records()), lambda: server.send_udp(datagram))
        self.assertEqual(sorted(one["project"] for one in server.records()), ["p1", "p2", "p3", "p4", "p5"])

    def test_pages(self):
        server = Server(self, "-n", "here")
        server.send_tcp(json.dumps(record_of(7)).encode())
        code, page = server.get("/")
        self.assertEqual(code, 200)
        self.assertIn("Catalog of here", page)
        detail = page.split('href="detail/')[1].split('"')[0]
        self.assertIn("<th>project</th><td>p7</td>", server.get("/detail/" + detail)[1])
        self.assertEqual(server.get("/detail/x")[0], 404)
        self.assertEqual(server.get("/query/AA==")[0], 400)

    def test_strangers_hold_nobody(self):
        server = Server(self)
        server.send_tcp(json.dumps(record_of(1)).encode())
        silent = [socket.create_connection(("127.0.0.1", server.port + n % 2), PATIENCE) for n in range(200)]
        for n, connection in enumerate(silent):
            connection.sendall(b"G" if n % 4 < 2 else b"{")
        for garbage in (b"\0" * 1000, b"\x1a" + b"\xff" * 50, b"{" * 5000, b"GET / HTTP/1.1\r\n\r\n", b"{\"name\":\"" + b"n" * 100_000 + b"\"}"):
            server.send_tcp(garbage)
            server.send_udp(garbage[:60_000])
        self.assertEqual([one["port"] for one in server.records()], [1])
        for connection in silent:
            connection.close()
        code, said = server.end()
        self.assertEqual(code, 0)
        self.assertRegex(said, r"^catalog_server: refused 1 update; the last, of 127\.0\.0\.1: .*\n$")

    def test_silent_connections_of_one_address_make_room_for_others(self):
        server = Server(self)
        server.send_tcp(json.dumps(record_of(1)).encode())
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        self.addCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        places = min(512, hard // 8)  # of silent ones
        told = []
        for port, words in ((server.port, b"GET /query.json HTTP/1.0\n\n"), (server.port + 1, json.dumps(record_of(2)).encode())):
            def connect(host, port=port):
                since = time.monotonic()
                connection = socket.create_connection(("127.0.0.1", port), PATIENCE, (host, 0))
                self.addCleanup(connection.close)
                return connection, since

            def is_answered(connection, since, words=words, port=port):
                """None: the machine was so slow that the server may have ended it, as a request has 10 s."""
                try:
                    connection.sendall(words)
                    connection.shutdown(socket.SHUT_WR)
                    answer = connection.makefile("rb").read()
                except OSError:
                    answer = b""
                if time.monotonic() - since > 9:
                    return None
                return b'"p1"' in answer if port == server.port else True
            early = connect("127.0.0.2")
            flood = [connect("127.0.0.3") for _ in range(places + 100)]
            # They come after all of the flood, or before it.
            told += [is_answered(*connect("127.0.0.1")), is_answered(*connect("127.0.0.3")), is_answered(*early)]
            for one, _ in flood[:90]:
                self.assertEqual(one.recv(1), b"")
            last, since = flood[-1]
            last.setblocking(False)
            try:
                said = last.recv(1)
            except BlockingIOError:
                said = None
            if time.monotonic() - since < 9:
                self.assertIsNone(said)
        self.assertNotIn(False, told)
        if None not in told:
            self.assertEqual(sorted(one["port"] for one in server.records()), [1, 2, 2, 2])

    def test_a_pair_of_ports_is_found_where_hardly_any_is_free(self):
        """In a network of its own: the system draws from four ports, and clients have just closed connections on each other one."""
        alone = [shutil.which("unshare") or "false", "--net"]
        if subprocess.run([*alone, "true"], capture_output=True, check=False).returncode != 0:
            self.skipTest("a new network namespace needs the rights of root")
        script = """
import socket, subprocess, sys
subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
with open("/proc/sys/net/ipv4/ip_local_port_range", "w") as file:
    file.write("40000 40003")
with socket.create_server(("127.0.0.1", 9)) as listener:
    for port in (40001, 40003):
        with socket.create_connection(("127.0.0.1", 9), source_address=("127.0.0.1", port)):
            there = listener.accept()[0]
        there.recv(1)
        there.close()
        with socket.socket() as taken:
            taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                taken.bind(("", port))
                sys.exit("the port is free")
            except OSError:
                pass
with subprocess.Popen(sys.argv[1:], stderr=subprocess.PIPE, text=True) as server:
    while "queries at port" not in (line := server.stderr.readline()):
        print(line, end="", file=sys.stderr)
        if not line:
            sys.exit("no server")
    print(open("port").read())
    server.terminate()
sys.exit(server.returncode)
"""
        port = self.run_program(*alone, sys.executable, "-c", script, PROGRAMS / "catalog_server", "-Z", "port", "-I", "127.0.0.1")
        self.assertNotIn(int(port), range(40000, 40004))

    def test_lines_of_a_request_may_end_without_a_carriage_return(self):
        server = Server(self)
        server.send_tcp(json.dumps(record_of(1)).encode())
        for request in (b"GET /query.json HTTP/1.0\n\n", b"GET /query.json HTTP/1.1\nHost: h\n\n", b"GET /query.json HTTP/1.1\r\nHost: h\n\r\n"):
            self.assertIn(b'"p1"', answer_of(server.host, request))
        self.assertIn(b" 400 ", answer_of(server.host, b"GET /query.json\n\n"))

    def test_many_ask_for_all_at_once(self):
        server = Server(self)
        for port in range(300):
            server.send_tcp(json.dumps(record_of(port, 10_000)).encode())
        with concurrent.futures.ThreadPoolExecutor(20) as pool:
            for records in pool.map(lambda _: server.records(), range(40)):
                self.assertEqual(len(records), 300)

    def test_https(self):
        key, certificate = (str(pathlib.Path(self.folder, name)) for name in ("key", "certificate"))
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", key,
                        "-out", certificate, "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"],
                       check=True, capture_output=True)
        server = Server(self, "--ssl-port", "0", "--ssl-port-file", "ssl_port", "--ssl-cert", certificate, "--ssl-key", key)
        for port in range(100):
            server.send_tcp(json.dumps(record_of(port, 10_000)).encode())
        address = "https://127.0.0.1:" + pathlib.Path(self.folder, "ssl_port").read_text() + "/query.json"
        with urllib.request.urlopen(address, timeout=PATIENCE, context=ssl.create_default_context(cafile=certificate)) as answer:
            self.assertEqual(len(json.loads(answer.read())), 100)
        with self.assertRaises(OSError):
            urllib.request.urlopen(address, timeout=PATIENCE)


class Past(Case):
    def start(self, *options):
        return Server(self, "-H", "history", *options)

    def wait_for_line(self, text):
        self.until(lambda: any(text in path.read_text() for path in pathlib.Path(self.folder).glob("history/*/*.log")))

    def test_a_restart_keeps_records(self):
        server = self.start()
        server.send_tcp(json.dumps({**record_of(1), "starts": 1}).encode())
        server.send_tcp(json.dumps({**record_of(2), "lifetime": 1}).encode())
        heard = server.records()[0]["lastheardfrom"]
        self.wait_for_line("D 127.0.0.1:2:n")
        self.assertEqual(server.end(), (0, ""))
        server = self.start()
        self.assertEqual([(one["port"], one["starts"], one["lastheardfrom"]) for one in server.records()], [(1, 1, heard)])
        server.send_tcp(json.dumps({**record_of(3), "starts": 2}).encode())
        self.wait_for_line('"starts":2')
        server.process.kill()
        server.process.wait()
        with next(pathlib.Path(self.folder).glob("history/*/*.log")).open("a") as log:
            log.write('garbage\nC 127.0.0.1:3:n {"torn":')
        server = self.start()
        self.assertEqual(sorted(one["port"] for one in server.records()), [1, 3])
        self.assertIn("another server uses it", self.run_program("catalog_server", "-Z", "p", "-I", "127.0.0.1", "-H", "history", code=65))
        self.assertEqual(server.said_first, "catalog_server: history: 1 line in history cannot be read; all others hold\n")
        self.assertEqual(server.end(), (0, ""))

    def test_answers_for_the_past(self):
        server = self.start()
        server.send_tcp(json.dumps({**record_of(1), "state": "first"}).encode())
        self.wait_for_line("first")
        began = server.records()[0]["lastheardfrom"]
        # A later second has begun.
        self.until(lambda: server.records()[-1]["lastheardfrom"] > began,
                   lambda: server.send_tcp(json.dumps({**record_of(9), "name": "z"}).encode()))
        server.send_tcp(json.dumps({**record_of(1), "state": "second"}).encode())
        server.send_tcp(json.dumps({**record_of(2), "state": "other"}).encode())
        self.wait_for_line("other")

        def at(path):
            code, text = server.get(path)
            self.assertEqual(code, 200, text)
            return text

        def query(text):
            return base64.b64encode(text.encode()).decode()
        now = began + 1000
        self.assertEqual(json.loads(at(f"/history/{began - 100}/query.json")), [])
        self.assertEqual([one["state"] for one in json.loads(at(f"/history/{began}/query.json")) if one["port"] == 1], ["first"])
        self.assertEqual([one["state"] for one in json.loads(at(f"/history/{now}/query/{query('port==1')}"))], ["second"])
        self.assertIn("p1</a>", at(f"/history/{began}"))
        changes = at(f"/updates/{began}/{now}/{query('port==1')}")
        self.assertRegex(changes, r'^T \d+\nC 127.0.0.1:1:n \{.*"first".*\}\n(T \d+\n|M 127.0.0.1:1:n \{"name".*\n)+M 127.0.0.1:1:n \{.*"second".*\}\n$')
        self.assertIn("127.0.0.1:2:n", at(f"/updates/{began}/{now}/"))
        self.assertEqual(at(f"/history/{began}/{now}/{query('port==1')}"), changes)
        for path in ("/history/", "/history/x/query.json", "/history/-1/", "/updates/1/", "/updates/1/2/!", "/updates/1/2/" + query("a="),
                     "/history/" + "9" * 30 + "/", "/updates/1/x/"):
            self.assertEqual(server.get(path)[0], 400, path)
        self.assertEqual(server.get(f"/history/{now}/../../query.json")[0], 404)
        self.assertEqual(Server(self).get("/history/1/query.json")[0], 404)

    def test_a_full_disk_is_said_once(self):
        def small_files():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, resource.RLIM_INFINITY))
        server = Server(self, "-H", "history", prepare=small_files)
        for round_ in range(3):
            for port in range(20):
                server.send_tcp(json.dumps(record_of(port, 10_000 + round_)).encode())
            self.assertEqual(len(server.records()), 20)
        self.assertIn("changes are left out for now", server.process.stderr.readline())
        self.assertEqual(len(server.records()), 20)
        # A checkpoint that was begun with few records may still fit.
        self.assertIn(server.end(), ((0, ""), (0, "catalog_server: history: changes are written again\n")))
        server = self.start()
        server.records()


if __name__ == "__main__":
    assert PROGRAMS.exists()
    unittest.main()
