"""work_queue_worker as a process: it serves, is told to leave, is killed, is disconnected and reconnects."""

import json
import os
import re
import signal
import socket
import subprocess
import threading
import time

from tcp_support import TcpCase, main
from run_support import DEADLINE, PROGRAM, wait_for_end


class Serves(TcpCase):
    def test_runs_what_it_is_given_and_leaves(self):
        manager = self.manager([f"echo {n}; echo $WORKERID > id" for n in range(20)])
        worker = self.worker("--single-shot", "--cores", 2)
        self.assertEqual(worker.wait(), 0, str(worker))
        self.assertEqual(manager.wait(), 0, str(manager))
        self.assertEqual(self.done(), {n: 1 for n in range(1, 21)})
        for text in ("creating workspace ", "using 2 cores, ", "connected to manager 127.0.0.1:", " via local address 127.0.0.1:",
                     "disconnected from manager", "deleting workspace "):
            self.assertIn("work_queue_worker: ", worker.out)
            self.assertIn(text, worker.out)
        self.assert_nothing_left()

    def test_tls_and_wrapper(self):
        self.manager(["echo a 'b c'"], "--tls")
        worker = self.worker("--single-shot", "--task-wrapper", f"sh -c {{}} > {self.path('wrapped')}; true")
        self.assertEqual(worker.wait(), 0, str(worker))
        self.assertEqual(self.read("wrapped"), "a b c\n")

    def test_debug_log(self):
        manager = self.manager(["true"], "--tls")
        worker = self.worker("--single-shot", "-d", "tcp auth", "-o", self.path("debug"))
        self.assertEqual(worker.wait(), 0, str(worker))
        self.assertEqual(manager.wait(), 0, str(manager))
        tales = [re.sub(r"^.*?\] ", "", re.sub(r"127\.0\.0\.1:\d+", "ADDRESS", line)) for line in self.lines("debug")]
        self.assertEqual(tales[:2], ["tcp: connected to ADDRESS via ADDRESS",
                                     "auth: ADDRESS accepted: TLS 1.3, certificate checked by its digest, key"])

    def test_debug_log_on_a_full_disk(self):
        self.manager(["true"])
        worker = self.worker("--single-shot", "-d", "all", "-o", "/dev/full")
        self.assertEqual(worker.wait(), 0, str(worker))
        self.assertEqual(worker.out.count("debug log /dev/full cannot be written: No space left on device"), 1, str(worker))

    def test_an_authority_vouches_for_the_manager(self):
        for name in ("right", "wrong"):
            subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                            "-keyout", self.path(f"{name}.key"), "-out", self.path(f"{name}.pem"), "-days", "2",
                            "-subj", "/CN=manager", "-addext", "subjectAltName=IP:127.0.0.1"], check=True, capture_output=True)
        manager = self.manager(["true"], "--no-key", "--identity", self.path("right.key"), self.path("right.pem"))
        address = ("127.0.0.1", json.loads(self.read("contact"))["port"])
        refused = self.worker(*address, "--ssl-ca", self.path("wrong.pem"), contact=None)
        self.assertEqual(refused.wait(), 77, str(refused))
        self.assertIn("certificate", refused.out)
        trusting = self.worker(*address, "--ssl-ca", self.path("right.pem"), "--single-shot", contact=None)
        self.assertEqual(trusting.wait(), 0, str(trusting))
        self.assertEqual(manager.wait(), 0, str(manager))
        self.assertEqual(self.done(), {1: 1})

    def test_serves_one_manager_after_the_other(self):
        self.manager(["true"], run_dir="first")
        bell = self.bell()
        worker = self.worker("-i", "0.05", "-b", "0.1")
        self.manager([f"echo here > {bell.path}"], run_dir="second")
        bell.wait()
        worker.signal(signal.SIGTERM)
        self.assertEqual(worker.wait(), 0, str(worker))

    def test_links_no_mpi(self):
        needed = subprocess.run(["readelf", "-d", PROGRAM], check=True, capture_output=True, text=True).stdout
        self.assertIn("NEEDED", needed)
        self.assertNotIn("mpi", needed.lower())


