"""The relay's own failures are problems too; what needs several processes is in test_sharing."""

import asyncio
import contextlib
import socket
import threading
from types import SimpleNamespace
from unittest.mock import Mock

import httpx
import pytest

from calibrant.service.cluster.member import View
from calibrant.service.cluster.relay import Relay

PATH = "/v1/streams/s"


class Log:
    """Keeps what is logged."""

    def __init__(self):
        self.said = []

    def error(self, event, **more):
        self.said.append((event, more))


def relay_to(owner, log):
    """Return a relay of a process that owns nothing; `owner` is the address of the stream's."""
    service = SimpleNamespace(owner=SimpleNamespace(streams={}))
    view = View(["http://here:1"], {"s": owner}, at=0.0, since=0.0)
    return Relay(
        SimpleNamespace(app=None, service=service, view=view, url="http://here:1", log=log)
    )


def relayed(owner, path=PATH, **request):
    """Send a request to a relay."""
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


@pytest.mark.parametrize(("owner", "path"), [
    (None, PATH), ("http://here:1", PATH), ("http://here:1", "/v1/streams/made-a-moment-ago"),
])  # fmt: skip
def test_a_stream_that_nobody_owns_for_the_moment(owner, path):
    answer, _ = relayed(owner, path)
    assert "moving to another process" in is_problem(answer, 503)
    assert answer.headers["retry-after"] == "1"


@pytest.mark.parametrize("path", [PATH, "/v1/streams"])
def test_no_database(path, monkeypatch):
    monkeypatch.setitem(relay_to.__globals__, "View", lambda *_, **__: None)
    answer, _ = relayed(None, path)
    assert "no connection to the database" in is_problem(answer, 503)
    assert answer.headers["retry-after"] == "1"


@pytest.mark.parametrize("error", [RuntimeError("broken"), TimeoutError("late"), KeyError("x")])
def test_whatever_fails_here_is_a_502(error, monkeypatch):
    monkeypatch.setattr("calibrant.service.cluster.relay.address_at", Mock(side_effect=error))
    answer, said = relayed("http://there:1")
    assert "broken" not in is_problem(answer, 502)
    assert said == [("not forwarded", {"detail": f"{type(error).__name__}: {error}"})]


@pytest.mark.parametrize("address", ["nonsense", "http://[::1", "ftp://somewhere"])
def test_an_address_that_is_none(address):
    answer, _ = relayed(address)
    assert answer.status_code in (502, 503)
    is_problem(answer, answer.status_code)


@pytest.mark.parametrize("said", [b"", b"nonsense\r\n\r\n", b"HTTP/1.1 200 OK\r\ncontent-le"])
def test_an_owner_that_does_not_answer(said):
    with answering(said) as url:
        answer, _ = relayed(url, method="POST", json={"a": 1})
    assert "retry later" in is_problem(answer, 503)


def test_an_answer_that_breaks_off_is_not_ended():
    """The server closes a connection whose answer has no end: the client sees that it is short."""
    log, sent, body = Log(), [], [{"type": "http.request", "body": b""}]

    async def receive():
        if not body:
            await asyncio.sleep(60)  # the client stays
        return body.pop()

    async def send(message):
        sent.append(message)

    scope = {"type": "http", "method": "GET", "path": PATH, "headers": []}
    with answering(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n[1, 2") as url:
        relay = relay_to(url, log)
        asyncio.run(relay(scope, receive, send))
    assert [each["type"] for each in sent] == ["http.response.start", "http.response.body"]
    assert sent[1] == {"type": "http.response.body", "body": b"[1, 2", "more_body": True}
    assert log.said[0][0] == "not forwarded"
