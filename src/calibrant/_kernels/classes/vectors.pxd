"""Vectors of floats: an exponential, a logarithm and sums whose bits no library and no compiler changes.

The C library's `expf` and `logf` differ from platform to platform in the last bit, and a compiler may
add up a sum in any order if it is allowed to. Here both functions are a few multiplications and
additions, with an error of about one unit in the last place, and a sum is kept in eight lanes that are
added up in one order. Loops over them are vectorised by any compiler; GCC on Linux compiles them for
AVX2 too, and which version runs is chosen once, when the module is loaded. Neither version fuses or
reorders anything, so both give the same bits.
"""

cdef extern from *:
    """
    #include <stdint.h>
    #include <stdlib.h>
    #include <string.h>

    enum { CALIBRANT_LANES = 8 };

    #if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__)
    #define CALIBRANT_WIDE static __attribute__((target_clones("avx2", "default")))
    #else
    #define CALIBRANT_WIDE static
    #endif

    static inline float calibrant_exp_within(float x) {
        /* For -87 <= x <= 88. x = n log 2 + r: adding 1.5 * 2^23 rounds to the integer n. */
        const float whole = 12582912.0f;
        float t, n, r, p, scale;
        int32_t bits;
        t = x * 1.44269504088896341f + whole;
        n = t - whole;
        r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
        p = 1.9875691500e-4f;
        p = p * r + 1.3981999507e-3f;
        p = p * r + 8.3334519073e-3f;
        p = p * r + 4.1665795894e-2f;
        p = p * r + 1.6666665459e-1f;
        p = p * r + 5.0000001201e-1f;
        p = p * (r * r) + r + 1.0f;
        bits = ((int32_t)n + 127) << 23;
        memcpy(&scale, &bits, 4);
        return p * scale;
    }

    static inline float calibrant_expf(float x) {
        x = x > -87.0f ? x : -87.0f;
        return calibrant_exp_within(x < 88.0f ? x : 88.0f);
    }

    static inline float calibrant_logf(float x) {
        /* x = 2^n m, sqrt(1/2) <= m < sqrt(2); normal numbers above 0 only. */
        int32_t bits, n;
        float m, f, y, e;
        memcpy(&bits, &x, 4);
        n = (bits - 0x3f3504f3) >> 23;
        bits -= n * 0x800000;
        memcpy(&m, &bits, 4);
        f = m - 1.0f;
        e = (float)n;
        y = 7.0376836292e-2f;
        y = y * f - 1.1514610310e-1f;
        y = y * f + 1.1676998740e-1f;
        y = y * f - 1.2420140846e-1f;
        y = y * f + 1.4249322787e-1f;
        y = y * f - 1.6668057665e-1f;
        y = y * f + 2.0000714765e-1f;
        y = y * f - 2.4999993993e-1f;
        y = y * f + 3.3333331174e-1f;
        y = y * f * (f * f) - 2.12194440e-4f * e - 0.5f * (f * f);
        return (f + y) + 0.693359375f * e;
    }

    static inline float calibrant_lanes(const float *s) {
        return ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]));
    }

    static inline float calibrant_one_sum(int n, const float *a) {
        float s[CALIBRANT_LANES] = {0}, rest = 0.0f;
        int k = 0, j;
        for (; k + CALIBRANT_LANES <= n; k += CALIBRANT_LANES)
            for (j = 0; j < CALIBRANT_LANES; j++) s[j] += a[k + j];
        for (; k < n; k++) rest += a[k];
        return n < CALIBRANT_LANES ? rest : calibrant_lanes(s) + rest;
    }

    static inline float calibrant_one_dot(int n, const float *a, const float *b) {
        float s[CALIBRANT_LANES] = {0}, rest = 0.0f;
        int k = 0, j;
        for (; k + CALIBRANT_LANES <= n; k += CALIBRANT_LANES)
            for (j = 0; j < CALIBRANT_LANES; j++) s[j] += a[k + j] * b[k + j];
        for (; k < n; k++) rest += a[k] * b[k];
        return n < CALIBRANT_LANES ? rest : calibrant_lanes(s) + rest;
    }

    CALIBRANT_WIDE float calibrant_sum(int n, const float *a) {
        return calibrant_one_sum(n, a);
    }

    CALIBRANT_WIDE float calibrant_dot(int n, const float *a, const float *b) {
        return calibrant_one_dot(n, a, b);
    }

    CALIBRANT_WIDE void calibrant_dots(
        int n, const float *a, const float *const *f, int count, float *found
    ) {
        int i;
        for (i = 0; i < count; i++) found[i] = calibrant_one_dot(n, a, f[i]);
    }

    CALIBRANT_WIDE void calibrant_covariances(
        int n, const float *p, const float *const *f, const float *mean, int count,
        float *restrict t, float *restrict found
    ) {
        int i, j, k;
        for (i = 0; i < count; i++) {
            const float *g = f[i];
            const float m = mean[i];
            for (k = 0; k < n; k++) t[k] = p[k] * (g[k] - m);
            for (j = 0; j <= i; j++) *found++ = calibrant_one_dot(n, t, f[j]);
        }
    }

    static inline float calibrant_max(int n, const float *a) {
        float s[CALIBRANT_LANES];
        int k = 0, j;
        s[0] = a[0];
        if (n < CALIBRANT_LANES) {
            for (; k < n; k++) s[0] = s[0] > a[k] ? s[0] : a[k];
            return s[0];
        }
        for (j = 1; j < CALIBRANT_LANES; j++) s[j] = a[0];
        for (; k + CALIBRANT_LANES <= n; k += CALIBRANT_LANES)
            for (j = 0; j < CALIBRANT_LANES; j++) s[j] = s[j] > a[k + j] ? s[j] : a[k + j];
        for (; k < n; k++) s[0] = s[0] > a[k] ? s[0] : a[k];
        for (j = 1; j < CALIBRANT_LANES; j++) s[0] = s[0] > s[j] ? s[0] : s[j];
        return s[0];
    }

    CALIBRANT_WIDE int calibrant_likeliest(int n, const float *a) {
        /* The first of those that equal the greatest. */
        float top = calibrant_max(n, a);
        int k = 0;
        while (k < n - 1 && a[k] != top) k++;
        return k;
    }

    CALIBRANT_WIDE void calibrant_softmax(int n, int count, float *p) {
        /* In steps over all rows: those of few classes are too short to be vectorised. */
        float top, bottom, scale;
        int i, k;
        for (i = 0; i < count; i++) {
            float *row = p + (size_t)i * n;
            top = calibrant_max(n, row);
            bottom = top - 87.0f;
            for (k = 0; k < n; k++) row[k] = (row[k] > bottom ? row[k] : bottom) - top;
        }
        for (k = 0; k < n * count; k++) p[k] = calibrant_exp_within(p[k]);
        for (i = 0; i < count; i++) {
            float *row = p + (size_t)i * n;
            scale = 1.0f / calibrant_one_sum(n, row);
            for (k = 0; k < n; k++) row[k] *= scale;
        }
    }

    CALIBRANT_WIDE void calibrant_line(
        int n, float a, const float *x, const float *b, float *restrict z
    ) {
        int k;
        if (b == NULL) for (k = 0; k < n; k++) z[k] = a * x[k];
        else for (k = 0; k < n; k++) z[k] = a * x[k] + b[k];
    }

    CALIBRANT_WIDE void calibrant_logs(
        int n, const float *a, const float *b, float *restrict found
    ) {
        int k;
        for (k = 0; k < n; k++) found[k] = calibrant_logf(a[k] / b[k]);
    }

    CALIBRANT_WIDE void calibrant_moments(
        int n, const float *p, const float *x, float *restrict t, float *mean, float *square
    ) {
        int k;
        for (k = 0; k < n; k++) t[k] = p[k] * x[k];
        *mean = calibrant_one_sum(n, t);
        *square = calibrant_one_dot(n, t, x);
    }

    CALIBRANT_WIDE void calibrant_step_biases(
        int n, const float *p, float kept, float pull, float *restrict b, float *restrict A
    ) {
        int k;
        for (k = 0; k < n; k++) {
            A[k] = kept * A[k] + pull + p[k];
            b[k] -= (p[k] + pull * b[k]) / A[k];
        }
    }

    CALIBRANT_WIDE void calibrant_centred(
        int n, const float *p, const float *f, float mean, float *restrict found
    ) {
        int k;
        for (k = 0; k < n; k++) found[k] = p[k] * (f[k] - mean);
    }

    CALIBRANT_WIDE void calibrant_sum_of(
        int n, int count, const float *c, const float *const *f, float *restrict found
    ) {
        /* The sum of c[i] f[i], from left to right. */
        int i = 0, k;
        for (k = 0; k < n; k++) found[k] = 0.0f;
        for (; i + 5 <= count; i += 5) {
            const float *r = f[i], *s = f[i + 1], *t = f[i + 2], *u = f[i + 3], *v = f[i + 4];
            const float a = c[i], b = c[i + 1], d = c[i + 2], e = c[i + 3], g = c[i + 4];
            for (k = 0; k < n; k++)
                found[k] = ((((found[k] + a * r[k]) + b * s[k]) + d * t[k]) + e * u[k]) + g * v[k];
        }
        for (; i < count; i++)
            for (k = 0; k < n; k++) found[k] += c[i] * f[i][k];
    }

    static inline double calibrant_double_lanes(const double *s) {
        return ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]));
    }

    CALIBRANT_WIDE double calibrant_total(int n, const float *a) {
        double s[CALIBRANT_LANES] = {0}, rest = 0.0;
        int k = 0, j;
        for (; k + CALIBRANT_LANES <= n; k += CALIBRANT_LANES)
            for (j = 0; j < CALIBRANT_LANES; j++) s[j] += a[k + j];
        for (; k < n; k++) rest += a[k];
        return calibrant_double_lanes(s) + rest;
    }

    CALIBRANT_WIDE int calibrant_take(
        int n, const double *row, float *restrict found, double *restrict sum
    ) {
        /* Whether all are in [0, 1]; a NaN is not. */
        double s[CALIBRANT_LANES] = {0}, rest = 0.0;
        int k = 0, j, outside = 0;
        for (; k + CALIBRANT_LANES <= n; k += CALIBRANT_LANES)
            for (j = 0; j < CALIBRANT_LANES; j++) s[j] += row[k + j];
        for (; k < n; k++) rest += row[k];
        for (k = 0; k < n; k++) {
            outside |= !(row[k] >= 0.0) | !(row[k] <= 1.0);
            found[k] = (float)row[k];
        }
        *sum = calibrant_double_lanes(s) + rest;
        return !outside;
    }

    CALIBRANT_WIDE float calibrant_least(int n, const float *a, float zero, float most) {
        /* The least above zero, or `most` if that is less. */
        float s[CALIBRANT_LANES], one;
        int k = 0, j;
        for (j = 0; j < CALIBRANT_LANES; j++) s[j] = most;
        for (; k + CALIBRANT_LANES <= n; k += CALIBRANT_LANES) {
            for (j = 0; j < CALIBRANT_LANES; j++) {
                one = a[k + j] > zero ? a[k + j] : most;
                s[j] = one < s[j] ? one : s[j];
            }
        }
        for (; k < n; k++) {
            one = a[k] > zero ? a[k] : most;
            s[0] = one < s[0] ? one : s[0];
        }
        for (j = 1; j < CALIBRANT_LANES; j++) s[0] = s[0] < s[j] ? s[0] : s[j];
        return s[0];
    }

    CALIBRANT_WIDE void calibrant_log_scores(
        int n, const float *s, float zero, float low, float *restrict x
    ) {
        int k;
        for (k = 0; k < n; k++) x[k] = calibrant_logf(s[k] > zero ? s[k] : low);
    }

    CALIBRANT_WIDE void calibrant_fade(
        int n, double keep, const float *S, double *restrict H
    ) {
        int k;
        for (k = 0; k < n; k++) H[k] = keep * H[k] + S[k];
    }

    CALIBRANT_WIDE float calibrant_greatest(int n, const float *a) {
        return n > 0 ? calibrant_max(n, a) : 0.0f;
    }

    CALIBRANT_WIDE void calibrant_share(
        int n, const float *q, double scale, double *restrict row
    ) {
        int k;
        for (k = 0; k < n; k++) row[k] = q[k] * scale;
    }
    """
    float expf_ "calibrant_expf" (float x) noexcept nogil
    float logf_ "calibrant_logf" (float x) noexcept nogil
    float total "calibrant_sum" (int n, const float *a) noexcept nogil
    float dot "calibrant_dot" (int n, const float *a, const float *b) noexcept nogil
    # The products of a with each of `count` vectors.
    void dots "calibrant_dots" (
        int n, const float *a, const float **f, int count, float *found) noexcept nogil
    double exact_total "calibrant_total" (int n, const float *a) noexcept nogil
    float greatest "calibrant_greatest" (int n, const float *a) noexcept nogil
    # H = keep H + S
    void fade "calibrant_fade" (int n, double keep, const float *S, double *H) noexcept nogil
    int likeliest "calibrant_likeliest" (int n, const float *a) noexcept nogil
    # The softmax of each of `count` rows of n, in its place.
    void softmax "calibrant_softmax" (int n, int count, float *p) noexcept nogil
    # z = a x + b, or a x if b is NULL.
    void line "calibrant_line" (
        int n, float a, const float *x, const float *b, float *z) noexcept nogil
    # log(a / b)
    void logs "calibrant_logs" (int n, const float *a, const float *b, float *found) noexcept nogil
    # The lower triangle of the covariances under p of vectors with these means; t is changed.
    void covariances "calibrant_covariances" (
        int n, const float *p, const float **f, const float *mean, int count, float *t,
        float *found) noexcept nogil
    # The means of x and of x^2 under p; t is changed.
    void moments "calibrant_moments" (
        int n, const float *p, const float *x, float *t, float *mean, float *square) noexcept nogil
    # A = kept A + pull + p, and a step of b against p + pull b.
    void step_against "calibrant_step_biases" (
        int n, const float *p, float kept, float pull, float *b, float *A) noexcept nogil
    # p (f - mean)
    void centred "calibrant_centred" (
        int n, const float *p, const float *f, float mean, float *found) noexcept nogil
    void sum_of "calibrant_sum_of" (
        int n, int count, const float *c, const float **f, float *found) noexcept nogil
    bint take_row "calibrant_take" (
        int n, const double *row, float *found, double *sum) noexcept nogil
    float least_above "calibrant_least" (
        int n, const float *a, float zero, float most) noexcept nogil
    # Logarithms, of `low` where a score is not above `zero`.
    void log_scores "calibrant_log_scores" (
        int n, const float *s, float zero, float low, float *x) noexcept nogil
    void share "calibrant_share" (int n, const float *q, double scale, double *row) noexcept nogil
