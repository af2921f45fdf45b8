"""What Restarting restarts: a forecaster with a given deviation C that tracks its own error.

Its errors are subadditive, and a certificate U(n, C) bounds them where C is large enough.
"""

from libc.stdint cimport int64_t

from calibrant._kernels.kernel cimport Kernel


cdef class Restartable(Kernel):
    """A kernel that can begin anew, with another deviation."""

    cdef void begin(self, double C) noexcept nogil:
        pass

    cdef double error_so_far(self) noexcept nogil:
        return 0.0

    @property
    def error(self):
        """The error so far, by the measure.

        Where the forecaster has epochs it is the sum of their own errors, which is never below the
        error of all rounds together, and is what the certificates bound.
        """
        self.enter()
        return self.error_so_far()

    cdef int64_t played(self) noexcept nogil:
        return 0

    def _take_over(self, state, rounds):
        """Take over a state; a bad one raises ValueError and may leave part of it behind."""
        raise NotImplementedError

    def _set_state(self, state, rounds):
        before = self._get_state(), self.played()
        try:
            self._take_over(state, rounds)
        except ValueError:
            self._take_over(*before)
            raise
