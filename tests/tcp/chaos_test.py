"""A run of 5,000 tasks whose workers are killed 100 times and disconnected 20 times: each task is DONE once. Another run
with files: each output is complete."""

import os
import random
import signal
import time

from relay import Relay
from tcp_support import DEADLINE, TcpCase, main

EVERY = int(os.environ.get("WQ_EVERY", "1"))
TASKS = int(os.environ.get("CHAOS_TASKS", 5000 // EVERY))
KILLS = int(os.environ.get("CHAOS_KILLS", 100 // EVERY))
CUTS = int(os.environ.get("CHAOS_CUTS", 20 // EVERY))
WORKERS = 3
FILE_TASKS = int(os.environ.get("CHAOS_FILE_TASKS", 600 // EVERY))
FILE_KILLS = int(os.environ.get("CHAOS_FILE_KILLS", 30 // EVERY))
FILE_CUTS = int(os.environ.get("CHAOS_FILE_CUTS", 15 // EVERY))


class Chaos(TcpCase):
    def start_worker(self, port):
        # 0.06 of the usual times: a link ends after 1.8 s of silence.
        return self.worker("127.0.0.1", port, "--cores", 2, "--time-scale", "0.06", "-i", "0.02", "-b", "0.2", contact=None)

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
        manager = self.manager(lines, "--no-key", "--scale", "0.06", "--away", 3, *words)
        port = int(self.read("contact").split('"port":')[1].split(",")[0].strip(" }\n"))
        wire = Relay(port)
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
