"""The unchanged shader text, as C++ and as OpenCL, against the CPU kernels and the derivative.

The CPU kernels' results are held against other libraries in tests/; here they are the reference.
The gradient is also held against the derivative in extended precision.
"""

import ctypes
import platform
import re
import shutil
import struct
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from importlib import resources
from pathlib import Path

import numpy as np
import pytest
from flint import arb, ctx
from ml_dtypes import bfloat16
from scipy.special import erfc

from lucid_erfinv import erfinv, erfinv_backward

KERNELS = Path(__file__).parents[2] / "lucid_erfinv" / "kernels"
SHADER = Path(__file__).parent / "shader"
NAMES = [f"erfinv{kind}_{name}" for kind in ("", "_backward") for name in ("f32", "f16", "bf16")]
TYPES = {"f32": np.dtype("f"), "f16": np.dtype("e"), "bf16": np.dtype(bfloat16)}
PRECISION = {"f32": 24, "f16": 11, "bf16": 8}
SMALLEST = {"f32": -149, "f16": -24, "bf16": -133}  # exponent of the smallest subnormal
TOP = {"f32": 128, "f16": 16, "bf16": 128}  # 2**TOP is the first power that overflows
MODES = pytest.mark.parametrize("flush", [False, True], ids=["IEEE", "FTZ"])
HALVES = pytest.mark.parametrize("name", ["f16", "bf16"])
BLOCK = 1 << 22

WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wdouble-promotion", "-Wfloat-conversion", "-Werror"]
WARNINGS += ["-Wno-unknown-pragmas"]
CXX = ["-x", "c++", "-std=c++17", "-O2", "-ffp-contract=off", *WARNINGS]
CL = ["-x", "cl", "-cl-std=clc++2021", "-cl-no-stdinc", "-cl-single-precision-constant"]
CL += [*WARNINGS, "-Wno-unknown-attributes", "-fsyntax-only"]


# The text, compiled -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with the joined text, made as the build makes it."""
    path = tmp_path_factory.mktemp("shader")
    command = [sys.executable, "-B", KERNELS / "join_metal.py", KERNELS / "erfinv.metal"]
    command += [KERNELS / "tables" / "erfinv_metal.h", path / "erfinv.metal", path / "text.inc"]
    subprocess.run(command, check=True)
    return path


@pytest.fixture(scope="module")
def text(folder):
    return (folder / "erfinv.metal").read_text()


class Host:
    """The kernels of a text, compiled as C++, as functions of arrays of patterns."""

    def __init__(self, compiler, source):
        library = source.with_suffix(f".{compiler}.so")
        command, options = self.command(compiler)
        command += [*CXX, *options, "-I", SHADER / "standin"]
        if platform.machine() == "x86_64":
            command.append("-mfma")
        command += [f'-DSHADER="{source}"', "-shared", "-fPIC", SHADER / "host.cpp", "-o", library]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        self.library = ctypes.CDLL(str(library))

    @staticmethod
    def command(compiler):
        if compiler == "zig":
            pytest.importorskip("ziglang", reason="ziglang is not installed")
            return [sys.executable, "-m", "ziglang", "c++"], ["-Wno-unknown-attributes"]
        if shutil.which("g++") is None:
            pytest.skip("g++ is not installed")
        return ["g++"], ["-Wno-attributes"]

    def __call__(self, kernel, *inputs, flush=False):
        out = np.empty_like(inputs[0])
        buffers = [ctypes.c_void_p(a.ctypes.data) for a in (*inputs, out)]
        function = getattr(self.library, f"host_{kernel}")
        function(*buffers, ctypes.c_size_t(out.size), ctypes.c_int(flush))
        return out


@pytest.fixture(scope="module", params=["gcc", "zig"])
def host(request, folder):
    return Host(request.param, folder / "erfinv.metal")


def cpu(kernel, *inputs):
    """The CPU kernel of the same name, on patterns."""
    dtype = TYPES[kernel.split("_")[-1]]
    function = erfinv_backward if "backward" in kernel else erfinv
    with np.errstate(all="ignore"):
        return function(*(a.view(dtype) for a in inputs)).view(inputs[0].dtype)


