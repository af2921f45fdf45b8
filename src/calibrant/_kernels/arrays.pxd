"""NumPy's arrays of doubles, read and written in place.

Creating a memory view takes a third of a microsecond, as long as everything else that a row of three
numbers needs. The fields below are those that NumPy's own header reads in every compiled extension: the
first ones of an array, which have been the same in all versions since 1.7.
"""

cdef extern from *:
    """
    typedef struct {
        PyObject_HEAD
        char *data;
        int nd;
        Py_ssize_t *dimensions;
        Py_ssize_t *strides;
        PyObject *base;
        PyObject *descr;
    } CalibrantArray;

    static inline double *calibrant_doubles(PyObject *array, PyObject *dtype, Py_ssize_t size) {
        CalibrantArray *a = (CalibrantArray *)array;
        if (a->nd != 1 || a->dimensions[0] != size || a->strides[0] != sizeof(double)) return NULL;
        if (a->descr != dtype || (size_t)a->data % sizeof(double)) return NULL;
        return (double *)a->data;
    }
    """
    # The numbers of an ndarray of so many, one after the other; NULL if it is anything else.
    double *doubles_in "calibrant_doubles" (object array, object dtype, Py_ssize_t size) noexcept
