"""A fleet against its slow reference: what it says before the grid, and what it predicts.

The rule of a key is compared bit for bit in `test_rule.py`; the mixture of the whole solves small
systems in another order here, so the estimates agree to rounding.
"""

import numpy as np
import pytest

from calibrant import Fleet
from fleet.worlds import bent, keyed
from naive.fleet import NaiveFleet


def play_both(fleet, twin, rows, late, parents=None):
    """Play rows whose outcomes arrive up to `late` rows late, and compare every one."""
    keys, scores, outcomes = rows
    random = np.random.default_rng(0)
    due = np.arange(len(keys)) + (random.integers(0, late, len(keys)) if late else 0)
    same, first = 0, fleet.rounds
    for row in range(len(keys)):
        one = [keys[row]], [scores[row]]
        above = None if parents is None else [parents[row]]
        estimate = fleet.smooth(*one, parents=above)[0]
        predicted = fleet.predict_many(*one, ids=[first + row], parents=above)[0]
        wanted, point = twin.predict(
            keys[row], scores[row], row, None if above is None else above[0]
        )
        assert estimate == pytest.approx(wanted, rel=1e-9)
        same += predicted == pytest.approx(point, rel=1e-9)
        for done in np.flatnonzero(due == row).tolist():
            fleet.update_many([outcomes[done]], ids=[first + done])
            twin.update(outcomes[done], done)
    assert same == len(keys)


@pytest.mark.parametrize("kind", ["probability", "logit", "margin"])
@pytest.mark.parametrize("late", [0, 40])
def test_a_fleet_is_its_twin(kind, late):
    keys, scores, outcomes = keyed(500, 12, seed=4, spread=2.0)
    outcomes[::9] = 0.25
    if kind == "probability":
        scores = 1 / (1 + np.exp(-scores))
    play_both(Fleet(6, kind), NaiveFleet(kind, 6), (keys.tolist(), scores, outcomes), late)


@pytest.mark.parametrize("late", [0, 40])
def test_keys_and_parents_with_curves(late):
    keys, scores, outcomes, _ = bent(3, 250, seed=3)
    fleet, twin = Fleet(6, "logit"), NaiveFleet("logit", 6)
    keys, parents = np.minimum(keys, 1).tolist(), (keys // 2).tolist()
    play_both(fleet, twin, (keys, scores, outcomes), late, parents)
    assert [twin.keys[key].curve is not None for key in (0, 1)] == [False, True]
    assert fleet[1].curve == pytest.approx(twin.keys[1].curve_weight)
    assert [twin.parents[parent].curve is not None for parent in (0, 1)] == [True, False]


def test_parents_and_keys_that_are_text():
    keys, scores, outcomes = keyed(400, 20, seed=5, spread=2.0)
    names, parents = [f"key {key}" for key in keys], [int(key) % 3 for key in keys]
    fleet, twin = Fleet(6, "logit"), NaiveFleet("logit", 6)
    play_both(fleet, twin, (names, scores, outcomes), 10, parents)


@pytest.mark.parametrize("late", [0, 40])
def test_the_whole_that_learns_from_some_rounds(late):
    keys, scores, outcomes = keyed(500, 12, seed=7)
    fleet, twin = Fleet(6, "logit"), NaiveFleet("logit", 6)
    play_both(fleet, twin, (keys.tolist(), scores, outcomes), 0)
    # Long ago, many predictions were made whose outcomes never came.
    arrays = fleet.shard_arrays(0)
    arrays["counts"][0] = twin.whole.predictions = 2**16 - 100
    fleet = Fleet.from_shards({"seed": 6, "kind": "logit"}, {0: arrays})
    keys, scores, outcomes = keyed(400, 12, seed=8)
    play_both(fleet, twin, (keys.tolist(), scores, outcomes), late)
    assert twin.whole.heard is not None
    assert twin.whole.learned < 700


@pytest.mark.parametrize("before", [0, 2**16 - 100])
def test_batches_agree_with_the_twin(before):
    """Months of 150 rows, with parents and a surprise; later on, the whole learns from few."""
    fleet, twin = Fleet(6), NaiveFleet("probability", 6)
    arrays = fleet.shard_arrays(0)
    arrays["counts"][0] = twin.whole.predictions = before
    fleet = Fleet.from_shards({"seed": 6, "kind": "probability"}, {0: arrays})
    random = np.random.default_rng(1)
    for month in range(5):
        keys, scores = random.integers(0, 9, 150).tolist(), random.uniform(0.05, 0.95, 150)
        parents = [key % 2 for key in keys]
        truth = scores**2 if month < 3 else 1 - scores
        outcomes = (random.random(150) < truth).astype(float)
        rows = list(range(before + 150 * month, before + 150 * month + 150))
        predicted = fleet.predict_many(keys, scores, ids=rows, parents=parents)
        wanted = [
            twin.predict(*row)[1] for row in zip(keys, scores.tolist(), rows, parents, strict=True)
        ]
        np.testing.assert_allclose(predicted, wanted, rtol=1e-6)
        fleet.update_many(outcomes, ids=rows)
        twin.update_many(outcomes.tolist(), rows)
    arrays = fleet.shard_arrays(0)
    np.testing.assert_allclose(arrays["batches"][:24], twin.whole.dispersion.spread, rtol=1e-6)
    np.testing.assert_allclose(arrays["surprises"][:2], twin.whole.surprises.lasting, rtol=1e-6)
    Fleet.from_shards({"seed": 6, "kind": "probability"}, {0: arrays})
