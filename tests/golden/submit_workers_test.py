#!/usr/bin/env python3
"""What *_submit_workers give to their batch systems, and what they refuse. Usage: submit_workers_test.py CHECKOUT.

UPDATE=1 rewrites the files of tests/golden/batch, for review before a commit."""

import json
import os
import pathlib
import re
import subprocess
import sys
import unittest

from fake_batch import OURS, FakeBatch

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
    ["--project-name", "p", "--catalog", "login1:9097,login2", "2"],
    ["-M", "p", "--wrapper", "nice -n 5", "--job-name", "wqWorker-a1b2c3", "2"],
    ["-M", "p", "--memory", "010G", "--cores=08", "--wall-time", "08", "--coprocess", "contact", "--coprocess-cores=2", "09"],
]

UGE = [
    ["login1", "9123"],
    ["--cores", "4", "-p", "-pe smp 4", "login1", "9123"],
    ["--cores", "4", "--memory", "8G", "--wall-time", "1h", "-M", "p", "10", "--", "-l", "h_vmem=2G", "-ac", "why=it's $HOME"],
]
SITE = "-pe mpi $cores -l mem_free=${memory}M -l mf=$memory\n"

QSUB = [
    ["login1", "9123"],
    ["--contact", "contact", "10"],
    ["-M", "p", "--cores", "4", "--memory=8G", "--disk", "2000", "--gpus", "1", "--wall-time", "1h30m"],
    ["-j", "-p", "-q 'a b'", "--wall-time=90", "login1", "9123", "2", "--", "-v", "WHY=it's $HOME;"],
    ["-M", "p", "--wall-time", "1-02:00:00", "--scratch-dir", "it's 100% \"mine\" $HOME"],
]

CONDOR = [
    ["login1", "9123"],
    ["--contact", "contact", "--password", "secret", "10"],
    ["-M", "p", "--cores", "4", "--memory=8G", "--disk", "2000", "--gpus", "1", "--wall-time", "1h30m"],
    ["-M", "p", "--autosize"],
    ["-M", "p", "--autosize", "--memory", "8G", "--disk", "20G"],
    ["-r", 'Arch == "X86_64"', "--requirements=Memory > 1000 || it's $HOME", "--class-ad", '+Project = "it\'s $HOME"', "--class-ad", "rank = Memory",
     "--docker-universe", "debian:12", "--spool", "--scratch-dir", "/home/me/w", "-E", "--feature 'big mem'",
     "login1", "9123", "3", "--", "-name", "it's $HOME;"],
    ["-M", "p", "--scratch-dir", "it's 100% \"mine\" $(HOME)"],
    ["-a", "-t", "3600", "-N", "Project_A", "--advertise", "10"],
    ["--advertise", "-M", "p", "-C", "login1:9097"],
]

CONDOR_REFUSED = [
    ["-M", "p", "--scratch-dir", "c,d"], ["-M", "p", "--scratch-dir", "a\nb"], ["-M", "p", "--scratch-dir", "a$$b"], ["-M", "p", "--scratch-dir", "a\\"],
    ["-M", "p", "--spool", "--scratch-dir", "a b"],
    ["--contact", "contact", "--password", "other/contact"], ["--contact", "a,b"], ["-M", "p", "--class-ad", "a\nqueue 100"],
    ["-r"], ["-M", "p", "--autosize=yes"], ["localhost", "9123"],
]

