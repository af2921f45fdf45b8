from calibrant._kernels.scores.pending cimport PendingKernel
from calibrant._kernels.rounds.rule cimport Rule
from calibrant._kernels.scores.score_rounds cimport ScoreRound
from calibrant._kernels.scores.scoring cimport ScoringKernel


cdef class ScoreRule(Rule):
    cdef readonly ScoringKernel whole
    cdef readonly object groups           # what rows with a group pass through; None without
    cdef readonly PendingKernel silence   # what silence says; None if nothing
