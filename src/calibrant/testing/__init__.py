"""The contracts as checks that anyone can run on a class of their own.

`check_forecaster` is for what predicts from past outcomes, `check_recalibrator` for what plays
rounds whose outcomes come late, by id; `Inputs`, and the makers of them, say what a class under
test is given, and `Calls` how it is asked. Each check is a function whose docstring is the clause
that it checks: `shared` holds those of both contracts, `forecasters` and `recalibrators` their own,
the latter with `ids`, `batches` and `deadlines`. `playing` builds what is tested and plays its
rounds.
"""

from calibrant.testing.calls import Calls as Calls
from calibrant.testing.forecasters import check_forecaster as check_forecaster
from calibrant.testing.inputs import Inputs as Inputs
from calibrant.testing.inputs import class_probabilities as class_probabilities
from calibrant.testing.inputs import events as events
from calibrant.testing.inputs import forecasts as forecasts
from calibrant.testing.inputs import grouped as grouped
from calibrant.testing.inputs import keyed as keyed
from calibrant.testing.inputs import numbers as numbers
from calibrant.testing.inputs import probabilities as probabilities
from calibrant.testing.recalibrators import check_recalibrator as check_recalibrator
