"""Deadlines over HTTP: the rules of `tests/rounds`, for scores and for keys, whatever comes."""

import random
import threading
from collections import Counter
from concurrent.futures import Future

import pytest

from calibrant import Fleet, Recalibrator
from calibrant.service.api.rows import Outcomes, Predictions, outcomes_of, predictions_of
from calibrant.service.store.records import (
    Group,
    Known,
    LoggedOutcomes,
    LoggedPredictions,
    StreamRow,
)
from calibrant.service.stream.definition import Definition
from calibrant.service.stream.engine import Engine
from calibrant.service.stream.owner import Job
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
    for seed in range(4):
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


NOON, HOUR = 1.7e9, 3600.0
KEYED = pytest.mark.parametrize("keyed", [False, True], ids=["scores", "keys"])


def silent(running, keyed, **settings):
    running.stream(silence=0, after="1h", clock="client", keyed=keyed, **settings)


def row(id_, at, keyed, score=0.3):
    return {"id": id_, "score": score, "at": at, **({"key": "k"} if keyed else {})}


def told(id_, outcome, at):
    return {"id": id_, "outcome": outcome, "at": at}


@KEYED
def test_an_outcome_at_its_deadline_is_in_time(running, keyed):
    """Rule 5: clocks with coarse ticks cannot say which came first."""
    silent(running, keyed)
    running.predict([row("a", NOON, keyed)]).raise_for_status()
    assert running.words([told("a", 1, NOON + HOUR)]) == ["applied"]
    running.predict([row("b", NOON + HOUR + 1, keyed)]).raise_for_status()
    assert running.http.get("/v1/streams/s").json()["mean_outcome"] == 1.0


@KEYED
def test_a_prediction_at_a_deadline_comes_before_it(running, keyed):
    """Rule 5: so an outcome of that time is still in time."""
    silent(running, keyed)
    running.predict([row("a", NOON, keyed)]).raise_for_status()
    running.predict([row("b", NOON + HOUR, keyed)]).raise_for_status()
    assert running.http.get("/v1/streams/s").json()["settled"] == 0
    assert running.words([told("a", 1, NOON + HOUR)]) == ["applied"]


@KEYED
def test_deadlines_are_answered_as_the_library_says(running, keyed):
    """Rule 4: a time that runs backwards counts as now, and the deadline moves with it."""
    silent(running, keyed)
    running.predict([row("a", NOON, keyed)]).raise_for_status()
    running.predict([row("b", NOON - HOUR, keyed)]).raise_for_status()
    waiting = running.http.get("/v1/streams/s/pending").json()["rows"]
    assert [each["due"] for each in waiting] == [NOON + HOUR] * 2


@KEYED
def test_rows_of_a_request_are_compared_with_what_is_known_first(running, keyed):
    """Rule 12: only where nothing is known do rows that disagree hold each other up."""
    silent(running, keyed)
    running.predict([row("a", NOON, keyed), row("b", NOON, keyed)]).raise_for_status()
    assert running.words([told("a", 1, NOON + 1)]) == ["applied"]
    rows = [told("a", 1, NOON + 2), told("a", 0, NOON + 2)]
    assert running.words(rows) == ["repeated", "conflict"]
    rows = [told("b", 1, NOON + 3), told("b", 0, NOON + 3)]
    assert running.words(rows) == ["conflict", "conflict"]


@KEYED
def test_a_batch_is_scored_once(running, keyed, monkeypatch):
    """Rule 6: what is predicted, expected and smooth comes from one pass over the experts."""
    calls = Counter()
    for owner in (Recalibrator, Fleet):
        for name in ("expected", "smooth"):
            monkeypatch.setattr(owner, name, counting(getattr(owner, name), name, calls))
    silent(running, keyed)
    running.predict([row(str(each), NOON, keyed) for each in range(5)]).raise_for_status()
    running.predict([row("one", NOON + 1, keyed)]).raise_for_status()
    assert not calls


def counting(method, name, calls):
    def counted(*given, **more):
        calls[name] += 1
        return method(*given, **more)

    return counted


