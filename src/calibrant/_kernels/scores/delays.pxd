cdef enum:
    RANGES = 16                   # of scores, a unit of the logit wide
    AGES = 64                     # bins of the age of an event, from its prediction to its deadline


cdef Py_ssize_t range_of(double x) noexcept nogil
cdef double delays_count(const double *H) noexcept nogil
cdef void delays_learn(double *H, Py_ssize_t k, double u) noexcept nogil
cdef void delays_shares(const double *H, double *F) noexcept nogil
cdef double delays_share(const double *F, Py_ssize_t k, double u) noexcept nogil
