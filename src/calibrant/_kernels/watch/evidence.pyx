"""The evidence of a monitor: a tree of Shiryaev-Roberts detectors, one visit to each level a round.

The null, for every round in a cell: |E[y | past, p] - p| <= tolerance. A cell is a range of the
predictions (levels of 1, 2, 4, 8 and 16 ranges) or a group. Against it, a cell holds bets. For a
factor b of the odds

    e = (1 - y + y b) / (1 - u + u b),  u = min(p + tolerance, 1),  if b > 1
    e = (1 - y + y b) / (1 - l + l b),  l = max(p - tolerance, 0),  if b < 1

has E[e] <= 1 under the null: e is linear in y, and the mean of y lies on the losing side of u or l.
A visit makes M <- e (M + 1) of each bet of the cell. Four more bets, on the slope, choose b so that
it leads from u or l to q, with logit q = beta logit p, whichever of the two q lies beyond.

The evidence R is the sum over the levels of their weights times the mean over tilts of M, over
all cells. A round visits one cell a level and the weights add up to 1, so under the null E[R] grows
by at most 1 a round: P(R >= A within n rounds) <= n / A, however many cells there are. With pi_t in
place of the 1 in M + 1, and a sum of at most 1 over all t, P(ever R >= A) <= 1 / A instead.

The ranges are even in arcsin sqrt p. If one of them has most of the predictions, the ranges are
redefined to have equal shares of the predictions so far: once after SETTLE rounds, and whenever the
evidence starts over. The range of a round depends only on the past and on p, which is all that the
argument above requires.
"""

from libc.math cimport M_PI, isnan, sqrt
from libc.string cimport memset

import numpy as np

from calibrant._kernels.functions cimport exp, log, sin
from calibrant._kernels.kernel cimport as_outcome

# As constants of C, which a compiler knows not to change.
cdef extern from *:
    """
    #define ONE 1.0f
    /* A round has at most 10 roundings of 2^-24 in a bet; this is more, so bets stay fair. */
    #define SHRINK (1.0f - 1.0f / (1 << 20))
    /* The most a likelihood ratio is kept as: averaged bets do not stop it. */
    #define ENOUGH 1e30f
    """
    const float ONE
    const float SHRINK
    const float ENOUGH

# Shifts of the logit that are bet on, upwards and downwards.
cdef double[STEPS] SHIFTS
SHIFTS[:] = [0.1, 0.25, 0.64, 1.6]
cdef float[TILTS] B              # what they multiply the odds by: first upwards, then downwards
for _k in range(STEPS):
    B[_k], B[STEPS + _k] = <float>exp(SHIFTS[_k]), <float>exp(-SHIFTS[_k])
# Weights of the levels, and of the groups; with that of the slopes they add up to 1.
LEVEL_WEIGHTS = [0.42, 0.095, 0.095, 0.095, 0.095, 0.08]
cdef double SLOPE_WEIGHT = 0.12
cdef double GROUP_WEIGHT = LEVEL_WEIGHTS[LEVELS]
cdef double[LEVELS + 1] TILT_WEIGHTS
TILT_WEIGHTS[:] = [weight / TILTS for weight in LEVEL_WEIGHTS]
cdef enum:
    LANES = 4                    # sums that run side by side
cdef double TINY = 1e-9          # likelihood ratios keep this far from 0 and 1
cdef int64_t SETTLE = 512        # predictions after which the ranges follow them
cdef double CROWDED = 0.5        # what one even range has of them when they are cut anew
cdef double CROWDED_LATE = 0.9   # where rounds wait
cdef int64_t SKETCHED = 1 << 20  # predictions after which the sketch forgets half of them
cdef double WIDEST = 14.0        # logits beyond it fall into the sketch's last bins

