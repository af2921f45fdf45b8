"""Whether outcomes are reported whatever their value, and which are still to come."""

from __future__ import annotations

import math

import numpy as np

from calibrant.checks.columns import Columns, Finding, auc_of
from calibrant.measures.delays import DelayCheck

#: Even if the odds of the scores are wrong by this factor, the other kind of outcome is absent by
#: chance with at most this probability.
ODDS, CHANCE = 5.0, 1e-3
#: Known outcomes are lopsided beyond this share of missing ones and these odds; their least number.
GONE, LOPSIDED, FEW = 0.2, 20.0, 50
#: Blocks of a file, by how much the last lacks more than its first half, and in how many standard
#: deviations of the blocks of that half.
BLOCKS, MORE, BEYOND = 20, 0.2, 6.0
#: How often rows with and without an outcome alternate in the last two blocks, at least.
MIXED = 4
#: With an AUC beyond this, the scores determine which outcomes are missing.
DECIDES = 0.95


def one_sided(columns: Columns) -> Finding | None:
    """Detect known outcomes of one kind only, with gaps where the other kind should be."""
    is_known = columns.is_known
    known = columns.outcomes[is_known]
    if is_known.all() or not len(known) or known.min() != known.max() or known[0] not in (0, 1):
        return None
    kind, last = int(known[0]), int(np.flatnonzero(is_known)[-1])
    gaps, gone = int((~is_known[: last + 1]).sum()), len(is_known) - len(known)
    likely = 0.5
    if columns.kind == "probability" and columns.scores is not None:
        given = columns.scores[is_known & ~np.isnan(columns.scores)]
        if len(given) and given.min() >= 0.0 and given.max() <= 1.0:
            likely = float(np.clip(given, 1e-6, 1.0 - 1e-6).mean())
    return only_kind(kind, len(known), gaps, gone, likely)


def only_kind(kind: int, known: int, gaps: int, gone: int, score: float) -> Finding:
    """Return the finding on `known` outcomes of one kind.

    `gaps` rows before the last of them and `gone` rows in all have no outcome; `score` is the mean
    score of the known ones.
    """
    likely = score if kind else 1.0 - score
    likely = likely * ODDS / (likely * ODDS + 1.0 - likely)
    all_of = f"All {known:,} known outcomes are {kind}"
    if gaps and known * math.log(likely) < math.log(CHANCE):
        return Finding(
            "one_sided", "refuse",
            f"{all_of}, and {gone:,} rows have no outcome: it seems that only outcomes of {kind} "
            "are reported.",
            f"If no report within some time means {1 - kind}, give that time (--silence {1 - kind} "
            f"--after SPAN; silence={1 - kind}, after=... in Python). Otherwise these rows cannot "
            'be calibrated; to use them anyway: --allow one_sided (allow="one_sided" in Python).',
            known,
        )  # fmt: skip
    return Finding(
        "one_kind", "note", f"{all_of}, and {gone:,} rows have no outcome.",
        "Nothing can be concluded before outcomes of both kinds are known.", known,
    )  # fmt: skip


def lopsided(columns: Columns) -> Finding | None:
    """Detect many missing outcomes, with known ones that contradict the scores."""
    is_known = columns.is_known
    scores, outcomes, _ = columns.pairs
    if len(outcomes) < FEW or columns.rarer == 0 or columns.kind != "probability":
        return None
    gone = float((~is_known[: int(np.flatnonzero(is_known)[-1]) + 1]).mean())
    if columns.scores is None or scores.min() < 0.0 or scores.max() > 1.0:
        return None
    return out_of_proportion(float(outcomes.mean()), float(scores.mean()), len(outcomes), gone)


def out_of_proportion(rate: float, score: float, known: int, gone: float) -> Finding | None:
    """Return a finding if the rate of `known` outcomes contradicts their mean score.

    `gone` is the share of missing outcomes.
    """
    if gone < GONE:
        return None
    least = 3.0 / known  # rates beyond what so many rows can show
    rate, score = (min(max(each, least), 1.0 - least) for each in (rate, score))
    times = math.exp(abs(logit(rate) - logit(score)))
    if times < LOPSIDED:
        return None
    return Finding(
        "lopsided", "warn",
        f"Of the known outcomes, {100.0 * rate:.1f}% are 1, but their scores are "
        f"{100.0 * score:.1f}% on average, and {100.0 * gone:.0f}% of all outcomes are missing: "
        "one kind of outcome may be reported more often than the other.",
        "If no report within some time means the other kind, use --silence and --after; otherwise "
        "find out why outcomes are missing.",
        times,
    )  # fmt: skip


