"""Batches: many outcomes that waited together, learned in one step.

A month's customers are scored together, and their labels come together. Such outcomes share what
the month had in common, and no prediction could use one of them for another. Learned one by one,
they would be taken for so many rounds in which the experts could have been told apart, and the
weights would return to their prior as often. So a batch of n outcomes is learned as one:

1. Expert i missed the batch by R_i = sum(y - p_i) / sqrt(sum p_i (1 - p_i)), which would be about
   normal if outcomes were independent given p_i. With phi_i = pi/2 (mean |R_i|)^2 over the batches
   so far, faded by FADE a batch, and phi the least of them, rho = (phi - 1) / (size - 1) is what two
   outcomes of a batch have in common, and n outcomes count for n / disp(n), disp(n) = 1 + (n - 1)
   rho. It starts at RHO, which counts for FIRST batches. The expert that misses least tells what is
   common to all outcomes; the mixture's own misses would also show that it was wrong.
2. Weights are multiplied by each expert's likelihood of what it predicted, to the power 1 /
   disp(n).
3. Every expert fits the batch at once: a maximum a posteriori fit of all outcomes with the past as a
   Gaussian, which is forgotten once, by 1 - (1 - f)^n.
4. If the batch is a surprise, what the experts predicted says little about who is right now. With
   R of the mixture's mean, and the dispersion before the batch, which k batches tell, its prior
   among them, R / sqrt(disp(n)) would be about Student's t with k degrees of freedom, and Z = (k + 1)
   log(1 + R^2 / (k disp(n))) is how unlikely it is; R^2 / disp(n) where k is large. It is a surprise
   with odds of CHANCE e^((Z - TRIGGER) / 2) if Z > TRIGGER, and surely the first batch.
   - If what it shows lasts, weights are their home times how well each expert fits the batch now:
     the logarithm of the likelihood less one for each parameter (Akaike 1974), for what counts is
     the next batch; to the power 1 / (HALF disp(n)).
   - If it passes, weights are those before the batch, times as much as each expert remembers of
     what was before it, (1 - f)^n.
   Both are mixed by the probability that it lasts, which is learned (`surprise_judge`): the next
   batch tells by the likelihoods of what experts say now, before they fit it, which weights were
   right. In some worlds surprises last as a rule, in others they pass, with exceptions of RARELY; a
   batch returns FORGET of what is believed about that to LASTING. If the next batch was predicted
   before the surprise was known, and is one as well, both are the same surprise, and as likely to
   last as has been learned from the second. It is learned for two kinds of surprise: common shocks,
   which shift the log odds of all rows alike, and changes of shape. How much better than the best
   shifts all experts together fit the batch tells of which kind it is; SHAPED is the prior.
5. Weights return to their home as for so many outcomes, but at most by RETURN. The home is the prior
   of the mixture, but the identity has only ENOUGH / (ENOUGH + n) of its part: what a fit to a batch
   costs falls with n, and in a world that drifts it takes many batches until predictions have told
   that the scores are wrong.

Outcomes may have weights: likelihoods are raised to them, in 2 and 4, and fits count each outcome so
many times. What a batch has in common, and whether it is a surprise, is about outcomes as they are.

How batches follow one another is for `levels.pyx`.

The past (`recent.pyx`) is that of single outcomes: experts that look at it are weighed with the same
power, and learn nothing from a batch, whose outcomes have no order.

The grid (`safe.pyx`) learns each row where it would be played now: at the mean of the experts after
the batch, moved by a fit of slope and offset to it, with a prior of precision 10. So what a whole
batch had in common is not charged to the points at which it was predicted before anybody could know
of it. Each row is placed, drawn and learned after the one before it, as a round whose outcome came
at once. `docs/safe-proof.md` says what holds then.

Where the scores are the means of another mixture, as in groups, these are revised: the batch is
learned from what that mixture says of it after it has learned the batch itself, or both would take up
what the rows had in common. A change is then for that mixture to notice.
"""

from libc.math cimport M_PI, fabs, sqrt
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memset

import numpy as np

