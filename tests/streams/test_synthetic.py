"""Synthetic families against brute force, and their draws against derived margins."""

from __future__ import annotations

import math
import subprocess
import sys

import numpy as np
import pytest

from calibrant.streams import FAMILIES, Stream, synthetic
from naive import streams as naive

# Each family at its defaults and away from them.
CASES = [
    ("iid", {}),
    ("iid", {"mean": 0.0}),
    ("iid", {"mean": 1}),
    ("piecewise", {}),
    ("piecewise", {"segments": 7, "random_lengths": True}),
    ("piecewise", {"levels": [0.25, 0.25, 1.0]}),
    ("piecewise", {"levels": (0.1, 0.9), "segments": 2, "random_lengths": True}),
    ("drift", {}),
    ("drift", {"level": 0.7, "amplitude": 0.3, "periods": 2.5}),
    ("drift", {"share": 0.3}),
    ("drift", {"share": 0.0}),
    ("seasonal", {"period": 17.5}),
    ("random_walk", {}),
    ("random_walk", {"spread": 100}),
    ("corrupted", {"budget": 5.3}),
    ("corrupted", {"budget": 0.7 * 3, "shape": "burst"}),
    ("corrupted", {"budget": 0.0}),
    ("corrupted", {"budget": 3.3, "mean": 0.9, "target": 0.2}),
    ("alternating", {}),
    ("alternating", {"low": 0.4, "high": 0.2, "every": 7}),
    ("markov", {}),
    ("markov", {"order": 8}),
    ("hidden_markov", {}),
    ("hidden_markov", {"low": 0.0, "high": 1.0, "stay_low": 1.0, "stay_high": 0.5}),
    ("cycle", {}),
    ("cycle", {"period": 1}),
    ("runs", {}),
    ("runs", {"shortest": 1, "longest": 1}),
    ("regimes", {}),
    ("regimes", {"segments": 20}),
]


def _ids(case: object) -> str:
    return str(case)


@pytest.mark.parametrize(("name", "parameters"), CASES, ids=_ids)
@pytest.mark.parametrize(("rounds", "seed"), [(20, 0), (101, 5), (200, 0)])
def test_deviation_and_segments_are_those_of_the_definition(name, parameters, rounds, seed):
    stream = FAMILIES[name](rounds, **parameters, seed=seed)
    means = stream.means.tolist()
    # Two sums of at most 300 numbers in [0, 1] differ by less than 300 * 300 * 2^-53.
    assert stream.deviation == pytest.approx(naive.deviation(means), abs=1e-11)
    assert stream.segments == naive.segments(means)
    assert len(stream) == len(stream.means) == len(stream.outcomes) == rounds
    assert all(0.0 <= q <= 1.0 for q in means)
    assert set(stream.outcomes.tolist()) <= {0.0, 1.0}


@pytest.mark.parametrize(("name", "parameters"), CASES, ids=_ids)
def test_a_stream_says_how_to_make_it_again(name, parameters):
    stream = FAMILIES[name](200, **parameters, seed=3)
    again = FAMILIES[stream.name](len(stream), **stream.parameters, seed=stream.seed)
    assert again.parameters == stream.parameters
    assert np.array_equal(again.means, stream.means)
    assert np.array_equal(again.outcomes, stream.outcomes)


@pytest.mark.parametrize("name", FAMILIES)
def test_outcomes_follow_their_means(name):
    rounds = 20_000
    stream = FAMILIES[name](rounds, **({"budget": 2000.0} if name == "corrupted" else {}), seed=1)
    # z = sum (y - q) / sqrt(sum q(1-q)) is close to normal; |z| < 5 fails once in 1.7 million.
    # Checked on all rounds, and where q lies below and above its median.
    for chosen in (
        np.ones(rounds, dtype=bool),
        stream.means <= np.median(stream.means),
        stream.means > np.median(stream.means),
    ):
        q, y = stream.means[chosen], stream.outcomes[chosen]
        assert abs(np.sum(y - q)) <= 5.0 * math.sqrt(np.sum(q * (1.0 - q)))


def test_certain_means_give_certain_outcomes():
    assert not synthetic.iid(5000, mean=0.0).outcomes.any()
    assert synthetic.iid(5000, mean=1.0).outcomes.all()


def test_outcomes_do_not_depend_on_how_the_levels_were_drawn():
    # One seed, so one sequence of outcome draws u_t: y_t = 1 exactly when u_t < q_t.
    still, walk = synthetic.iid(2000, mean=0.5, seed=9), synthetic.random_walk(2000, seed=9)
    above = walk.means >= 0.5
    assert np.all(walk.outcomes[above] >= still.outcomes[above])
    assert np.all(walk.outcomes[~above] <= still.outcomes[~above])


