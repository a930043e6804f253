#!/usr/bin/env python3
"""The examples of the document, lines that fail, and what runtask prints. Usage: runtask_test.py PROGRAM."""

import os
import pathlib
import pty
import select
import signal
import subprocess
import sys
import unittest

import runtask_support as support

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import practical_example  # noqa: E402

# The examples of the document that runtask follows.
SIMPLE = """\
echo task1; sleep 3 
echo task2; sleep 3 
echo task3; sleep 3
echo task4; sleep 3 
echo task5; sleep 3 
"""
JUMPS = """\
echo task1; sleep 3 
echo task2; sleep 3 
echo task3; sleep 3
echo task4; sleep 3
exit #!#@1
newtask="~/tasklist2.sh" #!#@2
newtask="~/tasklist3.sh"; newid=$WORKERID #!
echo task5; sleep 3
"""
FAILING = """\
echo "double" 'single' $((1+1)) \\$HOME '#:no tag' # a remark
false
exit 3 #:g
if then
kill -TERM $BASHPID
nosuchcommand
(exit 4) #:h
echo blocked by line 4 #:g
"""
USAGE = [
    "", "a.sh b.sh", "--bogus a.sh", "--jobs 0 a.sh", "--jobs x a.sh", "--id -1 a.sh", "--timeout 0 a.sh", "--lease 1 a.sh",
    "--poll 0 a.sh", "--reset=x a.sh", "--lock --reset a.sh", "--lock --once a.sh", "host:", ":a.sh", "-m -x a.sh",
    "--dot --status a.sh", "--releas 3 a.sh", "--force a.sh", "--status --force a.sh",
]


class Examples(support.Case):
    def test_simple(self):
        self.write("examplelist.sh", SIMPLE)
        out, err = self.run_it("~/examplelist.sh", "--once", "--name", "me")
        self.assertEqual(err, "")
        self.compare("simple.txt", out + "----\n" + self.read("examplelist.sh"))
        self.run_it("examplelist.sh", "--reset")
        self.assertEqual(self.read("examplelist.sh").split(), SIMPLE.split())

    def test_practical(self):
        practical_example.make_models(self.home)
        for tool in practical_example.COMMANDS:
            self.tool(tool, 'echo "$(basename "$0") in $(basename "$PWD")" "$@"')
        self.write("tasklist.sh", practical_example.TASKS)
        out, _ = self.run_it("~/tasklist.sh", "--once", "-n", "one")
        two, _ = self.run_it("~/tasklist.sh", "--once", "-n", "two", "-i", "2")
        self.compare("practical.txt", out + "----\n" + two + "----\n" + self.read("tasklist.sh"))

    def test_jumps(self):
        text = ""
        for name in ("2", "3"):
            self.write(f"tasklist{name}.sh", f"echo list {name}, worker $WORKERID, $TASKFILE\n" * 2)
        self.write("tasklist1.sh", JUMPS)
        for worker in ("0", "1", "2"):
            out, err = self.run_it("~/tasklist1.sh", "--once", "-n", f"w{worker}")
            text += out + err + "----\n"
        self.compare("jumps.txt", text + "".join(self.read(f"tasklist{n}.sh") for n in "123"))

    def test_jumpto_keeps_the_id(self):
        self.write("a.sh", 'jumpto="b.sh" #!\n')
        self.write("b.sh", "echo $WORKERID\n")
        out, _ = self.run_it("a.sh", "--once", "-i", "7")
        self.assertIn("\n7\n", out)
        self.assertIn("#LASTWORKER 7", self.read("b.sh"))

    def test_newid_in_the_same_list(self):
        self.write("a.sh", "newid=9 #!\necho I am $WORKERID\n")
        out, _ = self.run_it("a.sh", "--once")
        self.assertIn("\nI am 9\n", out)


