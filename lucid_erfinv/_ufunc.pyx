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
from cpython.pycapsule cimport PyCapsule_New
from cpython.ref cimport Py_DECREF, Py_INCREF
from libc.stdint cimport int64_t, uint64_t

import numpy as np

cdef extern from "numpy/ufuncobject.h":
    ctypedef int TypeResolver(
        PyUFuncObject *, cnp.NPY_CASTING, cnp.PyArrayObject **, PyObject *, cnp.PyArray_Descr **
    ) except -1
    ctypedef struct PyUFuncObject:
        int nin, nargs
        TypeResolver *type_resolver
    cnp.PyArray_Descr *PyArray_ResultType(
        cnp.npy_intp, cnp.PyArrayObject **, cnp.npy_intp, cnp.PyArray_Descr **
    ) except NULL

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
    size_t lucid_level_count
    lucid_op lucid_erfinv_op(const lucid_level *level, lucid_type type) noexcept nogil
    lucid_op lucid_backward_op(const lucid_level *level, lucid_type type) noexcept nogil
    void lucid_run(
        const lucid_op *op, char **operands, const cnp.npy_intp *steps, size_t n
    ) noexcept nogil
    void *lucid_add_level

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
    const char *LUCID_VERSION  # from the build, as is the next
    bint LUCID_HAVE_ACCELERATE

cnp.import_array()
cnp.import_umath()


# The level ---------------------------------------------------------------------------------------

if LUCID_HAVE_ACCELERATE:
    from . import _accelerate
    _accelerate.register(PyCapsule_New(<void *>lucid_add_level, "lucid_add_level", NULL))


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


def _missing_levels():
    """Why a level that other systems have is not in this build, by its name."""
    if LUCID_HAVE_ACCELERATE:
        return {}
    if sys.platform == "darwin":
        return {"accelerate": "this build was configured with -Daccelerate=disabled"}
    return {"accelerate": "it needs Accelerate, which only macOS has"}


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


# What the inner loops are given as their data; written once, here, and only read after.
cdef lucid_op erfinv_ops[<int>LUCID_TYPES]
cdef lucid_op backward_ops[<int>LUCID_TYPES]
cdef str chosen_level = choose_level()

for i in range(<int>LUCID_TYPES):
    erfinv_ops[i] = lucid_erfinv_op(find_level(chosen_level), <lucid_type>i)
    backward_ops[i] = lucid_backward_op(find_level(chosen_level), <lucid_type>i)


# The ufuncs --------------------------------------------------------------------------------------

cdef void inner_loop(
    char **operands, cnp.npy_intp *dims, cnp.npy_intp *steps, void *data
) noexcept nogil:
    lucid_run(<const lucid_op *>data, operands, steps, dims[0])


cdef object registering = threading.Lock()
cdef dict bfloat16_numbers = {}  # ml_dtypes' type number, of every ufunc with a loop for it


cdef bint is_bfloat16(dtype):
    return dtype.type.__name__ == "bfloat16" and dtype.type.__module__ == "ml_dtypes"


cdef bint is_computed_in(dtype):
    return dtype.char in "efd" or is_bfloat16(dtype)


cdef int register_bfloat16(ufunc, int type_number) except -1:
    cdef lucid_op *op = &backward_ops[<int>LUCID_BF16]
    if ufunc is erfinv:
        op = &erfinv_ops[<int>LUCID_BF16]
    with registering:
        if bfloat16_numbers.get(ufunc) != type_number:
            cnp.PyUFunc_RegisterLoopForType(
                ufunc, type_number, <cnp.PyUFuncGenericFunction>inner_loop, NULL, op
            )
            bfloat16_numbers[ufunc] = type_number
    return 0


cdef int check_inputs(ufunc, inputs) except -1:
    names = ("x",) if ufunc is erfinv else ("grad_out", "y")
    for name, dtype in zip(names, inputs):
        if dtype.kind not in "biu" and not is_computed_in(dtype):
            raise TypeError(f"`{name}` must be real floating or integer, got {dtype}")
    if any(is_bfloat16(dtype) for dtype in inputs) and any(dtype.char == "e" for dtype in inputs):
        raise TypeError(f"{ufunc.__name__} mixes bfloat16 with float16 only if dtype= names one")
    return 0


