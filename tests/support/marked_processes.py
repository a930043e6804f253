"""The processes of a test. Each has a unique mark in its environment, so that those that are left behind are found in /proc."""

import os
import select
import signal
import time

MARK = "WQ_TEST_MARK"


def tagged(mark):
    """Process ids whose environment has the mark; zombies have none."""
    wanted = f"{MARK}={mark}".encode()
    found = []
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/environ", "rb") as file:
                if wanted in file.read().split(b"\0"):
                    found.append(int(name))
        except OSError:
            continue
    return found


def command_of(process):
    """Its words with blanks between; empty if it has ended."""
    try:
        with open(f"/proc/{process}/cmdline", "rb") as file:
            return file.read().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""


def stat_of(process):
    """(parent, state) or None."""
    try:
        with open(f"/proc/{process}/stat", encoding="utf-8", errors="replace") as file:
            fields = file.read().rpartition(")")[2].split()
        return int(fields[1]), fields[0]
    except (OSError, IndexError):
        return None


def wait_for_end(process, deadline):
    """True when the process has ended before the deadline (time.monotonic)."""
    try:
        descriptor = os.pidfd_open(process)
    except ProcessLookupError:
        return True
    try:
        ready, _, _ = select.select([descriptor], [], [], max(0, deadline - time.monotonic()))
        return bool(ready)
    finally:
        os.close(descriptor)


def kill_tagged(mark):
    """Repeats until none is left: a killed one may just have started another."""
    while left := tagged(mark):
        for process in left:
            try:
                os.kill(process, signal.SIGKILL)
            except ProcessLookupError:
                pass
        for process in left:
            wait_for_end(process, time.monotonic() + 1)
