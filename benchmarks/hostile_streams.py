"""Hostile streams: what each public class suffers from each opponent, in Cal2.

Opponents see the distribution of every round and the grid, not the draw. Against a recalibrator
they choose the scores as well, against the safe stage by itself the means. The docs quote the worst
of all of them.
"""

import math

import numpy as np

from benchmarks.attack_safe import POLICIES, Game, Whole
from benchmarks.evolve import against_scores
from benchmarks.tables import table
from calibrant import EventForecaster, Recalibrator, Zoom
from calibrant._kernels.scores.safe import SafeKernel
from calibrant.forecasters.rivals import FosterHart
from calibrant.measures import cal2
from calibrant.streams import Chaser, Contrarian, Drag, Greedy, Learned, March, play

TITLE = "Hostile streams"
HORIZONS = {10**4: 10, 10**5: 10, 10**6: 3}  # with the number of seeds
# Where rounds are played in Python, games are fewer, and the longest only for some opponents.
SLOW = {10**4: 5, 10**5: 3}
LONGEST = {10**4: 10, 10**5: 10, 10**6: 1}
STRONGEST = {"Drag": LONGEST, "Learned": LONGEST, "Centre": {10**4: 10, 10**5: 10}}
FIRST_SEED = 50

FORECASTERS = {
    "EventForecaster": lambda horizon, seed: EventForecaster(seed=seed),
    "Zoom": lambda horizon, seed: Zoom(seed=seed),
    "FosterHart, told the horizon": lambda horizon, seed: FosterHart.for_horizon(
        horizon, seed=seed
    ),
}
OPPONENTS = {
    "Contrarian": lambda horizon, seed: Contrarian(),
    "Greedy, l2": lambda horizon, seed: Greedy("l2"),
    "Chaser": lambda horizon, seed: Chaser(seed=seed),
    "March": lambda horizon, seed: March(horizon),
    "Drag": lambda horizon, seed: Drag(horizon),
    "Drag, 3 sweeps": lambda horizon, seed: Drag(horizon, sweeps=3.0),
    "Learned": lambda horizon, seed: Learned(horizon),
}


class Centre:
    """Refine the middle of the grid by mixed rounds, gap by gap, and hold their ends biased.

    It asks for the widest gap within `part` of the middle and nearest to the last, loads its ends
    until the lower one under-predicts and the upper one over-predicts, and then chooses outcomes
    that keep them so, until the gap is cut. It knows the grid and which visits are free.
    """

    def __init__(self, stage, part=0.7, every=4):
        self.stage, self.part, self.every = stage, part, every
        self.last, self.target, self.outcome = math.pi / 2, None, None
        self.n, self.S = {}, {}

    def excess(self, z):
        n, S = self.n.get(z, 0), self.S.get(z, 0.0)
        return abs(S) - math.sqrt((n + 1) * z * (1 - z) + 0.25)

    def leaning(self, k):
        if k in (0, len(self.z) - 1):
            return -1 if k == 0 else 1
        z = self.z[k]
        return 0 if self.excess(z) <= 0 else 1 if self.S[z] > 0 else -1

    def look(self):
        columns = self.stage.columns()
        self.theta, self.z = columns["theta"].tolist(), columns["z"].tolist()
        if self.target is not None:
            k = int(np.searchsorted(columns["z"], self.target[0]))
            if (self.z[k], self.z[k + 1]) == self.target:
                return
        middles = (columns["theta"][:-1] + columns["theta"][1:]) / 2
        widths = np.diff(columns["theta"])
        widths[np.abs(middles - math.pi / 2) > self.part * math.pi / 2] = 0
        widest = np.flatnonzero(widths > 0.99 * widths.max())
        k = int(widest[np.argmin(np.abs(middles[widest] - self.last))])
        self.last, self.target = float(middles[k]), (self.z[k], self.z[k + 1])

    def middle(self, k):
        return math.sin((self.theta[k] + self.theta[k + 1]) / 4) ** 2

    def loaded(self, k, side):
        """Return the mean to ask for so that point k leans to a side, or None if it does."""
        leaning = self.leaning(k)
        if leaning == side:
            return None
        self.outcome = 1.0 if side < 0 else 0.0
        if leaning == 0:
            return self.z[k]
        # It leans the other way, and is only played with the neighbour on that side.
        while True:
            k += side
            leaning = self.leaning(k)
            if leaning == side:
                return self.middle(min(k, k - side))
            if leaning == 0:
                return self.z[k]

    def mean(self, t):
        if t % self.every == 0:
            self.look()
        k = int(np.searchsorted(self.z, self.target[0]))
        self.outcome = None
        asked = self.loaded(k, -1)
        if asked is None:
            asked = self.loaded(k + 1, 1)
        return min(max(self.middle(k) if asked is None else asked, 1e-9), 1 - 1e-9)

    def answer(self, mean, lo, hi):
        if self.outcome is not None:
            return self.outcome
        if lo == hi:
            return 1.0 if lo <= mean else 0.0
        return 1.0 if self.excess(lo) < self.excess(hi) else 0.0

    def observe(self, z, outcome):
        self.n[z] = self.n.get(z, 0) + 1
        self.S[z] = self.S.get(z, 0.0) + z - outcome


