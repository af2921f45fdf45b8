"""What is pending as arrays and numbers, and back."""

from libc.math cimport fabs, isfinite
from libc.stdint cimport int64_t
from libc.stdlib cimport realloc
from libc.string cimport memcpy

from types import SimpleNamespace

import numpy as np

from calibrant._checks import check_integer
from calibrant._kernels.scores.correction cimport CORRECTION_SIZE, FEATURES, Correction
from calibrant._kernels.scores.delays cimport AGES, RANGES
from calibrant._kernels.scores.delays import MOST_EVENTS
from calibrant._kernels.kernel cimport array_of
from calibrant._kernels.scores.pending cimport (
    AWAITED_SIZE,
    CELL_SIZE,
    MOVED,
    SLICES,
    SPANS,
    Awaited,
    Cell,
    PendingKernel,
    Slice,
    Wait,
)
from calibrant._kernels.saved import SLACK, check_all, check_names, floats, number

cdef double LARGEST_LOGIT = 21.0  # of probabilities in [LEAST, 1 - LEAST]


def save_pending(PendingKernel kernel not None):
    """Return everything the past left behind, as arrays and numbers by name."""
    cdef int64_t serial
    cdef Slice *s
    cdef Py_ssize_t j
    starts, counts, keys, cells = [], [], [], []
    for serial in range(max(0, kernel.serial - SLICES + 1), kernel.serial + 1):
        s = &kernel.slices[serial % SLICES]
        if s.serial == serial:
            starts.append(s.start)
            counts.append(s.count)
            keys += [s.keys[j] for j in range(s.count)]
            cells += [array_of(<double *>&s.cells[j], CELL_SIZE) for j in range(s.count)]
    return {
        "weights": kernel.weights,
        "offsets": kernel.offsets,
        "recent": array_of(kernel.recent, MOVED),
        "ages": array_of(&kernel.H[0][0], RANGES * AGES),
        "correction": array_of(<double *>&kernel.correction, CORRECTION_SIZE),
        "waiting": kernel.waiting,
        "span": kernel.span,
        "reference": kernel.reference,
        "slices": kernel.serial,
        "stale": int(kernel._stale),
        "starts": np.array(starts, dtype=np.float64),
        "counts": np.array(counts, dtype=np.int64),
        "keys": np.array(keys, dtype=np.int64),
        "cells": np.concatenate([*cells, np.empty(0)]),
    }


