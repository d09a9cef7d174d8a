"""Write erfinv_f64_rows.{c,h}: rows of polynomial coefficients for erfinv in binary64.

A row covers 1/32 of a binade of w = 1 - t (rounded), t = |x|, 1/64 where w > 1/32, and serves
    erfinv(t) = y0 + y0_low + h (c1 + c1_low + h (c2 + ... + h c8)),  h = t - c, exactly.
Coefficients interpolate erfinv at Chebyshev nodes of the row (the first row: erfinv(t)/t).

The error of each row is bounded twice, with and without fused multiply-add: docs/accuracy-f64.md.
Run: python gen_f64_rows.py [directory]
"""

import sys
from fractions import Fraction
from math import frexp
from pathlib import Path

from flint import arb, ctx, fmpq

ctx.prec = 320
DEGREE = 8
STEPS = 32  # rows per binade of w, twice as many in the first FINE binades
FINE = 5
EXTRA = FINE * STEPS
ROWS = 53 * STEPS + EXTRA + 1  # the last one holds the last float below 1 alone
U = Fraction(1, 2**53)
COLUMNS = "c y0  c1 c1_low  y0_low c2  c3 c4  c5 c6  c7 c8"


def exact(q):
    return arb(fmpq(q.numerator, q.denominator))


def nearest(v):
    """Arb ball -> nearest double, as a Fraction (balls are tight; ties do not occur)."""
    return Fraction(float(v.mid()))


def up(v):
    """An upper bound of abs(v), in 53 bits more or less."""
    v = abs(v).upper()
    m, e = v.man_exp()
    return Fraction(int(m)) * Fraction(2) ** int(e)


def round_to(q, bits):
    """Fraction -> nearest one with that many significant bits."""
    if q == 0:
        return q
    e = frexp(float(q))[1]
    unit = Fraction(2) ** (e - bits)
    return round(q / unit) * unit


def taylor(t, n):
    """Taylor coefficients 0..n of erfinv at t, from y' = g, g' = 2 y y' g."""
    y = [exact(t).erfinv()]
    g = [arb.pi().sqrt() / 2 * (y[0] * y[0]).exp()]
    q = []  # y y'
    for k in range(n):
        y.append(g[k] / (k + 1))
        q.append(sum((y[i] * (k - i + 1) * y[k - i + 1] for i in range(k + 1)), arb(0)))
        g.append(sum((2 * q[i] * g[k - i] for i in range(k + 1)), arb(0)) / (k + 1))
    return y


def quotient_term(t, n):
    """Taylor coefficient n at t of erfinv(t) / t; like erfinv's, all are positive and increase."""
    return sum(
        ((-1) ** (n - i) * v / exact(t) ** (n - i + 1) for i, v in enumerate(taylor(t, n))), arb(0)
    )


def interpolate(f, low, high, n):
    """Power coefficients in h of the interpolant of f at n Chebyshev nodes of [low, high]."""
    mid, half = (low + high) / 2, (high - low) / 2
    nodes = []
    for i in range(n):
        node = exact(half) * (arb(2 * i + 1) / (2 * n)).cos_pi() + exact(mid)
        nodes.append(Fraction(float(node.mid())))
    d = [f(h) for h in nodes]
    for j in range(1, n):
        for i in range(n - 1, j - 1, -1):
            d[i] = (d[i] - d[i - 1]) / exact(nodes[i] - nodes[i - j])
    p = [arb(0)]
    for i in range(n - 1, -1, -1):  # p = p (h - node) + d
        p = [arb(0), *p]
        for k in range(len(p) - 1):
            p[k] -= exact(nodes[i]) * p[k + 1]
        p[0] += d[i]
    spread = Fraction(1)  # max of |product of (h - node)|: the nodes are Chebyshev's to 2^-50
    for _ in range(n):
        spread *= half
    return p[:n], 2 * spread / Fraction(2) ** n * (1 + Fraction(1, 2**30))


