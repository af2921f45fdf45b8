"""Groups: against their slow twin, run against steps, what they cost and what they gain."""

import pickle

import numpy as np
import pytest

from calibrant import Recalibrator
from calibrant._bytes import Saved
from calibrant._kernels.rounds import ROUND
from calibrant.measures import cal2, log_loss
from calibrant.saving import pack, unpack
from naive.groups import NaiveGroupedRecalibrator
from recalibrate.cases import grouped_case, random_case

EXPERTS = ROUND - 3
NAMES = ["a", "b", 1, "1", None]


def names_for(rounds, seed, names=NAMES):
    return [names[at] for at in np.random.default_rng(seed).integers(0, len(names), rounds)]


@pytest.mark.parametrize("number", range(15))
def test_agrees_with_its_twin(number):
    """On every other stream, outcomes come up to five rounds late, in an order of their own."""
    kind, scores, outcomes = random_case(number, 500)
    # One half is a point of the first grid: which gap it is in would be a matter of rounding.
    scores[scores == (0.5 if kind == "probability" else 0.0)] += 0.02
    kernel, twin = Recalibrator(kind, seed=number), NaiveGroupedRecalibrator(kind, seed=number)
    by = names_for(500, number)
    delays = np.random.default_rng(number).integers(0, 6, 500) * (number % 2)
    for t in range(500):
        expected = twin.predict(scores[t], t, by[t])
        assert kernel.predict(scores[t], id=t, by=by[t]) == pytest.approx(expected, rel=0, abs=1e-9)
        for late in range(max(t - 5, 0), t + 1):
            if late + delays[late] == t:
                kernel.update(outcomes[late], id=late)
                twin.update(outcomes[late], late)
    np.testing.assert_allclose(kernel._get_state()["w"], twin.whole.weights, rtol=0, atol=1e-9)
    for name, group in zip(kernel.groups, kernel._groups.members, strict=True):
        slow = twin.groups[name]
        assert group.pair.weight == pytest.approx(slow.weights[0], abs=1e-9)
        np.testing.assert_allclose(group.own._get_state()["w"], slow.own.weights, atol=1e-9)
        np.testing.assert_allclose(group.last._get_state()["w"], slow.last.weights, atol=1e-9)


@pytest.mark.parametrize("number", range(9))
def test_run_is_bit_for_bit_the_steps(number):
    kind, scores, outcomes = random_case(number, 2000)
    by = names_for(2000, number)
    running, stepping = Recalibrator(kind, seed=3), Recalibrator(kind, seed=3)
    steps = []
    for score, outcome, name in zip(scores, outcomes, by, strict=True):
        steps.append(stepping.predict(score, by=name))
        stepping.update(outcome)
    pieces = [slice(0, 777), slice(777, 778), slice(778, None)]
    runs = [running.run(scores[part], outcomes[part], by=by[part]) for part in pieces]
    assert np.concatenate(runs).tolist() == steps
    assert running.to_bytes() == stepping.to_bytes()
    assert running.groups == {name: by.count(name) for name in dict.fromkeys(by) if name}


def test_without_groups_nothing_changes():
    _, scores, outcomes = random_case(0, 800)
    plain, grouped = Recalibrator(seed=1), Recalibrator(seed=1)
    expected = plain.run(scores, outcomes)
    assert grouped.run(scores, outcomes, by=[None] * 800).tolist() == expected.tolist()
    assert grouped.to_bytes() == plain.to_bytes()


def test_the_whole_learns_from_groups_but_its_grid_does_not():
    _, scores, outcomes = random_case(0, 800)
    plain, grouped = Recalibrator(seed=1), Recalibrator(seed=1)
    plain.run(scores, outcomes)
    grouped.run(scores, outcomes, by=["a"] * 800)
    before, after = plain._get_state(), grouped._get_state()
    assert after["w"].tolist() == before["w"].tolist()
    assert after["n"].sum() == 0
    assert grouped._groups.members[0].last._get_state()["n"].sum() == 800


