"""A log played through a fleet with `silence` or `hold`, whose outcomes are learned at deadlines.

Bit for bit what `Fleet.predict` and `Fleet.update` do row by row, and many times as fast. A log
says with each row what is heard of it, and when. Nothing is learned before its deadline, so an
outcome may as well be noted with its prediction, and which deadlines pass between two predictions
is known beforehand: compiled loops play both. What waits for its deadline at the end waits in the
fleet, so that a log may be cut anywhere, and saved there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from calibrant._checks import Floats, Id
from calibrant._kernels.fleet import ANSWERS
from calibrant.fleet.deadlines import Due
from calibrant.fleet.part import Part, Rows
from calibrant.fleet.rows import taken
from calibrant.fleet.settling import note, settle

if TYPE_CHECKING:
    from calibrant.fleet.fleet import Fleet, Keys

APPLIED = ANSWERS.index("applied")


class Logged(NamedTuple):
    """What a log says of its rows, besides keys and scores.

    A row with a score (not NaN) is predicted. It waits for its deadline under its name; without a
    name it is predicted and forgotten. A row without a score brings the outcome of its name. Times
    are by one clock, None where nothing is said of them.
    """

    names: list[Id | None]
    outcomes: Floats  # NaN for none
    made: Floats | None  # when rows are predicted, or outcomes by name come
    known: Floats | None  # when the outcomes of rows with a score come, NaN for never
    due: Floats | None  # deadlines of rows with a score

    def take(self, at: npt.NDArray[np.int64] | slice) -> Logged:
        """Return some of the rows."""
        times = (None if each is None else each[at] for each in self[2:])
        return Logged(taken(self.names, at) or [], self.outcomes[at], *times)


class Played(NamedTuple):
    """What was said of each row, the answers as of `Fleet.play`, and what was learned, by name."""

    said: Floats
    answers: npt.NDArray[np.str_]
    learned: dict[Id, float]


def play_until(fleet: Fleet, keys: Keys, scores: Floats, logged: Logged) -> Played:
    """Play a log through a fleet with deadlines; what is refused is refused before anything."""
    fleet._check_open()
    batch = fleet._batch(keys, scores, logged.made, None, len(logged.outcomes), missing=True)
    played = Played(np.empty(len(batch)), np.empty(len(batch), dtype="<U9"), {})
    with fleet._lock:
        fleet._let_monitors_see()
        dealt = [
            (each.at, PartLog(fleet._parts[each.part], each.rows, logged.take(each.at)))
            for each in batch.dealt()
        ]
        for _, log in dealt:
            log.check()
        for at, log in dealt:
            played.said[at], played.answers[at], learned = log.play()
            played.learned.update(learned)
    return played


class PartLog:
    """The rows of a log that belong to one part."""

    def __init__(self, part: Part, rows: Rows, logged: Logged) -> None:
        assert part.deadlines is not None
        self.part, self.deadlines, self.rows, self.logged = part, part.deadlines, rows, logged
        self.is_prediction = ~np.isnan(rows.scores)
        size = len(rows.scores)
        self.played = Played(np.full(size, np.nan), np.full(size, "predicted", dtype="<U9"), {})

    def check(self) -> None:
        """Say what is missing, of times and deadlines: one row shows it, the others are alike."""
        is_timed = self.logged.made is not None
        if is_timed and self.deadlines.clock.is_timed is False:
            raise ValueError("outcomes say when they come if predictions do, at=...")
        self.times(np.flatnonzero(self.is_prediction)[:1])

    def play(self) -> Played:
        """Play all rows in their order."""
        row = 0
        while row < len(self.is_prediction):
            end = self.end_of_predictions(row)
            if end > row:
                self.predict(slice(row, end))
                row = end
                continue
            if self.is_prediction[row]:
                self.played.answers[row] = "used"
            else:
                self.hear(row)
            row += 1
        return self.played

    def end_of_predictions(self, start: int) -> int:
        """Return where predictions with new ids end that begin at a row."""
        used, new = self.part.waiting.known, set()
        for row in range(start, len(self.is_prediction)):
            name = self.logged.names[row]
            if not self.is_prediction[row] or (name is not None and (name in used or name in new)):
                return row
            new.add(name)
        return len(self.is_prediction)

    # -- predictions ----------------------------------------------------------------------------

    def predict(self, rows: slice) -> None:
        """Predict rows with new ids, and learn in between what has reached its deadline."""
        deadlines, names = self.deadlines, self.logged.names[rows]
        made, due, heard = self.times(rows)
        deadlines.clock.is_timed = is_timed = self.logged.made is not None
        # What is due at the time of a prediction is not before it; without times, it is.
        now = made[-1] if is_timed else made[-1] + 1.0
        waits = np.array([name is not None for name in names])
        is_over = waits & ((due < now) if is_timed else (due <= now))
        own = np.flatnonzero(is_over & ~np.isnan(deadlines.settled(heard)))
        events = joined(
            deadlines.over(now, before=is_timed),
            named(names, own),
            deadlines.settled(heard)[own],
            due[own],
        )
        if is_timed:
            place = np.searchsorted(made, events.deadlines, side="right")
        else:
            place = np.searchsorted(made + 1.0, events.deadlines, side="left") + 1
        self._play(rows, place, events)
        left = np.flatnonzero(waits & ~is_over)
        self._open(named(names, left), made[left], due[left], heard[left])

    def times(self, rows: npt.NDArray[np.intp] | slice) -> tuple[Floats, Floats, Floats]:
        """Return when rows are predicted, when they are learned, and what is known by then.

        If an outcome comes after its deadline, silence has spoken before; one that is held is
        learned when it comes.
        """
        made, due = (
            None if each is None else each[rows].tolist()
            for each in (self.logged.made, self.logged.due)
        )
        heard = self.logged.outcomes[rows].copy()
        times = self.deadlines.times(self.part.kernel.rounds, made, due, len(heard))
        at, until = np.array(times, dtype=np.float64).reshape(-1, 2).T
        if self.logged.known is not None:
            known = self.logged.known[rows]
            heard[np.isnan(known)] = np.nan
            if self.deadlines.silence is None:
                until = np.fmax(until, np.where(np.isnan(heard), np.nan, known))
            else:
                heard[known > until] = np.nan
        return at, until, heard

    def _play(self, rows: slice, place: npt.NDArray[np.intp], events: Due) -> None:
        """Play predictions, and before those at certain places what is learned there."""
        size = len(self.logged.names[rows])
        order = np.insert(np.arange(size), place, -1)
        is_event = order < 0
        both = self.rows.take(rows.start + np.maximum(order, 0))
        both.scores[is_event] = np.nan
        outcomes = np.full(len(order), np.nan)
        outcomes[is_event] = events.outcomes
        names = np.empty(len(order), dtype=object)
        names[~is_event], names[is_event] = self.logged.names[rows], events.names
        said, answers = self.part.play(both, outcomes, names.tolist())
        self.played.said[rows] = said[~is_event]
        for event in np.flatnonzero(answers[is_event] == APPLIED):  # the others have expired
            self.played.learned[events.names[event]] = float(events.outcomes[event])

    def _open(self, names: list[Id], made: Floats, due: Floats, heard: Floats) -> None:
        """Let predictions wait for their deadlines."""
        waiting = self.part.waiting
        for name, at, end, outcome in zip(
            names, made.tolist(), due.tolist(), heard.tolist(), strict=True
        ):
            prediction = waiting.prediction_of(name)
            if prediction is not None:  # else too many came, and it expired
                self.deadlines.open([prediction], [name], [(at, end)], waiting)
                self.deadlines.note(prediction, outcome)

    # -- outcomes by name -----------------------------------------------------------------------

    def hear(self, row: int) -> None:
        """Note an outcome that came by its name for its deadline, or learn it if that is over."""
        part, name, learned = self.part, self.logged.names[row], self.played.learned
        assert name is not None
        if self.logged.made is not None:
            due = settle(part, float(self.logged.made[row]), before=True)
            learned.update(zip(due.names, due.outcomes.tolist(), strict=True))
        (answer,) = note(part, [name], self.logged.outcomes[row : row + 1])
        self.played.answers[row] = answer
        outcome = part.waiting.known.get(name)
        if answer == "applied" and isinstance(outcome, float):
            learned[name] = outcome


def named(names: list[Id | None], rows: npt.NDArray[np.intp]) -> list[Id]:
    """Return the names of some rows, all of which have one."""
    return [name for row in rows if (name := names[row]) is not None]


def joined(due: Due, names: list[Id], outcomes: Floats, deadlines: Floats) -> Due:
    """Return what is due with more that was predicted later, in the order of deadlines."""
    names, outcomes = due.names + names, np.concatenate([due.outcomes, outcomes])
    deadlines = np.concatenate([due.deadlines, deadlines])
    order = np.argsort(deadlines, kind="stable")
    return Due([names[each] for each in order], outcomes[order], deadlines[order])
