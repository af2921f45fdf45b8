"""Pending: the evidence of silence about predictions whose outcomes are not known yet.

An *event* is an outcome that is reported some time after its prediction; the other outcome is
silence until the deadline. Waiting for all deadlines is unbiased, but slow. Learning events when they
arrive and silence at the deadline is fast, but biased: the recent past then seems full of events.

Let F(u) be the share of events that have been reported by the age u, counted from 0 at the prediction
to 1 at the deadline. For a prediction of age u whose event has probability p, an event has been reported
with probability q = p F(u). So of n predictions of one age, the number with a reported event is
binomial, and its likelihood contains information about the present without taking silence as final.

The experts: the waiting mixture's estimate m, and MOVED estimates sigmoid(logit m + c). Each c
maximises the likelihood of the last 4 spans (a span is the mean time to the deadline), a prediction
of age a counting exp(-a / (memory * span)), minus 0.15 c^2. With `came` of n predictions announced,
the slope in c is (1 - p) / (1 - q) (came - n q), and its mean curvature n q (1 - p)^2 / (1 - q):
two Newton steps, each at most 1/2, whenever a slice of 1/30 span is over. Predictions are counted
in cells, by slice, range of scores and span, so memory is bounded and a fit costs the same at any
rate of predictions. m is evaluated again at each fit, so that what the waiting mixture has learned
meanwhile is not learned twice.

F is learned from events at their deadlines (`delays.pyx`).

The weights are learned at the deadlines: multiplied by each estimate's likelihood, to the power
0.3, and moved by SHARE towards their start. F may be wrong, and then everything learned from it is wrong too:
only these weights keep the mixture near the waiting estimate. Among themselves, the
moved estimates are also weighted by their likelihood of the pending outcomes, which shows a change of
the world within a fraction of a span.

All these estimates follow the recent past more closely than the future will. Their mixture
is corrected by what deadlines have shown about such estimates (`correction.pyx`).

This is only measured (`benchmarks/silence.md`). What is proved follows from the weights: at any time, the
log loss at the deadlines is at most that of the waiting estimate, plus what delayed weights may lose.
"""

from libc.math cimport INFINITY, floor, isfinite
from libc.stdlib cimport free, realloc
from libc.string cimport memset

import numpy as np

from calibrant._kernels.functions cimport exp, log, log1p, log2, pow
from calibrant._kernels.scores.correction cimport (
    FEATURES,
    correction_learn,
    correction_start,
    correction_estimate,
)
from calibrant._kernels.scores.delays cimport (
    AGES,
    RANGES,
    delays_count,
    delays_learn,
    delays_share,
    delays_shares,
    range_of,
)
from calibrant._kernels.kernel cimport array_of

cdef double POWER = 0.3           # of a likelihood at the deadline: late outcomes repeat each other
cdef double SHARE = 5e-5          # share of the weight that returns to the start at each deadline
cdef double ENOUGH = 10.0         # events at their deadlines before anything is fitted
cdef double PARTS = 30.0          # slices of a span
cdef double WINDOW = 4.0          # spans that a fit looks back
cdef double RECENT = 0.3          # spans over which the moved estimates are compared
cdef double SPAN_FORGET = 0.01    # rate at which the mean span follows
cdef double LONGEST = 0.5         # step of c
cdef double PRIOR = 0.3            # curvature of what keeps c near 0
cdef double WAITING = 0.1          # first weight of the waiting mixture's estimate
cdef double LEAST = 1e-9
cdef double[MOVED + 1] PRIORS     # where the weights start
PRIORS[:] = [WAITING] + [(1.0 - WAITING) / MOVED] * MOVED
cdef double[MOVED] MEMORIES
MEMORIES[:] = [1.5, 0.5, 0.17, 0.06]


cdef inline double sigmoid(double x) noexcept nogil:
    return 1.0 / (1.0 + exp(-x))


cdef inline double logit(double p) noexcept nogil:
    return log(p) - log1p(-p)


cdef inline double within(double p) noexcept nogil:
    return LEAST if p < LEAST else 1.0 - LEAST if p > 1.0 - LEAST else p


cdef class Awaited:
    """A prediction that waits for its deadline, to be kept and read in Python."""

    @property
    def at(self):
        """When it was made."""
        return self.wait.at

    @property
    def due(self):
        """Its deadline."""
        return self.wait.due

    @property
    def came(self):
        """When its event came; infinite until then."""
        return self.wait.came


