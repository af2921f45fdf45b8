"""The service under load, client and server on one machine: batches, single rows, and a restart.

Everything is durable: a row is answered after its commit. Beside rows a second there is what the
server's processor time gives, which other work on the machine disturbs less.
"""

import asyncio
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import httpx

from benchmarks.tables import table
from calibrant.service.clock import SteadyClock
from calibrant.service.store.sqlite import SqliteStore
from calibrant.service.stream import Stream

TITLE = "The service"
IN_README = ()
LOAD = "Predictions and outcomes, durable"
RESTART = "A restart"
IN_DOCS = {"docs/service.md": (LOAD, RESTART)}
SECONDS = 10.0
#: Rows of a request, and connections.
LOADS = {"batches of 1,000": (1000, 4), "batches of 100": (100, 16), "single rows": (1, 64)}


class Server:
    """``calibrant serve`` on a free port, with a stream."""

    def __init__(self, store):
        command = [sys.executable, "-m", "calibrant", "serve", "--store", store, "--port", "0"]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        lines = (line.strip() for line in self.process.stderr)
        self.url = next(line for line in lines if line.startswith("http://")).rstrip("/")
        httpx.put(f"{self.url}/v1/streams/load", json={}).raise_for_status()

    def processor_seconds(self):
        """Return the processor time that the server has taken."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")

    def close(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.communicate()


async def post(streams, path, rows):
    """Send rows over a plain connection: the client must not be what is measured."""
    reader, writer = streams
    body = json.dumps(rows if len(rows) > 1 else rows[0]).encode()
    head = f"POST /v1/streams/load/{path} HTTP/1.1\r\nhost: localhost\r\n" \
        f"content-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"  # fmt: skip
    writer.write(head.encode() + body)
    head = await reader.readuntil(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200"), head
    length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
    await reader.readexactly(length)


async def client(url, name, rows, end, took):
    """Predict rows and bring their outcomes, one request after the other, until the end."""
    host, port = url.removeprefix("http://").split(":")
    streams = await asyncio.open_connection(host, int(port))
    chance, sent = random.Random(name), 0
    while time.perf_counter() < end:
        ids = [f"{name}-{sent + n}" for n in range(rows)]
        scores = [chance.random() for _ in ids]
        sent += rows
        predictions = [{"id": id_, "score": s} for id_, s in zip(ids, scores, strict=True)]
        outcomes = [
            {"id": id_, "outcome": int(chance.random() < s)}
            for id_, s in zip(ids, scores, strict=True)
        ]
        for path, body in (("predictions", predictions), ("outcomes", outcomes)):
            begun = time.perf_counter()
            await post(streams, path, body)
            took.append(time.perf_counter() - begun)
    streams[1].close()


async def clients(url, load, rows, connections):
    """Return how long each request took."""
    took, end = [], time.perf_counter() + SECONDS
    await asyncio.gather(
        *(client(url, f"{load}-{each}", rows, end, took) for each in range(connections))
    )
    return sorted(took)


def loaded(server, load):
    """Return a row of the table for one load."""
    rows, connections = LOADS[load]
    begun, before = time.perf_counter(), server.processor_seconds()
    took = asyncio.run(clients(server.url, load, rows, connections))
    seconds, used = time.perf_counter() - begun, server.processor_seconds() - before
    return (
        load, connections, f"{rows * len(took) / seconds:,.0f}", f"{rows * len(took) / used:,.0f}",
        f"{1000 * took[len(took) // 2]:.0f} ms", f"{1000 * took[int(0.99 * len(took))]:.0f} ms",
    )  # fmt: skip


def replayed(path):
    """Return the rows of a store's log, and what a replay of all of them takes."""
    store, clock = SqliteStore(path), SteadyClock()
    store.open()
    stream = Stream(store.streams()[0], clock.now())
    store._writer.execute("DELETE FROM snapshots")
    begun, used = time.perf_counter(), time.process_time()
    for _ in stream.restore(store):
        pass
    seconds, used = time.perf_counter() - begun, time.process_time() - used
    store.close()
    return (
        f"{stream.sequence:,}",
        f"{stream.sequence / seconds:,.0f}",
        f"{stream.sequence / used:,.0f}",
    )


def tables(progress):
    """Yield the tables."""
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/store.db"
        server = Server(path)
        rows = []
        for load in LOADS:
            progress(f"service: {load}")
            rows.append(loaded(server, load))
        server.close()
        head = ("load", "connections", "rows a second", "rows a second of the server's processor",
                "median", "99 %")  # fmt: skip
        yield table(LOAD, head, rows)
        progress("service: a restart")
        head = ("", "rows", "replayed a second", "a second of processor")
        yield table(RESTART, head, [("the whole log", *replayed(path))])
