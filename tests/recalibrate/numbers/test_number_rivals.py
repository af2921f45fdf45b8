"""The rivals for numbers, each beside its rule written out plainly, and a published figure."""

import numpy as np
import pytest

from calibrant.recalibrate.rivals import (
    ACI,
    SAOCP,
    AgACI,
    ConformalPID,
    DtACI,
    GaussianEWMA,
    MultiQT,
    NormalisedSplit,
    SplitConformal,
)
from calibrant.recalibrate.rivals.numbers import quantile_tracking

LEVELS = np.array([0.05, 0.25, 0.5, 0.75, 0.95])
RIVALS = [
    SplitConformal, ACI, DtACI, AgACI, SAOCP, ConformalPID, MultiQT, GaussianEWMA, NormalisedSplit,
]  # fmt: skip


@pytest.mark.parametrize("rival", RIVALS)
@pytest.mark.parametrize("late", [0, 20])
def test_noise_is_covered(rival, late):
    y = np.random.default_rng(1).normal(size=3000)
    predicted = rival(LEVELS).run(np.zeros(3000), y, late=late)
    assert not np.isnan(predicted).any()
    assert (predicted[:, 1:] >= predicted[:, :-1]).all()
    covered = ((y > predicted[:, 0]) & (y <= predicted[:, -1]))[300:].mean()
    assert covered == pytest.approx(0.9, abs=0.04 if not late else 0.15)


@pytest.mark.parametrize("rival", RIVALS)
def test_nothing_is_known_too_early(rival):
    """Outcomes from round 150 on change no quantile before round 150 + late + 1."""
    y = np.random.default_rng(2).normal(size=300)
    other = np.concatenate([y[:150], 50 + y[150:]])
    for late in (0, 7):
        predicted = [rival(LEVELS).run(np.zeros(300), each, late=late) for each in (y, other)]
        until = 150 + late + 1
        assert np.array_equal(predicted[0][:until], predicted[1][:until])
        assert not np.array_equal(predicted[0][until:], predicted[1][until:])


def test_split_is_the_order_statistic():
    y = np.random.default_rng(3).normal(size=200)
    predicted = SplitConformal(LEVELS, 50).run(np.zeros(200), y)
    for t in (60, 120, 199):
        last = np.sort(y[t - 50 : t])
        places = 51 * LEVELS - 1
        assert np.allclose(predicted[t], np.interp(places, np.arange(50), last))


def test_aci_follows_its_misses():
    y = np.random.default_rng(4).normal(size=300)
    predicted = ACI(np.array([0.1, 0.9]), 0.05, 100).run(np.zeros(300), y)
    level, seen = 0.9, []
    for t in range(300):
        if seen and level < 1:
            last = np.sort(seen[-100:])
            place = (len(last) + 1) * level - 1
            q = np.interp(place, np.arange(len(last)), last)
            assert predicted[t, 1] == pytest.approx(q)
        level += 0.05 * (0.9 - (y[t] <= predicted[t, 1]))
        seen.append(y[t])


def test_quantile_tracking_covers_in_the_long_run():
    """The bound of the source: |miscoverage| <= (largest score + step) / (step T)."""
    scores = np.abs(np.random.default_rng(5).standard_t(3, 5000))
    thresholds = quantile_tracking(scores)
    assert (scores[200:] <= thresholds[200:]).mean() == pytest.approx(0.9, abs=0.02)
