"""Vectors of floats: an exponential, a logarithm and sums whose bits no library and no compiler changes.

The C library's `expf` and `logf` differ from platform to platform in the last bit, and a compiler may
add up a sum in any order if it is allowed to. Here both functions are a few multiplications and
additions, with an error of about one unit in the last place, and a sum is kept in eight lanes that are
added up in one order. Loops over them are vectorised by any compiler.
"""

cdef extern from *:
    """
    #include <stdint.h>
    #include <string.h>

    enum { CALIBRANT_LANES = 8 };

    static inline float calibrant_expf(float x) {
        /* x = n log 2 + r: adding 1.5 * 2^23 rounds to the integer n. */
        const float whole = 12582912.0f;
        float t, n, r, p, scale;
        int32_t bits;
        x = x > -87.0f ? x : -87.0f;
        x = x < 88.0f ? x : 88.0f;
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

    static inline float calibrant_sum(int n, const float *a) {
        float s[CALIBRANT_LANES] = {0};
        int k = 0, j;
        for (; k + CALIBRANT_LANES <= n; k += CALIBRANT_LANES)
            for (j = 0; j < CALIBRANT_LANES; j++) s[j] += a[k + j];
        for (j = 0; k < n; k++, j++) s[j] += a[k];
        return calibrant_lanes(s);
    }

    static inline float calibrant_dot(int n, const float *a, const float *b) {
        float s[CALIBRANT_LANES] = {0};
        int k = 0, j;
        for (; k + CALIBRANT_LANES <= n; k += CALIBRANT_LANES)
            for (j = 0; j < CALIBRANT_LANES; j++) s[j] += a[k + j] * b[k + j];
        for (j = 0; k < n; k++, j++) s[j] += a[k] * b[k];
        return calibrant_lanes(s);
    }

    static inline float calibrant_greatest(int n, const float *a) {
        float s[CALIBRANT_LANES];
        int k = 0, j;
        for (j = 0; j < CALIBRANT_LANES; j++) s[j] = a[0];
        for (; k + CALIBRANT_LANES <= n; k += CALIBRANT_LANES)
            for (j = 0; j < CALIBRANT_LANES; j++) s[j] = s[j] > a[k + j] ? s[j] : a[k + j];
        for (; k < n; k++) s[0] = s[0] > a[k] ? s[0] : a[k];
        for (j = 1; j < CALIBRANT_LANES; j++) s[0] = s[0] > s[j] ? s[0] : s[j];
        return s[0];
    }
    """
    float expf_ "calibrant_expf" (float x) noexcept nogil
    float logf_ "calibrant_logf" (float x) noexcept nogil
    float total "calibrant_sum" (int n, const float *a) noexcept nogil
    float dot "calibrant_dot" (int n, const float *a, const float *b) noexcept nogil
    float greatest "calibrant_greatest" (int n, const float *a) noexcept nogil


cdef inline void softmax(int n, const float *z, float *p) noexcept nogil:
    """Put the softmax of z into p, which may be z."""
    cdef int k
    cdef float top = greatest(n, z), scale
    for k in range(n):
        p[k] = expf_(z[k] - top)
    scale = <float>1.0 / total(n, p)
    for k in range(n):
        p[k] *= scale
