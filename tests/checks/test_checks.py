"""The checks find invalid rows and accept valid ones, and their helpers are correct."""

import math

import numpy as np
import pytest

from benchmarks.checks import columns_of, named
from benchmarks.checks_worlds import BASES, HONEST, SPOILED, honest
from calibrant.checks import Columns, Finding, Sample, check_columns, refuse
from calibrant.checks.columns import BLOCK, MOST_BLOCKS, at_most, auc_of
from calibrant.checks.order import time_order
from calibrant.checks.scores import local_auc
from calibrant.checks.table import NAMES
from calibrant.tables import InputError


@pytest.mark.parametrize("name", HONEST)
def test_an_honest_stream_is_left_in_peace(name):
    # Of each check, at most one of 200 valid streams may be flagged, and fewer are
    # (benchmarks/checks.md). That any of 12 checks flags one of these 8 would have probability
    # 0.4 at that limit; with the rates measured it is below 0.01, and the seeds are fixed.
    for number in range(8):
        random = np.random.default_rng([5, number])
        columns = columns_of(honest(name, random, 1_000, number), has_time=number > 1)
        assert not [each for each in check_columns(columns) if each.is_open]


@pytest.mark.parametrize("label", SPOILED)
def test_what_is_wrong_is_found(label):
    # 2,500 rows and eight kinds: where benchmarks/checks.md says that most are found.
    spoil, check, has_time = SPOILED[label]
    rounds = 10_000 if label in ("sorted by outcome within twelve months",) else 2_500
    found = 0
    for base, name in enumerate(BASES):
        random = np.random.default_rng([6, base])
        world = honest(name, random, rounds)
        found += check in named(check_columns(columns_of(spoil(world, random), has_time)))
    hard = {"zeros 1.2 times as late", "5% of the rows twice"}
    assert found >= (0 if label in hard else 4 if "days" in label else 6)


def test_a_file_sorted_by_outcome_is_refused_unless_the_user_insists():
    random = np.random.default_rng(0)
    scores = random.random(1_000)
    outcomes = np.sort((random.random(1_000) < scores).astype(float))
    columns = Columns(outcomes, scores)
    (found,) = check_columns(columns)
    assert (found.check, found.severity) == ("order.sorted", "refuse")
    assert "changes once from one row to the next" in found.message
    assert "--trust-order" in found.message
    with pytest.raises(InputError, match=r"a\.csv: The outcome changes once"):
        refuse([found], "a.csv")
    for allow in ("order", "order.sorted", ["order.sorted"], "leak, order"):
        (found,) = check_columns(columns, allow)
        assert found.severity == "note"
        assert not found.is_open
        assert found.message.endswith("This was allowed (order.sorted).")
        refuse([found])
    assert check_columns(columns, "leak")[0].severity == "refuse"


def test_a_check_that_does_not_exist_cannot_be_allowed():
    with pytest.raises(ValueError, match=r"allow must name checks among .* got 'odrer'"):
        check_columns(Columns(np.zeros(3)), "odrer")


def test_every_name_that_is_found_can_be_allowed():
    random = np.random.default_rng(3)
    world = honest("independent", random, 2_500)
    for spoil, _, has_time in SPOILED.values():
        for found in check_columns(columns_of(spoil(world, random), has_time)):
            assert found.check in NAMES or found.check.startswith("scale.")


def test_fractions_and_few_rows_are_no_offence():
    assert check_columns(Columns(np.empty(0))) == []
    assert check_columns(Columns(np.array([1.0, 0.0]), np.array([0.9, 0.1]))) == []
    outcomes = np.sort(np.random.default_rng(0).random(500))
    assert check_columns(Columns(outcomes, np.full(500, 0.5) + outcomes / 10)) == []


def test_outcomes_of_one_kind_ask_for_silence():
    random = np.random.default_rng(1)
    scores = random.random(1_000) / 2
    outcomes = np.where(random.random(1_000) < scores, 1.0, np.nan)
    (found,) = check_columns(Columns(outcomes, scores))
    assert (found.check, found.severity) == ("one_sided", "refuse")
    assert "--silence 0 --after SPAN" in found.message
    assert check_columns(Columns(outcomes, scores, has_silence=True)) == []
    # All announced, all of one kind: that may be so.
    assert check_columns(Columns(np.ones(1_000), np.full(1_000, 0.999) - scores / 1e6)) == []


