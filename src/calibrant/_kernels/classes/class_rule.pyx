"""The rule for several classes: rows of scores in, rows of probabilities out.

`class_mixture` mixes what its experts say. The likeliest class of the mixture is the *named* one, and
"it is observed" is one event a round: its probability goes through a recalibrator of one event, with
mixture, memory and grid (`scores/`), so the theorem about the grid holds for the named class.
The others share the rest in proportion, below a cap that keeps the named class on top.

With silence, "a label is announced" is an event too: its probability is recalibrated without the grid and
adjusted by what is pending (`scores/pending.pyx`). The mixture is then over the announced classes,
given that one is announced, and learns a label as soon as it arrives: every announced label arrives once,
so the labels known so far are an unbiased sample, except for a while after delays change.

A group has a kernel of its own, to which the mixture of the whole is the score.
"""

from libc.math cimport NAN, fabs, isfinite, isnan
from libc.stdint cimport int64_t
from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memcpy, memset

cimport cython

from types import SimpleNamespace

import numpy as np

from calibrant._checks import (
    as_distributions, as_listed, check_id, check_unmasked, describe,
)
from calibrant._groups import check_groups
from calibrant._kernels.classes.class_batches cimport batch_learn, batch_mix
from calibrant._kernels.classes.class_mixture cimport (
    BASES, EXPERTS, FEATURES, FIRST_BASE, ClassMixture, Predicted, lateness_power, power,
)
from calibrant._kernels.classes.class_mixture import MOST_BIAS
from calibrant._kernels.arrays cimport doubles_in
from calibrant._kernels.classes.vectors cimport (
    exact_total, expf_, greatest, likeliest, share, take_row, total,
)
from calibrant._kernels.interrupts cimport hold, release
from calibrant._kernels.rounds.learner cimport Learner
from calibrant._kernels.rounds.round cimport Round, companies, drawn, weight_of
from calibrant._kernels.rounds.rule cimport Rule
from calibrant._kernels.saved import check_all, check_names, floats, part_of, singles
from calibrant._kernels.saved import number as number_of
from calibrant._kernels.scores.batches cimport SMALLEST_BATCH
from calibrant._kernels.scores.batches import BATCH_PARTS
from calibrant._kernels.scores.levels import LEVEL_PARTS
from calibrant._kernels.scores.pending cimport PendingKernel, Wait
from calibrant._kernels.scores.recalibrate import RecalibrateKernel
from calibrant._kernels.scores.score_rounds cimport ScoreRound, new_round
from calibrant._kernels.scores.score_rounds import ROUND, check_rounds, load_rounds, save_rounds

cdef extern from "Python.h":
    int PyErr_CheckSignals() except -1

# What only batches change, by what counts them.
OF_BATCHES = {"batches": BATCH_PARTS, "levels_kept": LEVEL_PARTS}

ndarray, new_array, DOUBLES = np.ndarray, np.empty, np.dtype(np.float64)

#: By how much of itself the named class stays above another that would otherwise equal it.
cdef double LEAD = 2.0**-40
cdef double SUM_TOLERANCE = 1e-4
cdef double OWN = 0.2             # of a group's own mixture beside that of the whole, at the start
cdef double OWN_SHARE = 1e-3      # of this weight that returns there after a label
cdef double LEAST_PREDICTED = 1e-9
cdef enum:
    BUDGET = 16 << 20             # bytes for the features and estimates of all rounds that wait
    PORTION = 64                  # rows of a run between two looks for Ctrl-C
    ROUND_NUMBERS = 7             # whole numbers saved of a round
    HEAD = 2 + 2 * EXPERTS        # numbers saved of a round beside its vectors


cdef int fill_row(const float *q, int K, int named, double sure, double *row) except -1:
    """Put into a row the named class with this probability, and the others in proportion.

    None of them gets more than a cap just below the named class: what is above it goes to the
    others, again in proportion. They share evenly where they had nothing, and where the named
    class has less than 1 / K, since then some class must be above it.
    """
    cdef double cap = sure * (1.0 - LEAD), left = 1.0 - sure, rest = 0.0, scale
    cdef int k, free_ones = K - 1
    cdef bint is_even = cap * (K - 1) < left, is_capped = True
    if K == 1:
        row[0] = 1.0
        return 0
    rest = exact_total(named, q) + exact_total(K - named - 1, q + named + 1)
    if not is_even and rest > 0.0:  # mostly, none is capped
        scale = left / rest
        if max(greatest(named, q), greatest(K - named - 1, q + named + 1)) * scale <= cap:
            share(K, q, scale, row)
            row[named] = sure
            return 0
    for k in range(K):
        row[k] = NAN
    row[named] = sure
    while is_capped and free_ones:
        rest = 0.0
        for k in range(K):
            if isnan(row[k]):
                rest += q[k]
        is_even = is_even or rest <= 0.0
        scale = left / free_ones if is_even else left / rest
        is_capped = False
        if not is_even:
            for k in range(K):
                if isnan(row[k]) and q[k] * scale > cap:
                    row[k] = cap
                    left -= cap
                    free_ones -= 1
                    is_capped = True
        if not is_capped:
            for k in range(K):
                if isnan(row[k]):
                    row[k] = scale if is_even else q[k] * scale
    return 0


def row_with(const float[::1] mixed, int named, double sure):
    """Return the row of a mixture in which the named class has this probability."""
    found = np.empty(mixed.shape[0])
    cdef double[::1] to = found
    fill_row(&mixed[0], <int>mixed.shape[0], named, sure, &to[0])
    return found