class Places(TcpCase):
    def held(self, count, what):
        """`count` tasks that each write `what` into a file and stay until all have."""
        self.rings, self.doors = self.bell(), self.gate()
        return self.manager([f"({what}) >{self.path('said')}.$WORK_QUEUE_TASK_ID; echo x >{self.rings.path}; read x <{self.doors.path}"]
                            * count)

    def said_by_all(self, count, worker):
        self.rings.wait(count)
        for _ in range(count):
            self.doors.open()
        self.assertEqual(worker.wait(), 0, str(worker))
        return sorted(self.read(f"said.{task}").split() for task in range(count))

    def test_tasks_at_once_share_no_core(self):
        cores = len(os.sched_getaffinity(0))
        if cores < 2:
            self.skipTest("one core only")
        self.held(2, "grep Cpus_allowed_list /proc/self/status | cut -f2; echo $CORES_LIST")
        one, other = self.said_by_all(2, self.worker("--single-shot", "--cores", 2, "--bind", "core", "--threads-per-core", 1))
        self.assertEqual(one[0], one[1])
        self.assertEqual(other[0], other[1])
        self.assertNotEqual(one, other)

    def test_a_large_machine_on_a_small_one(self):
        self.held(8, "echo $CORES_LIST; env -u OMP_NUM_THREADS nproc")
        worker = self.worker("--single-shot", env={"HWLOC_SYNTHETIC": "package:2 l3:2 core:2 pu:2"})
        here = str(len(os.sched_getaffinity(0)))
        said = self.said_by_all(8, worker)
        self.assertEqual(said, [[f"{2 * core},{2 * core + 1}", here] for core in sorted(range(8), key=lambda core: f"{2 * core},")])
        self.assertIn("using 8 cores, ", worker.out)

    def test_a_machine_that_cannot_be_read(self):
        self.manager(["true"])
        worker = self.worker(env={"HWLOC_XMLFILE": self.path("run.list")})
        self.assertEqual(worker.wait(), 65, str(worker))
        self.assertIn("is no topology that hwloc can read", worker.err)


