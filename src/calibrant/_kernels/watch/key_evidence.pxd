"""What the monitors of a fleet know of each key."""

from libc.stdint cimport int64_t, uint32_t

cdef enum:
    KEY_TILTS = 4                # two upwards, two downwards
    SIDES = 2                    # raw scores, calibrated predictions

cdef struct KeyCell:
    float M[KEY_TILTS]           # the bets: first upwards, then downwards
    float S                      # sum of y - p since the direction with more evidence changed
    uint32_t n                   # outcomes since then

cdef struct Unseen:              # a step that the monitors of ranges have not seen yet
    int64_t number               # of the round
    double raw
    double expected
    double y                     # NaN where it was predicted, infinite where it was given up


cdef class KeyEvidence:
    cdef KeyCell *cells          # SIDES of each key, by slot
    cdef Py_ssize_t room         # keys there is room for
    cdef Py_ssize_t count        # keys there are
    cdef object held             # the array that cells for reading only stand in, or None
    cdef double tolerance
    cdef double alpha
    cdef float most              # no bet is kept as more
    cdef int64_t heard           # outcomes so far
    cdef Unseen *queue
    cdef Py_ssize_t queue_room
    cdef Py_ssize_t waiting      # steps in the queue

    cdef int reserve(self, Py_ssize_t steps, Py_ssize_t keys) except -1
    cdef void note(self, int64_t number, double raw, double expected, double y) noexcept nogil
    cdef void hear(
        self, int64_t number, int64_t slot, double raw, double expected, double y
    ) noexcept nogil
    cdef KeyEvidence copied(self)
