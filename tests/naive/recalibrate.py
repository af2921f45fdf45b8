"""The recalibrator in plain Python, one expert an object; written from its description."""

import math
from bisect import bisect_right
from dataclasses import dataclass

import numpy as np

from naive.batches import SMALLEST, Dispersion, Levels, Surprises, learn_batch
from naive.draws import Draws, scramble
from naive.recent import PRIORS, NaiveRecent
from naive.safe import NaiveSafe


def floor(outcomes):
    """Return the least that is predicted after so many outcomes."""
    return min(max(1 / (outcomes + 2), 1e-9), 1e-4)


def within(p, least):
    return min(max(p, least), 1 - least)


def sigmoid(x):
    return 1 / (1 + math.exp(-x)) if x > -700 else 0.0


class Identity:
    forget = 0

    def predict(self, s, _least):
        return s

    def learn(self, s, p, y, least, weight):
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

    def learn(self, s, p, y, least, weight):
        f = self.features(s)
        curvature = max(p * (1 - p), 10 * least)
        identity = np.eye(len(f))
        self.matrix = (1 - self.forget) * self.matrix + self.forget * identity
        self.matrix += weight * curvature * np.outer(f, f)
        self.a = self.a - np.linalg.solve(self.matrix, weight * (p - y) * f)


class Offset:
    """A Newton step on the log loss of a number added to the logit of some other expert."""

    def __init__(self, base, forget):
        self.base, self.forget = base, forget
        self.c, self.curvature = 0.0, 10.0

    def predict(self, s, least):
        return within(sigmoid(self.base(s) + self.c), least)

    def learn(self, _s, p, y, least, weight):
        self.curvature = (1 - self.forget) * self.curvature + self.forget
        self.curvature += weight * max(p * (1 - p), 10 * least)
        self.c -= weight * (p - y) / self.curvature


class Bins:
    def __init__(self, count, forget):
        self.edges, self.forget = [i / count for i in range(1, count)], forget
        self.outcomes, self.visits = [0.0] * count, [0.0] * count

    def bin(self, s):
        return bisect_right(self.edges, s)

    def predict(self, s, least):
        b = self.bin(s)
        return within((2 * s + self.outcomes[b]) / (2 + self.visits[b]), least)

    def learn(self, s, _p, y, _least, weight):
        b = self.bin(s)
        self.outcomes[b] = (1 - self.forget) * self.outcomes[b] + weight * y
        self.visits[b] = (1 - self.forget) * self.visits[b] + weight


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
class Predicted:
    number: int  # of predictions before
    batch: int  # the number of the first one made in the same call
    given: float  # the score as a probability
    s: float  # no nearer to 0 or 1 than the floor
    each: np.ndarray  # what each expert of the mixture says
    lasting: float  # those that forget nothing together
    past: tuple  # the last outcomes known
    recalled: np.ndarray  # what the mixture says, and each expert that looks at the past
    mean: float  # and all together
    bet: bool = False  # does the purse of the grid pay for the prediction?
    moved: bool = False  # was no neutral point beside the mean predicted?
    weight: float = 1.0  # how much its outcome teaches

    def forget_recalled(self):
        """Let all have predicted the mean, so that the outcome does not tell them apart."""
        self.recalled = np.full_like(self.recalled, self.recalled[0])


