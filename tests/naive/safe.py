"""The safe stage in plain Python, one point an object; written from its description."""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np


def f(x):
    return x**2 if x > 0 else 0.0


@dataclass
class Point:
    theta: float
    visits: int = 0
    bias: float = 0.0
    rounds_in_gap: float = 0.0  # of the gap to the right
    lenient: float = 1.5

    @cached_property
    def z(self):
        exact = {math.pi / 2: 0.5, math.pi: 1.0}
        return exact.get(self.theta, math.sin(self.theta / 2) ** 2)

    @cached_property
    def variance(self):
        return self.z * (1 - self.z)

    @property
    def noise(self):
        """The variance of the bias after the next visit, and 1/4."""
        return (self.visits + 1) * self.variance + 1 / 4

    @property
    def excess(self):
        """By how much the bias is more than is free."""
        return abs(self.bias) - math.sqrt(self.noise)

    @property
    def slope(self):
        """By how much the cost after the next visit differs between its two outcomes."""
        return (f(self.excess) - f(self.excess - 1)) / self.noise

    @property
    def cost(self):
        noise = self.visits * self.variance + 1 / 4
        return f(abs(self.bias + 1 / 2 - self.z) - 1 / 2 - math.sqrt(noise)) / noise

    def rise(self, outcome):
        """What a visit with this outcome adds to the cost."""
        after = Point(self.theta, self.visits + 1, self.bias + self.z - outcome)
        return after.cost - self.cost

    @property
    def leaning(self):
        """To which side it is biased: where visits are not free."""
        if self.z in (0.0, 1.0):
            return -1 if self.z == 0.0 else 1
        return 0 if self.excess <= 0 else int(math.copysign(1, self.bias))

    @property
    def lenient_noise(self):
        return (self.visits + 1) * self.variance + 1

    @property
    def lenient_leaning(self):
        """To which side it is biased where the purse pays."""
        if self.z in (0.0, 1.0):
            return -1 if self.z == 0.0 else 1
        k = 2 + self.lenient * math.log(self.lenient_noise)
        if abs(self.bias) - math.sqrt(k * self.lenient_noise) <= 0:
            return 0
        return int(math.copysign(1, self.bias))

    def charge(self, mean):
        distance = self.z - mean
        return distance**2 + self.variance * self.bias / self.lenient_noise * distance / 2


class NaiveSafe:
    """Where to play for a mean, and what becomes of the grid after the outcome."""

    point = Point
    start = 1 / 2  # in the purse, for each point

    def __init__(self, lenient=1.5):
        self.lenient = lenient
        self.points = [self.point(math.pi * i / 32, lenient=lenient) for i in range(33)]
        self.purse = self.start * 31

    def gap(self, mean):
        return max(i for i, point in enumerate(self.points) if point.z <= mean)

    def places(self, mean, side):
        """Return every admissible place as (distance, right of m, points)."""
        found = []
        sides = [getattr(point, side) for point in self.points]
        for point, leaning in zip(self.points, sides, strict=True):
            if leaning == 0:
                found.append((abs(point.z - mean), point.z > mean, [point]))
        for i, (left, right) in enumerate(zip(self.points, self.points[1:], strict=False)):
            if sides[i] < 0 < sides[i + 1]:
                distance = max(left.z - mean, mean - right.z, 0.0)
                found.append((distance, left.z > mean, [left, right]))
        return found

    def nearest(self, mean, side):
        """Return the point to play for a mean, or two neighbours that lean apart."""
        at = self.gap(mean)
        ends = self.points[at], self.points[at + 1]
        if all(getattr(end, side) == 0 for end in ends):
            return [min(ends, key=lambda end: end.charge(mean))]
        *_, points = min(self.places(mean, side), key=lambda place: place[:2])
        return points

    def is_bet(self, mean):
        """Return whether the round would be one that the purse pays for."""
        wanted = self.nearest(mean, "lenient_leaning")
        if len(wanted) > 1 or wanted[0].excess <= 0:
            return False
        return wanted[0].rise(0.0 if wanted[0].bias > 0 else 1.0) <= self.purse

    def place(self, mean):
        """Return the points to play for a mean, and their weights."""
        points = self.nearest(mean, "lenient_leaning")
        if not self.is_bet(mean) and (len(points) > 1 or points[0].excess > 0):
            points = self.nearest(mean, "leaning")
        if len(points) == 1:
            return points, [1.0]
        left, right = points
        if left.z == 0.0 or right.z == 1.0:
            return [right if left.z == 0.0 else left], [1.0]
        both = left.slope + right.slope
        return points, [right.slope / both, left.slope / both]

    def is_moved(self, mean, points):
        """Return whether what is played for a mean is no end of its gap, or is mixed."""
        at = self.gap(mean)
        is_mixed = points[0].excess > 0 and not self.is_bet(mean)
        return is_mixed or points[0] not in self.points[at : at + 2]

    def learn(self, mean, point, outcome, bet, lag=0):
        """Learn an outcome of a round that was a bet or not; the last came `lag` rounds late."""
        prompt = 1 / min(1 + lag / 2, 64)
        leaning = point.lenient_leaning if lag > 1 / 2 else point.leaning if not bet else 0
        if not leaning:
            self.purse += 0.15 * point.variance / point.noise
        if bet:
            self.pay(prompt * point.rise(outcome))
        point.visits += 1
        point.bias += point.z - outcome
        at, played = self.gap(mean), self.points.index(point)
        if leaning:
            gap = played if leaning < 0 else played - 1
            bold = max(1.0, self.patience())
            self.count(gap, prompt * self.patience() / 32 + (1 - prompt) * bold)
            if gap != at:
                self.count(self.gap(mean), prompt * self.patience() / 32 + (1 - prompt))
        elif self.purse >= 1 or (not bet and played in (at, at + 1)):
            self.count(at, 1.0)
        else:
            self.count(at, min(1.0, prompt * self.patience() / 32 + (1 - prompt)))

    def pay(self, amount):
        self.purse = max(0.0, self.purse - amount)

    def patience(self):
        return ((len(self.points) - 1) / 64) ** 2

    def count(self, at, rounds):
        """Count rounds for a gap, and cut it once they are enough."""
        left, right = self.points[at], self.points[at + 1]
        left.rounds_in_gap += rounds
        if left.rounds_in_gap * (right.theta - left.theta) ** 2 > self.patience():
            left.rounds_in_gap = 0.0
            middle = (left.theta + right.theta) / 2
            self.points.insert(at + 1, self.point(middle, lenient=self.lenient))
            self.purse += 1 / 2


class TwinStage:
    """A twin with the methods of the kernel."""

    def __init__(self, twin):
        self.twin, self.drawn, self.bet = twin, {}, False

    def place(self, mean):
        points, weights = self.twin.place(mean)
        self.bet = self.twin.is_bet(mean)
        self.drawn = {point.z: point for point in points}
        return points[0].z, points[-1].z, weights[0]

    def learn(self, mean, point, outcome):
        self.twin.learn(mean, self.drawn[point], outcome, self.bet)

    @property
    def purse(self):
        return self.twin.purse

    def is_bet(self, mean):
        return self.twin.is_bet(mean)

    def columns(self):
        names = {"theta": "theta", "z": "z", "v": "variance", "n": "visits", "S": "bias"}
        points = self.twin.points
        columns = {name: [getattr(point, word) for point in points] for name, word in names.items()}
        columns["g"] = [point.rounds_in_gap for point in points]
        return {name: np.array(column, dtype=float) for name, column in columns.items()}
