"""Speed of erfinv at every kernel level beside other libraries, and whether it keeps its bounds.

Functions: avx512, avx2, neon, baseline are our kernels, called from C like MKL's; erfinv is the
ufunc, called from Python like all the rest. Every workload is run in rounds, in which each function
has its turn of about a millisecond, another one being first each time, so that a change of clock or
a busy neighbour meets all alike. A turn is five samples, of which the shortest counts, since
interruptions only add; with threads, the first sample has to wake the workers, the others find
them awake. Shown are medians over the rounds; ratios are formed within each round. A cell has ns
and clocks per element (n = 1: per call), then the time relative to the yardstick in the title with
half its interquartile range; it is empty where a function does not take the dtype or is too slow to
wait for. SciPy, NumPy and crdistr have one thread always.

Without options: all that the bounds need. With --dtype, --region, --n or --threads: every
combination of those given, the others being float64, uniform, 16384 and 1. Exit status 1 where a
bound is missed.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from itertools import groupby, islice, product
from pathlib import Path
from typing import Any

import numpy as np
import rich.console
import rich.progress
import rich.table

import lucid_erfinv
import peers
from lucid_erfinv import _ufunc
from peers import DTYPES, Array, Peer, Timer

IN_CACHE = 16384
LENGTHS = (1, 16, 64, 1000, IN_CACHE, 2**20, 2**22)
OUT_OF_CACHE = 2**26
CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
SAMPLES = 5  # per turn
MIN_ROUNDS = 5
YARDSTICKS = ("MKL HA", "np.arctanh")  # MKL has no half precision


# Inputs -------------------------------------------------------------------------------------------


def dtype_of(name: str) -> np.dtype[Any]:
    if name == "bfloat16":
        import ml_dtypes

        return np.dtype(ml_dtypes.bfloat16)
    return np.dtype(name)


def limits(dtype: np.dtype[Any]) -> Any:
    if dtype.name == "bfloat16":
        import ml_dtypes

        return ml_dtypes.finfo(dtype)
    return np.finfo(dtype)


def log_uniform(rng: np.random.Generator, low: float, high: float, n: int) -> Array:
    return np.exp2(rng.uniform(math.log2(low), math.log2(high), n))


REGIONS: dict[str, Callable[[np.random.Generator, Any, int], Array]] = {
    "uniform": lambda rng, info, n: rng.uniform(0, 1, n),
    "tail": lambda rng, info, n: 1 - log_uniform(rng, 0.5 * float(info.epsneg), 0.5, n),
    "tiny": lambda rng, info, n: log_uniform(
        rng, max(1e-300, 10 * float(info.smallest_normal)), 0.5, n
    ),
    "small": lambda rng, info, n: np.exp2(-rng.uniform(0, min(60, -int(info.minexp)), n)),
    "zeros": lambda rng, info, n: np.zeros(n),
    "subnormals": lambda rng, info, n: rng.uniform(0, float(info.smallest_normal), n),
    "ones": lambda rng, info, n: np.ones(n),
    "outside": lambda rng, info, n: 1 / rng.uniform(0.01, 0.9, n),
}
INSIDE = ("uniform", "tail", "tiny", "small")


def empty(n: int, dtype: np.dtype[Any]) -> Array:
    """Return an array that starts a cache line: by chance it would differ from run to run."""
    raw = np.empty(n * dtype.itemsize + 64, np.uint8)
    start = -raw.ctypes.data % 64
    return raw[start : start + n * dtype.itemsize].view(dtype)


def draw(region: str, dtype: np.dtype[Any], n: int) -> Array:
    """Return n points of the region, of either sign."""
    rng = np.random.default_rng(7)
    info = limits(dtype)
    size = REGIONS[region](rng, info, n)
    if region in INSIDE:
        size = np.minimum(size, 1 - 0.5 * float(info.eps))  # the cast must not round up to 1
    x = empty(n, dtype)
    x[:] = np.copysign(size, rng.uniform(-1, 1, n)).astype(dtype)
    return x


# Measuring ----------------------------------------------------------------------------------------


@dataclass(frozen=True, order=True)
class Workload:
    """What is computed: this many elements of that region."""

    dtype: str
    region: str = "uniform"
    n: int = IN_CACHE
    threads: int = 1


@dataclass(frozen=True)
class Spread:
    """Median and quartiles over the rounds."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, samples: Array) -> Spread:
        low, median, high = np.quantile(samples, (0.25, 0.5, 0.75))
        return cls(float(median), float(low), float(high))


