"""A rule with its book and its monitor, behind the methods that all recalibrators share."""

from libc.math cimport NAN, isnan

import numpy as np

from calibrant._checks import as_listed, as_weights, check_integer, check_same_length, check_weight
from calibrant._kernels.interrupts cimport hold, release
from calibrant._kernels.interrupts import uninterrupted
from calibrant._kernels.kernel import all_or_nothing
from calibrant._kernels.rounds.book cimport Book, checked
from calibrant._kernels.rounds.book import ANSWERS, checked_ids
from calibrant._kernels.rounds.round cimport Round
from calibrant._kernels.rounds.rule cimport Rule
from calibrant._times import time_of, times_or_one

NONE_WAITS = (
    "update() without an id answers the last predict() without one, and none is pending"
)


def listed_ids(ids):
    """Return ids that came together as a list, or name the first that is none."""
    return checked_ids(as_listed(ids, "ids", "a sequence of ids, one per row"))


cdef class Learner:
    """The methods of rounds: predict, wait, observe, learn."""

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
        """The number of pending predictions."""
        return len(self._book)

    @property
    def expired(self):
        """The number of predictions with an id that expired before their outcome arrived."""
        return self._book.expired

    # -- predictions ----------------------------------------------------------------------------

    def _predict(self, row, id=None, by=None, at=None, due=None):
        """Predict a row, and open a round."""
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
            if not book.is_held(by):
                return self.opened_one(row, name, by, made, end)
            hold()
            try:
                return self.opened_one(row, name, by, made, end)
            finally:
                release()
        finally:
            book.release()

    cdef Round opened_one(self, row, name, by, double made, double end):
        """Open a round that was checked."""
        cdef Round r = self._book.open_one(row, name, by, made, end)
        if name is None:
            self._rule.forget_step()
        return r

    def _predict_many(self, rows, ids=None, by=None, at=None, due=None):
        """Predict rows from the current state; those with ids stay pending."""
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
            book.is_held(by)
            with uninterrupted:
                return book.open(rows, names, by, made, dues)

    # -- tables ---------------------------------------------------------------------------------

    def _play(self, rows, outcomes, by=None, *, at=None, due=None, opened=None, weights=None):
        """Predict row after row, each outcome being known at once; all or nothing.

        `outcomes` are numbers, NaN for none, and `weights` how much each teaches. Returns the
        predictions; with a list for the rounds that are `opened` meanwhile, what `predict_many`
        returns of them.
        """
        size = len(outcomes)

        def body():
            told, *_ = self._play_table(
                rows, outcomes, by, at=None if at is None else times_or_one(at, size),
                due=None if due is None else times_or_one(due, size, "due"),
                is_dated=self._book.policy.is_dated(at), opened=opened, weights=weights,
            )
            if opened is None:
                return told[0]
            answers = self._rule.answers(opened)
            opened.clear()  # now, and not after the last look for signals
            return answers

        return self._all_or_nothing(body)

    def _play_table(self, rows, outcomes, by=None, *, at=None, known=None, due=None, ids=None,
                    bint is_dated=False, bint smooth=False, opened=None, weights=None):
        """Predict row after row from the outcomes known by then: from `known` on, or at once.

        Times and `outcomes` are numbers, NaN for none; `is_dated` says whether times are dates.
        Everything after the end remains pending, and the next table continues as if
        both were one; rows with `ids` are pending under these. Invalid rows change nothing; undoing
        an interrupted call is up to the caller. Returns the predictions of the rows; the outcomes that
        counted (settled ones, and those known by their deadlines of rows that are still pending); the
        times of predictions, by the clock or counted from the first; and their deadlines, if any.
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
            weights = self.weights_of(weights, size)
            if not isnan(book.silence):
                policy.check_all_whole(outcomes)
            rounds = self._rule.rounds
            made, dues = policy.times(
                size, at, due, book.now, book.is_timed, rounds, is_dated
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
                known, dues, None, told, np.empty(size, dtype=np.uint8), opened, weights,
            )
            is_open = np.isnan(settled)
            if known is not None and size:
                # With silence, what becomes known after the deadline does not count.
                is_open &= ~np.isnan(known) if isnan(book.silence) else known <= dues
            if book.expired > expired:
                is_open &= [book.round_of(name) is not None for name in names]
        if made is None:
            made, dues = np.arange(float(size)), None if dues is None else dues - rounds
        return told, np.where(is_open, outcomes, settled), made, dues

    def _all_or_nothing(self, body):
        """Return what the body returns; if it is interrupted or fails, it has no effect."""
        return all_or_nothing(self._book.lock, self._mark, body)

    def _mark(self):
        """Return a function that restores the current state."""
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

    cdef double weight_of(self, weight) except? -1.0:
        """Return a weight as a number; 1 if none is given."""
        if weight is None:
            return 1.0
        self.check_is_weighted()
        return check_weight(weight)

    cdef object weights_of(self, weights, Py_ssize_t size):
        """Return weights as numbers, one an outcome; None if none are given."""
        if weights is None:
            return None
        self.check_is_weighted()
        return as_weights(weights, size)

    cdef int check_is_weighted(self) except -1:
        """Refuse weights where no rule takes them."""
        if not self._rule.is_weighted:
            raise ValueError(f"{type(self).__name__} does not support weights: all outcomes count equally")
        return 0

    @property
    def _is_weighed(self):
        """Whether any outcome had a weight so far."""
        return self._book.weighings >= 0.0

    def update(self, outcome, *, id=None, at=None, weight=None):
        """Learn the outcome of the last prediction without an id, or of the prediction of an id.

        With an id, it returns "applied", or "repeated" if the id had this outcome before. An
        outcome that contradicts an earlier one, or whose id is not pending, raises a `RoundError`.
        `at` is its time of arrival. `weight` is its weight relative to other outcomes, 1 by
        default: weights are divided by their mean so far, and clipped at 5. With weight 0, nothing
        is learned.
        """
        return self.update_one(outcome, id, at, weight)

    cdef object update_one(self, outcome, id, at, weight):
        cdef Book book = self._book
        cdef double y = self._rule.outcome_of(outcome), time = NAN, share
        if id is None and self.is_plain and book.unnamed is None and at is None:
            if weight is None and book.weighings < 0.0:
                self._rule.finish_step(y, 1.0)
                return None
        share = self.weight_of(weight)
        if not isnan(book.silence):
            book.policy.check_whole(y)
        name = None if id is None else checked(id)
        if at is not None:
            time = time_of(at)
        book.acquire()
        try:
            if at is not None and name is not None:
                book.policy.check_timed(book.is_timed)
            if not book.is_held(None):
                return self.updated(name, y, time, share)
            hold()
            try:
                return self.updated(name, y, time, share)
            finally:
                release()
        finally:
            book.release()

    cdef object updated(self, name, double y, double time, double weight):
        """Learn an outcome that was checked."""
        if name is not None:
            return self._book.update(name, y, time, weight)
        self._update_unnamed(y, weight)

    def _update_unnamed(self, double y, double weight=1.0):
        """Learn the outcome of the last prediction without an id."""
        cdef Book book = self._book
        cdef Round r = book.unnamed
        if r is None:
            if not self._rule.is_stepwise:
                raise ValueError(NONE_WAITS)
            book.learn_step(y, weight)
            return
        book.learn_unnamed(y, weight)

    def update_many(self, outcomes, *, ids, at=None, weights=None):
        """Learn outcomes that arrived together, by id; return the answer to each.

        The answers, one per row: "applied"; "repeated", if the id had this outcome before;
        "conflict", if it had another one, or is given two; "unknown"; "expired". Only rows that are
        applied change anything, and invalid input is refused as a whole. `at` is the time of
        arrival, one for all or one per row. `weights` are those of the outcomes, as in `update`.

        The order of the rows does not matter: every order ends in the same state. Rounds are
        learned in the order of their predictions, and those of one `predict_many` in random order.

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
        weights = self.weights_of(weights, len(names))
        if not isnan(book.silence):
            book.policy.check_all_whole(known)
        times = at
        if at is not None:  # one time lets time pass even if no outcome came
            times = time_of(at) if np.ndim(at) == 0 else times_or_one(at, len(names))
        with book.lock:
            if at is not None:
                book.policy.check_timed(book.is_timed)
            with uninterrupted:
                return ANSWERS[book.observe(names, known, times, weights=weights)]

    def advance(self, now):
        """Advance the clock: learn what is due by `now`; return the number of outcomes learned.

        Predictions and outcomes with a time, ``at=...``, also advance the clock, as does each
        prediction if deadlines count predictions. An earlier time changes nothing.

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
        with book.lock, uninterrupted:
            return book.advance(time)

    def expire(self, *, older_than=None, before=None):
        """Expire old predictions.

        Returns their ids, oldest first. Outcomes that still arrive for them are refused as
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
        with self._book.lock, uninterrupted:
            if before is not None:
                return self._book.expire(before=time_of(before, "before"))
            age = check_integer("older_than", older_than, 0)
            return self._book.expire(number=self.rounds - age)

    def forget_ids(self):
        """Forget all ids: pending predictions are dropped, and every id may be used again.

        Use this when a state is continued where ids are assigned differently. Returns how many were
        pending.

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
        with self._book.lock, uninterrupted:
            return self._book.forget()
