"""The rule for numbers: a forecast in, quantiles out.

`residuals` estimates the location and the scale of the outcome around the forecast,
`quantile_mixture` mixes the resulting quantiles, and `net` keeps each level calibrated. Quantiles
from a model, and those of the whole if a group has its own kernel, are mixed
with these in one more step of the same kind.
"""

from libc.math cimport INFINITY, NAN, fabs, isnan
from libc.stdint cimport int64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

cimport cython
from cpython.bytearray cimport PyByteArray_AS_STRING, PyByteArray_FromStringAndSize

import numpy as np
from numpy import frombuffer

from calibrant._checks import as_series, check_id, describe
from calibrant._groups import check_groups
from calibrant._kernels.functions cimport log
from calibrant._kernels.numbers.limits cimport LARGEST as MOST, greater, lesser
from calibrant._kernels.numbers.net cimport Net
from calibrant._kernels.numbers.quantile_mixture cimport (
    KNOTS, LARGEST as LARGEST_REGRET, REGRETS, RUNS, SQUARE, TOTAL, Levels,
    QuantileMixture, Shapes, regret_steps, share_out, sort,
)
from calibrant._kernels.numbers.quantile_mixture import check_regrets
from calibrant._kernels.numbers.residuals cimport Residuals
from calibrant._kernels.numbers.residuals import limits_of
from calibrant._kernels.rounds.round cimport Round, weight_of
from calibrant._kernels.rounds.rule cimport Rule
from calibrant._kernels.saved import check_names, integer, number

#: No forecast and no outcome is larger.
LARGEST = MOST
cdef enum:
    LEAST_SAFE = 2                # a prediction made from fewer outcomes teaches no shape,
    LEAST_WEIGHED = 5             # and no weight
    LATE_KNOWN = 20               # outcomes until one that is very late is told from the others
    PORTION = 256                 # rows of a run between two looks for Ctrl-C
cdef double LATE_RATE = 0.01
cdef double PAST_RATE = 0.05
cdef double[2] GIVEN_PRIOR = [0.2, 0.8]  # of the mixture, and of what is given
cdef double[2] GIVEN_SURPRISE = [-log(0.2), -log(0.8)]
cdef double SNAPSHOTS = 8.0       # shapes that are kept for the rounds that wait


cdef double as_number(object value, str name, bint missing) except? -1.0:
    """Return a finite number; where one may be missing, NaN for None."""
    cdef double number
    try:
        if value is None and missing:
            return NAN
        if type(value) is not float and getattr(value, "shape", ()) != ():
            raise TypeError  # an array of one element would pass for a number
        number = value
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{name} must be a number, got {describe(value)}") from None
    if not fabs(number) <= MOST and not (missing and isnan(number)):
        raise ValueError(f"{name} must be a number in [{-MOST:g}, {MOST:g}], got {number!r}")
    return number


def as_numbers(values, str name, *, bint missing):
    """Return numbers as an array of its own; where they may be missing, NaN for None and NaN."""
    if missing and (isinstance(values, list | tuple) or getattr(values, "dtype", None) == object):
        values = [NAN if each is None else each for each in values]
    numbers = np.array(as_series(values, name), dtype=np.float64)
    bad = ~(np.abs(numbers) <= LARGEST)
    if missing:
        bad &= ~np.isnan(numbers)
    if bad.any():
        at = int(bad.argmax())
        raise ValueError(
            f"{name} must be numbers in [{-LARGEST:g}, {LARGEST:g}], "
            f"got {float(numbers[at])!r} at position {at}"
        )
    return numbers


@cython.final
@cython.no_gc
@cython.freelist(256)
cdef class NumberRound(Round):
    """A round whose outcome is still to come."""

    def __dealloc__(self):
        free(self.token)

    cdef double as_raw(self):
        return self.m

    cdef double as_prediction(self):
        return self.at_level(0.5)

    cdef double as_expected(self):
        return self.at_level(0.5)

    cdef double at_level(self, double level):
        """Return the quantile at a level, or at the nearest one."""
        cdef int k, best = 0
        cdef const double *tau = self.kernel.levels.level
        for k in range(self.kernel.levels.K):
            if fabs(tau[k] - level) < fabs(tau[best] - level):
                best = k
        return self.kernel.shown(self, best)

    @property
    def levels(self):
        """The levels of its quantiles."""
        return self.kernel.levels.tau

    @property
    def quantiles(self):
        """What was predicted, at the levels of the recalibrator."""
        cdef int k, K = self.kernel.levels.K
        # A view of new memory takes half the time of an array and a view of that.
        memory = PyByteArray_FromStringAndSize(NULL, K * sizeof(double))
        cdef double *to = <double *>PyByteArray_AS_STRING(memory)
        for k in range(K):
            to[k] = self.kernel.shown(self, k)
        return frombuffer(memory)


