"""Back ends: what computes erfinv where, and which one an array goes to."""

import sys
from importlib.util import find_spec
from typing import Any, NoReturn, Protocol

import numpy as np

from .cpu import Cpu
from .mlx import Mlx

Array = np.ndarray[Any, np.dtype[Any]]


class Backend(Protocol):
    """What every back end has.

    Attributes
    ----------
    name, device : str
        What it is called and what it runs on.
    dtypes : tuple of str
        The names of the dtypes that it honours; it refuses the rest.
    """

    name: str
    device: str
    dtypes: tuple[str, ...]

    def is_available(self) -> bool:
        """Whether it can be used here."""

    def why_not(self) -> str | None:
        """What is missing and how to get it; None if it is available."""

    def erfinv(self, a: Any, shape: tuple[int, ...], dt: Any) -> Any:
        """Return erfinv of `a`, whose shape is `shape`, in the dtype `dt`."""

    def erfinv_backward(self, g: Any, y: Any) -> Any:
        """Return `g` times the derivative of erfinv, from its output `y`."""


class Missing:
    """A back end that this build or this machine does not have."""

    dtypes: tuple[str, ...] = ()

    def __init__(self, name: str, device: str, reason: str) -> None:
        self.name = name
        self.device = device
        self.reason = reason

    def __repr__(self) -> str:
        return f"<missing back end {self.name}>"

    def is_available(self) -> bool:
        """Return False."""
        return False

    def why_not(self) -> str:
        """Return what is missing."""
        return self.reason

    def erfinv(self, a: object, shape: tuple[int, ...], dt: object) -> NoReturn:
        """Raise a RuntimeError that says what is missing."""
        raise RuntimeError(f"back end {self.name} is not available: {self.reason}")

    def erfinv_backward(self, g: object, y: object) -> NoReturn:
        """Raise a RuntimeError that says what is missing."""
        raise RuntimeError(f"back end {self.name} is not available: {self.reason}")


# By the package that an array's type comes from: the adapter that computes it.
_ADAPTERS = {
    "torch": "torch",
    "jax": "jax",
    "jaxlib": "jax",
    "mlx": "mlx",
    "autograd": "autograd_numpy",
}


def adapter_of(x: object) -> str | None:
    """Name of the adapter for an array of a framework; None for NumPy's and the rest."""
    for kind in type(x).__mro__:
        adapter = _ADAPTERS.get(kind.__module__.partition(".")[0])
        if adapter is not None:
            return adapter
    return None


def is_masked(x: object) -> bool:
    """Whether x is a masked array; numpy.ma is not loaded until there is one."""
    masked = sys.modules.get("numpy.ma")
    return masked is not None and isinstance(x, masked.MaskedArray)


def numpy_array(x: object, argument: str) -> Array:
    """An array without its subclass, unless that would lose a mask or a framework's graph."""
    adapter = adapter_of(x)
    if adapter is not None or is_masked(x):
        where = f"lucid_erfinv.{adapter}" if adapter else "lucid_erfinv.ops.erfinv"
        kind = type(x)
        raise TypeError(
            f"`{argument}` must be a NumPy array, got {kind.__module__}.{kind.__qualname__}, "
            f"which {where} takes"
        )
    return np.asarray(x)


def metal_backend() -> Backend:
    if find_spec("lucid_erfinv._metal"):
        try:
            from .metal import Metal
        except ImportError as error:  # the system's Metal is not that of the build
            return Missing("metal", "gpu", f"its extension module does not load: {error}")
        return Metal()
    if sys.platform == "darwin":
        return Missing(
            "metal",
            "gpu",
            "this build has no Metal part; to have it, pip install mlx-metal (for Apple silicon), "
            "then rebuild with -Csetup-args=-Dmetal=enabled",
        )
    return Missing("metal", "gpu", "it needs macOS on Apple silicon")


BACKENDS: dict[str, Backend] = {
    backend.name: backend
    for backend in (
        Cpu(),
        metal_backend(),
        Mlx() if find_spec("mlx") else Missing("mlx", "gpu", "pip install 'lucid_erfinv[mlx]'"),
    )
}
