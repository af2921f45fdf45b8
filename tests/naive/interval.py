"""Interval and MsMwC from their formulas: dense, and with a root finder for the normaliser."""

import math

import numpy as np
from scipy.optimize import brentq

from naive.draws import Draws


class Experts:
    """MsMwC with m_t = 0; `loss` has one entry for each of the d experts."""

    def __init__(self, start, T, cap, correction):
        d = len(start)
        self.log_dT = math.log(d * T)
        self.floor = 1 / (d * T)
        self.cap, self.correction = cap, correction
        self.squares = np.zeros(d)
        self.w = self.normalised(np.asarray(start) / np.sum(start), np.full(d, cap))

    def rates(self):
        with np.errstate(divide="ignore"):
            return np.minimum(self.cap, np.sqrt(self.log_dT / self.squares))

    def normalised(self, raw, eta):
        def weights(lam):
            return np.maximum(self.floor, raw * np.exp(-eta * lam))

        def excess(lam):
            return weights(lam).sum() - 1

        reach = 1.0
        while excess(-reach) < 0 or excess(reach) > 0:
            reach *= 2
        return weights(brentq(excess, -reach, reach, xtol=1e-18, rtol=1e-15, maxiter=500))

    def learn(self, loss):
        eta = self.rates()
        raw = self.w * np.exp(-eta * (loss + self.correction * eta * loss**2))
        self.w = self.normalised(raw, eta)
        self.squares += loss**2


class Interval:
    """One block of Algorithm `cal1_knownC` on the intervals between `edges`."""

    def __init__(self, edges, T, cap, correction, *, y_hat=None, trust=0.5):
        self.edges = np.asarray(edges)
        self.N = len(edges) - 1
        plus = np.full(self.N, 0.5)
        if y_hat is not None:
            plus[self.edges[1:] <= y_hat] = 1 - trust
            plus[self.edges[:-1] >= y_hat] = trust
        self.experts = Experts(np.concatenate([plus, 1 - plus]), T, cap, correction)

    def phi(self):
        return self.experts.w[: self.N] - self.experts.w[self.N :]

    def place(self):
        """Return the intervals played, their probabilities, and the point they are charged for."""
        phi = self.phi()
        if phi[0] > 0:
            return [0], [1.0], self.edges[0]
        if phi[-1] <= 0:
            return [self.N - 1], [1.0], self.edges[-1]
        left, right = 0, self.N - 1
        while right - left > 1:
            middle = (left + right) // 2
            left, right = (left, middle) if phi[middle] > 0 else (middle, right)
        share = abs(phi[right]) / (abs(phi[left]) + abs(phi[right]))
        return [left, right], [share, 1 - share], self.edges[right]

    def learn(self, intervals, probabilities, u, y):
        gain = np.zeros(2 * self.N)
        for i, probability in zip(intervals, probabilities, strict=True):
            gain[i] = probability * (u - y)
            gain[self.N + i] = -probability * (u - y)
        self.experts.learn(-gain)


def interval(outcomes, edges_for, horizon, constants, seed):
    """Return predictions, distributions and the last weights; horizon None means blocks."""
    cap, correction, trust = constants
    T = 64 if horizon is None else horizon
    block = Interval(edges_for(T), T, cap, correction)
    draws, seen = Draws(seed), []
    predictions, distributions = [], []
    for y in outcomes:
        intervals, probabilities, u = block.place()
        points = [block.edges[i + 1] for i in intervals]
        predictions.append(draws.choose(points, probabilities))
        distributions.append((points, probabilities))
        block.learn(intervals, probabilities, u, y)
        seen.append(y)
        if horizon is None and len(seen) == T:
            T *= 8
            block = Interval(edges_for(T), T, cap, correction, y_hat=np.mean(seen), trust=trust)
            seen = []
    return predictions, distributions, block.experts.w
