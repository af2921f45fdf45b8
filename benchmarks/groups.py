"""What groups cost where they are alike, and what they gain where they differ."""

import numpy as np

from benchmarks.tables import table
from calibrant import Recalibrator
from calibrant.measures import cal2, log_loss
from calibrant.streams import load
from recalibrate.cases import grouped_case

TITLE = "Recalibration by groups"
IN_README = ()
SEEDS = range(3)
SIZES = [(2, 20), (20, 20), (200, 20), (20, 200), (20, 2_000), (2, 20_000)]
FAMILIES = ("shared", "one differs", "shifted", "opposite")


def apart(scores, outcomes, by, seed):
    """Return the predictions of recalibrators that share nothing, one a group."""
    predictions = np.empty(len(scores))
    for name in np.unique(by):
        rows = by == name
        predictions[rows] = Recalibrator(seed=seed).run(scores[rows], outcomes[rows])
    return predictions


def synthetic(progress):
    """Yield nats a group, above one recalibrator for all rounds."""
    rows = []
    for family in FAMILIES:
        for groups, size in SIZES:
            progress(f"groups: {family}, {groups} of {size}")
            above = []
            for seed in SEEDS:
                scores, outcomes, by, means = grouped_case(family, groups, size, seed)
                together = Recalibrator(seed=seed).run(scores, outcomes)
                others = (
                    Recalibrator(seed=seed).run(scores, outcomes, by=by),
                    apart(scores, outcomes, by, seed),
                    means,
                )
                base = log_loss(together, outcomes)
                above.append([(log_loss(p, outcomes) - base) * size for p in others])
            excess = (f"{value:+,.1f}" for value in np.mean(above, axis=0))
            rows.append([f"{family}, {groups:,} of {size:,}", *excess])
    yield table(
        "Log loss above one recalibrator for all, in nats a group",
        ["groups", "by group", "apart", "true means"],
        rows,
    )


def real(progress):
    """Yield the flights, grouped by what matters and by what does not."""
    flights = load("nycflights")
    random = np.random.default_rng(0)
    count = len(flights.outcomes)
    groupings = {
        "none": None,
        "hour of day": np.array([time[11:13] for time in flights.times]),
        "month": np.array([time[:7] for time in flights.times]),
        "20 at random": random.integers(0, 20, count),
        "1,000 at random": random.integers(0, 1_000, count),
    }
    rows = []
    for name, by in groupings.items():
        progress(f"groups: flights, {name}")
        predictions = Recalibrator().run(flights.scores, flights.outcomes, by=by)
        worst = "-"
        if by is not None:
            parts = [cal2(predictions[by == g], flights.outcomes[by == g]) for g in np.unique(by)]
            worst = f"{max(parts):.1f}"
        loss = f"{log_loss(predictions, flights.outcomes):.4f}"
        rows.append([name, loss, f"{cal2(predictions, flights.outcomes):.0f}", worst])
    yield table("Flights by group", ["groups", "log loss", "Cal2", "Cal2 of the worst group"], rows)


def tables(progress):
    yield from synthetic(progress)
    yield from real(progress)
