"""Every public recalibrator, once for each way of building it: all pass the same tests."""

from calibrant import (
    EventForecaster,
    Fleet,
    MulticlassRecalibrator,
    NumberRecalibrator,
    Recalibrator,
)
from calibrant.forecasters.rivals import RunningMean
from calibrant.recalibrate import rivals
from calibrant.testing import (
    class_probabilities,
    events,
    forecasts,
    grouped,
    keyed,
    numbers,
    probabilities,
)

RECALIBRATORS = [
    (Recalibrator, probabilities(), {}),
    (Recalibrator, numbers(), {"kind": "logit"}),
    (Recalibrator, numbers(), {"kind": "margin"}),
    (Recalibrator, grouped(), {}),
    (Recalibrator, grouped(["a", "b", 1, "1"]), {"kind": "probability", "max_groups": 4}),
    (Recalibrator, grouped(), {"monitor": True}),
    (MulticlassRecalibrator, class_probabilities(2), {"classes": 2}),
    (MulticlassRecalibrator, class_probabilities(3), {"classes": 3, "monitor": True}),
    (NumberRecalibrator, forecasts(), {"periods": (7, 24)}),
    (NumberRecalibrator, forecasts(["a", None]), {"levels": [0.1, 0.25, 0.5, 0.9], "periods": ()}),
    (Fleet, keyed(), {}),
    (Fleet, keyed([7, -1]), {"monitor": True}),
    (EventForecaster, events(), {}),
    (EventForecaster, events(), {"monitor": True}),
    (rivals.Raw, probabilities(), {}),
    (rivals.OnlinePlatt, probabilities(), {}),
    (rivals.OnlineBeta, probabilities(), {"gamma": 0.5, "ridge": 1.0}),
    (rivals.TOPS, probabilities(), {}),
    (rivals.HOPS, probabilities(), {"bins": 5}),
    (rivals.KuleshovErmon, probabilities(), {}),
    (rivals.KuleshovErmon, probabilities(), {"bins": 3, "forecaster": RunningMean}),
    (rivals.Calibeating, probabilities(), {"bins": 10}),
    (rivals.WindowedRefit, probabilities(), {"method": "isotonic", "window": 60, "every": 25}),
    (rivals.WindowedRefit, probabilities(), {"method": "sigmoid", "window": 60, "every": 25}),
]
IDS = [
    "-".join(
        [cls.__name__, *inputs.further]
        + [getattr(value, "__name__", str(value)) for value in arguments.values()]
    )
    for cls, inputs, arguments in RECALIBRATORS
]