REFUSED = [
    [], ["login1"], ["login1", "port"], ["login1", "70000"], ["localhost", "9123"], ["login1", "9123", "0"], ["login1", "9123", "-1"],
    ["login1", "9123", "1000000"], ["login1", "9123", "1", "2"], ["-M", "p", "ten"], ["--bogus", "login1", "9123"], ["--core=4", "login1", "9123"], ["-M"],
    ["--ssl=yes", "login1", "9123"], ["--cores", "-2", "login1", "9123"], ["--memory", "8Q", "login1", "9123"],
    ["--wall-time", "soon", "login1", "9123"], ["--contact", "nowhere"], ["--contact", "open"], ["--password", "writable", "login1", "9123"],
    ["--wall-time", "99999999d", "login1", "9123"], ["--worker-binary", "bin", "login1", "9123"], ["--b\x1b[2J\tus", "-M", "p"],
    ["-E", "--ssl\nrm -r x", "login1", "9123"], ["-p", "--qos x\nrm -r x", "login1", "9123"],
    ["--worker-binary", "nowhere", "login1", "9123"], ["--scratch-dir", "contact/x", "login1", "9123"],
    ["--job-name", "a name", "login1", "9123"], ["--job-name", "longer-than-qsub", "login1", "9123"], ["--job-name", "", "-M", "p"],
]


