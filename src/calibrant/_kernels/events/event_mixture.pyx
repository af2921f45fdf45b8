"""Sharp without scores: a mixture of what different memories of the past say.

The experts:

- the mean of recent outcomes, at five rates (the plain mean while that is faster);
- two hidden Markov chains of two states, one that starts with states that last and differ much, one
  that starts with a rare state (`hidden.pyx`);
- for each context of the round (`contexts.pyx`) the mean outcome of the rounds that shared it, of
  all and of the last thirty (`slots.pyx`);
- the *blend* of all of these, sigmoid(sum v x) with x an expert's logit, as in the PAQ compressors
  (Mahoney 2005): v moves by g (y - q) x, where q is the blend's estimate, at a rate g that falls
  from 0.01 to 0.001.

An expert *sleeps* in rounds for which it has no estimate: a context that never occurred, the calendar
without a time. The estimate of the mixture is the mean over those awake, by their weights w. After
the outcome, the weights of those awake are multiplied by their likelihoods and scaled to the sum
that they had; all weights then move a little, by SHARE, towards the prior w0. So over any stretch
of rounds the mixture's log loss, in the rounds in which expert i is awake, is at most that of i
plus -log(SHARE w0_i), and a further such term for each change of the best expert (Freund, Schapire,
Singer & Warmuth 1997; Herbster & Warmuth 1998), plus -log(1 - SHARE) a round; from the first round
on, it is -log(w0_i) instead. No such bound holds for the blend itself, which is one of the experts.

**Repair.** The mixture's estimate may be wrong in the same way again and again. So it goes on as
what the outcomes after similar estimates make of it: the repaired estimate r (`repair.pyx`).

**Trust.** An opponent who reacts to what is predicted can make the mixture right wherever it is not
heard and wrong wherever it is. So what is asked for is u = trust r + (1 - trust) s, where s is the
slowest of the recent means. The mixture is *heard* in a round that is played at least an eighth of
the way from s to r; with little trust, the way played must besides be no small one. In the rounds in
which it is heard, both weights are multiplied by their likelihoods. Then trust moves by REGAIN
towards its start. So in those rounds the log loss of u exceeds that of r by at most -log(TRUST), and
-log(1 - REGAIN) a round.

**Lateness.** Outcomes that are learned late repeat one another: whichever expert was wrong about one
was wrong about the next, before either was known. So if the last hundred were learned `lag` rounds
late on average, a likelihood is raised to the power 1 / (1 + lag / LAG), for all weights. The
bounds above are for lag 0.

Logits are taken from a table of logarithms: the blend needs no more than three digits.
"""

from libc.math cimport sqrt
from libc.stdint cimport int64_t, uint64_t
from libc.string cimport memcpy, memset

from calibrant._kernels.events.contexts cimport (
    BY_PERIOD,
    CALENDAR,
    ORDERS,
    STATES,
    past_ask,
    past_free,
    past_learn,
    past_start,
)
from calibrant._kernels.events.hidden cimport hidden_learn, hidden_say, hidden_start
from calibrant._kernels.functions cimport exp, log
from calibrant._kernels.watch.likelihood cimport likelihood
from calibrant._kernels.scores.mixing cimport lag_after
from calibrant._kernels.events.repair cimport repair_learn, repair_say, repair_start
from calibrant._kernels.events.slots cimport (
    Slot,
    slots_count,
    slots_find,
    slots_free,
    slots_reserve,
    slots_start,
    slots_within,
)

cdef enum:
    CELLS = 512                     # of the table of logarithms

cdef double SHARE = 5e-5            # share of the weight that returns to the prior each round
cdef double FIRST_RATE = 0.01       # of the blend
cdef double LAST_RATE = 0.001
cdef double RATE_FALLS = 0.02       # how fast it falls from the first to the last
cdef double FIRST_V = 0.3 / ORDERS  # weight of an expert in the blend at the start
cdef double FARTHEST = 11.5         # the blend's logit at the most
cdef double ASLEEP = -1.0
cdef double TRUST = 0.7             # at the start
cdef double HEARD = 0.125           # part of the way from the slow mean to the repaired estimate
cdef double DOUBT = 0.25            # with less trust, this must not be a small way:
cdef double APART = 0.0025          # its square, in variances of an outcome
cdef double REGAIN = 2e-5           # share of the trust that returns each round
cdef double LAG = 2.0               # outcomes learned this late count half
cdef double LN2 = log(2.0)

