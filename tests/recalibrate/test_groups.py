"""Groups: against their slow reference, run against steps, what they cost and what they gain."""

import numpy as np
import pytest

from calibrant import Recalibrator
from calibrant._kernels.scores.group_estimates import save_estimates
from calibrant._kernels.scores.score_rounds import ROUND
from calibrant.measures import cal2, log_loss
from calibrant.recalibrate import groups
from fleet.worlds import bayes, world
from naive.groups import NaiveGroupedRecalibrator
from recalibrate.cases import grouped_case, last_stages, random_case

EXPERTS = ROUND - 3
NAMES = ["a", "b", 1, "1", None]


MANY = [*range(120), *["often"] * 24, None]  # in 2,000 rounds "often" comes 330 times, others 14


def names_for(rounds, seed, names=NAMES):
    return [names[at] for at in np.random.default_rng(seed).integers(0, len(names), rounds)]


@pytest.mark.parametrize("earned", [1000, 6])
@pytest.mark.parametrize("names", [NAMES, MANY])
@pytest.mark.parametrize("number", range(3))
def test_agrees_with_its_twin(number, names, earned, monkeypatch):
    """On every other stream, outcomes arrive up to five rounds late, in an order of their own."""
    monkeypatch.setattr(groups, "EARNED", earned)
    kind, scores, outcomes = random_case(number, 500)
    # One half is a point of the first grid: which gap it is in would be a matter of rounding.
    scores[scores == (0.5 if kind == "probability" else 0.0)] += 0.02
    kernel, twin = Recalibrator(kind, seed=number), NaiveGroupedRecalibrator(kind, number, earned)
    by = names_for(500, number, names)
    delays = np.random.default_rng(number).integers(0, 6, 500) * (number % 2)
    for t in range(500):
        expected = twin.predict(scores[t], t, by[t])
        assert kernel.predict(scores[t], id=t, by=by[t]) == pytest.approx(expected, rel=0, abs=1e-9)
        for late in range(max(t - 5, 0), t + 1):
            if late + delays[late] == t:
                kernel.update(outcomes[late], id=late)
                twin.update(outcomes[late], late)
    np.testing.assert_allclose(
        kernel._whole._get_state()["w"], twin.whole.weights, rtol=0, atol=1e-9
    )
    shared = kernel._groups.shared._get_state()["w"]
    np.testing.assert_allclose(shared, twin.shared.weights, rtol=0, atol=1e-9)
    for at, name in enumerate(kernel.groups):
        slow, own = twin.groups[name], kernel._groups.own.get(at)
        assert kernel._groups.estimates.known(at)[:2] == (by.count(name), slow.key.outcomes)
        assert (own is None) == (slow.stages is None)
        if own is not None:
            assert own.pair.weight == pytest.approx(slow.stages.weights[0], abs=1e-9)
            for fast, twins in ((own.own, slow.stages.own), (own.last, slow.stages.last)):
                np.testing.assert_allclose(fast._get_state()["w"], twins.weights, atol=1e-9)


@pytest.mark.parametrize("names", [NAMES, MANY])
@pytest.mark.parametrize("number", range(6))
def test_run_is_bit_for_bit_the_steps(number, names):
    kind, scores, outcomes = random_case(number, 2000)
    by = names_for(2000, number, names)
    running, stepping = Recalibrator(kind, seed=3), Recalibrator(kind, seed=3)
    steps = []
    for score, outcome, name in zip(scores, outcomes, by, strict=True):
        steps.append(stepping.predict(score, by=name))
        stepping.update(outcome)
    pieces = [slice(0, 777), slice(777, 778), slice(778, None)]
    runs = [running.run(scores[part], outcomes[part], by=by[part]) for part in pieces]
    assert np.concatenate(runs).tolist() == steps
    assert running.to_bytes() == stepping.to_bytes()
    made = {name: by.count(name) for name in dict.fromkeys(by) if name is not None}
    assert running.groups == made
    assert 0 < len(running._groups.own) < len(names)  # some have earned stages, some have not


def test_without_groups_nothing_changes():
    _, scores, outcomes = random_case(0, 800)
    plain, grouped = Recalibrator(seed=1), Recalibrator(seed=1)
    expected = plain.run(scores, outcomes)
    assert grouped.run(scores, outcomes, by=[None] * 800).tolist() == expected.tolist()
    assert grouped.to_bytes() == plain.to_bytes()


def test_saved_before_there_were_groups():
    _, scores, outcomes = random_case(0, 60)
    saved = Recalibrator.from_bytes(Recalibrator(seed=1).to_bytes())
    expected = Recalibrator(seed=1).run(scores, outcomes, by=[0, 1, 2] * 20)
    assert saved.run(scores, outcomes, by=[0, 1, 2] * 20).tolist() == expected.tolist()