#: What must hold between the saved parts, in words and as it is checked. A row of `cells` is a cell, in
#: the slice from `start` to `end`; `now` is what the clock says, and `rounds` were begun.
MUST_HOLD = (
    ("weights must be positive and sum to 1",
     lambda s: [s.weights > 0.0, abs(s.weights.sum() - 1.0) < 1e-6]),
    ("offsets must be within reach of logits", lambda s: abs(s.offsets) <= MOST_OFFSET),
    ("recent must be logarithms of probabilities", lambda s: s.recent <= 0.0),
    ("ages must count the events that are remembered",
     lambda s: [s.ages >= 0.0, s.ages.sum() <= MOST_EVENTS * (1.0 + SLACK)]),
    ("correction must be what so many rounds leave behind",
     lambda s: is_correction(s.correction, s.rounds)),
    ("waiting must be some of the rounds", lambda s: 0.0 <= s.waiting <= s.rounds),
    ("slices must be as many as their starts and their cells",
     lambda s: len(s.starts) == len(s.counts) <= min(SLICES, s.serial + 1) and (
         s.counts.sum() == len(s.keys) and s.serial <= s.rounds)),
    ("starts must increase, up to the clock",
     lambda s: [np.diff(s.starts) > 0.0, s.starts <= s.now]),
    ("span and reference must be spans of time",
     lambda s: (s.span >= LEAST_SPAN and s.reference >= LEAST_SPAN) or not len(s.starts)),
)  # fmt: skip
#: And of the cells, once it is known which slice each of them is in.
MUST_HOLD_IN_CELLS = (
    ("cells make no sense", lambda s: are_cells(s.cells)),
    ("cells must be of scores in their ranges",
     lambda s: [
         s.x >= np.where(s.range_ == 0, -LARGEST_LOGIT, s.range_ - RANGES // 2 - SLACK),
         s.x <= np.where(s.range_ == RANGES - 1, LARGEST_LOGIT, s.range_ - RANGES // 2 + 1.0 + SLACK),
     ]),
    ("cells must be of predictions in their slices",
     lambda s: s.at <= (s.end - s.start) * (1.0 + SLACK)),
)  # fmt: skip
MOST_OFFSET = 100.0
LEAST_SPAN = 1e-300


def load_pending(PendingKernel kernel not None, state, double now, int64_t rounds):
    """Give a fresh kernel a state of `save_pending`, or raise ValueError and change nothing."""
    check_names(state, set(save_pending(kernel)))
    cdef const double[::1] w = floats(state, "weights", size=MOVED + 1)
    cdef const double[::1] c = floats(state, "offsets", size=MOVED)
    cdef const double[::1] recent = floats(state, "recent", size=MOVED)
    cdef const double[::1] ages = floats(state, "ages", size=RANGES * AGES)
    cdef const double[::1] correction = floats(state, "correction", size=CORRECTION_SIZE)
    cdef double waiting = number(state, "waiting", low=0.0, high=2.0**53)
    cdef double span = number(state, "span", low=0.0, high=1.7976931348623157e308)
    cdef double reference = number(state, "reference", low=0.0, high=1.7976931348623157e308)
    cdef int64_t serial = check_integer("saved slices", state["slices"], 0)
    cdef bint stale = check_integer("saved stale", state["stale"], 0, 1)
    cdef const double[::1] starts = floats(state, "starts")
    counts, keys = whole_numbers(state, "counts", 1 << 20), whole_numbers(state, "keys", RANGES * SPANS - 1)
    cdef const double[::1] cells = floats(state, "cells", size=CELL_SIZE * len(keys))
    cdef Py_ssize_t i, j, at = 0, many = starts.shape[0]
    cdef Slice *s
    parts = SimpleNamespace(
        weights=np.asarray(w), offsets=np.asarray(c), recent=np.asarray(recent),
        ages=np.asarray(ages), correction=np.asarray(correction), starts=np.asarray(starts),
        counts=counts, keys=keys, cells=np.asarray(cells).reshape(-1, CELL_SIZE), waiting=waiting,
        span=span, reference=reference, serial=serial, now=now, rounds=rounds,
    )
    check_all("saved", MUST_HOLD, parts)
    full = parts.cells[:, 0] > 0.0
    parts.x, parts.at = (parts.cells[full, 2:4] / parts.cells[full, :1]).T
    parts.range_ = keys[full] // SPANS
    parts.start = np.repeat(parts.starts, counts)[full]
    parts.end = np.repeat(np.append(parts.starts, now)[1:], counts)[full]
    check_all("saved", MUST_HOLD_IN_CELLS, parts)
    for i in range(many):
        s = &kernel.slices[(serial - many + 1 + i) % SLICES]
        s.keys = <int *>realloc(s.keys, (counts[i] + 1) * sizeof(int))
        s.cells = <Cell *>realloc(s.cells, (counts[i] + 1) * sizeof(Cell))
        if s.keys == NULL or s.cells == NULL:
            raise MemoryError
        s.serial, s.start, s.count, s.room = serial - many + 1 + i, starts[i], counts[i], counts[i] + 1
        for j in range(s.count):
            s.keys[j] = keys[at]
            memcpy(&s.cells[j], &cells[at * CELL_SIZE], CELL_SIZE * sizeof(double))
            s.cells[j].rated = -1.0
            at += 1
    memcpy(kernel.w, &w[0], sizeof(kernel.w))
    memcpy(kernel.c, &c[0], sizeof(kernel.c))
    memcpy(kernel.recent, &recent[0], sizeof(kernel.recent))
    memcpy(&kernel.correction, &correction[0], sizeof(Correction))
    memcpy(&kernel.H[0][0], &ages[0], sizeof(kernel.H))
    kernel.waiting = waiting
    kernel.span, kernel.reference, kernel.serial, kernel._stale = span, reference, serial, stale


def is_correction(correction, rounds):
    """Whether a saved correction is such as deadlines leave behind: a curvature, and a weight."""
    factors, weight = correction[:FEATURES], correction[len(correction) - 1]
    matrix = np.zeros((FEATURES, FEATURES))
    matrix[np.triu_indices(FEATURES)] = correction[FEATURES:-1]
    squares = np.diag(matrix)
    roots = np.sqrt(np.maximum(squares, 0.0))
    within = abs(matrix) <= np.outer(roots, roots) * (1.0 + SLACK)
    within &= squares <= 0.25 * LARGEST_LOGIT**2 * rounds
    return bool(
        (squares >= 0.0).all() and within.all() and 0.0 < weight < 1.0
        and (abs(factors) <= 1.0 + rounds).all()  # a step is below FEATURES * LARGEST_LOGIT / FEW
    )


def are_cells(cells):
    """Whether saved cells are such as predictions leave behind."""
    n, came, x, at, span = cells.T[:5]
    predicted = cells[:, 5:]
    empty = (n == 0.0) & (abs(x) <= SLACK)
    full = (came >= 0.0) & (came <= n) & (at >= -1e-6 * span) & (span >= n * LEAST_SPAN)
    full &= abs(x) <= n * LARGEST_LOGIT
    full &= ((predicted > 0.0) & (predicted < n[:, None])).all(axis=1)
    return bool((empty | (n > 0.0) & full).all())


def whole_numbers(state, name, most):
    """Return a saved array of integers in [0, most]."""
    values = state[name]
    if not isinstance(values, np.ndarray) or values.dtype != np.int64 or values.ndim != 1:
        raise ValueError(f"saved {name} must be an array of int64")
    if ((values < 0) | (values > most)).any():
        raise ValueError(f"saved {name} must be in [0, {most}]")
    return values


def save_awaited(awaited):
    """Return what is known of predictions: AWAITED_SIZE doubles of each, and its slice and cell."""
    places = np.empty((len(awaited), AWAITED_SIZE))
    cells = np.empty((len(awaited), 2), dtype=np.int64)
    cdef double[:, ::1] to = places
    cdef int64_t[:, ::1] at = cells
    cdef Py_ssize_t i
    cdef Awaited each
    for i, each in enumerate(awaited):
        memcpy(&to[i, 0], &each.wait, AWAITED_SIZE * sizeof(double))
        at[i, 0], at[i, 1] = each.wait.serial, each.wait.cell
    return places.reshape(-1), cells.reshape(-1)


def load_awaited(PendingKernel kernel not None, places, cells):
    """Return the predictions that `save_awaited` saved, or raise ValueError."""
    if not isinstance(places, np.ndarray) or not isinstance(cells, np.ndarray):
        raise ValueError("saved predictions that wait for their deadlines must be arrays")
    if kernel.waiting * AWAITED_SIZE != places.size or kernel.waiting * 2 != cells.size:
        raise ValueError(f"saved predictions that wait for their deadlines must be {kernel.waiting}")
    cdef const double[:, ::1] of = places.reshape(-1, AWAITED_SIZE)
    cdef const int64_t[:, ::1] at = cells.reshape(-1, 2)
    cdef Py_ssize_t i
    cdef Awaited each
    cdef Slice *s
    awaited, left = [], {}  # what is left of cells without those that wait
    for i in range(of.shape[0]):
        each = Awaited.__new__(Awaited)
        memcpy(&each.wait, &of[i, 0], AWAITED_SIZE * sizeof(double))
        each.wait.serial, each.wait.cell = at[i, 0], at[i, 1]
        if not sane_wait(&each.wait) or not 0 <= each.wait.serial <= kernel.serial:
            raise ValueError("a pending saved prediction is invalid")
        s = &kernel.slices[each.wait.serial % SLICES]
        if s.serial == each.wait.serial and not (
            0 <= each.wait.cell < s.count and s.start <= each.wait.at
        ):
            raise ValueError("a saved prediction that waits for its deadline is in no cell")
        awaited.append(each)
        if s.serial == each.wait.serial:
            at_cell = (each.wait.serial, each.wait.cell)
            if at_cell not in left:
                left[at_cell] = array_of(<double *>&s.cells[each.wait.cell], CELL_SIZE)
            left[at_cell] -= [
                1.0, isfinite(each.wait.came), each.wait.x, each.wait.at - s.start,
                each.wait.due - each.wait.at, *array_of(each.wait.predicted, MOVED),
            ]
    rest = np.stack([*left.values(), np.zeros(CELL_SIZE)])
    if not are_cells(rest) or (np.abs(rest[rest[:, 0] == 0.0][:, 5:]) > SLACK).any():
        raise ValueError("saved cells must count what waits in them")
    return awaited


cdef bint sane_wait(const Wait *wait) noexcept nogil:
    cdef Py_ssize_t i
    if not (isfinite(wait.at) and isfinite(wait.due) and wait.at < wait.due):
        return False
    if not (wait.came >= wait.at) or not fabs(wait.x) <= LARGEST_LOGIT or not 0.0 < wait.mean < 1.0:
        return False
    if not (0.0 < wait.moved < 1.0 and 0.0 < wait.corrected < 1.0):
        return False
    for i in range(MOVED):
        if not 0.0 < wait.predicted[i] < 1.0:
            return False
    return True
