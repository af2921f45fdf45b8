"""A stream: which rows of a request are new, their predictions, and what is logged.

Rows are new if the store does not have their ids. The rows that it has are passed as `known`,
together with those that earlier requests of the same group have added.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256
from itertools import repeat
from typing import Any, TypeVar

from calibrant.service.store.base import Store
from calibrant.service.store.records import (
    Change,
    EventRow,
    Group,
    Known,
    LoggedOutcomes,
    LoggedPredictions,
    OutcomeRow,
    PredictionRow,
    StoreError,
    StreamRow,
)
from calibrant.service.stream.definition import Definition
from calibrant.service.stream.engine import Engine
from calibrant.service.stream.events import event_of, identity_of
from calibrant.service.stream.garbage import collection_paused
from calibrant.service.stream.key_watch import KeyChange
from calibrant.service.stream.keys import Key, key_as_text, keys_of_text
from calibrant.service.stream.kinds import Answer
from calibrant.service.stream.measures import EpisodeChange

#: Settled rows that a replay measures at once.
PORTION = 4096

T = TypeVar("T")

# As `_make` does, without a call of Python for each row.
make_prediction = partial(tuple.__new__, PredictionRow)
make_outcome = partial(tuple.__new__, OutcomeRow)


@dataclass(slots=True)
class Predictions:
    """Rows to predict, as columns; `given` is packed, where rows hold more than a score."""

    ids: list[str]
    scores: list[float | None]
    by: list[str | None] | None
    at: list[float]
    due: list[float | None] | None
    keys: list[int] | list[str] | None = None
    given: list[bytes] | None = None


@dataclass(slots=True)
class Outcomes:
    """Outcomes, as columns."""

    ids: list[str]
    outcomes: list[float]
    at: list[float]


class Stream:
    """The owner's view of one stream: its engine, and where its log ends."""

    def __init__(self, row: StreamRow, now: float) -> None:
        self.number, self.name, self.created = row.number, row.name, row.created
        settings = json.loads(row.settings)
        #: What is known of the state that it was adopted from, if it was.
        self.adopted: dict[str, Any] | None = settings.pop("adopted", None)
        #: The row from which on the log is whole: some before it were erased, or are too old.
        self.trimmed: int = settings.pop("trimmed", 0)
        #: Changes of the capacity, which are part of the log.
        self.altered = [Change(*each) for each in settings.pop("altered", [])]
        self.definition = Definition.from_json(settings)
        self.engine = Engine(self.definition_at(0))
        #: The sequence of the last row, and of the last snapshot.
        self.sequence = self.kept = 0
        #: When it was last time for a snapshot, and how large that was.
        self.kept_at, self.kept_bytes = now, 0
        #: Whether there was an event that many wait, and that outcomes stopped.
        self.is_busy = self.is_silent = False
        #: Since the start: predictions asked for, those that another score was stored for, and
        #: outcomes of predictions that had expired.
        self.asked = self.conflicts = self.too_late = 0
        #: What began or ended and is not stored as an event yet.
        self.changes: list[EpisodeChange | KeyChange] = []

    def definition_at(self, sequence: int) -> Definition:
        """Return the settings as they were after a row."""
        later = [each.before for each in self.altered if each.sequence > sequence]
        return replace(self.definition, capacity=later[0]) if later else self.definition

    def row(self, **changed: Any) -> StreamRow:
        """Return the stream as it is stored, with another name, definition and the like."""
        now: dict[str, Any] = {
            "name": self.name, "definition": self.definition, "trimmed": self.trimmed,
            "altered": self.altered, **changed,
        }  # fmt: skip
        settings = now["definition"].as_json()
        if self.adopted is not None:
            settings["adopted"] = self.adopted
        if now["trimmed"]:
            settings["trimmed"] = now["trimmed"]
        if altered := [each for each in now["altered"] if each.sequence > now["trimmed"]]:
            settings["altered"] = altered
        text = json.dumps(settings, sort_keys=True)
        return StreamRow(self.number, now["name"], text, self.created)

    def trim(self, sequence: int) -> None:
        """Note from which row on the log is whole."""
        self.trimmed = sequence
        self.altered = [each for each in self.altered if each.sequence > sequence]

    def last_sequence(self, store: Store) -> int:
        """Return where the log ends."""
        altered = [each.sequence for each in self.altered]
        return max(store.last_sequence(self.number), self.trimmed, *altered)

    # -- requests -------------------------------------------------------------------------------

    def unknown_ids(self, request: Predictions | Outcomes) -> list[str]:
        """Return the ids that the store has to be asked for."""
        if isinstance(request, Predictions):
            return request.ids
        known = self.engine.book.known
        return [id_ for id_ in request.ids if id_ not in known]

    def predict(self, request: Predictions, known: Known, group: Group) -> list[Answer]:
        """Answer predictions; the new ones are added to the group that is to be written."""
        stored = known.predictions
        fresh: dict[str, int] = {}
        for row, id_ in enumerate(request.ids):
            if id_ not in stored:
                fresh.setdefault(id_, row)
        if fresh:
            self._predict_fresh(request, fresh, known, group)
        answers = []
        for row, id_ in enumerate(request.ids):
            found, answer = stored[id_], "applied"
            if fresh.get(id_) != row:
                answer = "repeated" if is_same(found, request, row) else "conflict"
                self.conflicts += answer == "conflict"
            answers.append((found, answer))
        self.asked += len(answers)
        return answers

    def _predict_fresh(
        self, request: Predictions, fresh: dict[str, int], known: Known, group: Group
    ) -> None:
        """Predict the rows of a request that are new."""
        rows = list(fresh.values())
        if self.definition.is_timed:  # time passes in the order of the rows
            rows.sort(key=request.at.__getitem__)
        ids = [request.ids[row] for row in rows]
        scores, at = [request.scores[row] for row in rows], [request.at[row] for row in rows]
        by, due = picked(request.by, rows), picked(request.due, rows)
        keys = None if request.keys is None else [request.keys[row] for row in rows]
        given = None if request.given is None else [request.given[row] for row in rows]
        self.engine.check(by, keys)
        predicted = self.engine.predict(ids, scores, by, at, due, keys, given)
        first, nothing = self.sequence + 1, [None] * len(rows)
        self.sequence += len(rows)
        logged = zip(
            repeat(self.number), range(first, first + len(rows)), repeat(first), ids, scores,
            by or nothing, nothing if keys is None else map(key_as_text, keys), at,
            due or nothing, *predicted, given or nothing, strict=False,
        )  # fmt: skip
        new = list(map(make_prediction, logged))
        group.predictions += new
        known.predictions.update(zip(ids, new, strict=True))

    def observe(
        self,
        request: Outcomes,
        known: Known,
        group: Group,
        ask: Callable[[list[str]], Known] = lambda _: Known({}, {}),
    ) -> list[str]:
        """Return what becomes of each outcome; those applied are added to the group.

        `ask` asks the store for ids that have left the state since `known` was read.
        """
        answers = self.engine.learn(request.ids, request.outcomes, request.at)
        rows = [row for row, answer in enumerate(answers) if answer == "applied"]
        ids, outcomes = [request.ids[row] for row in rows], [request.outcomes[row] for row in rows]
        first = self.sequence + 1
        self.sequence += len(rows)
        logged = zip(
            repeat(self.number), range(first, first + len(rows)), repeat(first), ids, outcomes,
            [request.at[row] for row in rows], strict=False,
        )  # fmt: skip
        group.outcomes += map(make_outcome, logged)
        known.outcomes.update(zip(ids, outcomes, strict=True))
        gone = [row for row, answer in enumerate(answers) if answer in ("unknown", "expired")]
        left = [request.ids[row] for row in gone if request.ids[row] not in known.predictions]
        if left:
            found = ask(left)
            known.predictions.update(found.predictions)
            known.outcomes.update(found.outcomes)
        for row in gone:
            final = self._outcome_of(request.ids[row], answers[row], known)
            if isinstance(final, str):
                answers[row] = final
            else:
                answers[row] = "repeated" if final == request.outcomes[row] else "conflict"
        self.too_late += answers.count("expired")
        return answers

    def stored(self, id_: str, known: Known) -> Mapping[str, Any] | None:
        """Return what is known of a prediction by its id; None if there is none."""
        row = known.predictions.get(id_)
        if row is None:
            return None
        outcome: float | str | None = self._outcome_of(id_, "unknown", known)
        status = "settled"
        if id_ in self.engine.book.known:
            status, outcome = "waiting", known.outcomes.get(id_)
        elif isinstance(outcome, str):
            status, outcome = "expired", None
        (shown,) = self.definition.of_kind.shown([(row, "repeated")], self.definition)
        key = None if row.key is None else keys_of_text([row.key])[0]
        label = None if outcome is None else self.definition.of_kind.label(outcome, self.definition)
        return {
            "prediction": shown, "at": row.at, "deadline": row.deadline, "by": row.by, "key": key,
            "status": status, "outcome": label,
        }  # fmt: skip

    def _outcome_of(self, id_: str, answer: str, known: Known) -> float | str:
        """Return the outcome of an id that does not wait, or the answer where it has none."""
        if id_ in known.outcomes:
            return known.outcomes[id_]
        found, silence = known.predictions.get(id_), self.definition.silence
        if found is None or answer == "expired":
            return answer
        is_over = found.deadline is not None and found.deadline <= self.engine.book.now
        return "expired" if silence is None or not is_over else silence

    def measure(self, now: float) -> list[EventRow]:
        """Measure what was settled, and return the events that follow from that."""
        self.changes += self.engine.measure()
        events = [event_of(self.name, now, each) for each in self.changes]
        self.changes = []
        waiting, capacity = len(self.engine.book), self.definition.capacity
        if self.is_busy != (waiting > (0.7 if self.is_busy else 0.8) * capacity):
            self.is_busy = not self.is_busy
            kind = "pending.high" if self.is_busy else "pending.low"
            body: dict[str, Any] = {"waiting": waiting, "capacity": capacity}
            events.append(EventRow(0, self.name, now, kind, json.dumps(body)))
        tallies = self.engine.tallies
        since = tallies.silent_since
        if self.is_silent != (since is not None):
            self.is_silent = not self.is_silent
            kind = "outcomes.silent" if self.is_silent else "outcomes.back"
            body = {"since": since, "last_outcome_at": tallies.last_outcome, "waiting": waiting}
            events.append(EventRow(0, self.name, now, kind, json.dumps(body)))
        return events

    # -- snapshots and replay -------------------------------------------------------------------

    def restore(self, store: Store) -> Iterator[int]:
        """Take the state from the newest snapshot that is whole, and replay the log after it.

        Yields the sequence reached, now and then. Raises StoreError if the log does not give what
        was answered.
        """
        self.engine, self.sequence = Engine(self.definition_at(0)), 0
        changes: list[EpisodeChange | KeyChange] = []
        for snapshot in store.snapshots(self.number):
            if checksum_of(snapshot.blob) != snapshot.checksum:
                continue
            try:
                definition = self.definition_at(snapshot.sequence)
                self.engine = Engine.from_bytes(snapshot.blob, definition)
            except ValueError:
                continue
            self.sequence, self.kept_bytes = snapshot.sequence, len(snapshot.blob)
            break
        else:
            if self.adopted is not None or self.trimmed:
                what = "state that it was adopted from" if not self.trimmed else "snapshot"
                raise StoreError(
                    f"stream {self.name}: the {what} is missing or damaged, and the log continues "
                    "from there"
                )
        self.kept = self.sequence
        with collection_paused():
            for batch in self.logged(store):
                self.replay(batch)
                changes += self.engine.measure(PORTION)
                yield self.sequence
        changes += self.engine.measure()
        # Events are stored after the rows that they are about: the last may be missing.
        self.changes = []
        if self.engine.tallies.changes > store.count_changes(self.name):
            stored = {identity_of(row) for row in all_events(store, self.name)}
            self.changes = [
                each
                for each in changes
                if identity_of(event_of(self.name, 0.0, each)) not in stored
            ]
        self.is_busy = store.last_event_of(self.name, "pending") == "pending.high"
        self.is_silent = store.last_event_of(self.name, "outcomes") == "outcomes.silent"

    def logged(self, store: Store) -> Iterator[LoggedPredictions | LoggedOutcomes | Change]:
        """Return the log after the row that is reached, with the changes that are part of it."""
        altered = [each for each in self.altered if each.sequence > self.sequence]
        for batch in store.log(self.number, self.sequence):
            while altered and altered[0].sequence < batch.sequence[0]:
                yield altered.pop(0)
            yield batch
        yield from altered

    def replay(self, batch: LoggedPredictions | LoggedOutcomes | Change) -> None:
        """Do what the log says once more."""
        if isinstance(batch, Change) and batch.sequence == self.sequence + 1:
            self.engine.set_capacity(batch.after)
            self.sequence += 1
            return
        numbers = (batch.sequence,) if isinstance(batch, Change) else batch.sequence
        first, last = numbers[0], numbers[-1]
        if first != self.sequence + 1 or last != self.sequence + len(numbers):
            raise StoreError(
                f"stream {self.name}: rows after {self.sequence} are missing from the log"
            )
        if isinstance(batch, LoggedPredictions):
            is_same = self._predict_again(batch)
        else:
            assert isinstance(batch, LoggedOutcomes)
            answers = self.engine.learn(list(batch.id), list(batch.outcome), batch.at)
            is_same = answers.count("applied") == len(answers)
        if not is_same:
            raise StoreError(
                f"stream {self.name}: a replay of rows {first} to {last} does not give what was "
                "answered; was the log changed, or written by another version of calibrant?"
            )
        self.sequence = last

    def _predict_again(self, batch: LoggedPredictions) -> bool:
        """Predict what the log says; return whether that gives what was answered."""
        by, due, keys = known_of(batch.by), known_of(batch.due), self._logged_keys(batch)
        more: Any = known_of(batch.given)
        _, *predicted = self.engine.predict(
            list(batch.id), list(batch.score), by, batch.at, due, keys, more
        )
        return [*map(tuple, predicted)] == [batch.probability, batch.smooth, batch.predicted]

    def _logged_keys(self, batch: LoggedPredictions) -> list[Key] | None:
        if not self.definition.keyed:
            return None
        keys = [key for key in batch.key if key is not None]
        if len(keys) < len(batch.key):
            raise StoreError(
                f"stream {self.name}: a row of {batch.sequence[0]} to {batch.sequence[-1]} has no "
                "key in the log"
            )
        return keys_of_text(keys)


def all_events(store: Store, stream: str) -> Iterator[EventRow]:
    """Return all stored events of a stream."""
    last = 0
    while rows := store.events(last, stream, PORTION):
        yield from rows
        last = rows[-1].number


def is_same(found: PredictionRow, request: Predictions, row: int) -> bool:
    """Whether a row asks for what is stored under its id."""
    key = None if request.keys is None else key_as_text(request.keys[row])
    given = None if request.given is None else request.given[row]
    return (found.score, found.key, found.given) == (request.scores[row], key, given)


def picked(column: Sequence[T | None] | None, rows: Iterable[int]) -> list[T | None] | None:
    """Return some rows of a column; None if all are None."""
    return None if column is None else known_of([column[row] for row in rows])


def known_of(column: Sequence[T | None]) -> list[T | None] | None:
    """Return a column; None if all of it is None, live as in a replay."""
    return None if column.count(None) == len(column) else list(column)


def checksum_of(blob: bytes) -> str:
    """Return the checksum that is stored beside a snapshot."""
    return sha256(blob).hexdigest()
