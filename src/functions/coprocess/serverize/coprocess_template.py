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
import time
import traceback
import types

FUNCTIONS = @FUNCTIONS@
FILE = @FILE@
SOURCE = @SOURCE@

SECRET_VARIABLE = "WORK_QUEUE_COPROCESS_SECRET"
SECRET_SECONDS = 5  # for a peer to send the secret
MOST_WAITING = 64  # peers that have not sent it yet
LONGEST_LINE = 4096
LONGEST_ANSWER = 256 << 20
LONGEST_REASON = 1 << 20


def load():
    # A module of its own, so that its names cannot meet ours, and that pickle and inspect find it.
    module = types.ModuleType("coprocess_functions")
    module.__file__ = FILE
    sys.modules[module.__name__] = module
    exec(compile(SOURCE, FILE, "exec"), module.__dict__)
    return module


# ---- a call. Its answer is JSON, as bytes, and words that say how it ended ----

def failed(reason, words="status 500", **more):
    answer = {"Result": reason, **more, "StatusCode": 500}
    for key, text in answer.items():
        if isinstance(text, str):
            # A lone surrogate has no UTF-8, and few readers of JSON accept one.
            answer[key] = text[:LONGEST_REASON].encode("utf-8", "replace").decode()
    return json.dumps(answer).encode(), words


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
        answer = json.dumps({"Result": function(*args, **kwargs), "StatusCode": 200}).encode()
        if len(answer) > LONGEST_ANSWER:
            return failed(f"its result is larger than {LONGEST_ANSWER >> 20} MB")
        return answer, "status 200"
    except BaseException as error:
        # Without the frame of this function.
        trace = "".join(traceback.format_exception(type(error), error, error.__traceback__.tb_next))
        return failed(describe(error), Traceback=trace)


def on_a_thread(function, event):
    answers = []
    thread = threading.Thread(target=lambda: answers.append(call(function, event)), daemon=True)
    thread.start()
    thread.join()
    return answers[0] if answers else failed("the thread of the function ended before it returned")


def in_one_message(answer, words):
    return f"{len(answer)} {words}\n".encode() + answer


def child_main(function, event, writer, close):
    code = 1
    try:
        for descriptor in close:
            descriptor.close()
        os.setpgid(0, 0)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        message = in_one_message(*call(function, event))
        with os.fdopen(writer, "wb") as out:
            out.write(message)
        code = 0
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(code)  # our own exit handlers must not run here


class Child:
    """A child process with one call."""

    def __init__(self, function, event, close):
        self.reader, writer = os.pipe()
        try:
            self.pid = os.fork()
        except OSError:
            os.close(self.reader)
            os.close(writer)
            raise
        if self.pid == 0:
            child_main(function, event, writer, close)
        os.close(writer)
        try:
            os.setpgid(self.pid, self.pid)  # as the child does: either may be first
        except OSError:
            pass
        self.read = bytearray()
        try:
            self.process = os.pidfd_open(self.pid)  # readable once it has ended
        except (AttributeError, OSError):  # an old Python or kernel, or one that forbids it
            self.process = None

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

    def has_ended(self):
        return os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None

    def wait(self, connection):
        """Until it has ended. False: the worker has given the call up before."""
        waits = select.poll()
        waits.register(connection, select.POLLIN)
        waits.register(self.reader, select.POLLIN)
        if self.process is not None:
            waits.register(self.process, select.POLLIN)
        while True:
            ready = [descriptor for descriptor, _ in waits.poll(None if self.process is not None else 50)]
            if connection.fileno() in ready and not connection.recv(1):
                return False
            if self.reader in ready and not self.read_more():
                waits.unregister(self.reader)
            if self.process in ready or (self.process is None and self.has_ended()):
                return True

    def close(self):
        """Waits for its end, and kills what it left in its group. The answer."""
        _, status = os.waitpid(self.pid, 0)
        self.kill()
        os.set_blocking(self.reader, False)
        try:
            while self.read_more():
                pass
        except BlockingIOError:
            pass
        os.close(self.reader)
        if self.process is not None:
            os.close(self.process)
        line, end, answer = self.read.partition(b"\n")
        length, _, words = line.decode(errors="replace").partition(" ")
        if end and length.isdigit() and len(answer) == int(length):
            return answer, words
        if os.WIFSIGNALED(status):
            how = f"signal {os.WTERMSIG(status)}"
        else:
            how = f"exit {os.WEXITSTATUS(status)}"
        return failed(f"the function ended its process with {how}", how)


