"""The measured certificates: quantiles of what stationary worlds make of the tuned `Refined`."""

from __future__ import annotations

import json
import math
from functools import cache
from pathlib import Path
from typing import Any

from calibrant.certificates.form import Coefficients


@cache
def table() -> dict[str, Any]:
    """Return the shipped table, which ``calibrant tune-certificates`` measured.

    Of each measure it holds ``slope`` (the part that grows with log2(n + 1); 0 for l1), ``start``
    and ``per_log`` (the line in ln(1/delta) above the quantiles), ``deviation`` (the part that goes
    with the deviation) and, for the record, the ``quantiles`` themselves; and besides the measures
    how they were measured.
    """
    text = Path(__file__).with_name("tuned.json").read_text(encoding="utf-8")
    loaded: dict[str, Any] = json.loads(text)
    return loaded


def coefficients(row: dict[str, Any], delta: float) -> Coefficients:
    """Return the coefficients that a row of the table gives at level delta."""
    start = row["start"] + row["per_log"] * math.log(1 / delta)
    return Coefficients(start, row["slope"], row["deviation"], 0.0)
