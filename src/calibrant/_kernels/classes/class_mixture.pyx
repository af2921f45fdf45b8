"""The sharp stage for several classes: experts that each say a vector of probabilities, mixed.

K classes have scores s, and x = log s. A score of 0 says "less than anything this model says", not
"never": x is then the logarithm of half of the least score so far. `top` is the likeliest class by the
scores, `last` the class that was learned last when the round was predicted.

| experts | say | forget | prior |
|---|---|---|---|
| scores | softmax(x) | | |
| 2 temperatures | softmax(a x) | 0, 1/100 | a: sd .3 around 1 |
| 4 biased | softmax(a x + b) | 0, 1/1000, 1/100, 1/20 | b: sd 1, 1, 1, .5 |
| 3 base rates | (N_k + 1/K) / (N + 1) | 0, 1/100, 3/100 | |
| by top | softmax(z + B[top]), z = a x + b of the first biased one | 1/1000 a visit | sd 1 |
| by last | softmax(z + C[last]) | 1/1000 a visit | sd .7 |
| 2 pools | softmax(sum of w_d f_d) | 0, 1/100 | sd .5 around their start |
| matrix, K <= 32 | softmax(W (x - mean x, 1)) | 1/2000 | sd .3 around the identity |

The features f_d of the pools are x, the biases of the experts above, how base rates of late differ
from those of all time, -x^2 / 10 and three indicators: of the top class, of the last, of a score of 0.
Their coefficients say how far to trust what the others learned, and are the same for all classes;
that is how rare classes share strength, and why biases may have weak priors.

**Learning.** Temperatures take a Newton step. With A_k = sum of p_k, biases take the step (p_k - 1[k=y])
/ A_k: in the gauge sum p d = 0 it solves (diag p - p p') d = g exactly, since the g sum to 0. Pools have
a Newton step with the whole Hessian, whose inverse is renewed in every eighth round. The matrix is
learned by recursive least squares with one curvature for all classes.

**Mixing.** Weights w by Bayes' rule, with a share of 5e-5 returning to the prior, and weights v by
online EM at the rate 1/20 are mixed by Bayes' rule again. So the log loss is at most that of any expert
i plus log(1 / (.9 prior_i)) in all and 1.6e-4 a round (`docs/multiclass.md`). At last a share d of base
rates of all time is mixed in, where d is how often they were needed: for labels that no score foresaw.

**Late labels.** Weights are judged by what was predicted *then*, to the power eta = 1 / (1 + late /
2), but at least 1/24. Pools learn on the features of then with the coefficients of now: features of
now would make fast ones look fresher than they were. All else learns from where it stands. Of a
round whose features were not kept, weights and pools learn nothing.
"""

from libc.stdint cimport int64_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memcpy, memset

import numpy as np

from calibrant._kernels.classes.vectors cimport (
    covariances, dot, dots, expf_, fade, least_above, likeliest, line, log_scores, logf_, logs, moments,
    softmax, step_against, sum_of, total,
)
from calibrant._kernels.kernel cimport array_of
from calibrant._kernels.saved import floats, integer
from calibrant._kernels.scores.batches cimport batches_start
from calibrant._kernels.scores.batches import BATCH_PARTS, check_batches

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

cdef enum:
    FIRST_BIASED = 3
    FIRST_BASE = 7
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
cdef double[EXPERTS] KEEPS            # what is left of the past after a label
KEEPS[:] = [1, 1, .99, 1, .999, .99, .95, 1, .99, .97, .999, .999, 1, .99, .9995]
cdef double[BIASED] BIAS_SD
BIAS_SD[:] = [1, 1, 1, .5]
cdef double[CONTEXTS] CONTEXT_SD
CONTEXT_SD[:] = [1, .7]
cdef double[FEATURES] POOL_START      # x; four biases; two contexts; two base rates; bend; indicators
POOL_START[:] = [1, 1, 0, 0, 0, .3, .3, 0, 0, 0, 0, 0, 0]
cdef double POOL_VARIANCE = .25
cdef double SLOPE_VARIANCE = .09
cdef double LEAST_CURVATURE = .001
cdef double LONGEST_SLOPE_STEP = .5
cdef double LARGEST_SLOPE = 20
cdef double LONGEST_POOL_STEP = .3
cdef double MATRIX_VARIANCE = .09
cdef double CONSTANT_VARIANCE = .36   # of the matrix's constant
cdef double LEAST_MATRIX_CURVATURE = .02
cdef double SHARE = 5e-5              # of w that returns to the prior after a label,
cdef double EM_SHARE = 1e-5           # of v,
cdef double TRUST_SHARE = 1e-4        # and of the trust in w
cdef double TRUST = .9
cdef double EM_RATE = .05
cdef double ESCAPED = .05             # of ESCAPES rounds, at the start
cdef double ESCAPES = 50
cdef double MOST_ESCAPES = 20_000
cdef double LATE_RATE = .01
cdef double AT_ONCE = .01             # labels that are less late count in full,
cdef double LAG = 2                   # and this late they count half,
cdef double SLOWEST = 1 / 24.         # but at least so much
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
    return most if x > most else -most if x < -most else x


