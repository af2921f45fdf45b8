"""Refined from the paper's algorithms: exact partitions, whole histories, errors by definition."""

import math
from fractions import Fraction
from itertools import chain

import numpy as np

from naive.interval import Experts, Interval
from naive.partitions import refined, unif_part
from naive.swap import Swap


def theta(p):
    return 2 * math.asin(math.sqrt(p))


def psi(angle):
    return math.sin(angle / 2) ** 2


def kl(rho, p):
    return sum(a * math.log(a / b) for a, b in ((rho, p), (1 - rho, 1 - p)) if a > 0)


def paper_parameters(measure, C, T, delta, s, n):
    """Return r and B as printed, and N as a function of the length of the inner region."""
    iota = math.log(T / delta)
    if measure == "pseudo_kl":
        r = 2 * math.pi * math.sqrt((iota + C) / n)
    else:
        r = math.sqrt(iota / n) + C / n

    def inner(length):
        fine = math.ceil(s ** (1 / 3) * length ** (2 / 3) * iota ** (-1 / 3))
        return max(fine, math.ceil(2 * length / math.pi)) if measure == "pseudo_kl" else fine

    B = {
        "l1": ((1 + C) ** 2 / (iota * T)) ** (1 / 3),
        "l2": ((1 + C) / iota) ** (1 / 3),
        "pseudo_l2": (1 + C) ** (1 / 3) / iota,
        "pseudo_kl": max(2, ((1 + C) / math.log(T) ** 2) ** (1 / 3)),
    }[measure]
    return r, inner, math.ceil(B)


def tuned_parameters(measure, C, s, n, y_hat):
    """Return the same with the tuned numbers; N is not rounded."""
    if measure == "pseudo_kl":
        r = 1.5 / math.sqrt(n) + math.sqrt(C / n)
    else:
        r = 1.5 * math.sqrt(max(y_hat * (1 - y_hat), 1 / n) / n) + C / n

    def inner(length):
        fine = (s * length**2) ** (1 / 3)
        return max(fine, 2 * length / math.pi) if measure == "pseudo_kl" else fine

    B = ((1 + C) ** 2 / (8 * s)) ** (1 / 3) if measure == "l1" else ((1 + C) / 4) ** (1 / 3)
    return r, inner, max(math.ceil(B), 2 if measure == "pseudo_kl" else 1)


def edges_of(intervals):
    return sorted({float(end) for J in intervals for end in (J.low, J.high)})


def anchored_edges(x, r, inner, B, low, high):
    """Return the edges of `refined`, but with the two sides of x cut apart."""
    intervals = refined(x, r, 1, B, low=low, high=high)
    a, b = max(Fraction(x) - 2 * Fraction(r), low), min(Fraction(x) + 2 * Fraction(r), high)
    intervals.remove(next(J for J in intervals if (J.low, J.high) == (a, b)))
    count = inner(float(b - a))
    for end, start in ((x, a), (b, x)):
        if end > start:
            share = float((Fraction(end) - Fraction(start)) / (b - a))
            parts = max(1, math.ceil(count * share - 1e-9))
            intervals += unif_part(Fraction(start), Fraction(end), parts, True, True)
    return edges_of(intervals)


class Learners(Swap):
    """Swap whose learners count their prior as n0 rounds."""

    def __init__(self, z, loss, prior, n0):
        self.n0 = n0
        super().__init__(z, loss, prior)

    def action(self, s):
        if not self.history[s] or self.n0 is None:
            return super().action(s)
        mass, positives = np.sum([(p, p * y) for p, y in self.history[s]], axis=0)
        return (self.n0 * self.prior + positives) / (self.n0 + mass)


