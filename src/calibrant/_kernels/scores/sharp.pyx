"""Sharp: a mixture of online recalibrations of different shapes and memories.

The experts, at a score s with x = log s - log(1 - s):

- the identity, which predicts s;
- Platt scaling, sigmoid(a x + b);
- an offset, sigmoid(x + c), and offsets to the Platt scaling that forgets nothing,
  sigmoid(a x + b + c), which move faster than a slope can be learned;
- beta scaling, sigmoid(a log s - b log(1 - s) + c) (Kull, Silva Filho & Flach 2017);
- the mean outcome of the score's bin, (2 s + Y) / (2 + N), on grids of 10, 30 and 100 bins.

All but the first and the last take Newton steps on the log loss, one per round: with f the features
and p the prediction, A = lam A + (1 - lam) I + h f f^T, h = max(p (1 - p), FLAT least), and the
parameters move by -A^-1 (p - y) f. A starts at 10 I, which is a prior of standard deviation 0.3 on
each parameter, and never falls below I, so no step is longer than |f|.

An outcome of weight w counts w times in the loss: w h f f^T is added to A, parameters move by
-w A^-1 (p - y) f, and a bin gets w visits. For forgetting and for the return to the prior it counts once.

They are mixed as in `mixing.pyx`, with SHARE of the weights returning to the prior each round. The
lag is how late the last hundred outcomes arrived on average, and outcomes that arrive together count
with their average delay; the experts still learn them one after the other.

The experts that forget nothing also have their own estimate, their mean with
the same weights: the lasting estimate, which `recent.pyx` needs.

No expert predicts less than `least`, or more than 1 - least. This limit depends on the evidence: after n
outcomes it is 1 / (n + 2), the rule of succession for an event never seen, but never above LEAST or below
TINIEST. So predictions of rare events are not too high once there is evidence that they are rare, and one
surprise never costs more than -log(least).

The smooth estimate is for ranking rows of different times. There, variation from round to round is only
noise, and an expert whose memory holds few events adds little else. With v the variance of
an outcome, v / f is about how many events a memory with forgetting f holds; each weight is
multiplied by (v / (v + EVENTS f))^2. Anything learned from few events also moves with each
further one, downwards until it occurs and then upwards: after n outcomes, all weights but the identity's
are also multiplied by (n v / (n v + LEARNED))^2. A bin predicts nearly the same for all its scores, and
counts as forgetting at least as fast as BIN_FADE. If events are frequent, this changes almost
nothing. The only floor is TINIEST: a floor that falls with the number of outcomes would raise early rows
above later ones, and make all scores below it equal.
"""

from libc.stdint cimport int64_t
from libc.string cimport memset

import numpy as np

from calibrant._kernels.functions cimport exps, log, log1p, pow
from calibrant._kernels.scores.mixing cimport (
    LAG, Evidence, curvature, evidence_add, evidence_weigh, lag_after, returned, slowness, weigh,
    within,
)
from calibrant._kernels.saved import MOST_WEIGHT, SLACK
from calibrant._kernels.tally cimport bin_of

# The parts of SharpState, which is nothing but doubles: their names and sizes, in its order.
SHARP_PARTS = {
    "w": EXPERTS,
    "lag": 1,
    "platt": 2 * PLATTS,
    "platt_A": 3 * PLATTS,
    "offset": OFFSETS,
    "offset_A": OFFSETS,
    "beta": 3 * BETAS,
    "beta_A": 6 * BETAS,
    "Y": MEMORIES * ALL_BINS,
    "N": MEMORIES * ALL_BINS,
}

cdef double LEAST = 1e-4            # `least` at the start
cdef double TINIEST = 1e-9          # what it never falls below
cdef double SHARE = 5e-5            # share of the weight that returns to the prior each round
cdef double START = 10.0            # A at the start
cdef double BIN_FADE = 1e-3         # the least forgetting that a bin counts with there

# How fast the experts of each shape forget. The first offset is to the score, the others are to the
# first Platt scaling.
PLATT_FADES = (0.0, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2)
OFFSET_FADES = (0.0, 3e-3, 1e-2, 3e-2, 1e-1)
BETA_FADES = (0.0, 1e-3, 1e-2)
BIN_FADES = (0.0, 1e-3, 1e-2)
GRID_SIZES = (10, 30, 100)

