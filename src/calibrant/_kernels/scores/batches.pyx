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
4. If the batch is a surprise, Z = R^2 / disp(n) > TRIGGER for the mixture's mean and the dispersion
   before it, what the experts predicted says little about who is right now. With odds of CHANCE
   e^((Z - TRIGGER) / 2), and surely after the first batch, weights are the prior times how well each
   expert fits the batch now: the likelihood less half a logarithm of n for each parameter (Schwarz
   1978), to the power 1 / (HALF disp(n)).
5. Weights return to their prior as for so many outcomes, but at most by RETURN.

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

import numpy as np

from calibrant._kernels.functions cimport exp, log, log1p, pow
from calibrant._kernels.saved import SLACK
from calibrant._kernels.scores.mixing cimport curvature, evidence_settle, evidence_start, within
from calibrant._kernels.scores.sharp cimport (
    ALL_BINS, BETA_FORGETS, BETAS, BIN_FORGETS, BINS, EXPERTS, FLAT, GRIDS, MEMORIES,
    OFFSET_FORGETS, OFFSETS, PLATT_FORGETS, PLATTS, PRIORS, SharpState, View, sharp_count,
    sharp_view_at,
)
from calibrant._kernels.tally cimport bin_of

# The parts of BatchState, which is nothing but doubles: their names and sizes, in its order.
BATCH_PARTS = {"spread": EXPERTS, "batches": 1, "batched": 1, "batch_prior": 1}

cdef double FADE = 0.85             # what a batch leaves of those before it in the dispersion
cdef double RHO = 0.005             # what two outcomes of a batch have in common at first
cdef double FIRST = 2.0             # for how many batches that counts
cdef double TRIGGER = 6.0           # squared misses above this are a surprise
cdef double CHANCE = 0.05           # odds of a change where it begins
cdef double RETURN = 0.03            # the most that a batch returns
cdef double HALF = 4.0              # how much less a fit to known outcomes counts than a prediction
cdef double STEP = 1.5              # the longest step of a fit in any parameter
cdef double CLOSE = 0.05            # a last step shorter than this leaves an error of its square
cdef int STEPS = 8                  # of a fit, at the most
cdef double PRECISION = 10.0        # of the prior of slope and offset of a whole batch

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


cdef void misses_start(Misses *misses) noexcept nogil:
    cdef Py_ssize_t i
    misses.missed = misses.noise = 0.0
    for i in range(EXPERTS):
        misses.residual[i] = misses.variance[i] = 0.0
    evidence_start(&misses.evidence, EXPERTS)


cdef void misses_add(Misses *misses, const double *predicted, double mean, double y) noexcept nogil:
    """Count an outcome of which experts `predicted` that, and the mixture this mean."""
    cdef Py_ssize_t i
    misses.missed += y - mean
    misses.noise += mean * (1.0 - mean)
    for i in range(EXPERTS):
        misses.residual[i] += y - predicted[i]
        misses.variance[i] += predicted[i] * (1.0 - predicted[i])
    sharp_count(&misses.evidence, predicted, mean, y)


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


# -- fits -------------------------------------------------------------------------------------------


cdef int rows_start(Rows *rows, Py_ssize_t count) noexcept nogil:
    """Make room for the rows of a batch; -1 when there is no memory."""
    rows.count = count
    rows.s = <double *>malloc(5 * count * sizeof(double))
    if rows.s == NULL:
        return -1
    rows.u, rows.v, rows.y = rows.s + count, rows.s + 2 * count, rows.s + 3 * count
    rows.base = rows.s + 4 * count
    return 0


cdef void rows_set(Rows *rows, Py_ssize_t i, double s, double y) noexcept nogil:
    """Fill in a row: its score as a probability, and its outcome."""
    rows.s[i], rows.u[i], rows.v[i], rows.y[i] = s, log(s), -log1p(-s), y
    rows.least = min(rows.least, min(s, 1.0 - s))


cdef void rows_free(Rows *rows) noexcept nogil:
    free(rows.s)


