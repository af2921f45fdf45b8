"""Pending: what silence says about predictions whose outcomes are not known yet.

An *event* is an outcome that is announced some time after its prediction; the other outcome is
silence until the deadline. Waiting for all deadlines is right, and stale. Learning events when they
come and silence at the deadline is fresh, and wrong: the recent past then looks full of events.

Let F(u) be the share of events that have come by the age u, counted from 0 at the prediction to 1
at the deadline. A prediction of age u whose event has probability p has announced it with
probability q = p F(u). So of n predictions of one age, the number that have announced an event is
binomial, and its likelihood knows about the present without believing the silence too early.

The experts: the waiting mixture's word m, and MOVED words sigmoid(logit m + c). Each c maximises the
likelihood of the last 4 spans (a span is the mean time to the deadline), a prediction of age a
counting exp(-a / (memory * span)), minus 0.15 c^2. With `came` of n predictions announced, the slope
in c is (1 - p) / (1 - q) (came - n q), and its mean curvature n q (1 - p)^2 / (1 - q): two Newton
steps, each at most 1/2, whenever a slice of 1/30 span is over. Predictions are counted in cells, by
slice, range of scores and span, so memory is bounded and a fit costs the same at any rate of
predictions. m is asked anew at each fit: what the waiting mixture has learned meanwhile is not
learned twice.

F is learned from events at their deadlines, forgetting: F = (H(u) + u) / (H(1) + 1) over all
scores, and in a range of scores (H_k(u) + 20 F(u)) / (H_k(1) + 20), with H counting the events that
came by age u.

The weights are learned at the deadlines: multiplied by each word's likelihood, to the power 0.3,
and moved by SHARE towards their start. F may be wrong, and so may everything learned from it: what
keeps the mixture near the waiting word are these weights alone. Among themselves, the moved words
are weighed also by how likely they made what is pending, which tells within a part of a span that
the world has changed.

Measured only (`benchmarks/silence.md`); proved is what the weights give: at any time, a log loss at
the deadlines of at most the waiting word's, plus what delayed weights may lose.
"""

from libc.math cimport INFINITY, exp, fabs, floor, isfinite, log, log1p, log2, pow
from libc.stdint cimport int64_t
from libc.stdlib cimport free, realloc
from libc.string cimport memcpy, memset

import numpy as np

from calibrant._checks import check_integer
from calibrant._kernels.kernel cimport array_of
from calibrant._kernels.saved import check_names, floats, number

AWAITED = AWAITED_SIZE

cdef double POWER = 0.3           # of a likelihood at the deadline: late outcomes repeat each other
cdef double SHARE = 5e-5          # share of the weight that returns to the start at each deadline
cdef double FORGET = 0.002        # share of the delays that each further one replaces
cdef double POOL = 20.0           # events that all ranges together count for in one range
cdef double ENOUGH = 10.0         # events at their deadlines before anything is fitted
cdef double PARTS = 30.0          # slices of a span
cdef double WINDOW = 4.0          # spans that a fit looks back
cdef double RECENT = 0.3          # spans over which the moved words are compared
cdef double SPAN_FORGET = 0.01    # rate at which the mean span follows
cdef double LONGEST = 0.5         # step of c
cdef double PRIOR = 0.3            # curvature of what keeps c near 0
cdef double WAITING = 0.1          # first weight of the waiting mixture's word
cdef double LEAST = 1e-9
cdef int SPANS = 32               # classes of span, an eighth of an octave wide
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


