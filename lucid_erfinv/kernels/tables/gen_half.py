"""Write half.c: erfinv of all float16 and bfloat16 values from 0 to 1, and polynomials for them.

    python gen_half.py [directory]

SPDX-License-Identifier: MIT

Each result is rounded once from a 200-bit ball, which must not straddle a rounding boundary.
"""

import struct
import sys
from pathlib import Path

from flint import arb, fmpq, fmpz
from gen_f32 import achieved, array, chebyshev, erfinv, exact, fit, to_float32

DEGREE = 4
# Values whose results are hardest to round, each the centre of its segment.
HARDEST = float.fromhex("0x1.e1p-3"), float.fromhex("0x1.9c8p-1")
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


def rounded_to_odd(y):
    """The float next to y that no midpoint of 16-bit values equals: it is rounded as y is."""
    nearest = to_float32(y)
    pattern = struct.unpack("I", struct.pack("f", nearest))[0]
    if pattern % 2 == 0:
        pattern += 1 if y > exact(nearest) else -1
    return struct.unpack("f", struct.pack("I", pattern))[0]


def permute():
    columns, errors = [[]] * 16, []
    for top in range(508, 492, -1):  # the pattern of 17/16 - a, less its last 21 bits
        high, low = (
            max(0.0, 17 / 16 - struct.unpack("f", struct.pack("I", (top + k) << 21))[0])
            for k in (0, 1)
        )
        centre, fixed = (low + high) / 2, {}
        if low == 0:
            centre, fixed = 0.0, {0: arb(0), 1: exact(to_float32(arb.pi().sqrt() / 2))}
        for hard in HARDEST:
            if low < hard < high:
                centre, fixed = hard, {0: exact(rounded_to_odd(erfinv(exact(hard))))}
        a = chebyshev(exact(low), exact(high), DEGREE + 1)
        powers = range(len(fixed), DEGREE + 1)
        c = fit(a, [erfinv(t) for t in a], centre, fixed, powers, to_float32)
        c |= {k: to_float32(v) for k, v in fixed.items()}
        columns[top % 16] = [centre] + [c[k] for k in range(DEGREE + 1)]
        exact_c = {k: exact(v) for k, v in c.items()}
        errors.append(f"2^-{achieved(erfinv, low, high, centre, exact_c):.1f}")
    worst = "\n".join(" ".join(errors[i : i + 8]) for i in range(0, len(errors), 8))
    return array(
        f"""erfinv(a), 0 <= a < 1 - 2^-6: c, then c0 to c{DEGREE} of the polynomial in h = a - c.
Column (p >> 21) % 16 is for 17/16 - a with the pattern p.  Interpolated at Chebyshev points; the
first segment has c0 and c1 given, those with c among the values hardest to round c0.  Relative
errors, by rising a:
{worst}""",
        f"_Alignas(64) const float lucid_half_permute[{DEGREE + 2}][16]",
        list(zip(*columns, strict=True)),
        True,
    )


def main():
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent
    parts = [
        HEAD,
        table("lucid_f16", "float16", Format(10, 15)),
        table("lucid_bf16", "bfloat16", Format(7, 127)),
        permute(),
    ]
    (folder / "half.c").write_text("\n".join(parts))


main()
