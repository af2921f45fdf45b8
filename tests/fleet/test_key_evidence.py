"""The evidence of keys: against its definition, and against the bound on false names."""

import numpy as np
import pytest

from calibrant import Fleet
from calibrant._kernels.watch.key_evidence import BEYOND, WEIGHT, KeyEvidence
from fleet.late_names import share_with_a_false_name_of_shared_shocks
from naive.key_evidence import NaiveKeys


def check_cells(kernel, twins, keys):
    cells = kernel.cells_of_keys()
    assert len(cells) == max(keys) + 1
    for side, twin in enumerate(twins):
        for key in range(len(cells)):
            cell = cells[key, side]
            if key not in twin.keys:
                assert cell["n"] == 0
                continue
            own = twin.keys[key]
            assert cell["M"].tolist() == [float(M) for M in own.cash]
            assert (float(cell["S"]), int(cell["n"])) == (float(own.total), own.n)


@pytest.mark.parametrize(
    "settings", [{}, {"tolerance": 0.0, "every": 100}, {"alpha": 0.01, "tolerance": 0.1}]
)
def test_keys_are_their_twin(settings):
    random = np.random.default_rng(len(settings))
    keys = random.integers(0, 9, 3000) ** 2
    sides = [random.random(3000), random.choice([0.0, 0.2, 1.0], 3000)]
    outcomes = np.where(random.random(3000) < 0.1, 0.3, random.random(3000) < sides[0] ** 2)
    outcomes[keys == 4] = 1.0  # whose bets go as far as bets go
    twins = [NaiveKeys(**settings) for _ in sides]
    twin = twins[0]
    kernel = KeyEvidence(twin.threshold, twin.tolerance, twin.alpha or 0.0)
    for first in range(0, 3000, 700):
        part = slice(first, first + 700)
        kernel.run(keys[part], sides[0][part], sides[1][part], outcomes[part])
        for row in range(first, min(first + 700, 3000)):
            for each, predicted in zip(twins, sides, strict=True):
                each.update(int(keys[row]), predicted[row], outcomes[row])
        check_cells(kernel, twins, keys[: first + 700].tolist())
    assert twins[0].keys[4].cash[0] == kernel.most_kept
    assert kernel.rounds == twin.t == 3000
    numbers, (raw, expected, seen) = kernel.unseen()
    assert (numbers == np.repeat(np.arange(3000), 2)).all()
    assert (raw == np.repeat(sides[0], 2)).all()
    assert (expected == np.repeat(sides[1], 2)).all()
    assert np.isnan(seen[::2]).all()
    assert (seen[1::2] == outcomes).all()
    kernel.empty()
    assert len(kernel.unseen()[0]) == kernel.unseen_count == 0


def test_keys_that_are_forgotten_leave_no_evidence():
    kernel = KeyEvidence(1e6, 0.02, 0.0)
    p = np.full(40, 0.5)
    kernel.run(np.repeat([0, 1, 2, 3], 10), p, p, np.repeat([1.0, 0.0, 1.0, 0.0], 10))
    before = kernel.cells_of_keys()
    kernel.keep(np.array([1, 3, 4, 5]))  # the last two never had an outcome
    assert (kernel.cells_of_keys() == before[[1, 3]]).all()
    kernel.run(np.array([3]), p[:1], p[:1], np.array([1.0]))
    assert kernel.cells_of_keys()["n"][:, 0].tolist() == [10, 10, 0, 1]


@pytest.mark.parametrize(
    "settings", [{}, {"tolerance": 0.0, "every": 100}, {"alpha": 0.01, "tolerance": 0.1}]
)
def test_keys_whose_outcomes_wait_are_their_twin(settings):
    random = np.random.default_rng(len(settings))
    fleet, twins = Fleet(monitor=settings), [NaiveKeys(**settings) for _ in range(2)]
    waiting, numbers = {}, {}
    for row in range(1200):
        # Four keys that wait longer and longer, and one whose outcomes arrive at once.
        key, score = int(random.integers(5)), random.choice([0.05, 0.3, 0.9])
        numbers.setdefault(key, len(numbers))
        predicted = score, fleet.expected([key], [score])[0]
        if key == 4:
            outcome = float(random.random() < score)
            fleet.run([key], [score], [outcome])
            for twin, p in zip(twins, predicted, strict=True):
                twin.update(numbers[key], p, outcome)
        else:
            fleet.predict_many([key], [score], ids=[row])
            waiting[row] = key, predicted, row + int(random.integers(0, 1 + 12 * key))
            for twin, p in zip(twins, predicted, strict=True):
                twin.predict(numbers[key], p, row)
        for name, (own, predicted, due) in list(waiting.items()):
            if due > row:
                continue
            del waiting[name]
            outcome = random.choice([0.0, 1.0, 0.25])
            assert fleet.update_many([outcome], ids=[name]).tolist() == ["applied"]
            for twin, p in zip(twins, predicted, strict=True):
                twin.settle(numbers[own], p, name, outcome)
        if row % 40 == 0:
            for name in fleet.expire(older_than=20):
                own = waiting.pop(name)[0]
                for twin in twins:
                    twin.drop(numbers[own], name)
        if row % 500 == 0:
            fleet = Fleet.from_bytes(fleet.to_bytes())
    kernel = fleet._shards[0].watch.keys
    check_cells(kernel, twins, numbers.values())
    late = kernel.late_of_keys()
    for key, own in twins[0].keys.items():
        found = late[key] if key < len(late) else np.zeros(1, late.dtype)[0]
        assert (int(found["open"]), max(float(found["D"]), 1.0)) == (len(own.waiting), own.D)
        for side, twin in enumerate(twins):
            shown = kernel.evidence(np.array([key]), side)[0]
            assert shown == pytest.approx(twin.evidence(key), rel=1e-4)
    assert len(waiting) >= 5
    assert fleet.expired >= 10


