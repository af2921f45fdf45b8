"""Which keys of a stream are off: against a fleet offline, through restarts, and as alarms."""

import json
import random

import numpy as np
import pytest

from calibrant import Fleet
from calibrant.service.store.records import StreamRow
from calibrant.service.store.sqlite import SqliteStore
from calibrant.service.stream import rankings
from calibrant.service.stream.definition import Definition
from calibrant.service.stream.engine import Engine
from calibrant.service.stream.stream import Stream
from calibrant.service.stream.verification import check_store
from calibrant.service.webhooks.policy import Policy, Webhooks
from calibrant.service.webhooks.secrets import key_of
from service.webhooks.receiver import SECRET, Receiver

BATCH, BATCHES, STEP = 10, 140, 3700.0
OVER = 60  # the batch from which on no key is off
WATCHED = {"keyed": True, "watch_keys": True, "tolerance": 0.0, "every": 1000}
LEARNING = {
    "at once": {},
    "after silence": {"silence": 0, "after": "2h"},
    "held": {"hold": 25},
}


def batches(seed=0):
    """Return keys, scores and outcomes; two of ten keys are off for a while, then all is well.

    A batch has each key once: of those that wait together, little can be said.
    """
    chance = np.random.default_rng(seed)
    for number in range(BATCHES):
        keys, scores = chance.permutation(BATCH), chance.uniform(0.2, 0.6, BATCH)
        is_off = 20 <= number < OVER
        truth = np.where(is_off & (keys == 4), 0.98, scores)
        truth = np.where(is_off & (keys == 7), 0.02, truth)
        yield keys.tolist(), scores, (chance.random(BATCH) < truth).astype(float)


def rows_of(number, keys, scores, outcomes, name=int):
    """Return the rows of two requests: predictions, and their outcomes half an hour later."""
    ids, at = [f"{number} {row}" for row in range(BATCH)], 1e9 + STEP * number
    said = [
        {"id": id_, "score": score, "key": name(key), "at": at}
        for id_, score, key in zip(ids, scores.tolist(), keys, strict=True)
    ]
    heard = [
        {"id": id_, "outcome": y, "at": at + 1800.0}
        for id_, y in zip(ids, outcomes.tolist(), strict=True)
    ]
    return said, heard


def play(running, **given):
    for number, batch in enumerate(batches()):
        said, heard = rows_of(number, *batch, **given)
        assert running.predict(said).status_code == 200
        assert set(running.words(heard)) == {"applied"}


def told(running):
    """Return the stored events of keys, as what is comparable."""
    found, after = [], 0
    while page := running.http.get(f"/v1/events?format=json&limit=1000&after={after}").json()[
        "events"
    ]:
        found += page
        after = page[-1]["number"]
    return [
        (each["kind"], each["of"], each["key"]["key"], each["key"]["since"], each["count"])
        for each in found
        if each["kind"].startswith("key.")
    ]


def offline(learning):
    """Play the same rows to a fleet; return it, and what is to be told of its keys."""
    settings = {name: WATCHED[name] for name in ("every", "tolerance")}
    fleet = Fleet(monitor=settings, capacity=110_000, **learning)
    timed, events = "after" in learning, []
    off = {"calibrated": {}, "raw": {}}

    def look(at):
        for of, since in off.items():
            now = {each.key for each in getattr(fleet.monitors, of).miscalibrated_keys()}
            for key in sorted(now ^ set(since)):
                is_off = key in now
                began = since.setdefault(key, at) if is_off else since.pop(key)
                events.append(("key.miscalibrated" if is_off else "key.calibrated", of, key, began))

    for number, (keys, scores, outcomes) in enumerate(batches()):
        ids, at = [f"{number} {row}" for row in range(BATCH)], 1e9 + STEP * number
        if timed:
            fleet.advance(at)
            look(at)
        fleet.predict_many(keys, scores, ids=ids, at=at if timed else None)
        look(at)
        if timed:
            fleet.advance(at + 1800.0)
        fleet.update_many(outcomes, ids=ids, at=at + 1800.0 if timed else None)
        look(at + 1800.0)
    return fleet, events


