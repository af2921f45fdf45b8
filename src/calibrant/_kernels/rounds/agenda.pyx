"""Coming events of rounds, by time: a heap whose only Python objects are the keys of rounds.

The entry of a finished round stays until its time: the caller that pops it checks whether the book
still has this round under the key.
"""

from cpython.object cimport PyObject
from cpython.ref cimport Py_DECREF, Py_INCREF
from libc.stdint cimport int64_t
from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memcpy


cdef inline bint is_before(const Event *a, const Event *b) noexcept:
    return a.when < b.when or (a.when == b.when and a.number < b.number)


cdef class Agenda:
    """Events by time, and by the number of their round where times are equal."""

    def __dealloc__(self):
        self.clear()
        free(self.events)

    cdef void clear(self):
        while self.count:
            self.count -= 1
            Py_DECREF(<object>self.events[self.count].key)

    cdef Agenda copy(self):
        cdef Agenda other = Agenda.__new__(Agenda)
        cdef Py_ssize_t i
        if self.count:
            other.events = <Event *>malloc(self.count * sizeof(Event))
            if other.events == NULL:
                raise MemoryError
            memcpy(other.events, self.events, self.count * sizeof(Event))
            other.count = other.room = self.count
            for i in range(self.count):
                Py_INCREF(<object>self.events[i].key)
        return other

    cdef int push(self, double when, int64_t number, double outcome, object key) except -1:
        cdef Event new
        cdef Py_ssize_t at, above, room
        cdef void *grown
        if self.count == self.room:
            room = 2 * self.room + 16
            grown = realloc(self.events, room * sizeof(Event))
            if grown == NULL:
                raise MemoryError
            self.events, self.room = <Event *>grown, room
        new.when, new.number, new.outcome, new.key = when, number, outcome, <PyObject *>key
        Py_INCREF(key)
        at = self.count
        self.count += 1
        while at:
            above = (at - 1) // 2
            if not is_before(&new, &self.events[above]):
                break
            self.events[at] = self.events[above]
            at = above
        self.events[at] = new
        return 0

    cdef bint is_over(self, double now, bint strictly) noexcept:
        """Whether the first event is before `now`, or at it if that counts too."""
        if not self.count:
            return False
        return self.events[0].when < now or (self.events[0].when == now and not strictly)

    cdef object pop(self, Event *first):
        """Take out the first event; return its key."""
        cdef Event last
        cdef Py_ssize_t at = 0, below
        first[0] = self.events[0]
        key = <object>first.key
        Py_DECREF(key)                # the agenda's own reference: `key` holds another
        self.count -= 1
        if self.count:
            last = self.events[self.count]
            while True:
                below = 2 * at + 1
                if below >= self.count:
                    break
                if below + 1 < self.count and is_before(
                    &self.events[below + 1], &self.events[below]
                ):
                    below += 1
                if not is_before(&self.events[below], &last):
                    break
                self.events[at] = self.events[below]
                at = below
            self.events[at] = last
        return key

    def __len__(self):
        return self.count
