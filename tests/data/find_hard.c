/* Scan runs of neighbouring doubles for values close to a midpoint.  SPDX-License-Identifier: MIT
 *
 * Reads blocks from gen_hard_f64.py, one a line: mode, id, log2 h, log2 run, log2 eps, degree and
 * the coefficients (hexadecimal, scale 2^-72, two's complement) of P(j / h), -h <= j < h: the
 * distance of erfinv of the block's j-th double from a midpoint, in ulps, up to an integer.  Prints
 * "id j" for each |P| <= eps modulo 1.  Mode `scan` evaluates every j, by forward differences of a
 * cubic on each run, 8 runs abreast; `lattice` takes P as linear on each run and finds its j with a
 * reduced basis of {(k, bk mod 1)}.
 * Build: gcc -O3 -march=native find_hard.c -o find_hard -lm */
#include <inttypes.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

__extension__ typedef __int128 int128;
__extension__ typedef unsigned __int128 uint128;
typedef uint64_t lanes __attribute__((vector_size(64)));

enum { MOST = 40, LANES = 8 };

struct block {
    char mode[16], id[64];
    int log_h, log_run, log_eps, degree;
    int128 c[MOST];
};

/* a * t, t at scale 2^-63. */
static int128 times(int128 a, int64_t t) {
    int128 high = (int128)(int64_t)(a >> 64) * t;
    return (high << 1) + ((int128)t * (int128)(uint64_t)a >> 63);
}

/* P and its derivatives over factorials at j, taken for a step of 1 in j, modulo 1, scale 2^-128.
 */
static void expand(const struct block *block, int64_t j, int orders, uint128 e[4]) {
    int128 p[4] = {0, 0, 0, 0};
    int64_t t = (int64_t)((uint64_t)j << (63 - block->log_h));
    for (int n = block->degree; n >= 0; n--) {
        for (int k = orders; k > 0; k--)
            p[k] = times(p[k], t) + p[k - 1];
        p[0] = times(p[0], t) + block->c[n];
    }
    for (int k = 0; k <= orders; k++) {
        int shift = 56 - k * block->log_h;
        e[k] = shift >= 0 ? (uint128)p[k] << shift
                          : (uint128)(shift > -127 ? p[k] >> -shift : p[k] >> 126 >> 1);
    }
}

static uint64_t top(uint128 u) {
    return (uint64_t)((u + ((uint128)1 << 63)) >> 64);
}

static void scan(const struct block *block) {
    int64_t h = INT64_C(1) << block->log_h, run = INT64_C(1) << block->log_run, half = run / 2;
    uint64_t eps = UINT64_C(1) << (64 + block->log_eps);
    for (int64_t start = -h; start < h; start += LANES * run) {
        lanes f, d1, d2, d3, hit = {0};
        for (int lane = 0; lane < LANES; lane++) {
            uint128 e[4], v = (uint128)0 - (uint128)half;
            expand(block, start + lane * run + half, 3, e);
            f[lane] = top(e[0] + v * (e[1] + v * (e[2] + v * e[3]))) + eps;
            d1[lane] = top(e[1] + (2 * v + 1) * e[2] + (3 * v * v + 3 * v + 1) * e[3]);
            d2[lane] = top(2 * e[2] + (6 * v + 6) * e[3]);
            d3[lane] = top(6 * e[3]);
        }
        lanes f0 = f, d10 = d1, d20 = d2;
        for (int64_t i = 0; i < run; i++) {
            hit |= (lanes)(f <= 2 * eps);
            f += d1;
            d1 += d2;
            d2 += d3;
        }
        for (int lane = 0; lane < LANES; lane++) {
            if (!hit[lane])
                continue;
            uint64_t g = f0[lane], g1 = d10[lane], g2 = d20[lane];
            for (int64_t i = 0; i < run; i++) {
                int64_t j = start + lane * run + i;
                if (g <= 2 * eps && j < h)
                    printf("%s %" PRId64 "\n", block->id, j);
                g += g1;
                g1 += g2;
                g2 += d3[lane];
            }
        }
    }
}

