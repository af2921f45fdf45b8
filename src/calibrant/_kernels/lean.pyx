"""Many small monitors in one array: one cell a key, 48 bytes each.

A key has the bets of one cell of evidence.pyx, over all its predictions: R is their mean. While the
null holds, the sum of R over all keys grows by at most 1 a round in expectation, so at most n / A
false alarms are to be expected in n rounds, of all keys together.

Inside an episode the bets are not needed. Their place holds L, as in monitor.pyx, against "the
odds are still shifted by m", with m a third of the shift whose bet won most. W[0] < 0 marks it.
"""

from libc.math cimport exp
from libc.stdint cimport int64_t, uint32_t
from libc.string cimport memset

import numpy as np

from calibrant._kernels.evidence cimport STEPS, TILTS, TINY, Bets, bets_of, shift_of, sum_of
from calibrant._kernels.kernel cimport UNINTERRUPTED

cdef double CLOSE = 1e6
cdef enum:
    NOTHING, ALARM, END          # what a round can bring
cdef enum:
    DATING = 1                   # the tilts 0.25 and -0.25 date an onset

cdef struct Lean:
    float M[TILTS]               # in an episode: L, then m
    float W[2]                   # CUSUMs upwards and downwards; in an episode -1 or -2, then 0
    uint32_t start[2]            # the rounds they started in

LEAN = np.dtype([("M", "f4", 8), ("W", "f4", 2), ("start", "u4", 2)])
assert LEAN.itemsize == sizeof(Lean) == 48


cdef int step(
    Lean *own, double p, double y, double tolerance, double threshold, int64_t t
) noexcept nogil:
    """Play round t of one key and return what it brought."""
    cdef uint32_t now = <uint32_t>min(t, <int64_t>(2**32 - 1))
    cdef Bets bets
    cdef Py_ssize_t k
    cdef float e
    if own.W[0] < 0.0:
        return recover(own, p, y, tolerance)
    bets = bets_of(tolerance, p, y)
    for k in range(TILTS):
        own.M[k] = bets.e[k] * (own.M[k] + <float>1.0)
    for k in range(2):
        e = bets.e[DATING + k * STEPS]
        if own.W[k] <= 1.0:
            own.W[k], own.start[k] = 1.0, now
        own.W[k] = min(own.W[k] * e, <float>1e30)
    if sum_of(own.M) < threshold * TILTS:
        return NOTHING
    ring(own)
    return ALARM


cdef void ring(Lean *own) noexcept nogil:
    """Open an episode in the direction, and with the shift, whose bet won most."""
    cdef Py_ssize_t k, best = 0
    for k in range(TILTS):
        if own.M[k] > own.M[best]:
            best = k
    own.start[0] = own.start[best // STEPS]
    own.M[0], own.M[1] = 0.0, <float>(shift_of(best) / 3.0)
    own.W[0], own.W[1] = -1.0 - best // STEPS, 0.0


cdef int recover(Lean *own, double p, double y, double tolerance) noexcept nogil:
    cdef double b = exp(own.M[1]), q = p * b / (1.0 - p + p * b)
    q = max(q, p + tolerance) if b > 1.0 else min(q, p - tolerance)
    q = min(max(q, TINY), 1.0 - TINY)
    own.M[0] = <float>((y * p / q + (1.0 - y) * (1.0 - p) / (1.0 - q)) * (own.M[0] + 1.0))
    if own.M[0] < CLOSE:
        return NOTHING
    memset(own, 0, sizeof(Lean))
    return END


cdef class LeanKernel:
    """The small monitors of one LeanMonitors."""

    cdef object array            # owns the memory
    cdef Lean *keys
    cdef double threshold
    cdef double tolerance_
    cdef int64_t rounds_

    def __init__(self, Py_ssize_t count, double threshold, double tolerance):
        self.threshold, self.tolerance_ = threshold, tolerance
        self._set_state(np.zeros(count, dtype=LEAN), 0)

    @property
    def rounds(self):
        """Rounds watched so far, of all keys."""
        return self.rounds_

    def _run(self, const int64_t[::1] key, const double[::1] p, const double[::1] y,
             Py_ssize_t start):
        """Play rounds from `start` on until one brings something, at most UNINTERRUPTED."""
        cdef Py_ssize_t i = start, stop = min(p.shape[0], start + UNINTERRUPTED)
        cdef int event = NOTHING
        with nogil:
            while i < stop and event == NOTHING:
                event = step(
                    &self.keys[key[i]], p[i], y[i], self.tolerance_, self.threshold, self.rounds_
                )
                self.rounds_ += 1
                i += 1
        return i, event

    def _get_state(self):
        """Return a copy of all keys."""
        return self.array.copy()

    def _set_state(self, keys, int64_t rounds):
        """Take over keys that were checked."""
        self.array = np.array(keys, dtype=LEAN, order="C")
        cdef char[::1] memory = self.array.view(np.int8)
        self.keys, self.rounds_ = <Lean *>&memory[0], rounds
