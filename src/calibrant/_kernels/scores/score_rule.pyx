"""The rule for the scores of one event: the whole, its groups, and the model of silence."""

from libc.math cimport isfinite, isnan
from libc.stdint cimport int64_t
from libc.stdlib cimport malloc

import numpy as np

from calibrant._kernels.scores.pending cimport Awaited, PendingKernel, Wait
from calibrant._kernels.scores.pending_saving import load_awaited, save_awaited
from calibrant._kernels.scores.recalibrate import NONE_WAITS
from calibrant._kernels.rounds.round cimport Round, StagedRound, weight_of
from calibrant._kernels.rounds.rule cimport Rule
from calibrant._kernels.scores.score_rounds cimport ScoreRound, new_round
from calibrant._kernels.scores.scoring cimport ScoringKernel


cdef inline ScoreRound first_of(Round r):
    """Return what the kernel that sees every round keeps of one."""
    return <ScoreRound>(<StagedRound>r).rounds[0] if isinstance(r, StagedRound) else <ScoreRound>r


cdef class ScoreRule(Rule):
    """The rounds of one recalibrator of scores."""

    def __init__(self, ScoringKernel whole not None, groups=None, PendingKernel silence=None):
        self.whole, self.groups, self.silence = whole, groups, silence
        self.is_stepwise = self.is_weighted = self.is_compiled = True
        whole._attend(silence)
        if groups is not None:
            whole._follow(groups)

    def take_over(self, ScoreRule other not None):
        """Take over all that another rule has learned."""
        self.whole, self.groups, self.silence = other.whole, other.groups, other.silence

    @property
    def rounds(self):
        """Rounds begun so far."""
        return self.whole._rounds

    @property
    def learned(self):
        """Outcomes learned so far."""
        return self.whole._learned + self.whole.deferred

    cdef int64_t begun(self) except -1:
        return self.whole._rounds

    # -- predictions ----------------------------------------------------------------------------

    cpdef object check(self, rows, by):
        """Return scores as numbers of their own; refuse bad ones, and groups that cannot be."""
        self.whole.enter()
        rows = self.whole.as_scores(rows)
        if by is not None:
            self.groups.numbers_of(by, len(rows))
        return rows

    cpdef object check_one(self, row, by):
        """Refuse a score that is none, or a group that cannot be."""
        self.whole.enter()
        self.whole.as_score(row)
        if by is not None:
            self.groups.find(by)

    cpdef Round begin(self, row, by):
        """Predict a score, in its group if it has one."""
        cdef ScoreRound r
        if by is not None:
            return self.groups.begin(self.whole, row, by)
        self.whole.enter()
        r = new_round(self.whole._rounds)
        self.whole.begin(self.whole.as_score(row), &r.begun)
        return r

    cpdef list begin_many(self, rows, by):
        """Predict scores that were checked."""
        if by is not None:
            return self.groups.begin_many(self.whole, rows, by)
        cdef list rounds = self.blanks(len(rows))
        self.fill(rounds, rows)
        return rounds

    cdef list blanks(self, Py_ssize_t size):
        cdef Py_ssize_t i
        return [ScoreRound.__new__(ScoreRound) for i in range(size)]

    cdef int fill(self, list rounds, object rows) except -1:
        cdef const double[::1] x = rows
        cdef Py_ssize_t i
        self.whole.enter()
        for i in range(x.shape[0]):
            self.whole.begin(x[i], &(<ScoreRound>rounds[i]).begun)
        return 0

    # -- outcomes -------------------------------------------------------------------------------

    cpdef object reserve(self, Py_ssize_t outcomes):
        """Get the memory that so many outcomes may want."""
        self.whole._reserve(outcomes)

    cpdef object learn(self, list rounds, outcomes):
        """Learn outcomes that count together."""
        if self.groups is not None and self.groups.names:
            self.groups.finish_many(self.whole, rounds, outcomes)
        else:
            self.whole._finish_many(rounds, outcomes)

    cpdef object learn_one(self, Round r, double outcome):
        """Learn one outcome."""
        if isinstance(r, StagedRound):
            self.groups.finish(self.whole, r, outcome)
        elif r.is_shared:
            self.whole._finish(r, outcome)
        else:
            self.whole.enter()
            if self.whole.finish(
                &(<ScoreRound>r).begun, outcome, weight_of(r), self.whole.lateness(r.number)
            ) < 0:
                raise MemoryError

    # -- one round without an id ------------------------------------------------------------------

    cdef double step(self, object row) except? -1.0:
        cdef ScoringKernel whole = self.whole
        whole.enter()
        whole.begin(whole.as_score(row), &whole.current)
        whole.opened_as, whole._open = whole._rounds - 1, True
        return whole.current.z

    cdef int finish_step(self, double outcome, double weight) except -1:
        cdef ScoringKernel whole = self.whole
        whole.enter()
        if not whole._open:
            raise ValueError(NONE_WAITS)
        if weight != 0.0 and whole.finish(
            &whole.current, outcome, weight, whole.lateness(whole.opened_as)
        ) < 0:
            raise MemoryError
        whole._open = False
        return 0

    cdef int forget_step(self) except -1:
        self.whole.enter()
        self.whole._open = False
        return 0

    # -- silence --------------------------------------------------------------------------------

    cpdef object wait(self, Round r, double now):
        """Count a round that waits for its deadline from `now` on."""
        cdef ScoreRound first = first_of(r)
        r.story.pending = malloc(sizeof(Wait))
        if r.story.pending == NULL:
            raise MemoryError
        self.silence.begin(
            <Wait *>r.story.pending, first.begun.s, self.whole.mean_begun(&first.begun), now,
            r.story.due,
        )

    cpdef object observed(self, Round r, double now):
        """Hear of an outcome before its deadline; the silent one only fixes it."""
        if r.story.outcome != self.silence.silence:
            self.silence.hear(<Wait *>r.story.pending, now)

    cpdef object mature(self, Round r):
        """Learn, at its deadline, how early the outcome of a round was known."""
        self.silence.end(<Wait *>r.story.pending)

    cpdef object drop(self, Round r):
        """Forget a round that expired."""
        if self.silence is not None and r.is_held():
            self.silence.forget(<Wait *>r.story.pending)

    cpdef object refit(self, double now):
        """Fit what silence says, if a fit is due."""
        self.whole._refit(now)

    # -- what is told of a round -----------------------------------------------------------------

    cpdef object fill_smooth(self, list rounds):
        """Give rounds that were just begun the estimates for ranking."""
        cdef Round r
        cdef list staged = []
        for r in rounds:
            r.told().smooth = self.whole.smooth(first_of(r).begun.raw)
            if isinstance(r, StagedRound):
                staged.append(r)
        if staged:
            estimates = self.groups.smooth_in_groups(
                np.array([(<StagedRound>r).group for r in staged]),
                np.array([first_of(r).begun.raw for r in staged]),
                np.array([r.story.smooth for r in staged]),
            )
            for r, estimate in zip(staged, estimates.tolist()):
                r.story.smooth = estimate

    cpdef object group_of(self, Round r):
        """Return the name of a round's group; None without."""
        return self.groups.names[(<StagedRound>r).group] if isinstance(r, StagedRound) else None


