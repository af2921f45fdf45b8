"""Restarting from Algorithm `meta_alg_piecewise`, with a fresh Refined for every sub-block."""

import math

from naive.refined import Refined


class Restarting:
    """`U` has the four coefficients of the certificate."""

    def __init__(self, measure, U, *, horizon=None, delta=0.05, constants="tuned"):
        self.measure, self.U = measure, U
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
