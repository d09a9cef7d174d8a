"""The autograd node of erfinv, for NumPy arrays."""

import math
import sys
from typing import Any, ClassVar

import numpy as np

from .backends import BACKENDS, Array, Backend, numpy_array
from .schema import FLOATS, INTEGERS, AmpPolicy, OpSchema, dtype_name, numpy_dtype, register_op


class ErfinvBackward:
    """Node of erfinv in a graph: dy/dx = sqrt(pi)/2 * exp(y*y), from the saved y.

    It is no autograd engine, but what one needs: `forward` computes and saves, `apply` turns the
    gradient of the output into that of the input. For the arrays of frameworks that have an
    engine, see `ops.erfinv`.

    Attributes
    ----------
    schema_v1 : OpSchema
        Registered as "erfinv".
    kSavesInput, kSavesOutput : bool
        False and True: the saved array is y.
    saved_output : ndarray
        That array.

    Examples
    --------
    >>> import numpy as np
    >>> from lucid_erfinv import ErfinvBackward
    >>> y, node = ErfinvBackward.forward(np.array([0.0, 0.5, 1.0]))
    >>> y
    array([0.        , 0.47693628,        inf])
    >>> node.apply(np.array([1.0, 1.0, 0.0]))
    array([0.88622693, 1.11258482, 0.        ])
    """

    schema_v1: ClassVar = register_op(
        OpSchema(
            name="erfinv",
            version=1,
            amp_policy=AmpPolicy.Promote,
            deterministic=True,
            real_valued=True,
        )
    )
    kSavesInput: ClassVar = False
    kSavesOutput: ClassVar = True

    __slots__ = ("_backend", "_input_dtype", "_saved")

    def __init__(self, backend: Backend, y: Array, input_dtype: np.dtype[Any]) -> None:
        self._backend = backend
        self._saved: Array | None = y
        self._input_dtype = input_dtype

    @classmethod
    def forward(cls, x: Any) -> "tuple[Array, ErfinvBackward]":
        """Compute erfinv and make the node.

        Parameters
        ----------
        x : array_like of float64, float32, float16, bfloat16, integers or bool, any shape
            Computed in its dtype, or in that of `autocast`; integers and bool in float64.

        Returns
        -------
        y : ndarray
            erfinv(x), read-only since it is saved: no copy is made.
        node : ErfinvBackward

        Raises
        ------
        TypeError
            If the dtype is another, or `x` is a masked array or a framework's.
        """
        a = numpy_array(x, "x")
        dtype = numpy_dtype(cls.schema_v1.compute_dtype(a.dtype))
        backend = BACKENDS["cpu"]
        y: Array = cls.dispatch(backend, a.astype(dtype, copy=False), a.shape, dtype)
        y.flags.writeable = False
        return y, cls(backend, y, y.dtype if a.dtype.name in INTEGERS else a.dtype)

    @staticmethod
    def dispatch(be: Backend, a: Any, shape: tuple[int, ...], dt: Any) -> Any:
        """Have a back end compute.

        Parameters
        ----------
        be : back end
            One of `backends.BACKENDS`, or another object with its methods.
        a : array
            Of a kind that `be` takes.
        shape, dt : tuple of int, dtype
            Those of the result.

        Returns
        -------
        array

        Raises
        ------
        ValueError
            If `shape` is not that of `a`.
        TypeError
            If `be` does not honour `dt`.
        RuntimeError
            If `be` is not available here.
        """
        return be.erfinv(a, shape, dt)

    @property
    def saved_output(self) -> Array:
        """The output that `forward` returned; a RuntimeError after `release_saved`."""
        if self._saved is None:
            raise RuntimeError("the saved output is gone: release_saved() was called")
        return self._saved

    def release_saved(self) -> None:
        """Drop the saved output; the node can no longer be applied."""
        self._saved = None

    def _unchanged_output(self) -> Array:
        y = self.saved_output
        if y.flags.writeable:
            raise RuntimeError("the saved output was made writable, so it may have been changed")
        return y

    def grad_formula(self, g: Any) -> Array:
        """Return the gradient by the fused kernel, within 1 ulp of `g` times the derivative at x.

        Parameters
        ----------
        g : array_like, shape of y
            Gradient of the output.

        Returns
        -------
        ndarray
            As `erfinv_backward` returns it.

        Raises
        ------
        RuntimeError
            After `release_saved`, or if someone made y writable.
        """
        gradient: Array = self._backend.erfinv_backward(g, self._unchanged_output())
        return gradient

    @staticmethod
    def grad_formula_impl(g: Any, a: Any, out: Any) -> Any:
        """Return the gradient in graph mode: ``sqrt(pi)/2 * exp(out*out) * g``.

        Every operation is one of the arrays' own namespace, so the result stays in the graph of
        their framework and can be differentiated again. Where `g` is 0 the result is too, at the
        poles as well, and so are its derivatives there. Near them it is as exact as ``exp(y*y)``
        from a rounded y can be: 56 ulp in float64, 18 in float32. `grad_formula` is exact to 1.

        Parameters
        ----------
        g : array
            Gradient of the output.
        a : array or None
            The input, which is not needed.
        out : array
            The output, in the framework, dtype and shape of `g`.

        Returns
        -------
        array

        Raises
        ------
        TypeError
            If the arrays' namespace has no `exp` and `where`.
        """
        xp = array_namespace(out)
        # Where exp(out*out) is infinite, 0 times it would be NaN. Below the limit it is finite; no
        # finite erfinv is above 2.5 in float16 and 5.9 in the others.
        limit = 3 if dtype_name(out.dtype) == "float16" else 9
        dead = (g == 0) & (abs(out) > limit)
        y = xp.where(dead, xp.zeros_like(out), out)
        return xp.exp(y * y) * HALF_SQRT_PI * g

    def apply(self, g: Any) -> Array:
        """Return the gradient of the input from that of the output.

        Parameters
        ----------
        g : array_like, real
            Of y's shape, or of one that y's shape broadcasts to: then the gradient is summed over
            the added axes, in float32 if y has 16 bits. It is cast to y's dtype.

        Returns
        -------
        ndarray
            Shape and dtype of x; y's dtype if x was integer or bool.

        Raises
        ------
        ValueError
            If y's shape does not broadcast to that of `g`.
        TypeError
            If `g` is not real floating or integer, is bfloat16 where y is float16 or the other
            way round, or is a framework's.
        RuntimeError
            After `release_saved`, or if someone made y writable.
        """
        y = self._unchanged_output()
        g = numpy_array(g, "g")
        check_gradient(g, y)
        gradient = self.grad_formula(g.astype(y.dtype, copy=False))
        if gradient.shape != y.shape:
            added = gradient.ndim - y.ndim
            stretched = [
                added + i
                for i, (n, m) in enumerate(zip(y.shape, gradient.shape[added:], strict=True))
                if n != m
            ]
            wide = np.float32 if y.itemsize == 2 else None
            gradient = gradient.sum((*range(added), *stretched), wide).reshape(y.shape)
        return gradient.astype(self._input_dtype, copy=False)

    __call__ = apply


HALF_SQRT_PI = math.sqrt(math.pi) / 2


def check_gradient(g: Array, y: Array) -> None:
    name = g.dtype.name
    if name not in FLOATS + INTEGERS:
        raise TypeError(f"`g` must be real floating or integer, got {name}")
    if {name, y.dtype.name} == {"float16", "bfloat16"}:
        raise TypeError(f"`g` is {name} but y is {y.dtype.name}: neither holds the other")
    added = g.ndim - y.ndim
    if added < 0 or any(n not in (1, m) for n, m in zip(y.shape, g.shape[added:], strict=True)):
        raise ValueError(
            f"`g` must have y's shape {y.shape} or one that it broadcasts to, got {g.shape}"
        )


def array_namespace(x: Any) -> Any:
    """The module of x's functions: what x says, else the nearest one around its type's."""
    if hasattr(x, "__array_namespace__"):
        return x.__array_namespace__()
    for kind in type(x).__mro__:
        name = kind.__module__
        while name:
            module = sys.modules.get(name)
            if hasattr(module, "exp") and hasattr(module, "where"):
                return module
            name = name.rpartition(".")[0]
    name = type(x).__name__
    raise TypeError(f"`out` must be an array whose namespace has exp and where, got {name}")
