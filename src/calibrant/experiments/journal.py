"""The journal of an unfinished sweep: a line a finished cell, which a crash cannot take back."""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from calibrant.experiments.results import Identity

NAME = "journal.jsonl"
# A power cut may take what was finished in so many seconds; a kill takes nothing.
SECONDS_BETWEEN_SYNCS = 1.0

Finished = dict[Identity, dict[str, float]]


class Journal:
    """Finished cells, appended as they come; the file is locked while it is open.

    Every line carries a checksum of itself. A line that was cut short or damaged is left out when
    the journal is read, and its cell is played again.
    """

    def __init__(self, file: IO[bytes], path: Path) -> None:
        self._file, self._path, self._synced = file, path, time.monotonic()
        self.finished, self.damaged, whole = read(file)
        # What comes next must not continue a line that was cut short.
        file.truncate(whole)
        file.seek(whole)

    def add(self, cells: Iterable[tuple[Identity, Mapping[str, float]]]) -> None:
        """Append cells that are finished; they survive the end of this process."""
        for identity, values in cells:
            self.finished[identity] = dict(values)
            self._file.write(line_of(identity, values))
        self._file.flush()
        if time.monotonic() - self._synced > SECONDS_BETWEEN_SYNCS:
            self.sync()

    def sync(self) -> None:
        """Wait until everything is on the disk."""
        os.fsync(self._file.fileno())
        self._synced = time.monotonic()

    def remove(self) -> None:
        """Remove the journal, once the results are written."""
        self._path.unlink()


@contextmanager
def opened(folder: Path) -> Iterator[Journal]:
    """Open the journal of a folder for one sweep; refuse a second one."""
    path = folder / NAME
    while True:
        with path.open("a+b") as file:
            if not locked(file):
                raise ValueError(
                    f"another sweep is writing to {folder}; wait for it, or choose another folder"
                )
            # The sweep before may have finished, and removed the file, while this one waited.
            if not path.exists() or not os.path.samestat(os.fstat(file.fileno()), path.stat()):
                continue
            journal = Journal(file, path)
            try:
                yield journal
            finally:
                journal.sync()
                if not journal.finished and path.exists():
                    journal.remove()
            return


def locked(file: IO[bytes]) -> bool:
    """Lock a file until it is closed or its process ends; say whether that worked."""
    try:
        import fcntl  # noqa: PLC0415 - not on every platform; elsewhere nothing is locked
    except ImportError:
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def line_of(identity: Identity, values: Mapping[str, float]) -> bytes:
    """Return a finished cell as a line; floats in hexadecimal, which loses nothing."""
    record = {
        "cell": identity._asdict(),
        "values": {name: float(value).hex() for name, value in values.items()},
    }
    return json.dumps({"checksum": checksum(record), **record}).encode() + b"\n"


def checksum(record: Mapping[str, object]) -> str:
    """Return a checksum of a record, whatever the order of its keys."""
    return hashlib.sha256(json.dumps(record, sort_keys=True).encode()).hexdigest()[:16]


def read(file: IO[bytes]) -> tuple[Finished, int, int]:
    """Return the cells of a journal, how many lines are damaged, and where its last line ends."""
    file.seek(0)
    finished: Finished = {}
    damaged = whole = 0
    for line in file:
        if not line.endswith(b"\n"):
            damaged += 1
            break
        whole += len(line)
        try:
            identity, values = cell_of(line)
        except (ValueError, KeyError, TypeError, AttributeError):
            damaged += 1
        else:
            finished[identity] = values
    return finished, damaged, whole


def cell_of(line: bytes) -> tuple[Identity, dict[str, float]]:
    """Return the cell of a line; raise if the line is not as it was written."""
    record = json.loads(line)
    if record.pop("checksum") != checksum(record):
        raise ValueError("the checksum is wrong")
    cell = record["cell"]
    identity = Identity(**cell | {"measures": tuple(cell["measures"])})
    return identity, {name: float.fromhex(text) for name, text in record["values"].items()}
