"""ErfinvBackward: forward, the gradient formulas, and what it refuses."""

import array
import doctest
import math

import ml_dtypes
import numpy as np
import pytest

import lucid_erfinv
from lucid_erfinv import ErfinvBackward, autocast, erfinv, erfinv_backward
from lucid_erfinv.backends import BACKENDS
from lucid_erfinv.schema import AmpPolicy, OpSchema, lookup

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
X = np.array([0.0, -0.25, 0.5, 0.9375, -0.99609375])  # exact in every dtype


def quiet():
    return np.errstate(divide="ignore", invalid="ignore")


# The declaration ----------------------------------------------------------------------------------


def test_schema():
    schema = ErfinvBackward.schema_v1
    assert schema == OpSchema(
        name="erfinv",
        version=1,
        amp_policy=AmpPolicy.Promote,
        deterministic=True,
        real_valued=True,
    )
    assert lookup("erfinv") is schema
    assert (ErfinvBackward.kSavesInput, ErfinvBackward.kSavesOutput) == (False, True)


def test_docstring_examples_run():
    with quiet():
        finder = doctest.DocTestFinder(recurse=False)
        (examples,) = finder.find(ErfinvBackward, "ErfinvBackward", globs={})
        runner = doctest.DocTestRunner()
        runner.run(examples)
    assert runner.summarize(verbose=False) == (0, len(examples.examples))


# Forward ------------------------------------------------------------------------------------------


def test_forward_is_erfinv_and_saves_it(fmt, assert_same_bits):
    x = X.astype(fmt.dtype)
    y, node = ErfinvBackward.forward(x)
    assert_same_bits(y, erfinv(x))
    assert node.saved_output is y
    assert x.flags.writeable
    assert not np.shares_memory(x, y)


@pytest.mark.parametrize("code", "?bBhHiIlLqQ")
def test_integers_become_float64(code):
    y, node = ErfinvBackward.forward(np.zeros(3, code))
    assert y.dtype == np.float64
    assert node.apply(np.ones(3)).dtype == np.float64


@pytest.mark.parametrize("x", [0.5, np.float32(0.5), [0.5, 0.25], array.array("f", [0.5]), True])
def test_array_likes(x):
    with quiet():
        y, node = ErfinvBackward.forward(x)
        np.testing.assert_array_equal(y, erfinv(x), strict=True)
    assert type(y) is np.ndarray
    gradient = node.apply(np.ones(y.shape))
    assert type(gradient) is np.ndarray
    assert gradient.dtype == y.dtype


@pytest.mark.parametrize(
    ("x", "name"),
    [
        (np.zeros(2, "D"), "complex128"),
        (np.zeros(2, np.longdouble), np.dtype(np.longdouble).name),
        (np.array([None]), "object"),
        (np.array(["2020"], "M8[D]"), "datetime64"),
        (np.zeros(2, ml_dtypes.float8_e5m2), "float8_e5m2"),
        (np.ma.array([0.5]), r"MaskedArray, which lucid_erfinv\.ops\.erfinv takes"),
    ],
)
def test_forward_refuses_by_name(x, name):
    with pytest.raises(TypeError, match=name):
        ErfinvBackward.forward(x)


def test_subclass_is_dropped():
    y, _ = ErfinvBackward.forward(np.array([[0.5]]).view(np.matrix))
    assert type(y) is np.ndarray


def test_flags_obey_errstate():
    with np.errstate(all="raise"):
        ErfinvBackward.forward(np.array([np.nan, 0.5]))
        with pytest.raises(FloatingPointError, match="divide"):
            ErfinvBackward.forward(np.ones(1))


# Dispatch -----------------------------------------------------------------------------------------


def test_dispatch_calls_the_back_end_that_it_is_handed():
    class Recorder:
        def erfinv(self, a, shape, dt):
            return a, shape, dt

    handed = (np.zeros(3), (3,), np.dtype("f"))
    assert ErfinvBackward.dispatch(Recorder(), *handed) == handed