@cython.final
@cython.no_gc
cdef class ClassRound(Round):
    """A round whose label is still to come."""

    def __dealloc__(self):
        if self.mixed != self.predicted.q:
            free(self.mixed)
        if self.kernel is not None and self.predicted.is_whole and self.predicted.K == self.kernel.mixture.K:
            self.kernel.spare, self.block = self.block, self.kernel.spare
        free(self.block)

    cdef double as_raw(self):
        return expf_(self.predicted.x[self.named])

    cdef double as_prediction(self):
        return self.safe.begun.z

    cdef double as_expected(self):
        return self.safe.begun.e

    cdef int fill(self, double sure, double *row) except -1:
        return fill_row(self.mixed, self.predicted.K, self.named, sure, row)

    cdef object as_row(self):
        """Return what was predicted."""
        found = new_array(self.predicted.K)
        self.fill(self.safe.begun.z, doubles_in(found, DOUBLES, self.predicted.K))
        return found

    @property
    def row(self):
        """What was predicted."""
        return self.as_row()

    @property
    def scores(self):
        """The scores as probabilities, with a floor where they were 0."""
        cdef int k
        found = np.empty(self.predicted.K)
        cdef double[::1] to = found
        for k in range(self.predicted.K):
            to[k] = expf_(self.predicted.x[k])
        return found / found.sum()


