"""Partial pooling: what a key's own outcomes add to an estimate that all keys share.

The estimate, as a logit x, comes from the whole (or from the key's parent); the logit of the score
itself is v. The experts of a key say

- the estimate itself, sigmoid(x);
- an offset, sigmoid(k (g u + c)), for priors of c with standard deviation 0.1, 0.3, 1 and 3, and
  for memories that forget;
- an offset and a slope, sigmoid(u + s v + c). Its slope is that of the score: if scores mean the
  opposite for every other key, the estimate of the whole says nothing, but the score does.

An estimate that is right on average over keys whose offsets have standard deviation sd is too timid
for each of them, by a factor near 1 / g, g = sqrt(1 + pi sd^2 / 8). As long as an offset is
uncertain, of variance 1 / A, what it says must be timid: k = (A + pi / 32) / (A + 3 pi / 32), near
to 1 / sqrt(1 + pi / (8 A)). Of a new key nothing is known, g k is 1, and it says the estimate. (sd
= 3 is for a few keys that are far off, of which the estimate hardly knows: there g = 1.)

u = a x + b is a scaling that all keys share, near x, for spreads in between and of other shapes: it
takes a Newton step a round from what the mixture says.

Offsets take Newton steps on the log loss with their prior, one a round: with p the prediction and
lam = 1 - forgetting, A = lam A + (1 - lam) / sd^2 + p (1 - p), and c moves by
-((p - y) + (1 - lam) c / sd^2) / A. Slopes take the same step in two dimensions.

How much each expert is heard is learned once for all keys of like evidence: those whose number of
outcomes has as many binary digits, and whose widest offset is, or is not, further from 0 than chance
explains (c^2 A > OFF). So a fleet learns how different its keys are, also if only a few are. The
weights are multiplied by likelihoods and moved a little, by SHARE, towards the prior, as those of
the recalibrator (`sharp.pyx`), and as there less far if outcomes come late. Keys that get their
first outcomes of some evidence start with the weights of the nearest evidence below.

A key with MANY outcomes gets a curve of its own (`fleet_curve.pyx`), which bends what the last of the
experts says: sigmoid(u + s v + c + f(v)). Curve and mixture are a pair with a weight of the key's
own, moved by their likelihoods too, which begins with what such a weight of all keys together has
become, within [TRIED, TRUSTED].

What late outcomes say of the experts is counted by what these predicted in the round, what they
learn starts from what they say now.

All of it is in single precision, operation by operation, with an exponential of our own: the same
everywhere, to the last bit, and four experts at a time.
"""

from libc.math cimport M_PI as pi
from libc.math cimport sqrt
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from calibrant._kernels.fleet.fleet_curve cimport curve_at, curve_learn, curve_start
from calibrant._kernels.functions cimport exp, log
from calibrant._kernels.scores.mixing cimport lag_after, slowness

cdef extern from *:
    """
    static inline int digits(uint32_t n) {
    #if defined(__GNUC__) || defined(__clang__)
        return n ? 32 - __builtin_clz(n) : 0;
    #else
        int count = 0;
        for (; n; n >>= 1) count++;
        return count;
    #endif
    }
    """
    int digits(uint32_t n) noexcept nogil  # in base 2

# Prior weight of the estimate itself, for keys and for groups: they are expected to differ.
cdef double ESTIMATE = 0.15
# Lateness is counted in predictions, up to here: of so many keys there are so many predictions that
# the weights would never move.
cdef double MOST_LATE = 1000.0

cdef double SHARE = 1e-5            # share of the weight that returns to the prior each round
cdef double RETURN = 0.03           # the most that a batch returns, as in `batches.pyx`
cdef double RARE = 0.01             # the variance of an outcome below which less is shared
cdef double LAG = 8.0               # outcomes this late count half
cdef float OFF = 7.0                # c^2 A of a key that clearly differs
cdef float FAR = 20.75              # no expert's logit is further from 0: 1e-9
cdef uint32_t MOST = 0xFFFFFFFF     # outcomes that are counted
cdef double STIFF = 300.0           # precision of the scaling at the start
cdef double FADE = 1e-5             # how fast the scaling forgets
cdef int WIDEST = 3                 # the offset that says whether a key differs
cdef double TRIED = 0.02            # weight of a key's own curve when it begins, at least
cdef double TRUSTED = 0.5           # and at most

