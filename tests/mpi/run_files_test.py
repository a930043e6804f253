#!/usr/bin/env python3
"""Files of task lists (`#WQ input= output=`): transferred to workers that do not see the run's folder, and to no others.

WORKER is the program work_queue_worker."""

import os
import subprocess

import run_support as support
from run_support import Case

WORKER = os.environ["WORKER"]
# A namespace in which the run's folder is another one, and empty: as on a host with a folder of the same name.
NAMESPACE = ["unshare", "--mount"] if os.geteuid() == 0 else ["unshare", "--mount", "--map-root-user"]

LIST = """#WQ input=data/a input=script output=made/a
sh script data/a made/a
#WQ input=data/b input=script output=made/b
sh script data/b made/b
"""


class Files(Case):
    def worker(self, contact, *words, before=()):
        process = subprocess.Popen([*before, WORKER, "--contact", contact, "--cores", "1", *words],
                                   stdin=subprocess.DEVNULL, cwd="/",
                                   env={**os.environ, support.MARK: self.mark, "TMPDIR": self.temporary})
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def start_run(self, tasks):
        os.makedirs(self.path("data"))
        for name in "ab":
            self.write(f"data/{name}", f"text of {name}\n")
        self.write("script", 'ls > "$2" && cat "$1" >> "$2" && pwd > "$2.where"\n')
        self.write("tasks.sh", tasks)
        run = self.start("--listen", "tasks.sh", "--run-dir", "r", "--manager-only", ranks=0)
        run.wait_for_text("listening on port")
        return run

    def transfers(self):
        return [line.split()[3] for line in self.lines("r/transactions.log") if line.split()[2:3] == ["TRANSFER"]]

    def test_a_worker_that_does_not_see_them_is_brought_them(self):
        elsewhere = self.path("")
        try:
            subprocess.run([*NAMESPACE, "mount", "-t", "tmpfs", "tmpfs", elsewhere], check=True, capture_output=True)
        except subprocess.CalledProcessError as error:
            reason = f"mount namespaces cannot be made here: {error.stderr.decode().strip()}"
            print(f"SKIP: {reason}", flush=True)
            self.skipTest(reason)
        run = self.start_run(LIST)
        # The contact is read before the folder is hidden, through descriptor 3.
        hidden = 'exec 3< "$1"; mount -t tmpfs tmpfs "$2" && shift 2 && exec "$@"'
        self.worker("/dev/fd/3", "--workdir", "/tmp",
                    before=[*NAMESPACE, "sh", "-c", hidden, "sh", self.path("r/contact"), elsewhere])
        self.assertEqual(run.wait(), 0, str(run))
        for name in "ab":
            self.assertEqual(self.read(f"made/{name}"), f"data\nmade\nscript\ntext of {name}\n")
            self.assertFalse(os.path.exists(self.path(f"made/{name}.where")), "only what was named comes home")
        self.assertEqual(self.transfers().count("OUTPUT"), 2)
        self.assertEqual(self.transfers().count("INPUT"), 3, "the script is sent once")

    def test_to_one_that_sees_them_nothing_is_copied(self):
        os.makedirs(self.path("made"))
        run = self.start_run(LIST)
        self.worker(self.path("r/contact"))
        self.assertEqual(run.wait(), 0, str(run))
        for name in "ab":
            self.assertEqual(self.lines(f"made/{name}.where"), [os.path.realpath(self.path("")).rstrip("/")])
        self.assertEqual(self.transfers(), [])
        self.assertFalse(os.path.exists(self.path("r/mark")))


if __name__ == "__main__":
    support.main()
