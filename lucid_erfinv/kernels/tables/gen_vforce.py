"""Write vforce.{c,h}: the polynomials of the first value and the rows of the refinement.

The first value is M. Giles's form, y0 = x p, where p is a polynomial in w = -log(1 - x^2) where
w < 6.25 and one in s = sqrt(w) beyond.  A row belongs to a node n = j/64 and serves
    D (erf(n + d) - erf(n)) = d + m,  m = d^2 (-n + d (e3 + e4 d + ... + e10 d^7)),  |d| <= 1/128,
with D = sqrt(pi)/2 exp(n^2) and the Taylor coefficients e.  erf(n) is kept as base + c, base being
1 from n = 1/2 on: there c = -erfc(n) has the digits that 1 - erf(n) needs.
Run: python gen_vforce.py [directory]
"""

import sys
from fractions import Fraction
from pathlib import Path

from flint import arb, ctx
from gen_f64_rows import U, Value, add, exact, interpolate, log2, mul, nearest, round_to, up

ctx.prec = 220
PER_UNIT = 64
NODES = 6 * PER_UNIT + 1
HALF = Fraction(1, 2 * PER_UNIT)  # the largest |d|
DEGREE = 10
LIMIT = Fraction(1, 2**28)  # of the correction, relative to y0
COLUMNS = "n base c c_low  D D_low e3 e4  e5 e6 e7 e8  e9 e10 none none"  # 128 bytes

BREAK = Fraction(25, 4)  # of w
END = Fraction(6011, 1000)  # of s, more than the largest double below 1 gives
CENTRE = {"central": Fraction(25, 8), "tail": Fraction(17, 4)}
DEGREES = {"f64": {"central": 13, "tail": 17}, "f32": {"central": 8, "tail": 9}}


def quotient(w):
    """Return erfinv(x)/x, where w = -log(1 - x^2)."""
    x = (-(-w).expm1()).sqrt()
    return x.erfinv() / x


def first_value(piece, degree):
    """Coefficients in the distance from the centre, and the largest relative error found."""
    centre = CENTRE[piece]
    low, high = (Fraction(1, 2**60), BREAK) if piece == "central" else (Fraction(5, 2), END)

    def f(h):
        v = exact(centre + h)
        return quotient(v if piece == "central" else v * v)

    p, _ = interpolate(f, low - centre, high - centre, degree + 1)
    worst = 0.0
    for i in range(2001):
        h = low - centre + (high - low) * Fraction(i, 2000)
        value = arb(0)
        for a in reversed(p):
            value = value * exact(h) + a
        worst = max(worst, float(abs(value / f(h) - 1)))
    return p, worst


def taylor(n, count):
    """Return e[0..count-1]: the integral of exp(-2 n d - d^2) over d, in powers of d."""
    f = [arb(1), -2 * exact(n)]
    for k in range(2, count):
        f.append((-2 * exact(n) * f[k - 1] - 2 * f[k - 2]) / k)
    return [arb(0)] + [f[k - 1] / k for k in range(1, count)]


def roundings(row, n):
    """Bounds of what the kernel's roundings add to the residual: relative to m, and the rest."""
    d = Value(HALF)

    def madd(a, b, c):
        return add(mul(a, b).rounded(), c).rounded()  # as without FMA

    def stored(k):
        return Value(abs(row[k]), U * abs(row[k]))

    q = stored(f"e{DEGREE}")
    for k in range(DEGREE - 1, 2, -1):
        q = madd(q, d, stored(f"e{k}"))
    inner = madd(d, q, Value(n))
    least = n - HALF * q.size if n else HALF * (2 * abs(row["e3"]) - q.size)
    # Of d^2, of its product, and of (d - D v) - low, which is -m but for the residual.
    of_m = inner.error / least + 3 * U

    product = HALF * Fraction(11, 10)  # |v D| is |d|, but for the growth of exp(-2 n d)
    low = Value(product / 2**26, product / 2**79)
    low = madd(Value(product / row["D"]), stored("D_low"), low)
    low = madd(stored("c_low"), Value(row["D"]), low)
    rest = low.error + abs(row["c_low"] * row["D_low"]) + 4 * U * LIMIT * (n + HALF)
    return of_m, rest


