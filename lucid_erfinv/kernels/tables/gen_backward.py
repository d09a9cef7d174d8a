"""Write backward.c and backward.h: the tables of the float64 and float32 gradient kernels.

    python gen_backward.py [directory]

SPDX-License-Identifier: MIT

The powers are sqrt(pi)/2 * 2^(j/16), with the logarithms of what rounding them loses; the
exponential's polynomial is (exp(r) - 1 - r) / r^2 for abs(r) <= ln(2)/32;
G(y) = sqrt(pi) y exp(y^2) erfc(y) is a polynomial in y - centre on each of 16 segments.  All
polynomials are Chebyshev interpolants, rewritten in powers and rounded.  A centre is picked near
the middle, where the first two coefficients lie close to floats of the type.
"""

import math
import struct
import sys
from itertools import pairwise
from pathlib import Path

from flint import arb, arb_poly, ctx

ctx.prec = 400
HALF_ROOT_PI = arb.pi().sqrt() / 2
SLACK = 11 / 128  # as in ../backward_lanes.h


def g(y):
    return 2 * HALF_ROOT_PI * y * (y * y).exp() * y.erfc()


def tail_of_exp(r):
    return sum(r**k / math.factorial(k + 2) for k in range(24))


def borders_of(text):
    return [float(x) for x in text.split()]


class Type:
    """A format, the degrees of its polynomials, and where the segments begin and the last ends.

    A border is a multiple of 1/16 of its binade; they were found by widening one segment after
    the other.
    """

    def __init__(self, name, c_type, degree, exp_degree, borders):
        self.name, self.c_type, self.degree, self.exp_degree = name, c_type, degree, exp_degree
        self.borders = borders_of(borders)
        assert len(self.borders) == 17
        for border in self.borders:
            assert (32 * math.frexp(border)[0]).is_integer()

    def round(self, value):
        value = float(value.mid())
        return value if self.c_type == "double" else struct.unpack("f", struct.pack("f", value))[0]

    def lost(self, value):
        return abs(float((value - self.round(value)).mid()))

    def literal(self, value):
        return value.hex() + ("f" if self.c_type == "float" else "")

    def numbers(self, values, indent="    "):
        texts = [self.literal(value) + "," for value in values]
        return "\n".join(indent + " ".join(texts[i : i + 4]) for i in range(0, len(texts), 4))


BELOW_1 = "0.5 0.53125 0.59375 0.65625 0.71875 0.8125 0.90625 1 "
TYPES = (
    Type("f64", "double", 12, 5, BELOW_1 + "1.3125 1.6875 2.125 2.625 3.125 3.75 4.5 5.25 6"),
    Type("f32", "float", 5, 2, BELOW_1 + "1.1875 1.4375 1.6875 2 2.25 2.625 3 3.5 4"),
)


def interpolant(f, low, high, degree):
    """Coefficients in powers of x - middle, and the largest error at 4 points per node."""
    middle, half = (arb(low) + arb(high)) / 2, (arb(high) - arb(low)) / 2
    nodes = [half * (arb.pi() * (2 * i + 1) / (2 * degree + 2)).cos() for i in range(degree + 1)]
    values = [f(middle + x) for x in nodes]
    for k in range(1, degree + 1):  # divided differences, in place
        for i in range(degree, k - 1, -1):
            values[i] = (values[i] - values[i - 1]) / (nodes[i] - nodes[i - k])
    p = arb_poly([values[degree]])
    for i in range(degree - 1, -1, -1):
        p = p * arb_poly([-nodes[i], 1]) + values[i]
    points = [half * (arb.pi() * i / (4 * degree + 4)).cos() for i in range(4 * degree + 5)]
    error = max(abs(float((p(x) - f(middle + x)).mid())) for x in points)
    return p, error


def centre_for(kind, p, half):
    """The multiple of 2^-16 near the middle that loses least by rounding G and its slope."""
    slope, best = p.derivative(), (math.inf, 0.0)
    reach = int(half / 8 * 2**16)
    for i in range(-reach, reach + 1):
        shift = arb(i) / 2**16
        best = min(best, (kind.lost(p(shift)) + half * kind.lost(slope(shift)), i / 2**16))
    return best[1]


def segment(kind, low, high):
    """Centre and coefficients, and the error of the rounded polynomial."""
    middle, half = (low + high) / 2, (high - low) / 2
    p, error = interpolant(g, low, high, kind.degree)
    shift = centre_for(kind, p, half)
    p = p(arb_poly([shift, 1]))
    coefficients = [kind.round(c) for c in p.coeffs()]
    rounded = arb_poly(coefficients)
    points = [arb(low + (high - low) * i / 64 - middle - shift) for i in range(65)]
    total = max(abs(float((rounded(x) - p(x)).mid())) for x in points) + error
    return [middle + shift, *coefficients], total


def half_ulp(kind, size):
    """The largest rounding error of a number up to `size`."""
    return 2.0 ** (math.frexp(size)[1] - (54 if kind.c_type == "double" else 25))


def check_recovery(kind, low, high, row, error):
    """Raise if c's error can hide an output of erfinv or take the x of one for another's.

    c = g0 - w - w r + h q - small terms: q and the second difference are rounded, and what comes
    before and after is exact or smaller by 2^-9.  Outputs are at most ulp(y)/2 from y, and
    neighbours of theirs, of x, D(y) ulp(x) apart; c is 2 y times such distances.
    """
    ulp_x, slope = 2 * half_ulp(kind, 0.75), arb_poly(row[2:])
    ulp_y = ulp_x * 2.0 ** math.frexp(low)[1]
    for y in (low, high):
        h = abs(y - row[0])
        q = max(abs(float(slope(arb(end - row[0])).mid())) for end in (low, high))
        moved = abs(float((g(arb(y)) - row[1]).mid()))
        lost = h * (1 + 2 * h) * half_ulp(kind, q) + half_ulp(kind, moved) + error + ulp_x / 256
        slack = SLACK * ulp_y * 2.0 ** (math.frexp(low)[1] - 1)
        apart = float((HALF_ROOT_PI * (arb(y) ** 2).exp()).mid()) * ulp_x
        if not lost < slack < y * (apart - ulp_y) - lost:
            raise ArithmeticError(f"{kind.name}: an error of {lost:.2g} at {y} is too large")


