"""Recalibrator(monitor=...): what its monitors see, beside two monitors fed by hand."""

import copy
import pickle
import random

import numpy as np
import pytest

from calibrant import Monitor, MulticlassRecalibrator, NumberRecalibrator, Recalibrator
from calibrant.monitor import gain_evidence
from calibrant.monitor.side_by_side import SideBySide

SETTINGS = {"every": 2_000, "tolerance": 0.01}  # an alarm is near enough to happen


class ByHand:
    """The slow reference: expected predictions are asked for first, and two monitors get them."""

    def __init__(self, is_late=False, **arguments):
        self.recalibrator, self.is_late = Recalibrator(**arguments), is_late
        self.raw, self.calibrated = Monitor(**SETTINGS), Monitor(**SETTINGS)
        self.told, self.seen = {}, []

    def predict(self, raw, score, key, by=None):
        self.told[key] = raw, self.recalibrator.expected(score, by=by), by
        if self.is_late:
            self.raw.expect(key, raw, by)
            self.calibrated.expect(key, self.told[key][1], by)

    def learn(self, key, outcome):
        raw, expected, by = self.told.pop(key)
        if self.is_late:
            self.raw.settle(key, outcome)
            self.calibrated.settle(key, outcome)
        else:
            self.raw.update(raw, outcome, by)
            self.calibrated.update(expected, outcome, by)
        self.seen.append((raw, expected, outcome))

    def check(self, both):
        assert both.raw.to_bytes() == with_groups(self.raw, both)
        assert both.calibrated.to_bytes() == with_groups(self.calibrated, both)
        assert both.raw.rounds - both.raw.pending == len(self.seen)
        evidence = gain_evidence(*np.array(self.seen).T)[-1]
        assert both.gain_evidence == pytest.approx(evidence, abs=1e-9)


def with_groups(monitor, both):
    """The bytes of a monitor, as one with the groups that the recalibrator allows."""
    same = Monitor(**SETTINGS, max_groups=both.raw.max_groups, patience=both.raw.patience)
    same._load(*monitor._save())
    same._ids = {}  # the recalibrator keeps them
    return same.to_bytes()


def world(seed, n=1_500):
    """Scores that are off in the middle third, in two groups and none."""
    random = np.random.default_rng(seed)
    scores = random.beta(2, 4, n)
    off = 0.5 * ((np.arange(n) > n / 3) & (np.arange(n) < 2 * n / 3))
    outcomes = (random.random(n) < scores + off).astype(float)
    return scores, outcomes, random.choice(np.array(["a", "b", None]), n).tolist()


@pytest.mark.parametrize("kind", ["probability", "logit", "margin"])
@pytest.mark.parametrize("grouped", [False, True])
def test_steps_and_run_are_what_two_monitors_see(kind, grouped):
    scores, outcomes, names = world(1)
    given = scores if kind == "probability" else np.log(scores / (1 - scores))
    by = names if grouped else [None] * len(scores)
    hand, stepped = ByHand(kind=kind, seed=3), Recalibrator(kind, seed=3, monitor=SETTINGS)
    size = 0.0
    for t, (score, y, name) in enumerate(zip(given.tolist(), outcomes.tolist(), by, strict=True)):
        size += (abs(score) - size) / (t + 1)
        logit = score / size if kind == "margin" else score
        raw = score if kind == "probability" else 1 / (1 + np.exp(-logit))
        hand.predict(raw, score, t, name)
        assert hand.recalibrator.predict(score, by=name) == stepped.predict(score, by=name)
        hand.recalibrator.update(y)
        stepped.update(y)
        hand.learn(t, y)
    ran = Recalibrator(kind, seed=3, monitor=SETTINGS)
    half = len(scores) // 2
    for part in (slice(half), slice(half, None)):
        ran.run(given[part], outcomes[part], by=by[part] if grouped else None)
    assert ran.to_bytes() == stepped.to_bytes()
    if kind == "probability":
        hand.check(ran.monitors)
    else:  # exp of the kernel and of NumPy may differ in the last bit
        assert ran.monitors.raw.episodes == hand.raw.episodes
        assert ran.monitors.raw.evidence == pytest.approx(hand.raw.evidence, abs=1e-3)
    assert ran.monitors.raw.episodes