cdef class NumberKernel:
    """Residuals, their quantiles and the net, of one stream of numbers."""

    def __cinit__(self, levels, periods, double low, double high):
        cdef int i, g
        self.levels = Levels(levels)
        self.residuals = Residuals(periods)
        self.mixture = QuantileMixture(self.levels)
        self.net = Net(self.levels)
        self.anchor = self.mixture.live
        self.low, self.high = low, high
        self.late.spread = 1.0
        self.mixed = <double *>malloc(self.levels.K * sizeof(double))
        self.below = <double *>malloc(self.levels.K * sizeof(double))
        if not (self.mixed and self.below):
            raise MemoryError
        for i in range(2 * KNOTS * REGRETS):
            self.given_regrets[i] = 0.0
        for i in range(2 * KNOTS):
            self.given_weights[i] = GIVEN_PRIOR[i % 2]
            g = i // 2 * REGRETS
            self.given_regrets[2 * (g + SQUARE) + i % 2] = 1e-6
            self.given_regrets[2 * (g + RUNS) + i % 2] = 1e-6
            self.given_regrets[2 * (g + LARGEST_REGRET) + i % 2] = 1e-3

    def __dealloc__(self):
        free(self.mixed)
        free(self.below)

    cdef double shown(self, NumberRound r, int k) noexcept nogil:
        """Return a quantile as it is told: of the outcome, within the bounds."""
        return lesser(self.high, greater(self.low, r.m + r.predicted[k]))

    cdef int begin(self, NumberRound r, double m, const double *given) except -1:
        """Predict a round: quantiles around m, NaN for none, from others that are given or NULL."""
        cdef int K = self.levels.K, extra = 0 if given == NULL else K + KNOTS, k
        cdef double[2 * KNOTS] weights
        r.token = <double *>malloc((self.residuals.size + K + extra) * sizeof(double))
        if r.token == NULL:
            raise MemoryError
        r.predicted = r.token + self.residuals.size
        r.given, r.has_given = r.predicted + K, given != NULL
        r.m = lesser(self.high, greater(self.low, self.past)) if isnan(m) else m
        r.far = 2.0 * self.residuals.known.far
        r.place, r.known = self.begun, self.learned
        if self.learned - self.anchor.n > <int64_t>(self.late.rounds / SNAPSHOTS):
            self.anchor = self.mixture.live
        r.kernel, r.shapes = self, self.anchor
        self.residuals.look(r.m, self.begun, self.learned, r.token)
        self.mixture.say(self.mixture.live, self.residuals, r.token, r.far, r.place)
        memcpy(self.mixed, self.mixture.mixed, K * sizeof(double))
        sort(self.mixed, K)
        if given != NULL:
            for k in range(K):
                r.given[k] = given[k] - r.m
            for k in range(KNOTS):
                # Before anything is learned, what is given is all there is.
                r.given[K + k] = (
                    1.0 if self.learned <= LEAST_WEIGHED else self.given_weights[2 * k + 1]
                )
            self.mix_given(r.given, r.given + K, self.mixed)
            sort(self.mixed, K)
        r.turn = self.net.place(
            self.mixed, r.far, self.learned, self.late.rounds, r.predicted
        )
        self.begun += 1
        return 0

    cdef void mix_given(
        self, const double *given, const double *weights, double *mixed
    ) noexcept nogil:
        """Mix quantiles with others, which have these weights at the knots."""
        cdef int k, g
        cdef double weight
        for k in range(self.levels.K):
            g = self.levels.knot[k]
            weight = self.levels.hat[k] * weights[g] + (1.0 - self.levels.hat[k]) * weights[g + 1]
            mixed[k] = (1.0 - weight) * mixed[k] + weight * given[k]

    cdef void weigh_given(self, NumberRound r, double residual, double weight) noexcept nogil:
        """Learn how good the mixture and the given quantiles were."""
        cdef int k, g, i, K = self.levels.K
        cdef double grad, mine, theirs, mid = r.token[self.residuals.at_s + 1]
        cdef double[2 * KNOTS] loss
        cdef double[2] eta
        cdef double centre
        cdef double *both = self.below
        cdef double *regrets
        self.mixture.say(r.shapes, self.residuals, r.token, r.far, r.place)
        memcpy(self.mixed, self.mixture.mixed, K * sizeof(double))
        memcpy(both, self.mixed, K * sizeof(double))
        self.mix_given(r.given, r.given + K, both)
        for i in range(2 * KNOTS):
            loss[i] = 0.0
        for k in range(K):
            grad = weight * ((1.0 if residual <= both[k] else 0.0) - self.levels.level[k]) / mid
            mine, theirs = grad * (both[k] - self.mixed[k]), grad * (both[k] - r.given[k])
            g = 2 * self.levels.knot[k]
            loss[g] += self.levels.hat[k] * mine
            loss[g + 1] += self.levels.hat[k] * theirs
            loss[g + 2] += (1.0 - self.levels.hat[k]) * mine
            loss[g + 3] += (1.0 - self.levels.hat[k]) * theirs
        for g in range(KNOTS):
            centre = (1.0 - r.given[K + g]) * loss[2 * g] + r.given[K + g] * loss[2 * g + 1]
            for i in range(2):
                loss[2 * g + i] = (loss[2 * g + i] - centre) / self.levels.hats[g]
            regrets = self.given_regrets + 2 * g * REGRETS
            regret_steps(regrets, 2, loss + 2 * g, GIVEN_SURPRISE, &self.late, eta)
            share_out(GIVEN_PRIOR, eta, regrets + 2 * TOTAL, 2, self.given_weights + 2 * g)

    cdef void note_lateness(self, NumberRound r, int64_t n) noexcept nogil:
        """Learn how late outcomes are: how many others were learned while a round waited.

        Of one that began before anything was known, how many began. One that is very late says
        little about the others.
        """
        cdef double D, waited = self.learned - r.known if r.known else self.begun - 1 - r.place
        if n > LATE_KNOWN:
            waited = lesser(waited, 4.0 * self.late.rounds + 8.0)
        self.late.rounds += greater(LATE_RATE, 1.0 / n) * (waited - self.late.rounds)
        self.late.is_late = self.late.is_late or waited > 0.0
        D = self.late.rounds + 1.0
        self.late.spread = 1.0 / (2.0 / D - 1.0 / (D * D))

    cdef int learn(self, NumberRound r, double outcome, double weight) except -1:
        """Learn the outcome of a round.

        Its weight determines how far weights, shapes, locations and scales move. The net, which guarantees
        coverage over the outcomes, counts it once, as do the statistics of the past.
        """
        cdef double residual = outcome - r.m, tau
        cdef int k
        cdef int64_t n = self.learned + 1
        self.note_lateness(r, n)
        # With outcomes at once, nobody but this round holds the live shapes, and it ends here.
        self.mixture.own_live(
            3 if r.shapes is self.mixture.live and self.late.rounds < SNAPSHOTS else 1
        )
        if r.known > LEAST_SAFE:
            for k in range(self.levels.K):
                tau = self.levels.level[k]
                if r.predicted[k] == INFINITY:
                    self.below[k] = 1.0 - tau
                elif r.predicted[k] == -INFINITY:
                    self.below[k] = -tau
                elif outcome == self.shown(r, k):
                    self.below[k] = 0.0
                else:
                    self.below[k] = (1.0 if outcome < self.shown(r, k) else 0.0) - tau
            self.net.learn(self.below, r.turn >= 0, n, &self.late)
        if r.known > LEAST_WEIGHED:
            if r.has_given:
                self.weigh_given(r, residual, weight)
            self.mixture.weigh(
                r.shapes, self.residuals, r.token, r.far, r.place, residual, weight, &self.late
            )
        if r.known > LEAST_SAFE:
            self.mixture.shape(self.residuals, r.token, residual, weight, n)
        self.residuals.learn(
            r.token, r.m, residual, weight, r.place, n, r.known, self.late.rounds
        )
        self.past += greater(PAST_RATE, 1.0 / n) * (outcome - self.past)
        self.learned = self.mixture.live.n = n
        return 0

    cdef int give_up(self, NumberRound r) except -1:
        """Forget a round that nothing will be learned of."""
        if r.turn >= 0 and r.turn == self.net.turn - 1:
            self.net.turn -= 1
        elif r.turn >= 0:
            self.net.give_back(r.turn)
        return 0

    # -- saving ---------------------------------------------------------------------------------

    def shapes_held(self, rounds):
        """Return all shapes in use: the live ones, those that new rounds get, those of rounds."""
        cdef NumberRound r
        found = [self.mixture.live]
        for shapes in [self.anchor] + [r.shapes for r in rounds if r.kernel is self]:
            if all(shapes is not each for each in found):
                found.append(shapes)
        return found

    def save(self, list rounds not None):
        """Return the state, with what is kept of rounds that wait, those of others left out."""
        cdef NumberRound r
        cdef double[::1] row
        cdef int i, K = self.levels.K, size = self.residuals.size + 2 * K + KNOTS + 2
        held = self.shapes_held(rounds)
        index = {id(each): at for at, each in enumerate(held)}
        own = [r for r in rounds if r.kernel is self]
        whole = np.array(
            [[r.place, r.known, r.turn, r.has_given, index[id(r.shapes)]] for r in own],
            dtype=np.int64,
        ).reshape(-1, 5)
        real = np.zeros((len(own), size))
        for i, r in enumerate(own):
            row = real[i]
            row[0], row[1] = r.m, r.far
            memcpy(
                &row[2], r.token,
                (self.residuals.size + K + (K + KNOTS if r.has_given else 0)) * sizeof(double),
            )
        given = np.empty(12 * KNOTS)
        row = given
        memcpy(&row[0], self.given_regrets, 10 * KNOTS * sizeof(double))
        memcpy(&row[10 * KNOTS], self.given_weights, 2 * KNOTS * sizeof(double))
        return {
            **self.residuals.save(), **self.net.save(), "regrets": self.mixture.save(),
            "given": given, "begun": self.begun, "learned": self.learned,
            "late": self.late.rounds, "is_late": int(self.late.is_late), "past": self.past,
            "shapes": np.concatenate([each.save() for each in held]),
            "shapes_known": np.array([each.n for each in held], dtype=np.int64),
            "anchor": index[id(self.anchor)],
            "round_counts": whole.ravel(), "round_numbers": real.ravel(),
        }

    def round_limits(self):
        """Return between what the saved numbers of a round lie; NaN for its quantiles."""
        cdef int K = self.levels.K
        return limits_of([
            (1, -MOST, MOST),                     # the forecast
            (1, 0.0, 4.0 * MOST),                 # how far from it anything can be
            *self.residuals.features(),
            (K, NAN, NAN),
            (K, -100.0 * MOST, 100.0 * MOST),     # what was given, and its weights
            (KNOTS, 0.0, 1.0),
        ])

    def load(self, dict state not None):
        """Take over what `save` returned; return the rounds that wait."""
        cdef NumberRound r
        cdef const double[::1] row
        cdef int i, K = self.levels.K, size = self.residuals.size + 2 * K + KNOTS + 2
        check_names(state, set(self.save([])))
        begun = integer(state, "begun", low=0, high=2**62)
        learned = integer(state, "learned", low=0, high=begun)
        most = number(state, "most", low=0.0, high=begun)
        known = as_integers(state["shapes_known"], "shapes_known")
        numbers = as_doubles(state["shapes"], "shapes")
        if not len(known) or len(numbers) % len(known) or not (known <= learned).all() or (
            known[0] != learned or (known < 0).any()
        ):
            raise ValueError("saved shapes must have been made of outcomes that were learned")
        held = [
            Shapes.restored(K, n, each)
            for n, each in zip(known.tolist(), np.split(numbers, len(known)), strict=True)
        ]
        given = as_doubles(state["given"], "given")
        if len(given) != 12 * KNOTS:
            raise ValueError("saved given must have 60 numbers")
        check_regrets(
            given[: 10 * KNOTS].reshape(KNOTS, REGRETS, 2).transpose(0, 2, 1).ravel(), learned
        )
        weights = given[10 * KNOTS :].reshape(KNOTS, 2)
        if not (weights >= 0.0).all() or not (np.abs(weights.sum(axis=1) - 1.0) < 1e-9).all():
            raise ValueError("saved given must have weights that sum to 1")
        whole = as_integers(state["round_counts"], "round_counts").reshape(-1, 5)
        real = as_doubles(state["round_numbers"], "round_numbers", infinite=True)
        if len(real) != len(whole) * size:
            raise ValueError("saved round_numbers must be of the saved rounds")
        turn = integer(state, "turn", low=0, high=begun)
        self.residuals.load(
            as_doubles(state["residuals"], "residuals"), as_integers(state["phases"], "phases")
        )
        self.net.load(
            as_doubles(state["biases"], "biases"), as_doubles(state["runs"], "runs"), most, turn,
            as_integers(state["turns"], "turns"), learned,
        )
        self.mixture.load(as_doubles(state["regrets"], "regrets"), held[0])
        self.anchor = held[integer(state, "anchor", low=0, high=len(held) - 1)]
        row = given
        memcpy(self.given_regrets, &row[0], 10 * KNOTS * sizeof(double))
        memcpy(self.given_weights, &row[10 * KNOTS], 2 * KNOTS * sizeof(double))
        self.begun, self.learned = begun, learned
        self.late.rounds = number(state, "late", low=0.0, high=begun)
        self.late.is_late = integer(state, "is_late", low=0, high=1)
        self.late.spread = 1.0 / (
            2.0 / (self.late.rounds + 1.0) - 1.0 / (self.late.rounds + 1.0) ** 2
        )
        self.past = number(state, "past", low=-LARGEST, high=LARGEST)
        if len(whole) > begun - learned:
            raise ValueError(f"saved rounds must be some of the {begun - learned} without an outcome")
        rounds, (low, high) = [], self.round_limits()
        for i, (place, before, turn, has_given, at) in enumerate(whole.tolist()):
            values = real[i * size : (i + 1) * size]
            predicted = values[2 + self.residuals.size : 2 + self.residuals.size + K]
            if not (
                0 <= place < begun and 0 <= before <= learned
                and -1 <= turn < self.net.turn and has_given in (0, 1) and 0 <= at < len(held)
            ):
                raise ValueError("a saved round must have begun here")
            if not ((values >= low) & (values <= high) | np.isnan(low)).all():
                raise ValueError("a saved round must have features that a prediction can have")
            if np.isnan(predicted).any() or not (predicted[1:] >= predicted[:-1]).all():
                raise ValueError("a saved round must have quantiles that do not cross")
            r = NumberRound.__new__(NumberRound)
            r.kernel, r.shapes, r.place, r.known = self, held[at], place, before
            r.turn, r.has_given, r.m, r.far = turn, has_given, values[0], values[1]
            r.token = <double *>malloc((size - 2) * sizeof(double))
            if r.token == NULL:
                raise MemoryError
            row = values
            memcpy(r.token, &row[2], (size - 2) * sizeof(double))
            r.predicted = r.token + self.residuals.size
            r.given = r.predicted + K
            r.number = r.batch = place
            rounds.append(r)
        return rounds


