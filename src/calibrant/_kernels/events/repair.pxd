from libc.stdint cimport int64_t

cdef enum:
    MAPS = 2                       # a slow one and a fast one
    CELLS = 49                     # places of a map, at log odds from -8 to 8

# What became of each estimate before, and how much of that is believed.
cdef struct Repair:
    double[CELLS] met              # how often an estimate fell on each place
    double[MAPS * CELLS] mean      # what was observed then: the places of one map after the other's
    double[1 + MAPS] w             # weight of the estimate itself, then of each map


# An estimate, repaired.
cdef struct Repaired:
    Py_ssize_t below               # the place below it
    double part                    # and how far it is on the way to the next
    double[MAPS] says              # what each map makes of it
    double estimate                # what is made of it in the end


cdef void repair_start(Repair *r) noexcept nogil
cdef void repair_find(double m, Repaired *to) noexcept nogil
cdef void repair_say(const Repair *r, double m, Repaired *to) noexcept nogil
cdef void repair_learn(
    Repair *r, double m, const Repaired *predicted, double y, double power
) noexcept nogil
cdef dict repair_save(const Repair *r)
cdef object repair_load(Repair *r, object state, int64_t learned)
