"""Whether the question is right: named checks of a user's rows, with one wording each.

A recalibration can only be judged on rows that are in the order of time, whose scores were made
before their outcomes, and whose outcomes are reported whatever they are. Each check is a function
of the `Columns` and returns a `Finding`, or None where it sees nothing: it has a name, a severity
("refuse", "warn" or "note"), what was seen and what to do about it. `check_columns` runs all that
apply; read `columns` (what a check can see), then `order`, `outcomes` and `scores` (the checks) and
`table` (all of them, and the front door for files and data frames). How often each is wrong on
honest rows is measured: `benchmarks/checks.md`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from calibrant._lazy import names_from

if TYPE_CHECKING:
    from calibrant.checks.columns import Columns as Columns
    from calibrant.checks.columns import Finding as Finding
    from calibrant.checks.columns import Sample as Sample
    from calibrant.checks.table import check_columns as check_columns
    from calibrant.checks.table import refuse as refuse

HOMES = {
    "columns": "Columns Finding Sample",
    "table": "check_columns refuse",
}
__all__, __getattr__, __dir__ = names_from(__name__, HOMES)
