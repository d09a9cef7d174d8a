"""The accelerate level on a stand-in for vForce: the others' bits, whatever vForce gives.

tests/apple/vforce/standin.c is libm, as it is or spoilt as the environment variable says.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from lucid_erfinv import _ufunc, erfinv

ROOT = Path(__file__).parent.parent.parent
MODES = ["plain", "noise:16:1", "noise:16:2", "noise:64:3", "flush", "garbage"]
LEVEL_TESTS = ["values", "accuracy", "exact", "ufunc", "backward", "dispatch", "threads"]

# Compares with the best other level, whose results are proved or exhaustively checked.
COMPARE = """
import json, sys
import numpy as np
import lucid_erfinv
from lucid_erfinv import _ufunc

kind, control = sys.argv[1], sys.argv[2]
lucid_erfinv.set_num_threads(2)
other = [name for name in _ufunc._levels() if name != "accelerate"][-1]
rng = np.random.default_rng(20240229)
BLOCK = 1 << 21
set_control = None
if control:
    import ctypes
    set_control = ctypes.CDLL(control)

def log_uniform(low, high):
    return np.exp2(rng.uniform(low, high, BLOCK))

def float64_inputs():
    yield "uniform", rng.uniform(0, 1, BLOCK)
    yield "tail", 1 - log_uniform(-53, -1)
    yield "far tail", 1 - log_uniform(-53, -40)
    yield "small", log_uniform(-60, 0)
    yield "tiny", log_uniform(-1000, -60)
    yield "subnormal", rng.integers(0, 1 << 53, BLOCK, np.uint64).view("d")
    yield "any", rng.integers(0, 1 << 63, BLOCK, np.uint64).view("d")
    yield "special", rng.choice([0.0, 1.0, 2.0, np.inf, np.nan, 5e-324, 2.0**-900], BLOCK)

def float32_inputs():
    yield "uniform", rng.uniform(0, 1, BLOCK).astype("f")
    yield "tail", (1 - log_uniform(-24, -1)).astype("f")
    # Steps beyond 1 reach all binades; 1 takes every float32, or those in [0, 1).
    whole = {"every": (1, 1 << 32), "every in [0, 1)": (1, 0x3f800000)}
    step, end = whole.get(kind, (257, 1 << 32))
    for start in range(0, end, step * BLOCK):
        bits = np.arange(start, min(end, start + step * BLOCK), step, np.uint64)
        yield "all", bits.astype(np.uint32).view("f")

dtype, inputs = ("d", float64_inputs) if kind == "float64" else ("f", float32_inputs)
stage = "f64_second" if dtype == "d" else "f32_second"
found = {"points": 0, "differ": 0, "open": {}}
for region, x in inputs():
    if region != "all":
        x = np.copysign(x, rng.choice(np.array([-1, 1], dtype), x.size))
    expected = _ufunc._erfinv_at(other, x, np.empty_like(x))
    before = _ufunc._counters()[stage]
    if set_control:
        set_control.fp_flush_subnormals()
    got = _ufunc._erfinv_at("accelerate", x, np.empty_like(x))
    if set_control:
        set_control.fp_reset()
    found["open"].setdefault(region, (_ufunc._counters()[stage] - before) / x.size)
    found["points"] += x.size
    unsigned = f"u{x.itemsize}"
    found["differ"] += int(np.count_nonzero(got.view(unsigned) != expected.view(unsigned)))
print(json.dumps(found))
"""


@pytest.fixture(scope="session")
def standin(tmp_path_factory):
    """The folder of a build with the stand-in."""
    folder = tmp_path_factory.mktemp("standin")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "-q", "install"]
    options = ["--no-deps", "--target", folder, "-Csetup-args=-Daccelerate=standin"]
    done = subprocess.run([*pip, *options, ROOT], capture_output=True, text=True)
    if done.returncode and "connection broken by" in done.stderr:
        pytest.skip("no network to fetch the build requirements with")
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="session")
def compare(standin):
    def run(mode, kind, control=""):
        environment = {"PYTHONPATH": str(standin), "LUCID_VFORCE": mode.replace("plain", "")}
        done = subprocess.run(
            [sys.executable, "-P", "-c", COMPARE, kind, control],
            env=os.environ | environment,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return run


def assert_few_open(found, most):
    for region in ("uniform", "tail"):
        assert found["open"][region] <= most, region
    return ", ".join(f"{found['open'][region]:.3%} of {region}" for region in ("uniform", "tail"))


@pytest.mark.parametrize("mode", MODES)
def test_float64_has_the_bits_of_the_other_levels(compare, mode, figure):
    found = compare(mode, "float64")
    assert found["differ"] == 0
    text = f"0 of {found['points']} differ"
    if mode != "garbage":
        text += f"; open: {assert_few_open(found, 0.001)}"
    else:
        assert found["open"]["uniform"] > 0.9  # it is seen that the first value is none
    figure(text)


@pytest.mark.parametrize("mode", MODES)
def test_float32_has_the_bits_of_the_other_levels(compare, mode, figure):
    kind = {"plain": "every", "noise:16:1": "every in [0, 1)"}.get(mode, "some")
    found = compare(mode, kind)
    assert found["differ"] == 0
    text = f"0 of {found['points']} differ"
    text += f" ({kind})"
    if mode != "garbage":
        text += f"; open: {assert_few_open(found, 0.03)}"
    else:
        assert found["open"]["uniform"] > 0.9
    figure(text)


@pytest.mark.parametrize("kind", ["float64", "float32"])
def test_callers_flushing_changes_no_bit(compare, fpu_library, kind, figure):
    """With FTZ and DAZ set in the caller's environment."""
    found = compare("flush", kind, fpu_library._name)
    assert found["differ"] == 0
    figure(f"0 of {found['points']} differ")


