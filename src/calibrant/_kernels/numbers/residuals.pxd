"""Where residuals lie and how wide they spread: what is expected of the next one."""

from libc.stdint cimport int64_t

cdef enum:
    LOCATIONS = 3                 # the forecast, plus an offset, plus a regression
    SPEEDS = 3                    # of the mean |error|: fast, mid, slow
    SCALES = 4                    # one a speed, and one that is learned
    PLAIN_X = 6                   # features of the location besides one a period
    PLAIN_S = 5                   # and of the scale
    SYSTEMS = 4                   # a regression of each scale, and one of the location

# What is known of residuals besides what each phase of a season says.
cdef struct Known:
    double far                    # the largest |residual|
    double offset                 # a moving mean, its steps clipped
    double quick, slow            # moving means of clipped residuals
    double last, before           # the last two, clipped
    double mean_m, dev_m, abs_m   # of forecasts: the mean, the spread, the mean size


cdef class Residuals:
    cdef readonly object periods
    cdef int count                # of periods
    cdef int nx, ns               # features of the location and of the scale
    cdef int phases               # of all periods
    cdef readonly int size        # doubles that `look` fills
    cdef int at_mu, at_s, at_unit # where it puts locations, scales and the unit
    cdef Py_ssize_t doubles       # of the whole state
    cdef double *block
    cdef Known *known
    cdef double *A                # of the location: its least squares, and the coefficients
    cdef double *theta
    cdef double *As               # of each scale
    cdef double *thetas
    cdef double *means            # of |error|, a row a location
    cdef double *cap              # what an outlier counts at most
    cdef double *phase_m          # the mean residual of each phase
    cdef double *phase_s          # and the mean |error|, a row a location
    cdef int64_t *length          # of each period
    cdef unsigned char *heard     # residuals of each phase, at most 255
    cdef double *solve            # room to solve in, all systems at once

    cdef void look(self, double m, int64_t number, int64_t n, double *to) noexcept nogil
    cdef void learn(
        self, const double *t, double m, double r, double weight, int64_t number, int64_t n,
        int64_t known, double late,
    ) noexcept nogil
