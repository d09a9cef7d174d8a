"""The Metal back end, from NumPy to the shader's text, on a model of Metal (tests/apple/mock).

metal_host.cpp, _metal.pyx, backends/metal.py and Apple's metal-cpp are what a Mac runs; the model
ends the process where Metal's validation would object or a reference count is wrong. That it
sees mistakes is shown by making some. It is our model of Metal, not Apple's Metal.
"""

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

import lucid_erfinv

HERE = Path(__file__).parent
KERNELS = HERE.parent.parent / "lucid_erfinv" / "kernels"
HOST = KERNELS / "metal_host.cpp"

PRELUDE = """
import ctypes, gc, os, sys, threading
import ml_dtypes
import numpy as np
from lucid_erfinv import _metal, erfinv, erfinv_backward
from lucid_erfinv.backends import BACKENDS

mock = ctypes.CDLL(_metal.__file__)
mock.mock_live.argtypes = [ctypes.c_char_p]
mock.mock_live.restype = mock.mock_allocations.restype = ctypes.c_long
mock.mock_set.argtypes = [ctypes.c_char_p, ctypes.c_long]
metal = BACKENDS["metal"]
np.seterr(all="ignore")  # half of it rounds to 1
rng = np.random.default_rng(20240229)
DTYPES = np.dtype("f"), np.dtype("e"), np.dtype(ml_dtypes.bfloat16)

def check_same(got, expected):
    unsigned = f"u{got.itemsize}"
    assert got.dtype == expected.dtype and got.shape == expected.shape
    differ = np.count_nonzero(got.view(unsigned) != expected.view(unsigned))
    assert differ == 0, f"{differ} of {got.size} differ"

def check_nothing_lives():
    gc.collect()
    metal._opened = None
    gc.collect()
    assert mock.mock_live(b"") == 0, f"{mock.mock_live(b'')} objects live on"
"""

EXERCISE = """
points = 0
for dtype in DTYPES:
    for n in (1, 3, 511, 513, 100_000):
        x = rng.uniform(-1, 1, n).astype(dtype)
        g = rng.normal(size=n).astype(dtype)
        y = metal.erfinv(x, x.shape, dtype)
        check_same(y, erfinv(x))
        check_same(metal.erfinv_backward(g, y), erfinv_backward(g, y))
        points += 2 * n
    bits = np.arange(1 << 16, dtype=np.uint16)
    x = bits.view(dtype) if dtype.itemsize == 2 else (bits.astype(np.uint32) << 16).view(dtype)
    with np.errstate(all="ignore"):
        check_same(metal.erfinv(x, x.shape, dtype), erfinv(x))

# Memory of any alignment, and shapes.
x = rng.uniform(-1, 1, 5000).astype("f")
for part in (x[1:], x[::3], x[:6].reshape(2, 3).T, x[:1].reshape(()), x[:0]):
    check_same(metal.erfinv(part, part.shape, "float32"), np.asarray(erfinv(part)))
check_same(metal.erfinv_backward(x[:3].reshape(3, 1), x[:4]),
           erfinv_backward(x[:3].reshape(3, 1), x[:4]))
"""

