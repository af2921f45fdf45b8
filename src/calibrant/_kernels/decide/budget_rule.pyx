"""A share of the rows to act on, in every window: a price, limited by what cap and floor still allow.

The threshold is on the log odds z. A slow price tracks the share b that is wanted,

    price += step (acts - b),

and is kept between two quantiles of the recent log odds: the one at which the acts left below the cap
last for the next quarter of a window, and the one at which the floor is still reached in it. Quantiles
come from a histogram in which a row counts half after a twentieth of a window. The constants were
chosen on the flights and on synthetic streams; near them, the share of events caught changes by about 0.01.

Whatever the probabilities do, a row is never acted on if the window that ends with it would be above
the cap, and always if it would be below the floor. Windows of rows are exact: of the last N rows, it
is known which were acted on. The number of rows in a window of time is not known in
advance: the floor only guides the pace, and the cap is a share of the rows so far. It holds both in
the last so many seconds, by a hundred counters that err on the low side, and since the last multiple
of the window: with days, the share acted on never exceeds the cap at any moment of a day.
"""

from libc.math cimport floor as floor_of
from libc.stdint cimport int64_t, uint64_t
from libc.stdlib cimport calloc, free

import numpy as np

from calibrant._kernels.decide.decision_rule cimport (
    FORBIDDEN, NO, YES, DecisionRule, Wish, log_odds,
)
from calibrant._kernels.draws cimport scramble, uniform
from calibrant._kernels.functions cimport pow
from calibrant._kernels.saved import floats, integer, number

cdef enum:
    BINS = 400                        # of the histogram of log odds,
    SLOTS = 100                       # counters of a window in time
cdef double LOWEST = -10.0            # which begins here,
cdef double WIDTH = 0.05              # with bins this wide
cdef double AHEAD = 0.25              # windows in which the room lasts, and the floor is reached
cdef double HALF_LIFE = 0.05          # of the histogram, in windows,
cdef double SHORTEST = 25.0           # and at least so many rows
cdef double LEAST_ROOM = 1e-5         # a share of rows below which no quantile is asked for
cdef double NEVER = 1e9
cdef int64_t REFRESH = 20             # rows from one look at the histogram to the next
cdef int64_t WARM_UP = 200            # rows before the first act that is not forced
cdef double STEADY, BURST
STEADY, BURST = 4.0, 1.0              # steps of the price, in acts of a window
cdef double LARGEST_STEP = 0.1
cdef double TIE = 1e-6                # equal probabilities are told apart by so much, at random
cdef double OVERFLOW = 1e100


cdef class Window:
    """Recent acts, how many more are allowed, and how many are required."""

    cdef readonly double size         # rows in a window
    cdef readonly int64_t acts        # in the window, before the row that is decided now

    cdef void move(self, double at) noexcept nogil:
        """Go on to the next row."""

    cdef bint is_full(self) noexcept nogil:
        """Whether one more act would be above the cap."""
        return True

    cdef bint is_forced(self) noexcept nogil:
        """Whether the window would be below the floor without this row."""
        return False

    cdef double room(self) noexcept nogil:
        """Return the share of the next rows that the cap leaves room for."""
        return 0.0

    cdef double need(self) noexcept nogil:
        """Return the share of the next rows that the floor takes."""
        return 0.0

    cdef void add(self, bint acts) noexcept nogil:
        """Count the row that was decided."""

    def check_times(self, times):
        """Refuse times that cannot come next."""

    def get_state(self):
        """Return what is known of the last rows."""
        raise NotImplementedError

    def set_state(self, state, int64_t rounds):
        """Take over what `get_state` returned, or raise ValueError."""
        raise NotImplementedError


