/* erfinv, binary64, correctly rounded: the baseline kernel, and the second phase of the levels with
 * fused multiply-add.  SPDX-License-Identifier: MIT
 * t = |x| picks a row of coefficients by 1 - t; y = y0 + h (c1 + h (c2 + ...)), h = t - c, comes as
 * high + low with relative error (docs/accuracy-f64.md, proved) < 2^-66.17, without fma < 2^-65.54.
 * Lanes that the rounding test leaves open, and those neither 0 nor in [2^-950, 1), are settled one
 * by one: special values at once, |x| < 2^-950 by a product with sqrt(pi)/2, all others by exact.c.
 */
#include "erfinv.h"
#include "exact.h"
#include "vec_f64.h"

#include <math.h>

enum { GROUP = 4 }; /* vectors whose rows are looked up together */

static const double EPS = VEC_FUSED ? LUCID_F64_ROWS_EPS_FMA : LUCID_F64_ROWS_EPS;

/* erfinv(t) = t sqrt(pi)/2 (1 + O(t^2)) for 0 < t < LUCID_F64_TINY, in units of the least
 * subnormal: so nothing in here is subnormal itself, and a subnormal's bits are its value. */
static double tiny_erfinv(double t, unsigned *flags) {
    const double C = 0x1.c5bf89p-1, C_LOW = 0x1.b4ef6aa79c3bp-29; /* sqrt(pi)/2 to 2^-81 */
    const double TINY_EPS = 0x1p-76, LEAST_NORMAL = 0x1p52;
    const uint64_t SCALE = (uint64_t)1074 << 52;
    uint64_t bits = f64_bits(t);
    double x = bits >> 52 ? f64_of_bits(bits + SCALE) : (double)(int64_t)bits;
    double head = f64_of_bits(f64_bits(x) & ~(uint64_t)VEC_LOW_27_BITS);
    double p = head * C; /* exact: 26 bits times 25 */
    double q = (x - head) * C + x * C_LOW;
    double high = p + q, low = (p - high) + q;
    if (high > LEAST_NORMAL) {
        double above = f64_of_bits(f64_bits(high + (low + TINY_EPS * high)) - SCALE);
        double below = f64_of_bits(f64_bits(high + (low - TINY_EPS * high)) - SCALE);
        return above == below ? above : lucid_erfinv_exact(t, below, above);
    }
    double y = (high + LEAST_NORMAL) - LEAST_NORMAL; /* an integer, as its neighbours */
    double rest = (high - y) + low;
    int up = rest > 0;
    uint64_t nearest = (uint64_t)(int64_t)y, least = nearest - !up;
    double past = fabs(rest) - 0.5; /* the way beyond the midpoint to the next integer */
    if (fabs(past) <= TINY_EPS * high) {
        nearest = f64_bits(lucid_erfinv_exact(t, f64_of_bits(least), f64_of_bits(least + 1)));
    } else if (past > 0) {
        nearest = least + (uint64_t)up;
    }
    if (nearest < (uint64_t)1 << 52) {
        *flags |= LUCID_UNDERFLOW;
    }
    return f64_of_bits(nearest);
}

static double settle_lane(double x, double below, double above, unsigned *flags) {
    double t = fabs(x);
    if (t < LUCID_F64_TINY) {
        return copysign(tiny_erfinv(t, flags), x);
    }
    if (t < 1) {
        return copysign(lucid_erfinv_exact(t, below, above), x);
    }
    if (t == 1) {
        *flags |= LUCID_DIVIDE;
        return copysign((double)INFINITY, x);
    }
    if (t > 1) {
        *flags |= LUCID_INVALID;
        return (double)NAN;
    }
    const uint64_t QUIET = (uint64_t)1 << 51;
    if (!(f64_bits(x) & QUIET)) {
        *flags |= LUCID_INVALID;
    }
    return f64_of_bits(f64_bits(x) | QUIET);
}

