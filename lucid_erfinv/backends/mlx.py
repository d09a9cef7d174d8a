"""The MLX back end: the Metal kernels on a Metal GPU, the CPU kernels elsewhere."""

from functools import cache
from typing import Any

import numpy as np

from .. import _ufunc
from ..schema import FLOATS, dtype_name, floating_dtype, numpy_dtype

# By dtype: what the shader's functions are called, and the integers that hold the bits.
_METAL = {
    "float32": ("f32", "uint32"),
    "float16": ("f16", "uint16"),
    "bfloat16": ("bf16", "uint16"),
}

_MOST_THREADS = 2**31 - 1  # MLX counts a grid in int


class Mlx:
    """Arrays of MLX, on the device of the stream: float64, which no GPU has, on the CPU.

    On the GPU the result is one more operation of MLX's graph. On the CPU, and on GPUs without
    Metal, it is computed at once, and mx.compile and mx.vmap refuse it.
    """

    name = "mlx"
    device = "gpu"
    dtypes: tuple[str, ...] = FLOATS

    def __repr__(self) -> str:
        return "<back end mlx>"

    def is_available(self) -> bool:
        """Return True: MLX is installed."""
        return True

    def why_not(self) -> None:
        """Return None: nothing is missing."""
        return None

    def erfinv(self, a: Any, shape: tuple[int, ...], dt: Any, stream: Any = None) -> Any:
        """Return erfinv of `a` in the dtype `dt`.

        Parameters
        ----------
        a : mlx.core.array
            Real.
        shape : tuple of int
            The result's, which is that of `a`.
        dt : dtype
            The result's, MLX's or NumPy's or its name; `a` is cast to it first.
        stream : mlx.core.Stream or Device, optional
            Where to compute; by default MLX's default.

        Returns
        -------
        mlx.core.array
            Cut off from the graph of derivatives: that is `lucid_erfinv.mlx.erfinv`'s.

        Raises
        ------
        ValueError
            If `shape` is not that of `a`.
        TypeError
            If `dt` is not in `dtypes`, or `a` is no MLX array, or complex.
        RuntimeError
            Inside `mx.compile` and `mx.vmap`, unless the GPU computes.
        """
        check_arrays(a=a)
        if a.shape != tuple(shape):
            raise ValueError(f"`shape` must be that of `a`, {a.shape}, got {tuple(shape)}")
        floating_dtype(a.dtype)
        name = dtype_name(dt)
        if name not in self.dtypes:
            raise TypeError(f"back end mlx computes in {', '.join(self.dtypes)}, not in {name}")
        return run("erfinv", cast(a, name, stream), stream=stream)

    def erfinv_backward(self, g: Any, y: Any, stream: Any = None) -> Any:
        """Return `g` times the derivative of erfinv where its output is `y`.

        Parameters
        ----------
        g, y : mlx.core.array
            Gradient of the output, and the output; they broadcast.
        stream : mlx.core.Stream or Device, optional
            Where to compute; by default MLX's default.

        Returns
        -------
        mlx.core.array
            In the result type that MLX has for both.

        Raises
        ------
        TypeError
            If one is no MLX array, or the result type is not in `dtypes`.
        RuntimeError
            Inside `mx.compile` and `mx.vmap`, unless the GPU computes.
        """
        import mlx.core as mx

        check_arrays(g=g, y=y)
        name = dtype_name(mx.result_type(g, y))
        if name not in self.dtypes:
            raise TypeError(f"back end mlx computes in {', '.join(self.dtypes)}, not in {name}")
        g, y = (cast(a, name, stream) for a in (g, y))
        with mx.stream(device_of(name, stream)):
            g, y = mx.broadcast_arrays(g, y)
        return run("erfinv_backward", g, y, stream=stream)


def check_arrays(**arguments: Any) -> None:
    import mlx.core as mx

    for name, a in arguments.items():
        if not isinstance(a, mx.array):
            raise TypeError(f"`{name}` must be an mlx.core.array, got {type(a).__name__}")


def device_of(name: str, stream: Any = None) -> Any:
    """The stream or device for a dtype: the CPU for float64."""
    import mlx.core as mx

    if name == "float64":
        return mx.cpu
    return mx.default_stream(mx.default_device()) if stream is None else stream


