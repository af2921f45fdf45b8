"""Other methods for calibrated prediction intervals, over whole streams of residuals.

Each function takes residuals, how many rounds late they become known, and the levels, and returns
the quantiles predicted before each, one row per round. Every level is tracked separately, with the
residual as its score; crossing quantiles are sorted in the result, but not for learning.
"""

from libc.math cimport fabs, floor, sqrt

import numpy as np

from calibrant._kernels.functions cimport exp, log, log2, tan
from calibrant._kernels.numbers.limits cimport greater, lesser
from calibrant._kernels.numbers.quantile_mixture cimport sort

cdef enum:
    MOST = 256  # experts of SAOCP at once


cdef class Window:
    """The last scores, sorted; of all scores if the size is 0."""

    cdef double[::1] values
    cdef const double[::1] all
    cdef Py_ssize_t size, count
    cdef double largest

    def __init__(self, const double[::1] scores, Py_ssize_t size):
        self.values = np.empty((size or scores.shape[0]) + 1)
        self.all, self.size, self.count, self.largest = scores, size, 0, 0.0

    cdef Py_ssize_t below(self, double x) noexcept nogil:
        """Return how many are below x."""
        cdef Py_ssize_t low = 0, high = self.count, middle
        while low < high:
            middle = (low + high) // 2
            if self.values[middle] < x:
                low = middle + 1
            else:
                high = middle
        return low

    cdef void take(self, Py_ssize_t i) noexcept nogil:
        """Take in score i, the next."""
        cdef Py_ssize_t at, j
        if self.size and self.count == self.size:
            for j in range(self.below(self.all[i - self.size]), self.count - 1):
                self.values[j] = self.values[j + 1]
            self.count -= 1
        at = self.below(self.all[i])
        for j in range(self.count, at, -1):
            self.values[j] = self.values[j - 1]
        self.values[at] = self.all[i]
        self.count += 1
        self.largest = greater(self.largest, fabs(self.all[i]))

    cdef double quantile(self, double level) noexcept nogil:
        """Return the (n+1)-level order statistic, interpolated; the largest size outside (0, 1)."""
        cdef double place = (self.count + 1) * level - 1.0
        cdef Py_ssize_t i
        if self.count == 0:
            return 0.0
        if level <= 0.0:
            return -self.largest
        if level >= 1.0:
            return self.largest
        if place <= 0.0:
            return self.values[0]
        if place >= self.count - 1:
            return self.values[self.count - 1]
        i = <Py_ssize_t>place
        return self.values[i] + (place - i) * (self.values[i + 1] - self.values[i])


cdef sorted_rows(double[:, ::1] rows):
    cdef Py_ssize_t t
    for t in range(rows.shape[0]):
        sort(&rows[t, 0], <int>rows.shape[1])
    return np.asarray(rows)


def split(const double[::1] r, Py_ssize_t late, const double[::1] tau, Py_ssize_t window):
    """Rolling split conformal: empirical quantiles of the last `window` residuals; 0 for all."""
    cdef Py_ssize_t t, k, T = r.shape[0], K = tau.shape[0]
    cdef double[:, ::1] Q = np.zeros((T, K))
    cdef Window seen = Window(r, window)
    for t in range(T):
        for k in range(K):
            Q[t, k] = seen.quantile(tau[k])
        if t >= late:
            seen.take(t - late)
    return np.asarray(Q)


def aci(const double[::1] r, Py_ssize_t late, const double[::1] tau, Py_ssize_t window, double rate):
    """Adaptive conformal inference (Gibbs and Candes, 2021): the level follows its own misses."""
    cdef Py_ssize_t t, k, i, T = r.shape[0], K = tau.shape[0]
    cdef double[:, ::1] Q = np.zeros((T, K))
    cdef double[::1] a = np.array(tau)
    cdef Window seen = Window(r, window)
    for t in range(T):
        for k in range(K):
            Q[t, k] = seen.quantile(a[k])
        i = t - late
        if i >= 0:
            for k in range(K):
                a[k] += rate * (tau[k] - (1.0 if r[i] <= Q[i, k] else 0.0))
            seen.take(i)
    return sorted_rows(Q)