@pytest.mark.parametrize(
    ("mode", "names"), [("plain", LEVEL_TESTS), ("noise:16:4", LEVEL_TESTS[:3])]
)
def test_level_tests_pass(standin, mode, names, figure):
    """Those of `make test`, accelerate being among the levels."""
    files = [ROOT / "tests" / f"test_{name}.py" for name in names]
    environment = {"PYTHONPATH": str(standin), "LUCID_VFORCE": mode.replace("plain", "")}
    command = [sys.executable, "-P", "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*command, "-k", "not costs_no_more", *files],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        cwd=ROOT,
    )
    assert done.returncode == 0, done.stdout[-4000:]
    figure(done.stdout.strip().splitlines()[-1])


def test_levels(standin, run_python, figure):
    """The stand-in comes first, and so is not the default, which is the last."""
    script = "from lucid_erfinv._ufunc import _levels, _chosen_level as c; print(*_levels(), c())"
    levels = run_python(script, PYTHONPATH=str(standin)).split()
    assert levels[:2] == ["accelerate", "baseline"]
    assert levels[-1] != "accelerate"
    figure(f"{', '.join(levels[:-1])}; default {levels[-1]}")
    script = "import lucid_erfinv; print(lucid_erfinv.erfinv(0.5))"
    environment = {"PYTHONPATH": str(standin), "LUCID_ERFINV_ISA": "accelerate"}
    assert run_python(script, **environment).strip() == "0.4769362762044699"


# Other CPUs --------------------------------------------------------------------------------------

CPUS = {
    "plain C": ["-DLUCID_SCALAR"],
    "SSE2": ["-mcpu=x86_64"],
    "AVX2 and FMA": ["-mcpu=x86_64_v3"],
    "arm64": ["-target", "aarch64-linux-musl", "-static"],
}


@pytest.fixture(params=CPUS)
def stages(request, zig, tmp_path):
    """Run the stages, built for a CPU: results, and which of them are open."""
    emulator = []
    if request.param == "arm64":
        emulator = [shutil.which("qemu-aarch64")]
        if emulator == [None]:
            pytest.skip("qemu-aarch64 is not installed: on Debian, apt install qemu-user")
    elif request.param != "plain C" and "avx2" not in _ufunc._levels():
        pytest.skip("this CPU has no AVX2")
    kernels, vforce = ROOT / "lucid_erfinv" / "kernels", ROOT / "tests" / "apple" / "vforce"
    sources = [kernels / "erfinv_vforce.c", kernels / "tables" / "vforce.c"]
    sources += [vforce / "standin.c", vforce / "run_stages.c"]
    program = tmp_path / "run_stages"
    options = [*CPUS[request.param], "-std=gnu17", "-O2", "-ffp-contract=off", "-lm", "-pthread"]
    command = [*zig, "cc", *options, "-I", kernels, "-I", vforce, *sources, "-o", program]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr

    def run(x, mode):
        done = subprocess.run(
            [*emulator, program, str(x.itemsize), str(x.size)],
            input=x.tobytes(),
            env=os.environ | {"LUCID_VFORCE": mode.replace("plain", "")},
            capture_output=True,
        )
        assert done.returncode == 0, done.stderr
        is_open = np.frombuffer(done.stdout, np.uint8, offset=x.nbytes).astype(bool)
        return np.frombuffer(done.stdout, x.dtype, x.size), is_open

    return run


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_stages_on_other_cpus(stages, dtype, rng, assert_same_bits, figure):
    """What they settle is right, with and without fused multiply-add."""
    n = 1 << 19
    uniform = rng.uniform(-1, 1, n)
    tail = 1 - np.exp2(rng.uniform(-53 if dtype == "float64" else -24, -1, n))
    small = np.exp2(rng.uniform(-1074, 0, n))
    special = rng.choice([0.0, -0.0, 1.0, -2.0, np.inf, np.nan, 5e-324], 999)
    x = np.concatenate([uniform, tail, small, special]).astype(dtype)
    with np.errstate(all="ignore"):
        expected = erfinv(x)
    for mode in ("plain", "noise:16:5", "garbage"):
        y, is_open = stages(x, mode)
        assert_same_bits(y[~is_open], expected[~is_open], x[~is_open])
        if mode != "garbage":
            assert is_open[:n].mean() <= 0.001
            assert is_open[n : 2 * n].mean() <= 0.001
    share = stages(x[:n], "plain")[1].mean()
    figure(f"3 modes of {x.size} values, 0 differ; open: {share:.4%} of uniform")