@KEYED
@pytest.mark.parametrize("count", [1, 3])
def test_silence_is_final_after_the_deadline(running, count, keyed):
    """Rule 11: what comes later repeats it, or contradicts it."""
    silent(running, keyed)
    ids = [f"r{n}" for n in range(count)]
    running.predict([row(id_, NOON, keyed) for id_ in ids]).raise_for_status()
    assert running.words([told("r0", 1, NOON + 100)]) == ["applied"]
    assert running.words([told("r0", 1, NOON + 110)]) == ["repeated"]
    assert running.words([told("r0", 0, NOON + 120)]) == ["conflict"]
    running.predict(row("later", NOON + HOUR + 1, keyed)).raise_for_status()
    found = running.http.get("/v1/streams/s").json()
    assert (found["settled"], found["waiting"], found["outcomes"]) == (count, 1, 1)
    assert found["mean_outcome"] == pytest.approx(1 / count)
    assert running.words([told("r0", 1, NOON + 4000)]) == ["repeated"]
    if count > 1:
        late = [told(id_, 0, NOON + 4000) for id_ in ids[1:]]
        assert running.words(late) == ["repeated"] * len(late)
        late = [told(id_, 1, NOON + 4000) for id_ in ids[1:]]
        assert running.words(late) == ["conflict"] * len(late)


@KEYED
def test_an_outcome_that_is_itself_late_changes_nothing(running, keyed):
    """Rules 5, 11 and 17: each row of a list has its time, whatever the order of the rows."""
    silent(running, keyed)
    running.predict([row(id_, NOON, keyed) for id_ in "abcd"]).raise_for_status()
    before, late = running.state(), NOON + HOUR + 1
    assert running.words([told("a", 1, late)]) == ["conflict"]
    assert running.words([told("a", 1, late), told("b", 0, NOON + 9000)]) == [
        "conflict",
        "repeated",
    ]
    assert running.state() == before
    rows = [told("b", 1, late), told("c", 0, NOON + 2 * HOUR), told("a", 1, NOON + HOUR)]
    assert running.words(rows) == ["conflict", "repeated", "applied"]
    assert running.http.get("/v1/streams/s").json()["settled"] == 0
    # What a row settles on its way is known to the rows after it.
    running.predict(row("later", NOON + HOUR, keyed)).raise_for_status()
    rows = [told("later", 1, NOON + 3700), told("c", 1, NOON + 3800), told("d", 0, NOON + 3800)]
    assert running.words(rows) == ["applied", "conflict", "repeated"]
    assert running.http.get("/v1/streams/s").json()["settled"] == 4


@KEYED
def test_a_refused_request_changes_nothing(running, keyed):
    """Rules 9 and 18: no time passes either; with silence an outcome is 0 or 1."""
    silent(running, keyed)
    running.predict([row("a", NOON, keyed)]).raise_for_status()
    before = running.state()
    bad = [row("b", NOON + 9 * HOUR, keyed), row("c", NOON + 9 * HOUR, keyed, 1.5)]
    assert running.predict(bad).status_code == 422
    assert running.learn([told("a", 1, NOON + 9 * HOUR), told("a", 7, NOON)]).status_code == 422
    assert running.learn([told("a", 0.5, NOON + 1)]).status_code == 422
    assert running.state() == before
    assert running.words([told("a", 1, NOON + 1)]) == ["applied"]


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


@pytest.mark.parametrize("wait", [{"silence": 0, "after": 3}, {"hold": 3}], ids=["silence", "hold"])
def test_what_a_number_of_predictions_settles_is_settled_when_they_are_made(wait):
    engine = Engine(Definition(clock="client", **wait))
    engine.predict(["a", "b"], [0.2, 0.3], at=[100.0, 101.0])
    engine.learn(["b"], [1.0], [150.0])
    engine.predict(["c", "d", "e"], [0.2, 0.3, 0.4], at=[200.0, 200.0, 201.0])
    engine.measure()
    times = engine.measures.buckets.columns()
    assert times["start"].tolist() == times["end"].tolist() == [201.0]


def test_outcomes_that_come_together_are_measured_in_order_of_time():
    """They are learned in one step, where no deadline is a time."""
    engine = Engine(Definition(clock="client"))
    ids, at = [f"r{n}" for n in range(64)], [1e9 + 60.0 * n for n in range(64)]
    engine.predict(ids, [0.5] * 64, at=at)
    engine.learn(ids[::-1], [0.0] * 64, at[::-1])
    engine.measure()
    times = engine.measures.buckets.columns()
    assert times["start"].tolist() == [at[0], at[32]]
    assert times["end"].tolist() == [at[31], at[63]]
