import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from calibrant import measures
from calibrant.measures import Scorecard
from measures.strategies import repeatable, repeatable_slow, rounds

SUMS = ["cal1", "cal2", "klcal"]
MEANS = ["brier", "log_loss", "ece"]
# Residuals of T rounds round off by T * 2^-53 or so each; T is at most 3000 below.
CLOSE = {"rel": 1e-9, "abs": 1e-11}


def assert_equals_batch(card, predictions, outcomes, bins=20):
    assert card.rounds == len(predictions)
    for name in SUMS:
        expected = getattr(measures, name)(predictions, outcomes)
        assert getattr(card, name) == pytest.approx(expected, **CLOSE), name
    for name in MEANS:
        options = {"bins": bins} if name == "ece" else {}
        expected = getattr(measures, name)(predictions, outcomes, **options)
        assert getattr(card, name) == pytest.approx(expected, **CLOSE), name
    assert card.mean_prediction == pytest.approx(np.mean(predictions), **CLOSE)
    assert card.mean_outcome == pytest.approx(np.mean(outcomes), **CLOSE)


@given(data=rounds(low=1), bins=st.integers(1, 12))
@repeatable
def test_equals_the_batch_functions_at_every_prefix(data, bins):
    card = Scorecard(bins=bins)
    for t, (p, y) in enumerate(zip(*data, strict=True), start=1):
        card.add(p, y)
        assert_equals_batch(card, data[0][:t], data[1][:t], bins)


@pytest.mark.parametrize("seed", range(4))
def test_equals_the_batch_functions_on_long_streams(seed):
    rng = np.random.default_rng(seed)
    # Few levels, many levels (the table grows), and both ends.
    levels = [11, 700, 50, 2000][seed]
    predictions = rng.integers(0, levels, 3000) / (levels - 1)
    outcomes = rng.random(3000) if seed == 2 else (rng.random(3000) < predictions).astype(float)
    card = Scorecard()
    for start, stop in ((0, 1), (1, 500), (500, 500), (500, 2999), (2999, 3000)):
        card.extend(predictions[start:stop], outcomes[start:stop])
        assert_equals_batch(card, predictions[:stop], outcomes[:stop])


def test_the_infinite_comes_and_stays():
    card = Scorecard()
    card.extend([0.0, 0.0, 0.5], [0, 0, 1])
    assert math.isfinite(card.klcal)
    assert math.isfinite(card.log_loss)
    card.add(0.0, 1)
    assert card.klcal == card.log_loss == math.inf
    card.add(0.5, 0)
    assert card.klcal == card.log_loss == math.inf
    assert card.cal1 == pytest.approx(1.0)


@given(data=rounds(high=20), window=st.integers(1, 7), cuts=st.lists(st.integers(0, 20)))
@repeatable
def test_windows_score_their_own_rounds(data, window, cuts):
    card, stepped = Scorecard(window=window), Scorecard(window=window)
    edges = sorted({0, len(data[0]), *(cut for cut in cuts if cut < len(data[0]))})
    for start, stop in itertools.pairwise(edges):
        card.extend(data[0][start:stop], data[1][start:stop])
    for p, y in zip(*data, strict=True):
        stepped.add(p, y)
    assert card.windows == stepped.windows
    assert len(card.windows) == math.ceil(len(data[0]) / window)
    for i, score in enumerate(card.windows):
        assert (score.start, score.stop) == (i * window, min((i + 1) * window, len(data[0])))
        part = [column[score.start : score.stop] for column in data]
        for name in SUMS + MEANS:
            expected = getattr(measures, name)(*part)
            assert getattr(score, name) == pytest.approx(expected, **CLOSE)


