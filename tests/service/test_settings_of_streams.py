"""Every setting of ``PUT /v1/streams/{name}`` does over HTTP what it does in the library."""

import math

import numpy as np
import pytest

from calibrant import Fleet, Recalibrator

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


class Plain:
    """A recalibrator, asked as a fleet is."""

    def __init__(self, **settings):
        self.inside = Recalibrator(**settings)

    def predict_many(self, _keys, scores, *, ids, at, due):
        return self.inside.predict_many(scores, ids=ids, at=at, due=due)

    def __getattr__(self, name):
        return getattr(self.inside, name)


@pytest.mark.parametrize("keyed", [False, True], ids=["plain", "keyed"])
@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)
def test_a_stream_says_what_the_library_says(running, settings, keyed):
    """Outcomes come with the batch after that of their predictions."""
    running.stream(clock="told", keyed=keyed, **settings)
    spans = [settings[name] for name in ("after", "hold") if name in settings]
    timed = isinstance(spans[0], str) if spans else "silence" in settings
    learner = (Fleet if keyed else Plain)(**settings)
    before = None
    for number, scores, outcomes, announced in played():
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
        said = learner.predict_many(keys, scores, ids=ids, at=time, due=due)
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
            learner.predict_many(scores, ids)
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
        for number in range(20):
            rows = [{"id": f"{number} {row}", "score": 0.5} for row in range(50)]
            answers = running.predict(rows, name).json()
            said[name] += [row["probability"] for row in answers]
            less = [{"id": row["id"], "outcome": row["probability"] < 0.5} for row in answers]
            running.learn(less, name)
    assert said["one"] == said["same"]
    assert said["one"] != said["other"]
