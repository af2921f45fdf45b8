"""Predictions that wait for their outcomes, by id: compiled, because every step comes by here."""

from collections import OrderedDict

from libc.stdint cimport int64_t

import numpy as np

from calibrant._checks import check_id
from calibrant._kernels.forking import forkable_lock
from calibrant._kernels.score_rounds cimport Round

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


def checked_ids(list ids not None):
    """Return a list of ids, each made one that can be saved, or name the first that cannot."""
    cdef Py_ssize_t i
    for i in range(len(ids)):
        if type(ids[i]) is not str:
            try:
                ids[i] = checked(ids[i])
            except ValueError as error:
                raise ValueError(f"{error} at position {i}") from None
    return ids


cdef tuple in_order(rows, list predictions):
    """Return rows and their predictions in the order in which these were made.

    Also whether each prediction comes once.
    """
    numbers = np.empty(len(predictions), dtype=np.int64)
    cdef int64_t[::1] number = numbers
    cdef Py_ssize_t i
    cdef bint is_rising = True
    for i in range(len(predictions)):
        number[i] = number_of(predictions[i])
        is_rising = is_rising and (i == 0 or number[i - 1] < number[i])
    if is_rising:
        return rows, predictions, True
    order = np.argsort(numbers, kind="stable")
    is_once = bool(np.diff(numbers[order]).all())
    return rows[order], [predictions[i] for i in order.tolist()], is_once


cdef list once_each(
    list predictions, const Py_ssize_t[::1] row, const double[::1] outcomes,
    unsigned char[::1] answer,
):
    """Return which of the rows are to be applied, where the rows of a prediction stand together.

    If they agree, the first is applied and the others repeat it.
    """
    cdef list once = []
    cdef Py_ssize_t i, start = 0, stop = 0
    cdef bint agree
    while start < len(predictions):
        agree = True
        while stop < len(predictions) and predictions[stop] is predictions[start]:
            agree = agree and outcomes[row[stop]] == outcomes[row[start]]
            stop += 1
        for i in range(start, stop):
            answer[row[i]] = _REPEATED if agree else _CONFLICT
        if agree:
            answer[row[start]] = _APPLIED
            once.append(start)
        start = stop
    return once


