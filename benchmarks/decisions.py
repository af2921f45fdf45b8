"""The value of calibration to decision makers: swap regret in two decisions.

- prepare: choose an effort a in [0, 1]; it costs a^2 / 2 and saves a if the event comes. The best
  effort is the probability, and the swap regret is exactly Cal2 / 2.
- insure: pay 0.3, or lose 1 if the event comes. The swap regret is at most Cal1.

Also the worst of all decisions with payoffs in [0, 1]: the calibration decision loss.
"""

import numpy as np

from benchmarks.error import show
from benchmarks.tables import table
from calibrant import Zoom
from calibrant.forecasters.rivals import FosterHart
from calibrant.measures import cal1, cal2, decision_loss
from calibrant.streams import Contrarian, drift, play

TITLE = "Decisions"
ROUNDS = 100_000
SEEDS = range(5)
PREMIUM = 0.3
REGRETS = f"Swap regret over {ROUNDS:,} rounds, mean of {len(SEEDS)} seeds"
IN_DOCS = {"docs/zoom.md": (REGRETS,)}
EFFORTS = np.linspace(0, 1, 1001)


def swap_regret(predictions, outcomes, payoffs, act):
    """Return what the best action for each prediction, in hindsight, would have added.

    `payoffs` gives what each action pays if the outcome is 0 and if it is 1, one action a row;
    `act` the number of the action that is taken at a prediction.
    """
    points, where = np.unique(predictions, return_inverse=True)
    ones = np.bincount(where, outcomes)
    zeros = np.bincount(where) - ones
    paid = np.outer(zeros, payoffs[:, 0]) + np.outer(ones, payoffs[:, 1])
    taken = paid[np.arange(len(points)), act(points)]
    return float((paid.max(axis=1) - taken).sum())


def prepare(predictions, outcomes):
    cost = EFFORTS**2 / 2
    payoffs = np.column_stack([-cost, EFFORTS - cost])
    last = len(EFFORTS) - 1
    return swap_regret(predictions, outcomes, payoffs, lambda p: np.rint(p * last).astype(int))


def insure(predictions, outcomes):
    payoffs = np.array([[0.0, -1.0], [-PREMIUM, -PREMIUM]])
    return swap_regret(predictions, outcomes, payoffs, lambda p: (p > PREMIUM).astype(int))


def recent_mean(outcome_of):
    """Play the mean of about the last hundred outcomes, to two digits."""
    predictions, outcomes, mean = np.empty(ROUNDS), np.empty(ROUNDS), 0.5
    for t in range(ROUNDS):
        predictions[t] = round(mean, 2)
        outcomes[t] = outcome_of(t, predictions[t])
        mean += 0.01 * (outcomes[t] - mean)
    return predictions, outcomes


def against_drift(make, seed):
    outcomes = drift(ROUNDS, seed=seed).outcomes
    if make is None:
        return recent_mean(lambda t, p: outcomes[t])
    return make(seed).run(outcomes), outcomes


def against_contrarian(make, seed):
    if make is None:
        return recent_mean(lambda t, p: float(p < 0.5))
    game = play(make(seed), Contrarian(), ROUNDS)
    return game.predictions, game.outcomes


STREAMS = {"drift": against_drift, "Contrarian": against_contrarian}
FORECASTERS = {
    "Zoom": lambda seed: Zoom(seed=seed),
    "Foster-Hart": lambda seed: FosterHart.for_horizon(ROUNDS, seed=seed),
    "recent mean": None,
}
MEASURES = (cal2, prepare, cal1, insure, decision_loss)


def tables(progress):
    """Return the tables of this module, one after the other."""
    rows = []
    for stream, against in STREAMS.items():
        for name, make in FORECASTERS.items():
            progress(f"decisions: {stream}, {name}")
            results = [[measure(*against(make, s)) for measure in MEASURES] for s in SEEDS]
            rows.append([f"{stream}, {name}", *map(show, np.mean(results, axis=0))])
    head = ["outcomes, predictions", "Cal2", "prepare", "Cal1", "insure", "worst decision"]
    yield table(REGRETS, head, rows)
