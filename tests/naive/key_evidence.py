"""The evidence of keys, slowly: written from its definition, a dictionary of keys.

Bets are kept in single precision, as in the definition.
"""

import math

import numpy as np

single = np.float32
SHRINK = single(1 - 2**-20)
UP = [single(math.exp(0.25)), single(math.exp(1.0))]
DOWN = [single(math.exp(-0.25)), single(math.exp(-1.0))]


class NaiveKeys:
    """Of one side: what is known of each key that had outcomes."""

    def __init__(self, every=1e6, tolerance=0.02, alpha=None):
        self.tolerance, self.alpha = tolerance, alpha
        self.threshold = every if alpha is None else 1 / alpha
        self.most = single(1000 * self.threshold / 0.08)
        self.bets, self.sums, self.t = {}, {}, 0

    def granted(self):
        if self.alpha is None:
            return single(1)
        t = self.t + 11.0
        return single(math.log(10.0) / (t * math.log(t) * math.log(t)))

    def leans_up(self, key):
        a, b, c, d = self.bets[key]
        return a + b >= c + d

    def update(self, key, p, y):
        if key not in self.bets:
            self.bets[key], self.sums[key] = [single(0)] * 4, (single(0), 0)
        was_up = self.leans_up(key)
        u, l = min(p + self.tolerance, 1.0), max(p - self.tolerance, 0.0)  # noqa: E741
        yes, no, after = single(y), single(1.0 - y), []
        for b, r, M in zip(UP + DOWN, [u, u, l, l], self.bets[key], strict=True):
            e = SHRINK * ((no + yes * b) / (single(1.0 - r) + single(r) * b))
            after.append(min(e * (M + self.granted()), self.most))
        self.bets[key] = after
        total, n = self.sums[key] if self.leans_up(key) == was_up else (single(0), 0)
        self.sums[key] = total + single(y - p), n + 1
        self.t += 1

    def evidence(self, key):
        return 0.08 * sum(float(M) for M in self.bets[key]) / 4
