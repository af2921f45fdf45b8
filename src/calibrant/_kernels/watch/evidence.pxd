"""The evidence of a monitor about the calibration of its predictions."""

from libc.stdint cimport int32_t, int64_t, uint32_t

cdef enum:
    LEVELS = 5
    RANGES = 16                  # of the finest level
    CELLS = 31                   # of all levels: the halves of cell i are 2i + 1 and 2i + 2
    STEPS = 4                    # tilts a direction
    TILTS = 8
    SLOPES = 4
    SLOPES_AT = CELLS            # places of the slopes and of the first group among all pots
    GROUPS_AT = CELLS + 1
    DATINGS = 4
    # The first of the tilts that date an onset: two upwards, two downwards. Smaller ones start too
    # early, larger ones miss a small bias.
    DATING = 1
    SKETCH = 40                  # bins of past predictions, even in the logit

cdef struct Cell:
    float M[TILTS]               # the bets: first upwards, then downwards
    # CUSUMs of two tilts in each direction, as likelihood ratios, and the rounds they started in.
    float W[DATINGS]
    uint32_t start[DATINGS]
    # Sum of y - p and visits since the start of the first CUSUM in each direction.
    float S[2]
    uint32_t n[2]

cdef struct Range:               # what a range saw since the evidence started anew
    double n
    double predicted             # sum of p
    double happened              # sum of y
    double V                     # sum of (y - p - the mean of that before)^2
    double spread                # sum of p (1 - p)
    # Where rounds wait, they are summed in blocks, of which two are not over: those with an even
    # number and those with an odd one.
    double most                  # rounds of the largest block so far; 0 where nothing waited
    double blocks                # sum over blocks of (the sum of y - p - guess)^2, as far as over
    double count[2]              # rounds of the blocks that are not over,
    double total[2]              # their sums of y - p - guess,
    double guess[2]              # and the mean of y - p when they began

cdef struct Evidence:
    double R
    double tolerance
    float slopes[SLOPES]         # M of the bets on the slope
    double edges[RANGES + 1]     # of the ranges
    Cell cells[CELLS]
    Range ranges[RANGES]
    int32_t sketch[SKETCH]       # where the predictions lay
    int64_t sketched             # how many of them it counts

cdef struct Bets:                # what a round does to each bet
    float e[TILTS]
    float slopes[SLOPES]

cdef double SLOPE_WEIGHT
cdef double TINY
cdef double GROUP_WEIGHT

cdef double tilt_weight(Py_ssize_t i) noexcept nogil
cdef void evidence_start(Evidence *v, double tolerance) noexcept nogil
cdef void evidence_restart(Evidence *v, bint is_late) noexcept nogil
cdef Py_ssize_t range_of(const Evidence *v, double p) noexcept nogil
cdef double granted(double alpha, int64_t rounds) noexcept nogil
cdef float bet(float b, float r, float rest, float y, float no) noexcept nogil
cdef Bets bets_of(double tolerance, double p, double y) noexcept nogil
cdef void play(
    Evidence *v, Cell *group, const Bets *bets, Py_ssize_t r, double x, double add, uint32_t t,
) noexcept nogil
cdef void play_in_group(
    Cell *group, const Bets *bets, double x, double add, uint32_t t
) noexcept nogil
cdef void date_onset(Cell *cell, const float *e, double x, uint32_t t) noexcept nogil
cdef void count_outcome(Evidence *v, Py_ssize_t r, double p, double y) noexcept nogil
cdef void count_in_block(Evidence *v, Py_ssize_t r, double p, double y, int lane) noexcept nogil
cdef void begin_block(Evidence *v, int lane) noexcept nogil
cdef void begin_blocks(Evidence *v) noexcept nogil
cdef bint count_prediction(Evidence *v, double p, int64_t t) noexcept nogil
cdef bint settle_ranges(Evidence *v, bint is_late) noexcept nogil
cdef float sum_of(const float *M) noexcept nogil
cdef double as_prediction(object prediction) except? -1.0
cdef double mean_of(const float *M, Py_ssize_t count) noexcept nogil
