"""Streams of numbers: what they answer is what the library says, and a restart goes on from it."""

import numpy as np
import pytest

from calibrant import NumberRecalibrator
from calibrant.service.problems import Problem
from calibrant.service.stream.definition import Definition
from calibrant.service.stream.engine import Engine

LEVELS = [0.05, 0.25, 0.5, 0.75, 0.95]


def played(rounds=120, seed=0):
    random = np.random.default_rng(seed)
    m = random.normal(size=rounds)
    return m, m + random.normal(size=rounds) * np.repeat([1.0, 3.0], rounds // 2)


def test_a_stream_says_what_the_library_says_late_and_in_groups(running):
    running.stream(kind="number", bounds=[-50, None], clock="client")
    learner = NumberRecalibrator(bounds=(-50, None))
    m, y = played()
    for t in range(0, 120, 4):
        ids, by = [f"{i}" for i in range(t, t + 4)], ["a", None, "b", None]
        rows = [
            {"id": i, "forecast": f, "by": g, "at": 1e9 + t}
            for i, f, g in zip(ids, m[t : t + 4].tolist(), by, strict=True)
        ]
        said = learner.predict_many(m[t : t + 4], ids=ids, by=by)
        found = running.predict(rows).json()
        assert [list(row["quantiles"].values()) for row in found] == said.quantiles.tolist()
        assert list(found[0]["quantiles"])[:3] == ["0.01", "0.02", "0.03"]
        low, high = said.interval(0.9)
        assert [row["intervals"]["0.9"] for row in found] == np.column_stack([low, high]).tolist()
        if t >= 8:  # two requests late
            old = [f"{i}" for i in range(t - 8, t - 4)]
            learner.update_many(y[t - 8 : t - 4], ids=old)
            body = [
                {"id": i, "outcome": z, "at": 1e9 + t}
                for i, z in zip(old, y[t - 8 : t - 4].tolist(), strict=True)
            ]
            assert running.words(body) == ["applied"] * 4
    again = running.predict(rows).json()
    assert [row["answer"] for row in again] == ["repeated"] * 4
    assert [row["quantiles"] for row in again] == [row["quantiles"] for row in found]
    summary = running.http.get("/v1/streams/s").json()
    assert summary["kind"] == "number"
    assert summary["settled"] == learner.learned == 112
    card = running.http.get("/v1/streams/s/scorecard").json()
    assert card["rounds"] == 112
    assert [each["coverage"] for each in card["intervals"]] == [0.5, 0.8, 0.9]
    fan = running.http.get("/v1/streams/s/fan?points=4").json()
    assert sorted(fan["outcome"]) == sorted(y[108:112].tolist())  # a batch has no order
    assert [len(column) for column in fan["quantiles"]] == [4] * 5
    covered = running.http.get("/v1/streams/s/coverage").json()
    assert sum(covered["pit"]) == 112
    assert running.http.get("/v1/streams/s/history").json()["buckets"]["count"] == [32] * 3 + [16]
    assert running.http.get("/v1/streams/s/groups").json()["count"] == 2
    assert running.http.get("/v1/streams/s/pending").json()["rows"][0]["forecast"] == m[112]
    for view in ("reliability", "map"):
        assert running.http.get(f"/v1/streams/s/{view}").status_code == 404


def test_a_missing_forecast_and_a_model_with_a_spread(running):
    running.stream(kind="number", levels=LEVELS)
    learner = NumberRecalibrator(LEVELS)
    missing = running.predict({"id": "a", "forecast": None}).json()
    assert list(missing["quantiles"].values()) == learner.predict(np.nan, id="a").quantiles.tolist()
    given = running.predict({"id": "b", "forecast": 3.0, "scale": 2.0}).json()
    said = learner.predict(3.0, scale=2.0, id="b")
    assert list(given["quantiles"].values()) == said.quantiles.tolist()
    row = {"id": "c", "forecast": None, "quantiles": [1, 2, 4], "levels": [0.1, 0.5, 0.9]}
    said = learner.predict(quantiles=[1, 2, 4], levels=[0.1, 0.5, 0.9], id="c")
    assert list(running.predict(row).json()["quantiles"].values()) == said.quantiles.tolist()
    assert running.predict(row).json()["answer"] == "repeated"
    assert running.predict({**row, "quantiles": [1, 2, 5]}).json()["answer"] == "conflict"


@pytest.mark.parametrize(
    ("row", "field"),
    [
        ({"id": "a", "score": 0.5}, "score"),
        ({"id": "a"}, "forecast"),
        ({"id": "a", "forecast": "7"}, "forecast"),
        ({"id": "a", "forecast": 1e300}, "forecast"),
        ({"id": "a", "forecast": 1, "scale": -1}, "scale"),
        ({"id": "a", "forecast": 1, "quantiles": [3, 2], "levels": [0.1, 0.9]}, "quantiles"),
        ({"id": "a", "forecast": 1, "quantiles": "all"}, "quantiles"),
        ({"id": "a", "forecast": 1, "key": 5}, "key"),
    ],
)
def test_a_bad_row_is_refused_and_changes_nothing(running, row, field):
    running.stream(kind="number")
    before = running.state()
    answer = running.predict([{"id": "fine", "forecast": 1.0, "scale": 1.0}, row])
    assert answer.status_code == 422
    assert answer.json()["field"] == field
    assert answer.json()["allowed"]
    assert running.state() == before


def test_an_outcome_is_within_the_bounds(running):
    running.stream(kind="number", bounds=[0, None])
    running.predict({"id": "a", "forecast": 1.0})
    answer = running.learn({"id": "a", "outcome": -1.0})
    assert (answer.status_code, answer.json()["field"]) == (422, "outcome")
    assert running.learn({"id": "a", "outcome": 1.5}).json()["answer"] == "applied"


@pytest.mark.parametrize(
    "settings",
    [
        {"kind": "number", "silence": 0},
        {"kind": "number", "keyed": True},
        {"kind": "number", "levels": [0.9, 0.1]},
        {"kind": "number", "bounds": [1, 0]},
        {"levels": [0.1, 0.9]},
    ],
)
def test_settings_that_a_kind_does_not_have_are_refused(settings):
    with pytest.raises(Problem) as caught:
        Definition.from_json(settings)
    assert caught.value.field in settings
    assert caught.value.allowed


def test_portions_make_no_difference_and_a_state_goes_on():
    """The state after a replay, measured in other portions, is the same bit for bit."""
    definition = Definition.from_json({"kind": "number", "every": 100})
    m, y = played(400)
    one, other = Engine(definition), Engine(definition)
    for t in range(400):
        for engine in (one, other):
            engine.predict([str(t)], [float(m[t])], at=[float(t)])
            if t >= 3:
                engine.learn([str(t - 3)], [float(y[t - 3])], at=[float(t)])
        one.measure()
        if t == 200:
            other = Engine.from_bytes(other.to_bytes(), definition)
    assert one.to_bytes() == other.to_bytes()
    assert one.measures.card.rounds == 397
