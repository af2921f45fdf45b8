"""Repair: an estimate is moved to the mean outcome after similar ones.

A *map* has a mean outcome for each of 49 places: log odds of the estimate from -8 to 8, a third
apart. What it makes of an estimate is interpolated between the two places that the estimate lies
between, and both learn the outcome, each by its share of the estimate. A place starts at its own
probability, as if START estimates had fallen there; then its mean is that of all outcomes, until
the map's rate is faster. (Such maps follow the mixing in context-mixing compressors: Mahoney 2005.)

There are a slow and a fast map, because some estimates are wrong for good and others for a while.
The estimate that goes on is the mean of the estimate itself and of both maps', by weights that are
multiplied by their likelihoods, and move by SHARE towards 1/2 for the estimate and 1/4 for each
map. At first the estimate has OWN of the weight. So the log loss of what goes on exceeds that of
the estimate by at most -log(OWN), and -log(1 - SHARE) a round.
"""

from libc.stdint cimport int64_t

from calibrant._kernels.functions cimport exp, log, log1p
from calibrant._kernels.kernel cimport array_of
from calibrant._kernels.watch.likelihood cimport likelihood
from calibrant._kernels.saved import check_sum, floats
from calibrant._kernels.events.slots cimport slots_within
from calibrant._kernels.events.slots import LEAST

cdef double STEP = 1 / 3.0          # log odds between two places
cdef double START = 150.0           # estimates that a place starts with
cdef double[MAPS] RATES
RATES[:] = [0.0003, 0.003]
cdef double OWN = 0.9               # weight of the estimate itself at the start
cdef double SHARE = 5e-5            # share of the weight that returns each round
cdef double[1 + MAPS] RETURNS
RETURNS[:] = [0.5, 0.25, 0.25]      # to the estimate itself and to each map

REPAIR_PARTS = ("repair_met", "repair_mean", "repair_w")


cdef void repair_start(Repair *r) noexcept nogil:
    cdef Py_ssize_t i, k
    for i in range(CELLS):
        r.met[i] = 0.0
        for k in range(MAPS):
            r.mean[k * CELLS + i] = 1.0 / (1.0 + exp(-(i - CELLS // 2) * STEP))
    r.w[0] = OWN
    for k in range(MAPS):
        r.w[1 + k] = (1.0 - OWN) / MAPS


cdef void repair_find(double m, Repaired *to) noexcept nogil:
    """Find the places that the estimate m lies between."""
    cdef double x = (log(m) - log1p(-m)) / STEP + CELLS // 2
    cdef Py_ssize_t i
    x = 0.0 if x < 0.0 else CELLS - 1.0 if x > CELLS - 1.0 else x
    i = <Py_ssize_t>x
    to.below = i if i < CELLS - 2 else CELLS - 2
    to.part = x - to.below


cdef void repair_say(const Repair *r, double m, Repaired *to) noexcept nogil:
    """Repair the estimate m."""
    cdef double weights = r.w[0], total = r.w[0] * m
    cdef const double *mean
    cdef Py_ssize_t k
    repair_find(m, to)
    for k in range(MAPS):
        mean = &r.mean[k * CELLS + to.below]
        to.says[k] = mean[0] * (1.0 - to.part) + mean[1] * to.part
        weights += r.w[1 + k]
        total += r.w[1 + k] * to.says[k]
    to.estimate = total / weights


cdef inline void follow(Repair *r, Py_ssize_t i, double part, double y) noexcept nogil:
    """Count a part of an outcome for place i."""
    cdef double plain, rate
    cdef double *mean
    cdef Py_ssize_t k
    r.met[i] += part
    plain = 1.0 / (r.met[i] + START)
    for k in range(MAPS):
        mean = &r.mean[k * CELLS + i]
        rate = plain if plain > RATES[k] else RATES[k]
        mean[0] = slots_within(mean[0] + part * rate * (y - mean[0]))


cdef void repair_learn(
    Repair *r, double m, const Repaired *predicted, double y, double power
) noexcept nogil:
    """Learn what was observed after the estimate m, of which `predicted` was made."""
    cdef double weights
    cdef Py_ssize_t k
    r.w[0] *= likelihood(m, y, power)
    weights = r.w[0]
    for k in range(MAPS):
        r.w[1 + k] *= likelihood(predicted.says[k], y, power)
        weights += r.w[1 + k]
    for k in range(1 + MAPS):
        r.w[k] = (1.0 - SHARE) * r.w[k] / weights + SHARE * RETURNS[k]
    follow(r, predicted.below, 1.0 - predicted.part, y)
    follow(r, predicted.below + 1, predicted.part, y)


cdef dict repair_save(const Repair *r):
    return {
        "repair_met": array_of(r.met, CELLS),
        "repair_mean": array_of(r.mean, MAPS * CELLS),
        "repair_w": array_of(r.w, 1 + MAPS),
    }


cdef object repair_load(Repair *r, object state, int64_t learned):
    """Take over what `repair_save` returned after so many outcomes, or raise ValueError."""
    met = floats(state, "repair_met", size=CELLS, low=0.0, high=learned + 1.0)
    mean = floats(state, "repair_mean", size=MAPS * CELLS, low=LEAST, high=1.0 - LEAST)
    w = floats(state, "repair_w", size=1 + MAPS, low=0.0, high=1.0)
    if not (w > 0.0).all():
        raise ValueError("saved repair_w must be positive")
    check_sum("repair_met", met, learned, learned)
    check_sum("repair_w", w, 1.0, 0)
    cdef Py_ssize_t i
    for i in range(CELLS):
        r.met[i] = met[i]
    for i in range(MAPS * CELLS):
        r.mean[i] = mean[i]
    for i in range(1 + MAPS):
        r.w[i] = w[i]
