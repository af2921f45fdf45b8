"""Forecasters that are only sharp: tables of means by past outcomes, and context trees."""

from __future__ import annotations

from calibrant._checks import check_integer, check_seed
from calibrant._kernels.rivals.context_tree import ContextTreeKernel
from calibrant._kernels.rivals.outcome_tables import MarkovTableKernel, SeasonalTableKernel
from calibrant.forecasters.base import Forecaster


class MarkovTable(Forecaster, MarkovTableKernel):
    """Predict the mean of the outcomes that followed the same past before, by Laplace's rule.

    Folklore. Optimal for a Markov chain of this order; nothing is proved about its
    calibration, and it cannot handle a longer memory or a changing world.

    Parameters
    ----------
    order : int, default 4
        The number of past outcomes used, in [1, 16].
    seed
        As in `RunningMean`.

    Examples
    --------
    >>> from calibrant.forecasters.rivals import MarkovTable
    >>> forecaster = MarkovTable(1)
    >>> _ = forecaster.run([0, 1, 0, 1, 0])
    >>> forecaster.predict()  # a 0 was followed by a 1 twice
    0.6
    """

    __slots__ = ()

    order: int

    def __init__(self, order: int = 4, *, seed: int = 0) -> None:
        super().__init__(check_seed(seed), check_integer("order", order, 1, 16))


class SeasonalTable(Forecaster, SeasonalTableKernel):
    """Predict the mean of the outcomes in the same phase of a period, by Laplace's rule.

    Folklore. Nothing is proved about its calibration.

    Parameters
    ----------
    period : int, default 24
        Rounds of a season, in [2, 100000].
    seed
        As in `RunningMean`.

    Examples
    --------
    >>> from calibrant.forecasters.rivals import SeasonalTable
    >>> forecaster = SeasonalTable(2)
    >>> _ = forecaster.run([0, 1, 0, 1])
    >>> forecaster.predict()
    0.25
    """

    __slots__ = ()

    period: int

    def __init__(self, period: int = 24, *, seed: int = 0) -> None:
        super().__init__(check_seed(seed), check_integer("period", period, 2, 100_000))


class ContextTree(Forecaster, ContextTreeKernel):
    """Mix all Markov chains of variable order up to a depth: context-tree weighting.

    Willems, Shtarkov & Tjalkens (1995), The context-tree weighting method: basic properties. Its
    log loss exceeds that of any such chain by a known amount for each of its contexts (their
    Theorem 2). There is no guarantee of calibration, and it forgets nothing.

    Parameters
    ----------
    depth : int, default 8
        The longest past that is used, in [1, 16]; a tree has 2^(depth + 1) - 1 nodes.
    seed
        As in `RunningMean`.

    Examples
    --------
    >>> from calibrant.forecasters.rivals import ContextTree
    >>> forecaster = ContextTree(depth=3)
    >>> _ = forecaster.run([0, 0, 1] * 20)
    >>> forecaster.predict() < 0.1
    True
    """

    __slots__ = ()

    depth: int

    def __init__(self, depth: int = 8, *, seed: int = 0) -> None:
        super().__init__(check_seed(seed), check_integer("depth", depth, 1, 16))
