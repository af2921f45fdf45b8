"""Outcomes with weights: beside the slow references, in steps and tables, saved, and refused."""

import numpy as np
import pytest

from calibrant import (
    EventForecaster,
    Fleet,
    MulticlassRecalibrator,
    NumberRecalibrator,
    Recalibrator,
)
from naive.draws import scramble
from naive.fleet import NaiveFleet
from naive.groups import NaiveGroupedRecalibrator
from naive.multiclass import NaiveClasses
from naive.numbers import NaiveNumbers
from naive.recalibrate import NaiveRecalibrator
from recalibrate.cases import random_case

LEVELS = [0.05, 0.25, 0.5, 0.75, 0.95]


class Mean:
    """The mean of weights so far."""

    def __init__(self):
        self.total, self.count = 0.0, 0

    def beside(self, weights, first=0):
        """Return the weights of rounds that were predicted in one call as they teach.

        They are learned in an order drawn from their numbers, which begin with `first`.
        """
        told = [None] * len(weights)
        for at in sorted(range(len(weights)), key=lambda at: scramble(first + at + 1)):
            self.total, self.count = self.total + weights[at], self.count + 1
            told[at] = min(5.0, weights[at] * self.count / self.total)
        return told


def some_weights(random, rows):
    """Return weights as explored rows have them: many of 1, some of 20, and others."""
    return np.where(random.random(rows) < 0.3, random.choice([20.0, 3.3, 0.1], rows), 1.0)


# -- beside the twins -----------------------------------------------------------------------------


@pytest.mark.parametrize("number", range(6))
def test_scores_agree_with_their_twin(number):
    """On every other stream, outcomes arrive five rounds late."""
    kind, scores, outcomes = random_case(number, 400)
    kernel, twin = Recalibrator(kind, seed=number), NaiveRecalibrator(kind, seed=number)
    late, weights = 5 * (number % 2), some_weights(np.random.default_rng(number), 400)
    mean = Mean()
    for t in range(400):
        predicted = twin.predict(scores[t], t)
        assert kernel.predict(scores[t], id=t) == pytest.approx(predicted, rel=0, abs=1e-9)
        known = t - late
        if known >= 0:
            kernel.update(outcomes[known], id=known, weight=weights[known])
            twin.update(outcomes[known], known, *mean.beside([weights[known]]))
    state = kernel._whole._get_state()
    np.testing.assert_allclose(state["w"], twin.weights, rtol=0, atol=1e-9)
    np.testing.assert_allclose(state["recent_w"], twin.recent.weights, rtol=0, atol=1e-9)
    np.testing.assert_allclose(state["S"], [point.bias for point in twin.safe.points], atol=1e-9)
    assert state["n"].tolist() == [point.visits for point in twin.safe.points]


@pytest.mark.parametrize("size", [20, 120])  # so many are learned as one
def test_batches_agree_with_their_twin(size):
    _, scores, outcomes = random_case(0, 5 * size)
    kernel, twin = Recalibrator(seed=1), NaiveRecalibrator(seed=1)
    weights, mean = some_weights(np.random.default_rng(size), 5 * size), Mean()
    for first in range(0, 5 * size, size):
        ids = list(range(first, first + size))
        expected = twin.predict_many(scores[ids].tolist(), ids)
        given = kernel.predict_many(scores[ids], ids=ids)
        np.testing.assert_allclose(given, expected, rtol=0, atol=1e-9)
        kernel.update_many(outcomes[ids], ids=ids, weights=weights[ids])
        twin.update_many(outcomes[ids].tolist(), ids, mean.beside(weights[ids], first))
    state = kernel._whole._get_state()
    np.testing.assert_allclose(state["w"], twin.weights, rtol=0, atol=1e-9)
    np.testing.assert_allclose(state["S"], [point.bias for point in twin.safe.points], atol=1e-9)


