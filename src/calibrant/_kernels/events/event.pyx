"""An event forecaster's rounds as Python plays them: one by one, by id, and in a compiled loop."""

from libc.math cimport NAN, fabs, isnan
from libc.stdint cimport int64_t

import numpy as np

from calibrant._checks import as_series, check_real
from calibrant._kernels.events.contexts cimport (
    BUILT_IN,
    ORDERS,
    past_back,
    past_load,
    past_most,
    past_save,
    past_step,
)
from calibrant._kernels.events.contexts import MOST_TIME, PAST_PARTS
from calibrant._kernels.events.event_mixture cimport (
    ALONE,
    HIDDEN,
    RECENT,
    RECENT_RATES,
    EventState,
    EventView,
    event_free,
    event_start,
    event_view,
)
from calibrant._kernels.events.event_rounds cimport EventBegun, EventRound, as_event_round
from calibrant._kernels.events.event_rounds import load_event_rounds, save_event_rounds
from calibrant._kernels.events.event_stages cimport EventStages
from calibrant._kernels.grid cimport grid_bytes
from calibrant._kernels.events.hidden cimport Hidden
from calibrant._kernels.kernel cimport Kernel, array_of
from calibrant._kernels.events.repair cimport repair_load, repair_save
from calibrant._kernels.events.repair import REPAIR_PARTS
from calibrant._kernels.scores.safe cimport safe_load, safe_save
from calibrant._kernels.scores.safe import SAFE_PARTS, check_has_purse
from calibrant._kernels.saved import check_names, check_sum, floats, integer, number
from calibrant._kernels.events.slots cimport Slot, slots_load, slots_save
from calibrant._kernels.events.slots import LEAST, SLOT_PARTS
from calibrant._kernels.rounds.round cimport Round
from calibrant._kernels.rounds.rule cimport Rule
from calibrant._times import rising_times, time_of

cdef double FARTHEST = 11.6       # no logit is farther from 0
cdef Py_ssize_t HIDDEN_SIZE = sizeof(Hidden) // sizeof(double)  # it is nothing but doubles


