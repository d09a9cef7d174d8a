"""ops.erfinv on NumPy arrays and their kin, op schemas, autocast, and what importing costs."""

import array
import asyncio
import contextvars
import doctest
import pickle
import threading

import dask.array
import ml_dtypes
import numpy as np
import pandas as pd
import pytest
import xarray as xr

from lucid_erfinv import ErfinvBackward, autocast, erfinv, ops
from lucid_erfinv.schema import (
    AmpPolicy,
    OpSchema,
    active_dtype,
    dtype_name,
    lookup,
    register_op,
)

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
HALF = 0.4769362762044699  # erfinv(0.5)


# NumPy --------------------------------------------------------------------------------------------


def test_arrays(fmt, rng, assert_same_bits):
    x = rng.uniform(-0.9, 0.9, (4, 5)).astype(fmt.dtype)
    for part in (x, x[:, ::2], x.T, x[:0], x[0]):
        assert_same_bits(ops.erfinv(part), erfinv(part))


@pytest.mark.parametrize(
    "x", [0.5, True, 0, np.float32(0.5), np.array(0.5), [0.5, 0], array.array("f", [0.5])]
)
def test_array_likes_are_the_ufuncs(x):
    with np.errstate(divide="ignore"):
        got, expected = ops.erfinv(x), erfinv(x)
    assert type(got) is type(expected)
    np.testing.assert_array_equal(got, expected, strict=True)


def test_result_is_writable_and_new():
    x = np.full(3, 0.5)
    y = ops.erfinv(x)
    y[0] = 7
    assert (x == 0.5).all()


@pytest.mark.parametrize(
    ("x", "name"),
    [
        (1j, "complex128"),
        (np.zeros(1, np.longdouble), np.dtype(np.longdouble).name),
        (None, "object"),
        (10**30, "object"),
        ("0.5", "str"),
        (np.array(["2020"], "M8[D]"), "datetime64"),
        (np.zeros(1, ml_dtypes.int4), "int4"),
        (np.zeros(1, ml_dtypes.float8_e5m2), "float8_e5m2"),
    ],
)
def test_other_dtypes_are_refused_by_name(x, name):
    with pytest.raises(TypeError, match=f"`x` must be real floating or integer, got {name}"):
        ops.erfinv(x)
    with autocast("float32"), pytest.raises(TypeError, match=name):
        ops.erfinv(x)


def test_flags_obey_errstate():
    with np.errstate(all="raise"), pytest.raises(FloatingPointError, match="invalid"):
        ops.erfinv(np.array([2.0]))


def test_subclass_is_kept():
    class Subclass(np.ndarray):
        pass

    assert type(ops.erfinv(np.full(3, 0.5).view(Subclass))) is Subclass


def test_types_with_ufuncs_of_their_own():
    x = np.array([0.5, 0.0])
    lazy = ops.erfinv(dask.array.from_array(x))
    assert isinstance(lazy, dask.array.Array)
    assert lazy.compute().tolist() == [HALF, 0]
    frame = pd.DataFrame({"a": x})
    pd.testing.assert_frame_equal(ops.erfinv(frame), pd.DataFrame({"a": [HALF, 0]}))
    named = xr.DataArray(x, dims="t", name="x")
    xr.testing.assert_identical(ops.erfinv(named), named.copy(data=[HALF, 0]))
    with autocast("float16"):
        assert ops.erfinv(frame).dtypes.tolist() == [np.float16]


def test_docstring_examples_run():
    for thing in (ops.erfinv, autocast):
        (examples,) = doctest.DocTestFinder(recurse=False).find(thing, thing.__name__, globs={})
        runner = doctest.DocTestRunner()
        runner.run(examples)
        assert runner.summarize(verbose=False) == (0, len(examples.examples))


# Masked arrays ------------------------------------------------------------------------------------


