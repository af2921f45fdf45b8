from libc.stdint cimport int64_t

from calibrant._kernels.grid cimport Grid

# Where a round is played: at one of two neighbouring points, or at one point if `lo == hi`.
cdef struct Place:
    double lo
    double hi
    double share          # probability of the lower point
    bint moved            # is it no neutral end of the mean's gap?
    bint bet              # does the purse pay for it?


cdef int safe_start(Grid *s, double lenient=*) noexcept nogil
cdef void safe_weigh(Grid *s, Py_ssize_t i) noexcept nogil
cdef Place safe_place(Grid *s, double m) noexcept nogil
cdef Place safe_place_in(Grid *s, double m, Py_ssize_t gap) noexcept nogil
cdef int safe_learn(
    Grid *s, double m, double z, double y, bint bet, double lag
) noexcept nogil
cdef int safe_learn_near(
    Grid *s, double m, double z, double y, bint bet, double lag, Py_ssize_t gap
) noexcept nogil
cdef int safe_reserve(Grid *s, int64_t outcomes) noexcept nogil
cdef dict safe_save(const Grid *s)
cdef object safe_load(Grid *s, object state, int64_t outcomes)
