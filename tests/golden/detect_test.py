#!/usr/bin/env python3
"""Golden outputs of work_queue_worker --detect on described machines. Usage: detect_test.py PROGRAM.

Free disk differs between machines: it is limited to 100 MB, and its own line omitted. UPDATE=1 rewrites the files of
tests/golden/machines, for review before a commit."""

import json
import os
import pathlib
import subprocess
import sys
import unittest

MACHINES = pathlib.Path(__file__).parent / "machines"
PROGRAM = os.path.abspath(sys.argv.pop(1))
# Variables that a batch job or a user may have set.
CLEAN = ("HWLOC_", "SLURM_", "PBS_", "NCPUS", "NSLOTS", "NHOSTS", "_CONDOR_", "CUDA_", "HIP_", "ROCR_", "ZE_", "CORES", "MEMORY", "DISK", "GPUS",
         "COLUMNS", "LC_", "LANG")


def detect(*words, **variables):
    environment = {name: value for name, value in os.environ.items() if not name.startswith(CLEAN)}
    environment.update(variables)
    return subprocess.run([PROGRAM, "--detect", *words], cwd=MACHINES, env=environment, capture_output=True, text=True, timeout=60,
                          check=False)


def of_free_disk(line):
    return line.endswith("  free")


class Detect(unittest.TestCase):
    maxDiff = None

    def text(self, *words, **variables):
        done = detect("--disk", "100", *words, **variables)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        # The column is as wide as the widest amount, which may be that of the free disk.
        return "".join(" ".join(line.split()) + "\n" for line in done.stdout.splitlines() if not of_free_disk(line))

    def golden(self, name, text):
        path = MACHINES / name
        if os.environ.get("UPDATE"):
            path.write_text(text)
        self.assertEqual(text, path.read_text(), f"{path}: with UPDATE=1 it is written anew")

    def test_two_packages(self):
        big = {"HWLOC_XMLFILE": "two_packages.xml"}
        text = self.text(**big)
        text += "\n" + self.text(SLURM_CPUS_ON_NODE="64", SLURM_CPUS_PER_TASK="16", SLURM_MEM_PER_CPU="2000",
                                 CUDA_VISIBLE_DEVICES="2,3", **big)
        text += "\n" + self.text("--cores", "100", "--memory", "1000", "--gpus", "0", SLURM_CPUS_PER_TASK="16", MEMORY="7", **big)
        self.golden("two_packages.detect.txt", text)

    def test_who_sits_where(self):
        full = detect("--disk", "100", "--draw=cores=24 gpus=1", HWLOC_XMLFILE="two_packages.xml")
        shared = detect("--disk", "100", "--draw=cores=0.5", HWLOC_SYNTHETIC="pack:1 numa:2 core:4 pu:2")
        large = detect("--disk", "100", "--draw=cores=9", HWLOC_SYNTHETIC="pack:1 numa:2 core:4 pu:2")
        self.assertEqual([full.returncode, shared.returncode, large.returncode], [0, 0, 0])
        self.golden("tasks.draw.txt", full.stdout + "\n" + shared.stdout + "\n" + large.stdout)
        self.assertEqual(detect("--draw=cores=lots").returncode, 64)

    def test_holes(self):
        self.golden("holes.detect.txt", self.text(HWLOC_XMLFILE="holes.xml"))

    def test_synthetic(self):
        text = self.text(HWLOC_SYNTHETIC="package:2 l2:4 core:2 pu:4")
        text += "\n" + self.text("--threads-per-core", "1", CORES="3", HWLOC_SYNTHETIC="package:1 core:1 pu:1")
        self.golden("synthetic.detect.txt", text)

    def test_json(self):
        done = detect("--json", "--disk", "100", HWLOC_SYNTHETIC="package:1 l3:2 core:1 pu:2", NSLOTS="1")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        found = json.loads(done.stdout)
        for bound in found["limits"]["disk_mb"]:
            if bound["source"] == "free":
                bound["amount"] = 100000
        self.golden("synthetic.detect.json", json.dumps(found, indent=1) + "\n")

    def test_this_machine(self):
        found = json.loads(detect("--json").stdout)
        self.assertEqual(found["machine"]["source"], "this machine")
        usable = sum(len(core["usable"]) for core in found["machine"]["cores"])
        self.assertEqual(usable, len(os.sched_getaffinity(0)))
        one = min(os.sched_getaffinity(0))
        program = f"import os, sys; os.sched_setaffinity(0, {{{one}}}); os.execv(sys.argv[1], sys.argv[1:])"
        done = subprocess.run([sys.executable, "-c", program, PROGRAM, "--detect", "--json"], capture_output=True, text=True, timeout=60,
                              check=True)
        found = json.loads(done.stdout)
        self.assertEqual([core["usable"] for core in found["machine"]["cores"] if core["usable"]], [[one]])
        self.assertEqual(found["offers"]["cores"], 1)
        if len(os.sched_getaffinity(0)) > 1:
            self.assertEqual([bound["source"] for bound in found["limits"]["cores"] if bound["counts"]], ["affinity mask"])

    def test_who_holds_tasks_to_their_memory(self):
        line = "watching memory limits are enforced by checking ten times a second: WORK_QUEUE_CGROUP=no"
        self.assertIn(line, self.text(WORK_QUEUE_CGROUP="no").splitlines())
        self.assertNotIn("watching", self.text(HWLOC_SYNTHETIC="core:4 pu:1"))

    def test_pictures_fit_the_terminal(self):
        for columns in ("1", "24", "40", "80", "200"):
            for locale in ("C", "en_US.UTF-8"):
                picture = detect("--draw", HWLOC_XMLFILE="two_packages.xml", COLUMNS=columns, LC_ALL=locale).stdout
                self.assertLessEqual(max(map(len, picture.splitlines())), max(int(columns), 24))
                self.assertEqual(picture.isascii(), locale == "C")
                for core in range(128):
                    self.assertIn(f"[{core:3}]", picture)
        self.assertEqual(detect("--draw", HWLOC_XMLFILE="two_packages.xml", LANG="de_DE.utf8").stdout,
                         (MACHINES / "two_packages.draw.txt").read_text())
        self.assertEqual(detect("--draw", HWLOC_XMLFILE="holes.xml").stdout, (MACHINES / "holes.draw.txt").read_text())

    def test_wrong_words_have_a_clear_answer(self):
        for words, variables, code, message in (
            (["--cores", "lots"], {}, 64, "--cores: 'lots' is not a whole number from 0 to 100000; try --help"),
            (["--cores", "1000000000"], {}, 64, "--cores: '1000000000' is not a whole number from 0 to 100000; try --help"),
            ([], {"CORES": "lots"}, 64,
             "CORES in the environment: 'lots' is not a number from 0 to 100000 (with at most three decimals); try --help"),
            (["--bind", "socket"], {}, 64, "--bind: 'socket' is not one of none, core, numa; try --help"),
            (["--threads-per-core", "0"], {}, 64, "--threads-per-core: '0' is not a whole number from 1 to 1024; try --help"),
            (["--json", "--draw"], {}, 64, "--json and --draw: give only one; try --help"),
            ([], {"HWLOC_XMLFILE": "holes.draw.txt"}, 65,
             "HWLOC_XMLFILE: 'holes.draw.txt' is no topology that hwloc can read; make one with `lstopo FILE.xml`, or unset it"),
            ([], {"HWLOC_XMLFILE": "nowhere.xml"}, 65,
             "HWLOC_XMLFILE: 'nowhere.xml' is no topology that hwloc can read; make one with `lstopo FILE.xml`, or unset it"),
            ([], {"HWLOC_SYNTHETIC": "lots"}, 65,
             "HWLOC_SYNTHETIC: 'lots' describes no topology; set it to, for example, `package:2 core:32 pu:2`, or unset it"),
        ):
            done = detect(*words, **variables)
            self.assertEqual((done.returncode, done.stdout, done.stderr.splitlines()[-1]), (code, "", "work_queue_worker: " + message))
        for cores in ("0", "-1", "all"):  # as in the manual: all that exist
            found = json.loads(detect("--json", "--cores", cores, HWLOC_SYNTHETIC="package:1 core:6 pu:1").stdout)
            self.assertEqual(found["offers"]["cores"], 6)

    def test_gpus_that_are_absent_are_told(self):
        lines = detect(HWLOC_XMLFILE="two_packages.xml", CUDA_VISIBLE_DEVICES="0,9").stdout.splitlines()
        self.assertIn("names GPU 9, which no driver lists here", lines[-1])
        lines = detect("--gpus", "0", HWLOC_XMLFILE="two_packages.xml", CUDA_VISIBLE_DEVICES="0,9").stdout.splitlines()
        self.assertNotIn("names GPU", lines[-1])  # no task gets them
        lines = detect("--gpus", "9", HWLOC_XMLFILE="two_packages.xml").stdout.splitlines()
        self.assertIn("--gpus names 9 GPUs, but only 8 were found", lines[-1])


if __name__ == "__main__":
    unittest.main()