cdef class RowWindow(Window):
    """The last N rows, each of them known."""

    cdef unsigned char *acted         # row i at i % N
    cdef int64_t N, i, most, least
    cdef int64_t ahead, leaving       # so many rows; acts that leave the window within them

    def __cinit__(self, int64_t rows, *args):
        self.acted = <unsigned char *>calloc(rows, 1)
        if self.acted == NULL:
            raise MemoryError

    def __dealloc__(self):
        free(self.acted)

    def __init__(self, int64_t rows, int64_t most, int64_t least):
        self.N, self.size, self.most, self.least = rows, <double>rows, most, least
        self.ahead = max(<int64_t>(AHEAD * rows), 1)

    cdef void move(self, double at) noexcept nogil:
        # The window that ends with row i begins with i - N + 1: row i - N leaves.
        cdef int64_t gone = self.i - self.N
        cdef unsigned char old
        if gone >= 0:
            old = self.acted[gone % self.N]
            self.acts -= old
            self.leaving -= old
        if gone + self.ahead >= 0:
            self.leaving += self.acted[(gone + self.ahead) % self.N]

    cdef bint is_full(self) noexcept nogil:
        return self.acts >= self.most

    cdef bint is_forced(self) noexcept nogil:
        return self.least - self.acts >= max(self.N - self.i, 1)

    cdef double room(self) noexcept nogil:
        cdef int64_t left = self.N - self.i  # of the first window
        if left <= 0:
            return <double>(self.most - self.acts + self.leaving) / self.ahead
        return <double>(self.most - self.acts) / min(self.ahead, left)

    cdef double need(self) noexcept nogil:
        cdef double due = self.least + self.leaving
        if self.i < self.N:
            due = self.least * min(1.0, (<double>self.i + self.ahead) / self.N)
        return (due - self.acts) / self.ahead

    cdef void add(self, bint acts) noexcept nogil:
        self.acted[self.i % self.N] = acts
        self.acts += acts
        self.i += 1

    def get_state(self):
        """Return which of the last rows were acted on."""
        first = max(self.i - self.N, 0)
        rows = [row for row in range(first, self.i) if self.acted[row % self.N]]
        return {"window_rows": np.array(rows, dtype=np.int64)}

    def set_state(self, state, int64_t rounds):
        """Take over which rows were acted on: each within the last window, and not too many."""
        rows = state["window_rows"]
        if not isinstance(rows, np.ndarray) or rows.dtype != np.int64 or rows.ndim != 1:
            raise ValueError("saved window_rows must be an array of int64")
        first = max(rounds - self.N, 0)
        if ((rows < first) | (rows >= rounds)).any() or (np.diff(rows) <= 0).any():
            raise ValueError("saved window_rows must be increasing numbers of the last rows")
        if len(rows) > self.most or self.least - len(rows) > max(self.N - rounds, 0):
            raise ValueError("saved window_rows must be within cap and floor")
        self.i, self.acts = rounds, len(rows)
        self.leaving = (rows < rounds - self.N + self.ahead).sum()
        for row in range(self.N):
            self.acted[row] = 0
        for row in rows.tolist():
            self.acted[row % self.N] = 1


