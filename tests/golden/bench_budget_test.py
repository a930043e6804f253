"""How the time is divided among benches, with a simulated clock. Usage: bench_budget_test.py CHECKOUT"""

import pathlib
import signal
import sys
import unittest

ROOT = pathlib.Path(sys.argv.pop(1))
sys.path.insert(0, str(ROOT / "tests/bench"))

import budget  # noqa: E402


class Clock:
    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


class Shares(unittest.TestCase):
    def setUp(self):
        self.clock = Clock()
        self.whole = budget.Share(100, self.clock)

    def rounds(self, most, seconds):
        lasts = []
        for last in self.whole.rounds(most):
            lasts.append(last)
            self.clock.now += seconds
        return lasts

    def test_parts_are_by_weight_and_what_is_left_over_goes_on(self):
        found = []
        for item, share in self.whole.parts([3, 1, 1], lambda weight: weight):
            found.append((item, share.left()))
            self.clock.now += 20  # the first leaves 40 of its 60
        self.assertEqual(found, [(3, 60), (1, 40), (1, 60)])

    def test_a_part_is_never_more_than_what_is_left(self):
        self.clock.now = 120
        self.assertEqual(self.whole.left(), 0)
        self.assertEqual(self.whole.part(1, [1]).left(), 0)

    def test_rounds_end_when_there_were_enough(self):
        self.assertEqual(self.rounds(3, 1), [False, False, True])

    def test_rounds_end_before_the_time_is_over(self):
        self.assertEqual(self.rounds(10, 30), [False, False, True])
        self.assertLessEqual(self.clock.now, 100)

    def test_there_is_one_round_even_without_time(self):
        self.clock.now = 100
        self.assertEqual(len(self.rounds(5, 50)), 1)

    def test_one_round_is_the_last(self):
        self.assertEqual(self.rounds(1, 1), [True])


class Cutting(unittest.TestCase):
    def test_who_hangs_is_cut_off(self):
        whole = budget.Budget(60)
        with self.assertRaises(budget.OverTime), whole.bench(budget.Share(0)):
            signal.pause()

    def test_who_ends_is_not(self):
        whole = budget.Budget(60)
        with whole.bench(budget.Share(60)):
            pass


if __name__ == "__main__":
    unittest.main()