def test_dispatch_errors():
    cpu, x = BACKENDS["cpu"], np.zeros(3)
    with pytest.raises(ValueError, match=r"`shape` must be that of `a`, \(3,\), got \(1, 3\)"):
        ErfinvBackward.dispatch(cpu, x, (1, 3), np.float64)
    with pytest.raises(TypeError, match="not in complex128"):
        ErfinvBackward.dispatch(cpu, x, (3,), np.complex128)
    with pytest.raises(RuntimeError, match="metal"):
        ErfinvBackward.dispatch(BACKENDS["metal"], x, (3,), np.float32)


# The fused gradient -------------------------------------------------------------------------------


def test_apply_is_the_kernel(fmt, assert_same_bits):
    x = X.astype(fmt.dtype)
    g = np.array([1, -2, 0.5, -0.0, 3], fmt.dtype)
    y, node = ErfinvBackward.forward(x)
    expected = erfinv_backward(g, y)
    assert_same_bits(node.apply(g), expected)
    assert_same_bits(node(g), expected)
    assert_same_bits(node.grad_formula(g), expected)


def test_table_of_values(fmt, assert_same_bits):
    x = np.array([1, -1, 1, -1, 1, -1, 1, 2, 2, np.nan, 0.5], fmt.dtype)
    g = np.array([1, 1, -2, -2, 0, -0.0, np.nan, 1, 0, 0, np.nan], fmt.dtype)
    expected = [np.inf, np.inf, -np.inf, -np.inf, 0, -0.0] + 5 * [np.nan]
    with quiet():
        _, node = ErfinvBackward.forward(x)
    with np.errstate(all="raise"):
        gradient = node.apply(g)
    number = ~np.isnan(gradient)
    np.testing.assert_array_equal(gradient.astype("d"), expected)
    assert_same_bits(gradient[number], np.array(expected, fmt.dtype)[number])


@pytest.mark.parametrize("dtype", [np.float16, BFLOAT16, np.float32, np.float64], ids=str)
@pytest.mark.parametrize("g", [np.ones(5), np.ones(5, "f"), np.ones(5, int), np.ones(5, bool)])
def test_gradient_has_the_dtype_of_x(dtype, g, assert_same_bits):
    y, node = ErfinvBackward.forward(X.astype(dtype))
    assert_same_bits(node.apply(g), erfinv_backward(np.ones(5, dtype), y))


@pytest.mark.parametrize("dtype", [np.float16, BFLOAT16, np.float32], ids=str)
@pytest.mark.parametrize("x", [X, X.astype("f"), X.astype("e")], ids=lambda x: x.dtype.name)
def test_gradient_has_the_dtype_of_x_under_autocast(dtype, x, assert_same_bits):
    with autocast(dtype):
        y, node = ErfinvBackward.forward(x)
    assert_same_bits(y, erfinv(x.astype(dtype)))
    gradient = node.apply(np.ones_like(y))
    assert_same_bits(gradient, erfinv_backward(np.ones_like(y), y).astype(x.dtype))


BROADCAST = [
    ((), (3,), (0,)),
    ((3,), (2, 3), (0,)),
    ((1, 3), (2, 3), (0,)),
    ((2, 1), (2, 3), (1,)),
    ((1,), (4, 2, 3), (0, 1, 2)),
    ((2, 1, 3), (4, 2, 5, 3), (0, 2)),
    ((3,), (0, 3), (0,)),
    ((0,), (2, 0), (0,)),
]


@pytest.mark.parametrize(("shape", "wide", "axes"), BROADCAST, ids=str)
def test_gradient_is_summed_over_added_axes(shape, wide, axes, rng):
    y, node = ErfinvBackward.forward(rng.uniform(-0.9, 0.9, shape))
    g = rng.normal(size=wide)
    gradient = node.apply(g)
    assert gradient.shape == shape
    products = erfinv_backward(g, np.broadcast_to(y, wide))
    np.testing.assert_allclose(gradient, products.sum(axes).reshape(shape), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float16, BFLOAT16], ids=str)
def test_sixteen_bits_are_summed_in_float32(dtype):
    """In 16 bits a sum of ones would stop growing at 2048, or at 256."""
    y, node = ErfinvBackward.forward(np.zeros(1, dtype))
    gradient = node.apply(np.ones((3000, 1), dtype))
    assert gradient.dtype == dtype
    term = float(erfinv_backward(np.ones(1, dtype), y)[0])
    assert gradient[0] == np.array(3000 * term).astype(dtype)


