"""The rounds of a recalibrator for Python: one by one, in batches, and in a compiled loop."""

from cpython.exc cimport PyErr_CheckSignals
from libc.math cimport isnan
from libc.stdint cimport int64_t, uint64_t
from libc.string cimport memcpy

import numpy as np

from calibrant._checks import check_integer, check_same_length
from calibrant._kernels.draws cimport scramble, uniform
from calibrant._kernels.grid cimport Grid, grid_bytes, grid_copy, grid_free
from calibrant._kernels.kernel cimport UNINTERRUPTED, array_of, as_outcome
from calibrant._kernels.kernel import own_copy
from calibrant._kernels.scores.batches cimport (
    SMALLEST_BATCH, BatchState, Misses, Rows, SurpriseState, batch_learn, batch_level, batch_means,
    misses_add, misses_start, rows_free, rows_set, rows_start,
)
from calibrant._kernels.rounds.round cimport Round, weight_of
from calibrant._kernels.rounds.round import batches_of
from calibrant._kernels.scores.batches import (
    BATCH_PARTS, SURPRISE_PARTS, check_batches, check_surprises,
)
from calibrant._kernels.scores.levels cimport (
    REGRESSIONS, TERMS, LevelState, levels_add, levels_change, levels_known, levels_learn,
    levels_odds, levels_return, levels_say, levels_weigh,
)
from calibrant._kernels.scores.levels import LEVEL_PARTS, check_levels
from calibrant._kernels.scores.mixing cimport (
    LAG, Evidence, evidence_add, evidence_start, slowness, within,
)
from calibrant._kernels.scores.queries cimport QueryKernel
from calibrant._kernels.scores.recent import RECENT_PARTS, check_recent
from calibrant._kernels.scores.recent cimport (
    RECENTS, RecentState, recent_count, recent_step, recent_weigh,
)
from calibrant._kernels.scores.score_rounds cimport Begun, ScoreRound, new_round
from calibrant._kernels.scores.score_rounds import ROUND, check_rounds
from calibrant._kernels.scores.safe cimport (
    Place, safe_learn, safe_load, safe_place, safe_reserve, safe_save,
)
from calibrant._kernels.scores.safe import SAFE_PARTS, check_has_purse
from calibrant._kernels.saved import check_names, floats, number
from calibrant._kernels.scores.scoring cimport MARGIN
from calibrant._kernels.scores.scoring import KINDS as KINDS
from calibrant._kernels.scores.sharp import SHARP_PARTS, check_sharp
from calibrant._kernels.scores.sharp cimport (
    EXPERTS, SharpState, sharp_count, sharp_delay, sharp_least, sharp_step, sharp_weigh,
)


NONE_WAITS = (
    "update() without an id answers the last predict() without one, and none is pending"
)


def outcome_of(outcome):
    """Return one outcome as a float in [0, 1], or raise ValueError."""
    return as_outcome(outcome)


def as_known(outcomes):
    """Return outcomes in [0, 1], NaN or None where one is not known, as numbers of its own.

    A copy, so that another thread cannot change what was checked.
    """
    if isinstance(outcomes, list | tuple) or getattr(outcomes, "dtype", None) == object:
        outcomes = [np.nan if each is None else each for each in outcomes]
    known = own_copy(outcomes, "outcomes")
    cdef const double[::1] y = known
    cdef Py_ssize_t i
    for i in range(y.shape[0]):
        if y[i] < 0.0 or y[i] > 1.0:
            raise ValueError(f"outcomes must be in [0, 1], got {y[i]!r} at position {i}")
    return known


cdef dict doubles_of(void *state, dict parts):
    """Return the parts of a struct of doubles, whose sizes these are, in its order."""
    cdef dict named = {}
    cdef double *part = <double *>state
    for name, count in parts.items():
        named[name] = array_of(part, count)
        part += <Py_ssize_t>count
    return named


