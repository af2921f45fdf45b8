"""The service under load, client and server on one machine: batches, single rows, and a restart.

Everything is durable: a row is answered after its commit. In addition to rows per second, there are
rows per second of the server's processor time, which depend less on other load on the machine.
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
from calibrant.service.stream.stream import Stream

TITLE = "The service"
LOAD = "Predictions and outcomes, durable"
RESTART = "A restart"
IN_DOCS = {"docs/service.md": (LOAD, RESTART)}
SECONDS = 10.0
#: Rows of a request, and connections.
LOADS = {
    "batches of 1,000": (1000, 4),
    "batches of 100": (100, 16),
    "single rows": (1, 64),
    "single rows, one after the other": (1, 1),
}
#: Rows that a replay is measured on, at least: short logs are replayed again and again.
REPLAYED = 400_000


class Server:
    """``calibrant serve`` on a free port."""

    def __init__(self, store):
        command = [sys.executable, "-m", "calibrant", "serve", "--store", store, "--port", "0"]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        lines = (line.strip() for line in self.process.stderr)
        self.url = next(line for line in lines if line.startswith("http://")).rstrip("/")

    def make(self, stream):
        """Make a stream, and return its address."""
        url = f"{self.url}/v1/streams/{stream}"
        httpx.put(url, json={}).raise_for_status()
        return url

    def processor_seconds(self):
        """Return the processor time that the server has taken."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")

    def close(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.communicate()


async def connect(url):
    """Return a plain connection to a stream's address, and the path there."""
    host, _, path = url.removeprefix("http://").partition("/")
    return *await asyncio.open_connection(*host.split(":")), f"/{path}"


async def post(connection, kind, rows):
    """Send rows over a plain connection: the client must not be what is measured."""
    reader, writer, path = connection
    body = json.dumps(rows if len(rows) > 1 else rows[0]).encode()
    head = f"POST {path}/{kind} HTTP/1.1\r\nhost: localhost\r\n" \
        f"content-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"  # fmt: skip
    writer.write(head.encode() + body)
    head = await reader.readuntil(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200"), head
    length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
    await reader.readexactly(length)


async def client(url, name, rows, end, took):
    """Predict rows and bring their outcomes, one request after the other, until the end."""
    connection, chance, sent = await connect(url), random.Random(name), 0
    while time.perf_counter() < end:
        ids = [f"{name}-{sent + n}" for n in range(rows)]
        scores = [chance.random() for _ in ids]
        sent += rows
        predictions = [{"id": id_, "score": s} for id_, s in zip(ids, scores, strict=True)]
        outcomes = [
            {"id": id_, "outcome": int(chance.random() < s)}
            for id_, s in zip(ids, scores, strict=True)
        ]
        for kind, body in (("predictions", predictions), ("outcomes", outcomes)):
            begun = time.perf_counter()
            await post(connection, kind, body)
            took.append(time.perf_counter() - begun)
    connection[1].close()


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
    url = server.make(stream_of(load))
    begun, before = time.perf_counter(), server.processor_seconds()
    took = asyncio.run(clients(url, load, rows, connections))
    seconds, used = time.perf_counter() - begun, server.processor_seconds() - before
    return (
        load, connections, f"{rows * len(took) / seconds:,.0f}", f"{rows * len(took) / used:,.0f}",
        f"{1000 * took[len(took) // 2]:.0f} ms", f"{1000 * took[int(0.99 * len(took))]:.0f} ms",
        f"{os.getloadavg()[0]:.1f}",
    )  # fmt: skip


def stream_of(load):
    """Return the name of the stream that takes a load."""
    return load.replace(" ", "-").replace(",", "")


def replayed(path):
    """Return for each stream of a store the rows of its log, and what their replay takes."""
    store, clock, found = SqliteStore(path), SteadyClock(), []
    store.open()
    store._writer.execute("DELETE FROM snapshots")
    for load, row in zip(LOADS, store.streams(), strict=True):
        stream, rows = Stream(row, clock.now()), 0
        begun, used = time.perf_counter(), time.process_time()
        while rows < REPLAYED:
            for _ in stream.restore(store):
                pass
            rows += stream.sequence
        seconds, used = time.perf_counter() - begun, time.process_time() - used
        found.append((
            load, f"{stream.sequence:,}", f"{rows / seconds:,.0f}", f"{rows / used:,.0f}",
            f"{os.getloadavg()[0]:.1f}",
        ))  # fmt: skip
    store.close()
    return found


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
                "median", "99 %", "load of the machine")  # fmt: skip
        yield table(LOAD, head, rows)
        progress("service: a restart")
        head = ("log of", "rows", "replayed a second", "a second of processor",
                "load of the machine")  # fmt: skip
        yield table(RESTART, head, replayed(path))