@dataclass(frozen=True)
class Pace:
    """Rounds at most, and seconds of a turn and of a whole workload."""

    rounds: int
    turn: float = 1e-3
    workload: float = 4.0


Samples = dict[str, Array]  # ns per element in each round, by function; "clock": ns per clock


def timers(workload: Workload, functions: list[Peer]) -> dict[str, Timer]:
    """Return a timer for each function that takes the workload, and for the yardsticks of ours.

    Those are the same kernel on uniform input, in float32, and by one thread.
    """
    dtype = dtype_of(workload.dtype)
    x = draw(workload.region, dtype, workload.n)
    out = empty(workload.n, dtype)
    found: dict[str, Timer] = {}

    def add(name: str, peer: Peer, x: Array, out: Array, threads: int) -> None:
        timer = peer.timer(x, out)

        def run(repeat: int) -> float:
            peer.set_num_threads(threads)
            return timer(repeat)

        found[name] = run

    for peer in functions:
        if workload.dtype not in peer.dtypes or (workload.n == 1 and not peer.python):
            continue
        add(peer.name, peer, x, out, workload.threads)
        if peer.name not in _ufunc._levels():
            continue
        if workload.threads > 1:
            add(f"{peer.name}, 1 thread", peer, x, out, 1)
        if workload.region != "uniform":
            uniform = draw("uniform", dtype, workload.n)
            add(f"{peer.name}, uniform", peer, uniform, out, workload.threads)
        if dtype.itemsize == 2:
            single = empty(workload.n, np.dtype(np.float32))
            single[:] = x
            add(
                f"{peer.name}, float32",
                peer,
                single,
                empty(workload.n, single.dtype),
                workload.threads,
            )
    return found


@dataclass(frozen=True)
class Turn:
    """What a function does in each round: samples of so many calls."""

    timer: Timer
    calls: int
    seconds: float  # about

    @classmethod
    def lasting(cls, seconds: float, timer: Timer) -> Turn:
        calls = 1
        while (taken := timer(calls)) < seconds / 10:
            calls *= 4
        one = taken / calls
        calls = max(1, round(seconds / SAMPLES / one))
        return cls(timer, calls, calls * SAMPLES * one)

    def take(self) -> float:
        """Return the seconds of a call."""
        return min(self.timer(self.calls) for _ in range(SAMPLES)) / self.calls


def measure(workload: Workload, functions: list[Peer], pace: Pace) -> Samples:
    running = timers(workload, functions)
    elements = dict.fromkeys(running, workload.n)
    if (clock := peers.clock_timer()) is not None:
        running["clock"] = clock
        elements["clock"] = peers.CHAIN_CLOCKS
    with np.errstate(all="ignore"):
        turns = {
            name: Turn.lasting(pace.turn, timer)
            for name, timer in running.items()
            if timer(1) < pace.workload / MIN_ROUNDS
        }
        affordable = int(pace.workload / sum(turn.seconds for turn in turns.values()))
        rounds = min(pace.rounds, max(MIN_ROUNDS, affordable))
        samples = {name: np.empty(rounds) for name in turns}
        names = list(turns)
        for i in range(rounds):
            first = i % len(names)
            for name in names[first:] + names[:first]:
                samples[name][i] = turns[name].take() / elements[name] * 1e9
    lucid_erfinv.set_num_threads(1)
    return samples