def test_looking_changes_nothing():
    kind, scores, outcomes = random_case(1, 400)
    by = names_for(400, 1)
    looking, blind = Recalibrator(kind, seed=2), Recalibrator(kind, seed=2)
    for score, outcome, name in zip(scores, outcomes, by, strict=True):
        before = looking.to_bytes()
        points, weights = looking.distribution(score, by=name)
        mean = looking.expected(score, by=name)
        looking.expected(score, by="never seen")
        assert looking.to_bytes() == before
        assert mean == pytest.approx(points @ weights, abs=1e-12)
        prediction = looking.predict(score, by=name)
        assert prediction in points
        assert blind.predict(score, by=name) == prediction
        looking.update(outcome)
        blind.update(outcome)
    assert looking.to_bytes() == blind.to_bytes()


def test_the_last_prediction_without_an_id_is_the_one_that_waits():
    recalibrator = Recalibrator()
    for first, second in [("a", None), (None, "a"), ("a", "b"), ("a", "a")]:
        recalibrator.predict(0.2, by=first)
        recalibrator.predict(0.7, by=second)
        assert (recalibrator.pending, recalibrator.is_open) == (1, True)
        recalibrator = pickle.loads(pickle.dumps(recalibrator))
        learned = recalibrator.learned
        recalibrator.update(1)
        assert (recalibrator.pending, recalibrator.learned) == (0, learned + 1)
        with pytest.raises(ValueError, match="none waits"):
            recalibrator.update(1)
    recalibrator.predict(0.2, by="a")
    recalibrator.run([0.5], [1])
    assert not recalibrator.is_open


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


def test_bad_input_changes_nothing():
    recalibrator = Recalibrator(max_groups=2)
    recalibrator.predict(0.3, by="a")
    recalibrator.predict(0.3, id=1, by="a")
    before = recalibrator.to_bytes()
    for arguments in [
        {"score": 1.5, "by": "b"},
        {"score": float("nan"), "by": "b", "id": 2},
        {"score": 0.5, "by": 1.5},
        {"score": 0.5, "by": True},
        {"score": 0.5, "by": "b", "id": 1},
        {"score": 0.5, "by": "b", "id": 1.5},
    ]:
        with pytest.raises(ValueError, match=r"must be|predicted already"):
            recalibrator.predict(**arguments)
        assert recalibrator.to_bytes() == before
    for scores, outcomes in [([0.5, 2], [0, 1]), ([0.5, 0.5], [0, 2]), ([0.5, 0.5], [0])]:
        with pytest.raises(ValueError, match=r"position 1|length"):
            recalibrator.run(scores, outcomes, by=["c"] * 2)
        assert recalibrator.to_bytes() == before
    for outcome in (None, 2, float("nan")):
        with pytest.raises(ValueError, match="outcome must be"):
            recalibrator.update(outcome)
        assert recalibrator.to_bytes() == before


def test_the_bound_on_groups():
    recalibrator = Recalibrator(max_groups=2)
    for name in ("a", "b", "a"):
        recalibrator.predict(0.5, by=name)
    for ask in (recalibrator.predict, recalibrator.expected, recalibrator.distribution):
        with pytest.raises(ValueError, match=r"by=3 would be .*max_groups=2"):
            ask(0.5, by=3)
    with pytest.raises(ValueError, match="max_groups must be an integer at least 0"):
        Recalibrator(max_groups=-1)
    with pytest.raises(ValueError, match="max_groups=0"):
        Recalibrator(max_groups=0).predict(0.5, by="a")


def test_names_as_people_have_them():
    _, scores, outcomes = random_case(0, 300)
    codes = np.arange(300) % 3
    expected = Recalibrator().run(scores, outcomes, by=codes.tolist())
    for same in (codes, codes.astype(np.int8), tuple(codes)):
        assert Recalibrator().run(scores, outcomes, by=same).tolist() == expected.tolist()
    words = np.array(["x", "y", "z"])
    for same in (words[codes], words[codes].astype(object), list(words[codes])):
        assert Recalibrator().run(scores, outcomes, by=same).tolist() == expected.tolist()
    recalibrator = Recalibrator()
    recalibrator.run(scores, outcomes, by=words[codes])
    assert recalibrator.groups == {"x": 100, "y": 100, "z": 100}
    assert Recalibrator().run([], [], by=[]).tolist() == []


