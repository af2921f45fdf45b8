"""What an event forecaster remembers of a round until its outcome is learned.

The contexts of the round and what each expert predicted of it then: what is learned later is
learned of these, whatever else has become known meanwhile.
"""

from libc.stdint cimport int64_t, uint32_t
from libc.string cimport memcpy

cimport cython

import numpy as np

from calibrant._kernels.events.contexts cimport KEY_BITS
from calibrant._kernels.events.event_mixture cimport ALONE, EventView, quick_logit
from calibrant._kernels.events.repair cimport MAPS, repair_find
from calibrant._kernels.rounds.round cimport Round
from calibrant._kernels.saved import floats
from calibrant._kernels.events.slots import LEAST

cdef enum:
    REPAIRED = 8              # numbers of a saved round before its repaired estimate
    FIRST_KEY = 9 + MAPS      # and before its keys


@cython.final
cdef class EventRound(Round):
    """A round whose outcome is still to come, to be kept in Python."""

    cdef double as_prediction(self):
        return self.begun.z

    cdef double as_expected(self):
        return self.begun.e


cdef void event_keep(
    EventBegun *begun, const EventView *view, int64_t number, double z, double e, bint bet
) noexcept nogil:
    """Keep what learning a round takes."""
    begun.number, begun.place, begun.contexts = number, view.asked.place, view.asked.count
    begun.y, begun.m, begun.u, begun.z, begun.e = 0.0, view.m, view.u, z, e
    begun.bet = bet
    begun.repaired = view.repaired
    memcpy(begun.key, view.asked.key, view.asked.count * sizeof(uint32_t))
    memcpy(begun.p, view.p, view.count * sizeof(double))


cdef void event_recall(const EventBegun *begun, EventView *view) noexcept nogil:
    """Restore the view of a round as it was when it was kept."""
    cdef Py_ssize_t i
    view.asked.place, view.asked.count = begun.place, begun.contexts
    view.count, view.m, view.u = ALONE + 2 * begun.contexts, begun.m, begun.u
    view.repaired = begun.repaired
    memcpy(view.asked.key, begun.key, begun.contexts * sizeof(uint32_t))
    memcpy(view.p, begun.p, view.count * sizeof(double))
    for i in range(begun.contexts):
        view.at[i] = 0  # wherever its slot is by now, it is looked for again
    view.x[0] = 0.0
    for i in range(1, view.count):
        view.x[i] = quick_logit(view.p[i]) if view.p[i] > 0.0 else 0.0


cdef EventRound as_event_round(const EventBegun *begun):
    """Return a round as an object that Python can keep."""
    cdef EventRound kept = EventRound.__new__(EventRound)
    kept.begun = begun[0]
    kept.number = kept.batch = begun.number
    return kept


# -- saving -----------------------------------------------------------------------------------------


def row_size(Py_ssize_t contexts):
    """Return how many numbers a saved round has, where rounds have at most so many contexts."""
    return FIRST_KEY + contexts + ALONE + 2 * contexts


def save_event_rounds(list rounds not None, Py_ssize_t contexts):
    """Return rounds as numbers, a row each; 0 stands for contexts that a round did not have."""
    rows = np.zeros((len(rounds), row_size(contexts)))
    cdef double[:, ::1] to = rows
    cdef Py_ssize_t i, k
    cdef EventRound r
    for i, r in enumerate(rounds):
        to[i, 0], to[i, 1], to[i, 2] = r.begun.number, r.begun.place, r.begun.y
        to[i, 3], to[i, 4], to[i, 5], to[i, 6] = r.begun.m, r.begun.u, r.begun.z, r.begun.e
        to[i, 7] = r.begun.bet
        to[i, REPAIRED] = r.begun.repaired.estimate
        for k in range(MAPS):
            to[i, REPAIRED + 1 + k] = r.begun.repaired.says[k]
        for k in range(r.begun.contexts):
            to[i, FIRST_KEY + k] = r.begun.key[k]
        for k in range(ALONE + 2 * r.begun.contexts):
            to[i, FIRST_KEY + contexts + k] = r.begun.p[k]
    return rows.reshape(-1)


