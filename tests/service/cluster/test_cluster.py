"""Several processes on one PostgreSQL database: each stream has one owner, any process answers."""

import asyncio
import contextlib
import json
import time
from hashlib import sha256
from types import SimpleNamespace

import httpx
import psycopg
import pytest

from benchmarks import kills
from benchmarks.kills_server import Server
from calibrant.service.clock import SteadyClock
from calibrant.service.cluster.terms import Terms
from calibrant.service.store.ownership import chosen
from calibrant.service.store.postgres import PostgresStore
from calibrant.service.store.records import DeliveryRow
from calibrant.service.store.sqlite import SqliteStore
from calibrant.service.webhooks.courier import Receiver
from calibrant.service.webhooks.policy import Webhooks
from calibrant.service.webhooks.secrets import key_of
from service.webhooks import receiver


class Site:
    """Some processes on one database, not started so far."""

    def __init__(self, address, folder, processes):
        self.address = address
        self.servers = [Server(address, kills.free_port(), folder) for _ in range(processes)]
        self.store = PostgresStore(address)

    def owners(self):
        return {each.name: each.url for each in self.store.held()}

    def is_settled(self):
        """Whether every process that was started is there, and every stream where it belongs."""
        here = self.store.processes()
        return sorted(here) == sorted(each.url for each in self.servers if each.is_alive) and all(
            url == chosen(stream, here) for stream, url in self.owners().items()
        )

    def start(self, *servers):
        for each in servers:
            each.start()
        for each in servers:
            until(lambda each=each: get(each, "/v1/streams").is_success, 60.0)
        until(self.is_settled)


@contextlib.contextmanager
def site_of(address, folder, processes):
    site = Site(address, folder, processes)
    try:
        yield site
    finally:
        site.store.close()
        for each in site.servers:
            if each.is_alive:
                each.kill()


@pytest.fixture(scope="module")
def site(databases, tmp_path_factory):
    with site_of(databases(), tmp_path_factory.mktemp("servers"), 3) as site:
        site.start(*site.servers)
        for number in range(6):
            make(site.servers[number % 3], f"s{number}")
        yield site


def until(is_so, seconds=30.0):
    """Wait until something is so; return how long that took."""
    began = time.monotonic()
    while True:
        with contextlib.suppress(httpx.HTTPError):
            if is_so():
                return time.monotonic() - began
        assert time.monotonic() - began < seconds
        time.sleep(0.02)


def get(server, path, **options):
    return httpx.get(server.url + path, timeout=20, **options)


def post(server, stream, kind, rows):
    return httpx.post(f"{server.url}/v1/streams/{stream}/{kind}", json=rows, timeout=20)


def make(server, stream):
    path = f"{server.url}/v1/streams/{stream}"
    until(lambda: httpx.put(path, json={"seed": 1}, timeout=20).is_success)


def test_the_streams_are_dealt_to_all(site):
    urls = [each.url for each in site.servers]
    until(site.is_settled)
    assert {f"s{number}": chosen(f"s{number}", urls) for number in range(6)} == site.owners()


def test_any_process_answers_as_the_owner_does(site):
    for stream in site.owners():
        said = [
            post(each, stream, "predictions", {"id": "a", "score": 0.3}).json()
            for each in site.servers
        ]
        assert [row.pop("answer") for row in said] == ["applied", "repeated", "repeated"]
        assert said[0] == said[1] == said[2]
        one, other, third = site.servers
        assert post(one, stream, "outcomes", {"id": "a", "outcome": 1}).json()["answer"] == (
            "applied"
        )
        assert post(other, stream, "outcomes", {"id": "a", "outcome": 0}).json()["answer"] == (
            "conflict"
        )
        refused = post(third, stream, "predictions", {"id": "a"})
        assert (refused.status_code, refused.json()["field"]) == (422, "score")
        maps = [get(each, f"/v1/streams/{stream}/map?points=3").json() for each in site.servers]
        assert maps[0] == maps[1] == maps[2]


