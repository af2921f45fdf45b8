"""All checks: which apply to the columns that are there, and what to do with what they find."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from calibrant._checks import as_listed
from calibrant.checks import order, outcomes, scores
from calibrant.checks.columns import BLOCK, MOST_BLOCKS, Columns, Finding, Sample
from calibrant.tables.errors import InputError

#: With more rows than this, a sample is looked at.
MOST = BLOCK * MOST_BLOCKS


class Check(NamedTuple):
    """A check, the rows it takes to say anything, and whether it applies to these columns."""

    look: Callable[[Columns], Finding | None]
    least: int
    applies: Callable[[Columns], bool] = bool
    is_exact: bool = False  # a matter of counting: all rows are looked at, however many


def has_both(columns: Columns) -> bool:
    """Outcomes of both kinds, and none between."""
    return columns.rarer > 0


def is_open(columns: Columns) -> bool:
    """It was not said what a missing outcome means."""
    return not columns.has_silence


def is_late(columns: Columns) -> bool:
    """Outcomes are learned as they come."""
    return columns.known is not None and not (columns.has_silence or columns.has_hold)


#: In the order in which findings are shown.
CHECKS: tuple[Check, ...] = (
    Check(scores.scale, 2),
    Check(order.sorted_by_outcome, 50, has_both),
    Check(order.sorted_by_score, order.STEPS, has_both),
    Check(order.sorted_within, 100, lambda columns: has_both(columns) and columns.made is None),
    Check(outcomes.one_sided, 2, is_open),
    Check(outcomes.lopsided, outcomes.FEW, is_open),
    Check(outcomes.lateness, 100, is_late),
    Check(scores.leak, 2 * scores.FEW),
    Check(scores.in_sample, 2 * scores.FITTED),
    Check(scores.duplicates, 50, has_both),
    Check(scores.inverted, 200),
    Check(outcomes.immature, 2, lambda columns: columns.has_silence, is_exact=True),
    Check(outcomes.rising_gaps, 10 * outcomes.BLOCKS, lambda c: is_open(c) and c.known is None),
    Check(outcomes.ties, 50, is_exact=True),
    Check(scores.constant, 50),
)


def check_columns(columns: Columns, allow: str | Sequence[str] = ()) -> list[Finding]:
    """Return what the checks find in a user's rows, the gravest first.

    Of more than 262,144 rows, a sample of blocks is looked at.

    Parameters
    ----------
    columns : Columns
        The rows.
    allow : str or sequence of str
        Checks that the user answers for, by name or by what is before the dot; "order" is all that
        look at the order of rows. What they find becomes a note.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant.checks import Columns, check_columns
    >>> outcomes = np.repeat([0.0, 1.0], 500)
    >>> found = check_columns(Columns(outcomes, np.full(1000, 0.5)))
    >>> [(each.check, each.severity) for each in found]
    [('order.sorted', 'refuse'), ('constant', 'note')]
    >>> check_columns(Columns(outcomes, np.full(1000, 0.5)), allow="order")[0].severity
    'note'
    """
    allowed = names_of(allow)
    rows = len(columns)
    some = columns
    if rows > MOST:
        sample = Sample()
        sample.extend(columns)
        some = sample.columns
    found = []
    for each in CHECKS:
        if rows < each.least or not each.applies(some):
            continue
        finding = each.look(columns if each.is_exact else some)
        if finding is not None:
            is_allowed = {finding.check, finding.check.split(".")[0]} & allowed
            found.append(finding.allowed() if is_allowed else finding)
    gravity = ["refuse", "warn", "note"]
    return sorted(found, key=lambda finding: gravity.index(finding.severity))


def names_of(allow: str | Sequence[str]) -> set[str]:
    """Return the names of checks that are allowed, or refuse what is none.

    Examples
    --------
    >>> sorted(names_of("order, leak.auc"))
    ['leak.auc', 'order']
    """
    given = allow.split(",") if isinstance(allow, str) else as_listed(allow, "allow", "names")
    names = {str(name).strip() for name in given if str(name).strip()}
    for name in sorted(names):
        if name not in NAMES and name not in {known.split(".")[0] for known in NAMES}:
            raise ValueError(f"allow must name checks, of {', '.join(NAMES)}; got {name!r}")
    return names


#: What the checks are called.
NAMES = (
    "order.sorted", "order.sorted_within", "order.by_score", "order.grouped", "one_sided",
    "lopsided", "lateness", "leak.copy", "leak.auc", "leak.in_sample", "duplicates", "inverted",
    "maturity", "maturity.rising", "ties", "constant", "one_kind",
)  # fmt: skip


def refuse(findings: Sequence[Finding], source: str | None = None) -> None:
    """Raise InputError with the first finding that refuses the rows, if there is one.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant.checks import Columns, check_columns, refuse
    >>> refuse(check_columns(Columns(np.tile([0.0, 1.0], 50))))
    """
    for finding in findings:
        if finding.severity == "refuse":
            raise InputError(finding.message, source=source)
