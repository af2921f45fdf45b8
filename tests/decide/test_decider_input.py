"""Invalid input: errors name the argument, the value and what is allowed; nothing changes."""

import numpy as np
import pytest

from calibrant import Decider, Recalibrator
from calibrant.decide import (
    UnlabelledWarning,
    critical_quantile,
    precision_bound,
    threshold_of_costs,
)
from calibrant.measures import cal1


def played():
    decider = Decider(budget=0.1, per="60s")
    decider.decide_many(np.linspace(0, 1, 300), at=np.arange(300))
    return decider


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda d: d.decide(float("nan"), at=300), r"probability must be a number in \[0.0, 1.0\]"),
        (lambda d: d.decide(1.5, at=300), "probability must be .*got 1.5"),
        (lambda d: d.decide("high", at=300), "probability must be .*got 'high'"),
        (lambda d: d.decide(0.5), "needs the time of each row, at="),
        (lambda d: d.decide(0.5, at=298), "at must not run backwards, got 298.0 after 299.0"),
        (lambda d: d.decide(0.5, at=298, id="a"), "at must not run backwards"),
        (lambda d: d.decide(0.5, at=300, costs=[[0, 2], [1, 1]]), "decides by costs"),
        (lambda d: d.decide_many([0.5, np.nan], at=[300, 301]), "in .*got nan at position 1"),
        (lambda d: d.decide_many([0.5, 0.5], at=[301, 300]), "run backwards.*at position 1"),
        (lambda d: d.decide_many([0.5] * 2, at=[301, 300], ids=[1, 2]), "run backwards"),
        (lambda d: d.decide_many([0.5] * 2, at=[300, 301], ids=["a", "a"]), "comes at positions"),
        (lambda d: d.decide_many([0.5] * 2, at=[300, 301], ids=["a"]), "same length"),
        (lambda d: d.decide_many([[0.5]], at=300), "one-dimensional"),
        (lambda d: d.run([0.5], [2.0], at=[300]), "outcomes must be in"),
        (lambda d: d.run([0.5], [1.0, 0.0], at=[300]), "same length"),
        (lambda d: d.run([0.5], [1.0], known=[300]), "known needs at"),
        (lambda d: d.run([0.5] * 2, [1, 0], at=[301, 300]), "run backwards"),
        (lambda d: d.update(1), "none is pending"),
        (lambda d: d.update(1, id="never"), "unknown"),
        (lambda d: d.update_many([1.5], ids=["a"]), "outcomes must be in"),
        (lambda d: d.precision_bound(alpha=0), "alpha must be"),
        (lambda d: d.unlabelled(rows=0), "rows must be"),
    ],
)
def test_bad_input_changes_nothing(call, message):
    decider = played()
    before = decider.to_bytes()
    with pytest.raises(ValueError, match=message):
        call(decider)
    assert decider.to_bytes() == before


@pytest.mark.parametrize("arguments", [{"precision": 0.5}, {"recall": 0.8, "explore": 0.1}])
def test_a_floor_without_outcomes_is_refused(arguments):
    decider = Decider(**arguments)
    before = decider.to_bytes()
    with pytest.raises(ValueError, match="kept by outcomes, and without ids= none can come"):
        decider.decide_many([0.2, 0.9])
    assert decider.to_bytes() == before


def test_costs_of_each_row():
    decider = Decider(cost_of_acting=1, cost_of_missing=2)
    rows = np.array([[[0, 2], [1, 1]], [[0, 10], [1, 1]], [[0, 3], [1, 0]]])
    assert decider.decide_many([0.2, 0.2, 0.2], costs=rows).tolist() == [False, True, False]
    assert [decider.decide(0.2, costs=each) for each in rows] == [False, True, False]
    with pytest.raises(ValueError, match="one matrix per row, got 3 for 2 rows"):
        decider.decide_many([0.2, 0.2], costs=rows)


def test_acting_at_the_threshold_of_costs_is_the_cheapest_choice():
    random = np.random.default_rng(0)
    for _ in range(100):
        low, high = np.sort(random.normal(size=(2, 2)), axis=0)
        costs = [[low[0], high[1]], [high[0], low[1]]]
        t = threshold_of_costs(costs)
        for p in random.random(20):
            acting, not_acting = ((1 - p) * row[0] + p * row[1] for row in (costs[1], costs[0]))
            assert (p >= t) == (acting <= not_acting)


def test_there_is_no_swap_regret_beyond_the_calibration_error():
    """cost <= least cost of any rule of the prediction + D Cal1; with equality for some streams."""
    random = np.random.default_rng(3)
    tightest = np.inf
    for _ in range(300):
        p = random.choice(random.random(4), 200)
        y = (random.random(200) < random.choice([0.05, 0.3, 0.7])).astype(float)
        decider = Decider(cost_of_acting=1, cost_of_missing=float(random.uniform(1.5, 20)))
        acts, missing = decider.decide_many(p), decider.cost_of_missing
        cost = acts.sum() + missing * y[~acts].sum()
        each = [(np.sum(p == x), y[p == x].sum()) for x in np.unique(p)]
        least = sum(min(count, missing * events) for count, events in each)
        allowed = missing * cal1(p, y)  # D is the cost of missing
        assert cost <= least + allowed + 1e-9
        tightest = min(tightest, (least + allowed - cost) / allowed)
    assert tightest < 0.5


