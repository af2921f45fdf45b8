"""What becomes of each row: one table of answers for predictions, one for outcomes."""

import json
import threading
from concurrent.futures import Future

import pytest

from calibrant.service.api.rows import outcomes_of, predictions_of
from calibrant.service.stream.owner import Job


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


@pytest.mark.parametrize("rows", [1, 3])
def test_silence_has_the_last_word_after_the_deadline(running, rows):
    running.stream(silence=0, after="1h", clock="client")
    ids = [f"r{n}" for n in range(rows)]
    running.predict([{"id": id_, "score": 0.5, "at": 0} for id_ in ids])
    assert running.words([{"id": "r0", "outcome": 1, "at": 100}]) == ["applied"]
    assert running.words([{"id": "r0", "outcome": 1, "at": 110}]) == ["repeated"]
    assert running.words([{"id": "r0", "outcome": 0, "at": 120}]) == ["conflict"]
    running.predict({"id": "later", "score": 0.5, "at": 3601})
    summary = running.http.get("/v1/streams/s").json()
    assert (summary["settled"], summary["waiting"]) == (rows, 1)
    late = [{"id": id_, "outcome": y, "at": 4000} for id_ in ids[1:] for y in (0,)]
    if late:
        assert running.words(late) == ["repeated"] * len(late)
        late = [{"id": id_, "outcome": 1, "at": 4000} for id_ in ids[1:]]
        assert running.words(late) == ["conflict"] * len(late)


def test_an_outcome_that_is_itself_too_late_changes_nothing(running):
    running.stream(silence=0, after="1h", clock="client")
    running.predict([{"id": id_, "score": 0.5, "at": 0} for id_ in "abcd"])
    before = running.state()
    assert running.words([{"id": "a", "outcome": 1, "at": 3601}]) == ["conflict"]
    late = [{"id": "a", "outcome": 1, "at": 3601}, {"id": "b", "outcome": 0, "at": 9000}]
    assert running.words(late) == ["conflict", "repeated"]
    assert running.state() == before
    # Of a list, time passes in the order of time: what came in time is in time.
    rows = [{"id": "b", "outcome": 1, "at": 9000}, {"id": "a", "outcome": 1, "at": 3600}]
    assert running.words(rows) == ["conflict", "applied"]
    assert running.http.get("/v1/streams/s").json()["settled"] == 0
    # What a row settles on its way is known to the rows after it.
    running.predict({"id": "later", "score": 0.5, "at": 3600})
    rows = [{"id": id_, "outcome": 1, "at": at} for id_, at in (("later", 3700), ("c", 3800))]
    assert running.words([*rows, {"id": "d", "outcome": 0, "at": 3800}]) == [
        "applied",
        "conflict",
        "repeated",
    ]
    assert running.http.get("/v1/streams/s").json()["settled"] == 4


def test_an_id_with_an_outcome_of_its_own_is_not_expired(running):
    """What waited for its deadline with an outcome and expired is answered from the store."""
    running.stream(silence=0, after="1h", clock="client", capacity=10_000)
    running.predict([{"id": id_, "score": 0.5, "at": 0} for id_ in "ab"])
    assert running.words([{"id": "a", "outcome": 1, "at": 1}]) == ["applied"]
    running.predict([{"id": f"r{n}", "score": 0.5, "at": 2} for n in range(10_000)])
    rows = [{"id": id_, "outcome": y, "at": 3} for id_, y in (("a", 1), ("a", 0), ("b", 1))]
    assert running.words(rows) == ["repeated", "conflict", "expired"]
    running.predict({"id": "later", "score": 0.5, "at": 7200})  # silence says nothing of b
    assert running.words([{"id": "b", "outcome": 0, "at": 7201}]) == ["expired"]


def test_settings_again_are_fine_and_others_a_conflict(running):
    running.stream(silence=0, after="1h")
    put = running.http.put
    assert put("/v1/streams/s", json={"after": "1h", "silence": 0, "seed": 0}).status_code == 200
    other = put("/v1/streams/s", json={"after": "2h", "silence": 0})
    assert other.status_code == 409
    assert other.json()["field"] == "after"
    assert other.headers["content-type"] == "application/problem+json"


@pytest.mark.parametrize(("outcome", "word"), [(0, "repeated"), (1, "conflict")])
def test_a_deadline_that_passes_within_a_group_is_known_to_the_rest_of_it(running, outcome, word):
    """The store was asked when the prediction still waited; it waits no longer."""
    running.stream(silence=0, after="1h", clock="client")
    running.predict({"id": "a", "score": 0.5, "at": 0})
    owner, definition = running.service.owner, running.service.owner.streams["s"].definition
    later = predictions_of([{"id": "b", "score": 0.5, "at": 7200}], definition, 0.0)
    told = outcomes_of([{"id": "a", "outcome": outcome, "at": 7200}], definition, 0.0)
    both_are_queued = threading.Event()
    owner.ask(both_are_queued.wait)
    words = Future()
    owner.submit(Job("s", later, Future()))
    owner.submit(Job("s", told, words))
    both_are_queued.set()
    assert words.result() == [word]


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
