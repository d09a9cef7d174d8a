"""The slowest inputs found at every kernel level, for erfinv and its gradient.

Tried are arrays of one kind - each binade of |x| down to the last subnormal (float64: every
eighth), each binade of 1 - |x|, 0, +-1, numbers outside, NaN, for float64 the hard cases - and
usual arrays with a share of such numbers mixed in. Usual is uniform(-1, 1), for the gradient's y
and g a normal distribution; there the kinds are tried as y, as g, and as both. Shown are the
slowest, in ns per element and relative to usual arrays, measured in turn with each.
"""

from __future__ import annotations

import argparse
import heapq
import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import rich.console
import rich.progress
import rich.table

from lucid_erfinv import _ufunc
from speed import Array, Turn, count, empty

HARD_CASES = Path(__file__).parents[1] / "tests" / "data" / "hard_f64.csv"
SHARES = (1, 0.25, 0.06, 0.02)
ROUNDS = 3


def kinds(rng: np.random.Generator, dtype: np.dtype[Any], n: int) -> Iterator[tuple[str, Array]]:
    """Yield names and magnitudes, as float64."""
    info = np.finfo(dtype)
    step = 8 if dtype.itemsize == 8 else 1
    for exponent in range(int(info.minexp) - int(info.nmant), 0, step):
        yield f"2^{exponent}", np.ldexp(rng.uniform(1, 2, n), exponent)
    for exponent in range(-int(info.nmant), -1):
        x = 1 - np.ldexp(rng.uniform(1, 2, n), exponent)
        yield f"1 - 2^{exponent}", np.minimum(x, 1 - float(info.epsneg))
    if dtype.itemsize == 8:
        lines = (line for line in HARD_CASES.read_text().splitlines() if line.startswith("0x"))
        hard = np.array([float.fromhex(line.split(",")[0]) for line in lines])
        yield "hard cases, subnormal", np.resize(hard[hard < float(info.smallest_normal)], n)
        yield "hard cases, from 0.02 on", np.resize(hard[hard > 0.02], n)
    yield "0", np.zeros(n)
    yield "1", np.ones(n)
    yield "outside", 1 / rng.uniform(0.01, 0.9, n)
    yield "NaN", np.full(n, np.nan)


def mixtures(
    rng: np.random.Generator, usual: Array, dtype: np.dtype[Any]
) -> Iterator[tuple[str, Array]]:
    for (name, numbers), share in itertools.product(kinds(rng, dtype, usual.size), SHARES):
        x = empty(usual.size, dtype)
        x[:] = np.where(rng.uniform(size=x.size) < share, numbers, usual)
        x[:] = np.copysign(x, rng.uniform(-1, 1, x.size).astype(dtype))
        yield name if share == 1 else f"{share:.0%} of {name}", x


def cases(function: str, dtype: np.dtype[Any], n: int) -> Iterator[tuple[str, tuple[Array, ...]]]:
    """Yield names and inputs, the usual ones first."""
    rng = np.random.default_rng(11)
    if function == "erfinv":
        uniform = rng.uniform(-1, 1, n).astype(dtype)
        yield "usual", (uniform,)
        for name, x in mixtures(rng, uniform, dtype):
            yield name, (x,)
    else:
        g, y = rng.standard_normal((2, n)).astype(dtype)
        yield "usual", (g, y)
        for name, x in mixtures(rng, y, dtype):
            yield f"y: {name}", (g, x)
            yield f"g: {name}", (x, y)
            yield f"both: {name}", (x, x)


def slowest(
    function: str, level: str, dtype: np.dtype[Any], n: int, shown: int
) -> list[tuple[float, float, str]]:
    """Return relative time, ns per element and name of the slowest cases."""
    out = empty(n, dtype)

    def turn(inputs: tuple[Array, ...]) -> Turn:
        return Turn.lasting(1e-4, lambda calls: _ufunc._bench_at(level, *inputs, out, calls))

    def measured() -> Iterator[tuple[float, float, str]]:
        all_cases = cases(function, dtype, n)
        usual = turn(next(all_cases)[1])
        for name, inputs in all_cases:
            this = turn(inputs)
            times = np.array([(this.take(), usual.take()) for _ in range(ROUNDS)])
            yield float(np.median(times[:, 0] / times[:, 1])), times[:, 0].min() / n * 1e9, name

    return heapq.nlargest(shown, measured())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=count, default=16384, help="elements (default 16384)")
    parser.add_argument("--shown", type=count, default=3, help="slowest cases shown (default 3)")
    parser.add_argument("--level", nargs="+", default=_ufunc._levels(), choices=_ufunc._levels())
    options = parser.parse_args()
    table = rich.table.Table("function", "level", "input", "ns", "relative")
    chosen = list(
        itertools.product(("float32", "float64"), ("erfinv", "gradient"), reversed(options.level))
    )
    for name, function, level in rich.progress.track(chosen, transient=True):
        found = slowest(function, level, np.dtype(name), options.n, options.shown)
        for relative, ns, what in found:
            table.add_row(f"{function}, {name}", level, what, f"{ns:.2f}", f"{relative:.2f}")
        table.add_section()
    rich.console.Console().print(table)


if __name__ == "__main__":
    main()
