"""Sleeping experts on a dyadic grid: the rates of Huang, Morgenstern, Roth & Zhang 2026."""

from __future__ import annotations

from calibrant._checks import check_seed
from calibrant._kernels.rivals.dyadic_hedge import DyadicHedgeKernel
from calibrant.forecasters.base import Forecaster


class DyadicHedge(Forecaster, DyadicHedgeKernel):
    """Refine a dyadic grid where predictions fall, and let sleeping experts correct the bias.

    Derived, not transcribed. Huang, Morgenstern, Roth & Zhang 2026, *Instance-adaptive online
    multicalibration*, refine a dyadic grid with sleeping experts and AdaNormalHedge (Luo & Schapire
    2015), and have a Cal1 of order T^(2/3) against any outcomes and sqrt(K T) over K segments, up
    to logarithms. Only their abstract and table of contents were available. The rule, its constants
    and the proof here were derived from these for this library, without groups; they may differ
    from the published ones.

    The grid starts with the one leaf [0, 1]. A leaf predicts its middle. It has two experts, which
    are awake when it predicts and claim that outcomes there are larger, and smaller, than
    predicted. Where the signs of two neighbouring leaves point towards each other, one of the two
    is drawn so that the gain of the experts does not depend on the outcome. A leaf of width w is
    split in two once it has been one of these neighbours in 1/w^2 rounds.

    Proved ([the proof](../dyadic-hedge.md)), without knowing T, K or the deviation C, against any
    opponent who does not see the draws: the expected Cal2 is of order T^(1/3) log log T, and of
    order (K log^(5/2) T + (K C)^(1/3)) log log T; and Cal1 is at most sqrt(T Cal2).

    Parameters
    ----------
    seed : int, default 0
        Seed of the draws, in [0, 2**64 - 1].

    Examples
    --------
    >>> from calibrant.forecasters.rivals import DyadicHedge
    >>> from calibrant.measures import cal2
    >>> from calibrant.streams import iid
    >>> outcomes = iid(100_000, mean=0.3, seed=1).outcomes
    >>> cal2(DyadicHedge(seed=7).run(outcomes), outcomes) < 25
    True
    """

    __slots__ = ()

    def __init__(self, *, seed: int = 0) -> None:
        super().__init__(check_seed(seed))
