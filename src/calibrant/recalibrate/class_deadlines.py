"""Several classes, one of which may be silence: labels are learned at deadlines.

Each class against the rest has silence of its own. For a class that is announced, silence until the
deadline means that it did not happen; for the silent class, that it did. With labels by the top
class nothing can be made of silence before its deadline: what it means there depends on which class
is on top.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant._checks import Id, check_same_length
from calibrant._kernels.pending import Awaited, PendingKernel
from calibrant._kernels.pending_saving import (
    load_awaited,
    load_pending,
    save_awaited,
    save_pending,
)
from calibrant._kernels.recalibrate import RecalibrateKernel
from calibrant._spans import Span, as_span
from calibrant._times import Time, time_of
from calibrant.forecasters.answers import listed_ids
from calibrant.forecasters.rounds_by_id import RoundsById
from calibrant.recalibrate.deadlines import PENDING, Deadlines, Entry, time_to_advance
from calibrant.recalibrate.waiting import Pending


class ClassDeadlines(Deadlines):
    """The predictions of a recalibrator of several classes that wait for their deadlines.

    `silent` is the column of the class that silence means, None if every label is announced.
    `kernels` are those that hear what is pending, one a class.
    """

    __slots__ = ("awaited", "kernels", "pendings", "silent")

    def __init__(
        self, silent: int | None, span: Span | None, kernels: Sequence[RecalibrateKernel] = ()
    ) -> None:
        super().__init__(None, span)
        self.silent = silent
        self.kernels = kernels
        self.pendings = [PendingKernel(int(column == silent)) for column in range(len(kernels))]
        for kernel, pending in zip(kernels, self.pendings, strict=True):
            kernel._attend(pending)
        self.awaited: dict[int, list[Awaited]] = {}
        if silent is not None:
            self.word = "after"

    def wait(self, prediction: Pending, name: Id, at: float, due: float) -> None:
        """Wait for the deadline of a prediction just made at time `at`."""
        self.open(prediction, name, math.nan, at, due)
        self.awaited[prediction.number] = [
            pending.open(begun.probability, kernel._waiting_mean(begun), at, due)
            for kernel, pending, begun in zip(
                self.kernels, self.pendings, prediction.rounds[: len(self.pendings)], strict=True
            )
        ]

    def refit(self) -> None:
        """Fit the words of what is pending, where a fit is due."""
        for kernel in self.kernels:
            kernel._refit(self.now)

    def note(self, entry: Entry, outcome: float) -> None:
        """Note the column of a label, which had none, until its deadline."""
        entry.outcome = outcome
        awaited = self.awaited[entry.prediction.number]
        for column, (pending, each) in enumerate(zip(self.pendings, awaited, strict=True)):
            if (outcome == column) == (pending.silence == 0):  # what is not silence has come
                pending.come(each, self.now)

    def label_at_end(self, entry: Entry) -> float:
        """Return the column of the label that is learned at a deadline, NaN if there is none."""
        if math.isnan(entry.outcome) and self.silent is not None:
            return float(self.silent)
        return entry.outcome

    def finish(self, entry: Entry, *, is_learned: bool) -> None:
        """Let the words learn what became of a prediction, or forget it if it expired."""
        awaited = self.awaited.pop(entry.prediction.number)
        for pending, each in zip(self.pendings, awaited, strict=True):
            if is_learned:
                pending.mature(each)
            else:
                pending.drop(each)

    def drop(self, prediction: Any) -> None:
        """Forget a prediction that expired."""
        entry = self.entries.pop(prediction.number, None)
        if entry is not None:
            self.finish(entry, is_learned=False)

    def get_state(self) -> dict[str, Any]:
        """Return everything as arrays by name, predictions first to last."""
        state = super().get_state()
        for column, pending in enumerate(self.pendings):
            waits = [awaited[column] for _, awaited in sorted(self.awaited.items())]
            places, cells = save_awaited(waits)
            parts = save_pending(pending) | {"awaited": places, "cells_of_awaited": cells}
            state |= {f"{PENDING}{column}_{name}": part for name, part in parts.items()}
        return state

    def set_state(
        self, state: Mapping[str, Any], waiting: Mapping[Id, Any], highest: float = 1.0
    ) -> None:
        """Give fresh deadlines what `get_state` returned, or raise ValueError."""
        super().set_state(state, waiting, highest)
        if any(entry.outcome % 1.0 for entry in self.entries.values() if entry.outcome >= 0.0):
            raise ValueError("saved deadline_outcomes must be numbers of classes")
        found: list[list[Awaited]] = []
        for column, pending in enumerate(self.pendings):
            start = f"{PENDING}{column}_"
            own = {k.removeprefix(start): v for k, v in state.items() if k.startswith(start)}
            places, cells = own.pop("awaited"), own.pop("cells_of_awaited")
            load_pending(pending, own)
            found.append(load_awaited(pending, places, cells))
            if len(found[-1]) != len(self.entries):
                raise ValueError(f"saved class {column} must wait for each of deadline_ids")
        for place, number in enumerate(sorted(self.entries)):
            self.awaited[number] = [awaited[place] for awaited in found]


class SettlingClasses(RoundsById[Pending]):
    """The steps of a recalibrator of several classes with `silence` or `hold`."""

    __slots__ = ()

    _deadlines: ClassDeadlines | None
    _labels: list[Id]

    def update_many(
        self,
        outcomes: Any,
        ids: Sequence[Id] | npt.NDArray[Any],
        at: Time | None = None,
    ) -> npt.NDArray[np.str_]:
        """Learn labels that came together, by id; return what became of each.

        As in every recalibrator; `at` says when they came, where predictions have deadlines.
        """
        deadlines, waiting = self._deadlines, self._waiting
        if deadlines is None:
            return super().update_many(outcomes, ids)
        columns, names = self._outcomes(outcomes), listed_ids(ids)
        check_same_length("outcomes", len(columns), "ids", len(names))
        with waiting.lock:
            self._listen(at)
            said, rows, _ = deadlines.note_many(names, columns, waiting)
            if len(rows):
                over = rows.tolist()
                labels = [self._labels[int(columns[row])] for row in over]
                super().update_many(labels, [names[row] for row in over])
        return said

    def advance(self, now: Time) -> int:
        """Let time pass: learn what is due by `now`; return how many labels that were.

        As in `Recalibrator`: predictions and labels that say when they are do this by themselves.
        """
        time = time_to_advance(self._deadlines, now)
        with self._waiting.lock:
            return self._settle(time, before=False)

    def _hear(self, column: int, id_: Id, at: Time | None) -> bool:
        """Note a label for its deadline; return whether it is to be learned now, if at all."""
        deadlines = self._deadlines
        assert deadlines is not None
        self._listen(at)
        prediction = self._waiting.prediction_of(id_)
        entry = None if prediction is None else deadlines.entries.get(prediction.number)
        if entry is None:
            return True
        if math.isnan(entry.outcome):
            deadlines.note(entry, float(column))
        elif entry.outcome != column:
            old, new = self._labels[int(entry.outcome)], self._labels[column]
            raise ValueError(f"id {id_!r} had the outcome {old!r}, and now gets {new!r}")
        return False

    def _listen(self, at: Time | None) -> None:
        """Move the clock to when labels came."""
        assert self._deadlines is not None
        if at is not None:
            if not self._deadlines.is_timed:
                raise ValueError("outcomes say when they come if predictions do, at=...")
            self._settle(time_of(at), before=True)

    def _until(self, rounds: int, names: object, made: Any, due: Any) -> list[tuple[float, float]]:
        """Return the times and deadlines of a batch, none without deadlines; let time pass."""
        deadlines = self._deadlines
        if deadlines is None:
            if due is not None:
                raise ValueError("due needs silence or hold: what is learned at the deadline?")
            return []
        if names is None:
            raise ValueError("with silence or hold predictions need ids, for their labels")
        at, ends = spread(made, rounds, "at"), spread(due, rounds, "due")
        times = deadlines.times_of_many(self.rounds, at, ends)
        if times:
            deadlines.is_timed = made is not None
            if deadlines.is_timed:
                self._settle(min(at for at, _ in times), before=True)
        return times

    def _wait(
        self, opened: Sequence[Pending], names: Sequence[Id], times: Sequence[tuple[float, float]]
    ) -> None:
        """Let new predictions wait for their deadlines."""
        deadlines = self._deadlines
        assert deadlines is not None
        for prediction, name, (at, due) in zip(opened, names, times, strict=True):
            if self._waiting.prediction_of(name) is not prediction:
                continue  # more came at once than may wait, and it expired
            deadlines.wait(prediction, name, max(at, deadlines.now), due)
        if not deadlines.is_timed:
            self._settle(float(self.rounds), before=False)
        deadlines.refit()

    def _settle(self, now: float, *, before: bool) -> int:
        """Learn what is due by now, or before now; return how many labels that were."""
        deadlines = self._deadlines
        assert deadlines is not None
        over = deadlines.advance(now, before=before)
        ends = [(entry, deadlines.label_at_end(entry)) for entry in over]
        for entry, label in ends:
            if math.isnan(label):  # held, and still not known: learned when it comes
                deadlines.finish(entry, is_learned=False)
        known = [(entry, int(label)) for entry, label in ends if not math.isnan(label)]
        if not known:
            return 0
        labels = [self._labels[column] for _, column in known]
        names: list[Any] = [entry.name for entry, _ in known]
        said = super().update_many(labels, names)
        for (entry, _), answer in zip(known, said.tolist(), strict=True):
            deadlines.finish(entry, is_learned=answer == "applied")
        return int((said == "applied").sum())


def spread(times: Any, rounds: int, name: str) -> list[Any]:
    """Return one time a round, from one a round, one for all of them, or none."""
    if times is None or np.ndim(times) == 0:
        return [times] * rounds
    check_same_length(name, len(times), "probabilities", rounds)
    return list(times)


def class_deadlines_of(
    silent: int | None, after: Any, hold: Any, kernels: Sequence[RecalibrateKernel]
) -> ClassDeadlines | None:
    """Return the deadlines that the arguments of a recalibrator ask for, None if none."""
    if silent is None:
        if after is not None:
            raise ValueError("after needs silence: it says when no news means the silent class")
        return None if hold is None else ClassDeadlines(None, as_span(hold, "hold"))
    if hold is not None:
        raise ValueError("silence and hold exclude each other: silence waits for deadlines already")
    return ClassDeadlines(silent, None if after is None else as_span(after, "after"), kernels)
