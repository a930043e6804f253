"""A task of a worker that has ended runs elsewhere soon, never twice at once, and none is lost."""

import json
import os
import random
import signal
import socket
import sys
import threading
import time
import unittest

from relay import Relay
from tcp_support import DEADLINE, TcpCase, main
from marked_processes import wait_for_end

EVERY = int(os.environ.get("WQ_EVERY", "1"))
ENDS = int(os.environ.get("ENDS", 60 if EVERY == 1 else 10))
RECONNECT = 60 if EVERY == 1 else 10
WORKERS = 12 if EVERY == 1 else 5
TASKS = 4 * ENDS

# A task and a child in a session of its own each hold a lock in a folder that all attempts share.
TASK = """
import fcntl, os, sys, threading
folder, task, seconds = sys.argv[1], sys.argv[2], float(sys.argv[3])
def hold(name):
    lock = open(f"{folder}/{name}", "w")
    try:
        fcntl.lockf(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        with open(f"{folder}/twice", "a") as log:
            log.write(f"{name}\\n")
    return lock
own = hold(task)
child = os.fork()
if child == 0:
    os.setsid()
    lock = hold(task + ".child")
    threading.Event().wait(seconds)
    os._exit(0)
os.waitpid(child, 0)
"""

HOWS = ("worker", "launcher", "zygote", "worker launcher", "worker zygote", "launcher zygote", "all",
        "cut", "reset", "stall", "stop", *(("manager",) if EVERY == 1 else ()))


class EndsCase(TcpCase):
    def start_relay(self):
        """Workers of the contact file "through" are relayed: a closed connection tells nothing of their end."""
        contact = json.loads(self.read("contact"))
        self.relay = Relay(contact["port"])
        self.relay.start()
        self.write("through", json.dumps({**contact, "port": self.relay.port}))
        os.chmod(self.path("through"), 0o600)

    def end_relay(self):
        self.relay.order("end")
        self.relay.join()
        self.relay.listener.close()


class Killed(EndsCase):
    def test_its_task_goes_to_a_free_worker_at_once(self):
        """Only last words tell that: nothing else would for an hour."""
        bell, gate = self.bell(), self.gate()
        task = f"flock -n {self.path('lock')} sh -c 'echo started > {bell.path}; read x < {gate.path}' || echo twice > {bell.path}"
        manager = self.manager([task], "--away", 3600)
        self.start_relay()
        first = self.worker("--cores", 1, contact="through")
        bell.wait(1)
        second = self.worker("--cores", 1, "--single-shot")
        second.wait_for_text("connected to manager")
        first.kill()
        bell.wait(2)
        gate.open()
        self.assertEqual(manager.wait(), 0, str(manager))
        second.wait()
        self.assertEqual(bell.rung, ["started", "started"])
        self.assertEqual(self.endings(), ["worker_lost", "exited"])
        self.assertIn("was lost: its process was killed\n", manager.err)
        self.end_relay()
        self.assert_nothing_left()


class LastWords(EndsCase):
    @unittest.skipIf(EVERY > 1, "takes 40 s")
    def test_who_does_not_hear_them_delays_no_end(self):
        bell, gate = self.bell(), self.gate()
        manager = self.manager([f"echo started > {bell.path}; read x < {gate.path}"], "--no-key", "--away", 10)
        locked = self.manager(["true"], run_dir="locked", contact="other")
        stranger = self.manager(["true"], "--no-key", run_dir="stranger", contact="other2")
        self.start_relay()
        silent = socket.create_server(("127.0.0.1", 0))
        ports = [silent.getsockname()[1], *(json.loads(self.read(name))["port"] for name in ("other", "other2", "other2"))]
        for count, port in enumerate(ports, start=1):
            worker = self.worker("--cores", 1, contact="through")
            bell.wait(count)
            own, self.relay.to = self.relay.to, port
            left = worker.children(worker.process.pid)
            worker.kill()
            for process in left:
                self.assertTrue(wait_for_end(process, time.monotonic() + DEADLINE), port)
            self.relay.to = own
            if count == 3:
                stranger.signal(signal.SIGSTOP)
        worker = self.worker("--cores", 1, "--single-shot", contact="through")
        bell.wait(len(ports) + 1)
        gate.open()
        self.assertEqual(manager.wait(), 0, str(manager))
        self.assertEqual(self.endings(), ["worker_lost"] * len(ports) + ["exited"])
        worker.wait()
        for other in (locked, stranger):
            other.kill()
        silent.close()
        self.end_relay()
        self.assert_nothing_left()


class Standstill(threading.Thread):
    """Measures the longest time in which this machine let no thread of ours run."""

    def __init__(self):
        super().__init__(daemon=True)
        self.longest = 0
        self.over = threading.Event()

    def run(self):
        last = time.monotonic()
        while not self.over.wait(0.05):
            last, before = time.monotonic(), last
            self.longest = max(self.longest, last - before)


