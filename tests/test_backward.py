"""The gradient kernels: within 1 ulp of the exact derivative at x, by ball arithmetic."""

import functools
import math

import numpy as np
import pytest
from flint import arb, ctx

from lucid_erfinv import _ufunc, erfinv_backward
from lucid_erfinv.sweep import REGIONS

DTYPES = ("float64", "float32", "float16", "bfloat16")
# Bounds of docs/accuracy-backward.md: below 1/2 a quarter ulp of y's own rounding stays.
BELOW_HALF, FROM_HALF, PLAIN = 0.84, 0.66, 0.6
LARGEST_OUTPUT = {
    "float64": 5.8635847487551676,
    "float32": 3.8325069,
    "float16": 2.46484375,
    "bfloat16": 2.046875,
}


class Backward:
    """erfinv_backward at one kernel level."""

    def __init__(self, level):
        self.level = level

    def __call__(self, g, y):
        g, y = np.broadcast_arrays(np.asarray(g, np.asarray(y).dtype), y)
        g, y = np.ascontiguousarray(g), np.ascontiguousarray(y)
        return _ufunc._backward_at(self.level, g, y, np.empty_like(y))


@pytest.fixture
def backward(level):
    return Backward(level.name)


# The exact derivative -----------------------------------------------------------------------------


def number(value):
    return arb(float(value))


def derivative(y):
    return arb.pi().sqrt() / 2 * (y * y).exp()


def at_recovered_x(fmt, y):
    """The derivative at the x that is nearest to erf(y), 1/2 <= y; None if that is 1."""
    step = arb(2) ** fmt.precision
    tail = (number(y).erfc() * step + arb(1) / 2).floor().unique_fmpz()
    return derivative((1 - arb(tail) / step).erfinv()) if tail else None


def ulp_error(fmt, got, exact):
    exact = abs(exact)
    exponent = math.frexp(float(exact))[1]
    unit = arb(2) ** max(exponent - fmt.precision, fmt.smallest)
    return float(abs(abs(number(got)) - exact) / unit)


@pytest.fixture(autouse=True)
def precise():
    ctx.prec = 200


# Accuracy -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("region", REGIONS)
def test_derivative_at_x(backward, formats, oracle, rng, region, dtype):
    fmt = formats[dtype]
    x = REGIONS[region].sample(rng, 1000, dtype)
    g = rng.normal(size=x.size).astype(dtype)
    y = oracle(x)
    bounds = np.where(abs(y) < 0.5, BELOW_HALF, FROM_HALF)
    for got_here, g_here, x_here, bound in zip(backward(g, y), g, x, bounds, strict=True):
        exact = number(g_here) * derivative(number(x_here).erfinv())
        assert ulp_error(fmt, got_here, exact) < bound
        assert (got_here < 0) == (g_here < 0)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_derivative_at_the_last_x_below_1(backward, formats, oracle, dtype):
    fmt = formats[dtype]
    x = 1 - np.arange(1, 400) * np.finfo(dtype).epsneg
    y = oracle(x.astype(dtype))
    assert float(y[0]) == pytest.approx(LARGEST_OUTPUT[dtype], rel=1e-7)
    for got, x_here in zip(backward(1, y), x, strict=True):
        assert ulp_error(fmt, got, derivative(number(x_here).erfinv())) < FROM_HALF


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_any_y_in_the_range(backward, formats, rng, dtype):
    """Of a y that is no erfinv output: the plain formula, or the derivative at the recovered x."""
    fmt = formats[dtype]
    near = rng.uniform(0.5, 0.7, 3000)  # nearly every float is an output there
    y = np.append(near, rng.uniform(0.5, LARGEST_OUTPUT[dtype], 2000)).astype(dtype)
    for got, y_here in zip(backward(1, y), y, strict=True):
        errors = [ulp_error(fmt, got, derivative(number(y_here)))]
        recovered = at_recovered_x(fmt, y_here)
        if recovered is not None:
            errors.append(ulp_error(fmt, got, recovered))
        assert min(errors) < FROM_HALF


