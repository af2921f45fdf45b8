"""Outcomes that fall silent while predictions go on: when it is told, and that a replay agrees."""

import json

import numpy as np
import pytest

from calibrant.service.store.sqlite import SqliteStore
from calibrant.service.stream.tallies import MEMORY, Tallies
from calibrant.service.stream.verification import check_store

HOUR, DAY = 3600.0, 86_400.0
NOON = 1.7e9


def lived(moments):
    """Return gaps after outcomes at some moments, a prediction a moment before each."""
    gaps = Tallies()
    for at in moments:
        gaps.predicted([0.5], None, at - 1.0)
        gaps.observed([1.0], at)
    return gaps


def silent_after(gaps, start, end, step):
    """Return when predictions made every so often, from `start` on, are silence; None if never."""
    for at in np.arange(start, end, step):
        gaps.predicted([0.5], None, at)
        if gaps.silent_since is not None:
            return at - start
    return None


def test_the_usual_gap_is_that_in_which_a_moment_falls():
    """By the definition: the mean of gaps, each as often as it is long, the old ones faded."""
    random = np.random.default_rng(3)
    moments = np.cumsum(random.exponential(5 * HOUR, 300))
    gaps = np.diff(moments)
    kept = [np.prod(MEMORY / (MEMORY + gaps[k + 1 :])) for k in range(len(gaps))]
    usual = np.average(gaps, weights=kept * gaps)
    assert lived(moments).longest_gap == pytest.approx(5.0 * usual)


@pytest.mark.parametrize(
    ("gap", "limit"), [(1.0, HOUR), (60.0, HOUR), (HOUR, 5 * HOUR), (DAY, 5 * DAY)]
)
def test_regular_outcomes(gap, limit):
    gaps = lived(np.arange(30) * gap)
    assert gaps.longest_gap == pytest.approx(limit)
    found = silent_after(gaps, 30 * gap, 30 * gap + 10 * limit, limit / 20)
    assert 0.999 * limit < found <= 1.1 * limit


def test_nothing_is_said_before_enough_is_known():
    assert lived(np.arange(10) * 60.0).longest_gap is None
    assert lived([]).longest_gap is None
    assert silent_after(lived(np.arange(10) * 60.0), 600.0, 100 * DAY, HOUR) is None


def test_a_pause_of_everything_is_no_silence():
    """After a weekend without rows, predictions come first, and outcomes soon after."""
    gaps = lived(np.arange(1000) * 60.0)
    monday = 1000 * 60.0 + 2.5 * DAY
    gaps.predicted([0.5], None, monday)
    assert gaps.silent_since is None
    assert silent_after(gaps, monday, monday + 0.9 * HOUR, 60.0) is None


def test_nights_are_known_after_a_few():
    """Outcomes every minute from 8 to 20 h, predictions all day: the first night may ring."""
    gaps, rang = Tallies(), []
    for day in range(14):
        for minute in range(0, 1440, 5):
            at = day * DAY + 60.0 * minute
            gaps.predicted([0.5], None, at)
            if 480 <= minute < 1200:
                gaps.observed([1.0], at)
            elif gaps.silent_since is not None:
                rang.append(day)
    assert set(rang) <= {0, 1}  # the one night, from the evening on
    # And yet a whole day without one is noticed within another.
    assert silent_after(gaps, 14 * DAY + 480 * 60, 17 * DAY, 300.0) < 2 * DAY


def test_poisson_outcomes_are_quiet_for_years():
    """Ten times the mean gap passes once in e**10 gaps, or 22,000."""
    random = np.random.default_rng(7)
    rang, at, gaps = 0, 0.0, Tallies()
    for gap in random.exponential(6 * HOUR, 5000):
        gaps.predicted([0.5], None, at + 1.0)
        gaps.predicted([0.5], None, at + gap)
        rang += gaps.silent_since is not None
        at += gap
        gaps.observed([1.0], at)
    assert rang <= 2


