"""erfinv from a shell: what this build is, values, and a sweep of its accuracy."""

import argparse
import csv
import importlib.util
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

import lucid_erfinv

PROG = "python -m lucid_erfinv"
SWEEP_NEEDS = ("flint", "matplotlib", "rich", "scipy", "tqdm")
Array = np.ndarray[Any, Any]


class InputError(Exception):
    """What the user has to mend: one line on stderr, exit status 2."""


# eval --------------------------------------------------------------------------------------------


def number(text: str, where: str) -> float:
    """Read one number, decimal or C99 hexadecimal."""
    try:
        return float.fromhex(text) if "0x" in text.lower() else float(text)
    except (ValueError, OverflowError):
        raise InputError(f"{where}: not a number: {text.strip()!r}") from None


def read_npy(path: str) -> Array:
    try:
        with open(path, "rb") as file:
            array: Array = np.lib.format.read_array(file, allow_pickle=False)
    except (ValueError, MemoryError) as error:
        reason = str(error).partition("\n")[0]
        raise InputError(f"{path}: not a readable .npy file: {reason}") from None
    return array


def read_csv(path: str) -> tuple[str | None, Array]:
    """Read one column of numbers; a first line that is no number is its heading."""
    heading = None
    values = []
    try:
        with open(path, newline="", encoding="utf-8-sig") as file:
            for row in (reader := csv.reader(file)):
                if not row:
                    continue
                where = f"{path}, line {reader.line_num}"
                if len(row) != 1:
                    raise InputError(f"{where}: expected one column, got {len(row)}")
                if reader.line_num == 1 and not is_number(row[0]):
                    heading = row[0]
                else:
                    values.append(number(row[0], where))
    except (UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{path}: not a readable .csv file: {error}") from None
    if not values:
        raise InputError(f"{path}: holds no numbers")
    return heading, np.array(values)


def is_number(text: str) -> bool:
    try:
        number(text, "")
    except InputError:
        return False
    return True


def write(path: str, y: Array, heading: str | None) -> None:
    if path.endswith(".npy"):
        np.save(path, y)
        return
    if y.ndim > 1 and y.size != max(y.shape):
        raise InputError(f"{path}: a .csv holds one column, the array has shape {y.shape}")
    with open(path, "w", encoding="utf-8") as file:
        if heading is not None:
            csv.writer(file, lineterminator="\n").writerow([heading])
        file.writelines(lines(y))


def lines(y: Array) -> Iterable[str]:
    """One value per line, in the shortest digits that read back as the same float."""
    return (f"{value!s}\n" for value in y.ravel())


def is_file(text: str) -> bool:
    return text.endswith((".npy", ".csv"))


def read(words: list[str]) -> tuple[str | None, Array]:
    """Read numbers, a file, or standard input; a .csv's heading comes along."""
    if not words:
        try:
            numbered = list(enumerate(sys.stdin, start=1))
        except UnicodeDecodeError as error:
            raise InputError(f"stdin: not text: {error}") from None
        values = [number(line, f"stdin, line {i}") for i, line in numbered if line.strip()]
        return None, np.array(values)
    if len(words) == 1 and words[0].endswith(".npy"):
        return None, read_npy(words[0])
    if len(words) == 1 and words[0].endswith(".csv"):
        return read_csv(words[0])
    for word in words:
        if is_file(word):
            raise InputError(f"{word}: a file must be the only argument")
    return None, np.array([number(word, "argument") for word in words])


def evaluate(args: argparse.Namespace) -> int:
    if args.output and not is_file(args.output):
        raise InputError(f"{args.output}: the output must be a .npy or .csv file")
    heading, x = read(args.x)
    with np.errstate(all="ignore"):
        try:
            if args.dtype:
                x = x.astype(args.dtype, casting="same_kind")
            y = np.asarray(lucid_erfinv.erfinv(x))
        except TypeError as error:
            raise InputError(f"{args.x[0]}: {error}") from None
        outside = np.count_nonzero((x < -1) | (x > 1))
    if args.output:
        write(args.output, y, heading)
    else:
        sys.stdout.writelines(lines(y))
    if outside:
        sys.stdout.flush()
        print(f"{PROG}: {outside} of {x.size} outside [-1, 1], hence nan", file=sys.stderr)
    return 0


# sweep and info ----------------------------------------------------------------------------------


def run_sweep(args: argparse.Namespace) -> int:
    missing = [name for name in SWEEP_NEEDS if importlib.util.find_spec(name) is None]
    if missing:
        names = ", ".join(missing)
        raise InputError(f'needs {names}, missing here: pip install "lucid_erfinv[sweep]"')
    if not args.no_plot:  # what would fail in a minute
        if not args.plot.endswith((".png", ".svg", ".pdf")):
            raise InputError(f"{args.plot}: the picture must be a .png, .svg or .pdf file")
        if not os.access(os.path.dirname(args.plot) or ".", os.W_OK):
            raise InputError(f"{args.plot}: cannot be written")
    from lucid_erfinv import sweep

    regions = [sweep.REGIONS[name] for name in args.region]
    rows = list(sweep.sweep(regions, args.dtype, args.points, args.seed, args.jobs))
    sweep.show_table(rows)
    if not args.no_plot:
        sweep.draw(rows, args.plot)
        print(f"picture: {args.plot}")
    return 1 if any(row.wrong for row in rows if row.library == "lucid_erfinv") else 0


def info(args: argparse.Namespace) -> int:
    lucid_erfinv.show_config()
    return 0


# The parser --------------------------------------------------------------------------------------


def at_least(least: int) -> Callable[[str], int]:
    def whole(text: str) -> int:
        if not (text.isascii() and text.isdecimal()) or int(text) < least:
            wrong = text.strip()
            raise argparse.ArgumentTypeError(f"must be a whole number from {least} on, got {wrong}")
        return int(text)

    return whole


def parser() -> argparse.ArgumentParser:
    from lucid_erfinv.sweep import REGIONS

    top = argparse.ArgumentParser(prog=PROG, description=__doc__)
    top.add_argument("--version", action="version", version=lucid_erfinv.__version__)
    commands = top.add_subparsers(required=True, metavar="command")
    style = argparse.RawDescriptionHelpFormatter

    command = commands.add_parser(
        "info",
        help="version, compiler, kernel levels, threads",
        description="Show the version, the compiler, the kernel levels that were built, that this\n"
        "CPU can use, and the one chosen (LUCID_ERFINV_ISA forces another), and the\n"
        "number of threads (LUCID_ERFINV_NUM_THREADS).",
        formatter_class=style,
    )
    command.set_defaults(run=info)

    command = commands.add_parser(
        "eval",
        help="erfinv of numbers, of standard input, or of a .npy or .csv file",
        description="Print erfinv of each number, one per line, in the shortest digits that read\n"
        "back as the same float. Outside [-1, 1] it is nan, and a note goes to stderr;\n"
        "at -1 and 1 it is -inf and inf.",
        epilog="examples:\n"
        f"  {PROG} eval 0.5 -0.25 0x1.8p-1\n"
        f"  seq 0 0.1 0.9 | {PROG} eval --dtype float32\n"
        f"  {PROG} eval x.npy -o y.npy\n\n"
        "exit status: 0; 2 for an input that is missing or malformed",
        formatter_class=style,
    )
    command.add_argument(
        "x",
        nargs="*",
        help="numbers (decimal or hexadecimal), or one .npy file, or one .csv file with one "
        "column and perhaps a heading; without any, numbers from standard input, one per line",
    )
    command.add_argument(
        "--dtype",
        choices=("float16", "float32", "float64"),
        help="compute in this type; default: the .npy file's own, else float64",
    )
    command.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        help="write to this .npy (same shape) or .csv file (one column) instead of printing",
    )
    command.set_defaults(run=evaluate)

    names = ", ".join(f"'{name}'" for name in REGIONS)
    regions = "\n".join(f"  {region.name:<11}{region.what}" for region in REGIONS.values())
    command = commands.add_parser(
        "sweep",
        help="accuracy and speed against scipy.special.erfinv",
        description="Compare erfinv and scipy.special.erfinv with the exact value (ball\n"
        "arithmetic, python-flint) on random points: largest and mean error in ulps, share\n"
        "of results that are not the nearest float, time per element; draw the error over x.",
        epilog=f"regions:\n{regions}\n\n"
        'needs: pip install "lucid_erfinv[sweep]"\n'
        "exit status: 0; 1 if a result of lucid_erfinv is not the nearest; 2 for bad usage",
        formatter_class=style,
    )
    command.add_argument(
        "--points", type=at_least(1), default=200_000, metavar="N", help="per region (%(default)s)"
    )
    command.add_argument(
        "--region",
        nargs="+",
        choices=tuple(REGIONS),
        default=["uniform", "near 0", "near 1"],
        metavar="NAME",
        help=f"which regions, of {names} (the first three)",
    )
    command.add_argument(
        "--dtype",
        nargs="+",
        choices=("float32", "float64"),
        default=["float32", "float64"],
        help="which types (both)",
    )
    command.add_argument(
        "--seed", type=at_least(0), default=0, help="of the random points (%(default)s)"
    )
    command.add_argument(
        "--jobs", type=at_least(1), default=0, metavar="N", help="processes (one per usable CPU)"
    )
    command.add_argument(
        "--plot",
        default="sweep.png",
        metavar="FILE",
        help="the picture: .png, .svg or .pdf (%(default)s)",
    )
    command.add_argument("--no-plot", action="store_true", help="write no picture")
    command.set_defaults(run=run_sweep)
    return top


def main(argv: Sequence[str] | None = None) -> int:
    # a leading blank keeps argparse from taking -1e-3 or -inf for an option; float() ignores it
    words = sys.argv[1:] if argv is None else argv
    args = parser().parse_args([f" {w}" if w[:1] == "-" and is_number(w) else w for w in words])
    try:
        return int(args.run(args))
    except InputError as error:
        message = str(error)
    except KeyboardInterrupt:
        return 130  # as shells have it
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        message = f"{error.filename}: {error.strerror}" if error.filename else str(error)
    print(f"{PROG}: {message}", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
