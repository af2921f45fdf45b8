"""What is deleted and what is changed of a stream: whole or not at all, and the log still holds."""

import contextlib

import numpy as np
import pytest

from calibrant.service.store import open_store
from calibrant.service.store.records import StoreError
from calibrant.service.store.sqlite import SqliteStore
from calibrant.service.stream import retention, snapshots
from calibrant.service.stream.verification import check_store
from calibrant.service.tokens import new_token

DAY = 86_400.0


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)])
def address(request, path):
    """Where the store is, of either kind."""
    return str(path) if request.param == "sqlite" else request.getfixturevalue("databases")()


@pytest.fixture
def begin(start, address):
    return lambda: start(open_store(address))


def feed(running, first, last, waiting=(), name="s", **more):
    """Predict rows, one an hour, and bring the outcomes of all but some."""
    random = np.random.default_rng(first)
    for start in range(first, last, 10):
        rows = [
            {"id": f"row {n}", "score": float(random.random()), "at": 3600.0 * n} | more
            for n in range(start, min(start + 10, last))
        ]
        outcomes = [
            {"id": f"row {n}", "outcome": int(random.random() < 0.5), "at": 3600.0 * n}
            for n in range(start, min(start + 10, last)) if n not in waiting
        ]  # fmt: skip
        running.predict(rows, name).raise_for_status()
        running.learn(outcomes, name).raise_for_status()


def stored(running, id_, name="s"):
    return running.http.get(f"/v1/streams/{name}/predictions/{id_}")


def erase(running, *ids, name="s"):
    return running.http.delete(f"/v1/streams/{name}/predictions", params={"id": list(ids)})


def patch(running, **changes):
    return running.http.patch("/v1/streams/s", json=changes)


def count(running, table):
    return running.service.store._rows(f"SELECT COUNT(*) FROM {table}")[0][0]


def snapshot_now(running, name="s"):
    owner = running.service.owner
    owner.ask(lambda: owner.snapshots._take_all([owner.streams[name]], 0.0)).result()


def problems(address):
    with contextlib.closing(open_store(address)) as store:
        return check_store(store, lambda _: None)


def comes_back(running, begin, address, name="s"):
    """Stop; the next start has the same state, and the log gives it too."""
    state = running.state(name)
    running.stop()
    assert problems(address) == []
    again = begin()
    assert again.state(name) == state
    return again


@contextlib.contextmanager
def full_disk(running):
    """Let the next change of a stream fail in the middle of its transaction."""
    store = running.service.store
    found = store._execute

    def fail(statement, parameters):
        if "DELETE FROM outcomes" in statement or statement.startswith("UPDATE streams"):
            found(statement, parameters)
            raise StoreError("the disk is full")
        return found(statement, parameters)

    store._execute = fail
    try:
        yield
    finally:
        store._execute = found


def test_a_prediction_is_shown_by_its_id(running):
    running.stream(silence=0, after="1d", clock="client")
    rows = [{"id": id_, "score": 0.3, "at": 3600.0 * n} for n, id_ in enumerate(("a/b", "ü", "c"))]
    made = running.predict(rows).json()
    running.learn([{"id": "a/b", "outcome": 1, "at": 8000.0}])
    found = stored(running, "a/b").json()
    assert found["prediction"] == made[0] | {"answer": "repeated"}
    assert (found["at"], found["deadline"], found["by"], found["key"]) == (0.0, DAY, None, None)
    assert (found["status"], found["outcome"]) == ("waiting", 1.0)  # it is learned at the deadline
    running.predict([{"id": "late", "score": 0.5, "at": 10 * DAY}])
    assert [stored(running, id_).json()["status"] for id_ in ("a/b", "ü", "late")] == [
        "settled", "settled", "waiting",
    ]  # fmt: skip
    assert stored(running, "ü").json()["outcome"] == 0.0  # by silence
    assert stored(running, "nothing").status_code == 404


def test_what_expired_and_what_has_a_key_is_shown_too(running):
    running.stream(capacity=10_000, keyed=True)
    rows = [{"id": n, "score": 0.5, "key": 7} for n in range(10_001)]
    for start in range(0, 10_001, 10_000):
        running.predict(rows[start : start + 10_000]).raise_for_status()
    found = stored(running, "0").json()
    assert (found["status"], found["outcome"], found["key"]) == ("expired", None, 7)