cdef class PendingKernel:
    """The delays of events, what is pending, and the estimates that follow from both."""

    def __cinit__(self, *args, **kwargs):
        cdef Py_ssize_t i
        for i in range(SLICES):
            self.slices[i].serial = -1
        for i in range(MOVED + 1):
            self.w[i] = PRIORS[i]
        correction_start(&self.correction)

    def __init__(self, silence):
        self.silence = silence

    def __dealloc__(self):
        cdef Py_ssize_t i
        for i in range(SLICES):
            free(self.slices[i].keys)
            free(self.slices[i].cells)
        free(self.seen)

    # -- a prediction ---------------------------------------------------------------------------

    cdef void estimates(self, double mean, double *predicted) noexcept nogil:
        """Compute what each moved expert says where the waiting mixture says `mean`."""
        cdef double x = logit(within(mean))
        cdef Py_ssize_t i
        for i in range(MOVED):
            predicted[i] = within(sigmoid(x + self.c[i]))

    cdef double moved(self, double p, const double *predicted) noexcept nogil:
        """Return the mean of all estimates of an event: the waiting mixture's p, and the moved."""
        cdef double top = -INFINITY, total = 0.0, estimate = 0.0, weight
        cdef Py_ssize_t i
        for i in range(MOVED):
            top = max(top, self.recent[i])
        for i in range(MOVED):
            weight = self.w[i + 1] * exp(self.recent[i] - top)
            total += weight
            estimate += weight * predicted[i]
        return self.w[0] * p + (1.0 - self.w[0]) * (estimate / total)

    cdef double mixed(self, double probability, double mean) noexcept nogil:
        """Return the estimate of an event, where the waiting mixture says `mean` to a score."""
        cdef double[MOVED] predicted
        cdef double x = logit(within(1.0 - probability if self.silence else probability))
        cdef double m = within(1.0 - mean if self.silence else mean), q
        cdef double trust = self.correction.trust
        self.estimates(m, predicted)
        q = within(self.moved(m, predicted))
        q = trust * q + (1.0 - trust) * correction_estimate(&self.correction, x, m, q)
        return 1.0 - q if self.silence else q

    cdef Cell *cell_of(self, Wait *wait) noexcept nogil:
        """Return the cell of a new prediction, NULL if there is no memory; begin a slice if due."""
        cdef Slice *s = &self.slices[self.serial % SLICES]
        cdef double span = wait.due - wait.at
        cdef double level = floor(8.0 * log2(span / self.reference)) + SPANS // 2
        cdef int key
        cdef Py_ssize_t i, room
        cdef void *grown
        if s.serial < 0 or wait.at >= s.start + self.span / PARTS:
            if s.serial >= 0:
                self.serial += 1
                s = &self.slices[self.serial % SLICES]
            s.serial, s.start, s.count = self.serial, wait.at, 0
            self._stale = True
        key = 0 if level < 0.0 else SPANS - 1 if level > SPANS - 1 else <int>level
        key += SPANS * <int>range_of(wait.x)
        for i in range(s.count):
            if s.keys[i] == key:
                break
        else:
            i = s.count
            if i == s.room:
                room = 2 * s.room + 4
                grown = realloc(s.keys, room * sizeof(int))
                if grown == NULL:
                    return NULL
                s.keys = <int *>grown
                grown = realloc(s.cells, room * sizeof(Cell))
                if grown == NULL:
                    return NULL
                s.cells, s.room = <Cell *>grown, room
            s.count += 1
            s.keys[i] = key
            memset(&s.cells[i], 0, sizeof(Cell))
        wait.serial, wait.cell = s.serial, i
        return &s.cells[i]

    cdef Cell *find(self, const Wait *wait) noexcept nogil:
        """Return the cell of a prediction, NULL if its slice was given up."""
        cdef Slice *s = &self.slices[wait.serial % SLICES]
        return &s.cells[wait.cell] if s.serial == wait.serial else NULL

    # -- a fit ----------------------------------------------------------------------------------

    cdef void range_means(self, double *x, double *n) noexcept nogil:
        """Compute the mean logit of the predictions in each range, and how many there are."""
        cdef Py_ssize_t i, j, k
        memset(x, 0, RANGES * sizeof(double))
        memset(n, 0, RANGES * sizeof(double))
        for i in range(SLICES):
            if self.slices[i].serial < 0:
                continue
            for j in range(self.slices[i].count):
                k = self.slices[i].keys[j] // SPANS
                n[k] += self.slices[i].cells[j].n
                x[k] += self.slices[i].cells[j].x
        for k in range(RANGES):
            if n[k] > 0.0:
                x[k] /= n[k]

    cdef int make_room(self) except -1:
        """Make room for what a fit sees: every cell there is."""
        cdef Py_ssize_t i, many = 0
        cdef void *grown
        for i in range(SLICES):
            many += self.slices[i].count
        if many > self.seen_room:
            many += many // 2
            grown = realloc(self.seen, many * sizeof(Seen))
            if grown == NULL:
                raise MemoryError
            self.seen, self.seen_room = <Seen *>grown, many
        return 0

    cdef Py_ssize_t look(self, double now, const double *base, const double *x) noexcept nogil:
        """Note what both steps of a fit need of each cell; return how many cells there are.

        Also compares what the moved experts predicted of them.
        """
        cdef double[RANGES * (AGES + 1)] F
        cdef double[MOVED] fade
        cdef double age, p, weight, recent = RECENT * self.span
        cdef Slice *s
        cdef Cell *cell
        cdef Seen *seen = self.seen
        cdef Py_ssize_t i, j, k, e
        delays_shares(&self.H[0][0], F)
        for e in range(MOVED):
            self.recent[e] = 0.0
            fade[e] = MEMORIES[e] * self.span
        for i in range(SLICES):
            s = &self.slices[i]
            if s.serial < 0 or now - s.start > WINDOW * self.span:
                continue
            for j in range(s.count):
                cell = &s.cells[j]
                if cell.n <= 0.0:
                    continue
                k = s.keys[j] // SPANS
                age = now - s.start - cell.at / cell.n
                seen.n, seen.came = cell.n, cell.came
                seen.f = delays_share(F, k, age * cell.n / cell.span)
                seen.b = base[k] + cell.x / cell.n - x[k]
                if cell.rated != seen.f:  # seldom so: after the deadline, F stays 1
                    for e in range(MOVED):
                        p = cell.predicted[e] / cell.n
                        if cell.rated < 0.0:
                            cell.log_predicted[e] = log(p)
                        cell.log_silent[e] = log1p(-p * seen.f)
                    cell.rated = seen.f
                weight = exp(-age / recent)
                for e in range(MOVED):
                    seen.weight[e] = exp(-age / fade[e])
                    self.recent[e] += weight * (
                        cell.came * cell.log_predicted[e]
                        + (cell.n - cell.came) * cell.log_silent[e]
                    )
                seen += 1
        return seen - self.seen

    cdef void step(self, Py_ssize_t many) noexcept nogil:
        """Move every c by a Newton step towards what is pending."""
        cdef double[MOVED] slope, bend
        cdef double p, q, r
        cdef Seen *seen
        cdef Py_ssize_t j, e
        # Apart from the sums, which compilers then compute for two experts at a time.
        for j in range(many):
            seen = &self.seen[j]
            for e in range(MOVED):
                seen.p[e] = within(sigmoid(seen.b + self.c[e]))
        for e in range(MOVED):
            slope[e], bend[e] = -PRIOR * self.c[e], PRIOR
        for j in range(many):
            seen = &self.seen[j]
            for e in range(MOVED):
                p = seen.p[e]
                q = p * seen.f
                r = (1.0 - p) / (1.0 - q)
                slope[e] += seen.weight[e] * r * (seen.came - seen.n * q)
                bend[e] += seen.weight[e] * seen.n * q * r * (1.0 - p)
        for e in range(MOVED):
            self.c[e] += min(max(slope[e] / bend[e], -LONGEST), LONGEST)

    # -- from Python ----------------------------------------------------------------------------

    @property
    def is_stale(self):
        """Whether a slice has begun since the last fit, and there are delays to fit with."""
        return self.wants_fit()

    cdef bint wants_fit(self) noexcept nogil:
        """Do what `is_stale` does."""
        return self._stale and delays_count(&self.H[0][0]) >= ENOUGH

    @property
    def offsets(self):
        """How far each expert moves the logit of an event."""
        return array_of(self.c, MOVED)

    @property
    def weights(self):
        """The weight of the waiting mixture's estimate, and of each moved one."""
        return array_of(self.w, MOVED + 1)

    @property
    def factors(self):
        """The factors of the correction: of the logits of score, waiting and moved estimate, of 1."""
        return array_of(self.correction.a, FEATURES)

    @property
    def trust(self):
        """The weight of the moved estimate beside the corrected one."""
        return self.correction.trust

    def mix(self, double probability, double mean):
        """Return the estimate where the waiting mixture says `mean` to a score; changes nothing."""
        return self.mixed(probability, mean)

    def open(self, double probability, double mean, double at, double due):
        """Add a prediction made at time `at`, with its score as a probability; return it.

        Its deadline `due` is later, and no prediction before was made later than `at`.
        """
        cdef Awaited awaited = Awaited.__new__(Awaited)
        self.begin(&awaited.wait, probability, mean, at, due)
        return awaited

    cdef int begin(
        self, Wait *wait, double probability, double mean, double at, double due
    ) except -1:
        """Do what `open` does."""
        cdef Cell *cell
        cdef Py_ssize_t i
        wait.at, wait.due, wait.came = at, due, INFINITY
        wait.x = logit(within(1.0 - probability if self.silence else probability))
        wait.mean = within(1.0 - mean if self.silence else mean)
        self.estimates(wait.mean, wait.predicted)
        wait.moved = within(self.moved(wait.mean, wait.predicted))
        wait.corrected = correction_estimate(&self.correction, wait.x, wait.mean, wait.moved)
        if self.span == 0.0:
            self.span = self.reference = due - at
        cell = self.cell_of(wait)
        if cell == NULL:
            raise MemoryError
        self.span += SPAN_FORGET * (due - at - self.span)
        self.waiting += 1.0
        cell.n += 1.0
        cell.x += wait.x
        cell.at += at - self.slices[wait.serial % SLICES].start
        cell.span += due - at
        for i in range(MOVED):
            cell.predicted[i] += wait.predicted[i]
        cell.rated = -1.0
        return 0

    def scores(self):
        """Return the mean score of what is pending in each range, NaN where there is none."""
        cdef double[RANGES] x, n
        cdef Py_ssize_t k
        self.range_means(x, n)
        return np.array([self.score_of(x[k]) if n[k] > 0.0 else np.nan for k in range(RANGES)])

    cdef double score_of(self, double x) noexcept nogil:
        """Return the score of a logit, which is that of an event."""
        return sigmoid(-x) if self.silence else sigmoid(x)

    def refit(self, double now, const double[::1] means):
        """Fit to what is pending, given what the waiting mixture says to each of `scores()`."""
        cdef double[RANGES] x, n
        self.range_means(x, n)
        self.fit(now, x, n, &means[0])

    cdef int fit(
        self, double now, const double *x, const double *n, const double *means
    ) except -1:
        """Do what `refit` does, given the mean logit in each range and how many there are."""
        cdef double[RANGES] base
        cdef Py_ssize_t k, many
        self.make_room()
        for k in range(RANGES):
            base[k] = 0.0
            if n[k] > 0.0:
                base[k] = logit(within(1.0 - means[k] if self.silence else means[k]))
        with nogil:
            many = self.look(now, base, x)
            self.step(many)
            self.step(many)
        self._stale = False
        return 0

    def come(self, Awaited awaited not None, double now):
        """Note that the event of a prediction has come, before its deadline."""
        self.hear(&awaited.wait, now)

    cdef void hear(self, Wait *wait, double now) noexcept nogil:
        """Do what `come` does."""
        cdef Cell *cell = self.find(wait)
        wait.came = now
        if cell != NULL:
            cell.came += 1.0

    def drop(self, Awaited awaited not None):
        """Forget a prediction whose deadline does not matter any more."""
        self.forget(&awaited.wait)

    cdef void forget(self, const Wait *wait) noexcept nogil:
        """Do what `drop` does."""
        cdef Cell *cell = self.find(wait)
        cdef Py_ssize_t i
        self.waiting -= 1.0
        if cell == NULL:
            return
        cell.n -= 1.0
        if isfinite(wait.came):
            cell.came -= 1.0
        cell.x -= wait.x
        cell.at -= wait.at - self.slices[wait.serial % SLICES].start
        cell.span -= wait.due - wait.at
        for i in range(MOVED):
            cell.predicted[i] -= wait.predicted[i]
        cell.rated = -1.0

    def mature(self, Awaited awaited not None):
        """Learn the outcome of a prediction at its deadline."""
        self.end(&awaited.wait)

    cdef void end(self, const Wait *wait) noexcept nogil:
        """Do what `mature` does."""
        cdef bint event = isfinite(wait.came)
        cdef double total = 0.0, p
        cdef Py_ssize_t i
        if event:
            delays_learn(
                &self.H[0][0], range_of(wait.x), (wait.came - wait.at) / (wait.due - wait.at)
            )
        for i in range(MOVED + 1):
            p = wait.mean if i == 0 else wait.predicted[i - 1]
            self.w[i] *= pow(p if event else 1.0 - p, POWER)
            total += self.w[i]
        for i in range(MOVED + 1):
            self.w[i] = (1.0 - SHARE) * self.w[i] / total + SHARE * PRIORS[i]
        correction_learn(
            &self.correction, wait.x, wait.mean, wait.moved, wait.corrected, event, self.waiting
        )
        self.waiting -= 1.0

    def __sizeof__(self):
        cdef Py_ssize_t i, size = self.seen_room * sizeof(Seen)
        for i in range(SLICES):
            size += self.slices[i].room * (sizeof(int) + sizeof(Cell))
        return object.__sizeof__(self) + size