KEYS, ROUNDS, EVERY = 3, 1200, 6000


def share_with_a_false_name(runs, tolerance, bias, off=0):
    """Return the share of runs in which a calibrated key is named, and the bound on it.

    A run has 1,200 rounds. The chance of an event exceeds the prediction by `bias`; of the first
    `off` keys it is by 0.15 more, and they do not count.
    """
    random = np.random.default_rng(12)
    kernel = KeyEvidence(1e6, tolerance, 0.0)
    named, calibrated = np.zeros(runs, dtype=bool), 0
    for _ in range(ROUNDS):
        own, predicted = random.integers(0, KEYS, runs), random.uniform(0.2, 0.8, runs)
        happened = random.random(runs) < predicted + bias + 0.15 * (own < off)
        kernel.run(np.arange(runs) * KEYS + own, predicted, predicted, happened.astype(float))
        kernel.empty()
        calibrated += (own >= off).sum()
        bets = np.zeros((runs * KEYS, 4))
        found = kernel.cells_of_keys()["M"][:, 0]
        bets[: len(found)] = found
        named |= (bets.mean(axis=1) >= EVERY).reshape(runs, KEYS)[:, off:].any(axis=1)
    return named.mean(), calibrated / runs / EVERY


@pytest.mark.parametrize(
    ("tolerance", "bias", "off"), [(0.0, 0.0, 0), (0.05, 0.05, 0), (0.0, 0.0, 2)]
)
def test_calibrated_keys_are_named_no_more_often_than_the_bound(tolerance, bias, off):
    runs = 2000
    share, bound = share_with_a_false_name(runs, tolerance, bias, off)
    # Three standard deviations of a share of that many runs, at the bound.
    assert share <= bound + 3 * np.sqrt(bound * (1 - bound) / runs)
    assert share >= bound / 10  # so that there is something to bound


def test_beyond_the_tolerance_the_bound_is_broken():
    share, bound = share_with_a_false_name(500, tolerance=0.0, bias=0.05)
    assert share > bound + 3 * np.sqrt(bound * (1 - bound) / 500)


@pytest.mark.parametrize("wait", [5, 50])
def test_shocks_that_waiting_outcomes_share_name_no_key(wait):
    runs = 150
    share, bound = share_with_a_false_name_of_shared_shocks(runs, wait, is_late=True)
    assert share <= bound + 3 * np.sqrt(bound * (1 - bound) / runs)
    # As if each outcome had been known before the next prediction, nearly every run has one.
    share, _ = share_with_a_false_name_of_shared_shocks(runs, wait, is_late=False)
    assert share > 0.9


def test_a_key_that_recovers_is_soon_off_no_more():
    random = np.random.default_rng(3)
    kernel = KeyEvidence(1e6, 0.02, 0.0)
    slots, predicted = np.zeros(20_000, dtype=np.int64), random.uniform(0.2, 0.7, 20_000)
    kernel.run(slots, predicted, predicted, (random.random(20_000) < predicted + 0.2).astype(float))
    assert kernel.cells_of_keys()["M"][0, 0].max() > 0.5 * BEYOND * 1e6 / WEIGHT
    for after in range(0, 2000, 100):
        if WEIGHT * kernel.cells_of_keys()["M"][0, 0].mean() < 1e6:
            break
        part = slice(after, after + 100)
        happened = (random.random(100) < predicted[part]).astype(float)
        kernel.run(slots[part], predicted[part], predicted[part], happened)
    assert after <= 1000


def test_alarms_and_names_of_a_fleet_together_keep_the_bound():
    # 1,000 outcomes at every = 10,000: the chance of an alarm or a name is at most 0.1.
    runs, rang = 300, 0
    for seed in range(runs):
        random = np.random.default_rng(seed)
        keys, scores = random.integers(0, 12, 1000), random.uniform(0.2, 0.8, 1000)
        outcomes = (random.random(1000) < scores).astype(float)
        fleet = Fleet(monitor={"every": 10_000, "tolerance": 0.0})
        named = False
        for first in range(0, 1000, 50):
            rows = slice(first, first + 50)
            fleet.run(keys[rows], scores[rows], outcomes[rows])
            named |= bool(fleet.monitors.raw.miscalibrated_keys())
        rang += named or bool(fleet.monitors.raw.episodes)
    assert rang / runs <= 0.1 + 3 * np.sqrt(0.1 * 0.9 / runs)
