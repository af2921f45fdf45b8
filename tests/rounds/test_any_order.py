"""Any interleaving of steps, batches, repeats, saves: what was known when decides, nothing else.

Each machine plays one class beside the plain book of `naive.rounds` and a bare rule.
"""

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from calibrant import EventForecaster, Fleet, MulticlassRecalibrator, Recalibrator
from naive.rounds import REFUSED, Book, Shards
from naive.rules import ClassRule, EventRule, FleetRule, ScoreRule, shard_of
from recalibrate.cases import last_stages
from rounds import inside

pytestmark = [
    pytest.mark.long,
    pytest.mark.filterwarnings("ignore:.* predictions are pending at the same time"),
]

CAPACITY = 6
SEED = 3
LABELS = ["x", "y", 3]
EVERY_ID = [*range(-2, 17), "1", "10", "a", "é", ""]
#: How the messages of refused outcomes and predictions begin to differ.
OUTCOME_WORDS = {"expired": "expired", "unknown": "is unknown", "conflict": "and now gets"}
PREDICTION_WORDS = {"used": "predicted already", "twice": "comes at positions", "full": "capacity"}

PLACES = st.integers(0, 47)
LATER = st.integers(-2, 6)
EVENTS, FRACTIONS = st.sampled_from([0.0, 1.0]), st.sampled_from([0.0, 0.25, 1.0])
ROW = st.runner().flatmap(lambda machine: machine.rows)
OUTCOME = st.runner().flatmap(lambda machine: machine.outcomes)
WEIGHT = st.runner().flatmap(lambda machine: machine.weights)


