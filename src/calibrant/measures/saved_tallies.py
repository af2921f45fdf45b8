"""Loading saved tallies: the checks of a scorecard's saved sums.

The distinct predictions, their counts and the sums of their outcomes determine all errors. The
other sums are saved so that no digit is lost; they must agree with these.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from calibrant._checks import Floats
from calibrant._kernels.saved import SLACK, check_names, counts, floats, integer
from calibrant._kernels.tally import TallyKernel, restored
from calibrant.measures.binned import bins_of
from calibrant.measures.exact import kl_terms

PARTS = {"p", "n", "s", "residuals", "sums", "errors", "impossible"}


def load_tally(state: Mapping[str, Any], bins: int, rounds: int) -> TallyKernel:
    """Return the tally that a saved state holds, or raise ValueError."""
    check_names(state, PARTS)
    p = floats(state, "p", low=0.0, high=1.0)
    n = counts(state, "n", size=len(p), total=rounds)
    s = floats(state, "s", size=len(p), low=0.0, high=rounds)
    if len(np.unique(p)) != len(p) or (n == 0.0).any() or (s > n).any():
        raise ValueError("saved p must be distinct, each predicted, and saved s at most n")
    bias = s - n * p
    by_bin = np.zeros(bins)
    np.add.at(by_bin, bins_of(p, bins), bias)
    expect("residuals", floats(state, "residuals", size=bins), by_bin, rounds)
    certain = ((p == 0.0) & (s > 0.0)) | ((p == 1.0) & (s < n))
    integer(state, "impossible", low=int(certain.sum()), high=int(n[certain].sum()))
    inside = (p > 0.0) & (p < 1.0)
    logs = -(s[inside] @ np.log(p[inside]) + (n - s)[inside] @ np.log1p(-p[inside]))
    cal2, kl = float((bias**2 / n).sum()), kl_terms(p, n, s)
    errors = np.array([np.abs(bias).sum(), cal2, kl[~np.isinf(kl)].sum()])
    expect("errors", value_of(floats(state, "errors", size=6), rounds), errors, rounds)
    sums = value_of(floats(state, "sums", size=10), rounds)
    # Of outcomes that sum to s, equal ones lose the least and zeros and ones the most.
    squared = min(max(sums[3], cal2), float(s @ (1 - p) ** 2 + (n - s) @ p**2))
    expect("sums", sums, np.array([rounds, n @ p, s.sum(), squared, logs]), rounds)
    return restored(bins, dict(state))


def expect(name: str, values: Floats, expected: Floats, rounds: int) -> None:
    """Refuse sums that differ from their expected values by more than rounding explains."""
    if not (np.abs(values - expected) <= SLACK * (1 + rounds + np.abs(expected))).all():
        raise ValueError(f"saved {name} must be {expected}, got {values}")


def value_of(sums: Floats, rounds: int) -> Floats:
    """Return sums that were saved as a total and the part of it lost by rounding."""
    total, lost = sums.reshape(-1, 2).T
    if not (np.abs(lost) <= SLACK * (1 + rounds + np.abs(total))).all():
        raise ValueError("saved sums have lost more than rounding can lose")
    return np.asarray(total + lost)
