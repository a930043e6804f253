# Functions of the coprocess in tests of remote tasks.
import ctypes
import os
import signal
import subprocess
import sys
import threading

count = 0


def name():
    return "arithmetic_coprocess"


def my_sum(x, y):
    return x + y


def counted():
    global count
    count += 1
    return count


def where():
    """The coprocess, the calling process, and whether it is the main thread."""
    return [os.getppid(), os.getpid(), threading.current_thread() is threading.main_thread()]


def fails():
    raise ValueError("no luck")


def crash():
    ctypes.string_at(0)


def leave(code):
    os._exit(code)


def leave_politely(code):
    sys.exit(code)


def hang():
    while True:
        signal.pause()


def wait_for(path):
    """Until the file is there, a named pipe that somebody writes to."""
    with open(path) as file:
        return file.read()


def tell_and_hang(pipe):
    with open(pipe, "w") as file:
        file.write("running")
    hang()


def memory(mb):
    block = bytearray(mb << 20)
    for place in range(0, len(block), 4096):
        block[place] = 1
    hang()


def disk(mb):
    with open("large", "wb") as file:
        file.write(os.urandom(1 << 20) * mb)
    hang()


def here():
    return sorted(os.listdir("."))


def read(name):
    with open(name) as file:
        return file.read()


def write(name, text):
    with open(name, "w") as file:
        file.write(text)


def variable(name):
    return os.environ.get(name)


def child():
    """A process that outlives its call."""
    return subprocess.Popen(["sleep", "1000"], start_new_session=True).pid


def not_json():
    return {1, 2}


def text(size):
    return "x" * size


def echo(x):
    return x


def special():
    return [float("nan"), float("inf"), "\ud800"]


def hang_as(path):
    """Tells its process, and hangs."""
    with open(path + ".new", "w") as file:
        file.write(str(os.getpid()))
    os.rename(path + ".new", path)
    hang()
