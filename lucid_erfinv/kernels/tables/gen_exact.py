"""Write the constants of the float64 slow path: python gen_exact.py [directory]."""

import math
import sys
from pathlib import Path

from flint import arb, ctx

ctx.prec = 2600
NODES = 376  # 64 * erfinv(1 - 2^-53) = 375.3
TERMS = 20  # 4 * 20! < 2^64
WORDS = 31

HEADER = """\
/* Constants of the float64 slow path, written by gen_exact.py.  SPDX-License-Identifier: MIT */
#ifndef LUCID_TABLES_EXACT_H
#define LUCID_TABLES_EXACT_H

#include <stdint.h>

/* Words stand with the most significant one first. */
struct lucid_exact_node {
    uint64_t x[2]; /* sqrt(pi)/2 * exp(t^2) * erfc(t), scale 2^-126, t = row / 64 */
    uint64_t e[3]; /* sqrt(pi)/2 * exp(t^2), scale 2^-126 */
};

enum { LUCID_EXACT_TERMS = %d, LUCID_EXACT_SERIES = %d, LUCID_EXACT_WORDS = %d };

extern const struct lucid_exact_node lucid_exact_node[%d];
extern const uint64_t lucid_exact_weight[LUCID_EXACT_TERMS];
extern const uint64_t lucid_exact_series[LUCID_EXACT_SERIES][2];
extern const uint64_t lucid_exact_half_sqrt_pi[LUCID_EXACT_WORDS];

#endif
"""


def nearest(value):
    """The integer nearest to an arb; the enclosure is far too thin to straddle a half."""
    return int((value + arb(1) / 2).floor().unique_fmpz())


def words(value, count):
    assert 0 <= value < 1 << 64 * count
    parts = (value >> 64 * i & 2**64 - 1 for i in reversed(range(count)))
    return "{" + ", ".join(f"0x{part:016x}" for part in parts) + "}"


def node(row):
    t = arb(row) / 64
    e = arb.pi().sqrt() / 2 * (t * t).exp()
    return f"    {{{words(nearest(e * t.erfc() * 2**126), 2)}, {words(nearest(e * 2**126), 3)}}},"


def tables():
    series = [2**128 // (math.factorial(n) * (2 * n + 1)) for n in range(1, 10)]
    weight = [4 * math.factorial(TERMS) // math.factorial(n + 1) for n in range(TERMS)]
    half_sqrt_pi = int((arb.pi().sqrt() / 2 * 2 ** (64 * WORDS)).floor().unique_fmpz())
    flat = words(half_sqrt_pi, WORDS)[1:-1].split(", ")
    body = [
        "/* Written by gen_exact.py (python-flint).  SPDX-License-Identifier: MIT */",
        '#include "exact.h"',
        "",
        "/* Row i, t = i/64: sqrt(pi)/2 * exp(t^2) * erfc(t), then the same without erfc(t);",
        " * scale 2^-126, nearest integer (error 0.5).  Command: python gen_exact.py */",
        f"const struct lucid_exact_node lucid_exact_node[{NODES + 1}] = {{",
        *(node(row) for row in range(NODES + 1)),
        "};",
        "",
        f"/* 4 * {TERMS}! / (n + 1)!, exact. */",
        "const uint64_t lucid_exact_weight[LUCID_EXACT_TERMS] = {",
        *(f"    0x{w:016x}," for w in weight),
        "};",
        "",
        "/* 1 / (n! (2n + 1)), n = 1 ... 9, scale 2^-128, rounded down. */",
        "const uint64_t lucid_exact_series[LUCID_EXACT_SERIES][2] = {",
        *(f"    {words(s, 2)}," for s in series),
        "};",
        "",
        f"/* sqrt(pi)/2, {64 * WORDS} bits after the point, rounded down. */",
        "const uint64_t lucid_exact_half_sqrt_pi[LUCID_EXACT_WORDS] = {",
        *("    " + ", ".join(flat[i : i + 4]) + "," for i in range(0, WORDS, 4)),
        "};",
    ]
    return HEADER % (TERMS, len(series), WORDS, NODES + 1), "\n".join(body) + "\n"


if __name__ == "__main__":
    directory = Path(sys.argv[1] if len(sys.argv) > 1 else __file__)
    directory = directory if directory.is_dir() else directory.parent
    for name, text in zip(("exact.h", "exact.c"), tables(), strict=True):
        (directory / name).write_text(text)