class Leaves(TcpCase):
    def test_drains_on_each_signal(self):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2):
            with self.subTest(signal=number.name):
                name = number.name
                bell, gate = self.bell(f"bell.{name}"), self.gate(f"gate.{name}")
                run_dir, contact = f"run.{name}", f"contact.{name}"
                # One runs and may finish, the others have not started.
                task = f"echo started > {bell.path}; read x < {gate.path}"
                manager = self.manager([task] * 3, run_dir=run_dir, contact=contact)
                worker = self.worker("--cores", 1, "--grace", 60, contact=contact)
                bell.wait(1)
                worker.signal(number)
                gate.open()
                self.assertEqual(worker.wait(), 0, str(worker))
                self.assertIn("left: drained", manager.err)
                second = self.worker("--cores", 3, "--single-shot", contact=contact)
                bell.wait(3)
                gate.open(), gate.open()
                self.assertEqual(manager.wait(), 0, str(manager))
                second.wait()
                self.assertEqual(self.done(run_dir), {1: 1, 2: 1, 3: 1})
                self.assertNotIn("worker_lost", self.endings(run_dir))

    def test_a_second_signal_ends_what_runs_without_blame(self):
        bell, gate = self.bell(), self.gate()
        manager = self.manager([f"echo started > {bell.path}; read x < {gate.path}"])
        worker = self.worker("--cores", 1, "--grace", 1000)
        bell.wait(1)
        worker.signal(signal.SIGTERM)
        self.wait_for_out(worker, "stopping at SIGTERM")
        worker.signal(signal.SIGINT)
        self.assertEqual(worker.wait(), 0, str(worker))
        self.assertIn("killed", self.eventually_endings())
        second = self.worker("--single-shot")
        bell.wait(2)
        gate.open()
        self.assertEqual(manager.wait(), 0, str(manager))
        second.wait()
        self.assertEqual(self.endings(), ["killed", "exited"])

    def test_killed_it_leaves_nothing(self):
        bell = self.bell()
        # A task with files and with children, one of which has left the process group.
        self.manager([f"echo x > file; (setsid tail -f /dev/null &) ; echo started > {bell.path}; tail -f /dev/null"], "--away", 0)
        worker = self.worker("--cores", 1)
        bell.wait(1)
        self.assertEqual(len(self.workspaces()), 1)
        worker.kill()
        self.runs[0].kill()
        self.assert_nothing_left()

    def test_many_killed_leave_nothing(self):
        bell = self.bell()
        manager = self.manager([f"echo x > file; echo started > {bell.path}; tail -f /dev/null"] * 4, "--away", 0)
        workers = [self.worker("--cores", 2) for _ in range(2)]
        bell.wait(4)
        for worker in workers:
            worker.kill()
        self.assertEqual(self.eventually_endings(4), ["worker_lost"] * 4)
        manager.kill()
        self.assert_nothing_left()

    def test_its_parent_dies(self):
        bell = self.bell()
        self.manager([f"echo started > {bell.path}; tail -f /dev/null"])
        line = f"'{PROGRAM}' --contact '{self.path('contact')}' --parent-death --grace 0.01 & echo $! > {bell.path}; wait"
        parent = self.start(commands=["sh", "-c", line])
        bell.wait(2)
        worker = next(int(line) for line in bell.rung if line != "started")
        parent.kill()
        self.assertTrue(wait_for_end(worker, time.monotonic() + DEADLINE))
        self.assertIn("stopping at SIGTERM", parent.out)
        self.assertIn("killed", self.eventually_endings())

    def test_fails_by_chance(self):
        bell, gate = self.bell(), self.gate()
        manager = self.manager([f"echo started > {bell.path}; read x < {gate.path}"], "--away", 0)
        worker = self.worker("--volatility", 1, "--time-scale", 0.03 * DEADLINE / 60)  # it fails after 1.8 s or later
        bell.wait(1)
        self.assertEqual(worker.wait(), 1, str(worker))
        self.assertIn("exiting at random", worker.out)
        second = self.worker("--single-shot")
        bell.wait(2)
        gate.open()
        self.assertEqual(manager.wait(), 0, str(manager))
        second.wait()
        self.assertEqual(self.endings(), ["worker_lost", "exited"])
        self.assert_nothing_left()

    def test_a_line_of_the_list_ends_it(self):
        manager = self.manager(["exit 3 #!", "true"])
        worker = self.worker("--cores", 1)
        self.assertEqual(worker.wait(), 0, str(worker))
        self.assertIn("a #! line ended its shell with exit 3", worker.out)
        manager.wait_for_text("left: a #! line ended it")
        manager.signal(signal.SIGTERM)
        self.assertEqual(manager.wait(), 75, str(manager))  # its log is complete by then
        self.assertIn(" DISCONNECTION EXPLICIT", self.read("run/transactions.log"))

    def test_idle(self):
        bell, gate = self.bell(), self.gate()
        manager = self.manager([f"echo started > {bell.path}; read x < {gate.path}"])
        busy = self.worker("--cores", 1)
        bell.wait(1)
        idle = self.worker("--cores", 1, "--idle-timeout", "0.3")
        self.assertEqual(idle.wait(), 0, str(idle))
        self.assertIn("no task arrived for", idle.out)
        gate.open()
        manager.wait()
        self.assertIn(" DISCONNECTION IDLE_OUT", self.read("run/transactions.log"))
        busy.signal(signal.SIGTERM)
        self.assertEqual(busy.wait(), 0, str(busy))

    def test_its_time_is_over(self):
        bell, gate = self.bell(), self.gate()
        manager = self.manager([f"echo started > {bell.path}; read x < {gate.path}"])
        worker = self.worker("--wall-time", 3)
        bell.wait(1)
        self.assertEqual(worker.wait(), 0, str(worker))
        self.assertIn("its time limit is near", worker.out)
        second = self.worker("--single-shot")
        bell.wait(2)
        gate.open()
        self.assertEqual(manager.wait(), 0, str(manager))
        second.wait()
        self.assertEqual(self.endings(), ["killed", "exited"])

    def wait_for_out(self, run, text):
        while text not in run.out:
            self.assertFalse(run.wait_at_most(0.01), str(run))

    def eventually_endings(self, count=1):
        while len(found := self.endings()) < count:
            self.assertFalse(self.runs[0].wait_at_most(0.01), str(self.runs[0]))
        return found


