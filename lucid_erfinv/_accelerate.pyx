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

cdef lucid_second_phase second_phase


# The kernel runs without the GIL, also in threads that Python does not know: hence pointers, which
# cost neither an object nor a reference. Typed memoryviews come in through `erfinv_into`.
cdef unsigned kernel(const floating *x, floating *y, size_t n) noexcept nogil:
    cdef floating w[<int>LUCID_VFORCE_BLOCK]
    cdef floating s[<int>LUCID_VFORCE_BLOCK]
    cdef uint16_t open[<int>LUCID_VFORCE_BLOCK]
    cdef unsigned flags = 0
    cdef size_t left = 0
    cdef int block, count, i
    while n > 0:
        block = <int>min(n, <size_t>LUCID_VFORCE_BLOCK)
        if floating is double:
            lucid_vforce_argument_f64(x, s, block)
            vvlog(w, s, &block)
            lucid_vforce_magnitude_f64(w, block)
            vvsqrt(s, w, &block)
            count = lucid_vforce_refine_f64(x, w, s, y, open, block)
        else:
            lucid_vforce_argument_f32(x, s, block)
            vvlogf(w, s, &block)
            lucid_vforce_magnitude_f32(w, block)
            vvsqrtf(s, w, &block)
            count = lucid_vforce_refine_f32(x, w, s, y, open, block)
        if count > 0:
            for i in range(count):
                w[i] = y[open[i]]
            if floating is double:
                flags |= second_phase.erfinv_f64(w, w, count)
            else:
                flags |= second_phase.erfinv_f32(w, w, count)
            for i in range(count):
                y[open[i]] = w[i]
            left += count
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