@pytest.mark.parametrize("size", [1, 120])
def test_groups_agree_with_their_twin(size):
    random = np.random.default_rng(5)
    scores, weights, mean = random.uniform(0.05, 0.95, 600), some_weights(random, 600), Mean()
    outcomes = (random.random(600) < scores**2).astype(float)
    by = random.integers(0, 2, 600).tolist()
    kernel, twin = Recalibrator(seed=2), NaiveGroupedRecalibrator(seed=2)
    for first in range(0, 600, size):
        ids = list(range(first, first + size))
        told = mean.beside(weights[ids], first)
        names = [by[each] for each in ids]
        expected = twin.predict_many(scores[ids].tolist(), ids, names)
        given = kernel.predict_many(scores[ids], ids=ids, by=names)
        np.testing.assert_allclose(given, expected, rtol=0, atol=1e-6)
        kernel.update_many(outcomes[ids], ids=ids, weights=weights[ids])
        if size == 1:
            twin.update(outcomes[first], first, told[0])
        else:
            twin.update_many(outcomes[ids].tolist(), ids, told)
    kernel._whole._catch_up()
    assert kernel._groups.own
    for number, own in kernel._groups.own.items():
        weight = twin.groups[kernel._groups.names[number]].stages.weights[0]
        assert own.pair.weight == pytest.approx(weight, abs=1e-6)


@pytest.mark.parametrize("size", [1, 120])
def test_keys_agree_with_their_twin(size):
    random = np.random.default_rng(6)
    scores, weights, mean = random.uniform(0.05, 0.95, 720), some_weights(random, 720), Mean()
    outcomes = (random.random(720) < scores**2).astype(float)
    keys = random.choice(["a", "b"], 720).tolist()
    fleet, twin = Fleet(seed=3), NaiveFleet(seed=3)
    for first in range(0, 720, size):
        ids = list(range(first, first + size))
        told = mean.beside(weights[ids], first)
        expected = [twin.predict(keys[each], scores[each], each)[1] for each in ids]
        given = fleet.predict_many([keys[each] for each in ids], scores[ids], ids=ids)
        np.testing.assert_allclose(given, expected, rtol=0, atol=1e-6)
        fleet.update_many(outcomes[ids], ids=ids, weights=weights[ids])
        if size == 1:
            twin.update(outcomes[first], first, told[0])
        else:
            twin.update_many(outcomes[ids].tolist(), ids, told)


def test_classes_agree_with_their_twin():
    random = np.random.default_rng(7)
    rows, weights, mean = random.dirichlet([1, 2, 3], 300), some_weights(random, 300), Mean()
    kernel, twin = MulticlassRecalibrator(3, seed=4), NaiveClasses(3, 4)
    for t, row in enumerate(rows):
        label = int(random.choice(3, p=row**2 / (row**2).sum()))
        expected = twin.predict(row, t)
        assert kernel.predict(row).tolist() == pytest.approx(expected, rel=0, abs=2e-4)
        kernel.update(label, weight=weights[t])
        twin.update(label, t, *mean.beside([weights[t]]))


def test_numbers_agree_with_their_twin():
    random = np.random.default_rng(8)
    forecasts = random.normal(size=400)
    outcomes = 2 * forecasts + random.normal(size=400)
    weights, mean = some_weights(random, 400), Mean()
    kernel, twin = NumberRecalibrator(LEVELS, periods=(7,)), NaiveNumbers(LEVELS, (7,))
    for t in range(400):
        predicted = twin.predict(forecasts[t])
        given = kernel.predict(forecasts[t]).quantiles
        np.testing.assert_allclose(given, predicted["shown"], rtol=1e-6, atol=1e-6)
        kernel.update(outcomes[t], weight=weights[t])
        twin.learn(predicted, outcomes[t], *mean.beside([weights[t]]))


# -- all that plays rounds ------------------------------------------------------------------------


def scored(random, rows):
    scores = random.random(rows)
    return scores, (random.random(rows) < scores**2).astype(float)


def labelled(random, rows):
    table = random.dirichlet([1, 2, 3], rows)
    return table, np.array([random.choice(3, p=row) for row in table])


