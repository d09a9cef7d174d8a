"""What an op declares, the registry of ops, and autocast."""

from contextlib import suppress
from contextvars import ContextVar
from enum import Enum
from threading import get_ident
from typing import NamedTuple

import numpy as np

FLOATS = ("float16", "bfloat16", "float32", "float64")
INTEGERS = ("bool", *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)))


def dtype_name(dtype: object) -> str:
    """The name that NumPy has for a dtype, of whichever framework.

    A framework's, such as torch.float16, has it behind the last dot of its own.
    """
    if isinstance(dtype, (np.dtype, type, str)):
        with suppress(TypeError):  # at "bfloat16", which NumPy knows once ml_dtypes is loaded
            return np.dtype(dtype).name
    return str(dtype).rpartition(".")[2]


def numpy_dtype(name: str) -> np.dtype[np.generic]:
    """The dtype of one of FLOATS; bfloat16 is that of ml_dtypes, loaded here if nobody has yet."""
    if name != "bfloat16":
        return np.dtype(name)
    try:
        import ml_dtypes
    except ModuleNotFoundError:
        raise RuntimeError("bfloat16 needs ml_dtypes: pip install ml_dtypes") from None
    dtype: np.dtype[np.generic] = np.dtype(ml_dtypes.bfloat16)
    return dtype


def floating_dtype(dtype: object) -> str:
    """The name of an input's own dtype: float64 for integers, a TypeError if there is no other."""
    name = dtype_name(dtype)
    if name in INTEGERS:
        return "float64"
    if name not in FLOATS:
        raise TypeError(f"`x` must be real floating or integer, got {name}")
    return name


class AmpPolicy(Enum):
    """What automatic mixed precision does to an op's input.

    Attributes
    ----------
    Promote
        Cast it to the dtype of `autocast`, if one is active.
    KeepInput
        Leave it as it is.
    ForceFP32
        Cast it to float32, active or not.
    """

    Promote = "promote"
    KeepInput = "keep input"
    ForceFP32 = "force float32"


class OpSchema(NamedTuple):
    """What an op declares about itself.

    Attributes
    ----------
    name : str
        What the registry knows it by.
    version : int
        Raised when the meaning of a call changes.
    amp_policy : AmpPolicy
        What autocast does to its input.
    deterministic : bool
        Whether equal inputs always give equal bits.
    real_valued : bool
        Whether complex inputs are refused.
    """

    name: str
    version: int = 1
    amp_policy: AmpPolicy = AmpPolicy.Promote
    deterministic: bool = True
    real_valued: bool = True

    def compute_dtype(self, dtype: object) -> str:
        """Return the name of the dtype that an input is computed in.

        Parameters
        ----------
        dtype : dtype
            The input's, NumPy's or a framework's, or its name.

        Returns
        -------
        str
            By `amp_policy`, another or its own; float64 for booleans and integers.

        Raises
        ------
        TypeError
            If the dtype is none of those, nor float16, bfloat16, float32 or float64.
        """
        own = floating_dtype(dtype)
        active = active_dtype()
        if self.amp_policy is AmpPolicy.ForceFP32:
            return "float32"
        if self.amp_policy is AmpPolicy.Promote and active is not None:
            return active
        return own


# The registry ------------------------------------------------------------------------------------

_registry: dict[str, OpSchema] = {}


def register_op(schema: OpSchema) -> OpSchema:
    """Enter a schema into the registry under its name, and return it.

    Raises
    ------
    ValueError
        If another schema has that name.
    """
    known = _registry.setdefault(schema.name, schema)
    if known != schema:
        raise ValueError(f"op {schema.name!r} is registered already, as {known}")
    return schema


def lookup(name: str) -> OpSchema:
    """Return the schema registered under a name.

    Raises
    ------
    LookupError
        If there is none.
    """
    if name not in _registry:
        raise LookupError(f"no op {name!r}, the registered ones are {', '.join(_registry)}")
    return _registry[name]


# Autocast ----------------------------------------------------------------------------------------

# The dtypes of the `with` blocks around, the innermost last, and the thread that entered each: some
# builds of Python start threads in a copy of their parent's context.
_stack: ContextVar[tuple[tuple[str, int], ...]] = ContextVar("lucid_erfinv_autocast", default=())


def active_dtype() -> str | None:
    """Return the name of the dtype that `autocast` has set here, or None."""
    stack = _stack.get()
    return stack[-1][0] if stack and stack[-1][1] == get_ident() else None


class autocast:  # noqa: N801  # as in the frameworks
    """Context in which ops whose policy is `AmpPolicy.Promote` compute in another dtype.

    It holds for the calling thread and the calling async task (and tasks that this one starts
    within), may be nested, and ends with its block, exception or not. The autocast of other
    frameworks is left alone.

    Parameters
    ----------
    dtype : {float16, bfloat16, float32}
        NumPy's, ml_dtypes' or a framework's dtype, or its name.

    Raises
    ------
    TypeError
        If the dtype is another.

    Examples
    --------
    >>> import numpy as np
    >>> from lucid_erfinv import autocast, ops
    >>> with autocast(np.float16):
    ...     y = ops.erfinv(np.array([0.5]))
    >>> y
    array([0.477], dtype=float16)
    """

    def __init__(self, dtype: object) -> None:
        self.dtype = dtype_name(dtype)
        if self.dtype not in ("float16", "bfloat16", "float32"):
            raise TypeError(f"`dtype` must be float16, bfloat16 or float32, got {self.dtype}")

    def __repr__(self) -> str:
        return f"autocast({self.dtype})"

    def __enter__(self) -> None:
        _stack.set((*_stack.get(), (self.dtype, get_ident())))

    def __exit__(self, *exception: object) -> None:
        _stack.set(_stack.get()[:-1])
