"""What one shard of a fleet has learned: the whole, the keys and the grid; copied, saved, loaded."""

from libc.string cimport memcpy

import numpy as np

from calibrant._bytes import MOST_ROUNDS
from calibrant._kernels.fleet.fleet_level cimport Level
from calibrant._kernels.fleet.fleet_rule cimport ESTIMATE_AT
from calibrant._kernels.fleet.fleet_whole cimport SHARP, Whole, whole_start
from calibrant._kernels.fleet.fleet_whole import (
    checked_batches, checked_mixture, checked_surprises,
)
from calibrant._kernels.grid cimport grid_bytes, grid_copy, grid_free
from calibrant._kernels.kernel cimport array_of
from calibrant._kernels.scores.safe cimport safe_load, safe_save, safe_start
from calibrant._kernels.scores.safe import SAFE_PARTS, check_has_purse
from calibrant._kernels.saved import floats
from calibrant._kernels.scores.scoring cimport MARGIN
from calibrant._kernels.scores.batches cimport BatchState, SurpriseState
from calibrant._kernels.scores.sharp cimport EXPERTS, SharpState


cdef Level copied(Level level):
    cdef Level copy = Level(level.pool.prior[ESTIMATE_AT])
    copy.load(level.keys(), *level.shared())
    copy.owned.load(level.owned.saved())
    return copy


cdef class PartState:
    """The state of a shard; `ShardKernel` has the rounds that change it."""

    def __cinit__(self, *args, **kwargs):
        whole_start(&self.whole)
        if safe_start(&self.safe) < 0:
            raise MemoryError

    def __dealloc__(self):
        grid_free(&self.safe)

    @property
    def rounds(self):
        """Predictions made so far."""
        return self.whole.rounds

    @property
    def learned(self):
        """Outcomes learned so far."""
        return self._learned

    def levels(self):
        """Return the levels by name."""
        return {"root": self.root, "parent": self.parents, "key": self.keys}

    @property
    def nbytes(self):
        """Bytes that keys and all that they share take."""
        levels = sum(level.nbytes for level in self.levels().values())
        return sizeof(Whole) + grid_bytes(&self.safe) + levels

    # -- going back -----------------------------------------------------------------------------

    def copy(self):
        """Return a copy of the state, for `go_back`; the monitors must have seen all outcomes."""
        cdef PartState copy = PartState.__new__(PartState)
        if grid_copy(&copy.safe, &self.safe) < 0:
            raise MemoryError
        copy.whole, copy.size, copy._learned = self.whole, self.size, self._learned
        copy.root, copy.parents = copied(self.root), copied(self.parents)
        copy.keys = copied(self.keys)
        copy.watched = None if self.watched is None else self.watched.copied()
        return copy

    def go_back(self, PartState before not None):
        """Return to the state that `copy` gave, which must not be used again."""
        self.safe, before.safe = before.safe, self.safe
        self.whole, self.size, self._learned = before.whole, before.size, before._learned
        self.root, self.parents, self.keys = before.root, before.parents, before.keys
        self.watched = before.watched

    # -- saving ---------------------------------------------------------------------------------

    def arrays(self):
        """Return all but the keys and what they share, as arrays by name."""
        counts = [self.whole.rounds, self.whole.learned, self._learned]
        return {
            "counts": np.array(counts, dtype=np.int64),
            "numbers": np.array([self.whole.heard_least, self.size]),
            "sharp": array_of(<double *>&self.whole.sharp, SHARP),
            "heard": array_of(<double *>&self.whole.heard, SHARP),
            "batches": array_of(<double *>&self.whole.batches, sizeof(BatchState) // sizeof(double)),
            "surprises": array_of(
                <double *>&self.whole.surprises, sizeof(SurpriseState) // sizeof(double)
            ),
            **{f"grid_{name}": column for name, column in safe_save(&self.safe).items()},
        }

    def load(self, arrays):
        """Take over what `arrays` returned, or raise ValueError; for a shard that is new."""
        rounds, within_whole, learned = (int(each) for each in arrays["counts"])
        if not 0 <= within_whole <= learned <= rounds < MOST_ROUNDS:
            raise ValueError("saved counts must not increase from predictions to outcomes")
        least, size = floats(arrays, "numbers", size=2, low=0.0).tolist()
        if self._kind != MARGIN and size:
            raise ValueError("saved numbers hold the size of margins, which there are none")
        check_has_purse(arrays, "grid_purse")
        cdef const double[::1] batches = checked_batches(arrays, within_whole)
        cdef const double[::1] surprises = checked_surprises(arrays, rounds)
        cdef const double[::1] sharp = checked_mixture(arrays, "sharp", within_whole)
        cdef const double[::1] heard = checked_mixture(arrays, "heard", within_whole)
        columns = {name: arrays[f"grid_{name}"] for name in SAFE_PARTS}
        safe_load(&self.safe, columns, learned)
        self.whole.rounds, self.whole.learned, self._learned = rounds, within_whole, learned
        self.whole.heard_least, self.size = least, size
        memcpy(&self.whole.sharp, &sharp[0], sizeof(SharpState))
        memcpy(&self.whole.heard, &heard[0], sizeof(SharpState))
        memcpy(&self.whole.batches, &batches[0], sizeof(BatchState))
        memcpy(&self.whole.surprises, &surprises[0], sizeof(SurpriseState))
