"""Outcomes are used only by predictions made after they were known."""

import math
from datetime import UTC, date, datetime, timedelta, timezone

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant import Recalibrator
from calibrant.recalibrate import RowError
from calibrant.recalibrate.rows import recalibrate_rows
from calibrant.tables.arrivals import at_once, by_clock
from calibrant.tables.clocks import read_clock
from naive.arrivals import known_outcomes, recalibrated


@st.composite
def streams(draw):
    """Scores, outcomes, times and delays; coarse clocks, so that ties are common."""
    rounds = draw(st.integers(1, 25))
    size = {"min_size": rounds, "max_size": rounds}
    times = sorted(draw(st.lists(st.integers(0, 12), **size)))
    delays = draw(st.lists(st.sampled_from([0, 0, 1, 2, 5, 30, math.nan]), **size))
    outcomes = draw(st.lists(st.sampled_from([0.0, 1.0, 0.25, math.nan]), **size))
    scores = draw(st.lists(st.floats(0, 1), **size))
    available = [time + delay for time, delay in zip(times, delays, strict=True)]
    return np.array(scores), np.array(outcomes), times, available


def arrivals_of(times, available, outcomes):
    missing = [None if math.isnan(a) else a for a in available]
    return by_clock(
        read_clock(times, "t"), read_clock(missing, "known"), ~np.isnan(np.array(outcomes))
    )


@given(streams())
def test_the_order_of_events_is_what_asking_each_row_gives(stream):
    _, outcomes, times, available = stream
    arrivals = arrivals_of(times, available, outcomes)
    arrives = [not math.isnan(y) for y in outcomes]
    order = arrivals.order.tolist()
    for row in range(len(times)):
        known = known_outcomes(times, available, arrives, row)
        assert order[: arrivals.known[row]] == known
        assert all(other < row for other in known)
    assert arrivals.never == sum(
        math.isnan(a) or math.isnan(y) for a, y in zip(available, outcomes, strict=True)
    )


@given(streams(), st.booleans())
def test_predictions_are_those_of_the_slow_twin(stream, in_groups):
    scores, outcomes, times, available = stream
    by = ["ab"[row % 2] for row in range(len(times))] if in_groups else None
    fast = recalibrate_rows(
        Recalibrator(seed=3), scores, outcomes, arrivals_of(times, available, outcomes), by
    )
    assert fast.tolist() == recalibrated(scores, outcomes, times, available, seed=3, by=by)


@given(streams(), st.data())
def test_an_outcome_changes_nothing_said_until_it_is_available(stream, data):
    scores, outcomes, times, available = stream
    row = data.draw(st.integers(0, len(times) - 1))
    outcomes = np.nan_to_num(outcomes, nan=0.5)
    other = outcomes.copy()
    other[row] = 1.0 - outcomes[row] if outcomes[row] != 0.5 else 1.0
    arrivals = arrivals_of(times, available, outcomes)
    before = recalibrate_rows(Recalibrator(), scores, outcomes, arrivals)
    after = recalibrate_rows(Recalibrator(), scores, other, arrivals)
    for at, time in enumerate(times):
        if math.isnan(available[row]) or available[row] >= time:
            assert before[at] == after[at]


def test_a_known_outcome_does_change_later_predictions():
    scores, times = np.full(40, 0.5), list(range(40))
    arrivals = arrivals_of(times, [t + 3 for t in times], np.ones(40))
    ones = recalibrate_rows(Recalibrator(), scores, np.ones(40), arrivals)
    zeros = recalibrate_rows(Recalibrator(), scores, np.zeros(40), arrivals)
    assert ones[:4].tolist() == zeros[:4].tolist()  # row 0 is known after time 3, to row 4 first
    assert ones[30] > 0.6
    assert zeros[30] < 0.4


def test_at_once_is_what_run_gives():
    random = np.random.default_rng(1)
    scores, outcomes = random.random(500), (random.random(500) < 0.3).astype(float)
    groups = random.integers(0, 3, 500).tolist()
    arrivals = at_once(np.full(500, True))
    assert arrivals.are_at_once
    for by in (None, groups):
        fast = recalibrate_rows(Recalibrator(seed=2), scores, outcomes, arrivals, by)
        assert fast.tolist() == Recalibrator(seed=2).run(scores, outcomes, by).tolist()
        late = recalibrated(scores, outcomes, range(500), range(500), seed=2, by=by)
        assert fast.tolist() == late


