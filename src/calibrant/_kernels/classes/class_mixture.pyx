"""The sharp stage for several classes: a mixture of experts that predict vectors of probabilities.

K classes have scores s, and x = log s. A score of 0 is taken as "less than any other score of this
model", not as "never": x is then the logarithm of half of the smallest score so far. `top` is the
likeliest class by the scores, `last` the class that was learned last when the round was predicted.

| experts | say | forget | prior |
|---|---|---|---|
| scores | softmax(x) | | |
| 2 temperatures | softmax(a x) | 0, 1/100 | a: sd .6 around 1, .3 where it forgets |
| 4 biased | softmax(a x + b) | 0, 1/1000, 1/100, 1/20 | b: sd 1, 1, 1.5, .5 |
| 3 base rates | (N_k + 1/K) / (N + 1) | 0, 1/100, 3/100 | |
| by top | softmax(z + B[top]), z = a x + b of the first biased one | 1/1000 a visit | sd 1 |
| by last | softmax(z + C[last]) | 1/1000 a visit | sd .7 |
| 2 pools | softmax(sum of w_d f_d) | 0, 1/100 | sd .5 around their start |
| matrix | softmax(W (x - mean x, 1)) | 1/2000 | sd .3 around the identity; beyond 32 classes, its diagonal |

The features f_d of the pools are x, the biases of the experts above, the difference of recent and
long-term base rates, -x^2 / 10 and three indicators: of the top class, of the last, of a score of 0.
Their coefficients weight what the other experts learned, and are the same for all classes;
so rare classes share strength, and biases may have weak priors. Biases that forget 1/100
return to those that forget 1/1000, which follow lasting changes; all others return to 0.

**Learning.** Temperatures take a Newton step; what does not forget has a prior as strong as three
labels at most, since scores that are all alike need slopes far from 1. With A_k = sum of p_k,
biases take the step (p_k - 1[k=y]) / A_k: in the gauge sum p d = 0 it solves (diag p - p p') d = g
exactly, since the g sum to 0. Pools have a Newton step with the whole Hessian, whose inverse is
updated in every eighth round. The matrix is
learned by recursive least squares with one curvature for all classes; of more than 32 classes it has
a diagonal and a constant alone, a slope and a bias for each class, which take Newton steps of their own.

**Mixing.** Weights w by Bayes' rule, with a share of 5e-5 returning to the prior, and weights v by
online EM at the rate 1/20 are mixed by Bayes' rule again. So the log loss is at most that of any expert
i plus log(1 / (.9 prior_i)) in all and 1.6e-4 a round (`docs/multiclass.md`). Finally, a share d of the
long-term base rates is mixed in, where d is how often they were needed for labels that no score predicted.

**Late labels.** Weights are updated by the likelihoods of what was predicted *then*, to the power eta = 1 / (1 +
late / 2), but at least 1/8. Pools learn on the features of then with the current coefficients: with current
features, fast experts would seem more up to date than they were. Rounds that are pending together have much in
common, which the pool that forgets would turn into coefficients for the next ones: for it, a late label counts 1 /
(1 + late / 2) of one, at least 1/64, relative to its prior, as for the weights of one event (`scores/mixing.pyx`).
Everything else learns from its current state. If the features of a round were not kept, weights and pools learn
nothing from it.
"""

from libc.stdint cimport int64_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memcpy, memset

from types import SimpleNamespace

import numpy as np

from calibrant._kernels.classes.vectors cimport (
    bent, covariances, dot, dots, expf_, fade, least_above, likeliest, line, log_scores, logf_, logs, moments,
    scaled, softmax, step_against, step_slopes, sum_of, total,
)
from calibrant._kernels.kernel cimport array_of
from calibrant._kernels.saved import MOST_WEIGHT, check_all, floats, integer, singles
from calibrant._kernels.scores.batches cimport batches_start
from calibrant._kernels.scores.batches import BATCH_PARTS, check_batches
from calibrant._kernels.scores.mixing cimport LAG, slowness

# The parts of Learned: their names and sizes, in its order.
MIXTURE_PARTS = {
    "w": EXPERTS, "v": EXPERTS, "slope": LINEAR, "known": LINEAR, "count": BASES,
    "pooled": POOLS * FEATURES, "hessian": POOLS * TRIANGLE, "trust": 1, "escaped": 1, "escapes": 1,
    "late": 1, "least": 1,
}

# What each expert is, in the order of the table above.
WORDS = (
    "the scores as they are",
    "a temperature", "a temperature of the last 100 labels",
    "a temperature and a bias for each class",
    "a temperature and biases of the last 1,000 labels",
    "a temperature and biases of the last 100 labels",
    "a temperature and biases of the last 20 labels",
    "base rates", "base rates of the last 100 labels", "base rates of the last 33 labels",
    "biases that depend on the class on top",
    "biases that depend on the class observed last",
    "a pool of biases and base rates", "a pool that adapts to the last 100 labels",
    "a matrix of confusions",
)
DIAGONAL = "a slope and a bias for each class"  # what the last one is for many classes

cdef enum:
    FIRST_BIASED = 3
    RETURNING = 5             # its biases return to those of the one before it
    FIRST_CONTEXT = 10
    FIRST_POOL = 12
    THE_MATRIX = 14
    MOST_ROWS = 128           # contexts with biases of their own; the others share row 0
    DENSE = 10                # features but for the indicators, which come last
    OF_TOP = 10
    OF_LAST = 11
    OF_ZEROS = 12
    OFTEN = 64                # labels up to which the pools' Hessians are always inverted,
    SELDOM = 8                # and then in every so many-th round