def test_tiny_scores_are_watched_as_they_came():
    """The experts take a score of 0.001 for 0.01 while they know little; the monitor does not."""
    recalibrator = Recalibrator(monitor={"tolerance": 0.0})
    recalibrator.predict(0.001)
    recalibrator.update(0)
    assert recalibrator.monitors.raw.curve().mean_prediction == pytest.approx([0.001])
    recalibrator.run([0.002], [0])
    assert recalibrator.monitors.raw.curve().mean_prediction == pytest.approx([0.0015])


def test_unknown_outcomes_are_not_seen():
    recalibrator = Recalibrator(monitor=True)
    recalibrator.run([0.5, 0.4, 0.3], [1, None, 0], by=["a", "b", None])
    assert recalibrator.monitors.raw.rounds == recalibrator.monitors.calibrated.rounds == 2


@pytest.mark.parametrize("batches", [False, True])
def test_late_outcomes_meet_what_was_expected_at_their_prediction(batches):
    scores, outcomes, names = world(2, 600)
    random = np.random.default_rng(5)
    hand, watched = ByHand(is_late=True, seed=4), Recalibrator(seed=4, monitor=SETTINGS)
    late: list[int] = []
    for t, (score, by) in enumerate(zip(scores.tolist(), names, strict=True)):
        hand.predict(score, score, t, by)
        hand.recalibrator.predict(score, id=t, by=by)
        watched.predict(score, id=t, by=by)
        late.append(t)
        if t % 40 == 39:
            came = random.permutation(late)[:30].tolist()
            late = [each for each in late if each not in came]
            if batches:
                came.sort()  # each is a batch of its own, and what was predicted first comes first
                for each in (hand.recalibrator, watched):
                    each.update_many(outcomes[came], ids=came)
            for each in came:
                if not batches:
                    hand.recalibrator.update(outcomes[each], id=each)
                    watched.update(outcomes[each], id=each)
                hand.learn(each, outcomes[each])
        if t == 320:
            watched = Recalibrator.from_bytes(watched.to_bytes())
    hand.check(watched.monitors)
    assert watched.pending == len(late) == 600 - 15 * 30


def test_with_silence_monitors_see_what_matured():
    scores, outcomes, _ = world(3, 400)
    hand = ByHand(is_late=True, silence=0, after=50)
    watched = Recalibrator(silence=0, after=50, monitor=SETTINGS)
    for t, score in enumerate(scores.tolist()):
        hand.predict(score, score, t)
        for each in (hand.recalibrator, watched):
            each.predict(score, id=t)
            if t % 2 and outcomes[t - 1]:
                each.update(1, id=t - 1)
        if t >= 49:
            hand.learn(t - 49, outcomes[t - 49] if t % 2 else 0.0)
    assert (watched.monitors.raw.rounds, watched.monitors.raw.pending) == (400, 49)
    hand.check(watched.monitors)


@pytest.mark.parametrize("again", [
    lambda each: Recalibrator.from_bytes(each.to_bytes()), copy.copy, copy.deepcopy,
    lambda each: pickle.loads(pickle.dumps(each)),
])  # fmt: skip
def test_a_copy_goes_on_alike(again):
    scores, outcomes, names = world(6, 300)
    first = Recalibrator(monitor=SETTINGS)
    first.run(scores, outcomes, by=names)
    first.predict(0.0004, id="x", by="a")
    first.predict(0.001)
    second = again(first)
    assert second.monitor == SETTINGS
    for each in (first, second):
        each.update(1, id="x")
        each.update(0)
    assert first.to_bytes() == second.to_bytes()
    first.run(scores, outcomes)
    assert second.monitors.raw.rounds == 302


def test_it_changes_no_prediction_and_is_nothing_when_off():
    scores, outcomes, names = world(7, 300)
    off, on = Recalibrator(), Recalibrator(monitor=True)
    assert (off.run(scores, outcomes, by=names) == on.run(scores, outcomes, by=names)).all()
    assert off.monitors is None
    assert b"watch_" not in off.to_bytes()


