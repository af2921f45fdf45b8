"""The recalibrator in plain Python, one expert an object; written from its description."""

import math
from bisect import bisect_right
from dataclasses import dataclass

import numpy as np

from naive.draws import Draws, scramble
from naive.safe import NaiveSafe


def floor(outcomes):
    """Return the least that is said after so many outcomes."""
    return min(max(1 / (outcomes + 2), 1e-9), 1e-4)


def within(p, least):
    return min(max(p, least), 1 - least)


def sigmoid(x):
    return 1 / (1 + math.exp(-x)) if x > -700 else 0.0


class Identity:
    forget = 0

    def predict(self, s, _least):
        return s

    def learn(self, s, p, y, least):
        pass


class Scaling:
    """Newton steps on the log loss of a logistic model of some features of the score."""

    def __init__(self, start, features, forget):
        self.a = np.array(start, dtype=float)
        self.matrix = 10 * np.eye(len(start))
        self.features = features
        self.forget = forget

    def predict(self, s, least):
        return within(sigmoid(float(self.a @ self.features(s))), least)

    def learn(self, s, p, y, least):
        f = self.features(s)
        curvature = max(p * (1 - p), 10 * least)
        identity = np.eye(len(f))
        self.matrix = (1 - self.forget) * self.matrix + self.forget * identity
        self.matrix += curvature * np.outer(f, f)
        self.a = self.a - np.linalg.solve(self.matrix, (p - y) * f)


class Offset:
    """A Newton step on the log loss of a number added to the logit of some other expert."""

    def __init__(self, base, forget):
        self.base, self.forget = base, forget
        self.c, self.curvature = 0.0, 10.0

    def predict(self, s, least):
        return within(sigmoid(self.base(s) + self.c), least)

    def learn(self, _s, p, y, least):
        self.curvature = (1 - self.forget) * self.curvature + self.forget
        self.curvature += max(p * (1 - p), 10 * least)
        self.c -= (p - y) / self.curvature


class Bins:
    def __init__(self, count, forget):
        self.edges, self.forget = [i / count for i in range(1, count)], forget
        self.outcomes, self.visits = [0.0] * count, [0.0] * count

    def bin(self, s):
        return bisect_right(self.edges, s)

    def predict(self, s, least):
        b = self.bin(s)
        return within((2 * s + self.outcomes[b]) / (2 + self.visits[b]), least)

    def learn(self, s, _p, y, _least):
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
    batch: int  # the number of the first one made in the same call
    given: float  # the score as a probability
    s: float  # no nearer to 0 or 1 than the floor
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
        self.learned = 0
        self.ones = 0.0
        self.lag = 0.0
        self.waiting = {}

    def probability(self, score):
        if self.kind == "margin":
            self.margins.append(abs(score))
            size = sum(self.margins) / len(self.margins)
            score = score / size if size else 0.0
        return score if self.kind == "probability" else sigmoid(score)

    @property
    def least(self):
        return floor(self.learned)

    def say(self, score, batch=None):
        """Return what the experts say of a score, before it goes to the grid."""
        given = self.probability(score)
        s = within(given, self.least)
        said = np.array([expert.predict(s, self.least) for expert in self.experts])
        number, self.predictions = self.predictions, self.predictions + 1
        mean = within(float(self.weights @ said), self.least)
        return Said(number, number if batch is None else batch, given, s, said, mean)

    def smooth(self, said):
        """Return the word for ranking: experts whose memory holds few events are hardly heard."""
        rate = (self.ones + 0.5) / (self.learned + 1)
        variance = rate * (1 - rate)
        heard = []
        for expert, weight in zip(self.experts, self.weights, strict=True):
            forget = max(expert.forget, 1e-3) if isinstance(expert, Bins) else expert.forget
            heard.append(weight * (variance / (variance + 10 * forget)) ** 2)
            if not isinstance(expert, Identity):
                events = (self.learned + 1) * variance
                heard[-1] *= (events / (events + 100)) ** 2
        given = within(said.given, 1e-9)
        each = [expert.predict(given, 1e-9) for expert in self.experts]
        return within(float(np.average(each, weights=heard)), 1e-9)

    def predict(self, score, id_, batch=None):
        said = self.say(score, batch)
        points, weights = self.safe.place(said.mean)
        drawn = self.draws.choose(points, weights)
        self.waiting[id_] = said, drawn
        return drawn.z

    def predict_many(self, scores, ids):
        batch = self.predictions
        return [self.predict(score, id_, batch) for score, id_ in zip(scores, ids, strict=True)]

    def update(self, outcome, id_):
        said, point = self.waiting.pop(id_)
        self.safe.learn(said.mean, point, outcome)
        self.learn(said, outcome)

    def update_many(self, outcomes, ids):
        """Learn the outcomes of distinct ids that all wait."""
        if len(ids) == 1:
            self.update(outcomes[0], ids[0])
            return
        rows = [
            (*self.waiting.pop(id_), outcome) for id_, outcome in zip(ids, outcomes, strict=True)
        ]
        rows.sort(key=lambda row: (row[0].batch, scramble(row[0].number + 1)))
        for said, point, outcome in rows:
            self.safe.learn(said.mean, point, outcome)
            self.step(said.s, outcome)
        self.weigh([(said, outcome) for said, _, outcome in rows])

    def learn(self, said, outcome):
        """Teach the mixture alone."""
        self.weigh([(said, outcome)])
        self.step(said.s, outcome)

    def weigh(self, rows):
        """Weigh the experts by outcomes that came together."""
        late = sum(self.predictions - said.number - 1 for said, _ in rows) / len(rows)
        for _ in rows:
            self.lag += 0.01 * (late - self.lag)
        logs = sum(
            outcome * np.log(said.each) + (1 - outcome) * np.log1p(-said.each)
            for said, outcome in rows
        )
        weights = self.weights * np.exp((logs - logs.max()) / (1 + self.lag / 32))
        self.weights = weights / weights.sum()
        for said, _ in rows:
            share = 5e-5 * min(1, said.mean * (1 - said.mean) / 0.01)
            self.weights = (1 - share) * self.weights + share * self.priors

    def step(self, s, outcome):
        """Let each expert learn."""
        predictions = [expert.predict(s, self.least) for expert in self.experts]
        for expert, p in zip(self.experts, predictions, strict=True):
            expert.learn(s, p, outcome, self.least)
        self.learned += 1
        self.ones += outcome
