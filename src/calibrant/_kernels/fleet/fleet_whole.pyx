"""The whole: what all keys of a fleet share, at a price that a fleet can pay.

It is the recalibrator's sharp mixture (`sharp.pyx`), which takes ten times as long a round as all
else. A fleet has so many rounds that it need not learn from each. Its first ALL predictions are made
and learned from one by one. From then on it learns from every STRIDE-th of them, and every REFRESH
predictions a copy of it is made, which speaks until the next: its estimate at a score is read, by
the logit of the score, between cells of a table, each computed when it is first asked for. A batch
of outcomes that waited together is learned as one (`batches.pyx`), and the copy made at once.
"""

from libc.string cimport memcpy, memset

import numpy as np

from calibrant._kernels.functions cimport exp, log
from calibrant._kernels.saved import floats
from calibrant._kernels.scores.batches cimport (
    Misses, Rows, batch_learn, batch_line, batches_start, misses_add, misses_start, rows_free,
    rows_set, rows_start, surprises_start,
)
from calibrant._kernels.scores.batches import (
    BATCH_PARTS, SURPRISE_PARTS, check_batches, check_surprises,
)
from calibrant._kernels.scores.mixing cimport within
from calibrant._kernels.scores.sharp cimport (
    EXPERTS,
    sharp_learn,
    sharp_least,
    sharp_start,
    sharp_view,
)
from calibrant._kernels.scores.sharp import SHARP_PARTS, check_sharp

cdef int64_t REFRESH = 1 << 12
cdef double FINE = 8.0              # cells a unit of logit
cdef double END = 21.0              # logit of the last cell; no score is beyond it


cdef void whole_start(Whole *whole) noexcept nogil:
    memset(whole, 0, sizeof(Whole))
    sharp_start(&whole.sharp)
    sharp_start(&whole.heard)
    batches_start(&whole.batches)
    surprises_start(&whole.surprises)
    whole.heard_least = sharp_least(0)


cdef inline double logit(double p) noexcept nogil:
    return log(p / (1.0 - p))


cdef double whole_view(const Whole *whole, double s, View *view) noexcept nogil:
    """Ask the mixture that learns; return its mean."""
    cdef double least = sharp_least(whole.learned)
    sharp_view(&whole.sharp, within(s, least), least, view)
    return view.mean


cdef void learn_cell(Whole *whole, Py_ssize_t i) noexcept nogil:
    """Ask the copy that speaks for its estimate at a cell."""
    cdef View view
    cdef double s = 1.0 / (1.0 + exp(END - i / FINE))
    s = within(s, whole.heard_least)
    sharp_view(&whole.heard, s, whole.heard_least, &view)
    whole.estimate[i] = logit(view.mean)
    whole.known[i] = True


cdef inline double cell(Whole *whole, Py_ssize_t i) noexcept nogil:
    if not whole.known[i]:
        learn_cell(whole, i)
    return whole.estimate[i]


cdef double whole_estimate(Whole *whole, double s, double v, View *view) noexcept nogil:
    """Return the logit of the estimate for the score s, whose logit is v, at most END.

    `view` takes what the next round learns from.

    Nothing changes but what is remembered of the table.
    """
    cdef double mean = 0.0, place, part
    cdef Py_ssize_t i
    if whole_learns(whole.rounds):
        mean = whole_view(whole, s, view)
    if whole.rounds < ALL:
        return logit(mean)
    place = (v + END) * FINE
    i = <Py_ssize_t>place
    part = place - i
    return cell(whole, i) * (1.0 - part) + cell(whole, i + 1) * part


cdef void whole_passed(Whole *whole) noexcept nogil:
    """Count a prediction, and let the copy that speaks be renewed if it is time."""
    whole.rounds += 1
    if whole.rounds >= ALL and whole.rounds % REFRESH == 0:
        refresh(whole)


cdef void refresh(Whole *whole) noexcept nogil:
    """Renew the copy that speaks."""
    memcpy(&whole.heard, &whole.sharp, sizeof(SharpState))
    whole.heard_least = sharp_least(whole.learned)
    memset(whole.known, 0, sizeof(whole.known))


cdef void whole_learn(Whole *whole, const View *view, const double *predicted, double m, double y,
                      double weight, double late) noexcept nogil:
    """Learn the outcome of a round that the experts `predicted`, m together, and `view` now."""
    late = late / STRIDE if whole.rounds > ALL else late
    sharp_learn(&whole.sharp, view, predicted, m, y, weight, late)
    whole.learned += 1


cdef double whole_learn_batch(
    Whole *whole, const WholeRow *batch, Py_ssize_t size, int64_t earliest, double *line
) noexcept nogil:
    """Learn a batch as `batches.pyx` says, all but the levels; -1 without memory.

    The earliest of its predictions has this number. Returns how many of its outcomes count for one.
    `line` takes the slope and the offset by which the logits of the new estimates would fit the
    batch.
    """
    cdef Misses misses
    cdef Rows rows
    cdef double mean
    cdef Py_ssize_t i, k
    if rows_start(&rows, size) < 0:
        return -1.0
    rows.least = sharp_least(whole.learned)
    misses_start(&misses, earliest, whole.rounds)
    for i in range(size):
        mean = 0.0
        for k in range(EXPERTS):
            mean += whole.sharp.w[k] * batch[i].predicted[k]
        misses_add(&misses, batch[i].predicted, mean, batch[i].y, batch[i].weight)
        rows_set(&rows, i, within(batch[i].s, rows.least), batch[i].y, batch[i].weight)
    batch_learn(
        &whole.sharp, &whole.batches, &whole.surprises, &rows, &misses, whole.learned, False
    )
    batch_line(&whole.sharp, &rows, line)
    rows_free(&rows)
    whole.learned += size
    if whole.rounds >= ALL:
        refresh(whole)
    return misses.dispersed


def parts_of(arrays, name, sizes):
    """Return saved numbers, and the same as arrays by name, whose sizes these are."""
    values = floats(arrays, name, size=sum(sizes.values()))
    parts = np.split(values, np.cumsum(list(sizes.values()))[:-1])
    return values, dict(zip(sizes, parts, strict=True))


def checked_batches(arrays, learned):
    """Return what a saved whole knows of batches, or refuse what the outcomes cannot have left."""
    values, parts = parts_of(arrays, "batches", BATCH_PARTS)
    # Of a batch, the whole may learn from one row in STRIDE.
    check_batches(parts, learned, 1.0)
    return values


def checked_surprises(arrays, rounds):
    """Return what a saved whole knows of surprises, or refuse what no batches can have left."""
    values, parts = parts_of(arrays, "surprises", SURPRISE_PARTS)
    check_surprises(parts, rounds)
    return values


def checked_mixture(arrays, name, learned):
    """Return a saved mixture of the whole, or refuse one that the outcomes cannot have made."""
    values, parts = parts_of(arrays, name, SHARP_PARTS)
    check_sharp(parts, learned)
    return values