def dtaci(const double[::1] r, Py_ssize_t late, const double[::1] tau, Py_ssize_t window,
          const double[::1] rates, double interval=500.0):
    """Dynamically tuned ACI (Gibbs and Candes, 2022): levels at several rates, weighed by loss."""
    cdef Py_ssize_t t, k, j, i, T = r.shape[0], K = tau.shape[0], M = rates.shape[0]
    cdef double[:, ::1] Q = np.zeros((T, K)), a = np.repeat(tau, M).reshape(K, M), w = np.full((K, M), 1.0 / M)
    cdef double share = 1.0 / (2.0 * interval), total, level, beta, x, loss
    cdef double[::1] eta = np.empty(K)
    cdef Window seen = Window(r, window)
    for k in range(K):
        x = 1.0 - tau[k]
        eta[k] = sqrt(3.0 / interval) * sqrt(
            (log(interval * M) + 2.0) / ((1.0 - x) ** 2 * x ** 3 + (1.0 - x) ** 3 * x ** 2)
        )
    for t in range(T):
        for k in range(K):
            level = total = 0.0
            for j in range(M):
                level += w[k, j] * a[k, j]
                total += w[k, j]
            Q[t, k] = seen.quantile(level / total)
        i = t - late
        if i >= 0:
            if seen.count:
                beta = (seen.below(r[i]) + 0.5) / (seen.count + 1.0)
                for k in range(K):
                    total = 0.0
                    for j in range(M):
                        x = beta - a[k, j]
                        loss = x * tau[k] if x > 0.0 else x * (tau[k] - 1.0)
                        w[k, j] *= exp(-eta[k] * loss)
                        a[k, j] += rates[j] * (tau[k] - (1.0 if beta <= a[k, j] else 0.0))
                        total += w[k, j]
                    for j in range(M):
                        w[k, j] = (1.0 - share) * w[k, j] / total + share / M
            seen.take(i)
    return sorted_rows(Q)


def agaci(const double[::1] r, Py_ssize_t late, const double[::1] tau, Py_ssize_t window,
          const double[::1] rates):
    """AgACI (Zaffran et al., 2022): ACI at several rates, aggregated by BOA with gradients."""
    cdef Py_ssize_t t, k, j, i, T = r.shape[0], K = tau.shape[0], M = rates.shape[0], D = late + 1
    cdef double[:, ::1] Q = np.zeros((T, K)), a = np.repeat(tau, M).reshape(K, M), R = np.zeros((K, M))
    cdef double[:, ::1] V = np.full((K, M), 1e-9), E = np.full((K, M), 1e-9)
    cdef double[:, :, ::1] predicted = np.zeros((D, K, M))
    cdef double total, q, eta, w, gradient, loss, x
    cdef Window seen = Window(r, window)
    for t in range(T):
        for k in range(K):
            total = q = 0.0
            for j in range(M):
                eta = lesser(0.5 / E[k, j], sqrt(log(M) / V[k, j]))
                w = eta * exp(lesser(50.0, eta * R[k, j]))
                x = predicted[t % D, k, j] = seen.quantile(a[k, j])
                total += w
                q += w * x
            Q[t, k] = q / total
        i = t - late
        if i >= 0:
            for k in range(K):
                gradient = (1.0 if r[i] <= Q[i, k] else 0.0) - tau[k]
                for j in range(M):
                    x = predicted[i % D, k, j]
                    loss = gradient * (Q[i, k] - x)
                    E[k, j] = greater(E[k, j], fabs(loss))
                    V[k, j] += loss * loss
                    eta = lesser(0.5 / E[k, j], sqrt(log(M) / V[k, j]))
                    R[k, j] += loss - eta * loss * loss
                    a[k, j] += rates[j] * (tau[k] - (1.0 if r[i] <= x else 0.0))
            seen.take(i)
    return sorted_rows(Q)


