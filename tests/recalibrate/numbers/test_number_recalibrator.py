"""The recalibrator of numbers: what it covers, what it refuses, and what it survives."""

from statistics import NormalDist

import numpy as np
import pytest

from calibrant import NumberRecalibrator
from calibrant.measures.numbers import interval_coverage, pinball
from calibrant.streams import load_numbers

ROUNDS = 6000


def switching(seed=0, rounds=ROUNDS):
    """Return forecasts and outcomes whose noise is four times as wide in every other stretch."""
    random = np.random.default_rng(seed)
    m = random.normal(size=rounds)
    return m, m + random.normal(size=rounds) * np.where(np.arange(rounds) // 500 % 2, 4.0, 1.0)


def ends(recalibrator, quantiles, coverage=0.9):
    """Return the columns of an interval."""
    tail = (1 - coverage) / 2
    low, high = (np.argmin(np.abs(recalibrator.levels - level)) for level in (tail, 1 - tail))
    return quantiles[:, low], quantiles[:, high]


def test_intervals_cover_what_they_say_while_the_noise_switches():
    m, y = switching()
    recalibrator = NumberRecalibrator()
    low, high = ends(recalibrator, recalibrator.run(m, y))
    # 5900 outcomes: chance alone moves the share by 0.004 (one standard deviation).
    assert interval_coverage(low[100:], high[100:], y[100:]) == pytest.approx(0.9, abs=0.016)
    widths = (high - low).reshape(-1, 500)[1:, 250:].mean(axis=1)
    assert widths[::2].mean() > 2.5 * widths[1::2].mean()  # wide where the noise is


def test_scale_and_shift_make_no_difference():
    m, y = switching(1, 1500)
    plain = NumberRecalibrator().run(m, y)
    other = NumberRecalibrator().run(1e6 * m, 1e6 * y)
    assert np.allclose(other / 1e6, plain, rtol=1e-9, atol=1e-9)


def test_a_seasonal_error_is_learned():
    """A model that misses the hour of the day: the residual's season narrows the interval."""
    random = np.random.default_rng(2)
    season = np.tile(np.sin(np.arange(24) / 24 * 2 * np.pi) * 10, 100)
    y = season + random.normal(size=2400)
    found = {}
    for periods in ((), (24,)):
        recalibrator = NumberRecalibrator(periods=periods)
        predicted = recalibrator.run(np.zeros(2400), y)
        found[periods] = pinball(predicted[1200:], recalibrator.levels, y[1200:])
    # Of normal noise, the mean pinball loss at these levels is 0.27 at best.
    assert found[(24,)] < 0.29
    assert found[(24,)] < 0.9 * found[()]


def test_a_missing_forecast_is_the_past():
    y = 50.0 + np.random.default_rng(3).normal(size=1500)
    recalibrator = NumberRecalibrator(periods=())
    predicted = recalibrator.run(np.full(1500, np.nan), y)
    low, high = ends(recalibrator, predicted)
    assert interval_coverage(low[200:], high[200:], y[200:]) == pytest.approx(0.9, abs=0.03)
    # The best that can be is the normal distribution itself.
    best = 50.0 + np.array([[-1.645, 1.645]])
    assert (high - low)[500:].mean() < 1.15 * np.diff(best)[0, 0]


def test_one_outlier_costs_little():
    """An outlier of 10^9 costs at most 1% of the pinball loss of the next hundred rounds."""
    m, y = np.zeros(4000), np.random.default_rng(4).normal(size=4000)
    spoiled = y.copy()
    spoiled[3000] = 1e9
    losses = []
    for outcomes in (y, spoiled):
        recalibrator = NumberRecalibrator(periods=())
        predicted = recalibrator.run(m, outcomes)[3001:3101]
        losses.append(pinball(predicted, recalibrator.levels, y[3001:3101]))
    assert losses[1] < 1.01 * losses[0]


def test_constants_and_then_noise():
    """After 2,000 constant outcomes and 300 of noise, the intervals cover noise again."""
    random = np.random.default_rng(5)
    y = np.concatenate([np.full(2000, 3.0), random.normal(size=2000)])
    recalibrator = NumberRecalibrator(periods=())
    predicted = recalibrator.run(np.zeros(4000), y)
    low, high = ends(recalibrator, predicted)
    assert not np.isnan(predicted).any()
    assert interval_coverage(low[2300:], high[2300:], y[2300:]) == pytest.approx(0.9, abs=0.03)
    assert (high - low)[2300:].mean() < 5.0


def test_bounds_hold():
    y = np.maximum(0.0, np.random.default_rng(6).normal(0, 1, 1000))
    recalibrator = NumberRecalibrator(bounds=(0, 10), periods=())
    predicted = recalibrator.run(np.zeros(1000), y)
    assert predicted.min() >= 0.0
    assert predicted.max() <= 10.0
    recalibrator.predict(0.0)
    for bad in (-1e-9, 10.1):
        with pytest.raises(ValueError, match=r"outcome must be in \[0, 10\], got"):
            recalibrator.update(bad)


def test_given_quantiles_are_trusted_as_far_as_they_deserve():
    """Where only the model knows how wide the noise is, its quantiles are what counts."""
    random = np.random.default_rng(7)
    width = random.choice([0.1, 1.0, 10.0], 4000)
    y = width * random.normal(size=4000)
    levels = np.array([0.05, 0.25, 0.5, 0.75, 0.95])
    normal = np.array([-1.645, -0.674, 0.0, 0.674, 1.645])
    found = {}
    for name, more in {
        "without": {},
        "quantiles": {"quantiles": width[:, None] * normal, "levels": levels},
        "scales": {"scales": width},
        "useless": {"quantiles": np.tile(100.0 * normal, (4000, 1)), "levels": levels},
    }.items():
        recalibrator = NumberRecalibrator(periods=())
        predicted = recalibrator.run(np.zeros(4000), y, **more)[500:]
        found[name] = pinball(predicted, recalibrator.levels, y[500:])
    shape = [NormalDist().inv_cdf(level) for level in recalibrator.levels]
    best = pinball(width[500:, None] * shape, recalibrator.levels, y[500:])
    assert best < 0.8 * found["without"]
    assert found["quantiles"] < 1.05 * best
    assert found["scales"] < 1.05 * best
    assert found["useless"] < 1.02 * found["without"]


def test_groups_have_their_own_width():
    random = np.random.default_rng(8)
    by = random.choice(["narrow", "wide"], 4000)
    y = random.normal(size=4000) * np.where(by == "wide", 10.0, 0.5)
    recalibrator = NumberRecalibrator(periods=())
    predicted = recalibrator.run(np.zeros(4000), y, by=by)
    low, high = ends(recalibrator, predicted[1000:])
    for name, width in (("narrow", 0.5), ("wide", 10.0)):
        rows = by[1000:] == name
        covered = interval_coverage(low[rows], high[rows], y[1000:][rows])
        assert covered == pytest.approx(0.9, abs=0.035), name
        assert (high - low)[rows].mean() < 1.3 * 3.29 * width, name
    assert set(recalibrator.groups) == {"narrow", "wide"}
    assert recalibrator.weights(by="wide")[0].weight > 0.0
    again = NumberRecalibrator.from_bytes(recalibrator.to_bytes())
    assert again.distribution(0.0, by="wide") == recalibrator.distribution(0.0, by="wide")


def test_a_new_group_is_what_the_whole_says():
    m, y = switching(9, 800)
    recalibrator = NumberRecalibrator(periods=()).fit(m, y)
    mixture = recalibrator.distribution(0.0).quantiles
    assert np.allclose(recalibrator.distribution(0.0, by="new").quantiles, mixture, atol=0.3)
    assert recalibrator.groups == {}  # looking makes no group


def test_late_outcomes_with_a_horizon():
    """A day-ahead forecast of electricity: outcomes are known 24 rounds later."""
    stream = load_numbers("electricity")
    recalibrator = NumberRecalibrator(hold=24, capacity=48)
    predicted = recalibrator.run(stream.forecasts[:4000], stream.outcomes[:4000])
    low, high = ends(recalibrator, predicted)
    covered = interval_coverage(low[500:], high[500:], stream.outcomes[500:4000])
    assert covered == pytest.approx(0.9, abs=0.03)
    assert recalibrator.pending == 23
    assert not np.isinf(predicted).any()


def test_irregular_delays():
    """Outcomes come after 0 to 200 rounds, a tenth of them never, in any order."""
    random = np.random.default_rng(21)
    m = random.normal(size=4000)
    y = m + random.normal(size=4000) * np.repeat([1.0, 2.0], 2000)
    wait = random.integers(0, 200, 4000)
    never = random.random(4000) < 0.1
    recalibrator = NumberRecalibrator(periods=(), capacity=1000)
    predicted, coming = np.empty((4000, 33)), {}
    for t in range(4000):
        predicted[t] = recalibrator.predict(m[t], id=t).quantiles
        if not never[t]:
            coming.setdefault(t + wait[t], []).append(t)
        for id_ in coming.pop(t, ()):
            assert recalibrator.update(y[id_], id=id_) == "applied"
    low, high = ends(recalibrator, predicted)
    assert not np.isnan(predicted).any()
    for part in (slice(500, 2000), slice(2600, 4000)):
        covered = interval_coverage(low[part], high[part], y[part])
        assert covered == pytest.approx(0.9, abs=0.03)


def test_a_missing_forecast_is_the_recent_mean_of_outcomes():
    random = np.random.default_rng(22)
    y = 50.0 + random.normal(size=2000)
    recalibrator = NumberRecalibrator(periods=())
    predicted = recalibrator.run(np.full(2000, np.nan), y)
    low, high = ends(recalibrator, predicted)
    assert interval_coverage(low[300:], high[300:], y[300:]) == pytest.approx(0.9, abs=0.025)
    assert (high - low)[300:].mean() < 1.15 * 3.29
    now_and_then = np.where(random.random(2000) < 0.2, np.nan, 50.0)
    predicted = NumberRecalibrator(periods=()).run(now_and_then, y)
    assert not np.isnan(predicted).any()


def test_memory_does_not_grow_with_rounds():
    """Of 40,000 rounds, nothing is left but a longer horizon of the safe stage, 33 numbers."""
    random = np.random.default_rng(23)
    recalibrator = NumberRecalibrator(periods=())
    sizes = []
    for _ in range(2):
        m = random.normal(size=20_000)
        recalibrator.run(m, m + random.normal(size=20_000))
        sizes.append(len(recalibrator.to_bytes()))
    assert sizes[1] - sizes[0] <= 33 * 8 + 64


def test_one_very_late_outcome_changes_little():
    m, y = switching(10, 3000)
    plain, late = NumberRecalibrator(periods=()), NumberRecalibrator(periods=())
    late.predict(0.0, id="late")
    plain.predict(0.0, id="never")
    for t in range(2000):
        for each in (plain, late):
            each.predict(m[t])
            each.update(y[t])
    late.update(0.5, id="late")
    predicted = [each.run(m[2000:], y[2000:]) for each in (plain, late)]
    losses = [pinball(each, plain.levels, y[2000:]) for each in predicted]
    assert losses[1] == pytest.approx(losses[0], rel=0.01)


def test_waiting_predictions_are_small():
    m, y = switching(11, 500)
    recalibrator = NumberRecalibrator().fit(m, y)
    before = len(recalibrator.to_bytes())
    assert before < 40_000
    for t in range(200):
        recalibrator.predict(m[t], id=t)
    assert (len(recalibrator.to_bytes()) - before) / 200 < 1400


def test_looking_changes_nothing():
    m, y = switching(12, 300)
    recalibrator = NumberRecalibrator().fit(m, y)
    before = recalibrator.to_bytes()
    looked = recalibrator.distribution(0.3)
    assert recalibrator.to_bytes() == before
    assert recalibrator.predict(0.3) == looked


def test_what_waits_is_saved_with_what_it_is_judged_by():
    """Shapes that only waiting rounds hold come back, and learning continues bit for bit."""
    m, y = switching(13, 900)
    first = NumberRecalibrator(periods=(7,))
    for t in range(400):
        first.predict(m[t], id=t)
        if t >= 60:
            first.update(y[t - 60], id=t - 60)
    second = NumberRecalibrator.from_bytes(first.to_bytes())
    for each in (first, second):
        for t in range(400, 600):
            each.predict(m[t], id=t)
            each.update(y[t - 60], id=t - 60)
    assert first.to_bytes() == second.to_bytes()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"forecast": "a"}, "forecast must be a number, got 'a'"),
        ({"forecast": np.inf}, "forecast must be a number in"),
        ({"forecast": [1.0]}, "forecast must be a number"),
        ({"forecast": np.zeros(34)}, "forecast must be a number"),
        ({}, "forecast must be a number, NaN for none, or come with quantiles"),
        ({"quantiles": [1, 0], "levels": [0.1, 0.9]}, "quantiles must not fall .* cross"),
        ({"quantiles": [1, 2], "levels": [0.1, 1.9]}, "levels must be inside"),
        ({"quantiles": [1, 2, 3], "levels": [0.1, 0.9]}, "quantiles must have 2 columns"),
        ({"quantiles": [1, np.nan], "levels": [0.1, 0.9]}, "quantiles must not be NaN"),
        ({"quantiles": [1, 10**400], "levels": [0.1, 0.9]}, "quantiles must be numbers"),
        ({"quantiles": [1, np.inf], "levels": [0.1, 0.9]}, "quantiles must be finite"),
        ({"forecast": 1.0, "levels": [0.1, 0.9]}, "levels are those of quantiles"),
        ({"forecast": 1.0, "scale": 0.0}, "scales must be positive"),
        ({"forecast": 1.0, "scale": "a"}, "scales must be"),
        ({"forecast": 1.0, "by": 1.5}, "by must be a string or an integer"),
    ],
)
def test_bad_rows_are_refused_and_change_nothing(given, message):
    recalibrator = NumberRecalibrator(periods=()).fit([1.0, 2.0, 3.0], [1.0, 2.5, 2.0])
    before = recalibrator.to_bytes()
    with pytest.raises(ValueError, match=message):
        recalibrator.predict(**given)
    assert recalibrator.to_bytes() == before


