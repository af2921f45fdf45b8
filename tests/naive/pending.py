"""The model of silence in plain Python: every prediction is kept, and counted again at each fit."""

import math
from collections import defaultdict
from dataclasses import dataclass, field

import numpy as np

MEMORIES = [1.5, 0.5, 0.17, 0.06]
PRIORS = [0.1, 0.225, 0.225, 0.225, 0.225]


def sigmoid(x):
    return 1 / (1 + math.exp(-x))


def logit(p):
    return math.log(p) - math.log1p(-p)


def range_of(x):
    return min(max(math.floor(x) + 8, 0), 15)


@dataclass(eq=False)
class Row:
    at: float
    due: float
    x: float  # logit of the score
    predicted: list  # the waiting estimate first
    moved: float  # the estimate of all together
    corrected: float
    slice: int
    kind: tuple  # range of scores and class of span
    came: float = math.inf


class Correction:
    """A logistic regression on the logits of score, waiting and moved estimate, from deadlines."""

    def __init__(self):
        self.factors = np.array([0.0, 0.0, 1.0, 0.0])
        self.curvature = np.zeros((4, 4))
        self.trust = 0.5

    def estimate(self, x, mean, moved):
        return sigmoid(float(self.factors @ self.features(x, mean, moved)))

    def features(self, x, mean, moved):
        return np.array([x, logit(mean), logit(moved), 1.0])

    def mix(self, x, mean, moved):
        return self.trust * moved + (1 - self.trust) * self.estimate(x, mean, moved)

    def learn(self, row, happened, waiting):
        old, new = (p if happened else 1 - p for p in (row.moved, row.corrected))
        old, new = self.trust * old**0.05, (1 - self.trust) * new**0.05
        self.trust = (1 - 5e-5) * old / (old + new) + 5e-5 * 0.5
        f = self.features(row.x, row.predicted[0], row.moved)
        p = self.estimate(row.x, row.predicted[0], row.moved)
        self.curvature += max(p * (1 - p), 1e-3) * np.outer(f, f)
        damped = self.curvature + max(waiting, 100) * np.eye(4)
        self.factors = self.factors - np.linalg.solve(damped, (p - happened) * f)


