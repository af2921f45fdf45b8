# Two states that take turns unseen, each with a probability of its own for the outcome.
cdef struct Hidden:
    double[2] stay        # probability to stay in the state
    double[2] says        # probability of a 1 there
    double second         # probability of being in the second state, given all outcomes so far
    double[16] sums       # eight faded means for each of the two states that it may be in now


cdef void hidden_start(Hidden *h, double first, double second, double low, double high) noexcept nogil
cdef double hidden_say(const Hidden *h, double steps) noexcept nogil
cdef void hidden_learn(Hidden *h, double y, double learned) noexcept nogil
