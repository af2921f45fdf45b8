"""Predictions whose outcomes come late, and the order in which they are played."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from calibrant._checks import Floats, Id, as_series, as_unit_series, check_id
from calibrant.monitor.clock import Time


class Expected(NamedTuple):
    """A prediction that waits: for its outcome, or for the outcomes of older ones."""

    prediction: float
    by: Id | None
    at: Time | None
    settled: bool = False
    outcome: float | None = None


class Waiting:
    """Predictions by id, the oldest first, at most `patience` of them.

    In the order of arrival a prediction is played when its outcome comes. In the order of
    prediction it is held until all older ones are settled: by their outcome, or, without one, by
    more than `patience` predictions after it.
    """

    __slots__ = ("in_order", "named", "patience")

    def __init__(self, in_order: bool, patience: int) -> None:
        self.in_order, self.patience = in_order, patience
        self.named: dict[Id, Expected] = {}

    def open(self, id_: object, expected: Expected) -> list[Expected]:
        """Let a prediction wait; return those that may be played now that older ones expired."""
        name = check_id(id_)
        if name in self.named:
            raise ValueError(f"id {name!r} was predicted already and waits for its outcome")
        self.named[name] = expected
        if len(self.named) <= self.patience:
            return []
        return self._settled(next(iter(self.named)), None)

    def settle(self, id_: object, outcome: float | None) -> list[Expected]:
        """Take an outcome, None if it will never come; return those that may be played."""
        name = check_id(id_)
        if name not in self.named or self.named[name].settled:
            raise ValueError(f"no prediction with id {name!r} waits for its outcome")
        return self._settled(name, outcome)

    def _settled(self, name: Id, outcome: float | None) -> list[Expected]:
        """Settle a prediction; return those that may be played."""
        self.named[name] = self.named[name]._replace(settled=True, outcome=outcome)
        if not self.in_order:
            settled = self.named.pop(name)
            return [] if outcome is None else [settled]
        ready: list[Expected] = []
        while self.named and self.named[oldest := next(iter(self.named))].settled:
            ready.append(self.named.pop(oldest))
        return ready

    def check_overtaken(self) -> None:
        """Refuse a round that would overtake those that wait."""
        if self.in_order and self.named:
            raise ValueError(
                'predictions wait for their outcomes, and order="prediction": settle them first'
            )

    def as_outcomes(self, outcomes: npt.ArrayLike) -> Floats:
        """Return outcomes in [0, 1]; NaN stands for one that will never come, if one may."""
        if not self.in_order:
            return as_unit_series(outcomes, "outcomes")
        y = np.array(as_series(outcomes, "outcomes"), dtype=np.float64)
        missing = np.isnan(y)
        y = as_unit_series(np.where(missing, 0.0, y), "outcomes")
        y[missing] = np.nan
        return y