cdef double[EXPERTS] PRIORS
PRIORS[:] = [6, 1, 1, 1, 1, 1, 1, .5, .5, .5, .3, .3, 2, 2, .5]
cdef double ALL_PRIORS = sum([PRIORS[i] for i in range(EXPERTS)])
cdef double[EXPERTS] KEEPS            # what is left of the past after a label
KEEPS[:] = [1, 1, .99, 1, .999, .99, .95, 1, .99, .97, .999, .999, 1, .99, .9995]
cdef double[BIASED] BIAS_SD
BIAS_SD[:] = [1, 1, 1.5, .5]
cdef double[CONTEXTS] CONTEXT_SD
CONTEXT_SD[:] = [1, .7]
cdef double[FEATURES] POOL_START      # x; four biases; two contexts; two base rates; bend; indicators
POOL_START[:] = [1, 1, 0, 0, 0, .3, .3, 0, 0, 0, 0, 0, 0]
cdef double POOL_VARIANCE = .25
cdef double SLOPE_VARIANCE = .36       # at the start, but of so many labels at most,
cdef double PRIOR_LABELS = 3
cdef double SLOPE_RETURN = .09         # and of the prior that what forgets returns to
cdef double LEAST_CURVATURE = 1e-6
cdef double LONGEST_SLOPE_STEP = .5   # times the slope, if that is above 1
cdef double LARGEST_SLOPE = 200
cdef double LONGEST_POOL_STEP = .3
cdef double MATRIX_VARIANCE = .09
cdef double CONSTANT_SD = .6          # of the matrix's constant
cdef double CONSTANT_VARIANCE = CONSTANT_SD * CONSTANT_SD
cdef double LEAST_MATRIX_CURVATURE = .02
cdef double LONGEST_MATRIX_STEP = .3  # of a diagonal
LEAST_PIVOT = 1.0                     # of a pool's Hessian, see `calibrant_invert`
MOST_BIAS = 1e3                       # logits of scores are less than that apart
MOST_MATRIX = 1e4
ROUNDED = 0.999                       # what single precision leaves of a number
RETURNED = 0.9                        # of what returns to the prior, which had more experts before
cdef double SHARE = 5e-5              # of w that returns to the prior after a label,
cdef double EM_SHARE = 1e-5           # of v,
cdef double TRUST_SHARE = 1e-4        # and of the trust in w
cdef double TRUST = .9
cdef double EM_RATE = .05
cdef double ESCAPED = .05             # of ESCAPES rounds, at the start
cdef double ESCAPES = 50
cdef double MOST_ESCAPES = 20_000
cdef double LATE_RATE = .01
cdef double AT_ONCE = .01             # labels that are less late count in full, LAG late half,
cdef double SLOWEST = 1 / 8.          # but at least so much
cdef double LEAST_SCORE = 1e-3        # at the start
cdef float ZERO = 1e-12               # no score above 0 is less
cdef double LEAST_PREDICTED = 1e-12


cdef Traits of_expert(int i) noexcept nogil:
    """Return the constants of an expert, and where feature i starts."""
    cdef Traits found
    found.keep, found.sd, found.pooled = KEEPS[i], 0.0, POOL_START[i] if i < FEATURES else 0.0
    if FIRST_BIASED <= i < FIRST_BIASED + BIASED:
        found.sd = BIAS_SD[i - FIRST_BIASED]
    elif FIRST_CONTEXT <= i < FIRST_CONTEXT + CONTEXTS:
        found.sd = CONTEXT_SD[i - FIRST_CONTEXT]
    return found


cdef inline double within(double x, double most) noexcept nogil:
    return most if x > most else x if x >= -most else -most  # a number, even of NaN


cdef double lateness_power(double late) noexcept nogil:
    """Return to which power likelihoods count where labels are so late."""
    if late < AT_ONCE:
        return 1.0
    return max(SLOWEST, 1.0 / (1.0 + late / <double>LAG))


cdef double power(double p, double exponent) noexcept nogil:
    """Return p to a power, the same on every platform."""
    return p if exponent == 1.0 else expf_(<float>exponent * logf_(<float>p))


cdef int refill(float **vector, Py_ssize_t old, Py_ssize_t size, float value) except -1:
    """Make a vector longer, the rest of it filled with a value."""
    cdef Py_ssize_t k
    cdef float *longer = <float *>realloc(vector[0], max(size, 1) * sizeof(float))
    if longer == NULL:
        raise MemoryError
    for k in range(old, size):
        longer[k] = value
    vector[0] = longer
    return 0


cdef int widen(float **rows, Py_ssize_t count, int old, int new, float value) except -1:
    """Make each of the rows longer, the rest of it filled with a value."""
    cdef Py_ssize_t i, k
    cdef float *wider = <float *>malloc(max(count * new, 1) * sizeof(float))
    if wider == NULL:
        raise MemoryError
    for i in range(count):
        memcpy(wider + i * new, rows[0] + i * old, old * sizeof(float))
        for k in range(old, new):
            wider[i * new + k] = value
    free(rows[0])
    rows[0] = wider
    return 0


cdef extern from *:
    """
    enum { CALIBRANT_SIDE = 13 };

    /* Gauss and Jordan's method: a positive definite matrix needs no pivots. A pool's Hessian is
       at least that of its prior, and so is each of them: rounding makes none less than 1. */
    CALIBRANT_WIDE void calibrant_invert(const double *restrict H, float *restrict inverse) {
        double A[CALIBRANT_SIDE][CALIBRANT_ROOM] = {{0}}, row[CALIBRANT_ROOM], c, scale;
        int i, j, k;
        for (i = 0; i < CALIBRANT_SIDE; i++)
            for (j = 0; j <= i; j++) A[i][j] = A[j][i] = *H++;
        for (k = 0; k < CALIBRANT_SIDE; k++) {
            scale = 1.0 / (A[k][k] > 1.0 ? A[k][k] : 1.0);
            for (j = 0; j < CALIBRANT_ROOM; j++) row[j] = A[k][j] * scale;
            row[k] = 1.0 + scale;  /* takes c away from itself, and then c times the scale */
            for (i = 0; i < CALIBRANT_SIDE; i++) {
                c = A[i][k];
                for (j = 0; j < CALIBRANT_ROOM; j++) A[i][j] -= c * row[j];
            }
            row[k] = scale;
            for (j = 0; j < CALIBRANT_ROOM; j++) A[k][j] = row[j];
        }
        for (i = 0; i < CALIBRANT_SIDE; i++)
            for (j = 0; j < CALIBRANT_SIDE; j++) inverse[i * CALIBRANT_SIDE + j] = (float)A[i][j];
    }

    CALIBRANT_WIDE void calibrant_newton(
        const float *restrict inverse, const float *restrict g, float *restrict step
    ) {
        int i, j;
        for (j = 0; j < CALIBRANT_SIDE; j++) step[j] = 0.0f;
        for (i = 0; i < CALIBRANT_SIDE; i++)
            for (j = 0; j < CALIBRANT_SIDE; j++) step[j] += inverse[i * CALIBRANT_SIDE + j] * g[i];
    }
    """
    # The inverse of a matrix of all features, of which the lower triangle is given.
    void calibrant_invert(const double *H, float *inverse) noexcept nogil
    void newton "calibrant_newton" (const float *inverse, const float *g, float *step) noexcept nogil


