"""The rule for several classes: rows of scores in, rows of probabilities out."""

from libc.stdint cimport int64_t

from calibrant._kernels.classes.class_mixture cimport ClassMixture, Predicted
from calibrant._kernels.rounds.round cimport Round
from calibrant._kernels.rounds.rule cimport Rule
from calibrant._kernels.scores.pending cimport PendingKernel
from calibrant._kernels.scores.score_rounds cimport ScoreRound
from calibrant._kernels.scores.scoring cimport ScoringKernel


cdef class ClassKernel:
    cdef readonly ClassMixture mixture
    cdef readonly ScoringKernel safe      # of the event that the named class is observed
    cdef readonly ScoringKernel heard     # of the event that a label is announced; None without
    cdef int silent                       # the class that is not announced
    cdef double own                       # trust of a group in its own mixture
    cdef int64_t whole                    # rounds that wait with features and estimates
    cdef int64_t waiting                  # all rounds that wait
    cdef list calls                       # labels of rounds that waited together: not learned yet
    cdef int64_t deferred                 # how many these are
    cdef float *spare                     # for the next whole round: what the last one left

    cdef int enter(self) except -1
    cdef int begin(self, ClassRound r, const float *s) except -1
    cdef const float *announced_of(self, const float *s) noexcept nogil
    cdef void tell_silence(self, float *q, double announced) noexcept nogil
    cdef int hear(self, ClassRound r, int y) except -1
    cdef void trust_own(self, ClassRound r, int y) noexcept nogil
    cdef int place(self, ClassRound r, const float *of_whole) except -1
    cdef bint is_kept_whole(self) noexcept nogil
    cdef int finish_look(self, float *q, double *sure) noexcept nogil
    cdef int learn_now(self, ClassRound r, int y) except -1
    cdef int learn(self, ClassRound r, int y) except -1
    cdef int let_go(self, ClassRound r) except -1
    cdef int catch_up(self) except -1
    cdef int widen(self, ClassRound r) except -1


cdef class ClassRound(Round):
    cdef ClassKernel kernel
    cdef ClassRound whole                 # the same round to the whole, of one in a group
    cdef ScoreRound safe
    cdef readonly ScoreRound heard        # None without silence
    cdef Predicted predicted
    cdef float *block                     # what `predicted` points at
    cdef float *mixed                     # `predicted.q`, or in a group with that of the whole
    cdef double own                       # the trust of its group then
    cdef readonly int named               # the likeliest class, whose probability is on the grid

    cdef int fill(self, double sure, double *row) except -1
    cdef object as_row(self)


cdef class ClassRule(Rule):
    cdef readonly ClassKernel whole
    cdef readonly dict groups             # the kernel of each, by name
    cdef readonly object max_groups
    cdef readonly list labels
    cdef readonly dict columns            # of each label
    cdef readonly bint grows              # may there be more labels than these?
    cdef readonly bint is_logit
    cdef readonly PendingKernel silence   # what silence says; None if nothing
    cdef object seed
    cdef float *scores                    # of the row at hand, as probabilities
    cdef double *given                    # and as they were given
    cdef Py_ssize_t room

    cdef int take(self, object row) except -1
    cdef int take_doubles(self, const double *row) except -1
    cdef ClassRound begun_in(self, object by)
    cdef ClassKernel kernel_of(self, object by)
    cdef int grow(self) except -1