def patterns(name, begin, end):
    unsigned = np.dtype(f"u{TYPES[name].itemsize}")
    return np.arange(end - begin, dtype=unsigned) + unsigned.type(begin)


def differing(host, kernel, inputs, flush):
    """Of blocks of inputs, how many results are not the CPU kernel's, and how many there are."""

    def block(make):
        here = make()
        return np.count_nonzero(host(kernel, *here, flush=flush) != cpu(kernel, *here)), here[
            0
        ].size

    with ThreadPoolExecutor(2) as pool:
        wrong, count = np.array(list(pool.map(block, inputs))).sum(axis=0)
    return wrong, count


# What the text says -------------------------------------------------------------------------------


def without_comments(text):
    return re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)


def test_text_is_installed_and_quoted(folder, text, figure):
    assert (resources.files("lucid_erfinv") / "erfinv.metal").read_text() == text
    quoted = (folder / "text.inc").read_text()
    parts = re.findall(r'R"lucid_metal\((.*?)\)lucid_metal"', quoted, flags=re.DOTALL)
    assert "".join(parts) == text
    figure(f"{len(text)} characters, {len(parts)} literals")


def test_text_keeps_to_what_is_the_same_on_every_device(text, figure):
    assert "#include" not in text.split("#include <metal_stdlib>", 1)[1]
    code = without_comments(text).split("#include <metal_stdlib>")[1]
    begin = code.index("constant ")
    assert "#pragma METAL fp math_mode(safe)" in code[:begin]
    assert "#pragma METAL fp contract(off)" in code[:begin]
    assert set(re.findall(r"metal::(\w+)", code)) == {"fma", "min", "max", "clamp"}
    assert not re.search(r"\b(double|half|bfloat|long|ulong|goto|template|std|using)\b", code)
    assert not re.search(r"[/%]", code)
    assert not re.search(
        r"\b\d+\.\d*(e[-+]?\d+)?(?![\dfp.])|p[-+]?\d+(?![\df])", code
    )  # 1.0, not 1.0f
    tables = re.findall(r"^(.*)\w+(?:\[\d+\])+ = \{", code, flags=re.MULTILINE)
    assert tables
    assert all(re.match(r"constant (float|uint|uchar) ", table) for table in tables)
    functions = re.findall(
        r"^static inline \w+ (\w+)\((.*?)^\}", code, flags=re.DOTALL | re.MULTILINE
    )
    kernels = re.findall(r"^kernel void (\w+)\(", code, flags=re.MULTILINE)
    assert kernels == NAMES
    for function, body in functions:
        assert function.startswith("lucid_")
        assert f"{function}(" not in body  # no recursion: each is defined before its use
    defined = re.findall(r"^(?:struct|#define|constant \w+) (\w+)", code, flags=re.MULTILINE)
    assert all(re.match("LUCID_|lucid_", name) for name in defined)
    figure(f"{len(functions)} functions, {len(kernels)} kernels, {len(tables)} tables")


ADDRESS_SPACE_MISTAKES = {
    "kernel argument without device": ("device uint *y [[buffer(1)]]", "uint *y [[buffer(1)]]"),
    "pointer to a table without constant": ("constant float *c", "float *c"),
    "pointer to a table in device memory": ("constant float *c", "device const float *c"),
    "write into a table": ("float h = a - c[0];", "float h = a - (c[0] = 0.0f);"),
    "missing library function": ("metal::clamp(", "metal::clip("),
}


def test_address_spaces(clang, folder, text, tmp_path, figure):
    """C++ for OpenCL has Metal's address spaces; what the C++ build erases is seen there."""

    def check(source):
        command = [clang, *CL, "-I", SHADER / "opencl", source]
        return subprocess.run(command, capture_output=True, text=True)

    done = check(folder / "erfinv.metal")
    assert done.returncode == 0, done.stderr
    for mistake, (right, wrong) in ADDRESS_SPACE_MISTAKES.items():
        assert right in text
        source = tmp_path / "mistake.metal"
        source.write_text(text.replace(right, wrong))
        assert "error:" in check(source).stderr, mistake
    figure(f"0 errors; {len(ADDRESS_SPACE_MISTAKES)} seeded ones found")


