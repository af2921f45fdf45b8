"""The rounds of a monitor: evidence, an alarm, an episode in a named cell, and its end.

An alarm rings when the evidence R reaches the threshold. It opens an episode, which names a cell
and the round since which the cell's CUSUM runs: the rounds from there on speak against the null
most. Then only that cell is watched, for recovery, by a Shiryaev-Roberts sum against "the bias is
still at least m": L <- f (L + 1), with f the likelihood ratio of p to p + m, or to p - m below. At
CLOSE the episode ends and all evidence starts anew. So it does when no round falls into the cell
for GONE times as long as one took before the alarm: what is not predicted any more never recovers.

In blocks, bets and f are averaged over the rounds of a block, and what they bring is seen at its
end.
"""

from libc.math cimport fabs, isnan, log
from libc.stdint cimport int64_t, uint32_t
from libc.stdlib cimport free, realloc
from libc.string cimport memcpy, memset

import numpy as np

from calibrant._kernels.watch.evidence cimport (
    CELLS, HELD_GROUPS, LEVELS, RANGES, SKETCH, SLOPES, SLOPE_WEIGHT, STEPS, TINY,
    Bets, Cell, Evidence, Held,
    as_prediction, bets_of, count_round, evidence_restart, evidence_start, granted, mean_of, play,
    range_of, release_cell, release_slopes, tilt_weight,
)
from calibrant._kernels.kernel cimport UNINTERRUPTED, array_of, as_outcome

cdef int64_t LONGEST = 2**32 - 1
cdef double CLOSE = 1e6          # of the sum that ends an episode
cdef int64_t GONE = 100
cdef int64_t FEWEST_GONE = 1000  # rounds without one of the cell that are never enough
cdef double EULER = 2.718281828459045
cdef enum:
    NOTHING, ALARM, END          # what a round can bring
    WHOLE = -1                   # the group of a round that has none

#: A cell as it lies in memory.
CELL = np.dtype([
    ("M", "f4", 8), ("W", "f4", 4), ("start", "u4", 4), ("S", "f4", 2),
    ("n", "u4", 2),
])
FIRST_GROUP, FIRST_HELD_GROUP, RANGE_COUNT = CELLS, HELD_GROUPS, RANGES
SKETCH_SIZE, SLOPE_COUNT, MOST_RECOVERY = SKETCH, SLOPES, CLOSE
FEWEST_UNSEEN, MOST_UNSEEN = FEWEST_GONE, GONE
HELD_SIZE = sizeof(Held) // sizeof(double)


