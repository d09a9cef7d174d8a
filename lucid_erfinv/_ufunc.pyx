# cython: language_level=3, freethreading_compatible=True
# cython: boundscheck=False, wraparound=False, initializedcheck=False
"""The ufunc over the C kernels, the typed-memoryview entry point, and the choice of the level."""

import os
import sys
import threading
import time

cimport cython
cimport numpy as cnp
from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF
from libc.stdint cimport int64_t, uint64_t

import numpy as np

cdef extern from "numpy/ufuncobject.h":
    ctypedef int TypeResolver(
        PyUFuncObject *, cnp.NPY_CASTING, cnp.PyArrayObject **, PyObject *, PyObject **
    ) except -1
    ctypedef struct PyUFuncObject:
        TypeResolver *type_resolver

cdef extern from "counters.h":
    enum:
        LUCID_STAGES
    void lucid_counters(uint64_t *counts) nogil

cdef extern from "exact.h":
    enum:
        LUCID_EXACT_STAGES
    int lucid_erfinv_exact_at(int stage, double x, double a, double b) nogil

cdef extern from "threads.h":
    void lucid_set_num_threads(int n) nogil
    int lucid_get_num_threads() nogil

cdef extern from "dispatch.h":
    enum lucid_type:
        LUCID_F64
        LUCID_F32
        LUCID_F16
        LUCID_BF16
        LUCID_TYPES
    struct lucid_level:
        const char *name
        int (*usable)() noexcept nogil
    struct lucid_op:
        lucid_type type
    const lucid_level *lucid_levels
    const size_t lucid_level_count
    lucid_op lucid_erfinv_op(const lucid_level *level, lucid_type type) noexcept nogil
    void lucid_run(const lucid_op *op, const char *x, Py_ssize_t x_step, char *y,
                   Py_ssize_t y_step, size_t n) noexcept nogil

cdef extern from *:
    """
    #if defined(__clang__)
    #define LUCID_COMPILER "clang " __clang_version__
    #elif defined(__GNUC__)
    #define LUCID_COMPILER "gcc " __VERSION__
    #else
    #define LUCID_COMPILER "other"
    #endif
    """
    const char *LUCID_COMPILER
    const char *LUCID_VERSION  # from the build

cnp.import_array()
cnp.import_umath()


# The level ---------------------------------------------------------------------------------------

cdef const lucid_level *find_level(str name) except NULL:
    cdef size_t i
    for i in range(lucid_level_count):
        if lucid_levels[i].name.decode() == name and lucid_levels[i].usable():
            return &lucid_levels[i]
    raise ValueError(f"no usable level {name!r}, the usable ones are {', '.join(_levels())}")


def _built_levels():
    """Names of the levels in this build, the best last."""
    return tuple(lucid_levels[i].name.decode() for i in range(lucid_level_count))


def _levels():
    """Names of the levels that this CPU can run, the best last."""
    return tuple(
        lucid_levels[i].name.decode() for i in range(lucid_level_count) if lucid_levels[i].usable()
    )


def _chosen_level():
    """Name of the level that `erfinv` runs at."""
    return chosen_level


cdef str choose_level():
    wanted = os.environ.get("LUCID_ERFINV_ISA")
    usable = _levels()
    if not wanted:
        return usable[len(usable) - 1]
    if wanted not in usable:
        raise ImportError(
            f"LUCID_ERFINV_ISA={wanted!r} is not usable here, "
            f"the usable levels are {', '.join(usable)}"
        )
    return wanted


# What the inner loops are given as their data; written once, below, and only read after.
cdef lucid_op chosen_ops[<int>LUCID_TYPES]
cdef str chosen_level = choose_level()

for i in range(<int>LUCID_TYPES):
    chosen_ops[i] = lucid_erfinv_op(find_level(chosen_level), <lucid_type>i)


# The ufunc ---------------------------------------------------------------------------------------

cdef void inner_loop(
    char **args, cnp.npy_intp *dims, cnp.npy_intp *steps, void *data
) noexcept nogil:
    lucid_run(<const lucid_op *>data, args[0], steps[0], args[1], steps[1], dims[0])


