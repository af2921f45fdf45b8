"""The recalibrator with groups in plain Python: every round by itself, nothing shared but words."""

import numpy as np

from naive.recalibrate import NaiveRecalibrator


class NaiveGroup:
    """Own mixture, two weights, and a last recalibrator that starts by trusting its score."""

    def __init__(self, seed):
        self.own = NaiveRecalibrator(seed=seed)
        self.last = NaiveRecalibrator(seed=seed)
        rest = len(self.last.experts) - 1
        self.last.weights = np.array([0.9] + [0.1 / rest] * rest)
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
        s, said, word = self.whole.say(score)
        _, own_said, own_word = group.own.say(s)
        words = np.array([word, own_word])
        self.waiting[id_] = group, s, said, own_said, words
        # Where both say the same, the mixture is to say just that, or ties fall otherwise.
        mean = own_word + group.weights[0] * (word - own_word)
        return group.last.predict(float(mean), id_)

    def update(self, outcome, id_):
        waiting = self.waiting.pop(id_)
        if waiting is None:
            self.whole.update(outcome, id_)
            return
        group, s, said, own_said, words = waiting
        self.whole.learn(s, said, outcome)
        group.own.learn(s, own_said, outcome)
        group.last.update(outcome, id_)
        weights = group.weights * words**outcome * (1 - words) ** (1 - outcome)
        group.weights = (1 - 1e-4) * weights / weights.sum() + 1e-4 / 2
