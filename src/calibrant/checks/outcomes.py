"""Whether outcomes are reported whatever they are, and which are still to come."""

from __future__ import annotations

import math

import numpy as np

from calibrant._checks import Floats
from calibrant.checks.columns import Columns, Finding, auc_of
from calibrant.measures.delays import DelayCheck

#: Odds of the scores may be wrong by this factor, and the other kind still stays away by chance
#: with this probability at most.
ODDS, CHANCE = 5.0, 1e-3
#: Missing outcomes and odds beyond which known ones are lopsided, and the least known ones.
GONE, LOPSIDED, FEW = 0.2, 20.0, 50
#: Blocks of a file, by how much the last lacks more than its first half, and in how many standard
#: deviations of the blocks of that half.
BLOCKS, MORE, BEYOND = 20, 0.2, 6.0
#: How often rows with and without an outcome alternate in the last two blocks, at least.
MIXED = 4
#: Scores that say so well which outcomes are missing decide it themselves.
DECIDES = 0.95


def one_sided(columns: Columns) -> Finding | None:
    """Known outcomes of one kind, with gaps between them where the other kind should be."""
    is_known = columns.is_known
    known = columns.outcomes[is_known]
    if is_known.all() or not len(known) or known.min() != known.max() or known[0] not in (0, 1):
        return None
    kind, last = int(known[0]), int(np.flatnonzero(is_known)[-1])
    gaps, gone = int((~is_known[: last + 1]).sum()), len(columns) - len(known)
    likely = 0.5
    if columns.kind == "probability" and columns.scores is not None:
        given = columns.scores[is_known & ~np.isnan(columns.scores)]
        if len(given) and given.min() >= 0.0 and given.max() <= 1.0:
            likely = float(np.clip(given, 1e-6, 1.0 - 1e-6).mean())
    return only_kind(kind, len(known), gaps, gone, likely)


def only_kind(kind: int, known: int, gaps: int, gone: int, score: float) -> Finding:
    """Say what it means that so many known outcomes are of one kind.

    There are `gaps` before the last of them and `gone` in all; `score` is the mean of theirs.
    """
    likely = score if kind else 1.0 - score
    likely = likely * ODDS / (likely * ODDS + 1.0 - likely)
    all_of = f"All {known:,} known outcomes are {kind}"
    if gaps and known * math.log(likely) < math.log(CHANCE):
        return Finding(
            "one_sided", "refuse",
            f"{all_of} and {gone:,} rows have none: it seems that only outcomes of {kind} are "
            "reported.",
            f"If no report means {1 - kind}, say after how long (--silence {1 - kind} --after "
            f"SPAN, or silence={1 - kind}, after=... in Python); otherwise these rows cannot be "
            'calibrated. --allow one_sided (allow="one_sided" in Python) insists.',
            known,
        )  # fmt: skip
    return Finding(
        "one_kind", "note", f"{all_of}, and {gone:,} rows have none.",
        "Nothing can be said before outcomes of both kinds are known.", known,
    )  # fmt: skip


def lopsided(columns: Columns) -> Finding | None:
    """Many outcomes are missing, and those that are known contradict the scores beyond reason."""
    is_known = columns.is_known
    scores, outcomes, _ = columns.pairs
    if len(outcomes) < FEW or columns.rarer == 0 or columns.kind != "probability":
        return None
    gone = float((~is_known[: int(np.flatnonzero(is_known)[-1]) + 1]).mean())
    if columns.scores is None or scores.min() < 0.0 or scores.max() > 1.0:
        return None
    return out_of_proportion(float(outcomes.mean()), float(scores.mean()), len(outcomes), gone)


def out_of_proportion(rate: float, score: float, known: int, gone: float) -> Finding | None:
    """Say so if the rate of so many known outcomes contradicts their mean score beyond reason.

    `gone` is the share of the outcomes that are missing.
    """
    if gone < GONE:
        return None
    least = 3.0 / known  # rates beyond what so many rows can show
    rate, said = (min(max(each, least), 1.0 - least) for each in (rate, score))
    times = math.exp(abs(logit(rate) - logit(said)))
    if times < LOPSIDED:
        return None
    return Finding(
        "lopsided", "warn",
        f"Of the known outcomes {100.0 * rate:.1f} % are 1 where the scores are {100.0 * said:.1f} "
        f"% on average, and {100.0 * gone:.0f} % of the outcomes are missing: one kind may be "
        "reported more often than the other.",
        "If no report means the other kind, say after how long (--silence, --after); otherwise "
        "find out why outcomes are missing.",
        times,
    )  # fmt: skip