def test_a_history_before_today_does_not_deafen():
    """A jump of years counts as a month, and is forgotten in some."""
    gaps = lived(np.arange(500) * 60.0)
    now = 3 * 365 * DAY
    gaps.observed([1.0], now)
    assert gaps.longest_gap > 100 * DAY
    for at in np.arange(now, now + 120 * DAY, HOUR):
        gaps.predicted([0.5], None, at)
        gaps.observed([1.0], at + HOUR)
    assert gaps.longest_gap < DAY


def test_times_that_run_backwards_are_no_gaps():
    gaps = lived([0.0, 10.0, 5.0, 5.0, 20.0])
    assert gaps.gaps[0] == 2  # 0 to 10, and 5 to 20


def rounds(running, first, count, step=60.0, *, outcomes=True):
    """Let predictions come a minute apart, each with its outcome or none."""
    for k in range(first, first + count):
        at = NOON + step * k
        running.predict({"id": f"r{k}", "score": 0.5, "at": at}).raise_for_status()
        if outcomes:
            assert running.words([{"id": f"r{k}", "outcome": k % 2, "at": at + 1}]) == ["applied"]


def kinds(running):
    stored = running.http.get("/v1/events?format=json&after=0").json()["events"]
    return [each["kind"] for each in stored if each["kind"].startswith("outcomes")], stored


def test_silence_is_told_once_and_so_is_its_end(start, path):
    running = start()
    running.stream(clock="client")
    rounds(running, 0, 15)
    rounds(running, 15, 61, outcomes=False)  # the last is an hour after the first
    assert kinds(running)[0] == []
    assert running.http.get("/v1/streams/s").json()["silent_since"] is None
    rounds(running, 76, 5, outcomes=False)
    told, stored = kinds(running)
    assert told == ["outcomes.silent"]
    assert stored[-1]["since"] == NOON + 15 * 60.0
    assert stored[-1]["last_outcome_at"] == NOON + 14 * 60.0 + 1.0
    assert stored[-1]["waiting"] == 62
    assert running.http.get("/v1/streams/s").json()["silent_since"] == NOON + 15 * 60.0
    assert running.http.get("/v1/streams/s/pending").json()["waiting"] == 66
    # Neither a stop nor a replay of the whole log tells it again.
    running.stop()
    with SqliteStore(path)._connect() as store:
        store.execute("DELETE FROM snapshots")
    store.close()
    again = start()
    rounds(again, 81, 3, outcomes=False)
    assert kinds(again)[0] == ["outcomes.silent"]
    at = NOON + 90 * 60.0
    assert again.words([{"id": "r20", "outcome": 1, "at": at}]) == ["applied"]
    assert kinds(again)[0] == ["outcomes.silent", "outcomes.back"]
    assert again.http.get("/v1/streams/s").json()["silent_since"] is None
    again.stop()
    assert check_store(SqliteStore(path), lambda _: None) == []


def test_who_follows_is_told(running):
    running.stream(clock="client")
    rounds(running, 0, 12)
    with running.http.stream("GET", "/v1/streams/s/events") as answer:
        lines = answer.iter_lines()
        next(lines)
        running.predict({"id": "a", "score": 0.5, "at": NOON + 12 * 60})
        running.predict({"id": "b", "score": 0.5, "at": NOON + 13 * 60 + HOUR})
        for line in lines:
            if line == "event: outcomes.silent":
                break
        assert json.loads(next(lines).removeprefix("data: "))["since"] == NOON + 12 * 60


def test_that_many_wait_is_told_once_also_after_a_restart(start):
    """Between the two bounds only what was told says which it is."""
    running = start()
    running.stream(capacity=10_000)
    running.predict([{"id": str(k), "score": 0.5} for k in range(8500)])
    running.learn([{"id": str(k), "outcome": k % 2} for k in range(1000)])
    running.stop()
    again = start()
    again.learn([{"id": str(k), "outcome": k % 2} for k in range(1000, 2000)])
    stored = again.http.get("/v1/events?format=json&after=0").json()["events"]
    assert [each["kind"] for each in stored][1:] == ["pending.high", "pending.low"]
