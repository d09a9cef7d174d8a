"""Write erfinv_f64_lines.{c,h}: rows of one cache line each, for the first phase in binary64.

A line covers 1/64 of a binade of w = 1 - t (rounded), t = |x|, and serves, to some 2^-63,
    erfinv(t) = y0 + h (c1 + c1_low + h (c2 + ... + h c7)),  h = t - c, exactly.
c is chosen near the line's middle such that erfinv(c) is very nearly the double y0 (line 0:
c = y0 = 0).  Two numbers are stowed in the low bits of others: c7 in the last 24 of c5, c1_low in
the last 20 of c6.  Beyond line BREAK, where a line has too few floats t for such a c, h = w - c: c
then has more bits behind the point than t.  Line BREAK and one at the end, for t >= 1, are NaN.
Run: python gen_f64_lines.py [directory]
"""

import struct
import sys
from fractions import Fraction
from math import comb, frexp
from pathlib import Path

from flint import arb, ctx
from gen_f64_rows import (
    U,
    Value,
    add,
    borders,
    exact,
    interpolate,
    log2,
    mul,
    nearest,
    quotient_term,
    round_to,
    taylor,
    up,
)

ctx.prec = 220
DEGREE = 7
BINADES = 33  # of w, with lines in t
BREAK = 64 * BINADES
LINES = 64 * 53 + 1  # the last one holds the last float below 1 alone
END = 2.0**-54 * (2 - 1 / 64)  # a w of the line of NaN after that
COLUMNS = "c c6 c5 c4  c3 c2 c1 y0"
SHIFT = {"c7": 40, "c1_low": 44}  # c7 = c5's bits << 40, c1_low = c6's bits << 44
NEARLY = Fraction(1, 2**64)  # relative distance of erfinv(c) from y0
TRIES = 1 << 14


def bits(q):
    return struct.unpack("<Q", struct.pack("<d", float(q)))[0]


def from_bits(b):
    return Fraction(struct.unpack("<d", struct.pack("<Q", b))[0])


def short(q, shift):
    """The double nearest to q whose low bits, as many as shift, are 0."""
    b = (bits(q) + (1 << (shift - 1))) >> shift << shift
    return from_bits(b)


def stow(host, guest, shift):
    """The double nearest to host whose low bits are the guest's high ones."""
    n = 64 - shift
    low = bits(guest) >> shift
    base = bits(host) >> n << n | low
    near = [b for b in (base - (1 << n), base, base + (1 << n)) if b >> 63 == bits(host) >> 63]
    return min((from_bits(b) for b in near), key=lambda v: abs(v - host))


