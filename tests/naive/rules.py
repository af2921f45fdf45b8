"""The rules for the plain book: bare kernels, one step after the other."""

import math
from dataclasses import dataclass

import numpy as np

from calibrant._kernels.classes.class_rule import ClassRule as CompiledClassRule
from calibrant._kernels.events.event import EventKernel
from calibrant._kernels.events.event import EventRule as CompiledEventRule
from calibrant._kernels.fleet.fleet import FleetRows, ShardKernel
from calibrant._kernels.fleet.fleet import FleetRule as CompiledFleetRule
from calibrant._kernels.fleet.fleet_rounds import save_rounds
from calibrant._kernels.fleet.key_batch import checked_keys, shards_of
from calibrant._kernels.fleet.keys import KeyIndex
from calibrant._kernels.scores.pending import PendingKernel
from calibrant._kernels.scores.pending_saving import save_pending
from calibrant._kernels.scores.recalibrate import RecalibrateKernel
from calibrant.recalibrate.groups import Groups
from naive.rounds import NoRule


@dataclass(eq=False)
class Token:
    """What a rule remembers of a prediction; `awaited` is what its models of silence do."""

    begun: object
    prediction: object
    expected: object
    raw: object
    awaited: object = None


class Rule(NoRule):
    """What rules share: a kernel, and a model of silence where there is one."""

    pending = None

    @property
    def learned(self):
        return self.kernel.learned

    def weigh(self, token, weight):
        token.begun.weight = weight

    def drop(self, tokens):
        for each in tokens:
            if each.awaited is not None:
                self.pending.drop(each.awaited)

    def mature(self, token):
        if token.awaited is not None:
            self.pending.mature(token.awaited)
            token.awaited = None

    def silence(self):
        """Return what was learned of silence, as a list of one dict or none."""
        return [] if self.pending is None else [save_pending(self.pending)]


class ScoreRule(Rule):
    """Scores of one event, each in a group or none: rows of (score, group)."""

    def __init__(self, seed, silence=None):
        self.kernel, self.groups = RecalibrateKernel("probability", seed), Groups(1000, seed)
        self.pending = None if silence is None else PendingKernel(silence)
        self.kernel._attend(self.pending)

    def begin(self, rows):
        scores, by = [score for score, _ in rows], [group for _, group in rows]
        if any(group is not None for group in by):
            begun = self.groups.begin_many(self.kernel, scores, by)
        else:
            begun = self.kernel._begin_many(scores)[1]
        return [
            Token(each, each.prediction, stages_of(each)[-1].expected, stages_of(each)[0].raw)
            for each in begun
        ]

    def learn(self, tokens, outcomes):
        begun, y = [each.begun for each in tokens], np.array(outcomes, dtype=np.float64)
        if self.groups.names:
            self.groups.finish_many(self.kernel, begun, y)
        else:
            self.kernel._finish_many(begun, y)

    def wait(self, token, made, due):
        if self.pending is not None:
            whole = stages_of(token.begun)[0]
            mean = self.kernel._waiting_mean(whole)
            token.awaited = self.pending.open(whole.probability, mean, made, due)

    def observed(self, token, outcome, now):  # noqa: ARG002 - there is one that is not silence
        if token.awaited is not None:
            self.pending.come(token.awaited, now)

    def refit(self, now):
        self.kernel._refit(now)

    def states(self):
        """Return all that was learned, as dicts of arrays and numbers."""
        return [self.kernel._get_state(), self.groups.get_state(), *self.silence()]


def stages_of(begun):
    """Return the rounds of all kernels that a prediction went through; the whole comes first."""
    return begun.rounds if hasattr(begun, "rounds") else (begun,)


class ClassRule(Rule):
    """Several classes: rows of probabilities, and columns for outcomes."""

    def __init__(self, classes, seed, silence=None):
        self.pending = None if silence is None else PendingKernel(0)
        self.silent = silence
        self.rule = self.kernel = CompiledClassRule(
            range(classes), "probability", seed, silent=silence, silence=self.pending
        )

    def begin(self, rows):
        begun = self.rule.begin_many(np.array(rows, dtype=np.float64), None)
        return [Token(each, each.row.tolist(), each.expected, each.raw) for each in begun]

    def learn(self, tokens, outcomes):
        self.rule.learn([each.begun for each in tokens], np.array(outcomes, dtype=np.float64))

    def drop(self, tokens):
        super().drop(tokens)
        for each in tokens:
            self.rule.drop(each.begun)

    def wait(self, token, made, due):
        if self.pending is not None:
            heard = token.begun.heard
            mean = self.rule.whole.heard._waiting_mean(heard)
            token.awaited = self.pending.open(heard.probability, mean, made, due)

    def observed(self, token, outcome, now):
        if token.awaited is not None and outcome != self.silent:
            self.pending.come(token.awaited, now)
            self.rule.learn_announced(token.begun, outcome)

    def refit(self, now):
        if self.pending is not None:
            self.rule.refit(now)

    def states(self):
        return [self.rule.save([]), *self.silence()]


class FleetRule(Rule):
    """The keys of one shard: rows of (key, score). It has no model of silence."""

    def __init__(self, seed):
        self.kernel, self.index = ShardKernel("probability", seed), KeyIndex()

    def begin(self, rows):
        before = len(self.index)
        slots = self.index.slots([key for key, _ in rows], add=True)
        self.kernel.keys.add(self.index.hashes(before))
        scores = np.array([score for _, score in rows])
        nowhere, never = np.full(len(rows), -1), np.full(len(rows), math.nan)
        begun = CompiledFleetRule(self.kernel, self.index).begin_many(
            FleetRows(slots, nowhere, scores, never), None
        )
        saved = save_rounds(begun)
        return [
            Token(each, each.prediction, expected, raw)
            for each, expected, raw in zip(
                begun, saved["expected"].tolist(), saved["raw"].tolist(), strict=True
            )
        ]

    def learn(self, tokens, outcomes):
        for each, outcome in zip(tokens, outcomes, strict=True):
            CompiledFleetRule(self.kernel, self.index).learn([each.begun], np.array([outcome]))

    def states(self):
        return [shard_state(self.kernel)]


def shard_state(kernel):
    """Return all that a shard has learned; when a key was predicted last is for `evict` alone."""
    state = kernel.arrays()
    for name, level in kernel.levels().items():
        keys = level.keys()
        state |= {f"{name}_{field}": keys[field] for field in keys.dtype.names if field != "last"}
        state |= dict(zip((f"{name}_{i}" for i in range(3)), level.shared(), strict=True))
        state[f"{name}_own"] = level.owned.saved()
    return state


def shard_of(key, shards):
    """Return the number of the shard that a key belongs to."""
    return int(shards_of(checked_keys([key]).hashes(), shards)[0])


class EventRule(Rule):
    """Events without scores: a row is the time of the outcome, or None."""

    def __init__(self, seed, ahead=1):
        self.kernel = EventKernel(seed, [], ahead)

    def begin(self, rows):
        rule = CompiledEventRule(self.kernel)
        begun = [rule.begin(math.nan if time is None else time, None) for time in rows]
        return [Token(each, each.prediction, each.expected, None) for each in begun]

    def learn(self, tokens, outcomes):
        for each, outcome in zip(tokens, outcomes, strict=True):
            CompiledEventRule(self.kernel).learn_one(each.begun, outcome)

    def states(self):
        return [self.kernel._get_state()]
