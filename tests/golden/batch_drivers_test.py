#!/usr/bin/env python3
"""What the drivers of batch systems make of the answers: ids, states, refusals, silence. Usage: batch_drivers_test.py
CHECKOUT."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import unittest

from fake_batch import OURS, FakeBatch

CHECKOUT = pathlib.Path(sys.argv.pop(1)).resolve()
HANGS = "exec tail -f /dev/null"

QSTAT = """\
Job Id: 13[].server
    Job_Name = worker-Ab12cd
    job_state = B

Job Id: 13[1].server
    job_state = R
    Variable_List = PBS_O_HOME=/home/me,PBS_O_LANG=C,
\tPBS_O_WORKDIR=/home/me
Job Id: 13[2].server
    job_state = Q
Job Id: 13[3].server
    job_state = X
    Exit_status = 0
Job Id: 14.server
    job_state = F
    Exit_status = 271
Job Id: 15.server
    job_state = E
Job Id: 16.server
    job_state = H
Job Id: 17.server
    job_state = C
    exit_status = 69
Job Id: 18.server
    job_state = F
"""


class BatchDrivers(FakeBatch):
    checkout = CHECKOUT

    def ids(self, system, count):
        said = self.submit(system, "--scratch-dir", "s", "--json", "login1", "9123", str(count))
        self.assertEqual(said.returncode, 0, said)
        return json.loads(said.stdout)["ids"]

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
     80 0.55500 wqWorker   me           S     11/25/2026 14:00:01 all.q@node1                        4
     81 0.55500 wqWorker   me           dr    11/25/2026 14:00:01 all.q@node1                        1
END""")
        self.assertEqual(self.states("uge", "77.1", "77.2", "77.3", "78", "79", "80", "81"), [
            "77.1 running", "77.2 pending qw", "77.3 stuck Eqw", "78 running", "79 pending hqw", "80 running", "81 running"])

    def find(self, system, count, **environment):
        return self.driver(system, "find", WORKERS_SCRIPT="/here/worker-Ab12cd", WORKERS_COUNT=str(count), **environment)

    def test_find(self):
        for system, program, there, ids in (
                ("slurm", "squeue", 'echo "12 /here/other"; echo "77 /here/worker-Ab12cd"', ["77_1", "77_2"]),
                ("condor", "condor_q", 'echo "77 0"; echo "77 1"', ["77.0", "77.1"]),
                ("pbs", "qselect", "echo '77[].server'", ["77[1].server", "77[2].server"]),
                ("torque", "qselect", "echo '77[].server'", ["77[1].server", "77[2].server"]),
                ("uge", "qstat", """cat <<END
job-ID  prior   name       user         state submit/start at     queue                          slots ja-task-ID
-----------------------------------------------------------------------------------------------------------------
     12 0.55500 worker-Zz  me           r     11/25/2026 14:00:01 all.q@node1                        2
       Full jobname:     worker-Zz
     77 0.55500 worker-Ab1 me           qw    11/25/2026 14:00:01                                    2 1,2
       Full jobname:     worker-Ab12cd
       Hard Resources:   h_rt=60
END""", ["77.1", "77.2"])):
            self.system(program, there)
            said = self.find(system, 2)
            self.assertEqual((said.returncode, said.stdout.split()), (0, ids), (system, said))
            said = self.find(system, 1)
            self.assertEqual(said.returncode, 0, said)
            self.assertEqual(len(said.stdout.split()), 1, (system, said))
            self.system(program, "exit 0")
            self.assertEqual((self.find(system, 2).returncode, self.find(system, 2).stdout.split()), (0, []), system)
            # Whoever is not told must not submit again.
            self.system(program, "echo 'Unable to contact the controller' >&2; exit 1")
            said = self.find(system, 2)
            self.assertNotEqual(said.returncode, 0, system)
            self.assertEqual(said.stdout, "", system)

    def test_lsf(self):
        request = {"WORKERS_SCRIPT": "/here/worker-Ab12cd", "WORKERS_LOG": "/here/worker-Ab12cd", "WORKERS_COUNT": "3", "WORKERS_CORES": "4",
                   "WORKERS_MEMORY": "8000", "WORKERS_GPUS": "1", "WORKERS_SECONDS": "5400"}
        self.assertEqual(self.driver("lsf", "render", "-p", "-q fast", "--", "-P", "a b", **request).stdout.strip(),
                         "bsub -J 'worker-Ab12cd[1-3]' -o '/here/worker-Ab12cd.%J[%I].log' -n 4 -R 'span[hosts=1]' -M 8000MB "
                         "-R 'rusage[mem=8000MB]' -gpu num=1 -W 90 -q fast -P 'a b' /here/worker-Ab12cd")
        self.system("bsub", "echo 'Welcome'; echo 'Job <77> is submitted to default queue <normal>.'")
        self.assertEqual(self.driver("lsf", "submit", **request).stdout.split(), ["77[1]", "77[2]", "77[3]"])
        self.assertEqual(self.driver("lsf", "submit", **{**request, "WORKERS_COUNT": "1"}).stdout.split(), ["77"])
        self.system("bjobs", 'echo "77 1 RUN -"; echo "77 2 PEND -"; echo "77 3 EXIT 3"; echo "78 0 DONE -"')
        self.assertEqual(self.states("lsf", "77[1]", "77[2]", "77[3]", "78", "79"), [
            "77[1] running", "77[2] pending PEND", "77[3] ended exit 3", "78 ended exit 0", "79 unknown"])
        self.system("bjobs", 'echo "12 other"; echo "77 worker-Ab12cd[2]"')
        self.assertEqual(self.find("lsf", 2).stdout.split(), ["77[1]", "77[2]"])
        self.system("bjobs", "echo 'No unfinished job found' >&2; exit 255")
        self.assertEqual((self.find("lsf", 2).returncode, self.find("lsf", 2).stdout.split()), (0, []))
        self.system("bjobs", "echo 'LSF is down. Please wait ...' >&2; exit 255")
        self.assertNotEqual(self.find("lsf", 2).returncode, 0)

    def test_a_dry_run_of_all(self):
        request = {"WORKERS_SCRIPT": "/here/worker-Ab12cd", "WORKERS_COUNT": "2"}
        ids = self.driver("dryrun", "submit", **request).stdout.split()
        self.assertEqual(ids, ["worker-Ab12cd-1", "worker-Ab12cd-2"])
        self.assertEqual(self.states("dryrun", *ids), [f"{job} pending" for job in ids])
        self.assertEqual(self.driver("dryrun", "find", **request).stdout.split(), [])

    def test_processes_as_jobs(self):
        script = self.here / "it's a worker"
        script.write_text('#!/bin/sh\necho "$WORK_QUEUE_JOB $0" >"$0.$WORK_QUEUE_JOB"\nexec tail -f /dev/null\n')
        script.chmod(0o755)
        request = {"WORKERS_SCRIPT": str(script), "WORKERS_LOG": str(script), "WORKERS_COUNT": "2"}
        said = self.driver("local", "submit", **request)
        ids = said.stdout.split()
        try:
            self.assertEqual((said.returncode, len(ids)), (0, 2), said)
            while len(list(self.here.glob("it's a worker.*.log"))) < 2 or not all((self.here / f"it's a worker.{job}").exists() for job in ids):
                os.sched_yield()
            self.assertEqual(self.states("local", *ids, "1.1"), sorted([f"{job} running" for job in ids] + ["1.1 ended"]))
            self.assertEqual(sorted(self.driver("local", "find", **request).stdout.split()), sorted(ids))
            self.driver("local", "remove", ids[0], "1.1")
            while self.states("local", ids[0]) == [f"{ids[0]} running"]:
                os.sched_yield()
            self.assertEqual(self.driver("local", "find", **request).stdout.split(), [ids[1]])
            reused = ids[1].split(".")[0] + ".1"
            self.driver("local", "remove", reused)
            self.assertEqual(self.states("local", ids[1], reused), sorted([f"{ids[1]} running", f"{reused} ended"]))
        finally:
            self.driver("local", "remove", *ids)

    def test_status_in_one_call(self):
        self.system("squeue", 'echo "77_1 RUNNING None"; echo "77_2 PENDING Priority"; echo "77_3 COMPLETED None"; '
                              'echo "77_4 NODE_FAIL None"; echo "12 RUNNING None"')
        self.assertEqual(self.states("slurm", "77_1", "77_2", "77_3", "77_4", "78"), [
            "77_1 running", "77_2 pending Priority", "77_3 ended COMPLETED", "77_4 ended NODE_FAIL", "78 unknown"])
        self.assertEqual(len(self.called()), 1)

    def test_ids_of_pbs(self):
        for system, option in (("pbs", "-J"), ("torque", "-t")):
            self.system("qsub", "echo 2024; echo 13.head.cluster")
            self.assertEqual(self.ids(system, 1), ["13.head.cluster"])
            self.system("qsub", "echo Welcome; echo '13[].head.cluster'")
            self.assertEqual(self.ids(system, 3), ["13[1].head.cluster", "13[2].head.cluster", "13[3].head.cluster"])
            self.assertIn(option, self.called()[-1])
            self.assertEqual(self.called()[-1].count("-l"), 1, "Slurm's qsub heeds the last only")
        self.assertEqual(len(self.called()), 4)

    def test_states_of_pbs(self):
        self.system("qstat", f"cat <<'END'\n{QSTAT}END\nexit 153")
        ids = ["13[1].server", "13[2].server", "13[3].server", "14.server", "15.server", "16.server", "17.server", "18.server", "19.server"]
        for system, options in (("pbs", ["-f", "-t", "-x"]), ("torque", ["-f", "-t"])):
            self.assertEqual(self.states(system, *ids), [
                "13[1].server running", "13[2].server pending Q", "13[3].server ended exit 0", "14.server ended exit 271", "15.server running",
                "16.server pending H", "17.server ended exit 69", "18.server ended F", "19.server unknown"])
            arrays = ["13[].server"] + ids[3:]
            self.assertEqual(self.called()[-1], ["qstat", *options, *arrays])
        self.assertEqual(len(self.called()), 2)

    def test_a_pbs_that_keeps_no_history(self):
        self.system("qstat", 'case "$*" in *-x*) echo "qstat: PBS is not configured to maintain job history" >&2; exit 36 ;; esac\n'
                             "echo 'Job Id: 14.server'; echo '    job_state = R'; exit 153")
        self.assertEqual(self.states("pbs", "14.server", "15.server"), ["14.server running", "15.server unknown"])

    def test_removal_from_pbs(self):
        self.system("qdel", "exit 0")
        for system in ("pbs", "torque"):
            self.assertEqual(self.driver(system, "remove", "13[2].server", "14.server").returncode, 0)
        self.assertEqual(self.called(), [["qdel", "13[2].server", "14.server"]] * 2)

    def test_a_qsub_of_slurm(self):
        """Its ids are Slurm's, so Slurm is asked, and a task is removed without the rest of its array."""
        for name in ("qstat", "qdel"):
            self.system(name, "exit 1")
        self.system("scancel", "exit 0")
        self.system("squeue", 'echo "51_1 RUNNING None"; echo "51_2 PENDING Priority"')
        for system in ("pbs", "torque"):
            self.system("qsub", "echo 'option -S is ignored' >&2; echo 51")
            self.assertEqual(self.ids(system, 2), ["51_1", "51_2"])
            self.assertEqual(self.ids(system, 1), ["51"])
            self.assertEqual(self.states(system, "51_1", "51_2", "52"), ["51_1 running", "51_2 pending Priority", "52 unknown"])
            self.assertEqual(self.driver(system, "remove", "51_2").returncode, 0)
            self.assertEqual(self.called()[-1], ["scancel", "51_2"])
        self.assertEqual([call for call in self.called() if call[0] in ("qstat", "qdel")], [])

    def test_a_job_of_pbs_writes_its_own_log(self):
        """In $HOME, under a number that only the job knows."""
        self.system("qsub", "echo '13[].server'")
        self.program("work_queue_worker", OURS + "\necho works")
        said = self.submit("pbs", "--scratch-dir", "it's $HOME", "login1", "9123", "2")
        self.assertEqual(said.returncode, 0, said)
        script = self.called()[0][-1]
        (self.here / "home").mkdir()
        for variables, name in (({"PBS_JOBID": "13[2].server.domain"}, "13[2]"), ({"SLURM_JOB_ID": "52"}, "52")):
            said = self.run_in(["sh", "-c", 'cd "$HOME" && exec sh "$0"', script], **variables)
            self.assertEqual((said.returncode, said.stdout), (0, ""), said)
            self.assertTrue(pathlib.Path(f"{script}.{name}.log").read_text().endswith("works\nworks\n"))

    def test_ids_of_htcondor(self):
        self.system("condor_submit", f"cat > '{self.here}/description'; echo '12.0 - 12.2'")
        self.assertEqual(self.ids("condor", 3), ["12.0", "12.1", "12.2"])
        self.assertIn("\nqueue 3\n", (self.here / "description").read_text())
        self.system("condor_submit", "echo '13.0 - 13.0'")
        self.assertEqual(self.ids("condor", 1), ["13.0"])
        self.assertEqual(len(self.called()), 2)

    def test_a_job_of_htcondor_needs_no_folder(self):
        """It runs with what was sent, and with the slot's size as arguments."""
        self.system("condor_submit", f"cat > '{self.here}/description'; echo '12.0 - 12.0'")
        self.program("work_queue_worker", OURS + '\n[ "$*" != --version ] || exit\n'
                     'for word in "$@"; do printf "<%s>" "$word"; done; cat ./secret; env | grep -c "^PATH="')
        self.assertEqual(self.submit("condor", "--scratch-dir", "s", "--password", "secret", "login1", "9123").returncode, 0)
        lines = dict(line.split(" = ", 1) for line in (self.here / "description").read_text().splitlines() if " = " in line)
        node = self.here / "node"
        node.mkdir()
        for path in lines["transfer_input_files"].split(", ") + [lines["executable"]]:
            (node / pathlib.Path(path).name).write_bytes(pathlib.Path(path).read_bytes())
            (node / pathlib.Path(path).name).chmod(pathlib.Path(path).stat().st_mode)
        for path in (self.here / "s").iterdir():
            path.unlink()
        (self.here / "secret").unlink()
        said = self.run_in(["sh", "-c", 'cd "$0" && unset PATH && exec ./worker-* --cores 2', node])
        self.assertTrue(said.stdout.endswith("<--password><./secret><login1><9123><--cores><2>x\n1\n"), said)

    def test_states_of_htcondor(self):
        queue = ["12 0 1 undefined undefined undefined undefined undefined", "12 1 2 undefined undefined undefined undefined undefined",
                 "12 2 5 13 undefined undefined undefined Transfer input files failure at 1", "12 3 5 16 undefined undefined undefined Spooling",
                 "12 4 3 undefined undefined undefined undefined undefined", "12 5 4 undefined false undefined 0 undefined",
                 "12 6 6 undefined false undefined undefined undefined", "12 7 7 undefined undefined undefined undefined undefined"]
        self.system("condor_q", "cat <<END\n" + "\n".join(queue) + "\nEND")
        self.system("condor_history", "echo '13 0 4 undefined false undefined 69 undefined'; echo '13 1 4 undefined true 9 undefined undefined'; "
                                      "echo '13 2 3 undefined undefined undefined undefined undefined'")
        wanted = ["12.0 pending idle", "12.1 running", "12.2 stuck held: Transfer input files failure at 1", "12.3 pending held",
                  "12.4 ended removed", "12.5 ended exit 0", "12.6 running", "12.7 pending suspended"]
        self.assertEqual(self.states("condor", *[f"12.{number}" for number in range(8)]), wanted)
        self.assertEqual([call[:2] for call in self.called()], [["condor_q", "12"]], "one call; no history if all are in the queue")
        self.assertEqual(self.states("condor", "12.1", "13.0", "13.1", "13.2", "13.3"), [
            "12.1 running", "13.0 ended exit 69", "13.1 ended signal 9", "13.2 ended removed", "13.3 unknown"])
        self.assertEqual([call[:6] for call in self.called()[1:]], [
            ["condor_q", "12", "13", "-af", "ClusterId", "ProcId"], ["condor_history", "-limit", "4", "13.0", "13.1", "13.2"]])

    def test_removal_from_htcondor(self):
        self.system("condor_rm", "exit 0")
        self.assertEqual(self.driver("condor", "remove", "12.0", "12.3").returncode, 0)
        self.assertEqual(self.called(), [["condor_rm", "12.0", "12.3"]])

    def test_a_refusal_leaves_nothing(self):
        for system, command in (("pbs", "qsub"), ("torque", "qsub"), ("uge", "qsub"), ("condor", "condor_submit")):
            for name in ("qselect", "squeue", "condor_q", "qstat"):
                self.system(name, "exit 0")
            self.system(command, 'echo "Unknown queue"; echo "(x)" >&2; exit 170')
            said = self.submit(system, "--scratch-dir", "s", "login1", "9123", "3")
            self.assertEqual((said.returncode, len(self.errors(said))), (69, 1), said)
            self.assertIn(f"nothing was submitted: (x) {command} named no job: Unknown queue", said.stderr)
            self.assertEqual([path.name for path in (self.here / "s").iterdir()], ["work_queue_worker"])

    def test_a_refusal_of_a_system_that_answers_nothing_else(self):
        self.system("sbatch", "echo 'Socket timed out' >&2; exit 1")
        self.system("squeue", "echo 'Socket timed out' >&2; exit 1")
        said = self.submit("slurm", "--scratch-dir", "s", "login1", "9123", "3")
        self.assertEqual((said.returncode, len(self.errors(said))), (75, 1), said)
        self.assertIn("whether the workers were submitted is unknown: Socket timed out", said.stderr)

    def test_a_failed_submission_that_came_through(self):
        found = (("pbs", "qsub", "qselect", "echo '13[].server'", "13[2].server"), ("torque", "qsub", "qselect", "echo '13[1].server'", "13[2].server"),
                 ("condor", "condor_submit", "condor_q", "echo 12 0; echo 12 1", "12.1"))
        for system, command, asked, answer, second in found:
            self.system(command, "echo 'timed out' >&2; exit 1")
            self.system(asked, answer)
            self.assertEqual(self.ids(system, 2)[1], second)
            self.assertIn(pathlib.Path(self.called()[-2][self.called()[-2].index("-N") + 1]).name if command == "qsub" else "WorkQueueJob",
                          " ".join(self.called()[-1]))

    def test_a_system_that_hangs(self):
        """It is ended; a job that came through is found, and else the user is told that nobody knows."""
        self.system("sbatch", HANGS)
        self.system("squeue", "exit 0")
        said = self.submit("slurm", "--scratch-dir", "s", "login1", "9123", WORKERS_PATIENCE="0.3")
        self.assertEqual((said.returncode, len(self.errors(said))), (75, 1), said)
        self.assertIn("whether the workers were submitted is unknown: sbatch did not answer within 0.3 s", said.stderr)
        script = self.called()[0][-1]
        self.assertTrue(pathlib.Path(script).exists(), "the job may start yet")
        self.system("sbatch", f'for word in "$@"; do last=$word; done; echo "$last" > "{self.here}/script"; {HANGS}')
        self.system("squeue", f'echo "77 $(cat "{self.here}/script")"')
        said = self.submit("slurm", "--scratch-dir", "s", "--json", "login1", "9123", WORKERS_PATIENCE="0.3")
        self.assertEqual(json.loads(said.stdout)["ids"], ["77"])

    def test_a_colon_would_be_the_end_of_a_hosts_name(self):
        for system in ("pbs", "torque", "uge"):
            self.system("qsub", "echo 77")
            for show in ("--json", "--dry-run"):
                said = self.submit(system, "--scratch-dir", "a:b", show, "login1", "9123")
                self.assertEqual((said.returncode, said.stdout, len(self.errors(said))), (69, "", 1), said)
                self.assertIn("a:b: qsub takes what is before a ':' for a host; use another --scratch-dir", said.stderr)
        self.assertEqual(self.called(), [])

    def test_a_ctrl_c_waits_for_the_answer(self):
        """Else nobody would know whether there are jobs. Shells differ in what a background process ignores."""
        self.system("sbatch", f'until [ -e "{self.here}/go" ]; do sleep 0.05; done; echo 77')
        for shell in ("dash", "bash"):
            for stop in (signal.SIGINT, signal.SIGHUP):
                with self.subTest(shell=shell, stop=stop):
                    self.stop_while_it_waits(shell, stop)

    def stop_while_it_waits(self, shell, stop):
        (self.here / "go").unlink(missing_ok=True)
        self.calls.unlink(missing_ok=True)
        command = self.checkout / "scripts/slurm/slurm_submit_workers"

        def heed_signals():  # a background job's children ignore some
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            signal.signal(signal.SIGHUP, signal.SIG_DFL)

        with subprocess.Popen([shell, command, "--scratch-dir", "s", "--json", "login1", "9123"], cwd=self.here, text=True, start_new_session=True,
                              preexec_fn=heed_signals, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL,
                              env={"PATH": f"{self.bin}:/usr/bin:/bin", "USER": "me", "HOME": str(self.here)}) as running:
            while not self.called():
                self.assertIsNone(running.poll())
            os.killpg(running.pid, stop)
            while "waiting for the answer" not in (line := running.stderr.readline()):
                self.assertNotEqual(line, "")
            (self.here / "go").touch()
            said, _ = running.communicate(timeout=60)
        self.assertEqual((running.returncode, json.loads(said)["ids"]), (0, ["77"]))

    def test_no_answer_says_nothing_of_the_jobs(self):
        """Else all workers would seem to be gone while a controller restarts."""
        for system, command, job in (("slurm", "squeue", "77"), ("uge", "qstat", "77"), ("pbs", "qstat", "13.server"), ("torque", "qstat", "13.server"),
                                     ("condor", "condor_q", "12.0")):
            self.system(command, "echo 'cannot connect' >&2; exit 1")
            said = self.driver(system, "status", job)
            self.assertEqual((said.returncode != 0, said.stdout), (True, ""), said)
            self.system(command, HANGS)
            said = self.driver(system, "status", job, WORKERS_PATIENCE="0.3")
            self.assertEqual((said.returncode, said.stdout, said.stderr), (124, "", f"{command} did not answer within 0.3 s\n"))


if __name__ == "__main__":
    unittest.main()