from calibrant._kernels.functions cimport exp, log, log1p, pow
from calibrant._kernels.saved import SLACK
from calibrant._kernels.scores.mixing cimport (
    Evidence, curvature, evidence_add, evidence_settle, evidence_start, within,
)
from calibrant._kernels.scores.sharp cimport (
    ALL_BINS, BETA_FORGETS, BETAS, BIN_FORGETS, BINS, EXPERTS, FLAT, GRIDS, MEMORIES,
    OFFSET_FORGETS, OFFSETS, PLATT_FORGETS, PLATTS, PRIOR, PRIORS, SharpState, sharp_count,
)
from calibrant._kernels.tally cimport bin_of

# The parts of BatchState, which is nothing but doubles: their names and sizes, in its order.
BATCH_PARTS = {"spread": EXPERTS, "batches": 1, "batched": 1, "batch_prior": 1}
# And those of SurpriseState.
SURPRISE_PARTS = {
    "lasting": SURPRISES,
    "surprise": 1,
    "surprise_shape": 1,
    "surprise_since": 1,
    "surprise_lasts": EXPERTS,
    "surprise_passes": EXPERTS,
}

cdef double FADE = 0.95             # what a batch leaves of those before it in the dispersion
cdef double RHO = 0.005             # what two outcomes of a batch have in common at first
cdef double FIRST = 2.0             # for how many batches that counts
cdef double TRIGGER = 6.0           # Z above this is a surprise
cdef double CHANCE = 0.05           # odds of a change where it begins
cdef double SHAPED = 0.1            # the part of surprises that are changes of shape
cdef double RARELY = 0.03           # how often a surprise is unlike the others of its kind
cdef double FORGET = 0.05           # what a surprise leaves to the prior of how its kind goes on
cdef double RETURN = 0.01            # the most that a batch returns
cdef double ENOUGH = 500.0          # a batch of so many leaves the identity half of its prior
cdef double HALF = 4.0              # how much less a fit to known outcomes counts than a prediction
cdef double STEP = 1.5              # the longest step of a fit in any parameter
cdef double CLOSE = 0.05            # a last step shorter than this leaves an error of its square
cdef int STEPS = 8                  # of a fit, at the most
cdef double PRECISION = 10.0        # of the prior of slope and offset of a whole batch
cdef double FARTHEST = 700.0        # no log odds count as farther from 0: e^700 is finite

cdef double[SURPRISES] LASTING       # the prior that surprises of each kind last as a rule
LASTING[:] = (0.2, 0.8)
cdef double[EXPERTS] FORGETS         # how fast each expert forgets
FORGETS[:] = (
    [0.0]
    + [forget for forget in PLATT_FORGETS]
    + [forget for forget in OFFSET_FORGETS]
    + [forget for forget in BETA_FORGETS]
    + [forget for _ in range(GRIDS) for forget in BIN_FORGETS]
)
cdef double[EXPERTS] SIZES           # parameters of each expert; those of bins depend on the batch
SIZES[:] = [0] + [2] * PLATTS + [1] + [3] * (OFFSETS - 1) + [3] * BETAS + [0] * (GRIDS * MEMORIES)


cdef void batches_start(BatchState *state) noexcept nogil:
    """Begin before the first batch."""
    cdef Py_ssize_t i
    state.batches, state.outcomes, state.prior = 0.0, 0.0, FIRST
    for i in range(EXPERTS):
        state.spread[i] = 0.0


cdef double dispersion(const BatchState *state, double size) noexcept nogil:
    """Return how many outcomes of a batch of this size count for one."""
    cdef double usual = state.outcomes / state.batches if state.batches > 0.0 else size
    cdef double least = state.spread[0], mean
    cdef Py_ssize_t i
    for i in range(1, EXPERTS):
        least = min(least, state.spread[i])
    mean = least + state.prior * sqrt((1.0 + (usual - 1.0) * RHO) * 2.0 / M_PI)
    mean /= state.batches + state.prior
    return 1.0 + (size - 1.0) * max(0.0, (M_PI / 2.0 * mean * mean - 1.0) / max(usual - 1.0, 1.0))


cdef void misses_start(Misses *misses, int64_t earliest, int64_t now) noexcept nogil:
    """Begin a batch, the earliest of whose predictions has this number; so many were made by now."""
    cdef Py_ssize_t i
    misses.earliest, misses.now, misses.lasted = earliest, now, -1.0
    misses.missed = misses.noise = 0.0
    for i in range(EXPERTS):
        misses.residual[i] = misses.variance[i] = 0.0
    evidence_start(&misses.evidence, EXPERTS)


