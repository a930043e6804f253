"""work_queue_worker as a process whose machine loses resources while it runs."""

import contextlib
import errno
import os
import shutil
import signal
import time
import unittest

from tcp_support import DEADLINE, TcpCase, main


@unittest.skipIf(len(os.sched_getaffinity(0)) < 2, "one core cannot become fewer")
class Lessened(TcpCase):
    def leave_one_core(self, worker):
        for thread in os.listdir(f"/proc/{worker.process.pid}/task"):
            with contextlib.suppress(ProcessLookupError):  # it has ended since
                os.sched_setaffinity(int(thread), {min(os.sched_getaffinity(0))})

    def pipe_that_it_reads(self, worker):
        end = time.monotonic() + DEADLINE
        while time.monotonic() < end:
            try:
                descriptor = os.open(self.path("machine"), os.O_WRONLY | os.O_NONBLOCK)
                os.set_blocking(descriptor, True)
                return os.fdopen(descriptor, "w", encoding="utf-8")
            except OSError as error:
                self.assertEqual(error.errno, errno.ENXIO)
            self.assertFalse(worker.wait_at_most(0.01), str(worker))
        self.fail(f"it does not look at its machine: {worker}")

    def test_with_fewer_cores_it_comes_back_with_fewer(self):
        """Its running tasks end first, and are not repeated; tasks that have not started wait for it."""
        bell, gate = self.bell(), self.gate()
        both = f"#WQ cores=2\necho started > {bell.path}; read x < {gate.path}\n#WQ cores=1"
        manager = self.manager([both] + ["echo $CORES"] * 3)
        worker = self.worker("--time-scale", "0.01")
        bell.wait(1)
        self.leave_one_core(worker)
        worker.wait_for_text("it finishes its tasks, leaves, and rejoins")
        gate.open()
        self.assertEqual(manager.wait(), 0, str(manager))
        self.assertIn("the worker may use 1 hardware threads now", worker.out)
        self.assertIn("using 1 cores", worker.out)
        self.assertEqual(self.done(), {1: 1, 2: 1, 3: 1, 4: 1})
        worker.signal(signal.SIGTERM)
        self.assertEqual(worker.wait(), 0, str(worker))
        self.assert_nothing_left()

    def test_with_fewer_cores_than_it_does_not_offer_it_stays(self):
        bell, gate = self.bell(), self.gate()
        manager = self.manager([f"echo started > {bell.path}; read x < {gate.path}"])
        worker = self.worker("--cores", 1, "--single-shot", "--time-scale", "0.01")
        bell.wait(1)
        self.leave_one_core(worker)
        worker.wait_for_text("the worker may use 1 hardware threads now")
        self.assertIn("; its offer stays the same", worker.out)
        gate.open()
        self.assertEqual(manager.wait(), 0, str(manager))
        self.assertEqual(worker.wait(), 0, str(worker))
        self.assertNotIn("it leaves", worker.out)

    def test_what_becomes_less_while_it_looks_at_its_machine_is_noticed(self):
        """Its machine description is a pipe, which it can read only once the test writes to it."""
        machine = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "golden", "machines", "holes.xml")
        with open(machine, encoding="utf-8") as file:
            description = file.read()
        os.mkfifo(self.path("machine"))
        self.manager(["true"], contact="other")
        # libxml opens a file more than once.
        reads_a_pipe = {"HWLOC_XMLFILE": self.path("machine"), "HWLOC_LIBXML": "0"}
        worker = self.worker("--time-scale", "0.01", contact="other", env=reads_a_pipe)
        with self.pipe_that_it_reads(worker) as pipe:
            self.leave_one_core(worker)
            pipe.write(description)
        worker.wait_for_text("creating workspace")
        with self.pipe_that_it_reads(worker) as pipe:  # it looks again because it noticed the change
            pipe.write(description)
        worker.wait_for_text("the worker may use 1 hardware threads now")
        worker.signal(signal.SIGTERM)
        self.assertEqual(worker.wait(), 0, str(worker))

    def test_where_it_cannot_look_at_its_machine_it_says_so_and_tries_again(self):
        there, gone = self.path("machine.xml"), self.path("gone.xml")
        machine = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "golden", "machines", "holes.xml")
        shutil.copy(machine, there)
        self.manager(["true"], contact="other")
        worker = self.worker("--time-scale", "0.01", contact="other", env={"HWLOC_XMLFILE": there})
        worker.wait_for_text("creating workspace")
        os.rename(there, gone)
        self.leave_one_core(worker)
        worker.wait_for_text("it cannot inspect its machine: HWLOC_XMLFILE")
        self.assertNotIn("; its offer stays the same", worker.out)
        os.rename(gone, there)
        worker.wait_for_text("; its offer stays the same")
        worker.signal(signal.SIGTERM)
        self.assertEqual(worker.wait(), 0, str(worker))

    def test_told_to_stop_while_it_leaves_with_less_it_keeps_its_grace_and_does_not_come_back(self):
        bell, gate = self.bell(), self.gate()
        manager = self.manager([f"#WQ cores=2\necho started > {bell.path}; read x < {gate.path}\n#WQ cores=1", "true"])
        worker = self.worker("--grace", 1000, "--time-scale", "0.01")
        bell.wait(1)
        self.leave_one_core(worker)
        worker.wait_for_text("it finishes its tasks, leaves, and rejoins")
        worker.signal(signal.SIGTERM)
        worker.wait_for_text("stopping at SIGTERM: running tasks may finish for")
        gate.open()
        self.assertEqual(worker.wait(), 0, str(worker))
        self.assertEqual(worker.out.count("creating workspace"), 1, str(worker))
        self.assertEqual(self.worker("--single-shot").wait(), 0)
        self.assertEqual(manager.wait(), 0, str(manager))
        self.assertEqual(self.done(), {1: 1, 2: 1})
        self.assertEqual(self.endings(), ["exited", "exited"])


if __name__ == "__main__":
    main()
