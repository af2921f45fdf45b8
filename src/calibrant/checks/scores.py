"""Whether scores are probabilities made before their outcomes, and whether rows are unique."""

from __future__ import annotations

import math

import numpy as np

from calibrant._checks import Floats
from calibrant.checks.columns import Columns, Finding, at_most
from calibrant.checks.outcomes import logit

#: A copy of the outcome has two values that agree with it in more than this share of the rows.
COPY, FEW = 0.999, 20
#: With at least so many outcomes of the rarer kind, an AUC beyond this is too good. Honest scores
#: of AUC 0.998 exceed 0.999 by chance in small files, so more is asked of those.
TOO_GOOD = ((150, 0.9999), (3000, 0.999))
#: A fit has residuals that sum to nothing; by chance, to less than this many standard deviations
#: in 8 files of 10,000.
NOTHING, FITTED = 1e-3, 30
#: Copies: the least share of rows, the most rows that are equal; fewer of them must differ than if
#: this share of them were separate events, with at most this probability.
REPEATED, ALIKE, SEPARATE, CHANCE = 0.01, 4, 0.3, 1e-4
#: Percents agree with the base rate to this factor of the odds, and go beyond this score.
ODDS, BEYOND = 4.0, 10.0
#: Inverted scores: the AUC among neighbours, and its distance from 1/2 in standard errors.
INVERTED, ERRORS = 0.45, -3.5


def leak(columns: Columns) -> Finding | None:
    """Detect scores that are a copy of the outcome, or separate it almost without error."""
    scores, outcomes, _ = columns.pairs
    if columns.scores is None or columns.rarer < FEW:
        return None
    low, high = scores[columns.by_score[0]], scores[columns.by_score[-1]]
    if low < high and bool(((scores == low) | (scores == high)).all()):
        same = float(((scores == high) == (outcomes == 1.0)).mean())
        same = max(same, 1.0 - same)
        if same > COPY:
            return Finding(
                "leak.copy", "refuse",
                f"The scores have two values, which agree with the outcome in {100.0 * same:.1f}% "
                "of the rows: the column of scores seems to be a copy of the outcome.",
                "Give a column that was known before the outcome (--score). To use this one "
                'anyway: --allow leak.copy (allow="leak.copy" in Python).',
                same,
            )  # fmt: skip
    auc = max(columns.auc, 1.0 - columns.auc)
    if not any(columns.rarer >= few and auc > limit for few, limit in TOO_GOOD):
        return None
    return Finding(
        "leak.auc", "warn",
        f"The scores separate ones from zeros almost without error (AUC {auc:.5f}).",
        "Make sure that they were made before the outcomes were known; if they were, use --allow "
        'leak.auc (allow="leak.auc" in Python).',
        auc,
    )  # fmt: skip


def in_sample(columns: Columns) -> Finding | None:
    """Detect scores that agree with their outcomes as closely as only a fit to these rows does.

    The residuals of a fit with an intercept sum to 0. Those of scores on a coarse grid can do so by
    chance, so such scores are skipped; but the steps of an isotonic fit equal the mean outcome at
    each level.
    """
    scores, outcomes, _ = columns.pairs
    if columns.scores is None or columns.kind != "probability" or columns.rarer < FITTED:
        return None
    if scores.min() < 0.0 or scores.max() > 1.0:
        return None
    ordered = scores[columns.by_score]
    starts = np.flatnonzero(np.diff(ordered, prepend=np.nan) > 1e-9)
    starts = np.union1d([0], starts)
    levels, counts = ordered[starts], np.diff(starts, append=len(ordered))
    means = np.add.reduceat(outcomes[columns.by_score], starts) / counts
    is_large = (counts >= 10) & (levels > 0.02) & (levels < 0.98)
    has_steps = is_large.sum() >= 5 and bool((np.abs(means - levels)[is_large] < 1e-4).all())
    residual = abs(float((outcomes - scores).sum()))
    spread = math.sqrt(max(float((scores * (1.0 - scores)).sum()), 1e-12))
    least = 200 if len(scores) >= 1000 else max(50.0, 0.2 * len(scores))
    is_fine = len(levels) >= least and bool(
        (np.abs(scores * 1000.0 - np.round(scores * 1000.0)) > 1e-6).mean() > 0.5
    )
    if not has_steps and not (is_fine and residual < NOTHING * spread):
        return None
    return Finding(
        "leak.in_sample", "warn",
        f"The mean score ({scores.mean():.6f}) equals the share of ones ({outcomes.mean():.6f}) "
        "more closely than chance allows: the scores seem to have been fitted to these outcomes.",
        "Use scores that the model made before it had seen the outcomes.",
        residual / spread,
    )  # fmt: skip


