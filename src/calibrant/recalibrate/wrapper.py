"""Any function that scores rows, with probabilities that stay calibrated."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant._checks import Floats, Id, describe
from calibrant.recalibrate.recalibrator import Names, Recalibrator, Times, is_one


class Calibrated:
    """A scoring function and the recalibrator of its scores; `calibrated` makes one.

    Attributes
    ----------
    function : callable
        What was wrapped: ``function(rows)`` gives the raw scores.
    recalibrator : Recalibrator
        What recalibrates them, to be saved and loaded.
    """

    def __init__(self, function: Callable[..., Any], recalibrator: Recalibrator) -> None:
        self.function = function
        self.recalibrator = recalibrator

    def __call__(
        self,
        rows: Any,
        *,
        id: Id | Sequence[Id] | npt.NDArray[Any] | None = None,  # noqa: A002
        by: Id | Names | None = None,
        at: Times | None = None,
    ) -> float | Floats:
        """Return the probability for a row, or of each of many, as many as there are scores.

        With an id, or one per row, it waits for its outcome.
        """
        scores = self.function(rows)
        if is_one(scores):
            return self.recalibrator.predict(scores, id=id, by=by, at=at)  # type: ignore[arg-type]
        if np.ndim(scores) == 2:
            raise ValueError(
                f"the function must give one score per row, got {describe(scores)}; "
                "of two columns of probabilities, take the second"
            )
        return self.recalibrator.predict_many(scores, ids=id, by=by, at=at)  # type: ignore[arg-type]

    def update(
        self,
        outcome: Any,
        id: Id | Sequence[Id] | npt.NDArray[Any] | None = None,  # noqa: A002
    ) -> npt.NDArray[np.str_] | str | None:
        """Learn an outcome, or many with an id each; the answers as in `update_many`."""
        if is_one(outcome):
            return self.recalibrator.update(outcome, id=id)  # type: ignore[arg-type]
        return self.recalibrator.update_many(outcome, ids=id)  # type: ignore[arg-type]


def calibrated(
    function: Callable[..., Any],
    *,
    kind: str = "probability",
    recalibrator: Recalibrator | None = None,
) -> Calibrated:
    """Wrap a function that scores rows, so that it gives probabilities that stay calibrated.

    Parameters
    ----------
    function : callable
        Takes a row and returns its score, or takes many and returns an array of scores.
    kind : {"probability", "logit", "margin"}, default "probability"
        What the scores are, as in `Recalibrator`.
    recalibrator : Recalibrator, optional
        One to continue with, instead of a fresh one of this kind.

    Examples
    --------
    >>> from calibrant import calibrated
    >>> @calibrated
    ... def risk(order):
    ...     return min(order["amount"] / 1000, 1.0)
    >>> p = risk({"amount": 250}, id="order 17")
    >>> risk.update(1, id="order 17")
    'applied'
    >>> risk.recalibrator.learned
    1

    Many rows at once:

    >>> risks = calibrated(lambda amounts: amounts / 1000)
    >>> import numpy as np
    >>> risks(np.array([250.0, 900.0]), id=["a", "b"]).shape
    (2,)
    >>> risks.update([0, 1], id=["a", "b"]).tolist()
    ['applied', 'applied']
    """
    if not callable(function):
        raise ValueError(f"function must be a callable that scores rows, got {describe(function)}")
    return Calibrated(function, Recalibrator(kind) if recalibrator is None else recalibrator)
