"""The state after a restart is that of a replay, bit for bit, whatever happened before."""

import random

import pytest

from calibrant.service.service import Service
from calibrant.service.store.records import StoreError, StreamRow
from calibrant.service.store.sqlite import SqliteStore
from calibrant.service.stream.definition import Definition
from calibrant.service.stream.stream import Stream
from calibrant.service.stream.verification import check_store

KINDS = {
    "plain": {},
    "logit": {"kind": "logit"},
    "margin": {"kind": "margin"},
    "silence": {"silence": 0, "after": "1h", "clock": "client"},
    "silence with dues": {"silence": 1, "clock": "client"},
    "silence in predictions": {"silence": 0, "after": 40},
    "hold": {"hold": "30min", "clock": "client"},
    "hold in predictions": {"hold": 25},
    "capacity": {"capacity": 10_000},
    "keyed": {"keyed": True},
    "keyed by integers": {"keyed": True, "kind": "logit"},
    "keyed with silence": {"keyed": True, "silence": 0, "after": "1h", "clock": "client"},
    "keyed with dues": {"keyed": True, "silence": 1, "clock": "client"},
    "keyed in predictions": {"keyed": True, "silence": 0, "after": 40},
    "keyed and watched": {"keyed": True, "watch_keys": True, "every": 100, "tolerance": 0.0},
    "keyed, watched, with silence": {
        "keyed": True,
        "watch_keys": True,
        "every": 100,
        "silence": 0,
        "clock": "client",
    },
    "keyed and held": {"keyed": True, "hold": "30min", "clock": "client"},
    "keyed and held in predictions": {"keyed": True, "hold": 25, "kind": "margin"},
}


def play(running, settings, seed, requests, first=0):
    """Send random requests: lists and single rows, repeated, late and conflicting ones too."""
    chance = random.Random(seed)
    timed = settings.get("clock") == "client"
    at, sent = 1e6 + 600.0 * first, [f"r{n}" for n in range(first)]
    for request in range(requests):
        at += chance.expovariate(1 / 300)
        rows = chance.choice((1, 1, 7, 60))
        if chance.random() < 0.5 or not sent:
            fresh = [f"r{len(sent) + n}" for n in range(rows)]
            ids = [chance.choice(sent) if sent and chance.random() < 0.1 else id_ for id_ in fresh]
            sent += fresh
            body = [{"id": id_, "score": chance.random()} for id_ in ids]
            if settings.get("keyed"):
                name = "shop {}".format if "kind" not in settings else int
                for row in body:
                    row["key"] = name(int(1000 * chance.random() ** 3))
            elif chance.random() < 0.5:
                for row in body:
                    row["by"] = chance.choice(("north", "south", None))
            for row in body if timed else ():
                row["at"] = at + chance.uniform(-200, 200)
                if "after" not in settings and "hold" not in settings:
                    row["due"] = row["at"] + chance.uniform(10, 7200)
                elif chance.random() < 0.2:
                    row["due"] = row["at"] + 3000
            answer = running.predict(body)
        else:
            ids = chance.choices(sent[-200:], k=rows)
            body = [{"id": id_, "outcome": int(chance.random() < 0.3)} for id_ in ids]
            for row in body if timed else ():
                row["at"] = at + chance.uniform(-200, 200)
            answer = running.learn(body)
        assert answer.status_code == 200, (request, answer.text)
    return len(sent)


@pytest.mark.parametrize("settings", KINDS.values(), ids=KINDS)
def test_a_restart_and_a_replay_of_everything_give_the_same_state(start, path, sql, settings):
    one = start()
    one.stream(**settings)
    sent = play(one, settings, 1, 25)
    before = one.state()
    one.stop()  # which takes a snapshot
    two = start()
    assert two.state() == before
    play(two, settings, 2, 25, first=sent)
    after = two.state()
    two.stop()
    # The state went through a snapshot; a replay of the whole log does not.
    assert check_store(SqliteStore(path), lambda _: None) == []
    sql("DELETE FROM snapshots")
    three = start()
    assert three.state() == after


def test_the_log_alone_drives_the_state(start, path):
    """What is measured after each request, live, is measured in portions in a replay."""
    one = start()
    one.stream(seed=3)
    play(one, {}, 5, 40)
    seen = [one.http.get(f"/v1/streams/s/{view}").json()
            for view in ("scorecard", "history", "episodes", "pending", "groups")]  # fmt: skip
    one.stop()
    store = SqliteStore(path)
    stream = Stream(StreamRow(1, "s", Definition(seed=3).as_text(), 0.0), 0.0)
    for batch in store.log(1, 0):
        stream.replay(batch)
    stream.engine.measure()
    store.close()
    two = start()
    assert stream.engine.to_bytes() == two.state()
    again = [two.http.get(f"/v1/streams/s/{view}").json()
             for view in ("scorecard", "history", "episodes", "pending", "groups")]  # fmt: skip
    assert again == seen


def test_a_snapshot_cut_short_is_passed_over_for_the_one_before(start, path, sql):
    one = start()
    one.stream()
    sent = play(one, {}, 1, 20)
    one.stop()
    two = start()
    play(two, {}, 2, 20, first=sent)
    state = two.state()
    two.stop()
    rows = sql("SELECT sequence, blob FROM snapshots ORDER BY sequence")
    assert len(rows) == 2
    newest, blob = rows[1]
    sql("UPDATE snapshots SET blob = ? WHERE sequence = ?", blob[:-100], newest)
    (found,) = check_store(SqliteStore(path), lambda _: None)
    assert f"the snapshot at row {newest:,} is damaged" in found
    three = start()
    assert three.service.owner.streams["s"].kept == rows[0][0]
    assert three.state() == state
    three.stop()  # which takes the same snapshot again
    assert check_store(SqliteStore(path), lambda _: None) == []


def test_a_log_that_was_changed_is_refused(start, path, sql):
    one = start()
    one.stream()
    play(one, {}, 1, 20)
    one.stop()
    sql("DELETE FROM snapshots")
    sql("UPDATE predictions SET score = 0.123 WHERE sequence = 1")
    with pytest.raises(StoreError, match="does not give what was answered"):
        Service(SqliteStore(path)).start()
    assert "does not give what was answered" in check_store(SqliteStore(path), lambda _: None)[0]


def test_a_row_that_is_missing_is_noticed(start, path, sql):
    one = start()
    one.stream()
    one.predict([{"id": id_, "score": 0.5} for id_ in "abc"])
    one.learn({"id": "a", "outcome": 1})
    one.stop()
    sql("DELETE FROM snapshots")
    sql("DELETE FROM predictions WHERE id = 'c'")
    with pytest.raises(StoreError, match="missing from the log"):
        Service(SqliteStore(path)).start()
