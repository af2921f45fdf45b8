"""The keys of a batch: integers that fit 64 bits or texts, never both.

All checks of a batch's keys stand here. A batch that was made can be hashed, looked up and entered
without another check, so that nothing has changed when a key is refused.
"""

from cpython.unicode cimport PyUnicode_AsUTF8AndSize
from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.string cimport memcpy

import numpy as np

from calibrant._checks import check_unmasked, describe
from calibrant._kernels.fleet.key_hash cimport hash_of_int, hash_of_text

MOST = 2**63 - 1
WANTED = "keys must be integers or strings"


cdef str sort_name(Sort sort):
    return (None, "int", "str")[<int>sort]


def shards_of(hashes, int shards):
    """Return the shard of each key by its hash: the upper half of the hash, modulo `shards`.

    The lower half is the index's own: a shard's keys do not crowd together in its table.
    """
    return (np.asarray(hashes, dtype=np.uint64) >> np.uint64(32)).astype(np.int64) % shards


cdef class KeyBatch:
    """Keys in row order; made by `checked_keys`."""

    def __init__(self):
        raise TypeError("a batch of keys is made by checked_keys")

    def __len__(self):
        return self.count

    @property
    def kind(self):
        """What the keys are: "int" or "str"; None where there are none."""
        return sort_name(self.sort)

    cdef int64_t size_of(self, Py_ssize_t i) noexcept nogil:
        """Return the bytes of a key that is text; 0 for an integer."""
        return self.starts[i + 1] - self.starts[i] if self.sort == TEXTS else 0

    cdef uint64_t hash_at(self, Py_ssize_t i) noexcept nogil:
        if self.sort == TEXTS:
            return hash_of_text(self.text + self.starts[i], self.size_of(i))
        return hash_of_int(self.ints[i])

    def hashes(self):
        """Return the 64-bit hash of each key."""
        hashed = np.empty(self.count, dtype=np.uint64)
        cdef uint64_t[::1] out = hashed
        cdef Py_ssize_t i
        with nogil:
            for i in range(self.count):
                out[i] = self.hash_at(i)
        return hashed

    def take(self, rows):
        """Return the keys of some rows, in the order of `rows`."""
        cdef const int64_t[::1] wanted = np.ascontiguousarray(rows, dtype=np.int64)
        cdef Py_ssize_t i, n = wanted.shape[0]
        cdef int64_t row, size
        for i in range(n):
            if not 0 <= wanted[i] < self.count:
                raise IndexError(f"row {wanted[i]} of a batch of {self.count} keys")
        if self.sort != TEXTS:
            ints = np.empty(n, dtype=np.int64)
            batch = batch_of_ints(ints)
            for i in range(n):
                (<int64_t *>batch.ints)[i] = self.ints[wanted[i]]
            return batch
        lengths = np.diff(self.owners[0])[np.asarray(wanted)]
        starts = np.concatenate(([0], np.cumsum(lengths)))
        batch = batch_of_texts(starts, np.empty(starts[n], dtype=np.uint8))
        for i in range(n):
            row, size = wanted[i], batch.starts[i + 1] - batch.starts[i]
            memcpy(<uint8_t *>batch.text + batch.starts[i], self.text + self.starts[row], size)
        return batch

    def tolist(self):
        """Return the keys as Python's own integers or strings."""
        cdef Py_ssize_t i
        if self.sort != TEXTS:
            return [self.ints[i] for i in range(self.count)]
        return [
            (<const char *>self.text)[self.starts[i]:self.starts[i + 1]].decode("utf-8")
            for i in range(self.count)
        ]


cdef KeyBatch batch_of_ints(values):
    """Return a batch on an int64 array, which it keeps."""
    cdef KeyBatch batch = KeyBatch.__new__(KeyBatch)
    cdef const int64_t[::1] ints = values
    batch.count = ints.shape[0]
    batch.sort = INTS if batch.count else UNKNOWN
    batch.ints = &ints[0] if batch.count else NULL
    batch.owners = (values,)
    return batch


cdef KeyBatch batch_of_texts(starts, text):
    """Return a batch on int64 starts and a uint8 text, which it keeps."""
    cdef KeyBatch batch = KeyBatch.__new__(KeyBatch)
    cdef const int64_t[::1] bounds = starts
    cdef const uint8_t[::1] letters = text
    batch.count = bounds.shape[0] - 1
    batch.sort = TEXTS if batch.count else UNKNOWN
    batch.starts = &bounds[0]
    batch.text = &letters[0] if letters.shape[0] else NULL
    batch.owners = (starts, text)
    return batch


