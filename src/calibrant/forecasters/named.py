"""Forecasters by name, with parameters: ``zoom``, ``foster-hart:cells=46``, ``interval:horizon=T``.

A name stands for a class; parameters are those of its constructor or of its other ways to be
made, such as `FosterHart.for_horizon` and `Interval.for_deviation`, whichever takes them all. A
number may be a formula of T, the number of rounds, or C, the deviation of the stream: ``T``,
``T/10``, ``T^0.5``, ``2*C``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from calibrant import _specs
from calibrant._checks import check_seed
from calibrant.forecasters.base import Forecaster
from calibrant.forecasters.epoch import Epoch
from calibrant.forecasters.interval import Interval
from calibrant.forecasters.refined import Refined
from calibrant.forecasters.restarting import Restarting
from calibrant.forecasters.rivals import (
    AOSA,
    K29,
    AbernethyBartlettHazan,
    ExponentialWindow,
    Foster1999,
    FosterHart,
    FosterVohra,
    K29Star,
    RunningMean,
    SlidingWindow,
)
from calibrant.forecasters.swap import Swap
from calibrant.forecasters.zoom import Zoom

__all__ = ["FORECASTERS", "make", "parameters"]


def _epoch_kl(*, seed: int = 0) -> Epoch:
    return Epoch("kl", seed=seed)


#: Every forecaster that a user can name, and the ways to make it.
FORECASTERS: dict[str, Sequence[Callable[..., Forecaster]]] = {
    "zoom": (Zoom,),
    "epoch": (Epoch,),
    "epoch-kl": (_epoch_kl,),
    "interval": (Interval, Interval.for_deviation),
    "swap": (Swap,),
    "refined": (Refined,),
    "restarting": (Restarting,),
    "foster-hart": (FosterHart, FosterHart.for_horizon),
    "running-mean": (RunningMean,),
    "sliding-window": (SlidingWindow,),
    "exponential-window": (ExponentialWindow,),
    "foster-vohra": (FosterVohra, FosterVohra.for_horizon),
    "foster-1999": (Foster1999, Foster1999.for_horizon),
    "abernethy-bartlett-hazan": (AbernethyBartlettHazan, AbernethyBartlettHazan.for_horizon),
    "k29": (K29, K29.for_horizon),
    "k29-star": (K29Star, K29Star.for_horizon),
    "aosa": (AOSA, AOSA.for_horizon),
}


def make(
    spec: str, *, seed: int = 0, rounds: int | None = None, deviation: float | None = None
) -> Forecaster:
    """Return the forecaster that a spec names.

    Parameters
    ----------
    spec : str
        A name of `FORECASTERS`, or name:key=value,key=value.
    seed : int, default 0
        Seed of its draws.
    rounds, deviation : number, optional
        What T and C stand for in the spec; one that is missing must not be used there.

    Examples
    --------
    >>> from calibrant.forecasters.named import make
    >>> make("foster-hart:cells=46", seed=7)
    FosterHart(cells=46, seed=7)
    >>> make("foster-hart:horizon=T", rounds=1000)
    FosterHart(cells=10, seed=0)
    """
    maker, values = _read(spec)
    try:
        settled = _specs.settle(maker, values, {"T": rounds, "C": deviation})
        return maker(**settled, seed=check_seed(seed))
    except (ValueError, TypeError) as error:
        raise ValueError(f"forecaster {spec!r}: {error}") from None


def parameters(spec: str) -> tuple[str, dict[str, Any]]:
    """Return the name of a forecaster and its parameters as numbers and words.

    Examples
    --------
    >>> from calibrant.forecasters.named import parameters
    >>> parameters("refined:measure=l2, deviation=C")
    ('refined', {'deviation': 'C', 'measure': 'l2'})
    """
    _, values = _read(spec)
    return _specs.parse("forecaster", spec).name, _specs.plain(values)


def _read(spec: str) -> tuple[Callable[..., Forecaster], dict[str, _specs.Value]]:
    parsed = _specs.parse("forecaster", spec)
    return _specs.choose("forecaster", parsed, FORECASTERS, without=("seed",))
