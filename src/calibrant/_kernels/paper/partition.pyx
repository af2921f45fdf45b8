"""Building partitions: uniform, and an inner region with doubling bands around it.

Edges are pushed from left to right, and one that is not beyond the last is dropped: regions that
touch the end of the domain, have no width, or are too thin for floats merge with their neighbour
instead of leaving an empty interval.
"""

from libc.math cimport M_PI, fmax, fmin, ldexp
from libc.stdlib cimport free, realloc
from libc.string cimport memmove

from calibrant._kernels.functions cimport sin
from calibrant._kernels.kernel cimport array_of

# A radius below this share of the domain counts as this share: floats resolve nothing finer.
cdef double FINEST = 2.0 ** -52


cdef int partition_reserve(Partition *p, double edges) noexcept nogil:
    """Make room for that many edges; a count too large for memory is refused, not wrapped."""
    cdef void *grown
    if edges <= p.room:
        return 0
    if edges > ldexp(1.0, 40):
        return -1
    grown = realloc(p.edges, <size_t>edges * sizeof(double))
    if grown == NULL:
        return -1
    p.edges = <double *>grown
    p.room = <Py_ssize_t>edges
    return 0


cdef inline void push(Partition *p, double edge) noexcept nogil:
    if edge > p.edges[p.intervals]:
        p.intervals += 1
        p.edges[p.intervals] = edge


cdef void cut(Partition *p, double l, double u, Py_ssize_t N) noexcept nogil:
    """Go on from l to u in N equal steps (the paper's UnifPart)."""
    cdef Py_ssize_t k
    for k in range(1, N):
        push(p, fmin(l + (u - l) * (<double>k / N), u))
    push(p, u)


cdef int bands_within(double room, double r) noexcept nogil:
    """Return how many bands of width r, 2r, 4r, ... it takes to fill `room`."""
    cdef int q = 0
    while (ldexp(1.0, q) - 1.0) * r < room:
        q += 1
    return q


cdef int partition_uniform(
    Partition *p, Py_ssize_t intervals, double low, double high
) noexcept nogil:
    """Cut [low, high] into equal intervals, [.,.) but for the last."""
    if partition_reserve(p, <double>intervals + 1.0) < 0:
        return -1
    p.intervals = 0
    p.edges[0] = low
    cut(p, low, high, intervals)
    p.turn = p.intervals
    return 0


cdef int partition_refined(
    Partition *p, double centre, double r, Py_ssize_t left, Py_ssize_t right, Py_ssize_t per_band,
    bint anchored, double low, double high,
) noexcept nogil:
    """Cut centre +- 2r into `left + right` intervals and each band around it into `per_band`.

    Equations `outer_division_Cal2` and `outer_division` of the paper. With `anchored`, the two
    sides of the centre are cut apart, `left` and `right` intervals each: the centre is an edge, and
    must lie inside. Without it the centre may lie outside.
    """
    cdef double a, b, far, near
    cdef int below, above, q
    r = fmax(r, FINEST * (high - low))
    a, b = fmin(fmax(centre - 2.0 * r, low), high), fmax(fmin(centre + 2.0 * r, high), low)
    below, above = bands_within(a - low, r), bands_within(high - b, r)
    if partition_reserve(p, <double>(below + above) * per_band + left + right + 3.0) < 0:
        return -1
    p.intervals = 0
    p.edges[0] = low
    far = low
    for q in range(below - 1, -1, -1):
        near = fmax(a - (ldexp(1.0, q) - 1.0) * r, low)
        cut(p, far, near, per_band)
        far = near
    if anchored:
        cut(p, a, centre, left)
        cut(p, centre, b, right)
    else:
        cut(p, a, b, left + right)
    p.turn = p.intervals
    near = b
    for q in range(1, above + 1):
        far = fmin(b + (ldexp(1.0, q) - 1.0) * r, high)
        cut(p, near, far, per_band)
        near = far
    return 0


cdef int partition_set(Partition *p, const double *edges, Py_ssize_t intervals) noexcept nogil:
    """Take over edges that increase; every inner one opens the interval on its right."""
    if partition_reserve(p, <double>intervals + 1.0) < 0:
        return -1
    memmove(p.edges, edges, (intervals + 1) * sizeof(double))
    p.intervals = p.turn = intervals
    return 0


cdef int partition_copy(Partition *p, const Partition *source) noexcept nogil:
    """Make p the same as source."""
    if partition_set(p, source.edges, source.intervals) < 0:
        return -1
    p.turn = source.turn
    return 0


cdef void partition_as_probabilities(Partition *p) noexcept nogil:
    """Turn edges that are angles theta into probabilities sin^2(theta/2).

    Near 0 and pi angles lie denser than probabilities: edges that fall together merge.
    """
    cdef Py_ssize_t intervals = p.intervals, turn = p.turn, i
    cdef double half = sin(p.edges[0] / 2.0)
    p.edges[0] = half * half
    p.intervals = 0
    for i in range(1, intervals + 1):
        half = sin(fmin(p.edges[i], M_PI) / 2.0)
        push(p, half * half)
        if i == turn:
            p.turn = max(p.intervals, 1)


cdef void partition_free(Partition *p) noexcept nogil:
    free(p.edges)


cdef object taken(Partition *p):
    """Return the edges and the turn, and free the partition."""
    edges, turn = array_of(p.edges, p.intervals + 1), p.turn
    partition_free(p)
    return edges, turn


def uniform_edges(Py_ssize_t intervals, double low, double high):
    """Return the edges of a uniform partition and its turn."""
    cdef Partition p = Partition(0, 0, 0, NULL)
    if partition_uniform(&p, intervals, low, high) < 0:
        raise MemoryError(f"no memory for {intervals} intervals")
    return taken(&p)


def refined_edges(
    double centre, double r, Py_ssize_t inner, Py_ssize_t per_band, bint anchored,
    double low, double high,
):
    """Return the edges of an inner region with its bands, and their turn."""
    cdef Partition p = Partition(0, 0, 0, NULL)
    cdef Py_ssize_t left = (inner + 1) // 2 if anchored else inner
    cdef Py_ssize_t right = left if anchored else 0
    if partition_refined(&p, centre, r, left, right, per_band, anchored, low, high) < 0:
        raise MemoryError(f"no memory for {inner} intervals and bands of {per_band}")
    return taken(&p)


def probability_edges(const double[::1] edges, Py_ssize_t turn):
    """Return edges given as angles as probabilities, and their turn."""
    cdef Partition p = Partition(0, 0, 0, NULL)
    if partition_set(&p, &edges[0], edges.shape[0] - 1) < 0:
        raise MemoryError(f"no memory for {edges.shape[0]} edges")
    p.turn = turn
    partition_as_probabilities(&p)
    return taken(&p)
