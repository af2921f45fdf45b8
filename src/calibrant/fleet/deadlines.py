"""The deadlines of a part of a fleet: every outcome is learned at its own, and none before.

A recalibrator uses what came before its deadline at once (`docs/silence.md`). A fleet waits: what
has reached its deadline is a fair picture of every key, and needs no assumption about how soon the
outcomes of one come.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any, NamedTuple, cast

import numpy as np
import numpy.typing as npt

from calibrant._checks import Floats, Id
from calibrant._kernels.fleet_rounds import FleetRound, order_of
from calibrant._kernels.saved import floats
from calibrant._kernels.waiting import Waiting
from calibrant._spans import as_span
from calibrant.forecasters.saved_ids import ids_of
from calibrant.recalibrate.deadlines import Deadlines, deadlines_of

Arrays = dict[str, npt.NDArray[Any]]


class Due(NamedTuple):
    """What is learned at deadlines, in their order: ids of predictions that wait, and outcomes."""

    names: list[Id]
    outcomes: Floats
    deadlines: Floats


NOTHING_DUE = Due([], np.empty(0), np.empty(0))


class PartDeadlines:
    """The predictions of a part that wait for their deadlines, and what is known of each so far.

    With `silence`, no news until then means the silent outcome. Otherwise an outcome that comes
    later is learned when it comes.
    """

    __slots__ = ("clock", "silence")

    def __init__(self, asked: Deadlines, silence: int | None) -> None:
        # A clock without a silent outcome is that of `hold`: it asks predictions for their numbers
        # and nothing else.
        self.clock = Deadlines(None, asked.span)
        self.clock.word, self.silence = asked.word, silence

    def times(
        self, rounds: int, made: Sequence[float] | None, due: Sequence[float] | None, size: int
    ) -> list[tuple[float, float]]:
        """Return when so many predictions are made and their deadlines, or say what is missing."""
        at, ends = ([None] * size if each is None else each for each in (made, due))
        return self.clock.times_of_many(rounds, at, ends)

    def open(
        self,
        opened: Sequence[FleetRound],
        names: Sequence[Id],
        times: Sequence[tuple[float, float]],
        waiting: Waiting[FleetRound],
    ) -> None:
        """Let new predictions wait for their deadlines."""
        for prediction, name, (at, due) in zip(opened, names, times, strict=True):
            if waiting.prediction_of(name) is prediction:  # else too many came, and it expired
                made = max(at, self.clock.now)
                self.clock.open(cast("Any", prediction), name, math.nan, made, due)

    def note(self, prediction: FleetRound, outcome: float) -> None:
        """Note an outcome until its deadline."""
        self.clock.note(self.clock.entries[prediction.number], outcome)

    def drop(self, prediction: FleetRound) -> None:
        """Forget a prediction that expired."""
        self.clock.drop(cast("Any", prediction))

    def settled(self, outcomes: Floats) -> Floats:
        """Return what is learned at deadlines where these are known, NaN for nothing."""
        if self.silence is None:
            return outcomes
        return np.where(np.isnan(outcomes), float(self.silence), outcomes)

    def over(self, now: float, before: bool) -> Due:
        """Move the clock; return what is learned.

        Deadlines up to `now`, or only those `before` it. Of equal deadlines what was predicted
        first comes first, and within one call in no order that tells.
        """
        entries = self.clock.advance(now, before=before)
        if not entries:
            return NOTHING_DUE
        if len(entries) > 1:
            drawn = order_of([cast("FleetRound", entry.prediction) for entry in entries])
            entries = sorted((entries[each] for each in drawn), key=lambda entry: entry.due)
        outcomes = self.settled(np.array([entry.outcome for entry in entries]))
        known = np.flatnonzero(~np.isnan(outcomes)).tolist()
        return Due(
            [cast("Id", entries[each].name) for each in known],
            outcomes[known],
            np.array([entries[each].due for each in known]),
        )

    # -- saving ---------------------------------------------------------------------------------

    def get_state(self) -> tuple[list[Id], Arrays]:
        """Return the ids of what waits, and all else as arrays by name."""
        entries = [entry for _, entry in sorted(self.clock.entries.items())]
        timed = -1.0 if self.clock.is_timed is None else float(self.clock.is_timed)
        return [cast("Id", entry.name) for entry in entries], {
            "deadline_dues": np.array([entry.due for entry in entries], dtype=np.float64),
            "deadline_outcomes": np.array([entry.outcome for entry in entries], dtype=np.float64),
            "deadline_clock": np.array([self.clock.now, timed]),
        }

    def set_state(
        self,
        ids: Mapping[str, Any],
        arrays: Mapping[str, npt.NDArray[Any]],
        waiting: Mapping[Id, FleetRound],
    ) -> None:
        """Take over what `get_state` returned, or raise ValueError."""
        names = ids_of(ids, "due")
        dues = floats(arrays, "deadline_dues", size=len(names))
        outcomes = np.asarray(arrays["deadline_outcomes"], dtype=np.float64)
        now, timed = (float(each) for each in arrays["deadline_clock"])
        fits = np.isnan(outcomes) | ((outcomes >= 0.0) & (outcomes <= 1.0))
        if outcomes.shape != dues.shape or not fits.all():
            raise ValueError("saved deadline_outcomes must be in [0, 1] or NaN, one an id")
        if math.isnan(now) or timed not in (-1.0, 0.0, 1.0):
            raise ValueError("saved deadline_clock must be a time, and -1, 0 or 1")
        if len(set(names)) < len(names) or not set(names) <= set(waiting):
            raise ValueError("a saved id has a deadline and does not wait")
        clock = self.clock
        clock.is_timed = None if timed < 0.0 else bool(timed)
        for name, due, outcome in zip(names, dues.tolist(), outcomes.tolist(), strict=True):
            prediction = cast("Any", waiting[name])
            clock.open(prediction, name, math.nan, now, due)
            clock.entries[prediction.number].outcome = outcome
        clock.now = now


def plain_span(span: float | timedelta | str | None) -> float | str | None:
    """Return a span as it can be saved."""
    is_time = isinstance(span, timedelta | np.timedelta64)
    return f"{as_span(span, 'a span').length:.6f}s" if is_time else cast("float | str | None", span)


def part_deadlines(silence: object, after: object, hold: object) -> PartDeadlines | None:
    """Return what the arguments of a fleet ask for, None if no deadlines."""
    asked = deadlines_of(silence, after, hold)
    return None if asked is None else PartDeadlines(asked, cast("int | None", silence))