cdef class ClassKernel:
    """The mixture of one stream of several classes, and what places its named class."""

    def __cinit__(self, int K, seed, int silent=-1):
        self.mixture = ClassMixture(K)
        self.safe = RecalibrateKernel("probability", seed)
        self.heard = None if silent < 0 else RecalibrateKernel("probability", seed)
        self.silent, self.own = silent, OWN
        self.calls = []

    def __dealloc__(self):
        free(self.spare)

    @property
    def learned(self):
        """Labels learned so far."""
        return self.safe.learned + self.deferred

    @property
    def begun(self):
        """Rounds begun so far."""
        return self.mixture.begun

    cdef int enter(self) except -1:
        """Learn what was deferred, before anything is asked."""
        if self.deferred:
            hold()
            try:
                self.catch_up()
            finally:
                release()
        return 0

    # -- a prediction ---------------------------------------------------------------------------

    cdef int finish_look(self, float *q, double *sure) noexcept nogil:
        """Return which class a mixture names; `sure` takes its probability."""
        cdef int named = likeliest(self.mixture.K, q)
        sure[0] = q[named] / <double>total(self.mixture.K, q)
        if sure[0] > 1.0:
            sure[0] = 1.0
        return named

    cdef const float *announced_of(self, const float *s) noexcept nogil:
        """Return the scores of the classes that are announced, summing to one."""
        cdef int k, K = self.mixture.K
        cdef float *to = self.mixture.turned
        cdef double rest = 0.0
        for k in range(K):
            to[k] = 0.0 if k == self.silent else s[k]
            rest += to[k]
        for k in range(K):
            if k != self.silent:
                to[k] = <float>(to[k] / rest) if rest > 0.0 else <float>(1.0 / (K - 1))
        return to

    cdef void tell_silence(self, float *q, double announced) noexcept nogil:
        """Give the silent class its share of a mixture of those that are announced."""
        cdef int k, K = self.mixture.K
        cdef double rest = 0.0
        cdef float scale
        q[self.silent] = 0.0
        rest = total(K, q)
        scale = <float>(announced / rest)
        for k in range(K):
            q[k] *= scale
        q[self.silent] = <float>(1.0 - announced)

    cdef bint is_kept_whole(self) noexcept nogil:
        """Whether the next round keeps features and estimates, within the budget of memory."""
        cdef int64_t most = BUDGET // (
            <int64_t>sizeof(float) * (self.mixture.whole_size() - 2 * self.mixture.K) + 1
        )
        if 2 * self.whole < most:
            return True
        return self.whole < most and self.mixture.begun % (2 * self.waiting // most + 1) == 0

    cdef int begin(self, ClassRound r, const float *s) except -1:
        """Let the mixture say a row of scores."""
        cdef bint is_whole
        cdef Py_ssize_t size
        cdef int64_t number
        self.enter()
        is_whole = self.is_kept_whole()
        size = self.mixture.whole_size() if is_whole else 2 * self.mixture.K
        if is_whole and self.spare != NULL:
            r.block, self.spare = self.spare, NULL
        else:
            r.block = <float *>malloc(size * sizeof(float))
        if r.block == NULL:
            raise MemoryError
        r.kernel = self
        self.mixture.keep_in(&r.predicted, r.block, is_whole)
        self.mixture.begin(s if self.heard is None else self.announced_of(s), &r.predicted)
        self.waiting += 1
        self.whole += is_whole
        if self.heard is not None:
            self.heard.enter()
            number = self.heard._rounds
            r.heard = new_round(number)
            self.heard.begin_mean(1.0 - min(s[self.silent], 1.0), &r.heard.begun)
            self.tell_silence(r.predicted.q, r.heard.begun.z)
        return 0

    cdef int place(self, ClassRound r, const float *of_whole) except -1:
        """Name a class and place its probability, with the mixture of the whole in a group."""
        cdef double sure
        cdef int64_t number
        cdef int k, K = self.mixture.K
        r.mixed = r.predicted.q
        if of_whole != NULL:
            r.mixed = <float *>malloc(K * sizeof(float))
            if r.mixed == NULL:
                raise MemoryError
            r.own = self.own
            for k in range(K):
                r.mixed[k] = <float>(r.own * r.predicted.q[k] + (1.0 - r.own) * of_whole[k])
        r.named = self.finish_look(r.mixed, &sure)
        self.safe.enter()
        number = self.safe._rounds
        r.safe = new_round(number)
        self.safe.begin(sure, &r.safe.begun)
        return 0

    def look(self, const float[::1] scores, of_whole=None):
        """Return the mixture for scores, the class it names, the expected row and the next one."""
        cdef double least = self.mixture.state.least, sure
        cdef int k, named, K = self.mixture.K
        cdef float *q = self.mixture.live.q
        cdef const float[::1] other
        self.enter()
        if self.heard is None:
            self.mixture.look(&scores[0], &self.mixture.live, &least)
        else:
            self.mixture.look(self.announced_of(&scores[0]), &self.mixture.live, &least)
            self.heard.enter()
            sure = self.heard.look_aside(self.heard.above_floor(1.0 - min(scores[self.silent], 1.0)))
            self.tell_silence(q, sure)
        if of_whole is not None:
            other = of_whole
            for k in range(K):
                q[k] = <float>(self.own * q[k] + (1.0 - self.own) * other[k])
        named = self.finish_look(q, &sure)
        found, rows = np.empty(K, dtype=np.float32), np.empty((2, K))
        cdef float[::1] to = found
        cdef double[:, ::1] placed = rows
        for k in range(K):
            to[k] = q[k]
        fill_row(q, K, named, self.safe.expected(sure), &placed[0, 0])
        fill_row(q, K, named, self.safe.next_prediction(sure), &placed[1, 0])
        return found, named, rows[0], rows[1]

    # -- labels ---------------------------------------------------------------------------------

    cdef int learn_now(self, ClassRound r, int y) except -1:
        """Learn the label of a round."""
        cdef bint is_named = y == r.named
        self.widen(r)
        if r.whole is not None:
            self.trust_own(r, y)
        if self.heard is None:
            self.mixture.learn(&r.predicted, y, weight_of(r))
        self.safe.enter()
        if self.safe.finish(
            &r.safe.begun, is_named, weight_of(r), self.safe.lateness(r.safe.number)
        ) < 0:
            raise MemoryError
        if self.heard is not None:
            self.heard.enter()
            self.heard.finish_mean(
                &r.heard.begun, y != self.silent, weight_of(r),
                self.heard.lateness(r.heard.number),
            )
        return self.let_go(r)

    cdef void trust_own(self, ClassRound r, int y) noexcept nogil:
        """Weigh a group's own mixture against that of the whole, by Bayes' rule."""
        cdef double eta = weight_of(r) * lateness_power(self.mixture.state.late)
        cdef double mine = r.predicted.q[y], both = r.mixed[y], theirs
        theirs = (both - r.own * mine) / (1.0 - r.own)
        mine = self.own * power(max(mine, LEAST_PREDICTED), eta)
        theirs = (1.0 - self.own) * power(max(theirs, LEAST_PREDICTED), eta)
        self.own = (1.0 - OWN_SHARE) * mine / (mine + theirs) + OWN_SHARE * OWN

    cdef int hear(self, ClassRound r, int y) except -1:
        """Learn which class was announced, as soon as it is."""
        self.widen(r)
        return self.mixture.learn(&r.predicted, y, weight_of(r))

    cdef int learn(self, ClassRound r, int y) except -1:
        """Learn the label of a round; one that may have waited with others, later."""
        if r.is_shared:
            self.calls.append(([r], np.array([y], dtype=np.int64)))
            self.deferred += 1
            return 0
        self.enter()
        return self.learn_now(r, y)

    def learn_many(self, list rounds not None, labels):
        """Learn labels that came together."""
        cdef ClassRound r
        cdef Py_ssize_t i
        cdef const int64_t[::1] y = labels
        for r in rounds:
            if r.is_shared:
                self.calls.append((rounds, labels))
                self.deferred += len(rounds)
                return
        self.enter()
        for i in range(len(rounds)):
            self.learn_now(rounds[i], <int>y[i])

    cdef int catch_up(self) except -1:
        """Learn what was deferred: large batches as such, and all else as it came."""
        cdef list calls = self.calls, rounds = []
        cdef Py_ssize_t i, k
        cdef int64_t[::1] y
        self.calls, self.deferred = [], 0
        for call in calls:
            rounds += call[0]
        labels = np.concatenate([call[1] for call in calls])
        batch, sizes = companies(rounds)
        y = labels
        for i in np.flatnonzero(sizes[batch] < SMALLEST_BATCH):
            self.learn_now(rounds[i], <int>y[i])
        for i in np.flatnonzero(sizes >= SMALLEST_BATCH):
            rows = np.flatnonzero(batch == i)
            rows = rows[np.argsort(drawn([rounds[k] for k in rows]))]
            self.learn_batch([rounds[k] for k in rows], labels[rows])
        return 0

    def learn_batch(self, list rounds not None, const int64_t[::1] labels):
        """Learn the labels of a batch, as `class_batches.pyx` says.

        Of the named class each row is learned as it would be predicted now: what the whole batch
        had in common is not charged to the points at which it was predicted.
        """
        cdef Py_ssize_t i, n = len(rounds)
        cdef int64_t first
        cdef int at, k
        cdef double sure
        cdef float *q
        cdef ClassRound r
        cdef ScoreRound placed
        cdef const Predicted **predicted = <const Predicted **>malloc(n * sizeof(Predicted *))
        cdef int *named = <int *>malloc(n * sizeof(int))
        cdef double *weights = <double *>malloc(n * sizeof(double))
        cdef list anew = []
        if self.heard is not None:
            free(predicted)
            free(named)
            free(weights)
            self.learn_silent_batch(rounds, np.asarray(labels))
            return
        if predicted == NULL or named == NULL or weights == NULL:
            free(predicted)
            free(named)
            free(weights)
            raise MemoryError
        for i in range(n):
            r = rounds[i]
            self.widen(r)
            predicted[i], named[i], weights[i] = &r.predicted, r.named, weight_of(r)
        try:
            batch_learn(self.mixture, predicted, named, &labels[0], weights, n)
        finally:
            free(predicted)
            free(named)
            free(weights)
        hits = np.empty(n)
        cdef double[::1] is_named = hits
        self.safe.enter()
        first = self.safe._rounds
        for i in range(n):
            r = rounds[i]
            q = self.mixture.live.q
            batch_mix(self.mixture, &r.predicted, self.mixture.now, q)
            if r.whole is not None:
                self.trust_own(r, <int>labels[i])
                for k in range(self.mixture.K):
                    q[k] = <float>(r.own * q[k] + r.mixed[k] - r.own * r.predicted.q[k])
            at = self.finish_look(q, &sure)
            placed = new_round(first + i)
            self.safe.begin(min(max(sure, 0.0), 1.0), &placed.begun)
            placed.batch, placed.is_shared = first, True
            if weight_of(r) != 1.0:
                placed.told().weight = weight_of(r)
            is_named[i] = labels[i] == at
            anew.append(placed)
            self.let_go(r)
        self.safe._finish_many(anew, hits)

    def learn_silent_batch(self, list rounds not None, labels):
        """Learn the labels of a batch at its deadline, where what was announced is known before."""
        cdef ClassRound r
        named = np.array([r.named for r in rounds])
        for r in rounds:
            r.heard.join(r)
            r.safe.join(r)
            self.let_go(r)
        self.safe._finish_many([r.safe for r in rounds], (labels == named).astype(np.float64))
        self.heard._finish_many(
            [r.heard for r in rounds], (labels != self.silent).astype(np.float64),
            np.zeros(len(rounds), dtype=np.uint8),
        )

    cdef int let_go(self, ClassRound r) except -1:
        """Forget a round that is done with."""
        self.waiting -= 1
        self.whole -= r.predicted.is_whole
        return 0

    cdef int widen(self, ClassRound r) except -1:
        """Have a round of all classes, which may have grown in number since it began.

        Nothing was predicted of the new ones.
        """
        cdef int K = self.mixture.K, old = r.predicted.K, i, d
        cdef Predicted before
        cdef float *block
        cdef float *freed = r.block
        cdef float *mixed = NULL
        cdef Py_ssize_t size
        if old == K:
            return 0
        before = r.predicted
        if r.mixed != r.predicted.q:
            mixed = <float *>realloc(r.mixed, K * sizeof(float))
            if mixed == NULL:
                raise MemoryError
            memset(mixed + old, 0, (K - old) * sizeof(float))
        size = self.mixture.whole_size() if before.is_whole else 2 * K
        block = <float *>malloc(size * sizeof(float))
        if block == NULL:
            raise MemoryError
        memset(block, 0, size * sizeof(float))
        self.mixture.keep_in(&r.predicted, block, before.is_whole)
        for i in range(K):
            r.predicted.x[i] = before.x[i] if i < old else before.zero - <float>1e-6
        memcpy(r.predicted.q, before.q, old * sizeof(float))
        if before.is_whole:
            for d in range(1, FEATURES):
                memcpy(r.predicted.f[d], before.f[d], old * sizeof(float))
            for i in range(EXPERTS):
                memcpy(r.predicted.P + i * K, before.P + i * old, old * sizeof(float))
        r.predicted.K, r.block = K, block
        r.mixed = r.predicted.q if mixed == NULL else mixed
        free(freed)
        return 0

    # -- saving ---------------------------------------------------------------------------------

    def weights(self):
        """Return the weights of the experts."""
        self.enter()
        return self.mixture.weights()

    def __sizeof__(self):
        found = object.__sizeof__(self) + self.mixture.__sizeof__() + self.safe.__sizeof__()
        return found if self.heard is None else found + self.heard.__sizeof__()

    def save(self, list rounds not None):
        """Return the state, with what is kept of rounds that wait, those of others left out."""
        cdef ClassRound r
        cdef Py_ssize_t i, size, at = 0
        cdef double[::1] to
        self.enter()
        own = [r for r in rounds if r.kernel is self]
        for r in own:
            self.widen(r)
        mixture = without_batches(self.mixture.save())
        state = {"mixture_" + name: part for name, part in mixture.items()}
        for name, kernel in self.stages():
            part = without_batches(kernel._get_state()) | {"rounds": kernel.rounds}
            state |= {f"{name}_{key}": value for key, value in part.items()}
        state["own"] = self.own
        state["round_counts"] = np.array(
            [
                [r.predicted.begun, r.predicted.learned, r.predicted.top, r.predicted.last,
                 r.predicted.is_whole, r.named,
                 r.safe.number]
                for r in own
            ], dtype=np.int64,
        ).ravel()
        heads, blocks = np.empty(HEAD * len(own)), []
        to = heads
        for r in own:
            to[at], to[at + 1] = r.predicted.zero, r.own
            for i in range(EXPERTS):
                to[at + 2 + i], to[at + 2 + EXPERTS + i] = r.predicted.w[i], r.predicted.v[i]
            at += HEAD
            size = self.mixture.whole_size() if r.predicted.is_whole else 2 * self.mixture.K
            blocks.append(np.asarray(<float[:size]>r.block).copy())
            if r.mixed != r.predicted.q:  # with that of the whole, in a group
                blocks.append(np.asarray(<float[:self.mixture.K]>r.mixed).copy())
        state["round_numbers"] = heads
        state["round_vectors"] = np.concatenate([*blocks, np.empty(0, dtype=np.float32)])
        _, state["round_safe"] = save_rounds([r.safe for r in own])
        if self.heard is not None:
            state["round_heard_counts"], state["round_heard"] = save_rounds([r.heard for r in own])
        return state

    def stages(self):
        """Return the recalibrators of single events that there are, by name."""
        found = [("safe", self.safe)]
        return found if self.heard is None else [*found, ("heard", self.heard)]

    def load(self, dict state not None, bint is_inside=False):
        """Take over what `save` returned, of a group if `is_inside`; return the rounds that wait."""
        cdef ClassRound r
        cdef Py_ssize_t size, i
        cdef const double[::1] head
        cdef const float[::1] values
        rest, mixture = part_of(state, "mixture_")
        mixture = with_batches(mixture, ["batches"])
        check_names(mixture, self.mixture.parts())
        self.mixture.load(mixture)
        for name, kernel in self.stages():
            rest, inner = part_of(rest, name + "_")
            kernel._set_state(with_batches(inner))
            if kernel.rounds < self.mixture.begun or kernel.learned != self.safe.learned:
                raise ValueError(f"saved {name} must be of the same rounds")
        self.own = number_of(rest, "own", low=0.0, high=1.0)
        names = {"own", "round_counts", "round_numbers", "round_vectors", "round_safe"}
        if self.heard is not None:
            names |= {"round_heard_counts", "round_heard"}
        check_names(rest, names)
        whole = rest["round_counts"]
        if not isinstance(whole, np.ndarray) or whole.dtype != np.int64 or len(whole) % ROUND_NUMBERS:
            raise ValueError("saved round_counts must be an array of int64")
        whole = whole.reshape(-1, ROUND_NUMBERS)
        heads = floats(rest, "round_numbers", size=HEAD * len(whole)).reshape(-1, HEAD)
        vectors = singles(rest, "round_vectors")
        if len(whole) > self.mixture.begun - self.learned or (
            self.heard is None and self.learned != self.mixture.learned
        ):
            raise ValueError("saved rounds must be some of those without a label")
        counts = {"safe": np.ascontiguousarray(whole[:, 6]), "heard": rest.get("round_heard_counts")}
        loaded = {"heard": [None] * len(whole)}
        for name, kernel in self.stages():
            places = floats(rest, f"round_{name}", size=ROUND * len(whole))
            is_safe = name == "safe"  # off the grid, the prediction is the mean
            points = kernel._get_state()["z"] if is_safe else places.reshape(-1, ROUND)[:, 1]
            check_rounds(places, points)
            if kernel.rounds > 2**52:
                raise ValueError(f"saved {name}_rounds are more than can be played")
            if not isinstance(counts[name], np.ndarray) or counts[name].shape != (len(whole),):
                raise ValueError(f"saved rounds must be {len(whole)}")
            if (counts[name] < 0).any() or (counts[name] >= kernel.rounds).any():
                raise ValueError(f"saved rounds must be some of those of {name}")
            loaded[name] = load_rounds(counts[name], places.reshape(-1, ROUND))
        K = self.mixture.K
        most = [self.mixture.begun - 1, self.mixture.learned, K - 1, K - 1, 1, K - 1]
        if (whole[:, :6] > most).any() or (whole[:, :6] < [0, 0, 0, -1, 0, 0]).any():
            raise ValueError("a saved round must have begun here")
        sizes = np.where(whole[:, 4], self.mixture.whole_size(), 2 * K) + K * is_inside
        if sizes.sum() != len(vectors):
            raise ValueError(f"saved round_vectors must be {sizes.sum()} numbers, got {len(vectors)}")
        blocks = np.split(vectors, np.cumsum(sizes)[:-1])
        for is_whole in (False, True):
            these = np.flatnonzero(whole[:, 4] == is_whole)
            if len(these):
                rows = np.stack([blocks[i] for i in these]).reshape(len(these), -1, K)
                check_predicted(heads[these], whole[these], rows, is_whole, is_inside)
        rounds = []
        for each, head, values, placed, told in zip(
            whole.tolist(), heads, blocks, loaded["safe"], loaded["heard"]
        ):
            begun, learned, top, last, is_whole, named, _ = each
            size = len(values) - K * is_inside
            r = ClassRound.__new__(ClassRound)
            r.block = <float *>malloc(size * sizeof(float))
            if r.block == NULL:
                raise MemoryError
            self.mixture.keep_in(&r.predicted, r.block, is_whole)
            r.predicted.begun, r.predicted.learned, r.predicted.K = begun, learned, K
            r.predicted.top, r.predicted.last, r.predicted.zero = top, last, head[0]
            r.own, r.mixed = head[1], r.predicted.q
            for i in range(EXPERTS):
                r.predicted.w[i], r.predicted.v[i] = head[2 + i], head[2 + EXPERTS + i]
            memcpy(r.block, &values[0], size * sizeof(float))
            r.predicted.has_zeros = is_whole and any(
                values[FEATURES * K + i] != 0.0 for i in range(K)
            )
            if is_inside:
                r.mixed = <float *>malloc(K * sizeof(float))
                if r.mixed == NULL:
                    r.mixed = r.predicted.q
                    raise MemoryError
                memcpy(r.mixed, &values[size], K * sizeof(float))
            r.kernel, r.named, r.safe, r.heard = self, named, placed, told
            r.number = r.batch = begun
            self.waiting += 1
            self.whole += is_whole
            rounds.append(r)
        return rounds


def without_batches(state):
    """Return a state without what only batches change, if there were none."""
    for count, parts in OF_BATCHES.items():
        if count in state and not state[count][0]:
            state = {name: part for name, part in state.items() if name not in parts}
    return state


def with_batches(state, counts=tuple(OF_BATCHES)):
    """Return a state with all that `without_batches` left out, as it was at the start."""
    fresh = RecalibrateKernel("probability", 0)._get_state()
    for count in counts:
        if count not in state:
            state = state | {name: fresh[name] for name in OF_BATCHES[count]}
    return state


#: What must hold of saved rounds, in words and as it is checked. Base rates may count less than all
#: labels, and of a class that is newer than the round nothing was predicted.
MUST_HOLD = (
    ("weights that sum to one",
     lambda s: [s.weights >= 0.0, abs(s.weights.sum(axis=-1) - 1.0) < 1e-6]),
    ("a share of its own in [0, 1)", lambda s: [s.own >= 0.0, s.own < 1.0]),
    ("the logarithms of scores",
     lambda s: [s.zero >= -35.0, s.zero <= 0.0, s.x >= -35.0, s.x <= 1e-3]),
    ("probabilities that were predicted",
     lambda s: [s.mixed >= 0.0, s.mixed.any(axis=-1), s.mixed.sum(axis=-1) < MOST_IN_ALL]),
)  # fmt: skip
#: And of those whose features were kept, and what each expert predicted.
MUST_HOLD_WHOLE = (
    ("experts that predicted probabilities",
     lambda s: [s.experts >= 0.0, abs(s.experts.sum(axis=-1) - 1.0) < 1e-3]),
    ("base rates that are probabilities",
     lambda s: [s.bases >= 0.0, s.bases.sum(axis=-1) < MOST_IN_ALL]),
    ("features within reach", lambda s: [abs(s.biases) <= MOST_BIAS, abs(s.rates) <= MOST_RATE]),
    ("features of its scores", lambda s: [
        s.bend <= 0.0, s.bend >= -0.1 * s.x**2 - 1e-3,
        s.is_top == (s.classes == s.top), s.is_last == (s.classes == s.last),
        (s.is_zero == 0.0) | (s.is_zero == 1.0) & (s.x <= s.zero),
    ]),
)  # fmt: skip
MOST_IN_ALL, MOST_RATE = 1.01, 100.0


def check_predicted(heads, counts, vectors, bint is_whole, bint is_inside):
    """Refuse saved rounds that were never predicted, all of them whole or none.

    `counts` are whole numbers and `heads` others, a row per round. The vectors of each are the
    logarithms of its scores and the mixture; of a whole one then features and what each expert
    predicted; in a group, at last what both predicted together.
    """
    x, q, *rest = vectors.swapaxes(0, 1)
    mixed = [q, rest.pop()] if is_inside else [q]
    parts = SimpleNamespace(
        zero=heads[:, :1], own=heads[:, 1], weights=heads[:, 2:].reshape(-1, 2, EXPERTS), x=x,
        mixed=np.stack(mixed), top=counts[:, 2:3], last=counts[:, 3:4], classes=np.arange(x.shape[1]),
    )
    check_all("a saved round must have", MUST_HOLD, parts)
    if is_whole:
        parts.biases, parts.rates = np.stack(rest[:6]), np.stack(rest[6:8])
        parts.bend, parts.is_top, parts.is_last, parts.is_zero = rest[8 : FEATURES - 1]
        experts = rest[FEATURES - 1 :]
        parts.bases = np.stack(experts[FIRST_BASE : FIRST_BASE + BASES])
        parts.experts = np.stack(experts[:FIRST_BASE] + experts[FIRST_BASE + BASES :])
        check_all("a saved round must have", MUST_HOLD_WHOLE, parts)


cdef class ClassRule(Rule):
    """The rounds of one recalibrator of several classes; an outcome is the column of a label."""

    def __init__(
        self, labels, kind, seed, *, grows=False, silent=None, PendingKernel silence=None,
        max_groups=0,
    ):
        self.labels, self.seed, self.grows = list(labels), seed, grows
        self.columns = {label: column for column, label in enumerate(self.labels)}
        self.is_logit = kind == "logit"
        self.whole = ClassKernel(len(self.labels), seed, -1 if silent is None else silent)
        self.silence = silence
        if silence is not None:
            self.whole.heard._attend(silence)
        self.groups, self.max_groups = {}, max_groups
        self.is_weighted = self.is_compiled = True
        self.make_room()

    def __dealloc__(self):
        free(self.scores)
        free(self.given)

    def make_room(self):
        """Have room for one row of scores."""
        if len(self.labels) > self.room:
            self.scores = <float *>realloc(self.scores, len(self.labels) * sizeof(float))
            self.given = <double *>realloc(self.given, len(self.labels) * sizeof(double))
            if self.scores == NULL or self.given == NULL:
                raise MemoryError
            self.room = len(self.labels)

    def take_over(self, ClassRule other not None):
        """Take over all that another rule has learned."""
        self.whole, self.groups, self.silence = other.whole, other.groups, other.silence
        self.labels, self.columns = other.labels, other.columns
        self.make_room()

    @property
    def rounds(self):
        """Rounds begun so far."""
        return self.whole.mixture.begun

    @property
    def learned(self):
        """Labels learned so far."""
        return self.whole.learned

    cdef int64_t begun(self) except -1:
        return self.whole.mixture.begun

    # -- labels ---------------------------------------------------------------------------------

    def column(self, label, what="label"):
        """Return the column of a label, or say which labels there are."""
        if type(label) is str or type(label) is int:
            found = self.columns.get(label)
            if found is not None:
                return found
        name = check_id(label, what)
        if name not in self.columns:
            if self.grows:
                return self.add_label(name)
            shown = ", ".join(map(repr, self.labels[:10]))
            more = ", ..." if len(self.labels) > 10 else ""
            raise ValueError(f"{what} must be one of {shown}{more}, got {describe(name)}")
        return self.columns[name]

    def add_label(self, name):
        """Have one more class, which nothing is known of; return its column."""
        self.columns[name] = len(self.labels)
        self.labels.append(name)
        self.make_room()
        return self.columns[name]

    def forget_labels(self, Py_ssize_t count):
        """Have no more than so many labels: a call that brought others was refused."""
        if self.whole.mixture.K <= count:
            for name in self.labels[count:]:
                del self.columns[name]
            del self.labels[count:]

    cdef int grow(self) except -1:
        """Let all kernels know of all labels."""
        cdef ClassKernel kernel
        cdef int K = len(self.labels)
        for kernel in [self.whole, *self.groups.values()]:
            kernel.enter()
            if kernel.mixture.K < K:
                kernel.mixture.grow(K)
                free(kernel.spare)
                kernel.spare = NULL
        return 0

    def add_class(self, label):
        """Have one more class."""
        self.add_label(label)
        self.grow()

    cpdef double outcome_of(self, outcome) except? -1.0:
        """Return the column of a label."""
        return self.column(outcome)

    cpdef object outcomes_of(self, outcomes):
        """Return the columns of labels."""
        return self.columns_of(outcomes)

    def columns_of(self, labels, *, bint missing=False):
        """Return the columns of labels; of one that is None or NaN, NaN if it may be missing."""
        given = as_listed(labels, "labels", "a sequence, one per round")
        columns = np.full(len(given), NAN)
        cdef double[::1] to = columns
        cdef Py_ssize_t i
        for i, label in enumerate(given):
            if missing and (label is None or label != label):
                continue
            try:
                to[i] = self.column(label)
            except ValueError as error:
                raise ValueError(f"{error} at position {i}") from None
        return columns

    cpdef object shown(self, double outcome):
        """Return the label of a column."""
        return self.labels[int(outcome)]

    # -- rows -----------------------------------------------------------------------------------

    cpdef object check(self, rows, by):
        """Return rows of scores as probabilities, a column a label, or say what is wrong."""
        found = self.table_of(rows)
        if by is not None:
            check_groups(by, len(found), "rows", self.groups, self.max_groups)
        return found

    def table_of(self, rows):
        """Return rows of scores as probabilities."""
        K = len(self.labels)
        if not self.is_logit:
            return as_distributions(rows, "probabilities", K)
        check_unmasked(rows, "logits")
        try:
            values = np.array(rows, dtype=np.float64)
        except (TypeError, ValueError, OverflowError) as error:
            raise ValueError(f"logits must be rows of numbers: {error}") from None
        if values.size == 0 and values.ndim < 2:
            values = np.empty((0, K))
        if values.ndim != 2 or values.shape[1] != K:
            raise ValueError(f"logits must have {K} columns, one per class, got {values.shape}")
        bad = ~np.isfinite(values).all(axis=1)
        if bad.any():
            raise ValueError(f"logits must be finite numbers, and not so in row {int(bad.argmax())}")
        return values

    cpdef object check_one(self, row, by):
        """Refuse a row that is none, or a group that cannot be."""
        self.take(row)
        if by is not None:
            check_groups([by], 1, "rows", self.groups, self.max_groups)

    cdef int take(self, object row) except -1:
        """Put a row of scores, as probabilities, where a round begins from; refuse a bad one."""
        cdef Py_ssize_t K = len(self.labels), k
        cdef const double[::1] view
        cdef const double *given = NULL
        cdef list values
        if type(row) is ndarray:
            given = doubles_in(row, DOUBLES, K)
        elif (type(row) is list or type(row) is tuple) and len(row) == K:
            values = row if type(row) is list else list(row)
            for k in range(K):
                if type(values[k]) is not float:
                    break
                self.given[k] = values[k]
            else:
                given = self.given
        if given != NULL and self.take_doubles(given):
            return 0
        # Something is wrong with it, or it is something else that can be read as a row.
        view = self.table_of(one_row(row, K))[0]
        self.take_doubles(&view[0])
        return 0

    cdef int take_doubles(self, const double *row) except -1:
        """Take a row; return 0 if there is something wrong with it."""
        cdef Py_ssize_t k, K = len(self.labels)
        cdef double all_of_it = 0.0, most
        cdef bint is_within
        if not self.is_logit:
            is_within = take_row(<int>K, row, self.scores, &all_of_it)
            return is_within and fabs(all_of_it - 1.0) <= SUM_TOLERANCE
        most = row[0]
        for k in range(K):
            if not isfinite(row[k]):
                return 0
            most = row[k] if row[k] > most else most
        for k in range(K):
            self.scores[k] = expf_(<float>(row[k] - most)) if row[k] - most > -80.0 else 0.0
        all_of_it = total(<int>K, self.scores)
        for k in range(K):
            self.scores[k] = <float>(self.scores[k] / all_of_it)
        return 1

    cdef ClassKernel kernel_of(self, object by):
        """Return the kernel of a group, which has one from now on."""
        # As it is saved: a number of NumPy's is one of Python's.
        name = by if type(by) is str or type(by) is int else check_id(by, "by")
        found = self.groups.get(name)
        return self.new_group(name) if found is None else found

    def new_group(self, by):
        """Return a fresh kernel for a group."""
        made = self.groups[by] = ClassKernel(len(self.labels), self.seed)
        return made

    cdef ClassRound begun_in(self, object by):
        """Predict the row at hand, in its group if it has one."""
        cdef ClassRound r = ClassRound.__new__(ClassRound), inside
        if self.whole.mixture.K < len(self.labels):
            self.grow()
        self.whole.begin(r, self.scores)
        self.whole.place(r, NULL)
        r.number = r.batch = r.predicted.begun
        if by is None:
            return r
        inside = ClassRound.__new__(ClassRound)
        inside.kernel = self.kernel_of(by)
        inside.kernel.begin(inside, self.scores)
        inside.kernel.place(inside, r.mixed)
        inside.number = inside.batch = r.number
        inside.whole = r
        return inside

    cpdef Round begin(self, row, by):
        """Predict one row."""
        if by is not None:
            check_groups([by], 1, "rows", self.groups, self.max_groups)
        self.take(row)
        return self.begun_in(by)

    cdef Round begin_row(self, object columns, object by, Py_ssize_t i):
        return self.begin(columns[i], None if by is None else by[i])

    cpdef list begin_many(self, rows, by):
        """Predict rows that were checked."""
        cdef Py_ssize_t i
        cdef const double[:, ::1] table = rows
        cdef list rounds = []
        for i in range(table.shape[0]):
            self.take_doubles(&table[i, 0])
            rounds.append(self.begun_in(None if by is None else by[i]))
        return rounds

    def look(self, rows, by):
        """Return of rows the mixtures, the classes they name, what is expected and what is next."""
        cdef ClassKernel inside
        cdef const double[:, ::1] table
        cdef Py_ssize_t i, k, K
        rows, K = self.table_of(rows), len(self.labels)
        if self.whole.mixture.K < K:
            self.grow()
        table = rows
        mixed, named = np.empty((len(rows), K), dtype=np.float32), np.empty(len(rows), dtype=np.int64)
        expected, upcoming = np.empty((len(rows), K)), np.empty((len(rows), K))
        cdef float[::1] scores
        own = np.empty(K, dtype=np.float32)
        scores = own
        for i in range(table.shape[0]):
            self.take_doubles(&table[i, 0])
            for k in range(K):
                scores[k] = self.scores[k]
            mixed[i], named[i], expected[i], upcoming[i] = self.whole.look(own)
            name = None if by is None else by[i]
            if name is not None:
                inside = self.groups[name] if name in self.groups else ClassKernel(K, self.seed)
                mixed[i], named[i], expected[i], upcoming[i] = inside.look(own, mixed[i].copy())
        return mixed, named, expected, upcoming

    # -- learning -------------------------------------------------------------------------------

    cpdef object reserve(self, Py_ssize_t outcomes):
        """Get the memory that so many labels may want."""
        cdef ClassKernel kernel
        for kernel in [self.whole, *self.groups.values()]:
            kernel.safe._reserve(outcomes)

    cpdef object learn(self, list rounds, outcomes):
        """Learn labels that count together."""
        cdef ClassRound r
        if self.whole.mixture.K < len(self.labels):
            self.grow()
        labels = np.asarray(outcomes).astype(np.int64)
        self.whole.learn_many([self.whole_of(r) for r in rounds], labels)
        by_kernel = {}
        for i, r in enumerate(rounds):
            if r.whole is not None:
                by_kernel.setdefault(id(r.kernel), (r.kernel, []))[1].append(i)
        for kernel, rows in by_kernel.values():
            kernel.learn_many([rounds[i] for i in rows], labels[rows])

    cpdef object learn_one(self, Round r, double outcome):
        """Learn one label, in its group too."""
        cdef ClassRound inside = <ClassRound>r
        cdef int y = <int>outcome
        if self.whole.mixture.K < len(self.labels):
            self.grow()
        if inside.whole is not None:
            inside.whole.join(r)
            inside.whole.kernel.learn(inside.whole, y)
        inside.kernel.learn(inside, y)

    cpdef object drop(self, Round r):
        """Forget a round that nothing will be learned of."""
        cdef ClassRound inside = <ClassRound>r
        if self.silence is not None and r.is_held():
            self.silence.forget(<Wait *>r.story.pending)
        if inside.whole is not None:
            inside.whole.kernel.let_go(inside.whole)
        inside.kernel.let_go(inside)

    # -- silence --------------------------------------------------------------------------------

    cpdef object wait(self, Round r, double now):
        """Count a round that waits for its deadline from `now` on."""
        cdef ScoreRound heard = (<ClassRound>self.whole_of(r)).heard
        r.story.pending = malloc(sizeof(Wait))
        if r.story.pending == NULL:
            raise MemoryError
        self.silence.begin(
            <Wait *>r.story.pending, heard.begun.s, self.whole.heard.mean_begun(&heard.begun), now,
            r.story.due,
        )

    cpdef object observed(self, Round r, double now):
        """Hear of a label before its deadline; the silent one only fixes it."""
        if r.story.outcome != self.whole.silent:
            self.silence.hear(<Wait *>r.story.pending, now)
            self.learn_announced(r, r.story.outcome)

    def learn_announced(self, ClassRound r not None, double outcome):
        """Learn which class was announced."""
        if self.whole.mixture.K < len(self.labels):
            self.grow()
        self.whole.enter()
        if weight_of(r) != 0.0:
            self.whole.hear(self.whole_of(r), <int>outcome)

    cpdef object mature(self, Round r):
        """Learn, at its deadline, how early the label of a round was known."""
        self.silence.end(<Wait *>r.story.pending)

    cpdef object refit(self, double now):
        """Fit what silence says, if a fit is due."""
        self.whole.enter()
        self.whole.heard._refit(now)

    # -- saving ---------------------------------------------------------------------------------

    def save(self, list rounds not None):
        """Return the state of the whole, with what it keeps of rounds that wait."""
        if self.whole.mixture.K < len(self.labels):
            self.grow()
        return self.whole.save([self.whole_of(r) for r in rounds])

    # -- runs -----------------------------------------------------------------------------------

    def run(self, const double[:, ::1] table, by, const double[::1] labels):
        """Predict row after row, each label being known at once, NaN for none; all are checked.

        Returns the rows.
        """
        cdef Py_ssize_t i, size = labels.shape[0]
        cdef ClassRound r
        found = np.empty((size, len(self.labels)))
        cdef double[:, ::1] to = found
        for i in range(size):
            if i % PORTION == 0:
                with nogil:  # let other threads have a turn
                    pass
                PyErr_CheckSignals()
            self.take_doubles(&table[i, 0])
            r = self.begun_in(None if by is None else by[i])
            r.fill(r.safe.begun.z, &to[i, 0])
            if isnan(labels[i]):
                self.drop(r)
            else:
                self.learn_one(r, labels[i])
        return found

    # -- what is told of a round -----------------------------------------------------------------

    cpdef object answer(self, Round r):
        """Return the row that is predicted."""
        return (<ClassRound>r).as_row()

    cpdef object answers(self, list rounds):
        """Return the rows that are predicted."""
        if not rounds:
            return np.empty((0, len(self.labels)))
        return np.stack([(<ClassRound>r).as_row() for r in rounds])

    cpdef object events(self, list rounds, outcomes):
        """Return whether the named class was observed in each round; NaN where nothing was."""
        named = np.array([(<ClassRound>r).named for r in rounds], dtype=np.float64)
        return np.where(np.isnan(outcomes), outcomes, named == outcomes)

    cpdef object group_of(self, Round r):
        """Return the name of a round's group; None without."""
        if (<ClassRound>r).whole is None:
            return None
        for name, kernel in self.groups.items():
            if kernel is (<ClassRound>r).kernel:
                return name

    def whole_of(self, ClassRound r not None):
        """Return what the whole keeps of a round."""
        if r.whole is None:
            return r
        r.whole.join(r)
        return r.whole

    def in_group(self, ClassRound inside not None, ClassRound whole not None):
        """Return a round in a group whose part of the whole this is."""
        inside.whole = whole
        inside.number = inside.batch = whole.number
        return inside


cdef class ClassLearner(Learner):
    """The verbs for one row, each of which is one compiled call where the classes are given."""

    def predict(self, probabilities, *, id=None, by=None, at=None, due=None):
        """Return the recalibrated row, which sums to one, and open a round.

        Without an id, the next `update` without one answers it; a further `predict` without an
        id gives it up. With one, it waits until ``update(label, id)``. An id is used once. `by`
        names the group that the round belongs to, if any; `at` says when it is predicted, for
        deadlines and ``expire(before=...)``, and `due` is the deadline of this row, with
        `silence` or `hold`.
        """
        if not (<ClassRule?>self._rule).grows and type(probabilities) in (ndarray, list, tuple):
            return (<ClassRound>self.open_one(probabilities, id, by, at, due)).as_row()
        return self._predict_named(probabilities, id, by, at, due)

    def update(self, outcome, *, id=None, at=None, weight=None):
        """Learn a label: of the last prediction without an id, or of an id's.

        The answers, and what a weight does, are those of `Recalibrator.update`.
        """
        if not (<ClassRule?>self._rule).grows:
            return self.update_one(outcome, id, at, weight)
        return self._update_named(outcome, id, at, weight)


def one_row(row, K):
    """Return a table of one row, or say that it is none."""
    check_unmasked(row, "probabilities")
    try:
        values = np.asarray(row)
    except ValueError:  # a list of lists of different lengths
        values = np.empty(())
    if values.ndim != 1:
        raise ValueError(f"probabilities must be one row of {K}, got {describe(row)}")
    return values[None]
