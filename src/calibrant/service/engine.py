"""The engine of a stream: a state machine that a log drives, and nothing else does.

It knows no store, no clock and no HTTP. The same batches in the same order give the same state and
the same answers, bit for bit: so the state after a restart is that of a replay of the log.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from calibrant import Episode, Monitor
from calibrant._checks import Floats
from calibrant.measures import Scorecard
from calibrant.service.definition import Definition
from calibrant.service.history import History
from calibrant.service.keys import Key
from calibrant.service.learners import ByKey, fresh_learner, saved_learner
from calibrant.service.ledger import Ledger, Settled, make_entry
from calibrant.service.problems import bad_value
from calibrant.service.tallies import Tallies
from calibrant.service.watching import KeyChange

#: Raw and smooth probabilities are measured on a grid, so that scorecards do not grow with rows.
GRID = 4096.0
#: Settled rows that are measured at once, at the most.
PORTION = 4096


class Predicted(NamedTuple):
    """What was said of each row of a batch; `deadline` is None where there is none."""

    deadline: list[float | None]
    probability: list[float]
    smooth: list[float]


class Happening(NamedTuple):
    """An episode that began or ended, of the raw or of the calibrated probabilities."""

    of: str
    is_over: bool
    episode: Episode


class Engine:
    """The state of one stream.

    Examples
    --------
    >>> engine = Engine(Definition())
    >>> said = engine.predict(["a", "b"], [0.2, 0.9], at=[0.0, 0.0])
    >>> engine.learn(["b"], [1.0], at=[60.0])
    >>> engine.ledger.entries.keys()
    dict_keys(['a'])
    >>> again = Engine.from_bytes(engine.to_bytes(), Definition())
    >>> again.to_bytes() == engine.to_bytes()
    True
    """

    def __init__(self, definition: Definition) -> None:
        self.definition = definition
        self.learner = fresh_learner(definition)
        self.monitor = definition.monitor()
        self.raw_monitor: Monitor | None = None
        self.card, self.smooth_card = Scorecard(), Scorecard()
        self.raw_card: Scorecard | None = None
        if definition.kind != "margin":  # a margin is no probability to be watched
            self.raw_monitor, self.raw_card = definition.monitor(), Scorecard()
        self.ledger, self.tallies, self.history = Ledger(definition), Tallies(), History()
        self._settled: list[Settled] = []
        self._waiting: list[int] = []

    def check(self, by: Sequence[str | None] | None, keys: Sequence[Key] | None) -> None:
        """Refuse rows of these groups or with these keys if they cannot be predicted."""
        if isinstance(self.learner, ByKey):
            assert keys is not None
            self.learner.check(keys)
            return
        named = self.tallies.groups
        new = {name for name in by or () if name is not None and name not in named}
        if len(named) + len(new) > self.definition.groups:
            raise bad_value(
                f"{sorted(new)[0]!r} would be one group more than the stream allows",
                "by", f"{self.definition.groups} groups",
            )  # fmt: skip

    # -- the two kinds of batches ---------------------------------------------------------------

    def predict(
        self,
        ids: list[str],
        scores: list[float],
        by: list[str | None] | None = None,
        at: Sequence[float] = (),
        due: Sequence[float | None] | None = None,
        keys: Sequence[Key] | None = None,
    ) -> Predicted:
        """Predict rows that came together; the ids are new, and the rows wait for outcomes.

        `due` is given where rows have deadlines of their own.
        """
        first, timed = self.learner.rounds, self.definition.is_timed
        ends = self._own_deadlines(at, due)
        if timed:
            self._pass_to(min(at))
        dues = self.ledger.dues(first, at, ends)
        expected, smooth, said = self.learner.say(ids, scores, by, keys, at, ends)
        raw = as_probabilities(scores, self.definition.kind)
        nothing = [None] * len(ids)
        numbers = range(first, first + len(ids))
        columns = zip(
            numbers, at, dues, raw, said, smooth, expected, by or nothing, keys or nothing,
            strict=True,
        )  # fmt: skip
        self.ledger.open(ids, list(map(make_entry, columns)))
        self.tallies.predicted(scores, by, max(at))
        if timed:
            self._pass_to(max(at))
        elif self.ledger.has_deadlines:
            self._settle(self.ledger.advance(float(self.learner.rounds), max(at)))
        kept_from = self.ledger.overflow()
        if kept_from is not None:
            self.learner.give_up(kept_from)
        deadlines: list[Any] = dues if self.ledger.has_deadlines else nothing
        return Predicted(deadlines, said, smooth)

    def _own_deadlines(
        self, at: Sequence[float], due: Sequence[float | None] | None
    ) -> list[float] | None:
        """Return a deadline for each row, if any row has one of its own."""
        if due is None:
            return None
        wait = self.definition.wait
        return [
            made + wait if end is None else end  # type: ignore[operator]
            for made, end in zip(at, due, strict=True)
        ]

    def learn(self, ids: list[str], outcomes: list[float], at: Sequence[float]) -> None:
        """Learn outcomes that came together; each id waits, has none yet, and is not late."""
        entries, timed = self.ledger.entries, None
        if self.definition.is_timed:
            timed = min(at)
            self._pass_to(timed)
        self.learner.learn(ids, outcomes, timed)
        made = [entries[id_].at for id_ in ids]
        self.tallies.heard([came - start for came, start in zip(at, made, strict=True)], max(at))
        self._settle(self.ledger.hear(ids, outcomes, at))
        if timed is not None:
            self._pass_to(max(at))

    def _pass_to(self, now: float) -> None:
        """Let time pass in the learner and in the ledger."""
        if now > self.ledger.now:
            self.learner.pass_to(now)
            self._settle(self.ledger.advance(now))

    # -- measuring what is settled --------------------------------------------------------------

    def _settle(self, rows: list[Settled]) -> None:
        """Take what has just been learned."""
        if rows and self.learner.watch is not None:
            self.learner.watch.look(rows)
        self._settled += rows
        self._waiting += [len(self.ledger.entries)] * len(rows)

    def measure(self, at_least: int = 1) -> list[Happening | KeyChange]:
        """Measure what was settled since the last time; return what began or ended.

        It makes no difference how often this is called: what is measured goes in the order in
        which it was settled.
        """
        happened: list[Happening | KeyChange] = []
        if self.learner.watch is not None:
            happened += self.learner.watch.changes()
        while len(self._settled) >= at_least and self._settled:
            rows, self._settled = self._settled[:PORTION], self._settled[PORTION:]
            waiting, self._waiting = self._waiting[:PORTION], self._waiting[PORTION:]
            happened += self._measure(rows, waiting)
        return happened

    def _measure(self, rows: list[Settled], waiting: list[int]) -> list[Happening]:
        entries, happened, at = zip(*rows, strict=True)
        _, made, _, raw, said, smooth, expected, by, _ = zip(*entries, strict=True)
        columns: dict[str, Floats] = {
            "raw": np.array(raw), "said": np.array(said), "smooth": np.array(smooth),
            "happened": np.array(happened), "at": np.array(at),
            "waiting": np.array(waiting, dtype=np.float64),
        }  # fmt: skip
        columns["delay"] = columns["at"] - np.array(made)
        groups = list(by) if any(by) else None
        times, y = columns["at"], columns["happened"]
        found, columns["evidence"] = watch(
            "calibrated", self.monitor, np.array(expected), y, groups, times
        )
        columns["evidence_raw"] = np.full(len(rows), np.nan)
        self.card.extend(columns["said"], y)
        self.smooth_card.extend(on_grid(columns["smooth"]), y)
        if self.raw_monitor is not None and self.raw_card is not None:
            more, columns["evidence_raw"] = watch(
                "raw", self.raw_monitor, columns["raw"], y, groups, times
            )
            self.raw_card.extend(on_grid(columns["raw"]), y)
            found += more
        self.history.add(columns)
        self.tallies.measured(rows)
        return found

    # -- saving ---------------------------------------------------------------------------------

    def to_bytes(self) -> bytes:
        """Return the whole state: the length of each part in a line of JSON, then the parts."""
        return self.frozen()()

    def frozen(self) -> Callable[[], bytes]:
        """Return a function that gives `to_bytes` as of now, in any thread."""
        self.measure()
        learned = self.learner.frozen()
        parts = {
            "monitor": self.monitor, "raw_monitor": self.raw_monitor, "card": self.card,
            "smooth_card": self.smooth_card, "raw_card": self.raw_card, "ledger": self.ledger,
            "tallies": self.tallies, "history": self.history,
        }  # fmt: skip
        blobs = {name: part.to_bytes() for name, part in parts.items() if part is not None}

        def joined() -> bytes:
            whole = learned() | blobs
            lengths = json.dumps({name: len(blob) for name, blob in whole.items()})
            return b"".join([lengths.encode(), b"\n", *whole.values()])

        return joined

    @classmethod
    def from_bytes(cls, blob: bytes, definition: Definition) -> Engine:
        """Return what `to_bytes` saved, or raise ValueError."""
        end = blob.find(b"\n")
        parts, start, body = {}, end + 1, memoryview(blob)
        for name, length in json.loads(blob[:end]).items():
            parts[name] = body[start : start + length]
            start += length
        engine = cls(definition)
        try:
            engine.learner = saved_learner(parts, definition)
            engine.monitor = Monitor.from_bytes(parts["monitor"])
            engine.card = Scorecard.from_bytes(parts["card"])
            engine.smooth_card = Scorecard.from_bytes(parts["smooth_card"])
            if engine.raw_monitor is not None:
                engine.raw_monitor = Monitor.from_bytes(parts["raw_monitor"])
                engine.raw_card = Scorecard.from_bytes(parts["raw_card"])
            engine.ledger = Ledger.from_bytes(bytes(parts["ledger"]), definition)
            engine.tallies = Tallies.from_bytes(bytes(parts["tallies"]))
            engine.history = History.from_bytes(bytes(parts["history"]))
        except (KeyError, TypeError, IndexError) as error:
            raise ValueError(f"the snapshot makes no sense: {error}") from None
        return engine


def watch(
    of: str,
    monitor: Monitor,
    predictions: Floats,
    outcomes: Floats,
    by: list[str | None] | None,
    times: Floats,
) -> tuple[list[Happening], Floats]:
    """Give rows to a monitor; return what began or ended, and the evidence after each row."""
    before, open_before = monitor.rounds, monitor.state == "miscalibrated"
    evidence = monitor.trace(predictions, outcomes, by, times)
    found: list[Happening] = []
    if open_before or monitor.state == "miscalibrated" or evidence.max() >= 1.0:
        for episode in monitor.episodes:
            if episode.alarm >= before:
                found.append(Happening(of, False, episode))
            if episode.end is not None and episode.end >= before:
                found.append(Happening(of, True, episode))
    return found, evidence


def as_probabilities(scores: list[float], kind: str) -> list[float]:
    """Return scores as probabilities: NaN for margins."""
    if kind == "probability":
        return scores
    return [math.nan] * len(scores) if kind == "margin" else [sigmoid(each) for each in scores]


def on_grid(probabilities: Floats) -> Floats:
    """Round probabilities to the grid on which they are measured."""
    return np.rint(probabilities * GRID) / GRID


def sigmoid(logit: float) -> float:
    """Return log odds as a probability."""
    if logit >= 0.0:
        return 1.0 / (1.0 + math.exp(-logit))
    odds = math.exp(logit)
    return odds / (1.0 + odds)