cdef object registering = threading.Lock()
cdef int bfloat16_number = -1  # ml_dtypes' type number, once its loop is registered


cdef bint is_bfloat16(dtype):
    return dtype.type.__name__ == "bfloat16" and dtype.type.__module__ == "ml_dtypes"


cdef int register_bfloat16(int type_number) except -1:
    global bfloat16_number
    with registering:
        if bfloat16_number != type_number:
            cnp.PyUFunc_RegisterLoopForType(
                erfinv, type_number, inner_loop, NULL, &chosen_ops[<int>LUCID_BF16]
            )
            bfloat16_number = type_number
    return 0


cdef object loop_dtype(x, signature):
    """The dtype to compute in: the one asked for, else the one that x's dtype implies."""
    asked = {dtype for dtype in signature if dtype is not None}
    if len(asked) > 1:
        raise TypeError(f"erfinv has no loop {signature[0]} -> {signature[1]}")
    for dtype in asked:
        if dtype.char in "efd" or is_bfloat16(dtype):
            return dtype.newbyteorder("=")
        raise TypeError(f"erfinv computes in float16, bfloat16, float32 or float64, not in {dtype}")
    if x.kind in "biu":
        return np.dtype(np.float64)
    if x.char in "efd" or is_bfloat16(x):
        return x.newbyteorder("=")
    raise TypeError(f"`x` must be real floating or integer, got {x}")


# NumPy calls it for what no registered loop takes as it stands, and remembers the answer.
cdef int resolve_types(
    PyUFuncObject *ufunc, cnp.NPY_CASTING casting, cnp.PyArrayObject **operands,
    PyObject *signature, PyObject **descriptors
) except -1:
    x = <object>cnp.PyArray_DESCR(<cnp.ndarray>operands[0])
    asked = (None, None) if signature is NULL else <object>signature
    dtype = loop_dtype(x, (None, None) if asked is None else asked)
    if is_bfloat16(dtype):
        register_bfloat16(dtype.num)
    for i in range(2):
        Py_INCREF(dtype)
        descriptors[i] = <PyObject *>dtype
    return 0

cdef cnp.PyUFuncGenericFunction loops[3]
cdef void *loop_data[3]
cdef char loop_types[6]
for i, (letter, operation) in enumerate(
    ((cnp.NPY_FLOAT16, LUCID_F16), (cnp.NPY_FLOAT32, LUCID_F32), (cnp.NPY_FLOAT64, LUCID_F64))
):
    loops[i] = inner_loop
    loop_data[i] = &chosen_ops[<int>operation]
    loop_types[2 * i] = loop_types[2 * i + 1] = letter

cdef bytes erfinv_doc = b"""Inverse error function, elementwise and correctly rounded.

The real `y` with ``erf(y) == x``; odd and increasing on (-1, 1).

Parameters
----------
x : array_like of float64, float32, float16 or bfloat16, any shape
    Values in [-1, 1]. Booleans and integers are computed in float64; bfloat16 is that of
    the package ml_dtypes.
**kwargs
    `out`, `where`, `dtype` and the rest, as for every `numpy.ufunc`.

Returns
-------
ndarray or scalar
    Shape and floating dtype of `x`. Every element is the floating-point number nearest to
    the exact value, at every instruction set and in every rounding mode. inf at 1 and -inf
    at -1 (divide-by-zero flag); NaN for ``abs(x) > 1`` (invalid flag); a NaN keeps its sign
    and payload and -0.0 its sign; subnormals are not flushed.

Raises
------
TypeError
    If the dtype of `x` is complex, longdouble, object, string, datetime or another that
    has no loop. It is named.

See Also
--------
erfinv_into : The same for contiguous buffers that are no arrays.
scipy.special.erfinv : The same function in SciPy.

References
----------
.. [1] M. Giles, "Approximating the erfinv function", GPU Computing Gems, 2011.
.. [2] J.-M. Muller et al., "Handbook of Floating-Point Arithmetic", 2nd ed., 2018.

Examples
--------
>>> import numpy as np
>>> from lucid_erfinv import erfinv
>>> float(erfinv(0.5))
0.4769362762044699
>>> with np.errstate(divide="ignore"):
...     erfinv(np.array([-1.0, -0.0, 0.75]))
array([       -inf, -0.        ,  0.81341985])
"""