#ifdef __GNUC__
__attribute__((noinline))
#endif
static unsigned settle(double *y, const double *below, const double *above, unsigned open) {
    unsigned flags = 0;
    for (int i = 0; open; i++, open >>= 1) {
        if (open & 1) {
            y[i] = settle_lane(y[i], below[i], above[i], &flags);
        }
    }
    return flags;
}

/* The row of |x|; what is not below 1 gets the row of NaN, which ends up open. */
VEC_INLINE void find_rows(const double *x, uint64_t at[LANES]) {
    vec w = vec_sub(vec_set(1), vec_abs(vec_load(x)));
    vec_row(vec_max(w, vec_set(LUCID_F64_ROWS_END)), at);
}

VEC_INLINE unsigned evaluate(const double *x, double *y, const uint64_t at[LANES]) {
    enum { C, Y0, C1, C1_LOW, Y0_LOW, C2, C3, C4, C5, C6, C7, C8 };
    vec k[LUCID_F64_ROW];
    vec_columns(lucid_f64_rows[0], at, LUCID_F64_ROW, k);
    vec signed_x = vec_load(x);
    vec a = vec_abs(signed_x);
    vec_mask usable = vec_usable(a, LUCID_F64_TINY);
    vec h = vec_usable_sub(usable, a, k[C]); /* exact */
    /* The polynomial's own h: an h*h that underflows is slow, and 2^-120 is below h's last bit or
     * too small to matter. */
    vec g = VEC_FUSED ? h : vec_add(h, vec_set(0x1p-120));
    vec g2 = VEC_FUSED ? vec_madd(h, h, vec_set(0x1p-240)) : vec_mul(g, g);
    vec tail = vec_madd(g2, k[C8], vec_madd(g, k[C7], k[C6]));
    tail = vec_madd(g2, tail, vec_madd(g, k[C5], k[C4]));
    tail = vec_madd(g2, tail, vec_madd(g, k[C3], k[C2]));
    vec u = vec_madd(g, tail, k[C1_LOW]);
    /* y0 + h c1 = high + low: y0 - high is exact, as |h c1| < y0 / 2 or y0 = 0. */
    vec high, low;
    if (VEC_FUSED) {
        high = vec_madd(h, k[C1], k[Y0]);
        low = vec_madd(h, k[C1], vec_sub(k[Y0], high));
    } else {
        vec p, p_low;
        vec_product(h, k[C1], &p, &p_low);
        high = vec_add(k[Y0], p);
        low = vec_add(vec_sub(p, vec_sub(high, k[Y0])), p_low);
    }
    low = vec_madd(h, u, vec_add(low, k[Y0_LOW]));
    vec above = vec_add(high, vec_madd(high, vec_set(EPS), low));
    vec below = vec_add(high, vec_madd(high, vec_set(-EPS), low));
    unsigned open = vec_finish(y, signed_x, above, below, usable);
    if (open) {
        double from[LANES], to[LANES];
        vec_store(from, below);
        vec_store(to, above);
        return settle(y, from, to, open);
    }
    return 0;
}

VEC_INLINE unsigned run(const double *x, double *y, int vectors) {
    uint64_t at[GROUP][LANES];
    unsigned flags = 0;
    for (int g = 0; g < vectors; g++) {
        find_rows(x + g * LANES, at[g]);
    }
    for (int g = 0; g < vectors; g++) {
        flags |= evaluate(x + g * LANES, y + g * LANES, at[g]);
    }
    return flags;
}

unsigned LUCID_NAME(lucid_erfinv_f64_rows)(const double *x, double *y, size_t n) {
    unsigned flags = 0;
    for (; n >= GROUP * LANES; x += GROUP * LANES, y += GROUP * LANES, n -= GROUP * LANES) {
        flags |= run(x, y, GROUP);
    }
    for (; n >= LANES; x += LANES, y += LANES, n -= LANES) {
        flags |= run(x, y, 1);
    }
    if (n > 0) {
        double padded[LANES];
        vec_store(padded, vec_load_first(x, n));
        flags |= run(padded, padded, 1);
        vec_store_first(y, vec_load(padded), n);
    }
    return flags;
}
