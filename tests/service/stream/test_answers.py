"""What becomes of each row: one table of answers for predictions, one for outcomes."""

import json


def test_a_prediction_is_answered_with_what_the_recalibrator_says(running):
    running.stream(seed=7)
    answer = running.predict({"id": "a", "score": 0.3})
    assert answer.status_code == 200
    row = answer.json()
    assert row.keys() == {"id", "probability", "smooth", "raw", "sequence", "answer"}
    assert (row["id"], row["raw"], row["sequence"], row["answer"]) == ("a", 0.3, 1, "applied")


def test_a_repeated_id_returns_the_stored_answer(running):
    running.stream()
    first = running.predict([{"id": "a", "score": 0.3}, {"id": 17, "score": 0.5}]).json()
    again = running.predict([{"id": "17", "score": 0.5}, {"id": "a", "score": 0.9}]).json()
    assert [row["answer"] for row in again] == ["repeated", "conflict"]
    assert [row["probability"] for row in again] == [row["probability"] for row in reversed(first)]
    assert running.http.get("/v1/streams/s").json()["predictions"] == 2


def test_an_id_twice_in_one_list_is_predicted_once(running):
    running.stream()
    rows = [{"id": "a", "score": 0.3}, {"id": "a", "score": 0.3}, {"id": "a", "score": 0.4}]
    answers = running.predict(rows).json()
    assert [row["answer"] for row in answers] == ["applied", "repeated", "conflict"]
    assert len({row["probability"] for row in answers}) == 1


def test_every_answer_to_an_outcome(running):
    running.stream()
    running.predict([{"id": id_, "score": 0.5} for id_ in "abcd"])
    assert running.words([{"id": "a", "outcome": 1}, {"id": "z", "outcome": 1}]) == [
        "applied",
        "unknown",
    ]
    again = [{"id": "a", "outcome": True}, {"id": "a", "outcome": 1.0}]
    assert running.words(again) == ["repeated", "repeated"]
    assert running.words([{"id": "a", "outcome": 0}]) == ["conflict"]
    # Two outcomes of one id in one list: neither counts, whatever their order.
    both = [{"id": "b", "outcome": 0}, {"id": "b", "outcome": 1}, {"id": "c", "outcome": 1}]
    assert running.words(both) == ["conflict", "conflict", "applied"]
    assert running.words([{"id": "b", "outcome": 0}, {"id": "b", "outcome": 0}]) == [
        "applied",
        "repeated",
    ]
    assert running.http.get("/v1/streams/s").json()["waiting"] == 1


def test_the_oldest_expires_when_too_many_wait(running):
    running.stream(capacity=10_000)
    for start in range(0, 11_000, 1000):
        running.predict([{"id": f"r{n}", "score": 0.5} for n in range(start, start + 1000)])
    summary = running.http.get("/v1/streams/s").json()
    assert (summary["waiting"], summary["expired"]) == (10_000, 1000)
    told = [{"id": "r0", "outcome": 1}, {"id": "r999", "outcome": 1}, {"id": "r1000", "outcome": 1}]
    assert running.words(told) == ["expired", "expired", "applied"]


def test_settings_again_are_fine_and_others_a_conflict(running):
    running.stream(silence=0, after="1h")
    put = running.http.put
    assert put("/v1/streams/s", json={"after": "1h", "silence": 0, "seed": 0}).status_code == 200
    other = put("/v1/streams/s", json={"after": "2h", "silence": 0})
    assert other.status_code == 409
    assert other.json()["field"] == "after"
    assert other.headers["content-type"] == "application/problem+json"


def test_more_lines_than_a_batch_are_all_answered(running):
    """Answers go out while the body still comes in."""
    running.stream()
    lines = "".join(f'{{"id": "r{n}", "score": 0.5}}\n' for n in range(30_001)).encode()
    pieces = (lines[at : at + 50_000] for at in range(0, len(lines), 50_000))
    headers = {"content-type": "application/x-ndjson"}
    answer = running.http.post("/v1/streams/s/predictions", content=pieces, headers=headers)
    assert [json.loads(line)["id"] for line in answer.text.splitlines()] == [
        f"r{n}" for n in range(30_001)
    ]
