"""Recalibrate a data frame: return it with a column of calibrated probabilities."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np

from calibrant._checks import Id, check_choice, check_id, check_seed, describe
from calibrant._kernels.scores.recalibrate import KINDS
from calibrant.recalibrate.recalibrator import Recalibrator
from calibrant.recalibrate.rows import checked, recalibrate_rows, take_rows

if TYPE_CHECKING:
    from calibrant.recalibrate.multiclass import MulticlassRecalibrator
    from calibrant.recalibrate.numbers import NumberRecalibrator
    from calibrant.tables import Table

Frame = TypeVar("Frame")


def recalibrate_frame(
    frame: Frame,
    *,
    score: str | None = None,
    scores: str | Sequence[str] | None = None,
    forecast: str | None = None,
    outcome: str,
    id: str | None = None,  # noqa: A002
    time: str | None = None,
    available: str | None = None,
    due: str | None = None,
    by: str | None = None,
    positive: str | float | None = None,
    kind: str = "probability",
    seed: int = 0,
    silence: Id | None = None,
    after: float | timedelta | str | None = None,
    hold: float | timedelta | str | None = None,
    column: str = "calibrated",
    smooth: str | None = None,
    levels: Sequence[float] = (0.05, 0.25, 0.5, 0.75, 0.95),
    recalibrator: Recalibrator | MulticlassRecalibrator | NumberRecalibrator | None = None,
    allow: str | Sequence[str] = (),
) -> Frame:
    """Return a data frame with one more column: its scores, recalibrated row by row.

    With `scores` instead of `score`, outcomes are the names of classes, and the new columns are
    their probabilities, ``calibrated_`` and the name, from a `MulticlassRecalibrator`.

    With `forecast` instead of `score`, outcomes are numbers, and the new columns are quantiles, one
    column per level: q05, q25, q50, q75 and q95.

    Each row's probability is made from outcomes that were known by then: without `available`,
    those of all rows above; with it, those available at a time strictly before the row's own.

    Parameters
    ----------
    frame : data frame
        A pandas, polars or pyarrow frame, or any other eager frame that narwhals supports. Rows are
        rounds, in order. It is not changed.
    score, outcome : str
        The columns of the model's scores and of the outcomes: numbers or booleans, an outcome in
        [0, 1]. If the outcome is missing, the row is predicted and nothing is learned.
    id : str, optional
        A column of unique ids; a duplicate is refused.
    time : str, optional
        When each row is predicted: numbers, or dates and times. Must not run backwards.
    available : str, optional
        When each outcome became known, on the same clock; missing for never. Needs `time`.
    due : str, optional
        Each row's deadline, on the same clock, with `silence` or `hold`. Needs `time`.
    by : str, optional
        A column of groups, text or integers, each recalibrated separately once there is evidence.
    scores : str or sequence of str, optional
        The columns of several classes, instead of `score`: their names, or ``"p_*"`` for all that
        start with ``p_``, where the rest of a name is the class. Missing outcomes are unknown, and
        `silence` is the name of a class. Cannot be combined with `positive` and `smooth`.
    forecast : str, optional
        The column of a model's forecasts of a number, instead of `score`; may have missing values.
        Can only be combined with `outcome`, `id`, `time`, `available`, `by`, `hold`, `levels` and
        `recalibrator`, a `NumberRecalibrator`.
    positive : str, int, float or bool, optional
        The outcome that counts as 1, such as ``"fraud"``; every other value is 0.
    kind, seed, silence, after, hold
        As in `Recalibrator`.
    column : str
        The name of the new column.
    smooth : str, optional
        The name of a second new column: the mixture's estimate, as fine-grained as the scores, for
        ranking rows (`Recalibrator.smooth`).
    levels : sequence of float, default (0.05, 0.25, 0.5, 0.75, 0.95)
        With `forecast`, the levels of the new columns.
    recalibrator : Recalibrator, MulticlassRecalibrator or NumberRecalibrator, optional
        A recalibrator to continue with, instead of a new one of this `kind` and `seed`. It learns
        from the rows; with `id`, rows without an outcome stay pending in it.
    allow : str or sequence of str
        Checks to skip, by name, such as "order" for rows that only look sorted; see
        `docs/checks.md`.

    Warns
    -----
    UserWarning
        If a check has a warning, for example that one kind of outcome becomes known later than the
        other. The message has the figures and the remedy.

    Raises
    ------
    InputError
        For an invalid cell: the message has the row, counted from 1, and the column. For rows that
        a check refuses, for example because they are sorted by outcome, have outcomes of one kind
        only, or have scores that are a copy of the outcome: the message has the option to use them
        anyway.

    Examples
    --------
    >>> import polars
    >>> from calibrant.recalibrate import recalibrate_frame
    >>> frame = polars.DataFrame({"score": [0.9, 0.8, 0.7], "happened": [False, True, None]})
    >>> recalibrate_frame(frame, score="score", outcome="happened").columns
    ['score', 'happened', 'calibrated']
    >>> frame = polars.DataFrame({"score": [0.9, 0.8, 0.7], "state": ["fine", "fraud", "fine"]})
    >>> recalibrate_frame(frame, score="score", outcome="state", positive="fraud").columns
    ['score', 'state', 'calibrated']
    >>> frame = polars.DataFrame({"forecast": [3.0, 4.0], "demand": [2.5, 5.0]})
    >>> done = recalibrate_frame(frame, forecast="forecast", outcome="demand", levels=[0.05, 0.95])
    >>> done.columns
    ['forecast', 'demand', 'q05', 'q95']
    >>> frame = polars.DataFrame({"cat": [0.9, 0.2], "dog": [0.1, 0.8], "seen": ["cat", None]})
    >>> recalibrate_frame(frame, scores=["cat", "dog"], outcome="seen").columns
    ['cat', 'dog', 'seen', 'calibrated_cat', 'calibrated_dog']
    """
    if scores is not None:
        others = {"score": score, "forecast": forecast, "smooth": smooth}
        for name, value in {**others, "positive": positive}.items():
            if value is not None:
                raise ValueError(
                    f"{name} cannot be combined with scores, whose outcomes are classes"
                )
        return class_frame(
            frame, scores=scores, outcome=outcome, id=id, kind=kind, seed=seed, column=column,
            policy={"silence": silence, "after": after, "hold": hold}, recalibrator=recalibrator,
            time=time, available=available, due=due, by=by,
        )  # fmt: skip
    if forecast is not None:
        for name, given, default in (
            ("score", score, None), ("due", due, None), ("positive", positive, None),
            ("kind", kind, "probability"), ("silence", silence, None), ("after", after, None),
            ("smooth", smooth, None),
        ):  # fmt: skip
            if given != default:
                raise ValueError(
                    f"{name} cannot be combined with forecast, whose outcomes are numbers"
                )
        return number_frame(
            frame, forecast=forecast, outcome=outcome, id=id, time=time, available=available, by=by,
            hold=hold, levels=levels, recalibrator=recalibrator,
        )  # fmt: skip
    # Needed for data frames only.
    from calibrant.tables.frames import from_frame  # noqa: PLC0415

    for name, given in (("score", score), ("outcome", outcome)):
        if given is None:
            raise ValueError(f"{name} must name a column, got None")
    is_fresh = recalibrator is None
    if recalibrator is None:
        recalibrator = Recalibrator(
            check_choice("kind", kind, KINDS), seed=check_seed(seed),
            silence=cast("int | None", silence), after=after, hold=hold,
        )  # fmt: skip
    elif not (silence is after is hold is None):
        raise ValueError("a recalibrator has its own silence, after and hold: do not give them")
    elif not isinstance(recalibrator, Recalibrator):
        raise ValueError(f"recalibrator must be a Recalibrator, got {describe(recalibrator)}")
    table = from_frame(frame, "data frame", empty=True)
    check_new_columns(list(table.columns), column, smooth)
    # A name may be anything in a data frame, in a table it is text.
    parts = {"id": id, "time": time, "available": available, "due": due, "by": by}
    named: dict[str, Any] = {part: str(name) for part, name in parts.items() if name is not None}
    if positive is not None:
        named["positive"] = positive_of(positive)
    rows = take_rows(
        table, score=str(score), outcome=str(outcome), kind=recalibrator.kind, text=False, **named
    )
    for finding in checked(recalibrator, rows, allow):
        if finding.is_open and finding.check != "maturity":  # that matters to a report only
            warnings.warn(finding.message, stacklevel=2)
    ids = None if id is None or is_fresh else ids_in(table, str(id))

    def body() -> Frame:
        predicted = recalibrate_rows(recalibrator, rows, ids, smooth=smooth is not None)
        new = {column: predicted.predictions} | (
            {} if smooth is None else {smooth: predicted.smooth}
        )
        return with_columns(frame, new)

    return body() if is_fresh else recalibrator._all_or_nothing(body)


def number_frame(
    frame: Frame,
    *,
    forecast: str,
    outcome: str,
    id: str | None,  # noqa: A002
    hold: float | timedelta | str | None,
    levels: Sequence[float],
    recalibrator: Recalibrator | MulticlassRecalibrator | NumberRecalibrator | None,
    **parts: str | None,
) -> Frame:
    """Do what `recalibrate_frame` does with forecasts of numbers."""
    from calibrant.recalibrate.number_rows import (  # noqa: PLC0415 - needed for numbers only
        quantile_columns,
        recalibrate_numbers,
        take_forecasts,
    )
    from calibrant.recalibrate.numbers import NumberRecalibrator  # noqa: PLC0415
    from calibrant.tables.frames import from_frame  # noqa: PLC0415

    is_fresh = recalibrator is None
    if recalibrator is None:
        recalibrator = NumberRecalibrator(hold=hold)
    elif hold is not None:
        raise ValueError("a recalibrator has its own hold: do not give one")
    elif not isinstance(recalibrator, NumberRecalibrator):
        raise ValueError(f"recalibrator must be a NumberRecalibrator, got {describe(recalibrator)}")
    table = from_frame(frame, "data frame", empty=True)
    empty = np.empty((0, len(recalibrator.levels)))
    for name in quantile_columns(recalibrator, empty, levels):
        check_new_columns(list(table.columns), name, None)
    named = {part: None if name is None else str(name) for part, name in parts.items()}
    rows = take_forecasts(table, forecast=str(forecast), outcome=str(outcome), **named)
    ids = None if id is None or is_fresh else ids_in(table, str(id))

    def body() -> Frame:
        quantiles = recalibrate_numbers(recalibrator, rows, ids)
        return with_columns(frame, quantile_columns(recalibrator, quantiles, levels))

    return body() if is_fresh else recalibrator._all_or_nothing(body)


def class_frame(
    frame: Frame,
    *,
    scores: str | Sequence[str],
    outcome: str,
    id: str | None,  # noqa: A002
    kind: str,
    seed: int,
    column: str,
    policy: dict[str, Any],
    recalibrator: Recalibrator | MulticlassRecalibrator | NumberRecalibrator | None,
    **parts: str | None,
) -> Frame:
    """Do what `recalibrate_frame` does with the scores of several classes."""
    from calibrant.recalibrate.class_rows import (  # noqa: PLC0415 - needed for classes only
        probability_columns,
        recalibrate_classes,
        take_classes,
    )
    from calibrant.recalibrate.multiclass import MulticlassRecalibrator  # noqa: PLC0415
    from calibrant.tables.frames import from_frame  # noqa: PLC0415

    is_fresh = recalibrator is None
    table = from_frame(frame, "data frame", empty=True)
    if recalibrator is not None:
        if not isinstance(recalibrator, MulticlassRecalibrator):
            raise ValueError(
                f"recalibrator must be a MulticlassRecalibrator, got {describe(recalibrator)}"
            )
        if any(value is not None for value in policy.values()):
            raise ValueError("a recalibrator has its own silence, after and hold: do not give them")
        kind = recalibrator.kind
    named = {part: None if name is None else str(name) for part, name in parts.items()}
    given = scores if isinstance(scores, str) else [str(name) for name in scores]
    labels, rows = take_classes(table, scores=given, outcome=str(outcome), kind=kind, **named)
    start = f"{column}_"
    for name in probability_columns(labels, np.empty((0, len(labels))), start):
        check_new_columns(list(table.columns), name, None)
    if recalibrator is None:
        recalibrator = MulticlassRecalibrator(labels, kind, seed=check_seed(seed), **policy)
    elif recalibrator.classes != labels:
        raise ValueError(
            f"the recalibrator has the classes {describe(recalibrator.classes)}, and the scores "
            f"are of {describe(labels)}"
        )
    ids = None if id is None or is_fresh else ids_in(table, str(id))

    def body() -> Frame:
        found, _ = recalibrate_classes(recalibrator, rows, ids)
        return with_columns(frame, probability_columns(labels, found, start))

    return body() if is_fresh else recalibrator._all_or_nothing(body)


def with_columns(frame: Frame, new: dict[str, Any]) -> Frame:
    """Return a frame with more columns of numbers."""
    import narwhals as nw  # noqa: PLC0415 - needed for data frames only

    native: nw.DataFrame[Any] = nw.from_native(cast("Any", frame), eager_only=True)
    series = [
        nw.new_series(name, values, nw.Float64(), backend=native.implementation)
        for name, values in new.items()
    ]
    return cast("Frame", native.with_columns(*series).to_native())


def positive_of(positive: object) -> str:
    """Return the value that counts as 1 as text, which a table compares its cells with."""
    if not isinstance(positive, str | bool | int | float | np.bool_ | np.integer | np.floating):
        raise ValueError(
            f"positive must be a text, a number or a boolean, got {describe(positive)}"
        )
    return str(positive)


def check_new_columns(names: list[str], column: object, smooth: object) -> None:
    """Refuse new columns with invalid names, or names that are taken."""
    for argument, name in (("column", column), ("smooth", smooth)):
        if name is None and argument == "smooth":
            continue
        if not isinstance(name, str):
            raise ValueError(f"{argument} must be a string, got {describe(name)}")
        if name in names:
            raise ValueError(
                f"the frame already has a column {name!r}; choose another name with {argument}="
            )
        names = [*names, name]


def ids_in(table: Table, column: str) -> list[Id]:
    """Return the ids of all rows, as a recalibrator keeps them; refuse a missing one."""
    cells, ids = table.cells(column), []
    for row, cell in enumerate(cells.values()):
        try:
            ids.append(check_id(cell))
        except ValueError as error:
            raise cells.refusal(row, str(error)) from None
    return ids
