"""A data frame of many keys in, the same frame with calibrated probabilities out."""

from __future__ import annotations

from typing import Any, TypeVar, cast

from calibrant._checks import describe
from calibrant.fleet.fleet import Fleet
from calibrant.fleet.log import Log
from calibrant.recalibrate.frames import check_new_columns
from calibrant.tables.frames import from_frame

Frame = TypeVar("Frame")


def recalibrate_frame(
    frame: Frame,
    *,
    key: str,
    score: str,
    outcome: str,
    time: str | None = None,
    available: str | None = None,
    kind: str = "probability",
    seed: int = 0,
    column: str = "calibrated",
    fleet: Fleet | None = None,
) -> Frame:
    """Return a data frame with one more column: its scores, recalibrated row by row, key by key.

    As `calibrant.recalibrate.recalibrate_frame`, with a `Fleet` in place of a `Recalibrator`.

    Parameters
    ----------
    frame : data frame
        Of pandas, polars, pyarrow or whatever eager frame narwhals knows. Rows are rounds, first
        to last. It is not changed.
    key : str
        The column of keys: integers or text.
    score, outcome, time, available : str
        As in `calibrant.recalibrate.recalibrate_frame`.
    kind, seed
        As in `Fleet`.
    column : str
        What to call the new column.
    fleet : Fleet, optional
        One to go on with, instead of a fresh one of this `kind` and `seed`: for a frame a day.

    Examples
    --------
    >>> import polars
    >>> from calibrant.fleet.frames import recalibrate_frame
    >>> frame = polars.DataFrame({"shop": ["a", "b"], "score": [0.9, 0.8], "sold": [False, True]})
    >>> recalibrate_frame(frame, key="shop", score="score", outcome="sold").columns
    ['shop', 'score', 'sold', 'calibrated']
    """
    import narwhals as nw  # noqa: PLC0415 - needed for data frames only

    if fleet is None:
        fleet = Fleet(seed, kind)
    elif not isinstance(fleet, Fleet):
        raise ValueError(f"fleet must be a Fleet, got {describe(fleet)}")
    table = from_frame(frame, "data frame", empty=True)
    check_new_columns(list(table.columns), column, None)
    log = Log(fleet, key=key, score=score, outcome=outcome, time=time, available=available)
    said, _ = log.play(table)
    log.finish()
    native: nw.DataFrame[Any] = nw.from_native(cast("Any", frame), eager_only=True)
    series = nw.new_series(column, said, nw.Float64(), backend=native.implementation)
    return cast("Frame", native.with_columns(series).to_native())
