"""A plain book of predictions, outcomes and deadlines, for any rule.

The rule predicts and learns. The book determines which prediction an id stands for, the answer to
an outcome, when it is learned and together with which others, from lists that are searched from one
end to the other.

A rule has

- ``begin(rows)``, which predicts rows from the current state and returns a token for each, with its
  `prediction`, its `expected` prediction and its `raw` score;
- ``learn(tokens, outcomes)``, which learns outcomes in one step and in this order;
- ``drop(tokens)``: these expired, and nothing is learned from them;
- ``weigh(token, weight)``: the weight of its outcome, 1 by default;
- for its model of silence, ``wait(token, made, due)``, ``observed(token, outcome, now)``,
  ``mature(token)`` and ``refit(now)``; a rule without one does nothing there.
"""

import math
from copy import copy
from dataclasses import dataclass, replace
from itertools import groupby
from typing import NamedTuple

from naive.draws import scramble

#: What a call with one outcome raises instead of returning it.
REFUSED = ("conflict", "unknown", "expired")


@dataclass(eq=False)
class Round:
    """A prediction, from when it is made until its outcome is learned, or it is dropped."""

    id: object
    number: int
    batch: int
    token: object
    at: float | None  # as given
    made: float | None  # as it counts: time does not run backwards
    due: float | None = None
    has_deadline: bool = False  # which is still to come
    outcome: float | None = None  # announced, and not learned yet
    arrived: float | None = None  # when it was announced
    weight: float = 1.0  # of its outcome: as given, and beside the others' once it is known


class Settled(NamedTuple):
    """A round that is over, or at the end of a table one that is still open."""

    id: object
    number: int
    made: float | None
    due: float | None
    arrived: float | None
    when: float | None
    outcome: float
    raw: object
    prediction: object
    expected: object
    is_silence: bool
    is_open: bool = False


class NoRule:
    """A rule to try things with: it predicts nothing and learns nothing."""

    def begin(self, rows):
        return [None] * len(rows)

    def learn(self, tokens, outcomes):
        pass

    def drop(self, tokens):
        pass

    def weigh(self, token, weight):
        pass

    def wait(self, token, made, due):
        pass

    def observed(self, token, outcome, now):
        pass

    def mature(self, token):
        pass

    def refit(self, now):
        pass


