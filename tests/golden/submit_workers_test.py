#!/usr/bin/env python3
"""What *_submit_workers give to their batch systems, and what they refuse. Usage: submit_workers_test.py CHECKOUT.

The systems' commands are replaced by ones that note their words and say what a test lets them say. UPDATE=1 rewrites
the files of tests/golden/batch, for review before a commit."""

import difflib
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

GOLDEN = pathlib.Path(__file__).parent / "batch"
CHECKOUT = pathlib.Path(sys.argv.pop(1)).resolve()

SLURM = [
    ["login1", "9123"],
    ["login1", "9123", "10"],
    ["--contact", "contact", "2"],
    ["3", "-M", "my project"],
    ["-M", "p", "--cores", "4", "--memory=8G", "--disk", "2000", "--gpus", "1", "--wall-time", "1h30m"],
    ["--cores=2", "-p", "--partition 'a b' --qos=x", "login1", "-t", "5m", "9123", "-E--ssl", "2", "--", "--comment", "it's $HOME;"],
    ["-j", "-E", "--feature 'big mem'", "--worker-start-cmd", "module load x\nexport A='b c'", "--password", "secret", "login1", "9123"],
    ["-M", "p", "--wall-time", "1-02:00:00", "--scratch-dir", "it's 100% \"mine\""],
    ["-M", "p", "--wall-time=90"],
]

UGE = [
    ["login1", "9123"],
    ["--cores", "4", "-p", "-pe smp 4", "login1", "9123"],
    ["--cores", "4", "--memory", "8G", "--wall-time", "1h", "-M", "p", "10", "--", "-l", "h_vmem=2G", "-ac", "why=it's $HOME"],
]
SITE = "-pe mpi $cores -l mem_free=${memory}M -l mf=$memory\n"

REFUSED = [
    [], ["login1"], ["login1", "port"], ["login1", "70000"], ["localhost", "9123"], ["login1", "9123", "0"], ["login1", "9123", "-1"],
    ["login1", "9123", "1000000"], ["login1", "9123", "1", "2"], ["-M", "p", "ten"], ["--bogus", "login1", "9123"], ["-M"],
    ["--ssl=yes", "login1", "9123"], ["--cores", "-2", "login1", "9123"], ["--memory", "8Q", "login1", "9123"],
    ["--wall-time", "soon", "login1", "9123"], ["--contact", "nowhere"], ["--contact", "open"], ["--password", "open", "login1", "9123"],
    ["-E", "--ssl\nrm -r x", "login1", "9123"], ["--worker-binary", "nowhere", "login1", "9123"], ["--scratch-dir", "contact/x", "login1", "9123"],
]


