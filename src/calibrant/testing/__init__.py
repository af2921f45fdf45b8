"""The contracts as checks that anyone can run on a class of their own.

`check_forecaster` is for what predicts from past outcomes, `check_recalibrator` for what plays
rounds whose outcomes arrive late, by id; `Inputs`, and the makers of them, say what a class under
test is given, and `Calls` how it is asked. Each check is a function whose docstring is the clause
that it checks: `shared` holds those of both contracts, `forecasters` and `recalibrators` their own,
the latter with `ids`, `batches` and `deadlines`. `subject` builds what is tested and plays its
rounds.
"""

from calibrant.testing.calls import Calls
from calibrant.testing.forecasters import check_forecaster
from calibrant.testing.inputs import (
    Inputs,
    class_probabilities,
    events,
    forecasts,
    grouped,
    keyed,
    numbers,
    probabilities,
)
from calibrant.testing.recalibrators import check_recalibrator

__all__ = [
    "Calls",
    "Inputs",
    "check_forecaster",
    "check_recalibrator",
    "class_probabilities",
    "events",
    "forecasts",
    "grouped",
    "keyed",
    "numbers",
    "probabilities",
]
