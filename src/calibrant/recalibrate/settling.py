"""Rounds with deadlines: what a recalibrator does when time passes."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, SupportsFloat

import numpy as np
import numpy.typing as npt

from calibrant._checks import Floats, Id, check_id, check_same_length
from calibrant._kernels.recalibrate import RecalibrateKernel, outcome_of
from calibrant._kernels.score_rounds import Round, learning_order
from calibrant._times import DATES, Time, time_of, times_or_one
from calibrant.forecasters.answers import listed_ids
from calibrant.forecasters.rounds_by_id import RoundsById
from calibrant.recalibrate.deadlines import Deadlines, Entry, time_to_advance
from calibrant.recalibrate.groups import Groups
from calibrant.recalibrate.waiting import Pending


class Settling(RecalibrateKernel, RoundsById[Round | Pending]):
    """The steps of a recalibrator with `silence` or `hold`, whose `_deadlines` are not None."""

    __slots__ = ()

    _deadlines: Deadlines | None
    _groups: Groups

    @abstractmethod
    def _begin_row(self, score: SupportsFloat, by: Id | None) -> Round | Pending:
        """Predict a score, in its group if it has one."""

    @abstractmethod
    def _learn(self, prediction: Round | Pending, outcome: float) -> None:
        """Learn the outcome of a prediction."""

    def update_many(
        self,
        outcomes: npt.ArrayLike,
        ids: Sequence[Id] | npt.NDArray[Any],
        at: Time | None = None,
    ) -> npt.NDArray[np.str_]:
        """Learn outcomes that came together, by id; return what became of each.

        As in every recalibrator; `at` says when they came, where predictions have deadlines.
        """
        if self._deadlines is None:
            return super().update_many(outcomes, ids)
        with self._waiting.lock:
            return self._hear_many(self._outcomes(outcomes), ids, at)

    def advance(self, now: Time) -> int:
        """Let time pass: learn what is due by `now`; return how many outcomes that were.

        Predictions and outcomes that say when they are, ``at=...``, do this by themselves, as does
        a prediction where deadlines count predictions. An earlier time changes nothing.

        Examples
        --------
        >>> from calibrant import Recalibrator
        >>> recalibrator = Recalibrator(silence=0, after=30)
        >>> _ = recalibrator.predict(0.2, id="a", at=100), recalibrator.predict(0.3, id="b", at=110)
        >>> recalibrator.update(1, id="a", at=120)      # used at once, learned at 130
        >>> recalibrator.advance(130), recalibrator.advance(140)
        (1, 1)
        >>> recalibrator.learned, recalibrator.pending
        (2, 0)
        """
        time = time_to_advance(self._deadlines, now)
        with self._waiting.lock:
            before = self.learned
            self._settle(time, before=False)
            return self.learned - before

    def _predict_until(
        self, score: SupportsFloat, id_: object, by: Id | None, at: Time | None, due: Time | None
    ) -> float:
        """Return the probability for a score, and let the round wait for its deadline."""
        if id_ is None:
            raise ValueError("with silence or hold a prediction needs an id, for its outcome")
        waiting, name = self._waiting, check_id(id_)
        with waiting.lock:
            # What can be refused is refused before time passes.
            waiting.check_new_ids([name])
            self._look(score)
            if by is not None:
                self._groups.find(by)
            times = self._times([at], [due])
            self._pass_to(times, at is not None)
            opened = waiting.open(name, times[0][0] if at is not None else None,
                                  self._begin_row, score, by)  # fmt: skip
            self._wait([opened], [name], times)
        return opened.prediction

    def _until(
        self, scores: npt.ArrayLike, names: object, at: Any, due: object, made: list[float] | None
    ) -> list[tuple[float, float]]:
        """Return the times and deadlines of a batch, none without deadlines; let time pass."""
        if self._deadlines is None:
            if due is not None:
                raise ValueError("due needs silence or hold: what is learned at the deadline?")
            return []
        if names is None:
            raise ValueError("with silence or hold predictions need ids, for their outcomes")
        rounds = len(self._look_many(scores)[0])  # what can be refused is refused first
        if made and due is None:
            first = at if isinstance(at, DATES) or not hasattr(at, "__len__") else at[0]
            if isinstance(first, DATES):
                self._deadlines.check_unit()
        ends = [None] * rounds if due is None else times_or_one(due, rounds, "due").tolist()
        times = self._times([None] * rounds if made is None else made, ends)
        if times:
            self._pass_to(times, made is not None)
        return times

    def _settle(self, now: float, *, before: bool) -> None:
        """Learn what is due by now, or before now, in the order of deadlines."""
        deadlines, waiting = self._deadlines, self._waiting
        assert deadlines is not None
        over = []
        for entry in deadlines.advance(now, before=before):
            if not math.isnan(outcome := deadlines.settle(entry)):
                over.append((entry, outcome))
        if len(over) > 1:
            # Of equal deadlines, what was predicted first; of one batch, in no order that tells.
            order, _ = learning_order([entry.prediction for entry, _ in over])
            over = sorted((over[each] for each in order.tolist()), key=lambda each: each[0].due)
        if over:
            outcomes = np.array([outcome for _, outcome in over])
            self._learn_many([entry.prediction for entry, _ in over], outcomes)
            named = [row for row, (entry, _) in enumerate(over) if entry.name is not None]
            names: list[Any] = [entry.name for entry, _ in over]
            waiting.finish_many(names, outcomes, np.array(named, dtype=np.intp))

    def _wait(
        self, opened: Sequence[Round | Pending], names: Sequence[Id | None],
        times: Sequence[tuple[float, float]],
    ) -> None:  # fmt: skip
        """Let new predictions wait for their deadlines."""
        deadlines = self._deadlines
        assert deadlines is not None
        for prediction, name, (at, due) in zip(opened, names, times, strict=True):
            if name is not None and self._waiting.prediction_of(name) is not prediction:
                continue  # more came at once than may wait, and it expired
            whole = prediction.rounds[0] if isinstance(prediction, Pending) else prediction
            deadlines.open(prediction, name, self._waiting_mean(whole), max(at, deadlines.now), due)
        if not deadlines.is_timed:
            self._settle(float(self.rounds), before=False)
        self._refit(deadlines.now)

    def _times(
        self, at: Sequence[Time | None], due: Sequence[Time | None]
    ) -> list[tuple[float, float]]:
        """Return when the next predictions are made, and their deadlines."""
        deadlines = self._deadlines
        assert deadlines is not None
        return deadlines.times_of_many(self.rounds, at, due)

    def _pass_to(self, times: Sequence[tuple[float, float]], is_timed: bool) -> None:
        """Let time pass to when predictions are made: what was due before is learned."""
        deadlines = self._deadlines
        assert deadlines is not None
        deadlines.is_timed = is_timed
        if is_timed:
            self._settle(times[0][0], before=True)

    def _entry(self, id_: Id) -> Entry | None:
        """Return the deadline of a prediction that waits under this id, None if it passed."""
        assert self._deadlines is not None
        prediction = self._waiting.prediction_of(id_)
        return None if prediction is None else self._deadlines.entries.get(prediction.number)

    def _outcome_of(self, id_: Id | None) -> float | None:
        """Return the outcome that was learned of an id, None if none was."""
        found = None if id_ is None else self._waiting.known.get(id_)
        return found if isinstance(found, float) else None

    def _hear(self, outcome: SupportsFloat, id_: object, at: Time | None) -> None:
        """Note an outcome for its deadline, or learn it now if that is over."""
        y, name = outcome_of(outcome), check_id(id_)
        with self._waiting.lock:
            self._listen(at)
            entry = self._entry(name)
            if entry is None:
                self._waiting.learn(name, y, self._learn)
            elif math.isnan(entry.outcome):
                assert self._deadlines is not None
                self._deadlines.note(entry, y)
            elif entry.outcome != y:
                had = entry.outcome
                raise ValueError(f"id {name!r} had the outcome {had!r}, and now gets {y!r}")

    def _listen(self, at: Time | None) -> None:
        """Move the clock to when outcomes came."""
        deadlines = self._deadlines
        assert deadlines is not None
        if at is not None:
            if not deadlines.is_timed:
                raise ValueError("outcomes say when they come if predictions do, at=...")
            self._settle(time_of(at), before=True)

    def _hear_many(
        self, outcomes: Floats, ids: Sequence[Id] | npt.NDArray[Any], at: Time | None
    ) -> npt.NDArray[np.str_]:
        """Note outcomes that came together for their deadlines; return what became of each."""
        names, waiting, deadlines = listed_ids(ids), self._waiting, self._deadlines
        assert deadlines is not None
        check_same_length("outcomes", len(outcomes), "ids", len(names))
        self._listen(at)
        answers, rows, predictions = deadlines.note_many(names, outcomes, waiting)
        if predictions:
            self._learn_in_order(predictions, outcomes[rows])
            waiting.finish_many(names, outcomes, rows)
        return answers
