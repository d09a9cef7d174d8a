"""The Metal back end: NumPy arrays, and memory that is kept, on the GPU of a Mac."""

from __future__ import annotations

import mmap
from contextlib import ExitStack
from math import prod
from threading import Lock
from types import TracebackType
from typing import Any

import numpy as np

from .. import _metal
from ..schema import dtype_name, numpy_dtype
from . import Array, numpy_array

PAGE = mmap.PAGESIZE
_MOST = 2**31  # elements that a kernel is run on


class Buffer:
    """An array in memory that CPU and GPU share, to be used again and again without a copy.

    Parameters
    ----------
    shape : int or tuple of int
        At least one element.
    dtype : {float32, float16, bfloat16}
        NumPy's or ml_dtypes' dtype, or its name.

    Attributes
    ----------
    shape : tuple of int
    dtype : numpy.dtype

    Raises
    ------
    TypeError
        If the dtype is another; float64 is one that no GPU of Apple's has.
    ValueError
        If it has no elements, or is larger than a buffer may be. After `close`, from all methods.
    MemoryError
        If there is no memory for it.

    Notes
    -----
    `Metal.buffer` makes one. As a context manager it closes itself; `numpy()` views of it stay
    valid, and keep the memory, as long as they exist. Read one only when the calls that write to
    it are done.
    """

    def __init__(self, device: _metal.Device, shape: int | tuple[int, ...], dtype: object) -> None:
        self.shape = np.broadcast_shapes(shape)
        self.dtype = numpy_dtype(checked(dtype_name(dtype)))
        size, most = prod(self.shape), most_elements(device, self.dtype)
        if not 0 < size <= most:
            raise ValueError(f"a buffer of {self.dtype} has from 1 to {most} elements, not {size}")
        self._memory = device.allocate(size * self.dtype.itemsize)

    def numpy(self) -> Array:
        """Return the memory as an array."""
        return np.frombuffer(memoryview(self._memory), self.dtype).reshape(self.shape)

    def close(self) -> None:
        """Give the memory back, now or when the last view of it has gone."""
        self._memory.close()

    def __enter__(self) -> Buffer:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


class Pending:
    """A result that the GPU may still be computing."""

    def __init__(self, out: Array | Buffer) -> None:
        self._out = out
        self._calls: list[tuple[_metal.Call, Array | None, _metal.Buffer]] = []
        self._lock = Lock()

    def done(self) -> bool:
        """Return whether `result` would not wait."""
        return all(call.finished() for call, _, _ in self._calls)

    def result(self) -> Array | Buffer:
        """Wait, and return `out`, or the new array.

        Raises
        ------
        RuntimeError
            If the GPU has failed; with Metal's reason.
        """
        with self._lock:
            with ExitStack() as waiting:  # for all of them, also where one has failed
                for call, _, _ in self._calls:
                    waiting.callback(call.wait)
            for _, target, memory in self._calls:
                if target is not None:
                    target[...] = np.frombuffer(memoryview(memory), target.dtype)
            self._calls = []
        return self._out


