"""Every setting of ``PUT /v1/streams/{name}`` does over HTTP what it does in the library."""

import math
from pathlib import Path

import numpy as np
import pytest
from jsonschema import Draft202012Validator

from calibrant import Fleet, Recalibrator
from calibrant.service.problems import Problem
from calibrant.service.stream.definition import Definition

#: Batches are a little more than an hour apart, so that no deadline falls on a row.
BATCH, STEP = 40, 3700.0
SETTINGS = {
    "none": {},
    "kind logit": {"kind": "logit"},
    "kind margin": {"kind": "margin"},
    "seed": {"seed": 11},
    "silence and after, in time": {"silence": 0, "after": "2h"},
    "silence and after, in predictions": {"silence": 1, "after": 100},
    "silence with deadlines of the rows": {"silence": 0},
    "hold, in time": {"hold": "3h"},
    "hold, in predictions": {"hold": 90},
}


def played(seed=3, batches=15):
    """Return batches of scores, outcomes, and whether each is announced."""
    random = np.random.default_rng(seed)
    for number in range(batches):
        scores = random.random(BATCH)
        outcomes = (random.random(BATCH) < scores**2).astype(float)
        yield number, scores, outcomes, random.random(BATCH) < 0.6


@pytest.mark.parametrize("keyed", [False, True], ids=["plain", "keyed"])
@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)
def test_a_stream_says_what_the_library_says(running, settings, keyed):
    """Outcomes come with the batch after that of their predictions."""
    running.stream(clock="client", keyed=keyed, **settings)
    spans = [settings[name] for name in ("after", "hold") if name in settings]
    timed = isinstance(spans[0], str) if spans else "silence" in settings
    learner = (Fleet if keyed else Recalibrator)(**settings)
    before = None
    for number, scores, outcomes, announced in played(batches=8):
        at, ids = 1e9 + STEP * number, [f"{number} {row}" for row in range(BATCH)]
        time, keys = at if timed else None, [row % 7 for row in range(BATCH)]
        due = None if spans or not timed else [at + 510.0 * (row + 1) for row in range(BATCH)]
        if before is not None:
            known, names = before
            heard = zip(names, known, strict=True)
            body = [{"id": id_, "outcome": outcome, "at": at} for id_, outcome in heard]
            assert running.words(body) == learner.update_many(known, ids=names, at=time).tolist()
        rows = [{"id": i, "score": s, "at": at} for i, s in zip(ids, scores.tolist(), strict=True)]
        for row, key, end in zip(rows, keys, due or [None] * BATCH, strict=True):
            row.update(({"key": key} if keyed else {}) | ({"due": end} if end else {}))
        answer = running.predict(rows).json()
        first = (keys, scores) if keyed else (scores,)
        said = learner.predict_many(*first, ids=ids, at=time, due=due)
        assert [row["probability"] for row in answer] == said.tolist(), number
        before = outcomes[announced], [ids[row] for row in np.flatnonzero(announced)]
    found = running.http.get("/v1/streams/s").json()
    assert found["settled"] == learner.learned > 0
    assert found["settings"] | settings == found["settings"]
    assert found["waiting"] == learner.pending
    scored = running.http.get("/v1/streams/s/map?points=3").json()
    assert (scored["raw"] is None) == (settings.get("kind") == "margin")


def test_the_kind_says_what_a_score_is(running):
    for kind in ("probability", "logit", "margin"):
        running.stream(kind, kind=kind)
    row = {"id": "a", "score": 2.0}
    assert running.predict(row, "probability").json()["field"] == "score"
    assert running.predict(row, "logit").json()["raw"] == 1 / (1 + math.exp(-2.0))
    assert running.predict(row, "margin").json()["raw"] is None


def test_tolerance_and_every_are_those_of_the_monitors(running):
    settings = {"loose": {"tolerance": 0.4}, "strict": {"tolerance": 0.0, "every": 1000}}
    for name, own in settings.items():
        running.stream(name, **own)
        learner = Recalibrator(monitor={"every": 1_000_000} | own)
        monitor = learner.monitors.raw
        for number, scores, outcomes, _ in played():
            ids = [f"{number} {row}" for row in range(BATCH)]
            columns = zip(ids, scores.tolist(), outcomes.tolist(), strict=True)
            rows = [({"id": i, "score": s}, {"id": i, "outcome": y}) for i, s, y in columns]
            running.predict([row for row, _ in rows], name)
            running.learn([row for _, row in rows], name)
            learner.predict_many(scores, ids=ids)
            learner.update_many(outcomes, ids=ids)
        found = running.http.get(f"/v1/streams/{name}").json()
        assert found["evidence"]["raw"] == monitor.evidence
        assert found["verdict"]["raw"] == monitor.state
    assert monitor.state == "miscalibrated"  # the strict one's, which is the last


