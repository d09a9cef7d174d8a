"""Find hard cases of the binary64 erfinv and write hard_f64.csv.

    gcc -O3 -march=native find_hard.c -o find_hard -lm
    python gen_hard_f64.py ./find_hard hard_f64.csv

Plans blocks of neighbouring doubles, has find_hard name those near a midpoint between doubles,
measures each with arb and keeps the closest of every binade.  Deterministic; ten minutes.
"""

import math
import subprocess
import sys
from pathlib import Path
from statistics import NormalDist

from flint import arb, ctx
from tqdm import tqdm

ctx.prec = 256
HALF_SQRT_PI = arb.pi().sqrt() / 2
MIN_EXPONENT = -1074
MAX_DEGREE = 39
LAST_COMPLETE = 21  # every double below 2^-20 is searched

COMMENT = """\
# Hard cases of the binary64 erfinv, by gen_hard_f64.py.  SPDX-License-Identifier: MIT
# x, result: the correctly rounded erfinv(x).  distance: of erfinv(x) from the nearest midpoint
# between doubles, in ulps of erfinv(x), positive above it (arb).  found, for each binade of x, or
# of 1 - x above 1/2:
#   limit    the closest of ALL significands as x -> 0, by the lattice of sqrt(pi)/2: each is
#            about as close in every binade below 2^-60
#   quantum  the closest of all x with that many bits and a subnormal result (the same lattice)
#   lattice  the closest of all doubles of the binade, by linear models over runs of neighbours
#   runs     the closest of a run of 2^36 or more neighbours, by linear models
#   scan     the closest of a run of 2^35 neighbours, each evaluated
#   all      the closest of all doubles of the binade, each evaluated
"""


def decimal_start(digits, exponent):
    """erfinv(digits * 2^exponent) to some 40 bits, and more."""
    x = math.ldexp(digits, exponent)
    if x < 2**-13:
        return arb(digits) * arb(2) ** exponent * HALF_SQRT_PI
    if x < 0.5:
        return arb(NormalDist().inv_cdf((1 + x) / 2) / math.sqrt(2))
    return arb(-NormalDist().inv_cdf((1 - x) / 2) / math.sqrt(2))


def residual(digits, exponent, y):
    """(x - erf(y)) sqrt(pi)/2 exp(y^2): the Newton step, without cancellation near 1."""
    x = arb(digits) * arb(2) ** exponent
    return (x - y.erf() if x < 0.5 else y.erfc() - (1 - x)) * HALF_SQRT_PI * (y * y).exp()


def inverse(digits, exponent, steps):
    y = decimal_start(digits, exponent)
    for _ in range(steps):
        step = residual(digits, exponent, y)
        y = (y + step + y * step * step).mid()
    return y


def ulp_exponent(y):
    mantissa, exponent = y.mid().man_exp()
    return max(MIN_EXPONENT, int(exponent) + int(mantissa).bit_length() - 53)


def measure(digits, exponent):
    """x, result, signed distance in ulps from the nearest midpoint."""
    y = inverse(digits, exponent, 2)
    unit = ulp_exponent(y)
    floor = int((y / arb(2) ** unit).floor().unique_fmpz())
    middle = (floor + arb(1) / 2) * arb(2) ** unit
    distance = residual(digits, exponent, middle) / arb(2) ** unit
    assert abs(distance) < 0.51
    assert not distance.contains(0)
    result = math.ldexp(floor + (distance > 0), unit)
    return math.ldexp(digits, exponent), result, float(distance)


def taylor(digits, exponent, step):
    """Coefficients in j / h of erfinv((digits + j) * 2^exponent), step = h * 2^exponent."""
    y, p, square, cube = [inverse(digits, exponent, 6)], [], [], []
    p.append(HALF_SQRT_PI * (y[0] * y[0]).exp() * step)
    for n in range(MAX_DEGREE):
        y.append(p[n] / (n + 1))
        square.append(sum((p[i] * p[n - i] for i in range(n + 1)), arb(0)))
        cube.append(sum((y[i] * square[n - i] for i in range(n + 1)), arb(0)))
        p.append(2 * cube[n] / (n + 1))
        yield y[n].mid()


