"""Before and after: the numbers, and the sentences that they decide."""

import math

import numpy as np
import pytest

from calibrant import Recalibrator
from calibrant.measures import brier, cal1, cal2, chance, ece, log_loss, smece
from calibrant.measures.chance import Differences, chance_ece
from calibrant.report import BeforeAfter
from calibrant.report.before_after import log_loss_changes, log_losses
from calibrant.report.recalibration_page import group_rows, measure_rows

ROUNDS = 5500
RANDOM = np.random.default_rng(12)
TRUTH = RANDOM.random(ROUNDS)
OUTCOMES = (RANDOM.random(ROUNDS) < TRUTH).astype(float)
TOO_HIGH = np.sqrt(TRUTH)


def test_a_column_has_every_measure():
    measured = BeforeAfter.from_predictions(None, TOO_HIGH, OUTCOMES).calibrated
    for name, measure in {
        "brier": brier, "log_loss": log_loss, "cal1": cal1, "cal2": cal2, "ece": ece,
        "smece": smece,
    }.items():  # fmt: skip
        assert getattr(measured, name) == pytest.approx(measure(TOO_HIGH, OUTCOMES), rel=1e-9)
    table = measured.distinct()
    grouped = chance_ece(table.prediction, table.count)
    assert grouped == pytest.approx(chance_ece(TOO_HIGH))
    assert len(measured.distinct()) == ROUNDS
    table = measured.reliability(10)
    assert (table.count > 0).all()
    assert table.miscalibrated.sum() >= 8  # intervals are about 0.04 wide, the bias 0.25


def test_the_worst_window_is_a_full_one():
    """The last 500 rounds are the worst by far, and too few to count."""
    predictions = TRUTH.copy()
    predictions[2000:3000] = TOO_HIGH[2000:3000]
    predictions[5000:] = 1.0 - OUTCOMES[5000:]
    measured = BeforeAfter.from_predictions(None, predictions, OUTCOMES).calibrated
    assert (measured.worst.start, measured.worst.stop) == (2000, 3000)
    assert measured.worst.ece == pytest.approx(ece(predictions[2000:3000], OUTCOMES[2000:3000]))
    for rounds, has_worst in ((1999, False), (2000, True)):
        both = BeforeAfter.from_predictions(None, TRUTH[:rounds], OUTCOMES[:rounds])
        assert (both.calibrated.worst is not None) == has_worst


def test_chance_leaves_what_a_simulation_leaves():
    """The mean of 300 simulated errors, each with a spread of about 0.004: an error of 0.0003."""
    p = TRUTH[:1000]
    simulated = [ece(p, RANDOM.random(1000) < p) for _ in range(300)]
    assert chance_ece(p) == pytest.approx(np.mean(simulated), abs=4 * np.std(simulated) / 300**0.5)


def change_of(values):
    differences = Differences()
    differences.extend(values)
    return differences.change()


def test_differences_that_are_too_many_are_summed(monkeypatch):
    """Stretches of 1,000 rounds begin at most one sum of 64 rounds away from where they would."""
    values = np.random.default_rng(3).normal(-0.1, 1.0, 40_000)
    exact = change_of(values)
    monkeypatch.setattr(chance, "MOST_KEPT", 1000)
    differences = Differences()
    for part in np.array_split(values, 1700):
        differences.extend(part)
    summed = differences.change()
    assert len(differences._sums) <= 1000
    assert summed.mean == pytest.approx(exact.mean)
    assert summed.high - summed.low == pytest.approx(exact.high - exact.low, rel=0.2)


def sigmoid(logits):
    return 1.0 / (1.0 + np.exp(-logits))


def brier_change(before, after, outcomes):
    differences = Differences()
    change = (after - outcomes) ** 2 - (before - outcomes) ** 2
    differences.extend(change, -((after - before) ** 2))
    return differences.change()


def test_changes_of_the_log_loss_and_what_is_expected_of_them():
    before, after = np.array([0.0, 0.3, 0.9]), np.array([0.2, 0.3, 1.0])
    values, expected = log_loss_changes(before, after, np.array([0.0, 1.0, 0.5]))
    for y, change in ((np.array([0.0, 1.0, 0.5]), values), (after, expected)):
        assert change == pytest.approx(log_losses(after, y) - log_losses(before, y))


def test_a_drift_that_predictions_follow_is_not_taken_for_chance():
    """Scores are too high at first and too low at the end, and each row tells what to expect."""
    random = np.random.default_rng(4)
    logits = random.normal(-0.5, 1.2, 6000)
    truth = sigmoid(logits + np.linspace(-1.0, 1.0, 6000))
    outcomes = (random.random(6000) < truth).astype(float)
    scores = sigmoid(logits)
    after = Recalibrator().run(scores, outcomes)
    change = brier_change(scores, after, outcomes)
    assert change.high < 0.0
    without = change_of((after - outcomes) ** 2 - (scores - outcomes) ** 2)
    assert without.mean == change.mean
    assert without.high > 0.0