def test_outcomes_are_independent_of_the_levels():
    # A level a round: were it also the round's draw, no outcome would be 1.
    stream = synthetic.piecewise(4000, segments=4000, seed=6)
    spread = math.sqrt(np.sum(stream.means * (1.0 - stream.means)))
    assert abs(np.sum(stream.outcomes - stream.means)) <= 5.0 * spread


def test_piecewise_cuts_into_equal_lengths():
    stream = synthetic.piecewise(103, segments=10)
    edges = np.flatnonzero(np.diff(stream.means)) + 1
    lengths = np.diff(edges, prepend=0, append=103)
    assert stream.segments == 10
    assert set(lengths.tolist()) == {10, 11}


def test_piecewise_cuts_at_random_places():
    edges = [
        np.flatnonzero(
            np.diff(synthetic.piecewise(50, segments=3, random_lengths=True, seed=s).means)
        )
        for s in range(400)
    ]
    assert all(len(pair) == 2 for pair in edges)
    # Each of the 49 places is cut with probability 2/49; none of them stays uncut in 400 trials
    # but for a chance of 49 (47/49)^400 < 3e-6.
    assert {int(e) for pair in edges for e in pair} == set(range(49))


def test_piecewise_levels_are_uniform():
    levels = np.sort(synthetic.piecewise(4000, segments=4000, seed=2).means)
    # Dvoretzky-Kiefer-Wolfowitz: P(sup |F_n - F| > 0.05) <= 2 exp(-2 n 0.05^2) < 1e-8.
    assert np.max(np.abs(levels - np.arange(4000) / 4000)) < 0.05


def test_random_walk_has_the_spread_asked_for():
    rounds, trials, spread = 100, 2000, 2.0
    q = np.array(
        [synthetic.random_walk(rounds, spread=spread, seed=s).means[-1] for s in range(trials)]
    )
    logits = np.log(q / (1.0 - q))
    # 99 steps of sd 2/sqrt(100). The sample sd of n normals has relative error 1/sqrt(2n) = 1.6%;
    # five of these are 8%.
    assert logits.std() == pytest.approx(spread * math.sqrt(99 / 100), rel=0.08)


def test_a_share_drifts_in_one_stretch_as_a_whole_stream_does():
    whole = synthetic.drift(300, amplitude=0.4, periods=2).means
    starts = set()
    for seed in range(50):
        means = synthetic.drift(1000, amplitude=0.4, periods=2, share=0.3, seed=seed).means
        moved = np.flatnonzero(means != 0.5)
        start = int(moved[0]) - int(np.flatnonzero(whole != 0.5)[0])
        starts.add(start)
        np.testing.assert_array_equal(means[start : start + 300], whole)
        assert (np.delete(means, np.arange(start, start + 300)) == 0.5).all()
    # 50 places out of 701: that fewer than 30 differ has a probability below 1e-9.
    assert len(starts) >= 30


@pytest.mark.parametrize("shape", ["scattered", "burst"])
@pytest.mark.parametrize("budget", [0.0, 0.35, 0.7, 0.7 * 3, 100.0, 699.9, 700.0])
def test_corruption_spends_its_budget_exactly(shape, budget):
    stream = synthetic.corrupted(2000, budget=budget, shape=shape, seed=4)
    assert stream.deviation == pytest.approx(budget, abs=1e-9)
    moved = np.flatnonzero(stream.means != 0.3)
    assert len(moved) == math.ceil(budget / 0.7 - 1e-6)
    if shape == "burst" and len(moved):
        assert moved[-1] - moved[0] == len(moved) - 1
    elif len(moved) > 10:
        assert moved[-1] - moved[0] > len(moved)


def test_corruption_falls_anywhere():
    scattered = {
        int(np.argmax(synthetic.corrupted(10, budget=0.7, seed=s).means)) for s in range(300)
    }
    bursts = {
        int(np.argmax(synthetic.corrupted(10, budget=2.1, shape="burst", seed=s).means))
        for s in range(300)
    }
    # A place of 10 (or 8) is missed 300 times with probability 10 (9/10)^300 < 1e-12.
    assert scattered == set(range(10))
    assert bursts == set(range(8))


def test_same_in_another_process():
    code = (
        "from calibrant.streams import FAMILIES\n"
        "for name, family in FAMILIES.items():\n"
        "    s = family(3000, **({'budget': 50.5} if name == 'corrupted' else {}), seed=11)\n"
        "    print(name, s.means.tobytes().hex(), s.outcomes.tobytes().hex())\n"
    )
    elsewhere = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split("\n")
    for line, (name, family) in zip(elsewhere, FAMILIES.items(), strict=False):
        s = family(3000, **({"budget": 50.5} if name == "corrupted" else {}), seed=11)
        assert line == f"{name} {s.means.tobytes().hex()} {s.outcomes.tobytes().hex()}"


