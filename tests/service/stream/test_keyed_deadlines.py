"""Keyed streams with deadlines, whatever comes and when."""

import random

import pytest

from calibrant.service.api.rows import Outcomes, Predictions
from calibrant.service.store.records import (
    Group,
    Known,
    LoggedOutcomes,
    LoggedPredictions,
    StreamRow,
)
from calibrant.service.stream.definition import Definition
from calibrant.service.stream.engine import Engine
from calibrant.service.stream.stream import Stream

WAITS = {
    "silence": {"silence": 0, "after": "1h"},
    "silence with dues": {"silence": 1},
    "silence in predictions": {"silence": 0, "after": 30},
    "hold": {"hold": "20min"},
    "hold in predictions": {"hold": 17},
}


def stream_of(**settings):
    """Return a stream in which few may wait; no request could ask for that."""
    definition = Definition(keyed=True, clock="client", capacity=20, **settings)
    row = StreamRow(1, "s", "{}", 0.0)
    stream = Stream(row, 0.0)
    stream.definition, stream.engine = definition, Engine(definition)
    return stream


def requests(seed, definition):
    """Return random requests: times run back and forth, ids come again, some have two outcomes."""
    chance, now, made = random.Random(seed), 1e9, 0
    for _ in range(60):
        now += chance.choice((0.0, 5.0, 300.0, 4000.0))
        count = chance.choice((1, 2, 25))
        at = [now + chance.choice((0.0, 0.0, 1.0, 300.0, -900.0)) for _ in range(count)]
        if chance.random() < 0.5 or not made:
            ids = [f"r{made + row}" for row in range(count)]
            due = None
            if definition.is_timed and (definition.wait is None or chance.random() < 0.5):
                due = [made_at + chance.choice((1e-3, 60.0, 300.0, 9000.0)) for made_at in at]
            keys = [chance.randrange(6) for _ in ids]
            scores = [chance.random() for _ in ids]
            made += count
            yield Predictions(ids, scores, None, at, due, keys)
        else:
            ids = [f"r{max(0, made - 1 - chance.randrange(90))}" for _ in range(count)]
            yield Outcomes(ids, [float(chance.random() < 0.4) for _ in ids], at)


def logged(group):
    """Return the batch of a group as a replay reads it."""
    for rows, make in ((group.predictions, LoggedPredictions), (group.outcomes, LoggedOutcomes)):
        if rows:
            yield make(*(tuple(getattr(row, name) for row in rows) for name in make._fields))


@pytest.mark.parametrize("watched", [False, True], ids=["plain", "watched"])
@pytest.mark.parametrize("wait", WAITS.values(), ids=WAITS)
def test_every_prediction_waits_is_settled_or_expired(wait, watched):
    """And the log gives the same again, bit for bit."""
    words = set()
    for seed in range(12):
        stream, twin = (stream_of(watch_keys=watched, **wait) for _ in range(2))
        known = Known({}, {})
        for number, request in enumerate(requests(seed, stream.definition)):
            group = Group()
            if isinstance(request, Predictions):
                stream.predict(request, known, group)
            else:
                words |= set(stream.observe(request, known, group))
            for batch in logged(group):
                twin.replay(batch)
            if number % 20 == 19:
                blob = stream.engine.to_bytes()
                stream.engine = Engine.from_bytes(blob, stream.definition)
                assert stream.engine.to_bytes() == twin.engine.to_bytes() == blob
            book, fleet = stream.engine.book, stream.engine.learner.fleet
            assert len(book) == fleet.pending <= 20
            stream.engine.measure()
            settled = stream.engine.tallies.settled
            assert settled == fleet.learned
            assert fleet.rounds == settled + fleet.pending + book.expired
        assert book.expired > 0
    assert words >= {"applied", "repeated", "conflict", "expired"}


def test_a_deadline_is_after_its_row(running):
    running.stream(keyed=True, silence=0)
    row = {"id": "a", "score": 0.5, "key": 7, "at": 1.7e9}
    for due in ({}, {"due": None}, {"due": 1.7e9}, {"due": 1.6e9}, {"due": "soon"}):
        answer = running.predict([row | {"id": "b", "due": 1.8e9}, row | due])
        assert (answer.status_code, answer.json()["field"]) == (422, "due"), due
    assert running.predict(row | {"due": 1.8e9}).status_code == 200
    assert running.http.get("/v1/streams/s").json()["predictions"] == 1
    (waiting,) = running.http.get("/v1/streams/s/pending").json()["rows"]
    assert (waiting["due"], waiting["key"]) == (1.8e9, 7)


def test_silence_has_the_last_word(running):
    running.stream(keyed=True, silence=0, after="1h", clock="client")
    rows = [{"id": id_, "score": 0.5, "key": "x", "at": 1e9} for id_ in "abc"]
    running.predict(rows)
    assert running.words([{"id": "a", "outcome": 1, "at": 1e9 + 60}]) == ["applied"]
    running.predict({"id": "d", "score": 0.5, "key": "y", "at": 1e9 + 3601})
    late = [
        {"id": id_, "outcome": y, "at": 1e9 + 3700} for id_, y in (("a", 1), ("b", 0), ("c", 1))
    ]
    assert running.words(late) == ["repeated", "repeated", "conflict"]
    found = running.http.get("/v1/streams/s").json()
    assert (found["settled"], found["waiting"], found["outcomes"]) == (3, 1, 1)
    assert found["mean_outcome"] == pytest.approx(1 / 3)


@pytest.mark.parametrize("wait", [{"silence": 0, "after": 3}, {"hold": 3}], ids=["silence", "hold"])
def test_what_a_number_of_predictions_settles_is_settled_when_they_are_made(wait):
    engine = Engine(Definition(clock="client", **wait))
    engine.predict(["a", "b"], [0.2, 0.3], at=[100.0, 101.0])
    engine.learn(["b"], [1.0], [150.0])
    engine.predict(["c", "d", "e"], [0.2, 0.3, 0.4], at=[200.0, 200.0, 201.0])
    engine.measure()
    times = engine.history.columns()
    assert times["start"].tolist() == times["end"].tolist() == [201.0]


def test_outcomes_that_come_together_are_measured_in_order_of_time():
    """They are learned in one step, where no deadline is a time."""
    engine = Engine(Definition(clock="client"))
    ids, at = [f"r{n}" for n in range(64)], [1e9 + 60.0 * n for n in range(64)]
    engine.predict(ids, [0.5] * 64, at=at)
    engine.learn(ids[::-1], [0.0] * 64, at[::-1])
    engine.measure()
    times = engine.history.columns()
    assert times["start"].tolist() == [at[0], at[32]]
    assert times["end"].tolist() == [at[31], at[63]]
