"""A data frame in, the same frame with calibrated probabilities out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np

from calibrant._checks import check_choice, check_seed, describe
from calibrant._kernels.recalibrate import KINDS
from calibrant.recalibrate.recalibrator import Recalibrator
from calibrant.recalibrate.rows import recalibrate_rows
from calibrant.tables.arrivals import at_once, by_clock, check_order
from calibrant.tables.checks import check_ids, check_parts, check_scores, groups_of
from calibrant.tables.row_errors import RowError
from calibrant.tables.series import cells_of, clock_of, numbers_of

if TYPE_CHECKING:
    import narwhals as nw


Frame = TypeVar("Frame")


def recalibrate_frame(
    frame: Frame,
    *,
    score: str,
    outcome: str,
    id: str | None = None,  # noqa: A002
    time: str | None = None,
    available: str | None = None,
    by: str | None = None,
    kind: str = "probability",
    seed: int = 0,
    column: str = "calibrated",
) -> Frame:
    """Return a data frame with one more column: its scores, recalibrated row by row.

    Each row's probability is made from outcomes that were known by then: without `available`,
    those of all rows above; with it, those available at a time strictly before the row's own.

    Parameters
    ----------
    frame : data frame
        Of pandas, polars, pyarrow or whatever eager frame narwhals knows. Rows are rounds, first
        to last. It is not changed.
    score, outcome : str
        The columns of the model's scores and of what happened: numbers or booleans, an outcome in
        [0, 1]. Where the outcome is missing the row is predicted and nothing is learned.
    id : str, optional
        A column that names each row; a name that comes twice is refused.
    time : str, optional
        When each row is predicted: numbers, or dates and times. Must not run backwards.
    available : str, optional
        When each outcome became known, by the same clock; missing for never. Asks for `time`.
    by : str, optional
        A column of groups, text or integers, each recalibrated by itself once it has evidence.
    kind, seed
        As in `Recalibrator`.
    column : str
        What to call the new column.

    Raises
    ------
    RowError
        For a cell that cannot be used: the message names the column and the position.

    Examples
    --------
    >>> import polars
    >>> from calibrant.recalibrate import recalibrate_frame
    >>> frame = polars.DataFrame({"score": [0.9, 0.8, 0.7], "happened": [False, True, None]})
    >>> recalibrate_frame(frame, score="score", outcome="happened").columns
    ['score', 'happened', 'calibrated']
    """
    import narwhals as nw  # noqa: PLC0415 - only who brings a data frame pays for it

    check_choice("kind", kind, KINDS)
    check_seed(seed)
    try:
        table: nw.DataFrame[Any] = nw.from_native(cast("Any", frame), eager_only=True)
    except TypeError:
        raise ValueError(
            "frame must be a data frame held in memory (of pandas or polars, or a pyarrow Table), "
            f"got {describe(frame)}"
        ) from None
    except nw.exceptions.DuplicateError as error:
        raise ValueError(f"frame: {' '.join(str(error).split())}") from None
    named = {
        "score": score, "outcome": outcome, "id": id, "time": time, "available": available, "by": by
    }  # fmt: skip
    for part, name in named.items():
        if name is not None and name not in table.columns:
            raise ValueError(
                f"{part} must be one of the columns {', '.join(map(repr, table.columns))}, "
                f"got {describe(name)}"
            )
    check_parts(score, outcome, by)
    if not isinstance(column, str):
        raise ValueError(f"column must be a string, got {describe(column)}")
    if column in table.columns:
        raise ValueError(f"the frame has a column {column!r} already; name another with column=")
    scores = numbers_of(table.get_column(score), score)
    missing = np.isnan(scores)
    if missing.any():
        raise RowError("the score is missing", column=score, row=int(missing.argmax()))
    check_scores(scores, kind, score)
    outcomes = numbers_of(table.get_column(outcome), outcome)
    outside = (outcomes < 0.0) | (outcomes > 1.0)
    if outside.any():
        row = int(outside.argmax())
        raise RowError(f"got {float(outcomes[row])!r}, must be in [0, 1]", column=outcome, row=row)
    if id is not None:
        check_ids(cells_of(table.get_column(id)), id)
    arrivals = at_once(~np.isnan(outcomes))
    if time is not None:
        clock = clock_of(table.get_column(time), time)
        check_order(clock)
        if available is not None:
            arrivals = by_clock(
                clock, clock_of(table.get_column(available), available), ~np.isnan(outcomes)
            )
    elif available is not None:
        raise ValueError("available needs time: an outcome is late for predictions made before it")
    groups = None if by is None else groups_of(cells_of(table.get_column(by)), by)
    recalibrator = Recalibrator(kind, seed=seed, capacity=max(1, len(scores)))
    predictions = recalibrate_rows(recalibrator, scores, outcomes, arrivals, groups)
    new = nw.new_series(column, predictions, nw.Float64(), backend=table.implementation)
    return cast("Frame", table.with_columns(new).to_native())
