"""What a before-and-after comparison says, in sentences that its numbers decide."""

from __future__ import annotations

import math
from collections.abc import Callable

from calibrant.report.before_after import BeforeAfter, Scores

#: Groups with fewer rounds are not singled out: their errors are mostly chance.
FEW_ROUNDS = 500


def what_changed(
    both: BeforeAfter,
    *,
    never: int = 0,
    place: Callable[[int], str] = lambda at: f"round {at + 1:,}",
) -> list[str]:
    """Return what to look at and what it means, most important first.

    Parameters
    ----------
    both : BeforeAfter
        The numbers.
    never : int
        Outcomes that never arrived.
    place : callable
        What to call a round: its time, for instance.

    Examples
    --------
    >>> from calibrant.report.before_after import BeforeAfter
    >>> both = BeforeAfter.from_predictions([0.9, 0.9], [0.6, 0.4], [1, 0])
    >>> what_changed(both)[0]
    'Too few rounds (2) to tell a change of the Brier score from chance: 0.4100 became 0.1600.'
    """
    points = []
    if both.raw is not None:
        points += [losses(both, both.raw), calibration(both.raw, both.calibrated)]
    else:
        points.append(
            "The scores are margins, not probabilities, so there is no before to compare with. "
            f"Calibrated, they are off by {both.calibrated.ece:.3f} in the mean."
        )
    points += worst_window(both, place)
    points += worst_group(both)
    if never:
        points.append(
            f"{never:,} {'outcome' if never == 1 else 'outcomes'} never arrived: those rows have a "
            "probability, but nothing was learned from them."
        )
    return points


def losses(both: BeforeAfter, raw: Scores) -> str:
    """Say whether the probabilities became better, worse or neither."""
    before, after, change = raw.brier, both.calibrated.brier, both.change
    assert change is not None
    if math.isnan(change.low):
        return (
            f"Too few rounds ({both.rounds:,}) to tell a change of the Brier score from chance: "
            f"{before:.4f} became {after:.4f}."
        )
    interval = f"{change.mean:+.4f}, 95 % interval {change.low:+.4f} to {change.high:+.4f}"
    if change.high < 0.0:
        percent = -100.0 * change.mean / before
        return (
            f"The probabilities became better: the Brier score fell from {before:.4f} to "
            f"{after:.4f}, by {percent:.1f} % ({interval})."
        )
    if change.low > 0.0:
        return (
            f"The probabilities became worse: the Brier score rose from {before:.4f} to "
            f"{after:.4f} ({interval})."
        )
    return (
        f"The Brier score did not change beyond chance: {before:.4f} became {after:.4f} "
        f"({interval})."
    )


def calibration(raw: Scores, calibrated: Scores) -> str:
    """Say how far what was said is from what happened."""
    return (
        f"What was said was off what happened by {raw.ece:.3f} in the mean (ECE) and is off by "
        f"{calibrated.ece:.3f} now; chance alone would leave {calibrated.chance:.3f}. "
        f"{raw.bins_off} of {raw.bins_used} bins disagreed with their 95 % interval; now "
        f"{calibrated.bins_off} of {calibrated.bins_used} do."
    )


def worst_window(both: BeforeAfter, place: Callable[[int], str]) -> list[str]:
    """Say when it was worst, before and after."""
    after = both.calibrated.worst
    if after is None:
        return []
    said = (
        f"In their worst {both.window:,} rounds, from {place(after.start)}, the calibrated "
        f"probabilities are off by {after.ece:.3f}, of which chance alone explains about "
        f"{both.calibrated.worst_chance:.3f}: {after.mean_prediction:.2f} was said in the mean, "
        f"{after.mean_outcome:.2f} happened."
    )
    before = None if both.raw is None else both.raw.worst
    if before is None:
        return [said]
    return [
        f"In the scores' worst {both.window:,} rounds, from {place(before.start)}, they were off "
        f"by {before.ece:.3f}: {before.mean_prediction:.2f} was said in the mean, "
        f"{before.mean_outcome:.2f} happened.",
        said,
    ]


def worst_group(both: BeforeAfter) -> list[str]:
    """Say which group is furthest off, among those with rounds enough."""
    large = [part for part in both.groups if part.rounds >= FEW_ROUNDS]
    if len(large) < 2:
        return []
    worst = max(large, key=lambda part: part.calibrated.ece)
    before = "" if worst.raw is None else f"; before it was {worst.raw.ece:.3f}"
    return [
        f"Of the {len(large)} groups with {FEW_ROUNDS} rounds or more, {worst.group} is furthest "
        f"off: {worst.calibrated.ece:.3f} in the mean over {worst.rounds:,} rounds{before}."
    ]
