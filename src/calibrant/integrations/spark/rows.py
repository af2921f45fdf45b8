"""The rows of a shard: refused or played, in order of their time, through a fleet."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from calibrant.integrations.spark.columns import ID, KEY, OUTCOME, SCORE, TIME

if TYPE_CHECKING:
    import pandas as pd

    from calibrant import Fleet

#: Why a row with an outcome, by id, changes nothing; by what `Fleet.play` answers.
REASONS = {
    "used": "the id was used before",
    "repeated": "the outcome was given before",
    "conflict": "another outcome was given before",
    "unknown": "no prediction with this id waits",
    "expired": "the prediction was given up before its outcome came",
}


def in_order(rows: pd.DataFrame) -> pd.DataFrame:
    """Return rows in the order in which they are played, whatever the order in which they came.

    By time, then by the order that the user gave; of rows at one time predictions come first.
    What is left is decided by the values, so that equal rows are all that can change places.
    """
    rows = rows.assign(late=(rows["holds"] & SCORE) == 0)
    by = ["time", "sequence", "late", "key", "id", "score", "outcome"]
    return rows.sort_values(by, kind="stable", ignore_index=True)


def refused(rows: pd.DataFrame, kind: str) -> npt.NDArray[np.object_]:
    """Return why each row cannot be used as it stands, None where it can."""
    holds = rows["holds"].to_numpy()
    scores, outcomes = rows["score"].to_numpy(), rows["outcome"].to_numpy()
    has_score, has_outcome = (holds & SCORE) != 0, (holds & OUTCOME) != 0
    if kind == "probability":
        fits, allowed = (scores >= 0.0) & (scores <= 1.0), "in [0, 1]"
    else:
        fits, allowed = np.isfinite(scores), "finite"
    reasons = np.full(len(rows), None, dtype=object)
    for wrong, reason in (
        ((holds & KEY) == 0, "the key is missing"),
        ((holds & TIME) == 0, "the time is missing"),
        (~has_score & ~has_outcome, "there is neither a score nor an outcome"),
        (has_score & ~fits, f"the score must be {allowed}"),
        (has_outcome & ~((outcomes >= 0.0) & (outcomes <= 1.0)), "the outcome must be in [0, 1]"),
        (~has_score & ((holds & ID) == 0), "an outcome without a score needs an id"),
    ):
        reasons[wrong & (reasons == None)] = reason  # noqa: E711 - element by element
    return reasons


def play(fleet: Fleet, rows: pd.DataFrame) -> pd.DataFrame:
    """Play rows through a fleet that holds their parts; return the answers, in order.

    An answer is a prediction, or the reason why a row was refused. Rows that brought an outcome
    that was learned have none.
    """
    rows = in_order(rows)
    reasons = refused(rows, fleet.kind)
    predictions = np.full(len(rows), np.nan)
    good = np.flatnonzero(reasons == None)  # noqa: E711 - element by element
    answers = _played(fleet, rows.iloc[good])
    predictions[good] = answers[0]
    for row, answer in zip(
        good[answers[1] != ""].tolist(), answers[1][answers[1] != ""], strict=True
    ):
        reasons[row] = REASONS[answer]
    rows = rows.assign(prediction=predictions, reason=reasons)
    told = ~np.isnan(predictions) | (reasons != None)  # noqa: E711 - element by element
    return rows.loc[told, ["part", "holds", "key", "id", "time", "score", "prediction", "reason"]]


def _played(fleet: Fleet, rows: pd.DataFrame) -> tuple[npt.NDArray[np.float64], npt.NDArray[Any]]:
    """Return the predictions of rows, and of each the answer that is a problem, or no word."""
    raise NotImplementedError
