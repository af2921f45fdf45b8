"""The recalibrator with groups in plain Python: each round by itself, only estimates shared."""

from dataclasses import dataclass, field

import numpy as np

from naive.batches import SMALLEST, learn_batch
from naive.draws import scramble
from naive.fleet import Key, Pool, logit
from naive.recalibrate import NaiveRecalibrator, floor, within


def trusting(seed):
    """Return a recalibrator that starts by trusting its score."""
    recalibrator = NaiveRecalibrator(seed=seed)
    others = recalibrator.weights[1:]
    recalibrator.weights = np.array([0.9, *(0.1 * others / others.sum())])
    return recalibrator


def as_one(rows):
    """Return rows of (predicted, point, outcome) as of one call."""
    for predicted, *_ in rows:
        predicted.batch = 0
    return rows


def learn_part(stage, part):
    """Let a last stage learn its rows of a batch: (id, revised score, outcome)."""
    rows = []
    for id_, score, outcome in part:
        predicted, point = stage.waiting.pop(id_)
        predicted.s = float(score)
        rows.append((predicted, point, outcome))
    if len(rows) < SMALLEST:
        stage.learn_rows(as_one(rows))
    else:
        learn_batch(stage, rows, is_revised=True)


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

    def predict_many(self, scores, ids, by):
        rows = zip(scores, ids, by, strict=True)
        return [self.predict(score, id_, group) for score, id_, group in rows]

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

    def update_many(self, outcomes, ids, weights=None):
        """Learn a large batch, all of whose rows are in groups: stage after stage.

        Each learns from what those before it say now, groups as if they had not learned yet.
        """
        order = sorted(
            range(len(ids)), key=lambda i: scramble(self.waiting[ids[i]].whole.number + 1)
        )
        given, ids, outcomes = ids, [ids[i] for i in order], [outcomes[i] for i in order]
        heavy = dict(zip(given, [1.0] * len(ids) if weights is None else weights, strict=True))
        for id_ in ids:
            self.weigh(id_, heavy[id_])
        rows = [self.waiting.pop(id_) for id_ in ids]
        means, slow, _ = learn_batch(
            self.whole, [(r.whole, None, y) for r, y in zip(rows, outcomes, strict=True)]
        )
        views = [(r, logit(mean), logit(r.whole.s)) for r, mean in zip(rows, means, strict=True)]
        revised = []
        for mean, (r, x, v) in zip(means, views, strict=True):
            least = min(floor(self.learned), mean, 1 - mean)
            revised.append(within(self.pool.view(r.group.key, x, v)[1], least))
        for (r, x, v), y in zip(views, outcomes, strict=True):
            now = self.pool.view(r.group.key, x, v)[0]
            self.pool.learn_in_batch(
                r.group.key, now, r.views, r.estimate, y, slow, len(rows), r.whole.weight
            )
            self.learned += 1
        told = list(zip(ids, rows, revised, outcomes, strict=True))
        learn_part(
            self.shared, [(id_, estimate, y) for id_, r, estimate, y in told if r.own is None]
        )
        for group in self.groups.values():
            part = [row for row in told if row[1].own is not None and row[1].group is group]
            if part:
                self.learn_own(group.stages, part, slow)

    def learn_own(self, stages, part, slow):
        """Let the stages of one group learn its rows: (id, round, revised estimate, outcome)."""
        predicted = [np.array([r.estimate, r.own.mean]) for _, r, _, _ in part]
        rows = [(r.own, None, y) for _, r, _, y in part]
        if len(rows) < SMALLEST:
            own = [r.own.mean for _, r, _, _ in part]
            stages.own.learn_rows(as_one(rows))
        else:
            own, *_ = learn_batch(stages.own, rows)
        scores = [
            mean + stages.weights[0] * (estimate - mean)
            for mean, (_, _, estimate, _) in zip(own, part, strict=True)
        ]
        logs = sum(
            r.whole.weight * (y * np.log(each) + (1 - y) * np.log(1 - each))
            for each, (_, r, _, y) in zip(predicted, part, strict=True)
        )
        weights = stages.weights * np.exp((logs - logs.max()) / slow)
        spread = min(1 - (1 - 1e-4) ** len(part), 0.03)
        stages.weights = (1 - spread) * weights / weights.sum() + spread / 2
        learn_part(
            stages.last,
            [(id_, score, y) for (id_, _, _, y), score in zip(part, scores, strict=True)],
        )

    def weigh(self, id_, weight):
        """Let all stages of a round know how much its outcome teaches."""
        r = self.waiting[id_]
        last = self.shared if r.own is None else r.group.stages.last
        for predicted in (r.whole, last.waiting[id_][0], *([] if r.own is None else [r.own])):
            predicted.weight = weight

    def update(self, outcome, id_, weight=1.0):
        if self.waiting[id_] is None:
            del self.waiting[id_]
            self.whole.update(outcome, id_, weight)
            return
        self.weigh(id_, weight)
        r = self.waiting.pop(id_)
        self.whole.learn(r.whole, outcome)
        late = float(min(self.predictions - r.number - 1, 1000))
        now = r.views
        if r.learned != self.learned:
            now = self.pool.view(r.group.key, r.views.x, r.views.v)[0]
        self.pool.learn(r.group.key, now, r.views, r.estimate, outcome, late, weight)
        self.learned += 1
        if r.own is None:
            self.shared.update(outcome, id_, weight)
            return
        stages = r.group.stages
        stages.own.learn(r.own, outcome)
        stages.last.update(outcome, id_, weight)
        estimates = np.array([r.estimate, r.own.mean])
        likely = estimates**outcome * (1 - estimates) ** (1 - outcome)
        weights = stages.weights * likely**weight
        stages.weights = (1 - 1e-4) * weights / weights.sum() + 1e-4 / 2
