"""Zoom, one point an object and one rule a line; written from its description, not its kernel."""

import math
from dataclasses import dataclass, replace

from calibrant._kernels import elementary
from naive.draws import Draws


@dataclass
class Point:
    """A point and the gap to its right."""

    theta: float
    z: float
    variance: float
    imagined_bias: float = 0.0  # the bias with one imaginary outcome: its sign decides the side
    visits: int = 0
    bias: float = 0.0
    rounds_in_gap: int = 0

    @property
    def spread(self):
        return self.visits * self.variance + 1

    @property
    def next_spread(self):
        return (self.visits + 1) * self.variance + 1

    @property
    def weight(self):
        """The slope |R| / ((n + 1) v + 1) of the cost: each end is drawn with the other's."""
        return abs(self.imagined_bias) / self.next_spread

    @property
    def cost(self):
        return (self.imagined_bias + (0.5 - self.z)) ** 2 / self.spread

    def rise(self, outcome):
        """Return by how much one more visit with this outcome would raise the cost."""
        before = self.imagined_bias + (0.5 - self.z)
        after = before + (self.z - outcome)
        common = self.spread * self.next_spread
        return (after * after * self.spread - before * before * self.next_spread) / common


class NaiveZoom:
    """The default forecaster in plain Python; a subclass may change a constant or a choice."""

    Point = Point
    FORGETTING = 0.25  # of the recent mean, per unit of width
    MARGIN = 1.0  # by how many forgettings of variance a bet must be clear
    GRANT = 0.5  # what a new point allows bets to cost
    PATIENCE = 0.4  # of a cut, per square of the doublings that the gaps stand for
    HOPELESS = 64  # a cost above this, times 1 + log(rounds), is written off

    def __init__(self, seed=0):
        self.draws = Draws(seed)
        half_turn = math.pi
        self.points = [
            self.Point(0.0, 0.0, 0.0),
            self.Point(half_turn / 2, 0.5, 0.25),
            self.Point(half_turn, 1.0, 0.0),
        ]
        self.recent_mean = 0.5
        self.purse = 0.0
        self.squares = 0.0  # of the widths, over the rounds that were no bets
        self.played = None
        self.rounds = 0
        self.retired = []  # points as they were when they started anew

    def crossing(self):
        """Return neighbours where the imagined bias changes sign."""
        low, high = 0, len(self.points) - 1
        while high - low > 1:
            middle = (low + high) // 2
            if self.points[middle].imagined_bias <= 0:
                low = middle
            else:
                high = middle
        return low, high

    def bet(self):
        """Return the index of the end that the recent mean and the purse bet on, or None."""
        low, high = self.crossing()
        if low == 0 or high == len(self.points) - 1:
            return None
        left, right = self.points[low], self.points[high]
        margin = self.MARGIN * self.FORGETTING * (right.theta - left.theta)
        below, above = left.z - self.recent_mean, self.recent_mean - right.z
        if below > 0 and below * below >= margin * left.variance:
            return low if self.affordable(left.rise(1.0)) else None
        if above > 0 and above * above >= margin * right.variance:
            return high if self.affordable(right.rise(0.0)) else None
        return None

    def affordable(self, worst):
        return self.purse > 0 and self.purse >= worst

    def distribution(self):
        """Return the indices that carry mass, and their weights."""
        low, high = self.crossing()
        if high == len(self.points) - 1:
            return [low], [1.0]
        if low == 0:
            return [high], [1.0]
        chosen = self.bet()
        if chosen is not None:
            return [chosen], [1.0]
        left, right = self.points[low], self.points[high]
        if left.imagined_bias == 0:
            return [low], [1.0]
        weight = self.share_of_left(left, right)
        return [low, high], [weight, 1 - weight]

    def share_of_left(self, left, right):
        """Return right.weight / (left.weight + right.weight), over a common denominator."""
        for_left = right.imagined_bias * left.next_spread
        for_right = -left.imagined_bias * right.next_spread
        return for_left / (for_left + for_right)

    def threshold(self):
        """Return what g (width)^2 must pass before a gap is cut."""
        doublings = elementary.log2(len(self.points) - 1)
        return self.PATIENCE * doublings * doublings

    def predict(self):
        if self.played is None:
            self.played = self.draws.choose(*self.distribution())
        return self.points[self.played].z

    def update(self, outcome):
        self.predict()
        low, high = self.crossing()
        width = self.points[high].theta - self.points[low].theta
        point = self.points[self.played]
        if self.bet() is None:
            self.squares += width * width
        else:
            self.purse = max(0.0, self.purse - point.rise(outcome))
        point.visits += 1
        point.bias += point.z - outcome
        point.imagined_bias += point.z - outcome
        self.recent_mean += self.FORGETTING * width * (outcome - self.recent_mean)
        self.rounds += 1
        if point.cost > self.HOPELESS * (1 + elementary.log(self.rounds)):
            self.retire(point)
        self.played = None
        self.points[low].rounds_in_gap += 1
        self.cut_if_earned(low, width)

    def cut_if_earned(self, low, width):
        if self.points[low].rounds_in_gap * (width * width) <= self.threshold():
            return
        theta = 0.5 * (self.points[low].theta + self.points[low + 1].theta)
        sine, cosine = elementary.sin(0.5 * theta), elementary.cos(0.5 * theta)
        z = sine * sine
        if self.points[low].z < z < self.points[low + 1].z:
            self.points.insert(low + 1, self.fresh(theta, z, z * (cosine * cosine)))
            self.points[low].rounds_in_gap = 0
            self.purse += self.GRANT

    def retire(self, point):
        """Let a point start a new life at the same place."""
        self.retired.append(replace(point))
        point.visits, point.bias, point.imagined_bias = 0, 0.0, point.z - self.recent_mean

    def fresh(self, theta, z, variance):
        return self.Point(theta, z, variance, z - self.recent_mean)

    def run(self, outcomes):
        predictions = []
        for outcome in outcomes:
            predictions.append(self.predict())
            self.update(outcome)
        return predictions