cdef void misses_add(
    Misses *misses, const double *predicted, double mean, double y, double weight
) noexcept nogil:
    """Count an outcome of which experts `predicted` that, and the mixture this mean."""
    cdef Py_ssize_t i
    misses.missed += y - mean
    misses.noise += mean * (1.0 - mean)
    for i in range(EXPERTS):
        misses.residual[i] += y - predicted[i]
        misses.variance[i] += predicted[i] * (1.0 - predicted[i])
    sharp_count(&misses.evidence, predicted, mean, y, weight)


cdef void batches_count(
    BatchState *state, const double *residual, const double *variance, double size
) noexcept nogil:
    """Count by how much each expert missed a batch."""
    cdef Py_ssize_t i
    for i in range(EXPERTS):
        state.spread[i] = FADE * state.spread[i] + fabs(residual[i]) / sqrt(variance[i])
    state.batches = FADE * state.batches + 1.0
    state.outcomes = FADE * state.outcomes + size
    state.prior *= FADE


def check_batches(parts, double learned, double smallest=SMALLEST_BATCH):
    """Refuse saved batches that so many outcomes cannot have been in; arrays by name."""
    spread, batches = parts["spread"], parts["batches"][0]
    outcomes, prior = parts["batched"][0], parts["batch_prior"][0]
    most = 1.0 / (1.0 - FADE)
    if not 0.0 <= batches <= most or not 0.0 < prior <= FIRST:
        raise ValueError(f"saved batches must be in [0, {most}], their prior in (0, {FIRST}]")
    if not batches * smallest <= outcomes * (1.0 + SLACK) <= learned * (1.0 + 2.0 * SLACK):
        raise ValueError(f"saved batched must be of {learned:.0f} outcomes, in batches")
    # An expert that says at least LEAST misses no batch by more than sqrt(n / LEAST).
    if (spread < 0.0).any() or (spread > batches * np.sqrt(1e9 * (learned + 1.0))).any():
        raise ValueError("saved spread must be within reach of saved batches")


# -- surprises -------------------------------------------------------------------------------------


cdef void surprises_start(SurpriseState *state) noexcept nogil:
    """Begin before the first surprise."""
    memset(state, 0, sizeof(SurpriseState))
    state.lasting[:] = LASTING


cdef inline double lasts(double rule) noexcept nogil:
    """Return how probably a surprise lasts where they do as a rule with this probability."""
    return RARELY + (1.0 - 2.0 * RARELY) * rule


cdef double surprise_lasts(const SurpriseState *state, double shape) noexcept nogil:
    """Return how probably a surprise lasts that is with this probability a change of shape."""
    return (1.0 - shape) * lasts(state.lasting[SHIFT]) + shape * lasts(state.lasting[SHAPE])


cdef double surprise_judge(
    SurpriseState *state, const double *losses, double power
) noexcept nogil:
    """Learn from the losses in the next batch after a surprise whether that lasted.

    Returns how probably it did.
    """
    cdef double lasted = surprise_lasts(state, state.shape)
    cdef double least = losses[0], likelihood, if_lasts = 0.0, if_passes = 0.0, rule, chance, part
    cdef Py_ssize_t i
    for i in range(EXPERTS):
        least = min(least, losses[i])
    for i in range(EXPERTS):
        likelihood = exp((least - losses[i]) * power)
        if_lasts += state.if_lasts[i] * likelihood
        if_passes += state.if_passes[i] * likelihood
    for i in range(SURPRISES):
        rule = state.lasting[i]
        chance = lasts(rule) * if_lasts + (1.0 - lasts(rule)) * if_passes
        part = state.surprise * (state.shape if i == SHAPE else 1.0 - state.shape)
        if chance > 0.0:
            rule *= ((1.0 - RARELY) * if_lasts + RARELY * if_passes) / chance
        rule += FORGET * (LASTING[i] - rule)
        state.lasting[i] += part * (rule - state.lasting[i])
    state.surprise = 0.0
    chance = lasted * if_lasts + (1.0 - lasted) * if_passes
    return lasted * if_lasts / chance if chance > 0.0 else lasted


