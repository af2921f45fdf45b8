"""Columns of numbers that grow together."""

from libc.stdlib cimport realloc


cdef inline int resize(double ***columns, int count, Py_ssize_t size) noexcept nogil:
    """Give each column room for `size` numbers.

    Returns 0, or -1 when there is no memory: every column then keeps its numbers.
    """
    cdef void *grown
    cdef int i
    for i in range(count):
        grown = realloc(columns[i][0], size * sizeof(double))
        if grown == NULL:
            return -1
        columns[i][0] = <double *>grown
    return 0
