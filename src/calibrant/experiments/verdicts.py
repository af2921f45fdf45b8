"""The verdict on a row: whether its claim holds, and whether adapting has paid off.

A row passes if two conditions hold.

1. The exponent fitted to its errors, with the claimed power of the logarithm, meets the claim: its
   interval stays below the claimed exponent + 0.08. At the sizes of these runs a logarithm to the
   third power hides an exponent of 0.3, so forecasters that the paper improves on satisfy this
   condition too, as do some that are broken.
2. The forecaster beats every null, the fixed grids that do not adapt: its level is below that of
   the null, or both its plain slope and its error at the largest size are. If C is of order T, the
   paper claims no more than the rate of a grid. The grid satisfies it without the help of a
   logarithm, and so must the forecaster; but there is nothing to beat, and such a row is not
   counted.

A row fails if one of the two is violated by more than chance explains. It is "not visible" if too
few of its sizes count, or if an interval includes a limit, so that more seeds would be needed.
"""

from __future__ import annotations

from collections.abc import Sequence

from calibrant.experiments.claims import FAILS, NOT_COUNTED, NOT_VISIBLE, PASSES
from calibrant.experiments.fits import Comparison, Fit, Interval
from calibrant.experiments.table1 import Row
from calibrant.experiments.visibility import Visible

#: Exponents nearer than this count as the same.
MARGIN = 0.08


def judge(
    row: Row, fit: Fit, plain: Fit, beside: Sequence[Comparison], visible: Visible
) -> tuple[str, str]:
    """Return the verdict and the reason for it; the nulls are `beside`, the best of them first."""
    if not visible.enough:
        return NOT_VISIBLE, f"{visible.why} Fewer than three sizes lie beyond."
    verdict, text = meets(row.exponent, fit)
    if row.beyond_null:
        # The first that is not beaten, or the best.
        second, more = max(map(beats, beside), key=lambda found: found[0] != PASSES)
    else:
        second, more = meets(row.exponent, plain)
        more = f"Without the logarithm {more}"
        if second == PASSES:
            second, more = NOT_COUNTED, f"{more} A fixed grid has that rate in any world."
    verdict, text = max(verdict, second, key=_WORSE.index), f"{text} {more}"
    if visible.why is not None:
        text = f"{text} {visible.why} Sizes below that do not count."
    return verdict, text


_WORSE = (PASSES, NOT_COUNTED, NOT_VISIBLE, FAILS)


def meets(claimed: float, fit: Fit) -> tuple[str, str]:
    """Return whether a fitted exponent meets the claimed one, with a sentence."""
    low, high = fit.interval
    verdict, word = NOT_VISIBLE, "may be"
    if high <= claimed + MARGIN:
        verdict, word = PASSES, "is"
    elif low > claimed + MARGIN:
        verdict, word = FAILS, "is not"
    return verdict, f"{_spell(fit.exponent, fit.interval)} {word} within {claimed:.2f} + {MARGIN}."


def beats(beside_null: Comparison) -> tuple[str, str]:
    """Return whether a forecaster beats its null beyond chance, with a sentence.

    A slope alone is not enough: a forecaster that is always wrong has the best slope in C.
    """
    level = _spell(beside_null.level, beside_null.level_interval)
    gap = _spell(beside_null.gap, beside_null.gap_interval)
    last = _spell(beside_null.last, beside_null.last_interval)
    if beside_null.level_interval.high < 1.0:
        return PASSES, f"Its level is {level} of the null's."
    if (
        beside_null.gap <= -MARGIN
        and beside_null.gap_interval.high < 0.0
        and beside_null.last_interval.high < 1.0
    ):
        return PASSES, f"Its plain slope is {gap} from the null's, its last error {last} of it."
    return FAILS, (
        f"It does not beat its null: its level is {level} of the null's, its last error {last}, "
        f"its plain slope {gap} from it."
    )


def _spell(value: float, interval: Interval) -> str:
    # Adding 0 turns a -0 that rounding left into 0.
    value, low, high = (round(number, 2) + 0.0 for number in (value, *interval))
    return f"{value:.2f} ({low:.2f} to {high:.2f})"
