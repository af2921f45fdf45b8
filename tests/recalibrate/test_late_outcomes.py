"""Outcomes that arrive late: what that costs. `tests/rounds` has what becomes of each of them."""

import numpy as np

from calibrant import Recalibrator
from calibrant.measures import brier
from calibrant.streams import load
from recalibrate.cases import played_late


def test_delay_costs_little_and_loses_nothing():
    """Every outcome a thousand rounds late: Brier within 0.01 of the true map's."""
    random = np.random.default_rng(0)
    scores = random.random(8000)
    truth = (random.random(8000) < 1 - scores).astype(float)
    recalibrator = Recalibrator()
    predictions = np.empty(8000)
    for t in range(8000):
        predictions[t] = recalibrator.predict(scores[t], id=t)
        if t >= 1000:
            recalibrator.update(truth[t - 1000], id=t - 1000)
    late = slice(2000, None)
    best = np.mean((1 - scores[late] - truth[late]) ** 2)
    assert np.mean((predictions[late] - truth[late]) ** 2) < best + 0.01
    assert recalibrator.pending == 1000


def test_bets_are_charged_alike_where_delays_depend_on_the_outcome():
    """Ones at once, zeros after 1,000 flights: 0.1657; 0.1670 if each bet's own delay counted."""
    flights = load("nycflights")
    scores, outcomes = flights.scores[:60_000], flights.outcomes[:60_000]
    late = np.where(outcomes == 1, 0, 1000)
    predictions = played_late(Recalibrator(capacity=60_000), scores, outcomes, late)
    assert brier(predictions, outcomes) < 0.1662


def test_memory_is_bounded_by_the_grid_and_what_waits():
    """Ten times the rounds, with ids that all differ, take more bytes only for points."""
    recalibrator, random = Recalibrator(capacity=50), np.random.default_rng(0)
    sizes = []
    for t, (score, chance) in enumerate(random.random((20_000, 2)).tolist()):
        recalibrator.predict(score, id=t)
        if t >= 40:
            recalibrator.update(chance < score, id=t - 40)
        if t in (1999, 19_999):
            points = len(recalibrator._whole._get_state()["z"])
            sizes.append(len(recalibrator.to_bytes()) - 6 * 8 * points)
    # The 90 ids in the header and some counts there have a digit more.
    assert abs(sizes[1] - sizes[0]) < 400