class Failures(support.Case):
    def test_failing_lines(self):
        self.write("tasks.sh", FAILING)
        out, err = self.run_it("tasks.sh", "--once", "-n", "me", code=1)
        again, more = self.run_it("tasks.sh", "--once", "-n", "you", "--retries", "1", code=1)
        self.compare("failing.txt", out + err + "----\n" + again + more + "----\n" + self.read("tasks.sh"))

    def test_time_limit(self):
        self.write("tasks.sh", "tail -f /dev/null & tail -f /dev/null\necho next\n")
        out, err = self.run_it("tasks.sh", "--once", "-n", "me", "--timeout", "2", code=1)
        self.compare("timeout.txt", out + err)

    def test_a_time_limit_while_the_worker_waits_for_the_lock(self):
        """Which the line itself holds."""
        self.write("tasks.sh", "exec 9>>tasks.sh.lock; flock 9; tail -f /dev/null & tail -f /dev/null\n")
        for jobs in ("1", "2"):
            _, err = self.run_it("tasks.sh", "--once", "--jobs", jobs, "--timeout", "0.5", "--poll", "0.05", "--lease", "2", code=1)
            self.assertIn("ran longer than 0.50s", err)
            self.assertIn("#error124", self.read("tasks.sh"))
            self.run_it("tasks.sh", "--reset")

    def test_a_line_that_kills_the_shell(self):
        self.write("tasks.sh", "export X=1 #!\nkill -9 $$; tail -f /dev/null\necho X is $X\n")
        out, err = self.run_it("tasks.sh", "--once", "-n", "me", code=1)
        self.compare("killed_shell.txt", out + err)

    def test_exit_codes_of_lists(self):
        (self.home / "folder").mkdir()
        self.write("binary", "a\0b\n")
        for words, code, text in ((["folder"], 65, "folder"), (["binary"], 65, "NUL"), (["nowhere/list"], 65, "nowhere")):
            with self.subTest(words):
                _, err = self.run_it("--once", *words, code=code)
                self.assertIn(text, err)
                self.assertEqual(err.count("\n"), 1)

    def test_a_missing_list_is_not_looked_at(self):
        for words in (["--status"], ["--check"], ["--dot"], ["--reset"], ["--lock"], ["--release", "0"]):
            for name in ("none.sh", "~/none.sh"):
                with self.subTest(words=words, name=name):
                    _, err = self.run_it(name, *words, code=65)
                    self.assertIn("there is no list", err)
                    self.assertEqual(err.count("\n"), 1)
        self.assertEqual(os.listdir(self.home), ["bin"])

    def test_check_tells_of_likely_typos(self):
        self.write("tasks.sh", "echo a #+nog\necho d # :grp\n")
        _, err = self.run_it("tasks.sh", "--check")
        self.assertEqual(err, "runtask: line 1: #+nog waits for nothing, since no line has #:nog\n"
                         "runtask: line 2: '# :grp' is a comment; the tag is '#:grp', without a blank\n")

    def test_a_missing_list_is_made(self):
        _, err = self.run_it("new.sh", "--once")
        self.assertEqual(err, "runtask: made an empty list: new.sh\n")
        self.assertIn("#LASTWORKER 0", self.read("new.sh"))
        _, err = self.run_it("new.sh", "--once")
        self.assertEqual(err, "")
        self.write("jumps.sh", "newtask=other.sh #!\n")
        _, err = self.run_it("jumps.sh", "--once")
        self.assertEqual(err, "runtask: made an empty list: other.sh\n")


class Texts(support.Case):
    def test_help(self):
        out, err = self.run_it("--help")
        self.assertEqual(err, "")
        self.compare("help.txt", out)

    def test_usage(self):
        """Each prints one line with the remedy."""
        text = ""
        for words in USAGE:
            out, err = self.run_it(*words.split(), code=64)
            self.assertEqual((out, err.count("\n")), ("", 1), err)
            text += f"$ runtask {words}\n{err}"
        self.compare("usage.txt", text)

    def test_a_terminal_is_told_what_is_waited_for(self):
        os.mkfifo(self.home / "pipe")
        self.write("tasks.sh", "false #:g\necho b #:g\necho c #@7\n")
        ours, theirs = pty.openpty()
        worker = subprocess.Popen([support.PROGRAM, "tasks.sh", "--poll", "0.05"], cwd=self.home, env=self.environment, stdin=theirs,
                                  stdout=theirs, stderr=theirs, start_new_session=True)
        self.addCleanup(self.end, worker)
        os.close(theirs)
        said = b""
        while b"waiting" not in said or not said.endswith(b"\n"):
            self.assertTrue(select.select([ours], [], [], support.PATIENCE)[0], said)
            said += os.read(ours, 65536)
        self.assertIn("line 3 waits for line 2 (group g)", said.decode())
        worker.send_signal(signal.SIGINT)
        self.assertEqual(worker.wait(support.PATIENCE), 75)
        os.close(ours)


if __name__ == "__main__":
    unittest.main(verbosity=2)
