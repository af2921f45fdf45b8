"""Counters of what followed each context, in a hashed table that grows with the contexts met.

A table has at most MOST slots, of which a quarter stays free so that searches are short. When it is
full, a context that was never met is not counted: it stays without an estimate.
"""

from libc.stdint cimport int64_t, uint32_t
from libc.stdlib cimport calloc, free

import numpy as np

from calibrant._kernels.saved import floats

cdef Py_ssize_t FIRST = 256     # slots at the start
cdef Py_ssize_t MOST = 1 << 15
LEAST = slots_within(0.0)       # no counter says less, or more than 1 - LEAST
cdef uint32_t LONG = 4096       # outcomes that the slow mean remembers
cdef double SHORT = 30.0        # and the fast one

SLOT_PARTS = ("slot_key", "slot_n", "slot_slow", "slot_fast")


cdef int logarithm(Py_ssize_t room) noexcept nogil:
    cdef int bits = 0
    while (<Py_ssize_t>1 << bits) < room:
        bits += 1
    return bits


cdef int start_with(Slots *s, Py_ssize_t room) noexcept nogil:
    """Start an empty table; -1 when there is no memory."""
    s.slot = <Slot *>calloc(room, sizeof(Slot))
    if s.slot == NULL:
        return -1
    s.count, s.room, s.shift = 0, room, 32 - logarithm(room)
    return 0


cdef int slots_start(Slots *s) noexcept nogil:
    """Start a small empty table; -1 when there is no memory."""
    return start_with(s, FIRST)


cdef void slots_free(Slots *s) noexcept nogil:
    free(s.slot)


cdef int slots_reserve(Slots *s, Py_ssize_t more) noexcept nogil:
    """Grow, unless there is room for so many more contexts; -1 when there is no memory."""
    cdef Slots grown
    cdef Py_ssize_t i
    if 4 * (s.count + more) <= 3 * s.room or s.room >= MOST:
        return 0
    if start_with(&grown, 2 * s.room) < 0:
        return -1
    for i in range(s.room):
        if s.slot[i].key:
            grown.slot[slots_find(&grown, s.slot[i].key)] = s.slot[i]
    grown.count = s.count
    free(s.slot)
    s[0] = grown
    return 0


cdef void slots_count(Slots *s, Py_ssize_t at, uint32_t key, double y) noexcept nogil:
    """Count an outcome for a context, whose slot was at `at` when it was last looked for."""
    cdef Slot *slot
    cdef double rate
    if s.slot[at].key != key:
        at = slots_find(s, key)  # the table has grown, or another context took the free slot
    slot = &s.slot[at]
    if slot.key == 0:
        if 4 * (s.count + 1) > 3 * s.room:
            return  # full
        slot.key, slot.n, slot.slow, slot.fast = key, 0, 0.5, 0.5
        s.count += 1
    if slot.n < LONG:
        slot.n += 1
    rate = 1.0 / (slot.n + 2.0)
    slot.slow = slots_within(slot.slow + rate * (y - slot.slow))
    if rate < 1.0 / SHORT:
        rate = 1.0 / SHORT
    slot.fast = slots_within(slot.fast + rate * (y - slot.fast))


cdef dict slots_save(const Slots *s):
    """Return all slots by name, in the order of their keys: how they are laid out is no matter."""
    cdef Py_ssize_t i, k = 0
    table = np.empty((4, s.count))
    cdef double[:, ::1] to = table
    for i in range(s.room):
        if s.slot[i].key:
            to[0, k], to[1, k] = s.slot[i].key, s.slot[i].n
            to[2, k], to[3, k] = s.slot[i].slow, s.slot[i].fast
            k += 1
    table = table[:, np.argsort(table[0])]
    return {name: row.copy() for name, row in zip(SLOT_PARTS, table, strict=True)}


cdef object slots_load(Slots *s, object state, uint32_t most, int64_t rounds):
    """Take over what `slots_save` returned, keys up to `most`, or raise and change nothing."""
    key = floats(state, "slot_key", low=1.0, high=most)
    count = len(key)
    n = floats(state, "slot_n", size=count, low=1.0, high=min(rounds, LONG))
    slow = floats(state, "slot_slow", size=count, low=LEAST, high=1.0 - LEAST)
    fast = floats(state, "slot_fast", size=count, low=LEAST, high=1.0 - LEAST)
    if (key % 1.0).any() or (n % 1.0).any() or (np.diff(key) <= 0.0).any():
        raise ValueError("saved slot_key must be increasing contexts, saved slot_n whole numbers")
    cdef Py_ssize_t room = FIRST, i
    while 3 * room < 4 * count:
        room *= 2
    if room > MOST:
        raise ValueError(f"saved slots must be at most {3 * MOST // 4}, got {count}")
    cdef Slots loaded
    cdef const double[::1] keys = key, counts = n, means = slow, recent = fast
    if start_with(&loaded, room) < 0:
        raise MemoryError
    for i in range(count):
        loaded.slot[slots_find(&loaded, <uint32_t>keys[i])] = Slot(
            <uint32_t>keys[i], <uint32_t>counts[i], means[i], recent[i]
        )
    loaded.count = count
    free(s.slot)
    s[0] = loaded
