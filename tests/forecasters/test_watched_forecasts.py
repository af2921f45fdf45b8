"""EventForecaster(monitor=...): its monitor beside one that is fed by hand."""

import numpy as np
import pytest

from calibrant import EventForecaster, Monitor
from interrupting import interrupt_call

SETTINGS = {"every": 2_000, "tolerance": 0.0}


def events(n=600):
    return (np.random.default_rng(4).random(n) < 0.2 + 0.5 * (np.arange(n) > n / 2)).astype(float)


def test_steps_run_and_trace_are_what_a_monitor_sees():
    y, plain, by_hand = events(), EventForecaster(seed=2), Monitor(**SETTINGS, max_groups=0)
    stepped = EventForecaster(seed=2, monitor=SETTINGS)
    for each in y.tolist():
        expected = plain.expected()
        assert plain.predict() == stepped.predict()
        plain.update(each)
        stepped.update(each)
        by_hand.update(expected, each)
    assert stepped.watched_by.to_bytes() == by_hand.to_bytes()
    assert by_hand.evidence > 0.3
    ran = EventForecaster(seed=2, monitor=SETTINGS)
    ran.run(y[:100])
    ran = EventForecaster.from_bytes(ran.to_bytes())
    ran.trace(y[100:200])
    ran.run(y[200:])
    assert ran.to_bytes() == stepped.to_bytes()


def test_times_are_passed_on():
    y, times = events(200), np.arange(200) * 3600.0
    watched, plain = EventForecaster(monitor=True), EventForecaster()
    assert (watched.run(y, at=times) == plain.run(y, at=times)).all()
    assert watched.watched_by.rounds == 200
    assert plain.watched_by is None


@pytest.mark.parametrize("ahead", [1, 4])
@pytest.mark.parametrize("batches", [False, True])
def test_late_outcomes_meet_what_was_expected_at_their_prediction(ahead, batches):
    y, random = events(), np.random.default_rng(6)
    plain = EventForecaster(ahead=ahead)
    by_hand = Monitor(**SETTINGS, max_groups=0, ahead=ahead)
    watched = EventForecaster(ahead=ahead, monitor=SETTINGS)
    expected, late = {}, []
    for t in range(len(y)):
        plain.predict(at=3600.0 * t)
        expected[t] = plain.expected()
        by_hand.expect(t, expected[t])
        for each in (plain, watched):
            each.predict(id=t, at=3600.0 * t)
        late.append(t)
        if t % 30 == 29:
            came = random.permutation(late)[:25].tolist()
            late = [each for each in late if each not in came]
            if batches:
                for each in (plain, watched):
                    assert (each.update_many(y[came], ids=came) == "applied").all()
                came.sort()  # outcomes that arrive together are learned in the order of rounds
            for each in came:
                if not batches:
                    plain.update(y[each], id=each)
                    watched.update(y[each], id=each)
                by_hand.settle(each, y[each])
            watched.update(y[came[0]], id=came[0])  # what comes twice is seen once
        if t == 310:
            watched = EventForecaster.from_bytes(watched.to_bytes())
    by_hand._ids = {}  # the forecaster keeps them
    assert watched.watched_by.to_bytes() == by_hand.to_bytes()
    assert by_hand.rounds == len(y)
    assert by_hand.evidence > 0.3
    assert watched.predict() == plain.predict()


@pytest.mark.parametrize("ahead", [2, 7])
def test_ahead_run_and_ids_show_a_monitor_the_same(ahead):
    y, by_hand = events(200), Monitor(**SETTINGS, max_groups=0, ahead=ahead)
    plain, ran = EventForecaster(ahead=ahead), EventForecaster(ahead=ahead, monitor=SETTINGS)
    named = EventForecaster(ahead=ahead, monitor=SETTINGS)
    for t, each in enumerate(y.tolist()):
        by_hand.update(plain.expected(), each)
        plain.update(each)
        named.predict(id=t)
        named.update(each, id=t)
    ran.run(y)
    assert ran.watched_by.to_bytes() == named.watched_by.to_bytes() == by_hand.to_bytes()


def test_a_batch_that_is_interrupted_never_happened(monkeypatch):
    forecaster = EventForecaster(ahead=2, monitor=SETTINGS)
    for t in range(50):
        forecaster.predict(id=t)
    before = forecaster.to_bytes()
    interrupt_call(monkeypatch, Monitor, "play_steps", is_done=True)
    with pytest.raises(KeyboardInterrupt):
        forecaster.update_many(events(50), ids=list(range(50)))
    assert forecaster.to_bytes() == before


def test_a_monitor_that_saw_what_was_not_given_is_refused():
    forecaster = EventForecaster(monitor=SETTINGS)
    forecaster.run(events(100))
    forecaster.predict(id="late")
    rounds, state = forecaster._save()
    EventForecaster(monitor=SETTINGS)._load(rounds, dict(state))
    for seen in (-1, rounds + 1, 0.5):
        with pytest.raises(ValueError, match=r"saved (watch_seen|monitor)"):
            EventForecaster(monitor=SETTINGS)._load(rounds, {**state, "watch_seen": seen})


def test_interrupted_among_the_monitors_it_never_happened(monkeypatch):
    forecaster = EventForecaster(monitor=SETTINGS)
    forecaster.run(events(100))
    before = forecaster.to_bytes()
    interrupt_call(monkeypatch, Monitor, "run", is_done=True)
    with pytest.raises(KeyboardInterrupt):
        forecaster.run(events(100))
    assert forecaster.to_bytes() == before


def test_bad_outcomes_are_refused():
    forecaster = EventForecaster(monitor=True)
    for bad in (lambda: forecaster.update(2), lambda: forecaster.run([0, 2])):
        with pytest.raises(ValueError, match=r"in \[0, 1\]"):
            bad()
    assert forecaster.watched_by.rounds == 0
