"""Queries of a recalibrator's current predictions, which change nothing."""

from libc.stdint cimport uint64_t

import numpy as np

from calibrant._kernels.draws cimport uniform
from calibrant._kernels.kernel cimport array_of
from calibrant._kernels.scores.levels cimport REGRESSIONS
from calibrant._kernels.scores.recent cimport RECENTS
from calibrant._kernels.scores.safe cimport Place, safe_place
from calibrant._kernels.scores.scoring cimport ScoringKernel, place_mean
from calibrant._kernels.scores.sharp cimport EXPERTS


cdef class QueryKernel(ScoringKernel):
    """The queries of one Recalibrator."""

    def _look(self, score):
        """Return a score as a probability and its mean off the grid; changes nothing."""
        self.enter()
        cdef double s = self.above_floor(self.raw_of(self.as_score(score)))
        return s, self.look_aside(s)

    def _look_many(self, scores):
        """Return scores as probabilities and their means off the grid; changes nothing."""
        self.enter()
        scores = self.as_scores(scores)
        probabilities, means = np.empty(len(scores)), np.empty(len(scores))
        cdef const double[::1] x = np.ascontiguousarray(scores, dtype=np.float64)
        cdef double[::1] s = probabilities, m = means
        cdef Py_ssize_t i
        for i in range(x.shape[0]):
            s[i] = self.above_floor(self.raw_of(x[i]))
            m[i] = self.look_aside(s[i])
        return probabilities, means

    def _weights(self, bint placed=True):
        """Return the weights of the experts: of `sharp.pyx`, `levels.pyx` and `recent.pyx`."""
        self.enter()
        sharp, recent = array_of(self.sharp.w, EXPERTS), array_of(self.recent.w, 1 + RECENTS)
        levels = array_of(self.levels.w, 1 + REGRESSIONS)
        mixture = np.concatenate([sharp * levels[0], levels[1:]])
        weights = [mixture * recent[0], recent[1:]] if placed else [mixture, np.zeros(RECENTS)]
        return np.concatenate(weights)

    def _batch_size(self):
        """Return how many outcomes the last batches had on average, 0 if there were none."""
        self.enter()
        return self.batches.outcomes / self.batches.batches if self.batches.batches > 0.0 else 0.0

    cdef Place would_be(self, object score) except *:
        self.enter()
        return safe_place(&self.safe, self.look(self.above_floor(self.raw_of(self.as_score(score)))))

    def expected(self, score):
        """Return the mean of what `predict` would draw for this score now; changes nothing."""
        return place_mean(self.would_be(score))

    def next_prediction(self, score):
        """Return what `predict` would return for this score now; changes nothing."""
        cdef Place place = self.would_be(score)
        return place.lo if uniform(self._key, <uint64_t>self._rounds) < place.share else place.hi

    def _expected_many(self, scores):
        """Return what `expected` gives for each of many scores."""
        self.enter()
        means = self.as_scores(scores)  # a copy, each replaced by its mean
        cdef double[::1] m = means
        cdef Py_ssize_t i
        cdef double s
        for i in range(m.shape[0]):
            s = self.above_floor(self.raw_of(m[i]))
            m[i] = place_mean(safe_place(&self.safe, self.look(s)))
        return means

    def distribution(self, score):
        """Return the points that `predict` would draw from for this score now, and their weights.

        Changes nothing.
        """
        cdef Place place = self.would_be(score)
        if place.lo == place.hi:
            return np.array([place.lo]), np.array([1.0])
        return np.array([place.lo, place.hi]), np.array([place.share, 1.0 - place.share])
