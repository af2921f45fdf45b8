"""Coming events of rounds, by time."""

from cpython.object cimport PyObject
from libc.stdint cimport int64_t


# Something that happens to a round: its deadline, or that its outcome becomes known.
cdef struct Event:
    double when
    int64_t number                    # of the round; of equal times, the smaller one comes first
    double outcome                    # what becomes known; of no use for a deadline
    PyObject *key                     # of the round in the book; a reference that is owned


cdef class Agenda:
    cdef Event *events
    cdef readonly Py_ssize_t count
    cdef Py_ssize_t room

    cdef int push(self, double when, int64_t number, double outcome, object key) except -1
    cdef bint is_over(self, double now, bint strictly) noexcept
    cdef object pop(self, Event *first)
    cdef void clear(self)
    cdef Agenda copy(self)
