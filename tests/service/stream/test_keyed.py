"""Keyed streams: a fleet behind the same routes, and what they say of each key."""

import io
import json

import numpy as np
import pytest

from calibrant import Fleet, Monitor
from calibrant.measures import Scorecard

ROWS, STEP = 3000, 250


def rows_of(seed=0, names=str):
    """Return scores, outcomes and keys of shops that differ, which the scores do not know."""
    random = np.random.default_rng(seed)
    shops = random.integers(0, 40, ROWS)
    scores, offsets = random.random(ROWS), random.normal(0, 2, 40)
    odds = scores / (1 - scores) * np.exp(offsets[shops])
    outcomes = (random.random(ROWS) < odds / (1 + odds)).astype(float)
    return scores.tolist(), outcomes.tolist(), [names(shop) for shop in shops.tolist()]


def play(running, rows):
    """Send rows in lists, single rows and lines, each list's outcomes after the next list."""
    scores, outcomes, keys = rows
    for start in range(0, ROWS, STEP):
        part = range(start, start + STEP)
        body = [{"id": f"r{n}", "score": scores[n], "key": keys[n]} for n in part]
        if start % (2 * STEP):
            lines = b"".join(json.dumps(row).encode() + b"\n" for row in body)
            answer = running.http.post(
                "/v1/streams/s/predictions", content=lines,
                headers={"content-type": "application/x-ndjson"},
            )  # fmt: skip
        else:
            answer = running.predict(body)
        assert answer.status_code == 200, answer.text
        heard = [{"id": f"r{n}", "outcome": outcomes[n]} for n in range(start - STEP, start)]
        if heard and start:
            assert set(running.words(heard)) == {"applied"}


@pytest.mark.parametrize("names", [str, int], ids=["text", "integers"])
def test_views_agree_with_the_library(running, names):
    """Play the same rows offline, through the classes that everybody can import."""
    running.stream(keyed=True, seed=5)
    scores, outcomes, keys = rows = rows_of(names=names)
    play(running, rows)
    fleet, card, monitor = Fleet(5, capacity=110_000), Scorecard(), Monitor()
    waiting = []
    for start in range(0, ROWS, STEP):
        part = slice(start, start + STEP)
        expected = fleet.expected(keys[part], scores[part])
        said = fleet.predict_many(keys[part], scores[part], ids=list(range(start, start + STEP)))
        for row, mean in enumerate(expected, start):
            monitor.expect(row, mean)
        for before, p in waiting:
            fleet.update_many(outcomes[before], ids=list(range(before.start, before.stop)))
            card.extend(p, outcomes[before])
            for row in range(before.start, before.stop):
                monitor.settle(row, outcomes[row])
        waiting = [(part, said)]
    get = lambda path: running.http.get(f"/v1/streams/s{path}").json()  # noqa: E731
    found = get("")
    assert found["settings"]["keyed"] is True
    assert (found["keys"], found["waiting"], found["groups"]) == (40, STEP, 0)
    assert found["mean_prediction"] == card.mean_prediction
    assert found["evidence"]["calibrated"] == pytest.approx(monitor.evidence)
    assert 0.1 < monitor.evidence < 1.0
    assert get("/scorecard")["calibrated"]["brier"] == card.brier
    points = np.linspace(0, 1, 5)
    unseen = "new" if names is str else 1234
    assert get("/map?points=5")["smooth"] == fleet.smooth([unseen] * 5, points).tolist()
    own = get("/map?points=5&key=7")
    assert own["key"] == "7"
    assert own["probability"] == fleet.expected([names(7)] * 5, points).tolist()
    assert get("/pending?limit=1")["rows"][0]["key"] == keys[-STEP]
    ranked = get("/keys?limit=7")
    assert (ranked["count"], ranked["sort"]) == (40, "trouble")
    assert [each["key"] for each in ranked["keys"]] == [key for key, _ in fleet.ranked(count=7)]
    troubles = [each["trouble"] for each in ranked["keys"]]
    assert troubles == sorted(troubles, reverse=True)
    assert troubles[0] > 3  # deviations: one key is clearly off
    known = fleet[names(7)]
    one = get("/keys/7")
    assert (one["outcomes"], one["offset"], one["deviation"]) == (
        known.outcomes, known.offset, known.deviation,
    )  # fmt: skip
    assert get("/groups") == {"count": 0, "groups": []}
    assert 'calibrant_keys{stream="s"} 40.0' in running.http.get("/metrics").text