cdef inline double sigmoid(double x) noexcept nogil:
    return 1.0 / (1.0 + exp(-x))


cdef inline double forgotten(double forget, Py_ssize_t count) noexcept nogil:
    """Return what remains of the past after so many outcomes."""
    return pow(1.0 - forget, <double>count) if forget > 0.0 else 1.0


cdef inline double cut_to(double step) noexcept nogil:
    """Return by what to multiply steps, the longest of which this is."""
    return STEP / step if step > STEP else 1.0


cdef void fit_line(
    double *a, double *A, const Rows *rows, const double *x, double keep, double flat, double least
) noexcept nogil:
    """Fit sigmoid(a x + b) to a batch; a and A are those of the past, and then the new ones."""
    cdef double A0 = keep * A[0] + (1.0 - keep), A1 = keep * A[1], A2 = keep * A[2] + (1.0 - keep)
    cdef double a0 = a[0], b0 = a[1], da, db, ga, gb, det, p, h, longest
    cdef Py_ssize_t i
    cdef int step
    for step in range(STEPS):
        da, db = a[0] - a0, a[1] - b0
        ga, gb = A0 * da + A1 * db, A1 * da + A2 * db
        A[0], A[1], A[2] = A0, A1, A2
        for i in range(rows.count):
            p = within(sigmoid(a[0] * x[i] + a[1]), least)
            h = curvature(p, flat)
            p -= rows.y[i]
            ga += p * x[i]
            gb += p
            A[0] += h * x[i] * x[i]
            A[1] += h * x[i]
            A[2] += h
        det = A[0] * A[2] - A[1] * A[1]
        da, db = (A[2] * ga - A[1] * gb) / det, (A[0] * gb - A[1] * ga) / det
        longest = max(fabs(da), fabs(db))
        a[0] -= da * cut_to(longest)
        a[1] -= db * cut_to(longest)
        if longest < CLOSE:
            return


cdef void fit_offset(
    double *c, double *A, const Rows *rows, double keep, double flat
) noexcept nogil:
    """Fit sigmoid(base + c) to a batch."""
    cdef double A0 = keep * A[0] + (1.0 - keep), c0 = c[0], g, p, d
    cdef Py_ssize_t i
    cdef int step
    for step in range(STEPS):
        A[0], g = A0, A0 * (c[0] - c0)
        for i in range(rows.count):
            p = within(sigmoid(rows.base[i] + c[0]), rows.least)
            A[0] += curvature(p, flat)
            g += p - rows.y[i]
        d = g / A[0]
        c[0] -= d * cut_to(fabs(d))
        if fabs(d) < CLOSE:
            return


cdef void fit_beta(double *a, double *A, const Rows *rows, double keep, double flat) noexcept nogil:
    """Fit sigmoid(a u + b v + c) to a batch."""
    cdef double[6] B
    cdef double[3] a0, g, d
    cdef double p, h, l1, l2, l3, d1, d2, t, longest
    cdef Py_ssize_t i
    cdef int step
    for i in range(6):
        B[i] = keep * A[i]
    for i in range(3):
        a0[i] = a[i]
    B[0] += 1.0 - keep
    B[3] += 1.0 - keep
    B[5] += 1.0 - keep
    for step in range(STEPS):
        for i in range(3):
            d[i] = a[i] - a0[i]
        g[0] = B[0] * d[0] + B[1] * d[1] + B[2] * d[2]
        g[1] = B[1] * d[0] + B[3] * d[1] + B[4] * d[2]
        g[2] = B[2] * d[0] + B[4] * d[1] + B[5] * d[2]
        for i in range(6):
            A[i] = B[i]
        for i in range(rows.count):
            p = within(sigmoid(a[0] * rows.u[i] + a[1] * rows.v[i] + a[2]), rows.least)
            h = curvature(p, flat)
            p -= rows.y[i]
            g[0] += p * rows.u[i]
            g[1] += p * rows.v[i]
            g[2] += p
            A[0] += h * rows.u[i] * rows.u[i]
            A[1] += h * rows.u[i] * rows.v[i]
            A[2] += h * rows.u[i]
            A[3] += h * rows.v[i] * rows.v[i]
            A[4] += h * rows.v[i]
            A[5] += h
        # A = L D L^T, solved forwards and backwards.
        l1, l2 = A[1] / A[0], A[2] / A[0]
        d1 = A[3] - l1 * A[1]
        t = A[4] - l1 * A[2]
        l3 = t / d1
        d2 = A[5] - l2 * A[2] - l3 * t
        g[1] -= l1 * g[0]
        g[2] -= l2 * g[0] + l3 * g[1]
        d[2] = g[2] / d2
        d[1] = g[1] / d1 - l3 * d[2]
        d[0] = g[0] / A[0] - l1 * d[1] - l2 * d[2]
        longest = max(fabs(d[0]), max(fabs(d[1]), fabs(d[2])))
        for i in range(3):
            a[i] -= d[i] * cut_to(longest)
        if longest < CLOSE:
            return