erfinv = cnp.PyUFunc_FromFuncAndData(
    loops, loop_data, loop_types, 3, 1, 1, cnp.PyUFunc_None, "erfinv", erfinv_doc, 0
)
(<PyUFuncObject *>erfinv).type_resolver = resolve_types
erfinv.__module__ = "lucid_erfinv"
erfinv.__qualname__ = "erfinv"


# Typed memoryviews -------------------------------------------------------------------------------

cdef void write_into(const cython.floating[::1] x, cython.floating[::1] out) noexcept:
    cdef lucid_op *op = &chosen_ops[<int>(LUCID_F64 if cython.floating is double else LUCID_F32)]
    cdef Py_ssize_t size = sizeof(cython.floating)
    with nogil:
        lucid_run(op, <const char *>&x[0], size, <char *>&out[0], size, x.shape[0])


cdef str element_format(view, str argument):
    element = view.format.lstrip("@=" + ("<" if sys.byteorder == "little" else ">"))
    if element not in ("f", "d"):
        raise TypeError(
            f"`{argument}` must be a buffer of float32 or float64, got format {view.format!r}"
        )
    if not view.c_contiguous:
        raise ValueError(f"`{argument}` must be contiguous, got strides {view.strides}")
    return element


def erfinv_into(x, out):
    """Write erfinv(x) into out, for contiguous buffers of float32 or float64.

    The entry point for Cython's memoryviews, `array.array` and whatever else has the buffer
    protocol; no array is made. Floating-point flags are raised as by `erfinv`, but no warning
    is given.

    Parameters
    ----------
    x : buffer of float32 or float64
        C-contiguous, any shape.
    out : writable buffer
        C-contiguous, dtype and shape of `x`. It may be `x` itself.

    Raises
    ------
    TypeError
        If a dtype is another, or the two differ.
    ValueError
        If a buffer is not contiguous, the shapes differ, `out` is read-only, or the two
        overlap without being the same.

    Examples
    --------
    >>> from array import array
    >>> from lucid_erfinv import erfinv_into
    >>> x = array("d", [0.5, -0.5])
    >>> erfinv_into(x, x)
    >>> x
    array('d', [0.4769362762044699, -0.4769362762044699])
    """
    source, target = memoryview(x), memoryview(out)
    element = element_format(source, "x")
    if element_format(target, "out") != element:
        raise TypeError(
            f"`out` must have the format of `x`, {source.format!r}, got {target.format!r}"
        )
    if source.shape != target.shape:
        raise ValueError(f"`out` must have the shape of `x`, {source.shape}, got {target.shape}")
    if target.readonly:
        raise ValueError("`out` is read-only")
    if source.nbytes == 0:
        return
    # A cast to one axis of native elements, whatever the shape was.
    source, target = source.cast("B").cast(element), target.cast("B").cast(element)
    if overlap_partly(source, target):
        raise ValueError("`out` overlaps `x` without being the same memory")
    if element == "d":
        write_into[double](source, target)
    else:
        write_into[float](source, target)


cdef bint overlap_partly(source, target):
    cdef const unsigned char[::1] a = source.cast("B"), b = target.cast("B")
    cdef size_t first = <size_t>&a[0], second = <size_t>&b[0], size = a.shape[0]
    return first != second and first < second + size and second < first + size


# Threads -----------------------------------------------------------------------------------------

def set_num_threads(n):
    """Let long contiguous arrays be computed by up to `n` threads.

    Parameters
    ----------
    n : int
        At least 1, which is the default, as for NumPy's ufuncs. The environment variable
        ``LUCID_ERFINV_NUM_THREADS`` sets it at import. It holds for the whole process.

    Raises
    ------
    TypeError
        If `n` is no integer.
    ValueError
        If `n` is below 1 or above 1024.

    Notes
    -----
    The results are the same bits for every `n`. Threads start when they are first needed.
    """
    count = n.__index__() if hasattr(n, "__index__") else None
    if count is None:
        raise TypeError(f"`n` must be an integer, got {type(n).__name__}")
    if not 1 <= count <= 1024:
        raise ValueError(f"`n` must be from 1 to 1024, got {count}")
    lucid_set_num_threads(count)


