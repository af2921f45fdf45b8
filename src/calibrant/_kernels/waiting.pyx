"""Predictions that wait for their outcomes, by id: compiled, because every step comes by here."""

from collections import OrderedDict
from itertools import islice

from libc.stdint cimport int64_t

import numpy as np

from calibrant._kernels.rounds cimport Round

from calibrant._checks import check_id
from calibrant._kernels.forking import forkable_lock

cdef object HUGE = 2**60  # integers below it need no closer look
cdef object ZERO = 0.0
cdef object ONE = 1.0

# What becomes of an outcome.
cdef enum:
    _APPLIED
    _REPEATED
    _CONFLICT
    _UNKNOWN
    _EXPIRED


cdef object checked(object id_):
    """Return an id that can be saved, or raise ValueError."""
    if type(id_) is str or type(id_) is int and -HUGE < id_ < HUGE:
        return id_
    return check_id(id_)


cdef inline int64_t number_of(object prediction) except? -1:
    """Return how many predictions came before this one."""
    return (<Round>prediction).begun.number if type(prediction) is Round else prediction.number


cdef tuple in_order(rows, list predictions):
    """Return rows and their predictions in the order in which these were made."""
    numbers = np.empty(len(predictions), dtype=np.int64)
    cdef int64_t[::1] number = numbers
    cdef Py_ssize_t i
    cdef bint sorted_ = True
    for i in range(len(predictions)):
        number[i] = number_of(predictions[i])
        sorted_ = sorted_ and (i == 0 or number[i - 1] < number[i])
    if sorted_:
        return rows, predictions
    order = np.argsort(numbers)
    return rows[order], [predictions[i] for i in order.tolist()]


def checked_ids(list ids not None):
    """Return ids that can be saved, or name the first that cannot."""
    cdef Py_ssize_t i
    cdef list names = []
    for i in range(len(ids)):
        try:
            names.append(checked(ids[i]))
        except ValueError as error:
            raise ValueError(f"{error} at position {i}") from None
    return names