class Firewall:
    """A proxy between one worker and its manager: it can close the manager's connection and then discard everything that
    the worker sends."""

    def __init__(self, port):
        self.door = socket.create_server(("127.0.0.1", 0))
        self.port = self.door.getsockname()[1]
        self.manager = socket.create_connection(("127.0.0.1", port))
        self.carriers = [threading.Thread(target=self.carry_worker)]
        self.carriers[0].start()

    def carry_worker(self):
        self.worker, _ = self.door.accept()
        self.door.close()  # it cannot reconnect through this proxy
        self.carriers.append(threading.Thread(target=self.carry, args=(self.manager, self.worker)))
        self.carriers[1].start()
        self.carry(self.worker, self.manager)

    def carry(self, source, target):
        try:
            while piece := source.recv(65536):
                target.sendall(piece)
        except OSError:
            pass

    def end_the_managers_side(self):
        self.manager.shutdown(socket.SHUT_RDWR)

    def close(self):
        self.worker.shutdown(socket.SHUT_RDWR)
        for carrier in self.carriers:
            carrier.join()
        self.manager.close()
        self.worker.close()


class OtherRelease(Firewall):
    """Turns the worker into one of another release: the version in frame `number` at byte `at` becomes `theirs`."""

    def __init__(self, port, number, at, theirs):
        self.number, self.at, self.theirs, self.ours = number, at, theirs, None
        super().__init__(port)

    def carry(self, source, target):
        if source is self.worker:
            with source.makefile("rb", 0) as stream:
                for number in range(self.number + 1):
                    head = self.exactly(stream, 4)
                    frame = bytearray(self.exactly(stream, int.from_bytes(head, "big")))
                    if number == self.number:
                        self.ours, frame[self.at] = frame[self.at], self.theirs
                    target.sendall(head + frame)
        super().carry(source, target)

    @staticmethod
    def exactly(stream, count):
        got = b""
        while len(got) < count:
            got += stream.read(count - len(got)) or b"\0" * count
        return got


