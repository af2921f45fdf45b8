"""The interface between the book and what predicts its rounds: every capability is a rule.

A rule has no ids. The book calls it to begin rounds, and returns them with their outcomes when
these count: the book determines how long this takes, and in which order. Only the model of silence
before a deadline is given times (`wait`, `observed`, `mature`, `refit`).
"""

from libc.stdint cimport int64_t

import numpy as np

from calibrant._checks import as_unit_series
from calibrant._kernels.kernel cimport as_outcome
from calibrant._kernels.rounds.round cimport Round


cdef class Rule:
    """The methods of a rule. A rule written in Python overrides the same methods."""

    @property
    def rounds(self):
        """Rounds begun so far."""
        raise NotImplementedError

    @property
    def learned(self):
        """Outcomes learned so far."""
        raise NotImplementedError

    cdef int64_t begun(self) except -1:
        return self.rounds

    cpdef object check(self, rows, by):
        """Refuse rows that cannot be predicted; return them ready for `begin_many`."""
        raise NotImplementedError

    cpdef object check_one(self, row, by):
        """Refuse a row that cannot be predicted."""
        self.check([row], None if by is None else [by])

    cpdef Round begin(self, row, by):
        """Predict one row, or refuse it and change nothing."""
        return self.begin_many([row], None if by is None else [by])[0]

    cdef Round begin_row(self, object columns, object by, Py_ssize_t i):
        """Predict row i of a table that was checked."""
        return self.begin(columns[i], None if by is None else by[i])

    cpdef list begin_many(self, rows, by):
        """Predict rows as things stand now; all or none."""
        raise NotImplementedError

    cdef list blanks(self, Py_ssize_t size):
        """Return rounds that `fill` can fill, so that ids are taken before anything is predicted.

        None where rounds can only be made by `begin_many`.
        """
        return None

    cdef int fill(self, list rounds, object rows) except -1:
        """Predict rows, none of which has a group, in rounds of `blanks`."""
        raise NotImplementedError

    cpdef object learn(self, list rounds, outcomes):
        """Learn outcomes that count together, in this order; all or none.

        If the rule `is_weighted`, a round says how much its outcome teaches (`weight_of`).
        """
        raise NotImplementedError

    cpdef object learn_one(self, Round r, double outcome):
        """Learn one outcome."""
        self.learn([r], np.array([outcome]))

    cpdef object reserve(self, Py_ssize_t outcomes):
        """Allocate the memory that so many outcomes may need, so that learning them cannot fail."""

    cpdef object opened(self, list rounds):
        """Hear of rounds that wait from now on, if `is_watched`."""

    cpdef object drop(self, Round r):
        """Forget a round that expired: nothing was learned of it."""

    # -- outcomes -------------------------------------------------------------------------------

    cpdef double outcome_of(self, outcome) except? -1.0:
        """Return one outcome as a number, or raise ValueError."""
        return as_outcome(outcome)

    cpdef object outcomes_of(self, outcomes):
        """Return outcomes as numbers of their own, or raise ValueError."""
        return as_unit_series(outcomes, "outcomes")

    # -- one round without an id, kept in the rule ------------------------------------------------

    cdef double step(self, object row) except? -1.0:
        """Predict a row; an earlier such round without an outcome is given up."""
        raise NotImplementedError

    cdef int finish_step(self, double outcome, double weight) except -1:
        """Learn the outcome of the last `step`, which teaches so much."""
        raise NotImplementedError

    cdef int forget_step(self) except -1:
        """Give up the last `step`."""
        return 0

    def forget(self):
        """Give up a round without an id that the rule itself keeps."""
        self.forget_step()

    # -- silence --------------------------------------------------------------------------------

    cpdef object wait(self, Round r, double now):
        """Count a round that waits for its deadline from `now` on."""

    cpdef object observed(self, Round r, double now):
        """Hear of an outcome before its deadline."""

    cpdef object mature(self, Round r):
        """Learn, at its deadline, how early the outcome of a round was known."""

    cpdef object refit(self, double now):
        """Fit what silence says, if a fit is due."""

    # -- what is told of a round -----------------------------------------------------------------

    cpdef object fill_smooth(self, list rounds):
        """Give rounds that were just begun the estimates for ranking, where there are any."""

    cpdef object answer(self, Round r):
        """Return what `predict` returns of a round."""
        return r.as_prediction()

    cpdef object answers(self, list rounds):
        """Return what `predict_many` returns of rounds."""
        cdef Py_ssize_t i
        found = np.empty(len(rounds))
        cdef double[::1] p = found
        for i in range(len(rounds)):
            p[i] = (<Round>rounds[i]).as_prediction()
        return found

    cpdef object group_of(self, Round r):
        """Return the name of a round's group or key; None without."""
        return None

    cpdef object shown(self, double outcome):
        """Return an outcome as its user knows it."""
        return outcome

    cpdef object events(self, list rounds, outcomes):
        """Return the outcomes of the predicted events, for a monitor."""
        return outcomes
