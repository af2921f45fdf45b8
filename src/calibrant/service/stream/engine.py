"""The engine of a stream: a state machine that a log drives, and nothing else does.

It knows no store, no clock and no HTTP. The same batches in the same order give the same state and
the same answers, bit for bit: so the state after a restart is that of a replay of the log.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from calibrant import Episode, Monitor
from calibrant._checks import Floats
from calibrant._kernels.rounds.book import ANSWERS, Book
from calibrant._kernels.rounds.round import Round
from calibrant._kernels.rounds.settled import Steps
from calibrant.measures import Scorecard
from calibrant.rounds import Settled
from calibrant.service.problems import bad_value
from calibrant.service.stream.definition import Definition
from calibrant.service.stream.history import History
from calibrant.service.stream.key_watch import KeyChange
from calibrant.service.stream.keys import Key
from calibrant.service.stream.learners import ByKey, Learner, fresh_learner, saved_learner
from calibrant.service.stream.tallies import Tallies

#: What becomes of an outcome, by the number that a book answers with.
NAMES: list[str] = ANSWERS.tolist()
APPLIED = NAMES.index("applied")
#: Raw and smooth probabilities are measured on a grid, so that scorecards do not grow with rows.
GRID = 4096.0


class Predicted(NamedTuple):
    """The predictions of a batch; `deadline` is None where there is none."""

    deadline: list[float | None]
    probability: list[float]
    smooth: list[float]


class EpisodeChange(NamedTuple):
    """An episode that began or ended, of the raw or of the calibrated probabilities."""

    of: str
    is_over: bool
    episode: Episode


class Engine:
    """The state of one stream.

    Examples
    --------
    >>> engine = Engine(Definition())
    >>> predicted = engine.predict(["a", "b"], [0.2, 0.9], at=[0.0, 0.0])
    >>> engine.learn(["b", "c"], [1.0, 0.0], at=[60.0, 60.0])
    ['applied', 'unknown']
    >>> engine.book.ids
    ['a']
    >>> again = Engine.from_bytes(engine.to_bytes(), Definition())
    >>> again.to_bytes() == engine.to_bytes()
    True
    """

    def __init__(self, definition: Definition, learner: Learner | None = None) -> None:
        self.definition = definition
        self.learner = fresh_learner(definition) if learner is None else learner
        #: What waits, and the clock: nothing else decides what is due.
        self.book: Book = self.learner.book
        self.monitor = definition.monitor()
        self.raw_monitor: Monitor | None = None
        self.card, self.smooth_card = Scorecard(), Scorecard()
        self.raw_card: Scorecard | None = None
        if definition.kind != "margin":  # a margin is no probability to be watched
            self.raw_monitor, self.raw_card = definition.monitor(), Scorecard()
        self.tallies, self.history = Tallies(), History()
        #: Rounds that the monitors have not seen yet, and how many were settled before them.
        self._opened: list[tuple[int, list[Round]]] = []
        #: How many waited after each row that was settled and is not measured yet.
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
        book, timed = self.book, self.definition.is_timed
        before, latest = len(book.settled), max(at)
        ends = None if due is None else self._own_deadlines(at, due)
        rounds = self.learner.open(ids, scores, by, keys, list(at) if timed else None, ends)
        # What is due by a time is settled before the prediction; by a count of predictions, after.
        self._opened.append((len(book.settled) if timed else before, rounds))
        for each, made in zip(rounds, at, strict=True):
            each.at = made  # what the row says; a book counts on from the latest, or predictions
        self.tallies.predicted(scores, by, latest)
        if not timed:
            for _, each in book.settled[before:]:
                each.arrived = latest  # when there were so many predictions
        if len(book.settled) > before:
            self._note_settled(before)
        return Predicted(
            [None if math.isnan(each.due) else each.due for each in rounds],
            [each.prediction for each in rounds],
            [each.smooth for each in rounds],
        )

    def _own_deadlines(self, at: Sequence[float], due: Sequence[float | None]) -> list[float]:
        """Return a deadline for each row, where some have one of their own."""
        wait = self.definition.wait
        return [
            made + wait if end is None else end  # type: ignore[operator]
            for made, end in zip(at, due, strict=True)
        ]

    def learn(self, ids: list[str], outcomes: list[float], at: Sequence[float]) -> list[str]:
        """Take outcomes that came together; return what becomes of each.

        Where deadlines are times, rows are taken in order of time. Only those that are applied
        change anything: of the others no time passes, and the log need not have them.
        """
        book, timed = self.book, self.definition.is_timed
        before = len(book.settled)
        rounds: list[Any] = [book.known.get(id_) for id_ in ids]
        if len(ids) == 1:  # three times as fast as a batch of one
            time = at[0] if timed else math.nan
            answers = [book.observe_one(ids[0], outcomes[0], time, APPLIED)]
        else:
            times = np.array(at) if timed else None
            answers = book.observe(ids, np.array(outcomes), times, only_news=True).tolist()
        found = [NAMES[answer] for answer in answers]
        applied = [row for row, answer in enumerate(answers) if answer == APPLIED]
        if not applied:
            return found
        answered, came = [rounds[row] for row in applied], [at[row] for row in applied]
        delays = [time - each.at for each, time in zip(answered, came, strict=True)]
        self.tallies.observed(delays, max(came))
        if not timed:
            for each, time in zip(answered, came, strict=True):
                each.arrived = time
            if len(set(came)) > 1:  # learned together, and measured in order of time
                book.settled[before:] = sorted(book.settled[before:], key=arrival)
        if len(book.settled) > before:
            self._note_settled(before)
        return found

    def _note_settled(self, before: int) -> None:
        """Note of what has just been settled how many wait beside it, and look at its keys."""
        settled = self.book.settled[before:]
        self._waiting += [len(self.book)] * len(settled)
        watch = self.learner.watch
        if watch is not None:
            ids, rounds = zip(*settled, strict=True)
            rows = Settled(self.book.rule, list(ids), list(rounds), None)
            keys: list[Any] = rows.by
            watch.look(dict(zip(keys, self._times(rows).tolist(), strict=True)))

    # -- measuring what is settled --------------------------------------------------------------

    def _times(self, rows: Settled) -> Floats:
        """Return since when rows are settled."""
        return rows.when if self.definition.is_timed else rows.arrived

    def measure(self, at_least: int = 1) -> list[EpisodeChange | KeyChange]:
        """Measure what was settled since the last time; return what began or ended.

        It makes no difference how often this is called: what is measured goes in the order in
        which it was settled.
        """
        changes: list[EpisodeChange | KeyChange] = []
        if self.learner.watch is not None:
            changes += self.learner.watch.changes()
        if len(self.book.settled) >= at_least or (at_least <= 1 and self._opened):
            changes += self._measure(self.book.take_settled())
        self.tallies.changes += len(changes)
        return changes

    def _measure(self, rows: Settled) -> list[EpisodeChange]:
        times, y = self._times(rows), rows.outcome
        by: list[Any] | None = rows.by if self.tallies.groups else None
        steps = self._steps(rows, times)
        found, evidence = watch("calibrated", self.monitor, steps, steps.rows.expected)
        raw = evidence_raw = np.full(len(rows), np.nan)
        if self.raw_monitor is not None:
            more, evidence_raw = watch("raw", self.raw_monitor, steps, steps.rows.raw)
            found += more
        if not len(rows):
            return found
        self.card.extend(rows.prediction, y)
        self.smooth_card.extend(on_grid(rows.smooth), y)
        if self.raw_card is not None:
            raw = rows.raw
            self.raw_card.extend(on_grid(raw), y)
        self.history.add(
            {
                "raw": raw, "prediction": rows.prediction, "smooth": rows.smooth, "outcome": y,
                "at": times, "delay": times - rows.at,
                "waiting": np.array(self._waiting, dtype=np.float64),
                "evidence": evidence, "evidence_raw": evidence_raw,
            }
        )  # fmt: skip
        self._waiting = []
        self.tallies.measured(rows, by)
        return found

    def _steps(self, rows: Settled, times: Floats) -> Timed:
        """Return predictions and outcomes since the last time, in the order in which they came."""
        rounds: list[Round] = []
        parts: list[tuple[float, float]] = []
        settled = list(zip(rows.rounds, rows.outcome.tolist(), times.tolist(), strict=True))
        seen = 0
        for before, opened in [*self._opened, (len(settled), [])]:
            for each, outcome, time in settled[seen:before]:
                rounds.append(each)
                parts.append((outcome, time))
            for each in opened:
                rounds.append(each)
                parts.append((math.nan, each.at))
            seen = before
        self._opened = []
        outcomes, at = np.array(parts, dtype=np.float64).reshape(-1, 2).T
        steps = Steps(self.book.rule, rounds, np.ascontiguousarray(outcomes))
        return Timed(steps, at, steps.by if self.tallies.groups else None)

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
            "smooth_card": self.smooth_card, "raw_card": self.raw_card, "tallies": self.tallies,
            "history": self.history,
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
        try:
            engine = cls(definition, saved_learner(parts, definition))
            engine.monitor = Monitor.from_bytes(parts["monitor"])
            engine.card = Scorecard.from_bytes(parts["card"])
            engine.smooth_card = Scorecard.from_bytes(parts["smooth_card"])
            if engine.raw_monitor is not None:
                engine.raw_monitor = Monitor.from_bytes(parts["raw_monitor"])
                engine.raw_card = Scorecard.from_bytes(parts["raw_card"])
            engine.tallies = Tallies.from_bytes(bytes(parts["tallies"]))
            engine.history = History.from_bytes(bytes(parts["history"]))
        except (KeyError, TypeError, IndexError) as error:
            raise ValueError(f"the snapshot is inconsistent: {error}") from None
        return engine


class Timed(NamedTuple):
    """Steps of monitors, when each was, and the group of each if there are groups."""

    rows: Steps
    at: Floats
    by: list[Any] | None


def watch(
    of: str, monitor: Monitor, steps: Timed, said: Floats
) -> tuple[list[EpisodeChange], Floats]:
    """Show steps to a monitor; return what began or ended, and the evidence after each outcome."""
    before, open_before = len(monitor.episodes), monitor.state == "miscalibrated"
    rows, evidence = steps.rows, np.zeros(len(steps.rows))
    monitor.play_steps(rows.numbers, said, rows.outcome, steps.by, steps.at.tolist(), evidence)
    found: list[EpisodeChange] = []
    episodes = monitor.episodes[max(before - 1, 0) :] if before else monitor.episodes
    for at, episode in enumerate(episodes):
        is_old = before > 0 and at == 0
        if not is_old:
            # As it was at its alarm.
            begun = replace(episode, end=None, end_at=None, recovered=None, recovered_at=None)
            found.append(EpisodeChange(of, False, begun))
        if episode.end is not None and (not is_old or open_before):
            found.append(EpisodeChange(of, True, episode))
    return found, evidence[~np.isnan(rows.outcome)]


def arrival(settled: tuple[Any, Round]) -> float:
    """Return when the outcome of a round came that stands beside its id."""
    return settled[1].arrived


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
