"""Write erfinv_metal.h: the tables of erfinv.metal.

    python gen_metal.py [directory]

SPDX-License-Identifier: MIT

The rows divide a = |x| as the binary64 rows of f32.c do, and are fitted as those are; the results
next to 1 and the gradient's tables are those of f32.c and backward.c.  The exceptions are the
inputs at which the rows round wrongly: an exhaustive run without them finds these.
"""

import math
import re
import sys
from pathlib import Path

import gen_backward
import gen_f32
from flint import arb
from gen_f32 import array, exact, to_float32, to_float64

ROWS, DEGREE, PAIRS = 224, 8, 5  # 14 binades of w; c0 to c4 are pairs
LAST = 1024  # floats in [1 - 2**-14, 1)
EXCEPTIONS = [0x3487E269, 0x34F1ADC8, 0x357FB100, 0x35F79442, 0x385B0A41, 0x39BA80CF]
EXCEPTIONS += [0x3A3E4B30, 0x3A599421, 0x3E28C827]
HEAD = """\
/* Tables of erfinv.metal, written by `python gen_metal.py`; do not edit.
 * SPDX-License-Identifier: MIT */
"""


def pair(value):
    high = to_float32(value)
    return high, to_float32(value - exact(high))


def nearest(y):
    """The pattern of the normal float nearest to the ball y; raise if it does not tell."""
    unit = math.frexp(to_float64(y))[1] - 24
    digits = (y * arb(2) ** -unit + arb(1) / 2).floor().unique_fmpz()
    if digits is None:
        raise ArithmeticError(f"rounding of {y} is open")
    return (unit + 149 << 23) + int(digits)


def row(index):
    """The row's floats, and -log2 of the relative error of its polynomial."""
    low, high = gen_f32.segment(index, 16)
    a = gen_f32.chebyshev(exact(low), exact(high))
    y = [gen_f32.erfinv(t) for t in a]
    centre, powers = to_float32((exact(low) + exact(high)) / 2), range(DEGREE + 1)
    if index == 0:
        centre, powers = 0.0, range(1, DEGREE + 1, 2)
    c = gen_f32.fit(a, y, centre, {}, powers, to_float32)
    single = {k: exact(v) for k, v in c.items() if k >= PAIRS}
    paired = [k for k in powers if k < PAIRS]
    c |= gen_f32.fit(a, y, centre, single, paired, to_float64)
    pairs = {k: pair(exact(c[k])) for k in paired}
    out = [centre, *(c.get(k, 0.0) for k in range(DEGREE, PAIRS - 1, -1))]
    for k in range(PAIRS - 1, -1, -1):
        out += pairs.get(k, (0.0, 0.0))
    rounded = single | {k: exact(v[0]) + exact(v[1]) for k, v in pairs.items()}
    return [*out, 0.0], gen_f32.achieved(gen_f32.erfinv, low, high, centre, rounded)


def exceptions():
    lines = [
        "/* Patterns of a whose result the rows miss, and the results. */",
        f"#define LUCID_METAL_EXCEPTIONS {len(EXCEPTIONS)}",
        f"constant uint lucid_metal_exceptions[{len(EXCEPTIONS)}][2] = {{",
    ]
    for bits in EXCEPTIONS:
        digits = (bits & 0x7FFFFF) | 0x800000
        a = arb(digits) * arb(2) ** ((bits >> 23) - 150)
        lines.append(f"    {{{bits:#010x}u, {nearest(a.erfinv()):#010x}u}},")
    return "\n".join([*lines, "};\n"])


def shared(text):
    """A table of the CPU's in Metal's address space."""
    text = re.sub(r"(_Alignas\(64\) )?const (uint8_t|float)", r"constant \2", text)
    return text.replace("uint8_t", "uchar").replace("0000000p", "p")


def main():
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent
    rows, errors = zip(*map(row, range(ROWS)), strict=True)
    slope = arb.pi().sqrt() / 2
    results = gen_f32.last_results()[1 : LAST + 1]
    kind = gen_backward.TYPES[1]
    parts = [
        HEAD,
        array(
            """erfinv(a), 2^-30 <= a < 1 - 2^-14: c, c8 to c5, then high and low parts of c4 to c0
of the polynomial in h = a - c; a zero ends the row.
Row i: w = 1 - a in [W(i + 1), W(i)], W(i) the float with pattern 0x3f800000 - (i << 19).
Weight 1/erfinv, relative error at the end of each row; row 0 is odd, with c = 0.""",
            f"constant float lucid_metal_rows[{ROWS}][16]",
            rows,
            True,
            errors,
        ),
        exceptions(),
        "/* sqrt(pi)/2, high and low part. */\nconstant float lucid_metal_slope[2] = {"
        + ", ".join(gen_f32.literal(v, True) for v in pair(slope))
        + "};\n",
        array(
            f"erfinv(1 - (i + 1) * 2^-24) for i = 0 to {LAST - 1}, correctly rounded.",
            f"#define LUCID_METAL_LAST {LAST}\nconstant float lucid_metal_last[{LAST}]",
            [results[i : i + 4] for i in range(0, LAST, 4)],
            True,
        )
        .replace("    {", "    ")
        .replace("},", ","),
        *map(shared, (gen_backward.powers(kind), gen_backward.exponential(kind))),
        *map(shared, (gen_backward.places(kind), gen_backward.segments(kind))),
    ]
    (folder / "erfinv_metal.h").write_text("\n".join(parts))


if __name__ == "__main__":
    main()
