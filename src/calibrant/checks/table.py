"""The list of checks: which apply to the given columns, and how findings are handled."""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from typing import NamedTuple

from calibrant._checks import as_listed
from calibrant.checks import order, outcomes, scores
from calibrant.checks.columns import BLOCK, MOST_BLOCKS, Columns, Finding, Sample
from calibrant.tables.errors import InputError

#: With more rows than this, a sample is checked.
MOST = BLOCK * MOST_BLOCKS


class Check(NamedTuple):
    """A check, the rows it needs at least, and what the columns must have and must not have."""

    look: Callable[[Columns], Finding | None]
    least: int
    needs: Set[str] = frozenset()
    without: Set[str] = frozenset()
    is_exact: bool = False  # counts all rows, however many, not those of a sample


#: In the order in which findings are shown.
CHECKS: tuple[Check, ...] = (
    Check(scores.scale, 2),
    Check(order.sorted_by_outcome, 50),
    Check(order.sorted_by_score, order.STEPS),
    Check(order.sorted_within, 100, without={"made"}),
    Check(outcomes.one_sided, 2, without={"silence"}),
    Check(outcomes.lopsided, outcomes.FEW, without={"silence"}),
    Check(outcomes.lateness, 100, {"made", "known"}, {"silence", "hold"}),
    Check(scores.leak, 2 * scores.FEW),
    Check(scores.in_sample, 2 * scores.FITTED),
    Check(scores.duplicates, 50),
    Check(scores.inverted, 200),
    Check(outcomes.immature, 2, {"silence"}, is_exact=True),
    Check(outcomes.rising_gaps, 10 * outcomes.BLOCKS, without={"silence", "known"}),
    Check(outcomes.ties, 50, is_exact=True),
    Check(scores.constant, 50),
)
#: The most severe first.
GRAVITY = ("refuse", "warn", "note")


def check_columns(columns: Columns, allow: str | Sequence[str] = ()) -> list[Finding]:
    """Return what the checks find in a user's rows, the most severe first.

    Of more than 262,144 rows, a sample of blocks is checked.

    Parameters
    ----------
    columns : Columns
        The rows.
    allow : str or sequence of str
        Checks to allow, by name or by the part before the dot; "order" stands for all checks of
        the order of rows. Their findings become notes.

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
    allowed = names_of(allow) if allow else set()
    rows = len(columns.outcomes)
    some = columns
    if rows > MOST:
        sample = Sample()
        sample.extend(columns)
        some = sample.columns
    given = {
        "made": some.made is not None, "known": some.known is not None,
        "silence": some.has_silence, "hold": some.has_hold,
    }  # fmt: skip
    traits = {name for name, is_given in given.items() if is_given}
    found = []
    for each in CHECKS:
        if rows < each.least or not each.needs <= traits or each.without & traits:
            continue
        finding = each.look(columns if each.is_exact else some)
        if finding is not None:
            is_allowed = {finding.check, finding.check.split(".")[0]} & allowed
            found.append(finding.allowed() if is_allowed else finding)
    return [each for severity in GRAVITY for each in found if each.severity == severity]


def names_of(allow: str | Sequence[str]) -> set[str]:
    """Return the names of the allowed checks; raise ValueError for an unknown one.

    Examples
    --------
    >>> sorted(names_of("order, leak.auc"))
    ['leak.auc', 'order']
    """
    given = allow.split(",") if isinstance(allow, str) else as_listed(allow, "allow", "names")
    names = {str(name).strip() for name in given if str(name).strip()}
    for name in sorted(names):
        if name not in NAMES and name not in {known.split(".")[0] for known in NAMES}:
            raise ValueError(f"allow must name checks among {', '.join(NAMES)}; got {name!r}")
    return names


#: The names of the checks.
NAMES = (
    "order.sorted", "order.sorted_within", "order.by_score", "one_sided",
    "lopsided", "lateness", "leak.copy", "leak.auc", "leak.in_sample", "duplicates", "inverted",
    "maturity", "maturity.rising", "ties", "constant", "one_kind",
)  # fmt: skip


def refuse(findings: Sequence[Finding], source: str | None = None) -> None:
    """Raise InputError for the first finding that refuses the rows, if there is one.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant.checks import Columns, check_columns, refuse
    >>> refuse(check_columns(Columns(np.tile([0.0, 1.0], 50))))
    """
    for finding in findings:
        if finding.severity == "refuse":
            raise InputError(finding.message, source=source)
