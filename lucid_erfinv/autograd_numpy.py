"""erfinv for HIPS autograd, with a gradient within 1 ulp."""

from typing import Any

import autograd.numpy as anp
import numpy as np
from autograd.extend import defjvp, defvjp, primitive

from . import _ufunc
from .schema import floating_dtype, numpy_dtype

__all__ = ["erfinv"]


def erfinv(x: Any) -> Any:
    """Inverse error function of an array, in autograd's graph.

    Parameters
    ----------
    x : array_like of float64, float32, float16, bfloat16, integers or bool, any shape
        Integers and bool are computed in float64.

    Returns
    -------
    ndarray or scalar
        The bits that `lucid_erfinv.erfinv` gives, with its warnings.

    Raises
    ------
    TypeError
        If the dtype is another.

    Examples
    --------
    >>> from autograd import grad
    >>> from lucid_erfinv.autograd_numpy import erfinv
    >>> float(grad(erfinv)(0.5))
    1.1125848189719498
    >>> float(grad(grad(erfinv))(0.5))
    1.1807463499934001
    """
    if not hasattr(x, "dtype"):
        x = anp.array(x)
    return differentiable(cast(x, floating_dtype(x.dtype)))


def cast(x: Any, name: str) -> Any:
    dtype = numpy_dtype(name)
    return x if x.dtype == dtype else x.astype(dtype)


differentiable = primitive(_ufunc.erfinv)


@primitive
def backward(g: Any, y: Any) -> Any:
    # autograd's cotangents may be float64 where y is not.
    return _ufunc.erfinv_backward(np.asarray(g, y.dtype), y)


def by_output(y: Any, gradient: Any) -> Any:
    """The derivative of erfinv_backward(g, y) = gradient by y."""
    # Cut off where the gradient is 0 or infinite anyway: 0 stays 0 at a pole.
    return 2 * anp.clip(y, -(2.0**14), 2.0**14) * gradient


def by_output_forward(dy: Any, gradient: Any, g: Any, y: Any) -> Any:
    dead = (g == 0) & anp.isinf(y)  # where dy, too, may be infinite
    return by_output(y, backward(anp.where(dead, 0.0, dy) * g, y))


defvjp(differentiable, lambda y, x: lambda g: backward(g, y))
defjvp(differentiable, lambda dx, y, x: backward(dx, y))
defvjp(
    backward,
    lambda gradient, g, y: lambda h: backward(h, y),
    lambda gradient, g, y: lambda h: by_output(y, backward(h * g, y)),
)
defjvp(backward, lambda dg, gradient, g, y: backward(dg, y), by_output_forward)
