"""Batches: many labels that waited together, learned in one step.

It is the rule of `scores/batches.pyx` for vectors. What the labels of a month have in common is no
evidence of as many rounds, and no prediction could use one of them for another:

1. Weights are multiplied by each expert's likelihood of what it predicted, to the power 1 /
   disp(n), where disp(n) is estimated from how far past batches missed the named class. The weights
   of online EM take one step as large as n / disp(n) labels would.
2. Every expert fits the batch at once, with the past as a Gaussian that is forgotten once, by
   1 - (1 - f)^n: temperatures and biases in turn by Newton steps, pools by Newton steps with the
   features of then but for the indicator of the class learned last: it is the same in all rows of a
   batch, and would learn what this month has more of that class. Base rates count the batch without
   an order. The matrix takes row after row.
3. If the batch is a surprise for the mixture, by its named class or by its classes, what the experts
   predicted says little about who is right now. Weights are then the prior times how well each
   expert fits the batch (Schwarz 1978), as they are after the first batch.
4. Weights return to their prior as for so many labels, but at most by RETURN.

A label counts in all losses as often as its weight says; what a batch has in common, and whether it
is a surprise, is about labels as they are.
"""

from libc.math cimport sqrt
from libc.stdint cimport int64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy, memset

from calibrant._kernels.classes.class_mixture cimport (
    BASES, CONTEXTS, EXPERTS, FEATURES, FIRST_BASE, LINEAR, POOLS, SQUARE, TRIANGLE, ClassMixture,
    Predicted, invert,
    of_expert,
)
from calibrant._kernels.classes.vectors cimport dot, line, moments, softmax, total
from calibrant._kernels.functions cimport exp, log, pow
from calibrant._kernels.scores.batches cimport batches_count, changed, dispersion
from calibrant._kernels.scores.sharp cimport EXPERTS as SCORE_EXPERTS

cdef enum:
    FIRST_BIASED = 3
    FIRST_CONTEXT = 10
    FIRST_POOL = 12
    OF_LAST = 11                    # the feature that is the same in all rows of a batch
    THE_MATRIX = 14
    TURNS = 6                       # temperatures and biases are fitted in turn so often
    VISITS = 3                      # steps of the biases of contexts
    NEWTONS = 4                     # steps of the pools
cdef double RETURN = 0.03           # the most that a batch returns
cdef double SHARE = 5e-5
cdef double HALF = 4.0              # how much less a fit to known labels counts than a prediction
cdef double LEAST_PREDICTED = 1e-12
cdef double LONGEST = 1.0           # step of a fit in any parameter; of a slope above 1, times that
cdef double LARGEST_SLOPE = 200.0
cdef double LEAST_CURVATURE = 1e-6
cdef double EM_RATE = .05


cdef inline double within(double x, double most) noexcept nogil:
    return most if x > most else x if x >= -most else -most  # a number, even of NaN


cdef inline double log_of(double p) noexcept nogil:
    return log(p if p > LEAST_PREDICTED else LEAST_PREDICTED)


cdef void linear(ClassMixture m, int i, const float *x, float *p) noexcept nogil:
    """Put into p what an expert with a temperature, and perhaps biases, says now."""
    line(m.K, m.state.slope[i], x, m.bias[i - FIRST_BIASED] if i >= FIRST_BIASED else NULL, p)


