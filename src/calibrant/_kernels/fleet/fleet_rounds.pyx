"""What a fleet remembers of a prediction until its outcome comes."""

from libc.stdint cimport int64_t
from libc.string cimport memcpy

cimport cython

import numpy as np

from calibrant._kernels.fleet.fleet_rule cimport BUCKETS as _BUCKETS
from calibrant._kernels.fleet.fleet_rule cimport EXPERTS as KEY_EXPERTS
from calibrant._kernels.rounds.round cimport Round
from calibrant._kernels.scores.sharp cimport EXPERTS
from calibrant._kernels.watch.key_evidence cimport KEY_TILTS, SIDES

cdef list VIEWS = [
    ("x", "<f8"), ("mean", "<f8"), ("v", "<f4"), ("bucket", "<i4"),
    ("p", "<f4", KEY_EXPERTS), ("q", "<f4", KEY_EXPERTS),
]
BUCKETS = _BUCKETS

#: A prediction that waits as NumPy sees it.
OPENED = np.dtype(
    [
        ("number", "<i8"), ("age", "<i8"), ("slot", "<i8"), ("parent", "<i8"),
        ("gap", "<i8"), ("s", "<f8"), ("m", "<f8"), ("bet", "<f8"), ("z", "<f8"), ("raw", "<f8"),
        ("expected", "<f8"),
        ("views", VIEWS, LEVELS), ("is_learned", "<i8"), ("predicted", "<f8", EXPERTS),
        ("stakes", "<f4", (SIDES, KEY_TILTS)), ("is_staked", "<i8"),
    ]
)
assert OPENED.itemsize == sizeof(Opened)


@cython.final
@cython.freelist(64)
cdef class FleetRound(Round):
    """A prediction whose outcome is still to come, to be kept in Python."""

    cdef double as_raw(self):
        return self.opened.raw

    cdef double as_prediction(self):
        return self.opened.z

    cdef double as_expected(self):
        return self.opened.expected

    @property
    def slot(self):
        """The slot of its key; -1 if that was forgotten since."""
        return self.opened.slot

    def move(self, const int64_t[::1] slots, const int64_t[::1] parents):
        """Follow its key and its parent to new slots, -1 where they were forgotten."""
        self.opened.slot = slots[self.opened.slot] if self.opened.slot >= 0 else -1
        self.opened.parent = parents[self.opened.parent] if self.opened.parent >= 0 else -1


def save_rounds(rounds):
    """Return rounds as an array of OPENED."""
    found = np.zeros(len(rounds), dtype=OPENED)
    cdef unsigned char[::1] to = found.view(np.uint8)
    cdef Py_ssize_t i
    cdef FleetRound r
    for i, r in enumerate(rounds):
        memcpy(&to[i * sizeof(Opened)], &r.opened, sizeof(Opened))
    return found


def load_rounds(found):
    """Return the rounds that `save_rounds` saved."""
    cdef const unsigned char[::1] of = np.ascontiguousarray(found).view(np.uint8)
    cdef Py_ssize_t i
    cdef FleetRound r
    rounds = []
    for i in range(len(found)):
        r = FleetRound.__new__(FleetRound)
        memcpy(&r.opened, &of[i * sizeof(Opened)], sizeof(Opened))
        r.number = r.batch = r.opened.number
        rounds.append(r)
    return rounds
