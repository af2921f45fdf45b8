# A partition: interval i lies between edges[i] and edges[i + 1]. An inner edge before `turn`
# opens the interval on its right, [.,.); from `turn` on it closes the one on its left, (.,.].
cdef struct Partition:
    Py_ssize_t intervals
    Py_ssize_t turn       # in [1, intervals]
    Py_ssize_t room       # edges that fit
    double *edges         # intervals + 1 of them, strictly increasing


# All return 0, or -1 when there was no memory and nothing changed.
cdef int partition_reserve(Partition *p, double edges) noexcept nogil
cdef int partition_uniform(
    Partition *p, Py_ssize_t intervals, double low, double high
) noexcept nogil
cdef int partition_refined(
    Partition *p, double centre, double r, Py_ssize_t left, Py_ssize_t right, Py_ssize_t per_band,
    bint anchored, double low, double high,
) noexcept nogil
cdef int partition_copy(Partition *p, const Partition *source) noexcept nogil
cdef int partition_set(Partition *p, const double *edges, Py_ssize_t intervals) noexcept nogil
cdef void partition_as_probabilities(Partition *p) noexcept nogil
cdef void partition_free(Partition *p) noexcept nogil
