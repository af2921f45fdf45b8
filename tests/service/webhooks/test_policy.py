"""What rings, whatever happens: few alarms, each with its end, and none that lasts is missed."""

import json
import random
from itertools import pairwise

import pytest

from calibrant.service.store.records import EventRow
from calibrant.service.webhooks.message import body_of, id_of
from calibrant.service.webhooks.policy import ALARMS, BEGINS, Line, Policy, alarm_of

WINDOW = 100.0
#: The two events of each alarm.
PAIRS = {
    "calibrated": ("episode.opened", "episode.closed"),
    "raw": ("episode.opened", "episode.closed"),
    "calibrated_keys": ("key.miscalibrated", "key.calibrated"),
    "raw_keys": ("key.miscalibrated", "key.calibrated"),
    "outcomes": ("outcomes.silent", "outcomes.back"),
    "pending": ("pending.high", "pending.low"),
}
BODIES = {
    "calibrated": {"of": "calibrated", "episode": {"text": "words"}},
    "raw": {"of": "raw", "episode": {"text": "words"}},
    "calibrated_keys": {"of": "calibrated", "key": {"key": 7, "text": "words"}},
    "raw_keys": {"of": "raw", "key": {"key": "shop 7", "text": "words"}},
    "outcomes": {"since": 0.0, "last_outcome_at": 1.0, "waiting": 2},
    "pending": {"waiting": 9000, "capacity": 10_000},
}


def history(seed, count=300):
    """Return alarms that begin and end at random."""
    chance, at, lasting, events = random.Random(seed), 1000.0, set(), []
    for number in range(1, count + 1):
        at += chance.expovariate(1 / chance.choice((3.0, 30.0, 300.0)))
        alarm = chance.choice(ALARMS)
        kind = PAIRS[alarm][alarm in lasting]
        lasting ^= {alarm}
        body = BODIES[alarm] | (
            {"count": int(kind == "key.miscalibrated")} if "key" in kind else {}
        )
        events.append(EventRow(number, "s", at, kind, json.dumps(body)))
    return events, lasting


def played(events, policy, *, restarts=False):
    """Return what is told and when; what was held back rings as soon as it is due."""
    line, told = Line(0), []
    by_number = {event.number: event for event in events}

    def ring_until(now):
        while (due := line.due()) and due[0].quiet_until <= now:
            at = due[0].quiet_until
            told.append((at, by_number[due[0].held], due[0].held_back - 1))
            due[0].open(at, policy)
            due[0].held_back = 0

    for event in events:
        ring_until(event.at)
        alarm = line.take(event, policy)
        if alarm is not None:
            told.append((event.at, event, alarm.held_back))
            alarm.held_back = 0
        if restarts:
            line = Line(line.position, line.as_text())
    ring_until(float("inf"))
    return told


@pytest.mark.parametrize("reset", ["window", "end"])
def test_promises(reset):
    policy = Policy(ALARMS, WINDOW, reset)
    held_back = 0
    for seed in range(30):
        events, lasting = history(seed)
        told = played(events, policy)
        for alarm in ALARMS:
            mine = [each for each in told if alarm_of(each[1]) == alarm]
            kinds = [event.kind for _, event, _ in mine]
            # A beginning, its end, a beginning, its end ...
            assert kinds == [PAIRS[alarm][k % 2] for k in range(len(kinds))]
            # ... and at last the receiver knows what is the case.
            assert (len(kinds) % 2 == 1) == (alarm in lasting)
            rings = [at for at, event, _ in mine if event.kind in BEGINS]
            gaps = [later - at for at, later in pairwise(rings)]
            if reset == "window":
                assert all(gap > WINDOW - 1e-6 for gap in gaps)
            # Each beginning is told, or counted by the next that is, or had no next one.
            begun = sum(e.kind in BEGINS for e in events if alarm_of(e) == alarm)
            counted = len(rings) + sum(count for *_, count in mine)
            assert counted <= begun
            held_back += begun - len(rings)
        # Each end that is told is told when it happens.
        assert all(at == event.at for at, event, _ in told if event.kind not in BEGINS)
    assert (held_back > 0) == (reset == "window")


def test_a_restart_changes_nothing():
    for seed in range(10):
        events, _ = history(seed)
        for reset in ("window", "end"):
            policy = Policy(ALARMS, WINDOW, reset)
            assert played(events, policy, restarts=True) == played(events, policy)


def test_an_alarm_of_keys_ends_with_the_last_of_them():
    def about(number, kind, key, count):
        body = {"of": "calibrated", "key": {"key": key, "text": "words"}, "count": count}
        return EventRow(number, "s", 1000.0 * number, kind, json.dumps(body))

    begins, ends = "key.miscalibrated", "key.calibrated"
    events = [about(1, begins, 7, 1), about(2, begins, 8, 2), about(3, ends, 7, 1),
              about(4, ends, 8, 0)]  # fmt: skip
    assert [event.number for _, event, _ in played(events, Policy(ALARMS, WINDOW))] == [1, 2, 4]
    # The second falls into the first's window, and rings after it, as a key is still off.
    told = played(events, Policy(ALARMS, 2500.0))
    assert [(at, event.number, held) for at, event, held in told] == [
        (1000.0, 1, 0), (3500.0, 2, 0), (4000.0, 4, 0),
    ]  # fmt: skip
    assert played(events, Policy(("raw_keys",), WINDOW)) == []


def test_only_what_was_asked_for_rings():
    events, _ = history(1)
    told = played(events, Policy(("outcomes",), WINDOW))
    assert told
    assert {alarm_of(event) for _, event, _ in told} == {"outcomes"}
    made = EventRow(1, "s", 0.0, "stream.created", "{}")
    assert Line(0).take(made, Policy()) is None


def test_ids_are_of_the_event_and_sentences_name_the_stream():
    events, _ = history(2)
    assert len({id_of(event) for event in events}) == len(events)
    for event in events:
        assert id_of(event) == id_of(EventRow(*event))
        told = json.loads(body_of(event))
        assert told["id"] == id_of(event)
        assert told["text"].startswith("s: ")
        assert len(body_of(event)) < 1000