class SubmitWorkers(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="submit workers ")
        self.addCleanup(self.folder.cleanup)
        self.here = pathlib.Path(self.folder.name).resolve()
        self.bin = self.here / "bin"
        self.bin.mkdir()
        self.calls = self.here / "calls"
        for name, mode in (("contact", 0o600), ("secret", 0o600), ("open", 0o644)):
            (self.here / name).write_text("x\n")
            (self.here / name).chmod(mode)
        self.program("work_queue_worker", "exit 0")

    def program(self, name, text):
        (self.bin / name).write_text(f"#!/bin/sh\n{text}\n")
        (self.bin / name).chmod(0o755)

    def system(self, name, says):
        """The command notes its words, then does that."""
        self.program(name, f'printf "%s\\0" {name} "$@" end >> "{self.calls}"\n{says}')

    def called(self):
        if not self.calls.exists():
            return []
        words = self.calls.read_text().split("\0")[:-1]
        calls, call = [], []
        for word in words:
            if word == "end":
                calls.append(call)
                call = []
            else:
                call.append(word)
        return calls

    def submit(self, system, *words):
        command = CHECKOUT / "scripts" / system / f"{system}_submit_workers"
        return subprocess.run(["dash", command, *words], cwd=self.here, capture_output=True, text=True, check=False,
                              stdin=subprocess.DEVNULL, env={"PATH": f"{self.bin}:/usr/bin:/bin", "USER": "me", "HOME": str(self.here / "home")})

    def check(self, name, text):
        path = GOLDEN / name
        text = text.replace(str(self.here), "HERE")
        if os.environ.get("UPDATE"):
            path.write_text(text)
        wanted = path.read_text()
        self.assertEqual(wanted, text, "\n" + "".join(difflib.unified_diff(wanted.splitlines(True), text.splitlines(True), str(path), "now")))

    def shown(self, system, requests):
        text = ""
        for words in requests:
            shown = self.submit(system, "--dry-run", *words)
            self.assertEqual((shown.returncode, shown.stderr), (0, ""), words)
            text += f"$ {system}_submit_workers {' '.join(words)!r}\n{shown.stdout}\n"
        self.assertEqual(list(self.here.glob("*-workers")), [], "a dry run writes nothing")
        return text

    def test_what_is_submitted_to_slurm(self):
        self.check("slurm.txt", self.shown("slurm", SLURM))

    def test_what_is_submitted_to_grid_engine(self):
        text = self.shown("uge", UGE)
        settings = self.here / "home/.config/work_queue"
        settings.mkdir(parents=True)
        (settings / "uge_parameters").write_text(SITE)
        text += "with the parameters of a site: " + SITE + self.shown("uge", UGE[2:])
        self.check("uge.txt", text)

    def test_help(self):
        self.check("slurm_help.txt", self.submit("slurm", "--help").stdout)

    def test_what_is_refused(self):
        self.system("sbatch", "echo 1")
        text = ""
        for words in REFUSED:
            said = self.submit("slurm", *words)
            errors = [line for line in said.stderr.splitlines() if "warning: other nodes" not in line]
            self.assertEqual((len(errors), said.stdout), (1, ""), (words, said))
            text += f"$ slurm_submit_workers {' '.join(words)!r}\n{errors[0]}\n[{said.returncode}]\n"
        self.check("refused.txt", text)
        self.assertEqual(self.called(), [])

    def test_one_call_whatever_the_number(self):
        self.system("sbatch", "echo 77")
        said = self.submit("slurm", "--scratch-dir", "s c", "--json", "login1", "9123", "500")
        self.assertEqual(said.returncode, 0, said)
        result = json.loads(said.stdout)
        self.assertEqual(result["ids"], [f"77_{number}" for number in range(1, 501)])
        calls = self.called()
        self.assertEqual(len(calls), 1)
        script = pathlib.Path(calls[0][-1])
        self.assertEqual(script.parent, self.here / "s c")
        self.assertEqual(result["log"], str(script))
        self.assertEqual(sorted(path.name for path in script.parent.iterdir()), sorted([script.name, "work_queue_worker"]))

    def test_the_job_says_where_it_is_and_becomes_the_worker(self):
        self.system("sbatch", "echo 77")
        self.program("work_queue_worker", 'for word in "$@"; do printf "<%s>" "$word"; done; echo')
        said = self.submit("slurm", "--scratch-dir", "s'c", "--feature", "it's \"b\" $HOME\nx", "-E", "--os 'a  b'", "login1", "9123", "--",
                           "--comment", "a'b\nc")
        self.assertEqual(said.returncode, 0, said)
        call = self.called()[0]
        self.assertEqual(call[-3:-1], ["--comment", "a'b\nc"])
        ran = subprocess.run(["dash", call[-1]], capture_output=True, text=True, check=True)
        words = "<--feature><it's \"b\" $HOME\nx><login1><9123><--os><a  b>"
        self.assertIn("a worker starts on", ran.stdout.splitlines()[0])
        self.assertTrue(ran.stdout.endswith(f"{words}<--detect>\n{words}\n"), ran.stdout)

    def test_a_banner_before_the_id(self):
        self.system("sbatch", 'echo "Welcome to cluster 9!"; echo 2024; echo "77;cluster"; echo "have a nice day"')
        said = self.submit("slurm", "--json", "login1", "9123")
        self.assertEqual(json.loads(said.stdout)["ids"], ["77"])

    def test_a_refusal_leaves_nothing(self):
        self.system("sbatch", 'echo "sbatch: error: invalid partition specified: fast" >&2; exit 1')
        self.system("squeue", "exit 0")
        said = self.submit("slurm", "--scratch-dir", "s", "login1", "9123", "3")
        self.assertEqual(said.returncode, 69)
        self.assertIn("nothing was submitted: sbatch: error: invalid partition specified: fast", said.stderr)
        self.assertEqual([path.name for path in (self.here / "s").iterdir()], ["work_queue_worker"])

    def test_an_answer_without_an_id(self):
        self.system("sbatch", "echo hello")
        self.system("squeue", "exit 0")
        said = self.submit("slurm", "--scratch-dir", "s", "login1", "9123")
        self.assertEqual(said.returncode, 69)
        self.assertIn("nothing was submitted: sbatch named no job: hello", said.stderr)

    def test_a_timeout_of_a_submission_that_came_through(self):
        self.system("sbatch", f'for word in "$@"; do last=$word; done; echo "$last" > "{self.here}/script"; '
                              'echo "sbatch: error: Batch job submission failed: Socket timed out" >&2; exit 1')
        self.system("squeue", f'echo "76 /elsewhere"; echo "77 $(cat "{self.here}/script")"')
        said = self.submit("slurm", "--json", "login1", "9123", "2")
        self.assertEqual(said.returncode, 0, said)
        self.assertEqual(json.loads(said.stdout)["ids"], ["77_1", "77_2"])

    def test_grid_engine_numbers_and_states(self):
        self.system("qsub", "echo 77.1-3:1")
        said = self.submit("uge", "--json", "login1", "9123", "3")
        self.assertEqual(json.loads(said.stdout)["ids"], ["77.1", "77.2", "77.3"])
        self.system("qstat", """cat <<END
job-ID  prior   name       user         state submit/start at     queue                          slots ja-task-ID
-----------------------------------------------------------------------------------------------------------------
     77 0.55500 wqWorker   me           r     11/25/2026 14:00:01 all.q@node1                        2 1
     77 0.55500 wqWorker   me           qw    11/25/2026 14:00:01                                    2 2
     77 0.55500 wqWorker   me           Eqw   11/25/2026 14:00:01                                    2 3
     78 0.55500 wqWorker   me           r     11/25/2026 14:00:01 all.q@node1                        2
     79 0.55500 wqWorker   me           hqw   11/25/2026 14:00:01                                    2
END""")
        said = subprocess.run([CHECKOUT / "scripts/uge/driver", "status", "77.1", "77.2", "77.3", "78", "79", "80"], capture_output=True,
                              text=True, check=True, env={"PATH": f"{self.bin}:/usr/bin:/bin"})
        self.assertEqual(sorted(said.stdout.splitlines()), [
            "77.1 running", "77.2 pending qw", "77.3 ended Eqw", "78 running", "79 pending hqw", "80 unknown"])

    def test_status_in_one_call(self):
        self.system("squeue", 'echo "77_1 RUNNING None"; echo "77_2 PENDING Priority"; echo "77_3 COMPLETED None"; '
                              'echo "77_4 NODE_FAIL None"; echo "12 RUNNING None"')
        driver = CHECKOUT / "scripts/slurm/driver"
        said = subprocess.run([driver, "status", "77_1", "77_2", "77_3", "77_4", "78"], capture_output=True, text=True, check=True,
                              env={"PATH": f"{self.bin}:/usr/bin:/bin"})
        self.assertEqual(sorted(said.stdout.splitlines()), [
            "77_1 running", "77_2 pending Priority", "77_3 ended COMPLETED", "77_4 ended NODE_FAIL", "78 unknown"])
        self.assertEqual(len(self.called()), 1)


if __name__ == "__main__":
    unittest.main()
