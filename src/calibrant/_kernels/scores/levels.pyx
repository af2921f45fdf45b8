"""Levels: how successive batches of outcomes are related, on top of the mixture of `sharp.pyx`.

The level of a batch is the difference of its log odds from the Platt scaling that forgets nothing,
q: the offset of the expert that forgets fastest, after it has fitted the batch. A month may be like
the last one, or only half as far from the usual, or like another region or season. So three
autoregressions, of orders 0, 1 and 4, forecast the level of the next batch from the last known
levels, and predict q with its odds multiplied by e^forecast. Order 0 is the mean of all
batches, regardless of their sizes.

Each regression is a recursive least squares fit, with a normal prior: a coefficient of NEXT for the
last level, 0 for the constant and all others, and RIDGES as their precisions, in units of the noise.
It learns from pairs of a level and those that were known when its batch was predicted. So where
labels come a batch later still, it forecasts that much further ahead.

The regressions are weighted together with the experts of the mixture: by their likelihood of a batch, to
the same power, with the prior weights HOME; after a surprise, like these, by how well they fit it now,
with what each forecasts after it. Order 0 has the smallest prior weight, because it nearly equals the
experts that forget nothing, and order 4 the largest, because it includes both others. Before the first
batch there are none, and predictions are those of the mixture, bit for bit. Single outcomes change their
weights like those of any expert, but the regressions do not learn from them.
"""

from libc.stdint cimport int64_t
from libc.string cimport memset

import numpy as np

from calibrant._kernels.functions cimport exp
from calibrant._kernels.saved import MOST_WEIGHT, SLACK
from calibrant._kernels.scores.mixing cimport Evidence, evidence_settle, weigh, within
from calibrant._kernels.scores.sharp cimport EXPERTS, View, sharp_least

# The parts of LevelState, which is nothing but doubles: their names and sizes, in its order.
LEVEL_PARTS = {
    "level_w": 1 + REGRESSIONS,
    "level_odds": REGRESSIONS,
    "level_theta": REGRESSIONS * TERMS,
    "level_P": REGRESSIONS * TERMS * TERMS,
    "levels_kept": 1,
    "level": REMEMBERED,
    "level_since": REMEMBERED,
}

cdef double NEXT = 0.6              # the part of a level that lasts, before anything is known
cdef double FARTHEST = 20.0         # no forecast is farther than this from 0

cdef double[1 + REGRESSIONS] HOME
HOME[:] = (0.6, 0.05, 0.15, 0.2)
cdef double[REGRESSIONS] RIDGES
RIDGES[:] = (16.0, 16.0, 2.0)
cdef Py_ssize_t[REGRESSIONS] ORDERS  # how many levels each looks back at
ORDERS[:] = (0, 1, 4)


cdef void levels_start(LevelState *state) noexcept nogil:
    """Begin before the first batch."""
    cdef Py_ssize_t i, k
    memset(state, 0, sizeof(LevelState))
    state.w[0] = 1.0
    for i in range(REGRESSIONS):
        state.odds[i] = 1.0
        for k in range(ORDERS[i] + 1):
            state.P[(i * TERMS + k) * TERMS + k] = 1.0 / RIDGES[i]
        if ORDERS[i] > 0:
            state.theta[i * TERMS + 1] = NEXT


cdef Py_ssize_t levels_known(const LevelState *state, int64_t number, double *terms) noexcept nogil:
    """Fill in what regressions knew when a prediction of this number was made.

    Returns how many levels that were.
    """
    cdef Py_ssize_t i = 0, k, count = <Py_ssize_t>state.count
    while i < count and state.since[i] > number:
        i += 1
    terms[0] = 1.0
    for k in range(LAGS):
        terms[1 + k] = state.level[i + k] if i + k < count else 0.0
    return count - i


cdef double forecast(const LevelState *state, Py_ssize_t i, const double *terms) noexcept nogil:
    cdef double level = 0.0
    cdef Py_ssize_t k
    for k in range(TERMS):
        level += state.theta[i * TERMS + k] * terms[k]
    return level


cdef void levels_odds(const LevelState *state, const double *terms, double *odds) noexcept nogil:
    """Compute what each regression multiplies odds by, given what it knows."""
    cdef Py_ssize_t i
    for i in range(REGRESSIONS):
        odds[i] = exp(min(max(forecast(state, i, terms), -FARTHEST), FARTHEST))


cdef void levels_say(const double *odds, double q, double least, double *predicted) noexcept nogil:
    """Compute what regressions say where the Platt scaling that forgets nothing says q."""
    cdef Py_ssize_t i
    for i in range(REGRESSIONS):
        predicted[i] = within(q * odds[i] / (1.0 - q + q * odds[i]), least)


cdef void levels_view(const LevelState *state, View *view) noexcept nogil:
    """Let the regressions join the mean of a view."""
    cdef double[REGRESSIONS] predicted
    cdef double mean = state.w[0] * view.mean
    cdef Py_ssize_t i
    levels_say(state.odds, view.p[1], view.least, predicted)
    for i in range(REGRESSIONS):
        mean += state.w[1 + i] * predicted[i]
    view.mean = within(mean, view.least)


cdef void levels_weigh_one(
    LevelState *state, const double *w, const double *predicted, double moved, double y,
    double weight, double lag,
) noexcept nogil:
    """Weigh the regressions by one outcome, of which the experts of weights w `predicted` that."""
    cdef double[1 + REGRESSIONS] each
    cdef Py_ssize_t i
    each[0] = 0.0
    for i in range(EXPERTS):
        each[0] += w[i] * predicted[i]
    levels_say(state.odds, predicted[1], sharp_least(1 << 62), &each[1])
    weigh(state.w, HOME, 1 + REGRESSIONS, each, y, weight, lag, moved)