def checked_keys(keys):
    """Return a batch's keys, or raise ValueError that names the first wrong one and its position.

    Keys are a list, an array of integers or of strings, a column of a data frame, or an array of
    pyarrow; a batch is returned as it is.
    """
    if isinstance(keys, KeyBatch):
        return keys
    if type(keys).__module__.partition(".")[0] == "pyarrow" and hasattr(keys, "null_count"):
        return _from_arrow(keys)
    if isinstance(keys, list | tuple | range):
        return _from_objects(keys)
    if isinstance(keys, str | bytes) or not hasattr(keys, "__len__") or not hasattr(
        keys, "__array__"
    ):
        raise ValueError(f"{WANTED}, one per row, got {describe(keys)}")
    check_unmasked(keys, "keys")
    values = np.asarray(keys)
    if values.ndim != 1:
        raise ValueError(f"keys must be one-dimensional, got shape {values.shape}")
    if values.dtype.kind in "OUT":
        return _from_objects(values.tolist())
    if not len(values):
        return batch_of_ints(np.empty(0, dtype=np.int64))
    if values.dtype.kind not in "iu":
        raise ValueError(f"{WANTED}, got {describe(values[0])} at position 0")
    if values.dtype == np.uint64 and values.max() > MOST:
        at = int((values > MOST).argmax())
        raise _too_large(int(values[at]), at)
    return batch_of_ints(values.astype(np.int64, order="C"))


def _too_large(key, at):
    return ValueError(
        f"keys that are integers must fit 64 bits with a sign, got {describe(key)} at position {at}"
    )


def _is_integer(key):
    return isinstance(key, int | np.integer) and not isinstance(key, bool)


def _from_objects(objects):
    """Return the batch of a list of Python's integers or strings."""
    cdef Py_ssize_t i, n = len(objects)
    if not n:
        return batch_of_ints(np.empty(0, dtype=np.int64))
    if isinstance(objects[0], str):
        return _from_strings(objects)
    ints = np.empty(n, dtype=np.int64)
    cdef int64_t[::1] out = ints
    for i in range(n):
        key = objects[i]
        if type(key) is not int and not _is_integer(key):
            if i and isinstance(key, str):
                raise _mixed(key, i, "integers")
            raise ValueError(f"{WANTED}, got {describe(key)} at position {i}")
        try:
            out[i] = key
        except OverflowError:
            raise _too_large(key, i) from None
    return batch_of_ints(ints)


def _from_strings(objects):
    cdef Py_ssize_t i, size, n = len(objects)
    cdef const char *encoded
    starts = np.zeros(n + 1, dtype=np.int64)
    cdef int64_t[::1] bounds = starts
    # Twice over the strings: the first finds how much room they take. CPython keeps the UTF-8.
    for i in range(n):
        key = objects[i]
        if not isinstance(key, str):
            if _is_integer(key):
                raise _mixed(key, i, "strings")
            raise ValueError(f"{WANTED}, got {describe(key)} at position {i}")
        try:
            PyUnicode_AsUTF8AndSize(key, &size)
        except UnicodeEncodeError:
            raise ValueError(
                f"keys must be valid text, got {describe(key)} at position {i}: a lone surrogate"
            ) from None
        bounds[i + 1] = bounds[i] + size
    text = np.empty(bounds[n], dtype=np.uint8)
    batch = batch_of_texts(starts, text)
    for i in range(n):
        encoded = PyUnicode_AsUTF8AndSize(objects[i], &size)
        if size != bounds[i + 1] - bounds[i]:
            raise ValueError(f"the keys changed while they were read, at position {i}")
        memcpy(<uint8_t *>batch.text + bounds[i], encoded, size)
    return batch


def _mixed(key, at, others):
    return ValueError(
        f"keys must be all integers or all strings, got {describe(key)} at position {at}, "
        f"after {others}"
    )


def _from_arrow(column):
    """Return the batch of a pyarrow array; the letters of strings are not copied."""
    if column.null_count:
        at = next(i for i, known in enumerate(column.is_valid().to_pylist()) if not known)
        raise ValueError(f"{WANTED}, got a missing one at position {at}")
    if hasattr(column, "combine_chunks"):
        column = column.combine_chunks()
    width = {"string": np.int32, "large_string": np.int64}.get(str(column.type))
    if width is None:
        # Integers, dictionaries, views of strings, and what is no key at all.
        return checked_keys(column.to_numpy(zero_copy_only=False))
    n = len(column)
    if not n:
        return batch_of_ints(np.empty(0, dtype=np.int64))
    column.validate(full=True)  # pyarrow itself takes any bytes for text
    _, bounds, letters = column.buffers()
    starts = np.frombuffer(bounds, dtype=width)[column.offset : column.offset + n + 1]
    if letters is None:
        text = np.empty(0, dtype=np.uint8)
    else:
        text = np.frombuffer(letters, dtype=np.uint8)
    return batch_of_texts(starts.astype(np.int64), text)