# Standard deviation of the prior and forgetting, of each offset; of offset and slope.
OFFSET_EXPERTS = [
    (0.1, 0.0), (0.3, 0.0), (1.0, 0.0), (3.0, 0.0),
    (0.3, 0.01), (1.0, 0.01), (1.0, 0.03), (1.0, 0.1),
]
SLOPE_EXPERTS = [(0.2, 0.5), (0.5, 0.5)]
# Prior weights beside that of the estimate: most for offsets that stay; what moves must show that
# it helps.
WEIGHTS = [
    weight / 11.4
    for weight in [2.0, 3.0, 3.0, 2.0] + [0.2] * (OFFSETS - 4) + [0.0] + [0.3] * SLOPES + [0.0]
]

cdef float[OFFSETS] PRECISIONS      # 1 / sd^2
PRECISIONS[:] = [1 / sd**2 for sd, _ in OFFSET_EXPERTS]
cdef float[OFFSETS] WIDER           # sqrt(1 + pi sd^2 / 8), where sd is not more than 1
WIDER[:] = [sqrt(1.0 + pi / 8 * sd**2) if sd <= 1 else 1.0 for sd, _ in OFFSET_EXPERTS]
cdef float ONE_PART = pi / 32, THREE_PARTS = 3 * pi / 32
cdef float[OFFSETS] KEEPS           # lam
KEEPS[:] = [1 - forget for _, forget in OFFSET_EXPERTS]
cdef float[OFFSETS] RETURNS         # (1 - lam) / sd^2
RETURNS[:] = [forget / sd**2 for sd, forget in OFFSET_EXPERTS]
cdef float[SLOPES] OFFSET_PRECISIONS, SLOPE_PRECISIONS
OFFSET_PRECISIONS[:] = [1 / offset**2 for offset, _ in SLOPE_EXPERTS]
SLOPE_PRECISIONS[:] = [1 / slope**2 for _, slope in SLOPE_EXPERTS]
cdef double[EXPERTS] OTHERS
OTHERS[:] = WEIGHTS


cdef void pool_start(Pool *pool, double estimate) noexcept nogil:
    """Start with this weight on the estimate itself."""
    cdef int i
    memset(pool, 0, sizeof(Pool))
    for i in range(EXPERTS):
        pool.prior[i] = <float>(estimate if i == ESTIMATE_AT else (1.0 - estimate) * OTHERS[i])
    for i in range(BUCKETS):
        memcpy(&pool.w[i * EXPERTS], pool.prior, sizeof(pool.prior))
    pool.a = 1.0
    pool.A[0] = pool.A[2] = STIFF
    pool.curve = TRIED


cdef void key_start(Key *key, uint64_t hash) noexcept nogil:
    cdef int i
    memset(key, 0, sizeof(Key))
    key.hash = hash
    memcpy(key.A, PRECISIONS, sizeof(PRECISIONS))
    for i in range(SLOPES):
        key.slope[5 * i + 2] = SLOPE_PRECISIONS[i]
        key.slope[5 * i + 4] = OFFSET_PRECISIONS[i]


cdef inline int bucket_of(const Key *key) noexcept nogil:
    cdef int stage = digits(key.learned)
    if stage > STAGES - 1:
        stage = STAGES - 1
    return stage * LEVELS + (key.c[WIDEST] * key.c[WIDEST] * key.A[WIDEST] > OFF)