CONTINUED = """
# Held buffers, in place and again; views outlive them.
with metal.buffer((10, 20), "float32") as a, metal.buffer((10, 20), "float32") as b:
    view = a.numpy()
    for _ in range(5):
        view[...] = rng.uniform(-1, 1, view.shape)
        expected = erfinv(view)
        assert metal.submit(a, b).result() is b
        check_same(b.numpy(), expected)
        metal.submit(a, a).result()
        check_same(view, expected)
for use in (lambda: metal.submit(a), lambda: metal.submit(x[:200].reshape(10, 20), a), a.numpy):
    try:
        use()
    except ValueError as error:
        assert "closed" in str(error)
    else:
        raise AssertionError
check_same(view, expected)
del view, use, a, b
gc.collect()
assert mock.mock_live(b"MTLBuffer") == 0, "buffers live on"

# Pages are used where they are.
pages = metal.erfinv(np.zeros(4096, "f"), (4096,), "float32")
pages[...] = rng.uniform(-1, 1, 4096)
before = mock.mock_allocations()
check_same(metal.erfinv(pages, pages.shape, "float32"), erfinv(pages))
assert mock.mock_allocations() == before
metal.erfinv(pages[1:], (4095,), "float32")
assert mock.mock_allocations() == before + 1

# Whole pages alone: the rest of an array's last page is copied, and what is not its own kept.
rest = pages[:3000]
kept = pages[3000:].copy()
before = mock.mock_allocations()
expected = erfinv(rest)
assert metal.submit(rest, rest).result() is rest
check_same(rest, expected)
check_same(pages[3000:], kept)
assert mock.mock_allocations() == before + 2  # of x, and of out
mock.mock_set(b"no wrap", 1)  # Metal may refuse
check_same(metal.erfinv(pages, pages.shape, "float32"), erfinv(pages))
mock.mock_set(b"no wrap", 0)

# A scalar takes the other's dtype.
check_same(metal.erfinv_backward(1.0, x[:4]), erfinv_backward(1.0, x[:4]))

# A held buffer beside them.
with metal.buffer(3000, "float32") as a:
    rest[...] = rng.uniform(-1, 1, 3000)
    check_same(metal.submit(rest, a).result().numpy(), erfinv(rest))
    metal.submit_backward(a, a.numpy(), rest).result()
    check_same(rest, erfinv_backward(a.numpy(), a.numpy()))
del a

# Longer than a buffer may be.
mock.mock_set(b"longest", 16384)
for dtype in DTYPES:
    x = rng.uniform(-1, 1, 30_001).astype(dtype)
    for part in (x, x[1:]):
        y = metal.erfinv(part, part.shape, dtype)
        check_same(y, erfinv(part))
        check_same(metal.erfinv_backward(part, y), erfinv_backward(part, y))
    out = np.empty(x.size + 1, dtype)[1:]
    assert metal.submit(x, out).result() is out
    check_same(out, erfinv(x))
mock.mock_set(b"longest", 1 << 30)

# Many at once.
mock.mock_set(b"delay", 2000)
xs = [rng.uniform(-1, 1, 1000).astype("f") for _ in range(50)]
pending = [metal.submit(x) for x in xs]
assert not pending[-1].done()
for x, result in zip(xs, pending):
    check_same(result.result(), erfinv(x))
    assert result.done()
dropped = [metal.submit(x) for x in xs]  # nobody waits for these
del dropped
mock.mock_set(b"delay", 50)
failures = []

def calls():
    try:
        for x in xs:
            check_same(metal.submit(x).result(), erfinv(x))
    except BaseException as error:
        failures.append(error)

threads = [threading.Thread(target=calls) for _ in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert not failures, failures
del pending, result, failures, thread, threads

# Closed by one thread while another one uses it.
shared = [metal.buffer(1000, "float32")]
ended = threading.Event()

def close():
    while not ended.is_set():
        shared[0].close()

thread = threading.Thread(target=close)
thread.start()
closed = 0
for _ in range(3000):
    shared[0] = metal.buffer(1000, "float32")
    try:
        metal.submit(shared[0])
    except ValueError as error:
        assert "closed" in str(error)
        closed += 1
ended.set()
thread.join()
del shared, thread

# A forked process may not use Metal, and comes to its end.
mock.mock_set(b"delay", 1000_000)
result = metal.submit(xs[0])
child = os.fork()
if child == 0:
    try:
        metal.erfinv(xs[0], xs[0].shape, "float32")
    except RuntimeError as error:
        del result
        gc.collect()
        os._exit(0 if "forked" in str(error) else 1)
    os._exit(2)
assert os.waitpid(child, 0)[1] == 0
check_same(result.result(), erfinv(xs[0]))
del result
check_nothing_lives()
print(points, "results, 0 objects left")
"""

