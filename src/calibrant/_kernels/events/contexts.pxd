from libc.stdint cimport int64_t, uint32_t, uint64_t

cdef enum:
    ORDERS = 13                   # the last 0, 1, ..., 12 outcomes
    STATES = ORDERS + 2           # and how busy it was, and how long the run is
    BUILT_IN = 5                  # periods that are always there
    MOST_PERIODS = BUILT_IN + 8
    BY_PERIOD = 3                 # contexts of each
    CALENDAR = 4                  # contexts of a time
    MOST_CONTEXTS = STATES + BY_PERIOD * MOST_PERIODS + CALENDAR
    STEPS = 15                    # steps between times that are remembered
    KEY_BITS = 18                 # of a key, below the number of its context


# All of the past that contexts are made of.
cdef struct Past:
    uint64_t bits                 # the last outcomes known, that of the latest round lowest
    int64_t run                   # how many of the latest are equal
    double[2] busy                # fast means of them
    Py_ssize_t periods
    int64_t[MOST_PERIODS] period
    int64_t ahead                 # rounds from the last outcome that is used to the one forecast
    int64_t opened                # place in time of the last round that was asked about
    int64_t newest                # place of the latest outcome known
    Py_ssize_t room               # places remembered, a power of two
    signed char *at               # by place: the outcome there, or UNKNOWN
    double time                   # of the last round that was asked about; NaN if it had none
    int64_t timed                 # steps between times seen
    double[STEPS] step            # the last of them


# A round as the contexts see it.
cdef struct Asked:
    int64_t place                 # its place in time
    double time                   # NaN without one
    Py_ssize_t count              # contexts that it has
    uint32_t[MOST_CONTEXTS] key   # a number for each, no two of which mean the same


cdef int past_start(
    Past *past, int64_t ahead, Py_ssize_t periods, const int64_t *period
) noexcept nogil
cdef void past_free(Past *past) noexcept nogil
cdef void past_ask(const Past *past, double time, Asked *asked) noexcept nogil
cdef void past_open(Past *past, const Asked *asked) noexcept nogil
cdef void past_learn(Past *past, int64_t place, double y) noexcept nogil
cdef int64_t past_back(const Past *past, int64_t period) noexcept nogil
cdef double past_step(const Past *past) noexcept nogil
cdef uint32_t past_most(const Past *past) noexcept nogil
cdef dict past_save(const Past *past)
cdef object past_load(Past *past, object state, int64_t rounds, int64_t learned)
