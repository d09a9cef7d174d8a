"""erfinv for PyTorch tensors on the CPU, with a gradient within 1 ulp.

Eager calls go through `torch.autograd.Function`: reverse and forward mode, twice and more often,
`vmap` and `torch.func`. Compiled ones go through a custom op, which the compiler takes as it is;
what PyTorch does not offer with those raises. docs/frameworks.md lists it.
"""

from typing import Any

import numpy as np
import torch
from torch.autograd import Function, forward_ad

from . import _ufunc
from .schema import FLOATS, floating_dtype, numpy_dtype

__all__ = ["erfinv"]

DTYPES = {getattr(torch, name) for name in FLOATS}


def erfinv(x: torch.Tensor) -> torch.Tensor:
    """Inverse error function of a tensor, in PyTorch's graph.

    Parameters
    ----------
    x : Tensor of float64, float32, float16, bfloat16, integers or bool, any shape
        On the CPU. Integers and bool are computed in float64; bfloat16 needs ml_dtypes.

    Returns
    -------
    Tensor
        The bits that `lucid_erfinv.erfinv` gives. Nothing warns; inf at 1, NaN above.

    Raises
    ------
    TypeError
        If `x` is no tensor or its dtype is another.
    RuntimeError
        If `x` is not a dense tensor on the CPU, or forward mode meets `torch.compile`.

    Examples
    --------
    >>> import torch
    >>> from lucid_erfinv.torch import erfinv
    >>> x = torch.tensor([0.0, 0.5, 1.0], dtype=torch.float64, requires_grad=True)
    >>> y = erfinv(x)
    >>> y.tolist()
    [0.0, 0.4769362762044699, inf]
    >>> y.backward(torch.tensor([1.0, 1.0, 0.0]))
    >>> x.grad.tolist()
    [0.886226925452758, 1.1125848189719498, 0.0]
    """
    if not isinstance(x, torch.Tensor):
        raise TypeError(f"`x` must be a torch.Tensor, got {type(x).__name__}")
    if x.device.type != "cpu" or x.layout != torch.strided:
        raise RuntimeError(
            f"`x` must be a dense tensor on the CPU, got {x.layout} on {x.device}: "
            "move it there, or use torch.erfinv, which rounds otherwise"
        )
    if x.dtype not in DTYPES:
        x = cast(x, floating_dtype(x.dtype))
    if torch.compiler.is_compiling():
        # A condition on a global: the compiler guards it, and compiles again when it changes.
        return erfinv_op(x, forward_mode=forward_ad._current_level >= 0)
    return Erfinv.apply(x)


def cast(x: torch.Tensor, name: str) -> torch.Tensor:
    return x.to(getattr(torch, name))


# Eager --------------------------------------------------------------------------------------------


class Erfinv(Function):
    """y = erfinv(x)."""

    @staticmethod
    def forward(x: torch.Tensor) -> torch.Tensor:
        return erfinv_op(x)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[torch.Tensor], output: torch.Tensor) -> None:
        ctx.save_for_backward(output)
        ctx.save_for_forward(output)

    @staticmethod
    def backward(ctx: Any, g: torch.Tensor) -> torch.Tensor:
        return Backward.apply(g, *ctx.saved_tensors)

    jvp = backward  # the derivative is its own transpose

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int], x: torch.Tensor) -> tuple[torch.Tensor, int]:
        return Erfinv.apply(x), in_dims[0]