ERRORS = """
def check_raises(kind, text, call):
    try:
        call()
    except kind as error:
        assert text in str(error), error
    else:
        raise AssertionError(text)

x = rng.uniform(-1, 1, 1000).astype("f")
unaligned = np.empty(2000, "f")[1:]
checks = 0

mock.mock_set(b"no device", 1)
check_raises(RuntimeError, "Metal: this system has no GPU", lambda: metal.erfinv(x, x.shape, "f"))
assert not metal.is_available() and "no GPU" in metal.why_not()
mock.mock_set(b"no device", 0)
check_nothing_lives()

mock.mock_set(b"no default device", 1)
check_same(metal.erfinv(x, x.shape, "f"), erfinv(x))
check_nothing_lives()
mock.mock_set(b"no default device", 0)

mock.mock_set(b"macOS 14", 1)  # which has no math mode, but fast math to turn off
check_same(metal.erfinv(x, x.shape, "f"), erfinv(x))
check_nothing_lives()
mock.mock_set(b"macOS 14", 0)

reason = "does not compile: program_source:1:1: error"
check_raises(RuntimeError, reason, lambda: _metal.Device("?"))
check_nothing_lives()

assert metal.is_available() and metal.why_not() is None
mock.mock_set(b"no memory", 1)
check_raises(MemoryError, "Metal: no memory for a buffer", lambda: metal.erfinv(x, x.shape, "f"))
check_raises(MemoryError, "Metal: no memory for a buffer", lambda: metal.buffer(3, "float32"))
mock.mock_set(b"no memory", 0)
check_nothing_lives()

mock.mock_set(b"gpu fails", 1)
reason = "Metal: the GPU has failed: Caused GPU Hang Error"
check_raises(RuntimeError, reason, lambda: metal.erfinv(x, x.shape, "f"))
pending = metal.submit(x)
check_raises(RuntimeError, reason, pending.result)
check_raises(RuntimeError, reason, pending.result)
mock.mock_set(b"gpu fails", 8)
check_raises(MemoryError, reason, metal.submit(x).result)
mock.mock_set(b"gpu fails", 0)
del pending
check_nothing_lives()

for call in (
    lambda: metal.erfinv(np.zeros(3), (3,), "float64"),
    lambda: metal.erfinv_backward(np.zeros(3), np.zeros(3)),
    lambda: metal.submit(np.zeros(3)),
    lambda: metal.buffer(3, "float64"),
):
    check_raises(TypeError, "the GPU has none", call)
for dtype in ("complex64", "int32", "longdouble"):
    name = np.dtype(dtype).name
    check_raises(TypeError, f"not in {name}", lambda: metal.erfinv(x, x.shape, dtype))
check_raises(TypeError, "complex128", lambda: metal.erfinv(np.zeros(3, complex), (3,), "float32"))
check_raises(TypeError, "MaskedArray", lambda: metal.erfinv(np.ma.zeros(3), (3,), "float32"))
half, brain = np.zeros(3, "e"), np.zeros(3, ml_dtypes.bfloat16)
check_raises(TypeError, "bfloat16 with float16", lambda: metal.erfinv_backward(half, brain))
check_raises(TypeError, "must be an ndarray or a Buffer, got list", lambda: metal.submit(x, [0.0]))
check_raises(TypeError, "`x` must be an ndarray or a Buffer", lambda: metal.submit([0.0]))
check_raises(TypeError, "must be of dtype float32", lambda: metal.submit_backward(x, half))
check_raises(ValueError, "`shape` must be that of `a`", lambda: metal.erfinv(x, (3,), "float32"))
check_raises(ValueError, "must have the shape", lambda: metal.submit(x, x[:-1]))
check_raises(ValueError, "contiguous and writable", lambda: metal.submit(x[:500], x[::2]))
check_raises(ValueError, "overlaps `x`", lambda: metal.submit(x[1:], x[:-1]))
with metal.buffer(9, "float32") as nine:
    flat = nine.numpy().reshape(3, 3)
    check_raises(ValueError, "overlaps `x`", lambda: metal.submit(flat.T, flat))
del nine, flat
check_raises(ValueError, "has from 1 to", lambda: metal.buffer(0, "float32"))
check_raises(ValueError, "has from 1 to", lambda: metal.buffer(1 << 40, "float32"))
del call
check_nothing_lives()
print("no device, no compilation, no memory, no result, 22 bad arguments: 0 objects left")
"""

