"""Write backward_half.c and backward_half.h: erfinv's derivative for float16 and bfloat16 values y.

    python gen_backward_half.py [directory]

SPDX-License-Identifier: MIT

An entry is 2^512 sqrt(pi)/2 exp(y_exact^2), rounded to a double: y_exact is erfinv(x) where
y >= 1/2 is the correctly rounded erfinv(x) of an x of the format, else y.  Every product of an
entry with a g of the format, rounded to the format, is the rounded exact product: checked for all
g and y, and so are the ends of the table, beyond which the end's entry stands for the rest.
"""

import sys
from pathlib import Path

import numpy as np
from flint import arb, ctx, fmpz

ctx.prec = 160
HALF_ROOT_PI = arb.pi().sqrt() / 2
SCALE = 2.0**512  # no product with the bits of a g, read as those of a double, is subnormal


class Format:
    """A 16-bit format with `fraction` fraction bits and exponent bias `bias`."""

    def __init__(self, name, title, fraction, bias):
        self.name, self.title, self.fraction, self.bias = name, title, fraction, bias
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
        units = (y / arb(2) ** exponent + arb(1) / 2).floor().unique_fmpz()
        if units is None:
            raise ArithmeticError(f"rounding of {y} is open")
        return int(units + fmpz((exponent - self.smallest_exponent) << self.fraction))

    def exact(self, pattern):
        """The y_exact of a y > 0."""
        y = self.value(pattern)
        if pattern >= self.one - (1 << self.fraction):
            step = arb(2) ** (self.fraction + 1)  # x in [1/2, 1) is a multiple of its inverse
            tail = (y.erfc() * step + arb(1) / 2).floor().unique_fmpz()
            if tail is None:
                raise ArithmeticError(f"x of {y} is open")
            if tail > 0:
                x = 1 - arb(tail) / step
                if self.nearest(x.erfinv()) == pattern:
                    return x.erfinv()
        return y

    def derivative(self, pattern):
        y = self.exact(pattern)
        return HALF_ROOT_PI * (y * y).exp()

    def rounds_alike(self, low, high):
        """Whether low and high, arrays of doubles, give each g the same product.

        Both are compared with the rounding borders (odd multiples of half a unit) of a product
        whose g has a full significand; a g with fewer bits gives the product of one with more.
        In a subnormal result the borders are a subset of those of a longer significand.
        """
        g = np.arange(1 << self.fraction, 2 << self.fraction, dtype=np.float64)
        alike = np.ones(low.shape, bool)
        for i in range(low.size):
            p0, p1 = g * low[i], g * high[i]
            unit = 2.0 ** (np.floor(np.log2(p0)) - self.fraction)
            alike[i] = np.all(np.floor(p0 / unit * 2) == np.floor(p1 / unit * 2))
        return alike


def table(form):
    # From the y whose derivative overflows with the smallest g, down to where it is constant.
    smallest = arb(2) ** form.smallest_exponent
    largest = form.value(form.infinity)
    top = form.one
    while form.derivative(top) * smallest < largest:
        top += 1
    bottom = form.one - (1 << form.fraction)
    entries = {}

    def entry(pattern):
        if pattern not in entries:
            entries[pattern] = float(form.derivative(pattern).mid())
        return entries[pattern]

    # The limit 0 and an entry round alike, and so does what lies between.
    limit = float(HALF_ROOT_PI.mid())
    while not form.rounds_alike(np.array([limit * (1 - 2.0**-50)]), np.array([entry(bottom)]))[0]:
        bottom -= 1
    values = np.array([entry(p) for p in range(bottom, top + 1)])
    # An entry is off by 2^-53, its product by 2^-52: no border lies there.
    doubtful = ~form.rounds_alike(values * (1 - 2.0**-50), values * (1 + 2.0**-50))
    if doubtful.any():
        raise ArithmeticError(f"{doubtful.sum()} entries are too near to a border")
    lines = [
        f"/* 2^512 sqrt(pi)/2 exp(y_exact^2) for the {form.title} values y with patterns from",
        f" * {bottom:#06x}, which stands for all below, to {top:#06x}, which overflows with any g:",
        " * python gen_backward_half.py */",
        f"const double lucid_backward_{form.name}_table[{len(values)}] = {{",
    ]
    for i in range(0, len(values), 4):
        lines.append("    " + " ".join(f"{float(v * SCALE).hex()}," for v in values[i : i + 4]))
    name = f"LUCID_BACKWARD_{form.name.upper()}"
    header = [
        f"enum {{ {name}_FIRST = {bottom:#06x}, {name}_LAST = {top:#06x} }};",
        f"extern const double lucid_backward_{form.name}_table[{len(values)}];",
    ]
    return "\n".join([*lines, "};\n"]), "\n".join(header) + "\n"


FORMATS = (Format("f16", "float16", 10, 15), Format("bf16", "bfloat16", 7, 127))


def main():
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent
    title = (
        "/* Tables of the 16-bit gradient kernels, written by gen_backward_half.py; do not edit.\n"
        " * SPDX-License-Identifier: MIT */\n"
    )
    tables = [table(form) for form in FORMATS]
    (folder / "backward_half.c").write_text(
        "\n".join([title + '#include "backward_half.h"\n', *(text for text, _ in tables)])
    )
    guard = "LUCID_TABLES_BACKWARD_HALF_H"
    (folder / "backward_half.h").write_text(
        "\n".join(
            [
                f"{title}#ifndef {guard}\n#define {guard}\n",
                *(text for _, text in tables),
                "#endif\n",
            ]
        )
    )


if __name__ == "__main__":
    main()
