"""Several classes as they read: the measures, and the recalibrator round by round in doubles."""

import math

import numpy as np

from naive import measures
from naive.recalibrate import NaiveRecalibrator


def binary_ece(predictions, outcomes, bin_of):
    return measures.ece(predictions, outcomes, bin_of, norm=1)


def top(row):
    """Return the first of the likeliest classes."""
    return max(range(len(row)), key=lambda each: (row[each], -each))


def confidence_ece(rows, labels, bin_of):
    tops = [top(row) for row in rows]
    sure = [row[t] for row, t in zip(rows, tops, strict=True)]
    return binary_ece(sure, [float(t == y) for t, y in zip(tops, labels, strict=True)], bin_of)


def top_label_ece(rows, labels, bin_of):
    total = 0.0
    for each in range(len(rows[0])):
        part = [(row, y) for row, y in zip(rows, labels, strict=True) if top(row) == each]
        if part:
            mine, happened = zip(*part, strict=True)
            total += len(part) / len(rows) * confidence_ece(mine, happened, bin_of)
    return total


def classwise_ece(rows, labels, bin_of):
    classes = range(len(rows[0]))
    return sum(
        binary_ece([row[each] for row in rows], [float(y == each) for y in labels], bin_of)
        for each in classes
    ) / len(classes)


def brier(rows, labels):
    return sum(
        sum((p - (each == y)) ** 2 for each, p in enumerate(row))
        for row, y in zip(rows, labels, strict=True)
    ) / len(rows)


def log_loss(rows, labels):
    chosen = [row[y] for row, y in zip(rows, labels, strict=True)]
    return sum(-math.log(p) if p > 0 else math.inf for p in chosen) / len(rows)


def keep_on_top(row, at, confidence):
    """Return the row with that confidence, the others filled up like vessels under one lid."""
    others = [each for each in range(len(row)) if each != at]
    lid = confidence * (1 - 2**-40)
    if lid * len(others) < 1 - confidence:
        return [
            confidence if each == at else (1 - confidence) / len(others) for each in range(len(row))
        ]
    result = {at: confidence}
    # Whoever is fullest reaches the lid first.
    for each in sorted(others, key=lambda each: -row[each]):
        left = 1 - math.fsum(result.values())
        rest = [other for other in others if other not in result]
        total = math.fsum(row[other] for other in rest)
        share = left * row[each] / total if total > 0 else left / len(rest)
        result[each] = min(share, lid)
    return [result[each] for each in range(len(row))]


def softmax(z):
    e = np.exp(z - z.max())
    return e / e.sum()


class Slope:
    """softmax(a x), or softmax(a x + b) where biases have a prior."""

    def __init__(self, classes, keep, sd=None):
        self.keep, self.sd, self.a, self.labels = keep, sd, 1.0, 0
        self.known = 0 if keep == 1 else 1 / 0.36
        self.biases = None if sd is None else Biases(classes, keep, sd)

    def logits(self, x):
        return self.a * x + (0 if self.biases is None else self.biases.b)

    def learn(self, x, y, weight, home=0.0):
        p = softmax(self.logits(x))
        mean, pull = p @ x, (1 - self.keep) / 0.09
        self.known = self.keep * self.known + pull + weight * max(p @ x**2 - mean**2, 1e-6)
        self.labels += 1
        prior = min(1 / 0.36, 3 * self.known / self.labels) if self.keep == 1 else 0
        step = (weight * (mean - x[y]) + pull * (self.a - 1)) / (self.known + prior)
        most = 0.5 * max(self.a, 1)
        self.a = float(np.clip(self.a - np.clip(step, -most, most), 0, 200))
        if self.biases is not None:
            self.biases.learn(p, y, weight, home)


class Biases:
    """Offsets of logits, each known with a precision of its own."""

    def __init__(self, classes, keep, sd):
        self.keep, self.pull = keep, (1 - keep) / sd**2
        self.b, self.known = np.zeros(classes), np.full(classes, 1 / sd**2)

    def learn(self, p, y, weight, home=0.0):
        """Take a step; what is forgotten returns to `home`."""
        self.known = self.keep * self.known + self.pull + weight * p
        gradient = weight * p + self.pull * (self.b - home)
        gradient[y] -= weight
        self.b = self.b - gradient / self.known


class Base:
    """How often each class was observed."""

    def __init__(self, classes, keep):
        self.keep, self.counts = keep, np.zeros(classes)

    def predicted(self):
        return (self.counts + 1 / len(self.counts)) / (self.counts.sum() + 1)

    def learn(self, y, weight):
        self.counts = self.keep * self.counts
        self.counts[y] += weight


