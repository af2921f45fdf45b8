from calibrant._kernels.scores.sharp cimport EXPERTS, SharpState

cdef enum:
    SMALLEST_BATCH = 50             # fewer outcomes are learned one after the other


# How far batches of outcomes were from what the experts predicted, beyond chance.
cdef struct BatchState:
    double[EXPERTS] spread          # of each expert: |R| of the batches, faded and added up
    double batches                  # as many, faded
    double outcomes                 # and what was in them
    double prior                    # how many batches the prior still counts for


# The rows of one batch.
cdef struct Rows:
    Py_ssize_t count
    double *s                       # the score as a probability
    double *u                       # log s
    double *v                       # -log(1 - s)
    double *y                       # the outcome
    double *base                    # what offsets are added to; then the new means
    double least                    # no expert says less, or more than 1 - least


cdef void batches_start(BatchState *state) noexcept nogil
cdef double dispersion(const BatchState *state, double size) noexcept nogil
cdef void batches_count(
    BatchState *state, const double *residual, const double *variance, double size
) noexcept nogil
cdef int rows_start(Rows *rows, Py_ssize_t count) noexcept nogil
cdef void rows_free(Rows *rows) noexcept nogil
cdef double changed(double surprise) noexcept nogil
cdef void batch_fit(SharpState *state, const Rows *rows) noexcept nogil
cdef double batch_keep(double keep) noexcept nogil
cdef double batch_level(const SharpState *state) noexcept nogil
cdef double batch_weigh(
    SharpState *state, const Rows *rows, const double *losses, double dispersed, double before,
    double change, double keep,
) noexcept nogil
cdef const double *batch_means(SharpState *state, const Rows *rows) noexcept nogil