cdef class TimeWindow(Window):
    """The rows of the last so many seconds, in counters."""

    cdef double width, most, least    # of a counter; cap and floor, as shares of the rows
    cdef readonly double last         # the time of the last row
    cdef int64_t slot, rows           # the number of the present counter; rows in all counters
    cdef int64_t[SLOTS + 1] acts_in, rows_in
    cdef int64_t begun_acts, begun_rows  # since the last multiple of the window: a day so far

    def __init__(self, double seconds, double most, double least):
        self.width, self.most, self.least, self.last = seconds / SLOTS, most, least, -np.inf

    cdef void move(self, double at) noexcept nogil:
        cdef int64_t slot = <int64_t>floor_of(at / self.width), k, place
        if block_of(slot) != block_of(self.slot):
            self.begun_acts = self.begun_rows = 0
        for k in range(min(slot - self.slot, SLOTS + 1)):
            place = position(slot - k)
            self.acts -= self.acts_in[place]
            self.rows -= self.rows_in[place]
            self.acts_in[place] = self.rows_in[place] = 0
        self.slot, self.last = slot, at
        self.rows += 1
        self.begun_rows += 1
        self.rows_in[position(slot)] += 1
        # The oldest counter is in part too old: its acts count, and its rows do not.
        self.size = <double>(self.rows - self.rows_in[position(slot + 1)])

    cdef bint is_full(self) noexcept nogil:
        return (
            self.acts + 1 > self.most * self.size
            or self.begun_acts + 1 > self.most * self.begun_rows
        )

    cdef int64_t leaving(self) noexcept nogil:
        cdef int64_t k, found = 0
        for k in range(1, <int64_t>(AHEAD * SLOTS) + 1):
            found += self.acts_in[position(self.slot + k)]
        return found

    cdef double room(self) noexcept nogil:
        return (self.most * self.size - self.acts + self.leaving()) / (AHEAD * self.size)

    cdef double need(self) noexcept nogil:
        return (self.least * self.size - self.acts + self.leaving()) / (AHEAD * self.size)

    cdef void add(self, bint acts) noexcept nogil:
        self.acts += acts
        self.begun_acts += acts
        self.acts_in[position(self.slot)] += acts

    def check_times(self, times):
        """Refuse times that run backwards, or so far from 1970 that counters are not told apart."""
        if not len(times):
            return
        if not (np.abs(times) < 2**52 * self.width).all():
            raise ValueError(f"at must be within {2**52 * self.width:g} of 0 for a window this long")
        before = np.concatenate([[self.last], times[:-1]])
        if (times < before).any():
            row = int((times < before).argmax())
            raise ValueError(
                f"at must not run backwards, got {float(times[row])!r} after "
                f"{float(before[row])!r} at position {row}"
            )

    def get_state(self):
        """Return the counters, and where they are."""
        order = [position(self.slot + 1 + k) for k in range(SLOTS + 1)]
        return {
            "window_last": self.last if self._is_begun() else None,
            "window_acts": np.array([self.acts_in[k] for k in order], dtype=np.int64),
            "window_rows": np.array([self.rows_in[k] for k in order], dtype=np.int64),
            "begun_acts": self.begun_acts, "begun_rows": self.begun_rows,
        }

    def _is_begun(self):
        return self.last > -np.inf

    def set_state(self, state, int64_t rounds):
        """Take over the counters, none with more acts than rows."""
        acts, rows = state["window_acts"], state["window_rows"]
        for name, part in (("window_acts", acts), ("window_rows", rows)):
            if not isinstance(part, np.ndarray) or part.dtype != np.int64 or part.shape != (SLOTS + 1,):
                raise ValueError(f"saved {name} must be {SLOTS + 1} integers")
        if (acts < 0).any() or (acts > rows).any() or int(rows.max()) > rounds or rows.sum() > rounds:
            raise ValueError("saved window_acts must not be more than window_rows, nor these than all")
        far = 2**52 * self.width
        is_begun = state["window_last"] is not None
        if is_begun != (rounds > 0):
            raise ValueError("saved window_last must be the time of the last row")
        begun_rows = integer(state, "begun_rows", low=min(rounds, 1), high=rows.sum())
        self.begun_acts = integer(state, "begun_acts", low=0, high=min(begun_rows, acts.sum()))
        self.begun_rows = begun_rows
        self.last = number(state, "window_last", low=-far, high=far) if is_begun else -np.inf
        self.slot = <int64_t>floor_of(self.last / self.width) if is_begun else 0
        self.acts, self.rows = acts.sum(), rows.sum()
        for k in range(SLOTS + 1):
            self.acts_in[position(self.slot + 1 + k)] = acts[k]
            self.rows_in[position(self.slot + 1 + k)] = rows[k]
        self.size = <double>(self.rows - self.rows_in[position(self.slot + 1)])


cdef inline int64_t block_of(int64_t slot) noexcept nogil:
    """Return the number of the window that a counter belongs to, if windows begin at 0."""
    return (slot if slot >= 0 else slot - SLOTS + 1) // SLOTS


cdef inline int64_t position(int64_t slot) noexcept nogil:
    """Return the place of a counter, whose number may be negative."""
    cdef int64_t place = slot % (SLOTS + 1)
    return place + SLOTS + 1 if place < 0 else place


