"""The sizes from which a claim is visible: smaller ones count neither for nor against it.

Each criterion is a number that follows from the algorithm and its constants: a T or a C from which
the algorithm can behave as in the proof. Errors are not used, so that a broken forecaster
cannot hide behind its own errors. A theorem about orders of growth says nothing about
the sizes at which its constants still dominate.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from calibrant.certificates import certificate, restart_delta
from calibrant.certificates.lemmas import (
    interval_bias,
    interval_square,
    log_regret,
    squared_regret,
)
from calibrant.experiments.table1 import A_ROUND, IID, WORST, Row
from calibrant.forecasters import named
from calibrant.forecasters.interval import CONSTANTS, Interval
from calibrant.streams import piecewise

DELTA = 0.05  # the default of every forecaster
FIRST_HORIZON = 64  # of a new `Restarting`
#: The smallest number of sizes from which an exponent is judged.
FEWEST_SIZES = 3


class Visible(NamedTuple):
    """The sizes at which a claim is visible, and the reason why it is not at the others."""

    sizes: tuple[bool, ...]
    why: str | None = None  # None if it is visible everywhere

    @property
    def enough(self) -> bool:
        """Whether the sizes that count are enough to judge."""
        return sum(self.sizes) >= FEWEST_SIZES


def visible_sizes(row: Row, x: Sequence[int], *, rounds: int, seeds: int) -> Visible:
    """Return at which sizes `x` a claim is visible.

    If the axis is not T, each size has this number of `rounds`.
    """
    if row.kind == "epoch-kl":
        least = least_mean(seeds)
        start = clip_start(least)
        why = (
            f"The printed clip keeps every prediction {least:.3f} away from 0 and 1 until "
            f"T = {start:,}, and one of the means is as near as that."
        )
        return Visible(tuple(start <= T for T in x), why)
    if row.kind == "restarting" and row.constants == "paper" and row.situation != IID:
        horizons = x if row.axis == "T" else [rounds] * len(x)
        sizes = tuple(threshold(row, T) < grid_bound(row, T) for T in horizons)
        why = (
            "With the printed constants it restarts only once its error passes "
            f"{threshold(row, horizons[-1]):,.0f}, and equal intervals are proved to have at most "
            f"{grid_bound(row, horizons[-1]):,.0f} in any world: a restart comes too late to pay."
        )
        return Visible(sizes, why)
    if row.kind == "restarting" and row.axis == "C":
        most = first_block(row, rounds)
        why = (
            f"The first block, which guesses C = 8, may bring an error of {most:,.0f}, whatever C "
            "is; the guess grows only with deviations that explain more."
        )
        return Visible(tuple(threshold(row, rounds, C) >= most for C in x), why)
    # With pseudo errors the base forecaster is not `Interval`, whose experts learn by MsMwC.
    by_msmwc = row.kind != "epoch" and "pseudo" not in row.forecaster
    if row.situation == WORST and row.constants == "paper" and by_msmwc:
        start = cap_end(row)
        why = (
            "MsMwC's rate stays at its cap of 1/64 in an interval until 4096 ln(dT) rounds "
            f"fell there, which the average interval sees only from T = {start:,} on."
        )
        return Visible(tuple(start <= T for T in x), why)
    return Visible((True,) * len(x))


def least_mean(seeds: int) -> float:
    """Return the smallest distance of the means of the i.i.d. worlds from 0 or 1."""
    drawn = (float(piecewise(1, segments=1, seed=seed).means[0]) for seed in range(seeds))
    return min(0.1, *(min(mean, 1.0 - mean) for mean in drawn))


def clip_start(mean: float) -> int:
    """Return the T whose last epoch, T/2 rounds, is clipped below a mean (`simple_block_PKL`)."""
    angle = 2 * math.asin(math.sqrt(mean))
    T = 1000
    while 8 * math.pi * math.sqrt(math.log(T / DELTA) / (T / 2)) > angle:
        T += 100
    return T


def threshold(row: Row, T: int, deviation: float = 0.0) -> float:
    """Return the error U(T, C) that ends a sub-block of `Restarting`."""
    printed = row.constants == "paper"
    given = named.parameters(row.forecaster)[1]
    return certificate(
        given["measure"],
        T,
        base=given.get("base", "refined"),
        deviation=deviation,
        delta=restart_delta(DELTA, T) if printed else DELTA,
        constants=row.constants,
        horizon=T if printed else None,
    )


def grid_bound(row: Row, T: int) -> float:
    """Return the largest error that equal intervals can have in any T rounds.

    N = ceil(T^(1/3)) of them, of probabilities, or of angles for the log loss; Lemma
    `abs_cal_error_byHu` of Interval, or the regret of Swap's learners and the rounding, to which
    Cal2 adds the draws (Corollary `Cal2_bound_implied_by_PCal2`).
    """
    iota, N = math.log(T / DELTA), math.ceil(math.cbrt(T))
    if row.error == "PKLCal":
        return min(T * math.log(T + 1), (N + 1) * log_regret(T) + 0.41 * T * (math.pi / N) ** 2)
    if row.error == "Cal1":
        return min(T, N * interval_bias(T / N, 1 / N, iota))
    pseudo = (N + 1) * squared_regret(T) + T / (4 * N**2)
    return min(T, N * interval_square(T / N, 1 / N, iota), 5.4 * pseudo + 195 * iota * (N + 1))


def first_block(row: Row, T: int) -> float:
    """Return the largest error of the first block of the tuned `Restarting`, with the guess 8.

    It has G sub-blocks up to U(T, 0) and one up to U(T, 8); G is chosen at the start of the block,
    for 64 rounds. Cal1 grows like a root: G sub-blocks with T rounds in total have sqrt(G) U(T, 0).
    """
    ratio = threshold(row, FIRST_HORIZON, 8.0) / threshold(row, FIRST_HORIZON)
    parts = math.sqrt(math.ceil(ratio**2)) if row.error == "Cal1" else math.ceil(ratio)
    return parts * threshold(row, T) + threshold(row, T, 8.0)


def cap_end(row: Row) -> int:
    """Return the T from which the average interval leaves the cap, with C of order T.

    A round adds at most 1 to the squared losses of its interval, and they must sum to
    ln(dT)/cap^2, d being twice the number of intervals. `Refined` restarts with every epoch, the
    last of T/2 rounds, with its inner region all of [0, 1].
    """
    T = 1000
    while True:
        if row.kind == "interval":
            length, intervals = T, Interval.for_deviation(A_ROUND * T, T).intervals or 1
        else:
            length = T // 2
            intervals = math.ceil((length / math.log(T / DELTA)) ** (1 / 3))
        if _leaves_cap(length, intervals, T):
            return T
        T = round(T * 1.01)


def _leaves_cap(length: float, intervals: int, T: int) -> bool:
    return length / intervals >= math.log(2 * intervals * T) / CONSTANTS["paper"].cap ** 2
