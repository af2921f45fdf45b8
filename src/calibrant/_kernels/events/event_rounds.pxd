"""What an event forecaster remembers of a round until its outcome is learned."""

from libc.stdint cimport int64_t, uint32_t

from calibrant._kernels.events.contexts cimport MOST_CONTEXTS
from calibrant._kernels.events.event_mixture cimport EventView, MOST_EXPERTS
from calibrant._kernels.events.repair cimport Repaired
from calibrant._kernels.rounds.round cimport Round


cdef struct EventBegun:
    int64_t number                # how many rounds came before; -1 for no round
    int64_t place                 # its place in time
    double y                      # the outcome, once it is known
    double m                      # the mixture's estimate
    Repaired repaired             # and what became of it
    double u                      # what was asked for
    double z                      # the prediction
    bint bet                      # does the purse of the grid pay for it?
    double e                      # the mean of what might have been predicted
    Py_ssize_t contexts           # that it had
    uint32_t[MOST_CONTEXTS] key   # of each
    double[MOST_EXPERTS] p        # what each expert predicted


cdef class EventRound(Round):
    cdef EventBegun begun


cdef void event_keep(
    EventBegun *begun, const EventView *view, int64_t number, double z, double e, bint bet
) noexcept nogil
cdef void event_recall(const EventBegun *begun, EventView *view) noexcept nogil
cdef EventRound as_event_round(const EventBegun *begun)