def saocp(const double[::1] r, Py_ssize_t late, const double[::1] tau, Py_ssize_t life=8):
    """Strongly adaptive online conformal prediction (Bhatnagar et al., 2023).

    Scale-free gradient steps, begun anew at every outcome and kept for `life` rounds times the
    largest power of two that divides its number, weighed by coin betting. Late outcomes are learned
    by what the experts say now: the source knows none.
    """
    cdef Py_ssize_t t, k, j, i, m, u = 0, v, length, T = r.shape[0], K = tau.shape[0], active = 0
    cdef double[:, ::1] Q = np.zeros((T, K))
    cdef double[:, ::1] s = np.zeros((MOST, K)), G = np.zeros((MOST, K)), w = np.zeros((MOST, K))
    cdef double[:, ::1] sg = np.zeros((MOST, K)), swg = np.zeros((MOST, K))
    cdef long long[::1] born = np.zeros(MOST, dtype=np.int64), dies = np.zeros(MOST, dtype=np.int64)
    cdef double[::1] eta = np.zeros(MOST), now = np.zeros(K)
    cdef double D = 1e-9, x, mine, loss, g, prior, total, q, weight
    for t in range(T):
        Q[t, :] = now
        i = t - late
        if i < 0:
            continue
        D = greater(D, fabs(r[i]))
        u += 1
        m = 0
        for j in range(active):
            if dies[j] > u:
                if m != j:
                    born[m], dies[m], eta[m] = born[j], dies[j], eta[j]
                    for k in range(K):
                        s[m, k], G[m, k], w[m, k] = s[j, k], G[j, k], w[j, k]
                        sg[m, k], swg[m, k] = sg[j, k], swg[j, k]
                m += 1
        active = m
        v, length = u, life
        while v % 2 == 0:
            v //= 2
            length *= 2
        if active < MOST:
            born[active], dies[active], eta[active] = u, u + length, D / sqrt(3.0)
            for k in range(K):
                s[active, k] = now[k]
                G[active, k] = w[active, k] = sg[active, k] = swg[active, k] = 0.0
            active += 1
        for k in range(K):
            x = r[i] - now[k]
            mine = x * tau[k] if x > 0.0 else x * (tau[k] - 1.0)
            total = q = 0.0
            for j in range(active):
                x = r[i] - s[j, k]
                loss = x * tau[k] if x > 0.0 else x * (tau[k] - 1.0)
                g = (mine - loss) / D
                if w[j, k] <= 0.0 and g < 0.0:
                    g = 0.0
                swg[j, k] += w[j, k] * g
                sg[j, k] += g
                w[j, k] = sg[j, k] * (1.0 + swg[j, k]) / (u - born[j] + 1.0)
                g = (1.0 if r[i] <= s[j, k] else 0.0) - tau[k]
                G[j, k] += g * g
                s[j, k] -= eta[j] * g / sqrt(G[j, k])
                prior = 1.0 / (<double>born[j] * born[j] * (1.0 + floor(log2(<double>born[j]))))
                weight = prior * greater(0.0, w[j, k])
                total += weight
                q += weight * s[j, k]
            if total <= 0.0:
                total = q = 0.0
                for j in range(active):
                    prior = 1.0 / (<double>born[j] * born[j] * (1.0 + floor(log2(<double>born[j]))))
                    total += prior
                    q += prior * s[j, k]
            now[k] = q / total
    return sorted_rows(Q)


def pid(const double[::1] r, Py_ssize_t late, const double[::1] tau, double rate,
        Py_ssize_t window=100, double saturation=5.0):
    """Conformal PID (Angelopoulos, Candes and Tibshirani, 2023), without a scorecaster.

    Steps of `rate` times the range of the last scores, and an integrator with a tangent.
    """
    cdef Py_ssize_t t, k, i, j, T = r.shape[0], K = tau.shape[0]
    cdef double[:, ::1] Q = np.zeros((T, K))
    cdef double[::1] p = np.zeros(K), S = np.zeros(K)
    cdef double low = 0.0, high = 0.0, largest = 0.0, x, miss
    for t in range(T):
        for k in range(K):
            x = S[k] * log(t + 1.0) / (saturation * (t + 1.0))
            Q[t, k] = p[k] + largest * tan(lesser(greater(x, -1.56), 1.56))
        i = t - late
        if i >= 0:
            low = high = r[i]
            for j in range(max(0, i - window + 1), i):
                low, high = lesser(low, r[j]), greater(high, r[j])
            largest = greater(fabs(low), fabs(high))
            for k in range(K):
                miss = tau[k] - (1.0 if r[i] <= Q[i, k] else 0.0)
                S[k] += miss
                p[k] += rate * (high - low) * miss
    return sorted_rows(Q)


