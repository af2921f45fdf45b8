# MsMwC (Chen, Luo & Wei 2021) with m_t = 0: expert weights with a rate of its own for each expert.
cdef struct MsMwC:
    Py_ssize_t d          # experts
    Py_ssize_t room
    double log_dT         # ln(d T)
    double floor          # no weight falls below 1/(d T)
    double cap            # no rate rises above this
    double correction     # weight of the second-order term
    double slope          # sum of eta w over the experts that a rising lambda moves
    double *w             # weights, which sum to 1
    double *eta           # rates
    double *V             # sum of squared losses
    double *trial         # weights under the lambda being tried


# Make room for d experts; returns -1 when there was no memory and nothing changed.
cdef int msmwc_reserve(MsMwC *s, Py_ssize_t d) noexcept nogil
# Start anew for T rounds on d experts that there is room for, with weights in proportion to those
# in `trial`, all positive.
cdef void msmwc_begin(MsMwC *s, Py_ssize_t d, double T) noexcept nogil
# Learn the losses of some experts, each named once; those of all others are 0.
cdef void msmwc_learn(
    MsMwC *s, Py_ssize_t count, const Py_ssize_t *experts, const double *losses
) noexcept nogil
cdef void msmwc_restore(
    MsMwC *s, const double *w, const double *V, double slope
) noexcept nogil
cdef void msmwc_free(MsMwC *s) noexcept nogil