class Book:
    """The rounds of one rule.

    With `silence`, no news until the deadline means this outcome; with `hold`, every outcome is
    learned at this age, or when it comes if that is later; with neither, when it comes. Spans count
    predictions, or time if predictions say when they are made.
    """

    def __init__(
        self,
        rule,
        *,
        capacity=100_000,
        silence=None,
        after=None,
        hold=None,
        when_full="expire",
        patience=math.inf,
    ):
        self.rule, self.capacity, self.silence = rule, capacity, silence
        self.span = after if hold is None else hold
        self.has_deadlines = silence is not None or hold is not None
        self.when_full, self.patience = when_full, patience
        self.begun, self.expired, self.now, self.is_timed = 0, 0, -math.inf, None
        self.waiting, self.finished, self.gone = [], [], []  # rounds; (id, outcome); ids
        self.unnamed = None
        self.weights = None  # of all outcomes known, once one had a weight
        self.coming = []  # of a table: (when it becomes known, round, outcome)
        self.settled = []

    def tried(self):
        """Return a copy to try things with, without the rule."""
        book = copy(self)
        book.rule = NoRule()
        book.waiting = [replace(each) for each in self.waiting]
        rounds = dict(zip(self.waiting, book.waiting, strict=True))
        book.coming = [(known, rounds[each], outcome) for known, each, outcome in self.coming]
        book.finished, book.gone, book.settled = self.finished[:], self.gone[:], None
        book.weights = []  # no answer depends on them
        return book

    # -- what an id stands for -----------------------------------------------------------------

    @property
    def named(self):
        return [each for each in self.waiting if each.id is not None]

    @property
    def pending(self):
        return len(self.named) + (self.unnamed is not None)

    @property
    def remembered(self):
        return self.finished[-self.capacity :]

    def find(self, id_):
        return next((each for each in self.named if each.id == id_), None)

    def outcome_of(self, id_):
        return next((outcome for name, outcome in self.remembered if name == id_), None)

    def knows(self, id_):
        return bool(self.find(id_)) or self.outcome_of(id_) is not None or id_ in self.gone

    # -- predictions ---------------------------------------------------------------------------

    def refuses(self, ids, at=None, due=None):
        """Return why rows cannot be predicted: "used", "twice" or "full"; None if they can."""
        if len(set(ids)) < len(ids):
            return "twice"
        if any(self.find(each) or self.outcome_of(each) is not None for each in ids):
            return "used"
        if self.when_full == "refuse":
            later = self.tried()
            if at is not None:
                later.pass_to(self.times(len(ids), at, due)[0][0])
            if len(later.named) + len(ids) > self.capacity:
                return "full"
        return None

    def times(self, size, at, due):
        """Return when so many rows are made, and their deadlines."""
        if at is None:
            made = [self.begun + row for row in range(size)]
        else:
            made = [max(self.now, *at[: row + 1]) for row in range(size)]
        if not self.has_deadlines:
            return made if at else [None] * size, [None] * size
        waits = [self.span if due is None else due[row] - at[row] for row in range(size)]
        return made, [each + wait for each, wait in zip(made, waits, strict=True)]

    def predict(self, rows, ids, at=None, due=None):
        """Predict rows that arrive together; `at` and `due` give a time for each, if any.

        An id of None is that of a table's row, which waits until its deadline.
        """
        made, ends = self.times(len(rows), at, due)
        self.is_timed = at is not None
        if self.is_timed:
            self.pass_to(made[0])
        batch, tokens = self.begun, self.rule.begin(rows)
        self.begun += len(rows)
        opened = [
            Round(id_, batch + row, batch, tokens[row], at and at[row], made[row], ends[row])
            for row, id_ in enumerate(ids)
        ]
        for each in opened:
            self.gone = [name for name in self.gone if name != each.id]
            self.waiting.append(each)
            if len(self.named) > self.capacity:
                self.give_up(self.named[0])
        for each in opened:
            if self.is_timed:
                self.now = max(self.now, each.made)
            if self.has_deadlines and each in self.waiting:
                each.has_deadline = True
                self.rule.wait(each.token, each.made, each.due)
        if self.has_deadlines:
            if not self.is_timed:
                self.settle(self.begun, is_over=lambda due, now: due <= now)
            self.rule.refit(self.now)
        return [getattr(each, "prediction", None) for each in tokens]

    def pass_by(self, rows):
        """Predict rows whose outcomes nobody will bring."""
        self.begun += len(rows)
        tokens = self.rule.begin(rows)
        self.rule.drop(tokens)
        return [each.prediction for each in tokens]

    def predict_unnamed(self, row):
        """Predict a row without an id, and give up the last such one that still waits."""
        if self.unnamed is not None:
            self.rule.drop([self.unnamed.token])
        (token,) = self.rule.begin([row])
        self.unnamed = Round(None, self.begun, self.begun, token, None, None)
        self.begun += 1
        return token.prediction

    def observe_unnamed(self, outcome, weight=1.0):
        """Learn the outcome of the round without an id."""
        self.unnamed.outcome, self.unnamed.weight = outcome, weight
        self.weigh(self.unnamed)
        self.learn([self.unnamed])
        self.unnamed = None

    # -- outcomes ------------------------------------------------------------------------------

    # -- weights -------------------------------------------------------------------------------

    def weigh(self, round_):
        """Divide the weight of an outcome that is known now by the mean of all so far; cut it at 5.

        One that was not given is 1, and those of outcomes that teach nothing do not count.
        """
        if round_.weight == 1 and self.weights is None:
            return
        if round_.weight > 0:
            if self.weights is None:
                self.start_weighing()
            self.weights.append(round_.weight)
            mean_of = len(self.weights)
            round_.weight = min(5.0, round_.weight * mean_of / left_to_right(self.weights))
        self.rule.weigh(round_.token, round_.weight)

    def start_weighing(self):
        """Count weights from now on: 1 for each outcome that was learned before."""
        if self.weights is None:
            self.weights = [1.0] * self.rule.learned

    def observe(self, given, at=None, weights=None):
        """Take in rows of (id, outcome); return what becomes of each.

        `at` is when they came, or a list of times, one per row: rows are then taken in by time, and
        those of one time together.
        """
        if not isinstance(at, list):
            return self.observe_together(given, at, weights)
        answers = [None] * len(given)
        when = [max(self.now, each) for each in at]
        order = sorted(range(len(given)), key=when.__getitem__)
        for time, rows in groupby(order, key=when.__getitem__):
            together = list(rows)
            heavy = None if weights is None else [weights[row] for row in together]
            found = self.observe_together([given[row] for row in together], time, heavy)
            for row, answer in zip(together, found, strict=True):
                answers[row] = answer
        return answers

    def observe_one(self, id_, outcome, at=None, weight=1.0):
        """Take in one outcome; nothing changes and no time passes if the answer is a refusal."""
        (answer,) = self.tried().observe([(id_, outcome)], at)
        return answer if answer in REFUSED else self.observe([(id_, outcome)], at, [weight])[0]

    def observe_together(self, given, at, weights):
        if at is not None:
            self.pass_to(max(self.now, at))
        answers, applied = [], []
        heavy = [1.0] * len(given) if weights is None else weights
        for (id_, outcome), weight in zip(given, heavy, strict=True):
            waits, before = self.find(id_), self.outcome_of(id_)
            if waits is not None:
                before = waits.outcome
            if waits is None and before is None:
                answers.append("expired" if id_ in self.gone else "unknown")
            elif before is not None:
                answers.append("repeated" if before == outcome else "conflict")
            elif waits.made is not None and self.now - waits.made > self.patience:
                answers.append("expired")
            elif len({y for other, y in given if other == id_}) > 1:
                answers.append("conflict")
            elif waits in [each for each, _ in applied]:
                answers.append("repeated")
            else:
                answers.append("applied")
                waits.weight = weight
                applied.append((waits, outcome))
        if weights is not None and len(given) > 1 and applied:
            self.start_weighing()
        self.note(applied)
        return answers

    def note(self, applied):
        """Keep outcomes for the deadlines of their rounds, and learn at once where these passed."""
        for each, outcome in sorted(applied, key=lambda each: each[0].number):
            each.outcome = outcome
            each.arrived = self.now if math.isfinite(self.now) else None
            if each.has_deadline:
                self.weigh(each)
            if each.has_deadline and outcome != self.silence:
                self.rule.observed(each.token, outcome, self.now)
        at_once = [each for each, _ in applied if not each.has_deadline]
        in_order = sorted(at_once, key=lambda each: (each.batch, scramble(each.number + 1)))
        for each in in_order:
            self.weigh(each)
        self.learn(in_order)
        # Ids are forgotten in the order in which they were predicted.
        self.finish_ids(sorted(at_once, key=lambda each: each.number))

    # -- time ----------------------------------------------------------------------------------

    def pass_to(self, now):
        """Let time pass to that of a step: what is due then comes after the step."""
        self.is_timed = True
        self.hear_of_table(lambda known: known < now)
        self.settle(now, is_over=lambda due, now: due < now)

    def advance(self, now):
        """Let time pass, and learn all that is due by then; return how many outcomes that were."""
        before = self.rule.learned
        self.is_timed = True
        self.hear_of_table(lambda known: known <= now)
        self.settle(now, is_over=lambda due, now: due <= now)
        return self.rule.learned - before

    def settle(self, now, is_over):
        """Learn what deadlines decide, as one step."""
        self.now = max(self.now, now)
        over = [each for each in self.waiting if each.has_deadline and is_over(each.due, now)]
        for each in sorted(over, key=lambda each: (each.due, each.number)):
            each.has_deadline = False
            self.rule.mature(each.token)
            if each.outcome is None and self.silence is not None:
                self.weigh(each)
        decided = [each for each in over if each.outcome is not None or self.silence is not None]
        order = sorted(decided, key=lambda each: (each.due, each.batch, scramble(each.number + 1)))
        self.learn(order)
        self.finish_ids(order)

    def learn(self, rounds):
        """Learn rounds in this order, in one step."""
        if not rounds:
            return
        outcomes = [
            float(self.silence if each.outcome is None else each.outcome) for each in rounds
        ]
        self.rule.drop([each.token for each in rounds if each.weight == 0])
        teaching = [each for each in zip(rounds, outcomes, strict=True) if each[0].weight > 0]
        if teaching:
            self.rule.learn([each.token for each, _ in teaching], [y for _, y in teaching])
        if self.settled is not None:
            self.settled += [settled_of(*each) for each in zip(rounds, outcomes, strict=True)]

    def finish_ids(self, rounds):
        for each in rounds:
            self.waiting.remove(each)
            outcome = self.silence if each.outcome is None else each.outcome
            if each.id is not None:
                self.finished.append((each.id, float(outcome)))

    # -- giving up -----------------------------------------------------------------------------

    def give_up(self, round_):
        self.waiting.remove(round_)
        self.gone = [*self.gone, round_.id][-self.capacity :]
        self.expired += 1
        self.rule.drop([round_.token])

    def expire(self, is_old):
        old = [each for each in self.named if is_old(each)]
        for each in old:
            self.give_up(each)
        return [each.id for each in old]

    def expire_older_than(self, age):
        return self.expire(lambda each: each.number < self.begun - age)

    def expire_before(self, time):
        return self.expire(lambda each: each.at is not None and each.made < time)

    def forget_ids(self):
        given_up = self.expire(lambda _: True)
        self.finished, self.gone = [], []
        return len(given_up)

    # -- tables --------------------------------------------------------------------------------

    def play(self, rows, outcomes, *, at=None, known=None, due=None, ids=None, weights=None):
        """Play a table; `known` says when each outcome becomes known, None for never.

        Without `known`, an outcome is known right after its prediction. What becomes known after
        the last row is kept, with its time, for the next table.
        """
        predictions = []
        for row, outcome in enumerate(outcomes):
            times = [None if each is None else [each[row]] for each in (at, due)]
            predictions += self.predict([rows[row]], [ids and ids[row]], *times)
            opened = next((each for each in self.waiting if each.number == self.begun - 1), None)
            if outcome is None or opened is None:
                continue
            opened.weight = 1.0 if weights is None else weights[row]
            if known is None:
                self.note([(opened, outcome)])
            elif known[row] is not None:
                self.coming.append((known[row], opened, outcome))
        return predictions

    def hear_of_table(self, is_known):
        """Take in what became known of rows of tables, one time after the other."""
        while self.coming:
            time = min(known for known, _, _ in self.coming)
            if not is_known(time):
                return
            heard = [(each, outcome) for known, each, outcome in self.coming if known == time]
            self.coming = [each for each in self.coming if each[0] != time]
            self.settle(time, is_over=lambda due, now: due < now)
            self.note([each for each in heard if each[0] in self.waiting])

    def finish(self):
        """Return the rounds that are still open and whose outcome is known by their deadline."""
        known = [(each.outcome, each.arrived, each) for each in self.waiting]
        known += [(outcome, time, each) for time, each, outcome in self.coming]
        return [
            settled_of(replace(each, arrived=time), outcome)._replace(is_open=True)
            for outcome, time, each in sorted(known, key=lambda each: each[2].number)
            if outcome is not None and (each.due is None or time is None or time <= each.due)
        ]

    def take_settled(self):
        """Return what was learned since the last call, in that order."""
        taken, self.settled = self.settled, []
        return taken


