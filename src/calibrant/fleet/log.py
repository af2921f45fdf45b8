"""Rows of tables through a fleet, chunk after chunk, each outcome when it became known."""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from calibrant._checks import Floats, Id
from calibrant.fleet.fleet import Fleet
from calibrant.fleet.log_until import Logged, play_until
from calibrant.recalibrate.frames import ids_in
from calibrant.recalibrate.rows import check_unit, when_of
from calibrant.tables.notation import is_empty
from calibrant.tables.scored import Scored, take_scored
from calibrant.tables.table import Table

Keys = npt.NDArray[Any]


class Late(NamedTuple):
    """Outcomes that are still to become known: when, the numbers of their rows, and their keys."""

    known: Floats
    ids: npt.NDArray[np.int64]
    keys: Keys
    outcomes: Floats


class Judged(NamedTuple):
    """Rows whose outcomes are known by now: their scores, what was said, and the outcomes."""

    scores: Floats
    said: Floats
    outcomes: Floats


class Played(NamedTuple):
    """The prediction of each row of a table, what was read of it, and what can be measured now.

    The last are rows with an outcome, and earlier ones that had none in their row and got it.
    """

    said: Floats
    rows: Scored
    judged: Judged


class Log:
    """Play tables in their order; a table may hold any number of rows.

    Rows are predicted in their order. An outcome is learned before the next row or, by the clocks
    of `time` and `available`, before the first row that is predicted later than it became known.
    A fleet with `silence` or `hold` learns it at its deadline, and goes on from there in the next
    log: rows without an `id` wait under numbers.

    With `id`, a row without an outcome waits under its id, and one without a score brings the
    outcome of its id; `answers` counts what became of the latter, and of ids used twice.
    """

    def __init__(
        self,
        fleet: Fleet,
        *,
        key: str,
        score: str,
        outcome: str | None,
        time: str | None = None,
        available: str | None = None,
        due: str | None = None,
        positive: str | None = None,
        id: str | None = None,  # noqa: A002
    ) -> None:
        self.has_deadlines = fleet._has_deadlines
        if not self.has_deadlines:
            if due is not None:
                raise ValueError("due needs silence or hold: what is learned at the deadline?")
            if id is not None and available is not None:
                raise ValueError(
                    "id does not go with available: outcomes come by their ids, or by the clock"
                )
        self.fleet, self.key, self.outcome, self.id = fleet, key, outcome, id
        self.take = partial(
            take_scored, score=score, kind=fleet.kind, time=time, available=available, due=due,
            positive=positive, id=id, missing=id is not None,
        )  # fmt: skip
        self.answers: Counter[str] = Counter()
        self.late: Late | None = None
        self.time = -np.inf  # of the last row
        # What rows that wait are called: a fleet that goes on has used smaller numbers.
        self.next_id = max(fleet.rounds, fleet._above_all_ids())
        # With deadlines: rows that may still get an outcome, by id, as scores and predictions, and
        # when outcomes come that are still to come.
        self.open: dict[Id, tuple[float, float]] = {}
        self.news: Floats = np.empty(0)

    def play(self, table: Table) -> Played:
        """Predict the rows of a table, and learn what becomes known in between."""
        rows = self.take(table, outcome=self.outcome)
        self.outcome = rows.outcome_column
        keys = keys_in(table, self.key)
        times = None if rows.clock is None else rows.clock.ticks
        if times is not None and len(times):
            if times[0] < self.time:
                assert rows.clock is not None
                raise rows.clock.cells.refusal(0, "the time is before that of the row above")
            self.time = float(times[-1])
        if self.has_deadlines:
            return self._play_until(keys, rows, self._names(table, rows))
        if rows.available is None or times is None:
            names = self._names(table, rows)
            said, answers = self.fleet.play(keys, rows.scores, rows.outcomes, names, at=times)
            self._count(rows, answers)
        else:
            said = self._play_late(keys, rows, times, rows.available.ticks)
        has = ~np.isnan(rows.outcomes) & ~np.isnan(rows.scores)
        return Played(said, rows, Judged(rows.scores[has], said[has], rows.outcomes[has]))

    def _count(self, rows: Scored, answers: npt.NDArray[np.str_]) -> None:
        """Count what became of outcomes by id, and of ids used twice."""
        has_more = np.isnan(rows.scores) | (answers == "used")
        self.answers.update(answers[has_more].tolist())

    def _names(self, table: Table, rows: Scored) -> list[Id | None]:
        """Return the id of each row; refuse a row that has neither a score nor an outcome."""
        if self.id is None:
            return [None] * len(table)
        empty = np.isnan(rows.scores) & np.isnan(rows.outcomes)
        if empty.any():
            cells = table.cells(self.id)
            raise cells.refusal(int(empty.argmax()), "the row has neither a score nor an outcome")
        return list(ids_in(table, self.id))

    def _play_until(self, keys: Keys, rows: Scored, names: list[Id | None]) -> Played:
        """Predict the rows, and learn at deadlines what becomes known before each of them."""
        check_unit(rows, self.fleet._clock)
        made, known, due = when_of(rows)
        if self.id is None:
            ids = range(self.next_id, self.next_id + len(keys))
            self.next_id += len(keys)
            comes = ~np.isnan(rows.outcomes) & (True if known is None else ~np.isnan(known))
            # What is held and never comes has nothing to wait for.
            waits = comes | (self.fleet.silence is not None)
            names = [id_ if wait else None for id_, wait in zip(ids, waits.tolist(), strict=True)]
        logged = Logged(names, rows.outcomes, made, known, due)
        said, answers, learned = play_until(self.fleet, keys, rows.scores, logged)
        self._count(rows, answers)
        if made is not None and known is not None:
            news = known[~np.isnan(rows.outcomes) & ~np.isnan(rows.scores)]
            self.news = np.concatenate([self.news, news])
            self.news = self.news[self.news >= self.time]
        return Played(said, rows, self._judged(rows, names, said, learned))

    def _judged(
        self, rows: Scored, names: list[Id | None], said: Floats, learned: dict[Id, float]
    ) -> Judged:
        """Return rows with an outcome, and those without that have learned theirs."""
        has, is_open = ~np.isnan(rows.outcomes), ~np.isnan(said)
        for row in np.flatnonzero(is_open & ~has).tolist():
            if (name := names[row]) is not None:
                self.open[name] = float(rows.scores[row]), float(said[row])
        found = [(*self.open.pop(name), y) for name, y in learned.items() if name in self.open]
        if len(self.open) > self.fleet.pending:  # some have expired
            waits = self.fleet._waits
            self.open = {name: each for name, each in self.open.items() if waits(name)}
        here = np.stack([rows.scores, said, rows.outcomes])[:, has & is_open]
        return Judged(*np.concatenate([here, np.array(found).reshape(-1, 3).T], axis=1))

    def _play_late(self, keys: Keys, rows: Scored, times: Floats, available: Floats) -> Floats:
        """Predict the rows, and learn what becomes known before each of them."""
        ids = np.arange(self.next_id, self.next_id + len(keys))
        self.next_id += len(keys)
        comes = rows.arrivals.order
        new = Late(available[comes], ids[comes], keys[comes], rows.outcomes[comes])
        late = new if self.late is None else joined(self.late, new)
        late = taken(late, np.argsort(late.known, kind="stable"))
        # An outcome stands before the first row that is predicted after it became known.
        place = np.searchsorted(times, late.known, side="right")
        now = place < len(keys)
        self.late = taken(late, ~now)
        late, place = taken(late, now), place[now]
        nothing = np.full(len(place), np.nan)
        waits = np.zeros(len(keys), dtype=bool)
        waits[comes] = True
        names = np.where(waits, ids, -1)
        said, _ = self.fleet.play(
            np.insert(keys, place, late.keys),
            np.insert(rows.scores, place, nothing),
            np.insert(np.full(len(keys), np.nan), place, late.outcomes),
            [None if name < 0 else name for name in np.insert(names, place, late.ids).tolist()],
            at=np.insert(times, place, late.known),
        )
        is_row = np.insert(np.ones(len(keys), dtype=bool), place, False)
        return np.asarray(said[is_row])

    def finish(self) -> int:
        """Learn the outcomes that become known only after the last row; return how many.

        With deadlines these are learned in the next log, if there is one.
        """
        if self.has_deadlines:
            return len(self.news)
        if self.late is None or not len(self.late.ids):
            return 0
        late, self.late = self.late, None
        nothing = np.full(len(late.ids), np.nan)
        self.fleet.play(late.keys, nothing, late.outcomes, late.ids.tolist(), at=late.known)
        return len(late.ids)


def joined(one: Late, other: Late) -> Late:
    """Return outcomes of two tables, those of the first before those of the second."""
    return Late(*(np.concatenate(pair) for pair in zip(one, other, strict=True)))


def taken(late: Late, rows: npt.NDArray[Any]) -> Late:
    """Return some of the outcomes."""
    return Late(*(column[rows] for column in late))


def keys_in(table: Table, column: str) -> Keys:
    """Return the keys of all rows: integers, or text as it stands there."""
    table.find("key", column)
    raw: Any = table.columns[column]
    if hasattr(raw, "null_count") and raw.dtype.is_integer() and not raw.null_count():
        return np.asarray(raw.to_numpy(), dtype=np.int64)
    cells = table.cells(column)
    values = cells.values()
    for row, cell in enumerate(values):
        if is_empty(cell):
            raise cells.refusal(row, "the key is missing")
    keys = np.array(values, dtype=object)
    if len(keys) and all(type(cell) is int for cell in values):
        return keys.astype(np.int64)
    for row, cell in enumerate(values):
        if not isinstance(cell, str):
            raise cells.refusal(row, f"got {cell!r}, a key must be an integer or text")
    return keys
