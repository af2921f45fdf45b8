"""The round of an event forecaster: the past becomes a mean (sharp), then a point of a grid (safe).

A round is *opened* when its prediction stands and the next one is asked for: by its outcome, or
before that is known. It is learned with the contexts that it had then, once its outcome is known and
the next round to be opened is at least `ahead` rounds later; until then the outcome is *held*.
"""

from libc.math cimport NAN
from libc.stdint cimport int64_t
from libc.stdlib cimport free, malloc

import numpy as np

from calibrant._kernels.events.contexts cimport past_open
from calibrant._kernels.events.event_mixture cimport (
    EventView,
    event_free,
    event_learn,
    event_reserve,
    event_start,
    event_view,
)
from calibrant._kernels.events.event_rounds cimport EventBegun, event_keep, event_recall
from calibrant._kernels.grid cimport grid_free
from calibrant._kernels.kernel cimport Kernel
from calibrant._kernels.scores.mixing cimport lag_after
from calibrant._kernels.scores.safe cimport Place, safe_learn, safe_place, safe_start

cdef double LENIENT = 1.25  # of the safe stage: repaired estimates are less often wrong than scores


cdef class EventStages(Kernel):
    """The mixture and the grid of one event forecaster, and what is held."""

    def __cinit__(self, *args, **kwargs):
        self.time, self.ahead = NAN, 1
        if event_start(&self.sharp, 1, 0, NULL) < 0 or safe_start(&self.safe, LENIENT) < 0:
            raise MemoryError

    def __init__(self, seed, periods, int64_t ahead):
        super().__init__(seed)
        cdef int64_t[::1] given = np.array(periods, dtype=np.int64)
        cdef const int64_t *first = &given[0] if given.shape[0] else NULL
        event_free(&self.sharp)
        if event_start(&self.sharp, ahead, given.shape[0], first) < 0:
            raise MemoryError
        free(self.held)
        self.held = <EventBegun *>malloc(ahead * sizeof(EventBegun))
        if self.held == NULL:
            raise MemoryError
        self.ahead = ahead
        self.forget_held()

    def __dealloc__(self):
        event_free(&self.sharp)
        grid_free(&self.safe)
        free(self.held)

    cdef int place(self) noexcept nogil:
        cdef Place place
        if self.times != NULL:
            self.time = self.times[self._rounds - self.first]
        event_view(&self.sharp, self.time, &self.view)
        place = safe_place(&self.safe, self.view.u)
        self.points[0], self.points[1] = place.lo, place.hi
        self.weights[0], self.weights[1] = place.share, 1.0 - place.share
        self.bet = place.bet
        self.size = 1 if place.lo == place.hi else 2
        return 0

    cdef int learn(self, double y) noexcept nogil:
        cdef EventBegun *held
        if self.ahead == 1:
            if self.learn_round(&self.view, self.points[self.chosen], y, self.bet, 0.0) < 0:
                return -1
        else:
            held = &self.held[self._rounds % self.ahead]
            self.keep(held)
            held.y = y
            if self.release() < 0:
                held.number = -1
                return -1
        self.leave()
        return 0

    cdef void keep(self, EventBegun *begun) noexcept nogil:
        """Keep this round."""
        event_keep(
            begun, &self.view, self._rounds, self.points[self.chosen], self.mean(), self.bet
        )

    cdef int open(self, EventBegun *begun) noexcept nogil:
        """Go on to the next round before this one's outcome is known; -1 without memory.

        `begun` is then what `answer` takes once it is.
        """
        if self.ready() < 0:
            return -1
        self.keep(begun)
        if self.ahead > 1 and self.release() < 0:
            return -1
        self.leave()
        self._rounds += 1
        self._placed = False
        return 0

    cdef int answer(self, const EventBegun *begun, double y) noexcept nogil:
        """Learn the outcome of a round of `open`, or hold it; -1 without memory."""
        cdef EventBegun *held
        if begun.number + self.ahead > self._rounds:
            held = &self.held[begun.number % self.ahead]
            held[0] = begun[0]
            held.y = y
            return 0
        if self.learn_begun(begun, y, self._rounds) < 0:
            return -1
        self._placed = False
        return 0

    cdef int learn_round(
        self, const EventView *view, double z, double y, bint bet, double late
    ) noexcept nogil:
        """Learn the outcome of a round that predicted z; -1 if there was no memory.

        So many rounds were opened since.
        """
        if event_reserve(&self.sharp, view) < 0:
            return -1
        if safe_learn(&self.safe, view.u, z, y, bet, lag_after(self.sharp.lag, late)) < 0:
            return -1
        event_learn(&self.sharp, view, z, y, late)
        return 0

    cdef int learn_begun(
        self, const EventBegun *begun, double y, int64_t opened
    ) noexcept nogil:
        """Learn a round that was kept, of so many opened; -1 if there was no memory."""
        cdef EventView view
        event_recall(begun, &view)
        return self.learn_round(&view, begun.z, y, begun.bet, <double>(opened - begun.number - 1))

    cdef int release(self) noexcept nogil:
        """Learn what the next round may use and this one may not; -1 if there was no memory."""
        cdef int64_t number = self._rounds + 1 - self.ahead
        cdef EventBegun *held
        if number < 0:
            return 0
        held = &self.held[number % self.ahead]
        if held.number != number:
            return 0  # its outcome is not known yet
        if self.learn_begun(held, held.y, self._rounds + 1) < 0:
            return -1
        held.number = -1
        return 0

    cdef void leave(self) noexcept nogil:
        """Let this round be in the past."""
        past_open(&self.sharp.past, &self.view.asked)
        self.time = NAN

    cdef void forget_held(self) noexcept nogil:
        cdef int64_t i
        for i in range(self.ahead):
            self.held[i].number = -1