@pytest.mark.parametrize(("dtype", "end"), [("float64", 26.5), ("float32", 9.3)])
def test_plain_formula_outside_the_range(backward, formats, rng, dtype, end):
    fmt = formats[dtype]
    above = rng.uniform(LARGEST_OUTPUT[dtype] * 1.001, end, 2000)
    y = np.concatenate([above, rng.uniform(0, 0.4999, 2000), 2.0 ** -rng.uniform(1, 100, 100)])
    y = y.astype(dtype)
    for got, y_here in zip(backward(1, y), y, strict=True):
        assert ulp_error(fmt, got, derivative(number(y_here))) < PLAIN


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_result_is_right_wherever_it_can_be_represented(backward, formats, rng, dtype):
    """Every size of g with every size of the derivative, subnormal results included."""
    fmt = formats[dtype]
    top = -fmt.smallest - fmt.precision + 1  # 2**top overflows
    g_exponent = rng.integers(fmt.smallest, top, 4000)
    y = np.sqrt(np.abs(rng.uniform(0, 1, 4000) * (top - g_exponent + 2) * math.log(2)))
    g = np.ldexp(rng.uniform(1, 2, 4000), g_exponent).astype(dtype)
    y = y.astype(dtype)
    y = np.where((y < 0.5) | (y > LARGEST_OUTPUT[dtype]), y, y.dtype.type(0))
    largest = arb(fmt.exact(fmt.inf))
    for got, g_here, y_here in zip(backward(g, y), g, y, strict=True):
        exact = number(g_here) * derivative(number(y_here))
        if abs(exact) < largest * (1 - arb(2) ** -fmt.precision):
            assert ulp_error(fmt, got, exact) < 0.85
        elif abs(exact) > largest:
            assert np.isinf(got)


@functools.cache
def half_derivatives(oracle, fmt):
    """The derivative of every y >= 0 in a 16-bit format, as balls."""
    half = fmt.values([fmt.one - (1 << (fmt.precision - 1))])
    x = fmt.values(np.arange(fmt.bits(half)[0], fmt.one))
    ctx.prec = 200
    at = {int(y): value for y, value in zip(fmt.bits(oracle(x)), x, strict=True)}
    found = []
    for bits in range(fmt.inf):
        y = number(fmt.values([bits])[0])
        if y >= 0.5 and bits in at:
            y = number(at[bits]).erfinv()
        found.append(derivative(y) if y < 30 else None)
    return found


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_precision_is_correctly_rounded(formats, oracle, rng, dtype):
    """All y, with g of several sizes; the levels have these kernels in common."""
    fmt = formats[dtype]
    exact = half_derivatives(oracle, fmt)
    backward = Backward(_ufunc._levels()[-1])
    several = np.concatenate([rng.integers(1, fmt.inf, 6), [1, fmt.tiny - 1, fmt.one, fmt.inf - 1]])
    y = fmt.values(np.arange(fmt.inf))
    for g_bits in several:
        g = fmt.values([g_bits])[0]
        got = fmt.bits(backward(np.full(y.shape, g), y))
        for bits, ball in enumerate(exact):
            if ball is None or (product := number(g) * ball) > arb(2) ** 200:
                assert got[bits] == fmt.inf
                continue
            digits, exponent = product.mid().man_exp()
            assert got[bits] == min(fmt.rounded(int(digits), int(exponent)), fmt.inf)


def test_levels_agree(formats, rng):
    for dtype in ("float32", "float16", "bfloat16"):
        fmt = formats[dtype]
        g = fmt.values(rng.integers(0, 2 * fmt.sign_bit, 200_000))
        y = fmt.values(rng.integers(0, 2 * fmt.sign_bit, 200_000))
        with np.errstate(all="ignore"):
            results = [fmt.bits(Backward(name)(g, y)) for name in _ufunc._levels()]
        for other in results[1:]:
            np.testing.assert_array_equal(results[0], other)