cdef object asked_dtype(ufunc, signature):
    """The one dtype that dtype= or signature= names, if any."""
    asked = {dtype for dtype in signature if dtype is not None}
    if len(asked) > 1:
        raise TypeError(f"{ufunc.__name__} has no loop for the signature {signature}")
    for dtype in asked:
        if is_computed_in(dtype):
            return dtype
        raise TypeError(
            f"{ufunc.__name__} computes in float16, bfloat16, float32 or float64, not in {dtype}"
        )
    return None


cdef object result_type(cnp.PyArrayObject **operands, int count):
    cdef cnp.PyArray_Descr *descriptor = PyArray_ResultType(count, operands, 0, NULL)
    dtype = <object>descriptor
    Py_DECREF(dtype)  # a new reference, which `dtype` has taken another of
    return dtype


cdef object promoted_dtype(cnp.PyArrayObject **operands, int count):
    """NumPy's result type, of the operands in either order: a Python float makes a bfloat16 array
    float32 when it stands before it, not when behind. Otherwise the two agree."""
    cdef cnp.PyArrayObject *backwards[2]
    for i in range(count):
        backwards[i] = operands[count - 1 - i]
    dtypes = result_type(operands, count), result_type(backwards, count)
    return min(dtypes, key=lambda dtype: dtype.itemsize)


# NumPy calls it for what no registered loop takes as it stands, and remembers the answer: the dtype
# asked for, else what NumPy promotes the inputs to, integers being float64.
cdef int resolve_types(
    PyUFuncObject *self, cnp.NPY_CASTING casting, cnp.PyArrayObject **operands,
    PyObject *signature, cnp.PyArray_Descr **descriptors
) except -1:
    ufunc = <object><PyObject *>self
    dtype = None
    if signature is not NULL and <object>signature is not None:
        dtype = asked_dtype(ufunc, <object>signature)
    if dtype is None:
        check_inputs(
            ufunc, [<object>cnp.PyArray_DESCR(<cnp.ndarray>operands[i]) for i in range(self.nin)]
        )
        dtype = promoted_dtype(operands, self.nin)
        dtype = np.dtype(np.float64) if dtype.kind in "biu" else dtype.newbyteorder("=")
    if is_bfloat16(dtype):
        register_bfloat16(ufunc, dtype.num)
    for i in range(self.nargs):
        Py_INCREF(dtype)
        descriptors[i] = <cnp.PyArray_Descr *>dtype
    return 0


cdef cnp.PyUFuncGenericFunction loops[3]
cdef void *erfinv_data[3]
cdef void *backward_data[3]
cdef char erfinv_types[6]
cdef char backward_types[9]
for i, (number, operation) in enumerate(
    ((cnp.NPY_FLOAT16, LUCID_F16), (cnp.NPY_FLOAT32, LUCID_F32), (cnp.NPY_FLOAT64, LUCID_F64))
):
    loops[i] = <cnp.PyUFuncGenericFunction>inner_loop
    erfinv_data[i] = &erfinv_ops[<int>operation]
    backward_data[i] = &backward_ops[<int>operation]
    erfinv_types[2 * i] = erfinv_types[2 * i + 1] = number
    backward_types[3 * i] = backward_types[3 * i + 1] = backward_types[3 * i + 2] = number
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

cdef bytes backward_doc = b"""Gradient of erfinv from its result, elementwise.

``grad_out * sqrt(pi)/2 * exp(y**2)``, but where `y` is a correctly rounded erfinv(x) it is
the derivative at x that `grad_out` is multiplied by: the rounding of `y`, which exp magnifies,
is undone.

Parameters
----------
grad_out : array_like of float64, float32, float16 or bfloat16
    The cotangent of `y`.
y : array_like of the same
    The saved result of `erfinv`. `grad_out` and `y` are broadcast; where the dtypes differ, NumPy's
    result type is computed in.
**kwargs
    `out`, `where`, `dtype` and the rest, as for every `numpy.ufunc`.

Returns
-------
ndarray or scalar
    Below 1 ulp from `grad_out` times the exact derivative. Overflow and underflow happen, and
    set the flag, only where the result does. Where `y` is infinite, inf with the sign of
    `grad_out`; where `grad_out` is zero, `grad_out` itself, unless `y` is NaN: what a mask has
    excluded contributes nothing, even at x = 1.

Raises
------
TypeError
    If a dtype has no loop, which is named, or if float16 is mixed with bfloat16.

See Also
--------
erfinv : The function.

Examples
--------
>>> import numpy as np
>>> from lucid_erfinv import erfinv, erfinv_backward
>>> x = np.array([0.0, 0.5, 1.0])
>>> y = np.array([0.0, 0.4769362762044699, np.inf])
>>> erfinv_backward(np.array([1.0, 1.0, 0.0]), y)
array([0.88622693, 1.11258482, 0.        ])
"""


