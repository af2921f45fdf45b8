"""The keys of a batch, checked, where compiled loops read them."""

cimport cython
from libc.stdint cimport int64_t, uint8_t, uint64_t

# What the keys of a batch or of an index are: nobody knows while there is none.
cdef enum Sort:
    UNKNOWN, INTS, TEXTS


@cython.final
cdef class KeyBatch:
    cdef Py_ssize_t count
    cdef Sort sort
    cdef const int64_t *ints      # INTS: the keys
    cdef const int64_t *starts    # TEXTS: key i is text[starts[i] : starts[i + 1]], in UTF-8
    cdef const uint8_t *text
    cdef object owners            # keeps the memory of the pointers
    cdef int64_t size_of(self, Py_ssize_t i) noexcept nogil
    cdef uint64_t hash_at(self, Py_ssize_t i) noexcept nogil


cdef KeyBatch batch_of_ints(values)
cdef KeyBatch batch_of_texts(starts, text)
cdef str sort_name(Sort sort)