SHAPES = [((3,), ()), ((3,), (1,)), ((3,), (2,)), ((3,), (3, 1)), ((2, 3), (3,)), ((1, 1), (1,))]


@pytest.mark.parametrize(("shape", "wrong"), SHAPES, ids=str)
def test_other_shapes_are_refused(shape, wrong):
    _, node = ErfinvBackward.forward(np.zeros(shape))
    with pytest.raises(ValueError, match=r"`g` must have y's shape .* got"):
        node.apply(np.ones(wrong))


@pytest.mark.parametrize(
    ("dtype", "g", "name"),
    [
        ("d", np.ones(1, "D"), "complex128"),
        ("d", np.ones(1, np.longdouble), np.dtype(np.longdouble).name),
        ("d", np.array(["1"]), "str"),
        ("d", np.array([None]), "object"),
        ("d", np.ones(1, ml_dtypes.float8_e4m3fn), "float8"),
        ("d", np.ma.ones(1), "MaskedArray"),
        ("e", np.ones(1, BFLOAT16), "bfloat16"),
        (BFLOAT16, np.ones(1, "e"), "float16"),
    ],
)
def test_other_dtypes_are_refused_by_name(dtype, g, name):
    _, node = ErfinvBackward.forward(np.zeros(1, dtype))
    with pytest.raises(TypeError, match=f"`g`.*{name}"):
        node.apply(g)


# What is saved ------------------------------------------------------------------------------------


@pytest.mark.parametrize("use", [ErfinvBackward.apply, ErfinvBackward.grad_formula])
def test_released(use):
    y, node = ErfinvBackward.forward(X)
    node.release_saved()
    node.release_saved()
    for call in (lambda: use(node, X), lambda: node(X), lambda: node.saved_output):
        with pytest.raises(RuntimeError, match="release_saved"):
            call()
    assert y[2] == erfinv(0.5)


@pytest.mark.parametrize("x", [X, X.astype("e"), 0.5], ids=["float64", "float16", "0-d"])
def test_saved_output_is_read_only(x):
    y, _ = ErfinvBackward.forward(x)
    with pytest.raises(ValueError, match="read-only"):
        y[...] = 0
    with pytest.raises(ValueError, match="read-only"):
        np.add(y, 1, out=y)
    with pytest.raises(ValueError, match="read-only"):
        y.view("u1" if y.ndim else y.dtype)[...] = 0


@pytest.mark.parametrize("use", [ErfinvBackward.apply, ErfinvBackward.grad_formula])
def test_output_made_writable_is_noticed(use):
    y, node = ErfinvBackward.forward(X)
    y.flags.writeable = True
    with pytest.raises(RuntimeError, match="made writable"):
        use(node, X)


# Graph mode ---------------------------------------------------------------------------------------


def test_graph_formula(fmt):
    x, g = X.astype(fmt.dtype), np.array([1, -2, 0, 0.5, 1], fmt.dtype)
    y = erfinv(x)
    gradient = ErfinvBackward.grad_formula_impl(g, None, y)
    assert gradient.dtype == fmt.dtype
    expected = math.sqrt(math.pi) / 2 * np.exp(y.astype("d") ** 2) * g.astype("d")
    ulp = {"float64": 1e-15, "float32": 1e-6, "float16": 1e-2, "bfloat16": 1e-1}[fmt.name]
    np.testing.assert_allclose(gradient.astype("d"), expected, rtol=ulp)


def test_graph_formula_at_the_poles(fmt):
    g = np.array([1, -2, 0, -0.0, 0, np.nan], fmt.dtype)
    out = np.array([np.inf, -np.inf, np.inf, -np.inf, np.nan, 0.5], fmt.dtype)
    gradient = ErfinvBackward.grad_formula_impl(g, None, out).astype("d")
    np.testing.assert_array_equal(gradient, [np.inf, -np.inf, 0, 0, np.nan, np.nan])
    assert np.signbit(gradient[:4]).tolist() == [False, True, False, True]


def test_graph_formula_needs_a_namespace():
    with pytest.raises(TypeError, match="namespace has exp and where, got float"):
        ErfinvBackward.grad_formula_impl(1.0, None, 0.5)


def test_public_name():
    assert lucid_erfinv.ErfinvBackward is ErfinvBackward
