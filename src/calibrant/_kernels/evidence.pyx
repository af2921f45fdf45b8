"""The evidence of a monitor: a tree of Shiryaev-Roberts detectors, one visit to each level a round.

The null, for every round in a cell: |E[y | past, p] - p| <= tolerance. A cell is a range of the
predictions (levels of 1, 2, 4, 8 and 16 ranges) or a group. Against it, a cell holds bets. For a
tilt a = e^d - 1

    e = (1 + y a) / (1 + u a),  u = min(p + tolerance, 1),  if a > 0
    e = (1 + y a) / (1 + l a),  l = max(p - tolerance, 0),  if a < 0

has E[e] <= 1 under the null: e is linear in y, and the mean of y lies on the losing side of u or l.
A visit makes M <- e (M + 1) of each bet of the cell. Four more bets, on the slope, have as their e
the likelihood ratio of q, with logit q = beta logit p, to u or l, whichever q lies beyond.

The evidence R is the sum over the levels of their weights times the mean over tilts of M, over
all cells. A round visits one cell a level and the weights add up to 1, so under the null E[R] grows
by at most 1 a round: P(R >= A within n rounds) <= n / A, however many cells there are. With pi_t in
place of the 1 in M + 1, and a sum of at most 1 over all t, P(ever R >= A) <= 1 / A instead.

The ranges are even in arcsin sqrt p. Where one of them has most of the predictions, they are cut
anew, to hold equal shares of the predictions so far: once after SETTLE rounds, and whenever the
evidence starts anew. A round's range depends on the past and on p alone, which is all that the
argument above asks for.
"""

from libc.math cimport exp, expm1, log, sqrt
from libc.string cimport memset

import numpy as np

# Shifts of the logit that are bet on, upwards and downwards.
cdef double[STEPS] SHIFTS
SHIFTS[:] = [0.08, 0.16, 0.32, 0.64, 1.28, 2.56]
cdef double[TILTS] A             # the tilts: e^d - 1, then e^-d - 1
for _k in range(STEPS):
    A[_k], A[STEPS + _k] = expm1(SHIFTS[_k]), expm1(-SHIFTS[_k])
# The tilts that date an onset: two upwards, two downwards. Small ones start too early, large ones
# miss a small bias.
cdef Py_ssize_t[DATINGS] DATING
DATING[:] = [2, 3, STEPS + 2, STEPS + 3]
# Weights of the levels, of the groups and of the slopes; they add up to 1.
cdef double[LEVELS] LEVEL_WEIGHTS
LEVEL_WEIGHTS[:] = [0.42, 0.095, 0.095, 0.095, 0.095]
cdef double GROUP_WEIGHT = 0.08
cdef double SLOPE_WEIGHT = 0.12
cdef enum:
    LANES = 4                    # sums that run side by side
cdef double TINY = 1e-9          # likelihood ratios keep this far from 0 and 1
cdef int64_t SETTLE = 512        # predictions after which the ranges follow them
cdef int64_t SKETCHED = 1 << 20  # predictions after which the sketch forgets half of them
cdef double WIDEST = 14.0        # logits beyond it fall into the sketch's last bins