@pytest.mark.exhaustive
def test_float32_levels_agree_on_every_y(formats):
    fmt = formats["float32"]
    factors = fmt.values([fmt.one, 0x3FB504F3, 0x00FFFFFF])
    for begin in range(0, fmt.inf, 1 << 22):
        y = fmt.values(np.arange(begin, min(begin + (1 << 22), fmt.inf + 1)))
        for g in factors:
            g_all = np.full(y.shape, g)
            with np.errstate(all="ignore"):
                results = [fmt.bits(Backward(name)(g_all, y)) for name in _ufunc._levels()]
            for other in results[1:]:
                assert (results[0] == other).all()


# Special values and flags -------------------------------------------------------------------------


def flags_of(fpu, function, *arguments):
    with np.errstate(all="ignore"):
        return fpu.flags_of(function, *arguments)


@pytest.fixture(params=DTYPES)
def any_fmt(request, formats):
    return formats[request.param]


def test_poles(backward, any_fmt, fpu):
    inf = any_fmt.values([any_fmt.inf])[0]
    for y in (inf, -inf):
        for g, expected in ((1, inf), (-2, -inf), (inf, inf), (-inf, -inf)):
            pair = np.array([g], any_fmt.dtype), np.array([y])
            assert backward(*pair)[0] == expected
            assert flags_of(fpu, backward, *pair) == set()


def test_zero_cotangent_contributes_nothing(backward, any_fmt, fpu, assert_same_bits):
    largest = any_fmt.values([any_fmt.inf - 1])[0]
    y = np.array([0, 0.25, 1, 3, 30, largest, np.inf, -np.inf, -1], any_fmt.dtype)
    for zero in (0.0, -0.0):
        g = np.full(y.shape, zero, any_fmt.dtype)
        assert_same_bits(backward(g, y), g)
        assert flags_of(fpu, backward, g, y) == set()
    if any_fmt.name == "float64":
        assert backward(np.zeros(1), np.array([1e200]))[0] == 0


def test_nan(backward, any_fmt, fpu, assert_same_bits):
    """Quiet, sign and payload kept, g's before y's; only a signalling one is an invalid operand."""
    sign, quiet, inf = any_fmt.sign_bit, any_fmt.quiet_bit, any_fmt.inf
    nans = any_fmt.values([inf | quiet | 3, sign | inf | quiet | 1])
    others = any_fmt.values([0, any_fmt.one, sign | any_fmt.one, inf, sign | inf, any_fmt.inf - 1])
    for nan in nans:
        full = np.full(others.shape, nan)
        assert_same_bits(backward(full, others), full)
        assert_same_bits(backward(others, full), full)
        assert flags_of(fpu, backward, full, others) == set()
        assert flags_of(fpu, backward, others, full) == set()
    assert_same_bits(backward(nans, nans[::-1]), nans)
    signalling = any_fmt.values([inf | 1])
    quieted = any_fmt.values([inf | 1 | quiet])
    one = np.ones(1, any_fmt.dtype)
    for pair in ((signalling, one), (one, signalling), (0 * one, signalling)):
        assert_same_bits(backward(*pair), quieted)
        assert flags_of(fpu, backward, *pair) == {"invalid"}
    assert_same_bits(backward(nans[:1], signalling), nans[:1])
    assert flags_of(fpu, backward, nans[:1], signalling) == {"invalid"}


def test_infinite_cotangent(backward, any_fmt, fpu):
    g = np.array([np.inf, -np.inf] * 3, any_fmt.dtype)
    y = np.array([0, 0.25, 1, 2, 30, -1], any_fmt.dtype)
    assert (backward(g, y) == g).all()
    assert flags_of(fpu, backward, g, y) == set()


def test_overflow_only_where_the_result_does(backward, any_fmt, fpu):
    one = np.ones(1, any_fmt.dtype)
    largest = any_fmt.values([any_fmt.inf - 1])
    assert backward(largest, 0 * one)[0] < largest[0]  # times sqrt(pi)/2
    assert flags_of(fpu, backward, largest, 0 * one) == set()
    assert np.isinf(backward(largest, one)[0])
    assert flags_of(fpu, backward, largest, one) == {"over"}
    assert np.isinf(backward(one, 40 * one)[0])
    assert flags_of(fpu, backward, one, 40 * one) == {"over"}