cdef inline Py_ssize_t range_of(double x) noexcept nogil:
    """Return the range of scores that holds the logit x."""
    cdef double k = floor(x) + RANGES // 2
    return 0 if k < 0.0 else RANGES - 1 if k > RANGES - 1 else <Py_ssize_t>k


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
    """The delays of events, what is pending, and the words that follow from both."""

    def __cinit__(self, *args, **kwargs):
        cdef Py_ssize_t i
        for i in range(SLICES):
            self.slices[i].serial = -1
        for i in range(MOVED + 1):
            self.w[i] = PRIORS[i]

    def __init__(self, silence):
        self.silence = silence

    def __dealloc__(self):
        cdef Py_ssize_t i
        for i in range(SLICES):
            free(self.slices[i].keys)
            free(self.slices[i].cells)

    # -- a prediction ---------------------------------------------------------------------------

    cdef void words(self, double mean, double *said) noexcept nogil:
        """Compute what each moved expert says where the waiting mixture says `mean`."""
        cdef double x = logit(within(mean))
        cdef Py_ssize_t i
        for i in range(MOVED):
            said[i] = within(sigmoid(x + self.c[i]))

    cdef double mixed(self, double mean) noexcept nogil:
        """Return the word of all for an outcome 1, where the waiting mixture says `mean`."""
        cdef double[MOVED] said
        cdef double p = 1.0 - mean if self.silence else mean
        cdef double top = -INFINITY, total = 0.0, word = 0.0, weight
        cdef Py_ssize_t i
        self.words(p, said)
        for i in range(MOVED):
            top = max(top, self.recent[i])
        for i in range(MOVED):
            weight = self.w[i + 1] * exp(self.recent[i] - top)
            total += weight
            word += weight * said[i]
        word = self.w[0] * p + (1.0 - self.w[0]) * (word / total)
        return 1.0 - word if self.silence else word

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

    cdef void learn_shares(self, double *F) noexcept nogil:
        """Fill in F of every range, at the AGES + 1 edges of the bins of ages."""
        cdef double[AGES + 1] pooled
        cdef double total = 0.0, so_far
        cdef Py_ssize_t j, k
        pooled[0] = 0.0
        for j in range(AGES):
            for k in range(RANGES):
                total += self.H[k][j]
            pooled[j + 1] = total
        for j in range(AGES + 1):
            pooled[j] = (pooled[j] + <double>j / AGES) / (total + 1.0)
        for k in range(RANGES):
            total = 0.0
            for j in range(AGES):
                total += self.H[k][j]
            so_far = 0.0
            for j in range(AGES + 1):
                F[k * (AGES + 1) + j] = (so_far + POOL * pooled[j]) / (total + POOL)
                if j < AGES:
                    so_far += self.H[k][j]

    cdef double share(self, const double *F, Py_ssize_t k, double u) noexcept nogil:
        """Return F of range k at age u, linear between the edges."""
        cdef double a = min(max(u, 0.0), 1.0) * AGES
        cdef Py_ssize_t j = min(<Py_ssize_t>a, AGES - 1)
        F += k * (AGES + 1) + j
        return F[0] + (a - j) * (F[1] - F[0])

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

    cdef void fit(self, double now, const double *base, const double *x) noexcept nogil:
        """Fit every c to what is pending, and compare what the moved experts said."""
        cdef double[RANGES * (AGES + 1)] F
        cdef double[MOVED] slope, bend
        cdef double age, f, b, p, q, r, weight
        cdef Slice *s
        cdef Cell *cell
        cdef Py_ssize_t i, j, k, e
        cdef int step
        self.learn_shares(F)
        for step in range(2):
            for e in range(MOVED):
                slope[e], bend[e] = -PRIOR * self.c[e], PRIOR
            if step == 0:
                memset(self.recent, 0, sizeof(self.recent))
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
                    f = self.share(F, k, age * cell.n / cell.span)
                    b = base[k] + cell.x / cell.n - x[k]
                    for e in range(MOVED):
                        weight = exp(-age / (MEMORIES[e] * self.span))
                        p = within(sigmoid(b + self.c[e]))
                        q = p * f
                        r = (1.0 - p) / (1.0 - q)
                        slope[e] += weight * r * (cell.came - cell.n * q)
                        bend[e] += weight * cell.n * q * r * (1.0 - p)
                        if step == 0:
                            p = cell.said[e] / cell.n
                            self.recent[e] += exp(-age / (RECENT * self.span)) * (
                                cell.came * log(p) + (cell.n - cell.came) * log1p(-p * f)
                            )
            for e in range(MOVED):
                self.c[e] += min(max(slope[e] / bend[e], -LONGEST), LONGEST)

    # -- from Python ----------------------------------------------------------------------------

    @property
    def is_stale(self):
        """Whether a slice has begun since the last fit, and there are delays to fit with."""
        cdef double total = 0.0
        cdef Py_ssize_t j, k
        if not self._stale:
            return False
        for k in range(RANGES):
            for j in range(AGES):
                total += self.H[k][j]
        return total >= ENOUGH

    @property
    def offsets(self):
        """How far each expert moves the logit of an event."""
        return array_of(self.c, MOVED)

    @property
    def weights(self):
        """The weight of the waiting mixture's word, and of each moved one."""
        return array_of(self.w, MOVED + 1)

    def mix(self, double mean):
        """Return the word of all where the waiting mixture says `mean`; changes nothing."""
        return self.mixed(mean)

    def open(self, double probability, double mean, double at, double due):
        """Count a prediction made at time `at`, with its score as a probability; return it.

        Its deadline `due` is later, and no prediction before was made later than `at`.
        """
        cdef Awaited awaited = Awaited.__new__(Awaited)
        cdef Wait *wait = &awaited.wait
        cdef Cell *cell
        cdef Py_ssize_t i
        wait.at, wait.due, wait.came = at, due, INFINITY
        wait.x = logit(within(1.0 - probability if self.silence else probability))
        wait.mean = within(1.0 - mean if self.silence else mean)
        self.words(wait.mean, wait.said)
        if self.span == 0.0:
            self.span = self.reference = due - at
        cell = self.cell_of(wait)
        if cell == NULL:
            raise MemoryError
        self.span += SPAN_FORGET * (due - at - self.span)
        cell.n += 1.0
        cell.x += wait.x
        cell.at += at - self.slices[wait.serial % SLICES].start
        cell.span += due - at
        for i in range(MOVED):
            cell.said[i] += wait.said[i]
        return awaited

    def scores(self):
        """Return the mean score of what is pending in each range, NaN where there is none."""
        cdef double[RANGES] x, n
        self.range_means(x, n)
        found = np.full(RANGES, np.nan)
        cdef double[::1] to = found
        cdef Py_ssize_t k
        for k in range(RANGES):
            if n[k] > 0.0:
                to[k] = sigmoid(-x[k]) if self.silence else sigmoid(x[k])
        return found

    def refit(self, double now, const double[::1] means):
        """Fit to what is pending, given what the waiting mixture says to each of `scores()`."""
        cdef double[RANGES] x, n, base
        cdef Py_ssize_t k
        self.range_means(x, n)
        for k in range(RANGES):
            base[k] = 0.0
            if n[k] > 0.0:
                base[k] = logit(within(1.0 - means[k] if self.silence else means[k]))
        with nogil:
            self.fit(now, base, x)
        self._stale = False

    def come(self, Awaited awaited not None, double now):
        """Note that the event of a prediction has come, before its deadline."""
        cdef Cell *cell = self.find(&awaited.wait)
        awaited.wait.came = now
        if cell != NULL:
            cell.came += 1.0

    def drop(self, Awaited awaited not None):
        """Forget a prediction whose deadline will not be waited for."""
        cdef Cell *cell = self.find(&awaited.wait)
        cdef Wait *wait = &awaited.wait
        cdef Py_ssize_t i
        if cell == NULL:
            return
        cell.n -= 1.0
        if isfinite(wait.came):
            cell.came -= 1.0
        cell.x -= wait.x
        cell.at -= wait.at - self.slices[wait.serial % SLICES].start
        cell.span -= wait.due - wait.at
        for i in range(MOVED):
            cell.said[i] -= wait.said[i]

    def mature(self, Awaited awaited not None):
        """Learn, at its deadline, what became of a prediction."""
        cdef Wait *wait = &awaited.wait
        cdef bint event = isfinite(wait.came)
        cdef double total = 0.0, p
        cdef Py_ssize_t i, j, k
        if event:
            for k in range(RANGES):
                for j in range(AGES):
                    self.H[k][j] *= 1.0 - FORGET
            j = <Py_ssize_t>((wait.came - wait.at) / (wait.due - wait.at) * AGES)
            self.H[range_of(wait.x)][min(max(j, 0), AGES - 1)] += 1.0
        for i in range(MOVED + 1):
            p = wait.mean if i == 0 else wait.said[i - 1]
            self.w[i] *= pow(p if event else 1.0 - p, POWER)
            total += self.w[i]
        for i in range(MOVED + 1):
            self.w[i] = (1.0 - SHARE) * self.w[i] / total + SHARE * PRIORS[i]

    # -- saving ---------------------------------------------------------------------------------

    def __sizeof__(self):
        cdef Py_ssize_t i, size = 0
        for i in range(SLICES):
            size += self.slices[i].room * (sizeof(int) + sizeof(Cell))
        return object.__sizeof__(self) + size

    def _get_state(self):
        """Return everything the past left behind, as arrays and numbers by name."""
        cdef int64_t serial
        cdef Slice *s
        cdef Py_ssize_t j
        starts, counts, keys, cells = [], [], [], []
        for serial in range(max(0, self.serial - SLICES + 1), self.serial + 1):
            s = &self.slices[serial % SLICES]
            if s.serial == serial:
                starts.append(s.start)
                counts.append(s.count)
                keys += [s.keys[j] for j in range(s.count)]
                cells += [array_of(<double *>&s.cells[j], CELL_SIZE) for j in range(s.count)]
        return {
            "weights": self.weights,
            "offsets": self.offsets,
            "recent": array_of(self.recent, MOVED),
            "ages": array_of(&self.H[0][0], RANGES * AGES),
            "span": self.span,
            "reference": self.reference,
            "slices": self.serial,
            "stale": int(self._stale),
            "starts": np.array(starts, dtype=np.float64),
            "counts": np.array(counts, dtype=np.int64),
            "keys": np.array(keys, dtype=np.int64),
            "cells": np.concatenate([*cells, np.empty(0)]),
        }

    def _set_state(self, state):
        """Give a fresh kernel a state of `_get_state`, or raise ValueError and change nothing."""
        check_names(state, set(self._get_state()))
        cdef const double[::1] w = floats(state, "weights", size=MOVED + 1, low=0.0)
        cdef const double[::1] c = floats(state, "offsets", size=MOVED)
        cdef const double[::1] recent = floats(state, "recent", size=MOVED)
        cdef const double[::1] ages = floats(state, "ages", size=RANGES * AGES, low=0.0)
        cdef double span = number(state, "span", low=0.0, high=1.7976931348623157e308)
        cdef double reference = number(state, "reference", low=0.0, high=1.7976931348623157e308)
        cdef int64_t serial = check_integer("saved slices", state["slices"], 0)
        cdef bint stale = check_integer("saved stale", state["stale"], 0, 1)
        cdef const double[::1] starts = floats(state, "starts")
        counts, keys = whole_numbers(state, "counts", 1 << 20), whole_numbers(state, "keys", RANGES * SPANS - 1)
        cdef const double[::1] cells = floats(state, "cells", size=CELL_SIZE * len(keys))
        cdef Py_ssize_t i, j, at = 0, many = starts.shape[0]
        cdef Slice *s
        if not (np.asarray(w) > 0.0).all() or abs(np.asarray(w).sum() - 1.0) > 1e-6:
            raise ValueError("saved weights must be positive and sum to 1")
        if many != len(counts) or many > min(SLICES, serial + 1) or counts.sum() != len(keys):
            raise ValueError("saved slices must be as many as their starts and their cells")
        if (np.diff(starts) <= 0.0).any() or (many and not (span > 0.0 and reference > 0.0)):
            raise ValueError("saved starts must increase, and their spans be positive")
        if not sane_cells(np.asarray(cells).reshape(-1, CELL_SIZE)):
            raise ValueError("saved cells make no sense")
        for i in range(many):
            s = &self.slices[(serial - many + 1 + i) % SLICES]
            s.keys = <int *>realloc(s.keys, (counts[i] + 1) * sizeof(int))
            s.cells = <Cell *>realloc(s.cells, (counts[i] + 1) * sizeof(Cell))
            if s.keys == NULL or s.cells == NULL:
                raise MemoryError
            s.serial, s.start, s.count, s.room = serial - many + 1 + i, starts[i], counts[i], counts[i] + 1
            for j in range(s.count):
                s.keys[j] = keys[at]
                memcpy(&s.cells[j], &cells[at * CELL_SIZE], sizeof(Cell))
                at += 1
        memcpy(self.w, &w[0], sizeof(self.w))
        memcpy(self.c, &c[0], sizeof(self.c))
        memcpy(self.recent, &recent[0], sizeof(self.recent))
        memcpy(&self.H[0][0], &ages[0], sizeof(self.H))
        self.span, self.reference, self.serial, self._stale = span, reference, serial, stale


