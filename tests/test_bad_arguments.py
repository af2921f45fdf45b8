"""Arguments that no class takes: a ValueError that names the argument and what is allowed."""

import math

import numpy as np
import pytest

from calibrant import (
    Decider,
    EventForecaster,
    Fleet,
    Interval,
    Monitor,
    MulticlassRecalibrator,
    NumberRecalibrator,
    Recalibrator,
    Refined,
    Restarting,
    Swap,
)
from calibrant.forecasters import rivals
from calibrant.measures import Scorecard
from calibrant.partitions import refined, uniform
from calibrant.recalibrate import rivals as peers
from calibrant.streams import Chaser, Greedy, March

NO_PERIODS = (1, 10_001, [7, 1], [2.0], ["7"], "24", True, 2.5, range(2, 11), {5})
REFUSED = {
    Interval: [
        ({"intervals": 0}, "intervals must be an integer in .*, got 0"),
        ({"intervals": 2.0}, "intervals must be an integer"),
        ({"horizon": 0}, "horizon must be an integer in .*, got 0"),
        ({"partition": [0, 1]}, "partition must be a Partition"),
        ({"partition": uniform(3), "intervals": 3}, "intervals must be None when a partition"),
        ({"partition": uniform(3, 0.1)}, "partition must cover .* got 0.1 to 1.0"),
        ({"constants": "best"}, "constants must be one of 'paper', 'tuned', got 'best'"),
    ],
    Swap: [
        ({"loss": "brier"}, "loss must be one of 'squared', 'log', got 'brier'"),
        ({"intervals": 0}, "intervals must be an integer in .*, got 0"),
        ({"loss": "log", "intervals": 1}, "intervals must be an integer in .2, .*, got 1"),
        ({"horizon": -3}, "horizon must be an integer in .*, got -3"),
        ({"partition": uniform(3), "intervals": 3}, "intervals must be None when a partition"),
        ({"loss": "log", "partition": uniform(3)}, r"inside \(0, 1\) .* got 0.0 to 1.0"),
        ({"loss": "log", "partition": refined(1, 0.1, 2, 1, low=0.1, domain="theta")}, "inside"),
    ],
    Refined: [
        ({"measure": "l3"}, "measure must be one of 'l1', .* got 'l3'"),
        ({"deviation": -1}, "deviation must be a number in .*, got -1"),
        ({"deviation": 101, "horizon": 100}, "deviation must be a number in .*, got 101"),
        ({"deviation": math.nan}, "deviation must be a number in .*, got nan"),
        ({"horizon": 1}, "horizon must be an integer in .*, got 1"),
        ({"delta": 0}, "delta must be a number in .*, got 0"),
        ({"delta": 1.5}, "delta must be a number in .*, got 1.5"),
        ({"constants": "best"}, "constants must be one of 'tuned', 'paper', got 'best'"),
    ],
    Restarting: [
        ({"measure": "kl"}, "measure must be one of 'l1', .* got 'kl'"),
        ({"horizon": 0}, "horizon must be an integer in .*, got 0"),
        ({"delta": -0.1}, "delta must be a number in .*, got -0.1"),
        ({"constants": 1}, "constants must be one of 'tuned', 'paper', got 1"),
        ({"base": "interval"}, "base must be one of 'refined', 'swap', got 'interval'"),
        ({"measure": "l1", "base": "interval"}, "horizon must be given for the base 'interval'"),
    ],
    Recalibrator: [
        ({"kind": "probabilities"}, "kind must be one of 'probability', 'logit', 'margin'"),
        ({"kind": 1}, "kind must be one of"),
        ({"seed": -1}, "seed must be an integer"),
        ({"seed": 2**64}, "seed must be an integer"),
        ({"capacity": 0}, "capacity must be an integer in"),
        ({"capacity": 2.0}, "capacity must be an integer"),
        ({"monitor": "yes"}, "monitor must be True, a dict"),
        ({"monitor": 1}, "monitor must be True"),
        (
            {"monitor": {"order": "prediction"}},
            "may have every, tolerance, alpha, block, got 'order'",
        ),
        ({"monitor": {"every": 3}}, "every must be"),
        ({"max_groups": -1}, "max_groups must be an integer in"),
    ],
    MulticlassRecalibrator: [
        ({"classes": 1}, r"classes must be an integer in \[2, 65536\]"),
        ({"classes": True}, "classes must be an integer"),
        ({"classes": 2.5}, "classes must be a number or a sequence"),
        ({"classes": "ab"}, "classes must be a number or a sequence"),
        ({"classes": {"a", "b"}}, "classes must be a number or a sequence"),
        ({"classes": ["a"]}, "two labels or more"),
        ({"classes": ["a", "a"]}, "all distinct"),
        ({"classes": ["a", 1.5]}, "each of the classes must be a string or an integer"),
        ({"classes": 3, "kind": "margin"}, "kind must be one of 'probability', 'logit'"),
        ({"classes": 3, "seed": -1}, "seed must be an integer"),
        ({"classes": 3, "capacity": 0}, "capacity must be an integer"),
    ],
    NumberRecalibrator: [
        ({"levels": [0.5]}, "levels must be two or more numbers"),
        ({"levels": [0.5, 10**400]}, "levels must be two or more numbers"),
        ({"levels": [0.0, 0.5]}, r"levels must be inside \(0, 1\), got 0.0"),
        ({"levels": [0.5, 1.5]}, r"levels must be inside \(0, 1\), got 1.5"),
        ({"levels": [0.9, 0.1]}, "levels must increase"),
        ({"levels": "0.5"}, "levels must be two or more numbers"),
        ({"levels": [0.1, float("nan")]}, "levels must be inside"),
        ({"periods": (1,)}, r"periods must be an integer in \[2, 100000\], got 1"),
        ({"periods": (7, 7)}, "periods must be distinct"),
        ({"bounds": (1, 0)}, "bounds must be .* with low < high"),
        ({"bounds": (0, 0)}, "bounds must be .* with low < high"),
        ({"bounds": (0,)}, "bounds must be"),
        ({"bounds": ("a", None)}, "the low of bounds must be a number"),
        ({"hold": -1}, "hold"),
        *(({"monitor": bad}, "monitor|every") for bad in ("yes", {"every": 5}, {"block": 3})),
    ],
    Fleet: [
        ({"seed": -1}, "seed must be"),
        ({"kind": "odds"}, "kind must be one of"),
        ({"shards": 0}, "shards must be"),
        ({"capacity": 0}, "capacity must be"),
        ({"monitor": {"block": 3}}, "every, tolerance, alpha, got 'block'"),
        ({"monitor": Monitor(block=3)}, "every, tolerance, alpha, got 'block'"),
        ({"monitor": {"every": 3}}, "every"),
        ({"monitor": 7}, "monitor must be True"),
    ],
    Monitor: [
        ({"every": 99}, "every must be an integer in"),
        ({"every": 1e6}, "every must be an integer"),
        ({"tolerance": 0.5}, "tolerance must be a number in"),
        ({"tolerance": -0.1}, "tolerance must be"),
        ({"alpha": 0.0}, "alpha must be"),
        ({"alpha": 0.6}, "alpha must be"),
        ({"block": 1}, "block must be an integer in"),
        ({"ahead": 0}, "ahead must be an integer in"),
        ({"ahead": 2, "block": 2}, "block=2 and ahead=2 cannot be combined"),
        ({"patience": 0}, "patience must be"),
        ({"max_groups": -1}, "max_groups must be"),
    ],
    Decider: [
        ({}, "one question.*got 0"),
        ({"budget": 0.1, "precision": 0.5}, "one question.*got 2"),
        ({"budget": 0}, r"budget must be a number in \(0, 1\), got 0"),
        ({"budget": 1.0}, r"budget must be a number in \(0, 1\), got 1.0"),
        ({"budget": float("nan")}, r"budget must be a number in \(0, 1\), got nan"),
        ({"budget": "many"}, r"budget must be a number in \(0, 1\), got 'many'"),
        ({"budget": 0.01, "per": 10}, r"per must be an integer in \[100, 10000000\], got 10"),
        ({"budget": 0.01, "per": "soon"}, "per must be .*got 'soon'"),
        ({"budget": 0.01, "per": 1000.5}, "per must be a whole number of rows, or a time"),
        ({"budget": 0.01, "band": -0.1}, "band must be a number in"),
        ({"budget": 0.001, "per": 500}, "no window can hold this: between 0.8 and 1.2 times 0.5"),
        ({"budget": 0.01, "cap": 1, "floor": 2}, "floor must not be above cap"),
        ({"precision": 0.5, "cap": 2}, "cap and floor belong to a budget"),
        ({"precision": 0.5, "per": []}, "per must be a positive number, a timedelta or text"),
        ({"recall": 0.5, "explore": 0.1, "band": "wide"}, "band must be a number in"),
        ({"precision": 1.5}, r"precision must be a number in \(0, 1\), got 1.5"),
        ({"recall": 0.9}, "recall needs explore"),
        ({"recall": 0, "explore": 0.1}, r"recall must be a number in \(0, 1\)"),
        ({"recall": 0.9, "explore": 1}, "explore must be a number in"),
        ({"cost_of_acting": 1}, "cost_of_acting and cost_of_missing go together"),
        ({"cost_of_acting": 2, "cost_of_missing": 1}, "must be less than cost_of_missing"),
        ({"cost_of_acting": 1, "cost_of_missing": np.inf}, "cost_of_missing must be a number"),
        ({"costs": [[0, 1], [2, 3]]}, "costs must make acting"),
        ({"costs": [1, 2]}, "costs must be .*got shape"),
        ({"costs": [[0, 1], [0, np.nan]]}, "costs must be finite"),
        ({"costs": [[-1.7e308, 1.7e308], [1.7e308, -1.7e308]]}, "costs must be finite"),
        ({"costs": [[0, 10**400], [1, 0]]}, "costs must be .*got"),
        ({"costs": [[0, 2], [1, 0]], "cost_of_acting": 1}, "exclude each other"),
        ({"precision": 0.5, "seed": -1}, "seed must be an integer"),
        ({"precision": 0.5, "after": 3}, "after needs silence"),
    ],
    rivals.SlidingWindow: [
        ({"window": 0}, r"window must be an integer in \[1, "),
        ({"window": 2.5}, r"window must be an integer in \[1, "),
    ],
    rivals.ExponentialWindow: [
        ({"halflife": 0}, r"halflife must be a number in \[0.01, "),
        ({"halflife": "x"}, r"halflife must be a number in \[0.01, "),
    ],
    rivals.Foster1999: [({"bins": 0}, r"bins must be an integer in \[1, ")],
    rivals.FosterVohra: [
        ({"bins": 5000}, r"bins must be an integer in \[1, 4096\], got 5000"),
        ({"rate": 0}, r"rate must be a number in \[1e-09, "),
    ],
    rivals.AbernethyBartlettHazan: [
        ({"gaps": 0}, r"gaps must be an integer in \[1, "),
        ({"rate": -1}, r"rate must be a number in \[1e-09, "),
    ],
    rivals.K29: [({"gaps": 0}, r"gaps must be an integer in \[1, ")],
    rivals.K29Star: [({"width": math.nan}, r"width must be a number in \[1e-06, ")],
    rivals.AOSA: [({"gaps": 0}, r"gaps must be an integer in \[1, ")],
    peers.OnlinePlatt: [({"gamma": 0}, "gamma must be a number")],
    peers.OnlineBeta: [({"ridge": -1}, "ridge must be a number")],
    peers.TOPS: [({"bins": 0}, "bins must be an integer")],
    peers.HOPS: [
        ({"bins": 2.5}, "bins must be an integer"),
        ({"seed": -1}, "seed must be an integer"),
    ],
    peers.KuleshovErmon: [
        ({"bins": 0}, "bins must be an integer"),
        ({"bins": 3, "forecaster": "Zoom"}, "forecaster must be a class or a function"),
    ],
    peers.Calibeating: [({"bins": True}, "bins must be an integer")],
    peers.WindowedRefit: [
        ({"method": "platt"}, "method must be one of 'isotonic', 'sigmoid'"),
        ({"window": 0}, "window must be an integer"),
        ({"every": 0}, "every must be an integer"),
    ],
    Greedy: [({"norm": "l3"}, "norm must be one of 'l1', 'l2', got 'l3'")],
    Chaser: [
        ({"step": math.nan}, r"step must be a number in \[0.0, 1.0\], got nan"),
        ({"start": 1.5}, "start must be a number in"),
        ({"seed": -1}, "seed must be an integer"),
    ],
    March: [
        ({"horizon": 0}, "horizon must be an integer at least 1, got 0"),
        ({"ratio": -1}, r"ratio must be a number in \[0.0, .*\], got -1.0"),
        ({"push": math.nan}, "push must be a number in"),
        ({"lead": "x"}, "lead must be a number in"),
    ],
    Scorecard: [
        ({"bins": 10**30}, "bins must be an integer in"),
        ({"cells": 0}, "cells must be an integer"),
    ],
    EventForecaster: [
        *(({"ahead": bad}, "ahead") for bad in (0, -1, 1.5, "2", None, True, 10_001)),
        *(({"periods": bad}, "periods") for bad in NO_PERIODS),
        ({"monitor": {"by": 1}}, "monitor may have every"),
    ],
}
CASES = [(cls, *case) for cls, cases in REFUSED.items() for case in cases]


@pytest.mark.parametrize(
    ("cls", "arguments", "message"), CASES, ids=lambda value: getattr(value, "__name__", None)
)
def test_bad_arguments(cls, arguments, message):
    with pytest.raises(ValueError, match=message):
        cls(**arguments)
