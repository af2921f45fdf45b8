"""A level of a fleet: what is known of each of many keys, by slot, and what they share."""

from libc.math cimport sqrt
from libc.stdint cimport int64_t, uint64_t
from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memcpy

import numpy as np

from calibrant._kernels.fleet.fleet_blocks cimport BLOCK, BLOCK_BITS, block_free, block_new, blocks_held
from calibrant._kernels.fleet.fleet_owned cimport Owned, own_of
from calibrant._kernels.fleet.fleet_rule cimport (
    BUCKETS, EXPERTS, OFFSETS, SLOPES, SLOPES_AT, Key, Own, Pool, key_prior, key_start, key_weights,
    pool_start,
)
from calibrant._kernels.kernel cimport array_of

cdef enum:
    TOLD = 6  # numbers that `known` returns

#: One key as NumPy sees it: 128 bytes.
KEY = np.dtype(
    [
        ("offset", "<f4", OFFSETS), ("precision", "<f4", OFFSETS), ("slope", "<f4", 5 * SLOPES),
        ("made", "<u4"), ("learned", "<u4"), ("hash", "<u8"), ("last", "<f8"),
    ]
)
#: The numbers of Pool after its weights and marks: lag, a, b, A and that of curves.
SCALING = 7


cdef void tell(Level level, int64_t slot, double *told) noexcept nogil:
    """Write down what is known of a key, as `known` returns it."""
    cdef const Key *key = key_at(level, slot)
    cdef const float *w = key_weights(&level.pool, key)
    cdef const Own *own = own_of(level.owned, key, slot)
    cdef double mean = 0.0, square = 0.0, weight = 0.0, c, A, heard
    cdef int i
    for i in range(OFFSETS + SLOPES):
        if i < OFFSETS:
            c, A, heard = key.c[i], key.A[i], w[i]
        else:
            c, A = key.slope[5 * (i - OFFSETS) + 1], key.slope[5 * (i - OFFSETS) + 4]
            heard = w[SLOPES_AT + i - OFFSETS]
        mean += heard * c
        square += heard * (c * c + 1.0 / A)
        weight += heard * (1.0 - key_prior(i) / A)
    told[0], told[1], told[2] = key.made, key.learned, mean
    told[3], told[4] = sqrt(max(square - mean * mean, 0.0)), weight
    told[5] = 0.0 if own == NULL else own.w


