"""The rounds of a monitor: evidence, an alarm, an episode in a named cell, and its end.

An alarm is raised when the evidence R reaches the threshold. It opens an episode, which names a cell
and the round at which the cell's CUSUM started: the rounds since then are the strongest evidence against
the null. Then only that cell is monitored, for recovery, by a Shiryaev-Roberts sum against "the odds are
still B times those predicted": L <- f (L + 1), with f the likelihood ratio of p to q, whose odds
are B times those of p. B stands for a third of the estimated bias. At CLOSE the episode ends
and all evidence starts over. The same happens if no round falls into the cell for GONE times as long as
one took before the alarm, or, with pending rounds, almost none: a cell that is no longer predicted never
recovers.

An episode of a range stops all other evidence. An episode of a group does not stop that of other groups:
each of them continues separately, and raises an alarm when its own part of R reaches the threshold. Once
no episode is open, all evidence starts over.

This is all while each outcome arrives before the next prediction. From the moment a second
round is pending, evidence is kept in pots (pots.pyx): stakes are placed when a prediction is made, and
rounds are counted then. Stakes that are open at an alarm, or at a restart, are void.

In blocks, the outcomes of a block are held until it is complete. Predictions that are made `ahead`
rounds before their outcomes hold these as long.
"""

from libc.math cimport NAN, fabs, frexp, isinf, isnan, ldexp
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t
from libc.stdlib cimport free, realloc
from libc.string cimport memcpy, memmove, memset

import numpy as np

from calibrant._kernels.functions cimport exp, log
from calibrant._kernels.watch.evidence cimport (
    CELLS, DATING, GROUPS_AT, LEVELS, RANGES, SKETCH, SLOPES, SLOPES_AT, SLOPE_WEIGHT, STEPS, TILTS,
    Bets, Cell, Evidence, Range,
    as_prediction, begin_block, begin_blocks, bets_of, count_in_block, count_outcome,
    count_prediction, date_onset, evidence_restart, evidence_start, granted, mean_of, play,
    play_in_group, range_of, settle_ranges, sum_of, tilt_weight,
)
from calibrant._kernels.watch.pots cimport (
    FORGET, NO_STAKE, STAKES, WHOLE_STAKE, Flow, OfGroup, Pot, Waiting,
    ask_pot, code_of, pay_pot, share_of, share_of_losses, stake_of, stake_pot,
)
from calibrant._kernels.interrupts cimport hold, release
from calibrant._kernels.kernel cimport UNINTERRUPTED, array_of, as_outcome

cdef int64_t LONGEST = 2**32 - 1
cdef double CLOSE = 1e6          # of the sum that ends an episode
cdef double LEAST_CLOSE = 100.0  # times D, where D rounds wait
cdef double ROUNDED = 1e-3       # by how much a sum of many stakes may be off
cdef double MOST_CUSUM = 1e30    # what counts is whether it is above 1
cdef double MOST_UNLIKE = 4.0    # times the loss of its opposite that the loss of a bet counts as
cdef double RECOVERY_LEVERAGE = 2.0
cdef double RECOVERY_SCALE = 2.0**20
cdef double WIDEST_SHIFT = 2.0   # of the logit, that recovery is tested against
cdef int64_t GONE = 100
cdef int64_t RARER = 10          # times as rare as before the alarm is as good as gone
cdef int64_t FEWEST_GONE = 1000  # rounds without one of the cell that are never enough
cdef double EULER = 2.718281828459045
cdef double[2] DATING_LEVERAGES
DATING_LEVERAGES[:] = [0.25, 0.64]
cdef enum:
    NOTHING, ALARM, END          # what a step can bring
    WHOLE = -1                   # the group of a round that has none
    NO_MEMORY = -2
    LEAST_ROOM = 64
    VISITS = LEVELS + 2          # of a round: ranges, slopes, its group

#: A cell as it lies in memory, a pot, and a round that waits.
CELL = np.dtype([
    ("M", "f4", 8), ("W", "f4", 4), ("start", "u4", 4), ("S", "f4", 2),
    ("n", "u4", 2),
])
POT = np.dtype([
    ("cash", "f8", TILTS), ("loss", "f8", TILTS), ("D", "f8"), ("open", "i8"), ("asked", "i8"),
])
WAITING = np.dtype([("key", "i8"), ("p", "f8"), ("t", "u4"), ("stakes", "u1", STAKES)])
OF_GROUP = np.dtype([("group", "i4"), ("stakes", "u1", TILTS)])
#: An open episode: counts, then sums.
OPEN = np.dtype([
    *((name, "i8") for name in (
        "named", "direction", "fresh", "recovered", "seen", "most_unseen", "credit",
        "asked", "waiting",
    )),
    *((name, "f8") for name in ("margin", "L", "loss", "D", "escrow", "W")),
])
assert WAITING.itemsize == sizeof(Waiting) == 64 and OF_GROUP.itemsize == sizeof(OfGroup)
assert CELL.itemsize == sizeof(Cell) and POT.itemsize == sizeof(Pot)
assert OPEN.itemsize == sizeof(Open)
FIRST_GROUP, FIRST_POT_OF_GROUP, RANGE_COUNT = CELLS, GROUPS_AT, RANGES
RANGE_SIZE = sizeof(Range) // sizeof(double)
SKETCH_SIZE, SLOPE_COUNT, MOST_RECOVERY, LATE_RECOVERY = SKETCH, SLOPES, CLOSE, LEAST_CLOSE
FEWEST_UNSEEN, MOST_UNSEEN = FEWEST_GONE, GONE
MOST_WHOLE = STAKES + TILTS

cdef struct HeldOutcome:                # an outcome that came, and does not count yet
    int64_t key
    int64_t t
    double y

cdef struct Open:                # an episode that is not over
    int64_t named                # its cell; CELLS + g is group g
    int64_t direction            # 0: more happened than was predicted; 1: less
    int64_t fresh                # the first key since the alarm
    int64_t recovered            # the round in which the CUSUM of f started
    int64_t seen                 # the predictions that those in the cell stand for, all or fewer,
    int64_t most_unseen          # so many fewer that the episode is over,
    int64_t credit               # and how many each of them stands for
    int64_t asked, waiting       # as a pot has them
    double margin                # the factor B of the odds
    double L
    double loss, D
    double escrow                # what stakes may lose
    double W                     # the CUSUM of f, which dates the recovery

cdef struct Standing:            # how a group stands
    int64_t open                 # which of the open episodes is its own; -1 if none
    int64_t fresh                # older stakes on it are void

cdef struct Course:              # where a monitor stands, besides its evidence
    int64_t rounds               # predictions so far
    int64_t restarted            # those before the evidence started anew
    int64_t key                  # the last key that was given
    int64_t counted              # the first key since the restart,
    int64_t fresh                # and since that or the alarm: older stakes are void
    bint is_late                 # is the evidence in pots?
    double escrow                # what stakes may lose, weighted
    uint32_t began               # rounds from the restart to the block that began last,
    int lane                     # and whether its number is odd
    # The one round that waits while nothing is late.
    bint has_lone
    int64_t lone_key
    double lone_p
    Py_ssize_t lone_group
    int64_t in_block             # rounds of the block so far
    Py_ssize_t releasing         # held outcomes that count now
    Py_ssize_t open              # how many episodes are open: one of a range, or of groups
    int64_t gone_at              # before so many predictions none of them is over for want of rounds
    # The episode that ended last.
    Py_ssize_t ended
    int64_t recovered