class Value:
    """A bound of a computed quantity's size and of its error, h being at most H in size."""

    def __init__(self, size, error=Fraction(0)):
        self.size, self.error = size, error

    def rounded(self):
        size = self.size + self.error
        return Value(self.size, self.error + U * size)


def mul(a, b):
    return Value(a.size * b.size, a.size * b.error + b.size * a.error + a.error * b.error)


def add(a, b):
    return Value(a.size + b.size, a.error + b.error)


def rounding(c, H, fma):
    """Bound of the rounding errors in y - y0 - h c1, all terms of the kernel's sum in its order."""
    h = Value(H)

    def madd(a, b, d):
        return add(mul(a, b), d).rounded() if fma else add(mul(a, b).rounded(), d).rounded()

    k = {n: Value(abs(v)) for n, v in c.items()}
    h2 = mul(h, h).rounded()
    tail = madd(h2, k["c8"], madd(h, k["c7"], k["c6"]))
    tail = madd(h2, tail, madd(h, k["c5"], k["c4"]))
    tail = madd(h2, tail, madd(h, k["c3"], k["c2"]))
    u = madd(h, tail, k["c1_low"])
    p = H * abs(c["c1"])
    assert c["y0"] == 0 or 2 * p < abs(c["y0"]) * (1 - U)  # so y0 - high is exact
    low = Value(U * (abs(c["y0"]) + p))
    if not fma:  # the high part of h times c1 is exact, the low part times c1 is rounded
        low = add(low, mul(Value(H / 2**25), k["c1"]).rounded())
    low = madd(h, u, add(low.rounded(), k["y0_low"]).rounded())
    test = low.size + low.error + (abs(c["y0"]) + p) * Fraction(1, 2**60)
    return low.error + (1 if fma else 2) * U * test


def start(r):
    """By how much the bits of row r's largest w are below those of 1.0."""
    return r << 46 if r < 2 * EXTRA else (r - EXTRA) << 47


def borders(start, end):
    """A row's ends in t, then its smallest and largest float (widened where 1 - t rounds)."""

    def w(d):  # the float whose bits are those of 1.0, less d
        bits = (1023 << 52) - d
        return Fraction(2**52 + bits % 2**52) * Fraction(2) ** ((bits >> 52) - 1023 - 52)

    first, last = w(end), w(start)  # w in (first, last]
    low, high = 1 - last, 1 - first
    if last > Fraction(1, 2):
        return low, high, max(Fraction(0), low - U), high + U
    grid = 2**53  # 1 - t is exact and a multiple of 2^-53
    least, most = first * grid // 1 + 1, last * grid // 1
    return low, high, 1 - Fraction(most, grid), 1 - Fraction(least, grid)


def make_row(r):
    left, right, low, high = borders(start(r), start(r + 1))
    zero = dict.fromkeys(COLUMNS.split(), Fraction(0))
    if low > high:  # no float falls here
        return zero, None
    c = Fraction(0) if r == 0 else low if low == high else round_to((left + right) / 2, 53)
    H = max(high - c, c - low)
    if r == 0:

        def f(h):
            return taylor(h, 0)[0] / exact(h) if h else arb.pi().sqrt() / 2

        p, spread = interpolate(f, low, high, DEGREE)
        p = [arb(0), *p]
        derivative = up(quotient_term(high, DEGREE))
        scale = up(arb.pi().sqrt() / 2) * Fraction(99, 100)
    else:
        if high == low:
            p = [exact(c).erfinv()] + [arb(0)] * DEGREE
            spread = Fraction(0)
        else:
            p, spread = interpolate(lambda h: exact(c + h).erfinv(), low - c, high - c, DEGREE + 1)
        derivative = up(taylor(high, DEGREE + 1)[DEGREE + 1])  # all derivatives increase
        scale = None
    v = dict(zero, c=c, y0=nearest(p[0]))
    v["y0_low"] = nearest(p[0] - exact(v["y0"]))
    v["c1"] = round_to(nearest(p[1]), 27)
    v["c1_low"] = nearest(p[1] - exact(v["c1"]))
    for k in range(2, DEGREE + 1):
        v[f"c{k}"] = nearest(p[k])
    # Errors are divided by the smallest value; in the first row, both by t.
    divisor = Fraction(1) if r else H
    smallest = Fraction(float((exact(low).erfinv()).lower())) * (1 - U) if r else scale
    parts = [p[0] - exact(v["y0"]) - exact(v["y0_low"]), p[1] - exact(v["c1"]) - exact(v["c1_low"])]
    parts += [p[k] - exact(v[f"c{k}"]) for k in range(2, DEGREE + 1)]
    truncation = spread * derivative + sum(up(d) * H**k for k, d in enumerate(parts)) / divisor
    bounds = [truncation / smallest]
    for fma in (True, False):
        bounds.append((truncation + rounding(v, H, fma) / divisor) / smallest)
    return v, bounds


