"""The safe stage in plain Python, one point an object; written from its description."""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np


def steep(x):
    return x**2 * math.log1p(x) if x > 0 else 0.0


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
        """The variance of the bias after the next visit, and 1."""
        return (self.visits + 1) * self.variance + 1

    @property
    def excess(self):
        """By how much the bias is more than chance explains."""
        return abs(self.bias) - math.sqrt((2 + self.lenient * math.log(self.noise)) * self.noise)

    @property
    def slope(self):
        """By how much the cost after the next visit differs between its two outcomes."""
        return (steep(self.excess) - steep(self.excess - 1)) / self.noise

    @property
    def leaning(self):
        if self.z in (0.0, 1.0):
            return -1 if self.z == 0.0 else 1
        return 0 if self.excess <= 0 else int(math.copysign(1, self.bias))

    def charge(self, mean):
        distance = self.z - mean
        return distance**2 + self.variance * self.bias / self.noise * distance / 2


class NaiveSafe:
    """Where to play for a mean, and what becomes of the grid after the outcome."""

    point = Point

    def __init__(self, lenient=1.5):
        self.lenient = lenient
        self.points = [self.point(math.pi * i / 32, lenient=lenient) for i in range(33)]

    def gap(self, mean):
        return max(i for i, point in enumerate(self.points) if point.z <= mean)

    def places(self, mean):
        """Return every admissible place as (distance, right of m, points, weights)."""
        found = []
        for point in self.points:
            if point.leaning == 0:
                found.append((abs(point.z - mean), point.z > mean, [point], [1.0]))
        for left, right in zip(self.points, self.points[1:], strict=False):
            if left.leaning < 0 < right.leaning:
                distance = max(left.z - mean, mean - right.z, 0.0)
                if left.z == 0.0 or right.z == 1.0:
                    points, weights = [right if left.z == 0.0 else left], [1.0]
                else:
                    both = left.slope + right.slope
                    points, weights = [left, right], [right.slope / both, left.slope / both]
                found.append((distance, left.z > mean, points, weights))
        return found

    def place(self, mean):
        """Return the points to play for a mean, and their weights."""
        at = self.gap(mean)
        ends = self.points[at], self.points[at + 1]
        if all(end.leaning == 0 for end in ends):
            return [min(ends, key=lambda end: end.charge(mean))], [1.0]
        *_, points, weights = min(self.places(mean), key=lambda place: place[:2])
        return points, weights

    def is_moved(self, mean, points):
        """Return whether what is played for a mean is no neutral end of its gap."""
        at = self.gap(mean)
        return (
            len(points) > 1 or points[0].leaning != 0 or points[0] not in self.points[at : at + 2]
        )

    def learn(self, mean, point, outcome):
        leaning, played = point.leaning, self.points.index(point)
        point.visits += 1
        point.bias += point.z - outcome
        elsewhere = True
        if leaning:
            at = played if leaning < 0 else played - 1
            elsewhere = at != self.gap(mean)
            self.count(at, max(1.0, self.patience()))
        if elsewhere:
            self.count(self.gap(mean), 1.0)

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


class PointBefore(Point):
    """A point of the rule before: the excess of a squared bias, and slopes of its square."""

    @property
    def excess(self):
        noise = self.visits * self.variance + 1
        return self.bias**2 / noise - 2 - 1.5 * math.log(noise)

    @property
    def slope(self):
        return self.excess * abs(self.bias) / self.noise


class NaiveSafeBefore(NaiveSafe):
    """The rule before: outcomes count only for the gap that holds the mean."""

    point = PointBefore

    def learn(self, mean, point, outcome):
        point.visits += 1
        point.bias += point.z - outcome
        self.count(self.gap(mean), 1.0)


class TwinStage:
    """A twin with the methods of the kernel."""

    def __init__(self, twin):
        self.twin, self.drawn = twin, {}

    def place(self, mean):
        points, weights = self.twin.place(mean)
        self.drawn = {point.z: point for point in points}
        return points[0].z, points[-1].z, weights[0]

    def learn(self, mean, point, outcome):
        self.twin.learn(mean, self.drawn[point], outcome)

    def columns(self):
        names = {"theta": "theta", "z": "z", "v": "variance", "n": "visits", "S": "bias"}
        points = self.twin.points
        columns = {name: [getattr(point, word) for point in points] for name, word in names.items()}
        columns["g"] = [point.rounds_in_gap for point in points]
        return {name: np.array(column, dtype=float) for name, column in columns.items()}