def test_groups_are_bounded(running):
    running.stream(groups=2)
    rows = [{"id": name, "score": 0.5, "by": name} for name in "abc"]
    assert running.predict(rows[:2]).status_code == 200
    problem = running.predict(rows).json()
    assert (problem["field"], problem["allowed"]) == ("by", "2 groups")
    assert running.predict({"id": "d", "score": 0.5}).status_code == 200


def test_a_seed_makes_the_draws(running):
    """What happens is always the less likely: only a draw is safe from that."""
    said = {}
    for name, seed in (("one", 1), ("same", 1), ("other", 2)):
        running.stream(name, seed=seed)
        said[name] = []
        for number in range(50):
            rows = [{"id": f"{number} {row}", "score": 0.5} for row in range(20)]
            answers = running.predict(rows, name).json()
            said[name] += [row["probability"] for row in answers]
            less = [{"id": row["id"], "outcome": row["probability"] < 0.5} for row in answers]
            running.learn(less, name)
    assert said["one"] == said["same"]
    assert said["one"] != said["other"]


# -- one declaration: the schema, the checks and the documentation --------------------------------

#: Values to try for each setting, good and bad, at the bounds and beyond them.
TRIED = {
    "kind": ["probability", "logit", "margin", "number", "score", None, 1],
    "silence": [0, 1, 1.0, None, 2, True, "0", 0.5],
    "after": [1, 2.5, 1e9, 1e9 + 1, 0, 0.5, "30d", "1.5h", "90min", "0d", "soon", "5", None, True],
    "hold": [1, 1e9, "30d", "1.5h", "2 w", "-1d", "", None, [], False],
    "groups": [0, 5.0, 1_000_000, 1_000_001, -1, "many", True, None],
    "capacity": [10_000, 5_000_000, 9_999, 5_000_001, 1e4, None],
    "tolerance": [0, 0.02, 0.4999, 0.5, -0.1, True, "0", None],
    "every": [100, 10**15, 99, 10**15 + 1, 100.5, None],
    "clock": ["server", "client", "told", None],
    "seed": [0, 2**53, 2**53 + 1, -1, 1.5, None],
    "keyed": [True, False, 1, None],
    "watch_keys": [True, False, 0, None],
    "levels": [[0.1, 0.9], [0.1, 2], [0.5], "some", None],
    "periods": [[7], [], [1], [7.5], None],
    "bounds": [[0, None], [0], [None, "a"], None],
    "color": ["red"],
}


def tried(seed, count):
    """Return settings of a few fields each."""
    random = np.random.default_rng(seed)
    names = list(TRIED)
    for _ in range(count):
        chosen = random.permutation(names)[: random.integers(0, 6)]
        yield {name: TRIED[name][random.integers(len(TRIED[name]))] for name in chosen.tolist()}


def is_accepted(settings):
    try:
        Definition.from_json(settings)
    except Problem as problem:
        return not (problem.field in settings and problem.allowed)  # a refusal that says why
    return True


def test_the_schema_accepts_what_the_service_accepts():
    validator = Draft202012Validator({"oneOf": list(Definition.schemas().values())})
    answers = []
    for settings in tried(5, 4000):
        answers.append(is_accepted(settings))
        assert validator.is_valid(settings) == answers[-1], settings
    assert 400 < sum(answers) < 3600


@pytest.mark.parametrize("keyed", [False, True])
def test_what_is_accepted_makes_a_stream(keyed):
    """The declared bounds are within those of the library."""
    for settings in tried(6, 1500):
        settings["keyed"] = keyed
        if is_accepted(settings) and settings.get("capacity", 0) <= 10_000:
            definition = Definition.from_json(settings)
            definition.monitor()
            definition.of_kind.learner(definition)


def test_the_documentation_has_the_declared_settings():
    page = Path(__file__).parents[3] / "docs" / "service.md"
    assert Definition.table() in page.read_text()


def test_openapi_has_the_declared_schema_and_a_model_for_every_answer(running):
    document = running.http.get("/openapi.json").json()
    body = document["paths"]["/v1/streams/{name}"]["put"]["requestBody"]
    components = document["components"]["schemas"]
    named = [f"#/components/schemas/{name}" for name in Definition.schemas()]
    shown = body["content"]["application/json"]["schema"]["oneOf"]
    assert [each["$ref"] for each in shown] == named
    assert components | Definition.schemas() == components
    operations = [each for methods in document["paths"].values() for each in methods.values()]
    names = [each["operationId"] for each in operations]
    assert len(set(names)) == len(names)
    assert max(map(len, names)) <= 30
    assert document["components"]["securitySchemes"]["token"]["scheme"] == "bearer"
    assert sum(each["security"] == [] for each in operations) == 2  # the probes
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            for status, response in operation["responses"].items():
                kinds = response["content"]
                assert kinds, (path, method, status)
                assert all(kind["schema"] for kind in kinds.values()), (path, method, status)