MASKED = {
    "a mask": np.ma.array([0.5, 2.0, -1.5, 1.0, np.nan, np.inf, 0.25], mask=[0, 0, 0, 0, 0, 0, 1]),
    "no mask": np.ma.array([0.5, 2.0, -1.5, 1.0, np.nan]),
    "all inside": np.ma.array([0.5, -0.25]),
    "hidden values outside": np.ma.array([0.5, 7.0], mask=[False, True]),
    "two axes": np.ma.array([[0.5, 7.0], [0.0, -1.0]], mask=[[True, False], [False, True]]),
    "float32": np.ma.array([0.5, 2.0], dtype="f"),
    "float16": np.ma.array([0.5, 2.0], dtype="e"),
    "integers": np.ma.array([0, 1, 2]),
    "empty": np.ma.array([]),
}


@pytest.mark.parametrize("x", MASKED.values(), ids=MASKED)
def test_masked_as_by_arcsin(x):
    before = x.copy()
    y = ops.erfinv(x)
    expected = np.ma.arcsin(x)
    assert isinstance(y, np.ma.MaskedArray)
    np.testing.assert_array_equal(np.ma.getmaskarray(y), np.ma.getmaskarray(expected))
    inside = ~np.ma.getmaskarray(y)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(y.data[inside], erfinv(x.data)[inside], strict=True)
    np.testing.assert_array_equal(x.mask, before.mask)
    np.testing.assert_array_equal(x.data, before.data)


def test_masked_scalars():
    assert ops.erfinv(np.ma.masked) is np.ma.masked
    assert ops.erfinv(np.ma.array(2.0)) is np.ma.masked
    assert ops.erfinv(np.ma.array(0.5)) == HALF


def test_masked_keeps_its_fill_value():
    assert ops.erfinv(np.ma.array([0.5, 2.0], fill_value=-7.0)).filled().tolist() == [HALF, -7]


def test_masked_under_autocast():
    with autocast(np.float16):
        y = ops.erfinv(np.ma.array([0.5, 2.0]))
    assert y.dtype == np.float16
    assert y.mask.tolist() == [False, True]


# Schemas and the registry -------------------------------------------------------------------------


def test_schema_is_a_value():
    schema = OpSchema("erfinv")
    assert schema == ErfinvBackward.schema_v1
    assert hash(schema) == hash(ErfinvBackward.schema_v1)
    assert pickle.loads(pickle.dumps(schema)) == schema
    with pytest.raises(AttributeError):
        schema.name = "erf"


def test_registry():
    assert lookup("erfinv") is ErfinvBackward.schema_v1
    assert register_op(OpSchema("erfinv")) == ErfinvBackward.schema_v1
    assert lookup("erfinv") is ErfinvBackward.schema_v1
    with pytest.raises(ValueError, match="op 'erfinv' is registered already"):
        register_op(OpSchema("erfinv", version=2))
    with pytest.raises(LookupError, match="no op 'erf', the registered ones are erfinv"):
        lookup("erf")


@pytest.mark.parametrize(
    ("policy", "own", "outside", "inside"),
    [
        (AmpPolicy.Promote, "float64", "float64", "float16"),
        (AmpPolicy.Promote, "int32", "float64", "float16"),
        (AmpPolicy.KeepInput, "float64", "float64", "float64"),
        (AmpPolicy.KeepInput, "bfloat16", "bfloat16", "bfloat16"),
        (AmpPolicy.KeepInput, "bool", "float64", "float64"),
        (AmpPolicy.ForceFP32, "float64", "float32", "float32"),
        (AmpPolicy.ForceFP32, "float16", "float32", "float32"),
    ],
)
def test_policies(policy, own, outside, inside):
    schema = OpSchema("op", amp_policy=policy)
    assert schema.compute_dtype(own) == outside
    with autocast("float16"):
        assert schema.compute_dtype(own) == inside


@pytest.mark.parametrize("policy", AmpPolicy)
def test_a_node_obeys_its_policy(policy):
    class Node(ErfinvBackward):
        schema_v1 = OpSchema("erfinv", amp_policy=policy)

    with autocast("float16"):
        y, node = Node.forward(np.full(2, 0.5))
    expected = {"Promote": "e", "KeepInput": "d", "ForceFP32": "f"}[policy.name]
    assert y.dtype == expected
    assert type(node) is Node
    assert node.apply(np.ones(2)).dtype == "d"


