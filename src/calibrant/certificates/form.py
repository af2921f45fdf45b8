"""The form of a certificate: a function of n and C with four numbers, and the measured numbers."""

from __future__ import annotations

import json
import math
from functools import cache
from typing import Any, NamedTuple

#: The errors that have certificates, in the order in which kernels number them. The certificate of
#: the first grows with sqrt(n), those of the others with log n.
CERTIFIED_MEASURES = ("l1", "l2", "pseudo_l2", "pseudo_kl")
#: Whose error that is. `"refined"` is `Refined` with that measure; `"interval"` is `Interval` on as
#: many equal intervals as suit the deviation; `"swap"` is `Refined` with the measure pseudo_l2,
#: whose predictions are then held to Cal2.
BASES = {
    "l1": ("refined", "interval"),
    "l2": ("refined", "swap"),
    "pseudo_l2": ("refined",),
    "pseudo_kl": ("refined",),
}


def name_of(measure: str, base: str) -> str:
    """Return the name under which the numbers of a certificate are kept."""
    return measure if base == "refined" else f"{measure}-{base}"


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
    """Return the largest error that n rounds can have.

    A round adds at most 1 to Cal1, Cal2 and PCal2. It adds at most ln(T + 1) to PKLCal, because a
    forecaster for T rounds predicts nothing outside [1/(T + 1), 1 - 1/(T + 1)].
    """
    return rounds * math.log(horizon + 1) if measure == "pseudo_kl" else float(rounds)


@cache
def tuned_table() -> dict[str, Any]:
    """Return the shipped table of measured certificates, from ``python -m benchmarks tune``.

    ``measures`` has a row for each name of `name_of`: ``slope`` (what grows with log2(n + 1); 0 for
    l1), ``start`` and ``per_log`` (the line in ln(1/delta) above the quantiles of the error in
    stationary worlds), ``deviation`` (the part that grows with the deviation) and the
    ``quantiles``. The other entries record how it was measured; a row that was measured apart from
    the others has its own ``runs`` and ``rounds``.
    """
    from pathlib import Path  # noqa: PLC0415 - slow to import

    text = Path(__file__).with_name("tuned.json").read_text(encoding="utf-8")
    loaded: dict[str, Any] = json.loads(text)
    return loaded


def tuned(row: dict[str, Any], delta: float) -> Coefficients:
    """Return the coefficients that a row of the table gives at level delta."""
    start = row["start"] + row["per_log"] * math.log(1 / delta)
    return Coefficients(start, row["slope"], row["deviation"], 0.0)
