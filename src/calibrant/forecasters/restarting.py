"""Restarting, the paper's forecaster for an unknown deviation."""

from __future__ import annotations

from dataclasses import dataclass, replace

from calibrant._checks import check_choice, check_real, check_seed
from calibrant._kernels.paper.refined import RefinedKernel
from calibrant._kernels.paper.restartable import Restartable
from calibrant._kernels.paper.restarting import RestartingKernel
from calibrant._kernels.paper.uniform import UniformKernel
from calibrant.certificates import (
    BASES,
    CERTIFIED_MEASURES,
    CONSTANTS,
    LONGEST,
    coefficients,
    restart_delta,
)
from calibrant.forecasters.base import Forecaster, check_horizon
from calibrant.forecasters.interval import CONSTANTS as INTERVAL_CONSTANTS
from calibrant.forecasters.refined import SMALLEST_DELTA


@dataclass(frozen=True, slots=True)
class SubBlock:
    """A stretch of rounds between two restarts.

    Attributes
    ----------
    block : int
        Number b of its block, from 1, which guesses a deviation of 8^b.
    sub_block, sub_blocks : int
        Its number in the block, from 1, and how many the block may have. All but the last assume
        that the world does not change; the last assumes the block's guess.
    guess : float
        The deviation that it assumes.
    start, end : int
        Its rounds: the first, and the one after the last, or None while it lasts.
    error, threshold : float
        Its calibration error, and the error that its assumption explains. It ends when the error
        exceeds the threshold.

    Examples
    --------
    >>> from calibrant import Restarting
    >>> forecaster = Restarting()
    >>> _ = forecaster.run([0, 1] * 50)
    >>> current = forecaster.history[-1]
    >>> current.start, current.end, current.guess
    (0, None, 0.0)
    """

    block: int
    sub_block: int
    sub_blocks: int
    guess: float
    start: int
    end: int | None
    error: float
    threshold: float


def base_kernel(
    measure: str,
    base: str,
    *,
    deviation: float,
    horizon: int,
    delta: float,
    constants: str,
    seed: int = 0,
) -> Restartable:
    """Return the kernel that `Restarting` restarts; horizon 0 stands for none."""
    if base == "interval":
        cap, correction, _ = INTERVAL_CONSTANTS[constants]
        return UniformKernel(seed, deviation, float(horizon), delta, cap, correction)
    number = CERTIFIED_MEASURES.index("pseudo_l2" if base == "swap" else measure)
    tuned = constants == "tuned"
    return RefinedKernel(seed, number, deviation, float(horizon), delta, tuned, base == "swap")


