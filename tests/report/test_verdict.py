"""The verdict: right on synthetic streams of each kind, and seldom wrong by chance."""

import math

import numpy as np
import pytest

from calibrant import Recalibrator
from calibrant.measures.chance import Differences, chance_ece, chance_mean, student
from calibrant.monitor.monitor import Arrivals
from calibrant.report import BeforeAfter, Change, recalibration, verdict
from calibrant.report.style import show_share
from calibrant.report.verdict import Cause, Evidence, Loss
from report.made_streams import STREAMS, report_of


@pytest.mark.parametrize(("name", "word"), STREAMS.items())
def test_it_is_right_on_each_kind_of_stream(name, word):
    report = report_of(name)
    assert report.verdict.word == word
    assert report.findings[: len(report.verdict.sentences)] == report.verdict.sentences


def test_it_names_the_likely_cause():
    told = {name: report_of(name).verdict.cause for name in STREAMS}
    assert told["wrong"].startswith("The scores were 0.6")
    assert told["rare"].startswith("The scores were 0.0")
    assert told["right"].startswith("The scores were already calibrated")
    assert told["late"].startswith(
        "Outcomes of 1 become known earlier than outcomes of 0 (after 2min"
    )
    assert "and 1.74d in the median" in told["late"]
    assert 'hold="1.8d" (--hold 1.8d) to learn every outcome at the same age' in told["late"]
    assert told["tiny"].startswith("There are only 30 outcomes")


def test_a_loss_many_times_larger_is_said_to_be():
    report = report_of("late")
    both = report.measures
    times = both.calibrated.brier / both.raw.brier
    assert times > 4.0
    assert f"{times:.1f} times what it was" in report.verdict.size
    assert '<section class="verdict worse"' in report.html()
    assert "Worse</p>" in report.html()


def test_scores_that_are_right_are_seldom_called_worse():
    """The level allows 1 in 40; 200 streams then give 5 on average, 12 with probability 0.005."""
    words = []
    for seed in range(200):
        random = np.random.default_rng(seed)
        truth = random.random(600) if seed % 2 else random.beta(1, 6, 600)
        outcomes = (random.random(600) < truth).astype(float)
        calibrated = Recalibrator(seed=seed).run(truth, outcomes)
        words.append(BeforeAfter.from_predictions(truth, calibrated, outcomes).verdict.word)
    assert words.count("worse") <= 11
    assert words.count("better") <= 11


def test_two_that_are_as_good_are_seldom_told_apart():
    """Both err by as much on either side, alike for 20 rounds: neither is better.

    The level allows 1 in 20 for both words together: 10 of 200, 20 with probability 0.002.
    """
    told = 0
    for seed in range(200):
        random = np.random.default_rng(1000 + seed)
        truth = np.repeat(random.uniform(0.3, 0.7, 100), 20)
        slip = np.repeat(random.choice([-0.1, 0.1], 100), 20)
        outcomes = (random.random(2000) < truth).astype(float)
        both = BeforeAfter.from_predictions(truth + slip, truth - slip, outcomes)
        told += both.verdict.word in ("better", "worse")
    assert told <= 19


def test_a_rise_below_the_tolerance_is_no_worse_and_is_told():
    loss = Loss("Brier score", 0.2, 0.2008, Change(0.0008, 0.0002, 0.0014))
    assert loss.move == "same"
    assert "beyond chance, but not clearly by more than the 1%" in loss.unmoved
    assert Loss("Brier score", 0.2, 0.21, Change(0.01, 0.0021, 0.02)).move == "worse"


def test_losses_that_contradict_each_other_cannot_tell():
    """The Brier score gains at most rounds; the log loss pays for a few that were certain."""
    outcomes = np.tile([1.0, 0.0], 1000)
    after = np.where(outcomes == 1.0, 0.9, 0.1)
    after[::20] = 1e-12
    verdict = BeforeAfter.from_predictions(np.full(2000, 0.5), after, outcomes).verdict
    assert verdict.word == "cannot tell"
    assert verdict.size.startswith("The two losses contradict each other: the Brier score fell")


def test_few_events_cannot_tell():
    outcomes = np.zeros(5000)
    outcomes[:9] = 1.0
    few = BeforeAfter.from_predictions(np.full(5000, 0.01), np.full(5000, 0.4), outcomes).verdict
    assert few.word == "cannot tell"
    assert few.size.startswith("Too few outcomes of 1 (9 in 5,000 rounds)")
    assert "times what it was" in few.size


def test_certain_misses_leave_a_finite_verdict():
    outcomes = np.tile([1.0, 0.0, 0.0, 1.0], 500)
    certain = np.zeros(2000)
    both = BeforeAfter.from_predictions(certain, np.full(2000, 0.5), outcomes)
    assert both.verdict.word == "better"
    assert math.isfinite(both.changes[1].mean)
    assert "the log loss fell from infinite to 0.6931" in both.verdict.size


