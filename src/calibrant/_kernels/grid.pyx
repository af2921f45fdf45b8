"""A grid of prediction points that is refined where it is used: what Zoom and Safe share."""

from libc.math cimport M_PI
from libc.stdint cimport int64_t
from libc.stdlib cimport free
from libc.string cimport memcpy, memmove

import numpy as np

from calibrant._kernels.functions cimport cos, sin
from calibrant._kernels.kernel cimport array_of
from calibrant._kernels.memory cimport resize
from calibrant._kernels.saved import SLACK, floats

cdef enum:
    COLUMNS = 9

GRID_PARTS = ("theta", "z", "v", "n", "S", "g")


cdef inline void columns_of(Grid *s, double ***columns) noexcept nogil:
    columns[0], columns[1], columns[2], columns[3] = &s.theta, &s.z, &s.v, &s.n
    columns[4], columns[5], columns[6], columns[7], columns[8] = &s.S, &s.e, &s.o, &s.b, &s.g


cdef int grid_grow(Grid *s, Py_ssize_t count) noexcept nogil:
    """Make room for so many points and some more: fewer and fewer are new."""
    cdef double **columns[COLUMNS]
    cdef Py_ssize_t room = count + count // 8 + 4
    columns_of(s, columns)
    if resize(columns, COLUMNS, room) < 0:
        return -1
    s.room = room
    return 0


cdef void grid_free(Grid *s) noexcept nogil:
    cdef double **columns[COLUMNS]
    cdef Py_ssize_t i
    columns_of(s, columns)
    for i in range(COLUMNS):
        free(columns[i][0])


cdef int grid_copy(Grid *s, const Grid *source) noexcept nogil:
    """Make s the same as source; -1 when there is no memory."""
    cdef double **to[COLUMNS]
    cdef double **of[COLUMNS]
    cdef Py_ssize_t i
    if grid_reserve(s, source.count) < 0:
        return -1
    columns_of(s, to)
    columns_of(<Grid *>source, of)
    for i in range(COLUMNS):
        memcpy(to[i][0], of[i][0], source.count * sizeof(double))
    s.count, s.lenient, s.purse = source.count, source.lenient, source.purse
    return 0


cdef Py_ssize_t grid_bytes(const Grid *s) noexcept nogil:
    return COLUMNS * s.room * sizeof(double)


cdef void insert(Grid *s, Py_ssize_t at, double theta, double z, double v) noexcept nogil:
    """Put a fresh point at index `at`; there must be room. Both gaps beside it start anew."""
    cdef double **columns[COLUMNS]
    cdef Py_ssize_t i
    columns_of(s, columns)
    for i in range(COLUMNS):
        memmove(columns[i][0] + at + 1, columns[i][0] + at, (s.count - at) * sizeof(double))
    s.theta[at], s.z[at], s.v[at] = theta, z, v
    s.n[at] = s.S[at] = s.e[at] = s.o[at] = s.b[at] = s.g[at] = 0.0
    if at > 0:
        s.g[at - 1] = 0.0
    s.count += 1


cdef int grid_start(Grid *s, Py_ssize_t gaps) noexcept nogil:
    """Start with gaps of equal angles, an even number of them; -1 when there is no memory."""
    cdef Py_ssize_t i
    cdef double theta, a, b
    if grid_reserve(s, gaps + 1) < 0:
        return -1
    insert(s, 0, 0.0, 0.0, 0.0)
    for i in range(1, gaps):
        theta = M_PI * i / gaps
        a, b = sin(0.5 * theta), cos(0.5 * theta)
        if 2 * i == gaps:
            insert(s, i, theta, 0.5, 0.25)
        else:
            insert(s, i, theta, a * a, (a * a) * (b * b))
    insert(s, gaps, M_PI, 1.0, 0.0)
    return 0


cdef bint grid_cut(Grid *s, Py_ssize_t k) noexcept nogil:
    """Put a fresh point, k + 1, in the middle of gap k; there must be room.

    A gap too thin for a number in between stays whole, and False is returned.
    """
    cdef double theta = 0.5 * (s.theta[k] + s.theta[k + 1])
    cdef double a = sin(0.5 * theta), b = cos(0.5 * theta)
    if not s.z[k] < a * a < s.z[k + 1]:
        return False
    insert(s, k + 1, theta, a * a, (a * a) * (b * b))
    return True


cdef dict grid_save(const Grid *s):
    """Return all columns but those that the owner makes of them, by name."""
    return {
        "theta": array_of(s.theta, s.count),
        "z": array_of(s.z, s.count),
        "v": array_of(s.v, s.count),
        "n": array_of(s.n, s.count),
        "S": array_of(s.S, s.count),
        "g": array_of(s.g, s.count),
    }


def check_grid(theta, z, v, n, S, g, rounds, counted):
    """Refuse points that are not where their angles say, and sums that rounds cannot reach."""
    if (abs(z - np.sin(theta / 2) ** 2) > 1e-9).any() or (abs(v - z * (1 - z)) > 1e-9).any():
        raise ValueError("saved theta, z and v must be of the same points")
    last = len(n) - 1
    if n[0] or n[last] or g[last] or (n % 1).any() or (counted == rounds and (g % 1).any()):
        raise ValueError("saved n and g must be whole, and 0 where nothing is predicted")
    if n.sum() > rounds or g.sum() > counted * (1 + SLACK):
        raise ValueError(f"saved n and g must count no more than {rounds} rounds")
    # An outcome in [0, 1] adds z - y.
    slack = SLACK * n
    if (S > n * z + slack).any() or (S < n * (z - 1) - slack).any():
        raise ValueError("saved S must be within reach of saved n")


cdef object grid_load(Grid *s, object state, int64_t rounds, double counted):
    """Take over what `grid_save` returned, or raise and change nothing; e is left to the owner.

    At most that many rounds were played on the grid, and `counted` in its gaps: the same number, or
    more if some rounds count for several.
    """
    cdef const double[::1] theta = floats(state, "theta", low=0.0, high=M_PI)
    cdef Py_ssize_t count = theta.shape[0], i
    cdef const double[::1] z = floats(state, "z", size=count, low=0.0, high=1.0)
    cdef const double[::1] v = floats(state, "v", size=count, low=0.0, high=0.25)
    cdef const double[::1] n = floats(state, "n", size=count, low=0.0, high=rounds)
    cdef const double[::1] S = floats(state, "S", size=count)
    cdef const double[::1] g = floats(state, "g", size=count, low=0.0)
    if count < 3 or z[0] != 0.0 or z[count - 1] != 1.0:
        raise ValueError("saved z must run from 0 to 1 over three points or more")
    for i in range(1, count):
        if not (theta[i - 1] < theta[i] and z[i - 1] < z[i]):
            raise ValueError(f"saved points must increase, they do not at point {i}")
    check_grid(*(state[name] for name in GRID_PARTS), rounds, counted)
    if grid_reserve(s, count) < 0:
        raise MemoryError
    s.count = count
    for i in range(count):
        s.theta[i], s.z[i], s.v[i] = theta[i], z[i], v[i]
        s.n[i], s.S[i], s.g[i] = n[i], S[i], g[i]