cdef double shape_of(
    const double *home, const double *fits, double power, double fitted
) noexcept nogil:
    """Return how probably a surprise is no mere shift, given how all experts fit it, and each.

    Shifts are offsets to the Platt scaling that forgets nothing.
    """
    cdef Py_ssize_t first = 1 + PLATTS + 1, last = 1 + PLATTS + OFFSETS, i
    cdef double least = fits[first], total = 0.0, all_of_it = 0.0, odds
    for i in range(first, last):
        least = min(least, fits[i])
    for i in range(first, last):
        total += home[i] * exp((least - fits[i]) * power)
        all_of_it += home[i]
    odds = min(max(fitted - (log(total / all_of_it) - least * power), -50.0), 50.0)
    odds = SHAPED / (1.0 - SHAPED) * exp(odds)
    return odds / (1.0 + odds)


def check_surprises(parts, double rounds):
    """Refuse saved surprises that no batches can have left; arrays by name."""
    for name in ("lasting", "surprise", "surprise_shape"):
        if (parts[name] < 0.0).any() or (parts[name] > 1.0).any():
            raise ValueError(f"saved {name} must be in [0, 1]")
    if not 0.0 <= parts["surprise_since"][0] <= rounds:
        raise ValueError(f"saved surprise_since must be in [0, {rounds:.0f}]")
    for name in ("surprise_lasts", "surprise_passes"):
        weights = parts[name]
        is_none = parts["surprise"][0] == 0.0 and (weights == 0.0).all()
        if (weights < 0.0).any() or (abs(weights.sum() - 1.0) > SLACK and not is_none):
            raise ValueError(f"saved {name} must not be negative, and sum to 1")


# -- fits -------------------------------------------------------------------------------------------


cdef int rows_start(Rows *rows, Py_ssize_t count) noexcept nogil:
    """Make room for the rows of a batch; -1 when there is no memory."""
    rows.count = count
    rows.s = <double *>malloc(7 * count * sizeof(double))
    if rows.s == NULL:
        return -1
    rows.u, rows.v, rows.y = rows.s + count, rows.s + 2 * count, rows.s + 3 * count
    rows.x, rows.base, rows.w = rows.s + 4 * count, rows.s + 5 * count, rows.s + 6 * count
    return 0


cdef void rows_set(Rows *rows, Py_ssize_t i, double s, double y, double weight) noexcept nogil:
    """Fill in a row: its score as a probability, its outcome and the weight of it."""
    rows.s[i], rows.u[i], rows.v[i], rows.y[i], rows.w[i] = s, log(s), -log1p(-s), y, weight
    rows.x[i] = rows.u[i] + rows.v[i]
    rows.least = min(rows.least, min(s, 1.0 - s))


cdef void rows_free(Rows *rows) noexcept nogil:
    free(rows.s)


cdef inline double sigmoid(double x) noexcept nogil:
    return 1.0 / (1.0 + exp(-x))


cdef inline double against(double x) noexcept nogil:
    """Return the odds of a 0 where the log odds of a 1 are x; no two of them multiply to NaN."""
    return exp(-min(max(x, -FARTHEST), FARTHEST))


cdef inline double forgotten(double forget, Py_ssize_t count) noexcept nogil:
    """Return what remains of the past after so many outcomes."""
    return pow(1.0 - forget, <double>count) if forget > 0.0 else 1.0


cdef inline double cut_to(double step) noexcept nogil:
    """Return by what to multiply steps, the longest of which this is."""
    return STEP / step if step > STEP else 1.0


# Sums over a batch are in variables of their own: what is written through a pointer might be a row.


