"""Errors of erfinv_backward at every kernel level, by region and dtype; status 1 if one is above 1.

The reference is ball arithmetic (arb): g times the derivative of erfinv at x, in ulps of that; y is
`erfinv(x)`. "any y" are numbers that are no erfinv output in general: g times the derivative at
the x that is nearest to erf(y), or g sqrt(pi)/2 exp(y^2), whichever is nearer; "above" and "below"
are the y where it is the latter. float16 and bfloat16: all y, with several g.

--points N       points per region, float32 and float64 (10^4)
--every-float32  instead: every float32 x in [1/2, 1)
"""

from __future__ import annotations

import argparse
import math
import os
from collections.abc import Callable, Iterator
from typing import Any

import ml_dtypes
import numpy as np
import tqdm

from lucid_erfinv import _ufunc, erfinv
from lucid_erfinv.sweep import REGIONS, Array, workers

CHUNK = 2048
LARGEST_OUTPUT = {
    "float64": 5.8635847487551676,
    "float32": 3.8325069,
    "float16": 2.46484375,
    "bfloat16": 2.046875,
}


# The exact value ----------------------------------------------------------------------------------


def derivative(y: Any) -> Any:
    from flint import arb

    return arb.pi().sqrt() / 2 * (y * y).exp()


def at_x(x: float, precision: int) -> list[Any]:
    from flint import arb

    return [derivative(arb(x).erfinv())] if abs(x) < 1 else []


def at_any_y(y: float, precision: int) -> list[Any]:
    """The plain formula, and the derivative at the nearest x of a type with so many bits."""
    from flint import arb

    step = arb(2) ** precision
    tail = (arb(y).erfc() * step + arb(1) / 2).floor().unique_fmpz()
    return [derivative(arb(y))] + ([derivative((1 - arb(tail) / step).erfinv())] if tail else [])


def plain(y: float, precision: int) -> list[Any]:
    from flint import arb

    return [derivative(arb(y))]


def errors(
    exact: Callable[[float, int], list[Any]], info: Any, points: Array, g: Array, got: Array
) -> Array:
    """Error in ulps of each row of `got`, against the nearest of the exact values."""
    from flint import arb, ctx

    ctx.prec = 160
    found = np.zeros(got.shape)
    for i, (point, g_here) in enumerate(zip(points.tolist(), g.tolist(), strict=True)):
        for row in range(len(got)):
            found[row, i] = math.inf
        for value in exact(abs(point), info[0]):
            product = arb(g_here) * value
            exponent = max(math.frexp(float(product))[1] - info[0], info[1])
            for row in range(len(got)):
                error = float(abs(arb(float(got[row, i])) - product)) / math.ldexp(1.0, exponent)
                found[row, i] = min(found[row, i], error)
    return found.max(axis=1)


# Cases --------------------------------------------------------------------------------------------


Case = tuple[str, Callable[[float, int], list[Any]], Array, Array, Array]


def gradients(rng: np.random.Generator, y: Array) -> Array:
    """Half are normal; half make the product just less than a power of two: the smallest ulps."""
    ulp = float(ml_dtypes.finfo(y.dtype).eps)
    aimed = 4 / np.sqrt(np.pi) * np.exp(-(y.astype(np.float64) ** 2))
    aimed *= 1 - ulp * rng.uniform(0, 8, y.size)
    g: Array = np.where(rng.random(y.size) < 0.5, rng.normal(size=y.size), aimed).astype(y.dtype)
    return g


def cases(dtype: str, n: int, rng: np.random.Generator) -> Iterator[Case]:
    """Name, exact value and its argument, g, y."""
    for region in REGIONS.values():
        x = region.sample(rng, n, dtype)
        y = erfinv(x)
        yield region.name, at_x, x, gradients(rng, y), y
    largest = LARGEST_OUTPUT[dtype]
    end = {"float64": 26.0, "float32": 9.0}[dtype]
    for name, exact, low, high in (
        ("any y", at_any_y, 0.5, largest),
        ("any y < 0.7", at_any_y, 0.5, 0.7),
        ("above", plain, largest * 1.001, end),
        ("below", plain, 0.0, 0.4999),
    ):
        y = rng.uniform(low, high, n).astype(dtype)
        yield name, exact, y, gradients(rng, y), y


def half_cases(name: str, rng: np.random.Generator) -> Iterator[Case]:
    dtype = np.dtype(ml_dtypes.bfloat16 if name == "bfloat16" else np.float16)
    half = np.arange(1 << 15, dtype=np.uint16).view(dtype)
    x = half[(half >= 0.5) & (half < 1)]
    y = erfinv(x)
    others = half[(half < 3) & ~np.isin(half.view(np.uint16), y.view(np.uint16))]
    for _ in range(4):
        yield "outputs", at_x, x, gradients(rng, y), y
        yield "others", plain, others, gradients(rng, others), others


def every_float32(rng: np.random.Generator) -> Iterator[Case]:
    for k in range(0, 1 << 23, 1 << 18):
        x = ((1 << 23) + k + np.arange(1 << 18)).astype(np.float32) * np.float32(2.0**-24)
        y = erfinv(x)
        yield f"{x[0]:.6f}", at_x, x, gradients(rng, y), y


def precision_of(dtype: np.dtype[Any]) -> tuple[int, int]:
    """Bits of a significand, exponent of the smallest subnormal."""
    info = ml_dtypes.finfo(dtype)
    return info.nmant + 1, int(info.minexp) - info.nmant


def report(dtype: str, all_cases: Iterator[Case], levels: list[str], jobs: int) -> float:
    print(f"\n{dtype:<12}{'points':>9}" + "".join(f"{level:>10}" for level in levels))
    worst = 0.0
    with workers(jobs) as pool:
        for name, exact, points, g, y in all_cases:
            got = np.empty((len(levels), y.size), y.dtype)
            for row, level in zip(got, levels, strict=True):
                _ufunc._backward_at(level, g, y, row)
            keep = np.isfinite(y)  # a rounded x of exactly 1 in small formats
            points, g = points[keep].astype(np.float64), g[keep].astype(np.float64)
            got = got[:, keep].astype(np.float64)
            info, pending = precision_of(y.dtype), []
            for i in range(0, points.size, CHUNK):
                part = slice(i, i + CHUNK)
                pending.append(
                    pool.submit(errors, exact, info, points[part], g[part], got[:, part])
                )
            parts = [done.result() for done in tqdm.tqdm(pending, leave=False, desc=name)]
            largest = np.max(parts, axis=0)
            print(f"{name:<12}{points.size:>9,}" + "".join(f"{e:>10.4f}" for e in largest))
            worst = max(worst, float(largest.max()))
    return worst


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--points", type=int, default=10_000)
    parser.add_argument("--every-float32", action="store_true")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    arguments = parser.parse_args()
    levels = list(reversed(_ufunc._levels()))
    rng = np.random.default_rng(arguments.seed)
    if arguments.every_float32:
        return report("float32", every_float32(rng), levels, arguments.jobs) > 1
    worst = 0.0
    for dtype in ("float64", "float32"):
        of_dtype = cases(dtype, arguments.points, rng)
        worst = max(worst, report(dtype, of_dtype, levels, arguments.jobs))
    for dtype in ("float16", "bfloat16"):
        worst = max(worst, report(dtype, half_cases(dtype, rng), levels, arguments.jobs))
    return worst > 1


if __name__ == "__main__":
    raise SystemExit(main())