def test_keys_are_paged(running):
    running.stream(keyed=True)
    running.predict([{"id": n, "score": 0.5, "key": f"k{n % 7}"} for n in range(25)])
    running.words([{"id": n, "outcome": n % 2} for n in range(25)])
    get = lambda query: running.http.get(f"/v1/streams/s/keys?{query}").json()  # noqa: E731
    whole = [each["key"] for each in get("sort=outcomes")["keys"]]
    assert whole[:4] == ["k0", "k1", "k2", "k3"]  # four outcomes each, in the order they came
    assert len(whole) == 7
    pages = [get(f"sort=outcomes&limit=3&start={start}")["keys"] for start in (0, 3, 6, 9)]
    assert [each["key"] for page in pages for each in page] == whole
    for query in ("sort=name", "limit=1001", "start=-1", "start=x"):
        assert running.http.get(f"/v1/streams/s/keys?{query}").status_code == 422


def test_a_key_may_have_any_character(running):
    running.stream(keyed=True)
    keys = ["a/b", "ü 漢", "50 %", 'say "so"', "..", "?x=1", "\\", "a\tb"]
    running.predict([{"id": key, "score": 0.5, "key": key} for key in keys])
    for key in keys:
        path = "".join(f"%{byte:02X}" for byte in key.encode())
        answer = running.http.get(f"/v1/streams/s/keys/{path}")
        assert (answer.status_code, answer.json().get("key")) == (200, key)
    assert running.http.get("/v1/streams/s/keys/nobody").status_code == 404


def test_repeated_rows_get_the_stored_answer(running):
    running.stream(keyed=True)
    row = {"id": "a", "score": 0.4, "key": 7}
    first = running.predict(row).json()
    running.predict([{"id": f"x{n}", "score": 0.4, "key": 7} for n in range(50)])
    running.words([{"id": f"x{n}", "outcome": 1} for n in range(50)])
    again = running.predict(row).json()
    assert again == first | {"answer": "repeated"}
    for other in ({"score": 0.5}, {"key": 8}, {"key": "7"}):
        assert running.predict(row | other).json() == first | {"answer": "conflict"}
    assert running.words([{"id": "a", "outcome": 1}]) == ["applied"]
    both = [{"id": "a", "outcome": 1}, {"id": "b", "outcome": 1}]
    assert running.words(both) == ["repeated", "unknown"]


BAD = {
    "no key": ({"id": "b", "score": 0.5}, "key"),
    "a key that is null": ({"id": "b", "score": 0.5, "key": None}, "key"),
    "a key that is empty": ({"id": "b", "score": 0.5, "key": ""}, "key"),
    "a key that is true": ({"id": "b", "score": 0.5, "key": True}, "key"),
    "a key with a fraction": ({"id": "b", "score": 0.5, "key": 1.5}, "key"),
    "a key of 65 bits": ({"id": "b", "score": 0.5, "key": 2**63}, "key"),
    "a long key": ({"id": "b", "score": 0.5, "key": "x" * 201}, "key"),
    "a key of the other kind": ({"id": "b", "score": 0.5, "key": "7"}, "key"),
    "a group": ({"id": "b", "score": 0.5, "key": 7, "by": "north"}, "by"),
    "a deadline": ({"id": "b", "score": 0.5, "key": 7, "due": 5}, "due"),
}


