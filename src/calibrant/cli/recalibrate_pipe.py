"""``calibrant run - --score``: answer each score in a pipe, learn outcomes as they come.

A line with a score is answered with its probability before the next line is read. The outcome on a
line is that of the score beside it; alone, that of its id or, without ids, of the last score.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable

import numpy as np

from calibrant import Recalibrator
from calibrant._checks import Id, check_id
from calibrant.cli import console
from calibrant.cli.arguments import Job
from calibrant.cli.forecast import WINDOW
from calibrant.measures import Scorecard
from calibrant.report.recalibration_page import as_probabilities
from calibrant.tables import InputError
from calibrant.tables.notation import finite_number, is_empty, is_missing, outcome_in
from calibrant.tables.pipes import Line, follow_lines
from calibrant.tables.scored import check_parts
from calibrant.tables.table import find_column

SOURCE = "standard input"


def answer_scores(job: Job, lines: Iterable[bytes]) -> None:
    """Answer each line with a score; measure the answers at the end."""
    if job.time is not None:
        raise ValueError(
            "in a pipe the order of lines is the order of time: "
            "--time and --available need a FILE, --out or --report"
        )
    pipe = ScorePipe(job)
    for line in follow_lines(lines, SOURCE, job.delimiter):
        try:
            answer = pipe.take(line)
            if answer is not None:
                sys.stdout.write(f"{answer!r}\n")
                sys.stdout.flush()
            pipe.learn()
        except InputError as error:
            raise error.at(source=SOURCE, row=line.number) from None
        except ValueError as error:
            raise InputError(str(error), source=SOURCE, row=line.number) from None
    cards = {name: card for name, card in pipe.cards.items() if card.rounds}
    if cards:
        console.err.print(console.scorecards(cards))
    if pipe.recalibrator.pending:
        console.note(f"outcomes that never arrived: {pipe.recalibrator.pending:,}")
    if pipe.expired:
        console.note(f"predictions given up because too many waited: {pipe.expired:,}")


class ScorePipe:
    """The state of one pipe."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.recalibrator = Recalibrator(job.kind, seed=job.seed)
        self.outcome = "outcome" if job.outcome is None else job.outcome
        check_parts(job.score, self.outcome, job.by)
        names = ("calibrated",) if job.kind == "margin" else ("raw", "calibrated")
        self.cards = {name: Scorecard(window=WINDOW) for name in names}
        self.said: dict[Id | None, tuple[float, ...]] = {}  # predictions without an outcome yet
        self.given_up: dict[Id | None, None] = {}  # the last ids that waited too long, in order
        self.expired = 0  # how many ids waited too long
        self.arrived: tuple[Id | None, float] | None = None  # the outcome to learn next

    def take(self, line: Line) -> float | None:
        """Read a line; return the probability if it has a score."""
        if line.cells is None:
            self.check_names(line)
            return None
        if line.is_bare:
            raise ValueError("with --score lines are JSON objects, or CSV rows below their names")
        score, outcome = line.cells.get(self.job.score), line.cells.get(self.outcome)
        if is_missing(score) and is_missing(outcome):
            raise ValueError(
                f"holds neither a score ({self.job.score!r}) nor an outcome ({self.outcome!r})"
            )
        id_ = name_in(line, self.job.id, "id")
        self.arrived = None
        if not is_missing(outcome):
            self.arrived = id_, outcome_in(outcome, line.decimal, self.job.positive)
        if is_missing(score):
            return None
        return self.predict(
            finite_number(score, line.decimal), id_, name_in(line, self.job.by, "group")
        )

    def predict(self, score: float, id_: Id | None, group: Id | None) -> float:
        """Make a prediction and remember it until its outcome comes."""
        recalibrator = self.recalibrator
        if id_ is not None and recalibrator.pending >= recalibrator.capacity:
            for old in recalibrator.expire(older_than=recalibrator.capacity - 1):
                del self.said[old]
                self.given_up[old] = None
                self.expired += 1
            while len(self.given_up) > recalibrator.capacity:
                del self.given_up[next(iter(self.given_up))]
        prediction = recalibrator.predict(score, id_, group)
        self.given_up.pop(id_, None)  # its name may be used again
        raw = as_probabilities(np.array([score]), self.job.kind)
        self.said[id_] = (prediction,) if raw is None else (float(raw[0]), prediction)
        return prediction

    def learn(self) -> None:
        """Learn the outcome on the last line, if there was one."""
        if self.arrived is None:
            return
        (id_, outcome), self.arrived = self.arrived, None
        if id_ is None and None not in self.said:
            raise ValueError("holds an outcome, but no score before it waits for one")
        if id_ in self.given_up:
            return  # too late to be learned, but no error
        self.recalibrator.update(outcome, id_)
        if id_ in self.said:  # a repeated outcome was counted the first time
            for card, said in zip(self.cards.values(), self.said.pop(id_), strict=True):
                card.add(said, outcome)

    def check_names(self, line: Line) -> None:
        """Check that a line of names has the columns asked for; find that of the outcome."""
        names, split = line.names, line.delimiter
        parts = {"score": self.job.score, "id": self.job.id, "group": self.job.by}
        for part, name in parts.items():
            if name is not None:
                find_column(names, part, name, SOURCE, split)
        self.outcome, note = find_column(names, "outcome", self.job.outcome, SOURCE, split)
        check_parts(self.job.score, self.outcome, self.job.by)
        console.note(line.note(SOURCE))
        console.note(note)


def name_in(line: Line, column: str | None, part: str) -> Id | None:
    """Return what a line names in a column; None where there is no such column."""
    if column is None or line.cells is None:
        return None
    cell = line.cells.get(column)
    if is_empty(cell):
        raise InputError(f"the {part} is missing", column=column)
    return check_id(cell, f"{part} in column {column!r}")
