"""``calibrant recalibrate -``: answer each score in a pipe, learn outcomes as they arrive.

A line with a score is answered with its probability before the next line is read: with a bare
number, or with an object that repeats the id if there are ids. An outcome beside a score belongs to
that score; an outcome alone belongs to its id or, without ids, to the last score. An invalid line
is answered with an object that holds the error, and changes nothing. With `--silence` or `--hold`,
outcomes are learned at deadlines: so many scores later, or by the clock of `--time`, which every
line then must have. With `--cost`, `--budget`, `--precision` or `--recall`, an answer also has the
decision.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from calibrant._checks import Id, check_id, describe
from calibrant._kernels.rounds.settled import RoundError
from calibrant.cli import console
from calibrant.cli.decisions import ACT_COLUMN, PROPENSITY_COLUMN
from calibrant.decide.rows import check_row, decide_row
from calibrant.report.before_after import BeforeAfter
from calibrant.tables import InputError
from calibrant.tables.cells import TIME, finite_number, is_empty, is_missing, outcome_in, read_tick
from calibrant.tables.pipes import Line, follow_lines
from calibrant.tables.scored import check_parts

if TYPE_CHECKING:
    from calibrant import Recalibrator
    from calibrant.cli.recalibrate import RecalibrateOptions
    from calibrant.decide import Decider

SOURCE = "standard input"
#: Measure what was learned after every so many lines.
MEASURED_AT_ONCE = 1000


def answer_scores(
    options: RecalibrateOptions,
    recalibrator: Recalibrator,
    decider: Decider | None,
    lines: Iterable[bytes],
) -> None:
    """Answer each line with a score; measure the answers at the end."""
    pipe = ScorePipe(options, recalibrator, decider)
    is_timed = pipe.book.has_deadlines or (decider is not None and decider._is_timed)
    if options.available is not None or (options.time and not is_timed):
        raise ValueError(
            "in a pipe, lines are taken in order of time: --available needs a FILE, --out or "
            "--report, and so does --time without --silence, --hold or a --budget --per a span"
        )
    if pipe.book.has_deadlines and options.id is None:
        raise ValueError("in a pipe, --silence and --hold need --id, since outcomes come later")
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
    if decider is not None and decider.rounds:
        console.note(
            f"acted on {decider.acted:,} of {decider.rounds:,} rows "
            f"({decider.acted / decider.rounds:.3g})"
        )
    for count, what in (
        (pipe.refused, "invalid lines"),
        (
            pipe.recalibrator.pending,
            "predictions before their deadline"
            if options.silence is not None
            else "outcomes that never arrived",
        ),
        (pipe.recalibrator.expired, "predictions expired because too many were pending"),
    ):
        if count:
            console.note(f"{what}: {count:,}")


class ScorePipe:
    """The state of one pipe."""

    def __init__(
        self,
        options: RecalibrateOptions,
        recalibrator: Recalibrator,
        decider: Decider | None = None,
    ) -> None:
        self.options, self.recalibrator, self.decider = options, recalibrator, decider
        self.outcome = "outcome" if options.outcome is None else options.outcome
        check_parts(options.score, self.outcome, options.by)
        self.measures = BeforeAfter(has_raw=options.kind != "margin")
        self.refused = 0
        self.book = recalibrator._book
        self.book.collect(smooth=options.smooth is not None or decider is not None)

    def answer(self, line: Line) -> None:
        """Process a line: answer its score, then learn its outcome."""
        if line.cells is None:
            self.check_names(line)
            return
        if line.is_bare:
            raise ValueError("with --score, lines must be JSON objects, or CSV rows after a header")
        score, outcome = line.cells.get(self.options.score), line.cells.get(self.outcome)
        if is_missing(score) and is_missing(outcome):
            raise ValueError(
                f"has neither a score ({self.options.score!r}) nor an outcome ({self.outcome!r})"
            )
        id_ = name_in(line, self.options.id, "id")
        decimal = line.decimal
        observed = None
        if not is_missing(outcome):
            with in_column(self.outcome):
                observed = outcome_in(outcome, decimal, self.options.positive)
        at, is_dated = time_in(line, self.options.time, "time")
        if not is_missing(score):
            due, _ = time_in(line, self.options.due, "deadline")
            if self.book.has_deadlines and is_dated and due is None:
                self.book.policy.check_unit()
            group = name_in(line, self.options.by, "group")
            with in_column(self.options.score):
                value = finite_number(score, decimal)
            self.predict(value, id_, group, at, due)
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
        """Make a prediction, and write it with its decision."""
        if self.decider is not None:
            check_row(self.decider, at)
        opened = self.recalibrator._open_one(score, id_, group, at, due)
        more: dict[str, float] = {}
        if self.options.smooth is not None:
            more[self.options.smooth] = opened.smooth
        if self.decider is not None:
            acts, propensity = decide_row(self.decider, opened.smooth, id_, at, due)
            more[ACT_COLUMN] = int(acts)
            if self.decider.explore:
                more[PROPENSITY_COLUMN] = propensity
        if id_ is None and not more:
            say(repr(opened.prediction))
            return
        named = {} if self.options.id is None else {self.options.id: id_}
        say(json.dumps({**named, self.options.new_column: opened.prediction, **more}))

    def learn(self, outcome: float, id_: Id | None, at: float | None = None) -> None:
        """Learn an outcome; one given twice counts once, one that is too late not at all."""
        if id_ is None and not self.recalibrator.is_open:
            raise ValueError("has an outcome, but no score before it is pending")
        for learner in (self.recalibrator, self.decider):
            try:
                if learner is not None:
                    learner.update(outcome, id=id_, at=at)
            except RoundError as error:
                if error.answer != "expired":
                    raise

    def measure(self) -> None:
        """Measure the predictions whose outcomes were learned since the last time."""
        settled = self.book.take_settled()
        self.measures.extend(settled.raw, settled.prediction, settled.outcome)

    def refuse(self, number: int, error: InputError, line: Line | None = None) -> None:
        """Answer an invalid line with the error."""
        self.refused += 1
        cells = {} if line is None or line.cells is None else line.cells
        id_ = None if self.options.id is None else cells.get(self.options.id)
        named = {} if is_missing(id_) else {str(self.options.id): id_}
        problem = str(InputError(error.problem, column=error.column))
        say(json.dumps({**named, "line": number, "error": problem}))

    def check_names(self, line: Line) -> None:
        """Check that a header has the columns of the options; find the column of the outcome."""
        header = line.header(SOURCE)
        asked, note = self.options, None
        if asked.outcome is None:
            self.outcome, note = header.guess("outcome")
        else:
            self.outcome = asked.outcome
        for name in (asked.score, self.outcome, asked.id, asked.by, asked.time, asked.due):
            if name is not None:
                header.cells(name)
        check_parts(self.options.score, self.outcome, self.options.by)
        console.note(header.note)
        console.note(note)


@contextmanager
def in_column(column: str) -> Iterator[None]:
    """Add the column to the error of an invalid cell."""
    try:
        yield
    except InputError as error:
        raise error.at(column=column) from None
    except ValueError as error:
        raise InputError(str(error), column=column) from None


def cell_in(line: Line, column: str | None, part: str) -> object | None:
    """Return the cell of a line in a column, which must not be empty; None without a column."""
    if column is None or line.cells is None:
        return None
    cell: object = line.cells.get(column)
    if is_empty(cell):
        raise InputError(f"the {part} is missing", column=column)
    return cell


def name_in(line: Line, column: str | None, part: str) -> Id | None:
    """Return the id or group in a column of a line; None without a column."""
    cell = cell_in(line, column, part)
    return None if cell is None else check_id(cell, f"{part} in column {column!r}")


def time_in(line: Line, column: str | None, part: str) -> tuple[float | None, bool]:
    """Return the time in a column of a line, and whether it is a date; None without a column."""
    cell = cell_in(line, column, part)
    if cell is None:
        return None, False
    try:
        tick, sort = read_tick(cell)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"got {describe(cell)}, must be {TIME}", column=column) from None
    return tick, sort != "numbers"


def say(answer: str) -> None:
    """Write a line and flush it, so that the reader gets it at once."""
    sys.stdout.write(f"{answer}\n")
    sys.stdout.flush()