RECENT_RATES[:] = [0.2, 0.05, 0.01, 0.003, 0.001]

# Prior weight of each shape in sixteenths, split evenly over its experts. The simple shapes get
# most: where they are right, the many others must not cost much.
cdef double OF_BLEND = 2.0
cdef double OF_RECENT = 5.0
cdef double OF_HIDDEN = 1.0
cdef double OF_SHORT = 3.0          # the last 0 and 1 outcomes
cdef double OF_STATES = 3.0         # more of them, how busy it was, the run
cdef double OF_TIME = 2.0           # periods and the calendar
cdef Py_ssize_t SHORT = 2

# The logarithm of the middle of each cell of [1/2, 1).
cdef double[CELLS] LOGARITHMS
LOGARITHMS[:] = [log(0.5 + (cell + 0.5) / (2 * CELLS)) for cell in range(CELLS)]


cdef inline double quick_log(double p) noexcept nogil:
    """Return log p within 0.001, for p in (0, 1)."""
    # The bits of a double: 11 of the exponent, then 52 of a mantissa between 1/2 and 1.
    cdef uint64_t bits
    memcpy(&bits, &p, sizeof(double))
    return LOGARITHMS[(bits >> 43) & (CELLS - 1)] + (<double>(bits >> 52) - 1022.0) * LN2


cdef double quick_logit(double p) noexcept nogil:
    return quick_log(p) - quick_log(1.0 - p)


cdef int event_start(
    EventState *s, int64_t ahead, Py_ssize_t given, const int64_t *period
) noexcept nogil:
    """Start with these periods besides the built-in ones; -1 when there is no memory."""
    cdef Py_ssize_t i, contexts
    cdef double weight
    memset(s, 0, sizeof(EventState))
    if past_start(&s.past, ahead, given, period) < 0 or slots_start(&s.slots) < 0:
        return -1
    s.trust, s.lag = TRUST, <double>(ahead - 1)
    repair_start(&s.repair)
    hidden_start(&s.hidden[0], 0.95, 0.95, 0.2, 0.8)
    hidden_start(&s.hidden[1], 0.99, 0.9, 0.05, 0.5)
    s.w0[0] = OF_BLEND / 16.0
    for i in range(RECENT):
        s.recent[i] = 0.5
        s.w0[1 + i] = OF_RECENT / 16.0 / RECENT
    for i in range(HIDDEN):
        s.w0[1 + RECENT + i] = OF_HIDDEN / 16.0 / HIDDEN
    contexts = STATES + BY_PERIOD * s.past.periods + CALENDAR
    for i in range(contexts):
        if i < SHORT:
            weight = OF_SHORT / SHORT
        elif i < STATES:
            weight = OF_STATES / (STATES - SHORT)
        else:
            weight = OF_TIME / (contexts - STATES)
        s.w0[ALONE + 2 * i] = s.w0[ALONE + 2 * i + 1] = weight / 32.0
    s.experts = ALONE + 2 * contexts
    for i in range(s.experts):
        s.w[i] = s.w0[i]
        s.v[i] = FIRST_V
    return 0


cdef void event_free(EventState *s) noexcept nogil:
    past_free(&s.past)
    slots_free(&s.slots)