def test_deadlines_that_are_still_to_come_are_counted():
    made = np.arange(1_000.0)
    random = np.random.default_rng(2)
    scores = random.random(1_000)
    outcomes = (random.random(1_000) < scores).astype(float)
    columns = Columns(outcomes, scores, made, due=made + 100, has_silence=True)
    (found,) = check_columns(columns)
    assert (found.check, found.severity) == ("maturity", "note")
    assert "101 of 1,000 rows have not reached their deadline" in found.message
    (found,) = check_columns(Columns(outcomes, scores, made, due=made + 600, has_silence=True))
    assert found.severity == "warn"


def test_times_out_of_order():
    times = np.arange(1_000.0)
    assert time_order(times) is None
    assert time_order(np.repeat(times, 2)) is None
    assert time_order(times[::-1]).check == "order.backwards"
    assert time_order(np.random.default_rng(0).permutation(times)).check == "order.shuffled"
    slipped = times.copy()
    slipped[[10, 500]] = times[[500, 10]] * 0.01 + slipped[[10, 500]] * 0.99
    assert time_order(slipped).severity == "note"


def test_a_sample_keeps_blocks_from_the_first_row_to_the_last():
    rows = 3 * BLOCK * MOST_BLOCKS + 17
    values = np.arange(float(rows))
    whole, parts = Sample(), Sample()
    whole.extend(Columns(values, values / rows))
    for part in np.array_split(values, 100):
        parts.extend(Columns(part, part / rows))
    for sample in (whole, parts):
        kept = sample.columns
        assert sample.rows == rows
        assert BLOCK * MOST_BLOCKS / 4 <= len(kept.outcomes) <= BLOCK * MOST_BLOCKS
        np.testing.assert_array_equal(kept.scores, kept.outcomes / rows)
        steps = np.diff(kept.outcomes)
        assert (steps > 0).all()
        assert (steps > 1).sum() <= len(kept.outcomes) / BLOCK
        assert kept.outcomes[-1] == rows - 1
    np.testing.assert_array_equal(whole.columns.outcomes, parts.columns.outcomes)


def test_a_large_file_that_is_sorted_is_found_in_its_sample():
    random = np.random.default_rng(0)
    scores = random.random(500_000)
    outcomes = (random.random(500_000) < scores).astype(float)
    assert check_columns(Columns(outcomes, scores)) == []
    assert check_columns(Columns(np.sort(outcomes), scores))[0].check == "order.sorted"


@pytest.mark.parametrize("seed", range(5))
def test_the_auc_is_that_of_all_pairs(seed):
    random = np.random.default_rng(seed)
    scores, outcomes = random.integers(0, 9, 60) / 9, random.integers(0, 2, 60).astype(float)

    def slow(scores, outcomes):
        pairs = [(a, b) for a in scores[outcomes == 1] for b in scores[outcomes == 0]]
        return sum((a > b) + (a == b) / 2 for a, b in pairs), len(pairs)

    right, pairs = slow(scores, outcomes)
    assert auc_of(scores, outcomes) == pytest.approx(right / pairs)
    windows = [slow(s, y) for s, y in zip(np.split(scores, 6), np.split(outcomes, 6), strict=True)]
    beyond = [right - pairs / 2 for right, pairs in windows]
    auc, errors = local_auc(scores, outcomes, 10)
    assert auc == pytest.approx(0.5 + sum(beyond) / sum(pairs for _, pairs in windows))
    assert errors == pytest.approx(sum(beyond) / math.sqrt(sum(each**2 for each in beyond)))


def test_poisson_probabilities():
    for mean in (0.5, 7.0, 250.0):
        terms = [math.exp(k * math.log(mean) - mean - math.lgamma(k + 1)) for k in range(400)]
        for events in (0, 3, 240):
            assert at_most(events, mean) == pytest.approx(sum(terms[: events + 1]), abs=1e-12)
    assert at_most(400, 400.0) == pytest.approx(0.513, abs=0.01)


def test_a_finding_says_what_to_do():
    found = Finding("constant", "note", "Every score is 0.3.")
    assert found.message == "Every score is 0.3."
