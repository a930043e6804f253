#!/usr/bin/env python3
# A coprocess of Work Queue, made by work_queue_serverize. A worker starts it (work_queue_worker --coprocess)
# and calls its functions; it can run nothing by itself.

import hmac
import inspect
import json
import os
import select
import signal
import socket
import sys
import threading
import traceback
import types

FUNCTIONS = @FUNCTIONS@
FILE = @FILE@
SOURCE = @SOURCE@

SECRET_VARIABLE = "WORK_QUEUE_COPROCESS_SECRET"
LONGEST_LINE = 4096


def load():
    # A module of its own, so that its names cannot meet ours, and that pickle and inspect find it.
    module = types.ModuleType("coprocess_functions")
    module.__file__ = FILE
    sys.modules[module.__name__] = module
    exec(compile(SOURCE, FILE, "exec"), module.__dict__)
    return module


def failure(text):
    return json.dumps({"Result": text, "StatusCode": 500})


def describe(error):
    if isinstance(error, SystemExit):
        return f"SystemExit: {error.code}"
    return "".join(traceback.format_exception_only(type(error), error)).strip()


def bound(function, args, kwargs):
    """The manual allows all arguments in one dictionary: {"x": 1, "y": 2}."""
    only = args[0] if len(args) == 1 and not kwargs else None
    if isinstance(only, dict) and all(isinstance(key, str) for key in only):
        try:
            signature = inspect.signature(function)
        except (TypeError, ValueError):
            return args, kwargs
        try:
            signature.bind(*args)
        except TypeError:
            try:
                signature.bind(**only)
                return [], only
            except TypeError:
                pass
    return args, kwargs


def call(function, event):
    """The answer, whatever the function does."""
    try:
        args, kwargs = bound(function, event.get("fn_args") or [], event.get("fn_kwargs") or {})
        return json.dumps({"Result": function(*args, **kwargs), "StatusCode": 200})
    except BaseException as error:
        return failure(describe(error))


def on_a_thread(function, event):
    answers = []
    thread = threading.Thread(target=lambda: answers.append(call(function, event)), daemon=True)
    thread.start()
    thread.join()
    return answers[0] if answers else failure("the thread of the function ended before it returned")


def child_main(function, event, writer):
    code = 1
    try:
        os.setpgid(0, 0)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        answer = call(function, event).encode()
        with os.fdopen(writer, "wb") as out:
            out.write(b"%d\n" % len(answer) + answer)
        code = 0
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(code)  # our own exit handlers must not run here


def whole_answer(read):
    """What the child has written, once it is complete."""
    length, end, answer = read.partition(b"\n")
    return answer.decode() if end and len(answer) == int(length) else None


class Child:
    """A child process with one call. `ended` becomes readable when it has ended."""

    def __init__(self, function, event, close):
        self.reader, writer = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            for descriptor in close:
                descriptor.close()
            os.close(self.reader)
            child_main(function, event, writer)
        os.close(writer)
        try:
            os.setpgid(self.pid, self.pid)  # as the child does: either may be first
        except OSError:
            pass
        self.read = b""
        self.ended = os.pidfd_open(self.pid) if hasattr(os, "pidfd_open") else None

    def kill(self):
        try:
            os.killpg(self.pid, signal.SIGKILL)
        except OSError:
            pass

    def read_more(self):
        """False: it writes no more."""
        some = os.read(self.reader, 1 << 20)
        self.read += some
        return bool(some)

    def close(self):
        """Waits for its end, and kills what it left in its group. The answer and how it ended."""
        _, status = os.waitpid(self.pid, 0)
        self.kill()
        os.set_blocking(self.reader, False)
        try:
            while self.read_more():
                pass
        except BlockingIOError:
            pass
        os.close(self.reader)
        if self.ended is not None:
            os.close(self.ended)
        answer = whole_answer(self.read)
        if answer is not None:
            return answer, ""
        if os.WIFSIGNALED(status):
            number = os.WTERMSIG(status)
            return failure(f"the function ended its process with signal {number}"), f" signal {number}"
        number = os.WEXITSTATUS(status)
        return failure(f"the function ended its process with exit {number}"), f" exit {number}"


def in_a_child(function, event, connection, listener):
    """None: the worker has given the call up."""
    child = Child(function, event, (connection, listener))
    writes = True
    given_up = False
    while True:
        waits_for = [connection] + ([child.reader] if writes else [])
        if child.ended is not None:
            waits_for.append(child.ended)
        ready, _, _ = select.select(waits_for, [], [])
        if connection in ready and not connection.recv(1):
            given_up = True
            child.kill()
            break
        if child.reader in ready:
            writes = child.read_more()
        if child.ended in ready or (child.ended is None and not writes):
            break
    answer = child.close()
    return None if given_up else answer


def line_from(connection):
    line = b""
    while not line.endswith(b"\n"):
        some = connection.recv(1)
        if not some or len(line) > LONGEST_LINE:
            return None
        line += some
    return line.decode().strip()


def bytes_from(connection, count):
    parts = []
    while count > 0:
        some = connection.recv(min(count, 1 << 20))
        if not some:
            return None
        parts.append(some)
        count -= len(some)
    return b"".join(parts)


def find(module, name):
    return getattr(module, name) if name in FUNCTIONS else None


def answer(connection, listener, module, secret):
    connection.settimeout(5)  # a peer that says nothing must not block the worker
    if secret and not hmac.compare_digest((line_from(connection) or "").encode(), secret.encode()):
        return
    connection.settimeout(None)
    line = line_from(connection)
    if not line:
        return
    name, task, length = line.split()
    event = bytes_from(connection, int(length))
    if event is None:
        return
    function = find(module, name)
    if function is None:
        result, words = failure(f"no function {name} here; there is " + ", ".join(FUNCTIONS)), ""
    else:
        result = run(function, json.loads(event), task, connection, listener)
        if result is None:
            return
        result, words = result
    result = result.encode()
    connection.sendall(f"{len(result)}{words}\n".encode() + result)


def run(function, event, task, connection, listener):
    home = os.getcwd()
    try:
        os.chdir(f"t.{task}")
    except OSError:
        pass
    try:
        mode = event.get("remote_task_exec_method")
        if mode == "direct":
            return call(function, event), ""
        if mode == "thread":
            return on_a_thread(function, event), ""
        return in_a_child(function, event, connection, listener)
    finally:
        os.chdir(home)


def announce(name, port, guarded):
    text = json.dumps({"name": name, "port": port, "guarded": guarded})
    sys.stdout.write(f"{len(text) + 1}\n{text}\n")
    sys.stdout.flush()
    # What the functions print later is no message to the worker.
    os.dup2(2, 1)


def main():
    secret = os.environ.pop(SECRET_VARIABLE, "")
    module = load()
    name = module.name() if callable(getattr(module, "name", None)) else "my_coprocess"
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.bind(("127.0.0.1", 0))
    listener.listen(16)
    announce(name, listener.getsockname()[1], bool(secret))
    while True:
        connection, _ = listener.accept()
        with connection:
            try:
                answer(connection, listener, module, secret)
            except (OSError, ValueError):
                pass  # a peer that is not our worker, or that is gone


if __name__ == "__main__":
    main()
