"""Batches of labels that waited together, learned in one step."""

from libc.stdint cimport int64_t

from calibrant._kernels.classes.class_mixture cimport ClassMixture, Predicted

cdef int batch_learn(
    ClassMixture mixture, const Predicted **rows, const int *named, const int64_t *labels,
    const double *weights, Py_ssize_t n
) except -1
cdef void batch_mix(ClassMixture mixture, const Predicted *r, float *P, float *q) noexcept nogil
