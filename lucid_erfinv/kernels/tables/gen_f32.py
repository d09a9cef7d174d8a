"""Write f32.c: the tables of the binary32 kernels.

    python gen_f32.py [directory]

SPDX-License-Identifier: MIT

Each segment of a = |x| is an interval of w = 1 - a between neighbours of an equal division of
the binades of w; its polynomial is in h = a - c.  Fits are weighted least squares at Chebyshev
points in 200-bit arithmetic, where each coefficient is rounded before the lower ones are fitted.
The floating-point searches use IEEE additions and multiplications only: same bytes everywhere.
"""

import struct
import sys
from pathlib import Path

import numpy as np
from flint import arb, arb_mat, ctx, fmpq

ctx.prec = 200
POINTS = 32
LAST = 2048  # floats in [1 - 2**-13, 1)
HEAD = """\
/* Tables of the binary32 kernels, written by `python gen_f32.py`; do not edit.
 * SPDX-License-Identifier: MIT */
#include "f32.h"

#include <math.h>
"""
BIAS = 2.0**-30  # the vector kernels' tables are of erfinv * (1 - BIAS)
# How far from the middle of a segment, as part of half its width, its centre may be: narrow
# segments of a hold few floats.
SPREADS = [(0.6, 0.02), (1 - 2.0**-8, 0.08), (1 - 2.0**-10, 0.3), (1.0, 0.5)]
# Closest of all binary32 inputs to a rounding boundary: 2**-29.9 ulp.  As a centre it gets the
# value that was rounded once.
HARDEST = float.fromhex("0x1.51904ep-3")


def exact(value):
    """A float as an exact arb."""
    numerator, denominator = value.as_integer_ratio()
    return arb(fmpq(numerator, denominator))


def erfinv(a):
    return a.erfinv()


def below(a):
    return a.erfinv() * exact(1 - BIAS)


def below_derivative(a):
    return (a.erfinv() ** 2).exp() * arb.pi().sqrt() / 2 * exact(1 - BIAS)


def to_float64(value):
    """Nearest double; the ball is far narrower than needed to be sure of it."""
    return float(value.mid())


def to_float32(value):
    return float(np.float32(to_float64(value)))


def segment(index, per_binade):
    """[low, high] of a, widened by the rounding of w."""
    step = (1 << 23) // per_binade
    high, low = (
        struct.unpack("<f", struct.pack("<I", 0x3F800000 - step * i))[0] for i in (index, index + 1)
    )
    return max(0.0, 1 - high - 2.0**-23), min(1 - low + 2.0**-23, 1 - 2.0**-24)


def chebyshev(low, high, count=POINTS):
    """Chebyshev points of [low, high] as doubles (only the fit's nodes: any rounding will do)."""
    out = []
    for i in range(count):
        angle = arb(fmpq(2 * i + 1, 2 * count))
        out.append(exact(to_float64((low + high) / 2 + (high - low) / 2 * arb.cos_pi(angle))))
    return out


def least_squares(h, value, weight, powers):
    rows = [[w * t**k for k in powers] for t, w in zip(h, weight, strict=True)]
    a = arb_mat(rows)
    b = arb_mat([[v * w] for v, w in zip(value, weight, strict=True)])
    t = a.transpose()
    return [c.mid() for c in (t * a).solve(t * b).entries()]


def fit(a, y, centre, fixed, powers, rounding):
    """Coefficients {power: float} of h**power in y(centre + h), given the `fixed` ones."""
    h = [t - exact(centre) for t in a]
    rest = [v - sum(c * t**k for k, c in fixed.items()) for v, t in zip(y, h, strict=True)]
    weight = [1 / v for v in y]
    powers, out = list(powers), {}
    while powers:
        top = powers[-1]
        out[top] = rounding(least_squares(h, rest, weight, powers)[-1])
        rest = [v - exact(out[top]) * t**top for v, t in zip(rest, h, strict=True)]
        powers.pop()
    return out


def achieved(function, low, high, centre, coefficients):
    """-log2 of the largest relative error seen at 100 points."""
    worst = arb(0)
    for i in range(100):
        a = exact(low + (high - low) * (i + 0.5) / 100)
        y = function(a)
        h = a - exact(centre)
        p = sum(c * h**k for k, c in coefficients.items())
        worst = max(worst, abs(p / y - 1).mid())
    return float(-(worst.log() / arb(2).log()).mid())


def horner(coefficients, t):
    value = np.full_like(t, coefficients[-1])
    for c in coefficients[-2::-1]:
        value = value * t + c
    return value


