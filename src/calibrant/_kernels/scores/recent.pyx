"""Recent: what the last outcomes say about the next one, on top of the mixture of `sharp.pyx`.

The last six outcomes known when a score arrives are its past, 1 for those above 1/2; before the first
outcome it is all zeros. Eight experts use the last 1, 2, 3, 4 or 6 of these, and each has a slot
for every possible past. A slot multiplies the odds of an estimate q by its own odds r, so
the expert predicts p = q r / (1 - q + q r); r starts at 1. For five experts q is the lasting estimate,
the mean of the experts of the mixture that forget nothing. For three, with the last 1, 2 and 4 outcomes,
q is the mixture's mean. Fast experts follow the last outcomes themselves, which a slot would have to undo;
but if the world changes fast, only they are close to it.

Slots take Newton steps on the log loss, one an outcome: A = lam A + (1 - lam) + h, which starts at
1, with h = max(p (1 - p), FLAT least), and log r moves by d = (y - p) / A. Instead of e^d, which
takes long, r is multiplied by (2 + d) / (2 - d), and stays within FARTHEST and its inverse. An
outcome of weight w adds w h to A; its step is w (y - p) / (A + (w - 1) / 2), shorter than 2 where w
is above 1, and w (y - p) / A where it is below.

A second mixture (`mixing.pyx`) weights the mixture's mean, which starts at 0.998, against the eight.
So if the past carries no information, its log loss is at most 0.002 above that of the mixture's mean over
all rounds together, plus 2e-8 a round.

A prediction that was moved, because no end of the mean's gap was neutral (`safe.pyx`), gives no evidence
about the experts: an opponent reacts to the prediction, which depends on the past, so the past seems to
predict the outcome until this is used. All experts then count as having predicted the mixture's mean, and
those that use the past keep only DOUBT of their weights. Rounds that are not placed on the grid
omit these experts, too.

An outcome is learned in the slots of its own prediction's past, however late it arrives. Later
predictions have it in their past: the past consists of the outcomes known at the time.
"""

from libc.stdint cimport int64_t

import numpy as np

from calibrant._kernels.functions cimport pow
from calibrant._kernels.scores.mixing cimport (
    LAG, Evidence, curvature, evidence_add, evidence_weigh, returned, slowness, weigh, within,
)
from calibrant._kernels.saved import MOST_WEIGHT, SLACK
from calibrant._kernels.scores.sharp cimport FLAT, Events, View, heard, sharp_least

# The parts of RecentState, which is nothing but doubles: their names and sizes, in its order.
RECENT_PARTS = {"recent_w": 1 + RECENTS, "past": 1, "slot_odds": SLOTS, "slot_A": SLOTS}

cdef double SHARE = 1e-5            # share of the weight that returns to the prior each round
cdef double TRUST = 0.998           # first weight of the mixture's mean
cdef double DOUBT = 0.75            # what a moved prediction leaves of the other weights
cdef double FORGET = 1e-3           # how fast a slot forgets
cdef double FARTHEST = 1e9          # odds of a slot are at most this, and at least its inverse

ORDERS = (1, 2, 3, 4, 6, 1, 2, 4)   # how many outcomes each expert looks at

cdef int64_t[RECENTS] MASKS         # of the bits of the past that it looks at
MASKS[:] = [2**order - 1 for order in ORDERS]
cdef Py_ssize_t[RECENTS] FIRST      # its first slot
FIRST[:] = [sum(2**order for order in ORDERS[:i]) for i in range(RECENTS)]
cdef double[1 + RECENTS] PRIORS
PRIORS[:] = [TRUST] + [(1.0 - TRUST) / RECENTS] * RECENTS


cdef void recent_start(RecentState *state) noexcept nogil:
    """Start every slot where it changes nothing."""
    cdef Py_ssize_t i
    state.past = 0.0
    for i in range(1 + RECENTS):
        state.w[i] = PRIORS[i]
    for i in range(SLOTS):
        state.odds[i] = state.A[i] = 1.0


cdef inline double multiplied(double q, double odds) noexcept nogil:
    # With odds of 1 this is q to the last bit.
    return q * odds / (1.0 - q + q * odds)


cdef double recent_view(
    const RecentState *state, double past, const View *view, Recall *recall
) noexcept nogil:
    """Ask every expert about a score after this past; return what all say together."""
    cdef Py_ssize_t i
    cdef int64_t bits = <int64_t>past
    cdef double p, m = view.mean
    recall.past, recall.least = past, view.least
    recall.p[0] = view.mean
    for i in range(RECENTS):
        recall.slot[i] = FIRST[i] + (bits & MASKS[i])
        p = multiplied(view.lasting if i < LASTING else view.mean, state.odds[recall.slot[i]])
        recall.p[1 + i] = p = within(p, view.least)
        # Where all say the same, they are to say just that together, or ties fall otherwise.
        m += state.w[1 + i] * (p - view.mean)
    return within(m, view.least)


