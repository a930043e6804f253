"""Divides the available time: benches repeat while their share lasts, and are interrupted beyond it."""

import contextlib
import signal
import time


class OverTime(Exception):
    """A bench has used its share and a quarter more, or all the time."""


class Share:
    """The time of one bench, or of a part of it. What is left goes to those that follow."""

    def __init__(self, seconds, clock=time.monotonic):
        self.clock = clock
        self.seconds = seconds
        self.end = clock() + seconds

    def left(self):
        return max(self.end - self.clock(), 0)

    def part(self, weight, weights):
        """A share of the rest for the next part; `weights`: of it and of all that follow."""
        return Share(self.left() * weight / sum(weights), self.clock)

    def parts(self, items, weight=lambda _: 1):
        """Each item with its share."""
        items = list(items)
        for place, item in enumerate(items):
            yield item, self.part(weight(item), [weight(one) for one in items[place:]])

    def rounds(self, most):
        """Yields for each round whether it is the last. The first always runs; another one while one as long as the last would fit."""
        took = 0
        for number in range(most):
            began = self.clock()
            last = number == most - 1 or (number > 0 and self.left() < 2 * took)
            yield last
            took = self.clock() - began
            if last or self.left() < took:
                return


class Budget(Share):
    """All benches together, one at a time. One that hangs is ended as if it had raised OverTime itself."""

    @contextlib.contextmanager
    def bench(self, share):
        def ring(*_):
            raise OverTime
        before = signal.signal(signal.SIGALRM, ring)
        # Never 0, which would mean no alarm.
        signal.setitimer(signal.ITIMER_REAL, max(min(share.left() * 1.25, self.left()), 0.001))
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
