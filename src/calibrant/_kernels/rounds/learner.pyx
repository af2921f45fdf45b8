"""A rule, its book and whoever watches, behind the verbs that all recalibrators share."""

from libc.math cimport NAN, isnan

import numpy as np

from calibrant._checks import as_listed, check_integer, check_same_length
from calibrant._kernels.kernel import all_or_nothing
from calibrant._kernels.rounds.book cimport Book, checked
from calibrant._kernels.rounds.book import ANSWERS, checked_ids
from calibrant._kernels.rounds.round cimport Round
from calibrant._kernels.rounds.rule cimport Rule
from calibrant._times import time_of, times_or_one

NONE_WAITS = (
    "update() without an id answers the last predict() without one, and none waits for its outcome"
)


def listed_ids(ids):
    """Return ids that came together as a list, or name the first that is none."""
    return checked_ids(as_listed(ids, "ids", "a sequence of ids, one a row"))


cdef class Learner:
    """What plays rounds: predict, wait, observe, learn."""

    def __cinit__(self, *args, **kwargs):
        self._rule, self._book = Rule.__new__(Rule), Book.__new__(Book)

    def __init__(self, Rule rule not None, policy, watcher=None):
        self._rule, self._book = rule, Book(rule, policy)
        self._book.watcher = watcher
        self.is_plain = rule.is_stepwise and not policy.has_deadlines and watcher is None

    @property
    def rounds(self):
        """Predictions made so far."""
        return self._rule.rounds

    @property
    def learned(self):
        """Outcomes learned so far."""
        return self._rule.learned

    @property
    def pending(self):
        """How many predictions wait for their outcomes."""
        return len(self._book)

    @property
    def expired(self):
        """How many predictions with an id were given up before their outcome came."""
        return self._book.expired

    # -- predictions ----------------------------------------------------------------------------

    def _predict(self, row, id=None, by=None, at=None, due=None):
        """Predict a row, and open a round that waits for its outcome."""
        cdef Book book = self._book
        cdef double made
        if id is None and by is None and at is None and due is None and self.is_plain:
            if book.settled is None:
                made = self._rule.step(row)  # one kernel call, which needs no lock
                book.forget_unnamed()
                return made
        return self._rule.answer(self.open_one(row, id, by, at, due))

    def _open_one(self, row, id=None, by=None, at=None, due=None):
        """Do what `_predict` does; return the round."""
        return self.open_one(row, id, by, at, due)

    cdef Round open_one(self, row, id, by, at, due):
        cdef Book book = self._book
        cdef Round r
        cdef double made = NAN, end = NAN
        name = None if id is None else checked(id)
        if name is None and book.has_deadlines:
            raise ValueError("with silence or hold a prediction needs an id, for its outcome")
        if due is not None and not book.has_deadlines:
            raise ValueError("due needs silence or hold: what is learned at the deadline?")
        book.acquire()
        try:
            if name is not None:
                book.check_new(name)
            if book.has_deadlines or book.arrivals.count:
                self._rule.check_one(row, by)  # before time passes
            if book.has_deadlines:
                made, end = book.policy.times_of_one(
                    at, due, book.now, book.is_timed, self._rule.rounds
                )
            elif at is not None:
                made = max(time_of(at), book.now)
            if book.refuse and name is not None:
                book.check_room(1, NAN if at is None else made)
            if book.has_deadlines:
                book.is_timed = at is not None
                if at is None:
                    made = NAN
            r = book.open_one(row, name, by, made, end)
            if name is None:
                self._rule.forget_step()
            return r
        finally:
            book.release()

    def _predict_many(self, rows, ids=None, by=None, at=None, due=None):
        """Predict rows as things stand now; those with ids wait for their outcomes."""
        return self._rule.answers(self._open(rows, ids, by, at, due))

    def _open(self, rows, ids=None, by=None, at=None, due=None):
        """Do what `_predict_many` does; return the rounds."""
        cdef Book book = self._book
        with book.lock:
            rows = self._rule.check(rows, by)
            size = len(rows)
            names = None if ids is None else listed_ids(ids)
            if names is not None:
                check_same_length("ids", len(names), "scores", size)
            if due is not None and not book.has_deadlines:
                raise ValueError("due needs silence or hold: what is learned at the deadline?")
            if names is None and book.has_deadlines:
                raise ValueError("with silence or hold predictions need ids, for their outcomes")
            made, dues = book.policy.times(
                size, None if at is None else times_or_one(at, size),
                None if due is None else times_or_one(due, size, "due"),
                book.now, book.is_timed, self._rule.rounds, book.policy.is_dated(at),
            )
            if book.refuse and names is not None:
                book.check_room(size, made[0] if made is not None and size else NAN)
            return book.open(rows, names, by, made, dues)

    # -- tables ---------------------------------------------------------------------------------

    def _play(self, rows, outcomes, by=None, *, at=None, due=None, opened=None):
        """Predict row after row, each outcome being known at once; all or nothing.

        `outcomes` are numbers, NaN for none. Returns the predictions; with a list for the rounds that
        are `opened` meanwhile, what `predict_many` returns of them.
        """
        size = len(outcomes)

        def body():
            told, _ = self._play_table(
                rows, outcomes, by, at=None if at is None else times_or_one(at, size),
                due=None if due is None else times_or_one(due, size, "due"),
                is_dated=self._book.policy.is_dated(at), opened=opened,
            )
            if opened is None:
                return told[0]
            answers = self._rule.answers(opened)
            opened.clear()  # now, and not after the last look for signals
            return answers

        return self._all_or_nothing(body)

    def _play_table(self, rows, outcomes, by=None, *, at=None, known=None, due=None, ids=None,
                    bint is_dated=False, bint smooth=False, opened=None):
        """Predict row after row from what is known by then: from `known` on, or at once.

        Times and `outcomes` are numbers, NaN for none; `is_dated` says whether times are dates.
        What is still to come at the end waits here, and the next table goes on from there as if
        both were one; rows with `ids` wait under these. Bad rows change nothing; it is not for this
        to go back where it is interrupted. Returns what was told of the rows, and the outcomes that
        counted: what was settled, and what is known by their deadlines of rows that still wait.
        """
        cdef Book book = self._book
        policy = book.policy
        if due is not None and not book.has_deadlines:
            raise ValueError("due needs silence or hold: what is learned at the deadline?")
        with book.lock:
            rows = self._rule.check(rows, by)
            size = len(rows)
            check_same_length("scores", size, "outcomes", len(outcomes))
            names = None if ids is None else listed_ids(ids)
            if names is not None:
                check_same_length("ids", len(names), "scores", size)
                book.check_new_ids(names)
            if not isnan(book.silence):
                policy.check_all_whole(outcomes)
            made, dues = policy.times(
                size, at, due, book.now, book.is_timed, self._rule.rounds, is_dated
            )
            told = np.empty((3 if smooth else 2, size))
            expired = book.expired
            if size:
                book.forget_unnamed()
                self._rule.forget_step()
                if book.has_deadlines:
                    book.is_timed = at is not None
            settled = book.play(
                list(rows) if rows.ndim > 1 else rows.tolist(),
                None if by is None else as_listed(by, "by", "names"), names, outcomes, made,
                known, dues, None, told, np.empty(size, dtype=np.uint8), opened,
            )
            is_open = np.isnan(settled)
            if known is not None and size:
                # With silence, what becomes known after the deadline does not count.
                is_open &= ~np.isnan(known) if isnan(book.silence) else known <= dues
            if book.expired > expired:
                is_open &= [book.round_of(name) is not None for name in names]
        return told, np.where(is_open, outcomes, settled)

    def _all_or_nothing(self, body):
        """Return what the body returns; if it is interrupted or fails, nothing of it was done."""
        return all_or_nothing(self._book.lock, self._mark, body)

    def _mark(self):
        """Return what takes all back to where it is now."""
        watcher = self._book.watcher
        rounds, state = self._save()
        late, seen = dict(self._book.late), None if watcher is None else watcher.copy()

        def go_back():
            fresh = type(self)(**self._given)
            fresh._load(rounds, dict(state))
            if watcher is not None:
                watcher.go_back(seen)
            self._rule.take_over(fresh._rule)
            self._book.take_over(fresh._book)
            self._book.late.clear()
            self._book.late.update(late)

        return go_back

    # -- outcomes -------------------------------------------------------------------------------

    def update(self, outcome, *, id=None, at=None):
        """Learn an outcome: of the last prediction without an id, or of an id's.

        With an id it returns "applied", or "repeated" if the id had this outcome before. One that
        contradicts an earlier outcome, or whose id does not wait, raises a `RoundError`. `at` says
        when it arrived.
        """
        cdef Book book = self._book
        cdef double y = self._rule.outcome_of(outcome), time = NAN
        if id is None and self.is_plain and book.unnamed is None and at is None:
            self._rule.finish_step(y)
            return None
        if not isnan(book.silence):
            book.policy.check_whole(y)
        name = None if id is None else checked(id)
        if at is not None:
            time = time_of(at)
        book.acquire()
        try:
            if name is None:
                self._update_unnamed(y)
                return None
            if at is not None:
                book.policy.check_timed(book.is_timed)
            return book.update(name, y, time)
        finally:
            book.release()

    def _update_unnamed(self, double y):
        """Learn the outcome of the last prediction without an id."""
        cdef Book book = self._book
        cdef Round r = book.unnamed
        if r is None:
            if not self._rule.is_stepwise:
                raise ValueError(NONE_WAITS)
            self._rule.finish_step(y)
            return
        book.learn_unnamed(y)

    def update_many(self, outcomes, *, ids, at=None):
        """Learn outcomes that came together, by id; return what became of each.

        The answers, one a row: "applied"; "repeated", if the id had this outcome before;
        "conflict", if it had or gets another one too; "unknown"; "expired". Only rows that are
        applied change anything, and bad input is refused as a whole. `at` says when the outcomes
        arrived, one time for all or one a row.

        The order of the rows carries no information: every order ends in the same state. What
        was predicted first is learned first, and predictions of one `predict_many` in an order
        drawn at random.

        Examples
        --------
        >>> from calibrant import Recalibrator
        >>> recalibrator = Recalibrator()
        >>> _ = recalibrator.predict_many([0.2, 0.7], ids=["a", "b"])
        >>> recalibrator.update_many([1, 0, 0], ids=["b", "a", "c"]).tolist()
        ['applied', 'applied', 'unknown']
        """
        cdef Book book = self._book
        known, names = self._rule.outcomes_of(outcomes), listed_ids(ids)
        check_same_length("outcomes", len(known), "ids", len(names))
        if not isnan(book.silence):
            book.policy.check_all_whole(known)
        times = at
        if at is not None:  # one time lets time pass even if no outcome came
            times = time_of(at) if np.ndim(at) == 0 else times_or_one(at, len(names))
        with book.lock:
            if at is not None:
                book.policy.check_timed(book.is_timed)
            return ANSWERS[book.observe(names, known, times)]

    def advance(self, now):
        """Let time pass: learn what is due by `now`; return how many outcomes that were.

        Predictions and outcomes that say when they are, ``at=...``, do this by themselves, as does
        a prediction where deadlines count predictions. An earlier time changes nothing.

        Examples
        --------
        >>> from calibrant import Recalibrator
        >>> recalibrator = Recalibrator(silence=0, after=30)
        >>> _ = recalibrator.predict(0.2, id="a", at=100), recalibrator.predict(0.3, id="b", at=110)
        >>> recalibrator.update(1, id="a", at=120)      # used at once, learned at 130
        'applied'
        >>> recalibrator.advance(130), recalibrator.advance(140)
        (1, 1)
        >>> recalibrator.learned, recalibrator.pending
        (2, 0)
        """
        cdef Book book = self._book
        time = book.policy.time_to_advance(now, book.is_timed)
        with book.lock:
            return book.advance(time)

    def expire(self, *, older_than=None, before=None):
        """Give up waiting for old predictions.

        Returns their ids, oldest first. Their outcomes, should they still come, are refused as
        expired. A prediction without an id does not expire: the next one replaces it.

        Parameters
        ----------
        older_than : int, optional
            Those made more than so many predictions ago.
        before : number or date and time, optional
            Those made with an earlier time, ``predict(..., at=...)``.

        Examples
        --------
        >>> from calibrant import Recalibrator
        >>> recalibrator = Recalibrator()
        >>> _ = [recalibrator.predict(0.5, id=day, at=day) for day in range(5)]
        >>> recalibrator.expire(older_than=3), recalibrator.expire(before=4)
        ([0, 1], [2, 3])
        >>> recalibrator.expired
        4
        """
        if (older_than is None) == (before is None):
            raise ValueError("expire() takes older_than, an integer, or before, a time")
        with self._book.lock:
            if before is not None:
                return self._book.expire(before=time_of(before, "before"))
            age = check_integer("older_than", older_than, 0)
            return self._book.expire(number=self.rounds - age)

    def forget_ids(self):
        """Forget all ids: what waits is given up, and every id may be used anew.

        For a state that goes on where ids are given by somebody else. Returns how many waited.

        Examples
        --------
        >>> from calibrant import Recalibrator
        >>> recalibrator = Recalibrator()
        >>> _ = recalibrator.predict_many([0.2, 0.7], ids=["a", "b"])
        >>> recalibrator.update(1, id="a")
        'applied'
        >>> recalibrator.forget_ids(), recalibrator.pending
        (1, 0)
        >>> _ = recalibrator.predict(0.2, id="a")
        """
        with self._book.lock:
            return self._book.forget()
