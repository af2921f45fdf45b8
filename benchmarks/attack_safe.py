"""The Recalibrator's safe stage under attack: opponents who choose the means and the outcomes.

The theorem of docs/safe-proof.md holds for any means of the mixture. So there is no learning here:
a policy chooses the mean and the outcome of every round, based on the past and the
grid, but without knowing the draw. It is a cycle of phases, each with a rule for the mean, a rule
for the outcome and a share of the rounds.
"""

import math

import numpy as np

from benchmarks.error import show
from benchmarks.routes import log_uniform, triangle
from benchmarks.tables import table
from calibrant._kernels.scores.safe import SafeKernel
from calibrant.measures import cal2
from calibrant.recalibrate import Recalibrator

TITLE = "The safe stage under attack"
HORIZONS = {10**4: 5, 10**5: 3, 10**6: 1}  # with the number of seeds
LONG = ("beside the mark", "march, then greedy")  # the longest games only for these
SHORT = {10**4: 3, 10**5: 1}  # for the whole Recalibrator
MEANS_CHOSEN = "The safe stage: Cal2 and points where an opponent chooses means and outcomes"
SCORES_CHOSEN = "The whole Recalibrator: the same where it chooses scores and outcomes"
LEAST = 1e-4  # as close to 0 and 1 as the Recalibrator's mixture goes


class Whole:
    """A Recalibrator with the methods of its safe stage: the opponent chooses scores, not means."""

    def __init__(self, recalibrator):
        self.recalibrator = recalibrator

    def place(self, score):
        points, weights = self.recalibrator.distribution(score)
        return float(points[0]), float(points[-1]), float(weights[0])

    def draw(self, score):
        return self.recalibrator.predict(score)

    def learn(self, _score, _point, outcome):
        self.recalibrator.update(outcome)

    def columns(self):
        return self.recalibrator._save()[1]


class Game:
    """What an opponent sees: the rounds so far, the grid, and where this round is played."""

    def __init__(self, stage, rounds, seed):
        self.stage, self.rounds = stage, rounds
        self.draws_itself = isinstance(stage, Whole)
        self.random = np.random.default_rng(seed)
        self.visits, self.bias = {}, {}
        self.last, self.owed, self.t = 0.5, 0.0, 0
        self.middles, self.order = np.array([0.5]), np.array([0])

    def look(self):
        """Read the grid: the middles of its gaps, the narrowest first."""
        theta = self.stage.columns()["theta"]
        self.middles = np.sin((theta[:-1] + theta[1:]) / 4) ** 2
        self.order = np.argsort(np.diff(theta), kind="stable")

    def along(self, passes):
        return float(triangle(passes * self.t / self.rounds / 2))

    def play(self, policy):
        """Return the predictions and outcomes of a policy."""
        lengths = [max(1, round(phase["part"] * self.rounds)) for phase in policy]
        cycle = np.cumsum(lengths)
        predictions, outcomes = np.empty(self.rounds), np.empty(self.rounds)
        draws = self.random.random(self.rounds)
        for t in range(self.rounds):
            self.t = t
            phase = policy[int(np.searchsorted(cycle, t % cycle[-1], side="right"))]
            if phase["mean"] in READS and t % 16 == 0:
                self.look()
            mean = min(max(MEANS[phase["mean"]](self, phase), LEAST), 1 - LEAST)
            lo, hi, share = self.stage.place(mean)
            outcome = OUTCOMES[phase["outcome"]](self, phase, lo, hi, share)
            p = self.stage.draw(mean) if self.draws_itself else lo if draws[t] < share else hi
            self.stage.learn(mean, p, outcome)
            self.visits[p] = self.visits.get(p, 0) + 1
            self.bias[p] = self.bias.get(p, 0.0) + p - outcome
            self.last = p
            predictions[t], outcomes[t] = p, outcome
        return predictions, outcomes

    def rise(self, z):
        """Return by how much more Cal2 rises with outcome 1 at a point than with 0."""
        return (1 - 2 * (self.bias.get(z, 0.0) + z)) / (self.visits.get(z, 0) + 1)

    def dithered(self, mean):
        self.owed += mean
        outcome = float(self.owed >= 0.5)
        self.owed -= outcome
        return outcome

    def slope(self, z):
        return abs(self.bias.get(z, 0.0)) / ((self.visits.get(z, 0) + 1) * z * (1 - z) + 1)


