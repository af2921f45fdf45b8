"""Forecasts of rows with late outcomes, each based on what is known when it is made."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from calibrant._checks import Floats
from calibrant.forecasters.base import Forecaster
from calibrant.forecasters.event_forecaster import EventForecaster
from calibrant.tables import Clock

Rows = npt.NDArray[np.intp]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Arrivals:
    """The order in which outcomes become known.

    Attributes
    ----------
    order : array of int
        The rows whose outcomes arrive, first to last. Equal times keep the order of rows.
    known : array of int
        For each row, how many of these have arrived when it is predicted. Never falls.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant.forecasters.arrivals import at_once
    >>> arrivals = at_once(np.array([True, False, True]))
    >>> arrivals.order, arrivals.known
    (array([0, 2]), array([0, 1, 1]))
    """

    order: Rows
    known: Rows


def at_once(arrives: Mask) -> Arrivals:
    """Return the arrivals of outcomes that are known before the next row, or never."""
    return Arrivals(np.flatnonzero(arrives), np.cumsum(arrives) - arrives)


def by_clock(time: Clock, available: Clock, arrives: Mask) -> Arrivals:
    """Return the arrivals of outcomes that become known at given times.

    `time` says when each row is predicted, `available` when its outcome becomes known, missing for
    never; `arrives`, whether the row has an outcome at all.
    """
    time.check_order(available=available)
    rows = np.flatnonzero(arrives & ~np.isnan(available.ticks))
    order = rows[np.argsort(available.ticks[rows], kind="stable")]
    # No outcome is available before its own prediction and time never runs backwards, so all that
    # arrive before a row is predicted belong to earlier rows.
    return Arrivals(order, np.searchsorted(available.ticks[order], time.ticks, side="left"))


def used_from(arrivals: Arrivals, ahead: int) -> Arrivals:
    """Return the outcomes that a forecast made so many rows ahead uses.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant.forecasters.arrivals import at_once, used_from
    >>> used_from(at_once(np.array([True] * 5)), 3).known
    array([0, 0, 0, 1, 2])
    """
    # The first row that each outcome is known to, and then the first that may use it.
    first = np.searchsorted(arrivals.known, np.arange(len(arrivals.order)), side="right")
    first = np.maximum(first, arrivals.order + ahead)
    by_row = np.argsort(first, kind="stable")
    rows = np.arange(len(arrivals.known))
    return Arrivals(arrivals.order[by_row], np.searchsorted(first[by_row], rows, side="right"))


def forecast_parts(
    forecaster: EventForecaster,
    outcomes: Floats,
    parts: int,
    *,
    times: Floats | None = None,
    arrivals: Arrivals | None = None,
) -> Iterator[tuple[Floats, Floats]]:
    """Forecast rows in so many parts; yield the predictions of each, and the expected ones.

    `times` says when each outcome happens, `arrivals` which are known to which row: those of all
    earlier rows, if it is not given.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant import EventForecaster
    >>> from calibrant.forecasters.arrivals import forecast_parts
    >>> outcomes = np.array([1.0, 0.0, 1.0, 1.0])
    >>> [len(predicted) for predicted, expected in forecast_parts(EventForecaster(), outcomes, 2)]
    [2, 2]
    """
    done, first = 0, forecaster.rounds  # ids continue after those of an earlier file
    for rows in np.array_split(np.arange(len(outcomes)), parts):
        moments = None if times is None else times[rows]
        if arrivals is None:
            yield forecaster._run_with_means(forecaster.run, outcomes[rows], at=moments)
            continue
        predicted, expected = np.empty(len(rows)), np.empty(len(rows))
        for at, row in enumerate(rows.tolist()):
            known = int(arrivals.known[row])
            for late in arrivals.order[done:known].tolist():
                forecaster.update(outcomes[late], id=first + late)
            done = known
            forecaster.predict(at=None if moments is None else moments[at])
            expected[at] = forecaster.expected()
            predicted[at] = forecaster.predict(id=first + row)
        yield predicted, expected


def last_estimates(forecaster: Forecaster, outcomes: Floats, arrivals: Arrivals) -> Floats:
    """Return the predictions of a forecaster that does not support late outcomes.

    It is given the outcomes in the order in which they arrive, and its estimate for the next one
    stands for every row until then.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant.forecasters.arrivals import at_once, last_estimates, used_from
    >>> from calibrant.forecasters.rivals import RunningMean
    >>> late = used_from(at_once(np.array([True] * 4)), 3)
    >>> last_estimates(RunningMean(), np.array([1.0, 0.0, 1.0, 1.0]), late)
    array([0.5       , 0.5       , 0.5       , 0.66666667])
    """
    estimates = forecaster.run(outcomes[arrivals.order])
    predicted: Floats = np.append(estimates, forecaster.predict())[arrivals.known]
    return predicted
