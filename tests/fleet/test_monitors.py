"""A fleet that is watched: the same outcomes reach its monitors, whichever way they come."""

import pickle

import numpy as np
import pytest

from calibrant import Fleet, Monitor, Recalibrator
from calibrant._kernels.fleet.key_batch import checked_keys, shards_of
from calibrant.fleet import fleet as module
from calibrant.fleet.shard import Shard
from calibrant.monitor import SideBySide
from fleet.worlds import keyed
from interrupting import interrupt_call
from naive.key_evidence import NaiveKeys

SETTINGS = {"every": 1000, "tolerance": 0.01}


def stream(rounds, keys, seed, off=()):
    """Return keys, scores and outcomes; the scores of some keys are off by so much each."""
    random = np.random.default_rng(seed)
    key, score = random.integers(0, keys, rounds), random.uniform(0.25, 0.75, rounds)
    bias = np.zeros(keys)
    for each, by in dict(off).items():
        bias[each] = by
    return key, score, (random.random(rounds) < score + bias[key]).astype(float)


def found(fleet):
    """Return all that monitors know."""
    both = fleet.monitors
    return [
        (side.miscalibrated_keys(least=0.01), side.episodes, side.evidence, side.state, side.rounds)
        for side in (both.raw, both.calibrated)
    ] + [both.gain_evidence]


@pytest.mark.parametrize("shards", [1, 2])
def test_late_outcomes_reach_the_monitors_in_the_order_in_which_they_come(shards):
    keys, scores, outcomes = stream(800, 9, seed=2, off={4: 0.2})
    fleet = Fleet(1, shards=shards, monitor=SETTINGS)
    random = np.random.default_rng(0)
    due = np.arange(800) + random.integers(0, 60, 800)
    due[::7] = 10_000  # these never come
    twins = {key: [NaiveKeys(**SETTINGS), NaiveKeys(**SETTINGS)] for key in range(9)}
    seen, numbers = {shard: [] for shard in range(shards)}, {}
    means = np.empty(800)
    for row in range(800):
        means[row] = fleet.expected([keys[row]], [scores[row]])[0]
        fleet.predict_many([keys[row]], [scores[row]], ids=[row])
        shard = int(shards_of(checked_keys(keys[row : row + 1]).hashes(), shards)[0])
        numbers[row] = shard, sum(1 for at, _ in numbers.values() if at == shard)
        seen[shard].append((row, np.nan))
        for twin, predicted in zip(twins[keys[row]], (scores, means), strict=True):
            twin.predict("all", predicted[row], row)
        for done in np.flatnonzero(due == row).tolist():
            assert fleet.update_many([outcomes[done]], ids=[done]).tolist() == ["applied"]
            for twin, predicted in zip(twins[keys[done]], (scores, means), strict=True):
                twin.settle("all", predicted[done], done, outcomes[done])
            seen[numbers[done][0]].append((done, outcomes[done]))
    for side, monitor in enumerate((fleet.monitors.raw, fleet.monitors.calibrated)):
        listed = monitor.miscalibrated_keys(least=1e-6)
        shown = {each.key: each for each in listed}
        for key, both in twins.items():
            total, n = both[side].keys["all"].total, both[side].keys["all"].n
            evidence = both[side].evidence("all")
            assert (key in shown) == (evidence > 1.0001)
            if key in shown:
                assert shown[key].evidence == pytest.approx(np.log(evidence) / np.log(1000))
                assert (shown[key].bias, shown[key].outcomes) == (pytest.approx(total / n), n)
        assert [each.evidence for each in listed] == sorted(e.evidence for e in listed)[::-1]
    gains = 0.0
    for shard, steps in seen.items():
        wanted = SideBySide(SETTINGS, 0, patience=fleet.capacity)
        rows, came = (np.array(each) for each in zip(*steps, strict=True))
        keys_of_steps = np.array([numbers[row][1] for row in rows])
        wanted.play_steps(keys_of_steps, scores[rows], means[rows], came, None)
        for side in ("raw", "calibrated"):
            own = getattr(fleet.monitors, side).of_shards()[shard]
            assert own.pending > 20
            assert own.to_bytes() == getattr(wanted, side).to_bytes()
        gains += wanted.gain_evidence
    assert fleet.monitors.gain_evidence == pytest.approx(gains)