def log2(q):
    return float(exact(q).log() / arb(2).log())


def main(directory):
    rows, worst = [], [(Fraction(0), 0)] * 3
    for r in range(ROWS):
        row, bounds = make_row(r)
        rows.append(row)
        if bounds:
            worst = [max(a, (b, r)) for a, b in zip(worst, bounds, strict=True)]
    print([(round(log2(b), 3), r) for b, r in worst])
    # The slack is for what the kernel adds to h against underflow.
    margins = [round_to(b * (1 + Fraction(1, 256)) + Fraction(1, 2**100), 8) for b, _ in worst[1:]]
    command = "python gen_f64_rows.py"
    end = 2.0**-54 * (1 + (STEPS - 1) / STEPS)
    approximation, fused, split = (f"2^{log2(b):.2f} (row {r})" for b, r in worst)
    about = f"""/* Generated by `{command}`.  SPDX-License-Identifier: MIT
 * erfinv on 1/32 binades (w > 1/32: 1/64) of w = 1 - t, 0 <= t < 1;
 * row min(d >> 46, (d >> 47) + {EXTRA}), d = bits(1.0) - bits(w).
 * Form: y0 + y0_low + h (c1 + c1_low + h (c2 + ... + h c{DEGREE})), h = t - c;
 * c1 has 27 bits; row 0: c = y0 = 0.
 * Degree {DEGREE}, interpolation at Chebyshev nodes, weight 1/erfinv(t).  Relative error at most
 * {approximation} for the polynomial, {fused} with the kernel's roundings,
 * {split} without fma.  The last row is NaN, for t >= 1. */
"""
    header = f"""{about}#ifndef LUCID_TABLES_ERFINV_F64_ROWS_H
#define LUCID_TABLES_ERFINV_F64_ROWS_H

enum {{ LUCID_F64_ROWS = {ROWS + 1}, LUCID_F64_ROW = {len(COLUMNS.split())} }};
enum {{ LUCID_F64_ROWS_EXTRA = {EXTRA} }};

/* A w of the last row. */
#define LUCID_F64_ROWS_END {end.hex()}

/* Bounds of the relative error of high + low. */
#define LUCID_F64_ROWS_EPS_FMA {float(margins[0]).hex()}
#define LUCID_F64_ROWS_EPS {float(margins[1]).hex()}

/* Columns: {COLUMNS}. */
extern const double lucid_f64_rows[LUCID_F64_ROWS][LUCID_F64_ROW];

#endif
"""
    lines = []
    for row in rows:
        values = ", ".join(float(row[k]).hex().replace("0x0.0p+0", "0") for k in COLUMNS.split())
        lines.append("{" + values + "}")
    lines.append("{" + ", ".join(["LUCID_NAN"] * len(COLUMNS.split())) + "}")
    body = ",\n".join(lines)
    source = f"""{about}#include "erfinv_f64_rows.h"

#include <math.h>

#define LUCID_NAN ((double)NAN)

#ifdef __GNUC__
__attribute__((aligned(64)))
#endif
const double lucid_f64_rows[LUCID_F64_ROWS][LUCID_F64_ROW] = {{
{body}}};
"""
    (directory / "erfinv_f64_rows.h").write_text(header)
    (directory / "erfinv_f64_rows.c").write_text(source)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if sys.argv[1:] else Path(__file__).parent)