def load_event_rounds(state, name, Py_ssize_t contexts, rounds, opened, points):
    """Return the rounds that `save_event_rounds` saved, or raise ValueError.

    They are in order, and below `rounds`; their places are up to `opened`, their predictions among
    the points.
    """
    size = row_size(contexts)
    flat = floats(state, name, low=-1.0, high=max(2.0**53, opened))
    if len(flat) % size:
        raise ValueError(f"saved {name} must have {size} values a round, got {len(flat)} in all")
    rows = flat.reshape(-1, size)
    numbers, places, keys = rows[:, 0], rows[:, 1], rows[:, FIRST_KEY : FIRST_KEY + contexts]
    if (rows[:, :2] % 1.0).any() or (np.diff(numbers) <= 0.0).any():
        raise ValueError(f"saved {name} must be numbered by increasing whole numbers")
    if len(rows) and not (numbers.min() >= 0.0 and numbers.max() < rounds):
        raise ValueError(f"saved {name} must be of {rounds} rounds")
    if (places < 0.0).any() or (places > opened).any():
        raise ValueError(f"saved {name} must have their places up to {opened}")
    if (rows[:, [2, 6]] < 0.0).any() or (rows[:, 2:FIRST_KEY] > 1.0).any():
        raise ValueError(f"saved {name} must have outcomes and predictions in [0, 1]")
    if not (np.isin(rows[:, 5], points[1:-1]).all() and (rows[:, 3:5] > 0.0).all()):
        raise ValueError(f"saved {name} must have predicted saved points, from means above 0")
    if not np.isin(rows[:, 7], (0.0, 1.0)).all():
        raise ValueError(f"saved {name} must be bets or not")
    repaired = rows[:, REPAIRED:FIRST_KEY]
    if not ((repaired > 0.0) & (repaired < 1.0)).all():
        raise ValueError(f"saved {name} must have repaired estimates inside (0, 1)")
    has = keys > 0.0
    if (np.diff(has.astype(np.int8), axis=1) > 0).any() or (keys % 1.0).any():
        raise ValueError(f"saved {name} must have whole keys, and none after the last context")
    kinds = np.floor((keys - 1.0) / 2.0**KEY_BITS)
    if (has & (kinds != np.arange(contexts))).any():
        raise ValueError(f"saved {name} must have keys of their contexts")
    p = rows[:, FIRST_KEY + contexts :]
    speaks = (p >= LEAST) & (p <= 1.0 - LEAST)
    expected = np.repeat(has, 2, axis=1)
    if not (speaks[:, :ALONE].all() and (speaks | (p == -1.0))[:, ALONE:][expected].all()):
        raise ValueError(f"saved {name} must have experts that say something in [0, 1], or -1")
    return [made_round(row, count, contexts) for row, count in zip(rows, has.sum(axis=1))]


cdef EventRound made_round(const double[::1] row, Py_ssize_t count, Py_ssize_t contexts):
    cdef EventRound r = EventRound.__new__(EventRound)
    cdef Py_ssize_t k
    r.begun.number, r.begun.place, r.begun.y = <int64_t>row[0], <int64_t>row[1], row[2]
    r.number = r.batch = r.begun.number
    r.begun.m, r.begun.u, r.begun.z, r.begun.e = row[3], row[4], row[5], row[6]
    r.begun.bet = row[7] > 0.0
    repair_find(r.begun.m, &r.begun.repaired)
    r.begun.repaired.estimate = row[REPAIRED]
    for k in range(MAPS):
        r.begun.repaired.says[k] = row[REPAIRED + 1 + k]
    r.begun.contexts = count
    for k in range(count):
        r.begun.key[k] = <uint32_t>row[FIRST_KEY + k]
    for k in range(ALONE + 2 * count):
        r.begun.p[k] = row[FIRST_KEY + contexts + k]
    return r