class Ends(EndsCase):
    def test_in_every_way(self):
        seed = int(os.environ.get("SEED", "11"))
        self.random = random.Random(seed)
        random.seed(seed)  # the relay's
        os.mkdir(self.path("locks"))
        self.write("task.py", TASK)
        longest = 45 if EVERY == 1 else 2  # seconds, of every tenth task: still running when a stopped manager goes on
        self.manager_run = self.manager([f"{sys.executable} {self.path('task.py')} {self.path('locks')} {n} "
                                         f"{0.2 * (n % 10) or longest}" for n in range(TASKS)], "--away", RECONNECT)
        self.start_relay()
        self.workers = [self.start_worker() for _ in range(WORKERS)]
        self.happened = []
        self.stopped = []  # who, and until when
        counts = dict.fromkeys(HOWS, 0)
        ends = last = 0
        machine = Standstill()
        machine.start()
        while self.manager_run.process.poll() is None:
            self.go_on()
            stands = any(who is self.manager_run for who, _ in self.stopped) and time.monotonic() >= last + 4
            if ends < ENDS and (stands or len(self.done()) >= TASKS * ends / (ENDS + 1)):
                ends += 1
                last = time.monotonic()
                how = HOWS[ends % len(HOWS)] if ends <= len(HOWS) else self.random.choice(HOWS)
                counts[how] += 1
                self.happened.append((how, self.end(how)))
            self.manager_run.wait_at_most(0.05)
        self.assertEqual(self.manager_run.code, 0, str(self.manager_run)[-5000:])
        # A worker has two seconds to end its tasks before others get them. If the whole machine stood still for that long, both
        # find out at the same moment.
        machine.over.set()
        machine.join()
        if machine.longest >= 1:
            print(f"SKIP: whether a task ran twice at once: the machine stood still for {machine.longest:.1f} s", flush=True)
        else:
            self.assertFalse(os.path.exists(self.path("locks/twice")), f"{counts} {self.happened}")
        self.assertEqual(self.done(), {n: 1 for n in range(1, TASKS + 1)})
        print(f"seed {seed}: {counts}; lost {self.manager_run.err.count(' was lost: ')}, of these by last words "
              f"{self.manager_run.err.count('its process was killed')}", flush=True)
        self.finish()

    def start_worker(self):
        contact = self.random.choice(("contact", "through"))
        return self.worker("--cores", 2, "-i", "0.05", "-b", "1", contact=contact)

    def end(self, how):
        """Returns the worker's number and process."""
        if how in ("cut", "reset", "stall"):
            return self.relay.order(how)
        if how == "manager":
            self.stop(self.manager_run, RECONNECT)
            return None
        place = self.random.randrange(WORKERS)
        worker = self.workers[place]
        if how == "stop":
            self.stop(worker, self.random.uniform(0.2, 2 if EVERY == 1 else 1) * RECONNECT)
            return place, worker.process.pid
        parts = self.parts(worker)
        for part in parts if how == "all" else how.split():
            for process in parts.get(part, []):
                try:
                    os.kill(process, signal.SIGKILL)
                except ProcessLookupError:
                    pass
        if worker.process.poll() is not None or "worker" in how or how == "all":
            worker.process.wait(DEADLINE)
            self.workers[place] = self.start_worker()
        return place, worker.process.pid

    def stop(self, who, seconds):
        who.signal(signal.SIGSTOP)
        self.stopped.append((who, time.monotonic() + seconds))

    def parts(self, worker):
        zygotes = worker.children(worker.process.pid)
        launchers = [each for zygote in zygotes for each in worker.children(zygote)]
        tasks = [each for launcher in launchers for each in self.below(worker, launcher)]
        return {"worker": [worker.process.pid], "zygote": zygotes, "launcher": launchers, "tasks": tasks}

    def below(self, worker, parent):
        children = worker.children(parent)
        return children + [each for child in children for each in self.below(worker, child)]

    def go_on(self):
        for entry in [entry for entry in self.stopped if time.monotonic() >= entry[1]]:
            self.stopped.remove(entry)
            if entry[0].process.poll() is None:
                entry[0].signal(signal.SIGCONT)
        for place, worker in enumerate(self.workers):
            if worker.process.poll() is not None:  # without its zygote it runs no more tasks
                self.workers[place] = self.start_worker()

    def finish(self):
        for worker, _ in self.stopped:
            if worker.process.poll() is None:
                worker.signal(signal.SIGCONT)
        for worker in self.workers:
            if worker.process.poll() is None:
                worker.signal(signal.SIGTERM)
            worker.wait()
        self.end_relay()
        self.assert_nothing_left()


if __name__ == "__main__":
    main()
