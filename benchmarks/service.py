"""The service under load, client and server on one machine: batches, single rows, and a restart.

Everything is durable: a row is answered after its commit. In addition to rows per second, there are
rows per second of the server's processor time, which depend less on other load on the machine.
"""

import os
import tempfile
import time

from benchmarks.load import LOADS, Server, put_under_load
from benchmarks.tables import table
from calibrant.service.clock import SteadyClock
from calibrant.service.store.sqlite import SqliteStore
from calibrant.service.stream.stream import Stream

TITLE = "The service"
LOAD = "Predictions and outcomes, durable"
RESTART = "A restart"
IN_DOCS = {"docs/service.md": (LOAD, RESTART)}
SECONDS = 10.0
#: Rows that a replay is measured on, at least: short logs are replayed again and again.
REPLAYED = 400_000


def loaded(server, load):
    """Return a row of the table for one load."""
    rows, connections = LOADS[load]
    took, seconds, used = put_under_load(server, load, load, SECONDS)
    return (
        load, connections, f"{rows * len(took) / seconds:,.0f}", f"{rows * len(took) / used:,.0f}",
        f"{1000 * took[len(took) // 2]:.0f} ms", f"{1000 * took[int(0.99 * len(took))]:.0f} ms",
        f"{os.getloadavg()[0]:.1f}",
    )  # fmt: skip


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
