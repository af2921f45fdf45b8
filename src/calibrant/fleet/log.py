"""Rows of tables through a fleet, chunk after chunk, each outcome when it became known."""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant._checks import Floats, Id
from calibrant._kernels.rounds.book import ANSWERS, Book
from calibrant.fleet.fleet import Fleet
from calibrant.fleet.rows import Batch
from calibrant.recalibrate.frames import ids_in
from calibrant.recalibrate.log import Judged, Played, judged_at_once, still_open, time_after
from calibrant.tables.cells import is_empty
from calibrant.tables.scored import Scored, take_scored
from calibrant.tables.table import Table

Keys = npt.NDArray[Any]
#: When rows are predicted, when their outcomes become known, and when these are due.
Times = tuple[Floats | None, Floats | None, Floats | None]
#: What is measured of rounds that are settled, in the order of `Judged`.
SETTLED = ("raw", "prediction", "outcome")


class Log:
    """Play tables in their order; a table may hold any number of rows.

    Rows are predicted in their order. An outcome is learned before the next row or, by the clocks
    of `time` and `available`, before the first row that is predicted later than it became known; a
    fleet with `silence` or `hold` learns it at its deadline. What is still to come at the end waits
    in the fleet, and the next log continues from there.

    With `id`, a row without an outcome waits under its id, and one without a score brings the
    outcome of its id; `answers` counts what became of the latter, of ids used twice and, once it is
    finished, of outcomes that became known after silence was learned.

    With `smooth` the estimates for ranking are told, too.
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
        scale: str | None = None,
        id: str | None = None,  # noqa: A002
        smooth: bool = False,
    ) -> None:
        if not fleet._policy.has_deadlines:
            if due is not None:
                raise ValueError("due needs silence or hold: what is learned at the deadline?")
            if id is not None and available is not None:
                raise ValueError(
                    "id cannot be combined with available: outcomes come by id, or by the clock"
                )
        self.fleet, self.key, self.outcome, self.id = fleet, key, outcome, id
        self.smooth = smooth
        self.take = partial(
            take_scored, score=score, kind=fleet.kind, time=time, available=available, due=due,
            positive=positive, scale=scale, id=id, missing=id is not None,
        )  # fmt: skip
        self.answers: Counter[str] = Counter()
        self.time = -np.inf  # of the last row

    def play(self, table: Table) -> Played:
        """Predict the rows of a table, and learn what becomes known in between."""
        rows = self.take(table, outcome=self.outcome)
        self.outcome = rows.outcome_column
        fleet, keys, names = self.fleet, keys_in(table, self.key), self._names(table, rows)
        fleet._check_writable()
        clocks = (rows.clock, rows.available, rows.due)
        made, known, due = (None if clock is None else clock.ticks for clock in clocks)
        is_dated = rows.clock is not None and rows.clock.sort not in (None, "numbers")
        if is_dated and due is None and fleet._policy.has_deadlines:
            fleet._policy.check_unit()
        time = time_after(rows, self.time)
        batch = fleet._batch(keys, rows.scores, made, None, len(rows.outcomes), missing=True)
        books = [shard.book for shard in fleet._shards.values()]
        with fleet._lock:
            is_late = known is not None or any(len(book.arrivals) for book in books)
            is_plain = names is None and not is_late and not fleet._policy.has_deadlines
            if is_plain and not self.smooth:
                predictions: Floats = fleet._run(batch, rows.outcomes).make()
                played = Played(predictions, rows, judged_at_once(rows, predictions, fleet.kind))
            else:
                played = self._play(books, batch, rows, names, (made, known, due))
        self.time = time
        return played

    def _play(
        self,
        books: list[Book],
        batch: Batch,
        rows: Scored,
        names: list[Id | None] | None,
        times: Times,
    ) -> Played:
        """Play rows one by one."""
        try:
            for book in books:
                book.collect()
            told, numbers = self.fleet._play(
                batch, rows.outcomes, names, *times, smooth=self.smooth
            )
            settled = [book.take_settled() for book in books]
        finally:
            for book in books:
                book.stop_collecting()
        answers = ANSWERS[numbers]
        self.answers.update(answers[np.isnan(rows.scores) | (answers == "used")].tolist())
        columns = ([getattr(each, name) for each in settled] for name in SETTLED)
        judged = Judged(*map(np.concatenate, columns))
        return Played(told[0], rows, judged, told[2] if self.smooth else None)

    def _names(self, table: Table, rows: Scored) -> list[Id | None] | None:
        """Return the id of each row; refuse a row that has neither a score nor an outcome."""
        if self.id is None:
            return None
        empty = np.isnan(rows.scores) & np.isnan(rows.outcomes)
        if empty.any():
            cells = table.cells(self.id)
            raise cells.refusal(int(empty.argmax()), "the row has neither a score nor an outcome")
        return list(ids_in(table, self.id))

    def finish(self) -> tuple[int, Judged]:
        """Return how many outcomes become known only after the last row, and rows that still wait.

        The latter have an outcome that counts once their deadline, or their time, has come; the
        fleet has not learned it.
        """
        books = [shard.book for shard in self.fleet._shards.values()]
        for book in books:
            self.answers += book.late
        return sum(len(book.arrivals) for book in books), still_open(books, self.time)


def keys_in(table: Table, column: str) -> Keys:
    """Return the keys of all rows: integers, or text as it stands there."""
    cells = table.cells(column)
    raw: Any = cells.raw
    if hasattr(raw, "null_count") and raw.dtype.is_integer() and not raw.null_count():
        return np.asarray(raw.to_numpy(), dtype=np.int64)
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
