"""The pending rounds, by id."""

from libc.stdint cimport int64_t

from calibrant._kernels.rounds.agenda cimport Agenda, Event
from calibrant._kernels.rounds.round cimport Round
from calibrant._kernels.rounds.rule cimport Rule

# What becomes of an outcome, and of a row that is played.
cdef enum:
    APPLIED
    REPEATED
    CONFLICT
    UNKNOWN
    EXPIRED
    PREDICTED
    USED


cdef class Book:
    cdef readonly Rule rule
    cdef readonly object policy
    cdef public object watcher            # sees what is predicted and what is settled, if not None
    cdef readonly object lock
    cdef object acquire, release          # the lock's methods, looked up once

    cdef public Py_ssize_t capacity
    cdef readonly bint refuse
    cdef public Py_ssize_t remember       # how many finished ids are remembered
    cdef readonly bint has_deadlines
    cdef readonly double silence          # the outcome that silence means; NaN for none
    cdef double span                      # from a prediction to its deadline; NaN if rows say so
    cdef public double patience           # how long after its prediction an outcome counts

    cdef readonly dict known              # by key: the round that waits, or the outcome it had
    cdef Py_ssize_t named                 # how many of them wait under an id
    cdef Py_ssize_t nameless              # and how many under none
    cdef readonly object gone             # the last ids that expired
    cdef list oldest                      # some of the oldest ids that wait, the very oldest last
    cdef list ring                        # the ids that are finished, each replaced in its turn
    cdef Py_ssize_t turn
    cdef public Round unnamed             # the round that the next update without an id answers
    cdef public int64_t expired           # how many expired so far
    cdef public double weighed            # the sum of the weights of outcomes, once one had a weight,
    cdef public double weighings          # and how many these are; -1 until then

    cdef bint is_grouped                  # was any round in a group?

    cdef public double now                # the latest time heard of
    cdef public object is_timed           # do predictions say when they are made? None: not known
    cdef readonly Agenda deadlines
    cdef readonly Agenda arrivals         # outcomes that become known later
    cdef readonly object late             # how many of these repeat silence or contradict it
    cdef readonly list settled            # keys and rounds that are settled; None if nobody asks
    cdef bint want_smooth
    cdef list unseen                      # of a table: rounds and outcomes the watcher has not seen
    cdef double *record                   # of a table: takes the outcomes that are settled,
    cdef int64_t first, recorded          # of so many rounds, beginning with this number

    cdef bint is_overtaken(self, Round r) except -1
    cdef bint is_held(self, object by) noexcept
    cdef bint is_coming(self, const Event *event) except -1
    cdef int check_new(self, object name) except -1
    cpdef int check_room(self, Py_ssize_t more, double now) except -1
    cdef int claim(self, list names, list rounds) except -1
    cdef int keep(self, object name, Round r) except -1
    cdef int hold(self, object key, Round r, double due) except -1
    cdef int after_opening(self) except -1
    cdef int finish(self, object key, double outcome) except -1
    cdef int show_opened(self, list rounds) except -1
    cdef bint is_seen(self) noexcept
    cdef int tell(self, object key, Round r, double outcome) except -1
    cdef int add_finished(self, object name, double outcome) except -1
    cdef object oldest_name(self)
    cdef int give_up(self, object name) except -1
    cdef int lose(self, Round r) except -1
    cdef int settle(self, double now, bint strictly) except -1
    cdef int count_late(self, double outcome, double known) except -1
    cdef int pass_to(self, double now, bint strictly) except -1
    cdef int learn(self, list keys, list rounds, outcomes, order) except -1
    cdef int learn_one(self, object key, Round r, double outcome) except -1
    cdef int start_weighing(self) except -1
    cdef double beside_mean(self, double weight) except -1.0
    cdef int weigh(self, Round r, double weight) except -1
    cdef int learn_weighed(self, object key, Round r, double outcome, double weight) except -1
    cdef int show_unseen(self) except -1
    cdef int play_rows(
        self, columns, by, list names, const double[::1] outcomes, const double[::1] made,
        const double[::1] known, const double[::1] dues, const unsigned char[::1] observes,
        double[:, ::1] told, unsigned char[::1] answers, list opened, const double[::1] weights,
    ) except -1
    cdef tuple note(
        self, list names, const double[::1] outcomes, rows, list rounds, const double[::1] weights
    )
    cdef int take(self, object key, Round r, double outcome, double weight) except -1
    cdef Py_ssize_t ready_by(self, double now) except -1
    cdef bint is_forgotten_by(self, object name, double now) except -1
    cdef int peek(
        self, object name, object found, double outcome, double at, double said
    ) except -1
    cdef Round open_one(self, object row, object name, object by, double made, double due)
    cpdef int forget_unnamed(self) except -1
    cpdef int observe_one(
        self, object name, double outcome, double at, int most, double weight=*
    ) except -1
    cpdef str update(self, object name, double outcome, double at, double weight=*)
    cdef object refusal(self, object name, double y, int answer)


cdef object checked(object id_)