class Restarting(Forecaster, RestartingKernel):
    """Run a base forecaster and restart it when its error shows that the world has changed.

    Algorithm `meta_alg_piecewise` of Liu, Luo & Ratliff, *Adaptive Calibration in Non-Stationary
    Environments*. Block b = 1, 2, ... guesses a deviation of 8^b. Its first G_b sub-blocks assume
    no deviation at all: each runs a new base until the error exceeds what stationarity
    explains, the certificate U(rounds of the sub-block, 0). One more assumes the guess and runs
    until the error exceeds U(all rounds, 8^b).

    Proved, with the constants ``"paper"`` and a horizon, for outcomes of unknown deviation C and
    unknown number K of i.i.d. segments, with probability 1 - delta: Cal1 = O~(min{sqrt(K T),
    sqrt(T) + (C T)^(1/3)}) for l1 (Theorem `combine_piecewise_cal1`), Cal2 = O~(min{K, 1 +
    C^(1/3)}) for l2, with either base (`combine_piecewise_cal2`), PKLCal likewise for pseudo_kl
    (`combine_piecewise_PKL`). For pseudo_l2 the paper states no theorem; the proof for Cal2 uses
    only properties that PCal2 also has. The paper's Table 1 also has the bound of l1 for the base
    ``"interval"``; but equal intervals for T rounds have a certificate of order sqrt(T), not
    sqrt(n) as the theorem requires, so only the stationary case is covered. The certificates with
    explicit constants are so large that at realistic horizons it never restarts
    (`calibrant.certificates`).

    The constants ``"tuned"`` use measured certificates: under stationarity, a sub-block exceeds its
    own with probability at most delta. Nothing is proved about them. They need no horizon and
    ignore one: the number of rounds so far is used instead, and twice that number to choose the
    number of sub-blocks of a block.

    Measured, mean Cal2 of l2 over 20 seeds at T = 100,000, ``"tuned"`` without a horizon against
    ``"paper"`` with it: 10 against 364 for i.i.d. outcomes of mean 0.5, 25 against 869 for two
    segments, 73 against 1169 for five, 168 against 1093 on a slow sine, 41 against 602 with a burst
    of 10,000 ones among outcomes of mean 0.3.

    Parameters
    ----------
    measure : {"l2", "l1", "pseudo_l2", "pseudo_kl"}, default "l2"
        The error that is tested, and kept small.
    base : {"refined", "interval", "swap"}, default "refined"
        What is restarted. ``"refined"`` is `Refined` with the same measure. For l1 also
        ``"interval"``, `Interval` on as many equal intervals as suit the deviation (Theorem
        `CalL1_knownC`), which needs a horizon. For l2 also ``"swap"``, `Refined` for pseudo_l2,
        tested by the Cal2 of its predictions (Corollary `Cal2_bound_implied_by_PCal2`).
    horizon, constants, seed
        As in `Refined`.
    delta : float, default 0.05
        Probability with which a sub-block (``"tuned"``) or the theorem as a whole (``"paper"``) may
        fail.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant import Restarting
    >>> means = np.repeat([0.2, 0.7], 5_000)
    >>> outcomes = np.random.default_rng(0).random(10_000) < means
    >>> forecaster = Restarting(seed=7)
    >>> predictions = forecaster.run(outcomes)
    >>> [5_000 < sub_block.start < 5_500 for sub_block in forecaster.history]
    [False, True]
    """

    __slots__ = ()

    measure: str
    base: str
    horizon: int | None
    delta: float
    constants: str

    def __init__(
        self,
        measure: str = "l2",
        *,
        base: str = "refined",
        horizon: int | None = None,
        delta: float = 0.05,
        constants: str = "tuned",
        seed: int = 0,
    ) -> None:
        check_choice("measure", measure, CERTIFIED_MEASURES)
        check_choice("base", base, BASES[measure])
        T = check_horizon(horizon, fewest=2)
        failure = check_real("delta", delta, SMALLEST_DELTA, 1.0)
        if base == "interval" and not T:
            raise ValueError("horizon must be given for the base 'interval', got None")
        if check_choice("constants", constants, CONSTANTS) == "paper":
            failure = max(restart_delta(failure, T or LONGEST), SMALLEST_DELTA)
            watched = T
        else:
            watched = 0
        U = coefficients(measure, base=base, delta=failure, constants=constants, horizon=horizon)
        restarted = base_kernel(
            measure, base, deviation=0.0, horizon=T if base == "interval" else watched,
            delta=failure, constants=constants,
        )  # fmt: skip
        name = "interval" if base == "interval" else "refined"
        super().__init__(check_seed(seed), restarted, name, measure == "l1", float(watched), U)

    @property
    def history(self) -> list[SubBlock]:
        """One record per sub-block, the current one last.

        Of the finished ones, the last 4096 are kept; `forgotten` counts the others.
        """
        rows = [*self._rows().tolist(), self._row().tolist()]
        records = [
            SubBlock(int(b), int(i), int(of), guess, int(start), int(end), error, threshold)
            for b, i, of, guess, start, end, error, threshold in rows
        ]
        return [*records[:-1], replace(records[-1], end=None)]