cdef inline int source_of(const Pool *pool, int bucket) noexcept nogil:
    """Return the bucket whose weights count for this one: its own, once it has been used."""
    cdef int before = bucket
    while before >= 0:
        if pool.used[before] > 0.0:
            return before
        before -= LEVELS
    if bucket % LEVELS and pool.used[bucket - 1] > 0.0:
        return bucket - 1
    return bucket


cdef const float *key_weights(const Pool *pool, const Key *key) noexcept nogil:
    """Return how much each expert is heard for a key."""
    return &pool.w[source_of(pool, bucket_of(key)) * EXPERTS]


cdef double key_prior(int expert) noexcept nogil:
    """Return the precision of an offset before any outcome, of an offset alone or beside a slope."""
    return PRECISIONS[expert] if expert < OFFSETS else OFFSET_PRECISIONS[expert - OFFSETS]


cdef void own_start(Own *own, const Pool *pool, int64_t slot) noexcept nogil:
    """Give a key a curve of its own."""
    own.slot, own.w = slot, min(max(pool.curve, TRIED), TRUSTED)
    curve_start(&own.curve)


cdef inline float sum_of(const float *lanes) noexcept nogil:
    """Add up EXPERTS numbers, four by four."""
    cdef float[4] s
    cdef int i
    for i in range(4):
        s[i] = (lanes[i] + lanes[i + 4]) + lanes[i + 8]
    return (s[0] + s[1]) + (s[2] + s[3])


cdef inline void odds_of(const float *t, float *odds) noexcept nogil:
    """Compute exp(-t) for EXPERTS numbers in [-FAR, FAR]: powers of 2, and a polynomial (Cephes)."""
    cdef float[EXPERTS] r, power
    cdef int32_t[EXPERTS] k
    cdef float n, z
    cdef int i
    for i in range(EXPERTS):
        # Adding and taking away 1.5 * 2^23 rounds to the nearest whole number.
        n = (-t[i] * <float>1.44269504088896341 + <float>12582912.0) - <float>12582912.0
        r[i] = (-t[i] - n * <float>0.693359375) - n * <float>-2.12194440e-4
        k[i] = (<int32_t>n + 127) << 23
    memcpy(power, k, sizeof(power))
    for i in range(EXPERTS):
        z = r[i] * <float>1.9875691500e-4 + <float>1.3981999507e-3
        z = z * r[i] + <float>8.3334519073e-3
        z = z * r[i] + <float>4.1665795894e-2
        z = z * r[i] + <float>1.6666665459e-1
        z = z * r[i] + <float>5.0000001201e-1
        z = (z * (r[i] * r[i]) + r[i]) + <float>1.0
        odds[i] = z * power[i]


cdef double key_view(
    const Pool *pool, const Key *key, const Own *own, double x, double v, Views *views
) noexcept nogil:
    """Return the mixture's mean for an estimate and a score of a key, as logits."""
    cdef float[EXPERTS] t, odds, ones, zeros
    cdef const float *w
    cdef float u = <float>(pool.a * x + pool.b), timid
    cdef float bent = 0.0 if own == NULL else curve_at(&own.curve, <float>v)
    cdef double one, zero
    cdef int i
    views.x, views.v, views.bucket = x, <float>v, bucket_of(key)
    for i in range(OFFSETS):
        timid = (key.A[i] + ONE_PART) / (key.A[i] + THREE_PARTS)
        t[i] = (u * WIDER[i] + key.c[i]) * timid
    t[ESTIMATE_AT] = <float>x
    for i in range(SLOPES):
        t[SLOPES_AT + i] = (u + key.slope[5 * i] * views.v) + key.slope[5 * i + 1]
    t[CURVE] = t[CURVE - 1] + bent
    for i in range(EXPERTS):
        t[i] = FAR if t[i] > FAR else t[i]
        t[i] = -FAR if t[i] < -FAR else t[i]
    odds_of(t, odds)
    w = &pool.w[source_of(pool, views.bucket) * EXPERTS]
    for i in range(EXPERTS):
        views.p[i] = <float>1.0 / (<float>1.0 + odds[i])
        views.q[i] = odds[i] * views.p[i]
        ones[i] = w[i] * views.p[i]
        zeros[i] = w[i] * views.q[i]
    one, zero = sum_of(ones), sum_of(zeros)
    views.mean = one / (one + zero)
    if own == NULL:
        return views.mean
    return views.mean + own.w * (views.p[CURVE] - views.mean)


