"""The round of an event forecaster: the past becomes a mean (sharp), then a point of a grid (safe)."""

from libc.math cimport NAN, fabs, isnan
from libc.stdint cimport int64_t

import numpy as np

from calibrant._checks import as_series, check_real
from calibrant._kernels.contexts cimport (
    BUILT_IN,
    ORDERS,
    past_load,
    past_most,
    past_open,
    past_save,
    past_step,
)
from calibrant._kernels.contexts import MOST_TIME, PAST_PARTS
from calibrant._kernels.event_mixture cimport (
    HIDDEN,
    RECENT,
    RECENT_RATES,
    EventState,
    EventView,
    event_free,
    event_learn,
    event_reserve,
    event_start,
    event_view,
)
from calibrant._kernels.grid cimport Grid, grid_bytes, grid_free, grid_load, grid_save
from calibrant._kernels.grid import GRID_PARTS
from calibrant._kernels.hidden cimport Hidden
from calibrant._kernels.kernel cimport Kernel, array_of
from calibrant._kernels.safe cimport (
    Place, safe_counted, safe_learn, safe_place, safe_start, safe_weigh,
)
from calibrant._kernels.saved import check_names, check_sum, floats, integer, number
from calibrant._kernels.slots cimport Slot, slots_load, slots_save
from calibrant._kernels.slots import LEAST, SLOT_PARTS
from calibrant._times import rising_times, time_of

cdef double FARTHEST = 11.6       # no logit is farther from 0
cdef Py_ssize_t HIDDEN_SIZE = sizeof(Hidden) // sizeof(double)  # it is nothing but doubles