cdef class MonitorKernel:
    """The evidence of one Monitor, and its open episode."""

    cdef Evidence evidence_
    cdef Cell *groups
    cdef Py_ssize_t group_count
    cdef double threshold
    cdef double alpha_           # 0 if the guarantee is one a number of rounds
    cdef int64_t rounds_
    cdef int64_t restarted       # the round in which the evidence started anew
    cdef bint running            # is a thread inside `run`?
    # The block: the most rounds it may have, those it has, and how many of them watch recovery.
    cdef int64_t block_
    cdef int64_t in_block
    cdef double held_L           # sum of f - 1
    cdef double held_n
    # The open episode.
    cdef bint open_
    cdef Py_ssize_t named        # its cell; CELLS + g is group g
    cdef int direction           # 0: more happened than was said; 1: less
    cdef double margin
    cdef double L
    cdef int64_t unseen          # rounds since one fell into the cell
    cdef int64_t most_unseen     # so many of them end the episode

    def __init__(self, double threshold, double alpha, double tolerance, int64_t block):
        self.threshold, self.alpha_, self.block_ = threshold, alpha, block
        evidence_start(&self.evidence_, tolerance)
        self._set_group_count(0)

    def __dealloc__(self):
        free(self.groups)
        free(self.evidence_.held)

    # -- one round ------------------------------------------------------------------------------

    cdef int step(self, double p, double y, Py_ssize_t group) noexcept nogil:
        """Play a round and return what it brought; y is NaN where no outcome will come."""
        cdef Evidence *v = &self.evidence_
        cdef Py_ssize_t r = range_of(v, p)
        cdef Cell *cell = NULL
        cdef Held *held = NULL
        cdef Bets bets
        cdef int event = NOTHING
        if self.open_:
            self.watch_recovery(p, y, r, group)
        else:
            if group != WHOLE:
                cell = &self.groups[group]
                held = NULL if v.held == NULL else &v.held[HELD_GROUPS + group]
            bets = bets_of(v.tolerance, p, y)
            play(v, cell, held, &bets, r, y - p, granted(self.alpha_, self.rounds_),
                 self.since_restart())
        count_round(v, r, p, y, self.rounds_, not self.open_)
        self.rounds_ += 1
        self.in_block += 1
        if self.in_block == self.block_:
            event = self.conclude()
        return event

    cdef int conclude(self) noexcept nogil:
        """End the block, and return what it brought; without blocks, every round is one."""
        self.in_block = 0
        if self.evidence_.held != NULL:
            self.release()
        if self.open_ and (self.L >= CLOSE or self.unseen >= self.most_unseen):
            self.restart()
            return END
        if not self.open_ and self.evidence_.R >= self.threshold:
            self.open_episode()
            return ALARM
        return NOTHING

    cdef void release(self) noexcept nogil:
        """Play the bets of the block."""
        cdef Evidence *v = &self.evidence_
        cdef double add = granted(self.alpha_, self.rounds_), block = <double>self.block_
        cdef Py_ssize_t i
        if self.open_:
            self.L += self.L * self.held_L / block + self.held_L + self.held_n
            self.held_L = self.held_n = 0.0
            return
        for i in range(CELLS + self.group_count):
            release_cell(
                v, self.cell_at(i), &v.held[i + (i >= CELLS)], tilt_weight(i), block, add
            )
        release_slopes(v, block, add)

    cdef uint32_t since_restart(self) noexcept nogil:
        """Return the rounds since the restart, as far as four bytes count."""
        cdef int64_t since = self.rounds_ - self.restarted
        return <uint32_t>(LONGEST if since > LONGEST else since)

    cdef void restart(self) noexcept nogil:
        evidence_restart(&self.evidence_)
        if self.group_count:
            memset(self.groups, 0, self.group_count * sizeof(Cell))
        if self.evidence_.held != NULL:
            memset(self.evidence_.held, 0, (HELD_GROUPS + self.group_count) * sizeof(Held))
        self.L = self.held_L = self.held_n = 0.0
        self.unseen = self.most_unseen = 0
        self.open_, self.restarted, self.in_block = False, self.rounds_, 0

    # -- episodes -------------------------------------------------------------------------------

    cdef Cell *cell_at(self, Py_ssize_t i) noexcept nogil:
        return &self.evidence_.cells[i] if i < CELLS else &self.groups[i - CELLS]

    cdef double against(self, Py_ssize_t i) noexcept nogil:
        """Return the mean M of a cell, in the direction of the episode."""
        return mean_of(&self.cell_at(i).M[self.direction * STEPS], STEPS)

    cdef void open_episode(self) noexcept nogil:
        """Name the cell with the most evidence, or the finest inside it that has as much."""
        cdef double best = -1.0, own, bias = 0.0
        cdef Py_ssize_t i, child, named = 0
        cdef int direction = 0
        cdef int64_t length      # of the stretch in which its visits came
        cdef Cell *cell
        for i in range(CELLS + self.group_count):
            for self.direction in range(2):
                own = tilt_weight(i) * self.against(i)
                if own > best:
                    best, named, direction = own, i, self.direction
        self.direction = direction
        while named < CELLS // 2:    # it has halves
            child = 2 * named + 1
            if self.against(child + 1) > self.against(child):
                child += 1
            if EULER * self.against(child) < self.against(named):
                break
            named = child
        cell, self.named = self.cell_at(named), named
        if cell.n[direction]:
            bias = <double>cell.S[direction] / cell.n[direction]
        self.margin = max(fabs(bias) / 3.0, self.evidence_.tolerance)
        self.open_, self.L, self.unseen = True, 0.0, 0
        length = <int64_t>(self.since_restart() - cell.start[2 * direction])
        self.most_unseen = max(FEWEST_GONE, GONE * length // max(<int64_t>cell.n[direction], 1))

    cdef void watch_recovery(
        self, double p, double y, Py_ssize_t r, Py_ssize_t group
    ) noexcept nogil:
        cdef double q = p + self.margin if self.direction == 0 else p - self.margin
        cdef double f
        cdef Py_ssize_t cell = CELLS // 2 + r
        if self.named >= CELLS:
            cell = group + CELLS
        else:
            while cell > self.named:
                cell = (cell - 1) // 2
        self.unseen += 1
        if cell != self.named:
            return
        self.unseen = 0
        if isnan(y):
            y = 1.0 - self.direction  # what speaks least for an end
        q = min(max(q, TINY), 1.0 - TINY)
        f = y * p / q + (1.0 - y) * (1.0 - p) / (1.0 - q)
        if self.evidence_.held == NULL:
            self.L = f * (self.L + 1.0)
        else:
            self.held_L += f - 1.0
            self.held_n += 1.0

    # -- the contract ---------------------------------------------------------------------------

    @property
    def rounds(self):
        """Rounds watched so far."""
        return self.rounds_

    @property
    def evidence(self):
        """How far the evidence is on its way to an alarm: 0 for none, 1 in an episode.

        The way is logarithmic: at 0.5, the evidence is the square root of what an alarm takes.
        """
        if self.open_:
            return 1.0
        return min(max(log(max(self.evidence_.R, 1e-300)) / log(self.threshold), 0.0), 1.0)

    @property
    def _threshold(self):
        return self.threshold

    @property
    def _in_block(self):
        return self.in_block

    def _set_group_count(self, Py_ssize_t count):
        """Make room for so many groups; new ones know nothing."""
        cdef Py_ssize_t more = max(0, count - self.group_count)
        cdef Cell *cells = <Cell *>realloc(self.groups, max(count, 1) * sizeof(Cell))
        cdef Held *held
        if cells == NULL:
            raise MemoryError
        self.groups = cells
        if self.block_ > 1:
            held = <Held *>realloc(self.evidence_.held, (HELD_GROUPS + count) * sizeof(Held))
            if held == NULL:
                raise MemoryError
            if self.evidence_.held == NULL:
                memset(held, 0, HELD_GROUPS * sizeof(Held))
            self.evidence_.held = held
            memset(&held[HELD_GROUPS + count - more], 0, more * sizeof(Held))
        memset(&cells[count - more], 0, more * sizeof(Cell))
        self.group_count = count

    def _check(self, prediction, outcome):
        """Raise ValueError unless both are numbers in [0, 1]."""
        as_prediction(prediction)
        as_outcome(outcome)

    def _watch(self, prediction, outcome, Py_ssize_t group):
        """Play a round; return 1 at an alarm, 2 at the end of an episode, else 0.

        An outcome of None will never come.
        """
        if self.running:
            self._begin()        # it refuses
        cdef double p = as_prediction(prediction)
        cdef double y = float("nan") if outcome is None else as_outcome(outcome)
        return self.step(p, y, group)

    def _end_block(self):
        """End a block that has fewer rounds than it may; return what it brought."""
        return self.conclude() if self.in_block else NOTHING

    def _begin(self):
        """Refuse a second thread while `run` works without the GIL."""
        if self.running:
            raise RuntimeError("this Monitor is at work in another thread; give each its own")
        self.running = True

    def _finish(self):
        self.running = False

    def _run(self, const double[::1] p, const double[::1] y, const int64_t[::1] group,
             const unsigned char[::1] fresh, double[::1] evidence, Py_ssize_t start):
        """Play rounds from `start` on until one brings something, at most UNINTERRUPTED.

        Return the number of the round after it, and what it brought. A fresh round begins a block.
        `evidence` is empty, or takes R after each round.
        """
        cdef Py_ssize_t i = start, stop = min(p.shape[0], start + UNINTERRUPTED)
        cdef int event = NOTHING
        with nogil:
            while i < stop and event == NOTHING:
                if fresh.shape[0] and fresh[i] and self.in_block:
                    event = self.conclude()
                    if event != NOTHING:
                        break
                event = self.step(p[i], y[i], group[i] if group.shape[0] else WHOLE)
                if evidence.shape[0]:
                    evidence[i] = self.evidence_.R
                i += 1
        return i, event

    def _episode(self):
        """Return the open episode: onset, edges of its range, group, bias, visits."""
        cdef Cell *cell = self.cell_at(self.named)
        cdef Py_ssize_t level = 0, first
        cdef double low = 0.0, high = 1.0, bias = 0.0
        if self.named < CELLS:
            while (2 << level) - 1 <= self.named:
                level += 1
            first = (self.named + 1 - (1 << level)) << (LEVELS - 1 - level)
            low = self.evidence_.edges[first]
            high = self.evidence_.edges[first + (RANGES >> level)]
        cdef int d = self.direction, dating = 2 * d
        if cell.W[dating + 1] > cell.W[dating]:
            dating += 1          # it speaks more for what happened since its start
        if cell.n[d]:
            bias = <double>cell.S[d] / cell.n[d]
        onset = self.restarted + cell.start[dating]
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
        cdef Py_ssize_t held = 0 if self.evidence_.held == NULL else HELD_GROUPS + self.group_count
        return object.__sizeof__(self) + self.group_count * sizeof(Cell) + held * sizeof(Held)

    def _get_state(self):
        """Return everything the past left behind, as arrays and numbers by name."""
        cdef Evidence *v = &self.evidence_
        cdef Py_ssize_t held = 0 if v.held == NULL else HELD_GROUPS + self.group_count
        cells = np.empty(CELLS + self.group_count, dtype=CELL)
        cdef char[::1] into = cells.view(np.int8)
        memcpy(&into[0], v.cells, sizeof(v.cells))
        memcpy(&into[sizeof(v.cells)], self.groups, self.group_count * sizeof(Cell))
        edges, ranges = self._ranges()
        return {
            "R": v.R, "restarted": self.restarted, "named": self.named if self.open_ else -1,
            "direction": self.direction, "margin": self.margin, "L": self.L,
            "unseen": self.unseen, "most_unseen": self.most_unseen,
            "in_block": self.in_block, "held_L": self.held_L, "held_n": self.held_n,
            "cells": cells, "edges": edges, "ranges": ranges.reshape(-1),
            "slopes": np.array([v.slopes[i] for i in range(SLOPES)]),
            "sketch": np.array([v.sketch[i] for i in range(SKETCH)], dtype=np.int64),
            "held": array_of(<double *>v.held, held * HELD_SIZE),
        }

    def _set_state(self, state, int64_t rounds):
        """Take over a state of `_get_state` that was checked: see monitor/saving.py."""
        cdef const char[::1] cells = np.ascontiguousarray(state["cells"]).view(np.int8)
        cdef const double[::1] edges = state["edges"], ranges = state["ranges"]
        cdef const double[::1] held = state["held"]
        cdef Evidence *v = &self.evidence_
        cdef Py_ssize_t i
        self._set_group_count(len(state["cells"]) - CELLS)
        memcpy(v.cells, &cells[0], sizeof(v.cells))
        memcpy(self.groups, &cells[0] + sizeof(v.cells), self.group_count * sizeof(Cell))
        memcpy(v.edges, &edges[0], sizeof(v.edges))
        memcpy(v.ranges, &ranges[0], sizeof(v.ranges))
        if v.held != NULL:
            memcpy(v.held, &held[0], (HELD_GROUPS + self.group_count) * sizeof(Held))
        v.sketched = 0
        for i in range(SKETCH):
            v.sketch[i] = state["sketch"][i]
            v.sketched += v.sketch[i]
        for i in range(SLOPES):
            v.slopes[i] = state["slopes"][i]
        self.rounds_, self.restarted, self.in_block = rounds, state["restarted"], state["in_block"]
        self.open_, self.named = state["named"] >= 0, max(state["named"], 0)
        self.direction, self.margin, self.L = state["direction"], state["margin"], state["L"]
        self.unseen, self.most_unseen = state["unseen"], state["most_unseen"]
        self.held_L, self.held_n, v.R = state["held_L"], state["held_n"], state["R"]

    @staticmethod
    def _weighed(totals, slopes):
        """Return R of cells with these sums over tilts, and of these bets on the slope."""
        cells = sum(tilt_weight(i) * total for i, total in enumerate(totals))
        return cells + sum(SLOPE_WEIGHT / SLOPES * M for M in slopes)