cdef inline bint is_plain(double y, double slow) noexcept nogil:
    """Return whether likelihoods are what was predicted: of a 0 or a 1, and each counts."""
    return slow == 1.0 and y * (1.0 - y) == 0.0


cdef inline const float *likelihoods(
    const Views *predicted, double y, double slow, float *room
) noexcept nogil:
    """Return how likely each expert found an outcome; so many count for one."""
    cdef int i
    if is_plain(y, slow):
        return &predicted.p[0] if y == 1.0 else &predicted.q[0]
    for i in range(EXPERTS):
        room[i] = <float>exp(
            (y * log(<double>predicted.p[i]) + (1.0 - y) * log(<double>predicted.q[i])) / slow
        )
    return room


cdef inline void weigh(float *w, const float *l, double share, const float *prior) noexcept nogil:
    """Move weights by likelihoods, and a share of them to the prior."""
    cdef float[EXPERTS] moved
    cdef float keep
    cdef int i
    for i in range(EXPERTS):
        moved[i] = w[i] * l[i]
    keep = <float>((1.0 - share) / sum_of(moved))
    for i in range(EXPERTS):
        w[i] = moved[i] * keep + <float>share * prior[i]


cdef inline double mean_likelihood(double mean, double y, double slow) noexcept nogil:
    """Return the same of what the experts predicted together."""
    if is_plain(y, slow):
        return mean if y == 1.0 else 1.0 - mean
    return exp((y * log(mean) + (1.0 - y) * log(1.0 - mean)) / slow)


cdef inline double weighed(double w, double l, double other, double share) noexcept nogil:
    """Return the weight of one of a pair, moved by their likelihoods."""
    w = w * l / (w * l + (1.0 - w) * other)
    return (1.0 - share) * w + share * TRIED


cdef inline void scale(Pool *pool, double x, double h, double r) noexcept nogil:
    """Let the shared scaling take a Newton step; r is the mixture's error, h its curvature."""
    cdef double *A = pool.A
    cdef double l, d, b
    A[0] = (1.0 - FADE) * A[0] + FADE * STIFF + h * x * x
    A[1] = (1.0 - FADE) * A[1] + h * x
    A[2] = (1.0 - FADE) * A[2] + FADE * STIFF + h
    l = A[1] / A[0]
    d = A[2] - l * A[1]
    b = (r - l * r * x) / (d if d > STIFF else STIFF)
    pool.b -= b
    pool.a -= r * x / A[0] - l * b


cdef inline void step_slope(float *s, float v, float h, float r, float least) noexcept nogil:
    """Let an offset and a slope take a Newton step."""
    cdef float l, d, b
    s[2] = s[2] + h * v * v
    s[3] = s[3] + h * v
    s[4] = s[4] + h
    l = s[3] / s[2]
    d = s[4] - l * s[3]
    b = (r - l * (r * v)) / (d if d > least else least)
    s[1] = s[1] - b
    s[0] = s[0] - (r * v / s[2] - l * b)


cdef void key_learn(Pool *pool, Key *key, Own *own, const Views *now, const Views *predicted,
                    double m, double y, double weight, double late) noexcept nogil:
    """Weigh the experts by what they `predicted`, m together, then let each learn from `now`."""
    pool.lag = lag_after(pool.lag, late)
    cdef double slow = slowness(pool.lag, LAG) if pool.lag > 0.0 else 1.0
    key_step(pool, key, own, now, predicted, m, y, weight, slow, SHARE)


