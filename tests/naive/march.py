"""March against a Zoom in plain Python, of this rule or of the one before."""

import math

EDGE = 0.02


class NaiveMarch:
    """Knows the state, not the draws; `level` says how narrow the gaps are that it visits."""

    def __init__(self, level, ratio, push, lead):
        self.target = math.pi / 2**level
        self.ratio, self.push, self.lead = ratio, push, lead
        self.turned = False  # has it been to the right end?

    def choose(self, zoom):
        """Return this round's outcome; it is called once a round."""
        low, high = zoom.crossing()
        points = zoom.points
        if low == high:
            # The rule before predicts a fresh point outright. In a gap of the target's width it
            # should over-predict; elsewhere March is on its way to the right.
            beside = points[low].theta - points[low - 1].theta
            return 0.0 if beside < 0.75 * self.target else 1.0
        bet = zoom.bet()
        if bet is not None:
            return 1.0 if bet == low else 0.0
        return float(self.walk(zoom, points[low], points[high]))

    def walk(self, zoom, left, right):
        """Return whether the outcome of a round without a bet is 1."""
        width = right.theta - left.theta
        coarse, fine = width > 1.5 * self.target, width < 0.75 * self.target
        if left is zoom.points[0]:
            return coarse and right.z > EDGE and right.imagined_bias > 1
        is_last = right is zoom.points[-1]
        if not self.turned:
            if is_last and left.z < 1 - EDGE:
                return not coarse or left.imagined_bias > -1
            if coarse and right.z < 1 - EDGE:
                return True
            self.turned = True
        if is_last or fine:
            return False
        rounds_left = zoom.threshold() / (width * width) - left.rounds_in_gap
        if not coarse:
            debt = self.push * right.imagined_bias / (1 - right.z)
            if rounds_left < debt + self.lead / math.sqrt(width):
                return right.imagined_bias > 1
        return left.weight < self.ratio * right.weight

    def play(self, zoom, rounds):
        """Return the predictions and outcomes of a game."""
        predictions, outcomes = [], []
        for _ in range(rounds):
            outcome = self.choose(zoom)
            predictions.append(zoom.predict())
            zoom.update(outcome)
            outcomes.append(outcome)
        return predictions, outcomes
