"""Stakes are placed at the prediction, their worst loss is deducted, and only cash raises alarms.

With e the factor of a bet at the outcome that comes and e_min the smaller of its two, a bet that
owns cash C, of which a share phi is staked, does

    predicted:  C <- C + 1;  s = phi C;  C <- C - s (1 - e_min)
    outcome:    C <- C + s (e - e_min)

so cash is never negative, and an outcome that never arrives costs the worst possible loss. If
everything is staked and the outcome comes next, C <- e (C + 1): the rule of evidence.pyx. The share
is the one that maximises the expected log of the cash if D pending rounds have the same outcome: g
/ (D l), with g the leverage of a tilt and l the mean of 1 - e_min. A bet and the one in the other
direction use the same stake: l is the smaller of the two. Otherwise a bet that predictions are too
high, which loses much by an event and gains little by none, would stake too little.

A stake is kept as one byte: it is rounded down to a power of 2^(1/4).
"""

from libc.stdint cimport uint8_t, uint64_t
from libc.string cimport memcpy

from calibrant._kernels.watch.evidence cimport STEPS, TILTS

cdef enum:
    CODES = 254
    MEMORY = 64                  # predictions that the mean loss is of
cdef double FORGET = 0.125
cdef double[4] ROOTS             # powers of 2^(1/4), from 1/2 on
ROOTS[:] = [2.0**-1.0, 2.0**-0.75, 2.0**-0.5, 2.0**-0.25]
# Stakes by code, in units of the scale: the largest is 2^8, as a part and an exponent 0.5 * 2^9.
cdef int TOP = 9
cdef double[256] UNITS
UNITS[:] = [0.0] + [
    [2.0**-1.0, 2.0**-0.75, 2.0**-0.5, 2.0**-0.25][(code - CODES) % 4]
    * 2.0 ** (TOP + (code - CODES) // 4)
    for code in range(1, CODES + 1)
] + [0.0]
#: How many times the mean loss tilts of 0.1, 0.25, 0.64 and 1.6 may put at risk at once.
cdef double[STEPS] LEVERAGES
LEVERAGES[:] = [0.75, 1.5, 3.0, 6.0]


cdef uint8_t code_of(double stake, double scale) noexcept nogil:
    """Return the code of the largest stake that is not above this one."""
    cdef double part = stake / scale
    cdef uint64_t bits
    cdef int exponent, quarter, code
    # As frexp has them, without a call: the part between 1/2 and 1 and the exponent, by their bits.
    memcpy(&bits, &part, sizeof(double))
    exponent = <int>(bits >> 52) - 1022
    bits = bits & <uint64_t>0xFFFFFFFFFFFFF | <uint64_t>1022 << 52
    memcpy(&part, &bits, sizeof(double))
    quarter = (part >= ROOTS[1]) + (part >= ROOTS[2]) + (part >= ROOTS[3])
    code = CODES + 4 * (exponent - TOP) + quarter
    if stake <= 0.0 or code < 1:
        return NO_STAKE
    return CODES if code > CODES else <uint8_t>code


cdef double stake_of(uint8_t code, double scale) noexcept nogil:
    """Return the stake that a code stands for."""
    return scale * UNITS[code]


cdef void ask_pot(Pot *pot) noexcept nogil:
    """Let one more round wait."""
    pot.open += 1
    pot.D = max(pot.D - FORGET, <double>pot.open, 1.0)
    pot.asked += 1


cdef double share_of_losses(double D, double loss, double other, double leverage) noexcept nogil:
    """Return which share of its cash a bet stakes, from its mean loss and that of its opposite."""
    cdef double least = min(loss, other)
    if D <= 1.0:
        return 1.0
    if least <= 0.0:
        return 0.0
    return min(1.0, max(leverage, least) / (D * least))


cdef double share_of(const Pot *pot, Py_ssize_t k, Py_ssize_t count, double leverage) noexcept nogil:
    """Return which share of its cash one of so many bets stakes; bets on the slope have no opposite."""
    cdef Py_ssize_t opposite = (k + STEPS) % TILTS if count == TILTS else k
    return share_of_losses(pot.D, pot.loss[k], pot.loss[opposite], leverage)


cdef Flow stake_pot(
    Pot *pot, const float *least, Py_ssize_t count, double add, bint paused, double scale,
    uint8_t *codes, double *whole,
) noexcept nogil:
    """Stake on a round that was just added; all there is if `whole` takes it."""
    cdef Flow flow
    cdef double loss, share, stake
    cdef Py_ssize_t k
    flow.cash = flow.escrow = 0.0
    for k in range(count):
        loss = 1.0 - <double>least[k]
        pot.loss[k] += (loss - pot.loss[k]) / <double>min(pot.asked, <int64_t>MEMORY)
    for k in range(count):
        loss = 1.0 - <double>least[k]
        pot.cash[k] += add
        if whole != NULL:
            codes[k], whole[k] = WHOLE_STAKE, pot.cash[k]
            stake = whole[k]
        else:
            share = 0.0 if paused and pot.D > 1.0 else share_of(
                pot, k, count, LEVERAGES[k % STEPS]
            )
            codes[k] = code_of(share * pot.cash[k], scale)
            stake = stake_of(codes[k], scale)
        pot.cash[k] -= stake * loss
        flow.cash += add - stake * loss
        flow.escrow += stake * loss
    return flow


cdef Flow pay_pot(
    Pot *pot, const float *e, const float *least, Py_ssize_t count, double scale,
    const uint8_t *codes, const double *whole,
) noexcept nogil:
    """Pay what a round won over its worst; without an outcome, `e` is `least`."""
    cdef Flow flow
    cdef double stake, gain
    cdef Py_ssize_t k
    flow.cash = flow.escrow = 0.0
    for k in range(count):
        stake = whole[k] if codes[k] == WHOLE_STAKE else stake_of(codes[k], scale)
        gain = stake * (<double>e[k] - <double>least[k])
        pot.cash[k] += gain
        flow.cash += gain
        flow.escrow -= stake * (1.0 - <double>least[k])
    return flow
