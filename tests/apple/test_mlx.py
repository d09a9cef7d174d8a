"""The MLX back end: MLX as it is on the CPU; for its GPU's part, this machine runs the kernels."""

import ctypes
import os
import shlex
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from lucid_erfinv import erfinv, erfinv_backward, ops
from lucid_erfinv.backends import BACKENDS
from lucid_erfinv.backends import mlx as backend_module

STANDIN = Path(__file__).parent / "shader" / "standin"
KERNELS = [
    (f, t) for f in ("erfinv", "erfinv_backward") for t in ("float32", "float16", "bfloat16")
]

# As MLX puts a kernel together, but for what a GPU does with its threads.
PROGRAM = """
#include <metal_stdlib>
using namespace metal;
{header}
struct uint3 {{ uint x, y, z; }};
static void body({parameters}, uint3 thread_position_in_grid) {{ {source} }}
extern "C" void run({parameters}, uint n) {{
    for (uint i = 0; i < n; i++)
        body({names}, uint3{{i, 0, 0}});
}}
"""


class HostKernel:
    """Stands for a kernel of mx.fast.metal_kernel: its source, in C++, one thread at a time."""

    def __init__(self, mx, folder, calls, **options):
        self.mx, self.folder, self.calls, self.options = mx, folder, calls, options
        self.real = real_metal_kernel(mx)(**options)

    def __call__(self, **call):
        with pytest.raises(RuntimeError, match="No Metal back-end"):  # what MLX says last
            self.real(**call)
        self.calls.append(self.options | call)
        inputs = [np.array(a) for a in call["inputs"]]
        (shape,), (dtype,) = call["output_shapes"], call["output_dtypes"]
        out = np.zeros(shape, {self.mx.uint32: np.uint32, self.mx.uint16: np.uint16}[dtype])
        assert call["grid"] == (out.size, 1, 1)
        assert np.prod(call["threadgroup"]) <= 256
        assert all(a.ndim and a.dtype == out.dtype for a in inputs)
        arrays = [np.ascontiguousarray(a) for a in inputs] + [out]
        self.compiled(out.itemsize)(*(a.ctypes.data_as(ctypes.c_void_p) for a in arrays), out.size)
        return [self.mx.array(out)]

    def compiled(self, size):
        library = self.folder / f"{self.options['name']}.so"
        if not library.exists():
            integer = {4: "uint", 2: "ushort"}[size]
            inputs, (output,) = self.options["input_names"], self.options["output_names"]
            pointers = [*(f"const {integer} *{name}" for name in inputs), f"{integer} *{output}"]
            program = library.with_suffix(".cpp")
            program.write_text(
                PROGRAM.format(
                    header=self.options["header"],
                    source=self.options["source"],
                    parameters=", ".join(pointers),
                    names=", ".join([*inputs, output]),
                )
            )
            compiler = shlex.split(os.environ.get("CXX", "c++"))
            flags = ["-std=c++17", "-O2", "-ffp-contract=off", "-w", "-shared", "-fPIC"]
            subprocess.run([*compiler, *flags, "-I", STANDIN, program, "-o", library], check=True)
        return ctypes.CDLL(os.fspath(library)).run


def real_metal_kernel(mx, kept=[]):  # noqa: B006  # the tests put another in its place
    kept[:] = kept or [mx.fast.metal_kernel]
    return kept[0]


@pytest.fixture
def mx():
    mx = pytest.importorskip("mlx.core", reason="mlx is not installed")
    mx.set_default_device(mx.cpu)
    return mx


@pytest.fixture
def backend(mx):
    return BACKENDS["mlx"]


@pytest.fixture
def put(mx):
    def put(x):
        x = np.asarray(x)
        return mx.array(x, dtype=getattr(mx, x.dtype.name))

    return put


@pytest.fixture
def gpu(mx, monkeypatch):
    """A stream that passes for a Metal GPU's; the kernels are whatever metal_kernel makes."""
    from lucid_erfinv import mlx as adapter

    stream = mx.new_stream(mx.cpu)
    for module in (backend_module, adapter):
        monkeypatch.setattr(module, "is_metal", lambda place: place == stream)
    monkeypatch.setattr(adapter, "on_gpu", adapter.differentiable(stream))
    backend_module.metal_kernel.cache_clear()
    yield stream
    backend_module.metal_kernel.cache_clear()


