"""The evidence of each key of a fleet: 48 bytes, for raw scores and calibrated predictions.

A key is a cell of the monitor's tree (evidence.pyx) over all its predictions, with the weight of a
group. It bets on shifts of the logit by 0.25 and 1, upwards and downwards: with so few outcomes
finer steps gain nothing. A bet owns cash M. It is staked when a prediction is made, the worst possible
loss is deducted at once, and the gain relative to the worst case is paid when the outcome arrives
(pots.pyx). If each outcome of a key arrives before its next prediction, this is M <- e (M + 1). No bet is
kept above `most`, so that a key that recovers is not listed for long. As a round visits one key, the sum over keys
of the mean M grows by at most 1 a prediction under the null, however many keys there are.

Cash names a key, and the key stays named while its cash plus the open stakes would be enough: stakes on
outcomes that are still pending are no reason to remove it from the list.

The stake of a round is stored with the round. The data of a key about its pending rounds, 28 bytes, are
kept from the first pending round of the fleet on.

Its bias is the mean of y - p since the direction with more evidence changed.

Keys are updated as soon as something is predicted or learned. The monitors of ranges are updated
later, from a queue: when the result is read, and before the queue gets long.
"""

from libc.math cimport INFINITY, NAN
from libc.stdint cimport int64_t, uint32_t
from libc.stdlib cimport calloc, free, realloc
from libc.string cimport memcpy, memmove, memset

import numpy as np

from calibrant._kernels.functions cimport exp
from calibrant._kernels.watch.evidence cimport GROUP_WEIGHT, bet, granted
from calibrant._kernels.watch.pots cimport FORGET, share_of_losses

cdef enum:
    KEY_STEPS = KEY_TILTS // 2   # tilts a direction
    LEAST_ROOM = 512
    MEMORY = 16                  # predictions that `predicted` is a mean of, about

cdef float[KEY_TILTS] B          # factors of the odds
B[0], B[1], B[2], B[3] = <float>exp(0.25), <float>exp(1.0), <float>exp(-0.25), <float>exp(-1.0)
#: How many times their cash bets put at risk at once, as for ranges.
cdef double[KEY_STEPS] LEVERAGES
LEVERAGES[0], LEVERAGES[1] = 1.5, 4.2

#: One side of a key as NumPy sees it: 24 bytes.
KEY_CELL = np.dtype([("M", "<f4", KEY_TILTS), ("S", "<f4"), ("n", "<u4")])
assert KEY_CELL.itemsize == sizeof(KeyCell) == 24
#: What a key knows of those of its rounds that wait.
LATE = np.dtype([
    ("open", "<u4"), ("D", "<f4"), ("predicted", "<f4", SIDES), ("escrow", "<f4", SIDES),
    ("named", "<u4"),
])
assert LATE.itemsize == sizeof(Late) == 28
#: Weight of the level of keys. With those of ranges and slopes it adds up to 1.
WEIGHT = GROUP_WEIGHT
cdef double WEIGHT_ = GROUP_WEIGHT
#: How many times what it takes to be named a bet is kept as, at most.
BEYOND = 1000.0


cdef extern from "math.h" nogil:
    float nextafterf(float, float)


cdef inline bint leans_up(const float *M) noexcept nogil:
    """Return whether more speaks for predictions that are too low than for too high ones."""
    return M[0] + M[1] >= M[2] + M[3]


cdef inline float factor(Py_ssize_t k, double p, double tolerance, double y) noexcept nogil:
    """Return e of a bet at an outcome."""
    cdef double r = min(p + tolerance, 1.0) if k < KEY_STEPS else max(p - tolerance, 0.0)
    return bet(B[k], <float>r, <float>(1.0 - r), <float>y, <float>(1.0 - y))


cdef inline float worst(Py_ssize_t k, double p, double tolerance) noexcept nogil:
    """Return the smaller of the two values that e can take."""
    return factor(k, p, tolerance, 0.0 if k < KEY_STEPS else 1.0)


