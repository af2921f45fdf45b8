"""Any calls in any order: a fleet that is saved, opened, split and merged in between is the same.

Two fleets get the same calls. One of them is sometimes saved and loaded, or split and merged. A
plain model tracks which ids are pending.
"""

import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from calibrant import Fleet

pytestmark = pytest.mark.long

KEYS = st.lists(st.integers(0, 12), min_size=1, max_size=8)
SCORES = st.floats(0, 1, width=32)
OUTCOMES = st.sampled_from([0.0, 1.0, 0.25])
#: Monitors that have something to say after a few rounds.
WATCHED = {"every": 100, "tolerance": 0.0}


class Fleets(RuleBasedStateMachine):
    @initialize(shards=st.integers(1, 3), seed=st.integers(0, 2**64 - 1))
    def start(self, shards, seed):
        self.alone, self.moved = (Fleet(seed, shards=shards, monitor=WATCHED) for _ in range(2))
        self.waiting, self.finished, self.gone, self.next = {}, {}, set(), 0

    def both(self, call):
        first, second = call(self.alone), call(self.moved)
        assert np.array_equal(first, second, equal_nan=np.asarray(first).dtype.kind == "f")
        return first

    @rule(keys=KEYS, data=st.data(), waits=st.booleans())
    def predict(self, keys, data, waits):
        scores = data.draw(st.lists(SCORES, min_size=len(keys), max_size=len(keys)))
        ids = [self.next + row for row in range(len(keys))] if waits else None
        self.both(lambda fleet: fleet.expected(keys, scores))
        self.both(lambda fleet: fleet.predict_many(keys, scores, ids=ids, at=self.next))
        if waits:
            self.waiting |= dict.fromkeys(ids, self.next)
        self.next += len(keys)

    @rule(data=st.data())
    def update(self, data):
        names = st.sampled_from([*self.waiting, *self.finished, *self.gone, "unheard of"])
        ids = data.draw(st.lists(names, min_size=1, max_size=8, unique=True))
        outcomes = data.draw(st.lists(OUTCOMES, min_size=len(ids), max_size=len(ids)))
        answers = self.both(lambda fleet: fleet.update_many(outcomes, ids=ids)).tolist()
        for name, outcome, answer in zip(ids, outcomes, answers, strict=True):
            if name in self.finished:
                assert answer == ("repeated" if self.finished[name] == outcome else "conflict")
            elif name in self.waiting:
                assert answer == "applied"
                self.finished[name] = outcome
                del self.waiting[name]
            else:
                assert answer == ("expired" if name in self.gone else "unknown")

    @rule(keys=KEYS, data=st.data())
    def run(self, keys, data):
        each = st.lists(st.one_of(OUTCOMES, st.none()), min_size=len(keys), max_size=len(keys))
        outcomes = data.draw(each)
        self.both(lambda fleet: fleet.run(keys, None, outcomes, at=self.next))

    @rule(age=st.integers(1, 30))
    def expire(self, age):
        old = {name for name, made in self.waiting.items() if made < self.next - age}
        assert set(self.alone.expire(before=self.next - age)) == old
        assert set(self.moved.expire(before=self.next - age)) == old
        self.gone |= old
        for name in old:
            del self.waiting[name]

    @rule(idle=st.integers(1, 30))
    def evict(self, idle):
        self.both(lambda fleet: fleet.evict(idle, now=self.next))

    @rule(keys=KEYS)
    def refuse(self, keys):
        for fleet in (self.alone, self.moved):
            try:
                fleet.run([*keys, 1], None, [*[0] * len(keys), 2])
            except ValueError:
                continue
            raise AssertionError("an outcome of 2 was learned")

    @rule()
    def look(self):
        self.both(lambda fleet: [fleet.monitors.gain_evidence, fleet.monitors.raw.evidence])
        assert self.alone.monitors.raw.episodes == self.moved.monitors.raw.episodes
        assert self.alone.learned <= self.alone.monitors.calibrated.rounds <= self.alone.rounds

    @rule()
    def write_and_read(self):
        with tempfile.TemporaryDirectory() as folder:
            self.moved.save(Path(folder) / "fleet")
            opened = Fleet.open(Path(folder) / "fleet")
            assert (opened.expected(range(15)) == self.alone.expected(range(15))).all()
            self.moved = Fleet.load(Path(folder) / "fleet")

    @rule(shares=st.integers(1, 3))
    def split_and_merge(self, shares):
        self.moved = Fleet.merge(self.moved.split(min(shares, self.moved.shards))[::-1])

    @invariant()
    def hold_the_same(self):
        if hasattr(self, "alone"):
            self.both(lambda fleet: fleet.keys())
            one, other = self.alone.monitors, self.moved.monitors
            assert one.raw.miscalibrated_keys(least=0.01) == other.raw.miscalibrated_keys(
                least=0.01
            )
            assert one.calibrated.miscalibrated_keys(
                least=0.01
            ) == other.calibrated.miscalibrated_keys(least=0.01)
            assert self.alone.pending == self.moved.pending == len(self.waiting)
            assert self.alone.expired == self.moved.expired == len(self.gone)


Fleets.TestCase.settings = settings(max_examples=25, stateful_step_count=25, deadline=None)
test_fleets = Fleets.TestCase
