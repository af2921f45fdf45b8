"""A recalibration map that scikit-learn fits anew from time to time."""

from __future__ import annotations

from collections import deque
from typing import Any, Literal

import numpy as np

from calibrant._checks import Floats, check_choice, check_integer
from calibrant.recalibrate.rivals.base import Rival
from calibrant.recalibrate.rivals.newton import INSIDE, logit, sigmoid


def scikit_learn() -> Any:
    """Return scikit-learn, or say that it is needed."""
    try:
        import sklearn.isotonic  # noqa: PLC0415 - an extra
        import sklearn.linear_model  # noqa: PLC0415
    except ImportError as error:
        raise ImportError("refits need scikit-learn: pip install 'calibrant[sklearn]'") from error
    return sklearn


class WindowedRefit(Rival):
    """Predict with a map that is fitted anew every few rounds, on a window of past rounds.

    What a careful team does today, with the two maps of scikit-learn's ``CalibratedClassifierCV``:
    isotonic regression (Zadrozny and Elkan 2002) or a sigmoid (Platt 1999). Needs scikit-learn:
    ``pip install 'calibrant[sklearn]'``.

    Left open by custom: until the first fit the score itself is predicted; a window with outcomes
    of one kind keeps the old map; the sigmoid is fitted to the logit of the score, clipped as in
    `OnlinePlatt`, with scikit-learn's usual penalty on the slope a, a^2 / 2 beside the summed log
    loss, which keeps it finite where the scores separate the outcomes.

    Parameters
    ----------
    method : {"isotonic", "sigmoid"}
        The family of maps.
    window : int, default 10,000
        How many of the latest rounds to fit.
    every : int, default 1,000
        Rounds from one fit to the next.

    Examples
    --------
    >>> from calibrant.recalibrate.rivals import WindowedRefit
    >>> rival = WindowedRefit("isotonic", window=4, every=4)
    >>> rival.run([0.1, 0.2, 0.3, 0.4, 0.2], [0, 1, 0, 1, 1]).tolist()
    [0.1, 0.2, 0.3, 0.4, 0.5]
    """

    def __init__(
        self,
        method: Literal["isotonic", "sigmoid"] = "isotonic",
        *,
        window: int = 10_000,
        every: int = 1_000,
    ) -> None:
        super().__init__()
        self._method = check_choice("method", method, ("isotonic", "sigmoid"))
        self._every = check_integer("every", every, 1)
        size = check_integer("window", window, 1)
        self._sklearn = scikit_learn()
        self._past: deque[tuple[float, float]] = deque(maxlen=size)
        self._until_fit = self._every
        self._score = 0.0
        # The knots of a map that is linear between them, or slope and intercept; neither at first.
        self._knots: tuple[Floats, Floats] | None = None
        self._line: tuple[float, float] | None = None

    def _forecast(self, score: float) -> float:
        self._score = score
        if self._knots is not None:
            return float(np.interp(score, *self._knots))
        if self._line is not None:
            slope, intercept = self._line
            return sigmoid(slope * logit(score) + intercept)
        return score

    def _map(self, scores: Floats) -> Floats:
        """Return what `_forecast` makes of many scores."""
        if self._knots is not None:
            return np.asarray(np.interp(scores, *self._knots))
        if self._line is None:
            return scores
        p = np.clip(scores, INSIDE, 1.0 - INSIDE)
        slope, intercept = self._line
        return np.asarray(1.0 / (1.0 + np.exp(-slope * np.log(p / (1.0 - p)) - intercept)))

    def play_late(self, scores: Floats, outcomes: Floats, learned_by: Floats) -> Floats:
        """Return what refits would have predicted of rows whose outcomes come late.

        `learned_by` is the first row that may know each outcome. A fit is made every so many rows,
        on the last outcomes of the window that are known by then.

        Examples
        --------
        >>> import numpy as np
        >>> from calibrant.recalibrate.rivals import WindowedRefit
        >>> s, y = np.array([0.1, 0.2, 0.3, 0.4, 0.2]), np.array([0.0, 1.0, 0.0, 1.0, 1.0])
        >>> rival = WindowedRefit("isotonic", window=4, every=4)
        >>> rival.play_late(s, y, np.arange(1.0, 6.0)).tolist()
        [0.1, 0.2, 0.3, 0.4, 0.5]
        """
        predictions = np.empty(len(scores))
        order = np.argsort(learned_by, kind="stable")
        times = learned_by[order]
        for start in range(0, len(scores), self._every):
            known = order[: np.searchsorted(times, start, side="right")][
                -(self._past.maxlen or 0) :
            ]
            if len(known):
                self._past.clear()
                self._past.extend(
                    zip(scores[known].tolist(), outcomes[known].tolist(), strict=True)
                )
                self._fit()
            stop = start + self._every
            predictions[start:stop] = self._map(scores[start:stop])
        return predictions

    def _learn(self, outcome: float) -> None:
        self._past.append((self._score, outcome))
        self._until_fit -= 1
        if self._until_fit == 0:
            self._until_fit = self._every
            self._fit()

    def _fit(self) -> None:
        scores, outcomes = np.array(self._past).T
        if outcomes.min() == outcomes.max():
            return
        if self._method == "isotonic":
            isotonic = self._sklearn.isotonic.IsotonicRegression(
                y_min=0.0, y_max=1.0, out_of_bounds="clip"
            ).fit(scores, outcomes)
            self._knots = isotonic.X_thresholds_, isotonic.y_thresholds_
            return
        p = np.clip(scores, INSIDE, 1.0 - INSIDE)
        x = np.log(p / (1.0 - p))
        # A fractional outcome is two rows, of which one happened, with weights that sum to one.
        weights = np.concatenate([outcomes, 1.0 - outcomes])
        rows, kinds = np.tile(x, 2), np.repeat([1, 0], len(x))
        some = weights > 0.0
        model = self._sklearn.linear_model.LogisticRegression(C=1.0, solver="newton-cholesky")
        model.fit(rows[some, None], kinds[some], sample_weight=weights[some])
        self._line = float(model.coef_[0, 0]), float(model.intercept_[0])