cdef void batch_fit(SharpState *state, const Rows *rows) noexcept nogil:
    """Let every expert fit a batch."""
    cdef Py_ssize_t n = rows.count, i, j, k, before = 0
    cdef double flat = FLAT * rows.least
    cdef double[ALL_BINS] visits, ones
    for i in range(n):
        rows.base[i] = rows.u[i] + rows.v[i]
    for i in range(PLATTS):
        fit_line(
            &state.platt[2 * i], &state.platt_A[3 * i], rows, rows.base,
            forgotten(PLATT_FORGETS[i], n), flat, rows.least,
        )
    for i in range(OFFSETS):
        if i == 1:
            for k in range(n):
                rows.base[k] = state.platt[0] * (rows.u[k] + rows.v[k]) + state.platt[1]
        fit_offset(
            &state.offset[i], &state.offset_A[i], rows, forgotten(OFFSET_FORGETS[i], n), flat
        )
    for i in range(BETAS):
        fit_beta(
            &state.beta[3 * i], &state.beta_A[6 * i], rows, forgotten(BETA_FORGETS[i], n), flat
        )
    for k in range(ALL_BINS):
        visits[k] = ones[k] = 0.0
    for i in range(GRIDS):
        for j in range(n):
            k = before + bin_of(rows.s[j], BINS[i])
            visits[k] += 1.0
            ones[k] += rows.y[j]
        before += BINS[i]
    for j in range(MEMORIES):
        for k in range(ALL_BINS):
            i = j * ALL_BINS + k
            state.Y[i] *= forgotten(BIN_FORGETS[j], <Py_ssize_t>visits[k])
            state.N[i] *= forgotten(BIN_FORGETS[j], <Py_ssize_t>visits[k])
            state.Y[i] += ones[k]
            state.N[i] += visits[k]


cdef void fit_losses(SharpState *state, const Rows *rows, double *losses) noexcept nogil:
    """Compute how badly each expert fits a batch now, its parameters charged."""
    cdef Py_ssize_t n = rows.count, i, j, k, before = 0
    cdef double[EXPERTS] product
    cdef double[ALL_BINS] visits
    cdef double spent, p
    cdef View view
    for i in range(EXPERTS):
        losses[i], product[i] = 0.5 * SIZES[i] * log(<double>n), 1.0
    for k in range(ALL_BINS):
        visits[k] = 0.0
    for j in range(n):
        sharp_view_at(state, rows.s[j], rows.u[j], rows.v[j], rows.least, &view)
        for i in range(EXPERTS):
            p = view.p[i]
            if rows.y[j] == 0.0 or rows.y[j] == 1.0:
                product[i] *= p if rows.y[j] == 1.0 else 1.0 - p
            else:
                losses[i] -= rows.y[j] * log(p) + (1.0 - rows.y[j]) * log1p(-p)
            if j % 32 == 31 or j == n - 1:
                losses[i] -= log(product[i])
                product[i] = 1.0
        for i in range(GRIDS):
            visits[view.bin[i]] += 1.0
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