# Forward ------------------------------------------------------------------------------------------


@MODES
def test_float32_of_all_inputs(host, flush, figure):
    starts = range(0, 1 << 32, BLOCK)
    inputs = ((lambda s=s: [patterns("f32", s, s + BLOCK)]) for s in starts)
    wrong, count = differing(host, "erfinv_f32", inputs, flush)
    figure(f"{wrong} of {count} differ")
    assert count == 1 << 32
    assert wrong == 0


@HALVES
@MODES
def test_half_of_all_inputs(host, flush, name, figure):
    wrong, count = differing(host, f"erfinv_{name}", [lambda: [patterns(name, 0, 1 << 16)]], flush)
    figure(f"{wrong} of {count} differ")
    assert count == 1 << 16
    assert wrong == 0


# Gradient -----------------------------------------------------------------------------------------


def derivative(y):
    """sqrt(pi)/2 exp(y^2), y in extended precision."""
    return np.sqrt(np.longdouble("3.14159265358979323846264338327950288")) / 2 * np.exp(y * y)


def at(x):
    """The derivative at x, a float64 array; below 2**-45 relatively."""
    return derivative(erfinv(np.asarray(x, np.float64)).astype(np.longdouble))


def extended(a):
    with np.errstate(invalid="ignore"):  # NaN
        return np.asarray(a).astype(np.float64).astype(np.longdouble)


def ulp_errors(name, got, exact):
    """Errors of abs(got) in ulps of exact > 0; infinity stands for what overflows."""
    top = np.ldexp(np.longdouble(1), TOP[name])
    got = np.minimum(abs(extended(got)), top)
    exact = np.minimum(exact, top)
    exponent = np.frexp(exact)[1]
    below = exact == top  # its ulp is that of the largest number
    unit = np.maximum(exponent - below - PRECISION[name], SMALLEST[name])
    return (abs(got - exact) / np.ldexp(np.longdouble(1), unit)).astype(np.float64)


def largest(errors, masks):
    """The largest error of each region."""
    return {region: float(errors[mask].max()) for region, mask in masks.items()}


def told(errors):
    return ", ".join(f"{region} {error:.4f}" for region, error in errors.items())


def test_reference_derivative(figure):
    """The extended-precision derivative against ball arithmetic."""
    ctx.prec = 200
    x = np.append(np.random.default_rng(5).uniform(0.5, 1, 300), 1 - 2.0**-24)
    x = x.astype(np.float32)
    worst = 0.0
    for x_here, got in zip(x, at(x), strict=True):
        y = arb(float(x_here)).erfinv()
        exact = arb.pi().sqrt() / 2 * (y * y).exp()
        high = float(got)
        worst = max(worst, abs(float((arb(high) + arb(float(got - high)) - exact) / exact)))
    figure(f"{len(x)} points, relative error 2^{np.log2(worst):.1f}")
    assert worst < 2.0**-45


def random_patterns(rng, name, n):
    return rng.integers(0, 1 << 8 * TYPES[name].itemsize, n, f"u{TYPES[name].itemsize}")


def backward(host, name, g, y):
    """The gradient, which both modes must have as the CPU has it."""
    kernel = f"erfinv_backward_{name}"
    inputs = [np.ascontiguousarray(a).view(f"u{TYPES[name].itemsize}") for a in (g, y)]
    expected = cpu(kernel, *inputs)
    for flush in (False, True):
        wrong = np.flatnonzero(host(kernel, *inputs, flush=flush) != expected)
        assert wrong.size == 0, [hex(a[wrong[0]]) for a in inputs]
    return expected.view(TYPES[name])


def finite_nonzero(name, rng, n):
    g = random_patterns(rng, name, n).view(TYPES[name])
    with np.errstate(invalid="ignore"):
        return np.where(np.isfinite(g) & (g != 0), g, TYPES[name].type(1))