cdef class Level:
    """Keys in blocks that stay where they are, each two cache lines, and their shared weights."""

    def __cinit__(self, double estimate):
        pool_start(&self.pool, estimate)
        self.owned = Owned()

    def __dealloc__(self):
        cdef Py_ssize_t i
        if self.held is None:
            for i in range(self.room):
                block_free(self.blocks, i)
        free(self.blocks)

    def __len__(self):
        return self.count

    @property
    def nbytes(self):
        """Bytes in use for keys."""
        blocks = blocks_held(self.room) * BLOCK * sizeof(Key)
        return blocks + sizeof(Pool) + self.owned.nbytes

    cdef int grow(self, Py_ssize_t count) except -1:
        """Make room for so many keys; MemoryError if there is none, and nothing has changed."""
        cdef Py_ssize_t blocks = (count + BLOCK - 1) >> BLOCK_BITS
        cdef Key **table
        cdef Key *block
        if blocks <= self.room:
            return 0
        table = <Key **>realloc(self.blocks, blocks * sizeof(Key *))
        if table == NULL:
            raise MemoryError
        self.blocks = table
        while self.room < blocks:
            block = block_new(self.blocks, self.room)
            if block == NULL:
                raise MemoryError
            self.blocks[self.room] = block
            self.room += 1
        return 0

    def add(self, const uint64_t[::1] hashes):
        """Let new keys with these hashes begin, in the next slots."""
        cdef Py_ssize_t i
        self.grow(self.count + hashes.shape[0])
        for i in range(hashes.shape[0]):
            key_start(key_at(self, self.count + i), hashes[i])
        self.count += hashes.shape[0]

    def truncate(self, Py_ssize_t count):
        """Forget the keys from this slot on."""
        self.count = count
        while self.room > (count + BLOCK - 1) >> BLOCK_BITS:
            self.room -= 1
            block_free(self.blocks, self.room)

    def keep(self, const int64_t[::1] slots):
        """Keep the keys of these slots, which increase, and forget the others."""
        cdef Py_ssize_t i
        for i in range(slots.shape[0]):
            if slots[i] != i:
                memcpy(key_at(self, i), key_at(self, slots[i]), sizeof(Key))
        self.owned.keep(np.asarray(slots))
        self.truncate(slots.shape[0])

    def last(self):
        """Return when each key was predicted last."""
        times = np.empty(self.count)
        cdef double[::1] time = times
        cdef Py_ssize_t i
        for i in range(self.count):
            time[i] = key_at(self, i).last
        return times

    def made(self):
        """Return how many predictions each key made."""
        counts = np.empty(self.count, dtype=np.int64)
        cdef int64_t[::1] count = counts
        cdef Py_ssize_t i
        for i in range(self.count):
            count[i] = key_at(self, i).made
        return counts

    def known(self, int64_t slot):
        """Return what is known of a key: predictions, outcomes, offset, its deviation, two weights.

        The offset is the mean over the experts; the first weight is how much of what they know
        comes from the key's own outcomes, the second that of its curve.
        """
        cdef double told[TOLD]
        tell(self, slot, told)
        return <int64_t>told[0], <int64_t>told[1], told[2], told[3], told[4], told[5]

    def all_known(self):
        """Return what `known` says of each key: an array with a row a slot."""
        table = np.empty((self.count, TOLD))
        cdef double[:, ::1] rows = table
        cdef Py_ssize_t i
        with nogil:
            for i in range(self.count):
                tell(self, i, &rows[i, 0])
        return table

    # -- saving ---------------------------------------------------------------------------------

    def keys(self):
        """Return all keys as an array of KEY."""
        found = np.empty(self.count, dtype=KEY)
        cdef unsigned char[::1] to = found.view(np.uint8)
        cdef Py_ssize_t first = 0, size
        while first < self.count:
            size = min(BLOCK, self.count - first)
            memcpy(&to[first * sizeof(Key)], self.blocks[first >> BLOCK_BITS], size * sizeof(Key))
            first += BLOCK
        return found

    def shared(self):
        """Return what the keys share: weights, marks of those in use, and all else."""
        weights = np.empty(BUCKETS * EXPERTS, dtype=np.float32)
        cdef float[::1] w = weights
        memcpy(&w[0], self.pool.w, sizeof(self.pool.w))
        return weights, array_of(self.pool.used, BUCKETS), array_of(&self.pool.lag, SCALING)

    def load(self, keys, weights, used, scaling, bint copy=True):
        """Take over what `keys` and `shared` returned; without a copy, read-only."""
        cdef const unsigned char[::1] rows = np.ascontiguousarray(keys).view(np.uint8)
        cdef const float[::1] w = weights
        cdef const double[::1] marks = used, rest = scaling
        cdef Py_ssize_t first = 0, size, count = len(keys)
        if len(w) != BUCKETS * EXPERTS or len(marks) != BUCKETS or len(rest) != SCALING:
            raise ValueError("saved weights of a level must be of all its buckets")
        memcpy(self.pool.w, &w[0], sizeof(self.pool.w))
        memcpy(self.pool.used, &marks[0], sizeof(self.pool.used))
        memcpy(&self.pool.lag, &rest[0], SCALING * sizeof(double))
        if not copy:
            self.stand_on(keys)
            return
        self.truncate(0)
        self.grow(count)
        self.count = count
        while first < count:
            size = min(BLOCK, count - first)
            memcpy(self.blocks[first >> BLOCK_BITS], &rows[first * sizeof(Key)], size * sizeof(Key))
            first += BLOCK

    cdef int stand_on(self, keys) except -1:
        """Read the keys where they are, which may be a file."""
        cdef const unsigned char[::1] rows = keys.view(np.uint8)
        cdef Py_ssize_t i, blocks = (len(keys) + BLOCK - 1) >> BLOCK_BITS
        self.truncate(0)
        free(self.blocks)
        self.blocks = <Key **>malloc(max(blocks, 1) * sizeof(Key *))
        if self.blocks == NULL:
            raise MemoryError
        for i in range(blocks):
            self.blocks[i] = <Key *>&rows[i * BLOCK * sizeof(Key)]
        self.room, self.count, self.held = blocks, len(keys), keys
        return 0
