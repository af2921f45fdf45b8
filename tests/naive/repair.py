"""The repair of an estimate in plain Python, one place an object; written from its description."""

import math
from dataclasses import dataclass

PLACES = [step / 3 for step in range(-24, 25)]  # log odds


@dataclass
class Place:
    """Where a map knows what happened."""

    odds: float
    rate: float
    mean: float = math.nan
    met: float = 0.0

    def __post_init__(self):
        self.mean = 1 / (1 + math.exp(-self.odds))

    def learn(self, share, y):
        self.met += share
        moved = self.mean + share * max(1 / (self.met + 150), self.rate) * (y - self.mean)
        self.mean = min(max(moved, 1e-5), 1 - 1e-5)


class Map:
    def __init__(self, rate):
        self.places = [Place(odds, rate) for odds in PLACES]

    def shares(self, estimate):
        """Return the two places that an estimate lies between, and its share in each."""
        odds = min(max(math.log(estimate) - math.log1p(-estimate), -8.0), 8.0)
        above = next(i for i in range(1, len(PLACES)) if odds <= PLACES[i])
        left, right = self.places[above - 1], self.places[above]
        part = (odds - left.odds) / (right.odds - left.odds)
        return (left, 1 - part), (right, part)

    def say(self, estimate):
        return sum(share * place.mean for place, share in self.shares(estimate))

    def learn(self, estimate, y):
        for place, share in self.shares(estimate):
            place.learn(share, y)


class NaiveRepair:
    """The mixture of an estimate and of what two maps make of it."""

    def __init__(self):
        self.maps = [Map(0.0003), Map(0.003)]
        self.weights = [0.9, 0.05, 0.05]

    def say(self, estimate):
        """Return the estimate itself and what each map makes of it, then what goes on."""
        predicted = [estimate, *(each.say(estimate) for each in self.maps)]
        return predicted, sum(w * p for w, p in zip(self.weights, predicted, strict=True)) / sum(
            self.weights
        )

    def learn(self, predicted, y, likelihood):
        after = [w * likelihood(p, y) for w, p in zip(self.weights, predicted, strict=True)]
        self.weights = [
            (1 - 5e-5) * w / sum(after) + 5e-5 * back
            for w, back in zip(after, (0.5, 0.25, 0.25), strict=True)
        ]
        for each in self.maps:
            each.learn(predicted[0], y)
