"""Exact expected values, special values and floating-point flags, at every level.

A07 and the like, here and in the other files, number reports of what other libraries got wrong:
A of values, B found by comparing libraries, C of the engineering around them.
"""

import numpy as np
import pytest

from lucid_erfinv import erfinv

# By public report, or fault, and dtype: x and its correctly rounded erfinv, on which mpmath 1.4
# (dps = 80) and python-flint 0.9 agree.
CORRECTLY_ROUNDED = {
    ("A01 scipy#12758", "float64"): [
        ("0x1.79ca10c924223p-67", "0x1.4ece9be5f16acp-67"),  # 1e-20
    ],
    ("A02 scipy#12760", "float64"): [
        ("0x1.0624dd2f1a9fcp-10", "0x1.d0a36543e1fd3p-11"),  # 1e-3
        ("0x1.92a737110e454p-18", "0x1.64d7936ce895ep-18"),  # 6e-6
        ("0x1.ad7f29abcaf48p-24", "0x1.7ca1ae51f9c11p-24"),  # 1e-7
        ("0x1.5798ee2308c3ap-27", "0x1.308158419499ap-27"),  # 1e-8
    ],
    ("A03 math-functions#58", "float64"): [
        ("0x1.3d9c49b6a903ep-40", "0x1.19799812dea11p-40"),  # 1.1283791670955126e-12
    ],
    ("A04 tt-metal#51660", "float32"): [
        ("0x1.8e757ap-12", "0x1.612p-12"),  # 3.8e-4
        ("0x1.4f8b58p-17", "0x1.295e5p-17"),  # 1e-5
        ("0x1.ad7f2ap-24", "0x1.7ca1aep-24"),  # 1e-7
        ("0x1.0624dep-10", "0x1.d0a366p-11"),  # 1e-3
    ],
    ("A07 tensorflow#121502", "float32"): [
        ("0x1.fffffep-1", "0x1.ea8f96p+1"),
    ],
    ("A09 tensorflow#121670", "float64"): [
        ("0x1.fffffffffffffp-1", "0x1.7744f8f74e94ap+2"),
    ],
    ("A14 pytorch#43344", "bfloat16"): [
        ("0x1.ccp-1", "0x1.28p+0"),  # 0.8984375
        ("-0x1.5ap-2", "-0x1.3cp-2"),  # -0.337890625
        ("0x1.2cp-4", "0x1.0ap-4"),  # 0.0732421875
    ],
    ("A17 pytorch#198133", "float64"): [
        ("0x1.fffffff768fa1p-1", "0x1.147af7e11d345p+2"),  # 0.999999999
        ("0x1.fffffffffdcd1p-1", "0x1.42b0a68f708b9p+2"),  # 0.999999999999
        ("0x1.fffffffffffa6p-1", "0x1.5e3e4ce9fc069p+2"),  # 0.99999999999999
    ],
    ("A19 mlx#3047", "float64"): [
        ("0x1p-1", "0x1.e861fbb24c00ap-2"),  # 0.5
    ],
    ("A21 jax#37764", "float32"): [
        ("0x1.16c2p-133", "0x1.ee16p-134"),  # 1e-40
        ("0x1.1cp-143", "0x1.f8p-144"),  # 9.95e-44
        ("0x1.fffffcp-127", "0x1.c5bf84p-127"),
    ],
    ("A21 jax#37764", "float64"): [
        ("0x0.012688b70e62bp-1022", "0x0.01050624d5cedp-1022"),  # 1e-310
        ("0x0.0000000000001p-1022", "0x0.0000000000001p-1022"),  # 5e-324
    ],
    ("A28 GLiNER2#155", "float16"): [
        ("0x1.ffcp-1", "0x1.3b8p+1"),  # 0.99951171875
    ],
    ("A28 GLiNER2#155", "bfloat16"): [
        ("0x1.fep-1", "0x1.06p+1"),  # 0.99609375
    ],
    ("A31 SpecialFunctions.jl#372", "float16"): [
        ("0x1.9c8p-1", "0x1.d5cp-1"),  # 0.8056640625
    ],
    ("B02 jax, near 1", "float64"): [
        ("0x1.ffffffc12d70fp-1", "0x1.05bbf1e13c5eap+2"),  # 0.999999992686499
        ("0x1.fff2e48e8a71ep-1", "0x1.6022dcb01ea5p+1"),  # 0.9999
    ],
    ("B03 scipy, worst cases", "float32"): [
        ("0x1.a582c4p-1", "0x1.e9114ep-1"),  # 0.8232632875442505
        ("0x1.99999ap-4", "0x1.6bf442p-4"),  # 0.1
    ],
    ("B03 scipy, worst cases", "float64"): [
        ("0x1.99a2e297c5eb5p-1", "0x1.d00b578e8924ep-1"),  # 0.8000708399076389
    ],
    ("B04 jax, subnormal result", "float64"): [
        ("0x1p-1022", "0x0.e2dfc48da77b5p-1022"),  # 2.2250738585072014e-308
    ],
    ("B04 jax, subnormal result", "float32"): [
        ("0x1p-126", "0x1.c5bf88p-127"),  # 1.17549435e-38
        ("0x1.20dc28p-126", "0x1.fffdbp-127"),  # 1.32638e-38
    ],
    ("B19 mpmath at 15 digits", "float64"): [
        ("0x1.fffffffffffffp-1", "0x1.7744f8f74e94ap+2"),  # 0.9999999999999999
    ],
    ("plain", "float64"): [
        ("0x1.8p-1", "0x1.a07890f6b2ba1p-1"),  # 0.75
    ],
    ("plain", "float32"): [
        ("0x1p-1", "0x1.e861fcp-2"),  # 0.5
        ("0x1p-149", "0x1p-149"),
    ],
    ("plain", "float16"): [
        ("0x1p-1", "0x1.e88p-2"),  # 0.5
        ("0x1p-24", "0x1p-24"),
        ("0x1p-14", "0x1.c58p-15"),
    ],
    ("plain", "bfloat16"): [
        ("0x1p-1", "0x1.e8p-2"),  # 0.5
        ("0x1p-133", "0x1p-133"),
        ("0x1p-126", "0x1.c4p-127"),
    ],
}