class Rounds(RuleBasedStateMachine):
    """A class, and the plain book of what was known when."""

    policy = {}  # noqa: RUF012
    is_timed = False
    most_rows = 9
    weights = st.none()

    def __init__(self):
        super().__init__()
        self.learner, self.book = self.make(), self.make_book()
        self.clock = self.steps = 0
        self.has_deadlines = any(name in self.policy for name in ("silence", "hold"))

    # -- what differs from class to class ------------------------------------------------------

    def make_book(self):
        return Book(self.make_rule(), capacity=CAPACITY, **self.policy)

    @property
    def books(self):
        return [self.book]

    def predict_one(self, row, **more):
        raise NotImplementedError

    def predict_rows(self, rows, **more):
        raise NotImplementedError

    def row_at(self, row, at):  # noqa: ARG002 - the time is a feature of some
        """Return what the rule is given of a row."""
        return row

    def tell(self, outcome, id_, **more):
        return self.learner.update(outcome, id=id_, **more)

    def tell_many(self, outcomes, ids, **more):
        return self.learner.update_many(outcomes, ids=ids, **more)

    def refuses(self, rows, ids, at, due):  # noqa: ARG002 - some deal out rows
        return self.book.refuses(ids, at, due)

    def bad_calls(self, time):
        """Return calls that are refused, and how the message begins to differ."""
        raise NotImplementedError

    def bad_deadlines(self, row, time):
        """Return predictions, of one row and of two, without what a deadline takes, or too much."""
        new, calls = self.new_ids(0, 2), []

        def both(match, one, many, **more):
            calls.append((match, lambda: self.predict_one(row, **one, **more)))
            calls.append((match, lambda: self.predict_rows([row] * 2, **many, **more)))

        named = {"id": new[0]}, {"ids": new}
        if not self.has_deadlines:
            both("due needs", *named, due=99, **time)
            return calls
        both("needs? (an id|ids)", {}, {}, **time)
        if self.is_timed:
            both("must be later", *named, due=time["at"], **time)
        if all(book.begun for book in self.books):
            both("all predictions|deadline", *named, **({} if self.is_timed else {"at": 1}))
        return calls

    # -- times and ids -------------------------------------------------------------------------

    def when(self, ticks):
        """Return a time, None where nothing says when it is; the clock does not run backwards."""
        at = self.clock + ticks
        self.clock = max(self.clock, at)
        return at if self.is_timed else None

    def when_told(self, ticks):
        """Return when an outcome arrives; before the first prediction there is no clock yet.

        After a batch the clock shows its last time, and deadlines have passed up to its first. An
        outcome from between the two is left out: it counts as now, or as what it says.
        """
        if not self.was_timed():
            return None
        at = self.when(ticks)
        between = any(
            each.has_deadline and at <= each.due < book.now
            for book in self.books
            for each in book.named
        )
        return self.clock if between else at

    def was_timed(self):
        return any(book.is_timed for book in self.books)

    def waiting(self):
        return [each for book in self.books for each in book.named]

    def known_id(self, place):
        """Return an id that often waits."""
        ids = [each.id for each in self.waiting()] * 2 + EVERY_ID
        return ids[place % len(ids)]

    def new_ids(self, place, size):
        """Return ids that can be used, if there are so many."""
        used = {each.id for each in self.waiting()}
        used |= {id_ for book in self.books for id_, _ in book.remembered}
        free = [id_ for id_ in EVERY_ID if id_ not in used] or EVERY_ID
        return [free[(place + each) % len(free)] for each in range(size)]

    # -- calls ---------------------------------------------------------------------------------

    def refused(self, match, call, *given, **more):
        """Check that a call is refused, and changes nothing."""
        before = self.learner.to_bytes()
        with pytest.raises(ValueError, match=match) as caught:
            call(*given, **more)
        assert self.learner.to_bytes() == before
        return caught.value

    @rule(place=PLACES, row=ROW, later=LATER, own=st.booleans(), is_new=st.booleans())
    def predict(self, place, row, later, own, is_new):
        id_ = self.new_ids(place, 1)[0] if is_new else EVERY_ID[place % len(EVERY_ID)]
        at = self.when(later)
        due = at + 3 if self.is_timed and self.has_deadlines and self.is_own(own) else None
        times = [None if each is None else [each] for each in (at, due)]
        more = {name: each for name, each in (("at", at), ("due", due)) if each is not None}
        found = self.refuses([row], [id_], *times)
        if found is not None:
            self.refused(PREDICTION_WORDS[found], self.predict_one, row, id=id_, **more)
        else:
            predicted = self.predict_one(row, id=id_, **more)
            assert [predicted] == self.book.predict([self.row_at(row, at)], [id_], *times)

    @rule(
        place=PLACES,
        rows=st.lists(st.tuples(ROW, LATER), min_size=1, max_size=9),
        own=st.booleans(),
        mess=st.integers(0, 5),
    )
    def predict_many(self, place, rows, own, mess):
        """The rows of a batch need not be in order of time."""
        del rows[self.most_rows :]
        rows, ticks = ([*column] for column in zip(*rows, strict=True))
        ids = self.new_ids(place, len(rows))
        if mess == 0:
            ids[-1] = EVERY_ID[place % len(EVERY_ID)]
        at = due = None
        if self.is_timed:
            at = [self.clock + each for each in ticks]
            self.clock = max(self.clock, *at)
            is_own = self.has_deadlines and self.is_own(own)
            due = [each + 2 + each % 3 for each in at] if is_own else None
        more = {name: each for name, each in (("at", at), ("due", due)) if each is not None}
        found = self.refuses(rows, ids, at, due)
        if found is not None:
            match = "|".join(PREDICTION_WORDS.values())  # several things may be wrong at once
            self.refused(match, self.predict_rows, rows, ids=ids, **more)
        else:
            predicted = self.predict_rows(rows, ids=ids, **more)
            assert predicted.tolist() == self.book.predict(rows, ids, at, due)

    def is_own(self, own):
        """Return whether rows have deadlines of their own."""
        return own or not {"after", "hold"} & self.policy.keys()

    @rule(place=PLACES, outcome=OUTCOME, later=LATER, weight=WEIGHT)
    def update(self, place, outcome, later, weight):
        id_, at = self.known_id(place), self.when_told(later)
        self.update_id(id_, outcome, at, weight)

    def update_id(self, id_, outcome, at=None, weight=None):
        answer = self.book.observe_one(id_, outcome, at, 1.0 if weight is None else weight)
        more = {name: each for name, each in (("at", at), ("weight", weight)) if each is not None}
        if answer in REFUSED:
            error = self.refused(OUTCOME_WORDS[answer], self.tell, outcome, id_, **more)
            assert error.answer == answer
        else:
            assert self.tell(outcome, id_, **more) == answer

    @rule(rows=st.lists(st.tuples(PLACES, OUTCOME, st.integers(0, 3), WEIGHT), max_size=10),
          later=LATER, is_one_time=st.booleans())  # fmt: skip
    def update_many(self, rows, later, is_one_time):
        """Among the rows are strangers, repeats and contradictions, in any order."""
        given = [(self.known_id(place), outcome) for place, outcome, *_ in rows]
        weights = None
        at = self.when_told(later)
        if at is not None and self.has_deadlines and not is_one_time:
            at = [self.clock + ticks for _, _, ticks, _ in rows]
            self.clock = max([self.clock, *at])
        more = {} if at is None else {"at": at}
        if any(weight is not None for *_, weight in rows):
            weights = [1.0 if weight is None else weight for *_, weight in rows]
            more["weights"] = weights
        answers = self.tell_many([y for _, y in given], [id_ for id_, _ in given], **more)
        expected = self.book.observe(given, at, weights)
        assert answers.tolist() == expected

    @precondition(lambda self: any(book.finished for book in self.books))
    @rule(place=PLACES, outcome=OUTCOME)
    def repeat(self, place, outcome):
        finished = [each for book in self.books for each in book.remembered]
        id_, before = finished[place % len(finished)]
        self.update_id(id_, before)
        self.update_id(id_, outcome)

    @precondition(lambda self: self.has_deadlines and self.was_timed())
    @rule(later=LATER)
    def advance(self, later):
        now = self.when(later)
        assert self.learner.advance(now) == self.book.advance(now)
        assert self.learner.advance(now - 5) == 0

    @rule(age=st.integers(0, 12))
    def expire(self, age):
        assert self.learner.expire(older_than=age) == self.book.expire_older_than(age)

    @precondition(lambda self: self.waiting())
    @rule(place=PLACES)
    def expire_before(self, place):
        waiting = self.waiting()
        made = waiting[place % len(waiting)].made
        time = self.clock if made is None else made
        assert self.learner.expire(before=time) == self.book.expire_before(time)

    @precondition(lambda self: sum(len(book.finished) for book in self.books) > CAPACITY)
    @rule()
    def forget_ids(self):
        assert self.learner.forget_ids() == self.book.forget_ids()

    @rule(where=st.integers(0, 7))
    def save_and_load(self, where):
        blob = self.learner.to_bytes()
        if where == 0:
            with TemporaryDirectory() as folder:
                self.learner.save(Path(folder) / "state")
                self.learner = type(self.learner).load(Path(folder) / "state")
        else:
            self.learner = type(self.learner).from_bytes(blob)
        assert self.learner.to_bytes() == blob

    @rule(which=st.integers(0, 20), later=st.integers(0, 30))
    def nonsense(self, which, later):
        """One bad row, and the whole call is refused: no time passes either."""
        time = self.clock + later if self.is_timed else None
        calls = self.bad_calls({} if time is None else {"at": time})
        match, call = calls[which % len(calls)]
        self.refused(f"{match}|{PREDICTION_WORDS['full']}", call)

    # -- without ids ---------------------------------------------------------------------------

    @precondition(lambda self: not self.has_deadlines)
    @rule(rows=st.lists(ROW, min_size=1, max_size=3))
    def predict_and_forget(self, rows):
        """Without ids nothing waits."""
        assert self.predict_rows(rows).tolist() == self.book.pass_by(rows)

    # -- what must agree -----------------------------------------------------------------------

    @invariant()
    def the_book_agrees(self):
        ours, books = self.learner, self.books
        assert ours.rounds == sum(book.begun for book in books)
        assert ours.learned == sum(book.rule.learned for book in books)
        assert ours.pending == sum(book.pending for book in books)
        assert ours.expired == sum(book.expired for book in books)
        for mine, book in zip(inside.books_of(ours), books, strict=True):
            assert mine.waiting == [each.id for each in book.named]
            assert mine.finished == book.remembered
            assert mine.expired == book.gone
        over = [each for book in books for each in book.take_settled()]
        mine = inside.settled(ours)
        assert mine == [
            (each.id, each.number, each.made if self.is_timed else None, each.due, each.arrived,
             each.when, each.outcome, each.is_silence)
            for each in over
        ]  # fmt: skip
        self.steps += 1
        if self.steps % 5 == 0:  # what was learned wrongly stays wrong
            self.what_was_learned_agrees()

    def what_was_learned_agrees(self):
        for states, book in zip(inside.states_of(self.learner), self.books, strict=True):
            inside.check_same_states(states, book.rule.states())
        assert {*self.counted()} <= {self.learner.learned}

    def counted(self):
        """Return how many outcomes grids were charged with, one number a set of grids."""
        return []

    def teardown(self):
        self.what_was_learned_agrees()