def left_to_right(values):
    """Return a sum, without the care that Python's own takes for the last digits."""
    total = 0.0
    for each in values:
        total += each
    return total


def settled_of(round_, outcome):
    times = [each for each in (round_.due, round_.arrived) if each is not None]
    token = round_.token
    return Settled(
        round_.id, round_.number, round_.made, round_.due, round_.arrived, max(times, default=None),
        outcome, token.raw, token.prediction, token.expected, round_.outcome is None,
    )  # fmt: skip


class Shards:
    """Several books; each row belongs to one of them, and an id to whichever knows it."""

    def __init__(self, books, shard_of):
        self.books, self.shard_of = books, shard_of

    def deal(self, rows):
        """Return each book that has some of the rows, and where these stand."""
        shards = [self.shard_of(row) for row in rows]
        for number in sorted(set(shards)):
            yield self.books[number], [at for at, each in enumerate(shards) if each == number]

    def refuses(self, rows, ids, at=None, due=None):
        found = [book.refuses(*taken(places, ids, at, due)) for book, places in self.deal(rows)]
        return next((each for each in found if each is not None), None)

    def predict(self, rows, ids, at=None, due=None):
        return self._each(rows, lambda book, *own: book.predict(*own), rows, ids, at, due)

    def pass_by(self, rows):
        return self._each(rows, lambda book, own: book.pass_by(own), rows)

    def _each(self, rows, call, *columns):
        found = [None] * len(rows)
        for book, places in self.deal(rows):
            for place, each in zip(places, call(book, *taken(places, *columns)), strict=True):
                found[place] = each
        return found

    def observe(self, given, at=None, weights=None):
        """The first book that knows an id takes its outcome; deadlines pass in all of them."""
        answers = [None] * len(given)
        if isinstance(at, list):
            for time in sorted(set(at)):
                rows = [row for row, each in enumerate(at) if each == time]
                found = self.observe(*taken(rows, given), time, *taken(rows, weights))
                for row, answer in zip(rows, found, strict=True):
                    answers[row] = answer
            return answers
        owners = [
            next((book for book in self.books if book.knows(id_)), self.books[0])
            for id_, _ in given
        ]
        for book in self.books:
            rows = [row for row, owner in enumerate(owners) if owner is book]
            if rows or book.has_deadlines:
                found = book.observe(*taken(rows, given), at, *taken(rows, weights))
                for row, answer in zip(rows, found, strict=True):
                    answers[row] = answer
        return answers

    def observe_one(self, id_, outcome, at=None, weight=1.0):
        """Take in one outcome; nothing changes and no time passes if the answer is a refusal."""
        tried = Shards([book.tried() for book in self.books], self.shard_of)
        (answer,) = tried.observe([(id_, outcome)], at)
        return answer if answer in REFUSED else self.observe([(id_, outcome)], at, [weight])[0]

    def advance(self, now):
        return sum(book.advance(now) for book in self.books)

    def expire_older_than(self, age):
        return [id_ for book in self.books for id_ in book.expire_older_than(age)]

    def expire_before(self, time):
        return [id_ for book in self.books for id_ in book.expire_before(time)]

    def forget_ids(self):
        return sum(book.forget_ids() for book in self.books)


def taken(places, *columns):
    """Return some of the rows of columns, each None if there is none."""
    return [None if column is None else [column[place] for place in places] for column in columns]