cdef double changed(double surprise) noexcept nogil:
    """Return the probability of a change after a batch that was so much of a surprise."""
    cdef double odds
    if surprise <= TRIGGER:
        return 0.0
    odds = CHANCE * exp(min(50.0, 0.5 * (surprise - TRIGGER)))
    return odds / (1.0 + odds)


cdef double batch_level(const SharpState *state) noexcept nogil:
    """Return the level of a batch that all have fitted: the offset that remembers hardly more."""
    return state.offset[OFFSETS - 1]


cdef double batch_weigh(
    SharpState *state, const Rows *rows, const double *losses, double dispersed, double before,
    double change, double keep,
) noexcept nogil:
    """Weigh the experts, which have fitted a batch, by it.

    By the losses of what they predicted; with probability `change` by how they fit it now. The
    dispersion of the batch was `before` and is `dispersed`. Of the weights, `keep` does not return.
    Returns the logarithm of what the mixture's likelihood counts for.
    """
    cdef double[EXPERTS] fits, fresh
    cdef double likelihood = weighed(state.w, state.w, losses, 1.0 / dispersed)
    cdef Py_ssize_t i
    if change > 0.0:
        fit_losses(state, rows, fits)
        weighed(fresh, PRIORS, fits, 1.0 / (HALF * before))
        for i in range(EXPERTS):
            state.w[i] += change * (fresh[i] - state.w[i])
    for i in range(EXPERTS):
        state.w[i] = keep * state.w[i] + (1.0 - keep) * PRIORS[i]
    return likelihood


cdef void batch_learn(
    SharpState *state, BatchState *batches, Rows *rows, Misses *misses, int64_t learned,
    bint is_revised,
) noexcept nogil:
    """Learn a batch after so many outcomes, as described above, but for levels, past and grid.

    Where the scores are another stage's, revised after the batch, a change was for that stage to
    notice.
    """
    cdef double size = <double>rows.count, before, change
    cdef double[EXPERTS] losses
    cdef Py_ssize_t i
    before = dispersion(batches, size) if learned > 0 else 1.0
    change = changed(misses.missed * misses.missed / misses.noise / before) if learned > 0 else 1.0
    if learned >= rows.count:  # one that is larger than all before it says nothing of what is usual
        batches_count(batches, misses.residual, misses.variance, size)
    evidence_settle(&misses.evidence)
    for i in range(EXPERTS):
        losses[i] = -misses.evidence.log[i]
    misses.dispersed = dispersion(batches, size)
    misses.keep = max(misses.evidence.keep, 1.0 - RETURN)
    batch_fit(state, rows)
    misses.likelihood = batch_weigh(
        state, rows, losses, misses.dispersed, before, 0.0 if is_revised else change, misses.keep
    )


cdef void batch_line(SharpState *state, const Rows *rows, double *line) noexcept nogil:
    """Fit a slope and an offset to a batch, on the logits of what all experts say of it now.

    These logits are left in `rows.base`.
    """
    cdef double[3] A
    cdef Py_ssize_t i
    cdef View view
    line[0], line[1] = 1.0, 0.0
    A[0] = A[2] = PRECISION
    A[1] = 0.0
    for i in range(rows.count):
        sharp_view_at(state, rows.s[i], rows.u[i], rows.v[i], rows.least, &view)
        rows.base[i] = log(view.mean) - log1p(-view.mean)
    fit_line(line, A, rows, rows.base, 1.0, 0.0, 1e-9)


cdef const double *batch_means(SharpState *state, const Rows *rows) noexcept nogil:
    """Return what all experts say of each row, moved by the slope and the offset that fit a batch."""
    cdef double[2] line
    cdef Py_ssize_t i
    batch_line(state, rows, line)
    for i in range(rows.count):
        rows.base[i] = within(sigmoid(line[0] * rows.base[i] + line[1]), 1e-9)
    return rows.base