class ComesBack(TcpCase):
    def test_stopped_and_continued(self):
        bell, gate = self.bell(), self.gate()
        manager = self.manager([f"echo started > {bell.path}; read x < {gate.path}"], "--scale", "0.03", "--away", 600)
        worker = self.worker("--cores", 1, "--time-scale", "0.03", "-i", "0.05", "--single-shot")
        bell.wait(1)
        worker.signal(signal.SIGSTOP)
        manager.wait_for_text("is disconnected")
        worker.signal(signal.SIGCONT)
        manager.wait_for_text(" reconnected")
        gate.open()
        self.assertEqual(manager.wait(), 0, str(manager))
        self.assertEqual(worker.wait(), 0, str(worker))
        self.assertRegex(worker.out, "disconnected from manager: .*; keeping its task for up to [0-9a-z]+, reconnecting\n")
        self.assertEqual(self.endings(), ["exited"])
        self.assertEqual(bell.settle(), 1)

    def test_looks_for_another_run_and_says_until_when(self):
        manager = self.manager(["true"])
        worker = self.worker("--connect-timeout", "1h")
        self.assertEqual(manager.wait(), 0, str(manager))
        worker.wait_for_text("looking for another manager until ")
        self.assertRegex(worker.out, r"until \d\d:\d\d \(--connect-timeout 1h00m; with --single-shot the worker ends instead\)")
        worker.signal(signal.SIGTERM)
        self.assertEqual(worker.wait(), 0, str(worker))

    def test_away_too_long(self):
        bell, gate = self.bell(), self.gate()
        manager = self.manager([f"echo started > {bell.path}; read x < {gate.path}"], "--scale", "0.03", "--away", 1)
        worker = self.worker("--cores", 1, "--time-scale", "0.03", "-i", "0.05")
        bell.wait(1)
        worker.signal(signal.SIGSTOP)
        manager.wait_for_text("did not reconnect within")
        worker.signal(signal.SIGCONT)
        bell.wait(2)
        gate.open()
        self.assertEqual(manager.wait(), 0, str(manager))
        worker.signal(signal.SIGTERM)
        self.assertEqual(worker.wait(), 0, str(worker))
        self.assertEqual(self.endings(), ["worker_lost", "exited"])

    def test_where_only_the_manager_is_told_nothing_runs_twice(self):
        # Two of its seconds are 0.12 s: slower machines need that much longer.
        patience = float(os.environ.get("WQ_PATIENCE", "1"))
        scale, away = 0.06 * patience, 2 * patience
        bell, gate = self.bell(), self.gate()
        task = f"flock -n {self.path('lock')} sh -c 'echo started > {bell.path}; read x < {gate.path}' || echo twice > {bell.path}"
        manager = self.manager([task], "--scale", scale, "--away", away)
        firewall = Firewall(json.loads(self.read("contact"))["port"])
        contact = json.loads(self.read("contact"))
        self.write("through", json.dumps({**contact, "port": firewall.port}))
        os.chmod(self.path("through"), 0o600)
        worker = self.worker("--cores", 1, "--time-scale", scale, "-i", "0.05", contact="through")
        bell.wait(1)
        second = self.worker("--cores", 1, "--single-shot", "--time-scale", scale)
        second.wait_for_text("connected to manager")
        firewall.end_the_managers_side()
        manager.wait_for_text("is disconnected")
        bell.wait(2)
        gate.open()
        self.assertEqual(manager.wait(), 0, str(manager))
        self.assertEqual(bell.rung, ["started", "started"], f"{manager}{worker}")
        firewall.close()
        worker.signal(signal.SIGTERM)
        worker.wait()

    def test_manager_killed_and_started_again(self):
        bell, gate = self.bell(), self.gate()
        task = f"echo started > {bell.path}; read x < {gate.path}"
        first = self.manager([task], run_dir="first")
        worker = self.worker("--cores", 1, "-i", "0.05", "-b", "0.2")
        bell.wait(1)
        first.kill()
        second = self.manager([task], run_dir="second")
        bell.wait(2)
        gate.open()
        self.assertEqual(second.wait(), 0, str(second))
        self.assertIn("no longer knows this worker", worker.out)
        worker.signal(signal.SIGTERM)
        self.assertEqual(worker.wait(), 0, str(worker))


