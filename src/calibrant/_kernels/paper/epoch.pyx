"""The paper's stationary baselines, Algorithms `simple_block` and `simple_block_PKL`.

Symbols: m, the epoch, which lasts s_m = 2^m rounds; y_hat, the mean outcome of epoch m - 1;
p_hat, what epoch m predicts; iota, the logarithmic factor of order log(T / delta).
"""

from libc.math cimport M_PI, fmax, fmin, sqrt

from calibrant._kernels.functions cimport asin, exp2, log, sin
from calibrant._kernels.kernel cimport Kernel
from calibrant._kernels.saved import check_names, integer, number


cdef class EpochKernel(Kernel):
    """The prediction of the epoch, and the sum of outcomes for that of the next."""

    def __cinit__(self, *args, **kwargs):
        self.m, self.y_hat, self.p_hat = 1, 0.5, 0.5

    def __init__(self, seed, bint kl, double delta):
        super().__init__(seed)
        self.kl, self.delta = kl, delta
        self.settle()

    cdef void settle(self) noexcept nogil:
        """Fix what epoch m predicts."""
        cdef double s_m = exp2(self.m), iota, d_m, theta, half
        self.p_hat = self.y_hat
        if self.kl:
            # The rounds up to the end of epoch m, 2 s_m - 2, take the place of T: no horizon is
            # needed.
            iota = log(2.0 * s_m / self.delta)
            d_m = fmin(M_PI / 4.0, 8.0 * M_PI * sqrt(iota / s_m))
            theta = fmin(fmax(2.0 * asin(sqrt(self.y_hat)), d_m), M_PI - d_m)
            half = sin(theta / 2.0)
            self.p_hat = half * half

    cdef int place(self) noexcept nogil:
        self.size = 1
        self.points[0] = self.p_hat
        self.weights[0] = 1.0
        return 0

    cdef int learn(self, double y) noexcept nogil:
        self.seen += 1.0
        self.total += y
        if self.seen == exp2(self.m):
            self.y_hat = fmin(self.total / self.seen, 1.0)
            self.m += 1
            self.seen = self.total = 0.0
            self.settle()
        return 0

    def _get_state(self):
        return {"m": self.m, "y_hat": self.y_hat, "seen": self.seen, "total": self.total}

    def _set_state(self, state, rounds):
        check_names(state, {"m", "y_hat", "seen", "total"})
        # Epochs before m have 2^m - 2 rounds.
        cdef int m = (rounds + 2).bit_length() - 1
        cdef double seen = rounds + 2 - 2**m
        integer(state, "m", low=m, high=m)
        number(state, "seen", low=seen, high=seen)
        cdef double y_hat = number(state, "y_hat", low=0.0, high=1.0)
        cdef double total = number(state, "total", low=0.0, high=seen)
        self.m, self.y_hat, self.seen, self.total = m, y_hat, seen, total
        self.settle()