def test_the_interval_holds_the_expected_change_where_predictions_learn():
    """Residuals of what learns from them sum to less than chance would have it.

    Of 200 intervals at 95% about 10 miss; 25 or more would be 4.9 standard errors away. From
    stretches alone, 28 miss.
    """
    missed = 0
    for seed in range(200):
        random = np.random.default_rng([7, seed])
        logits = random.normal(-0.5, 1.2, 6000)
        truth = sigmoid(logits + (np.arange(6000) >= 3000))
        outcomes = (random.random(6000) < truth).astype(float)
        scores, recalibrator = sigmoid(logits), Recalibrator()
        after = recalibrator.run(scores, outcomes)
        change = brier_change(scores, after, outcomes)
        expected = ((after - truth) ** 2 - (scores - truth) ** 2).mean()
        missed += not change.low <= expected <= change.high
    assert missed < 25


def test_the_interval_allows_for_shocks_that_pending_rows_share():
    """Of 300 intervals at 95% about 15 miss; 34 or more would be 5 standard errors away.

    Were all rows independent, they would be far too narrow: 160 miss.
    """
    missed = 0
    shocks, weights = np.polynomial.hermite_e.hermegauss(15)
    for seed in range(300):
        random = np.random.default_rng([8, seed])
        logits = random.normal(-0.5, 1.2, 6000)
        truth = sigmoid(logits[:, None] + 0.7 * shocks) @ (weights / weights.sum())
        shared = np.repeat(random.standard_normal(60), 100)
        outcomes = (random.random(6000) < sigmoid(logits + 0.7 * shared)).astype(float)
        before = sigmoid(logits + 0.5)
        change = brier_change(before, truth, outcomes)
        missed += not change.low <= -((truth - before) ** 2).mean() <= change.high
    assert missed < 34


def test_a_change_has_an_interval_that_covers():
    """Of 200 intervals at 95% about 10 miss; 25 or more would be 4.9 standard errors away."""
    missed = 0
    for seed in range(200):
        noise = np.random.default_rng(seed).normal(0.01, 1.0, 2000)
        # Neighbours are alike: each value comes five times.
        change = change_of(np.repeat(noise[:400], 5))
        missed += not change.low <= 0.01 <= change.high
    assert missed < 25
    assert math.isnan(change_of(np.ones(100)).low)


def test_groups_are_measured_by_themselves():
    groups = np.where(np.arange(ROUNDS) % 3 == 0, "few", "many").tolist()
    both = BeforeAfter.from_predictions(TOO_HIGH, TRUTH, OUTCOMES, groups=groups)
    assert [part.group for part in both.groups] == ["many", "few"]
    few = np.array(groups) == "few"
    assert both.groups[1].rounds == few.sum()
    assert both.groups[1].raw.brier == pytest.approx(brier(TOO_HIGH[few], OUTCOMES[few]))
    assert both.groups[1].calibrated.ece == pytest.approx(ece(TRUTH[few], OUTCOMES[few]))
    head, rows = group_rows(both, 40)
    assert head == ["group", "rounds", "Brier raw", "Brier calibrated", "ECE raw", "ECE calibrated"]
    assert rows[0][:2] == ["many", f"{(~few).sum():,}"]
    assert group_rows(both, 1)[1] == rows[:1]


def sentences(raw, calibrated, outcomes=OUTCOMES, **arguments):
    return BeforeAfter.from_predictions(raw, calibrated, outcomes).findings(**arguments)


def test_sentences_say_better_worse_or_neither():
    assert sentences(TOO_HIGH, TRUTH)[0].startswith("The probabilities became better: the Brier")
    assert sentences(TRUTH, TOO_HIGH)[0].startswith("The probabilities became worse: the Brier")
    assert sentences(TRUTH, TRUTH)[0].startswith("The Brier score did not change beyond chance")
    few = sentences(TRUTH[:50], TRUTH[:50], OUTCOMES[:50])
    assert few[0].startswith("Too few rounds (50)")
    margins = BeforeAfter.from_predictions(None, TRUTH, OUTCOMES)
    assert "nothing to compare with" in margins.findings()[0]
    assert {len(row) for row in measure_rows(margins)} == {3}  # a name, one value, what it is


def test_sentences_name_the_worst_window_and_what_never_came():
    points = sentences(TOO_HIGH, TRUTH, never=1, place=lambda at: f"day {at // 1000}")
    assert any("worst 1,000 rounds, from day " in point for point in points)
    assert any(point.startswith("1 outcome never arrived") for point in points)
    assert "2 outcomes never arrived" in sentences(TOO_HIGH, TRUTH, never=2)[-1]


def test_sentences_name_the_worst_group_with_rounds_enough():
    groups = ["tiny"] * 100 + ["off"] * 2000 + ["fine"] * (ROUNDS - 2100)
    calibrated = TRUTH.copy()
    calibrated[:2100] = TOO_HIGH[:2100]
    both = BeforeAfter.from_predictions(TOO_HIGH, calibrated, OUTCOMES, groups=groups)
    assert "Of the 2 groups with 500 rounds or more, off has the largest ECE" in both.findings()[-1]


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match="predictions"):
        BeforeAfter.from_predictions([1.5], [0.5], [1])
    with pytest.raises(ValueError, match="groups and outcomes must have the same length"):
        BeforeAfter.from_predictions([0.5], [0.5], [1], groups=["a", "b"])
    with pytest.raises(ValueError, match="window must be"):
        BeforeAfter.from_predictions([0.5], [0.5], [1], window=0)
