"""Synthetic streams of several kinds, recalibrated, with known verdicts."""

import datetime as dt
from functools import cache

import numpy as np

from calibrant import Recalibrator
from calibrant.recalibrate.rows import recalibrate_rows
from calibrant.report import recalibration
from calibrant.tables import Cells, Scored

#: The name of each kind and the verdict on it.
STREAMS = {
    "wrong": "better", "rare": "better", "right": "no different", "late": "worse",
    "tiny": "cannot tell", "groups": "better",
}  # fmt: skip
START = dt.datetime(2024, 3, 1)


def logistic(odds):
    return 1.0 / (1.0 + np.exp(-odds))


def minutes(rounds, after=0):
    return [START + dt.timedelta(minutes=float(at)) for at in np.arange(rounds) + after]


@cache
def made(name):
    """Return scores, calibrated probabilities, outcomes, and what else a report is told."""
    random = np.random.default_rng(len(name))
    rounds = {"tiny": 30, "rare": 60_000, "groups": 6000}.get(name, 5000)
    truth = random.beta(1, 9, rounds) if name == "late" else random.random(rounds)
    if name == "rare":
        truth = logistic(random.normal(-8.0, 1.5, rounds))
    outcomes = (random.random(rounds) < truth).astype(float)
    scores, by = np.sqrt(truth), None
    told = {"times": minutes(rounds)}
    if name in ("right", "late"):
        scores = truth
    if name == "rare":
        scores = logistic(0.6 * np.log(truth / (1.0 - truth)))
    if name == "groups":
        told["by"] = by = [f"group {t % 6} with a rather long name" for t in range(rounds)]
    recalibrator = told["recalibrator"] = Recalibrator(capacity=rounds)
    if name == "late":
        # What happens is known after two minutes, what does not after more than a day.
        told["available"] = minutes(rounds, np.where(outcomes == 1.0, 2, 2500))
        clocks = (Cells("clock", told[which]).clock() for which in ("times", "available"))
        rows = Scored(scores, outcomes, "y", *clocks, None, None, None)
        calibrated = recalibrate_rows(recalibrator, rows).predictions
    else:
        calibrated = recalibrator.run(scores, outcomes, by=by)
    return scores, calibrated, outcomes, told


@cache  # a page is drawn once
def report_of(name):
    """Return the report of a synthetic stream."""
    scores, calibrated, outcomes, told = made(name)
    return recalibration(scores, calibrated, outcomes, **told)
