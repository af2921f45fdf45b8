"""What there is to see: views, events, metrics, export, the documents."""

import io
import json
import re
import threading

import numpy as np
import pytest

from calibrant import Recalibrator
from calibrant.measures import Scorecard
from naive.draws import scramble


@pytest.fixture
def played(running):
    """Return a service with a stream whose model says half of what happens, and what was played."""
    running.stream(seed=5, every=1000)
    random = np.random.default_rng(0)
    scores = random.random(4000)
    outcomes = (random.random(4000) < 1 - scores).astype(float)
    for start in range(0, 4000, 500):
        ids = [f"r{n}" for n in range(start, start + 500)]
        rows = zip(ids, scores[start:], strict=False)
        by = {"by": "north"} if start % 1000 else {}
        running.predict([{"id": id_, "score": score} | by for id_, score in rows])
        rows = zip(ids, outcomes[start:], strict=False)
        if start < 3500:
            running.words([{"id": id_, "outcome": outcome} for id_, outcome in rows])
    running.scores, running.outcomes = scores, outcomes
    return running


def test_views_agree_with_the_library(played):
    """Play the same rows offline, through the classes that everybody can import."""
    recalibrator, card = Recalibrator(seed=5, monitor={"every": 1000}), Scorecard()
    for start in range(0, 4000, 500):
        part = slice(start, start + 500)
        by = ["north"] * 500 if start % 1000 else None
        ids = list(range(start, start + 500))
        said = recalibrator.predict_many(played.scores[part], ids=ids, by=by)
        if start < 3500:
            recalibrator.update_many(played.outcomes[part], ids=ids)
            card.extend(said, played.outcomes[part])
    monitor, raw = recalibrator.monitors.calibrated, recalibrator.monitors.raw
    get = lambda path: played.http.get(f"/v1/streams/s{path}").json()  # noqa: E731
    found = get("")
    assert found["mean_prediction"] == card.mean_prediction
    assert found["error"]["calibrated"] == pytest.approx(card.ece, rel=1e-12)
    assert found["evidence"] == {"raw": raw.evidence, "calibrated": monitor.evidence}
    assert (found["settled"], found["waiting"], found["groups"]) == (3500, 500, 1)
    assert found["verdict"]["raw"] == raw.state == "miscalibrated"
    assert get("/scorecard")["calibrated"]["brier"] == card.brier
    table = card.reliability(10)
    assert (
        get("/reliability")["calibrated"]["mean_outcome"]
        == table.mean_outcome[table.count > 0].tolist()
    )
    points = np.linspace(0, 1, 5)
    assert get("/map?points=5")["probability"] == recalibrator.expected(points).tolist()
    north = recalibrator.expected(points, by=["north"] * 5).tolist()
    assert get("/map?points=5&by=north")["probability"] == north
    episodes = get("/episodes")
    assert len(episodes["raw"]) == len(raw.episodes)
    assert [each["alarm"] for each in episodes["raw"]] == [each.alarm for each in raw.episodes]
    assert episodes["raw"][0]["alarm_at"] > 1e9
    group = get("/groups")["groups"][0]
    assert (group["name"], group["predictions"], group["settled"]) == ("north", 2000, 1500)


def test_history_adds_up(played):
    history = played.http.get("/v1/streams/s/history").json()
    buckets = {name: np.array(values, dtype=float) for name, values in history["buckets"].items()}
    count = buckets["count"]
    assert count.sum() == 3500
    assert history["rows_a_bucket"] == count[0]
    happened = (buckets["mean_outcome"] * count).sum() / 3500
    assert happened == pytest.approx(played.outcomes[:3500].mean(), abs=1e-9)
    raw = (buckets["mean_raw"] * count).sum() / 3500
    assert raw == pytest.approx(played.scores[:3500].mean(), abs=1e-9)
    # Rows that arrived together are measured in the order in which they are learned.
    first = sorted(range(500), key=lambda number: scramble(number + 1))[: int(count[0])]
    p, y = played.scores[first], played.outcomes[first]
    bins = np.minimum(p * 10, 9).astype(int)
    error = sum(abs((y - p)[bins == each].sum()) for each in range(10)) / count[0]
    assert buckets["error_raw"][0] == pytest.approx(error, abs=1e-8)
    assert (np.diff(buckets["start"]) >= 0).all()


def test_a_history_of_any_length_is_bounded():
    from calibrant.service.stream.history import MOST_BUCKETS, History  # noqa: PLC0415

    random = np.random.default_rng(1)
    whole, parts = History(), History()
    names = ("raw", "prediction", "smooth", "outcome", "evidence", "evidence_raw", "delay")
    columns = {name: random.random(50_000) for name in names}
    columns |= {"at": np.arange(50_000.0), "waiting": np.arange(50_000.0)}
    whole.add(columns)
    start = 0
    while start < 50_000:
        end = start + int(random.integers(1, 3000))
        parts.add({name: column[start:end] for name, column in columns.items()})
        start = end
    assert whole.to_bytes() == parts.to_bytes() == History.from_bytes(whole.to_bytes()).to_bytes()
    assert MOST_BUCKETS / 2 <= whole.used <= MOST_BUCKETS
    seen = whole.columns()
    assert seen["count"].sum() == 50_000
    total = (seen["mean_prediction"] * seen["count"]).sum()
    assert total == pytest.approx(columns["prediction"].sum(), rel=1e-9)
    assert seen["waiting"][-1] == 49_999
    assert seen["evidence_calibrated"].max() == columns["evidence"].max()


