from libc.stdint cimport int64_t

from calibrant._kernels.events.event_mixture cimport EventState, EventView
from calibrant._kernels.events.event_rounds cimport EventBegun
from calibrant._kernels.grid cimport Grid
from calibrant._kernels.kernel cimport Kernel


cdef class EventStages(Kernel):
    cdef EventState sharp
    cdef Grid safe
    cdef EventView view           # of this round
    cdef bint bet                 # does the purse of the grid pay for it?
    cdef double time              # of this round; NaN without
    cdef const double *times      # of the rounds of a `run`, the first of which is number `first`
    cdef int64_t first
    cdef int64_t ahead
    cdef EventBegun *held         # by number modulo `ahead`: rounds with outcomes that are held

    cdef void keep(self, EventBegun *begun) noexcept nogil
    cdef int open(self, EventBegun *begun) noexcept nogil
    cdef int answer(self, const EventBegun *begun, double y) noexcept nogil
    cdef int learn_round(
        self, const EventView *view, double z, double y, bint bet, double late
    ) noexcept nogil
    cdef int learn_begun(self, const EventBegun *begun, double y, int64_t opened) noexcept nogil
    cdef int release(self) noexcept nogil
    cdef void leave(self) noexcept nogil
    cdef void forget_held(self) noexcept nogil
