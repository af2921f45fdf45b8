"""The earlier rule of Zoom, with costs as weights: kept for the opponent that defeats it."""

from dataclasses import dataclass

from naive.zoom import NaiveZoom


@dataclass
class PointBefore:
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

    def rise(self, outcome):
        """Return by how much one more visit with this outcome would raise the cost."""
        bias, visits = self.bias + (self.z - outcome), self.visits + 1
        return bias * bias / (visits * self.variance + 1) - self.cost


class NaiveZoomBefore(NaiveZoom):
    """The former default forecaster: a fresh point is played at once, and any bet can be paid."""

    Point = PointBefore
    PATIENCE = 0.25  # the square of half a standard error of a gap, per doubling of the gaps

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

    def bet(self):
        low, high = self.crossing()
        return None if low == high else super().bet()

    def affordable(self, worst):  # noqa: ARG002
        return self.purse > 0

    def share_of_left(self, left, right):
        return right.cost / (left.cost + right.cost)

    def update(self, outcome):
        self.predict()
        low, high = self.crossing()
        width = self.points[low + 1].theta - self.points[low].theta
        point = self.points[self.played]
        if self.bet() is not None:
            self.purse -= point.rise(outcome)
        point.visits += 1
        point.bias += point.z - outcome
        self.recent_mean += self.FORGETTING * width * (outcome - self.recent_mean)
        self.played = None
        if low != high:
            self.points[low].rounds_in_gap += 1
            self.cut_if_earned(low, width)

    def fresh(self, theta, z, variance):
        return self.Point(theta, z, variance)
