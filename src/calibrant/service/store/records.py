"""The rows of a store, and its errors."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple


class StoreError(Exception):
    """The store cannot be used, or a group could not be stored; the message says why."""


class StoreTakenError(StoreError):
    """Another process owns the store."""


class StreamRow(NamedTuple):
    """A stream as it is stored; `settings` is JSON."""

    number: int
    name: str
    settings: str
    created: float


class PredictionRow(NamedTuple):
    """A prediction as it is logged. Rows that came in one request have the same `batch`.

    `due` is what the client gave, `deadline` what follows from that or from the settings. Kinds of
    streams whose rows are more than a score and a probability have these packed, as doubles, in
    `given` and `predicted`.
    """

    stream: int
    sequence: int
    batch: int
    id: str
    score: float | None
    by: str | None
    key: str | None
    at: float
    due: float | None
    deadline: float | None
    probability: float | None
    smooth: float | None
    predicted: bytes | None
    given: bytes | None


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
    score: tuple[float | None, ...]
    by: tuple[str | None, ...]
    key: tuple[str | None, ...]
    at: tuple[float, ...]
    due: tuple[float | None, ...]
    probability: tuple[float | None, ...]
    smooth: tuple[float | None, ...]
    predicted: tuple[bytes | None, ...]
    given: tuple[bytes | None, ...]


class LoggedOutcomes(NamedTuple):
    """The outcomes of one request as a replay reads them: a column for each field."""

    sequence: tuple[int, ...]
    id: tuple[str, ...]
    outcome: tuple[float, ...]
    at: tuple[float, ...]


class Change(NamedTuple):
    """A change of a stream's capacity, which has a place in the log as a row has."""

    sequence: int
    before: int
    after: int


class SnapshotRow(NamedTuple):
    """The state of a stream after the row `sequence`."""

    stream: int
    sequence: int
    at: float
    blob: bytes
    checksum: str


class PieceRow(NamedTuple):
    """A piece of a large snapshot; the last piece is in the snapshot itself."""

    stream: int
    sequence: int
    number: int
    blob: bytes


class EventRow(NamedTuple):
    """An event: `body` is JSON, `number` is given by the store."""

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


class Known(NamedTuple):
    """What a store has of some ids."""

    predictions: dict[str, PredictionRow]
    outcomes: dict[str, float]