def test_the_critical_quantile_has_the_least_cost():
    demand = np.random.default_rng(0).gamma(3, 10, 20_000)
    q = critical_quantile(cost_of_over=2, cost_of_under=5)
    stocks = np.quantile(demand, [q - 0.05, q, q + 0.05])
    costs = [np.mean(2 * np.fmax(s - demand, 0) + 5 * np.fmax(demand - s, 0)) for s in stocks]
    assert costs[1] == min(costs)


def test_what_a_recalibrator_gives_can_be_decided():
    random = np.random.default_rng(0)
    scores = random.random(3000)
    happened = random.random(3000) < scores**2
    recalibrator, decider = Recalibrator(), Decider(precision=0.5)
    for i in range(3000):
        p = recalibrator.predict(scores[i], id=i)
        decider.decide(p, id=i)
        recalibrator.update(happened[i], id=i)
        decider.update(happened[i], id=i)
    assert decider.observed_precision > 0.5
    assert decider.acted > (scores**2 >= 0.5).sum()  # the threshold went down
    assert decider.precision_bound() < decider.observed_precision


# -- selective outcomes ----------------------------------------------------------------------------


def test_what_was_explored_is_in_the_log():
    decider = Decider(precision=0.7, explore=0.1, seed=4)
    p = np.random.default_rng(1).random(2000) * 0.5
    decider._book.collect()
    acts, chances = decider.decide_many(p, ids=range(2000), propensities=True)
    assert set(chances.tolist()) <= {0.1, 1.0}
    explored = acts & (chances < 1)
    assert decider.explored == explored.sum()
    # 2,000 draws at 0.1: the standard deviation is 13.
    assert abs(explored.sum() - 200) < 5 * 13.4
    decider.update_many(np.zeros(2000), ids=range(2000))
    settled = decider._book.take_settled()
    order = np.argsort([int(each) for each in settled.ids])
    assert (settled.expected[order] == chances).all()
    assert (settled.prediction[order] > 0.5).tolist() == acts.tolist()


def test_ranges_without_outcomes_are_named():
    decider = Decider(cost_of_acting=1, cost_of_missing=2)
    decider.decide_many([0.05] * 12_000 + [0.95] * 9_000)  # no outcomes at all: nothing is missed
    assert decider.unlabelled() == [(0.0, 0.1)]
    decider.decide(0.95, id="a")
    decider.update(1, id="a")
    decider.decide_many([0.05] * 8_000)  # 29,001 in all
    with pytest.warns(UnlabelledWarning, match="probability of 0 to 0.1: what"):
        decider.decide_many([0.55] * 999)
    decider.decide(0.02, id="b")
    decider.update(0, id="b")
    assert decider.unlabelled() == []
    decider.decide_many([0.05] * 9_990 + [0.95] * 20)  # 40,011 in all, and none for long


# -- the bound of the precision --------------------------------------------------------------------


def worst_excess(random, rows, alpha):
    """Return by how much the bound was ever above the mean chance, at looks of all sizes.

    Chances drift, probabilities are biased, and one looks whenever the outcomes were kind.
    """
    mu = 0.6 + 0.2 * np.sin(np.arange(rows) / 300) + 0.1 * (np.arange(rows) > rows // 2)
    p = np.clip(mu + random.normal(0, 0.1, rows), 0, 1)
    y = (random.random(rows) < mu).astype(float)
    looks = np.unique(np.geomspace(5, rows, 40).astype(int))
    return max(precision_bound(p[:n], y[:n], alpha=alpha) - mu[:n].mean() for n in looks)


def test_the_bound_holds_at_all_looks_at_once():
    """Wrong in at most alpha = 0.05 of 100 streams, 5; 13 is four standard deviations more.

    Without the penalty it is wrong in 51 of them, and with alpha = 1 in 73.
    """
    random = np.random.default_rng(6)
    wrong = sum(worst_excess(random, 1000, 0.05) > 0 for _ in range(100))
    assert wrong <= 13


def test_the_bound_is_near_what_was_observed():
    """At n outcomes about sqrt(2 V log(16 / alpha) / n) below, with the mixture's price."""
    random = np.random.default_rng(7)
    p = np.full(10_000, 0.7)
    y = (random.random(10_000) < p).astype(float)
    below = y.mean() - precision_bound(p, y)
    assert 0.005 < below < 1.1 * np.sqrt(2 * 0.21 * np.log(16 / 0.05) / 10_000)
    assert precision_bound([], []) == 0.0
