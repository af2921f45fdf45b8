"""A hidden Markov chain of two states, learned as the outcomes come.

The filter is the forward algorithm. The parameters are those of online EM (Cappe 2011, Online EM
Algorithm for Hidden Markov Models): for every state that the chain may be in now, a mean over the
past of

    [was in i, went to j], [was in i], [was in i] y      for the states i and j,

given that it is there, is carried forward with the backward probabilities r(i | j) and faded by the
rate g = max(1 / (t + WARM), FORGET). Each round's parameters are ratios of those means. Nothing is
proved of it here: EM may end in a poor optimum, and then the mixture leaves it alone.
"""

from calibrant._kernels.functions cimport pow

cdef double WARM = 20.0       # outcomes that the start counts for; no parameter moves before
cdef double FORGET = 1e-4     # the least rate
cdef double LEAST = 1e-4      # no parameter is nearer to 0 or 1


cdef void hidden_start(
    Hidden *h, double first, double second, double low, double high
) noexcept nogil:
    """Start with these probabilities to stay, and these for the outcome."""
    cdef double of_second = (1.0 - first) / (2.0 - first - second), of_first = 1.0 - of_second
    cdef int j
    h.stay[0], h.stay[1], h.says[0], h.says[1] = first, second, low, high
    h.second = of_second
    for j in range(2):
        h.sums[j], h.sums[2 + j] = of_first * first, of_first * (1.0 - first)
        h.sums[4 + j], h.sums[6 + j] = of_second * (1.0 - second), of_second * second
        h.sums[8 + j], h.sums[10 + j] = of_first, of_second
        h.sums[12 + j], h.sums[14 + j] = of_first * low, of_second * high


cdef double hidden_say(const Hidden *h, double steps) noexcept nogil:
    """Return the probability of a 1 so many steps after the last outcome known."""
    cdef double turn = h.stay[0] + h.stay[1] - 1.0, settled, second
    if steps == 1.0:
        second = (1.0 - h.second) * (1.0 - h.stay[0]) + h.second * h.stay[1]
    else:
        settled = (1.0 - h.stay[0]) / (1.0 - turn)
        second = settled + pow(turn, steps) * (h.second - settled)
    return (1.0 - second) * h.says[0] + second * h.says[1]


cdef inline double inside(double p) noexcept nogil:
    return LEAST if p < LEAST else 1.0 - LEAST if p > 1.0 - LEAST else p


cdef void hidden_learn(Hidden *h, double y, double learned) noexcept nogil:
    """Learn an outcome, the one after `learned` others."""
    cdef double *sums = h.sums
    cdef double to_first, to_second, from_first, total, share, now, a, b
    cdef double[2] r      # probability of having been in the first state, given the state now
    cdef double[8] mean
    cdef int k
    cdef double g = 1.0 / (learned + WARM)
    if g < FORGET:
        g = FORGET
    from_first = (1.0 - h.second) * h.stay[0]
    to_first = from_first + h.second * (1.0 - h.stay[1])
    r[0] = from_first / to_first
    from_first = (1.0 - h.second) * (1.0 - h.stay[0])
    to_second = from_first + h.second * h.stay[1]
    r[1] = from_first / to_second
    to_first *= y * h.says[0] + (1.0 - y) * (1.0 - h.says[0])
    to_second *= y * h.says[1] + (1.0 - y) * (1.0 - h.says[1])
    now = to_second / (to_first + to_second)
    for k in range(8):
        a, b = sums[2 * k], sums[2 * k + 1]
        sums[2 * k] = (1.0 - g) * (r[0] * a + (1.0 - r[0]) * b)
        sums[2 * k + 1] = (1.0 - g) * (r[1] * a + (1.0 - r[1]) * b)
    # What this outcome adds: a move, a visit, and the outcome of the visit.
    sums[0] += g * r[0]
    sums[3] += g * r[1]
    sums[4] += g * (1.0 - r[0])
    sums[7] += g * (1.0 - r[1])
    sums[8] += g
    sums[11] += g
    sums[12] += g * y
    sums[15] += g * y
    h.second = now
    if learned < WARM:
        return
    for k in range(8):
        mean[k] = (1.0 - now) * sums[2 * k] + now * sums[2 * k + 1]
    h.stay[0] = inside(mean[0] / (mean[0] + mean[1]))
    h.stay[1] = inside(mean[3] / (mean[2] + mean[3]))
    h.says[0] = inside(mean[6] / mean[4])
    h.says[1] = inside(mean[7] / mean[5])