def cast(a: Any, name: str, stream: Any = None) -> Any:
    import mlx.core as mx

    wide = "float64" in (name, dtype_name(a.dtype))
    return a.astype(getattr(mx, name), stream=mx.cpu if wide else stream)


def run(function: str, *operands: Any, stream: Any) -> Any:
    """One of the ufuncs, on operands of one shape and dtype."""
    import mlx.core as mx

    stream = device_of(dtype_name(operands[0].dtype), stream)
    if not is_metal(stream):
        return compute(getattr(_ufunc, function), *operands)
    with mx.stream(stream):
        return launch(function, *operands)


def is_metal(stream: Any) -> bool:
    """Whether a stream or device is that of a Metal GPU."""
    import mlx.core as mx

    device = getattr(stream, "device", stream)
    return bool(getattr(device, "type", device) == mx.gpu and mx.metal.is_available())


# On the GPU ---------------------------------------------------------------------------------------


@cache
def metal_kernel(function: str, name: str) -> Any:
    from importlib import resources

    import mlx.core as mx

    suffix, _ = _METAL[name]
    inputs = {"erfinv": ["x"], "erfinv_backward": ["g", "y"]}[function]
    body = f"lucid_{function.removeprefix('erfinv_')}_{suffix}"
    values = ", ".join(f"{operand}[i]" for operand in inputs)
    return mx.fast.metal_kernel(
        name=f"lucid_{function}_{suffix}",
        input_names=inputs,
        output_names=["out"],
        source=f"uint i = thread_position_in_grid.x; out[i] = {body}({values});",
        header=resources.files("lucid_erfinv").joinpath("erfinv.metal").read_text("utf-8"),
        compile_options={"math_mode": "safe"},
    )


def launch(function: str, *operands: Any) -> Any:
    """One thread an element, from bits to bits: a GPU may flush the subnormals of floats."""
    import mlx.core as mx

    first = operands[0]
    if first.size == 0:
        return first
    if first.size > _MOST_THREADS:
        axis = first.shape.index(max(first.shape))
        halves = (mx.split(a, [first.shape[axis] // 2], axis) for a in operands)
        return mx.concatenate([launch(function, *half) for half in zip(*halves, strict=True)], axis)
    name = dtype_name(first.dtype)
    bits = getattr(mx, _METAL[name][1])
    # Cut off, since MLX would differentiate the views, too, in forward mode, and cannot. At least
    # one axis, since MLX passes an array of none by reference.
    inputs = [mx.atleast_1d(mx.stop_gradient(a)).view(bits) for a in operands]
    (out,) = metal_kernel(function, name)(
        inputs=inputs,
        output_shapes=[first.shape],
        output_dtypes=[bits],
        grid=(first.size, 1, 1),
        threadgroup=(128, 1, 1),
    )
    return out.view(first.dtype)


# On the CPU ---------------------------------------------------------------------------------------


def compute(ufunc: np.ufunc, *operands: Any) -> Any:
    import mlx.core as mx

    try:
        values = evaluate(*operands)
    except ValueError as error:
        raise RuntimeError(
            "erfinv evaluates its argument on the CPU, which MLX allows neither in mx.compile nor "
            "in mx.vmap: call it outside of them, on the whole batch"
        ) from error
    with np.errstate(all="ignore"):
        result = ufunc(*values)
    return mx.array(result, dtype=operands[0].dtype)


def evaluate(*operands: Any) -> list[np.ndarray[Any, Any]]:
    """The values of arrays, which stay connected with what they were computed from.

    MLX cuts an evaluated array off from that, and derivatives through it would silently be 0 in
    an outer transformation. Only while it runs a rule for `mx.vjp` it does not.
    """
    import mlx.core as mx

    values: list[np.ndarray[Any, Any]] = []

    @mx.custom_function
    def identity(x: Any) -> Any:
        return x

    @identity.vjp
    def _(x: Any, g: Any, y: Any) -> Any:
        values.extend(map(as_numpy, operands))
        return g

    mx.vjp(identity, [mx.array(0.0)], [mx.array(0.0)])
    return values


def as_numpy(x: Any) -> np.ndarray[Any, Any]:
    """The same memory."""
    import mlx.core as mx

    if x.dtype == mx.bfloat16:  # which NumPy lacks
        bits = np.array(x.view(mx.uint16, stream=mx.cpu), copy=False)
        return bits.view(numpy_dtype("bfloat16"))
    return np.array(x, copy=False)
