"""When the outcomes of predictions are learned: at deadlines, with or without news.

With `silence`, an outcome is known at the latest at its prediction's deadline: no news until then
means the silent outcome. With `hold`, every outcome is learned at the same age, so that what is
known is a fair picture of what happened at that age.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant._checks import Floats, Id, check_integer
from calibrant._kernels.pending import Awaited, PendingKernel
from calibrant._kernels.pending_saving import (
    AWAITED,
    load_awaited,
    load_pending,
    save_awaited,
    save_pending,
)
from calibrant._kernels.score_rounds import Round
from calibrant._kernels.saved import floats
from calibrant._kernels.waiting import Waiting
from calibrant._spans import Span, as_span
from calibrant._times import DATES, Time, time_of
from calibrant.forecasters.answers import in_words
from calibrant.forecasters.saved_ids import ids_of
from calibrant.recalibrate.waiting import Pending

#: How the names of the saved parts begin: of the deadlines, and of what is pending.
DEADLINE, PENDING = "deadline_", "pending_"


@dataclass(slots=True)
class Entry:
    """A prediction with a deadline, and what is known of its outcome so far: NaN for nothing.

    `name` is its id, None for one that nobody will ask for.
    """

    prediction: Round | Pending
    name: Id | None
    due: float
    outcome: float = math.nan
    awaited: Awaited | None = None


class Deadlines:
    """The predictions of one recalibrator that wait for their deadlines, by number.

    `now` is the latest time heard of: the number of predictions made, or what predictions and
    outcomes say. Time does not run backwards: an earlier time counts as `now`.
    """

    __slots__ = ("entries", "is_timed", "now", "pending", "queue", "span", "word")

    def __init__(self, silence: int | None, span: Span | None) -> None:
        self.pending = None if silence is None else PendingKernel(silence)
        self.word = "hold" if silence is None else "after"
        self.span = span
        self.now = -math.inf
        self.is_timed: bool | None = None
        self.entries: dict[int, Entry] = {}
        self.queue: list[tuple[float, int]] = []

    # -- the clock ------------------------------------------------------------------------------

    def times(
        self, rounds: int, at: Time | None, due: Time | None, now: float
    ) -> tuple[float, float]:
        """Return when the next prediction is made and its deadline, or say what is missing.

        It is not made before `now`.
        """
        span = self.span
        if self.is_timed is not None and self.is_timed != (at is not None):
            raise ValueError("predictions say when they are made, at=..., all of them or none")
        if at is None:
            if due is not None or (span is not None and span.is_time):
                raise ValueError(
                    "a deadline in time needs the time of the prediction, at=... (--time)"
                )
            made = float(rounds)
        else:
            made = time_of(at)
        if due is not None:
            wait = time_of(due, "due") - made
            if wait <= 0.0:
                raise ValueError(f"due must be later than at={at!r}, got {due!r}")
        elif span is None:
            raise ValueError(
                "a prediction needs a deadline: due=..., or after=... for all (--due, --after)"
            )
        else:
            if isinstance(at, DATES):
                self.check_unit()
            wait = span.length
        made = max(made, now)
        return made, made + wait

    def times_of_many(
        self, rounds: int, at: Sequence[Time | None], due: Sequence[Time | None]
    ) -> list[tuple[float, float]]:
        """Return the times of the next predictions, none of which is made before the last."""
        times, now = [], self.now
        for row, each in enumerate(zip(at, due, strict=True)):
            times.append(self.times(rounds + row, *each, now))
            now = times[-1][0]
        return times

    def check_unit(self) -> None:
        """Refuse a span without a unit, for predictions made at dates."""
        if self.span is not None and not self.span.is_time:
            raise ValueError(
                f'{self.word}={self.span} has no unit; beside dates, say "{self.span}d" or so'
            )

    def advance(self, now: float, *, before: bool) -> list[Entry]:
        """Move the clock; return what is over: deadlines up to `now`, or only those `before` it."""
        self.now = max(self.now, now)
        over = []
        while self.queue and (self.queue[0][0] < now or (self.queue[0][0] == now and not before)):
            entry = self.entries.pop(heappop(self.queue)[1], None)
            if entry is not None:  # it did not expire
                over.append(entry)
        return over

    # -- a prediction ---------------------------------------------------------------------------

    def open(
        self, prediction: Round | Pending, name: Id | None, mean: float, at: float, due: float
    ) -> None:
        """Wait for the deadline of a prediction made at time `at`.

        `mean` is what the mixture of the whole says without what is pending.
        """
        entry = Entry(prediction, name, due)
        whole = prediction.rounds[0] if isinstance(prediction, Pending) else prediction
        if self.pending is not None:
            entry.awaited = self.pending.open(whole.probability, mean, at, due)
        self.entries[whole.number] = entry
        heappush(self.queue, (due, whole.number))
        self.now = at

    def note(self, entry: Entry, outcome: float) -> None:
        """Note the outcome of a prediction, which had none, until its deadline."""
        entry.outcome = outcome
        if self.pending is not None and entry.awaited and outcome == 1 - self.pending.silence:
            self.pending.come(entry.awaited, self.now)

    def note_many(
        self, names: list[Id], outcomes: Floats, waiting: Waiting[Any]
    ) -> tuple[npt.NDArray[np.str_], npt.NDArray[np.intp], list[Any]]:
        """Note outcomes that came together, by id; return what becomes of each.

        Also the rows whose deadlines are over, to be learned now, and their predictions.
        """
        numbers, applied, predictions = waiting.judge(names, outcomes)
        answers, over = in_words(numbers), []
        waits = [waiting.prediction_of(name) for name in names]
        entries = [None if each is None else self.entries.get(each.number) for each in waits]
        for row, entry in enumerate(entries):
            if entry is not None and not math.isnan(entry.outcome):  # it had one before
                answers[row] = "repeated" if entry.outcome == outcomes[row] else "conflict"
        for place, row in enumerate(applied.tolist()):
            entry = entries[row]
            if entry is None:
                over.append(place)
            elif math.isnan(entry.outcome):
                self.note(entry, float(outcomes[row]))
        return answers, applied[over], [predictions[place] for place in over]

    def settle(self, entry: Entry) -> float:
        """Return the outcome that is learned at a deadline, NaN if there is none."""
        if self.pending is not None:
            if entry.awaited is not None:
                self.pending.mature(entry.awaited)
            if math.isnan(entry.outcome):
                return float(self.pending.silence)
        return entry.outcome

    def drop(self, prediction: Round | Pending) -> None:
        """Forget a prediction that expired."""
        entry = self.entries.pop(prediction.number, None)
        if self.pending is not None and entry is not None and entry.awaited is not None:
            self.pending.drop(entry.awaited)

    def give_up(self) -> None:
        """Forget the predictions that have no name."""
        for entry in list(self.entries.values()):
            if entry.name is None:
                self.drop(entry.prediction)
        self.queue = [(entry.due, number) for number, entry in self.entries.items()]
        heapify(self.queue)

    # -- saving ---------------------------------------------------------------------------------

    def get_state(self) -> dict[str, Any]:
        """Return everything as arrays by name, predictions with a name first to last."""
        entries = [entry for _, entry in sorted(self.entries.items()) if entry.name is not None]
        places, cells = save_awaited([entry.awaited for entry in entries if entry.awaited])
        state: dict[str, Any] = {
            "deadline_ids": [entry.name for entry in entries],
            "deadline_dues": np.array([entry.due for entry in entries], dtype=np.float64),
            "deadline_outcomes": np.array([entry.outcome for entry in entries], dtype=np.float64),
            "deadline_awaited": places,
            "deadline_cells": cells,
            "deadline_now": self.now,
            "deadline_timed": -1 if self.is_timed is None else int(self.is_timed),
        }
        if self.pending is not None:
            state |= {PENDING + name: part for name, part in save_pending(self.pending).items()}
        return state

    def set_state(
        self, state: Mapping[str, Any], waiting: Mapping[Id, Round | Pending], highest: float = 1.0
    ) -> None:
        """Give fresh deadlines what `get_state` returned, or raise ValueError.

        `waiting` holds the predictions by id, and no outcome is above the highest.
        """
        names = ids_of(state, "deadline_ids")
        dues = floats(state, "deadline_dues", size=len(names))
        outcomes, now = state["deadline_outcomes"], state["deadline_now"]
        if not isinstance(outcomes, np.ndarray) or outcomes.shape != dues.shape:
            raise ValueError("saved deadline_outcomes must be as many as deadline_ids")
        if not (np.isnan(outcomes) | ((outcomes >= 0.0) & (outcomes <= highest))).all():
            raise ValueError(f"saved deadline_outcomes must be in [0, {highest:.0f}], or NaN")
        timed = check_integer("saved deadline_timed", state["deadline_timed"], -1, 1)
        if not isinstance(now, int | float) or math.isnan(now):
            raise ValueError("saved deadline_now must be a number")
        awaited: Sequence[Awaited | None] = [None] * len(names)
        if self.pending is not None:
            own = {k.removeprefix(PENDING): v for k, v in state.items() if k.startswith(PENDING)}
            load_pending(self.pending, own)
            places, cells = state["deadline_awaited"], state["deadline_cells"]
            if len(places) != AWAITED * len(names) or len(cells) != 2 * len(names):
                raise ValueError("saved deadline_awaited must have a row for each of deadline_ids")
            awaited = load_awaited(self.pending, places, cells)
        parts = zip(names, dues.tolist(), outcomes.tolist(), awaited, strict=True)
        for name, due, outcome, each in parts:
            if name not in waiting:
                raise ValueError(f"saved id {name!r} has a deadline and does not wait")
            prediction = waiting[name]
            self.entries[prediction.number] = Entry(prediction, name, due, outcome, each)
        self.queue = [(entry.due, number) for number, entry in self.entries.items()]
        heapify(self.queue)
        self.now, self.is_timed = float(now), None if timed < 0 else bool(timed)


def take_deadlines(state: dict[str, Any]) -> dict[str, Any]:
    """Take out of a state what `Deadlines.get_state` put there."""
    names = [name for name in state if name.startswith((DEADLINE, PENDING))]
    return {name: state.pop(name) for name in names}


def time_to_advance(deadlines: Deadlines | None, now: Time) -> float:
    """Return the time up to which what is due is learned, or say why there is none."""
    if deadlines is None:
        raise ValueError("without silence or hold there are no deadlines to advance to")
    time = time_of(now, "now")
    if deadlines.is_timed is False:
        raise ValueError("deadlines count predictions here, which advance by themselves")
    return time


def deadlines_of(silence: object, after: object, hold: object) -> Deadlines | None:
    """Return the deadlines that the arguments of a recalibrator ask for, None if none."""
    if silence is None:
        if after is not None:
            raise ValueError("after needs silence: it says when no news means the silent outcome")
        return None if hold is None else Deadlines(None, as_span(hold, "hold"))
    if hold is not None:
        raise ValueError("silence and hold exclude each other: silence waits for deadlines already")
    if isinstance(silence, bool) or silence not in (0, 1):
        raise ValueError(f"silence must be the outcome that no news means, 0 or 1, got {silence!r}")
    return Deadlines(int(silence), None if after is None else as_span(after, "after"))
