"""Hostile requests to a service: none may be carried out, and none may make it fail.

Each request consists of bytes on its own connection, generated from a seed. All of them are invalid
in some way, or read-only: the service must answer with a status below 500, reveal no internals, log
no exception, and its state must not change by a single byte.
"""

import contextlib
import logging
import socket
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path

import httpx

from benchmarks.hostile_sender import SETTINGS, Sender, fields_of
from benchmarks.tables import table
from calibrant.service.api.server import listen, server_of
from calibrant.service.service import Service
from calibrant.service.store.sqlite import SqliteStore
from calibrant.service.tokens import new_token

TITLE = "Hostile requests to the service"
REQUESTS = 20_000
#: Requests between two looks at the state.
STRETCH = 200


class Watched:
    """A service in this process, with streams, tokens and a log that is looked at."""

    def __init__(self, folder):
        self.exceptions = []
        self.service = Service(SqliteStore(Path(folder) / "hostile.db"), log=self)
        self.service.start()
        store, now = self.service.store, time.time()
        self.listening = listen("127.0.0.1", 0)
        self.address = self.listening.getsockname()
        self.server = server_of(self.service)
        self.thread = threading.Thread(target=self.server.run, args=([self.listening],))
        self.thread.start()
        for name, settings in SETTINGS.items():
            self.fill(name, settings)
        self.tokens = {
            "good": new_token(store, "admin", now=now),
            "read": new_token(store, "read", now=now),
            "elsewhere": new_token(store, "admin", stream="other", now=now),
            "expired": new_token(store, "admin", lasts="1s", now=now - 60),
        }
        self.handler = logging.Handler()
        self.handler.emit = self.note
        logging.getLogger("uvicorn.error").addHandler(self.handler)
        time.sleep(1.1)  # until the service reads its tokens anew

    def fill(self, name, settings):
        """Make a stream with rows, some of them waiting."""
        field, score, outcome = fields_of(name)
        rows = [{"id": str(n), field: score, "at": 1.6e9 + n} for n in range(300)]
        if field == "score":
            rows = [row | {field: n / 300} for n, row in enumerate(rows)]
        for row in rows if settings.get("keyed") else ():
            row["key"] = f"shop {row['id'][-1]}"
        known = [
            {"id": str(n), "outcome": n % 2 if field == "score" else outcome, "at": 1.6e9 + 400}
            for n in range(200)
        ]
        url = f"http://127.0.0.1:{self.address[1]}/v1/streams/{name}"
        httpx.put(url, json=settings).raise_for_status()
        httpx.post(f"{url}/predictions", json=rows).raise_for_status()
        httpx.post(f"{url}/outcomes", json=known).raise_for_status()

    def note(self, record):
        if record.exc_info:
            self.exceptions.append(record.getMessage())

    def exception(self, event, **values):
        self.exceptions.append(f"{event}: {values}")

    def error(self, event, **values):
        self.exceptions.append(f"{event}: {values}")

    def state(self):
        """Return everything that a request might change."""
        owner = self.service.owner

        def ask():
            streams = sorted(owner.streams.items())
            return [(name, each.sequence, each.engine.to_bytes()) for name, each in streams]

        return owner.ask(ask).result(), self.service.store.last_event()

    def send(self, request, *, cut_off=False):
        """Return the answer to bytes on a connection of their own, which may end with them."""
        with socket.create_connection(self.address, timeout=30) as connection:
            # The service may have refused and closed before all was sent.
            with contextlib.suppress(ConnectionError):
                connection.sendall(request)
                if cut_off:
                    connection.shutdown(socket.SHUT_WR)
            return received(connection)

    def stop(self):
        logging.getLogger("uvicorn.error").removeHandler(self.handler)
        self.service.listeners.close()
        self.server.should_exit = True
        self.thread.join()
        self.service.stop()


def received(connection):
    """Return what comes until the connection ends."""
    pieces = []
    with contextlib.suppress(ConnectionError):
        while piece := connection.recv(65536):
            pieces.append(piece)
    return b"".join(pieces)


def verdict(kind, request, answer):
    """Return the status of an answer, and what is wrong with it, if anything."""
    if not answer:
        return "none", None if kind == "cut_off" else "no answer"
    status = answer.split(b" ", 2)[1].decode()
    if status >= "500":
        return status, "a status of 5xx"
    if b"Traceback" in answer or b".py" in answer:
        return status, "the inside of the service"
    if status < "400" and not request.startswith((b"GET", b"HEAD", b"OPTIONS")):
        return status, "it was done"
    return status, None


def attack(seed, requests, progress=lambda _: None):
    """Send hostile requests; return the statuses by kind, and what was wrong."""
    statuses, wrong = {}, []
    with tempfile.TemporaryDirectory() as folder:
        watched = Watched(folder)
        try:
            sender, before = Sender(seed, watched.tokens), watched.state()
            for number in range(requests):
                kind, request = sender.make()
                status, found = verdict(
                    kind, request, watched.send(request, cut_off=kind == "cut_off")
                )
                statuses.setdefault(kind, Counter())[status] += 1
                if found is not None:
                    wrong.append((kind, found, request[:300]))
                if (number + 1) % STRETCH == 0 or number + 1 == requests:
                    progress(f"{number + 1:,} of {requests:,} hostile requests")
                    if watched.state() != before:
                        wrong.append(("state", f"changed in the {STRETCH} before {number}", b""))
                        before = watched.state()
            wrong += [("log", each, b"") for each in watched.exceptions]
        finally:
            watched.stop()
    return statuses, wrong


def tables(progress):
    """Yield the table of all kinds."""
    statuses, wrong = attack(0, REQUESTS, progress)
    rows = [
        (
            kind.replace("_", " "),
            sum(counts.values()),
            ", ".join(f"{status}: {count}" for status, count in sorted(counts.items())),
            sum(each[0] == kind for each in wrong),
        )
        for kind, counts in sorted(statuses.items())
    ]
    elsewhere = sum(each[0] in ("state", "log") for each in wrong)
    rows.append(("state changed, or exceptions in the log", "", "", elsewhere))
    head = ("kind", "requests", "answers by status", "5xx, traceback, or done")
    yield table(f"{REQUESTS:,} hostile requests", head, rows)
    for kind, found, request in wrong[:20]:
        yield f"- {kind}: {found}: `{request!r}`\n"
