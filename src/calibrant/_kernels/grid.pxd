from libc.stdint cimport int64_t


# Points of [0, 1] in increasing order, the first and the last of which (0 and 1) are sentinels.
# Gap i lies between the points i and i + 1.
cdef struct Grid:
    Py_ssize_t count      # points, sentinels included
    Py_ssize_t room
    double lenient        # the owner's: how fast what it makes of a bias grows with the visits
    double purse          # the owner's: what it may still spend
    Py_ssize_t last       # the owner's: where it looked last, which is a guess,
    Py_ssize_t played     # and the point that it played last, which is another
    double *theta         # place of a point as an angle, 2 arcsin sqrt(z)
    double *z             # the probability predicted there
    double *v             # z (1 - z), the variance of an outcome
    double *n             # visits: outcomes learned of rounds that predicted z
    double *S             # bias: sum of z - y over those rounds
    double *e             # the owner's, like the next two: what it makes of n and S,
    double *o             # or keeps beside them
    double *b
    double *g             # rounds counted in the gap to the right since it was last cut


cdef int grid_start(Grid *s, Py_ssize_t gaps) noexcept nogil
cdef void grid_free(Grid *s) noexcept nogil
cdef int grid_copy(Grid *s, const Grid *source) noexcept nogil
cdef int grid_grow(Grid *s, Py_ssize_t count) noexcept nogil
cdef bint grid_cut(Grid *s, Py_ssize_t k) noexcept nogil
cdef Py_ssize_t grid_bytes(const Grid *s) noexcept nogil
cdef dict grid_save(const Grid *s)
cdef object grid_load(Grid *s, object state, int64_t rounds, double counted)


cdef inline Py_ssize_t grid_find(const Grid *s, double z) noexcept nogil:
    """Return the last point at or below z, for z in [0, 1)."""
    cdef Py_ssize_t lo = 0, points = s.count - 1, half
    while points > 1:  # as many turns for every z, and no branch that a processor could mistake
        half = points >> 1
        lo += half * (s.z[lo + half] <= z)
        points -= half
    return lo


cdef inline bint grid_is_near(const Grid *s, double z, Py_ssize_t guess) noexcept nogil:
    """Return whether `grid_find` finds the guess or the point after it."""
    return 0 <= guess < s.count - 2 and s.z[guess] <= z < s.z[guess + 2]


cdef inline Py_ssize_t grid_find_near(const Grid *s, double z, Py_ssize_t guess) noexcept nogil:
    """Return what `grid_find` does, at once if that is the guess or the point after it."""
    return guess + (s.z[guess + 1] <= z) if grid_is_near(s, z, guess) else grid_find(s, z)


cdef inline int grid_reserve(Grid *s, Py_ssize_t count) noexcept nogil:
    """Make room for so many points; -1 when there is no memory, and nothing has changed."""
    return 0 if count <= s.room else grid_grow(s, count)
