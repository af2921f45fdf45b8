"""Interval, the paper's base forecaster for Cal1 and Cal2."""

from __future__ import annotations

import math
from typing import NamedTuple, Self

from calibrant._checks import check_choice, check_integer, check_real, check_seed
from calibrant._kernels.paper.interval import IntervalKernel
from calibrant.forecasters.base import MAX_HORIZON, Forecaster, check_horizon
from calibrant.partitions import Partition, check_resolution


class Constants(NamedTuple):
    """The numbers that the analysis of MsMwC leaves open."""

    cap: float  # no rate of an expert rises above this
    correction: float  # weight of the second-order term
    trust: float  # how much a block starts from the mean of the last; 1/2 means not at all


CONSTANTS = {
    "paper": Constants(1 / 64, 32.0, 0.5),
    # 0.53 is just enough for exp(-x - 0.53 x^2) <= 1 - x wherever |x| <= 1/16.
    "tuned": Constants(1 / 16, 0.53, 0.8),
}


class Interval(Forecaster, IntervalKernel):
    """Predict the upper end of an interval, chosen by experts on the bias of each interval.

    Algorithm `cal1_knownC` of Liu, Luo & Ratliff, *Adaptive Calibration in Non-Stationary
    Environments*, after Hu, Luo, Senapati & Sharan 2025. Each interval has one expert that gains
    when the interval predicts too high and one that gains when it predicts too low; they are
    weighted by the MsMwC algorithm of Chen, Luo & Wei 2021. Where their balance changes sign, the
    two neighbouring intervals are mixed so that, for any outcome, the experts gain nothing on
    average.

    Proved, with N intervals and the paper's constants: Cal1 = O~(sqrt(N T) + T/N) and
    Cal2 = O~(N + T/N^2) against any outcomes, hence O~(T^(2/3)) and O~(T^(1/3)) with the default
    N = ceil(T^(1/3)); with `for_deviation`, Cal1 = O~(sqrt(T) + (T C)^(1/3)). With C = 0 there, the
    decision loss is O~(sqrt(T)), whatever the outcomes, as it is for the forecaster of Hu & Wu
    2024 (docs/theorems/deviation.md).

    The constants ``"paper"`` are those of MsMwC's analysis: rates up to 1/64 and a second-order
    term of weight 32. That term is then half as large as the gains themselves and reduces every
    weight that changes, so the forecaster follows a drift with a delay. ``"tuned"`` allows rates up
    to
    1/16 and uses the smallest term for which the required inequality still holds; the regret
    bound keeps its form, but its proof has not been redone. Measured, mean Cal2 over 5 seeds with
    T = 100,000 known, ``"paper"`` against ``"tuned"``: 24 and 24 for i.i.d. outcomes of mean 0.5,
    22 and 23 of mean 0.1, 390 and 30 on a slow sine.

    Without a horizon, the rounds fall into blocks, each eight times as long as the last, the first
    of 64 rounds, and every block starts over. With ``"tuned"`` it starts from experts that favour
    the last block's mean 0.8 to 0.2, at a cost that the bound covers. The same three streams, no
    horizon: 63 and 43, 76 and 39, 298 and 51.

    Parameters
    ----------
    intervals : int, optional
        Number N of equal intervals; ceil(T^(1/3)) by default, T being the horizon.
    partition : Partition, optional
        The intervals themselves, a partition of all of [0, 1], instead of their number.
    horizon : int, optional
        Number of rounds T to tune for. More rounds are possible, without the guarantees.
    constants : {"tuned", "paper"}, default "tuned"
        Which constants the experts learn with.
    seed : int, default 0
        Seed of the draws, in [0, 2**64 - 1].

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant import Interval
    >>> outcomes = np.random.default_rng(0).random(20_000) < 0.65
    >>> forecaster = Interval(intervals=10, horizon=20_000)
    >>> values, counts = np.unique(forecaster.run(outcomes), return_counts=True)
    >>> float(values[counts.argmax()])  # the upper end of the interval around 0.65
    0.7
    """

    __slots__ = ()

    intervals: int | None
    partition: Partition | None
    horizon: int | None
    constants: str

    def __init__(
        self,
        intervals: int | None = None,
        *,
        partition: Partition | None = None,
        horizon: int | None = None,
        constants: str = "tuned",
        seed: int = 0,
    ) -> None:
        edges, count = check_resolution(intervals, partition)
        if edges is not None and (edges[0] != 0.0 or edges[-1] != 1.0):
            raise ValueError(
                "partition must cover all probabilities from 0 to 1, "
                f"got {float(edges[0])!r} to {float(edges[-1])!r}"
            )
        chosen = CONSTANTS[check_choice("constants", constants, tuple(CONSTANTS))]
        super().__init__(check_seed(seed), edges, count, float(check_horizon(horizon)), *chosen)

    @classmethod
    def for_deviation(
        cls,
        deviation: float,
        horizon: int,
        *,
        delta: float = 0.05,
        constants: str = "tuned",
        seed: int = 0,
    ) -> Self:
        """Return the forecaster whose intervals suit a known deviation (Theorem `CalL1_knownC`).

        The deviation C is how far the means of the outcomes stray from one value, summed over the
        rounds. With N = ceil(min{sqrt(T/(iota log T)), (T^2/(iota (1 + C) log T))^(1/3)}) intervals
        and iota = log(T/delta), Cal1 = O~(sqrt(T) + (T C)^(1/3)) with probability 1 - delta.

        Examples
        --------
        >>> from calibrant import Interval
        >>> Interval.for_deviation(0, 100_000).intervals
        25
        >>> Interval.for_deviation(100_000, 100_000).intervals
        9
        """
        T = check_integer("horizon", horizon, 2, MAX_HORIZON)
        C = check_real("deviation", deviation, 0.0, T)
        failure = check_real("delta", delta, 1e-300, 1.0)
        logs = math.log(T / failure) * math.log(T)
        N = math.ceil(min(math.sqrt(T / logs), (T**2 / ((1 + C) * logs)) ** (1 / 3)))
        return cls(N, horizon=T, constants=constants, seed=seed)