def test_a_prediction_that_expires_next_leaves_what_it_leaves_in_a_recalibrator():
    """Nothing else waits: the fleet sees the prediction and its end side by side, in one step."""
    fleet, alone = Fleet(1, monitor=SETTINGS), Recalibrator(seed=1, monitor=SETTINGS)
    fleet.predict("a", 0.3, id=1)
    alone.predict(0.3, id=1)
    assert fleet.expire(older_than=0) == alone.expire(older_than=0) == [1]
    for monitors in (fleet.monitors, alone.monitors):
        assert monitors.raw.evidence == 0.0
        assert monitors.raw.rounds == 1
    for name in (2, 3):
        fleet.predict("a", 0.3, id=name)
        alone.predict(0.3, id=name)
    assert fleet.monitors.raw.evidence == alone.monitors.raw.evidence > 0.0
    assert Fleet.from_bytes(fleet.to_bytes()).monitors.raw.evidence == fleet.monitors.raw.evidence


@pytest.mark.parametrize("shards", [1, 3])
def test_run_is_predict_and_update_and_pieces_do_not_show(shards):
    keys, scores, outcomes = stream(1500, 60, seed=5, off={3: 0.25, 8: -0.2})
    fleets = [Fleet(7, shards=shards, monitor=SETTINGS) for _ in range(4)]
    fleets[0].run(keys, scores, outcomes)
    for first in range(0, 1500, 130):
        rows = slice(first, first + 130)
        fleets[1].run(keys[rows], scores[rows], outcomes[rows])
        fleets[1].monitors.raw.episodes  # noqa: B018 - who looks changes nothing
        fleets[2].play(keys[rows], scores[rows], outcomes[rows], ids=[None] * len(keys[rows]))
    for row in range(1500):
        fleets[3].predict_many([keys[row]], [scores[row]], ids=[row])
        fleets[3].update_many([outcomes[row]], ids=[row])
    for each in fleets[1:]:
        assert found(each) == found(fleets[0])
        for number in range(shards):
            one, other = fleets[0].shard_arrays(number), each.shard_arrays(number)
            for name in one:
                if name.startswith("watch_"):
                    assert one[name].tobytes() == other[name].tobytes()


@pytest.mark.parametrize("shards", [1, 3])
@pytest.mark.parametrize("monitor", [True, SETTINGS, {"alpha": 0.01}, Monitor(50_000)])
def test_what_is_saved_split_or_pickled_goes_on(tmp_path, shards, monitor):
    keys, scores, outcomes = stream(3000, 50, seed=shards, off={7: 0.2})
    fleet = Fleet(7, shards=shards, monitor=monitor)
    half = slice(0, 1500), slice(1500, None)
    fleet.run(keys[half[0]], scores[half[0]], outcomes[half[0]])
    fleet.predict_many(keys[:9], scores[:9], ids=range(9))
    fleet.save(tmp_path / "fleet")
    assert found(Fleet.open(tmp_path / "fleet")) == found(fleet)
    again = [Fleet.load(tmp_path / "fleet"), Fleet.from_bytes(fleet.to_bytes())]
    again += [pickle.loads(pickle.dumps(fleet)), Fleet.merge(fleet.split(shards))]
    for each in (fleet, *again):
        each.run(keys[half[1]], scores[half[1]], outcomes[half[1]])
        each.update_many(outcomes[:9], ids=range(9))
        assert found(each) == found(fleet)
        assert each.to_bytes() == fleet.to_bytes()
    assert found(fleet)[0][-1] == 3009


