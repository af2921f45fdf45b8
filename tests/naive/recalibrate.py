"""The recalibrator in plain Python, one expert an object; written from its description."""

import math
from bisect import bisect_right
from dataclasses import dataclass

import numpy as np

from naive.draws import Draws
from naive.safe import NaiveSafe

LEAST = 1e-4


def within(p):
    return min(max(p, LEAST), 1 - LEAST)


def sigmoid(x):
    return 1 / (1 + math.exp(-x)) if x > -700 else 0.0


class Identity:
    def predict(self, s):
        return s

    def learn(self, s, p, y):
        pass


class Scaling:
    """Newton steps on the log loss of a logistic model of some features of the score."""

    def __init__(self, start, features, forget):
        self.a = np.array(start, dtype=float)
        self.matrix = 10 * np.eye(len(start))
        self.features = features
        self.forget = forget

    def predict(self, s):
        return within(sigmoid(float(self.a @ self.features(s))))

    def learn(self, s, p, y):
        f = self.features(s)
        curvature = max(p * (1 - p), 0.001)
        identity = np.eye(len(f))
        self.matrix = (1 - self.forget) * self.matrix + self.forget * identity
        self.matrix += curvature * np.outer(f, f)
        self.a = self.a - np.linalg.solve(self.matrix, (p - y) * f)


class Offset:
    """A Newton step on the log loss of a number added to the logit of some other expert."""

    def __init__(self, base, forget):
        self.base, self.forget = base, forget
        self.c, self.curvature = 0.0, 10.0

    def predict(self, s):
        return within(sigmoid(self.base(s) + self.c))

    def learn(self, _s, p, y):
        self.curvature = (1 - self.forget) * self.curvature + self.forget
        self.curvature += max(p * (1 - p), 0.001)
        self.c -= (p - y) / self.curvature


class Bins:
    def __init__(self, count, forget):
        self.edges, self.forget = [i / count for i in range(1, count)], forget
        self.outcomes, self.visits = [0.0] * count, [0.0] * count

    def bin(self, s):
        return bisect_right(self.edges, s)

    def predict(self, s):
        b = self.bin(s)
        return within((2 * s + self.outcomes[b]) / (2 + self.visits[b]))

    def learn(self, s, _p, y):
        b = self.bin(s)
        self.outcomes[b] = (1 - self.forget) * self.outcomes[b] + y
        self.visits[b] = (1 - self.forget) * self.visits[b] + 1


def platt_features(s):
    return np.array([math.log(s / (1 - s)), 1.0])


def beta_features(s):
    return np.array([math.log(s), -math.log(1 - s), 1.0])


def make_experts():
    """Return the experts and their prior weights."""
    shapes = [
        (6, [Identity()]),
        (5, [Scaling([1, 0], platt_features, f) for f in (0, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2)]),
        (3, []),
        (1, [Scaling([1, 1, 0], beta_features, f) for f in (0, 1e-3, 1e-2)]),
        (1, [Bins(count, f) for count in (10, 30, 100) for f in (0, 1e-3, 1e-2)]),
    ]
    slow = shapes[1][1][0]
    shapes[2][1].append(Offset(lambda s: math.log(s / (1 - s)), 0))
    for forget in (3e-3, 1e-2, 3e-2, 1e-1):
        shapes[2][1].append(Offset(lambda s: float(slow.a @ platt_features(s)), forget))
    priors = [weight / 16 / len(experts) for weight, experts in shapes for _ in experts]
    return [expert for _, experts in shapes for expert in experts], np.array(priors)


@dataclass
class Said:
    number: int  # of predictions before
    s: float  # the score as a probability
    each: np.ndarray  # what each expert says
    mean: float  # and all together


class NaiveRecalibrator:
    """Predictions by id; `waiting` is all that is remembered of a round."""

    def __init__(self, kind="probability", seed=0):
        self.kind = kind
        self.draws = Draws(seed)
        self.experts, self.priors = make_experts()
        self.weights = self.priors
        self.safe = NaiveSafe()
        self.margins = []
        self.predictions = 0
        self.lag = 0.0
        self.waiting = {}

    def probability(self, score):
        if self.kind == "margin":
            self.margins.append(abs(score))
            size = sum(self.margins) / len(self.margins)
            score = score / size if size else 0.0
        return within(score if self.kind == "probability" else sigmoid(score))

    def say(self, score):
        """Return what the experts say of a score, before it goes to the grid."""
        s = self.probability(score)
        said = np.array([expert.predict(s) for expert in self.experts])
        self.predictions += 1
        return Said(self.predictions - 1, s, said, within(float(self.weights @ said)))

    def predict(self, score, id_):
        said = self.say(score)
        points, weights = self.safe.place(said.mean)
        drawn = self.draws.choose(points, weights)
        self.waiting[id_] = said, drawn
        return drawn.z

    def update(self, outcome, id_):
        said, point = self.waiting.pop(id_)
        self.safe.learn(said.mean, point, outcome)
        self.learn(said, outcome)

    def learn(self, said, outcome):
        """Teach the mixture alone."""
        self.lag += 0.01 * (self.predictions - said.number - 1 - self.lag)
        likelihoods = said.each**outcome * (1 - said.each) ** (1 - outcome)
        self.weights = self.weights * likelihoods ** (1 / (1 + self.lag / 32))
        self.weights = (1 - 5e-5) * self.weights / self.weights.sum() + 5e-5 * self.priors
        predictions = [expert.predict(said.s) for expert in self.experts]
        for expert, p in zip(self.experts, predictions, strict=True):
            expert.learn(said.s, p, outcome)