@pytest.mark.parametrize("learning", LEARNING.values(), ids=LEARNING)
def test_what_is_shown_and_told_is_what_the_library_finds(running, learning):
    running.stream(clock="client", **WATCHED, **learning)
    play(running)
    fleet, events = offline(learning)
    get = lambda path: running.http.get(f"/v1/streams/s{path}").json()  # noqa: E731
    found = get("/miscalibrated_keys")
    assert found["outcomes"] == fleet.learned
    for of in ("calibrated", "raw"):
        monitor = getattr(fleet.monitors, of)
        listed = monitor.miscalibrated_keys()
        assert found[of]["count"] == get("")["miscalibrated_keys"][of] == len(listed)
        assert [each["key"] for each in found[of]["keys"]] == [each.key for each in listed]
        for each, own in zip(found[of]["keys"], listed, strict=True):
            assert (each["evidence"], each["bias"], each["outcomes"], each["text"]) == (
                own.evidence, own.bias, own.outcomes, str(own),
            )  # fmt: skip
        assert found["false_alarm_probability"] == monitor.false_alarm_probability
    assert "however many keys there are" in found["guarantee"]
    assert f"{100 * found['false_alarm_probability']:.2g}%" in found["guarantee"]
    # Within one batch the order is that of the rows, which the library does not know.
    stored = told(running)
    assert sorted(each[:3] for each in stored) == sorted(each[:3] for each in events)
    for of in ("calibrated", "raw"):
        if of == "raw" or not learning:  # what is pending together says less
            off = {4} if learning else {4, 7}
            assert {each[2] for each in stored if each[:2] == ("key.miscalibrated", of)} >= off
        counts = [0, *(each[4] for each in stored if each[1] == of)]
        steps = [1 if each[0] == "key.miscalibrated" else -1 for each in stored if each[1] == of]
        assert np.diff(counts).tolist() == steps
    if "after" not in learning:  # settled when it came, or a number of predictions later
        return
    # Settled at the deadline, two hours after its prediction.
    assert all((each[3] - 7200.0 - 1e9) % STEP == 0.0 for each in stored)


def test_a_key_that_is_off_makes_the_verdict(running):
    running.stream(clock="client", **WATCHED)
    for number, batch in enumerate(batches()):
        if number == OVER:
            break
        said, heard = rows_of(number, *batch)
        running.predict(said)
        running.learn(heard)
    found = running.http.get("/v1/streams/s").json()
    assert found["miscalibrated_keys"]["calibrated"] == 2
    assert found["verdict"]["state"] == found["verdict"]["raw"] == "miscalibrated"
    first = running.http.get("/v1/streams/s/miscalibrated_keys?limit=1").json()["calibrated"]
    assert (first["count"], len(first["keys"])) == (2, 1)
    assert (
        f"2 keys are miscalibrated. The clearest: {first['keys'][0]['text']}."
        in found["verdict"]["words"]
    )
    metrics = running.http.get("/metrics").text
    assert 'calibrant_miscalibrated_keys{of="calibrated",stream="s"} 2.0' in metrics
    assert 'calibrant_miscalibrated{of="calibrated",stream="s"} 1.0' in metrics
    for query in ("limit=-1", "limit=1001", "limit=x"):
        assert running.http.get(f"/v1/streams/s/miscalibrated_keys?{query}").status_code == 422


def test_of_many_keys_a_list_is_kept_and_the_verdict_is_not(running, monkeypatch):
    """The list of a second ago may be empty, or have keys that are off no more."""
    monkeypatch.setattr(rankings, "MANY", 1e-6)  # every list is kept for good
    running.stream(clock="client", **WATCHED)
    get = lambda path: running.http.get(f"/v1/streams/s{path}").json()  # noqa: E731
    lists = {}
    for number, batch in enumerate(batches()):
        said, heard = rows_of(number, *batch)
        running.predict(said)
        if number == 5:
            assert get("/miscalibrated_keys")["calibrated"] == {"count": 0, "keys": []}
        if number == OVER - 1:
            lists = {
                limit: get(f"/miscalibrated_keys?limit={limit}")["calibrated"] for limit in (100, 7)
            }
        running.learn(heard)
        assert get("")["verdict"]["words"]
    assert (lists[100]["count"], lists[100]["keys"]) == (2, [])
    assert [each["key"] for each in lists[7]["keys"]] in ([4, 7], [7, 4])
    still = get("/miscalibrated_keys?limit=7")["calibrated"]
    assert still["count"] == len(still["keys"]) < 2


def test_a_guarantee_that_has_run_out_is_said(running):
    running.stream(clock="client", **WATCHED | {"every": 100})
    play(running)
    found = running.http.get("/v1/streams/s/miscalibrated_keys").json()
    assert found["false_alarm_probability"] == 1.0
    assert "nothing is guaranteed any more" in found["guarantee"]


