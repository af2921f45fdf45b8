"""The interface between the book and what predicts its rounds."""

from libc.stdint cimport int64_t

from calibrant._kernels.rounds.round cimport Round


cdef class Rule:
    cdef readonly bint is_stepwise    # does it keep a round without an id itself, for speed?
    cdef readonly bint is_watched     # does it want to know which rounds wait?
    cdef readonly bint is_compiled    # does no Python code run in a step without a group?
    cdef readonly bint is_weighted    # does the weight of a round say how much its outcome teaches?

    cpdef object check(self, rows, by)
    cpdef object check_one(self, row, by)
    cpdef Round begin(self, row, by)
    cdef Round begin_row(self, object columns, object by, Py_ssize_t i)
    cpdef list begin_many(self, rows, by)
    cdef list blanks(self, Py_ssize_t size)
    cdef int fill(self, list rounds, object rows) except -1
    cpdef object learn(self, list rounds, outcomes)
    cpdef object learn_one(self, Round r, double outcome)
    cpdef object reserve(self, Py_ssize_t outcomes)
    cpdef object opened(self, list rounds)
    cpdef object drop(self, Round r)
    cpdef object wait(self, Round r, double now)
    cpdef object observed(self, Round r, double now)
    cpdef object mature(self, Round r)
    cpdef object refit(self, double now)
    cpdef object fill_smooth(self, list rounds)
    cpdef object answer(self, Round r)
    cpdef object answers(self, list rounds)
    cpdef object group_of(self, Round r)
    cpdef object shown(self, double outcome)
    cpdef object events(self, list rounds, outcomes)
    cdef int64_t begun(self) except -1
    cpdef double outcome_of(self, outcome) except? -1.0
    cpdef object outcomes_of(self, outcomes)
    cdef double step(self, object row) except? -1.0
    cdef int finish_step(self, double outcome, double weight) except -1
    cdef int forget_step(self) except -1