def duplicates(columns: Columns) -> Finding | None:
    """Detect rows equal in time and score whose outcomes hardly ever differ: copies of one event.

    Only small sets of equal rows are considered: if scores repeat often, the outcomes of neighbours
    may agree because one outcome depends on the last.
    """
    scores, outcomes, rows = columns.pairs
    if columns.scores is None or columns.rarer == 0:
        return None
    made = np.zeros(len(scores)) if columns.made is None else columns.made[rows]
    order = np.lexsort((scores, made))
    is_same = (np.diff(made[order]) == 0.0) & (np.diff(scores[order]) == 0.0)
    starts = np.flatnonzero(np.concatenate([[True], ~is_same]))
    counts = np.diff(starts, append=len(order))
    is_few = np.repeat(counts <= ALIKE, counts)[1:]
    is_same &= is_few
    pairs = int(is_same.sum())
    if pairs < REPEATED * len(outcomes):
        return None
    rates = columns.rates[order]
    expected = float((rates[1:] * (1 - rates[:-1]) + rates[:-1] * (1 - rates[1:]))[is_same].sum())
    differ = int((is_same & (np.diff(outcomes[order]) != 0.0)).sum())
    if at_most(differ, SEPARATE * expected) > CHANCE:
        return None
    alike = "score" if columns.made is None else "time and score"
    return Finding(
        "duplicates", "warn",
        f"{pairs:,} of {len(outcomes):,} rows have the same {alike} as another row, and their "
        f"outcomes differ in {differ:,} cases; those of separate events would differ in about "
        f"{expected:,.0f}: the rows seem to be copies.",
        "Remove the copies, or give the column that identifies each row (--id).",
        pairs / len(outcomes),
    )  # fmt: skip


def scale(columns: Columns) -> Finding | None:
    """Detect scores outside [0, 1] that should be probabilities, such as percentages."""
    scores, outcomes, _ = columns.pairs
    if columns.scores is None or columns.kind != "probability" or len(outcomes) == 0:
        return None
    low, high = float(scores.min()), float(scores.max())
    if low < 0.0 or high > 100.0 or high <= BEYOND:
        return None
    least = 0.5 / len(outcomes)
    rate = float(np.clip(outcomes.mean(), least, 1.0 - least))
    mean = float(np.clip(scores.mean() / 100.0, 1e-6, 1.0 - 1e-6))
    is_small = (scores > 0.0) & (scores <= 1.0)
    ones, small = int(outcomes[is_small].sum()), float(scores[is_small].sum())
    between = f"The scores lie between {low:g} and {high:g}"
    is_share = is_small.sum() >= 30 and ones > max(3.0, 0.4 * small)
    if is_share and at_most(ones - 1, 5.0 * small / 100.0) > 1.0 - 1e-4:
        return Finding(
            "scale.mixed", "refuse",
            f"{between}, but where they are at most 1 ({int(is_small.sum()):,} rows), "
            f"{100.0 * ones / is_small.sum():.0f}% of the outcomes are 1: probabilities and "
            "percentages seem to be mixed.",
            "Convert all scores to one scale.", float(is_small.mean()),
        )  # fmt: skip
    if abs(logit(mean) - logit(rate)) < math.log(ODDS):
        return Finding(
            "scale.percent", "refuse",
            f"{between}, {100.0 * mean:.1f} on average, and {100.0 * rate:.1f}% of the outcomes "
            "are 1: they seem to be percentages.",
            "Use --scale percent, or divide them by 100.", high,
        )  # fmt: skip
    return Finding(
        "scale.unclear", "refuse", f"{between}.",
        "If they are percentages, use --scale percent; if they are not probabilities at all, "
        "--kind margin.",
        high,
    )  # fmt: skip


def inverted(columns: Columns) -> Finding | None:
    """Detect higher scores with fewer ones, among neighbouring rows."""
    scores, outcomes, _ = columns.pairs
    rows, few = len(outcomes), columns.rarer
    if columns.scores is None or few < 30 or rows < 200:
        return None
    auc, errors = local_auc(scores, outcomes, int(np.clip(5 * rows / few, 10, rows // 10)))
    if errors >= ERRORS or auc >= INVERTED:
        return None
    return Finding(
        "inverted", "warn",
        f"Outcomes of 1 are rarer where scores are higher (AUC {auc:.3f} among neighbouring rows).",
        "Check which outcome counts as 1 (--positive), and whether the score is that of the other "
        "class.",
        auc,
    )  # fmt: skip


def local_auc(scores: Floats, outcomes: Floats, size: int) -> tuple[float, float]:
    """Return the AUC within windows of `size` rows, and its standard errors from 1/2."""
    count = len(scores) // size
    s, y = (each[: count * size].reshape(count, size) for each in (scores, outcomes))
    order = np.argsort(s, axis=1, kind="stable")
    ranks = np.empty_like(s)
    np.put_along_axis(ranks, order, np.arange(size, dtype=np.float64)[None, :], axis=1)
    # Equal scores share the mean of their ranks.
    ordered = np.take_along_axis(s, order, axis=1)
    is_new = np.diff(ordered, axis=1, prepend=-np.inf) != 0.0
    which = np.cumsum(is_new.ravel()) - 1
    total = np.bincount(which, np.tile(np.arange(size, dtype=np.float64), count))
    mean = total / np.bincount(which)
    np.put_along_axis(ranks, order, mean[which].reshape(count, size), axis=1)
    ones = y.sum(axis=1)
    pairs = ones * (size - ones)
    # Of each window, pairs in the right order minus half of all.
    sums = (y * ranks).sum(axis=1) - ones * (ones - 1.0) / 2.0 - pairs / 2.0
    spread = math.sqrt(float((sums**2).sum()))
    if spread == 0.0:
        return 0.5, 0.0
    return 0.5 + float(sums.sum() / pairs.sum()), float(sums.sum()) / spread


def constant(columns: Columns) -> Finding | None:
    """Detect one score for all rows."""
    scores = columns.pairs.scores
    if columns.scores is None or len(scores) < 2 or scores.min() != scores.max():
        return None
    return Finding(
        "constant", "note", f"Every score is {scores[0]:g}.",
        "Only the base rate can be calibrated.", float(scores[0]),
    )  # fmt: skip
