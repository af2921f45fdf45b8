from libc.stdint cimport int64_t

from calibrant._kernels.events.contexts cimport Asked, MOST_CONTEXTS, Past
from calibrant._kernels.events.hidden cimport Hidden
from calibrant._kernels.events.repair cimport Repair, Repaired
from calibrant._kernels.events.slots cimport Slots

cdef enum:
    RECENT = 5                                # means of the last outcomes
    HIDDEN = 2                                # hidden Markov chains
    ALONE = 1 + RECENT + HIDDEN               # experts without a context; the blend is the first
    MOST_EXPERTS = ALONE + 2 * MOST_CONTEXTS  # and two for each context


# Everything the mixture has learned.
cdef struct EventState:
    Past past
    Slots slots
    Hidden[HIDDEN] hidden
    double[RECENT] recent
    int64_t learned                           # outcomes learned
    Py_ssize_t experts                        # how many there are; those of the calendar stand last
    double[MOST_EXPERTS] w                    # weight of each expert
    double[MOST_EXPERTS] w0                   # its prior
    double[MOST_EXPERTS] v                    # its weight in the blend
    Repair repair                             # of the mixture's estimate
    double trust                              # weight of the repaired estimate against a slow mean
    double lag                                # how many rounds late outcomes are learned, lately


# A round, and what each expert says of it.
cdef struct EventView:
    Asked asked
    Py_ssize_t count                          # experts
    Py_ssize_t[MOST_CONTEXTS] at              # where the slots of the contexts are
    double[MOST_EXPERTS] p                    # ASLEEP for one that says nothing
    double[MOST_EXPERTS] x                    # log p - log(1 - p); 0 for one that says nothing
    double m                                  # the mixture's estimate
    Repaired repaired                         # and what becomes of it
    double u                                  # what is asked for in the end


cdef double[RECENT] RECENT_RATES

cdef int event_start(
    EventState *s, int64_t ahead, Py_ssize_t given, const int64_t *period
) noexcept nogil
cdef void event_free(EventState *s) noexcept nogil
cdef double quick_logit(double p) noexcept nogil
cdef void event_view(const EventState *s, double time, EventView *view) noexcept nogil
cdef int event_reserve(EventState *s, const EventView *view) noexcept nogil
cdef void event_learn(
    EventState *s, const EventView *view, double z, double y, double late
) noexcept nogil