def events_of(lines, until):
    """Read server-sent events until one of a kind came."""
    found, event = [], {}
    for line in lines:
        if not line:
            if "data" in event:
                found.append(event)
                if event["event"] == until:
                    return found
            event = {}
        else:
            name, _, value = line.partition(": ")
            event[name] = value
    return found


def test_events_are_told_and_resumed(played):
    get = played.http.get
    stored = get("/v1/events?format=json&after=0").json()["events"]
    kinds = [event["kind"] for event in stored]
    assert kinds[0] == "stream.created"
    assert "episode.opened" in kinds
    (opened,) = [event for event in stored if event.get("of") == "raw"]
    assert (opened["stream"], opened["kind"]) == ("s", "episode.opened")
    assert opened["episode"]["text"]
    with played.http.stream("GET", "/v1/events", headers={"last-event-id": "1"}) as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        sender = threading.Timer(0.5, played.predict, [{"id": "new", "score": 0.5}])
        sender.start()
        found = events_of(answer.iter_lines(), "progress")
        sender.join()
    assert [int(event["id"]) for event in found[:-1]] == [each["number"] for each in stored[1:]]
    assert "id" not in found[-1]
    progress = json.loads(found[-1]["data"])
    assert (progress["name"], progress["predictions"]) == ("s", 4001)
    assert get("/v1/events", headers={"last-event-id": "x"}).status_code == 422


def test_those_who_follow_are_bounded_and_let_go(running, monkeypatch):
    monkeypatch.setattr("calibrant.service.listeners.MOST_LISTENERS", 1)
    running.stream()
    with running.http.stream("GET", "/v1/streams/s/events") as answer:
        lines = answer.iter_lines()
        next(lines)
        with running.http.stream("GET", "/v1/events") as refused:
            assert refused.status_code == 503
        running.service.listeners.close()
        assert list(lines)[-1] == ""  # it ends
    assert len(running.service.listeners) == 0


def test_metrics_by_stream(played):
    text = played.http.get("/metrics").text
    assert 'calibrant_predictions_total{stream="s"} 4000.0' in text
    assert 'calibrant_outcomes_total{stream="s"} 3500.0' in text
    assert 'calibrant_miscalibrated{of="raw",stream="s"} 1.0' in text
    assert re.search(r'calibrant_evidence\{of="calibrated",stream="s"\} [\d.e-]+', text)
    assert "r17" not in text


def test_export_has_every_row(played):
    parquet = pytest.importorskip("pyarrow.parquet")
    answer = played.http.get("/v1/streams/s/export")
    table = parquet.read_table(io.BytesIO(answer.content))
    assert table["id"].to_pylist() == [f"r{n}" for n in range(4000)]
    assert table["score"].to_pylist() == played.scores.tolist() == table["raw"].to_pylist()
    assert table["outcome"].to_pylist()[:3500] == played.outcomes[:3500].tolist()
    assert table["outcome"].null_count == 500
    assert played.words([{"id": "r0", "outcome": 0}])[0] in ("repeated", "conflict")


def test_margins_have_no_raw_probability(running):
    running.stream(kind="margin")
    row = running.predict({"id": "a", "score": -3.5}).json()
    assert row["raw"] is None
    running.learn({"id": "a", "outcome": 0})
    get = lambda path: running.http.get(f"/v1/streams/s{path}").json()  # noqa: E731
    assert get("/scorecard")["raw"] is None
    assert get("/reliability")["raw"] is None
    assert get("/episodes")["raw"] is None
    assert get("/history")["buckets"]["mean_raw"] is None
    assert get("")["verdict"]["raw"] is None
    assert get("/map?points=3")["score"] == [-3.5, -3.5, -3.5]


def test_the_documents_ask_nobody_else(running):
    page = running.http.get("/docs").text
    assert not re.search(r'(src|href)="(https?:)?//', page)
    assert "/v1/streams/{name}/predictions" in page
    assert "<script" not in page
    document = running.http.get("/openapi.json").json()
    body = document["paths"]["/v1/streams/{name}/outcomes"]["post"]["requestBody"]
    example = body["content"]["application/json"]["examples"]["a row"]
    assert example["value"] == {"id": "order 17", "outcome": 1}
    assert "shop 4" in page


def test_experts_are_those_of_the_library(played):
    recalibrator = Recalibrator(seed=5)
    for start in range(0, 4000, 500):
        ids, rows = list(range(start, start + 500)), slice(start, start + 500)
        by = ["north"] * 500 if start % 1000 else None
        recalibrator.predict_many(played.scores[rows], ids=ids, by=by)
        if start < 3500:
            recalibrator.update_many(played.outcomes[rows], ids=ids)
    said = played.http.get("/v1/streams/s/experts").json()["experts"]
    heard = [(each["name"], each["weight"]) for each in said]
    assert heard == [(each.words, each.weight) for each in recalibrator.weights()]
    assert sum(weight for _, weight in heard) == pytest.approx(1.0)