cdef void pool(double[::1] y, const double[::1] w, double[::1] value, double[::1] weight,
               long long[::1] size) noexcept nogil:
    """Make values rise, with the least weighted squared error: pool adjacent violators.

    `value`, `weight` and `size` are room for the blocks, as many as there are values.
    """
    cdef Py_ssize_t k, i, b, m = 0, K = y.shape[0]
    for k in range(K):
        value[m], weight[m], size[m] = y[k], w[k], 1
        m += 1
        while m > 1 and value[m - 2] > value[m - 1]:
            value[m - 2] = (value[m - 2] * weight[m - 2] + value[m - 1] * weight[m - 1]) / (
                weight[m - 2] + weight[m - 1]
            )
            weight[m - 2] += weight[m - 1]
            size[m - 2] += size[m - 1]
            m -= 1
    k = 0
    for b in range(m):
        for i in range(size[b]):
            y[k] = value[b]
            k += 1


def isotonic(const double[::1] values, const double[::1] weights):
    """Isotonic regression (Zadrozny and Elkan, 2002): the rising values closest to these."""
    y = np.array(values)
    pool(y, weights, np.empty(len(y)), np.empty(len(y)), np.empty(len(y), dtype=np.int64))
    return y


def multiqt(const double[::1] r, Py_ssize_t late, const double[::1] tau, double rate,
            const double[:, ::1] base, Py_ssize_t window=50):
    """MultiQT (Ding, Angelopoulos and Tibshirani, 2025): trackers of all levels, projected.

    The offsets are pooled to be in order on top of base quantiles; steps are `rate` times the 90th
    percentile of the last |residuals|.
    """
    cdef Py_ssize_t t, k, i, T = r.shape[0], K = tau.shape[0]
    cdef double[:, ::1] Q = np.zeros((T, K))
    cdef double[::1] offset = np.zeros(K), value = np.zeros(K), weight = np.zeros(K)
    cdef double[::1] equal = np.ones(K)
    cdef long long[::1] size = np.zeros(K, dtype=np.int64)
    cdef double step
    sizes = np.abs(r)
    for t in range(T):
        for k in range(K):
            Q[t, k] = base[t, k] + offset[k]
        pool(Q[t], equal, value, weight, size)
        i = t - late
        if i >= 0:
            last = np.sort(sizes[max(0, i - window + 1) : i + 1])
            step = rate * last[int(0.9 * (len(last) - 1))]
            for k in range(K):
                offset[k] += step * (tau[k] - (1.0 if r[i] <= Q[i, k] else 0.0))
    return np.asarray(Q)


def gauss(const double[::1] r, Py_ssize_t late, const double[::1] normal, double keep):
    """A normal distribution whose variance is an exponentially weighted mean (RiskMetrics)."""
    cdef Py_ssize_t t, k, T = r.shape[0], K = normal.shape[0], n = 0
    cdef double[:, ::1] Q = np.zeros((T, K))
    cdef double variance = 0.0
    for t in range(T):
        for k in range(K):
            Q[t, k] = sqrt(variance) * normal[k]
        if t >= late:
            n += 1
            variance += greater(1.0 - keep, 1.0 / n) * (r[t - late] * r[t - late] - variance)
    return np.asarray(Q)


def normalised_split(const double[::1] r, Py_ssize_t late, const double[::1] tau, Py_ssize_t window,
                     double keep):
    """Split conformal of residuals divided by an exponentially weighted standard deviation."""
    cdef Py_ssize_t t, k, i, T = r.shape[0], K = tau.shape[0], n = 0
    cdef double[:, ::1] Q = np.zeros((T, K))
    cdef double[::1] scale = np.zeros(T), z = np.zeros(T)
    cdef Window seen = Window(z, window)
    cdef double variance = 0.0
    for t in range(T):
        scale[t] = sqrt(variance) + 1e-9
        for k in range(K):
            Q[t, k] = scale[t] * seen.quantile(tau[k])
        i = t - late
        if i >= 0:
            n += 1
            variance += greater(1.0 - keep, 1.0 / n) * (r[i] * r[i] - variance)
            z[i] = r[i] / scale[i] if i > late else 0.0
            seen.take(i)
    return np.asarray(Q)