def make_row(j):
    n = Fraction(j, PER_UNIT)
    y, base = exact(n), Fraction(2 * j >= PER_UNIT)
    value = -y.erfc() if base else y.erf()
    scale = arb.pi().sqrt() / 2 * (y * y).exp()
    row = {"n": n, "base": base, "c": nearest(value), "none": Fraction(0)}
    row["c_low"] = nearest(value - exact(row["c"]))
    row["D"] = round_to(nearest(scale), 27)  # so that its product with 26 bits is exact
    row["D_low"] = nearest(scale - exact(row["D"]))
    e = taylor(n, 60)
    row |= {f"e{k}": nearest(e[k]) for k in range(3, DEGREE + 1)}
    truncation = sum(up(e[k]) * HALF**k for k in range(DEGREE + 1, 60)) + Fraction(1, 2**200)
    of_m, rest = roundings(row, n)
    # Times exp(2 n d + d^2), by which the residual is divided; relative to y0, in row 0 to d = y0.
    growth = up((exact(2 * n * HALF + HALF**2)).exp())
    smallest = n - HALF if j else HALF
    # Third order of Newton's step, and the error of its factor.
    end = n + HALF
    third = (4 * end**2 + 1) / 3 * end**2 * LIMIT**2 * LIMIT + LIMIT / 2**48
    series = truncation * growth / smallest
    return row, [series, of_m * growth, series + rest * growth / smallest + third]


def main(directory):
    rows, worst = [], [(Fraction(0), 0)] * 3
    for j in range(NODES):
        row, bounds = make_row(j)
        rows.append(row)
        worst = [max(a, (b, j)) for a, b in zip(worst, bounds, strict=True)]
    series, of_m, rest = (f"2^{log2(b):.2f} (row {j})" for b, j in worst)
    print(series, of_m, rest)
    eps_m, eps = (round_to(b * (1 + Fraction(1, 256)), 8) for b, _ in worst[1:])

    arrays, declarations, errors = [], [], {}
    for name, kind in (("f64", "double"), ("f32", "float")):
        for piece in CENTRE:
            degree = DEGREES[name][piece]
            p, errors[name, piece] = first_value(piece, degree)
            numbers = [nearest(a) if name == "f64" else round_to(nearest(a), 24) for a in p]
            declaration = f"const {kind} lucid_vforce_{name}_{piece}[{degree + 1}]"
            declarations.append(f"extern {declaration};")
            suffix = "" if name == "f64" else "f"
            body = ", ".join(float(a).hex() + suffix for a in numbers)
            arrays.append(f"{declaration} = {{{body}}};")
    reached = ", ".join(
        f"{name} {piece} 2^{log2(Fraction(e)):.1f}" for (name, piece), e in errors.items()
    )
    about = f"""/* Generated by `python gen_vforce.py`.  SPDX-License-Identifier: MIT
 * First value: erfinv(x)/x in powers of w - 25/8 (central, w = -log(1 - x^2) < 25/4) and of
 * sqrt(w) - 17/4 (tail), interpolation at Chebyshev nodes, weight 1; relative error, measured:
 * {reached}.
 * Rows, j = 64 n: D (erf(n + d) - erf(n)) = d + m, m = d^2 (-n + d (e3 + ... + e10 d^7)),
 * |d| <= 1/128, Taylor; erf(n) = base + c + c_low, D + D_low = sqrt(pi)/2 exp(n^2), D of 27 bits.
 * Error of the refined value, where Newton's step is below 2^-28 of it, with all roundings: at most
 * {of_m} of m and {rest} of the value, {series} of it the series'. */
"""
    header = f"""{about}#ifndef LUCID_TABLES_VFORCE_H
#define LUCID_TABLES_VFORCE_H

enum {{ LUCID_VFORCE_PER_UNIT = {PER_UNIT}, LUCID_VFORCE_ROWS = {NODES} }};
enum {{ LUCID_VFORCE_ROW = {len(COLUMNS.split())} }};
enum {{
    LUCID_VFORCE_F64_CENTRAL = {DEGREES["f64"]["central"]}, LUCID_VFORCE_F64_TAIL = \
{DEGREES["f64"]["tail"]},
    LUCID_VFORCE_F32_CENTRAL = {DEGREES["f32"]["central"]}, LUCID_VFORCE_F32_TAIL = \
{DEGREES["f32"]["tail"]}
}};

/* The error of the refined value y is at most EPS_M |m| + EPS y. */
#define LUCID_VFORCE_EPS_M {float(eps_m).hex()}
#define LUCID_VFORCE_EPS {float(eps).hex()}

{chr(10).join(declarations)}

/* Columns: {COLUMNS}. */
extern const double lucid_vforce_rows[LUCID_VFORCE_ROWS][LUCID_VFORCE_ROW];

#endif
"""
    lines = ["{" + ", ".join(float(r[k]).hex() for k in COLUMNS.split()) + "}" for r in rows]
    source = f"""{about}#include "vforce.h"

{chr(10).join(arrays)}

#ifdef __GNUC__
__attribute__((aligned(64)))
#endif
const double lucid_vforce_rows[LUCID_VFORCE_ROWS][LUCID_VFORCE_ROW] = {{
{("," + chr(10)).join(lines)}}};
"""
    (directory / "vforce.h").write_text(header)
    (directory / "vforce.c").write_text(source)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if sys.argv[1:] else Path(__file__).parent)