@pytest.mark.parametrize("keyed", [False, True])
def test_what_is_erased_is_nowhere_and_the_rest_goes_on(begin, address, path, keyed):
    running = begin()
    running.stream(keyed=keyed)
    more = {"key": 5} if keyed else {}
    feed(running, 0, 60, waiting=(11, 12, 50), **more)
    snapshot_now(running)
    feed(running, 60, 80, **more)
    answer = erase(running, "row 3", "row 11", "row 70", "nothing")
    assert answer.json() == {"erased": 3, "unknown": ["nothing"]}
    assert stored(running, "row 3").status_code == 404
    assert stored(running, "row 4").status_code == 200
    summary = running.http.get("/v1/streams/s").json()
    assert (summary["waiting"], summary["expired"], summary["predictions"]) == (2, 0, 80)
    assert running.words([{"id": "row 11", "outcome": 1}]) == ["unknown"]
    again = comes_back(running, begin, address)
    feed(again, 80, 90, **more)
    assert again.predict([{"id": "row 11", "score": 0.1, **more}]).json()[0]["answer"] == "applied"
    erase(again, "row 11")
    again.stop()
    if not address.startswith("postgres"):
        # Ids end with a digit in the file; the longer ones are not looked for.
        left = b"".join(each.read_bytes() for each in path.parent.iterdir())
        assert b"row 70" not in left
        assert b"row 71" in left
    assert problems(address) == []


@pytest.mark.parametrize("change", ["erase", "capacity", "drop"])
def test_a_change_that_cannot_be_stored_never_happened(begin, address, change):
    running = begin()
    running.stream(capacity=20_000)
    feed(running, 0, 30, waiting=(5, 6))
    before = running.state()
    rows = count(running, "predictions"), count(running, "outcomes"), count(running, "streams")
    with full_disk(running):
        if change == "erase":
            answer = erase(running, "row 3", "row 5")
        elif change == "capacity":
            answer = patch(running, capacity=10_000)
        else:
            store = running.service.store
            store._lock_events = lambda: store._execute("DELETE FROM outcomes", ())
            answer = running.http.delete("/v1/streams/s")
            del store._lock_events
    assert answer.status_code == 503, answer.text
    assert running.state() == before
    assert rows == (
        count(running, "predictions"), count(running, "outcomes"), count(running, "streams"),
    )  # fmt: skip
    assert running.http.get("/v1/streams/s").json()["capacity"] == 20_000
    comes_back(running, begin, address)


def test_a_deleted_stream_leaves_nothing_but_the_event(begin, address, monkeypatch):
    monkeypatch.setattr(retention, "PORTION", 7)
    running = begin()
    running.stream()
    running.stream("other")
    feed(running, 0, 30)
    feed(running, 0, 5, name="other")
    snapshot_now(running)
    with monkeypatch.context() as killed:  # before anything is purged
        killed.setattr(type(running.service.store), "purge", lambda *_: False)
        gone = running.http.delete("/v1/streams/s")
        assert gone.json() == {"name": "s", "predictions": 30}
        assert running.http.get("/v1/streams/s").status_code == 404
        assert running.predict({"id": "a", "score": 0.5}).status_code == 404
        assert running.http.delete("/v1/streams/s").status_code == 404
        running.stop()
    again = begin()
    again.stream()  # another one, of the same name
    assert again.predict({"id": "row 1", "score": 0.5}).json()["answer"] == "applied"
    for _ in range(100):
        again.service.owner.ask(lambda: None).result()
    assert (count(again, "predictions"), count(again, "outcomes")) == (6, 5)
    assert count(again, "dropped_streams") == 0
    events = again.http.get("/v1/streams/s/events?format=json").json()["events"]
    kinds = [each["kind"] for each in events]
    assert kinds == ["stream.deleted", "stream.created"]
    comes_back(again, begin, address)


@pytest.mark.parametrize("keyed", [False, True])
def test_a_change_of_the_capacity_is_part_of_the_log(begin, address, keyed):
    running = begin()
    running.stream(capacity=12_000, keyed=keyed)
    more = {"key": "k"} if keyed else {}
    rows = [{"id": n, "score": n % 97 / 97, **more} for n in range(12_500)]
    running.predict(rows[:10_000]).raise_for_status()
    running.predict(rows[10_000:11_000]).raise_for_status()
    changed = patch(running, capacity=10_000)  # the oldest expire
    assert changed.json()["settings"]["capacity"] == 10_000
    shown = running.http.get("/v1/streams/s").json()
    assert (shown["waiting"], shown["capacity"], shown["sequence"]) == (10_000, 10_000, 11_001)
    running.learn([{"id": n, "outcome": n % 2} for n in range(1_000, 2_000)]).raise_for_status()
    assert patch(running, capacity=40_000).status_code == 200
    running.predict(rows[11_000:]).raise_for_status()
    assert running.http.get("/v1/streams/s").json()["waiting"] == 10_500  # more than before
    assert patch(running, capacity=10_000).status_code == 200
    expired = running.http.get("/v1/streams/s").json()["expired"]
    again = comes_back(running, begin, address)
    state = again.state()
    again.stop()
    store = open_store(address)
    store.open()
    with store._transaction():
        store._execute("DELETE FROM snapshots", ())
    store.close()
    from_the_first_row = begin()
    assert from_the_first_row.state() == state
    assert from_the_first_row.http.get("/v1/streams/s").json()["expired"] == expired
    assert from_the_first_row.http.put("/v1/streams/s", json={"keyed": keyed}).status_code == 409