def test_a_clock_that_ticks_between_rows_is_at_once_too():
    times = list(range(20))
    arrivals = arrivals_of(times, [t + 0.5 for t in times], np.zeros(20))
    assert arrivals.are_at_once
    assert (arrivals.never, arrivals.too_late) == (0, 0)


def test_what_never_arrives_is_predicted_and_not_learned():
    scores, outcomes = np.array([0.2, 0.4, 0.6]), np.array([1.0, math.nan, 0.0])
    arrivals = at_once(~np.isnan(outcomes))
    assert arrivals.never == 1
    recalibrator = Recalibrator()
    predictions = recalibrate_rows(recalibrator, scores, outcomes, arrivals)
    twin = Recalibrator()
    expected = [twin.predict(0.2)]
    twin.update(1)
    expected += [twin.predict(0.4), twin.predict(0.6)]
    assert predictions.tolist() == expected


def test_outcomes_after_the_last_prediction_are_counted():
    arrivals = arrivals_of([1, 2, 3], [9, 2, 9], np.zeros(3))
    assert arrivals.too_late == 1  # the last row's own is always after it


@pytest.mark.parametrize("clock", ["numbers", "text", "dates", "times", "zones"])
def test_every_kind_of_clock_gives_the_same_order(clock):
    start = datetime(2024, 2, 28, 23)
    make = {
        "numbers": float,
        "text": lambda hour: (start + timedelta(hours=hour)).isoformat(),
        "dates": lambda hour: date(2024, 1, 1) + timedelta(days=hour),
        "times": lambda hour: start + timedelta(hours=hour),
        "zones": lambda hour: (start + timedelta(hours=hour)).replace(tzinfo=UTC).astimezone(
            timezone(timedelta(hours=hour % 5))
        ),
    }[clock]  # fmt: skip
    times, available = [0, 1, 1, 2, 30], [3, 1, 31, 2, 30]
    arrivals = by_clock(
        read_clock([make(t) for t in times], "t"),
        read_clock([make(a) for a in available], "known"),
        np.full(5, True),
    )
    assert arrivals.order.tolist() == [1, 3, 0, 4, 2]
    assert arrivals.known.tolist() == [0, 0, 0, 1, 3]


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        ([1, 2, "x"], "column 't', position 2: got 'x' .*must be a number or an ISO date"),
        ([1, True], "position 1: got True"),
        ([1, math.nan], "position 1: got nan"),
        ([1, math.inf], "position 1: got inf"),
        (["1", "nan"], "position 1: got 'nan'"),
        ([1, [2]], "position 1"),
        (["2024-01-01", "7"], "position 1: got 7: numbers among times without a zone"),
        (["2024-01-01T00Z", "2024-01-01"], "times without a zone among times with a zone"),
        (["2024-13-01"], "got '2024-13-01'"),
    ],
)
def test_cells_that_are_no_times(cells, message):
    with pytest.raises(RowError, match=message):
        read_clock(cells, "t")


def test_clocks_that_run_backwards_or_have_gaps():
    later = read_clock([9, 9, 9], "known")
    everything = np.full(3, True)
    with pytest.raises(RowError, match=r"column 't', position 2: the clock runs backwards: 1 .* 2"):
        by_clock(read_clock([1, 2, 1], "t"), later, everything)
    with pytest.raises(RowError, match="column 't', position 1: the value is missing"):
        by_clock(read_clock([1, None, 3], "t"), later, everything)


def test_outcomes_before_their_predictions_are_refused():
    time = read_clock(["2024-01-01", "2024-01-02"], "t")
    known = read_clock(["2024-01-05", "2024-01-01"], "known")
    with pytest.raises(RowError, match=r"'known', position 1: .* 2024-01-01, before .* 2024-01-02"):
        by_clock(time, known, np.full(2, True))


def test_clocks_that_cannot_be_compared_are_refused():
    with pytest.raises(ValueError, match="'known' holds numbers and column 't' holds times"):
        by_clock(read_clock(["2024-01-01"], "t"), read_clock([1], "known"), np.full(1, True))
