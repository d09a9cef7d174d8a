"""The neon level in an emulator of arm64: the bits are those of this machine."""

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from lucid_erfinv import erfinv, erfinv_backward

TARGET = "aarch64-linux-musl"
TYPES = ("float64", "float32", "float16", "bfloat16")  # as enum lucid_type has them


@pytest.fixture(scope="module")
def at_level(cross_build, zig, tmp_path_factory):
    """Run a function of arrays of one dtype at a level."""
    emulator = shutil.which("qemu-aarch64")
    if emulator is None:
        pytest.skip("qemu-aarch64 is not installed: on Debian, apt install qemu-user")
    build = cross_build(TARGET, "linux")
    kernels = [f"libkernels{level}.a" for level in ("", "_baseline", "_neon")]
    build.ninja(*kernels)
    program = build.folder / "run_level"
    command = [*zig, "cc", "-target", TARGET, "-static", "-O2", "-o", program]
    command += ["-I", build.source / "lucid_erfinv" / "kernels"]
    command += [Path(__file__).with_name("run_level.c"), *(build.build / lib for lib in kernels)]
    build.run(*command)

    def run(level, *operands):
        x = operands[0]
        arguments = [level, len(operands), TYPES.index(x.dtype.name), x.size]
        done = subprocess.run(
            [emulator, program, *map(str, arguments)],
            input=b"".join(operand.tobytes() for operand in operands),
            capture_output=True,
        )
        assert done.returncode == 0, done.stderr
        return np.frombuffer(done.stdout, x.dtype)

    return run


@pytest.fixture
def x(fmt, rng):
    """Of every size, dense near 1, and what is special; of 16-bit formats all."""
    if fmt.dtype.itemsize == 2:
        return fmt.values(np.arange(1 << 16))
    special = [0, 1, 2, fmt.tiny - 1, fmt.tiny, fmt.one - 1, fmt.one, fmt.one + 1, fmt.inf]
    special += [fmt.inf + 1, fmt.inf + fmt.quiet_bit, fmt.inf + fmt.quiet_bit + 5]
    bits = np.concatenate([special, rng.integers(0, fmt.one, 1 << 20)]).astype(fmt.unsigned)
    bits = np.concatenate([bits, fmt.one - rng.integers(0, 1 << 22, 1 << 18, dtype=fmt.unsigned)])
    whole = [fmt.values(np.concatenate([bits, bits | fmt.sign_bit]))]
    return np.concatenate([*whole, rng.uniform(-1, 1, 1 << 20).astype(fmt.dtype)])


LEVELS = pytest.mark.parametrize("level_name", ["neon", "baseline"])


@LEVELS
def test_values(at_level, level_name, x, assert_same_bits, figure):
    with np.errstate(all="ignore"):
        expected = erfinv(x)
    assert_same_bits(at_level(level_name, x), expected, x)
    figure(f"{x.size} values, 0 differ")


@LEVELS
def test_gradients(at_level, level_name, x, fmt, rng, assert_same_bits, figure):
    with np.errstate(all="ignore"):
        y = erfinv(x)
        g = rng.permutation(x)
        expected = erfinv_backward(g, y)
    got = at_level(level_name, g, y)
    if fmt.name != "float64":
        assert_same_bits(got, expected)
        figure(f"{x.size} gradients, 0 differ")
        return
    number = ~np.isnan(expected)
    assert_same_bits(got[~number], expected[~number])
    apart = abs(got[number].view("i8") - expected[number].view("i8"))
    assert apart.max() <= 1  # each is within 1 ulp of the exact one
    figure(f"{x.size} gradients, {np.count_nonzero(apart)} differ, by {apart.max()} ulp at most")