def test_delays_that_depend_on_the_outcome_turn_the_verdict():
    """Scores that say too much become better, though late news is one-sided."""
    random = np.random.default_rng(0)
    truth, at = random.random(5000), np.arange(5000.0)
    outcomes = (random.random(5000) < truth).astype(float)
    known, fair = at + np.where(outcomes == 1.0, 5, 15), at + random.integers(5, 15, 5000)
    scores, calibrated = np.sqrt(truth), truth
    told = recalibration(scores, calibrated, outcomes, times=at, available=known).verdict
    assert (told.word, told.is_turned) == ("doubtful", True)
    assert told.sentences[0].startswith(
        "Outcomes of 1 become known earlier than outcomes of 0 (after 5"
    )
    assert "hold=15 (--hold 15" in told.sentences[0]
    assert told.sentences[1].startswith("Taken at face value, the probabilities became better")
    assert recalibration(scores, calibrated, outcomes, times=at, available=fair).verdict.word == (
        "better"
    )


def test_a_diagnosis_can_turn_the_verdict(monkeypatch):
    """The one place where a cause enters."""
    seen = []

    def biased(evidence, word):
        seen.append((word, evidence.waits))
        return Cause("What has arrived is not like what happened.", "cannot tell")

    monkeypatch.setattr(verdict, "CAUSES", (biased, *verdict.CAUSES))
    report = report_of.__wrapped__("late")
    assert seen[0][0] == "worse"
    assert np.median(seen[0][1]) == 2500
    assert report.verdict.word == "cannot tell"
    assert report.verdict.is_turned
    assert report.findings[0] == "What has arrived is not like what happened."
    assert '<section class="verdict unknown"' in report.html()


def evidence_of(said, happened, waits=None):
    both = BeforeAfter.from_predictions(said, np.full(len(said), 0.5), happened, window=100)
    return Evidence(both, waits)


@pytest.mark.parametrize(("wait", "is_named"), [(9.0, False), (10.0, True)])
def test_outcomes_are_late_from_ten_rounds_on(wait, is_named):
    evidence = evidence_of(np.full(400, 0.9), np.arange(400) % 2.0, np.full(400, wait))
    assert (verdict.outcomes_late(evidence, "no different") is not None) == is_named


@pytest.mark.parametrize(("stretches", "is_named"), [(2, False), (3, True)])
def test_by_turns_is_more_than_a_tenth_of_the_stretches_either_way(stretches, is_named):
    said = np.repeat([0.9] * stretches + [0.1] * stretches + [0.5] * (20 - 2 * stretches), 100)
    cause = verdict.wrong_by_turns(evidence_of(said, np.arange(2000) % 2.0), "better")
    assert (cause is not None) == is_named


def test_waits_count_the_rounds_in_between():
    """Each row looks at which outcomes had arrived before it, as a recalibrator does."""
    random = np.random.default_rng(4)
    made = np.sort(random.integers(0, 31, 40)).astype(float)
    known = made + random.choice([0.0, 1.0, 5.0, 60.0, math.nan], 40)
    waits = Arrivals.at(made, known).waits
    for row in range(40):
        learned = [at for at in range(40) if known[row] < made[at]]
        assert waits[row] == (learned[0] - row - 1 if learned else math.inf)


def test_chance_leaves_what_simulations_leave():
    """Of 400 simulated errors 20 lie above the limit of 95%; 36 are 3.7 standard errors more."""
    random = np.random.default_rng(5)
    p = random.random(1000)
    draws = random.random((400, 1000)) < p
    limit, room = chance_ece(p, at_most=True), chance_mean(p)
    which = (p * 20).astype(int)
    errors = np.array(
        [np.abs(np.bincount(which, draw - p, minlength=20)).sum() / 1000 for draw in draws]
    )
    assert 6 <= (errors > limit).sum() <= 36
    assert 6 <= (np.abs(draws.mean(axis=1) - p.mean()) > room).sum() <= 36


@pytest.mark.parametrize(
    ("level", "freedom", "expected"),
    # From tables of Student's t.
    [(0.95, 19, 2.0930), (0.95, 49, 2.0096), (0.975, 19, 2.4334), (0.99, 29, 2.7564)],
)
def test_points_of_student(level, freedom, expected):
    assert student(level, freedom) == pytest.approx(expected, abs=2e-3)


def test_both_intervals_together_have_the_level():
    """Each is that of 97.5%."""
    random = np.random.default_rng(6)
    truth = random.random(900)
    outcomes = (random.random(900) < truth).astype(float)
    both = BeforeAfter.from_predictions(np.sqrt(truth), truth, outcomes)
    alone = Differences()
    before = np.sqrt(truth)
    values = (truth - outcomes) ** 2 - (before - outcomes) ** 2
    alone.extend(values, -((truth - before) ** 2))
    assert both.changes[0] == alone.change(level=0.975)


def test_small_losses_have_digits_that_count():
    assert show_share(0.000123456, 4) == "0.000123"


def test_arrivals_need_a_clock():
    with pytest.raises(ValueError, match="available needs times by the same clock"):
        recalibration([0.5], [0.5], [1], available=[3])
    with pytest.raises(ValueError, match="available and outcomes must have the same length"):
        recalibration([0.5], [0.5], [1], times=[1], available=[3, 4])
    with pytest.raises(ValueError, match="before its prediction"):
        recalibration([0.5, 0.5], [0.5, 0.5], [1, 0], times=[1, 2], available=[3, 1])
