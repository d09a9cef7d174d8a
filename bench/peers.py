"""The functions that `speed.py` measures, ours and other people's, each as a timer.

A timer takes a number of calls and returns the seconds that they took.  MKL and our kernels are
called from C; what has only a Python interface is called from Python, and `erfinv` is that of ours.
"""

from __future__ import annotations

import ctypes
import functools
import importlib
import importlib.metadata
import itertools
import mmap
import os
import platform
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import lucid_erfinv
from lucid_erfinv import _ufunc

# Else the waiting threads of an OpenMP runtime spin through the next peer's turn.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

Array = np.ndarray[Any, Any]
Timer = Callable[[int], float]
DTYPES = ("float64", "float32", "float16", "bfloat16")


@dataclass(frozen=True)
class Peer:
    """A function under its name, for the dtypes that it takes."""

    name: str
    dtypes: tuple[str, ...]
    timer: Callable[[Array, Array], Timer]
    set_num_threads: Callable[[int], object] = lambda n: None
    python: bool = True  # called from Python


def python_timer(function: Callable[..., object], *args: Any, **kwargs: Any) -> Timer:
    def run(repeat: int) -> float:
        start = time.perf_counter()
        for _ in itertools.repeat(None, repeat):
            function(*args, **kwargs)
        return time.perf_counter() - start

    return run


def ufunc_peer(name: str, ufunc: Callable[..., object], dtypes: tuple[str, ...]) -> Peer:
    return Peer(name, dtypes, lambda x, out: python_timer(ufunc, x, out=out))


def level_timer(level: str, x: Array, out: Array) -> Timer:
    return lambda repeat: _ufunc._bench_at(level, x, out, repeat)


def levels() -> list[Peer]:
    def peer(level: str) -> Peer:
        return Peer(
            level,
            DTYPES,
            lambda x, out: level_timer(level, x, out),
            lucid_erfinv.set_num_threads,
            python=False,
        )

    return [peer(level) for level in reversed(_ufunc._levels())]


def ours() -> list[Peer]:
    return [
        Peer(
            "erfinv",
            DTYPES,
            lambda x, out: python_timer(lucid_erfinv.erfinv, x, out=out),
            lucid_erfinv.set_num_threads,
        )
    ]


def mkl() -> list[Peer]:
    files = importlib.metadata.files("mkl") or []
    path = next(file for file in files if file.name.startswith(("libmkl_rt.", "mkl_rt.")))
    library = ctypes.CDLL(str(path.locate()))

    def peer(mode_name: str, mode: int) -> Peer:
        def timer(x: Array, out: Array) -> Timer:
            function = library.vmdErfInv if x.dtype == np.float64 else library.vmsErfInv
            address = ctypes.cast(function, ctypes.c_void_p).value or 0
            return lambda repeat: _ufunc._bench_mkl(address, mode, x, out, repeat)

        return Peer(
            f"MKL {mode_name}",
            ("float64", "float32"),
            timer,
            library.MKL_Set_Num_Threads,
            python=False,
        )

    return [peer("HA", 2), peer("LA", 1), peer("EP", 3)]


def scipy() -> list[Peer]:
    return [ufunc_peer("SciPy", importlib.import_module("scipy.special").erfinv, DTYPES[:3])]


def torch() -> list[Peer]:
    torch = importlib.import_module("torch")

    def tensor(array: Array) -> Any:
        if array.dtype.name == "bfloat16":
            return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
        return torch.from_numpy(array)

    def timer(x: Array, out: Array) -> Timer:
        return python_timer(torch.special.erfinv, tensor(x), out=tensor(out))

    def takes(dtype: str) -> bool:
        try:
            torch.special.erfinv(torch.zeros(1, dtype=getattr(torch, dtype)))
        except RuntimeError:
            return False
        return True

    return [Peer("PyTorch", tuple(filter(takes, DTYPES)), timer, torch.set_num_threads)]


def crdistr() -> list[Peer]:
    """Correctly rounded, too; it allocates its result, which is counted."""
    function = importlib.import_module("crdistr").erfinv
    return [Peer("crdistr", DTYPES[1:], lambda x, out: python_timer(function, x))]


def numpy() -> list[Peer]:
    return [
        ufunc_peer("np.arctanh", np.arctanh, DTYPES),
        Peer("np.copyto", DTYPES, lambda x, out: python_timer(np.copyto, out, x)),
    ]


def load() -> tuple[list[Peer], dict[str, str], dict[str, str]]:
    """Return what is here, the versions, and what is missing with the reason."""
    peers, versions, missing = levels() + ours(), {}, {}
    for name, loader in {
        "mkl": mkl,
        "scipy": scipy,
        "torch": torch,
        "crdistr": crdistr,
        "numpy": numpy,
    }.items():
        try:
            peers += loader()
            versions[name] = importlib.metadata.version(name)
        except (ImportError, OSError, StopIteration) as error:
            # PackageNotFoundError is an ImportError.
            missing[name] = f"{type(error).__name__}: {error}" if str(error) else "no library in it"
    return peers, versions, missing


# The CPU ------------------------------------------------------------------------------------------

CHAIN_CLOCKS = 48 * 20_000


@functools.cache
def clock_timer() -> Timer | None:
    """Time chains of CHAIN_CLOCKS clocks each, so that nanoseconds can be told as clocks.

    The counters that a program can read tick at a nominal rate, not at the one that the core runs
    at.  A chain of 16 dependent 32-bit multiplications takes 48 clocks on every x86-64 CPU that
    has AVX2, of either maker.  None on other machines, or where no memory may be executed.
    """
    if platform.machine().lower() not in ("x86_64", "amd64"):
        return None
    multiply, count, jump = b"\x0f\xaf\xc0", b"\xff\xc9", b"\x75"  # imul eax, eax; dec ecx; jnz
    body = 16 * multiply + count
    code = b"\xb9" + (CHAIN_CLOCKS // 48).to_bytes(4, "little")  # mov ecx, count
    code += body + jump + (-len(body) - 2).to_bytes(1, "little", signed=True) + b"\xc3"  # ret
    try:
        access = mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC
        memory = mmap.mmap(-1, mmap.PAGESIZE, prot=access)
    except (AttributeError, OSError):
        return None
    memory.write(code)
    start = ctypes.c_char.from_buffer(memory)
    chain = ctypes.CFUNCTYPE(None)(ctypes.addressof(start))
    chain.memory = start  # type: ignore[attr-defined]  # it goes when nothing refers to it
    return python_timer(chain)


def cpu() -> dict[str, str]:
    """Vendor and model of the CPU, as far as the system tells."""
    info = {"vendor": "", "model": platform.processor() or platform.machine()}
    listing = Path("/proc/cpuinfo")
    if listing.exists():
        lines = (line.partition(":") for line in listing.read_text().splitlines())
        fields = {key.strip(): value.strip() for key, _, value in lines}
        info["vendor"] = fields.get("vendor_id", "")
        info["model"] = fields.get("model name", info["model"])
        if "cpu family" in fields:
            info["model"] += f" (family {fields['cpu family']}, model {fields['model']})"
    elif "Intel" in info["model"]:
        info["vendor"] = "GenuineIntel"
    elif "AMD" in info["model"]:
        info["vendor"] = "AuthenticAMD"
    return info