@pytest.mark.parametrize("by", [None, ["a", "b", "new"] * 100])
@pytest.mark.parametrize("what", ["raw", "calibrated"])
def test_a_run_that_is_interrupted_among_the_monitors_never_happened(monkeypatch, by, what):
    scores, outcomes, _ = world(8, 300)
    recalibrator = Recalibrator(monitor=SETTINGS)
    recalibrator.run(scores[:100], outcomes[:100], by=None if by is None else ["a", "b"] * 50)
    before = recalibrator.to_bytes()

    def interrupted_in(method):
        play = getattr(Monitor, method)

        def interrupted(monitor, *given):
            play(monitor, *given)
            if monitor is getattr(recalibrator.monitors, what):
                raise KeyboardInterrupt

        monkeypatch.setattr(Monitor, method, interrupted)

    interrupted_in("run")
    with pytest.raises(KeyboardInterrupt):
        recalibrator.run(scores, outcomes, by=by)
    assert recalibrator.to_bytes() == before
    recalibrator.predict_many([0.2, 0.3], ids=["x", "y"])
    before = recalibrator.to_bytes()
    interrupted_in("play_steps")
    with pytest.raises(KeyboardInterrupt):
        recalibrator.update_many([0, 1], ids=["x", "y"])
    assert recalibrator.to_bytes() == before


def test_refused_outcomes_are_not_seen():
    recalibrator = Recalibrator(monitor=True)
    recalibrator.predict(0.5, id="a")
    for outcome, name, words in (
        (2, "a", "in .0, 1"),
        (1, "b", "unknown"),
        (1, None, "none is pending"),
    ):
        with pytest.raises(ValueError, match=words):
            recalibrator.update(outcome, id=name)
    recalibrator.update(1, id="a")
    recalibrator.update(1, id="a")  # a repetition
    assert recalibrator.monitors.raw.rounds == 1


def test_what_is_asked_for():
    like = Recalibrator(monitor=Monitor(5_000, tolerance=0.1, block=7), max_groups=12)
    assert like.monitor == {"every": 5_000, "tolerance": 0.1, "alpha": None, "block": 7}
    assert (like.monitors.raw.every, like.monitors.calibrated.block) == (5_000, 7)
    assert like.monitors.raw.max_groups == 12
    assert Recalibrator(monitor=None).monitors is None
    assert repr(like.monitors).startswith("<0 rounds: raw scores calibrated")


@pytest.mark.parametrize("options", [{}, {"silence": 0, "after": 20}, {"hold": 5}], ids=str)
def test_single_steps_are_watched_as_arrays_of_one(options, monkeypatch):
    def played():
        recalibrator = Recalibrator(monitor={"every": 200}, seed=3, **options)
        draw, waiting = random.Random(1), []
        for row in range(800):
            score = draw.random()
            recalibrator.predict(score, id=row, by=draw.choice([None, "a", "b"]))
            waiting.append((row, score))
            while waiting and draw.random() < 0.6:
                at, score = waiting.pop(draw.randrange(len(waiting)))
                outcome = int(draw.random() < score * (0.4 if row > 300 else 1.0))
                recalibrator.update_many([outcome], ids=[at])
        return recalibrator

    by_numbers = played()
    assert by_numbers.monitors.raw.episodes
    monkeypatch.delattr(SideBySide, "watch_one")
    assert played().to_bytes() == by_numbers.to_bytes()


def numbers():
    return NumberRecalibrator(monitor=True)


@pytest.mark.parametrize(
    ("make", "row"),
    [
        (lambda: Recalibrator(monitor=True), 0.3),
        (lambda: MulticlassRecalibrator(3, monitor=True), [0.2, 0.3, 0.5]),
        (numbers, 0.3),
    ],
)
def test_a_round_without_an_id_that_later_ones_overtook_is_not_watched(make, row):
    """Monitors bet on rounds in their order: the later ones wait there already."""
    player = make()
    player.predict(row)
    player.predict_many([row, row], ids=["a", "b"])
    player.update(1)
    assert player.learned == 1
    again = type(player).from_bytes(player.to_bytes())
    for each in (player, again):
        each.update_many([1, 0], ids=["a", "b"])
        each.predict(row)
        each.update(1)
        both = each.monitors
        every = both.monitors.values() if make == numbers else (both.raw, both.calibrated)
        assert {(monitor.rounds, monitor.pending) for monitor in every} == {(3, 0)}
    assert again.to_bytes() == player.to_bytes()