def test_float32_gradient_at_every_output_from_one_half(host, rng, figure):
    x = patterns("f32", 0x3F000000, 0x3F800000).view(np.float32)
    y = erfinv(x)
    x, y = x[y >= 0.5], y[y >= 0.5]
    exact = at(x)
    ones = np.ones_like(y)
    signed = rng.normal(size=y.size).astype(np.float32)
    errors = {}
    for g in (ones, signed, finite_nonzero("f32", rng, y.size)):
        got = backward(host, "f32", g, np.copysign(y, signed))
        assert np.array_equal(np.signbit(got), np.signbit(g))
        size = exact * abs(extended(g))
        subnormal = size < np.ldexp(np.longdouble(1), -126)
        masks = {"y < 1": y < 1, "y < 2": y < 2, "all y": y > 0}
        masks = {region: mask & ~subnormal for region, mask in masks.items()}
        if subnormal.any():
            masks["subnormal"] = subnormal
        for region, error in largest(ulp_errors("f32", got, size), masks).items():
            errors[region] = max(errors.get(region, 0.0), error)
    figure(f"{y.size} y, 3 g each: ulps {told(errors)}")
    assert errors.pop("subnormal") < 0.9
    assert max(errors.values()) < 0.77


def test_float32_gradient_at_outputs_below_one_half(host, rng, figure):
    x = np.append(rng.uniform(0, 0.52, 1 << 21), 2.0 ** -rng.uniform(1, 149, 1 << 20))
    x = x.astype(np.float32)
    y = erfinv(x)
    x, y = x[y < 0.5], y[y < 0.5]
    g = rng.normal(size=y.size).astype(np.float32)
    got = backward(host, "f32", g, y)
    worst = ulp_errors("f32", got, at(x) * abs(extended(g))).max()
    figure(f"{y.size} y: {worst:.4f} ulp")
    assert worst < 0.84


def test_float32_gradient_of_any_y(host, rng, figure):
    """The derivative at y or at the x nearest to erf(y), results of every size."""
    n = 1 << 21
    small = rng.integers(1, 1 << 24, n, np.uint32).view(np.float32)  # subnormal, or just not
    y = np.concatenate([rng.uniform(0, 4, n), rng.uniform(0, 14.5, n), rng.uniform(0, 13.5, n)])
    y = np.append(y, 2.0 ** rng.uniform(-149, 127, n)).astype(np.float32)
    g = np.concatenate([finite_nonzero("f32", rng, 2 * n), small, small])
    got = backward(host, "f32", g, y)
    size = abs(extended(g))
    with np.errstate(over="ignore"):
        errors = ulp_errors("f32", got, derivative(extended(y)) * size)
        w = np.rint(erfc(y.astype(np.float64)) * 2.0**24) * 2.0**-24
        recovered = (y >= 0.5) & (w > 0)
        there = ulp_errors("f32", got, at(np.where(recovered, 1 - w, 0)) * size)
    errors = np.where(recovered, np.minimum(errors, there), errors)
    subnormal = abs(got) < np.finfo("f").tiny
    masks = {"normal": ~subnormal & (abs(got) < np.inf), "subnormal": subnormal}
    masks["infinite"] = np.isinf(got)
    regions = largest(errors, masks)
    figure(f"{y.size} pairs: ulps {told(regions)}")
    assert regions["normal"] < 0.8
    assert regions["subnormal"] < 0.9
    assert regions["infinite"] < 0.9


@MODES
def test_float32_gradient_of_every_y(host, flush, figure):
    """Every y from 2**-30 to 16, the least and the special ones; each with one g of any kind."""

    def block(start):
        y = patterns("f32", start, start + BLOCK)
        return lambda: [(y * np.uint32(0x9E3779B1)) ^ np.uint32(start >> 3), y]

    kernel = "erfinv_backward_f32"
    starts = [0, *range(0x30800000, 0x41800000, BLOCK), 0x7F800000, 0xFF800000]
    wrong, count = differing(host, kernel, map(block, starts), flush)
    figure(f"{wrong} of {count} differ")
    assert wrong == 0


