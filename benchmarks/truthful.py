"""Does a lie pay? The error of forecasters that know the probabilities and predict something else.

- correct: outcomes are fair coins; a forecaster whose predictions were too low predicts slightly
  more than 1/2 until this is compensated, and vice versa. The best step is of the order of
  T^(-1/3).
- one number: the probabilities are uniform on [0, 1]; every prediction is 1/2.

If the error of a lie is a vanishing share of that of the truth, the measure rewards lying.
"""

import numpy as np

from benchmarks.tables import table
from calibrant.measures import (
    cal1,
    decision_loss,
    smooth_calibration,
    step_calibration,
    subsampled_smooth_calibration,
    subsampled_step_calibration,
    two_bin_calibration,
    u_calibration,
)

TITLE = "Truthful measures"
SEEDS = range(100)
SIZES = (100, 1_000, 10_000)
MEASURES = (
    cal1, smooth_calibration, step_calibration, u_calibration, decision_loss,
    subsampled_smooth_calibration, subsampled_step_calibration, two_bin_calibration,
)  # fmt: skip
SUBSAMPLED = {"draws": 10}  # of a half; the seeds average over many
LIES = f"Error of a lie over that of the truth, mean of {len(SEEDS)} seeds"
IN_DOCS = {"docs/calibration.md": (LIES,)}


def correct(truth, outcomes):
    """Say a little more or less than the truth, against the errors so far."""
    step, bias, told = len(truth) ** (-1 / 3) / 2, 0.0, np.empty(len(truth))
    for t, outcome in enumerate(outcomes):
        told[t] = truth[t] - step * np.sign(bias)
        bias += told[t] - outcome
    return told


#: By name, the true probabilities, and what is said instead.
WORLDS = {
    "correct": (lambda random, T: np.full(T, 0.5), correct),
    "one number": (lambda random, T: random.random(T), lambda truth, _: np.full(len(truth), 0.5)),
}


def ratio(measure, world, T):
    """Return the mean error of the lie over that of the truth."""
    means, lie = WORLDS[world]
    more = SUBSAMPLED if measure.__name__.startswith("subsampled") else {}
    errors = []
    for seed in SEEDS:
        random = np.random.default_rng([seed, T])
        truth = means(random, T)
        outcomes = (random.random(T) < truth).astype(float)
        errors.append([measure(p, outcomes, **more) for p in (truth, lie(truth, outcomes))])
    honest, lying = np.mean(errors, axis=0)
    return lying / honest


def tables(progress):
    """Return the tables of this module, one after the other."""
    rows = []
    for measure in MEASURES:
        row = [f"`{measure.__name__}`"]
        for world in WORLDS:
            for T in SIZES:
                progress(f"truthful: {measure.__name__}, {world}, {T:,} rounds")
                row.append(f"{ratio(measure, world, T):.2f}")
        rows.append(row)
    yield table(LIES, ["measure", *(f"{w}, {T:,}" for w in WORLDS for T in SIZES)], rows)