def test_a_state_that_was_forged_is_refused():
    recalibrator = NumberRecalibrator([0.1, 0.5, 0.9], periods=())
    recalibrator.run(np.arange(50.0), np.arange(50.0) % 7)
    recalibrator.predict(1.0, id="a")
    rounds, state = recalibrator._save()
    changes = {
        "whole_residuals": lambda part: part * np.nan,
        "whole_shapes": lambda part: -part,
        "whole_regrets": lambda part: part * 1e30,
        "whole_biases": lambda part: part + 1e6,
        "whole_runs": lambda part: part * 0.0,
        "whole_given": lambda part: part * 0.0,
        "whole_most": lambda _: -1.0,
        "whole_turn": lambda _: 10**6,
        "whole_round_counts": lambda part: part + 1000,
        "whole_round_numbers": lambda part: part * np.nan,
        "whole_late": lambda _: float("inf"),
        "group_names": lambda _: ["a", "a"],
        "waiting_groups": lambda part: part + 5,
    }
    for name, change in changes.items():
        fresh = NumberRecalibrator([0.1, 0.5, 0.9], periods=())
        with pytest.raises((ValueError, OverflowError)):
            fresh._load(rounds, {**state, name: change(state[name])})
    fresh = NumberRecalibrator([0.1, 0.5, 0.9], periods=())
    fresh._load(rounds, dict(state))
    assert fresh.to_bytes() == recalibrator.to_bytes()