PLATT_FORGETS[:] = PLATT_FADES
OFFSET_FORGETS[:] = OFFSET_FADES
BETA_FORGETS[:] = BETA_FADES
BIN_FORGETS[:] = BIN_FADES
BINS[:] = GRID_SIZES

# Prior weight of each shape in sixteenths, split evenly over its experts. The simple shapes get
# most: most scores are nearly right, or wrong in a simple way.
SHARP_PRIORS = [
    weight / 16 / count
    for weight, count in [(6, 1), (5, PLATTS), (3, OFFSETS), (1, BETAS), (1, GRIDS * MEMORIES)]
    for _ in range(count)
]
PRIORS[:] = SHARP_PRIORS


cdef Py_ssize_t[KEPT] KEEPERS        # the experts that forget nothing
KEEPERS[:] = [
    0,
    1,
    1 + PLATTS,
    1 + PLATTS + OFFSETS,
    *(1 + PLATTS + OFFSETS + BETAS + i * MEMORIES for i in range(GRIDS)),
]

cdef double[EXPERTS] FADES           # how fast each expert forgets, for the smooth estimate
FADES[:] = (
    [0.0]
    + [forget for forget in PLATT_FORGETS]
    + [forget for forget in OFFSET_FORGETS]
    + [forget for forget in BETA_FORGETS]
    + [max(forget, BIN_FADE) for _ in range(GRIDS) for forget in BIN_FORGETS]
)


cdef double sharp_least(int64_t outcomes) noexcept nogil:
    """Return the smallest probability that so many outcomes allow to be predicted."""
    cdef double least = 1.0 / (<double>outcomes + 2.0)
    return LEAST if least > LEAST else TINIEST if least < TINIEST else least


cdef double sharp_returned(double m) noexcept nogil:
    """Return the share of the weights that returns to the prior where the mean is m."""
    return returned(SHARE, m)


cdef inline double pivot(double d) noexcept nogil:
    """Return a pivot of a matrix that is at least I, which rounding may not push below 1."""
    return d if d > 1.0 else 1.0


cdef void sharp_start(SharpState *s) noexcept nogil:
    """Start every expert at the identity, with its prior weight."""
    cdef Py_ssize_t i
    memset(s, 0, sizeof(SharpState))
    for i in range(EXPERTS):
        s.w[i] = PRIORS[i]
    for i in range(PLATTS):
        s.platt[2 * i] = 1.0
        s.platt_A[3 * i] = s.platt_A[3 * i + 2] = START
    for i in range(OFFSETS):
        s.offset_A[i] = START
    for i in range(BETAS):
        s.beta[3 * i] = s.beta[3 * i + 1] = 1.0
        s.beta_A[6 * i] = s.beta_A[6 * i + 3] = s.beta_A[6 * i + 5] = START


cdef void sharp_view(
    const SharpState *state, double s, double least, View *view
) noexcept nogil:
    """Ask every expert about the score s, inside [least, 1 - least]."""
    cdef Py_ssize_t i, j, k, before = 0, at = 1 + CURVES
    cdef double u = log(s), v = -log1p(-s), m = 0.0, lasting = 0.0, total = 0.0, base
    cdef double[CURVES] x
    cdef double *platt = x
    cdef double *offset = platt + PLATTS
    cdef double *beta = offset + OFFSETS
    view.s, view.u, view.v, view.least = s, u, v, least
    view.p[0] = s
    for i in range(PLATTS):
        platt[i] = -(state.platt[2 * i] * (u + v) + state.platt[2 * i + 1])
    for i in range(OFFSETS):
        base = u + v if i == 0 else state.platt[0] * (u + v) + state.platt[1]
        offset[i] = -(base + state.offset[i])
    for i in range(BETAS):
        beta[i] = -(state.beta[3 * i] * u + state.beta[3 * i + 1] * v + state.beta[3 * i + 2])
    exps(x, x, CURVES)
    for i in range(CURVES):
        # exp of a huge number is infinite, and 1 / infinity is the right answer.
        view.p[1 + i] = within(1.0 / (1.0 + x[i]), least)
    for i in range(GRIDS):
        view.bin[i] = before + bin_of(s, BINS[i])
        for j in range(MEMORIES):
            k = j * ALL_BINS + view.bin[i]
            view.p[at] = within((PRIOR * s + state.Y[k]) / (PRIOR + state.N[k]), least)
            at += 1
        before += BINS[i]
    for i in range(EXPERTS):
        m += state.w[i] * view.p[i]
    for i in range(KEPT):
        lasting += state.w[KEEPERS[i]] * view.p[KEEPERS[i]]
        total += state.w[KEEPERS[i]]
    view.mean, view.lasting = within(m, least), within(lasting / total, least)