@given(data=rounds(low=1), labels=st.lists(st.sampled_from(["a", 7, None]), min_size=25))
@repeatable_slow
def test_labels_score_their_own_rounds(data, labels):
    labels = labels[: len(data[0])]
    card, stepped = Scorecard(), Scorecard()
    card.extend(*data, labels=labels)
    for p, y, label in zip(*data, labels, strict=True):
        stepped.add(p, y, label)
    assert_equals_batch(card, *data)
    assert list(card.labels) == list(stepped.labels)
    assert set(card.labels) == set(labels) - {None}
    for label in card.labels:
        part = [[v for v, own in zip(c, labels, strict=True) if own == label] for c in data]
        assert_equals_batch(card.labels[label], *part)
        assert_equals_batch(stepped.labels[label], *part)


def test_labels_of_arrays_and_missing_labels():
    card = Scorecard()
    card.extend([0.5, 0.5], [1, 0], labels=np.array([3, 3]))
    card.extend([0.5, 0.5], [1, 0], labels=np.array([3.0, np.nan]))
    assert {label: part.rounds for label, part in card.labels.items()} == {3: 3}


@given(one=rounds(), two=rounds())
@repeatable
def test_merging_is_scoring_both(one, two):
    card, other = Scorecard(), Scorecard()
    card.extend(*one, labels=["x"] * len(one[0]))
    other.extend(*two, labels=["xy"[i % 2] for i in range(len(two[0]))])
    card.merge(other)
    both = one[0] + two[0], one[1] + two[1]
    if both[0]:
        assert_equals_batch(card, *both)
        assert sum(part.rounds for part in card.labels.values()) == len(both[0])
    assert other.rounds == len(two[0])


def test_merging_a_scorecard_with_itself_doubles_it():
    card = Scorecard()
    card.extend([0.2, 0.7, 0.2], [1, 0, 0.5])
    card.merge(card)
    assert_equals_batch(card, [0.2, 0.7, 0.2] * 2, [1, 0, 0.5] * 2)


def test_what_cannot_be_merged_is_refused():
    for other, message in [
        (Scorecard(window=5), "windows"),
        (Scorecard(bins=3), "bins, got 3 for 20"),
        ({}, "must be a Scorecard"),
    ]:
        with pytest.raises(ValueError, match=message):
            Scorecard().merge(other)


def state_of(card):
    labels = {label: part.summary() for label, part in card.labels.items()}
    return card.summary(), card.windows, labels


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (([0.5, 0.5], [1, 1.5]), r"outcomes must be in \[0, 1\], got 1.5 at position 1"),
        (([0.5, math.nan], [1, 1]), "predictions must be in .* got nan at position 1"),
        (([0.5, 0.5], [1]), "same length, got 2 and 1"),
        (([0.5, 0.5], [1, 0], ["a"]), "labels and predictions .* got 1 and 2"),
        (([0.5, 0.5], [1, 0], ["a", ["b"]]), "labels must be hashable, got .* at position 1"),
        (([0.5, 0.5], [1, 0], "ab"), "labels must be one label per round"),
        (([0.5, "x"], [1, 0]), "predictions must be numbers .* 'x' .* at position 1"),
    ],
)
def test_a_batch_with_one_bad_value_changes_nothing(columns, message):
    card = Scorecard(window=2)
    card.extend([0.25, 0.75, 0.5], [1, 0, 1], labels=["a", "b", "a"])
    before = state_of(card)
    with pytest.raises(ValueError, match=message):
        card.extend(*columns)
    assert state_of(card) == before


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ((-0.1, 1), r"prediction must be a number in \[0.0, 1.0\], got -0.1"),
        ((0.5, math.inf), "outcome must be .* got inf"),
        ((0.5, "1"), "outcome must be .* got '1'"),
        ((None, 1), "prediction must be .* got None"),
        ((0.5, 1, []), "label must be hashable"),
    ],
)
def test_a_bad_round_changes_nothing(row, message):
    card = Scorecard(window=2)
    card.add(0.25, 1, "a")
    before = state_of(card)
    with pytest.raises(ValueError, match=message):
        card.add(*row)
    assert state_of(card) == before


