"""Scorecards on a grid: bounded memory, exact losses, errors to the width of a cell."""

import copy
import math

import numpy as np
import pytest

from calibrant import measures
from calibrant.measures import Scorecard, chance

CELLS = 64


def stream(seed, rounds=3000):
    random = np.random.default_rng(seed)
    p = random.beta(0.5, 0.5, rounds)
    p[random.random(rounds) < 0.05] = random.choice([0.0, 1.0])
    return p, (random.random(rounds) < p).astype(float)


def naive(p):
    """Return each prediction as the first one of its cell."""
    first, found = {}, []
    for each in p:
        cell = each if each in (0.0, 1.0) else int(math.asin(math.sqrt(each)) * CELLS * 2 / math.pi)
        found.append(first.setdefault(("end" if each in (0.0, 1.0) else "cell", cell), each))
    return np.array(found)


@pytest.mark.parametrize("seed", range(5))
def test_counts_are_those_of_the_first_in_each_cell(seed):
    p, y = stream(seed)
    card = Scorecard(cells=CELLS)
    for part in np.array_split(np.arange(len(p)), 7):
        card.extend(p[part], y[part])
    moved = naive(p)
    table = card.distinct()
    values, counts = np.unique(moved, return_counts=True)
    assert table.prediction.tolist() == values.tolist()
    assert table.count.tolist() == counts.tolist()
    assert len(table) <= CELLS + 2
    for name in ("cal1", "cal2", "klcal"):
        expected = getattr(measures, name)(moved, y)
        assert getattr(card, name) == pytest.approx(expected, rel=1e-9)
    for name in ("brier", "log_loss", "ece"):
        assert getattr(card, name) == pytest.approx(getattr(measures, name)(p, y), rel=1e-9)
    # A prediction moves by less than a cell: pi / 2 / CELLS in the arcsine, at most as much in p.
    apart = card.reliability(10).mean_prediction - exact_card(p, y).reliability(10).mean_prediction
    assert np.nanmax(np.abs(apart)) < math.pi / 2 / CELLS * 10
    assert abs(card.smece - measures.smece(p, y)) < math.pi / 2 / CELLS


def exact_card(p, y):
    card = Scorecard()
    card.extend(p, y)
    return card


def test_what_lies_apart_is_exact_and_certainties_stay_apart():
    p, y = np.tile([0.1, 0.5, 0.9], 100), np.tile([0.0, 1.0, 1.0], 100)
    on_grid, exact = Scorecard(cells=2**14), Scorecard()
    for card in (on_grid, exact):
        card.extend(p, y)
    assert on_grid.summary() == exact.summary()
    assert on_grid.smece == exact.smece
    on_grid.extend([0.0, 1e-12, 1.0], [0, 1, 1])
    assert math.isfinite(on_grid.klcal)  # what happened was not called impossible
    on_grid.add(0.0, 1)
    assert on_grid.klcal == on_grid.log_loss == math.inf


def test_copies_and_merges_keep_the_grid_and_bytes_are_refused():
    p, y = stream(9, 400)
    one, two, whole = (Scorecard(cells=CELLS) for _ in range(3))
    one.extend(p[:250], y[:250], labels=["a"] * 250)
    two.extend(p[250:], y[250:], labels=["b"] * 150)
    whole.extend(p, y)
    again = copy.deepcopy(one)
    again.merge(two)
    assert again.distinct().prediction.tolist() == whole.distinct().prediction.tolist()
    assert again.cal1 == pytest.approx(whole.cal1)
    assert one.rounds == 250
    assert all(len(part.distinct()) <= CELLS + 2 for part in again.labels.values())
    with pytest.raises(ValueError, match="same number of cells, got 0 for 64"):
        one.merge(Scorecard())
    with pytest.raises(ValueError, match="cannot be saved"):
        one.to_bytes()


@pytest.mark.parametrize("rounds", [40, 139, 140, 350, 400])
def test_stretches_are_windows_taken_together(rounds):
    p, y = stream(3, rounds)
    card = Scorecard(20)
    card.extend(p, y)
    found = card.stretches(100)
    starts = np.arange(0, rounds, 100)
    if len(starts) > 1 and rounds - starts[-1] < 50:
        starts = starts[:-1]  # less than half is noise
    assert found.stop.tolist() == [min(start + 100, rounds) for start in starts]
    for at, start in enumerate(starts):
        part = slice(start, start + 100)
        assert found.rounds[at] == len(p[part])
        assert found.mean_prediction[at] == pytest.approx(p[part].mean())
        assert found.mean_outcome[at] == pytest.approx(y[part].mean())
        assert found.ece[at] == pytest.approx(measures.ece(p[part], y[part]))
        assert found.chance_ece[at] == pytest.approx(chance.chance_ece(p[part]))
        assert found.ece_limit[at] == pytest.approx(chance.chance_ece(p[part], at_most=True))
        assert found.chance_mean[at] == pytest.approx(chance.chance_mean(p[part]))
    assert Scorecard.from_bytes(card.to_bytes()).stretches(100).ece.tolist() == found.ece.tolist()
    with pytest.raises(ValueError, match="a multiple of the window of 20 rounds, got 30"):
        card.stretches(30)
    with pytest.raises(ValueError, match="with a window"):
        Scorecard().stretches()