def immature(columns: Columns) -> Finding | None:
    """Detect rows before their deadline, whose silence means nothing yet."""
    made, due = columns.made, columns.due
    if made is None or due is None:
        return None
    # What is due at the very time of the last row is settled after it.
    young = int((due >= made.max()).sum())
    if not young:
        return None
    rows = len(made)
    share = young / rows
    return Finding(
        "maturity", "warn" if share > 0.5 else "note",
        f"{young:,} of {rows:,} rows have not reached their deadline: they are not scored, and "
        f"all figures are of the other {rows - young:,}.",
        value=share,
    )  # fmt: skip


def rising_gaps(columns: Columns) -> Finding | None:
    """Detect far more missing outcomes at the end than before: they have not arrived yet."""
    gone = ~columns.is_known
    if gone.all() or not gone.any():
        return None
    blocks = np.array_split(gone, BLOCKS)
    share = np.array([block.mean() for block in blocks])
    last, before, spread = share[-1], share[: BLOCKS // 2].mean(), share[: BLOCKS // 2].std(ddof=1)
    early, late = np.array_split(blocks[-1], 2)
    is_more = last >= before + max(MORE, BEYOND * spread) and last > share[:-1].max()
    is_sudden = share[-2] < before + spread and last < 0.5
    # Pending rows are mixed with rows whose outcome has arrived; an outage is one contiguous gap.
    is_mixed = int((np.diff(np.concatenate(blocks[-2:]).astype(int)) != 0).sum()) >= MIXED
    if not is_more or is_sudden or not is_mixed or late.mean() < early.mean():
        return None
    if columns.scores is not None and not np.isnan(columns.scores).any():
        decides = auc_of(columns.scores, gone.astype(np.float64))
        if max(decides, 1.0 - decides) > DECIDES:
            return None
    return Finding(
        "maturity.rising", "note",
        f"{100.0 * last:.0f}% of the outcomes are missing in the last twentieth of the rows, and "
        f"{100.0 * before:.0f}% in the first half: many of the last outcomes have not arrived yet.",
        "If no outcome within some time means 0 or 1, use --silence and --after; otherwise there "
        "is nothing to do.",
        float(last),
    )  # fmt: skip


def ties(columns: Columns) -> Finding | None:
    """Detect rows with the same time: none can depend on the outcome of another."""
    made = columns.made
    if made is None:
        return None
    starts = np.flatnonzero(np.diff(made, prepend=np.nan) != 0.0)
    counts = np.diff(starts, append=len(made))
    if counts.max() == 1:
        return None
    return Finding(
        "ties", "note",
        f"{int(counts[counts > 1].sum()):,} of {len(made):,} rows have the same time as another "
        f"row, up to {int(counts.max()):,} at once: they are predicted together, and their "
        "outcomes are learned afterwards.",
        value=len(made) / len(counts),
    )  # fmt: skip


def lateness(columns: Columns) -> Finding | None:
    """Detect that one kind of outcome becomes known later than the other, or less often."""
    if columns.made is None or columns.known is None:
        return None
    found = DelayCheck.from_times(
        columns.outcomes, columns.made, columns.known, scores=columns.scores,
        is_time=columns.is_time,
    )  # fmt: skip
    if found is None or not found.depends:
        return None
    return Finding("lateness", "warn", found.sentence(), value=found.z)


def too_many(most: int, capacity: int) -> Finding:
    """Return the finding that `most` predictions are pending at once, but fewer are kept."""
    return Finding(
        "capacity", "refuse",
        f"Up to {most:,} predictions are pending at the same time, but only {capacity:,} are kept: "
        "older ones expire before their outcomes are learned.",
        f"Use a capacity of at least {most:,} (capacity={most}).",
        float(most),
    )  # fmt: skip


def logit(p: float) -> float:
    """Return the log odds of a probability."""
    return math.log(p / (1.0 - p))
