"""A river regressor with prediction intervals that stay calibrated. Needs the extra ``river``."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from calibrant._checks import Id, check_real, describe
from calibrant.integrations import weight_in
from calibrant.recalibrate import Distribution, NumberRecalibrator

try:
    from river import base, conf
except ImportError as error:
    raise ImportError(
        "calibrant.integrations.river needs river: pip install 'calibrant[river]'"
    ) from error

__all__ = ["CalibratedRegressor"]


class CalibratedRegressor(base.Wrapper[base.Regressor], base.Regressor):
    """Give a river regressor prediction intervals that keep their coverage while both learn.

    ``learn_one(x, y)`` takes the model's forecast for x before it learns y, teaches it x and y, and
    gives the forecast and the outcome to a `NumberRecalibrator`, which so learns only out of
    sample. ``predict_one`` changes nothing; with ``with_interval=True`` it returns an interval.

    Outcomes that arrive late are given by id: ``open_one(x, id=...)`` predicts and waits, and
    ``learn_one(x, y, id=...)`` teaches both.

    Parameters
    ----------
    model : river.base.Regressor
        Any regressor, pipelines included.
    coverage : float, default 0.9
        Of the intervals, inside (0, 1).
    **options
        For `NumberRecalibrator`: levels, periods, bounds, capacity, ...

    Examples
    --------
    >>> from random import Random
    >>> from river import linear_model
    >>> from calibrant.integrations.river import CalibratedRegressor
    >>> model = CalibratedRegressor(linear_model.LinearRegression(), coverage=0.8)
    >>> random = Random(1)
    >>> for t in range(2000):
    ...     x = {"a": random.random()}
    ...     model.learn_one(x, 3 * x["a"] + random.gauss(0, 1))
    >>> interval = model.predict_one({"a": 0.5}, with_interval=True)
    >>> interval.lower < model.predict_one({"a": 0.5}) < interval.upper
    True
    >>> 2.0 < interval.width < 3.2                     # of the true distribution, 2.56
    True
    """

    def __init__(self, model: base.Regressor, *, coverage: float = 0.9, **options: Any) -> None:
        if isinstance(model, type) or not hasattr(model, "predict_one"):
            raise ValueError(f"model must be a regressor with predict_one, got {describe(model)}")
        self.model = model
        self.coverage = check_real("coverage", coverage, 0.0, 1.0)
        if self.coverage in (0.0, 1.0):
            raise ValueError(f"coverage must be inside (0, 1), got {coverage!r}")
        self.options = options
        self.recalibrator = NumberRecalibrator(**options)

    @property
    def _wrapped_model(self) -> base.Regressor:
        return self.model

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        from river import linear_model, preprocessing  # noqa: PLC0415 - for river's checks

        yield {"model": preprocessing.StandardScaler() | linear_model.LinearRegression()}

    def _forecast(self, x: dict[Any, Any], **kwargs: Any) -> float:
        forecast = self.model.predict_one(x, **kwargs)
        return float(forecast) if forecast is not None and math.isfinite(forecast) else math.nan

    def predict_distribution_one(self, x: dict[Any, Any], **kwargs: Any) -> Distribution:
        """Return the calibrated distribution of the outcome; changes nothing."""
        return self.recalibrator.distribution(self._forecast(x, **kwargs))

    def predict_one(self, x: dict[Any, Any], with_interval: bool = False, **kwargs: Any) -> Any:
        """Return the model's own forecast, or with ``with_interval=True`` an interval."""
        if not with_interval:
            return self.model.predict_one(x, **kwargs)
        low, high = self.predict_distribution_one(x, **kwargs).interval(self.coverage)
        return conf.Interval(low, high)

    def open_one(self, x: dict[Any, Any], *, id: Id) -> Distribution:  # noqa: A002
        """Predict a row whose outcome arrives late, by this id."""
        return self.recalibrator.predict(self._forecast(x), id=id)

    def learn_one(
        self,
        x: dict[Any, Any],
        y: float,
        *,
        id: Id | None = None,  # noqa: A002
        **kwargs: Any,
    ) -> None:
        """Learn an outcome: of a row that was opened by this id, or of one seen only now.

        A weight, ``w``, says how much it teaches the model and the recalibrator.
        """
        weight = weight_in(kwargs)
        if id is None:
            self.recalibrator.predict(self._forecast(x))
        self.recalibrator.update(y, id=id, weight=weight)
        self.model.learn_one(x, y, **kwargs)