class NaiveRecalibrator:
    """Predictions by id; `waiting` is all that is remembered of a round."""

    def __init__(self, kind="probability", seed=0):
        self.kind, self.seed = kind, seed
        self.recent_priors, self.dispersion, self.levels = PRIORS, Dispersion(), Levels()
        self.surprises = Surprises()
        self.draws = Draws(seed)
        self.experts, self.priors = make_experts()
        self.weights = self.priors
        self.recent = NaiveRecent(within)
        self.safe = NaiveSafe()
        self.margins = []
        self.predictions = 0
        self.learned = 0
        self.ones, self.visits = 0.0, 0.0  # of outcomes, by their weights
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

    def say(self, score):
        """Return what is predicted of a score that does not go to the grid: without the past."""
        predicted = self.say_all(score)
        predicted.forget_recalled()
        predicted.mean = float(predicted.recalled[0])
        return predicted

    def say_all(self, score, batch=None):
        """Return what the experts say of a score, before it goes to the grid."""
        given = self.probability(score)
        s = within(given, self.least)
        number, self.predictions = self.predictions, self.predictions + 1
        predicted, sharp, lasting = self.ask(s, self.least)
        sharp = self.levels.mean(sharp, predicted[1], self.least, number)
        past = self.recent.past
        recalled = self.recent.say(sharp, lasting, past, self.least)
        # Where all say the same, they are to say just that together, or ties fall otherwise.
        mean = within(sharp + float(self.recent.weights @ (recalled - sharp)), self.least)
        batch = number if batch is None else batch
        return Predicted(number, batch, given, s, predicted, lasting, past, recalled, mean)

    def ask(self, s, least):
        """Return what each expert of the mixture says, all together, and those that last."""
        predicted = np.array([expert.predict(s, least) for expert in self.experts])
        lasts = np.array([expert.forget == 0 for expert in self.experts])
        lasting = float(np.average(predicted[lasts], weights=self.weights[lasts]))
        return predicted, within(float(self.weights @ predicted), least), within(lasting, least)

    def smooth(self, predicted):
        """Return the estimate for ranking: experts whose memory holds few events hardly count."""
        rate = (self.ones + 0.5) / (self.visits + 1)
        variance = rate * (1 - rate)
        events = (self.visits + 1) * variance
        learned = (events / (events + 100)) ** 2
        heard = []
        for expert, weight in zip(self.experts, self.weights, strict=True):
            forget = max(expert.forget, 1e-3) if isinstance(expert, Bins) else expert.forget
            heard.append(weight * (variance / (variance + 10 * forget)) ** 2)
            if not isinstance(expert, Identity):
                heard[-1] *= learned
        each, _, lasting = self.ask(within(predicted.given, 1e-9), 1e-9)
        estimate = within(float(np.average(each, weights=heard)), 1e-9)
        return within(self.recent.smooth(estimate, lasting, variance, learned, 1e-9), 1e-9)

    def predict(self, score, id_, batch=None):
        predicted = self.say_all(score, batch)
        points, weights = self.safe.place(predicted.mean)
        predicted.bet = self.safe.is_bet(predicted.mean)
        if self.safe.is_moved(predicted.mean, points):
            predicted.moved = True
            predicted.forget_recalled()
        drawn = self.draws.choose(points, weights)
        self.waiting[id_] = predicted, drawn
        return drawn.z

    def predict_many(self, scores, ids):
        batch = self.predictions
        return [self.predict(score, id_, batch) for score, id_ in zip(scores, ids, strict=True)]

    def update(self, outcome, id_, weight=1.0):
        predicted, point = self.waiting.pop(id_)
        predicted.weight = weight
        self.safe.learn(predicted.mean, point, outcome, predicted.bet, self.lag_after([predicted]))
        self.learn(predicted, outcome)

    def update_many(self, outcomes, ids, weights=None):
        """Learn the outcomes of distinct ids that all wait."""
        weights = [1.0] * len(ids) if weights is None else weights
        if len(ids) == 1:
            self.update(outcomes[0], ids[0], weights[0])
            return
        for id_, weight in zip(ids, weights, strict=True):
            self.waiting[id_][0].weight = weight
        rows = [
            (*self.waiting.pop(id_), outcome) for id_, outcome in zip(ids, outcomes, strict=True)
        ]
        batches = {predicted.batch for predicted, *_ in rows}
        large = [
            batch
            for batch in batches
            if sum(predicted.batch == batch for predicted, *_ in rows) >= SMALLEST
        ]
        self.learn_rows([row for row in rows if row[0].batch not in large])
        for batch in sorted(large):
            learn_batch(self, [row for row in rows if row[0].batch == batch])

    def learn_rows(self, rows):
        """Learn outcomes that arrived together, of rounds that did not wait together."""
        if not rows:
            return
        rows = sorted(rows, key=lambda row: (row[0].batch, scramble(row[0].number + 1)))
        lag = self.lag_after([predicted for predicted, *_ in rows])
        for predicted, point, outcome in rows:
            if point is not None:
                self.safe.learn(predicted.mean, point, outcome, predicted.bet, lag)
            self.step(predicted, outcome)
        self.weigh([(predicted, outcome) for predicted, _, outcome in rows])

    def lateness(self, predicted):
        return self.predictions - predicted.number - 1

    def lag_after(self, rows):
        """Return how late the last outcomes arrived on average, those of some rounds included."""
        late, lag = sum(self.lateness(predicted) for predicted in rows) / len(rows), self.lag
        for _ in rows:
            lag += 0.01 * (late - lag)
        return lag

    def learn(self, predicted, outcome):
        """Teach the mixture alone."""
        self.step(predicted, outcome)
        self.weigh([(predicted, outcome)])

    def weigh(self, rows):
        """Weigh the experts by outcomes that arrived together."""
        self.lag = self.lag_after([predicted for predicted, _ in rows])
        self.weigh_levels(rows, 1 / min(1 + self.lag / 2, 64))
        means, outcomes = zip(
            *((float(predicted.recalled[0]), outcome) for predicted, outcome in rows), strict=True
        )
        power = 1 / min(1 + self.lag / 2, 64)
        heavy = [predicted.weight for predicted, _ in rows]
        each = [predicted.each for predicted, _ in rows]
        self.weights = weighed(self.weights, self.priors, 5e-5, each, means, outcomes, heavy, power)
        doubt = 0.75 ** (sum(predicted.moved for predicted, _ in rows) * power)
        weights = self.recent.weights * np.array([1.0] + [doubt] * 8)
        each = [predicted.recalled for predicted, _ in rows]
        self.recent.weights = weighed(weights, PRIORS, 1e-5, each, means, outcomes, heavy, power)

    def weigh_levels(self, rows, power):
        """Weigh those that forecast the levels of batches, if any, by one row after the other."""
        levels = self.levels
        if not levels.known:
            return
        forecasts = levels.forecasts(levels.terms(self.predictions)[0])
        for predicted, outcome in rows:
            mean = float(self.weights @ predicted.each)
            each = [np.array([mean, *levels.say(predicted.each[1], forecasts, 1e-9)])]
            means = [float(predicted.recalled[0])]
            levels.weights = weighed(
                levels.weights, levels.home, 5e-5, each, means, [outcome], [predicted.weight], power
            )

    def step(self, predicted, outcome):
        """Let each expert learn, from what it says for the score and its past now."""
        s, least = predicted.s, self.least
        predictions, sharp, lasting = self.ask(s, self.least)
        sharp = self.levels.mean(sharp, predictions[1], self.least, self.predictions)
        for expert, p in zip(self.experts, predictions.tolist(), strict=True):
            expert.learn(s, p, outcome, least, predicted.weight)
        self.recent.learn(sharp, lasting, predicted.past, outcome, least, predicted.weight)
        self.learned += 1
        self.ones += predicted.weight * outcome
        self.visits += predicted.weight


def weighed(weights, priors, most, predicted, means, outcomes, heavy, power):
    """Return weights after outcomes that arrived together; `most` or less returns each time.

    `predicted` is what each expert predicted of each outcome, which is as `heavy` as that.
    """
    logs = sum(
        weight * (outcome * np.log(each) + (1 - outcome) * np.log1p(-each))
        for each, outcome, weight in zip(predicted, outcomes, heavy, strict=True)
    )
    weights = weights * np.exp((logs - logs.max()) * power)
    weights = weights / weights.sum()
    for mean in means:
        share = most * min(1, mean * (1 - mean) / 0.01)
        weights = (1 - share) * weights + share * priors
    return weights