def test_underflow_where_the_result_is_subnormal(backward, any_fmt, fpu):
    smallest, tiny = any_fmt.values([1]), any_fmt.values([any_fmt.tiny])
    zero, one = np.zeros(1, any_fmt.dtype), np.ones(1, any_fmt.dtype)
    assert any_fmt.bits(backward(smallest, zero))[0] == 1
    assert flags_of(fpu, backward, smallest, zero) == {"under"}
    assert flags_of(fpu, backward, tiny, zero) == {"under"}
    assert flags_of(fpu, backward, tiny, one) == set()
    assert flags_of(fpu, backward, one, one) == set()


EXTREMES = [
    ("float64", 2.0**-1074, 38.12),  # y * y near 1454
    ("float64", 2.0**-1074, 27.0),
    ("float32", 2.0**-149, 13.8),
    ("float32", 2.0**-149, 9.5),
    ("float16", 160.0, 2.46484375),
    ("float16", 2.0**-24, 5.2),
    ("bfloat16", 2.0**-133, 13.3),
]


@pytest.mark.parametrize(("dtype", "g", "y"), EXTREMES)
def test_extremes(backward, formats, fpu, dtype, g, y):
    fmt = formats[dtype]
    pair = np.array([g], fmt.dtype), np.array([y], fmt.dtype)
    exact = number(pair[0][0]) * derivative(number(pair[1][0]))
    if dtype == "float16" and g == 160:
        exact = number(g) * at_recovered_x(fmt, y)
    assert ulp_error(fmt, backward(*pair)[0], exact) < 0.8
    assert flags_of(fpu, backward, *pair) == set()


# Arrays -------------------------------------------------------------------------------------------


def test_length_and_position_do_not_matter(backward, any_fmt, rng, assert_same_bits):
    g = rng.normal(size=80).astype(any_fmt.dtype)
    y = rng.normal(size=80).astype(any_fmt.dtype)
    whole = backward(g, y)
    for n in range(41):
        for begin in (0, 1, 3):
            part = slice(begin, begin + n)
            assert_same_bits(backward(g[part], y[part]), whole[part])


def test_out_may_be_either_operand(backward, any_fmt, rng, assert_same_bits):
    for n in (1, 7, 16, 37, 300):
        g = rng.normal(size=n).astype(any_fmt.dtype)
        y = rng.normal(size=n).astype(any_fmt.dtype)
        g[n // 2] = 0
        y[n // 3] = np.inf
        expected = backward(g, y)
        for k in range(2):
            pair = [g.copy(), y.copy()]
            assert_same_bits(_ufunc._backward_at(backward.level, *pair, pair[k]), expected)


def test_even_in_y_and_odd_in_g(backward, any_fmt, rng, assert_same_bits):
    g = rng.normal(size=500).astype(any_fmt.dtype)
    y = rng.normal(size=500).astype(any_fmt.dtype)
    assert_same_bits(backward(g, -y), backward(g, y))
    assert_same_bits(backward(-g, y), -backward(g, y))


def test_a_lane_does_not_depend_on_its_neighbours(backward, any_fmt, rng, assert_same_bits):
    g = rng.normal(size=64).astype(any_fmt.dtype)
    y = rng.normal(size=64).astype(any_fmt.dtype)
    expected = backward(g, y)
    for strange in (np.nan, np.inf, 0.0, 1e-3, 30.0):
        mixed_g, mixed_y = g.copy(), y.copy()
        mixed_y[::3] = strange
        mixed_g[1::3] = 0 if strange == 30 else strange
        kept = slice(2, None, 3)
        with np.errstate(all="ignore"):
            assert_same_bits(backward(mixed_g, mixed_y)[kept], expected[kept])


def test_ufunc_is_the_best_level(any_fmt, rng, assert_same_bits):
    g = rng.normal(size=100).astype(any_fmt.dtype)
    y = rng.normal(size=100).astype(any_fmt.dtype)
    assert_same_bits(erfinv_backward(g, y), Backward(_ufunc._chosen_level())(g, y))
