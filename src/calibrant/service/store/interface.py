"""What the service asks of a store.

A store knows nothing of probabilities. It keeps rows under unique keys, a group of them in one
transaction, and gives them back in the order in which they were written.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol


class StoreError(Exception):
    """The store cannot be used, or could not keep a group; the message says why."""


class StoreTakenError(StoreError):
    """Another process owns the store; it may be this one's turn later."""


class StreamRow(NamedTuple):
    """A stream as it is kept; `settings` is JSON."""

    number: int
    name: str
    settings: str
    created: float


class PredictionRow(NamedTuple):
    """A prediction as it is logged. Rows that came in one request have the same `batch`.

    `due` is what the client said, `deadline` what followed from that, or from the settings.
    """

    stream: int
    sequence: int
    batch: int
    id: str
    score: float
    by: str | None
    key: str | None
    at: float
    due: float | None
    deadline: float | None
    probability: float
    smooth: float


class OutcomeRow(NamedTuple):
    """An outcome as it is logged."""

    stream: int
    sequence: int
    batch: int
    id: str
    outcome: float
    at: float


class LoggedPredictions(NamedTuple):
    """The predictions of one request as a replay reads them: a column for each field."""

    sequence: tuple[int, ...]
    id: tuple[str, ...]
    score: tuple[float, ...]
    by: tuple[str | None, ...]
    key: tuple[str | None, ...]
    at: tuple[float, ...]
    due: tuple[float | None, ...]
    probability: tuple[float, ...]
    smooth: tuple[float, ...]


class LoggedOutcomes(NamedTuple):
    """The outcomes of one request as a replay reads them: a column for each field."""

    sequence: tuple[int, ...]
    id: tuple[str, ...]
    outcome: tuple[float, ...]
    at: tuple[float, ...]


class SnapshotRow(NamedTuple):
    """The state of a stream after the row `sequence`."""

    stream: int
    sequence: int
    at: float
    blob: bytes
    checksum: str


class PieceRow(NamedTuple):
    """A piece of a large snapshot; the last one stands in the snapshot itself."""

    stream: int
    sequence: int
    number: int
    blob: bytes


class EventRow(NamedTuple):
    """Something to be told: `body` is JSON, `number` is given by the store."""

    number: int
    stream: str
    at: float
    kind: str
    body: str


class TokenRow(NamedTuple):
    """A token: what it allows, and the SHA-256 of its secret."""

    name: str
    hash: str
    scope: str
    stream: str
    created: float
    expires: float | None


class DeliveryRow(NamedTuple):
    """What a webhook has received of a stream: the last event, and its alarms as JSON."""

    webhook: str
    stream: str
    position: int
    alarms: str


@dataclass(slots=True)
class Group:
    """What is written in one transaction."""

    predictions: list[PredictionRow] = field(default_factory=list)
    outcomes: list[OutcomeRow] = field(default_factory=list)
    events: list[EventRow] = field(default_factory=list)
    snapshots: list[SnapshotRow] = field(default_factory=list)
    pieces: list[PieceRow] = field(default_factory=list)

    def __bool__(self) -> bool:
        written = self.predictions or self.outcomes or self.events or self.snapshots or self.pieces
        return bool(written)


class Known(NamedTuple):
    """What a store has of some ids."""

    predictions: dict[str, PredictionRow]
    outcomes: dict[str, float]


class Store(Protocol):
    """The methods; every one raises `StoreError` if it fails, and has then changed nothing."""

    def open(self, *, alone: bool = True) -> None:
        """Take the store for writing, or say why not; `alone` is the service that owns streams."""

    def close(self) -> None:
        """Let the store go."""

    def streams(self) -> list[StreamRow]:
        """Return all streams, the oldest first."""

    def add_stream(
        self,
        name: str,
        settings: str,
        created: float,
        origin: Sequence[bytes] = (),
        checksum: str = "",
    ) -> StreamRow:
        """Keep a new stream; one that is adopted with the state it begins with, in pieces."""

    def known(self, stream: int, ids: Sequence[str]) -> Known:
        """Return what is kept of these ids."""

    def write(self, group: Group) -> list[EventRow]:
        """Keep a group, all of it or nothing, on the disk; return its events with numbers."""

    def log(
        self, stream: int, after: int, until: int | None = None
    ) -> Iterator[LoggedPredictions | LoggedOutcomes]:
        """Return the batches with a `sequence` above `after`, in the order of the log."""

    def export(self, stream: int, portion: int) -> Iterator[list[tuple[Any, ...]]]:
        """Return all predictions with what became of them, in order, so many at a time.

        The columns: sequence, id, score, by, key, at, due, deadline, probability, smooth, outcome,
        and the outcome's time and sequence.
        """

    def last_sequence(self, stream: int) -> int:
        """Return the sequence of the last row, 0 if there is none."""

    def snapshots(self, stream: int) -> Iterator[SnapshotRow]:
        """Return the snapshots, whole, the newest first."""

    def drop_piece(self, stream: int) -> bool:
        """Delete a piece that belongs to no snapshot; return whether there was one."""

    def events(self, after: int, stream: str | None, limit: int) -> list[EventRow]:
        """Return stored events above a number, the oldest first; of one stream, or of all."""

    def last_event(self) -> int:
        """Return the number of the last event, 0 if there is none."""

    def last_event_of(self, stream: str, family: str) -> str | None:
        """Return the kind of a stream's last event whose kind begins with a word and a dot."""

    def deliveries(self, webhook: str) -> list[DeliveryRow]:
        """Return what a webhook has received."""

    def keep_delivery(self, row: DeliveryRow) -> None:
        """Keep what a webhook has received of a stream."""

    def tokens(self) -> list[TokenRow]:
        """Return all tokens, the oldest first."""

    def add_token(self, token: TokenRow) -> None:
        """Keep a new token."""

    def end_token(self, name: str, at: float) -> bool:
        """Let a token end at a time, unless it ends before; return whether there is such a one."""

    def check(self) -> list[str]:
        """Look at the whole store; return what is wrong with it, in sentences."""

    def backup(self, path: str) -> None:
        """Copy the store into a new file while it is in use."""
