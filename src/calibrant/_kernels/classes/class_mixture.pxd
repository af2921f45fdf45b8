"""A mixture of vectors of probabilities: the sharp stage for several classes."""

from libc.stdint cimport int64_t

from calibrant._kernels.scores.batches cimport BatchState

cdef enum:
    FEATURES = 13             # of the pools
    EXPERTS = 15
    BIASED = 4                # experts with biases of their own
    BASES = 3                 # base rates
    FIRST_BASE = 7            # where they begin
    LINEAR = 7                # experts that have a temperature, or are the scores
    CONTEXTS = 2              # the top class of the scores, and the class learned last
    POOLS = 2
    LARGEST_MATRIX = 32       # classes of a whole matrix; of more, it is a diagonal
    SQUARE = FEATURES * FEATURES
    TRIANGLE = FEATURES * (FEATURES + 1) // 2


# What is learned, but for vectors. Nothing but doubles, in the order of `MIXTURE_PARTS`.
cdef struct Learned:
    double[EXPERTS] w         # weights by Bayes' rule
    double[EXPERTS] v         # weights by online EM
    double[LINEAR] slope      # temperatures, as factors of the logarithms
    double[LINEAR] known      # and how well each is known
    double[BASES] count       # labels that base rates rest on
    double[POOLS * FEATURES] pooled    # coefficients of the pools
    double[POOLS * TRIANGLE] hessian   # of these, the lower triangles
    double trust              # in w rather than v
    double escaped            # by how much base rates were needed,
    double escapes            # of so many rounds
    double late               # how many predictions are made before a label comes
    double least              # the least score above 0 so far


# What is kept of a round until its label comes.
cdef struct Predicted:
    int64_t begun             # rounds begun before it
    int64_t learned           # labels learned before it
    int K                     # classes there were
    int top                   # the likeliest by the scores
    int last                  # the class learned last, -1 if none
    bint has_zeros            # was any score 0?
    bint is_whole             # are features and what each expert predicted kept?
    float zero                # logarithms up to this stand for a score of 0
    double[EXPERTS] w
    double[EXPERTS] v
    float *x                  # logarithms of the scores
    float *q                  # the mixture
    float *P                  # what each expert predicted
    float *f[FEATURES]       # features of the pools


# What is fixed of an expert.
cdef struct Traits:
    double keep               # what is left of the past after a label
    double sd                 # of the prior of biases
    double pooled             # where the coefficient of the feature of the same number starts


cdef Traits of_expert(int i) noexcept nogil
cdef double lateness_power(double late) noexcept nogil
cdef double power(double p, double exponent) noexcept nogil
cdef void invert(const double *H, float *inverse) noexcept nogil


cdef class ClassMixture:
    cdef readonly int K
    cdef readonly int64_t begun
    cdef readonly int64_t learned
    cdef int last
    cdef Learned state
    cdef BatchState batches
    cdef float[POOLS * SQUARE] inverse    # of the pools' Hessians
    cdef double[EXPERTS] prior
    cdef float *bias[BIASED]
    cdef float *bias_known[BIASED]
    cdef float *base[BASES]
    cdef float *rows[CONTEXTS]           # biases of each context
    cdef float *rows_known[CONTEXTS]
    cdef int *row_of[CONTEXTS]           # by the class of the context plus 1; 0 is shared
    cdef int[CONTEXTS] used               # rows in use
    cdef int[CONTEXTS] room
    cdef float *matrix                    # W; of many classes its diagonal and constants
    cdef float *gain                      # G; of many classes the precisions of these
    cdef float *scratch                   # the vectors below
    cdef Predicted live                   # a round that nobody keeps
    cdef float *z
    cdef float *centre                    # of the matrix: (x - mean x, 1)
    cdef float *turned                    # and G times that
    cdef float *now                       # what each expert says now of an older round

    cdef Py_ssize_t whole_size(self) noexcept nogil
    cdef Py_ssize_t matrix_size(self) noexcept nogil
    cdef Py_ssize_t gain_size(self) noexcept nogil
    cdef void keep_in(self, Predicted *r, float *block, bint is_whole) noexcept nogil
    cdef void look(self, const float *s, Predicted *r, double *least) noexcept nogil
    cdef void begin(self, const float *s, Predicted *r) noexcept nogil
    cdef void tell(self, Predicted *r) noexcept nogil
    cdef void say(self, const Predicted *r, float *P) noexcept nogil
    cdef void logits(self, const Predicted *r, float *P) noexcept nogil
    cdef void normalise(self, float *P) noexcept nogil
    cdef void turn(self, const float *x, float *p) noexcept nogil
    cdef void say_matrix(self, const float *x, float *p) noexcept nogil
    cdef void describe(self, Predicted *r) noexcept nogil
    cdef void pool(self, const Predicted *r, float *P) noexcept nogil
    cdef void mix(self, const Predicted *r, const float *P, float *q) noexcept nogil
    cdef int learn(self, Predicted *r, int y, double weight) except -1
    cdef void weigh(self, const Predicted *r, int y, double weight) noexcept nogil
    cdef void learn_pools(
        self, const Predicted *r, const float *P, int y, double weight
    ) noexcept nogil
    cdef void features_covariance(
        self, const float *pools, const Predicted *r, float *mean, float *other, float *S
    ) noexcept nogil
    cdef int learn_linear(self, const Predicted *r, const float *P, int y, double weight) except -1
    cdef double prior_of(self, int i, int64_t labels) noexcept nogil
    cdef const float *home(self, int i) noexcept nogil
    cdef void centre_on(self, const float *x) noexcept nogil
    cdef void learn_matrix(self, const float *x, const float *p, int y, double weight) noexcept nogil
    cdef int visit(self, int which, int context) except -1
    cdef int reshape(self, int K) except -1
    cdef int make_rows(self, int which, int room) except -1
