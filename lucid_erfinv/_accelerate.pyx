# cython: language_level=3, freethreading_compatible=True
# cython: boundscheck=False, wraparound=False, initializedcheck=False
"""The kernel level `accelerate`: blocks that stay in the cache go through Accelerate's vForce.

vForce takes the logarithm and the square root of a block, kernels/erfinv_vforce.c does the rest.
`_ufunc` imports this module and hands it the function that registers the level.
"""

from cpython.pycapsule cimport PyCapsule_GetPointer
from cython cimport floating
from libc.stdint cimport uint16_t

cdef extern from "Accelerate/Accelerate.h":
    void vvlog(double *y, const double *x, const int *n) nogil
    void vvlogf(float *y, const float *x, const int *n) nogil
    void vvsqrt(double *y, const double *x, const int *n) nogil
    void vvsqrtf(float *y, const float *x, const int *n) nogil

cdef extern from "erfinv_vforce.h":
    enum:
        LUCID_VFORCE_BLOCK
    void lucid_vforce_argument_f64(const double *x, double *u, int n) nogil
    void lucid_vforce_argument_f32(const float *x, float *u, int n) nogil
    void lucid_vforce_magnitude_f64(double *w, int n) nogil
    void lucid_vforce_magnitude_f32(float *w, int n) nogil
    int lucid_vforce_refine_f64(
        const double *x, const double *w, const double *s, double *y, uint16_t *open, int n
    ) nogil
    int lucid_vforce_refine_f32(
        const float *x, const float *w, const float *s, float *y, uint16_t *open, int n
    ) nogil

cdef extern from "dispatch.h":
    enum lucid_stage:
        LUCID_F32_SECOND
        LUCID_F64_SECOND
    ctypedef unsigned lucid_kernel_f64(const double *x, double *y, size_t n) noexcept nogil
    ctypedef unsigned lucid_kernel_f32(const float *x, float *y, size_t n) noexcept nogil
    struct lucid_second_phase:
        lucid_kernel_f64 *erfinv_f64
        lucid_kernel_f32 *erfinv_f32
        void (*count)(lucid_stage stage, size_t lanes) noexcept nogil
    ctypedef lucid_second_phase lucid_add_level_function(
        const char *name, lucid_kernel_f64 *f64, lucid_kernel_f32 *f32, int best
    ) noexcept
    int LUCID_ACCELERATE_IS_BEST  # from the build

# Memory that no object owns, as a typed memoryview: Cython counts no references to None. So kernels
# run without the GIL, also in threads that Python does not know.
cdef extern from *:
    """
    #define LUCID_VIEW(first, n)                                      \
        ((__Pyx_memviewslice){(struct __pyx_memoryview_obj *)Py_None, \
                              (char *)(first), {(n)}, {sizeof *(first)}, {-1}})
    """
    double[::1] view_f64 "LUCID_VIEW"(const double *first, int n) nogil
    float[::1] view_f32 "LUCID_VIEW"(const float *first, int n) nogil

cdef lucid_second_phase second_phase


# Stages of a block -------------------------------------------------------------------------------

cdef void argument(const floating[::1] x, floating[::1] u) noexcept nogil:
    if floating is double:
        lucid_vforce_argument_f64(&x[0], &u[0], <int>x.shape[0])
    else:
        lucid_vforce_argument_f32(&x[0], &u[0], <int>x.shape[0])


cdef void logarithm(const floating[::1] u, floating[::1] w) noexcept nogil:
    cdef int n = <int>u.shape[0]
    if floating is double:
        vvlog(&w[0], &u[0], &n)
        lucid_vforce_magnitude_f64(&w[0], n)
    else:
        vvlogf(&w[0], &u[0], &n)
        lucid_vforce_magnitude_f32(&w[0], n)


cdef void square_root(const floating[::1] w, floating[::1] s) noexcept nogil:
    cdef int n = <int>w.shape[0]
    if floating is double:
        vvsqrt(&s[0], &w[0], &n)
    else:
        vvsqrtf(&s[0], &w[0], &n)


cdef int refine(
    const floating[::1] x, const floating[::1] w, const floating[::1] s, floating[::1] y,
    uint16_t *open
) noexcept nogil:
    if floating is double:
        return lucid_vforce_refine_f64(&x[0], &w[0], &s[0], &y[0], open, <int>x.shape[0])
    else:
        return lucid_vforce_refine_f32(&x[0], &w[0], &s[0], &y[0], open, <int>x.shape[0])


cdef unsigned settle(
    floating[::1] y, floating[::1] left, const uint16_t *open, int count
) noexcept nogil:
    cdef unsigned flags
    cdef int i
    for i in range(count):
        left[i] = y[open[i]]
    if floating is double:
        flags = second_phase.erfinv_f64(&left[0], &left[0], count)
    else:
        flags = second_phase.erfinv_f32(&left[0], &left[0], count)
    for i in range(count):
        y[open[i]] = left[i]
    return flags


cdef int run_block(
    const floating[::1] x, floating[::1] y, floating[::1] w, floating[::1] s, unsigned *flags
) noexcept nogil:
    cdef uint16_t open[<int>LUCID_VFORCE_BLOCK]
    argument(x, s)
    logarithm(s, w)
    square_root(w, s)
    cdef int count = refine(x, w, s, y, open)
    if count > 0:
        flags[0] |= settle(y, w, open, count)
    return count


# Kernels -----------------------------------------------------------------------------------------

cdef unsigned kernel(const floating *x, floating *y, size_t n) noexcept nogil:
    cdef floating w[<int>LUCID_VFORCE_BLOCK]
    cdef floating s[<int>LUCID_VFORCE_BLOCK]
    cdef unsigned flags = 0
    cdef size_t left = 0
    cdef int block
    while n > 0:
        block = <int>min(n, <size_t>LUCID_VFORCE_BLOCK)
        if floating is double:
            left += run_block[double](
                view_f64(x, block), view_f64(y, block), view_f64(w, block), view_f64(s, block),
                &flags
            )
        else:
            left += run_block[float](
                view_f32(x, block), view_f32(y, block), view_f32(w, block), view_f32(s, block),
                &flags
            )
        x += block
        y += block
        n -= block
    if left > 0:
        second_phase.count(LUCID_F64_SECOND if floating is double else LUCID_F32_SECOND, left)
    return flags


cdef unsigned erfinv_f64(const double *x, double *y, size_t n) noexcept nogil:
    return kernel[double](x, y, n)


cdef unsigned erfinv_f32(const float *x, float *y, size_t n) noexcept nogil:
    return kernel[float](x, y, n)


def register(add_level):
    """Add the level, by the function in the capsule that is given."""
    global second_phase
    cdef lucid_add_level_function *add = <lucid_add_level_function *>PyCapsule_GetPointer(
        add_level, "lucid_add_level"
    )
    second_phase = add("accelerate", erfinv_f64, erfinv_f32, LUCID_ACCELERATE_IS_BEST)
