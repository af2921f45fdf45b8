"""Clients that are slow are let go, and others are served meanwhile."""

import socket
import time

import pytest


@pytest.fixture
def raw(running, monkeypatch):
    """Return a function that opens a plain connection to a service of little patience."""
    for module in ("connections", "requests", "gate"):
        monkeypatch.setattr(f"calibrant.service.api.{module}.PATIENCE", 0.5)
    running.stream()
    opened = []

    def connect():
        host, port = running.url.removeprefix("http://").split(":")
        opened.append(socket.create_connection((host, int(port)), timeout=20))
        return opened[-1]

    yield connect
    for each in opened:
        each.close()


def test_a_request_that_never_begins_is_given_up(raw, running):
    one, two = raw(), raw()
    two.sendall(b"GET /healthz HTTP/1.1\r\nhost: 127.0")
    for each in (one, two):
        assert each.recv(100) == b""
    assert running.http.get("/healthz").status_code == 200


def test_bytes_that_trickle_in_do_not_help(raw):
    slow = raw()

    def trickle():
        for byte in b"GET /healthz HTTP/1.1\r\nx-padding: " + b"x" * 1000:
            slow.sendall(bytes([byte]))
            time.sleep(0.05)

    with pytest.raises(OSError, match=r"reset|pipe"):
        trickle()


def test_a_body_that_never_ends_is_given_up(raw):
    slow = raw()
    slow.sendall(
        b"POST /v1/streams/s/predictions HTTP/1.1\r\nhost: 127.0.0.1\r\n"
        b"content-type: application/json\r\ncontent-length: 1000\r\n\r\n[{"
    )
    assert slow.recv(1000).startswith(b"HTTP/1.1 408")


def test_two_requests_on_one_connection_are_answered(raw):
    one = raw()
    for _ in range(2):
        one.sendall(b"GET /healthz HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n")
        answer = b""
        while b"}" not in answer:
            answer += one.recv(1000)
        assert answer.startswith(b"HTTP/1.1 200")
        time.sleep(0.7)  # between requests there is time


def test_a_body_with_a_length_and_in_chunks_is_refused(raw):
    """A proxy that believes the other one sees another request in what follows."""
    one = raw()
    one.sendall(
        b"POST /v1/streams/s/predictions HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 4\r\n"
        b"content-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n"
        b"GET /healthz HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n"
    )
    answer = b""
    while piece := one.recv(1000):
        answer += piece
    assert answer.startswith(b"HTTP/1.1 400")
    assert b"connection: close" in answer.lower()
    assert answer.count(b"HTTP/1.1") == 1


def test_a_body_in_broken_chunks_is_refused_without_an_exception(raw, running, caplog):
    head = (
        b"POST /v1/streams/s/predictions HTTP/1.1\r\nhost: 127.0.0.1\r\n"
        b"content-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n"
    )
    for pieces in ((head + b"zz\r\n",), (head, b"-1\r\n{}"), (head + b"2\r\n{}", b"\r\nzz\r\n")):
        one = raw()
        for piece in pieces:
            one.sendall(piece)
            time.sleep(0.2)
        answer = b""
        while piece := one.recv(1000):
            answer += piece
        assert answer.startswith(b"HTTP/1.1 400")
    assert running.http.get("/healthz").status_code == 200
    assert not [record for record in caplog.records if record.exc_info]


def test_an_answer_does_not_wait_for_the_client_to_confirm_its_head(running):
    """Nagle's algorithm would hold its second segment back for 40 ms."""
    running.http.get("/healthz")
    (connection,) = running.server.server_state.connections
    opened = connection.transport.get_extra_info("socket")
    assert opened.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
