# A state of a Markov chain whose rows have at most two entries, side by side. The marks of the
# search are kept with the row, so that a state is one line of cache.
cdef struct State:
    Py_ssize_t at         # goes to state `at` or `at + 1`
    double lower          # with probability `lower` to the one
    double upper          # and `upper` to the other
    Py_ssize_t order      # of discovery by the search, from 1; 0 between searches
    Py_ssize_t low        # the earliest state still on the stack that it leads back to
    int followed          # how many of its two steps were followed; 0 between searches
    bint waiting          # is its component incomplete?
    Py_ssize_t entries    # how many steps of the class lead here
    bint core             # is it in the elimination?
    Py_ssize_t place      # its row there; outside the core, that of the one state that leads here
    double share          # of that state's visits that come here; 1 in the core


cdef struct Chain:
    Py_ssize_t room
    State *state
    Py_ssize_t size           # of the closed class found last
    Py_ssize_t *members       # its states, increasing
    Py_ssize_t *path          # search: the states being followed, innermost last
    Py_ssize_t *stack         # search: the states whose component is incomplete
    Py_ssize_t *found         # search: all states it discovered
    Py_ssize_t side           # of the largest elimination that there is room for
    double *A                 # elimination: the rows of the core, one after the other
    double *pi                # elimination: its stationary distribution


# Make room for that many states; returns -1 when there was no memory and nothing changed.
cdef int chain_reserve(Chain *c, Py_ssize_t states) noexcept nogil
# Set members to the closed class that can be reached from `start`; of several, to the first.
cdef void find_closed_class(Chain *c, Py_ssize_t start) noexcept nogil
# Fill in the stationary distribution of the members; returns -1 when there was no memory.
cdef int find_stationary(Chain *c, double *pi) noexcept nogil
cdef void chain_free(Chain *c) noexcept nogil
cdef Py_ssize_t chain_size(const Chain *c) noexcept nogil     # in bytes