cdef double[RANGES + 1] EVEN     # ranges that are even in arcsin sqrt p
EVEN[:] = [np.sin(np.pi * k / (2 * RANGES)) ** 2 for k in range(RANGES + 1)]
EVEN[RANGES // 2], EVEN[RANGES] = 0.5, 1.0


cdef double level_weight(Py_ssize_t level) noexcept nogil:
    return LEVEL_WEIGHTS[level]


cdef inline double inside(double p) noexcept nogil:
    return TINY if p < TINY else 1.0 - TINY if p > 1.0 - TINY else p


cdef float sum_of(const float *M) noexcept nogil:
    """Return the sum of the bets of a cell, in an order that a processor can do four at a time."""
    cdef float[LANES] sums
    cdef Py_ssize_t k
    for k in range(LANES):
        sums[k] = M[k] + M[LANES + k] + M[2 * LANES + k]
    return (sums[0] + sums[1]) + (sums[2] + sums[3])


cdef double mean_of(const float *M, Py_ssize_t count) noexcept nogil:
    """Return the part that some bets have in the mean over all tilts."""
    cdef double total = 0.0
    cdef Py_ssize_t k
    for k in range(count):
        total += M[k]
    return total / TILTS


cdef Py_ssize_t range_in(const double *edges, double p) noexcept nogil:
    cdef Py_ssize_t r = 0, step = RANGES // 2
    while step:
        if p >= edges[r + step]:
            r += step
        step //= 2
    return r


cdef Py_ssize_t range_of(const Evidence *v, double p) noexcept nogil:
    """Return the range that a prediction falls into, at the finest level."""
    return range_in(v.edges, p)


cdef void evidence_start(Evidence *v, double tolerance) noexcept nogil:
    memset(v, 0, sizeof(Evidence))
    v.tolerance, v.edges = tolerance, EVEN


cdef void evidence_restart(Evidence *v) noexcept nogil:
    """Forget all evidence, and choose the ranges from the predictions so far."""
    v.R = 0.0
    memset(v.cells, 0, sizeof(v.cells))
    memset(v.slopes, 0, sizeof(v.slopes))
    memset(v.ranges, 0, sizeof(v.ranges))
    if v.sketched >= SETTLE:
        cut_ranges(v)


# -- one round ----------------------------------------------------------------------------------

cdef Bets bets_of(const Evidence *v, double p, double y) noexcept nogil:
    """Return what outcome y after prediction p does to the bets."""
    cdef Bets bets
    cdef Py_ssize_t k
    bets.u, bets.l = min(p + v.tolerance, 1.0), max(p - v.tolerance, 0.0)
    for k in range(STEPS):
        bets.e[k] = <float>((1.0 + y * A[k]) / (1.0 + bets.u * A[k]))
        bets.e[STEPS + k] = <float>((1.0 + y * A[STEPS + k]) / (1.0 + bets.l * A[STEPS + k]))
    return bets


cdef void visit(
    Evidence *v, Cell *cell, const Bets *bets, double x, double weight, float add, uint32_t t
) noexcept nogil:
    """Play a round in one cell, the t-th since the restart, in which y - p = x."""
    cdef float total
    cdef Py_ssize_t k
    for k in range(TILTS):
        cell.M[k] = bets.e[k] * (cell.M[k] + add)
    total = sum_of(cell.M)
    v.R += weight * (<double>total - <double>cell.total) / TILTS
    cell.total = total
    for k in range(DATINGS):
        if cell.W[k] <= 1.0:
            cell.W[k], cell.start[k] = 1.0, t
            if k % 2 == 0:
                cell.S[k // 2], cell.n[k // 2] = 0.0, 0
        cell.W[k] *= bets.e[DATING[k]]
    for k in range(2):
        cell.S[k] = <float>(cell.S[k] + x)
        cell.n[k] += 1


cdef void visit_tree(
    Evidence *v, const Bets *bets, Py_ssize_t r, double p, double y, double add, uint32_t t
) noexcept nogil:
    """Play the t-th round since the restart in the cells of range r, and in the slopes."""
    cdef Py_ssize_t level
    for level in range(LEVELS):
        visit(
            v, &v.cells[(1 << level) - 1 + (r >> (LEVELS - 1 - level))], bets, y - p,
            LEVEL_WEIGHTS[level], <float>add, t,
        )
    bet_on_slopes(v, bets, p, y, add)


cdef void bet_on_slopes(
    Evidence *v, const Bets *bets, double p, double y, double add
) noexcept nogil:
    cdef double odds = inside(p) / (1.0 - inside(p)), root = sqrt(odds), fourth = sqrt(root)
    cdef double[SLOPES] powers   # the odds to the beta = 1/2, 3/4, 5/4, 7/4
    cdef double q, r, e, M
    cdef Py_ssize_t k
    powers[0], powers[1] = root, root * fourth
    powers[2], powers[3] = odds * fourth, odds * root * fourth
    for k in range(SLOPES):
        q, e = powers[k] / (1.0 + powers[k]), 1.0
        if q > bets.u or q < bets.l:
            r = inside(bets.u if q > bets.u else bets.l)
            e = y * q / r + (1.0 - y) * (1.0 - q) / (1.0 - r)
        M = e * (v.slopes[k] + add)
        v.R += SLOPE_WEIGHT * (M - v.slopes[k]) / SLOPES
        v.slopes[k] = M


# -- ranges -------------------------------------------------------------------------------------

cdef void count_round(
    Evidence *v, Py_ssize_t r, double p, double y, int64_t t, bint may_settle
) noexcept nogil:
    """Keep what bands and curves are made of, and where the predictions lie."""
    cdef Range *own = &v.ranges[r]
    cdef double guess = (own.happened - own.said) / own.n if own.n > 0.0 else 0.0
    cdef double x = y - p
    cdef Py_ssize_t at
    guess = min(max(guess, -p), 1.0 - p)
    own.n += 1.0
    own.said += p
    own.happened += y
    own.V += (x - guess) * (x - guess)
    if v.sketched >= SETTLE and t % 16:
        return                   # a sixteenth of the predictions is enough
    at = <Py_ssize_t>((log(inside(p) / (1.0 - inside(p))) / WIDEST + 1.0) * (SKETCH / 2))
    v.sketch[min(max(at, 0), SKETCH - 1)] += 1
    v.sketched += 1
    if v.sketched == SETTLE and may_settle:
        settle(v)
    elif v.sketched >= SKETCHED:
        v.sketched = 0
        for at in range(SKETCH):
            v.sketch[at] //= 2
            v.sketched += v.sketch[at]


cdef void settle(Evidence *v) noexcept nogil:
    """Let the ranges follow the first predictions; the evidence of the old ranges is given up."""
    cdef Py_ssize_t i, level = 0
    if not cut_ranges(v):
        return
    for i in range(1, CELLS):
        if i + 1 == 2 << level:
            level += 1
        v.R -= LEVEL_WEIGHTS[level] * v.cells[i].total / TILTS
    memset(&v.cells[1], 0, (CELLS - 1) * sizeof(Cell))
    memset(v.ranges, 0, sizeof(v.ranges))


cdef bint cut_ranges(Evidence *v) noexcept nogil:
    """Make the ranges even, or of equal mass where one even range has most predictions.

    Return whether they changed.
    """
    cdef double[RANGES] share
    cdef double[RANGES + 1] before = v.edges
    cdef double total = 0.0, below = 0.0, x, goal
    cdef Py_ssize_t k = 1, at
    cdef bint changed = False
    memset(share, 0, sizeof(share))
    for at in range(SKETCH):
        total += v.sketch[at]
        share[range_in(EVEN, sketch_point(at + 0.5))] += v.sketch[at]
    v.edges = EVEN
    for at in range(RANGES):
        if share[at] > 0.5 * total:
            break
    else:
        k = RANGES
    for at in range(SKETCH):
        while k < RANGES and below + v.sketch[at] > total * k / RANGES:
            goal = total * k / RANGES
            v.edges[k] = sketch_point(at + (goal - below) / v.sketch[at])
            k += 1
        below += v.sketch[at]
    for at in range(RANGES):
        changed |= v.edges[at] != before[at]
    return changed


cdef inline double sketch_point(double at) noexcept nogil:
    """Return the prediction at a place of the sketch, counted in bins."""
    return 1.0 / (1.0 + exp(-(at / (SKETCH / 2) - 1.0) * WIDEST))
