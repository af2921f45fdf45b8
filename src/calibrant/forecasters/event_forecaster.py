"""EventForecaster, the default: sharp from the past, and calibrated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy.typing as npt

from calibrant._checks import Floats, as_listed, check_integer, check_seed
from calibrant._kernels.contexts import BUILT_IN_PERIODS, LONGEST_PERIOD, MOST_GIVEN
from calibrant._kernels.event import EventKernel
from calibrant.forecasters.memories import Memory, describe_experts, heaviest_first
from calibrant.forecasters.watched import Watched
from calibrant.monitor import Monitor


class EventForecaster(Watched, EventKernel):
    """Predict from what followed the same past before.

    Two stages. *Sharp* mixes many memories: the last outcomes, recent means, hidden states,
    seasons, the calendar. The mixture's log loss exceeds that of the best of them by little,
    whatever the outcomes; docs/events.md has the bound. *Safe*, which `Recalibrator` has too,
    places its word on a grid of points and moves it only off points that are known to be biased.
    That Cal2 stays small, for hostile outcomes too, is measured and not proved.

    Parameters
    ----------
    seed : int, default 0
        Seed of the draws, in [0, 2**64 - 1].
    periods : int or list of int, optional
        Seasons to look for, in rounds, besides 7, 24, 48, 168 and 365: at most eight, each in
        [2, 10000].
    monitor : bool, dict or Monitor, default False
        Whether to watch the expected predictions: `watched_by`. A dict has arguments of `Monitor`
        (every, tolerance, alpha, block); of a Monitor, only its arguments are taken.

    Examples
    --------
    >>> from calibrant import EventForecaster
    >>> from calibrant.measures import brier
    >>> from calibrant.streams import alternating
    >>> outcomes = alternating(1000, every=3).outcomes
    >>> forecaster = EventForecaster(seed=7)
    >>> predictions = forecaster.run(outcomes)
    >>> round(forecaster.predict(), 2), round(brier(predictions, outcomes), 3)
    (1.0, 0.005)
    """

    __slots__ = ("_monitor",)

    periods: int | list[int] | None
    monitor: bool | Mapping[str, Any]

    def __init__(
        self,
        seed: int = 0,
        *,
        periods: int | Sequence[int] | None = None,
        monitor: bool | Mapping[str, Any] | Monitor = False,
    ) -> None:
        super().__init__(check_seed(seed), self._check_periods(periods))
        self._attach(monitor)

    def _check_periods(self, periods: int | Sequence[int] | None) -> list[int]:
        """Return the periods to add to the built-in ones."""
        if periods is None:
            return []
        if hasattr(periods, "__len__"):
            given = as_listed(periods, "periods", "an integer or a list of integers")
            self._given["periods"] = given  # a list is what a saved one reads back as
        else:
            given = [periods]
        if len(given) > MOST_GIVEN:
            raise ValueError(f"periods must be at most {MOST_GIVEN}, got {len(given)}")
        checked = [check_integer("each of the periods", each, 2, LONGEST_PERIOD) for each in given]
        return [each for each in dict.fromkeys(checked) if each not in BUILT_IN_PERIODS]

    def run(self, outcomes: npt.ArrayLike, *, times: npt.ArrayLike | None = None) -> Floats:
        """Run one round an outcome and return the predictions, each made before its outcome.

        All or nothing: interrupted with Ctrl-C, it is as if `run` had not been called.

        Parameters
        ----------
        outcomes : array_like
            Numbers in [0, 1].
        times : array_like, optional
            When each outcome happens, in order.
        """
        return self._run_watched(super().run, outcomes, times=times)

    def memory(self) -> list[Memory]:
        """Return what this round's forecast draws on, the heaviest first.

        Examples
        --------
        >>> from calibrant import EventForecaster
        >>> from calibrant.streams import cycle
        >>> forecaster = EventForecaster()
        >>> _ = forecaster.run(cycle(5000, period=24, seed=1).outcomes)
        >>> heaviest = forecaster.memory()[0]
        >>> print(f"{heaviest.words}: {heaviest.weight:.0%}")
        the place in a period of 24: 99%
        """
        return heaviest_first(describe_experts(*self._described()), self._weights().tolist())
