"""Dropped packets: workers on separate hosts (network namespaces), which are disconnected and reconnected while 1,500
tasks run. Neither end is notified: they only notice the silence. Each task is DONE once.

Runs in tests/cluster/machine, which skips it, with the reason, if such namespaces cannot be created."""

import os
import random
import signal
import subprocess
import time

from tcp_support import DEADLINE, TcpCase, main

ON = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cluster", "on")
TASKS = int(os.environ.get("DROPPED_TASKS", "1500"))
CUTS = int(os.environ.get("DROPPED_CUTS", "9"))
SCALE = 0.06
MANAGER_HOST, WORKERS = "boss", ("w1", "w2", "w3")


def ip(*words):
    subprocess.run(["ip", *words], check=True)


def make_hosts(hosts):
    """Creates hosts joined by a bridge in a separate namespace; its end of the link of HOST is link.HOST."""
    ip("netns", "add", "hub")
    ip("-n", "hub", "link", "add", "bridge", "type", "bridge")
    ip("-n", "hub", "link", "set", "bridge", "up")
    for number, host in enumerate(hosts, 1):
        link = f"link.{host}"
        ip("netns", "add", host)
        ip("-n", "hub", "link", "add", link, "type", "veth", "peer", "name", "eth0", "netns", host)
        ip("-n", "hub", "link", "set", link, "master", "bridge", "up")
        ip("-n", host, "addr", "add", f"198.18.0.{number}/24", "dev", "eth0")
        ip("-n", host, "link", "set", "eth0", "up")
        ip("-n", host, "link", "set", "lo", "up")


def plug(host, into):
    ip("-n", "hub", "link", "set", f"link.{host}", "up" if into else "down")


class Dropped(TcpCase):
    def start_worker(self, host):
        return self.worker("--cores", 2, "--time-scale", SCALE, "-i", "0.02", "-b", "0.2", before=[ON, host])

    def done_count(self):
        return sum(" DONE SUCCESS " in line for line in self.lines("run/transactions.log"))

    def wait_until(self, true, what, manager):
        end = time.monotonic() + DEADLINE
        while not true():
            self.assertFalse(manager.wait_at_most(0.01), f"over before {what}: {manager}")
            self.assertLess(time.monotonic(), end, f"not {what}: {manager}")

    def lose_sight_of(self, host, manager):
        """Waits until the manager has noticed; returns how long that took."""
        before = manager.err.count("is disconnected")
        began = time.monotonic()
        plug(host, False)
        self.wait_until(lambda: manager.err.count("is disconnected") > before, f"disconnected from {host}", manager)
        return time.monotonic() - began

    def test_each_task_once(self):
        random.seed(4711)
        make_hosts((MANAGER_HOST, *WORKERS))
        tasks = [f"read -t {0.02 * (n % 5)} x < /dev/zero; echo {n}" for n in range(TASKS)]
        manager = self.manager(tasks, "--tls", "--bind", "198.18.0.1", "--scale", SCALE, "--away", 30, within=[ON, MANAGER_HOST])
        workers = [self.start_worker(host) for host in WORKERS]
        for worker in workers:
            self.wait_until(lambda one=worker: "connected to manager" in one.out, f"connected: {worker}", manager)
        noticed = []
        for cut in range(CUTS):
            # The next fault waits for more progress, so that all of them hit a busy run.
            self.wait_until(lambda: self.done_count() >= (cut + 0.2) / CUTS * 0.7 * TASKS, f"as much done for cut {cut}", manager)
            host = random.choice(WORKERS)
            if cut % 3 == 2:  # so short that dropped packets are only retransmitted
                plug(host, False)
                self.wait_until(lambda: self.done_count() >= (cut + 0.3) / CUTS * 0.7 * TASKS, "more done meanwhile", manager)
                plug(host, True)
                continue
            noticed.append(self.lose_sight_of(host, manager))
            back = manager.err.count(" reconnected")
            plug(host, True)
            self.wait_until(lambda: manager.err.count(" reconnected") > back, f"{host} is back", manager)
        self.assertEqual(manager.wait(3 * DEADLINE), 0, str(manager)[-3000:])
        done = self.done()
        self.assertEqual({n: count for n, count in done.items() if count != 1}, {})
        self.assertEqual(len(done), TASKS)
        print(f"{CUTS} cuts; noticed after {', '.join(f'{seconds:.1f}' for seconds in noticed)} s; "
              f"away {manager.err.count('is disconnected')}, back {manager.err.count(' reconnected')}", flush=True)
        for worker in workers:
            worker.signal(signal.SIGTERM)
        for worker in workers:
            self.assertEqual(worker.wait(), 0, str(worker))
        self.assert_nothing_left()


if __name__ == "__main__":
    main()
