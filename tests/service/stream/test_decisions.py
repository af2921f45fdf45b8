"""Streams that decide: their decisions are those of a `Decider`, also after a restart."""

import numpy as np
import pytest

from calibrant import Decider
from calibrant.service.store.sqlite import SqliteStore
from calibrant.service.stream.verification import check_store

ASKED = {
    "costs": {"cost_of_acting": 1, "cost_of_missing": 20, "explore": 0.1},
    "budget": {"budget": 0.05, "per": 100},
    "budget in time": {"budget": 0.05, "per": "1d", "cap": 2, "floor": 0},
    "precision": {"precision": 0.7},
    "recall": {"recall": 0.9, "explore": 0.05},
}


def play(running, first, last, scores, outcomes):
    """Predict in lists of 10, and bring the outcomes of what is acted on a list later."""
    found = []
    for start in range(first, last, 10):
        rows = [
            {"id": n, "score": float(scores[n]), "at": 1e9 + 600.0 * n}
            for n in range(start, start + 10)
        ]
        found += running.predict(rows).json()
        known = [
            {"id": each["id"], "outcome": int(outcomes[int(each["id"])]), "at": 1e9 + 600.0 * start}
            for each in found[-20:-10] if each["act"]
        ]  # fmt: skip
        if known:
            running.learn(known).raise_for_status()
    return found


@pytest.mark.parametrize("asked", ASKED.values(), ids=ASKED)
def test_decisions_are_those_of_a_decider_and_survive(start, path, asked):
    random = np.random.default_rng(1)
    scores = random.beta(1, 4, 600)
    outcomes = random.random(600) < scores
    one = start()
    one.stream(act=asked, clock="client", seed=3)
    found = play(one, 0, 300, scores, outcomes)
    decider = Decider(**asked, seed=3)
    for row in range(0, 300, 10):
        rows = found[row : row + 10]
        at = [1e9 + 600.0 * (row + n) for n in range(10)] if asked.get("per") == "1d" else None
        learns = "precision" in asked or "recall" in asked
        ids = [each["id"] for each in rows] if learns else None
        acts, chances = decider.decide_many(
            [each["smooth"] for each in rows], ids=ids, at=at, propensities=True
        )
        assert [each["act"] for each in rows] == acts.tolist()
        assert [each["propensity"] for each in rows] == chances.tolist()
        if learns and row >= 10:
            acted = [each for each in found[row - 10 : row] if each["act"]]
            came = [int(outcomes[int(each["id"])]) for each in acted]
            if acted:
                decider.update_many(came, ids=[each["id"] for each in acted])
    shown = one.http.get("/v1/streams/s").json()["acted"]
    assert (shown["rows"], shown["explored"]) == (decider.acted, decider.explored)
    again = one.predict(
        [{"id": n, "score": float(scores[n]), "at": 2e9} for n in range(290, 300)]
    ).json()
    assert [each["act"] for each in again] == [each["act"] for each in found[-10:]]
    state = one.state()
    one.stop()
    assert check_store(SqliteStore(path), lambda _: None) == []
    two = start()
    assert two.state() == state
    assert any(each["act"] for each in play(two, 300, 600, scores, outcomes))
    erased = two.http.delete("/v1/streams/s/predictions", params={"id": ["5", "599"]})
    assert erased.json()["erased"] == 2
    two.stop()
    assert check_store(SqliteStore(path), lambda _: None) == []


@pytest.mark.parametrize(
    "act",
    [{}, {"budget": 2}, {"budget": 0.1, "precision": 0.5}, {"recall": 0.9}, {"costs": 5}, 7, [],
     {"cost_of_acting": 1}, {"budget": 0.01, "per": "soon"}, {"precision": "high"}],
)  # fmt: skip
def test_a_bad_question_is_named(running, act):
    refused = running.http.put("/v1/streams/s", json={"act": act})
    assert (refused.status_code, refused.json()["field"]) == (422, "act")


def test_numbers_are_not_decided(running):
    refused = running.http.put("/v1/streams/s", json={"kind": "number", "act": {"budget": 0.1}})
    assert refused.json()["field"] == "act"


def test_a_stream_without_a_question_answers_nothing_of_it(running):
    running.stream()
    assert "act" not in running.predict({"id": "a", "score": 0.5}).json()
    assert running.http.get("/v1/streams/s").json()["acted"] is None