class Contexts:
    """Biases for each context, of which the first 128 have their own."""

    def __init__(self, classes, sd):
        self.classes, self.sd, self.own, self.shared = classes, sd, {}, Biases(classes, 0.999, sd)

    def of(self, context):
        return self.own.get(context, self.shared)

    def learn(self, context, p, y, weight):
        if context not in self.own and len(self.own) < 128:
            self.own[context] = Biases(self.classes, 0.999, self.sd)
        self.of(context).learn(p, y, weight)


class Pool:
    """softmax of features, with coefficients that are shared by all classes."""

    START = np.array([1, 1, 0, 0, 0, 0.3, 0.3, 0, 0, 0, 0, 0, 0])

    def __init__(self, keep, turn):
        self.keep, self.turn, self.w = keep, turn, self.START.copy()
        self.hessian, self.inverse = 4 * np.eye(13), np.eye(13) / 4

    def predicted(self, features):
        return softmax(self.w @ features)

    def learn(self, features, covariance, y, weight, learned, late):
        pull = (1 - self.keep) / 0.25
        if self.keep < 1:
            weight = weight * max(1 / 64, 1 / (1 + late / 2))
        self.hessian = self.keep * self.hessian + weight * covariance + (pull + 1e-6) * np.eye(13)
        missed = features @ self.predicted(features) - features[:, y]
        gradient = weight * missed + pull * (self.w - self.START)
        if learned < 64 or learned % 8 == self.turn:
            self.inverse = np.linalg.inv(self.hessian)
        self.w = self.w - np.clip(self.inverse @ gradient, -0.3, 0.3)


class Matrix:
    """softmax(W u), u = (x - mean x, 1), by recursive least squares."""

    def __init__(self, classes):
        self.classes, self.W = classes, np.eye(classes, classes + 1)
        self.G = np.diag([0.09] * classes + [0.36])

    def predicted(self, x):
        return softmax(self.W @ np.append(x - x.mean(), 1))

    def learn(self, x, y, weight):
        p, u, keep = self.predicted(x), np.append(x - x.mean(), 1), 0.9995
        h = weight * max((1 - p @ p) / (self.classes - 1), 0.02)
        v = self.G @ u
        scale = keep + h * (u @ v)
        self.G = (self.G - h / scale * np.outer(v, v)) / keep
        self.G *= min(1.0, 0.09 * (self.classes + 1) / np.trace(self.G))
        self.W = self.W - weight * np.outer(p - np.eye(self.classes)[y], v) / scale


class Diagonal:
    """softmax(a u + b), u = x - mean x, with a slope and a bias for each class."""

    def __init__(self, classes):
        self.a, self.known = np.ones(classes), np.full(classes, 1 / 0.09)
        self.biases = Biases(classes, 0.9995, 0.6)

    def predicted(self, x):
        return softmax(self.a * (x - x.mean()) + self.biases.b)

    def learn(self, x, y, weight):
        p, u, pull = self.predicted(x), x - x.mean(), 0.0005 / 0.09
        missed = p - np.eye(len(x))[y]
        self.known = 0.9995 * self.known + pull + weight * p * (1 - p) * u**2
        step = (weight * missed * u + pull * (self.a - 1)) / self.known
        self.a = self.a - np.clip(step, -0.3, 0.3)
        self.biases.learn(p, y, weight)


