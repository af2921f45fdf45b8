"""The checks at the service's door: each warns where it must, and its honest twin does not."""

import numpy as np
import pytest

from calibrant.service.stream.doubts import MOST, RowSample

FRAUD = 0.005


def play(running, scores, outcomes, **settings):
    """Predict rows in lists of 500, and report the outcomes that are not NaN; return the stream."""
    running.stream(**settings)
    for start in range(0, len(scores), 500):
        rows = range(start, min(start + 500, len(scores)))
        asked = [{"id": n, "score": float(scores[n]), "at": 60.0 * n} for n in rows]
        running.predict(asked).raise_for_status()
        known = [
            {"id": n, "outcome": float(outcomes[n]), "at": 60.0 * n}
            for n in rows if not np.isnan(outcomes[n])
        ]  # fmt: skip
        if known:
            running.learn(known).raise_for_status()
    return running.http.get("/v1/streams/s").json()


def checks_of(stream):
    return [each["check"] for each in stream["warnings"]]


def made(seed=0, rows=6000, base=FRAUD):
    """Return honest scores of a rare event, and what happened."""
    random = np.random.default_rng(seed)
    odds = np.exp(np.log(base / (1 - base)) + random.normal(size=rows))
    truth = odds / (1 + odds)
    return truth, (random.random(rows) < truth).astype(float), random


def only_ones(scores, happened, _):
    return scores, np.where(happened == 1, 1.0, np.nan)


def mostly_ones(scores, happened, random):
    return scores, np.where((happened == 1) | (random.random(len(scores)) < 0.01), happened, np.nan)


def inverted(scores, happened, _):
    return 1.0 - scores, happened


def copied(_, happened, __):
    return np.where(happened == 1, 0.9, 0.1), happened


def a_tenth_known(scores, happened, random):
    return scores, np.where(random.random(len(scores)) < 0.1, happened, np.nan)


def everything_known(scores, happened, _):
    return scores, happened


@pytest.mark.parametrize(
    ("report", "base", "settings", "found"),
    [
        (only_ones, FRAUD, {}, ["one_sided"]),
        (only_ones, FRAUD, {"silence": 0, "after": "1d", "clock": "client"}, []),
        (mostly_ones, FRAUD, {}, ["lopsided"]),
        (a_tenth_known, FRAUD, {}, []),
        (a_tenth_known, 0.3, {}, []),
        (inverted, 0.3, {}, ["inverted"]),
        (copied, 0.3, {}, ["leak.copy"]),
        (everything_known, 0.3, {}, []),
        (everything_known, FRAUD, {}, []),
    ],
)
def test_a_question_that_is_wrong_is_doubted_and_its_honest_twin_is_not(
    running, report, base, settings, found
):
    stream = play(running, *report(*made(base=base)), **settings)
    assert checks_of(stream) == found
    assert stream["verdict"]["state"] == ("doubtful" if found else "calibrated"), stream["verdict"]
    if found == ["one_sided"]:
        (warned,) = stream["warnings"]
        assert "it seems that only outcomes of 1 are reported" in warned["message"]
        assert "--" not in warned["message"]  # a stream has no options


def test_warnings_are_part_of_the_state(start):
    one = start()
    before = play(one, *only_ones(*made()))
    one.stop()
    after = start().http.get("/v1/streams/s").json()
    assert after["warnings"] == before["warnings"]


@pytest.mark.parametrize("share", [0.0, 0.3])
def test_ids_that_recur_are_doubted_and_retries_are_not(running, share):
    scores, happened, random = made(rows=1500, base=0.3)
    play(running, scores, happened)
    again = [
        {"id": n, "score": float(scores[n]) if random.random() >= share else 0.123}
        for n in range(300)
    ]
    running.predict(again).raise_for_status()
    found = checks_of(running.http.get("/v1/streams/s").json())
    assert found == (["ids"] if share else [])


@pytest.mark.parametrize("comes_late", [False, True])
def test_outcomes_of_what_expired_are_doubted_and_outcomes_that_never_come_are_not(
    running, comes_late
):
    running.stream(capacity=10_000)
    rows = [{"id": n, "score": 0.5} for n in range(10_100)]
    for start in range(0, len(rows), 10_000):
        running.predict(rows[start : start + 10_000]).raise_for_status()
    first = 0 if comes_late else 200
    running.learn([{"id": n, "outcome": n % 2} for n in range(first, first + 90)])
    stream = running.http.get("/v1/streams/s").json()
    assert stream["expired"] == 100
    assert checks_of(stream) == (["capacity"] if comes_late else [])


def test_percents_are_named(running):
    running.stream()
    refused = running.predict({"id": "a", "score": 37.5}).json()
    assert refused["allowed"] == "a number in [0, 1]; divide percentages by 100"


class Steps:
    """What a sample is shown."""

    def __init__(self, numbers, raw, outcome):
        self.numbers, self.raw, self.outcome = map(np.array, (numbers, raw, outcome))


def test_a_sample_is_spread_over_the_stream_however_its_rows_come():
    random = np.random.default_rng(3)
    rows, delay = 50_000, 700
    raw, outcome = random.random(rows), (random.random(rows) < 0.5).astype(float)
    events = [(n, n, raw[n], np.nan) for n in range(rows)]
    events += [(n + delay + 0.5, n, raw[n], outcome[n]) for n in range(rows - delay)]
    events.sort(key=lambda each: each[0])
    samples = []
    for size in (7, 997, len(events)):
        sample = RowSample()
        for start in range(0, len(events), size):
            _, numbers, said, came = zip(*events[start : start + size], strict=True)
            sample.take(Steps(numbers, said, came))
        samples.append(sample)
    for sample in samples:
        numbers = sample.rows[:, 0].astype(int)
        assert MOST // 2 <= len(numbers) <= MOST
        assert set(np.diff(numbers)) == {sample.stride}
        np.testing.assert_array_equal(sample.rows[:, 1], raw[numbers])
        np.testing.assert_array_equal(sample.rows[:, 2], outcome[numbers])
        settled = outcome[: rows - delay]
        ones = int(settled.sum())
        assert sample.counts.tolist() == [
            len(settled), ones, len(settled) - ones, len(settled), 0, rows - delay - 1,
        ]  # fmt: skip
        assert RowSample.from_bytes(sample.to_bytes()).to_bytes() == samples[0].to_bytes()
