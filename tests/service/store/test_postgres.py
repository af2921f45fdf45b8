"""The PostgreSQL store: what it keeps, and who may open it."""

import math
import random
import struct

import psycopg
import pytest

from calibrant.service.service import Service
from calibrant.service.store.postgres import PostgresStore
from calibrant.service.store.records import (
    EventRow,
    Group,
    OutcomeRow,
    PredictionRow,
    SnapshotRow,
    StoreError,
    StoreTakenError,
    TokenRow,
)
from calibrant.service.store.sqlite import SqliteStore
from calibrant.service.stream.verification import check_store


@pytest.fixture
def address(databases):
    return databases()


@pytest.fixture
def store(address):
    one = PostgresStore(address)
    one.open()
    yield one
    one.close()


def prediction(sequence, id_, value=0.5):
    return PredictionRow(
        1, sequence, sequence, id_, value, None, None, value, None, value, value, value, None, None
    )


# -- the store --------------------------------------------------------------------------------


def test_every_bit_of_a_number_is_kept(store):
    chance, values = random.Random(1), [5e-324, 1.7976931348623157e308, 0.1, 1 / 3]
    while len(values) < 2000:
        (value,) = struct.unpack("d", chance.randbytes(8))
        if math.isfinite(value):
            values.append(value)
    rows = [prediction(n, f"r{n}", value) for n, value in enumerate(values, 1)]
    store.write(Group(predictions=rows))
    assert [value for batch in store.log(1, 0) for value in batch.smooth] == values
    assert store.known(1, [row.id for row in rows]).predictions == {row.id: row for row in rows}


def test_text_is_kept_as_it_is(store):
    ids = ["\\N", "\t", "a\nb", '"', "'; DROP TABLE predictions; --", "%s", "{value}", "ü🎲", "\\."]
    rows = [prediction(n, id_) for n, id_ in enumerate(ids, 1)]
    store.write(Group(predictions=rows))
    assert [id_ for batch in store.log(1, 0) for id_ in batch.id] == ids
    assert store.known(1, ids).predictions.keys() == set(ids)


def test_a_group_is_kept_all_or_not_at_all(store):
    store.write(Group(predictions=[prediction(1, "a")]))
    twice = Group(
        predictions=[prediction(2, "b")],
        outcomes=[OutcomeRow(1, 3, 3, "a", 1.0, 0.0), OutcomeRow(1, 4, 3, "a", 0.0, 0.0)],
        events=[EventRow(0, "s", 0.0, "x", "{}")],
    )
    with pytest.raises(StoreError, match="cannot be written: duplicate key"):
        store.write(twice)
    assert store.last_sequence(1) == 1
    assert store.last_event() == 0
    assert store.known(1, ["a", "b"]) == ({"a": prediction(1, "a")}, {})


def test_two_snapshots_are_kept(store):
    for sequence in (1, 2, 3):
        store.write(Group(snapshots=[SnapshotRow(1, sequence, 0.0, b"\0\xff", "c")]))
    assert [each.sequence for each in store.snapshots(1)] == [3, 2]
    assert next(store.snapshots(1)).blob == b"\0\xff"


def test_streams_tokens_and_events_are_those_of_sqlite(store, path):
    other = SqliteStore(path)
    other.open()

    def told(each):
        each.add_stream("s", "{}", 1.5)
        with pytest.raises(StoreError):
            each.add_stream("s", "{}", 2.0)
        each.add_token(TokenRow("n", "h", "read", "*", 1.0, None))
        each.write(Group(events=[EventRow(0, "s", 0.5, "x", "{}"), EventRow(0, "t", 1, "x", "{}")]))
        answers = [each.end_token("n", 5.0), each.end_token("n", 9.0), each.end_token("m", 5.0)]
        return (answers, each.streams()[:1], each.tokens(), each.events(0, None, 9),
                each.events(0, "t", 9), each.last_event(), each.check())  # fmt: skip

    assert told(store) == told(other)
    other.close()


def test_one_process_at_a_time_owns_a_database(store, address):
    other = PostgresStore(address)
    for begin in (Service(other).start, other.open_shared):
        with pytest.raises(StoreTakenError, match="in use by another calibrant serve"):
            begin()
    other.open(alone=False)  # as calibrant token does
    store.close()
    other.open_shared()
    with pytest.raises(StoreTakenError, match="in use by another calibrant serve"):
        store.open()
    store.open_shared()
    other.close()


def test_a_database_that_may_only_be_read_is_refused(store, address):
    store.close()
    with psycopg.connect(address, autocommit=True) as connection:
        name = connection.info.dbname
        connection.execute(f"ALTER DATABASE {name} SET default_transaction_read_only = on")
    with pytest.raises(StoreError, match=r"cannot be opened: .*read-only transaction"):
        Service(PostgresStore(address)).start()


def test_a_database_that_comes_back_is_read_again(store, address, monkeypatch):
    assert store.streams() == []
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
    with monkeypatch.context() as away:
        away.setattr(store, "address", "postgresql://localhost:1/none")
        for _ in range(3):
            with pytest.raises(StoreError, match="cannot be read"):
                store.streams()
    assert store.streams() == []


def test_an_error_names_the_store_without_its_password():
    store = PostgresStore("postgresql://user:secret@localhost:1/none")
    with pytest.raises(StoreError, match="cannot be opened") as failed:
        store.open()
    assert "secret" not in str(failed.value)


def test_a_service_answers_as_it_does_on_sqlite(start, store, address, path):
    """The same requests give the same answers and the same state, and the log replays."""
    store.close()
    states = []
    for each in (PostgresStore(address), SqliteStore(path)):
        running = start(each)
        running.stream(seed=3)
        said = [
            running.predict([{"id": f"r{n}", "score": n % 97 / 97, "at": n, "by": "ab"[n % 2]}
                             for n in range(first, first + 300)]).json()
            for first in range(0, 3000, 250)
        ]  # fmt: skip
        words = running.words([{"id": f"r{n}", "outcome": n % 3 == 0, "at": n} for n in range(999)])
        states.append((said, words, running.state()))
        running.stop()
        assert check_store(each, lambda _: None) == []
        each.close()
    assert states[0] == states[1]
