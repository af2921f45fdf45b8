"""Rows in and out: files, pipes and data frames; columns, clocks, and one family of errors.

A file or a data frame becomes a `Table`, its columns as they were read; what a column holds is
decided when it is taken. Read in the order in which a row travels: `reading` opens a file, unpacks
it and calls `delimited` (CSV), `json_rows` or `frames` (data frames and Parquet), each of which
gives a `table`. `cells` says what one cell stands for, and reads a whole column as numbers,
outcomes or a clock. `scored` takes from a table all that a recalibration needs; `inspection` looks
at an undescribed table, its `columns` and the `roles` they seem to play. `pipes` reads
line by line, `chunks` some rows at a time, `writing` writes and packs, and `atomic` sees to it that
a file appears whole or not at all. What cannot be used is an `InputError` (`errors`): what is
wrong, in which file, row and column.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from calibrant._lazy import names_from

if TYPE_CHECKING:
    from calibrant.tables.atomic import replacing as replacing
    from calibrant.tables.cells import Cells as Cells
    from calibrant.tables.cells import Clock as Clock
    from calibrant.tables.errors import InputError as InputError
    from calibrant.tables.inspection import Inspection as Inspection
    from calibrant.tables.inspection import inspect_table as inspect_table
    from calibrant.tables.pipes import follow as follow
    from calibrant.tables.reading import read as read
    from calibrant.tables.scored import Scored as Scored
    from calibrant.tables.scored import take_scored as take_scored
    from calibrant.tables.table import Column as Column
    from calibrant.tables.table import Table as Table
    from calibrant.tables.writing import write as write

HOMES = {
    "atomic": "replacing",
    "cells": "Cells Clock",
    "errors": "InputError",
    "inspection": "Inspection inspect_table",
    "pipes": "follow",
    "reading": "read",
    "scored": "Scored take_scored",
    "table": "Column Table",
    "writing": "write",
}
__all__, __getattr__, __dir__ = names_from(__name__, HOMES)
