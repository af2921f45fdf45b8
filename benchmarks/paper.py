"""The paper's algorithms: the time of a round, and errors with tuned and printed constants."""

import numpy as np

from benchmarks import cost
from benchmarks.error import show
from benchmarks.tables import table
from calibrant import Epoch, Interval, Refined, Restarting, Swap, Zoom
from calibrant.measures import cal1, cal2, pcal2, pklcal
from calibrant.streams import corrupted, drift, iid, piecewise

TITLE = "The paper's algorithms"
ROUNDS = 100_000
SEEDS = range(20)

STREAMS = {
    "iid 0.5": lambda seed: iid(ROUNDS, mean=0.5, seed=seed),
    "iid 0.1": lambda seed: iid(ROUNDS, mean=0.1, seed=seed),
    "iid 0.05": lambda seed: iid(ROUNDS, mean=0.05, seed=seed),
    "iid 0.01": lambda seed: iid(ROUNDS, mean=0.01, seed=seed),
    "piecewise, K = 2": lambda seed: piecewise(ROUNDS, segments=2, seed=seed),
    "piecewise, K = 5": lambda seed: piecewise(ROUNDS, segments=5, seed=seed),
    "piecewise, K = 20": lambda seed: piecewise(ROUNDS, segments=20, seed=seed),
    "drift": lambda seed: drift(ROUNDS, seed=seed),
    # 143 rounds moved from 0.3 to 1, and 10,000.
    "burst, C = 100": lambda seed: corrupted(ROUNDS, budget=100, shape="burst", seed=seed),
    "burst": lambda seed: corrupted(ROUNDS, budget=7000, mean=0.3, shape="burst", seed=seed),
}
ERRORS = {
    "l1": lambda predictions, _, outcomes: cal1(predictions, outcomes),
    "l2": lambda predictions, _, outcomes: cal2(predictions, outcomes),
    "pseudo_l2": lambda _, distributions, outcomes: pcal2(distributions, outcomes),
    "pseudo_kl": lambda _, distributions, outcomes: pklcal(distributions, outcomes),
}
NAMES = {"l1": "Cal1", "l2": "Cal2", "pseudo_l2": "PCal2", "pseudo_kl": "PKLCal"}
# Most that the mean error may be, by measure, forecaster and stream.
LIMITS = {
    ("l1", "Refined", "iid 0.5"): 700,
    ("l2", "Refined", "iid 0.5"): 20,
    ("l2", "Refined", "iid 0.05"): 6,
    ("l2", "Restarting", "iid 0.5"): 20,
    ("l2", "Restarting", "piecewise, K = 2"): 45,
    ("l2", "Restarting", "piecewise, K = 5"): 120,
    ("l2", "Restarting", "drift"): 230,
    ("l2", "Restarting", "burst"): 85,
    ("pseudo_kl", "Refined", "iid 0.1"): 60,
}


def contenders(measure):
    """Return makers of forecasters from a stream and a seed; C is read off the stream."""
    loss, epoch = ("log", "kl") if measure == "pseudo_kl" else ("squared", "l2")

    def refined(constants):
        return lambda stream, seed: Refined(
            measure, deviation=stream.deviation, horizon=ROUNDS, constants=constants, seed=seed
        )

    def restarting(constants):
        return lambda stream, seed: Restarting(
            measure, horizon=ROUNDS, constants=constants, seed=seed
        )

    def interval(constants):
        return lambda stream, seed: Interval.for_deviation(
            stream.deviation, ROUNDS, constants=constants, seed=seed
        )

    known = {"Interval, C known": interval("tuned"), "Interval, C known, paper": interval("paper")}
    return {
        "Refined, C known": refined("tuned"),
        "Refined, C known, paper": refined("paper"),
        "Restarting": restarting("tuned"),
        "Restarting, paper": restarting("paper"),
        **(known if measure == "l1" else {}),
        "Interval": lambda stream, seed: Interval(horizon=ROUNDS, seed=seed),
        f"Swap, {loss}": lambda stream, seed: Swap(loss, horizon=ROUNDS, seed=seed),
        f'Epoch("{epoch}")': lambda stream, seed: Epoch(epoch, seed=seed),
        "Zoom": lambda stream, seed: Zoom(seed=seed),
    }


def mean_error(measure, make, stream):
    """Return the mean error of one forecaster over the seeds."""
    values = []
    for seed in SEEDS:
        drawn = STREAMS[stream](seed)
        predictions, distributions = make(drawn, seed).trace(drawn.outcomes)
        values.append(ERRORS[measure](predictions, distributions, drawn.outcomes))
    return float(np.mean(values))


def error_table(measure, progress):
    """Return the table of one measure: streams by forecasters, limits beside."""
    makers = contenders(measure)
    rows = []
    for stream in STREAMS:
        means = []
        for name, make in makers.items():
            progress(f"paper: {NAMES[measure]} of {name} on {stream}")
            means.append(show(mean_error(measure, make, stream)))
        limits = [
            f"{kind} {limit}"
            for kind in ("Refined", "Restarting")
            if (limit := LIMITS.get((measure, kind, stream)))
        ]
        rows.append([stream, *means, ", ".join(limits)])
    return table(
        f"{NAMES[measure]}, {ROUNDS:,} rounds, mean over {len(SEEDS)} seeds",
        ["stream", *makers, "limit"],
        rows,
    )


def tables(progress):
    """Return the tables of this module, one after the other."""
    yield from cost.tables(progress)
    for measure in NAMES:
        yield error_table(measure, progress)
