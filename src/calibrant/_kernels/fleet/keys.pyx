"""An index of keys: which slot of a fleet's flat arrays belongs to a key.

A hash leads to an entry of a table (`key_table.pxd`), at most three quarters full, and the entry to
a slot. The key itself stands once, by slot, and is compared: two keys with one hash are two keys.
Slots are always 0 .. len - 1, in order of first appearance. An index may stand on a file that somebody
writes to: it then knows no key, or finds another's slot, and reads nothing beyond its arrays.

What the processor waits for is memory, so a batch is resolved in blocks: the entries of all keys of
a block are asked for first, then the keys that they point at, and only then is anything compared.
"""

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcmp, memcpy

import numpy as np

from calibrant._kernels.fleet.key_batch cimport (
    INTS, TEXTS, UNKNOWN, KeyBatch, Sort, batch_of_ints, batch_of_texts, sort_name,
)
from calibrant._kernels.fleet.key_batch import checked_keys
from calibrant._kernels.fleet.key_hash cimport hash_of_int, hash_of_text
from calibrant._kernels.fleet.key_table cimport entry_of, first_like, low_of, slot_of, spread, take_out
from calibrant._kernels.prefetch cimport prefetch
from calibrant._kernels.fleet.saved_keys import check_table, checked_count

cdef enum:
    BLOCK = 64  # keys asked for ahead: as many as a core can wait for, and a little more
    FIRST = 16  # room of an index with its first key

#: Said of a mapped index where it makes no sense any more.
CHANGED = "the file of these keys was changed after it was opened"
#: An entry has 32 bits for the slot, and 0 is empty.
MOST_KEYS = 2**32 - 2


