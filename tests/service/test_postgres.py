"""The PostgreSQL store, and several processes on one database: one owns the streams."""

import asyncio
import contextlib
import itertools
import math
import os
import random
import struct
import time

import httpx
import psycopg
import pytest

from benchmarks import kills, kills_postgres
from benchmarks.kills_server import Server
from calibrant.service.api.terms import Terms
from calibrant.service.checking import check_store
from calibrant.service.service import Service
from calibrant.service.store.interface import (
    EventRow,
    Group,
    OutcomeRow,
    PredictionRow,
    SnapshotRow,
    StoreError,
    StoreTakenError,
    TokenRow,
)
from calibrant.service.store.postgres import PostgresStore
from calibrant.service.store.sqlite import SqliteStore
from calibrant.service.webhooks.policy import Webhooks
from calibrant.service.webhooks.secrets import key_of
from service.receiver import SECRET, Receiver, wait_until

#: Set where PostgreSQL must be there, so that none of this is skipped unnoticed.
REQUIRED = "CALIBRANT_REQUIRE_POSTGRES"
NUMBERS = itertools.count()


@pytest.fixture(scope="module")
def postgres():
    if kills_postgres.programs() is None:
        message = "no PostgreSQL: neither /usr/lib/postgresql nor initdb on the path"
        if os.environ.get(REQUIRED):
            pytest.fail(message)
        pytest.skip(message)
    with kills_postgres.database() as address:
        yield address


@pytest.fixture
def address(postgres):
    return fresh_database(postgres)


def fresh_database(postgres):
    """Return the address of an empty database."""
    name = f"test{next(NUMBERS)}"
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    return postgres.replace("/postgres?", f"/{name}?")


@pytest.fixture
def store(address):
    one = PostgresStore(address)
    one.open()
    yield one
    one.close()


@contextlib.contextmanager
def three_processes(address, folder):
    """Start three processes on one database, the first of which owns the streams."""
    servers = [Server(address, kills.free_port(), folder) for _ in range(3)]
    try:
        servers[0].start()
        kills.make_streams(servers)
        for each in servers[1:]:
            each.start()
        for each in servers[1:]:
            until(lambda each=each: get(each, "/v1/streams").is_success)
        yield servers
    finally:
        for each in servers:
            if each.is_alive:
                each.kill()


@pytest.fixture(scope="module")
def servers(postgres, tmp_path_factory):
    folder = tmp_path_factory.mktemp("servers")
    with three_processes(fresh_database(postgres), folder) as servers:
        yield servers


def until(is_so, seconds=30.0):
    """Wait until something is so; return how long that took."""
    began = time.monotonic()
    while True:
        try:
            if is_so():
                return time.monotonic() - began
        except httpx.HTTPError:
            pass
        assert time.monotonic() - began < seconds
        time.sleep(0.02)


def get(server, path, **options):
    return httpx.get(server.url + path, timeout=20, **options)


def post(server, kind, rows):
    return httpx.post(f"{server.url}/v1/streams/plain/{kind}", json=rows, timeout=20)


