"""Recalibrators for classes: one for two classes, otherwise one a class against the rest."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from calibrant._checks import MAX_SEED, Floats
from calibrant.recalibrate import Recalibrator


def fresh(classes: int, kind: str, seed: int) -> list[Recalibrator]:
    """Return a recalibrator for the second of two classes, or one a class; seeds count up."""
    return [
        Recalibrator(kind, seed=(seed + column) % (MAX_SEED + 1))
        for column in range(1 if classes == 2 else classes)
    ]


def learn(recalibrators: list[Recalibrator], scores: Floats, codes: npt.NDArray[np.intp]) -> None:
    """Teach each recalibrator its column of scores, and whether its class came."""
    check_columns(recalibrators, scores)
    first = 1 if len(recalibrators) == 1 else 0
    for column, recalibrator in enumerate(recalibrators):
        recalibrator.run(scores[:, column], codes == first + column)


def expected(recalibrators: list[Recalibrator], scores: Floats) -> Floats:
    """Return the probability of each class, summing to one in each row; changes nothing."""
    check_columns(recalibrators, scores)
    p = np.empty(scores.shape)
    for column, recalibrator in enumerate(recalibrators):
        p[:, column] = [recalibrator.expected(score) for score in scores[:, column]]
    return np.hstack([1.0 - p, p]) if len(recalibrators) == 1 else p / p.sum(1, keepdims=True)


def check_columns(recalibrators: list[Recalibrator], scores: Floats) -> None:
    """Refuse scores that are not one a class, such as those of pairs of classes."""
    if scores.shape[1] != len(recalibrators):
        raise ValueError(
            f"the estimator must give one score a class, {len(recalibrators)} a row, "
            f"got {scores.shape[1]}"
        )
