"""The form of a certificate: which function of n and C the four numbers belong to."""

from __future__ import annotations

import math
from typing import NamedTuple

#: The measures that have certificates. The first grows with sqrt(n), the others with log n.
MEASURES = ("l1", "l2", "pseudo_l2", "pseudo_kl")


class Coefficients(NamedTuple):
    """The numbers of a certificate U(n, C).

    For ``"l2"``, ``"pseudo_l2"`` and ``"pseudo_kl"``, with M = log2(n + 1), which bounds the
    number of epochs in n rounds, U = (c0 + c1 M) + (d0 + d1 M) C^(1/3). For ``"l1"``,
    U = c0 sqrt(n) + d0 (C n)^(1/3), and c1 = d1 = 0.

    Examples
    --------
    >>> from calibrant.certificates import Coefficients
    >>> Coefficients(3.0, 1.0, 12.0, 0.0).bound("l2", rounds=1023, deviation=8)
    37.0
    >>> Coefficients(3.0, 0.0, 1.5, 0.0).bound("l1", rounds=100, deviation=10)
    45.0
    """

    c0: float
    c1: float
    d0: float
    d1: float

    def bound(self, measure: str, rounds: float, deviation: float) -> float:
        """Return U(n, C) of a measure."""
        if measure == "l1":
            return self.c0 * math.sqrt(rounds) + self.d0 * math.cbrt(deviation * rounds)
        M = math.log2(rounds + 1)
        return self.c0 + self.c1 * M + (self.d0 + self.d1 * M) * math.cbrt(deviation)


def trivial(measure: str, rounds: float, horizon: float) -> float:
    """Return the error that n rounds cannot pass, whatever happens.

    A round adds at most 1 to Cal1, Cal2 and PCal2. It adds at most ln(T + 1) to PKLCal, because a
    forecaster for T rounds predicts nothing outside [1/(T + 1), 1 - 1/(T + 1)].
    """
    return rounds * math.log(horizon + 1) if measure == "pseudo_kl" else float(rounds)
