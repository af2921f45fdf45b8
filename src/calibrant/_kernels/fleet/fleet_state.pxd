from libc.stdint cimport int64_t

from calibrant._kernels.fleet.fleet_level cimport Level
from calibrant._kernels.fleet.fleet_whole cimport Whole
from calibrant._kernels.grid cimport Grid
from calibrant._kernels.watch.key_evidence cimport KeyEvidence


cdef class PartState:
    cdef Whole whole
    cdef Grid safe
    cdef readonly Level root        # one key that stands for all
    cdef readonly Level parents
    cdef readonly Level keys
    cdef readonly KeyEvidence watched   # what monitors know of the keys; None if none watches
    cdef int _kind
    cdef double size                # mean absolute margin so far
    cdef int64_t _learned
