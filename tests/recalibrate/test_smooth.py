"""The smooth estimate: against the slow reference, the same in every method, and its ranking."""

import numpy as np
import pytest

from calibrant import Recalibrator, streams
from calibrant.measures import brier, log_loss
from calibrant.recalibrate import recalibrate_frame
from naive.recalibrate import NaiveRecalibrator
from recalibrate.cases import random_case


@pytest.mark.parametrize("number", range(6))
def test_agrees_with_its_twin(number):
    kind, scores, outcomes = random_case(number, 150)
    kernel, twin = Recalibrator(kind, seed=number), NaiveRecalibrator(kind, seed=number)
    for score, outcome in zip(scores.tolist(), outcomes.tolist(), strict=True):
        estimate = kernel.smooth(score)
        assert kernel.predict(score) == pytest.approx(twin.predict(score, 0), abs=1e-9)
        assert estimate == pytest.approx(twin.smooth(twin.waiting[0][0]), abs=1e-9)
        kernel.update(outcome)
        twin.update(outcome, 0)


@pytest.mark.parametrize("delay", [0, 3])
def test_a_frame_has_what_was_said_before_each_outcome(delay):
    pandas = pytest.importorskip("pandas")
    _, scores, outcomes = random_case(0, 200)
    groups = np.array(["a", "b"])[np.arange(200) % 2]
    times = np.arange(200)
    frame = pandas.DataFrame(
        {"p": scores, "y": outcomes, "by": groups, "at": times, "known": times + delay}
    )
    times = {"time": "at", "available": "known"} if delay else {}
    predicted = recalibrate_frame(
        frame, score="p", outcome="y", by="by", smooth="estimate", **times
    )
    recalibrator = Recalibrator()
    for row in range(200):
        if row > delay:
            recalibrator.update(outcomes[row - delay - 1], id=row - delay - 1)
        assert predicted["estimate"][row] == recalibrator.smooth(scores[row], by=groups[row])
        recalibrator.predict(scores[row], id=row, by=groups[row])
        if not delay:
            recalibrator.update(outcomes[row], id=row)


def test_it_is_near_what_is_placed_and_finer():
    _, scores, outcomes = random_case(0, 2_000)
    recalibrator = Recalibrator().fit(scores, outcomes)
    grid = np.linspace(0.01, 0.99, 500)
    smooth, placed = recalibrator.smooth(grid), recalibrator.expected(grid)
    assert len(set(smooth)) == 500 > 2 * len(set(placed))
    assert np.abs(smooth - placed).mean() < 0.02
    assert smooth[7] == recalibrator.smooth(grid[7])
    groups = ["a", None] * 250
    recalibrator.run(grid, grid > 0.5, by=groups)
    both = recalibrator.smooth(grid, by=groups)
    assert both[6] == recalibrator.smooth(grid[6], by="a")
    assert both[7] == recalibrator.smooth(grid[7])


def rare_events(rate, rounds, seed):
    """Return scores that are right, and rare events."""
    random = np.random.default_rng([seed, rounds])
    rates = random.lognormal(0, 1, rounds)
    rates *= rate / rates.mean()
    return rates, (random.random(rounds) < rates).astype(float)


def estimates_of(scores, outcomes):
    return Recalibrator()._run(scores, outcomes, by=None, smooth=True)[2]


@pytest.mark.parametrize(("rate", "rounds"), [(1e-3, 100_000), (1e-4, 400_000)])
def test_rare_events_are_ranked_as_by_the_scores(rate, rounds):
    metrics = pytest.importorskip("sklearn.metrics")
    lost = []
    for seed in range(3):
        scores, outcomes = rare_events(rate, rounds, seed)
        estimates = estimates_of(scores, outcomes)
        lost.append(
            [
                measure(outcomes, scores) - measure(outcomes, estimates)
                for measure in (metrics.roc_auc_score, metrics.average_precision_score)
            ]
        )
    # At most 0.0003 is lost on these streams. With experts that are heard whatever they learned
    # from it would be 0.0085, and with the floor besides, 0.0159.
    area, precision = np.max(lost, axis=0)
    assert area < 0.001
    assert precision < 0.001


@pytest.mark.parametrize("by", [None, "shop"])
@pytest.mark.parametrize("kind", ["probability", "logit"])
def test_scores_below_the_floor_keep_their_order(kind, by):
    scores, outcomes = rare_events(1e-2, 2_000, 0)
    tiny = np.geomspace(2e-9, 1e-3, 200)
    if kind == "logit":
        scores, tiny = (np.log(p / (1 - p)) for p in (scores, tiny))
    groups = None if by is None else [by] * 2_000
    recalibrator = Recalibrator(kind).fit(scores, outcomes, by=groups)
    estimates = recalibrator.smooth(tiny, by=None if by is None else [by] * 200)
    assert (np.diff(estimates) > 0).all()
    assert recalibrator.smooth(tiny[3], by=by) == estimates[3]
    # What is placed knows the floor: after 2,000 outcomes nothing is called rarer than 1e-4.
    assert len(set(recalibrator.expected(tiny[:100]))) == 1


@pytest.mark.parametrize("name", ["nba_elo", "covid_rise"])
def test_it_is_as_good_as_what_is_placed(name):
    stream = streams.load(name)
    estimates = estimates_of(stream.scores, stream.outcomes)
    means = Recalibrator()._whole._run_means(stream.scores, stream.outcomes)[1]
    for loss in (brier, log_loss):
        assert loss(estimates, stream.outcomes) < loss(means, stream.outcomes) + 0.0005
