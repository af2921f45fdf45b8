"""Restarting from Algorithm `meta_alg_piecewise`, with a fresh base for every sub-block."""

import math

import numpy as np

from naive.interval import Interval
from naive.refined import Refined


class Uniform:
    """Interval on the equal intervals of Theorem `CalL1_knownC`; all rounds are kept."""

    def __init__(self, *, C, horizon, delta, constants):
        logs = math.log(horizon / delta) * math.log(horizon)
        N = math.ceil(min(math.sqrt(horizon / logs), (horizon**2 / ((1 + C) * logs)) ** (1 / 3)))
        self.points = np.array([i / N for i in range(N + 1)])
        cap, correction = (1 / 16, 0.53) if constants == "tuned" else (1 / 64, 32)
        self.base = Interval(self.points, horizon, cap, correction)
        self.rounds = []

    def place(self):
        P = np.zeros(len(self.points))
        self.played = self.base.place()
        for i, share in zip(*self.played[:2], strict=True):
            P[i + 1] += share
        return P

    def learn(self, _P, drawn, y):
        self.base.learn(*self.played, y)
        self.rounds.append((drawn, y))

    def error(self):
        """Return Cal1."""
        return sum(
            abs(sum(y - self.points[at] for drawn, y in self.rounds if drawn == at))
            for at in range(len(self.points))
        )


class Restarting:
    """`U` has the four coefficients of the certificate."""

    def __init__(self, measure, U, *, base="refined", horizon=None, delta=0.05, constants="tuned"):
        self.measure, self.U, self.kind = measure, U, base
        self.tuned = constants == "tuned"
        self.horizon = None if self.tuned else horizon
        if not self.tuned:
            T = 2**62 if horizon is None else horizon
            delta = delta / (10 * T**2 * math.ceil(math.log(8 + T) / math.log(8)))
        self.settings = {"horizon": horizon, "delta": delta, "constants": constants}
        self.t, self.history = 0, []
        self.open_block(1)

    def certificate(self, n, C):
        c0, c1, d0, d1 = self.U
        if self.measure == "l1":
            return c0 * math.sqrt(n) + d0 * (C * n) ** (1 / 3)
        M = math.log2(n + 1)
        return c0 + c1 * M + (d0 + d1 * M) * C ** (1 / 3)

    def open_block(self, b):
        n = max(2 * self.t, 64) if self.horizon is None else self.horizon
        ratio = self.certificate(n, 8**b) / self.certificate(n, 0)
        self.b, self.G = b, math.ceil(ratio**2 if self.measure == "l1" else ratio)
        self.open_sub_block(1)

    def open_sub_block(self, number):
        self.sub_block, self.start = number, self.t
        self.guess = 0 if number <= self.G else 8**self.b
        if self.kind == "interval":
            self.base = Uniform(C=self.guess, **self.settings)
        elif self.kind == "swap":  # Corollary `Cal2_bound_implied_by_PCal2`, with Err = Cal2
            self.base = Refined("pseudo_l2", C=self.guess, drawn=True, **self.settings)
        else:
            self.base = Refined(self.measure, C=self.guess, **self.settings)

    def threshold(self):
        if self.sub_block <= self.G:
            return self.certificate(self.t - self.start, 0)
        return self.certificate(self.horizon or self.t, 8**self.b)

    def row(self, end):
        return (self.b, self.sub_block, self.G + 1, self.guess, self.start, end)

    def place(self):
        return self.base.place()

    def learn(self, P, drawn, y):
        self.base.learn(P, drawn, y)
        self.t += 1
        error, threshold = self.base.error(), self.threshold()
        if error > threshold:
            self.history.append((*self.row(self.t), error, threshold))
            if self.sub_block > self.G:
                self.open_block(self.b + 1)
            else:
                self.open_sub_block(self.sub_block + 1)
