"""The evidence of keys, slowly: written from its definition, a dictionary of keys.

Cash is kept in single precision, as in the definition, and rounded down where rounds wait.
"""

import math

import numpy as np

single = np.float32
SHRINK = single(1 - 2**-20)
UP = [single(math.exp(0.25)), single(math.exp(1.0))]
DOWN = [single(math.exp(-0.25)), single(math.exp(-1.0))]
LEVERAGES = [1.5, 4.2, 1.5, 4.2]


def rounded_down(x):
    near = single(x)
    return np.nextafter(near, single(0)) if float(near) > x else near


class NaiveKey:
    def __init__(self):
        self.cash, self.total, self.n = [single(0)] * 4, single(0), 0
        # Stakes, and what they may lose, by round.
        self.waiting, self.D, self.predicted = {}, 1.0, None
        self.is_named = False


class NaiveKeys:
    """Of one side: what is known of each key that was predicted."""

    def __init__(self, every=1e6, tolerance=0.02, alpha=None):
        self.tolerance, self.alpha = tolerance, alpha
        self.threshold = every if alpha is None else 1 / alpha
        self.most = single(1000 * self.threshold / 0.08)
        self.keys, self.t = {}, 0

    def granted(self):
        if self.alpha is None:
            return single(1)
        t = self.t + 11.0
        return single(math.log(10.0) / (t * math.log(t) * math.log(t)))

    def factors(self, p, y):
        """Return e of the four bets at an outcome."""
        u, l = min(p + self.tolerance, 1.0), max(p - self.tolerance, 0.0)  # noqa: E741
        yes, no = single(y), single(1.0 - y)
        return [
            SHRINK * ((no + yes * b) / (single(1.0 - r) + single(r) * b))
            for b, r in zip(UP + DOWN, [u, u, l, l], strict=True)
        ]

    def worst(self, p):
        return self.factors(p, 0.0)[:2] + self.factors(p, 1.0)[2:]

    def predict(self, key, p, round_):
        own = self.keys.setdefault(key, NaiveKey())
        if own.D == 1.0 and not own.waiting:
            own.predicted = single(p)
        own.predicted = single(own.predicted + (single(p) - own.predicted) / single(16))
        own.D = max(own.D - 0.125, len(own.waiting) + 1.0)
        losses = [1.0 - float(e) for e in self.worst(float(own.predicted))]
        stakes, after = [], []
        for k, (e, M) in enumerate(zip(self.worst(p), own.cash, strict=True)):
            owned, l = single(M + self.granted()), min(losses[k], losses[(k + 2) % 4])  # noqa: E741
            share = 1.0 if own.D == 1.0 else min(1.0, max(LEVERAGES[k], l) / (own.D * l))
            stakes.append(rounded_down(share * float(owned)))
            after.append(rounded_down(float(owned) - float(stakes[k]) * (1.0 - float(e))))
        lost = sum(float(s) * (1.0 - float(e)) for s, e in zip(stakes, self.worst(p), strict=True))
        own.cash, own.waiting[round_] = after, (stakes, lost)
        self.t += 1

    def settle(self, key, p, round_, y):
        own = self.keys[key]
        stakes, _ = own.waiting.pop(round_)
        before = stakes if own.D == 1.0 else own.cash
        was_up = before[0] + before[1] >= before[2] + before[3]
        paid = []
        for s, M, e, least in zip(stakes, own.cash, self.factors(p, y), self.worst(p), strict=True):
            whole = e * s  # all there was, if no other round waited beside it
            more = rounded_down(float(M) + float(s) * (float(e) - float(least)))
            paid.append(min(whole if own.D == 1.0 else more, self.most))
        own.cash = paid
        if (paid[0] + paid[1] >= paid[2] + paid[3]) != was_up:
            own.total, own.n = single(0), 0
        own.total, own.n = own.total + single(y - p), own.n + 1
        self.name(own)

    def drop(self, key, round_):
        del self.keys[key].waiting[round_]
        self.name(self.keys[key])

    def owned(self, own):
        """What a key has: cash, and what is put aside for stakes."""
        return sum(map(float, own.cash)) + sum(lost for _, lost in own.waiting.values())

    def name(self, own):
        """Cash names a key, and all that it owns keeps it named."""
        if 0.08 * sum(map(float, own.cash)) / 4 >= self.threshold:
            own.is_named = True
        elif 0.08 * self.owned(own) / 4 < self.threshold:
            own.is_named = False

    def update(self, key, p, y):
        """Take a round whose outcome arrives before the next prediction."""
        self.predict(key, p, "now")
        self.settle(key, p, "now", y)

    def evidence(self, key):
        own = self.keys[key]
        if own.is_named:
            return max(0.08 * self.owned(own) / 4, self.threshold)
        return 0.08 * sum(map(float, own.cash)) / 4
