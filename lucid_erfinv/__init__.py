"""The inverse error function for NumPy arrays, correctly rounded, and its gradient."""

try:
    from ._ufunc import (
        __version__,
        erfinv,
        erfinv_backward,
        erfinv_into,
        get_num_threads,
        set_num_threads,
    )
except ModuleNotFoundError as error:
    if error.name != "lucid_erfinv._ufunc":
        raise
    raise ImportError(
        "lucid_erfinv's compiled module is missing: this is the source folder; "
        "change to another one, or run `python -P`"
    ) from error
from . import ops
from .config import show_config
from .node import ErfinvBackward
from .schema import AmpPolicy, OpSchema, autocast

__all__ = [
    "AmpPolicy",
    "ErfinvBackward",
    "OpSchema",
    "__version__",
    "autocast",
    "erfinv",
    "erfinv_backward",
    "erfinv_into",
    "get_num_threads",
    "ops",
    "set_num_threads",
    "show_config",
]