def saved_with(**changes):
    """Return bytes with a good checksum and one part that makes no sense."""
    recalibrator = Recalibrator(max_groups=3)
    recalibrator.run([0.5, 0.2, 0.3], [0, 1, 1], by=["a", 2, None])
    recalibrator.predict(0.5, id="x", by="a")
    recalibrator.predict(0.5, by=2)
    saved = unpack(recalibrator.to_bytes())
    state = {name: value for name, value in {**saved.state, **changes}.items() if value is not ...}
    return pack(Saved(saved.name, saved.parameters, saved.rounds, state))


@pytest.mark.parametrize(
    "changes",
    [
        {"groups": ["a"]}, {"groups": ["a", "a"]}, {"groups": ["a", 1.5]}, {"groups": ...},
        {"groups": ["a", "b", "c", "d"]}, {"group_weights": np.array([0.5])},
        {"group_weights": np.array([0.5, 1.5])}, {"group_weights": ...},
        {"own_parts": []}, {"own_parts": ["w"]}, {"own_parts": 3}, {"own_w": np.zeros(2 * EXPERTS)},
        {"own_w": np.zeros(3)}, {"own_w_lengths": np.array([EXPERTS, -5])}, {"own_w": ...},
        {"own_w_lengths": np.array([EXPERTS])}, {"own_w_lengths": np.array([2 * EXPERTS, 0])},
        {"last_z": np.zeros(5)}, {"last_rounds": np.array([0, 0])}, {"last_parts": ...},
        {"waiting_keys": np.array([0, 2])}, {"waiting_keys": np.array([-1, 1])},
        {"waiting_keys": np.array([0.0, 1.0])}, {"waiting_sizes": np.array([3, 2])},
        {"waiting_sizes": np.array([3])}, {"waiting_places": np.full(6 * ROUND, 0.123)},
        {"waiting_numbers": np.array([3])}, {"waiting_numbers": np.array([3, 1, 9, 4, 1, 1])},
        {"waiting_numbers": np.array([9, 1, 1, 4, 1, 1])}, {"waiting_ids": ["x", "y", "z"]},
        {"waiting_ids": []},
        {"more": 1},
    ],
    ids=str,
)  # fmt: skip
def test_a_saved_state_that_makes_no_sense_is_refused(changes):
    assert Recalibrator.from_bytes(saved_with()).to_bytes() == saved_with()
    with pytest.raises(ValueError, match="saved"):
        Recalibrator.from_bytes(saved_with(**changes))


def losses(name, groups, size, seed):
    """Return the log loss of predictions by group, and of those of one recalibrator for all."""
    scores, outcomes, by, _ = grouped_case(name, groups, size, seed)
    grouped = Recalibrator(seed=seed).run(scores, outcomes, by=by)
    together = Recalibrator(seed=seed).run(scores, outcomes)
    return log_loss(grouped, outcomes), log_loss(together, outcomes)


@pytest.mark.parametrize("name", ["shared", "opposite"])
def test_what_is_proved_of_a_groups_means(name):
    """The loss of the last mean is little above the whole's, and not far above the group's own."""
    scores, outcomes, by, _ = grouped_case(name, 3, 700, seed=1)
    recalibrator = Recalibrator(seed=1)
    means = np.empty((len(scores), 3))  # of the whole, the group's own mixture and the last one
    for t, (score, outcome, group) in enumerate(zip(scores, outcomes, by.tolist(), strict=True)):
        recalibrator.predict(score, by=group)
        means[t] = [begun.mean for begun in recalibrator._waiting.unnamed.rounds]
        recalibrator.update(outcome)
    losses = -np.log(np.where(outcomes[:, None] == 1, means, 1 - means))
    for group in range(3):
        whole, own, last = losses[by == group].sum(axis=0)
        sharing = -2 * 700 * np.log(1 - 1e-4)
        assert last <= whole - 2 * np.log(0.9) + sharing
        assert last <= own - np.log(0.1) - np.log(0.9) + sharing


# As above, of the means: at most 2 log(1 / 0.9) = 0.21 nats a group and 0.0002 a round above one
# recalibrator for all. Rounding costs some more while a grid is coarse: where gaps are w in the
# angle theta, theta^2 / 2 to first order, so w^2 / 24 a round in the mean, 0.0016 for w = 0.2. The
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
        mean = recalibrator._look(score)[1]
        # Its pair listens to the whole with 0.9 and to the score with 0.1, then its grid rounds.
        assert abs(recalibrator.expected(score, by="new") - mean) <= 0.1 * abs(score - mean) + 0.05