MEANS = {
    "fixed": lambda game, phase: phase["at"],
    "sweep": lambda game, phase: game.along(phase["passes"]),
    "random": lambda game, phase: game.random.random(),
    "near 0": lambda game, phase: math.exp(-9 * game.random.random()) / 9,
    "near 1": lambda game, phase: 1 - math.exp(-9 * game.random.random()) / 9,
    "far": lambda game, phase: float(game.last < 0.5),
    "last": lambda game, phase: game.last,
    "narrowest gap": lambda game, phase: game.middles[game.order[0]],
    "widest gap": lambda game, phase: game.middles[game.order[-1]],
    "gap by gap": lambda game, phase: game.middles[
        int(game.along(phase["passes"]) * (len(game.middles) - 1))
    ],
}
READS = {"narrowest gap", "widest gap", "gap by gap"}
OUTCOMES = {
    "zero": lambda game, phase, lo, hi, share: 0.0,
    "one": lambda game, phase, lo, hi, share: 1.0,
    "drawn": lambda game, phase, lo, hi, share: float(game.random.random() < phase["truth"]),
    "dithered": lambda game, phase, lo, hi, share: game.dithered(phase["truth"]),
    "sweep": lambda game, phase, lo, hi, share: game.dithered(game.along(phase["passes"])),
    "contrary": lambda game, phase, lo, hi, share: float(share * lo + (1 - share) * hi < 0.5),
    "greedy": lambda game, phase, lo, hi, share: float(
        share * game.rise(lo) + (1 - share) * game.rise(hi) > 0
    ),
    "even": lambda game, phase, lo, hi, share: float(game.slope(lo) < game.slope(hi)),
    "over": lambda game, phase, lo, hi, share: float(game.bias.get(lo, 0.0) > phase["load"]),
    "under": lambda game, phase, lo, hi, share: float(game.bias.get(hi, 0.0) > -phase["load"]),
}


# at, truth, passes and load are read by the rules that need them.
PLAIN = {"part": 1.0, "at": 0.9, "truth": 0.5245, "passes": 1.0, "load": 1.0}


def phase(mean, outcome, **settings):
    return {**PLAIN, "mean": mean, "outcome": outcome, **settings}


POLICIES = {
    "beside the mark": [phase("fixed", "drawn")],
    "beside the mark, near 0": [phase("fixed", "drawn", truth=0.0216)],
    "march through the gaps": [phase("gap by gap", "over")],
    "march, then greedy": [
        phase("widest gap", "greedy", part=0.0668),
        phase("gap by gap", "over", part=0.0187, passes=29.5, load=0.83),
    ],
    "random means, greedy": [phase("random", "greedy")],
    "far means, even slopes": [phase("far", "even")],
    "near 0, greedy": [phase("near 0", "greedy")],
    "near 1, greedy": [phase("near 1", "greedy")],
    "swept means, swept outcomes": [phase("sweep", "sweep", passes=7.0)],
}


def random_phase(rounds, random):
    return {
        "mean": str(random.choice(list(MEANS))),
        "outcome": str(random.choice(list(OUTCOMES))),
        "part": log_uniform(random, 1 / rounds, 1),
        "at": float(random.choice([0.01, 0.1, 0.5, 0.9, 0.99, random.random()])),
        "truth": float(random.choice([0.01, 0.1, 0.5245, random.random()])),
        "passes": log_uniform(random, 0.5, rounds / 100),
        "load": log_uniform(random, 0.5, 30),
    }


def random_policy(rounds, random):
    return [random_phase(rounds, random) for _ in range(random.integers(1, 4))]


def changed_policy(policy, rounds, random):
    """Return a policy with one part of one phase redrawn, or with a phase more."""
    changed = [dict(phase) for phase in policy]
    fresh, at = random_phase(rounds, random), random.integers(len(policy))
    if len(policy) < 4 and random.random() < 0.1:
        return [*changed, fresh]
    name = str(random.choice(list(fresh)))
    changed[at][name] = fresh[name]
    return changed


def describe_policy(policy):
    return "; ".join(
        f"{phase['part']:.2g} of the rounds: mean {phase['mean']}, outcome {phase['outcome']}"
        for phase in policy
    )


def against_policy(stage, policy, rounds, seed):
    return cal2(*Game(stage, rounds, seed).play(policy))


def points_visited(stages):
    return f"{np.mean([(stage.columns()['n'] > 0).sum() for stage in stages]):.0f}"


def policies_table(progress):
    rows = []
    for name, policy in POLICIES.items():
        row = [name]
        for horizon, seeds in HORIZONS.items():
            if horizon > 10**5 and name not in LONG:
                row += ["-", "-"]
                continue
            progress(f"attack_safe: {name}, {horizon:,} rounds")
            stages = [SafeKernel() for _ in range(seeds)]
            errors = [against_policy(s, policy, horizon, seed) for seed, s in enumerate(stages)]
            row += [show(np.mean(errors)), points_visited(stages)]
        rows.append(row)
    head = [word for horizon in HORIZONS for word in (f"{horizon:,}", "points")]
    yield table(MEANS_CHOSEN, ["policy", *head], rows)


def whole_table(progress):
    rows = []
    for name, policy in POLICIES.items():
        row = [name]
        for horizon, seeds in SHORT.items():
            progress(f"attack_safe: the whole, {name}, {horizon:,} rounds")
            stages = [Whole(Recalibrator(seed=seed)) for seed in range(seeds)]
            errors = [against_policy(s, policy, horizon, seed) for seed, s in enumerate(stages)]
            row += [show(np.mean(errors)), points_visited(stages)]
        rows.append(row)
    head = [word for horizon in SHORT for word in (f"{horizon:,}", "points")]
    yield table(SCORES_CHOSEN, ["policy", *head], rows)


def tables(progress):
    """Return the tables of this module, one after the other."""
    yield from policies_table(progress)
    yield from whole_table(progress)