@pytest.fixture(scope="session")
def kernel_folder(tmp_path_factory):
    return tmp_path_factory.mktemp("mlx")


@pytest.fixture
def calls(mx, gpu, monkeypatch, kernel_folder):
    """What the shader's text was called with."""
    compiler = shlex.split(os.environ.get("CXX", "c++"))[0]
    if not shutil.which(compiler):
        pytest.skip(f"no C++ compiler ({compiler}) to run the kernels with")
    calls = []
    real_metal_kernel(mx)
    monkeypatch.setattr(
        mx.fast, "metal_kernel", lambda **options: HostKernel(mx, kernel_folder, calls, **options)
    )
    return calls


@pytest.fixture
def table(mx, gpu, monkeypatch):
    """A float16 kernel for erfinv and its gradient at g = 1 that is made of MLX's operations."""
    every = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    with np.errstate(all="ignore"):
        values = {"erfinv": erfinv(every), "slope": erfinv_backward(np.float16(1), every)}
    bits = {name: mx.array(value.view(np.uint16)) for name, value in values.items()}

    def kernel(name, input_names, **options):
        def run(inputs, **call):
            if len(inputs) == 1:
                return [bits["erfinv"][inputs[0].astype(mx.uint32)]]
            g, y = inputs
            slope = bits["slope"][y.astype(mx.uint32)].view(mx.float16)
            return [(g.view(mx.float16) * slope).view(mx.uint16)]

        return run

    monkeypatch.setattr(mx.fast, "metal_kernel", kernel)


def inputs(fmt, rng):
    """All of a 16-bit format; of float32 some of every size, and what is special."""
    if fmt.dtype.itemsize == 2:
        return fmt.values(np.arange(1 << 16))
    special = [0, 1, 2, fmt.tiny - 1, fmt.tiny, fmt.one - 1, fmt.one, fmt.one + 1, fmt.inf]
    special += [fmt.inf + 1, fmt.inf + fmt.quiet_bit + 5]
    inside = rng.integers(0, fmt.one, 200_000)
    near_one = fmt.one - rng.integers(0, 1 << 20, 50_000)
    bits = np.concatenate([special, inside, near_one])
    return fmt.values(np.concatenate([bits, bits | fmt.sign_bit]))


@pytest.fixture(params=["float32", "float16", "bfloat16"])
def gpu_fmt(request, formats):
    return formats[request.param]


@pytest.fixture(autouse=True)
def ignore_flags():
    with np.errstate(all="ignore"):
        yield


# On the CPU ---------------------------------------------------------------------------------------


def test_cpu_arrays_have_the_ufuncs_bits(backend, put, fmt, rng, assert_same_bits, figure):
    x = inputs(fmt, rng) if fmt.name != "float64" else rng.uniform(-1.01, 1.01, 200_000)
    y = backend.erfinv(put(x), x.shape, x.dtype)
    quiet = ~np.isnan(x)  # converting bfloat16 to MLX's may change NaNs
    assert_same_bits(backend_module.as_numpy(y)[quiet], erfinv(x)[quiet])
    g = fmt.values(rng.permutation(fmt.bits(x)))
    numbers = quiet & ~np.isnan(g) & ~np.isnan(erfinv(x))
    out = backend_module.as_numpy(backend.erfinv_backward(put(g[numbers]), put(erfinv(x)[numbers])))
    assert_same_bits(out, erfinv_backward(g[numbers], erfinv(x)[numbers]))
    figure(f"{x.size} values and {out.size} gradients, 0 differ")


def test_no_gpu_here_no_kernel(mx, figure):
    """The decision itself, which the tests below replace."""
    assert not backend_module.is_metal(mx.cpu)
    assert not backend_module.is_metal(mx.default_stream(mx.cpu))
    assert backend_module.is_metal(mx.gpu) == mx.metal.is_available()
    figure("3 devices and streams")


