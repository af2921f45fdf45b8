from libc.stdint cimport int64_t


cdef class Waiting:
    cdef public Py_ssize_t capacity
    cdef readonly bint refuse
    cdef readonly object lock
    cdef object acquire, release        # the lock's methods, looked up once
    cdef readonly dict known            # by id: the prediction that waits, or the outcome it had
    cdef Py_ssize_t waiting             # how many of them wait
    cdef readonly object gone
    cdef readonly dict times
    cdef list oldest                    # some of the oldest that wait, the very oldest last
    cdef list ring                      # the ids that are finished, each to be replaced in its turn
    cdef Py_ssize_t turn
    cdef public object unnamed
    cdef public int64_t expired         # how many expired so far

    cdef int check_new(self, object name) except -1
    cdef int check_room(self, Py_ssize_t more) except -1
    cdef int keep(self, object name, object prediction, object at) except -1
    cdef int check_repeat(self, object name, double outcome, object labels) except -1
    cdef int finish(self, object name, double outcome) except -1
    cdef int add_finished(self, object name, double outcome) except -1
    cdef object oldest_name(self)
    cdef int give_up(self, object name) except -1


cdef object checked(object id_)