cdef void weighed(
    double *w, const double *prior, Evidence *evidence, double mixture, double power
) noexcept nogil:
    """Weigh a prior by a batch, whose likelihood to the power by the mixture is e^mixture."""
    cdef double most = mixture, total
    cdef Py_ssize_t i
    evidence_settle(evidence)
    for i in range(REGRESSIONS):
        most = max(most, power * evidence.log[i])
    total = w[0] = prior[0] * exp(mixture - most)
    for i in range(REGRESSIONS):
        w[1 + i] = prior[1 + i] * exp(power * evidence.log[i] - most)
        total += w[1 + i]
    for i in range(1 + REGRESSIONS):
        w[i] /= total


cdef void levels_weigh(
    LevelState *state, Evidence *evidence, double mixture, double power
) noexcept nogil:
    """Weigh the regressions by what they predicted of a batch."""
    weighed(state.w, state.w, evidence, mixture, power)


cdef void levels_change(
    LevelState *state, const double *before, Evidence *evidence, double mixture, double power,
    double change, double lasts
) noexcept nogil:
    """Weigh the regressions after what is with this probability a surprise, by how they fit it now.

    If it passes, and does not last, by their weights before it.
    """
    cdef double[1 + REGRESSIONS] fresh
    cdef double usual = 0.0, passed
    cdef Py_ssize_t i
    weighed(fresh, HOME, evidence, mixture, power)
    for i in range(1 + REGRESSIONS):
        if i == 0 or ORDERS[i - 1] == 0:
            usual += before[i]
    for i in range(1 + REGRESSIONS):
        passed = before[i] / usual if i == 0 or ORDERS[i - 1] == 0 else 0.0
        state.w[i] += change * (lasts * fresh[i] + (1.0 - lasts) * passed - state.w[i])


cdef void levels_return(LevelState *state, double keep) noexcept nogil:
    """Let the weights return to their prior, but for `keep`."""
    cdef Py_ssize_t i
    for i in range(1 + REGRESSIONS):
        state.w[i] = keep * state.w[i] + (1.0 - keep) * HOME[i]


cdef void levels_learn(LevelState *state, const double *terms, double level) noexcept nogil:
    """Fit the level of a batch to what was known when it was predicted."""
    cdef double[TERMS] Px
    cdef double *P
    cdef double *theta
    cdef double noise, miss
    cdef Py_ssize_t i, j, k
    for i in range(REGRESSIONS):
        P, theta = &state.P[i * TERMS * TERMS], &state.theta[i * TERMS]
        noise, miss = 1.0, level - forecast(state, i, terms)
        for j in range(TERMS):
            Px[j] = 0.0
            for k in range(TERMS):
                Px[j] += P[j * TERMS + k] * terms[k]
            noise += terms[j] * Px[j]
        for j in range(TERMS):
            theta[j] += Px[j] / noise * miss
            for k in range(TERMS):
                P[j * TERMS + k] -= Px[j] * Px[k] / noise


cdef void levels_add(LevelState *state, double level, int64_t number) noexcept nogil:
    """Make the level of a batch known to all predictions from this number on."""
    cdef double[TERMS] terms
    cdef Py_ssize_t i
    if state.count == 0.0:
        state.w[:] = HOME
    for i in range(REMEMBERED - 1, 0, -1):
        state.level[i], state.since[i] = state.level[i - 1], state.since[i - 1]
    state.level[0], state.since[0] = level, <double>number
    state.count = min(state.count + 1.0, <double>REMEMBERED)
    levels_known(state, number, terms)
    levels_odds(state, terms, state.odds)


def check_levels(parts, double rounds, double learned):
    """Refuse saved levels that no batches can have left; arrays by name."""
    w, odds, count = parts["level_w"], parts["level_odds"], parts["levels_kept"][0]
    P = parts["level_P"].reshape(REGRESSIONS, TERMS, TERMS)
    since, farthest = parts["level_since"], 1.0 + 37.0 * MOST_WEIGHT * learned  # as in `sharp.pyx`
    if (w < 0.0).any() or abs(w.sum() - 1.0) > SLACK:
        raise ValueError("saved level_w must not be negative, and sum to 1")
    if count not in range(REMEMBERED + 1) or (count == 0.0 and w[0] != 1.0):
        raise ValueError(f"saved levels_kept must be one of 0 to {REMEMBERED}, and fit level_w")
    if (odds <= 0.0).any() or (np.abs(np.log(odds)) > FARTHEST + SLACK).any():
        raise ValueError(f"saved level_odds must be within e^{FARTHEST} of 1")
    diagonal = np.diagonal(P, axis1=1, axis2=2)
    squares = diagonal[:, :, None] * diagonal[:, None, :]
    if (diagonal < -SLACK).any() or (diagonal > 1.0).any() or (P**2 > squares + SLACK).any():
        raise ValueError("saved level_P must be covariances of at most 1")
    if (np.abs(parts["level"]) > farthest).any() or (np.abs(parts["level_theta"]) > farthest**2).any():
        raise ValueError(f"saved level and level_theta must be within reach of {learned:.0f} outcomes")
    if (since < 0.0).any() or (since > rounds).any() or (np.diff(since[: int(count)]) > 0.0).any():
        raise ValueError(f"saved level_since must be in [0, {rounds:.0f}], the newest first")
