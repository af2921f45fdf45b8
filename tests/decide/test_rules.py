"""Each rule beside its slow reference, and what it promises by construction."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calibrant import Decider
from calibrant._kernels.decide.threshold_rules import PrecisionRule, RecallRule
from naive import decide as naive


def stream(seed, rows):
    """Return probabilities with ties, jumps and extremes, and outcomes that follow them."""
    random = np.random.default_rng(seed)
    level = np.repeat(random.normal(-2, 1.5, rows // 100 + 1), 100)[:rows]
    p = 1 / (1 + np.exp(-level - random.normal(size=rows)))
    p[random.random(rows) < 0.2] = 0.25
    p[random.random(rows) < 0.01] = random.integers(2)
    return p, (random.random(rows) < p).astype(float)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("explore", [0.0, 0.1])
def test_costs_are_the_twins(seed, explore):
    p, _ = stream(seed, 2000)
    acts = Decider(cost_of_acting=1, cost_of_missing=4, explore=explore, seed=seed).decide_many(p)
    assert acts.tolist() == naive.by_costs(p, 0.25, seed=seed, explore=explore)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(("cap", "floor", "explore"), [(1.2, 0.8, 0), (2, 0, 0), (1.5, 0.5, 0.02)])
def test_a_budget_is_the_twins(seed, cap, floor, explore):
    p, _ = stream(seed, 3000)
    rows, budget = int(np.random.default_rng(seed).integers(200, 1100)), 0.05
    decider = Decider(budget=budget, per=rows, cap=cap, floor=floor, explore=explore, seed=seed)
    most = math.floor(round(cap * budget * rows, 6))
    least = math.ceil(round(floor * budget * rows, 6))
    twin = naive.by_budget(p, budget, rows, most, least, seed=seed, explore=explore)
    assert decider.decide_many(p).tolist() == twin


@pytest.mark.parametrize("seed", range(4))
def test_a_budget_in_time_is_the_twins(seed):
    p, _ = stream(seed, 1500)
    random = np.random.default_rng(seed)
    times = np.cumsum(random.exponential(1.0, 1500) * (1 + 4 * (random.random(1500) < 0.01)))
    times -= 300  # before and after 0
    decider = Decider(budget=0.05, per="300s", band=0.4, seed=seed)
    twin = naive.by_timed_budget(p, times, 0.05, 300, 1.4 * 0.05, 0.6 * 0.05, seed=seed)
    assert decider.decide_many(p, at=times).tolist() == twin


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    ("twin", "arguments"),
    [
        (naive.by_precision, {"precision": 0.6}),
        (naive.by_precision, {"precision": 0.3, "explore": 0.05}),
        (naive.by_recall, {"recall": 0.8, "explore": 0.05}),
        (naive.by_recall, {"recall": 0.95, "explore": 0.02}),
    ],
)
def test_floors_with_late_outcomes_are_the_twins(seed, twin, arguments):
    p, y = stream(seed, 400)
    known = np.arange(400) + np.random.default_rng(seed).integers(0, 60, 400) + 0.5
    acts = Decider(**arguments, seed=seed).run(p, y, at=np.arange(400), known=known)
    floor = arguments.get("precision", arguments.get("recall"))
    explore = arguments.get("explore", 0.0)
    assert acts.tolist() == twin(p, y, known, floor, seed=seed, explore=explore)
    assert 0 < acts.sum() < 400 or "recall" in arguments


@pytest.mark.parametrize("seed", range(4))
def test_a_threshold_below_its_start_is_the_twins(seed):
    random = np.random.default_rng(seed)
    p = random.uniform(0.003, 0.0067, 400)  # below the start, which they move
    y, known = (random.random(400) < 20 * p).astype(float), np.arange(400) + 9.5
    acts = Decider(recall=0.9, explore=0.02, seed=seed).run(p, y, at=np.arange(400), known=known)
    assert acts.tolist() == naive.by_recall(p, y, known, 0.9, seed=seed, explore=0.02)
    assert acts[-100:].sum() > 10


# -- what holds whatever the probabilities do ------------------------------------------------------


class Adversary:
    """Probabilities that make a threshold wrong: chosen after looking at what was decided."""

    def __init__(self, kind, random):
        self.kind, self.random, self.acted, self.i = kind, random, False, 0

    def next(self, threshold):
        self.i += 1
        if self.kind == "above":
            return min(threshold + 1e-9, 1.0)
        if self.kind == "below":
            return max(threshold - 1e-9, 0.0)
        if self.kind == "contrary":
            return 0.0 if self.acted else 1.0
        if self.kind == "lull":  # long nothing, then everything
            return float((self.i // 700) % 2)
        if self.kind == "rising":
            return 1 - 0.999**self.i
        return float(self.random.random())


KINDS = ("above", "below", "contrary", "lull", "rising", "any")


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(KINDS), st.integers(1, 900)), min_size=1, max_size=5),
    st.integers(100, 700),
    st.floats(0.02, 0.9),
    st.floats(0.1, 0.9),
    st.sampled_from([0.0, 0.05, 0.5]),
    st.integers(0, 2**32),
)
def test_cap_and_floor_hold_in_every_window(phases, per, budget, band, explore, seed):
    most = min(math.floor((1 + band) * budget * per + 1e-9), per)
    least = math.ceil((1 - band) * budget * per - 1e-9)
    if least > most or most < 1:
        with pytest.raises(ValueError, match="no window can hold this"):
            Decider(budget=budget, per=per, band=min(band, 1 / budget))
        return
    decider = Decider(budget=budget, per=per, band=band, explore=explore, seed=seed)
    acts = []
    for kind, rows in phases:
        adversary = Adversary(kind, np.random.default_rng(seed))
        for _ in range(rows):
            adversary.acted = decider.decide(adversary.next(decider.threshold))
            acts.append(adversary.acted)
    sums = np.concatenate([[0], np.cumsum(acts)])
    if len(acts) >= per:
        windows = sums[per:] - sums[:-per]
        assert windows.min() >= least
        assert windows.max() <= most
    assert sums[-1] == decider.acted


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(KINDS), st.floats(0.01, 0.5), st.integers(0, 2**32))
def test_no_window_in_time_is_above_its_cap_when_it_acts(kind, budget, seed):
    random = np.random.default_rng(seed)
    times = np.cumsum(random.exponential(1.0, 1500) * random.choice([0.1, 1, 30], 1500))
    decider, adversary = Decider(budget=budget, per="100s"), Adversary(kind, random)
    acts = np.zeros(1500, dtype=bool)
    for i, time in enumerate(times):
        acts[i] = adversary.acted = decider.decide(adversary.next(decider.threshold), at=time)
        if acts[i]:
            recent = (times > time - 100) & (times <= time)
            assert acts[recent].sum() <= 1.2 * budget * recent.sum() + 1e-9
    begun = (times // 100).astype(int)
    assert (np.bincount(begun, acts) <= 1.2 * budget * np.bincount(begun) + 1e-9).all()


@pytest.mark.parametrize("explore", [0.0, 0.1])
def test_the_threshold_of_a_precision_counts_what_was_wrong(explore):
    """(theta - start) / step = sum of (floor - y) where known + sum of (floor - p) where not."""
    p, y = stream(3, 3000)
    decider, random = Decider(precision=0.6, explore=explore), np.random.default_rng(5)
    waiting, known, start = {}, 0.0, math.log(0.6 / 0.4)
    for i in range(3000):
        if decider.decide(p[i], id=i):
            waiting[i] = 0.6 - p[i]
        if i % 3 == 0 and waiting:
            j = int(random.choice(list(waiting)))
            decider.update(y[j], id=j)
            del waiting[j]
            known += 0.6 - y[j]
        theta = math.log(decider.threshold / (1 - decider.threshold))
        assert math.isclose((theta - start) / 0.007, known + sum(waiting.values()), abs_tol=1e-6)


def test_precision_is_held_on_calibrated_probabilities():
    """At the end theta is near its start or below it, so precision is near the floor or above.

    The identity says precision - floor = -(theta - start) / (0.007 n) exactly, once all outcomes
    are known; a theta of 1 above its start after n = 5,000 acts would be 0.028 below.
    """
    p, y = stream(11, 50_000)
    decider = Decider(precision=0.7)
    acts = decider.run(p, y)
    theta = math.log(decider.threshold / (1 - decider.threshold))
    lead = -(theta - math.log(0.7 / 0.3)) / (0.007 * acts.sum())
    assert math.isclose(y[acts].mean() - 0.7, lead, abs_tol=1e-9)
    assert y[acts].mean() >= 0.695
    assert acts.sum() > (p >= 0.7).sum()  # more than the plain threshold dares


@pytest.mark.parametrize("floor", [0.8, 0.95])
def test_recall_is_held_where_events_are_rare(floor):
    """Of what is expected, which leaves out that 500 to 1,000 events vary by 0.01."""
    for seed in range(3):
        random = np.random.default_rng(seed)
        z = 2.2 * (random.normal(size=100_000) - 1.1) - 4.6
        p = 1 / (1 + np.exp(-z))
        y = (random.random(100_000) < p).astype(float)
        acts = Decider(recall=floor, explore=0.02, seed=seed).run(p, y)
        assert p[acts].sum() / p.sum() >= floor - 0.005


def test_recall_is_held_on_calibrated_probabilities():
    """By Hoeffding the realised recall of 5,000 events is within 0.02 of its mean but for 2%."""
    p, y = stream(12, 50_000)
    acts = Decider(recall=0.8, explore=0.02).run(p, y)
    assert y[acts].sum() / y.sum() > 0.785
    assert acts.mean() < 0.8


# -- the same whichever way it is asked ------------------------------------------------------------

EVERY = [
    {"cost_of_acting": 1, "cost_of_missing": 5, "explore": 0.1},
    {"costs": [[0, 8], [1, 0.5]]},
    {"budget": 0.1, "per": 300},
    {"budget": 0.1, "per": "300s", "explore": 0.01},
    {"budget": 0.1, "per": 300, "cap": 2},
    {"precision": 0.4},
    {"recall": 0.9, "explore": 0.05},
    {"precision": 0.4, "silence": 1, "after": 50},
]


@pytest.mark.parametrize("arguments", EVERY[:7], ids=str)
def test_one_by_one_is_all_at_once(arguments):
    p, _ = stream(1, 1500)
    one, many = Decider(**arguments), Decider(**arguments)
    singly = [one.decide(each, at=i) for i, each in enumerate(p)]
    needs_ids = isinstance(many._rule, PrecisionRule | RecallRule)
    parts = [
        many.decide_many(
            p[start:end],
            ids=range(start, end) if needs_ids else None,
            at=np.arange(start, end),
        )
        for start, end in pairwise([0, 1, 7, 700, 1500])
    ]
    named = Decider(**arguments).decide_many(p, ids=range(1500), at=np.arange(1500))
    assert np.concatenate(parts).tolist() == singly == named.tolist()
    assert one.acted == many.acted == sum(singly)


@pytest.mark.parametrize("arguments", EVERY, ids=str)
def test_saved_and_loaded_it_goes_on_as_before(arguments):
    p, y = stream(2, 1200)
    decider = Decider(**arguments, seed=9)
    for i in range(700):
        decider.decide(p[i], id=i, at=None if "silence" in arguments else i)
        if i > 20:
            decider.update_many([y[i - 20]], ids=[i - 20])
    again = Decider.from_bytes(decider.to_bytes())
    assert again.to_bytes() == decider.to_bytes()
    assert repr(again) == repr(decider)
    for i in range(700, 1200):
        at = None if "silence" in arguments else i
        assert again.decide(p[i], id=i, at=at) == decider.decide(p[i], id=i, at=at)
        answers = [d.update_many([y[i - 20]], ids=[i - 20]).tolist() for d in (again, decider)]
        assert answers[0] == answers[1]
    assert again.to_bytes() == decider.to_bytes()
    assert again.precision_bound() == decider.precision_bound()


def test_memory_does_not_grow_with_the_rounds():
    p, _ = stream(3, 1000)
    sizes = []
    for arguments in EVERY[:7]:
        decider = Decider(**arguments, capacity=1000)
        for start in range(20):
            at = 10_000 + start * 1000 + np.arange(1000)  # ids of five digits
            decider.decide_many(p, ids=at, at=at)
            decider.update_many(np.zeros(1000), ids=at)
            sizes.append(len(decider.to_bytes()))
        assert max(sizes[-10:]) <= sizes[-20] + 2000
