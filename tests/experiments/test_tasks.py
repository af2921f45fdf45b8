"""Tasks: what they name, what they are measured by, and that a seed decides everything."""

import numpy as np
import pytest

from calibrant import Interval, Refined, Zoom, measures
from calibrant.experiments import TASK_MEASURES, Result, Task, measure_task, plan, tasks
from calibrant.experiments.tasks import Identity
from calibrant.forecasters.named import FORECASTERS, make, parameters
from calibrant.forecasters.rivals import FosterHart
from calibrant.streams import FAMILIES, Chaser, load, named, play

STREAMS = ("drift", "piecewise:segments=3", "greedy:norm=l2", "chaser", "quakes6h")


@pytest.mark.parametrize("stream", STREAMS)
def test_the_measures_of_a_task_are_those_of_its_rounds(stream):
    """Each measure once more, by its own function, on the same rounds."""
    result = measure_task(Task("refined", stream, 300, seed=5), TASK_MEASURES)
    values = result.values
    forecaster = Refined(seed=5)
    source = named.find(stream, rounds=300, seed=5)
    if source.adversary is None:
        outcomes, predictions = source.outcomes, forecaster.run(source.outcomes)
    else:
        game = play(forecaster, source.adversary, 300)
        outcomes, predictions = game.outcomes, game.predictions
    _, distributions = Refined(seed=5).trace(outcomes)
    for name in ("cal1", "cal2", "klcal", "ece", "brier", "log_loss", "smece"):
        expected = getattr(measures, name)(predictions, outcomes)
        assert values[name] == pytest.approx(expected, rel=1e-9), name
    assert values["smooth_calibration"] == measures.smooth_calibration(predictions, outcomes)
    assert values["pcal2"] == pytest.approx(measures.pcal2(distributions, outcomes), rel=1e-9)
    assert values["pklcal"] == pytest.approx(measures.pklcal(distributions, outcomes), rel=1e-9)
    assert values["points"] == len(np.unique(predictions))
    if stream in ("drift", "piecewise:segments=3"):
        assert result.deviation == source.deviation > 0
        assert result.segments == source.segments
    else:
        assert result.deviation is result.segments is None
    assert values.keys() == set(TASK_MEASURES)


def test_pseudo_errors_do_not_depend_on_how_many_rounds_are_held_at_a_time(monkeypatch):
    task = Task("swap:intervals=7", "drift", 1000, seed=1)
    whole = measure_task(task, ["pcal2", "pklcal"])
    monkeypatch.setattr("calibrant.experiments.tasks.CHUNK", 64)
    assert measure_task(task, ["pcal2", "pklcal"]) == whole


def test_two_forecasters_with_a_seed_see_the_same_outcomes():
    for stream in ("iid:mean=0.3", "random_walk", "corrupted:budget=T/10,shape=burst"):
        first = named.find(stream, rounds=500, seed=3).outcomes
        measure_task(Task("zoom", "drift", 100, seed=9))  # something in between
        assert np.array_equal(first, named.find(stream, rounds=500, seed=3).outcomes)
        assert not np.array_equal(first, named.find(stream, rounds=500, seed=4).outcomes)
    family = FAMILIES["corrupted"](500, budget=50.0, shape="burst", seed=3)
    assert np.array_equal(first, family.outcomes)


def test_an_adversary_has_the_seed_of_its_task():
    values = measure_task(Task("zoom", "chaser:step=0.01", 400, seed=6), ["cal1"]).values
    game = play(Zoom(seed=6), Chaser(0.01, seed=6), 400)
    assert values["cal1"] == pytest.approx(measures.cal1(game.predictions, game.outcomes))


@pytest.mark.parametrize("name", FORECASTERS)
def test_every_name_makes_a_forecaster(name):
    forecaster = make(name, seed=3)
    assert forecaster.seed == 3
    assert forecaster.rounds == 0


