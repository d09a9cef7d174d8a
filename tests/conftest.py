"""Levels, number formats, the oracle, and the floating-point environment."""

import ctypes
import functools
import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from flint import arb, ctx

from lucid_erfinv import _ufunc

TESTS = Path(__file__).parent


@dataclass(frozen=True)
class Format:
    """A binary interchange format; its values below are exact: digits * 2**exponent."""

    dtype: np.dtype
    precision: int  # bits of a significand
    smallest: int  # exponent of the smallest subnormal

    @property
    def name(self):
        return self.dtype.name

    @property
    def unsigned(self):
        return np.dtype(f"u{self.dtype.itemsize}")

    @property
    def sign_bit(self):
        return 1 << (8 * self.dtype.itemsize - 1)

    @property
    def inf(self):
        """The bits of infinity, and above it those of NaNs."""
        return self.sign_bit - (1 << (self.precision - 1))

    @property
    def quiet_bit(self):
        return 1 << (self.precision - 2)

    @property
    def one(self):
        """The bits of 1."""
        return (2 - self.precision - self.smallest) << (self.precision - 1)

    @property
    def tiny(self):
        """The bits of the smallest normal number."""
        return 1 << (self.precision - 1)

    def bits(self, x):
        """The bits of an array or scalar, as unsigned integers."""
        return np.asarray(x, self.dtype).view(self.unsigned)

    def values(self, bits):
        """The array with the given bits."""
        return np.asarray(bits, self.unsigned).view(self.dtype)

    def exact(self, bits):
        """A finite positive number, as integers (digits, exponent)."""
        step = max((bits >> (self.precision - 1)) - 1, 0)
        return bits - (step << (self.precision - 1)), self.smallest + step

    def rounded(self, digits, exponent):
        """The bits of the number nearest to digits * 2**exponent > 0; ties go to even."""
        unit = max(digits.bit_length() + exponent - self.precision, self.smallest)
        drop = unit - exponent
        if drop > 0:
            rest = digits & ((1 << drop) - 1)
            digits >>= drop
            digits += rest > 1 << (drop - 1) or (rest == 1 << (drop - 1) and digits & 1)
        else:
            digits <<= -drop
        return ((unit - self.smallest) << (self.precision - 1)) + digits


FORMATS = {
    "float64": Format(np.dtype("d"), 53, -1074),
    "float32": Format(np.dtype("f"), 24, -149),
    "float16": Format(np.dtype("e"), 11, -24),
    "bfloat16": Format(np.dtype(ml_dtypes.bfloat16), 8, -133),
}


@pytest.fixture(scope="session")
def formats():
    return FORMATS


@pytest.fixture(params=FORMATS, scope="session")
def fmt(request):
    return FORMATS[request.param]


def format_of(x):
    return FORMATS[x.dtype.name]


def enclosure(digits, exponent):
    """Lower and upper bounds of erfinv(digits * 2**exponent), at rising precision."""
    x = arb((digits, exponent))
    for precision in (128, 256, 1024, 4096):
        ctx.prec = precision
        y = x.erfinv()
        yield tuple(
            (int(bound), int(power)) for bound, power in (y.lower().man_exp(), y.upper().man_exp())
        )
    raise ArithmeticError(f"rounding of erfinv({digits} * 2**{exponent}) is open at 4096 bits")


@functools.cache
def exact_bits(fmt, bits):
    """The bits of erfinv of the number with the given bits, strictly between 0 and 1."""
    for lower, upper in enclosure(*fmt.exact(bits)):
        if fmt.rounded(*lower) == fmt.rounded(*upper):
            return fmt.rounded(*lower)
    raise AssertionError


