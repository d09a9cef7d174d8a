"""Every result is the correctly rounded one: against ball arithmetic, MPFR and crdistr."""

import math

import gmpy2
import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lucid_erfinv import _ufunc, erfinv
from lucid_erfinv.sweep import REGIONS

# The oracle ---------------------------------------------------------------------------------------


@pytest.fixture(params=REGIONS)
def region(request):
    return REGIONS[request.param]


def in_mpfr(fmt, bits, half=0):
    """The number with the given bits, `half` (-1, 0, 1) of the way to a neighbour's far side."""
    digits, exponent = fmt.exact(bits)
    if half < 0 and digits == 1 << (fmt.precision - 1) and exponent > fmt.smallest:
        digits, exponent = 2 * digits, exponent - 1  # below a power of two they lie closer
    return gmpy2.mul_2exp(gmpy2.mpfr(2 * digits + half), 2000 + exponent - 1) / gmpy2.exp2(2000)


def test_oracle_agrees_with_mpfr(oracle, rng, fmt, region):
    """erf at the midpoints around a result, in MPFR, encloses x."""
    dtype = fmt.dtype if fmt.name in ("float32", "float64") else np.dtype("f")
    x = abs(region.sample(rng, 200, dtype)).astype(fmt.dtype)
    x = x[(x > 0) & (x < 1)]
    with gmpy2.context(precision=600):
        for x_bits, y_bits in zip(fmt.bits(x), fmt.bits(oracle(x)), strict=True):
            below = gmpy2.erf(in_mpfr(fmt, int(y_bits), -1))
            above = gmpy2.erf(in_mpfr(fmt, int(y_bits), 1))
            assert below < in_mpfr(fmt, int(x_bits)) < above


def test_oracle_agrees_with_mpmath(oracle, rng):
    x = rng.uniform(0, 1, 50)
    with mpmath.workdps(50):
        expected = [float(mpmath.erfinv(mpmath.mpf(v))) for v in x]
    assert oracle(x).tolist() == expected


def test_ulp_error_of_the_oracle(oracle, rng, fmt):
    x = rng.uniform(-1, 1, 200).astype(fmt.dtype)
    x = x[abs(x) < 1]
    y = oracle(x)
    assert oracle.ulp_error(y, x).max() <= 0.5
    assert oracle.ulp_error(fmt.values(fmt.bits(y) + 1), x).min() >= 0.5


def test_one_wrong_bit_is_noticed(oracle, assert_same_bits, fmt):
    """C29 mlx#4182: the comparison that the tests below rest on can fail."""
    x = np.full(9, 0.5, fmt.dtype)
    wrong = fmt.bits(oracle(x)).copy()
    wrong[7] += 1
    with pytest.raises(pytest.fail.Exception, match="1 of 9 differ"):
        assert_same_bits(fmt.values(wrong), oracle(x))


# Samples ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_region(level, oracle, assert_same_bits, rng, region, dtype):
    x = region.sample(rng, 4000, dtype)
    assert_same_bits(level(x), oracle(x), x)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_beside_every_border_of_rows_and_cells(level, formats, oracle, assert_same_bits, dtype):
    """2^-k, 1 - (1 + j/64) 2^-k and j/64, and two numbers to either side of each."""
    fmt = formats[dtype]
    k = np.arange(1.0, fmt.precision)[:, None]
    from_one = 1 - (1 + np.arange(64) / 64) * 2.0**-k
    borders = np.concatenate([from_one.ravel(), np.arange(1, 64) / 64, 2.0 ** -k.ravel()])
    bits = np.unique(fmt.bits(borders.astype(fmt.dtype)))[:, None].astype(np.int64)
    bits = np.unique(bits + np.arange(-2, 3))
    x = fmt.values(bits[(bits > 0) & (bits < fmt.one)])
    assert_same_bits(level(x), oracle(x), x)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_last_floats_below_one(level, formats, oracle, assert_same_bits, dtype):
    """C28 FlagGems#4469."""
    fmt = formats[dtype]
    x = fmt.values(fmt.one - np.arange(1, 4097))
    assert_same_bits(level(x), oracle(x), x)


def test_every_binade_down_to_the_last_subnormal(level, oracle, assert_same_bits, rng):
    x = np.ldexp(rng.uniform(1, 2, (1074, 3)), -np.arange(1, 1075)[:, None]).ravel()
    assert_same_bits(level(x), oracle(x), x)