cdef Events sharp_events(const SharpState *state) noexcept nogil:
    """Return what the outcomes so far were; half an event is added.

    The first grid counts all of them.
    """
    cdef double ones = 0.5, visits = 1.0
    cdef Events events
    cdef Py_ssize_t i
    for i in range(BINS[0]):
        ones += state.Y[i]
        visits += state.N[i]
    events.variance = ones / visits * (1.0 - ones / visits)
    events.count = visits * events.variance
    return events


cdef void sharp_view_smooth(const SharpState *state, double s, View *view) noexcept nogil:
    """Ask every expert about s without a floor, for the smooth estimate."""
    sharp_view(state, within(s, TINIEST), TINIEST, view)


cdef double sharp_smooth(const SharpState *state, const View *view, Events events) noexcept nogil:
    """Return what the experts of a view say, each heard as far as its memory holds events."""
    cdef double total = 0.0, m = 0.0, share
    cdef Py_ssize_t i
    for i in range(EXPERTS):
        # All but the identity have learned what they say.
        share = state.w[i] * (heard(events, FADES[i]) if i > 0 else 1.0)
        total += share
        m += share * view.p[i]
    return within(m / total, view.least)


def check_sharp(parts, double learned):
    """Refuse a saved mixture that so many outcomes cannot have made; arrays by name.

    A step is no longer than its features, each of which is below 21, and adds at most a quarter of
    their square to a matrix, which never falls below I; of an outcome with a weight, so many times
    as much. A batch counts in a bin as a whole, and may hold more outcomes than single ones would
    leave there.
    """
    least = returned(SHARE, TINIEST) * np.array(PRIORS)  # the mean may have been as near to 0 as that
    taught = MOST_WEIGHT * learned
    steps, most = 1.0 + 37.0 * taught, START + 111.0 * taught
    platt, beta = parts["platt_A"].reshape(-1, 3), parts["beta_A"].reshape(-1, 6)
    if (parts["w"] < least * (1.0 - SLACK)).any() or abs(parts["w"].sum() - 1.0) > SLACK:
        raise ValueError("saved w must not fall below what the prior returns, and sum to 1")
    for name in ("platt", "offset", "beta"):
        if (np.abs(parts[name]) > steps).any():
            raise ValueError(f"saved {name} must be within reach of {learned:.0f} outcomes")
    for name, diagonal in (
        ("platt_A", platt[:, [0, 2]]), ("offset_A", parts["offset_A"]),
        ("beta_A", beta[:, [0, 3, 5]]),
    ):
        if (diagonal < 1.0 - SLACK).any() or (diagonal > most).any():
            raise ValueError(f"saved {name} must be in [1, {most}] on the diagonal")
    for A, i, j, k in ((platt, 0, 1, 2), (beta, 0, 1, 3), (beta, 0, 2, 5), (beta, 3, 4, 5)):
        if (A[:, j] ** 2 > A[:, i] * A[:, k] * (1.0 + SLACK)).any():
            raise ValueError("saved platt_A and beta_A must be matrices without negative squares")
    Y, N = parts["Y"], parts["N"]
    if (N < 0.0).any() or (N > taught * (1.0 + SLACK)).any():
        raise ValueError(f"saved N must be in [0, {taught}]")
    if (Y < 0.0).any() or (Y > N * (1.0 + SLACK)).any():
        raise ValueError("saved Y must be in [0, N]")


cdef inline void platt_step(double *a, double *A, double x, double p, double y, double weight,
                            double forget, double flat) noexcept nogil:
    cdef double lam = 1.0 - forget, h = weight * curvature(p, flat), r = weight * (p - y), l, d, b
    A[0] = lam * A[0] + forget + h * x * x
    A[1] = lam * A[1] + h * x
    A[2] = lam * A[2] + forget + h
    # A = L D L^T, solved forwards and backwards.
    l = A[1] / A[0]
    d = pivot(A[2] - l * A[1])
    b = (r - l * r * x) / d
    a[1] -= b
    a[0] -= r * x / A[0] - l * b


