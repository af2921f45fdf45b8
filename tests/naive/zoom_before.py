"""The rule that Zoom had before, with costs as weights: kept for the opponent who defeats it."""

import math
from dataclasses import dataclass

from naive.draws import Draws


@dataclass
class Point:
    """A point and the gap to its right."""

    theta: float
    z: float
    variance: float
    visits: int = 0
    bias: float = 0.0
    rounds_in_gap: int = 0

    @property
    def cost(self):
        return self.bias * self.bias / (self.visits * self.variance + 1)

    # What March reads: the bias by whose sign the side is decided, and its weight.
    @property
    def imagined_bias(self):
        return self.bias

    @property
    def weight(self):
        return self.cost


class NaiveZoomBefore:
    """The former default forecaster in plain Python."""

    FORGETTING = 0.25  # of the recent mean, per unit of width
    MARGIN = 1.0  # by how many forgettings of variance a bet must be clear
    GRANT = 0.5  # what a new point allows bets to cost
    PATIENCE = 0.5  # standard errors of a gap, per doubling of the number of gaps, before a cut

    def __init__(self, seed=0):
        self.draws = Draws(seed)
        half_turn = math.pi
        self.points = [
            Point(0.0, 0.0, 0.0),
            Point(half_turn / 2, 0.5, 0.25),
            Point(half_turn, 1.0, 0.0),
        ]
        self.recent_mean = 0.5
        self.purse = 0.0
        self.played = None

    def crossing(self):
        """Return a fresh point's index twice, or neighbours where the bias changes sign."""
        low, high = 0, len(self.points) - 1
        while high - low > 1:
            middle = (low + high) // 2
            if self.points[middle].visits == 0:
                return middle, middle
            if self.points[middle].bias <= 0:
                low = middle
            else:
                high = middle
        return low, high

    def distribution(self):
        """Return the indices that carry mass, their weights, and whether this is a bet."""
        low, high = self.crossing()
        if low == high or high == len(self.points) - 1:
            return [low], [1.0], False
        if low == 0:
            return [high], [1.0], False
        left, right = self.points[low], self.points[high]
        if self.purse > 0:
            margin = self.MARGIN * self.FORGETTING * (right.theta - left.theta)
            below, above = left.z - self.recent_mean, self.recent_mean - right.z
            if below > 0 and below * below >= margin * left.variance:
                return [low], [1.0], True
            if above > 0 and above * above >= margin * right.variance:
                return [high], [1.0], True
        if left.cost == 0:
            return [low], [1.0], False
        weight = right.cost / (left.cost + right.cost)
        return [low, high], [weight, 1 - weight], False

    def bet(self):
        """Return the index of the end that is bet on, or None."""
        indices, _, is_bet = self.distribution()
        return indices[0] if is_bet else None

    def threshold(self):
        """Return what g (width)^2 must pass before a gap is cut."""
        doublings = math.log2(len(self.points) - 1)
        return self.PATIENCE * self.PATIENCE * doublings * doublings

    def predict(self):
        if self.played is None:
            indices, weights, self.is_bet = self.distribution()
            self.played = self.draws.choose(indices, weights)
        return self.points[self.played].z

    def update(self, outcome):
        self.predict()
        low, high = self.crossing()
        width = self.points[low + 1].theta - self.points[low].theta
        point = self.points[self.played]
        cost_before = point.cost
        point.visits += 1
        point.bias += point.z - outcome
        if self.is_bet:
            self.purse += cost_before - point.cost
        self.recent_mean += self.FORGETTING * width * (outcome - self.recent_mean)
        self.played = None
        if low != high:
            self.points[low].rounds_in_gap += 1
            self.cut_if_earned(low, width)

    def cut_if_earned(self, low, width):
        if self.points[low].rounds_in_gap * width * width <= self.threshold():
            return
        theta = 0.5 * (self.points[low].theta + self.points[low + 1].theta)
        sine, cosine = math.sin(0.5 * theta), math.cos(0.5 * theta)
        if self.points[low].z < sine * sine < self.points[low + 1].z:
            fresh = Point(theta, sine * sine, (sine * sine) * (cosine * cosine))
            self.points.insert(low + 1, fresh)
            self.points[low].rounds_in_gap = 0
            self.purse += self.GRANT

    def run(self, outcomes):
        predictions = []
        for outcome in outcomes:
            predictions.append(self.predict())
            self.update(outcome)
        return predictions
