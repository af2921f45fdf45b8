"""Streams of several classes: what they answer is what the library says, also after a restart."""

import numpy as np
import pytest

from calibrant import MulticlassRecalibrator
from calibrant.service.client import Client
from calibrant.service.store.sqlite import SqliteStore
from calibrant.service.stream.verification import check_store

LABELS = ["low", "medium", "high"]


def made(rows=200, seed=0):
    random = np.random.default_rng(seed)
    truth = random.dirichlet([1, 1, 1], rows)
    labels = (random.random((rows, 1)) > truth.cumsum(axis=1)).sum(axis=1)
    sharp = truth**3
    return sharp / sharp.sum(axis=1, keepdims=True), labels


@pytest.mark.parametrize("kind", ["classes", "class_logits"])
def test_a_stream_says_what_the_library_says(start, path, kind):
    running = start()
    running.stream(kind=kind, classes=LABELS, clock="client")
    scores, labels = made()
    if kind == "class_logits":
        scores = np.log(scores) + 3.0
    learner = MulticlassRecalibrator(LABELS, "logit" if kind == "class_logits" else "probability")
    for t in range(0, 200, 4):
        ids, by = [f"{i}" for i in range(t, t + 4)], ["a", None, "b", None]
        rows = [
            {"id": i, "scores": row, "by": g, "at": 1e9 + t}
            for i, row, g in zip(ids, scores[t : t + 4].tolist(), by, strict=True)
        ]
        said = learner.predict_many(scores[t : t + 4], ids=ids, by=by)
        found = running.predict(rows).json()
        assert [list(row["probabilities"].values()) for row in found] == said.tolist()
        assert list(found[0]["probabilities"]) == LABELS
        assert all(row["probability"] == row["probabilities"][row["label"]] for row in found)
        if t >= 8:
            old, came = [f"{i}" for i in range(t - 8, t - 4)], labels[t - 8 : t - 4]
            learner.update_many([LABELS[y] for y in came], ids=old)
            body = [
                {"id": i, "outcome": LABELS[y], "at": 1e9 + t}
                for i, y in zip(old, came, strict=True)
            ]
            assert running.words(body) == ["applied"] * 4
    stored = running.http.get("/v1/streams/s/predictions/5").json()
    assert stored["outcome"] == LABELS[labels[5]]
    table = running.http.get("/v1/streams/s/classes").json()
    assert [each["observed"] for each in table["classes"]] == np.bincount(labels[:192]).tolist()
    assert sum(each["mean_prediction"] for each in table["classes"]) == pytest.approx(1.0)
    assert sum(each["named"] for each in table["classes"]) == 192
    card = running.http.get("/v1/streams/s/scorecard").json()
    right = sum(each["right"] for each in table["classes"])
    assert card["calibrated"]["mean_outcome"] == pytest.approx(right / 192)
    for view in ("reliability", "history", "episodes", "pending", "groups", "experts"):
        assert running.http.get(f"/v1/streams/s/{view}").status_code == 200, view
    assert running.http.get("/v1/streams/s/map").status_code == 404
    assert len(running.http.get("/v1/streams/s/export").content) > 1000
    state, again = running.state(), running.predict(rows).json()
    assert [row["answer"] for row in again] == ["repeated"] * 4
    running.stop()
    assert check_store(SqliteStore(path), lambda _: None) == []
    assert start().state() == state


@pytest.mark.parametrize(
    "scores",
    [[0.5, 0.5], [0.5, 0.6, 0.1], [1.5, -0.5, 0.0], [0, 0, 0], "abc", None, [True, 0, 0],
     ["0.5", 0.25, 0.25], [10**400, 0, 0]],
)  # fmt: skip
def test_a_bad_row_is_named_and_changes_nothing(running, scores):
    running.stream(kind="classes", classes=LABELS)
    good = {"id": "a", "scores": [0.2, 0.3, 0.5]}
    refused = running.predict([good, {"id": "b", "scores": scores}])
    assert refused.status_code == 422
    assert (refused.json()["field"], refused.json()["row"]) == ("scores", 1)
    assert running.http.get("/v1/streams/s").json()["predictions"] == 0
    running.predict(good).raise_for_status()
    for label in ("huge", 0, None, True):
        refused = running.learn({"id": "a", "outcome": label})
        assert (refused.status_code, refused.json()["field"]) == (422, "outcome")
    assert running.http.get("/v1/streams/s").json()["outcomes"] == 0


@pytest.mark.parametrize("classes", [None, ["a"], ["a", "a"], ["a", 1], [1, True], "ab", [1.5, 2]])
def test_classes_are_needed_and_each_is_there_once(running, classes):
    refused = running.http.put("/v1/streams/s", json={"kind": "classes", "classes": classes})
    assert (refused.status_code, refused.json()["field"]) == (422, "classes")


def test_the_client_sends_rows_and_labels(running):
    with Client(running.url) as client:
        client.put_stream("s", kind="classes", classes=[10, 20])
        said = client.predict("s", [0.9, 0.1], id="a")
        assert (said.label, said.answer) == (10, "applied")
        assert said == said.probabilities["10"]
        many = client.predict_many("s", np.array([[0.2, 0.8], [0.6, 0.4]]), ids=["b", "c"])
        assert [each.label for each in many] == [20, 10]
        assert client.update("s", 20, id="a") == "applied"
        assert client.update_many("s", [20, 10], ids=["b", "c"]) == ["applied"] * 2
