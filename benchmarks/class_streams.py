"""Synthetic streams of several classes with known true probabilities, and opponents."""

import numpy as np

from calibrant import MulticlassRecalibrator

KINDS = (
    "right", "overconfident", "underconfident", "lopsided", "lopsided and overconfident",
    "prior shift", "drift", "switch", "permuted", "worthless", "markov", "zeros", "new class",
    "bent",
)  # fmt: skip
KINDS_OF_MANY = ("right", "overconfident", "lopsided", "drift", "switch")
MONTHS = ("stationary", "drift", "jump")


def softmax(z):
    e = np.exp(z - z.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def drawn(truth, random):
    """Return labels drawn from rows of probabilities."""
    labels = (random.random((len(truth), 1)) > truth.cumsum(axis=1)).sum(axis=1)
    return np.minimum(labels, truth.shape[1] - 1)


def sticky(truth, random):
    """Return labels of which the last is four times as likely again, and their probabilities."""
    labels, shown, last = np.zeros(len(truth), dtype=np.int64), truth.copy(), 0
    for t in range(len(truth)):
        row = shown[t]
        row[last] *= 4
        np.divide(row, row.sum(), out=row)
        last = labels[t] = min(np.searchsorted(row.cumsum(), random.random()), len(row) - 1)
    return labels, shown


def made(kind, classes, rounds, seed=0):
    """Return the scores of a model, the labels, and their true probabilities."""
    random = np.random.default_rng(seed + 1000 * classes)
    z = 1.5 * random.standard_normal((rounds, classes))
    if classes > 3:
        z += 0.7 * random.standard_normal(classes)
    truth = softmax(z)
    z, part = np.log(truth), np.arange(rounds)[:, None] / rounds
    if kind == "markov":
        labels, shown = sticky(truth, random)
        return truth, labels, shown
    if kind == "lopsided":
        z = z + 0.7 * random.standard_normal(classes)
    elif kind == "lopsided and overconfident":
        z = 2 * (z + 0.7 * random.standard_normal(classes))
    elif kind == "prior shift":
        shift = 0.7 * np.sin(2 * np.pi * (3 * part + random.random(classes)))
        truth = softmax(z + shift)
    elif kind == "switch":
        biases = 0.8 * random.standard_normal(classes)
        z = np.where((part * 4).astype(int) % 2 == 0, z * 2.5, z * 0.7 + biases)
    elif kind == "permuted":
        z[:, [0, 1]] = z[:, [1, 0]]
    elif kind == "worthless":
        z = 1.5 * random.standard_normal((rounds, classes))
        truth = np.tile(softmax(0.7 * random.standard_normal((1, classes))), (rounds, 1))
    elif kind == "zeros":  # a model that says 0 to what is unlikely
        z = np.where(truth < 0.3 / classes, -80, z)
    elif kind == "new class":  # the last one is not there in the first half, nor in the scores
        truth[: rounds // 2, -1] = 1e-9
        truth[rounds // 2 :, -1] = np.maximum(truth[rounds // 2 :, -1], 0.2)
        truth /= truth.sum(axis=1, keepdims=True)
        z = np.log(truth)
        z[:, -1] = np.log(1e-5)
    elif kind == "bent":
        z = np.log(np.clip(truth**2 + 0.3 * truth, 1e-9, None))
    else:
        factor = {"right": 1, "overconfident": 2.5, "underconfident": 0.4, "drift": 1 + 2 * part}
        z = z * factor[kind]
    return softmax(z), drawn(truth, random), truth


def monthly(kind, classes, months=12, size=3000, seed=0):
    """Return scores and labels of months: right but for a temperature and biases."""
    random = np.random.default_rng([seed, classes, MONTHS.index(kind)])
    rounds = months * size
    truth = softmax(1.5 * random.standard_normal((rounds, classes)))
    month = np.arange(rounds)[:, None] // size
    first, second = (0.7 * random.standard_normal(classes) for _ in range(2))
    share = {"stationary": 0 * month, "drift": month / months, "jump": month >= months // 2}[kind]
    z = (2 - share) * (np.log(truth) + (1 - share) * first + share * second)
    return softmax(z), drawn(truth, random)


# -- opponents ------------------------------------------------------------------------------------


OTHERS = ("least", "most", "next", "first", "random", "last")


def other_class(way, row, named, last, random):
    """Return another class than the named one, chosen in one of six ways."""
    K = len(row)
    others = [k for k in range(K) if k != named]
    return {
        "least": lambda: min(others, key=lambda k: row[k]),
        "most": lambda: max(others, key=lambda k: row[k]),
        "next": lambda: (named + 1) % K,
        "first": lambda: others[0],
        "random": lambda: others[random.integers(len(others))],
        "last": lambda: last if last in others else others[-1],
    }[way]()


def points_of(recalibrator, scores):
    """Return the named class for scores, and the points it is drawn from with their weights."""
    mixed, named = recalibrator._looked(scores, None)[:2]
    sure = min(float(mixed[named]) / float(mixed.sum(dtype=np.float64)), 1.0)
    points, weights = recalibrator._rule.whole.safe.distribution(sure)
    return int(named), points.tolist(), weights.tolist()


def played(classes, rounds, way, seed, scores_at, event):
    """Return Cal2 of the named class in a game.

    The opponent sees the points that may be drawn, with their weights, and the tally so far, and
    says whether the named class is observed; `way` chooses which other one is.
    """
    random = np.random.default_rng([seed, classes])
    recalibrator = MulticlassRecalibrator(classes, seed=seed)
    biases, visits, last = {}, {}, 0
    for t in range(rounds):
        scores = scores_at(t, random)
        named, points, weights = points_of(recalibrator, scores)
        is_named = event(t, points, weights, biases, visits)
        row = recalibrator.predict(scores)
        label = named if is_named else other_class(way, row, named, last, random)
        recalibrator.update(int(label))
        z, last = float(row[named]), int(label)
        biases[z] = biases.get(z, 0.0) + z - is_named
        visits[z] = visits.get(z, 0) + 1
    return sum(biases[z] ** 2 / visits[z] for z in biases)


def contrarian(classes, rounds, way, seed=0):
    """Return Cal2 against an opponent who lets the less expected event happen."""

    def scores_at(_, random):
        return softmax(1.5 * random.standard_normal((1, classes)))[0]

    def event(_, points, weights, *__):
        return np.dot(points, weights) < 0.5

    return played(classes, rounds, way, seed, scores_at, event)


def drag(classes, rounds, way, seed=0, width=0.05):
    """Return Cal2 against Drag, who pulls what is expected along a slow sine.

    Within `width` of it, it takes the outcome that adds more to the biases of the points.
    """

    def target(t):
        return 0.55 + 0.35 * np.sin(2 * np.pi * t / rounds)

    def scores_at(t, _):
        rest = (1 - target(t)) / (classes - 1)
        return np.array([target(t), *[rest] * (classes - 1)])

    def event(t, points, weights, biases, visits):
        mean = np.dot(points, weights)
        if abs(mean - target(t)) > width:
            return mean < target(t)
        gains = (
            w * (1 - 2 * (biases.get(z, 0.0) + z)) / (visits.get(z, 0) + 1)
            for z, w in zip(points, weights, strict=True)
        )
        return sum(gains) > 0

    return played(classes, rounds, way, seed, scores_at, event)
