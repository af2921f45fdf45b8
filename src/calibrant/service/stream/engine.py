"""The engine of a stream: a state machine that is driven by a log and nothing else.

It uses no store, no clock and no HTTP. The same batches in the same order give the same state and
the same answers, bit for bit, so the state after a restart is that of a replay of the log.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from calibrant import Decider
from calibrant._checks import Floats
from calibrant._kernels.rounds.book import ANSWERS, Book
from calibrant._kernels.rounds.round import Round
from calibrant._kernels.rounds.settled import Settled, Steps
from calibrant.service.problems import bad_value
from calibrant.service.stream.decisions import Decisions
from calibrant.service.stream.definition import Definition
from calibrant.service.stream.key_watch import KeyChange
from calibrant.service.stream.keys import Key
from calibrant.service.stream.learners import ByKey, Learner
from calibrant.service.stream.measures import EpisodeChange, Timed
from calibrant.service.stream.tallies import Tallies

#: The answers to outcomes, by the number that a book returns.
NAMES: list[str] = ANSWERS.tolist()
APPLIED = NAMES.index("applied")


class Predicted(NamedTuple):
    """The predictions of a batch, as `Kind.answered` says; None where there is no deadline."""

    deadline: list[float | None]
    probability: Sequence[float | None]
    smooth: Sequence[float | None]
    predicted: Sequence[bytes | None]


class Engine:
    """The state of one stream.

    Examples
    --------
    >>> engine = Engine(Definition())
    >>> predicted = engine.predict(["a", "b"], [0.2, 0.9], at=[0.0, 0.0])
    >>> engine.learn(["b", "c"], [1.0, 0.0], at=[60.0, 60.0])
    ['applied', 'unknown']
    >>> engine.book.ids
    ['a']
    >>> again = Engine.from_bytes(engine.to_bytes(), Definition())
    >>> again.to_bytes() == engine.to_bytes()
    True
    """

    def __init__(self, definition: Definition, learner: Learner | None = None) -> None:
        self.definition = definition
        self.kind = definition.of_kind
        self.learner = self.kind.learner(definition) if learner is None else learner
        #: What is pending, and the clock: nothing else decides what is due.
        self.book: Book = self.learner.book
        self.measures = self.kind.measures(definition)
        self.tallies = Tallies()
        decider = definition.decider()
        #: The decider, if the stream has one.
        self.decisions = None if decider is None else Decisions(decider)
        #: Rounds that the monitors have not seen yet, and how many were settled before them.
        self._opened: list[tuple[int, list[Round]]] = []
        #: How many waited after each row that was settled and is not measured yet.
        self._waiting: list[int] = []

    def check(self, by: Sequence[str | None] | None, keys: Sequence[Key] | None) -> None:
        """Reject rows whose groups or keys cannot be predicted."""
        if isinstance(self.learner, ByKey):
            assert keys is not None
            self.learner.check(keys)
            return
        named = self.tallies.groups
        new = {name for name in by or () if name is not None and name not in named}
        if len(named) + len(new) > self.definition.groups:
            raise bad_value(
                f"{sorted(new)[0]!r} would be one group more than the stream allows",
                "by", f"{self.definition.groups} groups",
            )  # fmt: skip

    # -- the two kinds of batches ---------------------------------------------------------------

    def predict(
        self,
        ids: list[str],
        scores: list[float | None],
        by: list[str | None] | None = None,
        at: Sequence[float] = (),
        due: Sequence[float | None] | None = None,
        keys: Sequence[Key] | None = None,
        given: list[bytes] | None = None,
    ) -> Predicted:
        """Predict rows that arrived together; the ids are new, and the rows wait for outcomes.

        `due` is given where rows have deadlines of their own, `given` where they hold more than a
        score.
        """
        book, timed = self.book, self.definition.is_timed
        before, latest = len(book.settled), max(at)
        ends = None if due is None else self._own_deadlines(at, due)
        rounds = self.learner.open(ids, scores, by, keys, list(at) if timed else None, ends, given)
        # What is due by a time is settled before the prediction; by a count of predictions, after.
        self._opened.append((len(book.settled) if timed else before, rounds))
        for each, made in zip(rounds, at, strict=True):
            each.at = made  # what the row says; a book counts on from the latest, or predictions
        self.tallies.predicted(scores, by, latest)
        if not timed:
            for _, each in book.settled[before:]:
                each.arrived = latest  # when there were so many predictions
        if len(book.settled) > before:
            self._note_settled(before)
        found = self.kind.answered(rounds)
        if self.decisions is not None:
            found = found._replace(predicted=self.decisions.decide(ids, rounds, at))
        return Predicted([None if math.isnan(each.due) else each.due for each in rounds], *found)

    def _own_deadlines(self, at: Sequence[float], due: Sequence[float | None]) -> list[float]:
        """Return a deadline for each row, where some have one of their own."""
        wait = self.definition.wait
        return [
            made + wait if end is None else end  # type: ignore[operator]
            for made, end in zip(at, due, strict=True)
        ]

    def learn(self, ids: list[str], outcomes: list[float], at: Sequence[float]) -> list[str]:
        """Take outcomes that arrived together; return what becomes of each.

        Where deadlines are times, rows are taken in order of time. Only those that are applied
        change anything: of the others no time passes, and the log need not have them.
        """
        book, timed = self.book, self.definition.is_timed
        before = len(book.settled)
        rounds: list[Any] = [book.known.get(id_) for id_ in ids]
        if len(ids) == 1:  # three times as fast as a batch of one
            time = at[0] if timed else math.nan
            answers = [book.observe_one(ids[0], outcomes[0], time, APPLIED)]
        else:
            times = np.array(at) if timed else None
            answers = book.observe(ids, np.array(outcomes), times, only_news=True).tolist()
        found = [NAMES[answer] for answer in answers]
        applied = [row for row, answer in enumerate(answers) if answer == APPLIED]
        if not applied:
            return found
        answered, came = [rounds[row] for row in applied], [at[row] for row in applied]
        delays = [time - each.at for each, time in zip(answered, came, strict=True)]
        self.tallies.observed(delays, max(came))
        if not timed:
            for each, time in zip(answered, came, strict=True):
                each.arrived = time
            if len(set(came)) > 1:  # learned together, and measured in order of time
                book.settled[before:] = sorted(book.settled[before:], key=arrival)
        if len(book.settled) > before:
            self._note_settled(before)
        return found

    def _note_settled(self, before: int) -> None:
        """Record how many predictions were pending beside each settled row, and check its keys."""
        settled = self.book.settled[before:]
        if self.decisions is not None:
            self.decisions.learn(settled)
        self._waiting += [len(self.book)] * len(settled)
        watch = self.learner.watch
        if watch is not None:
            ids, rounds = zip(*settled, strict=True)
            rows = Settled(self.book.rule, list(ids), list(rounds), None)
            keys: list[Any] = rows.by
            watch.look(dict(zip(keys, self._times(rows).tolist(), strict=True)))

    # -- changes from outside the log ----------------------------------------------------------

    def set_capacity(self, capacity: int) -> None:
        """Change the capacity; if more predictions are pending, the oldest expire.

        The capacity of the monitors does not change, which is safe.
        """
        self.definition = replace(self.definition, capacity=capacity)
        self.learner.set_capacity(capacity)
        if self.decisions is not None:
            decider = self.decisions.decider
            decider._given["capacity"] = decider._book.capacity = capacity
        waiting = self.book.waiting()
        if len(waiting) > capacity:
            self.book.expire(number=waiting[-capacity][1].number)

    def erase(self, ids: Sequence[str]) -> None:
        """Forget ids: pending ones are dropped, and do not count as expired."""
        self.measure()
        books = [self.book]
        if self.decisions is not None:
            books.append(self.decisions.decider._book)
        for book in books:
            for id_ in ids:
                book.gone.pop(id_, None)
                waits = book.known.get(id_)
                if isinstance(waits, Round):
                    waits.at = -math.inf
            for erased in book.expire(before=-sys.float_info.max):
                del book.gone[erased]
                book.expired -= 1

    # -- measuring what is settled --------------------------------------------------------------

    def _times(self, rows: Settled) -> Floats:
        """Return since when rows are settled."""
        return rows.when if self.definition.is_timed else rows.arrived

    def measure(self, at_least: int = 1) -> list[EpisodeChange | KeyChange]:
        """Measure what was settled since the last call; return what began or ended.

        How often this is called makes no difference: rows are measured in the order in which they
        were settled.
        """
        changes: list[EpisodeChange | KeyChange] = []
        if self.learner.watch is not None:
            changes += self.learner.watch.changes()
        if len(self.book.settled) >= at_least or (at_least <= 1 and self._opened):
            changes += self._measure(self.book.take_settled())
        self.tallies.changes += len(changes)
        return changes

    def _measure(self, rows: Settled) -> list[EpisodeChange]:
        times = self._times(rows)
        by: list[Any] | None = rows.by if self.tallies.groups else None
        waiting = np.array(self._waiting, dtype=np.float64)
        found = self.measures.take(rows, self._steps(rows, times), times, waiting)
        if len(rows):
            self._waiting = []
            self.tallies.measured(rows, by, self.measures.spread(rows))
        return found

    def _steps(self, rows: Settled, times: Floats) -> Timed:
        """Return predictions and outcomes since the last time, in the order in which they came."""
        rounds: list[Round] = []
        came: list[float] = []
        at: list[float] = []
        outcomes, whens, seen = rows.outcome.tolist(), times.tolist(), 0
        for before, opened in [*self._opened, (len(outcomes), [])]:
            if before > seen:
                rounds += rows.rounds[seen:before]
                came += outcomes[seen:before]
                at += whens[seen:before]
            rounds += opened
            came += [math.nan] * len(opened)
            at += [each.at for each in opened]
            seen = before
        self._opened = []
        steps = Steps(self.book.rule, rounds, np.array(came))
        return Timed(steps, np.array(at), steps.by if self.tallies.groups else None)

    # -- saving ---------------------------------------------------------------------------------

    def to_bytes(self) -> bytes:
        """Return the whole state: the length of each part in a line of JSON, then the parts."""
        return self.frozen()()

    def frozen(self) -> Callable[[], bytes]:
        """Return a function that gives `to_bytes` as of now, in any thread."""
        self.measure()
        learned = self.learner.frozen()
        parts = self.measures.parts() | {"tallies": self.tallies}
        if self.decisions is not None:
            parts["decisions"] = self.decisions
        blobs = {name: part.to_bytes() for name, part in parts.items()}

        def joined() -> bytes:
            whole = learned() | blobs
            lengths = json.dumps({name: len(blob) for name, blob in whole.items()})
            return b"".join([lengths.encode(), b"\n", *whole.values()])

        return joined

    @classmethod
    def from_bytes(cls, blob: bytes, definition: Definition) -> Engine:
        """Return what `to_bytes` saved, or raise ValueError."""
        end = blob.find(b"\n")
        parts, start, body = {}, end + 1, memoryview(blob)
        for name, length in json.loads(blob[:end]).items():
            parts[name] = body[start : start + length]
            start += length
        try:
            engine = cls(definition, definition.of_kind.restored(parts, definition))
            engine.measures.load(parts)
            engine.tallies = Tallies.from_bytes(bytes(parts["tallies"]))
            if engine.decisions is not None:
                engine.decisions = Decisions(Decider.from_bytes(bytes(parts["decisions"])))
        except (KeyError, TypeError, IndexError) as error:
            raise ValueError(f"the snapshot is inconsistent: {error}") from None
        return engine


def arrival(settled: tuple[Any, Round]) -> float:
    """Return when the outcome of a round came that stands beside its id."""
    return settled[1].arrived