cdef inline float rounded_down(double x) noexcept nogil:
    cdef float near = <float>x
    return nextafterf(near, 0.0) if near > x else near


cdef inline void count_bias(KeyCell *cell, double p, double y, bint was_up) noexcept nogil:
    """Go on with the bias after an outcome was paid."""
    if leans_up(cell.M) != was_up:
        cell.S, cell.n = 0.0, 0
    cell.S += <float>(y - p)
    cell.n += cell.n < <uint32_t>-1


cdef void play_cell(
    KeyCell *cell, double p, double y, double tolerance, float add, float most
) noexcept nogil:
    """Play a round of one side of a key whole, while no other round of the key waits."""
    cdef bint was_up
    cdef Py_ssize_t k
    for k in range(KEY_TILTS):
        cell.M[k] += add
    was_up = leans_up(cell.M)
    for k in range(KEY_TILTS):
        cell.M[k] = min(factor(k, p, tolerance, y) * cell.M[k], most)
    count_bias(cell, p, y, was_up)


cdef double stake_cell(
    KeyCell *cell, double p, double tolerance, float add, double D, double predicted, float *stakes
) noexcept nogil:
    """Stake on a round of one side of a key; return what that may lose."""
    cdef double loss, share, escrow = 0.0
    cdef Py_ssize_t k
    for k in range(KEY_TILTS):
        cell.M[k] += add
        loss = 1.0 - <double>worst(k, p, tolerance)
        share = share_of_losses(
            D, 1.0 - <double>worst(k, predicted, tolerance),
            1.0 - <double>worst((k + KEY_STEPS) % KEY_TILTS, predicted, tolerance),
            LEVERAGES[k % KEY_STEPS],
        )
        stakes[k] = rounded_down(share * <double>cell.M[k])
        cell.M[k] = rounded_down(<double>cell.M[k] - <double>stakes[k] * loss)
        escrow += <double>stakes[k] * loss
    return escrow


cdef double escrow_of(const float *stakes, double p, double tolerance) noexcept nogil:
    """Return what the stakes on a round may lose."""
    cdef double escrow = 0.0
    cdef Py_ssize_t k
    for k in range(KEY_TILTS):
        escrow += <double>stakes[k] * (1.0 - <double>worst(k, p, tolerance))
    return escrow


cdef inline double mean_of(const float *M) noexcept nogil:
    return (<double>M[0] + <double>M[1] + <double>M[2] + <double>M[3]) / KEY_TILTS


cdef void pay_cell(
    KeyCell *cell, double p, double y, double tolerance, float most, const float *stakes, bint alone
) noexcept nogil:
    """Pay what a round of one side of a key won over its worst.

    If it was `alone`, all there is was staked on it: as if it had been played whole.
    """
    cdef bint was_up = leans_up(stakes if alone else cell.M)
    cdef double e
    cdef Py_ssize_t k
    for k in range(KEY_TILTS):
        if alone:
            cell.M[k] = min(factor(k, p, tolerance, y) * stakes[k], most)
        else:
            e = <double>factor(k, p, tolerance, y) - <double>worst(k, p, tolerance)
            cell.M[k] = min(rounded_down(<double>cell.M[k] + <double>stakes[k] * e), most)
    count_bias(cell, p, y, was_up)


