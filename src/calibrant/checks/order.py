"""Whether rows are in the order in which they were scored, which every measure depends on."""

from __future__ import annotations

import numpy as np

from calibrant._checks import Floats
from calibrant.checks.columns import Columns, Finding, at_most

#: Outcomes may depend on the last one: a tenth of the switches of independent outcomes is allowed.
#: The number found is too small if it has at most this probability.
LEFT, CHANCE = 0.1, 2e-3
#: A sorted file has at most this share of the expected switches. Chosen so that chains that repeat
#: the last outcome with probability 0.97 pass; see "outside the null" in `benchmarks/checks.md`.
SORTED = 0.025
#: Cycles of ones and zeros: their least number, how much less they may vary than chance has it,
#: with 30 of them and with fewer, and their least mean length.
CYCLES, REGULAR, REGULAR_FEW, SHORTEST = 11, 0.25, 0.08, 6.0
#: Steps of a score that only rises, and outcomes of either kind.
STEPS, FEW = 30, 10
#: If time runs backwards in more than `BACKWARDS` of the steps, rows are newest first; if in fewer
#: than `SLIPS`, with this rank correlation, rows are only slightly out of order.
BACKWARDS, SLIPS, NEARLY_IN_ORDER = 0.9, 0.05, 0.99

SORT = "Put the rows in the order in which they were scored (--sort TIME)."
INSIST = f'{SORT} If they already are, use --trust-order (allow="order" in Python).'


def sorted_by_outcome(columns: Columns) -> Finding | None:
    """Detect far fewer switches between 0 and 1 than expected from the scores.

    E switches are expected if outcomes are independent given the scores. A chain that repeats the
    last outcome with probability 0.9 has a tenth of them; its runs of the rarer kind are about
    Poisson. A single switch is treated separately, since it makes two runs.
    """
    if columns.rarer == 0:
        return None
    y, rates = columns.pairs.outcomes, columns.rates
    expected = float((rates[1:] * (1 - rates[:-1]) + rates[:-1] * (1 - rates[1:])).sum())
    switches = int((y[1:] != y[:-1]).sum())
    mean = LEFT * expected
    chance = at_most(1, mean) if switches == 1 else at_most((switches + 1) // 2, mean / 2.0)
    if chance > CHANCE or switches > SORTED * expected:
        return None
    times = "once" if switches == 1 else f"{switches:,} times"
    basis = "given the scores" if columns.scores is not None else "of independent outcomes"
    return Finding(
        "order.sorted", "refuse",
        f"The outcome changes {times} from one row to the next, but about {expected:,.0f} changes "
        f"would be expected {basis}: the rows seem to be sorted or grouped by outcome.",
        f"{INSIST} Outcomes that stay the same for a very long time can also look like this.",
        switches / expected,
    )  # fmt: skip


def sorted_within(columns: Columns) -> Finding | None:
    """Detect runs of ones and zeros that alternate regularly, as if sorted within each period."""
    y = columns.pairs.outcomes
    if columns.rarer == 0:
        return None
    ends = np.flatnonzero(np.diff(y) != 0.0)
    runs, is_one = np.diff(ends), y[ends[:-1] + 1] == 1.0
    ones, zeros = runs[is_one], runs[~is_one]
    cycles = min(len(ones), len(zeros))
    if cycles < CYCLES - 1 or ones.mean() + zeros.mean() < SHORTEST:
        return None
    # Runs of a chain are geometric: these are their variances, and how many have length 1.
    stop = 1.0 / ones.mean(), 1.0 / zeros.mean()
    variance = sum((1.0 - q) / q**2 for q in stop)
    ratio = float((ones[:cycles] + zeros[:cycles]).var() / variance)
    single = len(ones) * stop[0] + len(zeros) * stop[1]
    is_many = cycles >= 30
    if ratio > (REGULAR if is_many else REGULAR_FEW) or (runs == 1).sum() > single / 2.0:
        return None
    if is_many and single < 4.0:
        return None
    return Finding(
        "order.sorted_within", "warn",
        f"Runs of ones and zeros alternate about every {ones.mean() + zeros.mean():.0f} rows, far "
        "more regularly than by chance: the rows seem to be sorted by outcome within each day, "
        "month or batch.",
        f"{SORT} Or give the column of times (--time), so that rows with the same time count as a "
        "batch. If the outcomes do follow a calendar, use --allow order.sorted_within "
        '(allow="order.sorted_within" in Python).',
        ratio,
    )  # fmt: skip


def sorted_by_score(columns: Columns) -> Finding | None:
    """Detect scores that only rise, or only fall."""
    if columns.scores is None:
        return None
    steps = np.diff(columns.scores[~np.isnan(columns.scores)])
    rises, falls = int((steps > 0.0).sum()), int((steps < 0.0).sum())
    if rises + falls < STEPS or min(rises, falls) > 0 or columns.rarer < FEW:
        return None
    return Finding(
        "order.by_score", "refuse",
        f"The scores only {'rise' if rises else 'fall'} from the first row to the last: the rows "
        "are sorted by score.",
        INSIST, float(rises > 0),
    )  # fmt: skip


def time_order(times: Floats) -> Finding | None:
    """Detect times that run backwards, are shuffled, or are slightly out of order.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant.checks.order import time_order
    >>> time_order(np.arange(100.0)[::-1]).check
    'order.backwards'
    """
    steps = np.diff(times)
    back, on = int((steps < 0.0).sum()), int((steps > 0.0).sum())
    if back == 0:
        return None
    share, cure = back / (back + on), "Sort the rows by time (--sort TIME)."
    if share > BACKWARDS:
        return Finding(
            "order.backwards", "refuse",
            f"Time runs backwards in {100.0 * share:.0f}% of the steps: the newest rows come "
            "first.",
            cure, share,
        )  # fmt: skip
    behind = int((times < np.maximum.accumulate(times)).sum())
    ranks = np.empty(len(times))
    ranks[np.argsort(times, kind="stable")] = np.arange(len(times))
    correlation = float(np.corrcoef(np.arange(len(times)), ranks)[0, 1])
    older = f"{behind:,} of {len(times):,} rows are older than a row before them"
    if share < SLIPS and correlation > NEARLY_IN_ORDER:
        return Finding("order.slips", "note", f"{older}.", cure, correlation)
    return Finding(
        "order.shuffled", "refuse", f"{older}: the rows are not in order of time.", cure,
        correlation,
    )  # fmt: skip
