"""Common to the tests of runtask: a real sshd of the test's own, workers, and lists with their marks.

Every process of a test has a unique mark (tests/support/marked_processes.py). Nothing here waits for a fixed time: it waits for
an event, at most DEADLINE seconds."""

import getpass
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import unittest
import uuid

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))

from marked_processes import MARK, command_of, kill_tagged, stat_of, tagged  # noqa: E402,F401  for the tests

PROGRAM = os.environ["PROGRAM"]
PATIENCE = int(os.environ.get("WQ_PATIENCE", "1"))
DEADLINE = float(os.environ.get("DEADLINE", "60")) * PATIENCE
# Seconds; with 2, one ssh that started slowly made a living worker lost.
LEASE = 4 * PATIENCE
EVERY = int(os.environ.get("WQ_EVERY", "1"))
STAMP = r"\d\d-\d\d \d\d:\d\d:\d\d"


def masked(text):
    """Without times, and without the names of workers."""
    text = re.sub(STAMP, "T", text)
    return re.sub(r"^(# worker \d+): .* \(T\)$", r"\1: NAME (T)", text, flags=re.M)


class Server:
    """sshd on loopback; gives RUNTASK_SSH. Raises unittest.SkipTest where it cannot run."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        sshd = shutil.which("sshd", path=os.environ["PATH"] + ":/usr/sbin:/sbin")
        if sshd is None or shutil.which("ssh") is None:
            raise unittest.SkipTest("no sshd or ssh here (Debian: openssh-server, openssh-client)")
        for key in ("host", "user"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", self.folder / key], check=True)
        if os.getuid() == 0:
            os.makedirs("/run/sshd", exist_ok=True)
        self.host = f"{getpass.getuser()}@127.0.0.1"
        self.sshd = sshd
        for _ in range(20):
            if self.start():
                return
        raise unittest.SkipTest("sshd does not start: " + (self.folder / "log").read_text(errors="replace")[-300:])

    def start(self):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        # HOME: a login shell runs the user's start-up files, and one that locks a file and is killed delays all others by a minute.
        (self.folder / "config").write_text(
            f"Port {self.port}\nListenAddress 127.0.0.1\nHostKey {self.folder}/host\nAuthorizedKeysFile {self.folder}/user.pub\n"
            f"PidFile none\nStrictModes no\nUsePAM no\nMaxStartups 200\nSetEnv HOME={self.folder}\n")
        self.daemon = subprocess.Popen([self.sshd, "-D", "-E", self.folder / "log", "-f", self.folder / "config"])
        self.command = (f"ssh -p {self.port} -i {self.folder}/user -o StrictHostKeyChecking=no -o IdentitiesOnly=yes "
                        f"-o UserKnownHostsFile={self.folder}/known -o LogLevel=ERROR")
        end = time.monotonic() + 20
        while time.monotonic() < end and self.daemon.poll() is None:
            if subprocess.run([*self.command.split(), "-o", "BatchMode=yes", self.host, "true"], stderr=subprocess.DEVNULL).returncode == 0:
                return True
        self.stop()
        return False

    def stop(self):
        self.daemon.terminate()
        self.daemon.wait()


class Case(unittest.TestCase):
    server_needed = True

    @classmethod
    def setUpClass(cls):
        cls.server_folder = tempfile.mkdtemp(prefix="wq-ssh-")
        cls.addClassCleanup(shutil.rmtree, cls.server_folder, ignore_errors=True)
        cls.server = Server(cls.server_folder) if cls.server_needed else None
        if cls.server:
            cls.addClassCleanup(cls.server.stop)

    def setUp(self):
        self.mark = uuid.uuid4().hex
        self.folder = tempfile.mkdtemp(prefix="wq-list-")
        self.started = []
        self.addCleanup(self.clean_up)

    def clean_up(self):
        kill_tagged(self.mark)
        for process in self.started:
            process.wait()
            process.stdout.close()
            process.stderr.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, text):
        with open(self.path(name), "wb") as file:
            file.write(text if isinstance(text, bytes) else text.encode())
        return self.path(name)

    def read(self, name):
        with open(self.path(name), encoding="utf-8", errors="replace") as file:
            return file.read()

    def lines(self, name):
        return self.read(name).splitlines() if os.path.exists(self.path(name)) else []

    def marks(self, name="tasks.sh"):
        return masked(self.read(name))

    def start(self, *words, env=None, program=PROGRAM, **how):
        environment = {**os.environ, MARK: self.mark, "RUNTASK_SSH": self.server.command if self.server else "ssh", **(env or {})}
        for name in ("MASTER_SERVER", "WORKER_NAME", "TASK_FILE", "WORKERID"):
            if name not in (env or {}):
                environment.pop(name, None)
        process = subprocess.Popen([program, *map(str, words)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   cwd=self.folder, env=environment, start_new_session=True, text=True, errors="replace", **how)
        self.started.append(process)
        return process

    def run_to_end(self, *words, code=0, **how):
        process = self.start(*words, **how)
        try:
            out, err = process.communicate(timeout=DEADLINE)
        except subprocess.TimeoutExpired:
            processes = [f"{one} {command_of(one)}" for one in tagged(self.mark)]
            kill_tagged(self.mark)
            out, err = process.communicate()
            said = (self.server.folder / "log").read_text(errors="replace")[-500:] if self.server else ""
            raise AssertionError(f"no end: {words}\n{out}\n{err}\nprocesses: {processes}\nsshd: {said}") from None
        if code is not None:
            self.assertEqual(process.returncode, code, f"{words}\n--- stdout\n{out}\n--- stderr\n{err}")
        return process.returncode, out, err

    def remote(self, name="tasks.sh"):
        return f"{self.server.host}:{self.path(name)}"

    def wait_until(self, condition, what):
        """A file that grows notifies nobody, so this looks again and again."""
        end = time.monotonic() + DEADLINE
        waiter = self.started[-1] if self.started else None
        while not condition():
            if time.monotonic() > end:
                raise AssertionError(f"{what} did not come")
            if waiter is not None:
                try:
                    waiter.wait(0.01)
                except subprocess.TimeoutExpired:
                    pass


def main():
    unittest.main(argv=[sys.argv[0], "-v", *sys.argv[1:]])
