"""The relay's own failures are problems too; what needs several processes is in test_postgres."""

import asyncio
import contextlib
import socket
import threading
from types import SimpleNamespace

import httpx
import pytest

from calibrant.service.api.relay import Relay
from calibrant.service.store.interface import StoreError


class Log:
    """Keeps what is logged."""

    def __init__(self):
        self.said = []

    def error(self, event, **more):
        self.said.append((event, more))


def relay_to(owner, log):
    terms = SimpleNamespace(app=None, url="http://here:1", log=log)
    return Relay(terms, SimpleNamespace(owner=owner))


def relayed(owner, path="/v1/streams", **request):
    """Send a request to a relay; `owner` returns the owner's address."""
    log = Log()
    relay = relay_to(owner, log)

    async def ask():
        transport = httpx.ASGITransport(relay, raise_app_exceptions=True)
        async with httpx.AsyncClient(transport=transport, base_url="http://here:1") as http:
            return await http.request(request.pop("method", "GET"), path, **request)

    return asyncio.run(ask()), log.said


def is_problem(answer, status):
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["status"] == status
    assert "Traceback" not in answer.text
    return answer.json()["detail"]


@contextlib.contextmanager
def answering(said):
    """Listen, take one request and answer with bytes."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def answer():
            with contextlib.suppress(OSError):
                connection, _ = listening.accept()
                with connection:
                    connection.recv(65536)
                    connection.sendall(said)

        thread = threading.Thread(target=answer)
        thread.start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        thread.join(10)


def fails_with(error):
    def owner():
        raise error

    return owner


def test_no_owner_and_no_database():
    assert "no process owns" in is_problem(relayed(lambda: None)[0], 503)
    answer, said = relayed(fails_with(StoreError("10.0.0.5 refused")))
    assert "10.0.0.5" not in is_problem(answer, 503)
    assert answer.headers["retry-after"] == "1"
    assert said[0][0] == "no owner"


@pytest.mark.parametrize("error", [RuntimeError("broken"), TimeoutError("late"), KeyError("x")])
def test_whatever_fails_here_is_a_502(error):
    answer, said = relayed(fails_with(error))
    assert "broken" not in is_problem(answer, 502)
    assert said == [("not handed on", {"detail": f"{type(error).__name__}: {error}"})]


@pytest.mark.parametrize("address", ["nonsense", "http://[::1", "ftp://somewhere"])
def test_an_address_that_is_none(address):
    answer, _ = relayed(lambda: address)
    assert answer.status_code in (502, 503)
    is_problem(answer, answer.status_code)


@pytest.mark.parametrize("said", [b"", b"nonsense\r\n\r\n", b"HTTP/1.1 200 OK\r\ncontent-le"])
def test_an_owner_that_does_not_answer(said):
    with answering(said) as url:
        answer, _ = relayed(lambda: url, method="POST", json={"a": 1})
    assert "send it again" in is_problem(answer, 503)


def test_an_answer_that_breaks_off_is_not_ended():
    """The server closes a connection whose answer has no end: the client sees that it is short."""
    log, sent, body = Log(), [], [{"type": "http.request", "body": b""}]

    async def receive():
        if not body:
            await asyncio.sleep(60)  # the client stays
        return body.pop()

    async def send(message):
        sent.append(message)

    scope = {"type": "http", "method": "GET", "path": "/v1/streams", "headers": []}
    with answering(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n[1, 2") as url:
        relay = relay_to(lambda: url, log)
        asyncio.run(relay(scope, receive, send))
    assert [each["type"] for each in sent] == ["http.response.start", "http.response.body"]
    assert sent[1] == {"type": "http.response.body", "body": b"[1, 2", "more_body": True}
    assert log.said[0][0] == "not handed on"
