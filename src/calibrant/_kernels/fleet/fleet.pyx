"""One shard of a fleet: from a score to estimates of the whole and of its key, to a grid point."""

cimport cython
from libc.math cimport fabs, isnan
from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memset

import numpy as np

from calibrant._kernels.draws cimport scramble, uniform
from calibrant._kernels.fleet.fleet_level cimport Level, key_at
from calibrant._kernels.fleet.fleet_owned cimport ask_for_place, ask_for_row, own_of
from calibrant._kernels.fleet.fleet_rounds cimport KEY, LEVELS, PARENT, ROOT, FleetRound, Opened
from calibrant._kernels.fleet.fleet_rule cimport (
    MANY, MOST_LATE, ESTIMATE, Key, Own, Pool, key_learn, key_learn_batch, key_start, key_view,
)
from calibrant._kernels.fleet.fleet_state cimport PartState
from calibrant._kernels.fleet.fleet_whole cimport (
    WholeRow, whole_learn, whole_learn_batch, whole_learns, whole_passed, whole_view, whole_estimate,
)
from calibrant._kernels.functions cimport log
from calibrant._kernels.grid cimport grid_find_near
from calibrant._kernels.watch.key_evidence cimport KeyEvidence
from calibrant._kernels.scores.batches cimport SMALLEST_BATCH, dispersion
from calibrant._kernels.scores.safe cimport (
    Place, safe_learn_near, safe_place, safe_place_in, safe_reserve,
)
from calibrant._kernels.scores.scoring cimport MARGIN, place_mean, probability_of
from calibrant._kernels.scores.scoring import KINDS
from calibrant._kernels.scores.mixing cimport lag_after, within
from calibrant._kernels.prefetch cimport prefetch
from calibrant._kernels.rounds.round cimport Round, weight_of
from calibrant._kernels.rounds.round import batches_of
from calibrant._kernels.rounds.rule cimport Rule
from calibrant._kernels.scores.sharp cimport View, sharp_least

cdef enum:
    BLOCK = 16                      # rows whose memory is asked for together
    NEAR = 1024                     # equal stretches of means, each with a guess of its gap


# Prior weight of the estimate itself in the root. What all keys have in common the whole knows
# already, unless it moves fast.
cdef double ROOT_ESTIMATE = 0.98


# What the levels know of a row; NULL for a level that has no key.
cdef struct Found:
    int64_t slot
    int64_t parent
    Key *keys[LEVELS]
    Own *owns[LEVELS]               # NULL for a key that has nothing of its own


# A score as a probability and its logit, computed before the row begins.
cdef struct Ahead:
    double s
    double v


cdef inline double logit(double p) noexcept nogil:
    return log(p / (1.0 - p))


