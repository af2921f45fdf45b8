from calibrant._kernels.blocks cimport Block
from calibrant._kernels.paper.closed_class cimport Chain
from calibrant._kernels.kernel cimport Kernel
from calibrant._kernels.paper.partition cimport Partition


cdef class SwapKernel(Kernel):
    cdef bint log_loss        # the log loss (EWOO), or the squared loss (OGD)?
    cdef Partition grid       # its edges are the points s, in probabilities
    cdef Chain chain          # Q_t: row s mixes the ends of the interval around a_s
    cdef Py_ssize_t room
    cdef double *G            # mass that P_t has put on s so far
    cdef double *A            # n0 > 0: the sum of P_t(s) y; gradient descent: a_s itself
    cdef double prior         # what every learner aims at before its first round
    cdef double n0            # rounds that the prior counts for; 0 stands for gradient descent
    cdef Py_ssize_t last      # the point predicted last

    cdef Block block
    cdef double total         # sum of the block's outcomes
    cdef Py_ssize_t fixed     # intervals asked for, or 0 for a number that suits T
    cdef bint given           # was the partition given as such?
    cdef Partition spare      # the next block's partition, being built

    # Start anew for T rounds, with all learners aiming at `prior` (the papers have 1/2) and the last
    # prediction there; a kernel that was given its points takes those in `spare`. Returns -1 when
    # there was no memory and nothing changed. The caller watches the horizon, unless this
    # kernel was made to double it.
    cdef int open_block(self, double T, double prior) noexcept nogil
    cdef int begin(self, const Partition *partition, double prior) noexcept nogil
    cdef int lay_grid(self, Py_ssize_t K) noexcept nogil
    cdef int reserve_points(self, Py_ssize_t points) noexcept nogil
    cdef double action(self, Py_ssize_t s) noexcept nogil
    cdef void set_row(self, Py_ssize_t s) noexcept nogil
