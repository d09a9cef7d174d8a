"""Accuracy sweeps of every kernel level; exit status 1 where a result is not the nearest float.

--exhaustive DTYPE   every float16 or bfloat16 (against arb), every float32 (against crdistr)
--float64 [N]        N float64 points over all regions (10^7): largest error, by arb
--random [N]         N float64 points over all regions (10^9), judged by bench/oracle_f64.c
without any of them: all, one after the other
"""

from __future__ import annotations

import argparse
import ctypes
import importlib
import json
import os
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import tqdm

from lucid_erfinv import _ufunc
from lucid_erfinv.sweep import REGIONS, Array, nearest, nearest_in, round_to, ulp_error, workers

CHUNK = 1 << 18  # points per task of --random
DEGREE, CELLS_PER_UNIT, SMALL_TERMS = 15, 256, 9  # as in oracle_f64.c


# The oracle ---------------------------------------------------------------------------------------


class Result(ctypes.Structure):
    """What oracle_check found, as its `struct result`."""

    _fields_ = [
        ("right", ctypes.c_uint64),
        ("wrong", ctypes.c_uint64),
        ("open", ctypes.c_uint64),
        ("worst", ctypes.c_double),
        ("worst_i", ctypes.c_uint64),
    ]


def table() -> bytes:
    """Compute the oracle's constants, as its `struct table` holds them."""
    from flint import arb, arb_series, ctx, fmpz

    ctx.prec, ctx.cap = 320, DEGREE + 1

    def integer(value: Any) -> int:
        """Round to the nearest integer."""
        return int((value + arb(fmpz(1)) / 2).floor().unique_fmpz())

    def word128(value: Any, bits: int) -> bytes:
        return (integer(value * arb(2) ** bits) % 2**128).to_bytes(16, sys.byteorder)

    root = arb.pi().sqrt() / 2
    parts = []
    for i in range(6 * CELLS_PER_UNIT + 1):
        a = arb(i) / CELLS_PER_UNIT
        integral = arb_series([0, -2 * a, -1]).exp().integral()
        for k in range(1, DEGREE + 1):
            parts.append(word128(integral[k] / arb(CELLS_PER_UNIT) ** k, 126))
        c = root * (a * a).exp()
        exponent = int(c.log_base(2).floor().unique_fmpz())
        parts.append(word128(c * a.erfc(), 126))
        parts.append(word128(c, 127 - exponent))
        parts.append(exponent.to_bytes(8, sys.byteorder, signed=True) + bytes(8))
    parts += [word128(1 / arb(fmpz.fac_ui(k) * (2 * k + 1)), 127) for k in range(SMALL_TERMS)]
    parts.append(word128(root, 127))
    return b"".join(parts)


class Oracle:
    """bench/oracle_f64.c, compiled into a temporary directory."""

    def __init__(self) -> None:
        source = Path(__file__).with_name("oracle_f64.c")
        compiler = (os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc").split()
        with tempfile.TemporaryDirectory() as folder:
            library = str(Path(folder, "oracle.so"))
            flags = ["-std=c17", "-O3", "-ffp-contract=off", "-fPIC", "-shared"]
            subprocess.run([*compiler, *flags, str(source), "-o", library, "-lm"], check=True)
            self.c = ctypes.CDLL(library)
        data = table()
        self.c.oracle_table_size.restype = ctypes.c_size_t
        if self.c.oracle_table_size() != len(data):
            raise AssertionError("the table is not oracle_f64.c's")
        self.memory = ctypes.create_string_buffer(len(data) + 16)
        address = (ctypes.addressof(self.memory) + 15) & ~15  # of 128-bit integers
        ctypes.memmove(address, data, len(data))
        self.table = ctypes.c_void_p(address)

    def errors(self, x: Array, y: Array) -> Array:
        """Error of y in ulps of y, signed."""
        d = np.empty_like(x)
        self.c.oracle_errors(self.table, *map(pointer, (x, y, d)), ctypes.c_size_t(x.size))
        return d

    def check(self, x: Array, y: Array) -> tuple[Result, Array]:
        """Count right, wrong and open results; also the indices of the last two."""
        result = Result()
        index = np.empty(x.size, np.uint64)
        self.c.oracle_check(
            self.table,
            *map(pointer, (x, y)),
            ctypes.c_size_t(x.size),
            ctypes.byref(result),
            pointer(index),
            ctypes.c_size_t(index.size),
        )
        return result, index[: result.wrong + result.open]


def pointer(array: Array) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)