cdef class MonitorKernel:
    """The evidence of one Monitor, and its open episode."""

    cdef Evidence evidence_
    cdef Course course
    cdef Cell *groups
    cdef Standing *standing
    cdef Py_ssize_t group_count
    cdef Open *opened            # the open episodes, in the order of their alarms
    cdef Py_ssize_t open_room
    cdef double threshold
    cdef double scale            # of stakes: a power of 2, near the threshold
    cdef double alpha_           # 0 if the guarantee is one a number of rounds
    cdef bint running            # is a thread inside `run`?
    cdef int64_t block_          # the most rounds that a block may have
    cdef int64_t ahead_          # predictions made before the outcome of one is known
    cdef int64_t patience_       # rounds that may wait
    # Where something waits: pots of the ranges, the slopes and the groups; the rounds, in the order
    # of their keys; what a round staked that came before anything was late.
    cdef Pot *pots
    cdef Waiting *waiting
    cdef OfGroup *of_group
    cdef Py_ssize_t room, length, head, live
    cdef int64_t whole_key
    cdef double[STAKES + TILTS] whole
    cdef HeldOutcome *held
    cdef Py_ssize_t held_room, held_head, held_length
    # Where rounds stood that were settled since a mark, which may come back.
    cdef Py_ssize_t *removed
    cdef Py_ssize_t removed_room, removed_count
    cdef bint is_marked

    def __init__(
        self, double threshold, double alpha, double tolerance, int64_t block, int64_t ahead,
        int64_t patience,
    ):
        cdef int exponent
        self.threshold, self.alpha_, self.block_ = threshold, alpha, block
        self.ahead_, self.patience_ = ahead, patience
        frexp(threshold, &exponent)
        self.scale = ldexp(1.0, exponent)
        self.whole_key, self.course.key = -1, -1
        evidence_start(&self.evidence_, tolerance)
        self._set_group_count(0)

    def __dealloc__(self):
        free(self.groups)
        free(self.standing)
        free(self.opened)
        free(self.pots)
        free(self.waiting)
        free(self.of_group)
        free(self.held)
        free(self.removed)

    # -- a round whose outcome comes next ---------------------------------------------------------

    cdef inline bint is_calm(self) noexcept nogil:
        """Whether nothing waits, and nothing of what waited is left."""
        return not (self.course.is_late or self.course.has_lone or self.block_ > 1
                    or self.ahead_ > 1)

    cdef int step(self, double p, double y, Py_ssize_t group, int64_t t) noexcept nogil:
        """Play round t whole, while nothing else waits, and return what it brought."""
        cdef Evidence *v = &self.evidence_
        cdef Py_ssize_t r = range_of(v, p)
        cdef Cell *cell = NULL
        cdef Bets bets
        if group != WHOLE:
            cell = &self.groups[group]
        if not self.course.open:
            bets = bets_of(v.tolerance, p, y)
            play(v, cell, &bets, r, y - p, granted(self.alpha_, t), self.since_restart(t))
        elif not self.recover(p, y, group, t) and cell != NULL and self.is_of_groups():
            bets = bets_of(v.tolerance, p, y)
            play_in_group(cell, &bets, y - p, granted(self.alpha_, t), self.since_restart(t))
        count_outcome(v, r, p, y)
        if count_prediction(v, p, t) and not self.course.open:
            settle_ranges(v, False)
        self.course.rounds = t + 1
        return self.conclude(group)

    cdef int conclude(self, Py_ssize_t group) noexcept nogil:
        """Return what a step of a group brought: an alarm, the end of an episode, or nothing."""
        cdef Course *c = &self.course
        cdef Py_ssize_t own
        if not c.open:
            return self.open_episode() if self.evidence_.R >= self.threshold else NOTHING
        own = self.open_of(group) if self.is_of_groups() else 0
        if own >= 0:
            if self.opened[own].L >= self.close_of(&self.opened[own]):
                return self.end_episode(own)
        elif group != WHOLE and self.evidence_of(group) >= self.threshold:
            return self.open_episode_of(
                CELLS + group, self.against(CELLS + group, 1) > self.against(CELLS + group, 0)
            )
        if c.rounds >= c.gone_at:
            c.gone_at = LONGEST << 30
            for own in range(c.open):
                if c.rounds - self.opened[own].seen >= self.opened[own].most_unseen:
                    c.gone_at = 0
                    return self.end_episode(own)
                c.gone_at = min(c.gone_at, self.opened[own].seen + self.opened[own].most_unseen)
        return NOTHING

    cdef inline bint is_of_groups(self) noexcept nogil:
        """Whether the open episodes are of groups, so that other groups are watched on."""
        return self.opened[0].named >= CELLS

    cdef inline Py_ssize_t open_of(self, Py_ssize_t group) noexcept nogil:
        """Return which open episode is that of a group; -1 if it has none."""
        return WHOLE if group == WHOLE else self.standing[group].open

    cdef inline double close_of(self, const Open *own) noexcept nogil:
        """Return the L at which an episode is over."""
        if self.course.is_late and own.D > 1.0:
            return own.D * max(LEAST_CLOSE, CLOSE / (own.D * own.D))
        return CLOSE

    cdef int end_episode(self, Py_ssize_t at) noexcept nogil:
        """End an open episode. After the last, all evidence starts anew; else that of its group."""
        cdef Course *c = &self.course
        cdef Py_ssize_t named = self.opened[at].named, i
        c.ended, c.recovered = named, self.opened[at].recovered
        if c.open == 1:
            self.restart()
            return END
        c.open -= 1
        memmove(&self.opened[at], &self.opened[at + 1], (c.open - at) * sizeof(Open))
        self.standing[named - CELLS].open = WHOLE
        for i in range(at, c.open):
            self.standing[self.opened[i].named - CELLS].open = i
        memset(self.cell_at(named), 0, sizeof(Cell))
        if c.is_late:
            memset(self.pots[named + 1].cash, 0, sizeof(self.pots[named + 1].cash))
        return END

    cdef inline uint32_t since_restart(self, int64_t t) noexcept nogil:
        """Return the rounds from the restart to round t, as far as four bytes count."""
        cdef int64_t since = t - self.course.restarted
        return <uint32_t>(LONGEST if since > LONGEST else since)

    cdef void restart(self) noexcept nogil:
        cdef Course *c = &self.course
        cdef Py_ssize_t i
        evidence_restart(&self.evidence_, c.is_late)
        if self.group_count:
            memset(self.groups, 0, self.group_count * sizeof(Cell))
        for i in range(self.group_count):
            self.standing[i].open, self.standing[i].fresh = WHOLE, 0
        c.escrow, c.open = 0.0, 0
        c.began, c.lane = 0, 0
        c.restarted = c.rounds
        c.fresh = c.counted = c.key + 1
        if c.is_late:
            self.recount(0)
            c.is_late = self.live > 0

    # -- rounds that wait -------------------------------------------------------------------------

    cdef Py_ssize_t visited(self, double p, Py_ssize_t group, Py_ssize_t *at) noexcept nogil:
        """Give the pots that a round visits: of ranges, of slopes, of its group; return how many."""
        cdef Py_ssize_t r = range_of(&self.evidence_, p), k
        for k in range(LEVELS):
            at[k] = (1 << k) - 1 + (r >> (LEVELS - 1 - k))
        at[LEVELS] = SLOPES_AT
        at[LEVELS + 1] = GROUPS_AT + group
        return VISITS - (group == WHOLE)

    cdef inline double weight_at(self, Py_ssize_t pot) noexcept nogil:
        """Return the weight of each bet of a pot."""
        if pot == SLOPES_AT:
            return SLOPE_WEIGHT / SLOPES
        return tilt_weight(pot)

    cdef void recount(self, Py_ssize_t first) noexcept nogil:
        """Empty the pots from the first on, and count anew what waits in each."""
        cdef Py_ssize_t[VISITS] at
        cdef Py_ssize_t i, k
        for i in range(GROUPS_AT + self.group_count):
            if i >= first:
                memset(self.pots[i].cash, 0, sizeof(self.pots[i].cash))
            self.pots[i].open, self.pots[i].D = 0, 1.0
        for i in range(self.head, self.length):
            if self.waiting[i].key >= 0:
                for k in range(self.visited(self.waiting[i].p, self.group_at(i), at)):
                    self.pots[at[k]].open += 1
        for i in range(GROUPS_AT + self.group_count):
            self.pots[i].D = max(1.0, <double>self.pots[i].open)

    cdef inline Py_ssize_t group_at(self, Py_ssize_t i) noexcept nogil:
        return WHOLE if self.of_group == NULL else self.of_group[i].group

    cdef void become_late(self) noexcept nogil:
        """Move the evidence into pots; a round that waits has staked all there was."""
        cdef Course *c = &self.course
        cdef Py_ssize_t i, k
        cdef Cell *cell
        memset(self.pots, 0, (GROUPS_AT + self.group_count) * sizeof(Pot))
        c.is_late, c.escrow = True, 0.0
        for i in range(CELLS + self.group_count):
            cell = self.cell_at(i)
            for k in range(TILTS):
                self.pots[i + (i >= CELLS)].cash[k] = cell.M[k]
            memset(cell.M, 0, sizeof(cell.M))
        for k in range(SLOPES):
            self.pots[SLOPES_AT].cash[k] = self.evidence_.slopes[k]
        memset(self.evidence_.slopes, 0, sizeof(self.evidence_.slopes))
        self.recount(GROUPS_AT + self.group_count)
        for i in range(c.open):
            self.opened[i].D, self.opened[i].loss, self.opened[i].escrow = 1.0, 0.0, 0.0
            self.opened[i].waiting = self.opened[i].asked = 0
        begin_blocks(&self.evidence_)
        if c.has_lone:
            c.has_lone = False
            self.add(c.lone_key, c.lone_p, c.lone_group, c.rounds - 1, &self.whole[0])

    cdef int make_room(self) noexcept nogil:
        """Make room for one more round that waits; return whether there is some."""
        cdef Py_ssize_t i, kept = 0, room = self.room + max(self.room >> 2, <Py_ssize_t>LEAST_ROOM)
        cdef void *grown
        if self.length < self.room:
            return True
        if 4 * self.live <= 3 * self.room and self.room:
            for i in range(self.head, self.length):
                if self.waiting[i].key >= 0:
                    self.waiting[kept] = self.waiting[i]
                    if self.of_group != NULL:
                        self.of_group[kept] = self.of_group[i]
                    kept += 1
            self.length, self.head, self.is_marked = kept, 0, False
            return True
        grown = realloc(self.waiting, room * sizeof(Waiting))
        if grown == NULL:
            return False
        self.waiting = <Waiting *>grown
        if self.of_group != NULL:
            grown = realloc(self.of_group, room * sizeof(OfGroup))
            if grown == NULL:
                return False
            self.of_group = <OfGroup *>grown
        self.room = room
        return True

    cdef int ask(self, int64_t key, double p, Py_ssize_t group) noexcept nogil:
        """Let a round wait, with a key above all others; return what that brought."""
        cdef Course *c = &self.course
        if not c.is_late and not c.has_lone and self.block_ == 1 and self.ahead_ == 1:
            c.has_lone, c.lone_key, c.lone_p, c.lone_group = True, key, p, group
            c.key = key
            c.rounds += 1
            return NOTHING
        if not self.make_room():
            return NO_MEMORY
        if not c.is_late:
            self.become_late()   # which may need room for one more
            if not self.make_room():
                return NO_MEMORY
        if self.live >= self.patience_:
            self.drop_oldest()
        c.key = key
        self.add(key, p, group, c.rounds, NULL)
        c.rounds += 1
        return self.conclude(group)

    cdef void add(
        self, int64_t key, double p, Py_ssize_t group, int64_t t, double *whole
    ) noexcept nogil:
        """Stake on round t, which waits from now on."""
        cdef Course *c = &self.course
        cdef Evidence *v = &self.evidence_
        cdef Waiting *own
        cdef Py_ssize_t[VISITS] at
        cdef Py_ssize_t i, k, count
        cdef Bets least
        cdef Flow flow
        cdef double add = granted(self.alpha_, t)
        cdef bint paused
        cdef uint8_t *codes
        if count_prediction(v, p, t) and not c.open:
            self.follow_predictions(key)
        own = &self.waiting[self.length]
        own.key, own.p, own.t = key, p, self.since_restart(t)
        if own.t - c.began >= self.pots[0].D:    # as many as wait: all of the block before last came
            c.began, c.lane = own.t, 1 - c.lane
            begin_block(v, c.lane)
        memset(own.stakes, NO_STAKE, sizeof(own.stakes))
        if self.of_group != NULL:
            self.of_group[self.length].group = <int32_t>group
            memset(self.of_group[self.length].stakes, NO_STAKE, TILTS)
        if whole != NULL:
            self.whole_key = key
        count = self.visited(p, group, at)
        for k in range(count):
            ask_pot(&self.pots[at[k]])
        self.length += 1
        self.live += 1
        if c.open:
            i = self.open_at(at, group)
            if i >= 0:
                self.stake_on_recovery(&self.opened[i], own, t, whole)
            elif group != WHOLE and self.is_of_groups():
                least = bets_of(v.tolerance, p, NAN)
                stake_pot(
                    &self.pots[GROUPS_AT + group], &least.e[0], TILTS, add, False, self.scale,
                    self.of_group[self.length - 1].stakes, NULL if whole == NULL else &whole[STAKES],
                )
            return
        least = bets_of(v.tolerance, p, NAN)
        paused = v.R + c.escrow >= self.threshold
        for k in range(count):
            i = at[k]
            codes = &own.stakes[k * TILTS]
            if k > LEVELS:
                codes = self.of_group[self.length - 1].stakes
            flow = stake_pot(
                &self.pots[i], &least.slopes[0] if i == SLOPES_AT else &least.e[0],
                SLOPES if i == SLOPES_AT else TILTS, add, paused, self.scale, codes,
                NULL if whole == NULL else &whole[k * TILTS - (k > LEVELS) * (TILTS - SLOPES)],
            )
            v.R += self.weight_at(i) * flow.cash
            c.escrow += self.weight_at(i) * flow.escrow

    cdef void follow_predictions(self, int64_t key) noexcept nogil:
        """Let the ranges follow the first predictions; stakes before the key's are void."""
        cdef Evidence *v = &self.evidence_
        cdef Py_ssize_t i, k
        if not settle_ranges(v, True):
            return
        for i in range(1, CELLS):
            for k in range(TILTS):
                v.R -= tilt_weight(i) * self.pots[i].cash[k]
            memset(self.pots[i].cash, 0, sizeof(self.pots[i].cash))
        self.recount(GROUPS_AT + self.group_count)
        self.course.escrow = 0.0
        self.course.fresh = key

    cdef Py_ssize_t find(self, int64_t key) noexcept nogil:
        """Return where a round waits; -1 if none with this key does."""
        cdef Py_ssize_t low = self.head, high = self.length, middle
        cdef int64_t own
        while low < high:
            middle = (low + high) // 2
            own = self.waiting[middle].key
            if own == key:
                return middle
            if (own if own >= 0 else ~own) < key:
                low = middle + 1
            else:
                high = middle
        return -1

    cdef void drop_oldest(self) noexcept nogil:
        """Give up the round that has waited longest."""
        while self.waiting[self.head].key < 0:
            self.head += 1
        self.pay(self.head, 0.0, False)

    cdef int settle(self, int64_t key, double y) noexcept nogil:
        """Take the outcome of a round that waits; return what that brought."""
        cdef Course *c = &self.course
        cdef Py_ssize_t i
        if c.has_lone and key == c.lone_key:
            c.has_lone = False
            return self.step(c.lone_p, y, c.lone_group, c.rounds - 1) if key >= c.fresh else NOTHING
        i = self.find(key)
        if i < 0:
            return NOTHING       # it was given up
        self.pay(i, y, True)
        return self.conclude(self.group_at(i))

    cdef void pay(self, Py_ssize_t i, double y, bint came) noexcept nogil:
        """Pay what a round won, if its outcome came; it waits no longer."""
        cdef Course *c = &self.course
        cdef Evidence *v = &self.evidence_
        cdef Waiting *own = &self.waiting[i]
        cdef Py_ssize_t[VISITS] at
        cdef Py_ssize_t group = self.group_at(i), k, count = self.visited(own.p, group, at)
        cdef int64_t key = own.key
        cdef const double *whole = &self.whole[0] if key == self.whole_key else NULL
        cdef Bets bets, least
        cdef Flow flow
        own.key = ~key
        self.live -= 1
        if self.is_marked and self.removed_count < self.removed_room:
            self.removed[self.removed_count] = i
            self.removed_count += 1
        for k in range(count):
            self.pots[at[k]].open -= 1
        if came and key >= c.counted:
            count_outcome(v, range_of(v, own.p), own.p, y)
            count_in_block(
                v, range_of(v, own.p), own.p, y, c.lane if own.t >= c.began else 1 - c.lane
            )
        if key < c.fresh:
            return
        if c.open:
            k = self.open_at(at, group)
            if k >= 0:
                if key >= self.opened[k].fresh:
                    self.pay_recovery(&self.opened[k], own, y, came)
                return
            if group == WHOLE or not self.is_of_groups() or key < self.standing[group].fresh:
                return
        least = bets_of(v.tolerance, own.p, NAN)
        bets = bets_of(v.tolerance, own.p, y) if came else least
        for k in range(LEVELS + 1 if c.open else 0, count):
            flow = self.pay_one(own, i, k, at[k], &bets, &least, whole)
            if not c.open:
                v.R += self.weight_at(at[k]) * flow.cash
                c.escrow += self.weight_at(at[k]) * flow.escrow
                if c.escrow < -1e-6 * self.threshold:
                    c.escrow = 0.0  # no rounding makes it so: the state was forged
            if came and k != LEVELS:
                self.date(self.cell_at(at[k] - (at[k] > CELLS)), &self.pots[at[k]], &bets,
                          y - own.p, own.t)

    cdef Flow pay_one(
        self, const Waiting *own, Py_ssize_t i, Py_ssize_t visit, Py_ssize_t pot,
        const Bets *bets, const Bets *least, const double *whole,
    ) noexcept nogil:
        """Pay what a round won in one of the pots that it visits."""
        cdef const uint8_t *codes
        cdef const double *all_ = NULL
        if visit <= LEVELS:
            codes = &own.stakes[visit * TILTS]
        else:
            codes = self.of_group[i].stakes
        if whole != NULL:
            all_ = &whole[visit * TILTS - (visit > LEVELS) * (TILTS - SLOPES)]
        if pot == SLOPES_AT:
            return pay_pot(&self.pots[pot], bets.slopes, least.slopes, SLOPES, self.scale, codes, all_)
        return pay_pot(&self.pots[pot], bets.e, least.e, TILTS, self.scale, codes, all_)

    cdef void date(
        self, Cell *cell, const Pot *pot, const Bets *bets, double x, uint32_t t
    ) noexcept nogil:
        """Go on with the CUSUMs of a cell, which take a share of each factor, as stakes do."""
        cdef float[4] dating
        cdef Py_ssize_t j, k
        for j in range(4):
            k = DATING + j % 2 + j // 2 * STEPS
            dating[j] = <float>(
                1.0 + share_of(pot, k, TILTS, DATING_LEVERAGES[j % 2]) * (<double>bets.e[k] - 1.0)
            )
        date_onset(cell, dating, x, t)

    # -- outcomes that are held -------------------------------------------------------------------

    cdef int hold(self, int64_t key, double y) noexcept nogil:
        """Keep an outcome until it counts."""
        cdef Course *c = &self.course
        cdef Py_ssize_t room
        cdef void *grown
        if self.held_length == self.held_room:
            if 2 * self.held_head > self.held_room:
                self.held_length -= self.held_head
                memmove(self.held, &self.held[self.held_head], self.held_length * sizeof(HeldOutcome))
                self.held_head = 0
            else:
                room = self.held_room + max(self.held_room >> 1, <Py_ssize_t>LEAST_ROOM)
                grown = realloc(self.held, room * sizeof(HeldOutcome))
                if grown == NULL:
                    return NO_MEMORY
                self.held, self.held_room = <HeldOutcome *>grown, room
        self.held[self.held_length].key = key
        self.held[self.held_length].t = c.rounds
        self.held[self.held_length].y = y
        self.held_length += 1
        if self.block_ > 1:
            c.in_block += 1
            if c.in_block == self.block_:
                self.end_block()
        return NOTHING

    cdef void end_block(self) noexcept nogil:
        self.course.in_block, self.course.releasing = 0, self.held_length - self.held_head

    cdef bint has_due(self) noexcept nogil:
        """Whether an outcome that is held counts now."""
        if self.course.releasing:
            return True
        return (
            self.ahead_ > 1 and self.held_length > self.held_head
            and self.held[self.held_head].t + self.ahead_ - 1 <= self.course.rounds
        )

    cdef int release(self) noexcept nogil:
        """Let the oldest outcome that is held count."""
        cdef HeldOutcome *own = &self.held[self.held_head]
        self.held_head += 1
        if self.course.releasing:
            self.course.releasing -= 1
        return self.settle(own.key, own.y)

    cdef int take(self, int64_t key, double y) noexcept nogil:
        """Take an outcome that comes: it counts now, or is held."""
        if self.block_ > 1 or self.ahead_ > 1:
            return self.hold(key, y)
        return self.settle(key, y)

    # -- episodes -------------------------------------------------------------------------------

    cdef Cell *cell_at(self, Py_ssize_t i) noexcept nogil:
        return &self.evidence_.cells[i] if i < CELLS else &self.groups[i - CELLS]

    cdef double against(self, Py_ssize_t i, Py_ssize_t direction) noexcept nogil:
        """Return the mean evidence of a cell in a direction."""
        cdef double total = 0.0
        cdef Py_ssize_t k
        if not self.course.is_late:
            return mean_of(&self.cell_at(i).M[direction * STEPS], STEPS)
        for k in range(STEPS):
            total += self.pots[i + (i >= CELLS)].cash[direction * STEPS + k]
        return total / TILTS

    cdef double evidence_of(self, Py_ssize_t group) noexcept nogil:
        """Return the part of a group in R."""
        cdef double total = 0.0
        cdef Py_ssize_t k
        if not self.course.is_late:
            return tilt_weight(CELLS) * sum_of(self.groups[group].M)
        for k in range(TILTS):
            total += self.pots[GROUPS_AT + group].cash[k]
        return tilt_weight(CELLS) * total

    cdef int open_episode(self) noexcept nogil:
        """Name the cell with the most evidence, or the finest inside it that has as much."""
        cdef double best = -1.0, own
        cdef Py_ssize_t i, d, child, named = 0, direction = 0
        for i in range(CELLS + self.group_count):
            for d in range(2):
                own = tilt_weight(i) * self.against(i, d)
                if own > best:
                    best, named, direction = own, i, d
        while named < CELLS // 2:    # it has halves
            child = 2 * named + 1
            if self.against(child + 1, direction) > self.against(child, direction):
                child += 1
            if EULER * self.against(child, direction) < self.against(named, direction):
                break
            named = child
        return self.open_episode_of(named, direction)

    cdef int open_episode_of(self, Py_ssize_t named, Py_ssize_t direction) noexcept nogil:
        """Open an episode of a cell."""
        cdef Course *c = &self.course
        cdef double bias = 0.0, shift
        cdef int64_t length      # of the stretch in which its visits came
        cdef Cell *cell = self.cell_at(named)
        cdef Py_ssize_t room = 2 * self.open_room + 1
        cdef void *grown
        cdef Open *own
        if c.open == self.open_room:
            grown = realloc(self.opened, room * sizeof(Open))
            if grown == NULL:
                return NO_MEMORY
            self.opened, self.open_room = <Open *>grown, room
        own = &self.opened[c.open]
        memset(own, 0, sizeof(Open))
        if cell.n[direction]:
            bias = <double>cell.S[direction] / cell.n[direction]
        shift = max(fabs(bias) / 3.0, self.evidence_.tolerance) / self.spread_of(named)
        shift = min(shift, WIDEST_SHIFT)
        own.margin = exp(-shift if direction else shift)
        own.named, own.direction, own.fresh = named, direction, c.key + 1
        own.seen = own.recovered = c.rounds
        own.D = self.pots[named + (named >= CELLS)].D if c.is_late else 1.0
        length = <int64_t>(self.since_restart(c.rounds) - cell.start[2 * direction])
        own.most_unseen = max(FEWEST_GONE, GONE * length // max(<int64_t>cell.n[direction], 1))
        own.credit = LONGEST     # one prediction stands for all before it
        if c.is_late:            # a storm may keep predictions away as long as rounds wait, and longer
            own.most_unseen = max(own.most_unseen, GONE * <int64_t>self.pots[0].D)
            own.credit = max(1, RARER * length // max(<int64_t>cell.n[direction], 1))
        if named >= CELLS:
            self.standing[named - CELLS].open = c.open
            self.standing[named - CELLS].fresh = own.fresh
        c.open += 1
        c.escrow, c.gone_at = 0.0, 0
        return ALARM

    cdef double spread_of(self, Py_ssize_t named) noexcept nogil:
        """Return the mean variance of the outcomes in a cell: predicted or observed, if that is more.

        A shift d of the logit moves the mean outcome by d times it.
        """
        cdef Py_ssize_t level = 0, first = 0, count = RANGES, i
        cdef double n = 0.0, V = 0.0, spread = 0.0
        if named < CELLS:
            while (2 << level) - 1 <= named:
                level += 1
            first = (named + 1 - (1 << level)) << (LEVELS - 1 - level)
            count = RANGES >> level
        for i in range(first, first + count):
            n += self.evidence_.ranges[i].n
            V += self.evidence_.ranges[i].V
            spread += self.evidence_.ranges[i].spread
        return max(max(V, spread) / max(n, 1.0), 1e-9)

    cdef Py_ssize_t open_at(self, const Py_ssize_t *at, Py_ssize_t group) noexcept nogil:
        """Return which open episode has the cell of a round; -1 if none has."""
        cdef Py_ssize_t k
        if self.is_of_groups():
            return self.open_of(group)
        for k in range(LEVELS):
            if at[k] == self.opened[0].named:
                return 0
        return -1

    cdef inline (double, double) ratios(self, const Open *own, double p) noexcept nogil:
        """Return the likelihood ratios of p to q, of B times its odds, at outcomes 0 and 1."""
        cdef double f0 = 1.0 - p + p * own.margin
        return f0, f0 / own.margin

    cdef inline double recovery_share(self, const Open *own) noexcept nogil:
        """Return which share of L is staked; the opposite bet is that the odds are B times p's."""
        cdef double B = own.margin
        cdef double p = 1.0 - own.loss / (1.0 - 1.0 / B) if B > 1.0 else own.loss / (1.0 - B)
        cdef double other = 1.0 - min(1.0, B) / (1.0 - p + p * B)
        return share_of_losses(own.D, own.loss, max(other, own.loss / MOST_UNLIKE), RECOVERY_LEVERAGE)

    cdef inline double recovery_stake(self, const Waiting *round_) noexcept nogil:
        if round_.stakes[0] == WHOLE_STAKE:
            return self.whole[0]
        return stake_of(round_.stakes[0], RECOVERY_SCALE)

    cdef inline double recovery_loss(self, const Open *own, double p) noexcept nogil:
        """Return which share of a stake may be lost."""
        cdef double f0, f1
        f0, f1 = self.ratios(own, p)
        return 1.0 - min(f0, f1)

    cdef inline double at_stake(self, const Open *own, const Waiting *round_) noexcept nogil:
        """Return what a round may lose of what it staked on recovery."""
        return self.recovery_stake(round_) * self.recovery_loss(own, round_.p)

    cdef void stake_on_recovery(
        self, Open *own, Waiting *round_, int64_t t, double *whole
    ) noexcept nogil:
        """Stake on a round of the named cell; nothing while what is open may be enough."""
        cdef double loss = self.recovery_loss(own, round_.p), lost
        own.seen = min(t + 1, own.seen + own.credit)
        own.waiting += 1
        own.asked += 1
        own.D = max(own.D - FORGET, <double>own.waiting, 1.0)
        own.loss += (loss - own.loss) / <double>min(own.asked, <int64_t>64)
        own.L += 1.0
        if whole != NULL:
            round_.stakes[0], whole[0] = WHOLE_STAKE, own.L
        elif own.D <= 1.0 or own.L + own.escrow < self.close_of(own):
            round_.stakes[0] = code_of(self.recovery_share(own) * own.L, RECOVERY_SCALE)
        lost = self.at_stake(own, round_)
        own.L -= lost
        own.escrow += lost

    cdef void pay_recovery(
        self, Open *own, const Waiting *round_, double y, bint came
    ) noexcept nogil:
        """Pay what a round of the named cell won for recovery."""
        cdef double f0, f1, f, stake = self.recovery_stake(round_)
        f0, f1 = self.ratios(own, round_.p)
        own.waiting -= 1
        own.escrow -= self.at_stake(own, round_)
        if came:
            f = (1.0 - y) * f0 + y * f1
            own.L += stake * (f - min(f0, f1))
            self.date_recovery(
                own, 1.0 + self.recovery_share(own) * (f - 1.0), self.course.restarted + round_.t
            )

    cdef void date_recovery(self, Open *own, double f, int64_t t) noexcept nogil:
        if own.W <= 1.0:
            own.recovered = t
        own.W = min(max(own.W, 1.0) * f, MOST_CUSUM)

    cdef bint recover(self, double p, double y, Py_ssize_t group, int64_t t) noexcept nogil:
        """Watch for recovery in a round whose outcome is known, while nothing else waits.

        Return whether the round falls into the cell of an open episode.
        """
        cdef Py_ssize_t[VISITS] at
        cdef double f0, f1, f
        cdef Open *own
        self.visited(p, group, at)
        cdef Py_ssize_t i = self.open_at(at, group)
        if i < 0:
            return False
        own = &self.opened[i]
        own.seen = min(t + 1, own.seen + own.credit)
        f0, f1 = self.ratios(own, p)
        f = (1.0 - y) * f0 + y * f1
        own.L = f * (own.L + 1.0)
        self.date_recovery(own, f, t)
        return True

    # -- the contract ---------------------------------------------------------------------------

    @property
    def rounds(self):
        """Predictions watched so far."""
        return self.course.rounds

    @property
    def pending(self):
        """How many predictions wait for their outcomes."""
        return self.live + self.course.has_lone

    @property
    def evidence(self):
        """How far the evidence is on its way to an alarm: 0 for none, 1 in an episode.

        The way is logarithmic: at 0.5, the evidence is the square root of what an alarm takes.
        """
        if self.course.open:
            return 1.0
        return min(max(log(max(self.evidence_.R, 1e-300)) / log(self.threshold), 0.0), 1.0)

    @property
    def _threshold(self):
        return self.threshold

    @property
    def _last_key(self):
        return self.course.key

    @property
    def _in_block(self):
        return self.course.in_block

    def _set_group_count(self, Py_ssize_t count):
        """Make room for so many groups; new ones know nothing."""
        cdef Py_ssize_t more = max(0, count - self.group_count), i
        cdef Cell *cells = <Cell *>realloc(self.groups, max(count, 1) * sizeof(Cell))
        if cells == NULL:
            raise MemoryError
        self.groups = cells
        cdef Standing *standing = <Standing *>realloc(
            self.standing, max(count, 1) * sizeof(Standing)
        )
        if standing == NULL:
            raise MemoryError
        self.standing = standing
        for i in range(count - more, count):
            standing[i].open, standing[i].fresh = WHOLE, 0
        if self.pots != NULL:
            self.reserve_pots(count)
        if count and self.room and self.of_group == NULL:
            self.of_group = <OfGroup *>realloc(NULL, self.room * sizeof(OfGroup))
            if self.of_group == NULL:
                raise MemoryError
            for i in range(self.length):
                self.of_group[i].group = WHOLE
        memset(&cells[count - more], 0, more * sizeof(Cell))
        self.group_count = count

    cdef int reserve_pots(self, Py_ssize_t groups) except -1:
        """Make room for the pots of so many groups; new ones are empty."""
        cdef Py_ssize_t known = 0 if self.pots == NULL else GROUPS_AT + self.group_count, i
        cdef Pot *pots = <Pot *>realloc(self.pots, (GROUPS_AT + groups) * sizeof(Pot))
        if pots == NULL:
            raise MemoryError
        self.pots = pots
        for i in range(known, GROUPS_AT + groups):
            memset(&pots[i], 0, sizeof(Pot))
            pots[i].D = 1.0
        return 0

    cdef int expect_lateness(self) except -1:
        """Get what it takes to let rounds wait."""
        if self.pots == NULL:
            self.reserve_pots(self.group_count)
        if not self.make_room():
            raise MemoryError
        if self.group_count and self.of_group == NULL:
            self._set_group_count(self.group_count)
        return 0

    def _check(self, prediction, outcome):
        """Raise ValueError unless both are numbers in [0, 1]."""
        as_prediction(prediction)
        as_outcome(outcome)

    def _watch(self, prediction, outcome, Py_ssize_t group):
        """Play a round whose outcome is known, if nothing waits; return what it brought.

        That is 1 at an alarm, 2 at the end of an episode, else 0; -1 if something waits.
        """
        return self.watched(prediction, outcome, group)

    cdef int watched(self, prediction, outcome, Py_ssize_t group) except? -1:
        if self.running:
            self._begin()        # it refuses
        cdef double p = as_prediction(prediction), y = as_outcome(outcome)
        if not self.is_calm():
            return -1
        self.course.key += 1
        cdef int event = self.step(p, y, group, self.course.rounds)
        if event == NO_MEMORY:
            raise MemoryError
        return event

    def _watch_alone(self, prediction, outcome):
        """Do what `_watch` does without a group; return the episode it brought, False if one waits.

        That is rare: so SIGINT is held only then, and what came just before is raised after it.
        """
        cdef int event = self.watched(prediction, outcome, WHOLE)
        if event == NOTHING:
            return None
        if event < 0:
            return False
        came = None
        while True:
            try:
                hold()
                break
            except BaseException as error:
                came = error
        try:
            found = self._note(event, None)
        finally:
            release()
        if came is not None:
            raise came
        return found

    def _ask(self, int64_t key, double p, Py_ssize_t group):
        """Let a round wait; return what that brought, as `_watch` does."""
        if self.running:
            self._begin()
        self.expect_lateness()
        cdef int event = self.ask(key, p, group)
        if event == NO_MEMORY:
            raise MemoryError
        return event

    def _take(self, int64_t key, double y):
        """Take the outcome of a round that waits; return what that brought."""
        if self.running:
            self._begin()
        cdef int event = self.take(key, y)
        if event == NO_MEMORY:
            raise MemoryError
        return event

    def _drop(self, int64_t key):
        """Give up a round that waits: its stakes are lost."""
        self.drop(key)

    cdef void drop(self, int64_t key) noexcept nogil:
        cdef Py_ssize_t i
        if self.course.has_lone and key == self.course.lone_key:
            self.become_late()
        i = self.find(key)
        if i >= 0:
            self.pay(i, 0.0, False)

    def _release(self):
        """Let an outcome count that is held, and return what that brought; -1 if none is due."""
        return self.release() if self.has_due() else -1

    def _end_block(self):
        """End a block that has fewer rounds than it may."""
        if self.course.in_block:
            self.end_block()

    def _begin(self):
        """Refuse a second thread while `run` works without the GIL."""
        if self.running:
            raise RuntimeError("this Monitor is in use by another thread; give each its own")
        self.running = True

    def _finish(self):
        self.running = False

    def _run(self, const double[::1] p, const double[::1] y, const int64_t[::1] group,
             const unsigned char[::1] fresh, const int64_t[::1] after, const int64_t[::1] order,
             double[::1] evidence, Py_ssize_t asked, Py_ssize_t came):
        """Go on with rounds until a step brings something, at most UNINTERRUPTED steps.

        `asked` of the rounds were predicted and `came` outcomes came before. These come in the
        `order` given, each as soon as `after` so many predictions were made; without an order, each
        before the next prediction. A fresh round begins a block. `evidence` is empty, or takes R
        after each round. Return how many were predicted, how many came, and what was brought.
        """
        cdef Py_ssize_t n = p.shape[0], steps = 0
        cdef bint is_late = after.shape[0] > 0
        cdef Py_ssize_t coming = order.shape[0] if is_late else n
        cdef int event = NOTHING
        cdef int64_t first = self.course.key + 1 - asked  # the key of the first round
        if is_late or not self.is_calm():
            self.expect_lateness()
        with nogil:
            while event == NOTHING and steps < UNINTERRUPTED and (
                asked < n or came < coming or self.has_due()
            ):
                steps += 1
                if self.has_due():
                    event = self.release()
                elif is_late and came < coming and after[order[came]] <= asked:
                    event = self.take(first + order[came], y[order[came]])
                    came += 1
                elif not is_late and came < asked:
                    event = self.take(first + came, y[came])
                    came += 1
                elif fresh.shape[0] and fresh[asked] and self.course.in_block:
                    self.end_block()
                elif not is_late and self.is_calm():
                    self.course.key += 1
                    event = self.step(
                        p[asked], y[asked], group[asked] if group.shape[0] else WHOLE,
                        self.course.rounds,
                    )
                    asked += 1
                    came += 1
                else:
                    event = self.ask(
                        first + asked, p[asked], group[asked] if group.shape[0] else WHOLE
                    )
                    asked += 1
                if evidence.shape[0] and asked:
                    evidence[asked - 1] = self.evidence_.R
        if event == NO_MEMORY:
            raise MemoryError
        return asked, came, event

    def _play_some(self, const int64_t[::1] keys, const double[::1] p, const double[::1] y,
                   const int64_t[::1] group, double[::1] evidence, Py_ssize_t i):
        """Go on with steps from i on until one brings something: see `Monitor.play_steps`.

        Return the next step, and what was brought. A prediction whose outcome is the next step is
        played at once, while nothing waits. `evidence` is empty, or takes R after each step.
        """
        cdef Py_ssize_t n = keys.shape[0], steps = 0
        cdef int event = NOTHING
        self.expect_lateness()
        with nogil:
            while event == NOTHING and steps < UNINTERRUPTED and (i < n or self.has_due()):
                steps += 1
                if self.has_due():
                    event = self.release()
                elif isinf(y[i]):
                    self.drop(keys[i])
                    i += 1
                elif not isnan(y[i]):
                    event = self.take(keys[i], y[i])
                    i += 1
                elif (i + 1 < n and keys[i + 1] == keys[i] and not isinf(y[i + 1])
                        and self.is_calm()):
                    self.course.key = keys[i]
                    event = self.step(
                        p[i], y[i + 1], group[i] if group.shape[0] else WHOLE, self.course.rounds
                    )
                    i += 2
                else:
                    event = self.ask(keys[i], p[i], group[i] if group.shape[0] else WHOLE)
                    i += 1
                if evidence.shape[0] and i:
                    evidence[i - 1] = self.evidence_.R
        if event == NO_MEMORY:
            raise MemoryError
        return i, event

    @property
    def _has_due(self):
        return self.has_due()

    def _episode(self):
        """Return the episode that was opened last: onset, edges of its range, group, bias, visits."""
        cdef Open *own = &self.opened[self.course.open - 1]
        cdef Cell *cell = self.cell_at(own.named)
        cdef Py_ssize_t level = 0, first
        cdef double low = 0.0, high = 1.0, bias = 0.0
        if own.named < CELLS:
            while (2 << level) - 1 <= own.named:
                level += 1
            first = (own.named + 1 - (1 << level)) << (LEVELS - 1 - level)
            low = self.evidence_.edges[first]
            high = self.evidence_.edges[first + (RANGES >> level)]
        cdef int d = own.direction, dating = 2 * d
        if cell.W[dating + 1] > cell.W[dating]:
            dating += 1          # the rounds since its start are the stronger evidence
        if cell.n[d]:
            bias = <double>cell.S[d] / cell.n[d]
        onset = self.course.restarted + cell.start[dating]
        return onset, low, high, max(own.named - CELLS, WHOLE), bias, cell.n[d]

    @property
    def _ended(self):
        """The group of the episode that ended last, and the round since which it recovered."""
        return max(self.course.ended - CELLS, WHOLE), self.course.recovered

    @property
    def _open(self):
        """The group of each open episode, and the round since which it recovers."""
        return [
            (max(self.opened[i].named - CELLS, WHOLE), self.opened[i].recovered)
            for i in range(self.course.open)
        ]

    def _ranges(self):
        """Return the edges of the ranges and, a row each, what they saw, as `Range` has it."""
        edges = array_of(self.evidence_.edges, RANGES + 1)
        ranges = array_of(<double *>self.evidence_.ranges, RANGE_SIZE * RANGES)
        return edges, ranges.reshape(RANGES, RANGE_SIZE)

    def reset(self):
        """Forget all evidence and the open episode; the rounds go on counting."""
        self.restart()

    # -- going back -------------------------------------------------------------------------------

    def _mark(self, Py_ssize_t outcomes):
        """Return what is known now, for `_go_back`, until so many outcomes came.

        Before, at most one prediction may be made.
        """
        cdef Py_ssize_t *removed
        outcomes += self.held_length - self.held_head
        if outcomes > self.removed_room:
            removed = <Py_ssize_t *>realloc(self.removed, outcomes * sizeof(Py_ssize_t))
            if removed == NULL:
                raise MemoryError
            self.removed, self.removed_room = removed, outcomes
        self.expect_lateness()   # a round that is predicted and settled finds room
        cdef Py_ssize_t pots = 0 if self.pots == NULL else GROUPS_AT + self.group_count
        cdef Py_ssize_t held = self.held_length - self.held_head
        blob = np.empty(
            sizeof(Evidence) + sizeof(Course) + self.group_count * sizeof(Cell)
            + self.group_count * sizeof(Standing) + self.course.open * sizeof(Open)
            + pots * sizeof(Pot) + held * sizeof(HeldOutcome), dtype=np.uint8,
        )
        cdef uint8_t[::1] view = blob
        cdef uint8_t *to = &view[0]
        memcpy(to, &self.evidence_, sizeof(Evidence))
        to += sizeof(Evidence)
        memcpy(to, &self.course, sizeof(Course))
        to += sizeof(Course)
        memcpy(to, self.groups, self.group_count * sizeof(Cell))
        to += self.group_count * sizeof(Cell)
        memcpy(to, self.standing, self.group_count * sizeof(Standing))
        to += self.group_count * sizeof(Standing)
        memcpy(to, self.opened, self.course.open * sizeof(Open))
        to += self.course.open * sizeof(Open)
        memcpy(to, self.pots, pots * sizeof(Pot))
        to += pots * sizeof(Pot)
        memcpy(to, &self.held[self.held_head], held * sizeof(HeldOutcome))
        self.is_marked, self.removed_count = True, 0
        return self.group_count, pots, held, self.length, self.live, blob

    def _go_back(self, mark):
        """Return to where `_mark` was called."""
        cdef Py_ssize_t groups = mark[0], pots = mark[1], held = mark[2], i
        cdef const uint8_t[::1] view = mark[5]
        cdef const uint8_t *source = &view[0]
        memcpy(&self.evidence_, source, sizeof(Evidence))
        source += sizeof(Evidence)
        memcpy(&self.course, source, sizeof(Course))
        source += sizeof(Course)
        memcpy(self.groups, source, groups * sizeof(Cell))
        source += groups * sizeof(Cell)
        memcpy(self.standing, source, groups * sizeof(Standing))
        source += groups * sizeof(Standing)
        memcpy(self.opened, source, self.course.open * sizeof(Open))
        source += self.course.open * sizeof(Open)
        if pots:
            memcpy(self.pots, source, pots * sizeof(Pot))
            source += pots * sizeof(Pot)
        self.group_count = groups
        if held:                 # what was held is still there: it is only passed over
            self.held_head, self.held_length = 0, held
            memcpy(self.held, source, held * sizeof(HeldOutcome))
        else:
            self.held_head = self.held_length = 0
        for i in range(self.removed_count):
            self.waiting[self.removed[i]].key = ~self.waiting[self.removed[i]].key
        self.length, self.live = mark[3], mark[4]
        self.is_marked, self.removed_count = False, 0

    # -- saving ---------------------------------------------------------------------------------

    def __sizeof__(self):
        cdef Py_ssize_t pots = 0 if self.pots == NULL else GROUPS_AT + self.group_count
        cdef Py_ssize_t groups = 0 if self.of_group == NULL else self.room
        return (
            object.__sizeof__(self) + self.group_count * (sizeof(Cell) + sizeof(Standing))
            + self.open_room * sizeof(Open) + pots * sizeof(Pot)
            + self.room * sizeof(Waiting) + groups * sizeof(OfGroup)
            + self.held_room * sizeof(HeldOutcome)
        )

    def _get_state(self):
        """Return everything the past left behind, as arrays and numbers by name."""
        cdef Evidence *v = &self.evidence_
        cdef Course *c = &self.course
        cdef Py_ssize_t i, count
        cdef char[::1] into
        cells = np.empty(CELLS + self.group_count, dtype=CELL)
        into = cells.view(np.int8)
        memcpy(&into[0], v.cells, sizeof(v.cells))
        memcpy(&into[sizeof(v.cells)], self.groups, self.group_count * sizeof(Cell))
        pots = np.empty(GROUPS_AT + self.group_count if c.is_late else 0, dtype=POT)
        if len(pots):
            into = pots.view(np.int8)
            memcpy(&into[0], self.pots, into.shape[0])
        waiting, of_group = np.empty(self.live, dtype=WAITING), np.empty(self.live, dtype=OF_GROUP)
        count = 0
        for i in range(self.head, self.length):
            if self.waiting[i].key >= 0:
                into = waiting[count : count + 1].view(np.int8)
                memcpy(&into[0], &self.waiting[i], sizeof(Waiting))
                into = of_group[count : count + 1].view(np.int8)
                memset(&into[0], 0, sizeof(OfGroup))
                if self.of_group != NULL and self.of_group[i].group != WHOLE:
                    memcpy(&into[0], &self.of_group[i], sizeof(OfGroup))
                else:
                    of_group["group"][count] = WHOLE
                count += 1
        opened = np.empty(c.open, dtype=OPEN)
        if c.open:
            into = opened.view(np.int8)
            memcpy(&into[0], self.opened, into.shape[0])
        held = range(self.held_head, self.held_length)
        edges, ranges = self._ranges()
        has_whole = self.whole_key >= 0 and self.find(self.whole_key) >= 0
        return {
            "R": v.R, "restarted": c.restarted, "key": c.key, "counted": c.counted,
            "fresh": c.fresh, "escrow": c.escrow, "in_block": c.in_block,
            "began": c.began, "lane": c.lane,
            "releasing": c.releasing,
            "lone": [c.lone_key, c.lone_p, c.lone_group] if c.has_lone else [],
            "opened": opened,
            "groups_fresh": np.array(
                [self.standing[i].fresh for i in range(self.group_count)], dtype=np.int64
            ),
            "cells": cells, "edges": edges, "ranges": ranges.reshape(-1),
            "slopes": np.array([v.slopes[i] for i in range(SLOPES)]),
            "sketch": np.array([v.sketch[i] for i in range(SKETCH)], dtype=np.int64),
            "pots": pots, "waiting": waiting, "of_group": of_group,
            "whole_key": self.whole_key if has_whole else -1,
            "whole": array_of(self.whole, MOST_WHOLE if has_whole else 0),
            "held_keys": np.array([self.held[i].key for i in held], dtype=np.int64),
            "held_rounds": np.array([self.held[i].t for i in held], dtype=np.int64),
            "held_outcomes": np.array([self.held[i].y for i in held], dtype=np.float64),
        }

    def _set_state(self, state, int64_t rounds):
        """Take over a state of `_get_state` that was checked: see monitor/saving.py."""
        cdef const char[::1] cells = np.ascontiguousarray(state["cells"]).view(np.int8)
        cdef const char[::1] rows
        cdef const double[::1] edges = state["edges"], ranges = state["ranges"]
        cdef const double[::1] whole = state["whole"]
        cdef Evidence *v = &self.evidence_
        cdef Course *c = &self.course
        cdef Py_ssize_t i, k, count = len(state["waiting"])
        self.length = self.head = self.live = self.held_head = self.held_length = 0
        c.is_late, self.is_marked, self.removed_count = False, False, 0
        self._set_group_count(len(state["cells"]) - CELLS)
        memcpy(v.cells, &cells[0], sizeof(v.cells))
        memcpy(self.groups, &cells[0] + sizeof(v.cells), self.group_count * sizeof(Cell))
        memcpy(v.edges, &edges[0], sizeof(v.edges))
        memcpy(v.ranges, &ranges[0], sizeof(v.ranges))
        v.sketched = 0
        for i in range(SKETCH):
            v.sketch[i] = state["sketch"][i]
            v.sketched += v.sketch[i]
        for i in range(SLOPES):
            v.slopes[i] = state["slopes"][i]
        c.rounds, c.restarted, c.key = rounds, state["restarted"], state["key"]
        c.counted, c.fresh, c.escrow = state["counted"], state["fresh"], state["escrow"]
        c.began, c.lane = state["began"], state["lane"]
        c.in_block, c.releasing = state["in_block"], state["releasing"]
        c.has_lone = len(state["lone"]) > 0
        if c.has_lone:
            c.lone_key, c.lone_p, c.lone_group = state["lone"]
        v.R = state["R"]
        self.load_episodes(state)
        self.whole_key = state["whole_key"]
        for i in range(whole.shape[0]):
            self.whole[i] = whole[i]
        if len(state["pots"]) or c.has_lone:
            self.expect_lateness()
        if len(state["pots"]):
            c.is_late = True
            rows = np.ascontiguousarray(state["pots"]).view(np.int8)
            memcpy(self.pots, &rows[0], rows.shape[0])
        for i in range(count):
            self.load_waiting(state["waiting"][i : i + 1], state["of_group"][i : i + 1])
        if c.is_late:
            self.count_open()
        for i in range(len(state["held_keys"])):
            if self.hold(state["held_keys"][i], state["held_outcomes"][i]) == NO_MEMORY:
                raise MemoryError
            self.held[self.held_length - 1].t = state["held_rounds"][i]
        c.in_block, c.releasing = state["in_block"], state["releasing"]

    cdef int load_episodes(self, state) except -1:
        cdef const char[::1] rows = np.ascontiguousarray(state["opened"]).view(np.int8)
        cdef Py_ssize_t i, count = len(state["opened"])
        cdef Open *opened
        if count > self.open_room:
            opened = <Open *>realloc(self.opened, count * sizeof(Open))
            if opened == NULL:
                raise MemoryError
            self.opened, self.open_room = opened, count
        if count:
            memcpy(self.opened, &rows[0], rows.shape[0])
        self.course.open, self.course.gone_at = count, 0
        for i in range(self.group_count):
            self.standing[i].open, self.standing[i].fresh = WHOLE, state["groups_fresh"][i]
        for i in range(count):
            if self.opened[i].named >= CELLS:
                self.standing[self.opened[i].named - CELLS].open = i
        return 0

    cdef int load_waiting(self, row, of_group) except -1:
        cdef const char[::1] own = row.view(np.int8), group = of_group.view(np.int8)
        if not self.make_room():
            raise MemoryError
        if self.group_count and self.of_group == NULL:
            self._set_group_count(self.group_count)
        memcpy(&self.waiting[self.length], &own[0], sizeof(Waiting))
        if self.of_group != NULL:
            memcpy(&self.of_group[self.length], &group[0], sizeof(OfGroup))
        self.length += 1
        self.live += 1
        return 0

    cdef int count_open(self) except -1:
        """Count what waits in each pot, and for recovery; refuse stakes on it that are others."""
        cdef Py_ssize_t[VISITS] at
        cdef Py_ssize_t i, k
        cdef double[::1] escrow = np.zeros(self.course.open)
        cdef Open *own
        for i in range(GROUPS_AT + self.group_count):
            self.pots[i].open = 0
        for i in range(self.course.open):
            self.opened[i].waiting = 0
        for i in range(self.length):
            for k in range(self.visited(self.waiting[i].p, self.group_at(i), at)):
                self.pots[at[k]].open += 1
            if self.course.open:
                k = self.open_at(at, self.group_at(i))
                if k >= 0 and self.waiting[i].key >= self.opened[k].fresh:
                    self.opened[k].waiting += 1
                    escrow[k] += self.at_stake(&self.opened[k], &self.waiting[i])
        for i in range(self.course.open):
            own = &self.opened[i]
            if not fabs(own.escrow - escrow[i]) <= ROUNDED:
                raise ValueError("saved escrow of an open episode must be what its stakes may lose")
        return 0

    @staticmethod
    def _weighed(totals, slopes):
        """Return R of cells with these sums over tilts, and of these bets on the slope."""
        cells = sum(tilt_weight(i) * total for i, total in enumerate(totals))
        return cells + sum(SLOPE_WEIGHT / SLOPES * M for M in slopes)