@cython.final
cdef class ShardKernel(PartState):
    """A shard of a fleet, and what a round does with it."""

    cdef uint64_t _key              # the seed, scrambled
    cdef int32_t[NEAR] near         # the gap of the grid that means of a stretch were in before
    cdef View view                  # what the experts of the whole predicted last
    cdef int64_t view_age           # outcomes that the whole had learned before that

    def __cinit__(self, *args, **kwargs):
        self.view_age = -1

    def __init__(self, kind, seed, KeyEvidence watched=None):
        self.watched = watched
        self._kind = KINDS.index(kind)
        self._key = scramble(<uint64_t>seed)
        self.root, self.parents, self.keys = Level(ROOT_ESTIMATE), Level(ESTIMATE), Level(ESTIMATE)
        self.root.add(np.zeros(1, dtype=np.uint64))

    def go_back(self, PartState before not None):
        """Return to the state that `copy` gave, which must not be used again."""
        PartState.go_back(self, before)
        self.view_age = -1

    # -- the round ------------------------------------------------------------------------------

    cdef double size_with(self, double score) noexcept nogil:
        return self.size + (fabs(score) - self.size) / (self.whole.rounds + 1)

    cdef double raw_of(self, double score) noexcept nogil:
        """Return a score of any kind as a probability."""
        cdef double size = self.size_with(score) if self._kind == MARGIN else 0.0
        return probability_of(self._kind, score, size)

    cdef Pool *pool_of(self, int level) noexcept nogil:
        """Return what the keys of a level share."""
        if level == ROOT:
            return &self.root.pool
        return &self.parents.pool if level == PARENT else &self.keys.pool

    cdef Found find(self, int64_t slot, int64_t parent) noexcept nogil:
        """Find the key of each level; NULL for a slot below 0."""
        cdef Found found
        memset(&found, 0, sizeof(Found))
        found.slot, found.parent = slot, parent
        found.keys[ROOT] = key_at(self.root, 0)
        if parent >= 0:
            found.keys[PARENT] = key_at(self.parents, parent)
            found.owns[PARENT] = own_of(self.parents.owned, found.keys[PARENT], parent)
        if slot >= 0:
            found.keys[KEY] = key_at(self.keys, slot)
            found.owns[KEY] = own_of(self.keys.owned, found.keys[KEY], slot)
        return found

    cdef double look(self, const Found *found, Opened *r, double v, double least) noexcept nogil:
        """Return the mixture's mean for a score of logit v."""
        cdef double x = whole_estimate(&self.whole, r.s, v, &self.view)
        if whole_learns(self.whole.rounds):
            self.view_age = self.whole.learned
        return self.pass_on(found, r, x, v, least)

    cdef double pass_on(
        self, const Found *found, Opened *r, double x, double v, double least
    ) noexcept nogil:
        """Pass an estimate from level to level; return what the last one makes of it."""
        cdef double m = 0.5
        cdef int level
        for level in range(LEVELS):
            if found.keys[level] != NULL:
                m = key_view(
                    self.pool_of(level), found.keys[level], found.owns[level], x, v,
                    &r.views[level],
                )
                m = within(m, least)
                if level < KEY:
                    x = logit(m)
        return m

    cdef Py_ssize_t gap_of(self, double m) noexcept nogil:
        """Return the gap of the grid that holds a mean, at once if it is where it was before."""
        cdef int32_t *guess = &self.near[<Py_ssize_t>(m * NEAR)]
        cdef Py_ssize_t gap = grid_find_near(&self.safe, m, guess[0])
        if gap != guess[0] and gap != guess[0] + 1:
            guess[0] = <int32_t>gap
        return gap

    cdef void begin(self, Opened *r, const Found *found, double score, double time,
                    const Ahead *ahead) noexcept nogil:
        """Make the next prediction; a time that is NaN is the number of the prediction."""
        cdef Key *key
        cdef Place place
        cdef int level
        cdef double least = sharp_least(self._learned), v
        r.number = self.whole.rounds
        r.age, r.slot, r.parent = self._learned, found.slot, found.parent
        r.raw = self.raw_of(score)
        r.s = within(r.raw, least)
        r.is_learned = whole_learns(r.number)
        v = ahead.v if ahead != NULL and ahead.s == r.s else logit(r.s)
        r.m = self.look(found, r, v, least)
        if r.is_learned:
            memcpy(r.predicted, self.view.p, sizeof(r.predicted))
        r.gap = self.gap_of(r.m)
        place = safe_place_in(&self.safe, r.m, r.gap)
        r.z, r.expected, r.bet = place.hi, place_mean(place), place.bet
        if place.lo != place.hi:
            key = found.keys[KEY]
            if uniform(scramble(self._key ^ key.hash), key.made) < place.share:
                r.z = place.lo
        if self._kind == MARGIN:
            self.size = self.size_with(score)
        for level in range(PARENT, LEVELS):
            key = found.keys[level]
            if key != NULL:
                key.made += 1
                key.last = r.number if isnan(time) else time
        whole_passed(&self.whole)

    cdef int finish(
        self, const Opened *r, const Found *found, double y, double weight
    ) noexcept nogil:
        """Learn the outcome of a prediction; -1 when there was no memory and nothing changed.

        The grid counts it once, whatever its weight.
        """
        cdef double late = <double>(self.whole.rounds - r.number - 1)
        cdef double capped = late if late < MOST_LATE else MOST_LATE
        cdef double lag = lag_after(self.root.pool.lag, capped)
        cdef const Opened *now = r
        cdef Opened again
        cdef int level
        if safe_learn_near(&self.safe, r.m, r.z, y, r.bet > 0.0, lag, r.gap) < 0:
            return -1
        if r.age != self._learned:
            again.s = r.s
            self.look(found, &again, logit(r.s), sharp_least(self._learned))
            now = &again
        if r.is_learned:
            if self.view_age != self.whole.learned or self.view.s != r.s:
                whole_view(&self.whole, r.s, &self.view)
            self.view_age = -1
            whole_learn(&self.whole, &self.view, r.predicted, r.m, y, weight, late)
        for level in range(LEVELS):
            if found.keys[level] != NULL:
                key_learn(
                    self.pool_of(level), found.keys[level], found.owns[level], &now.views[level],
                    &r.views[level], r.m, y, weight, capped,
                )
        self.promote_both(r, found)
        self._learned += 1
        return 0

    cdef int settle_batch(
        self, Opened **batch, const double *y, const double *weights, Py_ssize_t size
    ) noexcept nogil:
        """Learn outcomes that waited together, in this order; -1 without memory.

        The whole learns them as one (`batches.pyx`). What they have in common is its matter: keys
        learn from the new estimates, moved by the slope and the offset that fit the batch, or both would
        take it up. The grid learns each row where it would be placed by that, before its keys learn.
        """
        cdef WholeRow *rows = <WholeRow *>malloc(size * sizeof(WholeRow))
        cdef double *x = <double *>malloc(size * sizeof(double))
        cdef double[2] line
        cdef double dispersed, least
        cdef int64_t earliest = self.whole.rounds
        cdef Py_ssize_t i, learned = 0
        cdef Opened now
        cdef Found found
        cdef int level
        if rows == NULL or x == NULL:
            free(rows)
            free(x)
            return -1
        for i in range(size):
            earliest = min(earliest, batch[i].number)
            if batch[i].is_learned:
                rows[learned].s, rows[learned].y = batch[i].s, y[i]
                rows[learned].weight, rows[learned].predicted = weights[i], batch[i].predicted
                learned += 1
        line[0], line[1] = 1.0, 0.0
        if learned > 0 and whole_learn_batch(
            &self.whole, rows, learned, earliest, line
        ) < 0.0:
            free(rows)
            free(x)
            return -1
        dispersed = dispersion(&self.whole.batches, <double>size)
        self.view_age = -1
        least = sharp_least(self._learned)
        for i in range(size):
            now.s = batch[i].s
            x[i] = line[0] * whole_estimate(&self.whole, now.s, logit(now.s), &self.view) + line[1]
            found = self.find(batch[i].slot, batch[i].parent)
            self.place_again(
                self.pass_on(&found, &now, x[i], logit(now.s), least), y[i], batch[i].number
            )
        for i in range(size):
            found = self.find(batch[i].slot, batch[i].parent)
            self.pass_on(&found, &now, x[i], logit(batch[i].s), least)
            for level in range(LEVELS):
                if found.keys[level] != NULL:
                    key_learn_batch(
                        self.pool_of(level), found.keys[level], found.owns[level],
                        &now.views[level], &batch[i].views[level], batch[i].m, y[i], weights[i],
                        dispersed, size,
                    )
            self.promote_both(batch[i], &found)
            self._learned += 1
        free(rows)
        free(x)
        return 0

    cdef void place_again(self, double m, double y, int64_t number) noexcept nogil:
        """Let the grid learn an outcome as that of a new round; there is room."""
        cdef Py_ssize_t gap = self.gap_of(m)
        cdef Place place = safe_place_in(&self.safe, m, gap)
        cdef double z = place.hi
        if uniform(scramble(self._key), <uint64_t>number) < place.share:
            z = place.lo
        safe_learn_near(&self.safe, m, z, y, place.bet, 0.0, gap)

    cdef void promote_both(self, const Opened *r, const Found *found) noexcept nogil:
        """Give the key of a row and its parent what they have earned."""
        if found.owns[KEY] == NULL and r.slot >= 0:
            self.promote(self.keys, r.slot)
        if found.owns[PARENT] == NULL and r.parent >= 0:
            self.promote(self.parents, r.parent)

    cdef int settle(self, Opened *r, double y, double weight) noexcept nogil:
        """Learn the outcome of a prediction that has waited."""
        cdef Found found = self.find(r.slot, r.parent)
        if self.finish(r, &found, y, weight) < 0:
            return -1
        if self.watched is not None:
            self.watched.settle(r.number, r.slot, r.raw, r.expected, y, &r.stakes)
        return 0

    cdef void promote(self, Level level, int64_t slot) noexcept nogil:
        """Give a key with many outcomes something of its own; without memory, at its next one."""
        cdef const Key *key = key_at(level, slot)
        if key.learned >= MANY:
            level.owned.add(&level.pool, slot)

    # -- batches --------------------------------------------------------------------------------

    def predict(self, const int64_t[::1] slots, const int64_t[:] parents,
                const double[::1] scores, const double[:] times):
        """Predict scores of keys by slot from the current state, without opening rounds."""
        predictions = np.empty(slots.shape[0])
        cdef double[::1] p = predictions
        cdef Found found
        cdef Py_ssize_t i
        cdef Opened r
        for i in range(slots.shape[0]):
            found = self.find(slots[i], parents[i])
            self.begin(&r, &found, scores[i], times[i], NULL)
            p[i] = r.z
        return predictions

    def reserve(self, Py_ssize_t outcomes):
        """Get the memory that so many outcomes may want, so that learning them cannot fail."""
        if safe_reserve(&self.safe, outcomes) < 0:
            raise MemoryError
        if self.watched is not None:
            self.watched.reserve(2 * outcomes, self.keys.count)  # each is predicted, too

    cdef void look_ahead(
        self, const double[::1] scores, Py_ssize_t first, Ahead *ahead
    ) noexcept nogil:
        """Compute the logits of a block of scores: together, so that no row waits for its own."""
        cdef Py_ssize_t i
        for i in range(first, min(first + BLOCK, scores.shape[0])):
            ahead[i % (2 * BLOCK)].s = self.raw_of(scores[i])
            ahead[i % (2 * BLOCK)].v = logit(ahead[i % (2 * BLOCK)].s)

    cdef void ask_ahead(self, Level level, const int64_t[:] slots, Py_ssize_t first,
                        const Ahead *ahead) noexcept nogil:
        """Have the memory of a level fetched that the rows of a block will need, and later ones.

        For this block what its keys have of their own; for the next one the keys, and the places
        where it is known which rows these are. A core that waits for one address can look for
        others meanwhile, if it is asked for all of them at once.
        """
        cdef Py_ssize_t rows = slots.shape[0], i
        for i in range(min(first + BLOCK, rows), min(first + 2 * BLOCK, rows)):
            if slots[i] >= 0:
                prefetch(key_at(level, slots[i]))
                prefetch(&key_at(level, slots[i]).slope)
                ask_for_place(level.owned, slots[i])
        for i in range(first, min(first + BLOCK, rows)):
            if slots[i] >= 0:
                ask_for_row(level.owned, slots[i], <float>ahead[i % (2 * BLOCK)].v)

    def run(self, const int64_t[::1] slots, const int64_t[:] parents, const double[::1] scores,
            const double[:] times, const double[::1] outcomes):
        """Predict each row, and learn its outcome if it is known: not NaN; return predictions."""
        cdef Py_ssize_t i, rows = slots.shape[0]
        told = np.empty(rows)
        cdef double[::1] predictions = told
        cdef Opened r
        cdef Found found
        cdef Ahead[2 * BLOCK] ahead     # this block and the next
        self.reserve(rows)
        with nogil:
            self.look_ahead(scores, 0, ahead)
            for i in range(rows):
                if i % BLOCK == 0:
                    self.look_ahead(scores, i + BLOCK, ahead)
                    self.ask_ahead(self.keys, slots, i + BLOCK, ahead)
                    self.ask_ahead(self.parents, parents, i + BLOCK, ahead)
                found = self.find(slots[i], parents[i])
                self.begin(&r, &found, scores[i], times[i], &ahead[i % (2 * BLOCK)])
                predictions[i] = r.z
                if not isnan(outcomes[i]):
                    self.finish(&r, &found, outcomes[i], 1.0)
                    if self.watched is not None:
                        self.watched.play(r.number, r.slot, r.raw, r.expected, outcomes[i])
        return told

    def expected(self, const int64_t[::1] slots, const int64_t[:] parents,
                 const double[::1] scores, bint placed):
        """Return the mean of what `predict` would draw for each row, or the estimate before the
        grid.

        A slot of -1 is a key never seen; a parent of -1 is none, of -2 one never seen.
        """
        means = np.empty(slots.shape[0])
        cdef double[::1] m = means
        cdef Key fresh
        cdef Found found
        cdef Opened r
        cdef Py_ssize_t i
        cdef double least = sharp_least(self._learned)
        key_start(&fresh, 0)
        for i in range(slots.shape[0]):
            found = self.find(slots[i], parents[i])
            if parents[i] == -2:
                found.keys[PARENT] = &fresh
            if slots[i] < 0:
                found.keys[KEY] = &fresh
            r.s = within(self.raw_of(scores[i]), least)
            m[i] = self.look(&found, &r, logit(r.s), least)
            if placed:
                m[i] = place_mean(safe_place(&self.safe, m[i]))
        return means