# Name: what is replaced in metal_host.cpp, by what, and what is then said.
POOL = "    Pool pool = make_pool();\n"
FAULTS = {
    "no endEncoding": [("    encoder->endEncoding();\n", "")],
    "completion handler after commit": [
        ("    commands->commit();\n", ""),
        (
            "    try {\n        auto finished",
            "    commands->commit();\n    try {\n        auto finished",
        ),
    ],
    "wrong buffer slot": [("offsets[i], i)", "offsets[i], i + 1)")],
    "no offset": [("offsets[i], i)", "0 * offsets[i], i)")],
    "exchanged buffers": [("of(buffers[i])", "of(buffers[count - 1 - i])")],
    "leaked buffer": [("    of(buffer)->release();\n", "    (void)buffer;\n")],
    "leaked queue": [
        (
            "NS::TransferPtr(metal->device->newCommandQueue())",
            "NS::RetainPtr(metal->device->newCommandQueue())",
        ),
    ],
    "double release": [("    of(buffer)->release();\n", "    of(buffer)->release();\n" * 2)],
    "command buffer not retained": [("NS::RetainPtr(commands)", "NS::TransferPtr(commands)")],
    "fast math": [("MTL::MathModeSafe", "MTL::MathModeFast")],
    "private memory": [
        (
            "newBuffer(bytes, MTL::ResourceStorageModeShared)",
            "newBuffer(bytes, MTL::ResourceStorageModePrivate)",
        )
    ],
    "no autorelease pool": [(f"{POOL}    auto *pipeline", "    auto *pipeline")],
    "oversized thread group": [("std::min<NS::UInteger>(n,", "std::max<NS::UInteger>(n,")],
    "buffer too small": [("newBuffer(bytes, ", "newBuffer((bytes + 1) / 2, ")],
    "no commit": [("    commands->commit();\n", "")],
    "no wait": [("    call->commands->waitUntilCompleted();\n", "")],
    "bad source": [("source ? source : EMBEDDED", "source ? source : EMBEDDED + 1")],
}
SAID = {
    "no endEncoding": "commit while an encoder has not ended",
    "completion handler after commit": "a completion handler is added after commit",
    "wrong buffer slot": "the buffers set are not those that the kernel has",
    "no offset": "differ",
    "exchanged buffers": "differ",
    "leaked buffer": "buffers live on",
    "leaked queue": "objects live on",
    "double release": "a MTLBuffer is released too often",
    "command buffer not retained": "a MTLCommandBuffer is released too often",
    "fast math": "the library is compiled with fast math",
    "private memory": "memory is not shared with the CPU",
    "no autorelease pool": "is autoreleased without a pool",
    "oversized thread group": "a thread group has too many threads",
    "buffer too small": "a buffer is shorter than the grid",
    "no commit": "a wait for a command buffer that is not committed",
    "no wait": "the GPU has failed",
    "bad source": "does not compile",
}