cdef void invert(const double *H, float *inverse) noexcept nogil:
    """Invert a positive definite matrix of all features, of which the lower triangle is given."""
    calibrant_invert(H, inverse)


cdef inline void step_biases(
    int K, float *b, float *A, const float *p, int y, double weight, double keep, double sd,
    const float *home,
) noexcept nogil:
    """Take the natural Newton step of biases, which return to `home`, or to 0."""
    step_against(K, p, <float>weight, <float>keep, <float>((1.0 - keep) / (sd * sd)), home, b, A)
    b[y] += <float>weight / A[y]


cdef void means_of_indicators(int K, const float *p, const Predicted *r, float *mean) noexcept nogil:
    """Put into `mean` those of the indicators of a round under p."""
    mean[OF_TOP], mean[OF_LAST] = p[r.top], p[r.last] if r.last >= 0 else 0.0
    mean[OF_ZEROS] = dot(K, p, r.f[OF_ZEROS]) if r.has_zeros else 0.0


cdef class ClassMixture:
    """The experts of one recalibrator of several classes, and their weights."""

    def __cinit__(self, int K):
        cdef int i, d
        self.last = -1
        for i in range(LINEAR):
            self.state.slope[i], self.state.known[i] = 1.0, 1.0 / SLOPE_VARIANCE if KEEPS[i] < 1.0 else 0.0
        for i in range(POOLS):
            for d in range(FEATURES):
                self.state.pooled[i * FEATURES + d] = POOL_START[d]
                self.state.hessian[i * TRIANGLE + d * (d + 3) // 2] = 1.0 / POOL_VARIANCE
                self.inverse[i * SQUARE + d * FEATURES + d] = POOL_VARIANCE
        self.state.trust, self.state.least = TRUST, LEAST_SCORE
        self.state.escaped, self.state.escapes = ESCAPED, ESCAPES
        batches_start(&self.batches)
        for i in range(EXPERTS):
            self.prior[i] = PRIORS[i] / ALL_PRIORS
        memcpy(self.state.w, self.prior, sizeof(self.prior))
        memcpy(self.state.v, self.prior, sizeof(self.prior))
        self.reshape(K)

    def __dealloc__(self):
        cdef int i
        for i in range(BIASED):
            free(self.bias[i])
            free(self.bias_known[i])
        for i in range(BASES):
            free(self.base[i])
        for i in range(CONTEXTS):
            free(self.rows[i])
            free(self.rows_known[i])
            free(self.row_of[i])
        free(self.matrix)
        free(self.gain)
        free(self.scratch)

    cdef int reshape(self, int K) except -1:
        """Have vectors of K classes: new ones are as at the start."""
        cdef int i, k, old = self.K, n = K + 1
        cdef float *z
        for i in range(BIASED):
            refill(&self.bias[i], old, K, 0.0)
            refill(&self.bias_known[i], old, K, 1.0 / (BIAS_SD[i] * BIAS_SD[i]))
        for i in range(BASES):
            refill(&self.base[i], old, K, 0.0)
        for i in range(CONTEXTS):
            self.row_of[i] = <int *>realloc(self.row_of[i], (K + 1) * sizeof(int))
            if self.row_of[i] == NULL:
                raise MemoryError
            for k in range(0 if old == 0 else old + 1, K + 1):
                self.row_of[i][k] = 0
            if self.room[i]:
                widen(&self.rows[i], self.room[i], old, K, 0.0)
                widen(
                    &self.rows_known[i], self.room[i], old, K,
                    1.0 / (CONTEXT_SD[i] * CONTEXT_SD[i]),
                )
        self.K = K
        for i in range(CONTEXTS):
            if not self.room[i]:
                self.used[i] = 1
                self.make_rows(i, 2)
        if K > LARGEST_MATRIX:
            self.reshape_diagonal(old)
        else:
            self.reshape_matrix(old)
        free(self.scratch)
        # x, q, z, the centre and G times it, six features, and what all experts say, twice
        self.scratch = <float *>calloc(5 * n + (6 + 2 * EXPERTS) * K, sizeof(float))
        if self.scratch == NULL:
            raise MemoryError
        z = self.scratch
        self.live.x, self.live.q, self.z = z, z + n, z + 2 * n
        self.centre, self.turned = z + 3 * n, z + 4 * n
        z += 5 * n
        self.live.f[0], self.live.is_whole = self.live.x, True
        for i in range(6):
            self.live.f[7 + i] = z + i * K
        self.live.P, self.now = z + 6 * K, z + (6 + EXPERTS) * K
        return 0

    def reshape_matrix(self, int old):
        """Have a matrix of all classes, of which there were `old` before."""
        cdef int K = self.K, n = K + 1, i, j, m = old + 1
        cdef float *W = <float *>calloc(K * n, sizeof(float))
        cdef float *G = <float *>calloc(n * n, sizeof(float))
        if W == NULL or G == NULL:
            free(W)
            free(G)
            raise MemoryError
        for i in range(n):
            if i < K:
                W[i * n + i] = 1.0
            G[i * n + i] = MATRIX_VARIANCE if i < K else CONSTANT_VARIANCE
        if self.matrix != NULL:  # the constant, the last one, moves
            for i in range(old):
                for j in range(m):
                    W[i * n + (j if j < old else K)] = self.matrix[i * m + j]
            for i in range(m):
                for j in range(m):
                    G[(i if i < old else K) * n + (j if j < old else K)] = self.gain[i * m + j]
        free(self.matrix)
        free(self.gain)
        self.matrix, self.gain = W, G

    def reshape_diagonal(self, int old):
        """Have a slope and a constant for all classes, of which there were `old` before."""
        cdef int K = self.K, i
        cdef bint was_diagonal = old > LARGEST_MATRIX
        cdef float *W = <float *>malloc(2 * K * sizeof(float))
        cdef float *G = <float *>malloc(2 * K * sizeof(float))
        if W == NULL or G == NULL:
            free(W)
            free(G)
            raise MemoryError
        for i in range(K):
            W[i], W[K + i] = 1.0, 0.0
            G[i], G[K + i] = 1.0 / MATRIX_VARIANCE, 1.0 / CONSTANT_VARIANCE
        for i in range(old):  # of a matrix with one row per class, or of a diagonal
            W[i] = self.matrix[i if was_diagonal else i * (old + 2)]
            W[K + i] = self.matrix[old + i if was_diagonal else i * (old + 1) + old]
            if was_diagonal:
                G[i], G[K + i] = self.gain[i], self.gain[old + i]
        free(self.matrix)
        free(self.gain)
        self.matrix, self.gain = W, G

    cdef int make_rows(self, int which, int room) except -1:
        """Have room for so many contexts."""
        cdef float known = 1.0 / (CONTEXT_SD[which] * CONTEXT_SD[which])
        cdef Py_ssize_t old = <Py_ssize_t>self.room[which] * self.K
        refill(&self.rows[which], old, <Py_ssize_t>room * self.K, 0.0)
        refill(&self.rows_known[which], old, <Py_ssize_t>room * self.K, known)
        self.room[which] = room
        return 0

    def grow(self, int K):
        """Have more classes; the new ones come last."""
        self.reshape(K)

    # -- a prediction ---------------------------------------------------------------------------

    cdef Py_ssize_t whole_size(self) noexcept nogil:
        """Return how many floats are kept of a whole round."""
        return <Py_ssize_t>self.K * (1 + FEATURES + EXPERTS)

    cdef void keep_in(self, Predicted *r, float *block, bint is_whole) noexcept nogil:
        """Let a round be kept in a block: x and q, and all else if it is whole."""
        cdef int d
        r.x, r.q, r.is_whole = block, block + self.K, is_whole
        if is_whole:
            r.f[0] = r.x
            for d in range(1, FEATURES):
                r.f[d] = block + (1 + d) * self.K
            r.P = block + (1 + FEATURES) * self.K

    cdef void look(self, const float *s, Predicted *r, double *least) noexcept nogil:
        """Say what there is to say of scores."""
        cdef int top = likeliest(self.K, s)
        cdef float low, small = least_above(self.K, s, ZERO, <float>least[0])
        if small < least[0]:
            least[0] = small
        low = <float>0.5 * small
        log_scores(self.K, s, ZERO, low, r.x)
        r.zero, r.top, r.last, r.K = logf_(low) + <float>1e-6, top, self.last, self.K
        r.begun, r.learned = self.begun, self.learned
        memcpy(r.w, self.state.w, sizeof(r.w))
        memcpy(r.v, self.state.v, sizeof(r.v))
        if not r.is_whole:  # in the vectors of a round that nobody keeps
            memcpy(self.live.x, r.x, self.K * sizeof(float))
            self.live.zero, self.live.top, self.live.last = r.zero, r.top, r.last
        self.tell(r if r.is_whole else &self.live)
        self.mix(r, r.P if r.is_whole else self.live.P, r.q)

    cdef void tell(self, Predicted *r) noexcept nogil:
        """Fill the features of a round, and what each expert says of it."""
        self.logits(r, r.P)
        self.describe(r)
        self.pool(r, r.P)
        self.normalise(r.P)

    cdef void begin(self, const float *s, Predicted *r) noexcept nogil:
        """Begin a round that is kept in r."""
        self.look(s, r, &self.state.least)
        self.begun += 1

    cdef void logits(self, const Predicted *r, float *P) noexcept nogil:
        """Put into P the logits of all experts but the pools, and what base rates say."""
        cdef int K = self.K, i, k
        cdef const float *x = r.x
        cdef const float *b
        cdef float *p = P
        cdef float a, mean
        memcpy(p, x, K * sizeof(float))
        for i in range(1, LINEAR):
            b = NULL if i < FIRST_BIASED else self.bias[i - FIRST_BIASED]
            line(K, self.state.slope[i], x, b, P + i * K)
        for i in range(BASES):
            b, p = self.base[i], P + (FIRST_BASE + i) * K
            a, mean = 1.0 / (self.state.count[i] + 1.0), 1.0 / K
            for k in range(K):
                p[k] = (b[k] + mean) * a
        for i in range(CONTEXTS):
            p = P + (FIRST_CONTEXT + i) * K
            b = self.rows[i] + <Py_ssize_t>self.row_of[i][1 + (r.last if i else r.top)] * K
            line(K, 1.0, P + FIRST_BIASED * K, b, p)
        self.turn(x, P + THE_MATRIX * K)

    cdef void say(self, const Predicted *r, float *P) noexcept nogil:
        """Put into P what each expert says now of a round; the pools only if it is whole."""
        self.logits(r, P)
        if r.is_whole:
            self.pool(r, P)
        else:
            memset(P + FIRST_POOL * self.K, 0, POOLS * self.K * sizeof(float))
        self.normalise(P)

    cdef void normalise(self, float *P) noexcept nogil:
        """Turn the logits of all experts but base rates into what they say."""
        softmax(self.K, LINEAR, P)
        softmax(self.K, EXPERTS - FIRST_CONTEXT, P + FIRST_CONTEXT * self.K)

    cdef void say_matrix(self, const float *x, float *p) noexcept nogil:
        """Put into p what the matrix says now of a round."""
        self.turn(x, p)
        softmax(self.K, 1, p)

    cdef void turn(self, const float *x, float *p) noexcept nogil:
        """Put into p the logits of the matrix."""
        cdef int K = self.K, n = K + 1, k
        self.centre_on(x)
        if K > LARGEST_MATRIX:
            scaled(K, self.matrix, self.centre, self.matrix + K, p)
        else:
            for k in range(K):
                p[k] = dot(n, self.matrix + k * n, self.centre)

    cdef void centre_on(self, const float *x) noexcept nogil:
        """Fill the centre: (x - mean x, 1)."""
        cdef int K = self.K, k
        cdef float mean = total(K, x) / K
        for k in range(K):
            self.centre[k] = x[k] - mean
        self.centre[K] = 1.0

    cdef void describe(self, Predicted *r) noexcept nogil:
        """Fill the features of a round just begun; of one that nobody keeps, point at them."""
        cdef int K = self.K, i, k
        cdef bint is_live = r == &self.live
        cdef float *now
        cdef const float *all_time = r.P + FIRST_BASE * K
        for i in range(BIASED + CONTEXTS):
            if i < BIASED:
                now = self.bias[i]
            else:
                k = r.last if i > BIASED else r.top
                now = self.rows[i - BIASED] + <Py_ssize_t>self.row_of[i - BIASED][1 + k] * K
            if is_live:
                r.f[1 + i] = now
            else:
                memcpy(r.f[1 + i], now, K * sizeof(float))
        for i in range(1, BASES):
            logs(K, all_time + i * K, all_time, r.f[6 + i])
        memset(r.f[OF_TOP], 0, K * sizeof(float))
        memset(r.f[OF_LAST], 0, K * sizeof(float))
        r.f[OF_TOP][r.top] = 1.0
        if r.last >= 0:
            r.f[OF_LAST][r.last] = 1.0
        r.has_zeros = bent(K, r.x, r.zero, r.f[9], r.f[OF_ZEROS])

    cdef void pool(self, const Predicted *r, float *P) noexcept nogil:
        """Put into P the logits of the pools, from the features of a round."""
        cdef int K = self.K, i, d
        cdef float[FEATURES] c
        cdef float *p
        for i in range(POOLS):
            p = P + (FIRST_POOL + i) * K
            for d in range(FEATURES):
                c[d] = self.state.pooled[i * FEATURES + d]
            sum_of(K, DENSE, c, <const float **>r.f, p)
            p[r.top] += c[OF_TOP]
            if r.last >= 0:
                p[r.last] += c[OF_LAST]
            if r.has_zeros:
                line(K, c[OF_ZEROS], r.f[OF_ZEROS], p, self.z)
                memcpy(p, self.z, K * sizeof(float))

    cdef void mix(self, const Predicted *r, const float *P, float *q) noexcept nogil:
        """Put into q what the experts say together."""
        cdef int i
        cdef double d = self.state.escaped / self.state.escapes, u = self.state.trust
        cdef float[EXPERTS] c
        cdef const float *predicted[EXPERTS]
        for i in range(EXPERTS):
            c[i] = (1.0 - d) * (u * r.w[i] + (1.0 - u) * r.v[i]) + (d if i == FIRST_BASE else 0.0)
            predicted[i] = P + i * self.K
        sum_of(self.K, EXPERTS, c, predicted, q)

    # -- a label --------------------------------------------------------------------------------

    cdef int learn(self, Predicted *r, int y, double weight) except -1:
        """Learn the label of a round, which counts `weight` times in all losses."""
        cdef const float *P = r.P
        self.state.late += LATE_RATE * (<double>(self.begun - 1 - r.begun) - self.state.late)
        if r.is_whole:
            self.weigh(r, y, weight)
        if not r.is_whole or r.learned != self.learned:
            self.say(r, self.now)  # learn from where all stands now
            P = self.now
        if r.is_whole:
            self.learn_pools(r, P, y, weight)
        self.learn_linear(r, P, y, weight)
        self.last = y
        self.learned += 1
        return 0

    cdef void weigh(self, const Predicted *r, int y, double weight) noexcept nogil:
        """Weigh the experts by what they predicted of the class that was observed."""
        cdef double[EXPERTS] predicted
        cdef Learned *to = &self.state
        cdef double q1 = 0.0, q2 = 0.0, now = 0.0, all_of_it = 0.0, eta, d, q, first, second
        cdef int i
        eta = weight * lateness_power(to.late)
        for i in range(EXPERTS):
            predicted[i] = r.P[i * self.K + y]
            if predicted[i] < LEAST_PREDICTED:
                predicted[i] = LEAST_PREDICTED
            q1 += r.w[i] * predicted[i]
            q2 += r.v[i] * predicted[i]
            now += to.v[i] * predicted[i]
        d, q = to.escaped / to.escapes, to.trust * q1 + (1.0 - to.trust) * q2
        to.escaped += weight * (
            d * predicted[FIRST_BASE] / ((1.0 - d) * q + d * predicted[FIRST_BASE])
        )
        to.escapes += weight
        if to.escapes > MOST_ESCAPES:
            to.escaped *= MOST_ESCAPES / to.escapes
            to.escapes = MOST_ESCAPES
        first, second = to.trust * power(q1, eta), (1.0 - to.trust) * power(q2, eta)
        to.trust = (1.0 - TRUST_SHARE) * first / (first + second) + TRUST_SHARE * TRUST
        for i in range(EXPERTS):
            to.v[i] += weight * EM_RATE * (to.v[i] * predicted[i] / now - to.v[i])
            to.v[i] = (1.0 - EM_SHARE) * to.v[i] + EM_SHARE * self.prior[i]
            to.w[i] *= power(predicted[i], eta)
            all_of_it += to.w[i]
        for i in range(EXPERTS):
            to.w[i] = (1.0 - SHARE) * to.w[i] / all_of_it + SHARE * self.prior[i]

    cdef void learn_pools(
        self, const Predicted *r, const float *P, int y, double weight
    ) noexcept nogil:
        """Take the Newton steps of the pools, with the slow pool's covariance for both."""
        cdef int K = self.K, i, d
        cdef float[TRIANGLE] S
        cdef float[FEATURES] g, step
        cdef float[POOLS][FEATURES] mean
        cdef double keep, pull
        cdef double *H
        cdef double *w
        self.features_covariance(P + FIRST_POOL * K, r, mean[0], mean[1], S)
        for i in range(POOLS):
            keep, H = KEEPS[FIRST_POOL + i], self.state.hessian + i * TRIANGLE
            w, pull = self.state.pooled + i * FEATURES, (1.0 - keep) / POOL_VARIANCE
            if i:
                weight /= slowness(self.state.late, LAG)
            fade(TRIANGLE, keep, weight, S, H)
            for d in range(FEATURES):
                H[d * (d + 3) // 2] += pull + 1e-6
                g[d] = weight * (<double>mean[i][d] - r.f[d][y]) + pull * (w[d] - POOL_START[d])
            if self.learned < OFTEN or self.learned % SELDOM == SELDOM // POOLS * i:
                invert(H, self.inverse + i * SQUARE)
            newton(self.inverse + i * SQUARE, g, step)
            for d in range(FEATURES):
                w[d] -= within(step[d], LONGEST_POOL_STEP)

    cdef void features_covariance(
        self, const float *pools, const Predicted *r, float *mean, float *other, float *S
    ) noexcept nogil:
        """Fill the means of the features under both pools, and their covariances under the slow one.

        Of these the lower triangle. That of an indicator of one class with another feature is p (f - mean) at this class.
        """
        cdef int d, c, k, K = self.K
        cdef const float *p = pools
        covariances(K, p, p + K, <const float **>r.f, DENSE, self.z, mean, other, S)
        means_of_indicators(K, p, r, mean)
        means_of_indicators(K, p + K, r, other)
        S += DENSE * (DENSE + 1) // 2
        for d in range(OF_TOP, OF_ZEROS):
            k = r.top if d == OF_TOP else r.last
            for c in range(d + 1):
                S[c] = 0.0 if k < 0 else p[k] * (r.f[c][k] - mean[c])
            S += d + 1
        memset(S, 0, FEATURES * sizeof(float))
        if r.has_zeros:
            for k in range(K):
                self.z[k] = p[k] * (r.f[OF_ZEROS][k] - mean[OF_ZEROS])
            dots(K, self.z, <const float **>r.f, FEATURES, S)

    cdef int learn_linear(self, const Predicted *r, const float *P, int y, double weight) except -1:
        """Take the steps of temperatures, biases, base rates, contexts and the matrix."""
        cdef int K = self.K, i, k, row
        cdef const float *x = r.x
        cdef const float *p
        cdef float kept, mean, square
        cdef double keep, pull, variance
        cdef Learned *to = &self.state
        for i in range(1, LINEAR):
            p, keep = P + i * K, KEEPS[i]
            pull = (1.0 - keep) / SLOPE_RETURN
            moments(K, p, x, self.z, &mean, &square)
            variance = <double>square - <double>mean * mean
            to.known[i] = keep * to.known[i] + pull
            to.known[i] += weight * (variance if variance > LEAST_CURVATURE else LEAST_CURVATURE)
            to.slope[i] -= within(
                (weight * (<double>mean - x[y]) + pull * (to.slope[i] - 1.0))
                / (to.known[i] + self.prior_of(i, self.learned + 1)),
                LONGEST_SLOPE_STEP * max(to.slope[i], 1.0),
            )
            if to.slope[i] < 0.0:
                to.slope[i] = 0.0
            if to.slope[i] > LARGEST_SLOPE:
                to.slope[i] = LARGEST_SLOPE
            if i >= FIRST_BIASED:
                step_biases(
                    K, self.bias[i - FIRST_BIASED], self.bias_known[i - FIRST_BIASED], p, y, weight,
                    keep, BIAS_SD[i - FIRST_BIASED], self.home(i),
                )
        for i in range(BASES):
            keep = KEEPS[FIRST_BASE + i]
            kept = keep
            if keep < 1.0:
                for k in range(K):
                    self.base[i][k] *= kept
            self.base[i][y] += <float>weight
            to.count[i] = keep * to.count[i] + weight
        for i in range(CONTEXTS):
            row = self.visit(i, r.last if i else r.top)
            step_biases(
                K, self.rows[i] + <Py_ssize_t>row * K, self.rows_known[i] + <Py_ssize_t>row * K,
                P + (FIRST_CONTEXT + i) * K, y, weight, KEEPS[FIRST_CONTEXT + i], CONTEXT_SD[i], NULL,
            )
        self.learn_matrix(x, P + THE_MATRIX * K, y, weight)
        return 0

    cdef double prior_of(self, int i, int64_t labels) noexcept nogil:
        """Return the precision of the prior of a slope, beside what so many labels made known."""
        if KEEPS[i] < 1.0 or labels == 0:
            return 0.0  # what forgets returns to a prior of its own
        return min(1.0 / SLOPE_VARIANCE, PRIOR_LABELS * self.state.known[i] / labels)

    cdef const float *home(self, int i) noexcept nogil:
        """Return the biases that those of an expert return to, NULL if to 0."""
        return self.bias[i - 1 - FIRST_BIASED] if i == RETURNING else NULL

    cdef int visit(self, int which, int context) except -1:
        """Return the row of a context, which has one of its own from now on if any is left."""
        cdef int *row = self.row_of[which] + 1 + context
        if row[0] == 0 and self.used[which] <= MOST_ROWS:
            if self.used[which] == self.room[which]:
                self.make_rows(which, min(2 * self.room[which], MOST_ROWS + 1, self.K + 2))
            row[0] = self.used[which]
            self.used[which] += 1
        return row[0]

    cdef void learn_matrix(self, const float *x, const float *p, int y, double weight) noexcept nogil:
        """Take a step of recursive least squares; on a diagonal, of each class by itself."""
        cdef int K = self.K, n = K + 1, i, j
        cdef float keep = KEEPS[THE_MATRIX], h = 1.0, scale, step, left, trace = 0.0
        cdef const float *c = self.centre
        cdef float *g = self.turned
        cdef float *G = self.gain
        cdef float *W
        if K < 2:
            return
        self.centre_on(x)
        if K > LARGEST_MATRIX:
            step = (<float>1.0 - keep) / <float>MATRIX_VARIANCE
            step_slopes(K, p, c, y, weight, keep, step, LONGEST_MATRIX_STEP, self.matrix, G)
            step_biases(
                K, self.matrix + K, G + K, p, y, weight, KEEPS[THE_MATRIX], CONSTANT_SD, NULL
            )
            return
        h = (<float>1.0 - dot(K, p, p)) / (K - 1)
        if h < LEAST_MATRIX_CURVATURE:
            h = LEAST_MATRIX_CURVATURE
        h *= <float>weight
        for i in range(n):
            g[i] = dot(n, G + i * n, c)
        scale = dot(n, c, g)
        if scale < 0.0:  # by rounding alone: G is as good as 0 there
            return
        scale = keep + h * scale
        step, left = h / scale, <float>1.0 / keep
        for i in range(n):
            for j in range(n):
                G[i * n + j] = (G[i * n + j] - step * g[i] * g[j]) * left
            trace += G[i * n + i]
        if trace > <float>MATRIX_VARIANCE * n:
            step = <float>MATRIX_VARIANCE * n / trace
            for i in range(n * n):
                G[i] *= step
        for i in range(K):
            step = weight * (p[i] - (1.0 if i == y else 0.0)) / scale
            W = self.matrix + i * n
            for j in range(n):
                W[j] -= step * g[j]

    # -- reading --------------------------------------------------------------------------------

    def weights(self):
        """Return the weights of the experts."""
        cdef int i
        found = np.empty(EXPERTS)
        cdef double[::1] to = found
        for i in range(EXPERTS):
            to[i] = self.state.trust * self.state.w[i] + (1.0 - self.state.trust) * self.state.v[i]
        return found

    cdef Py_ssize_t matrix_size(self) noexcept nogil:
        """Return how many numbers the matrix has."""
        return self.K * (2 if self.K > LARGEST_MATRIX else self.K + 1)

    cdef Py_ssize_t gain_size(self) noexcept nogil:
        """Return how many numbers say how well the matrix is known."""
        return 2 * self.K if self.K > LARGEST_MATRIX else (self.K + 1) * (self.K + 1)

    def __sizeof__(self):
        cdef Py_ssize_t K = self.K, n = K + 1
        cdef Py_ssize_t vectors = (2 * BIASED + BASES) * K + 5 * n + (6 + 2 * EXPERTS) * K
        vectors += 2 * (self.room[0] + self.room[1]) * K + CONTEXTS * n
        vectors += self.matrix_size() + self.gain_size()
        return object.__sizeof__(self) + vectors * sizeof(float)

    # -- saving ---------------------------------------------------------------------------------

    def save(self):
        """Return everything the past left behind, as arrays and numbers by name."""
        cdef int i
        state = {"begun": self.begun, "learned": self.learned, "last": self.last}
        cdef double *part = <double *>&self.state
        for name, count in MIXTURE_PARTS.items():
            state[name] = array_of(part, count)
            part += <Py_ssize_t>count
        part = <double *>&self.batches
        for name, count in BATCH_PARTS.items():
            state[name] = array_of(part, count)
            part += <Py_ssize_t>count
        state["inverse"] = singles_of(self.inverse, POOLS * SQUARE)
        vectors = []
        for i in range(BIASED):
            vectors += [singles_of(self.bias[i], self.K), singles_of(self.bias_known[i], self.K)]
        state["biases"] = np.concatenate(vectors)
        state["bases"] = np.concatenate([singles_of(self.base[i], self.K) for i in range(BASES)])
        for i in range(CONTEXTS):
            size = <Py_ssize_t>self.used[i] * self.K
            state[f"context{i}"] = np.concatenate(
                [singles_of(self.rows[i], size), singles_of(self.rows_known[i], size)]
            )
            state[f"context{i}_rows"] = integers_of(self.row_of[i], self.K + 1)
        state["matrix"] = np.concatenate(
            [singles_of(self.matrix, self.matrix_size()), singles_of(self.gain, self.gain_size())]
        )
        return state

    def load(self, state):
        """Take over what `save` returned, or raise ValueError."""
        cdef int i, j, n = self.K + 1
        cdef Py_ssize_t K = self.K
        cdef double *part = <double *>&self.state
        cdef const double[::1] values
        cdef const float[::1] vectors
        cdef const int64_t[::1] rows
        cdef int64_t begun = integer(state, "begun", low=0, high=2**53)
        cdef int64_t learned = integer(state, "learned", low=0, high=begun)
        last = integer(state, "last", low=-1, high=self.K - 1)
        found = {name: floats(state, name, size=size) for name, size in MIXTURE_PARTS.items()}
        seen = {name: floats(state, name, size=size) for name, size in BATCH_PARTS.items()}
        inverse = singles(state, "inverse", size=POOLS * SQUARE)
        biases = singles(state, "biases", size=2 * BIASED * K).reshape(BIASED, 2, K)
        bases = singles(state, "bases", size=BASES * K)
        contexts, numbers = [], []
        for i in range(CONTEXTS):
            numbers.append(rows_in(state, f"context{i}_rows", n))
            size = (1 + (numbers[i] > 0).sum()) * K
            contexts.append(singles(state, f"context{i}", size=2 * size).reshape(2, size))
        size = self.matrix_size()
        squares = singles(state, "matrix", size=size + self.gain_size())
        check_all("saved", MUST_HOLD, SimpleNamespace(
            **found, inverse=inverse, bias=biases[:, 0], bias_known=biases[:, 1],
            base=bases.reshape(BASES, K), context=[each[0] for each in contexts],
            context_known=[each[1] for each in contexts], context_rows=numbers,
            matrix=squares[:size], gain=squares[size:].reshape(-1, K if K > LARGEST_MATRIX else n),
            is_diagonal=K > LARGEST_MATRIX, last=last, begun=begun,
            prior=np.array([self.prior[i] for i in range(EXPERTS)]),
            learned=learned, taught=MOST_WEIGHT * learned,
        ))
        check_batches(seen, learned)
        for i in range(CONTEXTS):
            self.used[i], rows, vectors = 1 + (numbers[i] > 0).sum(), numbers[i], contexts[i].ravel()
            if self.used[i] > self.room[i]:
                self.make_rows(i, self.used[i])
            for j in range(n):
                self.row_of[i][j] = <int>rows[j]
            take(self.rows[i], vectors, 0, self.used[i] * K)
            take(self.rows_known[i], vectors, self.used[i] * K, self.used[i] * K)
        vectors = squares
        take(self.matrix, vectors, 0, size)
        take(self.gain, vectors, size, self.gain_size())
        vectors = inverse
        take(self.inverse, vectors, 0, POOLS * SQUARE)
        vectors = biases.ravel()
        for i in range(BIASED):
            take(self.bias[i], vectors, 2 * i * K, K)
            take(self.bias_known[i], vectors, (2 * i + 1) * K, K)
        vectors = bases
        for i in range(BASES):
            take(self.base[i], vectors, i * K, K)
        for name, size in MIXTURE_PARTS.items():
            values = found[name]
            memcpy(part, &values[0], size * sizeof(double))
            part += <Py_ssize_t>size
        part = <double *>&self.batches
        for name, size in BATCH_PARTS.items():
            values = seen[name]
            memcpy(part, &values[0], size * sizeof(double))
            part += <Py_ssize_t>size
        self.begun, self.learned, self.last = begun, learned, last

    def parts(self):
        """Return the names of what `save` returns."""
        names = {"begun", "learned", "last", "inverse", "biases", "bases", "matrix"}
        names |= {f"context{i}{end}" for i in range(CONTEXTS) for end in ("", "_rows")}
        return names | {*MIXTURE_PARTS, *BATCH_PARTS}


def words_of(classes):
    """Return what the experts are, in words."""
    return WORDS if classes <= LARGEST_MATRIX else (*WORDS[:THE_MATRIX], DIAGONAL)


def are_weights(weights, least):
    """Whether these are weights of the experts, each of which has at least that much."""
    return (weights >= least).all() and not weights[least == 0.0].any() and (
        abs(weights.sum() - 1.0) < 1e-6
    )


def is_above(H, least):
    """Whether a symmetric matrix, or a lower triangle, is above that multiple of the identity."""
    if H.ndim == 1:
        half = np.zeros((FEATURES, FEATURES))
        half[np.tril_indices(FEATURES)] = H
        H = half + np.tril(half, -1).T
    try:
        np.linalg.cholesky(H - least * np.eye(len(H)))
    except np.linalg.LinAlgError:
        return False
    return True


#: How well slopes are known at least: what forgets has a prior among it.
LEAST_KNOWN = np.array([ROUNDED / SLOPE_VARIANCE if KEEPS[i] < 1.0 else 0.0 for i in range(LINEAR)])

#: What must hold between the parts of a saved mixture, in words and as it is checked. `taught` is the
#: most that all labels together weigh. A precision is never below that of its prior, so that no step
#: is longer than its prior allows.
MUST_HOLD = (
    ("last must be a class once a label was learned, and -1 before",
     lambda s: (s.last < 0) == (s.learned == 0)),
    ("w must be weights of the experts", lambda s: are_weights(s.w, RETURNED * SHARE * s.prior)),
    ("v must be weights of the experts", lambda s: are_weights(s.v, RETURNED * EM_SHARE * s.prior)),
    (f"slope must be in [0, {LARGEST_SLOPE:g}]",
     lambda s: [s.slope >= 0.0, s.slope <= LARGEST_SLOPE]),
    ("known must be at least the precision of its prior",
     lambda s: s.known >= LEAST_KNOWN),
    ("count must be within reach of the labels", lambda s: [s.count >= 0.0, s.count <= s.taught]),
    ("trust must be a share", lambda s: [s.trust >= 0.0, s.trust <= 1.0]),
    ("late must be a number of predictions", lambda s: [s.late >= 0.0, s.late <= s.begun]),
    ("escaped must be a part of saved escapes",
     lambda s: [s.escaped > 0.0, s.escaped < s.escapes, s.escapes <= MOST_ESCAPES]),
    (f"least must be in [{ZERO:g}, {LEAST_SCORE:g}]",
     lambda s: [s.least >= ZERO, s.least <= LEAST_SCORE]),
    # A label moves a parameter by less than 1, and adds a covariance of features.
    ("pooled must be within reach of the labels",
     lambda s: abs(s.pooled) <= min(10.0 + s.learned, MOST_BIAS)),
    ("hessian must be within reach of the labels",
     lambda s: abs(s.hessian) <= 10.0 / POOL_VARIANCE + MOST_BIAS**2 * (1.0 + s.taught)),
    ("hessian must be positive definite",
     lambda s: [is_above(each, LEAST_PIVOT) for each in s.hessian.reshape(POOLS, TRIANGLE)]),
    ("inverse must be of a matrix above that of the prior",
     lambda s: abs(s.inverse) <= 1.0 / LEAST_PIVOT),
    ("biases must be within reach of the labels",
     lambda s: abs(s.bias) <= min(10.0 + s.taught, MOST_BIAS)),
    ("biases must be known with the precision of their prior at least",
     lambda s: s.bias_known.T >= ROUNDED / np.square(BIAS_SD)),
    ("biases must be known with a precision within reach of the labels",
     lambda s: s.bias_known <= 5.0 + 2.0 * s.taught),
    ("bases must be within reach of the labels", lambda s: [s.base >= 0.0, s.base <= s.taught]),
    # In single precision the count of a class may stay behind that of all.
    ("bases must count the labels of saved count",
     lambda s: s.base.sum(axis=1, dtype=np.float64) <= s.count * (1.0 + 1e-3) + 1e-3),
    ("contexts must have rows of their own, each once",
     lambda s: [is_numbered(rows, min(s.learned, MOST_ROWS)) for rows in s.context_rows]),
    ("biases of contexts must be within reach of the labels",
     lambda s: [abs(each) <= min(10.0 + s.taught, MOST_BIAS) for each in s.context]),
    ("biases of contexts must be known with the precision of their prior at least",
     lambda s: [
         known >= ROUNDED / sd**2 for known, sd in zip(s.context_known, CONTEXT_SD, strict=True)
     ]),
    ("biases of contexts must be known with a precision within reach of the labels",
     lambda s: [known <= 5.0 + 2.0 * s.taught for known in s.context_known]),
    ("matrix must be within reach of the labels",
     lambda s: abs(s.matrix) <= min(10.0 + 100.0 * s.taught, MOST_MATRIX)),
    ("gain must be covariances that are no larger than at the start",
     lambda s: s.is_diagonal or is_gain(s.gain)),
    ("gain must be precisions of its prior at least, and within reach of the labels",
     lambda s: not s.is_diagonal or [
         s.gain[0] >= ROUNDED / MATRIX_VARIANCE, s.gain[1] >= ROUNDED / CONSTANT_VARIANCE,
         s.gain <= 20.0 + MOST_BIAS**2 * (1.0 + s.taught),
     ]),
)  # fmt: skip


def is_gain(G):
    """Whether this is what labels leave of the matrix's covariances, but for rounding."""
    return (
        (abs(G - G.T) <= 1e-3).all() and is_above(G.astype(np.float64), -1e-4)
        and np.trace(G) <= MATRIX_VARIANCE * (len(G) - 1) + CONSTANT_VARIANCE + 1e-3
    )


def rows_in(state, name, n):
    """Return which row each of n contexts has."""
    rows = state[name]
    if not isinstance(rows, np.ndarray) or rows.dtype != np.int64 or rows.shape != (n,):
        raise ValueError(f"saved {name} must be the rows of {n} contexts")
    return rows


def is_numbered(rows, most):
    """Whether contexts have rows of their own, each once, or share row 0."""
    own = np.sort(rows[rows > 0])
    return (rows >= 0).all() and len(own) <= most and (own == np.arange(1, len(own) + 1)).all()


cdef object singles_of(const float *vector, Py_ssize_t size):
    """Return floats as an array."""
    found = np.empty(size, dtype=np.float32)
    cdef float[::1] to = found
    cdef Py_ssize_t k
    for k in range(size):
        to[k] = vector[k]
    return found


cdef object integers_of(const int *vector, Py_ssize_t size):
    found = np.empty(size, dtype=np.int64)
    cdef int64_t[::1] to = found
    cdef Py_ssize_t k
    for k in range(size):
        to[k] = vector[k]
    return found


cdef void take(float *vector, const float[::1] values, Py_ssize_t start, Py_ssize_t size):
    """Fill a vector with floats that were saved."""
    if size:
        memcpy(vector, &values[start], size * sizeof(float))