# Bounds -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Bound:
    """The time of `name` is at most `limit` times that of `yardstick`, or `limit` clocks."""

    workload: Workload
    name: str
    yardstick: str
    limit: float
    goal: bool = False  # what we wish for, not what we promise

    def value(self, samples: Samples) -> Spread | None:
        """Return what was measured, None if something is missing."""
        if self.name not in samples or self.yardstick not in samples:
            return None
        return Spread.of(samples[self.name] / samples[self.yardstick])


def bounds(vendor: str) -> Iterator[Bound]:
    """Yield the bounds that apply on this vendor's CPU."""
    levels = _ufunc._levels()
    faster = ("avx512", "avx2") if vendor != "GenuineIntel" else ()
    beats_mkl = [level for level in faster if level in levels]
    for dtype, of_mkl, clocks, of_arctanh, of_scipy in (
        ("float32", {"avx512": 0.25, "avx2": 0.70}, 1.8, 1.0, 0.25),
        ("float64", {"avx512": 0.30, "avx2": 0.50}, 5.0, 1.0, 0.60),
    ):
        uniform = Workload(dtype)
        for level in beats_mkl:
            yield Bound(uniform, level, "MKL HA", of_mkl[level])
        if "avx512" in levels:
            yield Bound(uniform, "avx512", "clock", clocks, goal=vendor != "GenuineIntel")
            yield Bound(uniform, "erfinv", "np.arctanh", of_arctanh, goal=True)
        yield Bound(uniform, "baseline", "SciPy", of_scipy)
        for region in ("tail", "tiny"):
            for level in reversed(levels):
                yield Bound(Workload(dtype, region), level, f"{level}, uniform", 3)
        for region in REGIONS:
            if region != "uniform":
                for level in beats_mkl:
                    yield Bound(Workload(dtype, region), level, "MKL HA", 1)
        for n in (16, 64):
            for level in beats_mkl:
                yield Bound(Workload(dtype, n=n), level, "MKL HA", 1)
        yield Bound(Workload(dtype, n=1), "erfinv", "np.arctanh", 1.2)
    for dtype in ("float16", "bfloat16"):
        for level in reversed(levels):
            yield Bound(Workload(dtype), level, f"{level}, float32", 1)
    best = levels[-1]
    if CORES > 1:
        # 1000 elements: no slower, within what can be measured.
        for n, speedup in ((1000, 0.98), (2**18, 1.5), (2**21, 1.9)):
            yield Bound(Workload("float64", n=n, threads=2), best, f"{best}, 1 thread", 1 / speedup)
    copied = Workload("float32", n=OUT_OF_CACHE, threads=CORES)
    yield Bound(copied, best, "np.copyto", 1.6)
    yield Bound(copied, best, "np.copyto", 1.2, goal=True)


# Showing ------------------------------------------------------------------------------------------


def length(n: int) -> str:
    return f"2^{n.bit_length() - 1}" if n >= 2**15 and n & (n - 1) == 0 else str(n)


def title(workload: Workload) -> str:
    threads = "" if workload.threads == 1 else f", {workload.threads} threads"
    return f"{workload.dtype}, {workload.region}, n = {length(workload.n)}{threads}"


def yardstick_of(names: Iterable[str]) -> str:
    return next(name for name in YARDSTICKS if name in names)


def cell(samples: Samples, name: str, yardstick: str) -> str:
    if name not in samples:
        return ""
    time = f"{np.median(samples[name]):.3g}"
    if "clock" in samples:
        time += f" | {np.median(samples[name] / samples['clock']):.3g}"
    if yardstick not in samples:
        return time
    ratio = Spread.of(samples[name] / samples[yardstick])
    return f"{time}\n[dim]x {ratio.median:.2f} ±{(ratio.high - ratio.low) / 2:.2f}[/dim]"