def prediction(sequence, id_, value=0.5):
    return PredictionRow(
        1, sequence, sequence, id_, value, None, None, value, None, value, value, value
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
    with pytest.raises(StoreTakenError, match="another calibrant serve owns the streams"):
        Service(other).start()
    other.open(alone=False)  # as calibrant token does
    store.close()
    other.open()  # now it is its turn
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


# -- several processes ------------------------------------------------------------------------


def test_any_process_answers_as_the_owner_does(servers):
    first = [post(each, "predictions", {"id": "a", "score": 0.3}).json() for each in servers]
    assert [row.pop("answer") for row in first] == ["applied", "repeated", "repeated"]
    assert first[0] == first[1] == first[2]
    assert post(servers[1], "outcomes", {"id": "a", "outcome": 1}).json()["answer"] == "applied"
    assert post(servers[2], "outcomes", {"id": "a", "outcome": 0}).json()["answer"] == "conflict"
    refused = post(servers[2], "predictions", {"id": "a"})
    assert (refused.status_code, refused.json()["field"]) == (422, "score")
    assert get(servers[1], "/v1/streams/plain/map?points=3").json() == get(
        servers[0], "/v1/streams/plain/map?points=3"
    ).json()  # fmt: skip


def test_lines_and_events_pass_through(servers):
    lines = "".join(f'{{"id": "r{n}", "score": 0.5}}\n' for n in range(20_001))
    answer = httpx.post(
        f"{servers[1].url}/v1/streams/plain/predictions",
        content=(lines[at : at + 50_000].encode() for at in range(0, len(lines), 50_000)),
        headers={"content-type": "application/x-ndjson"}, timeout=60,
    )  # fmt: skip
    assert answer.text.count("\n") == 20_001
    with httpx.stream("GET", servers[1].url + "/v1/events?after=0", timeout=20) as events:
        assert events.headers["content-type"].startswith("text/event-stream")
        assert next(events.iter_text())


def test_what_was_handed_on_is_not_handed_on_again(servers):
    refused = get(servers[1], "/v1/streams", headers={"x-calibrant-handed-on": "1"})
    assert refused.status_code == 503
    assert refused.headers["retry-after"] == "1"
    assert get(servers[0], "/v1/streams", headers={"x-calibrant-handed-on": "1"}).is_success


def test_a_page_of_another_site_is_turned_away_by_any(servers):
    for each in servers:
        assert get(each, "/v1/streams", headers={"host": "evil.example"}).status_code == 403


def test_another_process_takes_over_within_five_seconds(address, tmp_path):
    """After a kill, after the loss of all connections to the database, and after a stop."""
    row = {"id": "a", "score": 0.3}
    with three_processes(address, tmp_path) as (first, second, third):
        said = post(first, "predictions", row).json() | {"answer": "repeated"}

        def is_answered(server):
            answer = post(server, "predictions", row)
            if answer.is_success:
                assert answer.json() == said
            else:
                assert answer.status_code == 503
                assert answer.headers["retry-after"] == "1"
            return answer.is_success

        first.kill()
        assert get(second, "/healthz").is_success
        assert until(lambda: is_answered(second)) < 5.0
        with psycopg.connect(address, autocommit=True) as connection:
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
        assert until(lambda: post(third, "predictions", {"id": "b", "score": 0.3}).is_success) < 5.0
        second.stop()
        assert until(lambda: is_answered(third)) < 5.0
        assert third.stop() < 5.0


class Quiet:
    """A log that keeps nothing."""

    def __getattr__(self, _):
        return lambda *_, **__: None


def test_only_the_owner_rings_and_the_next_one_goes_on(address):
    """Two processes with the same webhook: each alarm comes from whichever owns the streams."""
    receiver = Receiver()
    hooks = Webhooks((receiver.url,), (key_of(SECRET),))
    both = [Terms(address, f"http://here:{n}", lambda _: None, Quiet(), hooks) for n in range(2)]

    def send(method, path, body):
        async def ask(app):
            transport = httpx.ASGITransport(app, client=("127.0.0.1", 1))
            async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as http:
                return await http.request(method, f"/v1/streams/s{path}", json=body)

        apps = [each.app for each in both if each.app is not None]
        return bool(apps) and asyncio.run(ask(apps[0])).is_success

    try:
        for each in both:
            each.start()
        until(lambda: send("PUT", "", {"capacity": 10_000}))
        rows = [{"id": str(k), "score": 0.5} for k in range(8500)]
        until(lambda: send("POST", "/predictions", rows))
        assert receiver.until(1)[0]["kind"] == "pending.high"
        with psycopg.connect(address, autocommit=True) as connection:
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
        known = [{"id": str(k), "outcome": k % 2} for k in range(8500)]
        until(lambda: send("POST", "/outcomes", known))
        wait_until(lambda: b"pending.low" in receiver.messages[-1].body)
        wait_until(lambda: sum(each.app is not None for each in both) == 1)
    finally:
        for each in both:
            each.stop()
        receiver.close()
    # An alarm whose arrival could not be stored any more comes twice, by one id.
    assert len({each.id for each in receiver.messages}) == 2
    assert all(each.is_signed() for each in receiver.messages)


@pytest.mark.usefixtures("postgres")
def test_nothing_that_was_answered_is_lost_by_kills_of_three_processes():
    result = kills.siege_postgresql(3)
    assert result.verdict.wrong == []
    assert result.verdict.counts["states equal to a replay"] == 2
    assert result.verdict.counts["outcomes applied"] > 0
