"""The back-end protocol, and the back ends that are there or not."""

import array
import re

import ml_dtypes
import numpy as np
import pytest

import lucid_erfinv
from lucid_erfinv import erfinv, erfinv_backward
from lucid_erfinv.backends import BACKENDS

DTYPES = ("float16", "bfloat16", "float32", "float64")


@pytest.fixture(params=BACKENDS)
def backend(request):
    return BACKENDS[request.param]


@pytest.fixture
def cpu():
    return BACKENDS["cpu"]


def test_names():
    assert tuple(BACKENDS) == ("cpu", "metal", "mlx")


def test_protocol(backend):
    assert BACKENDS[backend.name] is backend
    assert backend.name in repr(backend)
    assert backend.device in ("cpu", "gpu")
    assert set(backend.dtypes) <= set(DTYPES)
    assert backend.is_available() == (backend.why_not() is None)


@pytest.mark.parametrize("backend", [be for be in BACKENDS.values() if not be.is_available()])
def test_missing_ones_say_why(backend):
    message = re.escape(f"{backend.name} is not available: {backend.why_not()}")
    for call in (
        lambda: backend.erfinv(np.zeros(2), (2,), np.float32),
        lambda: backend.erfinv_backward(np.zeros(2), np.zeros(2)),
    ):
        with pytest.raises(RuntimeError, match=message):
            call()


def test_show_config_lists_them():
    listed = lucid_erfinv.show_config(mode="dicts")["backends"]
    assert listed["cpu"] == "available"
    assert listed == {name: be.why_not() or "available" for name, be in BACKENDS.items()}


# cpu ----------------------------------------------------------------------------------------------


def test_cpu_is_the_ufunc(cpu, fmt, rng, assert_same_bits):
    assert cpu.dtypes == DTYPES
    x = rng.uniform(-0.9, 0.9, (3, 50)).astype(fmt.dtype)
    y = cpu.erfinv(x, x.shape, x.dtype)
    assert_same_bits(y, erfinv(x))
    assert_same_bits(cpu.erfinv_backward(x, y), erfinv_backward(x, y))


@pytest.mark.parametrize("dt", [np.float32, "float32", np.dtype("f"), np.dtype(">f4")])
def test_cpu_casts_to_the_result_dtype(cpu, dt, assert_same_bits):
    x = np.array([0.1, 0.5])
    assert_same_bits(cpu.erfinv(x, (2,), dt), erfinv(x.astype("f")))
    assert cpu.erfinv(np.zeros(2, int), (2,), dt).dtype == np.float32


@pytest.mark.parametrize("x", [array.array("d", [0.5]), memoryview(np.array([0.5])), [0.5]])
def test_cpu_takes_buffers(cpu, x):
    assert cpu.erfinv(x, (1,), np.float64).tolist() == [erfinv(0.5)]


def test_cpu_keeps_zero_dimensions(cpu):
    assert cpu.erfinv(0.5, (), np.float64).shape == ()
    assert isinstance(cpu.erfinv_backward(1.0, 0.5), np.ndarray)


@pytest.mark.parametrize("shape", [(), (2,), (1, 3), (3, 1), [4]])
def test_cpu_refuses_another_shape(cpu, shape):
    with pytest.raises(ValueError, match=r"`shape` must be that of `a`, \(3,\)"):
        cpu.erfinv(np.zeros(3), shape, np.float64)


@pytest.mark.parametrize(
    "dt", [np.longdouble, np.complex64, np.int32, bool, object, ml_dtypes.float8_e5m2, "S"]
)
def test_cpu_refuses_other_dtypes_by_name(cpu, dt):
    with pytest.raises(TypeError, match=f"float16, .*float64, not in {np.dtype(dt).name}"):
        cpu.erfinv(np.zeros(3), (3,), dt)


def test_cpu_refuses_what_cannot_be_cast(cpu):
    with pytest.raises(TypeError, match="complex128"):
        cpu.erfinv(np.zeros(3, complex), (3,), np.float64)
