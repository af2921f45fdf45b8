"""A service in this process, listening on a free port, and a client that talks to it."""

import asyncio
import contextlib
import functools
import itertools
import os
import threading
from types import SimpleNamespace

import httpx
import pytest
import uvicorn.server

from calibrant.service.api.server import listen, server_of
from calibrant.service.service import Service
from calibrant.service.store.sqlite import SqliteStore
from calibrant.service.webhooks.policy import NOWHERE
from service.stores import query

# uvicorn looks ten times a second whether it is to stop, and waits as long again when it is. Tests
# stop hundreds of services.
uvicorn.server.asyncio = SimpleNamespace(
    **{**vars(asyncio), "sleep": lambda seconds: asyncio.sleep(seconds / 20)}
)


@pytest.fixture(autouse=True)
def no_sync(monkeypatch):
    """Do not wait for the disk: no test takes the power away."""
    monkeypatch.setattr("calibrant.service.store.sqlite.SYNCHRONOUS", "OFF")


class Running:
    """A started service and its client."""

    def __init__(self, store, port=0, webhooks=NOWHERE):
        self.said = []
        self.service = Service(store, webhooks=webhooks, say=self.said.append)
        self.service.start()
        listening = listen("127.0.0.1", port)
        self.server = server_of(self.service)
        self.thread = threading.Thread(target=self.server.run, args=([listening],))
        self.thread.start()
        self.port = listening.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        # Without certificates, which take longer to read than a service to start.
        self.http = httpx.Client(base_url=self.url, timeout=30, verify=False)

    def stop(self):
        """Stop as a signal would; a second time does nothing."""
        if self.http.is_closed:
            return
        self.http.close()
        self.service.listeners.close()
        self.server.should_exit = True
        self.thread.join()
        self.service.stop()

    def stream(self, name="s", **settings):
        answer = self.http.put(f"/v1/streams/{name}", json=settings)
        assert answer.status_code == 201, answer.text
        return name

    def predict(self, rows, name="s"):
        return self.http.post(f"/v1/streams/{name}/predictions", json=rows)

    def learn(self, rows, name="s"):
        return self.http.post(f"/v1/streams/{name}/outcomes", json=rows)

    def words(self, rows, name="s"):
        answer = self.learn(rows, name)
        assert answer.status_code == 200, answer.text
        return [row["answer"] for row in answer.json()]

    def state(self, name="s"):
        owner = self.service.owner
        return owner.ask(owner.streams[name].engine.to_bytes).result()


@pytest.fixture
def path(tmp_path):
    return tmp_path / "store.db"


@pytest.fixture
def sql(path):
    """Return `query` of the store."""
    return functools.partial(query, path)


@pytest.fixture
def start(path):
    """Return a function that starts a service on the store, as often as wanted."""
    with contextlib.ExitStack() as running:

        def begin(store=None, port=0, webhooks=NOWHERE):
            one = Running(SqliteStore(path) if store is None else store, port, webhooks)
            running.callback(one.stop)
            return one

        yield begin


@pytest.fixture
def running(start):
    return start()


#: Set where PostgreSQL must be there, so that nothing is skipped unnoticed.
POSTGRES_REQUIRED = "CALIBRANT_REQUIRE_POSTGRES"


@pytest.fixture(scope="module")
def databases():
    """Return a function that makes an empty PostgreSQL database and returns its address."""
    import psycopg  # noqa: PLC0415 - an extra of its own

    from benchmarks import kills_postgres  # noqa: PLC0415

    if kills_postgres.programs() is None:
        message = "no PostgreSQL: neither /usr/lib/postgresql nor initdb on the path"
        if os.environ.get(POSTGRES_REQUIRED):
            pytest.fail(message)
        pytest.skip(message)
    numbers = itertools.count()
    with kills_postgres.database() as address:

        def make():
            name = f"test{next(numbers)}"
            with psycopg.connect(address, autocommit=True) as connection:
                connection.execute(f"CREATE DATABASE {name}")
            return address.replace("/postgres?", f"/{name}?")

        yield make
