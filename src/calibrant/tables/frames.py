"""Data frames of any library that narwhals knows, and Parquet through pyarrow."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from calibrant._checks import describe
from calibrant.tables.errors import InputError, listed
from calibrant.tables.table import Table, check_names


def import_pyarrow() -> tuple[ModuleType, ModuleType]:
    """Return pyarrow and pyarrow.parquet, or say how to install them."""
    try:
        import pyarrow  # noqa: PLC0415
        import pyarrow.parquet  # noqa: PLC0415
    except ImportError:
        raise ImportError("Parquet files need pyarrow: pip install 'calibrant[parquet]'") from None
    return pyarrow, pyarrow.parquet


def from_frame(
    frame: Any, source: str, *, empty: bool = False, wanted: str = "frame must be"
) -> Table:
    """Return a pandas, polars, pyarrow or other data frame as a table, without copying it.

    `empty` allows one without rows; `wanted` begins the message about what is no data frame.
    """
    import narwhals as nw  # noqa: PLC0415 - needed for data frames only

    try:
        wrapped = nw.from_native(frame, eager_only=True)
    except TypeError:
        raise ValueError(
            f"{wanted} a data frame held in memory (of pandas or polars, or a pyarrow Table), "
            f"got {describe(frame)}"
        ) from None
    except nw.exceptions.DuplicateError as error:
        raise InputError(" ".join(str(error).split()), source=source) from None
    names = [str(name) for name in wrapped.columns]
    check_names(names, source)
    if not len(wrapped) and not empty:
        raise InputError(f"there are no rows; the columns are {listed(names)}", source=source)
    return Table(source, dict(zip(names, wrapped.iter_columns(), strict=True)))


def parse_parquet(data: bytes, source: str) -> Table:
    """Return the rows of a Parquet file."""
    arrow, parquet = import_pyarrow()
    try:
        table = parquet.ParquetFile(arrow.BufferReader(data)).read()
    except (arrow.ArrowException, OSError) as error:
        reason = str(error).splitlines()[0]
        raise InputError(f"is not a whole Parquet file ({reason})", source=source) from None
    return from_frame(table, source)