def centred(stage, rounds, seed):
    """Return the predictions and outcomes of Centre against a stage, or a whole recalibrator."""
    opponent = Centre(stage, every=4 if rounds <= 10**5 else 8)
    draws = np.random.default_rng(seed).random(rounds)
    predictions, outcomes = np.empty(rounds), np.empty(rounds)
    for t in range(rounds):
        mean = opponent.mean(t)
        lo, hi, share = stage.place(mean)
        outcomes[t] = outcome = opponent.answer(mean, lo, hi)
        p = stage.draw(mean) if isinstance(stage, Whole) else lo if draws[t] < share else hi
        stage.learn(mean, p, outcome)
        opponent.observe(p, outcome)
        predictions[t] = p
    return predictions, outcomes


def error_of(games):
    """Return the mean Cal2 of games, and the worst."""
    errors = [cal2(predictions, outcomes) for predictions, outcomes in games]
    return f"{np.mean(errors):.0f} ({max(errors):.0f})"


def seeds(count):
    return range(FIRST_SEED, FIRST_SEED + count)


def scores_games():
    """Return games against a whole recalibrator, by opponent: the rounds, and a seed."""
    found = {
        "Drag": lambda rounds, seed: against_scores(Drag(rounds), seed, rounds),
        "Learned": lambda rounds, seed: against_scores(
            Learned(rounds, against="scores"), seed, rounds
        ),
        "Centre": lambda rounds, seed: centred(Whole(seed), rounds, seed),
    }
    for name in ("random means, greedy", "swept means, swept outcomes", "march, then greedy"):
        found[name] = lambda rounds, seed, policy=POLICIES[name]: Game(
            Whole(seed), rounds, seed
        ).play(policy)
    return found


def stage_games():
    """The same against the safe stage by itself."""
    found = {"Centre": lambda rounds, seed: centred(SafeKernel(), rounds, seed)}
    for name in ("random means, greedy", "march, then greedy"):
        found[name] = lambda rounds, seed, policy=POLICIES[name]: Game(
            SafeKernel(), rounds, seed
        ).play(policy)
    return found


def tables(progress):
    """Return the tables of this module, one after the other."""
    head = [f"{horizon:,}" for horizon in HORIZONS]
    for name, make in FORECASTERS.items():
        rows = []
        for opponent, hire in OPPONENTS.items():
            row = [opponent]
            for horizon, count in HORIZONS.items():
                progress(f"hostile streams: {name}, {opponent}, {horizon:,}")
                played = [
                    play(make(horizon, seed), hire(horizon, seed), horizon) for seed in seeds(count)
                ]
                row.append(error_of((game.predictions, game.outcomes) for game in played))
            rows.append(row)
        yield table(f"{name}: Cal2 in the mean, and at the worst", ["opponent", *head], rows)
    for title, games in (
        (f"{Recalibrator.__name__}, scores chosen", scores_games()),
        ("The safe stage by itself, means chosen", stage_games()),
    ):
        rows = []
        for opponent, game in games.items():
            row = [opponent]
            counts = STRONGEST.get(opponent, SLOW)
            for horizon in HORIZONS:
                if horizon not in counts:
                    row.append("-")
                    continue
                progress(f"hostile streams: {title}, {opponent}, {horizon:,}")
                row.append(error_of(game(horizon, seed) for seed in seeds(counts[horizon])))
            rows.append(row)
        yield table(f"{title}: Cal2 in the mean, and at the worst", ["opponent", *head], rows)
