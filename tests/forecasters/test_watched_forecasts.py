"""EventForecaster(monitor=...): its monitor beside one that is fed by hand."""

import numpy as np
import pytest

from calibrant import EventForecaster, Monitor

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
    assert (watched.run(y, times=times) == plain.run(y, times=times)).all()
    assert watched.watched_by.rounds == 200
    assert plain.watched_by is None


def test_interrupted_among_the_monitors_it_never_happened(monkeypatch):
    forecaster = EventForecaster(monitor=SETTINGS)
    forecaster.run(events(100))
    before, play = forecaster.to_bytes(), Monitor.run

    def interrupted(monitor, *given):
        play(monitor, *given)
        raise KeyboardInterrupt

    monkeypatch.setattr(Monitor, "run", interrupted)
    with pytest.raises(KeyboardInterrupt):
        forecaster.run(events(100))
    assert forecaster.to_bytes() == before


def test_bad_outcomes_and_settings_are_refused():
    forecaster = EventForecaster(monitor=True)
    for bad in (lambda: forecaster.update(2), lambda: forecaster.run([0, 2])):
        with pytest.raises(ValueError, match=r"in \[0, 1\]"):
            bad()
    assert forecaster.watched_by.rounds == 0
    with pytest.raises(ValueError, match="monitor may have every"):
        EventForecaster(monitor={"by": 1})
