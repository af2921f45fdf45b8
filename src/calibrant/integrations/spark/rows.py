"""The rows of a task: refused or played, in order of their time, through a fleet."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd

from calibrant.fleet.fleet import Fleet
from calibrant.integrations.spark.columns import DUE, ID, KEY, OUTCOME, SCORE, TIME

#: Why a row changes nothing, by what `Fleet.play` answers.
REASONS = {
    "used": "the id was used before",
    "repeated": "the outcome was given before",
    "conflict": "another outcome was given before",
    "unknown": "no prediction with this id is pending",
    "expired": "the prediction expired before its outcome came",
}


def in_order(rows: pd.DataFrame) -> pd.DataFrame:
    """Return rows in the order in which they are played, whatever the order in which they came.

    By time, then by the order that the user gave; of rows at one time predictions come first.
    What is left is decided by the values, so that equal rows are all that can change places.
    """
    rows = rows.sort_values("time", kind="stable", ignore_index=True)
    if rows["time"].is_unique:
        return rows
    rows = rows.assign(late=(rows["holds"] & SCORE) == 0)
    by = ["time", "sequence", "late", "key", "id", "score", "outcome"]
    return rows.sort_values(by, kind="stable", ignore_index=True)


def refused(rows: pd.DataFrame, fleet: Fleet) -> npt.NDArray[np.object_]:
    """Return why each row cannot be used as it stands, None where it can."""
    holds = rows["holds"].to_numpy()
    scores, outcomes = rows["score"].to_numpy(), rows["outcome"].to_numpy()
    has_score, has_outcome = (holds & SCORE) != 0, (holds & OUTCOME) != 0
    if fleet.kind == "probability":
        fits, allowed = (scores >= 0.0) & (scores <= 1.0), "in [0, 1]"
    else:
        fits, allowed = np.isfinite(scores), "finite"
    is_outcome = (outcomes >= 0.0) & (outcomes <= 1.0)
    is_whole = (outcomes % 1.0 == 0.0) | (fleet.silence is None)
    waits = has_score & has_deadlines(fleet)
    ends = waits if "due" in rows else np.zeros(len(rows), dtype=bool)
    due = rows["due" if "due" in rows else "time"].to_numpy()
    reasons = np.full(len(rows), None, dtype=object)
    for wrong, reason in (
        ((holds & KEY) == 0, "the key is missing"),
        ((holds & TIME) == 0, "the time is missing"),
        (~has_score & ~has_outcome, "there is neither a score nor an outcome"),
        (has_score & ~fits, f"the score must be {allowed}"),
        (has_outcome & ~is_outcome, "the outcome must be in [0, 1]"),
        (has_outcome & ~is_whole, "with silence the outcome must be 0 or 1"),
        (~has_score & ((holds & ID) == 0), "an outcome without a score needs an id"),
        (waits & ((holds & ID) == 0), "a prediction with a deadline needs an id"),
        (ends & ((holds & DUE) == 0), "the deadline is missing"),
        (ends & (due <= rows["time"].to_numpy()), "the deadline must be later than the time"),
    ):
        reasons[wrong & is_free(reasons)] = reason
    return reasons


def play(fleet: Fleet, rows: pd.DataFrame) -> pd.DataFrame:
    """Play rows through a fleet that holds their shard; return the answers, in order.

    An answer is a prediction, or the reason why a row was refused. Rows that brought an outcome
    that was learned have none.
    """
    rows = in_order(rows)
    reasons = refused(rows, fleet)
    good = np.flatnonzero(is_free(reasons))
    predictions = np.full(len(rows), np.nan)
    if len(good):
        predictions[good], reasons[good] = _played(fleet, rows.iloc[good])
    rows = rows.assign(prediction=predictions, reason=reasons)
    told = ~np.isnan(predictions) | ~is_free(reasons)
    return rows.loc[told, ["shard", "holds", "key", "id", "time", "score", "prediction", "reason"]]


def has_deadlines(fleet: Fleet) -> bool:
    """Return whether a fleet learns outcomes at deadlines."""
    return fleet.silence is not None or fleet.hold is not None


def is_free(reasons: npt.NDArray[np.object_]) -> npt.NDArray[np.bool_]:
    """Return which rows there is no reason to refuse."""
    return np.asarray(pd.isna(reasons))


def _played(
    fleet: Fleet, rows: pd.DataFrame
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.object_]]:
    """Return the predictions of rows, NaN for outcomes, and why some were refused."""
    holds = rows["holds"].to_numpy()
    keys, times = rows["key"].to_numpy(), rows["time"].to_numpy() / 1e6
    scores = np.where(holds & SCORE, rows["score"].to_numpy(), np.nan)
    outcomes = np.where(holds & OUTCOME, rows["outcome"].to_numpy(), np.nan)
    is_whole = (holds & (SCORE | OUTCOME)) == (SCORE | OUTCOME)
    waits, due = (holds & ID) != 0, None
    if not has_deadlines(fleet):
        if is_whole.all():
            predicted = fleet.run(keys, scores, outcomes, at=times)
            return predicted, np.full(len(rows), None, dtype=object)
        waits &= ~is_whole  # so that it does not matter which rows arrive together
    elif "due" in rows:
        due = rows["due"].to_numpy() / 1e6
    names = [name if has else None for name, has in zip(rows["id"].tolist(), waits, strict=True)]
    predictions, answers = fleet.play(keys, scores, outcomes, ids=names, at=times, due=due)
    reasons = np.full(len(rows), None, dtype=object)
    for answer, reason in REASONS.items():
        reasons[answers == answer] = reason
    return predictions, reasons