cdef class EventKernel(EventStages):
    """The rounds of one EventForecaster."""

    cdef public object _late  # the rounds that wait for their outcomes, by id

    @property
    def learned(self):
        """Outcomes learned so far."""
        return self.sharp.learned

    def predict(self, *, id=None, at=None):
        """Return the probability of this round's outcome.

        Without an id it is the same until `update` is called. With one, the round waits for
        ``update(outcome, id=...)``, however many rounds that takes, and the next prediction is that of
        the next round. An id is used once.

        Parameters
        ----------
        id : int or str, optional
            A name for the round.
        at : date, datetime, datetime64 or number of seconds since 1970, optional
            When the outcome happens; not before the last round's. It is this round's time until
            another one is asked about.
        """
        cdef double second = NAN
        if at is not None:
            self.enter()
            second = check_real("at", time_of(at), -MOST_TIME, MOST_TIME)
            self.check_order(second)
        if id is None:
            self.ask(second)
            return Kernel.predict(self)
        made = self.time if at is None else second
        return self._late._predict(second, id, None, None if isnan(made) else made)

    def update(self, outcome, *, id=None):
        """Learn an outcome in [0, 1]: of this round, or of the round with this id.

        Without an id it goes on to the next round. Returns "applied", or "repeated" if the id had
        this outcome before; any other is refused with a `RoundError`.
        """
        if id is not None:
            return self._late.update(outcome, id=id)
        Kernel.update(self, outcome)

    cdef void ask(self, double second) noexcept:
        """Let this be the time of this round, unless it is NaN."""
        if second == second and second != self.time:
            self.time = second
            self._placed = False

    cdef EventRound begin(self, double second):
        """Let this round wait for its outcome, and go on to the next; return the round."""
        cdef EventBegun begun
        self.enter()
        self.ask(second)
        if self.open(&begun) < 0:
            raise MemoryError
        return as_event_round(&begun)

    cdef int check_order(self, double second) except -1:
        if second < self.sharp.past.time:
            raise ValueError(
                f"at must not be before the last round's, {self.sharp.past.time!r} seconds "
                f"since 1970, got {second!r}"
            )
        return 0

    def run(self, outcomes, *, at=None):
        """Run one round an outcome and return the predictions, each made before its outcome.

        Parameters
        ----------
        outcomes : array_like
            Numbers in [0, 1].
        at : array_like, optional
            When each outcome happens, in order.
        """
        cdef const double[::1] seconds
        if at is None:
            return Kernel.run(self, outcomes)
        self.enter()
        outcomes = as_series(outcomes, "outcomes")
        seconds = rising_times(at, len(outcomes), MOST_TIME)
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
        """Return the mixture's own estimate for this round, before it goes to the grid."""
        self.enter()
        if self.ready() < 0:
            raise MemoryError
        return self.view.m

    def _weights(self):
        """Return each expert's share of the estimate of this round.

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
        """Return what the estimates of the experts depend on."""
        return (
            [RECENT_RATES[i] for i in range(RECENT)],
            ORDERS,
            [
                (self.sharp.past.period[i], past_back(&self.sharp.past, self.sharp.past.period[i]))
                for i in range(self.sharp.past.periods)
            ],
            past_step(&self.sharp.past),
        )

    # -- saving ---------------------------------------------------------------------------------

    def __sizeof__(self):
        return (
            object.__sizeof__(self) + grid_bytes(&self.safe)
            + self.sharp.slots.room * sizeof(Slot) + self.sharp.past.room
            + self.ahead * sizeof(EventBegun)
        )

    @property
    def _contexts(self):
        """How many contexts a round has at the most."""
        return (self.sharp.experts - ALONE) // 2

    def _held_rounds(self):
        """Return the rounds whose outcomes are held, in order."""
        cdef int64_t i
        held = [as_event_round(&self.held[i]) for i in range(self.ahead) if self.held[i].number >= 0]
        return sorted(held, key=lambda each: each.number)

    def _get_state(self):
        cdef EventState *s = &self.sharp
        return {
            "held": save_event_rounds(self._held_rounds(), self._contexts),
            "asked": None if isnan(self.time) else self.time,
            "learned": s.learned,
            "trust": s.trust,
            "lag": s.lag,
            "w": array_of(s.w, self.sharp.experts),
            "blend": array_of(s.v, self.sharp.experts),
            "recent": array_of(s.recent, RECENT),
            "hidden": array_of(<double *>s.hidden, HIDDEN * HIDDEN_SIZE),
            **repair_save(&s.repair),
            **slots_save(&s.slots),
            **past_save(&s.past),
            **safe_save(&self.safe),
        }

    def _set_state(self, state, rounds):
        cdef EventState *s = &self.sharp
        cdef Py_ssize_t count = s.experts, i
        names = {"held", "asked", "learned", "trust", "lag", "w", "blend", "recent", "hidden"}
        check_has_purse(state)
        check_names(state, {*names, *REPAIR_PARTS, *SLOT_PARTS, *PAST_PARTS, *SAFE_PARTS})
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
        cdef int64_t learned = integer(state, "learned", low=0, high=rounds)
        cdef double trust = number(state, "trust", low=1e-9, high=1.0)
        cdef double lag = number(state, "lag", low=0.0, high=rounds + self.ahead)
        cdef EventState loaded
        cdef EventRound kept
        cdef Py_ssize_t given = s.past.periods - BUILT_IN
        if event_start(&loaded, self.ahead, given, &s.past.period[BUILT_IN]) < 0:
            raise MemoryError
        try:
            past_load(&loaded.past, state, rounds, learned)
            repair_load(&loaded.repair, state, learned)
            slots_load(&loaded.slots, state, past_most(&loaded.past), learned)
            held = self._load_rounds(state, "held", rounds, loaded.past.opened)
            if held and held[0].number <= rounds - self.ahead:
                raise ValueError(f"saved held must be of the last {self.ahead - 1} rounds")
            if learned + len(held) > rounds:
                raise ValueError(f"saved learned and held must be at most {rounds} rounds")
            safe_load(&self.safe, state, learned)
        except BaseException:
            event_free(&loaded)
            raise
        for i in range(count):
            loaded.w[i], loaded.v[i] = w[i], v[i]
        for i in range(RECENT):
            loaded.recent[i] = recent[i]
        for i in range(HIDDEN * HIDDEN_SIZE):
            (<double *>loaded.hidden)[i] = hidden[i]
        loaded.learned, loaded.trust, loaded.lag = learned, trust, lag
        event_free(s)
        self.sharp, self.time = loaded, time
        self.forget_held()
        for kept in held:
            self.held[kept.begun.number % self.ahead] = kept.begun

    def _load_rounds(self, state, name, rounds, opened):
        """Return saved rounds of the state to be loaded, or raise ValueError."""
        points = floats(state, "z", low=0.0, high=1.0)
        return load_event_rounds(state, name, self._contexts, rounds, opened, points)


cdef class EventRule(Rule):
    """The rounds of an event forecaster that wait for their outcomes, by id.

    A row is the time at which the outcome happens, NaN for none.
    """

    cdef readonly EventKernel kernel

    def __init__(self, EventKernel kernel not None):
        self.kernel, self.is_compiled = kernel, True

    @property
    def rounds(self):
        """Rounds begun so far."""
        return self.kernel._rounds

    @property
    def learned(self):
        """Outcomes learned so far."""
        return self.kernel.sharp.learned

    cdef int64_t begun(self) except -1:
        return self.kernel._rounds

    cpdef object check_one(self, row, by):
        """Nothing to check: the caller has checked the time."""

    cpdef Round begin(self, row, by):
        """Let this round wait for its outcome, and go on to the next."""
        return self.kernel.begin(row)

    cpdef object learn_one(self, Round r, double outcome):
        """Learn an outcome, or hold it until later rounds may use it."""
        self.kernel.enter()
        if self.kernel.answer(&(<EventRound>r).begun, outcome) < 0:
            raise MemoryError

    cpdef object learn(self, list rounds, outcomes):
        """Learn outcomes one by one, in this order."""
        cdef const double[::1] y = outcomes
        cdef Py_ssize_t i
        for i in range(len(rounds)):
            self.learn_one(rounds[i], y[i])
