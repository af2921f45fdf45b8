"""The memory of a server while ten million rows pass through it.

Batches of predictions and their outcomes are sent over HTTP and stored durably. The memory of the
process is read after each tenth of the rows; it should not grow after the first.
"""

import asyncio
import os
import random
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks.load import Server, connect, post
from benchmarks.tables import table

TITLE = "Endurance of the service"
MEMORY = "Memory, while rows pass through"
IN_DOCS = {"docs/service.md": (MEMORY,)}
#: Predictions and outcomes in all, looks at the memory, rows of a request, and connections.
ROWS = int(os.environ.get("CALIBRANT_ENDURANCE_ROWS", "10_000_000"))
LOOKS, BATCH, CONNECTIONS = 10, 1000, 4


def memory_of(process):
    """Return the bytes that a process holds, its program and files aside."""
    lines = Path(f"/proc/{process.pid}/status").read_text().splitlines()
    return next(1024 * int(line.split()[1]) for line in lines if line.startswith("RssAnon"))


async def client(url, name, requests):
    """Predict batches and bring their outcomes; a number of requests in all."""
    connection, chance = await connect(url), random.Random(name)
    for number in range(requests // 2):
        scores = [chance.random() for _ in range(BATCH)]
        ids = [f"{name}-{number}-{row}" for row in range(BATCH)]
        await post(connection, "predictions", [
            {"id": id_, "score": score} for id_, score in zip(ids, scores, strict=True)
        ])  # fmt: skip
        await post(connection, "outcomes", [
            {"id": id_, "outcome": int(chance.random() < score**2)}
            for id_, score in zip(ids, scores, strict=True)
        ])  # fmt: skip
    connection[1].close()


async def clients(url, look, rows):
    """Send rows over several connections."""
    each = rows // BATCH // CONNECTIONS
    await asyncio.gather(*(client(url, f"{look}-{n}", each) for n in range(CONNECTIONS)))


def tables(progress):
    """Yield the table."""
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "store.db"
        server = Server(str(store))
        url = server.make("long")
        found, part = [], ROWS // LOOKS
        for look in range(1, LOOKS + 1):
            begun = time.perf_counter()
            asyncio.run(clients(url, look, part))
            seconds = time.perf_counter() - begun
            found.append((look * part, memory_of(server.process), part / seconds,
                          store.stat().st_size, os.getloadavg()[0]))  # fmt: skip
            progress(f"endurance: {look * part:,} rows, {found[-1][1] / 2**20:.1f} MiB")
        server.stop()
    rows, held = np.array([each[:2] for each in found[LOOKS // 2 :]]).T
    slope = np.polyfit(rows, held, 1)[0]
    shown = [
        (f"{count:,}", f"{memory / 2**20:.1f} MiB", f"{speed:,.0f}", f"{size / 2**30:.2f} GiB",
         f"{load:.1f}")
        for count, memory, speed, size, load in found
    ]  # fmt: skip
    shown.append(("growth in the second half, a million rows", f"{slope * 1e6 / 2**20:.2f} MiB",
                  "", "", ""))  # fmt: skip
    head = ("rows", "memory of the server", "rows a second", "store", "load of the machine")
    yield table(MEMORY, head, shown)
