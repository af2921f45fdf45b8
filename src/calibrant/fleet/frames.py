"""A data frame of many keys in, the same frame with calibrated probabilities out."""

from __future__ import annotations

from datetime import timedelta
from typing import TypeVar

from calibrant._checks import describe
from calibrant.fleet.fleet import Fleet
from calibrant.fleet.log import Log
from calibrant.recalibrate.frames import check_new_columns, with_columns
from calibrant.tables.frames import from_frame

Frame = TypeVar("Frame")


def recalibrate_frame(
    frame: Frame,
    *,
    key: str,
    score: str,
    outcome: str,
    id: str | None = None,  # noqa: A002
    time: str | None = None,
    available: str | None = None,
    due: str | None = None,
    kind: str = "probability",
    seed: int = 0,
    silence: int | None = None,
    after: float | timedelta | str | None = None,
    hold: float | timedelta | str | None = None,
    column: str = "calibrated",
    smooth: str | None = None,
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
    score, outcome, time, available, due : str
        As in `calibrant.recalibrate.recalibrate_frame`.
    id : str, optional
        A column that names each row. One without an outcome waits for it in the fleet under its
        id; one without a score brings the outcome of its id.
    kind, seed, silence, after, hold
        As in `Fleet`. What has not reached its deadline at the end of the frame waits for it in the
        fleet, for the next frame.
    column : str
        What to call the new column.
    smooth : str, optional
        What to call a second new column: the estimates to rank and to decide by (`Fleet.smooth`).
    fleet : Fleet, optional
        One to continue with, instead of a fresh one of these arguments: for a frame a day.

    Examples
    --------
    >>> import polars
    >>> from calibrant.fleet.frames import recalibrate_frame
    >>> frame = polars.DataFrame({"shop": ["a", "b"], "score": [0.9, 0.8], "sold": [False, True]})
    >>> recalibrate_frame(frame, key="shop", score="score", outcome="sold").columns
    ['shop', 'score', 'sold', 'calibrated']
    """
    if fleet is None:
        fleet = Fleet(seed, kind, silence=silence, after=after, hold=hold)
    elif not (silence is after is hold is None):
        raise ValueError("a fleet has its own silence, after and hold: do not give them")
    elif not isinstance(fleet, Fleet):
        raise ValueError(f"fleet must be a Fleet, got {describe(fleet)}")
    table = from_frame(frame, "data frame", empty=True)
    check_new_columns(list(table.columns), column, smooth)
    log = Log(
        fleet, key=key, score=score, outcome=outcome,
        id=id, time=time, available=available, due=due, smooth=smooth is not None,
    )  # fmt: skip
    played = log.play(table)
    log.finish()
    told = {column: played.predictions}
    if smooth is not None and played.smooth is not None:
        told[smooth] = played.smooth
    return with_columns(frame, told)
