"""The classes that play rounds, each behind the same few steps: for tests of all of them."""

from calibrant import EventForecaster, Fleet, MulticlassRecalibrator, Recalibrator
from naive.rounds import Book, Shards
from naive.rules import ClassRule, EventRule, FleetRule, ScoreRule, shard_of

#: Outcomes: the one that silence means in these tests, and another.
SILENT, EVENT = 0, 1
SEED = 7


class Scores:
    """Scores of one event."""

    row = (0.3, None)

    def __init__(self, **policy):
        self.learner = self.made(policy)

    def made(self, policy):
        return Recalibrator(seed=SEED, **policy)

    def book(self, **policy):
        """Return the plain book of the same rounds."""
        return Book(ScoreRule(SEED, policy.get("silence")), **policy)

    def predict(self, id_=None, row=None, **times):
        score, group = row or self.row
        return self.learner.predict(score, id=id_, by=group, **times)

    def predict_many(self, ids, rows=None, **times):
        rows = rows or [self.row] * len(ids)
        return self.learner.predict_many([score for score, _ in rows], ids=ids, **times).tolist()

    def update(self, outcome, id_=None, **times):
        return self.learner.update(outcome, id=id_, **times)

    def update_many(self, outcomes, ids, **times):
        return self.learner.update_many(outcomes, ids=ids, **times).tolist()

    def reload(self):
        self.learner = type(self.learner).from_bytes(self.learner.to_bytes())

    def __getattr__(self, name):
        return getattr(self.learner, name)


class Classes(Scores):
    """Three classes."""

    row = [0.6, 0.3, 0.1]  # noqa: RUF012

    def made(self, policy):
        return MulticlassRecalibrator(3, seed=SEED, **policy)

    def book(self, **policy):
        return Book(ClassRule(3, SEED, policy.get("silence")), **policy)

    def predict(self, id_=None, row=None, **times):
        return self.learner.predict(row or self.row, id=id_, **times).tolist()

    def predict_many(self, ids, rows=None, **times):
        rows = rows or [self.row] * len(ids)
        return self.learner.predict_many(rows, ids=ids, **times).tolist()


class Keys(Scores):
    """A fleet of one shard: nothing waits without an id."""

    shards = 1
    row = ("a", 0.3)

    def made(self, policy):
        return Fleet(SEED, shards=self.shards, **policy)

    def book(self, **policy):
        books = [Book(FleetRule(SEED), **policy) for _ in range(self.shards)]
        return Shards(books, lambda row: shard_of(row[0], self.shards))

    def predict(self, id_=None, row=None, **times):
        return self.learner.predict(*(row or self.row), id=id_, **times)

    def predict_many(self, ids, rows=None, **times):
        rows = rows or [self.row] * len(ids)
        keys, scores = ([*column] for column in zip(*rows, strict=True))
        return self.learner.predict_many(keys, scores, ids=ids, **times).tolist()


class Shards3(Keys):
    """A fleet of three shards."""

    shards = 3


class Events(Scores):
    """Events without scores, by id; `at` is when the outcome happens."""

    row = None

    def made(self, policy):
        return EventForecaster(SEED, **policy)

    def book(self, **policy):
        return Book(EventRule(SEED), **policy)

    def predict(self, id_=None, row=None, *, at=None):  # noqa: ARG002
        return self.learner.predict(id=id_, at=at)

    def predict_many(self, ids, rows=None, *, at=None):  # noqa: ARG002
        return [self.predict(id_, at=at) for id_ in ids]

    def update_many(self, outcomes, ids):
        return self.learner.update_many(outcomes, ids=ids).tolist()
