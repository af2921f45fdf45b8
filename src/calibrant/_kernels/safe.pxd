# The grid: points in increasing order, the first and the last of which (0 and 1) are sentinels.
# Gap i lies between the points i and i + 1.
cdef struct SafeState:
    Py_ssize_t count      # points, sentinels included
    Py_ssize_t room
    double *theta         # place of a point as an angle, 2 arcsin sqrt(z)
    double *z             # the probability predicted there
    double *v             # z (1 - z), the variance of an outcome
    double *n             # visits: outcomes learned of rounds that predicted z
    double *S             # bias: sum of z - y over those rounds
    double *e             # what the bias costs, S^2 / (n v + 1)
    double *g             # rounds learned whose mean lay in the gap to the right since it was cut


# Where a round is played: on one of two ends. A point by itself has `lo == hi`.
cdef struct Place:
    double lo
    double hi
    double share          # probability of the lower end


cdef int safe_start(SafeState *s) noexcept nogil
cdef void safe_free(SafeState *s) noexcept nogil
cdef int safe_reserve(SafeState *s, Py_ssize_t count) noexcept nogil
cdef Py_ssize_t safe_find(const SafeState *s, double z) noexcept nogil
cdef double safe_cost(double n, double S, double v) noexcept nogil
cdef Place safe_place(const SafeState *s, double m) noexcept nogil
cdef int safe_learn(SafeState *s, double m, double z, double y) noexcept nogil
