"""The estimates of a recalibrator's groups: what a group's own outcomes add to the estimate of the
whole.

Groups are the keys of one level of a fleet, and follow its rule (`fleet_rule.pyx`), but without its
curves: a group's own curve is a separate stage. The estimate of the whole comes from
another kernel and is stored with the round; a late outcome is learned from the current predictions of
the group's experts for this estimate.
"""

from cpython.exc cimport PyErr_CheckSignals
from libc.math cimport isnan
from libc.stdint cimport int64_t
from libc.string cimport memcpy

cimport cython

import numpy as np

from calibrant._kernels.fleet.fleet_level cimport Level, key_at
from calibrant._kernels.fleet.fleet_level import KEY
from calibrant._kernels.fleet.fleet_rounds import OPENED
from calibrant._kernels.fleet.fleet_rule cimport (
    MOST_LATE, OFFSETS, SLOPES, SLOPES_AT, ESTIMATE_AT, Key, Pool, Views, key_learn, key_learn_batch,
    key_start, key_view, key_weights,
)
from calibrant._kernels.functions cimport log
from calibrant._kernels.kernel cimport UNINTERRUPTED
from calibrant._kernels.scores.mixing cimport within
from calibrant._kernels.scores.sharp cimport sharp_least

#: Prior weight of the estimate of the whole. More than in a fleet: with few similar groups, there
#: may not be enough outcomes to learn that they are similar.
ESTIMATE = 0.5
cdef double TINIEST = sharp_least(1 << 62)


# What is remembered of an estimate until its outcome comes.
cdef struct Estimate:
    int64_t number                  # how many predictions of groups came before
    int64_t age                     # outcomes learned before
    int64_t slot                    # of its group
    double mean                     # the estimate
    Views views                     # what the experts of the group predicted

#: An estimate that waits for its outcome, as NumPy sees it.
PREDICTED = np.dtype(
    [
        ("number", "<i8"), ("age", "<i8"), ("slot", "<i8"), ("mean", "<f8"),
        ("views", OPENED["views"].base),
    ]
)
assert PREDICTED.itemsize == sizeof(Estimate) and KEY.itemsize == sizeof(Key)


cdef inline double logit(double p) noexcept nogil:
    p = within(p, TINIEST)
    return log(p / (1.0 - p))


@cython.final
@cython.freelist(64)
cdef class EstimateRound:
    """An estimate whose outcome is still to come, to be kept in Python."""

    cdef Estimate estimate

    @property
    def mean(self):
        """What was predicted."""
        return self.estimate.mean


cdef class Copy:
    """Some groups and what all share at some time, to go back to."""

    cdef Pool pool
    cdef Py_ssize_t count
    cdef int64_t rounds, learned
    cdef object slots, keys