class Refused(TcpCase):
    def refused(self, code, text, *words, **how):
        run = self.run_to_end(*words, code=code, **how)
        self.assertIn(text, run.err + run.out)
        self.assertEqual(self.workspaces(), [])
        return run

    def test_options(self):
        for text, words in (("name the manager", []), ("name the manager in one way", ["h", "1", "--contact", "f"]),
                            ("PORT", ["host", "0"]), ("PORT", ["host", "99999"]), ("one manager at a time", ["a", "1", "b"]),
                            ("not a foreman", ["--foreman", "h", "1"]),
                            ("--cores", ["h", "1", "--cores", "many"]), ("--min-backoff", ["h", "1", "-i", "9", "-b", "3"]),
                            ("--coprocesses-total", ["h", "1", "--coprocess", "f", "--num-coprocesses", "0"]),
                            ("give --coprocess", ["h", "1", "--feature", "coprocess:a"]),
                            ("not a regular expression", ["-M", "("]), ("unknown option", ["h", "1", "--nonsense"]),
                            ("--connection-mode", ["h", "1", "--connection-mode", "by_magic"])):
            with self.subTest(words=words):
                run = self.refused(64, text, *words)
                self.assertEqual(run.err.count("\n"), 1, run.err)
        self.refused(64, "CORES in the environment", "h", "1", env={"CORES": "some"})

    def test_coprocesses_that_cannot_start(self):
        with open(self.path("broken.py"), "w") as file:
            file.write("import no_such_module\n")
        with open(self.path("plain"), "w") as file:
            file.write("echo\n")
        for text, name, python in (("No such file", "none.py", ""), ("not executable", "plain", ""),
                                   ("python3, ended with exit 1: ModuleNotFoundError: No module named", "broken.py", ""),
                                   ("cannot execute /none: No such file or directory; the worker's WORK_QUEUE_PYTHON", "broken.py", "/none"),
                                   ("/bin/true, ended with exit 0; the worker's WORK_QUEUE_PYTHON", "broken.py", "/bin/true")):
            with self.subTest(name=name, python=python):
                run = self.refused(65, text, "h", "1", "--coprocess", self.path(name), env={"WORK_QUEUE_PYTHON": python})
                self.assertIn(f"work_queue_worker: --coprocess {self.path(name)}: ", run.err)
                self.assertEqual(run.err.count("\n"), 1, run.err)

    def test_nobody_is_there(self):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
            run = self.refused(69, "no manager was reached", "127.0.0.1", port, "--connect-timeout", "0.3", "-i", "0.1", "-b", "0.1",
                               "--coprocess-cores", "1", "--num_coprocesses", "2")  # without --coprocess, they mean nothing
        self.assertIn(f"127.0.0.1:{port}: ", run.out)

    def test_a_wrong_address_is_told_at_once(self):
        worker = self.worker("--contact", self.path("none"), contact=None)
        worker.wait_for_text("none: no such file: has the manager started?")
        worker.signal(signal.SIGTERM)
        self.assertEqual(worker.wait(), 0, str(worker))

    def test_a_silent_manager(self):
        with socket.socket() as silent:
            silent.bind(("127.0.0.1", 0))
            silent.listen()
            self.refused(69, "no manager was reached", "127.0.0.1", silent.getsockname()[1], "--connect-timeout", "1",
                         "--time-scale", "0.02", "-i", "0.1", "-b", "0.1")

    def test_contact_files(self):
        self.refused(69, "no manager was reached", "--contact", self.path("none"), "--connect-timeout", "0.2", "-i", "0.1", "-b", "0.1")
        self.manager(["true"])
        os.chmod(self.path("contact"), 0o644)
        self.refused(77, "contact", "--contact", self.path("contact"))
        self.write("torn", self.read("contact")[:40])
        os.chmod(self.path("torn"), 0o600)
        self.refused(65, "torn", "--contact", self.path("torn"))

    def test_another_key(self):
        self.manager(["true"], contact="mine")
        self.write("password", "not it\n")
        run = self.refused(77, "key", "--contact", self.path("mine"), "--password", self.path("password"))
        self.assertNotIn("connected to manager", run.out)
        self.assertEqual(self.done(), {})
        right = self.worker("--single-shot", contact="mine")
        self.assertEqual(right.wait(), 0, str(right))

    def test_another_version(self):
        self.manager(["true"], "--no-key")
        port = json.loads(self.read("contact"))["port"]
        # For the connection: after the magic bytes of its hello. For messages: the worker's first one, an array of
        # more than 15, after its size and kind.
        for what, number, at, line in (("connection", 0, 5, "this manager uses version {ours} of the protocol, you use {theirs}"),
                                       ("messages", 2, 4, "refused this worker: it speaks protocol {theirs}, the manager {ours}")):
            with self.subTest(what):
                between = OtherRelease(port, number, at, 99)
                run = self.run_to_end("127.0.0.1", between.port, code=77)
                between.close()
                self.assertIn(line.format(ours=between.ours, theirs=99), run.out)

    def test_an_option_without_effect_says_so_once(self):
        run = self.refused(69, "no manager was reached", "--catalog", "host", "--contact", self.path("none"), "--connect-timeout", "0.2",
                           "-i", "0.1", "-b", "0.1")
        self.assertEqual(run.err.count("--catalog has no effect"), 1, run.err)


if __name__ == "__main__":
    main()