def immature(columns: Columns) -> Finding | None:
    """Rows whose deadline is still to come: silence says nothing of them yet."""
    made, due = columns.made, columns.due
    if made is None or due is None:
        return None
    # What is due at the very time of the last row is settled after it.
    young = int((due >= made.max()).sum())
    if not young:
        return None
    share = young / len(columns)
    return Finding(
        "maturity", "warn" if share > 0.5 else "note",
        f"{young:,} of {len(columns):,} rows are younger than their deadline and wait for their "
        f"outcomes: they are not scored, and what is said rests on the other "
        f"{len(columns) - young:,}.",
        value=share,
    )  # fmt: skip


def rising_gaps(columns: Columns) -> Finding | None:
    """Outcomes that are missing at the end far more than before: they have not come yet."""
    gone = ~columns.is_known
    if gone.all() or not gone.any():
        return None
    blocks = np.array_split(gone, BLOCKS)
    share = np.array([block.mean() for block in blocks])
    last, before, spread = share[-1], share[: BLOCKS // 2].mean(), share[: BLOCKS // 2].std(ddof=1)
    early, late = np.array_split(blocks[-1], 2)
    is_more = last >= before + max(MORE, BEYOND * spread) and last > share[:-1].max()
    is_sudden = share[-2] < before + spread and last < 0.5
    # What waits is mixed with what has come already; an outage of the log is one piece.
    is_mixed = int((np.diff(np.concatenate(blocks[-2:]).astype(int)) != 0).sum()) >= MIXED
    if not is_more or is_sudden or not is_mixed or late.mean() < early.mean():
        return None
    if columns.scores is not None and not np.isnan(columns.scores).any():
        decides = auc_of(columns.scores, gone.astype(np.float64))
        if max(decides, 1.0 - decides) > DECIDES:
            return None
    return Finding(
        "maturity.rising", "note",
        f"In the last twentieth of the rows {100.0 * last:.0f} % of the outcomes are missing, in "
        f"the first half {100.0 * before:.0f} %: the last rows still wait.",
        "If no outcome means one of the two kinds, say so (--silence, --after); otherwise nothing "
        "has to be done.",
        float(last),
    )  # fmt: skip


def ties(columns: Columns) -> Finding | None:
    """Rows of one time: none of them can have known the outcome of another."""
    if columns.made is None:
        return None
    starts = np.flatnonzero(np.diff(columns.made, prepend=np.nan) != 0.0)
    counts = np.diff(starts, append=len(columns))
    if counts.max() == 1:
        return None
    return Finding(
        "ties", "note",
        f"{int(counts[counts > 1].sum()):,} of {len(columns):,} rows share their time with "
        f"another, up to {int(counts.max()):,} at once: they are predicted together, and what "
        "becomes known of them is learned afterwards.",
        value=len(columns) / len(counts),
    )  # fmt: skip


def lateness(columns: Columns) -> Finding | None:
    """Outcomes of one kind that become known later than the other, or less often."""
    if columns.made is None or columns.known is None:
        return None
    found = DelayCheck.from_times(
        columns.outcomes, columns.made, columns.known, scores=columns.scores,
        is_time=columns.is_time,
    )  # fmt: skip
    if found is None or not found.depends:
        return None
    return Finding("lateness", "warn", found.sentence(), value=found.z)


def crowded(made: Floats, known: Floats, capacity: int) -> Finding | None:
    """More predictions that wait for their outcomes at once than are kept.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant.checks.outcomes import crowded
    >>> crowded(np.zeros(250), np.full(250, 9.0), 100).value
    250.0
    """
    comes = np.sort(np.where(np.isnan(known), np.inf, known))
    waiting = np.arange(1, len(made) + 1) - np.searchsorted(comes, np.sort(made), side="left")
    most = int(waiting.max()) if len(waiting) else 0
    return None if most <= capacity else too_many(most, capacity)


def too_many(most: int, capacity: int) -> Finding:
    """Say that so many predictions wait at once, and fewer are kept."""
    return Finding(
        "capacity", "refuse",
        f"{most:,} predictions wait for their outcomes at once, but only {capacity:,} are kept: "
        "older ones expire before they are learned.",
        f"Set a capacity of at least {most:,} (capacity={most}).",
        float(most),
    )  # fmt: skip


def logit(p: float) -> float:
    """Return the log odds of a probability."""
    return math.log(p / (1.0 - p))