@dataclass
class Pending:
    """Events are ones here; silence=1 is the same with every probability turned round."""

    rows: list = field(default_factory=list)
    starts: list = field(default_factory=list)  # of all slices
    ages: list = field(default_factory=list)  # (range, age) of events, oldest first
    weights: list = field(default_factory=lambda: list(PRIORS))
    moves: list = field(default_factory=lambda: [0.0] * 4)
    recent: list = field(default_factory=lambda: [0.0] * 4)
    span: float = 0.0
    reference: float = 0.0
    has_new_slice: bool = False
    correction: Correction = field(default_factory=Correction)
    waiting: int = 0

    @property
    def is_stale(self):
        events = sum((1 - 0.002) ** older for older in range(len(self.ages)))
        return self.has_new_slice and events >= 10

    def estimates(self, mean):
        return [mean] + [sigmoid(logit(mean) + c) for c in self.moves]

    def mix(self, probability, mean):
        return self.correction.mix(logit(probability), mean, self.moved(mean))

    def moved(self, mean):
        waiting, *moved = self.estimates(mean)
        shares = [w * math.exp(r) for w, r in zip(self.weights[1:], self.recent, strict=True)]
        estimate = sum(w * p for w, p in zip(shares, moved, strict=True)) / sum(shares)
        return self.weights[0] * waiting + (1 - self.weights[0]) * estimate

    def open(self, probability, mean, at, due):
        if not self.rows:
            self.span = self.reference = due - at
        if not self.starts or at >= self.starts[-1] + self.span / 30:
            self.starts.append(at)
            self.has_new_slice = True
        level = math.floor(8 * math.log2((due - at) / self.reference)) + 16
        x = logit(probability)
        kind = range_of(x), min(max(level, 0), 31)
        moved = self.moved(mean)
        corrected = self.correction.estimate(x, mean, moved)
        row = Row(at, due, x, self.estimates(mean), moved, corrected, len(self.starts) - 1, kind)
        self.waiting += 1
        self.span += 0.01 * (due - at - self.span)
        self.rows.append(row)
        return row

    def come(self, row, now):
        row.came = now

    def drop(self, row):
        self.rows.remove(row)
        self.waiting -= 1

    def mature(self, row):
        if row.came < math.inf:
            self.ages.append((range_of(row.x), (row.came - row.at) / (row.due - row.at)))
        likely = [p if row.came < math.inf else 1 - p for p in row.predicted]
        weights = [w * like**0.3 for w, like in zip(self.weights, likely, strict=True)]
        total = sum(weights)
        self.weights = [
            (1 - 5e-5) * w / total + 5e-5 * prior for w, prior in zip(weights, PRIORS, strict=True)
        ]
        self.correction.learn(row, row.came < math.inf, self.waiting)
        self.waiting -= 1

    def shares(self):
        """Return F as a function of a range and an age."""
        bins = defaultdict(lambda: [0.0] * 64)
        for older, (k, age) in enumerate(reversed(self.ages)):
            bins[k][min(int(64 * age), 63)] += (1 - 0.002) ** older
        whole = [sum(part) for part in zip(*bins.values(), strict=True)]

        def linear(counts, u):
            a = min(max(u, 0.0), 1.0) * 64
            j = min(int(a), 63)
            return sum(counts[:j]) + (a - j) * counts[j]

        def share(k, u):
            pooled = (linear(whole, u) + min(max(u, 0.0), 1.0)) / (sum(whole) + 1)
            return (linear(bins[k], u) + 20 * pooled) / (sum(bins[k]) + 20)

        return share

    def kept(self):
        """Return the rows of the last 128 slices."""
        return [row for row in self.rows if row.slice > len(self.starts) - 1 - 128]

    def scores(self):
        by_range = defaultdict(list)
        for row in self.kept():
            by_range[row.kind[0]].append(row.x)
        return {k: sigmoid(sum(xs) / len(xs)) for k, xs in by_range.items()}

    def refit(self, now, means):
        """`means`: what the waiting mixture says to the mean score of each range."""
        center = {k: logit(s) for k, s in self.scores().items()}
        cells = defaultdict(list)
        for row in self.kept():
            if now - self.starts[row.slice] <= 4 * self.span:
                cells[row.slice, row.kind].append(row)
        share, counted = self.shares(), []
        for (_, (k, _)), rows in cells.items():
            n = len(rows)
            age = now - sum(row.at for row in rows) / n
            f = share(k, age / (sum(row.due - row.at for row in rows) / n))
            base = logit(means[k]) + sum(row.x for row in rows) / n - center[k]
            came = sum(row.came < math.inf for row in rows)
            counted.append((n, came, age, f, base, rows))
        self.recent = [0.0] * 4
        for n, came, age, f, _, rows in counted:
            for e in range(4):
                p = sum(row.predicted[e + 1] for row in rows) / n
                likely = came * math.log(p) + (n - came) * math.log(1 - p * f)
                self.recent[e] += math.exp(-age / (0.3 * self.span)) * likely
        top = max(self.recent)
        self.recent = [r - top for r in self.recent]
        for e, memory in enumerate(MEMORIES):
            for _ in range(2):
                slope, bend = -0.3 * self.moves[e], 0.3
                for n, came, age, f, base, _ in counted:
                    weight = math.exp(-age / (memory * self.span))
                    p = sigmoid(base + self.moves[e])
                    # An event that came: d log p / dc. One that did not: d log(1 - p f) / dc.
                    slope += weight * came * (1 - p)
                    slope -= weight * (n - came) * f * p * (1 - p) / (1 - p * f)
                    # The mean of the squared slope of one prediction.
                    q = p * f
                    silent = f * p * (1 - p) / (1 - q)
                    bend += weight * n * (q * (1 - p) ** 2 + (1 - q) * silent**2)
                self.moves[e] += min(max(slope / bend, -0.5), 0.5)
        self.has_new_slice = False
