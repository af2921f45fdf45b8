"""The evidence of the monitors of a fleet about each key."""

from libc.stdint cimport int64_t, uint32_t

cdef enum:
    KEY_TILTS = 4                # two upwards, two downwards
    SIDES = 2                    # raw scores, calibrated predictions

cdef struct KeyCell:
    float M[KEY_TILTS]           # the cash of the bets: first upwards, then downwards
    float S                      # sum of y - p since the direction with more evidence changed
    uint32_t n                   # outcomes since then

cdef struct Late:                # of a key whose outcomes wait, or did lately
    uint32_t open                # how many wait
    float D                      # the most that waited lately
    float predicted[SIDES]       # the mean of its last predictions
    float escrow[SIDES]          # what the stakes of all its bets may lose
    uint32_t named               # a bit a side: did cash name it, and is that not yet lost?

cdef struct Stakes:              # what a round staked when it was predicted
    float s[SIDES][KEY_TILTS]
    int64_t waits                # was it seen, and is it still to be paid?

cdef struct Unseen:              # a step that the monitors of ranges have not seen yet
    int64_t number               # of the round
    double raw
    double expected
    double y                     # NaN where it was predicted, infinite where it was given up


cdef class KeyEvidence:
    cdef KeyCell *cells          # SIDES of each key, by slot
    cdef Late *late              # by slot; NULL until a round waits
    cdef Py_ssize_t room         # keys there is room for
    cdef Py_ssize_t count        # keys there are
    cdef object held             # the array that read-only cells stand in, or None
    cdef double tolerance
    cdef double alpha
    cdef double goal             # the mean of the bets that names a key
    cdef float most              # no bet is kept as more
    cdef int64_t asked           # predictions so far
    cdef int64_t heard           # outcomes so far
    cdef Unseen *queue
    cdef Py_ssize_t queue_room
    cdef Py_ssize_t waiting      # steps in the queue

    cdef int reserve(self, Py_ssize_t steps, Py_ssize_t keys) except -1
    cdef int expect_lateness(self) except -1
    cdef void note(self, int64_t number, double raw, double expected, double y) noexcept nogil
    cdef void play(
        self, int64_t number, int64_t slot, double raw, double expected, double y
    ) noexcept nogil
    cdef void ask(
        self, int64_t number, int64_t slot, double raw, double expected, Stakes *stakes
    ) noexcept nogil
    cdef void settle(
        self, int64_t number, int64_t slot, double raw, double expected, double y, Stakes *stakes
    ) noexcept nogil
    cdef void drop(
        self, int64_t number, int64_t slot, double raw, double expected, Stakes *stakes
    ) noexcept nogil
    cdef void release(
        self, int64_t slot, double raw, double expected, const Stakes *stakes
    ) noexcept nogil
    cdef void name(self, int64_t slot) noexcept nogil
    cdef double shown(self, int64_t slot, Py_ssize_t side) noexcept nogil
    cdef bint is_late(self, Py_ssize_t slot) noexcept nogil
    cdef KeyEvidence copied(self)