class NaiveMixture:
    """The experts and their weights: docs/multiclass.md describes them."""

    def __init__(self, classes):
        self.classes = classes
        self.slopes = [Slope(classes, 1), Slope(classes, 0.99)]
        settings = [(1, 1), (0.999, 1), (0.99, 1.5), (0.95, 0.5)]
        self.biased = [Slope(classes, keep, sd) for keep, sd in settings]
        self.bases = [Base(classes, keep) for keep in (1, 0.99, 0.97)]
        self.by_top, self.by_last = Contexts(classes, 1), Contexts(classes, 0.7)
        self.pools = [Pool(1, 0), Pool(0.99, 4)]
        self.matrix = Matrix(classes) if classes <= 32 else Diagonal(classes)
        prior = [6] + [1] * 6 + [0.5] * 3 + [0.3] * 2 + [2] * 2 + [0.5]
        self.prior = np.array(prior) / sum(prior)
        self.w, self.v, self.u = self.prior, self.prior, 0.9
        self.escaped, self.escapes, self.late, self.least = 0.05, 50, 0.0, 1e-3
        self.begun, self.learned, self.last = 0, 0, None

    def says(self, x, top, last, features=None):
        """Return what all experts say, and the features of the pools."""
        z = self.biased[0].logits(x)
        predicted = [
            softmax(x),
            *(softmax(each.logits(x)) for each in [*self.slopes, *self.biased]),
        ]
        predicted += [each.predicted() for each in self.bases]
        predicted += [softmax(z + self.by_top.of(top).b), softmax(z + self.by_last.of(last).b)]
        if features is None:
            all_time, *recent = (np.log(each.predicted()) for each in self.bases)
            features = np.array([
                x, *(each.biases.b for each in self.biased), self.by_top.of(top).b,
                self.by_last.of(last).b, *(each - all_time for each in recent), -(x**2) / 10,
                np.arange(self.classes) == top, np.arange(self.classes) == last,
                x <= np.log(self.least / 2) + 1e-6,
            ])  # fmt: skip
        predicted += [pool.predicted(features) for pool in self.pools]
        predicted.append(self.matrix.predicted(x))
        return np.array(predicted), features

    def predict(self, scores):
        """Return the mixture, and what is remembered of the round."""
        scores = np.asarray(scores, dtype=np.float64)
        self.least = min(self.least, *scores[scores > 1e-12])
        x = np.log(np.where(scores > 1e-12, scores, self.least / 2))
        top = int(scores.argmax())
        predicted, features = self.says(x, top, self.last)
        d = self.escaped / self.escapes
        q = (1 - d) * (self.u * self.w + (1 - self.u) * self.v) @ predicted + d * predicted[7]
        record = x, top, self.last, features, predicted, self.w, self.v, self.begun
        self.begun += 1
        return q, record

    def learn(self, record, y, weight):
        x, top, last, features, predicted, w, v, begun = record
        self.late += 0.01 * (self.begun - 1 - begun - self.late)
        eta = weight * (1 if self.late < 0.01 else max(1 / 8, 1 / (1 + self.late / 2)))
        p = np.maximum(predicted[:, y], 1e-12)
        q1, q2, d = w @ p, v @ p, self.escaped / self.escapes
        mixed = (1 - d) * (self.u * q1 + (1 - self.u) * q2)
        self.escaped += weight * d * p[7] / (mixed + d * p[7])
        self.escapes += weight
        if self.escapes > 20_000:
            self.escaped, self.escapes = self.escaped * 20_000 / self.escapes, 20_000
        first, second = self.u * q1**eta, (1 - self.u) * q2**eta
        self.u = (1 - 1e-4) * first / (first + second) + 1e-4 * 0.9
        moved = self.v + weight * 0.05 * (self.v * p / (self.v @ p) - self.v)
        self.v = (1 - 1e-5) * moved + 1e-5 * self.prior
        weighed = self.w * p**eta
        self.w = (1 - 5e-5) * weighed / weighed.sum() + 5e-5 * self.prior
        now, _ = self.says(x, top, last, features)
        slow = now[12]
        centred = features - (features @ slow)[:, None]
        covariance = (centred * slow) @ features.T
        for pool in self.pools:
            pool.learn(features, covariance, y, weight, self.learned, self.late)
        for each in [*self.slopes, *self.biased]:
            each.learn(x, y, weight, self.biased[1].biases.b if each is self.biased[2] else 0.0)
        for each in self.bases:
            each.learn(y, weight)
        self.by_top.learn(top, now[10], y, weight)
        self.by_last.learn(last, now[11], y, weight)
        self.matrix.learn(x, y, weight)
        self.last = y
        self.learned += 1


class NaiveClasses:
    """The mixture, and its named class placed by a recalibrator of one event."""

    def __init__(self, classes, seed):
        self.mixture, self.safe, self.waiting = (
            NaiveMixture(classes),
            NaiveRecalibrator(seed=seed),
            {},
        )

    def predict(self, row, id_):
        q, record = self.mixture.predict(row)
        q = q / q.sum()
        named = int(q.argmax())
        self.waiting[id_] = named, record
        return keep_on_top(q.tolist(), named, self.safe.predict(min(q[named], 1.0), id_))

    def update(self, label, id_, weight=1.0):
        named, record = self.waiting.pop(id_)
        self.mixture.learn(record, label, weight)
        self.safe.update(float(named == label), id_, weight)
