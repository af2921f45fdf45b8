"""Contexts: what a round has in common with earlier ones.

- *Orders.* The last d outcomes known, d = 0 to 12, in the order of their rounds. An outcome counts as
  a 1 if it is above 1/2.
- *Busy.* Two fast means of the outcomes, in sixteen classes each, and the last outcome.
- *Run.* How many of the last outcomes were equal: exactly up to 64, then in eight classes for each
  doubling.
- *Periods.* For a period of P rounds three contexts: the outcomes P - 1, P and P + 1 rounds ago with
  the last two; the phase, which is the place in time modulo P; the phase with the last outcome. If
  the outcomes of a period ago are not known yet, they are those of the fewest periods ago that are.
- *Calendar*, for rounds with a time: the hour of the day, the weekday and the month, each with the
  last outcome, and the hour of the week.

A round's place in time is the number of rounds before it. With times, gaps are respected: if most
steps between times are equal, a longer step is taken for rounds that are missing. Their places are
skipped. Where the last outcome known lies further back than usual, behind a gap or because it is
late, the round has contexts of its own: what its last outcomes mean may differ.
"""

from libc.math cimport NAN, floor, isnan
from libc.stdint cimport int64_t, uint32_t
from libc.stdlib cimport free, malloc
from libc.string cimport memset

import numpy as np

from calibrant._kernels.functions cimport pow
from calibrant._kernels.kernel cimport array_of
from calibrant._kernels.saved import floats, integer, number

cdef enum:
    UNKNOWN = 2
    GAP_BIT = 1 << (KEY_BITS - 1)     # set if the last outcome is far back
    DAY = 86400

cdef double[2] BUSY_RATES
BUSY_RATES[:] = [0.3, 0.1]
cdef int64_t[BUILT_IN] PERIODS        # a week of days, days of hours and half hours, and so on
PERIODS[:] = [7, 24, 48, 168, 365]
cdef int64_t LONGEST_RUN = 64 << 8    # longer runs are all the same
cdef double REGULAR = 0.1             # steps that differ less from the usual one are equal to it
cdef int64_t FARTHEST = 1 << 20       # no gap is longer, in rounds

BUILT_IN_PERIODS = tuple(PERIODS[i] for i in range(BUILT_IN))
MOST_GIVEN = MOST_PERIODS - BUILT_IN
LONGEST_PERIOD = 10_000
MOST_TIME = 1e12                      # seconds that a time may be away from 1970
PAST_PARTS = ("bits", "run", "busy", "opened", "newest", "at", "time", "timed", "step")


cdef int past_start(
    Past *past, int64_t ahead, Py_ssize_t given, const int64_t *period
) noexcept nogil:
    """Start without a past, with these periods besides the built-in ones; -1 without memory."""
    cdef Py_ssize_t i
    cdef int64_t longest = 0
    memset(past, 0, sizeof(Past))
    past.periods = BUILT_IN + given
    for i in range(past.periods):
        past.period[i] = PERIODS[i] if i < BUILT_IN else period[i - BUILT_IN]
        if past.period[i] > longest:
            longest = past.period[i]
    past.room = 1
    while past.room < longest + 2:
        past.room *= 2
    past.at = <signed char *>malloc(past.room)
    if past.at == NULL:
        return -1
    memset(past.at, UNKNOWN, past.room)
    past.busy[0] = past.busy[1] = 0.5
    past.ahead = ahead
    past.opened = past.newest = -1
    past.time = NAN
    return 0


cdef void past_free(Past *past) noexcept nogil:
    free(past.at)


cdef inline int outcome_at(const Past *past, int64_t place) noexcept nogil:
    return UNKNOWN if place > past.newest else past.at[place & (past.room - 1)]


cdef inline uint32_t run_class(int64_t run) noexcept nogil:
    cdef uint32_t doublings = 0
    if run < 64:
        return <uint32_t>run
    if run >= LONGEST_RUN:
        run = LONGEST_RUN - 1
    while (run >> doublings) >= 128:
        doublings += 1
    return 64 + 8 * doublings + <uint32_t>((run >> doublings) - 64) / 8


cdef inline uint32_t busy_class(double mean) noexcept nogil:
    return 15 if mean >= 0.9375 else <uint32_t>(16.0 * mean)


