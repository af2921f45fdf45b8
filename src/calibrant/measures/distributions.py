"""The distributions that a randomised forecaster drew its predictions from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from calibrant._checks import Floats, as_series, as_unit_series, check_same_length, describe

Pair: TypeAlias = tuple[npt.ArrayLike, npt.ArrayLike]

# How far the weights of a round may be from 1 in sum: rounding, and no more.
TOLERANCE = 1e-9


@dataclass(frozen=True, eq=False, repr=False)
class Distributions:
    """One distribution over predictions per round, in three flat arrays.

    The distribution of round t puts ``weights[starts[t]:starts[t + 1]]`` on
    ``points[starts[t]:starts[t + 1]]``. Indexing and iteration give such pairs of arrays.

    Parameters
    ----------
    points : array_like of shape (S,)
        Predictions in [0, 1]; S is the size of all supports together.
    weights : array_like of shape (S,)
        Their probabilities; those of a round sum to 1.
    starts : array_like of shape (T + 1,)
        Where each round starts: 0 first, S last, always growing.

    Examples
    --------
    >>> rounds = Distributions([0.2, 0.4, 0.3], [0.5, 0.5, 1.0], [0, 2, 3])
    >>> len(rounds)
    2
    >>> rounds[1]
    (array([0.3]), array([1.]))
    """

    points: Floats
    weights: Floats
    starts: npt.NDArray[np.int64]

    def __post_init__(self) -> None:
        points = as_unit_series(self.points, "points")
        weights = as_unit_series(self.weights, "weights")
        check_same_length("points", len(points), "weights", len(weights))
        starts = as_series(self.starts, "starts")
        if starts.dtype.kind not in "iu" or len(starts) == 0:
            raise ValueError(
                f"starts must be integers, at least one, got {len(starts)} of dtype {starts.dtype}"
            )
        starts = np.ascontiguousarray(starts, dtype=np.int64)
        if starts[0] != 0 or starts[-1] != len(points):
            raise ValueError(
                f"starts must go from 0 to the number of points, {len(points)}, "
                f"got {starts[0]} to {starts[-1]}"
            )
        empty = np.diff(starts) <= 0
        if empty.any():
            raise ValueError(f"starts must grow: round {int(empty.argmax())} has no points")
        if len(starts) > 1:
            totals = np.add.reduceat(weights, starts[:-1])
            wrong = np.abs(totals - 1.0) > TOLERANCE
            if wrong.any():
                first = int(wrong.argmax())
                raise ValueError(
                    f"weights must sum to 1 in every round, got {float(totals[first])!r} "
                    f"in round {first}"
                )
        for name, array in (("points", points), ("weights", weights), ("starts", starts)):
            object.__setattr__(self, name, array)

    @classmethod
    def from_pairs(cls, pairs: Iterable[Pair]) -> Distributions:
        """Join (points, weights) pairs, one per round.

        Examples
        --------
        >>> Distributions.from_pairs([([0.2, 0.4], [0.5, 0.5]), ([0.3], [1.0])])
        <Distributions: 2 rounds, 3 points>
        """
        points, weights, sizes = [], [], [0]
        for position, pair in enumerate(pairs):
            try:
                some_points, some_weights = pair
            except (TypeError, ValueError):
                raise ValueError(
                    "distributions must hold a pair (points, weights) per round, "
                    f"got {describe(pair)} at position {position}"
                ) from None
            points.append(as_unit_series(some_points, f"points of round {position}"))
            weights.append(as_unit_series(some_weights, f"weights of round {position}"))
            sizes.append(len(points[-1]))
            check_same_length(
                f"points of round {position}", sizes[-1], "its weights", len(weights[-1])
            )
        nothing = np.empty(0)  # lets no rounds at all be joined
        return cls(
            np.concatenate([nothing, *points]),
            np.concatenate([nothing, *weights]),
            np.cumsum(sizes),
        )

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __getitem__(self, round_: int) -> tuple[Floats, Floats]:
        rounds = len(self)
        if not -rounds <= round_ < rounds:
            raise IndexError(f"round {round_} of {rounds}")
        at = round_ % rounds
        support = slice(self.starts[at], self.starts[at + 1])
        return self.points[support], self.weights[support]

    def __iter__(self) -> Iterator[tuple[Floats, Floats]]:
        return (self[round_] for round_ in range(len(self)))

    def __repr__(self) -> str:
        return f"<Distributions: {len(self)} rounds, {len(self.points)} points>"
