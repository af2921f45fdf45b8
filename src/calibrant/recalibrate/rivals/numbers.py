"""What others do to keep prediction intervals of numbers calibrated, over whole streams.

Each tracks every level by itself, with the residual as its score, as their sources do for one. None
of the sources says what to do about outcomes that arrive late: these are used when they come, in
the state of that moment, and level by level against what was predicted.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
import numpy.typing as npt

from calibrant._checks import Floats, check_integer, check_real, check_same_length
from calibrant._kernels.numbers import number_rivals as kernels
from calibrant._kernels.numbers.number_rule import as_numbers
from calibrant.measures.quantile_functions import as_levels
from calibrant.recalibrate.distribution import standard_normal

#: The rates that DtACI and AgACI choose from.
RATES = (0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.128)


class NumberRival(ABC):
    """A recalibrator of numbers that plays whole streams.

    Examples
    --------
    >>> from calibrant.recalibrate.rivals import ACI, NumberRival
    >>> isinstance(ACI([0.05, 0.95]), NumberRival)
    True
    >>> ACI([0.05, 0.95]).run([1.0, 2.0, 3.0], [1.5, 2.5, 2.0]).shape
    (3, 2)
    """

    def __init__(self, levels: npt.ArrayLike) -> None:
        self.levels = as_levels(levels)

    @abstractmethod
    def _quantiles(self, residuals: Floats, late: int) -> Floats:
        """Return quantiles of residuals, each known so many rounds late, a row per round."""

    def run(self, forecasts: npt.ArrayLike, outcomes: npt.ArrayLike, *, late: int = 0) -> Floats:
        """Return quantiles of each outcome, from those known `late` rounds and one before it."""
        m = as_numbers(forecasts, "forecasts", missing=False)
        y = as_numbers(outcomes, "outcomes", missing=False)
        check_same_length("forecasts", len(m), "outcomes", len(y))
        predicted = self._quantiles(y - m, check_integer("late", late, 0))
        return np.asarray(m[:, None] + predicted)


class SplitConformal(NumberRival):
    """Empirical quantiles of the last residuals (Vovk et al., 2005); of all with window=0.

    Examples
    --------
    >>> from calibrant.recalibrate.rivals import SplitConformal
    >>> SplitConformal([0.1, 0.9]).run([1.0, 2.0, 3.0], [1.5, 1.5, 3.5]).shape
    (3, 2)
    """

    def __init__(self, levels: npt.ArrayLike, window: int = 500) -> None:
        super().__init__(levels)
        self.window = check_integer("window", window, 0)

    def _quantiles(self, residuals: Floats, late: int) -> Floats:
        return kernels.split(residuals, late, self.levels, self.window)


class ACI(NumberRival):
    """Adaptive conformal inference: the level follows its misses (Gibbs and Candes, 2021).

    Examples
    --------
    >>> from calibrant.recalibrate.rivals import ACI
    >>> ACI([0.1, 0.9]).run([1.0, 2.0, 3.0], [1.5, 1.5, 3.5]).shape
    (3, 2)
    """

    def __init__(self, levels: npt.ArrayLike, rate: float = 0.01, window: int = 500) -> None:
        super().__init__(levels)
        self.rate = check_real("rate", rate, 0.0, 1.0)
        self.window = check_integer("window", window, 1)

    def _quantiles(self, residuals: Floats, late: int) -> Floats:
        return kernels.aci(residuals, late, self.levels, self.window, self.rate)


class DtACI(NumberRival):
    """ACI at several rates, weighed by their losses (Gibbs and Candes, 2022).

    Examples
    --------
    >>> from calibrant.recalibrate.rivals import DtACI
    >>> DtACI([0.1, 0.9]).run([1.0, 2.0, 3.0], [1.5, 1.5, 3.5]).shape
    (3, 2)
    """

    def __init__(
        self, levels: npt.ArrayLike, rates: Sequence[float] = RATES, window: int = 500
    ) -> None:
        super().__init__(levels)
        self.rates = np.array([check_real("each of the rates", each, 0.0, 1.0) for each in rates])
        self.window = check_integer("window", window, 1)

    def _quantiles(self, residuals: Floats, late: int) -> Floats:
        return kernels.dtaci(residuals, late, self.levels, self.window, self.rates)


class AgACI(DtACI):
    """ACI at several rates, whose quantiles are aggregated by BOA (Zaffran et al., 2022).

    Examples
    --------
    >>> from calibrant.recalibrate.rivals import AgACI
    >>> AgACI([0.1, 0.9]).run([1.0, 2.0, 3.0], [1.5, 1.5, 3.5]).shape
    (3, 2)
    """

    def _quantiles(self, residuals: Floats, late: int) -> Floats:
        return kernels.agaci(residuals, late, self.levels, self.window, self.rates)


class SAOCP(NumberRival):
    """Strongly adaptive online conformal prediction (Bhatnagar et al., 2023).

    Examples
    --------
    >>> from calibrant.recalibrate.rivals import SAOCP
    >>> SAOCP([0.1, 0.9]).run([1.0, 2.0, 3.0], [1.5, 1.5, 3.5]).shape
    (3, 2)
    """

    def _quantiles(self, residuals: Floats, late: int) -> Floats:
        return kernels.saocp(residuals, late, self.levels)


class ConformalPID(NumberRival):
    """Quantile tracking with an integrator, without a scorecaster (Angelopoulos et al., 2023).

    Examples
    --------
    >>> from calibrant.recalibrate.rivals import ConformalPID
    >>> ConformalPID([0.1, 0.9]).run([1.0, 2.0, 3.0], [1.5, 1.5, 3.5]).shape
    (3, 2)
    """

    def __init__(self, levels: npt.ArrayLike, rate: float = 0.1) -> None:
        super().__init__(levels)
        self.rate = check_real("rate", rate, 0.0, 10.0)

    def _quantiles(self, residuals: Floats, late: int) -> Floats:
        return kernels.pid(residuals, late, self.levels, self.rate)


class MultiQT(NumberRival):
    """Trackers of all levels, pooled so that they do not cross (Ding et al., 2025).

    With a `base` they correct those quantiles of a normal distribution that forgets as GaussianEWMA
    does.

    Examples
    --------
    >>> from calibrant.recalibrate.rivals import MultiQT
    >>> MultiQT([0.1, 0.9]).run([1.0, 2.0, 3.0], [1.5, 1.5, 3.5]).shape
    (3, 2)
    """

    def __init__(
        self, levels: npt.ArrayLike, rate: float = 0.05, base: float | None = None
    ) -> None:
        super().__init__(levels)
        self.rate = check_real("rate", rate, 0.0, 10.0)
        self.base = None if base is None else check_real("base", base, 0.0, 1.0)

    def _quantiles(self, residuals: Floats, late: int) -> Floats:
        under = np.zeros((len(residuals), len(self.levels)))
        if self.base is not None:
            under = kernels.gauss(residuals, late, standard_normal(self.levels), self.base)
        return kernels.multiqt(residuals, late, self.levels, self.rate, under)


class GaussianEWMA(NumberRival):
    """A normal distribution with an exponentially weighted variance (RiskMetrics, 1996).

    Examples
    --------
    >>> from calibrant.recalibrate.rivals import GaussianEWMA
    >>> GaussianEWMA([0.1, 0.9]).run([1.0, 2.0, 3.0], [1.5, 1.5, 3.5]).shape
    (3, 2)
    """

    def __init__(self, levels: npt.ArrayLike, keep: float = 0.94) -> None:
        super().__init__(levels)
        self.keep = check_real("keep", keep, 0.0, 1.0)

    def _quantiles(self, residuals: Floats, late: int) -> Floats:
        return kernels.gauss(residuals, late, standard_normal(self.levels), self.keep)


class NormalisedSplit(NumberRival):
    """Split conformal of residuals divided by an exponentially weighted standard deviation.

    Examples
    --------
    >>> from calibrant.recalibrate.rivals import NormalisedSplit
    >>> NormalisedSplit([0.1, 0.9]).run([1.0, 2.0, 3.0], [1.5, 1.5, 3.5]).shape
    (3, 2)
    """

    def __init__(self, levels: npt.ArrayLike, window: int = 500, keep: float = 0.94) -> None:
        super().__init__(levels)
        self.window = check_integer("window", window, 1)
        self.keep = check_real("keep", keep, 0.0, 1.0)

    def _quantiles(self, residuals: Floats, late: int) -> Floats:
        return kernels.normalised_split(residuals, late, self.levels, self.window, self.keep)


def quantile_tracking(
    scores: npt.ArrayLike, coverage: float = 0.9, rate: float = 0.1, burn_in: int = 100
) -> Floats:
    """Return the P control of the conformal PID paper: thresholds of scores.

    For an interval at 90%, as there, the residual is tracked at 0.95, and so is its negative.

    Steps are `rate` times the range of the last `burn_in` scores; nothing is learned before.

    Examples
    --------
    >>> from calibrant.recalibrate.rivals.numbers import quantile_tracking
    >>> quantile_tracking([1.0, 3.0, 2.0], burn_in=1).round(3).tolist()
    [0.0, 0.0, 0.18]
    """
    s = as_numbers(scores, "scores", missing=False)
    alpha = 1.0 - check_real("coverage", coverage, 0.0, 1.0)
    first = check_integer("burn_in", burn_in, 1)
    thresholds = np.zeros(len(s))
    for t in range(first, len(s) - 1):
        last = s[t - first : t + 1]
        step = rate * float(last.max() - last.min())
        thresholds[t + 1] = thresholds[t] + step * (float(s[t] > thresholds[t]) - alpha)
    return thresholds


#: Every rival at the settings that it is compared at, by name: each takes levels.
SETTINGS: dict[str, Callable[[npt.ArrayLike], NumberRival]] = {
    **{f"split {w or 'all'}": partial(SplitConformal, window=w) for w in (100, 500, 0)},
    **{f"ACI {rate}": partial(ACI, rate=rate) for rate in (0.005, 0.01, 0.05)},
    "DtACI": DtACI,
    "AgACI": AgACI,
    "SAOCP": SAOCP,
    **{f"PID {rate}": partial(ConformalPID, rate=rate) for rate in (0.02, 0.1, 0.5)},
    **{f"MultiQT {rate}": partial(MultiQT, rate=rate) for rate in (0.01, 0.05, 0.1)},
    **{f"Gaussian {keep}": partial(GaussianEWMA, keep=keep) for keep in (0.94, 0.97, 0.99)},
    "MultiQT on Gaussian": partial(MultiQT, rate=0.01, base=0.94),
    "normalised split": NormalisedSplit,
}