class Backward(Function):
    """erfinv_backward(g, y), linear in g."""

    @staticmethod
    def forward(g: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return backward_op(g, y)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[torch.Tensor, ...], output: torch.Tensor) -> None:
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)

    @staticmethod
    def backward(ctx: Any, h: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        g, y = ctx.saved_tensors
        return Backward.apply(h, y), by_output(y, Backward.apply(h * g, y))

    @staticmethod
    def jvp(ctx: Any, dg: torch.Tensor | None, dy: torch.Tensor | None) -> torch.Tensor:
        g, y = ctx.saved_tensors
        by_g = 0 if dg is None else Backward.apply(dg, y)
        by_y = 0
        if dy is not None:
            dead = (g == 0) & y.isinf()  # where dy, too, may be infinite
            by_y = by_output(y, Backward.apply(dy.masked_fill(dead, 0) * g, y))
        return by_g + by_y

    @staticmethod
    def vmap(
        info: Any, in_dims: tuple[int | None, int | None], *operands: torch.Tensor
    ) -> tuple[torch.Tensor, int]:
        return Backward.apply(*batch_first(info, in_dims, operands)), 0


def by_output(y: torch.Tensor, gradient: torch.Tensor) -> torch.Tensor:
    """The derivative of erfinv_backward(g, y) = gradient by y."""
    # Cut off where the gradient is 0 or infinite anyway: 0 stays 0 at a pole.
    return 2 * y.clamp(-(2**14), 2**14) * gradient


# The ops ------------------------------------------------------------------------------------------


def as_numpy(x: torch.Tensor) -> np.ndarray[Any, Any]:
    """The same memory."""
    x = x.detach().resolve_neg()
    by_bits = x.dtype == torch.bfloat16  # which NumPy lacks
    values: np.ndarray[Any, Any] = (x.view(torch.int16) if by_bits else x).numpy()
    return values.view(numpy_dtype("bfloat16")) if by_bits else values


@torch.library.custom_op("lucid_erfinv::erfinv", mutates_args=(), device_types="cpu")
def erfinv_op(x: torch.Tensor, forward_mode: bool = False) -> torch.Tensor:
    y = torch.empty_like(x)
    with np.errstate(all="ignore"):
        _ufunc.erfinv(as_numpy(x), out=as_numpy(y))
    return y


@torch.library.custom_op("lucid_erfinv::erfinv_backward", mutates_args=(), device_types="cpu")
def backward_op(g: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    gradient = torch.empty_like(y)
    with np.errstate(all="ignore"):
        _ufunc.erfinv_backward(as_numpy(g), as_numpy(y), out=as_numpy(gradient))
    return gradient


@erfinv_op.register_fake
def _(x: torch.Tensor, forward_mode: bool = False) -> torch.Tensor:
    if forward_mode:  # the op would drop the tangents
        raise RuntimeError("erfinv has no forward mode inside torch.compile: call it outside")
    return torch.empty_like(x)


@backward_op.register_fake
def _(g: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return torch.empty_like(y)


def save_output(ctx: Any, inputs: tuple[Any, ...], output: torch.Tensor) -> None:
    ctx.save_for_backward(output)


def save_inputs(ctx: Any, inputs: tuple[Any, ...], output: torch.Tensor) -> None:
    ctx.save_for_backward(*inputs)


def erfinv_gradient(ctx: Any, g: torch.Tensor) -> tuple[torch.Tensor, None]:
    return backward_op(g, *ctx.saved_tensors), None


def backward_gradient(ctx: Any, h: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    g, y = ctx.saved_tensors
    return backward_op(h, y), by_output(y, backward_op(h * g, y))


erfinv_op.register_autograd(erfinv_gradient, setup_context=save_output)
backward_op.register_autograd(backward_gradient, setup_context=save_inputs)


@erfinv_op.register_vmap
def _(
    info: Any, in_dims: tuple[int, None], x: torch.Tensor, forward_mode: bool = False
) -> tuple[torch.Tensor, int]:
    return erfinv_op(x, forward_mode), in_dims[0]


@backward_op.register_vmap
def _(info: Any, in_dims: Any, *operands: torch.Tensor) -> tuple[torch.Tensor, int]:
    return backward_op(*batch_first(info, in_dims, operands)), 0


def batch_first(info: Any, in_dims: Any, operands: tuple[torch.Tensor, ...]) -> list[torch.Tensor]:
    return [
        x.expand(info.batch_size, *x.shape) if dim is None else x.movedim(dim, 0)
        for x, dim in zip(operands, in_dims, strict=True)
    ]