def test_numbers_of_any_size():
    """From 1e-200 to 1e250, and mixed: never NaN, never crossing."""
    random = np.random.default_rng(14)
    for sizes in ([1e-200], [1e250], [1e-200, 1.0, 1e250], [0.0, 1e9]):
        y = random.normal(size=400).clip(-1, 1) * random.choice(sizes, 400)
        m = random.normal(size=400).clip(-1, 1) * random.choice(sizes, 400)
        predicted = NumberRecalibrator().run(m, y)
        assert not np.isnan(predicted).any()
        assert (predicted[:, 1:] >= predicted[:, :-1]).all()


@pytest.mark.parametrize("size", [1e250, 1e-300])
def test_the_largest_and_the_smallest_numbers_are_saved_and_restored(size):
    """What can be played can be saved: no size grows beyond what loading allows."""
    random = np.random.default_rng(0)
    for forecasts in (size * random.choice([-1, 1], 100), np.full(100, size)):
        for outcomes in (-forecasts, size * random.choice([-1, 1], 100), size * random.random(100)):
            recalibrator = NumberRecalibrator(monitor=True)
            recalibrator.run(forecasts, outcomes)
            recalibrator.predict(size, id="waits")
            blob = recalibrator.to_bytes()
            assert NumberRecalibrator.from_bytes(blob).to_bytes() == blob