POINTS = [
    pytest.param(dtype, *point, id=f"{report} {dtype} {point[0]}")
    for (report, dtype), points in CORRECTLY_ROUNDED.items()
    for point in points
]


@pytest.mark.parametrize(("dtype", "x", "expected"), POINTS)
def test_correctly_rounded_points(level, formats, assert_same_bits, dtype, x, expected):
    dtype = formats[dtype].dtype
    x = np.array([float.fromhex(x)]).astype(dtype)
    expected = np.array([float.fromhex(expected)]).astype(dtype)
    assert_same_bits(level(x), expected, x)
    assert_same_bits(level(-x), -expected, -x)
    assert_same_bits(erfinv(x), expected, x)


# Classes of input, as bits: the flag is what np.errstate calls it.
CLASSES = {
    "zero": lambda f: ([0, f.sign_bit], set()),  # B01
    "pole": lambda f: ([f.one, f.one | f.sign_bit], {"divide"}),  # A13
    "just outside": lambda f: ([f.one + 1, (f.one + 1) | f.sign_bit], {"invalid"}),  # A10, B05
    "largest finite": lambda f: ([f.inf - 1, (f.inf - 1) | f.sign_bit], {"invalid"}),
    "infinity": lambda f: ([f.inf, f.inf | f.sign_bit], {"invalid"}),
    "quiet nan": lambda f: (
        [f.inf | f.quiet_bit, f.inf | f.quiet_bit | f.sign_bit | 0x23, 2 * f.sign_bit - 1],
        set(),
    ),  # B14, B15
    "signalling nan": lambda f: ([f.inf + 1, (f.inf + 0x23) | f.sign_bit], {"invalid"}),
    "subnormal": lambda f: ([1, 2, f.tiny // 3, f.tiny - 1, 1 | f.sign_bit], {"under"}),  # A21
    "smallest normal": lambda f: ([f.tiny, f.tiny + f.tiny // 10], {"under"}),  # B04
    "small": lambda f: ([f.tiny + f.tiny // 2, 2 * f.tiny, 9 * f.tiny + 5], set()),  # C10
    "inside": lambda f: ([f.one // 2, f.one - f.tiny, f.one - 1, (f.one - 1) | f.sign_bit], set()),
}


@pytest.fixture(params=CLASSES)
def special(request, fmt):
    """Array of one class, and the flags that it raises."""
    bits, flags = CLASSES[request.param](fmt)
    return fmt.values(bits), flags


def test_special_values(level, oracle, assert_same_bits, special):
    x, _ = special
    for repeat in (1, 40):  # in a padded vector, and filling some
        many = np.tile(x, repeat)
        assert_same_bits(level(many), oracle(many), many)


def test_flags_of_a_level(level, fpu, special):
    x, flags = special
    for i in range(x.size):
        for n in (1, 3, 100):
            assert fpu.flags_of(level, np.repeat(x[i], n)) == flags


@pytest.mark.parametrize("flag", ["divide", "invalid", "under", "over"])
def test_flags_reach_errstate(special, flag):
    x, flags = special
    seen = []
    with np.errstate(all="ignore"):
        with np.errstate(**{flag: "call"}, call=lambda kind, _: seen.append(kind)):
            erfinv(x)
        with np.errstate(**{flag: "raise"}):
            if flag in flags:
                with pytest.raises(FloatingPointError, match="encountered in erfinv"):
                    erfinv(x)  # B13
            else:
                erfinv(x)
    assert len(seen) == (flag in flags)


@pytest.mark.parametrize(
    ("x", "warning"), [(1.0, "divide by zero"), (1.5, "invalid value"), (-np.inf, "invalid value")]
)
def test_a_warning_is_the_default(x, warning):
    with pytest.warns(RuntimeWarning, match=f"^{warning} encountered in erfinv$"):
        erfinv(x)


def test_underflow_only_where_the_result_is_subnormal(level, fmt, fpu, oracle):
    """The border: the last subnormal result and the first normal one, of either sign."""
    low, high = fmt.tiny, 2 * fmt.tiny
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if oracle.bits(fmt, middle) >= fmt.tiny else (middle, high)
    bits = np.arange(high - 10, high + 10)
    x = fmt.values(bits)
    normal = fmt.bits(oracle(x)) >= fmt.tiny
    assert normal.any()
    assert not normal.all()
    for i in range(x.size):
        flags = set() if normal[i] else {"under"}
        for n in (1, 100):
            assert fpu.flags_of(level, np.repeat(x[i], n)) == flags
            assert fpu.flags_of(level, -np.repeat(x[i], n)) == flags


@pytest.mark.parametrize("x", [1e-200, 1e-300, 2.6e-308, 0.0, 1e-5, 0.9999])
def test_nothing_underflows_on_the_way(x):
    """C10 scipy#25199: x * x does, the result does not."""
    with np.errstate(all="raise"):
        erfinv(np.full(100, x))


@pytest.mark.parametrize("x", [1.1, -1.4654309, 2.0, -3.0, 1.0087162320309664, 1e308, np.inf])
def test_out_of_domain_is_nan(level, fmt, x):
    """A10, A11: A standard normal sample, say, has such values (A12); they are no error."""
    with np.errstate(over="ignore"):
        values = np.array([x, -x]).astype(fmt.dtype)
    assert np.isnan(level(values).astype(float)).all()


def test_infinite_only_at_the_poles(level, fmt):
    """A25 jax#4548: the last floats before 1 have finite results."""
    x = fmt.values(fmt.one - np.arange(1, min(fmt.one, 5000)))
    y = level(x).astype(float)
    assert (y < 6).all()
    assert (y > 0).all()
    assert np.isinf(level(fmt.values([fmt.one])).astype(float)).all()


def test_a_difference_to_one_below_half_an_ulp_is_lost_before_erfinv_sees_it():
    """A32 sympy#25233: 1 - 6e-21 is 1."""
    with np.errstate(divide="ignore"):
        assert erfinv(1 - 6.3342483999973e-21) == np.inf


def test_nan_out_of_domain_is_the_same_everywhere(level, fmt, assert_same_bits):
    x = fmt.values([fmt.one + 1, (fmt.one + 1) | fmt.sign_bit, fmt.inf, fmt.inf | fmt.sign_bit])
    for n in range(1, 70):
        y = level(np.tile(x, n))
        assert_same_bits(y, np.full_like(y, fmt.values(fmt.inf | fmt.quiet_bit)))
