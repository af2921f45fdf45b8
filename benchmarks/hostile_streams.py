"""Hostile streams: the errors that opponents cause to the safe stage and the classes that use it.

Opponents see the distribution of every round and the grid, not the draw. Against a recalibrator
they choose the scores as well, against the safe stage by itself the means. The docs quote the worst
of all of them in Cal2. Zoom and the paper's algorithms are in `hostile_paper`.
"""

import math
from functools import partial

import numpy as np

from benchmarks.attack_safe import POLICIES, Game, Whole
from benchmarks.evolve import against_scores
from benchmarks.hostile_paper import OPPONENTS, fresher
from benchmarks.tables import table
from calibrant import EventForecaster, Recalibrator
from calibrant._kernels.scores.safe import SafeKernel
from calibrant.measures import cal2
from calibrant.streams import Drag, Learned, play

TITLE = "Hostile streams"
SEEDS = {10**4: 10, 10**5: 10, 10**6: 10}  # by horizon
IN_PYTHON = {10**4: 10, 10**5: 10, 10**6: 3}  # of games whose rounds are played in Python
FIRST_SEED = 50


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


def aimed(opponent, rounds, seed):
    """The same of an opponent that aims at scores, which are the means of a stage by itself."""
    stage, draws = SafeKernel(), np.random.default_rng(seed).random(rounds)
    predictions, outcomes = np.empty(rounds), np.empty(rounds)
    for t in range(rounds):
        mean = min(max(opponent.aim(), 1e-9), 1 - 1e-9)
        lo, hi, share = stage.place(mean)
        points, weights = ([lo], [1.0]) if lo == hi else ([lo, hi], [share, 1 - share])
        outcomes[t] = outcome = opponent.answer(np.array(points), np.array(weights))
        predictions[t] = p = lo if draws[t] < share else hi
        stage.learn(mean, p, outcome)
        opponent.observe(p, outcome)
    return predictions, outcomes


def error_of(games):
    """Return the mean Cal2 of games, and the worst."""
    errors = [cal2(predictions, outcomes) for predictions, outcomes in games]
    return f"{np.mean(errors):.0f} ({max(errors):.0f})"


def seeds(count):
    return range(FIRST_SEED, FIRST_SEED + count)


#: Those that choose scores too, for so many rounds.
AIMING = {
    "Drag": Drag,
    "Drag, 3 sweeps": partial(Drag, sweeps=3.0),
    "Drag, fresher": fresher,
    "Learned, of scores": partial(Learned, against="scores"),
    "Learned, of Zoom": partial(Learned, against="zoom"),
}


def scores_games():
    """Return games against a whole recalibrator, by opponent: the rounds, and a seed."""
    found = {
        name: lambda rounds, seed, hire=hire: against_scores(
            hire(rounds), Recalibrator(seed=seed), rounds
        )
        for name, hire in AIMING.items()
    }
    found["Centre"] = lambda rounds, seed: centred(Whole(Recalibrator(seed=seed)), rounds, seed)
    for name in ("random means, greedy", "swept means, swept outcomes", "march, then greedy"):
        found[name] = lambda rounds, seed, policy=POLICIES[name]: Game(
            Whole(Recalibrator(seed=seed)), rounds, seed
        ).play(policy)
    return found


def stage_games():
    """The same against the safe stage by itself."""
    found = {
        name: lambda rounds, seed, hire=hire: aimed(hire(rounds), rounds, seed)
        for name, hire in AIMING.items()
    }
    found["Centre"] = lambda rounds, seed: centred(SafeKernel(), rounds, seed)
    for name in ("random means, greedy", "march, then greedy"):
        found[name] = lambda rounds, seed, policy=POLICIES[name]: Game(
            SafeKernel(), rounds, seed
        ).play(policy)
    return found


def measured(title, games, counts, progress):
    """Return the table of games, by opponent: the rounds, and a seed; so many by horizon."""
    rows = []
    for opponent, game in games.items():
        row = [opponent]
        for horizon, count in counts.items():
            progress(f"hostile streams: {title}, {opponent}, {horizon:,}")
            row.append(error_of(game(horizon, seed) for seed in seeds(count)))
        rows.append(row)
    head = [f"{horizon:,}, {count} seeds" for horizon, count in counts.items()]
    return table(f"{title}: Cal2 on average, and at the worst", ["opponent", *head], rows)


def events_games():
    """Return games against a forecaster of events, by opponent."""

    def game(hire):
        def played(rounds, seed):
            found = play(EventForecaster(seed=seed), hire(rounds, seed), rounds)
            return found.predictions, found.outcomes

        return played

    return {opponent: game(hire) for opponent, hire in OPPONENTS.items()}


def tables(progress):
    """Return the tables of this module, one after the other."""
    yield measured("EventForecaster", events_games(), SEEDS, progress)
    yield measured("Recalibrator, scores chosen", scores_games(), IN_PYTHON, progress)
    yield measured("The safe stage by itself, means chosen", stage_games(), IN_PYTHON, progress)
