"""A real ``calibrant serve`` in a separate process, to be killed; correct, or with a fault.

The process is forked from one that has already imported everything, which makes restarts fast.
"""

import multiprocessing
import os
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import calibrant.service.api.server  # noqa: F401 - imported once, for all processes
from calibrant.cli import main
from calibrant.service.store.sqlite import SqliteStore
from calibrant.service.stream import snapshots
from calibrant.service.stream.engine import Engine

#: A snapshot after so few rows, that many kills come between two of them, and the fleet's in so
#: many pieces, that some come between these.
SNAPSHOT_ROWS, PIECE, LARGE = 3000, 2**14, 2**16
#: Seconds for the last snapshots: they are compared, so there must be time, also if the machine is
#: busy.
LAST = 15.0
#: Seconds between two commits of the store that commits now and then.
NOW_AND_THEN = 0.1


def commits_now_and_then():
    """Let answers go out before they are on the disk."""
    last = 0.0  # the first one makes the tables

    @contextmanager
    def transaction(self, _what=None):
        nonlocal last
        if not self._writer.in_transaction:
            self._writer.execute("BEGIN IMMEDIATE")
        yield
        if time.monotonic() - last > NOW_AND_THEN:
            self._writer.execute("COMMIT")
            last = time.monotonic()

    SqliteStore._transaction = transaction


def snapshots_are_off():
    """Let a snapshot hold a state that differs in one number."""
    sound = Engine.frozen

    def frozen(self):
        other = Engine.from_bytes(sound(self)(), self.definition)
        other.book.expired += 1
        return sound(other)

    Engine.frozen = frozen


#: What the harness must find, by name.
FAULTS = {"answers before the commit": commits_now_and_then, "snapshots are off": snapshots_are_off}


def run(arguments, said, fault=None):
    """Be ``calibrant serve``; what it says goes to a file."""
    with Path(said).open("a") as out:
        os.dup2(out.fileno(), 1)
        os.dup2(out.fileno(), 2)
    snapshots.SNAPSHOT_ROWS, snapshots.PIECE, snapshots.LARGE = SNAPSHOT_ROWS, PIECE, LARGE
    snapshots.LAST = LAST
    if fault is not None:
        FAULTS[fault]()
    sys.argv = ["calibrant", "serve", "--log-level", "warning", *arguments]
    main()


class Server:
    """One place at which a server runs, again and again."""

    _context = multiprocessing.get_context("forkserver")
    _context.set_forkserver_preload([__name__])

    def __init__(self, store, port, folder, fault=None):
        self.store, self.port, self.fault = str(store), port, fault
        self.said = Path(folder) / f"said-{port}.txt"
        self._arguments = ["--store", self.store, "--port", str(port)]
        self._process = None

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def start(self):
        self._process = self._context.Process(
            target=run, args=(self._arguments, str(self.said), self.fault), daemon=True
        )
        self._process.start()

    @property
    def is_alive(self):
        return self._process is not None and self._process.is_alive()

    def kill(self):
        """End it with SIGKILL: it does not get to do anything."""
        self._process.kill()
        self._process.join()

    def stop(self, patience=20):
        """End it with SIGTERM, and return the seconds that took."""
        began = time.monotonic()
        self._process.terminate()
        self._process.join(patience)
        if self._process.exitcode is None:
            self.kill()
        return time.monotonic() - began

    def last_words(self):
        """Return the end of what it said."""
        return self.said.read_text()[-1500:] if self.said.exists() else ""