def charged(grids):
    return sum(grid._get_state()["n"].sum() for grid in grids)


class Unnamed(Rounds):
    """A class that lets one round without an id wait."""

    @precondition(lambda self: not self.has_deadlines)
    @rule(row=ROW)
    def predict_unnamed(self, row):
        assert self.predict_one(row) == self.book.predict_unnamed(row)

    @precondition(lambda self: not self.has_deadlines)
    @rule(outcome=OUTCOME, weight=WEIGHT)
    def update_unnamed(self, outcome, weight):
        more = {} if weight is None else {"weight": weight}
        if self.book.unnamed is None:
            self.refused("none is pending", self.tell, outcome, None, **more)
        else:
            self.tell(outcome, None, **more)
            self.book.observe_unnamed(outcome, 1.0 if weight is None else weight)


# -- scores of one event, alone and in groups ---------------------------------------------------


class Scores(Unnamed):
    rows = st.tuples(
        st.one_of(st.sampled_from([0.05, 0.3, 0.5, 0.8]), st.floats(0, 1)),
        st.sampled_from([None, None, "a", 1]),
    )

    @property
    def outcomes(self):
        return EVENTS if "silence" in self.policy else FRACTIONS

    def counted(self):
        return [charged([self.learner._whole, *last_stages(self.learner._groups)])]

    def make(self):
        return Recalibrator(seed=SEED, capacity=CAPACITY, **self.policy)

    def make_rule(self):
        return ScoreRule(SEED, self.policy.get("silence"))

    def predict_one(self, row, **more):
        return self.learner.predict(row[0], by=row[1], **more)

    def predict_rows(self, rows, **more):
        by = [group for _, group in rows]
        groups = by if any(group is not None for group in by) else None
        return self.learner.predict_many([score for score, _ in rows], by=groups, **more)

    def bad_calls(self, time):
        learner, new = self.learner, self.new_ids(0, 2)
        told = time if self.was_timed() else {}
        calls = [
            ("must be in", lambda: learner.update_many([0.0, 2.0], ids=new, **told)),
            ("must be a string", lambda: learner.update_many([0, 1], ids=[new[0], 1.5], **told)),
            ("same length", lambda: learner.update_many([0.0], ids=new, **told)),
            ("must be in", lambda: learner.update(1.5, id=new[0], **told)),
            ("must each be", lambda: learner.predict_many([0.5, 1.5], ids=new, **time)),
            ("must be a string", lambda: learner.predict_many([0.5], ids=[None], **time)),
            ("same length", lambda: learner.predict_many([0.5], ids=new, **time)),
            ("score", lambda: learner.predict(1.5, id=new[0], **time)),
            ("by must be", lambda: learner.predict(0.5, id=new[0], by=1.5, **time)),
        ]
        both = {"ids": new, **time}
        calls.append(("by must be", lambda: learner.predict_many([0.5] * 2, by=["g", 1.5], **both)))
        if "silence" in self.policy:
            calls += [
                ("0 or 1", lambda: learner.update_many([0.5], ids=[self.known_id(0)], **told)),
                ("0 or 1", lambda: learner.update(0.5, id=self.known_id(0), **told)),
            ]
        return calls + self.bad_deadlines((0.5, None), time)