def test_parameters_and_formulas():
    assert make("foster-hart:gaps=46").gaps == 46
    assert make("foster-hart:horizon=T", rounds=10**6).gaps == FosterHart.for_horizon(10**6).gaps
    assert make("foster-hart:gaps=T^0.5", rounds=10_000).gaps == 100
    assert make("foster-hart:gaps=1e2").gaps == 100
    refined = make("refined:measure=l1, deviation=2*C, horizon=T", rounds=800, deviation=7.5)
    assert (refined.measure, refined.deviation, refined.horizon) == ("l1", 15.0, 800)
    known = make("interval:deviation=C,horizon=T", rounds=10**5, deviation=100.0)
    assert known.intervals == Interval.for_deviation(100.0, 10**5).intervals
    assert parameters("interval:horizon=T") == ("interval", {"horizon": "T"})
    source = named.find("piecewise:levels=0.2/0.8,random_lengths=true", rounds=100)
    assert source.segments == 2
    assert named.parameters("iid:mean=.50") == named.parameters("iid:mean=0.5")


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("zom", ["forecaster must be one of 'event-forecaster', 'zoom'", "'zom'"]),
        ("", ["forecaster must be a name"]),
        ("zoom:cells=3", ["'zoom' has no parameter 'cells'", "no parameters"]),
        ("foster-hart:bins=3", ["no parameter 'bins'", "takes gaps or horizon"]),
        ("foster-hart:gaps=3,horizon=T", ["does not take gaps, horizon together"]),
        ("foster-hart:seed=3", ["no parameter 'seed'"]),
        ("foster-hart:gaps=many", ["gaps must be an integer", "'many'"]),
        ("foster-hart:gaps=0.5", ["gaps must be an integer", "'0.5'"]),
        ("foster-hart:gaps=0", ["'foster-hart:gaps=0'", "gaps must be an integer in [1,"]),
        ("foster-hart:gaps", ["key=value", "'gaps'"]),
        ("foster-hart:gaps=3,gaps=4", ["'gaps' twice"]),
        ("foster-hart:horizon=T", ["needs T, the number of rounds", "not known"]),
        ("refined:deviation=C", ["needs C, the deviation of the stream", "not known"]),
    ],
)
def test_a_bad_forecaster_is_named(spec, words):
    with pytest.raises(ValueError, match="forecaster") as caught:
        make(spec)
    for word in words:
        assert word in str(caught.value)


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("drft", ["stream must be one of 'iid'", "'greedy'", "'nycflights'", "'file'"]),
        ("drift:speed=3", ["'drift' has no parameter 'speed'", "level, amplitude, periods"]),
        ("iid:mean=2", ["'iid:mean=2'", "mean must be a number in [0.0, 1.0]"]),
        ("corrupted", ["corrupted", "budget"]),
        ("corrupted:budget=C", ["needs C", "not known"]),
        ("nycflights:rounds=3", ["no parameter 'rounds'"]),
        ("file:", ["file:PATH"]),
        ("file", ["file:PATH"]),
        ("file:missing.csv", ["missing.csv", "No such file"]),
    ],
)
def test_a_bad_stream_is_named(spec, words):
    with pytest.raises(ValueError, match=r".") as caught:
        named.find(spec, rounds=100)
    for word in words:
        assert word in str(caught.value)


def test_files_are_known_by_their_content(tmp_path):
    path = tmp_path / "a,b.csv"
    path.write_text("day,hit\n" + "1,1\n2,0\n" * 20)
    spec = f"file:{path}#hit"
    assert named.length(spec) == 40
    assert named.find(spec, rounds=3).outcomes.tolist() == [1.0, 0.0, 1.0]
    before = named.parameters(spec)
    path.write_text("day,hit\n" + "1,0\n" * 10)
    assert named.length(spec) == 10
    assert named.find(spec, rounds=2).outcomes.tolist() == [0.0, 0.0]
    assert named.parameters(spec) != before
    with pytest.raises(ValueError, match="has 10 rounds, not 11"):
        named.find(spec, rounds=11)


def test_a_plan_plays_a_short_stream_whole_and_once():
    most = len(load("quakes6h"))
    tasks = plan(["zoom"], ["quakes6h", "drift"], [100, 10**5, 10**6], seeds=2)
    assert sorted({task.rounds for task in tasks if task.stream == "quakes6h"}) == [100, most]
    assert sorted({task.rounds for task in tasks if task.stream == "drift"}) == [100, 10**5, 10**6]
    assert len(tasks) == len(set(tasks)) == 2 * 2 + 3 * 2


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (([], ["drift"], [10], 1), "forecasters must not be empty"),
        ((["zoom"], [], [10], 1), "streams must not be empty"),
        ((["zoom"], ["drift"], [], 1), "horizons must not be empty"),
        ((["zoom"], ["drift"], [0], 1), "horizons must be an integer"),
        ((["zoom"], ["drift"], [10], 0), "seeds must be an integer"),
    ],
)
def test_an_empty_plan_is_refused(arguments, word):
    with pytest.raises(ValueError, match=word):
        plan(*arguments)


def test_a_task_checks_its_numbers():
    with pytest.raises(ValueError, match="rounds must be an integer"):
        Task("zoom", "drift", 0)
    with pytest.raises(ValueError, match="seed must be an integer"):
        Task("zoom", "drift", 10, seed=-1)
    with pytest.raises(ValueError, match="measures must be one of"):
        measure_task(Task("zoom", "drift", 10), ["cal3"])


def test_a_measure_that_is_no_number_is_an_error(monkeypatch):
    monkeypatch.setitem(tasks.FROM_ROUNDS, "smece", lambda *_: float("nan"))
    with pytest.raises(ValueError, match="smece is not a number"):
        measure_task(Task("zoom", "drift", 10), ["cal1", "smece"])


@pytest.mark.parametrize(
    ("written", "plain"),
    [
        ("iid:mean=.50", "iid:mean=0.5"),
        (
            "piecewise:random_lengths=TRUE, levels=.2/0.80",
            "piecewise:levels=0.2/0.8,random_lengths=true",
        ),
        ("corrupted:shape=burst,budget=T/10", "corrupted:budget=T/10,shape=burst"),
        ("seattle_rain", "seattle_rain"),
    ],
)
def test_specs_that_mean_the_same_have_one_identity(written, plain):
    one, other = (Task("zoom", stream, 100) for stream in (written, plain))
    assert Identity.of(one, ["cal1", "cal1"]) == Identity.of(other, ["cal1"])
    assert Result.of(one, {}).task == other