@HALVES
def test_half_gradient_of_every_y(host, rng, name, figure):
    dtype = TYPES[name]
    y = patterns(name, 0, 1 << 16).view(dtype)
    with np.errstate(all="ignore"):
        exact = derivative(np.minimum(abs(extended(y)), 100))
        x = patterns(name, 0, 1 << 16).view(dtype)
        x = x[(x >= 0.5) & (x < 1)]
        found = erfinv(x)
        recovered = {float(a): d for a, d in zip(found, at(x), strict=True) if a >= 0.5}
    for i in np.flatnonzero(np.isin(abs(extended(y)), list(recovered))):
        exact[i] = recovered[abs(float(y[i]))]
    worst, pairs = 0.0, 0
    number, finite = ~np.isnan(extended(y)), np.isfinite(extended(y))
    for g in (*patterns(name, 1, 3).view(dtype), *finite_nonzero(name, rng, 62)):
        got = backward(host, name, np.full_like(y, g), y)
        assert np.all(np.isnan(extended(got[~number])))
        errors = ulp_errors(name, got[finite], exact[finite] * abs(extended(g)))
        worst, pairs = max(worst, errors.max()), pairs + errors.size
    figure(f"{pairs} pairs: {worst:.6f} ulp")
    assert worst < 0.5 + 2.0**-30


@HALVES
def test_half_gradient_of_every_g(host, rng, name, figure):
    g = patterns(name, 0, 1 << 16).view(TYPES[name])
    y = np.append(rng.uniform(0, 3, 60), np.array([0, np.inf, np.nan, 100]))
    for y_here in y.astype(TYPES[name]):
        backward(host, name, g, np.full_like(g, y_here))
    figure(f"0 of {g.size * y.size} differ")


INF, NAN, G_NAN = 0x7F800000, 0x7FC00001, 0xFF812345


SPECIAL = [  # g, y, result
    (0, INF, 0),
    (1 << 31, INF, 1 << 31),
    (1 << 31, 0x3F800000, 1 << 31),
    (0xC0000000, INF, 0xFF800000),
    (0xC0000000, 0xFF800000, 0xFF800000),
    (1, INF, INF),
    (INF, 0, INF),
    (0, NAN, NAN),
    (G_NAN, NAN, G_NAN | 0x400000),
    (0x3F800000, 0x7F800001, 0x7FC00001),
    (1, 0x41480000, 0x6597E2E6),  # 2^-149 D(12.5)
    (0x3F800000, 0, 0x3F62DFC5),
]


def test_special_gradients(host, figure):
    g, y, expected = np.array(SPECIAL, np.uint32).T.copy()
    got = host("erfinv_backward_f32", g, y)
    figure(f"{np.count_nonzero(got != expected)} of {len(SPECIAL)} differ")
    np.testing.assert_array_equal(got, expected)


# A mistake is found -------------------------------------------------------------------------------


def with_flipped_bit(text, row, column):
    """The text with the lowest bit of a coefficient changed."""
    line = re.search(rf"^    \{{(.*)\}}, /\* {row}: 2", text, flags=re.MULTILINE)[1]
    values = line.split(", ")
    (bits,) = struct.unpack("<I", struct.pack("<f", float.fromhex(values[column].rstrip("f"))))
    values[column] = struct.unpack("<f", struct.pack("<I", bits ^ 1))[0].hex() + "f"
    return text.replace(line, ", ".join(values))