cdef object make_ufunc(
    str name, int inputs, void **data, char *types, const char *c_name, const char *doc
):
    ufunc = cnp.PyUFunc_FromFuncAndData(
        loops, data, types, 3, inputs, 1, cnp.PyUFunc_None, <char *>c_name, <char *>doc, 0
    )
    (<PyUFuncObject *>ufunc).type_resolver = resolve_types
    ufunc.__module__ = "lucid_erfinv"
    ufunc.__qualname__ = name
    return ufunc


erfinv = make_ufunc("erfinv", 1, erfinv_data, erfinv_types, "erfinv", erfinv_doc)
erfinv_backward = make_ufunc(
    "erfinv_backward", 2, backward_data, backward_types, "erfinv_backward", backward_doc
)


# Typed memoryviews -------------------------------------------------------------------------------

cdef void write_into(const cython.floating[::1] x, cython.floating[::1] out) noexcept:
    cdef lucid_op *op = &erfinv_ops[<int>(LUCID_F64 if cython.floating is double else LUCID_F32)]
    cdef cnp.npy_intp steps[2]
    cdef char *operands[2]
    steps[0] = steps[1] = sizeof(cython.floating)
    operands[0], operands[1] = <char *>&x[0], <char *>&out[0]
    with nogil:
        lucid_run(op, operands, steps, x.shape[0])


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
        if not (wanted.isascii() and wanted.isdecimal() and 1 <= int(wanted) <= 1024):
            raise ImportError(
                f"LUCID_ERFINV_NUM_THREADS must be an integer from 1 to 1024, got {wanted!r}"
            )
        set_num_threads(int(wanted))
    return 0

read_num_threads()


# For tests and benchmarks ------------------------------------------------------------------------

cdef class Call:
    """A kernel of a level, ready to be run on contiguous arrays of one dtype and size."""

    cdef lucid_op op
    cdef char *operands[3]
    cdef cnp.npy_intp steps[3]
    cdef size_t n
    cdef tuple arrays

    def __init__(self, level, *arrays):
        first = arrays[0]
        if len(arrays) not in (2, 3) or not arrays[len(arrays) - 1].flags.writeable:
            raise ValueError("one or two inputs and a writable output are needed")
        for i, array in enumerate(arrays):
            if array.dtype != first.dtype or array.size != first.size:
                raise ValueError("the arrays must have one dtype and one size")
            if not (array.flags.c_contiguous and array.flags.aligned and array.dtype.isnative):
                raise ValueError("the arrays must be contiguous, aligned and of native byte order")
            self.operands[i] = <char *>cnp.PyArray_DATA(array)
            self.steps[i] = array.itemsize
        types = {"d": LUCID_F64, "f": LUCID_F32, "e": LUCID_F16}
        number = LUCID_BF16 if is_bfloat16(first.dtype) else types[first.dtype.char]
        if len(arrays) == 2:
            self.op = lucid_erfinv_op(find_level(level), number)
        else:
            self.op = lucid_backward_op(find_level(level), number)
        self.n = first.size
        self.arrays = arrays

    cdef void run(self) noexcept nogil:
        lucid_run(&self.op, self.operands, self.steps, self.n)


def _erfinv_at(level, x, out):
    """erfinv of one contiguous array into another of its dtype, at the named level."""
    cdef Call call = Call(level, x, out)
    with nogil:
        call.run()
    return out


def _backward_at(level, grad_out, y, out):
    """erfinv_backward of contiguous arrays of one dtype, at the named level."""
    cdef Call call = Call(level, grad_out, y, out)
    with nogil:
        call.run()
    return out


def _bench_at(level, *arrays_and_repeat):
    """Seconds that `repeat` calls of a level's kernel take, called from C: (x, out, repeat) for
    erfinv, (grad_out, y, out, repeat) for its gradient."""
    *arrays, repeat = arrays_and_repeat
    cdef Call call = Call(level, *arrays)
    cdef size_t count = repeat, _
    start = time.perf_counter()
    with nogil:
        for _ in range(count):
            call.run()
    return time.perf_counter() - start


ctypedef void MklFunction(int n, const void *x, void *y, int64_t mode) noexcept nogil


def _bench_mkl(size_t address, int64_t mode, cnp.ndarray x, cnp.ndarray out, size_t repeat):
    """Seconds that `repeat` calls of an MKL vector function at `address` take, called from C."""
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
