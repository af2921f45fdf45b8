"""A round from its prediction until its outcome counts."""

from libc.stdint cimport int64_t


# What is known of a round besides its number, once anything is. NaN for what is not.
cdef struct Story:
    double at                         # when it was predicted
    double due                        # when its outcome counts
    double outcome                    # what is known of it
    double arrived                    # when that became known
    double smooth                     # the estimate for ranking, if it was asked for
    double weight                     # how much its outcome teaches: beside the mean of those known
    void *pending                     # what the silence model keeps of it; NULL without
    bint is_held                      # does its outcome wait for the deadline?
    bint is_silence                   # is its outcome that no news came?


cdef class Round:
    cdef readonly int64_t number      # rounds begun before it
    cdef readonly int64_t batch       # the number of the first round of the same call
    cdef readonly bint is_shared      # may others have been predicted in the same call, or at its time?
    cdef Story *story                 # NULL while there is nothing to say: most rounds are brief

    cdef Story *told(self) except NULL
    cdef bint is_held(self) noexcept
    cdef object company(self)
    cdef bint is_with(self, Round other) noexcept
    cdef double as_raw(self)
    cdef double as_prediction(self)
    cdef double as_expected(self)


cdef class PyRound(Round):
    cdef readonly object token        # what the rule keeps of it
    cdef double _raw, _prediction, _expected


cdef class StagedRound(Round):
    cdef readonly int64_t group       # the number of its group
    cdef readonly tuple rounds        # what each stage keeps; the last one makes the prediction
    cdef readonly object estimate     # what the group predicted in between; None without


cdef inline double weight_of(Round r) noexcept nogil:
    """Return how much the outcome of a round teaches, where most teach 1."""
    return 1.0 if r.story == NULL else r.story.weight


cdef tuple companies(list rounds)
cdef object drawn(list rounds)
cdef tuple learning_order(list rounds, bint by_due)