def test_old_finished_rows_go_and_the_log_goes_on(begin, address, monkeypatch):
    monkeypatch.setattr(retention, "PERIOD", 0.0)
    monkeypatch.setattr(retention, "PORTION", 16)
    monkeypatch.setattr(snapshots, "SNAPSHOT_ROWS", 50)
    running = begin()
    running.stream(clock="client")
    feed(running, 0, 100, waiting=(3, 40))
    assert count(running, "predictions") == 100
    assert patch(running, retention="2d").status_code == 200
    sizes = []
    for first in range(100, 500, 50):
        feed(running, first, first + 50)
        for _ in range(30):
            running.service.owner.ask(lambda: None).result()
        sizes.append(count(running, "predictions"))
    assert max(sizes[2:]) <= 48 + 2 + 100  # two days, what is pending, and up to two snapshots
    assert stored(running, "row 3").json()["status"] == "waiting"  # what is pending is kept
    assert stored(running, "row 4").status_code == 404
    assert stored(running, "row 499").status_code == 200
    assert running.words([{"id": "row 3", "outcome": 1, "at": 3600.0 * 500}]) == ["applied"]
    again = comes_back(running, begin, address)
    assert patch(again, retention=None).json()["settings"]["retention"] is None
    assert again.predict([{"id": "row 4", "score": 0.2, "at": 3600.0 * 501}]).status_code == 200


def test_a_stream_is_renamed_with_its_events_and_tokens(begin):
    running = begin()
    running.stream()
    running.stream("taken")
    feed(running, 0, 10)
    assert patch(running, name="taken").status_code == 409
    assert patch(running, name="a b").status_code == 422
    token = new_token(running.service.store, "read", stream="s", now=0.0)
    admin = {"authorization": f"Bearer {new_token(running.service.store, 'admin', now=0.0)}"}
    running.service.tokens._read_at = -10.0
    renamed = running.http.patch("/v1/streams/s", json={"name": "t"}, headers=admin)
    assert (renamed.status_code, renamed.json()["name"]) == (200, "t")
    running.service.tokens._read_at = -10.0
    bearer = {"authorization": f"Bearer {token}"}
    assert running.http.get("/v1/streams/t/predictions/row%201", headers=bearer).status_code == 200
    events = running.http.get("/v1/streams/t/events?format=json", headers=bearer).json()["events"]
    assert [(each["kind"], each["stream"]) for each in events] == [("stream.created", "t")]
    gone = running.http.delete("/v1/streams/t", headers=admin)
    assert gone.status_code == 200
    running.service.tokens._read_at = -10.0
    assert running.http.get("/v1/streams", headers=bearer).status_code == 401  # it ended


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"capacity": 5}, "capacity"),
        ({"capacity": None}, "capacity"),
        ({"retention": 30}, "retention"),
        ({"retention": "soon"}, "retention"),
        ({"seed": 5}, "seed"),
        ({"name": 5}, "name"),
        ({"name": None}, "name"),
        ({"name": "-x"}, "name"),
        ([], None),
    ],
)
def test_bad_changes_are_named(running, changes, field):
    running.stream()
    answer = running.http.patch("/v1/streams/s", json=changes)
    assert answer.status_code == 422
    assert answer.json().get("field") == field


def test_the_capacity_of_watched_keys_stays(running):
    running.stream(keyed=True, watch_keys=True)
    assert patch(running, capacity=20_000).json()["field"] == "capacity"
    assert patch(running, retention="9d").status_code == 200


def test_too_many_ids_at_once(running):
    running.stream()
    assert erase(running, *map(str, range(101))).status_code == 422
    assert erase(running).status_code == 422


def test_sqlite_overwrites_what_it_deletes(path):
    store = SqliteStore(path)
    store.open()
    assert store._writer.execute("PRAGMA secure_delete").fetchone() == (1,)
    store.close()
