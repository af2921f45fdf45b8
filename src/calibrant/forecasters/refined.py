"""Refined, the paper's forecaster for a known deviation."""

from __future__ import annotations

from calibrant._checks import check_choice, check_real, check_seed
from calibrant._kernels.paper.refined import RefinedKernel
from calibrant.certificates import CERTIFIED_MEASURES, CONSTANTS
from calibrant.forecasters.base import MAX_HORIZON, Forecaster, check_horizon

SMALLEST_DELTA = 1e-300


class Refined(Forecaster, RefinedKernel):
    """Predict from intervals that are fine where the truth is expected, and coarse elsewhere.

    Algorithms `framework_non_uniform` and `framework_non_uniform_PKLCal` of Liu, Luo & Ratliff,
    *Adaptive Calibration in Non-Stationary Environments*. Epoch m lasts 2^m rounds. Around the
    mean outcome so far it cuts an inner region into fine intervals, and outside it bands that
    double in width; on these it runs `Interval` (measures l1 and l2) or `Swap` (pseudo_l2 with the
    squared loss, pseudo_kl with the log loss, in angles) from scratch.

    Proved, with the constants ``"paper"``, a horizon T and outcomes of deviation at most C,
    each with probability 1 - delta: Cal1 = O~(sqrt(T) + (C T)^(1/3)) for l1 (Theorem
    `cal1_better`), Cal2 = O~(1 + C^(1/3)) for l2 (`cal2_approach1`), PCal2 and Cal2 = O~(1 +
    C^(1/3)) for pseudo_l2 (`PCal2_bound`), PKLCal = O~(1 + C^(1/3)) for pseudo_kl
    (`PKLCal_bound_knownC`). Without a horizon, each epoch takes T = 2^(m+1), twice its length.

    The constants ``"tuned"`` keep the form of the algorithm and change its numbers: the mean of
    all rounds instead of the last epoch's, a radius of 1.5 standard errors, an edge at that mean,
    experts that start from it, intervals that predict their end nearest to it, learners of Swap
    that count it as a quarter of its rounds. They need no horizon and ignore one. There is
    an argument, but no proof, that the guarantees keep their order.

    Measured, mean over 20 seeds at T = 100,000 and deviation 0, i.i.d. outcomes of mean 0.5 and
    0.05, ``"tuned"`` against ``"paper"``, no horizon given: Cal1 of l1 471 and 200 against 2043 and
    2031; Cal2 of l2 10 and 2 against 144 and 131; PCal2 of pseudo_l2 10 and 2.6 against 67 and 48;
    PKLCal of pseudo_kl 22 and 20 against 144 and 252. With the horizon given, l2 with ``"paper"``
    has 165 at mean 0.5.

    Parameters
    ----------
    measure : {"l2", "l1", "pseudo_l2", "pseudo_kl"}, default "l2"
        The calibration error to keep small.
    deviation : float, default 0.0
        C: the distance of the means of the outcomes from a single value, summed over all rounds.
    horizon : int, optional
        Number of rounds T to tune for; at least 2. Only ``"paper"`` uses it.
    delta : float, default 0.05
        Probability with which the guarantees may fail. Only ``"paper"`` uses it.
    constants : {"tuned", "paper"}, default "tuned"
        Which numbers to run with.
    seed : int, default 0
        Seed of the draws, in [0, 2**64 - 1].

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant import Refined
    >>> outcomes = np.random.default_rng(0).random(20_000) < 0.7
    >>> forecaster = Refined(seed=7)
    >>> predictions = forecaster.run(outcomes)
    >>> bool(abs(predictions[-1000:].mean() - 0.7) < 0.01)
    True
    >>> forecaster.epoch, forecaster.error < 10
    (14, True)
    """

    __slots__ = ()

    measure: str
    deviation: float
    horizon: int | None
    delta: float
    constants: str

    def __init__(
        self,
        measure: str = "l2",
        *,
        deviation: float = 0.0,
        horizon: int | None = None,
        delta: float = 0.05,
        constants: str = "tuned",
        seed: int = 0,
    ) -> None:
        number = CERTIFIED_MEASURES.index(check_choice("measure", measure, CERTIFIED_MEASURES))
        T = check_horizon(horizon, fewest=2)
        C = check_real("deviation", deviation, 0.0, T or MAX_HORIZON)
        failure = check_real("delta", delta, SMALLEST_DELTA, 1.0)
        tuned = check_choice("constants", constants, CONSTANTS) == "tuned"
        super().__init__(check_seed(seed), number, C, float(T), failure, tuned)
