"""A run of 5,000 tasks whose workers are killed 100 times and disconnected 20 times: each task is DONE once. Another run
with files: each output is complete."""

import os
import random
import select
import signal
import socket
import threading
import time

from tcp_support import DEADLINE, TcpCase, main

EVERY = int(os.environ.get("WQ_EVERY", "1"))
TASKS = int(os.environ.get("CHAOS_TASKS", 5000 // EVERY))
KILLS = int(os.environ.get("CHAOS_KILLS", 100 // EVERY))
CUTS = int(os.environ.get("CHAOS_CUTS", 20 // EVERY))
WORKERS = 3
FILE_TASKS = int(os.environ.get("CHAOS_FILE_TASKS", 600 // EVERY))
FILE_KILLS = int(os.environ.get("CHAOS_FILE_KILLS", 30 // EVERY))
FILE_CUTS = int(os.environ.get("CHAOS_FILE_CUTS", 15 // EVERY))


class Wire(threading.Thread):
    """A proxy between workers and their manager. cut() ends a connection for both ends; stall() lets nothing through any
    more, like a firewall that drops packets: both ends only notice the silence."""

    def __init__(self, to):
        super().__init__(daemon=True)
        self.to = to
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=100)
        self.port = self.listener.getsockname()[1]
        self.other = {}
        self.stalled = set()
        self.orders, self.to_order = os.pipe()
        self.seen = {"cut": 0, "stall": 0}

    def order(self, what):
        os.write(self.to_order, {"cut": b"c", "stall": b"s", "end": b"e"}[what])

    def links(self):
        return [one for one in self.other if one.fileno() >= 0 and one not in self.stalled]

    def end(self, one):
        for each in (one, self.other.get(one)):
            if each is not None:
                self.other.pop(each, None)
                self.stalled.discard(each)
                each.close()

    def accept(self):
        worker, _ = self.listener.accept()
        try:
            manager = socket.create_connection(("127.0.0.1", self.to))
        except OSError:
            worker.close()
            return
        self.other[worker], self.other[manager] = manager, worker

    def obey(self, what):
        links = self.links()
        if what == b"c" and links:
            self.end(random.choice(links))
            self.seen["cut"] += 1
        if what == b"s" and links:
            one = random.choice(links)
            self.stalled |= {one, self.other[one]}
            self.seen["stall"] += 1
        return what != b"e"

    def pass_on(self, one):
        try:
            data = one.recv(1 << 16)
            if data:
                if one not in self.stalled:
                    self.other[one].sendall(data)
                return
        except OSError:
            pass
        self.end(one)

    def run(self):
        while True:
            ready, _, _ = select.select([self.listener, self.orders, *self.other], [], [])
            for one in ready:
                if one is self.orders:
                    if not self.obey(os.read(self.orders, 1)):
                        return
                elif one is self.listener:
                    self.accept()
                elif one in self.other:
                    self.pass_on(one)


class Chaos(TcpCase):
    def start_worker(self, port):
        # 0.02 of the usual times: a link ends after 1.8 s of silence.
        return self.worker("127.0.0.1", port, "--cores", 2, "--time-scale", "0.02", "-i", "0.02", "-b", "0.2", contact=None)

    def test_each_task_once(self):
        # Some end almost at once, some run for a while.
        self.run_with_blows([f"read -t {0.01 * (n % 7)} x < /dev/zero; echo {n}" if n % 7 == 0 else f"echo {n}"
                             for n in range(TASKS)], TASKS, KILLS, CUTS)

    def test_each_output_whole(self):
        files = self.path("files")
        os.makedirs(f"{files}/in")
        random.seed(11)
        shared = random.randbytes(2_500_000)  # more than a window
        inputs = [random.randbytes(random.choice((100, 70_000, 600_000))) for _ in range(20)]
        for name, content in [("shared", shared), *((f"in/{n}", content) for n, content in enumerate(inputs))]:
            with open(f"{files}/{name}", "wb") as out:
                out.write(content)
        lines = []
        for n in range(FILE_TASKS):
            place = n % len(inputs)
            lines += [f"#WQ input=in/{place} input=shared output=out/{n} output=tree/{n}",
                      f"cat in/{place} shared > out/{n}; mkdir -p tree/{n}/a && echo {n} > tree/{n}/a/number"]
        self.run_with_blows(lines, FILE_TASKS, FILE_KILLS, FILE_CUTS, "--files", files)
        for n in range(FILE_TASKS):
            with open(f"{files}/out/{n}", "rb") as made:
                self.assertTrue(made.read() == inputs[n % len(inputs)] + shared, n)
            with open(f"{files}/tree/{n}/a/number", encoding="ascii") as made:
                self.assertEqual(made.read(), f"{n}\n")
        self.assertEqual(sorted(os.listdir(f"{files}/out"), key=int), [str(n) for n in range(FILE_TASKS)], "half a file")

    def run_with_blows(self, lines, tasks, most_kills, most_cuts, *words):
        random.seed(4711)
        manager = self.manager(lines, "--no-key", "--scale", "0.02", "--away", 3, *words)
        port = int(self.read("contact").split('"port":')[1].split(",")[0].strip(" }\n"))
        wire = Wire(port)
        wire.start()
        workers = [self.start_worker(wire.port) for _ in range(WORKERS)]
        kills = cuts = stops = 0
        stopped = []
        end = time.monotonic() + 3 * DEADLINE
        while kills < most_kills or cuts < most_cuts:
            self.assertLess(time.monotonic(), end, f"{kills} kills and {cuts} cuts: {manager}")
            # The next fault waits for more progress, so that all of them hit a busy run.
            share = (kills + cuts) / (most_kills + most_cuts)
            while len(self.done_lines()) < share * 0.8 * tasks:
                self.assertFalse(manager.wait_at_most(0.01), f"over after {kills} kills: {manager}")
                self.assertLess(time.monotonic(), end, f"{len(self.done_lines())} done after {kills} kills, {cuts} cuts")
            if cuts < most_cuts and cuts * most_kills <= kills * most_cuts:
                cuts += 1
                kind = ("cut", "stall", "stop")[cuts % 3]
                if kind == "stop":
                    stops += 1
                    victim = random.choice(workers)
                    victim.signal(signal.SIGSTOP)
                    stopped.append(victim)
                else:
                    wire.order(kind)
                continue
            place = random.randrange(WORKERS)
            while stopped:
                stopped.pop().signal(signal.SIGCONT)
            workers[place].kill()
            workers[place] = self.start_worker(wire.port)
            kills += 1
        while stopped:
            stopped.pop().signal(signal.SIGCONT)
        self.assertEqual(manager.wait(3 * DEADLINE), 0, str(manager)[-3000:])
        done = self.done()
        self.assertEqual({n: count for n, count in done.items() if count != 1}, {})
        self.assertEqual(len(done), tasks)
        endings = self.endings()
        print(f"{kills} kills, {wire.seen} and {stops} stops; attempts: { {name: endings.count(name) for name in set(endings)} }; "
              f"away {manager.err.count('is disconnected')}, back {manager.err.count(' reconnected')}", flush=True)
        self.assertGreater(manager.err.count(" reconnected"), 0)
        for worker in workers:
            worker.signal(signal.SIGTERM)
        for worker in workers:
            self.assertEqual(worker.wait(), 0, str(worker))
        wire.order("end")
        wire.join()
        wire.listener.close()
        self.assert_nothing_left()

    def done_lines(self):
        return [line for line in self.lines("run/transactions.log") if " DONE SUCCESS " in line]


if __name__ == "__main__":
    main()
