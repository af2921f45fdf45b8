"""Alternatives to a Recalibrator, on scores that are wrong in different ways.

A map that scikit-learn's CalibratedClassifierCV fits once, maps that are refitted every 500
rounds, and river's logistic regression on the logit of the score, which is Platt scaling online:
river has no calibration of its own. All see the same scores and the same outcomes at the same time.
The map that is fitted once learns from the first 5,000 outcomes; losses are measured after round
6,000, when it is in use in every world. Figures for synthetic streams are means of three seeds.
"""

import numpy as np
from river.linear_model import LogisticRegression
from river.optim.initializers import Constant
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.frozen import FrozenEstimator

from benchmarks.recalibrate import clipped_log_loss, refit
from benchmarks.scored import logit, scored, windowed_ece
from benchmarks.tables import table
from calibrant import Recalibrator, streams
from calibrant.recalibrate.rivals import Raw, Rival

TITLE = "Why not just ..."
FIT_ON, MEASURED_FROM = 5_000, 6_000
LATE = 1_000
LOSS = "Log loss"
ECE = "Mean ECE in windows of 1,000 rounds"
IN_DOCS = {"docs/why-not.md": (LOSS, ECE)}


def inside(scores):
    return np.clip(scores, 0.0001, 0.9999)


class Model(ClassifierMixin, BaseEstimator):
    """The deployed model, as scikit-learn sees it: its one feature is the score."""

    def __init__(self):
        self.classes_ = np.array([0, 1])

    def fit(self, X, y):  # noqa: ARG002 - it was fitted long ago
        return self

    def decision_function(self, X):
        return logit(inside(X[:, 0]))

    def predict(self, X):
        return self.classes_[(X[:, 0] > 0.5).astype(int)]


class FittedOnce(Rival):
    """The scores themselves, and from the 5,000th outcome on a map that never changes again."""

    def __init__(self, method):
        super().__init__()
        self.method, self.seen, self.map = method, [], None

    def _forecast(self, score):
        self.score = score
        if self.map is None:
            return score
        return float(np.interp(score, *self.map))

    def _learn(self, outcome):
        self.seen.append((self.score, outcome))
        if len(self.seen) == FIT_ON:
            X, y = np.array(self.seen).T
            model = CalibratedClassifierCV(FrozenEstimator(Model()), method=self.method)
            model.fit(X[:, None], y)
            # Asked once on a fine grid, as a call a row would take a millisecond.
            grid = 1 / (1 + np.exp(-np.linspace(-9.3, 9.3, 20_001)))
            self.map = grid, model.predict_proba(grid[:, None])[:, 1]


class RiverPlatt(Rival):
    """River's logistic regression of the outcome on the score's logit; it begins with the score."""

    def __init__(self):
        super().__init__()
        self.model = LogisticRegression(initializer=Constant(1.0))

    def _forecast(self, score):
        self.features = {"logit": float(logit(inside(score)))}
        return self.model.predict_proba_one(self.features)[True]

    def _learn(self, outcome):
        self.model.learn_one(self.features, outcome == 1)


MODELS = {
    "the scores as they are": lambda seed: Raw(),
    "CalibratedClassifierCV, sigmoid, once": lambda seed: FittedOnce("sigmoid"),
    "CalibratedClassifierCV, isotonic, once": lambda seed: FittedOnce("isotonic"),
    "isotonic refits, last 2,000": refit("isotonic", 2_000),
    "isotonic refits, last 10,000": refit("isotonic", 10_000),
    "sigmoid refits, last 2,000": refit("sigmoid", 2_000),
    "river, logistic on the logit": lambda seed: RiverPlatt(),
    "calibrant's Recalibrator": lambda seed: Recalibrator(seed=seed),
}


# What is wrong with the scores -> the kind of made stream.
MADE = {
    "a fixed error": "overconfident",
    "drift": "drifting bias",
    "jumps": "regimes",
    "1 in 100": "one in a hundred",
}
SEEDS = range(3)


def worlds():
    """Return scores, outcomes and how many rounds late these come, by what is wrong."""
    soccer, flights = streams.load("soccer538"), streams.load("nycflights")
    made = {
        name: [(*scored(kind, 50_000, seed)[:2], 0) for seed in SEEDS]
        for name, kind in MADE.items()
    }
    return {
        "nothing (soccer)": [(soccer.scores, soccer.outcomes, 0)],
        **made,
        "weather (flights)": [(flights.scores, flights.outcomes, 0)],
        "flights, 1,000 late": [(flights.scores[:60_000], flights.outcomes[:60_000], LATE)],
    }


def run(model, scores, outcomes, late):
    """Return the predictions when each outcome arrives `late` rounds after its prediction."""
    if not late:
        return model.run(scores, outcomes)
    predictions = np.empty(len(scores))
    for t, score in enumerate(scores.tolist()):
        predictions[t] = model.predict(score, id=t)
        if t >= late:
            model.update(outcomes[t - late], id=t - late)
    return predictions


def tables(progress):
    """Return the tables of this module, one after the other."""
    known = worlds()
    means = {name: [] for name in MODELS}  # of the two measures, a world
    for world, runs in known.items():
        for name, make in MODELS.items():
            progress(f"why_not: {name}, {world}")
            measured = []
            for scores, outcomes, late in runs:
                predicted = run(make(0), scores, outcomes, late)
                judged = predicted[MEASURED_FROM:], outcomes[MEASURED_FROM:]
                measured.append((clipped_log_loss(*judged), windowed_ece(*judged)))
            means[name].append(np.mean(measured, axis=0))
    for which, title in enumerate((LOSS, ECE)):
        rows = [[name, *(f"{mean[which]:.4f}" for mean in row)] for name, row in means.items()]
        yield table(title, ["what is used", *known], rows)
