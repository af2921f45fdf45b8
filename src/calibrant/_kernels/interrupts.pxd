cdef int hold() except -1
cdef int release() noexcept
