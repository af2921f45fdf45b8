"""Forecasters by name, with parameters: ``zoom``, ``foster-hart:gaps=46``, ``interval:horizon=T``.

Every class that `calibrant.forecasters` and `calibrant.forecasters.rivals` export has a name, made
from its own: `FosterHart` is ``foster-hart``. Parameters are those of the class or of one of its
classmethods `for_...`, such as `FosterHart.for_horizon` and `Interval.for_deviation`: the one
that accepts them all is used. Any other classmethod has a name of its own: `Epoch.kl` is
``epoch-kl``. A number may be a formula of T, the number of rounds, or C, the deviation of the
stream: ``T``, ``T/10``, ``T^0.5``, ``2*C``.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from calibrant import _specs, forecasters
from calibrant._checks import check_seed
from calibrant.forecasters import rivals
from calibrant.forecasters.base import Forecaster

__all__ = ["FORECASTERS", "RIVALS", "make", "parameters"]

Maker = Callable[..., Forecaster]

#: Between the words of a class's name, numbers and single letters included.
WORDS = r"(?<=[a-z])(?=[A-Z\d])|(?<=\d)(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])"


def _named(package: object) -> Iterator[tuple[str, Sequence[Maker]]]:
    """Yield the name and the constructors of every forecaster that a package exports."""
    for cls in vars(package).values():
        if not (inspect.isclass(cls) and issubclass(cls, Forecaster)) or cls is Forecaster:
            continue
        name = re.sub(WORDS, "-", cls.__name__).lower()
        makers: list[Maker] = [cls]
        variants: dict[str, Sequence[Maker]] = {}
        for word, maker in inspect.getmembers(cls, inspect.ismethod):
            if word.startswith("_") or hasattr(Forecaster, word):
                continue
            if word.startswith("for_"):
                makers.append(maker)
            else:
                variants[f"{name}-{word.replace('_', '-')}"] = [maker]
        yield name, makers
        yield from variants.items()


#: The rivals among `FORECASTERS`.
RIVALS: dict[str, Sequence[Maker]] = dict(_named(rivals))
#: Every forecaster that a user can name, with its constructors.
FORECASTERS: dict[str, Sequence[Maker]] = {**dict(_named(forecasters)), **RIVALS}


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
        The values of T and C in the spec; one that is missing must not be used there.

    Examples
    --------
    >>> from calibrant.forecasters.named import make
    >>> make("foster-hart:gaps=46", seed=7)
    FosterHart(gaps=46, seed=7)
    >>> make("foster-hart:horizon=T", rounds=1000)
    FosterHart(gaps=10, seed=0)
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


def _read(spec: str) -> tuple[Maker, dict[str, _specs.Value]]:
    parsed = _specs.parse("forecaster", spec)
    return _specs.choose("forecaster", parsed, FORECASTERS, without=("seed",))