# -- several classes ----------------------------------------------------------------------------


class Classes(Unnamed):
    rows = st.sampled_from(
        [[0.8, 0.15, 0.05], [0.2, 0.5, 0.3], [0.1, 0.1, 0.8], [1.0, 0.0, 0.0], [0.25, 0.25, 0.5]]
    )
    outcomes = st.integers(0, 2)

    def make(self):
        silence = self.policy.get("silence")
        policy = self.policy | ({} if silence is None else {"silence": LABELS[silence]})
        return MulticlassRecalibrator(LABELS, seed=SEED, capacity=CAPACITY, **policy)

    def make_rule(self):
        return ClassRule(3, SEED, self.policy.get("silence"))

    def predict_one(self, row, **more):
        return self.learner.predict(row, **more).tolist()

    def predict_rows(self, rows, **more):
        return self.learner.predict_many(rows, **more)

    def tell(self, outcome, id_, **more):
        return super().tell(LABELS[int(outcome)], id_, **more)

    def tell_many(self, outcomes, ids, **more):
        return super().tell_many([LABELS[int(each)] for each in outcomes], ids, **more)

    def counted(self):
        return [charged([self.learner._rule.whole.safe])]

    def bad_calls(self, time):
        learner, new, row = self.learner, self.new_ids(0, 2), [0.2, 0.5, 0.3]
        told = time if self.was_timed() else {}
        calls = [
            ("must be one of", lambda: learner.update_many(["x", 0], ids=new, **told)),
            ("must be a string", lambda: learner.update_many(["x"] * 2, ids=[new[0], 1.5], **told)),
            ("same length", lambda: learner.update_many(["x"], ids=new, **told)),
            ("must be one of", lambda: learner.update("no", id=new[0], **told)),
            ("must sum to", lambda: learner.predict_many([row, [0, 0, 0]], ids=new, **time)),
            ("must be a string", lambda: learner.predict_many([row], ids=[None], **time)),
            ("same length", lambda: learner.predict_many([row], ids=new, **time)),
            ("one row", lambda: learner.predict([row], id=new[0], **time)),
        ]
        return calls + self.bad_deadlines(row, time)


