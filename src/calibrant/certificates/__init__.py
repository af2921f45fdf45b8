"""What error stationarity explains: the certificates U(n, C) of each measure."""

from __future__ import annotations

import math
from typing import NamedTuple

from calibrant._checks import check_choice

MEASURES = ("l1", "l2", "pseudo_l2", "pseudo_kl")


class Coefficients(NamedTuple):
    """U(n, C) = c0 + c1 M + (d0 + d1 M) C^(1/3), M = log2(n + 1).

    For l1, U(n, C) = c0 sqrt(n) + d0 (C n)^(1/3).
    """

    c0: float
    c1: float
    d0: float
    d1: float


def coefficients(
    measure: str, *, delta: float = 0.05, constants: str = "tuned", horizon: int | None = None
) -> Coefficients:
    """Return the coefficients of a measure's certificate at level delta.

    Examples
    --------
    >>> from calibrant.certificates import coefficients
    >>> coefficients("l1", delta=1.0)
    Coefficients(c0=2.34, c1=0.0, d0=1.5, d1=0.0)
    """
    check_choice("measure", measure, MEASURES)
    if check_choice("constants", constants, ("tuned", "paper")) == "tuned":
        level = math.log(1 / delta)
        return {
            "l1": Coefficients(2.34 + 0.27 * level, 0.0, 1.5, 0.0),
            "l2": Coefficients(1.3 * level - 0.9, 1.0, 12.0, 0.0),
            "pseudo_l2": Coefficients(0.5 * level - 0.5, 1.0, 12.0, 0.0),
            "pseudo_kl": Coefficients(1.4 * level - 1.0, 2.0, 24.0, 0.0),
        }[measure]
    T = float(2**62 if horizon is None else max(horizon, 10_000))
    iota, W, h = math.log(T / delta), math.log2(T), math.log(T + 1)
    h1 = h + 1
    return {
        "l1": Coefficients(312_000 * math.sqrt(iota), 0.0, 540_000 * iota ** (1 / 3), 0.0),
        "l2": Coefficients(
            1.0,
            iota * (200_100 + 108_760 * W),
            877_000 * iota ** (2 / 3),
            40_000 * W * iota ** (2 / 3),
        ),
        "pseudo_l2": Coefficients(
            1.0, iota * (21 + 2.22 * W), 2 * iota**2 + 49.3 * iota ** (2 / 3), 2 * W
        ),
        "pseudo_kl": Coefficients(
            h + 2,
            64.8 * h1 * iota + h1 * (144 + 20.5 * W) + 4.5 * iota + 25,
            20.3 * h ** (7 / 3),
            (4.5 * iota + 98.5 * h1) / iota ** (1 / 3)
            + 9.1 * h1 * W / math.log(T) ** (2 / 3),
        ),
    }[measure]