def in_a_child(function, event, connection, close):
    """None: the worker has given the call up."""
    child = Child(function, event, close)
    wanted = False
    try:
        wanted = child.wait(connection)
    finally:
        if not wanted:
            child.kill()
        answer = child.close()
    return answer if wanted else None


def run(function, event, task, connection, close):
    home = os.getcwd()
    try:
        os.chdir(f"t.{task}")
    except OSError:
        pass
    try:
        mode = event.get("remote_task_exec_method")
        if mode == "direct":
            return call(function, event)
        if mode == "thread":
            return on_a_thread(function, event)
        return in_a_child(function, event, connection, close)
    finally:
        os.chdir(home)


# ---- the worker's connections ----

class Door:
    """Returns the connections that begin with the secret. Others wait beside them, so they block nobody."""

    def __init__(self, listener, secret):
        self.listener = listener
        self.secret = secret.encode() + b"\n" if secret else b""
        self.waiting = {}  # descriptor -> connection, what it has sent, until when it may wait

    def next(self):
        while True:
            self.drop_the_late()
            waits = select.poll()
            for descriptor in (self.listener.fileno(), *self.waiting):
                waits.register(descriptor, select.POLLIN)
            first = min((until for _, _, until in self.waiting.values()), default=None)
            left = None if first is None else max(first - time.monotonic(), 0) * 1000 + 1
            for descriptor, _ in waits.poll(left):
                let_in = self.accept() if descriptor == self.listener.fileno() else self.listen_to(descriptor)
                if let_in:
                    return let_in

    def accept(self):
        try:
            connection, _ = self.listener.accept()
        except ConnectionAbortedError:
            return None
        if not self.secret:
            return connection
        if len(self.waiting) >= MOST_WAITING:
            self.drop(next(iter(self.waiting)))
        self.waiting[connection.fileno()] = connection, b"", time.monotonic() + SECRET_SECONDS
        return None

    def listen_to(self, descriptor):
        if descriptor not in self.waiting:  # dropped meanwhile
            return None
        connection, said, until = self.waiting[descriptor]
        try:
            some = connection.recv(len(self.secret) - len(said), socket.MSG_DONTWAIT)
        except BlockingIOError:
            return None
        except OSError:
            some = b""
        said += some
        if some and len(said) < len(self.secret) and b"\n" not in said:
            self.waiting[descriptor] = connection, said, until
            return None
        if not hmac.compare_digest(said, self.secret):
            return self.drop(descriptor)
        del self.waiting[descriptor]
        return connection

    def drop_the_late(self):
        now = time.monotonic()
        for descriptor in [key for key, (_, _, until) in self.waiting.items() if until <= now]:
            self.drop(descriptor)

    def drop(self, descriptor):
        self.waiting.pop(descriptor)[0].close()

    def close(self):
        self.listener.close()
        for connection, _, _ in self.waiting.values():
            connection.close()


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


def serve(connection, door, module):
    line = line_from(connection)
    if not line:
        return
    name, task, length = line.split()
    event = bytes_from(connection, int(length))
    if event is None:
        return
    try:
        if name in FUNCTIONS:
            answer = run(getattr(module, name), json.loads(event), task, connection, (connection, door))
        else:
            answer = failed(f"no function {name} here; there is " + ", ".join(FUNCTIONS))
    except Exception as error:
        answer = failed(describe(error))
    if answer is not None:
        connection.sendall(in_one_message(*answer))


def announce(to, name, port, guarded):
    text = json.dumps({"name": name, "port": port, "guarded": guarded})
    with os.fdopen(to, "w") as out:
        out.write(f"{len(text) + 1}\n{text}\n")


def main():
    secret = os.environ.pop(SECRET_VARIABLE, "")
    # What the functions print, while they are loaded too, is no message to the worker.
    to_worker = os.dup(1)
    os.dup2(2, 1)
    module = load()
    name = module.name() if callable(getattr(module, "name", None)) else "my_coprocess"
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.bind(("127.0.0.1", 0))
    listener.listen(64)
    announce(to_worker, name, listener.getsockname()[1], bool(secret))
    door = Door(listener, secret)
    while True:
        with door.next() as connection:
            try:
                serve(connection, door, module)
            except (OSError, ValueError):
                pass  # a peer that is not our worker, or that is gone


if __name__ == "__main__":
    main()
