"""The predictive distribution of a number: quantiles at some levels, and what follows from them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import NormalDist
from typing import Any, SupportsFloat

import numpy as np
import numpy.typing as npt

from calibrant._checks import Floats, check_integer, check_real, check_same_length, describe
from calibrant._kernels.numbers.number_rule import as_numbers
from calibrant.measures.quantile_functions import (
    as_levels,
    as_quantiles,
    exact_crps,
    mean_of,
    probability_below,
    quantile_at,
)


class Distribution:
    """A predictive distribution of a number, or of each of many.

    It is given by quantiles at some levels, and linear in the logit of the level between and beyond
    them, so that the tails are exponential. A quantile may be infinite, see `docs/numbers.md`. For
    many numbers, every method returns one value per row, and rows are distributions themselves.

    Parameters
    ----------
    levels : sequence of float
        Two or more, increasing, inside (0, 1).
    quantiles : array
        One per level, or a row of them for each number; they must not cross.
    seed : int or sequence of int, default 0
        The default seed of `sample`.

    Examples
    --------
    >>> from calibrant.recalibrate import Distribution
    >>> delay = Distribution([0.05, 0.25, 0.5, 0.75, 0.95], [-20, -6, 2, 15, 70])
    >>> delay.median, delay.interval(0.9)
    (2.0, (-20.0, 70.0))
    >>> round(delay.cdf(30), 2)
    0.83
    >>> two = Distribution([0.1, 0.5, 0.9], [[-1, 0, 1], [9, 10, 11]])
    >>> two.median.tolist(), two[1].quantile(0.9)
    ([0.0, 10.0], 11.0)
    """

    __slots__ = ("_levels", "_seed", "_values")

    def __init__(
        self, levels: npt.ArrayLike, quantiles: npt.ArrayLike, seed: int | Sequence[int] = 0
    ) -> None:
        self._levels = as_levels(levels)
        self._values = as_quantiles(quantiles, len(self._levels))
        self._seed = seed

    @classmethod
    def _of(cls, levels: Floats, values: Floats, seed: int | Sequence[int]) -> Distribution:
        """Return one of arrays that are known to be right."""
        made = cls.__new__(cls)
        made._levels, made._values, made._seed = levels, values, seed
        return made

    @property
    def levels(self) -> Floats:
        """The levels."""
        return self._levels

    @property
    def quantiles(self) -> Floats:
        """The quantile at each level; of many numbers, a row each."""
        return self._values

    @property
    def is_many(self) -> bool:
        """Whether these are the distributions of many numbers."""
        return self._values.ndim > 1

    def quantile(self, level: npt.ArrayLike) -> Any:
        """Return the quantile at a level, or at each of several, inside (0, 1)."""
        wanted = np.asarray(level)
        if wanted.dtype.kind not in "iuf" or not ((wanted > 0.0) & (wanted < 1.0)).all():
            raise ValueError(f"level must be inside (0, 1), got {level!r:.60}")
        found = quantile_at(self._levels, self._values, wanted)
        return self._plain(found[..., 0] if wanted.ndim == 0 else found)

    def interval(self, coverage: float = 0.9) -> tuple[Any, Any]:
        """Return the ends of the central interval with this coverage."""
        inside = check_real("coverage", coverage, 0.0, 1.0)
        if not 0.0 < inside < 1.0:
            raise ValueError(f"coverage must be inside (0, 1), got {inside!r}")
        tail = round((1.0 - inside) / 2.0, 12)  # 0.05, and no other number next to it
        low, high = self.quantile(tail), self.quantile(1.0 - tail)
        return low, high

    def cdf(self, x: npt.ArrayLike) -> Any:
        """Return the probability of at most x; of many numbers, x is one for all or one per row."""
        values = np.asarray(x, dtype=np.float64)
        if np.isnan(values).any():
            raise ValueError("x must not be NaN")
        if not self.is_many and values.ndim:
            return probability_below(self._levels, self._values[None], values)
        return self._plain(probability_below(self._levels, self._values, values))

    @property
    def median(self) -> Any:
        """The quantile at level 1/2."""
        return self.quantile(0.5)

    @property
    def mean(self) -> Any:
        """The mean, of the finite part."""
        return self._plain(mean_of(self._levels, self._values))

    def crps(self, outcome: npt.ArrayLike) -> Any:
        """Return the continuous ranked probability score of an outcome, exactly."""
        return self._plain(exact_crps(self._levels, self._values, outcome))

    def sample(self, n: int, seed: int | None = None) -> Floats:
        """Return n draws; of many numbers, a row of them each.

        Examples
        --------
        >>> from calibrant.recalibrate import Distribution
        >>> Distribution([0.1, 0.5, 0.9], [-1, 0, 1]).sample(3, seed=1).shape
        (3,)
        """
        size = check_integer("n", n, 0)
        random = np.random.default_rng(self._seed if seed is None else seed)
        p = np.clip(random.random((*self._values.shape[:-1], size)), 1e-12, 1.0 - 1e-12)
        if not self.is_many:
            return quantile_at(self._levels, self._values, p) if size else np.empty(0)
        rows = [quantile_at(self._levels, *pair) for pair in zip(self._values, p, strict=True)]
        return np.stack(rows) if rows else np.empty((0, size))

    def __len__(self) -> int:
        if not self.is_many:
            raise TypeError("a distribution of one number has no length")
        return len(self._values)

    def __bool__(self) -> bool:
        return True

    def __getitem__(self, row: int) -> Distribution:
        if not self.is_many:
            raise TypeError("a distribution of one number has no rows")
        seed = [*np.atleast_1d(self._seed).tolist(), int(row) % max(len(self), 1)]
        return Distribution._of(self._levels, self._values[row], seed)

    def __iter__(self) -> Iterator[Distribution]:
        return (self[row] for row in range(len(self)))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]:
        return np.array(self._values, dtype=dtype, copy=copy)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Distribution):
            return NotImplemented
        return np.array_equal(self._levels, other._levels) and np.array_equal(
            self._values, other._values
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        if self.is_many:
            return f"<{len(self)} distributions at {len(self._levels)} levels>"
        low, high = self.interval(0.9)
        return f"<distribution: median {self.median:.6g}, 90% in [{low:.6g}, {high:.6g}]>"

    def _plain(self, found: Floats) -> Any:
        """Return a number of one distribution as a Python float."""
        return float(found) if np.ndim(found) == 0 else found


def as_given(
    forecast: Any, quantiles: object, levels: object, scale: SupportsFloat | None, own: Floats
) -> Any:
    """Return a row for the rule: a forecast, or a forecast and what a model says at our levels."""
    if quantiles is None and scale is None:
        if levels is not None:
            raise ValueError("levels are those of quantiles, and none are given")
        if forecast is None:
            raise ValueError("forecast must be a number, NaN for none, or come with quantiles")
        if getattr(forecast, "shape", ()) != ():
            raise ValueError(f"forecast must be a number, got {describe(forecast)}")
        return forecast
    row = as_given_rows(
        None if forecast is None else [forecast],
        None if quantiles is None else [quantiles],
        levels,
        None if scale is None else [scale],
        own,
    )
    return row[0]


def as_given_rows(
    forecasts: object, quantiles: object, levels: object, scales: object, own: Floats
) -> Any:
    """Return rows for the rule: forecasts, with what a model says at our levels, if it does."""
    if quantiles is None and scales is None:
        if levels is not None:
            raise ValueError("levels are those of quantiles, and none are given")
        return as_numbers(forecasts, "forecasts", missing=True)
    if quantiles is not None and scales is not None:
        raise ValueError("a model gives quantiles or a scale, not both")
    if quantiles is not None:
        theirs = own if levels is None else as_levels(levels)
        values = as_quantiles(quantiles, len(theirs))
        if values.ndim != 2 or not np.isfinite(values).all():
            raise ValueError(
                f"quantiles must be finite, a row of {len(theirs)} each, got shape {values.shape}"
            )
        given = quantile_at(theirs, values, own)
        middle = quantile_at(theirs, values, 0.5)[:, 0]
        m = middle if forecasts is None else as_numbers(forecasts, "forecasts", missing=True)
    else:
        if levels is not None:
            raise ValueError("levels are those of quantiles, and a scale is given")
        m = as_numbers(forecasts, "forecasts", missing=False)
        spread = as_numbers(scales, "scales", missing=False)
        if not (spread > 0.0).all():
            raise ValueError("scales must be positive")
        check_same_length("forecasts", len(m), "scales", len(spread))
        given = m[:, None] + spread[:, None] * standard_normal(own)
        middle = m
    check_same_length("forecasts", len(m), "quantiles", len(given))
    m = np.where(np.isnan(m), middle, m)
    return np.ascontiguousarray(np.column_stack([m, given]))


def standard_normal(levels: Floats) -> Floats:
    """Return the quantiles of the standard normal distribution."""
    return np.array([NormalDist().inv_cdf(level) for level in levels.tolist()])
