"""exp, log and their relatives, the same to the last bit on every platform: see functions.h."""

cdef extern from "functions.h" nogil:
    double exp "calibrant_exp" (double x)
    void exps "calibrant_exps" (const double *x, double *y, int count)
    double exp2 "calibrant_exp2" (double x)
    double expm1 "calibrant_expm1" (double x)
    double log "calibrant_log" (double x)
    double log1p "calibrant_log1p" (double x)
    double log2 "calibrant_log2" (double x)
    double pow "calibrant_pow" (double x, double y)
    double cbrt "calibrant_cbrt" (double x)
    double sin "calibrant_sin" (double x)
    double cos "calibrant_cos" (double x)
    double tan "calibrant_tan" (double x)
    double asin "calibrant_asin" (double x)
    double tanh "calibrant_tanh" (double x)
