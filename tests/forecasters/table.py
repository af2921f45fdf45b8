"""Every public forecaster, once for each way of building it: all pass the same tests."""

from calibrant import Epoch, EventForecaster, Interval, Refined, Restarting, Swap, Zoom
from calibrant.forecasters import rivals
from calibrant.partitions import refined

FORECASTERS = [
    (EventForecaster, {}),
    (EventForecaster, {"periods": [12, 30]}),
    (EventForecaster, {"ahead": 5}),
    (EventForecaster, {"monitor": True}),
    (EventForecaster, {"monitor": True, "ahead": 5}),
    (Zoom, {}),
    (Epoch, {"measure": "l2"}),
    (Epoch, {"measure": "kl"}),
    (Interval, {}),
    (Interval, {"intervals": 32, "horizon": 1000, "constants": "paper"}),
    (Interval, {"partition": refined(0.1, 0.02, 4, 2)}),
    (Swap, {"loss": "squared"}),
    (Swap, {"loss": "log"}),
    (Swap, {"loss": "log", "partition": refined(2, 0.1, 4, 2, low=0.1, high=3, domain="theta")}),
    *[
        (cls, {"measure": measure, "constants": constants})
        for cls in (Refined, Restarting)
        for measure in ("l1", "l2", "pseudo_l2", "pseudo_kl")
        for constants in ("tuned", "paper")
    ],
    (Refined, {"measure": "l2", "deviation": 20.0, "horizon": 1000, "constants": "paper"}),
    (Restarting, {"measure": "l1", "base": "interval", "horizon": 300_000}),
    (Restarting, {"measure": "l2", "base": "swap"}),
    (rivals.RunningMean, {}),
    (rivals.FosterHart, {"gaps": 1}),
    (rivals.FosterHart, {"gaps": 32}),
    (rivals.SlidingWindow, {"window": 100}),
    (rivals.ExponentialWindow, {}),
    (rivals.MarkovTable, {}),
    (rivals.SeasonalTable, {"period": 7}),
    (rivals.ContextTree, {}),
    (rivals.FosterVohra, {"bins": 11}),
    (rivals.Foster1999, {}),
    (rivals.AbernethyBartlettHazan, {}),
    (rivals.AbernethyBartlettHazan, {"gaps": 1, "rate": 0.1}),
    (rivals.K29, {"gaps": 32}),
    (rivals.K29Star, {"gaps": 32}),
    (rivals.AOSA, {"gaps": 32}),
    (rivals.UCalibration, {"gaps": 32}),
    (rivals.DyadicHedge, {}),
]
IDS = [
    f"{cls.__name__}-{'-'.join(map(str, arguments.values()))}".rstrip("-")
    for cls, arguments in FORECASTERS
]