def tables(results: dict[Workload, Samples], functions: list[Peer]) -> Iterator[rich.table.Table]:
    """Yield tables of functions by workloads: a dtype's regions, then its lengths."""

    def key(workload: Workload) -> tuple[Any, ...]:
        along_n = workload.region == "uniform" and workload.n != IN_CACHE
        return DTYPES.index(workload.dtype), workload.threads, along_n

    def order(workload: Workload) -> tuple[Any, ...]:
        return *key(workload), workload.n, list(REGIONS).index(workload.region)

    for (_, threads, _), group in groupby(sorted(results, key=order), key):
        while shown := list(islice(group, 8)):
            names = {name for workload in shown for name in results[workload]}
            yardstick = yardstick_of(names)
            same_n = len({workload.n for workload in shown}) == 1
            table = rich.table.Table(
                title=f"{shown[0].dtype}, {threads} thread{'s' * (threads > 1)}"
                + (f", n = {length(shown[0].n)}" if same_n else "")
                + f": ns | clocks, x {yardstick}"
            )
            table.add_column("")
            for workload in shown:
                name = workload.region if same_n else f"{workload.region} {length(workload.n)}"
                table.add_column(name, justify="right")
            for function in functions:
                if function.name in names:
                    cells = (cell(results[w], function.name, yardstick) for w in shown)
                    table.add_row(function.name, *cells)
            yield table


def verdicts(
    results: dict[Workload, Samples], vendor: str
) -> Iterator[tuple[Bound, Spread | None, str]]:
    for bound in bounds(vendor):
        if bound.workload not in results:
            continue
        value = bound.value(results[bound.workload])
        if value is None:
            yield bound, None, "not measured"
        elif value.median <= bound.limit:
            yield bound, value, "reached" if bound.goal else "kept"
        else:
            yield bound, value, "not reached" if bound.goal else "MISSED"


COLORS = {"kept": "green", "reached": "green", "MISSED": "bold red", "not reached": "yellow"}


def bounds_table(found: list[tuple[Bound, Spread | None, str]]) -> rich.table.Table:
    table = rich.table.Table(title="Bounds (medians of ratios, quartiles)")
    for name in ("workload", "function", "relative to"):
        table.add_column(name)
    for name in ("at most", "measured", "quartiles"):
        table.add_column(name, justify="right")
    table.add_column("")
    for bound, value, verdict in found:
        color = COLORS.get(verdict, "dim")
        table.add_row(
            title(bound.workload),
            bound.name,
            "clocks" if bound.yardstick == "clock" else bound.yardstick,
            f"{bound.limit:.2f}" + (" (goal)" if bound.goal else ""),
            *(
                ("", "")
                if value is None
                else (f"{value.median:.3f}", f"{value.low:.3f} - {value.high:.3f}")
            ),
            f"[{color}]{verdict}[/{color}]",
        )
    return table


def which_apply(vendor: str) -> str:
    if vendor == "GenuineIntel":
        return (
            "This is an Intel CPU, where MKL runs its best path: of the bounds on avx512, those in "
            "clocks per element apply, those relative to MKL HA do not."
        )
    return (
        "This is no Intel CPU, so MKL runs its baseline path: the bounds relative to MKL HA apply; "
        "those in clocks per element are goals."
    )


def as_json(results: dict[Workload, Samples]) -> Iterator[dict[str, Any]]:
    for workload, samples in results.items():
        yardstick = yardstick_of(samples)
        for name, times in samples.items():
            if name == "clock":
                continue
            row = {**asdict(workload), "function": name, "rounds": len(times)}
            row["ns"] = asdict(Spread.of(times))
            if "clock" in samples:
                row["clocks"] = asdict(Spread.of(times / samples["clock"]))
            row["relative_to"] = yardstick
            row["ratio"] = asdict(Spread.of(times / samples[yardstick]))
            yield row


# The command line ---------------------------------------------------------------------------------


def count(text: str) -> int:
    """Read a number such as 1000 or 2^20."""
    base, _, power = text.partition("^")
    n: int = int(base) ** int(power or 1)
    if n < 1:
        raise ValueError
    return n