def numbered(random, rows):
    forecasts = random.normal(size=rows)
    return forecasts, forecasts + random.normal(size=rows)


class InGroups:
    """A recalibrator of which every row is in a group."""

    def __init__(self):
        self.inner = Recalibrator(seed=1)

    def names(self, rows):
        return [("x", "y")[each % 2] for each in range(len(rows))]

    def run(self, rows, outcomes, **more):
        return self.inner.run(rows, outcomes, by=self.names(rows), **more)

    def predict_many(self, rows, **more):
        return self.inner.predict_many(rows, by=self.names(rows), **more)

    def __getattr__(self, name):
        return getattr(self.inner, name)


class OfKeys(InGroups):
    """A fleet."""

    def __init__(self):
        self.inner = Fleet(seed=1)

    def run(self, rows, outcomes, **more):
        return self.inner.run(self.names(rows), rows, outcomes, **more)

    def predict_many(self, rows, **more):
        return self.inner.predict_many(self.names(rows), rows, **more)


PLAYERS = {
    "scores": (lambda: Recalibrator(seed=1), scored),
    "groups": (InGroups, scored),
    "keys": (OfKeys, scored),
    "classes": (lambda: MulticlassRecalibrator(3, seed=1), labelled),
    "numbers": (lambda: NumberRecalibrator(LEVELS, seed=1), numbered),
}
every = pytest.mark.parametrize("name", PLAYERS)


def made(name, rows=200):
    make, columns = PLAYERS[name]
    random = np.random.default_rng(3)
    return make, *columns(random, rows), some_weights(random, rows)


def learned(player):
    """Return all that a player knows, but for how weights are counted."""
    for book in books(player):
        book.weighed, book.weighings = 0.0, -1.0
    return player.to_bytes()


def books(player):
    if hasattr(player, "_shards"):
        return [shard.book for shard in player._shards.values()]
    return [player._book]


@every
def test_the_same_weight_for_all_is_none(name):
    make, rows, outcomes, _ = made(name)
    plain, same = make(), make()
    given = same.run(rows, outcomes, weights=np.full(200, 4.0))
    assert (plain.run(rows, outcomes) == given).all()
    states = learned(plain), learned(same)
    # Of numbers, a table and a loop keep the same shapes in one object, or in two.
    assert name == "numbers" or states[0] == states[1]
    assert (plain.run(rows, outcomes) == same.run(rows, outcomes)).all()


@every
@pytest.mark.parametrize("policy", ["rows", "batch"])
def test_a_heavy_outcome_teaches_more(name, policy):
    """Whatever was learned differs, and in the end rows of weight count for more."""
    make, rows, outcomes, weights = made(name)
    plain, heavy = make(), make()
    if policy == "rows":
        plain.run(rows, outcomes)
        heavy.run(rows, outcomes, weights=weights)
    else:
        ids = list(range(len(outcomes)))
        for player, more in ((plain, {}), (heavy, {"weights": weights})):
            player.predict_many(rows, ids=ids)
            player.update_many(outcomes, ids=ids, **more)
    assert learned(plain) != learned(heavy)
    assert plain.learned == heavy.learned == 200


@every
def test_run_is_bit_for_bit_the_steps(name):
    """Also once weights end, when outcomes have a weight beside those before."""
    make, rows, outcomes, weights = made(name, 120)
    running, stepping = make(), make()
    running.run(rows[:80], outcomes[:80], weights=weights[:80])
    running.run(rows[80:], outcomes[80:])
    for t in range(120):
        stepping.predict_many(rows[t : t + 1], ids=[t]) if name != "groups" else None
        if name in ("groups", "keys"):
            break
        more = {"weight": weights[t]} if t < 80 else {}
        stepping.update(outcomes[t], id=t, **more)
    if name not in ("groups", "keys"):
        stepping.forget_ids()
        running.forget_ids()
        fresh = rows[:20]
        given = running.predict_many(fresh)
        assert np.asarray(given).tolist() == np.asarray(stepping.predict_many(fresh)).tolist()


