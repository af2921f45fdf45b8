"""The rounds of a monitor: evidence, an alarm, an episode in a named cell, and its end.

An alarm rings when the evidence R reaches the threshold. It opens an episode, which names a cell
and the round since which the cell's CUSUM runs: the rounds from there on speak against the null
most. Then only that cell is watched, for recovery, by a Shiryaev-Roberts sum against "the bias is
still at least m": L <- f (L + 1), with f the likelihood ratio of p to p + m, or to p - m below. At
CLOSE the episode ends and all evidence starts anew.
"""

from libc.math cimport fabs, log
from libc.stdint cimport int64_t, uint32_t
from libc.stdlib cimport free, realloc
from libc.string cimport memcpy, memset

import numpy as np

from calibrant._kernels.evidence cimport (
    CELLS,
    DATINGS,
    GROUP_WEIGHT,
    LEVELS,
    RANGES,
    SKETCH,
    SLOPES,
    STEPS,
    TILTS,
    TINY,
    Bets,
    Cell,
    Evidence,
    bets_of,
    count_round,
    evidence_restart,
    evidence_start,
    level_weight,
    mean_of,
    range_of,
    sum_of,
    visit,
    visit_tree,
)
from calibrant._checks import check_integer
from calibrant._kernels.kernel cimport array_of, as_outcome
from calibrant._kernels.saved import check_names, floats, number

cdef int64_t LONGEST = 2**32 - 1
cdef double CLOSE = 1e6          # of the sum that ends an episode
cdef enum:
    NOTHING, ALARM, END          # what a round can bring
    WHOLE = -1                   # the group of a round that has none
    CELL_SIZE = TILTS + 12       # numbers of a saved cell
STATE = (
    "R", "restarted", "sketched", "named", "direction", "margin", "L", "cells", "slopes", "edges", "ranges", "sketch",
)  # fmt: skip