cdef class GroupEstimates(Level):
    """What is known of each group, by slot, and what all groups share."""

    cdef int64_t _rounds            # predictions made in groups
    cdef int64_t _learned           # outcomes learned

    @property
    def rounds(self):
        """Predictions made so far, in all groups."""
        return self._rounds

    @property
    def learned(self):
        """Outcomes learned so far, in all groups."""
        return self._learned

    def reserve(self, Py_ssize_t more):
        """Get the memory that so many more groups want, so that `begin_groups` cannot fail."""
        self.grow(self.count + more)

    def begin_groups(self, Py_ssize_t more):
        """Let so many new groups begin, in the next slots."""
        self.add(np.zeros(more, dtype=np.uint64))

    def outcomes_of(self, int64_t slot):
        """Return how many outcomes a group has learned, none if it has not begun."""
        return key_at(self, slot).learned if 0 <= slot < self.count else 0

    # -- the round ------------------------------------------------------------------------------

    cdef double look(self, const Key *key, double m, double s, Views *views) noexcept nogil:
        """Return the group's estimate where the whole says m of the score s."""
        cdef double k = key_view(&self.pool, key, NULL, logit(m), logit(s), views)
        # No further than so many outcomes allow, or than the whole went itself.
        return within(k, min(sharp_least(self._learned), m, 1.0 - m))

    cdef void open(self, Estimate *w, int64_t slot, double m, double s) noexcept nogil:
        cdef Key *key = key_at(self, slot)
        w.number, w.age, w.slot = self._rounds, self._learned, slot
        w.mean = self.look(key, m, s, &w.views)
        key.made += 1
        self._rounds += 1

    cdef void close(self, const Estimate *w, double y, double weight) noexcept nogil:
        cdef double late = <double>(self._rounds - w.number - 1)
        cdef const Views *now = &w.views
        cdef Key *key = key_at(self, w.slot)
        cdef Views again
        if w.age != self._learned:
            key_view(&self.pool, key, NULL, w.views.x, w.views.v, &again)
            now = &again
        key_learn(&self.pool, key, NULL, now, &w.views, w.mean, y, weight, min(late, MOST_LATE))
        self._learned += 1

    def begin(self, int64_t slot, double mean, double score):
        """Open the next round of a group; the whole says `mean` of the score, a probability."""
        cdef EstimateRound r = EstimateRound.__new__(EstimateRound)
        self.open(&r.estimate, slot, mean, score)
        return r

    def finish(self, EstimateRound opened not None, double outcome, double weight=1.0):
        """Learn the outcome of a round, with this weight."""
        self.close(&opened.estimate, outcome, weight)

    def finish_batch(self, list rounds not None, const double[::1] means,
                     const double[::1] outcomes, double dispersed, const double[::1] weights):
        """Learn a batch, of which the whole says `means` after it and so many count for one.

        Returns what the groups predicted of these before they learned.
        """
        predicted = np.empty(len(rounds))
        cdef double[::1] k = predicted
        cdef Py_ssize_t i, n = len(rounds)
        cdef Estimate *w
        cdef Key *key
        cdef Views now
        for i in range(n):
            w = &(<EstimateRound>rounds[i]).estimate
            k[i] = within(
                key_view(&self.pool, key_at(self, w.slot), NULL, logit(means[i]), w.views.v, &now),
                min(sharp_least(self._learned), means[i], 1.0 - means[i]),
            )
        for i in range(n):
            w = &(<EstimateRound>rounds[i]).estimate
            key = key_at(self, w.slot)
            key_view(&self.pool, key, NULL, logit(means[i]), w.views.v, &now)
            key_learn_batch(
                &self.pool, key, NULL, &now, &w.views, w.mean, outcomes[i], weights[i], dispersed, n
            )
            self._learned += 1
        return predicted

    def run(self, const int64_t[::1] slots, const double[::1] means, const double[::1] scores,
            const double[::1] outcomes, double[:, ::1] estimates=None):
        """Play rounds of many groups, each learned after it if its outcome is not NaN.

        Returns the estimates, and how many outcomes each group had learned before. `estimates`, if
        given, has the scores, which no floor has moved, and the smooth estimates of the whole;
        those of the groups take the place of the latter. Bit for bit the steps.
        """
        cdef Py_ssize_t rows = slots.shape[0], start = 0, stop, i
        predicted, known = np.empty(rows), np.empty(rows, dtype=np.int64)
        cdef double[::1] k = predicted
        cdef int64_t[::1] before = known
        cdef bint is_smooth = estimates is not None
        cdef Estimate w
        while start < rows:
            stop = min(start + UNINTERRUPTED, rows)
            with nogil:
                for i in range(start, stop):
                    before[i] = key_at(self, slots[i]).learned
                    if is_smooth:
                        estimates[1, i] = self.smooth(
                            key_at(self, slots[i]), estimates[1, i], estimates[0, i]
                        )
                    self.open(&w, slots[i], means[i], scores[i])
                    k[i] = w.mean
                    if not isnan(outcomes[i]):
                        self.close(&w, outcomes[i], 1.0)
            start = stop
            if start < rows:
                PyErr_CheckSignals()
        return predicted, known

    # -- reading --------------------------------------------------------------------------------

    cdef double smooth(self, const Key *key, double estimate, double score) noexcept nogil:
        """Return the group's estimate for ranking, given that of the whole."""
        cdef Views views
        return key_view(&self.pool, key, NULL, logit(estimate), logit(score), &views)

    def look_many(self, const int64_t[::1] slots, const double[::1] means,
                  const double[::1] scores, bint smooth=False):
        """Return the estimates of groups as things stand now; a slot of -1 is a group never seen.

        Smooth estimates are as fine as those of the whole: no floor moves them. Changes nothing.
        """
        predicted = np.empty(slots.shape[0])
        cdef double[::1] k = predicted
        cdef const Key *key
        cdef Key fresh
        cdef Views views
        cdef Py_ssize_t i
        key_start(&fresh, 0)
        for i in range(slots.shape[0]):
            key = key_at(self, slots[i]) if 0 <= slots[i] < self.count else &fresh
            if smooth:
                k[i] = self.smooth(key, means[i], scores[i])
            else:
                k[i] = self.look(key, means[i], scores[i], &views)
        return predicted

    def weights(self, int64_t slot):
        """Return how much the estimate of the whole and each expert of a group is heard."""
        cdef Key fresh
        cdef const float *w
        cdef int i
        key_start(&fresh, 0)
        w = key_weights(&self.pool, key_at(self, slot) if 0 <= slot < self.count else &fresh)
        experts = [ESTIMATE_AT, *range(OFFSETS), *range(SLOPES_AT, SLOPES_AT + SLOPES)]
        return np.array([w[i] for i in experts], dtype=np.float64)

    # -- going back -----------------------------------------------------------------------------

    def copy_of(self, const int64_t[::1] slots):
        """Return what all share, and the groups of these slots, for `go_back`."""
        cdef Copy copy = Copy.__new__(Copy)
        copy.pool, copy.count = self.pool, self.count
        copy.rounds, copy.learned = self._rounds, self._learned
        copy.slots, copy.keys = slots, np.empty(slots.shape[0], dtype=KEY)
        cdef unsigned char[::1] to = copy.keys.view(np.uint8)
        cdef Py_ssize_t i
        for i in range(slots.shape[0]):
            memcpy(&to[i * sizeof(Key)], key_at(self, slots[i]), sizeof(Key))
        return copy

    def go_back(self, Copy before not None):
        """Return to what `copy_of` saw; groups that came since are gone."""
        cdef const int64_t[::1] slots = before.slots
        cdef const unsigned char[::1] of = before.keys.view(np.uint8)
        cdef Py_ssize_t i
        self.pool = before.pool
        self._rounds, self._learned = before.rounds, before.learned
        for i in range(slots.shape[0]):
            memcpy(key_at(self, slots[i]), &of[i * sizeof(Key)], sizeof(Key))
        self.truncate(before.count)

    # -- saving ---------------------------------------------------------------------------------

    def set_counts(self, int64_t rounds, int64_t learned):
        """Take over how many predictions were made and how many outcomes were learned."""
        self._rounds, self._learned = rounds, learned


def save_estimates(rounds):
    """Return rounds that wait as an array of PREDICTED."""
    found = np.zeros(len(rounds), dtype=PREDICTED)
    cdef unsigned char[::1] to = found.view(np.uint8)
    cdef Py_ssize_t i
    cdef EstimateRound r
    for i, r in enumerate(rounds):
        memcpy(&to[i * sizeof(Estimate)], &r.estimate, sizeof(Estimate))
    return found


def load_estimates(found):
    """Return the rounds that `save_estimates` saved."""
    cdef const unsigned char[::1] of = np.ascontiguousarray(found).view(np.uint8)
    cdef Py_ssize_t i
    cdef EstimateRound r
    rounds = []
    for i in range(len(found)):
        r = EstimateRound.__new__(EstimateRound)
        memcpy(&r.estimate, &of[i * sizeof(Estimate)], sizeof(Estimate))
        rounds.append(r)
    return rounds