class Metal:
    """The GPU, opened when it is first needed.

    Results are the CPU's, bit for bit (docs/accuracy-metal.md). No floating-point flag is raised,
    and nothing warns: a GPU has no flags.
    """

    name = "metal"
    device = "gpu"
    dtypes: tuple[str, ...] = ("float32", "float16", "bfloat16")

    def __init__(self) -> None:
        self._opened: _metal.Device | None = None
        self._lock = Lock()

    def __repr__(self) -> str:
        return "<back end metal>"

    def is_available(self) -> bool:
        """Return whether there is a GPU and the shader compiles for it."""
        return self.why_not() is None

    def why_not(self) -> str | None:
        """Return what Metal says against it; None if it is available."""
        try:
            self._open()
        except (RuntimeError, MemoryError) as error:
            return str(error)
        return None

    def _open(self) -> _metal.Device:
        with self._lock:
            if self._opened is None:
                self._opened = _metal.Device()
            return self._opened

    def buffer(self, shape: int | tuple[int, ...], dtype: object) -> Buffer:
        """Return a new `Buffer`, whose elements are zero."""
        return Buffer(self._open(), shape, dtype)

    def erfinv(self, a: Any, shape: tuple[int, ...], dt: Any) -> Array:
        """Return erfinv of `a` in the dtype `dt`.

        Parameters
        ----------
        a : array_like
            Real.
        shape : tuple of int
            The result's, which is that of `a`.
        dt : dtype
            The result's; `a` is cast to it first, as NumPy's same_kind casting allows.

        Returns
        -------
        ndarray
            A new one.

        Raises
        ------
        ValueError
            If `shape` is not that of `a`.
        TypeError
            If `dt` is not in `dtypes`, or `a` cannot be cast to it.
        RuntimeError
            If there is no GPU, or it fails.
        MemoryError
            If there is no memory for a buffer.
        """
        a = numpy_array(a, "a")
        if a.shape != tuple(shape):
            raise ValueError(f"`shape` must be that of `a`, {a.shape}, got {tuple(shape)}")
        dtype = numpy_dtype(checked(dtype_name(dt)))
        return np.asarray(self.submit(a.astype(dtype, casting="same_kind", copy=False)).result())

    def erfinv_backward(self, g: Any, y: Any) -> Array:
        """Return `g` times the derivative of erfinv where its output is `y`.

        Parameters
        ----------
        g, y : array_like
            Gradient of the output, and the output; they broadcast.

        Returns
        -------
        ndarray
            In NumPy's result type of the two.

        Raises
        ------
        TypeError
            If the result type is not in `dtypes`, or bfloat16 is mixed with float16.
        RuntimeError
            If there is no GPU, or it fails.
        MemoryError
            If there is no memory for a buffer.
        """
        scalars = [x if type(x) in (bool, int, float) else None for x in (g, y)]
        g, y = numpy_array(g, "g"), numpy_array(y, "y")
        if {g.dtype.name, y.dtype.name} == {"float16", "bfloat16"}:
            raise TypeError("erfinv_backward does not mix bfloat16 with float16")
        # Python's scalars take the other's dtype.
        kinds = [a if x is None else x for x, a in zip(scalars, (g, y), strict=True)]
        dtype = numpy_dtype(checked(np.result_type(*kinds).name))
        g, y = np.broadcast_arrays(g.astype(dtype, copy=False), y.astype(dtype, copy=False))
        return np.asarray(self.submit_backward(g, y).result())

    def submit(self, x: Array | Buffer, out: Array | Buffer | None = None) -> Pending:
        """Start to compute erfinv and do not wait; many calls may be on their way.

        Parameters
        ----------
        x : ndarray or Buffer
            Of a dtype in `dtypes`; it must not change before the result is there.
        out : ndarray or Buffer, optional
            Shape and dtype of `x`; contiguous. It may be `x` itself, but not overlap it otherwise.

        Returns
        -------
        Pending
            Its `result()` is `out`, or a new array.

        Raises
        ------
        TypeError, ValueError
            If dtypes or shapes do not fit.
        RuntimeError, MemoryError
            As from `erfinv`.

        Notes
        -----
        Calls on one `Buffer` follow each other. An array that a call writes to may be given to
        another one only after `result()`.
        """
        return self._start("erfinv", {"x": x}, out)

    def submit_backward(
        self, g: Array | Buffer, y: Array | Buffer, out: Array | Buffer | None = None
    ) -> Pending:
        """Start to compute the gradient and do not wait: as `submit`, `g` and `y` of one shape."""
        return self._start("erfinv_backward", {"g": g, "y": y}, out)

    def _start(
        self,
        function: str,
        inputs: dict[str, Array | Buffer],
        out: Array | Buffer | None,
    ) -> Pending:
        device = self._open()
        arrays = [array_of(name, x) for name, x in inputs.items()]
        shape, dtype = arrays[0].shape, numpy_dtype(checked(arrays[0].dtype.name))
        # `target` goes on after a new array's elements, to the end of their last page.
        if out is None:
            target = new_pages(prod(shape), dtype)
            out = target[: prod(shape)].reshape(shape)
        else:
            target = array_of("out", out)
        check_operands(dict(zip(inputs, arrays, strict=True)), array_of("out", out), shape, dtype)
        operands = [
            x if isinstance(x, Buffer) else np.ascontiguousarray(array).reshape(-1)
            for x, array in zip(inputs.values(), arrays, strict=True)
        ]
        operands.append(out if isinstance(out, Buffer) else target.reshape(-1))
        pending = Pending(out)
        begin, size, most = 0, prod(shape), most_elements(device, dtype)
        while begin < size:
            end = end_of_part(operands, begin, size, most, dtype.itemsize)
            parts = [
                place(device, x, begin, end, fill=i < len(inputs)) for i, x in enumerate(operands)
            ]
            call = device.submit((function, dtype.name), [part[:2] for part in parts], end - begin)
            memory, _, copied = parts[-1]
            pending._calls.append((call, copied, memory))
            begin = end
        return pending