class SubmitWorkers(FakeBatch):
    checkout = CHECKOUT

    def test_what_is_submitted_to_slurm(self):
        self.check("slurm.txt", self.shown("slurm", SLURM))

    def test_what_is_submitted_to_grid_engine(self):
        text = self.shown("uge", UGE)
        settings = self.here / "home/.config/work_queue"
        settings.mkdir(parents=True)
        (settings / "uge_parameters").write_text(SITE)
        text += "with the parameters of a site: " + SITE + self.shown("uge", UGE[2:])
        self.check("uge.txt", text)

    def test_what_is_submitted_by_qsub(self):
        for system in ("pbs", "torque"):
            self.check(f"{system}.txt", self.shown(system, QSUB))

    def test_what_is_submitted_to_htcondor(self):
        self.check("condor.txt", self.shown("condor", CONDOR))

    def test_help(self):
        for system in ("slurm", "condor"):
            self.check(f"{system}_help.txt", self.submit(system, "--help").stdout)

    def test_version(self):
        release = re.search(r"^project\(work_queue VERSION (\S+)", (CHECKOUT / "CMakeLists.txt").read_text(), re.M).group(1)
        for system in ("slurm", "condor", "pbs", "torque", "uge"):
            said = self.submit(system, "--version")
            self.assertEqual((said.stdout, said.returncode), (f"{system}_submit_workers {release}\n", 0), said)

    def refused(self, system, requests):
        text = ""
        for words in requests:
            said = self.submit(system, *words)
            errors = self.errors(said)
            self.assertEqual((len(errors), said.stdout), (1, ""), (words, said))
            text += f"$ {system}_submit_workers {' '.join(words)!r}\n{errors[0]}\n[{said.returncode}]\n"
        self.assertEqual(self.called(), [], "the system is not called")
        return text

    def test_what_is_refused(self):
        self.system("sbatch", "echo 1")
        (self.here / "writable").write_text("x\n")
        (self.here / "writable").chmod(0o646)
        self.check("refused.txt", self.refused("slurm", REFUSED))

    def test_what_htcondor_could_not_take(self):
        self.system("condor_submit", "echo 1.0 - 1.0")
        self.system("condor_q", "echo called")
        (self.here / "other").mkdir()
        for name in ("other/contact", "a,b"):
            (self.here / name).write_text("x\n")
            (self.here / name).chmod(0o600)
        self.check("condor_refused.txt", self.refused("condor", CONDOR_REFUSED))
        self.assertEqual(list(self.here.glob("*/worker-*")), [], "no script is left")

    def test_what_others_may_read_is_taken_as_a_password_with_a_warning(self):
        self.system("sbatch", "echo 77")
        said = self.submit("slurm", "-P", "open", "login1", "9123")
        self.assertEqual((said.returncode, "warning: -P open: others may read it" in said.stderr), (0, True), said)

    def test_the_lines_of_the_batch_systems_are_on_stdout_and_ours_on_stderr(self):
        for system, command, answer, count, lines in (
                ("slurm", "sbatch", "77", 3, "Submitted batch job 77\n"),
                ("pbs", "qsub", "13[].server", 3, "13[].server\n"),
                ("torque", "qsub", "13.server", 1, "13.server\n"),
                ("uge", "qsub", "153097", 1, 'Your job 153097 ("NAME") has been submitted\n'),
                ("uge", "qsub", "12.1-10:1", 10, 'Your job-array 12.1-10:1 ("NAME") has been submitted\n'),
                ("condor", "condor_submit", "298.0 - 298.9", 10, "Submitting job(s)..........\n10 job(s) submitted to cluster 298.\n")):
            self.system(command, f"echo '{answer}'")
            said = self.submit(system, "login1", "9123", str(count))
            self.assertEqual((said.returncode, re.sub(r"worker-\w{6}", "NAME", said.stdout)), (0, lines), said)
            self.assertRegex(self.errors(said)[0], f"^{system}_submit_workers: {count} workers? submitted .*logs: ")

    def test_a_worker_of_cctools_in_path_is_passed_over(self):
        self.system("sbatch", "echo 77")
        self.program("work_queue_worker", 'echo "work_queue_worker version 9.9.0"')
        said = self.submit("slurm", "login1", "9123")
        self.assertEqual((said.returncode, "no work_queue_worker of this project" in said.stderr, self.called()), (69, True, []), said)
        (self.here / "ours too").mkdir()
        self.program("../ours too/work_queue_worker", OURS)
        said = self.submit("slurm", "login1", "9123", PATH=f"{self.bin}:{self.here}/ours too:/usr/bin:/bin")
        self.assertEqual(said.returncode, 0, said)
        self.assertIn("1.2.3", (self.here / "me-workers/work_queue_worker").read_text())

    def test_help_that_cannot_be_written(self):
        command = f"{CHECKOUT}/scripts/slurm/slurm_submit_workers"
        for option in ("--help", "--version"):
            said = self.run_in(["dash", "-c", f'dash "{command}" {option} >/dev/full'])
            self.assertEqual((said.returncode, said.stderr.count("\n")), (71, 1), said)

    def test_a_contact_file_of_a_run_that_has_ended(self):
        self.system("sbatch", "echo 77")
        run = self.here / "run"
        run.mkdir()
        contact, status = run / "contact", run / "status"
        contact.write_text('{\n  "host": "elsewhere",\n  "pid": 1\n}\n')
        contact.chmod(0o600)
        status.write_text("state=interrupted\nexit_code=75\n")
        os.utime(contact, (1000, 1000))
        said = self.submit("slurm", "--contact", "run/contact", "2")
        self.assertEqual((said.returncode, self.called()), (65, []))
        self.assertEqual(said.stderr, f"slurm_submit_workers: --contact {contact}: its run has ended (interrupted); give the contact file "
                                      "of one that is running\n")
        # A run that is continued writes a new one, and the status a moment later.
        os.utime(status, (500, 500))
        self.assertEqual(self.submit("slurm", "--contact", "run/contact", "2").returncode, 0)
        status.write_text("state=running\nexit_code=\n")
        self.assertEqual(self.submit("slurm", "--contact", "run/contact", "2").returncode, 0)

    def test_a_contact_file_of_a_manager_that_was_killed(self):
        self.system("sbatch", "echo 77")
        gone = subprocess.Popen(["true"])
        gone.wait()
        for process, warns in ((gone.pid, True), (os.getpid(), False)):
            (self.here / "contact").write_text(f'{{\n  "host": "{os.uname().nodename}",\n  "pid": {process},\n  "port": 9\n}}\n')
            said = self.submit("slurm", "--contact", "contact", "--scratch-dir", "s")
            self.assertEqual(said.returncode, 0, said)
            self.assertEqual(f"its manager (process {process} on this host) is not running" in said.stderr, warns, said)

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
        self.program("work_queue_worker", OURS + '\n[ "$*" != --version ] || exit\nfor word in "$@"; do printf "<%s>" "$word"; done; echo')
        said = self.submit("slurm", "--scratch-dir", "s'c", "--feature", "it's \"b\" $HOME\nx", "-E", "--os 'a  b'", "login1", "9123", "--",
                           "--comment", "a'b\nc")
        self.assertEqual(said.returncode, 0, said)
        call = self.called()[0]
        self.assertEqual(call[-3:-1], ["--comment", "a'b\nc"])
        ran = subprocess.run(["dash", call[-1]], capture_output=True, text=True, check=True)
        words = "<--feature><it's \"b\" $HOME\nx><login1><9123><--os><a  b>"
        self.assertIn("a worker starts on", ran.stdout.splitlines()[0])
        self.assertTrue(ran.stdout.endswith(f"{words}<--detect>\n{words}\n"), ran.stdout)

    def test_the_job_has_the_settings_of_mpi(self):
        self.system("sbatch", "echo 77")
        self.program("work_queue_worker", OURS + '\nenv | grep -E "^(OMPI|UCX)"')
        said = self.submit("slurm", "login1", "9123", OMPI_MCA_btl="it's $HOME", OMPI_COMM_WORLD_RANK="1", UCX_TLS="tcp,self",
                           NOTES="two lines:\nUCX_NOTES=none")
        self.assertEqual((said.returncode, "not set" in said.stderr), (0, False), said)
        ran = subprocess.run(["dash", self.called()[0][-1]], capture_output=True, text=True, check=True, env={"PATH": "/usr/bin:/bin"})
        self.assertEqual(sorted(ran.stdout.splitlines()[-2:]), ["OMPI_MCA_btl=it's $HOME", "UCX_TLS=tcp,self"])

    def test_the_worker_asks_the_catalog_servers_of_the_environment(self):
        """Jobs of most systems have not our environment. An option of the worker goes first there as here."""
        self.system("sbatch", "echo 77")
        self.program("work_queue_worker", OURS + '\nenv | grep ^CATALOG')
        said = self.submit("slurm", "-M", "p", CATALOG_HOST="a:1,b", CATALOG_PORT="9100")
        self.assertEqual(said.returncode, 0, said)
        ran = subprocess.run(["dash", self.called()[0][-1]], capture_output=True, text=True, check=True, env={"PATH": "/usr/bin:/bin"})
        self.assertEqual(sorted(ran.stdout.splitlines()[-2:]), ["CATALOG_HOST=a:1,b", "CATALOG_PORT=9100"])

    def test_commands_of_slurm_without_a_cluster(self):
        """Debian's sbatch where no slurm.conf is: nobody was asked, so there is no job. If only squeue says so, there may be one."""
        fails = 'echo "$0: fatal: Could not establish a configuration source" >&2; exit 1'
        self.system("squeue", fails)
        for says, code, end in ((fails, 69, "sbatch is not configured here: run this where jobs are submitted\n"),
                                ("echo 'Socket timed out' >&2; exit 1", 75, ""),
                                ("echo 'Could not establish a configuration source' >&2; echo no id", 75, "")):
            self.system("sbatch", says)
            said = self.submit("slurm", "login1", "9123")
            self.assertEqual(said.returncode, code, said)
            self.assertTrue(said.stderr.endswith(end), said.stderr)
        said = self.driver("slurm", "find", WORKERS_SCRIPT="/here/worker-Ab12cd")
        self.assertEqual((said.returncode, said.stdout), (1, ""))
        self.assertIn("Could not establish a configuration source", said.stderr)
        self.system("squeue", "exec tail -f /dev/null")
        said = self.driver("slurm", "find", WORKERS_SCRIPT="/here/worker-Ab12cd", WORKERS_PATIENCE="0.3")
        self.assertEqual((said.returncode, said.stderr), (124, "squeue did not answer within 0.3 s\n"))

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


if __name__ == "__main__":
    unittest.main()