cdef class Copy:
    """The state of a kernel at some time, to go back to."""

    cdef SharpState sharp
    cdef RecentState recent
    cdef Grid safe
    cdef BatchState batches
    cdef SurpriseState surprises
    cdef LevelState levels
    cdef double size
    cdef int64_t rounds, learned, opened_as
    cdef bint open
    cdef Begun current

    def __dealloc__(self):
        grid_free(&self.safe)


cdef class RecalibrateKernel(QueryKernel):
    """The mixture and the grid of one Recalibrator."""

    cdef object followed_by         # what learns after it what was deferred, or None

    @property
    def rounds(self):
        """Predictions made so far."""
        return self._rounds

    @property
    def learned(self):
        """Outcomes learned so far."""
        return self._learned + self.deferred

    @property
    def seed(self):
        """The seed of the draws, as given."""
        return self._seed

    @property
    def is_open(self):
        """Whether the last prediction without an id still waits for its outcome."""
        return self._open

    def _begin(self, score, bint placed=True):
        """Predict for a caller that keeps the round; off the grid, the mixture's mean."""
        self.enter()
        cdef double value = self.as_score(score)
        return self.begun_round(value, placed)

    cdef ScoreRound begun_round(self, double score, bint placed):
        """Predict a score that was checked; return the round."""
        cdef ScoreRound r = new_round(self._rounds)
        self.begin_at(score, placed, &r.begun)
        return r

    cdef void begin_at(self, double score, bint placed, Begun *r) noexcept nogil:
        """Make the next prediction, on the grid or off it."""
        if placed:
            self.begin(score, r)
        else:
            self.begin_mean(score, r)

    def _finish(self, ScoreRound opened not None, outcome, bint placed=True):
        """Learn the outcome of a round of `_begin`."""
        self.finish_one(opened, as_outcome(outcome), placed)

    cdef int finish_one(self, ScoreRound opened, double y, bint placed) except -1:
        if opened.is_shared:
            return self.defer(
                [opened], np.array([y]), None if placed else np.zeros(1, dtype=np.uint8)
            )
        self.enter()
        return self.learn_single(opened, y, placed)

    cdef int learn_single(self, ScoreRound opened, double y, bint placed) except -1:
        cdef double late = self.lateness(opened.number)
        if not placed:
            self.finish_mean(&opened.begun, y, weight_of(opened), late)
        elif self.finish(&opened.begun, y, weight_of(opened), late) < 0:
            raise MemoryError
        return 0

    def _begin_many(self, scores, placed=None):
        """Predict many scores as things stand now, for a caller that keeps the rounds.

        Only rounds marked in `placed`, a byte each, go to the grid. Returns the predictions and
        the rounds, which are one batch.
        """
        self.enter()
        scores = self.as_scores(scores)
        predictions, rounds = np.empty(len(scores)), [None] * len(scores)
        cdef const double[::1] x = np.ascontiguousarray(scores, dtype=np.float64)
        cdef const unsigned char[::1] on_grid = self.mask_of(placed, len(scores))
        cdef double[::1] p = predictions
        cdef Py_ssize_t i
        cdef ScoreRound r
        for i in range(x.shape[0]):
            r = rounds[i] = self.begun_round(x[i], on_grid[i])
            p[i] = r.begun.z
        return predictions, rounds

    def _reserve(self, Py_ssize_t outcomes):
        """Get the memory that so many outcomes may want, so that learning them cannot fail."""
        if safe_reserve(&self.safe, outcomes) < 0:
            raise MemoryError

    def _finish_many(self, list rounds not None, const double[::1] outcomes, placed=None):
        """Learn outcomes in [0, 1] that came together, of rounds of `_begin` or `_begin_many`.

        One alone is what `_finish` learns.
        """
        cdef ScoreRound r
        for r in rounds:
            if r.is_shared:
                self.defer(rounds, outcomes, placed)
                return
        self.enter()
        self._reserve(len(rounds))
        self.learn_call(rounds, outcomes, placed)

    cdef int learn_call(self, list rounds, const double[::1] outcomes, placed) except -1:
        """Learn outcomes that came together, of rounds that did not wait together."""
        cdef const unsigned char[::1] on_grid = placed  # None for all of them
        cdef bint is_placed
        cdef Py_ssize_t i, size = len(rounds)
        cdef double late = 0.0, weight
        cdef Evidence evidence, recalled
        cdef ScoreRound r
        if size == 1:
            self.learn_single(rounds[0], outcomes[0], on_grid is None or on_grid[0])
        if size <= 1:
            return 0
        for r in rounds:
            late += self.lateness(r.number)  # integers, whose sum is exact in any order
        evidence_start(&evidence, EXPERTS)
        evidence_start(&recalled, 1 + RECENTS)
        sharp_delay(&self.sharp, late / <double>size, size)
        for i in range(size):
            r = rounds[i]
            weight = weight_of(r)
            sharp_count(&evidence, r.begun.predicted, r.begun.recalled[0], outcomes[i], weight)
            recent_count(&recalled, r.begun.recalled, r.begun.moved, outcomes[i], weight)
            is_placed = on_grid is None or on_grid[i]
            if is_placed and safe_learn(
                &self.safe, r.begun.m, r.begun.z, outcomes[i], r.begun.bet > 0.0, self.sharp.lag
            ) < 0:
                raise MemoryError
            self.waiting_mean(r.begun.s, r.begun.past)
            sharp_step(&self.sharp, &self.view, outcomes[i], weight)
            recent_step(&self.recent, &self.recall, outcomes[i], weight)
            self._learned += 1
        for i in range(size):
            r = rounds[i]
            self.weigh_levels(&r.begun, outcomes[i], weight_of(r), self.sharp.lag)
        sharp_weigh(&self.sharp, &evidence)
        recent_weigh(&self.recent, &recalled, 1.0 / slowness(self.sharp.lag, LAG))
        self.view_age = -1
        return 0

    # -- batches --------------------------------------------------------------------------------

    cdef int defer(self, list rounds, outcomes, placed) except -1:
        """Keep outcomes of rounds that were pending together until the state is read.

        More of them may arrive until then: how rows are split into calls makes no difference.
        """
        self._reserve(self.deferred + len(rounds))
        self.calls.append((rounds, outcomes, placed))
        self.deferred += len(rounds)
        return 0

    cdef int catch_up(self) except -1:
        """Learn what was deferred: large batches as such, and all else as it came."""
        cdef list calls = self.calls, rounds = [], batches = []
        cdef Py_ssize_t i, start = 0
        if self.deferred >= SMALLEST_BATCH:
            for call in calls:
                rounds += call[0]
            batches = [batch for batch in batches_of(rounds) if len(batch) >= SMALLEST_BATCH]
        self.calls, self.deferred = [], 0
        if not batches:
            for call in calls:
                self.learn_call(call[0], call[1], call[2])
        else:
            outcomes = np.concatenate([call[1] for call in calls])
            placed = np.concatenate([self.mask_of(call[2], len(call[0])) for call in calls])
            is_small = np.ones(len(rounds), dtype=bool)
            for batch in batches:
                is_small[batch] = False
            for call in calls:
                stop = start + len(call[0])
                small = start + np.flatnonzero(is_small[start:stop])
                start = stop
                if len(small):
                    self.learn_call([rounds[i] for i in small], outcomes[small], placed[small])
            for batch in batches:
                self.learn_batch(rounds, outcomes, placed, batch)
        if self.followed_by is not None and self.followed_by.deferred:
            self.followed_by.catch_up()
        return 0

    def _follow(self, groups):
        """Let groups catch up whenever outcomes that they deferred have been learned here."""
        self.followed_by = groups

    def _finish_batch(self, list rounds not None, outcomes, scores=None, placed=None):
        """Learn a batch of rounds now, as if these had been the scores.

        A stage whose scores are another's means learns from what that one says after the batch, or
        both would take up what the batch had in common.
        """
        cdef Py_ssize_t i
        self.enter()
        self._reserve(len(rounds))
        if scores is not None:
            for i in range(len(rounds)):
                (<ScoreRound>rounds[i]).begun.s = self.above_floor(scores[i])
        order, = batches_of(rounds)
        placed = self.mask_of(placed, len(rounds))
        if len(rounds) < SMALLEST_BATCH:
            self.learn_call([rounds[i] for i in order], outcomes[order], placed[order])
        else:
            self.learn_batch(rounds, outcomes, placed, order, scores is not None)

    def _catch_up(self):
        """Learn what was deferred."""
        self.enter()

    cdef int learn_batch(
        self, list rounds, const double[::1] outcomes, const unsigned char[::1] on_grid,
        const Py_ssize_t[::1] order, bint is_revised=False,
    ) except -1:
        """Learn the outcomes of a batch, as `batches.pyx` says; of all rounds, in this order.

        Where the scores are revised, a change was for the stage before to notice.
        """
        cdef double[REGRESSIONS] odds, levelled
        cdef double[1 + REGRESSIONS] before = self.levels.w
        cdef double[TERMS] terms
        cdef double q, y, weight
        cdef Py_ssize_t n = order.shape[0], i, known
        cdef int64_t earliest = self._rounds
        cdef Evidence recalled, regressed
        cdef Misses misses
        cdef const double *means
        cdef uint64_t key = scramble(self._key)
        cdef ScoreRound r
        cdef Place place
        cdef Rows rows
        if rows_start(&rows, n) < 0:
            raise MemoryError
        rows.least = sharp_least(self._learned)
        evidence_start(&recalled, 1 + RECENTS)
        evidence_start(&regressed, REGRESSIONS)
        for i in range(n):
            earliest = min(earliest, (<Round>rounds[order[i]]).number)
        misses_start(&misses, earliest, self._rounds)
        known = levels_known(&self.levels, earliest, terms)
        levels_odds(&self.levels, terms, odds)
        for i in range(n):
            r, y = rounds[order[i]], outcomes[order[i]]
            weight = weight_of(r)
            misses_add(&misses, r.begun.predicted, r.begun.recalled[0], y, weight)
            recent_count(&recalled, r.begun.recalled, r.begun.moved, y, weight)
            if known:
                levels_say(odds, r.begun.predicted[1], rows.least, levelled)
                evidence_add(&regressed, levelled, y, weight, 0.0)
            rows_set(&rows, i, r.begun.s, y, weight)
        batch_learn(
            &self.sharp, &self.batches, &self.surprises, &rows, &misses, self._learned, is_revised
        )
        self._learned += n
        if known:
            levels_weigh(&self.levels, &regressed, misses.likelihood, 1.0 / misses.dispersed)
            levels_learn(&self.levels, terms, batch_level(&self.sharp))
        levels_add(&self.levels, batch_level(&self.sharp), self._rounds)
        if known and misses.change > 0.0:
            evidence_start(&regressed, REGRESSIONS)
            for i in range(n):
                q = within(1.0 / (1.0 + rows.base[i]), rows.least)  # as all so far say it now
                levels_say(self.levels.odds, q, rows.least, levelled)
                evidence_add(&regressed, levelled, rows.y[i], rows.w[i], 0.0)
            levels_change(
                &self.levels, before, &regressed, misses.fitted, misses.fit_power, misses.change,
                misses.lasts,
            )
        levels_return(&self.levels, misses.keep)
        recent_weigh(&self.recent, &recalled, 1.0 / misses.dispersed)
        means = batch_means(&self.sharp, &rows)
        for i in range(n):
            r = rounds[order[i]]
            r.after, r.dispersed = means[i], misses.dispersed
            if on_grid[order[i]]:
                place = safe_place(&self.safe, means[i])
                q = place.lo if uniform(key, <uint64_t>r.number) < place.share else place.hi
                if safe_learn(&self.safe, means[i], q, rows.y[i], place.bet, 0.0) < 0:
                    rows_free(&rows)
                    raise MemoryError
        rows_free(&rows)
        self.view_age = -1
        return 0

    cdef object mask_of(self, placed, Py_ssize_t size):
        return np.ones(size, dtype=np.uint8) if placed is None else placed

    def run(self, scores, outcomes):
        """Predict each score and then learn its outcome, if it is known; return the predictions.

        Bit for bit what `predict` and `update` without ids give, in one compiled loop. All or
        nothing: interrupted with Ctrl-C, it is as if `run` had not been called.
        """
        return self._run_means(scores, outcomes)[0]

    def _run_means(
        self, scores, outcomes, placed=None, double[:, ::1] estimates=None,
        double[:, ::1] watched=None
    ):
        """Play rounds of which only those marked in `placed`, a byte each, go to the grid.

        Returns the predictions, the mixture's means, and the scores as probabilities. `estimates`,
        if given, has two rows: the scores as probabilities that no floor has moved, which an inner
        kernel is told and others fill in, and the smooth estimates. `watched` takes in its two rows
        what a monitor compares: the raw score and the expected prediction. Bit for bit what the
        steps give; an outcome that is NaN is not known.
        """
        self.enter()
        # Each outcome and score stands here until the prediction and the probability of its round
        # take its place.
        probabilities, predictions = self.as_scores(scores), as_known(outcomes)
        cdef Py_ssize_t rounds = len(probabilities), start = 0, stop, t
        check_same_length("scores", rounds, "outcomes", len(predictions))
        means = np.empty(rounds)
        cdef double[::1] p = predictions, m = means, s = probabilities
        cdef double score, y
        cdef const unsigned char[::1] on_grid = self.mask_of(placed, rounds)
        cdef int failed = 0
        cdef bint is_smooth = estimates is not None, is_watched = watched is not None
        before = self._copy() if rounds > UNINTERRUPTED else None
        if rounds:
            self._open = False
        self._running = True
        try:
            while start < rounds:
                stop = min(start + UNINTERRUPTED, rounds)
                with nogil:
                    for t in range(start, stop):
                        score, y = s[t], p[t]
                        self.begin_at(score, on_grid[t], &self.current)
                        if is_smooth and not self._inner:
                            estimates[0, t] = self.current.raw
                        if is_smooth:
                            estimates[1, t] = self.smooth(estimates[0, t])
                        if is_watched:
                            watched[0, t], watched[1, t] = self.current.raw, self.current.e
                        if not isnan(y) and on_grid[t]:
                            failed = self.finish(&self.current, y, 1.0, 0.0)
                            if failed < 0:
                                break
                        elif not isnan(y):
                            self.finish_mean(&self.current, y, 1.0, 0.0)
                        p[t], m[t], s[t] = self.current.z, self.current.m, self.current.s
                if failed < 0:
                    raise MemoryError(f"no memory left in round {self._rounds}")
                start = stop
                if start < rounds:
                    PyErr_CheckSignals()
        except BaseException:
            if before is not None:
                self._go_back(before)
            raise
        finally:
            self._running = False
        return predictions, means, probabilities

    # -- going back -----------------------------------------------------------------------------

    def _copy(self):
        """Return the state, for `_go_back`."""
        self.enter()
        cdef Copy copy = Copy.__new__(Copy)
        if grid_copy(&copy.safe, &self.safe) < 0:
            raise MemoryError
        copy.sharp, copy.recent, copy.size = self.sharp, self.recent, self.size
        copy.batches, copy.levels = self.batches, self.levels
        copy.surprises = self.surprises
        copy.current, copy.opened_as = self.current, self.opened_as
        copy.rounds, copy.learned, copy.open = self._rounds, self._learned, self._open
        return copy

    def _go_back(self, Copy before not None):
        """Return to the state that `_copy` gave, which must not be used again."""
        self.safe, before.safe = before.safe, self.safe
        self.sharp, self.recent, self.size = before.sharp, before.recent, before.size
        self.batches, self.levels = before.batches, before.levels
        self.surprises = before.surprises
        self.calls, self.deferred = [], 0
        self.current, self.opened_as = before.current, before.opened_as
        self._rounds, self._learned, self._open = before.rounds, before.learned, before.open
        self.view_age = -1

    # -- saving ---------------------------------------------------------------------------------

    def __sizeof__(self):
        return object.__sizeof__(self) + grid_bytes(&self.safe)

    def _get_state(self):
        """Return everything the past left behind, as arrays and numbers by name."""
        self.enter()
        opened = self.opened_as if self._open else 0
        state = {"learned": self._learned, "size": self.size, "number": opened}
        state |= doubles_of(&self.sharp, SHARP_PARTS) | doubles_of(&self.recent, RECENT_PARTS)
        state |= doubles_of(&self.batches, BATCH_PARTS) | doubles_of(&self.levels, LEVEL_PARTS)
        state |= doubles_of(&self.surprises, SURPRISE_PARTS) | safe_save(&self.safe)
        state["open"] = array_of(<double *>&self.current, ROUND if self._open else 0)
        return state

    def _set_state(self, state):
        """Take over a state of `_get_state`, or raise ValueError and change nothing."""
        names = {"rounds", "learned", "size", "number", "open"}
        check_has_purse(state)
        learned_parts = {
            *SHARP_PARTS, *RECENT_PARTS, *BATCH_PARTS, *LEVEL_PARTS, *SURPRISE_PARTS,
        }
        check_names(state, {*names, *learned_parts, *SAFE_PARTS})
        cdef int64_t rounds = check_integer("saved rounds", state["rounds"], 0, 2**53)
        cdef int64_t learned = check_integer("saved learned", state["learned"], 0, rounds)
        cdef int64_t opened = check_integer("saved number", state["number"], 0, max(rounds - 1, 0))
        most = 1.7976931348623157e308 if self._kind == MARGIN and rounds else 0.0
        cdef double size = number(state, "size", low=0.0, high=most)
        parts = {name: floats(state, name, size=count) for name, count in SHARP_PARTS.items()}
        memory = {name: floats(state, name, size=count) for name, count in RECENT_PARTS.items()}
        seen = {name: floats(state, name, size=count) for name, count in BATCH_PARTS.items()}
        followed = {name: floats(state, name, size=count) for name, count in LEVEL_PARTS.items()}
        judged = {name: floats(state, name, size=count) for name, count in SURPRISE_PARTS.items()}
        cdef const double[::1] waiting = floats(state, "open", low=0.0)
        cdef const double[::1] sharp = np.concatenate(list(parts.values()))
        cdef const double[::1] recent = np.concatenate(list(memory.values()))
        cdef const double[::1] batches = np.concatenate(list(seen.values()))
        cdef const double[::1] levels = np.concatenate(list(followed.values()))
        cdef const double[::1] surprises = np.concatenate(list(judged.values()))
        if waiting.shape[0] not in (0, ROUND):
            raise ValueError(f"saved open must have 0 or {ROUND} values, got {waiting.shape[0]}")
        check_rounds(state["open"], state["z"])
        if not 0.0 <= parts["lag"][0] <= rounds:
            raise ValueError(f"saved lag must be in [0, {rounds}]")
        if waiting.shape[0] and learned == rounds:
            raise ValueError("saved open must be empty if every prediction has its outcome")
        check_sharp(parts, learned)
        check_recent(memory, learned)
        check_batches(seen, learned)
        check_levels(followed, rounds, learned)
        check_surprises(judged, rounds)
        safe_load(&self.safe, state, learned)
        memcpy(&self.sharp, &sharp[0], sizeof(SharpState))
        memcpy(&self.recent, &recent[0], sizeof(RecentState))
        memcpy(&self.batches, &batches[0], sizeof(BatchState))
        memcpy(&self.levels, &levels[0], sizeof(LevelState))
        memcpy(&self.surprises, &surprises[0], sizeof(SurpriseState))
        self.calls, self.deferred = [], 0
        self._rounds, self._learned, self.size = rounds, learned, size
        self._open, self.view_age = waiting.shape[0] > 0, -1
        if self._open:
            self.opened_as = opened
            memcpy(&self.current, &waiting[0], ROUND * sizeof(double))
