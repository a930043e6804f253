"""Connections between workers and their manager that a test can break."""

import os
import random
import select
import socket
import struct
import threading


class Relay(threading.Thread):
    """A proxy between workers and their manager, told by order(): "cut" closes a connection for both ends, "reset" resets it,
    "stall" lets nothing through any more, like a firewall that drops packets: both ends only notice the silence."""

    def __init__(self, to):
        super().__init__(daemon=True)
        self.to = to
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=100)
        self.port = self.listener.getsockname()[1]
        self.other = {}
        self.stalled = set()
        self.orders, self.to_order = os.pipe()
        self.seen = {"cut": 0, "reset": 0, "stall": 0}

    def order(self, what):
        os.write(self.to_order, {"cut": b"c", "reset": b"r", "stall": b"s", "end": b"e"}[what])

    def links(self):
        return [one for one in self.other if one.fileno() >= 0 and one not in self.stalled]

    def end(self, one):
        for each in (one, self.other.get(one)):
            if each is not None:
                self.other.pop(each, None)
                self.stalled.discard(each)
                each.close()

    def accept(self):
        worker, _ = self.listener.accept()
        try:
            manager = socket.create_connection(("127.0.0.1", self.to))
        except OSError:
            worker.close()
            return
        self.other[worker], self.other[manager] = manager, worker

    def obey(self, what):
        links = self.links()
        if what == b"c" and links:
            self.end(random.choice(links))
            self.seen["cut"] += 1
        if what == b"r" and links:
            one = random.choice(links)
            for each in (one, self.other[one]):
                each.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.end(one)
            self.seen["reset"] += 1
        if what == b"s" and links:
            one = random.choice(links)
            self.stalled |= {one, self.other[one]}
            self.seen["stall"] += 1
        return what != b"e"

    def pass_on(self, one):
        try:
            data = one.recv(1 << 16)
            if data:
                if one not in self.stalled:
                    self.other[one].sendall(data)
                return
        except OSError:
            pass
        self.end(one)

    def run(self):
        while True:
            ready, _, _ = select.select([self.listener, self.orders, *self.other], [], [])
            for one in ready:
                if one is self.orders:
                    if not self.obey(os.read(self.orders, 1)):
                        return
                elif one is self.listener:
                    self.accept()
                elif one in self.other:
                    self.pass_on(one)