cdef class Waiting:
    """The predictions whose outcomes are still to come, and the last ids that are done with.

    `known` holds the predictions that wait, by id, and in the same place the outcome, a float, once
    it came: an id needs one look, and an outcome that comes twice is counted once. Predictions
    stand there in the order in which they were made. `gone` holds the last ids that expired. At
    most `capacity` ids wait, are finished, are gone. When one more would wait than may, the oldest
    expires, or the new one is refused if `refuse`. `times` says when predictions were made that
    came with a time. Beside them, one prediction without an id may wait, until the next such one
    replaces it.

    One key of `known` is no id. A dict of nothing but strings does not keep their hashes, and looks
    them up in the strings, all over the memory; this takes a third longer.

    A step with an id takes several calls; the lock keeps those of two threads apart.
    """

    def __init__(self, capacity, refuse=False):
        self.capacity = capacity
        self.refuse = refuse
        self.lock = forkable_lock()
        self.acquire, self.release = self.lock.acquire, self.lock.release
        self.known = {None: ZERO}
        self.gone = OrderedDict()
        self.times = {}
        self.oldest, self.ring = [], []

    def load(self, named, finished, gone, times):
        """Take over what waits, what is finished, what expired, and the times."""
        self.known, self.waiting = {None: ZERO, **finished, **named}, len(named)
        self.ring, self.turn, self.oldest = list(finished), 0, []
        self.gone, self.times = OrderedDict.fromkeys(gone), dict(times)

    def __len__(self):
        return self.waiting + (self.unnamed is not None)

    @property
    def named(self):
        """The predictions that wait, by id, in the order in which they were made."""
        return {name: each for name, each in self.known.items() if type(each) is not float}

    @property
    def finished(self):
        """The last outcomes that came, by id, the oldest first."""
        ring = self.ring[self.turn :] + self.ring[: self.turn]
        return {name: self.known[name] for name in ring}

    def prediction_of(self, name):
        """Return the prediction that waits under an id, None if none does."""
        found = self.known.get(name)
        return None if type(found) is float else found

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
        found = self.known.get(name)
        if found is not None:
            end = "had its outcome" if type(found) is float else "waits for its outcome"
            raise ValueError(f"id {name!r} was predicted already and {end}")
        if self.refuse:
            self.check_room(1)
        return 0

    cdef int check_room(self, Py_ssize_t more) except -1:
        if self.waiting + more > self.capacity:
            raise ValueError(
                f"{self.waiting:,} predictions wait for their outcomes, and {more:,} more are "
                f"more than capacity={self.capacity} allows; expire(older_than=...) gives up old "
                "ones, and full='expire' does so by itself"
            )
        return 0

    cdef int keep(self, object name, object prediction, object at) except -1:
        if self.gone:
            self.gone.pop(name, None)  # an expired id may be used again
        if self.waiting >= self.capacity:
            self.give_up(self.oldest_name())
        self.known[name] = prediction
        self.waiting += 1
        if at is not None:
            self.times[name] = at
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
            self.learn(name, outcome, learn, labels)

    def learn(self, name, double outcome, learn, labels=None):
        """Do what `answer` does, for a caller that has checked the id and holds the lock."""
        found = self.known.get(name)
        if found is None or type(found) is float:
            self.check_repeat(name, outcome, labels)
            return
        learn(found, outcome)
        self.finish(name, outcome)

    cdef int check_repeat(self, object name, double outcome, object labels) except -1:
        """Refuse an id that is unknown, or that had another outcome."""
        if name in self.gone:
            raise ValueError(f"id {name!r} expired: its outcome comes too late to be learned")
        before = self.known.get(name)
        if before is None:
            raise ValueError(
                f"id {name!r} is unknown: never predicted, or done with more than "
                f"{self.capacity} ids ago"
            )
        if before != outcome:
            first, second = (labels[int(y)] if labels else y for y in (before, outcome))
            raise ValueError(f"id {name!r} had the outcome {first!r}, and now gets {second!r}")
        return 0

    cdef int finish(self, object name, double outcome) except -1:
        self.waiting -= 1
        if self.times:
            self.times.pop(name, None)
        self.add_finished(name, outcome)
        return 0

    cdef int add_finished(self, object name, double outcome) except -1:
        # Most outcomes are 0 or 1, and two objects can stand for all of these.
        self.known[name] = ZERO if outcome == 0.0 else ONE if outcome == 1.0 else outcome
        if len(self.ring) < self.capacity:
            self.ring.append(name)
            return 0
        del self.known[self.ring[self.turn]]
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
            if names[i] in self.known:
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

    def keep_many(self, list names not None, list predictions not None, times=None):
        """Let predictions wait by these ids, or refuse them all; the oldest may expire."""
        cdef Py_ssize_t i, kept = 0, size = len(names)
        if self.refuse:
            self.check_new_ids(names)
        try:
            for i in range(size):
                if self.known.setdefault(names[i], predictions[i]) is not predictions[i]:
                    break  # it is taken
                kept += 1
        finally:
            if kept < size:
                for i in range(kept):
                    del self.known[names[i]]
        if kept < size:
            self.check_new_ids(names)  # says which is taken
        self.waiting += size
        if times is not None:
            self.times.update(zip(names, times))
        if self.gone:
            for name in names:
                self.gone.pop(name, None)
        while self.waiting > self.capacity:
            self.give_up(self.oldest_name())

    def judge(self, list names not None, const double[::1] outcomes):
        """Return what is to become of outcomes that came together, whatever their order.

        Also the rows to be applied, and their predictions, what was predicted first first. An id
        that contradicts itself has no outcome yet: all its rows are in conflict.
        """
        cdef Py_ssize_t i, count = 0
        answers, rows = np.empty(len(names), dtype=np.uint8), np.empty(len(names), dtype=np.intp)
        cdef unsigned char[::1] answer = answers
        cdef Py_ssize_t[::1] row = rows
        cdef list predictions = []
        for i in range(len(names)):
            found = self.known.get(names[i])
            if found is None:
                answer[i] = _EXPIRED if names[i] in self.gone else _UNKNOWN
            elif type(found) is float:
                answer[i] = _REPEATED if <double>found == outcomes[i] else _CONFLICT
            else:
                answer[i], row[count] = _APPLIED, i
                predictions.append(found)
                count += 1
        rows, predictions, is_once = in_order(rows[:count], predictions)
        if not is_once:
            once = once_each(predictions, rows, outcomes, answer)
            rows, predictions = rows[once], [predictions[i] for i in once]
        return answers, rows, predictions

    def finish_many(
        self, list names not None, const double[::1] outcomes, const Py_ssize_t[::1] rows
    ):
        """Let the ids of these rows, which waited, be finished in this order."""
        cdef Py_ssize_t i
        for i in range(rows.shape[0]):
            self.finish(names[rows[i]], outcomes[rows[i]])

    def remember(self, list names not None, const double[::1] outcomes):
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
                for name, found in self.known.items():
                    if type(found) is not float:
                        self.oldest.append((name, found))
                        if len(self.oldest) > self.capacity // 16:
                            break
                self.oldest.reverse()
            name, found = self.oldest.pop()
            if self.known.get(name) is found:
                return name

    cdef int give_up(self, object name) except -1:
        prediction = self.known.pop(name)
        self.waiting -= 1
        if self.times:
            self.times.pop(name, None)
        self.gone[name] = None
        self.expired += 1
        if self.on_expiry is not None:
            self.on_expiry(prediction)
        if len(self.gone) > self.capacity:
            self.gone.popitem(False)
        return 0

    def expire(self, int64_t before):
        """Give up the predictions with a number below `before`; return their ids."""
        cdef list old = []
        for name, found in self.known.items():
            if type(found) is not float:
                if found.number >= before:
                    break
                old.append(name)
        for name in old:
            self.give_up(name)
        return old

    def expire_before(self, double time):
        """Give up the predictions made before this time; return their ids."""
        cdef list old = [name for name, made in self.times.items() if made < time]
        for name in old:
            self.give_up(name)
        return old