class Oracle:
    """The correctly rounded erfinv, by ball arithmetic; float dtype and shape of its argument."""

    def __call__(self, x):
        x = np.asarray(x)
        fmt = format_of(x)
        return fmt.values([self.bits(fmt, int(b)) for b in fmt.bits(x).ravel()]).reshape(x.shape)

    @staticmethod
    def bits(fmt, bits):
        """From bits to bits, by the table of values in the docstring of `erfinv`."""
        sign, magnitude = bits & fmt.sign_bit, bits & ~fmt.sign_bit
        if magnitude > fmt.inf:
            return bits | fmt.quiet_bit
        if magnitude > fmt.one:
            return fmt.inf | fmt.quiet_bit
        if magnitude in (0, fmt.one):
            return sign | (fmt.inf if magnitude else 0)
        return sign | exact_bits(fmt, magnitude)

    @staticmethod
    def ulp_error(got, x):
        """abs(got - exact) / ulp(exact) of finite elements, |x| < 1; only the last digits err."""
        fmt = format_of(np.asarray(x))
        errors = []
        for got_bits, x_bits in zip(fmt.bits(got).ravel(), fmt.bits(x).ravel(), strict=True):
            sign, magnitude = int(x_bits) & fmt.sign_bit, int(x_bits) & ~fmt.sign_bit
            if magnitude == 0:
                errors.append(0.0 if got_bits == x_bits else float("inf"))
                continue
            ctx.prec = 256
            exact = arb(fmt.exact(magnitude)).erfinv()
            _, unit = fmt.exact(exact_bits(fmt, magnitude))
            found = arb(fmt.exact(int(got_bits) & ~fmt.sign_bit))
            same_sign = (int(got_bits) & fmt.sign_bit) == sign
            errors.append(float(abs((found if same_sign else -found) - exact) * arb(2) ** -unit))
        return np.array(errors)


@pytest.fixture(scope="session")
def oracle():
    return Oracle()


@pytest.fixture(scope="session")
def assert_same_bits():
    """Compare arrays bit for bit, NaNs too, and show the worst of what differs."""

    def check(got, expected, x=None):
        got, expected = np.asarray(got), np.asarray(expected)
        assert got.dtype == expected.dtype
        assert got.shape == expected.shape
        fmt = format_of(expected)
        wrong = np.flatnonzero(fmt.bits(got).ravel() != fmt.bits(expected).ravel())
        if wrong.size:
            shown = [
                f"[{i}] x = {hexadecimal(x, i)}, got {hexadecimal(got, i)}, "
                f"expected {hexadecimal(expected, i)}"
                for i in wrong[:8]
            ]
            pytest.fail(f"{wrong.size} of {got.size} differ:\n" + "\n".join(shown))

    return check


def hexadecimal(array, i):
    if array is None:
        return "?"
    array = np.ascontiguousarray(array).ravel()
    return f"{float(array[i]).hex()} (0x{int(format_of(array).bits(array)[i]):x})"


class Level:
    """erfinv of arrays and scalars at one kernel level."""

    def __init__(self, name):
        self.name = name

    def __call__(self, x):
        x = np.asarray(x, order="C")
        return _ufunc._erfinv_at(self.name, x, np.empty_like(x))


@pytest.fixture(params=_ufunc._levels(), scope="session")
def level(request):
    return Level(request.param)


@pytest.fixture
def rng():
    return np.random.default_rng(20240229)


@pytest.fixture(scope="session")
def run_python():
    """Run a script in a fresh interpreter, warnings being errors, and return what it printed."""

    def run(script, *arguments, check=True, **environment):
        done = subprocess.run(
            [sys.executable, "-P", "-W", "error", "-c", script, *arguments],
            env=os.environ | environment,
            capture_output=True,
            text=True,
            timeout=300,
        )
        if not check:
            return done
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


class FloatingPointUnit:
    """Reads and sets the calling thread's control and status words."""

    def __init__(self, library):
        self.library = library
        library.fp_control.restype = ctypes.c_ulong
        self.control = library.fp_control
        self.reset = library.fp_reset
        self.flush_subnormals = library.fp_flush_subnormals

    def set_rounding(self, name):
        names = ("nearest", "upward", "downward", "towards zero")
        assert self.library.fp_set_rounding(names.index(name)) == 0

    def flags_of(self, function, *arguments):
        """The names, as np.errstate has them, of the flags that a call leaves set."""
        self.library.fp_reset()
        function(*arguments)
        raised = self.library.fp_flags()
        return {
            name for i, name in enumerate(("divide", "invalid", "under", "over")) if raised & 1 << i
        }


@pytest.fixture(scope="session")
def fpu_library(tmp_path_factory):
    compiler = shlex.split(os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc")
    if not shutil.which(compiler[0]):
        pytest.skip(f"no C compiler ({compiler[0]}) to build tests/data/fp_control.c with")
    library = tmp_path_factory.mktemp("fpu") / "fp_control.so"
    source = TESTS / "data" / "fp_control.c"
    command = [*compiler, "-O1", "-frounding-math", "-shared", "-fPIC", source, "-o", library]
    subprocess.run([*command, "-lm"], check=True, capture_output=True)
    return ctypes.CDLL(os.fspath(library))


@pytest.fixture
def fpu(fpu_library):
    unit = FloatingPointUnit(fpu_library)
    yield unit
    unit.reset()
