"""What a fleet with `silence` or `hold` does when time passes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant._checks import Floats, Id
from calibrant._kernels.fleet_rounds import FleetRound, order_of
from calibrant._times import DATES, Time, time_of, times_or_one
from calibrant.fleet.deadlines import Due
from calibrant.fleet.kept import Kept
from calibrant.fleet.part import Part
from calibrant.fleet.rows import Dealt
from calibrant.recalibrate.deadlines import Deadlines, time_to_advance

#: When each row is predicted, and its deadline.
Until = list[tuple[float, float]]


class Settling(Kept):
    """Predictions that wait for their deadlines, where a fleet has such."""

    __slots__ = ()

    @property
    def _has_deadlines(self) -> bool:
        return any(part.deadlines is not None for part in self._parts.values())

    @property
    def _clock(self) -> Deadlines | None:
        """The clock of a part: their spans are alike."""
        own = next(iter(self._parts.values())).deadlines
        return None if own is None else own.clock

    def advance(self, now: Time) -> int:
        """Let time pass: learn what is due by `now`; return how many outcomes that were.

        Predictions and outcomes that say when they are, ``at=...``, do this by themselves, as does
        a prediction where deadlines count predictions. An earlier time changes nothing.

        Examples
        --------
        >>> from calibrant import Fleet
        >>> fleet = Fleet(silence=0, after=30)
        >>> _ = fleet.predict(["x", "y"], [0.2, 0.3], ids=["a", "b"], at=[100, 110])
        >>> fleet.update(["a"], [1], at=120).tolist()       # learned at 130
        ['applied']
        >>> fleet.advance(130), fleet.advance(140)          # at 140, nothing was heard of b: 0
        (1, 1)
        """
        self._check_open()
        with self._lock:
            if not self._has_deadlines:
                time_to_advance(None, now)
            parts = [(part, part.deadlines) for part in self._parts.values()]
            times = [time_to_advance(own.clock, now) for _, own in parts if own is not None]
            return sum(
                len(settle(part, time, before=False).names)
                for (part, _), time in zip(parts, times, strict=True)
            )

    def _until(
        self, dealt: Sequence[tuple[Dealt, Part]], at: Any, due: Any, size: int, has_ids: bool
    ) -> list[Until]:
        """Return times and deadlines of the rows of each part; let time pass to the first."""
        if not self._has_deadlines:
            if due is not None:
                raise ValueError("due needs silence or hold: what is learned at the deadline?")
            return [[] for _ in dealt]
        if not has_ids:
            raise ValueError("with silence or hold predictions need ids, for their outcomes")
        ends = None if due is None else np.asarray(times_or_one(due, size, "due"))
        first = at if at is None or isinstance(at, DATES) or not hasattr(at, "__len__") else at[0]
        found = []
        for each, part in dealt:
            assert part.deadlines is not None
            if isinstance(first, DATES) and due is None:
                part.deadlines.clock.check_unit()
            made = None if at is None else each.rows.times.tolist()
            own = None if ends is None else ends[each.at].tolist()
            rows = len(each.rows.scores)
            found.append(part.deadlines.times(part.kernel.rounds, made, own, rows))
        for (_, part), times in zip(dealt, found, strict=True):
            assert part.deadlines is not None
            part.deadlines.clock.is_timed = at is not None
            if at is not None and times:
                settle(part, times[0][0], before=True)
        return found

    def _wait(
        self, part: Part, names: list[Id], opened: Sequence[FleetRound], times: Until
    ) -> None:
        """Let new predictions of a part wait for their deadlines, if it has some."""
        if part.deadlines is None:
            return
        part.deadlines.open(opened, names, times, part.waiting)
        if not part.deadlines.clock.is_timed:
            settle(part, float(part.kernel.rounds), before=False)

    def _hear(self, names: list[Id], outcomes: Floats, at: Time | None) -> npt.NDArray[np.str_]:
        """Note outcomes that came together for their deadlines; return what becomes of each."""
        if not self._has_deadlines:
            raise ValueError("at needs silence or hold: without, outcomes are learned when given")
        if at is not None:
            self._listen(time_of(at))
        answers = np.empty(len(names), dtype="<U8")
        for part, rows in self._rows_of(names):
            answers[rows] = note(part, [names[row] for row in rows], outcomes[rows])
        return answers

    def _rows_of(self, names: list[Id]) -> Iterator[tuple[Part, npt.NDArray[np.int64]]]:
        """Return the parts that know some of the ids, each with its rows; the first gets others."""
        parts = list(self._parts.values())
        if len(parts) == 1:
            yield parts[0], np.arange(len(names))
            return
        owners, left = dict.fromkeys(names, 0), set(names)
        for number, part in enumerate(parts):
            # Sets look for the fewer in the more: the ids in those of the part, or the reverse.
            here = left & part.waiting.known.keys()
            if part.waiting.gone:
                here |= left & part.waiting.gone.keys()
            if here:
                owners |= dict.fromkeys(here, number)
                left -= here
            if not left:
                break
        owner = np.array([owners[name] for name in names], dtype=np.int64)
        for number in np.unique(owner).tolist():
            yield parts[number], np.flatnonzero(owner == number)

    def _listen(self, now: float) -> None:
        """Let time pass to when outcomes came."""
        for part in self._parts.values():
            if part.deadlines is not None and part.deadlines.clock.is_timed is False:
                raise ValueError("outcomes say when they come if predictions do, at=...")
        for part in self._parts.values():
            settle(part, now, before=True)

    def _check_at_once(self, name: str) -> None:
        """Refuse what learns outcomes at once."""
        if self._has_deadlines:
            raise ValueError(
                f"{name} learns outcomes at once; with silence or hold they have deadlines: "
                "use predict, update and advance"
            )


def settle(part: Part, now: float, *, before: bool) -> Due:
    """Learn what is due in a part by now, or before now; return what that was."""
    assert part.deadlines is not None
    due = part.deadlines.over(now, before)
    if due.names:
        waiting: dict[Id, Any] = part.waiting.known
        part.kernel.learn([waiting[name] for name in due.names], due.outcomes)
        part.waiting.finish_many(due.names, due.outcomes, np.arange(len(due.names)))
    return due


def note(part: Part, names: list[Id], y: Floats) -> npt.NDArray[np.str_]:
    """Note outcomes that came together for their deadlines, in one part; return the answers."""
    assert part.deadlines is not None
    answers, rows, predictions = part.deadlines.clock.note_many(names, y, part.waiting)
    if predictions:
        order = order_of(predictions)
        part.kernel.learn([predictions[each] for each in order], y[rows[order]])
        part.waiting.finish_many(names, y, rows)
    return answers
