"""Accuracy of erfinv, region by region, against ball arithmetic.

Regions of the input, the correctly rounded value of a point (python-flint's arb, its error bound
included), and errors in ulps: ``abs(got - exact) / ulp(exact)``, where ulp is the distance between
the floats around the exact value.  `python -m lucid_erfinv sweep` and bench/accuracy.py share it.
"""

from __future__ import annotations

import functools
import math
import os
import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
_UNSIGNED = {2: np.uint16, 4: np.uint32, 8: np.uint64}


# Regions ------------------------------------------------------------------------------------------


def _evenly(low: float, high: float) -> Callable[..., Array]:
    """Evenly spread real numbers, rounded to the dtype: small ones have full significands, too."""

    def draw(rng: np.random.Generator, n: int, dtype: np.dtype[Any]) -> Array:
        unit = rng.integers(0, 2**63, n, dtype=np.int64).astype(np.float64) * 2.0**-63
        x: Array = (low + (high - low) * unit).astype(dtype)
        return x.clip(max=np.nextafter(dtype.type(high), dtype.type(0)))

    return draw


def _floats(rng: np.random.Generator, n: int, low: Any, high: Any) -> Array:
    """Every float in [low, high) equally likely: log-uniform but for the steps inside a binade."""
    unsigned = _UNSIGNED[low.dtype.itemsize]
    return rng.integers(low.view(unsigned), high.view(unsigned), n, dtype=unsigned).view(low.dtype)


def _binades(low: int, high: int) -> Callable[..., Array]:
    def draw(rng: np.random.Generator, n: int, dtype: np.dtype[Any]) -> Array:
        return _floats(rng, n, dtype.type(2.0**low), dtype.type(2.0**high))

    return draw


def _subnormal(rng: np.random.Generator, n: int, dtype: np.dtype[Any]) -> Array:
    info = np.finfo(dtype)
    return _floats(rng, n, info.smallest_subnormal, 2 * info.smallest_normal)


def _tiny(rng: np.random.Generator, n: int, dtype: np.dtype[Any]) -> Array:
    return _floats(rng, n, 2 * np.finfo(dtype).smallest_normal, dtype.type(2.0**-60))


def _near_one(rng: np.random.Generator, n: int, dtype: np.dtype[Any]) -> Array:
    w = _floats(rng, n, np.finfo(dtype).epsneg, dtype.type(0.25))
    return np.subtract(1, w, dtype=dtype)