static double residue(uint128 b, int64_t q) {
    return q == 0 ? 1 : (double)(int128)(b * (uint128)(int128)q) * 0x1p-128;
}

/* Hits have bk + a = integer + at most eps, |k| <= run/2: lattice points (k, bk - p) in a box about
 * (0, -a) = s (q1, r1) + t (q2, r2), where s = a q2 / D, t = -a q1 / D, D = q1 r2 - q2 r1 = +-1. */
static void lattice(const struct block *block) {
    int64_t h = INT64_C(1) << block->log_h, run = INT64_C(1) << block->log_run;
    double width = (double)run / 2, eps = ldexp(1, block->log_eps);
    int64_t q1 = 1, q2 = 0;
    for (int64_t middle = -h + run / 2; middle < h; middle += run) {
        uint128 e[4];
        expand(block, middle, 1, e);
        int64_t a = (int64_t)top(e[0]);
        double r1 = residue(e[1], q1), r2 = residue(e[1], q2);
        if (fabs(fabs((double)q1 * r2 - (double)q2 * r1) - 1) > 0.01) { /* the slope has jumped */
            q1 = 1, q2 = 0;
            r1 = residue(e[1], q1), r2 = 1;
        }
        for (;;) {
            double k1 = (double)q1 / width, k2 = (double)q2 / width, t1 = r1 / eps, t2 = r2 / eps;
            double n1 = k1 * k1 + t1 * t1, n2 = k2 * k2 + t2 * t2;
            if (n1 > n2) {
                int64_t q = q1;
                double r = r1, n = n1;
                q1 = q2, r1 = r2, n1 = n2, q2 = q, r2 = r, n2 = n;
            }
            double mu = nearbyint((k1 * k2 + t1 * t2) / n1);
            if (mu == 0)
                break;
            q2 -= (int64_t)mu * q1;
            r2 = residue(e[1], q2);
        }
        int sign = (double)q1 * r2 - (double)q2 * r1 > 0 ? 1 : -1;
        int128 s = (int128)a * q2 * sign, t = -(int128)a * q1 * sign;
        double reach_s = width * fabs(r2) + eps * fabs((double)q2);
        double reach_t = width * fabs(r1) + eps * fabs((double)q1);
        double frac_s = (double)(int64_t)s * 0x1p-64, frac_t = (double)(int64_t)t * 0x1p-64;
        if (fabs(nearbyint(frac_s) - frac_s) > reach_s ||
            fabs(nearbyint(frac_t) - frac_t) > reach_t)
            continue;
        int64_t whole_s = (int64_t)((s - (int64_t)s) >> 64),
                whole_t = (int64_t)((t - (int64_t)t) >> 64);
        for (double i = ceil(frac_s - reach_s); i <= frac_s + reach_s; i++) {
            for (double l = ceil(frac_t - reach_t); l <= frac_t + reach_t; l++) {
                int64_t k = (whole_s + (int64_t)i) * q1 + (whole_t + (int64_t)l) * q2;
                double off = (double)(int64_t)top(e[0] + e[1] * (uint128)(int128)k) * 0x1p-64;
                if (k >= -run / 2 && k < run / 2 && fabs(off) <= eps)
                    printf("%s %" PRId64 "\n", block->id, middle + k);
            }
        }
    }
}

int main(void) {
    struct block block;
    while (scanf("%15s %63s %d %d %d %d", block.mode, block.id, &block.log_h, &block.log_run,
                 &block.log_eps, &block.degree) == 6) {
        for (int n = 0; n <= block.degree; n++) {
            uint64_t hi, lo;
            if (scanf("%16" SCNx64 "%16" SCNx64, &hi, &lo) != 2)
                return 1;
            block.c[n] = (int128)((uint128)hi << 64 | lo);
        }
        if (strcmp(block.mode, "scan") == 0)
            scan(&block);
        else
            lattice(&block);
    }
    return 0;
}
