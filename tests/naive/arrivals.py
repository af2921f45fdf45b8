"""Which outcomes a prediction may use, found by asking each row in turn."""

import math

import numpy as np
from hypothesis import strategies as st

from calibrant import Recalibrator
from calibrant.forecasters.arrivals import by_clock
from calibrant.tables import Cells, Scored


def known_outcomes(times, available, arrives, row):
    """Return the rows whose outcomes are known when `row` is predicted, in order of arrival."""
    known = [
        other
        for other in range(len(times))
        if arrives[other] and not math.isnan(available[other]) and available[other] < times[row]
    ]
    return sorted(known, key=lambda other: (available[other], other))


def recalibrated(scores, outcomes, times, available, *, seed=0, by=None):
    """Return the predictions of a recalibrator that is told what is newly known before each."""
    recalibrator = Recalibrator(seed=seed)
    arrives = [not math.isnan(outcome) for outcome in outcomes]
    told, predictions = [], []
    for row, score in enumerate(scores):
        for other in known_outcomes(times, available, arrives, row):
            if other not in told:
                told.append(other)
                recalibrator.update(outcomes[other], id=other)
        group = None if by is None else by[row]
        predictions.append(recalibrator.predict(score, id=row, by=group))
    return predictions


@st.composite
def late_streams(draw):
    """Scores, outcomes, times and delays; coarse clocks, so that ties are common."""
    rounds = draw(st.integers(1, 25))
    size = {"min_size": rounds, "max_size": rounds}
    times = sorted(draw(st.lists(st.integers(0, 12), **size)))
    delays = draw(st.lists(st.sampled_from([0, 0, 1, 2, 5, 30, math.nan]), **size))
    outcomes = draw(st.lists(st.sampled_from([0.0, 1.0, 0.25, math.nan]), **size))
    scores = draw(st.lists(st.floats(0, 1), **size))
    available = [time + delay for time, delay in zip(times, delays, strict=True)]
    return np.array(scores), np.array(outcomes), times, available


def late_rows(scores, outcomes, times, available, by=None):
    """Return rows of a table with the times of their outcomes, NaN for never."""
    missing = [None if math.isnan(a) else a for a in available]
    clocks = (Cells("t", list(times)).clock(), Cells("known", missing).clock())
    return Scored(scores, np.array(outcomes), "y", *clocks, None, by, None)


def arrivals_of(times, available, outcomes):
    """Return what the package makes of the times of rows and of their outcomes, NaN for never."""
    missing = [None if math.isnan(a) else a for a in available]
    return by_clock(
        Cells("t", times).clock(), Cells("known", missing).clock(), ~np.isnan(np.array(outcomes))
    )
