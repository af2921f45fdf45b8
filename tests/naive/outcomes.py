"""What is known when: a plain book of predictions, outcomes and deadlines beside bare kernels.

The kernels do the arithmetic of a round; which prediction an id stands for, what becomes of an
outcome, when it is learned and beside which others is decided here, from lists that are searched
from one end to the other.
"""

import math
from dataclasses import dataclass

import numpy as np

from calibrant._kernels.pending import PendingKernel
from calibrant._kernels.recalibrate import RecalibrateKernel
from calibrant.recalibrate.groups import Groups
from naive.draws import scramble


@dataclass
class Row:
    """A prediction, from when it is made until it is learned, expires, or is forgotten."""

    id: object
    number: int
    batch: int
    made: float | None
    prediction: object
    due: float = math.inf
    said: float | None = None  # the outcome that was announced before the deadline
    awaited: object = None
    has_deadline: bool = False

    @property
    def whole(self):
        return self.prediction.rounds[0] if hasattr(self.prediction, "rounds") else self.prediction


class NaiveOutcomes:
    """The book of a recalibrator; `after` counts predictions, or time if they say when they are."""

    def __init__(self, *, seed, capacity, silence=None, after=None, hold=None):
        self.kernel, self.groups = RecalibrateKernel("probability", seed), Groups(1000, seed)
        self.capacity, self.silence = capacity, silence
        self.span = after if hold is None else hold
        self.pending = None if silence is None else PendingKernel(silence)
        self.kernel._attend(self.pending)
        self.waiting, self.finished, self.gone = [], [], []  # rows; (id, outcome); ids
        self.expired, self.now, self.is_timed = 0, -math.inf, False

    # -- what an id stands for -----------------------------------------------------------------

    def find(self, id_):
        return next((row for row in self.waiting if row.id == id_), None)

    def outcome_of(self, id_):
        return next((y for name, y in self.finished[-self.capacity :] if name == id_), None)

    def refuses(self, ids):
        """Return whether new predictions cannot have these ids."""
        taken = any(self.find(each) or self.outcome_of(each) is not None for each in ids)
        return taken or len(set(ids)) < len(ids)

    def give_up(self, row):
        self.waiting.remove(row)
        self.gone = [*self.gone, row.id][-self.capacity :]
        self.expired += 1
        if row.awaited is not None:
            self.pending.drop(row.awaited)

    def expire(self, is_old):
        old = [row for row in self.waiting if is_old(row)]
        for row in old:
            self.give_up(row)
        return [row.id for row in old]

    # -- predictions ---------------------------------------------------------------------------

    def predict(self, scores, ids, by, at=None, due=None):
        """Predict rows that come together; `at` and `due` give a time for each, if any."""
        first = self.kernel.rounds
        self.is_timed = at is not None
        if self.span is not None:
            made = [first + row for row in range(len(ids))] if at is None else at
            # Time does not run backwards.
            made = [max(self.now, *made[: row + 1]) for row in range(len(ids))]
            waits = [self.span if due is None else due[row] - at[row] for row in range(len(ids))]
            ends = [each + wait for each, wait in zip(made, waits, strict=True)]
            if self.is_timed:
                self.pass_to(made[0], is_over=lambda due, now: due < now)
        if any(each is not None for each in by):
            predictions = self.groups.begin_many(self.kernel, scores, by)
        else:
            predictions = self.kernel._begin_many(scores)[1]
        rows = [
            Row(id_, first + place, first, None if at is None else at[place], predictions[place])
            for place, id_ in enumerate(ids)
        ]
        for row in rows:
            self.gone = [name for name in self.gone if name != row.id]
            self.waiting.append(row)
            if len(self.waiting) > self.capacity:
                self.give_up(self.waiting[0])
        if self.span is not None:
            for place, row in enumerate(rows):
                if row in self.waiting:
                    self.start_waiting(row, made[place], ends[place])
            if not self.is_timed:
                self.pass_to(self.kernel.rounds, is_over=lambda due, now: due <= now)
            self.kernel._refit(self.now)
        return [each.prediction for each in predictions]

    def start_waiting(self, row, made, due):
        row.due, row.has_deadline = due, True
        self.now = max(self.now, made)
        if self.pending is not None:
            mean = self.kernel._waiting_mean(row.whole)
            row.awaited = self.pending.open(row.whole.probability, mean, self.now, due)

    # -- outcomes ------------------------------------------------------------------------------

    def hear(self, given, at=None):
        """Take in rows of (id, outcome) that came together; return what becomes of each."""
        if at is not None:
            self.pass_to(at, is_over=lambda due, now: due < now)
        answers, learned = [], []
        for id_, outcome in given:
            row, before = self.find(id_), self.outcome_of(id_)
            claims = {y for other, y in given if other == id_}
            if row is None and before is None:
                answers.append("expired" if id_ in self.gone else "unknown")
            elif row is None:
                answers.append("repeated" if before == outcome else "conflict")
            elif row.said is not None:
                answers.append("repeated" if row.said == outcome else "conflict")
            elif len(claims) > 1:
                answers.append("conflict")
            elif row in [other for other, _ in learned]:
                answers.append("repeated")
            else:
                answers.append("applied")
                learned.append((row, outcome))
        noted = [each for each in learned if each[0].has_deadline]
        for row, outcome in sorted(noted, key=lambda each: each[0].number):
            row.said = outcome
            if self.pending is not None and outcome == 1 - self.silence:
                self.pending.come(row.awaited, self.now)
        self.learn([each for each in learned if not each[0].has_deadline])
        return answers

    def pass_to(self, now, is_over):
        """Let time pass, and learn what its deadline decides."""
        self.now = max(self.now, now)
        over = [row for row in self.waiting if row.has_deadline and is_over(row.due, now)]
        learned = []
        for row in sorted(over, key=lambda row: (row.due, row.number)):
            row.has_deadline = False
            if self.pending is not None:
                self.pending.mature(row.awaited)
            outcome = self.silence if row.said is None else row.said
            if outcome is not None:
                learned.append((row, float(outcome)))
        self.learn(learned, by_due=True)

    def learn(self, rows, *, by_due=False):
        """Learn outcomes together: first what was due and predicted first, then as drawn."""
        if not rows:
            return
        learning = sorted(
            rows,
            key=lambda each: (
                each[0].due if by_due else 0,
                each[0].batch,
                scramble(each[0].number + 1),
            ),
        )
        predictions = [row.prediction for row, _ in learning]
        outcomes = np.array([outcome for _, outcome in learning])
        if self.groups.names:
            self.groups.finish_many(self.kernel, predictions, outcomes)
        else:
            self.kernel._finish_many(predictions, outcomes)
        # Ids are forgotten in the order in which they were predicted, or were due.
        order = learning if by_due else sorted(rows, key=lambda each: each[0].number)
        for row, outcome in order:
            row.awaited = None
            self.waiting.remove(row)
            self.finished.append((row.id, outcome))
