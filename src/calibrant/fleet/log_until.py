"""A log played through a fleet with `silence` or `hold`, whose outcomes are learned at deadlines.

Bit for bit what `Fleet.predict` and `Fleet.update` do row by row, and many times as fast. A log
says with each row what is heard of it, and when. Nothing is learned before its deadline, so an
outcome may as well be noted with its prediction, and which deadlines pass between two predictions
is known beforehand: compiled loops play both. What waits for its deadline at the end waits in the
fleet, so that a log may be cut anywhere, and saved there.

Rows are collected until one comes whose answer depends on what they do: an id that may have been
used, or an outcome that is learned or refused at once.
"""

from __future__ import annotations

import math
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


class Collected:
    """Predictions that are to be played: their rows, times, deadlines and outcomes known by then.

    `now` is the time of the last row, `room` how many predictions may be added before any expires.
    """

    def __init__(self, now: float, room: int) -> None:
        self.now, self.room = now, room
        self.rows: list[int] = []
        self.made: list[float] = []
        self.due: list[float] = []
        self.heard: list[float] = []
        self.places: dict[Id, int] = {}

    def add(self, row: int, name: Id | None, made: float, due: float, heard: float) -> None:
        """Add a row that is predicted."""
        if name is not None:
            self.places[name] = len(self.rows)
        self.now = made
        self.rows.append(row)
        self.made.append(made)
        self.due.append(due)
        self.heard.append(heard)


