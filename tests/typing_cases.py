"""What mypy must infer and refuse; never run, checked by `mypy` (C20 scipy-stubs#27)."""

from array import array
from typing import Any, Literal, assert_type

import numpy as np
from numpy.typing import NDArray

import lucid_erfinv
from lucid_erfinv import erfinv, erfinv_into, get_num_threads, set_num_threads


def arrays(
    f8: NDArray[np.float64],
    f4: NDArray[np.float32],
    f2: NDArray[np.float16],
    i8: NDArray[np.int64],
    u1: NDArray[np.uint8],
    flags: NDArray[np.bool],
) -> None:
    # The dtype of x is kept; integers and booleans give float64.
    assert_type(erfinv(f8), NDArray[np.float64])
    assert_type(erfinv(f4), NDArray[np.float32])
    assert_type(erfinv(f2), NDArray[np.float16])
    assert_type(erfinv(i8), NDArray[np.float64])
    assert_type(erfinv(u1), NDArray[np.float64])
    assert_type(erfinv(flags), NDArray[np.float64])
    assert_type(erfinv(np.float32(0.5)), np.float32)
    assert_type(erfinv(np.float16(0.5)), np.float16)
    assert_type(erfinv(np.int8(0)), np.float64)
    assert_type(erfinv(0.5), np.float64)
    assert_type(erfinv(0), np.float64)
    assert_type(erfinv(True), np.float64)
    assert_type(erfinv([0.5, 0.25]), Any)

    # Arguments of every ufunc.
    assert_type(erfinv(f4, where=flags), NDArray[np.float32])
    assert_type(erfinv(f8, out=f4), NDArray[np.float32])
    assert_type(erfinv(f8, f4), NDArray[np.float32])
    assert_type(erfinv(f8, out=(f4,)), NDArray[np.float32])
    assert_type(erfinv(f8, dtype=np.float32), Any)
    assert_type(erfinv(f8, casting="same_kind", order="C", subok=False), NDArray[np.float64])
    erfinv(f8, casting="other")  # type: ignore[call-overload]
    erfinv()  # type: ignore[call-overload]
    erfinv(f8, f8, f8)  # type: ignore[call-overload]

    takes_a_ufunc(erfinv)
    assert_type(erfinv.nin, Literal[1])
    assert_type(erfinv.nout, Literal[1])


def takes_a_ufunc(ufunc: np.ufunc) -> None: ...


def buffers(f8: NDArray[np.float64], f4: NDArray[np.float32]) -> None:
    erfinv_into(array("d", [0.5]), f8)
    erfinv_into(memoryview(b""), bytearray())
    erfinv_into([0.5], f8)  # type: ignore[arg-type]
    erfinv_into(f8)  # type: ignore[call-arg]


def settings() -> None:
    set_num_threads(2)
    set_num_threads(np.int64(2))
    set_num_threads("2")  # type: ignore[arg-type]
    assert_type(get_num_threads(), int)
    assert_type(lucid_erfinv.show_config(mode="dicts"), dict[str, object] | None)
    assert_type(lucid_erfinv.__version__, str)