cdef int fit_linear(
    ClassMixture m, int i, const Predicted **rows, const int64_t *labels, const double *weights,
    Py_ssize_t n,
) except -1:
    """Fit a temperature, and perhaps biases, to a batch."""
    cdef int K = m.K, k, turn
    cdef Py_ssize_t t
    cdef double left = pow(of_expert(i).keep, <double>n), start = m.state.slope[i], g, h
    cdef double prior = m.prior_of(i, m.learned), past = left * m.state.known[i] + prior
    cdef double pull = (1.0 - left) / 0.09, sd, step, low, away
    cdef bint has_biases = i >= FIRST_BIASED
    cdef float mean, square
    cdef float *p = <float *>malloc(5 * K * sizeof(float))
    cdef float *s = p + K
    cdef float *first = p + 2 * K
    cdef float *known = p + 3 * K
    cdef float *counts = p + 4 * K
    cdef float *b = m.bias[i - FIRST_BIASED] if has_biases else NULL
    cdef const float *home = m.home(i)
    if p == NULL:
        raise MemoryError
    if has_biases:
        sd = of_expert(i).sd
        low = (1.0 - left) / (sd * sd)
        memcpy(first, b, K * sizeof(float))
        memset(counts, 0, K * sizeof(float))
        for k in range(K):
            known[k] = left * m.bias_known[i - FIRST_BIASED][k]
        for t in range(n):
            counts[labels[t]] += <float>weights[t]
    for turn in range(TURNS):
        g, h = past * (m.state.slope[i] - start) + pull * (m.state.slope[i] - 1.0), past + pull
        for t in range(n):
            linear(m, i, rows[t].x, p)
            softmax(K, 1, p)
            moments(K, p, rows[t].x, s, &mean, &square)
            step = <double>square - <double>mean * mean
            h += weights[t] * (step if step > LEAST_CURVATURE else LEAST_CURVATURE)
            g += weights[t] * (<double>mean - rows[t].x[labels[t]])
        m.state.slope[i] = within(
            m.state.slope[i] - within(g / h, LONGEST * max(m.state.slope[i], 1.0)), LARGEST_SLOPE
        )
        if m.state.slope[i] < 0.0:
            m.state.slope[i] = 0.0
        if not has_biases:
            continue
        memset(s, 0, K * sizeof(float))
        for t in range(n):
            linear(m, i, rows[t].x, p)
            softmax(K, 1, p)
            for k in range(K):
                s[k] += <float>weights[t] * p[k]
        for k in range(K):
            away = b[k] - home[k] if home != NULL else b[k]
            step = s[k] - counts[k] + known[k] * (b[k] - first[k]) + low * away
            b[k] -= <float>within(step / (s[k] + known[k] + low), LONGEST)
    m.state.known[i] = h - prior
    if has_biases:
        for k in range(K):
            m.bias_known[i - FIRST_BIASED][k] = s[k] + known[k] + <float>low
    free(p)
    return 0


cdef int fit_context(
    ClassMixture m, int which, const Predicted **rows, const int64_t *labels, const double *weights,
    Py_ssize_t n,
) except -1:
    """Fit the biases of contexts to a batch, on top of the first biased expert."""
    cdef int K = m.K, k, turn, c, row, used
    cdef Py_ssize_t t, at
    cdef double keep = of_expert(FIRST_CONTEXT + which).keep
    cdef double sd = of_expert(FIRST_CONTEXT + which).sd, step, left, low
    cdef float *s
    cdef float *first
    cdef float *p
    cdef double *visits
    cdef double *heavy              # the weights of these visits
    for t in range(n):
        m.visit(which, rows[t].last if which else rows[t].top)
    used = m.used[which]
    p = <float *>malloc(K * sizeof(float))
    s = <float *>malloc(2 * <Py_ssize_t>used * K * sizeof(float))
    visits = <double *>calloc(2 * used, sizeof(double))
    if p == NULL or s == NULL or visits == NULL:
        raise MemoryError
    first, heavy = s + <Py_ssize_t>used * K, visits + used
    memcpy(first, m.rows[which], <Py_ssize_t>used * K * sizeof(float))
    for turn in range(VISITS):
        memset(s, 0, <Py_ssize_t>used * K * sizeof(float))
        for t in range(n):
            c = 1 + (rows[t].last if which else rows[t].top)
            row = m.row_of[which][c]
            at = <Py_ssize_t>row * K
            linear(m, FIRST_BIASED, rows[t].x, p)
            for k in range(K):
                p[k] += m.rows[which][at + k]
            softmax(K, 1, p)
            for k in range(K):
                s[at + k] += <float>weights[t] * p[k]
            s[at + labels[t]] -= <float>weights[t]
            if turn == 0:
                visits[row] += 1.0
                heavy[row] += weights[t]
        for row in range(used):
            if visits[row] == 0.0:
                continue
            left = pow(keep, visits[row])
            low = (1.0 - left) / (sd * sd)
            for k in range(K):
                at = <Py_ssize_t>row * K + k
                step = left * m.rows_known[which][at]
                # s is what was expected less what was observed; the curvature is what was expected
                s[at] += <float>(step * (m.rows[which][at] - first[at]) + low * m.rows[which][at])
                m.rows[which][at] -= <float>within(
                    s[at] / (step + low + expected_of(m, which, heavy[row], k)), LONGEST
                )
    for row in range(used):
        if visits[row] > 0.0:
            left = pow(keep, visits[row])
            for k in range(K):
                at = <Py_ssize_t>row * K + k
                m.rows_known[which][at] = <float>(
                    left * m.rows_known[which][at] + (1.0 - left) / (sd * sd)
                    + expected_of(m, which, heavy[row], k)
                )
    free(p)
    free(s)
    free(visits)
    return 0