cdef double lateness_power(double late) noexcept nogil:
    """Return to which power likelihoods count where labels are so late."""
    if late < AT_ONCE:
        return 1.0
    return max(SLOWEST, 1.0 / (1.0 + late / LAG))


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
    enum { CALIBRANT_SIDE = 13, CALIBRANT_ROOM = 16 };

    /* Gauss and Jordan's method: a positive definite matrix needs no pivots. */
    CALIBRANT_WIDE void calibrant_invert(const double *restrict H, float *restrict inverse) {
        double A[CALIBRANT_SIDE][CALIBRANT_ROOM] = {{0}}, row[CALIBRANT_ROOM], c, scale;
        int i, j, k;
        for (i = 0; i < CALIBRANT_SIDE; i++)
            for (j = 0; j <= i; j++) A[i][j] = A[j][i] = *H++;
        for (k = 0; k < CALIBRANT_SIDE; k++) {
            scale = 1.0 / (A[k][k] > 1e-9 ? A[k][k] : 1e-9);
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
    int K, float *b, float *A, const float *p, int y, double keep, double sd
) noexcept nogil:
    """Take the natural Newton step of biases."""
    step_against(K, p, <float>keep, <float>((1.0 - keep) / (sd * sd)), b, A)
    b[y] += <float>1.0 / A[y]


cdef void features_mean(int K, const float *p, const Predicted *r, float *mean) noexcept nogil:
    """Put into `mean` the means of the features of a round under p."""
    dots(K, p, <const float **>r.f, DENSE, mean)
    mean[OF_TOP], mean[OF_LAST] = p[r.top], p[r.last] if r.last >= 0 else 0.0
    mean[OF_ZEROS] = dot(K, p, r.f[OF_ZEROS]) if r.has_zeros else 0.0


cdef class ClassMixture:
    """The experts of one recalibrator of several classes, and their weights."""

    def __cinit__(self, int K):
        cdef int i, d
        self.last = -1
        for i in range(LINEAR):
            self.state.slope[i], self.state.known[i] = 1.0, 1.0 / SLOPE_VARIANCE
        for i in range(POOLS):
            for d in range(FEATURES):
                self.state.pooled[i * FEATURES + d] = POOL_START[d]
                self.state.hessian[i * TRIANGLE + d * (d + 3) // 2] = 1.0 / POOL_VARIANCE
                self.inverse[i * SQUARE + d * FEATURES + d] = POOL_VARIANCE
        self.state.trust, self.state.least = TRUST, LEAST_SCORE
        self.state.escaped, self.state.escapes = ESCAPED, ESCAPES
        batches_start(&self.batches)
        self.E = EXPERTS
        self.share_prior()
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

    def share_prior(self):
        """Let the priors of the experts that there are sum to one."""
        cdef double all_of_it = 0.0
        cdef int i
        for i in range(EXPERTS):
            all_of_it += PRIORS[i] if i < self.E else 0.0
        for i in range(EXPERTS):
            self.prior[i] = PRIORS[i] / all_of_it if i < self.E else 0.0

    cdef int reshape(self, int K) except -1:
        """Have vectors of K classes: new ones are as at the start."""
        cdef int i, k, old = self.K, n = K + 1
        cdef double gone
        cdef double *weights
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
            free(self.matrix)
            free(self.gain)
            self.matrix = self.gain = NULL
            if self.E == EXPERTS:
                self.E = EXPERTS - 1
                self.share_prior()
                for k in range(2):
                    weights = &self.state.v[0] if k else &self.state.w[0]
                    gone = 1.0 - weights[THE_MATRIX]
                    weights[THE_MATRIX] = 0.0
                    for i in range(self.E):
                        weights[i] /= gone
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
        return <Py_ssize_t>self.K * (1 + FEATURES + self.E)

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
        if self.matrix != NULL:
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
        softmax(self.K, self.E - FIRST_CONTEXT, P + FIRST_CONTEXT * self.K)

    cdef void say_matrix(self, const float *x, float *p) noexcept nogil:
        """Put into p what the matrix says now of a round."""
        self.turn(x, p)
        softmax(self.K, 1, p)

    cdef void turn(self, const float *x, float *p) noexcept nogil:
        """Put into p the logits of the matrix."""
        cdef int n = self.K + 1, k
        self.centre_on(x)
        for k in range(self.K):
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
        cdef const float *x = r.x
        cdef float *now
        cdef float *f
        cdef bint has_zeros = False
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
        f = r.f[9]
        for k in range(K):
            f[k] = <float>-0.1 * x[k] * x[k]
        memset(r.f[10], 0, K * sizeof(float))
        memset(r.f[11], 0, K * sizeof(float))
        r.f[10][r.top] = 1.0
        if r.last >= 0:
            r.f[11][r.last] = 1.0
        f = r.f[12]
        for k in range(K):
            f[k] = 1.0 if x[k] <= r.zero else 0.0
            has_zeros |= x[k] <= r.zero
        r.has_zeros = has_zeros

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
        for i in range(self.E):
            c[i] = (1.0 - d) * (u * r.w[i] + (1.0 - u) * r.v[i]) + (d if i == FIRST_BASE else 0.0)
            predicted[i] = P + i * self.K
        sum_of(self.K, self.E, c, predicted, q)

    # -- a label --------------------------------------------------------------------------------

    cdef int learn(self, Predicted *r, int y) except -1:
        """Learn the label of a round."""
        cdef const float *P = r.P
        self.state.late += LATE_RATE * (<double>(self.begun - 1 - r.begun) - self.state.late)
        if r.is_whole:
            self.weigh(r, y)
        if not r.is_whole or r.learned != self.learned:
            self.say(r, self.now)  # learn from where all stands now
            P = self.now
        if r.is_whole:
            self.learn_pools(r, P, y)
        self.learn_linear(r, P, y)
        self.last = y
        self.learned += 1
        return 0

    cdef void weigh(self, const Predicted *r, int y) noexcept nogil:
        """Weigh the experts by what they predicted of the class that was observed."""
        cdef double[EXPERTS] predicted
        cdef Learned *to = &self.state
        cdef double q1 = 0.0, q2 = 0.0, now = 0.0, all_of_it = 0.0, eta, d, q, first, second
        cdef int i
        eta = lateness_power(to.late)
        for i in range(self.E):
            predicted[i] = r.P[i * self.K + y]
            if predicted[i] < LEAST_PREDICTED:
                predicted[i] = LEAST_PREDICTED
            q1 += r.w[i] * predicted[i]
            q2 += r.v[i] * predicted[i]
            now += to.v[i] * predicted[i]
        d, q = to.escaped / to.escapes, to.trust * q1 + (1.0 - to.trust) * q2
        to.escaped += d * predicted[FIRST_BASE] / ((1.0 - d) * q + d * predicted[FIRST_BASE])
        to.escapes += 1.0
        if to.escapes > MOST_ESCAPES:
            to.escaped *= MOST_ESCAPES / to.escapes
            to.escapes = MOST_ESCAPES
        first, second = to.trust * power(q1, eta), (1.0 - to.trust) * power(q2, eta)
        to.trust = (1.0 - TRUST_SHARE) * first / (first + second) + TRUST_SHARE * TRUST
        for i in range(self.E):
            to.v[i] += EM_RATE * (to.v[i] * predicted[i] / now - to.v[i])
            to.v[i] = (1.0 - EM_SHARE) * to.v[i] + EM_SHARE * self.prior[i]
            to.w[i] *= power(predicted[i], eta)
            all_of_it += to.w[i]
        for i in range(self.E):
            to.w[i] = (1.0 - SHARE) * to.w[i] / all_of_it + SHARE * self.prior[i]

    cdef void learn_pools(self, const Predicted *r, const float *P, int y) noexcept nogil:
        """Take the Newton steps of the pools, with the slow pool's covariance for both."""
        cdef int K = self.K, i, d
        cdef float[TRIANGLE] S
        cdef float[FEATURES] mean
        cdef float[FEATURES] g, step
        cdef double keep, pull
        cdef double *H
        cdef double *w
        features_mean(K, P + FIRST_POOL * K, r, mean)
        self.features_covariance(P + FIRST_POOL * K, r, mean, S)
        for i in range(POOLS):
            keep, H = KEEPS[FIRST_POOL + i], self.state.hessian + i * TRIANGLE
            w, pull = self.state.pooled + i * FEATURES, (1.0 - keep) / POOL_VARIANCE
            if i:
                features_mean(K, P + (FIRST_POOL + i) * K, r, mean)
            fade(TRIANGLE, keep, S, H)
            for d in range(FEATURES):
                H[d * (d + 3) // 2] += pull + 1e-6
                g[d] = <double>mean[d] - r.f[d][y] + pull * (w[d] - POOL_START[d])
            if self.learned < OFTEN or self.learned % SELDOM == SELDOM // POOLS * i:
                invert(H, self.inverse + i * SQUARE)
            newton(self.inverse + i * SQUARE, g, step)
            for d in range(FEATURES):
                w[d] -= within(step[d], LONGEST_POOL_STEP)

    cdef void features_covariance(
        self, const float *p, const Predicted *r, const float *mean, float *S
    ) noexcept nogil:
        """Fill the lower triangle of the covariances of the features under p.

        That of an indicator of one class with another feature is p (f - mean) at this class.
        """
        cdef int d, c, k
        covariances(self.K, p, <const float **>r.f, mean, DENSE, self.z, S)
        S += DENSE * (DENSE + 1) // 2
        for d in range(OF_TOP, OF_ZEROS):
            k = r.top if d == OF_TOP else r.last
            for c in range(d + 1):
                S[c] = 0.0 if k < 0 else p[k] * (r.f[c][k] - mean[c])
            S += d + 1
        memset(S, 0, FEATURES * sizeof(float))
        if r.has_zeros:
            for k in range(self.K):
                self.z[k] = p[k] * (r.f[OF_ZEROS][k] - mean[OF_ZEROS])
            dots(self.K, self.z, <const float **>r.f, FEATURES, S)

    cdef int learn_linear(self, const Predicted *r, const float *P, int y) except -1:
        """Take the steps of temperatures, biases, base rates, contexts and the matrix."""
        cdef int K = self.K, i, k, row
        cdef const float *x = r.x
        cdef const float *p
        cdef float kept, mean, square
        cdef double keep, pull, variance
        cdef Learned *to = &self.state
        for i in range(1, LINEAR):
            p, keep = P + i * K, KEEPS[i]
            pull = (1.0 - keep) / SLOPE_VARIANCE
            moments(K, p, x, self.z, &mean, &square)
            variance = <double>square - <double>mean * mean
            to.known[i] = keep * to.known[i] + pull
            to.known[i] += variance if variance > LEAST_CURVATURE else LEAST_CURVATURE
            to.slope[i] -= within(
                (<double>mean - x[y] + pull * (to.slope[i] - 1.0)) / to.known[i], LONGEST_SLOPE_STEP
            )
            if to.slope[i] < 0.0:
                to.slope[i] = 0.0
            if to.slope[i] > LARGEST_SLOPE:
                to.slope[i] = LARGEST_SLOPE
            if i >= FIRST_BIASED:
                step_biases(
                    K, self.bias[i - FIRST_BIASED], self.bias_known[i - FIRST_BIASED], p, y, keep,
                    BIAS_SD[i - FIRST_BIASED],
                )
        for i in range(BASES):
            keep = KEEPS[FIRST_BASE + i]
            kept = keep
            if keep < 1.0:
                for k in range(K):
                    self.base[i][k] *= kept
            self.base[i][y] += 1.0
            to.count[i] = keep * to.count[i] + 1.0
        for i in range(CONTEXTS):
            row = self.visit(i, r.last if i else r.top)
            step_biases(
                K, self.rows[i] + <Py_ssize_t>row * K, self.rows_known[i] + <Py_ssize_t>row * K,
                P + (FIRST_CONTEXT + i) * K, y, KEEPS[FIRST_CONTEXT + i], CONTEXT_SD[i],
            )
        if self.matrix != NULL:
            self.learn_matrix(x, P + THE_MATRIX * K, y)
        return 0

    cdef int visit(self, int which, int context) except -1:
        """Return the row of a context, which has one of its own from now on if any is left."""
        cdef int *row = self.row_of[which] + 1 + context
        if row[0] == 0 and self.used[which] <= MOST_ROWS:
            if self.used[which] == self.room[which]:
                self.make_rows(which, min(2 * self.room[which], MOST_ROWS + 1, self.K + 2))
            row[0] = self.used[which]
            self.used[which] += 1
        return row[0]

    cdef void learn_matrix(self, const float *x, const float *p, int y) noexcept nogil:
        """Take a step of recursive least squares."""
        cdef int K = self.K, n = K + 1, i, j
        cdef float keep = KEEPS[THE_MATRIX], h = 1.0, scale, step, left, trace = 0.0
        cdef const float *c = self.centre
        cdef float *g = self.turned
        cdef float *G = self.gain
        cdef float *W
        if K < 2:
            return
        self.centre_on(x)
        h = (<float>1.0 - dot(K, p, p)) / (K - 1)
        if h < LEAST_MATRIX_CURVATURE:
            h = LEAST_MATRIX_CURVATURE
        for i in range(n):
            g[i] = dot(n, G + i * n, c)
        scale = keep + h * dot(n, c, g)
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
            step, W = (p[i] - (1.0 if i == y else 0.0)) / scale, self.matrix + i * n
            for j in range(n):
                W[j] -= step * g[j]

    # -- looking --------------------------------------------------------------------------------

    def weights(self):
        """Return the weights of the experts."""
        cdef int i
        found = np.empty(self.E)
        cdef double[::1] to = found
        for i in range(self.E):
            to[i] = self.state.trust * self.state.w[i] + (1.0 - self.state.trust) * self.state.v[i]
        return found

    def __sizeof__(self):
        cdef Py_ssize_t K = self.K, n = K + 1
        cdef Py_ssize_t vectors = (2 * BIASED + BASES) * K + 5 * n + (6 + 2 * EXPERTS) * K
        vectors += 2 * (self.room[0] + self.room[1]) * K + CONTEXTS * n
        if self.matrix != NULL:
            vectors += K * n + n * n
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
        state["inverse"] = doubles(self.inverse, POOLS * SQUARE)
        vectors = []
        for i in range(BIASED):
            vectors += [doubles(self.bias[i], self.K), doubles(self.bias_known[i], self.K)]
        state["biases"] = np.concatenate(vectors)
        state["bases"] = np.concatenate([doubles(self.base[i], self.K) for i in range(BASES)])
        for i in range(CONTEXTS):
            size = <Py_ssize_t>self.used[i] * self.K
            state[f"context{i}"] = np.concatenate(
                [doubles(self.rows[i], size), doubles(self.rows_known[i], size)]
            )
            state[f"context{i}_rows"] = integers_of(self.row_of[i], self.K + 1)
        if self.matrix != NULL:
            n = self.K + 1
            state["matrix"] = np.concatenate(
                [doubles(self.matrix, self.K * n), doubles(self.gain, n * n)]
            )
        return state

    def load(self, state):
        """Take over what `save` returned, or raise ValueError."""
        cdef int i, j, n = self.K + 1, used
        cdef Py_ssize_t K = self.K
        cdef double *part = <double *>&self.state
        cdef const double[::1] values
        cdef const int64_t[::1] rows
        cdef int64_t begun = integer(state, "begun", low=0, high=2**53)
        cdef int64_t learned = integer(state, "learned", low=0, high=begun)
        last = integer(state, "last", low=-1, high=self.K - 1)
        if (last < 0) != (learned == 0):
            raise ValueError("saved last must be a class once a label was learned, and -1 before")
        found = {name: floats(state, name, size=size) for name, size in MIXTURE_PARTS.items()}
        check_learned(found, self.E, begun, learned)
        inverse = floats(state, "inverse", size=POOLS * SQUARE, low=-1e10, high=1e10)
        seen = {name: floats(state, name, size=size) for name, size in BATCH_PARTS.items()}
        check_batches(seen, learned)
        biases = floats(state, "biases", size=2 * BIASED * K, low=-1e4, high=5.0 + 2.0 * learned)
        bases = floats(state, "bases", size=BASES * K, low=0.0, high=learned)
        for i in range(BIASED):
            if (biases[(2 * i + 1) * K : (2 * i + 2) * K] < 1e-30).any():
                raise ValueError("saved biases must be known with a precision above 0")
        for i in range(CONTEXTS):
            name = f"context{i}"
            numbers = state[name + "_rows"]
            if not isinstance(numbers, np.ndarray) or numbers.dtype != np.int64:
                raise ValueError(f"saved {name}_rows must be an array of int64")
            own = np.sort(numbers[numbers > 0])
            if numbers.shape != (K + 1,) or (own != np.arange(1, len(own) + 1)).any() or (
                (numbers < 0).any() or len(own) > min(learned, MOST_ROWS)
            ):
                raise ValueError(f"saved {name}_rows must be rows of {K + 1} contexts, each once")
            used = 1 + len(own)
            cells = floats(state, name, size=2 * used * K, low=-1e4, high=5.0 + 2.0 * learned)
            if (cells[used * K :] < 1e-30).any():
                raise ValueError(f"saved {name} must be known with a precision above 0")
            if used > self.room[i]:
                self.make_rows(i, used)
            self.used[i], rows, values = used, numbers, cells
            for j in range(n):
                self.row_of[i][j] = <int>rows[j]
            take(self.rows[i], values, 0, used * K)
            take(self.rows_known[i], values, used * K, used * K)
        if self.matrix != NULL:
            values = floats(state, "matrix", size=K * n + n * n, low=-1e6, high=1e6)
            take(self.matrix, values, 0, K * n)
            take(self.gain, values, K * n, n * n)
        values = inverse
        take(self.inverse, values, 0, POOLS * SQUARE)
        values = biases
        for i in range(BIASED):
            take(self.bias[i], values, 2 * i * K, K)
            take(self.bias_known[i], values, (2 * i + 1) * K, K)
        values = bases
        for i in range(BASES):
            take(self.base[i], values, i * K, K)
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
        names = {"begun", "learned", "last", "inverse", "biases", "bases", *MIXTURE_PARTS, *BATCH_PARTS}
        names |= {f"context{i}{end}" for i in range(CONTEXTS) for end in ("", "_rows")}
        return names | ({"matrix"} if self.matrix != NULL else set())


def check_learned(found, int E, double begun, double learned):
    """Refuse saved numbers that no rounds lead to; arrays by name."""
    for name in ("w", "v"):
        weights = found[name]
        if (weights[:E] < 0.0).any() or (weights[E:] != 0.0).any() or not (
            abs(weights.sum() - 1.0) < 1e-6
        ):
            raise ValueError(f"saved {name} must be weights of {E} experts")
    if not (0.0 <= found["slope"]).all() or not (found["slope"] <= LARGEST_SLOPE).all():
        raise ValueError(f"saved slope must be in [0, {LARGEST_SLOPE}]")
    if not (found["known"] > 0.0).all():
        raise ValueError("saved known must be above 0")
    if not (0.0 <= found["count"]).all() or not (found["count"] <= learned).all():
        raise ValueError(f"saved count must be in [0, {learned:.0f}]")
    if not 0.0 <= found["trust"][0] <= 1.0 or not 0.0 <= found["late"][0] <= begun:
        raise ValueError("saved trust must be a share, and saved late a number of predictions")
    if not 0.0 < found["escaped"][0] < found["escapes"][0] <= MOST_ESCAPES:
        raise ValueError("saved escaped must be a part of saved escapes")
    if not ZERO <= found["least"][0] <= LEAST_SCORE:
        raise ValueError(f"saved least must be in [{ZERO}, {LEAST_SCORE}]")
    for i in range(POOLS):
        half = np.zeros((FEATURES, FEATURES))
        half[np.tril_indices(FEATURES)] = found["hessian"][i * TRIANGLE : (i + 1) * TRIANGLE]
        try:
            np.linalg.cholesky(half + np.tril(half, -1).T)
        except np.linalg.LinAlgError:
            raise ValueError("saved hessian must be positive definite") from None


cdef object doubles(const float *vector, Py_ssize_t size):
    """Return floats as an array of doubles, which hold them exactly."""
    found = np.empty(size)
    cdef double[::1] to = found
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


cdef void take(float *vector, const double[::1] values, Py_ssize_t start, Py_ssize_t size):
    """Fill a vector with floats that were saved as doubles."""
    cdef Py_ssize_t k
    for k in range(size):
        vector[k] = <float>values[start + k]
