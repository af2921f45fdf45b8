"""Times of every sort become the same seconds."""

from datetime import UTC, date, datetime, timedelta, timezone

import numpy as np
import pandas as pd
import pytest

from calibrant import Monitor
from calibrant._times import rising_times, time_of, times_of, times_or_one

DAY = 86_400.0
NEVER = np.datetime64("NaT", "s")
NOON = 19_000.5 * DAY  # 8 January 2022
SAME = (
    NOON, np.float64(NOON), int(NOON), np.int64(NOON),
    datetime(2022, 1, 8, 12), datetime(2022, 1, 8, 12, tzinfo=UTC),
    datetime(2022, 1, 8, 17, 30, tzinfo=timezone(timedelta(hours=5.5))),
    np.datetime64("2022-01-08T12"), np.datetime64("2022-01-08T12:00:00.000000000"),
)  # fmt: skip


@pytest.mark.parametrize("time", SAME)
def test_one_time(time):
    assert time_of(time) == NOON
    assert times_or_one(time, 3).tolist() == [NOON] * 3


def test_a_date_is_its_midnight():
    assert time_of(date(2022, 1, 8)) == time_of(np.datetime64("2022-01-08")) == 19_000 * DAY
    assert time_of(date(1969, 12, 31)) == -DAY
    assert time_of(np.datetime64("20000-01-01")) > 0  # beyond what Python's own dates reach


def test_many_times_one_by_one_or_as_an_array():
    assert times_of(SAME, len(SAME)).tolist() == [NOON] * len(SAME)
    hours = np.datetime64("2022-01-08T12") + np.arange(4)
    expected = [NOON + 3600 * each for each in range(4)]
    for unit in ("h", "s", "us", "ns"):
        assert times_of(hours.astype(f"datetime64[{unit}]"), 4).tolist() == expected
        assert times_of(list(hours.astype(f"datetime64[{unit}]")), 4).tolist() == expected
    assert times_of(np.arange(3, dtype=np.int8), 3).dtype == np.float64


def test_the_array_is_no_view_of_what_was_given():
    given = np.arange(3.0)
    times_of(given, 3)[0] = 9.0
    assert given[0] == 0.0


@pytest.mark.parametrize(
    "bad",
    [True, None, "2022-01-08", np.nan, np.inf, 10**400, NEVER, [1.0], timedelta(1)],
)
def test_what_is_no_time_is_refused(bad):
    with pytest.raises(ValueError, match="at must be a date, a time or a finite number, got"):
        time_of(bad)
    with pytest.raises(ValueError, match=r"due must be .* at position 1"):
        times_of([0.0, bad], 2, "due")


def test_arrays_name_the_first_that_is_no_time():
    for bad in (np.array([0.0, np.nan, np.inf]), np.array(["2022-01-08", "NaT"], "datetime64[ns]")):
        with pytest.raises(ValueError, match="at position 1"):
            times_of(bad, len(bad))


@pytest.mark.parametrize("bad", [5.0, "abc", {1.0, 2.0}, np.array(5.0), np.zeros((2, 2))])
def test_one_a_round(bad):
    with pytest.raises(ValueError, match="times"):
        times_of(bad, 2, "times")


def test_the_lengths_must_agree():
    with pytest.raises(ValueError, match="at and scores must have the same length, got 2 and 3"):
        times_of([1, 2], 3)
    with pytest.raises(ValueError, match="at and outcomes must have the same length"):
        rising_times([1, 2], 3, 10.0)


def test_rising_times():
    assert rising_times([1, 1, 2], 3, 10.0).tolist() == [1.0, 1.0, 2.0]
    with pytest.raises(ValueError, match="must not decrease, it does at position 2"):
        rising_times([1, 2, 1], 3, 10.0)
    with pytest.raises(ValueError, match="within 10 seconds of 1970"):
        rising_times([1, 11], 2, 10.0)


@pytest.mark.parametrize("unit", ["Y", "D", "s", "ms"])
def test_a_date_that_microseconds_cannot_reach_is_refused(unit):
    far = np.datetime64(2**62, unit)
    for dates in (lambda: time_of(far), lambda: times_of(np.array([far]), 1)):
        with pytest.raises(ValueError, match="at must be within 290,000 years of 1970"):
            dates()
    assert time_of(np.datetime64(-290_000, "Y")) < 0 < time_of(np.datetime64(290_000, "Y"))


@pytest.mark.parametrize("none", [NEVER, pd.NaT, float("nan")])
def test_a_date_that_is_none_is_no_time(none):
    monitor = Monitor()
    before = monitor.to_bytes()
    for call in (
        lambda: time_of(none),
        lambda: times_of([1.0, none], 2),
        lambda: monitor.update(0.3, 1, by="new", at=none),
        lambda: monitor.expect("a", 0.3, by="new", at=none),
        lambda: monitor.run([0.3], [1], by=["new"], times=np.array([none])),
        lambda: monitor.expect("a", 1.3, by="new"),
        lambda: monitor.expect(1.5, 0.3, by="new"),
    ):
        with pytest.raises(ValueError, match=r"must be|got"):
            call()
    assert monitor.to_bytes() == before