class Refined:
    """All rounds of all epochs are kept; `place` and `learn` make one."""

    def __init__(self, measure, *, C=0.0, horizon=None, delta=0.05, constants="tuned", drawn=False):
        self.measure, self.C, self.horizon, self.delta = measure, C, horizon, delta
        self.tuned = constants == "tuned"
        self.swaps = measure.startswith("pseudo")
        self.drawn = drawn or not self.swaps  # does the error count predictions, not P_t?
        self.epochs = [[]]  # of each, the rounds (P_t by point, the point drawn, y)
        self.points = np.array([0.5])

    def open_epoch(self):
        m = len(self.epochs) + 1
        s = 2**m
        rounds = list(chain(*self.epochs)) if self.tuned else self.epochs[-1]
        n, y_hat = len(rounds), min(sum(y for _, _, y in rounds) / len(rounds), 1)
        T = 2 * s if self.tuned or self.horizon is None else self.horizon
        low, high, x = Fraction(0), Fraction(1), y_hat
        if self.measure == "pseudo_kl":
            low = Fraction(theta(1 / (T + 1)))
            high = Fraction(math.pi) - low
            x = theta(y_hat)
        if self.tuned:
            x = float(min(max(x, low), high))  # an edge lies there
            r, inner, B = tuned_parameters(self.measure, self.C, s, n, y_hat)
            edges = anchored_edges(x, r, inner, B, low, high)
        else:
            r, inner, B = paper_parameters(self.measure, self.C, T, self.delta, s, n)
            region = min(x + 2 * r, float(high)) - max(x - 2 * r, float(low))
            edges = edges_of(refined(x, r, inner(region), B, low=low, high=high))
        self.points = np.array(edges)
        if self.measure == "pseudo_kl":
            self.points, x = np.array([psi(edge) for edge in edges]), psi(x)
        if self.swaps:
            loss = "log" if self.measure == "pseudo_kl" else "squared"
            n0 = (2 if self.C > 0 else max(2, n / 4)) if self.tuned else None
            self.base = Learners(self.points, loss, x if self.tuned else 0.5, n0)
        elif self.tuned:
            self.base = self.tuned_interval(s, x, r)
            self.upper = self.points[1:] <= x
        else:
            self.base = Interval(self.points, T, 1 / 64, 32)
            self.upper = np.full(len(edges) - 1, True)
        self.epochs.append([])

    def tuned_interval(self, s, x, r):
        left, right = self.points[:-1], self.points[1:]
        inside = (left >= x - 2 * r - 1e-12) & (right <= x + 2 * r + 1e-12)
        trust = np.where(inside, *((0.5, 0.7) if self.C > 0 else (0.97, 0.9)))
        plus = np.where(left >= x, trust, 1 - trust)
        base = Interval(self.points, s, 1 / 16, 1)
        base.experts = Experts(np.concatenate([plus, 1 - plus]), s, 1 / 16, 1)
        return base

    def place(self):
        """Return P_t over all points of the epoch."""
        P = np.zeros(len(self.points))
        if len(self.epochs) == 1:
            P[0] = 1
        elif self.swaps:
            P = self.base.place()
        else:
            self.intervals, self.shares, self.u = self.base.place()
            for i, share in zip(self.intervals, self.shares, strict=True):
                P[i + self.upper[i]] += share
        return P

    def learn(self, P, drawn, y):
        """Learn an outcome; P is what the round's distribution is taken to have been."""
        self.epochs[-1].append((dict(zip(self.points, P, strict=True)), self.points[drawn], y))
        if len(self.epochs) > 1:
            if self.swaps:
                self.base.learn(P, drawn, y)
            else:
                self.base.learn(self.intervals, self.shares, self.u, y)
        if len(self.epochs[-1]) == 2 ** len(self.epochs):
            self.open_epoch()

    def error(self):
        return sum(self.error_of(rounds) for rounds in self.epochs)

    def error_of(self, rounds):
        n, s = {}, {}
        for P, drawn, y in rounds:
            for point, mass in ({drawn: 1.0} if self.drawn else P).items():
                n[point] = n.get(point, 0.0) + mass
                s[point] = s.get(point, 0.0) + mass * y
        term = {
            "l1": lambda rho, p: abs(rho - p),
            "l2": lambda rho, p: (rho - p) ** 2,
            "pseudo_l2": lambda rho, p: (rho - p) ** 2,
            "pseudo_kl": lambda rho, p: kl(min(rho, 1.0), p),
        }[self.measure]
        return sum(n[p] * term(s[p] / n[p], p) for p in n if n[p] > 0)
