"""erfinv for MLX arrays, computed on the CPU, with a gradient within 1 ulp.

MLX evaluates the argument for it, so `mx.grad`, `mx.vjp` and `mx.jvp` take it, twice and more
often, while `mx.compile` and `mx.vmap` refuse. docs/frameworks.md says what to do instead.
"""

from typing import Any

import mlx.core as mx
import numpy as np

from . import _ufunc
from .schema import floating_dtype, numpy_dtype

__all__ = ["erfinv"]


def erfinv(x: mx.array) -> mx.array:
    """Inverse error function of an array, in MLX's graph.

    Parameters
    ----------
    x : array of float64, float32, float16, bfloat16, integers or bool, any shape
        Integers and bool are computed in float64, which MLX has on the CPU only; bfloat16 needs
        ml_dtypes.

    Returns
    -------
    array
        The bits that `lucid_erfinv.erfinv` gives. Nothing warns.

    Raises
    ------
    TypeError
        If `x` is no MLX array or its dtype is another.
    RuntimeError
        Inside `mx.compile` and `mx.vmap`.

    Examples
    --------
    >>> import mlx.core as mx
    >>> from lucid_erfinv.mlx import erfinv
    >>> erfinv(mx.array(0.5)).item()
    0.4769362807273865
    >>> mx.grad(erfinv)(mx.array(0.5)).item()
    1.1125848293304443
    """
    if not isinstance(x, mx.array):
        raise TypeError(f"`x` must be an mlx.core.array, got {type(x).__name__}")
    return differentiable(cast(x, floating_dtype(x.dtype)))


def cast(x: mx.array, name: str) -> mx.array:
    return x.astype(getattr(mx, name), stream=mx.cpu)


def compute(ufunc: np.ufunc, *operands: mx.array) -> mx.array:
    try:
        values = evaluate(*operands)
    except ValueError as error:
        raise RuntimeError(
            "erfinv evaluates its argument, which MLX allows neither in mx.compile nor in mx.vmap: "
            "call it outside of them, on the whole batch"
        ) from error
    with np.errstate(all="ignore"):
        result = ufunc(*values)
    return mx.array(result, dtype=operands[0].dtype)


def evaluate(*operands: mx.array) -> list[np.ndarray[Any, Any]]:
    """The values of arrays, which stay connected with what they were computed from.

    MLX cuts an evaluated array off from that, and derivatives through it would silently be 0 in
    an outer transformation. Only while it runs a rule for `mx.vjp` it does not.
    """
    values: list[np.ndarray[Any, Any]] = []

    @mx.custom_function
    def identity(x: mx.array) -> mx.array:
        return x

    @identity.vjp
    def _(x: mx.array, g: mx.array, y: mx.array) -> mx.array:
        values.extend(map(as_numpy, operands))
        return g

    mx.vjp(identity, [mx.array(0.0)], [mx.array(0.0)])
    return values


def as_numpy(x: mx.array) -> np.ndarray[Any, Any]:
    """The same memory."""
    if x.dtype == mx.bfloat16:  # which NumPy lacks
        bits = np.array(x.view(mx.uint16, stream=mx.cpu), copy=False)
        return bits.view(numpy_dtype("bfloat16"))
    return np.array(x, copy=False)


# First and higher derivatives ---------------------------------------------------------------------


@mx.custom_function
def differentiable(x: mx.array) -> mx.array:
    return compute(_ufunc.erfinv, x)


@differentiable.vjp
def _(x: mx.array, g: mx.array, y: mx.array) -> mx.array:
    return backward(g, y)


@differentiable.jvp
def _(x: mx.array, dx: mx.array) -> mx.array:
    return backward(dx, differentiable(x))


@mx.custom_function
def backward(g: mx.array, y: mx.array) -> mx.array:
    return compute(_ufunc.erfinv_backward, g, y)


@backward.vjp
def _(inputs: list[mx.array], h: mx.array, gradient: mx.array) -> tuple[mx.array, mx.array]:
    g, y = inputs
    with mx.stream(mx.cpu):
        return backward(h, y), by_output(y, backward(h * g, y))


@backward.jvp
def _(inputs: list[mx.array], tangents: list[mx.array | None]) -> mx.array:
    g, y = inputs
    dg, dy = tangents
    with mx.stream(mx.cpu):
        tangent = mx.zeros_like(y) if dg is None else backward(dg, y)
        if dy is not None:
            dead = (g == 0) & mx.isinf(y)  # where dy, too, may be infinite
            dy = mx.where(dead, mx.zeros_like(dy), dy)
            tangent = tangent + by_output(y, backward(dy * g, y))
        return tangent


def by_output(y: mx.array, gradient: mx.array) -> mx.array:
    """The derivative of erfinv_backward(g, y) = gradient by y."""
    # Cut off where the gradient is 0 or infinite anyway: 0 stays 0 at a pole.
    return 2 * mx.clip(y, -(2**14), 2**14) * gradient
