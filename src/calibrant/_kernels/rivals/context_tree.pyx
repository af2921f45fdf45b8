"""Context-tree weighting: a Bayesian mixture of all Markov chains of variable order.

A node of the tree is a past of d outcomes, d = 0 to the depth; its children are the pasts of d + 1
that end in it. Pe is the Krichevsky-Trofimov probability of the outcomes that followed a node, and
Pw = (Pe + product of the children's Pw) / 2, or Pe at the depth. A node keeps b, the ratio of Pe to
the product. With e the node's own prediction and c that of the child on the path, the mixture there
is (b e + c) / (b + 1), and an outcome multiplies b by the likelihood of e over that of c.
"""

from libc.stdint cimport uint64_t
from libc.stdlib cimport calloc, free

from calibrant._kernels.functions cimport exp, log, log1p
from calibrant._kernels.kernel cimport Kernel, array_of
from calibrant._kernels.saved import check_names, floats, integer

cdef enum:
    DEEPEST = 16

cdef double MOST = 200.0      # |log b| is kept below: beyond it, one of the two is all that counts


cdef class ContextTreeKernel(Kernel):
    """The nodes, those of depth d at 2^d - 1 and after."""

    cdef int depth
    cdef Py_ssize_t nodes
    cdef double *ones                   # outcomes that followed, as a sum
    cdef double *count                  # and how many they were
    cdef double *ratio                  # log b
    cdef uint64_t bits                  # the past, the newest outcome in the lowest bit
    # Of this round, from the root down:
    cdef Py_ssize_t[DEEPEST + 1] at     # the node
    cdef double[DEEPEST + 1] own        # e
    cdef double[DEEPEST + 1] mixed      # its mixture

    def __init__(self, seed, int depth):
        super().__init__(seed)
        cdef Py_ssize_t nodes = (<Py_ssize_t>2 << depth) - 1
        cdef double *ones = <double *>calloc(3 * nodes, sizeof(double))
        if ones == NULL:
            raise MemoryError
        free(self.ones)
        self.depth, self.nodes = depth, nodes
        self.ones, self.count, self.ratio = ones, ones + nodes, ones + 2 * nodes

    def __dealloc__(self):
        free(self.ones)

    cdef int place(self) noexcept nogil:
        cdef Py_ssize_t k
        cdef int d
        cdef double b
        if self.ones == NULL:
            return -1
        for d in range(self.depth, -1, -1):
            k = (<Py_ssize_t>1 << d) - 1 + <Py_ssize_t>(self.bits & ((<uint64_t>1 << d) - 1))
            self.at[d] = k
            self.own[d] = self.mixed[d] = (self.ones[k] + 0.5) / (self.count[k] + 1.0)
            if d < self.depth:
                b = exp(self.ratio[k])
                self.mixed[d] = (b * self.own[d] + self.mixed[d + 1]) / (b + 1.0)
        self.size = 1
        self.points[0], self.weights[0] = self.mixed[0], 1.0
        return 0

    cdef int learn(self, double y) noexcept nogil:
        cdef Py_ssize_t k
        cdef int d
        cdef double more
        for d in range(self.depth + 1):
            k = self.at[d]
            self.ones[k] += y
            self.count[k] += 1.0
            if d < self.depth:
                more = y * log(self.own[d] / self.mixed[d + 1])
                more += (1.0 - y) * (log1p(-self.own[d]) - log1p(-self.mixed[d + 1]))
                more += self.ratio[k]
                self.ratio[k] = MOST if more > MOST else -MOST if more < -MOST else more
        self.bits = (self.bits << 1 | (y > 0.5)) & ((<uint64_t>1 << DEEPEST) - 1)
        return 0

    def __sizeof__(self):
        return object.__sizeof__(self) + 3 * self.nodes * sizeof(double)

    def _get_state(self):
        return {
            "bits": self.bits,
            "ones": array_of(self.ones, self.nodes),
            "count": array_of(self.count, self.nodes),
            "ratio": array_of(self.ratio, self.nodes),
        }

    def _set_state(self, state, rounds):
        check_names(state, {"bits", "ones", "count", "ratio"})
        ones = floats(state, "ones", size=self.nodes, low=0.0, high=rounds)
        count = floats(state, "count", size=self.nodes, low=0.0, high=rounds)
        ratio = floats(state, "ratio", size=self.nodes, low=-MOST, high=MOST)
        if (ones > count).any() or (count % 1.0).any():
            raise ValueError("saved ones must be at most saved count, which is whole")
        for d in range(self.depth + 1):
            if count[2**d - 1 : 2 ** (d + 1) - 1].sum() != rounds:
                raise ValueError(f"saved count must sum to {rounds} over the pasts of one length")
        cdef uint64_t bits = integer(state, "bits", low=0, high=2**DEEPEST - 1)
        cdef const double[::1] a = ones, n = count, r = ratio
        cdef Py_ssize_t i
        self.bits = bits
        for i in range(self.nodes):
            self.ones[i], self.count[i], self.ratio[i] = a[i], n[i], r[i]
