"""``calibrant recalibrate -``: answer each score in a pipe, learn outcomes as they come.

A line with a score is answered with its probability before the next line is read: with a bare
number, or with an object that repeats the id where there are ids. The outcome on a line is that of
the score beside it; alone, that of its id or, without ids, of the last score. A line that cannot be
used is answered with an object that says why, and changes nothing. With `--silence` or `--hold`
outcomes are learned at deadlines: so many scores later, or by the clock of `--time`, which every
line then shows.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING

from calibrant._checks import Id, check_id, describe
from calibrant._kernels.rounds.settled import RoundError
from calibrant.cli import console
from calibrant.report.before_after import BeforeAfter
from calibrant.tables import InputError
from calibrant.tables.cells import TIME, finite_number, is_empty, is_missing, outcome_in, read_tick
from calibrant.tables.pipes import Line, follow_lines
from calibrant.tables.scored import check_parts

if TYPE_CHECKING:
    from calibrant import Recalibrator
    from calibrant.cli.recalibrate import RecalibrateOptions

SOURCE = "standard input"
#: Lines after which what was learned meanwhile is measured.
MEASURED_AT_ONCE = 1000


def answer_scores(
    options: RecalibrateOptions, recalibrator: Recalibrator, lines: Iterable[bytes]
) -> None:
    """Answer each line with a score; measure the answers at the end."""
    pipe = ScorePipe(options, recalibrator)
    if options.available is not None or (options.time and not pipe.book.has_deadlines):
        raise ValueError(
            "in a pipe the order of lines is the order of time: --available needs a FILE, --out or "
            "--report, and so does --time without --silence or --hold"
        )
    if pipe.book.has_deadlines and options.id is None:
        raise ValueError("--silence and --hold need --id in a pipe: outcomes come later")
    skip = None if options.strict else pipe.refuse
    for line in follow_lines(lines, SOURCE, options.delimiter, skip):
        try:
            pipe.answer(line)
        except ValueError as error:
            problem = error if isinstance(error, InputError) else InputError(str(error))
            if options.strict or line.cells is None:
                raise problem.at(source=SOURCE, row=line.number) from None
            pipe.refuse(line.number, problem, line)
        if line.number % MEASURED_AT_ONCE == 0:
            pipe.measure()
    pipe.measure()
    if pipe.measures.rounds:
        console.err.print(console.scorecards(pipe.measures.columns))
    for count, what in (
        (pipe.refused, "lines that could not be used"),
        (
            pipe.recalibrator.pending,
            "predictions whose deadline is still to come"
            if options.silence is not None
            else "outcomes that never arrived",
        ),
        (pipe.recalibrator.expired, "predictions expired because too many were pending"),
    ):
        if count:
            console.note(f"{what}: {count:,}")


class ScorePipe:
    """The state of one pipe."""

    def __init__(self, options: RecalibrateOptions, recalibrator: Recalibrator) -> None:
        self.options, self.recalibrator = options, recalibrator
        self.outcome = "outcome" if options.outcome is None else options.outcome
        check_parts(options.score, self.outcome, options.by)
        self.measures = BeforeAfter(has_raw=options.kind != "margin")
        self.refused = 0
        self.book = recalibrator._book
        self.book.collect(smooth=options.smooth is not None)

    def answer(self, line: Line) -> None:
        """Take a line: answer its score, then learn its outcome."""
        if line.cells is None:
            self.check_names(line)
            return
        if line.is_bare:
            raise ValueError("with --score lines are JSON objects, or CSV rows below their names")
        score, outcome = line.cells.get(self.options.score), line.cells.get(self.outcome)
        if is_missing(score) and is_missing(outcome):
            raise ValueError(
                f"holds neither a score ({self.options.score!r}) nor an outcome ({self.outcome!r})"
            )
        id_ = name_in(line, self.options.id, "id")
        decimal = line.decimal
        observed = (
            None if is_missing(outcome) else outcome_in(outcome, decimal, self.options.positive)
        )
        at, is_dated = time_in(line, self.options.time, "time")
        if not is_missing(score):
            due, _ = time_in(line, self.options.due, "deadline")
            if self.book.has_deadlines and is_dated and due is None:
                self.book.policy.check_unit()
            group = name_in(line, self.options.by, "group")
            self.predict(finite_number(score, decimal), id_, group, at, due)
        if observed is not None:
            self.learn(observed, id_, at)

    def predict(
        self,
        score: float,
        id_: Id | None,
        group: Id | None,
        at: float | None = None,
        due: float | None = None,
    ) -> None:
        """Make a prediction, which waits for its outcome, and say it."""
        opened = self.recalibrator._open_one(score, id_, group, at, due)
        if id_ is None and self.options.smooth is None:
            say(repr(opened.prediction))
            return
        named = {} if self.options.id is None else {self.options.id: id_}
        finer = {} if self.options.smooth is None else {self.options.smooth: opened.smooth}
        say(json.dumps({**named, self.options.column: opened.prediction, **finer}))

    def learn(self, outcome: float, id_: Id | None, at: float | None = None) -> None:
        """Learn an outcome; what comes twice counts once, what comes too late not at all."""
        if id_ is None and not self.recalibrator.is_open:
            raise ValueError("holds an outcome, but no score before it waits for one")
        try:
            self.recalibrator.update(outcome, id=id_, at=at)
        except RoundError as error:
            if error.answer != "expired":
                raise

    def measure(self) -> None:
        """Measure the predictions whose outcomes were learned since the last time."""
        settled = self.book.take_settled()
        self.measures.extend(settled.raw, settled.prediction, settled.outcome)

    def refuse(self, number: int, error: InputError, line: Line | None = None) -> None:
        """Answer a line that cannot be used with what is wrong with it."""
        self.refused += 1
        cells = {} if line is None or line.cells is None else line.cells
        id_ = None if self.options.id is None else cells.get(self.options.id)
        named = {} if is_missing(id_) else {str(self.options.id): id_}
        problem = str(InputError(error.problem, column=error.column))
        say(json.dumps({**named, "line": number, "error": problem}))

    def check_names(self, line: Line) -> None:
        """Check that a line of names has the columns asked for; find that of the outcome."""
        header = line.header(SOURCE)
        parts = {
            "score": self.options.score, "id": self.options.id, "group": self.options.by,
            "time": self.options.time, "due": self.options.due,
        }  # fmt: skip
        for part, name in parts.items():
            if name is not None:
                header.find(part, name)
        self.outcome, note = header.find("outcome", self.options.outcome)
        check_parts(self.options.score, self.outcome, self.options.by)
        console.note(header.note)
        console.note(note)


def cell_in(line: Line, column: str | None, part: str) -> object | None:
    """Return what a line has in a column, and it must have something; None without a column."""
    if column is None or line.cells is None:
        return None
    cell: object = line.cells.get(column)
    if is_empty(cell):
        raise InputError(f"the {part} is missing", column=column)
    return cell


def name_in(line: Line, column: str | None, part: str) -> Id | None:
    """Return what a line names in a column; None where there is no such column."""
    cell = cell_in(line, column, part)
    return None if cell is None else check_id(cell, f"{part} in column {column!r}")


def time_in(line: Line, column: str | None, part: str) -> tuple[float | None, bool]:
    """Return what a line says of a time, and whether as a date; None without such a column."""
    cell = cell_in(line, column, part)
    if cell is None:
        return None, False
    try:
        tick, sort = read_tick(cell)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"got {describe(cell)}, must be {TIME}", column=column) from None
    return tick, sort != "numbers"


def say(answer: str) -> None:
    """Write a line that whoever feeds the pipe can read at once."""
    sys.stdout.write(f"{answer}\n")
    sys.stdout.flush()
