from typing import Any, Literal, SupportsIndex, TypeAlias, TypedDict, TypeVar, overload

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray
from typing_extensions import Buffer, Unpack

_Float = TypeVar("_Float", np.float16, np.float32, np.float64)
_Out = TypeVar("_Out", bound=NDArray[Any])

class _Options(TypedDict, total=False):
    where: ArrayLike
    casting: Literal["no", "equiv", "safe", "same_kind", "unsafe"]
    order: Literal["K", "A", "C", "F"] | None
    subok: bool
    signature: str | tuple[DTypeLike | None, ...]

class _Erfinv(np.ufunc):  # type: ignore[misc]  # final in NumPy's stubs, whose own do the same
    @property
    def __name__(self) -> Literal["erfinv"]: ...
    @property
    def nin(self) -> Literal[1]: ...
    @property
    def nout(self) -> Literal[1]: ...
    @property
    def nargs(self) -> Literal[2]: ...
    @property
    def ntypes(self) -> Literal[3]: ...
    @property
    def identity(self) -> None: ...
    @property
    def signature(self) -> None: ...
    @overload
    def __call__(
        self,
        x: ArrayLike,
        /,
        out: _Out | tuple[_Out],
        *,
        dtype: DTypeLike | None = None,
        **options: Unpack[_Options],
    ) -> _Out: ...
    @overload
    def __call__(self, x: _Float, /, out: None = None, **options: Unpack[_Options]) -> _Float: ...
    @overload
    def __call__(
        self, x: float | np.integer[Any] | np.bool, /, out: None = None, **options: Unpack[_Options]
    ) -> np.float64: ...
    @overload
    def __call__(
        self, x: NDArray[_Float], /, out: None = None, **options: Unpack[_Options]
    ) -> NDArray[_Float]: ...
    @overload
    def __call__(
        self,
        x: NDArray[np.integer[Any] | np.bool],
        /,
        out: None = None,
        **options: Unpack[_Options],
    ) -> NDArray[np.float64]: ...
    @overload
    def __call__(
        self,
        x: object,
        /,
        out: None = None,
        *,
        dtype: DTypeLike | None = None,
        **options: Unpack[_Options],
    ) -> Any: ...

erfinv: _Erfinv

class _ErfinvBackward(np.ufunc):  # type: ignore[misc]
    @property
    def __name__(self) -> Literal["erfinv_backward"]: ...
    @property
    def nin(self) -> Literal[2]: ...
    @property
    def nout(self) -> Literal[1]: ...
    @property
    def nargs(self) -> Literal[3]: ...
    @property
    def ntypes(self) -> Literal[3]: ...
    @property
    def identity(self) -> None: ...
    @property
    def signature(self) -> None: ...
    @overload
    def __call__(
        self,
        grad_out: ArrayLike,
        y: ArrayLike,
        /,
        out: _Out | tuple[_Out],
        *,
        dtype: DTypeLike | None = None,
        **options: Unpack[_Options],
    ) -> _Out: ...
    @overload
    def __call__(
        self, grad_out: _Float, y: _Float, /, out: None = None, **options: Unpack[_Options]
    ) -> _Float: ...
    @overload
    def __call__(
        self,
        grad_out: NDArray[_Float] | float,
        y: NDArray[_Float],
        /,
        out: None = None,
        **options: Unpack[_Options],
    ) -> NDArray[_Float]: ...
    @overload
    def __call__(
        self,
        grad_out: object,
        y: object,
        /,
        out: None = None,
        *,
        dtype: DTypeLike | None = None,
        **options: Unpack[_Options],
    ) -> Any: ...

erfinv_backward: _ErfinvBackward

# NumPy's arrays have the buffer protocol in Python 3.12's eyes only.
_Buffer: TypeAlias = Buffer | NDArray[np.float32] | NDArray[np.float64]

def erfinv_into(x: _Buffer, out: _Buffer) -> None: ...
def set_num_threads(n: SupportsIndex) -> None: ...
def get_num_threads() -> int: ...

__version__: str

def _built_levels() -> tuple[str, ...]: ...
def _levels() -> tuple[str, ...]: ...
def _missing_levels() -> dict[str, str]: ...
def _chosen_level() -> str: ...
def _erfinv_at(level: str, x: NDArray[Any], out: _Out) -> _Out: ...
def _backward_at(level: str, grad_out: NDArray[Any], y: NDArray[Any], out: _Out) -> _Out: ...
def _bench_at(level: str, *arrays_and_repeat: NDArray[Any] | int) -> float: ...
def _bench_mkl(
    address: int, mode: int, x: NDArray[Any], out: NDArray[Any], repeat: int
) -> float: ...
def _exact_at(stage: int, x: float, a: float, b: float) -> int: ...
def _counters() -> dict[str, int]: ...
def _compiler() -> str: ...
