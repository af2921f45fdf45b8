from libc.stdint cimport int64_t

from calibrant._kernels.scores.mixing cimport Evidence
from calibrant._kernels.scores.sharp cimport EXPERTS, SharpState

cdef enum:
    SMALLEST_BATCH = 50             # fewer outcomes are learned one after the other
    SHIFT = 0                       # kinds of surprise: of the log odds of all rows alike
    SHAPE = 1                       # and any other
    SURPRISES = 2


# How far batches of outcomes were from what the experts predicted, beyond chance.
cdef struct BatchState:
    double[EXPERTS] spread          # of each expert: |R| of the batches, faded and added up
    double batches                  # as many, faded
    double outcomes                 # and what was in them
    double prior                    # how many batches the prior still counts for


# Whether surprises last. All doubles.
cdef struct SurpriseState:
    double[SURPRISES] lasting       # how probably those of each kind do so as a rule
    double surprise                 # of the one that no batch has judged: its probability, or 0
    double shape                    # how probably it was one of shape
    double since                    # how many predictions had been made when it became known
    double[EXPERTS] if_lasts        # what the weights would be if it lasts
    double[EXPERTS] if_passes       # and if it passes


# The rows of one batch.
cdef struct Rows:
    Py_ssize_t count
    double *s                       # the score as a probability
    double *u                       # log s
    double *v                       # -log(1 - s)
    double *y                       # the outcome
    double *w                       # and its weight
    double *x                       # the logit of the score, u + v
    double *base                    # the odds of a 0 that offsets multiply; then the new means
    double least                    # no expert says less, or more than 1 - least


# How far what was predicted of a batch was from its outcomes, and what that says of the experts.
cdef struct Misses:
    int64_t earliest                # number of the first of its predictions
    int64_t now                     # predictions made so far
    double[EXPERTS] residual        # of each expert, the sum of y - p
    double[EXPERTS] variance        # and of p (1 - p)
    double missed                   # the same of the mixture's mean
    double noise
    Evidence evidence
    double keep                     # of the weights, the share that does not return to the prior
    double dispersed                # so many outcomes count for one
    double likelihood               # the logarithm of what the mixture's counts for
    double change                   # the probability that it is a surprise
    double shape                    # if it may be one, how probably one of shape
    double lasts                    # and how probably it lasts
    double lasted                   # the same of the one before, if that was not known then, or -1
    double fit_power                # to which likelihoods of known outcomes count
    double fitted                   # if there may be a change, the same of how the mixture fits now


cdef void batches_start(BatchState *state) noexcept nogil
cdef double dispersion(const BatchState *state, double size) noexcept nogil
cdef void batches_count(
    BatchState *state, const double *residual, const double *variance, double size
) noexcept nogil
cdef double changed(const BatchState *state, double squares) noexcept nogil
cdef void surprises_start(SurpriseState *state) noexcept nogil
cdef void misses_start(Misses *misses, int64_t earliest, int64_t now) noexcept nogil
cdef void misses_add(
    Misses *misses, const double *predicted, double mean, double y, double weight
) noexcept nogil
cdef int rows_start(Rows *rows, Py_ssize_t count) noexcept nogil
cdef void rows_free(Rows *rows) noexcept nogil
cdef void rows_set(Rows *rows, Py_ssize_t i, double s, double y, double weight) noexcept nogil
cdef void batch_learn(
    SharpState *state, BatchState *batches, SurpriseState *surprises, Rows *rows, Misses *misses,
    int64_t learned, bint is_revised,
) noexcept nogil
cdef double batch_level(const SharpState *state) noexcept nogil
cdef void batch_line(const SharpState *state, Rows *rows, double *line) noexcept nogil
cdef const double *batch_means(const SharpState *state, Rows *rows) noexcept nogil
