"""erfinv for JAX arrays, by callbacks to the CPU, with a gradient within 1 ulp.

Two primitives, whose values come from `jax.pure_callback`: erfinv, and its derivative times a
number, linear in that. So JAX derives reverse mode by transposing, and the product itself is
what the host computes: rounded once, where subnormals are not flushed.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir

from . import _ufunc
from .schema import dtype_name, floating_dtype

__all__ = ["erfinv"]


def erfinv(x: Any) -> jax.Array:
    """Inverse error function of an array, in JAX's graph.

    Parameters
    ----------
    x : array_like of float64, float32, float16, bfloat16, integers or bool, any shape
        Integers and bool are computed in float64. A Python float is JAX's default float.

    Returns
    -------
    jax.Array
        The bits that `lucid_erfinv.erfinv` gives, subnormals included. Nothing warns.

    Raises
    ------
    TypeError
        If the dtype is another, or is float64 or integer while JAX has 64-bit types disabled.

    Examples
    --------
    >>> import jax
    >>> from lucid_erfinv.jax import erfinv
    >>> float(erfinv(jax.numpy.float32(0.5)))
    0.4769362807273865
    >>> float(jax.jit(jax.grad(erfinv))(jax.numpy.float32(0.5)))
    1.1125848293304443
    """
    dtype = getattr(x, "dtype", None)
    if dtype is None:
        x = jnp.asarray(x)
        dtype = x.dtype
    return erfinv_p.bind(cast(x, floating_dtype(dtype)))


def cast(x: Any, name: str) -> jax.Array:
    if jax.dtypes.canonicalize_dtype(name) != name:
        raise TypeError(
            f"`x` of {dtype_name(x.dtype)} needs {name}, which JAX has disabled: "
            'cast it, or jax.config.update("jax_enable_x64", True)'
        )
    return jnp.asarray(x).astype(name)


def elementwise(name: str, ufunc: np.ufunc) -> Primitive:
    """A primitive that calls a ufunc on operands of one shape and dtype."""

    def on_host(*operands: jax.Array) -> Any:
        with np.errstate(all="ignore"):
            return ufunc(*map(np.asarray, operands))

    def call(*operands: jax.Array) -> Any:
        result = jax.ShapeDtypeStruct(operands[0].shape, operands[0].dtype)
        return jax.pure_callback(on_host, result, *operands, vmap_method="broadcast_all")

    def batch(operands: Any, axes: Any) -> tuple[Any, int]:
        pairs = list(zip(operands, axes, strict=True))
        size = next(x.shape[axis] for x, axis in pairs if axis is not None)
        return primitive.bind(*(batching.bdim_at_front(x, axis, size) for x, axis in pairs)), 0

    primitive = Primitive(name)
    primitive.def_impl(call)
    primitive.def_abstract_eval(lambda *operands: operands[-1])
    mlir.register_lowering(primitive, mlir.lower_fun(call, multiple_results=False))
    batching.primitive_batchers[primitive] = batch
    return primitive


erfinv_p = elementwise("lucid_erfinv", _ufunc.erfinv)
backward_p = elementwise("lucid_erfinv_backward", _ufunc.erfinv_backward)


def erfinv_jvp(primals: Any, tangents: Any) -> tuple[Any, Any]:
    y = erfinv_p.bind(*primals)
    return y, backward_p.bind(*tangents, y)


def backward_jvp(primals: Any, tangents: Any) -> tuple[Any, Any]:
    g, y = primals
    dg, dy = tangents
    gradient = backward_p.bind(g, y)
    tangent = ad.Zero(jax.typeof(gradient))
    if not isinstance(dg, ad.Zero):
        tangent = backward_p.bind(dg, y)
    if not isinstance(dy, ad.Zero):
        dead = (g == 0) & jnp.isinf(y)  # where dy, too, may be infinite
        by_g = backward_p.bind(jnp.where(dead, 0, dy) * g, y)
        # Cut off where the gradient is 0 or infinite anyway: 0 stays 0 at a pole.
        tangent = ad.add_tangents(tangent, 2 * jnp.clip(y, -(2**14), 2**14) * by_g)
    return gradient, tangent


def backward_transpose(cotangent: Any, g: Any, y: Any) -> tuple[Any, None]:
    if isinstance(cotangent, ad.Zero):
        return ad.Zero(g.aval), None
    return backward_p.bind(cotangent, y), None


ad.primitive_jvps[erfinv_p] = erfinv_jvp
ad.primitive_jvps[backward_p] = backward_jvp
ad.primitive_transposes[backward_p] = backward_transpose
