"""The evidence of each key of a fleet: 48 bytes, for raw scores and calibrated predictions.

A key is a cell of the monitor's tree (evidence.pyx) over all its predictions, with the weight of a
group. It bets on shifts of the logit by 0.25 and 1, upwards and downwards: with so few outcomes
finer steps gain nothing. A visit makes M <- e (M + 1) of each bet, and no bet is kept above `most`,
so that a key that recovers is not off for long. As a round visits one key, the sum over keys of
the mean M grows by at most 1 a round under the null, however many keys there are.

Its bias is the mean of y - p since the direction with more evidence changed.

Keys are played the moment an outcome is learned. The monitors of ranges are shown predictions and
outcomes later, from a queue: whenever somebody looks, and before it gets long.
"""

from libc.math cimport exp
from libc.stdint cimport int64_t, uint32_t
from libc.stdlib cimport free, realloc
from libc.string cimport memcpy, memmove, memset

import numpy as np

from calibrant._kernels.watch.evidence cimport GROUP_WEIGHT, bet, granted

cdef enum:
    KEY_STEPS = KEY_TILTS // 2   # tilts a direction
    LEAST_ROOM = 512

cdef float[KEY_TILTS] B          # factors of the odds
B[0], B[1], B[2], B[3] = <float>exp(0.25), <float>exp(1.0), <float>exp(-0.25), <float>exp(-1.0)

#: One side of a key as NumPy sees it: 24 bytes.
KEY_CELL = np.dtype([("M", "<f4", KEY_TILTS), ("S", "<f4"), ("n", "<u4")])
assert KEY_CELL.itemsize == sizeof(KeyCell) == 24
#: Weight of the level of keys. With those of ranges and slopes it adds up to 1.
WEIGHT = GROUP_WEIGHT
#: How many times what it takes to be named a bet is kept as, at most.
BEYOND = 1000.0


cdef inline bint leans_up(const KeyCell *cell) noexcept nogil:
    """Return whether more speaks for predictions that are too low than for too high ones."""
    return cell.M[0] + cell.M[1] >= cell.M[2] + cell.M[3]


cdef void play(
    KeyCell *cell, double p, double y, double tolerance, float add, float most
) noexcept nogil:
    """Play a round of one side of a key."""
    cdef double high = min(p + tolerance, 1.0), low = max(p - tolerance, 0.0)
    cdef float u = <float>high, not_u = <float>(1.0 - high)
    cdef float l = <float>low, not_l = <float>(1.0 - low)
    cdef float yes = <float>y, no = <float>(1.0 - y), by = <float>(y - p)
    cdef bint was_up = leans_up(cell)
    cdef Py_ssize_t k
    for k in range(KEY_STEPS):
        cell.M[k] = min(bet(B[k], u, not_u, yes, no) * (cell.M[k] + add), most)
    for k in range(KEY_STEPS, KEY_TILTS):
        cell.M[k] = min(bet(B[k], l, not_l, yes, no) * (cell.M[k] + add), most)
    if leans_up(cell) != was_up:
        cell.S, cell.n = 0.0, 0
    cell.S += by
    cell.n += cell.n < <uint32_t>-1


cdef class KeyEvidence:
    """Cells of keys by slot, and the steps that the monitors of ranges have still to see."""

    def __init__(self, double threshold, double tolerance, double alpha):
        self.tolerance, self.alpha = tolerance, alpha
        self.most = <float>(BEYOND * threshold / WEIGHT)

    def __dealloc__(self):
        if self.held is None:
            free(self.cells)
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
        return self.room * SIDES * sizeof(KeyCell)

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
            self.cells, self.room = <KeyCell *>grown, room
        if keys > self.count:
            memset(&self.cells[self.count * SIDES], 0, (keys - self.count) * SIDES * sizeof(KeyCell))
            self.count = keys
        return 0

    cdef void note(self, int64_t number, double raw, double expected, double y) noexcept nogil:
        """Let the monitors of ranges see a step, for which there is room, later."""
        cdef Unseen *unseen = &self.queue[self.waiting]
        unseen.number, unseen.raw, unseen.expected, unseen.y = number, raw, expected, y
        self.waiting += 1

    cdef void hear(
        self, int64_t number, int64_t slot, double raw, double expected, double y
    ) noexcept nogil:
        """Play an outcome for which there is room; a slot of -1 is a key that was forgotten."""
        cdef float add = <float>granted(self.alpha, self.heard)
        if slot >= 0:
            play(&self.cells[slot * SIDES], raw, y, self.tolerance, add, self.most)
            play(&self.cells[slot * SIDES + 1], expected, y, self.tolerance, add, self.most)
        self.note(number, raw, expected, y)
        self.heard += 1

    def run(self, const int64_t[::1] slots, const double[::1] raw, const double[::1] expected,
            const double[::1] outcomes):
        """Play many outcomes, all of which are checked."""
        cdef Py_ssize_t i
        self.reserve(slots.shape[0], max(self.count, np.max(slots, initial=-1) + 1))
        for i in range(slots.shape[0]):
            self.hear(self.heard, slots[i], raw[i], expected[i], outcomes[i])

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
                kept += 1
        self.count = kept

    def cells_of_keys(self):
        """Return the cells, a row a key, up to the last key that has outcomes."""
        cdef Py_ssize_t count = self.count
        while count and not self.cells[(count - 1) * SIDES].n:
            count -= 1
        found = np.empty((count, SIDES), dtype=KEY_CELL)
        cdef char[::1] to = found.reshape(-1).view(np.int8)
        if count:
            memcpy(&to[0], self.cells, count * SIDES * sizeof(KeyCell))
        return found

    def cells_at(self, const int64_t[::1] slots):
        """Return the cells of some keys, a row a key; zeros for one without outcomes."""
        cdef Py_ssize_t i
        found = np.zeros((slots.shape[0], SIDES), dtype=KEY_CELL)
        cdef char[:, ::1] to = found.view(np.int8)
        for i in range(slots.shape[0]):
            if 0 <= slots[i] < self.count:
                memcpy(&to[i, 0], &self.cells[slots[i] * SIDES], SIDES * sizeof(KeyCell))
        return found

    def load(self, cells, int64_t rounds, bint copy=True):
        """Take over what `cells_of_keys` returned and was checked; for one that is new.

        Without a copy it stands on the array, and is for reading only.
        """
        cdef const char[::1] rows = cells.reshape(-1).view(np.int8)
        cdef Py_ssize_t count = len(cells)
        self.heard = rounds
        if copy:
            self.reserve(0, count)
            if count:
                memcpy(self.cells, &rows[0], rows.shape[0])
        elif count:
            self.cells, self.held = <KeyCell *>&rows[0], cells
            self.room = self.count = count

    cdef KeyEvidence copied(self):
        """Return a copy; no outcome may be unseen."""
        cdef KeyEvidence copy = KeyEvidence.__new__(KeyEvidence)
        copy.tolerance, copy.alpha, copy.most = self.tolerance, self.alpha, self.most
        copy.load(self.cells_of_keys(), self.heard)
        return copy