def as_doubles(values, name, *, infinite=False):
    """Return a saved array of numbers."""
    if not isinstance(values, np.ndarray) or values.dtype != np.float64 or values.ndim != 1:
        raise ValueError(f"saved {name} must be an array of float64")
    if not infinite and not np.isfinite(values).all():
        raise ValueError(f"saved {name} must be finite")
    return np.ascontiguousarray(values)


def as_integers(values, name):
    """Return a saved array of integers."""
    if not isinstance(values, np.ndarray) or values.dtype != np.int64 or values.ndim != 1:
        raise ValueError(f"saved {name} must be an array of int64")
    return np.ascontiguousarray(values)


cdef class NumberRule(Rule):
    """The rounds of one recalibrator of numbers."""

    def __init__(self, NumberKernel whole not None, max_groups=0):
        self.whole, self.groups, self.max_groups = whole, {}, max_groups
        self.is_weighted = self.is_compiled = True

    def take_over(self, NumberRule other not None):
        """Take over all that another rule has learned."""
        self.whole, self.groups = other.whole, other.groups

    @property
    def rounds(self):
        """Rounds begun so far."""
        return self.whole.begun

    @property
    def learned(self):
        """Outcomes learned so far."""
        return self.whole.learned

    cdef int64_t begun(self) except -1:
        return self.whole.begun

    # -- predictions ----------------------------------------------------------------------------

    cpdef object check(self, rows, by):
        """Return forecasts, or forecasts and quantiles in rows, as numbers of their own."""
        if not (isinstance(rows, np.ndarray) and rows.ndim == 2):
            rows = as_numbers(rows, "forecasts", missing=True)
        if by is not None:
            check_groups(by, len(rows), "forecasts", self.groups, self.max_groups)
        return rows

    cpdef object check_one(self, row, by):
        """Refuse a forecast that is none, or a group that cannot be."""
        if not isinstance(row, np.ndarray) or row.ndim != 1:
            as_number(row, "forecast", True)
        if by is not None:
            check_groups([by], 1, "forecasts", self.groups, self.max_groups)

    cdef NumberKernel kernel_of(self, object by):
        """Return the kernel of a group, which has one from now on."""
        # As it is saved: a number of NumPy's is one of Python's.
        name = by if type(by) is str or type(by) is int else check_id(by, "by")
        found = self.groups.get(name)
        return self.new_group(name) if found is None else found

    def new_group(self, by):
        """Return a fresh kernel for a group."""
        cdef NumberKernel whole = self.whole
        made = self.groups[by] = NumberKernel(
            whole.levels.tau, whole.residuals.periods, whole.low, whole.high
        )
        return made

    cdef NumberRound begun_in(self, double m, const double *given, object by):
        """Predict a round, in its group if it has one."""
        cdef NumberRound r = NumberRound.__new__(NumberRound), inside
        cdef int k
        cdef NumberKernel whole = self.whole
        whole.begin(r, m, given)
        r.number = r.batch = whole.begun - 1
        if by is None:
            return r
        inside = NumberRound.__new__(NumberRound)
        for k in range(whole.levels.K):  # what the whole expects is given to the group
            whole.mixed[k] += r.m
        self.kernel_of(by).begin(inside, r.m, whole.mixed)
        inside.number = inside.batch = r.number
        inside.whole = r
        return inside

    cpdef Round begin(self, row, by):
        """Predict a forecast, or a forecast with quantiles."""
        cdef const double[::1] values
        if by is not None:
            check_groups([by], 1, "forecasts", self.groups, self.max_groups)
        if isinstance(row, np.ndarray) and row.ndim == 1:
            values = row
            return self.begun_in(values[0], &values[1], by)
        return self.begun_in(as_number(row, "forecast", True), NULL, by)

    cpdef list begin_many(self, rows, by):
        """Predict forecasts that were checked."""
        cdef Py_ssize_t i
        return [
            self.begun_in_row(rows[i], None if by is None else by[i]) for i in range(len(rows))
        ]

    def begun_in_row(self, row, by):
        """Predict a row that was checked."""
        cdef const double[::1] values
        if np.ndim(row):
            values = row
            return self.begun_in(values[0], &values[1], by)
        return self.begun_in(row, NULL, by)

    def look(self, row, by):
        """Return the quantiles that a round would have now; changes nothing."""
        cdef NumberRound r
        cdef NumberKernel kernel, inside = None
        cdef Shapes anchor = self.whole.anchor, within = None
        is_new = by is not None and by not in self.groups
        if by is not None and not is_new:
            inside = self.groups[by]
            within = inside.anchor
        r = self.begin(row, by)
        quantiles = r.quantiles
        self.drop(r)
        if is_new:
            del self.groups[by]
        while r is not None:
            kernel = r.kernel
            kernel.begun -= 1
            r = r.whole
        self.whole.anchor = anchor
        if inside is not None:
            inside.anchor = within
        return quantiles

    # -- outcomes -------------------------------------------------------------------------------

    cpdef double outcome_of(self, outcome) except? -1.0:
        """Return one outcome as a number within the bounds."""
        cdef double y = as_number(outcome, "outcome", False)
        if not self.whole.low <= y <= self.whole.high:
            raise ValueError(f"outcome must be in [{self.whole.low:g}, {self.whole.high:g}], got {y!r}")
        return y

    cpdef object outcomes_of(self, outcomes):
        """Return outcomes as numbers of their own, within the bounds."""
        return self.within(as_numbers(outcomes, "outcomes", missing=False))

    def known_outcomes(self, outcomes):
        """Return outcomes as numbers of their own, NaN where one is not known."""
        return self.within(as_numbers(outcomes, "outcomes", missing=True))

    def within(self, outcomes):
        """Refuse outcomes beyond the bounds."""
        outside = (outcomes < self.whole.low) | (outcomes > self.whole.high)
        if outside.any():
            at = int(outside.argmax())
            raise ValueError(
                f"outcomes must be in [{self.whole.low:g}, {self.whole.high:g}], "
                f"got {float(outcomes[at])!r} at position {at}"
            )
        return outcomes

    cpdef object learn(self, list rounds, outcomes):
        """Learn outcomes that count together, one after the other."""
        cdef const double[::1] y = outcomes
        cdef Py_ssize_t i
        for i in range(len(rounds)):
            self.learn_one(rounds[i], y[i])

    cpdef object learn_one(self, Round r, double outcome):
        """Learn one outcome, in its group too."""
        cdef NumberRound inside = <NumberRound>r
        if inside.whole is not None:
            inside.whole.kernel.learn(inside.whole, outcome, weight_of(r))
        inside.kernel.learn(inside, outcome, weight_of(r))

    cpdef object drop(self, Round r):
        """Forget a round that nothing will be learned of."""
        cdef NumberRound inside = <NumberRound>r
        if inside.whole is not None:
            inside.whole.kernel.give_up(inside.whole)
        inside.kernel.give_up(inside)

    def run(self, rows, by, const double[::1] outcomes):
        """Predict row after row, each outcome being known at once, NaN for none; all are checked.

        Returns the quantiles, a row each.
        """
        cdef Py_ssize_t i, k, size = outcomes.shape[0], K = self.whole.levels.K
        cdef NumberRound r
        cdef const double[:, ::1] table = None
        cdef const double[::1] column = None
        if rows.ndim == 2:
            table = rows
        else:
            column = rows
        found = np.empty((size, K))
        cdef double[:, ::1] to = found
        for i in range(size):
            if i % PORTION == 0:
                with nogil:  # let other threads have a turn
                    pass
                PyErr_CheckSignals()
            name = None if by is None else by[i]
            if column is not None:
                r = self.begun_in(column[i], NULL, name)
            else:
                r = self.begun_in(table[i, 0], &table[i, 1], name)
            for k in range(K):
                to[i, k] = r.kernel.shown(r, <int>k)
            if isnan(outcomes[i]):
                self.drop(r)
            else:
                self.learn_one(r, outcomes[i])
        return found

    # -- what is told of a round -----------------------------------------------------------------

    cpdef object answer(self, Round r):
        """Return the quantiles of a round."""
        return (<NumberRound>r).quantiles

    cpdef object answers(self, list rounds):
        """Return the quantiles of rounds, a row each."""
        if not rounds:
            return np.empty((0, self.whole.levels.K))
        return np.stack([(<NumberRound>r).quantiles for r in rounds])

    cpdef object group_of(self, Round r):
        """Return the name of a round's group; None without."""
        if (<NumberRound>r).whole is None:
            return None
        for name, kernel in self.groups.items():
            if kernel is (<NumberRound>r).kernel:
                return name

    def whole_of(self, NumberRound r not None):
        """Return what the whole keeps of a round."""
        return r if r.whole is None else r.whole

    def in_group(self, NumberRound inside not None, NumberRound whole not None):
        """Return a round in a group whose part of the whole this is."""
        inside.whole = whole
        inside.number = inside.batch = whole.number
        return inside


cdef extern from "Python.h":
    int PyErr_CheckSignals() except -1