def segments(kind):
    found = [segment(kind, *pair) for pair in pairwise(kind.borders)]
    rows, errors = zip(*found, strict=True)
    for (low, high), (row, error) in zip(pairwise(kind.borders), found, strict=True):
        check_recovery(kind, low, high, row, error)
    columns = [kind.numbers([row[k] for row in rows], " " * 8) for k in range(kind.degree + 2)]
    begins = [f"{x:g}" for x in kind.borders]
    table = f"lucid_backward_{kind.name}_g"
    lines = [
        f"/* G(y) = sqrt(pi) y exp(y^2) erfc(y) on 16 segments, degree {kind.degree} in y - c.",
        " * Row 0 has the centres c, the next ones the coefficients, ascending.  Error below",
        f" * 2^{math.log2(max(errors)):.1f}.  Segments begin at",
        " * " + " ".join(begins[:-1]),
        f" * and the last ends at {begins[-1]}: python gen_backward.py */",
        f"_Alignas(64) const {kind.c_type} {table}[{kind.degree + 2}][16] = {{",
        *("    {\n" + column + "\n    }," for column in columns),
        "};\n",
    ]
    return "\n".join(lines)


def places(kind):
    """The segment of each 1/16 binade, by the lowest two exponent bits and four fraction bits."""
    place = []
    for i in range(64):
        exponent, step = divmod(i, 16)
        y = 2.0 ** {2: -1, 3: 0, 0: 1, 1: 2}[exponent] * (1 + step / 16)
        place.append(max(k for k in range(16) if kind.borders[k] <= y))
    rows = [", ".join(str(p) for p in place[i : i + 16]) for i in range(0, 64, 16)]
    return (
        "/* Segment of y in [0.5, 8), by the lowest 2 exponent bits and upper 4 fraction bits:\n"
        " * python gen_backward.py */\n"
        f"_Alignas(64) const uint8_t lucid_backward_{kind.name}_segment[64] = {{\n    "
        + ",\n    ".join(rows)
        + ",\n};\n"
    )


def exponential(kind):
    bound = float((arb(2).log() / 32).mid()) * (1 + 2.0**-10)
    p, _ = interpolant(tail_of_exp, -bound, bound, kind.exp_degree)
    coefficients = [kind.round(c) for c in p.coeffs()]
    points = [arb(bound * i / 200) for i in range(-200, 201)]
    error = max(
        abs(float(((arb_poly(coefficients)(r) - tail_of_exp(r)) * r**2).mid())) for r in points
    )
    return (
        f"/* (exp(r) - 1 - r) / r^2 for |r| <= ln(2)/32, degree {kind.exp_degree}, ascending;\n"
        f" * error of exp(r) below 2^{math.log2(error):.1f}: python gen_backward.py */\n"
        f"const {kind.c_type} lucid_backward_{kind.name}_exp[{kind.exp_degree + 1}] = {{\n"
        f"{kind.numbers(coefficients)}\n}};\n"
    )


def powers(kind):
    exact = [HALF_ROOT_PI * arb(2) ** (arb(j) / 16) for j in range(16)]
    high = [kind.round(t) for t in exact]
    lost = [kind.round((t / h).log()) for t, h in zip(exact, high, strict=True)]
    return (
        "/* sqrt(pi)/2 * 2^(j/16), j = 0 to 15, rounded, and the logarithms of the quotients:\n"
        " * python gen_backward.py */\n"
        f"_Alignas(64) const {kind.c_type} lucid_backward_{kind.name}_power[2][16] = {{\n"
        f"    {{\n{kind.numbers(high, ' ' * 8)}\n    }},\n"
        f"    {{\n{kind.numbers(lost, ' ' * 8)}\n    }},\n}};\n"
    )


def header(kind):
    macro = f"LUCID_BACKWARD_{kind.name.upper()}"
    name = f"lucid_backward_{kind.name}"
    return (
        f"enum {{ {macro}_DEGREE = {kind.degree}, {macro}_EXP_DEGREE = {kind.exp_degree} }};\n"
        f"extern const {kind.c_type} {name}_power[2][16];\n"
        f"extern const {kind.c_type} {name}_exp[{kind.exp_degree + 1}];\n"
        f"extern const uint8_t {name}_segment[64];\n"
        f"extern const {kind.c_type} {name}_g[{kind.degree + 2}][16];\n"
    )


def main():
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent
    title = (
        "/* Tables of the float64 and float32 gradient kernels, written by gen_backward.py;\n"
        " * do not edit.  SPDX-License-Identifier: MIT */\n"
    )
    parts = [title + '#include "backward.h"\n']
    for kind in TYPES:
        parts += [powers(kind), exponential(kind), places(kind), segments(kind)]
    (folder / "backward.c").write_text("\n".join(parts))
    guard = "LUCID_TABLES_BACKWARD_H"
    parts = [f"{title}#ifndef {guard}\n#define {guard}\n\n#include <stdint.h>\n"]
    parts += [header(kind) for kind in TYPES]
    (folder / "backward.h").write_text("\n".join([*parts, "#endif\n"]))


if __name__ == "__main__":
    main()