def test_dtype_names():
    class FrameworkDtype:
        def __repr__(self):
            return "some.framework.bfloat16"

    names = [dtype_name(d) for d in ("float32", np.float16, np.dtype(">f8"), BFLOAT16, bool)]
    assert names == ["float32", "float16", "float64", "bfloat16", "bool"]
    assert dtype_name(FrameworkDtype()) == "bfloat16"


# Autocast -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float16", np.float16, np.dtype("e"), BFLOAT16, "bfloat16", "f"])
def test_autocast_casts_before_computing(dtype, assert_same_bits):
    x = np.array([0.1, -0.7, 0.99])
    with autocast(dtype):
        y = ops.erfinv(x)
    assert_same_bits(y, erfinv(x.astype(np.dtype(dtype))))
    assert ops.erfinv(x).dtype == np.float64


def test_autocast_takes_integers():
    with autocast("float32"):
        assert ops.erfinv(np.zeros(2, int)).dtype == np.float32


@pytest.mark.parametrize(
    "dtype", [np.float64, "float64", None, np.int32, "complex64", ml_dtypes.float8_e5m2, "nonsense"]
)
def test_autocast_refuses_other_dtypes_by_name(dtype):
    with pytest.raises(TypeError, match="`dtype` must be float16, bfloat16 or float32, got "):
        autocast(dtype)


def test_autocast_leaves_the_bare_ufunc_alone():
    with autocast("float16"):
        assert erfinv(np.full(2, 0.5)).dtype == np.float64


def test_autocast_nests():
    outer = autocast("float16")
    assert active_dtype() is None
    with outer:
        with autocast("float32"):
            assert active_dtype() == "float32"
            with outer:
                assert active_dtype() == "float16"
            assert active_dtype() == "float32"
        assert active_dtype() == "float16"
    assert active_dtype() is None


def test_autocast_ends_with_an_exception():
    with autocast("float16"):
        with pytest.raises(ZeroDivisionError), autocast("float32"):
            raise ZeroDivisionError
        assert active_dtype() == "float16"
    assert active_dtype() is None


def in_thread(call):
    seen = []
    thread = threading.Thread(target=lambda: seen.append(call()))
    thread.start()
    thread.join()
    return seen[0]


def test_autocast_does_not_reach_other_threads():
    """Nor in builds of Python that start threads in a copy of their parent's context."""
    with autocast("float16"):
        copied = contextvars.copy_context()
        assert in_thread(active_dtype) is None
        assert in_thread(lambda: copied.run(active_dtype)) is None
        assert active_dtype() == "float16"


def test_autocast_of_a_thread_stays_there():
    entered, leave = threading.Event(), threading.Event()

    def hold():
        with autocast("bfloat16"):
            entered.set()
            leave.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    entered.wait()
    seen = active_dtype()
    leave.set()
    thread.join()
    assert seen is None


def test_autocast_does_not_reach_other_tasks():
    async def cast(dtype, log):
        assert active_dtype() is None
        with autocast(dtype):
            for _ in range(3):
                await asyncio.sleep(0)
                log.append((dtype, active_dtype()))
        assert active_dtype() is None

    async def plain(log):
        for _ in range(5):
            await asyncio.sleep(0)
            log.append((None, active_dtype()))

    async def main():
        log = []
        await asyncio.gather(cast("float16", log), plain(log), cast("float32", log))
        return log

    log = asyncio.run(main())
    assert len(log) == 11
    assert all(expected == seen for expected, seen in log)


# Importing ----------------------------------------------------------------------------------------


def test_importing_loads_no_framework(run_python):
    script = """
import sys, numpy
before = set(sys.modules)
import lucid_erfinv
lucid_erfinv.ops.erfinv(numpy.zeros(2))
lucid_erfinv.ErfinvBackward.forward([0.5])[1].apply([1.0])
new = {name.partition(".")[0] for name in set(sys.modules) - before}
print(*sorted(new - set(sys.stdlib_module_names)))
print("numpy.ma" in sys.modules)
adapters = ("torch", "jax", "mlx", "autograd_numpy")
print(any(f"lucid_erfinv.{name}" in sys.modules for name in adapters))
"""
    packages, masked, adapters = run_python(script).splitlines()
    assert {name for name in packages.split() if "cython" not in name} == {"lucid_erfinv"}
    assert (masked, adapters) == ("False", "False")