cdef double recent_smooth(
    const RecentState *state, const Recall *recall, double estimate, Events events
) noexcept nogil:
    """Return the smooth estimate, given that of the mixture and what the outcomes were."""
    cdef Py_ssize_t i
    cdef double share = heard(events, FORGET), total = state.w[0], m = state.w[0] * estimate
    for i in range(RECENTS):
        total += share * state.w[1 + i]
        m += share * state.w[1 + i] * (
            recall.p[1 + i] if i < LASTING
            else within(multiplied(estimate, state.odds[recall.slot[i]]), recall.least)
        )
    return within(m / total, recall.least)


cdef void recent_silence(double *predicted, double q) noexcept nogil:
    """Let every expert have predicted q, so that its outcome says nothing about them."""
    cdef Py_ssize_t i
    for i in range(1 + RECENTS):
        predicted[i] = q


cdef void recent_learn(
    RecentState *state, const Recall *recall, const double *predicted, double moved, double y,
    double weight, double lag
) noexcept nogil:
    """Weigh the experts by what they `predicted` in the round, then let the slots of its past
    learn.

    `recall` is what they say for the same score and past now. The round's prediction was `moved`,
    1, or not, 0.
    """
    cdef Py_ssize_t i
    cdef double doubt
    if moved > 0.0:
        doubt = DOUBT if lag == 0.0 else pow(DOUBT, 1.0 / slowness(lag, LAG))
        for i in range(RECENTS):
            state.w[1 + i] *= doubt
    weigh(state.w, PRIORS, 1 + RECENTS, predicted, y, weight, lag, returned(SHARE, predicted[0]))
    recent_step(state, recall, y, weight)


cdef void recent_count(
    Evidence *evidence, const double *predicted, double moved, double y, double weight
) noexcept nogil:
    """Count how likely each expert made one outcome of many."""
    cdef Py_ssize_t i
    if moved > 0.0:
        for i in range(RECENTS):
            evidence.product[1 + i] *= DOUBT
    evidence_add(evidence, predicted, y, weight, returned(SHARE, predicted[0]))


cdef void recent_weigh(RecentState *state, Evidence *evidence, double power) noexcept nogil:
    """Weigh the experts by outcomes that came together."""
    evidence_weigh(evidence, state.w, PRIORS, power)


cdef void recent_step(
    RecentState *state, const Recall *recall, double y, double weight
) noexcept nogil:
    """Let the slots of a past learn the outcome that followed, which the next past ends with."""
    cdef Py_ssize_t i, k
    cdef double p, A, r, odds, flat = FLAT * recall.least, more = max(0.0, 0.5 * (weight - 1.0))
    for i in range(RECENTS):
        k, p = recall.slot[i], recall.p[1 + i]
        state.A[k] = A = (1.0 - FORGET) * state.A[k] + FORGET + weight * curvature(p, flat)
        A, r = A + more, weight * (y - p)
        odds = state.odds[k] * ((2.0 * A + r) / (2.0 * A - r))
        state.odds[k] = min(max(odds, 1.0 / FARTHEST), FARTHEST)
    state.past = <double>((2 * <int64_t>state.past + (y > 0.5)) % PASTS)


def check_recent(parts, double learned):
    """Refuse a saved memory that so many outcomes cannot have made; arrays by name."""
    least = returned(SHARE, sharp_least(1 << 62)) * np.array(PRIORS)
    w, past, most = parts["recent_w"], parts["past"][0], 1.0 + 0.25 * MOST_WEIGHT * learned
    if (w < least * (1.0 - SLACK)).any() or abs(w.sum() - 1.0) > SLACK:
        raise ValueError("saved recent_w must not fall below what the prior returns, and sum to 1")
    if past not in range(min(PASTS, 2 ** int(min(learned, 6.0)))):
        raise ValueError(f"saved past must be of {learned:.0f} outcomes, six at most, got {past!r}")
    odds, A = parts["slot_odds"], parts["slot_A"]
    if (odds < 1.0 / FARTHEST).any() or (odds > FARTHEST).any():
        raise ValueError(f"saved slot_odds must be in [{1 / FARTHEST}, {FARTHEST}]")
    if (A < 1.0 - SLACK).any() or (A > most * (1.0 + SLACK)).any():
        raise ValueError(f"saved slot_A must be in [1, {most}]")
