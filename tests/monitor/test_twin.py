"""The monitor against its slow reference, bit for bit."""

import numpy as np
import pytest

from calibrant import Monitor
from naive.monitor import Monitor as SlowMonitor

SHAPES = {
    "beta": lambda random, n: random.beta(2, 4, n),
    "uniform": lambda random, n: random.random(n),
    "rare": lambda random, n: 0.004 * np.exp(random.normal(0, 0.5, n)),
    "two points": lambda random, n: random.choice([0.2, 0.8], n),
    "one point": lambda random, n: random.choice([0.3], n),
    "ends": lambda random, n: random.choice([0.0, 1.0, 0.5, 1e-12], n),
}


def world(shape, seed, n=2_500):
    """Return predictions, outcomes with a stretch of bias in the middle, and groups."""
    random = np.random.default_rng(seed)
    p = SHAPES[shape](random, n)
    off = (np.arange(n) > 0.24 * n) & (np.arange(n) < 0.52 * n)
    off = np.where(off, random.choice([-0.3, 0.3]), 0.0)
    y = (random.random(n) < np.clip(p + off, 0, 1)).astype(float)
    if seed % 3 == 0:
        y = np.clip(y + random.normal(0, 0.1, n), 0, 1)  # outcomes in between
    return p, y, random.choice(["a", "b", "c"], n).tolist()


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("seed", range(6))
def test_every_round_is_the_twins(shape, seed):
    arguments = [
        {"every": 1000, "tolerance": 0.0}, {"every": 10**5, "tolerance": 0.05}, {"alpha": 0.05},
        {"every": 1000, "tolerance": 0.0, "block": 7}, {"every": 1000, "ahead": 9},
    ][seed % 5]  # fmt: skip
    p, y, by = world(shape, seed)
    fast, slow = Monitor(**arguments), SlowMonitor(**arguments)
    for t in range(len(p)):
        group = by[t] if seed % 2 else None
        episode = fast.update(p[t], y[t], group)
        event = slow.update(p[t], y[t], group)
        assert (episode is not None) == (event is not None), t
        if t % 5 == 0:
            assert fast._get_state()["R"] == slow.R, t
    assert fast._get_state()["R"] == slow.R
    check_episodes(fast, slow)


def check_episodes(fast, slow):
    assert [e.alarm for e in fast.episodes] == [e["alarm"] for e in slow.found]
    for ours, theirs in zip(fast.episodes, slow.found, strict=True):
        for name, value in theirs.items():
            assert getattr(ours, name) == value, name


def check_ranges(fast, slow):
    """What bands are made of: in each range its rounds, and the blocks of those that waited."""
    _, ranges = fast._ranges()
    for leaf, row in enumerate(ranges):
        assert tuple(row[:5]) == slow.ranges.get(leaf, (0.0,) * 5)
        assert (row[5], row[6]) == (slow.most.get(leaf, 0.0), slow.squares.get(leaf, 0.0))
        sums = [block.sums.get(leaf, (0.0, 0.0)) for block in slow.blocks]
        assert sorted(zip(row[7:9], row[9:11], strict=True)) == sorted([*sums, (0.0, 0.0)][:2])


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("seed", range(4))
def test_rounds_that_wait_are_the_twins(shape, seed):
    """Outcomes come after delays of all kinds, some never; now and then one comes at once."""
    arguments = [
        {"every": 1000, "tolerance": 0.0}, {"every": 10**4, "patience": 12}, {"alpha": 0.05},
        {"every": 200, "tolerance": 0.05},
    ][seed % 4]  # fmt: skip
    p, y, by = world(shape, seed, 1_000)
    random = np.random.default_rng([seed, 7])
    wait = [2, 40, 1, 150][(seed + len(shape)) % 4]
    delays = random.integers(0, wait + 1, len(p)) * (random.random(len(p)) < 0.9)
    fast, slow = Monitor(**arguments), SlowMonitor(**arguments)
    coming = {}
    for t in range(len(p)):
        group = by[t] if seed % 2 else None
        if random.random() < 0.05:
            fast.update(p[t], y[t], group)
            slow.update(p[t], y[t], group)
        else:
            fast.expect(t, p[t], group)
            slow.ask(slow.key + 1, p[t], group)
            coming.setdefault(t + int(delays[t]), []).append((t, slow.key))
        for name, key in coming.pop(t, []):
            if name in fast._ids:
                never = random.random() < 0.1
                fast.settle(name, None if never else y[name])
                slow.drop(key) if never else slow.settle(key, y[name])
        if t % 7 == 0:
            assert fast._get_state()["R"] == slow.R, t
        if t == 600:
            fast = Monitor.from_bytes(fast.to_bytes())
    state = fast._get_state()
    assert (state["R"], state["escrow"]) == (slow.R, slow.escrow)
    assert len(state["waiting"]) == len(slow.waiting)
    check_episodes(fast, slow)
    check_ranges(fast, slow)


