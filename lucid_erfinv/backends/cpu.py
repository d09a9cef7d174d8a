"""The CPU back end: NumPy arrays, and whatever has the buffer protocol."""

from typing import Any

import numpy as np

from .. import _ufunc
from ..schema import FLOATS, dtype_name, numpy_dtype


class Cpu:
    """The ufuncs, at the kernel level that was chosen at import."""

    name = "cpu"
    device = "cpu"
    dtypes: tuple[str, ...] = FLOATS

    def __repr__(self) -> str:
        return "<back end cpu>"

    def is_available(self) -> bool:
        """Return True: it is in every build."""
        return True

    def why_not(self) -> None:
        """Return None: nothing is missing."""
        return None

    def erfinv(self, a: Any, shape: tuple[int, ...], dt: Any) -> Any:
        """Return erfinv of `a` in the dtype `dt`.

        Parameters
        ----------
        a : array_like
            Real, or a buffer.
        shape : tuple of int
            The result's, which is that of `a`.
        dt : dtype
            The result's; `a` is cast to it first, as NumPy's same_kind casting allows.

        Returns
        -------
        ndarray
            A new one; a subclass's if `a` has one.

        Raises
        ------
        ValueError
            If `shape` is not that of `a`.
        TypeError
            If `dt` is not in `dtypes`, or `a` cannot be cast to it.
        """
        if np.shape(a) != tuple(shape):
            raise ValueError(f"`shape` must be that of `a`, {np.shape(a)}, got {tuple(shape)}")
        name = dtype_name(dt)
        if name not in self.dtypes:
            raise TypeError(f"back end cpu computes in {', '.join(self.dtypes)}, not in {name}")
        return np.asanyarray(_ufunc.erfinv(a, dtype=numpy_dtype(name)))

    def erfinv_backward(self, g: Any, y: Any) -> Any:
        """Return `g` times the derivative of erfinv where its output is `y`.

        Parameters
        ----------
        g, y : array_like
            Gradient of the output, and the output; they broadcast.

        Returns
        -------
        ndarray
            As `lucid_erfinv.erfinv_backward` computes it.
        """
        return np.asanyarray(_ufunc.erfinv_backward(g, y))
