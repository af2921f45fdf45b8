"""``calibrant serve`` under load: the same requests for any version."""

import asyncio
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import httpx

#: Rows of a request, and connections.
LOADS = {
    "batches of 1,000": (1000, 4),
    "batches of 100": (100, 16),
    "single rows": (1, 64),
    "single rows, one after the other": (1, 1),
}


class Server:
    """``calibrant serve`` on a free port, with the calibrant of a Python."""

    def __init__(self, store, python=sys.executable):
        command = [python, "-m", "calibrant", "serve", "--store", store, "--port", "0"]
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


async def clients(url, load, rows, connections, seconds):
    """Return how long each request took."""
    took, end = [], time.perf_counter() + seconds
    await asyncio.gather(
        *(client(url, f"{load}-{each}", rows, end, took) for each in range(connections))
    )
    return sorted(took)


def put_under_load(server, load, name, seconds):
    """Send rows for some seconds, with ids that begin with a name.

    Returns how long each request took, the seconds, and the server's processor time.
    """
    rows, connections = LOADS[load]
    url = server.make(stream_of(load))
    begun, before = time.perf_counter(), server.processor_seconds()
    took = asyncio.run(clients(url, name, rows, connections, seconds))
    return took, time.perf_counter() - begun, server.processor_seconds() - before


def stream_of(load):
    """Return the name of the stream that takes a load."""
    return load.replace(" ", "-").replace(",", "")
