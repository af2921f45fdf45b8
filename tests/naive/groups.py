"""The recalibrator with groups in plain Python: every round by itself, nothing shared but words."""

import numpy as np

from naive.recalibrate import NaiveRecalibrator


class NaiveGroup:
    """Own mixture, two weights, and a last recalibrator that starts by trusting its score."""

    def __init__(self, seed):
        self.own = NaiveRecalibrator(seed=seed)
        self.last = NaiveRecalibrator(seed=seed)
        others = self.last.weights[1:]
        self.last.weights = np.array([0.9, *(0.1 * others / others.sum())])
        self.weights = np.array([0.9, 0.1])


class NaiveGroupedRecalibrator:
    def __init__(self, kind="probability", seed=0):
        self.whole = NaiveRecalibrator(kind, seed=seed)
        self.groups = {}
        self.seed = seed
        self.waiting = {}

    def predict(self, score, id_, by):
        if by is None:
            self.waiting[id_] = None
            return self.whole.predict(score, id_)
        if by not in self.groups:
            self.groups[by] = NaiveGroup(self.seed + 1 + len(self.groups))
        group = self.groups[by]
        self.whole.draws.uniform()  # each round has its own number, drawn from or not
        whole = self.whole.say(score)
        own = group.own.say(whole.s)
        self.waiting[id_] = group, whole, own
        # Where both say the same, the mixture is to say just that, or ties fall otherwise.
        mean = own.mean + group.weights[0] * (whole.mean - own.mean)
        return group.last.predict(float(mean), id_)

    def update(self, outcome, id_):
        waiting = self.waiting.pop(id_)
        if waiting is None:
            self.whole.update(outcome, id_)
            return
        group, whole, own = waiting
        self.whole.learn(whole, outcome)
        group.own.learn(own, outcome)
        group.last.update(outcome, id_)
        words = np.array([whole.mean, own.mean])
        weights = group.weights * words**outcome * (1 - words) ** (1 - outcome)
        group.weights = (1 - 1e-4) * weights / weights.sum() + 1e-4 / 2