def test_watching_changes_no_prediction():
    rows = keyed(4000, 80, seed=1)
    assert (Fleet(3, "logit", monitor=True).run(*rows) == Fleet(3, "logit").run(*rows)).all()
    assert Fleet(3, "logit").monitors is None


def test_keys_that_are_off_are_named_with_their_bias_the_largest_first():
    first = 0
    for seed in range(10):
        keys, scores, outcomes = stream(100_000, 300, seed, off={17: 0.2, 204: -0.1})
        fleet = Fleet(shards=1 + seed % 2, monitor=True)
        fleet.run(keys, scores, outcomes)
        named = fleet.monitors.raw.miscalibrated_keys()
        assert {each.key for each in named} <= {17, 204}
        first += bool(named) and named[0].key == 17
        if named and named[0].key == 17:
            # Four standard deviations of a mean of its outcomes, and what the start adds.
            assert named[0].bias == pytest.approx(0.2, abs=0.1)
            assert named[0].direction == "too low"
            assert fleet.monitors.raw.state == "miscalibrated"
            assert fleet.monitors.raw.miscalibrated_keys(most=1) == named[:1]
            assert fleet.monitors.raw.miscalibrated_keys(most=0) == []
        assert fleet.monitors.calibrated.miscalibrated_keys() == []
        assert fleet.monitors.calibrated.state == "calibrated"
    assert first >= 9


@pytest.mark.parametrize("shards", [1, 3])
@pytest.mark.parametrize("name", [int, str])
def test_some_of_the_keys_are_those_of_all(shards, name):
    keys, scores, outcomes = stream(6000, 40, seed=1, off=dict.fromkeys(range(15), 0.3))
    fleet = Fleet(shards=shards, monitor=SETTINGS)
    assert fleet.monitors.raw.miscalibrated_keys(among=[name(3)]) == []
    fleet.run([name(key) for key in keys.tolist()], scores, outcomes)
    fleet.predict_many([name(77)], [0.5])  # a key without an outcome
    monitor = fleet.monitors.raw
    for least in (1.0, 0.01):
        listed = monitor.miscalibrated_keys(least=least)
        assert len(listed) >= 10
        asked = [name(key) for key in (3, 5, 5, 1000, 21, 77, 9)]  # one twice, one never seen
        some = monitor.miscalibrated_keys(least=least, among=asked)
        assert some == [each for each in listed if each.key in asked]
        assert monitor.miscalibrated_keys(2, least=least, among=asked) == some[:2]
        for most in (1, 4, len(listed) - 1):
            assert monitor.miscalibrated_keys(most, least=least) == listed[:most]
    assert monitor.miscalibrated_keys(among=[]) == []


def test_of_keys_that_are_off_alike_the_name_decides():
    """Also where fewer are asked for than are alike."""
    names = ["c", "a", "d", "b"]
    fleet = Fleet(monitor=SETTINGS)
    fleet.run(names * 100, [0.2] * 400, [1] * 400)
    found = [
        [each.key for each in fleet.monitors.raw.miscalibrated_keys(most)] for most in (1, 3, 4, 9)
    ]
    assert found == [["a"], ["a", "b", "c"], ["a", "b", "c", "d"], ["a", "b", "c", "d"]]


def test_a_key_that_is_forgotten_is_off_no_more():
    keys, scores, outcomes = stream(4000, 10, seed=1, off={4: 0.25, 6: 0.25})
    fleet = Fleet(monitor=SETTINGS)
    fleet.run(keys, scores, outcomes)
    others = keys != 4
    fleet.predict_many([4], [0.5], ids=["late"])
    fleet.run(keys[others], scores[others], outcomes[others])
    assert {each.key for each in fleet.monitors.raw.miscalibrated_keys()} == {4, 6}
    six = next(each for each in fleet.monitors.raw.miscalibrated_keys() if each.key == 6)
    fleet.evict(idle=3000)
    assert fleet.monitors.raw.miscalibrated_keys() == [six]
    fleet.update_many([1], ids=["late"])
    assert fleet.monitors.raw.rounds == fleet.learned
    assert fleet.monitors.raw.miscalibrated_keys() == [six]


