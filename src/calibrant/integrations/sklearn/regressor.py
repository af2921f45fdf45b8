"""A scikit-learn regressor with prediction intervals that stay calibrated, batch by batch."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, MetaEstimatorMixin, RegressorMixin, clone
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import Ridge
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d

from calibrant._checks import Floats, check_integer
from calibrant.recalibrate import Distribution, NumberRecalibrator


def heavy(weights: Any, start: int = 0, stop: int | None = None) -> dict[str, Any]:
    """Return the weights of some rows as an estimator takes them; nothing without any."""
    return {} if weights is None else {"sample_weight": weights[start:stop]}


class OnlineCalibratedRegressor(RegressorMixin, MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """Recalibrate a regressor's forecasts, out of sample, and continue with every new batch.

    ``fit`` takes rows in order of time, oldest first: it cuts them into ``cv + 1`` stretches, and a
    clone of the estimator that is fitted on all rows before a stretch forecasts it, which teaches a
    `NumberRecalibrator`. In the end the estimator is fitted on everything. Of a
    ``FrozenEstimator``, a model deployed already, all rows teach the recalibrator; it must not have
    been fitted on them. ``partial_fit`` continues with later rows: the recalibrator learns first,
    then the estimator, if it has ``partial_fit``.

    Parameters
    ----------
    estimator : regressor, default None
        What to recalibrate; None stands for ``Ridge()``.
    cv : int, default 5
        Stretches that teach the recalibrator in ``fit``.
    periods : sequence of int, default ()
        Seasons of the residuals, counted in rows, as in `NumberRecalibrator`.
    bounds : (low, high), optional
        What outcomes cannot be below or above.

    Attributes
    ----------
    estimator_ : regressor
        The fitted estimator, or the frozen one.
    recalibrator_ : NumberRecalibrator
        What has learned its errors.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant.integrations.sklearn import OnlineCalibratedRegressor
    >>> random = np.random.default_rng(0)
    >>> X = random.normal(size=(3000, 2))
    >>> y = X @ [1.0, -2.0] + random.normal(size=3000)
    >>> model = OnlineCalibratedRegressor().fit(X[:2000], y[:2000])
    >>> low, high = model.predict_interval(X[2000:], 0.9).T
    >>> bool(abs(((y[2000:] > low) & (y[2000:] < high)).mean() - 0.9) < 0.03)
    True
    >>> model.predict_quantile(X[2000:], [0.1, 0.5, 0.9]).shape
    (1000, 3)
    """

    def __init__(
        self, estimator: Any = None, *, cv: int = 5, periods: Any = (), bounds: Any = None
    ) -> None:
        self.estimator = estimator
        self.cv = cv
        self.periods = periods
        self.bounds = bounds

    def _fresh(self) -> Any:
        model = Ridge() if self.estimator is None else self.estimator
        return model if isinstance(model, FrozenEstimator) else clone(model)

    def fit(self, X: Any, y: npt.ArrayLike, sample_weight: npt.ArrayLike | None = None) -> Self:
        """Learn from rows in order of time, oldest first.

        What rows weigh, `sample_weight`, says how much each teaches the estimator, which must take
        weights, and the recalibrator.
        """
        check_consistent_length(X, y, sample_weight)
        weights = None if sample_weight is None else column_or_1d(sample_weight)
        outcomes = column_or_1d(y, dtype=np.float64)
        folds = check_integer("cv", self.cv, 1)
        self.recalibrator_ = NumberRecalibrator(periods=self.periods, bounds=self.bounds)
        self.estimator_ = self._fresh()
        if isinstance(self.estimator_, FrozenEstimator):
            self.recalibrator_.run(self.estimator_.predict(X), outcomes, weights=weights)
            return self
        if len(outcomes) <= folds:
            raise ValueError(f"cv={folds} needs more than {folds} rows, got {len(outcomes)}")
        cuts = np.linspace(0, len(outcomes), folds + 2).astype(int)
        for start, stop in zip(cuts[1:-1].tolist(), cuts[2:].tolist(), strict=True):
            before = _safe_indexing(X, slice(0, start))
            model = self._fresh().fit(before, outcomes[:start], **heavy(weights, 0, start))
            forecasts = model.predict(_safe_indexing(X, slice(start, stop)))
            some = None if weights is None else weights[start:stop]
            self.recalibrator_.run(forecasts, outcomes[start:stop], weights=some)
        self.estimator_.fit(X, outcomes, **heavy(weights))
        return self

    def partial_fit(
        self, X: Any, y: npt.ArrayLike, sample_weight: npt.ArrayLike | None = None
    ) -> Self:
        """Go on with later rows, oldest first; `sample_weight` as in ``fit``."""
        check_is_fitted(self, "estimator_")
        check_consistent_length(X, y, sample_weight)
        weights = None if sample_weight is None else column_or_1d(sample_weight)
        outcomes = column_or_1d(y, dtype=np.float64)
        self.recalibrator_.run(self.estimator_.predict(X), outcomes, weights=weights)
        if hasattr(self.estimator_, "partial_fit"):
            self.estimator_.partial_fit(X, outcomes, **heavy(weights))
        return self

    def predict(self, X: Any) -> Floats:
        """Return the estimator's own forecasts."""
        check_is_fitted(self, "estimator_")
        return np.asarray(self.estimator_.predict(X), dtype=np.float64)

    def predict_distribution(self, X: Any) -> Distribution:
        """Return the calibrated distribution of each row from the current state."""
        forecasts = self.predict(X)
        # A copy looks, so that asking changes nothing.
        looking = NumberRecalibrator.from_bytes(self.recalibrator_.to_bytes())
        return looking.predict_many(forecasts)

    def predict_interval(self, X: Any, coverage: float = 0.9) -> Floats:
        """Return the ends of the central interval of each row, in two columns."""
        return np.column_stack(self.predict_distribution(X).interval(coverage))

    def predict_quantile(self, X: Any, levels: npt.ArrayLike) -> Floats:
        """Return the quantiles of each row, a column per level."""
        return np.asarray(self.predict_distribution(X).quantile(np.atleast_1d(levels)))