cdef void fit_line(
    double *a, double *A, const Rows *rows, const double *x, double keep, double flat, double least
) noexcept nogil:
    """Fit sigmoid(a x + b) to a batch; a and A are those of the past, and then the new ones."""
    cdef double A0 = keep * A[0] + (1.0 - keep), A1 = keep * A[1], A2 = keep * A[2] + (1.0 - keep)
    cdef double slope = a[0], offset = a[1], B0, B1, B2, da, db, ga, gb, det, p, h, longest
    cdef const double *y = rows.y
    cdef const double *w = rows.w
    cdef Py_ssize_t i
    cdef int step
    for step in range(STEPS):
        da, db = slope - a[0], offset - a[1]
        ga, gb = A0 * da + A1 * db, A1 * da + A2 * db
        B0, B1, B2 = A0, A1, A2
        for i in range(rows.count):
            p = within(sigmoid(slope * x[i] + offset), least)
            h = w[i] * curvature(p, flat)
            p = w[i] * (p - y[i])
            ga += p * x[i]
            gb += p
            B0 += h * x[i] * x[i]
            B1 += h * x[i]
            B2 += h
        det = B0 * B2 - B1 * B1
        da, db = (B2 * ga - B1 * gb) / det, (B0 * gb - B1 * ga) / det
        longest = max(fabs(da), fabs(db))
        slope -= da * cut_to(longest)
        offset -= db * cut_to(longest)
        if longest < CLOSE:
            break
    a[0], a[1] = slope, offset
    A[0], A[1], A[2] = B0, B1, B2


cdef void fit_offset(
    double *c, double *A, const Rows *rows, double keep, double flat
) noexcept nogil:
    """Fit an offset to a batch, to log odds of which `rows.base` has the odds of a 0."""
    cdef double A0 = keep * A[0] + (1.0 - keep), offset = c[0], odds, B0, g, p, d
    cdef double least = rows.least
    cdef const double *y = rows.y
    cdef const double *w = rows.w
    cdef const double *base = rows.base
    cdef Py_ssize_t i
    cdef int step
    for step in range(STEPS):
        B0, g, odds = A0, A0 * (offset - c[0]), against(offset)
        for i in range(rows.count):
            p = within(1.0 / (1.0 + base[i] * odds), least)
            B0 += w[i] * curvature(p, flat)
            g += w[i] * (p - y[i])
        d = g / B0
        offset -= d * cut_to(fabs(d))
        if fabs(d) < CLOSE:
            break
    c[0], A[0] = offset, B0


cdef void fit_beta(double *a, double *A, const Rows *rows, double keep, double flat) noexcept nogil:
    """Fit sigmoid(a u + b v + c) to a batch."""
    cdef double[6] B
    cdef double[3] new, g, d
    cdef double B0, B1, B2, B3, B4, B5, g0, g1, g2, a0, a1, a2
    cdef double p, h, l1, l2, l3, d1, d2, t, longest, least = rows.least
    cdef const double *u = rows.u
    cdef const double *v = rows.v
    cdef const double *y = rows.y
    cdef const double *w = rows.w
    cdef Py_ssize_t i
    cdef int step
    for i in range(6):
        B[i] = keep * A[i]
    for i in range(3):
        new[i] = a[i]
    B[0] += 1.0 - keep
    B[3] += 1.0 - keep
    B[5] += 1.0 - keep
    for step in range(STEPS):
        for i in range(3):
            d[i] = new[i] - a[i]
        g0 = B[0] * d[0] + B[1] * d[1] + B[2] * d[2]
        g1 = B[1] * d[0] + B[3] * d[1] + B[4] * d[2]
        g2 = B[2] * d[0] + B[4] * d[1] + B[5] * d[2]
        B0, B1, B2, B3, B4, B5 = B[0], B[1], B[2], B[3], B[4], B[5]
        a0, a1, a2 = new[0], new[1], new[2]
        for i in range(rows.count):
            p = within(sigmoid(a0 * u[i] + a1 * v[i] + a2), least)
            h = w[i] * curvature(p, flat)
            p = w[i] * (p - y[i])
            g0 += p * u[i]
            g1 += p * v[i]
            g2 += p
            B0 += h * u[i] * u[i]
            B1 += h * u[i] * v[i]
            B2 += h * u[i]
            B3 += h * v[i] * v[i]
            B4 += h * v[i]
            B5 += h
        # The matrix is L D L^T, solved forwards and backwards.
        l1, l2 = B1 / B0, B2 / B0
        d1 = B3 - l1 * B1
        t = B4 - l1 * B2
        l3 = t / d1
        d2 = B5 - l2 * B2 - l3 * t
        g1 -= l1 * g0
        g2 -= l2 * g0 + l3 * g1
        d[2] = g2 / d2
        d[1] = g1 / d1 - l3 * d[2]
        d[0] = g0 / B0 - l1 * d[1] - l2 * d[2]
        longest = max(fabs(d[0]), max(fabs(d[1]), fabs(d[2])))
        for i in range(3):
            new[i] -= d[i] * cut_to(longest)
        if longest < CLOSE:
            break
    for i in range(3):
        a[i] = new[i]
    A[0], A[1], A[2], A[3], A[4], A[5] = B0, B1, B2, B3, B4, B5