@pytest.mark.parametrize(("low", "high"), [(0.985, 0.9977), (0.2, 0.3)])
def test_where_an_iteration_has_looped_forever(level, oracle, assert_same_bits, low, high):
    """A29 SpecialFunctions.jl#338."""
    x = np.linspace(low, high, 2000)
    assert_same_bits(level(x), oracle(x), x)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_every_half(level, formats, oracle, assert_same_bits, dtype):
    """All 65536 patterns (A06, A31)."""
    x = formats[dtype].values(np.arange(65536))
    assert_same_bits(level(x), oracle(x), x)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_mixtures_of_half(level, formats, oracle, rng, dtype):
    """Every value alone among ordinary ones, and lengths that fill vectors or do not."""
    fmt = formats[dtype]
    every = np.arange(65536)
    expected = fmt.bits(oracle(fmt.values(every)))
    ordinary = fmt.bits(np.array([0.25, -0.5, 0.75], fmt.dtype))
    lonely = np.where(every[:, None] % 67 == np.arange(67), every[:, None], ordinary[0])
    np.testing.assert_array_equal(
        fmt.bits(level(fmt.values(lonely.ravel()))), expected[lonely].ravel()
    )
    for n in (*range(200), 1023, 1025, 5000):
        rare = rng.random(n) < rng.choice([0, 0.02, 0.5, 1])
        bits = np.where(rare, rng.integers(0, 65536, n), rng.choice(ordinary, n))
        x = fmt.values(bits)
        np.testing.assert_array_equal(fmt.bits(level(x)), expected[bits])


# float32 against crdistr --------------------------------------------------------------------------


def float32_expected(bits):
    """crdistr's bits in [-1, 1], the table of values elsewhere."""
    crdistr = pytest.importorskip("crdistr", reason="crdistr (x86-64 only) is not installed")
    magnitude = bits & 0x7FFFFFFF
    expected = np.where(magnitude > 0x7F800000, bits | 0x400000, np.uint32(0x7FC00000))
    inside = magnitude <= 0x3F800000
    expected[inside] = crdistr.erfinv(bits[inside].view(np.float32)).view(np.uint32)
    return expected


def test_every_1021st_float32(level):
    bits = np.arange(5, 2**32, 1021, dtype=np.uint32)
    got = level(bits.view(np.float32)).view(np.uint32)
    assert np.count_nonzero(got != float32_expected(bits)) == 0


def test_mixtures_of_float32(level, rng):
    """What a kernel does together with a lane, and in which order, depends on the others."""
    one = 0x3F800000
    limits = [(0, 1 << 23), (1 << 23, one - (1 << 16)), (one - (1 << 16), one - (1 << 11))]
    limits += [(one - (1 << 11), one + 1), (one + 1, 1 << 31)]
    for n in (*range(1, 80), 500, 2047, 5000, *[1 << 13] * 40):
        kinds = rng.choice(len(limits), n, p=rng.dirichlet([0.3] * len(limits)))
        bits = rng.integers(*np.array(limits).T[:, kinds]).astype(np.uint32)
        bits |= rng.integers(0, 2, n).astype(np.uint32) << 31
        got = level(bits.view(np.float32)).view(np.uint32)
        assert np.count_nonzero(got != float32_expected(bits)) == 0


@pytest.mark.exhaustive
@pytest.mark.parametrize("block", range(32))
def test_every_float32(block, assert_same_bits):
    """A 32nd of all 2^32 patterns, at every level: the reference is what takes the time."""
    step = 1 << 24
    for start in range(block << 27, (block + 1) << 27, step):
        bits = np.arange(start, start + step, dtype=np.uint64).astype(np.uint32)
        x, expected = bits.view(np.float32), float32_expected(bits)
        for name in _ufunc._levels():
            got = _ufunc._erfinv_at(name, x, np.empty_like(x))
            if not np.array_equal(got.view(np.uint32), expected):
                assert_same_bits(got, expected.view(np.float32), x)


# Properties ---------------------------------------------------------------------------------------

settings.register_profile("lucid_erfinv", database=None, deadline=None, derandomize=True)
settings.load_profile("lucid_erfinv")

inside = st.floats(-1, 1)


@given(x=inside)
def test_odd(level, assert_same_bits, x):
    assert_same_bits(level(np.float64(-x)), -level(np.float64(x)))


@given(x=inside, y=inside)
def test_increasing(level, x, y):
    low, high = level(np.array(sorted((x, y))))
    assert low <= high


@given(x=st.floats(-1, 1, exclude_min=True, exclude_max=True))
def test_increasing_from_one_float_to_the_next(level, x):
    low, high = level(np.array([x, math.nextafter(x, 1)]))
    assert low <= high


@given(x=st.floats(-0.9, 0.9))
def test_round_trip(x):
    """Nearer to 1 it proves little: there erf takes many floats to one (A47 boostorg/math#710)."""
    assert math.isclose(math.erf(erfinv(x)), x, rel_tol=2**-50, abs_tol=2**-1072)


def test_round_trip_of_a_small_number():
    assert erfinv(math.erf(1e-12)) == 1e-12  # A03