cdef inline void offset_step(double *c, double *A, double p, double y, double weight,
                             double forget, double flat) noexcept nogil:
    A[0] = (1.0 - forget) * A[0] + forget + weight * curvature(p, flat)
    c[0] -= weight * (p - y) / A[0]


cdef inline void beta_step(double *a, double *A, double u, double v, double p, double y,
                           double weight, double forget, double flat) noexcept nogil:
    cdef double lam = 1.0 - forget, h = weight * curvature(p, flat), r = weight * (p - y)
    cdef double l1, l2, l3, d1, d2, t, g1, g2, b, c
    A[0] = lam * A[0] + forget + h * u * u
    A[1] = lam * A[1] + h * u * v
    A[2] = lam * A[2] + h * u
    A[3] = lam * A[3] + forget + h * v * v
    A[4] = lam * A[4] + h * v
    A[5] = lam * A[5] + forget + h
    l1, l2 = A[1] / A[0], A[2] / A[0]
    d1 = pivot(A[3] - l1 * A[1])
    t = A[4] - l1 * A[2]
    l3 = t / d1
    d2 = pivot(A[5] - l2 * A[2] - l3 * t)
    g1 = r * v - l1 * r * u
    g2 = r - l2 * r * u - l3 * g1
    c = g2 / d2
    b = g1 / d1 - l3 * c
    a[0] -= r * u / A[0] - l1 * b - l2 * c
    a[1] -= b
    a[2] -= c


cdef void sharp_learn(
    SharpState *state, const View *view, const double *predicted, double m, double y,
    double weight, double late,
) noexcept nogil:
    """Weigh the experts by what they `predicted` in the round, m together, then let each learn.

    `view` is what they say for the same score now; it differs if other outcomes came in between.
    Weights are updated from `predicted`, parameters from `view`. Between the prediction and its
    outcome, `late` other predictions were made.
    """
    state.lag = lag_after(state.lag, late)
    weigh(state.w, PRIORS, EXPERTS, predicted, y, weight, state.lag, sharp_returned(m))
    sharp_step(state, view, y, weight)


cdef void sharp_count(
    Evidence *evidence, const double *predicted, double m, double y, double weight
) noexcept nogil:
    """Count how likely each expert made one outcome of many."""
    evidence_add(evidence, predicted, y, weight, sharp_returned(m))


cdef void sharp_delay(SharpState *state, double late, int64_t count) noexcept nogil:
    """Count how late so many outcomes came that came together, on average."""
    state.lag = late + (state.lag - late) * pow(0.99, <double>count)  # `lag_after`, so many times


cdef void sharp_weigh(SharpState *state, Evidence *evidence) noexcept nogil:
    """Weigh the experts by outcomes that came together, and were counted by `sharp_delay`."""
    evidence_weigh(evidence, state.w, PRIORS, 1.0 / slowness(state.lag, LAG))


cdef void sharp_step(
    SharpState *state, const View *view, double y, double weight
) noexcept nogil:
    """Let each expert learn an outcome from what it says for the score now."""
    cdef Py_ssize_t i, j, k, at = 1
    cdef double x = view.u + view.v, flat = FLAT * view.least
    for i in range(PLATTS):
        platt_step(
            &state.platt[2 * i], &state.platt_A[3 * i], x, view.p[at], y, weight,
            PLATT_FORGETS[i], flat,
        )
        at += 1
    for i in range(OFFSETS):
        offset_step(
            &state.offset[i], &state.offset_A[i], view.p[at], y, weight, OFFSET_FORGETS[i], flat
        )
        at += 1
    for i in range(BETAS):
        beta_step(
            &state.beta[3 * i], &state.beta_A[6 * i], view.u, view.v, view.p[at], y, weight,
            BETA_FORGETS[i], flat,
        )
        at += 1
    for i in range(GRIDS):
        for j in range(MEMORIES):
            k = j * ALL_BINS + view.bin[i]
            state.Y[k] = (1.0 - BIN_FORGETS[j]) * state.Y[k] + weight * y
            state.N[k] = (1.0 - BIN_FORGETS[j]) * state.N[k] + weight
