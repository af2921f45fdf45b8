from libc.stdint cimport int64_t, uint32_t, uint64_t

from calibrant._kernels.fleet.fleet_curve cimport Curve


cdef enum:
    OFFSETS = 8                     # experts with an offset alone
    SLOPES = 2                      # experts with an offset and a slope
    ESTIMATE_AT = OFFSETS           # the expert that is the estimate itself, after the offsets
    SLOPES_AT = ESTIMATE_AT + 1
    CURVE = SLOPES_AT + SLOPES      # the last one, which is heard apart
    EXPERTS = CURVE + 1
    STAGES = 12                     # of evidence: no outcome, 1, 2 or 3, 4 to 7, ...
    LEVELS = 2                      # a key like the others, a key that clearly differs
    BUCKETS = STAGES * LEVELS
    MANY = 256                      # outcomes after which a key has something of its own


# What is known of one key: two cache lines.
cdef struct Key:
    float[OFFSETS] c                # offsets
    float[OFFSETS] A                # and their precisions
    float[5 * SLOPES] slope         # of each: slope, offset, upper triangle of their precision
    uint32_t made                   # predictions
    uint32_t learned                # outcomes
    uint64_t hash                   # of the key: what its draws depend on
    double last                     # when it was predicted last


# What a key with many outcomes has of its own.
cdef struct Own:
    int64_t slot                    # of the key
    double w                        # how much the curve is heard
    Curve curve


# What keys share: how much each expert is heard, for keys of like evidence, and a scaling of the
# estimate that holds once offsets are known.
cdef struct Pool:
    float[EXPERTS] prior            # weights
    float[BUCKETS * EXPERTS] w
    double[BUCKETS] used            # did outcomes come to it, 0 or 1
    double lag                      # how late the last outcomes came, on average
    double a, b                     # the scaling
    double[3] A                     # upper triangle of its precision
    double curve                    # how much curves would be heard if all keys had one


# An estimate as the experts of a key see it, and what each of them says.
cdef struct Views:
    double x                        # logit of the estimate
    double mean                     # what the experts say together, without the curve
    float v                         # logit of the score
    int bucket                      # whose weights count
    float[EXPERTS] p                # probability of a 1
    float[EXPERTS] q                # and of a 0


cdef double ESTIMATE
cdef double MOST_LATE

cdef void pool_start(Pool *pool, double estimate) noexcept nogil
cdef void key_start(Key *key, uint64_t hash) noexcept nogil
cdef const float *key_weights(const Pool *pool, const Key *key) noexcept nogil
cdef double key_prior(int expert) noexcept nogil
cdef void own_start(Own *own, const Pool *pool, int64_t slot) noexcept nogil
cdef double key_view(
    const Pool *pool, const Key *key, const Own *own, double x, double v, Views *views
) noexcept nogil
cdef void key_learn(Pool *pool, Key *key, Own *own, const Views *now, const Views *predicted,
                    double m, double y, double weight, double late) noexcept nogil
cdef void key_learn_batch(
    Pool *pool, Key *key, Own *own, const Views *now, const Views *predicted, double m, double y,
    double weight, double dispersed, Py_ssize_t size,
) noexcept nogil
