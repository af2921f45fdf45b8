"""Vectors of floats: an exponential, a logarithm and sums that give the same bits on every platform.

The C library's `expf` and `logf` differ from platform to platform in the last bit, and a compiler may
change the order of a sum if it is allowed to. Here both functions are a few multiplications and
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

    enum { CALIBRANT_LANES = 8, CALIBRANT_ROOM = 16 };

    #if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__)
    #define CALIBRANT_WIDE static __attribute__((target_clones("avx2", "default")))
    #else
    #define CALIBRANT_WIDE static
    #endif

    /* A function of its own would not be compiled for AVX2. */
    #if defined(__GNUC__)
    #define CALIBRANT_WITHIN static inline __attribute__((always_inline))
    #else
    #define CALIBRANT_WITHIN static inline
    #endif

    CALIBRANT_WITHIN float calibrant_exp_within(float x) {
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

    CALIBRANT_WITHIN float calibrant_expf(float x) {
        x = x > -87.0f ? x : -87.0f;
        return calibrant_exp_within(x < 88.0f ? x : 88.0f);
    }

    CALIBRANT_WITHIN float calibrant_logf(float x) {
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

    CALIBRANT_WITHIN float calibrant_lanes(const float *s) {
        return ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]));
    }

    CALIBRANT_WITHIN float calibrant_one_sum(int n, const float *a) {
        float s[CALIBRANT_LANES] = {0}, rest = 0.0f;
        int k = 0, j;
        for (; k + CALIBRANT_LANES <= n; k += CALIBRANT_LANES)
            for (j = 0; j < CALIBRANT_LANES; j++) s[j] += a[k + j];
        for (; k < n; k++) rest += a[k];
        return n < CALIBRANT_LANES ? rest : calibrant_lanes(s) + rest;
    }

    CALIBRANT_WITHIN float calibrant_one_dot(int n, const float *a, const float *b) {
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

    #if defined(__GNUC__)
    typedef float calibrant_vector __attribute__((vector_size(32), aligned(4), may_alias));
    #endif

    CALIBRANT_WITHIN void calibrant_four_dots(
        int n, const float *a, const float *const *f, float *restrict found
    ) {
        /* Those of calibrant_one_dot: additions to one sum wait for each other, to four they do not. */
        int i = 0;
    #if defined(__GNUC__)
        const float *b = f[0], *c = f[1], *d = f[2], *e = f[3];
        calibrant_vector s[4] = {{0}};
        float lanes[4][CALIBRANT_LANES], rest[4] = {0};
        int k = 0;
        for (; k + CALIBRANT_LANES <= n; k += CALIBRANT_LANES) {
            const calibrant_vector u = *(const calibrant_vector *)(a + k);
            s[0] += u * *(const calibrant_vector *)(b + k);
            s[1] += u * *(const calibrant_vector *)(c + k);
            s[2] += u * *(const calibrant_vector *)(d + k);
            s[3] += u * *(const calibrant_vector *)(e + k);
        }
        for (; k < n; k++) {
            rest[0] += a[k] * b[k];
            rest[1] += a[k] * c[k];
            rest[2] += a[k] * d[k];
            rest[3] += a[k] * e[k];
        }
        memcpy(lanes, s, sizeof(lanes));
        for (; i < 4; i++) found[i] = calibrant_lanes(lanes[i]) + rest[i];
    #else
        for (; i < 4; i++) found[i] = calibrant_one_dot(n, a, f[i]);
    #endif
    }

    CALIBRANT_WITHIN void calibrant_many_dots(
        int n, const float *a, const float *const *f, int count, float *restrict found
    ) {
        int i = 0;
        if (n >= CALIBRANT_LANES)
            for (; i + 4 <= count; i += 4) calibrant_four_dots(n, a, f + i, found + i);
        for (; i < count; i++) found[i] = calibrant_one_dot(n, a, f[i]);
    }

    CALIBRANT_WIDE void calibrant_dots(
        int n, const float *a, const float *const *f, int count, float *restrict found
    ) {
        calibrant_many_dots(n, a, f, count, found);
    }

    CALIBRANT_WIDE void calibrant_few_covariances(
        int n, const float *p, const float *q, const float *const *f, int count,
        float *restrict mean, float *restrict other, float *restrict found
    ) {
        /* A vector of few classes is too short for a loop: one lane a vector, each sum in its order. */
        float lanes[CALIBRANT_LANES][CALIBRANT_ROOM] = {{0}};
        float s[CALIBRANT_ROOM] = {0}, t[CALIBRANT_ROOM] = {0};
        int i, j, k;
        for (i = 0; i < count; i++) {
            const float *g = f[i];
            k = 0;
            do lanes[k][i] = g[k]; while (++k < n);
        }
        for (k = 0; k < n; k++) {
            for (j = 0; j < CALIBRANT_ROOM; j++) s[j] += p[k] * lanes[k][j];
            for (j = 0; j < CALIBRANT_ROOM; j++) t[j] += q[k] * lanes[k][j];
        }
        for (i = 0; i < count; i++) mean[i] = s[i];
        for (i = 0; i < count; i++) other[i] = t[i];
        for (i = 0; i < count; i++) {
            for (j = 0; j < CALIBRANT_ROOM; j++) s[j] = 0.0f;
            for (k = 0; k < n; k++) {
                const float weight = p[k] * (lanes[k][i] - mean[i]);
                for (j = 0; j < CALIBRANT_ROOM; j++) s[j] += weight * lanes[k][j];
            }
            /* More than the row: the next one overwrites it. */
            for (j = 0; j < CALIBRANT_ROOM; j++) found[j] = s[j];
            found += i + 1;
        }
    }

    CALIBRANT_WIDE void calibrant_many_covariances(
        int n, const float *p, const float *q, const float *const *f, int count, float *restrict t,
        float *restrict mean, float *restrict other, float *restrict found
    ) {
        int i, k;
        calibrant_many_dots(n, p, f, count, mean);
        calibrant_many_dots(n, q, f, count, other);
        for (i = 0; i < count; i++) {
            const float *g = f[i];
            const float m = mean[i];
            for (k = 0; k < n; k++) t[k] = p[k] * (g[k] - m);
            calibrant_many_dots(n, t, f, i + 1, found);
            found += i + 1;
        }
    }

    static inline void calibrant_covariances(
        int n, const float *p, const float *q, const float *const *f, int count, float *t,
        float *mean, float *other, float *found
    ) {
        if (n < CALIBRANT_LANES) calibrant_few_covariances(n, p, q, f, count, mean, other, found);
        else calibrant_many_covariances(n, p, q, f, count, t, mean, other, found);
    }

    CALIBRANT_WITHIN int32_t calibrant_ordered(int32_t bits) {
        /* The bits of numbers as integers that stand in their order; and back. */
        return bits ^ ((bits >> 31) & 0x7fffffff);
    }

    CALIBRANT_WITHIN float calibrant_max(int n, const float *a) {
        /* As integers, since a compiler has to take care of a NaN among floats. */
        int32_t most = INT32_MIN, bits;
        float found;
        int k;
        for (k = 0; k < n; k++) {
            memcpy(&bits, a + k, 4);
            bits = calibrant_ordered(bits);
            most = bits > most ? bits : most;
        }
        most = calibrant_ordered(most);
        memcpy(&found, &most, 4);
        return found;
    }

    CALIBRANT_WIDE int calibrant_likeliest(int n, const float *a) {
        /* The first of those that equal the greatest. */
        float top = calibrant_max(n, a);
        int k = 0;
        while (k < n - 1 && a[k] != top) k++;
        return k;
    }

    CALIBRANT_WIDE void calibrant_few_softmax(int n, int count, float *restrict p) {
        /* One lane a row: the numbers of few classes are too short for a loop. */
        float lanes[CALIBRANT_LANES][CALIBRANT_LANES] = {{0}};
        float top[CALIBRANT_LANES], scale[CALIBRANT_LANES];
        int i, k;
        for (k = 0; k < n; k++)
            for (i = 0; i < count; i++) lanes[k][i] = p[i * n + k];
        for (i = 0; i < CALIBRANT_LANES; i++) top[i] = lanes[0][i];
        for (k = 1; k < n; k++)
            for (i = 0; i < CALIBRANT_LANES; i++)
                top[i] = top[i] > lanes[k][i] ? top[i] : lanes[k][i];
        for (i = 0; i < CALIBRANT_LANES; i++) scale[i] = 0.0f;
        for (k = 0; k < n; k++) {
            for (i = 0; i < CALIBRANT_LANES; i++) {
                float bottom = top[i] - 87.0f;
                float x = (lanes[k][i] > bottom ? lanes[k][i] : bottom) - top[i];
                lanes[k][i] = calibrant_exp_within(x);
                scale[i] += lanes[k][i];
            }
        }
        for (i = 0; i < CALIBRANT_LANES; i++) scale[i] = 1.0f / scale[i];
        for (k = 0; k < n; k++)
            for (i = 0; i < CALIBRANT_LANES; i++) lanes[k][i] *= scale[i];
        for (k = 0; k < n; k++)
            for (i = 0; i < count; i++) p[i * n + k] = lanes[k][i];
    }

    CALIBRANT_WIDE void calibrant_many_softmax(int n, int count, float *p) {
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

    static inline void calibrant_softmax(int n, int count, float *p) {
        if (n < CALIBRANT_LANES && count <= CALIBRANT_LANES) calibrant_few_softmax(n, count, p);
        else calibrant_many_softmax(n, count, p);
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
        int n, const float *p, float weight, float kept, float pull, const float *home,
        float *restrict b, float *restrict A
    ) {
        int k;
        if (home == NULL)
            for (k = 0; k < n; k++) {
                A[k] = kept * A[k] + pull + weight * p[k];
                b[k] -= (weight * p[k] + pull * b[k]) / A[k];
            }
        else
            for (k = 0; k < n; k++) {
                A[k] = kept * A[k] + pull + weight * p[k];
                b[k] -= (weight * p[k] + pull * (b[k] - home[k])) / A[k];
            }
    }

    CALIBRANT_WIDE void calibrant_scaled(
        int n, const float *a, const float *x, const float *b, float *restrict z
    ) {
        int k;
        for (k = 0; k < n; k++) z[k] = a[k] * x[k] + b[k];
    }

    CALIBRANT_WIDE void calibrant_step_slopes(
        int n, const float *p, const float *u, int y, float weight, float kept, float pull,
        float most, float *restrict a, float *restrict A
    ) {
        int k;
        for (k = 0; k < n; k++) {
            const float missed = weight * (p[k] - (k == y ? 1.0f : 0.0f)) * u[k];
            float step;
            A[k] = kept * A[k] + pull + weight * p[k] * (1.0f - p[k]) * (u[k] * u[k]);
            step = (missed + pull * (a[k] - 1.0f)) / A[k];
            step = step < most ? step : most;
            a[k] -= step > -most ? step : -most;
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

    CALIBRANT_WITHIN double calibrant_double_lanes(const double *s) {
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
        /* The least above zero, or `most` if that is less; all above 0, whose bits are in order. */
        int32_t least, bits;
        float one;
        int k;
        memcpy(&least, &most, 4);
        for (k = 0; k < n; k++) {
            one = a[k] > zero ? a[k] : most;
            memcpy(&bits, &one, 4);
            least = bits < least ? bits : least;
        }
        memcpy(&one, &least, 4);
        return one;
    }

    CALIBRANT_WIDE void calibrant_log_scores(
        int n, const float *s, float zero, float low, float *restrict x
    ) {
        int k;
        for (k = 0; k < n; k++) x[k] = calibrant_logf(s[k] > zero ? s[k] : low);
    }

    CALIBRANT_WIDE int calibrant_bent(
        int n, const float *x, float zero, float *restrict bend, float *restrict is_zero
    ) {
        /* Is any at most zero? */
        int k, any = 0;
        for (k = 0; k < n; k++) bend[k] = -0.1f * x[k] * x[k];
        for (k = 0; k < n; k++) {
            is_zero[k] = x[k] <= zero ? 1.0f : 0.0f;
            any |= x[k] <= zero;
        }
        return any;
    }

    CALIBRANT_WIDE void calibrant_fade(
        int n, double keep, double weight, const float *S, double *restrict H
    ) {
        int k;
        for (k = 0; k < n; k++) H[k] = keep * H[k] + weight * S[k];
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
    void fade "calibrant_fade" (
        int n, double keep, double weight, const float *S, double *H) noexcept nogil
    int likeliest "calibrant_likeliest" (int n, const float *a) noexcept nogil
    # The softmax of each of `count` rows of n, in its place.
    void softmax "calibrant_softmax" (int n, int count, float *p) noexcept nogil
    # z = a x + b, or a x if b is NULL.
    void line "calibrant_line" (
        int n, float a, const float *x, const float *b, float *z) noexcept nogil
    # log(a / b)
    void logs "calibrant_logs" (int n, const float *a, const float *b, float *found) noexcept nogil
    # The means of vectors under p and under q, and the lower triangle of their covariances under p.
    # What is found has room for a row of 16 from where its last row begins; t is changed.
    void covariances "calibrant_covariances" (
        int n, const float *p, const float *q, const float **f, int count, float *t, float *mean,
        float *other, float *found) noexcept nogil
    # The means of x and of x^2 under p; t is changed.
    void moments "calibrant_moments" (
        int n, const float *p, const float *x, float *t, float *mean, float *square) noexcept nogil
    # A = kept A + pull + p, and a step of b against p + pull (b - home); NULL is home at 0.
    void step_against "calibrant_step_biases" (
        int n, const float *p, float weight, float kept, float pull, const float *home, float *b,
        float *A) noexcept nogil
    # z = a x + b, with a slope a for each.
    void scaled "calibrant_scaled" (
        int n, const float *a, const float *x, const float *b, float *z) noexcept nogil
    # A = kept A + pull + p (1 - p) u^2, and a step of slopes, by at most so much.
    void step_slopes "calibrant_step_slopes" (
        int n, const float *p, const float *u, int y, float weight, float kept, float pull,
        float most, float *a, float *A) noexcept nogil
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
    # -x^2 / 10, and whether x is at most `zero`, as numbers; is any?
    bint bent "calibrant_bent" (
        int n, const float *x, float zero, float *bend, float *is_zero) noexcept nogil
    void share "calibrant_share" (int n, const float *q, double scale, double *row) noexcept nogil
