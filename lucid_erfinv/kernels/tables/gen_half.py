"""Write half.c: erfinv of all float16 and bfloat16 values from 0 to 1.

    python gen_half.py [directory]

SPDX-License-Identifier: MIT

Each result is rounded once from a 100-bit ball, which must not straddle a rounding boundary.
"""

import sys
from pathlib import Path

from flint import arb, ctx, fmpq, fmpz

ctx.prec = 100
HEAD = """\
/* Tables of the 16-bit kernels, written by `python gen_half.py`; do not edit.
 * SPDX-License-Identifier: MIT */
#include "half.h"
"""


class Format:
    """A 16-bit format with `fraction` fraction bits and exponent bias `bias`."""

    def __init__(self, fraction, bias):
        self.fraction = fraction
        self.smallest_exponent = 1 - bias - fraction  # of one unit in a subnormal
        self.one = bias << fraction
        self.infinity = 2 * self.one + (1 << fraction)

    def value(self, pattern):
        exponent, fraction = divmod(pattern, 1 << self.fraction)
        if exponent:
            fraction += 1 << self.fraction
        return arb(fraction) * arb(2) ** (max(exponent, 1) - 1 + self.smallest_exponent)

    def nearest(self, y):
        """Pattern of the value nearest to the ball y > 0."""
        exponent = self.smallest_exponent
        while y > arb(2) ** (exponent + self.fraction + 1):
            exponent += 1
        units = (y / arb(2) ** exponent + arb(fmpq(1, 2))).floor().unique_fmpz()
        if units is None:
            raise ArithmeticError(f"rounding of {y} is open")
        # A carry into the next binade is right by itself.
        return int(units + fmpz((exponent - self.smallest_exponent) << self.fraction))


def table(name, title, form):
    results = [0]
    results += [form.nearest(form.value(p).erfinv()) for p in range(1, form.one)]
    results.append(form.infinity)
    lines = [
        f"/* erfinv of the {title} values from 0 to 1 ({form.one:#x}), correctly rounded. */",
        f"_Alignas(64) const uint16_t {name}[{form.one:#x} + 1] = {{",
    ]
    for i in range(0, len(results), 16):
        lines.append("    " + " ".join(f"{r:#06x}," for r in results[i : i + 16]))
    return "\n".join([*lines, "};\n"])


def main():
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent
    parts = [
        HEAD,
        table("lucid_f16", "float16", Format(10, 15)),
        table("lucid_bf16", "bfloat16", Format(7, 127)),
    ]
    (folder / "half.c").write_text("\n".join(parts))


main()