def test_refusals(mx, backend, put, figure):
    x = put(np.zeros(3, "f"))
    for error, words, call in (
        (
            TypeError,
            r"`a` must be an mlx\.core\.array, got ndarray",
            lambda: backend.erfinv(np.zeros(3), (3,), "f"),
        ),
        (
            ValueError,
            r"`shape` must be that of `a`, \(3,\)",
            lambda: backend.erfinv(x, (1, 3), mx.float32),
        ),
        (TypeError, "not in int32", lambda: backend.erfinv(x, (3,), mx.int32)),
        (
            TypeError,
            "got complex64",
            lambda: backend.erfinv(x.astype(mx.complex64), (3,), mx.float32),
        ),
        (TypeError, "`g` must be", lambda: backend.erfinv_backward(1.0, x)),
        (TypeError, "not in int32", lambda: backend.erfinv_backward(*2 * [x.astype(mx.int32)])),
        (RuntimeError, "evaluates its argument on the CPU", lambda: mx.compile(ops.erfinv)(x)),
        (RuntimeError, "evaluates its argument on the CPU", lambda: mx.vmap(ops.erfinv)(x)),
    ):
        with pytest.raises(error, match=words):
            call()
    figure("8 messages")


def test_import_loads_no_mlx(run_python, figure):
    script = "import sys, lucid_erfinv; print(sorted(m for m in sys.modules if m[:3] == 'mlx'))"
    assert run_python(script) == "[]\n"
    figure("0 modules")


# On what passes for the GPU -----------------------------------------------------------------------


@pytest.mark.parametrize(("function", "dtype"), KERNELS)
def test_mlx_makes_the_kernel(mx, function, dtype, figure):
    """The real MLX takes it, and stops where it would hand it to Metal."""
    kernel = backend_module.metal_kernel(function, dtype)
    assert callable(kernel)
    operands = [mx.zeros(5, getattr(mx, dtype)) for _ in range(1 + (function != "erfinv"))]
    with pytest.raises(RuntimeError, match="No Metal back-end"):
        backend_module.launch(function, *operands)
    figure("made; MLX refuses to run it without Metal")


def test_gpu_values_are_the_ufuncs(
    mx, backend, put, gpu, calls, gpu_fmt, rng, assert_same_bits, figure
):
    x = inputs(gpu_fmt, rng)
    bits = mx.array(gpu_fmt.bits(x)).view(getattr(mx, gpu_fmt.name))
    y = backend.erfinv(bits, x.shape, x.dtype, stream=gpu)
    assert_same_bits(backend_module.as_numpy(y), erfinv(x), x)
    (call,) = calls
    assert call["compile_options"] == {"math_mode": "safe"}
    figure(f"{x.size} values, 0 differ")


def test_gpu_gradients_are_the_ufuncs(
    mx, backend, put, gpu, calls, gpu_fmt, rng, assert_same_bits, figure
):
    y = erfinv(inputs(gpu_fmt, rng))
    g = rng.normal(size=y.size).astype(gpu_fmt.dtype)
    bits = [mx.array(gpu_fmt.bits(a)).view(getattr(mx, gpu_fmt.name)) for a in (g, y)]
    got = backend_module.as_numpy(backend.erfinv_backward(*bits, stream=gpu))
    assert_same_bits(got, erfinv_backward(g, y))
    assert len(calls) == 1
    figure(f"{y.size} gradients, 0 differ")


def test_gpu_shapes_and_layouts(mx, put, gpu, calls, rng, figure):
    parts = [lambda a: a.T, lambda a: a[::2, 1::3], lambda a: a[1:4], lambda a: a[:, :1]]
    parts += [lambda a: a[0, 0], lambda a: a[:0], lambda a: a[2, :1], lambda a: a[None, :, None]]
    x = rng.uniform(-1, 1, (6, 10)).astype("f")
    with mx.stream(gpu):
        for part in parts:
            y = np.array(ops.erfinv(part(put(x))))
            assert y.shape == part(x).shape
            np.testing.assert_array_equal(y, erfinv(part(x)))
    assert len(calls) == len(parts) - 1  # none for the empty one
    figure(f"{len(parts)} of them")


