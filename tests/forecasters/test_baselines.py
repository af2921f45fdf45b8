"""Epoch, running mean and Foster-Hart against their slow references, and what is proved of them."""

import numpy as np
import pytest

from calibrant import Epoch
from calibrant.forecasters.rivals import FosterHart, RunningMean
from forecasters.cases import random_stream
from naive.baselines import epoch, foster_hart, running_mean


@pytest.mark.parametrize("number", range(40))
def test_epoch_agrees_with_its_twin(number):
    outcomes = random_stream(number, 700)
    assert Epoch("l2").run(outcomes).tolist() == pytest.approx(epoch(outcomes), abs=1e-15)
    # An arcsine and a sine, each right to an ulp or two, stand between mean and prediction.
    twin = epoch(outcomes, kl=True)
    assert Epoch("kl").run(outcomes).tolist() == pytest.approx(twin, rel=1e-14)


@pytest.mark.parametrize("number", range(40))
def test_running_mean_agrees_with_its_twin(number):
    outcomes = random_stream(number, 300)
    assert RunningMean().run(outcomes).tolist() == pytest.approx(running_mean(outcomes), abs=1e-14)


@pytest.mark.parametrize("gaps", [1, 2, 3, 10, 47])
def test_foster_hart_agrees_with_its_twin_bit_for_bit(gaps):
    for number in range(40):
        outcomes = random_stream(number, 700)
        predictions = FosterHart(gaps, seed=number).run(outcomes)
        assert predictions.tolist() == foster_hart(outcomes.tolist(), gaps, number)


def test_epoch_clips_by_the_printed_angle():
    """After 2^17 zeros, epoch 17 predicts psi(8 pi sqrt(log(2^18 / 0.05) / 2^17))."""
    predictions = Epoch("kl").run(np.zeros(2**18 - 2))
    angle = 8 * np.pi * np.sqrt(np.log(2**18 / 0.05) / 2**17)
    assert predictions[-1] == pytest.approx(np.sin(angle / 2) ** 2, rel=1e-12)


def test_arguments_are_checked():
    with pytest.raises(ValueError, match=r"measure must be one of 'l2', 'kl', got 'l3'"):
        Epoch("l3")
    with pytest.raises(ValueError, match=r"gaps must be an integer in \[1, "):
        FosterHart(0)
    with pytest.raises(ValueError, match=r"horizon must be an integer at least 1, got 0"):
        FosterHart.for_horizon(0)
    with pytest.raises(TypeError):
        Epoch("l2", 3)


def test_the_sine_between_what_was_predicted_and_what_came():
    """Lemma `sup_sin_bound`, on the clipped angles that Epoch predicts from."""
    for d in np.linspace(1e-6, np.pi / 4, 40):
        v = np.linspace(d, np.pi - d, 101)
        between = np.clip(v + 2 * d * np.linspace(-1, 1, 101)[:, None], 0, np.pi)
        assert (np.sin(between) <= (1 + np.pi) * np.sin(v) + 1e-12).all()
        # Angles that are not clipped would not do.
        assert np.sin(2 * d) > (1 + np.pi) * np.sin(d / 10)