cdef class FleetRows:
    """Rows whose keys, and parents, have slots."""

    cdef const int64_t[::1] slots
    cdef const int64_t[:] parents
    cdef const double[::1] scores
    cdef const double[:] times

    def __init__(self, slots, parents, scores, times):
        self.slots, self.parents, self.scores, self.times = slots, parents, scores, times

    def __len__(self):
        return self.slots.shape[0]


cdef class FleetRule(Rule):
    """The rounds of one shard of a fleet; rows are `FleetRows`. The index knows the keys."""

    cdef readonly ShardKernel kernel
    cdef public object index

    def __init__(self, ShardKernel kernel not None, index):
        self.kernel, self.index = kernel, index
        self.is_watched, self.is_weighted = kernel.watched is not None, True

    @property
    def rounds(self):
        """Rounds begun so far."""
        return self.kernel.whole.rounds

    @property
    def learned(self):
        """Outcomes learned so far."""
        return self.kernel._learned

    cdef int64_t begun(self) except -1:
        return self.kernel.whole.rounds

    cdef Round begin_row(self, object columns, object by, Py_ssize_t i):
        cdef FleetRound r = FleetRound.__new__(FleetRound)
        cdef FleetRows rows = columns
        cdef Found found = self.kernel.find(rows.slots[i], rows.parents[i])
        self.kernel.begin(&r.opened, &found, rows.scores[i], rows.times[i], NULL)
        return r

    cpdef list begin_many(self, rows, by):
        """Predict rows as things stand now."""
        cdef Py_ssize_t i
        return [self.begin_row(rows, by, i) for i in range(len(rows))]

    cpdef object opened(self, list rounds):
        """Let monitors know of rounds that wait from now on."""
        cdef KeyEvidence watched = self.kernel.watched
        cdef FleetRound r
        watched.reserve(len(rounds), self.kernel.keys.count)
        watched.expect_lateness()
        for r in rounds:
            watched.ask(
                r.opened.number, r.opened.slot, r.opened.raw, r.opened.expected, &r.opened.stakes
            )

    cpdef object drop(self, Round r):
        """Let monitors know of a round that was given up."""
        cdef KeyEvidence watched = self.kernel.watched
        cdef Opened *own = &(<FleetRound>r).opened
        if watched is not None:
            watched.reserve(1, self.kernel.keys.count)
            watched.drop(own.number, own.slot, own.raw, own.expected, &own.stakes)

    cpdef object reserve(self, Py_ssize_t outcomes):
        """Get the memory that so many outcomes may want."""
        self.kernel.reserve(outcomes)

    cpdef object learn_one(self, Round r, double outcome):
        """Learn one outcome."""
        cdef ShardKernel kernel = self.kernel
        if kernel.watched is not None:
            kernel.watched.reserve(1, kernel.keys.count)
        if kernel.settle(&(<FleetRound>r).opened, outcome, weight_of(r)) < 0:
            raise MemoryError

    cpdef object learn(self, list rounds, outcomes):
        """Learn outcomes: those of large batches as such, then others one by one, in this order."""
        cdef const double[::1] y = outcomes
        cdef Py_ssize_t i
        cdef list batches = []
        self.kernel.reserve(len(rounds))
        if len(rounds) >= SMALLEST_BATCH:
            batches = [batch for batch in batches_of(rounds) if len(batch) >= SMALLEST_BATCH]
        if not batches:
            for i in range(len(rounds)):
                self.settle(rounds[i], y[i])
            return
        is_single = np.ones(len(rounds), dtype=bool)
        for batch in batches:
            self.learn_batch(rounds, y, batch)
            is_single[batch] = False
        for i in np.flatnonzero(is_single):
            self.settle(rounds[i], y[i])

    cdef int settle(self, FleetRound r, double y) except -1:
        """Learn an outcome for which there is memory."""
        self.kernel.settle(&r.opened, y, weight_of(r))
        return 0

    cdef int learn_batch(
        self, list rounds, const double[::1] outcomes, const Py_ssize_t[::1] order
    ) except -1:
        """Learn the outcomes of a batch, of all rounds, in this order."""
        cdef ShardKernel kernel = self.kernel
        cdef Py_ssize_t size = order.shape[0], i
        cdef Opened **batch = <Opened **>malloc(size * sizeof(Opened *))
        cdef double *y = <double *>malloc(2 * size * sizeof(double))
        cdef Opened *r
        cdef int failed = -1
        if batch != NULL and y != NULL:
            for i in range(size):
                batch[i] = &(<FleetRound>rounds[order[i]]).opened
                y[i], y[size + i] = outcomes[order[i]], weight_of(rounds[order[i]])
            failed = kernel.settle_batch(batch, y, y + size, size)
        if failed == 0 and kernel.watched is not None:
            for i in range(size):
                r = batch[i]
                kernel.watched.settle(r.number, r.slot, r.raw, r.expected, y[i], &r.stakes)
        free(batch)
        free(y)
        if failed < 0:
            raise MemoryError
        return 0

    cpdef object fill_smooth(self, list rounds):
        """Give rounds the estimates for ranking: their means before the grid."""
        cdef FleetRound r
        for r in rounds:
            r.told().smooth = r.opened.m

    cpdef object group_of(self, Round r):
        """Return the key of a round; None if it was forgotten since."""
        cdef int64_t slot = (<FleetRound>r).opened.slot
        return None if slot < 0 else self.index.key(slot)
