"""What the last outcomes say about the next, in plain Python; written from its description."""

import numpy as np

LASTING, PASSING = (1, 2, 3, 4, 6), (1, 2, 4)
PRIORS = np.array([0.998] + [0.002 / 8] * 8)
NOTHING = (0,) * 6


class Slots:
    """A multiple of the odds for each way that the last `order` outcomes can have come."""

    def __init__(self, order):
        self.order = order
        self.odds, self.curvature = {}, {}

    def key(self, past):
        return past[-self.order :]

    def move(self, q, past):
        return self.moved(q, self.odds.get(self.key(past), 1.0))

    @staticmethod
    def moved(q, odds):
        return q * odds / (1 - q + q * odds)

    def learn(self, past, p, y, least, weight):
        key = self.key(past)
        curvature = 0.999 * self.curvature.get(key, 1.0) + 0.001
        curvature += weight * max(p * (1 - p), 10 * least)
        step = weight * (y - p) / (curvature + max(0, (weight - 1) / 2))
        odds = self.odds.get(key, 1.0) * (2 + step) / (2 - step)
        self.odds[key], self.curvature[key] = min(max(odds, 1e-9), 1e9), curvature


class NaiveRecent:
    """The mixture's estimate against eight that also look at the last outcomes known."""

    def __init__(self, within):
        self.within = within
        self.lasting = [Slots(order) for order in LASTING]
        self.passing = [Slots(order) for order in PASSING]
        self.weights = PRIORS
        self.past = NOTHING

    def say(self, mean, lasting, past, least):
        """Return the mixture's mean, and what each expert makes of it after this past."""
        predicted = [slots.move(lasting, past) for slots in self.lasting]
        predicted += [slots.move(mean, past) for slots in self.passing]
        return np.array([mean, *(self.within(p, least) for p in predicted)])

    def smooth(self, estimate, lasting, variance, learned, least):
        """Return the estimate for ranking from the mixture's; memories of few events hardly count.

        `learned` is how far what was learned is heard at all.
        """
        heard = self.weights * (variance / (variance + 10 * np.array([0] + [1e-3] * 8))) ** 2
        heard[1:] *= learned
        return float(np.average(self.say(estimate, lasting, self.past, least), weights=heard))

    def learn(self, mean, lasting, past, y, least, weight=1):
        """Let the slots of a past learn, given what the mixture says now."""
        estimates = self.say(mean, lasting, past, least)[1:]
        for slots, p in zip(self.lasting + self.passing, estimates.tolist(), strict=True):
            slots.learn(past, p, y, least, weight)
        self.past = (*self.past[1:], int(y > 0.5))