def test_pinned_values():
    # Written down once: what a seed means must not change from one release to the next.
    ones = {
        name: int(
            family(
                10_000, **({"budget": 1000.0} if name == "corrupted" else {}), seed=7
            ).outcomes.sum()
        )
        for name, family in FAMILIES.items()
    }
    assert ones == {
        "iid": 5064,
        "piecewise": 5316,
        "drift": 5024,
        "seasonal": 5066,
        "random_walk": 1746,
        "corrupted": 4019,
        "alternating": 5000,
        "markov": 4831,
        "hidden_markov": 3853,
        "cycle": 5135,
        "runs": 4996,
        "regimes": 5131,
    }
    assert synthetic.piecewise(20, seed=7).means[:3].tolist() == [
        0.7978591868433563,
        0.05309388325640407,
        0.5913511174298967,
    ]
    # Ten thousand steps, and a tanh that may differ in its last digit from one platform to another.
    assert synthetic.random_walk(10_000, seed=7).means[-1] == pytest.approx(
        0.04088433231752, rel=1e-9
    )


def test_seeds_differ():
    assert not np.array_equal(
        synthetic.iid(100, seed=0).outcomes, synthetic.iid(100, seed=1).outcomes
    )


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("iid", {"rounds": 0}, "rounds must be an integer at least 1, got 0"),
        ("iid", {"rounds": 10.0}, r"rounds must be an integer at least 1, got 10.0 \(float\)"),
        ("iid", {"rounds": True}, "rounds must be an integer"),
        ("iid", {"seed": -1}, "seed must be an integer in"),
        ("iid", {"mean": 1.1}, r"mean must be a number in \[0.0, 1.0\], got 1.1"),
        ("iid", {"mean": float("nan")}, "mean must be a number in .*, got nan"),
        ("iid", {"mean": "0.5"}, r"mean must be a number in .*, got '0.5' \(str\)"),
        ("piecewise", {"segments": 101}, r"segments must be an integer in \[1, 100\], got 101"),
        ("piecewise", {"segments": 0}, "segments must be an integer in"),
        ("piecewise", {"levels": []}, "segments must be an integer in .*, got 0"),
        ("piecewise", {"levels": [0.1, -0.1]}, r"levels\[1\] must be a number in .*, got -0.1"),
        ("piecewise", {"levels": 0.5}, "levels must be a sequence of numbers, got 0.5"),
        ("piecewise", {"levels": "abc"}, "levels must be a sequence of numbers, got 'abc'"),
        (
            "piecewise",
            {"levels": [0.1], "segments": 2},
            r"levels must be one per segment \(2\), got 1",
        ),
        ("piecewise", {"random_lengths": 1}, "random_lengths must be True or False, got 1"),
        ("drift", {"level": 0.9}, r"level \+ amplitude must be in \[0, 1\], got 0.9 and 0.3"),
        ("drift", {"amplitude": -0.1}, "amplitude must be a number in"),
        ("drift", {"share": 1.1}, r"share must be a number in \[0.0, 1.0\]"),
        ("drift", {"periods": -1}, r"periods must be a number in \[0.0, 100\]"),
        ("seasonal", {"period": 1}, r"period must be a number in \[2.0, "),
        ("seasonal", {"period": float("inf")}, "period must be a number in"),
        ("random_walk", {"spread": -1}, r"spread must be a number in \[0.0, 100.0\]"),
        ("corrupted", {"budget": 36.0}, r"budget must be a number in \[0.0, 35.0\], got 36.0"),
        ("corrupted", {"budget": 1.0, "target": 0.3}, r"budget must be a number in \[0.0, 0.0\]"),
        (
            "corrupted",
            {"budget": 1.0, "shape": "burts"},
            "shape must be one of 'scattered', 'burst'",
        ),
        ("alternating", {"every": 0}, "every must be an integer at least 1"),
        ("alternating", {"low": -0.1}, "low must be a number in"),
    ],
    ids=_ids,
)
def test_bad_arguments_are_named(name, arguments, message):
    with pytest.raises(ValueError, match=message):
        FAMILIES[name](**{"rounds": 100, **arguments})


def test_a_stream_cannot_be_changed():
    stream = synthetic.iid(10)
    with pytest.raises(ValueError, match="read-only"):
        stream.outcomes[0] = 0.5
    with pytest.raises(AttributeError):
        stream.seed = 1
    assert repr(stream) == "Stream(iid, 10 rounds, mean=0.5, seed=0)"
    assert isinstance(stream, Stream)