@pytest.mark.parametrize("bad", BAD.values(), ids=BAD)
def test_a_bad_row_is_named_and_refuses_its_list(running, bad):
    row, field = bad
    running.stream(keyed=True)
    answer = running.predict([{"id": "good", "score": 0.5, "key": 7}, row])
    problem = answer.json()
    assert (answer.status_code, problem["field"]) == (422, field), problem
    assert problem.get("row", 1) in (0, 1)
    assert problem["allowed"]
    assert running.http.get("/v1/streams/s").json()["predictions"] == 0


def test_the_first_row_says_what_keys_are(running):
    running.stream(keyed=True)
    running.predict({"id": "a", "score": 0.5, "key": "x"})
    problem = running.predict([{"id": "b", "score": 0.5, "key": 7}]).json()
    assert "the keys of this stream are text, got integers" in problem["detail"]
    assert (problem["status"], problem["field"], problem["allowed"]) == (422, "key", "text")
    assert running.predict({"id": "b", "score": 0.5, "key": "7"}).status_code == 200


def test_what_a_keyed_stream_has_not_is_said(running):
    running.stream(keyed=True)
    running.stream("plain")
    for path, status in {
        "/v1/streams/s/experts": 404,
        "/v1/streams/s/map?by=north": 422,
        "/v1/streams/s/map?key=nobody": 404,
        "/v1/streams/plain/map?key=7": 422,
        "/v1/streams/plain/keys": 404,
        "/v1/streams/plain/keys/7": 404,
        "/v1/streams/plain/miscalibrated_keys": 404,
        "/v1/streams/s/miscalibrated_keys": 404,  # not watched
    }.items():
        answer = running.http.get(path)
        assert answer.status_code == status, path
        assert answer.headers["content-type"] == "application/problem+json"
    other = running.http.put("/v1/streams/s", json={"keyed": False})
    assert (other.status_code, other.json()["field"]) == (409, "keyed")


def test_too_many_that_wait_expire(running):
    running.stream(keyed=True, capacity=10_000)
    for first in (0, 6000):
        body = [{"id": n, "score": 0.5, "key": n % 100} for n in range(first, first + 6000)]
        assert running.predict(body).status_code == 200
    found = running.http.get("/v1/streams/s").json()
    assert (found["waiting"], found["expired"]) == (10_000, 2000)
    words = running.words([{"id": n, "outcome": 1} for n in (1999, 2000)])
    assert words == ["expired", "applied"]


@pytest.mark.parametrize("names", [str, int], ids=["text", "integers"])
def test_an_export_has_the_keys(running, names):
    parquet = pytest.importorskip("pyarrow.parquet")
    running.stream(keyed=True)
    running.predict([{"id": n, "score": 0.5, "key": names(n % 3)} for n in range(10)])
    content = running.http.get("/v1/streams/s/export").content
    table = parquet.read_table(io.BytesIO(content))
    assert table["key"].to_pylist() == [str(n % 3) for n in range(10)]


def test_a_ranking_of_many_keys_is_kept_for_a_while(monkeypatch):
    from calibrant.service.stream import rankings  # noqa: PLC0415

    monkeypatch.setattr(rankings, "MANY", 10)
    fleet, time = Fleet(), [0.0]
    kept = rankings.Rankings(fleet, now=lambda: time[0])
    fleet.run(list(range(10)), None, [1] * 10)
    assert len(kept.ranked("outcomes", 20, 0)) == 10
    fleet.run(list(range(10, 20)), None, [1] * 10)
    first = kept.ranked("outcomes", 20, 0)  # ten keys are few
    assert len(first) == 20
    fleet.run([7, 30], None, [1, 1])
    assert kept.ranked("outcomes", 20, 0) is first
    assert kept.ranked("outcomes", 5, 0)[0][0] == 7
    time[0] = 1.9
    assert kept.ranked("outcomes", 20, 0) is first
    time[0] = 2.0
    assert kept.ranked("outcomes", 20, 0)[0][0] == 7
    for count in range(100):
        kept.ranked("outcomes", count, 0)
    assert len(kept._kept) == rankings.MOST
