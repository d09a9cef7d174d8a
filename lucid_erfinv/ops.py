"""Ops on the arrays of any framework."""

from importlib import import_module
from typing import Any

import numpy as np

from . import _ufunc
from .backends import BACKENDS, adapter_of, is_masked
from .node import ErfinvBackward
from .schema import active_dtype, numpy_dtype


def erfinv(x: Any) -> Any:
    """Inverse error function of an array of NumPy, PyTorch, JAX, MLX or HIPS autograd.

    The values are those of `lucid_erfinv.erfinv`, bit for bit. That is a NumPy ufunc, though, and
    given the array of another framework it returns a NumPy one, if anything, with no gradient;
    this one stays in that framework and in its graph.

    Parameters
    ----------
    x : array_like of float64, float32, float16, bfloat16, integers or bool, any shape
        Computed in its dtype, or in that of `autocast`; integers and bool in float64. Types with
        an ``__array_ufunc__`` of their own, as Dask's, xarray's and pandas', decide themselves.

    Returns
    -------
    array
        Of the framework and shape of `x`. A masked array comes back with ``abs(x) > 1`` and NaN
        masked, as from `numpy.ma.arcsin`.

    Raises
    ------
    TypeError
        If the dtype is another; it is named. If a framework does not hold the result's.
    RuntimeError
        If the framework's adapter cannot compute `x` where it is, say on a GPU.

    Examples
    --------
    >>> import numpy as np
    >>> from lucid_erfinv import ops
    >>> ops.erfinv(np.ma.array([0.5, 2.0]))
    masked_array(data=[0.4769362762044699, --],
                 mask=[False,  True],
           fill_value=1e+20)
    """
    schema = ErfinvBackward.schema_v1
    name = adapter_of(x)
    if name is not None:
        adapter = import_module(f"{__package__}.{name}")
        dtype_name = schema.compute_dtype(getattr(x, "dtype", type(x)))
        return adapter.erfinv(adapter.cast(x, dtype_name))
    own_ufuncs = getattr(type(x), "__array_ufunc__", np.ndarray.__array_ufunc__)
    if own_ufuncs is not np.ndarray.__array_ufunc__:
        active = active_dtype()
        return _ufunc.erfinv(x if active is None else x.astype(numpy_dtype(active)))
    a = np.asanyarray(x)
    dtype = numpy_dtype(schema.compute_dtype(a.dtype))
    if is_masked(a):
        outside = ~(abs(np.ma.getdata(a)) <= 1)
        with np.errstate(divide="ignore", invalid="ignore"):
            y = ErfinvBackward.dispatch(BACKENDS["cpu"], a.astype(dtype), a.shape, dtype)
        return np.ma.array(y, mask=outside)[()]
    return ErfinvBackward.dispatch(BACKENDS["cpu"], a.astype(dtype, copy=False), a.shape, dtype)[()]