def test_the_whole_learns_from_groups_but_its_grid_does_not():
    _, scores, outcomes = random_case(0, 800)
    plain, grouped = Recalibrator(seed=1), Recalibrator(seed=1)
    plain.run(scores, outcomes)
    grouped.run(scores, outcomes, by=["a"] * 800)
    before, after = plain._whole._get_state(), grouped._whole._get_state()
    assert after["w"].tolist() == before["w"].tolist()
    assert after["n"].sum() == 0
    counts = [stage._get_state()["n"].sum() for stage in last_stages(grouped._groups)]
    assert counts == [1, 799]  # the second round of the only group is one of its own


@pytest.mark.parametrize(("number", "by"), [(1, names_for(400, 1)), (2, [None] * 400)])
def test_looking_changes_nothing(number, by):
    kind, scores, outcomes = random_case(number, 400)
    looking, blind = Recalibrator(kind, seed=2), Recalibrator(kind, seed=2)
    for score, outcome, name in zip(scores, outcomes, by, strict=True):
        before = looking.to_bytes()
        points, weights = looking.distribution(score, by=name)
        mean = looking.expected(score, by=name)
        looking.expected(score, by="never seen")
        assert looking.to_bytes() == before
        assert mean == pytest.approx(points @ weights, abs=1e-12)
        assert weights.sum() == pytest.approx(1)
        prediction = looking.predict(score, by=name)
        looking.expected(scores[0])  # between a prediction and its outcome, another score
        assert prediction in points
        assert blind.predict(score, by=name) == prediction
        looking.update(outcome)
        blind.update(outcome)
    assert looking.to_bytes() == blind.to_bytes()


@pytest.mark.parametrize(
    ("by", "message"),
    [
        (["a"], "by and scores must have the same length, got 1 and 2"),
        ("ab", "by must be a sequence of names"),
        (7, "by must be a sequence of names"),
        ({"a", "b"}, "by must be a sequence of names"),  # which has no order
        ({"a": 0, "b": 1}, "by must be a sequence of names"),
        (["a", 1.5], r"by must be a string or an integer, got 1.5 \(float\) at position 1"),
        (["a", True], r"by must be .* at position 1"),
        (["a", float("nan")], r"by must be .* at position 1"),
        (["a", "c"], "by='c' would be one group more than max_groups=2 allows"),
    ],
)
def test_bad_groups(by, message):
    recalibrator = Recalibrator(max_groups=2)
    recalibrator.run([0.1, 0.2], [0, 1], by=["a", "b"])
    recalibrator.predict(0.3, by="b")
    before = recalibrator.to_bytes()
    with pytest.raises(ValueError, match=message):
        recalibrator.run([0.5, 0.6], [0, 1], by=by)
    assert recalibrator.to_bytes() == before


def test_the_bound_on_groups():
    recalibrator = Recalibrator(max_groups=2)
    for name in ("a", "b", "a"):
        recalibrator.predict(0.5, by=name)
        assert (recalibrator.pending, recalibrator.is_open) == (1, True)
    recalibrator.run([0.5], [1])
    assert not recalibrator.is_open
    for ask in (recalibrator.predict, recalibrator.expected, recalibrator.distribution):
        with pytest.raises(ValueError, match=r"by=3 would be .*max_groups=2"):
            ask(0.5, by=3)
        for name in (1.5, True):
            with pytest.raises(ValueError, match="by must be"):
                ask(0.5, by=name)
    with pytest.raises(ValueError, match="max_groups=0"):
        Recalibrator(max_groups=0).predict(0.5, by="a")


def test_names_as_people_have_them():
    _, scores, outcomes = random_case(0, 300)
    codes = np.arange(300) % 3
    expected = Recalibrator().run(scores, outcomes, by=codes.tolist())
    for same in (codes, codes.astype(np.int8), tuple(codes)):
        assert Recalibrator().run(scores, outcomes, by=same).tolist() == expected.tolist()
    estimates = np.array(["x", "y", "z"])
    for same in (estimates[codes], estimates[codes].astype(object), list(estimates[codes])):
        assert Recalibrator().run(scores, outcomes, by=same).tolist() == expected.tolist()
    recalibrator = Recalibrator()
    recalibrator.run(scores, outcomes, by=estimates[codes])
    assert recalibrator.groups == {"x": 100, "y": 100, "z": 100}
    assert Recalibrator().run([], [], by=[]).tolist() == []


def losses(name, groups, size, seed):
    """Return the log loss of predictions by group, and of those of one recalibrator for all."""
    scores, outcomes, by, _ = grouped_case(name, groups, size, seed)
    grouped = Recalibrator(seed=seed).run(scores, outcomes, by=by)
    together = Recalibrator(seed=seed).run(scores, outcomes)
    return log_loss(grouped, outcomes), log_loss(together, outcomes)