class Search:
    def __init__(self):
        self.blocks, self.hits = [], {}

    def add(self, mode, name, low, log_size, exponent, log_eps):
        """Search (low + i) * 2^exponent, 0 <= i < 2^log_size, for distances up to 2^log_eps."""
        stack = [(low, log_size)]
        while stack:
            low, log_size = stack.pop()
            h = 1 << log_size >> 1
            if log_size < 5:
                every = ((low + i, exponent) for i in range(1 << log_size))
                self.hits.setdefault(name, []).extend(every)
                continue
            unit = ulp_exponent(inverse(low, exponent, 2))
            if unit != ulp_exponent(inverse(low + 2 * h - 1, exponent, 2)):
                stack += [(low, log_size - 1), (low + h, log_size - 1)]
                continue
            middle = low + h
            c = []
            for term in taylor(middle, exponent, arb(2) ** exponent * h):
                c.append(term / arb(2) ** unit)
                if len(c) > 4 and abs(c[-1]) < 2**-52:
                    break
            else:
                stack += [(low, log_size - 1), (low + h, log_size - 1)]
                continue
            c[0] -= arb(1) / 2
            c[0] -= c[0].floor()
            fixed = [int((t * 2**72).floor().unique_fmpz()) & 2**128 - 1 for t in c]
            log_run = self.log_run(mode, c, log_size, log_eps)
            line = f"{mode} {name}:{middle}:{exponent} {log_size - 1} {log_run} {log_eps} "
            line += f"{len(c) - 1} " + " ".join(f"{t:032x}" for t in fixed)
            self.blocks.append((log_size, line))

    @staticmethod
    def log_run(mode, c, log_size, log_eps):
        """Longest run that leaves out less than 2^-44 (scan: quartic terms) or 2^(log_eps - 1)."""
        order, limit, most = (4, -44, 8) if mode == "scan" else (2, log_eps - 1, log_size)
        size = abs(float(c[order].mid()))
        shorter = math.ceil((math.log2(size) - limit) / order) if size > 2.0**-200 else -100
        return max(0, min(most, log_size - max(0, shorter)))

    def run(self, program):
        total = sum(2.0**size for size, _ in self.blocks)
        print(f"{len(self.blocks)} blocks, 2^{math.log2(total):.2f} inputs")
        for _, line in tqdm(self.blocks):
            done = subprocess.run([program], input=line, capture_output=True, text=True, check=True)
            for hit in done.stdout.splitlines():
                tag, j = hit.split()
                name, middle, exponent = tag.split(":")
                self.hits.setdefault(name, []).append((int(middle) + int(j), int(exponent)))


def plan(search):
    """Name, number of rows, how found: filled in as the blocks are added."""
    kept = []

    def binade(
        mode, found, name, rows, low, log_size, exponent, log_eps, pieces=0, log_inputs=None
    ):
        """2^log_size doubles from low on, or 2^log_inputs of them, in 2^pieces blocks."""
        kept.append((name, rows, found))
        if log_inputs is not None and log_inputs < log_size:
            low, log_size = low + (1 << log_size) // 6, log_inputs
        size = log_size - pieces
        for piece in range(1 << pieces):
            search.add(mode, name, low + (piece << size), size, exponent, log_eps)

    for e in range(LAST_COMPLETE, 60):
        binade("lattice", "lattice", f"x-{e}", 14, 1 << 52, 52, -e - 52, -48)
    binade("lattice", "limit", "limit", 500, 1 << 52, 52, -252, -43)
    for k in range(6, 53):
        log_eps = max(-k + 6, -k // 2 - 20)
        rows = 2 if k < 22 else 6
        binade("lattice", "quantum", f"subnormal-{k}", rows, 1 << k, k, -1074, log_eps)
    for e in range(LAST_COMPLETE - 1, 1, -1):
        log_inputs = 36 + min(8, 2 * e // 3)
        binade("lattice", "runs", f"x-{e}", 25, 1 << 52, 52, -e - 52, 5 - log_inputs, 0, log_inputs)
    for k in range(1, 53):
        low, log_size = (1 << 53) - (1 << 53 - k) + 1, 52 - k
        if k <= 4:
            binade("lattice", "runs", f"w-{k}", 40, low, log_size, -53, -31, 0, 36)
        elif k <= 16:
            binade("scan", "scan", f"w-{k}", 40, low, log_size, -53, -30, 4, 35)
        else:
            pieces = min(8, max(0, log_size - 6))
            rows, log_eps = 8 if k > 30 else 40, max(-30, 5 - log_size)
            binade("scan", "all", f"w-{k}", rows, low, log_size, -53, log_eps, pieces)
    return kept


def rows(search, kept):
    seen = set()
    for name, wanted, found in kept:
        hits = sorted(set(search.hits[name]))
        if name == "limit":  # spread over the binades from 2^-60 down to the last of normal results
            hits = [(digits, -112 - i * 962 // len(hits)) for i, (digits, _) in enumerate(hits)]
        measured = sorted(
            ((*measure(digits, exponent), digits) for digits, exponent in hits),
            key=lambda row: abs(row[2]),
        )
        print(f"{name}: {len(hits)} hits, closest 2^{math.log2(abs(measured[0][2])):.2f}")
        for *row, digits in measured:
            odd = digits // (digits & -digits)
            few = found in ("quantum", "all")  # binades too small for close ones
            if wanted == 0 or (abs(row[2]) > 2**-30 and not few):
                break
            if odd not in seen:
                seen.add(odd)
                wanted -= 1
                yield *row, found


def main():
    program, target = sys.argv[1:]
    search = Search()
    kept = plan(search)
    search.run(program)
    table = sorted(rows(search, kept))
    lines = [f"{x.hex()},{y.hex()},{distance:.3e},{found}" for x, y, distance, found in table]
    Path(target).write_text(COMMENT + "x,result,distance,found\n" + "\n".join(lines) + "\n")
    print(f"{len(lines)} rows, {sum(row[0] > 0.5 for row in table)} above 1/2")


if __name__ == "__main__":
    main()