@every
def test_an_outcome_of_weight_0_teaches_nothing(name):
    """Its id is done with; what is known afterwards is as if the round had expired."""
    make, rows, outcomes, _ = made(name, 40)
    zero, expired = make(), make()
    for player in (zero, expired):
        player.predict_many(rows, ids=list(range(40)))
    assert set(zero.update_many(outcomes, ids=list(range(40)), weights=np.zeros(40))) == {"applied"}
    assert zero.learned == 0
    assert set(zero.update_many(outcomes, ids=list(range(40)))) == {"repeated"}
    expired.forget_ids()
    zero.forget_ids()
    after = [np.asarray(player.predict_many(rows)).tolist() for player in (zero, expired)]
    assert after[0] == after[1]


@every
def test_weights_are_saved(name):
    """Those of pending rounds, and what weights are divided by."""
    make, rows, outcomes, weights = made(name, 60)
    player = make()
    player.run(rows, outcomes, weights=weights)
    player.predict_many(rows, ids=list(range(60)))
    again = type(getattr(player, "inner", player)).from_bytes(player.to_bytes())
    assert again.to_bytes() == player.to_bytes()
    for each in (player, again):
        each.update_many(outcomes, ids=list(range(60)), weights=weights[::-1])
    assert again.to_bytes() == player.to_bytes()


@every
@pytest.mark.parametrize("weight", [-1.0, float("nan"), float("inf"), 1e101, "heavy"])
def test_what_is_no_weight_changes_nothing(name, weight):
    make, rows, outcomes, _ = made(name, 3)
    player = make()
    player.predict_many(rows, ids=["a", "b", "c"])
    before = player.to_bytes()
    with pytest.raises(ValueError, match="weight must be a number in"):
        player.update(outcomes[0], id="a", weight=weight)
    with pytest.raises(ValueError, match="weights must"):
        player.update_many(outcomes, ids=["a", "b", "c"], weights=[1.0, 2.0, weight])
    with pytest.raises(ValueError, match="weights must"):
        player.run(rows, outcomes, weights=[1.0, 2.0, weight])
    with pytest.raises(ValueError, match="same length"):
        player.update_many(outcomes, ids=["a", "b", "c"], weights=[1.0, 2.0])
    assert player.to_bytes() == before


def test_weights_of_no_use():
    """Events have no weights, nor do rivals."""
    with pytest.raises(TypeError, match="weight"):
        EventForecaster().update(1, weight=2.0)


def test_a_weight_is_kept_until_the_deadline():
    """With silence, a round that nobody heard of weighs 1; weights are not compared."""
    random = np.random.default_rng(0)
    scores = random.random(300)
    light, heavy = Recalibrator(silence=0, after=20), Recalibrator(silence=0, after=20)
    for t, score in enumerate(scores):
        for each, weight in ((light, 0.2), (heavy, 10.0)):
            each.predict(score, id=t)
            if t % 3 == 0:
                assert each.update(1, id=t, weight=weight) == "applied"
                assert each.update(1, id=t, weight=3.0) == "repeated"
    assert heavy.learned == light.learned
    assert heavy.smooth(0.5) > light.smooth(0.5) + 0.05


def test_monitors_count_outcomes_alike():
    make = lambda: Recalibrator(monitor={"every": 1000})  # noqa: E731
    scores, outcomes = scored(np.random.default_rng(1), 200)
    players = [make(), make()]
    for player, weights in zip(players, (None, np.full(200, 7.0)), strict=True):
        player.run(scores, outcomes, weights=weights)
    assert players[0].monitors.raw.rounds == players[1].monitors.raw.rounds == 200
    skipped = make()
    skipped.run(scores, outcomes, weights=np.where(np.arange(200) % 2, 1.0, 0.0))
    assert skipped.monitors.raw.pending == 0
    assert skipped.learned == 100
