"""Several classes in plain Python: the measures as they read, and the two modes round by round."""

import math

import numpy as np

from naive import measures
from naive.groups import NaiveGroupedRecalibrator
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


class NaiveTopLabel:
    def __init__(self, _classes, seed):
        self.inner = NaiveGroupedRecalibrator(seed=seed)
        self.tops = {}

    def predict(self, row, id_):
        self.tops[id_] = at = top(row)
        return keep_on_top(row, at, self.inner.predict(row[at], id_, at))

    def update(self, label, id_):
        self.inner.update(float(label == self.tops.pop(id_)), id_)


class NaivePerClass:
    def __init__(self, classes, seed):
        self.inner = [NaiveRecalibrator(seed=seed + each) for each in range(classes)]

    def predict(self, row, id_):
        said = np.array([r.predict(p, id_) for r, p in zip(self.inner, row, strict=True)])
        return said / said.sum()

    def update(self, label, id_):
        for each, recalibrator in enumerate(self.inner):
            recalibrator.update(float(each == label), id_)
