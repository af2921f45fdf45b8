"""A round from its prediction until its outcome counts.

A rule keeps everything it needs to learn the outcome later in a subclass of `Round`. The book has the
only reference, and a round has no references to Python objects (except `PyRound` and `StagedRound`), so
a million of them do not slow down the garbage collector.
"""

from libc.math cimport NAN, isnan
from libc.stdint cimport int64_t, uint64_t
from libc.stdlib cimport free, malloc

import numpy as np

from calibrant._kernels.draws cimport scramble


cdef Story NOTHING
NOTHING.at = NOTHING.due = NOTHING.outcome = NOTHING.arrived = NOTHING.smooth = NAN
NOTHING.weight = 1.0
NOTHING.pending = NULL
NOTHING.is_held = NOTHING.is_silence = False


cdef class Round:
    """The base of the rounds of all rules."""

    def __dealloc__(self):
        if self.story != NULL:
            free(self.story.pending)
            free(self.story)

    cdef Story *told(self) except NULL:
        """Return the story of the round, and create it if necessary."""
        if self.story == NULL:
            self.story = <Story *>malloc(sizeof(Story))
            if self.story == NULL:
                raise MemoryError
            self.story[0] = NOTHING
        return self.story

    cdef bint is_held(self) noexcept:
        """Whether its outcome waits for the deadline."""
        return self.story != NULL and self.story.is_held

    cdef object company(self):
        """Return what rounds share that wait together: their time, or the call that made them."""
        if self.story == NULL or isnan(self.story.at):
            return (self.batch,)
        return self.story.at

    cdef bint is_with(self, Round other) noexcept:
        """Whether two rounds surely wait together."""
        if self.story == NULL or other.story == NULL:
            return self.story == other.story and self.batch == other.batch
        return self.story.at == other.story.at

    def join(self, Round whole not None):
        """Wait together with others, and teach as much, as the round does that this is a part of."""
        self.batch, self.is_shared = whole.batch, whole.is_shared
        if whole.story != NULL and not isnan(whole.story.at):
            self.told().at = whole.story.at
        if weight_of(whole) != 1.0:
            self.told().weight = whole.story.weight

    @property
    def at(self):
        """When it was predicted; NaN if unknown, as below."""
        return NAN if self.story == NULL else self.story.at

    @at.setter
    def at(self, double at):
        self.told().at = at

    @property
    def due(self):
        """When its outcome counts, if that is at a deadline."""
        return NAN if self.story == NULL else self.story.due

    @property
    def outcome(self):
        """What is known of its outcome."""
        return NAN if self.story == NULL else self.story.outcome

    @property
    def arrived(self):
        """When its outcome became known."""
        return NAN if self.story == NULL else self.story.arrived

    @arrived.setter
    def arrived(self, double arrived):
        self.told().arrived = arrived

    @property
    def weight(self):
        """How much its outcome teaches; where that is not known yet, the weight as it was given."""
        return weight_of(self)

    @weight.setter
    def weight(self, double weight):
        self.told().weight = weight

    @property
    def smooth(self):
        """The estimate for ranking, if it was asked for."""
        return NAN if self.story == NULL else self.story.smooth

    cdef double as_raw(self):
        return NAN

    cdef double as_prediction(self):
        return NAN

    cdef double as_expected(self):
        return NAN

    @property
    def raw(self):
        """The score as a probability, as it came."""
        return self.as_raw()

    @property
    def prediction(self):
        """What was predicted."""
        return self.as_prediction()

    @property
    def expected(self):
        """The mean of what might have been predicted."""
        return self.as_expected()


cdef class PyRound(Round):
    """A round of a rule that is written in Python."""

    def __init__(self, token, double raw, double prediction, double expected):
        self.token = token
        self._raw, self._prediction, self._expected = raw, prediction, expected

    cdef double as_raw(self):
        return self._raw

    cdef double as_prediction(self):
        return self._prediction

    cdef double as_expected(self):
        return self._expected


cdef class StagedRound(Round):
    """A round that passes several kernels: the first sees every round, the last predicts."""

    def __init__(self, int64_t group, tuple rounds not None, estimate=None):
        self.group, self.rounds, self.estimate = group, rounds, estimate
        self.number = self.batch = (<Round>rounds[0]).number

    cdef double as_raw(self):
        return (<Round>self.rounds[0]).as_raw()

    cdef double as_prediction(self):
        return (<Round>self.rounds[len(self.rounds) - 1]).as_prediction()

    cdef double as_expected(self):
        return (<Round>self.rounds[len(self.rounds) - 1]).as_expected()


cdef tuple companies(list rounds):
    """Return of each round with which batch it waited, and how many did with each."""
    numbers, known = np.empty(len(rounds), dtype=np.intp), {}
    cdef Py_ssize_t[::1] number = numbers
    cdef Py_ssize_t i
    cdef Round r, last = None
    for i in range(len(rounds)):
        r = rounds[i]
        if last is not None and r.is_with(last):
            number[i] = number[i - 1]
        else:
            number[i] = known.setdefault(r.company(), len(known))
        last = r
    return numbers, np.bincount(numbers)


