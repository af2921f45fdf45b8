"""The cost of groups that are alike, and the gain of groups that differ."""

import os
import subprocess
import sys
import time

import numpy as np

from benchmarks.fleet import memory
from benchmarks.tables import table
from calibrant import Recalibrator
from calibrant.measures import cal2, log_loss
from calibrant.streams import load
from recalibrate.cases import grouped_case, late_case, played_late

TITLE = "Recalibration by groups"
SEEDS = range(3)
SIZES = [(2, 20), (20, 20), (200, 20), (20, 200), (20, 2_000), (2, 20_000)]
FAMILIES = ("shared", "one differs", "shifted", "opposite", "bent")
#: Spread of the level of all groups, how many these are, and how far they differ.
LATE = {
    "a level moves, 500 alike": (1.5, 500, 0.0),
    "a level moves, 500 with offsets of sd 0.5": (1.5, 500, 0.5),
    "a level moves, 20 with offsets of sd 0.5": (1.5, 20, 0.5),
    "nothing moves, 500 alike": (0.0, 500, 0.0),
    "nothing moves, 500 with offsets of sd 0.5": (0.0, 500, 0.5),
    "nothing moves, 20 with offsets of sd 0.5": (0.0, 20, 0.5),
}
#: Groups and rows whose memory and time are measured.
RUNS = [(10, 200_000), (1_000, 200_000), (10**6, 3 * 10**6)]


def apart(scores, outcomes, by, seed):
    """Return the predictions of recalibrators that share nothing, one per group."""
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


def late(progress):
    """Yield the log loss above the true chances where outcomes arrive 150 rounds late."""
    rows = []
    for name, case in LATE.items():
        above = []
        for seed in SEEDS:
            progress(f"groups: late, {name}, seed {seed}")
            scores, outcomes, by, means, known = late_case(*case, seed)
            best = log_loss(means, outcomes)
            predicted = (
                played_late(Recalibrator(seed=seed), scores, outcomes, known, names)
                for names in (None, by)
            )
            above.append([log_loss(each, outcomes) - best for each in predicted])
        rows.append([name, *(f"{excess:.4f}" for excess in np.mean(above, axis=0))])
    yield table(
        "Log loss above the true chances, 20,000 rounds, outcomes 150 rounds late",
        ["groups", "one for all", "by group"],
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


def one_run(groups, count):
    """Print bytes a group, time of a row, of one without groups, and how many earned stages."""
    random = np.random.default_rng(0)
    scores, by = random.random(count), random.integers(0, groups, count)
    outcomes = (random.random(count) < scores).astype(float)
    few = slice(0, 100_000)
    begun = time.process_time()
    Recalibrator().run(scores[few], outcomes[few])
    alone = (time.process_time() - begun) / 100_000
    recalibrator, spent, before = Recalibrator(), 0.0, memory("VmRSS")
    for start in range(0, count, 100_000):
        part = slice(start, start + 100_000)
        begun = time.process_time()
        recalibrator.run(scores[part], outcomes[part], by=by[part])
        spent += time.process_time() - begun
    bytes_a_group = (memory("VmRSS") - before) / len(recalibrator.groups)
    print(bytes_a_group, spent / count / alone, len(recalibrator._groups.own))


def speed(progress):
    """Yield what groups take, each size in a separate process."""
    rows = []
    for groups, count in RUNS:
        progress(f"groups: {count:,} rows in {groups:,}")
        command = f"from benchmarks.groups import one_run; one_run({groups}, {count})"
        printed = subprocess.run(
            [sys.executable, "-c", command],
            check=True, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": ".:tests"},
        ).stdout  # fmt: skip
        a_group, ratio, own = map(float, printed.split())
        size = f"{groups:,} groups, {count:,} rows"
        taken = f"{a_group:,.0f}" if groups > 10_000 else "-"  # else too little beside the rows
        rows.append([size, taken, f"{ratio:.1f}", f"{own:,.0f}"])
    yield table(
        "Memory and time of `run` by group",
        [
            "groups",
            "resident bytes a group",
            "time, of a row without groups",
            "with a curve of its own",
        ],
        rows,
    )


def tables(progress):
    """Yield the tables of this part."""
    yield from synthetic(progress)
    yield from late(progress)
    yield from real(progress)
    yield from speed(progress)