def get_num_threads():
    """Return the number of threads that `set_num_threads` allows.

    Returns
    -------
    int
    """
    return lucid_get_num_threads()


cdef int read_num_threads() except -1:
    wanted = os.environ.get("LUCID_ERFINV_NUM_THREADS")
    if wanted:
        try:
            set_num_threads(int(wanted))
        except ValueError:
            raise ImportError(
                f"LUCID_ERFINV_NUM_THREADS must be an integer from 1 to 1024, got {wanted!r}"
            ) from None
    return 0

read_num_threads()


# For tests and benchmarks ------------------------------------------------------------------------

cdef lucid_op op_at(level, dtype) except *:
    types = {"d": LUCID_F64, "f": LUCID_F32, "e": LUCID_F16}
    if is_bfloat16(dtype):
        return lucid_erfinv_op(find_level(level), LUCID_BF16)
    return lucid_erfinv_op(find_level(level), types[dtype.char])


cdef int check_pair(cnp.ndarray x, cnp.ndarray out) except -1:
    if x.dtype != out.dtype or not x.dtype.isnative or x.size != out.size:
        raise ValueError("x and out must have one native dtype and one size")
    if not (x.flags.c_contiguous and out.flags.c_contiguous):
        raise ValueError("x and out must be contiguous")
    return 0


def _erfinv_at(level, cnp.ndarray x, cnp.ndarray out):
    """erfinv of one contiguous array into another of its dtype, at the named level."""
    check_pair(x, out)
    cdef lucid_op op = op_at(level, x.dtype)
    cdef Py_ssize_t size = x.itemsize, n = x.size
    cdef const char *source = <const char *>cnp.PyArray_DATA(x)
    cdef char *target = <char *>cnp.PyArray_DATA(out)
    with nogil:
        lucid_run(&op, source, size, target, size, n)
    return out


def _bench_at(level, cnp.ndarray x, cnp.ndarray out, size_t repeat):
    """Seconds that `repeat` calls of a level's kernel take, called from C."""
    check_pair(x, out)
    cdef lucid_op op = op_at(level, x.dtype)
    cdef Py_ssize_t size = x.itemsize, n = x.size
    cdef const char *source = <const char *>cnp.PyArray_DATA(x)
    cdef char *target = <char *>cnp.PyArray_DATA(out)
    cdef size_t _
    start = time.perf_counter()
    with nogil:
        for _ in range(repeat):
            lucid_run(&op, source, size, target, size, n)
    return time.perf_counter() - start


ctypedef void MklFunction(int n, const void *x, void *y, int64_t mode) noexcept nogil


def _bench_mkl(size_t address, int64_t mode, cnp.ndarray x, cnp.ndarray out, size_t repeat):
    """Seconds that `repeat` calls of an MKL vector function at `address` take, called from C."""
    check_pair(x, out)
    cdef MklFunction *function = <MklFunction *>address
    cdef const void *source = cnp.PyArray_DATA(x)
    cdef void *target = cnp.PyArray_DATA(out)
    cdef int n = x.size
    cdef size_t _
    start = time.perf_counter()
    with nogil:
        for _ in range(repeat):
            function(n, source, target, mode)
    return time.perf_counter() - start


def _exact_at(int stage, double x, double a, double b):
    """The slow path at one stage: -1 if erfinv(x) is nearer to a, 1 if to b, 0 if undecided."""
    if not 1 <= stage <= LUCID_EXACT_STAGES:
        raise ValueError(f"`stage` must be from 1 to {LUCID_EXACT_STAGES}, got {stage}")
    return lucid_erfinv_exact_at(stage, x, a, b)


def _counters():
    """Lanes that went to each stage since import, by name."""
    cdef uint64_t counts[<int>LUCID_STAGES]
    lucid_counters(counts)
    names = ("f32_second", "f64_second", "f64_exact", "f64_exact_wide", "f64_exact_last")
    return {name: counts[i] for i, name in enumerate(names)}


def _compiler():
    """Name and version of the C compiler."""
    return LUCID_COMPILER.decode()


__version__ = LUCID_VERSION.decode()