# -- a fleet ------------------------------------------------------------------------------------


class Keys(Rounds):
    shards = 1
    rows = st.tuples(st.sampled_from("abcde"), st.sampled_from([0.05, 0.3, 0.8]))
    outcomes = Scores.outcomes

    def make(self):
        return Fleet(SEED, shards=self.shards, capacity=CAPACITY, **self.policy)

    def make_book(self):
        books = [
            Book(FleetRule(SEED), capacity=CAPACITY, **self.policy) for _ in range(self.shards)
        ]
        return Shards(books, lambda row: shard_of(row[0], self.shards))

    @property
    def books(self):
        return self.book.books

    def refuses(self, rows, ids, at, due):
        return self.book.refuses(rows, ids, at, due)

    def predict_one(self, row, **more):
        return self.learner.predict(*row, **more)

    def predict_rows(self, rows, **more):
        keys, scores = ([*column] for column in zip(*rows, strict=True))
        return self.learner.predict_many(keys, scores, **more)

    def bad_calls(self, time):
        learner, new = self.learner, self.new_ids(0, 2)
        told = time if self.was_timed() else {}
        keys, both = ["a", "b"], {"ids": new, **time}
        calls = [
            ("must be in", lambda: learner.update_many([0.0, 2.0], ids=new, **told)),
            ("must be a string", lambda: learner.update_many([0, 1], ids=[new[0], 1.5], **told)),
            ("same length", lambda: learner.update_many([0.0], ids=new, **told)),
            ("must each be", lambda: learner.predict_many(keys, [0.5, 1.5], **both)),
            ("same length", lambda: learner.predict_many(["a"], [0.5], **both)),
            ("keys", lambda: learner.predict_many(["a", 1], [0.5, 0.5], **both)),
            ("at positions", lambda: learner.predict_many(["a"] * 2, ids=[new[0]] * 2, **time)),
        ]
        if len(self.learner):
            calls.append(("are strings", lambda: learner.predict_many([1, 2], **both)))
        if "silence" in self.policy:
            calls.append(("0 or 1", lambda: learner.update(0.5, id=self.known_id(0), **told)))
        return calls + self.bad_deadlines(("a", 0.5), time)


# -- events without scores ----------------------------------------------------------------------


class Events(Rounds):
    """Without an id, a prediction begins no round: it is the same until `update`."""

    ahead = 1
    rows = st.none()
    outcomes = FRACTIONS
    predict_many = predict_and_forget = None  # one round after the other

    def make(self):
        return EventForecaster(SEED, ahead=self.ahead, capacity=CAPACITY, **self.policy)

    def make_rule(self):
        return EventRule(SEED, self.ahead)

    def when(self, ticks):
        return super().when(abs(ticks))

    def when_told(self, ticks):
        self.when(ticks)

    def refuses(self, rows, ids, at, due):  # noqa: ARG002
        return self.book.refuses(ids)

    def row_at(self, row, at):  # noqa: ARG002
        return at

    def predict_one(self, row, *, id, at=None):  # noqa: A002, ARG002
        return self.learner.predict(id=id, at=at)

    @rule(later=LATER)
    def look(self, later):
        at = self.when(later)
        assert self.learner.predict(at=at) == self.book.rule.kernel.predict(at=at)

    @rule(outcome=OUTCOME)
    def play(self, outcome):
        self.learner.update(outcome)
        self.book.rule.kernel.update(outcome)
        self.book.begun += 1

    def bad_calls(self, time):
        learner, new = self.learner, self.new_ids(0, 2)
        at = {"at": time.get("at")}
        calls = [
            ("must be in", lambda: learner.update_many([0.0, 2.0], ids=new)),
            ("must be a string", lambda: learner.update_many([0, 1], ids=[new[0], 1.5])),
            ("same length", lambda: learner.update_many([0.0], ids=new)),
            ("must be in", lambda: learner.update(1.5, id=new[0])),
            ("must be in", lambda: learner.update(1.5)),
            ("must be a string", lambda: learner.predict(id=1.5, **at)),
        ]
        if self.is_timed and any(each.at is not None for each in self.waiting()):
            calls.append(("must not be before", lambda: learner.predict(id=new[0], at=-1)))
        return calls


