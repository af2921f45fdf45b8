"""A run that is interrupted, or whose input another thread changes, happens whole or not at all."""

import numpy as np
import pytest

from calibrant import Epoch, Interval, Refined, Restarting, Swap, Zoom
from calibrant.forecasters.rivals import RunningMean, SlidingWindow
from interrupting import changed_meanwhile, interrupted

FORECASTERS = [
    Zoom(seed=1),
    Epoch(),
    RunningMean(),
    SlidingWindow(50),
    Interval(),
    Swap(),
    Refined("l2"),
    Restarting("l2"),
]


@pytest.mark.parametrize("forecaster", FORECASTERS, ids=lambda each: type(each).__name__)
def test_an_interrupted_run_was_not_played(forecaster):
    random = np.random.default_rng(0)
    forecaster.run(random.random(1000) < 0.3)
    predicted, before = forecaster.predict(), forecaster.to_bytes()
    outcomes = random.random(5_000_000) < 0.3
    with interrupted(after=0.01):
        forecaster.run(outcomes)
    assert forecaster.to_bytes() == before
    assert forecaster.predict() == predicted
    again = type(forecaster).from_bytes(before)
    assert forecaster.run(outcomes[:2000]).tolist() == again.run(outcomes[:2000]).tolist()


@pytest.mark.parametrize("after", [0.0, 0.001, 0.005, 0.02])
def test_another_thread_cannot_change_outcomes_during_a_run(after):
    outcomes = (np.random.default_rng(0).random(3_000_000) < 0.3).astype(np.float64)
    expected = Zoom(seed=1).run(outcomes.copy())
    forecaster = Zoom(seed=1)
    before = forecaster.to_bytes()
    with changed_meanwhile(outcomes, np.nan, after):
        try:
            predictions = forecaster.run(outcomes)
        except ValueError:  # changed before it was read
            assert forecaster.to_bytes() == before
            return
    assert np.array_equal(predictions, expected)
    assert Zoom.from_bytes(forecaster.to_bytes()).rounds == len(outcomes)