def batches_of(list rounds not None):
    """Return the places of rounds that waited together, batch by batch, in the order of learning."""
    batch, sizes = companies(rounds)
    order = np.argsort(drawn(rounds))
    if len(sizes) > 1:
        order = order[np.argsort(batch[order], kind="stable")]
    return np.split(order, np.cumsum(sizes)[:-1])


cdef object drawn(list rounds):
    """Return numbers by which the rounds of a batch are sorted."""
    keys = np.empty(len(rounds), dtype=np.uint64)
    cdef uint64_t[::1] key = keys
    cdef Py_ssize_t i
    for i in range(len(rounds)):
        key[i] = scramble(<uint64_t>(<Round>rounds[i]).number + 1)
    return keys


cdef object sorted_by(order, values):
    """Return an order by values, ties as they are.

    No signal is looked at in methods of arrays, as it is in functions of NumPy.
    """
    return order[values[order].argsort(kind="stable")]


cdef tuple learning_order(list rounds, bint by_due):
    """Return the order in which outcomes that count together are learned, and the rounds in it.

    By deadline, if that is why they count; then what was predicted first. Rounds of one batch have
    no order of their own, and a file's may be sorted by anything: they are learned in an order drawn
    from their numbers.
    """
    cdef Py_ssize_t i, size = len(rounds)
    cdef Round r
    cdef bint one_batch = True, one_due = True
    if size == 1:
        return np.zeros(1, dtype=np.intp), rounds
    batches, drawn = np.empty(size, dtype=np.int64), np.empty(size, dtype=np.uint64)
    dues = np.empty(size)
    cdef int64_t[::1] batch = batches
    cdef uint64_t[::1] draw = drawn
    cdef double[::1] due = dues
    for i in range(size):
        r = rounds[i]
        batch[i], draw[i] = r.batch, scramble(<uint64_t>r.number + 1)
        due[i] = r.story.due if by_due else 0.0
        one_batch = one_batch and batch[i] == batch[0]
        one_due = one_due and due[i] == due[0]
    if by_due and not one_due:
        order = sorted_by(sorted_by(drawn.argsort(), batches), dues)
    else:
        order = drawn.argsort() if one_batch else sorted_by(drawn.argsort(), batches)
    cdef const Py_ssize_t[::1] at = order
    return order, [rounds[at[i]] for i in range(size)]


def round_columns(list rounds not None):
    """Return what `Settled` shows of rounds, a row each."""
    found = np.empty((9, len(rounds)))
    cdef double[:, ::1] to = found
    cdef Py_ssize_t i
    cdef Round r
    cdef const Story *story
    for i in range(len(rounds)):
        r = rounds[i]
        story = &NOTHING if r.story == NULL else r.story
        to[0, i], to[1, i], to[2, i] = story.outcome, r.as_raw(), r.as_prediction()
        to[3, i], to[4, i], to[5, i] = r.as_expected(), story.smooth, story.at
        to[6, i], to[7, i], to[8, i] = story.arrived, story.due, story.is_silence
    return found


def numbers_of(list rounds not None):
    """Return what `Steps` shows of rounds: their numbers, raw scores and expected predictions."""
    numbers, raw, expected = (
        np.empty(len(rounds), dtype=np.int64), np.empty(len(rounds)), np.empty(len(rounds)),
    )
    cdef int64_t[::1] number = numbers
    cdef double[::1] scores = raw, means = expected
    cdef Py_ssize_t i
    cdef Round r
    for i in range(len(rounds)):
        r = rounds[i]
        number[i], scores[i], means[i] = r.number, r.as_raw(), r.as_expected()
    return numbers, raw, expected


def rounds_as_arrays(list rounds not None):
    """Return what a book keeps of rounds: numbers and batches as integers, all else as numbers."""
    integers, numbers = np.empty((3, len(rounds)), dtype=np.int64), np.empty((5, len(rounds)))
    cdef int64_t[:, ::1] whole = integers
    cdef double[:, ::1] real = numbers
    cdef Py_ssize_t i
    cdef Round r
    cdef const Story *story
    for i in range(len(rounds)):
        r = rounds[i]
        story = &NOTHING if r.story == NULL else r.story
        whole[0, i], whole[1, i], whole[2, i] = r.number, r.batch, story.is_held
        real[0, i], real[1, i], real[2, i] = story.at, story.due, story.outcome
        real[3, i], real[4, i] = story.arrived, story.smooth
    return integers, numbers


def rounds_from_arrays(
    list rounds not None, const int64_t[:, ::1] integers, const double[:, ::1] numbers
):
    """Give rounds what `rounds_as_arrays` returned."""
    cdef Py_ssize_t i, k
    cdef Round r
    cdef Story *story
    for i in range(len(rounds)):
        r = rounds[i]
        r.number, r.batch = integers[0, i], integers[1, i]
        # The first of a call whose other rounds are done with has nobody to wait for.
        r.is_shared = r.batch != r.number or not isnan(numbers[0, i]) or (
            i + 1 < len(rounds) and integers[1, i + 1] == r.batch
        )
        for k in range(5):
            if not isnan(numbers[k, i]):
                story = r.told()
                story.at, story.due, story.outcome = numbers[0, i], numbers[1, i], numbers[2, i]
                story.arrived, story.smooth = numbers[3, i], numbers[4, i]
                story.is_held = integers[2, i] != 0
                break