cdef class BudgetRule(DecisionRule):
    """Act on about a share of the rows: on those with the highest probabilities."""

    cdef readonly double budget, price, highest, lowest
    cdef Window window
    cdef double steps, z
    cdef double[BINS] seen            # the histogram: later rows weigh more
    cdef double weight, total, growth
    cdef uint64_t tie_key
    cdef int64_t warm_up

    def __init__(self, seed, double explore, double budget, Window window not None, bint is_burst):
        super().__init__(seed, explore)
        self.tie_key = scramble(self.key)
        self.budget, self.window = budget, window
        self.steps = BURST if is_burst else STEADY
        self.weight, self.growth, self.highest, self.lowest = 1.0, 1.0, NEVER, -NEVER
        self.warm_up = WARM_UP
        if isinstance(window, RowWindow):
            self.warm_up = max(min(WARM_UP, <int64_t>(window.size / 50.0)), 1)

    @property
    def is_timed(self):
        """Whether the window is one in time."""
        return isinstance(self.window, TimeWindow)

    @property
    def threshold(self):
        """The log odds from which the next row is acted on, unless cap or floor say otherwise."""
        return max(min(self.price, self.highest), self.lowest)

    def check_times(self, times):
        """Refuse times that cannot come next."""
        self.window.check_times(times)

    cdef Wish choose(self, double p, double beside) noexcept nogil:
        cdef double t
        self.window.move(beside)
        self.z = log_odds(p) + TIE * (uniform(self.tie_key, <uint64_t>self._rounds) - 0.5)
        if self._rounds == self.warm_up:
            self.price = self.quantile(self.budget)
        if self._rounds >= self.warm_up and self._rounds % REFRESH == 0:
            self.look()
        if self.window.is_full():
            return FORBIDDEN
        if self.window.is_forced():
            return YES
        t = max(min(self.price, self.highest), self.lowest)
        return YES if self._rounds >= self.warm_up and self.z >= t else NO

    cdef void look(self) noexcept nogil:
        """Find the thresholds between which cap and floor are kept at an even pace."""
        cdef double need = self.window.need(), room = self.window.room()
        self.lowest = self.quantile(min(max(room, LEAST_ROOM), 1.0))
        self.highest = self.quantile(min(need, 1.0)) if need > 0.0 else NEVER

    cdef double quantile(self, double share) noexcept nogil:
        """Return the log odds above which a share of the recent rows lies."""
        cdef double wanted = share * self.total, above = 0.0
        cdef Py_ssize_t k
        for k in range(BINS - 1, -1, -1):
            if above + self.seen[k] >= wanted and self.seen[k] > 0.0:
                return LOWEST + WIDTH * (k + 1) - WIDTH * ((wanted - above) / self.seen[k])
            above += self.seen[k]
        return LOWEST

    cdef void commit(self, double p, bint chosen, bint acts) noexcept nogil:
        cdef double size = max(self.window.size, 1.0), step
        cdef Py_ssize_t k
        self.window.add(acts)
        step = min(self.steps / (self.budget * size), LARGEST_STEP)
        self.price += step * ((1.0 if acts else 0.0) - self.budget)
        k = <Py_ssize_t>((self.z - LOWEST) / WIDTH)
        self.seen[k] += self.weight
        self.total += self.weight
        if self._rounds % REFRESH == 1:
            self.growth = pow(2.0, 1.0 / max(HALF_LIFE * size, SHORTEST))
        self.weight *= self.growth
        if self.weight > OVERFLOW:
            for k in range(BINS):
                self.seen[k] /= self.weight
            self.total /= self.weight
            self.weight = 1.0

    def get_own(self):
        """Return the price, the histogram and the window."""
        return {
            "price": self.price, "highest": self.highest, "lowest": self.lowest,
            "weight": self.weight, "total": self.total, "growth": self.growth,
            "seen": np.array([self.seen[k] for k in range(BINS)]),
        } | self.window.get_state()

    def set_own(self, state):
        """Take over what `get_own` returned, or raise ValueError."""
        price = number(state, "price", low=-NEVER, high=NEVER)
        highest = number(state, "highest", low=-NEVER, high=NEVER)
        lowest = number(state, "lowest", low=-NEVER, high=NEVER)
        weight = number(state, "weight", low=1.0, high=OVERFLOW)
        total = number(state, "total", low=0.0, high=OVERFLOW * SHORTEST * 1e9)
        growth = number(state, "growth", low=1.0, high=2.0)
        seen = floats(state, "seen", size=BINS, low=0.0, high=total)
        if abs(seen.sum() - total) > 1e-6 * total:
            raise ValueError(f"saved seen must sum to {total!r}, got {seen.sum()!r}")
        self.window.set_state(state, self._rounds)
        self.price, self.highest, self.lowest = price, highest, lowest
        self.weight, self.total, self.growth = weight, total, growth
        for k in range(BINS):
            self.seen[k] = seen[k]
