"""A forecaster without regret for any decision maker: U-calibration."""

from __future__ import annotations

from typing import Self

from calibrant._bytes import Saved
from calibrant._checks import check_integer, check_seed
from calibrant._kernels.rivals.u_calibration import UCalibrationKernel
from calibrant.forecasters.base import Forecaster

#: The maximal number of gaps: a megabyte of points.
MOST_GAPS = 2**16


class UCalibration(Forecaster, UCalibrationKernel):
    """Leave no regret under any proper loss by hedging every threshold at once.

    The aim is that of Kleinberg, Paes Leme, Schneider & Teng 2023, *U-calibration: forecasting for
    an unknown agent*: every proper loss is a mixture of V-shaped ones, (v - y) sgn(p - v). The
    published algorithms follow a leader that is perturbed by random counts (Luo, Senapati & Sharan
    2024, *Optimal multiclass U-calibration error and beyond*), whose distribution in a round has no
    closed form. Here, for two outcomes, each v runs Hedge on whether to
    predict above it, with the probability sigma(eta (Y - v t)) after t rounds with the sum of
    outcomes Y. As these decrease in v, one distribution on the grid has them all as its tails. The
    derivation was made for this library.

    Proved, with the rate eta = 2 sqrt(log(2) / t) in round t: under the distributions predicted
    from, the regret for (v - y) sgn(p - v) is at most 2 sqrt(T log 2) + T/N, for every v, every T
    and any outcomes, and so twice that for every proper loss with values in [-1, 1]; this is of
    order sqrt(T), which no forecaster beats, for N = sqrt(T). Its predictions are spread over
    1/sqrt(T) around the mean of all outcomes: it is not calibrated if the mean moves.

    Parameters
    ----------
    gaps : int, default 256
        Gaps N of the grid 0, 1/N, ..., 1, in [1, 65536].
    seed : int, default 0
        Seed of the draws, in [0, 2**64 - 1].

    Examples
    --------
    >>> from calibrant.forecasters.rivals import UCalibration
    >>> from calibrant.measures import u_calibration
    >>> from calibrant.streams import Contrarian, play
    >>> game = play(UCalibration.for_horizon(10_000), Contrarian(), 10_000)
    >>> u_calibration(game.predictions, game.outcomes) < 400
    True
    """

    __slots__ = ()

    gaps: int

    def __init__(self, gaps: int = 256, *, seed: int = 0) -> None:
        super().__init__(check_seed(seed), check_integer("gaps", gaps, 1, MOST_GAPS))

    @classmethod
    def for_horizon(cls, horizon: int, *, seed: int = 0) -> Self:
        """Return the forecaster whose grid suits `horizon` rounds, sqrt(T) gaps."""
        rounds = check_integer("horizon", horizon, 1, 2**48)
        return cls(min(max(1, round(rounds**0.5)), MOST_GAPS), seed=seed)

    @classmethod
    def _check_size(cls, saved: Saved) -> None:
        """Allow any number of gaps: the state is one number, and the points are few enough."""