cdef class KeyIndex:
    """Slots by key, for keys that are all integers or all strings.

    Calls that change the index must not run beside any other; calls that only look may.
    """

    cdef Py_ssize_t count, room          # keys, and keys that there is room for
    cdef Sort sort
    cdef uint64_t *table
    cdef uint64_t mask                   # of positions in the table, whose size is a power of two
    cdef int64_t *ints                   # INTS: by slot
    cdef int64_t *starts                 # TEXTS: by slot, and where the next would start
    cdef uint8_t *arena                  # TEXTS: UTF-8, one key after the other
    cdef Py_ssize_t letters              # bytes that the arena has room for
    cdef dict memory                     # the arrays behind the pointers
    cdef bint mapped                     # stands on arrays of a file: nothing can be added
    cdef int looking                     # calls that look, at this moment
    cdef bint changing

    def __init__(self):
        self.memory = {}

    def __len__(self):
        return self.count

    @property
    def kind(self):
        """What the keys are: "int" or "str"; None while there are none."""
        return sort_name(self.sort)

    @property
    def nbytes(self):
        """Bytes of all arrays, room for more keys included."""
        return sum(array.nbytes for array in self.memory.values())

    # -- looking up and adding ------------------------------------------------------------------

    def slots(self, keys, bint add=False):
        """Return the slot of each key, in row order; -1 for an unknown one.

        With `add` unknown keys get the next slots, all of them or, after an error, none.
        """
        cdef KeyBatch batch = checked_keys(keys)
        cdef Py_ssize_t before = self.count
        found = np.empty(batch.count, dtype=np.int64)
        cdef int64_t[::1] out = found
        if not batch.count:
            return found
        if self.sort != UNKNOWN and batch.sort != self.sort:
            raise ValueError(
                f"the keys known so far are {self.kind}, got {batch.kind} at position 0: "
                "keys must be all integers or all strings"
            )
        if not add:
            if self.changing:
                raise RuntimeError("keys are being added by another thread")
            if self.sort == UNKNOWN:
                found.fill(-1)
                return found
            self.looking += 1
            with nogil:
                self.resolve(batch, &out[0], False)
            self.looking -= 1
            return found
        self.begin_change()
        try:
            if self.sort == UNKNOWN:
                self.start(batch.sort)
            with nogil:
                self.resolve(batch, &out[0], True)
        except BaseException:
            self.drop(before)
            raise
        finally:
            self.changing = False
        return found

    cdef int begin_change(self) except -1:
        if self.mapped:
            raise ValueError("this index is read-only")
        if self.changing or self.looking:
            raise RuntimeError("the index of keys is in use by another thread")
        self.changing = True
        return 0

    cdef inline bint is_at(self, KeyBatch batch, Py_ssize_t i, int64_t slot) noexcept nogil:
        """Return whether a slot holds key i of the batch."""
        cdef int64_t size = batch.size_of(i), start
        if <uint64_t>slot >= <uint64_t>self.count:
            return False
        if batch.sort == INTS:
            return self.ints[slot] == batch.ints[i]
        start = self.starts[slot]
        return (
            self.starts[slot + 1] - start == size and 0 <= start <= self.letters - size
            and memcmp(self.arena + start, batch.text + batch.starts[i], size) == 0
        )

    cdef inline int64_t find(
        self, KeyBatch batch, Py_ssize_t i, uint32_t low, uint64_t *at
    ) noexcept nogil:
        """Return the slot of key i, or -1; `at` is its entry, or the empty one where it belongs."""
        cdef uint64_t entry, first = low & self.mask
        at[0] = first
        while True:
            entry = self.table[at[0]]
            if entry == 0:
                return -1
            if low_of(entry) == low and self.is_at(batch, i, slot_of(entry)):
                return slot_of(entry)
            at[0] = (at[0] + 1) & self.mask
            if at[0] == first:
                return -1

    cdef void ask_for(
        self, KeyBatch batch, Py_ssize_t begin, Py_ssize_t end, uint32_t *lows
    ) noexcept nogil:
        """Hash the keys of a block, and have the memory fetched that their lookups will read."""
        cdef Py_ssize_t i, count = end - begin
        cdef int64_t slots[BLOCK]
        for i in range(count):
            lows[i] = <uint32_t>batch.hash_at(begin + i)
            prefetch(&self.table[lows[i] & self.mask])
        for i in range(count):
            slots[i] = first_like(self.table, self.mask, lows[i])
            if slots[i] >= self.count:
                slots[i] = -1
            if slots[i] >= 0:
                prefetch(&self.ints[slots[i]] if self.sort == INTS else &self.starts[slots[i]])
        if self.sort == TEXTS:
            for i in range(count):
                if slots[i] >= 0:
                    prefetch(self.arena + self.starts[slots[i]])

    cdef int resolve(self, KeyBatch batch, int64_t *out, bint add) except -1 nogil:
        cdef Py_ssize_t i, begin = 0, end = 0
        cdef uint32_t lows[BLOCK]
        cdef uint64_t at
        for i in range(batch.count):
            if i == end:
                begin, end = end, min(end + BLOCK, batch.count)
                self.ask_for(batch, begin, end, lows)
            out[i] = self.find(batch, i, lows[i - begin], &at)
            if out[i] < 0 and add:
                if self.is_full(batch.size_of(i)):
                    with gil:
                        self.make_room(batch.size_of(i))
                    self.find(batch, i, lows[i - begin], &at)
                out[i] = self.put(batch, i, lows[i - begin], at)
        return 0

    cdef inline int64_t put(
        self, KeyBatch batch, Py_ssize_t i, uint32_t low, uint64_t at
    ) noexcept nogil:
        """Give key i the next slot, with its entry at `at`; there is room for it."""
        cdef int64_t start
        if batch.sort == INTS:
            self.ints[self.count] = batch.ints[i]
        else:
            start = self.starts[self.count]
            memcpy(self.arena + start, batch.text + batch.starts[i], batch.size_of(i))
            self.starts[self.count + 1] = start + batch.size_of(i)
        self.table[at] = entry_of(low, self.count)
        self.count += 1
        return self.count - 1

    # -- room -----------------------------------------------------------------------------------

    cdef inline bint is_full(self, int64_t size) noexcept nogil:
        """Return whether one more key of that size needs a larger array."""
        if self.count == self.room or 4 * (self.count + 1) > 3 * <Py_ssize_t>(self.mask + 1):
            return True
        return self.sort == TEXTS and self.starts[self.count] + size > self.letters

    cdef int start(self, Sort sort) except -1:
        """Make room for the first keys, which say what all keys are."""
        table = np.zeros(2 * FIRST, dtype=np.uint64)
        if sort == INTS:
            memory = {"keys": np.empty(FIRST, dtype=np.int64), "table": table}
        else:
            memory = {
                "starts": np.zeros(FIRST + 1, dtype=np.int64),
                "arena": np.empty(16 * FIRST, dtype=np.uint8),
                "table": table,
            }
        self.sort = sort
        self.stand_on(memory)
        return 0

    cdef int stand_on(self, dict memory) except -1:
        """Point at new arrays, all at once."""
        cdef const int64_t[::1] longs
        cdef const uint8_t[::1] letters
        cdef const uint64_t[::1] entries = memory["table"]
        self.memory = memory
        self.table, self.mask = <uint64_t *>&entries[0], <uint64_t>(entries.shape[0] - 1)
        if self.sort == INTS:
            longs = memory["keys"]
            self.ints, self.room = <int64_t *>&longs[0] if longs.shape[0] else NULL, longs.shape[0]
        else:
            longs, letters = memory["starts"], memory["arena"]
            self.starts, self.room = <int64_t *>&longs[0], longs.shape[0] - 1
            self.arena = <uint8_t *>&letters[0] if letters.shape[0] else NULL
            self.letters = letters.shape[0]
        return 0

    cdef int make_room(self, int64_t size) except -1:
        """Make room for one more key of that size; without memory nothing has changed."""
        cdef Py_ssize_t count = self.count
        cdef uint64_t[::1] larger
        if count >= MOST_KEYS:
            raise MemoryError(f"an index holds at most {MOST_KEYS} keys")
        memory = dict(self.memory)
        if count == self.room:
            by_slot = "keys" if self.sort == INTS else "starts"
            memory[by_slot] = _longer(memory[by_slot], len(memory[by_slot]) + count // 2 + 1)
        if self.sort == TEXTS and self.starts[count] + size > self.letters:
            memory["arena"] = _longer(memory["arena"], 3 * (self.starts[count] + size) // 2)
        if 4 * (count + 1) > 3 * <Py_ssize_t>(self.mask + 1):
            larger = np.zeros(2 * (self.mask + 1), dtype=np.uint64)
            spread(self.table, self.mask, &larger[0], larger.shape[0] - 1)
            memory["table"] = larger.base
        self.stand_on(memory)
        return 0

    # -- taking out -----------------------------------------------------------------------------

    def truncate(self, Py_ssize_t count):
        """Forget the keys with slots from `count` on: the newest ones. Needs no memory."""
        if not 0 <= count <= self.count:
            raise ValueError(f"count must be in [0, {self.count}], got {count}")
        self.begin_change()
        self.drop(count)
        self.changing = False

    cdef void drop(self, Py_ssize_t count) noexcept:
        while self.count > count:
            self.count -= 1
            take_out(self.table, self.mask, <uint32_t>self.hash_by_slot(self.count), self.count)
        if count == 0:
            self.sort, self.room, self.memory = UNKNOWN, 0, {}

    cdef uint64_t hash_by_slot(self, Py_ssize_t slot) noexcept nogil:
        cdef int64_t start
        if self.sort == INTS:
            return hash_of_int(self.ints[slot])
        start = self.starts[slot]
        return hash_of_text(self.arena + start, self.starts[slot + 1] - start)

    def remove(self, slots):
        """Forget the keys of some slots; return the new slot of each old one, -1 for those gone.

        The others keep their order and close up. Without memory nothing has changed.
        """
        gone = np.zeros(self.count, dtype=bool)
        gone[_checked_slots(slots, self.count)] = True
        after = np.where(gone, -1, np.cumsum(~gone) - 1)
        self.begin_change()
        try:
            if not gone.any():
                return after
            kept = self.as_batch().take(np.flatnonzero(~gone))
            fresh = KeyIndex()
            if len(kept):
                fresh.slots(kept, add=True)
            self.replace_by(fresh)
        finally:
            self.changing = False
        return after

    cdef int replace_by(self, KeyIndex other) except -1:
        self.count, self.sort, self.room = other.count, other.sort, 0
        if other.sort == UNKNOWN:
            self.memory = {}
        else:
            self.stand_on(other.memory)
        return 0

    # -- the keys, and saving -------------------------------------------------------------------

    cdef KeyBatch as_batch(self):
        """Return all keys by slot, on the index's own memory."""
        if self.sort == TEXTS:
            starts = self.memory["starts"][: self.count + 1]
            if self.mapped:
                starts = np.array(starts)  # as they are now
                if starts[0] < 0 or starts[self.count] > self.letters or (np.diff(starts) < 0).any():
                    raise ValueError(CHANGED)
            return batch_of_texts(starts, self.memory["arena"])
        return batch_of_ints(self.memory["keys"][: self.count] if self.count else _no_ints())

    def keys(self):
        """Return all keys by slot: an array of int64, or of objects that are strings."""
        if self.sort != TEXTS:
            return np.array(self.memory["keys"][: self.count]) if self.count else _no_ints()
        keys = np.empty(self.count, dtype=object)
        keys[:] = self.as_batch().tolist()
        return keys

    def key(self, Py_ssize_t slot):
        """Return the key of one slot."""
        if not 0 <= slot < self.count:
            raise IndexError(f"slot must be in [0, {self.count}), got {slot}")
        if self.sort != TEXTS:
            return self.ints[slot]
        cdef int64_t start = self.starts[slot], end = self.starts[slot + 1]
        if not 0 <= start <= end <= self.letters:
            raise ValueError(CHANGED)
        return (<const char *>self.arena)[start:end].decode("utf-8")

    def keys_at(self, slots):
        """Return the keys of some slots, as a list."""
        return self.as_batch().take(_checked_slots(slots, self.count)).tolist()

    def hashes(self, Py_ssize_t first=0):
        """Return the hash of each key from a slot on, computed anew: it is not kept."""
        cdef uint64_t[::1] out = np.empty(self.count - first, dtype=np.uint64)
        cdef Py_ssize_t i
        for i in range(out.shape[0]):
            out[i] = self.hash_by_slot(first + i)
        return out.base

    def arrays(self, bint table=True):
        """Return the arrays that `from_arrays` takes, read-only and good until the index changes.

        Without the table it is built again when they are read.
        """
        cdef dict arrays = {}
        if self.sort == UNKNOWN:
            return arrays
        if self.sort == INTS:
            arrays["keys"] = self.memory["keys"][: self.count]
        else:
            arrays["starts"] = self.memory["starts"][: self.count + 1]
            arrays["arena"] = self.memory["arena"][: self.starts[self.count]]
        if table:
            arrays["table"] = self.memory["table"][:]
        for array in arrays.values():
            array.flags.writeable = False
        return arrays

    @staticmethod
    def from_arrays(arrays, bint copy=True):
        """Return an index on saved arrays, or raise ValueError that says what is wrong with them.

        With `copy` the index is built anew from the keys. Without, it stands on the arrays, which
        may be mapped from a file, and can only be looked into: their table must be there.
        """
        cdef KeyIndex index = KeyIndex()
        arrays = dict(arrays)
        if not arrays:
            return index
        table = arrays.pop("table", None)
        count = checked_count(arrays, texts=copy)
        if copy:
            if "keys" in arrays:
                batch = batch_of_ints(arrays["keys"])
            else:
                batch = batch_of_texts(arrays["starts"], arrays["arena"])
            index.slots(batch, add=True)
            if index.count != count:
                raise ValueError("saved keys must be distinct")
            return index
        check_table(table, count)
        index.sort, index.count, index.mapped = INTS if "keys" in arrays else TEXTS, count, True
        index.stand_on({**arrays, "table": table})
        return index


def _no_ints():
    return np.empty(0, dtype=np.int64)


def _longer(array, size):
    """Return an array with more room and the same beginning."""
    longer = np.empty(size, dtype=array.dtype)
    longer[: len(array)] = array
    return longer


def _checked_slots(slots, count):
    slots = np.asarray(slots, dtype=np.int64)
    if slots.size and not (slots.min() >= 0 and slots.max() < count):
        raise ValueError(f"slots must be in [0, {count}), got {slots.min()} to {slots.max()}")
    return slots
