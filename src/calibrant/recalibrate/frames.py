"""A data frame in, the same frame with calibrated probabilities out."""

from __future__ import annotations

from typing import Any, TypeVar, cast

from calibrant._checks import check_choice, check_seed, describe
from calibrant._kernels.recalibrate import KINDS
from calibrant.recalibrate.recalibrator import Recalibrator, recalibrate_rows
from calibrant.tables import take_scored
from calibrant.tables.frames import from_frame

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
    InputError
        For a cell that cannot be used: the message names the row, counted from 1, and the column.

    Examples
    --------
    >>> import polars
    >>> from calibrant.recalibrate import recalibrate_frame
    >>> frame = polars.DataFrame({"score": [0.9, 0.8, 0.7], "happened": [False, True, None]})
    >>> recalibrate_frame(frame, score="score", outcome="happened").columns
    ['score', 'happened', 'calibrated']
    """
    import narwhals as nw  # noqa: PLC0415 - needed for data frames only

    check_choice("kind", kind, KINDS)
    check_seed(seed)
    for name, given in (("score", score), ("outcome", outcome)):
        if given is None:
            raise ValueError(f"{name} must name a column, got None")
    table = from_frame(frame, "data frame", empty=True)
    if not isinstance(column, str):
        raise ValueError(f"column must be a string, got {describe(column)}")
    if column in table.columns:
        raise ValueError(f"the frame has a column {column!r} already; name another with column=")
    # A name may be anything in a data frame, in a table it is text.
    parts = {"id": id, "time": time, "available": available, "by": by}
    named = {part: str(name) for part, name in parts.items() if name is not None}
    rows = take_scored(
        table, score=str(score), outcome=str(outcome), kind=kind, text=False, **named
    )
    recalibrator = Recalibrator(kind, seed=seed, capacity=max(1, len(table)))
    predictions = recalibrate_rows(
        recalibrator, rows.scores, rows.outcomes, rows.arrivals, rows.groups
    )
    native: nw.DataFrame[Any] = nw.from_native(cast("Any", frame), eager_only=True)
    new = nw.new_series(column, predictions, nw.Float64(), backend=native.implementation)
    return cast("Frame", native.with_columns(new).to_native())
