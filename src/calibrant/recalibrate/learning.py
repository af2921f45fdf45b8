"""Where a prediction meets its outcome: what is learned then, and what monitors see."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from typing import Any, Self, SupportsFloat

import numpy as np
import numpy.typing as npt

from calibrant._checks import Floats, Id, as_listed, as_series
from calibrant._kernels.recalibrate import as_known, outcome_of
from calibrant._kernels.score_rounds import Round
from calibrant._kernels.saved import check_names, floats
from calibrant.monitor.side_by_side import SideBySide
from calibrant.recalibrate.settling import Settling
from calibrant.recalibrate.waiting import Pending
from calibrant.recalibrate.whole_runs import whole_or_not_at_all

#: One name a row, None for a row without one.
Names = Sequence[Id | None] | npt.NDArray[Any]
#: How the names of the saved parts of monitors begin.
WATCH = "watch_"


class Learning(Settling):
    """What a recalibrator does with an outcome and the prediction that it is for."""

    __slots__ = ()

    _monitors: SideBySide | None

    @property
    def monitors(self) -> SideBySide | None:
        """What watches the scores and the predictions, with ``monitor=True``; else None.

        Examples
        --------
        >>> from calibrant import Recalibrator
        >>> recalibrator = Recalibrator(monitor={"every": 100_000, "tolerance": 0.01})
        >>> _ = recalibrator.predict(0.2, id="a")
        >>> recalibrator.update(1, id="a")
        >>> recalibrator.monitors.calibrated.rounds
        1
        """
        return self._monitors

    # -- one ------------------------------------------------------------------------------------

    def _learn(self, prediction: Round | Pending, outcome: float) -> None:
        if isinstance(prediction, Round):
            self._finish(prediction, outcome)
        else:
            self._groups.finish(self, prediction, outcome)
        if self._monitors is not None:
            raw, expected = watched_of(prediction)
            self._monitors.update(raw, expected, outcome, self._group_of(prediction))

    def _update_watched(self, outcome: SupportsFloat, id_: Id | None) -> None:
        """Do what `update` does, where the compiled ways would pass the monitors by."""
        y = outcome_of(outcome)
        with self._waiting.lock:
            if id_ is None and self._waiting.unnamed is None:
                self._learn(self._opened(), y)
                self._give_up()
            else:
                self._waiting.answer(id_, y, self._learn)

    # -- many -----------------------------------------------------------------------------------

    def _learn_many(self, predictions: list[Round | Pending], outcomes: Floats) -> None:
        monitors = self._monitors
        with nullcontext() if monitors is None else monitors.undone_if_stopped():
            if monitors is not None:
                watched = np.array([watched_of(each) for each in predictions]).reshape(-1, 2)
                groups = [self._group_of(each) for each in predictions]
                monitors.run(watched[:, 0], watched[:, 1], outcomes, groups)
            if self._groups.names:
                self._groups.finish_many(self, predictions, outcomes)
            else:
                self._finish_many(predictions, outcomes)  # type: ignore[arg-type]

    def _group_of(self, prediction: Round | Pending) -> Id | None:
        return None if isinstance(prediction, Round) else self._groups.names[prediction.group]

    def run(
        self, scores: npt.ArrayLike, outcomes: npt.ArrayLike, by: Names | None = None
    ) -> Floats:
        """Predict each score and then learn its outcome; return the predictions.

        Bit for bit what `predict` and `update` without ids give, in compiled loops. `by` gives the
        group of each round, None for a round without one. An outcome that is NaN or None is not
        known: the row is predicted, and nothing is learned. All or nothing: interrupted with
        Ctrl-C, it is as if `run` had not been called.
        """
        return self._run(scores, outcomes, by)

    def _run(
        self,
        scores: npt.ArrayLike,
        outcomes: npt.ArrayLike,
        by: Names | None,
        words: Any = None,
        watched: Any = None,
    ) -> Floats:
        """Return what `run` does.

        `words` takes what `smooth` says before each outcome, and `watched` in two rows the raw
        scores and the expected predictions.
        """
        ranked = None if words is None else np.empty((2, len(words)))
        if self._monitors is not None and watched is None:
            watched = np.empty((2, len(as_series(scores, "scores"))))

        def see() -> None:
            if self._monitors is not None:
                y, names = as_known(outcomes), None if by is None else as_listed(by, "by", "names")
                known = np.flatnonzero(~np.isnan(y))
                groups = None if names is None else [names[row] for row in known.tolist()]
                self._monitors.run(watched[0, known], watched[1, known], y[known], groups)

        with self._waiting.lock:
            if by is None:
                with nullcontext() if self._monitors is None else whole_or_not_at_all([self]):
                    predictions, _, _ = self._run_means(scores, outcomes, None, ranked, watched)
                    see()
            else:
                predictions = self._groups.run(self, scores, outcomes, by, ranked, watched, see)
            if len(predictions):
                self._waiting.unnamed = None
        if ranked is not None:
            words[:] = ranked[1]
        return predictions

    def fit(self, scores: npt.ArrayLike, outcomes: npt.ArrayLike, by: Names | None = None) -> Self:
        """Learn from history, oldest row first, as `run` does; return the recalibrator itself.

        Examples
        --------
        >>> from calibrant import Recalibrator
        >>> recalibrator = Recalibrator().fit([0.9, 0.8, 0.7], [0, 0, 1])
        >>> recalibrator.learned
        3
        """
        self.run(scores, outcomes, by)
        return self

    # -- saving ---------------------------------------------------------------------------------

    def _save_watch(self) -> dict[str, Any]:
        """Return what the monitors know, and what they will see of predictions that wait."""
        if self._monitors is None:
            return {}
        waiting = [*self._waiting.named.values()]
        if self._waiting.unnamed is not None:
            waiting.append(self._waiting.unnamed)
        elif self._is_open_alone():
            waiting.append(self._opened())
        pairs = np.array([watched_of(each) for each in waiting], dtype=np.float64)
        state = {**self._monitors.save(), "waiting": pairs.reshape(-1)}
        return {WATCH + name: part for name, part in state.items()}

    def _load_watch(self, saved: Mapping[str, Any]) -> None:
        """Take over what `_save_watch` returned, or raise ValueError."""
        if self._monitors is None:
            check_names(saved, set())
            return
        state = {name.removeprefix(WATCH): part for name, part in saved.items()}
        check_names(state, set(self._monitors.save()) | {"waiting"})
        self._monitors.load(state)
        if not self._monitors.raw.rounds == self._monitors.calibrated.rounds <= self.learned:
            raise ValueError("the saved monitors must have seen outcomes that were learned")
        waiting = [*self._waiting.named.values()]
        if self._waiting.unnamed is not None:
            waiting.append(self._waiting.unnamed)
        alone = self._is_open_alone()
        pairs = floats(state, "waiting", size=2 * (len(waiting) + alone), low=0.0, high=1.0)
        for each, (raw, expected) in zip(waiting, pairs.reshape(-1, 2).tolist(), strict=False):
            set_watched(each, raw, expected)
        if alone:
            self._set_watched(*pairs[-2:].tolist())

    def _is_open_alone(self) -> bool:
        """Return whether a prediction without an id and without a group waits."""
        return self.is_open and self._waiting.unnamed is None


def watched_of(prediction: Round | Pending) -> tuple[float, float]:
    """Return the raw score of a prediction as a probability, and the expected prediction."""
    if isinstance(prediction, Round):
        return prediction.raw, prediction.expected
    return prediction.rounds[0].raw, prediction.rounds[-1].expected


def set_watched(prediction: Round | Pending, raw: float, expected: float) -> None:
    """Let `watched_of` return these of a prediction that was saved."""
    rounds = (prediction,) if isinstance(prediction, Round) else prediction.rounds
    rounds[0]._set_watched(raw, rounds[0].expected)
    rounds[-1]._set_watched(rounds[-1].raw, expected)


def take_watch(state: dict[str, Any]) -> dict[str, Any]:
    """Take out of a state what `_save_watch` put there."""
    return {name: state.pop(name) for name in [*state] if name.startswith(WATCH)}