cdef void key_learn_batch(
    Pool *pool, Key *key, Own *own, const Views *now, const Views *predicted, double m, double y,
    double weight, double dispersed, Py_ssize_t size,
) noexcept nogil:
    """Do the same for one outcome of a batch of this size, of which so many count for one."""
    key_step(pool, key, own, now, predicted, m, y, weight, dispersed, min(SHARE, RETURN / size))


cdef inline void key_step(
    Pool *pool, Key *key, Own *own, const Views *now, const Views *predicted, double m, double y,
    double weight, double slow, double most,
) noexcept nogil:
    """Let `slow` outcomes count for one in the weights of experts, of which `most` or less returns.

    The outcome counts as often as its weight says, there and in what each expert learns.
    """
    cdef float[EXPERTS] room, h, r
    cdef const float *l
    cdef float v = <float>y, times = <float>weight
    cdef double other
    cdef int i, at, source = source_of(pool, predicted.bucket)
    cdef float *w = &pool.w[predicted.bucket * EXPERTS]
    cdef double share = most if m * (1.0 - m) > RARE else most * m * (1.0 - m) / RARE
    if source != predicted.bucket:
        memcpy(w, &pool.w[source * EXPERTS], EXPERTS * sizeof(float))
    pool.used[predicted.bucket] = 1.0
    if weight != 1.0:
        slow /= weight
    l = likelihoods(predicted, y, slow, room)
    weigh(w, l, share, pool.prior)
    if own != NULL:
        other = mean_likelihood(predicted.mean, y, slow)
        own.w = weighed(own.w, l[CURVE], other, share)
        pool.curve = weighed(pool.curve, l[CURVE], other, share)
    for i in range(EXPERTS):
        h[i] = times * (now.p[i] * now.q[i])
        r[i] = times * (now.p[i] * (<float>1.0 - v) - now.q[i] * v)
    for i in range(OFFSETS):
        key.A[i] = (KEEPS[i] * key.A[i] + RETURNS[i]) + h[i]
        key.c[i] = key.c[i] - (r[i] + RETURNS[i] * key.c[i]) / key.A[i]
    for i in range(SLOPES):
        at = SLOPES_AT + i
        step_slope(&key.slope[5 * i], now.v, h[at], r[at], OFFSET_PRECISIONS[i])
    if own != NULL:
        curve_learn(&own.curve, now.v, h[CURVE], r[CURVE])
    scale(pool, now.x, weight * (now.mean * (1.0 - now.mean)), weight * (now.mean - y))
    if key.learned < MOST:
        key.learned += 1


cdef class RuleKernel:
    """The rule of one level by itself, for estimates of any origin: what tests play with."""

    cdef Pool pool
    cdef Key[64] keys
    cdef Own[64] owns               # of keys with many outcomes

    def __cinit__(self, double estimate):
        cdef int i
        pool_start(&self.pool, estimate)
        for i in range(64):
            key_start(&self.keys[i], i)

    cdef Own *own(self, int key) noexcept:
        return &self.owns[key] if self.keys[key].learned >= MANY else NULL

    def mean(self, int key, double x, double v):
        """Return the mixture's mean for a key, the logit of an estimate, and that of a score."""
        cdef Views views
        return key_view(&self.pool, &self.keys[key], self.own(key), x, v, &views)

    def learn(
        self, int key, double then, double now, double v, double y, double late, double weight=1.0
    ):
        """Learn the outcome of an estimate whose logit was `then` in the round, and is `now`.

        All that the key and the others have learned since came before the round.
        """
        cdef Views predicted, views
        cdef double m = key_view(&self.pool, &self.keys[key], self.own(key), then, v, &predicted)
        key_view(&self.pool, &self.keys[key], self.own(key), now, v, &views)
        key_learn(
            &self.pool, &self.keys[key], self.own(key), &views, &predicted, m, y, weight, late
        )
        if self.keys[key].learned == MANY:
            own_start(&self.owns[key], &self.pool, key)