def test_a_margin_is_not_watched_by_itself(running):
    running.stream(kind="margin", clock="client", **WATCHED)
    play(running)
    assert running.http.get("/v1/streams/s/miscalibrated_keys").json()["raw"] is None
    assert running.http.get("/v1/streams/s").json()["miscalibrated_keys"]["raw"] is None
    assert {of for _, of, *_ in told(running)} == {"calibrated"}
    assert 'calibrant_miscalibrated_keys{of="raw"' not in running.http.get("/metrics").text


@pytest.mark.parametrize("name", [int, "shop {}".format], ids=["integers", "text"])
@pytest.mark.parametrize("learning", LEARNING.values(), ids=LEARNING)
def test_a_replay_from_any_point_gives_the_same_state_and_tells_the_same(
    start, path, learning, name
):
    """As if the service had been killed there, with a snapshot or without."""
    definition = Definition.from_json({"clock": "client", **WATCHED, **learning})
    one = start()
    one.stream(**definition.as_json())
    play(one, name=name)
    state, stored = one.state(), told(one)
    one.stop()
    store, chance = SqliteStore(path), random.Random(str(learning))
    log = list(store.log(1, 0))
    assert check_store(store, lambda _: None) == []
    store.close()
    for cuts in ([], *(sorted(chance.sample(range(len(log)), 3)) for _ in range(2))):
        stream = Stream(StreamRow(1, "s", definition.as_text(), 0.0), 0.0)
        again = []
        for number, batch in enumerate(log):
            if number in cuts:
                stream.engine = Engine.from_bytes(stream.engine.to_bytes(), definition)
            stream.replay(batch)
            if cuts or number == len(log) - 1:  # measuring seldom or often makes no difference
                again += map(event_as_told, stream.measure(0.0))
        assert stream.engine.to_bytes() == state
        assert [each for each in again if each is not None] == stored
    assert len(stored) >= 2


def event_as_told(event):
    body = json.loads(event.body)
    if not event.kind.startswith("key."):
        return None
    return event.kind, body["of"], body["key"]["key"], body["key"]["since"], body["count"]


def test_nothing_is_told_twice_after_a_restart(start):
    one = start()
    one.stream(clock="client", **WATCHED)
    for number, batch in enumerate(batches()):
        if number in (11, 14, 22, 27, 40):
            one.stop()
            one = start()
        said, heard = rows_of(number, *batch)
        one.predict(said)
        one.learn(heard)
    stored = told(one)
    _, events = offline({})
    assert sorted(each[:4] for each in stored) == sorted(events)


def test_a_stream_of_before_there_were_watched_keys_goes_on(start, sql):
    one = start()
    one.stream(keyed=True, seed=3)
    said, heard = rows_of(0, *next(batches()))
    one.predict([row | {"at": None} for row in said])
    one.learn([row | {"at": None} for row in heard])
    before = one.state()
    one.stop()
    settings = json.loads(sql("SELECT settings FROM streams")[0][0])
    del settings["watch_keys"]
    sql("UPDATE streams SET settings = ?", json.dumps(settings, sort_keys=True))
    two = start()
    assert two.state() == before
    assert two.http.put("/v1/streams/s", json={"keyed": True, "seed": 3}).status_code == 200
    other = two.http.put("/v1/streams/s", json={"keyed": True, "seed": 3, "watch_keys": True})
    assert (other.status_code, other.json()["field"]) == (409, "watch_keys")


def test_a_snapshot_without_the_list_of_keys_is_refused():
    definition = Definition.from_json(WATCHED)
    blob = Engine(Definition.from_json(WATCHED | {"watch_keys": False})).to_bytes()
    with pytest.raises(ValueError, match="without monitors"):
        Engine.from_bytes(blob, definition)
    engine = Engine(definition)
    engine.learner.watch.name = "lost"
    with pytest.raises(ValueError, match="miscalibrated_keys"):
        Engine.from_bytes(engine.to_bytes(), definition)


def test_a_key_that_is_off_rings(start):
    receiver = Receiver()
    try:
        policy = Policy(cooldown=0.0)
        running = start(webhooks=Webhooks((receiver.url,), (key_of(SECRET),), policy))
        running.stream(clock="client", **WATCHED)
        play(running)
        stored = [each for each in told(running) if each[1] == "calibrated"]
        ringing = [each for each in stored if each[0] == "key.miscalibrated" or each[4] == 0]
        heard = receiver.until(len(ringing))
        heard = [each for each in heard if each["kind"].startswith("key.")]
        assert [(each["kind"], each["key"]["key"]) for each in heard] == [
            (each[0], each[2]) for each in ringing
        ]
        assert heard[0]["text"].startswith(
            "s: the calibrated probabilities of a key are miscalibrated: "
        )
        assert heard[0]["key"]["text"] in heard[0]["text"]
    finally:
        receiver.close()