def sane_cells(cells):
    """Whether saved cells are such as predictions leave behind."""
    n, came, _, at, span = cells.T[:5]
    said = cells[:, 5:]
    empty = n == 0.0
    full = (came >= 0.0) & (came <= n) & (at >= -1e-6 * span) & (span > 0.0)
    full &= ((said > 0.0) & (said < n[:, None])).all(axis=1)
    return bool((empty | (n > 0.0) & full).all())


def whole_numbers(state, name, most):
    """Return a saved array of integers in [0, most]."""
    values = state[name]
    if not isinstance(values, np.ndarray) or values.dtype != np.int64 or values.ndim != 1:
        raise ValueError(f"saved {name} must be an array of int64")
    if ((values < 0) | (values > most)).any():
        raise ValueError(f"saved {name} must be in [0, {most}]")
    return values


def save_awaited(awaited):
    """Return what is known of predictions: AWAITED doubles of each, and its slice and cell."""
    places = np.empty((len(awaited), AWAITED_SIZE))
    cells = np.empty((len(awaited), 2), dtype=np.int64)
    cdef double[:, ::1] to = places
    cdef int64_t[:, ::1] at = cells
    cdef Py_ssize_t i
    cdef Awaited each
    for i, each in enumerate(awaited):
        memcpy(&to[i, 0], &each.wait, AWAITED_SIZE * sizeof(double))
        at[i, 0], at[i, 1] = each.wait.serial, each.wait.cell
    return places.reshape(-1), cells.reshape(-1)