# -- the tests ----------------------------------------------------------------------------------

WEIGHTS = st.sampled_from([None, 0, 0.25, 1, 3.0, 40.0])
SILENCE = {"policy": {"silence": 0, "after": 10}, "is_timed": True}
HOLD = {"policy": {"hold": 5}, "is_timed": True}
SILENT_CLASS = {"policy": {"silence": 1, "after": 10}, "is_timed": True}
HELD_KEYS = {"shards": 3, **HOLD}
REFUSE = {"when_full": "refuse"}
#: The machine of each test, how many examples it plays, and what differs.
MACHINES = {
    "Scores": (Scores, 12, {}),
    "ScoresInTime": (Scores, 8, {"is_timed": True}),
    "Silence": (Scores, 15, SILENCE),
    "SilenceInPredictions": (Scores, 10, {"policy": {"silence": 1, "after": 4}}),
    "Hold": (Scores, 15, HOLD),
    "HoldInPredictions": (Scores, 10, {"policy": {"hold": 4}}),
    "OwnDeadlines": (Scores, 12, {"policy": {"silence": 1}, "is_timed": True}),
    "Refusing": (Scores, 8, {"policy": REFUSE}),
    "RefusingInTime": (
        Scores, 8, {"policy": {"silence": 0, "after": 8, **REFUSE}, "is_timed": True}
    ),
    "RefusingInPredictions": (Scores, 8, {"policy": {"hold": 4, **REFUSE}}),
    "Classes": (Classes, 8, {}),
    "SilentClass": (Classes, 8, SILENT_CLASS),
    "SilentClassInPredictions": (Classes, 8, {"policy": {"silence": 0, "after": 4}}),
    "HeldLabels": (Classes, 8, HOLD),
    "RefusingSilentClass": (
        Classes, 8, {"policy": {"silence": 2, "after": 8, **REFUSE}, "is_timed": True}
    ),
    "Keys": (Keys, 8, {}),
    "KeysInShards": (Keys, 8, {"shards": 3, "is_timed": True}),
    "SilentKeys": (Keys, 8, SILENCE),
    "SilentKeysInShards": (Keys, 8, {"shards": 3, "policy": {"silence": 1, "after": 4}}),
    "HeldKeysInShards": (Keys, 8, HELD_KEYS),
    "Events": (Events, 8, {}),
    "TimedEvents": (Events, 8, {"is_timed": True}),
    "EventsAhead": (Events, 8, {"ahead": 3, "policy": REFUSE}),
    "WeightedScores": (Scores, 10, {"weights": WEIGHTS}),
    "WeightedSilence": (Scores, 10, {"weights": WEIGHTS, **SILENCE}),
    "WeightedHold": (Scores, 8, {"weights": WEIGHTS, **HOLD}),
    "WeightedClasses": (Classes, 8, {"weights": WEIGHTS}),
    "WeightedSilentClass": (Classes, 8, {"weights": WEIGHTS, **SILENT_CLASS}),
    "WeightedKeys": (Keys, 8, {"weights": WEIGHTS, **HELD_KEYS}),
}  # fmt: skip
for name, (machine, examples, own) in MACHINES.items():
    test = type(name, (machine,), own).TestCase
    test.settings = settings(
        derandomize=True, max_examples=examples, stateful_step_count=40, deadline=None
    )
    globals()[f"Test{name}"] = test
del test  # which would be collected once more