cdef class MonitorKernel:
    """The evidence of one Monitor, and its open episode."""

    cdef Evidence evidence_
    cdef Cell *groups
    cdef Py_ssize_t group_count
    cdef double threshold
    cdef double alpha_           # 0 if the guarantee is one a number of rounds
    cdef int64_t rounds_
    cdef int64_t restarted       # the round in which the evidence started anew
    # The open episode.
    cdef bint open_
    cdef Py_ssize_t named        # its cell; CELLS + g is group g
    cdef int direction           # 0: more happened than was said; 1: less
    cdef double margin
    cdef double L

    def __init__(self, double threshold, double alpha, double tolerance):
        self.threshold, self.alpha_ = threshold, alpha
        evidence_start(&self.evidence_, tolerance)

    def __dealloc__(self):
        free(self.groups)

    # -- one round ------------------------------------------------------------------------------

    cdef double granted(self) noexcept nogil:
        """Return what this round adds to each M that it visits."""
        cdef double t
        if self.alpha_ == 0.0:
            return 1.0
        t = self.rounds_ + 11.0  # over all rounds, 1 / (t log^2 t) adds up to less than 1 / log 10
        return log(10.0) / (t * log(t) * log(t))

    cdef int step(self, double p, double y, Py_ssize_t group) noexcept nogil:
        """Play a round and return what it brought."""
        cdef Evidence *v = &self.evidence_
        cdef Py_ssize_t r = range_of(v, p)
        cdef int event = NOTHING
        cdef Bets bets
        cdef double add
        cdef uint32_t t
        if self.open_:
            event = self.watch_recovery(p, y, r, group)
        else:
            bets, add, t = bets_of(v, p, y), self.granted(), self.since_restart()
            visit_tree(v, &bets, r, p, y, add, t)
            if group != WHOLE:
                visit(v, &self.groups[group], &bets, y - p, GROUP_WEIGHT, <float>add, t)
            if v.R >= self.threshold:
                self.open_episode()
                event = ALARM
        count_round(v, r, p, y, self.rounds_, not self.open_)
        self.rounds_ += 1
        if event == END:
            self.restart()
        return event

    cdef uint32_t since_restart(self) noexcept nogil:
        """Return the rounds since the restart, as far as four bytes count."""
        cdef int64_t since = self.rounds_ - self.restarted
        return <uint32_t>(LONGEST if since > LONGEST else since)

    cdef void restart(self) noexcept nogil:
        evidence_restart(&self.evidence_)
        if self.group_count:
            memset(self.groups, 0, self.group_count * sizeof(Cell))
        self.open_, self.restarted = False, self.rounds_

    # -- episodes -------------------------------------------------------------------------------

    cdef Cell *cell_at(self, Py_ssize_t i) noexcept nogil:
        return &self.evidence_.cells[i] if i < CELLS else &self.groups[i - CELLS]

    cdef double against(self, Py_ssize_t i) noexcept nogil:
        """Return the mean M of a cell, in the direction of the episode."""
        return mean_of(&self.cell_at(i).M[self.direction * STEPS], STEPS)

    cdef void open_episode(self) noexcept nogil:
        """Name the cell with the most evidence, or the finest inside it that has as much."""
        cdef double best = -1.0, own, weight, bias
        cdef Py_ssize_t i, level = 0, child, named = 0
        cdef int direction = 0
        cdef Cell *cell
        for i in range(CELLS + self.group_count):
            if i + 1 == 2 << level and i < CELLS:
                level += 1
            weight = level_weight(level) if i < CELLS else GROUP_WEIGHT
            for self.direction in range(2):
                own = weight * self.against(i)
                if own > best:
                    best, named, direction = own, i, self.direction
        self.direction = direction
        while named < CELLS // 2:    # it has halves
            child = 2 * named + 1
            if self.against(child + 1) > self.against(child):
                child += 1
            if 2.718281828459045 * self.against(child) < self.against(named):
                break
            named = child
        cell, self.named = self.cell_at(named), named
        bias = <double>cell.S[direction] / cell.n[direction]
        self.margin = max(fabs(bias) / 3.0, self.evidence_.tolerance)
        self.open_, self.L = True, 0.0

    cdef int watch_recovery(
        self, double p, double y, Py_ssize_t r, Py_ssize_t group
    ) noexcept nogil:
        cdef double q = p + self.margin if self.direction == 0 else p - self.margin
        cdef Py_ssize_t cell = CELLS // 2 + r
        if self.named >= CELLS:
            cell = group + CELLS
        else:
            while cell > self.named:
                cell = (cell - 1) // 2
        if cell != self.named:
            return NOTHING
        q = min(max(q, TINY), 1.0 - TINY)
        self.L = (y * p / q + (1.0 - y) * (1.0 - p) / (1.0 - q)) * (self.L + 1.0)
        return END if self.L >= CLOSE else NOTHING

    # -- the contract ---------------------------------------------------------------------------

    @property
    def rounds(self):
        """Rounds watched so far."""
        return self.rounds_

    @property
    def _threshold(self):
        return self.threshold

    @property
    def evidence(self):
        """How far the evidence is on its way to an alarm: 0 for none, 1 in an episode.

        The way is logarithmic: at 0.5, the evidence is the square root of what an alarm takes.
        """
        if self.open_:
            return 1.0
        return min(max(log(max(self.evidence_.R, 1e-300)) / log(self.threshold), 0.0), 1.0)

    def _add_groups(self, Py_ssize_t count):
        """Make room for so many groups in all."""
        cdef Cell *larger = <Cell *>realloc(self.groups, count * sizeof(Cell))
        if larger == NULL:
            raise MemoryError
        self.groups = larger
        memset(&self.groups[self.group_count], 0, (count - self.group_count) * sizeof(Cell))
        self.group_count = count

    def _watch(self, prediction, outcome, Py_ssize_t group):
        """Play a round; return 1 at an alarm, 2 at the end of an episode, else 0."""
        cdef double p = as_prediction(prediction), y = as_outcome(outcome)
        return self.step(p, y, group)

    def _run(self, const double[::1] p, const double[::1] y, const int64_t[::1] group,
             double[::1] evidence, Py_ssize_t start):
        """Play rounds from `start` on until one brings something.

        Return the number of the round after it, and what it brought. `evidence` is empty, or
        takes R after each round.
        """
        cdef Py_ssize_t i = start
        cdef int event = NOTHING
        with nogil:
            while i < p.shape[0] and event == NOTHING:
                event = self.step(p[i], y[i], group[i] if group.shape[0] else WHOLE)
                if evidence.shape[0]:
                    evidence[i] = self.evidence_.R
                i += 1
        return i, event

    def _episode(self):
        """Return the open episode: onset, edges of its range, group, bias, visits."""
        cdef Cell *cell = self.cell_at(self.named)
        cdef Py_ssize_t level = 0, first
        cdef double low = 0.0, high = 1.0
        if self.named < CELLS:
            while (2 << level) - 1 <= self.named:
                level += 1
            first = (self.named + 1 - (1 << level)) << (LEVELS - 1 - level)
            low = self.evidence_.edges[first]
            high = self.evidence_.edges[first + (RANGES >> level)]
        cdef int d = self.direction, dating = 2 * d
        if cell.W[dating + 1] > cell.W[dating]:
            dating += 1          # it speaks more for what happened since its start
        onset, bias = self.restarted + cell.start[dating], <double>cell.S[d] / cell.n[d]
        return onset, low, high, max(self.named - CELLS, WHOLE), bias, cell.n[d]

    def _ranges(self):
        """Return the edges of the ranges and, a row each: n, said, happened, V."""
        edges = array_of(self.evidence_.edges, RANGES + 1)
        return edges, array_of(<double *>self.evidence_.ranges, 4 * RANGES).reshape(RANGES, 4)

    def reset(self):
        """Forget all evidence and the open episode; the rounds go on counting."""
        self.restart()

    # -- saving ---------------------------------------------------------------------------------

    def __sizeof__(self):
        return object.__sizeof__(self) + self.group_count * sizeof(Cell)

    def _get_state(self):
        """Return everything the past left behind, as arrays and numbers by name."""
        cells = np.zeros((CELLS + self.group_count, CELL_SIZE))
        cdef double[:, ::1] into = cells
        cdef Py_ssize_t i, k
        cdef Cell *cell
        for i in range(CELLS + self.group_count):
            cell = self.cell_at(i)
            for k in range(TILTS):
                into[i, k] = cell.M[k]
            for k in range(DATINGS):
                into[i, TILTS + k], into[i, TILTS + 4 + k] = cell.W[k], cell.start[k]
            for k in range(2):
                into[i, TILTS + 8 + k], into[i, TILTS + 10 + k] = cell.S[k], cell.n[k]
        edges, ranges = self._ranges()
        cdef Evidence *v = &self.evidence_
        return {
            "R": v.R, "restarted": self.restarted, "sketched": v.sketched, "named": self.named if self.open_ else -1,
            "direction": self.direction, "margin": self.margin, "L": self.L,
            "cells": cells.reshape(-1), "slopes": array_of(v.slopes, SLOPES),
            "edges": edges, "ranges": ranges.reshape(-1),
            "sketch": np.array([v.sketch[i] for i in range(SKETCH)], dtype=np.int64),
        }

    def _set_state(self, state):
        """Take over a state of `_get_state`, or raise ValueError and change nothing."""
        check_names(state, {*STATE, "rounds", "groups"})
        cdef int64_t rounds = state["rounds"]
        values = floats(state, "cells")
        if len(values) != (CELLS + state["groups"]) * CELL_SIZE:
            raise ValueError(f"saved cells must be {CELLS} and one a group, of {CELL_SIZE} numbers")
        cdef double[:, ::1] cells = values.reshape(-1, CELL_SIZE)
        cdef Py_ssize_t i, k, count = cells.shape[0]
        check_cells(values.reshape(-1, CELL_SIZE), rounds)
        slopes = floats(state, "slopes", size=SLOPES, low=0.0)
        edges = floats(state, "edges", size=RANGES + 1, low=0.0)
        if edges[0] != 0.0 or edges[RANGES] != 1.0 or (np.diff(edges) < 0.0).any():
            raise ValueError("saved edges must rise from 0 to 1")
        ranges = floats(state, "ranges", size=4 * RANGES, low=0.0).reshape(RANGES, 4)
        if (ranges[:, 1:] > ranges[:, :1] + 1e-6).any() or ranges[:, 0].sum() > rounds:
            raise ValueError("saved ranges count more than there were rounds")
        sketch = state["sketch"]
        if not isinstance(sketch, np.ndarray) or sketch.dtype != np.int64 or len(sketch) != SKETCH:
            raise ValueError(f"saved sketch must be {SKETCH} integers")
        if (sketch < 0).any() or sketch.sum() > rounds:
            raise ValueError("saved sketch counts more than there were rounds")
        cdef int64_t restarted = check_integer("saved restarted", state["restarted"], 0, rounds)
        cdef int64_t sketched = check_integer("saved sketched", state["sketched"], 0, rounds)
        if sketched != sketch.sum():
            raise ValueError("saved sketched must be the sum of saved sketch")
        cdef Py_ssize_t named = check_integer("saved named", state["named"], -1, count - 1)
        cdef int direction = check_integer("saved direction", state["direction"], 0, 1)
        cdef double margin = number(state, "margin", low=0.0, high=1.0)
        cdef double L = number(state, "L", low=0.0, high=CLOSE)
        cdef double R = number(state, "R", low=-1e-3, high=1e300)
        if named >= 0 and cells[named, TILTS + 10 + direction] < 1.0:
            raise ValueError("the saved episode is in a cell without rounds")
        self._add_groups(count - CELLS)
        cdef Evidence *v = &self.evidence_
        cdef const double[::1] from_slopes = slopes, from_edges = edges
        cdef const double[:, ::1] from_ranges = ranges
        cdef Cell *cell
        for i in range(count):
            cell = self.cell_at(i)
            for k in range(TILTS):
                cell.M[k] = <float>cells[i, k]
            cell.total = sum_of(cell.M)
            for k in range(DATINGS):
                cell.W[k] = <float>cells[i, TILTS + k]
                cell.start[k] = <uint32_t>cells[i, TILTS + 4 + k]
            for k in range(2):
                cell.S[k] = <float>cells[i, TILTS + 8 + k]
                cell.n[k] = <uint32_t>cells[i, TILTS + 10 + k]
        memcpy(v.slopes, &from_slopes[0], sizeof(v.slopes))
        memcpy(v.edges, &from_edges[0], sizeof(v.edges))
        memcpy(v.ranges, &from_ranges[0, 0], sizeof(v.ranges))
        for i in range(SKETCH):
            v.sketch[i] = sketch[i]
        v.R, v.sketched, self.rounds_, self.restarted = R, sketched, rounds, restarted
        self.open_, self.named, self.direction = named >= 0, named, direction
        self.margin, self.L = margin, L


cdef double as_prediction(object prediction) except? -1.0:
    """Return one prediction as a float in [0, 1], or raise ValueError."""
    try:
        return as_outcome(prediction)
    except ValueError as error:
        raise ValueError(str(error).replace("outcome", "prediction")) from None


cdef object check_cells(cells, int64_t rounds):
    """Refuse saved cells that no rounds can have left behind."""
    M, W, start, S, n = np.split(cells, [TILTS, TILTS + 4, TILTS + 8, TILTS + 10], axis=1)
    if (M < 0.0).any() or (W < 0.0).any() or (cells > 1e30).any():
        raise ValueError("saved bets must be in [0, 1e30]")
    if (n < 0.0).any() or (n != np.floor(n)).any() or (n > min(rounds, 2**32 - 1)).any():
        raise ValueError("saved visits must be whole numbers, at most one a round")
    if (np.abs(S) > n * 1.001 + 1e-6).any():
        raise ValueError("saved sums must be at most 1 a visit")
    if (start < 0.0).any() or (start != np.floor(start)).any() or (start > rounds).any():
        raise ValueError("saved starts must be rounds")