cdef inline double expected_of(ClassMixture m, int which, double visits, int k) noexcept nogil:
    """Return about how many of so many labels are expected in class k: by base rates."""
    return visits * (m.base[0][k] + 1.0 / m.K) / (m.state.count[0] + 1.0)


cdef int fit_pools(
    ClassMixture m, const Predicted **rows, const int64_t *labels, const double *weights,
    Py_ssize_t n, double scale,
) except -1:
    """Fit the pools to the rows of a batch whose features were kept, each counting `scale`."""
    cdef int K = m.K, i, d, c, k, turn
    cdef Py_ssize_t t
    cdef double[TRIANGLE] H
    cdef float[SQUARE] inverse
    cdef double[FEATURES] g, mean
    cdef double[FEATURES] start
    cdef double left, pull, step
    cdef double *w
    cdef double *past
    cdef const float *f
    cdef float *p = <float *>malloc(2 * K * sizeof(float))
    cdef float *q = p + K
    cdef float a
    if p == NULL:
        raise MemoryError
    for i in range(POOLS):
        left = pow(of_expert(FIRST_POOL + i).keep, <double>n * scale)
        pull = (1.0 - left) / 0.25
        w, past = m.state.pooled + i * FEATURES, m.state.hessian + i * TRIANGLE
        memcpy(start, w, sizeof(start))
        for turn in range(NEWTONS):
            for d in range(FEATURES):
                g[d] = pull * (w[d] - of_expert(d).pooled)
                for c in range(FEATURES):
                    step = left * past[d * (d + 1) // 2 + c if c <= d else c * (c + 1) // 2 + d]
                    g[d] += step * (w[c] - start[c])
                    if c <= d:
                        H[d * (d + 1) // 2 + c] = step
                H[d * (d + 3) // 2] += pull + 1e-6
            for t in range(n):
                if not rows[t].is_whole:
                    continue
                memset(p, 0, K * sizeof(float))
                for d in range(FEATURES):
                    a, f = w[d], rows[t].f[d]
                    for k in range(K):
                        p[k] += a * f[k]
                softmax(K, 1, p)
                for d in range(FEATURES):
                    if d == OF_LAST:
                        continue
                    f = rows[t].f[d]
                    mean[d] = dot(K, p, f)
                    g[d] += scale * weights[t] * (mean[d] - f[labels[t]])
                    a = mean[d]
                    for k in range(K):
                        q[k] = p[k] * (f[k] - a)
                    for c in range(d + 1):
                        if c != OF_LAST:
                            H[d * (d + 1) // 2 + c] += scale * weights[t] * dot(K, q, rows[t].f[c])
            invert(H, inverse)
            for d in range(FEATURES):
                step = 0.0
                for c in range(FEATURES):
                    step += inverse[d * FEATURES + c] * g[c]
                w[d] -= within(step, LONGEST)
        memcpy(past, H, sizeof(H))
        memcpy(m.inverse + i * SQUARE, inverse, sizeof(inverse))
    free(p)
    return 0


cdef void batch_mix(ClassMixture m, const Predicted *r, float *P, float *q) noexcept nogil:
    """Put into q what the mixture says now of a round; without its features, without pools."""
    cdef int K = m.K, i, k
    cdef double d = m.state.escaped / m.state.escapes, u = m.state.trust
    cdef float c
    m.say(r, P)
    memset(q, 0, K * sizeof(float))
    for i in range(EXPERTS):
        if FIRST_POOL <= i < FIRST_POOL + POOLS and not r.is_whole:
            continue
        c = (1.0 - d) * (u * m.state.w[i] + (1.0 - u) * m.state.v[i]) + (d if i == FIRST_BASE else 0)
        for k in range(K):
            q[k] += c * P[i * K + k]


cdef int batch_learn(
    ClassMixture m, const Predicted **rows, const int *named, const int64_t *labels,
    const double *weights, Py_ssize_t n,
) except -1:
    """Learn the labels of a batch: what was predicted, and which classes were observed."""
    cdef int K = m.K, i, k
    cdef Py_ssize_t t, whole = 0
    cdef double[EXPERTS] losses, fitted, blended, sizes
    cdef double[SCORE_EXPERTS] residual, variance
    cdef double missed = 0.0, noise = 0.0, scale, q1, q2, p, before, dispersed, surprise, change
    cdef double first = 0.0, second = 0.0, escaped = 0.0, d, best, all_of_it, share, left, count
    cdef bint is_first = m.learned == 0, is_usual = m.learned >= n
    cdef double *by_class = <double *>calloc(3 * K, sizeof(double))
    cdef double *heavy = by_class + 2 * K
    cdef double counted = 0.0, taught = 0.0
    cdef const Predicted *r
    if by_class == NULL:
        raise MemoryError
    for i in range(SCORE_EXPERTS):
        residual[i] = variance[i] = 0.0
    for i in range(EXPERTS):
        losses[i] = blended[i] = 0.0
    d = m.state.escaped / m.state.escapes
    for t in range(n):
        r = rows[t]
        p = r.q[named[t]] / <double>total(K, r.q)
        missed += (1.0 if labels[t] == named[t] else 0.0) - p
        noise += p * (1.0 - p) if p < 1.0 else 0.0
        for k in range(K):
            by_class[k] += r.q[k]
        by_class[K + labels[t]] += 1.0
        heavy[labels[t]] += weights[t]
        counted += weights[t]
        if not r.is_whole:
            continue
        whole += 1
        q1 = q2 = 0.0
        for i in range(EXPERTS):
            p = r.P[i * K + labels[t]]
            p = p if p > LEAST_PREDICTED else LEAST_PREDICTED
            losses[i] -= weights[t] * log(p)
            q1 += r.w[i] * p
            q2 += m.state.v[i] * p
            p = r.P[i * K + named[t]]
            residual[i] += (1.0 if labels[t] == named[t] else 0.0) - p
            variance[i] += p * (1.0 - p) if p < 1.0 else 0.0
        for i in range(EXPERTS):
            p = r.P[i * K + labels[t]]
            blended[i] += weights[t] * ((p if p > LEAST_PREDICTED else LEAST_PREDICTED) / q2)
        taught += weights[t]
        first -= weights[t] * log(q1)
        second -= weights[t] * log(q2)
        p = r.P[FIRST_BASE * K + labels[t]]
        q1 = m.state.trust * q1 + (1.0 - m.state.trust) * q2
        escaped += d * p / ((1.0 - d) * q1 + d * p)
    scale = <double>n / whole if whole else 1.0
    for i in range(SCORE_EXPERTS):
        if i >= EXPERTS:  # there are fewer experts here than for scores
            residual[i], variance[i] = residual[0], variance[0]
        variance[i] += 1e-6
    before = 1.0 if is_first else dispersion(&m.batches, <double>n)
    surprise = missed * missed / (noise + 1e-6) / before
    p = 0.0
    for k in range(K):  # by classes: about normal after Wilson and Hilferty
        p += (by_class[K + k] - by_class[k]) ** 2 / (by_class[k] + 1.0)
    if K > 1:
        p /= (K - 1) * before
        share = 2.0 / (9.0 * (K - 1))
        p = (pow(p, 1.0 / 3.0) - (1.0 - share)) / sqrt(share)
        surprise = max(surprise, p * p if p > 0.0 else 0.0)
    change = 1.0 if is_first else changed(&m.batches, surprise)
    if is_usual and whole:
        batches_count(&m.batches, residual, variance, <double>whole)
    dispersed = dispersion(&m.batches, <double>n)
    # -- fits
    for i in range(BASES):
        left = pow(of_expert(FIRST_BASE + i).keep, <double>n)
        count = <double>n if left == 1.0 else (1.0 - left) / (1.0 - of_expert(FIRST_BASE + i).keep)
        m.state.count[i] = left * m.state.count[i] + count * (counted / n)
        for k in range(K):
            m.base[i][k] = <float>(left * m.base[i][k] + heavy[k] * (count / n))
    if whole:
        fit_pools(m, rows, labels, weights, n, scale)
    for i in range(1, LINEAR):
        fit_linear(m, i, rows, labels, weights, n)
    for i in range(CONTEXTS):
        fit_context(m, i, rows, labels, weights, n)
    for t in range(n):
        m.say_matrix(rows[t].x, m.now + THE_MATRIX * K)
        m.learn_matrix(rows[t].x, m.now + THE_MATRIX * K, <int>labels[t], weights[t])
    # -- weights
    best = losses[0]
    for i in range(EXPERTS):
        best = min(best, losses[i])
    all_of_it = 0.0
    for i in range(EXPERTS):
        m.state.w[i] *= exp(-(losses[i] - best) * scale / dispersed)
        all_of_it += m.state.w[i]
    share = 1.0 - pow(1.0 - EM_RATE, n / dispersed)
    for i in range(EXPERTS):
        m.state.w[i] /= all_of_it
        if whole:
            m.state.v[i] += share * (m.state.v[i] * blended[i] / taught - m.state.v[i])
    p = m.state.trust * exp(within((second - first) * scale / dispersed, 50.0))
    m.state.trust = p / (p + 1.0 - m.state.trust)
    count = n / dispersed
    m.state.escaped += escaped * scale / dispersed
    m.state.escapes += count
    if m.state.escapes > 20_000.0:
        m.state.escaped *= 20_000.0 / m.state.escapes
        m.state.escapes = 20_000.0
    if change > 0.0:
        reweigh(m, rows, labels, weights, n, before, change)
    share = min(RETURN, 1.0 - pow(1.0 - SHARE, <double>n))
    for i in range(EXPERTS):
        m.state.w[i] = (1.0 - share) * m.state.w[i] + share * m.prior[i]
        m.state.v[i] = (1.0 - share) * m.state.v[i] + share * m.prior[i]
    m.state.trust = (1.0 - share) * m.state.trust + share * 0.9
    m.last = <int>labels[n - 1]
    m.learned += n
    free(by_class)
    return 0


cdef int reweigh(
    ClassMixture m, const Predicted **rows, const int64_t *labels, const double *weights,
    Py_ssize_t n, double before, double change,
) except -1:
    """Give experts the weights, as far as things changed, by which they fit the batch now."""
    cdef int K = m.K, i
    cdef Py_ssize_t t, whole = 0
    cdef double[EXPERTS] fitted, sizes
    cdef double best, all_of_it = 0.0, scale
    for i in range(EXPERTS):
        fitted[i] = 0.0
        sizes[i] = K if FIRST_BIASED <= i < FIRST_CONTEXT else 1 if i else 0
    for i in range(CONTEXTS):
        sizes[FIRST_CONTEXT + i] = K + (m.used[i] - 1.0) * (K - 1.0)
    for i in range(POOLS):
        sizes[FIRST_POOL + i] = FEATURES
    sizes[THE_MATRIX] = m.matrix_size()
    for t in range(n):
        if not rows[t].is_whole:
            continue
        whole += 1
        m.say(rows[t], m.now)
        for i in range(EXPERTS):
            fitted[i] -= weights[t] * log_of(m.now[i * K + labels[t]])
    if not whole:
        return 0
    scale = <double>n / whole
    best = 1e300
    for i in range(EXPERTS):
        fitted[i] = (fitted[i] * scale + 0.5 * sizes[i] * log(<double>n)) / (HALF * before)
        best = min(best, fitted[i])
    for i in range(EXPERTS):
        fitted[i] = m.prior[i] * exp(-(fitted[i] - best))
        all_of_it += fitted[i]
    for i in range(EXPERTS):
        fitted[i] /= all_of_it
        m.state.w[i] = (1.0 - change) * m.state.w[i] + change * fitted[i]
        m.state.v[i] = (1.0 - change) * m.state.v[i] + change * fitted[i]
    return 0