def test_any_process_knows_what_there_is_and_what_not(site):
    for each in site.servers:
        until(lambda each=each: names_at(each) == sorted(site.owners()))
        until(lambda each=each: get(each, "/v1/streams/none/map").status_code == 404)
        other = httpx.put(f"{each.url}/v1/streams/s0", json={"seed": 2}, timeout=20)
        assert (other.status_code, other.json()["field"]) == (409, "seed")


def names_at(server):
    return [each["name"] for each in get(server, "/v1/streams").json()["streams"]]


def test_events_of_all_streams_are_told_by_any_process_in_order(site):
    for each in site.servers:
        with httpx.stream("GET", each.url + "/v1/events?after=0", timeout=20) as told:
            assert told.headers["content-type"].startswith("text/event-stream")
            numbers, missing = [], set(site.owners())
            lines = told.iter_lines()
            while missing:
                line = next(lines)
                if line.startswith("id:"):
                    numbers.append(int(line[3:]))
                elif line.startswith("data:"):
                    missing.discard(json.loads(line[5:])["stream"])
        assert numbers == sorted(numbers)


def test_what_happens_at_one_process_is_told_at_another_while_it_happens(site):
    stream = "s-new"
    url = chosen(stream, [each.url for each in site.servers])
    other = next(each for each in site.servers if each.url != url)
    with httpx.stream("GET", other.url + "/v1/events", timeout=60) as told:
        lines = told.iter_lines()
        next(lines)
        make(other, stream)
        assert stream in next(line for line in lines if stream in line)
        post(other, stream, "predictions", {"id": "a", "score": 0.5})
        progress = (json.loads(line[5:]) for line in lines if '"predictions"' in line)
        assert any(each["name"] == stream and each["predictions"] == 1 for each in progress)


def test_lines_pass_through(site):
    lines = "".join(f'{{"id": "r{n}", "score": 0.5}}\n' for n in range(20_001))
    for each in site.servers[:2]:
        answer = httpx.post(
            f"{each.url}/v1/streams/s0/predictions",
            content=(lines[at : at + 50_000].encode() for at in range(0, len(lines), 50_000)),
            headers={"content-type": "application/x-ndjson"}, timeout=60,
        )  # fmt: skip
        assert answer.text.count("\n") == 20_001


def test_what_was_forwarded_is_not_forwarded_again(site):
    header = {"x-calibrant-forwarded": "1"}
    answers = [get(each, "/v1/streams/s0", headers=header) for each in site.servers]
    assert sorted(each.status_code for each in answers) == [200, 503, 503]
    assert {each.headers.get("retry-after") for each in answers} == {None, "1"}


def test_a_page_of_another_site_is_turned_away_by_any(site):
    for each in site.servers:
        for path in ("/v1/streams", "/v1/streams/s0"):
            assert get(each, path, headers={"host": "evil.example"}).status_code == 403


def test_streams_move_to_a_process_that_joins_with_all_they_know(databases, tmp_path):
    with site_of(databases(), tmp_path, 2) as site:
        first, second = site.servers
        urls = [first.url, second.url]
        # Where a name belongs depends on ports, which are drawn: three belong to each process.
        names = sorted(map("s{}".format, range(60)), key=lambda name: chosen(name, urls))
        names = names[:3] + names[-3:]
        site.start(first)
        for name in names:
            make(first, name)
            post(first, name, "predictions", {"id": "a", "score": 0.3})
        before = [get(first, f"/v1/streams/{name}/map").json() for name in names]
        site.start(second)
        until(lambda: site.owners() == {name: chosen(name, urls) for name in names})

        def is_unmoved():
            return [get(second, f"/v1/streams/{name}/map").json() for name in names] == before

        until(is_unmoved)
        told = [post(first, name, "outcomes", {"id": "a", "outcome": 1}) for name in names]
        assert [each.json()["answer"] for each in told] == ["applied"] * len(names)