cdef double past_step(const Past *past) noexcept nogil:
    """Return the median of the last steps if most are nearly equal to it, otherwise 0."""
    cdef double[STEPS] sorted
    cdef Py_ssize_t i, k
    cdef double step
    if past.timed < STEPS:
        return 0.0
    for i in range(STEPS):
        step, k = past.step[i], i
        while k > 0 and sorted[k - 1] > step:
            sorted[k] = sorted[k - 1]
            k -= 1
        sorted[k] = step
    step, k = sorted[STEPS // 2], 0
    for i in range(STEPS):
        k += (1.0 - REGULAR) * step <= sorted[i] <= (1.0 + REGULAR) * step
    return step if k > STEPS // 2 else 0.0


cdef int64_t missing_before(const Past *past, double time) noexcept nogil:
    """Return how many rounds are missing between the last round asked about and this time."""
    cdef double usual, steps
    if isnan(time) or isnan(past.time):
        return 0
    usual = past_step(past)
    if usual <= 0.0:
        return 0
    steps = floor((time - past.time) / usual + 0.5)
    return 0 if steps < 2.0 else FARTHEST if steps > FARTHEST else <int64_t>steps - 1


cdef int64_t past_back(const Past *past, int64_t period) noexcept nogil:
    """Return the fewest whole periods, in rounds, after which the next outcome is known too."""
    cdef int64_t least = past.opened - past.newest + 2
    return period * ((least + period - 1) / period) if least > period else period


cdef uint32_t month_of(int64_t day) noexcept nogil:
    """Return the month, from 0, of a day counted from 1970-01-01, in the Gregorian calendar."""
    # From 1 March 0000, in eras of 400 years and 146,097 days (Hinnant, chrono-compatible dates).
    cdef int64_t era, of_era, year, of_year
    day += 719468
    era = (day if day >= 0 else day - 146096) / 146097
    of_era = day - era * 146097
    year = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365
    of_year = of_era - (365 * year + year / 4 - year / 100)
    return <uint32_t>(((5 * of_year + 2) / 153 + 2) % 12)


cdef inline void put(Asked *asked, uint32_t gap, uint32_t value) noexcept nogil:
    """Add the key of the next context; 0 is no key."""
    asked.key[asked.count] = (<uint32_t>asked.count << KEY_BITS | gap | value) + 1
    asked.count += 1


cdef void past_ask(const Past *past, double time, Asked *asked) noexcept nogil:
    """Say what the next round, at this time or NaN, has in common with earlier ones."""
    cdef int64_t missing = missing_before(past, time)
    cdef int64_t place = past.opened + 1 + missing, before, day
    cdef uint32_t gap = GAP_BIT if place - past.newest > past.ahead else 0
    cdef uint32_t last = <uint32_t>past.bits & 1, two = <uint32_t>past.bits & 3
    cdef uint32_t value, phase, hour, weekday
    cdef Py_ssize_t i
    asked.place, asked.time, asked.count = place, time, 0
    put(asked, 0, 0)
    for i in range(1, ORDERS):
        put(asked, gap, <uint32_t>past.bits & ((1 << i) - 1))
    value = 16 * busy_class(past.busy[0]) + busy_class(past.busy[1])
    put(asked, gap, 2 * value + last)
    put(asked, gap, 2 * run_class(past.run) + last)
    for i in range(past.periods):
        before = place - past_back(past, past.period[i])
        value = outcome_at(past, before - 1)
        value = 3 * value + outcome_at(past, before)
        value = 3 * value + outcome_at(past, before + 1)
        put(asked, gap, 4 * value + two)
        phase = <uint32_t>(place % past.period[i])
        put(asked, 0, phase)
        put(asked, gap, 2 * phase + last)
    if isnan(time):
        return
    day = <int64_t>floor(time / DAY)
    hour = <uint32_t>((time - <double>day * DAY) / 3600.0)
    weekday = <uint32_t>(((day + 3) % 7 + 7) % 7)  # from Monday: 1970-01-01 was a Thursday
    put(asked, gap, 2 * hour + last)
    put(asked, gap, 2 * weekday + last)
    put(asked, gap, 2 * month_of(day) + last)
    put(asked, 0, 24 * weekday + hour)


cdef void past_open(Past *past, const Asked *asked) noexcept nogil:
    """Go on to the next round in time."""
    if not isnan(asked.time):
        if not isnan(past.time) and asked.time > past.time:
            past.step[past.timed % STEPS] = asked.time - past.time
            past.timed += 1
        past.time = asked.time
    past.opened = asked.place


cdef void past_learn(Past *past, int64_t place, double y) noexcept nogil:
    """Add the outcome at a place in time; those of later rounds may be known already."""
    cdef int bit = y > 0.5, last = <int>(past.bits & 1), known, i
    cdef int64_t newer = 0, at       # outcomes known of later rounds
    cdef bint in_run = True          # are they all equal?
    cdef uint64_t low
    cdef double rate
    if place <= past.newest - past.room:
        return  # so late that its place is taken
    for at in range(place + 1, past.newest + 1):
        known = past.at[at & (past.room - 1)]
        if known != UNKNOWN:
            newer += 1
            in_run = in_run and known == last
    if in_run:
        past.run = past.run + 1 if past.run > 0 and bit == last else newer if newer else 1
    if newer < 64:
        low = past.bits & (((<uint64_t>1) << newer) - 1)
        past.bits = (past.bits - low) << 1 | (<uint64_t>bit) << newer | low
    for i in range(2):
        rate = BUSY_RATES[i]
        if newer:
            rate *= pow(1.0 - rate, newer)  # as much as it would count if it had come in time
        past.busy[i] += rate * (y - past.busy[i])
    if place > past.newest:
        at = past.newest + 1 if place - past.newest <= past.room else place - past.room + 1
        while at < place:
            past.at[at & (past.room - 1)] = UNKNOWN
            at += 1
        past.newest = place
    past.at[place & (past.room - 1)] = bit


cdef uint32_t past_most(const Past *past) noexcept nogil:
    """Return a number that is above all keys."""
    return <uint32_t>(STATES + BY_PERIOD * past.periods + CALENDAR) << KEY_BITS


# -- saving -----------------------------------------------------------------------------------------


cdef dict past_save(const Past *past):
    """Return everything by name."""
    cdef Py_ssize_t i
    return {
        # As two halves: numbers are saved as those of JSON, which some readers hold in 53 bits.
        "bits": np.array([past.bits >> 32, past.bits & 0xFFFFFFFF], dtype=np.float64),
        "run": past.run,
        "busy": array_of(past.busy, 2),
        "opened": past.opened,
        "newest": past.newest,
        "at": np.array([past.at[i] for i in range(past.room)], dtype=np.float64),
        "time": None if isnan(past.time) else past.time,
        "timed": past.timed,
        "step": array_of(past.step, STEPS),
    }


cdef object past_load(Past *past, object state, int64_t rounds, int64_t learned):
    """Take over what `past_save` returned, or raise and change nothing."""
    bits = floats(state, "bits", size=2, low=0.0, high=2.0**32 - 1.0)
    busy = floats(state, "busy", size=2, low=0.0, high=1.0)
    at = floats(state, "at", size=past.room, low=0.0, high=UNKNOWN)
    step = floats(state, "step", size=STEPS, low=0.0, high=2.0 * MOST_TIME)
    if (bits % 1.0).any() or (at % 1.0).any():
        raise ValueError("saved bits and at must be whole numbers")
    cdef int64_t run = integer(state, "run", low=0, high=learned)
    # Each round may come after a gap.
    cdef int64_t opened = integer(state, "opened", low=-1, high=rounds * (FARTHEST + 1))
    cdef int64_t newest = integer(state, "newest", low=-1, high=opened)
    cdef int64_t timed = integer(state, "timed", low=0, high=rounds)
    cdef double time = NAN
    if state["time"] is not None:
        time = number(state, "time", low=-MOST_TIME, high=MOST_TIME)
    cdef Py_ssize_t i
    past.bits = <uint64_t>bits[0] << 32 | <uint64_t>bits[1]
    past.run, past.opened, past.newest, past.timed, past.time = run, opened, newest, timed, time
    for i in range(2):
        past.busy[i] = busy[i]
    for i in range(past.room):
        past.at[i] = <signed char>at[i]
    for i in range(STEPS):
        past.step[i] = step[i]