cdef void event_view(const EventState *s, double time, EventView *view) noexcept nogil:
    """Ask every expert about the next round, at a time or NaN."""
    cdef Py_ssize_t i, k = 1
    cdef const Slot *slot
    cdef double total = 0.0, awake = 0.0, m = 0.0, steps
    past_ask(&s.past, time, &view.asked)
    for i in range(RECENT):
        view.p[k] = s.recent[i]
        view.x[k] = quick_logit(view.p[k])
        k += 1
    steps = <double>(view.asked.place - s.past.newest)
    for i in range(HIDDEN):
        view.p[k] = hidden_say(&s.hidden[i], steps)
        view.x[k] = quick_logit(view.p[k])
        k += 1
    for i in range(view.asked.count):
        view.at[i] = slots_find(&s.slots, view.asked.key[i])
        slot = &s.slots.slot[view.at[i]]
        if slot.key:
            view.p[k], view.p[k + 1] = slot.slow, slot.fast
            view.x[k], view.x[k + 1] = quick_logit(slot.slow), quick_logit(slot.fast)
        else:
            view.p[k] = view.p[k + 1] = ASLEEP
            view.x[k] = view.x[k + 1] = 0.0
        k += 2
    view.count = k
    for i in range(1, k):
        total += s.v[i] * view.x[i]
    total = FARTHEST if total > FARTHEST else -FARTHEST if total < -FARTHEST else total
    view.p[0] = 1.0 / (1.0 + exp(-total))
    view.x[0] = 0.0
    for i in range(k):
        if view.p[i] > 0.0:
            awake += s.w[i]
            m += s.w[i] * view.p[i]
    view.m = m / awake
    repair_say(&s.repair, view.m, &view.repaired)
    view.u = s.trust * view.repaired.estimate + (1.0 - s.trust) * view.p[RECENT]


cdef void weigh(EventState *s, const EventView *view, double y, double power) noexcept nogil:
    """Weigh the experts by what they predicted."""
    cdef Py_ssize_t i
    cdef double before = 0.0, after = 0.0, keep
    for i in range(view.count):
        if view.p[i] > 0.0:
            before += s.w[i]
            s.w[i] *= likelihood(view.p[i], y, power)
            after += s.w[i]
    keep = (1.0 - SHARE) * before / after
    for i in range(view.count):
        s.w[i] = s.w[i] * (keep if view.p[i] > 0.0 else 1.0 - SHARE) + SHARE * s.w0[i]
    for i in range(view.count, s.experts):
        s.w[i] = s.w[i] * (1.0 - SHARE) + SHARE * s.w0[i]


cdef int event_reserve(EventState *s, const EventView *view) noexcept nogil:
    """Make room to learn a round; -1 when there is no memory, and nothing has changed."""
    return slots_reserve(&s.slots, view.asked.count)


cdef void judge(
    EventState *s, const EventView *view, double z, double y, double power
) noexcept nogil:
    """Judge the repaired estimate, if it was heard."""
    cdef double estimate = view.repaired.estimate, slow = view.p[RECENT], way = estimate - slow
    cdef double heard, other
    cdef double moved = z - slow
    cdef bint apart = moved * moved >= APART * slow * (1.0 - slow)
    if moved * way >= HEARD * way * way and (s.trust >= DOUBT or apart):
        heard = s.trust * likelihood(estimate, y, power)
        other = (1.0 - s.trust) * likelihood(slow, y, power)
        s.trust = heard / (heard + other)
    s.trust = (1.0 - REGAIN) * s.trust + REGAIN * TRUST


cdef void event_learn(
    EventState *s, const EventView *view, double z, double y, double late
) noexcept nogil:
    """Learn the outcome of a round that predicted z, `late` rounds after it; there must be room."""
    cdef Py_ssize_t i
    cdef double rate, step, power
    s.lag = lag_after(s.lag, late)
    power = 1.0 / (1.0 + s.lag / LAG)
    judge(s, view, z, y, power)
    repair_learn(&s.repair, view.m, &view.repaired, y, power)
    weigh(s, view, y, power)
    rate = FIRST_RATE / sqrt(1.0 + RATE_FALLS * s.learned)
    step = (rate if rate > LAST_RATE else LAST_RATE) * (y - view.p[0])
    for i in range(1, view.count):
        s.v[i] += step * view.x[i]
    for i in range(view.asked.count):
        slots_count(&s.slots, view.at[i], view.asked.key[i], y)
    for i in range(RECENT):
        rate = 1.0 / (s.learned + 2.0)
        rate = rate if rate > RECENT_RATES[i] else RECENT_RATES[i]
        s.recent[i] = slots_within(s.recent[i] + rate * (y - s.recent[i]))
    if view.asked.place > s.past.newest:  # a chain can only be followed forwards
        for i in range(HIDDEN):
            hidden_learn(&s.hidden[i], y, s.learned)
    s.learned += 1
    past_learn(&s.past, view.asked.place, y)