cdef void batch_fit(SharpState *state, const Rows *rows) noexcept nogil:
    """Let every expert fit a batch."""
    cdef Py_ssize_t n = rows.count, i, j, k, before = 0
    cdef double flat = FLAT * rows.least
    cdef double[ALL_BINS] visits, ones, known
    for i in range(n):
        rows.base[i] = (1.0 - rows.s[i]) / rows.s[i]
    for i in range(PLATTS):
        fit_line(
            &state.platt[2 * i], &state.platt_A[3 * i], rows, rows.x,
            forgotten(PLATT_FORGETS[i], n), flat, rows.least,
        )
    for i in range(OFFSETS):
        if i == 1:
            for k in range(n):
                rows.base[k] = against(state.platt[0] * rows.x[k] + state.platt[1])
        fit_offset(
            &state.offset[i], &state.offset_A[i], rows, forgotten(OFFSET_FORGETS[i], n), flat
        )
    for i in range(BETAS):
        fit_beta(
            &state.beta[3 * i], &state.beta_A[6 * i], rows, forgotten(BETA_FORGETS[i], n), flat
        )
    for k in range(ALL_BINS):
        visits[k] = ones[k] = known[k] = 0.0
    for i in range(GRIDS):
        for j in range(n):
            k = before + bin_of(rows.s[j], BINS[i])
            visits[k] += 1.0
            known[k] += rows.w[j]
            ones[k] += rows.w[j] * rows.y[j]
        before += BINS[i]
    for j in range(MEMORIES):
        for k in range(ALL_BINS):
            i = j * ALL_BINS + k
            state.Y[i] *= forgotten(BIN_FORGETS[j], <Py_ssize_t>visits[k])
            state.N[i] *= forgotten(BIN_FORGETS[j], <Py_ssize_t>visits[k])
            state.Y[i] += ones[k]
            state.N[i] += known[k]


cdef void offset_odds(const SharpState *state, double *odds) noexcept nogil:
    """Compute by what each offset multiplies the odds of a 0."""
    cdef Py_ssize_t i
    for i in range(OFFSETS):
        odds[i] = against(state.offset[i])


cdef double said(
    const SharpState *state, const Rows *rows, Py_ssize_t row, const double *odds, double *p,
    Py_ssize_t *bins,
) noexcept nogil:
    """Compute what every expert says of a row, and return their mean.

    That is `sharp_view` for many rows: with `odds` from `offset_odds`, offsets take no
    exponential, and what only other stages ask for is left out.
    """
    cdef double s = rows.s[row], u = rows.u[row], v = rows.v[row], x = rows.x[row]
    cdef double least = rows.least, mean = 0.0, first = against(state.platt[0] * x + state.platt[1])
    cdef Py_ssize_t i, j, k, before = 0, at = 1 + PLATTS
    p[0], p[1] = s, within(1.0 / (1.0 + first), least)
    for i in range(1, PLATTS):
        p[1 + i] = within(sigmoid(state.platt[2 * i] * x + state.platt[2 * i + 1]), least)
    p[at] = within(1.0 / (1.0 + (1.0 - s) / s * odds[0]), least)
    for i in range(1, OFFSETS):
        p[at + i] = within(1.0 / (1.0 + first * odds[i]), least)
    at += OFFSETS
    for i in range(BETAS):
        p[at + i] = within(
            sigmoid(state.beta[3 * i] * u + state.beta[3 * i + 1] * v + state.beta[3 * i + 2]),
            least,
        )
    at += BETAS
    for i in range(GRIDS):
        bins[i] = before + bin_of(s, BINS[i])
        for j in range(MEMORIES):
            k = j * ALL_BINS + bins[i]
            p[at] = within((PRIOR * s + state.Y[k]) / (PRIOR + state.N[k]), least)
            at += 1
        before += BINS[i]
    for i in range(EXPERTS):
        mean += state.w[i] * p[i]
    return within(mean, least)