@pytest.mark.parametrize("name", ["shared", "opposite"])
def test_what_is_proved_of_a_groups_means(name):
    """The loss of the last mean is little above the estimate's, not far above the group's own."""
    scores, outcomes, by, _ = grouped_case(name, 3, 700, seed=1)
    recalibrator = Recalibrator(seed=1)
    # Of the whole, the estimate, the own mixture, the last one.
    means = np.full((len(scores), 4), 0.5)
    # Of the estimate; its weight there at first.
    buckets, first = np.empty(len(scores), dtype=int), {}
    for t, (score, outcome, group) in enumerate(zip(scores, outcomes, by.tolist(), strict=True)):
        recalibrator.predict(score, by=group)
        opened = recalibrator._book.unnamed
        whole, *own = [begun.mean for begun in opened.rounds]
        means[t] = [whole, opened.estimate.mean, own[0], own[-1]]
        buckets[t] = save_estimates([opened.estimate])["views"]["bucket"][0]
        first.setdefault(buckets[t], recalibrator._groups.estimates.weights(opened.group)[0])
        recalibrator.update(outcome)
    losses = -np.log(np.where(outcomes[:, None] == 1, means, 1 - means))
    for bucket, weight in first.items():
        rows = buckets == bucket
        whole, estimate, *_ = losses[rows].sum(axis=0)
        assert estimate <= whole - np.log(weight) + 1e-4 * rows.sum()  # in single precision
    for group in range(3):
        rows = np.flatnonzero(by == group)[1:]  # the second round of one in three is its own
        _, estimate, own, last = losses[rows].sum(axis=0)
        sharing = -2 * 700 * np.log(1 - 1e-4)
        assert last <= estimate - 2 * np.log(0.9) + sharing
        assert last <= own - np.log(0.1) - np.log(0.9) + sharing


# As above, of the means: at most 2 log(1 / 0.9) = 0.21 nats a group and 0.0002 a round above one
# recalibrator for all. Rounding costs some more while a grid is coarse: where gaps are w in the
# angle theta, theta^2 / 2 to first order, so w^2 / 24 a round on average, 0.0016 for w = 0.2. The
# rest of a nat is for wider gaps in the first rounds.
@pytest.mark.parametrize(
    ("groups", "size"), [(2, 20), (20, 20), (200, 20), (20, 500), (2, 10_000), (1, 20_000)]
)
def test_groups_that_are_alike_lose_little(groups, size):
    differences = [np.subtract(*losses("shared", groups, size, seed)) for seed in range(3)]
    assert np.mean(differences) * size <= 1 + 0.0018 * size


# The gain that the true means leave to have is computed; groups take most of it.
@pytest.mark.parametrize(
    ("name", "groups", "size", "part"),
    [("one differs", 4, 2000, 0.8), ("shifted", 10, 2000, 0.6), ("opposite", 6, 1000, 0.8)],
)
def test_groups_that_differ_gain(name, groups, size, part):
    _, outcomes, _, means = grouped_case(name, groups, size, seed=0)
    grouped, together = losses(name, groups, size, seed=0)
    best = log_loss(means, outcomes)
    assert together - grouped >= part * (together - best)


def test_each_group_is_calibrated():
    """Also together: Cal2 of the whole is at most the sum of the groups'."""
    scores, outcomes, by, _ = grouped_case("opposite", 4, 5000, seed=1)
    predictions = Recalibrator(seed=1).run(scores, outcomes, by=by)
    parts = [cal2(predictions[by == each], outcomes[by == each]) for each in range(4)]
    assert max(parts) <= 45
    assert cal2(predictions, outcomes) <= sum(parts)
    assert max(cal2(scores[by == each], outcomes[by == each]) for each in range(4)) > 500


def test_a_group_that_no_one_saw_starts_from_the_whole():
    scores, outcomes, by, _ = grouped_case("shared", 5, 2000, seed=2)
    recalibrator = Recalibrator(seed=2)
    recalibrator.run(scores, outcomes, by=by)
    for score in (0.1, 0.5, 0.9):
        mean = recalibrator._whole._look(score)[1]
        # It has no outcomes, so its estimate is that of the whole but for the scaling. The five
        # others had stages of their own after one round: the shared one and its grid are coarse.
        assert abs(recalibrator.smooth(score, by="new") - mean) <= 0.05
        assert abs(recalibrator.expected(score, by="new") - mean) <= 0.1


def test_small_groups_learn_from_one_another_how_far_to_trust_their_outcomes():
    """300 of 30 outcomes: a fleet is 0.002 above Bayes who knows how far groups differ."""
    keys, scores, outcomes, _ = world("offsets of sd 1", 300, 30, seed=0)
    best = log_loss(bayes(keys, scores, outcomes, 1.0), outcomes)
    grouped = Recalibrator("logit").run(scores, outcomes, by=keys)
    together = Recalibrator("logit").run(scores, outcomes)
    assert log_loss(grouped, outcomes) <= best + 0.004
    assert log_loss(together, outcomes) >= best + 0.03


def test_many_small_groups_take_little_memory():
    recalibrator = Recalibrator()
    recalibrator.run(np.full(100_000, 0.5), np.zeros(100_000), by=np.arange(100_000))
    assert len(recalibrator.groups) == 100_000
    assert recalibrator._groups.estimates.nbytes <= 130 * 100_000
    assert not recalibrator._groups.own