def first_coefficient(a, y, centre, degree):
    """c1 of the best polynomial that has the value erfinv(centre) at h = 0."""
    rest = [v - below(exact(centre)) for v in y] if centre else y
    h = [t - exact(centre) for t in a]
    return least_squares(h, rest, [1 / v for v in y], range(1, degree + 1))[0]


def centre_for_float(low, high, spread, c1_low, excess):
    """A float c near the middle with below(c) next to a float, as Gal's accurate tables.

    Unless c1_low is None, below'(c) + excess - c1_low is next to a float as well.
    """
    middle, half = (low + high) / 2, (high - low) / 2
    nodes = chebyshev(exact(middle - spread * half), exact(middle + spread * half), 24)
    t = [(a - exact(middle)) / exact(half) for a in nodes]
    values = [below(a) for a in nodes]
    slopes = [below_derivative(a) for a in nodes]
    one = [arb(1)] * len(t)
    value, slope = (
        [to_float64(c) for c in least_squares(t, f, one, range(15))] for f in (values, slopes)
    )
    unit = float(np.spacing(np.float32(middle - spread * half)))
    first = int((middle - spread * half) / unit)
    last = int((middle + spread * half) / unit)
    step = max(1, (last - first) // 400_000)
    c = np.arange(first, last + 1, step) * unit
    c = c[c.astype(np.float32) == c]
    s = (c - middle) / half
    y = horner(value, s)
    miss = np.abs(y - y.astype(np.float32)) / y
    if c1_low is not None:
        d = horner(slope, s) + (excess - c1_low)
        miss = np.maximum(miss, np.abs(d - d.astype(np.float32)) * half / y)
    return float(c[np.argmin(miss)])


def double_rows(per_binade, count, degree):
    rows, errors = [], []
    for i in range(count):
        low, high = segment(i, per_binade)
        a = chebyshev(exact(low), exact(high))
        y = [erfinv(t) for t in a]
        powers = range(degree + 1)
        centre = to_float32((exact(low) + exact(high)) / 2)
        fixed = {}
        if i == 0:
            centre, powers = 0.0, range(1, degree + 1)
        elif low <= HARDEST <= high:
            centre = HARDEST
            fixed = {0: exact(to_float64(erfinv(exact(centre))))}
            powers = range(1, degree + 1)
        c = fit(a, y, centre, fixed, powers, to_float64)
        c |= {k: to_float64(v) for k, v in fixed.items()}
        rows.append([centre] + [c.get(k, 0.0) for k in range(degree + 1)])
        errors.append(achieved(erfinv, low, high, centre, {k: exact(v) for k, v in c.items()}))
    return rows, errors


def float_rows(per_binade, segments, degree, common=None):
    """Rows c, c_degree, ..., c2, c1_low, c1, y0; one c1_low for all rows if `common`."""
    rows, errors = [], []
    for i in segments:
        low, high = segment(i, per_binade)
        a = chebyshev(exact(low), exact(high))
        y = [below(t) for t in a]
        centre = y0 = 0.0
        if i > 0:
            middle = exact((low + high) / 2)
            excess = first_coefficient(a, y, (low + high) / 2, degree) - below_derivative(middle)
            spread = next(s for limit, s in SPREADS if high < limit)
            centre = centre_for_float(low, high, spread, common, to_float64(excess))
            y0 = to_float32(below(exact(centre)))
        c1 = first_coefficient(a, y, centre, degree)
        c1_low = common
        if common is None or i == 0:
            c1_low = to_float32(c1 - exact(to_float32(c1)))
        c1_high = to_float32(c1 - exact(c1_low))
        fixed = {0: exact(y0), 1: exact(c1_high) + exact(c1_low)}
        c = fit(a, y, centre, fixed, range(2, degree + 1), to_float32)
        rows.append([centre, *(c[k] for k in range(degree, 1, -1)), c1_low, c1_high, y0])
        errors.append(
            achieved(below, low, high, centre, fixed | {k: exact(v) for k, v in c.items()})
        )
    return rows, errors


def last_results():
    """Results for 1, then for the floats below 1, downwards."""
    results = [float("inf")]
    for i in range(1, LAST + 1):
        y = erfinv(exact(1 - i * 2.0**-24))
        down = y - y.rad() - abs(y) * exact(2.0**-60)
        up = y + y.rad() + abs(y) * exact(2.0**-60)
        if to_float32(down) != to_float32(up):
            raise ArithmeticError(f"rounding of 1 - {i} * 2**-24 is open")
        results.append(to_float32(y))
    return results


def literal(value, single):
    if value == float("inf"):
        return "(float)INFINITY"
    if value != value:
        return "(float)NAN"
    digits, exponent = value.hex().split("p")
    return digits.rstrip("0").rstrip(".") + "p" + exponent + ("f" if single else "")


def array(text, declaration, rows, single, errors=None):
    lines = ["/* " + text.strip().replace("\n", "\n * ") + " */", declaration + " = {"]
    for i, row in enumerate(rows):
        values = ", ".join(literal(v, single) for v in row)
        note = f" /* {i}: 2^-{errors[i]:.1f} */" if errors else ""
        lines.append(f"    {{{values}}},{note}")
    return "\n".join([*lines, "};\n"])


def main():
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent
    parts = [HEAD]
    rows, errors = double_rows(16, 13 * 16, 8)
    parts.append(
        array(
            """erfinv(a), 0 <= a < 1 - 2^-13: c, then c0 to c8 of the polynomial in h = a - c.
Row i: w = 1 - a in [W(i + 1), W(i)], W(i) the float with pattern 0x3f800000 - (i << 19).
Weight 1/erfinv, relative error at the end of each row; row 0 has c = c0 = 0, and the row of
0x1.51904ep-3 has that as its centre.""",
            "_Alignas(64) const double lucid_f32_double[208][10]",
            rows,
            False,
            errors,
        )
    )
    rows, errors = float_rows(8, range(12 * 8), 5)
    rows.append([float("nan")] * 8)
    errors.append(0.0)
    parts.append(
        array(
            """erfinv(a) * (1 - 2^-30), 0 <= a < 1 - 2^-12: c, c5 to c2, c1_low, c1, y0 of
y0 + h * (c1 + c1_low) + c2 * h^2 + ... + c5 * h^5, h = a - c; the last row is for larger a.
Row i: w = 1 - a in [W(i + 1), W(i)], W(i) the float with pattern 0x3f800000 - (i << 20).
Weight 1/erfinv, relative error at the end of each row; c such that the value there is next to a
float.""",
            "_Alignas(64) const float lucid_f32_rows[97][8]",
            rows,
            True,
            errors,
        )
    )
    rows, errors = float_rows(4, range(1), 6)
    common = rows[0][6]
    more, more_errors = float_rows(4, range(1, 52), 6, common)
    rows, errors = rows + more, errors + more_errors
    # Segment i has the floats w with (pattern >> 21) == 507 - i; NaN ends the first group.
    nothing = [[0.0] * 9]
    groups = rows[:31] + [[float("nan")] * 9] + rows[31:] + nothing * 11
    first = [groups[(27 - i) % 32] for i in range(32)]
    second = [groups[32 + (28 - i) % 32] for i in range(32)]
    order = (0, 8, 7, 5, 4, 3, 2, 1)  # c, y0, c1, c2 to c6
    columns = [[row[k] for row in group] for group in (first, second) for k in order]
    notes = [f"2^-{e:.1f}" for e in errors]
    worst = "\n".join(" ".join(notes[i : i + 12]) for i in range(0, len(notes), 12))
    parts.append(
        array(
            f"""erfinv(a) * (1 - 2^-30), 0 <= a < 1 - 2^-13: c, y0, c1, c2 to c6 of
y0 + h * (c1 + c1_low) + c2 * h^2 + ... + c6 * h^6, h = a - c, c1_low = {literal(common, True)}.
Eight lines for a below and eight for a above 1 - 5/4 * 2^-8.  Column (p >> 21) % 32 is for
w = 1 - a, rounded, with the pattern p; in the first group, column 28 is NaN.  Weight 1/erfinv; c
such that value and derivative there, this less c1_low, are next to floats.  Relative errors, by
falling w:
{worst}""",
            "_Alignas(64) const float lucid_f32_permute[2 * 8][32]",
            columns,
            True,
        )
        + f"const float lucid_f32_permute_c1_low = {literal(common, True)};\n"
    )
    results = last_results()
    parts.append(
        array(
            f"erfinv(1 - i * 2^-24) for i = 0 to {LAST}, correctly rounded.",
            f"const float lucid_f32_last[{LAST} + 1]",
            [results[i : i + 4] for i in range(0, len(results), 4)],
            True,
        )
        .replace("    {", "    ")
        .replace("},", ",")
    )
    (folder / "f32.c").write_text("\n".join(parts))


if __name__ == "__main__":
    main()
