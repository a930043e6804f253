"""Lines per second of runtask on a shared list: here, by ssh to a real sshd on loopback, and as ranks; beside the way of
DistributedTaskQueue, which makes a login and runs Python at the master for each request."""

import contextlib
import getpass
import os
import pathlib
import re
import shutil
import socket
import subprocess
import tempfile
import time

WORKERS = 4
COMMAND = "true #"

# What DistributedTaskQueue does for each request: the lock, and a Python program that reads, edits and rewrites the list.
EDIT = r"""
import re, sys, time
path, worker, done = sys.argv[1:]
lines = open(path).read().split("\n")
now = time.strftime("%m-%d %H:%M:%S")
if int(done) >= 0:
    lines[int(done)] += f" {now}) #ok"
for number, line in enumerate(lines):
    if line.strip() and not line.strip().startswith("#"):
        print(number, line)
        lines[number] = f"#{line.strip()} # worker {worker} # ({now} ..."
        break
open(path, "w").write("\n".join(lines))
"""


@contextlib.contextmanager
def server(folder):
    """A real sshd, with its own keys; gives the ssh command for it."""
    program = shutil.which("sshd", path=os.environ["PATH"] + ":/usr/sbin")
    if program is None:
        raise RuntimeError("there is no sshd")
    for key in ("host", "user"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / key], check=True)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    (folder / "config").write_text(
        f"Port {port}\nListenAddress 127.0.0.1\nHostKey {folder}/host\nAuthorizedKeysFile {folder}/user.pub\n"
        f"PidFile none\nStrictModes no\nUsePAM no\nMaxStartups 100\nSetEnv HOME={folder}\n")
    if os.getuid() == 0:
        os.makedirs("/run/sshd", exist_ok=True)
    daemon = subprocess.Popen([program, "-D", "-e", "-f", folder / "config"], stderr=subprocess.DEVNULL)
    ssh = (f"ssh -p {port} -i {folder}/user -o StrictHostKeyChecking=no -o UserKnownHostsFile={folder}/known "
           f"-o LogLevel=ERROR -o IdentitiesOnly=yes")
    try:
        end = time.monotonic() + 20
        while subprocess.run([*ssh.split(), "-o", "BatchMode=yes", f"{getpass.getuser()}@127.0.0.1", "true"],
                             stderr=subprocess.DEVNULL).returncode:
            if time.monotonic() > end or daemon.poll() is not None:
                raise RuntimeError("sshd does not answer")
        yield ssh
    finally:
        daemon.terminate()
        daemon.wait()


class Case:
    """A list of equal lines, and workers that run it to its end, or until the time is over."""

    def __init__(self, folder, lines, seconds):
        self.folder, self.seconds = folder, seconds
        self.list = folder / "tasks.sh"
        for left in (self.list, pathlib.Path(f"{self.list}.lock")):
            left.unlink(missing_ok=True)
        shutil.rmtree(f"{self.list}.runtask", ignore_errors=True)
        for run in folder.glob("tasks.sh.wq*"):
            shutil.rmtree(run)
        self.list.write_text("".join(f"{COMMAND} {number}\n" for number in range(lines)))

    def done(self):
        return len(re.findall(r"#ok$", self.list.read_text(), re.M))

    def rate(self, commands, environment=None):
        began = time.monotonic()
        running = [subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=self.folder,
                                    env={**os.environ, **(environment or {})}, start_new_session=True) for command in commands]
        end = began + self.seconds
        for process in running:
            try:
                process.wait(max(0.01, end - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.terminate()
        seconds = time.monotonic() - began
        for process in running:
            process.wait(30)
        return self.done() / seconds


def documents_way(ssh, host, path, worker):
    """A worker that logs in for each line."""
    return ["bash", "-c", f"""
        done=-1
        while line=$({ssh} -o BatchMode=yes {host} "flock {path}.lock python3 {path}.edit.py {path} {worker} $done") && [ "$line" ]; do
            done=${{line%% *}}
            (eval "${{line#* }}")
        done"""]


def measure(options, share):
    program = options.build / "bin/runtask"
    if not program.exists():
        return print("runtask: not built", flush=True)
    host = f"{getpass.getuser()}@127.0.0.1"
    sizes = (5000,) if options.quick else (5000, 100000)
    print(f"\n### Shared lists: {WORKERS} workers, lines of `{COMMAND.split()[0]}`\n\n"
          f"| way | lines in the list | lines/s | of the rate with {sizes[0]} |\n|---|---|---|---|", flush=True)
    with tempfile.TemporaryDirectory(prefix="wq-bench-") as folder, server(pathlib.Path(folder)) as ssh:
        folder = pathlib.Path(folder)
        remote = {"RUNTASK_SSH": ssh}
        ways = [("here", lambda _: [[program, "--once", folder / "tasks.sh"]] * WORKERS, {}),
                ("by ssh", lambda _: [[program, "--once", f"{host}:{folder}/tasks.sh"]] * WORKERS, remote),
                ("mpirun, 2 ranks", lambda _: [["mpirun", "-n", "2", program, "--once", folder / "tasks.sh"]], {}),
                ("a login and Python for each line (the document's way)",
                 lambda _: [documents_way(ssh, host, folder / "tasks.sh", n) for n in range(WORKERS)], {})]
        rates = {}
        cases = [(size, way) for size in sizes for way in ways]
        for (size, (name, commands, environment)), part in share.parts(cases):
            case = Case(folder, size, max(2, min(part.seconds, 20)))
            (folder / "tasks.sh.edit.py").write_text(EDIT)
            rates[name, size] = case.rate(commands(case), environment)
            share_of_first = rates[name, size] / rates.get((name, sizes[0]), float("nan"))
            print(f"| {name} | {size} | {rates[name, size]:.0f} | {share_of_first:.2f} |", flush=True)
