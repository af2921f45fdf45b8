"""What is read from a store in the same way whatever database it is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any

from calibrant.service.store import statements as sql
from calibrant.service.store.interface import (
    DeliveryRow,
    EventRow,
    Known,
    PredictionRow,
    SnapshotRow,
    StoreError,
    StreamRow,
    TokenRow,
)


class ReadableStore(ABC):
    """The half of a `Store` that needs no more of its database than an answer to a statement."""

    @abstractmethod
    def _rows(self, statement: str, *parameters: Any) -> list[tuple[Any, ...]]:
        """Return what a reader finds."""

    @abstractmethod
    def _seen_by_writer(self, statement: str, parameters: Sequence[Any]) -> Iterable[Any]:
        """Return what the writer finds, its own open transaction included."""

    @abstractmethod
    def _saying(self, what: str) -> AbstractContextManager[None]:
        """Turn errors of the database into a `StoreError` that says what could not be done."""

    def _has_layout(self, found: Iterable[tuple[Any, ...]]) -> bool:
        """Return whether a store says how it is laid out; refuse one that this cannot read."""
        layouts = [layout for (layout,) in found]
        if layouts not in ([], [sql.LAYOUT]):
            raise StoreError(
                f"{self} has layout {layouts[0]}, and this calibrant reads {sql.LAYOUT}: start a "
                "new store, or go on with the version that wrote this one"
            )
        return bool(layouts)

    def streams(self) -> list[StreamRow]:
        """Return all streams, the oldest first."""
        return [StreamRow(*row) for row in self._rows(sql.STREAMS)]

    def known(self, stream: int, ids: Sequence[str]) -> Known:
        """Return what is kept of these ids."""
        found = Known({}, {})
        with self._saying("read"):
            for start in range(0, len(ids), sql.ASKED[-1]):
                asked = ids[start : start + sql.ASKED[-1]]
                statement, size = sql.known_ids(len(asked))
                filled = [*asked, *[asked[0]] * (size - len(asked)), stream]
                for row in self._seen_by_writer(statement, filled):
                    prediction = PredictionRow._make(row[:-1])
                    found.predictions[prediction.id] = prediction
                    if row[-1] is not None:
                        found.outcomes[prediction.id] = row[-1]
        return found

    def last_sequence(self, stream: int) -> int:
        """Return the sequence of the last row, 0 if there is none."""
        both = (self._rows(each, stream) for each in (sql.LAST_PREDICTION, sql.LAST_OUTCOME))
        return max(rows[0][0] or 0 for rows in both)

    def snapshots(self, stream: int) -> Iterator[SnapshotRow]:
        """Return the snapshots, whole, the newest first."""
        for (sequence,) in self._rows(sql.SNAPSHOTS, stream):
            pieces = [piece for (piece,) in self._rows(sql.PIECES, stream, sequence)]
            for found in self._rows(sql.ONE_SNAPSHOT, stream, sequence):
                row = SnapshotRow(*found)
                yield row._replace(blob=b"".join([*pieces, row.blob])) if pieces else row

    def events(self, after: int, stream: str | None, limit: int) -> list[EventRow]:
        """Return stored events above a number, the oldest first; of one stream, or of all."""
        if stream is None:
            rows = self._rows(sql.EVENTS, after, limit)
        else:
            rows = self._rows(sql.EVENTS_OF_STREAM, after, stream, limit)
        return [EventRow(*row) for row in rows]

    def last_event(self) -> int:
        """Return the number of the last event, 0 if there is none."""
        return self._rows(sql.LAST_EVENT)[0][0] or 0

    def last_event_of(self, stream: str, family: str) -> str | None:
        """Return the kind of a stream's last event whose kind begins with a word and a dot."""
        rows = self._rows(sql.LAST_EVENT_OF, stream, f"{family}.%")
        return rows[0][0] if rows else None

    def deliveries(self, webhook: str) -> list[DeliveryRow]:
        """Return what a webhook has received."""
        return [DeliveryRow(*row) for row in self._rows(sql.DELIVERIES, webhook)]

    def tokens(self) -> list[TokenRow]:
        """Return all tokens, the oldest first."""
        return [TokenRow(*row) for row in self._rows(sql.TOKENS)]
