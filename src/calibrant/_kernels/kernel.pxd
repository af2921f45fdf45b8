from libc.stdint cimport int64_t, uint64_t

cdef enum:
    UNINTERRUPTED = 100000        # rounds that a run plays between two looks for Ctrl-C

# The gap of its grid that a round is played in, as an opponent who knows the state sees it.
cdef struct Gap:
    double w                      # its width as an angle
    double left                   # rounds until it is cut
    bint first, last              # is its lower end 0, its upper end 1, which are not predicted?
    double z_lo, z_hi             # its ends
    double R_lo, R_hi             # their biases, by whose signs the gap was found
    double a_lo, a_hi             # their weights: each is drawn with the other's
    int bet                       # -1 or 1 if the lower or upper end is predicted by a bet, else 0


cdef class Kernel:
    cdef uint64_t _seed
    cdef uint64_t _key            # the seed, scrambled: neighbouring seeds share nothing
    cdef int64_t _rounds          # rounds completed; the current round is number _rounds
    cdef bint _placed             # is P_t of the current round computed and drawn from?
    cdef bint _running            # is a thread inside `run`, with the GIL released?

    # P_t, this round's distribution: `weights` over `points`; the draw is points[chosen].
    cdef Py_ssize_t size
    cdef Py_ssize_t chosen
    cdef Py_ssize_t _room
    cdef double *points
    cdef double *weights
    cdef double *means            # where `run` puts the mean of each round's P_t, or NULL

    cdef object watch             # is told the mean and the outcome after each `update`, or None

    # The arguments of the class built on this kernel; the kernel does not read them.
    cdef public dict _given

    # What each forecaster defines: its distribution, and what it learns from the outcome.
    # Both return 0, or -1 when there was no memory and nothing changed.
    cdef int place(self) noexcept nogil
    cdef int learn(self, double y) noexcept nogil
    # Shows the gap that this round is played in, once it is placed; False if there is no grid.
    cdef bint look(self, Gap *gap) noexcept nogil

    cdef int reserve(self, Py_ssize_t size) noexcept nogil
    cdef int ready(self) noexcept nogil
    cdef double mean(self) noexcept nogil
    cdef int advance(self, double y) noexcept nogil
    cdef int enter(self) except -1


cdef double as_outcome(object outcome) except? -1.0
cdef object array_of(const double *values, Py_ssize_t size)