def test_another_process_takes_over(databases, tmp_path):
    """After a kill, after the loss of all connections to the database, and after a stop.

    How long that takes is measured by ``python -m benchmarks kills``.
    """
    row = {"id": "a", "score": 0.3}
    with site_of(databases(), tmp_path, 3) as site:
        site.start(*site.servers)
        make(site.servers[0], "plain")
        said = post(site.servers[0], "plain", "predictions", row).json() | {"answer": "repeated"}

        def owner():
            url = site.owners()["plain"]
            return next(each for each in site.servers if each.url == url)

        def is_answered(server):
            answer = post(server, "plain", "predictions", row)
            if answer.is_success:
                assert answer.json() == said
            else:
                assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
            return answer.is_success

        killed = owner()
        killed.kill()
        one, other = (each for each in site.servers if each is not killed)
        assert get(one, "/healthz").is_success
        until(lambda: is_answered(one))
        with psycopg.connect(site.address, autocommit=True) as connection:
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
        fresh = {"id": "b", "score": 0.3}
        until(lambda: post(other, "plain", "predictions", fresh).is_success)
        until(site.is_settled)
        stopped = owner()
        stopped.stop()
        (last,) = (each for each in (one, other) if each is not stopped)
        until(lambda: is_answered(last))


class Quiet:
    """A log that keeps nothing."""

    def __getattr__(self, _):
        return lambda *_, **__: None


def test_alarms_ring_from_the_owner_and_then_from_the_next(databases):
    address, bell = databases(), receiver.Receiver()
    hooks = Webhooks((bell.url,), (key_of(receiver.SECRET),))
    both = [Terms(address, f"http://here:{n}", lambda _: None, Quiet(), hooks) for n in range(2)]

    def owner():
        services = [(each, each.service) for each in both]
        return next((a for a, b in services if b is not None and "s" in b.owner.streams), None)

    def send(at, method, path, body):
        async def ask(app):
            transport = httpx.ASGITransport(app, client=("127.0.0.1", 1))
            async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as http:
                return await http.request(method, f"/v1/streams/s{path}", json=body)

        app = None if at is None else at.app
        return app is not None and asyncio.run(ask(app)).is_success

    try:
        for each in both:
            each.start()
        until(lambda: send(both[0], "PUT", "", {"capacity": 10_000}))
        rows = [{"id": str(k), "score": 0.5} for k in range(8500)]
        until(lambda: send(owner(), "POST", "/predictions", rows))
        assert bell.until(1)[0]["kind"] == "pending.high"
        home = chosen("s", [each.url for each in both])
        first = next(each for each in both if each.url == home)
        until(lambda: owner() is first)
        first.stop()
        known = [{"id": str(k), "outcome": k % 2} for k in range(8500)]
        until(lambda: send(owner(), "POST", "/outcomes", known))
        until(lambda: b"pending.low" in bell.messages[-1].body)
    finally:
        for each in both:
            each.stop()
        bell.close()
    # An alarm whose arrival could not be stored any more comes twice, by one id.
    assert len({each.id for each in bell.messages}) == 2
    assert all(each.is_signed() for each in bell.messages)


@pytest.mark.usefixtures("databases")
def test_nothing_that_was_answered_is_lost_by_kills_of_three_processes():
    result = kills.siege_postgresql(3)
    assert result.verdict.wrong == []
    assert result.verdict.counts["states equal to a replay"] == len(kills.STREAMS)
    assert result.verdict.counts["outcomes applied"] > 0


def test_a_webhook_goes_on_where_the_owner_before_left_it(path):
    """It reads that when the stream is taken: not at its start, when another still rang."""
    url, name = "http://there:1/hook", sha256(b"http://there:1/hook").hexdigest()
    store, owner = SqliteStore(path), SimpleNamespace(streams={})
    store.open()
    try:
        store.keep_delivery(DeliveryRow(name, "s", 7, "{}"))
        receiver = Receiver(url, Webhooks((url,)), store, owner, SteadyClock(), None)
        receiver.load()
        assert receiver._own_lines() == []
        store.keep_delivery(DeliveryRow(name, "s", 9, "{}"))
        owner.streams["s"] = object()
        receiver.adopt("s")
        asyncio.run(receiver._bring_new(None, "s"))
        ((stream, line),) = receiver._own_lines()
        assert (stream, line.position) == ("s", 9)
        owner.streams.clear()
        assert receiver._own_lines() == []
    finally:
        store.close()