def save_waits(list rounds not None):
    """Return what the silence model keeps of rounds that wait for their deadlines."""
    cdef Awaited each
    cdef Round r
    cdef list awaited = []
    for r in rounds:
        if r.is_held() and r.story.pending != NULL:
            each = Awaited.__new__(Awaited)
            each.wait = (<Wait *>r.story.pending)[0]
            awaited.append(each)
    return save_awaited(awaited)


def load_waits(PendingKernel silence not None, list rounds not None, places, cells, double silent):
    """Give rounds that wait for their deadlines, with this silent outcome, what was saved."""
    cdef Awaited each
    cdef Round r
    cdef list held = [r for r in rounds if r.is_held()], awaited = load_awaited(silence, places, cells)
    check_waits(
        awaited, held, [not isnan(r.story.outcome) and r.story.outcome != silent for r in held]
    )
    for r, each in zip(held, awaited):
        r.told().pending = malloc(sizeof(Wait))
        if r.story.pending == NULL:
            raise MemoryError
        (<Wait *>r.story.pending)[0] = each.wait


def check_waits(list awaited not None, list rounds not None, list announced not None):
    """Refuse what the silence model keeps of rounds if it is of others."""
    cdef Awaited each
    if len(awaited) != len(rounds):
        raise ValueError(f"saved predictions that wait for their deadlines must be {len(rounds)}")
    for each, r, is_announced in zip(awaited, rounds, announced):
        if each.wait.due != r.due or isfinite(each.wait.came) != is_announced:
            raise ValueError("a saved prediction has another deadline, or another outcome before it")
