"""Webhooks of real processes: killed, started anew, and several that share the streams."""

import os
import signal
import subprocess
import sys
import threading
from contextlib import suppress

import httpx
import pytest

from benchmarks import kills
from benchmarks.kills_server import Server
from calibrant.service.store.ownership import chosen
from calibrant.service.store.postgres import PostgresStore
from service.webhooks.receiver import CAPACITY, IN_PATH, MANY, SECRET, wait_until

pytestmark = pytest.mark.slow


class Process:
    """``calibrant serve`` with a webhook, on a free port; what it says is kept."""

    def __init__(self, path, url, said):
        environment = {**os.environ, "COLUMNS": "200", "CALIBRANT_WEBHOOK_SECRET": SECRET}
        self.out = said.open("a")
        self.process = subprocess.Popen(
            [sys.executable, "-m", "calibrant", "serve", "--store", str(path), "--port", "0",
             "--webhook", url, "--log-level", "debug"],
            stderr=self.out, stdout=self.out, env=environment,
        )  # fmt: skip
        begin = len(said.read_text())
        wait_until(lambda: "\nhttp://" in said.read_text()[begin:], said.read_text)
        lines = said.read_text()[begin:].splitlines()
        self.url = next(line for line in lines if line.startswith("http://")).rstrip("/")

    def end(self, number):
        self.process.send_signal(number)
        self.process.wait(timeout=30)
        self.out.close()


@pytest.fixture
def serve(path, receiver, tmp_path):
    """Return a function that starts a process, and the file that has what they said."""
    processes, said = [], tmp_path / "said.txt"

    def begin():
        processes.append(Process(path, receiver.url, said))
        return processes[-1]

    yield begin, said
    for each in processes:
        each.end(signal.SIGKILL)


def test_kills_lose_nothing_and_logs_show_no_secret(serve, receiver):
    serve, said = serve
    receiver.default = 503
    first = serve()
    for name in ("a", "b"):
        base = f"{first.url}/v1/streams/{name}"
        httpx.put(base, json={"capacity": CAPACITY}).raise_for_status()
        rows = [{"id": str(k), "score": 0.5} for k in range(MANY)]
        httpx.post(f"{base}/predictions", json=rows, timeout=30).raise_for_status()
    wait_until(lambda: receiver.attempts)
    first.end(signal.SIGKILL)
    # It comes to nothing once more, this time while an answer is under way.
    receiver.default, killed, taken = 200, threading.Event(), []

    def take_and_wait(handler):
        taken.append(receiver.attempts[-1].id)
        killed.wait(30)
        handler.connection.close()

    receiver.answers.append(take_and_wait)
    second = serve()
    wait_until(lambda: taken)
    second.end(signal.SIGKILL)
    killed.set()
    third = serve()
    told = receiver.until(2)
    assert sorted(each["stream"] for each in told) == ["a", "b"]
    assert taken[0] in {each["id"] for each in told}  # a repetition, by its old name
    third.end(signal.SIGTERM)
    last = serve()
    rows = [{"id": str(k), "outcome": k % 2} for k in range(MANY)]
    httpx.post(f"{last.url}/v1/streams/a/outcomes", json=rows, timeout=30).raise_for_status()
    wait_until(lambda: b"pending.low" in receiver.messages[-1].body)
    last.end(signal.SIGTERM)
    assert len({each.id for each in receiver.messages}) == 3
    text = said.read_text()
    assert "webhook failed" in text
    assert "status 503" in text
    assert SECRET not in text
    assert SECRET.removeprefix("whsec_")[:12] not in text
    assert IN_PATH not in text


def test_each_stream_rings_from_its_owner_and_the_next_one_goes_on(databases, receiver, tmp_path):
    """Two processes with the same webhook share four streams; then there is one."""
    config = tmp_path / "calibrant.toml"
    config.write_text(f'webhooks = ["{receiver.url}"]\nwebhook_secret = "{SECRET}"\n')
    address = databases()
    servers = [Server(address, kills.free_port(), tmp_path) for _ in range(2)]
    streams = [f"s{number}" for number in range(4)]

    def send(method, stream, path, body):
        """Whether the second process, or whoever it asks, has taken it."""
        url = f"{servers[1].url}/v1/streams/{stream}{path}"
        with suppress(httpx.HTTPError):
            return httpx.request(method, url, json=body, timeout=30).is_success
        return False

    def until_sent(*request):
        wait_until(lambda: send(*request), servers[1].last_words)

    def is_settled():
        """Whether both are there, and each stream is where it stays."""
        here, held = store.processes(), {each.name: each.url for each in store.held()}
        return len(here) == 2 and held == {name: chosen(name, here) for name in streams}

    store = PostgresStore(address)
    try:
        for each in servers:
            each._arguments += ["--config", str(config)]
            each.start()
        for name in streams:
            until_sent("PUT", name, "", {"capacity": CAPACITY})
        wait_until(is_settled, servers[0].last_words)
        for name in streams:
            rows = [{"id": str(k), "score": 0.5} for k in range(MANY)]
            until_sent("POST", name, "/predictions", rows)
        assert sorted(each["stream"] for each in receiver.until(4)) == streams
        count = "SELECT COUNT(*) FROM deliveries WHERE stream <> ''"
        wait_until(lambda: store._rows(count)[0][0] == 4)
        servers[0].kill()
        for name in streams:
            known = [{"id": str(k), "outcome": k % 2} for k in range(MANY)]
            until_sent("POST", name, "/outcomes", known)
        told = receiver.until(8)
    finally:
        store.close()
        for each in servers:
            if each.is_alive:
                each.kill()
    assert sorted(each["stream"] for each in told[4:]) == streams
    assert [each["kind"] for each in told] == ["pending.high"] * 4 + ["pending.low"] * 4
    assert len({each.id for each in receiver.messages}) == len(receiver.messages) == 8
    assert all(each.is_signed() for each in receiver.messages)
