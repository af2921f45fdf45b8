"""The Recalibrator with late outcomes, on the flights and on synthetic streams."""

import numpy as np

from benchmarks.scored import scored
from benchmarks.tables import table
from calibrant import Recalibrator, streams
from calibrant.measures import brier, cal2, log_loss
from recalibrate.cases import played_late

TITLE = "Late outcomes"
IN_DOCS = {"docs/recalibrate.md": ("Outcomes that come late, the first 60,000 flights",)}
ROUNDS = 60_000
LATE = 1_000
NEVER = 2 * ROUNDS

# How late: the delays of all rounds, in rounds, from the outcomes and a generator.
DELAYS = {
    "at once": lambda y, random: np.zeros(len(y), int),
    "10 rounds late": lambda y, random: np.full(len(y), 10),
    "50 rounds late": lambda y, random: np.full(len(y), 50),
    "150 rounds late": lambda y, random: np.full(len(y), 150),
    "1,000 rounds late": lambda y, random: np.full(len(y), LATE),
    "at random, 1,000 on average": lambda y, random: random.exponential(LATE, len(y)).astype(int),
    "0 at once, 1 after 1,000": lambda y, random: np.where(y == 1, LATE, 0),
    "1 at once, 0 after 1,000": lambda y, random: np.where(y == 1, 0, LATE),
    "0 at once, 1 never": lambda y, random: np.where(y == 1, NEVER, 0),
}
MADE = ["calibrated", "overconfident", "weather", "storms", "regimes", "replaced models"]


def tables(progress):
    """Return the tables of this module, one after the other."""
    flights = streams.load("nycflights")
    cases = {f"the first {ROUNDS:,} flights": (flights.scores[:ROUNDS], flights.outcomes[:ROUNDS])}
    cases |= {kind: scored(kind, 50_000, 0)[:2] for kind in MADE}
    rows = {name: [name] for name in ["raw scores", *DELAYS]}
    for title, (scores, outcomes) in cases.items():
        columns = {"raw scores": [f"{brier(scores, outcomes):.5f}"]}
        for name, delays in DELAYS.items():
            progress(f"delay: {title}, {name}")
            late = delays(outcomes, np.random.default_rng(0))
            recalibrator = Recalibrator(capacity=len(scores))
            predictions = played_late(recalibrator, scores, outcomes, late)
            columns[name] = [f"{brier(predictions, outcomes):.5f}"]
            if title not in MADE:
                columns[name] += [
                    f"{log_loss(predictions, outcomes):.4f}",
                    f"{cal2(predictions, outcomes):,.0f}",
                ]
        if title not in MADE:
            columns["raw scores"] += [f"{log_loss(scores, outcomes):.4f}", "-"]
            yield table(
                f"Outcomes that come late, {title}",
                ["outcomes come", "Brier", "log loss", "Cal2"],
                [[name, *values] for name, values in columns.items()],
            )
        else:
            for name, values in columns.items():
                rows[name] += values
    yield table(
        "Brier score, made streams of 50,000 rounds", ["outcomes come", *MADE], rows.values()
    )