cdef void losses_now(
    const SharpState *state, const Rows *rows, double *losses, double *visits
) noexcept nogil:
    """Compute the losses of what each expert says of a batch now, and how many rows are in each bin."""
    cdef double[EXPERTS] p
    cdef double[OFFSETS] odds
    cdef Py_ssize_t[GRIDS] bins
    cdef Py_ssize_t i, j
    cdef Evidence evidence
    evidence_start(&evidence, EXPERTS)
    for i in range(ALL_BINS):
        visits[i] = 0.0
    offset_odds(state, odds)
    for j in range(rows.count):
        said(state, rows, j, odds, p, bins)
        evidence_add(&evidence, p, rows.y[j], rows.w[j], 0.0)
        for i in range(GRIDS):
            visits[bins[i]] += 1.0
    evidence_settle(&evidence)
    for i in range(EXPERTS):
        losses[i] = -evidence.log[i]


cdef void fit_losses(const SharpState *state, const Rows *rows, double *losses) noexcept nogil:
    """Compute how badly each expert fits a batch now, its parameters charged."""
    cdef double[ALL_BINS] visits
    cdef double spent
    cdef Py_ssize_t i, j, k, before = 0
    losses_now(state, rows, losses, visits)
    for i in range(EXPERTS):
        losses[i] += SIZES[i]
    for i in range(GRIDS):
        spent = 0.0
        for k in range(before, before + BINS[i]):
            spent += 0.5 * log1p(0.5 * visits[k])
        before += BINS[i]
        for j in range(MEMORIES):
            losses[EXPERTS - GRIDS * MEMORIES + i * MEMORIES + j] += spent


cdef double normalised(double *w) noexcept nogil:
    cdef Py_ssize_t i
    cdef double total = 0.0
    for i in range(EXPERTS):
        total += w[i]
    for i in range(EXPERTS):
        w[i] /= total
    return total


cdef double weighed(
    double *w, const double *prior, const double *losses, double power
) noexcept nogil:
    """Weigh a prior by losses; return the logarithm of the mean likelihood to this power."""
    cdef double least = losses[0]
    cdef Py_ssize_t i
    for i in range(EXPERTS):
        least = min(least, losses[i])
    for i in range(EXPERTS):
        w[i] = prior[i] * exp((least - losses[i]) * power)
    return log(normalised(w)) - least * power


cdef double changed(const BatchState *state, double squares) noexcept nogil:
    """Return the probability of a change where a squared miss was so many times the usual so far."""
    cdef double known = state.batches + state.prior, odds, surprise
    surprise = (known + 1.0) * log1p(squares / known)
    if surprise <= TRIGGER:
        return 0.0
    odds = CHANCE * exp(min(50.0, 0.5 * (surprise - TRIGGER)))
    return odds / (1.0 + odds)


cdef void home_of(double size, double *home) noexcept nogil:
    """Fill in where weights return after a batch of this size."""
    cdef Py_ssize_t i
    home[0] = PRIORS[0] * ENOUGH / (ENOUGH + size)
    for i in range(1, EXPERTS):
        home[i] = PRIORS[i] * (1.0 - home[0]) / (1.0 - PRIORS[0])


cdef double batch_level(const SharpState *state) noexcept nogil:
    """Return the level of a batch that all have fitted: the offset that remembers hardly more."""
    return state.offset[OFFSETS - 1]


