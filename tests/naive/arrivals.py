"""Which outcomes a prediction may use, found by asking each row in turn."""

import math

from calibrant import Recalibrator


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