class PartLog:
    """The rows of a log that belong to one part."""

    def __init__(self, part: Part, rows: Rows, logged: Logged) -> None:
        assert part.deadlines is not None
        self.part, self.deadlines, self.rows = part, part.deadlines, rows
        self.is_prediction = (~np.isnan(rows.scores)).tolist()
        self.names, self.outcomes, *times = logged
        self.made, self.known, self.due = (None if t is None else t.tolist() for t in times)
        size = len(self.names)
        self.played = Played(np.full(size, np.nan), np.full(size, "predicted", dtype="<U9"), {})

    def check(self) -> None:
        """Say what is missing, of times and deadlines: one row shows it, the others are alike."""
        if self.made is not None and self.deadlines.clock.is_timed is False:
            raise ValueError("outcomes say when they come if predictions do, at=...")
        if any(self.is_prediction):
            self.until(self.is_prediction.index(True), self.part.kernel.rounds, -math.inf)

    def play(self) -> Played:
        """Play all rows in their order."""
        used = self.part.waiting.known
        self.begin()
        for row, name in enumerate(self.names):
            if not self.is_prediction[row]:
                if not self.noted(row):
                    self.flush()
                    self.hear(row)
                continue
            if name is not None and (name in used or name in self.collected.places):
                self.flush()
                if name in used:
                    self.played.answers[row] = "used"
                    continue
            rounds = self.part.kernel.rounds + len(self.collected.rows)
            self.collected.add(row, name, *self.until(row, rounds, self.collected.now))
        self.flush()
        return self.played

    def begin(self) -> None:
        """Begin to collect."""
        waiting = self.part.waiting
        self.collected = Collected(self.deadlines.clock.now, waiting.capacity - len(waiting))

    # -- predictions ----------------------------------------------------------------------------

    def until(self, row: int, rounds: int, now: float) -> tuple[float, float, float]:
        """Return when a row is predicted, when it is learned, and what is known by then.

        If an outcome comes after its deadline, silence has spoken before; one that is held is
        learned when it comes.
        """
        at, due, known = (
            None if times is None else times[row] for times in (self.made, self.due, self.known)
        )
        made, end = self.deadlines.clock.times(rounds, at, due, now)
        heard = float(self.outcomes[row])
        if known is None or math.isnan(heard):
            return made, end, heard
        if math.isnan(known):
            return made, end, math.nan
        if self.deadlines.silence is None:
            return made, max(end, known), heard
        return made, end, math.nan if known > end else heard

    def flush(self) -> None:
        """Play what was collected, and learn in between what has reached its deadline."""
        collected, deadlines = self.collected, self.deadlines
        if not collected.rows:
            if self.made is not None:
                self._learned(settle(self.part, collected.now, before=True))
            self.begin()
            return
        deadlines.clock.is_timed = is_timed = self.made is not None
        made, due, heard = (
            np.array(each) for each in (collected.made, collected.due, collected.heard)
        )
        names = [self.names[row] for row in collected.rows]
        # What is due at the time of a row is not before it; without times, it is.
        now = collected.now if is_timed else made[-1] + 1.0
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
        self._play(np.array(collected.rows), names, place, events)
        left = np.flatnonzero(waits & ~is_over)
        self._open(named(names, left), made[left], due[left], heard[left])
        self.begin()

    def _play(
        self,
        rows: npt.NDArray[np.int64],
        names: list[Id | None],
        place: npt.NDArray[np.intp],
        events: Due,
    ) -> None:
        """Play predictions, and before those at certain places what is learned there."""
        order = np.insert(np.arange(len(rows)), place, -1)
        is_event = order < 0
        both = self.rows.take(rows[order])
        both.scores[is_event] = np.nan
        outcomes = np.full(len(order), np.nan)
        outcomes[is_event] = events.outcomes
        all_names = np.empty(len(order), dtype=object)
        all_names[~is_event], all_names[is_event] = names, events.names
        said, answers = self.part.play(both, outcomes, all_names.tolist())
        self.played.said[rows] = said[~is_event]
        applied = np.flatnonzero(answers[is_event] == APPLIED)  # the others have expired
        self._learned(taken_due(events, applied))

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

    def _learned(self, due: Due) -> None:
        """Say what was learned."""
        self.played.learned.update(zip(due.names, due.outcomes.tolist(), strict=True))

    # -- outcomes by name -----------------------------------------------------------------------

    def noted(self, row: int) -> bool:
        """Note an outcome for a deadline that is surely to come; return whether it is."""
        collected, name, y = self.collected, self.names[row], float(self.outcomes[row])
        assert name is not None
        if len(collected.rows) > collected.room:
            return False
        now = collected.now if self.made is None else max(collected.now, self.made[row])
        place = collected.places.get(name)
        prediction = None if place is not None else self.part.waiting.prediction_of(name)
        entry = None if prediction is None else self.deadlines.clock.entries.get(prediction.number)
        if place is not None:
            due, known = collected.due[place], collected.heard[place]
        elif entry is not None:
            due, known = entry.due, entry.outcome
        else:
            return False
        rounds = self.part.kernel.rounds + len(collected.rows)
        if due < now if self.made is not None else due <= rounds:
            return False
        collected.now = now
        if not math.isnan(known):
            self.played.answers[row] = "repeated" if known == y else "conflict"
            return True
        if place is not None:
            collected.heard[place] = y
        else:
            assert prediction is not None
            self.deadlines.note(prediction, y)
        self.played.answers[row] = "applied"
        return True

    def hear(self, row: int) -> None:
        """Take in an outcome now: learn it, if its deadline is over, or refuse it."""
        part, name = self.part, self.names[row]
        assert name is not None
        if self.made is not None:
            self._learned(settle(part, self.made[row], before=True))
        (answer,) = note(part, [name], self.outcomes[row : row + 1])
        self.played.answers[row] = answer
        outcome = part.waiting.known.get(name)
        if answer == "applied" and isinstance(outcome, float):
            self.played.learned[name] = outcome
        self.begin()


def named(names: list[Id | None], rows: npt.NDArray[np.intp]) -> list[Id]:
    """Return the names of some rows, all of which have one."""
    return [name for row in rows if (name := names[row]) is not None]


def taken_due(due: Due, rows: npt.NDArray[np.intp]) -> Due:
    """Return some of what is due."""
    return Due([due.names[row] for row in rows], due.outcomes[rows], due.deadlines[rows])


def joined(due: Due, names: list[Id], outcomes: Floats, deadlines: Floats) -> Due:
    """Return what is due with more that was predicted later, in the order of deadlines."""
    names, outcomes = due.names + names, np.concatenate([due.outcomes, outcomes])
    deadlines = np.concatenate([due.deadlines, deadlines])
    return taken_due(Due(names, outcomes, deadlines), np.argsort(deadlines, kind="stable"))