def oracle_against_arb(oracle: Oracle, x: Array) -> float:
    """Largest difference between the oracle's errors and arb's, in ulps, for values nearby."""
    y, offset = nearest(x, np.full_like(x, np.nan))
    worst = 0.0
    for steps in (-2, -1, 0, 1, 2):
        size = abs(y)
        near = (size.view(np.int64) + steps).view(np.float64)
        kept = (near > 0) & (near < 5.87)
        exact = ((near - size) / np.spacing(size) - offset) * (np.spacing(size) / np.spacing(near))
        got = oracle.errors(x[kept], np.copysign(near, x)[kept])
        worst = max(worst, float(abs(got - exact[kept]).max(initial=0)))
    return worst


def optional(module: str, sweep: str) -> Any:
    """Import a module that not every platform has."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError:
        print(f"{sweep}: not swept, {module} is missing")
        return None


# Sweeps -------------------------------------------------------------------------------------------


def erfinv_at(level: str, x: Array) -> Array:
    y = np.empty_like(x)
    _ufunc._erfinv_at(level, x, y)
    return y


def different(a: Array, b: Array) -> Array:
    """Where two results differ in a bit, NaNs aside."""
    unsigned = {2: np.uint16, 4: np.uint32, 8: np.uint64}[a.dtype.itemsize]
    return (a.view(unsigned) != b.view(unsigned)) & ~(np.isnan(a) & np.isnan(b))


def float64_points(levels: list[str], points: int, seed: int, jobs: int) -> int:
    """Max ulp error and number of misrounded results per region and level, from arb."""
    each = -(-points // len(REGIONS))
    print(f"{each:,} points per region; ulp error = abs(got - exact) / ulp(exact), by arb")
    print(f"{'region':<10}" + "".join(f"{level + ': max ulp':>24}{'wrong':>8}" for level in levels))
    failures = 0
    with workers(jobs) as pool, tqdm.tqdm(total=each * len(REGIONS), unit_scale=True) as bar:
        for i, region in enumerate(REGIONS.values()):
            cells = ""
            worst: dict[str, float] = dict.fromkeys(levels, 0.0)
            wrong = dict.fromkeys(levels, 0)
            for start in range(0, each, 1 << 20):
                rng = np.random.default_rng([seed, i, start])
                x = region.sample(rng, min(1 << 20, each - start))
                got = {level: erfinv_at(level, x) for level in levels}
                y, offset = nearest_in(pool, x, got[levels[0]], bar.update)
                for level in levels:
                    worst[level] = max(worst[level], ulp_error(got[level], y, offset).max())
                    wrong[level] += int(np.count_nonzero(different(got[level], y)))
            for level in levels:
                cells += f"{worst[level]:>24.9f}{wrong[level]:>8}"
                failures += wrong[level]
            bar.write(f"{region.name:<10}{cells}", file=sys.stdout)
    return failures


@dataclass
class Count:
    """What --random found in one region."""

    points: int = 0
    misrounded: int = 0
    open: int = 0  # the oracle left them to arb
    other_levels: int = 0  # results of other levels that differ from the first's
    worst: float = 0.0
    worst_x: str = ""
    seconds: float = 0.0

    def add(self, other: Count) -> None:
        self.points += other.points
        self.misrounded += other.misrounded
        self.open += other.open
        self.other_levels += other.other_levels
        self.seconds += other.seconds
        if other.worst > self.worst:
            self.worst, self.worst_x = other.worst, other.worst_x


def random_chunk(oracle: Oracle, levels: list[str], region: str, seed: list[int], n: int) -> Count:
    start = time.perf_counter()
    x = REGIONS[region].sample(np.random.default_rng(seed), n)
    y = erfinv_at(levels[0], x)
    result, index = oracle.check(x, y)
    at = index.astype(np.intp)
    settled, _ = nearest(x[at], y[at])
    wrong = at[different(y[at], settled)]
    for i in wrong[:10]:
        print(f"misrounded: erfinv({float(x[i]).hex()}) = {float(y[i]).hex()}", file=sys.stderr)
    count = Count(n, len(wrong), int(result.open))
    for level in levels[1:]:
        count.other_levels += int(np.count_nonzero(different(erfinv_at(level, x), y)))
    count.worst, count.worst_x = result.worst, float(x[result.worst_i]).hex()
    count.seconds = time.perf_counter() - start
    return count


def ahead(
    pool: ThreadPoolExecutor, function: Callable[..., Any], tasks: Iterable[Any], window: int
) -> Iterator[tuple[Any, Any]]:
    """Run (task, function(task)) in order with at most `window` tasks under way."""
    pending = []
    for task in tasks:
        pending.append((task, pool.submit(function, task)))
        if len(pending) >= window:
            done, future = pending.pop(0)
            yield done, future.result()
    for done, future in pending:
        yield done, future.result()


def random_points(levels: list[str], points: int, seed: int, jobs: int, resume: Path | None) -> int:
    """Random points of every region, in chunks with seeds of their own, over threads."""
    oracle = Oracle()
    chunks = -(-points // (len(REGIONS) * CHUNK))
    counts = {name: Count() for name in REGIONS}
    done = dict.fromkeys(REGIONS, 0)
    if resume and resume.exists():
        state = json.loads(resume.read_text())
        if state["seed"] != seed or state["levels"] != levels:
            raise SystemExit(f"{resume}: of another seed or other levels")
        counts = {name: Count(**state["counts"][name]) for name in REGIONS}
        done = state["done"]
    rng = np.random.default_rng(seed)
    for region in REGIONS.values():
        gap = oracle_against_arb(oracle, region.sample(rng, 2000))
        print(f"oracle against arb, {region.name}: 10,000 errors agree to {gap:.1e} ulp")
        if gap > 2.0**-40:  # GUARD in oracle_f64.c
            raise SystemExit("the oracle is wrong")

    def run(task: tuple[str, int]) -> Count:
        name, k = task
        chunk_seed = [seed, list(REGIONS).index(name), k]
        return random_chunk(oracle, levels, name, chunk_seed, CHUNK)

    tasks = [(name, k) for name in REGIONS for k in range(done[name], chunks)]
    start = saved = time.monotonic()
    with (
        ThreadPoolExecutor(jobs) as pool,
        tqdm.tqdm(total=len(tasks) * CHUNK, unit=" points", unit_scale=True) as bar,
    ):
        for (name, k), count in ahead(pool, run, tasks, 4 * jobs):
            counts[name].add(count)
            done[name] = k + 1
            bar.update(CHUNK)
            if resume and (time.monotonic() > saved + 10 or (name, k) == tasks[-1]):
                saved = time.monotonic()
                state = {"seed": seed, "levels": levels, "done": done}
                state["counts"] = {name: asdict(count) for name, count in counts.items()}
                resume.write_text(json.dumps(state))
    print(f"level {levels[0]}; also compared: {', '.join(levels[1:]) or 'none'}")
    print(
        f"{'region':<10}{'points':>13}{'misrounded':>12}{'left to arb':>13}{'levels differ':>15}",
        end="",
    )
    print(f"{'max ulp':>16}  {'seconds':>8}  at x")
    for name, c in counts.items():
        print(
            f"{name:<10}{c.points:>13,}{c.misrounded:>12}{c.open:>13}{c.other_levels:>15}", end=""
        )
        print(f"{c.worst:>16.12f}  {c.seconds:>8.1f}  {c.worst_x}")
    total = sum(c.points for c in counts.values())
    failures = sum(c.misrounded + c.other_levels for c in counts.values())
    print(f"{total:,} points, {failures} failures, {time.monotonic() - start:.0f} s")
    return failures


def exhaustive_float32(levels: list[str], jobs: int) -> int:
    """All 2^32 patterns against crdistr."""
    if (crdistr := optional("crdistr", "float32")) is None:
        return 1
    size = 1 << 20

    def run(k: int) -> list[int]:
        x = np.arange(k * size, (k + 1) * size, dtype=np.uint32).view(np.float32)
        expected = crdistr.erfinv(x)
        bad = []
        for level in levels:
            got = erfinv_at(level, x)
            wrong = different(got, expected)
            quiet = np.isnan(x)  # a NaN comes back as itself, quiet
            wrong |= quiet & (got.view(np.uint32) != x.view(np.uint32) | np.uint32(1 << 22))
            bad.append(int(np.count_nonzero(wrong)))
            for i in np.flatnonzero(wrong)[:3]:
                print(
                    f"{level}: erfinv({x[i]!r}) = {got[i]!r}, not {expected[i]!r}", file=sys.stderr
                )
        return bad

    totals = [0] * len(levels)
    with (
        ThreadPoolExecutor(jobs) as pool,
        tqdm.tqdm(total=1 << 32, unit=" points", unit_scale=True) as bar,
    ):
        for _, bad in ahead(pool, run, range((1 << 32) // size), 4 * jobs):
            totals = [total + count for total, count in zip(totals, bad, strict=True)]
            bar.update(size)
    for level, count in zip(levels, totals, strict=True):
        print(f"float32, {level}: {1 << 32:,} inputs, {count} wrong")
    return sum(totals)


def exhaustive_half(dtype: str, levels: list[str]) -> int:
    """All 65,536 patterns against arb."""
    if dtype == "bfloat16":
        if (ml_dtypes := optional("ml_dtypes", "bfloat16")) is None:
            return 1
        kind = np.dtype(ml_dtypes.bfloat16)
        quiet = np.uint16(1 << 6)
    else:
        kind = np.dtype(np.float16)
        quiet = np.uint16(1 << 9)
    x = np.arange(1 << 16, dtype=np.uint32).astype(np.uint16).view(kind)
    with np.errstate(invalid="ignore"):  # signalling NaNs
        x64 = x.astype(np.float64)
    expected = round_to(kind, *nearest(x64, np.full_like(x64, np.nan))).astype(kind)
    failures = 0
    for level in levels:
        got = erfinv_at(level, x)
        wrong = different(got, expected)
        wrong |= np.isnan(x64) & (got.view(np.uint16) != x.view(np.uint16) | quiet)
        count = int(np.count_nonzero(wrong))
        for i in np.flatnonzero(wrong)[:3]:
            print(f"{level}: erfinv({x[i]}) = {got[i]}, not {expected[i]}", file=sys.stderr)
        print(f"{dtype}, {level}: {x.size:,} inputs, {count} wrong")
        failures += count
    return failures


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--exhaustive", choices=("float16", "bfloat16", "float32"))
    which.add_argument("--float64", type=float, nargs="?", const=1e7, metavar="N")
    which.add_argument("--random", type=float, nargs="?", const=1e9, metavar="N")
    parser.add_argument("--level", nargs="+", help="kernel levels (all that this CPU can use)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="threads, processes")
    parser.add_argument("--resume", type=Path, metavar="FILE", help="--random: state kept in FILE")
    args = parser.parse_args()
    levels = args.level or list(_ufunc._levels())[::-1]
    if unusable := set(levels) - set(_ufunc._levels()):
        parser.error(f"not usable here: {', '.join(sorted(unusable))}")
    everything = not (args.exhaustive or args.float64 or args.random)
    failures = 0
    for dtype in ("float16", "bfloat16"):
        if everything or args.exhaustive == dtype:
            failures += exhaustive_half(dtype, levels)
    if everything or args.exhaustive == "float32":
        failures += exhaustive_float32(levels, args.jobs)
    if everything or args.float64:
        failures += float64_points(levels, int(args.float64 or 1e7), args.seed, args.jobs)
    if everything or args.random:
        points = int(args.random or 1e9)
        failures += random_points(levels, points, args.seed, args.jobs, args.resume)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