def workloads(options: argparse.Namespace) -> list[Workload]:
    if options.dtype or options.region or options.n or options.threads:
        combinations = product(
            options.dtype or ["float64"],
            options.region or ["uniform"],
            options.n or [IN_CACHE],
            options.threads or [1],
        )
        return [Workload(*combination) for combination in combinations]
    chosen = [Workload(dtype, region) for dtype in DTYPES for region in REGIONS]
    chosen += [Workload(dtype, n=n) for dtype in DTYPES for n in LENGTHS if n != IN_CACHE]
    if CORES > 1:
        chosen += [Workload("float64", n=n, threads=2) for n in (1000, 2**18, 2**21)]
    if not options.quick:
        chosen.append(Workload("float32", n=OUT_OF_CACHE, threads=CORES))
    return chosen


def commit() -> str:
    command = ["git", "-C", str(Path(__file__).parent), "rev-parse", "--short", "HEAD"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--dtype", nargs="+", choices=DTYPES)
    parser.add_argument("--region", nargs="+", choices=REGIONS)
    parser.add_argument("--n", nargs="+", type=count, help="elements, such as 1000 or 2^20")
    parser.add_argument("--threads", nargs="+", type=count)
    parser.add_argument(
        "--level", nargs="+", choices=_ufunc._levels(), help="kernel levels (default: all usable)"
    )
    parser.add_argument(
        "--rounds", type=count, help="at most (default 25, with --quick 7; long arrays get fewer)"
    )
    parser.add_argument("--quick", action="store_true", help="fewer, shorter rounds: a rough look")
    parser.add_argument("--json", metavar="FILE", help="write everything measured to FILE")
    return parser.parse_args()


def main() -> int:
    options = parse()
    console = rich.console.Console(highlight=False)
    if not console.is_terminal:
        console.width = 160
    functions, versions, missing = peers.load()
    if options.level:
        unwanted = set(_ufunc._levels()) - set(options.level)
        functions = [function for function in functions if function.name not in unwanted]
    chosen = workloads(options)
    try:
        dtype_of("bfloat16")
    except ImportError as error:
        missing["bfloat16"] = f"{error}"
        chosen = [workload for workload in chosen if workload.dtype != "bfloat16"]

    cpu = peers.cpu()
    header = {
        "command": " ".join(["speed.py", *sys.argv[1:]]),
        "cpu": f"{cpu['model']}, {CORES} cores",
        "build": f"{lucid_erfinv.__version__}, {_ufunc._compiler()}, commit {commit()}",
        "levels": f"{', '.join(_ufunc._levels())}; erfinv runs {_ufunc._chosen_level()}",
        "peers": ", ".join(f"{name} {version}" for name, version in versions.items()),
        "missing": "; ".join(f"{name} ({why})" for name, why in missing.items()) or "nothing",
    }
    for key, value in header.items():
        console.print(f"{key}: {value}", markup=False)

    pace = Pace(options.rounds or 7, 3e-4, 0.5) if options.quick else Pace(options.rounds or 25)
    progress = rich.progress.track(
        chosen, console=rich.console.Console(stderr=True), transient=True, description="measuring"
    )
    results = {workload: measure(workload, functions, pace) for workload in progress}

    clocks = [samples["clock"] for samples in results.values() if "clock" in samples]
    if clocks:
        clock = Spread.of(1 / np.concatenate(clocks))
        header["clock"] = f"{clock.median:.2f} GHz ({clock.low:.2f} - {clock.high:.2f})"
        console.print(f"clock: {header['clock']}")
    for table in tables(results, functions):
        console.print(table)
    found = list(verdicts(results, cpu["vendor"]))
    if found:
        console.print(bounds_table(found))
        console.print(which_apply(cpu["vendor"]))
    if options.json:
        report = {
            **header,
            "results": list(as_json(results)),
            "bounds": [
                {**asdict(bound), "measured": value and asdict(value), "verdict": verdict}
                for bound, value, verdict in found
            ],
        }
        Path(options.json).write_text(json.dumps(report, indent=1) + "\n")
    return int(any(verdict == "MISSED" for _, _, verdict in found))


if __name__ == "__main__":
    sys.exit(main())