cdef class Waiting:
    """The predictions whose outcomes are still to come, and the last ids that are done with.

    `named` holds the predictions by id, `finished` the last outcomes that came, and `gone` the
    last ids that expired; each is in order of time, and none holds more than `capacity`. A
    finished id is remembered with its outcome, so that one that comes twice is counted once. When
    one more would wait than may, the oldest expires, or the new one is refused if `refuse`.
    `times` says when predictions were made that came with a time. Beside them, one prediction
    without an id may wait, until the next such one replaces it.

    A step with an id takes several calls; the lock keeps those of two threads apart.
    """

    def __init__(self, capacity, refuse=False):
        self.capacity = capacity
        self.refuse = refuse
        self.lock = forkable_lock()
        self.acquire, self.release = self.lock.acquire, self.lock.release
        self.named = {}
        self.finished = {}
        self.gone = OrderedDict()
        self.times = {}
        self.oldest, self.ring = [], []

    def load(self, named, finished, gone, times):
        """Take over what waits, what is finished, what expired, and the times."""
        self.named, self.finished, self.times = dict(named), dict(finished), dict(times)
        self.gone, self.ring = OrderedDict.fromkeys(gone), list(self.finished)

    def __len__(self):
        return len(self.named) + (self.unnamed is not None)

    # -- one prediction -------------------------------------------------------------------------

    def open(self, id_, at, begin, *given):
        """Return ``begin(*given)``, a prediction that waits from now on, by id if it has one."""
        if id_ is None:
            with self.lock:
                self.unnamed = prediction = begin(*given)
            return prediction
        name = checked(id_)
        with self.lock:
            self.check_new(name)
            prediction = begin(*given)
            self.keep(name, prediction, at)
        return prediction

    cdef int check_new(self, object name) except -1:
        """Refuse an id that is taken, or one too many."""
        if name in self.named:
            raise ValueError(f"id {name!r} was predicted already and waits for its outcome")
        if name in self.finished:
            raise ValueError(f"id {name!r} was predicted already and had its outcome")
        if self.refuse:
            self.check_room(1)
        return 0

    cdef int check_room(self, Py_ssize_t more) except -1:
        if len(self.named) + more > self.capacity:
            raise ValueError(
                f"{len(self.named):,} predictions wait for their outcomes, and {more:,} more are "
                f"more than capacity={self.capacity} allows; expire(older_than=...) gives up old "
                "ones, and full='expire' does so by itself"
            )
        return 0

    cdef int keep(self, object name, object prediction, object at) except -1:
        if len(self.named) >= self.capacity:
            self.give_up(self.oldest_name())
        self.named[name] = prediction
        if at is not None:
            self.times[name] = at
        if self.gone:
            self.gone.pop(name, None)  # an expired id may be used again
        return 0

    def answer(self, id_, double outcome, learn, labels=None):
        """Call `learn` with the prediction that an outcome is for, unless it did so before.

        If outcomes are the numbers of classes, `labels` names these.
        """
        if id_ is None:
            with self.lock:
                if self.unnamed is None:
                    raise ValueError(
                        "update() without an id answers the last predict() without one, "
                        "and none waits for its outcome"
                    )
                learn(self.unnamed, outcome)
                self.unnamed = None
            return
        name = checked(id_)
        with self.lock:
            prediction = self.named.get(name)
            if prediction is None:
                self.check_repeat(name, outcome, labels)
                return
            learn(prediction, outcome)
            self.finish(name, outcome)

    cdef int check_repeat(self, object name, double outcome, object labels) except -1:
        """Refuse an id that is unknown, or that had another outcome."""
        if name in self.gone:
            raise ValueError(f"id {name!r} expired: its outcome comes too late to be learned")
        if name not in self.finished:
            raise ValueError(
                f"id {name!r} is unknown: never predicted, or done with more than "
                f"{self.capacity} ids ago"
            )
        before = self.finished[name]
        if before != outcome:
            first, second = (labels[int(y)] if labels else y for y in (before, outcome))
            raise ValueError(f"id {name!r} had the outcome {first!r}, and now gets {second!r}")
        return 0

    cdef int finish(self, object name, double outcome) except -1:
        del self.named[name]
        if self.times:
            self.times.pop(name, None)
        self.add_finished(name, outcome)
        return 0

    cdef int add_finished(self, object name, double outcome) except -1:
        # Most outcomes are 0 or 1, and two objects can stand for all of these.
        self.finished[name] = ZERO if outcome == 0.0 else ONE if outcome == 1.0 else outcome
        if len(self.ring) < self.capacity:
            self.ring.append(name)
            return 0
        del self.finished[self.ring[self.turn]]
        self.ring[self.turn] = name
        self.turn = (self.turn + 1) % self.capacity
        return 0

    # -- many -----------------------------------------------------------------------------------

    def check_new_ids(self, list names not None):
        """Refuse ids of new predictions that are taken, or too many; name the first."""
        cdef Py_ssize_t i
        cdef dict first = {}
        cdef bint is_new = len(set(names)) == len(names)
        for i in range(len(names)):
            if names[i] in self.named or names[i] in self.finished:
                is_new = False
                break
        if not is_new:
            for i, name in enumerate(names):
                if name in first:
                    raise ValueError(f"id {name!r} comes at positions {first[name]} and {i}")
                first[name] = i
                try:
                    self.check_new(name)
                except ValueError as error:
                    raise ValueError(f"{error} (position {i})") from None
        if self.refuse:
            self.check_room(len(names))

    def keep_many(self, list names not None, predictions, times=None):
        """Let predictions with the ids of `check_new_ids` wait; the oldest may expire."""
        cdef Py_ssize_t i
        cdef list kept = list(predictions)
        for i in range(len(names)):
            self.keep(names[i], kept[i], None if times is None else times[i])

    def judge(self, list names not None, const double[::1] outcomes):
        """Return what is to become of outcomes that came together, whatever their order.

        Also the rows to be applied, and their predictions, what was predicted first first. An id
        that contradicts itself has no outcome yet: all its rows are in conflict.
        """
        cdef Py_ssize_t i
        answers = np.empty(len(names), dtype=np.uint8)
        cdef unsigned char[::1] answer = answers
        cdef dict rows = {}     # the first row of each id that waits
        cdef set torn = set()   # ids that contradict themselves
        cdef list predictions = []
        cdef Py_ssize_t before
        for i in range(len(names)):
            name = names[i]
            prediction = self.named.get(name)
            if prediction is not None:
                before = rows.setdefault(name, i)
                answer[i] = _APPLIED if before == i else _REPEATED
                if before == i:
                    predictions.append(prediction)
                elif outcomes[before] != outcomes[i]:
                    torn.add(name)
            elif name in self.finished:
                answer[i] = _REPEATED if self.finished[name] == outcomes[i] else _CONFLICT
            else:
                answer[i] = _EXPIRED if name in self.gone else _UNKNOWN
        if torn:
            for i in range(len(names)):
                if names[i] in torn:
                    answer[i] = _CONFLICT
            predictions = [self.named[name] for name in rows if name not in torn]
        return answers, *in_order(np.flatnonzero(answers == _APPLIED), predictions)

    def finish_many(self, list names not None, list outcomes not None):
        """Let these ids, which waited, be finished in this order."""
        cdef Py_ssize_t i
        for i in range(len(names)):
            self.finish(names[i], outcomes[i])

    def remember(self, list names not None, list outcomes not None):
        """Remember ids that never waited as finished, in this order."""
        cdef Py_ssize_t i
        for i in range(len(names)):
            self.add_finished(names[i], outcomes[i])

    # -- expiry ---------------------------------------------------------------------------------

    cdef object oldest_name(self):
        """Return the id that has waited longest.

        A dict forgets slowly where its first items were, so they are not looked for each time.
        """
        while True:
            if not self.oldest:
                self.oldest = list(islice(self.named.items(), self.capacity // 16 + 1))[::-1]
            name, prediction = self.oldest.pop()
            if self.named.get(name) is prediction:
                return name

    cdef int give_up(self, object name) except -1:
        del self.named[name]
        if self.times:
            self.times.pop(name, None)
        self.gone[name] = None
        self.expired += 1
        if len(self.gone) > self.capacity:
            self.gone.popitem(False)
        return 0

    def expire(self, int64_t before):
        """Give up the predictions with a number below `before`; return their ids."""
        cdef list old = []
        for name, prediction in self.named.items():
            if prediction.number >= before:
                break
            old.append(name)
        for name in old:
            self.give_up(name)
        return old

    def expire_before(self, double time):
        """Give up the predictions made before this time; return their ids."""
        cdef list old = [name for name in self.named if self.times.get(name, time) < time]
        for name in old:
            self.give_up(name)
        return old