def test_gpu_splits_arrays_of_more_elements_than_a_grid(
    backend, put, gpu, calls, rng, monkeypatch, figure
):
    monkeypatch.setattr(backend_module, "_MOST_THREADS", 100)
    x, y = rng.uniform(-1, 1, (2, 7, 130)).astype("f")
    np.testing.assert_array_equal(backend.erfinv(put(x), x.shape, "f", stream=gpu), erfinv(x))
    assert max(call["grid"][0] for call in calls) <= 100
    figure(f"{len(calls)} launches")
    backend.erfinv_backward(put(x), put(y), stream=gpu)
    assert max(call["grid"][0] for call in calls) <= 100


def test_float64_stays_on_the_cpu(mx, put, gpu, calls, rng, figure):
    x = rng.uniform(-1, 1, 100)
    with mx.stream(gpu):
        y = ops.erfinv(put(x))
        slope = mx.vjp(ops.erfinv, [put(x)], [put(np.ones(100))])[1][0]
        assert ops.erfinv(mx.array([0, 1])).dtype == mx.float64
    np.testing.assert_array_equal(np.array(y), erfinv(x))
    np.testing.assert_array_equal(np.array(slope), erfinv_backward(np.ones(100), erfinv(x)))
    assert calls == []
    figure("0 launches")


def test_gpu_derivatives(mx, put, gpu, calls, rng, figure):
    """Of orders one and two, both modes, by the kernels alone."""
    x = rng.uniform(-0.9, 0.9, 50).astype("f")
    slope = erfinv_backward(np.ones_like(x), erfinv(x))
    with mx.stream(gpu):
        ones = mx.ones(50)
        by_reverse = mx.vjp(ops.erfinv, [put(x)], [ones])[1][0]
        by_forward = mx.jvp(ops.erfinv, [put(x)], [ones])[1][0]
        second = mx.grad(lambda z: mx.grad(lambda z: ops.erfinv(z).sum())(z).sum())(put(x))
    np.testing.assert_allclose(np.array(by_reverse), slope, 3e-7)
    np.testing.assert_allclose(np.array(by_forward), slope, 3e-7)
    np.testing.assert_allclose(np.array(second), 2 * erfinv(x) * slope**2, 2e-6)
    assert {call["name"] for call in calls} == {"lucid_erfinv_f32", "lucid_erfinv_backward_f32"}
    figure(f"{len(calls)} launches")


def test_gpu_graphs_compile_and_batch(mx, put, gpu, table, figure):
    """With kernels that MLX can trace, as its own are: what surrounds them is MLX's too."""
    x = np.linspace(-1, 1, 12, dtype=np.float16).reshape(3, 4)[:, 1:3]
    slope = erfinv_backward(np.ones_like(x), erfinv(x))
    f = ops.erfinv
    slopes = mx.grad(lambda z: f(z).sum())
    with mx.stream(gpu):
        a = put(x)
        cases = {
            "compile": (mx.compile(f)(a), erfinv(x)),
            "compile, gradient": (mx.compile(slopes)(a), slope),
            "vmap": (mx.vmap(f)(a), erfinv(x)),
            "vmap, axes 1 and 0": (mx.vmap(f, 1, 0)(a), erfinv(x).T),
            "vmap, twice": (mx.vmap(mx.vmap(f))(a), erfinv(x)),
            "vmap of the gradient": (mx.vmap(slopes)(a), slope),
            "gradient of vmap": (mx.grad(lambda z: mx.vmap(f)(z).sum())(a), slope),
            "vmap of the tangent": (
                mx.vmap(lambda z: mx.jvp(f, [z], [mx.ones(2, mx.float16)])[1][0])(a),
                slope,
            ),
            "compile of vmap": (mx.compile(mx.vmap(f))(a), erfinv(x)),
        }
        for name, (got, expected) in cases.items():
            np.testing.assert_array_equal(np.array(got), expected, name)
    figure(f"{len(cases)} transformations")