cdef double[RANGES + 1] EVEN     # ranges that are even in arcsin sqrt p
EVEN[:] = [sin(M_PI * k / (2 * RANGES)) * sin(M_PI * k / (2 * RANGES)) for k in range(RANGES + 1)]
EVEN[RANGES // 2], EVEN[RANGES] = 0.5, 1.0


cdef double as_prediction(object prediction) except? -1.0:
    """Return one prediction as a float in [0, 1], or raise ValueError."""
    try:
        return as_outcome(prediction)
    except ValueError as error:
        raise ValueError(str(error).replace("outcome", "prediction")) from None


cdef double tilt_weight(Py_ssize_t i) noexcept nogil:
    """Return the weight of each tilt of a cell; the groups come after the ranges."""
    cdef Py_ssize_t level = 0
    if i >= CELLS:
        return TILT_WEIGHTS[LEVELS]
    while i + 1 >= 2 << level:
        level += 1
    return TILT_WEIGHTS[level]


cdef inline double inside(double p) noexcept nogil:
    return TINY if p < TINY else 1.0 - TINY if p > 1.0 - TINY else p


cdef float sum_of(const float *M) noexcept nogil:
    """Return the sum of the bets of a cell, in an order that a processor can do four at a time."""
    cdef float[LANES] sums
    cdef Py_ssize_t k
    for k in range(LANES):
        sums[k] = M[k] + M[LANES + k]
    return (sums[0] + sums[1]) + (sums[2] + sums[3])


cdef double mean_of(const float *M, Py_ssize_t count) noexcept nogil:
    """Return the part that some bets have on average over all tilts."""
    cdef double total = 0.0
    cdef Py_ssize_t k
    for k in range(count):
        total += M[k]
    return total / TILTS


cdef Py_ssize_t range_in(const double *edges, double p) noexcept nogil:
    cdef Py_ssize_t r = 0, step = RANGES // 2
    while step:
        r += step * (p >= edges[r + step])  # no branch: which way it goes is hard to foresee
        step //= 2
    return r


cdef Py_ssize_t range_of(const Evidence *v, double p) noexcept nogil:
    """Return the range that a prediction falls into, at the finest level."""
    return range_in(v.edges, p)


cdef void evidence_start(Evidence *v, double tolerance) noexcept nogil:
    memset(v, 0, sizeof(Evidence))
    v.tolerance, v.edges = tolerance, EVEN


cdef void evidence_restart(Evidence *v, bint is_late) noexcept nogil:
    """Forget all evidence, and choose the ranges from the predictions so far."""
    v.R = 0.0
    memset(v.cells, 0, sizeof(v.cells))
    memset(v.slopes, 0, sizeof(v.slopes))
    memset(v.ranges, 0, sizeof(v.ranges))
    if v.sketched >= SETTLE:
        cut_ranges(v, is_late)


# -- one round ----------------------------------------------------------------------------------

cdef double granted(double alpha, int64_t rounds) noexcept nogil:
    """Return what a round after so many others adds to each M that it visits."""
    cdef double t
    if alpha == 0.0:
        return 1.0
    t = rounds + 11.0    # over all rounds, 1 / (t log^2 t) adds up to less than 1 / log 10
    return log(10.0) / (t * log(t) * log(t))


cdef float bet(float b, float r, float rest, float y, float no) noexcept nogil:
    """Return e of odds times b against r, with rest = 1 - r and no = 1 - y: sums of what is >= 0."""
    return SHRINK * ((no + y * b) / (rest + r * b))


cdef Bets bets_of(double tolerance, double p, double y) noexcept nogil:
    """Return what outcome y after prediction p does to the bets; NaN stands for none to come.

    Where none will come, each bet takes the outcome that speaks least for an alarm.
    """
    cdef Bets bets
    cdef Py_ssize_t k
    cdef double high = min(p + tolerance, 1.0), low = max(p - tolerance, 0.0)
    cdef double odds = inside(p) / (1.0 - inside(p)), root = sqrt(odds), fourth = sqrt(root)
    cdef float over_u = <float>((1.0 - inside(high)) / inside(high))
    cdef float over_l = <float>((1.0 - inside(low)) / inside(low))
    cdef float u = <float>high, l = <float>low, not_u = <float>(1.0 - high), not_l = <float>(1.0 - low)
    cdef float y_up = <float>y, no_up = <float>(1.0 - y), y_down = y_up, no_down = no_up, by_u, by_l
    cdef float[SLOPES] powers    # the odds to the beta = 1/2, 3/4, 5/4, 7/4
    if isnan(y):
        y_up, no_up, y_down, no_down = 0.0, 1.0, 1.0, 0.0
    for k in range(STEPS):
        bets.e[k] = bet(B[k], u, not_u, y_up, no_up)
    for k in range(STEPS, TILTS):
        bets.e[k] = bet(B[k], l, not_l, y_down, no_down)
    powers[0], powers[1] = <float>root, <float>(root * fourth)
    powers[2], powers[3] = <float>(odds * fourth), <float>(odds * root * fourth)
    for k in range(SLOPES):
        by_u, by_l = powers[k] * over_u, powers[k] * over_l
        if by_u > ONE:
            bets.slopes[k] = bet(by_u, u, not_u, y_up, no_up)
        else:
            bets.slopes[k] = bet(by_l if by_l < ONE else ONE, l, not_l, y_down, no_down)
    return bets


cdef double visit(Cell *cell, const float *e, float add) noexcept nogil:
    """Play a round in one cell; return by how much the sum of its bets grew.

    The bets go through an array of their own, so that compilers do four of them at a time.
    """
    cdef float[TILTS] M
    cdef double before = sum_of(cell.M)
    cdef Py_ssize_t k
    for k in range(TILTS):
        M[k] = e[k] * (cell.M[k] + add)
    for k in range(TILTS):
        cell.M[k] = M[k]
    return sum_of(M) - before


cdef void date_onset(Cell *cell, const float *e, double x, uint32_t t) noexcept nogil:
    """Go on with the CUSUMs of a cell in round t since the restart, in which y - p = x."""
    cdef float[DATINGS] W
    cdef uint32_t runs
    cdef float by = <float>x
    cdef Py_ssize_t k
    for k in range(2):
        runs = cell.W[2 * k] > ONE   # as a factor, not as a branch: it is hard to foresee
        cell.S[k] = cell.S[k] * runs + by
        cell.n[k] = cell.n[k] * runs + 1
    for k in range(DATINGS):
        cell.start[k] = t if cell.W[k] <= ONE else cell.start[k]
    for k in range(DATINGS):
        W[k] = max(cell.W[k], ONE) * e[k]
    for k in range(DATINGS):
        cell.W[k] = min(W[k], ENOUGH)


cdef void play(
    Evidence *v, Cell *group, const Bets *bets, Py_ssize_t r, double x, double add, uint32_t t,
) noexcept nogil:
    """Play the t-th round since the restart in the cells of range r, in its group and the slopes."""
    cdef Cell *path[LEVELS + 1]      # the cells that the round falls into
    cdef float[DATINGS] dating
    cdef Py_ssize_t k, count = LEVELS + (group != NULL)
    cdef double R = v.R              # in a register: five sums in memory would wait for each other
    dating_bets(bets, dating)
    for k in range(LEVELS):
        path[k] = &v.cells[(1 << k) - 1 + (r >> (LEVELS - 1 - k))]
    path[LEVELS] = group
    for k in range(count):
        date_onset(path[k], dating, x, t)
    for k in range(count):
        R += TILT_WEIGHTS[k] * visit(path[k], bets.e, <float>add)
    v.R = R
    bet_on_slopes(v, bets, <float>add)


cdef inline void dating_bets(const Bets *bets, float *dating) noexcept nogil:
    dating[0], dating[1] = bets.e[DATING], bets.e[DATING + 1]
    dating[2], dating[3] = bets.e[STEPS + DATING], bets.e[STEPS + DATING + 1]


cdef void play_in_group(
    Cell *group, const Bets *bets, double x, double add, uint32_t t
) noexcept nogil:
    """Play the t-th round since the restart in its group alone."""
    cdef float[DATINGS] dating
    dating_bets(bets, dating)
    date_onset(group, dating, x, t)
    visit(group, bets.e, <float>add)


cdef void bet_on_slopes(Evidence *v, const Bets *bets, float add) noexcept nogil:
    cdef float M
    cdef Py_ssize_t k
    for k in range(SLOPES):
        M = bets.slopes[k] * (v.slopes[k] + add)
        v.R += SLOPE_WEIGHT / SLOPES * (<double>M - <double>v.slopes[k])
        v.slopes[k] = M


# -- ranges -------------------------------------------------------------------------------------

cdef inline double mean_residual(const Range *own) noexcept nogil:
    return (own.happened - own.predicted) / own.n if own.n > 0.0 else 0.0


cdef void count_outcome(Evidence *v, Py_ssize_t r, double p, double y) noexcept nogil:
    """Keep what bands and curves are made of."""
    cdef Range *own = &v.ranges[r]
    cdef double guess = mean_residual(own)
    cdef double x = y - p
    guess = min(max(guess, -p), 1.0 - p)
    own.n += 1.0
    own.predicted += p
    own.happened += y
    own.V += (x - guess) * (x - guess)
    own.spread += p * (1.0 - p)


cdef void count_in_block(Evidence *v, Py_ssize_t r, double p, double y, int lane) noexcept nogil:
    """Count an outcome in a block that is not over, too."""
    cdef Range *own = &v.ranges[r]
    own.count[lane] += 1.0
    own.total[lane] += y - p - min(max(own.guess[lane], -p), 1.0 - p)
    own.most = max(own.most, own.count[lane])


cdef void begin_block(Evidence *v, int lane) noexcept nogil:
    """Begin a block in the place of the one before the last, which is over."""
    cdef Py_ssize_t r
    cdef Range *own
    for r in range(RANGES):
        own = &v.ranges[r]
        own.blocks += own.total[lane] * own.total[lane]
        own.count[lane] = own.total[lane] = 0.0
        own.guess[lane] = mean_residual(own)


cdef void begin_blocks(Evidence *v) noexcept nogil:
    """Begin to sum rounds in blocks; each of those so far was one by itself."""
    cdef Py_ssize_t r
    for r in range(RANGES):
        v.ranges[r].most = min(v.ranges[r].n, 1.0)
        v.ranges[r].blocks = v.ranges[r].V


cdef bint count_prediction(Evidence *v, double p, int64_t t) noexcept nogil:
    """Keep where the predictions lie; return whether the ranges may follow them now."""
    cdef Py_ssize_t at
    if v.sketched >= SETTLE and t % 16:
        return False             # a sixteenth of the predictions is enough
    at = <Py_ssize_t>((log(inside(p) / (1.0 - inside(p))) / WIDEST + 1.0) * (SKETCH / 2))
    v.sketch[min(max(at, 0), SKETCH - 1)] += 1
    v.sketched += 1
    if v.sketched >= SKETCHED:
        v.sketched = 0
        for at in range(SKETCH):
            v.sketch[at] //= 2
            v.sketched += v.sketch[at]
    return v.sketched == SETTLE


cdef bint settle_ranges(Evidence *v, bint is_late) noexcept nogil:
    """Let the ranges follow the first predictions; return whether they changed.

    The evidence of the old ranges is given up.
    """
    cdef Py_ssize_t i
    if not cut_ranges(v, is_late):
        return False
    for i in range(1, CELLS):
        v.R -= tilt_weight(i) * sum_of(v.cells[i].M)
    memset(&v.cells[1], 0, (CELLS - 1) * sizeof(Cell))
    memset(v.ranges, 0, sizeof(v.ranges))
    return True


cdef bint cut_ranges(Evidence *v, bint is_late) noexcept nogil:
    """Make the ranges even, or of equal mass where one even range has most predictions.

    Where rounds wait, nearly all: a pot with few rounds that wait finds most, and ranges of equal
    mass leave none for predictions that move. Return whether they changed.
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
        if share[at] > (CROWDED_LATE if is_late else CROWDED) * total:
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