cdef class KeyEvidence:
    """Cells of keys by slot, and the steps that the monitors of ranges have still to see."""

    def __init__(self, double threshold, double tolerance, double alpha):
        self.tolerance, self.alpha = tolerance, alpha
        self.goal = threshold / WEIGHT
        self.most = <float>(BEYOND * self.goal)

    def __dealloc__(self):
        if self.held is None:
            free(self.cells)
        free(self.late)
        free(self.queue)

    def __len__(self):
        return self.count

    @property
    def rounds(self):
        """Outcomes heard so far."""
        return self.heard

    @property
    def unseen_count(self):
        """How many steps the monitors of ranges have not seen yet."""
        return self.waiting

    @property
    def most_kept(self):
        """The most a bet is kept as."""
        return self.most

    @property
    def nbytes(self):
        """Bytes in use for keys."""
        return self.room * (SIDES * sizeof(KeyCell) + (self.late != NULL) * sizeof(Late))

    # -- rounds ---------------------------------------------------------------------------------

    cdef int reserve(self, Py_ssize_t steps, Py_ssize_t keys) except -1:
        """Make room for that many more steps, of that many keys in all."""
        cdef Py_ssize_t room = self.room + max(self.room >> 3, LEAST_ROOM)
        cdef void *grown
        cdef Py_ssize_t queue_room = self.waiting + steps
        if queue_room > self.queue_room:
            queue_room = max(queue_room, self.queue_room + (self.queue_room >> 1))
            grown = realloc(self.queue, queue_room * sizeof(Unseen))
            if grown == NULL:
                raise MemoryError
            self.queue, self.queue_room = <Unseen *>grown, queue_room
        if keys > self.room:
            room = max(room, keys)
            grown = realloc(self.cells, room * SIDES * sizeof(KeyCell))
            if grown == NULL:
                raise MemoryError
            self.cells = <KeyCell *>grown
            if self.late != NULL:
                grown = realloc(self.late, room * sizeof(Late))
                if grown == NULL:
                    raise MemoryError
                self.late = <Late *>grown
            self.room = room
        if keys > self.count:
            memset(&self.cells[self.count * SIDES], 0, (keys - self.count) * SIDES * sizeof(KeyCell))
            if self.late != NULL:
                memset(&self.late[self.count], 0, (keys - self.count) * sizeof(Late))
            self.count = keys
        return 0

    cdef int expect_lateness(self) except -1:
        """Get what it takes to let rounds wait."""
        if self.late == NULL:
            self.late = <Late *>calloc(max(self.room, <Py_ssize_t>1), sizeof(Late))
            if self.late == NULL:
                raise MemoryError
        return 0

    cdef void note(self, int64_t number, double raw, double expected, double y) noexcept nogil:
        """Let the monitors of ranges see a step, for which there is room, later."""
        cdef Unseen *unseen = &self.queue[self.waiting]
        unseen.number, unseen.raw, unseen.expected, unseen.y = number, raw, expected, y
        self.waiting += 1

    cdef void play(
        self, int64_t number, int64_t slot, double raw, double expected, double y
    ) noexcept nogil:
        """Play a round whose outcome is known at once; there is room for two steps."""
        cdef Stakes stakes
        cdef float add
        if self.late != NULL and self.is_late(slot):
            self.ask(number, slot, raw, expected, &stakes)
            self.settle(number, slot, raw, expected, y, &stakes)
            return
        add = <float>granted(self.alpha, self.asked)
        play_cell(&self.cells[slot * SIDES], raw, y, self.tolerance, add, self.most)
        play_cell(&self.cells[slot * SIDES + 1], expected, y, self.tolerance, add, self.most)
        self.note(number, raw, expected, NAN)
        self.note(number, raw, expected, y)
        self.asked += 1
        self.heard += 1

    cdef void ask(
        self, int64_t number, int64_t slot, double raw, double expected, Stakes *stakes
    ) noexcept nogil:
        """Stake on a round that waits from now on."""
        cdef float add = <float>granted(self.alpha, self.asked)
        cdef Late *late = &self.late[slot]
        cdef double predicted[SIDES]
        cdef Py_ssize_t side
        predicted[0], predicted[1] = raw, expected
        if late.D <= 1.0 and not late.open:
            late.predicted[0], late.predicted[1] = <float>raw, <float>expected
            late.named = 0
            self.name(slot)
        for side in range(SIDES):
            late.predicted[side] += (<float>predicted[side] - late.predicted[side]) / MEMORY
        late.open += 1
        late.D = max(late.D - <float>FORGET, <float>late.open)
        for side in range(SIDES):
            late.escrow[side] += <float>stake_cell(
                &self.cells[slot * SIDES + side], predicted[side], self.tolerance, add, late.D,
                late.predicted[side], stakes.s[side],
            )
        stakes.waits = True
        self.note(number, raw, expected, NAN)
        self.asked += 1

    cdef void settle(
        self, int64_t number, int64_t slot, double raw, double expected, double y, Stakes *stakes
    ) noexcept nogil:
        """Pay a round that waits; a slot of -1 is a key that was forgotten."""
        cdef Late *late = &self.late[slot]
        cdef bint alone
        if slot >= 0 and stakes.waits:
            alone = late.D <= 1.0
            pay_cell(
                &self.cells[slot * SIDES], raw, y, self.tolerance, self.most, stakes.s[0], alone
            )
            pay_cell(
                &self.cells[slot * SIDES + 1], expected, y, self.tolerance, self.most, stakes.s[1],
                alone,
            )
            self.release(slot, raw, expected, stakes)
        stakes.waits = False
        self.note(number, raw, expected, y)
        self.heard += 1

    cdef void drop(
        self, int64_t number, int64_t slot, double raw, double expected, Stakes *stakes
    ) noexcept nogil:
        """Give up a round that waits, if it does: its stakes are lost."""
        if stakes.waits:
            if slot >= 0:
                self.release(slot, raw, expected, stakes)
            stakes.waits = False
            self.note(number, NAN, NAN, INFINITY)

    cdef void release(
        self, int64_t slot, double raw, double expected, const Stakes *stakes
    ) noexcept nogil:
        """Let a round wait no longer."""
        cdef Late *late = &self.late[slot]
        late.open -= 1
        late.escrow[0] -= <float>escrow_of(stakes.s[0], raw, self.tolerance)
        late.escrow[1] -= <float>escrow_of(stakes.s[1], expected, self.tolerance)
        if not late.open:
            late.escrow[0] = late.escrow[1] = 0.0    # and no rounding is left
        self.name(slot)

    cdef void name(self, int64_t slot) noexcept nogil:
        """Name a key by its cash, or take its name away by all that it owns."""
        cdef Late *late = &self.late[slot]
        cdef double cash
        cdef Py_ssize_t side
        for side in range(SIDES):
            cash = mean_of(self.cells[slot * SIDES + side].M)
            if cash >= self.goal:
                late.named |= 1 << side
            elif cash + <double>late.escrow[side] / KEY_TILTS < self.goal:
                late.named &= ~(<uint32_t>1 << side)

    cdef double shown(self, int64_t slot, Py_ssize_t side) noexcept nogil:
        """Return the mean evidence of a side: cash, and of a key that is named all that it owns."""
        cdef double cash = mean_of(self.cells[slot * SIDES + side].M)
        if self.late != NULL and self.is_late(slot) and self.late[slot].named >> side & 1:
            cash += <double>self.late[slot].escrow[side] / KEY_TILTS
            return max(cash, self.goal)
        return cash

    def run(self, const int64_t[::1] slots, const double[::1] raw, const double[::1] expected,
            const double[::1] outcomes):
        """Play many outcomes, all of which are checked."""
        cdef Py_ssize_t i
        self.reserve(2 * slots.shape[0], max(self.count, np.max(slots, initial=-1) + 1))
        for i in range(slots.shape[0]):
            self.play(self.asked, slots[i], raw[i], expected[i], outcomes[i])

    def unseen(self):
        """Return the steps in the queue: numbers, and raw, expected and outcome, a row each."""
        cdef Py_ssize_t i
        numbers, rows = np.empty(self.waiting, dtype=np.int64), np.empty((3, self.waiting))
        cdef int64_t[::1] number = numbers
        cdef double[:, ::1] to = rows
        for i in range(self.waiting):
            number[i] = self.queue[i].number
            to[0, i], to[1, i], to[2, i] = (
                self.queue[i].raw, self.queue[i].expected, self.queue[i].y,
            )
        return numbers, rows

    def empty(self):
        """Forget the steps in the queue: they were seen."""
        free(self.queue)
        self.queue, self.queue_room, self.waiting = NULL, 0, 0

    # -- keys -----------------------------------------------------------------------------------

    def keep(self, const int64_t[::1] slots):
        """Keep the keys of these slots, which increase, and forget the others."""
        cdef Py_ssize_t i, kept = 0
        for i in range(slots.shape[0]):
            if slots[i] < self.count:
                memmove(
                    &self.cells[i * SIDES], &self.cells[slots[i] * SIDES], SIDES * sizeof(KeyCell)
                )
                if self.late != NULL:
                    self.late[i] = self.late[slots[i]]
                kept += 1
        self.count = kept

    def cells_of_keys(self):
        """Return the cells, a row per key, up to the last key that was seen."""
        cdef Py_ssize_t count = self.count
        while count and not self.cells[(count - 1) * SIDES].M[0]:
            count -= 1
        found = np.empty((count, SIDES), dtype=KEY_CELL)
        cdef char[::1] to = found.reshape(-1).view(np.int8)
        if count:
            memcpy(&to[0], self.cells, count * SIDES * sizeof(KeyCell))
        return found

    def cells_at(self, const int64_t[::1] slots):
        """Return the cells of some keys, a row per key; zeros for one without outcomes."""
        cdef Py_ssize_t i
        found = np.zeros((slots.shape[0], SIDES), dtype=KEY_CELL)
        cdef char[:, ::1] to = found.view(np.int8)
        for i in range(slots.shape[0]):
            if 0 <= slots[i] < self.count:
                memcpy(&to[i, 0], &self.cells[slots[i] * SIDES], SIDES * sizeof(KeyCell))
        return found

    def evidence(self, const int64_t[::1] slots, Py_ssize_t side):
        """Return the weighted evidence of a side of some keys, 0 of those that were not seen."""
        cdef Py_ssize_t i
        found = np.zeros(slots.shape[0])
        cdef double[::1] to = found
        for i in range(slots.shape[0]):
            if 0 <= slots[i] < self.count:
                to[i] = WEIGHT_ * self.shown(slots[i], side)
        return found

    def late_of_keys(self):
        """Return what keys know of rounds that wait, up to the last key that has or had some."""
        cdef Py_ssize_t count = 0 if self.late == NULL else self.count, i
        while count and not self.is_late(count - 1):
            count -= 1
        found = np.zeros(count, dtype=LATE)
        cdef char[::1] to = found.view(np.int8)
        for i in range(count):
            if self.is_late(i):
                memcpy(&to[i * sizeof(Late)], &self.late[i], sizeof(Late))
        return found

    cdef inline bint is_late(self, Py_ssize_t slot) noexcept nogil:
        return self.late[slot].open > 0 or self.late[slot].D > 1.0

    def load(self, cells, late, int64_t asked, int64_t heard, bint copy=True):
        """Take over what `cells_of_keys` and `late_of_keys` returned and was checked; when new.

        Without a copy it stands on the cells and is read-only.
        """
        cdef const char[::1] rows = cells.reshape(-1).view(np.int8), late_rows = late.view(np.int8)
        cdef Py_ssize_t count = len(cells)
        self.asked, self.heard = asked, heard
        if copy:
            self.reserve(0, max(count, len(late)))  # whose last keys may have no cells as yet
            if count:
                memcpy(self.cells, &rows[0], rows.shape[0])
        elif count:
            self.cells, self.held = <KeyCell *>&rows[0], cells
            self.room = self.count = count
        if len(late) > self.count:
            raise ValueError("saved evidence of what waits must be of keys")
        if len(late):
            self.expect_lateness()
            memcpy(self.late, &late_rows[0], late_rows.shape[0])

    cdef KeyEvidence copied(self):
        """Return a copy; no outcome may be unseen."""
        cdef KeyEvidence copy = KeyEvidence.__new__(KeyEvidence)
        copy.tolerance, copy.alpha, copy.most = self.tolerance, self.alpha, self.most
        copy.load(self.cells_of_keys(), self.late_of_keys(), self.asked, self.heard)
        return copy
