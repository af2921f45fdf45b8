"""The contract of a round over HTTP: the rules of `tests/rounds` where the service differed."""

from collections import Counter

import pytest

from calibrant import Fleet, Recalibrator

NOON, HOUR = 1.7e9, 3600.0
KEYED = pytest.mark.parametrize("keyed", [False, True], ids=["scores", "keys"])


def silent(running, keyed, **settings):
    running.stream(silence=0, after="1h", clock="told", keyed=keyed, **settings)


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
    assert running.http.get("/v1/streams/s").json()["mean_happened"] == 1.0


@KEYED
def test_a_prediction_at_a_deadline_comes_before_it(running, keyed):
    """Rule 5: so an outcome of that time is still in time."""
    silent(running, keyed)
    running.predict([row("a", NOON, keyed)]).raise_for_status()
    running.predict([row("b", NOON + HOUR, keyed)]).raise_for_status()
    assert running.http.get("/v1/streams/s").json()["settled"] == 0
    assert running.words([told("a", 1, NOON + HOUR)]) == ["applied"]


@KEYED
def test_an_outcome_after_its_deadline_is_late(running, keyed):
    """Rules 5 and 11."""
    silent(running, keyed)
    running.predict([row("a", NOON, keyed), row("b", NOON, keyed)]).raise_for_status()
    late = NOON + HOUR + 1
    assert running.words([told("a", 1, late), told("b", 0, late)]) == ["conflict", "repeated"]


@KEYED
def test_deadlines_are_answered_as_the_library_says(running, keyed):
    """Rule 4: a time that runs backwards counts as now, and the deadline moves with it."""
    silent(running, keyed)
    running.predict([row("a", NOON, keyed)]).raise_for_status()
    running.predict([row("b", NOON - HOUR, keyed)]).raise_for_status()
    waiting = running.http.get("/v1/streams/s/pending").json()["rows"]
    assert [each["due"] for each in waiting] == [NOON + HOUR] * 2


@KEYED
def test_each_outcome_of_a_request_has_its_time(running, keyed):
    """Rule 17: in order of time, whatever the order of the rows."""
    silent(running, keyed)
    running.predict([row(id_, NOON, keyed) for id_ in "abc"]).raise_for_status()
    rows = [told("b", 1, NOON + HOUR + 1), told("c", 0, NOON + 2 * HOUR), told("a", 1, NOON + 60)]
    assert running.words(rows) == ["conflict", "repeated", "applied"]


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
def test_predictions_are_those_of_the_library(running, keyed):
    """Rules 6 to 8: the same steps, where no two things happen at one time."""
    silent(running, keyed, seed=5)
    learner = (Fleet if keyed else Recalibrator)(seed=5, silence=0, after="1h")
    for step in range(30):
        ids, at = [f"{step} {each}" for each in range(3)], NOON + 700.0 * step
        answers = running.predict([row(id_, at, keyed, 0.2 + step / 50) for id_ in ids]).json()
        scores = [0.2 + step / 50] * 3
        if keyed:
            said = learner.predict(["k"] * 3, scores, ids=ids, at=at)
            learner.update(1.0, id=ids[0], at=at + 9)
        else:
            said = learner.predict_many(scores, ids=ids, at=at)
            learner.update(1, id=ids[0], at=at + 9)
        assert [each["probability"] for each in answers] == said.tolist()
        running.words([told(ids[0], 1, at + 9)])


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
def test_a_refused_request_changes_nothing(running, keyed):
    """Rule 18: no time passes either."""
    silent(running, keyed)
    running.predict([row("a", NOON, keyed)]).raise_for_status()
    before = running.state()
    bad = [row("b", NOON + 9 * HOUR, keyed), row("c", NOON + 9 * HOUR, keyed, 1.5)]
    assert running.predict(bad).status_code == 422
    assert running.learn([told("a", 1, NOON + 9 * HOUR), told("a", 7, NOON)]).status_code == 422
    assert running.state() == before


@KEYED
def test_with_silence_an_outcome_is_0_or_1(running, keyed):
    """Rule 9."""
    silent(running, keyed)
    running.predict([row("a", NOON, keyed)]).raise_for_status()
    assert running.learn([told("a", 0.5, NOON + 1)]).status_code == 422
    assert running.words([told("a", 1, NOON + 1)]) == ["applied"]