def checked(name: str) -> str:
    if name == "float64":
        raise TypeError("back end metal has no float64: the GPU has none; back end cpu has it")
    if name not in Metal.dtypes:
        raise TypeError(f"back end metal computes in {', '.join(Metal.dtypes)}, not in {name}")
    return name


def array_of(name: str, operand: Array | Buffer) -> Array:
    if isinstance(operand, Buffer):
        return operand.numpy()
    if not isinstance(operand, np.ndarray):
        raise TypeError(f"`{name}` must be an ndarray or a Buffer, got {type(operand).__name__}")
    return numpy_array(operand, name)


def check_operands(
    inputs: dict[str, Array], out: Array, shape: tuple[int, ...], dtype: np.dtype[Any]
) -> None:
    for name, x in [*inputs.items(), ("out", out)]:
        if x.dtype != dtype or not x.dtype.isnative:
            raise TypeError(f"`{name}` must be of dtype {dtype}, got {x.dtype}")
        if x.shape != shape:
            raise ValueError(f"`{name}` must have the shape {shape}, got {x.shape}")
    if not (out.flags.c_contiguous and out.flags.writeable):
        raise ValueError("`out` must be contiguous and writable")
    for name, x in inputs.items():
        same = x.ctypes.data == out.ctypes.data and x.strides == out.strides
        if np.may_share_memory(x, out) and not same:
            raise ValueError(f"`out` overlaps `{name}` without being the same memory")


# Memory ------------------------------------------------------------------------------------------


def most_elements(device: _metal.Device, dtype: np.dtype[Any]) -> int:
    """Return how many fit into a buffer of whole pages, and into a kernel's grid."""
    return min(device.longest // PAGE * PAGE // dtype.itemsize, _MOST)


def new_pages(count: int, dtype: np.dtype[Any]) -> Array:
    """A new array of at least `count` elements, on pages of its own."""
    if count == 0:
        return np.empty(0, dtype)
    # Private, as all memory is in a forked process.
    pages = mmap.mmap(-1, page_end(count * dtype.itemsize), mmap.MAP_PRIVATE | mmap.MAP_ANON)
    return np.frombuffer(pages, dtype)


def page_end(nbytes: int) -> int:
    return -(-nbytes // PAGE) * PAGE


def pages_of(x: Array, begin: int, end: int) -> int:
    """Bytes of the pages with elements begin to end - 1; 0 if they have bytes of others, too."""
    rest = x[begin:]
    nbytes = page_end((end - begin) * x.itemsize)
    return nbytes if rest.ctypes.data % PAGE == 0 and nbytes <= rest.nbytes else 0


def end_of_part(
    operands: list[Array | Buffer], begin: int, size: int, most: int, itemsize: int
) -> int:
    """Where a part that begins there ends: as `most` allows, and with whole pages of arrays.

    So the rest of an array's last page is a part of its own, which is copied: it is small.
    """
    end = min(size, begin + most)
    whole = begin + (end - begin) * itemsize // PAGE * PAGE // itemsize
    arrays = [x for x in operands if isinstance(x, np.ndarray)]
    if whole > begin and any(
        pages_of(x, begin, whole) and not pages_of(x, begin, end) for x in arrays
    ):
        return whole
    return end


def place(
    device: _metal.Device, x: Array | Buffer, begin: int, end: int, *, fill: bool
) -> tuple[_metal.Buffer, int, Array | None]:
    """Elements begin to end - 1: a buffer, where in it they are, and what they are a copy of."""
    if isinstance(x, Buffer):
        return x._memory, begin * x.dtype.itemsize, None
    part = x[begin:end]
    nbytes = pages_of(x, begin, end)
    memory = device.wrap(part.ctypes.data, nbytes, x) if nbytes else None
    if memory is not None:
        return memory, 0, None
    memory = device.allocate(part.nbytes)
    if fill:
        memory.copy_from(part.view(np.uint8))
    return memory, 0, part
