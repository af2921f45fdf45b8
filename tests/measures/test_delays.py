"""Do delays depend on the outcome: found where they do, and hardly ever where they do not."""

import numpy as np
import pytest

from calibrant._spans import as_span
from calibrant.measures import DelayCheck
from calibrant.measures.delays import compare_ranks
from naive import delays as naive

DAY = 86_400.0


def rows(seed, rounds=2_000, *, level="steady", delay="steady", end="open"):
    """Return outcomes, times, times of knowing and scores; delays depend on no outcome."""
    random = np.random.default_rng(seed)
    x, t = random.normal(-1.0, 1.2, rounds), np.arange(float(rounds))
    wave = 1.5 * np.sin(2 * np.pi * (t / random.choice([500, 1000, 2000]) + random.random()))
    b = {"steady": 0.0 * t, "drifts": wave, "jumps": 1.5 * np.sign(wave)}[level]
    scores = 1 / (1 + np.exp(-x))
    y = (random.random(rounds) < 1 / (1 + np.exp(-x - b))).astype(float)
    scale = {"steady": 1.0, "drifts": np.exp(wave), "by score": np.exp(x)}[delay]
    known = t + 1 + random.exponential(200.0, rounds) * scale
    if end == "cut off":
        known[known > rounds] = np.nan
    if end == "lost":
        known[random.random(rounds) < 0.2] = np.nan
    return y, t, known, scores


NULLS = [
    {},
    {"level": "drifts"},
    {"level": "drifts", "delay": "drifts"},  # together: late where the rate is high
    {"level": "jumps", "delay": "drifts", "end": "cut off"},
    {"delay": "by score"},
    {"level": "drifts", "delay": "by score", "end": "cut off"},
    {"level": "drifts", "end": "lost"},
]


@pytest.mark.parametrize("null", NULLS, ids=lambda null: " ".join(null.values()) or "steady")
def test_delays_that_do_not_depend_on_the_outcome_are_left_in_peace(null):
    # A false alarm has probability 1/1000 if z is normal. More than 3 of 200 then happen with
    # probability 6e-5; `benchmarks/silence.md` has 1,000 runs of each.
    checks = [DelayCheck.from_times(*played[:3], scores=played[3], is_time=False)
              for played in (rows(seed, **null) for seed in range(200))]  # fmt: skip
    assert sum(check.depends for check in checks) <= 3
    assert abs(np.mean([check.z for check in checks])) < 0.5
    # What the scores explain is fitted to the same rows, so that z may vary a little less.
    assert 0.7 < np.std([check.z for check in checks]) < 1.2


@pytest.mark.parametrize("rate", [0.01, 0.1, 0.5])
def test_frauds_known_after_a_week_and_the_rest_after_a_month_are_found(rate):
    for seed in range(20):
        random = np.random.default_rng(seed)
        made = np.sort(random.random(10_000)) * 100 * DAY
        fraud = random.random(10_000) < rate
        check = DelayCheck.from_times(fraud, made, made + np.where(fraud, 7, 30) * DAY)
        assert check.depends
        assert check.slower == 0
        assert check.cure == {"hold": "30d"}
        assert 'hold="30d" (--hold 30d)' in check.sentence()
        assert "after 7d and 30d" in check.sentence()


def test_an_outcome_that_is_never_announced_asks_for_silence():
    random = np.random.default_rng(0)
    made = np.arange(5_000.0)
    y = random.random(5_000) < 0.2
    known = np.where(y, made + np.minimum(random.exponential(300, 5_000), 1_480), np.nan)
    check = DelayCheck.from_times(y, made, known, is_time=False)
    assert check.depends
    assert check.cure["silence"] == 0
    assert 1_200 < check.cure["after"] < 1_600
    assert "silence=0, after=1" in check.sentence()


def test_a_few_of_one_kind_that_never_come_are_found_too():
    random = np.random.default_rng(0)
    made, y = np.arange(5_000.0), random.random(5_000) < 0.5
    known = made + random.exponential(300, 5_000)
    known[y & (random.random(5_000) < 0.3)] = np.nan
    check = DelayCheck.from_times(y, made, known, is_time=False)
    assert check.depends
    assert check.slower == 1
    assert "never in 0% and 28%" in check.sentence()


@pytest.mark.parametrize("seed", range(5))
def test_the_ranks_are_those_of_the_slow_twin(seed):
    y, made, known, scores = rows(seed, 333)
    late = np.floor((known - made) / 50)  # with ties
    z, _, beyond = compare_ranks(y, late, scores)
    found = z, 0.5 + beyond
    np.testing.assert_allclose(found, naive.compare_ranks(y, late, scores), rtol=1e-9)


def test_too_few_rows_say_nothing():
    assert DelayCheck.from_times([0, 1] * 30, np.arange(60.0), np.arange(60.0)) is None
    assert DelayCheck.from_times([], [], []) is None


def test_outcomes_known_to_the_next_row_are_all_alike():
    y = np.random.default_rng(0).random(1_000) < 0.5
    made = np.arange(1_000.0)
    check = DelayCheck.from_times(y, made, made + np.where(y, 0.1, 0.9))
    assert (check.z, check.later, check.depends) == (0.0, 0.5, False)


@pytest.mark.parametrize("value", [0, -1, "d30", "30 years", None, True, float("nan"), "1e999d"])
def test_a_span_that_is_none_is_refused(value):
    with pytest.raises(ValueError, match="after must be a positive number, a timedelta or text"):
        as_span(value, "after")


def test_spans_in_all_their_forms():
    assert as_span("30d", "after") == as_span(np.timedelta64(30, "D"), "after")
    assert as_span("1.5h", "after").length == 5_400
    assert as_span("1500", "after") == as_span(1500, "after")
    assert str(as_span("90min", "after")) == "1.5h"