def _end(rng: np.random.Generator, n: int, dtype: np.dtype[Any]) -> Array:
    info = np.finfo(dtype)
    low = 1 - info.epsneg * 2.0 ** (info.nmant // 2 + 2)
    return _floats(rng, n, dtype.type(low), dtype.type(1))


def _borders(rng: np.random.Generator, n: int, dtype: np.dtype[Any]) -> Array:
    """Up to 1024 floats beside j/64, 2^-k and 1 - (1 + j/64) 2^-k, where tables change rows."""
    nmant = np.finfo(dtype).nmant
    k = np.arange(1, nmant + 1)
    in_binade = (1 + np.arange(64) / 64)[:, None] * 2.0**-k
    near_one = (1 - in_binade[in_binade > 2.0 ** (-nmant + 9)]).ravel()
    border = np.concatenate([np.arange(1, 64) / 64, 2.0**-k, near_one]).astype(dtype)
    unsigned = _UNSIGNED[dtype.itemsize]
    offset = rng.integers(0, 2048, n, dtype=unsigned)
    bits = rng.choice(border, n).view(unsigned) + offset - unsigned(1024)
    x: Array = bits.view(dtype)
    return x.clip(max=1 - np.finfo(dtype).epsneg)


@dataclass(frozen=True)
class Region:
    """A part of (-1, 1) and how points are drawn from it, both signs alike."""

    name: str
    what: str
    scale: str  # of a plot's x axis: linear, log (of abs(x)), one (log of 1 - abs(x))
    draw: Callable[..., Array]

    def sample(self, rng: np.random.Generator, n: int, dtype: Any = np.float64) -> Array:
        dtype = np.dtype(dtype)
        x = self.draw(rng, n, dtype)
        unsigned = _UNSIGNED[dtype.itemsize]
        sign = rng.integers(0, 2, n, dtype=np.uint8).astype(unsigned)
        x.view(unsigned)[...] |= sign << unsigned(8 * dtype.itemsize - 1)
        return x


REGIONS = {
    region.name: region
    for region in (
        Region("uniform", "x uniform in (-1, 1)", "linear", _evenly(0, 1)),
        Region("near 0", "every float of 2^-20 <= |x| < 1/16 alike", "log", _binades(-20, -4)),
        Region("near 1", "1 - |x| log-uniform down to the last float below 1", "one", _near_one),
        Region("subnormal", "every float below twice the smallest normal alike", "log", _subnormal),
        Region("tiny", "every float from there to 2^-60 alike", "log", _tiny),
        Region("small", "every float of 2^-60 <= |x| < 2^-20 alike", "log", _binades(-60, -20)),
        Region("central", "|x| uniform in [1/16, 1/2)", "linear", _evenly(1 / 16, 1 / 2)),
        Region("shoulder", "|x| uniform in [1/2, 15/16)", "linear", _evenly(1 / 2, 15 / 16)),
        Region("end", "the last 2^28 (float32: 2^13) floats below 1 alike", "one", _end),
        Region("borders", "floats beside borders of the kernels' tables", "linear", _borders),
    )
}


# The exact value ----------------------------------------------------------------------------------


def _offset_in_ulps(x: float, y: float, ulp: float) -> float:
    """(erfinv(x) - y) / ulp, for 2^-300 <= x < 1: good to 2^-37 where it is below 64.

    One Newton step from y.  r encloses the difference of erf, and its radius is checked; what the
    step leaves out is relatively below 2.1 y abs(erfinv(x) - y), which is 2^-43 within 64 ulps.
    """
    from flint import arb, ctx

    slope = math.exp(y * y) * _HALF_SQRT_PI / ulp
    ctx.prec = 128
    while True:
        r = arb(x) - arb(y).erf() if x < 0.5 else arb(y).erfc() - (1 - arb(x))
        if float(r.rad()) * slope < 2.0**-40:
            return float(r.mid()) * slope
        ctx.prec *= 2


def _above(x: float, middle: tuple[float, float]) -> bool:
    """Whether erfinv(x) is above the middle of two floats, at whatever precision it takes."""
    from flint import arb, ctx

    ctx.prec = 256
    while ctx.prec <= 2**16:
        r = arb(x) - ((arb(middle[0]) + arb(middle[1])) / 2).erf()
        if not r.contains(0):
            return bool(r > 0)
        ctx.prec *= 2
    raise ArithmeticError(f"cannot tell erfinv({x!r}) from a midpoint")


def _round_tiny(x: float) -> tuple[float, float]:
    """nearest() for 0 < x < 2^-300: sqrt(pi)/2 x (1 + t) with 0 < t < 2^-590, in integers."""
    numerator, denominator = x.as_integer_ratio()
    product = numerator * _half_sqrt_pi_integer()
    exponent = 1 - denominator.bit_length() - _BITS  # of the last bit of product
    dropped = max(product.bit_length() - 53, -1074 - exponent)
    whole, rest = divmod(product, 1 << dropped)
    half = 1 << (dropped - 1)
    if abs(rest - half) <= numerator + 1:
        raise ArithmeticError(f"{_BITS} bits of sqrt(pi) cannot round erfinv({x!r})")
    up = rest > half
    return math.ldexp(whole + up, exponent + dropped), rest / (1 << dropped) - up


_BITS = 320
_HALF_SQRT_PI = math.sqrt(math.pi) / 2


@functools.cache
def _half_sqrt_pi_integer() -> int:
    """sqrt(pi)/2 in units of 2^-_BITS, rounded down."""
    from flint import arb, ctx

    ctx.prec = _BITS + 64
    return int((arb.pi().sqrt() * 2 ** (_BITS - 1)).floor().unique_fmpz())


def _nearest(x: float, guess: float) -> tuple[float, float]:
    """nearest() for one x >= 0."""
    from flint import arb, ctx

    if not 0 < x < 1:
        return (x if x == 0 else math.inf if x == 1 else math.nan), 0.0
    if x < 2.0**-300:
        return _round_tiny(x)
    offset = math.inf
    if 0 < guess < 6:
        offset = _offset_in_ulps(x, guess, math.ulp(guess))
    if abs(offset) > 64:
        ctx.prec = 128
        guess = float(arb(x).erfinv().mid())
        offset = _offset_in_ulps(x, guess, math.ulp(guess))
    distance = offset * math.ulp(guess)
    y = guess + distance
    distance += guess - y
    neighbour = math.nextafter(y, math.inf if distance > 0 else 0.0)
    gap = neighbour - y
    if distance / gap > 0.5 - 2.0**-30 and _above(x, (y, neighbour)) == (gap > 0):
        y, distance = neighbour, distance - gap
    return y, distance / math.ulp(y)


def nearest(x: Array, guess: Array) -> tuple[Array, Array]:
    """Correctly rounded erfinv(x) in float64, and (erfinv(x) - that) / ulp(that).

    `guess` is any value of erfinv(x); within 64 ulps of the true one it saves time.  Where x < 0,
    both results have the signs that they have for -x, but for the first's own.
    """
    pairs = [_nearest(*point) for point in zip(abs(x).tolist(), abs(guess).tolist(), strict=True)]
    y, offset = np.array(pairs, dtype=np.float64).reshape(-1, 2).T
    return np.copysign(y, x), offset


# Errors -------------------------------------------------------------------------------------------


def ulp_error(got: Array, y: Array, offset: Array) -> Array:
    """abs(got - exact) / ulp(exact) in got's dtype; y and offset are nearest()'s."""
    info = np.finfo(got.dtype)
    size = abs(y)
    significand, exponent = np.frexp(size)
    exponent -= (significand == 0.5) & (offset < 0)  # the exact value is in the binade below
    ulp_exponent = np.maximum(exponent - 1, info.minexp) - info.nmant
    with np.errstate(all="ignore"):
        difference = np.copysign(1.0, y) * got.astype(np.float64) - size
        rest = offset * np.ldexp(np.spacing(size), -ulp_exponent)
        error = abs(np.ldexp(difference, -ulp_exponent) - rest)
    same = (got == y) | (np.isnan(got) & np.isnan(y))
    return np.where(same & ~np.isfinite(y), 0.0, np.where(np.isnan(error), np.inf, error))


def round_to(dtype: Any, y: Array, offset: Array) -> Array:
    """The float of `dtype` nearest to the exact value; y and offset are nearest()'s.

    Rounding y again is right unless y lies on a midpoint of that dtype, where offset's sign tells.
    """
    dtype = np.dtype(dtype)
    with np.errstate(all="ignore"):
        once = y.astype(dtype)
        rest = y - once.astype(np.float64)
        other = once.astype(np.float64) + 2 * rest
        tie = (rest != 0) & np.isfinite(rest) & (other.astype(dtype).astype(np.float64) == other)
        away = np.sign(offset) * np.sign(y) == np.sign(rest)
    return np.where(tie & away, other.astype(dtype), once)


# The sweep ----------------------------------------------------------------------------------------

_CHUNK = 4096  # points per task of a worker process
_TIMED = 16384  # elements per timed call: in cache


@dataclass(frozen=True)
class Row:
    """What one library did on one region in one dtype."""

    library: str
    region: Region
    x: Array
    errors: Array
    wrong: int
    ns: float


def workers(jobs: int = 0) -> ProcessPoolExecutor:
    """Processes for nearest_in; `jobs` is their number, 0 for one per usable CPU."""
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return ProcessPoolExecutor(
        jobs or usable or 1,
        mp_context=get_context("spawn"),
        initializer=signal.signal,  # Ctrl-C is the parent's to handle
        initargs=(signal.SIGINT, signal.SIG_IGN),
    )


def nearest_in(
    pool: ProcessPoolExecutor, x: Array, guess: Array, advance: Callable[[int], object]
) -> tuple[Array, Array]:
    """nearest() in worker processes; `advance` hears of every finished chunk's points."""
    cuts = range(_CHUNK, x.size, _CHUNK)
    parts = []
    for part in pool.map(nearest, np.split(x, cuts), np.split(guess, cuts)):
        advance(part[0].size)
        parts.append(part)
    y, offset = (np.concatenate(column) for column in zip(*parts, strict=True))
    return y, offset


def libraries() -> dict[str, np.ufunc]:
    import scipy.special

    from . import erfinv

    return {"lucid_erfinv": erfinv, "scipy": scipy.special.erfinv}


def time_per_element(functions: dict[str, np.ufunc], x: Array) -> dict[str, float]:
    """Nanoseconds per element: the best of interleaved runs of a few calls each."""
    x = np.resize(x, _TIMED)
    out = np.empty_like(x)
    best = dict.fromkeys(functions, math.inf)
    for _ in range(15):
        for name, function in functions.items():
            start = time.perf_counter_ns()
            for _ in range(4):
                function(x, out)
            best[name] = min(best[name], (time.perf_counter_ns() - start) / (4 * x.size))
    return best


def sweep(
    regions: list[Region], dtypes: list[str], points: int, seed: int, jobs: int
) -> Iterator[Row]:
    """Both libraries on every region and dtype, with a progress bar on stderr."""
    import tqdm

    functions = libraries()
    cases = [(dtype, region) for dtype in dtypes for region in regions]
    seeds = np.random.SeedSequence(seed).spawn(len(cases))
    samples = [
        region.sample(np.random.default_rng(seed), points, dtype)
        for (dtype, region), seed in zip(cases, seeds, strict=True)
    ]
    times = [time_per_element(functions, x) for x in samples]  # before the workers start
    with (
        workers(jobs) as pool,
        tqdm.tqdm(total=points * len(cases), unit=" points", unit_scale=True) as bar,
    ):
        for (dtype, region), x, ns in zip(cases, samples, times, strict=True):
            bar.set_description(f"{dtype} {region.name}")
            x64 = x.astype(np.float64)
            y, offset = nearest_in(pool, x64, functions["scipy"](x64), bar.update)
            right = round_to(dtype, y, offset)
            for name, function in functions.items():
                got = function(x)
                errors = ulp_error(got, y, offset)
                yield Row(name, region, x, errors, int(np.count_nonzero(got != right)), ns[name])


def show_table(rows: list[Row]) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table

    table = Table(
        box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
        title=f"erfinv, {rows[0].x.size:,} points per region",
        caption=f"ulp error: abs(got - exact) / ulp(exact); ns: one thread, {_TIMED} elements",
    )
    for column in ("dtype", "region", "library"):
        table.add_column(column, no_wrap=True)
    for column in ("max ulp", "mean ulp", "not nearest", "ns/element"):
        table.add_column(column, no_wrap=True, justify="right")
    for row in rows:
        ours = row.library != "scipy"
        table.add_row(
            row.x.dtype.name if ours else "",
            row.region.name if ours else "",
            row.library,
            f"{row.errors.max():#.4g}",
            f"{row.errors.mean():#.3g}",
            f"{row.wrong / row.x.size:.2%}" if row.wrong else "0",
            f"{row.ns:.2f}",
            end_section=not ours,
        )
    Console().print(table)


def draw(rows: list[Row], path: str) -> None:
    """Error over x: a row of panels per dtype, a column per region."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    dtypes = list(dict.fromkeys(row.x.dtype.name for row in rows))
    regions = list(dict.fromkeys(row.region for row in rows))
    figure, axes = plt.subplots(
        len(dtypes),
        len(regions),
        figsize=(1 + 3.2 * len(regions), 0.8 + 2.3 * len(dtypes)),
        sharey=True,
        squeeze=False,
        layout="constrained",
    )
    for row in reversed(rows):  # ours on top
        axis = axes[dtypes.index(row.x.dtype.name), regions.index(row.region)]
        shown = slice(0, 3000)
        x, errors = row.x[shown].astype(np.float64), row.errors[shown]
        if row.region.scale != "linear":
            axis.set_xscale("log")
            x = abs(x)
        if row.region.scale == "one":
            x = 1 - x
        colour = "tab:orange" if row.library == "scipy" else "tab:blue"
        axis.plot(x, errors, ".", color=colour, markersize=1.5, rasterized=True)
        axis.plot([], [], "o", color=colour, markersize=5, label=row.library)
    for i, dtype in enumerate(dtypes):
        axes[i, 0].set_ylabel(f"{dtype}\nerror in ulps")
        for j, region in enumerate(regions):
            axes[i, j].axhline(0.5, color="black", linewidth=0.6, linestyle="--")
            axes[i, j].set_ylim(bottom=0)
            axes[i, j].set_title(region.name if i == 0 else "")
            if i == len(dtypes) - 1:
                label = {"linear": "x", "log": "|x|", "one": "1 - |x|"}[region.scale]
                axes[i, j].set_xlabel(label)
            if region.scale == "one" and not axes[i, j].xaxis_inverted():
                axes[i, j].invert_xaxis()
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles[::-1], labels[::-1], loc="outside upper right", ncols=2, frameon=False)
    figure.suptitle("Error of erfinv (dashed: half an ulp)", x=0.01, ha="left")
    figure.savefig(path, dpi=110)
    plt.close(figure)
