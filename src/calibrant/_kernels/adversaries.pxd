from libc.stdint cimport int64_t, uint64_t

from calibrant._kernels.kernel cimport Kernel
from calibrant._kernels.tally cimport Tally


cdef class AdversaryKernel:
    cdef int64_t _rounds          # rounds observed; the round being played is number _rounds
    cdef bint _running            # is a thread inside `play`, with the GIL released?

    # What an adversary is: its outcome against a forecaster whose P_t is ready (but whose draw it
    # must not look at), and what it remembers. `decide` gives the same answer until `remember`,
    # which returns 0, or -1 when there was no memory and nothing changed.
    cdef double decide(self, Kernel k) noexcept nogil
    cdef int remember(self, double p, double y) noexcept nogil

    cdef int observe_round(self, double p, double y) noexcept nogil
    cdef int enter(self) except -1


cdef class GreedyKernel(AdversaryKernel):
    cdef bint _squared            # raise Cal2 instead of Cal1?
    cdef Tally _tally

    cdef double preference(self, Kernel k, Py_ssize_t first, Py_ssize_t end) noexcept nogil


cdef class DragKernel(GreedyKernel):
    cdef double _horizon          # rounds of its sweeps
    cdef double _sweeps
    cdef double _width            # how far from its target it lets the forecast be
    cdef double _reach            # of the sweep, on either side of 1/2
    cdef bint _fresher            # load the point with fewer visits, instead of both?

    cdef double aim_of(self) noexcept nogil
    cdef Py_ssize_t freshest(self, Kernel k) noexcept nogil


cdef enum:
    SENSES = 12                   # what a learned opponent sees of a round
    NEURONS = 8
    GENES = NEURONS * (SENSES + NEURONS + 1) + 2 * NEURONS + SENSES + 2


cdef class LearnedKernel(GreedyKernel):
    cdef double _horizon
    cdef double[GENES] _genes
    cdef double[NEURONS] _state, _next_state
    cdef double _last             # outcome

    cdef double aim_of(self) noexcept nogil
    cdef void sense(self, Kernel k, double *x) noexcept nogil


cdef class ContrarianKernel(AdversaryKernel):
    pass


cdef class ChaserKernel(AdversaryKernel):
    cdef uint64_t _key
    cdef double _step
    cdef double _target           # q of the last round
    cdef double _heading          # +1 or -1: where it runs
    cdef bint _chased             # was the forecast behind it?
    cdef double _next_target      # the same three, as `decide` has them for this round
    cdef double _next_heading
    cdef bint _next_chased


cdef class SignPreservationKernel(AdversaryKernel):
    cdef uint64_t _key
    cdef int _depth               # epochs: 2^depth; cells: 3^depth
    cdef int64_t _cells
    cdef int64_t _length          # of an epoch, at the most
    cdef int64_t _epoch, _played  # the epoch that is played, and its rounds so far
    cdef int64_t _cell            # where it points; -1 and _cells are the ends, when all is over
    cdef int[32] _offset          # thirds of the blocks that it is in: 0, 1 or 2, by level
    cdef double *_bias            # of each cell: the sum of y - p over its predictions

    cdef int64_t cell_of(self, double p) noexcept nogil
    cdef bint upwards(self, int64_t first, int64_t size) noexcept nogil
    cdef void point(self) noexcept nogil


cdef class MarchKernel(AdversaryKernel):
    cdef double _target           # width of the gaps that it visits
    cdef double _ratio            # of the weights at the two ends while it holds
    cdef double _push, _lead      # how long before a cut it pushes
    cdef bint _turned             # has it been to the right end?
    cdef bint _next_turned        # the same after this round, as `decide` has it