class MockedBuild:
    """The package with _metal, built against the model."""

    def __init__(self, zig, metal_cpp, folder):
        self.folder = folder
        self.compiler = [*zig, "c++", "-target", "x86_64-linux-gnu.2.36", "-std=c++17", "-O1"]
        self.compiler += ["-fPIC", "-fblocks", "-Wall", "-Wextra", "-Werror"]
        self.compiler += ["-Wno-overlength-strings", "-ffp-contract=off", "-I", folder]
        self.headers = ["-isystem", metal_cpp, "-isystem", HERE / "mock" / "include"]
        self.headers += ["-isystem", HERE / "stubs", "-I", KERNELS]
        self.headers += ["-D__MAC_OS_X_VERSION_MIN_REQUIRED=140000"]  # Availability.h's
        text = folder / "erfinv.metal"
        joined = [KERNELS / "erfinv.metal", KERNELS / "tables" / "erfinv_metal.h"]
        self.run(
            sys.executable, KERNELS / "join_metal.py", *joined, text, folder / "erfinv_metal.inc"
        )
        module = KERNELS.parent / "_metal.pyx"
        self.run(sys.executable, "-m", "cython", "-3", module, "-o", folder / "_metal.c")
        self.objects = [folder / "module.o"]
        compiler = [*zig, "cc", "-target", "x86_64-linux-gnu.2.36", "-O1", "-fPIC", "-w"]
        headers = ["-I", KERNELS, "-I", sysconfig.get_path("include")]
        self.run(*compiler, *headers, "-c", folder / "_metal.c", "-o", *self.objects)
        standin = ["-Wno-unknown-pragmas", "-Wno-unknown-attributes", f'-DSHADER="{text}"']
        standin += ["-I", HERE / "shader" / "standin"]
        for source in (HERE / "mock" / "metal.cpp", HERE / "mock" / "blocks.cpp"):
            self.objects.append(self.compile(source, *self.headers))
        self.objects.append(self.compile(HERE / "shader" / "host.cpp", *standin))

    @staticmethod
    def run(*command):
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr

    def compile(self, source, *options):
        target = self.folder / f"{source.stem}.o"
        self.run(*self.compiler, *options, "-c", source, "-o", target)
        return target

    def package(self, host):
        """A folder for PYTHONPATH with the package, and this source as its host code."""
        target = self.folder / host.stem / "lucid_erfinv"
        shutil.copytree(Path(lucid_erfinv.__file__).parent, target)
        objects = [*self.objects, self.compile(host, *self.headers)]
        module = target / f"_metal{sysconfig.get_config_var('EXT_SUFFIX')}"
        self.run(*self.compiler, "-shared", *objects, "-o", module)
        return target.parent


@pytest.fixture(scope="module")
def mocked(zig, metal_cpp, tmp_path_factory):
    if sysconfig.get_platform() != "linux-x86_64":
        pytest.skip("the model's objc_msgSend is written for x86-64 Linux")
    pytest.importorskip("Cython", reason="Cython is not installed")
    return MockedBuild(zig, metal_cpp, tmp_path_factory.mktemp("mocked"))


@pytest.fixture(scope="module")
def package(mocked):
    return mocked.package(HOST)


def run_script(package, script):
    return subprocess.run(
        [sys.executable, "-P", "-W", "error", "-c", PRELUDE + script],
        env=os.environ | {"PYTHONPATH": str(package)},
        capture_output=True,
        text=True,
        timeout=300,
    )


@pytest.mark.parametrize(
    "script", [EXERCISE + CONTINUED, ERRORS], ids=["results are the CPU's", "errors leave nothing"]
)
def test_unchanged_host(package, script, figure):
    done = run_script(package, script)
    assert done.returncode == 0, done.stderr
    figure(done.stdout.strip())


@pytest.mark.parametrize("fault", FAULTS)
def test_seeded_fault_is_seen(mocked, fault, figure):
    source = HOST.read_text()
    for old, new in FAULTS[fault]:
        assert source.count(old) == 1, f"metal_host.cpp has no longer one {old!r}"
        source = source.replace(old, new)
    host = mocked.folder / f"{fault.replace(' ', '_')}.cpp"
    host.write_text(source)
    done = run_script(mocked.package(host), EXERCISE + CONTINUED)
    assert done.returncode != 0
    said = done.stderr.strip().splitlines()[-1]
    assert SAID[fault] in said
    figure(said)
