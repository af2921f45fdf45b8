"""The likelihood of what is pending: the kernel against its twin, saved, turned round, dropped."""

import numpy as np
import pytest

from calibrant._kernels.scores.pending import PendingKernel
from calibrant._kernels.scores.pending_saving import (
    load_awaited,
    load_pending,
    save_awaited,
    save_pending,
)
from naive.pending import Pending

ROUNDS = 400


def stream(seed):
    """Return scores, means, times, deadlines and when events come, infinite for never."""
    random = np.random.default_rng(seed)
    at = np.cumsum(random.exponential(1.0, ROUNDS)) if seed % 2 else np.arange(float(ROUNDS))
    span = random.lognormal(4.0, 0.5, ROUNDS) if seed % 3 else np.full(ROUNDS, 60.0)
    scores = random.beta(1, 3, ROUNDS)
    means = np.clip(scores + 0.1 * np.sin(at / 100), 0.01, 0.99)
    happens = random.random(ROUNDS) < np.clip(scores * 1.3, 0, 1)
    come = np.where(happens, at + span * random.beta(1, 2 + 2 * scores), np.inf)
    return scores, means, at, at + span, come


def play(kernel, data, silence=0, reload=None, drop=()):
    """Play a stream on a kernel or its twin; yield the mixture's estimate in each round."""
    turn = (lambda p: 1 - p) if silence else (lambda p: p)
    waiting, gone = {}, set()
    for t, (score, mean, at, due, _) in enumerate(zip(*map(np.ndarray.tolist, data), strict=True)):
        for row in [row for row in waiting if data[4][row] < at and row not in gone]:
            gone.add(row)
            kernel.come(waiting[row], float(data[4][row]))
        for row in sorted(waiting, key=lambda row: data[3][row]):
            if data[3][row] <= at:
                kernel.mature(waiting.pop(row))
            elif row in drop and t > row + 20:
                kernel.drop(waiting.pop(row))
        yield turn(kernel.mix(turn(score), turn(mean)))
        waiting[t] = kernel.open(turn(score), turn(mean), at, due)
        if kernel.is_stale:
            told = kernel.scores()
            if isinstance(told, dict):
                kernel.refit(at, {k: (s + 0.1) / 1.2 for k, s in told.items()})
            else:
                means = turn((turn(told) + 0.1) / 1.2)
                kernel.refit(at, np.nan_to_num(means, nan=0.5))
        if t == reload:
            kernel, waiting = restored(kernel, waiting)


def restored(kernel, waiting):
    """Return a kernel and the pending predictions in it, saved and loaded."""
    again = PendingKernel(kernel.silence)
    load_pending(again, save_pending(kernel), now=1e18, rounds=ROUNDS)
    awaited = load_awaited(again, *save_awaited(list(waiting.values())))
    return again, dict(zip(waiting, awaited, strict=True))


@pytest.mark.parametrize("seed", range(6))
def test_the_kernel_is_its_twin(seed):
    data, drop = stream(seed), range(0, ROUNDS, 7)
    kernel, twin = PendingKernel(0), Pending()
    estimates, expected = list(play(kernel, data, drop=drop)), list(play(twin, data, drop=drop))
    np.testing.assert_allclose(estimates, expected, rtol=0, atol=1e-9)
    np.testing.assert_allclose(kernel.weights, twin.weights, rtol=0, atol=1e-9)
    np.testing.assert_allclose(kernel.factors, twin.correction.factors, rtol=0, atol=1e-9)
    assert kernel.trust == pytest.approx(twin.correction.trust, abs=1e-9)
    assert np.abs(kernel.factors - [0, 0, 1, 0]).max() > 0.01  # there was something to correct
    assert np.abs(kernel.offsets).max() > 0.05  # there was something to find


@pytest.mark.parametrize("seed", range(4))
def test_silence_may_mean_one(seed):
    data = stream(seed)
    zero, one = list(play(PendingKernel(0), data)), list(play(PendingKernel(1), data, silence=1))
    np.testing.assert_allclose(one, zero, rtol=0, atol=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_what_is_saved_goes_on_as_before(seed):
    # Dropped ones change cells whose logs the kernel remembers; a loaded one takes the logs anew.
    data, drop = stream(seed), range(0, ROUNDS, 7)
    plain = list(play(PendingKernel(0), data, drop=drop))
    for reload in (100, 250):
        assert list(play(PendingKernel(0), data, reload=reload, drop=drop)) == plain


def test_memory_is_bounded_whatever_the_rate_of_predictions():
    kernel = PendingKernel(0)
    random = np.random.default_rng(0)
    for t in range(100_000):
        kernel.open(random.random(), 0.5, t / 1000, t / 1000 + random.lognormal(0.0, 0.3))
    assert kernel.__sizeof__() < 5_000_000


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ("weights", np.full(5, 0.3)),
        ("ages", np.full(16 * 64, -1.0)),
        ("starts", np.array([2.0, 1.0])),
        ("keys", np.array([-1])),
        ("cells", np.zeros(3)),
        ("stale", 2),
        ("span", -1.0),
        ("waiting", -1.0),
        ("correction", np.full(15, 0.5) * ([1] * 4 + [-1] * 10 + [1])),
        ("correction", np.array([0.0, 0.0, 1.0, 0.0] + [1.0] * 10 + [1.5])),
    ],
)
def test_a_damaged_state_is_refused_and_changes_nothing(part, value):
    kernel = PendingKernel(0)
    list(play(kernel, stream(1)))
    state, fresh = save_pending(kernel), PendingKernel(0)
    before = save_pending(fresh)
    with pytest.raises(ValueError, match="saved"):
        load_pending(fresh, state | {part: value}, now=1e18, rounds=ROUNDS)
    assert str(save_pending(fresh)) == str(before)