cdef class EventKernel(Kernel):
    """The mixture and the grid of one EventForecaster."""

    cdef EventState sharp
    cdef Grid safe
    cdef EventView view           # of this round
    cdef double time              # of this round; NaN without
    cdef const double *times      # of the rounds of a `run`, the first of which is number `first`
    cdef int64_t first

    def __cinit__(self, *args, **kwargs):
        self.time = NAN
        if event_start(&self.sharp, 0, NULL) < 0 or safe_start(&self.safe) < 0:
            raise MemoryError

    def __init__(self, seed, periods):
        super().__init__(seed)
        cdef int64_t[::1] given = np.array(periods, dtype=np.int64)
        if given.shape[0]:
            event_free(&self.sharp)
            if event_start(&self.sharp, given.shape[0], &given[0]) < 0:
                raise MemoryError

    def __dealloc__(self):
        event_free(&self.sharp)
        grid_free(&self.safe)

    # -- the round ------------------------------------------------------------------------------

    cdef int place(self) noexcept nogil:
        cdef Place place
        if self.times != NULL:
            self.time = self.times[self._rounds - self.first]
        event_view(&self.sharp, self.time, &self.view)
        place = safe_place(&self.safe, self.view.u)
        self.points[0], self.points[1] = place.lo, place.hi
        self.weights[0], self.weights[1] = place.share, 1.0 - place.share
        self.size = 1 if place.lo == place.hi else 2
        return 0

    cdef int learn(self, double y) noexcept nogil:
        if event_reserve(&self.sharp, &self.view) < 0:
            return -1
        if safe_learn(&self.safe, self.view.u, self.points[self.chosen], y) < 0:
            return -1
        event_learn(&self.sharp, &self.view, self.points[self.chosen], y)
        past_open(&self.sharp.past, &self.view.asked)
        self.time = NAN
        return 0

    # -- the contract ---------------------------------------------------------------------------

    def predict(self, *, time=None):
        """Return the probability of this round's outcome; the same until `update` is called.

        Parameters
        ----------
        time : date, datetime, datetime64 or number of seconds since 1970, optional
            When the outcome happens; not before the last round's. It is this round's time until
            another one is asked about.
        """
        cdef double second
        if time is not None:
            self.enter()
            second = check_real("time", time_of(time, "time"), -MOST_TIME, MOST_TIME)
            self.check_order(second)
            if second != self.time:
                self.time = second
                self._placed = False
        return Kernel.predict(self)

    cdef int check_order(self, double second) except -1:
        if second < self.sharp.past.time:
            raise ValueError(
                f"time must not be before the last round's, {self.sharp.past.time!r} seconds "
                f"since 1970, got {second!r}"
            )
        return 0

    def run(self, outcomes, *, times=None):
        """Run one round an outcome and return the predictions, each made before its outcome.

        Parameters
        ----------
        outcomes : array_like
            Numbers in [0, 1].
        times : array_like, optional
            When each outcome happens, in order.
        """
        cdef const double[::1] seconds
        if times is None:
            return Kernel.run(self, outcomes)
        self.enter()
        outcomes = as_series(outcomes, "outcomes")
        seconds = rising_times(times, len(outcomes), MOST_TIME)
        if len(outcomes) == 0:
            return np.empty(0)
        self.check_order(seconds[0])
        placed = self._placed
        self.times, self.first, self._placed = &seconds[0], self._rounds, False
        try:
            return Kernel.run(self, outcomes)
        except ValueError:  # an outcome was refused, and nothing was played
            self._placed = placed
            raise
        finally:
            self.times = NULL

    def _mean(self):
        """Return the mixture's own word for this round, before it goes to the grid."""
        self.enter()
        if self.ready() < 0:
            raise MemoryError
        return self.view.m

    def _weights(self):
        """Return each expert's share of what is asked for in this round.

        The share of the blend is divided by how much each expert moves it. If no time is asked
        about, but the last round had one, the round is taken to be at that time.
        """
        cdef Py_ssize_t i
        cdef EventView view
        self.enter()
        event_view(&self.sharp, self.sharp.past.time if isnan(self.time) else self.time, &view)
        weights, pull = np.zeros(self.sharp.experts), np.zeros(self.sharp.experts)
        for i in range(view.count):
            if view.p[i] > 0.0:
                weights[i] = self.sharp.w[i]
            pull[i] = fabs(self.sharp.v[i] * view.x[i])
        weights *= self.sharp.trust / weights.sum()
        weights[RECENT] += 1.0 - self.sharp.trust  # the slowest mean
        if pull.sum() > 0.0:
            weights += weights[0] / pull.sum() * pull
            weights[0] = 0.0
        return weights

    def _described(self):
        """Return what the words of the experts depend on."""
        return (
            [RECENT_RATES[i] for i in range(RECENT)],
            ORDERS,
            [self.sharp.past.period[i] for i in range(self.sharp.past.periods)],
            past_step(&self.sharp.past),
        )

    # -- saving ---------------------------------------------------------------------------------

    def __sizeof__(self):
        return (
            object.__sizeof__(self) + grid_bytes(&self.safe)
            + self.sharp.slots.room * sizeof(Slot) + self.sharp.past.room
        )

    def _get_state(self):
        cdef EventState *s = &self.sharp
        return {
            "asked": None if isnan(self.time) else self.time,
            "learned": s.learned,
            "trust": s.trust,
            "w": array_of(s.w, self.sharp.experts),
            "blend": array_of(s.v, self.sharp.experts),
            "recent": array_of(s.recent, RECENT),
            "hidden": array_of(<double *>s.hidden, HIDDEN * HIDDEN_SIZE),
            **slots_save(&s.slots),
            **past_save(&s.past),
            **grid_save(&self.safe),
        }

    def _set_state(self, state, rounds):
        cdef EventState *s = &self.sharp
        cdef Py_ssize_t count = s.experts, i
        names = {"asked", "learned", "trust", "w", "blend", "recent", "hidden"}
        check_names(state, {*names, *SLOT_PARTS, *PAST_PARTS, *GRID_PARTS})
        w = floats(state, "w", size=count, low=0.0, high=1.0)
        # A step of the blend is at most its rate times a logit.
        most = 0.01 * FARTHEST * (rounds + 10.0)
        v = floats(state, "blend", size=count, low=-most, high=most)
        recent = floats(state, "recent", size=RECENT, low=LEAST, high=1.0 - LEAST)
        hidden = floats(state, "hidden", size=HIDDEN * HIDDEN_SIZE, low=1e-300, high=1.0)
        if not (w > 0.0).all():
            raise ValueError("saved w must be positive")
        check_sum("w", w, 1.0, 0)
        if (hidden.reshape(HIDDEN, HIDDEN_SIZE)[:, :5] >= 1.0).any():
            raise ValueError("saved hidden must have probabilities below 1")
        cdef double time = NAN
        if state["asked"] is not None:
            time = number(state, "asked", low=-MOST_TIME, high=MOST_TIME)
        cdef int64_t learned = integer(state, "learned", low=rounds, high=rounds)
        cdef double trust = number(state, "trust", low=1e-9, high=1.0)
        cdef EventState loaded
        if event_start(&loaded, s.past.periods - BUILT_IN, &s.past.period[BUILT_IN]) < 0:
            raise MemoryError
        try:
            past_load(&loaded.past, state, rounds)
            slots_load(&loaded.slots, state, past_most(&loaded.past), rounds)
            grid_load(&self.safe, state, rounds, safe_counted(rounds, len(state["z"])))
        except BaseException:
            event_free(&loaded)
            raise
        for i in range(count):
            loaded.w[i], loaded.v[i] = w[i], v[i]
        for i in range(RECENT):
            loaded.recent[i] = recent[i]
        for i in range(HIDDEN * HIDDEN_SIZE):
            (<double *>loaded.hidden)[i] = hidden[i]
        loaded.learned, loaded.trust = learned, trust
        event_free(s)
        self.sharp, self.time = loaded, time
        for i in range(self.safe.count):
            safe_weigh(&self.safe, i)