def test_an_interrupted_run_was_not_watched(monkeypatch):
    keys, scores, outcomes = stream(2000, 50, seed=3, off={3: 0.2})
    fleet = Fleet(shards=2, monitor=SETTINGS)
    fleet.run(keys[:500], scores[:500], outcomes[:500])
    before = found(fleet)
    monkeypatch.setattr(module, "CHUNK", 128)
    interrupt_call(monkeypatch, Shard, "run", 4)
    with pytest.raises(KeyboardInterrupt):
        fleet.run(keys, scores, outcomes)
    assert found(fleet) == before
    monkeypatch.undo()
    again = Fleet(shards=2, monitor=SETTINGS)
    again.run(keys[:500], scores[:500], outcomes[:500])
    for each in (fleet, again):
        each.run(keys, scores, outcomes)
    assert found(fleet) == found(again)


def test_monitors_that_are_stopped_lose_no_outcome(monkeypatch):
    keys, scores, outcomes = stream(2000, 50, seed=3)
    fleet = Fleet(monitor=SETTINGS)
    fleet.run(keys, scores, outcomes)

    def stopped(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(Monitor, "play_steps", stopped)
    with pytest.raises(KeyboardInterrupt):
        fleet.monitors.raw.episodes  # noqa: B018 - looking is what is stopped
    monkeypatch.undo()
    again = Fleet(monitor=SETTINGS)
    again.run(keys, scores, outcomes)
    assert found(fleet) == found(again)


@pytest.mark.parametrize("given", [{"most": -1}, {"least": 0}, {"least": 2}, {"least": np.nan}])
def test_miscalibrated_keys_refuses_nonsense(given):
    with pytest.raises(ValueError, match=next(iter(given))):
        Fleet(monitor=True).monitors.raw.miscalibrated_keys(**given)


@pytest.mark.parametrize("among", [["a", 1], ["a"], [0.5], "a"])
def test_keys_of_another_kind_are_none_of_the_keys(among):
    fleet = Fleet(monitor=True)
    fleet.run([1, 2], None, [0, 1])
    with pytest.raises(ValueError, match="keys"):
        fleet.monitors.raw.miscalibrated_keys(among=among)


def test_saved_evidence_that_makes_no_sense_is_refused():
    fleet = Fleet(monitor=True)
    fleet.run(*stream(500, 20, seed=1))
    arrays = fleet.shard_arrays(0)
    settings = {"monitor": True}
    assert found(Fleet.from_shards(settings, {0: arrays})) == found(fleet)
    for name in ("watch_keys", "watch_gain", "watch_raw", "watch_calibrated"):
        rest = {other: array for other, array in arrays.items() if other != name}
        with pytest.raises(ValueError, match="saved"):
            Fleet.from_shards(settings, {0: rest})
    other = Fleet(monitor={"every": 1000})
    other.run(*stream(500, 20, seed=1))
    more = np.vstack([arrays["watch_keys"]] * 2)
    for name, value in [
        ("watch_keys", np.full_like(arrays["watch_keys"], 255)),
        ("watch_keys", arrays["watch_keys"][:, :24]),
        ("watch_keys", more),
        ("watch_gain", np.array([np.nan])),
        ("watch_raw", other.shard_arrays(0)["watch_raw"]),
        ("watch_calibrated", arrays["watch_calibrated"][:-1]),
        ("watch_calibrated", Fleet(monitor=True).shard_arrays(0)["watch_calibrated"]),
    ]:
        with pytest.raises(ValueError, match=r".+"):
            Fleet.from_shards(settings, {0: arrays | {name: value}})
