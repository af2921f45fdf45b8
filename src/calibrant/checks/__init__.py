"""Whether the question is right: named checks of a user's rows, with one wording each.

A recalibration can only be judged on rows that are in order of time, whose scores were made before
their outcomes, and whose outcomes are reported whatever their value. Each check is a function of
the `Columns` that returns a `Finding`, or None if it finds nothing. A finding has a name, a
severity ("refuse", "warn" or "note"), a description and a remedy. `check_columns` runs all checks
that apply. Read `columns` (the input of a check), then `order`, `outcomes` and `scores` (the
checks) and `table` (the list of all checks, and the entry point for files and data frames). How
often each is wrong on valid rows is measured: `benchmarks/checks.md`.
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