@pytest.mark.parametrize("wait", [0, 1, 25])
def test_episodes_of_groups_that_overlap_are_the_twins(wait):
    """Groups a and b are off at times that overlap, c never is, d comes no more, e is new then."""
    random, n = np.random.default_rng([11, wait]), 9_000
    t, by = np.arange(n), random.choice(list("abcd"), n)
    by[(by == "d") & (t >= 3_000)] = "e"
    p = random.beta(2, 4, n)
    off = 0.35 * ((by == "a") & (t > 600) & (t < 4_000)) + 0.35 * ((by == "d") & (t > 1_000))
    off -= 0.25 * ((by == "b") & (t > 1_000) & (t < 6_000)) + 0.3 * ((by == "a") & (t > 5_000))
    y = (random.random(n) < np.clip(p + off, 0, 1)) * 1.0
    fast, slow = Monitor(10**4), SlowMonitor(10**4)
    delays = random.integers(0, wait + 1, n)
    coming = {}
    for k in range(n):
        group = None if k % 50 == 0 else str(by[k])
        if wait:
            fast.expect(k, p[k], group)
            slow.ask(k, p[k], group)
            coming.setdefault(k + int(delays[k]), []).append(k)
        else:
            fast.update(p[k], y[k], group)
            slow.update(p[k], y[k], group)
        for key in coming.pop(k, []):
            fast.settle(key, y[key])
            slow.settle(key, y[key])
        if k % 1_500 == 700:
            fast = Monitor.from_bytes(fast.to_bytes())
    check_episodes(fast, slow)
    assert fast._get_state()["R"] == slow.R
    found = fast.episodes
    assert {each.group for each in found} == {"a", "b", "d"}
    assert any(one.alarm < other.alarm < one.end for one in found for other in found if one.end)


@pytest.mark.parametrize("block", [None, 5])
def test_what_is_not_predicted_any_more_is_over(block):
    """Off where predictions are high; later, no prediction is high. The twin agrees on the end."""
    random = np.random.default_rng(3)
    p = np.where(np.arange(9_000) % 4 == 0, 0.9, random.uniform(0.1, 0.4, 9_000))
    p[4_000:] = random.uniform(0.1, 0.4, 5_000)
    y = (random.random(9_000) < np.where((p == 0.9) & (np.arange(9_000) > 2_000), 0.3, p)) * 1.0
    fast, slow = Monitor(10**6, block=block), SlowMonitor(10**6, block=block or 1)
    fast.run(p, y)
    for t in range(len(p)):
        slow.update(p[t], y[t])
    assert fast._get_state()["R"] == slow.R
    (episode,) = fast.episodes
    assert (episode.alarm, episode.end) == (slow.found[0]["alarm"], slow.found[0]["end"])
    assert 4_996 <= episode.end <= 5_000  # a thousand rounds after the last high one
    assert episode.low > 0.5


def test_the_worlds_ring_and_recover():
    rang = ended = 0
    for shape in SHAPES:
        for seed in range(6):
            p, y, _ = world(shape, seed)
            monitor = Monitor(every=1000, tolerance=0.0)
            monitor.run(p, y)
            rang += bool(monitor.episodes)
            ended += any(episode.end is not None for episode in monitor.episodes)
    assert rang > 20
    assert ended > 5


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("groups", [False, True])
def test_run_is_update_bit_for_bit(shape, groups):
    p, y, by = world(shape, 1)
    by = by if groups else None
    whole, steps, parts = (Monitor(every=500, tolerance=0.0) for _ in range(3))
    found = whole.run(p, y, by)
    for t in range(len(p)):
        steps.update(p[t], y[t], by[t] if groups else None)
    for part in np.split(np.arange(len(p)), [1, 700, 701, 1_900]):
        parts.run(p[part], y[part], [by[t] for t in part] if groups else None)
    assert whole.to_bytes() == steps.to_bytes() == parts.to_bytes()
    assert found == whole.episodes
