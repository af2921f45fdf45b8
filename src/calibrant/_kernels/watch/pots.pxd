"""The evidence of a cell with pending outcomes: cash, and stakes whose worst loss is deducted."""

from libc.stdint cimport int64_t, uint8_t, uint32_t

from calibrant._kernels.watch.evidence cimport LEVELS, SLOPES, TILTS

cdef enum:
    STAKES = LEVELS * TILTS + SLOPES  # of a round that has no group
    NO_STAKE = 0
    WHOLE_STAKE = 255                 # all there was: kept apart, since no code stands for it

cdef struct Pot:
    double cash[TILTS]           # what the bets own and have not staked, or have back
    double loss[TILTS]           # the mean of 1 - e_min over the last predictions
    double D                     # the most that waited lately
    int64_t open                 # how many wait
    int64_t asked                # predictions that `loss` is a mean of

cdef struct Waiting:             # a round that waits: 64 bytes
    int64_t key                  # they rise; that of a round that is done with is ~key
    double p
    uint32_t t                   # rounds since the restart before it
    uint8_t stakes[STAKES]

cdef struct OfGroup:             # what is kept besides where there are groups
    int group
    uint8_t stakes[TILTS]

cdef struct Flow:                # what a step moves: into cash, and into escrow
    double cash
    double escrow

cdef double FORGET               # what a prediction takes off D

cdef uint8_t code_of(double stake, double scale) noexcept nogil
cdef double stake_of(uint8_t code, double scale) noexcept nogil
cdef void ask_pot(Pot *pot) noexcept nogil
cdef double share_of_losses(
    double D, double loss, double other, double leverage
) noexcept nogil
cdef double share_of(const Pot *pot, Py_ssize_t k, Py_ssize_t count, double leverage) noexcept nogil
cdef Flow stake_pot(
    Pot *pot, const float *least, Py_ssize_t count, double add, bint paused, double scale,
    uint8_t *codes, double *whole,
) noexcept nogil
cdef Flow pay_pot(
    Pot *pot, const float *e, const float *least, Py_ssize_t count, double scale,
    const uint8_t *codes, const double *whole,
) noexcept nogil