def size(d, low, high):
    """Upper bound of |sum d[k] h^k| on [low, high], from its Chebyshev coefficients there."""
    middle, half = exact((low + high) / 2), exact((high - low) / 2)
    cheb = [arb(0)] * len(d)
    for k, v in enumerate(d):
        for j in range(k + 1):  # h^k = (middle + half x)^k
            term = v * comb(k, j) * middle ** (k - j) * half**j / 2**j
            for i in range(j // 2 + 1):
                cheb[j - 2 * i] += term * comb(j, i) * (1 if j == 2 * i else 2)
    return sum(up(v) for v in cheb)


def centre(left, right, in_w):
    """The c nearest to the middle that will do, and its y0."""
    middle = round_to((left + right) / 2, 53)
    step = round_to((right - left) / 2**15, 1)
    if not in_w:
        step = max(Fraction(1, 2**53), step)
    one = 2**200  # candidates are tried in integers, by the Taylor series at the middle
    terms = taylor(1 - middle, 8) if in_w else taylor(middle, 8)
    if in_w:
        terms[1::2] = [-v for v in terms[1::2]]
    series = [int((v.mid() * one).floor().unique_fmpz()) for v in terms]
    y = float(terms[0])
    ulp = one * Fraction(2) ** (frexp(y)[1] - 53)
    near = NEARLY * one * Fraction(y)
    ulp, near, step = int(ulp), int(near), int(step * one)
    for i in range(TRIES):
        offset = step * ((i + 1) // 2) * (-1) ** i
        value = 0
        for a in reversed(series):
            value = value * offset // one + a
        if min(value % ulp, -value % ulp) < near:
            c = middle + Fraction(offset, one)
            y = exact(1 - c if in_w else c).erfinv()
            y0 = nearest(y)
            if round_to(c, 53) == c and up(y - exact(y0)) < 2 * NEARLY * y0:
                return c, y0
    raise ValueError("no centre")


def rounding(v, H):
    """Bound of the rounding errors in y - y0 - h c1, all terms of the kernel's sum in its order."""
    h = Value(H)

    def madd(a, b, d):
        return add(mul(a, b), d).rounded()

    k = {n: Value(abs(a)) for n, a in v.items()}
    h2 = mul(h, h).rounded()
    tail = madd(h2, madd(h, k["c7"], k["c6"]), madd(h, k["c5"], k["c4"]))
    tail = madd(h2, tail, madd(h, k["c3"], k["c2"]))
    u = madd(h, tail, k["c1_low"])
    p = H * abs(v["c1"])
    assert v["y0"] == 0 or 2 * p < abs(v["y0"]) * (1 - U)  # so y0 - high is exact
    low = madd(h, u, Value(U * (abs(v["y0"]) + p)).rounded())
    test = low.size + low.error + (abs(v["y0"]) + p) * Fraction(1, 2**55)
    return low.error + U * test


def make_line(r):
    left, right, low, high = borders(r << 46, (r + 1) << 46)
    if r == BREAK or low > high:  # the latter has no float
        return dict.fromkeys(COLUMNS.split(), Fraction(0)), [Fraction(0)] * 2
    in_w = r > BREAK
    least_t, most_t = low, high
    if in_w:
        low, high = left, right = 1 - right, 1 - left
        least_t, most_t = 1 - high, 1 - low
    c, y0 = centre(left, right, in_w) if r else (Fraction(0), Fraction(0))
    H = max(high - c, c - low)
    first = 0 if r else 1  # line 0: the coefficients of erfinv(t)/t, one place on

    def f(h):
        if r:
            return exact(1 - c - h if in_w else c + h).erfinv()
        return exact(h).erfinv() / exact(h) if h else arb.pi().sqrt() / 2

    fixed = {}  # power of h: value

    def refit(n):
        def g(h):
            return f(h) - sum(exact(a) * exact(h) ** (k - first) for k, a in fixed.items())

        return interpolate(g, low - c, high - c, n - first)[0]

    p, spread = interpolate(f, low - c, high - c, DEGREE + 1 - first)
    fixed[7] = c7 = short(nearest(p[7 - first]), SHIFT["c7"])
    fixed[6] = short(nearest(refit(7)[6 - first]), 64 - SHIFT["c1_low"])
    fixed[5] = stow(nearest(refit(6)[5 - first]), c7, SHIFT["c7"])
    q = [arb(0)] * first + refit(5)
    v = {"c": c, "y0": y0, "c1": nearest(q[1]), "c5": fixed[5], "c7": c7}
    v["c1_low"] = short(nearest(q[1] - exact(v["c1"])), SHIFT["c1_low"])
    v["c6"] = stow(fixed[6], v["c1_low"], SHIFT["c1_low"])
    for k in (2, 3, 4):
        v[f"c{k}"] = nearest(q[k])
    p = [arb(0)] * first + p
    stored = [v["y0"], v["c1"] + v["c1_low"]] + [v[f"c{k}"] for k in range(2, DEGREE + 1)]
    difference = [a - exact(b) for a, b in zip(p, stored, strict=True)][first:]
    if r:
        derivative = up(taylor(most_t, DEGREE + 1)[DEGREE + 1])
        smallest, divisor = Fraction(float(exact(least_t).erfinv().lower())) * (1 - U), Fraction(1)
    else:
        derivative = up(quotient_term(most_t, DEGREE))
        smallest, divisor = up(arb.pi().sqrt() / 2) * Fraction(99, 100), H
    truncation = spread * derivative + size(difference, low - c, high - c)
    return v, [truncation / smallest, (truncation + rounding(v, H) / divisor) / smallest]


def main(directory):
    lines, worst = [], [(Fraction(0), 0)] * 2
    for r in range(LINES):
        v, bounds = make_line(r)
        lines.append(v)
        worst = [max(a, (b, r)) for a, b in zip(worst, bounds, strict=True)]
    print([(round(log2(b), 3), r) for b, r in worst])
    eps = round_to(worst[1][0] * (1 + Fraction(1, 256)), 8)
    approximation, total = (f"2^{log2(b):.2f} (line {r})" for b, r in worst)
    about = f"""/* Generated by `python gen_f64_lines.py`.  SPDX-License-Identifier: MIT
 * erfinv on 1/64 binades of w = 1 - t, 0 <= t < 1;
 * line (bits(1.0) - bits(w)) >> 46, 64 bytes each; line {BREAK} and the last one, for t >= 1,
 * are NaN.
 * Form: y0 + h (c1 + c1_low + h (c2 + ... + h c{DEGREE})), line 0: c = y0 = 0;
 * h = t - c to line {BREAK - 1}, w > 2^-{BINADES}, and w - c from line {BREAK + 1} on.
 * c7 = bits(c5) << {SHIFT["c7"]}, c1_low = bits(c6) << {SHIFT["c1_low"]}.
 * Degree {DEGREE}, interpolation at Chebyshev nodes, weight 1/erfinv(t).  Relative error at most
 * {approximation} for the polynomial, {total} with the kernel's roundings. */
"""
    header = f"""{about}#ifndef LUCID_TABLES_ERFINV_F64_LINES_H
#define LUCID_TABLES_ERFINV_F64_LINES_H

enum {{ LUCID_F64_LINES = {LINES + 1}, LUCID_F64_LINE = {len(COLUMNS.split())} }};
enum {{ LUCID_F64_C7_SHIFT = {SHIFT["c7"]}, LUCID_F64_C1_LOW_SHIFT = {SHIFT["c1_low"]} }};

/* A w of line {BREAK} and one of the last line. */
#define LUCID_F64_LINES_BREAK {(2.0**-BINADES).hex()}
#define LUCID_F64_LINES_END {END.hex()}

/* Bound of the relative error of high + low. */
#define LUCID_F64_LINES_EPS {float(eps).hex()}

/* Columns: {COLUMNS}. */
extern const double lucid_f64_lines[LUCID_F64_LINES][LUCID_F64_LINE];

#endif
"""
    assert (bits(1) - bits(END)) >> 46 == LINES
    nan = "{" + ", ".join(["LUCID_NAN"] * len(COLUMNS.split())) + "}"
    rows = ["{" + ", ".join(float(v[k]).hex() for k in COLUMNS.split()) + "}" for v in lines]
    rows[BREAK] = nan
    body = ",\n".join([*rows, nan])
    source = f"""{about}#include "erfinv_f64_lines.h"

#include <math.h>

#define LUCID_NAN ((double)NAN)

#ifdef __GNUC__
__attribute__((aligned(64)))
#endif
const double lucid_f64_lines[LUCID_F64_LINES][LUCID_F64_LINE] = {{
{body}}};
"""
    (directory / "erfinv_f64_lines.h").write_text(header)
    (directory / "erfinv_f64_lines.c").write_text(source)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if sys.argv[1:] else Path(__file__).parent)