def test_before_the_first_round():
    card = Scorecard(window=3)
    assert card.cal1 == card.cal2 == card.klcal == 0.0
    assert (card.rounds, card.windows, card.labels, len(card.distinct())) == (0, [], {}, 0)
    for name in [*MEANS, "mean_prediction", "mean_outcome"]:
        with pytest.raises(ValueError, match="no means"):
            getattr(card, name)
        assert math.isnan(card.summary()[name])
    assert repr(card).startswith("Scorecard(rounds=0, distinct=0, cal1=0")
    assert card.reliability().count.tolist() == [0] * 20


def test_summary_has_every_measure():
    card = Scorecard()
    card.extend([0.5, 0.25, 0.5], [1, 0, 0])
    names = [*SUMS, *MEANS, "mean_prediction", "mean_outcome"]
    assert card.summary() == {
        "rounds": 3,
        "distinct": 2,
        **{name: getattr(card, name) for name in names},
    }


@given(data=rounds())
@repeatable_slow
def test_the_distinct_table_holds_every_round(data):
    card = Scorecard()
    card.extend(*data)
    table = card.distinct()
    assert table.prediction.tolist() == sorted(set(data[0]))
    for p, count, mean in zip(table.prediction, table.count, table.mean_outcome, strict=True):
        own = [y for q, y in zip(*data, strict=True) if q == p]
        assert count == len(own)
        assert mean == pytest.approx(np.mean(own), abs=1e-12)


@pytest.mark.parametrize("level", [0.5, 0.95, 0.999])
def test_reliability_counts_and_intervals(level):
    rng = np.random.default_rng(2)
    predictions = np.concatenate(
        [[0.0, 1.0, 0.25], 0.3 * rng.random(300), 0.8 + 0.2 * rng.random(9)]
    )
    outcomes = (rng.random(len(predictions)) < predictions).astype(float)
    card = Scorecard(bins=4)
    card.extend(predictions, outcomes)
    table = card.reliability(bins=8, level=level)
    assert len(card.reliability()) == 4
    assert table.level == level
    assert table.count.sum() == len(predictions)
    for i in range(8):
        inside = (predictions >= i / 8) & ((predictions < (i + 1) / 8) | (i == 7))
        assert (table.lower[i], table.upper[i]) == (i / 8, (i + 1) / 8)
        assert table.count[i] == inside.sum()
        if not inside.any():
            assert np.isnan(table.mean_prediction[i])
            assert np.isnan(table.mean_outcome[i])
            assert (table.interval_low[i], table.interval_high[i]) == (0.0, 1.0)
            continue
        assert table.mean_prediction[i] == pytest.approx(predictions[inside].mean())
        assert table.mean_outcome[i] == pytest.approx(outcomes[inside].mean())
        test = binomtest(int(outcomes[inside].sum()), int(inside.sum()))
        wilson = test.proportion_ci(level, method="wilson")
        assert table.interval_low[i] == pytest.approx(wilson.low, abs=1e-12)
        assert table.interval_high[i] == pytest.approx(wilson.high, abs=1e-12)


def test_options_are_checked():
    for options, message in [
        ({"window": 0}, "window must be an integer at least 1, got 0"),
        ({"window": 1.5}, "window must be an integer"),
        ({"bins": 0}, r"bins must be an integer in \[1, "),
    ]:
        with pytest.raises(ValueError, match=message):
            Scorecard(**options)
    for options, message in [
        ({"level": 1.0}, r"level must be in \(0, 1\), got 1.0"),
        ({"level": math.nan}, "level must be"),
        ({"level": "high"}, "level must be a number"),
        ({"bins": 0}, "bins must be"),
    ]:
        with pytest.raises(ValueError, match=message):
            Scorecard().reliability(**options)


def test_memory_follows_distinct_predictions_and_not_rounds():
    card = Scorecard()
    for _ in range(50):
        card.extend(np.tile([0.1, 0.5, -0.0, 0.0], 1000), np.zeros(4000))
    assert card.rounds == 200_000
    assert len(card.distinct()) == 3
