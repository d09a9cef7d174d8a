"""erfinv for MLX arrays, by the Metal kernels or by the CPU's, with a gradient.

On the CPU, MLX evaluates the argument for it, so `mx.grad`, `mx.vjp` and `mx.jvp` take it, twice
and more often, while `mx.compile` and `mx.vmap` refuse. docs/frameworks.md says what to do instead.
"""

from typing import Any

import mlx.core as mx

from .backends.mlx import Mlx, as_numpy, cast, device_of, is_metal
from .schema import floating_dtype

__all__ = ["as_numpy", "cast", "erfinv"]

backend = Mlx()


def erfinv(x: mx.array) -> mx.array:
    """Inverse error function of an array, in MLX's graph.

    Parameters
    ----------
    x : array of float64, float32, float16, bfloat16, integers or bool, any shape
        Integers and bool are computed in float64, and that on the CPU; the rest on MLX's default
        device. On the CPU bfloat16 needs ml_dtypes.

    Returns
    -------
    array
        The bits that `lucid_erfinv.erfinv` gives. Nothing warns.

    Raises
    ------
    TypeError
        If `x` is no MLX array or its dtype is another.
    RuntimeError
        Inside `mx.compile` and `mx.vmap`, on the CPU.

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
    name = floating_dtype(x.dtype)
    forward = on_gpu if is_metal(device_of(name)) else on_cpu
    return forward(cast(x, name))


# First and higher derivatives, on the same device -------------------------------------------------


def differentiable(device: mx.DeviceType) -> Any:
    @mx.custom_function
    def forward(x: mx.array) -> mx.array:
        return backend.erfinv(x, x.shape, x.dtype, device)

    @forward.vjp
    def _(x: mx.array, g: mx.array, y: mx.array) -> mx.array:
        return backward(g, y)

    @forward.jvp
    def _(x: mx.array, dx: mx.array) -> mx.array:
        return backward(dx, forward(x))

    @forward.vmap
    def _(x: mx.array, axis: int) -> tuple[mx.array, int]:
        return forward(x), axis

    @mx.custom_function
    def backward(g: mx.array, y: mx.array) -> mx.array:
        return backend.erfinv_backward(g, y, device)

    @backward.vjp
    def _(inputs: list[mx.array], h: mx.array, gradient: mx.array) -> tuple[mx.array, mx.array]:
        g, y = inputs
        with mx.stream(device):
            return backward(h, y), by_output(y, backward(h * g, y))

    @backward.jvp
    def _(inputs: list[mx.array], tangents: list[mx.array | None]) -> mx.array:
        g, y = inputs
        dg, dy = tangents
        with mx.stream(device):
            tangent = mx.zeros_like(y) if dg is None else backward(dg, y)
            if dy is not None:
                dead = (g == 0) & mx.isinf(y)  # where dy, too, may be infinite
                dy = mx.where(dead, mx.zeros_like(dy), dy)
                tangent = tangent + by_output(y, backward(dy * g, y))
            return tangent

    @backward.vmap
    def _(inputs: list[mx.array], axes: list[int | None]) -> tuple[mx.array, int]:
        with mx.stream(device):
            first = (
                a if axis is None else mx.moveaxis(a, axis, 0)
                for a, axis in zip(inputs, axes, strict=True)
            )
            return backward(*mx.broadcast_arrays(*first)), 0

    return forward


def by_output(y: mx.array, gradient: mx.array) -> mx.array:
    """The derivative of erfinv_backward(g, y) = gradient by y."""
    # Cut off where the gradient is 0 or infinite anyway: 0 stays 0 at a pole.
    return 2 * mx.clip(y, -(2**14), 2**14) * gradient


on_cpu, on_gpu = differentiable(mx.cpu), differentiable(mx.gpu)
