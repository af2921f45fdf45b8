"""A recalibration map that is refitted from time to time."""

from __future__ import annotations

from collections import deque
from typing import Literal

import numpy as np

from calibrant._checks import Floats, check_choice, check_integer
from calibrant._kernels.numbers.number_rivals import isotonic
from calibrant.measures.distinct import Indices
from calibrant.recalibrate.rivals.base import Rival
from calibrant.recalibrate.rivals.newton import INSIDE, logit, sigmoid

#: Newton's method ends with a step this small, or after so many.
CLOSE, MOST_STEPS = 1e-9, 50


def isotonic_knots(scores: Floats, outcomes: Floats) -> tuple[Floats, Floats]:
    """Return isotonic regression as the knots of a map that is linear between them.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant.recalibrate.rivals.windowed_refit import isotonic_knots
    >>> isotonic_knots(np.array([0.1, 0.3, 0.2, 0.4]), np.array([0.0, 0.0, 1.0, 1.0]))
    (array([0.1, 0.2, 0.3, 0.4]), array([0. , 0.5, 0.5, 1. ]))
    """
    knots, which, counts = np.unique(scores, return_inverse=True, return_counts=True)
    means = np.bincount(which, outcomes) / counts
    return knots, isotonic(means, counts.astype(np.float64))


def sigmoid_line(scores: Floats, outcomes: Floats) -> tuple[float, float]:
    """Return slope a and intercept b with the least log loss of sigmoid(a logit(score) + b).

    By Newton's method, of which a step that does not lower the loss is halved. a^2 / 2 beside the
    summed log loss keeps a finite where scores separate the outcomes.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant.recalibrate.rivals.windowed_refit import sigmoid_line
    >>> slope, _ = sigmoid_line(np.array([0.2, 0.2, 0.8, 0.8]), np.array([0.0, 1.0, 1.0, 1.0]))
    >>> round(slope, 3)
    0.601
    """
    p = np.clip(scores, INSIDE, 1.0 - INSIDE)
    x, mean = np.log(p / (1.0 - p)), float(outcomes.mean())
    line = np.array([0.0, np.log(mean / (1.0 - mean))])
    loss, mu = _loss(x, outcomes, line)
    for _ in range(MOST_STEPS):
        residual, weight = mu - outcomes, mu * (1.0 - mu)
        gradient = np.array([residual @ x + line[0], residual.sum()])
        curved, skew = weight @ (x * x) + 1.0, weight @ x
        step = np.linalg.solve([[curved, skew], [skew, weight.sum()]], gradient)
        size = 1.0
        while (found := _loss(x, outcomes, line - size * step))[0] > loss and size > CLOSE:
            size /= 2.0
        if found[0] > loss:
            break
        line, (loss, mu) = line - size * step, found
        if np.abs(step).max() < CLOSE:
            break
    return float(line[0]), float(line[1])


def _loss(x: Floats, outcomes: Floats, line: Floats) -> tuple[float, Floats]:
    """Return the log loss of a line with its penalty, and the probabilities."""
    z = line[0] * x + line[1]
    e = np.exp(-np.abs(z))
    loss = (np.maximum(z, 0.0) + np.log1p(e) - outcomes * z).sum() + line[0] ** 2 / 2.0
    return float(loss), np.where(z >= 0.0, 1.0, e) / (1.0 + e)


class WindowedRefit(Rival):
    """Predict with a map that is refitted every few rounds, on a window of past rounds.

    What a careful team does today, with the two maps of scikit-learn's ``CalibratedClassifierCV``:
    isotonic regression (Zadrozny and Elkan 2002) or a sigmoid (Platt 1999).

    Left open by custom: until the first fit the score itself is predicted; a window with outcomes
    of one kind keeps the old map; the sigmoid is fitted to the logit of the score, clipped as in
    `OnlinePlatt`, with scikit-learn's usual penalty on the slope, which keeps it finite where
    scores separate the outcomes.

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

    def play_late(self, scores: Floats, outcomes: Floats, learned_by: Indices) -> Floats:
        """Return what refits would have predicted of rows whose outcomes arrive late.

        `learned_by` is the first row that may know each outcome. A fit is made every so many rows,
        on the last outcomes of the window that are known by then.

        Examples
        --------
        >>> import numpy as np
        >>> from calibrant.recalibrate.rivals import WindowedRefit
        >>> s, y = np.array([0.1, 0.2, 0.3, 0.4, 0.2]), np.array([0.0, 1.0, 0.0, 1.0, 1.0])
        >>> rival = WindowedRefit("isotonic", window=4, every=4)
        >>> rival.play_late(s, y, np.arange(1, 6)).tolist()
        [0.1, 0.2, 0.3, 0.4, 0.5]
        """
        predictions = np.empty(len(scores))
        order = np.argsort(learned_by, kind="stable")
        times = learned_by[order]
        for start in range(0, len(scores), self._every):
            known = order[: np.searchsorted(times, start, side="right")]
            known = known[~np.isnan(outcomes[known])][-(self._past.maxlen or 0) :]
            if len(known):
                self._fit(scores[known], outcomes[known])
            stop = start + self._every
            predictions[start:stop] = self._map(scores[start:stop])
        return predictions

    def _learn(self, outcome: float) -> None:
        self._past.append((self._score, outcome))
        self._until_fit -= 1
        if self._until_fit == 0:
            self._until_fit = self._every
            scores, outcomes = np.array(self._past).T
            self._fit(scores, outcomes)

    def _fit(self, scores: Floats, outcomes: Floats) -> None:
        if outcomes.min() == outcomes.max():
            return
        if self._method == "isotonic":
            self._knots = isotonic_knots(scores, outcomes)
        else:
            self._line = sigmoid_line(scores, outcomes)
