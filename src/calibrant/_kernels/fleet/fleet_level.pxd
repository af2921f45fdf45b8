from libc.stdint cimport int64_t

from calibrant._kernels.fleet.fleet_blocks cimport BLOCK_BITS
from calibrant._kernels.fleet.fleet_owned cimport Owned
from calibrant._kernels.fleet.fleet_rule cimport Key, Pool


cdef class Level:
    cdef Pool pool
    cdef Key **blocks
    cdef Py_ssize_t room            # blocks
    cdef Py_ssize_t count           # keys
    cdef readonly Owned owned       # what keys with many outcomes have of their own
    cdef object held                # the array that read-only keys stand in, or None

    cdef int grow(self, Py_ssize_t count) except -1
    cdef int stand_on(self, keys) except -1


cdef inline Key *key_at(Level level, int64_t slot) noexcept nogil:
    return &level.blocks[slot >> BLOCK_BITS][slot & ((1 << BLOCK_BITS) - 1)]
