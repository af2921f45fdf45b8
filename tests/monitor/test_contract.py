"""What a monitor promises besides its guarantee: invalid input, saving, times, groups."""

import copy
import pickle
from datetime import date

import numpy as np
import pytest

from benchmarks.forged import forged
from calibrant import Monitor
from interrupting import interrupted
from monitor.worlds import off_in_the_middle

NAN = float("nan")


def watched(**arguments):
    """Return a monitor with a past: groups, times, an episode that is over and one that is open."""
    monitor = Monitor(**{"every": 10**5, "tolerance": 0.0, **arguments})
    p, y, by = off_in_the_middle(1, 12_000)
    monitor.run(p, y, by, times=[f"day {t // 5}" for t in range(len(p))])
    monitor.run(np.full(300, 0.2), np.ones(300), times=np.arange(300) // 5)
    assert monitor.episodes[0].end is not None
    assert monitor.state == "miscalibrated"
    return monitor


@pytest.mark.parametrize(
    "call",
    [
        lambda m: m.update(1.5, 1),
        lambda m: m.update(0.5, NAN),
        lambda m: m.update("x", 1),
        lambda m: m.update(0.5, None),
        lambda m: m.update(2.0, 1, by="new"),
        lambda m: m.update(0.5, 1, by=1.5),
        lambda m: m.update(0.5, 1, at=NAN),
        lambda m: m.update(0.5, 1, by="new", at=object()),
        lambda m: m.run([0.5, 2.0], [1, 0]),
        lambda m: m.run([0.5, 0.5], [1, NAN]),
        lambda m: m.run([0.5], [1, 0]),
        lambda m: m.run([0.5, 0.5], [1, 0], by=["a"]),
        lambda m: m.run([0.5, 0.5], [1, 0], by=["new", []]),
        lambda m: m.run([0.5, 0.5], [1, 0], times=[1]),
        lambda m: m.run([0.5, 0.5], [1, 0], times=[1, None]),
        lambda m: m.run(np.ma.masked_array([0.5, 0.5], mask=[0, 1]), [1, 0]),
        lambda m: m.run([[0.5]], [1]),
        lambda m: m.expect("a", 1.5),
        lambda m: m.expect([], 0.5),
        lambda m: m.settle("a", 1),
        lambda m: m.bands(level=2.0),
    ],
)
def test_bad_input_changes_nothing(call):
    monitor = watched()
    before = monitor.to_bytes()
    with pytest.raises(ValueError, match=r"must|no prediction"):
        call(monitor)
    assert monitor.to_bytes() == before


def test_too_many_groups_are_refused():
    monitor = Monitor(max_groups=2)
    monitor.run([0.5] * 3, [1, 0, 1], by=["a", None, "b"])
    before = monitor.to_bytes()
    with pytest.raises(ValueError, match="by='c' would be one group more than max_groups=2"):
        monitor.update(0.5, 1, by="c")
    assert monitor.to_bytes() == before


@pytest.mark.parametrize("arguments", [{}, {"block": 7}, {"alpha": 0.01}, {"ahead": 5}])
def test_a_saved_monitor_goes_on_as_the_first_would(arguments):
    first = watched(**arguments)
    for t in range(20):
        first.expect(f"late {t}", 0.3, by="b")
    for second in (
        Monitor.from_bytes(first.to_bytes()), copy.copy(first), pickle.loads(pickle.dumps(first)),
    ):  # fmt: skip
        assert second.to_bytes() == first.to_bytes()
        assert second.episodes == first.episodes
        mine = copy.copy(first)
        p, y, by = off_in_the_middle(2, 2_000)
        assert second.run(p, y, by) == mine.run(p, y, by)
        for t in range(20):
            assert second.settle(f"late {t}", t % 2) == mine.settle(f"late {t}", t % 2)
        assert second.to_bytes() == mine.to_bytes()


@pytest.mark.parametrize("arguments", [{}, {"block": 7}])
def test_forged_states_are_refused_or_can_be_watched(arguments):
    monitor = watched(**arguments)
    for t in range(5):
        monitor.expect(f"late {t}", 0.3, by="b")
    blob, random = monitor.to_bytes(), np.random.default_rng(3)
    p, y, by = off_in_the_middle(2, 300)
    refused = 0
    for _ in range(400):
        changed = forged(blob, random)
        try:
            taken = Monitor.from_bytes(changed)
        except ValueError:
            refused += 1
            continue
        taken.run(p, y, None if taken.max_groups < 3 else by)
        for name in list(taken._ids):
            taken.settle(name, 1)
        assert 0 <= taken.evidence <= 1
        assert np.isfinite(taken._get_state()["R"])
        assert all(-1 <= each.bias_low <= each.bias_high <= 1 for each in taken.bands())
        assert Monitor.from_bytes(taken.to_bytes()).to_bytes() == taken.to_bytes()
    assert 200 < refused < 400


def test_it_can_be_saved_in_every_round_after_an_episode():
    """The sum that ends an episode jumps far beyond its limit where predictions are extreme."""
    monitor = Monitor(100, tolerance=0.0)
    monitor.run([0.999] * 5, [0] * 5)
    assert monitor.state == "miscalibrated"
    while monitor.state == "miscalibrated":
        monitor.update(0.999, 1)
    for _ in range(3):
        assert Monitor.from_bytes(monitor.to_bytes()).to_bytes() == monitor.to_bytes()
        monitor.update(0.999, 1)


def test_ctrl_c_in_a_run_leaves_the_monitor_as_it_was():
    monitor = watched()
    before = monitor.to_bytes()
    p = np.full(20_000_000, 0.5)
    with interrupted(0.15):
        monitor.run(p, p)
    assert monitor.to_bytes() == before
    monitor.update(0.5, 1)


def test_the_times_of_an_episode():
    p, y, _ = off_in_the_middle(1, 12_000)
    days = np.datetime64("2024-01-01") + np.arange(12_000)
    whole, steps = (Monitor(every=10**5, tolerance=0.0) for _ in range(2))
    episode = whole.run(p, y, times=days)[0]
    for t in range(12_000):
        steps.update(p[t], y[t], at=date.fromisoformat(str(days[t])))
    assert whole.to_bytes() == steps.to_bytes()
    assert episode.alarm_at == str(days[episode.alarm])
    assert episode.end_at == str(days[episode.end])
    onset = date.fromisoformat(episode.onset_at)
    assert 0 <= (date.fromisoformat(str(days[episode.onset])) - onset).days <= 16
    assert f"({episode.alarm_at})" in str(episode)


def test_a_reset_ends_the_episode_and_forgets():
    monitor = watched()
    monitor.reset()
    assert monitor.state == "calibrated"
    assert monitor.episodes[-1].end == monitor.rounds
    assert monitor.evidence == 0
    assert monitor.bands() == []


def test_a_group_is_named_and_others_are_not():
    random = np.random.default_rng(5)
    p = random.beta(2, 4, 40_000)
    by = random.integers(20, size=len(p))
    y = random.random(len(p)) < p + 0.2 * (by == 7)
    episodes = Monitor(every=10**6).run(p, y, by)
    assert [episode.group for episode in episodes] == [7]
    assert episodes[0].direction == "too low"


def test_the_interval_of_a_bias_is_that_of_a_mean():
    """p = 1/2 throughout, so an outcome has the standard deviation 1/2, whatever the bias."""
    y = np.random.default_rng(6).random(2_000) < 0.6
    (episode,) = Monitor(every=1_000, tolerance=0.0).run(np.full(2_000, 0.5), y)
    half = 1.96 * 0.5 / np.sqrt(episode.alarm + 1 - episode.onset)
    assert episode.bias_high - episode.bias == pytest.approx(half, rel=0.01)
    assert episode.bias - episode.bias_low == pytest.approx(half, rel=0.01)


def test_update_takes_a_hundred_thousand_groups_in_stride():
    monitor = Monitor(max_groups=100_000)
    monitor.run(np.full(100_000, 0.5), np.arange(100_000) % 2, by=range(100_000))
    assert monitor.update(0.5, 1, by=99_999) is None
    assert monitor.__sizeof__() < 6_000 + 96 * 100_000
