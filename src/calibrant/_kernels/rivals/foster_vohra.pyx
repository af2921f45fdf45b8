"""Foster and Vohra's forecaster: no internal regret over the middles of N bins.

Symbols: x_i = (i + 1/2)/N; p, this round's distribution; R_ij, the regret for not having predicted
j whenever i was predicted, under the squared loss; D_ij = exp(eta R_ij). With M_i = sum p_i and
Y_i = sum p_i y over the rounds, R_ij = (x_i - x_j)((x_i + x_j) M_i - 2 Y_i): two numbers per point
are enough.
"""

from libc.math cimport sqrt
from libc.stdlib cimport calloc, free

from calibrant._kernels.functions cimport exp, log
from calibrant._kernels.kernel cimport Kernel, array_of
from calibrant._kernels.saved import check_names, check_sum, floats

# Weights e^230 times smaller than the largest are raised to that, so that every pair of points
# communicates and there is one fixed point.
cdef double LEAST = -230.0


cdef class FosterVohraKernel(Kernel):
    """The mass of the N points and the outcomes under it."""

    cdef Py_ssize_t N
    cdef double rate           # eta, or 0 for one that falls with the rounds
    cdef double *M
    cdef double *Y
    cdef double *D             # N rows

    def __init__(self, seed, Py_ssize_t N, double rate):
        super().__init__(seed)
        cdef double *M = <double *>calloc(N * (N + 2), sizeof(double))
        if M == NULL or self.reserve(N) < 0:
            free(M)
            raise MemoryError
        free(self.M)
        self.N, self.rate, self.M, self.Y, self.D = N, rate, M, M + N, M + 2 * N
        for i in range(N):
            self.points[i] = (i + 0.5) / N

    def __dealloc__(self):
        free(self.M)

    cdef void weigh_pairs(self) noexcept nogil:
        """Set D to exp(eta R), scaled so that its largest entry is 1."""
        cdef Py_ssize_t N = self.N, i, j
        cdef double eta = self.rate, top = -1e300, x_i, x_j
        cdef double *D = self.D
        if eta == 0.0:
            eta = sqrt(2.0 * log(N * (N - 1.0)) / (self._rounds + 1.0))
        for i in range(N):
            x_i = self.points[i]
            for j in range(N):
                x_j = self.points[j]
                D[i * N + j] = eta * (
                    (x_i - x_j) * ((x_i + x_j) * self.M[i] - 2.0 * self.Y[i])
                )
                if i != j and D[i * N + j] > top:
                    top = D[i * N + j]
        for i in range(N * N):
            D[i] = exp(max(D[i] - top, LEAST))

    cdef int place(self) noexcept nogil:
        """Set p to the solution of p_i sum_j D_ij = sum_j p_j D_ji, by GTH elimination."""
        cdef Py_ssize_t N = self.N, i, j, k
        cdef double *D = self.D
        cdef double *p = self.weights
        cdef double total
        if D == NULL:
            return -1
        self.size = N
        p[0] = 1.0
        if N == 1:
            return 0
        self.weigh_pairs()
        for k in range(N - 1, 0, -1):
            total = 0.0
            for j in range(k):
                total += D[k * N + j]
            for i in range(k):
                D[i * N + k] /= total
                for j in range(k):
                    D[i * N + j] += D[i * N + k] * D[k * N + j]
        for k in range(1, N):
            p[k] = 0.0
            for i in range(k):
                p[k] += p[i] * D[i * N + k]
            # Against overflow; a power of two, so that nothing is rounded.
            if p[k] > 2.0 ** 300:
                for i in range(k + 1):
                    p[i] *= 2.0 ** -300
        total = 0.0
        for i in range(N):
            total += p[i]
        for i in range(N):
            p[i] /= total
        return 0

    cdef int learn(self, double y) noexcept nogil:
        cdef Py_ssize_t i
        for i in range(self.N):
            self.M[i] += self.weights[i]
            self.Y[i] += self.weights[i] * y
        return 0

    def __sizeof__(self):
        return object.__sizeof__(self) + self.N * (self.N + 4) * sizeof(double)

    def _get_state(self):
        return {"M": array_of(self.M, self.N), "Y": array_of(self.Y, self.N)}

    def _set_state(self, state, rounds):
        check_names(state, {"M", "Y"})
        cdef const double[::1] M = floats(state, "M", size=self.N, low=0.0)
        cdef const double[::1] Y = floats(state, "Y", size=self.N, low=0.0)
        cdef Py_ssize_t i
        check_sum("M", state["M"], rounds, rounds)
        for i in range(self.N):
            if Y[i] > M[i]:
                raise ValueError(f"saved Y must not exceed saved M, got {Y[i]!r} at {i}")
        for i in range(self.N):
            self.M[i], self.Y[i] = M[i], Y[i]
