"""The recalibrator with groups in plain Python: each round by itself, only estimates shared."""

from dataclasses import dataclass, field

import numpy as np

from naive.fleet import Key, Pool, logit
from naive.recalibrate import NaiveRecalibrator, floor, within


def trusting(seed):
    """Return a recalibrator that starts by trusting its score."""
    recalibrator = NaiveRecalibrator(seed=seed)
    others = recalibrator.weights[1:]
    recalibrator.weights = np.array([0.9, *(0.1 * others / others.sum())])
    return recalibrator


class OwnStages:
    """Own mixture, two weights, and a last recalibrator."""

    def __init__(self, seed):
        self.own, self.last = NaiveRecalibrator(seed=seed), trusting(seed)
        self.weights = np.array([0.9, 0.1])


@dataclass
class NaiveGroup:
    number: int
    key: Key = field(default_factory=Key)
    stages: OwnStages | None = None


@dataclass
class Waiting:
    group: NaiveGroup
    number: int  # predictions of groups before
    learned: int  # outcomes of groups before
    whole: object
    views: object
    estimate: float
    own: object = None


class NaiveGroupedRecalibrator:
    def __init__(self, kind="probability", seed=0, earned=1000):
        self.whole = NaiveRecalibrator(kind, seed=seed)
        self.shared = trusting((seed - 1) % 2**64)
        self.pool = Pool(0.5)
        self.groups = {}
        self.seed, self.earned = seed, earned
        self.predictions = self.learned = 0  # of groups
        self.waiting = {}

    def predict(self, score, id_, by):
        if by is None:
            self.waiting[id_] = None
            return self.whole.predict(score, id_)
        group = self.groups.setdefault(by, NaiveGroup(len(self.groups)))
        enough = min(len(self.groups) ** 2 / 400, self.earned)
        if group.stages is None and group.key.outcomes >= enough:
            group.stages = OwnStages(self.seed + 1 + group.number)
        self.whole.draws.uniform()  # each round has its own number, drawn from or not
        whole = self.whole.say(score)
        views, estimate = self.pool.view(group.key, logit(whole.mean), logit(whole.s))
        least = min(floor(self.learned), whole.mean, 1 - whole.mean)
        estimate = within(estimate, least)
        round_ = Waiting(group, self.predictions, self.learned, whole, views, estimate)
        self.waiting[id_] = round_
        self.predictions += 1
        if group.stages is None:
            return self.shared.predict(estimate, id_)
        round_.own = group.stages.own.say(whole.s)
        # Where both say the same, the mixture is to say just that, or ties fall otherwise.
        own = round_.own.mean
        mean = own + group.stages.weights[0] * (estimate - own)
        return group.stages.last.predict(float(mean), id_)

    def update(self, outcome, id_):
        r = self.waiting.pop(id_)
        if r is None:
            self.whole.update(outcome, id_)
            return
        self.whole.learn(r.whole, outcome)
        late = float(min(self.predictions - r.number - 1, 1000))
        now = r.views
        if r.learned != self.learned:
            now = self.pool.view(r.group.key, r.views.x, r.views.v)[0]
        self.pool.learn(r.group.key, now, r.views, r.estimate, outcome, late)
        self.learned += 1
        if r.own is None:
            self.shared.update(outcome, id_)
            return
        stages = r.group.stages
        stages.own.learn(r.own, outcome)
        stages.last.update(outcome, id_)
        estimates = np.array([r.estimate, r.own.mean])
        weights = stages.weights * estimates**outcome * (1 - estimates) ** (1 - outcome)
        stages.weights = (1 - 1e-4) * weights / weights.sum() + 1e-4 / 2