def load_awaited(PendingKernel kernel not None, places, cells):
    """Return the predictions that `save_awaited` saved, or raise ValueError."""
    cdef const double[:, ::1] of = places.reshape(-1, AWAITED_SIZE)
    cdef const int64_t[:, ::1] at = cells.reshape(-1, 2)
    cdef Py_ssize_t i
    cdef Awaited each
    cdef Slice *s
    awaited = []
    for i in range(of.shape[0]):
        each = Awaited.__new__(Awaited)
        memcpy(&each.wait, &of[i, 0], AWAITED_SIZE * sizeof(double))
        each.wait.serial, each.wait.cell = at[i, 0], at[i, 1]
        if not sane_wait(&each.wait) or not 0 <= each.wait.serial <= kernel.serial:
            raise ValueError("a saved prediction that waits for its deadline makes no sense")
        s = &kernel.slices[each.wait.serial % SLICES]
        if s.serial == each.wait.serial and not 0 <= each.wait.cell < s.count:
            raise ValueError("a saved prediction that waits for its deadline is in no cell")
        awaited.append(each)
    return awaited


cdef bint sane_wait(const Wait *wait) noexcept nogil:
    cdef Py_ssize_t i
    if not (isfinite(wait.at) and isfinite(wait.due) and wait.at < wait.due):
        return False
    if not (wait.came >= wait.at) or not isfinite(wait.x) or not 0.0 < wait.mean < 1.0:
        return False
    for i in range(MOVED):
        if not 0.0 < wait.said[i] < 1.0:
            return False
    return True