def of_row(row):
    """Patterns of a in one row of the table, at least."""
    low, high = (1 - 2.0 ** -(i / 16 // 1) * (1 - i % 16 / 32) for i in (row, row + 1))
    return patterns("f32", *np.array([low, high], np.float32).view(np.uint32))


EXCEPTION = 0x3E28C827
MISTAKES = {
    "coefficient": (lambda text: with_flipped_bit(text, 40, 11), "erfinv_f32", of_row(40)),
    "exception dropped": (
        lambda text: text.replace(f"{{{EXCEPTION:#010x}u", "{0u"),
        "erfinv_f32",
        patterns("f32", EXCEPTION, EXCEPTION + 1),
    ),
    "last results shifted": (
        lambda text: text.replace("LUCID_ONE - 1u - a]", "LUCID_ONE - a]"),
        "erfinv_f32",
        patterns("f32", 0x3F7FFF00, 0x3F7FFFFF),
    ),
    "rounding once too often": (
        lambda text: text.replace("digits = y.low < 0.0f", "digits = true ? digits : y.low < 0.0f"),
        "erfinv_f16",
        patterns("f16", 0, 1 << 16),
    ),
    "y taken at its word": (
        lambda text: text.replace("a >= 0.5f && a < 3.875f", "a >= 9.5f && a < 3.875f"),
        "erfinv_backward_f32",
        patterns("f32", 0x40000000, 0x40010000),
    ),
    "subnormals in floats": (
        lambda text: text.replace("#define LUCID_TINY 0x30800000u", "#define LUCID_TINY 1u"),
        "erfinv_f32",
        patterns("f32", 1, 0x1000),
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_seeded_mistake_is_found(text, tmp_path, mistake, figure):
    change, kernel, x = MISTAKES[mistake]
    changed = change(text)
    assert changed != text
    source = tmp_path / "mistake.metal"
    source.write_text(changed)
    host = Host("gcc", source)
    inputs = [np.full_like(x, 0x3F800000), x] if "backward" in kernel else [x]
    wrong = np.count_nonzero(host(kernel, *inputs, flush=True) != cpu(kernel, *inputs))
    figure(f"{wrong} of {x.size} differ")
    assert wrong > 0


# A second device API ------------------------------------------------------------------------------


def opencl(text):
    """The text in OpenCL C: other words for the same."""
    text = text.replace("#include <metal_stdlib>", "#pragma OPENCL FP_CONTRACT OFF")
    text = re.sub("#pragma METAL.*", "", text)
    text = re.sub(r"struct (\w+) \{", r"typedef struct \1 \1;\nstruct \1 {", text)
    text = text.replace("metal::", "").replace("device ", "__global ")
    text = re.sub(r"as_type<(\w+)>", r"as_\1", text)
    text = re.sub(r"\b(int|uint|ushort|float)\(", r"(\1)(", text)
    index = ") {\n    uint i = get_global_id(0);"
    text = re.sub(r",\s*uint i \[\[thread_position_in_grid\]\]\) \{", index, text)
    return re.sub(r" \[\[\w+\(\d+\)\]\]", "", text)


@pytest.fixture(scope="module")
def pocl(text):
    """The kernels, built for the CPU by PoCL, as functions of arrays of patterns."""
    cl = pytest.importorskip("pyopencl", reason="pyopencl is not installed")
    try:
        platforms = [p for p in cl.get_platforms() if "Portable" in p.name]
    except cl.LogicError:
        platforms = []
    if not platforms:
        pytest.skip("PoCL is not installed: on Debian, apt install pocl-opencl-icd")
    context = cl.Context([platforms[0].get_devices()[0]])
    queue = cl.CommandQueue(context)
    program = cl.Program(context, opencl(text)).build(options=["-cl-std=CL1.2"], cache_dir=False)

    def run(kernel, *inputs):
        read, write = cl.mem_flags.READ_ONLY | cl.mem_flags.COPY_HOST_PTR, cl.mem_flags.WRITE_ONLY
        buffers = [cl.Buffer(context, read, hostbuf=a) for a in inputs]
        buffers.append(cl.Buffer(context, write, inputs[0].nbytes))
        cl.Kernel(program, kernel)(queue, inputs[0].shape, None, *buffers)
        out = np.empty_like(inputs[0])
        cl.enqueue_copy(queue, out, buffers[-1])
        return out

    return run


@pytest.mark.parametrize("kernel", NAMES)
def test_opencl(pocl, folder, rng, kernel, figure):
    host = Host("gcc", folder / "erfinv.metal")
    n, name = 1 << 24, kernel.split("_")[-1]
    common = rng.uniform(-1, 1, n // 2).astype(TYPES[name])
    if "backward" in kernel:
        common = common * TYPES[name].type(4)
    common = common.view(f"u{TYPES[name].itemsize}")
    inputs = [np.append(common, random_patterns(rng, name, n // 2))]
    if "backward" in kernel:
        inputs.insert(0, random_patterns(rng, name, n))
    wrong = np.count_nonzero(pocl(kernel, *inputs) != host(kernel, *inputs))
    figure(f"{wrong} of {n} differ")
    assert wrong == 0
