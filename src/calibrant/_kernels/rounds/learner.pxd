from calibrant._kernels.rounds.book cimport Book
from calibrant._kernels.rounds.round cimport Round
from calibrant._kernels.rounds.rule cimport Rule


cdef class Learner:
    cdef readonly Book _book
    cdef readonly Rule _rule
    cdef bint is_plain                # is there neither a deadline nor a watcher?
    # The arguments of the class built on it, which it does not read.
    cdef public dict _given

    cdef Round open_one(self, row, id, by, at, due)
    cdef Round opened_one(self, row, name, by, double made, double end)
    cdef object update_one(self, outcome, id, at, weight)
    cdef object updated(self, name, double y, double time, double weight)
    cdef double weight_of(self, weight) except? -1.0
    cdef object weights_of(self, weights, Py_ssize_t size)
    cdef int check_is_weighted(self) except -1