cdef void batch_weigh(
    SharpState *state, SurpriseState *surprises, const Rows *rows, const double *losses,
    Misses *misses, bint is_first,
) noexcept nogil:
    """Weigh the experts, which have fitted a batch, by it.

    By the losses of what they predicted; as far as it is a surprise, by how they fit it now, if
    that lasts, and by what they remember if it passes.
    """
    cdef double[EXPERTS] fits, if_lasts, if_passes, home
    cdef double mean
    cdef Py_ssize_t i
    for i in range(EXPERTS):
        if_passes[i] = state.w[i] * forgotten(FORGETS[i], rows.count)
    misses.likelihood = weighed(state.w, state.w, losses, 1.0 / misses.dispersed)
    home_of(<double>rows.count, home)
    misses.lasts = 1.0
    if misses.change > 0.0:
        normalised(if_passes)
        fit_losses(state, rows, fits)
        misses.fitted = weighed(if_lasts, home, fits, misses.fit_power)
        if not is_first:
            misses.shape = shape_of(home, fits, misses.fit_power, misses.fitted)
            misses.lasts = surprise_lasts(surprises, misses.shape)
            if misses.lasted >= 0.0:
                misses.lasts = misses.lasted
            surprises.surprise, surprises.shape = misses.change, misses.shape
            surprises.since = <double>misses.now
            memcpy(surprises.if_lasts, if_lasts, sizeof(if_lasts))
            memcpy(surprises.if_passes, if_passes, sizeof(if_passes))
        for i in range(EXPERTS):
            mean = misses.lasts * if_lasts[i] + (1.0 - misses.lasts) * if_passes[i]
            state.w[i] += misses.change * (mean - state.w[i])
    for i in range(EXPERTS):
        state.w[i] = misses.keep * state.w[i] + (1.0 - misses.keep) * home[i]


cdef void batch_learn(
    SharpState *state, BatchState *batches, SurpriseState *surprises, Rows *rows, Misses *misses,
    int64_t learned, bint is_revised,
) noexcept nogil:
    """Learn a batch after so many outcomes, as described above, but for levels, past and grid.

    Where the scores are another stage's, revised after the batch, a change was for that stage to
    notice.
    """
    cdef double size = <double>rows.count, before, lasted
    cdef double[EXPERTS] losses, now
    cdef double[ALL_BINS] visits
    cdef Py_ssize_t i
    before = dispersion(batches, size) if learned > 0 else 1.0
    misses.fit_power = 1.0 / (HALF * before)
    if is_revised:
        misses.change = 0.0
    elif learned > 0:
        misses.change = changed(batches, misses.missed * misses.missed / misses.noise / before)
    else:
        misses.change = 1.0
    if learned >= rows.count:  # one that is larger than all before it says nothing of what is usual
        batches_count(batches, misses.residual, misses.variance, size)
    evidence_settle(&misses.evidence)
    for i in range(EXPERTS):
        losses[i] = -misses.evidence.log[i]
    misses.dispersed = dispersion(batches, size)
    misses.keep = max(misses.evidence.keep, 1.0 - RETURN)
    if surprises.surprise > 0.0:
        losses_now(state, rows, now, visits)
        lasted = surprise_judge(surprises, now, 1.0 / misses.dispersed)
        if <double>misses.earliest < surprises.since:  # it is the same surprise
            misses.lasted = lasted
    batch_fit(state, rows)
    batch_weigh(state, surprises, rows, losses, misses, learned == 0)


cdef void batch_line(const SharpState *state, Rows *rows, double *line) noexcept nogil:
    """Fit a slope and an offset to a batch, on the logits of what all experts say of it now.

    These logits are left in `rows.base`. The fit is for the grid, to which each outcome is one: from
    here on all rows weigh the same.
    """
    cdef double[3] A
    cdef double[EXPERTS] p
    cdef double[OFFSETS] odds
    cdef Py_ssize_t[GRIDS] bins
    cdef double mean
    cdef Py_ssize_t i
    line[0], line[1] = 1.0, 0.0
    A[0] = A[2] = PRECISION
    A[1] = 0.0
    offset_odds(state, odds)
    for i in range(rows.count):
        mean = said(state, rows, i, odds, p, bins)
        rows.base[i], rows.w[i] = log(mean / (1.0 - mean)), 1.0
    fit_line(line, A, rows, rows.base, 1.0, 0.0, 1e-9)


cdef const double *batch_means(const SharpState *state, Rows *rows) noexcept nogil:
    """Return what all experts say of each row, moved by the slope and the offset that fit a batch."""
    cdef double[2] line
    cdef Py_ssize_t i
    batch_line(state, rows, line)
    for i in range(rows.count):
        rows.base[i] = within(sigmoid(line[0] * rows.base[i] + line[1]), 1e-9)
    return rows.base
